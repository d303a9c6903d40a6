"""Steppers of fixed step, each written once for traced and numeric scalars: (q, v) at t -> (q, v) at t + h."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dalembert.algebra.arrays import Array
from dalembert.simulation.steppers.lie_runge_kutta import lie_runge_kutta_4
from dalembert.simulation.steppers.runge_kutta import runge_kutta_4
from dalembert.simulation.steppers.semi_implicit_euler import semi_implicit_euler
from dalembert.simulation.steppers.variational import variational


@dataclass(frozen=True)
class Stepper:
    """A method of fixed step.

    Args:
        step: ``step(equations, t, q, v, h) -> (q, v)``.
        order: of the global error.
        summary: what it is good for.
    """

    step: Callable[..., tuple[Array, Array]]
    order: int
    summary: str


STEPPERS = {
    "semi-implicit-euler": Stepper(semi_implicit_euler, 1, "one evaluation a step; robust, coarse"),
    "rk4": Stepper(runge_kutta_4, 4, "classical; the usual choice for batches"),
    "lie-rk4": Stepper(lie_runge_kutta_4, 4, "as rk4, on the group of rotations"),
    "variational": Stepper(variational, 2, "symplectic: bounded energy error in arbitrarily long runs; implicit"),
}
"""Every stepper by name."""

__all__ = ["STEPPERS", "Stepper"]
