"""Calls of compiled code with as little as possible between Python and the loop.

NumPy's machinery for ufuncs costs most of a microsecond per call, several times the evaluation of one state of a robot
arm. So a call on a single state that needs none of it goes straight to the loop (`quick_call`), and a call that is
repeated on the same arrays prepares everything once (`bind`).

Both are Python functions written in LLVM IR. They get, as their ``self``, a tuple whose first item is a bytes object: a
table of 64-bit words with all they need to know. Its other items keep alive what the words point to. This file is the
only one that knows the layout of NumPy's array object; where the layout is not as expected, calls take the ufunc.
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
import sysconfig
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.native.arguments import overlap
from dalembert.native.deferred import compiling
from dalembert.native.llvm.engine import Loaded, define_symbol
from dalembert.native.llvm.target import Target
from dalembert.native.load import load_fixed
from dalembert.tracing.program import Port

if TYPE_CHECKING:
    from dalembert.native.kernel import Kernel

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
def _thunks() -> Loaded:
    """The machine code of both functions."""
    text, target = thunks_text(), Target.host()
    with compiling():
        for name in SYMBOLS:
            define_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0)
        return load_fixed("thunks", text, target)


@cache
def _definition(function: str) -> _MethodDef:
    flags = _METH_NOARGS if function == "dalembert_bound" else _METH_FASTCALL
    return _MethodDef(function.encode(), _thunks().address(function), flags, None)


def _python_function(function: str, words: Sequence[int], keep: object) -> Callable[..., Any]:
    """A Python function implemented by one of the thunks, with its table of words."""
    create = ctypes.pythonapi.PyCFunction_NewEx
    create.restype, create.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    definition = _definition(function)  # read once more when the function goes, which may be after this module has gone
    return create(ctypes.addressof(definition), (struct.pack(f"={len(words)}q", *words), keep, definition), None)


def _table(header: tuple[str, ...], values: dict[str, int], arrays: dict[str, Sequence[int]]) -> list[int]:
    """The words of a header, then arrays, whose positions are put into the header."""
    words: list[int] = []
    position = len(header)
    for name, array in arrays.items():
        values[name] = position
        position += len(array)
        words += array
    return [values[name] for name in header] + words


def _bound_call(
    loop: int, arrays: Sequence[np.ndarray], ports: Sequence[Port], count: int, release: bool, keep: object
) -> Callable[[], None]:
    """A function without arguments that calls a loop on fixed arrays.

    Args:
        arrays: inputs and outputs, each with one batch dimension.
        ports: their core shapes.
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
    """
    ports = [*inputs, *outputs]
    if len(ports) > MOST_ARGUMENTS or not _layout_is_known():
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


# ---------------------------------------------------------------------------------------- calls with their arrays fixed


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


def _check_bindable(call: str, port: Port, array: Any, dtype: np.dtype) -> None:
    """Raise unless an array can be used as it lies in memory.

    Args:
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


def _check_overlap(kernel: Kernel, inputs: Sequence[np.ndarray], outputs: tuple[np.ndarray, ...]) -> None:
    """Raise if an output shares memory with another argument, unless it is the very same array as an input."""
    for port, y in zip(kernel.outputs, outputs):
        for other, x in zip(kernel.inputs, inputs):
            if overlap(x, y, len(other.shape) == len(port.shape) and not kernel.compiled.direct):
                raise ArgumentError(f"{kernel.name}.bind: {other.name} and {port.name} overlap in memory")
    kernel.arguments.refuse_shared_outputs(outputs)


def _flat_batch(array: np.ndarray, rank: int, batch: tuple[int, ...]) -> np.ndarray | None:
    """A view with one batch dimension instead of those of ``batch``; None if the strides do not allow it.

    Args:
        array: with batch dimensions that broadcast to ``batch``, then ``rank`` core dimensions.
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
        out: the arrays to write, None for those to be made.
    """
    dtype = kernel.dtype or next((a.dtype for a in inputs if isinstance(a, np.ndarray)), np.dtype(np.float64))
    if dtype not in (np.float64, np.float32):
        dtype = np.dtype(np.float64)
    call = kernel.name
    for port, array in zip(kernel.inputs, inputs):
        _check_bindable(call, port, array, dtype)
    batch = kernel.arguments.batch(inputs, out)
    outputs = tuple(
        np.empty((*batch, *port.shape), dtype) if array is None else array for port, array in zip(kernel.outputs, out)
    )
    ports = (*kernel.inputs, *kernel.outputs)
    for port, array in zip(kernel.outputs, outputs):
        _check_bindable(call, port, array, dtype)
        if not array.flags.writeable:
            raise ArgumentError(f"{call}.bind: out for {port.name} is read-only")
    _check_overlap(kernel, inputs, outputs)
    flat = []
    for port, array in zip(ports, (*inputs, *outputs)):
        view = _flat_batch(array, len(port.shape), batch)
        if view is None:
            raise ArgumentError(
                f"{call}.bind: the batch dimensions of {port.name}, shape {array.shape}, strides {array.strides},"
                " cannot be walked in one stride; bind a contiguous array"
            )
        flat.append(view)
    code = kernel.compiled.code(dtype)
    count = math.prod(batch)
    function = _bound_call(
        code.address("loop"), flat, ports, count, count > kernel.compiled.short, (code, inputs, outputs)
    )
    return BoundKernel(kernel, inputs, outputs, function)


# --------------------------------------------------------------------------------------------- the functions as LLVM IR


SYMBOLS = (
    "PyBytes_AsString", "PyTuple_GetItem", "PyTuple_New", "PyTuple_SetItem", "PyEval_SaveThread",
    "PyEval_RestoreThread", "Py_IncRef", "Py_DecRef",
)  # fmt: skip
"""What is asked of the interpreter."""

BOUND_HEADER = ("loop", "stream", "release", "none", "args", "dimensions", "steps")
"""Words of `dalembert_bound`: the loop and its data; whether to release the interpreter lock; None; where, counted in
words, the arrays of arguments, dimensions and steps begin."""

QUICK_HEADER = (
    "loop", "stream", "single", "inputs", "outputs", "refusal", "array", "descr", "empty", "scalar", "ranks", "shapes",
    "steps",
)  # fmt: skip
"""Words of `dalembert_quick`: the loop and its data; the number 1; the numbers of inputs and outputs; NotImplemented;
NumPy's array type, the dtype, the functions that make an empty array and that turn one without axes into a scalar;
where, counted in words, the ranks of the arguments, their shapes one after the other, and the steps begin."""

MOST_ARGUMENTS = 32
"""Largest number of arguments of `dalembert_quick`."""

# Offsets into an array object, by NumPy's public header: data 16, nd 24, dimensions 32, descr 56, flags 64.
_FLAGS = 0x0101  # C-contiguous and aligned


def _word(name: str, header: tuple[str, ...], kind: str = "i64") -> str:
    pointer = f"  %{name}.p = getelementptr i64, ptr %words, i64 {header.index(name)}\n"
    return pointer + f"  %{name} = load {kind}, ptr %{name}.p\n"


def _words() -> str:
    return """  %bytes = call ptr @PyTuple_GetItem(ptr %self, i64 0)
  %words = call ptr @PyBytes_AsString(ptr %bytes)
"""


def thunks_text() -> str:
    """Both functions.

    ``dalembert_bound(self, unused)`` calls a loop on fixed arrays and returns None. ``dalembert_quick(self, args,
    nargs)`` calls a loop on one state if all arguments are arrays of exactly the right kind, else it returns
    NotImplemented.
    """
    bound = "".join(_word(name, BOUND_HEADER) for name in ("release", "args", "dimensions", "steps"))
    bound += "".join(_word(name, BOUND_HEADER, "ptr") for name in ("loop", "none"))
    quick = "".join(_word(name, QUICK_HEADER) for name in ("inputs", "outputs", "ranks", "shapes", "steps"))
    quick += "".join(
        _word(name, QUICK_HEADER, "ptr") for name in ("loop", "refusal", "array", "descr", "empty", "scalar")
    )
    stream = QUICK_HEADER.index("stream")
    return f"""
declare ptr @PyBytes_AsString(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)

define ptr @dalembert_bound(ptr %self, ptr %unused) {{
entry:
{_words()}{bound}
  %args.at = getelementptr i64, ptr %words, i64 %args
  %dimensions.at = getelementptr i64, ptr %words, i64 %dimensions
  %steps.at = getelementptr i64, ptr %words, i64 %steps
  %stream.at = getelementptr i64, ptr %words, i64 {BOUND_HEADER.index("stream")}
  %long = icmp ne i64 %release, 0
  br i1 %long, label %unlocked, label %locked
unlocked:
  %thread = call ptr @PyEval_SaveThread()
  call void %loop(ptr %args.at, ptr %dimensions.at, ptr %steps.at, ptr %stream.at)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %end
locked:
  call void %loop(ptr %args.at, ptr %dimensions.at, ptr %steps.at, ptr %stream.at)
  br label %end
end:
  call void @Py_IncRef(ptr %none)
  ret ptr %none
}}

define ptr @dalembert_quick(ptr %self, ptr %args, i64 %nargs) {{
entry:
  %pointers = alloca [{MOST_ARGUMENTS} x ptr]
  %made = alloca [{MOST_ARGUMENTS} x ptr]
{_words()}{quick}
  %ranks.at = getelementptr i64, ptr %words, i64 %ranks
  %steps.at = getelementptr i64, ptr %words, i64 %steps
  %stream.at = getelementptr i64, ptr %words, i64 {stream}
  %single.at = getelementptr i64, ptr %words, i64 {QUICK_HEADER.index("single")}
  %shapes.at = getelementptr i64, ptr %words, i64 %shapes
  %right.count = icmp eq i64 %nargs, %inputs
  br i1 %right.count, label %input, label %refuse

input: ; every input must be a plain array of one state
  %k = phi i64 [ 0, %entry ], [ %k.next, %accepted ]
  %shape = phi ptr [ %shapes.at, %entry ], [ %shape.next, %accepted ]
  %x.p = getelementptr ptr, ptr %args, i64 %k
  %x = load ptr, ptr %x.p
  %type.p = getelementptr i8, ptr %x, i64 8
  %type = load ptr, ptr %type.p
  %is.array = icmp eq ptr %type, %array
  br i1 %is.array, label %look, label %refuse
look:
  %rank.p = getelementptr i64, ptr %ranks.at, i64 %k
  %rank = load i64, ptr %rank.p
  %nd.p = getelementptr i8, ptr %x, i64 24
  %nd.short = load i32, ptr %nd.p
  %nd = sext i32 %nd.short to i64
  %right.rank = icmp eq i64 %nd, %rank
  %kind.p = getelementptr i8, ptr %x, i64 56
  %kind = load ptr, ptr %kind.p
  %right.kind = icmp eq ptr %kind, %descr
  %flags.p = getelementptr i8, ptr %x, i64 64
  %flags = load i32, ptr %flags.p
  %flags.wanted = and i32 %flags, {_FLAGS}
  %right.flags = icmp eq i32 %flags.wanted, {_FLAGS}
  %right.2 = and i1 %right.rank, %right.kind
  %right.3 = and i1 %right.2, %right.flags
  br i1 %right.3, label %axes, label %refuse
axes:
  %dims.p = getelementptr i8, ptr %x, i64 32
  %dims = load ptr, ptr %dims.p
  br label %axis
axis:
  %d = phi i64 [ 0, %axes ], [ %d.next, %same ]
  %d.more = icmp slt i64 %d, %rank
  br i1 %d.more, label %compare, label %accepted
compare:
  %size.p = getelementptr i64, ptr %dims, i64 %d
  %size = load i64, ptr %size.p
  %wanted.p = getelementptr i64, ptr %shape, i64 %d
  %wanted = load i64, ptr %wanted.p
  %right.size = icmp eq i64 %size, %wanted
  br i1 %right.size, label %same, label %refuse
same:
  %d.next = add i64 %d, 1
  br label %axis
accepted:
  %x.data.p = getelementptr i8, ptr %x, i64 16
  %x.data = load ptr, ptr %x.data.p
  %pointer.p = getelementptr ptr, ptr %pointers, i64 %k
  store ptr %x.data, ptr %pointer.p
  %shape.next = getelementptr i64, ptr %shape, i64 %rank
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, %inputs
  br i1 %k.more, label %input, label %output

output: ; a new array for every output
  %j = phi i64 [ 0, %accepted ], [ %j.next, %kept ]
  %shape.out = phi ptr [ %shape.next, %accepted ], [ %shape.out.next, %kept ]
  %all.j = add i64 %inputs, %j
  %rank.out.p = getelementptr i64, ptr %ranks.at, i64 %all.j
  %rank.out = load i64, ptr %rank.out.p
  %rank.short = trunc i64 %rank.out to i32
  call void @Py_IncRef(ptr %descr)
  %y = call ptr %empty(i32 %rank.short, ptr %shape.out, ptr %descr, i32 0)
  %failed = icmp eq ptr %y, null
  br i1 %failed, label %undo, label %kept
kept:
  %made.p = getelementptr ptr, ptr %made, i64 %j
  store ptr %y, ptr %made.p
  %y.data.p = getelementptr i8, ptr %y, i64 16
  %y.data = load ptr, ptr %y.data.p
  %y.pointer.p = getelementptr ptr, ptr %pointers, i64 %all.j
  store ptr %y.data, ptr %y.pointer.p
  %shape.out.next = getelementptr i64, ptr %shape.out, i64 %rank.out
  %j.next = add i64 %j, 1
  %j.more = icmp slt i64 %j.next, %outputs
  br i1 %j.more, label %output, label %compute

compute:
  call void %loop(ptr %pointers, ptr %single.at, ptr %steps.at, ptr %stream.at)
  %one.output = icmp eq i64 %outputs, 1
  br i1 %one.output, label %only, label %several
only:
  %only.y = load ptr, ptr %made
  %only.result = call ptr %scalar(ptr %only.y)
  ret ptr %only.result
several:
  %tuple = call ptr @PyTuple_New(i64 %outputs)
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %undo.all, label %item
item:
  %i = phi i64 [ 0, %several ], [ %i.next, %item ]
  %item.p = getelementptr ptr, ptr %made, i64 %i
  %item.y = load ptr, ptr %item.p
  %item.result = call ptr %scalar(ptr %item.y)
  %ignored = call i32 @PyTuple_SetItem(ptr %tuple, i64 %i, ptr %item.result)
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, %outputs
  br i1 %i.more, label %item, label %end
end:
  ret ptr %tuple

undo.all:
  br label %undo
undo: ; out of memory, and the interpreter knows it: give back what was made
  %count = phi i64 [ %j, %output ], [ %outputs, %undo.all ]
  br label %undo.next
undo.next:
  %u = phi i64 [ 0, %undo ], [ %u.next, %undo.one ]
  %u.more = icmp slt i64 %u, %count
  br i1 %u.more, label %undo.one, label %error
undo.one:
  %undo.p = getelementptr ptr, ptr %made, i64 %u
  %undo.y = load ptr, ptr %undo.p
  call void @Py_DecRef(ptr %undo.y)
  %u.next = add i64 %u, 1
  br label %undo.next
error:
  ret ptr null

refuse:
  call void @Py_IncRef(ptr %refusal)
  ret ptr %refusal
}}
"""
