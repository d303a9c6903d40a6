"""Arrays of other libraries on the device: taken without copying, given back in the caller's kind.

CuPy arrays, PyTorch tensors, JAX arrays, and anything with ``__cuda_array_interface__`` or DLPack. NumPy arrays are
copied to the device and the result is copied back, with a warning that says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import ArgumentError, DalembertError, DeviceError, MissingExtraError
from dalembert.labels import unlabelled
from dalembert.native.arguments import no_array

CUDA = (2, 13)
"""How DLPack numbers memory of CUDA devices and managed memory."""


class DeviceCopyWarning(UserWarning):
    """Data is copied or converted on every call."""


class Lent(NamedTuple):
    """The value of an input that a call leaves out, as a CuPy array."""

    array: Any


def cupy() -> ModuleType:
    """CuPy, or an error that says how to get it."""
    try:
        import cupy as module
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "cupy":
            raise MissingExtraError("cupy", "cuda", "computing on a CUDA device") from error
        raise DeviceError(
            "CuPy is installed but cannot be imported; its wheel must be the one for your CUDA, such as cupy-cuda12x: "
            f"{' '.join(str(error).split())}"
        ) from error
    return module


def library(arrays: tuple[Any, ...]) -> str:
    """``numpy``, ``cupy``, ``torch``, ``jax`` or ``other``: the first of the arrays that is not NumPy's decides."""
    for x in arrays:
        root = type(x).__module__.partition(".")[0]
        if root == "cupy":
            return "cupy"
        if root == "torch":
            return "torch"
        if root in ("jax", "jaxlib"):
            return "jax"
        if not isinstance(x, (np.ndarray, np.number, float, int, list, tuple)):
            return "other"
    return "numpy"


def take(x: Any, name: str) -> Any:
    """Any array as a CuPy array; without copying if it is on the device."""
    cp = cupy()
    if isinstance(x, cp.ndarray):
        found = x
    elif type(x).__module__.partition(".")[0] == "torch":
        if records(x):
            raise ArgumentError(
                f"{name} is a PyTorch tensor that records derivatives, which kernels by themselves do not: use "
                f"TorchDynamics, or {name}.detach()"
            )
        if x.is_neg():  # DLPack passes on what is stored, without that
            raise ArgumentError(f"{name} is a PyTorch tensor of which the negative is stored; use {name}.resolve_neg()")
        if not x.is_cuda:
            raise ArgumentError(f"{name} is a PyTorch tensor on {x.device}; move it with .cuda(), or use device='cpu'")
        found = _from_dlpack(cp, x.detach(), name)
    elif hasattr(x, "__cuda_array_interface__"):
        found = cp.asarray(x)
    elif hasattr(x, "__dlpack_device__") and not isinstance(x, np.ndarray):
        if x.__dlpack_device__()[0] not in CUDA:
            raise ArgumentError(f"{name} is not on a CUDA device; move it there, or use device='cpu'")
        found = _from_dlpack(cp, x, name)
    else:
        try:
            host = np.asarray(unlabelled(x, name))
        except DalembertError:
            raise
        except (TypeError, ValueError) as error:
            raise no_array(name, x, error) from error
        if host.dtype.kind not in "fiu":
            raise ArgumentError(f"{name} has dtype {host.dtype}; it must be real numbers")
        if host.dtype.kind == "f" and not np.can_cast(host.dtype, np.float64):
            raise ArgumentError(f"{name} has dtype {host.dtype}, longer than float64; convert it with astype(float)")
        found = cp.asarray(host)
    if found.dtype.kind not in "fiu":
        raise ArgumentError(f"{name} has dtype {found.dtype}; it must be real numbers")
    return found


def _from_dlpack(cp: Any, x: Any, name: str) -> Any:
    try:
        return cp.from_dlpack(x)
    except (NotImplementedError, TypeError, BufferError) as error:  # short floats, for one, that CuPy does not know
        raise ArgumentError(
            f"{name} is a {type(x).__name__} of {x.dtype}, which CuPy does not take ({error}); convert it to float32 "
            "or float64"
        ) from error


def records(x: Any) -> bool:
    """Whether operations on a PyTorch tensor are recorded now, to be differentiated."""
    if not x.requires_grad:
        return False
    import torch

    return torch.is_grad_enabled()


def give(y: Any, kind: str) -> Any:
    """A CuPy array in the caller's kind."""
    if kind == "torch":
        import torch

        return torch.from_dlpack(y)
    if kind == "jax":
        import jax

        return jax.dlpack.from_dlpack(cupy().ascontiguousarray(y))  # JAX knows no strides
    if kind == "numpy":
        return cupy().asnumpy(y)
    return y


@contextmanager
def stream(kind: str, arrays: Sequence[Any]) -> Iterator[None]:
    """Work on the device of the arrays, on the stream on which the caller's library works there.

    Args:
        kind: of the arrays, by :func:`library`.
        arrays: what the caller gave.
    """
    cp = cupy()
    device = _device(arrays)
    with cp.cuda.Device(device):  # first, for CuPy has a current stream for each
        if kind == "torch" and device is not None:  # else they are elsewhere, which is an error when they are taken
            import torch

            with stream_at(torch.cuda.current_stream(device).cuda_stream):
                yield
            return
        if kind == "jax":
            for x in arrays:
                if hasattr(x, "block_until_ready"):
                    x.block_until_ready()
        yield
        if kind == "jax":  # on streams of its own it reads results, and writes where arguments were that nobody keeps
            cp.cuda.get_current_stream().synchronize()


def _device(arrays: Sequence[Any]) -> int | None:
    """Index of the CUDA device of the first of the arrays that is on one; None if none is."""
    for x in arrays:
        if hasattr(x, "__dlpack_device__"):
            kind, index = x.__dlpack_device__()
            if kind in CUDA:
                return index
    return None


class _Address:
    """A stream as libraries pass it to each other."""

    def __init__(self, address: int):
        self.address = address

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


def stream_at(address: int) -> AbstractContextManager[Any]:
    """A stream of another library, to be entered; nothing happens if it is CuPy's current one.

    Args:
        address: of the stream; 0 is the default one.
    """
    cp = cupy()
    if cp.cuda.get_current_stream().ptr == address:
        return nullcontext()  # entering a stream takes as long as all checks of arguments
    if hasattr(cp.cuda.Stream, "from_external"):
        return cp.cuda.Stream.from_external(_Address(address))
    return cp.cuda.ExternalStream(address)


def to_host(x: Any) -> np.ndarray:
    """Any array as a NumPy array.

    Args:
        x: an array of any library, on the device or not.
    """
    if isinstance(x, np.ndarray):
        return x
    if type(x).__module__.partition(".")[0] == "torch":
        return x.detach().cpu().numpy()
    return x.get() if hasattr(x, "get") else np.asarray(x)


def overlap(read: Sequence[Any], written: Sequence[Any]) -> bool:
    """Whether a written array shares memory with another one; all are CuPy's and contiguous."""
    spans = []
    for x in read:
        begin = x.data.ptr
        spans.append((begin, begin + x.nbytes))
    for y in written:
        begin = y.data.ptr
        end = begin + y.nbytes
        for other_begin, other_end in spans:
            if begin < other_end and other_begin < end:
                return True
        spans.append((begin, end))
    return False


def device_error(name: str, error: Exception) -> DeviceError | None:
    """What CuPy raises for lack of a device, of memory or of a compiler, as an error of ours; None for all others."""
    if isinstance(error, DalembertError):  # says what it is, also where there is no CuPy
        return None
    cp = cupy()
    if isinstance(error, cp.cuda.memory.OutOfMemoryError):
        free, total = cp.cuda.runtime.memGetInfo()
        return DeviceError(
            f"{name}: the memory of the CUDA device is full ({free / 2**30:.1f} of {total / 2**30:.1f} GiB are free, "
            f"and CuPy keeps {cp.get_default_memory_pool().free_bytes() / 2**30:.1f} GiB for reuse): {error}; compute "
            "in pieces, or free arrays and call cupy.get_default_memory_pool().free_all_blocks()"
        )
    if isinstance(error, (cp.cuda.runtime.CUDARuntimeError, cp.cuda.driver.CUDADriverError)):
        if any(word in str(error) for word in ("NoDevice", "InsufficientDriver", "NO_DEVICE", "NOT_INITIALIZED")):
            return DeviceError(f"{name}: there is no CUDA device here, or no driver; use device='cpu' ({error})")
        return DeviceError(f"{name}: the CUDA device cannot be used: {error}")
    if isinstance(error, RuntimeError) and any(file in str(error) for file in ("libnvrtc", "nvrtc64")):
        return DeviceError(
            f"{name}: CuPy finds no compiler; it comes with a CUDA toolkit, or with pip install 'dalembert[cuda]' "
            f"({' '.join(str(error).split())})"
        )
    return None


@contextmanager
def device_errors(name: str) -> Iterator[None]:
    """Raise errors of ours where CuPy lacks a device or memory."""
    try:
        yield
    except Exception as error:
        found = device_error(name, error)
        if found is None:
            raise
        raise found from error


def warn_once(kernel: Any, how: str) -> None:
    """Say that calls of a kernel take longer than they need, once.

    Args:
        kernel: what is called.
        how: what happens on every such call.
    """
    if not kernel.warned:
        kernel.warned = True
        warnings.warn(
            f"{kernel.name} is {how}; pass arrays or tensors of one library, one device and one precision",
            DeviceCopyWarning,
            stacklevel=4,
        )


def warn_copy(name: str) -> None:
    """Say that NumPy arrays are copied."""
    warnings.warn(
        f"{name}: NumPy arrays are copied to the device and back on every call; pass CuPy, PyTorch or JAX arrays to "
        "keep them there",
        DeviceCopyWarning,
        stacklevel=4,
    )
