"""PyTorch tensors by their addresses: the common case of a call, with the least overhead and no memory of others."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.cuda.arrays import records, stream_at

if TYPE_CHECKING:
    from dalembert.cuda.kernel import CudaKernel


DEVICE = "cuda"
"""PyTorch's name of the devices that are meant."""


def quick(kernel: CudaKernel, inputs: tuple[Any, ...], out: Any) -> Any:
    """Evaluate on tensors of one precision on the current device, in memory of PyTorch only.

    None if this is not such a case; everything is then checked and converted at leisure.

    Args:
        kernel: what to evaluate.
        inputs: the input arrays.
        out: the tensor to write to, or a tuple of them, or None.
    """
    torch = sys.modules.get("torch")
    if torch is None or len(inputs) != len(kernel.inputs) or type(inputs[0]) is not torch.Tensor:
        return None
    first = inputs[0]
    dtype, device = first.dtype, first.device
    name = "float32" if dtype == torch.float32 else "float64" if dtype == torch.float64 else ""
    if not name or (kernel.dtype is not None and kernel.dtype.name != name):
        return None
    if device.type != DEVICE or device.index != torch.cuda.current_device():
        return None
    batches = []
    for x, port in zip(inputs, kernel.inputs):
        if type(x) is not torch.Tensor or x.dtype != dtype or x.device != device:
            return None
        if x.is_neg() or records(x):
            return None
        own = x.ndim - len(port.shape)
        if own < 0 or x.shape[own:] != port.shape:
            return None
        batches.append(x.shape[:own])
    batch = batches[0]
    if any(own != batch for own in batches):
        try:
            batch = np.broadcast_shapes(*batches)
        except ValueError:
            return None
    shared, given = 0, []
    for k, (x, own, port) in enumerate(zip(inputs, batches, kernel.inputs)):
        if own != batch and math.prod(own) == 1:
            shared |= 1 << k  # the same for all states: passed once
        elif own != batch:
            x = x.expand((*batch, *port.shape))
        given.append(x.contiguous())

    def empty(shape: tuple[int, ...]) -> Any:
        return torch.empty(shape, dtype=dtype, device=device)

    if out is None:
        results = [empty((*batch, *port.shape)) for port in kernel.outputs]
    else:
        results = list(out) if isinstance(out, tuple) else [out]
        if len(results) != len(kernel.outputs) or not _writable(torch, kernel, given, results, batch):
            return None
    with stream_at(torch.cuda.current_stream(device).cuda_stream):
        kernel.launch(name, [x.data_ptr() for x in (*given, *results)], shared, math.prod(batch), empty)
    if out is not None:
        return out
    return results[0] if len(results) == 1 else tuple(results)


def _writable(torch: Any, kernel: CudaKernel, inputs: list[Any], results: list[Any], batch: Any) -> bool:
    """Whether tensors can take the results: of the right form, and sharing memory with nothing else here."""
    first, taken = inputs[0], [(x.data_ptr(), x.data_ptr() + x.nbytes) for x in inputs]
    for y, port in zip(results, kernel.outputs):
        if type(y) is not torch.Tensor or y.dtype != first.dtype or y.device != first.device or not y.is_contiguous():
            return False
        if y.is_neg() or records(y):
            return False
        begin, end = y.data_ptr(), y.data_ptr() + y.nbytes
        if y.shape != (*batch, *port.shape) or any(begin < b and a < end for a, b in taken):
            return False
        taken.append((begin, end))
    return True
