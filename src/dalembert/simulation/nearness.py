"""How near singular positions of loops are to a motion, by the least singular value of constraint gradients G."""

from __future__ import annotations

import numpy as np

from dalembert.constraints.choice import row_scale
from dalembert.kinematics.manifold import displaced
from dalembert.simulation.integrators import Step
from dalembert.simulation.singularity import ZERO, extreme_singular_values, least_singular_value
from dalembert.simulation.system import System

NEAR = 1e-2
"""Where the least singular value falls below this part of the largest that it had along the motion, a crossing is near.
Rounding of x y leaves y' = e x'/x^2 there: it must not be much nearer. Nor farther, for the sake of the polynomial.
"""

ASIDE = np.array([0.1, 0.2, 0.3])
"""If the reference is singular, as starts there are, usual singular values are those so far along the velocity, rad."""


class Nearness:
    """Follows the least singular value that should not vanish, relative to the largest.

    Args:
        system: what moves, with constraints.

    Attributes:
        largest: the largest that it had.
    """

    def __init__(self, system: System):
        assert system.constrained is not None
        self._system, self._constrained = system, system.constrained
        self._nq, self._rank = system.mechanism.nq, len(system.constrained.pivots.rows)
        self._scale = row_scale(system.constrained)[:, None]
        self._turned = 0.0  # how far G went since it was decomposed
        reference = np.asarray(system.constrained.reference, dtype=float)  # motions may begin near a crossing
        self.largest = float(self.sizes(np.zeros(1), reference[None])[0])

    @property
    def bound(self) -> float:
        """Sizes up to this one are near."""
        return NEAR * self.largest

    def start(self, t: float, x: np.ndarray) -> bool:
        """Whether a motion begins near a singular position.

        Args:
            t: time.
            x: state.
        """
        if self.largest < ZERO and (fastest := np.abs(x[self._nq :]).max()) > 0:
            self.largest = float(self.sizes(t + ASIDE / fastest, self.ahead(x, ASIDE / fastest)).max())
        return self.holds(t, x)

    def holds(self, t: float, x: np.ndarray) -> bool:
        """Whether a singular position is near at a state.

        Args:
            t: time.
            x: state.
        """
        size = self.size(t, x)
        self.largest = max(self.largest, size)
        return size <= self.bound

    def sizes(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """The value at several positions.

        Args:
            t: times, (k,).
            q: positions, (k, nq).
        """
        return least_singular_value(self._scale * self._constrained.evaluate("positions", q, t)[1], self._rank)

    def size(self, t: float, x: np.ndarray) -> float:
        """The value at one state.

        Args:
            t: time.
            x: state.
        """
        return float(self.sizes(np.array([t]), x[None, : self._nq])[0])

    def ahead(self, x: np.ndarray, u: np.ndarray, slope: np.ndarray | None = None) -> np.ndarray:
        """Positions at later times, (k, nq), if velocities stay, or change with the given slope.

        Args:
            x: state.
            u: how much later, s, (k,).
            slope: derivative of the state.
        """
        q, v, a = x[: self._nq], x[self._nq :], 0.0 if slope is None else slope[self._nq :]
        return np.array([displaced(self._system.tree, q, s * v + s * s / 2 * a) for s in u], dtype=float)

    def begin(self, t: float, x: np.ndarray) -> None:
        """Steps begin at a state.

        Args:
            t: time.
            x: state.
        """
        self._G = self._gradients(t, x)
        self._decompose()

    def far(self, made: Step) -> bool:
        """Whether singular positions are far from the next step: singular values change no more than G does (Weyl). So
        only where that is much since they were last computed, they are computed again.

        Args:
            made: the step.
        """
        G = self._gradients(made.t1, made.x)
        turned = float(np.linalg.norm(G - self._G))
        self._G, self._turned = G, self._turned + turned
        for _ in range(2):
            least, most = self._known
            way = self._turned + 4 * turned  # which it may be between the ends, too
            if least - way > self.bound * (most + way):
                return True
            self._decompose()
        return False

    def _gradients(self, t: float, x: np.ndarray) -> np.ndarray:
        return np.asarray(self._scale * self._constrained.evaluate("positions", x[: self._nq], t)[1])

    def _decompose(self) -> None:
        """Learn the least singular value that should not vanish, and the largest."""
        least, most = (float(size[0]) for size in extreme_singular_values(self._G[None], self._rank))
        self._known, self._turned, self.largest = (least, most), 0.0, max(self.largest, least / most)
