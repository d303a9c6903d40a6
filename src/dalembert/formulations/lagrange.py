"""Euler-Lagrange in explicit form (KHATIB; PARSA sections 2 and 3).

    K = 1/2 v^T M v ,   M = sum( m_i Jv_i^T Jv_i + Jw_i^T I_i Jw_i )
    c = Mdot v - 1/2 [ v^T (dM/dq_i) v ] ,   G = dU/dq = - sum Jv_i^T m_i (acceleration of free fall)
    M vdot + c + G = tau                              KHATIB has V for c

For coordinates whose rates are not the velocities (quaternions) the same is done with v = S(q) qdot, and the redundant
equations are projected by Gamma^T, which removes the multipliers of the quaternions' unit length (FORBES).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.algebra.attitude import Quaternion
from dalembert.formulations.christoffel import christoffel_steps, coriolis_makers
from dalembert.formulations.completion import completed
from dalembert.formulations.equations import DerivationStep, Equations
from dalembert.formulations.scope import Scope, with_inputs
from dalembert.formulations.steps import DETAILED_FREEDOMS, gravity_formula, gravity_text, rotor_steps
from dalembert.formulations.system import (
    MultibodySystem,
    gravity_forces,
    potential_energy,
    quantity,
    system_mass_matrix,
    velocity_map,
)
from dalembert.tracing.derivatives import forward, reverse
from dalembert.tracing.trace import label

EXPLICIT_TEXT = "What remains of d/dt(dK/dv) - dK/dq when the accelerations are taken out (KHATIB, there V)."
EXPLICIT = r"c = \dot{M} v - \tfrac12 \left[ v^T \frac{\partial M}{\partial q_i} v \right]_i"
"""Velocity forces where velocities are the rates of the coordinates, LaTeX."""

PROJECTED_TEXT = (
    "Velocities that are not the rates of coordinates have no Lagrange equations of their own: S qdot is put for v "
    "in K, so that the mass matrix of the rates is M_q, and d/dt(dK/dqdot) - dK/dq is formed for all coordinates. "
    "Gamma^T removes the multipliers of the quaternions' unit length (FORBES); c is what remains for vdot = 0."
)
PROJECTED = (
    r"M_q = S^T M S, \quad c = \Gamma^T \left( \dot{M}_q \dot{q} + M_q \dot{\Gamma} v "
    r"- \tfrac12 \left[ \dot{q}^T \frac{\partial M_q}{\partial q_i} \dot{q} \right]_i \right)"
)
"""Velocity forces where there are quaternions, LaTeX; their rates are redundant."""


def lagrange(
    system: MultibodySystem, *, wrenches: Sequence[str] = (), actuated: Sequence[str] | None = None
) -> Equations:
    """Equations of motion by Euler-Lagrange.

    Args:
        system: the system; see :func:`dalembert.formulations.derive.derive` for mechanisms.
        wrenches: frames on which external wrenches act; each becomes an input.
        actuated: names of the driven joints; all by default.
    """
    M = label(system_mass_matrix(system), "M", first=1)
    T, c = kinetic_energy(system, M), coriolis_forces(system, M)
    U, g = potential_energy(system), gravity_forces(system)
    symbols = christoffel_steps(system, M)
    sources = ["KHATIB", "PARSA", *(["FORBES"] if system.quaternions else []), *(["THESIS"] if symbols else [])]
    return completed(
        system, "lagrange", M, c, g, _steps(system, M, T, U, c, g, symbols), sources,
        wrenches=wrenches, actuated=actuated, extras={
            "kinetic_energy": lambda: quantity(system, "kinetic_energy", "K", np.array(T, dtype=object)),
            "potential_energy": lambda: quantity(system, "potential_energy", "U", np.array(U, dtype=object)),
            **coriolis_makers(system, M),
        },
    )  # fmt: skip


def kinetic_energy(system: MultibodySystem, M: np.ndarray) -> Any:
    """K = 1/2 v^T M v."""
    return product(system.v[None], product(M, system.v))[0] / 2


def coriolis_forces(system: MultibodySystem, M: np.ndarray) -> np.ndarray:
    """c = d/dt(dK/dqdot) - dK/dq without the accelerations."""
    if system.quaternions:
        Gamma = velocity_map(system)
        return product(Gamma.T, redundant_bias(system.scope, system.q, system.v, rate_inverse(system), Gamma, M))
    momentum = product(M, system.v)
    energy = product(system.v[None], momentum)[0] / 2
    return system.rate(momentum) - reverse(energy, system.q)


def rate_inverse(system: MultibodySystem) -> np.ndarray:
    """S, n x nq: the velocities per rate of the coordinates; S Gamma = 1."""
    S = np.zeros((system.n, len(system.q)), dtype=object)
    first_q = dict(system.quaternions)
    q = v = 0
    while q < len(system.q):
        if q in first_q:
            S[v : v + 3, q : q + 4] = Quaternion().S(system.q[q : q + 4])
            q, v = q + 4, v + 3
        else:
            S[v, q] = 1
            q, v = q + 1, v + 1
    return S


def rate_steps(system: MultibodySystem) -> list[DerivationStep]:
    """How rates of coordinates and velocities follow from each other, if they are not the same."""
    if not system.quaternions:
        return []
    shown = (
        quantity(system, "velocity_map", r"\Gamma", velocity_map(system)),
        quantity(system, "rate_inverse", "S", rate_inverse(system)),
    )
    return [
        DerivationStep(
            "Rates of the coordinates",
            "Angular velocities are not the rates of quaternions, which are four and of unit length (FORBES).",
            shown if system.n <= DETAILED_FREEDOMS else (),
            r"\dot{q} = \Gamma(q)\, v, \quad v = S(q)\, \dot{q}, \quad S\,\Gamma = 1",
        )
    ]


def _steps(
    system: MultibodySystem, M: Any, T: Any, U: Any, c: Any, g: Any, symbols: list[DerivationStep]
) -> list[DerivationStep]:
    def q(name: str, symbol: str, values: Any) -> Any:
        return quantity(system, name, symbol, values)

    shown = system.bodies if len(system.bodies) <= DETAILED_FREEDOMS and system.n <= DETAILED_FREEDOMS else []
    where = [q(f"center_{i}", f"p_{{C{i}}}", b.center) for i, b in enumerate(shown, 1)]
    jacobians = []
    for i, body in enumerate(shown, 1):
        jacobians += [q(f"Jv_{i}", f"J_{{v{i}}}", body.Jv), q(f"Jw_{i}", rf"J_{{\omega{i}}}", body.Jw)]
    bodies = ", ".join(body.name for body in system.bodies)
    return [
        DerivationStep(
            "Coordinates and bodies", f"Positions of the centres of mass of {bodies}, inertial axes.", tuple(where)
        ),
        DerivationStep(
            "Velocities",
            "Jv: velocity of the centre of mass, inertial axes; Jw: angular velocity, body axes; both per velocity.",
            tuple(jacobians),
            r"\dot{p}_{Ci} = J_{vi} v, \quad \omega_i = J_{\omega i} v",
        ),
        *rate_steps(system),
        *rotor_steps(system),
        DerivationStep(
            "Kinetic energy",
            "It is quadratic in the velocities; its matrix is the mass matrix (KHATIB; PARSA (35)).",
            (q("mass_matrix", "M", M), q("kinetic_energy", "K", np.array(T, dtype=object))),
            r"K = \tfrac12 v^T M v, \quad M = \sum_i m_i J_{vi}^T J_{vi} + J_{\omega i}^T I_i J_{\omega i}"
            + " + M_r" * bool(system.rotors),
        ),
        DerivationStep(
            "Potential energy and gravity",
            "Gravity forces are the derivative of the potential energy of all that moves (KHATIB, there G; PARSA (26), "
            "(27))." + gravity_text(system),
            (q("potential_energy", "U", np.array(U, dtype=object)), q("gravity", "G", g)),
            gravity_formula(system, "J_{vi}"),
        ),
        *symbols,
        DerivationStep(
            "Centrifugal and Coriolis forces",
            PROJECTED_TEXT if system.quaternions else EXPLICIT_TEXT,
            (q("coriolis", "c", c),),
            PROJECTED if system.quaternions else EXPLICIT,
        ),
    ]


def redundant_bias(scope: Scope, q: np.ndarray, nu: np.ndarray, S: np.ndarray, Gamma: np.ndarray, M: np.ndarray) -> Any:
    """d/dt(dK/dqdot) - dK/dq for constant nu, as a function of q and nu; one entry for each coordinate (FORBES).

        K(q, qdot) = 1/2 nu^T M(q) nu ,   nu = S(q) qdot ,   qdot = Gamma(q) nu ,   Xi(q) qdot = 0
        d/dt(dK/dqdot) - dK/dq = f + Xi^T lambda          multiply by Gamma^T: Gamma^T Xi^T = 0

    Args:
        scope: the symbols; a hidden input ``rates`` is added for qdot.
        q: coordinates, inputs.
        nu: velocities, inputs.
        S: nu per rate of the coordinates.
        Gamma: rates of the coordinates per nu.
        M: mass matrix for nu.
    """
    graph = scope.graph
    hidden = f"rates{sum(port.name.startswith('rates') for port in graph.inputs)}"
    rates = graph.input(hidden, (len(q),))
    speeds = product(S, rates)
    momentum = product(S.T, product(M, speeds))  # dK/dqdot
    energy = product(speeds[None], product(M, speeds))[0] / 2
    qdot = product(Gamma, nu)
    acceleration = forward(qdot, q, qdot)  # of the coordinates, nu constant
    force = forward(momentum, q, rates) + product(S.T, product(M, product(S, acceleration))) - reverse(energy, q)
    return with_inputs(scope, force, {hidden: qdot})
