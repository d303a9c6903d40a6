"""Blocks of random numbers, :func:`dalembert.threefry.draw`, as LLVM IR."""

from __future__ import annotations

from dalembert.native.llvm.target import Lanes
from dalembert.native.llvm.text import Instructions
from dalembert.threefry import PARITY, schedule


def draw_function(lanes: Lanes) -> str:
    """The function ``void map_draw(ptr scratch, ptr table, i64 count)``.

    The table has for each of ``count`` > 0 blocks the byte offsets into the scratch of its nine operands and its four
    results.
    """
    b, v, words, wide = Instructions("r"), lanes.vector, f"<{lanes.width} x i32>", f"<{lanes.width} x i64>"

    def whole(value: int, kind: str = "i32") -> str:
        return f"<{', '.join([f'{kind} {value}'] * lanes.width)}>"

    def place(j: int) -> str:
        entry = b(f"getelementptr [13 x i64], ptr %table, i64 %k, i64 {j}")
        return b(f"getelementptr i8, ptr %scratch, i64 {b(f'load i64, ptr {entry}')}")

    def word(j: int) -> str:
        """In two halves: processors convert to signed integers."""
        x = b(f"load {v}, ptr {place(j)}, align {lanes.bytes}")
        positive = b(f"fcmp ogt {v} {x}, {lanes.constant(0.0)}")
        inside = b(f"fcmp olt {v} {x}, {lanes.constant(2.0**32)}")
        known = b(f"and {lanes.truths} {positive}, {inside}")
        y = b(f"select {lanes.truths} {known}, {v} {x}, {v} {lanes.constant(0.0)}")
        high = b(f"fptosi {v} {b(f'fmul {v} {y}, {lanes.constant(2.0**-16)}')} to {words}")
        above = b(f"fmul {v} {b(f'sitofp {words} {high} to {v}')}, {lanes.constant(2.0**16)}")
        low = b(f"fptosi {v} {b(f'fsub {v} {y}, {above}')} to {words}")
        both = b(f"or {words} {b(f'shl {words} {high}, {whole(16)}')}, {low}")
        beyond = b(f"fcmp oge {v} {x}, {lanes.constant(2.0**32)}")
        return b(f"select {lanes.truths} {beyond}, {words} {whole(-1)}, {words} {both}")

    given = [word(j) for j in range(9)]
    keys = [*given[:4], whole(PARITY)]
    for key in given[:4]:
        keys[4] = b(f"xor {words} {keys[4]}, {key}")
    x = [b(f"add {words} {given[4 + j]}, {given[j]}") for j in range(4)]
    for step in schedule():
        if len(step) == 1:
            x = [b(f"add {words} {x[j]}, {keys[(step[0] + j) % 5]}") for j in range(4)]
            x[3] = b(f"add {words} {x[3]}, {whole(step[0])}")
            continue
        i, j, r = step
        x[i] = b(f"add {words} {x[i]}, {x[j]}")
        left, right = b(f"shl {words} {x[j]}, {whole(r)}"), b(f"lshr {words} {x[j]}, {whole(32 - r)}")
        x[j] = b(f"xor {words} {b(f'or {words} {left}, {right}')}, {x[i]}")
    limit = b(f"zext {words} {given[8]} to {wide}")
    for j in range(4):
        product = b(f"mul {wide} {b(f'zext {words} {x[j]} to {wide}')}, {limit}")
        above = b(f"lshr {wide} {product}, {whole(32, 'i64')}")
        high = b(f"trunc {wide} {above} to {words}")
        b.do(f"store {v} {b(f'uitofp {words} {high} to {v}')}, ptr {place(9 + j)}, align {lanes.bytes}")
    return f"""
define void @rt.map_draw(ptr noalias %scratch, ptr noalias %table, i64 %count) {{
entry:
  br label %body
body:
  %k = phi i64 [ 0, %entry ], [ %k.next, %body ]
{b}
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %count
  br i1 %more, label %body, label %end
end:
  ret void
}}
"""
