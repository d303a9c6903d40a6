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
from dalembert.formulations.assembly import assembled, gravity_text, quantity, rotor_steps
from dalembert.formulations.equations import Equations, Step
from dalembert.formulations.gravitation import InverseSquare
from dalembert.formulations.mechanism_system import system_around
from dalembert.formulations.newton_euler_steps import attraction_formula, body_quantities, recursion
from dalembert.formulations.system import System, field_load, with_rotors
from dalembert.formulations.tracing import TracedMechanism, traced
from dalembert.model import Mechanism
from dalembert.model.tree import Tree
from dalembert.tracing.trace import label

RECURSIVE = ("newton-euler", "tensor", "augmented-links")
"""Algorithms that carry forces and moments from the tips to the base."""

EQUATIONS = {
    "hollerbach-4x4": "(5.2.4), (5.2.5)",
    "hollerbach-3x3": "(5.2.7), (5.2.8)",
    "newton-euler": "(5.2.10), (5.2.11)",
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


def newton_euler(
    mechanism: Mechanism,
    *,
    coordinates: Sequence[str] | None = None,
    include: Sequence[str] = (),
    wrenches: Sequence[str] = (),
    actuated: Sequence[str] | None = None,
    field: InverseSquare | None = None,
    algorithm: str = "augmented-links",
    inertia: str = "generalized-links",
) -> Equations:
    """Equations of motion of a mechanism by the recursive Newton-Euler algorithms.

    Args:
        mechanism: the mechanism.
        coordinates: names of the coordinates.
        include: see :func:`dalembert.formulations.derive.derive`.
        wrenches: frames on which external wrenches act; each becomes an input.
        actuated: names of the driven joints; all by default.
        field: gravity that depends on position, in the place of the uniform gravity of the mechanism.
        algorithm: inverse dynamics, one of :data:`dalembert.algorithms.inverse_dynamics.INVERSE_DYNAMICS`.
        inertia: mass matrix, one of :data:`dalembert.algorithms.inertia_matrix.INERTIA_MATRIX`.
    """
    trace = traced(mechanism, coordinates)
    system = system_around(trace, include, bodies=field is not None)
    tree, q, v = trace.tree, trace.q, trace.v
    cheap = economical(tree) if not mechanism.symbols and field is None else tree
    loads: Loads = None
    if field is not None:
        system.gravity = field
        loads = _loads(trace, system, field)
        cheap = dataclasses.replace(tree, gravity=arrays.zeros(3))
    inverse_dynamics, matrix = choose(algorithm, INVERSE_DYNAMICS), choose(inertia, INERTIA_MATRIX)
    at_rest = arrays.zeros(mechanism.nv)

    def forces(tree: Tree, v: np.ndarray, loads: Loads = None) -> np.ndarray:
        return np.array(inverse_dynamics(tree, q, v, at_rest, loads), dtype=object)

    M = label(with_rotors(system, np.array(matrix(cheap, q), dtype=object)), "M", first=1)
    c = forces(dataclasses.replace(cheap, gravity=arrays.zeros(3)), v)
    g = forces(cheap, at_rest, loads)
    bias = forces(cheap, v, loads)
    moving, needed = body_quantities(trace, system)
    written = recursion(tree)
    steps = [
        Step(
            "Outward",
            "Angular velocity and acceleration of every link, acceleration of its origin and of its centre of mass r, "
            "in its own axes, from the base to the tips (THESIS (5.3.45)). A maps components in the axes of a link to "
            f"those of the link before it, s is the way from the origin of that link, {written.joints} "
            "Here for zero joint accelerations.",
            tuple(moving),
            written.outward,
        ),
        Step(
            "Newton and Euler",
            "Force and moment about its centre of mass that each body needs, body axes. THESIS (4.3.1), (4.3.35)."
            + (f" Those of the field, f_g and n_g, are taken from them.{gravity_text(system)}" if field else ""),
            tuple(needed),
            r"F_i = m_i (a_i - R_i^T \mathbf{g}), \quad N_i = I_i\dot{\omega}_i + \omega_i \times I_i\omega_i"
            if field is None
            else r"F_i = m_i a_i - f_{gi}, \quad N_i = I_i\dot{\omega}_i + \omega_i \times I_i\omega_i - n_{gi}, \quad "
            + attraction_formula(field),
        ),
        Step(
            *_inward(algorithm),
            (
                quantity(system, "coriolis", "c", c),
                quantity(system, "gravity", "g", g),
            ),
            written.inward if algorithm in RECURSIVE else "",
        ),
        *rotor_steps(system),
        Step(
            "Mass matrix",
            "Its columns are the generalised forces that a unit of one joint acceleration needs, at rest and without "
            f"gravity. {_by(inertia)}.",
            (quantity(system, "mass_matrix", "M", M),),
            r"M_{ij} = \tau_i(q, v = 0, \dot{v} = e_j, \mathbf{g} = 0)" + " + M_{r,ij}" * bool(system.rotors),
        ),
    ]
    makers = {}
    if not system.quaternions:

        def coriolis_matrix() -> np.ndarray:
            slopes = sensitivity(dataclasses.replace(tree, gravity=arrays.zeros(3)), q, v, at_rest)
            return np.array(slopes.V, dtype=object) / 2

        makers["coriolis_matrix"] = lambda: quantity(system, "coriolis_matrix", "C", coriolis_matrix())
    sources = ["THESIS", *(["PARSA"] if field is not None else [])]
    return assembled(
        system,
        "newton-euler",
        M,
        c,
        g,
        steps,
        sources,
        bias=bias,
        wrenches=wrenches,
        actuated=actuated,
        extras=makers,
    )


def _inward(algorithm: str) -> tuple[str, str]:
    """Headline and text of the step that leads to the generalised forces."""
    if algorithm not in RECURSIVE:
        return "Generalised forces", f"{_by(algorithm)}, for zero joint accelerations."
    return "Inward", (
        "Force f and moment n at every joint, from the tips to the base: what the link needs and what the links j that "
        f"it carries need; their components along the joint are the generalised forces, c + g. {_by(algorithm)}."
    )


def _by(algorithm: str) -> str:
    number = f", THESIS {EQUATIONS[algorithm]}" if algorithm in EQUATIONS else ""
    return f"By the algorithm {algorithm!r}{number}"


def _loads(trace: TracedMechanism, system: System, field: InverseSquare) -> Loads:
    """Force and moment of a field on every link, link axes, about the link's origin."""
    found: list[tuple[np.ndarray, np.ndarray] | None] = [None] * len(trace.matter)
    massive = [i for i, matter in enumerate(trace.matter) if not matter.is_zero]
    for i, body in zip(massive, system.bodies):
        force, moment = field_load(system, body, field)
        found[i] = (force, moment + cross(trace.matter[i].center, force))
    return found
