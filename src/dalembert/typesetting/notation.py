"""SymPy expressions as LaTeX: letters with indices, accents and dots, no two symbols alike, numbers that are short.

``Print`` writes the symbols of one derivation as mathematics. ``Notation`` is stricter, for documents that others open:
a symbol may have any name, and names that do not read as mathematics (``theta1``, ``I_{zz}``, ``\\alpha_2`` do) are
reduced to letters and digits, so that no name can smuggle commands into a document.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from dalembert.algebra.scalar import is_number
from dalembert.model.names import GREEK
from dalembert.typesetting.names import identifier

SPELLINGS = (
    {"\N{SCRIPT SMALL L}": "ell", "\N{MICRO SIGN}": "mu"}
    | {unicodedata.lookup(f"GREEK {name} SYMBOL"): f"var{name.lower()}" for name in ("THETA", "PHI")}
    | {chr(ord("\N{SUBSCRIPT ZERO}") + digit): str(digit) for digit in range(10)}
    | {
        unicodedata.lookup(f"GREEK {case} LETTER {word.replace('lambda', 'lamda')}"): spelling
        for word in GREEK
        for case, spelling in (("SMALL", word), ("CAPITAL", word.capitalize()))
    }
)
"""Letters that are typed as such, and the words that TeX has for them."""

_NOT_GREEK = rf"(?!(?:{'|'.join([*GREEK, *map(str.capitalize, GREEK)])})(?:\d|$))"
_RUN_TOGETHER = re.compile(_NOT_GREEK + r"([A-Za-z])([A-Za-z]?\d+[a-z]{0,2}|[A-Za-z]|[xyz]{2})")
_PRIMED = re.compile(r"((?:(?!__)[^'^])+)('+)")
_BARRED = re.compile(r"([A-Za-z][A-Za-z0-9]*?)(bar)(\d+|_\w+)?")
_DOTTED = re.compile(r"([A-Za-z]\w*?)_?(d{0,3}dot)(\d+|_\w+)?")
_BETWEEN_WORDS = re.compile(r"(?<=\w\w) (?=\w)|(?<=\w) (?=\w\w)")
_WORD = re.compile(r"(?<![A-Za-z0-9\\])[A-Za-z][A-Za-z0-9]+")


def spelled(name: str) -> str:
    """The name with Greek letters and low digits, where they are typed as such, in words that TeX has: ``theta1``."""
    words = "".join(SPELLINGS.get(x, x) for x in name)
    return words if words.isascii() else name


def symbol_latex(symbol: Any) -> str:
    """LaTeX of a symbol: ``mr`` and ``I1x`` get an index, ``mass`` stands upright; letters side by side are a product.

    A name with a bar, dots or primes is spelt like the rest of it: ``thbar1``, ``thdot1``, ``th1'`` like ``th1``.

    Args:
        symbol: of SymPy. Names that are LaTeX already stay as they are.
    """
    import sympy

    name = spelled(symbol.name)
    if parts := _PRIMED.fullmatch(name):
        letter, index = letter_and_index(symbol_latex(sympy.Symbol(parts[1])))
        return letter + "^{" + r"\prime" * len(parts[2]) + "}" + index
    if parts := _BARRED.fullmatch(name) or _DOTTED.fullmatch(name):
        letter, index = letter_and_index(symbol_latex(sympy.Symbol(parts[1] + (parts[3] or ""))))
        return rf"\{parts[2]}{{{letter}}}{index}"
    if parts := _RUN_TOGETHER.fullmatch(name):
        return f"{parts[1]}_{{{parts[2]}}}"
    text = sympy.latex(sympy.Symbol(name))
    if "\\" in name or "{" in name:
        return text
    stem = re.split("[_^]", text, maxsplit=1)[0]
    index = _BETWEEN_WORDS.sub(r"\\,", text[len(stem) :])
    return _WORD.sub(r"\\mathrm{\g<0>}", stem) + index


def dotted(latex: str) -> str:
    """LaTeX of the rate of what is written so: one dot more on its letter, the index apart."""
    letter, index = letter_and_index(latex)
    more = re.sub(r"\\(d{0,2})dot(?=\{)", r"\\d\1dot", letter, count=1)
    return (rf"\dot{{{letter}}}" if more == letter else more) + index


def letter_and_index(latex: str) -> tuple[str, str]:
    """The letter of a symbol, with its accents, and its indices."""
    depth = 0
    for k, x in enumerate(latex):
        depth += (x == "{") - (x == "}")
        if x in "_^" and not depth:
            return latex[:k], latex[k:]
    return latex, ""


def look(latex: str) -> str:
    """What distinguishes symbols in print: LaTeX without spaces, thin ones too, and empty groups."""
    return re.sub(r"[_^]?\{\s*\}|\s|\\,", "", latex)


def verbatim(name: str, taken: Iterable[str] = ()) -> str:
    """LaTeX of a name letter by letter, upright, for names that do not read as mathematics or look like another one.

    Args:
        name: of any spelling; what is neither letter nor digit is an underscore.
        taken: LaTeX that is not available.
    """
    words = re.findall(r"[A-Za-z0-9]+", identifier(spelled(name))) or ["symbol"]
    plain, number = r"\_".join(words)[:24].rstrip("\\_"), 1
    if re.fullmatch(r"\w+_", name):
        plain += r"\_"
    fresh = rf"\mathrm{{{plain}}}"
    while fresh in taken:
        number += 1
        fresh = rf"\mathrm{{{plain}\_{number}}}"
    return fresh


class Print:
    """LaTeX of the symbols of one derivation, no two of which look alike.

    Symbols are written as mathematics; one that would then look like another before it (``m_1`` like ``m1``) is
    written letter by letter. A rate is written as what it is the rate of, with a dot more, whatever it is called.

    Args:
        rates: for each symbol that is the rate of another the name of that one, by name; it may grow.
        readable: decides whether a name, in words, is fit to be written as mathematics; all are by default.
    """

    def __init__(self, rates: Mapping[str, str] | None = None, readable: Callable[[str], Any] | None = None) -> None:
        self.rates = dict(rates or {})
        self._readable = readable
        self._written: dict[str, str] = {}
        self._looks: set[str] = set()

    def symbol(self, symbol: Any) -> str:
        """LaTeX of a symbol; asked again, it is the same."""
        if symbol.name not in self._written:
            text = self._mathematics(symbol)
            if text is None or look(text) in self._looks:
                text = verbatim(symbol.name, self._looks)
            self._written[symbol.name] = text
            self._looks.add(look(text))
        return self._written[symbol.name]

    def _mathematics(self, symbol: Any) -> str | None:
        import sympy

        if symbol.name in self.rates:
            return dotted(self.symbol(sympy.Symbol(self.rates[symbol.name])))
        if self._readable is None or self._readable(spelled(symbol.name)):
            return symbol_latex(symbol)
        return None

    def expression(self, expression: Any) -> str:
        """LaTeX of an expression or a matrix, in which no symbol reads as a product of others.

        Args:
            expression: of SymPy; functions of time keep their argument.
        """
        import sympy
        from sympy.core.function import AppliedUndef

        functions = sorted(expression.atoms(AppliedUndef), key=str)
        changed = expression.xreplace({x: self._function(x.func.__name__)(*x.args) for x in functions})
        names = {x: self.symbol(x) for x in sorted(changed.free_symbols, key=str)}
        words = any(r"\mathrm" in text for text in names.values())  # side by side they would read as one
        return sympy.latex(changed, symbol_names=names, mul_symbol=r" \, " if words else None)

    def _function(self, name: str) -> Any:
        """A function that SymPy writes by the letter of the symbol of that name, in its own way if that reads well."""
        import sympy

        symbol = sympy.Symbol(name)
        text = self.symbol(symbol)
        return sympy.Function(spelled(name) if text == symbol_latex(symbol) else text)


def expression_latex(expression: Any) -> str:
    """LaTeX of an expression or a matrix, in which no symbol reads as a product of others."""
    return Print().expression(expression)


# ------------------------------------------------------------------------------------- numbers, and names from anywhere


DIGITS = 6
"""Significant digits of numbers."""

FRACTIONS = frozenset({2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 32})
"""Denominators that stay in formulas with symbols; other fractions are written as decimals."""

LETTERS = (
    *GREEK, "varepsilon", "vartheta", "varpi", "varrho", "varsigma", "varphi", "ell",
    "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
)  # fmt: skip
"""Letters for which TeX has commands."""

_LETTER = rf"\\(?:{'|'.join(LETTERS)})(?![A-Za-z])"
_WORDS = r"\\(?:mathrm|text)\{[A-Za-z0-9 ]+\}"
_SAFE = re.compile(
    rf"(?:[A-Za-z][A-Za-z0-9]*|{_LETTER}|\\(?:bar|hat|tilde|dot|ddot)\{{(?:[A-Za-z]|{_LETTER})\}})"
    rf"(?:(?:__?|\^)(?:[A-Za-z0-9]+|{_LETTER}|{_WORDS}|\{{(?:[A-Za-z0-9, ]|{_LETTER}|{_WORDS})+\}}))*(?:_*|'+)"
)
_PLAIN_ARGUMENT = re.compile(
    r"(\\(?:sin|cos|tan)(?:\^\{\d+\})?)\{\\left\(((?:\\?[A-Za-z]+|\\ddot\{\\?[a-z]+\}|\\dot\{\\?[a-z]+\})"
    r"(?:_\{\w+\})?) \\right\)\}(?=$| ?[-+,&=}]| ?\\\\| ?\\(?:sin|cos|tan|right)(?![a-z]))"
)


class Notation:
    """How symbols and numbers are written in one document.

    Args:
        decimal: write all fractions as decimals, as befits a mechanism of numbers.
        rates: see :class:`~dalembert.typesetting.notation.Print`.
    """

    def __init__(self, decimal: bool = False, rates: Mapping[str, str] | None = None):
        self.decimal = decimal
        self._print = Print(rates, _SAFE.fullmatch)

    def latex(self, value: Any) -> str:
        """LaTeX of a number, expression or matrix."""
        import sympy

        if isinstance(value, (int, float)):
            return self.number(value)
        expression = sympy.sympify(value, strict=True)
        matrix = isinstance(expression, sympy.MatrixBase)
        return self._written(expression.applyfunc(self._rounded) if matrix else self._rounded(expression))

    def terms(self, expression: Any) -> list[str]:
        """LaTeX of the terms of a sum, each with its sign if that is a minus.

        Args:
            expression: any expression; what is no sum is one term.
        """
        import sympy

        rounded = self._rounded(sympy.sympify(expression, strict=True))
        return [self._written(term) for term in (rounded.as_ordered_terms() if rounded.is_Add else [rounded])]

    def _written(self, expression: Any) -> str:
        return _PLAIN_ARGUMENT.sub(r"\1 \2", self._print.expression(expression))

    def number(self, value: Any) -> str:
        """A number with few digits.

        Args:
            value: an integer or float.
        """
        text = f"{value:.{DIGITS}g}"
        mantissa, _, exponent = text.partition("e")
        if not exponent:
            return {"inf": r"\infty", "-inf": r"-\infty", "nan": r"\mathrm{NaN}"}.get(mantissa, mantissa)
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"

    def scalar(self, x: Any) -> str:
        """A number with few digits, or an expression."""
        return self.number(float(x)) if is_number(x) else self.latex(x)

    def _rounded(self, expression: Any) -> Any:
        """The expression with decimals for unusual fractions, and few digits."""
        import sympy

        if expression.is_Float:
            exact = sympy.Rational(Fraction(float(expression)).limit_denominator(max(FRACTIONS)))
            if self.decimal or not expression.is_finite or float(exact) != float(expression):
                return _decimal(expression)
            expression = exact
        if expression.is_Rational and not expression.is_Integer:
            keep = not self.decimal and abs(expression.p) < 10 and expression.q in FRACTIONS
            return expression if keep else _decimal(expression)
        if self.decimal and expression.is_Mul:
            numbers = [x for x in expression.args if x.is_number and not x.has(sympy.pi)]
            others = [x for x in expression.args if x not in numbers]
            if len(numbers) > 1:  # 0.4 sqrt(2)
                return _decimal(sympy.Mul(*numbers).evalf()) * self._rounded(sympy.Mul(*others))
        if not expression.args:
            return expression
        if self.decimal and expression.is_number and expression.is_Pow and not expression.has(sympy.pi):
            return _decimal(expression.evalf())
        if expression.is_Pow:
            base = self._rounded(expression.base)
            return expression if base is expression.base else sympy.Pow(base, expression.exp)
        args = [self._rounded(a) for a in expression.args]
        if all(new is old for new, old in zip(args, expression.args)):
            return expression
        return expression.func(*args)


def _decimal(x: Any) -> Any:
    """A number with few digits; an integer if these make one."""
    import sympy

    if not x.is_finite:
        return sympy.Float(x, DIGITS)
    value = float(f"{float(x):.{DIGITS}g}")
    return sympy.Integer(int(value)) if value.is_integer() and abs(value) < 10**DIGITS else sympy.Float(x, DIGITS)
