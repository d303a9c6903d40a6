"""Small systems of linear equations over any scalar: numbers, symbols, exact fields, traced scalars of kernels.

    L = cholesky(M)
    a = solve(M, tau - h, assume="positive")
    x = least_squares(J, twist)

Everything may have leading batch dimensions, which are broadcast against each other. In a kernel, matrices of up to
``STRAIGHT_ROWS`` rows become straight-line code in which structural zeros cost nothing; larger ones become loops, whose
code is short but which do about three times the arithmetic.

A singular matrix gives infinities and NaN, in a kernel and with numbers alike; with symbols and exact numbers it is a
division by zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.comparisons import less, select
from dalembert.algebra.loops import along, for_each
from dalembert.algebra.scalar import Scalar
from dalembert.errors import ArgumentError

STRAIGHT_ROWS = 16
"""Rows up to which matrices become straight-line code; with 16 of them an elimination takes about 3,000 operations."""

ASSUMPTIONS = ("general", "dominant", "positive")
"""What :func:`solve` may take for granted."""


def cholesky(A: Any) -> Array:
    """The lower triangular L with ``L @ L.T = A``, of real symmetric positive definite matrices (..., n, n).

    Args:
        A: the matrices; their lower half is read. Of one that is not positive definite, entries of L are NaN.
    """

    def one(M: Array) -> Array:
        L = np.zeros(M.shape, dtype=object)
        for k, (column, _) in enumerate(_chain(_cholesky_step, _mirrored(M), len(M))):
            L[k:, k] = column[: len(M) - k]
        return L

    return _by_matrix(one, _square("cholesky", A))


def solve(A: Any, b: Any, assume: str = "general") -> Array:
    """``x`` with ``A @ x = b``.

    Args:
        A: matrices (..., n, n).
        b: vectors (..., n), if it has one dimension less than A; else matrices (..., n, m), column by column.
        assume: ``"general"``: in every column the largest entry left becomes the pivot; of symbols and exact numbers
            the first that is not zero. ``"dominant"``: the entries of the diagonal will do as pivots, as those of
            diagonally dominant matrices. ``"positive"``: A is symmetric and positive definite; its lower half is read.
            Each takes about half the work of the one before.
    """
    if assume not in ASSUMPTIONS:
        raise ArgumentError(f"solve: assume = {assume!r}; choose one of {', '.join(ASSUMPTIONS)}")

    def one(M: Array, right: Array) -> Array:
        n = len(M)
        if assume == "positive":
            found = _chain(_positive_step, _mirrored(M), n)
            columns = [_row([1, *column[1 : n - k]]) for k, (column, _) in enumerate(found)]
            scaled = _row([column[0] for column, _ in found])[:, None] * _forwards(columns, right)
            return _backwards(columns, scaled)
        step = _pivoted_step if assume == "general" else _eliminated
        return _backwards(*_halves(_chain(step, np.hstack([M, right]), n), right))

    return _with_columns("solve", one, _square("solve", A), b)


def solve_triangular(A: Any, b: Any, lower: bool = True) -> Array:
    """``x`` with ``A @ x = b`` for triangular matrices.

    Args:
        A: matrices (..., n, n); only their lower or upper half is read.
        b: as for :func:`solve`.
        lower: whether it is the lower half. ``solve_triangular(L.T, b, lower=False)`` solves with a transposed L.
    """

    def one(M: Array, right: Array) -> Array:
        lines = [M[k:, k] if lower else M[k, k:] for k in range(len(M))]
        lines = [_row([scalar.reciprocal(line[0]), *line[1:]]) for line in lines]
        return (_forwards if lower else _backwards)(lines, right)

    return _with_columns("solve_triangular", one, _square("solve_triangular", A), b)


def least_squares(A: Any, b: Any) -> Array:
    """``x`` for which the sum of squares of ``A @ x - b`` is smallest, by reflections (Householder); of symbols and
    exact numbers by the normal equations.

    Args:
        A: real matrices (..., m, n) with independent columns, at least as many rows as columns.
        b: vectors (..., m), if it has one dimension less than A; else matrices (..., m, k), column by column.
    """
    matrix = arrays.asarray(A)
    if matrix.ndim < 2 or matrix.shape[-2] < matrix.shape[-1]:
        raise ArgumentError(
            f"least_squares: A has shape {matrix.shape}; needed is (..., m, n) with at least as many rows as columns"
        )

    def one(M: Array, right: Array) -> Array:
        n = M.shape[1]
        if _exact_one((*M.flat, *right.flat)) is not None:
            return solve(arrays.product(M.T, M), arrays.product(M.T, right).reshape(n, -1), "positive")
        return _backwards(*_halves(_chain(_reflected, np.hstack([M, right]).T, n), right))

    return _with_columns("least_squares", one, matrix, b)


# ------------------------------------------------------------------------------------------------ one row after another

Step = Callable[[Array, Array, bool], tuple[Array, Array]]
"""Takes what is left and a given row; gives what is left then, and a row to keep. The flag says whether there are so
many rows that they need a loop."""


def _chain(step: Step, left: Array, count: int, given: Sequence[Array] = ()) -> list[tuple[Array, Array]]:
    """What a step keeps each time, and what it leaves.

    Where there are many steps, they are a loop: what is left is filled up with zeros to the shape of the beginning, and
    given rows to the longest.

    Args:
        given: a row for each step; none by default.
    """
    kept = []
    if count <= STRAIGHT_ROWS:
        for k in range(count):
            left, row = step(left, given[k] if given else _row([]), False)
            kept.append((row, left))
        return kept
    shape, rows = left.shape, np.zeros((count, max(map(len, given), default=0)), dtype=object)
    for k, row in enumerate(given):
        rows[k, : len(row)] = row

    def padded(left: Array, row: Array) -> tuple[tuple[Array], tuple[Array]]:
        rest, own = step(left, row, True)
        whole = np.zeros(shape, dtype=object)
        whole[tuple(map(slice, rest.shape))] = rest
        return (whole,), (own,)

    (last,), (table,) = along(padded, (left,), (rows,))
    return [(row, last) for row in np.array(table, dtype=object)]


def _each(body: Callable[..., Array], looped: bool, *given: Array) -> Array:
    """A function of a row of each array, for all rows."""
    if looped:
        return for_each(lambda *rows: (body(*rows),), given)[0]
    made = [body(*rows) for rows in zip(*given)]
    return _table(made) if made else given[0][:, 1:]


def _cholesky_step(M: Array, _: Array, looped: bool) -> tuple[Array, Array]:
    """A column of L; M = [[d, m^T], [m, N]] leaves N - l l^T."""
    root = scalar.sqrt(M[0, 0])
    column = M[1:, 0] * scalar.reciprocal(root)
    return _without(M, column, column, looped), _row([root, *column])


def _positive_step(M: Array, _: Array, looped: bool) -> tuple[Array, Array]:
    """1 / d and a column of L with L D L^T = M; M = [[d, m^T], [m, N]] leaves N - l m^T."""
    r = scalar.reciprocal(M[0, 0])
    column = M[1:, 0] * r
    return _without(M, column, M[1:, 0], looped), _row([r, *column])


def _without(M: Array, column: Array, row: Array, looped: bool) -> Array:
    """N - l m^T, which is symmetric; written out, only its lower half is computed."""
    if looped:
        return _each(lambda own, l: own[1:] - l * row, True, M[1:], column)
    left = M[1:, 1:].copy()
    for i in range(len(left)):
        for j in range(i + 1):
            left[i, j] = left[j, i] = _minus(left[i, j], column[i], row[j])
    return left


def _eliminated(M: Array, _: Array, looped: bool) -> tuple[Array, Array]:
    """The first row, with the reciprocal of its first entry; what is left of the others without multiples of it."""
    pivot, r = M[0], scalar.reciprocal(M[0, 0])

    def others(row: Array) -> Array:
        factor = row[0] * r
        return _row([_minus(x, factor, p) for x, p in zip(row[1:], pivot[1:])])

    return _each(others, looped, M[1:]), _row([r, *pivot[1:]])


def _pivoted_step(M: Array, _: Array, looped: bool) -> tuple[Array, Array]:
    """The same with the row first whose first entry is the largest."""

    def exchanged(pivot: Array, row: Array) -> tuple[tuple[Array], tuple[Array]]:
        larger = _is_larger(row[0], pivot[0])
        if isinstance(larger, bool):
            return ((row,), (pivot,)) if larger else ((pivot,), (row,))
        return (_row(select(larger, row, pivot)),), (_row(select(larger, pivot, row)),)

    pivot, rest = M[0], M[1:]
    if looped:
        (pivot,), (rest,) = along(exchanged, (pivot,), (rest,))
    else:
        others = []
        for row in rest:
            (pivot,), (other,) = exchanged(pivot, row)
            others.append(other)
        rest = _table(others) if others else rest
    return _eliminated(np.vstack([pivot[None], np.array(rest, dtype=object)]), _row([]), looped)


def _reflected(columns: Array, _: Array, looped: bool) -> tuple[Array, Array]:
    """A row of R, with the reciprocal of its first entry: I + v v^T / (s v_0) turns the first column to s e_0.

    Args:
        columns: of the matrix, a row each.
    """
    first = columns[0]
    length = scalar.sqrt(_dot(first, first))
    s = select(less(first[0], 0), length, -length)
    v = _row([first[0] - s, *first[1:]])
    factor = scalar.reciprocal(s * v[0])
    found = np.array(_each(lambda x: _row(x + _dot(v, x) * factor * v), looped, columns[1:]), dtype=object)
    return found[:, 1:], _row([scalar.reciprocal(s), *found[:, 0]])


def _forwards(columns: Sequence[Array], right: Array) -> Array:
    """y with L y = b.

    Args:
        columns: of L from the diagonal on, with reciprocals on the diagonal.
    """

    def step(left: Array, column: Array, looped: bool) -> tuple[Array, Array]:
        first = _row(left[0] * column[0])
        return _each(
            lambda b, l: _row([_minus(x, l, y) for x, y in zip(b, first)]), looped, left[1:], column[1:]
        ), first

    return _table([y for y, _ in _chain(step, right, len(columns), columns)], right.shape)


def _backwards(rows: Sequence[Array], right: Array) -> Array:
    """x with U x = b.

    Args:
        rows: of U from the diagonal on, with reciprocals on the diagonal.
    """
    n, width = len(rows), right.shape[1]

    def step(known: Array, row: Array, looped: bool) -> tuple[Array, Array]:
        own, value = row[width:], row[:width]
        for u, x in zip(own[1:], known):
            value = _row([_minus(b, y, u) for b, y in zip(value, x)])
        value = _row(value * own[0])
        return np.vstack([value[None], known[: n - 1 if looped else n]]), value

    given = [np.concatenate([b, row]) for b, row in zip(right, rows)][::-1]
    known = np.zeros((n if n > STRAIGHT_ROWS else 0, width), dtype=object)
    return _table([x for x, _ in _chain(step, known, n, given)][::-1], right.shape)


def _halves(found: list[tuple[Array, Array]], right: Array) -> tuple[list[Array], Array]:
    """Rows of U, which begin on the diagonal, and what stands on the right of them, in the place of given columns."""
    n, width = len(found), right.shape[1]
    rows = [row for row, _ in found]
    columns = _table([row[n - k :][:width] for k, row in enumerate(rows)], (n, width))
    return [row[: n - k] for k, row in enumerate(rows)], columns


# -------------------------------------------------------------------------------------------------------------- scalars


def _minus(x: Scalar, y: Scalar, z: Scalar) -> Scalar:
    """x - y z, where zeros that are known cost nothing."""
    return x if scalar.is_zero(y) or scalar.is_zero(z) else x - y * z


def _dot(x: Array, y: Array) -> Scalar:
    total: Scalar = 0
    for a, b in zip(x, y):
        total = total + a * b
    return total


def _is_larger(x: Scalar, y: Scalar) -> Any:
    """Whether x is the better pivot: the larger one, or of symbols and exact numbers the one that is not zero."""
    if scalar.is_number(x) and scalar.is_number(y):
        return bool(abs(x) > abs(y))
    if _is_zero(x) or _is_zero(y):
        return not _is_zero(x)
    if scalar.is_traced(x) or scalar.is_traced(y):
        return less(abs(y), abs(x))
    return False


def _is_zero(x: Scalar) -> bool:
    return scalar.same(x, 0) or (scalar.is_sympy(x) and scalar.vanishes(x))


def _exact_one(entries: Sequence[Scalar]) -> Scalar | None:
    """One of the entries that are symbols or exact numbers; None if there are none."""
    return next((x for x in entries if not scalar.is_number(x) and not scalar.is_traced(x)), None)


# --------------------------------------------------------------------------------------------------------------- arrays


def _row(entries: Any) -> Array:
    return np.array(list(entries), dtype=object)


def _table(rows: Sequence[Array], shape: tuple[int, ...] | None = None) -> Array:
    found = np.empty((len(rows), len(rows[0])) if shape is None else shape, dtype=object)
    for k, row in enumerate(rows):
        found[k] = row
    return found


def _mirrored(M: Array) -> Array:
    """A symmetric matrix by its lower half."""
    return np.where(np.tri(len(M), dtype=bool), M, M.T)


def _square(caller: str, A: Any) -> Array:
    M = arrays.asarray(A)
    if M.ndim < 2 or M.shape[-1] != M.shape[-2]:
        raise ArgumentError(f"{caller}: A has shape {M.shape}; needed are square matrices (..., n, n)")
    return M


def _with_columns(caller: str, one: Callable[[Array, Array], Array], M: Array, b: Any) -> Array:
    """A function of matrices and right-hand sides that are vectors or have columns."""
    right = arrays.asarray(b)
    vectors = right.ndim == M.ndim - 1
    right = right[..., None] if vectors else right
    if right.ndim < 2 or right.shape[-2] != M.shape[-2]:
        raise ArgumentError(
            f"{caller}: b has shape {np.shape(b)} beside A {M.shape}; needed is (..., {M.shape[-2]}), or "
            f"(..., {M.shape[-2]}, m) of as many dimensions as A"
        )
    found = _by_matrix(one, M, right)
    return found[..., 0] if vectors else found


def _by_matrix(one: Callable[..., Array], *operands: Array) -> Array:
    """A function of matrices, for all of a batch."""
    try:
        batch = np.broadcast_shapes(*(x.shape[:-2] for x in operands))
    except ValueError:
        shapes = ", ".join(str(x.shape) for x in operands)
        raise ArgumentError(f"the batch dimensions of the matrices do not fit together: {shapes}") from None
    exact = _exact_one([x for array in operands if array.dtype == object for x in array.flat])

    def of_objects(*given: Array) -> tuple[Array]:
        whole = [np.array(np.asarray(x).tolist(), dtype=object).reshape(np.shape(x)) for x in given]
        if exact is not None:  # whole numbers among symbols stay exact when they are divided by
            whole = [x + exact * 0 for x in whole]
        return (one(*whole),)

    if not batch:
        found = of_objects(*operands)[0]
    else:
        rows = [np.broadcast_to(x, batch + x.shape[-2:]).reshape(-1, *x.shape[-2:]) for x in operands]
        (found,) = for_each(of_objects, rows)
        found = np.array(found, dtype=object).reshape(*batch, *np.shape(found)[1:])
    if not all(map(scalar.is_number, found.flat)):
        return found
    return found.astype(complex if any(isinstance(x, complex) for x in found.flat) else float)
