"""Differentiable dynamics for PyTorch.

    functions = TorchDynamics(da.Dynamics(arm, parameters=["hand.mass"]))
    a = functions.forward_dynamics(q, v, tau, parameters=masses)
    a.square().sum().backward()

Our programs and their derivatives, which are programs again, are operations of PyTorch: under ``backward`` and double
backward, under ``torch.compile`` and the transformations of ``torch.func`` (``vmap``, ``grad``, ``jvp``, ``hessian``,
...). Tensors stay where they are: CPU tensors with ``Dynamics(arm)``, CUDA tensors, on the caller's stream, with
``Dynamics(arm, device="cuda")``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.autodiff.program import DifferentiableProgram
from dalembert.autodiff.wrapper import REST, DifferentiableDynamics, QuantityInputs, batch_shape, differentiable
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, MissingExtraError, UnsupportedError
from dalembert.kinematics.manifold import quaternion_places


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("torch", "torch", "differentiable dynamics for PyTorch") from error
    return torch


class TorchDynamics(DifferentiableDynamics):
    """Inverse and forward dynamics, and every other quantity, as differentiable functions of PyTorch tensors, of any
    order.

    Wrenches, time and parameters are differentiable as well. Gradients with respect to a quaternion are those of the
    function continued to all lengths without depending on it.
    """

    def _function(self, quantity: str, **options: Any) -> Any:
        torch, dynamics = _torch(), self.dynamics
        inputs = QuantityInputs(quantity, dynamics.kernel(quantity, **options))
        ports, count = inputs.ports, len(inputs.state)
        program = differentiable(dynamics, quantity, options)
        places = quaternion_places(dynamics.mechanism.tree) if ports[0].name == "q" else []

        def function(*arrays: Any, **rest: Any) -> Any:
            captured = torch.compiler.is_compiling()
            if captured and torch.autograd.forward_ad._current_level >= 0:
                captured = False  # derivatives of operations in forward mode would be zero
                torch._dynamo.graph_break("derivatives in forward mode are taken outside")
            given = inputs.ordered(arrays, rest)
            for x, port in zip(given[:count], ports):
                if not isinstance(x, torch.Tensor):
                    raise ArgumentError(
                        f"{quantity}: {port.name} is a {type(x).__name__}; TorchDynamics takes tensors: "
                        f"torch.as_tensor({port.name})"
                    )
            here = given[0].device
            given = [x if isinstance(x, torch.Tensor) else torch.as_tensor(x, device=here) for x in given]
            for x, port in zip(given, ports):
                if x.is_complex():
                    raise ArgumentError(f"{quantity}: {port.name} has dtype {x.dtype}; it must be real numbers")
            _check_devices(dynamics.device, ports, given)
            batch = batch_shape(quantity, ports, given)
            dtype = _dtype(torch, dynamics, given[:count])
            # Of one rank, for vmap puts its dimension before all others.
            wide = [
                x.to(dtype).reshape((1,) * (len(batch) + len(port.shape) - x.ndim) + tuple(x.shape))
                for x, port in zip(given, ports)
            ]
            if places:
                wide[0] = _of_unit_length(torch, wide[0], places)
            results = _operation(torch, program)(*wide) if captured else _rule(torch, program).apply(*wide)
            return results[0] if len(results) == 1 else tuple(results)

        return function

    def rollout(
        self,
        q0: Any,
        v0: Any,
        control: Any = None,
        *,
        steps: int,
        step: float = 1e-3,
        method: str = "rk4",
        every: int = 1,
        wrenches: Any = None,
        parameters: Any = None,
    ) -> tuple[Any, Any]:
        """Positions and velocities of motions of fixed step, differentiable once, backward, by all tensors.

        See :class:`~dalembert.autodiff.rollout.DifferentiableRollout`, which does the work, in float64.

        Args:
            q0: initial positions, (..., nq).
            v0: initial velocities, (..., nv).
            control: generalised forces, (..., steps, nv), or (..., 1, nv) for constant ones; zero by default.
            step: length of a step, s.
            method: of fixed step, see :func:`~dalembert.simulation.rollout`.
            every: steps from record to record.
            wrenches: constant wrenches, (..., frames, 6), if the dynamics have any.
            parameters: values of the parameters, (..., k); by default those that the dynamics were made with.
        """
        from dalembert.autodiff.rollout import DifferentiableRollout

        torch = _torch()
        motion = DifferentiableRollout(self.dynamics, steps, step, method, every)
        given = {"q0": q0, "v0": v0, "control": control, "wrenches": wrenches, "parameters": parameters}
        given = {name: x for name, x in given.items() if x is not None}
        for name, x in given.items():
            if not isinstance(x, torch.Tensor):
                raise ArgumentError(
                    f"{{argument}} is a {type(x).__name__}; TorchDynamics takes tensors: torch.as_tensor({name})",
                    argument=name,
                )
            if x.device.type != self.dynamics.device:
                raise ArgumentError(
                    f"{{argument}} is on {x.device}, the rollout is computed on {self.dynamics.device}: move it with "
                    f".to({self.dynamics.device!r})",
                    argument=name,
                )
        cores = {"control": 2, "wrenches": 2}
        rank = len(motion.batch(given))
        # Of one rank, for vmap puts its dimension before all others.
        wide = [
            x.double().reshape((1,) * (rank + cores.get(name, 1) - x.ndim) + tuple(x.shape))
            for name, x in given.items()
        ]
        return _rollout(torch, motion, tuple(given), wide)


def _of_unit_length(torch: Any, q: Any, places: Sequence[int]) -> Any:
    """Positions with unit quaternions: where they are not, what is computed must not depend on it, nor derivatives."""
    parts, end = [], 0
    for k in sorted(places):
        eta = q[..., k : k + 4]
        parts += [q[..., end:k], eta / torch.linalg.vector_norm(eta, dim=-1, keepdim=True)]
        end = k + 4
    return torch.cat([*parts, q[..., end:]], dim=-1)


def _dtype(torch: Any, dynamics: Dynamics, tensors: Sequence[Any]) -> Any:
    """In which precision a function computes: that of the kernels, or of its arguments; float32 at least."""
    if dynamics.dtype is not None:
        return torch.float32 if np.dtype(dynamics.dtype) == np.float32 else torch.float64
    given = [x.dtype for x in tensors if x.is_floating_point()]
    return torch.float32 if given and torch.float64 not in given else torch.float64


def _check_devices(device: str, ports: Sequence[Any], tensors: Sequence[Any]) -> None:
    """Raise if a tensor is not where the kernels compute."""
    wanted = "cuda" if device == "cuda" else "cpu"
    kinds = {x.device.type for x in tensors}
    if kinds in ({wanted}, {"meta"}):  # of the latter PyTorch asks for shapes alone
        return
    port, x = next((port, x) for port, x in zip(ports, tensors) if x.device.type != wanted)
    # Kernels can be made only where all tensors are.
    make = f", or make them with Dynamics(..., device={x.device.type!r})" if len(kinds) == 1 else ""
    make = make if kinds <= {"cpu", "cuda"} else ""
    raise ArgumentError(
        f"{port.name} is on {x.device}, the kernels are for {wanted}: move it with .to({wanted!r}){make}"
    )


# ----------------------------------------------------------------------------------------------------------- operations


_registered: dict[str, Any] = {}
"""Operations that PyTorch knows, by name: it keeps them for the life of the process, and takes each name once."""


def _operation(torch: Any, program: DifferentiableProgram) -> Any:
    """A program as an operation of PyTorch, which ``torch.compile`` captures, with derivatives backward.

    All inputs have one precision and one number of batch dimensions; the result is a tuple.
    """
    if (known := program.rules.get("torch operation")) is not None:
        return known
    name = f"dalembert::{program.name}_{program.identity}"
    if name not in _registered:
        _registered[name] = _register(torch, program, name)
    made, one = _registered[name], len(program.outputs) == 1
    program.rules["torch operation"] = (lambda *tensors: (made(*tensors),)) if one else made
    return program.rules["torch operation"]


def _register(torch: Any, program: DifferentiableProgram, name: str) -> Any:
    one = len(program.outputs) == 1

    def results(tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Tensors of PyTorch for the results: it may be recording a CUDA graph, so that memory must be its own."""
        batch = _batch(program, tensors)
        return tuple(tensors[0].new_empty((*batch, *port.shape)) for port in program.outputs)

    def run(*tensors: Any) -> Any:
        found, given = results(tensors), [x.detach() for x in tensors]
        if program.device == "cuda":
            program.kernel(*given, out=found)
        else:
            program.kernel(*(x.numpy() for x in given), out=tuple(y.numpy() for y in found))
        return found[0] if one else found

    def fake(*tensors: Any) -> Any:
        found = results(tensors)
        return found[0] if one else found

    def batched(info: Any, dims: Any, *tensors: Any) -> Any:
        found = made(*_in_front(tensors, dims))
        return found, 0 if one else tuple(0 for _ in found)

    def back(ctx: Any, *above: Any) -> Any:
        x = ctx.saved_tensors
        weights = [
            x[0].new_zeros((*_batch(program, x), *port.shape)) if w is None else w
            for port, w in zip(program.outputs, above)
        ]
        return _pulled(program, x, weights, ctx.needs_input_grad, lambda below: _operation(torch, below))

    names = ", ".join(f"Tensor x{k}" for k in range(len(program.inputs)))
    kinds = "Tensor" if one else f"({', '.join('Tensor' for _ in program.outputs)})"
    made = torch.library.custom_op(name, run, mutates_args=(), schema=f"({names}) -> {kinds}")
    made.register_fake(fake)
    made.register_vmap(batched)
    made.register_autograd(back, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    return made


def _rule(torch: Any, program: DifferentiableProgram) -> Any:
    """A program with its derivatives in both directions, which all transformations of ``torch.func`` understand: they
    pass operations by, and forward mode would find no derivatives."""
    if (known := program.rules.get("torch rule")) is not None:
        return known

    class Rule(torch.autograd.Function):
        """The value, whose derivatives are rules in turn."""

        @staticmethod
        def forward(*tensors: Any) -> Any:
            return _operation(torch, program)(*tensors)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def vmap(info: Any, dims: Any, *tensors: Any) -> Any:
            found = Rule.apply(*_in_front(tensors, dims))
            return found, tuple(0 for _ in found)

        @staticmethod
        def backward(ctx: Any, *above: Any) -> Any:
            return _pulled(program, ctx.saved_tensors, above, ctx.needs_input_grad, lambda below: _apply(torch, below))

        @staticmethod
        def jvp(ctx: Any, *changes: Any) -> Any:
            x, first = ctx.saved_tensors, len(program.inputs) - program.linear
            moving = [k for k, change in enumerate(changes) if change is not None]
            if program.linear and moving[0] >= first:
                along = [torch.zeros_like(x[k]) if changes[k] is None else changes[k] for k in range(first, len(x))]
                return _apply(torch, program)(*x[:first], *along)
            return _apply(torch, program.tangent(moving))(*x, *(changes[k] for k in moving))

    program.rules["torch rule"] = Rule
    return Rule


def _apply(torch: Any, program: DifferentiableProgram) -> Any:
    return _rule(torch, program).apply


def _pulled(
    program: DifferentiableProgram, x: Any, above: Any, needed: Sequence[bool], function: Any
) -> tuple[Any, ...]:
    """Weights of the inputs from weights of the outputs.

    Args:
        program: with the derivatives.
        above: the weights of its outputs.
        needed: by input, whether its weights are asked for.
        function: makes a function of tensors of a program.
    """
    first = len(program.inputs) - program.linear
    if program.linear and not any(needed[:first]):
        wrt: Sequence[int] = range(first, len(x))
        found = function(program.transposed)(*x[:first], *above)
    else:
        # The whole state together, so that not every choice of inputs needs its own code.
        wrt = [k for k, port in enumerate(program.inputs) if needed[k] or port.name not in REST]
        found = function(program.gradient(wrt))(*x, *above)
    grads: list[Any] = [None] * len(x)
    for k, gradient in zip(wrt, found):
        if needed[k]:
            wide = [d for d, n in enumerate(x[k].shape) if n == 1 and gradient.shape[d] != 1]
            grads[k] = gradient.sum(wide, keepdim=True) if wide else gradient
    return tuple(grads)


def _batch(program: DifferentiableProgram, tensors: Sequence[Any]) -> tuple[int, ...]:
    return np.broadcast_shapes(*(tuple(x.shape[: x.ndim - len(p.shape)]) for x, p in zip(tensors, program.inputs)))


def _in_front(tensors: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """Tensors with one more dimension, the first of all; ``dims`` says where they have it, if they do."""
    return [x.unsqueeze(0) if d is None else x.movedim(d, 0) for x, d in zip(tensors, dims)]


# ------------------------------------------------------------------------------------------------------------- rollouts


def _rollout(torch: Any, motion: Any, names: tuple[str, ...], tensors: Sequence[Any]) -> Any:
    """Positions and velocities, with their derivative backward."""

    def given(arrays: Sequence[Any]) -> dict[str, Any]:
        return {name: motion.array(x.detach()) for name, x in zip(names, arrays)}

    def taken(x: Any) -> Any:
        return torch.as_tensor(x, device=tensors[0].device)

    class Slope(torch.autograd.Function):
        """The derivative backward, which has none itself."""

        @staticmethod
        def forward(*arrays: Any) -> Any:
            q, v = (motion.array(x.detach()) for x in arrays[-2:])
            found = motion.gradient(q, v, **given(arrays))
            return tuple(taken(found[name]) for name in names)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, dims: Any, *arrays: Any) -> Any:
            wide = [x.expand(info.batch_size, *x.shape[1:]).contiguous() for x in _in_front(arrays, dims)]
            return Slope.apply(*wide), (0,) * len(names)

        @staticmethod
        def backward(ctx: Any, *above: Any) -> Any:
            raise UnsupportedError("rollouts are differentiated once, backward; second derivatives are not computed")

    class Motion(torch.autograd.Function):
        @staticmethod
        def forward(*arrays: Any) -> Any:
            return tuple(taken(x) for x in motion(**given(arrays)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def vmap(info: Any, dims: Any, *arrays: Any) -> Any:
            return Motion.apply(*_in_front(arrays, dims)), (0, 0)

        @staticmethod
        def backward(ctx: Any, *above: Any) -> Any:
            return Slope.apply(*ctx.saved_tensors, *above)

    apply = torch.compiler.disable(Motion.apply)  # what PyTorch compiles ends here, and goes on behind
    return apply(*tensors)
