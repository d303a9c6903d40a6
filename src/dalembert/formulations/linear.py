"""Inverting small matrices of traced scalars: pivots are chosen by their values at sample states.

Medians over the samples decide: one of them may happen to lie at a singular position.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.algebra.scalar import is_one, is_zero
from dalembert.compiler.graph import Expr
from dalembert.errors import SingularityError

SMALL = 1e-9
"""Relative size below which a sample counts as zero."""

ROUNDING = 1e-12
"""Smallest singular value, of rows and columns of length one, that tells a matrix from a singular one."""

LEAST_ROW = 1e-13
"""Rows shorter than this, and than this fraction of the longest, are what rounding has left of zero."""

COFACTORS = 3
"""Largest block that is inverted by cofactors."""


def inverse(matrix: np.ndarray, samples: np.ndarray, what: str) -> np.ndarray:
    """Inverse of a square matrix.

    Constants are eliminated first, because dividing by them costs nothing; what is left is inverted by cofactors if it
    is small, so that there is a single division, and by elimination with the largest pivots otherwise.

    Args:
        matrix: n x n traced scalars and numbers.
        samples: the same as numbers at some states, (states, n, n).
        what: what the matrix is, for the error message.
    """
    work = _Elimination(matrix, samples)
    while work.rows and (place := work.pivot(constant=True)):
        work.eliminate(*place)
    if 0 < len(work.rows) <= COFACTORS:
        work.finish_by_cofactors(what)
    while work.rows:
        place = work.pivot(constant=False)
        if place is None:
            raise SingularityError(f"{what} is singular at typical states: its rows are dependent")
        work.eliminate(*place)
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

    def pivot(self, constant: bool) -> tuple[int, int] | None:
        """The best remaining pivot: one, another constant, or the largest at the sample states."""
        best, place = (0, 0.0), None
        for i in self.rows:
            for j in self.columns:
                x = self.left[i, j]
                size = float(np.median(np.abs(self.numbers[:, i, j])))
                known = not isinstance(x, Expr) or x.is_constant
                if size < SMALL or is_zero(x) or (constant and not known):
                    continue
                score = (2 if is_one(x) else 1 if known else 0, size)
                if score > best:
                    best, place = score, (i, j)
        return place

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

    def finish_by_cofactors(self, what: str) -> None:
        """Invert the remaining block at once."""
        rows, columns = list(self.rows), list(self.columns)
        block = self.left[np.ix_(rows, columns)]
        if is_singular(self.numbers[:, rows][:, :, columns]):
            raise SingularityError(f"{what} is singular at typical states: its rows are dependent")
        cofactors = _cofactors(block)
        determinant = _sum_of_products(block[0], cofactors[0])
        solved = product(cofactors.T / determinant, self.right[rows])
        for row, column, value in zip(rows, columns, solved):
            self.right[row] = value
            self._done(row, column)
        for row in range(len(self.left)):
            if row not in rows:
                for column, value in zip(columns, solved):
                    if not is_zero(self.left[row, column]):
                        self.right[row] = _minus(self.right[row], self.left[row, column], value)


def is_singular(samples: np.ndarray) -> bool:
    """Whether square matrices are singular, up to rounding, at most of the sample states; units do not matter.

    Args:
        samples: numbers at some states, (states, n, n); states at which they are not finite do not count.
    """
    finite = [x for x in samples if x.size and np.isfinite(x).all()]
    values = [np.linalg.svd(_normalised(_normalised(x).T), compute_uv=False) for x in finite]
    return bool(values) and bool(np.median([x[-1] for x in values]) < ROUNDING)


def _cofactors(block: np.ndarray) -> np.ndarray:
    n = len(block)
    result = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(n):
            minor = np.delete(np.delete(block, i, axis=0), j, axis=1)
            result[i, j] = _determinant(minor) if (i + j) % 2 == 0 else -_determinant(minor)
    return result


def _determinant(block: np.ndarray) -> Any:
    if len(block) == 0:
        return 1
    if len(block) == 1:
        return block[0, 0]
    return _sum_of_products(block[0], _cofactors(block)[0])


def _sum_of_products(a: np.ndarray, b: np.ndarray) -> Any:
    return product(a[None], b)[0]


def _divided(row: np.ndarray, pivot: object) -> np.ndarray:
    return np.array([0 if is_zero(x) else x / pivot for x in row], dtype=object)  # type: ignore[operator]


def _minus(row: np.ndarray, factor: object, other: np.ndarray) -> np.ndarray:
    return np.array([x if is_zero(y) else x - factor * y for x, y in zip(row, other)], dtype=object)  # type: ignore[operator]


def independent_rows(samples: np.ndarray) -> list[int]:
    """Rows of a matrix that are independent at typical states, the first ones preferred.

    Args:
        samples: numbers at some states, (states, rows, columns).
    """
    kept: list[int] = []
    for row in np.flatnonzero(np.median(~rounded_rows(samples), axis=0) > 0).tolist():
        trial = samples[:, [*kept, row]]
        ranks = [np.linalg.matrix_rank(_normalised(x), tol=1e-7) for x in trial]
        if np.median(ranks) > len(kept):
            kept.append(row)
    return kept


def rounded_rows(matrices: np.ndarray) -> np.ndarray:
    """Which rows are only what rounding has left of zero, (..., rows).

    Args:
        matrices: numbers, (..., rows, columns).
    """
    lengths = np.linalg.norm(matrices, axis=-1)
    return np.asarray(lengths <= LEAST_ROW * np.maximum(1, lengths.max(axis=-1, keepdims=True, initial=0.0)))


def dependent_columns(samples: np.ndarray, preferred: list[int]) -> tuple[list[int], float]:
    """Columns that make a well-conditioned square part of a wide matrix, and its condition number.

    Args:
        samples: numbers at some states, (states, rows, columns); rows independent.
        preferred: columns in the order in which they are rather kept out of the square part.
    """
    rows = samples.shape[1]
    work = np.array([_normalised(x) for x in samples])
    chosen: list[int] = []
    for _ in range(rows):
        sizes = np.median(np.linalg.norm(work, axis=1), axis=0)
        sizes[chosen] = 0
        candidates = [j for j in reversed(preferred) if sizes[j] > 0.3 * sizes.max()]
        column = candidates[0]
        chosen.append(column)
        lengths = np.linalg.norm(work[:, :, column], axis=1, keepdims=True)
        direction = work[:, :, column] / np.where(lengths > 0, lengths, 1)
        work = work - direction[:, :, None] * np.einsum("si,sij->sj", direction, work)[:, None, :]
    chosen.sort()
    return chosen, float(np.median([np.linalg.cond(_normalised(x)[:, chosen]) for x in samples]))


def _normalised(matrix: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.where(lengths > 0, lengths, 1)
