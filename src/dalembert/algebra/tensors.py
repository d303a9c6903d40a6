"""Second-order Cartesian tensors: invariants, decompositions, angle, the angular acceleration tensor.

THESIS sections 3.2, 3.3 and 4.2. The operators themselves (dual, vect, double dot) are in ``vectors``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.algebra.scalar import Array, Scalar, asarray, atan2, constant
from dalembert.algebra.vectors import Vector, components, double_dot, dyad, norm_frobenius, trace
from dalembert.errors import ArgumentError, SingularityError


def scalar_invariants(t: Array) -> tuple[Scalar, Scalar, Scalar]:
    """Trace, sum of principal minors, and determinant of a tensor ``t``. (3.3.18)-(3.3.20)"""
    (t11, t12, t13), (t21, t22, t23), (t31, t32, t33) = t.tolist()
    minor1, minor2, minor3 = t22 * t33 - t23 * t32, t11 * t33 - t13 * t31, t11 * t22 - t12 * t21
    determinant = t11 * minor1 + t12 * (t23 * t31 - t21 * t33) + t13 * (t21 * t32 - t22 * t31)
    return trace(t), minor1 + minor2 + minor3, determinant


def symmetric_part(t: Array) -> Array:
    """``(t + t^T)/2``. (3.3.8)"""
    return (t + t.T) / 2


def skew_part(t: Array) -> Array:
    """``(t - t^T)/2``, whose dual vector is ``vect(t)``. (3.3.8)"""
    return (t - t.T) / 2


def cartesian_decomposition(t: Array) -> tuple[Array, Array]:
    """The symmetric and the skew part of a tensor ``t``; they sum to it and are orthogonal. (3.3.7)"""
    return symmetric_part(t), skew_part(t)


def axial_projection(e: Vector) -> Array:
    """Projection ``P = e e^T`` onto the line along a unit vector. (3.3.10)"""
    return dyad(e, e)


def planar_projection(e: Vector) -> Array:
    """Projection ``1 - e e^T`` onto the plane normal to a unit vector. (3.3.11)"""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = dyad(e, e).tolist()
    return asarray([[1 - xx, -xy, -xz], [-yx, 1 - yy, -yz], [-zx, -zy, 1 - zz]])


class SpectralDecomposition(NamedTuple):
    """A symmetric tensor as ``sum lambda_k P_k`` over projections on its principal axes. (3.3.17)

    Args:
        eigenvalues: in ascending order.
        eigenvectors: unit vectors, one per column, in the order of the eigenvalues; a right-handed basis.
    """

    eigenvalues: Array
    eigenvectors: Array

    @property
    def projections(self) -> tuple[Array, Array, Array]:
        """The three axial projections ``P_k``: idempotent, mutually orthogonal, summing to the identity."""
        x1, x2, x3 = self.eigenvectors.T
        return axial_projection(x1), axial_projection(x2), axial_projection(x3)


def spectral_decomposition(t: Array) -> SpectralDecomposition:
    """Principal values and axes of a numeric symmetric tensor. (3.3.17)

    Args:
        t: a 3x3 array of real numbers, symmetric up to rounding.
    """
    t = np.asarray(t)
    if t.shape != (3, 3) or t.dtype.kind not in "iuf":
        raise ArgumentError(f"spectral_decomposition needs a 3x3 array of numbers, got {t.shape} {t.dtype}")
    asymmetry = np.max(np.abs(t - t.T))
    if not asymmetry <= 1e-9 * np.max(np.abs(t)):
        raise ArgumentError(
            f"spectral_decomposition needs a symmetric tensor, but entries differ from their mirror "
            f"images by up to {asymmetry:.3g}; decompose symmetric_part(t) if that is what is meant"
        )
    eigenvalues, eigenvectors = np.linalg.eigh(t)
    if np.linalg.det(eigenvectors) < 0:
        eigenvectors[:, 0] *= -1
    return SpectralDecomposition(eigenvalues, eigenvectors)


def tensor_cosine(t: Array, s: Array) -> Scalar:
    """Cosine of the angle between two tensors, ``T : S^T / (|T| |S|)``. (3.2.37)

    Args:
        t: a tensor, not zero.
        s: another one, not zero.
    """
    return double_dot(t, s.T) / (_length(t) * _length(s))


def tensor_angle(t: Array, s: Array) -> Scalar:
    """Angle in [0, pi] between two tensors; for ``u~`` and ``v~`` it is the angle between u and v. (3.2.37)

    Taken as twice the arctangent of the difference over the sum of the normalised tensors: an arccosine
    would lose half of the digits of small angles.

    Args:
        t: a tensor, not zero.
        s: another one, not zero.
    """
    a, b = t / _length(t), s / _length(s)
    return 2 * atan2(norm_frobenius(a - b), norm_frobenius(a + b))


def angular_acceleration_tensor(w: Vector, wd: Vector) -> Array:
    """``Om = wd~ + w~ w~``: the acceleration of a body-fixed vector r is ``Om r``. (4.2.11); 6 M, 9 A

    Its vector invariant is ``wd`` and its trace that of ``w~ w~``.

    Args:
        w: angular velocity.
        wd: angular acceleration, in the same axes.
    """
    w1, w2, w3 = components(w)
    d1, d2, d3 = components(wd)
    w11, w22, w33 = w1 * w1, w2 * w2, w3 * w3
    w12, w13, w23 = w1 * w2, w1 * w3, w2 * w3
    return asarray(
        [
            [-(w22 + w33), w12 - d3, w13 + d2],
            [w12 + d3, -(w11 + w33), w23 - d1],
            [w13 - d2, w23 + d1, -(w11 + w22)],
        ]
    )


def _length(t: Array) -> Scalar:
    length = norm_frobenius(t)
    if constant(length) == 0:
        raise SingularityError("the zero tensor makes no angle with another tensor")
    return length
