"""Programs split by outputs: each part computes some of the results, with fewer values live at once.

A thread has 255 registers; what does not fit is spilled to local memory and, with many threads, out of the caches.
Computing common parts twice can be cheaper than that.
"""

from __future__ import annotations

from dataclasses import replace

from dalembert.cuda.tuning import SPILL_PRICE
from dalembert.tracing.cost import WEIGHTS, max_live
from dalembert.tracing.passes.rebuild import rebuild
from dalembert.tracing.passes.schedule import schedule
from dalembert.tracing.program import Port, Program

Element = tuple[int, int]
"""Output port and flat element."""

OutputGroups = list[tuple[tuple[int, ...], list[Program]]]
"""Groups of output ports, and the programs that compute the elements of each."""


def split(program: Program, live: int, most: int = 4) -> list[Program]:
    """The program as one or more programs with the same outputs, of which each leaves some elements out.

    Elements that are left out have node index -1 in ``results``.
    """
    elements = [(p, e) for p, row in enumerate(program.results) for e in range(len(row)) if row[e] >= 0]
    elements.sort(key=lambda x: program.results[x[0]][x[1]])  # in the order in which they are computed
    whole = max_live(program.nodes)
    best = [program]
    for count in range(2, most + 1):
        if max(max_live(part.nodes) for part in best) <= live:
            break
        size = -(-len(elements) // count)
        parts = [part_of(program, elements[k : k + size]) for k in range(0, len(elements), size)]
        if max(max_live(part.nodes) for part in parts) < whole:
            best = parts
            whole = max(max_live(part.nodes) for part in parts)
    return best


def output_groups(program: Program, live: int) -> OutputGroups:
    """What is computed one after the other: groups of output ports, and the programs for each.

    All at once if it fits; else what seems quickest, of all at once, in two halves, and the outputs one by one. No loop
    is taken twice.
    """
    ports = tuple(range(len(program.outputs)))
    whole: OutputGroups = [(ports, [program])]
    if program.loops or program.array_sizes or max_live(program.nodes) <= live:
        return whole
    single: OutputGroups = [((p,), [restricted(program, (p,))]) for p in ports]
    halves = [[(own, split(part, live, 2)) for own, (part,) in plan] for plan in (whole, single)]
    return min((whole, halves[0], single, halves[1]), key=lambda plan: _price(plan, live))


def _price(plan: OutputGroups, live: int) -> float:
    """Operations, dearer the more values wait outside the registers."""
    price = 0.0
    for _, parts in plan:
        for part in parts:
            work = sum(WEIGHTS[node.op] for _, node in part.operations())
            price += work * (1 + SPILL_PRICE * max(0, max_live(part.nodes) - live) / live)
    return price


def restricted(program: Program, ports: tuple[int, ...]) -> Program:
    """The part of a program that computes some of its output ports; elements of the others have node index -1."""
    if len(ports) == len(program.outputs):
        return program
    return part_of(program, elements_of(program, ports))


def elements_of(program: Program, ports: tuple[int, ...]) -> list[Element]:
    """The elements of some output ports."""
    return [(p, e) for p in ports for e in range(len(program.results[p]))]


def part_of(program: Program, elements: list[Element], ordered: bool = True) -> Program:
    """The part of a program that computes some elements of its outputs; all others have node index -1.

    Args:
        ordered: for few live values, which takes ten times as long as the rest.
    """
    results = tuple(program.results[p][e] for p, e in elements)
    small = replace(program, outputs=(Port("part", (len(elements),)),), results=(results,), labels={})
    small = schedule(rebuild(small)) if ordered else rebuild(small)
    rows = [[-1] * len(row) for row in program.results]
    for (p, e), k in zip(elements, small.results[0]):
        rows[p][e] = k
    return replace(small, outputs=program.outputs, results=tuple(tuple(row) for row in rows))
