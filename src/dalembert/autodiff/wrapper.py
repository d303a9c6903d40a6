"""What the wrappers for PyTorch and JAX have in common: their two functions, and what they take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError


class DifferentiableDynamics(ABC):
    """Inverse and forward dynamics as differentiable functions of the arrays of a framework.

    Args:
        dynamics: the kernels; without parameters and wrenches as inputs.
    """

    def __init__(self, dynamics: Dynamics):
        if dynamics.parameter_names or dynamics.wrenches:
            raise ArgumentError(f"{type(self).__name__} takes a Dynamics without parameters and wrenches as inputs")
        self.dynamics = dynamics
        self._inverse = self._function("inverse_dynamics")
        self._forward = self._function("forward_dynamics")

    @abstractmethod
    def _function(self, quantity: str) -> Callable[..., Any]:
        """A quantity of three arguments as a function of the framework, with its derivatives."""

    def inverse_dynamics(self, q: Any, v: Any, a: Any) -> Any:
        """Generalised forces; differentiable with respect to all arguments.

        Args:
            q: positions, (..., nq).
            v: velocities, (..., nv).
            a: accelerations, (..., nv).
        """
        return self._inverse(q, v, a)

    def forward_dynamics(self, q: Any, v: Any, tau: Any) -> Any:
        """Accelerations; differentiable with respect to all arguments.

        Args:
            q: positions, (..., nq).
            v: velocities, (..., nv).
            tau: generalised forces, (..., nv).
        """
        return self._forward(q, v, tau)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.dynamics.mechanism.name!r} on {self.dynamics.device}>"
