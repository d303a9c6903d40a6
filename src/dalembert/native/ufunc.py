"""Register a compiled loop as a real ``numpy.ufunc`` with a core signature.

NumPy offers this to extension modules written in C, through a table of function pointers; ctypes reaches the same
table, so no extension module is needed.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, CompilerError
from dalembert.tracing.program import Port

_FROM_FUNC_AND_DATA_AND_SIGNATURE = 31  # position in NumPy's table, fixed by its binary interface
_NO_IDENTITY = -1
_OPERANDS = 64  # NumPy's NPY_MAXARGS

LOOP = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.POINTER(ctypes.c_ssize_t),
    ctypes.c_void_p,
)
"""The inner loop of a ufunc: arguments, dimensions, steps, data."""


THROUGH, STREAMED = (ctypes.c_int64 * 1)(0), (ctypes.c_int64 * 1)(1)
"""The two possible data of a loop: write outputs through the caches, or past them."""


@dataclass
class Loop:
    """A compiled loop.

    Args:
        dtype: of all its arguments, inputs and outputs.
        address: where the function begins.
    """

    dtype: np.dtype
    address: int


class _Fields(ctypes.Structure):
    """The beginning of ``PyUFuncObject`` after the object header, as declared in NumPy's public header."""

    _fields_ = (
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved1", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("types", ctypes.c_void_p),
        ("doc", ctypes.c_char_p),
        ("ptr", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
    )


def signature(inputs: Sequence[Port], outputs: Sequence[Port]) -> str:
    """NumPy's core signature of a kernel, such as ``(7),(7),(7)->(7,7),()``.

    NumPy has no core dimension of fixed size zero; such dimensions get a name, and the kernel checks their size.
    """
    side = [",".join(f"({','.join(str(n) if n else 'zero' for n in p.shape)})" for p in s) for s in (inputs, outputs)]
    return "->".join(side)


def make_ufunc(
    name: str,
    doc: str,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    loops: Sequence[Loop],
    keep: Any,
    data: ctypes.Array = THROUGH,
) -> np.ufunc:
    """A ufunc that calls compiled loops.

    Args:
        loops: the loops in the order in which NumPy tries them.
        keep: anything that must stay alive as long as the ufunc, such as the code of the loops.
        data: of all loops, `THROUGH` or `STREAMED`.
    """
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    count = len(inputs) + len(outputs)
    functions = (ctypes.c_void_p * len(loops))(*(loop.address for loop in loops))
    pointers = (ctypes.c_void_p * len(loops))(*[ctypes.addressof(data)] * len(loops))
    types = ctypes.create_string_buffer(b"".join(bytes([loop.dtype.num]) * count for loop in loops))
    texts = [ctypes.create_string_buffer(text.encode()) for text in (name, doc, signature(inputs, outputs))]

    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get_pointer(_multiarray_umath._UFUNC_API, None), ctypes.POINTER(ctypes.c_void_p))
    word = ctypes.c_void_p
    integer = ctypes.c_int
    create = ctypes.PYFUNCTYPE(
        ctypes.py_object, word, word, word, integer, integer, integer, integer, word, word, integer, word
    )(table[_FROM_FUNC_AND_DATA_AND_SIGNATURE])
    addresses = [ctypes.addressof(text) for text in texts]
    if count > _OPERANDS:
        raise ArgumentError(
            f"kernel {name} has {count} inputs and outputs, NumPy allows {_OPERANDS}; gather some of them in one array"
        )
    ufunc = create(
        ctypes.addressof(functions),
        ctypes.addressof(pointers),
        ctypes.addressof(types),
        len(loops),
        len(inputs),
        len(outputs),
        _NO_IDENTITY,
        addresses[0],
        addresses[1],
        0,
        addresses[2],
    )
    _own(ufunc, (functions, pointers, types, texts, keep))
    return ufunc


def _own(ufunc: np.ufunc, keep: object) -> None:
    """Make the ufunc keep an object alive, by the field that NumPy's header provides for this.

    NumPy shows ufuncs to the garbage collector only if it has filled that field itself, so it is done here.
    """
    fields = _fields(ufunc)
    fields.obj = id(keep)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(keep))
    if not gc.is_tracked(ufunc):
        ctypes.pythonapi.PyObject_GC_Track(ctypes.py_object(ufunc))


def _fields(ufunc: np.ufunc) -> _Fields:
    fields = _Fields.from_address(id(ufunc) + object.__basicsize__)
    if (fields.nin, fields.nout, fields.nargs) != (ufunc.nin, ufunc.nout, ufunc.nargs) or fields.obj:
        raise CompilerError(f"numpy {np.__version__} lays out its ufuncs in a way dalembert does not know")
    return fields
