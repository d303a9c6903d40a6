"""A crew for systems without branches: each worker computes some of the results, with all that these need.

Of a chain nothing can be worked on apart from the rest, but its matrices have many elements, and element (i, j) follows
from what lies beyond the larger of both indices. Elements with near larger indices thus share most of their way, and
others little. So each worker has a run of larger indices, and what several of them need each computes again: nobody
waits for anybody.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from dalembert.cuda.crew import EXCHANGE, KEPT, TURNS, Crew
from dalembert.cuda.split import Element, part_of
from dalembert.tracing.cost import WEIGHTS
from dalembert.tracing.program import Port, Program


def crew_by_outputs(program: Program, most: int = 4) -> Crew:
    """Divide a program among workers by its results.

    Args:
        program: what to divide; elements of outputs that are not wanted have node index -1.
        most: largest number of workers.
    """
    ranked = _ranked(program)
    ports = Port(EXCHANGE, (0,)), Port(KEPT, (0,))
    turns = []
    for start, stop in _runs(_weights(program, ranked), len(ranked), most):
        own = part_of(program, [element for elements in ranked[start:stop] for element in elements])
        inputs, outputs = (*program.inputs, *ports), (*program.outputs, *ports)
        work = Program(program.name, inputs, outputs, own.nodes, (*own.results, (), ()), {})
        turns.append((work, *(None,) * (TURNS - 1)))
    return Crew(tuple(turns), 0)


def slices(program: Program, count: int) -> list[list[Element]]:
    """The wanted elements in runs of larger indices, with about as many different values each.

    Args:
        program: what to divide; elements of outputs that are not wanted have node index -1.
        count: how many runs there may be.
    """
    ranked = _ranked(program)
    sizes = [len({program.results[p][e] for p, e in elements}) for elements in ranked]
    runs: list[list[Element]] = [[] for _ in range(count)]
    before, total = 0, sum(sizes)
    for elements, size in zip(ranked, sizes):
        runs[(2 * before + size) * count // (2 * total)].extend(elements)
        before += size
    return [sorted(run) for run in runs if run]


def _ranked(program: Program) -> list[list[Element]]:
    """The wanted elements in the order of their largest index; those of one value stay together."""
    ranks: dict[int, float] = {}
    elements: dict[int, list[Element]] = {}
    for p, (port, row) in enumerate(zip(program.outputs, program.results)):
        for e, (k, largest) in enumerate(zip(row, _largest(port.shape))):
            if k >= 0:
                ranks[k] = max(ranks.get(k, 0.0), largest)
                elements.setdefault(k, []).append((p, e))
    found: dict[float, list[Element]] = {}
    for k, own in elements.items():
        found.setdefault(ranks[k], []).extend(own)
    return [found[rank] for rank in sorted(found)]


def _largest(shape: tuple[int, ...]) -> list[float]:
    """The largest index of each element, relative to the length of its axis.

    A quotient is rounded once, so equal fractions are equal floats, and different ones differ for axes up to 2**26.
    """
    found = np.zeros(shape)
    for axis, size in enumerate(shape):
        index = np.arange(size).reshape([-1 if a == axis else 1 for a in range(len(shape))])
        found = np.maximum(found, index / size)
    return found.ravel().tolist()


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
