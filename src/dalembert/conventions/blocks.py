"""One joint seen by two libraries: how its positions map, and the orthogonal matrix P(q) of its velocities.

With v' = P v, accelerations map as a' = P a + Pdot v, and because P is orthogonal forces map as tau' = P tau. All
arrays hold the joint's own coordinates in the last dimension; the dimensions before it are batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.quaternions import quaternion_conjugate, quaternion_from_rotation
from dalembert.algebra.transform import Transform

TURNS = np.array(sorted(range(-20, 21), key=abs))
"""Whole turns, the least first, that are tried where only the directions of two geared joints are known."""


@dataclass(frozen=True)
class Block:
    """A joint with the same coordinates on both sides.

    Args:
        joint: its name in the mechanism.
        own_q: its place in our q; of a mimic joint, that of its leader.
        own_v: its place in our v.
        their_q: its place in their q.
        their_v: its place in their v.
        gain: multiplier of a mimic joint that the other library treats as a joint of its own, else 1.
        offset: offset of such a joint, else 0.
        follower: true for such a joint.
    """

    joint: str
    own_q: slice
    own_v: slice
    their_q: slice
    their_v: slice
    gain: float = 1
    offset: float = 0
    follower: bool = False

    def to_q(self, q: Array) -> Array:
        """Their positions from ours."""
        return q

    def from_q(self, q: Array) -> Array:
        """Our positions from theirs."""
        return q

    def matrix(self, q: Array) -> Array | None:
        """P at our positions; None if it is the identity."""
        return None

    def bias(self, q: Array, v: Array) -> Array | None:
        """Pdot v at our positions and velocities; None if it is zero."""
        return None


class CosineSine(Block):
    """An angle that the other side keeps as (cosine, sine); coming back it is in (-pi, pi]."""

    def to_q(self, q: Array) -> Array:
        return np.concatenate([np.cos(q), np.sin(q)], axis=-1)

    def from_q(self, q: Array) -> Array:
        return np.arctan2(q[..., 1:], q[..., :1])


class ScalarFirst(Block):
    """A quaternion that the other side writes with the scalar first."""

    def to_q(self, q: Array) -> Array:
        return q[..., [3, 0, 1, 2]]

    def from_q(self, q: Array) -> Array:
        return q[..., [1, 2, 3, 0]]


class PlanarInBodyAxes(Block):
    """Ours: (x, y, angle) and their rates. Theirs: (x, y, cosine, sine), the velocity in the axes of the body."""

    def to_q(self, q: Array) -> Array:
        return np.concatenate([q[..., :2], np.cos(q[..., 2:]), np.sin(q[..., 2:])], axis=-1)

    def from_q(self, q: Array) -> Array:
        return np.concatenate([q[..., :2], np.arctan2(q[..., 3:], q[..., 2:3])], axis=-1)

    def matrix(self, q: Array) -> Array:
        P = np.zeros((*q.shape[:-1], 3, 3))
        c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
        P[..., 0, 0], P[..., 0, 1], P[..., 1, 0], P[..., 1, 1], P[..., 2, 2] = c, s, -s, c, 1
        return P

    def bias(self, q: Array, v: Array) -> Array:
        x, y, w = np.moveaxis(times(self.matrix(q), v), -1, 0)
        return np.stack([w * y, -w * x, np.zeros_like(w)], axis=-1)  # -w x v


@dataclass(frozen=True)
class PlanarTurned(Block):
    """(x, y, angle) and their rates on both sides, x and y along other directions of the same plane.

    Args:
        angle: from their x to ours, about the normal.
    """

    angle: float = 0

    def to_q(self, q: Array) -> Array:
        return q @ self._turn().T

    def from_q(self, q: Array) -> Array:
        return q @ self._turn()

    def matrix(self, q: Array) -> Array:
        return np.broadcast_to(self._turn(), (*q.shape[:-1], 3, 3))

    def _turn(self) -> Array:
        c, s = np.cos(self.angle), np.sin(self.angle)
        return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


@dataclass(frozen=True)
class Free(Block):
    """A free body. Ours: [position, quaternion xyzw]; [velocity in the axes of the joint frame; angular, body axes].

    Args:
        base: our joint frame at zero in the frame the other side refers positions to.
        quaternion_first: their q is [quaternion, position].
        scalar_first: their quaternion is w, x, y, z.
        angular_first: their v is [angular; linear].
        linear_in_body: their linear velocity is in body axes, else in the axes positions are referred to.
        angular_in_body: the same for the angular velocity.
    """

    base: Transform = field(default_factory=Transform.identity)
    quaternion_first: bool = False
    scalar_first: bool = False
    angular_first: bool = False
    linear_in_body: bool = False
    angular_in_body: bool = True

    def to_q(self, q: Array) -> Array:
        position = q[..., :3] @ self.base.rotation.T + self.base.translation
        turned = _quaternion_product(quaternion_from_rotation(self.base.rotation), q[..., 3:])
        quaternion = turned[..., [3, 0, 1, 2]] if self.scalar_first else turned
        return np.concatenate([quaternion, position] if self.quaternion_first else [position, quaternion], axis=-1)

    def from_q(self, q: Array) -> Array:
        split = 4 if self.quaternion_first else 3
        first, second = q[..., :split], q[..., split:]
        quaternion, position = (first, second) if self.quaternion_first else (second, first)
        quaternion = quaternion[..., [1, 2, 3, 0]] if self.scalar_first else quaternion
        position = (position - self.base.translation) @ self.base.rotation
        # The conjugate of the very quaternion of to_q: a half turn has two, and the sign must come back.
        turn_back = quaternion_conjugate(quaternion_from_rotation(self.base.rotation))
        return np.concatenate([position, _quaternion_product(turn_back, quaternion)], axis=-1)

    def matrix(self, q: Array) -> Array:
        R = _rotation(q[..., 3:])
        outer = np.broadcast_to(self.base.rotation, R.shape)
        linear = np.swapaxes(R, -1, -2) if self.linear_in_body else outer
        angular = np.broadcast_to(np.eye(3), R.shape) if self.angular_in_body else outer @ R
        P = np.zeros((*q.shape[:-1], 6, 6))
        rows = (slice(3, 6), slice(0, 3)) if self.angular_first else (slice(0, 3), slice(3, 6))
        P[..., rows[0], :3], P[..., rows[1], 3:] = linear, angular
        return P

    def bias(self, q: Array, v: Array) -> Array | None:
        # d/dt (R w) = R wdot, so the angular part never contributes.
        if not self.linear_in_body:
            return None
        linear = times(np.swapaxes(_rotation(q[..., 3:]), -1, -2), v[..., :3])
        turning = -np.cross(v[..., 3:], linear)  # d/dt (R^T u) = R^T udot - w x R^T u
        parts = [np.zeros_like(turning), turning] if self.angular_first else [turning, np.zeros_like(turning)]
        return np.concatenate(parts, axis=-1)


def add_turns(blocks: Sequence[Block], ours: Array, theirs: Array) -> None:
    """Add to our angles the whole turns that (cosine, sine) forgets, as far as mimic joints remember them.

    Args:
        ours: our positions, (..., nq), which are changed.
    """
    angles = [block.own_q for block in blocks if isinstance(block, CosineSine) and not block.follower]
    followers = [block for block in blocks if block.follower and block.gain and block.own_q in angles]
    for block in sorted(
        followers, key=lambda block: isinstance(block, CosineSine)
    ):  # those that count turns come first
        ahead = block.from_q(theirs[..., block.their_q]) - block.offset - block.gain * ours[..., block.own_q]
        ahead /= 2 * np.pi
        if isinstance(block, CosineSine):  # the least number of turns that makes it point where it does
            miss = block.gain * TURNS - ahead
            turns = TURNS[np.argmin(np.abs(miss - np.round(miss)) > 1e-6, axis=-1)][..., None]
        else:
            turns = np.round(ahead / block.gain)
        ours[..., block.own_q] += 2 * np.pi * turns


def times(matrix: Array, vector: Array) -> Array:
    """Matrix times vector, over batches."""
    return (matrix @ vector[..., None])[..., 0]


def _quaternion_product(a: Array, b: Array) -> Array:
    """Hamilton product, scalar last, over batches."""
    (a1, a2, a3, a0), (b1, b2, b3, b0) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack(
        [
            a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
            a0 * b2 + a2 * b0 + a3 * b1 - a1 * b3,
            a0 * b3 + a3 * b0 + a1 * b2 - a2 * b1,
            a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        ],
        axis=-1,
    )


def _rotation(quaternion: Array) -> Array:
    """Rotation matrices of unit quaternions, scalar last, over batches."""
    x, y, z, w = np.moveaxis(quaternion, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
