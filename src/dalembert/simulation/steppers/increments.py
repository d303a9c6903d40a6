"""The derivative of the exponential map of rotations, and its inverse, applied to a vector, over any scalar.

For a rotation vector x that changes by dx, exp(x + dx) = exp(D(x) dx) exp(x) = exp(x) exp(D(-x) dx). With theta = |x|

    D(x) u      = u + a x * u + b x * (x * u),   a = (1 - cos theta)/theta^2,  b = (theta - sin theta)/theta^3
    D(x)^-1 u   = u - x * u/2 + c x * (x * u),   c = (1 - (theta/2) cot(theta/2))/theta^2
"""

from __future__ import annotations

from collections.abc import Callable

from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar, cos, is_number, select, sin, sqrt
from dalembert.algebra.vectors import cross, dot

SMALL = 1e-4
"""Squared angle below which a series replaces a quotient that tends to 0/0; what it leaves out is below 3e-17."""


def exp_derivative(x: Array, u: Array) -> Array:
    """D(x) u.

    Args:
        x: rotation vector.
        u: vector.
    """
    squared = dot(x, x)
    a = _near_zero(squared, lambda s: (1 - s * (1 - s / 30) / 12) / 2, _a)
    b = _near_zero(squared, lambda s: (1 - s * (1 - s / 42) / 20) / 6, lambda t: (t - sin(t)) / (t * t * t))
    turned = cross(x, u)
    return u + a * turned + b * cross(x, turned)


def exp_derivative_inverse(x: Array, u: Array) -> Array:
    """D(x)^-1 u; exists up to a full turn.

    Args:
        x: rotation vector.
        u: vector.
    """
    squared = dot(x, x)
    c = _near_zero(squared, lambda s: (1 + s * (1 + s / 42) / 60) / 12, _c)
    turned = cross(x, u)
    return u - turned / 2 + c * cross(x, turned)


def _a(theta: Scalar) -> Scalar:
    half = sin(theta / 2) / theta  # 1 - cos would lose half the digits
    return 2 * half * half


def _c(theta: Scalar) -> Scalar:
    half = theta / 2
    return (1 - half * cos(half) / sin(half)) / (theta * theta)


def _near_zero(squared: Scalar, near: Callable[[Scalar], Scalar], away: Callable[[Scalar], Scalar]) -> Scalar:
    if is_number(squared):
        return near(squared) if abs(squared) < SMALL else away(sqrt(squared))
    return select(squared < SMALL, near(squared), away(sqrt(squared)))
