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
from dalembert.model import Mechanism


class DifferentiableDynamics(ABC):
    """Inverse and forward dynamics as differentiable functions of the arrays of a framework.

    Args:
        dynamics: the kernels, with or without constraints and force elements; without wrenches, and all its parameters
            with values. What depends on time is taken at t = 0.
    """

    def __init__(self, dynamics: Dynamics):
        if not isinstance(dynamics, Dynamics):
            raise ArgumentError(
                f"{type(self).__name__} takes a Dynamics, got a {type(dynamics).__name__}; a mechanism becomes one by "
                "Dynamics(mechanism)"
            )
        unset = [x for x, value in zip(dynamics.parameter_names, dynamics.parameter_values) if not np.isfinite(value)]
        if unset or dynamics.wrenches:
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
    for x, port in zip(arrays, ports):
        if tuple(x.shape[-1:]) != port.shape:
            raise ArgumentError(f"{name}: {port.name} has shape {tuple(x.shape)}; expected (..., {port.shape[0]})")
    try:
        return np.broadcast_shapes(*(tuple(x.shape[:-1]) for x in arrays))
    except ValueError as error:
        shapes = ", ".join(f"{port.name} {tuple(x.shape[:-1])}" for x, port in zip(arrays, ports))
        raise ArgumentError(f"{name}: batch shapes do not fit together: {shapes}") from error


def operation_name(dynamics: Dynamics, quantity: str) -> str:
    """A name that distinguishes operations by what they compute, and where."""
    identity = (dynamics.key(quantity), str(dynamics.dtype), dynamics.device, dynamics.parameter_values.tolist())
    return f"{quantity}_{hashlib.sha256(repr(identity).encode()).hexdigest()[:16]}"


# -------------------------------------------------------------------------------------- gradients along tangent vectors


def quaternions(mechanism: Mechanism) -> list[tuple[int, int]]:
    """(index in q, index in v) of the first entry of every quaternion and of its angular velocity."""
    return [(link.q, link.v) for link in mechanism.tree.links if link.kind == "spherical"]


def coordinate_pairs(mechanism: Mechanism) -> list[tuple[int, int]]:
    """(index in q, index in v) of every coordinate that is its own tangent."""
    found = {(link.q, link.v) for link in mechanism.tree.links if link.kind != "spherical"}
    return sorted(found)


def gradient(mechanism: Mechanism, q: Any, along: Any, stack: Any) -> Any:
    """Gradient with respect to q from the gradient along tangent vectors.

    Args:
        mechanism: gives the layout of q and v.
        q: positions, (..., nq).
        along: gradient along tangent vectors, (..., nv).
        stack: the framework's function that stacks a list of arrays along the last axis.
    """
    entries: list[Any] = [None] * mechanism.nq
    for i, k in coordinate_pairs(mechanism):
        entries[i] = along[..., k]
    for i, k in quaternions(mechanism):
        x, y, z, w = (q[..., i + n] for n in range(4))
        a, b, c = (2 * along[..., k + n] for n in range(3))
        entries[i : i + 4] = [
            w * a - z * b + y * c,
            z * a + w * b - x * c,
            -y * a + x * b + w * c,
            -(x * a + y * b + z * c),
        ]
    return stack(entries)


def tangent(mechanism: Mechanism, q: Any, change: Any, stack: Any) -> Any:
    """The tangent vector of a change of q: the transpose of :func:`gradient`.

    Args:
        mechanism: gives the layout of q and v.
        q: positions, (..., nq).
        change: of q, (..., nq).
        stack: the framework's function that stacks a list of arrays along the last axis.
    """
    entries: list[Any] = [None] * mechanism.nv
    for i, k in coordinate_pairs(mechanism):
        entries[k] = change[..., i]
    for i, k in quaternions(mechanism):
        x, y, z, w = (q[..., i + n] for n in range(4))
        a, b, c, d = (2 * change[..., i + n] for n in range(4))
        entries[k : k + 3] = [
            w * a + z * b - y * c - x * d,
            -z * a + w * b + x * c - y * d,
            y * a - x * b + w * c - z * d,
        ]
    return stack(entries)
