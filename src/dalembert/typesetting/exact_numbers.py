"""Floats that look as if they had been exact: short decimals, small fractions, their square roots, multiples of pi."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy

from dalembert.tracing.program import Program
from dalembert.tracing.sympy import number


def exact_form(value: float) -> tuple[Fraction, Any] | None:
    """A fraction, and the 1, pi or root of an integer that it multiplies; None if a finite float is no such product.

    Args:
        value: a finite number.
    """
    exact = Fraction(value).limit_denominator(10**6)
    if abs(float(exact) - value) <= 1e-15 * abs(value):
        return exact, sympy.S.One
    simple = Fraction(value).limit_denominator(1000)  # a few roundings away from a fraction as simple as that
    if abs(float(simple) - value) <= 1e-14 * abs(value):
        return simple, sympy.S.One
    square = Fraction(value * value).limit_denominator(1000)
    if abs(float(square) - value * value) <= 1e-15 * value * value:
        factor, root = sympy.sqrt(sympy.Rational(square.numerator, square.denominator)).as_coeff_Mul()
        return Fraction(int(factor.p), int(factor.q)) * (1 if value > 0 else -1), root
    turns = Fraction(value / math.pi).limit_denominator(1000)
    if abs(float(turns) * math.pi - value) <= 4e-16 * abs(value):
        return turns, sympy.pi
    return None


def written_fraction(c: int | Fraction) -> Any:
    """Small fractions as fractions, other numbers as decimals: 784/75, but 9.81.

    Args:
        c: any rational number.
    """
    c = Fraction(c)
    return sympy.Rational(c.numerator, c.denominator) if is_fraction(c) else sympy.Float(float(c))


def is_fraction(c: int | Fraction) -> bool:
    """Whether it is written as a fraction.

    Args:
        c: any rational number.
    """
    below = Fraction(c).denominator
    return below <= 64 or (below <= 1000 and 10**4 % below != 0)


def number_writer(program: Program) -> Callable[[float], Any]:
    """How to write the constants of a program in SymPy: as closed forms do if all are exact, otherwise as floats.

    Args:
        program: whose constants they are.
    """
    exact: dict[float, Any] = {}
    for value in {node.value for node in program.nodes if node.op == "const"}:
        form = exact_form(value) if math.isfinite(value) else None
        if form is None:
            return number
        exact[value] = written_fraction(form[0]) * form[1]
    return exact.__getitem__
