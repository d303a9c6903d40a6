"""The classical Runge-Kutta method of fourth order on the coordinates themselves; quaternions are normalised after each
step. Four evaluations; energy drifts with the fifth power of the step."""

from __future__ import annotations

from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.simulation.equations import StepperEquations


def runge_kutta_4(system: StepperEquations, t: Scalar, q: Array, v: Array, h: Scalar) -> tuple[Array, Array]:
    """One step."""
    half = h / 2
    q1, v1 = system.rate(t, q, v), system.acceleration(t, q, v)
    qa, va = q + half * q1, v + half * v1
    q2, v2 = system.rate(t + half, qa, va), system.acceleration(t + half, qa, va)
    qb, vb = q + half * q2, v + half * v2
    q3, v3 = system.rate(t + half, qb, vb), system.acceleration(t + half, qb, vb)
    qc, vc = q + h * q3, v + h * v3
    q4, v4 = system.rate(t + h, qc, vc), system.acceleration(t + h, qc, vc)
    sixth = h / 6
    q = q + sixth * (q1 + 2 * (q2 + q3) + q4)
    return system.normalised(q), v + sixth * (v1 + 2 * (v2 + v3) + v4)
