"""The joint-space inertia matrix. One algorithm per file."""

from __future__ import annotations

from typing import Any

from dalembert.algebra.arrays import Array
from dalembert.algorithms.choose import choose
from dalembert.algorithms.inertia_matrix.column_method import column_method
from dalembert.algorithms.inertia_matrix.generalized_links import generalized_links
from dalembert.algorithms.inertia_matrix.operator_factors import operator_factors
from dalembert.algorithms.inertia_matrix.orthogonal_complement import orthogonal_complement
from dalembert.algorithms.inertia_matrix.two_sided import two_sided
from dalembert.algorithms.inertia_matrix.walker_orin import walker_orin
from dalembert.kinematics import checked
from dalembert.model import Mechanism


def _operator_product(tree: Any, q: Array) -> Array:
    return operator_factors(tree, q).matrix()


INERTIA_MATRIX = {
    "column-method": column_method,
    "walker-orin": walker_orin,
    "generalized-links": generalized_links,
    "two-sided": two_sided,
    "orthogonal-complement": orthogonal_complement,
    "operator-factors": _operator_product,
}
"""Name -> algorithm, each a function of (tree, q)."""


def mass_matrix(mechanism: Mechanism, q: Any, *, algorithm: str = "two-sided") -> Array:
    """Joint-space inertia matrix for one configuration, over any scalar. Armature is not part of it.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        algorithm: one of :data:`INERTIA_MATRIX`.
    """
    (q,) = checked(mechanism, q=q)
    return choose(algorithm, INERTIA_MATRIX)(mechanism.tree, q)


def mass_matrix_inverse(mechanism: Mechanism, q: Any) -> Array:
    """Inverse of the joint-space inertia matrix by the operator factorisation (6.2.19), without forming the matrix.

    Args:
        mechanism: the mechanism; without mimic joints.
        q: positions, nq.
    """
    (q,) = checked(mechanism, q=q)
    return operator_factors(mechanism.tree, q).inverse()
