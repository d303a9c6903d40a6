"""The column method (THESIS (6.2.4)): column k of D is inverse dynamics with unit acceleration k and all else off.

Of every column the entries on and below the diagonal are computed; the rest follows from symmetry.
"""

from __future__ import annotations

from dataclasses import replace

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.model.tree import Tree


def column_method(tree: Tree, q: Array) -> Array:
    """Joint-space inertia matrix D(q), nv x nv."""
    weightless = replace(tree, gravity=arrays.zeros(3))
    still = arrays.zeros(tree.nv)
    columns = [augmented_links(weightless, q, still, unit) for unit in arrays.identity(tree.nv)]
    n = tree.nv
    return arrays.asarray([[columns[min(r, c)][max(r, c)] for c in range(n)] for r in range(n)]).reshape(n, n)
