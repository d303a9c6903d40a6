"""Positions as points of a manifold: how they change with velocities, how they are displaced, how quaternions keep
unit length.

A tangent vector has nv entries, like a velocity. Along the quaternion of a spherical or free joint it is a rotation
vector in child axes, q' = q (*) exp(d); along every other coordinate it is added.

All functions run over any scalar, on one position at a time, unless they say *numeric*.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, Coordinates
from dalembert.algebra.attitude import Quaternion
from dalembert.algebra.quaternions import (
    quaternion_conjugate,
    quaternion_exp,
    quaternion_log,
    quaternion_normalise,
    quaternion_rate,
    quaternion_star,
    unit_in_place,
)
from dalembert.model import Tree


def quaternions(tree: Tree) -> list[tuple[int, int]]:
    """For every quaternion its first index in q and that of its angular velocity in v."""
    return [(link.q, link.v) for link in tree.links if link.kind == "spherical"]


def quaternion_places(tree: Tree) -> list[int]:
    """Where in q the quaternions begin."""
    return [first for first, _ in quaternions(tree)]


# ------------------------------------------------------------------------------------------------ rates of positions


def position_rate(tree: Tree, q: Coordinates, v: Coordinates) -> Array:
    """qdot = Gamma(q) v; for quaternions (B-18)."""
    rate: list[Any] = [0] * tree.nq
    for link in tree.links:
        if link.kind == "spherical":
            eta, w = ([x[at + k] for k in range(n)] for x, at, n in ((q, link.q, 4), (v, link.v, 3)))
            rate[link.q : link.q + 4] = quaternion_rate(eta, w).tolist()
        else:
            rate[link.q] = v[link.v]
    return arrays.asarray(rate)


def tangent_map(tree: Tree, q: Array) -> Array:
    """Gamma(q), nq x nv: the rates of the coordinates per velocity; zeros and ones are integers."""
    Gamma = np.zeros((tree.nq, tree.nv), dtype=int).astype(object)
    for link in tree.links:
        if link.kind == "spherical":
            Gamma[link.q : link.q + 4, link.v : link.v + 3] = Quaternion().Gamma(q[link.q : link.q + 4])
        else:
            Gamma[link.q, link.v] = 1
    return Gamma


def tangent_rates(tree: Tree, q: Array, rates: Array) -> Array:
    """The tangent vectors along which positions change at given rates: the inverse of :func:`tangent_map`.

    Args:
        rates: of the coordinates, nq rows.
    """
    found: list[Any] = [0] * tree.nv
    for link in tree.links:
        if link.kind == "spherical":
            back = quaternion_conjugate(q[link.q : link.q + 4])
            turns = [quaternion_star(back, rates[link.q : link.q + 4, k]) for k in range(rates.shape[1])]
            for k in range(3):
                found[link.v + k] = [2 * turn[k] for turn in turns]
        else:
            found[link.v] = rates[link.q].tolist()
    return arrays.stack(found).reshape(tree.nv, rates.shape[1])


def tangent_rate(tree: Tree, v: Array) -> Array:
    """T of d(dq)/dt = dv + T dq along a motion, nv x nv.

    For the tangent vector of a quaternion, in child axes, it is dq x v = -v~ dq; for all other joints zero.
    """
    T: list[list[Any]] = [[0] * tree.nv for _ in range(tree.nv)]
    for _, k in quaternions(tree):
        x, y, z = (v[k + n] for n in range(3))
        for r, row in enumerate(([0, z, -y], [-z, 0, x], [y, -x, 0])):
            T[k + r][k : k + 3] = row
    return arrays.asarray(T)


# ---------------------------------------------------------------------------------------------------- displacements


def displaced(tree: Tree, q: Array, d: Array) -> Array:
    """The position reached from q along a tangent vector, by the exponential map.

    Args:
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


def moved(tree: Tree, q: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Numeric: :func:`displaced`, with quaternions of unit length to the last digit.

    Args:
        d: tangent vector, nv entries: what this velocity would do in unit time.
    """
    return normalise_in_place(tree, displaced(tree, q, d))


def difference(tree: Tree, q: Array, other: Array) -> Array:
    """The shortest tangent vector from q to another position: displaced(q, difference(q, other)) = other.

    Args:
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


# -------------------------------------------------------------------------------------------------- unit quaternions


def normalised(tree: Tree, q: Array) -> Array:
    """The position with its quaternions brought back to unit length."""
    places = quaternion_places(tree)
    if not places:
        return q
    found = q.tolist()
    for k in places:
        found[k : k + 4] = quaternion_normalise(found[k : k + 4]).tolist()
    return arrays.asarray(found)


def normalise_in_place(tree: Tree, q: np.ndarray) -> np.ndarray:
    """Numeric: bring the quaternions of any number of positions back to unit length; returns q.

    Args:
        q: positions, shape (..., nq); changed.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # of a motion that is about to end
        return unit_in_place(q, quaternion_places(tree))


def continued(tree: Tree, q: np.ndarray) -> np.ndarray:
    """Numeric: the same positions with signs of quaternions by which each is nearest to the one before.

    Args:
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
    for _, k in quaternions(tree):
        part = slice(k, k + 3)
        found[part] = function(d[part], p[part]).tolist()
    return arrays.asarray(found)
