"""From a program to closed form: every result written out and simplified to textbook shape.

A program is evaluated over exact polynomials in its inputs, sines, cosines and reciprocals. The answer is exact
(floats that are short decimals, small fractions, their square roots or multiples of pi are taken for these), and the
work is bounded: what would swell beyond the budget raises ``Swell`` and is left to the caller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy

from dalembert.compiler.evaluate import interpret
from dalembert.compiler.printers.sympy import OPERATIONS
from dalembert.compiler.program import PREDICATES, Program
from dalembert.formulations.polynomials import BITS, BYTE, Algebra, Coefficient, Polynomial, Swell, content, divided
from dalembert.formulations.trigonometry import Form, Terms, shortest

MOST_ATOMS = 5
"""Sums of more angles than this stay as they are."""

LARGEST, MOST_TERMS = 50_000, 400
"""Symbols and functions, and terms, of one expression beyond which it is not written out."""

MOST_ODD_NUMBERS = 12
"""Constants without a short exact form, beyond which there is no textbook shape to be had."""


def closed_forms(
    program: Program,
    symbols: Mapping[str, Sequence[Any]],
    rates: Sequence[Any] = (),
    budget: int = 2_000_000,
) -> list[list[Any]]:
    """Every result of a program as a simplified SymPy expression, in the order of its outputs and elements.

    Args:
        program: what to write out.
        symbols: for each input its SymPy symbols, flat.
        rates: symbols by whose products terms may be collected: velocities.
        budget: how many elementary steps may be spent before ``Swell`` is raised.
    """
    writer = Writer(budget, rates)
    elements = [[writer.symbol(x) for x in symbols[port.name]] for port in program.inputs]
    values = interpret(program, elements, writer.operations(), writer.number)
    return [[writer.expression(values[k]) for k in row] for row in program.results]


class Writer:
    """From operations to polynomials, and from polynomials to SymPy.

    Args:
        budget: see :func:`closed_forms`.
        rates: see there.
    """

    def __init__(self, budget: int, rates: Sequence[Any] = ()):
        self.algebra = Algebra(budget)
        self.rate_mask = 0
        for x in rates:
            self.rate_mask |= BYTE << BITS * self.algebra.generator(("symbol", x))
        self.atoms: list[Polynomial] = []  # what the angles are combinations of
        self._trig: dict[tuple, Terms] = {}
        self._written: dict[Any, Any] = {}
        self._sizes: dict[int, int] = {}
        self._odd: set[float] = set()

    # --------------------------------------------------------------------------------------------- reading a program

    def symbol(self, x: Any) -> Polynomial:
        """An input."""
        return self.algebra.symbol(("symbol", x))

    def number(self, value: float) -> Polynomial:
        """A constant, made exact where it looks as if it had been."""
        if not math.isfinite(value):
            return self.symbol(sympy.nan if math.isnan(value) else sympy.oo if value > 0 else -sympy.oo)
        exact = Fraction(value).limit_denominator(10**6)
        if abs(float(exact) - value) <= 1e-15 * abs(value):
            return _constant(exact)
        square = Fraction(value * value).limit_denominator(1000)
        if abs(float(square) - value * value) <= 1e-15 * value * value:
            root = sympy.sqrt(sympy.Rational(square.numerator, square.denominator))
            factor, rest = root.as_coeff_Mul()
            generator = self.algebra.root(("symbol", rest), {0: int(rest**2)})
            return self.algebra.scale(generator, Fraction(int(factor.p), int(factor.q)) * (1 if value > 0 else -1))
        turns = Fraction(value / math.pi).limit_denominator(1000)
        if abs(float(turns) * math.pi - value) <= 4e-16 * abs(value):
            return self.algebra.scale(self.symbol(sympy.pi), turns)
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
            "sqrt": lambda a: algebra.root(("sqrt", tuple(sorted(a.items()))), a),
            "sin": lambda a: self.wave(a)[0],
            "cos": lambda a: self.wave(a)[1],
            "tan": lambda a: algebra.multiply(self.wave(a)[0], algebra.reciprocal(self.wave(a)[1])),
        }
        return table

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

    # ------------------------------------------------------------------------------------------------ writing it out

    def expression(self, p: Polynomial) -> sympy.Expr:
        """A polynomial with its fractions: over one denominator, as far as that is a product of single factors."""
        algebra = self.algebra
        if len(p) > MOST_TERMS or self._size(p) > LARGEST:
            raise Swell
        highest: dict[int, int] = {}
        for mono in p:
            for k, e in algebra.exponents(mono):
                if k in algebra.reciprocals:
                    highest[k] = max(highest.get(k, 0), e)
        if not highest:
            return self.polynomial(p)
        single = {k: e for k, e in highest.items() if len(algebra.reciprocals[k]) == 1}
        for k, e in single.items():
            p = algebra.multiply(p, algebra.power(algebra.reciprocals[k], e))
        below = sympy.Mul(*(self._plain(algebra.reciprocals[k]) ** e for k, e in single.items()))
        mask = sum(BYTE << BITS * k for k in highest if k not in single)
        parts: dict[int, Polynomial] = {}
        for mono, c in p.items():
            parts.setdefault(mono & mask, {})[mono & ~mask] = c
        terms = []
        for fraction, numerator in parts.items():
            divisors = [(algebra.reciprocals[k], e) for k, e in algebra.exponents(fraction)]
            above = sympy.factor_terms(self.polynomial(numerator))
            terms.append(above / sympy.Mul(*(self.polynomial(x) ** e for x, e in divisors)))
        return sympy.Add(*terms) / below

    def _size(self, p: Polynomial) -> int:
        """Symbols and functions in p when it is written out."""
        return sum(self._generator_size(k) for mono in p for k, _ in self.algebra.exponents(mono))

    def _generator_size(self, k: int) -> int:
        if k not in self._sizes:
            kind, what = self.algebra.generators[k]
            if kind in ("sin", "cos"):
                size = sum(self._size(self.atoms[atom]) for atom, _ in what)
            else:
                size = 0 if kind == "symbol" else self._size(dict(what))
            self._sizes[k] = 1 + size
        return self._sizes[k]

    def polynomial(self, p: Polynomial) -> sympy.Expr:
        """A polynomial, its sines and cosines in the shortest form, terms collected by these."""
        mask = self.algebra.trig_mask
        groups: dict[int, Polynomial] = {}
        for mono, c in p.items():
            groups.setdefault(mono & ~mask, {})[mono & mask] = c
        collected: dict[Form, Polynomial] = {}
        for rest, trig in groups.items():
            factor, _ = content(trig)
            for form, c in shortest(self.algebra, divided(trig, factor, 0), self._trig).items():
                collected.setdefault(form, {})[rest] = factor * c
        terms = [self._collected(form, coefficient) for form, coefficient in sorted(collected.items())]
        return sympy.Add(*terms)

    def _collected(self, form: Form, coefficient: Polynomial) -> sympy.Expr:
        waves = [self._function(kind, angle) ** e for (kind, angle), e in form]
        factors = self._factored(coefficient)
        parts: dict[int, Polynomial] = {}
        for mono, c in coefficient.items():
            parts.setdefault(mono & self.rate_mask, {})[mono & ~self.rate_mask] = c
        if 1 < len(parts) < len(coefficient):
            by_rates = sympy.Add(*(sympy.Mul(*self._factored(p), self._monomial(m)) for m, p in parts.items()))
            if sympy.count_ops(by_rates) < sympy.count_ops(sympy.Mul(*factors)):
                factors = [by_rates]
        return sympy.Mul(*factors, *waves)

    def _factored(self, p: Polynomial) -> list[sympy.Expr]:
        """Number, common monomial, and what is left, factored if it is small."""
        factor, mono = content(p)
        rest = divided(p, factor, mono)
        inner = self._plain(rest)
        if 2 < len(rest) <= 16:
            inner = sympy.factor(inner)
        return [_shown(factor), self._monomial(mono), inner]

    def _plain(self, p: Polynomial) -> sympy.Expr:
        return sympy.Add(*(_shown(c) * self._monomial(mono) for mono, c in p.items()))

    def _monomial(self, mono: int) -> sympy.Expr:
        return sympy.Mul(*(self._generator(k) ** e for k, e in self.algebra.exponents(mono)))

    def _generator(self, k: int) -> sympy.Expr:
        kind, what = self.algebra.generators[k]
        if kind == "symbol":
            return what
        if kind == "sqrt":
            return sympy.sqrt(self.expression(dict(what)))
        if kind == "reciprocal":
            return 1 / self.polynomial(dict(what))
        return self._function(kind, what)

    def _function(self, kind: str, angle: Any) -> sympy.Expr:
        if (kind, angle) not in self._written:
            argument = sympy.Add(*(k * self.expression(self.atoms[atom]) for atom, k in angle))
            self._written[kind, angle] = getattr(sympy, kind)(argument)
        return self._written[kind, angle]


def _constant(value: Fraction) -> Polynomial:
    return {0: value.numerator if value.denominator == 1 else value} if value else {}


def _shown(c: Coefficient) -> sympy.Expr:
    """Small fractions as fractions, other numbers as decimals."""
    c = Fraction(c)
    if c.denominator <= 64:
        return sympy.Rational(c.numerator, c.denominator)
    return sympy.Float(float(c))
