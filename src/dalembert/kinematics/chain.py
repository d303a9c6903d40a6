"""The links that carry a frame, one after the other: its pose, Jacobians and motion, seen from a link below.

Everything that is asked about one frame is computed here: about frames in the world by
:mod:`~dalembert.kinematics.frames`, about one frame as seen from another by :mod:`~dalembert.kinematics.relative`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross
from dalembert.kinematics.step import Step, WholeStep
from dalembert.model.tree import Tree


class Chain:
    """The links from a common one (excluded) out to a frame; everything in the axes of the common link.

    Args:
        steps: the steps across the joints of these links, by index.
        links: indices of the links, from the common one outwards.
        at: the frame in the last link, or in the common one if there are no links.
        symbolic: positions are symbols; numbers beside them are kept exact, so that 1 * q is q.
    """

    def __init__(
        self,
        tree: Tree,
        steps: Mapping[int, Step | WholeStep] | Sequence[Step],
        links: Sequence[int],
        at: Transform,
        symbolic: bool = False,
    ):
        self.tree, self.links = tree, links
        beside = arrays.exact if symbolic else arrays.asarray
        W, o = arrays.identity(3), arrays.zeros(3)
        self.origins: list[Array] = []
        self.axes: list[tuple[Array, Array]] = []
        self.ways: list[Array] = []
        for i in links:
            step, link = steps[i], tree.links[i]
            self.ways.append(product(W, beside(step.s)))
            o = o + self.ways[-1]
            W = arrays.stack([step.outward(beside(row)) for row in W])  # W A, row by row
            self.origins.append(o)
            self.axes.append((product(W, beside(link.Zw)), product(W, beside(link.Zv))))
        self.rotation = product(W, beside(at.rotation))
        lever = product(W, beside(at.translation))
        self.position = o + lever
        # position - origin, but summed: the difference of two places in orbit is no lever of a metre any more
        self.levers = [lever]
        for way in reversed(self.ways[1:]):
            self.levers.insert(0, way + self.levers[0])
        if symbolic:
            self._beside_symbols()

    def columns(self, point: Array | None = None) -> dict[int, tuple[Array, Array]]:
        """For every velocity that moves the frame its (angular velocity, velocity of its point) per unit.

        Args:
            point: where the point is; by default at the frame's origin.
        """
        found: dict[int, tuple[Array, Array]] = {}
        levers = self.levers if point is None else [point - o for o in self.origins]
        for i, lever, (zw, zv) in zip(self.links, levers, self.axes):
            link = self.tree.links[i]
            for k in range(link.nv):
                turn = zw[:, k]
                move = cross(turn, lever) + zv[:, k] if link.rotates else zv[:, k]
                _add(found, link.v + k, link.gain, turn, move)
        return found

    def _beside_symbols(self) -> None:
        """Make numbers exact that will be multiplied with symbols."""
        self.axes = [(arrays.exact(zw), arrays.exact(zv)) for zw, zv in self.axes]
        self.levers, self.ways = ([arrays.exact(x) for x in vectors] for vectors in (self.levers, self.ways))

    def jacobians(self) -> tuple[Array, Array]:
        """(J_R, J_T), each 3 x nv: angular velocity of the frame and velocity of its origin per velocity."""
        return self._matrices(self.columns())

    def jacobian_rates(self, v: Array) -> tuple[Array, Array]:
        """Time derivatives of :meth:`jacobians`: columns turn with their links, their levers change with time."""
        if v.dtype == object:
            self._beside_symbols()
        w = velocity = arrays.zeros(3)
        moving: list[tuple[Array, Array]] = []  # of every link: angular velocity, velocity of its origin
        for i, s, (zw, zv) in zip(self.links, self.ways, self.axes):
            rate = self.tree.speed(self.tree.links[i], v)
            velocity = velocity + cross(w, s) + product(zv, rate)
            w = w + product(zw, rate)
            moving.append((w, velocity))
        tip = velocity + cross(w, self.levers[-1])
        found: dict[int, tuple[Array, Array]] = {}
        for i, lever, (zw, zv), (w, origin) in zip(self.links, self.levers, self.axes, moving):
            link = self.tree.links[i]
            for k in range(link.nv):
                turn, move = cross(w, zw[:, k]), cross(w, zv[:, k])
                if link.rotates:
                    move = cross(turn, lever) + cross(zw[:, k], tip - origin) + move
                _add(found, link.v + k, link.gain, turn, move)
        return self._matrices(found)

    def _matrices(self, columns: Mapping[int, tuple[Array, Array]]) -> tuple[Array, Array]:
        nothing = arrays.zeros(3), arrays.zeros(3)
        pairs = [columns.get(k, nothing) for k in range(self.tree.nv)]
        angular, linear = (arrays.stack([pair[part] for pair in pairs]).reshape(self.tree.nv, 3).T for part in (0, 1))
        return angular, linear

    def motion(self, v: Array, point: Array | None = None) -> tuple[Array, Array, Array, Array]:
        """(w, v, alpha, a) of the frame and of its point, for accelerations zero (4.2.15)-(4.2.24).

        Args:
            point: where the point is; by default at the frame's origin.
        """
        w = alpha = velocity = acceleration = arrays.zeros(3)
        for i, s, (zw, zv) in zip(self.links, self.ways, self.axes):
            rate = self.tree.speed(self.tree.links[i], v)
            turn, slide = product(zw, rate), product(zv, rate)
            swing = cross(w, s)
            acceleration = acceleration + cross(alpha, s) + cross(w, swing) + 2 * cross(w, slide)
            velocity = velocity + swing + slide
            alpha = alpha + cross(w, turn)
            w = w + turn
        if not self.links:
            return w, velocity, alpha, acceleration
        lever = self.levers[-1] if point is None else point - self.origins[-1]
        swing = cross(w, lever)
        return w, velocity + swing, alpha, acceleration + cross(alpha, lever) + cross(w, swing)


def _add(columns: dict[int, tuple[Array, Array]], k: int, gain: Scalar, turn: Array, move: Array) -> None:
    """Add what a joint contributes to column k; a mimic joint shares one with its leader."""
    if not scalar.is_one(gain):
        turn, move = gain * turn, gain * move
    if k in columns:
        before = columns[k]
        turn, move = before[0] + turn, before[1] + move
    columns[k] = (turn, move)
