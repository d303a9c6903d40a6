"""The arithmetic of one chunk as LLVM IR: loads from the scratch, operations on registers, stores to the scratch."""

from __future__ import annotations

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


def chunk_head(name: str, lanes: Lanes) -> str:
    """What functions of chunks are called with: the scratch, and the table of constants."""
    return f"void @{name}(ptr noalias align {lanes.bytes} %scratch, ptr noalias %numbers)"


def chunk_function(name: str, plan: BlockPlan, chunk: Chunk, lanes: Lanes, linkage: str = "internal ") -> str:
    """A chunk as a function, see :func:`chunk_head`.

    Args:
        linkage: LLVM's word for who may call it.
    """
    code, constants, slots, keep, numbers = plan.code, plan.constants, plan.slots, chunk.keep, plan.numbers
    v, suffix, truths = lanes.vector, lanes.suffix, lanes.truths
    scalar, size, align = lanes.scalar, lanes.bytes, lanes.bytes
    first = f"<{lanes.width} x i32> zeroinitializer"
    zero, one = lanes.constant(0.0), lanes.constant(1.0)
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
        if op in INFIX:
            write(f"  {r} = {INFIX[op]} {v} {a[0]}, {a[1]}")
        elif op == "muladd":
            write(f"  {r} = call {v} @llvm.fmuladd.{suffix}({v} {a[0]}, {v} {a[1]}, {v} {a[2]})")
        elif op == "submul":
            write(f"  %n{i} = fneg {v} {a[0]}")
            write(f"  {r} = call {v} @llvm.fmuladd.{suffix}({v} %n{i}, {v} {a[1]}, {v} {a[2]})")
        elif op == "mulsub":
            write(f"  %n{i} = fneg {v} {a[2]}")
            write(f"  {r} = call {v} @llvm.fmuladd.{suffix}({v} {a[0]}, {v} {a[1]}, {v} %n{i})")
        elif op == "neg":
            write(f"  {r} = fneg {v} {a[0]}")
        elif op == "sqrt":
            write(f"  {r} = call {v} @llvm.sqrt.{suffix}({v} {a[0]})")
        elif op == "abs":
            write(f"  {r} = call {v} @llvm.fabs.{suffix}({v} {a[0]})")
        elif op == "min" or op == "max":  # NaN if either is, as NumPy's minimum and maximum
            write(f"  %c{i} = fcmp {'ole' if op == 'min' else 'oge'} {v} {a[0]}, {a[1]}")
            write(f"  %d{i} = fcmp uno {v} {a[0]}, {a[0]}")
            write(f"  %e{i} = or {truths} %c{i}, %d{i}")
            write(f"  {r} = select {truths} %e{i}, {v} {a[0]}, {v} {a[1]}")
        elif op in COMPARE:
            write(f"  {r} = fcmp {COMPARE[op]} {v} {a[0]}, {a[1]}")
        elif op in LOGIC:
            write(f"  {r} = {LOGIC[op]} {truths} {a[0]}, {a[1]}")
        elif op == "not":
            write(f"  {r} = xor {truths} {a[0]}, <{', '.join(['i1 true'] * lanes.width)}>")
        elif op == "select":
            write(f"  {r} = select {truths} {a[0]}, {v} {a[1]}, {v} {a[2]}")
        else:
            raise CompilerError(f"the LLVM back end does not know the operation {op!r}")
        names[i] = r
        done += 1
        if i in keep:
            stored = r
            if op in PREDICATES:  # truth values cross chunks as 1 and 0
                write(f"  %s{i} = select {truths} {r}, {v} {one}, {v} {zero}")
                stored = f"%s{i}"
            write(f"  %k{i} = getelementptr i8, ptr %scratch, i64 {keep[i] * size}")
            write(f"  store {v} {stored}, ptr %k{i}, align {align}")
    write("  ret void")
    write("}")
    return "\n".join(lines) + "\n"
