"""Where constraints lose rank along a motion, and equations do not say how it goes on."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from dalembert.constraints.rank import extreme_sizes
from dalembert.errors import SimulationWarning
from dalembert.kinematics.manifold import difference, displaced
from dalembert.simulation.stabiliser import Stabiliser

SINGULAR_SHARE = 1e-3
"""The least singular value counts as zero below this fraction of the largest that it had along the motion."""

ZERO = 1e-8
"""Relative to the largest of the same position, it is zero below this."""

RANK_LOST = "the constraints lose rank (links in one line, for example), so that other motions become possible"

STEPS_AFTER = 10
"""If integration fails so few steps after a singular position, this is why."""

STATES_AT_ONCE = 256
"""States that are examined at once."""

BLOCK = 16
"""Of so many states one is decomposed; the others only if G changes so much that they could be singular."""

ZOOM_POINTS, ZOOMS = 17, 6
"""A minimum is looked for at so many times of an interval, and then so often again between the neighbours of the best:
each time the interval becomes eight times shorter.
"""


class RankWatch:
    """Follows the least singular value of the constraint gradients G from step to step.

    Passing a singular position it falls and rises again like |t - t*|, which steps rarely hit. So wherever it has a
    minimum and could have been zero in between, the positions between the steps are examined too.

    Attributes:
        times: when rank was lost.
    """

    def __init__(self, system: Stabiliser):
        self.system = system
        own = system.dynamics
        self.rank = len(own.pivots.rows) if system.has_loops else 0
        self.times: list[float] = []
        self._t: list[float] = []
        self._x: list[np.ndarray] = []
        self._largest, self._begins = 0.0, True

    def start(self, t: float, x: np.ndarray) -> None:
        """Begin, or begin anew after a discontinuity.

        Args:
            x: state [q; v].
        """
        self.finish()
        self._t, self._x, self._begins = [t], [x], True

    def add(self, t: float, x: np.ndarray) -> None:
        """The next step; none without length, as LSODA makes them where it does not get on."""
        if self.rank and t > self._t[-1]:
            self._t.append(t)
            self._x.append(x)
            if len(self._t) > STATES_AT_ONCE:
                self._examine(np.array(self._t), np.array(self._x), last=False)

    def extend(self, t: np.ndarray, x: np.ndarray) -> None:
        """Many steps, all with length.

        Args:
            t: their times, (k,).
            x: their states, (k, nq + nv).
        """
        if self.rank and len(t):
            self._examine(np.concatenate([self._t, t]), np.concatenate([self._x, x]), last=False)

    def finish(self) -> None:
        """Examine what is left."""
        if self.rank and len(self._t) > 1:
            self._examine(np.array(self._t), np.array(self._x), last=True)

    def reason(self, t: float, q: np.ndarray, fixed: bool) -> str:
        """Why integration may have failed at a position: what to say if the constraints lose rank there, or did in the
        last steps: states that follow may be large numbers without meaning.

        Args:
            fixed: whether steps have a fixed length.
        """
        if not (self.rank and np.isfinite(q).all()):
            return ""
        size = least_singular_value(self._gradients(np.array([t]), q[None]), self.rank)[0]
        just = self.times and t - self.times[-1] <= STEPS_AFTER * (self._t[-1] - self._t[0]) / max(len(self._t) - 1, 1)
        is_near = size <= max(SINGULAR_SHARE * self._largest, ZERO)
        if not (is_near or just):
            return ""
        advice = "Adaptive methods go straight on over isolated ones" if fixed else "Fixed steps (rk4) may pass by"
        advice = "Start a little beside it" if len(self._t) < 2 else advice
        where = "This is a singular position, where" if is_near else "It passed a singular position just before, where"
        return f". {where} {RANK_LOST}. {advice}"

    def _gradients(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """G without units at positions (k, nq)."""
        own = self.system.dynamics
        return own.scaling.dimensionless(own.evaluate("positions", q, t)[1])

    def _examine(self, t: np.ndarray, x: np.ndarray, last: bool) -> None:
        G = self._gradients(t, x[:, : self.system.mechanism.nq])
        s, near = self._followed(G)
        h = np.diff(t)
        # The lowest that a function of twice the slope seen on either side can reach between two steps.
        slope = np.abs(np.diff(s)) / h
        steepest = 2 * np.maximum(slope[:-1], slope[1:])
        reach = np.minimum(s[:-2] + s[1:-1] - steepest * h[:-1], s[1:-1] + s[2:] - steepest * h[1:]) / 2
        valley = (s[1:-1] <= s[:-2]) & (s[1:-1] <= s[2:]) & (reach <= SINGULAR_SHARE * self._largest) & near[1:-1]
        places = [[k, k + 1] for k in np.flatnonzero(valley).tolist()]
        places = ([[0]] if self._begins and near[0] else []) + places + ([[len(h) - 1]] if last and near[-1] else [])
        for intervals in places:
            value, when = min(self._lowest(t[k], x[k], t[k + 1], x[k + 1]) for k in intervals)
            if value <= SINGULAR_SHARE * self._largest and when not in self.times:
                if self._begins and intervals[0] == 0 and self.times and abs(self.times[-1] - t[0]) < 1e-12 * h[0]:
                    self.times.pop()  # the leg before ended on its way there
                self.times.append(when)
        self._t, self._x, self._begins = t[-2:].tolist(), list(x[-2:]), False

    def _followed(self, G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least relative singular value at states one after the other, and where they may be near a singular one.

        Singular values change no more than G does (Weyl). So where that is little, one of a block stands for all.
        """
        n, change = len(G), np.diff(G, axis=0)
        way = np.concatenate([[0.0], np.cumsum(np.sqrt(np.einsum("kij,kij->k", change, change)))])
        first = np.arange(0, n, BLOCK)
        least, most = extreme_sizes(G[first], self.rank)
        s = least / most
        self._largest = max(self._largest, float(s.max()))
        # Between steps G goes farther than from step to step; twice as far, as slopes below.
        far = 2 * (way[np.minimum(first + BLOCK, n - 1)] - way[np.maximum(first - 1, 0)])
        safe = least - far > SINGULAR_SHARE * self._largest * (most + far)
        s, near = s.repeat(BLOCK)[:n], ~safe.repeat(BLOCK)[:n]
        needed = near.copy()  # with a neighbour on either side
        needed[1:] |= near[:-1]
        needed[:-1] |= near[1:]
        s[needed] = least_singular_value(G[needed], self.rank)
        self._largest = max(self._largest, float(s.max()))
        return s, near

    def _between(self, t0: float, x0: np.ndarray, t1: float, x1: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """G at parts of the way between two states, (k,); positions by a cubic polynomial."""
        tree, nq, h = self.system.tree, self.system.mechanism.nq, t1 - t0
        way = difference(tree, x0[:nq], x1[:nq]).astype(float)

        def gradients(u: np.ndarray) -> np.ndarray:
            w = u[:, None]
            moves = w * w * (3 - 2 * w) * way + h * w * (1 - w) * (x0[nq:] * (1 - w) - x1[nq:] * w)
            return self._gradients(t0 + h * u, np.array([displaced(tree, x0[:nq], d) for d in moves], dtype=float))

        return gradients

    def _lowest(self, t0: float, x0: np.ndarray, t1: float, x1: np.ndarray) -> tuple[float, float]:
        """The least value between two states, and when."""
        gradients = self._between(t0, x0, t1, x1)
        low, high, value, best = 0.0, 1.0, np.inf, 0.0
        for _ in range(ZOOMS):
            u = np.linspace(low, high, ZOOM_POINTS)
            found = least_singular_value(gradients(u), self.rank)
            k = int(np.argmin(found))
            value, best = float(found[k]), float(u[k])
            low, high = float(u[max(k - 1, 0)]), float(u[min(k + 1, ZOOM_POINTS - 1)])
        return value, float(t0 + (t1 - t0) * best)

    def warn(self, start: float, adaptive: bool) -> None:
        """Warn whoever called ``simulate`` of singular configurations, if there were any.

        Args:
            start: time of the initial state.
            adaptive: whether steps were adapted, and go straight on there.
        """
        if not self.times:
            return
        if self.times[0] == start:
            what = "q0 is a singular position"
            how = ". v0 chooses among them" if adaptive else ". Start a little beside it, on the branch that is meant"
        else:
            what = f"at t = {self.times[0]:.9g} s the motion passes a singular position"
            how = (
                ". It goes straight on, as it came; friction and clearance of a real one may choose otherwise"
                if adaptive
                else ", and rounding may choose among them and change the energy. Compare with other steps; adaptive "
                "methods go straight on over isolated ones"
            )
        warnings.warn(
            f"{what}: {RANK_LOST}{how}. Dynamics(mechanism).analyse(q) lists the motions",
            SimulationWarning,
            stacklevel=3,
        )


def singular_times(system: Stabiliser, t: np.ndarray, x: np.ndarray) -> tuple[float, ...]:
    """When the constraints lost rank along a motion that is known at samples.

    Args:
        t: times, (T,).
        x: states [q; v], (T, nq + nv); what comes after one that is not finite is left out.
    """
    watch, good = RankWatch(system), np.isfinite(x).all(axis=1)
    end = len(t) if good.all() else int(np.argmin(good))
    if end > 1:
        watch.start(float(t[0]), x[0])
        watch.extend(t[1:end], x[1:end])
        watch.finish()
    return tuple(watch.times)


def least_singular_value(G: np.ndarray, rank: int) -> np.ndarray:
    """The least singular value that should not vanish relative to the largest, of many G.

    Args:
        G: gradients of constraints, (k, m, nv).
        rank: how many singular values should not vanish.
    """
    least, most = extreme_sizes(G, rank)
    return least / most
