"""Exact scalars: elements of a prime field or fractions, angles as points of a circle, dual numbers.

Algorithms are written once over any scalar, so they run on these as they run on floats. Two of them that give the same
element at a random point are the same rational function, but for a probability that :mod:`dalembert.proof.degree`
bounds (Schwartz 1980, Zippel 1979).

Sine and cosine of an angle are the rational functions 2t / (1 + t^2) and (1 - t^2) / (1 + t^2) of its parameter
t = tan(q/2); the sum of two angles is the product of their points. The primes are Mersenne's, 2^k - 1, which leave the
remainder 3 when divided by 4: there 1 + t^2 vanishes for no t.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from math import pi
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError

EXPONENTS = (61, 127, 521, 1279, 2203)
"""2^k - 1 is prime for these."""

QUARTER = pi / 2


class Field:
    """Where exact scalars live, and where random ones come from.

    Args:
        prime: the field of integers modulo this prime; None for fractions.
        size: of the numerators of random fractions.
    """

    def __init__(self, prime: int | None, seed: int = 0, size: int = 9):
        self.prime, self.size = prime, size
        self._random = random.Random(f"{prime} {seed}")
        self._points: dict[Any, tuple[Any, Any]] = {}

    # ------------------------------------------------------------------------------------------------ numbers as values

    def lift(self, x: Any) -> Any:
        """The value of a number in this field, of a float as the fraction it is; None for what is no number."""
        if isinstance(x, (float, np.floating)):
            x = Fraction(float(x))
        elif isinstance(x, (np.integer, bool)):
            x = int(x)
        if self.prime is None:
            return Fraction(x) if isinstance(x, (int, Fraction)) else None
        if isinstance(x, int):
            return x % self.prime
        return x.numerator * pow(x.denominator, -1, self.prime) % self.prime if isinstance(x, Fraction) else None

    def reduce(self, value: Any) -> Any:
        return value if self.prime is None else value % self.prime

    def inverse(self, value: Any) -> Any:
        if not value:
            raise ZeroDivisionError("a denominator vanishes at this random point")
        return 1 / value if self.prime is None else pow(value, -1, self.prime)

    # -------------------------------------------------------------------------------------------------- random elements

    def _draw(self) -> Any:
        if self.prime is not None:
            return self._random.randrange(self.prime)
        return Fraction(self._random.choice([-1, 1]) * self._random.randint(1, self.size))

    def element(self) -> FieldElement:
        """A random element."""
        return FieldElement(self, self._draw())

    def angle(self) -> Angle:
        """A random position: its value as a length, its point as an angle."""
        return Angle(self, self._draw(), ((object(), 1),))

    def point(self, key: Any) -> tuple[Any, Any]:
        """Cosine and sine of the angle with this name: a random point of the circle, the same at every call."""
        if key not in self._points:
            t = self._draw()
            scale = self.inverse(1 + t * t)
            self._points[key] = self.reduce((1 - t * t) * scale), self.reduce(2 * t * scale)
        return self._points[key]

    def unit(self, size: int) -> np.ndarray:
        """A random unit vector, by stereographic projection."""
        t = [self._draw() for _ in range(size - 1)]
        square = sum(x * x for x in t)
        scale = self.inverse(1 + square)
        values = [*(2 * x * scale for x in t), (1 - square) * scale]
        return np.array([FieldElement(self, self.reduce(x)) for x in values], dtype=object)


class FieldElement:
    """An exact number that knows ``+ - * /`` and powers; see :class:`Field`."""

    __slots__ = ("field", "value")

    def __init__(self, field: Field, value: Any):
        self.field, self.value = field, value

    def _other(self, x: Any) -> Any:
        return x.value if isinstance(x, FieldElement) else self.field.lift(x)

    def _made(self, value: Any) -> FieldElement:
        return FieldElement(self.field, self.field.reduce(value))

    def __add__(self, x: Any) -> Any:
        other = self._other(x)
        return NotImplemented if other is None else self._made(self.value + other)

    __radd__ = __add__

    def __sub__(self, x: Any) -> Any:
        other = self._other(x)
        return NotImplemented if other is None else self._made(self.value - other)

    def __rsub__(self, x: Any) -> Any:
        other = self._other(x)
        return NotImplemented if other is None else self._made(other - self.value)

    def __mul__(self, x: Any) -> Any:
        other = self._other(x)
        return NotImplemented if other is None else self._made(self.value * other)

    __rmul__ = __mul__

    def __truediv__(self, x: Any) -> Any:
        other = self._other(x)
        return NotImplemented if other is None else self._made(self.value * self.field.inverse(other))

    def __rtruediv__(self, x: Any) -> Any:
        other = self._other(x)
        return NotImplemented if other is None else self._made(other * self.field.inverse(self.value))

    def __neg__(self) -> Any:
        return self._made(-self.value)

    def __pos__(self) -> Any:
        return self

    def __pow__(self, n: Any) -> Any:
        if not isinstance(n, (int, np.integer)):
            return NotImplemented
        value = self.value if n >= 0 else self.field.inverse(self.value)
        return self._made(pow(value, abs(int(n)), self.field.prime) if self.field.prime else value ** abs(int(n)))

    def __eq__(self, x: Any) -> Any:
        other = self._other(x)
        return NotImplemented if other is None else self.value == other

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return str(self.value)

    def sin(self) -> Any:
        raise ArgumentError("an exact proof needs the sine of something that is not an angle")

    cos = sin


class Angle(FieldElement):
    """A position: a number, and a sum of named angles with factors for sine and cosine."""

    __slots__ = ("terms",)

    def __init__(self, field: Field, value: Any, terms: tuple[tuple[Any, Any], ...]):
        super().__init__(field, value)
        self.terms = terms

    def __add__(self, x: Any) -> Any:
        if isinstance(x, Angle):
            return Angle(self.field, self.field.reduce(self.value + x.value), self.terms + x.terms)
        if isinstance(x, FieldElement):
            return super().__add__(x)
        other = self.field.lift(x)
        if other is None:
            return NotImplemented
        return Angle(
            self.field, self.field.reduce(self.value + other), (*self.terms, *((("constant", x), 1),) * bool(x))
        )

    __radd__ = __add__

    def __neg__(self) -> Any:
        return -1 * self

    def __sub__(self, x: Any) -> Any:
        return self + (-x)

    def __rsub__(self, x: Any) -> Any:
        return -self + x

    def __mul__(self, x: Any) -> Any:
        other = self._other(x)
        if other is None:
            return NotImplemented
        terms = tuple((key, _times(factor, x)) for key, factor in self.terms)
        return Angle(self.field, self.field.reduce(self.value * other), terms)

    __rmul__ = __mul__

    def __truediv__(self, x: Any) -> Any:
        return self * (Fraction(1) / Fraction(x)) if isinstance(x, (int, float)) else super().__truediv__(x)

    def _point(self) -> tuple[Any, Any]:
        c, s = 1, 0
        whole: dict[Any, Any] = {}
        for key, factor in self.terms:  # q1 + q1 is 2 q1, and its point the square of that of q1
            whole[key] = whole.get(key, 0) + factor
        for key, factor in whole.items():
            name, times = (key, factor) if isinstance(factor, int) else ((key, _name(factor)), 1)
            for _ in range(abs(times)):
                C, S = self._constant(name[1]) if _is_constant(name) else self.field.point(name)
                S = S if times > 0 else -S
                c, s = self.field.reduce(c * C - s * S), self.field.reduce(s * C + c * S)
        return c, s

    def _constant(self, x: Any) -> tuple[Any, Any]:
        """Quarter turns are exact; any other constant angle may be any angle."""
        quarters = float(x) / QUARTER
        if quarters == round(quarters):
            return ((1, 0), (0, 1), (-1, 0), (0, -1))[round(quarters) % 4]
        return self.field.point(("constant", x))

    def cos(self) -> FieldElement:
        return FieldElement(self.field, self.field.reduce(self._point()[0]))

    def sin(self) -> FieldElement:
        return FieldElement(self.field, self.field.reduce(self._point()[1]))


def _is_constant(name: Any) -> bool:
    return isinstance(name, tuple) and len(name) == 2 and name[0] == "constant"


def _times(factor: Any, x: Any) -> Any:
    """Whole factors stay whole: sin(2q) is a function of sin(q) and cos(q); for any other g, g q is another angle."""
    if isinstance(x, (float, np.floating)) and float(x).is_integer():
        x = int(x)
    if isinstance(x, np.integer):
        x = int(x)
    return factor * x


def _name(factor: Any) -> Any:
    return factor.value if isinstance(factor, FieldElement) else Fraction(factor)


class Dual:
    """a + b e with e^2 = 0: the value of a function and its derivative in a direction, both exact."""

    __slots__ = ("a", "b")

    def __init__(self, a: Any, b: Any = 0):
        self.a, self.b = a, b

    @staticmethod
    def _parts(x: Any) -> tuple[Any, Any]:
        return (x.a, x.b) if isinstance(x, Dual) else (x, 0)

    def __add__(self, x: Any) -> Any:
        a, b = self._parts(x)
        return Dual(self.a + a, self.b + b)

    __radd__ = __add__

    def __sub__(self, x: Any) -> Any:
        a, b = self._parts(x)
        return Dual(self.a - a, self.b - b)

    def __rsub__(self, x: Any) -> Any:
        a, b = self._parts(x)
        return Dual(a - self.a, b - self.b)

    def __mul__(self, x: Any) -> Any:
        a, b = self._parts(x)
        return Dual(self.a * a, self.a * b + self.b * a)

    __rmul__ = __mul__

    def __truediv__(self, x: Any) -> Any:
        a, b = self._parts(x)
        quotient = self.a / a
        return Dual(quotient, (self.b - quotient * b) / a)

    def __rtruediv__(self, x: Any) -> Any:
        return Dual(x) / self

    def __neg__(self) -> Any:
        return Dual(-self.a, -self.b)

    def __pos__(self) -> Any:
        return self

    def __pow__(self, n: int) -> Any:
        return Dual(self.a**n, n * self.a ** (n - 1) * self.b) if n else 1

    def sin(self) -> Any:
        return Dual(self.a.sin(), self.a.cos() * self.b)

    def cos(self) -> Any:
        return Dual(self.a.cos(), -self.a.sin() * self.b)

    def __repr__(self) -> str:
        return f"{self.a} + {self.b} e"


def along(x: Any, direction: Any) -> np.ndarray:
    """Dual numbers with the given values and derivatives."""
    return np.array([Dual(a, b) for a, b in zip(x, direction)], dtype=object)


def slopes(x: Any) -> Any:
    """The derivatives of dual numbers; zero for plain ones."""
    if isinstance(x, np.ndarray):
        out = np.empty(x.shape, dtype=object)
        for k, entry in np.ndenumerate(x):
            out[k] = slopes(entry)
        return out
    return x.b if isinstance(x, Dual) else 0


OPERATIONS: dict[str, Callable[..., Any]] = {
    "neg": lambda a: -a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "sin": lambda a: a.sin(),
    "cos": lambda a: a.cos(),
}
"""What of a straight-line program exact scalars can do."""
