"""Elementary functions over any scalar: float, complex, SymPy expression, traced scalar of the compiler.

A *scalar* is anything that knows ``+ - * /``. What it does not know by operator - sin, sqrt, ... - is asked
here: numbers go to ``math``/``cmath``, SymPy expressions to SymPy, and any other object to its own method
of the same name. Nothing here imports SymPy or the compiler; the object that comes in brings its own kind
along.

House rule: constants in algorithms are Python integers (``x / 2``, ``2 * x``, integer identity matrices),
never floats, so that symbols stay exact and zeros and ones fold away.
"""

from __future__ import annotations

import cmath
import math
import numbers
import sys
from typing import Any

import numpy as np

from dalembert.algebra.constants import evaluated_constant
from dalembert.errors import ArgumentError, SingularityError, TracingError

Scalar = Any
"""float | int | complex | sympy.Expr | traced scalar."""


def is_number(x: Scalar) -> bool:
    """True for Python and NumPy numbers, false for symbols and traced scalars."""
    return isinstance(x, (int, float, complex, np.number))


def is_sympy(x: Scalar) -> bool:
    """True for SymPy objects, without importing SymPy."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and isinstance(x, sympy.Basic)


def is_traced(x: Any) -> bool:
    """True for traced scalars, without importing the compiler: only they can take the steps of a loop."""
    return hasattr(x, "scanned")


def is_symbolic(x: Any) -> bool:
    """True if ``x``, a scalar or an array, contains a SymPy expression."""
    if isinstance(x, np.ndarray):
        return x.dtype == object and any(is_sympy(e) for e in x.flat)
    return is_sympy(x)


def is_zero(x: Scalar) -> bool:
    """True only if ``x`` is certainly zero: the number 0, or an expression that is literally 0."""
    if is_number(x):
        return x == 0
    return getattr(x, "is_zero", None) is True


def is_one(x: Scalar) -> bool:
    """True only if ``x`` is certainly one: a number, or an expression that is literally 1."""
    if is_number(x) or is_sympy(x) or isinstance(x, numbers.Number):
        return bool(x == 1)
    return getattr(x, "is_one", None) is True


def same(x: Any, y: Any) -> bool:
    """True only if two scalars, or tuples of them, are certainly equal: numbers by value, expressions as written.

    The ``==`` of traced scalars refuses to guess, or is a traced scalar itself: both mean no.
    """
    if x is y:
        return True
    try:
        equal = x == y
    except TracingError:
        return False
    return isinstance(equal, (bool, np.bool_)) and bool(equal)


def constant(x: Scalar) -> Scalar | None:
    """The value of a number or of an exact SymPy constant such as ``sqrt(2)/2``; None for symbols and traced scalars.

    What decides about numbers, a singular point or a length, asks here, so that it decides about constants too.
    """
    if is_number(x):
        return x
    if not is_sympy(x):
        return float(x) if isinstance(x, numbers.Real) else None  # a Fraction is a number, and nothing traced is
    if not getattr(x, "is_number", False):
        return None
    sympy = sys.modules["sympy"]
    if x.has(sympy.nan, sympy.zoo):
        return math.nan
    return evaluated_constant(x)


def vanishes(x: Scalar) -> bool:
    """True if an expression is zero for all values of its symbols, as two trials tell; ``1 - sin(x)**2 - cos(x)**2``.

    A trial costs one evaluation, where a simplification of a long expression may take for ever.

    Args:
        x: a number or SymPy expression.
    """
    value = constant(x)
    if value is not None:
        return value == 0
    from sympy import Derivative, Rational, Symbol
    from sympy.core.function import AppliedUndef

    unknown = sorted(x.atoms(Symbol, AppliedUndef, Derivative), key=str)
    for trial in (1, 3):
        value = constant(x.xreplace({u: Rational(trial + 7 * k, 11) for k, u in enumerate(unknown, 1)}))
        if value is None or not abs(value) < 1e-12:
            return False
    return True


_POLES: dict[tuple[str, Any], float] = {("log", 0): -math.inf, ("atanh", 1): math.inf, ("atanh", -1): -math.inf}


def _elementary(name: str):
    real, complex_ = getattr(math, name), getattr(cmath, name)
    own = "arc" + name[1:] if name.startswith("a") else name  # the method of others has the name NumPy calls it by
    too_large = math.nan if name in ("sin", "cos", "tan") else math.inf

    def function(x: Scalar) -> Scalar:
        if isinstance(x, (float, int, np.floating, np.integer)):
            try:
                return real(x)
            except ValueError:  # outside the real domain, at its end, or infinite: as NumPy answers
                return _POLES.get((name, x), math.nan)
            except OverflowError:
                return -too_large if name == "sinh" and x < 0 else too_large
        if isinstance(x, (complex, np.complexfloating)):
            try:
                return complex_(x)
            except (ValueError, OverflowError):
                return complex(math.nan, math.nan)
        if is_sympy(x):
            return getattr(sys.modules["sympy"], name)(x)
        if isinstance(x, np.ndarray) and x.ndim == 0:
            return function(x.item())
        if isinstance(x, numbers.Real):  # a Fraction
            return function(float(x))
        try:
            method = getattr(x, own)
        except AttributeError:
            raise _no_scalar(name, x) from None
        return method()

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``{name}`` of any scalar; NaN outside the real domain of a float."
    return function


def _no_scalar(name: str, x: Any) -> ArgumentError:
    return ArgumentError(
        f"{name} takes one scalar (a number, a SymPy expression or a traced scalar), not {type(x).__name__}"
        + (f" of shape {x.shape}: call it for each entry" if isinstance(x, np.ndarray) else "")
    )


sin = _elementary("sin")
cos = _elementary("cos")
tan = _elementary("tan")
sqrt = _elementary("sqrt")
exp = _elementary("exp")
log = _elementary("log")
asin = _elementary("asin")
acos = _elementary("acos")
atan = _elementary("atan")
sinh = _elementary("sinh")
cosh = _elementary("cosh")
tanh = _elementary("tanh")
asinh = _elementary("asinh")
acosh = _elementary("acosh")
atanh = _elementary("atanh")


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y), in (-pi, pi]; zero at the origin, for numbers and exact constants.

    For complex arguments the analytic continuation around the real axis is used, so the complex step works; at the
    origin, where the angle has no derivative, a step raises ``SingularityError``.
    """
    if is_number(y) and is_number(x):
        if isinstance(y, (complex, np.complexfloating)) or isinstance(x, (complex, np.complexfloating)):
            y, x = complex(y), complex(x)
            re = math.atan2(y.real, x.real)
            if x.real == 0 and y.real == 0:
                if x.imag or y.imag:
                    raise SingularityError("the angle of a point has no derivative at the origin: every angle is near")
                return complex(re)
            slope = (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2)
            return complex(re, slope)
        return math.atan2(y, x)
    if is_sympy(y) or is_sympy(x):
        sympy = sys.modules["sympy"]
        return sympy.S.Zero if constant(y) == 0 and constant(x) == 0 else sympy.atan2(y, x)
    if hasattr(y, "atan2"):
        return y.atan2(x)
    return x.ratan2(y) if hasattr(x, "ratan2") else atan2(_floating(y), _floating(x))


def _floating(x: Scalar) -> Scalar:
    """The number in an argument of ``atan2`` that is none itself: a Fraction, an array without dimensions."""
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x.item()
    if is_number(x):
        return x
    if isinstance(x, numbers.Real):
        return float(x)
    raise _no_scalar("each argument of atan2", x)


def reciprocal(x: Scalar) -> Scalar:
    """``1 / x``; of the number zero infinity, as kernels have it, where Python's own numbers raise an error."""
    return math.inf if is_number(x) and x == 0 else 1 / x


def absolute(x: Scalar) -> Scalar:
    """Absolute value; for complex numbers the analytic one, ``x`` with the sign of its real part removed."""
    if isinstance(x, (complex, np.complexfloating)):
        return -x if x.real < 0 else x
    return abs(x)


def select(condition: Any, yes: Scalar, no: Scalar) -> Scalar:
    """``yes`` where ``condition`` holds, else ``no``; works on traced and symbolic comparisons too."""
    if isinstance(condition, (bool, np.bool_)):
        return yes if condition else no
    if is_sympy(condition):
        sympy = sys.modules["sympy"]
        return sympy.Piecewise((yes, condition), (no, True))
    if not hasattr(condition, "select"):
        hint = "; call it for each entry" if isinstance(condition, np.ndarray) else ""
        raise ArgumentError(f"select chooses by a comparison, such as x < y, not by {type(condition).__name__}{hint}")
    return condition.select(yes, no)


def minimum(x: Any, y: Any) -> Any:
    """The smaller of two scalars, or of the entries of arrays; NaN beside anything is NaN.

    Complex numbers are compared by their real parts, so the complex step works.
    """
    return _extremum(x, y, "minimum", "Min")


def maximum(x: Any, y: Any) -> Any:
    """The larger of two scalars, or of the entries of arrays; see :func:`minimum`."""
    return _extremum(x, y, "maximum", "Max")


def _extremum(x: Any, y: Any, name: str, in_sympy: str) -> Any:
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        entries = np.frompyfunc(lambda a, b: _extremum(a, b, name, in_sympy), 2, 1)(x, y)
        kind = np.result_type(*(np.asarray(a) for a in (x, y)))
        floating = np.result_type(kind, np.float64)
        return entries if kind.hasobject or not isinstance(entries, np.ndarray) else entries.astype(floating)
    if is_sympy(x) or is_sympy(y):
        return getattr(sys.modules["sympy"], in_sympy)(x, y)
    for a, b in ((x, y), (y, x)):
        if hasattr(a, name):
            return getattr(a, name)(b)
        if not isinstance(a, numbers.Number):
            raise ArgumentError(f"{name} takes numbers, SymPy expressions and traced scalars, not {type(a).__name__}")
    a, b = x.real, y.real
    return x if a != a or (a < b if name == "minimum" else a > b) else y
