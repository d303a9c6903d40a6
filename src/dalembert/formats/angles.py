"""Angles that were probably meant in degrees."""

from __future__ import annotations

TURN = 6.2832
"""A full turn, rounded up as in a file."""

RADIANS = "angles are in radians; was it meant in degrees?"

_DEGREES = {0.0, *map(float, range(15, 361, 15))}


def look_like_degrees(lower: float, upper: float) -> bool:
    """True for a range whose ends are seldom meant to be radians.

    Args:
        lower: smallest angle.
        upper: largest angle.
    """
    return abs(lower) in _DEGREES and abs(upper) in _DEGREES and (lower, upper) != (0, 0)
