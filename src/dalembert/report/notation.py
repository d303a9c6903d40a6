"""SymPy expressions as LaTeX for a page: names that are safe, numbers that are short, sines that are plain.

A symbol may have any name. Names that read as mathematics (``theta1``, ``I_{zz}``, ``\\alpha_2``) are set as such; all
others are reduced to letters and digits, so that no name can smuggle commands into a document.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

from dalembert.formulations.names import (
    GREEK,
    accented,
    expression_latex,
    look,
    rate_name,
    rate_of,
    spelled,
    symbol_latex,
    verbatim,
)

DIGITS = 6
"""Significant digits of numbers."""

FRACTIONS = frozenset({2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 32})
"""Denominators that stay in formulas with symbols; other fractions are written as decimals."""

_GREEK = "|".join([*GREEK, *(letter.capitalize() for letter in GREEK)])
_SAFE = re.compile(
    rf"(?:[A-Za-z][A-Za-z0-9]*|\\(?:{_GREEK}))"
    r"(?:(?:__?|\^)(?:[A-Za-z0-9]+|\{[A-Za-z0-9, ]+\}))*_*"
)
_PLAIN_ARGUMENT = re.compile(
    r"(\\(?:sin|cos|tan)(?:\^\{\d+\})?)\{\\left\(((?:\\?[A-Za-z]+|\\ddot\{\\?[a-z]+\}|\\dot\{\\?[a-z]+\})"
    r"(?:_\{\w+\})?) \\right\)\}(?=$| ?[-+,&=}]| ?\\\\| ?\\(?:sin|cos|tan|right)(?![a-z]))"
)


class Notation:
    """How symbols and numbers are written in one document.

    Args:
        decimal: write all fractions as decimals, as befits a mechanism of numbers.
    """

    def __init__(self, decimal: bool = False):
        self.decimal = decimal
        self._shown: dict[Any, Any] = {}
        self._readers: dict[str, str] = {}  # who looks like that: theta1, theta_1, or a Greek letter typed as such
        self._by_letters: dict[str, str] = {}

    def latex(self, value: Any) -> str:
        """LaTeX of a number, expression or matrix.

        Args:
            value: what to write.
        """
        import sympy

        if isinstance(value, (int, float)):
            return self.number(value)
        expression = sympy.sympify(value)
        replaced = self._safe(expression)
        if isinstance(replaced, sympy.MatrixBase):
            replaced = replaced.applyfunc(self._rounded)
        else:
            replaced = self._rounded(replaced)
        return _PLAIN_ARGUMENT.sub(r"\1 \2", expression_latex(replaced))

    def terms(self, expression: Any) -> list[str]:
        """LaTeX of the terms of a sum, each with its sign if that is a minus.

        Args:
            expression: any expression; what is no sum is one term.
        """
        import sympy

        rounded = self._rounded(self._safe(sympy.sympify(expression)))
        terms = rounded.as_ordered_terms() if rounded.is_Add else [rounded]
        return [_PLAIN_ARGUMENT.sub(r"\1 \2", expression_latex(term)) for term in terms]

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

    def rate(self, symbol: Any) -> Any:
        """The time derivative of a velocity, as an expression: one dot more.

        Args:
            symbol: the velocity, a symbol or function of time.
        """
        import sympy

        if not symbol.is_Symbol:
            return symbol.diff(next(iter(symbol.free_symbols)))
        name = symbol.name
        return sympy.Symbol(name.replace("dot", "ddot", 1) if "dot" in name else rate_name(name))

    def _safe(self, expression: Any) -> Any:
        """The expression with symbols, and functions of time, of safe names only."""
        from sympy.core.function import AppliedUndef

        atoms = expression.atoms(AppliedUndef)
        for atom in (*sorted(atoms, key=str), *sorted(expression.free_symbols, key=str)):
            if atom not in self._shown:
                self._shown[atom] = self._substitute(atom)
        used = {atom: self._shown[atom] for atom in (*atoms, *expression.free_symbols)}
        return expression.xreplace({atom: shown for atom, shown in used.items() if atom != shown})

    def _substitute(self, atom: Any) -> Any:
        import sympy

        name = atom.name if atom.is_Symbol else atom.func.__name__
        plain_name = spelled(name)
        coordinate, accent = rate_of(plain_name) or ("", "")
        if coordinate in self._by_letters:
            fresh = accented(self._by_letters[coordinate], accent)
            if self._readers.setdefault(fresh, name) == name:
                return sympy.Symbol(fresh)
        if _SAFE.fullmatch(plain_name):
            shown = look(symbol_latex(sympy.Symbol(plain_name)))
            if self._readers.setdefault(shown, name) == name:
                if plain_name == name:
                    return atom
                return sympy.Symbol(plain_name) if atom.is_Symbol else sympy.Function(plain_name)(*atom.args)
        fresh = verbatim(name, self._readers)
        self._readers[fresh] = name
        self._by_letters[name] = fresh
        return sympy.Symbol(fresh)

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
