"""Moving numbers between the caller's arrays and the scratch, as LLVM IR.

In the caller's arrays the numbers of one state usually lie side by side; in the scratch the same number of neighbouring
states does. Five ways lead from one to the other, chosen at run time for each array by its strides:

- *splat*: one state serves all lanes (a broadcast argument, or a single state);
- *columns*: neighbouring states are neighbours in memory; nothing but vector loads and stores;
- *rows*: the numbers of a state are neighbours in memory; groups of 16 or 32 bytes per state are transposed in
  registers;
- *stream*: the same for outputs far larger than the caches, which are written past them;
- *strided*: anything else, and the last, incomplete block of states; one number at a time.

None touches memory outside the array: a last group of columns that would be incomplete overlaps its predecessor
instead, and lanes without a state of their own repeat the last one.

By rows, a register of W lanes is filled from W rows. Pieces of g neighbouring numbers are read from each row and
joined, rows k, k + g, k + 2 g, ... in one register; then every g x g square along g such registers is transposed by
interleaving. A store does the same backwards.
"""

from __future__ import annotations

from dalembert.native.llvm.target import Lanes
from dalembert.native.llvm.text import Instructions

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


def _collect(lanes: Lanes) -> str:
    """Registers of the scratch, of which a table has the offsets, side by side."""
    v, size = lanes.vector, lanes.bytes
    return f"""
define void @rt.collect(ptr %scratch, ptr noalias %table, i64 %count, ptr %to) {{
entry:
  br label %body
body:
  %c = phi i64 [ 0, %entry ], [ %c.next, %body ]
  %entry.p = getelementptr i64, ptr %table, i64 %c
  %slot = load i64, ptr %entry.p
  %from = getelementptr i8, ptr %scratch, i64 %slot
  %x = load {v}, ptr %from, align {size}
  %place = getelementptr {v}, ptr %to, i64 %c
  store {v} %x, ptr %place, align {size}
  %c.next = add i64 %c, 1
  %more = icmp slt i64 %c.next, %count
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""


def _spread(lanes: Lanes) -> str:
    """Numbers of a table, each in all lanes of a register."""
    v, w, scalar = lanes.vector, lanes.width, lanes.scalar
    return f"""
define void @rt.spread(ptr noalias %from, i64 %count, ptr noalias %to) {{
entry:
  br label %body
body:
  %c = phi i64 [ 0, %entry ], [ %c.next, %body ]
  %from.p = getelementptr {scalar}, ptr %from, i64 %c
  %x = load {scalar}, ptr %from.p
  %one = insertelement {v} undef, {scalar} %x, i32 0
  %all = shufflevector {v} %one, {v} undef, <{w} x i32> zeroinitializer
  %place = getelementptr {v}, ptr %to, i64 %c
  store {v} %all, ptr %place, align {lanes.bytes}
  %c.next = add i64 %c, 1
  %more = icmp slt i64 %c.next, %count
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""


def _indexed(lanes: Lanes) -> str:
    """Elements of arrays by computed index, lane by lane.

    The nearest index that there is counts, the first one for a NaN. In ``gather`` lanes and elements are so many bytes
    apart; an array of ``scatter`` lies in the scratch.
    """
    scalar = lanes.scalar

    def text(name: str, arguments: str, lane: str, element: str, moved: str) -> str:
        return f"""
define void @rt.{name}({arguments}) {{
entry:
  %last = sub i64 %count, 1
  br label %each
each:
  %lane = phi i64 [ 0, %entry ], [ %lane.next, %each ]
{_index_text(lanes)}
  %shift.k = mul i64 %k, {element}
  %shift.lane = mul i64 %lane, {lane}
  %row = getelementptr i8, ptr %array, i64 %shift.k
  %place = getelementptr i8, ptr %row, i64 %shift.lane
  %own = getelementptr {scalar}, ptr %numbers, i64 %lane
{moved}
  %lane.next = add i64 %lane, 1
  %lane.more = icmp slt i64 %lane.next, {lanes.width}
  br i1 %lane.more, label %each, label %end
end:
  ret void
}}
"""

    found = f"  %y = load {scalar}, ptr %place\n  store {scalar} %y, ptr %own"
    given = f"  %y = load {scalar}, ptr %own\n  store {scalar} %y, ptr %place"
    return text(
        "gather", "ptr %array, i64 %lanes, i64 %elements, i64 %count, ptr %index, ptr %numbers", "%lanes", "%elements",
        found,
    ) + text(
        "scatter", "ptr %array, i64 %count, ptr %index, ptr %numbers", str(lanes.itemsize), str(lanes.bytes), given
    )  # fmt: skip


def _rows_outside(lanes: Lanes) -> str:
    """Moves of neighbouring elements of an array of the caller, from an index on, when they are needed.

    What is called ``where`` has pointer, bytes from state to state, table of offsets, way, and number of states.
    """
    head = """
  %at = load ptr, ptr %where
  %stride.p = getelementptr i64, ptr %where, i64 1
  %stride = load i64, ptr %stride.p
  %offsets.p = getelementptr ptr, ptr %where, i64 2
  %offsets.all = load ptr, ptr %offsets.p
  %way.p = getelementptr i64, ptr %where, i64 3
  %way = load i64, ptr %way.p
  %states.p = getelementptr i64, ptr %where, i64 4
  %states = load i64, ptr %states.p"""

    def move(kind: str, g: int) -> str:
        rest = "i64 %count, ptr %to" if kind == "load" else "ptr %table, i64 %count, ptr %scratch"
        arguments = "i64 %count, ptr %to" if kind == "load" else "i64 %count, ptr %table, ptr %scratch"
        calls = {COLUMNS: f"{kind}_columns(ptr %at, ptr %offsets, {rest})"}
        if kind == "load":
            calls[SPLAT] = f"load_splat(ptr %at, ptr %offsets, {rest})"
        if lanes.width > 1:
            calls[ROWS] = f"{kind}_rows{g}(ptr %row, i64 %stride, {rest})"
            calls[STRIDED] = f"{kind}_strided(ptr %at, i64 %stride, i64 %states, ptr %offsets, {rest})"
        cases = " ".join(f"i64 {w}, label %way{w}" for w in calls)
        bodies = "".join(f"way{w}:\n  call void @rt.{call}\n  ret void\n" for w, call in calls.items())
        return f"""
define void @rt.{kind}_row{g}(ptr %where, i64 %index, {arguments}) {{
entry:{head}
  %offsets = getelementptr i64, ptr %offsets.all, i64 %index
  %shift = mul i64 %index, {lanes.itemsize}
  %row = getelementptr i8, ptr %at, i64 %shift
  switch i64 %way, label %none [ {cases} ]
{bodies}none:
  ret void
}}
"""

    groups = {kind: _groups(group(lanes, lanes.width, kind == "load")) for kind in ("load", "store")}
    text = [move(kind, g) for kind, own in groups.items() for g in own]
    text.append("""
define void @rt.clear(ptr %where, i64 %count, i64 %zero, ptr %scratch) {
entry:
  %table = alloca i64
  store i64 %zero, ptr %table
  br label %body
body:
  %c = phi i64 [ 0, %entry ], [ %c.next, %body ]
  call void @rt.store_row1(ptr %where, i64 %c, i64 1, ptr %table, ptr %scratch)
  %c.next = add i64 %c, 1
  %more = icmp slt i64 %c.next, %count
  br i1 %more, label %body, label %end
end:
  ret void
}
""")
    place = _index_text(lanes)
    text.append(f"""
define void @rt.gather_row(ptr %where, i64 %count, ptr %index, ptr %numbers) {{
entry:{head}
  %last = sub i64 %count, 1
  %final = sub i64 %states, 1
  br label %each
each:
  %lane = phi i64 [ 0, %entry ], [ %lane.next, %each ]
{place}
  %offset.p = getelementptr i64, ptr %offsets.all, i64 %k
  %offset = load i64, ptr %offset.p
  %own.state = icmp slt i64 %lane, %states
  %state = select i1 %own.state, i64 %lane, i64 %final
  %shift = mul i64 %state, %stride
  %begin = getelementptr i8, ptr %at, i64 %shift
  %place = getelementptr i8, ptr %begin, i64 %offset
  %own = getelementptr {lanes.scalar}, ptr %numbers, i64 %lane
  %y = load {lanes.scalar}, ptr %place
  store {lanes.scalar} %y, ptr %own
  %lane.next = add i64 %lane, 1
  %lane.more = icmp slt i64 %lane.next, {lanes.width}
  br i1 %lane.more, label %each, label %end
end:
  ret void
}}
""")
    return "".join(text)


def _index_text(lanes: Lanes) -> str:
    """What makes the place %k, at most %last, of the index of lane %lane."""
    scalar, largest = lanes.scalar, Lanes("double", 1).number(2.0**62)
    zero = Lanes("double", 1).number(0.0)
    wide = "fpext float %x to double" if scalar == "float" else "bitcast double %x to double"
    return f"""  %index.p = getelementptr {scalar}, ptr %index, i64 %lane
  %x = load {scalar}, ptr %index.p
  %wide = {wide}
  %positive = fcmp ogt double %wide, {zero}
  %large = fcmp ogt double %wide, {largest}
  %low = select i1 %positive, double %wide, double {zero}
  %some = select i1 %large, double {largest}, double %low
  %whole = fptosi double %some to i64
  %beyond = icmp sgt i64 %whole, %last
  %k = select i1 %beyond, i64 %last, i64 %whole"""


def functions(lanes: Lanes) -> str:
    """All loads and stores."""
    parts = [_offsets(), _load_splat(lanes), _load_columns(lanes), _store_columns(lanes), _collect(lanes)]
    parts += [_spread(lanes), _indexed(lanes)]
    if lanes.width > 1:
        parts += [_load_strided(lanes), _store_strided(lanes), _stream(lanes)]
        parts += [_load_rows(lanes, g) for g in _groups(group(lanes, lanes.width, True))]
        parts += [_store_rows(lanes, g) for g in _groups(group(lanes, lanes.width, False))]
    parts.append(_rows_outside(lanes))
    return "\n".join(parts)


def _groups(largest: int) -> list[int]:
    return [1 << k for k in range(largest.bit_length())]


# -------------------------------------------------------------------------------------------------------------- by rows


def group(lanes: Lanes, size: int, is_input: bool) -> int:
    """How many numbers of a state are moved together by the way *rows*.

    Measured: 16 bytes are best for loads, where halves of registers come straight from memory, and 32 for stores.

    Args:
        size: how many numbers a state has; that many at most.
        is_input: load or store.
    """
    best = min((16 if is_input else 32) // lanes.itemsize, lanes.width)
    return min(best, 1 << (size.bit_length() - 1))


def _indices(numbers: list[int]) -> str:
    return f"<{len(numbers)} x i32> <{', '.join(f'i32 {k}' for k in numbers)}>"


def _transpose(b: Instructions, lanes: Lanes, vectors: list[str]) -> list[str]:
    """Transpose every square of the vectors: first within 16 bytes by interleaving, then blocks of 16 bytes."""
    v, w, size = lanes.vector, lanes.width, len(vectors)
    g = min(16 // lanes.itemsize, size)
    low = [k for base in range(0, w, g) for j in range(g // 2) for k in (base + j, w + base + j)]
    high = [k + g // 2 for k in low]
    done = []
    for first in range(0, size, g):
        some = vectors[first : first + g]
        for _ in range(g.bit_length() - 1):
            some = [
                b(f"shufflevector {v} {some[k]}, {v} {some[k + g // 2]}, {_indices(mask)}")
                for k in range(g // 2)
                for mask in (low, high)
            ]
        done += some
    step = g
    while step < size:
        even = [k + (w - step if k // step % 2 else 0) for k in range(w)]
        odd = [k + step for k in even]
        for k in range(size):
            if k // step % 2 == 0:
                one, two = done[k], done[k + step]
                done[k] = b(f"shufflevector {v} {one}, {v} {two}, {_indices(even)}")
                done[k + step] = b(f"shufflevector {v} {one}, {v} {two}, {_indices(odd)}")
        step *= 2
    return done


def _join(b: Instructions, lanes: Lanes, pieces: list[str]) -> str:
    """Put pieces of a register side by side."""
    size = lanes.width // len(pieces)
    while len(pieces) > 1:
        piece = f"<{size} x {lanes.scalar}>"
        everything = _indices(list(range(2 * size)))
        pieces = [
            b(f"shufflevector {piece} {pieces[k]}, {piece} {pieces[k + 1]}, {everything}")
            for k in range(0, len(pieces), 2)
        ]
        size *= 2
    return pieces[0]


def _row_pointers(lanes: Lanes) -> str:
    lines = []
    for k in range(lanes.width):
        lines.append(f"  %shift{k} = mul i64 %stride, {k}")
        lines.append(f"  %row{k} = getelementptr i8, ptr %base, i64 %shift{k}")
    return "\n".join(lines)


def _over_groups(g: int, body: Instructions) -> str:
    """Loop over groups of columns; the last one is moved back to end with the row. Needs %count >= group."""
    return f"""
  %last = sub i64 %count, {g}
  br label %body
body:
  %c = phi i64 [ 0, %entry ], [ %c.next, %body ]
{body}
  %done = icmp eq i64 %c, %last
  %c.step = add i64 %c, {g}
  %c.inside = icmp slt i64 %c.step, %last
  %c.next = select i1 %c.inside, i64 %c.step, i64 %last
  br i1 %done, label %end, label %body
end:
  ret void
}}
"""


def _load_rows(lanes: Lanes, g: int) -> str:
    """The function ``void load_rows<g>(ptr base, i64 stride, i64 count, ptr to)`` for ``count`` >= g numbers a state.

    Args:
        g: how many numbers of a state are moved together.
    """
    v, scalar = lanes.vector, lanes.scalar
    b = Instructions()
    b.do(f"%first = getelementptr {v}, ptr %to, i64 %c")
    pieces = [
        b(f"load <{g} x {scalar}>, ptr {b(f'getelementptr {scalar}, ptr %row{k}, i64 %c')}, align {lanes.itemsize}")
        for k in range(lanes.width)
    ]
    columns = _transpose(b, lanes, [_join(b, lanes, pieces[k::g]) for k in range(g)])
    for k, column in enumerate(columns):
        place = b(f"getelementptr {v}, ptr %first, i64 {k}")
        b.do(f"store {v} {column}, ptr {place}, align {lanes.bytes}")
    return f"""
define void @rt.load_rows{g}(ptr %base, i64 %stride, i64 %count, ptr noalias %to) {{
entry:
{_row_pointers(lanes)}
{_over_groups(g, b)}"""


def _store_rows(lanes: Lanes, g: int) -> str:
    """The function ``void store_rows<g>(ptr base, i64 stride, ptr table, i64 count, ptr scratch)``.

    The table has the byte offsets into the scratch of the ``count`` >= g numbers of a state.

    Args:
        g: how many numbers of a state are moved together.
    """
    v, scalar = lanes.vector, lanes.scalar
    b = Instructions()
    b.do("%first = getelementptr i64, ptr %table, i64 %c")
    columns = []
    for k in range(g):
        entry = b(f"getelementptr i64, ptr %first, i64 {k}")
        place = b(f"getelementptr i8, ptr %scratch, i64 {b(f'load i64, ptr {entry}')}")
        columns.append(b(f"load {v}, ptr {place}, align {lanes.bytes}"))
    for j, vector in enumerate(_transpose(b, lanes, columns)):
        for lane in range(lanes.width // g):
            piece = b(f"shufflevector {v} {vector}, {v} {vector}, {_indices(list(range(lane * g, lane * g + g)))}")
            place = b(f"getelementptr {scalar}, ptr %row{lane * g + j}, i64 %c")
            b.do(f"store <{g} x {scalar}> {piece}, ptr {place}, align {lanes.itemsize}")
    return f"""
define void @rt.store_rows{g}(ptr %base, i64 %stride, ptr %table, i64 %count, ptr noalias %scratch) {{
entry:
{_row_pointers(lanes)}
{_over_groups(g, b)}"""


def _stream(lanes: Lanes) -> str:
    """The function ``void stream(ptr from, ptr to, i64 bytes)``: copy finished rows past the caches.

    Both addresses must be equal modulo 64, the size of a line of the cache.
    """
    scalar, size = lanes.scalar, lanes.itemsize
    return f"""
define void @rt.stream(ptr noalias %from, ptr noalias %to, i64 %bytes) {{
entry:
  %address = ptrtoint ptr %to to i64
  %minus = sub i64 0, %address
  %gap = and i64 %minus, 63
  %inside = icmp slt i64 %gap, %bytes
  %head = select i1 %inside, i64 %gap, i64 %bytes
  %rest = sub i64 %bytes, %head
  %body = and i64 %rest, -64
  %tail = add i64 %head, %body
  br label %first
first:
  %h = phi i64 [ 0, %entry ], [ %h.next, %first.do ]
  %h.more = icmp slt i64 %h, %head
  br i1 %h.more, label %first.do, label %lines
first.do:
  %h.from = getelementptr i8, ptr %from, i64 %h
  %h.to = getelementptr i8, ptr %to, i64 %h
  %h.x = load {scalar}, ptr %h.from
  store {scalar} %h.x, ptr %h.to
  %h.next = add i64 %h, {size}
  br label %first
lines:
  %l = phi i64 [ %head, %first ], [ %l.next, %lines.do ]
  %l.more = icmp slt i64 %l, %tail
  br i1 %l.more, label %lines.do, label %last
lines.do:
  %l.from = getelementptr i8, ptr %from, i64 %l
  %l.to = getelementptr i8, ptr %to, i64 %l
  %l.x = load <8 x i64>, ptr %l.from, align 64
  store <8 x i64> %l.x, ptr %l.to, align 64, !nontemporal !1
  %l.next = add i64 %l, 64
  br label %lines
last:
  %t = phi i64 [ %tail, %lines ], [ %t.next, %last.do ]
  %t.more = icmp slt i64 %t, %bytes
  br i1 %t.more, label %last.do, label %end
last.do:
  %t.from = getelementptr i8, ptr %from, i64 %t
  %t.to = getelementptr i8, ptr %to, i64 %t
  %t.x = load {scalar}, ptr %t.from
  store {scalar} %t.x, ptr %t.to
  %t.next = add i64 %t, {size}
  br label %last
end:
  ret void
}}
!1 = !{{i32 1}}
"""
