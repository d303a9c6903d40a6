"""Motion of one frame as seen from another, along the loop that joins them and nothing else.

Position and rotation of frame b in frame a depend only on the joints between the two, so everything is computed from
the last link that carries both, which is taken as fixed: joints below it cost nothing. With ``r`` from a to b,

    d = A^T r,   R = A^T B,   d' = A^T (v_b - v_a(at b)),   w = A^T (w_b - w_a),

where v_a(at b) is the velocity of the point of a that b is at (THESIS 4.2, relative motion). All results are in the
axes of frame a.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross
from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    from dalembert.constraints.state import State

Place = tuple[int, Transform]
"""The link that carries a frame, -1 for the ground, and the frame in it."""


class Chain:
    """The links from a common one (excluded) out to a frame; everything in the axes of the common link.

    Args:
        state: the mechanism at a state.
        links: indices of the links, from the common one outwards.
        at: the frame in the last link, or in the common one if there are no links.
    """

    def __init__(self, state: State, links: Sequence[int], at: Transform):
        self.state, self.links = state, links
        W, o = arrays.identity(3), arrays.zeros(3)
        self.origins: list[Array] = []
        self.axes: list[tuple[Array, Array]] = []
        self.ways: list[Array] = []
        for i in links:
            step, link = state.steps[i], state.tree.links[i]
            self.ways.append(product(W, step.s))
            o = o + self.ways[-1]
            W = arrays.stack([step.outward(row) for row in W])  # W A, row by row
            self.origins.append(o)
            self.axes.append((product(W, link.Zw), product(W, link.Zv)))
        self.rotation = product(W, at.rotation)
        lever = product(W, at.translation)
        self.position = o + lever
        # position - origin, but summed: the difference of two places in orbit is no lever of a metre any more
        self.levers = [lever]
        for way in reversed(self.ways[1:]):
            self.levers.insert(0, way + self.levers[0])

    def columns(self, point: Array | None = None) -> dict[int, tuple[Array, Array]]:
        """For every velocity that moves the frame its (angular velocity, velocity of its point) per unit.

        Args:
            point: where the point is; by default at the frame's origin.
        """
        found: dict[int, tuple[Array, Array]] = {}
        levers = self.levers if point is None else [point - o for o in self.origins]
        for i, lever, (zw, zv) in zip(self.links, levers, self.axes):
            link = self.state.tree.links[i]
            for k in range(link.nv):
                turn = zw[:, k]
                move = cross(turn, lever) + zv[:, k] if link.rotates else zv[:, k]
                if not scalar.is_one(link.gain):
                    turn, move = link.gain * turn, link.gain * move
                if link.v + k in found:  # a mimic joint beside its leader
                    before = found[link.v + k]
                    turn, move = before[0] + turn, before[1] + move
                found[link.v + k] = (turn, move)
        return found

    def motion(self, point: Array | None = None) -> tuple[Array, Array, Array, Array]:
        """(w, v, alpha, a) of the frame and of its point, for accelerations zero (4.2.15)-(4.2.24).

        Args:
            point: where the point is; by default at the frame's origin.
        """
        tree, v = self.state.tree, self.state.velocities
        w = alpha = velocity = acceleration = arrays.zeros(3)
        for i, s, (zw, zv) in zip(self.links, self.ways, self.axes):
            rate = tree.speed(tree.links[i], v)
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


class Pair:
    """Frame b as seen from frame a.

    Args:
        state: the mechanism at a state.
        a: the frame that looks.
        b: the frame that is looked at.

    Attributes:
        offset: d, origin of b in frame a.
        rotation: R, axes of b in frame a.
    """

    def __init__(self, state: State, a: Place, b: Place):
        self.state, self.places = state, (a, b)
        ancestors = state.tree.ancestors
        inner, outer = (ancestors[place[0]] if place[0] >= 0 else () for place in (a, b))
        shared = set(inner) & set(outer)
        self.a = Chain(state, [i for i in reversed(inner) if i not in shared], a[1])
        self.b = Chain(state, [i for i in reversed(outer) if i not in shared], b[1])
        self.offset = self.in_a(self.b.position - self.a.position)
        self.rotation = product(self.a.rotation.T, self.b.rotation)

    def in_a(self, u: Array) -> Array:
        """A vector in the axes of frame a."""
        return product(self.a.rotation.T, u)

    @cached_property
    def jacobians(self) -> tuple[Array, Array]:
        """(Jd, Jw), each 3 x nv: d' = Jd v and w = Jw v."""
        nv = self.state.tree.nv
        a, b = self.a.columns(self.b.position), self.b.columns()
        Jd: list[Array] = [arrays.zeros(3)] * nv
        Jw: list[Array] = [arrays.zeros(3)] * nv
        for k in {*a, *b}:
            turn = move = arrays.zeros(3)
            if k in b:
                turn, move = b[k]
            if k in a:
                turn, move = turn - a[k][0], move - a[k][1]
            Jw[k], Jd[k] = self.in_a(turn), self.in_a(move)
        if not nv:
            raise ArgumentError(f"{self.state.mechanism.name!r} has no joints that move")
        return arrays.stack(Jd).T, arrays.stack(Jw).T

    @cached_property
    def _motions(self) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        return self.a.motion(self.b.position), self.b.motion()

    @cached_property
    def velocity(self) -> Array:
        """d', the rate of the components of d."""
        (_, va, _, _), (_, vb, _, _) = self._motions
        return self.in_a(vb - va)

    @cached_property
    def turning(self) -> Array:
        """w, angular velocity of b relative to a, in axes a."""
        return self.in_a(self._motions[1][0] - self._motions[0][0])

    @cached_property
    def drift(self) -> Array:
        """[d''; w'] for accelerations zero: what velocities alone contribute, six entries."""
        (wa, va, alpha_a, aa), (wb, vb, alpha_b, ab) = self._motions
        linear = self.in_a(ab - aa - 2 * cross(wa, vb - va))
        angular = self.in_a(alpha_b - alpha_a - cross(wa, wb))
        return np.concatenate([linear, angular])

    def generalised(self, force: Array, moment: Array) -> Array:
        """What a force at the origin of b and a moment, on b and opposite on a, in axes a, do to the velocities."""
        Jd, Jw = self.jacobians
        return product(Jd.T, arrays.asarray(force)) + product(Jw.T, arrays.asarray(moment))
