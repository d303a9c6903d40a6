"""Differentiable dynamics for JAX.

    functions = JaxDynamics(da.Dynamics(arm, parameters=["hand.mass"]))
    tau = jax.jit(functions.inverse_dynamics)(q, v, a)
    slope = jax.grad(lambda m: functions.forward_dynamics(q, v, tau, parameters=m).sum())(masses)

Our programs and their derivatives are a primitive of JAX with rules for ``jvp``, transposition, ``vmap`` and ``jit``, a
batch being one call, so that derivatives of any order exist. With ``Dynamics(arm, device="cuda")`` our kernels are
operations of XLA (:mod:`dalembert.autodiff.xla`): they are launched on its stream and work on its memory, inside
``jit`` and outside. With kernels of the processor it is ``jax.pure_callback`` that calls them, and arrays on an
accelerator travel to the host and back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from dalembert.autodiff.program import DifferentiableProgram
from dalembert.autodiff.wrapper import DifferentiableDynamics, QuantityInputs, batch_shape, differentiable
from dalembert.autodiff.xla import Buffer, register
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, MissingExtraError
from dalembert.kinematics.gradients import tangent
from dalembert.kinematics.manifold import quaternion_places

SLOPES = {"inverse_dynamics": "sensitivities", "forward_dynamics": "forward_dynamics_derivatives"}
"""Kernels of derivatives by q, v and the third argument."""


def _jax() -> Any:
    try:
        import jax
    except ImportError as error:
        raise MissingExtraError("jax", "jax", "differentiable dynamics for JAX") from error
    return jax


class JaxDynamics(DifferentiableDynamics):
    """Inverse and forward dynamics, and every other quantity, as differentiable functions of JAX arrays, of any order.

    Wrenches, time and parameters are differentiable as well. Gradients with respect to a quaternion are those of the
    function continued to all lengths without depending on it.
    """

    def __init__(self, dynamics: Dynamics):
        super().__init__(dynamics)
        backend = _jax().default_backend()
        if dynamics.device == "cuda" and backend != "gpu":
            raise ArgumentError(
                f"JAX computes on {backend!r} here, the kernels are for a CUDA device: make them with "
                "Dynamics(..., device='cpu')"
            )

    def _function(self, quantity: str, **options: Any) -> Any:
        jax, dynamics = _jax(), self.dynamics
        inputs = QuantityInputs(quantity, dynamics.kernel(quantity, **options))
        ports = inputs.ports
        call = _Call(dynamics, differentiable(dynamics, quantity, options), SLOPES.get(quantity))
        places = quaternion_places(dynamics.mechanism.tree)

        def function(*arrays: Any, **rest: Any) -> Any:
            given = inputs.ordered(arrays, rest)
            found = [jax.numpy.asarray(x) for x in given]
            batch = batch_shape(quantity, ports, found)
            dtype = _dtype(jax, dynamics, quantity, ports, found[: len(inputs.state)])
            # Of one rank, for vmap puts its dimension before all others.
            wide = [
                x.astype(dtype).reshape((1,) * (len(batch) + len(p.shape) - x.ndim) + x.shape)
                for x, p in zip(found, ports)
            ]
            if places and ports[0].name == "q":
                wide[0] = _of_unit_length(jax, wide[0], places)
            results = _primitive().bind(*wide, call=call)
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
        """Positions and velocities of motions of fixed step, differentiable once, backward, by all arrays.

        See :class:`~dalembert.autodiff.rollout.DifferentiableRollout`, which does the work, on the processor.

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

        jax = _jax()
        if not jax.config.jax_enable_x64:
            raise ArgumentError("rollouts are computed in float64: jax.config.update('jax_enable_x64', True)")
        motion = DifferentiableRollout(self.dynamics, steps, step, method, every)
        given = {"q0": q0, "v0": v0, "control": control, "wrenches": wrenches, "parameters": parameters}
        arrays = {name: jax.numpy.asarray(x, float) for name, x in given.items() if x is not None}
        cores = {"control": 2, "wrenches": 2}
        rank = len(motion.batch(arrays))
        # Of one rank, for vmap puts its dimension before all others.
        wide = [x.reshape((1,) * (rank + cores.get(name, 1) - x.ndim) + tuple(x.shape)) for name, x in arrays.items()]
        return _rollout(jax, motion, tuple(arrays))(*wide)


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


def _of_unit_length(jax: Any, q: Any, places: Sequence[int]) -> Any:
    """Positions with unit quaternions: where they are not, what is computed must not depend on it, nor derivatives."""
    for k in places:
        eta = q[..., k : k + 4]
        q = q.at[..., k : k + 4].set(eta / jax.numpy.linalg.norm(eta, axis=-1, keepdims=True))
    return q


# -------------------------------------------------------------------------------------------------------- the primitive


class _Call:
    """What the primitive computes.

    Args:
        dynamics: the mechanism, for tangent vectors of its positions.
        program: with derivatives.
        slopes: the quantity that has its derivatives by the state as matrices, if there is one: with it, all columns of
            a Jacobian cost one call.
    """

    def __init__(self, dynamics: Dynamics, program: DifferentiableProgram, slopes: str | None = None):
        self.dynamics, self.program, self.slopes = dynamics, program, slopes

    def of(self, program: DifferentiableProgram) -> _Call:
        """The same mechanism with another program."""
        return _Call(self.dynamics, program)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Call) and self.program is other.program and self.slopes == other.slopes

    def __hash__(self) -> int:
        return hash((id(self.program), self.slopes))

    def __repr__(self) -> str:
        return self.program.name


@cache
def _primitive() -> Any:
    """Programs as one primitive of JAX."""
    jax = _jax()
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    made = Primitive("dalembert")
    made.multiple_results = True

    def evaluated(*arrays: Any, call: _Call) -> list[Any]:
        return list(_evaluated(jax, call.program, arrays))

    def abstract(*avals: Any, call: _Call) -> list[Any]:
        batch = _batch(call, avals)
        kind = type(avals[0])
        return [kind((*batch, *port.shape), avals[0].dtype) for port in call.program.outputs]

    def directional(primals: Any, tangents: Any, *, call: _Call) -> Any:
        result = made.bind(*primals, call=call)
        moving = [k for k, t in enumerate(tangents) if type(t) is not ad.Zero]
        if call.slopes is not None and min(moving) < 3:
            changes = _by_matrices(jax, call, primals, tangents, [k for k in moving if k < 3])
            rest = [k for k in moving if k >= 3]
            if rest:
                changes = changes + _along(call, primals, tangents, rest)[0]
            return result, [changes]
        return result, _along(call, primals, tangents, moving)

    def _along(call: _Call, primals: Any, tangents: Any, moving: list[int]) -> Any:
        program, count = call.program, len(primals)
        if program.linear and min(moving) >= count - program.linear:
            changes = [ad.instantiate_zeros(t) for t in tangents[count - program.linear :]]
            return made.bind(*primals[: count - program.linear], *changes, call=call)
        changes = [tangents[k] for k in moving]
        return made.bind(*primals, *changes, call=call.of(program.tangent(moving)))

    def transpose(weights: Any, *arrays: Any, call: _Call) -> Any:
        first = len(arrays) - call.program.linear
        above = [ad.instantiate_zeros(w) for w in weights]
        found = made.bind(*arrays[:first], *above, call=call.of(call.program.transposed))
        below: list[Any] = []
        for x, gradient in zip(arrays[first:], found):
            if not ad.is_undefined_primal(x):
                below.append(None)
                continue
            wide = tuple(k for k, n in enumerate(x.aval.shape) if n == 1 and gradient.shape[k] != 1)
            below.append(gradient.sum(axis=wide, keepdims=True) if wide else gradient)
        return [None] * first + below

    def batched(arrays: Any, dims: Any, *, call: _Call) -> Any:
        moved = [x[None] if d is None else jax.numpy.moveaxis(x, d, 0) for x, d in zip(arrays, dims)]
        found = made.bind(*moved, call=call)
        return found, [0] * len(found)

    def direct(*arrays: Any, call: _Call) -> list[Any]:
        if call.program.device == "cuda":
            return evaluated(*arrays, call=call)
        return [jax.numpy.asarray(y) for y in _on_host(call.program, arrays)]

    made.def_impl(direct)
    made.def_abstract_eval(abstract)
    ad.primitive_jvps[made] = directional
    ad.primitive_transposes[made] = transpose
    batching.primitive_batchers[made] = batched
    mlir.register_lowering(made, mlir.lower_fun(evaluated, multiple_results=True))
    return made


def _batch(call: _Call, arrays: Sequence[Any]) -> tuple[int, ...]:
    ports = call.program.inputs
    return np.broadcast_shapes(*(x.shape[: len(x.shape) - len(p.shape)] for x, p in zip(arrays, ports)))


def _by_matrices(jax: Any, call: _Call, primals: Any, tangents: Any, moving: Sequence[int]) -> Any:
    """The change of a result by those of q, v and the third argument."""
    jnp, dynamics = jax.numpy, call.dynamics
    assert call.slopes is not None
    found = _primitive().bind(*primals, call=call.of(differentiable(dynamics, call.slopes, {})))
    matrices = (found[3], found[2], found[1]) if call.slopes == "sensitivities" else found
    total: Any = 0
    for k in moving:
        change = tangents[k]
        if k == 0:
            change = tangent(dynamics.mechanism.tree, primals[0], change, lambda entries: jnp.stack(entries, axis=-1))
        # By default JAX multiplies matrices of single precision with three digits on a card.
        total = total + jnp.einsum("...rc,...c->...r", matrices[k], change, precision="highest")
    return total


def _on_host(program: DifferentiableProgram, arrays: Sequence[Any]) -> tuple[np.ndarray, ...]:
    dtype = arrays[0].dtype
    found = program.kernel(*(np.asarray(x) for x in arrays))
    return tuple(np.asarray(y, dtype) for y in (found if isinstance(found, tuple) else (found,)))


def _evaluated(jax: Any, program: DifferentiableProgram, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a program, inside ``jit``."""
    dtype = arrays[0].dtype
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - len(p.shape)] for x, p in zip(arrays, program.inputs)))
    shapes = tuple(jax.ShapeDtypeStruct((*batch, *port.shape), dtype) for port in program.outputs)
    if program.device == "cuda":
        return _on_device(jax, program, batch, shapes, arrays)
    return jax.pure_callback(lambda *host: _on_host(program, host), shapes, *arrays, vmap_method="expand_dims")


def _on_device(
    jax: Any, program: DifferentiableProgram, batch: tuple[int, ...], shapes: tuple[Any, ...], arrays: Sequence[Any]
) -> tuple[Any, ...]:
    """A program as an operation of XLA on its own memory."""
    from dalembert.cuda.arrays import stream_at

    kernel = program.kernel

    def run(given: Sequence[Buffer], results: Sequence[Buffer], stream: int) -> None:
        shape = results[0].shape
        count = math.prod(shape[: len(shape) - len(kernel.outputs[0].shape)])
        with stream_at(stream):
            kernel.launch(results[0].dtype, [x.pointer for x in (*given, *results)], 0, count)

    target = f"dalembert_{program.name}_{program.identity}"
    register(jax, target, "CUDA", run)
    wide = [jax.numpy.broadcast_to(x, (*batch, *port.shape)) for x, port in zip(arrays, kernel.inputs)]
    return jax.ffi.ffi_call(target, shapes, vmap_method="broadcast_all")(*wide)


# ------------------------------------------------------------------------------------------------------------- rollouts


def _rollout(jax: Any, motion: Any, names: tuple[str, ...]) -> Any:
    """A function of the arrays of these names, with its derivative backward."""

    def shapes(arrays: Sequence[Any]) -> tuple[Any, Any]:
        batch = motion.batch(dict(zip(names, arrays)))
        nq, nv = motion.dynamics.mechanism.nq, motion.dynamics.mechanism.nv
        return tuple(jax.ShapeDtypeStruct((*batch, motion.records, n), np.float64) for n in (nq, nv))  # type: ignore

    def run(*host: Any) -> tuple[np.ndarray, np.ndarray]:
        return motion(**{name: np.asarray(x) for name, x in zip(names, host)})

    def pull(*host: Any) -> tuple[np.ndarray, ...]:
        given = {name: np.asarray(x) for name, x in zip(names, host)}
        found = motion.gradient(np.asarray(host[-2]), np.asarray(host[-1]), **given)
        return tuple(found[name] for name in names)

    @jax.custom_vjp
    def function(*arrays: Any) -> tuple[Any, Any]:
        return jax.pure_callback(run, shapes(arrays), *arrays, vmap_method="expand_dims")

    def ahead(*arrays: Any) -> tuple[Any, Any]:
        return function(*arrays), arrays

    def back(arrays: Any, above: Any) -> Any:
        wanted = tuple(jax.ShapeDtypeStruct(x.shape, np.float64) for x in arrays)
        return jax.pure_callback(pull, wanted, *arrays, *above, vmap_method="broadcast_all")

    function.defvjp(ahead, back)
    return function
