"""The arithmetic of one chunk as LLVM IR: loads from the scratch, operations on registers, stores to the scratch."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.errors import CompilerError
from dalembert.native.llvm.plan import BlockPlan, Chunk
from dalembert.native.llvm.target import Lanes
from dalembert.native.tuning import RELOAD_OPERATIONS
from dalembert.tracing.program import PREDICATES

INFIX = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq"}
LOGIC = {"and": "and", "or": "or"}


def intrinsics(lanes: Lanes) -> str:
    """Declarations of the intrinsic functions that arithmetic may call."""
    v, s = lanes.vector, lanes.suffix
    return (
        f"declare {v} @llvm.fmuladd.{s}({v}, {v}, {v})\n"
        f"declare {v} @llvm.sqrt.{s}({v})\n"
        f"declare {v} @llvm.fabs.{s}({v})\n"
    )


def operation(i: int, op: str, a: Sequence[str], lanes: Lanes) -> list[str]:
    """The instructions that compute register ``%v<i>``.

    Args:
        i: a number for the registers in between, too.
        op: what to compute.
        a: registers of the operands.
    """
    v, suffix, truths = lanes.vector, lanes.suffix, lanes.truths
    r = f"%v{i}"
    if op in INFIX:
        return [f"  {r} = {INFIX[op]} {v} {a[0]}, {a[1]}"]
    if op == "muladd":
        return [f"  {r} = call {v} @llvm.fmuladd.{suffix}({v} {a[0]}, {v} {a[1]}, {v} {a[2]})"]
    if op == "submul":
        return [
            f"  %n{i} = fneg {v} {a[0]}",
            f"  {r} = call {v} @llvm.fmuladd.{suffix}({v} %n{i}, {v} {a[1]}, {v} {a[2]})",
        ]
    if op == "mulsub":
        return [
            f"  %n{i} = fneg {v} {a[2]}",
            f"  {r} = call {v} @llvm.fmuladd.{suffix}({v} {a[0]}, {v} {a[1]}, {v} %n{i})",
        ]
    if op == "neg":
        return [f"  {r} = fneg {v} {a[0]}"]
    if op == "sqrt":
        return [f"  {r} = call {v} @llvm.sqrt.{suffix}({v} {a[0]})"]
    if op == "abs":
        return [f"  {r} = call {v} @llvm.fabs.{suffix}({v} {a[0]})"]
    if op == "min" or op == "max":  # NaN if either is, as NumPy's minimum and maximum
        return [
            f"  %c{i} = fcmp {'ole' if op == 'min' else 'oge'} {v} {a[0]}, {a[1]}",
            f"  %d{i} = fcmp uno {v} {a[0]}, {a[0]}",
            f"  %e{i} = or {truths} %c{i}, %d{i}",
            f"  {r} = select {truths} %e{i}, {v} {a[0]}, {v} {a[1]}",
        ]
    if op in COMPARE:
        return [f"  {r} = fcmp {COMPARE[op]} {v} {a[0]}, {a[1]}"]
    if op in LOGIC:
        return [f"  {r} = {LOGIC[op]} {truths} {a[0]}, {a[1]}"]
    if op == "not":
        return [f"  {r} = xor {truths} {a[0]}, <{', '.join(['i1 true'] * lanes.width)}>"]
    if op == "select":
        return [f"  {r} = select {truths} {a[0]}, {v} {a[1]}, {v} {a[2]}"]
    raise CompilerError(f"the LLVM back end does not know the operation {op!r}")


def as_number(i: int, lanes: Lanes) -> str:
    """The instruction that makes a number, 1 or 0, of the truth value ``%v<i>``: as such it lies in the scratch."""
    v = lanes.vector
    return f"  %s{i} = select {lanes.truths} %v{i}, {v} {lanes.constant(1.0)}, {v} {lanes.constant(0.0)}"


def chunk_head(name: str, lanes: Lanes) -> str:
    """What functions of chunks are called with: the scratch, and the table of constants."""
    return f"void @{name}(ptr noalias align {lanes.bytes} %scratch, ptr noalias %numbers)"


def chunk_function(name: str, plan: BlockPlan, chunk: Chunk, lanes: Lanes, linkage: str = "internal ") -> str:
    """A chunk as a function, see :func:`chunk_head`.

    Args:
        linkage: LLVM's word for who may call it.
    """
    code, constants, slots, keep, numbers = plan.code, plan.constants, plan.slots, chunk.keep, plan.numbers
    v, scalar, size, align = lanes.vector, lanes.scalar, lanes.bytes, lanes.bytes
    first = f"<{lanes.width} x i32> zeroinitializer"
    zero = lanes.constant(0.0)
    lines = [f"define {linkage}{chunk_head(name, lanes)} {{"]
    write = lines.append
    names: dict[int, str] = {}
    loaded: dict[int, int] = {}
    fresh = 0
    done = 0

    def name_of(i: int) -> str:
        """The register of a value, read from the scratch if it is not at hand."""
        nonlocal fresh
        if i in names and (i not in loaded or done - loaded[i] < RELOAD_OPERATIONS):
            return names[i]
        fresh += 1
        register = f"%m{fresh}"
        if i in constants:
            write(f"  %p{fresh} = getelementptr {scalar}, ptr %numbers, i64 {numbers[i]}")
            write(f"  %x{fresh} = load {scalar}, ptr %p{fresh}")
            write(f"  %y{fresh} = insertelement {v} undef, {scalar} %x{fresh}, i32 0")
            write(f"  {register} = shufflevector {v} %y{fresh}, {v} undef, {first}")
        else:
            write(f"  %p{fresh} = getelementptr i8, ptr %scratch, i64 {slots[i] * size}")
            write(f"  {register} = load {v}, ptr %p{fresh}, align {align}")
        if i in code and code[i][0] in PREDICATES:
            write(f"  %q{fresh} = fcmp one {v} {register}, {zero}")
            register = f"%q{fresh}"
        names[i], loaded[i] = register, done
        return register

    for i in chunk.values:
        op, args = code[i]
        a = [name_of(k) for k in args]
        r = f"%v{i}"
        lines += operation(i, op, a, lanes)
        names[i] = r
        done += 1
        if i in keep:
            stored = r
            if op in PREDICATES:  # truth values cross chunks as 1 and 0
                write(as_number(i, lanes))
                stored = f"%s{i}"
            write(f"  %k{i} = getelementptr i8, ptr %scratch, i64 {keep[i] * size}")
            write(f"  store {v} {stored}, ptr %k{i}, align {align}")
    write("  ret void")
    write("}")
    return "\n".join(lines) + "\n"
