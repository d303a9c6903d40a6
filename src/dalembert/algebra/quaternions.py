"""Quaternions with the scalar last, ``eta = [eta_v; eta_0]``, as in PARSA appendix B.

Unit quaternions stand for rotations: ``rotation_from_quaternion(eta)`` is Q, which maps body to inertial
components, and ``w`` is always the angular velocity in body axes. Two products are in use: the encircled
star is Hamilton's, the encircled cross is the same with the factors exchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dalembert.algebra.arguments import Matrix, Vector, components, numeric, rotation_matrix, scalar_argument
from dalembert.algebra.arrays import Array, asarray
from dalembert.algebra.scalar import (
    Scalar,
    atan2,
    constant,
    cos,
    is_one,
    is_symbolic,
    is_sympy,
    is_zero,
    select,
    sin,
    sqrt,
    vanishes,
)
from dalembert.algebra.vectors import dot, normalised
from dalembert.errors import SingularityError

IDENTITY_QUATERNION = (0, 0, 0, 1)
"""The quaternion of no rotation."""


def quaternion_star(a: Vector, b: Vector) -> Array:
    """Hamilton product ``a (*) b``; rotations compose in the same order, ``Q(a (*) b) = Q(a) Q(b)``."""
    a1, a2, a3, a0 = components(a, "a", 4)
    b1, b2, b3, b0 = components(b, "b", 4)
    return asarray(
        [
            a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
            a0 * b2 + a2 * b0 + a3 * b1 - a1 * b3,
            a0 * b3 + a3 * b0 + a1 * b2 - a2 * b1,
            a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3,
        ]
    )


def quaternion_cross(a: Vector, b: Vector) -> Array:
    """The other product, ``a (x) b = b (*) a``."""
    return quaternion_star(components(b, "b", 4), components(a, "a", 4))


def quaternion_conjugate(eta: Vector) -> Array:
    """Conjugate ``[-eta_v; eta_0] = -D eta``; for unit quaternions the inverse rotation."""
    x, y, z, w = components(eta, "eta", 4)
    return asarray([-x, -y, -z, w])


def quaternion_d_matrix() -> Array:
    """The matrix ``D = diag(1, 1, 1, -1)`` that links the two products through the conjugate. (B-16)"""
    return asarray(np.diag([1, 1, 1, -1]))


def star_matrix(eta: Vector) -> Array:
    """Matrix ``[eta (*)]`` of the left Hamilton product: ``star_matrix(a) @ b = a (*) b``."""
    x, y, z, w = components(eta, "eta", 4)
    return asarray([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]])


def cross_matrix(eta: Vector) -> Array:
    """Matrix ``[eta (x)]``: ``cross_matrix(a) @ b = a (x) b``."""
    x, y, z, w = components(eta, "eta", 4)
    return asarray([[w, z, -y, x], [-z, w, x, y], [y, -x, w, z], [-x, -y, -z, w]])


def quaternion_normalise(eta: Vector) -> Array:
    """``eta`` divided by its length.

    Args:
        eta: four scalars; if they are numbers they must not all be zero.
    """
    return normalised(components(eta, "eta", 4), "the quaternion")


def unit_in_place(q: Any, places: Iterable[int]) -> Any:
    """Quaternions among numbers divided by their lengths, in place; returns q. Any array library.

    Args:
        q: numbers, (..., n).
        places: where along the last axis quaternions begin.
    """
    for k in places:
        eta = q[..., k : k + 4]
        eta /= ((eta * eta).sum(-1, keepdims=True)) ** 0.5
    return q


def rotation_from_quaternion(eta: Vector, unit: bool = True) -> Array:
    """Rotation matrix of a quaternion ``eta``, body to inertial components.

    ``Q = (eta_0^2 - eta_v.eta_v) 1 + 2 eta_v eta_v^T + 2 eta_0 eta_v~``. The diagonal uses the unit length,
    ``Q11 = 1 - 2 (y^2 + z^2)``, which is cheaper.

    Args:
        eta: the quaternion.
        unit: whether it is known to have unit length. Of any other the rotation is that of ``eta / |eta|``, found with
            one division and no root.
    """
    x, y, z, w = components(eta, "eta", 4)
    squared = 1 if unit else x * x + y * y + z * z + w * w
    if is_zero(squared):
        raise SingularityError(f"the quaternion {eta} has no direction: its length must be positive and finite")
    if is_one(squared):
        x2, y2, z2 = x + x, y + y, z + z
    else:
        scale = 2 / squared
        x2, y2, z2 = x * scale, y * scale, z * scale
    xx, yy, zz = x * x2, y * y2, z * z2
    xy, xz, yz = x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    return asarray(
        [
            [1 - (yy + zz), xy - wz, xz + wy],
            [xy + wz, 1 - (xx + zz), yz - wx],
            [xz - wy, yz + wx, 1 - (xx + yy)],
        ]
    )


def quaternion_from_rotation(rotation: Matrix) -> Array:
    """Unit quaternion, with non-negative scalar part, of a rotation matrix (body to inertial).

    The matrix determines every product of two components; dividing by the largest component keeps all four
    accurate for every rotation, half turns included. Exact constants give exact components, and complex numbers the
    analytic continuation. Of symbols the branch that divides by the scalar part is taken, ``eta_0 = sqrt(1 + tr R)/2``:
    real symbols, and all rotations but half turns. Where every value of the symbols gives a half turn, the first of
    x, y, z that does not vanish is the positive one instead.

    Args:
        rotation: a 3x3 rotation matrix.
    """
    r = rotation_matrix(rotation)
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = r.tolist()
    # Four times the products of components: row k holds component k times all of (x, y, z, w).
    products = (
        (1 + xx - yy - zz, xy + yx, xz + zx, zy - yz),
        (xy + yx, 1 - xx + yy - zz, yz + zy, xz - zx),
        (xz + zx, yz + zy, 1 - xx - yy + zz, yx - xy),
        (zy - yz, xz - zx, yx - xy, 1 + xx + yy + zz),
    )
    values = numeric(r)
    if values is None and not is_symbolic(r):
        return _traced_quaternion(products, xx, yy, zz)
    if values is None:
        k = next((k for k in (3, 0, 1, 2) if not vanishes(products[k][k])), 3)
    else:
        k = max(range(4), key=lambda k: _real(products[k][k]))
    row = products[k]
    if r.dtype == object:
        length = 2 * sqrt(row[k])
    else:  # a little more than twice the root, if the matrix is a little off: this makes a unit quaternion of it
        length = sqrt(sum(p * p for p in row))
    if values is not None and math.copysign(1, _real(row[3])) < 0:
        length = -length
    return asarray([p / length for p in row])


def _traced_quaternion(products: tuple[tuple[Scalar, ...], ...], xx: Scalar, yy: Scalar, zz: Scalar) -> Array:
    """Chosen while it runs: each of these conditions leaves a diagonal product of at least one."""

    def chosen(x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> Scalar:
        return select(zz < 0, select(xx > yy, x, y), select(xx + yy < 0, z, w))

    *vector, scalar = (chosen(*column) for column in zip(*products))
    length = 2 * sqrt(chosen(*(products[k][k] for k in range(4))))
    length = select(scalar < 0, -length, length)
    return asarray([p / length for p in (*vector, scalar)])


def quaternion_rate(eta: Vector, w: Vector) -> Array:
    """``etadot = 1/2 eta (*) [w; 0]``. (B-18)

    Args:
        eta: unit quaternion, body to inertial.
        w: angular velocity in body axes.
    """
    x, y, z, s = components(eta, "eta", 4)
    w1, w2, w3 = components(w, "w")
    return asarray(
        [
            (s * w1 + y * w3 - z * w2) / 2,
            (s * w2 + z * w1 - x * w3) / 2,
            (s * w3 + x * w2 - y * w1) / 2,
            -(x * w1 + y * w2 + z * w3) / 2,
        ]
    )


def angular_velocity_from_quaternion_rate(eta: Vector, etadot: Vector) -> Array:
    """Angular velocity in body axes, the vector part of ``2 eta* (*) etadot``. (B-19)

    Args:
        eta: unit quaternion, body to inertial.
        etadot: its time derivative.
    """
    x, y, z, s = components(eta, "eta", 4)
    dx, dy, dz, ds = components(etadot, "etadot", 4)
    return asarray(
        [
            2 * (s * dx - x * ds + z * dy - y * dz),
            2 * (s * dy - y * ds + x * dz - z * dx),
            2 * (s * dz - z * ds + y * dx - x * dy),
        ]
    )


def quaternion_exp(phi: Vector) -> Array:
    """Unit quaternion ``[sin(a/2) phi/a; cos(a/2)]`` of the rotation vector ``phi`` of length ``a``."""
    vector = components(phi, "phi")
    squared = dot(vector, vector)

    def away() -> tuple[Scalar, ...]:
        angle = sqrt(squared)
        return sin(angle / 2) / angle, cos(angle / 2)

    def near() -> tuple[Scalar, ...]:  # truncation below 2e-18 where it is used
        return (
            (1 - squared * (1 - squared / 80) / 24) / 2,
            1 - squared * (1 - squared * (1 - squared / 120) / 48) / 8,
        )

    scale, scalar = _near_zero(squared, near, away)
    return asarray([scale * x for x in vector] + [scalar])


def quaternion_log(eta: Vector) -> Array:
    """Rotation vector, of length at most pi, of a unit quaternion; ``eta`` and ``-eta`` have the same one."""
    entries = components(eta, "eta", 4)
    if all(constant(x) == 0 for x in entries):
        raise SingularityError(f"the quaternion {entries} has no direction and so stands for no rotation")
    sign = select(_is_negative(entries[3]), -1, 1)
    *vector, scalar = (sign * x for x in entries)
    squared = dot(vector, vector)

    def away() -> tuple[Scalar, ...]:
        half_sine = sqrt(squared)
        return (2 * atan2(half_sine, scalar) / half_sine,)

    def near() -> tuple[Scalar, ...]:  # arctan(x)/x in powers of ratio = x^2, truncation below 2e-17 where it is used
        if constant(scalar) == 0:
            raise SingularityError(f"the quaternion {entries} is no unit quaternion: divide it by its length first")
        ratio = squared / (scalar * scalar)
        return (2 * (1 - ratio * (1 / 3 - ratio * (1 / 5 - ratio / 7))) / scalar,)

    (scale,) = _near_zero(squared, near, away)
    return asarray([scale * x for x in vector])


def slerp(a: Vector, b: Vector, fraction: Scalar) -> Array:
    """Quaternion at a fraction of the shortest turn from ``a`` to ``b``, at constant angular velocity.

    Args:
        a: unit quaternion at fraction 0.
        b: unit quaternion at fraction 1; reached up to sign.
        fraction: usually in [0, 1]; values outside extrapolate the same turn.
    """
    fraction = scalar_argument(fraction, "fraction")
    turn = quaternion_log(quaternion_star(quaternion_conjugate(components(a, "a", 4)), components(b, "b", 4)))
    return quaternion_star(a, quaternion_exp([fraction * x for x in turn.tolist()]))


SERIES_LIMIT = 1e-4
"""Squared half-chord or angle below which a series replaces a quotient that tends to 0/0."""


def _near_zero(
    squared: Scalar, near: Callable[[], tuple[Scalar, ...]], away: Callable[[], tuple[Scalar, ...]]
) -> tuple[Scalar, ...]:
    """The series ``near`` zero, the closed form ``away`` from it; both, for a traced scalar."""
    if is_sympy(squared):
        return near() if is_zero(squared) else away()
    value = constant(squared)
    if value is not None:
        return near() if abs(value) < SERIES_LIMIT else away()
    return tuple(select(squared < SERIES_LIMIT, n, a) for n, a in zip(near(), away()))


def _is_negative(x: Scalar) -> Any:
    return x < 0 if constant(x) is None else _real(x) < 0


def _real(x: Scalar) -> float:
    """Real part of the value of a number or exact constant."""
    value: Any = constant(x)
    return value.real
