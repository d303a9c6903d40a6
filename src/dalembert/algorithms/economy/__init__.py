"""The same mechanism, described so that its dynamics costs less. Results are unchanged."""

from __future__ import annotations

from dalembert.algorithms.economy.frames import is_numeric, reframe
from dalembert.algorithms.economy.regroup import regroup
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.algorithms.tally import Count, in_numbers, positions, vector
from dalembert.model.tree import Tree


def economical(tree: Tree) -> Tree:
    """A tree with the same generalised forces, inertia matrix and derivatives, cheaper to evaluate.

    Masses are regrouped in any case. Frames are changed only where the geometry is numeric, and only if that makes
    inverse dynamics cheaper: a file whose frames have more zeros than Denavit-Hartenberg frames would, because its
    angles are not quite right, keeps them.
    """
    own = regroup(tree)
    if not is_numeric(tree):
        return own
    other = regroup(reframe(tree))
    return other if operations(other) < operations(own) else own


def operations(tree: Tree) -> int:
    """About how many operations inverse dynamics takes, for comparison; equal terms are counted as often as they occur.

    Args:
        tree: the links, with numeric geometry; symbols among the masses count as general numbers.
    """
    count = Count()
    numeric = in_numbers(tree)
    augmented_links(numeric, positions(tree, count), vector(tree.nv, count, 100), vector(tree.nv, count, 200))
    return count.operations
