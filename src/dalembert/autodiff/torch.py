"""Differentiable dynamics for PyTorch.

    functions = TorchDynamics(da.Dynamics(arm))
    tau = functions.inverse_dynamics(q, v, a)
    tau.square().sum().backward()

Forward values and derivatives come from our kernels; PyTorch sees one operation, under ``torch.compile`` and the
transformations of ``torch.func`` (``vmap``, ``grad``, ``jvp``, ``jacrev``, ...) too. Tensors stay where they are: CPU
tensors with ``Dynamics(arm)``, CUDA tensors, on the caller's stream, with ``Dynamics(arm, device="cuda")``. Derivatives
of derivatives are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from dalembert.autodiff.wrapper import DifferentiableDynamics, batch_shape, operation_name
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, MissingExtraError
from dalembert.kinematics.gradients import gradient, tangent


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("torch", "torch", "differentiable dynamics for PyTorch") from error
    return torch


class TorchDynamics(DifferentiableDynamics):
    """Inverse and forward dynamics as differentiable functions of PyTorch tensors.

    Gradients with respect to a quaternion are those of the function continued to all lengths without depending on it.

    Args:
        dynamics: the kernels; without wrenches, all parameters with values.
    """

    def _function(self, quantity: str) -> Any:
        torch = _torch()
        kernel = self.dynamics.kernel(quantity)
        compiled, rule = _operations(torch, self.dynamics, quantity, lambda: self._refuse_second(quantity))

        def function(*tensors: Any) -> Any:
            if torch.compiler.is_compiling():
                if torch.autograd.forward_ad._current_level < 0:
                    return compiled(*tensors)
                torch._dynamo.graph_break("derivatives in forward mode are taken outside")  # inside, they would be zero
            for x, port in zip(tensors, kernel.inputs):
                if not isinstance(x, torch.Tensor):
                    raise ArgumentError(
                        f"{quantity}: {port.name} is a {type(x).__name__}; TorchDynamics takes tensors: "
                        f"torch.as_tensor({port.name})"
                    )
                if x.is_complex():
                    raise ArgumentError(f"{quantity}: {port.name} has dtype {x.dtype}; it must be real numbers")
            batch_shape(quantity, kernel.inputs, tensors)
            return rule.apply(*tensors)

        return function


_registered: dict[str, Any] = {}
"""Operations that PyTorch knows, by name: it keeps them for the life of the process, and takes each name once."""


def _operation(torch: Any, dynamics: Dynamics, quantity: str) -> Any:
    """A quantity of three arguments as an operation of PyTorch, without derivatives."""
    name = f"dalembert::{operation_name(dynamics, quantity)}"
    if name in _registered:
        return _registered[name]
    kernel = dynamics.kernel(quantity)

    def run(q: Any, v: Any, third: Any) -> Any:
        return _whole(_call(torch, dynamics, kernel, q, v, third))

    def fake(q: Any, v: Any, third: Any) -> Any:
        return _whole(_empty(torch, dynamics, kernel, q, v, third))

    def batched(info: Any, dims: Any, *tensors: Any) -> Any:
        return _batched(made, dims, tensors)

    results = ", ".join("Tensor" for _ in kernel.outputs)
    schema = f"(Tensor q, Tensor v, Tensor third) -> {results if len(kernel.outputs) == 1 else f'({results})'}"
    made = torch.library.custom_op(name, run, mutates_args=(), schema=schema)
    made.register_fake(fake)
    made.register_vmap(batched)
    _registered[name] = made
    return made


def _batched(function: Any, dims: Any, tensors: Any) -> Any:
    """A function of tensors on one more dimension, the first of all results; ``dims`` says where arguments have it."""
    moved = [x if d is None else x.movedim(d, 0) for x, d in zip(tensors, dims)]
    rank = max(x.ndim + (d is None) for x, d in zip(moved, dims))
    result = function(
        *(x if d is None else x.reshape(x.shape[0], *(1,) * (rank - x.ndim), *x.shape[1:]) for x, d in zip(moved, dims))
    )
    return result, tuple(0 for _ in result) if isinstance(result, tuple) else 0


def _operations(torch: Any, dynamics: Dynamics, quantity: str, refuse: Callable[[], NoReturn]) -> tuple[Any, Any]:
    """A quantity of three arguments with its derivatives, twice.

    An operation, which ``torch.compile`` captures, and a rule, which all transformations of ``torch.func`` understand:
    they pass operations by, and forward mode would find no derivatives.

    Args:
        refuse: called for derivatives of derivatives.
    """
    inverse = quantity == "inverse_dynamics"
    value = _operation(torch, dynamics, quantity)
    slopes = _operation(torch, dynamics, "sensitivities" if inverse else "forward_dynamics_derivatives")
    mechanism = dynamics.mechanism

    def stack(entries: Any) -> Any:
        return torch.stack(entries, dim=-1)

    def ordered(found: Any) -> tuple[Any, Any, Any]:
        """Derivatives with respect to q, v and the third argument."""
        return (found[3], found[2], found[1]) if inverse else found

    def pulled(ctx: Any, above: Any, derivatives: Any) -> Any:
        q, v, third = ctx.saved_tensors
        along = [_pulled(torch, above, matrix) for matrix in ordered(derivatives(q, v, third))]
        wide = q.expand(*above.shape[:-1], q.shape[-1])
        grads = (gradient(mechanism.tree, wide, along[0], stack), along[1], along[2])
        return tuple(
            _summed(g, x) if needed else None for g, x, needed in zip(grads, (q, v, third), ctx.needs_input_grad)
        )

    class Slopes(torch.autograd.Function):
        """The derivatives, which have none themselves."""

        @staticmethod
        def forward(q: Any, v: Any, third: Any) -> Any:
            return slopes(q, v, third)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, dims: Any, *tensors: Any) -> Any:
            return _batched(Slopes.apply, dims, tensors)

        @staticmethod
        def backward(ctx: Any, *above: Any) -> Any:
            refuse()

        @staticmethod
        def jvp(ctx: Any, *changes: Any) -> Any:
            refuse()

    class Rule(torch.autograd.Function):
        """The value, with its derivatives in both directions."""

        @staticmethod
        def forward(q: Any, v: Any, third: Any) -> Any:
            return value(q, v, third)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def vmap(info: Any, dims: Any, *tensors: Any) -> Any:
            return _batched(Rule.apply, dims, tensors)

        @staticmethod
        def backward(ctx: Any, above: Any) -> Any:
            return pulled(ctx, above, Slopes.apply)

        @staticmethod
        def jvp(ctx: Any, *changes: Any) -> Any:
            q, v, third = ctx.saved_tensors
            along = None if changes[0] is None else tangent(mechanism.tree, q, changes[0], stack)
            parts = zip(ordered(Slopes.apply(q, v, third)), (along, *changes[1:]))
            return sum(_product(torch, m, x.unsqueeze(-1).to(m.dtype)).squeeze(-1) for m, x in parts if x is not None)

    value.register_autograd(
        lambda ctx, above: pulled(ctx, above, slopes),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    return value, Rule


def _whole(results: tuple[Any, ...]) -> Any:
    return results[0] if len(results) == 1 else results


def _empty(torch: Any, dynamics: Dynamics, kernel: Any, *tensors: Any) -> tuple[Any, ...]:
    """Tensors of the shape and type of the results."""
    for x, port in zip(tensors, kernel.inputs):
        if x.device.type != tensors[0].device.type:  # PyTorch asks for the shape alone if one of them has no numbers
            raise ArgumentError(
                f"{kernel.name}: {port.name} is on {x.device}, {kernel.inputs[0].name} on {tensors[0].device}"
            )
        if x.shape[-1:] != port.shape:
            raise ArgumentError(
                f"{kernel.name}: {port.name} has shape {tuple(x.shape)}; expected (..., {port.shape[0]})"
            )
    dtype = _dtype(torch, dynamics, tensors)
    batch = tensors[0].shape[:-1]
    if any(x.shape[:-1] != batch for x in tensors):  # finding it is slow
        batch = torch.broadcast_shapes(*(x.shape[:-1] for x in tensors))
    return tuple(tensors[0].new_empty((*batch, *port.shape), dtype=dtype) for port in kernel.outputs)


def _dtype(torch: Any, dynamics: Dynamics, tensors: Sequence[Any]) -> Any:
    """In which precision a function computes: that of the kernels, or of its arguments; float32 at least."""
    if dynamics.dtype is not None:
        return torch.float32 if np.dtype(dynamics.dtype) == np.float32 else torch.float64
    given = [x.dtype for x in tensors if x.is_floating_point()]
    return torch.float32 if given and torch.float64 not in given else torch.float64


def _call(torch: Any, dynamics: Dynamics, kernel: Any, *tensors: Any) -> tuple[Any, ...]:
    """The results, in memory of PyTorch: it may be recording a CUDA graph."""
    wanted = "cuda" if dynamics.device == "cuda" else "cpu"
    for x, port in zip(tensors, kernel.inputs):
        if x.device.type != wanted:
            kinds = {y.device.type for y in tensors}  # kernels can be made only where all tensors are
            make = f", or make them with Dynamics(..., device={x.device.type!r})" if len(kinds) == 1 else ""
            make = make if kinds <= {"cpu", "cuda"} else ""
            raise ArgumentError(
                f"{port.name} is on {x.device}, the kernels are for {wanted}: move it with .to({wanted!r}){make}"
            )
    results = _empty(torch, dynamics, kernel, *tensors)
    given = [x.detach().to(results[0].dtype) for x in tensors]  # NumPy and CuPy do not know all types of PyTorch
    if wanted == "cuda":
        kernel(*given, out=results)
    else:
        kernel(*(x.numpy() for x in given), out=tuple(y.numpy() for y in results))
    return results


def _pulled(torch: Any, above: Any, matrix: Any) -> Any:
    """above^T matrix, state by state. Libraries of a device are slow for many small matrices."""
    if above.is_cuda:
        return (above.unsqueeze(-1) * matrix).sum(-2)
    return _product(torch, above.unsqueeze(-2), matrix).squeeze(-2)


def _product(torch: Any, a: Any, b: Any) -> Any:
    """a b in the precision of both, also where ``autocast`` shortens the numbers of all products of matrices."""
    with torch.autocast(a.device.type, enabled=False):
        return a @ b


def _summed(gradient: Any, argument: Any) -> Any:
    """A gradient summed over the batch dimensions in which its argument was broadcast."""
    while gradient.ndim > argument.ndim:
        gradient = gradient.sum(0)
    for k in range(gradient.ndim):
        if argument.shape[k] == 1 and gradient.shape[k] != 1:
            gradient = gradient.sum(k, keepdim=True)
    return gradient.to(argument.dtype)
