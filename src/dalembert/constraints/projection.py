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
from dalembert.constraints.consistency import refuse_far
from dalembert.constraints.descent import check_gradients
from dalembert.errors import ArgumentError, SingularityError
from dalembert.model.by_joint import by_joint
from dalembert.model.checks import expect_names, expect_real, real_array

if TYPE_CHECKING:
    from dalembert.constraints.kernels import ConstrainedKernels


def project_velocity(
    system: ConstrainedKernels, q: Any, v: Any, t: float = 0.0, keep: Sequence[str] = (), tolerance: float = 1e-9
) -> np.ndarray:
    """Velocities that satisfy the constraints: v + dv with dv of least kinetic energy.

    Args:
        system: the constrained mechanism.
        q: positions that satisfy the constraints.
        v: velocities to start from.
        t: time, s.
        keep: joints, or single velocities, whose velocities must not change.
        tolerance: largest violation, relative to the size of the velocities.
    """
    q, v, t = start_of(system, q), _entries(system, v, "v"), expect_real(t, "t")
    _, G, rate, _ = system.evaluate("constraints", q, v, t)
    return _nearest(system, q, v, t, (G, rate), keep, tolerance, "velocities")


def project_acceleration(
    system: ConstrainedKernels,
    q: Any,
    v: Any,
    a: Any,
    t: float = 0.0,
    keep: Sequence[str] = (),
    tolerance: float = 1e-9,
) -> np.ndarray:
    """Accelerations that satisfy the constraints: a + da with da of least Gaussian constraint, da^T M da.

    Args:
        system: the constrained mechanism.
        q: positions that satisfy the constraints.
        v: velocities that satisfy the constraints; more than 1e-3 off them is refused, as of q.
        a: accelerations to start from.
        t: time, s.
        keep: joints, or single velocities, whose accelerations must not change.
        tolerance: largest violation, relative to the size of the accelerations.
    """
    q, v, t = start_of(system, q), _entries(system, v, "v"), expect_real(t, "t")
    a = _entries(system, a, "a")
    refuse_far(system, q, v, t, "project_acceleration")
    _, G, _, gamma = system.evaluate("constraints", q, v, t)
    return _nearest(system, q, a, t, (G, gamma), keep, tolerance, "accelerations", float(np.square(v).max(initial=0.0)))


def _entries(system: ConstrainedKernels, x: Any, name: str) -> np.ndarray:
    mechanism = system.mechanism
    if isinstance(x, Mapping):
        x = by_joint(mechanism, x, name, np.zeros(mechanism.nv), mechanism.v_slice)
    x = np.array(real_array(x, name))
    if x.shape != (mechanism.nv,):
        raise ArgumentError(f"{name} has shape {x.shape}, but {mechanism.name!r} needs ({mechanism.nv},)")
    return x


def _nearest(
    system: ConstrainedKernels,
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
    mechanism, (G, right) = system.mechanism, rows
    call = "project_velocity" if what == "velocities" else "project_acceleration"
    keep = expect_names(keep, f"{call}, keep")
    check_gradients(system, G, t)
    M = system.evaluate("mass_matrix", q)
    free = np.ones(mechanism.nv, dtype=bool)
    free[velocities_named(mechanism, keep, f"{call}, keep")] = False
    missing = right - G @ x
    # A trace of its diagonal lets coordinates that move no mass take part, each in its own unit.
    inertia = np.diag(M)
    least = inertia[inertia > 0].min(initial=np.inf)
    trace = np.where(inertia > 0, inertia, least if np.isfinite(least) else 1.0)
    weight = M[np.ix_(free, free)] + np.diag(1e-9 * trace[free])
    known = None if keep else system.known_rank
    solution = numeric.solve(weight, G[:, free], np.zeros(int(free.sum())), missing, known=known)
    scale = np.abs(right).max(initial=0.0) + np.abs(G).max(initial=0.0) * max(np.abs(x).max(initial=0.0), floor)
    if solution.violation > tolerance * max(scale, 1e-300):
        left = np.abs(G[:, free] @ solution.a - missing)
        lines = [f"  {row}: {x:.3g}" for row, x in zip(system.rows, left) if x > tolerance * scale]
        held = f" with {', '.join(map(repr, keep))} held" if keep else ""
        raise SingularityError(
            f"{mechanism.name!r} has no {what} that satisfy its constraints{held} at t = {t:g} s; left are\n"
            + "\n".join(lines)
        )
    x[free] += solution.a
    return x
