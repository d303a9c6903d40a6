"""Runge-Kutta-Munthe-Kaas method of fourth order: the classical method on tangent vectors of the initial position.

Quaternions keep their unit length but for rounding, which is taken away after each step. The tangent vector u of
q = q0 (*) exp(u) changes at the rate D(-u)^-1 w = w + u x w/2 + u x (u x w)/12 + ..., of which fourth order needs no
more (H. Munthe-Kaas, High order Runge-Kutta methods on manifolds, Appl. Numer. Math. 29, 1999).
"""

from __future__ import annotations

from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross
from dalembert.simulation.equations import StepperEquations


def lie_runge_kutta_4(system: StepperEquations, t: Scalar, q: Array, v: Array, h: Scalar) -> tuple[Array, Array]:
    """One step."""
    half = h / 2

    def slopes(s: Scalar, u: Array, w: Array) -> tuple[Array, Array]:
        here = system.displaced(q, u)
        return system.on_rotations(_rate, u, system.tangent(s, here, w)), system.acceleration(s, here, w)

    u1, v1 = system.tangent(t, q, v), system.acceleration(t, q, v)
    u2, v2 = slopes(t + half, half * u1, v + half * v1)
    u3, v3 = slopes(t + half, half * u2, v + half * v2)
    u4, v4 = slopes(t + h, h * u3, v + h * v3)
    sixth = h / 6
    step = sixth * (u1 + 2 * (u2 + u3) + u4)
    return system.normalised(system.displaced(q, step)), v + sixth * (v1 + 2 * (v2 + v3) + v4)


def _rate(u: Array, w: Array) -> Array:
    turned = cross(u, w)
    return w + turned / 2 + cross(u, turned) / 12
