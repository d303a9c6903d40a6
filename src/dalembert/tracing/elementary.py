"""Functions of traced scalars, by the names that NumPy asks its objects for: ``np.sin(A)`` calls ``A[k].sin()``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dalembert.tracing import rules

if TYPE_CHECKING:
    from dalembert.tracing.traced import Expr


class Elementary:
    """What an ``Expr`` is the argument of; the rest of it is in ``traced``."""

    __slots__ = ()

    def sin(self: Any) -> Expr:
        """Sine; the argument is in radians."""
        return rules.sin(self)

    def cos(self: Any) -> Expr:
        """Cosine; the argument is in radians."""
        return rules.cos(self)

    def tan(self: Any) -> Expr:
        """Tangent; the argument is in radians."""
        return rules.tan(self)

    def sqrt(self: Any) -> Expr:
        """Square root; NaN for negative numbers."""
        return rules.sqrt(self)

    def exp(self: Any) -> Expr:
        """Exponential function."""
        return rules.exp(self)

    def log(self: Any) -> Expr:
        """Natural logarithm; NaN for negative numbers."""
        return rules.log(self)

    def atan2(self: Any, x: Any) -> Expr:
        """Angle of the point (x, self), in radians. The sign of a zero is not kept: on the negative half of the
        x axis, and at the origin, the answer may be that of either side."""
        return rules.atan2(self, self.graph.lift(x))

    arctan2 = atan2  # the name np.arctan2 looks for

    def arctan(self: Any) -> Expr:
        """Angle between -pi/2 and pi/2 with this tangent, in radians."""
        return self.atan2(1)

    def arcsin(self: Any) -> Expr:
        """Angle between -pi/2 and pi/2 with this sine, in radians; NaN beyond one."""
        return rules.asin(self)

    def arccos(self: Any) -> Expr:
        """Angle between 0 and pi with this cosine, in radians; NaN beyond one."""
        return rules.acos(self)

    def sinh(self: Any) -> Expr:
        """Hyperbolic sine; near zero to a rounding of one, since it is made of exponentials."""
        return rules.sinh(self)

    def cosh(self: Any) -> Expr:
        """Hyperbolic cosine."""
        return rules.cosh(self)

    def tanh(self: Any) -> Expr:
        """Hyperbolic tangent; near zero to a rounding of one, since it is made of exponentials."""
        return rules.tanh(self)

    def arcsinh(self: Any) -> Expr:
        """Inverse of the hyperbolic sine; near zero to a rounding of one, infinite where a square overflows."""
        return rules.asinh(self)

    def arccosh(self: Any) -> Expr:
        """Inverse of the hyperbolic cosine; NaN below one."""
        return rules.acosh(self)

    def arctanh(self: Any) -> Expr:
        """Inverse of the hyperbolic tangent; NaN beyond one, near zero to a rounding of one."""
        return rules.atanh(self)

    def hypot(self: Any, other: Any) -> Expr:
        """Length of the vector (self, other)."""
        return rules.sqrt(self * self + other * other)

    def deg2rad(self: Any) -> Expr:
        """Radians of this many degrees."""
        return self * (math.pi / 180)

    def rad2deg(self: Any) -> Expr:
        """Degrees of this many radians."""
        return self * (180 / math.pi)

    radians, degrees = deg2rad, rad2deg  # NumPy has both names

    def ratan2(self: Any, y: Any) -> Expr:
        """Angle of the point (self, y), in radians: ``atan2`` with the operands reflected."""
        return rules.atan2(self.graph.lift(y), self)

    def minimum(self: Any, other: Any) -> Expr:
        """The smaller of two numbers."""
        return rules.minimum(self, self.graph.lift(other))

    def maximum(self: Any, other: Any) -> Expr:
        """The larger of two numbers."""
        return rules.maximum(self, self.graph.lift(other))
