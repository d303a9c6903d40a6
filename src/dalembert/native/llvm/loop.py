"""The loops around a program, as LLVM IR: over blocks of states, and over the steps of a recurrence.

Both have the signature NumPy asks of the inner loop of a generalized ufunc:

    void loop(char **args, intp *dimensions, intp *steps, void *data)

*Over states* (`loop_functions`), ``dimensions[0]`` is their number; ``steps`` has first the bytes from state to state
for every argument, then, for every argument and core dimension, the bytes from element to element. ``data`` points to
an integer: whether outputs are so large that they had better be written past the caches.

*Over steps* (`stepper_functions`), a program whose first inputs are a state and whose outputs are the next one is
executed again and again; between two steps a block of states does not leave the scratch. Other inputs are *held* for
the whole run or *driven*: read anew, row by row of an array, every so many steps. ``args`` are the arrays of the states
at the start, the held and the driven inputs, the final states and the records, in that order; an array of records that
is not wanted is null. ``steps`` has for each of them the bytes from trajectory to trajectory (0: one serves all), then
from row to row. ``dimensions`` are the numbers of trajectories, of steps, of steps from record to record, and of steps
for which a driven row holds. The numbers of one row lie side by side.

Code that computes both branches of a selection would raise spurious floating-point flags, and flags raised in other
threads would get lost; so the loops leave the flags as they found them. Results show it by being infinite or NaN.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.errors import UnsupportedError
from dalembert.native.llvm.plan import BlockPlan, Calls, Copy, Gather, Home, Repeat, Rolled, Scatter
from dalembert.native.llvm.target import Lanes, Target
from dalembert.native.llvm.text import Instructions
from dalembert.native.llvm.transfer import COLUMNS, ROWS, SPLAT, STREAM, STRIDED, group
from dalembert.native.tuning import GROUP_CALLS, MOST_BYTES, STACK_BYTES
from dalembert.tracing.program import Port, Program


class _Argument:
    """One array argument of the loop and the code that moves it.

    Args:
        port: name and shape.
        count: number of all arguments.
        core: number of core dimensions of the arguments before.
        place: its part of the scratch if an input, its table of slots if an output.
    """

    def __init__(self, port: Port, k: int, count: int, core: int, lanes: Lanes, place: str):
        self.port, self.k, self.lanes, self.place = port, k, lanes, place
        self.steps = count + core
        self.is_input = place.startswith("%")

    def prepare(self, b: Instructions, table: int, direct: bool = False) -> None:
        """Read pointer and strides, make the table of element offsets if it is needed, choose the way.

        Args:
            table: where in the scratch there is room for the offsets, in bytes.
            direct: whether rows are read, or written, later.
        """
        k, port, itemsize = self.k, self.port, self.lanes.itemsize
        b.do(f"%base{k}.p = getelementptr ptr, ptr %args, i64 {k}")
        b.do(f"%base{k} = load ptr, ptr %base{k}.p")
        b.do(f"%stride{k}.p = getelementptr i64, ptr %steps, i64 {k}")
        b.do(f"%stride{k} = load i64, ptr %stride{k}.p")
        b.do(f"%core{k} = getelementptr i64, ptr %steps, i64 {self.steps}")
        contiguous, expected = "true", itemsize
        for d in reversed(range(len(port.shape))):
            if port.shape[d] > 1:
                step = b(f"load i64, ptr {b(f'getelementptr i64, ptr %core{k}, i64 {d}')}")
                same = b(f"icmp eq i64 {step}, {expected}")
                contiguous = b(f"and i1 {contiguous}, {same}")
            expected *= port.shape[d]
        b.do(f"br label %check{k}")
        b.do(f"check{k}:")
        b.do(f"br i1 {'false' if direct else contiguous}, label %ready{k}, label %measure{k}")
        b.do(f"measure{k}:")
        b.do(f"%offsets{k}.made = getelementptr i8, ptr %scratch, i64 {table}")
        b.do(f"call void @rt.offsets(ptr %offsets{k}.made, ptr @shape{k}, ptr %core{k}, i64 {len(port.shape)})")
        b.do(f"br label %ready{k}")
        b.do(f"ready{k}:")
        b.do(f"%offsets{k} = phi ptr [ @contiguous, %check{k} ], [ %offsets{k}.made, %measure{k} ]")
        if self.lanes.width == 1:
            way = f"{COLUMNS}"
        else:
            way = b(f"select i1 {contiguous}, i32 {ROWS}, i32 {STRIDED}")
            dense = b(f"icmp eq i64 %stride{k}, {itemsize}")
            way = b(f"select i1 {dense}, i32 {COLUMNS}, i32 {way}")
        if self.is_input:
            still = b(f"icmp eq i64 %stride{k}, 0")
            alone = b(f"or i1 {still}, %single")
            b.do(f"%way{k} = select i1 {alone}, i32 {SPLAT}, i32 {way}")
            if direct:
                return
            b.do(f"br i1 {alone}, label %splat{k}, label %next{k}")
            b.do(f"splat{k}:")
            b.do(f"call void @rt.load_splat(ptr %base{k}, ptr %offsets{k}, i64 {port.size}, ptr {self.place})")
            b.do(f"br label %next{k}")
            b.do(f"next{k}:")
        else:
            closed = b(f"icmp eq i64 %stride{k}, {port.size * itemsize}")
            streamed = b(f"and i1 {'false' if direct else '%stream'}, {b(f'and i1 {closed}, {contiguous}')}")
            way_now = STREAM if self.lanes.width > 1 else COLUMNS
            b.do(f"%way{k} = select i1 {streamed}, i32 {way_now}, i32 {way}")

    def describe(self, b: Instructions, place: int) -> None:
        """Write down where the numbers of one block of states lie, for those who move rows of them.

        Args:
            place: in the scratch, in bytes.
        """
        k = self.k
        b.do(f"%at{k}.shift = mul i64 %i, %stride{k}")
        b.do(f"%at{k} = getelementptr i8, ptr %base{k}, i64 %at{k}.shift")
        way, stride = f"%way{k}", f"%stride{k}"
        if self.lanes.width > 1:
            way = b(f"select i1 %partial, i32 {STRIDED}, i32 %way{k}")
            if self.is_input:
                fixed = b(f"icmp eq i32 %way{k}, {SPLAT}")
                way = b(f"select i1 {fixed}, i32 {SPLAT}, i32 {way}")
        if self.is_input:
            fixed = b(f"icmp eq i32 %way{k}, {SPLAT}")
            stride = b(f"select i1 {fixed}, i64 0, i64 {stride}")
        wide = b(f"zext i32 {way} to i64")
        for j, value in enumerate((f"ptr %at{k}", f"i64 {stride}", f"ptr %offsets{k}", f"i64 {wide}", "i64 %states")):
            b.do(f"store {value}, ptr {b(f'getelementptr i8, ptr %scratch, i64 {place + 8 * j}')}")

    def move(self, b: Instructions) -> None:
        """Move the numbers of one block of states."""
        k, size, lanes = self.k, self.port.size, self.lanes
        b.do(f"%at{k}.shift = mul i64 %i, %stride{k}")
        b.do(f"%at{k} = getelementptr i8, ptr %base{k}, i64 %at{k}.shift")
        if self.is_input:
            kind, rest = "load", f"i64 {size}, ptr {self.place}"
        else:
            kind, rest = "store", f"ptr {self.place}, i64 {size}, ptr %scratch"
        calls = {COLUMNS: [f"{kind}_columns(ptr %at{k}, ptr %offsets{k}, {rest})"]}
        way = f"%way{k}"
        if lanes.width > 1:
            way = b(f"select i1 %partial, i32 {STRIDED}, i32 %way{k}")
            rows = f"{kind}_rows{group(lanes, size, self.is_input)}"
            calls[ROWS] = [f"{rows}(ptr %at{k}, i64 %stride{k}, {rest})"]
            calls[STRIDED] = [f"{kind}_strided(ptr %at{k}, i64 %stride{k}, i64 %states, ptr %offsets{k}, {rest})"]
            if self.is_input:
                fixed = b(f"icmp eq i32 %way{k}, {SPLAT}")
                way = b(f"select i1 {fixed}, i32 {SPLAT}, i32 {way}")
            else:
                address = b(f"ptrtoint ptr %at{k} to i64")
                stage = b(f"getelementptr i8, ptr %stage, i64 {b(f'and i64 {address}, 63')}")
                calls[STREAM] = [
                    f"{rows}(ptr {stage}, i64 {size * lanes.itemsize}, {rest})",
                    f"stream(ptr {stage}, ptr %at{k}, i64 {size * lanes.bytes})",
                ]
        b.do(f"switch i32 {way}, label %moved{k} [ {' '.join(f'i32 {w}, label %way{k}.{w}' for w in calls)} ]")
        for w, lines in calls.items():
            b.do(f"way{k}.{w}:")
            for line in lines:
                b.do(f"call void @rt.{line}")
            b.do(f"br label %moved{k}")
        b.do(f"moved{k}:")


def loop_functions(program: Program, plan: BlockPlan, lanes: Lanes, target: Target) -> str:
    """The loop, the tables it reads, and the number of operations as ``@operations``.

    Args:
        plan: what to execute on every block of states; its step k, if a chunk, is the function ``chunk<k>``.
    """
    ports, inputs = [*program.inputs, *program.outputs], len(program.inputs)
    direct = {home.argument for home in plan.outside}
    largest = max((p.size for k, p in enumerate(ports) if k not in direct), default=0) or 1
    tables = [constant_table("contiguous", range(0, largest * lanes.itemsize, lanes.itemsize))]
    tables.append(constant_table("numbers", [lanes.number(x) for x in plan.table], lanes.scalar))
    prepare, load, store = Instructions("a"), Instructions("b"), Instructions("d")
    prepare.do("%single = icmp eq i64 %n, 1")
    core = slot = 0
    memory = -(-plan.size * lanes.bytes // 64) * 64 + 64 * len(direct)  # slots, then where the arrays of the caller
    # lie, of which rows are moved; then offsets of elements, then a stage for streaming
    for k, port in enumerate(ports):
        is_input = k < len(program.inputs)
        argument = _Argument(port, k, len(ports), core, lanes, f"%in{k}" if is_input else f"@slots{k}")
        core += len(port.shape)
        if port.size == 0:
            continue
        tables.append(constant_table(f"shape{k}", list(port.shape)))
        if k in direct:
            argument.prepare(prepare, memory, direct=True)
            argument.describe(load, place_of_argument(plan, k, lanes))
            memory += 8 * port.size
            continue
        if is_input:
            prepare.do(f"%in{k} = getelementptr i8, ptr %scratch, i64 {slot * lanes.bytes}")
            slot += port.size
        else:
            size = lanes.bytes
            tables.append(constant_table(f"slots{k}", [s * size for s in plan.results[k - inputs]]))
        argument.prepare(prepare, memory)
        memory += 8 * port.size
        argument.move(load if is_input else store)
    memory = -(-memory // 64) * 64
    if memory > MOST_BYTES:
        raise UnsupportedError(
            f"{program.name} keeps arrays between its loops that need {memory / 1e9:.1f} GB for {lanes.width} states; "
            "take fewer steps, emit rows less often (every=), or make them outputs, which lie where the caller has them"
        )
    prepare.do(f"%stage = getelementptr i8, ptr %scratch, i64 {memory}")
    memory += 64 + lanes.bytes * max(
        (p.size for k, p in enumerate(ports[inputs:]) if inputs + k not in direct), default=0
    )
    for slot, value in plan.fill.items():
        place = prepare(f"getelementptr i8, ptr %scratch, i64 {slot * lanes.bytes}")
        prepare.do(f"store {lanes.vector} {lanes.constant(value)}, ptr {place}, align {lanes.bytes}")

    where = {k: place_of_argument(plan, k, lanes) for k in direct}
    execute, groups = step_calls(plan, tables, lanes, places=where)
    declare_flags, stack_flags, save_flags, restore_flags = flag_guard(target)
    declare_scratch, stack_scratch, get_scratch, free_scratch = scratch_memory(memory)
    stack = stack_flags + stack_scratch
    return f"""
@operations = constant i64 {program.executed}
@direct = constant i64 {len(direct)}
{"".join(tables)}
{declare_flags}{declare_scratch}{groups}
define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) {{
entry:
{stack}  %n = load i64, ptr %dimensions
  %stream.i = load i64, ptr %data
  %stream = icmp ne i64 %stream.i, 0
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %start, label %end
start:
{save_flags}{get_scratch}{prepare}
  br label %first
first:
  br label %block
block:
  %i = phi i64 [ 0, %first ], [ %i.next, %stored ]
  %left = sub i64 %n, %i
  %partial = icmp slt i64 %left, {lanes.width}
  %states = select i1 %partial, i64 %left, i64 {lanes.width}
{load}
{execute}
{store}
  br label %stored
stored:
  %i.next = add i64 %i, {lanes.width}
  %more = icmp slt i64 %i.next, %n
  br i1 %more, label %block, label %finish
finish:
  br i1 %stream, label %order, label %leave
order:
  fence seq_cst
  br label %leave
leave:
{free_scratch}{restore_flags}  br label %end
end:
  ret void
}}
"""


def step_calls(
    plan: BlockPlan, tables: list[str], lanes: Lanes, prefix: str = "", places: Mapping[int, int] | None = None
) -> tuple[str, str]:
    """The calls that execute the steps of a plan, and the functions that these call: of loops, and, if the calls are
    many, such as make them group by group.

    Args:
        plan: its step k, if a chunk, is the function ``<prefix>chunk<k>``.
        tables: gets those that the calls read.
        prefix: beginning of all names.
        places: where in the scratch, in bytes, it is written how arrays of the caller lie, by their number.
    """
    places = places or {}
    calls = []
    functions: list[str] = []
    for k, step in enumerate(plan.steps):
        if isinstance(step, Calls):
            tables.append(constant_table(f"{prefix}calls{k}", [s * lanes.bytes for row in step.slots for s in row]))
            function = "sincos" if step.kind == "sincos" else f"map_{step.kind}"
            calls.append(f"  call void @rt.{function}(ptr %scratch, ptr @{prefix}calls{k}, i64 {len(step.slots)})")
        elif isinstance(step, Rolled):
            tables.append(constant_table(f"{prefix}rolled{k}", step.table, "i32"))
            calls.append(f"  call void @rt.rolled(ptr %scratch, ptr @{prefix}rolled{k}, i64 {step.runs})")
        elif isinstance(step, Repeat):
            functions.append(repeat_function(f"{prefix}repeat{k}", step, tables, lanes, places))
            calls.append(f"  call void @{prefix}repeat{k}(ptr %scratch)")
        elif isinstance(step, (Copy, Gather, Scatter)):
            b = Instructions(f"s{k}_")
            _move_arrays(b, f"{prefix}moves{k}", step, tables, lanes, places)
            calls.append(str(b))
        else:
            calls.append(f"  call void @{prefix}chunk{k}(ptr %scratch, ptr @{prefix}numbers)")
    while len(calls) > GROUP_CALLS:
        bodies = ["\n".join(calls[k : k + GROUP_CALLS]) for k in range(0, len(calls), GROUP_CALLS)]
        names = [f"@{prefix}group{len(functions) + k}" for k in range(len(bodies))]
        functions += [
            f"define internal void {name}(ptr %scratch) {{\n{body}\n  ret void\n}}\n"
            for name, body in zip(names, bodies)
        ]
        calls = [f"  call void {name}(ptr %scratch)" for name in names]
    return "\n".join(calls), "".join(functions)


def repeat_function(name: str, repeat: Repeat, tables: list[str], lanes: Lanes, places: Mapping[int, int]) -> str:
    """The function ``void name(ptr scratch)`` that takes a step as often as it is to be taken, and those it calls.

    Args:
        tables: gets those that it reads.
    """
    prefix = f"{name}_"
    tables.append(constant_table(f"{prefix}numbers", [lanes.number(x) for x in repeat.plan.table], lanes.scalar))
    calls, functions = step_calls(repeat.plan, tables, lanes, prefix, places)
    start, carry = Instructions("a"), Instructions("b")
    for slot, value in repeat.plan.fill.items():
        place = start(f"getelementptr i8, ptr %scratch, i64 {slot * lanes.bytes}")
        start.do(f"store {lanes.vector} {lanes.constant(value)}, ptr {place}, align {lanes.bytes}")
    copy_slots(start, repeat.start, lanes)
    copy_slots(carry, repeat.carry, lanes)
    for k, (source, target, _) in enumerate(repeat.stores):
        _copy_array(start, f"{prefix}store{k}", source, target.slot, tables, lanes, places)
    scan = repeat.scan
    take, give = Instructions("c"), Instructions("d")
    for k, (source, at, stride, width, to) in enumerate(repeat.take):
        _take_row(take, f"{prefix}take{k}", source, at, stride, width, to, tables, lanes, places)
    for k, (made, target) in enumerate(repeat.give):
        if isinstance(made, Home) and target.slot < 0:  # a table of slots is no longer than that of the copies
            made = list(range(made.slot, made.slot + made.size))
        if isinstance(made, Home):
            place = f"getelementptr i8, ptr %scratch, i64 {target.slot * lanes.bytes}"
            if scan.stops:
                size = scan.emitted * made.size * lanes.bytes
                start.do(f"call void @llvm.memset.p0.i64(ptr align 8 {start(place)}, i8 0, i64 {size}, i1 false)")
            shift = give(f"mul i64 %kept, {made.size * lanes.bytes}")
            row = give(f"getelementptr i8, ptr {give(place)}, i64 {shift}")
            _copy_array(give, f"{prefix}given{k}", made, row, tables, lanes, places)
            continue
        if target.slot < 0:
            name_of = f"{prefix}give{len(tables)}"
            tables.append(constant_table(name_of, [slot * lanes.bytes for slot in made]))
            frame = _frame(give, target, places)
            begin = give(f"mul i64 %kept, {len(made)}")
            g = group(lanes, len(made), False)
            give.do(
                f"call void @rt.store_row{g}(ptr {frame}, i64 {begin}, i64 {len(made)}, ptr @{name_of}, ptr %scratch)"
            )
            if scan.stops:
                frame = _frame(start, target, places)
                numbers = f"i64 {scan.emitted * len(made)}"
                start.do(f"call void @rt.clear(ptr {frame}, {numbers}, i64 {repeat.zero * lanes.bytes}, ptr %scratch)")
            continue
        first = target.slot
        if scan.stops:
            place = start(f"getelementptr i8, ptr %scratch, i64 {first * lanes.bytes}")
            size = scan.emitted * len(made) * lanes.bytes
            start.do(f"call void @llvm.memset.p0.i64(ptr align 8 {place}, i8 0, i64 {size}, i1 false)")
        row = give(f"getelementptr i8, ptr %scratch, i64 {first * lanes.bytes}")
        row = give(f"getelementptr i8, ptr {row}, i64 {give(f'mul i64 %kept, {len(made) * lanes.bytes}')}")
        for j, slot in enumerate(made):
            source_place = give(f"getelementptr i8, ptr %scratch, i64 {slot * lanes.bytes}")
            _copy(give, source_place, give(f"getelementptr i8, ptr {row}, i64 {j * lanes.bytes}"), lanes)
    for k, (_, target, new) in enumerate(repeat.stores):
        if new != target:
            _copy_array(carry, f"{prefix}stored{k}", new, target.slot, tables, lanes, places)
    stop = "  br label %do\n"
    if repeat.flag >= 0:
        stop = f"""  %flag.p = getelementptr i8, ptr %scratch, i64 {repeat.flag * lanes.bytes}
  %flag = load {lanes.vector}, ptr %flag.p, align {lanes.bytes}
  %going = fcmp ogt {lanes.vector} %flag, {lanes.constant(0.0)}
  %any = call i1 @llvm.vector.reduce.or.v{lanes.width}i1({lanes.truths} %going)
  br i1 %any, label %do, label %end
"""
    turns = Turns(str(scan.count), str(scan.every), str(scan.hold))
    if scan.reverse:
        turns = replace(turns, last_row=scan.read_rows - 1, last_kept=scan.emitted - 1)
    return functions + _loop_text(name, turns, str(start), stop, str(take), calls, str(give), str(carry))


@dataclass(frozen=True)
class Turns:
    """How often a step is taken, and when rows are read and written: numbers, or registers.

    Args:
        count: how often, at least once.
        every: steps from row to row that is written.
        hold: steps for which a row that is read serves.
        last_row: number of the row that is read first, if they are read backwards; else -1.
        last_kept: the same for those that are written.
    """

    count: str
    every: str
    hold: str
    last_row: int = -1
    last_kept: int = -1


def _loop_text(
    name: str, turns: Turns, start: str, stop: str, take: str, calls: str, give: str, carry: str
) -> str:  # fmt: skip
    """The function ``void name(ptr scratch)`` that takes a step again and again.

    Args:
        start: instructions before the first step, in one block.
        stop: instructions before each, which go on to ``%do`` or to ``%end``.
        take: instructions that read row ``%row``.
        calls: instructions that take the step.
        give: instructions that write row ``%kept``.
        carry: instructions after each step, in one block.
    """
    seldom_read, seldom_written = turns.hold != "1", turns.every != "1"
    begin, taken, after = "", "  br label %take\n", "  br label %give\n"
    row, kept, ready, done = "%s", "%s", "", ""
    if seldom_read:
        begin += "  %row.up = phi i64 [ 0, %entry ], [ %row.next, %next ]\n"
        begin += "  %held = phi i64 [ 0, %entry ], [ %held.next, %next ]\n"
        row = "%row.up"
        taken = "  %fresh = icmp eq i64 %held, 0\n  br i1 %fresh, label %take, label %taken\n"
        ready = f"""  %held.now = select i1 %fresh, i64 {turns.hold}, i64 %held
  %held.next = sub i64 %held.now, 1
  %row.over = icmp eq i64 %held.next, 0
  %row.add = zext i1 %row.over to i64
  %row.next = add i64 %row.up, %row.add
"""
    if seldom_written:
        begin += "  %kept.up = phi i64 [ 0, %entry ], [ %kept.next, %next ]\n"
        begin += f"  %wait = phi i64 [ {turns.every}, %entry ], [ %wait.next, %next ]\n"
        kept = "%kept.up"
        after = """  %wait.less = sub i64 %wait, 1
  %due = icmp eq i64 %wait.less, 0
  br i1 %due, label %give, label %given
"""
        done = f"""  %wait.next = select i1 %due, i64 {turns.every}, i64 %wait.less
  %kept.add = zext i1 %due to i64
  %kept.next = add i64 %kept.up, %kept.add
"""
    row = f"sub i64 {turns.last_row}, {row}" if turns.last_row >= 0 else f"add i64 {row}, 0"
    kept = f"sub i64 {turns.last_kept}, {kept}" if turns.last_kept >= 0 else f"add i64 {kept}, 0"
    return f"""
define internal void @{name}(ptr %scratch) {{
entry:
{start}
  br label %step
step:
  %s = phi i64 [ 0, %entry ], [ %s.next, %next ]
{begin}{stop}do:
  %row = {row}
  %kept = {kept}
  %s.next = add i64 %s, 1
{taken}take:
{take}
  br label %taken
taken:
{ready}{calls}
{after}give:
{give}
  br label %given
given:
{done}{carry}
  br label %next
next:
  %more = icmp slt i64 %s.next, {turns.count}
  br i1 %more, label %step, label %end
end:
  ret void
}}
"""


def place_of_argument(plan: BlockPlan, argument: int, lanes: Lanes) -> int:
    """Where in the scratch, in bytes, it is written how an array of the caller lies, of which rows are moved."""
    order = sorted({home.argument for home in plan.outside})
    return -(-plan.size * lanes.bytes // 64) * 64 + 64 * order.index(argument)


def memory_functions(lanes: Lanes) -> str:
    """Declarations of what loops call to move memory, and to see whether lanes are still on their way."""
    return (
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
        f"declare i1 @llvm.vector.reduce.or.v{lanes.width}i1({lanes.truths})\n"
    )


def _take_row(
    b: Instructions,
    name: str,
    source: Home,
    at: int,
    stride: int,
    width: int,
    to: int,
    tables: list[str],
    lanes: Lanes,
    places: Mapping[int, int],
) -> None:
    """Copy row %row of an array to neighbouring slots."""
    if source.argument >= 0:
        index = b(f"add i64 {b(f'mul i64 %row, {stride}')}, {at}")
        target = b(f"getelementptr i8, ptr %scratch, i64 {to * lanes.bytes}")
        rows = f"load_row{group(lanes, width, True)}"
        b.do(f"call void @rt.{rows}(ptr {_frame(b, source, places)}, i64 {index}, i64 {width}, ptr {target})")
        return
    size = lanes.bytes if source.slot >= 0 else lanes.itemsize
    first, array = _array(name, source, tables, lanes)
    base = b(f"getelementptr i8, ptr {array}, i64 {(first * lanes.bytes if source.slot >= 0 else 0) + at * size}")
    row = b(f"getelementptr i8, ptr {base}, i64 {b(f'mul i64 %row, {stride * size}')}")
    for j in range(width):
        place = b(f"getelementptr i8, ptr {row}, i64 {j * size}")
        target = b(f"getelementptr i8, ptr %scratch, i64 {(to + j) * lanes.bytes}")
        if source.slot >= 0:
            _copy(b, place, target, lanes)
        else:
            b.do(f"store {lanes.vector} {_splat(b, place, lanes)}, ptr {target}, align {lanes.bytes}")


def _frame(b: Instructions, home: Home, places: Mapping[int, int]) -> str:
    """Where it is written how an array of the caller lies."""
    return b(f"getelementptr i8, ptr %scratch, i64 {places[home.argument]}")


def _array(name: str, home: Home, tables: list[str], lanes: Lanes) -> tuple[int, str]:
    """The first slot of an array, and what it counts from; of constants, a table of that name."""
    if home.slot >= 0:
        return home.slot, "%scratch"
    tables.append(constant_table(name, [lanes.number(x) for x in np.frombuffer(home.data, "<f8")], lanes.scalar))
    return 0, f"@{name}"


def _splat(b: Instructions, place: str, lanes: Lanes) -> str:
    one = b(f"insertelement {lanes.vector} undef, {lanes.scalar} {b(f'load {lanes.scalar}, ptr {place}')}, i32 0")
    return b(f"shufflevector {lanes.vector} {one}, {lanes.vector} undef, <{lanes.width} x i32> zeroinitializer")


def _copy_array(
    b: Instructions,
    name: str,
    source: Home,
    target: int | str,
    tables: list[str],
    lanes: Lanes,
    places: Mapping[int, int],
) -> None:
    """Copy a whole array to neighbouring slots, from one on or from an address on."""
    to = target
    if isinstance(target, int):
        to = b(f"getelementptr i8, ptr %scratch, i64 {target * lanes.bytes}")
    if source.argument >= 0:
        rows = f"load_row{group(lanes, source.size, True)}"
        b.do(f"call void @rt.{rows}(ptr {_frame(b, source, places)}, i64 0, i64 {source.size}, ptr {to})")
        return
    first, array = _array(name, source, tables, lanes)
    if source.slot < 0:
        b.do(f"call void @rt.spread(ptr {array}, i64 {source.size}, ptr {to})")
        return
    place = b(f"getelementptr i8, ptr {array}, i64 {first * lanes.bytes}")
    size = source.size * lanes.bytes
    b.do(f"call void @llvm.memcpy.p0.p0.i64(ptr align 8 {to}, ptr align 8 {place}, i64 {size}, i1 false)")


def _move_arrays(
    b: Instructions,
    name: str,
    step: Copy | Gather | Scatter,
    tables: list[str],
    lanes: Lanes,
    places: Mapping[int, int],
) -> None:
    """Read and write arrays."""

    def at(slot: int) -> str:
        return b(f"getelementptr i8, ptr %scratch, i64 {slot * lanes.bytes}")

    if isinstance(step, Copy):
        if isinstance(step.source, Home):
            _copy_array(b, name, step.source, step.target, tables, lanes, places)
            return
        tables.append(constant_table(name, [slot * lanes.bytes for slot in step.source]))
        b.do(f"call void @rt.collect(ptr %scratch, ptr @{name}, i64 {len(step.source)}, ptr {at(step.target)})")
    elif isinstance(step, Gather):
        for k, (home, index, result) in enumerate(step.reads):
            if home.argument >= 0:
                frame = _frame(b, home, places)
                b.do(f"call void @rt.gather_row(ptr {frame}, i64 {home.size}, ptr {at(index)}, ptr {at(result)})")
                continue
            first, array = _array(f"{name}_{k}", home, tables, lanes)
            place = b(f"getelementptr i8, ptr {array}, i64 {first * lanes.bytes}")
            lane, element = (lanes.itemsize, lanes.bytes) if home.slot >= 0 else (0, lanes.itemsize)
            b.do(
                f"call void @rt.gather(ptr {place}, i64 {lane}, i64 {element}, i64 {home.size}, "
                f"ptr {at(index)}, ptr {at(result)})"
            )
    else:
        if step.source.slot != step.target:
            _copy_array(b, name, step.source, step.target, tables, lanes, places)
        b.do(
            f"call void @rt.scatter(ptr {at(step.target)}, i64 {step.source.size}, "
            f"ptr {at(step.index)}, ptr {at(step.number)})"
        )


def _copy(b: Instructions, source: str, target: str, lanes: Lanes) -> None:
    value = b(f"load {lanes.vector}, ptr {source}, align {lanes.bytes}")
    b.do(f"store {lanes.vector} {value}, ptr {target}, align {lanes.bytes}")


def copy_slots(b: Instructions, moves: Sequence[tuple[int, int]], lanes: Lanes) -> None:
    """Copy slots of the scratch, (from, to), as if all at once: some may be overwritten that others are copied from."""
    written = {to for _, to in moves}
    early = [move for move in moves if move[0] in written]
    values = []
    for source, _ in early:
        place = b(f"getelementptr i8, ptr %scratch, i64 {source * lanes.bytes}")
        values.append(b(f"load {lanes.vector}, ptr {place}, align {lanes.bytes}"))
    for source, to in moves:
        if source not in written:
            place = b(f"getelementptr i8, ptr %scratch, i64 {source * lanes.bytes}")
            value = b(f"load {lanes.vector}, ptr {place}, align {lanes.bytes}")
            place = b(f"getelementptr i8, ptr %scratch, i64 {to * lanes.bytes}")
            b.do(f"store {lanes.vector} {value}, ptr {place}, align {lanes.bytes}")
    for (_, to), value in zip(early, values):
        place = b(f"getelementptr i8, ptr %scratch, i64 {to * lanes.bytes}")
        b.do(f"store {lanes.vector} {value}, ptr {place}, align {lanes.bytes}")


LONG_TABLE = 1000
"""Entries from which a table is written as bytes, which LLVM reads thirty times as fast as numbers."""

_INTEGERS = {"i32": "i", "i64": "q"}
"""Python's names of integers of LLVM's types."""


def constant_table(name: str, numbers: Sequence[Any], scalar: str = "i64") -> str:
    """A constant array of numbers."""
    if len(numbers) > LONG_TABLE and scalar in _INTEGERS and sys.byteorder == "little":
        data = array(_INTEGERS[scalar], numbers).tobytes()
        escaped = data.hex("\\").upper()
        return f'@{name} = internal constant [{len(data)} x i8] c"\\{escaped}", align 8\n'
    values = ", ".join(f"{scalar} {n}" for n in numbers)
    return f"@{name} = internal constant [{len(numbers)} x {scalar}] [{values}]\n"


def flag_guard(target: Target) -> tuple[str, str, str, str]:
    """Declarations, what is needed on the stack, and how to save and restore the floating-point flags."""
    if target.triple.startswith("x86_64"):
        return (
            "declare void @llvm.x86.sse.stmxcsr(ptr)\ndeclare void @llvm.x86.sse.ldmxcsr(ptr)\n",
            "  %flags = alloca i32\n",
            "  call void @llvm.x86.sse.stmxcsr(ptr %flags)\n",
            "  call void @llvm.x86.sse.ldmxcsr(ptr %flags)\n",
        )
    if target.triple.startswith(("aarch64", "arm64")):
        return (
            "declare i64 @llvm.aarch64.get.fpsr()\ndeclare void @llvm.aarch64.set.fpsr(i64)\n",
            "",
            "  %flags = call i64 @llvm.aarch64.get.fpsr()\n",
            "  call void @llvm.aarch64.set.fpsr(i64 %flags)\n",
        )
    return "", "", "", ""


def scratch_memory(size: int) -> tuple[str, str, str, str]:
    """Declarations, what is needed on the stack, and how to get and give back ``size`` bytes, aligned to 64."""
    if size <= STACK_BYTES:
        return "", f"  %scratch = alloca [{size} x i8], align 64\n", "", ""
    return (
        "declare ptr @malloc(i64)\ndeclare void @free(ptr)\ndeclare void @llvm.trap()\n",
        "",
        f"""  %heap = call ptr @malloc(i64 {size + 64})
  %heap.none = icmp eq ptr %heap, null
  br i1 %heap.none, label %heap.out, label %heap.ok
heap.out:
  call void @llvm.trap()
  unreachable
heap.ok:
  %heap.i = ptrtoint ptr %heap to i64
  %heap.up = add i64 %heap.i, 63
  %heap.even = and i64 %heap.up, -64
  %scratch = inttoptr i64 %heap.even to ptr
""",
        "  call void @free(ptr %heap)\n",
    )


# -------------------------------------------------------------------------------------------------- the loop over steps


def stepper_functions(
    state: Sequence[Port], held: Sequence[Port], driven: Sequence[Port], plan: BlockPlan, lanes: Lanes, target: Target
) -> str:
    """The loop, the tables it reads, and the number of operations of a step as ``@operations``.

    Args:
        state: the first inputs of the program, and its outputs.
        held: the inputs after them.
        driven: the last inputs.
        plan: what to execute in every step; its step k, if a chunk, is the function ``chunk<k>``.
    """
    inputs, fixed = [*state, *held, *driven], len(state) + len(held)
    ports = [*inputs, *state, *state]
    largest = max(port.size for port in inputs) or 1
    tables = [
        constant_table("contiguous", [k * lanes.itemsize for k in range(largest)]),
        constant_table("numbers", [lanes.number(x) for x in plan.table], lanes.scalar),
    ]
    slots, size = [], 0
    for port in inputs:
        slots.append(range(size, size + port.size))
        size += port.size
    for k in range(len(state)):
        tables.append(constant_table(f"slots{k}", [slot * lanes.bytes for slot in slots[k]]))
    memory = -(-plan.size * lanes.bytes // 64) * 64  # slots, then where arrays lie, then three numbers
    control = memory + 64 * len(ports)

    def at(b: Instructions, place: int) -> str:
        return b(f"getelementptr i8, ptr %scratch, i64 {place}")

    def move(b: Instructions, k: int) -> None:
        """Move a row between memory and the slots."""
        port, frame = ports[k], at(b, memory + 64 * k)
        if k < len(inputs):
            to = at(b, slots[k].start * lanes.bytes)
            b.do(
                f"call void @rt.load_row{group(lanes, port.size, True)}(ptr {frame}, i64 0, i64 {port.size}, ptr {to})"
            )
        else:
            table = f"@slots{(k - len(inputs)) % len(state)}"
            g = group(lanes, port.size, False)
            b.do(f"call void @rt.store_row{g}(ptr {frame}, i64 0, i64 {port.size}, ptr {table}, ptr %scratch)")

    def go_to(b: Instructions, k: int, row: str) -> None:
        """Let row ``row`` of an array be the one that is moved."""
        frame = memory + 64 * k
        first = b(f"load ptr, ptr {at(b, frame + 40)}")
        apart = b(f"load i64, ptr {at(b, frame + 48)}")
        place = b(f"getelementptr i8, ptr {first}, i64 {b(f'mul i64 {row}, {apart}')}")
        b.do(f"store ptr {place}, ptr {at(b, frame)}")

    def if_wanted(b: Instructions, k: int, block: str, statement: Callable[[], None]) -> None:
        """What is done unless an array is null."""
        absent = b(f"icmp eq ptr {b(f'load ptr, ptr {at(b, memory + 64 * k + 40)}')}, null")
        b.do(f"br i1 {absent}, label %{block}{k}.over, label %{block}{k}")
        b.do(f"{block}{k}:")
        statement()
        b.do(f"br label %{block}{k}.over")
        b.do(f"{block}{k}.over:")

    start, load, take, give, finish = (Instructions(x) for x in "abcde")
    for k in range(len(ports)):
        _argument(start, k)
    for number, value in plan.fill.items():
        start.do(
            f"store {lanes.vector} {lanes.constant(value)}, ptr {at(start, number * lanes.bytes)}, align {lanes.bytes}"
        )
    for j, name in enumerate(("count", "every", "hold")):
        start.do(f"store i64 %{name}, ptr {at(start, control + 8 * j)}")
    for k, port in enumerate(ports):
        if port.size:
            _describe(load, k, memory + 64 * k, k < len(inputs), lanes)
    for k, port in enumerate(ports):
        if not port.size:
            continue
        if k < fixed:
            move(load, k)
        elif k < len(inputs):
            go_to(take, k, "%row")
            move(take, k)
        elif k < len(inputs) + len(state):
            if_wanted(finish, k, "end", lambda k=k: move(finish, k))  # type: ignore[misc]
        else:

            def keep(k: int = k) -> None:
                go_to(give, k, "%kept")
                move(give, k)

            if_wanted(give, k, "keep", keep)
    calls, groups = step_calls(plan, tables, lanes)
    advance = Instructions("y")
    moves = [
        (old, new) for port, own, found in zip(state, slots, plan.results) for old, new in zip(found, own) if old != new
    ]
    copy_slots(advance, moves, lanes)
    counts = "".join(
        f"  %{name}.p = getelementptr i8, ptr %scratch, i64 {control + 8 * j}\n  %{name} = load i64, ptr %{name}.p\n"
        for j, name in enumerate(("count", "every", "hold"))
    )
    turns = Turns("%count", "%every", "%hold")
    steps = _loop_text("steps", turns, counts, "  br label %do\n", str(take), calls + f"\n{advance}", str(give), "")

    declare_flags, stack_flags, save_flags, restore_flags = flag_guard(target)
    declare_scratch, stack_scratch, get_scratch, free_scratch = scratch_memory(-(-(control + 24) // 64) * 64)
    dimensions = "".join(
        f"  %{name}.p = getelementptr i64, ptr %dimensions, i64 {k}\n  %{name} = load i64, ptr %{name}.p\n"
        for k, name in enumerate(("n", "count", "every", "hold"))
    )
    return f"""
@operations = constant i64 {plan.operations}
{"".join(tables)}
{declare_flags}{declare_scratch}{groups}{steps}
define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) {{
entry:
{stack_flags}{stack_scratch}{dimensions}  %any = icmp sgt i64 %n, 0
  br i1 %any, label %start, label %end
start:
{save_flags}{get_scratch}{start}
  br label %first
first:  ; what comes before may end in another block than it began in: memory from the heap is checked
  br label %block
block:
  %i = phi i64 [ 0, %first ], [ %i.next, %done ]
  %left = sub i64 %n, %i
  %partial = icmp slt i64 %left, {lanes.width}
  %states = select i1 %partial, i64 %left, i64 {lanes.width}
{load}
  %moves = icmp sgt i64 %count, 0
  br i1 %moves, label %enter, label %finish
enter:
  call void @steps(ptr %scratch)
  br label %finish
finish:
{finish}
  br label %done
done:
  %i.next = add i64 %i, {lanes.width}
  %more = icmp slt i64 %i.next, %n
  br i1 %more, label %block, label %leave
leave:
{free_scratch}{restore_flags}  br label %end
end:
  ret void
}}
"""


def _argument(b: Instructions, k: int) -> None:
    """Pointer and strides of argument k."""
    b.do(f"%base{k}.p = getelementptr ptr, ptr %args, i64 {k}")
    b.do(f"%base{k} = load ptr, ptr %base{k}.p")
    for name, j in (("stride", 2 * k), ("rows", 2 * k + 1)):
        b.do(f"%{name}{k}.p = getelementptr i64, ptr %steps, i64 {j}")
        b.do(f"%{name}{k} = load i64, ptr %{name}{k}.p")


def _describe(b: Instructions, k: int, place: int, is_input: bool, lanes: Lanes) -> None:
    """Write down where argument k has the numbers of a block of states; see :mod:`dalembert.native.llvm.transfer`."""
    way = f"{COLUMNS}"
    if lanes.width > 1:
        way = b(f"select i1 %partial, i64 {STRIDED}, i64 {ROWS}")
        if is_input:
            way = b(f"select i1 {b(f'icmp eq i64 %stride{k}, 0')}, i64 {SPLAT}, i64 {way}")
    shifted = b(f"getelementptr i8, ptr %base{k}, i64 {b(f'mul i64 %i, %stride{k}')}")
    first = b(f"select i1 {b(f'icmp eq ptr %base{k}, null')}, ptr null, ptr {shifted}")
    values = (f"ptr {first}", f"i64 %stride{k}", "ptr @contiguous", f"i64 {way}", "i64 %states", f"ptr {first}")
    for j, value in enumerate((*values, f"i64 %rows{k}")):
        b.do(f"store {value}, ptr {b(f'getelementptr i8, ptr %scratch, i64 {place + 8 * j}')}")
