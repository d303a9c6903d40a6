"""States between samples: the integrator's own interpolants, or cubic ones through samples and their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.algebra.quaternions import angular_velocity_from_quaternion_rate

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
        self._made: tuple[np.ndarray, ...] | None = None

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """States at times, (k, nq + nv).

        Args:
            t: times, (k,).
        """
        if self._made is None:
            from dalembert.simulation.held import control_before
            from dalembert.simulation.jumps import with_jumps

            known = with_jumps(self._trajectory)
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
        """States at times, (k, nq + nv).

        Args:
            t: times, (k,).
        """
        known = self._trajectory
        q, slope = cubic(known.t, known.q, known.qdot, t)
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
    s = np.ones_like(h)  # after a jump at the very end
    np.divide((t - known[k])[:, None], h, out=s, where=h > 0)
    a, b = s * s * (3 - 2 * s), s * (1 - s)
    last = (xdot if arriving is None else arriving)[k + 1]
    values = x[k] * (1 - a) + x[k + 1] * a + h * b * (xdot[k] * (1 - s) - last * s)
    chord = (x[k + 1] - x[k]) / np.where(h > 0, h, 1)
    slopes = 6 * b * chord + xdot[k] * (1 - s) * (1 - 3 * s) - last * s * (2 - 3 * s)
    return values, slopes
