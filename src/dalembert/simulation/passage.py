"""Adaptive integration over singular positions of closed loops: straight on, from one side to the other.

Where two branches of motion cross, constraints look like x y = 0 locally, x along the branch and y along the other. An
error e of x y means y = e / x: the nearer the crossing, the more of it is off the branch, y'' = -2 x' y'/x. An
integrator that controls its error sees this and makes its steps the shorter the nearer it comes, until rounding alone
decides which way it goes on, and the projection of the velocity to that branch takes energy.

But the motion along a branch is as smooth there as anywhere. So the last step is shortened to end where a crossing is
near; behind it integration begins anew; and in between the derivative of the state is a polynomial of time that is
right where the crossing is not near, at states that are projected to the constraints (collocation, by iteration).

Slow motions may turn back meanwhile, and cross again. Where this spoils the polynomial, the step begins later, closer
to the crossing, and is shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.polynomial.polynomial import polyint, polyval

from dalembert.simulation.integrators import Adaptive, Step
from dalembert.simulation.manifold import displaced
from dalembert.simulation.singularity import least_singular_value
from dalembert.simulation.system import System

SAMPLES = 9
"""Positions of a step that are examined for one that may be singular."""

NEAR = 1e-2
"""Where the least singular value falls below this part of the largest that it had along the motion, a crossing is near.
Rounding of x y leaves y' = e x'/x^2 there: it must not be much nearer. Nor farther, for the sake of the polynomial.
"""

NODES = np.array([0.0, 2, 3, 4, 5])
"""Times at which the polynomial is right, since the crossing came near, in units of the time from there to it."""

INVERSE = np.linalg.inv(np.vander(NODES, increasing=True))
"""Values at the nodes -> coefficients."""

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


class Passing:
    """An adaptive integrator that goes straight on where branches of the motion cross.

    Args:
        inner: the integrator.
        system: what moves, with constraints.

    Attributes:
        passed: begin and end of the steps that led straight on.
    """

    def __init__(self, inner: Adaptive, system: System):
        assert system.constrained is not None
        self.inner, self.equations, self.system = inner, inner.equations, system
        self.rank = len(system.constrained.pivots.rows)
        self.passed: list[tuple[float, float]] = []
        self._closer = np.inf
        reference = np.asarray(system.constrained.reference, dtype=float)  # motions may begin near a crossing
        self._largest = float(self._sizes(np.zeros(1), reference[None])[0])

    def start(self, t: float, x: np.ndarray, bound: float) -> None:
        """Begin, or begin anew, at a state.

        Args:
            t: time.
            x: state.
            bound: where to stop.
        """
        self._bound = bound
        self._begin(t, x)
        if self._is_near(t, x):
            self._mode = "near"

    def _begin(self, t: float, x: np.ndarray) -> None:
        self._t, self._x, self._mode = t, x, "step"
        self.inner.start(t, x, self._bound)

    @property
    def finished(self) -> bool:
        """Whether the bound is reached."""
        return self.inner.finished if self._mode == "step" else self._t >= self._bound

    def step(self) -> Step:
        """Go on by one step."""
        if self._mode == "near":
            made = self._over()
            if made is not None:  # slow motions turn meanwhile, and come back
                self._mode = "near" if self._is_near(made.t1, made.x) else "behind"
                return made
            self._closer = CLOSER * self._size(self._t, self._x)
            self._begin(self._t, self._x)
        made = self.inner.step()
        entry = self._entry(made)
        if entry is None:
            return made
        self._mode = "near"
        return Step(made.t0, entry, made.state(entry), made.state, made.dense)

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

    def _gradients(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        assert self.system.constrained is not None
        return self.system.constrained.evaluate("positions", q, t)[1]

    def _sizes(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """The least singular value that should not vanish, relative, at times (k,) and positions (k, nq)."""
        return least_singular_value(self._gradients(t, q), self.rank)

    def _size(self, t: float, x: np.ndarray) -> float:
        return float(self._sizes(np.array([t]), x[None, : self.system.mechanism.nq])[0])

    def _is_near(self, t: float, x: np.ndarray) -> bool:
        """Whether a crossing is near at a state."""
        size = self._size(t, x)
        self._largest = max(self._largest, size)
        return size <= NEAR * self._largest

    def _entry(self, made: Step) -> float | None:
        """When the motion comes near a singular position, or closer to where a step over it failed; None if never."""
        nq = self.system.mechanism.nq
        G = self._gradients(np.array([made.t0, made.t1]), np.array([made.state(made.t0)[:nq], made.x[:nq]]))
        ends, turned = least_singular_value(G, self.rank), np.linalg.norm(G[1] - G[0]) / np.linalg.norm(G[0], 2)
        self._largest = max(self._largest, float(ends.max()))
        if ends.min() - 4 * turned > NEAR * self._largest:  # singular values change no more than G does (Weyl)
            return None

        def size(t: np.ndarray) -> np.ndarray:
            return self._sizes(t, np.array([made.state(float(s))[:nq] for s in t]))

        times = np.linspace(made.t0, made.t1, SAMPLES)
        found = size(times)
        self._largest = max(self._largest, float(found.max()))
        if found[0] > NEAR * self._largest:  # no step over this crossing was tried
            self._closer = np.inf
        near = min(NEAR * self._largest, self._closer)
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

    def _over(self) -> Step | None:
        """The step over the crossing ahead; None if there is none, or none that can be passed from here."""
        t, x = self._t, self.system.closed(self._t, self._x)
        slope = self.equations.flow(t, x)
        way = self._way(slope)
        if way is None:
            return None
        times, change = t + way * NODES, np.inf
        coefficients = np.array([x, way * slope])
        ends = polyval(NODES, coefficients).T
        while True:
            states = np.array([self.system.closed(s, y) for s, y in zip(times.tolist(), ends)])
            slopes = np.array([self.equations.flow(s, y) for s, y in zip(times.tolist(), states)])
            if not np.isfinite(slopes).all():
                return None
            coefficients = np.concatenate([x[None], polyint(way * INVERSE @ slopes)[1:]])
            before, old, ends = change, ends, polyval(NODES, coefficients).T
            change = float(np.abs(ends - old).max())
            if not change < before / 2:  # as good as it gets
                break
        nq = self.system.mechanism.nq
        size = np.abs(np.hstack([ends[:, :nq] - x[:nq], ends[:, nq:]]))
        term = np.abs(coefficients[-1:]) * NODES[-1] ** len(NODES)
        for off, allowed in ((np.abs(states - ends), BESIDE), (term, LAST_TERM)):
            if not all(off[:, k].max() < allowed * size[:, k].max() for k in (slice(nq), slice(nq, None))):
                return None
        self._t = min(float(times[-1]), self._bound)
        self.passed.append((t, self._t))
        path = partial(_path, t, way, coefficients)
        return Step(t, self._t, path(self._t), path, path)

    def _way(self, slope: np.ndarray) -> float | None:
        """How long it is, s, to the crossing ahead, if there is one before the bound or not much later."""
        tree, nq, t, x = self.system.tree, self.system.mechanism.nq, self._t, self._x

        def size(u: np.ndarray) -> np.ndarray:
            q = np.array([displaced(tree, x[:nq], s * x[nq:] + s * s / 2 * slope[nq:]) for s in u], dtype=float)
            return self._sizes(t + u, q)

        ways = (self._bound - t) * DISTANCES
        found = size(ways)
        left = int(np.argmax(np.append(found, np.inf) > 2 * NEAR * self._largest))  # a later crossing is another one
        falls = np.diff(found) < 0
        for k in np.flatnonzero((falls[:-1] & ~falls[1:])[:left]).tolist():
            way, value = _lowest(size, ways[k], ways[k + 2])
            if value < found[0] / 10:
                return way
        return None


def _path(begin: float, unit: float, coefficients: np.ndarray, t: Any) -> np.ndarray:
    """The state at a time, or one per column at several, by its polynomial in (t - begin) / unit."""
    return polyval((np.asarray(t, dtype=float) - begin) / unit, coefficients)


def _lowest(size: Callable[[np.ndarray], np.ndarray], low: float, high: float) -> tuple[float, float]:
    """Where a function that falls and rises again is least, and its value."""
    for _ in range(ZOOMS):
        u = np.linspace(low, high, POINTS)
        found = size(u)
        k = int(np.argmin(found))
        low, high = float(u[max(k - 1, 0)]), float(u[min(k + 1, POINTS - 1)])
    return float(u[k]), float(found[k])
