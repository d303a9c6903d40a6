"""PyTorch tensors by their addresses: the common case of a call with the least overhead."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from dalembert.compiler.cuda.arrays import stream_at

if TYPE_CHECKING:
    from dalembert.compiler.cuda.kernel import CudaKernel


def quick(kernel: CudaKernel, inputs: tuple[Any, ...], out: Any) -> Any:
    """Evaluate on contiguous tensors of one precision and one batch shape on the current device.

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
    if device.type != "cuda" or device.index != torch.cuda.current_device():
        return None
    batch = first.shape[: first.ndim - len(kernel.inputs[0].shape)]
    for x, port in zip(inputs, kernel.inputs):
        if type(x) is not torch.Tensor or x.dtype != dtype or x.device != device or x.shape != (*batch, *port.shape):
            return None
        if not x.is_contiguous() or x.is_neg():
            return None
    if out is None:
        results = [torch.empty((*batch, *port.shape), dtype=dtype, device=device) for port in kernel.outputs]
    else:
        results = list(out) if isinstance(out, tuple) else [out]
        if len(results) != len(kernel.outputs) or not _writable(torch, kernel, inputs, results, batch):
            return None
    with stream_at(torch.cuda.current_stream(device).cuda_stream):
        kernel.launch(name, [x.data_ptr() for x in (*inputs, *results)], 0, math.prod(batch))
    if out is not None:
        return out
    return results[0] if len(results) == 1 else tuple(results)


def _writable(torch: Any, kernel: CudaKernel, inputs: tuple[Any, ...], results: list[Any], batch: Any) -> bool:
    """Whether tensors can take the results: of the right form, and sharing memory with nothing else here."""
    first, taken = inputs[0], [(x.data_ptr(), x.data_ptr() + x.nbytes) for x in inputs]
    for y, port in zip(results, kernel.outputs):
        if type(y) is not torch.Tensor or y.dtype != first.dtype or y.device != first.device or not y.is_contiguous():
            return False
        begin, end = y.data_ptr(), y.data_ptr() + y.nbytes
        if y.shape != (*batch, *port.shape) or any(begin < b and a < end for a, b in taken):
            return False
        taken.append((begin, end))
    return True
