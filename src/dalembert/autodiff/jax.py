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
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from dalembert.autodiff.wrapper import DifferentiableDynamics, batch_shape, operation_name
from dalembert.autodiff.xla import Buffer, register
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, MissingExtraError
from dalembert.kinematics.gradients import tangent


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
        dynamics: the kernels; without wrenches, all parameters with values.
    """

    def __init__(self, dynamics: Dynamics):
        super().__init__(dynamics)
        backend = _jax().default_backend()
        if dynamics.device == "cuda" and backend != "gpu":
            raise ArgumentError(
                f"JAX computes on {backend!r} here, the kernels are for a CUDA device: make them with "
                "Dynamics(..., device='cpu')"
            )

    def _function(self, quantity: str) -> Any:
        jax, dynamics = _jax(), self.dynamics
        rule = _rule(jax, dynamics, quantity, lambda: self._refuse_second(quantity))

        def function(*arrays: Any) -> Any:
            found = [jax.numpy.asarray(x) for x in arrays]
            ports = dynamics.kernel(quantity).inputs
            batch = batch_shape(quantity, ports, found)
            dtype = _dtype(jax, dynamics, quantity, ports, found)
            # Of one rank, for vmap puts its dimension before all others.
            return rule(*(x.astype(dtype).reshape((1,) * (len(batch) + 1 - x.ndim) + x.shape) for x in found))

        return function


def _dtype(jax: Any, dynamics: Dynamics, quantity: str, ports: Sequence[Any], arrays: Sequence[Any]) -> np.dtype:
    """In which precision a function computes: that of the kernels, or of its arguments; float32 at least."""
    jnp = jax.numpy
    for x, port in zip(arrays, ports):
        if jnp.issubdtype(x.dtype, jnp.complexfloating):
            raise ArgumentError(f"{quantity}: {port.name} has dtype {x.dtype}; it must be real numbers")
    given = jnp.result_type(*arrays)
    if not jnp.issubdtype(given, jnp.floating):
        given = jnp.result_type(float)
    dtype = np.dtype(dynamics.dtype or jnp.promote_types(given, jnp.float32))
    if dtype == np.float64 and not jax.config.jax_enable_x64:
        raise ArgumentError("kernels in float64 need jax.config.update('jax_enable_x64', True)")
    return dtype


def _rule(jax: Any, dynamics: Dynamics, quantity: str, refuse: Callable[[], NoReturn]) -> Any:
    """A quantity of three arguments of one precision and one rank, with its rule of differentiation.

    Args:
        refuse: called for derivatives of derivatives.
    """
    inverse = quantity == "inverse_dynamics"
    jnp = jax.numpy

    @jax.custom_jvp
    def slopes(q: Any, v: Any, third: Any) -> tuple[Any, Any, Any]:
        if inverse:
            _, by_third, by_v, by_q = _call(jax, dynamics, "sensitivities", (q, v, third))
            return by_q, by_v, by_third
        return _call(jax, dynamics, "forward_dynamics_derivatives", (q, v, third))

    @slopes.defjvp
    def never(primals: Any, tangents: Any) -> Any:
        refuse()

    @jax.custom_jvp
    def function(q: Any, v: Any, third: Any) -> Any:
        return _call(jax, dynamics, quantity, (q, v, third))[0]

    @function.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        along = tangent(dynamics.mechanism.tree, primals[0], tangents[0], lambda entries: jnp.stack(entries, axis=-1))
        parts = zip(slopes(*primals), (along, *tangents[1:]))
        # By default JAX multiplies matrices of single precision with three digits on a card.
        terms = (jnp.einsum("...rc,...c->...r", m, x, precision="highest") for m, x in parts)
        return function(*primals), sum(terms)

    return function


def _call(jax: Any, dynamics: Dynamics, name: str, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The results of a kernel, without derivatives."""
    kernel, dtype = dynamics.kernel(name), arrays[0].dtype
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    shapes = tuple(jax.ShapeDtypeStruct((*batch, *port.shape), dtype) for port in kernel.outputs)
    if dynamics.device == "cuda":
        return _on_device(jax, dynamics, name, batch, shapes, arrays)

    def run(*host: Any) -> tuple[Any, ...]:
        found = kernel(*(np.asarray(x) for x in host))
        return tuple(np.asarray(y, dtype) for y in (found if isinstance(found, tuple) else (found,)))

    return jax.pure_callback(run, shapes, *arrays, vmap_method="expand_dims")


def _on_device(
    jax: Any, dynamics: Dynamics, name: str, batch: tuple[int, ...], shapes: tuple[Any, ...], arrays: tuple[Any, ...]
) -> tuple[Any, ...]:
    """A quantity as an operation of XLA on its own memory."""
    from dalembert.cuda.arrays import stream_at

    kernel = dynamics.kernel(name)

    def run(given: Sequence[Buffer], results: Sequence[Buffer], stream: int) -> None:
        shape = results[0].shape
        count = math.prod(shape[: len(shape) - len(kernel.outputs[0].shape)])
        with stream_at(stream):
            kernel.launch(results[0].dtype, [x.pointer for x in (*given, *results)], 0, count)

    target = f"dalembert_{operation_name(dynamics, name)}"
    register(jax, target, "CUDA", run)
    defaults = [jax.numpy.asarray(x, arrays[0].dtype) for x in kernel.arguments.tail]  # time and parameters
    given = (*arrays, *defaults[len(arrays) + len(defaults) - len(kernel.inputs) :])
    wide = [jax.numpy.broadcast_to(x, (*batch, *port.shape)) for x, port in zip(given, kernel.inputs)]
    return jax.ffi.ffi_call(target, shapes, vmap_method="broadcast_all")(*wide)
