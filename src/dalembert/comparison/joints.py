"""Axes of joints as lines in the world, and where a joint has its zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.model.joint import rotation_about


@dataclass(frozen=True, eq=False)
class Column:
    """One freedom of a joint: a rotation, translation or screw along a line in the world.

    Args:
        kind: ``turns about``, ``slides along`` or ``screws along``.
        axis: unit vector.
        point: of the line, nearest to the origin; the origin for a translation.
        pitch: advance per radian.
        rate: motion per unit of the coordinate; one, but for a joint that follows another.
    """

    kind: str
    axis: Array
    point: Array
    pitch: float = 0
    rate: float = 1

    @property
    def turns(self) -> bool:
        """False for a translation."""
        return self.kind != "slides along"


def columns(jacobian: Array) -> list[Column]:
    """The freedoms behind columns [angular velocity; velocity of the point at the origin].

    Args:
        jacobian: 6 x any.
    """
    found = []
    for column in np.asarray(jacobian, dtype=float).T:
        w, v = column[:3], column[3:]
        size = float(np.linalg.norm(w))
        if size < 1e-9:
            length = float(np.linalg.norm(v))
            found.append(Column("slides along", v / length if length else v, np.zeros(3), rate=length))
            continue
        pitch = float(w @ v) / size**2
        kind = "screws along" if abs(pitch) > 1e-9 else "turns about"
        found.append(Column(kind, w / size, np.cross(w, v) / size**2, pitch, size))
    return found


def turned(axis: Column, amount: float, vector: Array, is_point: bool) -> Array:
    """A point or direction moved along a freedom.

    Args:
        axis: the freedom.
        amount: angle or distance.
        vector: what is moved, in the world.
        is_point: true for a point, false for a direction.
    """
    if not axis.turns:
        return vector + amount * axis.axis if is_point else vector
    R = np.asarray(rotation_about(axis.axis, amount), dtype=float)
    if not is_point:
        return R @ vector
    return axis.point + R @ (vector - axis.point) + axis.pitch * amount * axis.axis


def carried_point(freedom: Column, line: Column) -> Array:
    """The point of an axis that stays the same one while a joint below carries the axis along.

    Args:
        freedom: of the joint below.
        line: the axis.
    """
    if freedom.turns:  # the foot of a point that does not move
        return line.point + line.axis * (line.axis @ (freedom.point - line.point))
    along = freedom.axis
    across = line.axis - along * (along @ line.axis)  # where the line meets a plane that slides in itself
    size = float(across @ across)
    return line.point - line.axis * (across @ line.point) / size if size > 1e-12 else line.point


def zero_shift(
    axis: Column, pairs: Sequence[tuple[Array, Array, bool]], tolerance: float, length: float
) -> float | None:
    """How far the other side must be moved along a freedom for all to coincide; None if it does, or never does.

    Args:
        axis: the freedom.
        pairs: points (true) and directions (false) here and there.
        tolerance: what coincides, relative.
        length: the size of the mechanism, m.
    """

    def off(amount: float) -> float:
        moved = ((a, turned(axis, amount, b, point), point) for a, b, point in pairs)
        return max((float(np.linalg.norm(a - b)) / (length if point else 1) for a, b, point in moved), default=0.0)

    if off(0.0) <= tolerance:
        return None
    if axis.turns:
        sine = cosine = 0.0
        for a, b, point in pairs:
            size = length if point else 1
            a, b = ((x - axis.point * point) / size for x in (a, b))
            a, b = (x - axis.axis * (axis.axis @ x) for x in (a, b))
            sine, cosine = sine + float(axis.axis @ np.cross(b, a)), cosine + float(a @ b)
        amount = math.atan2(sine, cosine)
    else:
        gaps = [float(axis.axis @ (a - b)) for a, b, point in pairs if point]
        amount = gaps[0] if gaps else 0.0
    return amount if off(amount) <= 10 * tolerance and abs(amount) > tolerance else None
