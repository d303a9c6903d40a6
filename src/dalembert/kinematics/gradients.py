"""From derivatives along tangent vectors to derivatives with respect to the entries of q.

Our derivative kernels differentiate along tangent vectors, of which a quaternion has three. Frameworks want gradients
with the shape of q, with four. The tangent vector of a change of the quaternion eta = [x, y, z, w] is

    delta = S(eta) d eta / |eta|^2 ,   S = 2 [ w 1 - e~ , -e ]     (FORBES, w_b = S qdot, for |eta| = 1),

so a gradient along delta becomes S^T times it. Kernels do not depend on the length of a quaternion, nor do these.
"""

from __future__ import annotations

from typing import Any

from dalembert.kinematics.manifold import quaternions
from dalembert.model import Tree


def coordinate_pairs(tree: Tree) -> list[tuple[int, int]]:
    """(index in q, index in v) of every coordinate that is its own tangent."""
    found = {(link.q, link.v) for link in tree.links if link.kind != "spherical"}
    return sorted(found)


def gradient(tree: Tree, q: Any, along: Any, stack: Any) -> Any:
    """Gradient with respect to q from the gradient along tangent vectors.

    Args:
        tree: gives the layout of q and v.
        q: positions, (..., nq).
        along: gradient along tangent vectors, (..., nv).
        stack: the framework's function that stacks a list of arrays along the last axis.
    """
    entries: list[Any] = [None] * tree.nq
    for i, k in coordinate_pairs(tree):
        entries[i] = along[..., k]
    for i, k in quaternions(tree):
        x, y, z, w = (q[..., i + n] for n in range(4))
        twice = 2 / (x * x + y * y + z * z + w * w)
        a, b, c = (twice * along[..., k + n] for n in range(3))
        entries[i : i + 4] = [
            w * a - z * b + y * c,
            z * a + w * b - x * c,
            -y * a + x * b + w * c,
            -(x * a + y * b + z * c),
        ]
    return stack(entries)


def tangent(tree: Tree, q: Any, change: Any, stack: Any) -> Any:
    """The tangent vector of a change of q: the transpose of :func:`gradient`.

    Args:
        tree: gives the layout of q and v.
        q: positions, (..., nq).
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
