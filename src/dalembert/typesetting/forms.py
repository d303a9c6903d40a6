"""Which form a quantity takes on paper: written out if that is short, a sequence of named values if not."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from dalembert.tracing.cost import cost
from dalembert.tracing.program import Program
from dalembert.typesetting.closed_form import closed_forms
from dalembert.typesetting.layout import (
    LONGEST,
    MOST_LINES,
    WIDEST,
    WIDTH,
    Rows,
    array_rows,
    entry_rows,
    sum_rows,
    width,
)
from dalembert.typesetting.notation import Notation
from dalembert.typesetting.polynomials import Swell

BUDGET = 30_000
"""Elementary steps spent on writing out one quantity; what needs more would fill pages."""

LARGEST = 2_400
"""Operations of a quantity for which writing it out is tried; those of Euler angles are many before they cancel."""

LONGEST_SEQUENCE = 6_000
"""Operations of a sequence of named values that is still printed."""

COLUMN, NAME = 32, 6
"""Letters a line of a sequence may have, which is set in two columns, and of the name of an entry."""

RESIDUE = 1e-13
"""Terms of numbers below this share of the largest are rounding."""

LEAST_SIGNED = 1e-6
"""What is smaller than this in a typical state, where sizes are of the order of one, has no sign there."""

Definitions = list[tuple[Any, Any]]


class Symbols(Protocol):
    """The symbols of a derivation."""

    @property
    def symbols(self) -> Mapping[str, Sequence[Any]]:
        """For each input of a program its SymPy symbols, flat."""

    @property
    def defined(self) -> Sequence[str]:
        """Names of quantities that others are written in terms of, so that they have to be on paper."""

    @property
    def unit_vectors(self) -> Sequence[Sequence[Any]]:
        """Symbols of quaternions, whose unit length shortens formulas."""


class Derived(Protocol):
    """An array of expressions with a symbol of its own."""

    @property
    def scope(self) -> Symbols:
        """The symbols in it."""

    @property
    def name(self) -> str:
        """What it is, an identifier."""

    @property
    def symbol(self) -> str:
        """What it is called, LaTeX."""

    @property
    def values(self) -> np.ndarray:
        """Traced scalars and numbers."""

    @property
    def program(self) -> Program:
        """What computes it."""


class Forms:
    """Closed forms of the quantities of one derivation, each worked out once.

    Args:
        most_lines: that one quantity may take.
        typical: numbers for symbols in a state that formulas are written for. What stands under a square root of its
            square there, such as a radius or the cosine of a lean, keeps its sign, so that no absolute values are left.
    """

    def __init__(self, notation: Notation, most_lines: int = MOST_LINES, typical: Mapping[Any, float] | None = None):
        self.notation, self._most_lines = notation, most_lines
        self._typical = dict(typical or {})
        self.assumed: list[Any] = []
        """Expressions that formulas so far take to be positive."""
        self._known: dict[Any, tuple[Derived, list[Any] | None]] = {}

    def closed(self, quantity: Derived) -> list[Any] | None:
        """The entries, flat, as simplified expressions; None if that would be too long to be of use.

        Args:
            quantity: of this derivation, or of another with the same symbols.
        """
        key = tuple(map(id, quantity.values.flat)), quantity.values.shape
        if key not in self._known:
            self._known[key] = quantity, self._attempt(quantity)  # while the quantity lives, so do the identities
        return self._known[key][1]

    def _attempt(self, quantity: Derived) -> list[Any] | None:
        if cost(quantity.program).operations > LARGEST:
            return None
        symbols, units = quantity.scope.symbols, quantity.scope.unit_vectors
        rates = [x for port in ("v", "u") for x in symbols.get(port, ())]
        budget = BUDGET * (3 if units else 1)  # the unit length of quaternions makes short what is long at first
        try:
            (entries,) = closed_forms(quantity.program, symbols, rates, units, budget)
        except Swell:
            return None
        if self.notation.decimal:
            entries = without_residues(entries)
        entries = [self.signed(entry) for entry in entries]
        return entries if sum(len(str(x)) for x in entries) <= LONGEST else None

    def signed(self, expression: Any) -> Any:
        """The expression without the absolute values and signs of what has a sign in the typical state.

        Args:
            expression: of SymPy.
        """
        import sympy

        known: dict[Any, Any] = {}
        for x in expression.atoms(sympy.Abs, sympy.sign):
            (inner,) = x.args
            value = inner.subs(self._typical)
            if not (value.is_number and value.is_finite and abs(value) > LEAST_SIGNED):
                continue
            sign = 1 if value > 0 else -1
            known[x] = sign * inner if isinstance(x, sympy.Abs) else sympy.Integer(sign)
            if (positive := sign * inner) not in self.assumed:
                self.assumed.append(positive)
        return expression.xreplace(known) if known else expression

    def rows(self, quantity: Derived) -> Rows | None:
        """A quantity laid out on a page; None if it is too long."""
        entries = self.closed(quantity)
        if entries is None:
            return None
        rows = array_rows(quantity.symbol, entries, quantity.values.shape, self.notation)
        if quantity.name in quantity.scope.defined:  # others are written in terms of it
            return rows
        fits = all(r"\begin" in right or width(right) <= WIDEST for _, right in rows)
        return rows if fits and len(rows) <= self._most_lines else None


def without_residues(entries: list[Any]) -> list[Any]:
    """The entries of an array without terms that only rounding left, far below the largest of all.

    Args:
        entries: expressions whose coefficients are numbers.
    """
    least = RESIDUE * max(map(_size, entries), default=0.0)
    return [_cleaned(entry, least) for entry in entries]


def _cleaned(expression: Any, least: float) -> Any:
    """An expression without terms smaller than that, also in the sums among its factors."""
    whole = _size(expression)
    if whole < least or whole == 0:
        return expression * 0
    if expression.is_Mul:
        factors = [_cleaned(x, least * _size(x) / whole) if x.is_Add else x for x in expression.args]
        return expression.func(*factors)
    if expression.is_Add:
        return expression.func(*(_cleaned(x, least) for x in expression.args))
    return expression


def _size(expression: Any) -> float:
    """Roughly how large an expression is where coordinates and velocities are of the order of one."""
    if expression.is_number:
        return abs(float(expression)) if expression.is_finite else math.inf
    if expression.is_Add:
        return max(map(_size, expression.args))
    if expression.is_Mul:
        return math.prod(map(_size, expression.args))
    if expression.is_Pow and expression.exp.is_Integer:
        return float(_size(expression.base) ** int(expression.exp))
    return 1.0


def definitions(program: Program, parts: Mapping[str, Derived], notation: Notation) -> tuple[Rows, Rows] | None:
    """Several quantities as one sequence of named values: the definitions, and the entries in terms of them.

    What several of them need is computed once. None if the sequence is too long to be of use on paper.

    Args:
        program: computes all of them.
        parts: its outputs by name.
    """
    from dalembert.tracing.sympy import to_sympy_steps

    if cost(program).operations > LONGEST_SEQUENCE:
        return None
    plain = dataclasses.replace(program, labels={})  # entries are named at the end
    named, outputs = to_sympy_steps(plain, next(iter(parts.values())).scope.symbols)
    named, entries = narrowed(named, {name: list(outputs[name]) for name in parts}, notation)
    steps: Rows = []
    for symbol, value in named:
        steps += sum_rows(notation.latex(symbol), notation.terms(value), most=COLUMN)
    results: Rows = []
    for name, part in parts.items():
        results += entry_rows(part.symbol, entries[name], part.values.shape, notation)
    return steps, results


def narrowed(
    named: Definitions, entries: Mapping[str, list[Any]], notation: Notation
) -> tuple[Definitions, dict[str, list[Any]]]:
    """The same with names for the sums within terms that are too wide for a line, for these have no place to break.

    Args:
        named: definitions, each in terms of those before it.
        entries: expressions in terms of all definitions.
    """
    import sympy

    found: Definitions = []

    def narrow(expression: Any, room: float) -> Any:
        if all(width(term) <= room for term in notation.terms(expression)):
            return expression
        return expression.func(*map(within, expression.args)) if expression.is_Add else within(expression)

    def within(term: Any) -> Any:
        """A term whose sums have got names, the innermost first."""
        if not term.args:
            return term
        changed = term.func(*map(within, term.args))
        if not changed.is_Add:
            return changed
        found.append((sympy.Dummy(), changed))
        return found[-1][0]

    for symbol, value in named:
        short = narrow(value, COLUMN)
        found.append((symbol, short))
    left = {name: [narrow(x, WIDTH - NAME) for x in row] for name, row in entries.items()}
    own = {symbol for symbol, _ in found}
    used = set().union(*(x.free_symbols for x in (*(v for _, v in found), *itertools.chain(*left.values()))))
    taken = {str(symbol).replace("_", "") for symbol in used - own}  # x_1 and x1 look alike
    free = (name for name in map("x{}".format, itertools.count()) if name not in taken)
    names = {symbol: sympy.Symbol(name, real=True) for (symbol, _), name in zip(found, free)}
    return (
        [(names[symbol], value.xreplace(names)) for symbol, value in found],
        {name: [x.xreplace(names) for x in row] for name, row in left.items()},
    )
