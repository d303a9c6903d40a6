"""From a program to closed form: every result written out and simplified to textbook shape.

A program is evaluated over exact rational functions of its inputs, sines and cosines. The answer is exact (floats
that are short decimals, small fractions, their square roots or multiples of pi are taken for these), and the work is
bounded: what would swell beyond the budget raises ``Swell`` and is left to the caller.
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
from dalembert.formulations.polynomials import (
    BITS,
    BYTE,
    ONE,
    Algebra,
    Coefficient,
    Polynomial,
    Swell,
    common_monomial,
    content,
    divided,
)
from dalembert.formulations.trigonometry import Form, Terms, shortest

Quotient = tuple[Polynomial, Polynomial]
MOST_ATOMS = 5
"""Sums of more angles than this stay as they are."""


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
    """Arithmetic on quotients of polynomials, and their way back to SymPy.

    Args:
        budget: see :func:`closed_forms`.
        rates: see there.
    """

    def __init__(self, budget: int, rates: Sequence[Any] = ()):
        self.algebra = Algebra(budget)
        self.rate_mask = 0
        for x in rates:
            self.rate_mask |= BYTE << BITS * self.algebra.generator(("symbol", x))
        self.atoms: list[Quotient] = []  # what the angles are combinations of
        self._trig: dict[tuple, Terms] = {}
        self._written: dict[Any, Any] = {}

    # --------------------------------------------------------------------------------------------- reading a program

    def symbol(self, x: Any) -> Quotient:
        """An input."""
        return self.algebra.symbol(("symbol", x)), ONE

    def number(self, value: float) -> Quotient:
        """A constant, made exact where it looks as if it had been."""
        if not math.isfinite(value):
            return self.algebra.symbol(
                ("symbol", sympy.nan if math.isnan(value) else sympy.oo * int(math.copysign(1, value)))
            ), ONE
        exact = Fraction(value).limit_denominator(10**6)
        if float(exact) == value:
            return _constant(exact), ONE
        square = Fraction(value * value).limit_denominator(1000)
        if abs(float(square) - value * value) <= 1e-15 * value * value:
            root = sympy.sqrt(sympy.Rational(square.numerator, square.denominator))
            factor, rest = root.as_coeff_Mul()
            radicand = int(rest**2)
            generator = self.algebra.root(("symbol", rest), {0: radicand})
            return self.algebra.scale(generator, _fraction(factor) * (1 if value > 0 else -1)), ONE
        turns = Fraction(value / math.pi).limit_denominator(1000)
        if abs(float(turns) * math.pi - value) <= 4e-16 * abs(value):
            return self.algebra.scale(self.algebra.symbol(("symbol", sympy.pi)), turns), ONE
        return _constant(Fraction(value)), ONE

    def operations(self) -> dict[str, Any]:
        """What each operation of a program is here."""
        table: dict[str, Any] = {op: self._opaque(op) for op in OPERATIONS}
        table |= {
            "neg": lambda a: (self.algebra.scale(a[0], -1), a[1]),
            "add": lambda a, b: self.sum(a, b, 1),
            "sub": lambda a, b: self.sum(a, b, -1),
            "mul": self.product,
            "div": lambda a, b: self.product(a, self.reciprocal(b)),
            "sqrt": self.square_root,
            "sin": lambda a: self.wave(a)[0],
            "cos": lambda a: self.wave(a)[1],
            "tan": lambda a: self.product(self.wave(a)[0], self.reciprocal(self.wave(a)[1])),
        }
        return table

    def sum(self, a: Quotient, b: Quotient, sign: int) -> Quotient:
        """a + sign b"""
        times, plus = self.algebra.multiply, self.algebra.add
        (n, d), (m, e) = a, b
        if d == e:
            return self._reduced(plus(n, m, sign), d)
        if e == ONE:
            return self._reduced(plus(n, times(m, d), sign), d)
        if d == ONE:
            return self._reduced(plus(times(n, e), m, sign), e)
        return self._reduced(plus(times(n, e), times(m, d), sign), times(d, e))

    def product(self, a: Quotient, b: Quotient) -> Quotient:
        """a b"""
        times = self.algebra.multiply
        if a[1] == ONE == b[1]:
            return times(a[0], b[0]), ONE
        if a[0] == b[1]:
            return b[0], a[1]
        if a[1] == b[0]:
            return a[0], b[1]
        return self._reduced(times(a[0], b[0]), times(a[1], b[1]))

    def reciprocal(self, a: Quotient) -> Quotient:
        """1 / a"""
        if not a[0]:
            raise Swell
        return self._reduced(a[1], a[0])

    def _reduced(self, n: Polynomial, d: Polynomial) -> Quotient:
        """Without common number and monomial; nothing at all if the numerator vanishes."""
        if not n:
            return {}, ONE
        if d == ONE:
            return n, d
        (a, x), (b, y) = content(n), content(d)
        n, d = divided(n, a, x), divided(d, b, y)
        if n == d:
            n, d = ONE, ONE
        shared = common_monomial(x, y)
        shift, under = x - shared, y - shared
        ratio = Fraction(a) / Fraction(b)
        return (
            {m + shift: c * ratio.numerator for m, c in n.items()},
            {m + under: c * ratio.denominator for m, c in d.items()},
        )

    def square_root(self, a: Quotient) -> Quotient:
        """A generator whose square is known."""
        key = ("function", "sqrt", _frozen(a))
        if a[1] == ONE:
            return self.algebra.root(key, a[0]), ONE
        return self.algebra.symbol(key), ONE

    def wave(self, a: Quotient) -> tuple[Quotient, Quotient]:
        """Sine and cosine: of sums of angles by the sines and cosines of these."""
        numerator, denominator = a
        combination: dict[int, int] = {}
        if denominator == ONE and len(numerator) <= MOST_ATOMS and 0 not in numerator:  # a phase stays where it is
            for mono, k in numerator.items():
                size = Fraction(k) if k > 0 else -Fraction(k)
                whole = size.denominator == 1 and size <= 4
                unit: Polynomial = {mono: 1 if whole else size}
                combination[self._atom((unit, ONE))] = int(k) if whole else (1 if k > 0 else -1)
        else:
            combination[self._atom(a)] = 1
        sine, cosine = self.algebra.trigonometric(combination)
        return (sine, ONE), (cosine, ONE)

    def _atom(self, a: Quotient) -> int:
        if a not in self.atoms:
            self.atoms.append(a)
        return self.atoms.index(a)

    def _opaque(self, op: str) -> Any:
        """Functions without algebra of their own, and truth values, go through SymPy."""

        def apply(*args: Any) -> Any:
            operands = [x if isinstance(x, sympy.Basic) else self.expression(x) for x in args]
            result = OPERATIONS[op](*operands)
            return result if op in PREDICATES else (self.algebra.symbol(("symbol", result)), ONE)

        return apply

    # ------------------------------------------------------------------------------------------------ writing it out

    def expression(self, a: Quotient) -> sympy.Expr:
        """A quotient as a SymPy expression."""
        n, d = self._cancelled(*a)
        return self.polynomial(n) if d == ONE else self.polynomial(n) / self.polynomial(d)

    def _cancelled(self, n: Polynomial, d: Polynomial) -> Quotient:
        """Common factors removed, if both are small."""
        if d == ONE or len(n) + len(d) > 60 or len(d) == 1:
            return n, d
        generators = sympy.symbols(f"g:{len(self.algebra.generators)}")
        ring = sympy.ring(generators, sympy.QQ)[0]
        count = len(generators)

        def element(p: Polynomial) -> Any:
            rows = {}
            for mono, c in p.items():
                exponents = [0] * count
                for k, e in self.algebra.exponents(mono):
                    exponents[k] = e
                rows[tuple(exponents)] = sympy.QQ(Fraction(c).numerator, Fraction(c).denominator)
            return ring.from_dict(rows)

        def back(p: Any) -> Polynomial:
            return {
                sum(e << 8 * k for k, e in enumerate(exponents)): Fraction(int(c.numerator), int(c.denominator))
                for exponents, c in p.terms()
            }

        top, bottom = element(n).cancel(element(d))
        return self._reduced(back(top), back(bottom))

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
        kind, *rest = self.algebra.generators[k]
        if kind == "symbol":
            return rest[0]
        if kind == "function":
            name, (n, d) = rest
            return OPERATIONS[name](self.polynomial(dict(n)) / self.polynomial(dict(d)))
        return self._function(kind, rest[0])

    def _function(self, kind: str, angle: Any) -> sympy.Expr:
        if (kind, angle) not in self._written:
            argument = sympy.Add(*(k * self.expression(self.atoms[atom]) for atom, k in angle))
            self._written[kind, angle] = getattr(sympy, kind)(argument)
        return self._written[kind, angle]


def _constant(value: Fraction) -> Polynomial:
    return {0: value.numerator if value.denominator == 1 else value} if value else {}


def _fraction(x: Any) -> Fraction:
    return Fraction(int(x.p), int(x.q))


def _frozen(a: Quotient) -> tuple:
    return tuple(tuple(sorted(p.items())) for p in a)


def _shown(c: Coefficient) -> sympy.Expr:
    """Small fractions as fractions, other numbers as decimals."""
    c = Fraction(c)
    if c.denominator <= 64:
        return sympy.Rational(c.numerator, c.denominator)
    return sympy.Float(float(c))
