"""The loop over blocks of states, with the signature NumPy asks of the inner loop of a generalized ufunc, as LLVM IR.

    void loop(char **args, intp *dimensions, intp *steps, void *data)

``dimensions[0]`` is the number of states; ``steps`` has first the bytes from state to state for every argument,
then, for every argument and core dimension, the bytes from element to element. ``data`` points to an integer:
whether outputs are so large that they had better be written past the caches.

Code that computes both branches of a selection would raise spurious floating-point flags, and flags raised in
other threads would get lost; so the loop leaves the flags as it found them. Results tell by being infinite or NaN.
"""

from __future__ import annotations

from dalembert.native.llvm.plan import Calls, Plan
from dalembert.native.llvm.rows import group
from dalembert.native.llvm.target import Lanes, Target
from dalembert.native.llvm.text import Block
from dalembert.native.llvm.transfer import COLUMNS, ROWS, SPLAT, STREAM, STRIDED
from dalembert.tracing.program import Port, Program

STACK = 1 << 16
"""Bytes of scratch that are taken from the stack; more come from the heap."""

GROUP = 128
"""The largest number of steps called by one function: LLVM's time grows with the square of it."""


class _Argument:
    """One array argument of the loop and the code that moves it.

    Args:
        port: name and shape.
        k: its position.
        count: number of all arguments.
        core: number of core dimensions of the arguments before.
        lanes: the register type.
        place: its part of the scratch if an input, its table of slots if an output.
    """

    def __init__(self, port: Port, k: int, count: int, core: int, lanes: Lanes, place: str):
        self.port, self.k, self.lanes, self.place = port, k, lanes, place
        self.steps = count + core
        self.is_input = place.startswith("%")

    def prepare(self, b: Block, table: int) -> None:
        """Read pointer and strides, make the table of element offsets if it is needed, choose the way."""
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
        b.do(f"br i1 {contiguous}, label %ready{k}, label %measure{k}")
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
            b.do(f"br i1 {alone}, label %splat{k}, label %next{k}")
            b.do(f"splat{k}:")
            b.do(f"call void @rt.load_splat(ptr %base{k}, ptr %offsets{k}, i64 {port.size}, ptr {self.place})")
            b.do(f"br label %next{k}")
            b.do(f"next{k}:")
        else:
            closed = b(f"icmp eq i64 %stride{k}, {port.size * itemsize}")
            streamed = b(f"and i1 %stream, {b(f'and i1 {closed}, {contiguous}')}")
            way_now = STREAM if self.lanes.width > 1 else COLUMNS
            b.do(f"%way{k} = select i1 {streamed}, i32 {way_now}, i32 {way}")

    def move(self, b: Block) -> None:
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


def loop_functions(program: Program, plan: Plan, lanes: Lanes, target: Target) -> str:
    """The loop, the tables it reads, and the number of operations as ``@operations``.

    Args:
        program: for its ports.
        plan: what to execute on every block of states; its step k, if a chunk, is the function ``chunk<k>``.
        lanes: the register type.
        target: the processor.
    """
    ports = [*program.inputs, *program.outputs]
    tables = [constant_table("contiguous", [k * lanes.itemsize for k in range(max(p.size for p in ports) or 1)])]
    tables.append(constant_table("numbers", [lanes.number(x) for x in plan.table], lanes.scalar))
    prepare, load, store = Block("a"), Block("b"), Block("d")
    prepare.do("%single = icmp eq i64 %n, 1")
    core = slot = 0
    memory = -(-plan.size * lanes.bytes // 64) * 64  # slots, then offsets of elements, then a stage for streaming
    for k, port in enumerate(ports):
        is_input = k < len(program.inputs)
        argument = _Argument(port, k, len(ports), core, lanes, f"%in{k}" if is_input else f"@slots{k}")
        core += len(port.shape)
        if port.size == 0:
            continue
        tables.append(constant_table(f"shape{k}", list(port.shape)))
        if is_input:
            prepare.do(f"%in{k} = getelementptr i8, ptr %scratch, i64 {slot * lanes.bytes}")
            slot += port.size
        else:
            tables.append(constant_table(f"slots{k}", [s * lanes.bytes for s in plan.results[k - len(program.inputs)]]))
        argument.prepare(prepare, memory)
        memory += 8 * port.size
        argument.move(load if is_input else store)
    memory = -(-memory // 64) * 64
    prepare.do(f"%stage = getelementptr i8, ptr %scratch, i64 {memory}")
    memory += 64 + lanes.bytes * max(p.size for p in program.outputs)
    for slot, value in plan.fill.items():
        place = prepare(f"getelementptr i8, ptr %scratch, i64 {slot * lanes.bytes}")
        prepare.do(f"store {lanes.vector} {lanes.constant(value)}, ptr {place}, align {lanes.bytes}")

    execute, groups = step_calls(plan, tables, lanes)
    declare_flags, stack_flags, save_flags, restore_flags = flag_guard(target)
    declare_scratch, stack_scratch, get_scratch, free_scratch = scratch_memory(memory)
    stack = stack_flags + stack_scratch
    return f"""
@operations = constant i64 {sum(1 for _ in program.operations())}
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


def step_calls(plan: Plan, tables: list[str], lanes: Lanes) -> tuple[str, str]:
    """The calls that execute the steps of a plan and, if they are many, the functions that make them, group by group.

    Args:
        plan: its step k, if a chunk, is the function ``chunk<k>``.
        tables: gets those that the calls read.
        lanes: the register type.
    """
    calls = []
    for k, step in enumerate(plan.steps):
        if isinstance(step, Calls):
            tables.append(constant_table(f"calls{k}", [s * lanes.bytes for row in step.slots for s in row]))
            function = "sincos" if step.kind == "sincos" else f"map_{step.kind}"
            calls.append(f"  call void @rt.{function}(ptr %scratch, ptr @calls{k}, i64 {len(step.slots)})")
        else:
            calls.append(f"  call void @chunk{k}(ptr %scratch, ptr @numbers)")
    functions: list[str] = []
    while len(calls) > GROUP:
        bodies = ["\n".join(calls[k : k + GROUP]) for k in range(0, len(calls), GROUP)]
        names = [f"@group{len(functions) + k}" for k in range(len(bodies))]
        functions += [
            f"define internal void {name}(ptr %scratch) {{\n{body}\n  ret void\n}}\n"
            for name, body in zip(names, bodies)
        ]
        calls = [f"  call void {name}(ptr %scratch)" for name in names]
    return "\n".join(calls), "".join(functions)


def constant_table(name: str, numbers: list, scalar: str = "i64") -> str:
    """A constant array of numbers."""
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
    if size <= STACK:
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
