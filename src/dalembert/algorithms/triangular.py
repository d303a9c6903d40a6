"""Solving with symmetric positive definite matrices over any scalar, without pivoting: L^T D L in the tree's order.

Eliminating from the tips inwards keeps the zeros that the branches of a tree leave in the inertia matrix (Featherstone,
Rigid Body Dynamics Algorithms, 2008, section 6.5). Divisions: one reciprocal per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.loops import for_each
from dalembert.algebra.scalar import Scalar

COLUMN_ENTRIES = 60_000
"""Columns times entries of the factors up to which each column of derivatives is solved by code of its own, as those of
arms and humanoids are. Beyond, that code would be megabytes long and take a minute to compile."""

BRANCH_COLUMNS = 10
"""Columns from which a branch has code of its own there. Smaller branches would save few operations for their code."""


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
    _transfers: dict[tuple[int, int], dict[int, Scalar]] = field(default_factory=dict)

    def solve(self, b: Array) -> Array:
        """M^-1 b; b is a vector or has columns."""
        return self.outwards(arrays.asarray([value * r for value, r in zip(self.inwards(b), self.reciprocals)]))

    def inwards(self, b: Array) -> Array:
        """y with L^T y = b, from the tips to the base."""
        y = list(b)
        for k in reversed(range(len(y))):
            for i, l in self.L[k].items():
                y[i] = y[i] - y[k] * l
        return arrays.asarray(y)

    def outwards(self, y: Array) -> Array:
        """x with L x = y, from the base to the tips."""
        x = list(y)
        for k in range(len(x)):
            for i, l in self.L[k].items():
                x[k] = x[k] - x[i] * l
        return arrays.asarray(x)

    def solve_columns(self, *matrices: Array) -> list[Array]:
        """M^-1 B for matrices B whose columns are zero beyond their branch, as those of the derivatives of a tree are.

        A branch on which a column has nothing follows the branch's root, x = T x_root, with a matrix T that is the same
        for all columns. Columns are solved from the tips to the base, side by side those of all matrices: the order in
        which they are best computed.

        Args:
            matrices: right-hand sides, n rows each, all of the same shape.
        """
        n, width = matrices[0].shape
        found: list[list[list[Scalar]]] = [[[0] * width for _ in range(n)] for _ in matrices]
        for c in reversed(range(width)):
            y = [[B[k, c] for B in matrices] for k in range(n)]
            for k in reversed(range(n)):
                for i, l in self.L[k].items():
                    y[i] = [into - l * value for into, value in zip(y[i], y[k])]
            x = [[value * r for value in row] for row, r in zip(y, self.reciprocals)]
            roots: list[int] = []  # the last row on the way from the base to k in which there is something
            for k in range(n):
                root = roots[self.parents[k]] if self.parents[k] >= 0 else -1
                roots.append(root if all(scalar.is_zero(value) for value in x[k]) else k)
                row = self.L[k] if roots[k] == k else self._transfer(k, root)
                for i, l in row.items():
                    x[k] = [out - l * value for out, value in zip(x[k], x[i])]
                for m, value in enumerate(x[k]):
                    found[m][k][c] = value
        return [arrays.asarray(rows).reshape(n, width) for rows in found]

    def slopes(self, P: Array, V: Array) -> tuple[Array, Array, Array]:
        """M^-1 P, M^-1 V and M^-1, n x n each.

        Column by column, each by code of its own that leaves out zeros; of large robots, where that would be too much
        code, all columns of a branch by the same.
        """
        n = len(self.reciprocals)
        if n * sum(map(len, self.L)) <= COLUMN_ENTRIES:
            by_P, by_V = self.solve_columns(P, V)
            return by_P, by_V, self.inverse()
        unit = arrays.exact(arrays.identity(n))
        found = [[[0] * n for _ in range(n)] for _ in range(3)]
        for columns, support in self._branches():
            given = [X[support][:, columns].T for X in (P, V, unit)]
            for table, solved in zip(found, self._solved_alike(support, given)):
                for c, values in zip(columns, solved):
                    for k in range(n):
                        table[k][c] = values[k]
        by_P, by_V, inverse = (arrays.asarray(table) for table in found)
        return by_P, by_V, inverse

    def _solved_alike(self, support: list[int], given: list[Array]) -> tuple[Array, ...]:
        """M^-1 b for right-hand sides b that are zero but in some rows, by one code for all.

        Args:
            support: these rows, with all their ancestors.
            given: arrays of right-hand sides, a row each, of their values there.
        """
        n, inside = len(self.L), set(support)
        rows: list[dict[int, Scalar]] = []
        roots: list[int] = []  # the last row of the support on the way from the base to each
        for k in range(n):
            roots.append(k if k in inside else roots[self.parents[k]] if self.parents[k] >= 0 else -1)
            rows.append(self.L[k] if k in inside else self._transfer(k, roots[k]))
        places = [(k, i) for k, row in enumerate(rows) for i in row]

        def solve(*arguments: Array) -> tuple[Array, ...]:
            *sides, entries, reciprocals = arguments
            row: list[dict[int, Scalar]] = [{} for _ in range(n)]
            for (k, i), l in zip(places, entries):
                row[k][i] = l
            y = {k: list(values) for k, values in zip(support, zip(*sides))}
            for k in reversed(support):
                for i, l in row[k].items():
                    y[i] = [into - l * value for into, value in zip(y[i], y[k])]
            x: list[list[Scalar]] = []
            for k in range(n):
                x.append([value * reciprocals[k] for value in y[k]] if k in inside else [0] * len(sides))
                for i, l in row[k].items():
                    x[k] = [out - l * value for out, value in zip(x[k], x[i])]
            return tuple(arrays.asarray(column) for column in zip(*x))

        held = arrays.asarray([rows[k][i] for k, i in places]), arrays.asarray(self.reciprocals)
        return for_each(solve, given, held)

    def _branches(self) -> list[tuple[list[int], list[int]]]:
        """Columns of the derivatives of a tree in groups: which they are, and the rows in which they are not all zero.

        Every large branch is a group; what is inside of it, and small branches off that, is another.
        """
        n = len(self.L)
        children: list[list[int]] = [[] for _ in range(n)]
        size = [1] * n
        for k in reversed(range(n)):
            if self.parents[k] >= 0:
                children[self.parents[k]].append(k)
                size[self.parents[k]] += size[k]
        heads = [-1] * n  # the innermost row of the branch that is the group of each
        for k in range(n):
            parent = self.parents[k]
            alone = parent < 0 or len(children[parent]) == 1
            heads[k] = k if not alone and size[k] >= BRANCH_COLUMNS else heads[parent] if parent >= 0 else -1
        found = []
        for head in dict.fromkeys(heads):
            columns = [k for k in range(n) if heads[k] == head]
            beyond = [head < 0] * n
            for k in range(n):
                beyond[k] = beyond[k] or k == head or (self.parents[k] >= 0 and beyond[self.parents[k]])
            found.append((columns, [k for k in range(n) if beyond[k] or (head >= 0 and k in self.L[head])]))
        return found

    def inverse(self) -> Array:
        """M^-1, symmetric: row by row from the base, each by the rows before it."""
        n = len(self.reciprocals)
        rows: list[list[Scalar]] = [[0] * n for _ in range(n)]
        for k in range(n):
            for c in range(k + 1):
                root = c  # of the branch that k is on and c is not
                while root not in self.L[k] and root not in (k, -1):
                    root = self.parents[root]
                value = self.reciprocals[k] if c == k else 0
                for i, l in (self.L[k] if root == c else self._transfer(k, root)).items():
                    value = value - l * rows[i][c]
                rows[k][c] = rows[c][k] = value
        return arrays.asarray(rows).reshape(n, n)

    def _transfer(self, k: int, root: int) -> dict[int, Scalar]:
        """Row k of L if all rows between it and ``root``, one of its ancestors, are eliminated: -T."""
        if (k, root) not in self._transfers:
            row = {i: l for i, l in self.L[k].items() if i <= root}
            for m, l in self.L[k].items():
                if m > root:
                    for i, t in self._transfer(m, root).items():
                        row[i] = row[i] - l * t
            self._transfers[k, root] = row
        return self._transfers[k, root]


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
        reciprocals[k] = scalar.reciprocal(H[k, k])
        for position, i in enumerate(ancestors[k]):
            l = H[k, i] * reciprocals[k]
            for j in ancestors[k][position:]:
                H[i, j] = H[i, j] - l * H[k, j]
            L[k][i] = l
    return TreeFactors(L, reciprocals, tuple(parents))


def inverse(M: Array) -> Array:
    """Inverse of a small symmetric positive definite matrix."""
    return factor(M, range(-1, len(M) - 1)).inverse()
