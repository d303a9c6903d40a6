"""Adaptive integration over singular positions of closed loops: straight on, from one side to the other.

Where two branches of motion cross, constraints look like x y = 0 locally, x along the branch and y along the other. An
error e of x y means y = e / x: the nearer the crossing, the more of it is off the branch, y'' = -2 x' y'/x. An
integrator that controls its error sees this and makes its steps the shorter the nearer it comes, until rounding alone
decides which way it goes on, and the projection of the velocity to that branch takes energy.

But the motion along a branch is as smooth there as anywhere. So the last step is shortened to end where a crossing is
near; behind it integration begins anew; and in between the derivative of the state is a polynomial of time that is
right where the crossing is not near, at states that are projected to the constraints (collocation, by iteration).

A motion that begins at a crossing, or so close to it that accelerations are errors only, follows its velocity: the
polynomial is right then where it has left the crossing. So it is where forces change in the middle of a crossing.

Slow motions may turn back meanwhile, and cross again. Where this spoils the polynomial, the step begins later, closer
to the crossing, and is shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial.polynomial import polyint, polyval

from dalembert.simulation.integrators import Adaptive, Step
from dalembert.simulation.nearness import Nearness
from dalembert.simulation.stabiliser import LOST, Stabiliser

SAMPLES = 9
"""Positions of a step that are examined for one that may be singular."""

NODES = np.array([0.0, 2, 3, 4, 5])
"""Times at which the polynomial is right, since the crossing came near, in units of the time from there to it."""

OUTWARDS = np.array([1.0, 2, 3, 4, 5])
"""The same for motions that begin at a crossing, in units of the time until it is no longer near."""

BESIDE = 1e-6
"""What projection changes of the polynomial at the nodes, relative to the whole way, if the motion goes straight on. If
it passes beside the singular position, and therefore turns, it is more.
"""

LAST_TERM = 1e-4
"""What the term of highest degree contributes to the polynomial, relative to the whole way, is less; the error is a
small part of it.
"""

CLOSER = 1 / 4
"""A step over a crossing that fails is tried again where the least singular value is this part of what it was."""

POINTS, ZOOMS = 17, 5
"""The place of the crossing: so many points, so often, each time on an eighth of the interval."""

DISTANCES = 2.0 ** np.arange(-40, 10, 0.5)
"""It is looked for so far ahead, in units of the time to the bound. If powers of two were all, a crossing could hide
between them behind a turn.
"""

BISECTIONS = 30
"""To find where the motion comes near."""


@dataclass(frozen=True)
class Polynomial:
    """A motion from begin to end: powers of (t - begin) / unit times coefficients, one row for each power."""

    begin: float
    end: float
    unit: float
    coefficients: np.ndarray

    def __call__(self, t: Any) -> np.ndarray:
        """The state at a time, or one per column at several.

        Args:
            t: times.
        """
        return polyval((np.asarray(t, dtype=float) - self.begin) / self.unit, self.coefficients)

    @property
    def slope(self) -> np.ndarray:
        """Derivative of the state at the begin."""
        return self.coefficients[1] / self.unit


class Passing:
    """An adaptive integrator that goes straight on where branches of the motion cross.

    Args:
        inner: the integrator.
        system: what moves, with constraints.

    Attributes:
        passed: begin and end of the steps that led straight on.
    """

    def __init__(self, inner: Adaptive, system: Stabiliser):
        self.inner, self.equations, self.system, self.near = inner, inner.equations, system, Nearness(system)
        self.passed: list[tuple[float, float]] = []
        self._closer = np.inf
        self._away: Polynomial | None = None

    def start(self, t: float, x: np.ndarray, bound: float) -> None:
        """Begin, or begin anew, at a state.

        Args:
            t: time.
            x: state.
            bound: where to stop.
        """
        self._bound, self._away = bound, None
        if self.passed and self.passed[-1][1] > t:
            self.passed[-1] = (self.passed[-1][0], t)
        if not self.near.start(t, x):
            self._begin(t, x)
            return
        self._t, self._x, self._mode = t, x, "near"
        self._away = self._outwards()

    def slope(self, t: float, x: np.ndarray) -> np.ndarray:
        """Derivative of the state where the motion has just begun.

        Args:
            t: time.
            x: state.
        """
        return self.equations.flow(t, x) if self._away is None else self._away.slope

    def _begin(self, t: float, x: np.ndarray) -> None:
        self._t, self._x, self._mode = t, x, "step"
        self.near.begin(t, x)
        self.inner.start(t, x, self._bound)

    @property
    def finished(self) -> bool:
        """Whether the bound is reached."""
        return self.inner.finished if self._mode == "step" else self._t >= self._bound

    def step(self) -> Step:
        """Go on by one step."""
        if self._mode == "near":
            found, self._away = self._away or self._over(), None
            if found is not None:
                return self._along(found)
            self._closer = CLOSER * self.near.size(self._t, self._x)
            self._begin(self._t, self._x)
        made = self.inner.step()
        entry = self._entry(made)
        if entry is None:
            return made
        self._mode = "near"
        return made._replace(t1=entry, x=made.state(entry))

    def correct(self, x: np.ndarray) -> None:
        """Go on from a state close to the last one.

        Args:
            x: that state.
        """
        if self._mode == "step":
            self.inner.correct(x)
        elif self._mode == "near" or self.finished:
            self._x = x
        else:
            self._begin(self._t, x)

    def _entry(self, made: Step) -> float | None:
        """When the motion comes near a singular position, or closer to where a step over it failed; None if never."""
        nq = self.system.mechanism.nq
        if self.near.far(made):
            return None

        def size(t: np.ndarray) -> np.ndarray:
            return self.near.sizes(t, np.array([made.state(float(s))[:nq] for s in t]))

        times = np.linspace(made.t0, made.t1, SAMPLES)
        found = size(times)
        self.near.largest = max(self.near.largest, float(found.max()))
        if found[0] > self.near.bound:  # no step over this crossing was tried
            self._closer = np.inf
        near = min(self.near.bound, self._closer)
        if found[0] <= near:
            return None
        # The lowest that a function can reach between two samples, of twice the slope seen there and beside.
        falls = np.pad(np.abs(np.diff(found)), 1)
        reach = (found[:-1] + found[1:]) / 2 - np.maximum(falls[1:-1], np.maximum(falls[:-2], falls[2:]))
        for k in np.flatnonzero(reach <= near).tolist():
            far, (when, value) = float(times[k]), _lowest(size, times[k], times[k + 1])
            if value <= near:
                for _ in range(BISECTIONS):
                    middle = (far + when) / 2
                    far, when = (middle, when) if size(np.array([middle]))[0] > near else (far, middle)
                self._t = when
                return when
        return None

    def _over(self) -> Polynomial | None:
        """The way over the crossing ahead; None if there is none, or none that can be passed from here."""
        t, x = self._t, self.system.closed(self._t, self._x)
        slope = self.equations.flow(t, x)
        way = self._way(slope)
        return None if way is None else self._collocated(x, way, NODES, x + way * np.outer(NODES, slope))

    def _outwards(self) -> Polynomial | None:
        """The way along the velocity to where the crossing is no longer near; None if there is none."""
        t, x, v = self._t, self._x, self._x[self.system.mechanism.nq :]
        ways, near, here = (self._bound - t) * DISTANCES, self.near.bound, self.near.size(t, x)
        sizes = self.near.sizes(t + ways, self.near.ahead(x, ways))
        while near > max(2 * here, LOST * self.near.largest):
            if (sizes > near).any():
                way = float(ways[np.argmax(sizes > near)])
                guess = np.hstack([self.near.ahead(x, way * OUTWARDS), np.tile(v, (len(OUTWARDS), 1))])
                found = self._collocated(x, way, OUTWARDS, guess)
                if found is not None:
                    return found
            near *= CLOSER
        if self.passed and self.passed[-1][1] == t and near < self.near.bound:  # it led nowhere
            self.passed.pop()
        return None

    def _collocated(self, x: np.ndarray, way: float, nodes: np.ndarray, ends: np.ndarray) -> Polynomial | None:
        """The polynomial whose slopes at nodes are those of the motion; None if it does not follow the motion.

        Args:
            x: the state from which it begins.
            way: unit of time, s.
            nodes: times since the begin, in that unit.
            ends: states at the nodes, to begin with.
        """
        times, change, inverse = self._t + way * nodes, np.inf, np.linalg.inv(np.vander(nodes, increasing=True))
        while True:
            states = np.array([self.system.closed(s, y) for s, y in zip(times.tolist(), ends)])
            slopes = np.array([self.equations.flow(s, y) for s, y in zip(times.tolist(), states)])
            if not np.isfinite(slopes).all():
                return None
            coefficients = np.concatenate([x[None], polyint(way * inverse @ slopes)[1:]])
            before, old, ends = change, ends, polyval(nodes, coefficients).T
            change = float(np.abs(ends - old).max())
            if not change < before / 2:  # as good as it gets
                break
        nq = self.system.mechanism.nq
        size = np.abs(np.hstack([ends[:, :nq] - x[:nq], ends[:, nq:]]))
        term = np.abs(coefficients[-1:]) * nodes[-1] ** len(nodes)
        for off, allowed in ((np.abs(states - ends), BESIDE), (term, LAST_TERM)):
            if not all(off[:, k].max() < allowed * size[:, k].max() for k in (slice(nq), slice(nq, None))):
                return None
        return Polynomial(self._t, float(times[-1]), way, coefficients)

    def _along(self, path: Polynomial) -> Step:
        """The step along a polynomial, as far as the bound."""
        self._t = min(path.end, self._bound)
        self.passed.append((path.begin, self._t))
        made = Step(path.begin, self._t, path(self._t), path, path)
        self._mode = "near" if self.near.holds(made.t1, made.x) else "behind"  # slow motions turn meanwhile, and return
        return made

    def _way(self, slope: np.ndarray) -> float | None:
        """How long it is, s, to the crossing ahead, if there is one before the bound or not much later."""
        t, x = self._t, self._x

        def size(u: np.ndarray) -> np.ndarray:
            return self.near.sizes(t + u, self.near.ahead(x, u, slope))

        ways = (self._bound - t) * DISTANCES
        found = size(ways)
        left = int(np.argmax(np.append(found, np.inf) > 2 * self.near.bound))  # a later crossing is another one
        falls = np.diff(found) < 0
        for k in np.flatnonzero((falls[:-1] & ~falls[1:])[:left]).tolist():
            way, value = _lowest(size, ways[k], ways[k + 2])
            if value < found[0] / 10:
                return way
        return None


def _lowest(size: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> tuple[float, float]:
    """Where a function that falls and rises again is least, and its value."""
    for _ in range(ZOOMS):
        u = np.linspace(low, high, POINTS)
        found = size(u)
        k = int(np.argmin(found))
        low, high = float(u[max(k - 1, 0)]), float(u[min(k + 1, POINTS - 1)])
    return float(u[k]), float(found[k])
