"""A crew of warps for one tile of states: each works on a part of the system that the others do not need.

One thread per state is not enough for a large system: its values do not fit the registers of a thread. A system that
is a trunk with branches - a humanoid, a walking robot, a hand - has parts that meet only in the trunk. What a value
depends on, and what depends on it, tells when and by whom it can be computed:

    turn 0   values of the trunk alone                              by everybody who needs them
    turn 1   values of the trunk and one part                       by the worker of that part
    turn 2   values of several parts, wanted by the trunk or many   by the worker of the trunk
    turn 3   values of several parts, wanted by one part            by the worker of that part

Between turns the warps of a crew meet at a barrier and hand values on through shared memory; few, since parts meet in
the trunk only. What a worker needs again in a later turn it keeps.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.cuda.crew_sums import gathered, single
from dalembert.tracing.cost import WEIGHTS, fused_products, max_live
from dalembert.tracing.passes.order import prune
from dalembert.tracing.passes.schedule import schedule
from dalembert.tracing.program import Node, Port, Program

TURNS = 4
EXCHANGE, KEPT = "exchange", "kept"


@dataclass(frozen=True)
class Parts:
    """To which part of a system the elements of the arrays belong; 0 for the trunk.

    Args:
        inputs: for each input array, the part of each of its elements.
        outputs: the same for outputs.
    """

    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Crew:
    """Who computes what.

    Args:
        turns: for each worker, its program in each turn, None where it has nothing to do. The programs have two more
            inputs and outputs than the whole: values exchanged with others, and values kept for a later turn.
        slots: how many values are exchanged.
    """

    turns: tuple[tuple[Program | None, ...], ...]
    slots: int

    @property
    def size(self) -> int:
        """How many workers there are."""
        return len(self.turns)

    def joined(self, size: int) -> Crew:
        """With idle workers up to a size: all workers of a block must meet at every barrier.

        Args:
            size: how many workers there shall be.
        """
        idle = tuple((None,) * TURNS for _ in range(size - self.size))
        return Crew(self.turns + idle, self.slots)

    @property
    def longest(self) -> int:
        """Operations of the worker who has most to do."""
        return max(sum(sum(1 for _ in own.operations()) for own in turns if own is not None) for turns in self.turns)

    @property
    def live(self) -> int:
        """Most values that a worker holds at a time, with those it keeps for a later turn."""
        most = 0
        for turns in self.turns:
            own = [turn for turn in turns if turn is not None]
            kept = sum(k >= 0 for turn in own for k in turn.results[-1])
            most = max(most, kept + max((max_live(turn.nodes) for turn in own), default=0))
        return most


Place = tuple[int, int]
"""Turn and part."""

Seat = tuple[int, int]
"""Turn and worker."""


def crew(program: Program, parts: Parts, most: int = 4) -> Crew:
    """Divide a program among workers.

    Args:
        program: what to divide; elements of outputs that are not wanted have node index -1.
        parts: the parts of the system.
        most: largest number of workers.
    """
    return _divided(program, parts, most).crew


def exchanged(program: Program, parts: Parts, most: int = 4) -> int:
    """How many values workers would hand on to each other: ``crew(...).slots`` without their programs.

    Args:
        program: what to divide; elements of outputs that are not wanted have node index -1.
        parts: the parts of the system.
        most: largest number of workers.
    """
    return len(_divided(program, parts, most).slots)


def _divided(program: Program, parts: Parts, most: int) -> _Division:
    program = gathered(program, _needs(program, parts))
    places = _places(program, parts)
    workers = _workers(program, places, most)
    return _Division(program, {k: (turn, workers[part]) for k, (turn, part) in places.items()}, workers[0])


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
    soon: set[int] = set()  # what the trunk needs in turn 2 cannot wait until turn 3
    for k in range(len(nodes) - 1, -1, -1):
        op, args, _ = nodes[k]
        if op in ("const", "input"):
            continue
        for a in args:
            wanted[a] |= wanted[k]
        if not needs[k]:
            places[k] = (0, 0)
        elif single(needs[k]):
            places[k] = (1, needs[k].bit_length())
        elif single(wanted[k]) and k not in soon:
            places[k] = (3, wanted[k].bit_length())
        else:
            places[k] = (2, 0)
            soon.update(args)
    return places


def _bit(part: int) -> int:
    return (1 << part) >> 1


def _workers(program: Program, places: dict[int, Place], most: int) -> dict[int, int]:
    """The worker of each part: the part with most to do goes first, always to the worker who has least."""
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


class _Division:
    """The programs of all workers.

    Args:
        program: the whole.
        seats: turn and worker of every operation.
        trunk: the worker of the trunk.
    """

    def __init__(self, program: Program, seats: dict[int, Seat], trunk: int):
        self.program, self.seats, self.trunk = program, seats, trunk
        self.slots: dict[int, int] = {}  # of values that another worker needs
        self.kept: dict[int, int] = {}  # of values that the same worker needs in a later turn
        for k, seat in sorted(seats.items()):
            for a in program.nodes[k].args:
                if a in seats and seats[a] != seat and not self._repeats(a, seat):
                    table = self.kept if seats[a][1] == seat[1] else self.slots
                    table.setdefault(a, len(table))
        self.ports = Port(EXCHANGE, (len(self.slots),)), Port(KEPT, (len(self.kept),))

    @property
    def crew(self) -> Crew:
        workers = sorted({*(worker for _, worker in self.seats.values()), self.trunk})
        return Crew(tuple(tuple(self._turn((t, w)) for t in range(TURNS)) for w in workers), len(self.slots))

    def _repeats(self, k: int, seat: Seat) -> bool:
        """Whether a worker computes a value of the trunk again instead of waiting for it."""
        return self.seats[k][0] == 0 and seat[1] != self.trunk

    def _turn(self, seat: Seat) -> Program | None:
        """What one worker does in one turn; elements of outputs that it does not compute have node index -1.

        Results that are inputs or constants are left to the worker of the trunk in turn 0.
        """
        program, seats = self.program, self.seats
        mine = {k for k, own in seats.items() if own == seat}
        for k in sorted(mine, reverse=True):
            wanted = [k]
            while wanted:
                for a in program.nodes[wanted.pop()].args:
                    if a in seats and a not in mine and self._repeats(a, seat):
                        mine.add(a)
                        wanted.append(a)
        first = len(program.inputs)
        nodes: list[Node] = []
        place: dict[int, int] = {}

        def take(k: int) -> int:
            """An operand: copied if anybody can have it, else from the exchange or from what was kept."""
            if k not in place:
                op, args, value = program.nodes[k]
                if k in seats:
                    table, port = (self.kept, first + 1) if seats[k][1] == seat[1] else (self.slots, first)
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
            own = [k >= 0 and seats.get(k, (0, self.trunk)) == seat for k in row]
            rows.append([take(k) if here else -1 for k, here in zip(row, own)])
        for table in (self.slots, self.kept):
            rows.append([place[k] if seats[k] == seat else -1 for k in table])
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
