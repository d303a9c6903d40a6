"""Base-parameter regrouping: mass moved inwards across joints without changing any generalised force.

Matter on the axis of a revolute joint - mass m, first moment h along the axis, second moment lam along the axis -
moves alike whether it belongs to the outer or to the inner link. Moving it inwards empties parameters of the outer link
that would otherwise cost multiplications at run time. The same holds for a point mass in the centre of a spherical
joint, and for the whole rotational inertia across a prismatic one. What arrives at the ground is dropped.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import dyad
from dalembert.model.tree import Link, Moments, Tree

MOST_RATIO = 100.0
"""Ratio of masses up to which they are added up before they are moved.

In economical frames a heavy body on an axis has large moments along it, which are moved away again. What a light body
behind it contributes to the same numbers loses as many digits as the ratio of their masses has; two of them may go.
"""


def regroup(tree: Tree) -> Tree:
    """The same tree with the fewest non-zero inertial parameters; generalised forces are unchanged.

    Moving is linear in the moments. So bodies of very different mass are moved one class of masses after the other, and
    only what stays is added up.
    """
    classes = _classes(tree)
    if len(classes) < 2:
        return replace(tree, links=_with(tree, _moved(tree, [link.moments for link in tree.links])))
    empty = Moments(0.0, np.zeros(3), np.zeros((3, 3)))
    parts = [
        _moved(tree, [link.moments if i in members else empty for i, link in enumerate(tree.links)], settle=True)
        for members in classes
    ]
    return replace(tree, links=_with(tree, [_total(pieces) for pieces in zip(*parts)]))


def _classes(tree: Tree) -> list[set[int]]:
    """Links by mass, none :data:`MOST_RATIO` times as heavy as another of its class; one class if there are symbols."""
    everything = [set(range(len(tree.links)))]
    masses = [link.moments.mass for link in tree.links]
    if not all(scalar.is_number(m) and link.moments.second.dtype != object for m, link in zip(masses, tree.links)):
        return everything
    order = sorted((float(m), i) for i, m in enumerate(masses) if m > 0)
    if len(order) < 2 or order[-1][0] <= MOST_RATIO * order[0][0]:
        return everything
    found: list[set[int]] = []
    lightest = 0.0
    for m, i in order:
        if not found or m > MOST_RATIO * lightest:
            found.append(set())
            lightest = m
        found[-1].add(i)
    found[0] |= everything[0] - {i for _, i in order}
    return found


def _moved(tree: Tree, moments: list[Moments], settle: bool = False) -> list[Moments]:
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        kept, moved = _split(link, moments[i], settle)
        if moved is None:
            continue
        moments[i] = kept
        if link.parent >= 0:
            moments[link.parent] = _sum(moments[link.parent], moved)
    return moments


def _total(pieces: tuple[Moments, ...]) -> Moments:
    first, second = ([np.asarray(getattr(piece, name), float) for piece in pieces] for name in ("first", "second"))
    return Moments(
        sum(piece.mass for piece in pieces),
        _cleared(sum(first, np.zeros(3)), np.abs(first)),
        _cleared(sum(second, np.zeros((3, 3))), np.abs(second)),
    )


def _with(tree: Tree, moments: list[Moments]) -> tuple[Link, ...]:
    return tuple(replace(link, moments=m) for link, m in zip(tree.links, moments))


def _split(link: Link, moments: Moments, settle: bool = False) -> tuple[Moments, Moments | None]:
    """What stays with the link, and what moves to its parent (in the parent's axes and about its origin).

    Args:
        moments: its own, and what has been moved to it.
        settle: whether what moves is numbers, and sums in it that are zero but for rounding are to be zero: of a heavy
            body even the rounding would outweigh a light one.
    """
    m, h, J = moments.mass, moments.first, moments.second
    none = arrays.zeros(3)
    R = link.placement.rotation
    if link.kind == "prismatic":
        across = R if link.post is None else product(R, link.post)
        return Moments(m, h, arrays.zeros(3, 3)), Moments(0, none, product(product(across, J), across.T))
    if link.kind == "spherical":
        s = link.placement.translation
        return Moments(0, h, J), Moments(m, m * s, m * dyad(s, s))
    if link.kind != "revolute":
        return moments, None
    z = link.own_axis
    along = _best_first_moment(h, z)
    lam = _best_second_moment(J, z)
    kept = Moments(0, _cleared(h - along * z, h), _cleared(J - lam * dyad(z, z), J))
    zeta, S = product(R, link.axis), link.placement.translation
    first = along * zeta, m * S
    second = lam * dyad(zeta, zeta), along * (dyad(zeta, S) + dyad(S, zeta)), m * dyad(S, S)
    moved = Moments(m, first[0] + first[1], second[0] + second[1] + second[2])
    if settle:
        moved = Moments(m, _cleared(moved.first, np.abs(first)), _cleared(moved.second, np.abs(second)))
    return kept, moved


def _best_first_moment(h: Array, z: Array) -> Scalar:
    """t such that h - t z loses a component: y if it can, so that it has the zero of the vector to the next origin."""
    for k in (1, 2, 0):
        if _serves(z[k], 3):
            return h[k] / z[k]
    raise AssertionError("a unit axis has a component of at least 1/sqrt(3)")


def _best_second_moment(J: Array, z: Array) -> Scalar:
    """lam such that J - lam z z^T loses the entry that costs most: off-diagonal ones save three multiplications."""
    for i, j in ((1, 2), (0, 2), (0, 1)):
        if _serves(z[i] * z[j], 20):
            return J[i, j] / (z[i] * z[j])
    for i in (2, 1, 0):
        if _serves(z[i], 3):
            return J[i, i] / (z[i] * z[i])
    raise AssertionError("a unit axis has a component of at least 1/sqrt(3)")


def _serves(divisor: Scalar, most: int) -> bool:
    """Whether one may divide by it: moments must not grow more than so many times, or their digits are lost."""
    return not scalar.is_zero(divisor) and (not scalar.is_number(divisor) or most * abs(divisor) > 1)


def _cleared(value: Array, before: Array) -> Array:
    """Differences that are zero but for rounding, made zero."""
    if value.dtype == object:
        return value
    scale = float(np.abs(before).max(initial=0.0))
    return np.where(np.abs(value) < 1e-15 * max(scale, 1e-300), 0.0, value)


def _sum(a: Moments, b: Moments) -> Moments:
    return Moments(a.mass + b.mass, a.first + b.first, a.second + b.second)
