"""The midpoint variational integrator on the configuration manifold. Second order, implicit, symplectic; it keeps
momentum maps exactly, and its energy error does not grow.

The action is approximated by the sum of Ld = h L(qm, x), qm = q (+) h x/2, over steps q' = q (+) h x with constant
velocity x. Stationarity gives, with the momentum p = M v at both ends, the slope F of L along q at (qm, x) and D the
derivative of the exponential map (the identity, except for quaternions),

    M(qm) x = D(-h x) p + h/2 D(-h x/2) F,        p' = D(h x)^-1 (M(qm) x + h/2 D(h x/2) F).

Forces without potential enter F at the midpoint (J. E. Marsden and M. West, Discrete mechanics and variational
integrators, Acta Numerica 2001, and for groups J. E. Marsden, S. Pekarsky, S. Shkoller 1999). The first equation is
solved for x by substitution, which converges for small steps with a factor proportional to the step.

For a rotation vector x that changes by dx, exp(x + dx) = exp(D(x) dx) exp(x) = exp(x) exp(D(-x) dx). With theta = |x|

    D(x) u      = u + a x * u + b x * (x * u),   a = (1 - cos theta)/theta^2,  b = (theta - sin theta)/theta^3
    D(x)^-1 u   = u - x * u/2 + c x * (x * u),   c = (1 - (theta/2) cot(theta/2))/theta^2
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar, cos, is_number, select, sin, sqrt
from dalembert.algebra.vectors import cross, dot
from dalembert.errors import SingularityError
from dalembert.simulation.equations import StepperEquations

SERIES_ANGLE = 1e-4
"""Squared angle below which a series replaces a quotient that tends to 0/0; what it leaves out is below 3e-17."""


def exp_derivative(x: Array, u: Array) -> Array:
    """D(x) u.

    Args:
        x: rotation vector.
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
        return near(squared) if abs(squared) < SERIES_ANGLE else away(sqrt(squared))
    return select(squared < SERIES_ANGLE, near(squared), away(sqrt(squared)))


SUBSTITUTIONS = 8
"""How often the velocity is substituted where it cannot be looked at, in compiled rollouts."""

SETTLED = 1e-2
"""Where the last of these changes the velocity by more than this fraction, the step is too large and gives NaN."""

MOST_SUBSTITUTIONS = 60
"""Substitutions after which a step that has not converged is given up."""


def variational(system: StepperEquations, t: Scalar, q: Array, v: Array, h: Scalar) -> tuple[Array, Array]:
    """One step."""
    half = h / 2
    p = system.momentum(q, v)
    x = v + half * system.acceleration(t, q, v)
    numeric = x.dtype != object
    before = np.inf
    for _ in range(MOST_SUBSTITUTIONS if numeric else SUBSTITUTIONS):
        middle = system.displaced(q, half * x)
        F = system.slope(t + half, middle, x)
        step = h * x
        carried = system.on_rotations(exp_derivative, -step, p)
        pushed = system.on_rotations(exp_derivative, -half * x, half * F)
        mean = carried + pushed
        last, x = x, system.velocity(middle, mean)
        if numeric:
            change = float(np.abs(x - last).max())
            if change <= 4e-16 * float(np.abs(x).max()) or (
                change < 1e-12 * (1 + np.abs(x).max()) and change >= before
            ):
                break
            before = change
    else:
        if numeric:
            raise SingularityError(
                f"the variational stepper did not converge in {MOST_SUBSTITUTIONS} substitutions; "
                f"take a smaller step than {h:.3g} s"
            )
        moved, size = sum((x - last) ** 2), sum(x * x + v * v) + 1e-18  # (nm/s)^2: at rest there is only rounding
        doubt = select(moved <= SETTLED * SETTLED * size, 0, math.nan)
        step, mean = step + doubt, mean + doubt
    pushed = system.on_rotations(exp_derivative, half * x, half * F)
    p = system.on_rotations(exp_derivative_inverse, step, mean + pushed)
    q = system.normalised(system.displaced(q, step))  # rounding, which adds up in float32
    return q, system.velocity(q, p)
