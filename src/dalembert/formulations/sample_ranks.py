"""Which rows and columns of a matrix are independent at sample states, whatever their units."""

from __future__ import annotations

import numpy as np

from dalembert.constraints.rank import GAP, Decomposition

SAME_ROW, CLOSING_ERROR = 1e-6, 1e-11
"""Difference of two rows, relative to these and to the longest, below which they are the same; loops close to 1e-13."""

LEAST_ROW = 1e-13
"""Rows shorter than this, and than this fraction of the longest, are what rounding has left of zero."""

SHORTEST_ROW, SHORTEST_COLUMN = 1e-3, 1e-2
"""Rows and columns shorter than this part of the longest are not stretched to length one: rounding would be, too."""

PIVOT_COLUMN = 0.3
"""A column serves as a pivot if it is no shorter than this part of the longest: a condition of about 3 per pivot buys
the choice of which velocities stay."""

UNEVEN = 16
"""Ratio of the lengths of two rows up to which least squares need no weights: its square costs two digits or three."""


def is_singular(samples: np.ndarray) -> bool:
    """Whether square matrices are singular, up to rounding, at most of the sample states; units do not matter.

    Args:
        samples: numbers at some states, (states, n, n); states at which they are not finite do not count.
    """
    finite = [x for x in samples if x.size and np.isfinite(x).all()]
    return bool(finite) and bool(np.median([_rank(normalised(x).T) < len(x) for x in finite]) > 0)


def _rank(matrix: np.ndarray) -> int:
    """The rank of rows of any length."""
    return int(Decomposition.of(normalised(matrix), columns=np.ones(matrix.shape[1])).rank)


def independent_rows(samples: np.ndarray) -> list[int]:
    """Rows of a matrix that are independent at typical states, the first ones preferred.

    Args:
        samples: numbers at some states, (states, rows, columns).
    """
    kept: list[int] = []
    for row in np.flatnonzero(np.median(~rounded_rows(samples), axis=0) > 0).tolist():
        if np.median([_rank(x) for x in samples[:, [*kept, row]]]) > len(kept):
            kept.append(row)
    return kept


def clear_ranks(samples: np.ndarray, typical: np.ndarray | None = None, clear: float = GAP[1]) -> np.ndarray:
    """Rank at each of some states, whatever the units of rows and columns; -1 where it is not clear.

    Loops that close where two assembly modes meet do so to the square root of rounding only; what is left of rows that
    depend on each other there is no rank.

    Args:
        samples: numbers at some states, (states, rows, columns).
        typical: the same at states that show how long rows and columns are; by default these.
        clear: singular values, of rows and columns of length one, that count.
    """
    typical = samples if typical is None else typical
    usual = typical[np.isfinite(typical).all(axis=(1, 2))]
    rows = _lengths(usual, 2, SHORTEST_ROW)[:, None]
    columns = _lengths(usual / rows, 1, SHORTEST_COLUMN)
    ranks = []
    for x in samples:
        if not np.isfinite(x).all():
            ranks.append(-1)
            continue
        found = Decomposition.of(np.where(rounded_rows(x)[:, None], 0, x) / rows, tolerance=clear, columns=1 / columns)
        unclear = not found.is_clear or ((found.relative > GAP[0]) & (found.relative < clear)).any()
        ranks.append(-1 if unclear else int(found.rank))
    return np.array(ranks, dtype=int)


def _lengths(samples: np.ndarray, axis: int, least: float) -> np.ndarray:
    """The largest at all states of every row or column; rounding, a small fraction of the longest, stays small."""
    found = np.linalg.norm(samples, axis=axis).max(axis=0, initial=0.0)
    return np.maximum(found, least * (found.max(initial=0.0) or 1.0))


def follows_always(samples: np.ndarray, row: int, basis: list[int]) -> bool:
    """Whether a row is the same combination of others at all sample states, so that these say all that it says.

    Args:
        samples: numbers at some states, (states, rows, columns).
        basis: rows that are independent at typical states.
    """
    shares = [Decomposition.of(x[basis]).solve_transposed(x[row]) for x in samples]
    middle = np.median(shares, axis=0)
    same = []
    for share, x in zip(shares, samples):
        size = np.abs(middle[:, None] * x[basis]).max(initial=0.0)  # of this row, whatever its unit
        least = max(SAME_ROW * size, CLOSING_ERROR * np.abs(x).max())
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
    work = np.array([normalised(x) for x in samples])
    chosen: list[int] = []
    for _ in range(rows):
        sizes = np.median(np.linalg.norm(work, axis=1), axis=0)
        sizes[[*chosen, *barred]] = 0
        candidates = [j for j in reversed(preferred) if sizes[j] > PIVOT_COLUMN * sizes.max()]
        column = candidates[0]
        chosen.append(column)
        lengths = np.linalg.norm(work[:, :, column], axis=1, keepdims=True)
        direction = work[:, :, column] / np.where(lengths > 0, lengths, 1)
        work = work - direction[:, :, None] * np.einsum("si,sij->sj", direction, work)[:, None, :]
    chosen.sort()
    return chosen, float(np.median([np.linalg.cond(normalised(x)[:, chosen]) for x in samples]))


def normalised(matrix: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix / np.where(lengths > 0, lengths, 1)
