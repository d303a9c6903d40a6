"""What a verification found: rows of (what, who, against whom, worst relative error)."""

from __future__ import annotations

import html
from dataclasses import dataclass
from textwrap import wrap

from dalembert.text.layout import aligned


@dataclass(frozen=True)
class AgreementRow:
    """One comparison.

    Args:
        quantity: what is compared, or the law that is checked.
        who: the route or algorithm.
        against: the one it differs from most.
        error: worst relative error over all states.
        tolerance: what is allowed.
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
        header = ("quantity", "by", "differs most from", "relative error", "")
        table = [header] + [
            (row.quantity, row.who, row.against, f"{row.error:.1e}", "ok" if row.ok else f"> {row.tolerance:.0e}")
            for row in self.rows
        ]
        lines = aligned(table, left=5)
        lines.insert(1, "-" * len(lines[0]))
        good = sum(row.ok for row in self.rows)
        verdict = "all agree" if self.ok else f"{len(self.rows) - good} of {len(self.rows)} disagree"
        title = f"{self.subject}: {len(self.rows)} comparisons at {self.states} random states, {verdict}"
        tail = [line for reason in self.skipped for line in wrap(f"left out: {reason}", 118, subsequent_indent="  ")]
        return "\n".join([title, "", *lines, *([""] if tail else []), *tail])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def _badness(row: AgreementRow) -> tuple[float, float]:
    """Error relative to the tolerance, then the error itself; NaN is the worst of all."""
    error = row.error if row.error == row.error else float("inf")
    if row.tolerance > 0:
        return error / row.tolerance, error
    return (float("inf") if error > 0 else 0.0), error
