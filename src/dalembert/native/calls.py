"""Calls of compiled code with as little as possible between Python and the loop.

NumPy's machinery for ufuncs costs most of a microsecond per call, several times the evaluation of one state of
a robot arm. So a call on a single state that needs none of it goes straight to the loop (`quick_call`), and a
call that is repeated on the same arrays prepares everything once (`bound_call`).
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from dalembert.native.llvm.thunk import BOUND_HEADER, MAXIMUM, QUICK_HEADER
from dalembert.tracing.program import Port

_METH_NOARGS, _METH_FASTCALL = 0x0004, 0x0080
_ARRAY_TYPE, _ARRAY_RETURN, _ARRAY_EMPTY = 2, 76, 184  # positions in NumPy's table, fixed by its binary interface


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


@cache
def _definition(function: str) -> _MethodDef:
    from dalembert.native.load import load_thunks

    flags = _METH_NOARGS if function == "dalembert_bound" else _METH_FASTCALL
    return _MethodDef(function.encode(), load_thunks().address(function), flags, None)


def _python_function(function: str, words: Sequence[int], keep: object) -> Callable[..., Any]:
    """A Python function implemented by one of the thunks, with its table of words."""
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype, create.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    definition = _definition(function)
    return create(ctypes.addressof(definition), (struct.pack(f"={len(words)}q", *words), keep), None)


def _table(header: tuple[str, ...], values: dict[str, int], arrays: dict[str, Sequence[int]]) -> list[int]:
    """The words of a header, then arrays, whose positions are put into the header."""
    words: list[int] = []
    position = len(header)
    for name, array in arrays.items():
        values[name] = position
        position += len(array)
        words += array
    return [values[name] for name in header] + words


def bound_call(
    loop: int, arrays: Sequence[np.ndarray], ports: Sequence[Port], count: int, release: bool, keep: object
) -> Callable[[], None]:
    """A function without arguments that calls a loop on fixed arrays.

    Args:
        loop: where the loop begins.
        arrays: inputs and outputs, each with one batch dimension.
        ports: their core shapes.
        count: the number of states.
        release: whether to release the interpreter lock meanwhile, which costs a little.
        keep: what must stay alive, besides the arrays.
    """
    outer = [array.strides[0] for array in arrays]
    core = [step for array in arrays for step in array.strides[1:]]
    sizes = [size for port in ports for size in port.shape]
    words = _table(
        BOUND_HEADER,
        {"loop": loop, "stream": 0, "release": int(release), "none": id(None)},
        {
            "args": [array.ctypes.data for array in arrays],
            "dimensions": [count, *sizes],
            "steps": [*outer, *core],
        },
    )
    return _python_function("dalembert_bound", words, (tuple(arrays), keep))


def quick_call(
    loop: int, dtype: np.dtype, inputs: Sequence[Port], outputs: Sequence[Port], keep: object
) -> Callable[..., Any] | None:
    """A function of plain arrays of one state, that returns what the ufunc would; NotImplemented for anything else.

    None if this interpreter or NumPy lays out its objects in a way that is not known.

    Args:
        loop: where the loop begins.
        dtype: of the arrays.
        inputs: the input arrays.
        outputs: the output arrays.
        keep: what must stay alive.
    """
    ports = [*inputs, *outputs]
    if len(ports) > MAXIMUM or not _layout_is_known():
        return None
    steps = [dtype.itemsize * math.prod(port.shape[d + 1 :]) for port in ports for d in range(len(port.shape))]
    table = _array_table()
    words = _table(
        QUICK_HEADER,
        {
            "loop": loop,
            "stream": 0,
            "single": 1,
            "inputs": len(inputs),
            "outputs": len(outputs),
            "refusal": id(NotImplemented),
            "array": table[_ARRAY_TYPE],
            "descr": id(dtype),
            "empty": table[_ARRAY_EMPTY],
            "scalar": table[_ARRAY_RETURN],
        },
        {
            "ranks": [len(port.shape) for port in ports],
            "shapes": [size for port in ports for size in port.shape],
            "steps": [0] * len(ports) + steps,
        },
    )
    return _python_function("dalembert_quick", words, (dtype, keep))


def _array_table() -> Any:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get_pointer(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


@cache
def _layout_is_known() -> bool:
    """Whether an array object has its fields where the thunk looks for them."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    probe = np.zeros((3, 5))

    def field(kind: Any, offset: int) -> int:
        return kind.from_address(id(probe) + offset).value

    word, integer = ctypes.c_size_t, ctypes.c_int
    found = field(word, 8), field(word, 16), field(integer, 24), field(word, 56), field(integer, 64) & 0x101
    if found != (id(np.ndarray), probe.ctypes.data, 2, id(np.dtype(np.float64)), 0x101):
        return False
    shape = (ctypes.c_ssize_t * 2).from_address(field(word, 32))
    return tuple(shape) == probe.shape and _array_table()[_ARRAY_TYPE] == id(np.ndarray)
