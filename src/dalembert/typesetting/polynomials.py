"""Exact polynomials in symbols, sines and cosines: the arithmetic behind closed forms.

A polynomial is a dict from monomials to rational coefficients. A monomial is one integer: the exponent of generator
k stands in its k-th byte, so that multiplying monomials is adding integers. Each *angle* has two generators, its sine
and its cosine; squares of sines are replaced by 1 - cos^2 as they arise, so equal functions are equal dicts. Angles are
integer combinations of *atoms* (coordinates or products of symbols). Quotients are polynomials too: the reciprocal of
a polynomial is one more generator, which cancels against its opposite where that is a single generator.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from math import gcd
from typing import Any

Coefficient = Fraction | int
Polynomial = dict[int, Coefficient]
Angle = tuple[tuple[int, int], ...]
"""((atom, multiple), ...) sorted by atom, no zero multiples, the first multiple positive."""

ONE: Polynomial = {0: 1}
RESIDUE = 1e-14
"""What is smaller than this fraction of the terms of a sum of rounded numbers, rounding has left of zero."""

BYTE, BITS = 0xFF, 8


class Swell(Exception):
    """The expression is too large to be written out."""


class Algebra:
    """Generators with their relations, and arithmetic within a budget of elementary steps.

    Args:
        budget: number of term operations after which ``Swell`` is raised.
        rounded: coefficients are only as exact as floats: a sum that is tiny beside its terms is zero.
    """

    def __init__(self, budget: int = 2_000_000, rounded: bool = False):
        self.left = budget
        self.rounded = rounded
        self.generators: list[Any] = []  # what each generator stands for: ("symbol", x), ("sin", angle), ...
        self._index: dict[Hashable, int] = {}
        self._squares: dict[int, Polynomial] = {}  # generator -> its square, for sines and square roots
        self._square_mask = 0
        self.trig_mask = 0
        self.angles: dict[Angle, tuple[int, int]] = {}  # angle -> (sine, cosine) generators
        self.reciprocals: dict[int, Polynomial] = {}  # generator -> the polynomial it is the reciprocal of
        self._opposites: dict[int, int] = {}  # reciprocal generator -> the single generator it cancels
        self._opposite_mask = 0

    # ---------------------------------------------------------------------------------------------------- generators

    def generator(self, key: Hashable) -> int:
        """Index of the generator that stands for ``key``, made if it is new."""
        if key not in self._index:
            self._index[key] = len(self.generators)
            self.generators.append(key)
        return self._index[key]

    def symbol(self, key: Hashable) -> Polynomial:
        """The polynomial of one generator."""
        return {1 << BITS * self.generator(key): 1}

    def root(self, key: Hashable, square: Polynomial) -> Polynomial:
        """A generator whose square is a known polynomial."""
        k = self.generator(key)
        self._squares[k] = square
        self._square_mask |= (BYTE - 1) << BITS * k
        return {1 << BITS * k: 1}

    def sine_cosine(self, angle: Angle) -> tuple[int, int]:
        """Generators of sine and cosine of a (non-empty, normalised) angle."""
        if angle not in self.angles:
            s, c = self.generator(("sin", angle)), self.generator(("cos", angle))
            self.angles[angle] = (s, c)
            self._squares[s] = {0: 1, 2 << BITS * c: -1}
            self._square_mask |= (BYTE - 1) << BITS * s
            self.trig_mask |= (BYTE << BITS * s) | (BYTE << BITS * c)
        return self.angles[angle]

    def reciprocal(self, p: Polynomial) -> Polynomial:
        """1 / p: a number, products of reciprocals of generators, or one new generator.

        Args:
            p: not zero.
        """
        if not p:
            raise Swell  # division by zero: nothing sensible can be written down
        above = ONE
        for k, x in list(self.reciprocals.items()):  # fractions within p are cleared first
            highest = max(mono >> BITS * k & BYTE for mono in p)
            if highest:
                p, above = self._cleared(p, k, highest), self.multiply(above, self.power(x, highest))
        return self.multiply(above, self._plain_reciprocal(p))

    def _cleared(self, p: Polynomial, k: int, highest: int) -> Polynomial:
        """p times the highest power of the polynomial that generator k is the reciprocal of."""
        parts: dict[int, Polynomial] = {}
        for mono, c in p.items():  # power by power: a sum for every term would copy the sum every time
            e = mono >> BITS * k & BYTE
            parts.setdefault(e, {})[mono - (e << BITS * k)] = c
        total: Polynomial = {}
        for e, part in parts.items():
            total = self.add(total, self.multiply(part, self.power(self.reciprocals[k], highest - e)))
        return total

    def _plain_reciprocal(self, p: Polynomial) -> Polynomial:
        """1 / p for a polynomial without fractions."""
        if not p:
            raise Swell
        factor, common = content(p)
        rest = divided(p, factor, common)
        result = {0: _whole(1 / Fraction(factor))}
        for k, e in self.exponents(common):
            one: Polynomial = {1 << BITS * k: 1}  # a sign is its own reciprocal
            own = one if self._squares.get(k) == ONE else self._reciprocal_generator(one)
            result = self.multiply(result, self.power(own, e))
        return result if rest == ONE else self.multiply(result, self._reciprocal_generator(rest))

    def _reciprocal_generator(self, p: Polynomial) -> Polynomial:
        r = self.generator(("reciprocal", tuple(sorted(p.items()))))
        if r not in self.reciprocals:
            self.reciprocals[r] = p
            if len(p) == 1:
                self._opposites[r] = (next(iter(p)).bit_length() - 1) // BITS
                self._opposite_mask |= BYTE << BITS * r
        return {1 << BITS * r: 1}

    def _cancelled(self, mono: int) -> int:
        """x times 1/x is one."""
        if mono & self._opposite_mask:
            for r, k in self._opposites.items():
                shared = min(mono >> BITS * r & BYTE, mono >> BITS * k & BYTE)
                mono -= (shared << BITS * r) + (shared << BITS * k)
        return mono

    # ---------------------------------------------------------------------------------------------------- arithmetic

    def spend(self, steps: int) -> None:
        """Take steps from the budget."""
        self.left -= steps
        if self.left < 0:
            raise Swell

    def add(self, p: Polynomial, r: Polynomial, factor: Coefficient = 1) -> Polynomial:
        """p + factor r"""
        self.spend(len(r) + 1)
        total = dict(p)
        for mono, c in r.items():
            c = self._sum(total.get(mono, 0), factor * c)
            if c:
                total[mono] = c
            else:
                total.pop(mono, None)
        return total

    def multiply(self, p: Polynomial, r: Polynomial) -> Polynomial:
        """p r, reduced by all relations."""
        if r == ONE:
            return p
        if p == ONE:
            return r
        self.spend(len(p) * len(r) + 1)
        total: Polynomial = {}
        for a, x in p.items():
            for b, y in r.items():
                mono = self._cancelled(a + b) if self._opposite_mask else a + b
                total[mono] = self._sum(total[mono], x * y) if mono in total else x * y
        high = self._high_bits()
        if any(mono & high for mono in total):  # exponents stay below 128, so that a sum never leaves its byte
            raise Swell
        return self.reduce(total)

    def _sum(self, a: Coefficient, b: Coefficient) -> Coefficient:
        total = a + b
        if self.rounded and a and (a < 0) != (b < 0) and abs(float(total)) < RESIDUE * abs(float(b)):
            return 0
        return total

    def _high_bits(self) -> int:
        return ((1 << BITS * len(self.generators)) - 1) // BYTE * 0x80

    def scale(self, p: Polynomial, factor: Coefficient) -> Polynomial:
        """factor p"""
        return {mono: factor * c for mono, c in p.items()} if factor else {}

    def power(self, p: Polynomial, exponent: int) -> Polynomial:
        """p to a natural power."""
        result = ONE
        for _ in range(exponent):
            result = self.multiply(result, p)
        return result

    def reduce(self, p: Polynomial) -> Polynomial:
        """The canonical form: no square of a generator whose square is known, no zero coefficient."""
        mask = self._square_mask
        waiting = {mono: c for mono, c in p.items() if mono & mask and c}
        if not waiting:
            return {mono: c for mono, c in p.items() if c}
        done = {mono: c for mono, c in p.items() if not mono & mask and c}
        while waiting:
            self.spend(1)
            mono, c = waiting.popitem()
            k = ((mono & mask).bit_length() - 1) // BITS
            for square, y in self._squares[k].items():
                new = self._cancelled(mono - (2 << BITS * k) + square)
                target = waiting if new & mask else done
                target[new] = self._sum(target.get(new, 0), c * y)
                if not target[new]:
                    del target[new]
        return done

    def exponents(self, mono: int) -> list[tuple[int, int]]:
        """(generator, exponent) pairs of a monomial."""
        pairs, k = [], 0
        while mono:
            if e := mono & BYTE:
                pairs.append((k, e))
            mono >>= BITS
            k += 1
        return pairs

    # ------------------------------------------------------------------------------------------------------- angles

    def trigonometric(self, angle: dict[int, int]) -> tuple[Polynomial, Polynomial]:
        """Sine and cosine of a combination {atom: multiple}, written in sines and cosines of the atoms."""
        sine: Polynomial = {}
        cosine: Polynomial = ONE
        for atom, multiple in sorted(angle.items()):
            s, c = self.sine_cosine(((atom, 1),))
            unit_s: Polynomial = {1 << BITS * s: 1 if multiple > 0 else -1}
            unit_c: Polynomial = {1 << BITS * c: 1}
            for _ in range(abs(multiple)):
                sine, cosine = (
                    self.add(self.multiply(sine, unit_c), self.multiply(cosine, unit_s)),
                    self.add(self.multiply(cosine, unit_c), self.multiply(sine, unit_s), -1),
                )
        return sine, cosine

    def substituted(self, p: Polynomial, values: dict[int, Polynomial]) -> Polynomial:
        """p with polynomials in the place of some generators."""
        total: Polynomial = {}
        for mono, c in p.items():
            term: Polynomial = {0: c}
            for k, e in self.exponents(mono):
                term = self.multiply(term, self.power(values.get(k, {1 << BITS * k: 1}), e))
            total = self.add(total, term)
        return total


def normal(angle: dict[int, int]) -> tuple[Angle, int]:
    """An angle with positive first multiple, and the sign that was taken out."""
    pairs = tuple(sorted((atom, k) for atom, k in angle.items() if k))
    if pairs and pairs[0][1] < 0:
        return tuple((atom, -k) for atom, k in pairs), -1
    return pairs, 1


def content(p: Polynomial) -> tuple[Coefficient, int]:
    """Greatest common rational factor (with the sign of the leading term) and common monomial."""
    numerators, denominators, common = 0, 1, None
    for mono, c in p.items():
        c = Fraction(c)
        numerators = gcd(numerators, c.numerator)
        denominators = denominators * c.denominator // gcd(denominators, c.denominator)
        common = mono if common is None else common_monomial(common, mono)
    factor = Fraction(numerators, denominators)
    if p[max(p)] < 0:
        factor = -factor
    return (int(factor) if factor.denominator == 1 else factor), common or 0


def common_monomial(a: int, b: int) -> int:
    """Greatest common divisor of two monomials."""
    result, shift = 0, 0
    while a and b:
        result |= min(a & BYTE, b & BYTE) << shift
        a, b, shift = a >> BITS, b >> BITS, shift + BITS
    return result


def divided(p: Polynomial, factor: Coefficient, mono: int) -> Polynomial:
    """p without a common factor and monomial."""
    return {m - mono: _whole(Fraction(c) / factor) for m, c in p.items()}


def _whole(c: Fraction) -> Coefficient:
    return c.numerator if c.denominator == 1 else c
