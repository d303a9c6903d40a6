"""A scalar that counts: run any algorithm on it, and it counts how many multiplications and additions were worth doing.

It carries a number, so that products with 0, 1 and -1 and sums with 0, which a traced program does not contain, are not
counted. Equal terms are counted as often as they are computed, and so is what nobody uses; to compare two ways of doing
the same thing that is good enough, and it needs no compiler.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.model.tree import Link, Moments, Tree


class OperationCounter:
    """Operations so far."""

    def __init__(self) -> None:
        self.operations = 0

    def note(self, product: bool) -> None:
        """One more operation: a product or quotient, or else a sum or difference."""
        self.operations += 1


class Tally:
    """A number that notes in a count what is done with it.

    Args:
        count: where operations are noted.
    """

    __slots__ = ("count", "value")

    def __init__(self, value: float, count: OperationCounter):
        self.value = float(value)
        self.count = count

    @property
    def is_zero(self) -> bool:
        return self.value == 0

    def __add__(self, other: Any) -> Tally:
        x = other.value if type(other) is Tally else float(other)
        if self.value != 0 and x != 0:
            self.count.note(False)
        return Tally(self.value + x, self.count)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Tally:
        x = other.value if type(other) is Tally else float(other)
        if self.value != 0 and x != 0:
            self.count.note(False)
        return Tally(self.value - x, self.count)

    def __rsub__(self, other: Any) -> Tally:
        return -self + other

    def __mul__(self, other: Any) -> Tally:
        x, y = self.value, other.value if type(other) is Tally else float(other)
        if x != 0 and y != 0 and x != 1 and y != 1 and x != -1 and y != -1:
            self.count.note(True)
        return Tally(x * y, self.count)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Tally:
        return self * _reciprocal(other.value if type(other) is Tally else float(other))

    def __rtruediv__(self, other: Any) -> Tally:
        self.count.note(True)
        return Tally(float(other) * _reciprocal(self.value), self.count)

    def __neg__(self) -> Tally:
        return Tally(-self.value, self.count)

    def sin(self) -> Tally:
        return Tally(math.sin(self.value), self.count)

    def cos(self) -> Tally:
        return Tally(math.cos(self.value), self.count)


def _reciprocal(x: float) -> float:
    """1 / x, and some number where a singular mechanism divides by zero: operations matter here, not results."""
    return 1 / x if x else 0.377


def vector(size: int, count: OperationCounter, start: int = 0) -> Array:
    """Numbers in general position, none of them 0, 1 or -1.

    Args:
        size: how many.
        count: where operations are noted.
        start: different starts give different numbers.
    """
    return arrays.asarray([Tally(0.3 + 0.137 * math.sin(7 * (start + k) + 1), count) for k in range(size)])


def positions(tree: Tree, count: OperationCounter) -> Array:
    """Positions in general position, quaternions of length one.

    Args:
        count: where operations are noted.
    """
    q = vector(tree.nq, count)
    for link in tree.links:
        if link.kind == "spherical":
            eta = np.array([x.value for x in q[link.q : link.q + 4]])
            q[link.q : link.q + 4] = [Tally(x, count) for x in eta / np.linalg.norm(eta)]
    return q


def in_numbers(tree: Tree) -> Tree:
    """The tree with a general number for everything in it that is none, and the same one for the same thing.

    Turns by symbols become matrices that turn nothing, with their zeros and ones: to count, that is good enough.
    """
    known: dict[Any, float] = {}

    def number(x: Any) -> Any:
        if scalar.is_number(x):
            return x
        if scalar.is_zero(x):
            return 0
        if scalar.is_one(x) or scalar.is_one(-x):
            return 1 if scalar.is_one(x) else -1
        general = 0.3 + 0.137 * math.sin(7 * len(known) + 5)
        return known.setdefault(x if scalar.is_sympy(x) else id(x), general)  # equals of traced scalars are one object

    def numbers(array: Array) -> Array:
        return array if array.dtype != object else np.array([number(x) for x in array.flat]).reshape(array.shape)

    def link_in_numbers(link: Link) -> Link:
        m, at = link.moments, link.placement
        return replace(
            link,
            moments=Moments(number(m.mass), numbers(m.first), numbers(m.second)),
            placement=replace(at, rotation=numbers(at.rotation), translation=numbers(at.translation)),
            axis=numbers(link.axis),
            **{name: number(getattr(link, name)) for name in ("pitch", "gain", "offset")},
        )

    return replace(tree, links=tuple(link_in_numbers(link) for link in tree.links), gravity=numbers(tree.gravity))
