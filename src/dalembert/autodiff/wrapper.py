"""What the wrappers for PyTorch and JAX have in common: functions, their arguments, and the programs behind them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.autodiff.program import DifferentiableProgram
from dalembert.cached import cached_property
from dalembert.dynamics import Dynamics, KernelTable
from dalembert.errors import ArgumentError

REST = ("wrenches", "t", "parameters")
"""QuantityInputs after the state, which are passed by name."""


class DifferentiableDynamics(ABC):
    """Inverse and forward dynamics, and every other quantity, as differentiable functions of the arrays of a framework.

    Args:
        dynamics: the kernels, with or without constraints and force elements. What they were made with - wrenches,
            time, parameters - are arguments.
    """

    def __init__(self, dynamics: Dynamics):
        if not isinstance(dynamics, KernelTable):
            raise ArgumentError(
                f"{type(self).__name__} takes a Dynamics, got a {type(dynamics).__name__}; a mechanism becomes one by "
                "Dynamics(mechanism)"
            )
        self.dynamics = dynamics
        self._inverse = self._function("inverse_dynamics")
        if not (dynamics.acting["contacts"] or dynamics.acting["limits"]):  # of which forward dynamics warn
            self._forward  # noqa: B018 - made now, for functions that PyTorch compiles cannot make it

    @cached_property
    def _forward(self) -> Callable[..., Any]:
        """Forward dynamics, made when they are asked for: they warn of open contacts."""
        return self._function("forward_dynamics")

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles hold the dynamics; functions of a framework belong to their process."""
        return type(self), (self.dynamics,)

    @abstractmethod
    def _function(self, quantity: str, **options: Any) -> Callable[..., Any]:
        """A quantity as a function of the framework, with its derivatives."""

    def inverse_dynamics(self, q: Any, v: Any, a: Any, **rest: Any) -> Any:
        """Generalised forces; differentiable with respect to all arguments.

        Args:
            rest: ``wrenches`` (..., frames, 6), ``t`` (...) and ``parameters`` (..., k), as the kernel takes them.
        """
        return self._inverse(q, v, a, **rest)

    def forward_dynamics(self, q: Any, v: Any, tau: Any, **rest: Any) -> Any:
        """Accelerations; differentiable with respect to all arguments.

        Args:
            tau: generalised forces, (..., nv).
            rest: as for :meth:`inverse_dynamics`.
        """
        return self._forward(q, v, tau, **rest)

    def quantity(self, name: str, **options: Any) -> Any:
        """Any quantity of the dynamics as a differentiable function of arrays; wrenches, ``t`` and ``parameters`` are
        passed by name.

        Args:
            name: of the quantity, see :meth:`~dalembert.dynamics.Dynamics.kernel`.
            options: of the quantity, such as ``frame``.
        """
        return self._function(name, **options)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.dynamics.mechanism.name!r} on {self.dynamics.device}>"


class QuantityInputs:
    """What a function of a quantity takes: the state by position, the rest by name."""

    def __init__(self, quantity: str, kernel: Any):
        self.quantity, self.ports, self._arguments = quantity, kernel.inputs, kernel.arguments
        self.state = [port for port in self.ports if port.name not in REST]
        self._defaults = dict(zip((port.name for port in self.ports[::-1]), kernel.arguments.tail[::-1]))

    def ordered(self, arrays: Sequence[Any], rest: dict[str, Any]) -> list[Any]:
        """All inputs in order, with defaults where they are left out.

        Args:
            arrays: what was given by position.
            rest: what was given by name.
        """
        named = [port.name for port in self.ports if port.name in REST]
        if unknown := [name for name in rest if name not in named]:
            takes = ", ".join(named) or "none"
            raise ArgumentError(f"{self.quantity} has no input {unknown[0]!r} to name; it takes {takes}")
        if len(arrays) != len(self.state):
            names = ", ".join(port.name for port in self.state)
            raise ArgumentError(f"{self.quantity} takes {names}, then by name the others; got {len(arrays)} arrays")
        given = [*arrays]
        for name in named:
            value = rest.get(name)
            if value is None and name not in self._defaults:
                hint = self._arguments.hints.get(name, "")
                raise ArgumentError(f"{self.quantity} needs {name}: {hint}".rstrip(": "))
            given.append(self._defaults[name] if value is None else value)
        return given


def differentiable(dynamics: Dynamics, quantity: str, options: dict[str, Any]) -> DifferentiableProgram:
    """A quantity with its derivatives; remembered by the dynamics."""
    chosen = dynamics.quantity(quantity).chosen(quantity, options)
    found: DifferentiableProgram = dynamics.remembered(_differentiable, quantity, tuple(chosen.items()))
    return found


def _differentiable(dynamics: Dynamics, quantity: str, options: tuple[tuple[str, Any], ...]) -> DifferentiableProgram:
    kernel, key = dynamics.kernel(quantity, **dict(options)), dynamics.key(quantity, **dict(options))
    return DifferentiableProgram(
        quantity, kernel.inputs, kernel.outputs, lambda: kernel.program, key, dynamics.dtype, dynamics.device,
        kernel=kernel,
    )  # fmt: skip


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
