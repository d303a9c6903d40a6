"""Forward dynamics by factoring the inertia matrix (THESIS 6.2, steps (i)-(iv)).

bias b = inverse dynamics with a = 0; D by the two-sided algorithm unless another is chosen; L^T D L along the tree;
a = D^-1 (tau - b).
"""

from __future__ import annotations

from collections.abc import Callable

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algorithms.economy.cheapest import cheapest
from dalembert.algorithms.inertia_matrix.two_sided import two_sided
from dalembert.algorithms.loads import Loads
from dalembert.algorithms.triangular import factor
from dalembert.model.tree import Tree


def factor_and_solve(
    tree: Tree, q: Array, v: Array, tau: Array, loads: Loads = None, armature: Array | None = None, *,
    forces: Callable[..., Array] = cheapest, inertia: Callable[[Tree, Array], Array] = two_sided,
) -> Array:  # fmt: skip
    """Accelerations that the generalised forces ``tau`` produce.

    Args:
        forces: algorithm of inverse dynamics for the bias.
        inertia: algorithm of the inertia matrix.
    """
    bias = forces(tree, q, v, arrays.zeros(tree.nv), loads)
    D = with_armature(inertia(tree, q), armature)
    return factor(D, tree.velocity_parents).solve(tau - bias)


def with_armature(D: Array, armature: Array | None) -> Array:
    """D with rotor inertias added to its diagonal."""
    if armature is None:
        return D
    n = len(D)
    return arrays.asarray([[D[r, c] + armature[r] if r == c else D[r, c] for c in range(n)] for r in range(n)])
