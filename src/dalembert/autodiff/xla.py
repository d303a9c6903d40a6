"""Functions of Python as operations of XLA that work on its own buffers, where they lie.

XLA calls a registered function with a frame that says where arguments and results are, and on which stream (the C
interface of XLA's foreign functions, ``xla/ffi/api/c_api.h`` in JAX's package). Here that function is Python's, made
callable by ctypes: it launches kernels on the stream and copies nothing.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import UnsupportedError

MAJOR = 0
"""Of the interface's version; what is used here is the same since its first minor version."""

METADATA, EXECUTE, INTERNAL = 1, 3, 13
"""Kind of an extension, stage of an execution, code of an error."""

TYPES: dict[int, np.dtype] = {11: np.dtype(np.float32), 12: np.dtype(np.float64)}


class Extension(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("kind", c_int), ("next", c_void_p)]


class Version(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("extension", c_void_p), ("major", c_int), ("minor", c_int)]


class Metadata(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("version", Version), ("traits", c_uint32)]


class MetadataExtension(ctypes.Structure):
    _fields_ = [("base", Extension), ("metadata", POINTER(Metadata))]


class Array(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("extension", c_void_p), ("kind", c_int), ("data", c_void_p), ("rank", c_int64),
        ("dimensions", POINTER(c_int64)),
    ]  # fmt: skip


class Arrays(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("extension", c_void_p), ("count", c_int64), ("kinds", c_void_p),
        ("items", POINTER(POINTER(Array))),
    ]  # fmt: skip


class ErrorArguments(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("extension", c_void_p), ("message", c_char_p), ("code", c_int)]


class StreamArguments(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("extension", c_void_p), ("context", c_void_p), ("stream", c_void_p)]


class XlaInterface(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("extension", c_void_p), ("version", Version), ("internal", c_void_p),
        ("error_create", ctypes.CFUNCTYPE(c_void_p, POINTER(ErrorArguments))),
        ("error_message", c_void_p), ("error_destroy", c_void_p), ("register", c_void_p),
        ("stream_get", ctypes.CFUNCTYPE(c_void_p, POINTER(StreamArguments))),
    ]  # fmt: skip


class CallFrame(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("extension", c_void_p), ("interface", POINTER(XlaInterface)), ("context", c_void_p),
        ("stage", c_int32), ("arguments", Arrays), ("results", Arrays),
    ]  # fmt: skip


HANDLER = ctypes.CFUNCTYPE(c_void_p, POINTER(CallFrame))


class Buffer(NamedTuple):
    """An array of XLA: its address, its shape and its type."""

    pointer: int
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        return math.prod(self.shape)


Run = Callable[[Sequence[Buffer], Sequence[Buffer], int], None]
"""What an operation does: with arguments, results and the address of the stream (0 on the processor)."""

_kept: dict[str, Any] = {}
"""Handlers by name: XLA keeps their addresses for the life of the process."""


def register(jax: Any, name: str, platform: str, run: Run) -> None:
    """Make an operation known to XLA; once for each name.

    Args:
        name: by which ``jax.ffi.ffi_call`` finds it.
        platform: ``"CUDA"`` or ``"cpu"``.
    """
    if not hasattr(jax, "ffi"):
        raise UnsupportedError(f"JAX {jax.__version__} has no jax.ffi; kernels inside jit need a newer one")
    if name in _kept:
        return

    def handle(pointer: Any) -> int | None:
        frame = pointer.contents
        if frame.extension and _describe(frame):
            return None
        try:
            if frame.stage == EXECUTE:
                stream = _stream(frame) if platform == "CUDA" else 0
                run(_buffers(frame.arguments), _buffers(frame.results), stream)
        except BaseException as error:  # must not leave through C
            return _failed(frame, f"{type(error).__name__}: {error}")
        return None

    _kept[name] = HANDLER(handle)
    capsule = jax.ffi.pycapsule(_kept[name])
    jax.ffi.register_ffi_target(name, capsule, platform=platform, api_version=1)


def _describe(frame: CallFrame) -> bool:
    """Answer the question for which version of the interface a function is made, if it is asked."""
    extension = ctypes.cast(frame.extension, POINTER(Extension)).contents
    if extension.kind != METADATA:
        return False
    metadata = ctypes.cast(frame.extension, POINTER(MetadataExtension)).contents.metadata.contents
    own = frame.interface.contents.version if frame.interface else Version(0, None, MAJOR, 1)
    metadata.version.major, metadata.version.minor = MAJOR, own.minor
    metadata.traits = 0
    return True


def _buffers(arrays: Arrays) -> list[Buffer]:
    found = []
    for k in range(arrays.count):
        item = arrays.items[k].contents
        if item.kind not in TYPES:
            raise TypeError(f"argument {k} is of XLA's type {item.kind}; float32 or float64 is needed")
        found.append(Buffer(item.data or 0, tuple(item.dimensions[: item.rank]), TYPES[item.kind]))
    return found


def _stream(frame: CallFrame) -> int:
    asked = StreamArguments(ctypes.sizeof(StreamArguments), None, frame.context, None)
    if frame.interface.contents.stream_get(ctypes.byref(asked)):
        raise RuntimeError("XLA gave no stream")
    return asked.stream or 0


def _failed(frame: CallFrame, message: str) -> int:
    arguments = ErrorArguments(ctypes.sizeof(ErrorArguments), None, message.encode(), INTERNAL)
    return frame.interface.contents.error_create(ctypes.byref(arguments))
