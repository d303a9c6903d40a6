"""Second-order Cartesian tensors: invariants, decompositions, angle, the angular acceleration tensor.

THESIS sections 3.2, 3.3 and 4.2. The operators themselves (dual, vect, double dot) are in ``vectors``, principal
values and axes in ``spectral``.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra.arguments import Matrix, Vector, array, components, exact_tensor, matrix, tensor, unrolled
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


def levi_civita() -> Array:
    """The permutation tensor of rank three, e_ijk = 1, -1 or 0 (THESIS (3.3.4)); delta is the identity.

    ``(u x v)_i = e_ijk u_j v_k``, and ``e_ijk e_ilm = delta_jl delta_km - delta_jm delta_kl`` (3.3.6).
    """
    e = np.zeros((3, 3, 3), dtype=int)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        e[i, j, k], e[i, k, j] = 1, -1
    return e


def tensor_product(a: Array, b: Array) -> Array:
    """Tensor product of two Cartesian tensors of any rank: its rank is the sum of both (THESIS (3.2.23)).

    Args:
        a: an array with 3 along every axis.
        b: another one.
    """
    a, b = _cartesian(a, "a"), _cartesian(b, "b")
    return np.multiply.outer(a, b)


def contraction(t: Array, i: int, j: int) -> Array:
    """Contraction of two indices of a Cartesian tensor: the sum over both of them together (THESIS 3.2).

    Args:
        t: an array with 3 along every axis, of rank two or more.
        i: number of one index.
        j: number of the other one.
    """
    t = _cartesian(t, "t")
    ranks = range(-t.ndim, t.ndim)
    whole = all(isinstance(k, (int, np.integer)) and k in ranks for k in (i, j))
    if not whole or i % max(t.ndim, 1) == j % max(t.ndim, 1):
        raise ArgumentError(f"a tensor of rank {t.ndim} has no two indices {i} and {j} to contract")
    rest = np.moveaxis(t, (i, j), (0, 1))
    return rest[0, 0] + rest[1, 1] + rest[2, 2]


def change_of_basis(t: Array, a: Matrix) -> Array:
    """Components of a Cartesian tensor of any rank in other axes, T'_ij.. = A_ik A_jl .. T_kl.. (THESIS (3.3.2)).

    Args:
        t: an array with 3 along every axis.
        a: rotation matrix from the old components to the new ones.
    """
    t, a = _cartesian(t, "t"), tensor(a, "a")
    for axis in range(t.ndim):
        t = np.moveaxis(np.tensordot(a, t, axes=(1, axis)), 0, axis)
    return t


def _cartesian(t: Array, name: str) -> Array:
    found = array(unrolled(t), name)
    if any(size != 3 for size in found.shape):
        raise ArgumentError(f"{name} has shape {found.shape}; a Cartesian tensor has 3 along every axis")
    return found
