"""Inverting small matrices of traced scalars, and which of their rows and columns are independent at sample states.

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
from dalembert.compiler.graph import Expr
from dalembert.errors import SingularityError

SMALL = 1e-9
"""Relative size below which a sample counts as zero."""

ROUNDING = 1e-12
"""Smallest singular value, of rows and columns of length one, that tells a matrix from a singular one."""

SAME, CLOSED = 1e-6, 1e-11
"""Difference of two rows, relative to these and to the longest, below which they are the same; loops close to 1e-13."""

ZERO, CLEAR = 1e-9, 1e-5
"""Singular values of rows and columns of length one between these tell neither rank nor the want of it."""

LEAST_ROW = 1e-13
"""Rows shorter than this, and than this fraction of the longest, are what rounding has left of zero."""

UNEVEN = 16
"""Ratio of the lengths of two rows up to which least squares need no weights: its square costs two digits or three."""

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
                if size < SMALL or is_zero(x) or not is_constant(x):
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
            if 1 in (in_row[i], in_column[j]) and np.median(np.abs(self.numbers[:, i, j])) >= SMALL:
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


def is_singular(samples: np.ndarray) -> bool:
    """Whether square matrices are singular, up to rounding, at most of the sample states; units do not matter.

    Args:
        samples: numbers at some states, (states, n, n); states at which they are not finite do not count.
    """
    finite = [x for x in samples if x.size and np.isfinite(x).all()]
    values = [np.linalg.svd(_normalised(_normalised(x).T), compute_uv=False) for x in finite]
    return bool(values) and bool(np.median([x[-1] for x in values]) < ROUNDING)


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
    lengths = np.median(np.linalg.norm(np.array([_normalised(x) for x in samples]), axis=1), axis=0)
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


def clear_ranks(samples: np.ndarray, typical: np.ndarray | None = None, clear: float = CLEAR) -> np.ndarray:
    """Rank at each of some states, whatever the units of rows and columns; -1 where it is not clear.

    Loops that close where two ways of closing meet do so to the square root of rounding only; what is left of rows that
    depend on each other there is no rank.

    Args:
        samples: numbers at some states, (states, rows, columns).
        typical: the same at states that tell how long rows and columns are; by default these.
        clear: singular values, of rows and columns of length one, that count.
    """
    typical = samples if typical is None else typical
    usual = typical[np.isfinite(typical).all(axis=(1, 2))]
    rows = _lengths(usual, 2, 1e-3)[:, None]
    columns = _lengths(usual / rows, 1, 1e-2)
    ranks = []
    for x in samples:
        if not np.isfinite(x).all():
            ranks.append(-1)
            continue
        size = np.linalg.svd(np.where(rounded_rows(x)[:, None], 0, x) / rows / columns, compute_uv=False)
        ranks.append(-1 if ((size > ZERO) & (size < clear)).any() else int((size >= clear).sum()))
    return np.array(ranks, dtype=int)


def _lengths(samples: np.ndarray, axis: int, least: float) -> np.ndarray:
    """The largest at all states of every row or column; rounding, a small fraction of the longest, stays small."""
    found = np.linalg.norm(samples, axis=axis).max(axis=0, initial=0.0)
    return np.maximum(found, least * (found.max(initial=0.0) or 1.0))


def follows_always(samples: np.ndarray, row: int, basis: list[int]) -> bool:
    """Whether a row is the same combination of others at all sample states, so that these say all that it says.

    Args:
        samples: numbers at some states, (states, rows, columns).
        row: which row.
        basis: rows that are independent at typical states.
    """
    shares = [np.linalg.lstsq(x[basis].T, x[row], rcond=None)[0] for x in samples]
    middle = np.median(shares, axis=0)
    same = []
    for share, x in zip(shares, samples):
        size = np.abs(middle[:, None] * x[basis]).max(initial=0.0)  # of this row, whatever its unit
        least = max(SAME * size, CLOSED * np.abs(x).max())
        same.append(np.abs((share - middle) @ x[basis]).max(initial=0.0) <= least)
    return bool(np.median(same) > 0)


def row_weights(samples: np.ndarray) -> np.ndarray:
    """Powers of two, one where rows are about as long as the longest, that make rows of all units count alike.

    Args:
        samples: numbers at some states, (states, rows, columns).
    """
    lengths = np.median(np.linalg.norm(samples, axis=2), axis=0)
    shorter = np.log(lengths.max() / np.where(lengths > 0, lengths, lengths.max())) / np.log(UNEVEN)
    steps = 2 * np.floor((shorter + 1) / 2)  # within a factor of UNEVEN of the longest
    return np.array([UNEVEN ** (2 * int(k)) for k in steps], dtype=object)


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
        preferred: columns that may be chosen, in the order in which they are rather kept out of the square part.
    """
    rows, columns = samples.shape[1:]
    barred = sorted(set(range(columns)).difference(preferred))
    work = np.array([_normalised(x) for x in samples])
    chosen: list[int] = []
    for _ in range(rows):
        sizes = np.median(np.linalg.norm(work, axis=1), axis=0)
        sizes[[*chosen, *barred]] = 0
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
