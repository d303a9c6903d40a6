"""What callers give, made into arrays of scalars: one conversion, one check, one way to refuse.

Arrays, nested lists and tuples, SymPy matrices and ``numpy.matrix`` are welcome alike; what is none of them, or has
the wrong shape or entries that cannot be computed with, is refused by the name of the argument.
"""

from __future__ import annotations

import numbers
import reprlib
import sys
from collections.abc import Mapping, Sequence, Set
from functools import cache
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array, asarray, exact
from dalembert.algebra.scalar import Scalar, constant, is_symbolic
from dalembert.errors import ArgumentError

Vector = Array | Sequence[Scalar]
"""Scalars in a row: an array, list, tuple, or a SymPy matrix of one row or column."""

Matrix = Array | Sequence[Sequence[Scalar]]
"""Rows of scalars: an array, nested lists or tuples, or a SymPy matrix."""

ORTHOGONAL = 1e-5
"""Largest entry of ``R^T R - 1`` that a rotation matrix may have where its parameters are asked for.

Single precision (6e-8 an entry, and some more after a chain of products) and files with six decimals (up to 2e-6)
pass; a matrix that is scaled, sheared or mistyped in the fourth decimal does not.
"""

ROOM = 1 << 20
"""Integers below stay integers, exact beside symbols, in arrays; NumPy's wrap around where a product gets too large."""


def components(u: Vector, name: str = "the vector", count: int = 3) -> list[Any]:
    """The entries of a vector as plain Python scalars.

    Args:
        u: array, list or tuple of scalars, or a SymPy matrix of one row or column.
        name: what the caller calls it, for the message if it is no such vector.
        count: how many entries it must have.
    """
    if type(u) is np.ndarray:
        entries = u.tolist() if u.ndim == 1 else []
    elif isinstance(u, np.ndarray):
        entries = array(u, name, (count,)).tolist()
    elif isinstance(u, (list, tuple)):
        entries = list(u)
    else:
        entries = _row(u)
    if len(entries) != count:
        raise ArgumentError(f"{name} must be a vector of {count} scalars, shape ({count},); got {described(u)}")
    for x in entries:
        kind: Any = type(x)
        if kind is not float and not _computes(kind):
            raise ArgumentError(f"{name} must be a vector of {count} scalars, but {_short(x)} is no scalar")
    return entries


def scalar_argument(x: Scalar, name: str) -> Scalar:
    """``x`` itself if it is one scalar; an array without dimensions gives its entry.

    Args:
        x: number, SymPy expression or traced scalar.
        name: what the caller calls it.
    """
    if isinstance(x, np.ndarray) and x.ndim == 0:
        x = x.item()
    if not is_scalar(x):
        raise ArgumentError(f"{name} must be one scalar: a number or an expression; got {described(x)}")
    return x


def array(x: Any, name: str, shape: tuple[int, ...] | None = None) -> Array:
    """``x`` as an array of scalars.

    Args:
        x: array, nested lists, SymPy matrix.
        name: what the caller calls it.
        shape: the shape it must have; any if None.
    """
    if shape is not None and len(shape) == 1:
        x = unrolled(x)
    try:
        out = x if type(x) is np.ndarray and x.dtype == np.int64 and _has_room(x) else asarray(x)
    except ArgumentError as error:
        raise ArgumentError(f"{name} must be an array of scalars: {error}") from error
    if shape is not None and out.shape != shape:
        wanted = "x".join(map(str, shape)) + " matrix" if len(shape) > 1 else f"vector of {shape[0]} scalars"
        raise ArgumentError(f"{name} must be a {wanted}, shape {shape}; got {described(x)}")
    if out.dtype == object:
        for entry in out.flat:
            if not is_scalar(entry):
                raise ArgumentError(f"{name} must be an array of scalars, but {_short(entry)} is no scalar")
    return out


def tensor(t: Matrix, name: str) -> Array:
    """A 3x3 matrix as an array.

    Args:
        t: array of three rows, their entries in nested lists, or a SymPy matrix.
        name: what the caller calls it.
    """
    if type(t) is np.ndarray and t.dtype == np.float64 and t.shape == (3, 3):
        return t
    return array(t, name, (3, 3))


def exact_tensor(t: Matrix, name: str) -> Array:
    """A 3x3 matrix as an array; beside symbols and exact constants the whole numbers are exact too, under division.

    Args:
        t: array of three rows, their entries in nested lists, or a SymPy matrix.
        name: what the caller calls it.
    """
    return exact_entries(tensor(t, name))


def exact_entries(entries: Array) -> Array:
    """The array itself, but with SymPy's integers for whole numbers if there is a SymPy expression among them."""
    if not is_symbolic(entries):
        return entries
    integer, out = sys.modules["sympy"].Integer, exact(entries)
    for index, x in np.ndenumerate(out):
        if isinstance(x, int):
            out[index] = integer(x)
    return out


def matrix(t: Matrix, name: str) -> Array:
    """A matrix of any size, but not empty, as an array.

    Args:
        t: array, nested lists, or a SymPy matrix.
        name: what the caller calls it.
    """
    out = array(t, name)
    if out.ndim != 2 or out.size == 0:
        raise ArgumentError(f"{name} must be a matrix, shape (rows, columns); got {described(t)}")
    return out


def rotation_matrix(rotation: Matrix, name: str = "rotation") -> Array:
    """A rotation matrix; numbers and exact constants are checked, symbols and traced scalars are trusted.

    Complex matrices are checked without conjugation, as analytic continuations of real ones: the small imaginary parts
    of a complex step pass, and so does ``rotation_x`` of any complex angle.

    Args:
        rotation: a 3x3 matrix.
        name: what the caller calls it.
    """
    entries = exact_tensor(rotation, name)
    values = numeric(entries)
    if values is None:
        return entries
    defect, determinant = orthogonality(values)
    if not defect <= ORTHOGONAL:
        raise ArgumentError(
            f"{name} is no rotation matrix: R^T R differs from the identity by {defect:.3g} (at most {ORTHOGONAL:g} is "
            "taken for rounding). If it should be one, take U V^T of its singular value decomposition U S V^T"
        )
    if not determinant > 0:
        raise ArgumentError(
            f"{name} is no rotation matrix but a mirror image, with determinant {determinant:.3g}: one of its axes is "
            "reversed or two are exchanged, and no turn of a right-handed frame leads there"
        )
    return entries


def numeric(entries: Array) -> Array | None:
    """The values of an array of numbers and exact constants; None if there is a symbol or a traced scalar in it."""
    if entries.dtype != object:
        return entries
    values = []
    for x in entries.flat:
        value = constant(x)
        if value is None:
            return None
        values.append(value)
    return np.array(values).reshape(entries.shape)


def orthogonality(r: Array) -> tuple[float, float]:
    """Largest entry of ``R^T R - 1``, without conjugation, and the determinant, of a numeric 3x3 matrix.

    Args:
        r: real or complex numbers.
    """
    (a, b, c), (d, e, f), (g, h, i) = r.tolist()
    products = (
        a * a + d * d + g * g - 1, b * b + e * e + h * h - 1, c * c + f * f + i * i - 1,
        a * b + d * e + g * h, a * c + d * f + g * i, b * c + e * f + h * i,
    )  # fmt: skip
    determinant = a * (e * i - f * h) + b * (f * g - d * i) + c * (d * h - e * g)
    return float(np.max(np.abs(products))), determinant.real


def _has_room(x: Array) -> bool:
    """True for integers so small that sums of their products fit into 64 bits too."""
    return x.size == 0 or (x.max() < ROOM and x.min() > -ROOM)


def is_scalar(x: Any) -> bool:
    """True for whatever the algebra computes with: numbers, SymPy expressions, objects that know ``+ - * /``."""
    kind: Any = type(x)
    return _computes(kind)


@cache
def _computes(kind: type) -> bool:
    if issubclass(kind, (bool, np.bool_, np.datetime64, np.timedelta64)):
        return False
    sympy = sys.modules.get("sympy")
    if sympy is not None and issubclass(kind, sympy.Basic):
        return issubclass(kind, sympy.Expr) and not issubclass(kind, sympy.MatrixExpr)
    if issubclass(kind, numbers.Number):
        return issubclass(kind, numbers.Complex)  # Decimal is the other sort, and computes with its like only
    return not hasattr(kind, "__len__") and all(hasattr(kind, f"__{op}__") for op in ("add", "mul", "truediv", "neg"))


def described(x: Any) -> str:
    """Shape and beginning of what was given, for messages."""
    try:
        shape = tuple(x.shape) if hasattr(x, "shape") else np.shape(x)
    except (TypeError, ValueError):
        return f"rows of different lengths: {_short(x)}"
    return f"shape {shape}: {_short(x)}" if shape else _short(x)


def _short(x: Any) -> str:
    kind = type(x).__name__
    if kind == "int":
        return f"the integer {x}"
    return "None" if x is None else f"{kind} {' '.join(reprlib.repr(x).split())}"


def unrolled(x: Any) -> Any:
    """The entries of a SymPy matrix of one row or column, SymPy's way to write a vector; ``x`` itself otherwise."""
    shape = getattr(x, "shape", ())
    is_row = not isinstance(x, np.ndarray) and isinstance(shape, tuple) and len(shape) == 2 and 1 in shape
    return list(x) if is_row else x


def _row(u: Any) -> list[Any]:
    """The entries of other iterables; none of those without an order, and of matrices that are no row or column."""
    shape = getattr(u, "shape", (0,))
    if isinstance(u, (str, bytes, Mapping, Set)) or (len(shape) > 1 and 1 not in shape) or len(shape) > 2:
        return []
    try:
        return list(u)
    except TypeError:
        return []
