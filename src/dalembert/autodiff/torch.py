"""Differentiable dynamics for PyTorch.

    functions = TorchDynamics(da.Dynamics(arm))
    tau = functions.inverse_dynamics(q, v, a)
    tau.square().sum().backward()

Forward values and derivatives come from our kernels; PyTorch sees one operation. Tensors stay where they are: CPU
tensors with ``Dynamics(arm)``, CUDA tensors with ``Dynamics(arm, device="cuda")``. Derivatives of derivatives are
refused.
"""

from __future__ import annotations

from typing import Any

from dalembert.autodiff.tangent import gradient
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, MissingExtraError


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("torch", "torch", "differentiable dynamics for PyTorch") from error
    return torch


class TorchDynamics:
    """Inverse and forward dynamics as differentiable functions of PyTorch tensors.

    Gradients with respect to a quaternion are those of the function continued to all lengths without depending on it.

    Args:
        dynamics: the kernels; without parameters and wrenches as inputs.
    """

    def __init__(self, dynamics: Dynamics):
        torch = _torch()
        if dynamics.parameter_names or dynamics.wrenches:
            raise ArgumentError("TorchDynamics takes a Dynamics without parameters and wrenches as inputs")
        self.dynamics = dynamics
        self._inverse = _function(torch, dynamics, "inverse_dynamics")
        self._forward = _function(torch, dynamics, "forward_dynamics")

    def inverse_dynamics(self, q: Any, v: Any, a: Any) -> Any:
        """Generalised forces; differentiable with respect to all arguments.

        Args:
            q: positions, (..., nq).
            v: velocities, (..., nv).
            a: accelerations, (..., nv).
        """
        return self._inverse.apply(q, v, a)

    def forward_dynamics(self, q: Any, v: Any, tau: Any) -> Any:
        """Accelerations; differentiable with respect to all arguments.

        Args:
            q: positions, (..., nq).
            v: velocities, (..., nv).
            tau: generalised forces, (..., nv).
        """
        return self._forward.apply(q, v, tau)

    def __repr__(self) -> str:
        return f"<TorchDynamics of {self.dynamics.mechanism.name!r} on {self.dynamics.device}>"


def _function(torch: Any, dynamics: Dynamics, quantity: str) -> Any:
    """The autograd function of a quantity of three arguments."""
    inverse = quantity == "inverse_dynamics"
    derivatives = "sensitivities" if inverse else "forward_dynamics_derivatives"

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, q: Any, v: Any, third: Any) -> Any:
            ctx.save_for_backward(q, v, third)
            return _call(torch, dynamics, quantity, q, v, third)[0]

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, above: Any) -> Any:
            q, v, third = ctx.saved_tensors
            found = _call(torch, dynamics, derivatives, q, v, third)
            by_q, by_v, by_third = (found[3], found[2], found[1]) if inverse else found
            pulled = [torch.einsum("...r,...rc->...c", above, matrix) for matrix in (by_q, by_v, by_third)]
            along_q = gradient(dynamics.mechanism, q.expand(*above.shape[:-1], q.shape[-1]), pulled[0], _stack(torch))
            grads = (along_q, pulled[1], pulled[2])
            return tuple(_summed(g, x) if x.requires_grad else None for g, x in zip(grads, (q, v, third)))

    Function.__name__ = quantity
    return Function


def _stack(torch: Any) -> Any:
    return lambda entries: torch.stack(entries, dim=-1)


def _call(torch: Any, dynamics: Dynamics, quantity: str, *tensors: Any) -> tuple[Any, ...]:
    kernel = dynamics.kernel(quantity)
    if dynamics.device == "cuda":
        result = kernel(*(x.detach() for x in tensors))
        return result if isinstance(result, tuple) else (result,)
    for x, port in zip(tensors, kernel.inputs):
        if x.device.type != "cpu":
            raise ArgumentError(f"{port.name} is on {x.device}; make the kernels with Dynamics(..., device='cuda')")
    result = kernel(*(x.detach().numpy() for x in tensors))
    return tuple(torch.from_numpy(y) for y in (result if isinstance(result, tuple) else (result,)))


def _summed(gradient: Any, argument: Any) -> Any:
    """A gradient summed over the batch dimensions in which its argument was broadcast."""
    while gradient.ndim > argument.ndim:
        gradient = gradient.sum(0)
    for k in range(gradient.ndim):
        if argument.shape[k] == 1 and gradient.shape[k] != 1:
            gradient = gradient.sum(k, keepdim=True)
    return gradient
