"""Loops in C that call a function for each step, with constants in tables and arrays copied by loops."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from dalembert.printing.statements import StepCalls

if TYPE_CHECKING:
    from dalembert.printing.c_family import Flavour

ELEMENT = re.compile(r"(\w+)\[(\d+)\]")
"""The source of an element of an array."""


def loop_of_calls(carried: str, calls: StepCalls, flavour: Flavour) -> list[str]:
    """The lines of a loop that calls a function for each step.

    Args:
        carried: name of the array of what is carried.
        calls: the loop.
        flavour: how it is written.
    """
    (given, rows), (table, numbers), (made, fresh) = calls.given, calls.table, calls.made
    kind, step = flavour.kind, calls.counter
    lines = []
    if numbers:
        lines += [f"    static const {kind} {table}[{len(numbers)}] = {{", *_wrapped(numbers), "    };"]
    else:
        table = given
    sizes = {carried: len(calls.start), given: max(len(rows), 1), made: max(calls.times * fresh, 1)}
    lines += [f"    {kind} {array}[{size}];" for array, size in sizes.items()]
    lines += [f"    {carried}[{k}] = {source};" for k, (source, _) in enumerate(calls.start)]
    lines += _filled(given, [source for source, _ in rows], calls.times, step)
    width = len(calls.function.given), len(calls.function.table)
    arguments = (
        carried, f"{given} + {step} * {width[0]}", f"{table} + {step} * {width[1]}", f"{made} + {step} * {fresh}"
    )  # fmt: skip
    return [
        *lines,
        f"    for (int {step} = 0; {step} < {calls.times}; ++{step}) {{",
        f"        {calls.function.name}({', '.join(arguments)});",
        "    }",
    ]


def _filled(array: str, sources: list[str], times: int, counter: str) -> list[str]:
    """The lines that fill the rows of an array; in a loop where they are copied from rows of another one."""
    width = len(sources) // times
    lines, column = [], 0
    while column < width:
        rows = sources[column::width]
        copied = _evenly(rows)
        if copied is None:
            lines += [f"    {array}[{width * k + column}] = {source};" for k, source in enumerate(rows)]
            column += 1
            continue
        other, first, stride = copied
        beside = 1
        while column + beside < width and _evenly(sources[column + beside :: width]) == (other, first + beside, stride):
            beside += 1
        way = f"{'+' if stride >= 0 else '-'} {abs(stride)} * {counter}"
        lines += [
            f"    for (int {counter} = 0; {counter} < {times}; ++{counter}) {{",
            *(
                f"        {array}[{width} * {counter} + {column + k}] = {other}[{first + k} {way}];"
                for k in range(beside)
            ),
            "    }",
        ]
        column += beside
    return lines


def _evenly(sources: list[str]) -> tuple[str, int, int] | None:
    """The array, first index and stride of sources that are elements of one array at even distances."""
    found = [ELEMENT.fullmatch(source) for source in sources]
    if len(found) < 3 or not all(found):
        return None
    names, places = {x[1] for x in found if x}, [int(x[2]) for x in found if x]
    strides = {b - a for a, b in pairwise(places)}
    return (*names, places[0], *strides) if len(names) == 1 == len(strides) else None  # type: ignore[return-value]


def _wrapped(numbers: list[str]) -> list[str]:
    lines, line = [], "       "
    for number in numbers:
        if len(line) + len(number) > 110:
            lines.append(line)
            line = "       "
        line += f" {number},"
    return [*lines, line]
