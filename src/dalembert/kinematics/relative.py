"""Motion of one frame as seen from another, along the loop that joins them and nothing else.

Position and rotation of frame b in frame a depend only on the joints between the two, so everything is computed from
the last link that carries both, which is taken as fixed: joints below it cost nothing. With ``r`` from a to b,

    d = A^T r,   R = A^T B,   d' = A^T (v_b - v_a(at b)),   w = A^T (w_b - w_a),

where v_a(at b) is the velocity of the point of a that b is at (THESIS 4.2, relative motion). All results are in the
axes of frame a.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross
from dalembert.cached import cached_property
from dalembert.errors import ArgumentError
from dalembert.kinematics.chain import Chain
from dalembert.kinematics.step import Step
from dalembert.model.tree import Tree

Place = tuple[int, Transform]
"""The link that carries a frame, -1 for the ground, and the frame in it."""


class KinematicState(Protocol):
    """A mechanism at a state: its links, the steps across its joints, its velocities if they are known."""

    @property
    def tree(self) -> Tree: ...

    @property
    def steps(self) -> Sequence[Step]: ...

    @property
    def velocities(self) -> Array: ...

    @property
    def is_moving(self) -> bool: ...


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

    def __init__(self, state: KinematicState, a: Place, b: Place):
        self.state, self.places = state, (a, b)
        ancestors = state.tree.ancestors
        inner, outer = (ancestors[place[0]] if place[0] >= 0 else () for place in (a, b))
        shared = set(inner) & set(outer)
        self.a = Chain(state.tree, state.steps, [i for i in reversed(inner) if i not in shared], a[1])
        self.b = Chain(state.tree, state.steps, [i for i in reversed(outer) if i not in shared], b[1])
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
            raise ArgumentError("there are no joints that move")
        return arrays.stack(Jd).T, arrays.stack(Jw).T

    @cached_property
    def _motions(self) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        v = self.state.velocities
        return self.a.motion(v, self.b.position), self.b.motion(v)

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
