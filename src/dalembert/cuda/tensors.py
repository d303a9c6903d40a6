"""PyTorch tensors by their addresses: the common case of a call, with the least overhead and no memory of others."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.cuda.arrays import Lent, records, stream_at, warn_once

if TYPE_CHECKING:
    from dalembert.cuda.kernel import CudaKernel


DEVICE = "cuda"
"""PyTorch's name of the devices that are meant."""

_NOTHING: dict[str, Any] = {}


def quick(kernel: CudaKernel, inputs: tuple[Any, ...], out: Any, named: Mapping[str, Any] = _NOTHING) -> Any:
    """Evaluate on tensors on the current device, in memory of PyTorch only.

    Python's own numbers may stand among them, inputs may be given by name, and those that have a value may be left out.
    None if this is not such a case; everything is then checked and converted first.

    Args:
        out: the tensor to write to, or a tuple of them, or None.
        named: inputs by name.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    given = [x for x in (*inputs, *named.values()) if type(x) is torch.Tensor]
    if not given:
        return None
    device = given[0].device
    if device.type != DEVICE or device.index != torch.cuda.current_device():
        return None
    dtype = torch.float32 if all(x.dtype == torch.float32 for x in given) else torch.float64
    if kernel.dtype is not None:
        dtype = getattr(torch, kernel.dtype.name)
    name = "float32" if dtype == torch.float32 else "float64"
    if named or len(inputs) != len(kernel.inputs):
        lent = kernel.lent(device.index, np.dtype(name))
        inputs, _ = kernel.arguments.positional(inputs, named, defaults=lent)

    ready: list[Any] = []  # tensors of one precision, and addresses of what was left out
    for x, port in zip(inputs, kernel.inputs):
        if type(x) is torch.Tensor:
            if x.device != device or x.is_neg() or x.is_complex() or x.dtype == torch.bool or records(x):
                return None
            if x.dtype != dtype:
                warn_once(kernel, f"given {port.name} of {x.dtype}, which every call converts to {name}")
                x = x.to(dtype)
        elif type(x) in (float, int):
            x = torch.full((), x, dtype=dtype, device=device)
        elif not isinstance(x, Lent):
            return None
        ready.append(x)
    batches = []
    for x, port in zip(ready, kernel.inputs):
        own = 0 if isinstance(x, Lent) else x.ndim - len(port.shape)
        if own < 0 or (not isinstance(x, Lent) and x.shape[own:] != port.shape):
            return None
        batches.append(() if isinstance(x, Lent) else x.shape[:own])
    batch = batches[0]
    if any(own != batch for own in batches):
        try:
            batch = np.broadcast_shapes(*batches)
        except ValueError:
            return None
    shared, read, pointers = 0, [], []
    for k, (x, own, port) in enumerate(zip(ready, batches, kernel.inputs)):
        if own != batch and math.prod(own) == 1:
            shared |= 1 << k  # the same for all states: passed once
        elif own != batch:
            x = x.expand((*batch, *port.shape))
        if isinstance(x, Lent):
            pointers.append(x.array.data.ptr)
            continue
        read.append(x.contiguous())
        pointers.append(read[-1].data_ptr())

    def empty(shape: tuple[int, ...]) -> Any:
        return torch.empty(shape, dtype=dtype, device=device)

    if out is None:
        results = [empty((*batch, *port.shape)) for port in kernel.outputs]
    else:
        results = list(out) if isinstance(out, tuple) else [out]
        if len(results) != len(kernel.outputs) or not _writable(torch, kernel, read, results, batch):
            return None
    pointers += [y.data_ptr() for y in results]
    with stream_at(torch.cuda.current_stream(device).cuda_stream):
        kernel.launch(name, pointers, shared, math.prod(batch), empty)
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
