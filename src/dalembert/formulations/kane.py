"""Kane's equations (PARSA sections 2 to 4; Kane and Levinson 1985).

    qdot = Gamma v ,  v = B(q,t) u + d(q,t) ,  A(q,t) v = b(q,t) ,  A B = 0 ,  A d = b                      (5)-(11)
    w_i = Tw_i u + ... ,  cdot_i = Tv_i u + ... ,   T_i = J_i B : partial velocities                         (44)
    sum T_i^T [ M_i d/dt(J_i v) + W_i M_i J_i v ] = sum T_i^T (forces on body i)                             (46)

The u are the velocities themselves, a choice of the user, or - under constraints - an independent part of v.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.algebra.scalar import is_zero
from dalembert.algebra.vectors import cross
from dalembert.errors import ArgumentError
from dalembert.formulations.arguments import lagrange_to_kane
from dalembert.formulations.christoffel import parsa_matrix
from dalembert.formulations.completion import completed, driven_velocities, external_forces, input_map, total_passive
from dalembert.formulations.equations import DerivationStep, Equations, Lazy
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.scope import with_inputs
from dalembert.formulations.speeds import Speeds, choose_speeds
from dalembert.formulations.steps import DETAILED_FREEDOMS, closing_steps, gravity_formula, gravity_text, rotor_steps
from dalembert.formulations.system import MultibodySystem, gravity_forces, projected, quantity, system_mass_matrix
from dalembert.model.checks import expect_items
from dalembert.tracing.trace import label

Velocities = tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]


def kane(
    system: MultibodySystem,
    *,
    speeds: Sequence[Any] | None = None,
    pfaffian: Sequence[Any] = (),
    independent: Sequence[str] | None = None,
    reference: np.ndarray | None = None,
    wrenches: Sequence[str] = (),
    actuated: Sequence[str] | None = None,
) -> Equations:
    """Equations of motion by Kane's method; constraints are eliminated, their multipliers remain available.

    Args:
        system: the system; see :func:`dalembert.formulations.derive.derive` for mechanisms.
        speeds: the quasi-velocities u, as SymPy expressions linear in the velocities, or pairs (name, expression);
            they may depend on time, the symbol ``t``.
        pfaffian: constraints on velocities, see :func:`dalembert.formulations.pfaffian.velocity_constraints`.
        independent: names of the velocities to be kept as u; chosen automatically by default.
        reference: positions around which constraints are compared, where assembly modes of loops differ in mobility;
            loops need not be closed there.
        wrenches: frames on which external wrenches act; each becomes an input.
        actuated: names of the driven joints; all by default.
    """
    speeds = None if speeds is None else expect_items(speeds, object, "speeds")
    pfaffian = expect_items(pfaffian, object, "pfaffian")
    if reference is not None and not (pfaffian or system.constraints):
        raise ArgumentError(
            f"{{argument}}: {system.name!r} has no constraints that would be compared around it", argument="reference"
        )
    if not (speeds or pfaffian or system.constraints or independent is not None):
        return _unconstrained(system, wrenches, actuated)
    chosen = choose_speeds(system, speeds, pfaffian, independent, reference)
    return _reduced(system, chosen, wrenches, actuated)


def _unconstrained(system: MultibodySystem, wrenches: Sequence[str], actuated: Sequence[str] | None) -> Equations:
    M = label(system_mass_matrix(system), "M", first=1)
    c, g = inertia_forces(system), gravity_forces(system)
    makers = {"coriolis_matrix_parsa": lambda: quantity(system, "coriolis_matrix_parsa", "C", parsa_matrix(system))}
    found = completed(
        system, "kane", M, c, g, _unconstrained_steps(system, M, c, g), ["PARSA", "KANE"],
        bias=_bias(system, c, g), wrenches=wrenches, actuated=actuated, extras=makers,
    )  # fmt: skip
    return dataclasses.replace(found, derivation=(*found.derivation, _kanes_equations(found, False)))


def _bias(system: MultibodySystem, c: np.ndarray, g: np.ndarray, turning: Velocities | None = None) -> np.ndarray:
    """c + g; uniform gravity is taken from the accelerations, so that both are projected at once."""
    if system.field is not None:
        return c + g
    return inertia_forces(system, turning, system.gravity)


def inertia_forces(system: MultibodySystem, turning: Velocities | None = None, falling: Any = None) -> np.ndarray:
    """Sum of T_i^T [ M_i d/dt(J_i v) + W_i M_i J_i v ] without udot, (46); the bracket is (33).

    Args:
        system: the system; its Jacobians are the partial velocities.
        turning: what :func:`body_velocities` gives, where velocities are not just the Jacobian times the speeds.
        falling: acceleration of free fall, inertial axes, that the bodies feel in addition; none by default.
    """
    velocities = body_velocities(system) if turning is None else turning
    w, linear, spins = velocities
    accelerations = system.rate(np.array([*w, *linear], dtype=object).reshape(-1, 3))
    wd, linear_d = accelerations[: len(w)], accelerations[len(w) :]
    if falling is not None:
        linear_d = linear_d - np.asarray(falling, dtype=object)
    c = projected([(body.Jv, body.mass * a) for body, a in zip(system.bodies, linear_d)], system.n)
    moments = []
    for body, w_i, wd_i in zip(system.bodies, w, wd):
        if body.inertia is not None:
            moments.append((body.Jw, product(body.inertia, wd_i) + cross(w_i, product(body.inertia, w_i))))
    for (inertia, row), spin in zip(system.rotors, spins):
        moments.append((row[None], inertia * system.rate(spin)))
    return c + projected(moments, system.n)


def body_velocities(system: MultibodySystem, v: np.ndarray | None = None) -> Velocities:
    """w_i in body axes and the velocity of the centre of mass in inertial axes, of every body; speeds of the rotors.

    Args:
        v: its velocities as expressions; by default they are inputs.
    """
    v = system.v if v is None else v
    return (
        [product(body.Jw, v) for body in system.bodies],
        [product(body.Jv, v) for body in system.bodies],
        [product(row[None], v) for _, row in system.rotors],
    )


def _reduced(
    system: MultibodySystem, chosen: Speeds, wrenches: Sequence[str], actuated: Sequence[str] | None
) -> Equations:
    """(46) in the independent speeds u."""
    B, v = chosen.B, chosen.velocities
    velocities = body_velocities(system, v)
    partial = [
        dataclasses.replace(body, Jw=product(body.Jw, B), Jv=product(body.Jv, B))
        for body in system.bodies  # (44)
    ]
    qdot = with_inputs(system.scope, system.qdot, {"v": v})
    rotors = [(inertia, product(row[None], B)[0]) for inertia, row in system.rotors]
    reduced = dataclasses.replace(
        system, v=chosen.u, qdot=qdot, bodies=partial, rotors=rotors, constraints=None, passive=[]
    )
    M = label(system_mass_matrix(reduced), "M", first=1)
    c, g = inertia_forces(reduced, velocities), gravity_forces(reduced)

    def forces(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else product(B.T, with_inputs(system.scope, values, {"v": v}))

    passive, external = total_passive(system), external_forces(system, wrenches)
    driven = driven_velocities(system, actuated)
    inputs = input_map(system, driven)

    def make(name: str, symbol: str, values: Any) -> DerivedQuantity:
        return quantity(system, name, symbol, values)

    p, e = forces(passive), forces(external)
    acting = {
        "passive": None if p is None else make("passive", "p", p),
        "external": None if e is None else make("external", "e", e),
    }
    found = Equations(
        system.name, "kane", system.scope,
        mass_matrix=make("mass_matrix", "M", M),
        coriolis=make("coriolis", "c", c),
        gravity=make("gravity", "G", g),
        bias=make("bias", "h", _bias(reduced, c, g, velocities)),
        kinematics=make("kinematics", r"\dot{q}", qdot),
        input_map=make("input_map", "D", product(B.T, inputs).reshape(len(chosen.u), inputs.shape[1])),
        passive=acting["passive"],
        external=acting["external"],
        extras=Lazy(
            {
                "velocities": lambda: make("velocities", "v", v),
                "acceleration_drift": lambda: make("acceleration_drift", r"\dot{B}u + \dot{d}", reduced.rate(v)),
                "speed_map": lambda: make("speed_map", "B", B),
                "speed_drift": lambda: make("speed_drift", "d", chosen.d),
                "constraint_matrix": lambda: make("constraint_matrix", "A", chosen.A),
                "constraint_rate": lambda: make("constraint_rate", "b", chosen.b),
                "multipliers": lambda: _multipliers(system, chosen, inputs, passive, external),
                "coriolis_matrix_parsa": lambda: make("coriolis_matrix_parsa", "C", parsa_matrix(reduced)),
            }
        ),
        derivation=tuple(_reduced_steps(system, reduced, chosen, (M, c, g), acting)),
        sources=("PARSA", "KANE"),
        driven=tuple(driven),
    )  # fmt: skip
    return dataclasses.replace(found, derivation=(*found.derivation, _kanes_equations(found, True)))


def _kanes_equations(equations: Equations, reduced: bool) -> DerivationStep:
    """Generalised active and inertia forces, F_r and F_r*, whose sum vanishes.

    Args:
        equations: of Kane's method.
        reduced: whether the speeds u are others than the velocities v.
    """
    scope, n = equations.scope, len(equations.mass_matrix)
    rates = scope.once("udot", map(str, scope.accelerations))
    active = -equations.gravity.values
    for load in (equations.passive, equations.external):
        active = active if load is None else active + load.values
    if equations.input_map.shape[1]:
        drives = scope.once("tau", map(str, equations.inputs))
        active = active + product(equations.input_map.values, drives)
    inertia = -(product(equations.mass_matrix.values, rates) + equations.coriolis.values)
    letter, T = ("u", "T") if reduced else ("v", "J")
    return DerivationStep(
        "Generalised active and inertia forces",
        f"Kane's equations: for each {'speed' if reduced else 'velocity'} r the generalised active force F_r and the "
        "generalised inertia force F_r* balance. Of body i, f is the force on it and n the moment about its centre of "
        "mass; "
        "its inertia force is minus mass times acceleration, its inertia torque minus the rate of its angular momentum "
        "(KANE; PARSA (32), (33)).",
        (
            DerivedQuantity(scope, "active_forces", "F", np.array(active, dtype=object).reshape(n)),
            DerivedQuantity(scope, "inertia_forces", "F^*", np.array(inertia, dtype=object).reshape(n)),
        ),
        rf"F + F^* = 0, \quad F = \sum_i \left( {T}_{{vi}}^T f_i + {T}_{{\omega i}}^T n_i \right), \quad "
        rf"F^* = -\sum_i \left( {T}_{{vi}}^T m_i \ddot{{p}}_{{Ci}} + {T}_{{\omega i}}^T (I_i \dot{{\omega}}_i + "
        rf"\omega_i \times I_i \omega_i) \right) = -(M \dot{{{letter}}} + c)",
    )


def _multipliers(
    system: MultibodySystem, chosen: Speeds, inputs: np.ndarray, passive: np.ndarray | None, external: np.ndarray | None
) -> DerivedQuantity:
    """lambda = N^T ( M vdot + c + g - forces ), A N = 1: of q, u, the accelerations ``udot`` and inputs ``tau``."""
    scope = system.scope
    udot = scope.once("udot", map(str, scope.accelerations))
    tau = scope.once("tau", [f"tau{k}" for k in range(1, inputs.shape[1] + 1)])
    v = chosen.velocities
    free = dataclasses.replace(system, qdot=with_inputs(scope, system.qdot, {"v": v}))
    inertia = product(system_mass_matrix(system), product(chosen.B, udot)) + inertia_forces(
        free, body_velocities(system, v)
    )
    balance = inertia + gravity_forces(system) - product(inputs, tau)
    for load in (passive, external):
        if load is not None:
            balance = balance - with_inputs(scope, load, {"v": v})
    return quantity(system, "multipliers", r"\lambda", product(chosen.N.T, balance))


# -------------------------------------------------------------------------------------------------- steps, for reading


def _unconstrained_steps(system: MultibodySystem, M: Any, c: Any, g: Any) -> list[DerivationStep]:
    return [
        *_motion_steps(system),
        *lagrange_to_kane(system),
        _acceleration_step(system, body_velocities(system), False),
        *rotor_steps(system),
        _projection_step(system, M, c, g, False),
    ]


def _reduced_steps(
    system: MultibodySystem,
    reduced: MultibodySystem,
    chosen: Speeds,
    parts: tuple[Any, Any, Any],
    acting: Mapping[str, DerivedQuantity | None],
) -> list[DerivationStep]:
    text = "What a unit of each speed does to each body, PARSA (44)."
    return [
        *_motion_steps(system),
        *lagrange_to_kane(system),
        *chosen.steps(system),
        *_motion_steps(reduced, "Partial velocities", text, "T", "T_i = J_i B"),
        _acceleration_step(reduced, body_velocities(system, chosen.velocities), True),
        *rotor_steps(reduced),
        _projection_step(reduced, *parts, True),
        *closing_steps(system, acting, True),
    ]


def _motion_steps(
    system: MultibodySystem,
    title: str = "Velocities of the bodies",
    text: str = "Angular velocity in body axes and velocity of the centre of mass in inertial axes, PARSA (13)-(16).",
    letter: str = "J",
    formula: str = r"\omega_i = J_{\omega i} v, \quad \dot{p}_{Ci} = J_{vi} v, \quad "
    r"J_i = \begin{bmatrix} J_{\omega i} \\ J_{vi} \end{bmatrix}",
) -> list[DerivationStep]:
    """Jacobians, or partial velocities, of every body of a small system.

    Args:
        letter: J or T.
        formula: the general equation, LaTeX.
    """
    if len(system.bodies) > DETAILED_FREEDOMS or len(system.v) > DETAILED_FREEDOMS:
        return [DerivationStep(title, text, (), formula)]
    shown: list[Any] = []
    for i, body in enumerate(system.bodies, 1):
        shown.append(quantity(system, f"{letter}w_{i}", rf"{letter}_{{\omega {i}}}", body.Jw))
        shown.append(quantity(system, f"{letter}v_{i}", f"{letter}_{{v {i}}}", body.Jv))
    return [DerivationStep(title, text, tuple(shown), formula)]


def _acceleration_step(
    system: MultibodySystem, velocities: tuple[list[Any], list[Any], list[Any]], reduced: bool
) -> DerivationStep:
    """Accelerations of the bodies without the derivatives of the speeds.

    Args:
        velocities: angular and linear velocity of every body, and speeds of rotors, which are not shown.
        reduced: whether the speeds u are others than the velocities v.
    """
    first = r"T_i \dot{u}" if reduced else r"J_i \dot{v}"
    shown: list[Any] = []
    if len(system.bodies) <= DETAILED_FREEDOMS and system.n <= DETAILED_FREEDOMS:
        for i, (w, v) in enumerate(zip(*velocities[:2]), 1):
            shown.append(quantity(system, f"alpha_{i}", rf"\alpha_{{{i}}}", system.rate(w)))
            shown.append(quantity(system, f"a_{i}", f"a_{{{i}}}", system.rate(v)))
    return DerivationStep(
        "Accelerations",
        "Of the bodies while the speeds are constant: angular in body axes, centre of mass in inertial axes.",
        tuple(shown),
        rf"\frac{{d}}{{dt}}(J_i v) = {first} + \begin{{bmatrix}} \alpha_i \\ a_i \end{{bmatrix}}",
    )


KANES_LETTERS = (
    r", \quad M_i = \begin{bmatrix} I_i & 0 \\ 0 & m_i \mathbf{1} \end{bmatrix}, \quad "
    r"W_i = \begin{bmatrix} \tilde{\omega}_i & 0 \\ 0 & 0 \end{bmatrix}"
)
"""Inertia and turn of a body, LaTeX."""


def _projection_step(system: MultibodySystem, M: Any, c: Any, g: Any, reduced: bool) -> DerivationStep:
    """Inertia and active forces projected on the partial velocities.

    Args:
        c: centrifugal and Coriolis forces.
        g: gravity forces.
        reduced: whether the speeds u are others than the velocities v.
    """
    T = "T_i" if reduced else "J_i"
    letters = KANES_LETTERS if system.quaternions else ""  # where the argument has not introduced them
    turning, rotors, falling = "", "", ""
    if system.field is not None:
        falling = r", \quad " + gravity_formula(system, "", reduced)
    elif not all(map(is_zero, np.asarray(system.gravity))):
        falling = rf", \quad G = -\sum_i m_i {T[0]}_{{vi}}^T \mathbf{{g}}"
    if system.rotors:
        turning = (
            f" So is what the rotors need, which turn at the rates nu, s per {'speed' if reduced else 'velocity'}."
        )
        rotors = r" + \sum_r J_r s_r^T \dot{\nu}_r"
    return DerivationStep(
        "Projection on the partial velocities",
        "Kane's equations: inertia forces and active forces of every body, the moments n about its centre of mass and "
        "the forces f, are projected on the partial velocities "
        f"(KANE; PARSA {'(33), (46)' if reduced else '(32), (33)'}).{turning}{gravity_text(system)}",
        (
            quantity(system, "mass_matrix", "M", M),
            quantity(system, "coriolis", "c", c),
            quantity(system, "gravity", "G", g),
        ),
        rf"\sum_i {T}^T \left( M_i \frac{{d}}{{dt}}(J_i v) + W_i M_i J_i v \right){rotors} = \sum_i {T}^T w_i"
        + letters
        + falling,
    )
