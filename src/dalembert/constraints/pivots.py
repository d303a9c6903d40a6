"""Which rows to keep and which velocities to eliminate: a pivot order found once, for straight-line code.

A straight-line program cannot choose pivots while it runs. They are chosen beforehand, by Gaussian elimination with
Markowitz' rule (fewest new non-zeros) among pivots that are safely large in *all* sampled positions. What is left of
rows without a pivot is redundant; velocities without a pivot are the independent ones.

A redundant row may follow from the others always in the same way (a planar loop: its out-of-plane rows vanish) or in a
way that changes with the position (Bricard's linkage). In the latter case no choice of rows is good everywhere.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

SAFE = 0.1
"""A pivot must be at least this fraction of the largest candidate, in the worst sample."""


def column_scale(G: np.ndarray) -> np.ndarray:
    """For every velocity one over its largest coefficient, if that is more than one.

    The angle of an orbit moves a satellite by millions of metres per radian; told in metres, it is a velocity like the
    others, and rows of lengths and angles can be compared. Small columns stay small: they may be rounding.

    Args:
        G: constraint rows, (..., m, nv).
    """
    return np.asarray(1 / np.abs(G).max(axis=-2, initial=1.0))


@dataclass(frozen=True)
class Pivots:
    """An elimination order.

    Args:
        order: pairs (row, velocity), in the order of elimination.
        redundant: rows that depend on others.
        independent: velocities that are not eliminated.
        varying: true if redundant rows depend on the others in different ways at different positions.
        empty: rows that are zero in all samples.
        complete: false if columns that had to be kept were needed as pivots.
        sizes: of all rows, if they vary: the diagonal of G G^T in the samples, roughly and up to a common factor.
        mobilities: the same of G M^-1 G^T.
    """

    order: tuple[tuple[int, int], ...]
    redundant: tuple[int, ...]
    independent: tuple[int, ...]
    varying: bool
    empty: tuple[int, ...]
    complete: bool = True
    sizes: tuple[float, ...] = ()
    mobilities: tuple[float, ...] = ()

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows to keep, in their own order."""
        return tuple(sorted(row for row, _ in self.order))

    @property
    def rank(self) -> int:
        """How many rows are independent."""
        return len(self.order)

    @property
    def together(self) -> tuple[int, ...]:
        """Rows that have this rank everywhere: all that do not vanish, where no choice of them is good everywhere."""
        if not self.varying:
            return self.rows
        return tuple(row for row in sorted((*self.rows, *self.redundant)) if row not in self.empty)

    @property
    def kept_together(self) -> tuple[int, ...]:
        """Where among the rows :attr:`together` those are that have a pivot."""
        return tuple(k for k, row in enumerate(self.together) if row in self.rows)

    def of_together(self, sizes: tuple[float, ...]) -> tuple[float, ...]:
        """Those of the rows :attr:`together`; nothing where none are redundant among them.

        Args:
            sizes: :attr:`sizes` or :attr:`mobilities`.
        """
        return tuple(sizes[row] for row in self.together) if sizes else ()


def find_pivots(
    samples: np.ndarray, pattern: np.ndarray, keep: Collection[int] = (), tolerance: float = 1e-8
) -> Pivots:
    """The pivots of a matrix known by samples.

    Args:
        samples: (count, m, n) values of the matrix.
        pattern: (m, n), true where an entry can be different from zero.
        keep: columns that must not be eliminated.
        tolerance: entries below this fraction of the largest, columns made of comparable size, are zero.
    """
    work, full = samples.astype(float).copy(), pattern.copy()
    count, m, n = work.shape
    rows, columns = set(range(m)), set(range(n)) - set(keep)
    units = column_scale(np.abs(work).max(axis=0, initial=0.0))
    zero = tolerance * np.abs(work * units).max(initial=0.0)
    order: list[tuple[int, int]] = []
    while rows and columns:
        live_rows, live_columns = sorted(rows), sorted(columns)
        size = np.abs(work[np.ix_(range(count), live_rows, live_columns)]).min(axis=0)
        largest = size.max(initial=0.0)
        if (size * units[live_columns]).max(initial=0.0) <= zero:
            break
        fill_rows = full[np.ix_(live_rows, live_columns)].sum(axis=1) - 1
        fill_columns = full[np.ix_(live_rows, live_columns)].sum(axis=0) - 1
        cost = np.outer(fill_rows, fill_columns).astype(float)
        cost[size < SAFE * largest] = np.inf
        best = np.lexsort((-size.ravel(), cost.ravel()))[0]
        i, j = np.unravel_index(best, size.shape)
        row, column = live_rows[i], live_columns[j]
        order.append((row, column))
        rows.discard(row)
        columns.discard(column)
        for other in rows:
            if full[other, column]:
                full[other] |= full[row]
                factor = work[:, other, column] / work[:, row, column]
                work[:, other] -= factor[:, None] * work[:, row]
                work[:, other, column] = 0
    eliminated = {column for _, column in order}
    redundant = sorted(rows)
    complete = not redundant or bool(np.abs(work[:, redundant] * units).max(initial=0.0) <= zero)
    return Pivots(
        tuple(order),
        tuple(redundant),
        tuple(k for k in range(n) if k not in eliminated),
        _varies(samples * units, sorted(row for row, _ in order), redundant),
        tuple(int(k) for k in np.flatnonzero(np.abs(samples * units).max(axis=(0, 2), initial=0.0) <= zero)),
        complete,
    )


def _varies(samples: np.ndarray, kept: list[int], redundant: list[int]) -> bool:
    """Whether the factors that make redundant rows of the kept ones differ between samples."""
    if not redundant or not kept:
        return False
    factors = [np.linalg.lstsq(G[kept].T, G[redundant].T, rcond=1e-9)[0] for G in samples]
    return bool(np.ptp(factors, axis=0).max(initial=0.0) > 1e-6)
