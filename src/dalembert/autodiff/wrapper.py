"""What the wrappers for PyTorch and JAX have in common: functions, names, gradients with the shape of q.

Our derivative kernels differentiate along tangent vectors, of which a quaternion has three. Frameworks want gradients
with the shape of q, with four. The tangent vector of a change of the unit quaternion eta = [x, y, z, w] is

    delta = S(eta) d eta ,   S = 2 [ w 1 - e~ , -e ]     (FORBES, w_b = S qdot),

so a gradient along delta becomes S^T times it. That is the gradient of the function continued so that it does not
depend on the length of the quaternion.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, UnsupportedError


class DifferentiableDynamics(ABC):
    """Inverse and forward dynamics as differentiable functions of the arrays of a framework.

    Args:
        dynamics: the kernels, with or without constraints and force elements. Where only the state is an argument:
            without wrenches, and all its parameters with values; what depends on time is taken at t = 0.
    """

    takes_all = False
    """Whether wrenches, time and parameters are arguments, too."""

    def __init__(self, dynamics: Dynamics):
        if not isinstance(dynamics, Dynamics):
            raise ArgumentError(
                f"{type(self).__name__} takes a Dynamics, got a {type(dynamics).__name__}; a mechanism becomes one by "
                "Dynamics(mechanism)"
            )
        unset = [x for x, value in zip(dynamics.parameter_names, dynamics.parameter_values) if not np.isfinite(value)]
        if not self.takes_all and (unset or dynamics.wrenches):
            found = [f"parameter {x}" for x in unset] + [f"wrench on {x}" for x in dynamics.wrenches]
            raise ArgumentError(
                f"{type(self).__name__} takes a Dynamics without wrenches, all its parameters with values; this one "
                f"has {', '.join(found)}. Symbols get numbers by Dynamics(mechanism, parameters={{name: value}}), or "
                "when a mechanism is loaded, by parameters='default'"
            )
        self.dynamics = dynamics
        self._inverse = self._function("inverse_dynamics")
        self._forward = self._function("forward_dynamics")

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles hold the dynamics; functions of a framework belong to their process."""
        return type(self), (self.dynamics,)

    @abstractmethod
    def _function(self, quantity: str) -> Callable[..., Any]:
        """A quantity of three arguments as a function of the framework, with its derivatives."""

    def inverse_dynamics(self, q: Any, v: Any, a: Any, **rest: Any) -> Any:
        """Generalised forces; differentiable with respect to all arguments.

        Args:
            q: positions, (..., nq).
            v: velocities, (..., nv).
            a: accelerations, (..., nv).
            rest: for JAX ``wrenches`` (..., frames, 6), ``t`` (...) and ``parameters`` (..., k), as the kernel takes
                them.
        """
        return self._inverse(q, v, a, **rest)

    def forward_dynamics(self, q: Any, v: Any, tau: Any, **rest: Any) -> Any:
        """Accelerations; differentiable with respect to all arguments.

        Args:
            q: positions, (..., nq).
            v: velocities, (..., nv).
            tau: generalised forces, (..., nv).
            rest: as for :meth:`inverse_dynamics`.
        """
        return self._forward(q, v, tau, **rest)

    def _refuse_second(self, quantity: str) -> NoReturn:
        """Say that derivatives are not differentiated again, and what to do."""
        how = (
            "Dynamics.inverse_dynamics_hessian has second derivatives"
            if quantity == "inverse_dynamics"
            else "use finite differences of forward_dynamics_derivatives"
        )
        raise UnsupportedError(f"second derivatives of {quantity} through {type(self).__name__} do not exist; {how}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.dynamics.mechanism.name!r} on {self.dynamics.device}>"


def batch_shape(name: str, ports: Sequence[Any], arrays: Sequence[Any]) -> tuple[int, ...]:
    """The batch dimensions of arrays together; raises if they do not fit, or not the function.

    Args:
        arrays: what it was given for them.
    """
    own = [len(x.shape) - len(port.shape) for x, port in zip(arrays, ports)]
    for x, port, rank in zip(arrays, ports, own):
        if rank < 0 or tuple(x.shape[rank:]) != port.shape:
            core = ", ".join(map(str, ("...", *port.shape)))
            raise ArgumentError(f"{name}: {port.name} has shape {tuple(x.shape)}; expected ({core})")
    try:
        return np.broadcast_shapes(*(tuple(x.shape[:rank]) for x, rank in zip(arrays, own)))
    except ValueError as error:
        shapes = ", ".join(f"{port.name} {tuple(x.shape[:rank])}" for x, port, rank in zip(arrays, ports, own))
        raise ArgumentError(f"{name}: batch shapes do not fit together: {shapes}") from error


def operation_name(dynamics: Dynamics, quantity: str) -> str:
    """A name that distinguishes operations by what they compute, and where."""
    identity = (dynamics.key(quantity), str(dynamics.dtype), dynamics.device, dynamics.parameter_values.tolist())
    return f"{quantity}_{hashlib.sha256(repr(identity).encode()).hexdigest()[:16]}"


# -------------------------------------------------------------------------------------- gradients along tangent vectors
