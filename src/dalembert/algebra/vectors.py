"""Vectors and second-order tensors of 3-D space, written out component by component.

The operators follow THESIS chapter 3: ``dual`` is the tilde (3.3.31), ``vect`` the vector invariant (3.3.27),
``double_dot`` the inner product of tensors (3.2.34). A vector is an array of three scalars, a tensor a 3x3
array; both are components in one frame that all arguments share. Nothing multiplies by a literal zero or
one, so the cost of tracing a function is the cost of the mathematics.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra.arguments import Matrix, Vector, components, exact_tensor, matrix, tensor
from dalembert.algebra.arrays import Array, asarray
from dalembert.algebra.scalar import Scalar, constant, is_number, sqrt
from dalembert.errors import ArgumentError, SingularityError


def cross(a: Vector, b: Vector) -> Array:
    """Vector product ``a x b``. 6 multiplications, 3 additions."""
    a1, a2, a3 = components(a, "a")
    b1, b2, b3 = components(b, "b")
    return asarray([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1])


def dot(a: Vector, b: Vector) -> Scalar:
    """Scalar product ``a . b`` of three components; no conjugation, so it is analytic in both arguments."""
    a1, a2, a3 = components(a, "a")
    b1, b2, b3 = components(b, "b")
    return a1 * b1 + a2 * b2 + a3 * b3


def norm(u: Vector) -> Scalar:
    """Euclidean length ``sqrt(u . u)``; analytic, so complex arguments give complex lengths."""
    entries = components(u, "u")
    return sqrt(dot(entries, entries))


def unit(u: Vector) -> Array:
    """``u`` divided by its length.

    Args:
        u: a vector; if it consists of numbers or exact constants its length must not be zero.
    """
    return normalised(components(u, "u"), "the vector")


def normalised(entries: list[Scalar], what: str) -> Array:
    """Any number of scalars divided by the root of the sum of their squares.

    Args:
        what: what they are, for the message if that length is zero or not finite.
    """
    given = entries
    # Scaling by the largest entry keeps the squares of numbers away from overflow and underflow.
    if all(is_number(x) for x in entries):
        scale = max(abs(x) for x in entries)
        if not 0 < scale < np.inf:
            raise SingularityError(f"{what} {given} has no direction: its length must be positive and finite")
        entries = [x / scale for x in entries]
    first, *rest = (x * x for x in entries)
    length = sqrt(sum(rest, start=first))
    value = constant(length)
    if value is not None and not 0 < abs(value) < np.inf:  # a complex vector such as (1, i, 0) has no length either
        raise SingularityError(f"{what} {given} has no direction: its length must be positive and finite")
    return asarray([x / length for x in entries])


def dual(u: Vector) -> Array:
    """Right dual (tilde) ``u~`` of a vector: the skew tensor with ``u~ v = u x v``. (3.3.31)"""
    u1, u2, u3 = components(u, "u")
    return asarray([[0, -u3, u2], [u3, 0, -u1], [-u2, u1, 0]])


def left_dual(u: Vector) -> Array:
    """Left dual (bar) of a vector, ``ubar = u~^T = -u~``. (3.3.34)"""
    u1, u2, u3 = components(u, "u")
    return asarray([[0, u3, -u2], [-u3, 0, u1], [u2, -u1, 0]])


def undual(s: Matrix) -> Array:
    """The vector ``u`` of ``s = u~``. Reads three entries; ``s`` is not checked to be skew. (3.3.33)"""
    s = tensor(s, "s")
    return asarray([s[2, 1], s[0, 2], s[1, 0]])


def vect(t: Matrix) -> Array:
    """Vector invariant of any tensor ``t``: the dual vector of its skew part. (3.3.27)"""
    t = exact_tensor(t, "t")
    return asarray([(t[2, 1] - t[1, 2]) / 2, (t[0, 2] - t[2, 0]) / 2, (t[1, 0] - t[0, 1]) / 2])


def dyad(u: Vector, v: Vector) -> Array:
    """Tensor product ``u v^T``. 9 multiplications."""
    u_entries, v_entries = components(u, "u"), components(v, "v")
    return asarray([[x * y for y in v_entries] for x in u_entries])


def trace(t: Matrix) -> Scalar:
    """Sum of the diagonal of a square matrix ``t`` of any size."""
    t = matrix(t, "t")
    if t.shape[0] != t.shape[1]:
        raise ArgumentError(f"t must be a square matrix to have a trace, got shape {t.shape}")
    total = t[0, 0]
    for k in range(1, t.shape[0]):
        total = total + t[k, k]
    return total


def double_dot(t: Matrix, s: Matrix) -> Scalar:
    """Inner product ``t : s = tr(t s)`` of two square matrices, without forming their product. (3.2.34)"""
    t, s = matrix(t, "t"), matrix(s, "s")
    if t.shape != s.shape[::-1]:
        raise ArgumentError(f"t : s = tr(t s) needs an s of shape {t.shape[::-1]} beside t, got shape {s.shape}")
    return np.add.reduce(np.ravel(t * s.T))


def norm_frobenius(t: Matrix) -> Scalar:
    """Frobenius norm ``sqrt(t : t^T)``; analytic, like :func:`norm`. (3.2.35)"""
    t = matrix(t, "t")
    return sqrt(double_dot(t, t.T))
