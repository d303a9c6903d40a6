"""From changes of the entries of q to tangent vectors.

Our derivative kernels differentiate along tangent vectors, of which a quaternion has three. Frameworks change the
entries of q, of which it has four. The tangent vector of a change of the quaternion eta = [x, y, z, w] is

    delta = S(eta) d eta / |eta|^2 ,   S = 2 [ w 1 - e~ , -e ]     (FORBES, w_b = S qdot, for |eta| = 1).
"""

from __future__ import annotations

from typing import Any

from dalembert.kinematics.manifold import quaternions
from dalembert.model import Tree


def coordinate_pairs(tree: Tree) -> list[tuple[int, int]]:
    """(index in q, index in v) of every coordinate that is its own tangent."""
    found = {(link.q, link.v) for link in tree.links if link.kind != "spherical"}
    return sorted(found)


def tangent(tree: Tree, q: Any, change: Any, stack: Any) -> Any:
    """The tangent vector of a change of q.

    Args:
        tree: gives the layout of q and v.
        change: of q, (..., nq).
        stack: the framework's function that stacks a list of arrays along the last axis.
    """
    entries: list[Any] = [None] * tree.nv
    for i, k in coordinate_pairs(tree):
        entries[k] = change[..., i]
    for i, k in quaternions(tree):
        x, y, z, w = (q[..., i + n] for n in range(4))
        twice = 2 / (x * x + y * y + z * z + w * w)
        a, b, c, d = (twice * change[..., i + n] for n in range(4))
        entries[k : k + 3] = [
            w * a + z * b - y * c - x * d,
            -z * a + w * b + x * c - y * d,
            y * a - x * b + w * c - z * d,
        ]
    return stack(entries)
