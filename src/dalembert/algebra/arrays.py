"""Small arrays of scalars: made exact, put together and multiplied, whatever their entries are.

The rules of :mod:`dalembert.algebra.scalar` hold for every entry: integers stay exact beside symbols, and what is
literally zero or one costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.algebra.scalar import Scalar, is_number
from dalembert.errors import ArgumentError
from dalembert.labels import unlabelled

Array = np.ndarray
"""A small array of scalars: dtype float64, complex128, int64 or object."""

Coordinates = Array | Sequence[Scalar]
"""A vector of scalars as callers have it."""


def asarray(x: Any) -> Array:
    """``x`` as an array of scalars: float64 or complex128 for numbers, object for anything else.

    Integers stay exact inside object arrays and become floats otherwise.
    """
    if type(x) is np.ndarray:
        a = x
    else:
        x = unlabelled(x, "the array")
        try:  # np.matrix becomes an array: its product is not the one of arrays
            a = np.asarray(x) if isinstance(x, np.ndarray) or not _has_objects(x) else np.array(x, dtype=object)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"cannot make scalars out of this {type(x).__name__}: {error}") from error
        if type(x) not in (list, tuple) and np.ma.is_masked(x):  # which have no mask, and numpy.ma takes long to import
            raise ArgumentError("cannot make scalars out of masked entries; fill them first, as with .filled(0.0)")
    if a.dtype == object or a.dtype == np.complex128 or a.dtype == np.float64:
        return a
    if a.dtype.kind in "iuf":
        return a.astype(np.float64)
    if a.dtype.kind == "c":
        return a.astype(np.complex128)
    raise ArgumentError(f"cannot make scalars out of entries of type {a.dtype}")


def _has_objects(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        for e in x:  # noqa: SIM110 - a generator would cost as much as all the rest
            if type(e) is not float and _has_objects(e):
                return True
        return False
    if isinstance(x, np.ndarray):
        return x.dtype == object
    return not is_number(x)


def zeros(*shape: int) -> Array:
    """Integer zeros: exact in every company they are added to."""
    return np.zeros(shape, dtype=np.int64)


def identity(n: int) -> Array:
    """Integer identity matrix."""
    return np.eye(n, dtype=np.int64)


def stack(rows: Any) -> Array:
    """A vector or matrix of mixed scalars; object dtype only when a member needs it."""
    return asarray([list(r) if isinstance(r, np.ndarray) else r for r in rows])


def exact(x: Any) -> Array:
    """``x`` as an object array in which integral floats have become integers.

    This is how numbers join symbols: ``1 * q`` is ``q`` where ``1.0 * q`` would stay a product with a float.
    """
    a = np.asarray(x, dtype=object)
    out = np.empty(a.shape, dtype=object)
    for index, entry in np.ndenumerate(a):
        integral = isinstance(entry, (float, np.floating)) and float(entry).is_integer()
        out[index] = int(entry) if integral else entry
    return out


def product(a: Array, b: Array) -> Array:
    """``a @ b`` for matrix-vector and matrix-matrix products over any scalars.

    Numbers meet symbols exactly (``1.0`` becomes ``1``), and terms with a literal zero or one cost nothing.
    """
    if a.dtype != object and b.dtype != object:
        return a @ b
    if b.ndim == 1:
        return asarray([_row_times(row, _plain(b)) for row in map(_plain, a)])
    columns = [_plain(column) for column in b.T]
    return asarray([[_row_times(row, column) for column in columns] for row in map(_plain, a)])


def _plain(entries: Array) -> list[Scalar]:
    """Entries with integers of Python, which are as large as they must be; those of NumPy overflow."""
    return [
        int(x) if (isinstance(x, float) and x.is_integer()) or isinstance(x, np.integer) else x
        for x in entries.tolist()
    ]


def _row_times(row: list[Scalar], column: list[Scalar]) -> Scalar:
    total: Scalar = None
    for x, y in zip(row, column):
        if (isinstance(x, int) and x == 0) or (isinstance(y, int) and y == 0):
            continue
        if isinstance(x, int) and x == 1:
            term = y
        elif isinstance(y, int) and y == 1:
            term = x
        else:
            term = x * y
        total = term if total is None else total + term
    return 0 if total is None else total
