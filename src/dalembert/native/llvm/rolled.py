"""Arithmetic as a table instead of code, for programs of which code would be too long.

The table is a list of runs: the number of an operation, how many of them follow, and for each the slots of its result
and of its operands, all as 32-bit integers. One function of the runtime works through it. It takes a loop per operation
where code has one instruction, and every value passes through the scratch; but it is there at once, and where values
come from memory far away nothing is lost by it.
"""

from __future__ import annotations

from dalembert.native.llvm.arithmetic import as_number, operation
from dalembert.native.llvm.plan import ROLLED
from dalembert.native.llvm.target import Lanes
from dalembert.tracing.program import PREDICATES

TRUTHS_FIRST = {"and": 2, "or": 2, "not": 1, "select": 1}
"""How many of the first operands of an operation are truth values."""


def rolled_function(lanes: Lanes) -> str:
    """The function ``void rolled(ptr scratch, ptr table, i64 runs)``."""
    v, size = lanes.vector, lanes.bytes
    cases, bodies = [], []
    for op, (number, operands) in ROLLED.items():
        cases.append(f"i32 {number}, label %do.{op}")
        lines = [f"do.{op}:", f"  %row.{op} = phi ptr [ %rows, %run ], [ %row.{op}.next, %do.{op} ]"]
        lines.append(f"  %k.{op} = phi i32 [ 0, %run ], [ %k.{op}.next, %do.{op} ]")
        registers = []
        for j in range(operands + 1):
            lines += [
                f"  %i{j}.{op}.p = getelementptr i32, ptr %row.{op}, i64 {j}",
                f"  %i{j}.{op}.n = load i32, ptr %i{j}.{op}.p",
                f"  %i{j}.{op} = zext i32 %i{j}.{op}.n to i64",
                f"  %p{j}.{op} = getelementptr {v}, ptr %scratch, i64 %i{j}.{op}",
            ]
        for j in range(1, operands + 1):
            register = f"%x{j}.{op}"
            lines.append(f"  {register} = load {v}, ptr %p{j}.{op}, align {size}")
            if j <= TRUTHS_FIRST.get(op, 0):
                lines.append(f"  %t{j}.{op} = fcmp one {v} {register}, {lanes.constant(0.0)}")
                register = f"%t{j}.{op}"
            registers.append(register)
        lines += operation(number, op, registers, lanes)
        stored = f"%v{number}"
        if op in PREDICATES:
            lines.append(as_number(number, lanes))
            stored = f"%s{number}"
        lines += [
            f"  store {v} {stored}, ptr %p0.{op}, align {size}",
            f"  %row.{op}.next = getelementptr i32, ptr %row.{op}, i64 {operands + 1}",
            f"  %k.{op}.next = add i32 %k.{op}, 1",
            f"  %more.{op} = icmp ult i32 %k.{op}.next, %count",
            f"  br i1 %more.{op}, label %do.{op}, label %done",
        ]
        bodies.append("\n".join(lines))
    ends = ", ".join(f"[ %row.{op}.next, %do.{op} ]" for op in ROLLED)
    return f"""
define void @rt.rolled(ptr noalias %scratch, ptr noalias %table, i64 %runs) {{
entry:
  br label %run
run:
  %head = phi ptr [ %table, %entry ], [ %head.next, %done ]
  %r = phi i64 [ 0, %entry ], [ %r.next, %done ]
  %kind = load i32, ptr %head
  %count.p = getelementptr i32, ptr %head, i64 1
  %count = load i32, ptr %count.p
  %rows = getelementptr i32, ptr %head, i64 2
  switch i32 %kind, label %unknown [ {" ".join(cases)} ]
{chr(10).join(bodies)}
done:
  %head.next = phi ptr {ends}
  %r.next = add i64 %r, 1
  %more = icmp slt i64 %r.next, %runs
  br i1 %more, label %run, label %end
unknown:
  unreachable
end:
  ret void
}}
"""
