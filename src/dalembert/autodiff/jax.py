"""Differentiable dynamics for JAX.

    functions = JaxDynamics(da.Dynamics(arm))
    tau = jax.jit(functions.inverse_dynamics)(q, v, a)

Our analytic derivatives are the rule for ``jvp`` and hence ``grad``; ``jit`` and ``vmap`` work, a batch being one call.
With ``Dynamics(arm, device="cuda")`` our kernels are operations of XLA (:mod:`dalembert.autodiff.xla`): they are
launched on its stream and work on its memory, inside ``jit`` and outside. With kernels of the processor it is
``jax.pure_callback`` that calls them, and arrays on an accelerator travel to the host and back. Second derivatives are
not defined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.autodiff.names import operation_name
from dalembert.autodiff.tangent import tangent
from dalembert.autodiff.wrapper import DifferentiableDynamics
from dalembert.autodiff.xla import Buffer, register
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, MissingExtraError


def _jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise MissingExtraError("jax", "jax", "differentiable dynamics for JAX") from error
    return jax


class JaxDynamics(DifferentiableDynamics):
    """Inverse and forward dynamics as differentiable functions of JAX arrays.

    Gradients with respect to a quaternion are those of the function continued to all lengths without depending on it.

    Args:
        dynamics: the kernels; without parameters and wrenches as inputs.
    """

    def __init__(self, dynamics: Dynamics):
        backend = _jax().default_backend()
        if dynamics.device == "cuda" and backend != "gpu":
            raise ArgumentError(
                f"JAX computes on {backend!r} here, the kernels are for a CUDA device: make them with "
                "Dynamics(..., device='cpu')"
            )
        super().__init__(dynamics)

    def _function(self, quantity: str) -> Any:
        return _function(_jax(), self.dynamics, quantity)


def _function(jax: Any, dynamics: Dynamics, quantity: str) -> Any:
    """The JAX function of a quantity of three arguments, with its rule of differentiation."""
    inverse = quantity == "inverse_dynamics"
    derivatives = "sensitivities" if inverse else "forward_dynamics_derivatives"
    jnp = jax.numpy

    def call(name: str, *arrays: Any) -> tuple[Any, ...]:
        kernel = dynamics.kernel(name)
        for x, port in zip(arrays, kernel.inputs):
            if x.shape[-1:] != port.shape:
                raise ArgumentError(f"{name}: {port.name} has shape {x.shape}; expected (..., {port.shape[0]})")
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        dtype = jnp.result_type(*arrays)
        if dynamics.device == "cuda":
            return _on_device(jax, dynamics, name, batch, dtype, arrays)
        shapes = tuple(jax.ShapeDtypeStruct((*batch, *port.shape), dtype) for port in kernel.outputs)

        def run(*host: Any) -> tuple[Any, ...]:
            found = kernel(*(np.asarray(x) for x in host))
            return tuple(np.asarray(y, dtype) for y in (found if isinstance(found, tuple) else (found,)))

        return jax.pure_callback(run, shapes, *arrays, vmap_method="expand_dims")

    @jax.custom_jvp
    def function(q: Any, v: Any, third: Any) -> Any:
        return call(quantity, jnp.asarray(q), jnp.asarray(v), jnp.asarray(third))[0]

    @function.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        q, v, third = (jnp.asarray(x) for x in primals)
        dq, dv, dthird = tangents
        found = call(derivatives, q, v, third)
        by_q, by_v, by_third = (found[3], found[2], found[1]) if inverse else found
        along = tangent(dynamics.mechanism, q, dq, lambda entries: jnp.stack(entries, axis=-1))
        parts = ((by_q, along), (by_v, dv), (by_third, dthird))
        return function(q, v, third), sum(jnp.einsum("...rc,...c->...r", m, x) for m, x in parts)

    return function


def _on_device(
    jax: Any, dynamics: Dynamics, name: str, batch: tuple[int, ...], dtype: Any, arrays: tuple[Any, ...]
) -> tuple[Any, ...]:
    """A quantity as an operation of XLA on its own memory."""
    from dalembert.compiler.cuda.arrays import stream_at

    kernel, jnp = dynamics.kernel(name), jax.numpy
    dtype = np.dtype(kernel.dtype or jnp.promote_types(dtype, jnp.float32))
    if dtype == np.float64 and not jax.config.jax_enable_x64:
        raise ArgumentError("kernels in float64 need jax.config.update('jax_enable_x64', True)")

    def run(given: Sequence[Buffer], results: Sequence[Buffer], stream: int) -> None:
        shape = results[0].shape
        count = math.prod(shape[: len(shape) - len(kernel.outputs[0].shape)])
        with stream_at(stream):
            kernel.launch(results[0].dtype, [x.pointer for x in (*given, *results)], 0, count)

    target = f"dalembert_{operation_name(dynamics, name)}"
    register(jax, target, "CUDA", run)
    wide = [jnp.broadcast_to(x.astype(dtype), (*batch, *port.shape)) for x, port in zip(arrays, kernel.inputs)]
    shapes = tuple(jax.ShapeDtypeStruct((*batch, *port.shape), dtype) for port in kernel.outputs)
    return jax.ffi.ffi_call(target, shapes, vmap_method="broadcast_all")(*wide)
