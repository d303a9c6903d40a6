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
from dataclasses import dataclass

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import product
from dalembert.algebra.vectors import cross
from dalembert.algorithms.choose import choose
from dalembert.algorithms.economy import economical
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.algorithms.loads import Loads
from dalembert.algorithms.sensitivity import sensitivity
from dalembert.constraints.gravity_fields import GravityField
from dalembert.formulations.completion import completed
from dalembert.formulations.equations import DerivationStep, Equations
from dalembert.formulations.mechanism_system import TracedMechanism, system_around, traced
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.steps import DETAILED_FREEDOMS, gravity_text, rotor_steps
from dalembert.formulations.system import MultibodySystem, quantity, with_rotors
from dalembert.kinematics import motion
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
        mechanism: the mechanism.
        coordinates: names of the coordinates.
        include: see :func:`dalembert.formulations.derive.derive`.
        elements: the same.
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

    M = label(with_rotors(system, np.array(matrix(cheap, q), dtype=object)), "M", first=1)
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

OF_THE_LINK = (
    r"a_i = \ddot{s}_i + \Omega_i r_i, \quad \Omega_i = \tilde{\dot{\omega}}_i + \tilde{\omega}_i \tilde{\omega}_i"
)
"""Acceleration of the centre of mass, LaTeX."""

BALANCE = (
    r"f_i = F_i + \sum_j A_j f_j, \quad n_i = N_i + r_i \times F_i + \sum_j (A_j n_j + s_j \times A_j f_j), \quad "
)
"""Balance of a link, LaTeX."""


def _steps(
    trace: TracedMechanism,
    system: MultibodySystem,
    parts: tuple[np.ndarray, np.ndarray, np.ndarray],
    algorithm: str,
    inertia: str,
) -> list[DerivationStep]:
    M, c, g = parts
    field = system.field
    moving, needed = body_quantities(trace, system)
    written = recursion(trace.tree)
    return [
        DerivationStep(
            "Outward",
            "Angular velocity and acceleration of every link, acceleration of its origin and of its centre of mass r, "
            "in its own axes, from the base to the tips (THESIS (5.3.45)). A maps components in the axes of a link to "
            f"those of the link before it, s is the vector from the origin of that link, {written.joints} "
            "Here for zero joint accelerations.",
            tuple(moving),
            written.outward,
        ),
        DerivationStep(
            "Newton and Euler",
            "Force and moment about its centre of mass that each body needs, body axes. THESIS (4.3.1), (4.3.35)."
            + (f" Those of the field, f_g and n_g, are taken from them.{gravity_text(system)}" if field else ""),
            tuple(needed),
            r"F_i = m_i (a_i - R_i^T \mathbf{g}), \quad N_i = I_i\dot{\omega}_i + \omega_i \times I_i\omega_i"
            if field is None
            else r"F_i = m_i a_i - f_{gi}, \quad N_i = I_i\dot{\omega}_i + \omega_i \times I_i\omega_i - n_{gi}, \quad "
            + rf"{field.load_formula()}, \quad {field.letters('i')}",
        ),
        DerivationStep(
            *_inward(algorithm),
            (
                quantity(system, "coriolis", "c", c),
                quantity(system, "gravity", "g", g),
            ),
            written.inward if algorithm in RECURSIVE else "",
        ),
        *rotor_steps(system),
        DerivationStep(
            "Mass matrix",
            "Its columns are the generalised forces that a unit of one joint acceleration needs, at rest and without "
            f"gravity. {_by(inertia)}.",
            (quantity(system, "mass_matrix", "M", M),),
            r"M_{ij} = \tau_i(q, v = 0, \dot{v} = e_j, \mathbf{g} = 0)" + " + M_{r,ij}" * bool(system.rotors),
        ),
    ]


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


@dataclass(frozen=True)
class Recursion:
    """The recursion in general letters, in a form that is true of the joints at hand.

    Args:
        joints: what the letters of a joint mean.
        outward: motion of the links, LaTeX.
        inward: balance of the links, LaTeX.
    """

    joints: str
    outward: str
    inward: str


ALONG_AXES = Recursion(
    "z the axis of the joint, on which it turns (sigma = 1) or along which it slides (sigma = 0).",
    r"\omega_i = A_i^T \omega_{i-1} + \sigma_i z_i \dot{q}_i, \quad "
    r"\dot{\omega}_i = A_i^T \dot{\omega}_{i-1} + \sigma_i (z_i \ddot{q}_i + \omega_i \times z_i \dot{q}_i), \quad "
    r"\ddot{s}_i = A_i^T (\ddot{s}_{i-1} + \Omega_{i-1} s_i) "
    r"+ (1 - \sigma_i) (z_i \ddot{q}_i + 2 \omega_i \times z_i \dot{q}_i), \quad " + OF_THE_LINK,
    BALANCE + r"\tau_i = \sigma_i z_i^T n_i + (1 - \sigma_i) z_i^T f_i",
)
"""As the THESIS has it: every joint turns on an axis or slides along one."""

ALONG_COLUMNS = Recursion(
    "v the velocities of the joint, which turn the link by Z_w v and move its origin by Z_v v relative to the link "
    "before it: Z_w is the axis of a joint that turns (Z_v = 0), Z_v that of one that slides (Z_w = 0), of a screw "
    "Z_v is the pitch times Z_w; a spherical joint has the unit matrix for Z_w, and its v is no rate of coordinates.",
    r"\omega_i = A_i^T \omega_{i-1} + Z_{\omega i} v_i, \quad "
    r"\dot{\omega}_i = A_i^T \dot{\omega}_{i-1} + Z_{\omega i} \dot{v}_i + \omega_i \times Z_{\omega i} v_i, \quad "
    r"\ddot{s}_i = A_i^T (\ddot{s}_{i-1} + \Omega_{i-1} s_i) "
    r"+ Z_{vi} \dot{v}_i + 2 \omega_i \times Z_{vi} v_i, \quad " + OF_THE_LINK,
    BALANCE + r"\tau_i = Z_{\omega i}^T n_i + Z_{vi}^T f_i",
)
"""For joints of all kinds; the axis of a screw is that of its turning, so that omega_i stands for omega_{i-1} there."""


def recursion(tree: Tree) -> Recursion:
    """The recursion as it is to be written for the joints of a tree.

    Args:
        tree: the links with their elementary joints.
    """
    plain = all(link.kind in ("revolute", "prismatic") for link in tree.links)
    written = ALONG_AXES if plain else ALONG_COLUMNS
    joints = written.joints
    if len({link.joint for link in tree.links}) < len(tree.links):
        joints += " Joints of several freedoms are taken as a chain of such joints with massless links between them."
    if tree.coupled:
        joints += " A joint that follows another one adds its generalised force, times its gain, to that of the other."
    return Recursion(joints, written.outward, written.inward)


def body_quantities(
    trace: TracedMechanism, system: MultibodySystem
) -> tuple[list[DerivedQuantity], list[DerivedQuantity]]:
    """Of every massive link, in its axes and without joint accelerations: motion, and the force and moment it needs.

    Angular velocity and acceleration and the acceleration of the centre of mass; then m (a - g) and I wd + w x I w.
    What fixed joints weld to a link is part of it, as in all routes.
    """
    moving: list[DerivedQuantity] = []
    needed: list[DerivedQuantity] = []
    massive = [(link.name, matter) for link, matter in zip(trace.tree.links, trace.matter) if not matter.is_zero]
    if len(massive) > DETAILED_FREEDOMS or system.n > DETAILED_FREEDOMS:
        return moving, needed
    still = arrays.zeros(system.n)
    field = system.field
    for i, (name, matter) in enumerate(massive, 1):
        at = motion(trace.model, trace.q, trace.v, still, name, point=matter.center, axes="body")
        w, wd, a = at.angular_velocity, at.angular_acceleration, at.linear_acceleration
        m, I, R = matter.mass, matter.tensor, at.pose.rotation
        moment = product(I, arrays.asarray(wd)) + cross(w, product(I, arrays.asarray(w)))
        if field is None:
            force = m * (arrays.asarray(a) - product(R.T, trace.tree.gravity))
        else:
            pull, twist = field.load_in_body(m, I, R, at.pose.apply(matter.center))
            force, moment = m * arrays.asarray(a) - pull, moment - twist
        for letter, symbol, values in (("w", r"\omega", w), ("wd", r"\dot{\omega}", wd), ("a", "a", a)):
            moving.append(quantity(system, f"{letter}_{i}", f"{symbol}_{{{i}}}", np.array(values, dtype=object)))
        for letter, symbol, values in (("F", "F", force), ("N", "N", moment)):
            needed.append(quantity(system, f"{letter}_{i}", f"{symbol}_{{{i}}}", np.array(values, dtype=object)))
    return moving, needed
