"""Every comparison of a verification as a dot: how far independent routes are apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.model.checks import expect
from dalembert.simulation.figure import new_figure

if TYPE_CHECKING:
    from dalembert.formulations.agreement import Agreement

LEAST = 1e-18
"""Differences of nothing are drawn here."""


def draw_agreement(agreement: Agreement) -> Any:
    """One line per quantity, one dot per comparison, over its relative difference; red where it is too large.

    Args:
        agreement: what :func:`dalembert.verify` gave.
    """
    from dalembert.formulations.agreement import Agreement

    expect(agreement, Agreement, "draw_agreement")
    by_quantity: dict[str, list[Any]] = {}
    for row in agreement.rows:
        by_quantity.setdefault(row.quantity, []).append(row)
    figure = new_figure("a picture of an agreement", 9, 1.5 + 0.35 * len(by_quantity))
    axis = figure.subplots()
    largest = max([1e-9, *(10 * row.error for row in agreement.rows if np.isfinite(row.error))])
    for k, rows in enumerate(reversed(by_quantity.values())):
        places = [min(max(row.error, LEAST), largest) if np.isfinite(row.error) else largest for row in rows]
        colours = ["tab:green" if row.ok else "tab:red" for row in rows]
        axis.scatter(places, [k] * len(rows), c=colours, alpha=0.6, edgecolors="none")
    axis.set_yticks(range(len(by_quantity)), list(reversed(by_quantity)))
    axis.axvline(float(np.finfo(float).eps), color="0.6", linewidth=0.8, linestyle=":")
    axis.set(xscale="log", xlim=(LEAST / 3, 2 * largest), xlabel="relative difference; dotted: rounding of one number")
    verdict = "all agree" if agreement.ok else "some disagree"
    axis.set_title(f"{agreement.subject}: {len(agreement.rows)} comparisons, {verdict}")
    return figure
