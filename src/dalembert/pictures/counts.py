"""Operation counts as bars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dalembert.model.checks import expect
from dalembert.simulation.figure import new_figure

if TYPE_CHECKING:
    from dalembert.tracing.cost import Cost

PARTS = {
    "multiplications": ("multiplications",),
    "additions": ("additions",),
    "divisions, roots": ("divisions", "square_roots"),
    "sines, cosines, others": ("sines", "cosines", "other_functions", "comparisons"),
}
"""What is told apart -> fields of a cost."""


def draw_counts(counts: Mapping[str, Cost], title: str = "") -> Any:
    """One bar per name, made of multiplications, additions, divisions and roots, sines, cosines and others.

    Args:
        counts: name of a quantity or algorithm -> its cost.
        title: of the picture.
    """
    from dalembert.tracing.cost import Cost

    for name, cost in expect(counts, Mapping, "draw_counts, counts").items():
        expect(cost, Cost, f"draw_counts, {name!r}")
    figure = new_figure("a picture of operation counts", 9, 1.5 + 0.35 * len(counts))
    axis = figure.subplots()
    names = list(counts)[::-1]
    begin = [0] * len(names)
    for part, fields in PARTS.items():
        sizes = [sum(getattr(counts[name], field) for field in fields) for name in names]
        axis.barh(names, sizes, left=begin, label=part)
        begin = [a + b for a, b in zip(begin, sizes)]
    for k, total in enumerate(begin):
        axis.text(total, k, f" {total}", va="center", fontsize="small")
    axis.set(xlabel="operations per state", title=title)
    axis.margins(x=0.1)
    axis.legend(loc="best", fontsize="small")
    return figure
