"""How much room the C of a program takes on a small processor, estimated without a compiler.

Straight-line code is so regular that operations and numbers decide. The constants are those of Arm Cortex-M4 and M7
with their own floating-point units, Clang -Os; ``benchmarks/code_size.py`` compares them with compiled code.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.tracing.program import STRUCTURE, Program


@dataclass(frozen=True)
class Room:
    """Bytes that things take.

    Args:
        operation: of arithmetic, with the loads and stores around it.
        copy: one element of an array that is set before a loop.
        loop: a loop that fills a column of such an array, or calls a step.
        number: a constant in a table.
        store: an element of the results.
        function: what each function begins and ends with.
    """

    operation: float
    copy: float
    loop: float
    number: int
    store: float
    function: int = 30


ROOM = {"float": Room(10.6, 8, 28, 4, 4), "double": Room(17.8, 14, 36, 8, 12)}
"""By the type of numbers."""


def code_size(program: Program, real: str) -> int:
    """Bytes of code and constants of the function of one state, within a fifth or so.

    Args:
        real: the type of all numbers, ``"float"`` or ``"double"``.
    """
    room = ROOM[real]
    size = room.function + room.operation * _operations(program) + room.store * sum(map(len, program.results))
    steps: dict[str, Program] = {}
    for op, args, value in program.nodes:
        if op == "loop":
            loop = program.loops[int(value)]
            steps[loop.step.digest] = loop.step
            size += room.loop + room.copy * loop.carried
        elif op == "pack":
            size += room.copy * len(args)
        elif op == "write":
            size += room.loop
    size += sum(room.number * len(table) // 8 for table in program.tables)
    size += sum(code_size(step, real) for step in steps.values())
    return round(size)


def _operations(program: Program) -> int:
    return sum(1 for _, node in program.operations() if node.op not in STRUCTURE)


def shown_size(size: int) -> str:
    """A number of bytes, to be read."""
    return f"{size} bytes" if size < 1000 else f"{size / 1000:.2g} kB" if size < 9950 else f"{size / 1000:.0f} kB"
