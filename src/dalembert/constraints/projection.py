"""Velocities and accelerations that satisfy the constraints, nearest to given ones: in the sense of kinetic energy, and
of Gauss's least constraint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints import numeric
from dalembert.constraints.arguments import velocities_named
from dalembert.constraints.assembly import start_of
from dalembert.constraints.consistency import DRIFT, refuse_far, relative_violation, violation
from dalembert.constraints.descent import check_gradients
from dalembert.constraints.states import States
from dalembert.errors import ArgumentError, SingularityError
from dalembert.model.by_joint import by_joint
from dalembert.model.checks import expect_names

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained

BESIDE = 100.0
"""Rows that repeat each other differ off the constraints by no more than this times the distance."""


def project_velocity(
    system: Constrained, q: Any, v: Any, t: Any = 0.0, keep: Sequence[str] = (), tolerance: float = 1e-9
) -> np.ndarray:
    """Velocities that satisfy the constraints: v + dv with dv of least kinetic energy.

    Args:
        system: the constrained mechanism.
        q: positions that satisfy the constraints, any batch shape; more than 1e-3 m or rad off them is refused.
        v: velocities to start from.
        t: time, s.
        keep: joints, or single velocities, whose velocities must not change.
        tolerance: largest violation, relative to the size of the velocities.
    """
    states = _states(system, q, {"v": v}, t)

    def nearest(q: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
        _, G, rate, _ = system.evaluate("constraints", start_of(system, q), v, t)
        check_gradients(system, G, t)
        if wrong := violation(system, q, None, t, ("q", "v"), DRIFT):
            raise ArgumentError(f"project_velocity: {wrong}")
        return _nearest(system, q, v, t, (G, rate), keep, tolerance, "velocities")

    return states.gathered(states.each(nearest), (system.mechanism.nv,))


def project_acceleration(
    system: Constrained,
    q: Any,
    v: Any,
    a: Any,
    t: Any = 0.0,
    keep: Sequence[str] = (),
    tolerance: float = 1e-9,
) -> np.ndarray:
    """Accelerations that satisfy the constraints: a + da with da of least Gaussian constraint, da^T M da.

    Args:
        system: the constrained mechanism.
        q: positions that satisfy the constraints, any batch shape.
        v: velocities that satisfy the constraints; more than 1e-3 off them is refused, as of q.
        a: accelerations to start from.
        t: time, s.
        keep: joints, or single velocities, whose accelerations must not change.
        tolerance: largest violation, relative to the size of the accelerations.
    """
    states = _states(system, q, {"v": v, "a": a}, t)

    def nearest(q: np.ndarray, v: np.ndarray, a: np.ndarray, t: float) -> np.ndarray:
        _, G, _, gamma = system.evaluate("constraints", start_of(system, q), v, t)
        check_gradients(system, G, t)
        refuse_far(system, q, v, t, "project_acceleration")
        floor = float(np.square(v).max(initial=0.0))
        return _nearest(system, q, a, t, (G, gamma), keep, tolerance, "accelerations", floor)

    return states.gathered(states.each(nearest), (system.mechanism.nv,))


def _states(system: Constrained, q: Any, vectors: dict[str, Any], t: Any) -> States:
    """States, each part by joint name or as an array."""
    mechanism, names = system.mechanism, system.velocity_names()
    for name, x in vectors.items():
        if isinstance(x, Mapping):
            vectors[name] = by_joint(mechanism, x, name, np.zeros(mechanism.nv), mechanism.v_slice, entries=names)
    return States(mechanism, start_of(system, q) if isinstance(q, Mapping) else q, vectors, t)


def _nearest(
    system: Constrained,
    q: np.ndarray,
    x: np.ndarray,
    t: float,
    rows: tuple[np.ndarray, np.ndarray],
    keep: Sequence[str],
    tolerance: float,
    what: str,
    floor: float = 0.0,
) -> np.ndarray:
    """The nearest x with G x = right, some entries held; what is smaller than the floor is rounding."""
    mechanism, (gradients, right) = system.mechanism, rows
    call = "project_velocity" if what == "velocities" else "project_acceleration"
    keep = expect_names(keep, f"{call}, keep")
    x = np.array(x)
    G = numeric.of_known_rank(gradients, system.known(q, t))
    M = system.evaluate("mass_matrix", q)
    free = np.ones(mechanism.nv, dtype=bool)
    free[velocities_named(mechanism, keep, f"{call}, keep")] = False
    missing = right - G @ x
    # A trace of its diagonal lets coordinates that move no mass take part, each in its own unit.
    inertia = np.diag(M)
    least = inertia[inertia > 0].min(initial=np.inf)
    trace = np.where(inertia > 0, inertia, least if np.isfinite(least) else 1.0)
    weight = M[np.ix_(free, free)] + np.diag(1e-9 * trace[free])
    solution = numeric.solve(weight, G[:, free], np.zeros(int(free.sum())), missing)
    scale = np.abs(right).max(initial=0.0) + np.abs(G).max(initial=0.0) * max(np.abs(x).max(initial=0.0), floor)
    # Off the constraints rows that repeat each other differ, and no x satisfies them all.
    away = float(relative_violation(system, q, t))
    excused = BESIDE * away * scale if away < DRIFT else 0.0
    if solution.violation > tolerance * max(scale, 1e-300) + excused:
        left = np.abs(G[:, free] @ solution.a - missing)
        lines = [f"  {row}: {y:.3g}" for row, y in zip(system.rows, left) if y > 0.1 * left.max()]
        held = f" with {', '.join(map(repr, keep))} held" if keep else ""
        closed = "" if away < tolerance else f"\nq is off the constraints by {away:.3g} itself: assemble(q) comes first"
        raise SingularityError(
            f"{mechanism.name!r} has no {what} that satisfy its constraints{held} at t = {t:g} s; left are\n"
            + "\n".join(lines)
            + closed
        )
    x[free] += solution.a
    return x
