"""Inertia matrix with rows and columns meeting half-way: fewer operations than Algorithm 6.2.

Algorithm 6.2 carries the wrench (eta ; f) that a unit acceleration of joint i causes from i to the base, one step for
every pair of joints. The entry d_ji is the power of that wrench on the twist (zw ; zv) of joint j, wherever on the way
from j to i the two meet:

    d_ji = zw_j . eta_i + zv_j . f_i     (6 M 5 A)

So near the base the few twists are carried outwards, near the tips the few wrenches inwards. For a chain of n joints
about a quarter of the n (n - 1)/2 steps disappears, each of which costs 20 multiplications.
"""

from __future__ import annotations

from functools import lru_cache, partial

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross, dot
from dalembert.algorithms.economy.frames import is_numeric
from dalembert.algorithms.inertia_matrix.generalized_links import generalized_moments
from dalembert.algorithms.tally import OperationCounter, in_numbers, positions, vector
from dalembert.kinematics.step import Step, steps
from dalembert.model.tree import Link, Tree, gather_matrix

Pair = tuple[Array, Array]
"""(moment, force) of a wrench, or (angular, linear) of a twist."""


def two_sided(tree: Tree, q: Array) -> Array:
    """Joint-space inertia matrix D(q), nv x nv."""
    step = steps(tree, q)
    mass, U, E = generalized_moments(tree, step)
    reached = twists_reach(tree)
    twists: list[dict[int, list[Pair]]] = []  # for each reached link the twists of all joints inside it
    blocks: dict[tuple[int, int], Array] = {}
    for i, link in enumerate(tree.links):
        twists.append(_carried_outwards(tree, i, step, twists) if reached[i] else {})
        wrenches = [_wrench(link, k, mass[i], U[i], E[i]) for k in range(link.nv)]
        j = i
        while True:
            at = tree.links[j]
            entries = [[power((at.axes_w[:, r], at.axes_v[:, r]), w) for w in wrenches] for r in range(at.nv)]
            if i == j:  # symmetric: take the upper triangle for both
                entries = [[entries[min(r, c)][max(r, c)] for c in range(link.nv)] for r in range(link.nv)]
            _put(blocks, j, i, entries)
            if reached[j]:
                for inner, rows in twists[j].items():
                    _put(blocks, inner, i, [[power(row, w) for w in wrenches] for row in rows])
                break
            wrenches = _inwards(tree, j, step, wrenches)
            j = at.parent
    return gather_matrix(tree, blocks)


def power(twist: Pair, wrench: Pair) -> Scalar:
    """Power of a wrench on a twist at the same point, in the same axes."""
    return dot(twist[0], wrench[0]) + dot(twist[1], wrench[1])


@lru_cache(maxsize=16)
def twists_reach(tree: Tree) -> tuple[bool, ...]:
    """Which links the twists of all inner joints are carried to: where that costs less than carrying wrenches further.

    Judged by running both ways on numbers that count (:mod:`dalembert.algorithms.tally`), so that every zero of the
    geometry is taken into account; with symbols in the geometry only one joint far, which keeps them exact.
    """
    beyond = [0] * len(tree.links)
    for i, chain in enumerate(tree.ancestors):
        for j in chain:
            beyond[j] += tree.links[i].nv
    numeric = is_numeric(tree)
    tree, count = in_numbers(tree), OperationCounter()
    step = steps(tree, positions(tree, count))
    twists: list[dict[int, list[Pair]]] = []
    reached: list[bool] = []
    for i, link in enumerate(tree.links):
        p = link.parent
        near = p < 0 or tree.links[p].parent < 0  # the last step inwards needs one component only: as good as a power
        if not (p < 0 or (reached[p] and beyond[i] > 2)) or not (near or numeric):
            reached.append(False)
            twists.append({})
            continue
        before = count.operations
        twists.append(_carried_outwards(tree, i, step, twists))
        carried = count.operations - before
        if near:
            reached.append(True)
            continue
        general = vector(3, count, 0), vector(3, count, 3)
        own = [(general[0], cross(link.axes_w[:, k], general[1])) for k in range(link.nv)]  # f of a turn is across it
        meeting = partial(_saved_by_meeting, tree, i, step, twists, count)
        saved = sum(meeting(wrench) for wrench in own) + (beyond[i] - link.nv) * meeting(general)
        reached.append(2 * saved > 3 * carried)  # not all that is counted as saved is ever computed
    return tuple(reached)


def _saved_by_meeting(
    tree: Tree, i: int, step: list[Step], twists: list[dict[int, list[Pair]]], count: OperationCounter, wrench: Pair
) -> int:
    """Operations saved for one wrench if it meets the twists at link i instead of at its parent."""
    start = count.operations
    _powers(twists[i], wrench)
    here = count.operations
    for moved in _inwards(tree, i, step, [wrench]):
        _powers(twists[tree.links[i].parent], moved)
    return (count.operations - here) - (here - start)


def _powers(twists: dict[int, list[Pair]], wrench: Pair) -> list[Scalar]:
    return [power(row, wrench) for rows in twists.values() for row in rows]


def _inwards(tree: Tree, j: int, step: list[Step], wrenches: list[Pair]) -> list[Pair]:
    """Wrenches from the joint frame and origin of link j to those of its parent (6.3.30a,b)."""
    s, settle = step[j].s, step[tree.links[j].parent].from_link
    moved = [(step[j].from_joint(eta), step[j].from_joint(f)) for eta, f in wrenches]
    return [(settle(eta + cross(s, f)), settle(f)) for eta, f in moved]


def _carried_outwards(tree: Tree, i: int, step: list[Step], twists: list[dict[int, list[Pair]]]) -> dict:
    """Twists at the origin of link i, in its joint frame, of every joint inside it."""
    p = tree.links[i].parent
    if p < 0:
        return {}
    inner = tree.links[p]
    own = [(inner.axes_w[:, k], inner.axes_v[:, k]) for k in range(inner.nv)]
    carried = {}
    for j, rows in {**twists[p], p: own}.items():
        settled = [(step[p].to_link(zw), step[p].to_link(zv)) for zw, zv in rows]
        carried[j] = [(step[i].to_joint(zw), step[i].to_joint(zv + cross(zw, step[i].s))) for zw, zv in settled]
    return carried


def _wrench(link: Link, k: int, mass: Scalar, U: Array, E: Array) -> Pair:
    """The wrench for unit acceleration k of the link's own joint, (6.3.29d,e)."""
    zw, zv = link.axes_w[:, k], link.axes_v[:, k]
    return product(E, zw) + cross(U, zv), cross(zw, U) + mass * zv


def _put(blocks: dict[tuple[int, int], Array], j: int, i: int, entries: list[list[Scalar]]) -> None:
    blocks[j, i] = arrays.asarray(entries)
    blocks[i, j] = blocks[j, i].T
