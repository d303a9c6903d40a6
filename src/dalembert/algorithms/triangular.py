"""Solving with symmetric positive definite matrices over any scalar, without pivoting: L^T D L in the tree's order.

Eliminating from the tips inwards keeps the zeros that the branches of a tree leave in the inertia matrix (Featherstone,
Rigid Body Dynamics Algorithms, 2008, section 6.5). Divisions: one reciprocal per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.algebra import scalar
from dalembert.algebra.scalar import Array, Scalar


@dataclass(frozen=True, eq=False)
class TreeFactors:
    """M = L^T D L with L unit lower triangular.

    Args:
        L: rows of L: ``L[k][i]`` for every ancestor i of k.
        reciprocals: 1 / D_k.
        parents: for every row its parent row, -1 at the base.
    """

    L: list[dict[int, Scalar]]
    reciprocals: list[Scalar]
    parents: Sequence[int]

    def solve(self, b: Array) -> Array:
        """M^-1 b."""
        return self.outwards(scalar.asarray([value * r for value, r in zip(self.inwards(b), self.reciprocals)]))

    def inwards(self, b: Array) -> Array:
        """y with L^T y = b, from the tips to the base."""
        y = list(b)
        for k in reversed(range(len(y))):
            for i, l in self.L[k].items():
                y[i] = y[i] - l * y[k]
        return scalar.asarray(y)

    def outwards(self, y: Array) -> Array:
        """x with L x = y, from the base to the tips."""
        x = list(y)
        for k in range(len(x)):
            for i, l in self.L[k].items():
                x[k] = x[k] - l * x[i]
        return scalar.asarray(x)

    def inverse(self) -> Array:
        """M^-1, symmetric: only one half is computed."""
        n = len(self.reciprocals)
        rows: list[list[Scalar]] = [[0] * n for _ in range(n)]
        for k, unit in enumerate(scalar.identity(n)):
            column = self.solve(unit)
            for i in range(k, n):
                rows[i][k] = rows[k][i] = column[i]
        return scalar.asarray(rows).reshape(n, n)


def factor(M: Array, parents: Sequence[int]) -> TreeFactors:
    """L^T D L of a symmetric positive definite matrix whose zeros follow the tree ``parents``; reads its lower half."""
    n = len(M)
    ancestors: list[list[int]] = []
    for k in range(n):
        ancestors.append([parents[k], *ancestors[parents[k]]] if parents[k] >= 0 else [])
    H = {(k, i): M[k, i] for k in range(n) for i in (k, *ancestors[k])}
    L: list[dict[int, Scalar]] = [{} for _ in range(n)]
    reciprocals: list[Scalar] = [0] * n
    for k in reversed(range(n)):
        reciprocals[k] = 1 / H[k, k]
        for position, i in enumerate(ancestors[k]):
            l = H[k, i] * reciprocals[k]
            for j in ancestors[k][position:]:
                H[i, j] = H[i, j] - l * H[k, j]
            L[k][i] = l
    return TreeFactors(L, reciprocals, tuple(parents))


def inverse(M: Array) -> Array:
    """Inverse of a small symmetric positive definite matrix."""
    return factor(M, range(-1, len(M) - 1)).inverse()
