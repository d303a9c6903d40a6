"""The rank of constraint rows: decided here, once, for everything that asks.

A :class:`Decomposition` holds the singular values of rows and everything that follows from how many of them count: a
basis of the motions the rows allow, combinations of rows that do nothing, least-squares solutions. There is one
tolerance and one rule for gaps; both compare numbers without units (see :mod:`dalembert.constraints.scaling`), so that
they do not depend on whether a mechanism is a millimetre or a thousand kilometres long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.cached import cached_property
from dalembert.constraints.scaling import column_scale

RANK_TOLERANCE = 1e-9
"""Singular values below this part of the largest are zero. Rounding leaves 1e-15 of redundant rows of an assembled
mechanism; long chains, and lengths that differ by powers of ten, cost some digits more. Rows that matter are rarely
below 1e-6."""

ZERO_SINGULAR_VALUE = 1e-13
"""Singular values below this are zero whatever the largest: all rows may be what rounding has left of zero."""

GAP = (1e-11, 1e-4)
"""A rank is clear if no singular value lies between these parts of the largest. Where two assembly modes meet,
positions are found to the square root of rounding only, and what is left of dependent rows lies in between."""

SEEMS = 100.0, 1e-2
"""Redundant rows of states that violate the constraints by e seem independent by about e, and by the square root of it
where assembly modes meet. So beyond a known rank singular values count only above this many times that root; always
above the second number, for states that violate constraints by a thousandth are no longer states of the mechanism."""

NEAR_SINGULAR, UNDECIDED_DIRECTION = 1e-2, 4e-4
"""Where the least singular value falls below the first part of its usual size, a singular configuration is near. Along
directions below the second nothing is demanded and nothing corrected. Where branches of a motion cross, constraints
look like x y = 0: rounding, a residual e of 1e-16, leaves y' = e x'/x^2, at 4e-4 less than 1e-9 of x'; and what is not
demanded is made up for when the configuration is passed, to the square of it.
"""


@dataclass(frozen=True)
class Known:
    """What is known of the rank of rows before they are decomposed.

    Args:
        rank: the rank on the constraints, where it is regular; None if nobody knows.
        violation: by how much the states violate the constraints, relative, (...); None if no more than the rank count
            whatever the violation.
    """

    rank: int | None
    violation: Any = None


@dataclass(frozen=True, eq=False)
class Decomposition:
    """G diag(columns) = U diag(size) V^T of rows G, one matrix or a batch of them.

    Args:
        U: left singular vectors, (..., m, m).
        size: singular values, the largest first, (..., k).
        Vt: right singular vectors, one row each, (..., n, n).
        columns: what is one of every velocity, (..., n).
        live: which singular values count, (..., k).
    """

    U: np.ndarray
    size: np.ndarray
    Vt: np.ndarray
    columns: np.ndarray
    live: np.ndarray

    @classmethod
    def of(
        cls,
        G: np.ndarray,
        known: Known | None = None,
        tolerance: float = RANK_TOLERANCE,
        columns: np.ndarray | None = None,
    ) -> Decomposition:
        """Decompose rows.

        Args:
            G: the rows, (..., m, n), finite.
            known: what is known of their rank.
            tolerance: in the place of :data:`RANK_TOLERANCE`.
            columns: what is one of every velocity; by default large columns are made comparable.
        """
        columns = column_scale(G) if columns is None else columns
        U, size, Vt = np.linalg.svd(G * columns[..., None, :], full_matrices=True)
        largest = size.max(axis=-1, keepdims=True, initial=0.0)
        limit = np.full(size.shape, tolerance)
        if known is not None and known.rank is not None:
            beyond: Any = np.inf
            if known.violation is not None:
                times, most = SEEMS
                beyond = np.clip(times * np.sqrt(known.violation), tolerance, max(most, tolerance))
            limit[..., known.rank :] = np.asarray(beyond)[..., None]
        return cls(U, size, Vt, columns, (size > limit * largest) & (size > ZERO_SINGULAR_VALUE))

    @cached_property
    def rank(self) -> Any:
        """How many rows are independent, (...)."""
        return self.live.sum(axis=-1)

    @property
    def relative(self) -> np.ndarray:
        """The singular values, the largest being one, (..., k)."""
        largest = self.size.max(axis=-1, keepdims=True, initial=0.0)
        return self.size / np.where(largest > 0, largest, 1.0)

    @property
    def is_clear(self) -> bool:
        """Whether the rank is one, and not what rounding has left; see :data:`GAP`."""
        low, high = GAP
        return not ((self.relative > low) & (self.relative < high)).any()

    @property
    def blur(self) -> np.ndarray:
        """By how much null vectors may be wrong, (...): ten times what should be zero over what should not."""
        least = np.where(self.live, self.size, np.inf).min(axis=-1, initial=np.inf)
        return np.asarray(10 * np.where(self.live, 0.0, self.size).max(axis=-1, initial=0.0) / least)

    @cached_property
    def reciprocal(self) -> np.ndarray:
        """One over the singular values that count, zero for the others, (..., k)."""
        return np.where(self.live, 1 / np.where(self.live, self.size, 1.0), 0.0)

    @property
    def row_basis(self) -> np.ndarray:
        """Orthonormal rows that span those of G diag(columns), zero where there are fewer, (..., k, n)."""
        return np.where(self.live[..., None], self.Vt[..., : self.size.shape[-1], :], 0.0)

    @property
    def null_space(self) -> np.ndarray:
        """Motions that the rows of one matrix allow, one column each, in the units of G: (n, n - rank)."""
        return np.asarray(self.columns[:, None] * self.Vt[self.rank :].T)

    @property
    def left_null(self) -> np.ndarray:
        """Combinations of rows that do nothing, one column each, zero where there are fewer, (..., m, m)."""
        m = self.U.shape[-1]
        dead = np.ones((*self.live.shape[:-1], m), dtype=bool)
        dead[..., : self.live.shape[-1]] = ~self.live
        return np.where(dead[..., None, :], self.U, 0.0)

    @property
    def truncated(self) -> np.ndarray:
        """The nearest rows of that rank: without the independence they seem to have beside the constraints."""
        kept = np.where(self.live, self.size, 0.0)
        k = kept.shape[-1]
        return np.asarray((self.U[..., :, :k] * kept[..., None, :]) @ self.Vt[..., :k, :] / self.columns[..., None, :])

    def coordinates(self, b: np.ndarray) -> np.ndarray:
        """What G x = b demands along :attr:`row_basis`, in the sense of least squares, (..., k)."""
        k = self.size.shape[-1]
        return np.asarray(self.reciprocal * np.einsum("...ji,...j->...i", self.U[..., :, :k], b))

    def solve(self, b: np.ndarray) -> np.ndarray:
        """The shortest x, measured by the columns, with G x = b in the sense of least squares, (..., n).

        Args:
            b: right sides, (..., m).
        """
        k = self.size.shape[-1]
        return np.asarray(self.columns * np.einsum("...ij,...i->...j", self.Vt[..., :k, :], self.coordinates(b)))

    def solve_transposed(self, f: np.ndarray) -> np.ndarray:
        """The shortest y with G^T y = f in the sense of least squares, (..., m): multipliers of forces f.

        Args:
            f: right sides, (..., n).
        """
        k = self.size.shape[-1]
        along = self.reciprocal * np.einsum("...ij,...j->...i", self.Vt[..., :k, :], self.columns * f)
        return np.asarray(np.einsum("...ij,...j->...i", self.U[..., :, :k], along))

    def pseudo_inverse(self) -> np.ndarray:
        """The matrix of :meth:`solve`, (..., n, m)."""
        k = self.size.shape[-1]
        V = np.swapaxes(self.Vt[..., :k, :], -1, -2) * self.reciprocal[..., None, :]
        return np.asarray(self.columns[..., :, None] * (V @ np.swapaxes(self.U[..., :, :k], -1, -2)))


def extreme_sizes(G: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """The least singular value that should not vanish, and the largest, of many matrices.

    Args:
        G: rows without units, (k, m, nv).
        rank: how many singular values should not vanish.
    """
    if not rank:
        return np.ones(len(G)), np.ones(len(G))
    size = np.linalg.svd(np.where(np.isfinite(G).all(axis=(1, 2), keepdims=True), G, 0.0), compute_uv=False)
    return size[:, rank - 1], np.maximum(size[:, 0], np.finfo(float).tiny)
