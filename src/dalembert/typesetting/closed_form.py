"""From a program to closed form: every result written out and simplified to textbook shape.

A program is evaluated over exact polynomials in its inputs, sines, cosines and reciprocals. The answer is exact
(floats that are short decimals, small fractions, their square roots or multiples of pi are taken for these). If one is
none of these, it is as exact as floats are: roots are decimals too, and what rounding leaves of zero is zero. The work
is bounded: what would swell beyond the budget raises ``Swell`` and is left to the caller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy

from dalembert.tracing.evaluate import interpret
from dalembert.tracing.program import PREDICATES, Program
from dalembert.tracing.sympy import OPERATIONS
from dalembert.typesetting.exact_numbers import exact_form
from dalembert.typesetting.polynomials import BITS, ONE, Polynomial, Swell, content, divided
from dalembert.typesetting.roots import square_root
from dalembert.typesetting.written_form import Writer

MOST_ATOMS = 5
"""Sums of more angles than this stay as they are."""

MOST_ODD_NUMBERS = 12
"""Constants without a short exact form, beyond which there is no textbook shape to be had."""


def closed_forms(
    program: Program,
    symbols: Mapping[str, Sequence[Any]],
    rates: Sequence[Any] = (),
    units: Sequence[Sequence[Any]] = (),
    budget: int = 2_000_000,
) -> list[list[Any]]:
    """Every result of a program as a simplified SymPy expression, in the order of its outputs and elements.

    Args:
        program: what to write out.
        symbols: for each input its SymPy symbols, flat.
        rates: symbols by whose products terms may be collected: velocities.
        units: symbols of unit vectors: quaternions.
        budget: how many elementary steps may be spent before ``Swell`` is raised.
    """
    trial = Reader(budget)
    for node in program.nodes:
        if node.op == "const":
            trial.number(node.value)
    reader = Reader(budget, rates, units, trial.has_odd_numbers)
    elements = [[reader.symbol(x) for x in symbols[port.name]] for port in program.inputs]
    values = interpret(program, elements, reader.operations(), reader.number)
    return [[reader.expression(values[k]) for k in row] for row in program.results]


class Reader(Writer):
    """From the operations of a program to polynomials.

    Args:
        budget: see :func:`closed_forms`.
        rates: see there.
        units: see there.
        rounded: numbers are only as exact as floats.
    """

    def __init__(
        self, budget: int, rates: Sequence[Any] = (), units: Sequence[Sequence[Any]] = (), rounded: bool = False
    ):
        super().__init__(budget, rates, units, rounded)
        self._odd: set[float] = set()

    @property
    def has_odd_numbers(self) -> bool:
        """Whether a number without a short exact form was read."""
        return bool(self._odd)

    def number(self, value: float) -> Polynomial:
        """A constant, made exact where it looks as if it had been."""
        if not math.isfinite(value):
            return self.symbol(sympy.nan if math.isnan(value) else sympy.oo if value > 0 else -sympy.oo)
        if form := exact_form(value):
            share, root = form
            if root == 1:
                return _constant(share)
            if root == sympy.pi:
                return self.algebra.scale(self.symbol(root), share)
            if self.algebra.rounded:
                return _constant(Fraction(value))
            return self.algebra.scale(self.algebra.root(("symbol", root), {0: int(root**2)}), share)
        self._odd.add(value)
        if len(self._odd) > MOST_ODD_NUMBERS:
            raise Swell
        return _constant(Fraction(value))

    def operations(self) -> dict[str, Any]:
        """What each operation of a program is here."""
        algebra = self.algebra
        table: dict[str, Any] = {op: self._opaque(op) for op in OPERATIONS}
        table |= {
            "neg": lambda a: algebra.scale(a, -1),
            "add": algebra.add,
            "sub": lambda a, b: algebra.add(a, b, -1),
            "mul": algebra.multiply,
            "div": lambda a, b: algebra.multiply(a, algebra.reciprocal(b)),
            "sqrt": self.root,
            "atan2": self.angle,
            "sin": lambda a: self.wave(a)[0],
            "cos": lambda a: self.wave(a)[1],
            "tan": lambda a: algebra.multiply(self.wave(a)[0], algebra.reciprocal(self.wave(a)[1])),
        }
        return table

    def root(self, a: Polynomial) -> Polynomial:
        """A square root: of a square r^2 it is |r|, which is r times its sign; a generator of its own otherwise."""
        s = square_root(a) if a else None
        if s is None:
            return self.algebra.root(("sqrt", tuple(sorted(a.items()))), a)
        factor, common = content(s)
        result: Polynomial = {common: -factor if factor < 0 else factor}
        for k, e in self.algebra.exponents(common):
            if e % 2 and not self._is_positive(k):
                result = self.algebra.multiply(result, self._sign({1 << BITS * k: 1}))
        rest = divided(s, factor, common)
        return result if rest == ONE else self.algebra.multiply(self.algebra.multiply(result, rest), self._sign(rest))

    def _sign(self, r: Polynomial) -> Polynomial:
        return self.algebra.root(("sign", tuple(sorted(r.items()))), ONE)

    def _is_positive(self, k: int) -> bool:
        kind, what = self.algebra.generators[k]
        return kind == "sqrt" or (kind == "symbol" and bool(what.is_positive))

    def angle(self, y: Polynomial, x: Polynomial) -> Polynomial:
        """The angle of (x, y), a common positive factor taken out."""
        if y and x:
            shares = [abs(Fraction(content(p)[0])) for p in (y, x)]
            common = Fraction(math.gcd(*(s.numerator for s in shares)), math.lcm(*(s.denominator for s in shares)))
            y, x = divided(y, common, 0), divided(x, common, 0)
        return self.symbol(sympy.atan2(self.expression(y), self.expression(x)))

    def wave(self, a: Polynomial) -> tuple[Polynomial, Polynomial]:
        """Sine and cosine: of sums of angles by the sines and cosines of these."""
        combination: dict[int, int] = {}
        if len(a) <= MOST_ATOMS and 0 not in a:  # a phase stays where it is
            for mono, k in a.items():
                size = Fraction(k) if k > 0 else -Fraction(k)
                whole = size.denominator == 1 and size <= 4
                combination[self._atom({mono: 1 if whole else size})] = int(k) if whole else (1 if k > 0 else -1)
        else:
            combination[self._atom(a)] = 1
        return self.algebra.trigonometric(combination)

    def _atom(self, a: Polynomial) -> int:
        if a not in self.atoms:
            self.atoms.append(a)
        return self.atoms.index(a)

    def _opaque(self, op: str) -> Any:
        """Functions without algebra of their own, and truth values, go through SymPy."""

        def apply(*args: Any) -> Any:
            operands = [x if isinstance(x, sympy.Basic) else self.expression(x) for x in args]
            result = OPERATIONS[op](*operands)
            return result if op in PREDICATES else self.symbol(result)

        return apply


def _constant(value: Fraction) -> Polynomial:
    return {0: value.numerator if value.denominator == 1 else value} if value else {}
