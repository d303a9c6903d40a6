"""Inverting small matrices of traced scalars: pivots are chosen by their values at sample states."""

from __future__ import annotations

import numpy as np

from dalembert.compiler.graph import Expr
from dalembert.errors import SingularityError

SMALL = 1e-9
"""Relative size below which a sample counts as zero."""


def inverse(matrix: np.ndarray, samples: np.ndarray, what: str) -> np.ndarray:
    """Inverse of a square matrix by Gauss-Jordan elimination.

    A constant is the best pivot, because dividing by it costs nothing; otherwise the largest of the sampled values
    counts, so that the result is valid wherever the samples are typical.

    Args:
        matrix: n x n traced scalars and numbers.
        samples: the same as numbers at some states, (states, n, n).
        what: what the matrix is, for the error message.
    """
    n = len(matrix)
    left, right = matrix.astype(object).copy(), np.eye(n, dtype=int).astype(object)
    numbers = np.array(samples, dtype=float)
    scale = np.abs(numbers).max(axis=(1, 2), keepdims=True)
    numbers = numbers / np.where(scale > 0, scale, 1)
    free = list(range(n))
    order: dict[int, int] = {}
    for _ in range(n):
        row, column = _pivot(left, numbers, free, [j for j in range(n) if j not in order], what)
        order[column] = row
        free.remove(row)
        pivot, number = left[row, column], numbers[:, row, column].copy()
        if not _is_one(pivot):
            left[row], right[row] = _divided(left[row], pivot), _divided(right[row], pivot)
            numbers[:, row] /= number[:, None]
        for other in range(n):
            factor = left[other, column]
            if other != row and not _is_zero(factor):
                left[other] = _minus(left[other], factor, left[row])
                right[other] = _minus(right[other], factor, right[row])
                numbers[:, other] -= numbers[:, other, column, None] * numbers[:, row]
                left[other, column] = 0
    return np.array([right[order[column]] for column in range(n)], dtype=object)


def _pivot(left: np.ndarray, numbers: np.ndarray, rows: list[int], columns: list[int], what: str) -> tuple[int, int]:
    best, place = (0, 0.0), None
    for i in rows:
        for j in columns:
            size = float(np.abs(numbers[:, i, j]).min())
            if size < SMALL or _is_zero(left[i, j]):
                continue
            simple = (
                2 if _is_one(left[i, j]) else 1 if not isinstance(left[i, j], Expr) or left[i, j].is_constant else 0
            )
            if (simple, size) > best:
                best, place = (simple, size), (i, j)
    if place is None:
        raise SingularityError(f"{what} is singular at typical states: its rows are dependent, so there is no inverse")
    return place


def _divided(row: np.ndarray, pivot: object) -> np.ndarray:
    return np.array([0 if _is_zero(x) else x / pivot for x in row], dtype=object)  # type: ignore[operator]


def _minus(row: np.ndarray, factor: object, other: np.ndarray) -> np.ndarray:
    return np.array([x if _is_zero(y) else x - factor * y for x, y in zip(row, other)], dtype=object)  # type: ignore[operator]


def _is_zero(x: object) -> bool:
    return x.is_zero if isinstance(x, Expr) else x == 0


def _is_one(x: object) -> bool:
    return (x.is_constant and x.value == 1) if isinstance(x, Expr) else x == 1


def independent_rows(samples: np.ndarray) -> list[int]:
    """Rows of a matrix that are independent at typical states, the first ones preferred.

    Args:
        samples: numbers at some states, (states, rows, columns).
    """
    kept: list[int] = []
    for row in range(samples.shape[1]):
        trial = samples[:, [*kept, row]]
        if all(np.linalg.matrix_rank(_normalised(x), tol=1e-7) == len(kept) + 1 for x in trial):
            kept.append(row)
    return kept


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
        sizes = np.linalg.norm(work, axis=1).min(axis=0)
        sizes[chosen] = 0
        candidates = [j for j in reversed(preferred) if sizes[j] > 0.3 * sizes.max()]
        column = candidates[0]
        chosen.append(column)
        direction = work[:, :, column] / np.linalg.norm(work[:, :, column], axis=1, keepdims=True)
        work = work - direction[:, :, None] * np.einsum("si,sij->sj", direction, work)[:, None, :]
    chosen.sort()
    return chosen, float(max(np.linalg.cond(_normalised(x)[:, chosen]) for x in samples))


def _normalised(matrix: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.where(lengths > 0, lengths, 1)
