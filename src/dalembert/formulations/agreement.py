"""What a verification found: rows of (what, who, against whom, worst relative error)."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

from dalembert.text.layout import aligned
from dalembert.text.tables import TextTable, as_html, folded

HEADER = ("quantity", "by", "differs most from", "relative error", "")
"""Titles of the table."""

FEW = 12
"""Comparisons up to which a notebook shows them unfolded, if all agree."""


@dataclass(frozen=True)
class AgreementRow:
    """One comparison.

    Args:
        quantity: what is compared, or the law that is checked.
        who: the route or algorithm.
        against: the one it differs from most.
        error: worst relative error over all states.
    """

    quantity: str
    who: str
    against: str
    error: float
    tolerance: float

    @property
    def ok(self) -> bool:
        """True if the error is within the tolerance; NaN is not."""
        return self.error <= self.tolerance


@dataclass(frozen=True)
class Agreement:
    """The outcome of :func:`dalembert.formulations.verify.verify`.

    Args:
        subject: name of the mechanism.
        states: number of random states.
        rows: all comparisons.
        skipped: what was left out, and why.
    """

    subject: str
    states: int
    rows: tuple[AgreementRow, ...]
    skipped: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if every comparison is within its tolerance."""
        return all(row.ok for row in self.rows)

    @property
    def worst(self) -> AgreementRow:
        """The row with the largest error relative to its tolerance."""
        return max(self.rows, key=_badness)

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = aligned([HEADER, *self._cells()], left=5)
        lines.insert(1, "-" * len(lines[0]))
        tail = [line for reason in self.skipped for line in wrap(f"left out: {reason}", 118, subsequent_indent="  ")]
        return "\n".join([self._title(), "", *lines, *([""] if tail else []), *tail])

    def _title(self) -> str:
        good = sum(row.ok for row in self.rows)
        verdict = "all agree" if self.ok else f"{len(self.rows) - good} of {len(self.rows)} disagree"
        return f"{self.subject}: {len(self.rows)} comparisons at {self.states} random states, {verdict}"

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (row.quantity, row.who, row.against, f"{row.error:.1e}", "ok" if row.ok else f"> {row.tolerance:.0e}")
            for row in self.rows
        ]

    def _repr_html_(self) -> str:
        table = as_html([TextTable.of(HEADER, self._cells())])
        shown = folded("all comparisons", table) if self.ok and len(self.rows) > FEW else table
        return as_html([self._title()]) + shown + as_html(f"left out: {reason}" for reason in self.skipped)


def _badness(row: AgreementRow) -> tuple[float, float]:
    """Error relative to the tolerance, then the error itself; NaN is the worst of all."""
    error = row.error if row.error == row.error else float("inf")
    if row.tolerance > 0:
        return error / row.tolerance, error
    return (float("inf") if error > 0 else 0.0), error
