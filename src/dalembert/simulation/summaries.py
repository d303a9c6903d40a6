"""What is kept of a quantity along a motion whose steps are not: its extremes, its last value, its integral."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.arrays import Array
from dalembert.simulation.equations import TracedEquations


@dataclass(frozen=True, eq=False)
class SummaryStep:
    """A quantity along one step.

    Args:
        quantity: ``quantity(t, q, v)`` over traced scalars.
        equations: of motion, under the forces of this step.
        order: of the method.
        h: length of the step.
        begin: time and state before it.
        end: time and state after it.
    """

    quantity: Callable[[Any, Any, Any], Any]
    equations: TracedEquations
    order: int
    h: Any
    begin: tuple[Any, Array, Array]
    end: tuple[Any, Array, Array]

    def after(self) -> Any:
        """Its value after the step."""
        return self.quantity(*self.end)

    def integral(self) -> Any:
        """Its integral over the step, to the order of the method: by trapezia, or by Simpson's rule."""
        outer = self.quantity(*self.begin) + self.quantity(*self.end)
        if self.order <= 2:
            return self.h * outer / 2
        return self.h * (outer + 4 * self.quantity(*self._middle())) / 6

    def _middle(self) -> tuple[Any, Array, Array]:
        """The state half-way, by the cubic polynomial through both ends with their derivatives: exact to h^4."""
        (t0, q0, v0), (t1, q1, v1), own, h = self.begin, self.end, self.equations, self.h
        q = (q0 + q1) / 2 + h / 8 * (own.rate(t0, q0, v0) - own.rate(t1, q1, v1))
        v = (v0 + v1) / 2 + h / 8 * (own.acceleration(t0, q0, v0) - own.acceleration(t1, q1, v1))
        return (t0 + t1) / 2, own.normalised(q), v


def _larger(a: Any, b: Any) -> Any:
    return scalar.select(a < b, b, a)


SUMMARIES: dict[str, tuple[float, Callable[[Any, SummaryStep], Any]]] = {
    "max": (-np.inf, lambda old, step: _larger(old, step.after())),
    "min": (np.inf, lambda old, step: -_larger(-old, -step.after())),
    "integral": (0.0, lambda old, step: old + step.integral()),
    "last": (np.nan, lambda old, step: step.after()),
}
"""What can be kept of a quantity along a motion: its value before the first step, and its update by a step."""
