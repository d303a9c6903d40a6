"""How much faster or slower a motion may be played (Hollerbach 1984).

Played r times as fast, the same path has velocities r v and accelerations r^2 a, so efforts become

    tau(r) = r^2 (tau - gravity) + gravity ,

with viscous damping r times what it was and dry friction as it was. Every drive and every sample admits an interval or
two of r; all of them together are what is found, without another inverse dynamics.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics, KernelTable
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.consumers import heed
from dalembert.model.names import named_positions, named_velocities
from dalembert.planning.limits import drive_limits


@dataclass(frozen=True, eq=False)
class TimeScaling:
    """Speeds at which a motion may be played.

    Args:
        intervals: admissible factors of speed, disjoint and increasing, (k, 2); empty if there is none.
    """

    intervals: np.ndarray

    @property
    def fastest(self) -> float:
        """The largest factor; infinite if nothing limits it, NaN if there is none."""
        return float(self.intervals[-1, 1]) if len(self.intervals) else float("nan")

    @property
    def slowest(self) -> float:
        """The smallest factor; NaN if there is none."""
        return float(self.intervals[0, 0]) if len(self.intervals) else float("nan")

    def __contains__(self, factor: float) -> bool:
        return bool(((self.intervals[:, 0] <= factor) & (factor <= self.intervals[:, 1])).any())


def time_scaling(mechanism: Mechanism | Dynamics, q: Any, v: Any, a: Any, *, efforts: Any = None) -> TimeScaling:
    """The factors by which a motion may be played faster, within efforts and speeds of all joints.

    Args:
        mechanism: a tree, or its dynamics, whose joint terms then count among the efforts.
        q: positions, (samples, nq).
        v: velocities, (samples, nv).
        a: accelerations, (samples, nv).
        efforts: largest effort of every velocity, nv; those of the joints by default.
    """
    dynamics = mechanism if isinstance(mechanism, KernelTable) else Dynamics(mechanism)
    heed("planning.time_scaling", dynamics)
    q = np.atleast_2d(named_positions(dynamics.mechanism, q, "q"))
    v, a = (np.atleast_2d(named_velocities(dynamics.mechanism, x, name)) for name, x in (("v", v), ("a", a)))
    for name, x in (("q", q), ("v", v), ("a", a)):
        if not np.isfinite(x).all():
            raise ArgumentError(f"time_scaling: {name} has entries that are not finite")
    known = drive_limits(dynamics.mechanism)
    most = known.effort if efforts is None else named_velocities(dynamics.mechanism, efforts, "time_scaling, efforts")
    if most.shape != (dynamics.mechanism.nv,) or not (most > 0).all():
        raise ArgumentError(f"efforts: give {dynamics.mechanism.nv} positive numbers, one for every velocity")
    still = np.zeros_like(v)
    gravity = np.asarray(dynamics.evaluate("inverse_dynamics", q, still, still))
    one, two, back = (np.asarray(dynamics.evaluate("inverse_dynamics", q, k * v, k * k * a)) for k in (1, 2, -1))
    viscous_and_dry = (one - back) / 2  # odd in r: damping, and friction that has a sign
    inertial = (one + back) / 2 - gravity
    viscous = (two - 4 * inertial - gravity) - viscous_and_dry
    constant = gravity + viscous_and_dry - viscous
    limited = np.isfinite(most)
    A, B, C = (x[..., limited].reshape(-1) for x in (inertial, viscous, constant))
    L = np.broadcast_to(most[limited], inertial[..., limited].shape).reshape(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        speed = float(np.nanmin(np.where(np.abs(v) > 0, known.speed / np.abs(v), np.inf), initial=np.inf))
    ends = np.concatenate([_roots(A, B, C - L), _roots(A, B, C + L), [0.0, speed]])
    ends = np.unique(ends[(ends >= 0) & (ends <= speed)])
    inner = [(low + high) / 2 if np.isfinite(high) else 2 * low + 1 for low, high in pairwise(ends)]
    good = [bool((np.abs(A * r * r + B * r + C) <= L).all()) for r in inner]
    intervals: list[list[float]] = []
    for low, high, fits in zip(ends[:-1], ends[1:], good):
        if fits and intervals and intervals[-1][1] == low:
            intervals[-1][1] = high
        elif fits:
            intervals.append([low, high])
    return TimeScaling(np.array(intervals, dtype=float).reshape(-1, 2))


def _roots(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Real roots of A r^2 + B r + C = 0, all of them together, without cancellation."""
    with np.errstate(divide="ignore", invalid="ignore"):
        below = B * B - 4 * A * C
        t = -(B + np.where(B < 0, -1, 1) * np.sqrt(np.maximum(below, 0))) / 2
        found = np.where(below >= 0, np.stack([t / A, C / t]), np.nan)
    return found[np.isfinite(found)]
