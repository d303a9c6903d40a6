"""The quickest motion along a path that the drives can do (Bobrow, Dubowsky, Gibson 1985; Pham and Pham 2018).

Along a path q(s), with x = sdot^2 and u = sddot,

    tau = (M q') u + (M q'' + c(q, q')) x + gravity ,

so limits of efforts, speeds and accelerations are linear in u and x at every s. On a grid of s, with constant u between
its points, x_{k+1} = x_k + 2 (s_{k+1} - s_k) u_k. From the end backwards the interval of all x is found from which the
end can be reached; from the start forwards the largest u is taken that stays in it. Limits hold at both ends of every
step of the grid, which keeps points in order at which a drive has no inertia against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, SingularityError
from dalembert.kinematics.manifold import quaternions
from dalembert.model import Mechanism
from dalembert.model.checks import expect_real, shown
from dalembert.model.consumers import heed
from dalembert.model.names import named_positions, named_velocities
from dalembert.planning.limits import drive_limits


@dataclass(frozen=True, eq=False)
class TimedPath:
    """A motion along a path: samples at the points of the grid, and anything between them.

    Args:
        t: times, s, (points,).
        s: path parameter, 0 to 1, (points,).
        speed: its rate, 1/s, (points,).
        acceleration: its second rate from each point to the next, (points,); the last one repeats the one before.
        q: positions, (points, nq).
        v: velocities, (points, nv).
        a: accelerations just behind each point, (points, nv).
        tau: efforts just behind each point, (points, nv).
        path: q(s): positions of path parameters, or a derivative of them, path(s, order).
    """

    t: np.ndarray
    s: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    tau: np.ndarray
    path: Any

    @property
    def duration(self) -> float:
        """How long it takes, s."""
        return float(self.t[-1])

    def at(self, t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Positions, velocities and accelerations at any times; before and after the motion it stands still.

        Args:
            t: times, s, (...).
        """
        given = np.asarray(t, dtype=float)
        t = np.clip(given, 0, self.duration)
        k = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 2)
        since, u = t - self.t[k], self.acceleration[k]
        rate = self.speed[k] + u * since
        s = np.clip(self.s[k] + self.speed[k] * since + u * since**2 / 2, 0, 1)
        moving = ((given >= 0) & (given <= self.duration))[..., None]
        first, second = self.path(s, 1), self.path(s, 2)
        v = np.where(moving, first * rate[..., None], 0)
        a = np.where(moving, first * u[..., None] + second * (rate**2)[..., None], 0)
        return self.path(s, 0), v, a


def minimum_time(
    mechanism: Mechanism | Dynamics,
    waypoints: Any,
    *,
    efforts: Any = None,
    speeds: Any = None,
    accelerations: Any = None,
    start: float = 0.0,
    end: float = 0.0,
    points: int = 201,
) -> TimedPath:
    """The motion along a path in least time, within efforts, speeds and accelerations of all joints.

    Args:
        mechanism: a tree without free or spherical joints, or its dynamics; armature counts if it is included.
        waypoints: positions the path runs through, (k, nq): a cubic spline over the length of their polygon, the
            straight line through two.
        efforts: largest effort of every velocity, nv, or (2, nv) least and largest; those of the joints by default.
        speeds: largest speed of every velocity, nv; those of the joints by default.
        accelerations: largest acceleration of every velocity, nv; none by default.
        start: rate of the path parameter at the start, 1/s, which runs from 0 to 1.
        end: at the end.
        points: of the grid; the time is exact to their distance squared, where it is smooth.
    """
    dynamics = mechanism if isinstance(mechanism, Dynamics) else Dynamics(mechanism)
    model = dynamics.mechanism
    heed("planning.minimum_time", dynamics)
    if quaternions(model.tree):
        raise ArgumentError(
            f"{model.name!r}: paths are timed for joints with rates as velocities; it has joints with quaternions"
        )
    if isinstance(points, bool) or not isinstance(points, (int, np.integer)) or points < 3:
        raise ArgumentError(f"minimum_time: points = {shown(points)}; a grid has three or more")
    rates = [expect_real(x, f"minimum_time, {name}", 0) for name, x in (("start", start), ("end", end))]
    path = _spline(model, waypoints)
    known = drive_limits(model)
    s = np.linspace(0, 1, points)
    q, first, second = (path(s, order) for order in range(3))
    still = np.zeros_like(q)
    gravity, inertial, quadratic = (
        np.asarray(dynamics.evaluate("inverse_dynamics", q, *state))
        for state in ((still, still), (still, first), (first, second))
    )
    high = _limit(model, known.effort if efforts is None else efforts, "efforts")
    most = _limit(model, accelerations if accelerations is not None else np.full(model.nv, np.inf), "accelerations")
    a = np.concatenate([inertial - gravity, first], axis=1)
    b = np.concatenate([quadratic - gravity, second], axis=1)
    c = np.concatenate([gravity, np.zeros_like(first)], axis=1)
    low_high = np.concatenate([high, most], axis=1)
    finite = np.isfinite(low_high).any(axis=0)
    rows = _Rows(a[:, finite], b[:, finite], c[:, finite], *low_high[:, finite])
    fastest = _limit(model, known.speed if speeds is None else speeds, "speeds")[1]
    with np.errstate(divide="ignore"):
        ceiling = np.min(np.where(np.abs(first) > 0, fastest / np.abs(first), np.inf), axis=1) ** 2
    if not (finite.any() or np.isfinite(ceiling).all()):
        raise ArgumentError(
            f"{model.name!r} has no limits; give efforts, speeds or accelerations, or its joints Limits"
        )
    x, u = _timed(rows, ceiling, s, rates[0] ** 2, rates[1] ** 2)
    step = np.diff(s)
    sd = np.sqrt(x)
    t = np.concatenate([[0.0], np.cumsum(2 * step / (sd[:-1] + sd[1:]))])
    v = first * sd[:, None]
    acceleration = first * u[:, None] + second * x[:, None]
    tau = (inertial - gravity) * u[:, None] + (quadratic - gravity) * x[:, None] + gravity
    return TimedPath(t, s, sd, u, q, v, acceleration, tau, path)


@dataclass(frozen=True, eq=False)
class _Rows:
    """low <= a u + b x + c <= high at every point of the grid."""

    a: np.ndarray
    b: np.ndarray
    c: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def at(self, k: int, step: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A u + B x <= C at point k, and with the same u and what x has become at the next one."""
        after = min(k + 1, len(self.a) - 1)
        A = [self.a[k], self.a[after] + 2 * step * self.b[after]]
        B, c = [self.b[k], self.b[after]], [self.c[k], self.c[after]]
        upper = [(A[j], B[j], self.high - c[j]) for j in (0, 1)]
        lower = [(-A[j], -B[j], c[j] - self.low) for j in (0, 1)]
        parts = [np.concatenate(column) for column in zip(*upper, *lower)]
        keep = np.isfinite(parts[2])
        return parts[0][keep], parts[1][keep], parts[2][keep]


def _timed(rows: _Rows, ceiling: np.ndarray, s: np.ndarray, first: float, last: float) -> tuple[np.ndarray, np.ndarray]:
    """x and u at every point: backwards what can reach the end, forwards the largest u."""
    count = len(s)
    reach = np.zeros((count, 2))
    reach[-1] = last
    if last > ceiling[-1]:
        raise SingularityError("minimum_time: the speed wanted at the end is above the limits of the joints")
    for k in reversed(range(count - 1)):
        step = s[k + 1] - s[k]
        found = _range_of_x(*_with_next(rows, k, step, reach[k + 1]), ceiling[k])
        if found is None:
            raise SingularityError(
                f"minimum_time: no speed at all is possible at s = {s[k]:.4g} of the path; efforts are too small to "
                "hold the mechanism there, or to slow it down before the end"
            )
        reach[k] = found
    if not reach[0, 0] - 1e-9 <= first <= reach[0, 1] * (1 + 1e-9) + 1e-300:
        raise SingularityError(
            f"minimum_time: from the rate {np.sqrt(first):.4g} at the start the end cannot be reached; rates from "
            f"{np.sqrt(reach[0, 0]):.4g} to {np.sqrt(reach[0, 1]):.4g} can"
        )
    x, u = np.zeros(count), np.zeros(count)
    x[0] = first
    for k in range(count - 1):
        step = s[k + 1] - s[k]
        A, B, C = _with_next(rows, k, step, reach[k + 1])
        left = C - B * x[k]
        most = np.min(np.where(A > 0, left / np.where(A > 0, A, 1), np.inf))
        least = np.max(np.where(A < 0, left / np.where(A < 0, A, 1), -np.inf))
        u[k] = max(most, least) if np.isfinite(most) else least  # they may cross by rounding where both meet
        x[k + 1] = np.clip(x[k] + 2 * step * u[k], max(reach[k + 1, 0], 0), reach[k + 1, 1])
    u[-1] = u[-2]
    return x, u


def _with_next(rows: _Rows, k: int, step: float, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The limits at k, and that the next x is in its interval."""
    A, B, C = rows.at(k, step)
    return (
        np.concatenate([A, [2 * step, -2 * step]]),
        np.concatenate([B, [1, -1]]),
        np.concatenate([C, [reach[1], -reach[0]]]),
    )


def _range_of_x(A: np.ndarray, B: np.ndarray, C: np.ndarray, ceiling: float) -> np.ndarray | None:
    """Least and largest x >= 0 with A u + B x <= C for some u, by the corners of the region."""
    A, B, C = np.append(A, [0, 0]), np.append(B, [-1, 1]), np.append(C, [0, ceiling])
    keep = np.isfinite(C)
    A, B, C = A[keep], B[keep], C[keep]
    size = np.maximum(np.abs(A), np.abs(B))
    size[size == 0] = 1
    i, j = np.triu_indices(len(A), 1)
    det = A[i] * B[j] - A[j] * B[i]
    good = np.abs(det) > 1e-13 * size[i] * size[j]
    i, j, det = i[good], j[good], det[good]
    u = (C[i] * B[j] - C[j] * B[i]) / det
    x = (A[i] * C[j] - A[j] * C[i]) / det
    slack = C[:, None] - A[:, None] * u - B[:, None] * x
    scale = np.abs(C)[:, None] + np.abs(A[:, None] * u) + np.abs(B[:, None] * x)
    inside = (slack >= -1e-10 * scale).all(axis=0)
    return None if not inside.any() else np.array([max(x[inside].min(), 0.0), x[inside].max()])


def _limit(model: Mechanism, given: Any, what: str) -> np.ndarray:
    """Least and largest values, (2, nv), of largest ones or of both."""
    count, values = model.nv, named_velocities(model, given, f"minimum_time, {what}")
    found = np.stack([-values, values]) if values.shape == (count,) else values
    if found.shape != (2, count) or np.isnan(found).any() or not (found[0] < found[1]).all():
        raise ArgumentError(
            f"minimum_time: {what} = {shown(given)}; give {count} positive numbers, or least and largest"
        )
    return found


def _spline(model: Mechanism, waypoints: Any) -> Any:
    """q(s, order) through the waypoints, s the part of the length of their polygon."""
    from scipy.interpolate import CubicSpline

    given = named_positions(model, waypoints, "minimum_time, waypoints")
    if given.ndim != 2 or given.shape[1] != model.nq or len(given) < 2 or not np.isfinite(given).all():
        raise ArgumentError(
            f"waypoints have shape {given.shape}; give two or more positions, (k, {model.nq}), finite ones"
        )
    lengths = np.linalg.norm(np.diff(given, axis=0), axis=1)
    if not (lengths > 0).all():
        raise ArgumentError(f"waypoints {int(np.argmin(lengths))} and the next one are the same position")
    s = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum()
    s[-1] = 1.0
    if len(given) == 2:
        difference = given[1] - given[0]

        def line(at: Any, order: int) -> np.ndarray:
            at = np.asarray(at, dtype=float)[..., None]
            return given[0] + at * difference if order == 0 else (difference if order == 1 else 0 * difference) + 0 * at

        return line
    curve = CubicSpline(s, given)
    return lambda at, order: curve(np.asarray(at, dtype=float), order)
