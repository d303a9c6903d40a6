"""The loop that repeats a program on its own results, as LLVM IR: blocks of trajectories outside, steps inside.

    void loop(char **args, intp *dimensions, intp *steps, void *data)

A program whose first inputs are a state and whose outputs are the next one is executed again and again; between two
steps a block of states does not leave the scratch. Other inputs are *held* for the whole run or *driven*: read anew,
row by row of an array, every so many steps. ``args`` are the arrays of the states at the start, the held and the driven
inputs, the final states and the records, in that order; an array of records that is not wanted is null. ``steps`` has
for each of them the bytes from trajectory to trajectory (0: one serves all), then from row to row. ``dimensions`` are
the numbers of trajectories, of steps, of steps from record to record, and of steps for which a driven row holds.

The numbers of one row lie side by side. Floating-point flags are left as they were found.
"""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.native.llvm.loop import constant_table, flag_guard, scratch_memory, step_calls
from dalembert.native.llvm.plan import Plan
from dalembert.native.llvm.target import Lanes, Target
from dalembert.native.llvm.text import Block
from dalembert.native.llvm.transfer import group
from dalembert.tracing.program import Port


def stepper_functions(
    state: Sequence[Port], held: Sequence[Port], driven: Sequence[Port], plan: Plan, lanes: Lanes, target: Target
) -> str:
    """The loop, the tables it reads, and the number of operations of a step as ``@operations``.

    Args:
        state: the first inputs of the program, and its outputs.
        held: the inputs after them.
        driven: the last inputs.
        plan: what to execute in every step; its step k, if a chunk, is the function ``chunk<k>``.
        lanes: the register type.
        target: the processor.
    """
    inputs = [*state, *held, *driven]
    largest = max(port.size for port in inputs) or 1
    tables = [
        constant_table("contiguous", [k * lanes.itemsize for k in range(largest)]),
        constant_table("numbers", [lanes.number(x) for x in plan.table], lanes.scalar),
    ]
    start, load, drive, record, finish = (Block(x) for x in "abcde")
    places, slot = [], 0
    for port in inputs:
        places.append(slot)
        slot += port.size
    for k, port in enumerate(state):
        tables.append(constant_table(f"slots{k}", [(places[k] + j) * lanes.bytes for j in range(port.size)]))
    for k in range(len(inputs) + 2 * len(state)):
        _argument(start, k)
    for number, value in plan.fill.items():
        place = start(f"getelementptr i8, ptr %scratch, i64 {number * lanes.bytes}")
        start.do(f"store {lanes.vector} {lanes.constant(value)}, ptr {place}, align {lanes.bytes}")
    fixed = len(state) + len(held)
    for k, port in enumerate(inputs):
        if port.size:
            block = load if k < fixed else drive
            _load(block, k, port, places[k], None if k < fixed else "%row", lanes)
    for k, port in enumerate(state):
        if port.size:
            _store(finish, len(inputs) + k, k, port, None, lanes)
            _store(record, len(inputs) + len(state) + k, k, port, "%record", lanes)
    execute, groups = step_calls(plan, tables, lanes)
    advance = _advance(state, places, plan, lanes)

    declare_flags, stack_flags, save_flags, restore_flags = flag_guard(target)
    declare_scratch, stack_scratch, get_scratch, free_scratch = scratch_memory(-(-plan.size * lanes.bytes // 64) * 64)
    dimensions = "".join(
        f"  %{name}.p = getelementptr i64, ptr %dimensions, i64 {k}\n  %{name} = load i64, ptr %{name}.p\n"
        for k, name in enumerate(("n", "count", "every", "hold"))
    )
    return f"""
@operations = constant i64 {len(plan.code)}
{"".join(tables)}
{declare_flags}{declare_scratch}{groups}
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
  br label %step
step:
  %s = phi i64 [ 0, %enter ], [ %s.next, %next ]
  %row = phi i64 [ 0, %enter ], [ %row.next, %next ]
  %held = phi i64 [ 0, %enter ], [ %held.next, %next ]
  %record = phi i64 [ 0, %enter ], [ %record.next, %next ]
  %wait = phi i64 [ %every, %enter ], [ %wait.next, %next ]
  %fresh = icmp eq i64 %held, 0
  br i1 %fresh, label %drive, label %driven
drive:
{drive}
  br label %driven
driven:
  %held.now = select i1 %fresh, i64 %hold, i64 %held
  %held.next = sub i64 %held.now, 1
  %row.over = icmp eq i64 %held.next, 0
  %row.add = zext i1 %row.over to i64
  %row.next = add i64 %row, %row.add
{execute}
{advance}
  %wait.less = sub i64 %wait, 1
  %due = icmp eq i64 %wait.less, 0
  br i1 %due, label %keep, label %kept
keep:
{record}
  br label %kept
kept:
  %wait.next = select i1 %due, i64 %every, i64 %wait.less
  %record.add = zext i1 %due to i64
  %record.next = add i64 %record, %record.add
  br label %next
next:
  %s.next = add i64 %s, 1
  %more.steps = icmp slt i64 %s.next, %count
  br i1 %more.steps, label %step, label %finish
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


def _argument(b: Block, k: int) -> None:
    """Pointer and strides of argument k."""
    b.do(f"%base{k}.p = getelementptr ptr, ptr %args, i64 {k}")
    b.do(f"%base{k} = load ptr, ptr %base{k}.p")
    for name, j in (("stride", 2 * k), ("rows", 2 * k + 1)):
        b.do(f"%{name}{k}.p = getelementptr i64, ptr %steps, i64 {j}")
        b.do(f"%{name}{k} = load i64, ptr %{name}{k}.p")


def _address(b: Block, k: int, row: str | None) -> str:
    at = b(f"getelementptr i8, ptr %base{k}, i64 {b(f'mul i64 %i, %stride{k}')}")
    return at if row is None else b(f"getelementptr i8, ptr {at}, i64 {b(f'mul i64 {row}, %rows{k}')}")


def _load(b: Block, k: int, port: Port, place: int, row: str | None, lanes: Lanes) -> None:
    """Read one row per trajectory of a block: splat, strided for an incomplete block, or rows."""
    at = _address(b, k, row)
    to = b(f"getelementptr i8, ptr %scratch, i64 {place * lanes.bytes}")
    if lanes.width == 1:
        b.do(f"call void @rt.load_columns(ptr {at}, ptr @contiguous, i64 {port.size}, ptr {to})")
        return
    still = b(f"icmp eq i64 %stride{k}, 0")
    b.do(f"br i1 {still}, label %splat{k}, label %each{k}")
    b.do(f"splat{k}:")
    b.do(f"call void @rt.load_splat(ptr {at}, ptr @contiguous, i64 {port.size}, ptr {to})")
    b.do(f"br label %loaded{k}")
    b.do(f"each{k}:")
    b.do(f"br i1 %partial, label %some{k}, label %all{k}")
    b.do(f"some{k}:")
    strided = f"ptr {at}, i64 %stride{k}, i64 %states, ptr @contiguous, i64 {port.size}, ptr {to}"
    b.do(f"call void @rt.load_strided({strided})")
    b.do(f"br label %loaded{k}")
    b.do(f"all{k}:")
    rows = f"load_rows{group(lanes, port.size, True)}"
    b.do(f"call void @rt.{rows}(ptr {at}, i64 %stride{k}, i64 {port.size}, ptr {to})")
    b.do(f"br label %loaded{k}")
    b.do(f"loaded{k}:")


def _store(b: Block, k: int, table: int, port: Port, row: str | None, lanes: Lanes) -> None:
    """Write one row per trajectory of a block, unless the array is null."""
    absent = b(f"icmp eq ptr %base{k}, null")
    b.do(f"br i1 {absent}, label %stored{k}, label %store{k}")
    b.do(f"store{k}:")
    at = _address(b, k, row)
    rest = f"ptr @slots{table}, i64 {port.size}, ptr %scratch"
    if lanes.width == 1:
        b.do(f"call void @rt.store_columns(ptr {at}, ptr @contiguous, {rest})")
        b.do(f"br label %stored{k}")
    else:
        b.do(f"br i1 %partial, label %store.some{k}, label %store.all{k}")
        b.do(f"store.some{k}:")
        b.do(f"call void @rt.store_strided(ptr {at}, i64 %stride{k}, i64 %states, ptr @contiguous, {rest})")
        b.do(f"br label %stored{k}")
        b.do(f"store.all{k}:")
        rows = f"store_rows{group(lanes, port.size, False)}"
        b.do(f"call void @rt.{rows}(ptr {at}, i64 %stride{k}, {rest})")
        b.do(f"br label %stored{k}")
    b.do(f"stored{k}:")


def _advance(state: Sequence[Port], places: Sequence[int], plan: Plan, lanes: Lanes) -> Block:
    """The results become the state. All are read before the first is written: they may be each other's inputs."""
    b = Block("y")
    moves = []
    for port, place, results in zip(state, places, plan.results):
        for j in range(port.size):
            if results[j] != place + j:
                source = b(f"getelementptr i8, ptr %scratch, i64 {results[j] * lanes.bytes}")
                moves.append((b(f"load {lanes.vector}, ptr {source}, align {lanes.bytes}"), place + j))
    for value, slot in moves:
        target = b(f"getelementptr i8, ptr %scratch, i64 {slot * lanes.bytes}")
        b.do(f"store {lanes.vector} {value}, ptr {target}, align {lanes.bytes}")
    return b
