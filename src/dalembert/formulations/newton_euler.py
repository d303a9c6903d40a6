"""Newton-Euler for a mechanism: the recursive algorithms of the THESIS, run on symbols.

    outward   velocities and accelerations of every link                        (5.3.45)
    inward    forces and moments at every joint, and their part along the joint (5.3.46)
    M         generalized links                                                  (6.3.28)-(6.3.30)

It is the cheapest of all routes: n^1 operations for the bias, n^2 for the mass matrix.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from dalembert.algebra import scalar
from dalembert.algorithms.economy import economical
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.algorithms.selection import choose
from dalembert.algorithms.sensitivity import sensitivity
from dalembert.compiler.trace import label
from dalembert.formulations.assembly import assembled, quantity
from dalembert.formulations.equations import Equations, Step
from dalembert.formulations.mechanism_system import system_around
from dalembert.formulations.newton_euler_steps import body_quantities
from dalembert.formulations.system import with_rotors
from dalembert.formulations.tracing import traced
from dalembert.model import Mechanism
from dalembert.model.tree import Tree


def newton_euler(
    mechanism: Mechanism,
    *,
    coordinates: Sequence[str] | None = None,
    include: Sequence[str] = (),
    wrenches: Sequence[str] = (),
    actuated: Sequence[str] | None = None,
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
        algorithm: inverse dynamics, one of :data:`dalembert.algorithms.inverse_dynamics.INVERSE_DYNAMICS`.
        inertia: mass matrix, one of :data:`dalembert.algorithms.inertia_matrix.INERTIA_MATRIX`.
    """
    trace = traced(mechanism, coordinates)
    system = system_around(trace, include, bodies=False)
    tree, q, v = trace.tree, trace.q, trace.v
    cheap = economical(tree) if not mechanism.symbols else tree
    inverse_dynamics, matrix = choose(algorithm, INVERSE_DYNAMICS), choose(inertia, INERTIA_MATRIX)
    at_rest = scalar.zeros(mechanism.nv)

    def forces(tree: Tree, v: np.ndarray) -> np.ndarray:
        return np.array(inverse_dynamics(tree, q, v, at_rest), dtype=object)

    M = label(with_rotors(system, np.array(matrix(cheap, q), dtype=object)), "M")
    c = forces(dataclasses.replace(cheap, gravity=scalar.zeros(3)), v)
    g = forces(cheap, at_rest)
    bias = forces(cheap, v)
    moving, needed = body_quantities(trace, system)
    steps = [
        Step(
            "Outward",
            "Angular velocity and acceleration, and acceleration of the origin, of every link in its own axes, from "
            "the base to the tips; the base accelerates by -g. THESIS (5.3.45). Here, for zero joint accelerations, of "
            "the bodies' centres of mass.",
            tuple(moving),
            r"\omega_i = A_i^T\omega_{i-1} + z\dot{q}_i, \quad "
            r"\ddot{s}_i = A_i^T(\ddot{s}_{i-1} + \Omega_{i-1}s_i) + \dots",
        ),
        Step(
            "Newton and Euler",
            "Force and moment about its centre of mass that each body needs, body axes. THESIS (4.3.1), (4.3.35).",
            tuple(needed),
            r"F_i = m_i (a_i - g), \quad M_i = I_i\dot{\omega}_i + \omega_i \times I_i\omega_i",
        ),
        Step(
            "Inward",
            f"Force and moment at every joint, from the tips to the base, by the algorithm {algorithm!r}; their "
            "components along the joint are the generalised forces. THESIS (5.3.46).",
            (
                quantity(system, "coriolis", "c", c),
                quantity(system, "gravity", "g", g),
            ),
            r"\tau_i = \eta_i^T z_i \;\text{ or }\; f_i^T z_i",
        ),
        Step(
            "Mass matrix",
            f"Column by column, by the algorithm {inertia!r}. THESIS (6.3.28)-(6.3.30).",
            (quantity(system, "mass_matrix", "M", M),),
        ),
    ]
    makers = {}
    if not system.quaternions:

        def coriolis_matrix() -> np.ndarray:
            slopes = sensitivity(dataclasses.replace(tree, gravity=scalar.zeros(3)), q, v, at_rest)
            return np.array(slopes.V, dtype=object) / 2

        makers["coriolis_matrix"] = lambda: quantity(system, "coriolis_matrix", "C", coriolis_matrix())
    return assembled(
        system,
        "newton-euler",
        M,
        c,
        g,
        steps,
        ["THESIS"],
        bias=bias,
        wrenches=wrenches,
        actuated=actuated,
        extras=makers,
    )
