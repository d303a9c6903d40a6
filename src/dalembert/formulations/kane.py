"""Kane's equations (PARSA sections 2 to 4; Kane and Levinson 1985).

    qdot = Gamma v ,  v = B(q,t) u + d(q,t) ,  A(q,t) v = b(q,t) ,  A B = 0 ,  A d = b                      (5)-(11)
    w_i = Tw_i u + ... ,  cdot_i = Tv_i u + ... ,   T_i = J_i B : partial velocities                         (44)
    sum T_i^T [ M_i d/dt(J_i v) + W_i M_i J_i v ] = sum T_i^T (forces on body i)                             (46)

The u are the velocities themselves, a choice of the user, or - under constraints - an independent part of v.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.algebra.vectors import cross
from dalembert.errors import ArgumentError
from dalembert.formulations.assembly import (
    Lazy,
    assembled,
    closing_steps,
    driven_velocities,
    external_forces,
    input_map,
    quantity,
    rotor_steps,
    total_passive,
)
from dalembert.formulations.christoffel import parsa_matrix
from dalembert.formulations.equations import Equations, Step
from dalembert.formulations.gravitation import InverseSquare
from dalembert.formulations.kane_steps import acceleration_step, final_step, motion_steps
from dalembert.formulations.pfaffian import with_inputs
from dalembert.formulations.quantity import Quantity
from dalembert.formulations.speeds import Speeds, choose_speeds
from dalembert.formulations.sums import projected
from dalembert.formulations.system import System, gravity_forces, mass_matrix
from dalembert.model.checks import expect_items
from dalembert.tracing.trace import label

Velocities = tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]


def kane(
    system: System,
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
        pfaffian: constraints on velocities, see :func:`dalembert.formulations.pfaffian.constraint_rows`.
        independent: names of the velocities to be kept as u; chosen automatically by default.
        reference: positions around which constraints are compared, where loops close in ways of different mobility;
            they need not be closed there.
        wrenches: frames on which external wrenches act; each becomes an input.
        actuated: names of the driven joints; all by default.
    """
    speeds = None if speeds is None else expect_items(speeds, object, "speeds")
    pfaffian = expect_items(pfaffian, object, "pfaffian")
    if reference is not None and not (pfaffian or system.constraints):
        raise ArgumentError(f"reference: {system.name!r} has no constraints that would be compared around it")
    if not (speeds or pfaffian or system.constraints or independent is not None):
        return _unconstrained(system, wrenches, actuated)
    chosen = choose_speeds(system, speeds, pfaffian, independent, reference)
    return _reduced(system, chosen, wrenches, actuated)


def _unconstrained(system: System, wrenches: Sequence[str], actuated: Sequence[str] | None) -> Equations:
    M = label(mass_matrix(system), "M", first=1)
    c, g = inertia_forces(system), gravity_forces(system)
    steps = [*motion_steps(system), acceleration_step(system, body_velocities(system), False)]
    steps += [*rotor_steps(system), final_step(system, M, c, g, False)]
    makers = {"coriolis_matrix_parsa": lambda: quantity(system, "coriolis_matrix_parsa", "C", parsa_matrix(system))}
    return assembled(
        system, "kane", M, c, g, steps, ["PARSA", "KANE"],
        bias=_bias(system, c, g), wrenches=wrenches, actuated=actuated, extras=makers,
    )  # fmt: skip


def _bias(system: System, c: np.ndarray, g: np.ndarray, turning: Velocities | None = None) -> np.ndarray:
    """c + g; uniform gravity is taken from the accelerations, so that both are projected at once."""
    if isinstance(system.gravity, InverseSquare):
        return c + g
    return inertia_forces(system, turning, system.gravity)


def inertia_forces(system: System, turning: Velocities | None = None, falling: Any = None) -> np.ndarray:
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


def body_velocities(system: System, v: np.ndarray | None = None) -> Velocities:
    """w_i in body axes and the velocity of the centre of mass in inertial axes, of every body; speeds of the rotors.

    Args:
        system: the system.
        v: its velocities as expressions; by default they are inputs.
    """
    v = system.v if v is None else v
    return (
        [product(body.Jw, v) for body in system.bodies],
        [product(body.Jv, v) for body in system.bodies],
        [product(row[None], v) for _, row in system.rotors],
    )


def _reduced(system: System, chosen: Speeds, wrenches: Sequence[str], actuated: Sequence[str] | None) -> Equations:
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
    M = label(mass_matrix(reduced), "M", first=1)
    c, g = inertia_forces(reduced, velocities), gravity_forces(reduced)

    def forces(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else product(B.T, with_inputs(system.scope, values, {"v": v}))

    passive, external = total_passive(system), external_forces(system, wrenches)
    driven = driven_velocities(system, actuated)
    inputs = input_map(system, driven)

    def make(name: str, symbol: str, values: Any) -> Quantity:
        return quantity(system, name, symbol, values)

    p, e = forces(passive), forces(external)
    steps = [*motion_steps(system), *chosen.steps(system), *_partial_steps(reduced)]
    steps += [acceleration_step(reduced, velocities, True), *rotor_steps(reduced)]
    acting = {
        "passive": None if p is None else make("passive", "p", p),
        "external": None if e is None else make("external", "e", e),
    }
    steps += [final_step(reduced, M, c, g, True), *closing_steps(system, acting, True)]
    return Equations(
        system.name, "kane", system.scope,
        mass_matrix=make("mass_matrix", "M", M),
        coriolis=make("coriolis", "c", c),
        gravity=make("gravity", "g", g),
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
        derivation=tuple(steps),
        sources=("PARSA", "KANE"),
        driven=tuple(driven),
    )  # fmt: skip


def _partial_steps(reduced: System) -> list[Step]:
    text = "What a unit of each speed does to each body, PARSA (44)."
    return motion_steps(reduced, "Partial velocities", text, "T", "T_i = J_i B")


def _multipliers(
    system: System, chosen: Speeds, inputs: np.ndarray, passive: np.ndarray | None, external: np.ndarray | None
) -> Quantity:
    """lambda = N^T ( M vdot + c + g - forces ), A N = 1: of q, u, the accelerations ``udot`` and inputs ``tau``."""
    scope = system.scope
    udot = scope.once("udot", map(str, scope.accelerations))
    tau = scope.once("tau", [f"tau{k}" for k in range(1, inputs.shape[1] + 1)])
    v = chosen.velocities
    free = dataclasses.replace(system, qdot=with_inputs(scope, system.qdot, {"v": v}))
    inertia = product(mass_matrix(system), product(chosen.B, udot)) + inertia_forces(free, body_velocities(system, v))
    balance = inertia + gravity_forces(system) - product(inputs, tau)
    for load in (passive, external):
        if load is not None:
            balance = balance - with_inputs(scope, load, {"v": v})
    return quantity(system, "multipliers", r"\lambda", product(chosen.N.T, balance))
