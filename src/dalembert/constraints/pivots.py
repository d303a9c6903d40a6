"""Which rows a kernel keeps and which velocities it eliminates: a pivot order found once, for straight-line code.

A straight-line program cannot choose pivots while it runs. They are chosen beforehand, by Gaussian elimination with
Markowitz' rule (fewest new non-zeros) among pivots that are safely large in *all* sampled positions. What is left of
rows without a pivot is redundant; velocities without a pivot are the independent ones.

A redundant row may follow from the others always in the same way (a planar loop: its out-of-plane rows vanish) or in a
way that changes with the position (Bricard's linkage). In the latter case no choice of rows is good everywhere.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dalembert.constraints.arguments import velocities_named
from dalembert.constraints.closure import assemble
from dalembert.constraints.rank import RANK_TOLERANCE, ZERO_SINGULAR_VALUE, Decomposition
from dalembert.constraints.scaling import NO_GRADIENT, column_scale
from dalembert.constraints.vicinity import TIMES
from dalembert.errors import ArgumentError, SingularityError

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained

PIVOT_SHARE = 0.1
"""A pivot must be at least this fraction of the largest candidate, in the worst sample."""


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
    samples: np.ndarray, pattern: np.ndarray, keep: Collection[int] = (), tolerance: float = RANK_TOLERANCE
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
    zero = max(tolerance * np.abs(work * units).max(initial=0.0), ZERO_SINGULAR_VALUE)
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
        cost[size < PIVOT_SHARE * largest] = np.inf
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
    factors = [[Decomposition.of(G[kept]).solve_transposed(G[row]) for row in redundant] for G in samples]
    return bool(np.ptp(factors, axis=0).max(initial=0.0) > 1e-6)


# --------------------------------------------------------------------------------------------------- around a reference


def choose_pivots(system: Constrained) -> Pivots:
    """The pivots around the reference of a system; an error if its independent speeds cannot be the wanted ones."""
    keep = set(velocities_named(system.mechanism, system.independent or (), "independent"))
    G = _gradients(system)
    pivots, common = _common(G, keep)
    if system.independent is not None and not (pivots.complete and sorted(keep) == list(pivots.independent)):
        free = _common(G)[0].independent
        names = ", ".join(system.velocity_names()[k] for k in free)
        raise ArgumentError(
            f"{', '.join(map(repr, system.independent)) or 'no joint'} cannot be the independent speeds of "
            f"{system.mechanism.name!r}: {len(free)} velocities are needed, for example {names}"
        )
    _refuse_contradiction(system, pivots, system.samples[0][0])
    return _measured(system, pivots, common, G)


def choose_positional(system: Constrained) -> Pivots:
    """The pivots of the rows on positions alone, which may depend on others than those kept among all rows."""
    G = _gradients(system)
    G[:, ~system.constraints.holonomic] = 0.0
    return _measured(system, *_common(G), G)


def _common(G: np.ndarray, keep: Collection[int] = ()) -> tuple[Pivots, list[int]]:
    """The pivots of the first sample and of as many others as have any in common with it, and which samples these are.

    Near a crossing of branches some samples lie on another branch than the first. Where what vanishes on the one does
    not on the other, elimination that is to do for both ends early, and a row that matters would seem redundant.
    """
    pattern = np.abs(G).max(axis=0) > 0
    whole = find_pivots(G, pattern, keep)
    if whole.complete:
        return whole, list(range(len(G)))
    chosen, pivots = [0], find_pivots(G[:1], pattern, keep)
    for k in range(1, len(G)):
        wider = find_pivots(G[[*chosen, k]], pattern, keep)
        if wider.complete:
            chosen, pivots = [*chosen, k], wider
    return pivots, chosen


def _measured(system: Constrained, pivots: Pivots, common: list[int], G: np.ndarray) -> Pivots:
    """The pivots with the sizes of rows that have to be compared with each other while a kernel runs."""
    if not pivots.varying:
        return pivots
    G = G[common]
    M = np.stack([system.evaluate("mass_matrix", system.samples[k][0]) for k in common])
    weight = np.einsum("kii->ki", M)
    unit = 1 / np.sqrt(np.where(weight > 0, weight, np.inf))  # kilometres beside millimetres: pinv compares
    rows = G * unit[:, None, :]
    mobility = np.einsum("kij,kjl,kil->ki", rows, np.linalg.pinv(M * unit[:, None, :] * unit[:, :, None]), rows)
    steep = np.abs(system.scaling.dimensionless(G)).max(axis=(0, 2), initial=0.0)
    flat = steep <= NO_GRADIENT * steep.max(initial=0.0)
    return replace(pivots, sizes=_rounded((G**2).sum(axis=-1), flat), mobilities=_rounded(mobility, flat))


def _rounded(sizes: np.ndarray, flat: np.ndarray) -> tuple[float, ...]:
    """The largest of each row over the samples, the largest of all being one, as powers of four.

    So they are exact as factors, the same on every machine, and mostly the same for other values of symbols: programs
    contain them.

    Args:
        sizes: over samples and rows.
        flat: which rows have no gradient at any sample; they count as the largest.
    """
    largest = sizes.max(axis=0)
    largest = np.where(flat | (largest <= 0), largest.max(initial=0.0) or 1.0, largest)
    return tuple((4.0 ** np.round(np.log2(largest / largest.max()) / 2)).tolist())


def _gradients(system: Constrained) -> np.ndarray:
    """G at the samples, (count, m, nv)."""
    return np.stack([system.evaluate("positions", q, t)[1] for q, t in system.samples])


def _refuse_contradiction(system: Constrained, pivots: Pivots, q: np.ndarray) -> None:
    """Rows that are left out must demand what the others demand, also later."""
    if not (system.constraints.rheonomic and pivots.redundant) or pivots.varying:
        return
    kept = list(pivots.rows)
    for t in TIMES:
        with suppress(SingularityError):  # infeasible, or contradictory: the rates decide which
            q = assemble(system, q, t, restarts=0)
        _, G, rate, _ = system.evaluate("constraints", q, np.zeros(system.mechanism.nv), t)
        base = Decomposition.of(G[kept]) if kept else None
        for k in pivots.redundant:
            demanded = base.solve_transposed(G[k]) @ rate[kept] if base else 0.0
            if abs(rate[k] - demanded) > 1e-8 * (1 + np.abs(rate).max()):
                raise SingularityError(
                    f"{system.mechanism.name!r}: constraints contradict each other at t = {t:g} s: {system.rows[k]} "
                    f"demands the rate {rate[k]:.6g}, others {demanded - rate[k]:.3g} more; analyse says more"
                )
