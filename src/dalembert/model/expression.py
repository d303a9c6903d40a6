"""Arithmetic in text: ``"pi/2"``, ``"m3*l3"``, ``"-0.5*sin(pi/6)"``. Read by a small parser, never by ``eval``.

Grammar: numbers, names, ``pi`` (or ``π``), ``+ - * / **``, parentheses and the functions sin, cos, tan, asin, acos,
atan, atan2(y, x), sinh, cosh, tanh, asinh, acosh, atanh, sqrt, exp, log (natural), abs. The same parser computes with
floats (:func:`evaluate`) or exactly with SymPy (:func:`evaluate_exact`), where every other name is a real symbol. Text,
nesting, exponents, functions inside each other and the size of exact numbers are limited, so that no input can keep it
busy for long.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from dalembert.algebra.rotations import sine_cosine
from dalembert.errors import FormatError

# ----------------------------------------------------------------------------------------------------------- arithmetic


MAX_EXPONENT = 64
MAX_BITS = 2048
MAX_FUNCTION_EXPONENT = 8
"""Largest exponent of what contains functions of symbols: SymPy multiplies such powers out to see if they are real."""

MAX_WORK_ASKED = 12
"""Work, as below, up to which SymPy is asked whether a result can be real: beyond it may think for minutes."""

MAX_WORK = 1000
"""Functions of symbols in one expression, each counted as often as functions stand inside each other there."""

PI = ("pi", "π", "\N{MATHEMATICAL ITALIC SMALL PI}", "\N{MATHEMATICAL BOLD SMALL PI}")
"""Spellings of 3.14159..."""

LARGEST = 1e60
"""Numbers beyond this are refused: their squares and cubes overflow, and no mechanism has them."""


def fail(text: str, why: str) -> NoReturn:
    """Raise a FormatError about an expression.

    Args:
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
        self.work = 0

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
        if function == "exp":
            self._exponent(*expressions)
        if value is None:
            self.work += sum(_functions(x) for x in expressions) + 1
            if self.work > MAX_WORK:
                fail(self.text, "has too many functions of symbols inside each other")
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
        if abs(size) > MAX_FUNCTION_EXPONENT and base.free_symbols and _functions(base):
            fail(
                self.text,
                f"raises a function to the power {size:g}; exponents of those go up to {MAX_FUNCTION_EXPONENT}",
            )
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

    def _exponent(self, exponent: Any) -> None:
        """Refuse what SymPy would make powers of integers of: exp(1e15*log(2)) is 2**1000000000000000 to it."""
        from sympy import log

        for term in exponent.as_ordered_terms() if exponent.has(log) else ():
            if not term.free_symbols and abs(term.evalf(5)) > MAX_LOGARITHM:
                fail(self.text, "leads to numbers with too many digits")

    def _small(self, expression: Any) -> Any:
        if expression.is_Rational and _bits(expression) > MAX_BITS:
            fail(self.text, "leads to numbers with too many digits")
        return expression

    def result(self, value: Any) -> Any:
        """The expression of a finished value; an int if it is one."""
        import sympy

        _, expression = value
        wrong = expression.has(sympy.I, sympy.oo, sympy.zoo, sympy.nan)
        if wrong or (self.work <= MAX_WORK_ASKED and expression.is_real is False):
            fail(self.text, "is not a finite real number")
        return int(expression) if expression.is_Integer else expression


def _functions(expression: Any) -> int:
    """How many functions of symbols an expression contains, roots included."""
    from sympy import Function, Pow

    calls = sum(bool(f.free_symbols) for f in expression.atoms(Function))
    return calls + sum(bool(p.free_symbols) and not p.exp.is_Integer for p in expression.atoms(Pow))


def _bits(rational: Any) -> int:
    return max(int(rational.p).bit_length(), int(rational.q).bit_length())


# -------------------------------------------------------------------------------------------------------------- grammar


FUNCTIONS = (
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sqrt",
    "exp", "log", "abs",
)  # fmt: skip
MAX_LOGARITHM = 700  # of the largest floats
RESERVED = {*PI, *FUNCTIONS, "nan", "inf"}
DEGREES = ("deg", "degree", "degrees")
RADIANS = "; an angle is in radians, 90 degrees are pi/2"
MAX_LENGTH = 20_000
MAX_NESTING = 50
MAX_FACTORS = 100

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(?P<name>[^\W\d]\w*)|(?P<sign>\*\*|[-+*/(),]))"
)


def names(text: str) -> set[str]:
    """The names in an expression that are neither functions nor ``pi``: its symbols."""
    return {word for kind, word in _tokens(text) if kind == "name" and word not in RESERVED}


def constants(text: str) -> set[str]:
    """The names in an expression that stand for pi."""
    return {word for kind, word in _tokens(text) if kind == "name" and word in PI}


def is_name(text: str) -> bool:
    """Whether an expression can have a symbol of this name."""
    match = _TOKEN.fullmatch(text)
    return match is not None and match["name"] == text and text not in RESERVED


def evaluate(text: str, values: Mapping[str, float] | None = None) -> float:
    """The number an expression stands for."""
    return _Parser(text, Floats(text, values or {})).parse()


def evaluate_exact(text: str, positive: Collection[str] = ()) -> Any:
    """The exact value of an expression: an int, a SymPy expression, or a float if it was written with a decimal point.

    Args:
        text: the expression; its names become SymPy symbols that are known to be real.
        positive: names of those that are known to be positive as well.
    """
    exact = Exact(text, positive)
    value = exact.result(_Parser(text, exact).parse())
    decimal = any(kind == "number" and not word.isdigit() for kind, word in _tokens(text))
    return float(value) if decimal and getattr(value, "is_Rational", False) else value


def written(expression: Any) -> str:
    """A SymPy expression in the spelling of :func:`evaluate_exact`, which may not know everything in it."""
    import sympy

    spelt = {sympy.E: sympy.Symbol("exp(1)")}  # else it is printed as a symbol E
    named = sympy.sympify(expression, strict=True).xreplace(spelt)
    return str(named).replace("Abs(", "abs(")


def _tokens(text: str) -> list[tuple[str, str]]:
    if len(text) > MAX_LENGTH:
        fail(text, f"is longer than {MAX_LENGTH} characters")
    found, position, end = [], 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            rest = text[position:].lstrip()
            hint = "; powers are written **" if rest.startswith("^") else ""
            hint = RADIANS if rest.startswith("°") else hint
            fail(text, f"contains {rest[0]!r}, which has no meaning here{hint}")
        kind = str(match.lastgroup)
        found.append((kind, match[kind]))
        position = match.end()
    return found


class Arithmetic(Protocol):
    """What the parser computes with."""

    def number(self, word: str) -> Any: ...
    def name(self, word: str) -> Any: ...
    def call(self, function: str, *x: Any) -> Any: ...
    def combine(self, sign: str, x: Any, y: Any) -> Any: ...
    def total(self, terms: Sequence[tuple[str, Any]]) -> Any: ...


class _Parser:
    """Recursive descent: sum -> product -> signed -> power -> atom."""

    def __init__(self, text: str, arithmetic: Arithmetic):
        self.text, self.arithmetic = text, arithmetic
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0

    def parse(self) -> Any:
        value = self.sum()
        if self.at < len(self.tokens):
            kind, word = self.tokens[self.at]
            hint = "; a product is written *" if kind == "name" or word == "(" else ""
            hint = "; decimals come after a point" if word == "," else hint
            hint = RADIANS if word in DEGREES else hint
            fail(self.text, f"has an unexpected {word!r}{hint}")
        return value

    def accept(self, *signs: str) -> str:
        kind, word = self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")
        if kind == "sign" and word in signs:
            self.at += 1
            return word
        return ""

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_NESTING:
            fail(self.text, f"is nested more than {MAX_NESTING} deep")

    def sum(self) -> Any:
        terms = [("+", self.product())]
        while sign := self.accept("+", "-"):
            terms.append((sign, self.product()))
        return terms[0][1] if len(terms) == 1 else self.arithmetic.total(terms)

    def product(self) -> Any:
        value, factors = self.signed(), 1
        while sign := self.accept("*", "/"):
            factors += 1
            if (
                factors > MAX_FACTORS
            ):  # every partial product is put in order anew, which takes the square of their number
                fail(
                    self.text,
                    f"multiplies more than {MAX_FACTORS} factors in a row; put parentheses around some of them",
                )
            value = self.arithmetic.combine(sign, value, self.signed())
        return value

    def signed(self) -> Any:
        negative = False
        while sign := self.accept("-", "+"):
            negative ^= sign == "-"
        value = self.power()
        return self.arithmetic.combine("*", self.arithmetic.number("-1"), value) if negative else value

    def power(self) -> Any:
        value = self.atom()
        if self.accept("**"):
            self.enter()
            value = self.arithmetic.combine("**", value, self.signed())  # from right to left, as in mathematics
            self.depth -= 1
        return value

    def atom(self) -> Any:
        if self.at == len(self.tokens):
            fail(self.text, "ends too early" if self.tokens else "is empty")
        kind, word = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return self.arithmetic.number(word)
        if kind == "name" and word in FUNCTIONS:
            if not self.accept("("):
                fail(self.text, f"uses the function {word} without an argument in parentheses")
            return self.arithmetic.call(word, *self.arguments(word))
        if kind == "name":
            if self.accept("("):
                fail(self.text, f"calls {word!r}; the functions are {', '.join(FUNCTIONS)}")
            if word in ("nan", "inf"):
                fail(self.text, f"contains {word}, which is not a number to compute with")
            return self.arithmetic.name(word)
        if word != "(":
            fail(self.text, f"has an unexpected {word!r}")
        return self.closed()

    def arguments(self, function: str) -> list[Any]:
        self.enter()
        values = [self.sum()]
        while self.accept(","):
            values.append(self.sum())
        wanted = 2 if function == "atan2" else 1
        if len(values) != wanted:
            fail(self.text, f"gives {function} {len(values)} argument{'s'[: len(values) > 1]}; it takes {wanted}")
        if not self.accept(")"):
            fail(self.text, "lacks a closing parenthesis")
        self.depth -= 1
        return values

    def closed(self) -> Any:
        self.enter()
        value = self.sum()
        if not self.accept(")"):
            fail(self.text, "lacks a closing parenthesis")
        self.depth -= 1
        return value
