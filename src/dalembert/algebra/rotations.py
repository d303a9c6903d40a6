"""Rotation matrices: elementary turns, axis and angle, roll-pitch-yaw, Cayley form.

A rotation ``R_ab`` maps components in frame b to components in frame a; equally, it turns frame a into
frame b. Angles are in radians, positive by the right-hand rule. Functions named ``..._from_rotation``
invert the one they mirror.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from dalembert.algebra.arguments import (
    Matrix,
    Vector,
    array,
    components,
    described,
    numeric,
    orthogonality,
    rotation_matrix,
    scalar_argument,
)
from dalembert.algebra.arrays import Array, asarray, exact
from dalembert.algebra.quaternions import quaternion_from_rotation
from dalembert.algebra.scalar import Scalar, atan2, constant, cos, is_number, is_symbolic, select, sin, sqrt
from dalembert.algebra.vectors import dot, trace, unit, vect
from dalembert.errors import ArgumentError, SingularityError

HALF_PI = math.pi / 2

LOCK = 1e-10
"""Sine of the angular distance from gimbal lock below which what does not exist there is refused for numbers."""


def sine_cosine(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Sine and cosine of an angle, exact at quarter turns.

    The float closest to pi/2 is not pi/2, and its cosine is 6e-17. Whoever writes that float means a right
    angle; inside its rounding error it is one. So a real multiple of ``math.pi/2`` gives the integers -1,
    0, 1, and the zeros of a mechanism's geometry stay zeros. (Up to 10000 rad: the rounding error of
    larger angles is larger than what anybody could overlook, and beyond 1e16 it covers the circle.)
    """
    if isinstance(scalar_argument(angle, "angle"), (int, float, np.integer, np.floating)) and abs(angle) <= 1e4:
        value = float(angle)
        quarter = round(value / HALF_PI)
        if abs(value - quarter * HALF_PI) <= sys.float_info.epsilon * abs(value):
            return ((0, 1), (1, 0), (0, -1), (-1, 0))[quarter % 4]
    return sin(angle), cos(angle)


def rotation_x(angle: Scalar) -> Array:
    """Rotation by ``angle`` about the x axis."""
    s, c = sine_cosine(angle)
    return asarray([[1, 0, 0], [0, c, -s], [0, s, c]])


def rotation_y(angle: Scalar) -> Array:
    """Rotation by ``angle`` about the y axis."""
    s, c = sine_cosine(angle)
    return asarray([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def rotation_z(angle: Scalar) -> Array:
    """Rotation by ``angle`` about the z axis."""
    s, c = sine_cosine(angle)
    return asarray([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def rotation_from_axis_angle(axis: Vector, angle: Scalar) -> Array:
    """Rotation by an angle about an axis through the origin. (3.3.40)

    The form ``u u^T + cos (1 - u u^T) + sin u~`` is chosen because with a numeric axis every coefficient of
    the sine and cosine is a constant, and for a coordinate axis the constants are 0 and 1: what remains is
    the elementary turn.

    Args:
        axis: unit vector; numbers and exact constants are checked (see
            :func:`dalembert.algebra.vectors.unit`), symbols are trusted.
        angle: angle in radians.
    """
    u = exact(components(axis, "axis")).tolist()
    squared = constant(dot(u, u))
    if squared is not None and not abs(squared - 1) <= 1e-9:
        raise ArgumentError(f"the rotation axis {u} has length {sqrt(squared):.9g}, not 1; divide it by its length")
    s, c = sine_cosine(angle)
    x, y, z = u
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return asarray(
        [
            [xx + c * (1 - xx), xy - c * xy - s * z, xz - c * xz + s * y],
            [xy - c * xy + s * z, yy + c * (1 - yy), yz - c * yz - s * x],
            [xz - c * xz - s * y, yz - c * yz + s * x, zz + c * (1 - zz)],
        ]
    )


def axis_angle_from_rotation(rotation: Matrix) -> tuple[Array, Scalar]:
    """Unit axis and angle in [0, pi] of a rotation matrix.

    Accurate for every angle, half turns and tiny turns included, and exact for exact constants. The identity has no
    axis; x is returned for it, and a complex step from it raises ``SingularityError``. Of symbols the answer is
    ``vect(R)`` over its length s and ``atan2(s, (tr R - 1)/2)``: real symbols, and all turns but by 0 and pi, where s
    vanishes.

    Args:
        rotation: a 3x3 rotation matrix.
    """
    turned = rotation_matrix(rotation)
    if is_symbolic(turned) and numeric(turned) is None:
        axial = vect(turned).tolist()  # the axis times the sine of the angle
        sine = sqrt(dot(axial, axial))
        return asarray([x / sine for x in axial]), atan2(sine, (trace(turned) - 1) / 2)
    *vector, scalar = quaternion_from_rotation(turned).tolist()
    if not all(is_number(x) for x in vector):
        return _axis_angle(vector, scalar)
    largest = max(abs(x.real) for x in vector)
    if largest < LOCK and any(x.imag for x in vector):
        raise SingularityError(
            "the axis of a rotation has no derivative at the identity, where every axis is near; step in a quaternion "
            "or in modified Rodrigues parameters, which are smooth there"
        )
    if largest == 0:
        return asarray([1, 0, 0]), 0.0
    direction = [x / largest for x in vector]  # denormal numbers have few digits, and their squares none
    length = sqrt(dot(direction, direction))
    return asarray([x / length for x in direction]), 2 * atan2(length * largest, scalar)


def _axis_angle(vector: list[Scalar], scalar: Scalar) -> tuple[Array, Scalar]:
    """Axis and angle of a quaternion of exact constants, or of traced scalars: x for the identity."""
    squared = dot(vector, vector)
    value = constant(squared)
    zero = 0 * squared
    turns = squared > 0 if value is None else value != 0
    length = sqrt(select(turns, squared, zero + 1))
    axis = [select(turns, x / length, k) for x, k in zip(vector, (zero + 1, zero, zero))]
    return asarray(axis), select(turns, 2 * atan2(length, scalar), zero)


def rotation_angle(rotation: Matrix, axis: Vector) -> Scalar:
    """Signed angle of a rotation about a known axis, in (-pi, pi]. (THESIS section 8.2)

    Args:
        rotation: a rotation about ``axis``; another rotation has no such angle and gives a meaningless
            number.
        axis: any vector along the axis, of any length but zero.
    """
    turned = rotation_matrix(rotation)
    cosine = (trace(turned) - 1) / 2
    sine = dot(exact(unit(components(axis, "axis"))), vect(turned))
    return atan2(sine, cosine)


def rotation_from_cayley(n: Vector) -> Array:
    """Rotation ``(1 + n~)(1 - n~)^-1`` with the Cayley (Gibbs) vector ``n = u tan(angle/2)``. (section 8.2)

    The inverse is written out, ``R = 1 + 2 (n~ + n~ n~) / (1 + n.n)``: a rational function, without sine or
    root.
    """
    x, y, z = components(n, "n")
    xx, yy, zz = x * x, y * y, z * z
    squared = 1 + xx + yy + zz
    value = constant(squared)
    if value == 0:
        raise SingularityError(f"the complex Cayley vector {[x, y, z]} with n.n = -1 belongs to no rotation")
    if value is not None and abs(value) == math.inf:
        raise SingularityError(
            f"the Cayley vector {[x, y, z]} is too long to be squared, which only half turns (180 degrees) are; use a "
            "quaternion or axis and angle for this rotation"
        )
    scale = 2 / squared
    a, b, c = scale * x, scale * y, scale * z
    xy, xz, yz = a * y, a * z, b * z
    return asarray(
        [
            [1 - scale * (yy + zz), xy - c, xz + b],
            [xy + c, 1 - scale * (xx + zz), yz - a],
            [xz - b, yz + a, 1 - scale * (xx + yy)],
        ]
    )


def cayley_from_rotation(rotation: Matrix) -> Array:
    """Cayley (Gibbs) vector ``u tan(angle/2)`` of a rotation, ``n~ = (R - 1)(R + 1)^-1``. (section 8.2)

    Args:
        rotation: a 3x3 rotation matrix; within 1e-6 rad of a half turn numbers and exact constants raise
            ``SingularityError``.
    """
    rotation = rotation_matrix(rotation)
    denominator = 1 + trace(rotation)  # 4 cos^2(angle/2)
    value = constant(denominator)
    if value is not None and abs(value) < 1e-12:
        raise SingularityError(
            "the Cayley form does not exist for a half turn (180 degrees): tan(angle/2) is infinite; "
            "use a quaternion or axis and angle for this rotation"
        )
    if rotation.dtype != object:  # near a half turn the trace has lost the digits that a quaternion keeps
        x, y, z, w = quaternion_from_rotation(rotation).tolist()
        return asarray([x / w, y / w, z / w])
    return asarray([2 * x / denominator for x in vect(rotation).tolist()])


def rotation_from_rpy(roll: Scalar, pitch: Scalar, yaw: Scalar) -> Array:
    """Rotation of URDF: roll about x, then pitch about y, then yaw about z, all fixed axes; ``Rz Ry Rx``.

    Args:
        roll: angle about the fixed x axis.
        pitch: angle about the fixed y axis.
        yaw: angle about the fixed z axis.
    """
    (sr, cr), (sp, cp), (sy, cy) = sine_cosine(roll), sine_cosine(pitch), sine_cosine(yaw)
    sp_sr, sp_cr = sp * sr, sp * cr
    return asarray(
        [
            [cy * cp, cy * sp_sr - sy * cr, cy * sp_cr + sy * sr],
            [sy * cp, sy * sp_sr + cy * cr, sy * sp_cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(rotation: Matrix) -> Array:
    """Roll, pitch in [-pi/2, pi/2] and yaw of a rotation, such that ``rotation_from_rpy`` returns it.

    At gimbal lock (pitch = +-pi/2) yaw is free; the one chosen is zero up to rounding in ``rotation``. The
    other angles are read from ``Rz(yaw)^T R = Ry(pitch) Rx(roll)``, so they always complete whatever yaw
    was found and the round trip stays accurate at and near the lock. A complex step of the matrix at the lock
    raises ``SingularityError``: the angles have no derivative there.

    Args:
        rotation: a 3x3 rotation matrix.
    """
    r = rotation_matrix(rotation)
    # Adding 0 removes a negative zero, of which atan2 would make a half turn.
    yaw = angle_but_at_lock(r[1, 0], r[0, 0] + 0, "roll, pitch and yaw")
    s, c = sin(yaw), cos(yaw)
    pitch = atan2(-r[2, 0], c * r[0, 0] + s * r[1, 0])
    roll = atan2(s * r[0, 2] - c * r[1, 2], c * r[1, 1] - s * r[0, 1])
    return asarray([roll, pitch, yaw])


def is_rotation(rotation: Matrix, tolerance: float = 1e-9) -> bool:
    """True if a 3x3 matrix of numbers or exact constants is orthogonal with determinant +1.

    Args:
        rotation: the matrix; of another shape, it is no rotation.
        tolerance: largest accepted entry of ``R^T R - 1``; it also absorbs rounding in files.
    """
    r = numeric(array(rotation, "rotation"))
    if r is None:
        raise ArgumentError("is_rotation answers for numbers and exact constants only; rotation contains symbols")
    if not isinstance(tolerance, (int, float, np.integer, np.floating)):
        raise ArgumentError(f"tolerance must be a real number, got {described(tolerance)}")
    if r.shape != (3, 3) or not np.all(np.isfinite(r)):
        return False
    defect, determinant = orthogonality(r)
    return defect <= tolerance and determinant > 0


def angle_but_at_lock(y: Scalar, x: Scalar, angles: str) -> Scalar:
    """``atan2(y, x)`` of two entries that vanish at gimbal lock; a complex step there is refused.

    Args:
        y: sine of the angle times a lever.
        x: cosine of the angle times the same lever, which is zero at the lock.
    """
    if isinstance(y, complex) and (y.imag or x.imag) and math.hypot(y.real, x.real) < LOCK:
        raise SingularityError(
            f"gimbal lock: {angles} have no derivative where the first and last axes are parallel; step in a "
            "quaternion, or in angles that lock elsewhere"
        )
    return atan2(y, x)
