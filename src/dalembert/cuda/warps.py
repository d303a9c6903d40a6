"""Warp specialisation: the operations of a program divided among cooperating warps that share a tile of states.

One thread per state is not enough for a large system: its values do not fit the registers of a thread. A system that is
a trunk with branches - a humanoid, a walking robot, a hand - has parts that meet only in the trunk. What a value
depends on, and what depends on it, decides when and by which worker it can be computed:

    phase 0   values of the trunk alone                              by every worker that needs them
    phase 1   values of the trunk and one part                       by the worker of that part
    phase 2   values of several parts, wanted by the trunk or many   by the worker of the trunk
    phase 3   values of several parts, wanted by one part            by the worker of that part

Between phases the warps of a block meet at a barrier and pass values on through shared memory; few, since parts meet
only in the trunk. What a worker needs again in a later phase it keeps.

A sum over all branches, of products each of which belongs to one branch, would make the workers exchange every product.
So sums are first regrouped: each part adds up what is its own. The number of operations stays the same.

In a chain nothing can be computed apart from the rest, but its matrices have many elements, and element (i, j) follows
from what lies beyond the larger of both indices. Elements with near larger indices share most of their operations,
others few. So each worker gets a run of larger indices, and what several of them need each computes again: no worker
waits for another.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from dalembert.cuda.split import Element, part_of
from dalembert.cuda.tuning import MOST_WORKERS
from dalembert.tracing.cost import WEIGHTS, fused_products, max_live
from dalembert.tracing.passes.rebuild import prune
from dalembert.tracing.passes.schedule import schedule
from dalembert.tracing.program import Node, Port, Program

PHASES = 4
EXCHANGE, KEPT = "exchange", "kept"


@dataclass(frozen=True)
class Parts:
    """To which part of a system the elements of the arrays belong; 0 for the trunk.

    Args:
        inputs: for each input array, the part of each of its elements.
    """

    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Division:
    """Who computes what.

    Args:
        phases: for each worker, its program in each phase, None where it has nothing to do. The programs have two more
            inputs and outputs than the whole: values exchanged with others, and values kept for a later phase.
        slots: how many values are exchanged.
    """

    phases: tuple[tuple[Program | None, ...], ...]
    slots: int

    @property
    def size(self) -> int:
        """How many workers there are."""
        return len(self.phases)

    def joined(self, size: int) -> Division:
        """With idle workers up to a size: all workers of a block must meet at every barrier."""
        idle = tuple((None,) * PHASES for _ in range(size - self.size))
        return Division(self.phases + idle, self.slots)

    @property
    def longest(self) -> int:
        """Operations of the worker who has most to do."""
        return max(sum(sum(1 for _ in own.operations()) for own in phases if own is not None) for phases in self.phases)

    @property
    def live(self) -> int:
        """Most values that a worker holds at a time, with those it keeps for a later phase."""
        most = 0
        for phases in self.phases:
            own = [phase for phase in phases if phase is not None]
            kept = sum(k >= 0 for phase in own for k in phase.results[-1])
            most = max(most, kept + max((max_live(phase.nodes) for phase in own), default=0))
        return most


Place = tuple[int, int]
"""Turn and part."""

Assignment = tuple[int, int]
"""Turn and worker."""


def divide_by_parts(program: Program, parts: Parts, most: int = MOST_WORKERS) -> Division:
    """Divide a program among workers.

    Args:
        program: what to divide; elements of outputs that are not wanted have node index -1.
    """
    return _divided(program, parts, most).division


def exchanged_values(program: Program, parts: Parts, most: int = MOST_WORKERS) -> int:
    """How many values workers would pass to each other: ``divide_by_parts(...).slots`` without their programs.

    Args:
        program: what to divide; elements of outputs that are not wanted have node index -1.
    """
    return len(_divided(program, parts, most).slots)


def _divided(program: Program, parts: Parts, most: int) -> _Divider:
    program = gathered(program, _needs(program, parts))
    places = _places(program, parts)
    workers = _workers(program, places, most)
    return _Divider(program, {k: (phase, workers[part]) for k, (phase, part) in places.items()}, workers[0])


def _needs(program: Program, parts: Parts) -> list[int]:
    """The parts on which each value depends, a bit for each part."""
    needs = [0] * len(program.nodes)
    for k, (op, args, _) in enumerate(program.nodes):
        if op == "input":
            needs[k] = _bit(parts.inputs[args[0]][args[1]])
        else:
            for a in args:
                needs[k] |= needs[a]
    return needs


def _places(program: Program, parts: Parts) -> dict[int, Place]:
    """Turn and part of every operation."""
    nodes = program.nodes
    needs, wanted = _needs(program, parts), [0] * len(nodes)  # one bit for each part
    for row, own in zip(program.results, parts.outputs):
        for k, part in zip(row, own):
            if k >= 0:
                wanted[k] |= _bit(part)
    places: dict[int, Place] = {}
    soon: set[int] = set()  # what the trunk needs in phase 2 cannot wait until phase 3
    for k in range(len(nodes) - 1, -1, -1):
        op, args, _ = nodes[k]
        if op in ("const", "input"):
            continue
        for a in args:
            wanted[a] |= wanted[k]
        if not needs[k]:
            places[k] = (0, 0)
        elif _single(needs[k]):
            places[k] = (1, needs[k].bit_length())
        elif _single(wanted[k]) and k not in soon:
            places[k] = (3, wanted[k].bit_length())
        else:
            places[k] = (2, 0)
            soon.update(args)
    return places


def _bit(part: int) -> int:
    return (1 << part) >> 1


def _workers(program: Program, places: dict[int, Place], most: int) -> dict[int, int]:
    """The worker of each part: the part with most to do comes first, always to the worker who has least."""
    absorbed = set(fused_products(program).values())
    load: dict[int, int] = {0: 0}
    for k, (_, part) in places.items():
        load[part] = load.get(part, 0) + (0 if k in absorbed else WEIGHTS[program.nodes[k].op])
    filled = [0] * min(most, len(load))
    found = {}
    for part in sorted(load, key=lambda p: (-load[p], p)):
        worker = min(range(len(filled)), key=lambda w: filled[w])
        filled[worker] += load[part]
        found[part] = worker
    return found


class _Divider:
    """The programs of all workers.

    Args:
        assignments: phase and worker of every operation.
    """

    def __init__(self, program: Program, assignments: dict[int, Assignment], trunk: int):
        self.program, self.assignments, self.trunk = program, assignments, trunk
        self.slots: dict[int, int] = {}  # of values that another worker needs
        self.kept: dict[int, int] = {}  # of values that the same worker needs in a later phase
        for k, assignment in sorted(assignments.items()):
            for a in program.nodes[k].args:
                if a in assignments and assignments[a] != assignment and not self._repeats(a, assignment):
                    table = self.kept if assignments[a][1] == assignment[1] else self.slots
                    table.setdefault(a, len(table))
        self.ports = Port(EXCHANGE, (len(self.slots),)), Port(KEPT, (len(self.kept),))

    @property
    def division(self) -> Division:
        workers = sorted({*(worker for _, worker in self.assignments.values()), self.trunk})
        return Division(tuple(tuple(self._phase((t, w)) for t in range(PHASES)) for w in workers), len(self.slots))

    def _repeats(self, k: int, assignment: Assignment) -> bool:
        """Whether a worker computes a value of the trunk again instead of waiting for it."""
        return self.assignments[k][0] == 0 and assignment[1] != self.trunk

    def _phase(self, assignment: Assignment) -> Program | None:
        """What one worker does in one phase; elements of outputs that it does not compute have node index -1.

        Results that are inputs or constants are left to the worker of the trunk in phase 0.
        """
        program, assignments = self.program, self.assignments
        mine = {k for k, own in assignments.items() if own == assignment}
        for k in sorted(mine, reverse=True):
            wanted = [k]
            while wanted:
                for a in program.nodes[wanted.pop()].args:
                    if a in assignments and a not in mine and self._repeats(a, assignment):
                        mine.add(a)
                        wanted.append(a)
        first = len(program.inputs)
        nodes: list[Node] = []
        place: dict[int, int] = {}

        def take(k: int) -> int:
            """An operand: copied if anybody can have it, else from the exchange or from what was kept."""
            if k not in place:
                op, args, value = program.nodes[k]
                if k in assignments:
                    table, port = (self.kept, first + 1) if assignments[k][1] == assignment[1] else (self.slots, first)
                    op, args = "input", (port, table[k])
                nodes.append(Node(op, args, value))
                place[k] = len(nodes) - 1
            return place[k]

        for k in sorted(mine):
            op, args, value = program.nodes[k]
            operands = tuple(take(a) for a in args)
            nodes.append(Node(op, operands, value))
            place[k] = len(nodes) - 1
        rows = []
        for row in program.results:
            own = [k >= 0 and assignments.get(k, (0, self.trunk)) == assignment for k in row]
            rows.append([take(k) if here else -1 for k, here in zip(row, own)])
        for table in (self.slots, self.kept):
            rows.append([place[k] if assignments[k] == assignment else -1 for k in table])
        if all(k < 0 for row in rows for k in row):
            return None
        return _scheduled(program, tuple(nodes), rows, self.ports)


def _scheduled(program: Program, nodes: tuple[Node, ...], rows: list[list[int]], ports: tuple[Port, ...]) -> Program:
    """Ordered for few live values; the scheduler knows no absent elements, so these are taken out and put back."""
    present = [(r, e) for r, row in enumerate(rows) for e, k in enumerate(row) if k >= 0]
    flat = Program(
        program.name, (*program.inputs, *ports), (Port("all", (len(present),)),), nodes,
        (tuple(rows[r][e] for r, e in present),), {},
    )  # fmt: skip
    flat = schedule(prune(flat))
    new = [[-1] * len(row) for row in rows]
    for (r, e), k in zip(present, flat.results[0]):
        new[r][e] = k
    return Program(program.name, flat.inputs, (*program.outputs, *ports), flat.nodes, tuple(map(tuple, new)), {})


# ----------------------------------------------------------------------------------------------- sums regrouped by part


Term = tuple[int, bool]
"""A node and whether it is subtracted."""


def gathered(program: Program, needs: list[int]) -> Program:
    """The program with regrouped sums; elements of outputs that are not wanted keep node index -1.

    Args:
        needs: for each node, the parts it depends on, a bit each.
    """
    nodes = program.nodes
    inside = _inside_sums(program)
    groups: dict[int, list[list[Term]]] = {}  # of the sums that are regrouped
    dropped: set[int] = set()  # what was added up on the method
    for k, node in enumerate(nodes):
        if node.op in ("add", "sub") and k not in inside:
            terms, between = _terms(nodes, inside, k)
            by_part: dict[int, list[Term]] = {}
            for term in terms:
                by_part.setdefault(needs[term[0]], []).append(term)
            if len(by_part) > 1 and any(len(own) > 1 and _single(part) for part, own in by_part.items()):
                groups[k] = list(by_part.values())
                dropped |= between
    made: list[Node] = []
    place: dict[int, int] = {}

    def total(terms: list[Term]) -> Term:
        """The sum of nodes of the new program, to be subtracted if all of them are."""
        terms = sorted(terms, key=lambda term: term[1])  # stable: what is added comes first
        found, negative = terms[0]
        for k, minus in terms[1:]:
            made.append(Node("add" if minus == negative else "sub", (found, k), 0.0))
            found = len(made) - 1
        return found, negative

    for k, (op, args, value) in enumerate(nodes):
        if k in groups:  # the first term is added, so the sum is
            place[k], _ = total([total([(place[term], minus) for term, minus in own]) for own in groups[k]])
        elif k not in dropped:
            made.append(Node(op, args if op == "input" else tuple(place[a] for a in args), value))
            place[k] = len(made) - 1
    rows = tuple(tuple(place[k] if k >= 0 else -1 for k in row) for row in program.results)
    return Program(program.name, program.inputs, program.outputs, tuple(made), rows, {})


def _single(parts: int) -> bool:
    """Whether it is one part and no more.

    Args:
        parts: a bit for each.
    """
    return parts != 0 and parts & (parts - 1) == 0


def _inside_sums(program: Program) -> set[int]:
    """Sums that are nothing but an operand of one other sum."""
    users: dict[int, list[int]] = {}
    for k, (op, args, _) in enumerate(program.nodes):
        if op != "input":
            for a in args:
                users.setdefault(a, []).append(k)
    wanted = {k for row in program.results for k in row}
    sums = {k for k, node in enumerate(program.nodes) if node.op in ("add", "sub")}
    return {k for k in sums if k not in wanted and len(users.get(k, ())) == 1 and users[k][0] in sums}


def _terms(nodes: tuple[Node, ...], inside: set[int], k: int) -> tuple[list[Term], set[int]]:
    """The terms of a sum in the order in which they are written, and the sums between them and it."""
    found: list[Term] = []
    between: set[int] = set()
    left: list[Term] = [(k, False)]
    while left:
        node, minus = left.pop()
        if node != k and node not in inside:
            found.append((node, minus))
            continue
        between.add(node)
        op, (a, b), _ = nodes[node]
        left += [(b, minus != (op == "sub")), (a, minus)]
    return found, between - {k}


# -------------------------------------------------------------------------------------------------- division by results


def divide_by_results(program: Program, most: int = MOST_WORKERS) -> Division:
    """Divide a program among workers by its results.

    Args:
        program: what to divide; elements of outputs that are not wanted have node index -1.
    """
    ranked = _ranked(program)
    ports = Port(EXCHANGE, (0,)), Port(KEPT, (0,))
    phases = []
    for start, stop in _runs(_weights(program, ranked), len(ranked), most):
        own = part_of(program, [element for elements in ranked[start:stop] for element in elements])
        inputs, outputs = (*program.inputs, *ports), (*program.outputs, *ports)
        work = Program(program.name, inputs, outputs, own.nodes, (*own.results, (), ()), {})
        phases.append((work, *(None,) * (PHASES - 1)))
    return Division(tuple(phases), 0)


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
