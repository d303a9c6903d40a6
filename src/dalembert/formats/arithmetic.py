"""What expressions are computed with: floats, or SymPy exactly. Everything that could take long is limited."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NoReturn

from dalembert.algebra.rotations import sine_cosine
from dalembert.errors import FormatError

MAX_EXPONENT = 64
MAX_BITS = 2048
PI = ("pi", "π", "\N{MATHEMATICAL ITALIC SMALL PI}", "\N{MATHEMATICAL BOLD SMALL PI}")
"""Spellings of 3.14159..."""

LARGEST = 1e60
"""Numbers beyond this are refused: their squares and cubes overflow, and no mechanism has them."""


def fail(text: str, why: str) -> NoReturn:
    """Raise a FormatError about an expression.

    Args:
        text: the expression.
        why: what is wrong with it, as the rest of a sentence.
    """
    shown = text if len(text) <= 60 else text[:57] + "..."
    raise FormatError(f"the expression {shown!r} {why}")


class Floats:
    """Arithmetic with floats; anything that is not a finite real number is an error.

    Args:
        text: the whole expression, for messages.
        values: the numbers that names stand for.
    """

    def __init__(self, text: str, values: Mapping[str, float]):
        self.text, self.values = text, values

    def number(self, word: str) -> float:
        return self._real(float(word))

    def name(self, word: str) -> float:
        if word in PI:
            return math.pi
        if word not in self.values:
            known = f"; known are {', '.join(sorted(self.values))}" if self.values else ""
            fail(self.text, f"contains {word!r}, which has no value{known}")
        return float(self.values[word])

    def call(self, function: str, x: float, second: float | None = None) -> float:
        if second is not None:
            if x == 0 == second:
                fail(self.text, "asks for atan2(0, 0), which is no direction")
            return math.atan2(x, second)
        if function in ("sin", "cos", "tan"):
            if abs(x) > 1e6:
                fail(self.text, f"takes the {function} of {x:g} radians, where a float no longer knows the angle")
            sine, cosine = sine_cosine(x)
            if function == "tan":
                return self.combine("/", sine, cosine)
            return float(sine if function == "sin" else cosine)
        try:
            return self._real(abs(x) if function == "abs" else getattr(math, function)(x))
        except (ValueError, OverflowError):
            fail(self.text, f"asks for {function}({x:g}), which is not a real number of reasonable size")

    def combine(self, sign: str, x: float, y: float) -> float:
        try:
            match sign:
                case "+":
                    value = x + y
                case "-":
                    value = x - y
                case "*":
                    value = x * y
                case "/":
                    value = x / y
                case _:
                    if abs(y) > MAX_EXPONENT:
                        fail(self.text, f"raises to the power {y:g}; exponents go up to {MAX_EXPONENT}")
                    value = x**y
        except ZeroDivisionError:
            fail(self.text, "divides by zero")
        except OverflowError:
            value = math.inf
        return self._real(value)

    def total(self, terms: Sequence[tuple[str, float]]) -> float:
        value = 0.0
        for sign, term in terms:
            value = self.combine(sign, value, term)
        return value

    def _real(self, value: Any) -> float:
        if isinstance(value, complex):
            fail(self.text, "takes a root of a negative number")
        if not abs(value) <= LARGEST:
            fail(self.text, f"exceeds {LARGEST:g}")
        return value


class Exact:
    """Exact arithmetic with SymPy. A value is a pair: its float (None once a symbol is in it) and its expression.

    Whatever is free of symbols is computed with floats first; so division by zero, complex and huge numbers are found
    before SymPy sees them.

    Args:
        text: the whole expression, for messages.
        positive: names of symbols that are known to be positive.
    """

    def __init__(self, text: str, positive: Collection[str] = ()):
        self.text, self.floats, self.positive = text, Floats(text, {}), positive

    def number(self, word: str) -> Any:
        import sympy

        value = self.floats.number(word)
        exponent = word.lower().partition("e")[2] or "0"
        if abs(int(exponent)) > 300:
            fail(self.text, f"contains {word}, which is absurdly small")
        return value, self._small(sympy.Rational(word))

    def name(self, word: str) -> Any:
        import sympy

        if word in PI:
            return math.pi, sympy.pi
        known = {"positive": True} if word in self.positive else {"real": True}
        return None, sympy.Symbol(word, **known)

    def call(self, function: str, *x: Any) -> Any:
        import sympy

        numbers, expressions = zip(*x)
        value = None if None in numbers else self.floats.call(function, *numbers)
        if function == "sqrt":
            self._root(*expressions)
        result = getattr(sympy, "Abs" if function == "abs" else function)(*expressions)
        return value, self._small(result)

    def combine(self, sign: str, x: Any, y: Any) -> Any:
        (a, left), (b, right) = x, y
        value = None if a is None or b is None else self.floats.combine(sign, a, b)
        match sign:
            case "+":
                result = left + right
            case "-":
                result = left - right
            case "*":
                result = left * right
            case "/":
                if right == 0:
                    fail(self.text, "divides by zero")
                result = left / right
            case _:
                result = self._power(left, right, b)
        return value, self._small(result)

    def total(self, terms: Sequence[tuple[str, Any]]) -> Any:
        """All terms at once: one by one, SymPy would put every partial sum in order anew."""
        import sympy

        number: Any = sympy.Integer(0)
        value: float | None = 0.0
        rest = []
        for sign, (size, term) in terms:
            value = None if value is None or size is None else self.floats.combine(sign, value, size)
            signed = term if sign == "+" else -term
            if signed.is_Rational:
                number = self._small(number + signed)
            else:
                rest.append(signed)
        return value, sympy.Add(number, *rest)

    def _power(self, base: Any, exponent: Any, size: float | None) -> Any:
        if size is None:
            fail(self.text, f"raises to the power {exponent}; exponents are numbers")
        if abs(size) > MAX_EXPONENT:
            fail(self.text, f"raises to the power {size:g}; exponents go up to {MAX_EXPONENT}")
        if base == 0 and size < 0:
            fail(self.text, "divides by zero")
        if not exponent.is_Integer:
            self._root(base)
        elif base.is_Rational and _bits(base) * abs(size) > MAX_BITS:
            fail(self.text, "leads to numbers with too many digits")
        return base**exponent

    def _root(self, radicand: Any) -> None:
        if radicand.is_Rational and _bits(radicand) > 128:  # SymPy takes out square factors, and factoring is slow
            fail(self.text, "takes the root of a number with too many digits")

    def _small(self, expression: Any) -> Any:
        if expression.is_Rational and _bits(expression) > MAX_BITS:
            fail(self.text, "leads to numbers with too many digits")
        return expression

    def result(self, value: Any) -> Any:
        """The expression of a finished value; an int if it is one."""
        import sympy

        _, expression = value
        if expression.has(sympy.I, sympy.oo, sympy.zoo, sympy.nan) or expression.is_real is False:
            fail(self.text, "is not a finite real number")
        return int(expression) if expression.is_Integer else expression


def _bits(rational: Any) -> int:
    return max(int(rational.p).bit_length(), int(rational.q).bit_length())
