"""Positions as points of a manifold: how they are displaced, how quaternions keep unit length.

A tangent vector has nv entries, like a velocity. Along the quaternion of a spherical or free joint it is a rotation
vector in child axes, q' = q (*) exp(d); along every other coordinate it is added.

All functions run over any scalar, on one position at a time, unless they say *numeric*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algebra.quaternions import (
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_normalise,
    quaternion_star,
)
from dalembert.model import Tree


def displaced(tree: Tree, q: Array, d: Array) -> Array:
    """The position reached from q along a tangent vector, by the exponential map.

    Args:
        tree: layout of q and d.
        q: positions.
        d: tangent vector, nv entries.
    """
    found: list[Any] = [0] * tree.nq
    for link in tree.links:
        if link.kind == "spherical":
            turn = quaternion_exp(d[link.v : link.v + 3])
            found[link.q : link.q + 4] = quaternion_star(q[link.q : link.q + 4], turn).tolist()
        else:
            found[link.q] = q[link.q] + d[link.v]
    return arrays.asarray(found)


def difference(tree: Tree, q: Array, other: Array) -> Array:
    """The shortest tangent vector from q to another position: displaced(q, difference(q, other)) = other.

    Args:
        tree: layout of q.
        q: where it begins.
        other: where it ends; quaternions are reached up to sign.
    """
    found: list[Any] = [0] * tree.nv
    for link in tree.links:
        if link.kind == "spherical":
            back = quaternion_conjugate(q[link.q : link.q + 4])
            turn = quaternion_log(quaternion_star(back, other[link.q : link.q + 4]))
            found[link.v : link.v + 3] = turn.tolist()
        else:
            found[link.v] = other[link.q] - q[link.q]
    return arrays.asarray(found)


def normalised(tree: Tree, q: Array) -> Array:
    """The position with its quaternions brought back to unit length.

    Args:
        tree: layout of q.
        q: positions.
    """
    spherical = [link.q for link in tree.links if link.kind == "spherical"]
    if not spherical:
        return q
    found = q.tolist()
    for k in spherical:
        found[k : k + 4] = quaternion_normalise(found[k : k + 4]).tolist()
    return arrays.asarray(found)


def quaternion_places(tree: Tree) -> list[int]:
    """Where in q the quaternions begin."""
    return [link.q for link in tree.links if link.kind == "spherical"]


def normalise_in_place(tree: Tree, q: np.ndarray) -> np.ndarray:
    """Numeric: bring the quaternions of any number of positions back to unit length; returns q.

    Args:
        tree: layout of q.
        q: positions, shape (..., nq); changed.
    """
    for k in quaternion_places(tree):
        eta = q[..., k : k + 4]
        with np.errstate(over="ignore", invalid="ignore"):  # of a motion that is about to end
            eta /= np.linalg.norm(eta, axis=-1, keepdims=True)
    return q


def continued(tree: Tree, q: np.ndarray) -> np.ndarray:
    """Numeric: the same positions with signs of quaternions by which each is nearest to the one before.

    Args:
        tree: layout of q.
        q: positions, (T, nq).
    """
    found = q.copy()
    for k in quaternion_places(tree):
        eta = found[:, k : k + 4]
        turned = np.einsum("ti,ti->t", eta[1:], eta[:-1]) < 0
        eta[1:] *= np.where(np.cumsum(turned) % 2, -1, 1)[:, None]
    return found


def on_rotations(tree: Tree, function: Callable[[Array, Array], Array], d: Array, p: Array, rest: Array) -> Array:
    """``function`` of the parts of two tangent vectors that belong to quaternions, and ``rest`` everywhere else.

    Args:
        tree: layout of the vectors.
        function: of two vectors of three components; gives a third.
        d: its first argument, nv entries.
        p: its second argument, nv entries.
        rest: what the other entries are.
    """
    found = rest.tolist()
    for link in tree.links:
        if link.kind == "spherical":
            part = slice(link.v, link.v + 3)
            found[part] = function(d[part], p[part]).tolist()
    return arrays.asarray(found)
