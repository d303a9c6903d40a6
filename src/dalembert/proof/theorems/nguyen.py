"""NGUYEN: Theorems 1 to 3 and (11) to (18) on Kronecker products and matrix derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dalembert import algorithms, kinematics
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.kronecker import block_skew, kron, vec
from dalembert.algebra.vectors import cross, dual
from dalembert.proof.field import along, slopes
from dalembert.proof.theorems.drawn import matrix, products, vector
from dalembert.proof.theorems.links import serial_chain
from dalembert.proof.theorems.theorem import Sides, Theorems

NGUYEN = Theorems()


class _Function:
    """A matrix A(x) with any value and any first derivative, which is all that a first derivative depends on."""

    def __init__(self, field: Any, rows: int, columns: int, n: int):
        self.A = matrix(field, rows, columns)
        self.parts = [matrix(field, rows, columns) for _ in range(n)]

    def __call__(self, x: Array) -> Array:
        return sum((part * entry for part, entry in zip(self.parts, x)), start=self.A)


def _khang(of: Callable[[Array], Array], x: Array) -> Array:
    """Khang's derivative by dual numbers: column j n + k is the derivative of column j by x_k."""
    n = len(x)
    by = [slopes(of(along(x, unit))) for unit in np.eye(n, dtype=int).tolist()]
    return np.array([[part[i, j] for j in range(by[0].shape[1]) for part in by] for i in range(by[0].shape[0])])


def _column(x: Array) -> Array:
    return x[:, None]


def _eye(n: int) -> Array:
    return np.eye(n, dtype=int).astype(object)


@NGUYEN.states(
    "NGUYEN Theorem 1",
    "(8)",
    "The rate of a matrix function of x by its Khang derivative.",
    "Adot = dA/dx (E_s (x) xdot)",
)
def _nguyen_8(field: Any, sign: int) -> Iterator[Sides]:
    A, x, rate = _Function(field, 2, 3, 4), vector(field, 4), vector(field, 4)
    yield slopes(A(along(x, rate))), sign * product(_khang(A, x), kron(_eye(3), _column(rate)))


@NGUYEN.states(
    "NGUYEN Theorem 2",
    "(9)",
    "The Khang derivative of a product.",
    "d(A B)/dx = dA/dx (B (x) E_n) + A dB/dx",
)
def _nguyen_9(field: Any, sign: int) -> Iterator[Sides]:
    A, B, x = _Function(field, 2, 3, 2), _Function(field, 3, 4, 2), vector(field, 2)
    right = product(_khang(A, x), kron(B(x), _eye(2))) + sign * product(A(x), _khang(B, x))
    yield _khang(lambda y: product(A(y), B(y)), x), right


@NGUYEN.states(
    "NGUYEN Theorem 3",
    "(10)",
    "The columns of a product of three, stacked.",
    "vec(A X B) = (B^T (x) A) vec X",
)
def _nguyen_10(field: Any, sign: int) -> Iterator[Sides]:
    A, X, B = matrix(field, 2, 3), matrix(field, 3, 4), matrix(field, 4, 2)
    yield vec(products(A, X, B)), sign * product(kron(B.T, A), vec(X))


@NGUYEN.states(
    "NGUYEN (11)",
    "(11)",
    "The acceleration of a point of a chain, J its Jacobian and dJ/dq its Hessian.",
    "d(J qd)/dt = J qdd + dJ/dq (qd (x) qd)",
)
def _nguyen_11(field: Any, sign: int) -> Iterator[Sides]:
    s, point = serial_chain(field), vector(field)
    frame = s.mechanism.bodies[-1].name
    hessians = algorithms.hessian(s.mechanism, s.q, frame, point=point)
    jacobians = kinematics.jacobian(s.mechanism, s.q, frame, point=point)
    moving = kinematics.jacobian(s.mechanism, along(s.q, s.v), frame, point=point)
    for J, J_moving, H in zip(jacobians, moving, hessians):
        right = product(J, s.a) + sign * product(H, kron(s.v, s.v))
        yield slopes(product(J_moving, along(s.v, s.a))), right


@NGUYEN.states(
    "NGUYEN (12)",
    "(12)",
    "A Kronecker product moved past a matrix.",
    "(E_p (x) x) A d = (A (x) E_n) (d (x) x)",
)
def _nguyen_12(field: Any, sign: int) -> Iterator[Sides]:
    A, d, x = matrix(field, 2, 3), vector(field, 3), vector(field, 4)
    left = products(kron(_eye(2), _column(x)), A, d)
    yield left, sign * product(kron(A, _eye(4)), kron(d, x))


@NGUYEN.states(
    "NGUYEN (13)",
    "(13)",
    "A Kronecker product of vectors as a matrix times one of them.",
    "d (x) x = (d (x) E_n) x",
)
def _nguyen_13(field: Any, sign: int) -> Iterator[Sides]:
    d, x = vector(field, 2), vector(field, 3)
    yield kron(d, x), sign * product(kron(_column(d), _eye(3)), x)


@NGUYEN.states(
    "NGUYEN (14)",
    "(14)",
    "Two Kronecker products moved past a matrix.",
    "(E_p (x) x) A (E_r (x) y) d = (A (x) E_n) (d (x) E_nm) (y (x) x)",
)
def _nguyen_14(field: Any, sign: int) -> Iterator[Sides]:
    p, r, n, m = 2, 3, 2, 3
    A, d, x, y = matrix(field, p, r * m), vector(field, r), vector(field, n), vector(field, m)
    left = products(kron(_eye(p), _column(x)), A, kron(_eye(r), _column(y)), d)
    yield left, sign * products(kron(A, _eye(n)), kron(_column(d), _eye(n * m)), kron(y, x))


@NGUYEN.states("NGUYEN (15)", "(15)", "A vector product as a matrix product.", "a x b = a~ b")
def _nguyen_15(field: Any, sign: int) -> Iterator[Sides]:
    a, b = vector(field), vector(field)
    yield cross(a, b), sign * product(dual(a), b)


@NGUYEN.states(
    "NGUYEN (16)",
    "(16)",
    "The block skew matrix holds the dual tensors of the columns: its products with Kronecker products are vector "
    "products.",
    "A~ (b (x) d) = (A d) x b",
)
def _nguyen_16(field: Any, sign: int) -> Iterator[Sides]:
    A, b, d = matrix(field, 3, 4), vector(field), vector(field, 4)
    yield product(block_skew(A), kron(b, d)), sign * cross(product(A, d), b)


@NGUYEN.states(
    "NGUYEN (17)",
    "(17)",
    "The dual tensor of a matrix times a vector; the document loses the tilde on the left.",
    "(A a)~ = A~ (E_3 (x) a)",
)
def _nguyen_17(field: Any, sign: int) -> Iterator[Sides]:
    A, a = matrix(field, 3, 4), vector(field, 4)
    yield dual(product(A, a)), sign * product(block_skew(A), kron(_eye(3), _column(a)))


@NGUYEN.states("NGUYEN (18)", "(18)", "A dual tensor and a block skew matrix change places.", "a~ A = -A~ (a (x) E_m)")
def _nguyen_18(field: Any, sign: int) -> Iterator[Sides]:
    A, a = matrix(field, 3, 4), vector(field)
    yield product(dual(a), A), -sign * product(block_skew(A), kron(_column(a), _eye(4)))
