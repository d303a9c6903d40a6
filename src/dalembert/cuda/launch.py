"""From CUDA source to a function that can be launched, and how many of its blocks a device holds at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.cuda.arrays import cupy
from dalembert.cuda.source import CudaSource
from dalembert.cuda.tuning import PLAIN_SHARED_BYTES, RESERVED_BYTES, WARP
from dalembert.errors import CompilerError, DeviceError
from dalembert.printing.c_family import Real


def compiled(name: str, source: str, kernel: str) -> Any:
    """A kernel of a source text, compiled by NVRTC for the current device."""
    cp = cupy()
    try:
        return cp.RawModule(code=source, backend="nvrtc", options=("-std=c++14",)).get_function(kernel)
    except cp.cuda.compiler.CompileException as error:
        raise CompilerError(f"{name}: NVRTC refused the generated source: {error}") from error


REALS: dict[np.dtype, Real] = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}
"""C's name of each precision."""

NONE = np.uint32(0)
"""No input is shared; numbers of NumPy take long to make."""


class Launch:
    """A kernel compiled for a device.

    Args:
        device: index of the device, which must be the current one.
    """

    def __init__(self, name: str, source: CudaSource, device: int):
        room = shared_memory(device)
        if source.shared > room:
            raise DeviceError(
                f"{name}: a block needs {source.shared} bytes of shared memory, CUDA device {device} has {room}; use "
                "device='cpu'"
            )
        self.source = source
        self.function = compiled(name, source.source, source.kernel)
        if source.shared > PLAIN_SHARED_BYTES:
            self.function.max_dynamic_shared_size_bytes = source.shared
        self._blocks = resident_blocks(self.function, source.threads, source.shared, device)

    between: tuple[tuple[int, ...], ...] = ()
    """Shapes, for one state, of the arrays that it needs beside those of the caller: none."""

    def __call__(self, arrays: Sequence[Any], shared: int, count: int, scratch: Sequence[Any] = ()) -> None:
        """Launch on CuPy's current stream.

        Args:
            arrays: inputs, then outputs: arrays or addresses.
            shared: bit k says that input k has one value for all states.
        """
        source = self.source
        grid, threads = min(-(-count // source.states), self._blocks), source.threads
        if source.warps and count:  # 4096 loops over 40 Panda linearisations: 0.61 instead of 1.38 ms on an H200
            grid, threads = block_shape(count, threads, self._blocks)
        arguments = (*arrays, np.uint32(shared) if shared else NONE, count)  # an int is passed in 64 bits
        self.function((grid,), (threads,), arguments, shared_mem=source.shared)


def block_shape(n: int, threads: int, blocks: int) -> tuple[int, int]:
    """Blocks, and threads of each, for n states: all multiprocessors get the same share, in whole warps.

    Args:
        threads: the most of a block.
        blocks: of that size are at work at the same time.
    """
    rounds = -(-n // (threads * blocks))
    each = -(-n // (rounds * blocks))
    threads = min(threads, -(-each // WARP) * WARP)
    return min(-(-n // threads), blocks), threads


def resident_blocks(function: Any, threads: int, shared: int, device: int) -> int:
    """How many blocks of a kernel are at work at the same time on a whole device."""
    has = cupy().cuda.Device(device).attributes
    each = has["MaxThreadsPerMultiProcessor"] // threads
    each = min(each, has["MaxRegistersPerMultiprocessor"] // max(function.num_regs, 1) // threads)
    if shared:
        each = min(each, has["MaxSharedMemoryPerMultiprocessor"] // (shared + RESERVED_BYTES))
    return max(1, each) * has["MultiProcessorCount"]


def shared_memory(device: int) -> int:
    """Bytes of shared memory that a block can have."""
    return cupy().cuda.Device(device).attributes["MaxSharedMemoryPerBlockOptin"]
