"""States and controls between samples.

States come from the integrator's own interpolants, or from cubic ones through samples and their derivatives; controls
under a zero-order hold are steps; where an event reset the state, there is a discontinuity with a value on either side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.algebra.quaternions import angular_velocity_from_quaternion_rate

if TYPE_CHECKING:
    from dalembert.simulation.trajectory import Trajectory


class Pieces:
    """Interpolants of an integrator, one per step. At a discontinuity the state after it counts.

    Args:
        pieces: (begin, end, function of time) of every step.
        first: the state at the begin.
    """

    def __init__(self, pieces: Sequence[tuple[float, float, Callable]], first: np.ndarray):
        self.pieces, self.first = list(pieces), first
        self._begins = np.array([begin for begin, _, _ in self.pieces])

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """States at times, (k, nq + nv)."""
        found = np.empty((len(t), len(self.first)))
        which = np.searchsorted(self._begins, t, side="right") - 1
        for k in np.unique(which):
            here = which == k
            found[here] = self.pieces[max(k, 0)][2](t[here]).T
        return found


class Hermite:
    """Cubic polynomials through neighbouring samples with their derivatives; the error is of fourth order.

    Args:
        trajectory: gives samples and derivatives; asked when first used.
    """

    def __init__(self, trajectory: Trajectory):
        self._trajectory = trajectory
        self._made: tuple[np.ndarray, ...] | None = None

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """States at times, (k, nq + nv)."""
        if self._made is None:
            known = with_discontinuities(self._trajectory)
            arriving = replace(known, tau=control_before(known)).a
            x = np.hstack([known.q, known.v])
            self._made = known.t, x, np.hstack([known.qdot, known.a]), np.hstack([known.qdot, arriving])
        times, x, leaving, arriving = self._made
        return cubic(times, x, leaving, t, arriving)[0]


class Slopes:
    """Cubic polynomials through neighbouring positions with their velocities; velocities between are their slopes.

    For motions of which no more is known: :class:`Hermite` asks for accelerations, which depend on all forces. Its
    positions are these; the error of velocities is of third order here.

    Args:
        trajectory: gives samples; asked when first used.
    """

    def __init__(self, trajectory: Trajectory):
        self._trajectory = trajectory

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """States at times, (k, nq + nv)."""
        known = self._trajectory
        q, slope = cubic(known.t, known.q, known.qdot, t)
        if known.system.has_speeds:
            return np.hstack([q, cubic(known.t, known.v, known.a, t)[0]])
        v = np.empty((len(t), known.mechanism.nv))
        for link in known.mechanism.tree.links:
            if link.kind == "spherical":
                part = slice(link.q, link.q + 4)
                turns = map(angular_velocity_from_quaternion_rate, q[:, part], slope[:, part])
                v[:, link.v : link.v + 3] = list(turns) / (q[:, part] ** 2).sum(axis=1, keepdims=True)
            else:
                v[:, link.v] = slope[:, link.q]
        return np.hstack([q, v])


def cubic(
    known: np.ndarray, x: np.ndarray, xdot: np.ndarray, t: np.ndarray, arriving: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Values and slopes of cubic polynomials through neighbouring samples with their derivatives, (k, n) each.

    Args:
        known: times of the samples, (T,); where two are equal the last counts.
        x: values, (T, n).
        xdot: derivatives, (T, n).
        t: times between, (k,).
        arriving: derivatives just before the samples, where they are others, (T, n).
    """
    if len(known) == 1:
        return np.repeat(x, len(t), axis=0), np.repeat(xdot, len(t), axis=0)
    k = np.clip(np.searchsorted(known, t, side="right") - 1, 0, len(known) - 2)
    h = (known[k + 1] - known[k])[:, None]
    s = np.ones_like(h)  # after a discontinuity at the very end
    np.divide((t - known[k])[:, None], h, out=s, where=h > 0)
    a, b = s * s * (3 - 2 * s), s * (1 - s)
    last = (xdot if arriving is None else arriving)[k + 1]
    values = x[k] * (1 - a) + x[k + 1] * a + h * b * (xdot[k] * (1 - s) - last * s)
    chord = (x[k + 1] - x[k]) / np.where(h > 0, h, 1)
    slopes = 6 * b * chord + xdot[k] * (1 - s) * (1 - 3 * s) - last * s * (2 - 3 * s)
    return values, slopes


def control_at(motion: Trajectory, t: np.ndarray) -> np.ndarray:
    """Generalised forces of the control at times, (..., nv): steps under a zero-order hold, else linear.

    Args:
        t: times between its first and its last sample, (...).
    """
    if not motion.tau.shape[-1]:
        return np.zeros((*np.shape(t), 0))
    if not _known(motion):
        return np.stack([np.interp(t, motion.t, column) for column in motion.tau.T], axis=-1)
    k = np.maximum(np.searchsorted(motion.t, t, side="right") - 1, 0)
    changed = np.floor(_periods(motion, t)) > np.floor(_periods(motion, motion.t))[k]
    return motion.tau[np.minimum(k + changed, len(motion) - 1)]


def control_before(motion: Trajectory) -> np.ndarray:
    """The control that acted until each sample, (T, nv); where a zero-order hold ends, a sample has the new one."""
    found = motion.tau.copy()
    if _known(motion):
        changes = np.flatnonzero(_on_time(motion)[1:])
        found[changes + 1] = motion.tau[changes]
    return found


def constant_parts(motion: Trajectory) -> Trajectory | None:
    """The motion with samples also where a control under a zero-order hold changed between them, so that forces are
    constant from each to the next; None unless there was such a hold and every period has a sample.
    """
    if not _known(motion):
        return None
    number = np.floor(_periods(motion, motion.t))
    after = np.flatnonzero((np.diff(number) > 0) & ~_on_time(motion)[1:]) + 1
    if not len(after):
        return motion
    t = motion.info.get("held_from", 0.0) + motion.info["hold"] * number[after]
    if motion.interpolant is None:
        q, v = np.split(Slopes(motion)(t), [motion.mechanism.nq], axis=1)
    else:
        q, v = motion(t)[1:]
    new = {"t": t, "q": q, "v": v, "tau": motion.tau[after], "wrenches": motion.wrenches[after]}
    return replace(
        motion,
        interpolant=None,
        worked=None,
        **{name: np.insert(getattr(motion, name), after, x, axis=0) for name, x in new.items()},
    )


def _known(motion: Trajectory) -> bool:
    hold, gaps = motion.info.get("hold"), np.diff(motion.t)
    return hold is not None and gaps.min(initial=0) >= 0 and gaps.max(initial=0) <= hold * (1 + 1e-9)


def _periods(motion: Trajectory, t: np.ndarray) -> np.ndarray:
    """Periods since the control was first asked; those that are whole but for rounding are a little more."""
    return (t - motion.info.get("held_from", 0.0)) / motion.info["hold"] * (1 + 1e-12) + 1e-9


def _on_time(motion: Trajectory) -> np.ndarray:
    """Which samples lie where the control changes."""
    number = _periods(motion, motion.t)
    return number % 1 < 2e-9 + 2e-12 * number


def with_discontinuities(motion: Trajectory) -> Trajectory:
    """The motion with two samples, before and after, also at discontinuities of its state between those that it has."""
    before, after = ({x.t: (x.q, x.v) for x in states} for states in (motion.events, motion.discontinuities))
    times = [t for t in after if np.count_nonzero(motion.t == t) < 2]
    if not times:
        return motion
    t = np.repeat(times, 2)
    q, v = (np.array([side[s][k] for s in times for side in (before, after)]) for k in range(2))
    columns = motion.wrenches.reshape(len(motion), -1).T
    wrenches = np.array([np.interp(t, motion.t, x) for x in columns]).T.reshape(len(t), *motion.wrenches.shape[1:])
    new = {"t": t, "q": q, "v": v, "tau": control_at(motion, t), "wrenches": wrenches}
    places = np.searchsorted(motion.t, t)
    motion = replace(motion, worked=None)
    return replace(motion, **{name: np.insert(getattr(motion, name), places, x, axis=0) for name, x in new.items()})
