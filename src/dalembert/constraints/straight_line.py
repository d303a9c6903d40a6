"""Constrained accelerations without branches, over any scalar: by multipliers or by projection.

    M a = f + G^T lam ,     G a = gamma

Both need rows of G that are independent. Where they are not - a singular position - pivots vanish and the results are
infinite or NaN, or what rounding makes of that (no threshold helps: beside such a position the pivots are as small and
the accelerations often right to the last digits); for multipliers a regularisation bounds them, at the price of
accelerations that violate the constraints by ``regularisation * lam``. Where rows are redundant everywhere, though each
time others, multipliers can do with all of them and their rank; see :mod:`dalembert.constraints.known_rank`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algorithms.triangular import TreeFactors, factor
from dalembert.constraints.known_rank import dot, solve_of_rank
from dalembert.constraints.pivots import Pivots

Solution = tuple[Array, Array]
"""Accelerations, nv, and multipliers, one per kept row."""


def by_multipliers(
    M: Array,
    parents: Any,
    G: Array,
    f: Array,
    gamma: Array,
    regularisation: Scalar = 0,
    rank: int | None = None,
    sizes: Sequence[float] = (),
    independent: Collection[int] = (),
) -> Solution:
    """Eliminate the accelerations first: (G M^-1 G^T + e 1) lam = gamma - G M^-1 f.

    With M = L^T D L along the tree, one sweep Z = L^-T G^T serves the matrix and the right side.

    Args:
        M: inertia matrix, nv x nv, positive definite.
        parents: of the velocities, for the zeros of M.
        f: applied minus bias forces, nv.
        gamma: right side of G a = gamma, m.
        regularisation: e, added to the diagonal.
        rank: how many of the rows are independent; all if None.
        sizes: typical diagonal entries of G M^-1 G^T up to a common factor; needed if not all are independent.
        independent: which rows were independent once; see :func:`~dalembert.constraints.known_rank.solve_of_rank`.
    """
    factors = factor(M, parents)
    y = _inward(factors, f)
    Z = [_inward(factors, row) for row in G]
    scaled = [[x * r for x, r in zip(z, factors.reciprocals)] for z in Z]
    m = len(Z)
    S: list[list[Scalar]] = [[0] * m for _ in range(m)]
    for i in range(m):
        for j in range(i + 1):
            S[i][j] = S[j][i] = dot(scaled[i], Z[j])
    right = [gamma[i] - dot(scaled[i], y) for i in range(m)]
    if not scalar.is_zero(regularisation):
        for i in range(m):
            S[i][i] = S[i][i] + regularisation
    lam = solve_of_rank(S, right, m if rank is None else rank, sizes, independent)
    for k in range(m):
        y = [x + z * lam[k] for x, z in zip(y, Z[k])]
    return _outward(factors, [x * r for x, r in zip(y, factors.reciprocals)]), arrays.asarray(lam)


def _inward(factors: TreeFactors, b: Any) -> list[Scalar]:
    """L^-T b."""
    x = list(b)
    for k in reversed(range(len(x))):
        for i, l in factors.L[k].items():
            x[i] = x[i] - l * x[k]
    return x


def _outward(factors: TreeFactors, b: list[Scalar]) -> Array:
    """L^-1 b."""
    x = list(b)
    for k in range(len(x)):
        for i, l in factors.L[k].items():
            x[k] = x[k] - l * x[i]
    return arrays.asarray(x)


def by_projection(M: Array, G: Array, f: Array, gamma: Array, pivots: Pivots, multipliers: bool = True) -> Solution:
    """Kane's way (PARSA (46)): v = B u, a = B u' + c, and B^T M B u' = B^T (f - M c).

    The independent velocities are the speeds u. M need not be regular, only B^T M B.

    Args:
        M: inertia matrix, nv x nv.
        G: rows, m x nv; those without a pivot are left out.
        f: applied minus bias forces, nv.
        gamma: right side of G a = gamma, m.
        pivots: which rows to keep and which velocities to eliminate.
        multipliers: whether to compute them too; zeros otherwise.
    """
    n = len(M)
    eliminated = Elimination(G, pivots)
    speeds = pivots.independent
    B: list[list[Scalar]] = [[0] * len(speeds) for _ in range(n)]
    for s, column in enumerate(speeds):
        B[column][s] = 1
        for row, x in eliminated.solve(G[:, column]).items():
            B[row][s] = -x
    c: list[Scalar] = [0] * n
    for row, x in eliminated.solve(gamma).items():
        c[row] = x
    tensor, drift = arrays.asarray(B).reshape(n, len(speeds)), arrays.asarray(c)
    push = f - product(M, drift)
    MB = product(M, tensor)
    k = len(speeds)
    reduced: list[list[Scalar]] = [[0] * k for _ in range(k)]
    for i in range(k):
        for j in range(i + 1):
            reduced[i][j] = reduced[j][i] = dot(list(tensor[:, i]), list(MB[:, j]))
    a = drift
    if k:
        right = product(tensor.T, push)
        u = factor(arrays.asarray(reduced).reshape(k, k), range(-1, k - 1)).solve(right)
        a = drift + product(tensor, u)
    if not multipliers:
        return a, arrays.zeros(len(pivots.order))
    lam = eliminated.solve_transposed(product(M, a) - f)
    return a, arrays.asarray([lam[row] for row in pivots.rows])


VIOLATED = 1e-6
"""A row that was left out is violated if it misses its right side by this fraction of the terms it consists of."""

LOCKED_RESIDUE = 1e-3
"""Terms below this, m/s^2 or rad/s^2, may be what rounding left of a mechanism that its constraints lock."""

CONTRADICTED = 1e-3
"""The same for a row that depends on time: of the terms and of 1, since its right side passes through zero, and there
what single precision leaves of it is not small against it. Weaker contradictions must be there from the beginning."""


def satisfied(G: Array, a: Array, gamma: Array, in_time: bool = False) -> Scalar:
    """0 if G a = gamma, NaN if not: added, it spoils what must not be believed, also where that is constant.

    Args:
        gamma: right sides, m.
        in_time: whether to judge by :data:`CONTRADICTED` instead of :data:`VIOLATED`.
    """
    share, least = (CONTRADICTED, 1) if in_time else (VIOLATED, LOCKED_RESIDUE)
    doubt: Scalar = 0
    for row, right in zip(G, gamma):
        miss, size = -right, abs(right) + least
        for x, y in zip(row, a):
            if not (scalar.is_zero(x) or scalar.is_zero(y)):
                miss, size = miss + x * y, size + abs(x * y)
        doubt = scalar.select(abs(miss) <= share * size, doubt, math.nan)
    return doubt


class Elimination:
    """L U of the square part of G that the pivots pick out; zeros are never touched.

    Args:
        pivots: the order of elimination.
    """

    def __init__(self, G: Array, pivots: Pivots):
        self.order = pivots.order
        columns = [column for _, column in self.order]
        self.U: list[dict[int, Scalar]] = []
        self.L: list[dict[int, Scalar]] = []
        self.reciprocals: list[Scalar] = []
        for row, column in self.order:
            left: dict[int, Scalar] = {}
            rest = {j: G[row, j] for j in columns if not scalar.is_zero(G[row, j])}
            for k, (_, before) in enumerate(self.order[: len(self.U)]):
                x = rest.pop(before, 0)
                if scalar.is_zero(x):
                    continue
                left[k] = x * self.reciprocals[k]
                for j, u in self.U[k].items():
                    rest[j] = rest.get(j, 0) - left[k] * u
            self.reciprocals.append(1 / rest.pop(column))
            self.L.append(left)
            self.U.append({j: u for j, u in rest.items() if not scalar.is_zero(u)})

    def solve(self, b: Array) -> dict[int, Scalar]:
        """The dependent velocities x, by index, with G_D x = b; b is indexed by row."""
        y: list[Scalar] = []
        for (row, _), left in zip(self.order, self.L):
            x = b[row]
            for k, l in left.items():
                if not scalar.is_zero(y[k]):
                    x = x - l * y[k]
            y.append(x)
        found: dict[int, Scalar] = {}
        for k in reversed(range(len(y))):
            x = y[k]
            for j, u in self.U[k].items():
                if j in found:
                    x = x - u * found[j]
            if not scalar.is_zero(x):
                found[self.order[k][1]] = x * self.reciprocals[k]
        return found

    def solve_transposed(self, b: Array) -> dict[int, Scalar]:
        """The multipliers, by row, with G_D^T lam = b; b is indexed by velocity."""
        rest = {column: b[column] for _, column in self.order}
        z: list[Scalar] = []
        for k, (_, column) in enumerate(self.order):
            z.append(rest[column] * self.reciprocals[k])
            for j, u in self.U[k].items():
                rest[j] = rest[j] - u * z[k]
        for k in reversed(range(len(z))):
            for i, l in self.L[k].items():
                z[i] = z[i] - l * z[k]
        return {row: x for (row, _), x in zip(self.order, z)}
