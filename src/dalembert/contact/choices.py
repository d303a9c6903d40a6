"""Comparisons and choices without branches, over any scalar: what the geometry of contacts is made of."""

from __future__ import annotations

from typing import Any

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import dot

Touching = tuple[Scalar, Array, Array, Array]
"""Gap, normal, point of the first, point of the second."""


def above(x: Scalar, y: Scalar) -> Any:
    """Whether x > y; complex numbers are compared by their real parts, so the complex step works."""
    return x.real > y.real if scalar.is_number(x) and scalar.is_number(y) else x > y


def direction(vector: Array, otherwise: Array) -> tuple[Array, Scalar]:
    """A vector divided by its length, another unit vector where it has none, and that length.

    Args:
        vector: three scalars.
        otherwise: the direction of a zero vector.
    """
    square = dot(vector, vector)
    there = above(square, 0)
    length = scalar.sqrt(square)
    divisor = scalar.select(there, length, 1)
    found = [scalar.select(there, x / divisor, y) for x, y in zip(vector, otherwise)]
    return arrays.asarray(found), length


def clamped(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """x, but not below low and not above high."""
    return scalar.minimum(scalar.maximum(x, low), high)


def smallest(values: list[Scalar]) -> list[Scalar]:
    """1 for the smallest of several values, the first of them if equal, and 0 for all others."""
    least, found = values[0], [1, *(0 for _ in values[1:])]
    for k, x in enumerate(values[1:], 1):
        less = above(least, x)
        least = scalar.select(less, x, least)
        found = [scalar.select(less, 1 if i == k else 0, old) for i, old in enumerate(found)]
    return found


def span(p: Scalar, u: Scalar, half: Scalar) -> tuple[Scalar, Scalar]:
    """Between which shares p + s u lies within +-half; everywhere or nowhere if u is zero."""
    moving = above(scalar.absolute(u), 0)
    divisor = scalar.select(moving, u, 1)
    one, two = (-half - p) / divisor, (half - p) / divisor
    inside = above(half, scalar.absolute(p))
    low = scalar.select(moving, scalar.minimum(one, two), scalar.select(inside, 0, 2))
    high = scalar.select(moving, scalar.maximum(one, two), scalar.select(inside, 1, -1))
    return low, high
