"""Rows of contacts as combinations of fewer velocities: all points of a body move with its one twist.

A foot on eight points has 24 rows, and six velocities say all about them: J = G C, with the twist of the foot relative
to the ground as rows C, and G where the points are. The Delassus matrix of C is small, and that of J follows from it,
J M^-1 J^T = G (C M^-1 C^T) G^T. A row that shares nothing with others is a carrier of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dalembert.algebra import scalar
from dalembert.algebra.scalar import Scalar
from dalembert.constraints.known_rank import dot

ENTRIES = 6
"""Of a twist."""


@dataclass(frozen=True)
class Run:
    """Rows of several points, one after the other, that share a twist.

    Args:
        carriers: the numbers of its carriers.
        rows: the rows that they carry.
    """

    carriers: tuple[int, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Carriers:
    """The carriers of rows.

    Args:
        C: carriers as rows on velocities, lists of nv scalars.
        shares: of every row, by carrier, its part; an empty one for a row that nothing moves.
        runs: the rows that share carriers.
    """

    C: list[list[Scalar]]
    shares: list[dict[int, Scalar]]
    runs: tuple[Run, ...]

    def along_rows(self, values: Sequence[Scalar]) -> list[Scalar]:
        """G y: velocities along the rows from those of the carriers."""
        return [dot(list(share.values()), [values[c] for c in share]) for share in self.shares]

    def gathered(self, impulses: Sequence[Scalar]) -> list[Scalar]:
        """G^T p: what impulses along the rows are along the carriers."""
        return gathered(self.shares, impulses, len(self.C), range(len(self.shares)))


def gathered(
    shares: Sequence[Mapping[int, Scalar]], impulses: Sequence[Scalar], count: int, rows: Sequence[int]
) -> list[Scalar]:
    """Impulses along carriers of those along some rows.

    Args:
        shares: of all rows.
        impulses: along all rows.
        count: of the carriers.
    """
    found: list[Scalar] = [0] * count
    for row in rows:
        if not scalar.is_zero(impulses[row]):
            for c, share in shares[row].items():
                found[c] = found[c] + share * impulses[row]
    return found


def carried(
    J: list[list[Scalar]], twists: Sequence[tuple[list[list[Scalar]], Mapping[int, Sequence[Scalar]]]]
) -> Carriers:
    """The carriers of rows.

    Args:
        J: the rows.
        twists: six rows of a twist, and by row that it carries its six shares.
    """
    first = {next(iter(rows)): (twist, rows) for twist, rows in twists}
    inside = {row for _, rows in twists for row in rows}
    C: list[list[Scalar]] = []
    shares: list[dict[int, Scalar]] = [{} for _ in J]
    runs = []
    for k, row in enumerate(J):
        if k in first:
            twist, rows = first[k]
            there = [j for j in range(ENTRIES) if not _nothing(twist[j])]
            places = tuple(range(len(C), len(C) + len(there)))
            C += [twist[j] for j in there]
            for other, own in rows.items():
                if not _nothing(J[other]):
                    parts = zip(places, (own[j] for j in there))
                    shares[other] = {c: x for c, x in parts if not scalar.is_zero(x)}
            runs.append(Run(places, tuple(rows)))
        elif k not in inside:
            shares[k] = {} if _nothing(row) else {len(C): 1}
            C.append(row)
    return Carriers(C, shares, tuple(runs))


def _nothing(row: Sequence[Scalar]) -> bool:
    return all(scalar.is_zero(x) for x in row)
