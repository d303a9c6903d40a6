"""The same mechanism, described so that its dynamics costs less. Results are unchanged."""

from __future__ import annotations

from dalembert.algorithms.economy.frames import is_numeric, reframe
from dalembert.algorithms.economy.regroup import regroup
from dalembert.model.tree import Tree


def economical(tree: Tree) -> Tree:
    """A tree with the same generalised forces, inertia matrix and derivatives, cheaper to evaluate.

    Frames are changed only where the geometry is numeric; masses are regrouped in any case.
    """
    return regroup(reframe(tree) if is_numeric(tree) else tree)
