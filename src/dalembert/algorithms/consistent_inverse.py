"""The dynamically consistent inverse of a Jacobian, for redundant and singular arms too (Khatib 1987).

    J# = D^-1 J^T Lambda ,      Lambda = (J D^-1 J^T)^-1

*Redundant arms*, with fewer coordinates x than velocities: of all accelerations that give xdd, J# xdd is the one that a
force on the frame produces. For a square Jacobian J# is J^-1 and Lambda = J^-T D J^-1.

*Singular arms.* Where the rows of J depend on each other no inverse exists; numbers raise ``SingularityError``. An
optional ``damping`` mu replaces Lambda by (J D^-1 J^T + mu^2 1)^-1, which exists always: forces stay below 1/mu^2 times
the acceleration asked for, and what is asked for is missed by mu^2 f. Of traced and symbolic arms only the zeros of J
are checked: they reveal frames that have too few joints to move them, at any position.

J D^-1 J^T is never formed: with D = L^T Delta L the rows of J L^-1 are made orthogonal (Gram-Schmidt, without square
roots), so that the condition number of J enters once, not squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algorithms.triangular import TreeFactors, factor
from dalembert.errors import ArgumentError, SingularityError
from dalembert.model import Mechanism, Tree
from dalembert.model.checks import shown

LIMIT = 1e12
"""Condition number of a numeric Jacobian from which on it counts as singular."""


def consistent_inverse(mechanism: Mechanism, J: Array, D: Array, tree: Tree, damping: Any) -> tuple[Array, Array]:
    """J# (n x m) and Lambda (m x m).

    Args:
        mechanism: named in messages.
        J: Jacobian, m x n.
        D: inertia matrix, n x n.
        tree: gives the zeros of D.
        damping: mu; 0 for none.

    With D = L^T Delta L and z_i the solution of L^T z = (row i of J), J D^-1 J^T = Z^T Delta^-1 Z. Gram-Schmidt gives
    Z = U R with R unit upper triangular and U^T Delta^-1 U = N diagonal; then

        Lambda = R^-1 N^-1 R^-T ,       J# = L^-1 Delta^-1 U N^-1 R^-T .

    Damping appends mu times the identity below Z.
    """
    m, n = J.shape
    symbolic = (
        not scalar.is_number(damping) and hasattr(damping, "__mul__") and not isinstance(damping, (str, Sequence))
    )
    if not symbolic and not (scalar.is_number(damping) and np.isreal(damping) and 0 <= damping < np.inf):
        raise ArgumentError(f"damping = {shown(damping)}; it must be a finite number that is not negative")
    damped = not scalar.is_zero(damping)
    if not damped:
        _check_rank(mechanism, J)
    factors = factor(D, tree.velocity_parents)
    weights = [*factors.reciprocals, *([damping * damping] * m if damped else [])]
    rows = [list(factors.inwards(row)) for row in J]
    if damped:
        rows = [[*row, *arrays.identity(m)[i]] for i, row in enumerate(rows)]
    U, R, reciprocals = _orthogonal(rows, weights)
    T = _unit_upper_inverse(R)  # R^-1
    scaled = arrays.asarray([[T[r, c] * reciprocals[c] for c in range(m)] for r in range(m)])
    Lambda = product(scaled, T.T)
    columns = [_lower(factors, u[:n]) for u in U]  # L^-1 Delta^-1 U
    inverse = product(arrays.stack(columns).T, scaled.T)
    upper = [[Lambda[min(r, c), max(r, c)] for c in range(m)] for r in range(m)]
    return inverse, arrays.asarray(upper)


def _lower(factors: TreeFactors, u: list[Scalar]) -> Array:
    return factors.outwards(arrays.asarray([x * r for x, r in zip(u, factors.reciprocals)]))


def _orthogonal(
    rows: list[list[Scalar]], weights: list[Scalar]
) -> tuple[list[list[Scalar]], list[list[Scalar]], list[Scalar]]:
    """Gram-Schmidt in its modified form: orthogonal vectors, the coefficients R, and 1 / squared lengths."""
    m = len(rows)
    R: list[list[Scalar]] = [[1 if r == c else 0 for c in range(m)] for r in range(m)]
    U: list[list[Scalar]] = []
    reciprocals: list[Scalar] = []
    left = [list(row) for row in rows]
    for i in range(m):
        U.append(left[i])
        weighted = [w * x for w, x in zip(weights, left[i])]
        reciprocals.append(scalar.reciprocal(_sum([w * x for w, x in zip(weighted, left[i])])))
        for j in range(i + 1, m):
            R[i][j] = _sum([w * x for w, x in zip(weighted, left[j])]) * reciprocals[i]
            left[j] = [x - R[i][j] * u for x, u in zip(left[j], left[i])]
    return U, R, reciprocals


def _sum(terms: list[Scalar]) -> Scalar:
    return sum(terms[1:], terms[0])


def _unit_upper_inverse(R: list[list[Scalar]]) -> Array:
    m = len(R)
    T: list[list[Scalar]] = [[1 if r == c else 0 for c in range(m)] for r in range(m)]
    for c in range(m):
        for r in reversed(range(c)):
            T[r][c] = -_sum([R[r][k] * T[k][c] for k in range(r + 1, c + 1)])
    return arrays.asarray(T)


def _check_rank(mechanism: Mechanism, J: Array) -> None:
    m, n = J.shape
    mend = ("choose fewer coordinates, such as 'position', or " if m > 3 else "") + "pass damping > 0 to regularise"
    if m > n:
        raise SingularityError(
            f"{mechanism.name!r} has {n} {'velocity' if n == 1 else 'velocities'}, too few for {m} independent "
            f"coordinates of a frame; {mend}"
        )
    if J.dtype == object:
        rank = _structural_rank(J)
        if rank == m:
            return
        raise SingularityError(
            f"the joints of {mechanism.name!r} that move this frame change at most {rank} of its {m} coordinates "
            f"independently, at any position; {mend}"
        )
    if not np.isfinite(J).all():
        return  # NaN in gives NaN out
    condition = float(np.linalg.cond(J.real))
    if not condition < LIMIT:
        raise SingularityError(
            f"the Jacobian of {mechanism.name!r} is singular here: its condition number is {condition:.3g}; {mend}"
        )


def _structural_rank(J: Array) -> int:
    """The largest rank that a matrix with the zeros of J can have: as many rows as find a column of their own."""
    owner: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column in range(J.shape[1]):
            if column not in tried and not scalar.is_zero(J[row, column]):
                tried.add(column)
                if column not in owner or place(owner[column], tried):
                    owner[column] = row
                    return True
        return False

    return sum(place(row, set()) for row in range(len(J)))
