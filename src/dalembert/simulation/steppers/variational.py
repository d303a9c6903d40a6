"""The midpoint variational integrator on the configuration manifold. Second order, implicit, symplectic; it keeps
momentum maps exactly, and its energy error does not grow.

The action is approximated by the sum of Ld = h L(qm, x), qm = q (+) h x/2, over steps q' = q (+) h x with constant
velocity x. Stationarity gives, with the momentum p = M v at both ends, the slope F of L along q at (qm, x) and D the
derivative of the exponential map (the identity, except for quaternions),

    M(qm) x = D(-h x) p + h/2 D(-h x/2) F,        p' = D(h x)^-1 (M(qm) x + h/2 D(h x/2) F).

Forces without potential enter F at the midpoint (J. E. Marsden and M. West, Discrete mechanics and variational
integrators, Acta Numerica 2001, and for groups J. E. Marsden, S. Pekarsky, S. Shkoller 1999). The first equation is
solved for x by substitution, which converges for small steps with a factor proportional to the step.
"""

from __future__ import annotations

import math

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar, select
from dalembert.errors import SingularityError
from dalembert.simulation.equations import StepperEquations
from dalembert.simulation.steppers.increments import exp_derivative, exp_derivative_inverse

SUBSTITUTIONS = 8
"""How often the velocity is substituted where it cannot be looked at, in compiled rollouts."""

SETTLED = 1e-2
"""Where the last of these changes the velocity by more than this fraction, the step is too large and gives NaN."""

MOST = 60
"""Substitutions after which a step that has not converged is given up."""


def variational(system: StepperEquations, t: Scalar, q: Array, v: Array, h: Scalar) -> tuple[Array, Array]:
    """One step.

    Args:
        system: the equations of motion.
        t: time.
        q: positions.
        v: velocities.
        h: length of the step, s.
    """
    half = h / 2
    p = system.momentum(q, v)
    x = v + half * system.acceleration(t, q, v)
    numeric = x.dtype != object
    before = np.inf
    for _ in range(MOST if numeric else SUBSTITUTIONS):
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
                f"the variational stepper did not converge in {MOST} substitutions; take a smaller step than {h:.3g} s"
            )
        moved, size = sum((x - last) ** 2), sum(x * x + v * v) + 1e-18  # (nm/s)^2: at rest there is only rounding
        doubt = select(moved <= SETTLED * SETTLED * size, 0, math.nan)
        step, mean = step + doubt, mean + doubt
    pushed = system.on_rotations(exp_derivative, half * x, half * F)
    p = system.on_rotations(exp_derivative_inverse, step, mean + pushed)
    q = system.normalised(system.displaced(q, step))  # rounding, which adds up in float32
    return q, system.velocity(q, p)
