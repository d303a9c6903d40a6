"""What can be said about numbers, exact constants such as sqrt(2)/2, and expressions alike."""

from __future__ import annotations

import cmath

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar


def is_finite(x: Scalar) -> bool:
    """False for infinity and NaN, and for an expression in which one of them stands."""
    if scalar.is_number(x):
        return cmath.isfinite(x)
    if scalar.is_sympy(x):
        from sympy import S

        return not x.has(S.NaN, S.Infinity, S.NegativeInfinity, S.ComplexInfinity)
    return True


def is_negative(x: Scalar) -> bool:
    """True for a negative number and for an expression that is negative whatever its symbols are."""
    return bool(x < 0) if scalar.is_number(x) else getattr(x, "is_negative", None) is True


def floats(values: Array) -> Array | None:
    """The values of an array of finite numbers and exact constants; None if a symbol, infinity or NaN is among them."""
    if values.dtype == object:
        if not all(scalar.is_number(x) or getattr(x, "is_number", False) is True for x in values.flat):
            return None
        values = values.astype(float)
    return values if np.isfinite(values).all() else None
