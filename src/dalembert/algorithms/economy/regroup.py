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


def regroup(tree: Tree) -> Tree:
    """The same tree with the fewest non-zero inertial parameters; generalised forces are unchanged."""
    moments = [link.moments for link in tree.links]
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        kept, moved = _split(link, moments[i])
        if moved is None:
            continue
        moments[i] = kept
        if link.parent >= 0:
            moments[link.parent] = _sum(moments[link.parent], moved)
    links = tuple(replace(link, moments=m) for link, m in zip(tree.links, moments))
    return replace(tree, links=links)


def _split(link: Link, moments: Moments) -> tuple[Moments, Moments | None]:
    """What stays with the link, and what moves to its parent (in the parent's axes and about its origin)."""
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
    moved = Moments(
        m,
        along * zeta + m * S,
        lam * dyad(zeta, zeta) + along * (dyad(zeta, S) + dyad(S, zeta)) + m * dyad(S, S),
    )
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
