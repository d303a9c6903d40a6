"""Semi-implicit Euler: the new velocity moves the position. First order, one evaluation; what MuJoCo calls ``Euler``.

Symplectic, and so without energy drift, only where the mass matrix is constant.
"""

from __future__ import annotations

from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.simulation.equations import StepperEquations


def semi_implicit_euler(system: StepperEquations, t: Scalar, q: Array, v: Array, h: Scalar) -> tuple[Array, Array]:
    """One step."""
    v = v + h * system.acceleration(t, q, v)
    return system.normalised(system.displaced(q, h * system.tangent(t, q, v))), v
