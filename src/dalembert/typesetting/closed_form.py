"""From a program to closed form: every result written out and simplified to textbook shape.

A program is evaluated over exact polynomials in its inputs, sines, cosines and reciprocals; these are then written with
terms collected, fractions over one denominator and lengths as sums of squares. The answer is exact: floats that are
short decimals, small fractions, their square roots or multiples of pi are taken for these. If one is none of these, the
answer is as exact as floats are: roots are decimals too, and what rounding leaves of zero is zero. The work is bounded:
what would swell beyond the budget raises ``Swell`` and is left to the caller.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy

from dalembert.tracing.evaluate import interpret, output_values
from dalembert.tracing.program import PREDICATES, Program
from dalembert.tracing.sympy import OPERATIONS
from dalembert.typesetting.exact_numbers import exact_form, is_fraction, written_fraction
from dalembert.typesetting.polynomials import (
    BITS,
    BYTE,
    ONE,
    Algebra,
    Polynomial,
    Swell,
    content,
    divided,
    quotient,
    square_root,
    squares,
)
from dalembert.typesetting.trigonometry import Form, Terms, shortest

MOST_ATOMS = 5
"""Sums of more angles than this stay as they are."""

MOST_ODD_NUMBERS = 12
"""Constants without a short exact form, beyond which there is no textbook shape to be had."""

LARGEST, MOST_TERMS = 50_000, 400
"""Symbols and functions, and terms, of one expression beyond which it is not written out."""

DROWNED = 1e-15
"""Coefficients of sines and cosines that are this small beside others are lost in the rounding of these."""

MOST_DIGITS = 10**6
"""Integers below this may remain in a sum when a common factor is taken out."""


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
    trial = Simplifier(budget)
    for node in program.nodes:
        if node.op == "const":
            trial.number(node.value)
    simplifier = Simplifier(budget, rates, units, trial.has_odd_numbers)
    elements = [[simplifier.symbol(x) for x in symbols[port.name]] for port in program.inputs]
    values = interpret(program, elements, simplifier.operations(), simplifier.number)
    return [[simplifier.expression(x) for x in row] for row in output_values(program, values)]


class Simplifier:
    """Operations of a program -> polynomials -> SymPy expressions in textbook shape.

    Args:
        budget: how many elementary steps may be spent before ``Swell`` is raised.
        rates: symbols by whose products terms may be collected: velocities.
        units: symbols of unit vectors; the square of the last is written in those of the others.
        rounded: numbers are only as exact as floats; what the largest sine or cosine drowns is not written.
    """

    def __init__(
        self, budget: int, rates: Sequence[Any] = (), units: Sequence[Sequence[Any]] = (), rounded: bool = False
    ):
        self.algebra = Algebra(budget, rounded)
        self.rate_mask = 0
        for x in rates:
            self.rate_mask |= BYTE << BITS * self.algebra.generator(("symbol", x))
        for *others, last in units:
            square = {2 << BITS * self.algebra.generator(("symbol", x)): -1 for x in others}
            self.algebra.root(("symbol", last), {0: 1, **square})
        self.atoms: list[Polynomial] = []  # what the angles are combinations of
        self._trig: dict[tuple, Terms] = {}
        self._written: dict[Any, Any] = {}
        self._sizes: dict[int, int] = {}
        self._odd: set[float] = set()  # numbers without a short exact form

    # ----------------------------------------------------------------------------------- from operations to polynomials

    def symbol(self, x: Any) -> Polynomial:
        """An input."""
        return self.algebra.symbol(("symbol", x))

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

    # ---------------------------------------------------------------------------------- from polynomials to expressions

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
        lengths = [k for k in single if algebra.generators[_only(algebra.reciprocals[k])][0] == "sqrt"]
        if len(lengths) == 1:
            beside = self._beside(p, lengths[0])
            if beside:
                return self.expression(beside) + self.expression({x: c for x, c in p.items() if x not in beside})
        if len(lengths) > 1:  # each length divides its own terms
            single = {k: e for k, e in single.items() if k not in lengths}
        for k, e in single.items():
            for _ in range(e):  # one by one: the square of a sine is no longer a sine, and would not cancel
                p = algebra.multiply(p, algebra.reciprocals[k])
        below = sympy.Mul(*(self._plain(algebra.reciprocals[k]) ** e for k, e in single.items()))
        mask = sum(BYTE << BITS * k for k in highest if k not in single)
        parts: dict[int, Polynomial] = {}
        for mono, c in p.items():
            parts.setdefault(mono & mask, {})[mono & ~mask] = c
        parts = self._shortened(parts)
        terms = []
        for fraction, numerator in parts.items():
            divisors = [(algebra.reciprocals[k], e) for k, e in algebra.exponents(fraction)]
            above = sympy.factor_terms(self.polynomial(numerator))
            terms.append(above / sympy.Mul(*(self.polynomial(x) ** e for x, e in divisors)))
        return sympy.Add(*terms) / below

    def _beside(self, p: Polynomial, length: int) -> Polynomial:
        """The terms that have nothing in common with those that are divided by a length: friction beside a spring."""
        factors = {mono: {k for k, _ in self.algebra.exponents(mono)} for mono in p}
        divided_by_it = set().union(*(x for x in factors.values() if length in x))
        return {mono: p[mono] for mono, own in factors.items() if not own & divided_by_it}

    def _shortened(self, parts: dict[int, Polynomial]) -> dict[int, Polynomial]:
        """Numerators by denominators; a denominator that divides its numerator is gone."""
        algebra = self.algebra
        result: dict[int, Polynomial] = {}
        for fraction, numerator in parts.items():
            for k, e in algebra.exponents(fraction):
                for _ in range(e):
                    algebra.spend(len(numerator) * len(algebra.reciprocals[k]))
                    whole = quotient(numerator, algebra.reciprocals[k])
                    if whole is None:
                        break
                    numerator, fraction = whole, fraction - (1 << BITS * k)
            result[fraction] = algebra.add(result.get(fraction, {}), numerator)
        return result

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
            least = DROWNED * max(abs(float(c)) for c in trig.values()) if self.algebra.rounded else 0
            for form, c in shortest(self.algebra, divided(trig, factor, 0), self._trig).items():
                if abs(float(factor * c)) > least:
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
        short = all(-MOST_DIGITS < c < MOST_DIGITS for c in rest.values())
        if not is_fraction(factor):  # 0.01 (100 a + 9 b) is a + 0.09 b
            short = short and not any(map(is_fraction, p.values()))
        if not short:  # the common factor of two floats is a power of two, and does not help
            factor = 1 if factor > 0 else -1
            rest = divided(p, factor, mono)
        inner = self._plain(rest)
        if short and 2 < len(rest) <= 16:
            lengths = {x: sympy.Dummy() for x in inner.atoms(sympy.Pow) if not x.exp.is_Integer}
            inner = sympy.factor(inner.xreplace(lengths)).xreplace({name: x for x, name in lengths.items()})
        return [written_fraction(factor), self._monomial(mono), inner]

    def _plain(self, p: Polynomial) -> sympy.Expr:
        return sympy.Add(*(written_fraction(c) * self._monomial(mono) for mono, c in p.items()))

    def _monomial(self, mono: int) -> sympy.Expr:
        exponents = dict(self.algebra.exponents(mono))
        factors = []
        for sign in [k for k in exponents if self.algebra.generators[k][0] == "sign"]:
            what = dict(self.algebra.generators[sign][1])
            k = _only(what) if len(what) == 1 else -1
            if k in exponents:  # x times its sign is |x|
                factors.append(sympy.Abs(self._generator(k)))
                exponents[k] -= 1
                del exponents[sign]
        return sympy.Mul(*factors, *(self._generator(k) ** e for k, e in exponents.items()))

    def _generator(self, k: int) -> sympy.Expr:
        kind, what = self.algebra.generators[k]
        if kind == "symbol":
            return what
        if kind == "sqrt":
            return sympy.sqrt(self._sum_of_squares(dict(what)))
        if kind == "sign":
            return sympy.sign(self._plain(dict(what)))
        if kind == "reciprocal":
            return 1 / self.polynomial(dict(what))
        return self._function(kind, what)

    def _sum_of_squares(self, p: Polynomial) -> sympy.Expr:
        """p, written as the square of a distance if it is one."""
        fractions = any(k in self.algebra.reciprocals for mono in p for k, _ in self.algebra.exponents(mono))
        parts = None if fractions else squares(p)
        if parts is None:
            return self.expression(p)
        return sympy.Add(*(self._plain(root) ** 2 if len(root) > 1 else self._plain(part) for part, root in parts))

    def _function(self, kind: str, angle: Any) -> sympy.Expr:
        if (kind, angle) not in self._written:
            argument = sympy.Add(*(k * self.expression(self.atoms[atom]) for atom, k in angle))
            self._written[kind, angle] = getattr(sympy, kind)(argument)
        return self._written[kind, angle]


def _constant(value: Fraction) -> Polynomial:
    return {0: value.numerator if value.denominator == 1 else value} if value else {}


def _only(p: Polynomial) -> int:
    """The generator of a polynomial that is one generator."""
    return (next(iter(p)).bit_length() - 1) // BITS
