"""A tree as a trunk with branches that meet nowhere else: parts that can be worked on at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from dalembert.model.tree import Tree


def branches(tree: Tree, workers: int = 4) -> tuple[int, ...]:
    """The branch of each link, numbered from 1; 0 for links of the trunk.

    The trunk begins at the ground and grows into the largest branch as long as that shortens the work: that on the
    trunk, which nobody can share, and that of the worker with most branches.

    Args:
        tree: the links.
        workers: how many branches can be worked on at a time.
    """
    below = _sizes(tree)
    roots = [k for k, link in enumerate(tree.links) if link.parent < 0]
    trunk: set[int] = set()
    best, chosen = _span(0, [below[k] for k in roots], workers), list(roots)
    while roots:
        largest = max(roots, key=lambda k: (below[k], -k))
        roots.remove(largest)
        children: Sequence[int] = (largest,)
        while len(children) == 1:
            trunk.add(children[0])
            children = tree.children[children[0]]
        roots.extend(children)
        span = _span(len(trunk), [below[k] for k in roots], workers)
        if span < best:
            best, chosen = span, list(roots)
    found = [0] * len(tree.links)
    for number, root in enumerate(sorted(chosen), 1):
        found[root] = number
    for k, link in enumerate(tree.links):
        if not found[k] and link.parent >= 0:
            found[k] = found[link.parent]
    return tuple(found)


def coordinate_branches(tree: Tree) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The branch of each position and of each velocity; 0 if links of several branches follow it.

    Args:
        tree: the links.
    """
    q: list[set[int]] = [set() for _ in range(tree.nq)]
    v: list[set[int]] = [set() for _ in range(tree.nv)]
    for link, branch in zip(tree.links, branches(tree)):
        for users in (*q[link.q : link.q + link.nq], *v[link.v : link.v + link.nv]):
            users.add(branch)
    return tuple(_only(users) for users in q), tuple(_only(users) for users in v)


def element_branches(velocities: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The branch of each element of an array whose axes of length nv run over the velocities: the first that is not 0.

    Args:
        velocities: the branch of each velocity.
        shape: of the array.
    """
    axes = [velocities if size == len(velocities) else (0,) * size for size in shape]
    return tuple(next(filter(None, place), 0) for place in product(*axes))


def _only(users: set[int]) -> int:
    return next(iter(users)) if len(users) == 1 else 0


def _sizes(tree: Tree) -> list[int]:
    """Links of the subtree of each link."""
    sizes = [1] * len(tree.links)
    for k in range(len(sizes) - 1, -1, -1):
        if tree.links[k].parent >= 0:
            sizes[tree.links[k].parent] += sizes[k]
    return sizes


def _span(trunk: int, sizes: list[int], workers: int) -> int:
    """Work of the trunk and of the busiest worker, if the largest branches are given out first."""
    filled = [0] * workers
    for size in sorted(sizes, reverse=True):
        filled[filled.index(min(filled))] += size
    return trunk + max(filled)
