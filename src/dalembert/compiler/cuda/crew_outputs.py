"""A crew for systems without branches: each worker computes some of the results, with all that these need.

Of a chain nothing can be worked on apart from the rest, but its matrices have many elements, and element (i, j) follows
from what lies beyond the larger of both indices. Elements with near larger indices thus share most of their way, and
others little. So each worker has a run of larger indices, and what several of them need each computes again: nobody
waits for anybody.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from dalembert.compiler.cost import WEIGHTS
from dalembert.compiler.cuda.crew import EXCHANGE, KEPT, TURNS, Crew
from dalembert.compiler.cuda.split import Element, part_of
from dalembert.compiler.program import Port, Program


def crew_by_outputs(program: Program, most: int = 4, values: int | None = None) -> Crew | None:
    """Divide a program among workers by its results; None if these are more values than there is room for.

    Args:
        program: what to divide; elements of outputs that are not wanted have node index -1.
        most: largest number of workers.
        values: how many different values the results may have; any number if None.
    """
    if values is not None and len({k for row in program.results for k in row if k >= 0}) > values:
        return None
    ranked = _ranked(program)
    ports = Port(EXCHANGE, (0,)), Port(KEPT, (0,))
    turns = []
    for start, stop in _runs(_weights(program, ranked), len(ranked), most):
        own = part_of(program, [element for elements in ranked[start:stop] for element in elements])
        inputs, outputs = (*program.inputs, *ports), (*program.outputs, *ports)
        work = Program(program.name, inputs, outputs, own.nodes, (*own.results, (), ()), {})
        turns.append((work, *(None,) * (TURNS - 1)))
    return Crew(tuple(turns), 0)


def slices(program: Program, count: int, values: int) -> list[Program]:
    """The parts of a program that compute runs of larger indices, with about as many different values each.

    None at all if one of them had more values than there is room for.

    Args:
        program: what to divide; elements of outputs that are not wanted have node index -1.
        count: how many parts there may be.
        values: how many different values each may give.
    """
    ranked = _ranked(program)
    sizes = [len({program.results[p][e] for p, e in elements}) for elements in ranked]
    runs: list[list[Element]] = [[] for _ in range(count)]
    before = 0
    for elements, size in zip(ranked, sizes):
        runs[(2 * before + size) * count // (2 * sum(sizes))].extend(elements)
        before += size
    if any(len({program.results[p][e] for p, e in run}) > values for run in runs):
        return []
    return [part_of(program, sorted(run)) for run in runs if run]


def _ranked(program: Program) -> list[list[Element]]:
    """The wanted elements in the order of their largest index; those of one value stay together."""
    ranks: dict[int, Fraction] = {}
    elements: dict[int, list[Element]] = {}
    for p, (port, row) in enumerate(zip(program.outputs, program.results)):
        for e, k in enumerate(row):
            if k >= 0:
                ranks[k] = max(ranks.get(k, Fraction(0)), _largest(e, port.shape))
                elements.setdefault(k, []).append((p, e))
    found: dict[Fraction, list[Element]] = {}
    for k, own in elements.items():
        found.setdefault(ranks[k], []).extend(own)
    return [found[rank] for rank in sorted(found)]


def _largest(element: int, shape: tuple[int, ...]) -> Fraction:
    """The largest index of an element, relative to the length of its axis."""
    largest = Fraction(0)
    for size in reversed(shape):
        element, index = divmod(element, size)
        largest = max(largest, Fraction(index, size))
    return largest


def _weights(program: Program, ranked: list[list[Element]]) -> Counter[int]:
    """The work that serves the same ranks, by these: a bit for each."""
    nodes, wanted = program.nodes, [0] * len(program.nodes)
    for rank, elements in enumerate(ranked):
        for p, e in elements:
            wanted[program.results[p][e]] |= 1 << rank
    found: Counter[int] = Counter()
    for k in range(len(nodes) - 1, -1, -1):
        op, args, _ = nodes[k]
        if op not in ("const", "input"):
            found[wanted[k]] += WEIGHTS[op]
            for a in args:
                wanted[a] |= wanted[k]
    return found


def _runs(weights: Counter[int], ranks: int, most: int) -> list[tuple[int, int]]:
    """Runs of ranks, one for each worker, so that the busiest of them has as little to do as possible."""

    def work(start: int, stop: int) -> int:
        mask = (1 << stop) - (1 << start)
        return sum(weight for wanted, weight in weights.items() if wanted & mask)

    def runs(bound: int) -> list[tuple[int, int]]:
        """As few runs as can be, none of which has more to do than the bound unless it is a single rank."""
        found, start = [], 0
        for stop in range(1, ranks + 1):
            if stop > start + 1 and work(start, stop) > bound:
                found.append((start, stop - 1))
                start = stop - 1
        return [*found, (start, ranks)]

    low, high = 0, work(0, ranks)  # more runs than workers at low, not at high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if len(runs(middle)) > most else (low, middle)
    return runs(high)
