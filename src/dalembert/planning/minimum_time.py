"""The quickest motion along a path that the drives can do (Bobrow, Dubowsky, Gibson 1985; Pham and Pham 2018).

Along a path q(s), with x = sdot^2 and u = sddot,

    tau = (M q') u + (M q'' + c(q, q')) x + gravity ,

so limits of efforts, speeds and accelerations are linear in u and x at every s. On a grid of s, with u linear between
its points, x is quadratic there, and the largest x is that of a linear program with the limits at both ends and in the
middle of every step. What exceeds a limit between these points, by the square of their distance, is taken off it there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics, KernelTable
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
        acceleration: its second rate just behind each point, (points,); at the last one just before it.
        change: of the second rate by the path parameter from each point to the next, 1/s^2, (points - 1,).
        q: positions, (points, nq).
        v: velocities, (points, nv).
        a: accelerations where ``acceleration`` is meant, (points, nv).
        tau: efforts there, (points, nv).
        path: q(s): positions of path parameters, or a derivative of them, path(s, order).
    """

    t: np.ndarray
    s: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    change: np.ndarray
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
        since, u, change = t - self.t[k], self.acceleration[k], self.change[k]
        whole, half = _sinh(since, change), _sinh(since / 2, change)  # of s'' = u + change (s - s_k)
        rate = self.speed[k] * (1 + 2 * change * half**2) + u * whole
        way = self.speed[k] * whole + 2 * u * half**2
        s, u = np.clip(self.s[k] + way, 0, 1), u + change * way
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
        points: of the grid; the time is exact to their distance squared.
    """
    dynamics = mechanism if isinstance(mechanism, KernelTable) else Dynamics(mechanism)
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
    n = model.nv
    high = _limit(model, known.effort if efforts is None else efforts, "efforts")
    most = _limit(model, accelerations if accelerations is not None else np.full(n, np.inf), "accelerations")
    fastest = _limit(model, known.speed if speeds is None else speeds, "speeds")[1]
    drives = _Drives(dynamics, path, np.concatenate([high, most], axis=1), fastest)
    if not drives.finite.any():
        raise ArgumentError(
            f"{model.name!r} has no limits; give efforts, speeds or accelerations, or its joints Limits"
        )
    s = np.linspace(0, 1, points)
    x, before, after = _fastest(drives, s, rates[0] ** 2, rates[1] ** 2)
    speed, step = np.sqrt(x), np.diff(s)
    change = (after - before) / step
    way, root = step / (speed[:-1] + speed[1:]), np.sqrt(np.abs(change))
    with np.errstate(invalid="ignore", divide="ignore"):
        bent = np.where(change > 0, np.arctanh(root * way), np.arctan(root * way)) / root
    t = np.concatenate([[0.0], np.cumsum(2 * np.where(root * way < 1e-4, way * (1 + change * way**2 / 3), bent))])
    u = np.append(before, after[-1])
    q, first, second = (path(s, order) for order in range(3))
    a, b, c = drives.at(s)
    tau = a[:, :n] * u[:, None] + b[:, :n] * x[:, None] + c[:, :n]
    acceleration = first * u[:, None] + second * x[:, None]
    return TimedPath(t, s, speed, u, change, q, first * speed[:, None], acceleration, tau, path)


def _sinh(t: Any, change: Any) -> Any:
    """sinh(r t) / r with r^2 = change, which may be zero or negative."""
    root = np.sqrt(np.abs(change))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        found = np.where(change > 0, np.sinh(root * t), np.sin(root * t)) / root
    return np.where(root * t < 1e-4, t * (1 + change * t**2 / 6), found)


@dataclass(frozen=True, eq=False)
class _Drives:
    """Limits of efforts and accelerations, then of squares of speeds: low <= a u + b x + c <= high at any s."""

    dynamics: Dynamics
    path: Any
    limits: np.ndarray
    fastest: np.ndarray

    def at(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """a, b, c, (..., rows)."""
        q, first, second = (self.path(s, order) for order in range(3))
        none = np.zeros_like(q)
        gravity, inertial, quadratic = (
            np.asarray(self.dynamics.evaluate("inverse_dynamics", q, *state))
            for state in ((none, none), (none, first), (first, second))
        )
        a = np.concatenate([inertial - gravity, first, none], axis=-1)
        b = np.concatenate([quadratic - gravity, second, (first / self.fastest) ** 2], axis=-1)
        return a, b, np.concatenate([gravity, none, none], axis=-1)

    @property
    def bounds(self) -> np.ndarray:
        """Least and largest values, (2, rows)."""
        speed = np.where(np.isfinite(self.fastest), 1.0, np.inf)
        return np.concatenate([self.limits, [np.full(len(speed), -np.inf), speed]], axis=1)

    @property
    def finite(self) -> np.ndarray:
        """Whether a row has a limit, (rows,)."""
        return np.isfinite(self.bounds).any(axis=0)


INSIDE = np.linspace(0, 1, 13)
"""Parts of a step at which limits are looked at; those of the linear program are the first, the middle and the last."""

PASSES = 50
HEADROOM = 1.1
"""What is taken off a limit, times the excess found."""
ROUNDING = 1e-10
"""Of the linear program, relative to a limit."""


def _fastest(drives: _Drives, s: np.ndarray, first: float, last: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x at every point, and u at the beginning and at the end of every step."""
    step, keep = np.diff(s), drives.finite
    rows = [part[..., keep] for part in drives.at(s[:-1, None] + step[:, None] * INSIDE)]
    bounds = drives.bounds[:, keep]
    size = np.where(np.isfinite(bounds), np.abs(bounds), 0).max(axis=0)
    rows, bounds = [part / size for part in rows], bounds / size
    margins = np.zeros((2, len(step), 1, keep.sum()))
    for _ in range(PASSES):
        x, before, after = _program(rows, bounds, margins, s, first, last)
        values = _values(rows, x, before, after, step)
        between = np.abs(np.diff(values, 2, axis=1)).max(axis=1, keepdims=True) / 8  # how far it rises between INSIDE
        excess = np.stack([bounds[0] - values, values - bounds[1]]).max(axis=2, keepdims=True) + between
        if excess.max() <= ROUNDING:
            break
        margins += HEADROOM * np.maximum(excess, 0)
    else:
        raise SingularityError(
            f"minimum_time: limits are exceeded between {len(s)} points of the path; give more points="
        )
    return x, before, after


def _values(rows: Any, x: np.ndarray, before: np.ndarray, after: np.ndarray, step: np.ndarray) -> np.ndarray:
    """What is limited, at INSIDE of every step."""
    a, b, c = rows
    before, change, step = before[:, None], (after - before)[:, None], step[:, None]
    u = before + change * INSIDE
    inside = x[:-1, None] + step * (2 * before * INSIDE + change * INSIDE**2)
    return a * u[..., None] + b * inside[..., None] + c


def _program(
    rows: Any, bounds: np.ndarray, margins: np.ndarray, s: np.ndarray, first: float, last: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The linear program: the largest x with u linear in every step, within limits at both ends and in the middle."""
    from scipy import optimize
    from scipy.sparse import coo_array

    step, count = np.diff(s), len(s)
    parts, places = np.array([0.0, 0.5, 1.0])[:, None], [0, len(INSIDE) // 2, -1]
    a, b, c = (part[:, places] for part in rows)
    # unknown are x at all points, then w = step u at the beginning of every step, then at its end
    gain = b[..., None] * np.concatenate([1 + 0 * parts, 2 * parts - parts**2, parts**2], axis=1)[None, :, None, :]
    gain[..., 1] += a / step[:, None, None] * (1 - parts)
    gain[..., 2] += a / step[:, None, None] * parts
    unit = 1 / np.median(np.abs(gain).max(axis=(1, 2, 3)))  # x of a limit
    middle = np.zeros((len(step), 1, 3)) - [1, 0.75, 0.25]  # x is positive there, too
    upper, lower = (bounds[1] - margins[1]) - c, c - (bounds[0] + margins[0])
    coefficients = np.concatenate([*(unit * sign * gain.reshape(len(step), -1, 3) for sign in (1, -1)), middle], axis=1)
    right = np.concatenate([*(x.reshape(len(step), -1) for x in (upper, lower)), np.zeros((len(step), 1))], axis=1)
    width = count + 2 * len(step)

    def matrix(k: np.ndarray, entries: np.ndarray, places: tuple[int, ...]) -> Any:
        """Rows of steps k; unknowns of a step are its x, w at its start and at its end, and the next x."""
        columns = np.concatenate([k + (0, count, count + len(step), 1)[place] for place in places])
        return coo_array((entries.ravel(), (np.tile(np.arange(len(k)), len(places)), columns)), (len(k), width)).tocsr()

    k, row = np.nonzero(np.isfinite(right))
    A, limit = matrix(k, coefficients[k, row].T, (0, 1, 2)), right[k, row]
    same = matrix(np.arange(len(step)), np.repeat([-1.0, -1.0, -1.0, 1.0], len(step)), (0, 1, 2, 3))
    linear: Any = optimize.linprog

    def solved(cost: np.ndarray, start: tuple[float, float | None]) -> Any:
        """The unknowns of least cost, or None if there are none within limits."""
        free = [(None, None)] * (2 * len(step))
        given = [start, *[(0, None)] * (count - 2), (last / unit, last / unit), *free]
        accuracy = {"primal_feasibility_tolerance": ROUNDING}
        found = linear(cost, A, limit, same, np.zeros(len(step)), given, options=accuracy)
        return found.x if found.status == 0 else None

    cost = np.zeros(width)
    cost[:count], cost[0] = -6, -5  # Simpson's rule: x there, and four times in the middle of each step
    cost[count : count + len(step)], cost[count + len(step) :] = -3, -1
    found = solved(cost, (first / unit, first / unit))
    if found is None:
        raise _reason(solved, width, first, unit)
    x, before, after = np.split(found * unit, [count, count + len(step)])
    return np.maximum(x, 0), before / step, after / step


def _reason(solved: Any, width: int, first: float, unit: float) -> SingularityError:
    """Why no motion is within limits."""
    start = np.eye(1, width)[0]
    ends = [solved(sign * start, (0, None)) for sign in (1, -1)]
    if ends[0] is None or ends[1] is None:
        return SingularityError(
            "minimum_time: no speed at all is possible at some point of the path; efforts are too small to hold the "
            "mechanism there, or to slow it down before the end, or the speed wanted at the end is above the limits"
        )
    least, most = (np.sqrt(max(x[0], 0) * unit) for x in ends)
    return SingularityError(
        f"minimum_time: from the rate {np.sqrt(first):.4g} at the start the end cannot be reached; rates from "
        f"{least:.4g} to {most:.4g} can"
    )


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
