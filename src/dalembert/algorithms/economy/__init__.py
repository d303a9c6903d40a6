"""The same mechanism, described so that its dynamics costs less. Results are unchanged."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from dalembert.algorithms.economy.cheapest import burden, operations
from dalembert.algorithms.economy.frames import NextAxis, is_numeric, next_axes, reframe
from dalembert.algorithms.economy.regroup import regroup
from dalembert.model.tree import Tree


@lru_cache(maxsize=32)  # each quantity of a mechanism asks for it
def economical(tree: Tree) -> Tree:
    """A tree with the same generalised forces, inertia matrix and derivatives, cheaper to evaluate.

    Masses are regrouped in any case. Frames are changed only where the geometry is numeric, and only if that makes
    inverse dynamics cheaper: a file whose frames have more zeros than Denavit-Hartenberg frames would, because its
    angles are not quite right, keeps them.
    """
    own = regroup(tree)
    if not is_numeric(tree):
        return own
    other = _suited_to_branches(tree)
    fewest, fewest_of_own = (min(operations(way).values()) for way in (other, own))
    return other if fewest < fewest_of_own else own


def _suited_to_branches(tree: Tree) -> Tree:
    """The tree in frames suited to one of the axes each link carries: at a fork to that which makes all cheapest."""
    main: dict[int, NextAxis] = {}
    best = regroup(reframe(tree))
    for i, link in enumerate(tree.links):
        for axis in next_axes(tree, i)[1:] if link.kind in ("revolute", "helical") or link.parent < 0 else []:
            other = regroup(reframe(tree, {**main, i: axis}))
            if _burden(other) < _burden(best):
                best, main[i] = other, axis
    return best


def _burden(tree: Tree) -> int:
    return burden(tree, "augmented-links")  # its tensors are those of the inertia matrix and the derivatives, too


class Form(NamedTuple):
    """A description of the mechanism on which algorithms can work.

    Args:
        words: how it is called in a sentence.
        make: brings a tree into it.
    """

    words: str
    make: Callable[[Tree], Tree]


FORMS = {
    "economical": Form("in economical frames with regrouped masses", economical),
    "regrouped": Form("in its own frames with regrouped masses", regroup),
    "described": Form("as it is described", lambda tree: tree),
}
"""Name -> form. Where masses are symbols, regrouping them is part of the work and may cost more than it saves."""
