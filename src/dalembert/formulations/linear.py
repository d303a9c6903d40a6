"""Inverting small matrices of traced scalars.

A straight-line program cannot choose pivots while it runs, and one that is large at typical states vanishes at others:
at q = 0, or where an angle between frames is half a turn. So nothing is divided by but what has to differ from zero.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from typing import Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.algebra.scalar import is_one, is_zero
from dalembert.errors import SingularityError
from dalembert.formulations.sample_ranks import is_singular, normalised
from dalembert.tracing.graph import Expr

ZERO_SAMPLE = 1e-9
"""Relative size below which a sample counts as zero."""

TEXTBOOK, COFACTORS = 3, 6
"""Largest block that is inverted by cofactors at once, and after all pivots are taken that nobody has to choose."""


def inverse(matrix: np.ndarray, samples: np.ndarray, what: str) -> np.ndarray:
    """Inverse of a square matrix, wherever it is regular.

    Constants are eliminated first, because dividing by them costs nothing; then entries alone in their row or column,
    which divide the determinant. What is left is inverted by cofactors if it is small, so that there is a single
    division, and over orthogonal rows otherwise.

    Args:
        matrix: n x n traced scalars and numbers.
        samples: the same as numbers at some states, (states, n, n).
        what: what the matrix is, for the error message.
    """
    work = _Elimination(matrix, samples)
    while work.rows and (place := work.constant() or (work.lonely() if len(work.rows) > TEXTBOOK else None)):
        work.eliminate(*place)
    if work.rows:
        work.finish(what)
    return np.array([work.right[work.row_of[column]] for column in range(len(matrix))], dtype=object)


class _Elimination:
    """Gauss-Jordan elimination, with numbers at sample states beside the expressions."""

    def __init__(self, matrix: np.ndarray, samples: np.ndarray):
        n = len(matrix)
        self.left, self.right = matrix.astype(object).copy(), np.eye(n, dtype=int).astype(object)
        scale = np.abs(samples).max(axis=(1, 2), keepdims=True)
        self.numbers = np.array(samples, dtype=float) / np.where(scale > 0, scale, 1)
        self.rows, self.columns = list(range(n)), list(range(n))  # not yet eliminated
        self.row_of: dict[int, int] = {}

    def constant(self) -> tuple[int, int] | None:
        """The best remaining constant: one, or the largest."""
        best, place = (0, 0.0), None
        for i in self.rows:
            for j in self.columns:
                x = self.left[i, j]
                size = float(np.median(np.abs(self.numbers[:, i, j])))
                if size < ZERO_SAMPLE or is_zero(x) or not is_constant(x):
                    continue
                score = (2 if is_one(x) else 1, size)
                if score > best:
                    best, place = score, (i, j)
        return place

    def lonely(self) -> tuple[int, int] | None:
        """An entry without company in its row or column, not zero at typical states."""
        there = [(i, j) for i in self.rows for j in self.columns if not is_zero(self.left[i, j])]
        in_row, in_column = Counter(i for i, _ in there), Counter(j for _, j in there)
        for i, j in there:
            if 1 in (in_row[i], in_column[j]) and np.median(np.abs(self.numbers[:, i, j])) >= ZERO_SAMPLE:
                return i, j
        return None

    def eliminate(self, row: int, column: int) -> None:
        """Make the column a unit vector."""
        pivot = self.left[row, column]
        if not is_one(pivot):
            self.left[row], self.right[row] = _divided(self.left[row], pivot), _divided(self.right[row], pivot)
            number = self.numbers[:, row, column, None]
            self.numbers[:, row] = self.numbers[:, row] / np.where(number == 0, 1, number)
        for other in range(len(self.left)):
            factor = self.left[other, column]
            if other != row and not is_zero(factor):
                self.left[other] = _minus(self.left[other], factor, self.left[row])
                self.right[other] = _minus(self.right[other], factor, self.right[row])
                self.numbers[:, other] -= self.numbers[:, other, column, None] * self.numbers[:, row]
                self.left[other, column] = 0
        self._done(row, column)

    def _done(self, row: int, column: int) -> None:
        self.row_of[column] = row
        self.rows.remove(row)
        self.columns.remove(column)

    def finish(self, what: str) -> None:
        """Invert the remaining block at once."""
        rows, columns = list(self.rows), list(self.columns)
        block, numbers = self.left[np.ix_(rows, columns)], self.numbers[:, rows][:, :, columns]
        if is_singular(numbers):
            raise SingularityError(f"{what} is singular at typical states: its rows are dependent")
        solve = _by_cofactors if len(rows) <= COFACTORS else partial(_by_orthogonal_rows, samples=numbers)
        solved = solve(block, self.right[rows])
        for row, column, value in zip(rows, columns, solved):
            self.right[row] = value
            self._done(row, column)
        for row in range(len(self.left)):
            if row not in rows:
                for column, value in zip(columns, solved):
                    if not is_zero(self.left[row, column]):
                        self.right[row] = _minus(self.right[row], self.left[row, column], value)


def is_constant(x: Any) -> bool:
    """Whether a scalar is a number, the same at all states.

    Args:
        x: a traced scalar or a number.
    """
    return not isinstance(x, Expr) or bool(x.is_constant)


def _by_cofactors(block: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solutions for many right-hand sides, with the determinant as the only divisor."""
    n = len(block)

    @cache
    def minor(rows: tuple[int, ...], columns: tuple[int, ...]) -> Any:
        if not rows:
            return 1
        along = [minor(rows[1:], (*columns[:k], *columns[k + 1 :])) for k in range(len(columns))]
        signed = np.array([x if k % 2 == 0 else -x for k, x in enumerate(along)], dtype=object)
        return _sum_of_products(block[rows[0], list(columns)], signed)

    every = tuple(range(n))
    cofactors = np.empty((n, n), dtype=object)
    for i, j in np.ndindex(n, n):
        x = minor((*every[:i], *every[i + 1 :]), (*every[:j], *every[j + 1 :]))
        cofactors[i, j] = x if (i + j) % 2 == 0 else -x
    return product(cofactors.T / _sum_of_products(block[0], cofactors[0]), right)


def _by_orthogonal_rows(block: np.ndarray, right: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Solutions for many right-hand sides by Gram and Schmidt: E K = Q, Q W Q^T = D, K^-1 = W Q^T D^-1 E.

    The weights W, powers of two, make columns of all units equally long at the sample states.
    """
    lengths = np.median(np.linalg.norm(np.array([normalised(x) for x in samples]), axis=1), axis=0)
    W = np.array([int(x) if x >= 1 else x for x in 4.0 ** -np.round(np.log2(lengths))], dtype=object)
    Q, E = block.copy(), right.copy()
    sizes: list[Any] = []
    for i in range(len(Q)):
        for j in [*range(i)] * 2:  # once would cost the square of the condition number
            share = _sum_of_products(Q[i] * W, Q[j]) / sizes[j]
            if not is_zero(share):
                Q[i], E[i] = _minus(Q[i], share, Q[j]), _minus(E[i], share, E[j])
        sizes.append(_sum_of_products(Q[i] * W, Q[i]))
    return product((Q * W).T, np.array([_divided(row, size) for row, size in zip(E, sizes)], dtype=object))


def _sum_of_products(a: np.ndarray, b: np.ndarray) -> Any:
    return product(a[None], b)[0]


def _divided(row: np.ndarray, pivot: object) -> np.ndarray:
    return np.array([0 if is_zero(x) else x / pivot for x in row], dtype=object)  # type: ignore[operator]


def _minus(row: np.ndarray, factor: object, other: np.ndarray) -> np.ndarray:
    return np.array([x if is_zero(y) else x - factor * y for x, y in zip(row, other)], dtype=object)  # type: ignore[operator]
