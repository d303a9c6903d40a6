"""SymPy expressions as LaTeX for a page: names that are safe, numbers that are short, sines that are plain.

A symbol may have any name. Names that read as mathematics (``theta1``, ``I_{zz}``, ``\\alpha_2``) are set as such; all
others are reduced to letters and digits, so that no name can smuggle commands into a document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dalembert.typesetting.letters import Print
from dalembert.typesetting.names import GREEK

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
        rates: see :class:`~dalembert.typesetting.letters.Print`.
    """

    def __init__(self, decimal: bool = False, rates: Mapping[str, str] | None = None):
        self.decimal = decimal
        self._print = Print(rates, _SAFE.fullmatch)

    def latex(self, value: Any) -> str:
        """LaTeX of a number, expression or matrix.

        Args:
            value: what to write.
        """
        import sympy

        if isinstance(value, (int, float)):
            return self.number(value)
        expression = sympy.sympify(value)
        matrix = isinstance(expression, sympy.MatrixBase)
        return self._written(expression.applyfunc(self._rounded) if matrix else self._rounded(expression))

    def terms(self, expression: Any) -> list[str]:
        """LaTeX of the terms of a sum, each with its sign if that is a minus.

        Args:
            expression: any expression; what is no sum is one term.
        """
        import sympy

        rounded = self._rounded(sympy.sympify(expression))
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

    def _rounded(self, expression: Any) -> Any:
        """The expression with decimals for the fractions nobody would write, and few digits."""
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
