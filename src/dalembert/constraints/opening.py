"""How far loops may be open in a motion: a part of their own lengths, whatever joints they are made of.

A closure is as long as the bodies between its two frames, from the last link that carries both, and as the length that
it has itself. How far slides are out counts only as much as its last digits of single precision, and no more than a
millimetre: their zero may lie anywhere, and motions that have become senseless go far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.algebra import scalar
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.constraints.rows import Row
from dalembert.kinematics import frame_on_link
from dalembert.model import Mechanism
from dalembert.model.constraint import Constraint
from dalembert.model.tree import Link

SHORTEST = 1e-9
"""A length that is less, m, is the rounding of none."""

DIGITS, MOST = 1e-6, 1e-3
"""Some last digits of single precision; how many metres they are at most."""


def has_length(item: Constraint) -> bool:
    """Whether there are bodies between the ends of a constraint: not of a user's own, nor of one on joints.

    Args:
        item: the constraint.
    """
    return item.has_ends and not item.on_joints


def openings(
    mechanism: Mechanism, info: Mapping[str, Sequence[Row]], q: Any, others: Sequence[float], part: float
) -> list[Scalar]:
    """By how much each row on positions may be off, m or rad, over any scalar.

    Args:
        mechanism: with numbers, or traced scalars, in the place of its symbols.
        info: what the rows of each constraint are.
        q: positions.
        others: the same for all rows; used for those of constraints that have no length.
        part: of the length of a loop, or of a radian.
    """
    found: list[Scalar] = []
    for item in mechanism.constraints:
        rows = info[item.name]
        if not has_length(item):
            found += others[len(found) : len(found) + len(rows)]
            continue
        length, out = closure_length(mechanism, item), _out(mechanism, item, q)
        slack = scalar.minimum(DIGITS * out, MOST)
        found += [part * length + slack if row.is_length else part for row in rows]
    return found


def closure_length(mechanism: Mechanism, item: Constraint) -> Scalar:
    """The lengths between the ends of a closure, m; a metre if there are none.

    Args:
        mechanism: with numbers, or traced scalars, in the place of its symbols.
        item: a constraint that :func:`has_length`.
    """
    ways = [
        [*(link.placement.translation for link in links), (at @ placement).translation]
        for links, at, placement in zip(*_between(mechanism, item), (item.placement_a, item.placement_b))
    ]
    (first, *inner), (second, *outer) = ways  # the first of either lie in the link that carries both
    length: Scalar = sum(scalar.absolute(x) for way in (first - second, *inner, *outer) for x in way)
    length = length + sum(scalar.absolute(x) for x in (item.value, *item.coefficients))
    return 1.0 if scalar.is_number(length) and length < SHORTEST else length


def _out(mechanism: Mechanism, item: Constraint, q: Any) -> Scalar:
    """How far slides between the ends of a closure are out, m."""
    slides = [link for links in _between(mechanism, item)[0] for link in links if link.translates]
    return sum(scalar.absolute(x.position(q)[0] * (x.pitch if x.kind == "helical" else 1)) for x in slides)


def _between(mechanism: Mechanism, item: Constraint) -> tuple[list[list[Link]], list[Transform]]:
    """The links from that which carries both ends of a closure to either, and where these are on the last ones."""
    ends = [frame_on_link(mechanism, end) for end in (item.a, item.b)]
    chains = [mechanism.tree.ancestors[carrier] if carrier >= 0 else () for carrier, _ in ends]
    links = [
        [mechanism.tree.links[i] for i in reversed(chain) if i not in other]
        for chain, other in zip(chains, chains[::-1])
    ]
    return links, [at for _, at in ends]
