"""From CUDA source to a function that can be launched, and how many of its blocks a device holds at once."""

from __future__ import annotations

from typing import Any

from dalembert.compiler.cuda.arrays import cupy
from dalembert.errors import CompilerError

RESERVED = 1024
"""Bytes of shared memory that the system takes for each block."""


def compiled(name: str, source: str, kernel: str) -> Any:
    """A kernel of a source text, compiled by NVRTC for the current device.

    Args:
        name: of what is computed, for messages.
        source: the text.
        kernel: name of the kernel in it.
    """
    cp = cupy()
    try:
        return cp.RawModule(code=source, backend="nvrtc", options=("-std=c++14",)).get_function(kernel)
    except cp.cuda.compiler.CompileException as error:
        raise CompilerError(f"{name}: NVRTC refused the generated source: {error}") from error


def resident_blocks(function: Any, threads: int, shared: int, device: int) -> int:
    """How many blocks of a kernel are at work at the same time on a whole device.

    Args:
        function: the kernel.
        threads: of a block.
        shared: bytes of shared memory of a block.
        device: index of the device.
    """
    has = cupy().cuda.Device(device).attributes
    each = has["MaxThreadsPerMultiProcessor"] // threads
    each = min(each, has["MaxRegistersPerMultiprocessor"] // max(function.num_regs, 1) // threads)
    if shared:
        each = min(each, has["MaxSharedMemoryPerMultiprocessor"] // (shared + RESERVED))
    return max(1, each) * has["MultiProcessorCount"]


def shared_memory(device: int) -> int:
    """Bytes of shared memory that a block can have.

    Args:
        device: index of the device.
    """
    return cupy().cuda.Device(device).attributes["MaxSharedMemoryPerBlockOptin"]
