"""What a link carries: the next rotation axes beyond it, and the slides upon it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.model.tree import Tree


class NextAxis(NamedTuple):
    """A rotation axis beyond a link, in the frame of that link, slides at zero.

    Args:
        link: which turns about it.
        placement: the joint frame of that link.
        direction: of unit length.
    """

    link: int
    placement: Transform
    direction: Array


def next_axes(tree: Tree, i: int) -> list[NextAxis]:
    """The next rotating links beyond link i, slides between them left out; those that carry most first."""
    found = []
    waiting = [(c, Transform.identity()) for c in tree.children[i]]
    while waiting:
        c, at = waiting.pop()
        child = tree.links[c]
        placed = at @ child.placement
        if child.kind == "prismatic":
            waiting += [(grandchild, placed) for grandchild in tree.children[c]]
        elif child.kind != "spherical":
            found.append(NextAxis(c, placed, placed.rotation @ child.axis))
    return sorted(found, key=lambda axis: -sum(axis.link in chain for chain in tree.ancestors))


def slides_across(tree: Tree, i: int, last: int | None = None) -> list[Array]:
    """Directions of the slides that link i carries, one upon another, without their parts along its own axis; only
    those on the way to the last link if there is one."""
    z = tree.links[i].axis
    found = []
    waiting = [(c, np.eye(3)) for c in reversed(tree.children[i])]
    while waiting:
        c, turned = waiting.pop()
        child = tree.links[c]
        if child.kind == "prismatic" and (last is None or c in tree.ancestors[last]):
            turned = turned @ child.placement.rotation
            direction = turned @ child.axis
            found.append(direction - (direction @ z) * z)
            waiting += [(grandchild, turned) for grandchild in reversed(tree.children[c])]
    return found
