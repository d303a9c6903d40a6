"""Which form a quantity takes on paper: written out if that is short, a sequence of named values if not."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dalembert.compiler.cost import cost
from dalembert.formulations.closed_form import closed_forms
from dalembert.formulations.equations import Equations
from dalembert.formulations.polynomials import Swell
from dalembert.formulations.quantity import Quantity
from dalembert.report.layout import LONGEST, MOST_LINES, WIDEST, Rows, array_rows, entry_rows, width
from dalembert.report.notation import Notation

BUDGET = 30_000
"""Elementary steps spent on writing out one quantity; what needs more would fill pages."""

LARGEST = 800
"""Operations of a quantity for which writing it out is tried."""

FEW = 4
"""Degrees of freedom up to which a quantity may take many lines."""

LONGEST_SEQUENCE = 6_000
"""Operations of a sequence of named values that is still printed."""


class Forms:
    """Closed forms of the quantities of one derivation, each worked out once.

    Args:
        equations: the derivation.
        notation: how symbols are written.
    """

    def __init__(self, equations: Equations, notation: Notation):
        self.equations, self.notation = equations, notation
        self._rates = [x for port in ("v", "u") for x in equations.scope.symbols.get(port, ())]
        self._most_lines = MOST_LINES if len(equations.mass_matrix) <= FEW else MOST_LINES // 2
        self._known: dict[Any, tuple[Quantity, list[Any] | None]] = {}

    def closed(self, quantity: Quantity) -> list[Any] | None:
        """The entries, flat, as simplified expressions; None if that would be too long to be of use.

        Args:
            quantity: of this derivation, or of another with the same symbols.
        """
        key = tuple(map(id, quantity.values.flat)), quantity.shape
        if key not in self._known:
            self._known[key] = quantity, self._attempt(quantity)  # while the quantity lives, so do the identities
        return self._known[key][1]

    def _attempt(self, quantity: Quantity) -> list[Any] | None:
        scope = quantity.scope
        patience = 3 if scope.quaternions else 1  # their unit length makes short what is long at first
        if quantity.cost.operations > patience * LARGEST:
            return None
        try:
            budget = patience * BUDGET
            (entries,) = closed_forms(quantity.program, scope.symbols, self._rates, scope.unit_vectors, budget)
        except Swell:
            return None
        return entries if sum(len(str(x)) for x in entries) <= LONGEST else None

    def rows(self, quantity: Quantity, symbol: str | None = None) -> Rows | None:
        """A quantity laid out on a page; None if it is too long.

        Args:
            quantity: what to show.
            symbol: what it is called, LaTeX; by default its own symbol.
        """
        entries = self.closed(quantity)
        if entries is None:
            return None
        rows = array_rows(symbol or quantity.symbol, entries, quantity.shape, self.notation)
        fits = all(r"\begin" in right or width(right) <= WIDEST for _, right in rows)
        return rows if fits and len(rows) <= self._most_lines else None


def definitions(equations: Equations, parts: Mapping[str, Quantity], notation: Notation) -> tuple[Rows, Rows] | None:
    """Several parts as one sequence of named values: the definitions, and the entries in terms of them.

    What is needed by several parts is computed once. None if the sequence is too long to be of use on paper.

    Args:
        equations: whose parts these are.
        parts: name -> quantity.
        notation: how symbols are written.
    """
    from dalembert.compiler.printers.sympy import to_sympy_steps

    program = equations.scope.program({name: part.values for name, part in parts.items()}, "equations")
    if cost(program).operations > LONGEST_SEQUENCE:
        return None
    plain = dataclasses.replace(program, labels={})  # labels count from zero, entries on paper from one
    named, outputs = to_sympy_steps(plain, equations.scope.symbols)
    steps = [(notation.latex(symbol), f"= {notation.latex(value)}") for symbol, value in named]
    results: Rows = []
    for name, part in parts.items():
        results += entry_rows(part.symbol, list(outputs[name]), part.shape, notation)
    return steps, results
