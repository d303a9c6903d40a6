"""Second-order Cartesian tensors: invariants, decompositions, angle, the angular acceleration tensor.

THESIS sections 3.2, 3.3 and 4.2. The operators themselves (dual, vect, double dot) are in ``vectors``, principal
values and axes in ``spectral``.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra.arguments import Matrix, Vector, components, exact_tensor, matrix, tensor
from dalembert.algebra.arrays import Array, asarray
from dalembert.algebra.scalar import Scalar, atan2, constant
from dalembert.algebra.vectors import double_dot, dyad, norm_frobenius, trace
from dalembert.errors import ArgumentError, SingularityError


def scalar_invariants(t: Matrix) -> tuple[Scalar, Scalar, Scalar]:
    """Trace, sum of principal minors, and determinant of a tensor ``t``. (3.3.18)-(3.3.20)"""
    (t11, t12, t13), (t21, t22, t23), (t31, t32, t33) = tensor(t, "t").tolist()
    minor1, minor2, minor3 = t22 * t33 - t23 * t32, t11 * t33 - t13 * t31, t11 * t22 - t12 * t21
    determinant = t11 * minor1 + t12 * (t23 * t31 - t21 * t33) + t13 * (t21 * t32 - t22 * t31)
    return trace(t), minor1 + minor2 + minor3, determinant


def symmetric_part(t: Matrix) -> Array:
    """``(t + t^T)/2``. (3.3.8)"""
    t = exact_tensor(t, "t")
    return (t + t.T) / 2


def skew_part(t: Matrix) -> Array:
    """``(t - t^T)/2``, whose dual vector is ``vect(t)``. (3.3.8)"""
    t = exact_tensor(t, "t")
    return (t - t.T) / 2


def cartesian_decomposition(t: Matrix) -> tuple[Array, Array]:
    """The symmetric and the skew part of a tensor ``t``; they sum to it and are orthogonal. (3.3.7)"""
    return symmetric_part(t), skew_part(t)


def axial_projection(e: Vector) -> Array:
    """Projection ``P = e e^T`` onto the line along a unit vector. (3.3.10)"""
    entries = components(e, "e")
    return dyad(entries, entries)


def planar_projection(e: Vector) -> Array:
    """Projection ``1 - e e^T`` onto the plane normal to a unit vector. (3.3.11)"""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = axial_projection(e).tolist()
    return asarray([[1 - xx, -xy, -xz], [-yx, 1 - yy, -yz], [-zx, -zy, 1 - zz]])


def tensor_cosine(t: Matrix, s: Matrix) -> Scalar:
    """Cosine of the angle between two tensors, ``T : S^T / (|T| |S|)``. (3.2.37)

    Args:
        t: a tensor, not zero.
        s: another one, not zero.
    """
    t, s = _pair(t, s)
    return double_dot(t, s.T) / (_length(t) * _length(s))


def tensor_angle(t: Matrix, s: Matrix) -> Scalar:
    """Angle in [0, pi] between two tensors; for ``u~`` and ``v~`` it is the angle between u and v. (3.2.37)

    Taken as twice the arctangent of the difference over the sum of the normalised tensors: an arccosine
    would lose half of the digits of small angles.

    Args:
        t: a tensor, not zero.
        s: another one, not zero.
    """
    t, s = _pair(t, s)
    a, b = t / _length(t), s / _length(s)
    return 2 * atan2(norm_frobenius(a - b), norm_frobenius(a + b))


def angular_acceleration_tensor(w: Vector, wd: Vector) -> Array:
    """``Om = wd~ + w~ w~``: the acceleration of a body-fixed vector r is ``Om r``. (THESIS (4.2.12)); 6 M, 9 A

    Its vector invariant is ``wd`` and its trace that of ``w~ w~``.

    Args:
        w: angular velocity.
        wd: angular acceleration, in the same axes.
    """
    w1, w2, w3 = components(w, "w")
    d1, d2, d3 = components(wd, "wd")
    w11, w22, w33 = w1 * w1, w2 * w2, w3 * w3
    w12, w13, w23 = w1 * w2, w1 * w3, w2 * w3
    return asarray(
        [
            [-(w22 + w33), w12 - d3, w13 + d2],
            [w12 + d3, -(w11 + w33), w23 - d1],
            [w13 - d2, w23 + d1, -(w11 + w22)],
        ]
    )


def _pair(t: Matrix, s: Matrix) -> tuple[Array, Array]:
    first, second = matrix(t, "t"), matrix(s, "s")
    if first.shape != second.shape:
        raise ArgumentError(f"s must have the shape {first.shape} of t to make an angle with it, got {second.shape}")
    return _scaled(first), _scaled(second)


def _scaled(t: Array) -> Array:
    """Numbers with a largest entry of one: squares of them neither overflow nor underflow, and angles stay."""
    if t.dtype == object:
        return t
    largest = np.max(np.abs(t))
    return t / largest if 0 < largest < np.inf else t


def _length(t: Array) -> Scalar:
    length = norm_frobenius(t)
    if constant(length) == 0:
        raise SingularityError("the zero tensor makes no angle with another tensor")
    return length
