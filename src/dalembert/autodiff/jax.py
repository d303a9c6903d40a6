"""Differentiable dynamics for JAX.

    functions = JaxDynamics(da.Dynamics(arm))
    tau = jax.jit(functions.inverse_dynamics)(q, v, a)

Our kernels are called on the host through ``jax.pure_callback``, with our analytic derivatives as the rule for ``jvp``
and hence ``grad``; ``jit`` and ``vmap`` work, a batch being one call. Arrays on an accelerator travel to the host and
back: for large batches on a CUDA device call the kernels of ``Dynamics(arm, device="cuda")`` directly, which take and
give JAX arrays without copies, outside ``jit``. Second derivatives are not defined.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.autodiff.tangent import tangent
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, MissingExtraError


def _jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise MissingExtraError("jax", "jax", "differentiable dynamics for JAX") from error
    return jax


class JaxDynamics:
    """Inverse and forward dynamics as differentiable functions of JAX arrays.

    Gradients with respect to a quaternion are those of the function continued to all lengths without depending on it.

    Args:
        dynamics: the CPU kernels; without parameters and wrenches as inputs.
    """

    def __init__(self, dynamics: Dynamics):
        jax = _jax()
        if dynamics.parameter_names or dynamics.wrenches:
            raise ArgumentError("JaxDynamics takes a Dynamics without parameters and wrenches as inputs")
        if dynamics.device != "cpu":
            raise ArgumentError("JaxDynamics calls the host: make it with Dynamics(..., device='cpu')")
        self.dynamics = dynamics
        self._inverse = _function(jax, dynamics, "inverse_dynamics")
        self._forward = _function(jax, dynamics, "forward_dynamics")

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
        return f"<JaxDynamics of {self.dynamics.mechanism.name!r}>"


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
