"""Velocities along rows while a sweep changes impulses: by the Delassus matrix, or by twists of bodies on many points.

Row by row, u_k = w_k + A_k p takes as many products as there are rows. A body that stands on many points is quicker
followed by its twist, which every impulse changes, and from which the velocity of every point follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.algebra import scalar
from dalembert.algebra.scalar import Scalar
from dalembert.constraints.known_rank import dot
from dalembert.contact.carriers import Carriers, Run, gathered

GAIN = 2
"""How many times fewer products the twists must need: each impulse waits longer for the one before."""


class ByRows:
    """By the Delassus matrix.

    What was found last enters last: a sweep is a chain in which every impulse waits for the one before.

    Args:
        A: the Delassus matrix.
        without: velocities along the rows without impulses.
        p: the impulses, which change.
    """

    def __init__(self, A: list[list[Scalar]], without: list[Scalar], p: list[Scalar]):
        self.A, self.without, self.p = A, without, p

    def others(self, own: tuple[int, ...], less: Scalar = 0) -> list[Scalar]:
        """Velocities along rows if their own impulses were zero.

        Args:
            own: the rows, of one block.
            less: what is taken from them.
        """
        order = [j for j in (*range(own[-1] + 1, len(self.p)), *range(own[-1])) if j not in own]
        return [_added(self.without[k] - less, self.A[k], self.p, order) for k in own]

    def change(self, own: tuple[int, ...], impulses: Sequence[Scalar]) -> None:
        """Give rows other impulses."""
        for k, x in zip(own, impulses):
            self.p[k] = x


@dataclass(frozen=True, eq=False)
class Twisting:
    """What it takes to follow twists.

    Args:
        inner: Delassus matrix of the carriers.
        shares: see :class:`~dalembert.contact.carriers.Carriers`.
        runs: rows that share carriers.
        free: velocities of the carriers without impulses.
        answers: by row of a run what its impulse does to the carriers of the run.
    """

    inner: list[list[Scalar]]
    shares: list[dict[int, Scalar]]
    runs: tuple[Run, ...]
    free: list[Scalar]
    answers: dict[int, list[Scalar]]

    @classmethod
    def of(
        cls, carriers: Carriers, inner: list[list[Scalar]], free: list[Scalar], answers: list[list[Scalar]],
        gain: float = GAIN,
    ) -> Twisting | None:  # fmt: skip
        """None where twists would not save enough.

        Args:
            carriers: of the rows.
            inner: Delassus matrix of the carriers.
            free: velocities of the carriers without impulses.
            answers: of every row what its impulse does to the carriers.
            gain: how many times fewer products they must need.
        """
        runs, shares = carriers.runs, carriers.shares
        inside = {row for run in runs for row in run.rows}
        count = len(carriers.C)
        products = sum(1 for k in range(len(shares)) if k not in inside) * count
        for run in runs:
            products += len(run.carriers) * (count + len(run.rows)) + 3 * sum(len(shares[row]) for row in run.rows)
        if gain * products > len(shares) ** 2:
            return None
        own = {row: [answers[row][c] for c in run.carriers] for run in runs for row in run.rows}
        return cls(inner, shares, runs, free, own)


class ByTwists(ByRows):
    """By the twists of bodies.

    Args:
        twisting: what it takes.
        A, without, p: see :class:`ByRows`.
    """

    def __init__(self, twisting: Twisting, A: list[list[Scalar]], without: list[Scalar], p: list[Scalar]):
        super().__init__(A, without, p)
        self.twisting = twisting
        self.gathered = self._gathered(range(len(p)))
        self.run_of = {row: run for run in twisting.runs for row in run.rows}
        self.run: Run | None = None
        self.twist: dict[int, Scalar] = {}

    def others(self, own: tuple[int, ...], less: Scalar = 0) -> list[Scalar]:
        self._enter(self.run_of.get(own[0]))
        if self.run is not None:
            found = []
            for k in own:
                share = self.twisting.shares[k]
                total = dot(list(share.values()), [self.twist[c] for c in share]) - less
                found.append(total - dot([self.A[k][j] for j in own], [self.p[j] for j in own]))
            return found
        places = [next(iter(self.twisting.shares[k])) for k in own]
        order = [c for c in (*range(places[-1] + 1, len(self.gathered)), *range(places[-1])) if c not in places]
        lines = zip(own, (self.twisting.inner[c] for c in places))
        return [_added(self.without[k] - less, line, self.gathered, order) for k, line in lines]

    def _enter(self, run: Run | None) -> None:
        """Go on to the rows of another body, or to one that shares nothing."""
        if self.run is not None and run is not self.run:
            now = self._gathered(self.run.rows)
            for c in self.run.carriers:
                self.gathered[c] = now[c]
        if run is not None and run is not self.run:
            last = run.carriers[-1] + 1
            order = [*range(last, len(self.gathered)), *range(last)]
            for c in run.carriers:
                self.twist[c] = _added(self.twisting.free[c], self.twisting.inner[c], self.gathered, order)
        self.run = run

    def _gathered(self, rows: Sequence[int]) -> list[Scalar]:
        return gathered(self.twisting.shares, self.p, len(self.twisting.inner), rows)

    def change(self, own: tuple[int, ...], impulses: Sequence[Scalar]) -> None:
        for k, x in zip(own, impulses):
            if self.run is not None:
                for c, answer in zip(self.run.carriers, self.twisting.answers[k]):
                    self.twist[c] = self.twist[c] + answer * (x - self.p[k])
            else:
                self.gathered[next(iter(self.twisting.shares[k]))] = x
            self.p[k] = x


def _added(total: Scalar, line: Sequence[Scalar], values: Sequence[Scalar], order: Sequence[int]) -> Scalar:
    """A sum of products, one after the other, without those that are zero for certain."""
    for j in order:
        if not (scalar.is_zero(line[j]) or scalar.is_zero(values[j])):
            total = total + line[j] * values[j]
    return total
