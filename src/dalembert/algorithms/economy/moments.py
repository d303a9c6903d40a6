"""Moments of a link in another frame, without what rounding leaves of zeros and symmetries.

Every number that is zero, or equal to another one, saves operations; the digits of a file that describes the same link
in turned and shifted axes must not cost any.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.model.tree import Moments

ROUNDING = 16 * float(np.finfo(float).eps)
"""What the file's digits, a shift and two turns leave of a moment that is zero, relative to the largest term."""


def moved_moments(moments: Moments, frame: Transform) -> Moments:
    """Moments about the origin and in the axes of another frame, given in the old one."""
    if moments.is_zero:
        return moments
    m, h, J = moments.mass, moments.first, moments.second
    p, R = frame.translation, frame.rotation
    first = [h, -m * p]
    second = [J, -np.outer(h, p), -np.outer(p, h), m * np.outer(p, p)]
    return Moments(m, _settled(R.T @ sum(first), first), _symmetric(R.T @ sum(second) @ R, second))


def _settled(value: Array, terms: list[Array]) -> Array:
    """Entries that are zero but for the rounding of the terms they come from, made zero; symbols stay."""
    return value if value.dtype == object else np.where(np.abs(value) < _rounding(terms), 0.0, value)


def _symmetric(J: Array, terms: list[Array]) -> Array:
    """The tensor with what rounding spoiled restored: zeros, symmetry, and equal moments about different axes."""
    if J.dtype == object:
        return J
    J = _settled((J + J.T) / 2, terms)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        if abs(J[j, j] - J[i, i]) < _rounding(terms):
            J[j, j] = J[i, i]
    return J


def _rounding(terms: list[Array]) -> float:
    return ROUNDING * max(float(np.abs(term).max()) for term in terms)
