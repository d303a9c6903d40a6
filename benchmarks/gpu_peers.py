"""JAX beside our CUDA kernels: our own programs under XLA, and frax, a library with algorithms of its own.

Both work on the very arrays that our kernels get, and what they find is compared with the float64 interpreter before it
is timed. A peer that is not installed, or does not offer a quantity, gives no time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

import dalembert as da

CALLS = 8
"""In a row, so that the card does not wait for Python."""

LIMIT = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-2}
"""Largest difference from the float64 interpreter, relative to the largest number, with which a time is kept."""

PARTS = (1, 4, 16)
"""Into which a batch is divided for a peer that does not run with all of it."""

LONGEST = 3000
"""XLA takes minutes to compile programs of more nodes."""


def xla(program: Any, inputs: Sequence[cp.ndarray], places: cp.ndarray, exact: Sequence[np.ndarray]) -> float | None:
    """Seconds of our program under jax.jit.

    Args:
        program: what to compute.
        inputs: arrays of the batch.
        places: of the states that are checked.
        exact: what they give.
    """
    try:
        import jax
    except ImportError:
        return None
    if len(program.nodes) > LONGEST:
        return None
    jnp = jax.numpy
    operations = {
        "neg": lambda x: -x, "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y, "sin": jnp.sin, "cos": jnp.cos,
    }  # fmt: skip

    def compute(*arrays: Any) -> Any:
        values: list[Any] = []
        for op, args, value in program.nodes:
            if op == "const":
                values.append(value)
            elif op == "input":
                values.append(arrays[args[0]][:, args[1]])
            else:
                values.append(operations[op](*(values[k] for k in args)))
        size = arrays[0].shape[:1]
        columns = [jnp.stack([jnp.broadcast_to(values[k], size) for k in row], axis=1) for row in program.results]
        return [y.reshape(*size, *port.shape) for y, port in zip(columns, program.outputs)]

    return _seconds("XLA", compute, inputs, places, exact, "default")


def frax(
    mechanism: da.Mechanism,
    quantity: str,
    inputs: Sequence[cp.ndarray],
    places: cp.ndarray,
    exact: Sequence[np.ndarray],
    digits: str,
) -> float | None:
    """Seconds of frax on the same robot, its derivatives by JAX's forward mode.

    Args:
        mechanism: an arm; frax reads it as URDF.
        quantity: what to compute.
        inputs: arrays of the batch.
        places: of the states that are checked.
        exact: what they give.
        digits: of products of matrices in JAX: ``"default"``, in float32 about three, or ``"highest"``.
    """
    try:
        import jax
        from frax.core.manipulator import Manipulator
        from frax.core.robot import Robot
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", bool(inputs[0].dtype == np.float64))
    with tempfile.TemporaryDirectory() as folder:
        da.write_urdf(mechanism, Path(folder) / "arm.urdf")
        robot = Robot(Path(folder) / "arm.urdf")
        if robot.is_pure_kinematic_chain:  # only there does frax know a last body
            robot = Manipulator(Path(folder) / "arm.urdf")
    lift = jax.numpy.array([0, 0, 9.81, 0, 0, 0], dtype=inputs[0].dtype)

    def inverse(q: Any, v: Any, a: Any) -> Any:
        return robot.rnea(q, v, a, lift, None)

    def forward(q: Any, v: Any, tau: Any) -> Any:
        return robot.forward_dynamics(q, v, tau, None)

    offered: dict[str, Callable[..., Any]] = {
        "inverse_dynamics": inverse,
        "forward_dynamics": forward,
        "mass_matrix": robot.mass_matrix,
        "bias": robot.nonlinear_bias,
        "inverse_dynamics_derivatives": jax.jacfwd(inverse, (0, 1)),
        "forward_dynamics_derivatives": jax.jacfwd(forward, (0, 1, 2)),
    }
    if isinstance(robot, Manipulator):

        def pose(q: Any) -> Any:
            end = robot.ee_transform(q)
            return end[:3, :3], end[:3, 3]

        offered |= {"pose": pose, "jacobian": robot.ee_jacobian}
    if quantity not in offered:
        return None
    return _seconds("frax", jax.vmap(offered[quantity]), inputs, places, exact, digits)


def _seconds(
    name: str,
    compute: Callable[..., Any],
    inputs: Sequence[cp.ndarray],
    places: cp.ndarray,
    exact: Sequence[np.ndarray],
    digits: str,
) -> float | None:
    """Of one call of several in a row, the best of ten rows; None if what they find is wrong.

    What does not run at once, mostly for want of memory, may run in parts: then one part is timed, times their number.
    """
    import jax

    jax.config.update("jax_enable_x64", True if inputs[0].dtype == np.float64 else jax.config.jax_enable_x64)
    jax.config.update("jax_default_matmul_precision", digits)
    run = jax.jit(compute)
    for parts in PARTS:
        size = len(inputs[0]) // parts
        given = [jax.dlpack.from_dlpack(x[:size]) for x in inputs]
        try:
            found = jax.block_until_ready(run(*given))
            break
        except jax.errors.JaxRuntimeError as error:
            print(f"{name} does not run with {size} states: {str(error).splitlines()[0][:70]}", flush=True)
    else:
        return None
    chosen = cp.asnumpy(places)
    within = chosen < size
    for y, right in zip(found if isinstance(found, (tuple, list)) else (found,), exact, strict=True):
        off = np.abs(np.asarray(y[chosen[within]], float) - right[within]).max() / np.abs(right).max()
        if not off < LIMIT[inputs[0].dtype]:
            print(f"{name} ({digits} digits) differs by {off:.0e}; no time is kept", flush=True)
            return None
    times = []
    for _ in range(10):
        start = time.perf_counter()
        for _ in range(CALLS):
            found = run(*given)
        jax.block_until_ready(found)
        times.append((time.perf_counter() - start) / CALLS)
    return min(times) * parts
