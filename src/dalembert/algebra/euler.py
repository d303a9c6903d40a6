"""Euler angles: all twelve sequences of turns about the axes of the moving frame.

A sequence such as ``"ZYX"`` (or ``"321"``) names the axes in the order in which the body turns about them;
the angles are given in the same order. ``rotation_from_euler("ZYX", (psi, theta, phi)) = Rz(psi) Ry(theta)
Rx(phi)`` maps body to inertial components. The six sequences with three different axes (Tait-Bryan) lock at
a middle angle of +-90 degrees, the six with equal outer axes (proper Euler) at 0 and 180.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.algebra.arguments import Matrix, Vector, components, described, rotation_matrix
from dalembert.algebra.arrays import Array, asarray, product
from dalembert.algebra.rotations import LOCK, angle_but_at_lock, rotation_x, rotation_y, rotation_z, sine_cosine
from dalembert.algebra.scalar import Scalar, atan2, constant, cos, sin
from dalembert.errors import ArgumentError, SingularityError

TAIT_BRYAN_SEQUENCES = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
PROPER_SEQUENCES = ("XYX", "XZX", "YXY", "YZY", "ZXZ", "ZYZ")
EULER_SEQUENCES = TAIT_BRYAN_SEQUENCES + PROPER_SEQUENCES


class _Sequence(NamedTuple):
    """Axis indices of a sequence ``i, j, k`` and what follows from them."""

    name: str
    i: int
    j: int
    k: int
    proper: bool
    other: int  # the axis that is neither j nor k; it is i unless the sequence is proper
    parity: int  # +1 if (other, j, k) is an even permutation of the axes: other x j = parity k


def _parse(sequence: str) -> _Sequence:
    if not isinstance(sequence, str):
        raise ArgumentError(
            f"sequence must be a text such as 'ZYX', got {described(sequence)}; it is the first argument, before the "
            "angles or the rotation"
        )
    name = sequence.translate(str.maketrans("123", "XYZ"))
    if name not in EULER_SEQUENCES:
        raise ArgumentError(
            f"unknown Euler sequence {sequence!r}; the twelve are {', '.join(EULER_SEQUENCES)} "
            f"(capitals, or digits as in '321'), each a sequence of turns about the axes of the moving body"
        )
    i, j, k = ("XYZ".index(letter) for letter in name)
    other = 3 - j - k
    return _Sequence(name, i, j, k, i == k, other, 1 if (j - other) % 3 == 1 else -1)


def rotation_from_euler(sequence: str, angles: Vector) -> Array:
    """Rotation, body to inertial components, of a sequence of turns about moving axes.

    Args:
        sequence: one of the twelve, for example ``"ZYX"`` or ``"321"``.
        angles: the three angles in the order of the sequence.
    """
    elementary = (rotation_x, rotation_y, rotation_z)
    seq = _parse(sequence)
    first, second, third = components(angles, "angles")
    inner = product(elementary[seq.j](second), elementary[seq.k](third))
    return product(elementary[seq.i](first), inner)


def euler_from_rotation(sequence: str, rotation: Matrix) -> Array:
    """Angles of a rotation, in the order of the sequence; ``rotation_from_euler`` of them returns the rotation.

    The middle angle is in [-pi/2, pi/2] for Tait-Bryan and in [0, pi] for proper sequences. The first turn
    is found and undone, the others are read from what is left; so the three always fit together, and at
    gimbal lock, where only a sum or difference of the outer angles is determined, the first is zero up to
    rounding in ``rotation``. A complex step of the matrix there raises ``SingularityError``: the angles have
    no derivative.

    Args:
        sequence: one of the twelve, for example ``"ZYX"`` or ``"321"``.
        rotation: body to inertial components.
    """
    seq = _parse(sequence)
    # In the axes (i, j, the third) the sequence reads XYZ or XYX, with all angles reversed if they are left-handed.
    third = 3 - seq.i - seq.j
    sign = 1 if (seq.j - seq.i) % 3 == 1 else -1
    order = (seq.i, seq.j, third)
    (r11, _, r13), (r21, r22, r23), (r31, r32, r33) = rotation_matrix(rotation)[np.ix_(order, order)].tolist()
    # At the lock both arguments of the first atan2 vanish; adding 0 removes a negative zero, of which it would make a
    # half turn.
    if seq.proper:
        first = angle_but_at_lock(sign * r21, 0 - sign * r31, f"the Euler angles {seq.name}")
        s, c = sin(first), cos(first)
        middle = atan2(s * r21 - c * r31, r11)
        last = atan2(-c * r23 - s * r33, c * r22 + s * r32)
    else:
        first = angle_but_at_lock(-r23, r33 + 0, f"the Euler angles {seq.name}")
        s, c = sin(first), cos(first)
        middle = atan2(r13, c * r33 - s * r23)
        last = atan2(c * r21 + s * r31, c * r22 + s * r32)
    return asarray([sign * first, sign * middle, sign * last])


def euler_rate_matrix(sequence: str, angles: Vector) -> Array:
    """``S`` with ``w = S qdot``: angular velocity in body axes from the rates of the angles.

    Its columns are the three axes of turning in body axes: ``Rk^T Rj^T e_i``, ``Rk^T e_j``, ``e_k``.

    Args:
        sequence: one of the twelve, for example ``"ZYX"`` or ``"321"``.
        angles: the three angles in the order of the sequence.
    """
    seq = _parse(sequence)
    across, along, s, c = _turning_axes(seq, angles)
    rows: list[list[Scalar]] = [[], [], []]
    rows[seq.other] = [across * c, s, 0]
    rows[seq.j] = [-across * s, c, 0]
    rows[seq.k] = [along, 0, 1]
    return asarray(rows)


def euler_rate_inverse(sequence: str, angles: Vector) -> Array:
    """``Gamma = S^-1`` with ``qdot = Gamma w``: rates of the angles from the angular velocity in body axes.

    Args:
        sequence: one of the twelve, for example ``"ZYX"`` or ``"321"``.
        angles: the three angles in the order of the sequence; at gimbal lock numbers and exact constants
            raise ``SingularityError``.
    """
    seq = _parse(sequence)
    across, along, s, c = _turning_axes(seq, angles)
    lever = constant(across)
    if lever is not None and abs(lever) < LOCK:
        middle = constant(components(angles, "angles")[1])
        raise SingularityError(
            f"gimbal lock: the rates of the Euler angles {seq.name} do not exist at the middle angle "
            f"{middle:.9g} rad (about {seq.name[1]}), where the first and last axes are parallel; use a "
            f"quaternion, or a sequence that locks elsewhere, such as {'ZYX' if seq.proper else 'ZXZ'}"
        )
    c_over, s_over = c / across, s / across
    columns: list[list[Scalar]] = [[], [], []]
    columns[seq.other] = [c_over, s, -along * c_over]
    columns[seq.j] = [-s_over, c, along * s_over]
    columns[seq.k] = [0, 0, 1]
    return asarray(columns).T


def _turning_axes(seq: _Sequence, angles: Vector) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """What S and Gamma are made of: ``across, along, s, c``.

    With m the axis beside j and k, the body sees the middle axis at ``N = s e_m + c e_j``, the vector
    ``Rk^T e_m`` at ``M = c e_m - s e_j``, and the first axis at ``across M + along e_k``.
    """
    _, middle, last = components(angles, "angles")
    (s_b, c_b), (s, c) = sine_cosine(middle), sine_cosine(last)
    if seq.parity < 0:
        s_b, s = -s_b, -s
    return (-s_b, c_b, s, c) if seq.proper else (c_b, s_b, s, c)
