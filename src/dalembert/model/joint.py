"""Joints: what they are called, what they carry, and of which elementary joints they consist."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.errors import ModelError
from dalembert.model.checks import expect, expect_choice, shown
from dalembert.model.record import Record, check_scalar, frozen_array


class JointKind(NamedTuple):
    """What is known of a kind of joint besides its motion, which :meth:`Joint.elementary` gives.

    Args:
        meaning: in words, with its coordinates.
        positions: name and unit of each coordinate; a single one has the name of the joint, and none here.
        velocities: name and unit, of which it is a rate, of each velocity.
        directions: those of ``axis``, ``axis2`` and ``pitch`` that it has.
    """

    meaning: str
    positions: tuple[tuple[str, str], ...] = ()
    velocities: tuple[tuple[str, str], ...] = ()
    directions: tuple[str, ...] = ("axis",)


def _parts(names: str, unit: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, unit) for name in names.split())


_ANGLE, _DISTANCE, _QUATERNION = (("", "rad"),), (("", "m"),), _parts("qx qy qz qw", "quaternion")
_BOTH, _ANGLES = (("angle", "rad"), ("distance", "m")), _parts("angle1 angle2", "rad")
_PLANE, _PLACE = (*_parts("x y", "m"), ("angle", "rad")), _parts("x y z", "m")
_LINEAR, _ANGULAR = _parts("vx vy vz", "m"), _parts("wx wy wz", "rad")

JOINTS = {
    "fixed": JointKind("no motion", directions=()),
    "revolute": JointKind("rotation about the axis; q = angle", _ANGLE, _ANGLE),
    "continuous": JointKind("as revolute, without limits", _ANGLE, _ANGLE),
    "prismatic": JointKind("translation along the axis; q = distance", _DISTANCE, _DISTANCE),
    "helical": JointKind(
        "screw along the axis, pitch in metres per radian; q = angle", _ANGLE, _ANGLE, ("axis", "pitch")
    ),
    "cylindrical": JointKind("rotation about and translation along the axis; q = [angle, distance]", _BOTH, _BOTH),
    "universal": JointKind(
        "rotation about the axis, then about the moved second axis; q = [angle, angle]",
        _ANGLES, _ANGLES, ("axis", "axis2"),
    ),
    "planar": JointKind("motion in the plane normal to the axis; q = [x, y, angle]", _PLANE, _PLANE),
    "spherical": JointKind(
        "any rotation; q = unit quaternion [x, y, z, w], v = angular velocity in child axes",
        _QUATERNION, _ANGULAR, (),
    ),
    "free": JointKind(
        "any motion; q = [x, y, z, quaternion x, y, z, w], v = [linear in parent axes; angular in child axes]",
        (*_PLACE, *_QUATERNION), (*_LINEAR, *_ANGULAR), (),
    ),
}  # fmt: skip
"""Every kind of joint. To add one made of elementary joints, enter it here and in :meth:`Joint.elementary`."""

KINDS = {name: kind.meaning for name, kind in JOINTS.items()}
"""Every kind of joint with its coordinates."""

SIZES = {name: (len(kind.positions), len(kind.velocities)) for name, kind in JOINTS.items()}
"""(nq, nv) of every kind."""


@dataclass(frozen=True, eq=False)
class Limits(Record):
    """Range, speed and effort of a joint of one degree; data only, never enforced by the algorithms.

    A ``continuous`` joint has no range.

    Args:
        lower: smallest position.
        upper: largest position.
        velocity: largest speed.
        effort: largest force or torque.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf

    def __post_init__(self) -> None:
        for name in ("lower", "upper", "velocity", "effort"):
            value = getattr(self, name)
            if scalar.is_sympy(check_scalar(value, f"limits, {name}")) or not scalar.is_number(value):
                raise ModelError(f"limits, {name}: expected a number, got {shown(value)}")


@dataclass(frozen=True, eq=False)
class Mimic(Record):
    """Gear coupling: this joint's position is ``multiplier * q[joint] + offset``; it has no coordinate of its own.

    Args:
        joint: name of the leading joint.
        multiplier: gear ratio.
        offset: position when the leading joint is at zero.
    """

    joint: str
    multiplier: Scalar = 1
    offset: Scalar = 0

    def __post_init__(self) -> None:
        expect(self.joint, str, "mimic, joint", ModelError)
        for name in ("multiplier", "offset"):
            object.__setattr__(self, name, check_scalar(getattr(self, name), f"mimic, {name}"))


def letter_axis(written: str, what: str) -> Array:
    """The unit vector that ``"x"``, ``"-y"`` and so on stand for.

    Args:
        written: a letter, with a minus sign before it or without.
        what: it is, for the error.
    """
    sign, letter = (-1.0, written[1:]) if written.startswith("-") else (1.0, written)
    if letter not in ("x", "y", "z"):
        raise ModelError(f"{what}: expected 'x', 'y', 'z', '-x', '-y', '-z' or three numbers, got {written!r}")
    return sign * np.eye(3)["xyz".index(letter)]


@dataclass(frozen=True, eq=False)
class Joint(Record):
    """A joint between a parent and a child body; the child's frame is the joint frame after the motion.

    Args:
        name: unique among the joints.
        kind: one of :data:`KINDS`.
        parent: name of the parent body; ``"world"`` is the ground.
        child: name of the child body.
        placement: joint frame in the parent's frame, at zero position.
        axis: unit vector in the joint frame (normal of the plane for ``planar``); or ``"x"``, ``"-x"``, ``"y"``, ...
        axis2: second axis of a ``universal`` joint, in the frame moved by the first.
        pitch: advance per radian of a ``helical`` joint, m/rad.
        limits: of a joint of one degree, data only.
        damping: viscous coefficient, data only unless asked for by name.
        friction: Coulomb friction, data only unless asked for by name.
        armature: rotor inertia reflected to the joint, data only unless asked for by name.
        mimic: gear coupling to another joint.
    """

    name: str
    kind: str
    parent: str
    child: str
    placement: Transform = field(default_factory=Transform.identity)
    axis: Any = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    axis2: Any = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    pitch: Scalar = 0
    limits: Limits = field(default_factory=Limits)
    damping: Scalar = 0
    friction: Scalar = 0
    armature: Scalar = 0
    mimic: Mimic | None = None

    def __post_init__(self) -> None:
        where = f"joint {shown(self.name)}"
        expect_choice(self.kind, KINDS, f"{where}: unknown kind", ModelError)
        for name in ("parent", "child"):
            expect(getattr(self, name), str, f"{where}, {name}", ModelError)
        expect(self.placement, Transform, f"{where}, placement", ModelError)
        expect(self.limits, Limits, f"{where}, limits", ModelError)
        if self.mimic is not None:
            expect(self.mimic, Mimic, f"{where}, mimic", ModelError)
        for name in ("axis", "axis2"):
            along = getattr(self, name)
            along = letter_axis(along, f"{where}, {name}") if isinstance(along, str) else along
            object.__setattr__(self, name, frozen_array(along, (3,), f"{where}, {name}"))
        for name in ("pitch", "damping", "friction", "armature"):
            object.__setattr__(self, name, check_scalar(getattr(self, name), f"{where}, {name}"))

    @property
    def nq(self) -> int:
        """Number of position coordinates this joint adds to ``q``."""
        return 0 if self.mimic else SIZES[self.kind][0]

    @property
    def nv(self) -> int:
        """Number of velocities this joint adds to ``v``."""
        return 0 if self.mimic else SIZES[self.kind][1]

    def elementary(self) -> list[Elementary]:
        """The elementary joints in series, from parent to child, that make up this joint."""
        one = Elementary
        match self.kind:
            case "revolute" | "continuous":
                return [one("revolute", self.axis)]
            case "prismatic":
                return [one("prismatic", self.axis)]
            case "helical":
                return [one("helical", self.axis, self.pitch)]
            case "cylindrical":
                return [one("revolute", self.axis), one("prismatic", self.axis)]
            case "universal":
                return [one("revolute", self.axis), one("revolute", self.axis2)]
            case "planar":
                x, y = plane_axes(self.axis)
                return [one("prismatic", x), one("prismatic", y), one("revolute", self.axis)]
            case "spherical":
                return [one("spherical", self.axis)]
            case "free":
                return [*(one("prismatic", e) for e in np.eye(3)), one("spherical", self.axis)]
        return []


@dataclass(frozen=True)
class Elementary:
    """One of the four joints every other joint is made of.

    Args:
        kind: ``revolute``, ``prismatic``, ``helical`` or ``spherical``.
        axis: unit axis in the joint frame.
        pitch: advance per radian of a helical one.
    """

    kind: str
    axis: Array
    pitch: Scalar = 0


def plane_axes(normal: Array) -> tuple[Array, Array]:
    """Two unit vectors that span the plane normal to ``normal``: (x, y) for z, (y, z) for x, (z, x) for y.

    For any other normal, the x and y axes turned with z by the shortest rotation; for one that points down, the x and
    minus y axes turned with minus z, because the shortest rotation is ill-conditioned there. A normal with symbols
    counts as one that points up, as long as they are symbols.
    """
    values = [scalar.constant(x) for x in normal]
    for k in range(3):
        along, *others = values[k], values[(k + 1) % 3], values[(k + 2) % 3]
        if others == [0, 0] and along is not None and along > 0:
            e = np.eye(3)
            return e[(k + 1) % 3], e[(k + 2) % 3]
    x, y, z = normal
    if (upward := values[2]) is not None and upward < 0:
        h = 1 / (1 - z)
        return (
            arrays.asarray([1 - h * x * x, -h * x * y, x]),
            arrays.asarray([h * x * y, h * y * y - 1, -y]),
        )
    h = 1 / (1 + z)
    return (
        arrays.asarray([1 - h * x * x, -h * x * y, -x]),
        arrays.asarray([-h * x * y, 1 - h * y * y, -y]),
    )


def rotation_about(axis: Array, q: Scalar) -> Array:
    """Rotation by the angle ``q`` about a unit axis (3.3.40); zeros and ones of coordinate axes stay exact."""
    c, s = scalar.cos(q), scalar.sin(q)
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        sign = axis[k]
        if scalar.is_zero(axis[i]) and scalar.is_zero(axis[j]) and scalar.is_number(sign) and abs(sign) == 1:
            R: Any = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
            R[k][k], R[i][i], R[j][j] = 1, c, c
            R[i][j], R[j][i] = (-s, s) if sign > 0 else (s, -s)
            return arrays.asarray(R)
    x, y, z = axis
    C = 1 - c
    return arrays.asarray(
        [
            [c + C * x * x, C * x * y - s * z, C * x * z + s * y],
            [C * x * y + s * z, c + C * y * y, C * y * z - s * x],
            [C * x * z - s * y, C * y * z + s * x, c + C * z * z],
        ]
    )
