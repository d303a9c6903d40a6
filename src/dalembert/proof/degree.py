"""How large the degree of a rational function can be that an algorithm computes: the same code, run on degrees.

A value is N / (product of atoms to powers), where atoms are the numerators of whatever was divided by. Sums are
brought to the least common denominator; nothing is cancelled, so the degree of N is an upper bound.

Degrees count in the *coordinates*: parameters, and cosines, sines and components of unit vectors. Each circle or sphere
that these lie on is parametrised by rational functions of degree 2 with one common denominator of degree 2. Of a
polynomial of degree n in coordinates with V such circles and spheres, the numerator as a function of independent
parameters then has a degree of at most 2 n (V + 1).
"""

from __future__ import annotations

from fractions import Fraction
from math import ldexp
from sys import float_info
from typing import Any

import numpy as np

from dalembert.algebra.scalar import is_number
from dalembert.errors import ArgumentError
from dalembert.proof.field import EXPONENTS


class Degrees:
    """Where degrees come from: the counterpart of :class:`~dalembert.proof.field.Field`."""

    prime = None

    def __init__(self) -> None:
        self.sizes = np.zeros(64)
        self.count = 0
        self.varieties = 0
        self._points: dict[Any, Degree] = {}

    def atom(self, degree: float) -> int:
        """A new denominator of this degree."""
        if self.count == len(self.sizes):
            self.sizes = np.concatenate([self.sizes, np.zeros(len(self.sizes))])
        self.sizes[self.count] = degree
        self.count += 1
        return self.count - 1

    def element(self) -> Degree:
        return Degree(self, 1.0, None)

    def angle(self) -> Degree:
        return Degree(self, 1.0, None, ((object(), 1),))

    def unit(self, size: int) -> np.ndarray:
        self.varieties += 1
        return np.array([self.element() for _ in range(size)], dtype=object)

    def point(self, key: Any) -> Degree:
        if key not in self._points:
            self.varieties += 1
            self._points[key] = self.element()
        return self._points[key]

    def bound(self, difference: Any) -> float:
        """The largest degree, in independent parameters, of the numerators of the entries of a difference."""
        entries = difference.flat if isinstance(difference, np.ndarray) else [difference]
        degree = max(((1 * x).number for x in entries if isinstance(x, Degree)), default=0.0)
        return 2 * degree * (self.varieties + 1)


class Degree:
    """The degree of a value: of its numerator, and the powers of the atoms in its denominator, or None."""

    __slots__ = ("_atom", "number", "powers", "terms", "world")

    def __init__(self, world: Degrees, number: float, powers: Any, terms: tuple[tuple[Any, Any], ...] | None = None):
        self.world, self.number, self.powers, self.terms = world, number, powers, terms
        self._atom: int | None = None

    def _pair(self, x: Degree) -> tuple[np.ndarray, np.ndarray]:
        size = len(self.world.sizes)
        found = []
        for powers in (self.powers, x.powers):
            if powers is None:
                powers = np.zeros(size)
            elif len(powers) < size:
                powers = np.concatenate([powers, np.zeros(size - len(powers))])
            found.append(powers)
        return found[0], found[1]

    def __add__(self, x: Any) -> Any:
        if not isinstance(x, Degree):
            if not is_number(x):
                return NotImplemented
            if self.terms is not None and x:
                return Degree(self.world, self.number, self.powers, (*self.terms, (("constant", x), 1)))
            return self
        terms = self.terms + x.terms if self.terms is not None and x.terms is not None else None
        if self.powers is None and x.powers is None:
            return Degree(self.world, max(self.number, x.number), None, terms)
        if self.powers is x.powers:
            return Degree(self.world, max(self.number, x.number), self.powers)
        a, b = self._pair(x)
        common = np.maximum(a, b)
        number = max(self.number + self.world.sizes @ (common - a), x.number + self.world.sizes @ (common - b))
        return Degree(self.world, float(number), common)

    __radd__ = __sub__ = __rsub__ = __add__

    def __mul__(self, x: Any) -> Any:
        if not isinstance(x, Degree):
            if not is_number(x):
                return NotImplemented
            terms = None if self.terms is None else tuple((k, _times(f, x)) for k, f in self.terms)
            return Degree(self.world, self.number, self.powers, terms)
        number = self.number + x.number
        if x.powers is None or self.powers is None:
            return Degree(self.world, number, self.powers if x.powers is None else x.powers)
        a, b = self._pair(x)
        return Degree(self.world, number, a + b)

    __rmul__ = __mul__

    def __truediv__(self, x: Any) -> Any:
        if not isinstance(x, Degree):
            return self if is_number(x) else NotImplemented
        return self * x._inverse()

    def __rtruediv__(self, x: Any) -> Any:
        return self._inverse() if is_number(x) else NotImplemented

    def _inverse(self) -> Degree:
        if self._atom is None:
            self._atom = self.world.atom(self.number)
        powers = np.zeros(len(self.world.sizes))
        powers[self._atom] = 1.0
        if self.powers is not None:
            powers[: len(self.powers)] -= self.powers  # its own denominator comes up
        return _Inverse(self.world, 0.0, powers)

    def __neg__(self) -> Any:
        return self

    __pos__ = __neg__

    def __pow__(self, n: int) -> Any:
        if n < 0:
            return self._inverse() ** -n
        return Degree(self.world, n * self.number, None if self.powers is None else n * self.powers)

    def sin(self) -> Any:
        result: Any = 1
        for key, factor in self.terms or ():
            whole = isinstance(factor, int)
            one = self.world.point(key if whole else (key, "scaled"))
            for _ in range(abs(factor) if isinstance(factor, int) else 1):
                result = one * result
        return result

    cos = sin


class _Inverse(Degree):
    """A reciprocal: negative powers of atoms that are left after multiplication go to the numerator."""

    __slots__ = ()

    def __mul__(self, x: Any) -> Any:
        found = super().__mul__(x)
        if found is NotImplemented:
            return found
        below = np.minimum(found.powers, 0.0)
        sizes = self.world.sizes[: len(below)]
        return Degree(self.world, float(found.number - sizes @ below), np.maximum(found.powers, 0.0))

    __rmul__ = __mul__

    def __add__(self, x: Any) -> Any:
        return (1 * self) + x

    __radd__ = __sub__ = __rsub__ = __add__

    def __pow__(self, n: int) -> Any:
        return (1 * self) ** n


def _times(factor: Any, x: Any) -> Any:
    if isinstance(factor, int) and isinstance(x, (int, np.integer)):
        return factor * int(x)
    return Fraction(1, 3)  # anything but a whole number: an angle of its own


def error_of(degree: float, exponent: int) -> float:
    """The probability that a polynomial of this degree vanishes at a random point of the field of 2^exponent - 1.

    Args:
        exponent: one of :data:`~dalembert.proof.field.EXPONENTS`; 2^-exponent may be smaller than any float.
    """
    return max(ldexp(degree, -exponent) * (1 + 1e-15), float_info.min)


def exponent_for(degree: float, error: float) -> int:
    """The exponent of the smallest prime for which the error is as small as asked for.

    Args:
        error: largest probability of an error.
    """
    for exponent in EXPONENTS:
        if error_of(degree, exponent) <= error:
            return exponent
    raise ArgumentError(f"the degree may be {degree:.0e}: no prime of this library gives an error below {error:.0e}")
