"""Rigid displacements: a rotation and a translation that together map one frame to another.

``X_ab = Transform(R_ab, p_a_ab)`` maps the coordinates of a point in frame b to its coordinates in frame a:
``p_a = R_ab p_b + p_a_ab``, where ``p_a_ab`` is the position of the origin of b in axes a. So ``X_ac = X_ab
@ X_bc``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra.arguments import Matrix, Vector, array, components, described, scalar_argument, tensor, unrolled
from dalembert.algebra.arrays import Array, asarray, exact, product
from dalembert.algebra.rotations import rotation_from_rpy, sine_cosine
from dalembert.algebra.scalar import Scalar, constant, same
from dalembert.errors import ArgumentError


@dataclass(frozen=True, eq=False, repr=False)
class Transform:
    """The pose of a frame b in a frame a.

    Args:
        rotation: 3x3 matrix ``R_ab``, components in b to components in a. It is taken as given;
            :func:`dalembert.algebra.rotations.is_rotation` checks numbers that come from outside.
        translation: ``p_a_ab``, origin of b in axes of a, in metres.
    """

    rotation: Array
    translation: Array

    __array_ufunc__ = None  # NumPy shall not take a Transform for a scalar: ``array @ transform`` is a TypeError

    def __post_init__(self) -> None:
        for name, shape in (("rotation", (3, 3)), ("translation", (3,))):
            given = array(getattr(self, name), f"the {name} of a Transform", shape)
            value = np.array(asarray(given))  # a copy, the caller keeps his
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @classmethod
    def identity(cls) -> Transform:
        """The displacement that moves nothing."""
        return cls(np.eye(3), np.zeros(3))

    @classmethod
    def from_translation(cls, translation: Vector) -> Transform:
        """A pure translation.

        Args:
            translation: origin of b in axes of a.
        """
        return cls(np.eye(3), array(translation, "translation", (3,)))

    @classmethod
    def from_rotation(cls, rotation: Matrix) -> Transform:
        """A pure rotation.

        Args:
            rotation: 3x3 matrix, components in b to components in a.
        """
        return cls(tensor(rotation, "rotation"), np.zeros(3))

    @classmethod
    def from_rpy_xyz(cls, rpy: Vector, xyz: Vector) -> Transform:
        """The pose of a URDF ``<origin rpy="..." xyz="..."/>``.

        Args:
            rpy: roll, pitch, yaw about the fixed x, y, z axes, in radians.
            xyz: translation in metres.
        """
        return cls(rotation_from_rpy(*components(rpy, "rpy")), array(xyz, "xyz", (3,)))

    @classmethod
    def from_homogeneous(cls, matrix: Matrix) -> Transform:
        """The displacement of a 4x4 homogeneous matrix.

        Args:
            matrix: ``[[R, p], [0, 1]]``.
        """
        m = array(matrix, "a homogeneous matrix", (4, 4))
        if [constant(x) for x in m[3]] != [0, 0, 0, 1]:
            raise ArgumentError(f"a homogeneous matrix is 4x4 with last row 0 0 0 1, got shape {m.shape}:\n{m}")
        return cls(m[:3, :3], m[:3, 3])

    @classmethod
    def modified_dh(cls, alpha: Scalar, a: Scalar, theta: Scalar, d: Scalar) -> Transform:
        """Modified Denavit-Hartenberg (Craig): ``Rot(x,alpha) Trans(x,a) Rot(z,theta) Trans(z,d)``. (2.3.1)

        Args:
            alpha: angle about x of the previous frame, between the previous joint axis and this one.
            a: distance along x of the previous frame, between the same axes.
            theta: angle about this joint's axis.
            d: offset along this joint's axis.
        """
        a, d = scalar_argument(a, "a"), scalar_argument(d, "d")
        (s_al, c_al), (s_th, c_th) = sine_cosine(alpha), sine_cosine(theta)
        rotation = [
            [c_th, -s_th, 0],
            [c_al * s_th, c_al * c_th, -s_al],
            [s_al * s_th, s_al * c_th, c_al],
        ]  # (2.3.3)
        return cls(asarray(rotation), asarray([a, -d * s_al, d * c_al]))  # (2.3.4)

    @classmethod
    def standard_dh(cls, theta: Scalar, d: Scalar, a: Scalar, alpha: Scalar) -> Transform:
        """Standard (distal) Denavit-Hartenberg: ``Rot(z,theta) Trans(z,d) Trans(x,a) Rot(x,alpha)``.

        Args:
            theta: angle about the previous joint axis.
            d: offset along the previous joint axis.
            a: length along the common normal, x of the new frame.
            alpha: twist about that normal.
        """
        a, d = scalar_argument(a, "a"), scalar_argument(d, "d")
        (s_al, c_al), (s_th, c_th) = sine_cosine(alpha), sine_cosine(theta)
        rotation = [
            [c_th, -s_th * c_al, s_th * s_al],
            [s_th, c_th * c_al, -c_th * s_al],
            [0, s_al, c_al],
        ]
        return cls(asarray(rotation), asarray([a * c_th, a * s_th, d]))

    def __matmul__(self, other: Transform) -> Transform:
        """Composition ``X_ac = X_ab @ X_bc``."""
        if not isinstance(other, Transform):
            return NotImplemented
        rotation = product(self.rotation, other.rotation)
        return Transform(rotation, self.apply(other.translation))

    def inverse(self) -> Transform:
        """The pose of a in b, ``X_ba``."""
        return Transform(self.rotation.T, -product(self.rotation.T, self.translation))

    def apply(self, point: Vector) -> Array:
        """Coordinates in a of a point given in b: rotated and translated.

        Args:
            point: coordinates in b; or many points, each a column of a 3 x n matrix.
        """
        turned = self.rotate(point)
        return _sum(turned, self.translation if turned.ndim == 1 else self.translation[:, None])

    def rotate(self, vector: Vector) -> Array:
        """Components in a of a free vector (velocity, force, axis) given in b: rotated only.

        Args:
            vector: components in b; or many vectors, each a column of a 3 x n matrix.
        """
        entries = asarray(array(unrolled(vector), "vector"))
        if entries.ndim not in (1, 2) or len(entries) != 3:
            raise ArgumentError(
                "vector must have three components, shape (3,), or be a 3 x n matrix of such columns; got "
                + described(vector)
            )
        return product(self.rotation, entries)

    def homogeneous(self) -> Array:
        """The 4x4 matrix ``[[R, p], [0, 1]]``."""
        rows = [[*row, p] for row, p in zip(self.rotation.tolist(), self.translation.tolist())]
        return asarray([*rows, [0, 0, 0, 1]])

    def __eq__(self, other: object) -> bool:
        """Exact equality, entry by entry; expressions are compared as written."""
        if not isinstance(other, Transform):
            return NotImplemented
        return all(same(x, y) for x, y in zip(self._entries(), other._entries()))

    def __hash__(self) -> int:
        return hash(self._entries())

    def __reduce__(self) -> tuple[Any, ...]:
        return Transform, (self.rotation, self.translation)

    def __repr__(self) -> str:
        rows = ", ".join("[" + ", ".join(map(_text, row)) + "]" for row in self.rotation.tolist())
        return f"Transform(rotation=[{rows}], translation=[{', '.join(map(_text, self.translation.tolist()))}])"

    def _entries(self) -> tuple[Any, ...]:
        return (*self.rotation.flat, *self.translation.flat)


def _sum(a: Array, b: Array) -> Array:
    """``a + b``, where numbers meet symbols exactly."""
    return exact(a) + exact(b) if a.dtype == object or b.dtype == object else a + b


def _text(x: Any) -> str:
    return f"{x + 0.0:.6g}" if isinstance(x, float) else str(x)  # adding zero turns -0 into 0
