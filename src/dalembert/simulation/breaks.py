"""Where what acts on a mechanism changes abruptly: there a step of an adaptive method ends, and another begins.

Tolerances choose long steps where a motion is smooth, and a force that acts between the few times at which a long step
asks for it is not seen. So controls and wrenches that are functions are looked at along each long step that was made,
at times so close that nothing which lasts longer is missed. Forces under which such a step is right are smooth along
it; where they are not, the time of the change is found to the last digit, and the step is made anew up to there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial.chebyshev import chebvander

from dalembert.simulation.inputs import Inputs

LOOKS = 2000
"""How often in a whole motion inputs are looked at: changes that last this part of it, or longer, are found."""

DEGREE = 7
"""Of the polynomial by which smooth inputs along a step are predicted; a step of order 8 needs no higher one."""

DEPARTURE = 1e-2
"""Part of the largest input so far by which a smooth one is not mispredicted: errors of methods of low order, whose
long steps are few, are smaller, and impulses of less are worth few tolerances."""


class Breaks:
    """The times at which legs of a motion end because inputs change there.

    Args:
        inputs: control and wrenches.
        start: begin of the motion, s.
        end: of the motion, s.
        given: times that the user knows of.
        search: whether to look for others.
    """

    def __init__(self, inputs: Inputs, start: float, end: float, given: Sequence[float], search: bool):
        self.inputs, self.times, self.found = inputs, {float(t) for t in given if start < t < end}, list[float]()
        self._grid = np.linspace(start, end, LOOKS + 1) if search and not inputs.constant else np.empty(0)
        angles = (np.arange(DEGREE + 1) + 0.5) * np.pi / (DEGREE + 1)
        self._nodes = np.cos(angles)
        self._fit = np.linalg.inv(chebvander(self._nodes, DEGREE))
        self._largest: np.ndarray | None = None

    def begin(self, t: float, bound: float) -> float:
        """The end of a leg that begins at t; inputs are those within the leg, at its ends too.

        Args:
            t: begin of the leg.
            bound: where it would end otherwise.
        """
        bound = min([bound, *(time for time in self.times if time > t)])
        low = np.nextafter(t, np.inf) if t in self.times else -np.inf
        high = np.nextafter(bound, -np.inf) if bound in self.times else np.inf
        self.inputs.limits = float(low), float(high)
        return bound

    def within(self, t0: float, t1: float, state: Callable[[float], tuple[np.ndarray, np.ndarray]]) -> bool:
        """Whether inputs change abruptly in a step; then the next leg ends there.

        Args:
            state: gives (q, v) at times between.
        """
        first, last = np.searchsorted(self._grid, [t0, t1], side="right")
        if first >= last:
            return False
        times = np.append(self._grid[first:last], [t0, t1])
        times = np.unique(times[(times >= t0) & (times <= t1)])

        def at(t: float) -> np.ndarray:
            q, v = state(t)
            return np.concatenate([self.inputs.control(t, q, v), self.inputs.wrenches(t, q, v).ravel()])

        middle, half = (t0 + t1) / 2, (t1 - t0) / 2
        nodes = np.array([at(middle + half * s) for s in self._nodes])
        values = np.array([at(t) for t in times.tolist()])
        largest = np.maximum(np.abs(values).max(axis=0), np.abs(nodes).max(axis=0))
        self._largest = largest if self._largest is None else np.maximum(self._largest, largest)
        predicted = chebvander((times - middle) / half, DEGREE) @ (self._fit @ nodes)
        wrong = np.abs(values - predicted) > DEPARTURE * self._largest
        if not wrong.any():
            return False
        times = np.concatenate([times, middle + half * self._nodes])
        order = np.argsort(times)
        values, times = np.concatenate([values, nodes])[order], times[order]
        scale = np.where(self._largest > 0, self._largest, 1.0)
        changes = np.abs(np.diff(values, axis=0) / scale).max(axis=1)
        where = int(np.argmax(changes >= changes.max() / 2))  # the first of the large ones
        a, b, before, after = float(times[where]), float(times[where + 1]), values[where], values[where + 1]
        while (m := a + (b - a) / 2) not in (a, b):
            now = at(m)
            if np.abs((now - before) / scale).max() > np.abs((after - now) / scale).max():
                b, after = m, now
            else:
                a, before = m, now
        if not t0 < b < t1:
            return False
        self.times.add(b)
        self.found.append(b)
        return True
