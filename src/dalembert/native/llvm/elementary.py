"""Elementary functions left to the C library, one lane at a time: exp, log, atan2."""

from __future__ import annotations

from dalembert.native.llvm.target import Lanes

ARGUMENTS = {"exp": 1, "log": 1, "atan2": 2}
"""Functions of the C library and the number of their arguments."""

SYMBOLS = ("sin", "cos", *ARGUMENTS)
"""Everything generated code may ask of the C library; always on doubles, so that float32 results are rounded well."""


def declarations() -> str:
    """The functions of the C library."""
    return "".join(f"declare double @{s}({', '.join(['double'] * ARGUMENTS.get(s, 1))})\n" for s in SYMBOLS)


def widen(lanes: Lanes, value: str) -> str:
    """The instruction that gives a scalar of the register type as a double."""
    return f"fpext float {value} to double" if lanes.scalar == "float" else f"bitcast double {value} to double"


def narrow(lanes: Lanes, value: str) -> str:
    """The instruction that rounds a double to a scalar of the register type."""
    return f"fptrunc double {value} to float" if lanes.scalar == "float" else f"bitcast double {value} to double"


def map_function(kind: str, lanes: Lanes) -> str:
    """The function ``void map_<kind>(ptr scratch, ptr table, i64 count)``.

    The table has for each of ``count`` > 0 calls the byte offsets into the scratch of its arguments and its result.

    Args:
        kind: name of the function of the C library.
        lanes: the register type.
    """
    count, scalar = ARGUMENTS[kind], lanes.scalar
    find, load = [], []
    for k in range(count + 1):
        find += [
            f"  %entry{k} = getelementptr [{count + 1} x i64], ptr %table, i64 %k, i64 {k}",
            f"  %offset{k} = load i64, ptr %entry{k}",
            f"  %vector{k} = getelementptr i8, ptr %scratch, i64 %offset{k}",
        ]
        load.append(f"  %place{k} = getelementptr {scalar}, ptr %vector{k}, i64 %lane")
    for k in range(count):
        load += [f"  %stored{k} = load {scalar}, ptr %place{k}", f"  %x{k} = {widen(lanes, f'%stored{k}')}"]
    arguments = ", ".join(f"double %x{k}" for k in range(count))
    lines = "\n".join
    return f"""
define void @rt.map_{kind}(ptr noalias %scratch, ptr noalias %table, i64 %count) {{
entry:
  br label %body
body:
  %k = phi i64 [ 0, %entry ], [ %k.next, %next ]
{lines(find)}
  br label %each
each:
  %lane = phi i64 [ 0, %body ], [ %lane.next, %each ]
{lines(load)}
  %y = call double @{kind}({arguments})
  %rounded = {narrow(lanes, "%y")}
  store {scalar} %rounded, ptr %place{count}
  %lane.next = add i64 %lane, 1
  %lane.more = icmp slt i64 %lane.next, {lanes.width}
  br i1 %lane.more, label %each, label %next
next:
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""
