"""Sums over bodies that recognise what bodies share: masses are added before they are multiplied."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar, is_zero
from dalembert.tracing.graph import Expr


def gram(terms: Sequence[tuple[Scalar, Array]], n: int) -> np.ndarray:
    """Sum over k of ``m_k J_k^T J_k`` as an n x n symmetric array.

    Columns that several bodies share - a cart carries all its pendulums - are recognised (equal expressions are the
    same object) and their masses added first, so that chains cost n^2 operations instead of n^3.

    Args:
        terms: mass and Jacobian (rows x n) of each body.
        n: number of columns.
    """
    matrix = np.zeros((n, n), dtype=object)
    columns = [[tuple(J[:, j].tolist()) for j in range(n)] for _, J in terms]
    empty = [[all(is_zero(x) for x in column) for column in row] for row in columns]
    for j in range(n):
        for i in range(j + 1):
            groups: dict[tuple, Scalar] = {}
            for k in reversed(range(len(terms))):
                if not (empty[k][i] or empty[k][j]):
                    key = (columns[k][i], columns[k][j])
                    mass = terms[k][0]
                    groups[key] = mass if key not in groups else groups[key] + mass
            total: Scalar = 0
            for (left, right), mass in groups.items():
                total = total + _weighted(mass, left, right)
            matrix[i, j] = matrix[j, i] = total
    return matrix


def projected(terms: Sequence[tuple[Array, Array]], n: int) -> np.ndarray:
    """Sum over k of ``J_k^T f_k``; what is projected on a shared column is added first.

    Args:
        terms: Jacobian (rows x n) and vector of each body.
        n: number of columns.
    """
    result = np.zeros(n, dtype=object)
    for i in range(n):
        groups: dict[tuple, Array] = {}
        for J, f in reversed(terms):
            key = tuple(J[:, i].tolist())
            if not all(is_zero(x) for x in key):
                groups[key] = f if key not in groups else groups[key] + f
        total: Scalar = 0
        for column, force in groups.items():
            total = total + dot_of(column, force)
        result[i] = total
    return result


def dot_of(a: Iterable[Scalar], b: Iterable[Scalar]) -> Scalar:
    """a . b without the products that vanish.

    Args:
        a: components.
        b: components.
    """
    total: Scalar = 0
    for x, y in zip(a, b):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total


def _weighted(mass: Scalar, left: tuple, right: tuple) -> Scalar:
    """mass * left . right; of a rod that turns in a plane, (l cos q)^2 + (l sin q)^2 is known to be l^2."""
    if all(x is y for x, y in zip(left, right)) and (arm := _length_of_rod(left)) is not None:
        return mass * arm * arm
    return dot_of(left, [mass * x for x in right])


def _length_of_rod(column: tuple) -> Scalar | None:
    """l, if the column is (l cos q, l sin q) in any order, with any signs, and zeros."""
    parts = [x.args[0] if x.op == "neg" else x for x in column if isinstance(x, Expr) and not x.is_zero]
    if len(parts) != 2 or sum(not is_zero(x) for x in column) != 2:
        return None
    for (one, turning), (other, also) in product(*(_factors(x) for x in parts)):
        if one is other and {turning.op, also.op} == {"sin", "cos"} and turning.args[0] is also.args[0]:
            return one
    return None


def _factors(x: Expr) -> list[tuple[Expr, Expr]]:
    """Pairs (rest, sine or cosine) whose product is x."""
    if x.op in ("sin", "cos"):
        return [(x.graph.constant(1), x)]
    if x.op != "mul":
        return []
    a, b = x.args
    return [(rest, turning) for rest, turning in ((a, b), (b, a)) if turning.op in ("sin", "cos")]
