"""Putting a mechanism together: positions and velocities that satisfy its constraints.

The start decides which of several assemblies is found. Where no way leads down from it to one, further starts are
tried, random but always the same, farther and farther around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.descent import check_gradients, descend, row_units, units
from dalembert.constraints.loops import LOOP_ROWS
from dalembert.constraints.state import State
from dalembert.errors import ArgumentError, SingularityError
from dalembert.kinematics.manifold import moved
from dalembert.model import Mechanism
from dalembert.model.by_joint import by_joint
from dalembert.model.checks import expect_names, expect_real, expect_whole, real_array

if TYPE_CHECKING:
    from dalembert.constraints.kernels import ConstrainedKernels


RESTARTS = 12
"""How many other starts are tried where there is no way down from the given one."""


def assemble(
    system: ConstrainedKernels,
    q: Any,
    t: float = 0.0,
    keep: Sequence[str] = (),
    *,
    tolerance: float = 1e-11,
    iterations: int = 200,
    restarts: int = RESTARTS,
    seed: int = 0,
) -> np.ndarray:
    """Positions that satisfy the constraints; SingularityError with the residual of every constraint if none are found.

    Other starts differ from the given one by normal deviates of 0.2, 0.4, ..., up to 2, m or rad; of a mechanism
    larger than a metre, its longest distance or rad.

    Args:
        system: the constrained mechanism.
        q: where to start.
        t: time, s.
        keep: joints whose positions must not change.
        tolerance: largest residual, m or rad, relative to the largest coordinate, and of lengths to the longest one
            in the mechanism, where these exceed one.
        iterations: largest number of steps from each start.
        restarts: number of other starts, if the given one leads nowhere; 0 stays near the given one or fails.
        seed: of the other starts.
    """
    mechanism = system.mechanism
    start, t = start_of(system, q), expect_real(t, "t")
    tolerance, iterations = expect_real(tolerance, "tolerance", 0), expect_whole(iterations, "iterations")
    free = free_velocities(mechanism, keep)
    tolerance *= max(1.0, float(np.abs(start).max(initial=0.0)))
    start = mechanism.normalise(start)
    on_positions = system.constraints.holonomic
    check_gradients(system, system.evaluate("positions", start, t)[1][on_positions], t, on_positions)
    restarts = expect_whole(restarts, "restarts")
    rng = np.random.default_rng(expect_whole(seed, "seed", high=2**64))
    unit = units(system)
    least, best = np.inf, np.full(int(on_positions.sum()), np.nan)
    for k in range(1 + restarts):
        step = np.where(free, rng.normal(size=mechanism.nv) * min(0.2 * k, 2.0), 0.0) * unit
        found, residual = descend(system, moved(mechanism.tree, start, step), t, free, tolerance, iterations)
        left = float(np.nan_to_num(np.abs(residual), nan=np.inf).max(initial=0.0))
        if left <= tolerance and not mirrored(system, found, t):
            return found
        if tolerance < left < least:
            least, best = left, residual
    best = best * row_units(system)
    raise SingularityError(_cannot(system, best, expect_names(keep, "keep"), t, restarts))


def start_of(system: ConstrainedKernels, q: Any) -> np.ndarray:
    mechanism = system.mechanism
    if isinstance(q, Mapping):
        q = by_joint(mechanism, q, "q", np.asarray(system.reference, dtype=float), mechanism.q_slice)
    start = np.array(real_array(q, "q"))
    if start.shape != (mechanism.nq,):
        raise ArgumentError(f"q has shape {start.shape}, but {mechanism.name!r} needs ({mechanism.nq},)")
    if not np.isfinite(start).all():
        raise ArgumentError(f"q = {start} is not finite")
    return start


def free_velocities(mechanism: Mechanism, keep: Sequence[str]) -> np.ndarray:
    free = np.ones(mechanism.nv, dtype=bool)
    for name in expect_names(keep, "keep"):
        free[mechanism.v_slice(name)] = False
    return free


def _cannot(system: ConstrainedKernels, residual: np.ndarray, keep: Sequence[str], t: float, restarts: int) -> str:
    rows = [row for row in system.rows if row.holonomic]
    worst: dict[str, tuple[float, str]] = {}
    lengths = {item.name: float(item.value) for item in system.numbers.constraints if item.kind == "distance"}
    for row, x in zip(rows, np.nan_to_num(residual, nan=np.inf)):
        if length := lengths.get(row.constraint):  # told as a length, not as (d^2 - L^2) / 2L
            x = np.sqrt(max(length * (length + 2 * x), 0.0)) - length
        if abs(x) >= worst.get(row.constraint, (-1.0, ""))[0]:
            worst[row.constraint] = (abs(float(x)), row.meaning)
    lines = [f"  {name}: {size:.3g} ({meaning})" for name, (size, meaning) in worst.items()]
    held = f" with {', '.join(map(repr, keep))} held" if keep else ""
    return (
        f"{system.mechanism.name!r} cannot be assembled from this start{held} at t = {t:g} s"
        + (f", nor from {restarts} others around it" if restarts else "")
        + "; largest residual of each constraint, m or rad:\n"
        + "\n".join(lines)
        + "\nGive another start, hold fewer joints, or check the geometry"
    )


def mirrored(
    system: ConstrainedKernels, q: np.ndarray, t: float = 0.0, rows: tuple[str, ...] = ("tilt about x", "turn about x")
) -> list[str]:
    """Names of closures whose axes point against each other, or whose frames are half a turn apart.

    Such positions satisfy the equations too, because sines vanish twice; those of assembly are not defined there.

    Args:
        system: the constrained mechanism.
        q: positions.
        t: time, s.
        rows: by which rows such closures are known: of axes, of frames.
    """
    state = State(system.numbers, q, None, t)
    found = []
    for item in system.numbers.constraints:
        meanings = LOOP_ROWS.get(item.kind, ())
        if not any(row in meanings for row in rows):
            continue
        R = state.pair(item).rotation
        measure = R[2, 2] if "tilt about x" in meanings else np.trace(np.asarray(R, dtype=float)) - 1
        if measure < 0:
            found.append(item.name)
    return found
