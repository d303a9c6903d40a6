"""Numbers that are NaN where nothing is left of their digits.

Velocities are eliminated by an inverse that holds at typical states. Where it does not exist - a crank at its dead
centre - what rounding leaves of zero is divided by, and what comes out is finite and wrong. Entries of an inverse that
are 1e16 times what they are elsewhere have lost all of their digits. So everything that is computed from an entry that
exceeds its bound is NaN; formulas stay as they are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.algebra.scalar import select
from dalembert.formulations.linear import is_constant
from dalembert.formulations.scope import Scope
from dalembert.tracing.graph import Traced

INVERSE_GROWTH = 1e12
"""Entries of an inverse that are larger than elsewhere by this have at most four digits left."""


def bound(scope: Scope, inverse: np.ndarray, samples: np.ndarray, squares: np.ndarray | None = None) -> None:
    """Let nothing be believed that is computed from entries of an inverse that are far larger than typical.

    Rows of least squares go as the square of the lengths that will be put in the place of symbols. Columns of the
    inverse that belong to them are measured by the length of the row at the same state; where speeds fail it stays, or
    vanishes more slowly than the inverse grows.

    Args:
        scope: the symbols of the derivation; it remembers.
        inverse: n x n traced scalars and numbers.
        samples: the matrix that was inverted at some states, as numbers, (states, n, n).
        squares: the last rows of that matrix, if they are of least squares.
    """
    invertible = 1 / np.finfo(float).eps  # condition beyond which an inverse has no digit, or does not exist
    regular = np.array([x for x in samples if np.isfinite(x).all() and np.linalg.cond(x) < invertible])
    units: list[Any] = [1] * len(inverse)
    lengths = np.ones((len(regular), 1, len(inverse)))
    if squares is not None and scope.parameters:
        first = len(inverse) - len(squares)
        units[first:] = [sum(abs(x) for x in row) for row in squares]
        lengths[:, 0, first:] = np.abs(regular[:, first:]).sum(axis=2)
    sizes = np.median(np.abs(np.linalg.inv(regular)) * lengths, axis=0)
    rows, columns = sizes.max(axis=1, keepdims=True), sizes.max(axis=0, keepdims=True)
    limits = INVERSE_GROWTH * np.maximum(sizes, rows * columns / sizes.max())  # entries that are zero have units, too
    for row, most in zip(inverse, limits):
        scope.bounds += [(x, unit, float(limit)) for x, unit, limit in zip(row, units, most) if not is_constant(x)]


def believed(scope: Scope, values: np.ndarray) -> np.ndarray:
    """The same values; all of them NaN where something they are computed from exceeds its bound.

    Args:
        scope: the symbols of the derivation.
        values: traced scalars and numbers.
    """
    if not scope.bounds:
        return values
    below = reached(values)
    inside: Any = True
    for x, unit, limit in scope.bounds:
        if x.index in below:
            inside = (abs(x) * unit <= limit) & inside
    return values if inside is True else values + select(inside, 0, math.nan)


def reached(values: np.ndarray) -> set[int]:
    """Indices of the nodes that values are computed from.

    Args:
        values: traced scalars and numbers.
    """
    found: set[int] = set()
    ahead = [x for x in values.flat if isinstance(x, Traced)]
    while ahead:
        x = ahead.pop()
        if x.index not in found:
            found.add(x.index)
            ahead += [y for y in x.args if isinstance(y, Traced)]
    return found
