"""What may be wrong with the arrays that a kernel is given: their shapes, their devices, their memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.cuda import arrays
from dalembert.errors import ArgumentError
from dalembert.tracing.program import Port


def batch_shapes(
    kernel: str, ports: tuple[Port, ...], given: Sequence[Any]
) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """The batch dimensions of each array, and of all of them together; an error if these do not fit.

    Args:
        kernel: its name, for messages.
        ports: its inputs.
        given: the arrays.
    """
    batches = []
    for x, port in zip(given, ports):
        core = len(port.shape)
        if x.ndim < core or x.shape[x.ndim - core :] != port.shape:
            raise ArgumentError(
                f"{kernel}: {port.name} has shape {x.shape}; expected (..., {', '.join(map(str, port.shape))})"
            )
        batches.append(x.shape[: x.ndim - core])
    try:
        return batches, np.broadcast_shapes(*batches)
    except ValueError as error:
        shapes = ", ".join(f"{p.name} {b}" for p, b in zip(ports, batches))
        raise ArgumentError(f"{kernel}: batch shapes do not fit together: {shapes}") from error


def to_write(kernel: str, ports: tuple[Port, ...], out: Any, batch: tuple[int, ...], dtype: np.dtype) -> list[Any]:
    """The arrays as CuPy's, in the memory of the caller; an error if they cannot take the results.

    Args:
        kernel: its name, for messages.
        ports: its outputs.
        out: an array, or a tuple of them.
        batch: batch dimensions of the results.
        dtype: their precision.
    """
    wanted = out if isinstance(out, tuple) else (out,)
    if len(wanted) != len(ports):
        raise ArgumentError(f"{kernel}: out has {len(wanted)} arrays; it needs {len(ports)}")
    for k, x in enumerate(wanted):
        if arrays.library((x,)) in ("numpy", "jax"):
            raise ArgumentError(
                f"{kernel}: out[{k}] is a {type(x).__name__}; it must be an array on the device that can be changed: "
                "CuPy's or PyTorch's"
            )
    results = [arrays.take(x, f"out[{k}]") for k, x in enumerate(wanted)]
    for k, (y, port) in enumerate(zip(results, ports)):
        shape = (*batch, *port.shape)
        if y.shape != shape or y.dtype != dtype or not y.flags.c_contiguous:
            raise ArgumentError(
                f"{kernel}: out[{k}] must be a C-contiguous {dtype} array of shape {shape}, got {y.dtype} {y.shape}"
                f"{'' if y.flags.c_contiguous else ', which is not contiguous'}"
            )
        if arrays.overlap(results[:k], [y]):
            raise ArgumentError(f"{kernel}: out[{k}] shares memory with another array of out")
    return results


def same_device(kernel: str, name: str, x: Any, first: str, other: Any) -> None:
    """An error if two arrays are on different devices.

    Args:
        kernel: its name, for messages.
        name: of the array.
        x: the array.
        first: name of the array that it is compared with.
        other: the array that it is compared with.
    """
    if x.device.id != other.device.id:
        raise ArgumentError(f"{kernel}: {name} is on CUDA device {x.device.id}, {first} on device {other.device.id}")
