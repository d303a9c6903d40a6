"""States between samples: the integrator's own interpolants, or cubic ones through samples and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dalembert.simulation.trajectory import Trajectory


class Pieces:
    """Interpolants of an integrator, one per step. At a jump the state after it counts.

    Args:
        pieces: (begin, end, function of time) of every step.
        first: the state at the begin.
    """

    def __init__(self, pieces: Sequence[tuple[float, float, Callable]], first: np.ndarray):
        self.pieces, self.first = list(pieces), first
        self._begins = np.array([begin for begin, _, _ in self.pieces])

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """States at times, (k, nq + nv).

        Args:
            t: times, (k,).
        """
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
        self._made: tuple[np.ndarray, np.ndarray] | None = None

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """States at times, (k, nq + nv).

        Args:
            t: times, (k,).
        """
        known = self._trajectory
        if self._made is None:
            self._made = np.hstack([known.q, known.v]), np.hstack([known.qdot, known.a])
        x, xdot = self._made
        if len(known.t) == 1:
            return np.repeat(x, len(t), axis=0)
        k = np.clip(np.searchsorted(known.t, t, side="right") - 1, 0, len(known.t) - 2)
        k = np.where(known.t[k + 1] > known.t[k], k, np.maximum(k - 1, 0))  # the last of two samples at one time
        h = (known.t[k + 1] - known.t[k])[:, None]
        s = (t - known.t[k])[:, None] / h
        a, b = s * s * (3 - 2 * s), s * (1 - s)
        return x[k] * (1 - a) + x[k + 1] * a + h * b * (xdot[k] * (1 - s) - xdot[k + 1] * s)
