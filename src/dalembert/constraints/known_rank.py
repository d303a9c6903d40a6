"""Symmetric systems S x = b, S not negative, of known rank, without branches, over any scalar that can be compared.

Rows of constraints that repeat each other do so where the constraints are satisfied. Beside that, where integrators
look within a step, they are independent, though barely, and contradict each other. Neither the size of a pivot nor any
regularisation separates this from rows that matter; the rank does, which is the same all along a motion. So r steps of
elimination with complete pivoting, of all rows left always the largest, give S = C D C^T with r columns, and

    x = W^-1 C (C^T W^-1 C)^-1 D^-1 (C^T W^-1 C)^-1 C^T W^-1 b ,     W = diag(w)

solves S x = b where rows agree, with the least x^T W x, and in the sense of least squares where they do not. What is
left of S after r steps is of the second order in the distance from the constraints; so is the difference between one
order of pivots and another (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 10.3).

Rows of angles and of lengths, of watches and of cranes, are compared in units w of their own, which do not change along
a motion: measured by its momentary size, a row that passes through zero would count as much as any other there, and
beside the constraints be nothing but its error.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

from dalembert.algebra import arrays, scalar
from dalembert.algebra.scalar import Scalar
from dalembert.algorithms.triangular import factor


def solve_of_rank(
    S: list[list[Scalar]], b: list[Scalar], rank: int, sizes: Sequence[float] = (), independent: Collection[int] = ()
) -> list[Scalar]:
    """The shortest solution x, every component measured by the size of its row.

    Args:
        S: symmetric, m x m, of that rank or close to one that is.
        b: right side, m.
        rank: of S, at most m.
        sizes: w, typical diagonal entries of S up to a common factor; needed for ranks below m.
        independent: which rows were independent once, as many as the rank. Parts of S that have nothing to do with each
            other have each as many of these as is their own rank, and are solved apart; without it S is one part.
    """
    if rank == len(S):
        return _solve(S, b)
    x: list[Scalar] = [0] * len(S)
    for part in _parts(S) if independent else [list(range(len(S)))]:
        own = [[S[i][j] for j in part] for i in part]
        known = sum(i in independent for i in part) if independent else rank
        found = _shortest(own, [b[i] for i in part], known, [1 / sizes[i] for i in part])
        for i, value in zip(part, found):
            x[i] = value
    return x


def _parts(S: list[list[Scalar]]) -> list[list[int]]:
    """Rows that are linked by entries which are not zero always; of numbers elsewhere they say nothing."""
    if all(scalar.is_number(x) for row in S for x in row):
        return [list(range(len(S)))]
    parts: list[list[int]] = []
    for i in range(len(S)):
        linked = [part for part in parts if any(not scalar.is_zero(S[i][j]) for j in part)]
        parts = [part for part in parts if part not in linked] + [sorted([*chain(*linked), i])]
    return parts


def _solve(S: list[list[Scalar]], b: list[Scalar]) -> list[Scalar]:
    m = len(S)
    return list(factor(arrays.asarray(S).reshape(m, m), range(-1, m - 1)).solve(arrays.asarray(b)))


def _shortest(S: list[list[Scalar]], b: list[Scalar], rank: int, weights: list[float]) -> list[Scalar]:
    """The solution of one part, by the formula above."""
    if rank == len(S):
        return _solve(S, b)
    columns, pivots = _eliminated(S, weights, rank)
    weighted = [[x * w for x, w in zip(column, weights)] for column in columns]
    square = [[dot(x, y) for y in columns] for x in weighted]
    inner = _solve(square, [dot(column, b) for column in weighted])
    outer = _solve(square, [x / pivot for x, pivot in zip(inner, pivots)])
    return [dot([column[i] for column in weighted], outer) for i in range(len(S))]


def _eliminated(S: list[list[Scalar]], weights: list[float], rank: int) -> tuple[list[list[Scalar]], list[Scalar]]:
    """Columns of C, one at the chosen row, and D."""
    m = len(S)
    rest = [list(row) for row in S]
    columns: list[list[Scalar]] = []
    pivots: list[Scalar] = []
    for _ in range(rank):
        largest, pivot, column = rest[0][0] * weights[0], rest[0][0], rest[0]
        for i in range(1, m):
            size = rest[i][i] * weights[i]
            better = size > largest
            largest, pivot = scalar.select(better, size, largest), scalar.select(better, rest[i][i], pivot)
            column = [scalar.select(better, x, y) for x, y in zip(rest[i], column)]
        columns.append([x / pivot for x in column])
        pivots.append(pivot)
        for i in range(m):
            for j in range(i + 1):
                rest[i][j] = rest[j][i] = rest[i][j] - column[i] * columns[-1][j]
    return columns, pivots


def dot(a: list[Scalar], b: list[Scalar]) -> Scalar:
    """The sum of products, without those that are zero for certain."""
    total: Scalar = 0
    for x, y in zip(a, b):
        if not (scalar.is_zero(x) or scalar.is_zero(y)):
            total = total + x * y
    return total
