"""The column method (THESIS (6.2.4)): column k of D is inverse dynamics with unit acceleration k and all else off."""

from __future__ import annotations

from dataclasses import replace

from dalembert.algebra import scalar
from dalembert.algebra.scalar import Array
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.model.tree import Tree


def column_method(tree: Tree, q: Array) -> Array:
    """Joint-space inertia matrix D(q), nv x nv."""
    weightless = replace(tree, gravity=scalar.zeros(3))
    still = scalar.zeros(tree.nv)
    columns = [augmented_links(weightless, q, still, unit) for unit in scalar.identity(tree.nv)]
    return scalar.stack(columns).reshape(tree.nv, tree.nv).T
