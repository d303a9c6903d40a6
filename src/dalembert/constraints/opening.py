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
from dalembert.algorithms.kinematics import frame_on_link
from dalembert.constraints.descent import LENGTHS
from dalembert.constraints.rows import Row
from dalembert.model import Mechanism
from dalembert.model.constraint import Constraint

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
        length, out = _length(mechanism, item, q)
        slack = scalar.minimum(DIGITS * out, MOST)
        found += [part * length + slack if row.meaning in LENGTHS else part for row in rows]
    return found


def _length(mechanism: Mechanism, item: Constraint, q: Any) -> tuple[Scalar, Scalar]:
    """The lengths between the ends of a closure, a metre if there are none; how far slides in between are out."""
    tree, ways, out = mechanism.tree, [], 0
    ends = [frame_on_link(mechanism, end) for end in (item.a, item.b)]
    chains = [tree.ancestors[carrier] if carrier >= 0 else () for carrier, _ in ends]
    for (_, at), placement, chain, other in zip(ends, (item.placement_a, item.placement_b), chains, chains[::-1]):
        links = [tree.links[i] for i in reversed(chain) if i not in other]
        ways.append([*(link.placement.translation for link in links), (at @ placement).translation])
        for link in links:
            if link.translates:
                out = out + scalar.absolute(link.position(q)[0] * (link.pitch if link.kind == "helical" else 1))
    (first, *inner), (second, *outer) = ways  # the first of either lie in the link that carries both
    length: Scalar = sum(scalar.absolute(x) for way in (first - second, *inner, *outer) for x in way)
    length = length + sum(scalar.absolute(x) for x in (item.value, *item.coefficients))
    return (1.0 if scalar.is_number(length) and length < SHORTEST else length), out
