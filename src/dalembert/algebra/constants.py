"""Values of exact SymPy constants, such as ``sqrt(2)/2``, as floats; a zero in disguise is zero."""

from __future__ import annotations

import sys
from typing import Any


def evaluated_constant(x: Any) -> float | complex | None:
    """The value of an exact constant; None if it cannot be had.

    In 130 digits a zero in disguise, ``1 - sin(1)**2 - cos(1)**2``, leaves some 1e-125: less than
    can be told from zero.

    Args:
        x: a SymPy expression without symbols.
    """
    value = _without_residue(_evaluated(x, 130, {})) if x.args else None
    if value is None or value != _without_residue(_evaluated(x, 200, {})):  # digits were lost: SymPy looks for more
        value = _without_residue(x.evalf())
    return value


def _evaluated(x: Any, digits: int, known: dict[Any, Any]) -> Any:
    """The value of a constant in floating point of so many digits, each part of it evaluated once.

    Where a part cancels, ``evalf`` starts again with more digits; for parts within parts that multiplies to minutes.
    """
    if x not in known:
        sympy = sys.modules["sympy"]
        if isinstance(x, sympy.Pow) and x.exp.is_Integer:
            known[x] = _evaluated(x.base, digits, known) ** x.exp
        elif isinstance(x, (sympy.Add, sympy.Mul, sympy.Pow, sympy.Function)) and not isinstance(x, sympy.Piecewise):
            known[x] = x.func(*(_evaluated(part, digits, known) for part in x.args))
        else:
            known[x] = x.evalf(digits)
    return known[x]


def _without_residue(x: Any) -> float | complex | None:
    """A SymPy number as float or complex, with zeros for parts too small to be told from zero; None if it is none."""
    try:
        value = complex(x)
    except TypeError:
        return None
    real, imaginary = (0.0 if abs(part) < 1e-100 else part for part in (value.real, value.imag))
    return complex(real, imaginary) if imaginary else real
