"""Newton-Euler for a mechanism: the recursive algorithms of the THESIS, run on symbols.

    outward   velocities and accelerations of every link                        (5.3.45)
    inward    forces and moments at every joint, and their part along the joint (5.3.46)
    M         generalized links                                                  (6.3.28)-(6.3.30)

It is the cheapest of all routes: n^1 operations for the bias, n^2 for the mass matrix.

Uniform gravity is an acceleration -g of the base. A field that depends on position is not (PARSA, after (27)): there
each body is loaded with the force and moment of the field, which enter the balance of forces on the way inward.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.vectors import cross
from dalembert.algorithms.choose import choose
from dalembert.algorithms.economy import economical
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.algorithms.loads import Loads
from dalembert.algorithms.sensitivity import sensitivity
from dalembert.constraints.gravity_fields import GravityField
from dalembert.formulations.arguments import TO_AUGMENTED_LINKS
from dalembert.formulations.completion import completed
from dalembert.formulations.composite_links import COMPOSITE, FORMULAS
from dalembert.formulations.equations import DerivationStep, Equations
from dalembert.formulations.mechanism_system import TracedMechanism, system_around, traced
from dalembert.formulations.paper import Paper
from dalembert.formulations.recursions import BY_CENTRES, IN_FIELDS, RECURSIONS
from dalembert.formulations.steps import gravity_text, rotor_steps
from dalembert.formulations.system import MultibodySystem, quantity, with_rotors
from dalembert.model import Mechanism
from dalembert.model.tree import Tree
from dalembert.tracing.trace import label


def newton_euler(
    mechanism: Mechanism,
    *,
    coordinates: Sequence[str] | None = None,
    include: Sequence[str] = (),
    elements: Sequence[str] | str = "all",
    wrenches: Sequence[str] = (),
    actuated: Sequence[str] | None = None,
    field: GravityField | None = None,
    algorithm: str = "augmented-links",
    inertia: str = "generalized-links",
) -> Equations:
    """Equations of motion of a mechanism by the recursive Newton-Euler algorithms.

    Args:
        include: see :func:`dalembert.formulations.derive.derive`.
        wrenches: frames on which external wrenches act; each becomes an input.
        actuated: names of the driven joints; all by default.
        field: gravity that depends on position, in the place of the uniform gravity of the mechanism.
        algorithm: inverse dynamics, one of :data:`dalembert.algorithms.inverse_dynamics.INVERSE_DYNAMICS`.
        inertia: mass matrix, one of :data:`dalembert.algorithms.inertia_matrix.INERTIA_MATRIX`.
    """
    trace = traced(mechanism, coordinates)
    system = system_around(trace, include, elements, bodies=field is not None)
    tree, q, v = trace.tree, trace.q, trace.v
    cheap = economical(tree) if not mechanism.symbols and field is None else tree
    loads: Loads = None
    if field is not None:
        system.gravity = acting = system.reads(field)
        loads = _loads(trace, system, acting)
        cheap = dataclasses.replace(tree, gravity=arrays.zeros(3))
    inverse_dynamics, matrix = choose(algorithm, INVERSE_DYNAMICS), choose(inertia, INERTIA_MATRIX)
    at_rest = arrays.zeros(mechanism.nv)

    def forces(tree: Tree, v: np.ndarray, loads: Loads = None) -> np.ndarray:
        return np.array(inverse_dynamics(tree, q, v, at_rest, loads), dtype=object)

    real = tree if inertia == "walker-orin" else cheap  # regrouped moments have no centres of mass
    M = label(with_rotors(system, np.array(matrix(real, q), dtype=object)), "M", first=1)
    c = forces(dataclasses.replace(cheap, gravity=arrays.zeros(3)), v)
    g = forces(cheap, at_rest, loads)
    bias = forces(cheap, v, loads)
    makers = {}
    if not system.quaternions:

        def coriolis_matrix() -> np.ndarray:
            slopes = sensitivity(dataclasses.replace(tree, gravity=arrays.zeros(3)), q, v, at_rest)
            return np.array(slopes.V, dtype=object) / 2

        makers["coriolis_matrix"] = lambda: quantity(system, "coriolis_matrix", "C", coriolis_matrix())
    sources = ["THESIS", *(["PARSA"] if field is not None else [])]
    return completed(
        system, "newton-euler", M, c, g, _steps(trace, system, (M, c, g), algorithm, inertia), sources,
        bias=bias, wrenches=wrenches, actuated=actuated, extras=makers,
    )  # fmt: skip


def _loads(trace: TracedMechanism, system: MultibodySystem, field: GravityField) -> Loads:
    """Force and moment of a field on every link, link axes, about the link's origin."""
    found: list[tuple[np.ndarray, np.ndarray] | None] = [None] * len(trace.matter)
    massive = [i for i, matter in enumerate(trace.matter) if not matter.is_zero]
    for i, body in zip(massive, system.bodies):
        force, moment = field.load_in_body(body.mass, body.inertia, body.rotation, body.center)
        found[i] = (force, moment + cross(trace.matter[i].center, force))
    return found


# -------------------------------------------------------------------------------------------------- steps, for reading

MOST_LINKS = 12
"""Links up to which recursions are written out link by link."""

ONE_FORMULA = {
    "uicker-kahn": (
        "Lagrange's equations by traces, with a term for every body j and all triples of joints inside it (Uicker, "
        "Kahn; "
        "THESIS (5.2.2)). W maps to the base, J is the pseudo-inertia of a body, n its first moment with the mass.",
        r"\tau_i = \sum_{j \ge i} \left( \sum_{k \le j} \mathrm{tr}\left( \frac{\partial W_j}{\partial q_i} J_j "
        r"\frac{\partial W_j^T}{\partial q_k} \right) \ddot{q}_k + \sum_{k,l \le j} \mathrm{tr}\left( "
        r"\frac{\partial W_j}{\partial q_i} J_j \frac{\partial^2 W_j^T}{\partial q_k \partial q_l} \right) \dot{q}_k "
        r"\dot{q}_l - \mathbf{g}^T \frac{\partial W_j}{\partial q_i} n_j \right)",
    ),
}
"""Algorithms of which only the formula is shown, of systems of any size."""


def _steps(
    trace: TracedMechanism,
    system: MultibodySystem,
    parts: tuple[np.ndarray, np.ndarray, np.ndarray],
    algorithm: str,
    inertia: str,
) -> list[DerivationStep]:
    M, c, g = parts
    short = len(trace.tree.links) <= MOST_LINKS
    paper = Paper(trace, system)
    if short and algorithm in RECURSIONS and (system.field is None or algorithm in IN_FIELDS):
        RECURSIONS[algorithm](paper)
    elif algorithm in ONE_FORMULA:
        paper.step("Generalised forces", *ONE_FORMULA[algorithm])
    forces = [
        DerivationStep(
            "Velocity forces and gravity",
            f"{_by(algorithm)}: the generalised forces for zero accelerations, without gravity those of the "
            f"velocities, at "
            f"rest those of gravity.{gravity_text(system)}",
            (quantity(system, "coriolis", "c", c), quantity(system, "gravity", "G", g)),
            r"c = \tau(q, v, \dot{v} = 0, \mathbf{g} = 0), \quad G = \tau(q, v = 0, \dot{v} = 0, \mathbf{g})",
        ),
        *rotor_steps(system),
    ]
    if algorithm == "augmented-links" and system.field is None:
        paper.steps += TO_AUGMENTED_LINKS
    inverse = len(paper.steps)
    general = "", r"M_{ik} = \tau_i(q, v = 0, \dot{v} = e_k, \mathbf{g} = 0)"
    if short and inertia in COMPOSITE:
        if not paper.A:
            paper.show_links(*BY_CENTRES)
        COMPOSITE[inertia](paper)
    elif inertia in FORMULAS:
        general = FORMULAS[inertia]
    matrix = DerivationStep(
        "Mass matrix",
        "Its columns are the generalised forces that a unit of one acceleration needs, at rest and without gravity. "
        f"{_by(inertia)}. {general[0]}".rstrip(),
        (quantity(system, "mass_matrix", "M", M),),
        general[1] + " + M_{r,ik}" * bool(system.rotors),
    )
    return [*paper.steps[:inverse], *forces, *paper.steps[inverse:], matrix]


def _by(algorithm: str) -> str:
    number = f", THESIS {EQUATIONS[algorithm]}" if algorithm in EQUATIONS else ""
    return f"By the algorithm {algorithm!r}{number}"


EQUATIONS = {
    "hollerbach-4x4": "(5.2.4), (5.2.5)",
    "hollerbach-3x3": "(5.2.7), (5.2.8)",
    "newton-euler": "(5.2.10), (5.2.11)",
    "newton-euler-loops": "(5.2.10), (5.2.11)",
    "tensor": "(5.3.7), (5.3.8)",
    "augmented-links": "(5.3.44)-(5.3.46)",
    "uicker-kahn": "(5.2.2)",
    "waters": "(5.2.3)",
    "kane-silver": "(5.2.13)",
    "column-method": "(6.2.4)",
    "walker-orin": "(6.2.5)-(6.2.9)",
    "generalized-links": "(6.3.28)-(6.3.30)",
    "orthogonal-complement": "(6.2.10)-(6.2.17)",
    "operator-factors": "(6.2.18)",
}
"""Where the THESIS has the algorithms; "two-sided" is not in it."""
