"""Functions that programs have no operation for, written with those they have.

The identities are exact, so mathematics printed from a graph is too. What is small because two exponentials nearly
cancel, ``sinh(x)`` near zero, is known to a rounding of those, 1e-16, and not of itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalembert.tracing.traced import Expr

SATURATED = 80
"""Beyond, ``1 / (exp(x) + 1)`` is nothing beside one, while exp(x) is still a number in single precision too."""


def sinh(a: Expr) -> Expr:
    """Hyperbolic sine."""
    return (a.exp() - (-a).exp()) / 2


def cosh(a: Expr) -> Expr:
    """Hyperbolic cosine."""
    return (a.exp() + (-a).exp()) / 2


def tanh(a: Expr) -> Expr:
    """Hyperbolic tangent: one where exponentials overflow, with the slope zero."""
    return 1 - 2 / ((2 * a).minimum(SATURATED).exp() + 1)


def asin(a: Expr) -> Expr:
    """Angle between -pi/2 and pi/2 with this sine; ``1 - a * a`` would lose digits near the ends."""
    return a.atan2(((1 - a) * (1 + a)).sqrt())


def acos(a: Expr) -> Expr:
    """Angle between 0 and pi with this cosine."""
    return ((1 - a) * (1 + a)).sqrt().atan2(a)


def asinh(a: Expr) -> Expr:
    """Inverse of sinh, odd: on either side the logarithm of a sum that does not cancel."""
    root = (a * a + 1).sqrt()
    return (a < 0).select(-(root - a).log(), (root + a).log())


def acosh(a: Expr) -> Expr:
    """Inverse of cosh for numbers from one on; NaN below, also where ``(a - 1) * (a + 1)`` would be positive."""
    return (a + (a - 1).sqrt() * (a + 1).sqrt()).log()


def atanh(a: Expr) -> Expr:
    """Inverse of tanh between -1 and 1; NaN outside."""
    return ((1 + a) / (1 - a)).log() / 2
