"""Python functions as machine code: calls of a loop that do not pass through NumPy's machinery, as LLVM IR.

Both functions get, as their ``self``, a tuple whose first item is a bytes object: a table of 64-bit words with all they
need to know. Its other items keep alive what the words point to.
"""

from __future__ import annotations

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

MAXIMUM = 32
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
  %pointers = alloca [{MAXIMUM} x ptr]
  %made = alloca [{MAXIMUM} x ptr]
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
