"""A kernel bound to its arrays once, to be called again and again at the least cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.native.arguments import overlap
from dalembert.native.calls import bound_call
from dalembert.tracing.program import Port

if TYPE_CHECKING:
    from dalembert.native.kernel import Kernel


class BoundKernel:
    """A function without arguments that reads its inputs from, and writes its outputs to, fixed arrays.

    Change the inputs in place, call, read the outputs. The call returns None and runs in the calling thread.

    Attributes:
        kernel: the kernel.
        inputs: the arrays read.
        outputs: the arrays written.
    """

    # The call is a slot of the instance that holds a function in machine code: Python finds it without a frame.
    __slots__ = ("__call__", "inputs", "kernel", "outputs")
    __call__: Callable[[], None]

    def __init__(
        self, kernel: Kernel, inputs: tuple[np.ndarray, ...], outputs: tuple[np.ndarray, ...], call: Callable[[], None]
    ):
        self.kernel, self.inputs, self.outputs = kernel, inputs, outputs
        self.__call__ = call

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, here or in another process, is bound to the copies of the arrays that come with it."""
        return bind, (self.kernel, self.inputs, self.outputs)

    def __repr__(self) -> str:
        return f"<bound {self.kernel!r}>"


def check_bindable(call: str, port: Port, array: Any, dtype: np.dtype) -> None:
    """Raise unless an array can be used as it lies in memory.

    Args:
        call: name of the kernel, for the message.
        port: what it is for.
        array: the array.
        dtype: what the kernel computes in.
    """
    if not isinstance(array, np.ndarray):
        raise ArgumentError(
            f"{call}.bind: {port.name} is a {type(array).__name__}; bind keeps the memory, so it needs NumPy arrays"
        )
    if array.dtype != dtype or not array.dtype.isnative or not array.flags.aligned:
        raise ArgumentError(
            f"{call}.bind: {port.name} has dtype {array.dtype} (aligned: {array.flags.aligned});"
            f" bind keeps the memory, so it needs aligned arrays of {dtype}"
        )


def check_overlap(kernel: Kernel, inputs: Sequence[np.ndarray], outputs: tuple[np.ndarray, ...]) -> None:
    """Raise if an output shares memory with another argument, unless it is the very same array as an input.

    Args:
        kernel: what is to be bound.
        inputs: the arrays to read.
        outputs: the arrays to write.
    """
    for port, y in zip(kernel.outputs, outputs):
        for other, x in zip(kernel.inputs, inputs):
            if overlap(x, y):
                raise ArgumentError(f"{kernel.name}.bind: {other.name} and {port.name} overlap in memory")
    kernel.arguments.refuse_shared_outputs(outputs)


def flat_batch(array: np.ndarray, rank: int, batch: tuple[int, ...]) -> np.ndarray | None:
    """A view with one batch dimension instead of those of ``batch``; None if the strides do not allow it.

    Args:
        array: with batch dimensions that broadcast to ``batch``, then ``rank`` core dimensions.
        rank: number of core dimensions.
        batch: the batch shape.
    """
    core = array.shape[array.ndim - rank :]
    whole = np.broadcast_to(array, (*batch, *core))
    sizes = [(n, s) for n, s in zip(whole.shape[: len(batch)], whole.strides) if n != 1]
    for (_, outer), (n, inner) in pairwise(sizes):
        if outer != n * inner:
            return None
    count = math.prod(batch)
    stride = sizes[-1][1] if sizes and count else 0
    strides = (stride, *whole.strides[len(batch) :])
    return np.lib.stride_tricks.as_strided(whole, (count, *core), strides, writeable=False)


def bind(kernel: Kernel, inputs: tuple[Any, ...], out: tuple[Any, ...]) -> BoundKernel:
    """Prepare everything that a call needs.

    Args:
        kernel: what to call.
        inputs: the arrays to read.
        out: the arrays to write, None for those to be made.
    """
    dtype = kernel.dtype or next((a.dtype for a in inputs if isinstance(a, np.ndarray)), np.dtype(np.float64))
    if dtype not in (np.float64, np.float32):
        dtype = np.dtype(np.float64)
    call = kernel.name
    for port, array in zip(kernel.inputs, inputs):
        check_bindable(call, port, array, dtype)
    batch = kernel.arguments.batch(inputs, out)
    outputs = tuple(
        np.empty((*batch, *port.shape), dtype) if array is None else array for port, array in zip(kernel.outputs, out)
    )
    ports = (*kernel.inputs, *kernel.outputs)
    for port, array in zip(kernel.outputs, outputs):
        check_bindable(call, port, array, dtype)
        if not array.flags.writeable:
            raise ArgumentError(f"{call}.bind: out for {port.name} is read-only")
    check_overlap(kernel, inputs, outputs)
    flat = []
    for port, array in zip(ports, (*inputs, *outputs)):
        view = flat_batch(array, len(port.shape), batch)
        if view is None:
            raise ArgumentError(
                f"{call}.bind: the batch dimensions of {port.name}, shape {array.shape}, strides {array.strides},"
                " cannot be walked in one stride; bind a contiguous array"
            )
        flat.append(view)
    code = kernel.compiled.code(dtype)
    count = math.prod(batch)
    function = bound_call(
        code.address("loop"), flat, ports, count, count > kernel.compiled.short, (code, inputs, outputs)
    )
    return BoundKernel(kernel, inputs, outputs, function)
