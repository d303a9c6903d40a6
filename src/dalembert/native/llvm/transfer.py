"""Moving numbers between the caller's arrays and the scratch, as LLVM IR.

In the caller's arrays the numbers of one state usually lie side by side; in the scratch the same number of neighbouring
states does. Five ways lead from one to the other, chosen at run time for each array by its strides:

- *splat*: one state serves all lanes (a broadcast argument, or a single state);
- *columns*: neighbouring states are neighbours in memory; nothing but vector loads and stores;
- *rows*: the numbers of a state are neighbours in memory; groups of 16 or 32 bytes per state are transposed in
  registers (module `rows`);
- *stream*: the same for outputs far larger than the caches, which are written past them;
- *strided*: anything else, and the last, incomplete block of states; one number at a time.

None touches memory outside the array: a last group of columns that would be incomplete overlaps its predecessor
instead, and lanes without a state of their own repeat the last one.
"""

from __future__ import annotations

from dalembert.native.llvm.rows import group, load_rows, store_rows, stream
from dalembert.native.llvm.target import Lanes

SPLAT, COLUMNS, ROWS, STRIDED, STREAM = range(5)
"""The ways, as numbered in the generated code."""


def _over_columns(body: str) -> str:
    """Loop over columns; ``%o`` is the byte offset of a column from the first. Needs %count >= 1."""
    return f"""
entry:
  br label %body
body:
  %c = phi i64 [ 0, %entry ], [ %c.next, %next ]
  %o.p = getelementptr i64, ptr %offsets, i64 %c
  %o = load i64, ptr %o.p
  %column = getelementptr i8, ptr %base, i64 %o
{body}
  br label %next
next:
  %c.next = add i64 %c, 1
  %more = icmp slt i64 %c.next, %count
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""


def _load_splat(lanes: Lanes) -> str:
    v, w, scalar = lanes.vector, lanes.width, lanes.scalar
    body = f"""
  %x = load {scalar}, ptr %column
  %one = insertelement {v} undef, {scalar} %x, i32 0
  %all = shufflevector {v} %one, {v} undef, <{w} x i32> zeroinitializer
  %place = getelementptr {v}, ptr %to, i64 %c
  store {v} %all, ptr %place, align {lanes.bytes}"""
    return "define void @rt.load_splat(ptr %base, ptr %offsets, i64 %count, ptr noalias %to) {" + _over_columns(body)


def _load_columns(lanes: Lanes) -> str:
    v = lanes.vector
    body = f"""
  %x = load {v}, ptr %column, align {lanes.itemsize}
  %place = getelementptr {v}, ptr %to, i64 %c
  store {v} %x, ptr %place, align {lanes.bytes}"""
    return "define void @rt.load_columns(ptr %base, ptr %offsets, i64 %count, ptr noalias %to) {" + _over_columns(body)


def _store_columns(lanes: Lanes) -> str:
    v = lanes.vector
    body = f"""
  %entry.p = getelementptr i64, ptr %table, i64 %c
  %slot = load i64, ptr %entry.p
  %place = getelementptr i8, ptr %scratch, i64 %slot
  %x = load {v}, ptr %place, align {lanes.bytes}
  store {v} %x, ptr %column, align {lanes.itemsize}"""
    return (
        "define void @rt.store_columns(ptr %base, ptr %offsets, ptr %table, i64 %count, ptr noalias %scratch) {"
        + _over_columns(body)
    )


def _load_strided(lanes: Lanes) -> str:
    v, w, scalar = lanes.vector, lanes.width, lanes.scalar
    body = f"""
  br label %each
each:
  %lane = phi i64 [ 0, %body ], [ %lane.next, %each ]
  %own = icmp slt i64 %lane, %states
  %state = select i1 %own, i64 %lane, i64 %final
  %shift = mul i64 %state, %stride
  %from = getelementptr i8, ptr %column, i64 %shift
  %x = load {scalar}, ptr %from
  %vector = getelementptr {v}, ptr %to, i64 %c
  %place = getelementptr {scalar}, ptr %vector, i64 %lane
  store {scalar} %x, ptr %place
  %lane.next = add i64 %lane, 1
  %lane.more = icmp slt i64 %lane.next, {w}
  br i1 %lane.more, label %each, label %filled
filled:"""
    return (
        "define void @rt.load_strided"
        "(ptr %base, i64 %stride, i64 %states, ptr %offsets, i64 %count, ptr noalias %to) {"
        + _over_columns(body).replace("entry:\n", "entry:\n  %final = sub i64 %states, 1\n")
    )


def _store_strided(lanes: Lanes) -> str:
    scalar = lanes.scalar
    body = f"""
  %entry.p = getelementptr i64, ptr %table, i64 %c
  %slot = load i64, ptr %entry.p
  %vector = getelementptr i8, ptr %scratch, i64 %slot
  br label %each
each:
  %lane = phi i64 [ 0, %body ], [ %lane.next, %each ]
  %place = getelementptr {scalar}, ptr %vector, i64 %lane
  %x = load {scalar}, ptr %place
  %shift = mul i64 %lane, %stride
  %to = getelementptr i8, ptr %column, i64 %shift
  store {scalar} %x, ptr %to
  %lane.next = add i64 %lane, 1
  %lane.more = icmp slt i64 %lane.next, %states
  br i1 %lane.more, label %each, label %emptied
emptied:"""
    return (
        "define void @rt.store_strided"
        "(ptr %base, i64 %stride, i64 %states, ptr %offsets, ptr %table, i64 %count, ptr noalias %scratch) {"
        + _over_columns(body)
    )


def _offsets() -> str:
    """Byte offsets of the elements of an array, in C order, from its shape and strides."""
    return """
define void @rt.offsets(ptr %table, ptr %shape, ptr %strides, i64 %rank) {
entry:
  store i64 0, ptr %table
  %any = icmp sgt i64 %rank, 0
  br i1 %any, label %axis, label %end
axis: ; each element of the table so far becomes a run along the next axis, the last one first, in place
  %d = phi i64 [ 0, %entry ], [ %d.next, %axis.next ]
  %filled = phi i64 [ 1, %entry ], [ %filled.next, %axis.next ]
  %size.p = getelementptr i64, ptr %shape, i64 %d
  %size = load i64, ptr %size.p
  %step.p = getelementptr i64, ptr %strides, i64 %d
  %step = load i64, ptr %step.p
  br label %outer
outer:
  %i.after = phi i64 [ %filled, %axis ], [ %i, %outer.next ]
  %i = sub i64 %i.after, 1
  %old.p = getelementptr i64, ptr %table, i64 %i
  %old = load i64, ptr %old.p
  %start = mul i64 %i, %size
  br label %inner
inner:
  %j.after = phi i64 [ %size, %outer ], [ %j, %inner ]
  %j = sub i64 %j.after, 1
  %shift = mul i64 %j, %step
  %new = add i64 %old, %shift
  %k = add i64 %start, %j
  %new.p = getelementptr i64, ptr %table, i64 %k
  store i64 %new, ptr %new.p
  %inner.more = icmp sgt i64 %j, 0
  br i1 %inner.more, label %inner, label %outer.next
outer.next:
  %outer.more = icmp sgt i64 %i, 0
  br i1 %outer.more, label %outer, label %axis.next
axis.next:
  %filled.next = mul i64 %filled, %size
  %d.next = add i64 %d, 1
  %axis.more = icmp slt i64 %d.next, %rank
  br i1 %axis.more, label %axis, label %end
end:
  ret void
}
"""


def functions(lanes: Lanes) -> str:
    """All loads and stores.

    Args:
        lanes: the register type.
    """
    parts = [_offsets(), _load_splat(lanes), _load_columns(lanes), _store_columns(lanes)]
    if lanes.width > 1:
        parts += [_load_strided(lanes), _store_strided(lanes), stream(lanes)]
        parts += [load_rows(lanes, g) for g in _groups(group(lanes, lanes.width, True))]
        parts += [store_rows(lanes, g) for g in _groups(group(lanes, lanes.width, False))]
    return "\n".join(parts)


def _groups(largest: int) -> list[int]:
    return [1 << k for k in range(largest.bit_length())]
