"""THESIS chapter III: Propositions 3.1 to 3.14 on Cartesian tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import (
    pseudo_inertia,
)
from dalembert.algebra.vectors import cross, dot, double_dot, dual, dyad, trace
from dalembert.proof.theorems.drawn import matrix, products, symmetric, vector
from dalembert.proof.theorems.theorem import Sides, Theorems

TENSORS = Theorems()


@TENSORS.states(
    "THESIS Proposition 3.1", "(3.4.2), (3.4.3)", "The dual operator is linear.", "dual(k u + l v) = k u~ + l v~"
)
def _linear(field: Any, sign: int) -> Iterator[Sides]:
    u, v, k, l = vector(field), vector(field), field.element(), field.element()
    yield dual(u * k + v * l), dual(u) * k + sign * dual(v) * l


@TENSORS.states(
    "THESIS Proposition 3.2",
    "(3.4.4)",
    "A dual tensor and a vector change places with a change of sign.",
    "u~ v = -v~ u",
)
def _anticommutes(field: Any, sign: int) -> Iterator[Sides]:
    u, v = vector(field), vector(field)
    yield product(dual(u), v), -sign * product(dual(v), u)


@TENSORS.states(
    "THESIS Proposition 3.3",
    "(3.4.5), (3.4.6)",
    "The left and the right dot product of a vector and a dual tensor are opposite.",
    "v^T u~ = -(u~ v)^T; v^T u~ = (v~ u)^T",
)
def _left_and_right(field: Any, sign: int) -> Iterator[Sides]:
    u, v = vector(field), vector(field)
    left = product(dual(u).T, v)
    yield left, -sign * product(dual(u), v)
    yield left, sign * product(dual(v), u)


@TENSORS.states(
    "THESIS Proposition 3.4",
    "(3.4.7)",
    "A vector spans the null space of its dual tensor. The sign stands between the triangles of u~ = L - L^T.",
    "u~ u = 0; u^T u~ = 0",
)
def _null_space(field: Any, sign: int) -> Iterator[Sides]:
    u = vector(field)
    lower = np.tril(dual(u))
    tilde = lower - sign * lower.T
    yield product(tilde, u), arrays.zeros(3)
    yield product(tilde.T, u), arrays.zeros(3)


@TENSORS.states(
    "THESIS Proposition 3.5",
    "(3.4.9)",
    "The scalar product of two vector products is a bilinear form of two dual tensors.",
    "(a x u).(b x v) = -a^T u~ v~ b",
)
def _four_vectors(field: Any, sign: int) -> Iterator[Sides]:
    a, b, u, v = (vector(field) for _ in range(4))
    yield dot(cross(a, u), cross(b, v)), -sign * dot(a, products(dual(u), dual(v), b))


@TENSORS.states(
    "THESIS Proposition 3.6",
    "(3.4.10)",
    "The product of two dual tensors is a dyad less a multiple of the identity.",
    "u~ v~ = v u^T - (u.v) 1",
)
def _product_of_duals(field: Any, sign: int) -> Iterator[Sides]:
    u, v = vector(field), vector(field)
    yield product(dual(u), dual(v)), dyad(v, u) - sign * arrays.identity(3) * dot(u, v)


@TENSORS.states(
    "THESIS Proposition 3.7",
    "(3.4.15)",
    "The dual of a vector product is a difference of two dyads, and the commutator (Lie bracket) of the dual tensors.",
    "dual(u~ v) = v u^T - u v^T; dual(u~ v) = u~ v~ - v~ u~",
)
def _commutator(field: Any, sign: int) -> Iterator[Sides]:
    u, v = vector(field), vector(field)
    left = dual(product(dual(u), v))
    yield left, dyad(v, u) - sign * dyad(u, v)
    yield left, product(dual(u), dual(v)) - sign * product(dual(v), dual(u))


@TENSORS.states(
    "THESIS Remark 3.9",
    "(3.4.18)",
    "The commutator of dual tensors satisfies Jacobi's identity: they form a Lie algebra.",
    "[u~, [v~, w~]] + [v~, [w~, u~]] + [w~, [u~, v~]] = 0",
)
def _jacobi(field: Any, sign: int) -> Iterator[Sides]:
    u, v, w = (dual(vector(field)) for _ in range(3))

    def bracket(x: Array, y: Array) -> Array:
        return product(x, y) - product(y, x)

    yield bracket(u, bracket(v, w)) + bracket(v, bracket(w, u)) + sign * bracket(w, bracket(u, v)), arrays.zeros(3, 3)


@TENSORS.states(
    "THESIS Proposition 3.8",
    "(3.4.19), (3.4.21)",
    "The double dot product of dual tensors is minus twice the scalar product of their vectors, so |u~|^2 = 2 |u|^2.",
    "u~ : v~ = -2 u.v; u~ : u~^T = 2 u.u",
)
def _double_dot_of_duals(field: Any, sign: int) -> Iterator[Sides]:
    u, v = vector(field), vector(field)
    yield double_dot(dual(u), dual(v)), -2 * sign * dot(u, v)
    yield double_dot(dual(u), dual(u).T), 2 * sign * dot(u, u)


@TENSORS.states(
    "THESIS Proposition 3.9",
    "(3.4.22), (3.4.24)",
    "A dual tensor between two equal ones.",
    "u~ v~ u~ = v~ u~ u~ + u~ u~ v~ - tr(u~ u~) v~ / 2; u~ v~ u~ = -(u.v) u~",
)
def _sandwich(field: Any, sign: int) -> Iterator[Sides]:
    a, b = vector(field), vector(field)
    u, v = dual(a), dual(b)
    left = products(u, v, u)
    yield left, products(v, u, u) + products(u, u, v) - sign * v * (trace(product(u, u)) / 2)
    yield left, -sign * u * dot(a, b)


@TENSORS.states(
    "THESIS Proposition 3.10",
    "(3.4.25)",
    "The dual of a double vector product.",
    "dual(u~ u~ v) = -(v~ u~ u~ + u~ u~ v~) + tr(u~ u~) v~",
)
def _double_product(field: Any, sign: int) -> Iterator[Sides]:
    a, b = vector(field), vector(field)
    u, v = dual(a), dual(b)
    right = -(products(v, u, u) + products(u, u, v)) + sign * v * trace(product(u, u))
    yield dual(products(u, u, b)), right


@TENSORS.states(
    "THESIS Proposition 3.11",
    "(3.4.26)",
    "The dual of a symmetric tensor times a vector.",
    "dual(I v) = -(I v~ + v~ I) + tr(I) v~",
)
def _dual_of_image(field: Any, sign: int) -> Iterator[Sides]:
    I, v = symmetric(field), vector(field)
    yield dual(product(I, v)), -(product(I, dual(v)) + sign * product(dual(v), I)) + dual(v) * trace(I)


@TENSORS.states(
    "THESIS Proposition 3.12",
    "(3.4.31)",
    "A symmetric tensor between two equal dual tensors is symmetric.",
    "(u~ I u~)^T = u~ I u~",
)
def _symmetric_between(field: Any, sign: int) -> Iterator[Sides]:
    I, u = symmetric(field), dual(vector(field))
    between = products(u, I, u)
    yield between.T, sign * between


@TENSORS.states(
    "THESIS Proposition 3.13",
    "(3.4.33)",
    "Symmetric and skew tensors are orthogonal. The sign stands in the skew tensor S = T - T^T.",
    "I : S = tr(I S) = 0",
)
def _orthogonal(field: Any, sign: int) -> Iterator[Sides]:
    I, T = symmetric(field), matrix(field)
    yield double_dot(I, T - sign * T.T), 0


@TENSORS.states(
    "THESIS Proposition 3.14",
    "(3.4.34)",
    "A bilinear form of an inertia tensor is a trace with its pseudo-inertia J = tr(I) 1/2 - I.",
    "u.I v = -tr(u~ J v~)",
)
def _form_as_trace(field: Any, sign: int) -> Iterator[Sides]:
    I, u, v = symmetric(field), vector(field), vector(field)
    yield dot(u, product(I, v)), -sign * trace(products(dual(u), pseudo_inertia(I), dual(v)))
