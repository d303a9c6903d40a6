"""Comparisons and choices over any scalar and over arrays of them, entry by entry.

    done = logical_or(less(height, 0.2), less(2 * np.pi, angle))
    q = select(done, q_start, q)

Of numbers a comparison is a bool; of SymPy expressions it is a relation; of traced scalars it is a condition that the
program decides when it runs, so that ``if``, ``and`` and ``min`` cannot stand for these functions. Complex numbers are
compared by their real parts, so that the complex step works.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.errors import ArgumentError


def less(x: Any, y: Any) -> Any:
    """``x < y``, entry by entry."""
    return _each(lambda a, b: _compared(a, b, "less", lambda x, y: x < y), x, y)


def less_equal(x: Any, y: Any) -> Any:
    """``x <= y``, entry by entry."""
    return _each(lambda a, b: _compared(a, b, "less_equal", lambda x, y: x <= y), x, y)


def equal(x: Any, y: Any) -> Any:
    """``x == y``, entry by entry; of what was computed, roundings decide."""
    return _each(_equal, x, y)


def logical_and(x: Any, y: Any) -> Any:
    """Whether both conditions hold, entry by entry."""
    return _each(lambda a, b: _condition(a, "logical_and") & _condition(b, "logical_and"), x, y)


def logical_or(x: Any, y: Any) -> Any:
    """Whether at least one of two conditions holds, entry by entry."""
    return _each(lambda a, b: _condition(a, "logical_or") | _condition(b, "logical_or"), x, y)


def logical_not(x: Any) -> Any:
    """Whether a condition does not hold, entry by entry."""
    return _each(lambda a: not a if _is_bool(a) else ~_condition(a, "logical_not"), x)


def select(condition: Any, yes: Any, no: Any) -> Any:
    """``yes`` where a condition holds, else ``no``, entry by entry; what is not chosen is computed, too.

    The three are broadcast against each other: one condition chooses between whole arrays.

    Args:
        condition: a comparison or a bool, or an array of them.
        yes: a scalar or an array.
        no: a scalar or an array.
    """
    return _each(scalar.select, condition, yes, no)


def clip(x: Any, low: Any, high: Any) -> Any:
    """``x`` where it is between two bounds, else the bound beyond which it is; entry by entry.

    Args:
        x: a scalar or an array.
        low: the lower bound.
        high: the upper bound.
    """
    return scalar.minimum(scalar.maximum(x, low), high)


def _each(function: Callable[..., Any], *given: Any) -> Any:
    """A function of scalars for every entry of arrays that are broadcast against each other."""
    if not any(isinstance(x, (np.ndarray, list, tuple)) for x in given):
        return function(*given)
    found = np.frompyfunc(function, len(given), 1)(*(np.array(x, dtype=object) for x in given))
    if not isinstance(found, np.ndarray):
        return found
    entries = found.ravel().tolist()
    if entries and all(map(_is_bool, entries)):
        return found.astype(bool)
    return np.array(found.tolist()) if all(map(scalar.is_number, entries)) else found


def _is_bool(x: Any) -> bool:
    return isinstance(x, (bool, np.bool_))


def _compared(x: Any, y: Any, name: str, compare: Callable[[Any, Any], Any]) -> Any:
    x, y = _real(x), _real(y)
    x = float(x) if isinstance(x, np.number) else x  # NumPy's numbers ask traced ones for their truth
    try:
        return compare(x, y)
    except TypeError:
        raise ArgumentError(
            f"{name} takes numbers, SymPy expressions and traced scalars, not {type(x).__name__} and "
            f"{type(y).__name__}, which have no order"
        ) from None


def _equal(x: Any, y: Any) -> Any:
    for a, b in ((x, y), (y, x)):
        if scalar.is_traced(a):
            return a.equals(b)
    if scalar.is_sympy(x) or scalar.is_sympy(y):
        return sys.modules["sympy"].Eq(x, y)
    return bool(_real(x) == _real(y))


def _real(x: Any) -> Any:
    return x.real if isinstance(x, (complex, np.complexfloating)) else x


def _condition(x: Any, name: str) -> Any:
    """A truth value that knows ``&``, ``|``."""
    if isinstance(x, np.bool_):
        return bool(x)
    if isinstance(x, bool) or hasattr(x, "select") or scalar.is_sympy(x):
        return x
    raise ArgumentError(f"{name} takes comparisons, such as less(x, y), not {type(x).__name__}")
