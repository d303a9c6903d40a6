"""Kronecker product, vec, and the matrix derivative of Khang (NGUYEN section 2).

Vectors (1-D arrays) count as columns throughout. With ``E_n`` the identity matrix of size n the calculus
rests on

    (8)  Adot = dA/dx (E_s (x) xdot)        (9)  d(AB)/dx = dA/dx (B (x) E_n) + A dB/dx
    (10) vec(A X B) = (B^T (x) A) vec X     (11) d(J qd)/dt = J qdd + dJ/dq (qd (x) qd)
    (17) (A a)~ = A~ (E_3 (x) a)            (18) a~ A = -A~ (a (x) E_m)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.algebra.arguments import Vector, array, described, is_scalar, numeric, unrolled
from dalembert.algebra.arrays import Array, asarray
from dalembert.algebra.scalar import constant, is_number, is_sympy
from dalembert.errors import ArgumentError


def kron(a: Any, b: Any) -> Array:
    """Kronecker product ``A (x) B``; of two vectors, a vector.

    Args:
        a: matrix, or vector taken as a column.
        b: matrix, or vector taken as a column.
    """
    left, right = asarray(array(a, "a")), asarray(array(b, "b"))
    product = np.kron(_as_matrix(left, "a"), _as_matrix(right, "b"))
    return product[:, 0] if left.ndim == right.ndim == 1 else product


def vec(a: Any) -> Array:
    """The columns of a matrix, stacked into one vector."""
    return _as_matrix(array(a, "a"), "a").ravel(order="F")


def unvec(v: Any, rows: int) -> Array:
    """The matrix with ``vec(A) = v``.

    Args:
        v: vector.
        rows: number of rows of the matrix; it must divide the length of ``v``.
    """
    vector = array(unrolled(v), "v")
    if not isinstance(rows, (int, np.integer)) or isinstance(rows, bool):
        raise ArgumentError(f"rows must be a whole number, got {described(rows)}")
    if vector.ndim != 1 or rows < 1 or vector.size % rows:
        raise ArgumentError(f"unvec cannot make a matrix of {rows} rows out of shape {vector.shape}")
    return vector.reshape((rows, -1), order="F")


def khang_derivative(a: Any, x: Any) -> Array:
    """Khang's derivative ``dA/dx`` of a matrix of SymPy expressions: r x s becomes r x (s n).

    Column ``(j-1) n + k`` is ``d a_j / d x_k``: the Jacobians of the columns, side by side. For a vector it
    is the Jacobian.

    Args:
        a: matrix or vector of expressions.
        x: n symbols (or functions of time, such as dynamic symbols).
    """
    import sympy

    matrix = _as_matrix(array(a, "a").astype(object), "a")
    for entry in matrix.flat:
        if constant(entry) is None and not is_sympy(entry):
            raise ArgumentError(f"khang_derivative: a contains {described(entry)}, which SymPy cannot differentiate")
    rows, columns = matrix.shape
    symbols = _symbols(x)
    for symbol in symbols:
        if not getattr(symbol, "_diff_wrt", False):
            raise ArgumentError(
                f"khang_derivative: x contains {symbol!r}, which is no symbol; at a numeric point use "
                "khang_derivative_complex_step"
            )
    out = np.empty((rows, columns * len(symbols)), dtype=object)
    for (i, j), entry in np.ndenumerate(matrix):
        for k, symbol in enumerate(symbols):
            out[i, j * len(symbols) + k] = sympy.diff(entry, symbol)
    return out


def khang_derivative_complex_step(function: Callable[[Array], Any], x: Vector, step: float = 1e-30) -> Array:
    """Khang's derivative of a matrix-valued function at a numeric point, exact to rounding.

    Args:
        function: maps n scalars to a matrix or vector; it must be analytic, as all of ``dalembert.algebra``
            is.
        x: the point, n real numbers.
        step: length of the imaginary step. There is no subtraction, so it may be as small as it likes.
    """
    values = numeric(array(unrolled(x), "x"))
    if values is None or values.ndim != 1 or values.size == 0 or np.iscomplexobj(values):
        raise ArgumentError(f"x must be a vector of real numbers, shape (n,); got {described(x)}")
    if not callable(function):
        raise ArgumentError(f"function must map n scalars to a matrix, got {described(function)}")
    if not is_scalar(step) or not is_number(step) or np.iscomplexobj(step) or not 0 < abs(step) < np.inf:
        raise ArgumentError(f"step must be a real number other than zero, got {described(step)}")
    point, slices = values.astype(float), []
    for k in range(point.size):
        shifted = point.astype(complex)
        shifted[k] += 1j * step
        value = array(function(shifted), "the value of the function")
        slices.append(_as_matrix(_complex(value), "the value of the function").imag / step)
    # (r, s, n) flattened over the last two axes: the index of x runs fastest.
    derivative = np.stack(slices, axis=-1)
    return derivative.reshape(derivative.shape[0], -1)


def block_skew(a: Any) -> Array:
    """Block skew matrix ``A~`` (3 x 3m) of a matrix with three rows (3 x m). (16)

    Args:
        a: matrix with rows a1, a2, a3; a vector of three gives the ordinary tilde.
    """
    matrix = _as_matrix(array(a, "a"), "a")
    if matrix.shape[0] != 3:
        raise ArgumentError(f"block_skew needs a matrix with three rows, got shape {matrix.shape}")
    a1, a2, a3 = (row.tolist() for row in matrix)
    n1, n2, n3 = ([-entry for entry in row] for row in (a1, a2, a3))
    o = [0] * matrix.shape[1]
    return asarray([o + n3 + a2, a3 + o + n1, n2 + a1 + o])


def _as_matrix(a: Array, name: str) -> Array:
    if a.ndim not in (1, 2):
        raise ArgumentError(f"{name} must be a matrix or a vector, got {described(a)}")
    return a.reshape(-1, 1) if a.ndim == 1 else a


def _symbols(x: Any) -> list[Any]:
    try:
        return list(x)
    except TypeError:
        raise ArgumentError(f"x must be a list of symbols, got {described(x)}") from None


def _complex(a: Array) -> Array:
    values = numeric(a)
    if values is None:
        raise ArgumentError("the function must give numbers at a point of numbers, but there are symbols in its value")
    return values.astype(complex)
