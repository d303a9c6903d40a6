"""How cooperating warps compute a program: what at a time, divided by which method, laid out how in shared memory.

A block may compute everything at once, the outputs one after the other, or a single wide output in slices; each of
these is divided by the parts of the system or by results. The first arrangement that has room and shares the work is
taken. Most are refused for lack of room, so that is checked before anything is ordered for few live values, which takes
nearly all of the time.

Shared memory holds the inputs of a tile of states, those of the next one if there is room, the values that workers pass
to each other, and the results. Of wide results, such as sparse matrices, it holds each different value once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dalembert.cuda.split import Element, elements_of, part_of
from dalembert.cuda.tiles import fits
from dalembert.cuda.tuning import (
    BLOCK_SHAPES,
    CROWDED_VALUES,
    LARGEST_SHARE,
    MOST_SLICES,
    NUMBER_BYTES,
    ONE_THREAD_VALUES,
    REGISTER_VALUES,
    RESERVED_BYTES,
    SHARED_BYTES,
    WARP,
    WIDE_ELEMENTS,
    WRITE_BOUND_OPERATIONS,
    BlockShape,
)
from dalembert.cuda.warps import Division, Parts, divide_by_parts, divide_by_results, exchanged_values, slices
from dalembert.printing.c_family import Real
from dalembert.tracing.cost import max_live
from dalembert.tracing.program import Port, Program


@dataclass(frozen=True)
class OutputGroup:
    """Outputs that are computed together, and by whom.

    Args:
        program: the part of the whole that computes them; elements that another group computes have node index -1.
        division: who computes what.
    """

    ports: tuple[int, ...]
    program: Program
    division: Division

    def slots(self, port: int, start: int) -> dict[int, int]:
        """Slots of the different values of an output, by node."""
        values = dict.fromkeys(k for k in self.program.results[port] if k >= 0)
        return {k: start + i for i, k in enumerate(values)}

    def elements(self, port: int) -> list[int]:
        """The elements of an output that are computed."""
        return [e for e, k in enumerate(self.program.results[port]) if k >= 0]


@dataclass(frozen=True)
class BlockLayout:
    """Where things lie in the shared memory of a block.

    Args:
        groups: what is computed one after the other.
        warps_per_worker: warps that do the same work for different states of a tile.
        buffers: how many tiles of inputs are held, one or two.
    """

    program: Program
    groups: tuple[OutputGroup, ...]
    warps_per_worker: int
    buffers: int
    width: int

    @property
    def workers(self) -> int:
        """Workers of a block: the most that any group has."""
        return max(group.division.size for group in self.groups)

    @property
    def tile(self) -> int:
        """States of a tile."""
        return WARP * self.warps_per_worker

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.tile * self.workers

    def step(self, port: Port) -> int:
        """Numbers from one state to the next: as in global memory unless many threads would then access one bank."""
        return port.size if port.size % 4 else port.size + 1

    def place(self, port: Port) -> str:
        """Where number k of a tile lies."""
        step = self.step(port)
        return "k" if step == port.size else f"k / {port.size} * {step} + k % {port.size}"

    def room(self, port: Port) -> int:
        """Numbers for a tile of an array; what follows is aligned to sixteen bytes."""
        return (self.step(port) * self.tile + 3) // 4 * 4

    def wide(self, port: Port) -> bool:
        """Whether the different values of an output are held instead of its elements."""
        return port.size > WIDE_ELEMENTS

    def slots(self, group: OutputGroup) -> dict[int, dict[int, int]]:
        """For each wide output of a group, the slots of its values by node."""
        found: dict[int, dict[int, int]] = {}
        for p in group.ports:
            if self.wide(self.program.outputs[p]):
                found[p] = group.slots(p, sum(map(len, found.values())))
        return found

    @property
    def offsets(self) -> tuple[list[int], list[int], int, int, int]:
        """Of inputs, of narrow outputs (-1 for wide ones), of exchanged values, of the values of wide ones, the end."""
        at = 0
        inputs, outputs = [], []
        for port in self.program.inputs:
            inputs.append(at)
            at += self.room(port) * self.buffers
        for port in self.program.outputs:
            outputs.append(-1 if self.wide(port) else at)
            at += 0 if self.wide(port) else self.room(port)
        exchange = at
        at += max(group.division.slots for group in self.groups) * self.tile
        values = at
        at += max(sum(map(len, self.slots(group).values())) for group in self.groups) * (self.tile + 1)
        return inputs, outputs, exchange, values, at

    @property
    def bytes(self) -> int:
        """Shared memory of a block."""
        return (self.offsets[-1] * self.width + 15) // 16 * 16


# ----------------------------------------------------------------------------------------------------------- the choice


OutputSequence = list[tuple[tuple[int, ...], list[Element] | None]]
"""What is computed one after the other: output ports, and their elements if these are not all there are."""


@dataclass(frozen=True)
class _Method:
    """A method to divide a program among workers.

    Args:
        divide: gives the division.
        exchanged: how many values the workers then pass to each other; None if it never makes them pass any.
    """

    divide: Callable[[Program], Division]
    exchanged: Callable[[Program], int] | None


def plan_warps(
    program: Program, real: Real, parts: Parts | None, shape: BlockShape | None, room: int
) -> tuple[BlockLayout, int] | None:
    """Cooperating warps for a program, and their blocks per multiprocessor; None if one thread per state is better.

    Args:
        shape: shape of the block; None for the first of ``BLOCK_SHAPES`` that fits.
    """
    if program.loops or program.array_sizes:  # warps would have to meet at every step
        return None
    live, wide = max_live(program.nodes, program.loops), any(port.size > WIDE_ELEMENTS for port in program.outputs)
    methods = []
    if parts is not None and live >= ONE_THREAD_VALUES:
        methods.append(_Method(lambda part: divide_by_parts(part, parts), lambda part: exchanged_values(part, parts)))
    if wide and (live > REGISTER_VALUES[real] or not fits(program, NUMBER_BYTES[real], room)):
        methods.append(_Method(divide_by_results, None))
    shapes = (shape,) if shape else BLOCK_SHAPES[real, wide]
    sequences = list(_sequences(program)) if methods else []
    for method in methods:
        for sequence in sequences:
            arrangement = _Arrangement(program, sequence, shapes, real, room)
            if arrangement.promising(method):
                found = arrangement.layout(method, forced=shape is not None)
                if found is not None:
                    return found
    return None


def _sequences(program: Program) -> Iterator[OutputSequence]:
    """What a block may compute one after the other: everything at once; output by output; one wide output in slices."""
    ports = tuple(range(len(program.outputs)))
    yield [(ports, None)]
    if len(ports) > 1:
        yield [((p,), elements_of(program, (p,))) for p in ports]
    elif program.outputs[0].size > WIDE_ELEMENTS:
        for count in range(2, MOST_SLICES + 1):
            yield [(ports, run) for run in slices(program, count)]


@dataclass(frozen=True)
class _Arrangement:
    """Groups of outputs that a block of one of several shapes computes one after the other.

    Args:
        shapes: of the block, the fastest first.
    """

    program: Program
    sequence: OutputSequence
    shapes: tuple[BlockShape, ...]
    real: Real
    room: int

    def promising(self, method: _Method) -> bool:
        """Whether there is room for inputs, results and what workers pass to each other."""
        nothing = Division((), 0)
        groups = [OutputGroup(ports, _only(self.program, elements), nothing) for ports, elements in self.sequence]
        if not any(self._layouts(groups)):
            return False
        if method.exchanged is None:
            return True
        parts = [(ports, self._part(elements, ordered=False)) for ports, elements in self.sequence]
        return any(
            self._layouts([OutputGroup(ports, part, Division((), method.exchanged(part))) for ports, part in parts])
        )

    def layout(self, method: _Method, forced: bool) -> tuple[BlockLayout, int] | None:
        """The layout of the block and its blocks per multiprocessor, if its workers can share the work.

        Args:
            forced: whether the shape is taken however many values are live.
        """
        # Of the whole program: the alternative is one thread per state, which computes all outputs.
        scattered = not fits(self.program, NUMBER_BYTES[self.real], self.room)
        groups = []
        for ports, elements in self.sequence:
            part = self._part(elements)
            divided, work = method.divide(part), sum(1 for _ in part.operations())
            # Slices are weighed like their whole output. Weighed by their own elements, for blocks of 64 and 99 kB in
            # double precision, Talos' Coriolis matrix gave 21 and 63 million states a second instead of 45 and 48, the
            # Jacobian of a chain of 64 joints 74 and 74 instead of 75 and 107.
            written = sum(self.program.outputs[p].size for p in ports)
            light = scattered and work < WRITE_BOUND_OPERATIONS * written
            if divided.longest > LARGEST_SHARE * work and not light:
                return None
            groups.append(OutputGroup(ports, part, divided))
        size = max(group.division.size for group in groups)
        groups = [replace(group, division=group.division.joined(size)) for group in groups]
        crowded = max(group.division.live for group in groups) > CROWDED_VALUES
        for layout, blocks in self._layouts(groups):
            if forced or not crowded or layout.warps_per_worker <= 2:
                return layout, blocks
        return None

    def _part(self, elements: list[Element] | None, ordered: bool = True) -> Program:
        return self.program if elements is None else part_of(self.program, elements, ordered)

    def _layouts(self, groups: list[OutputGroup]) -> Iterator[tuple[BlockLayout, int]]:
        """Those that have room, with their blocks per multiprocessor."""
        for warps, buffers, blocks in self.shapes:
            layout = BlockLayout(self.program, tuple(groups), warps, buffers, NUMBER_BYTES[self.real])
            if layout.bytes <= self.room and (layout.bytes + RESERVED_BYTES) * blocks <= SHARED_BYTES:
                yield layout, blocks


def _only(program: Program, elements: list[Element] | None) -> Program:
    """The program with node index -1 for all other elements of its outputs; what only these need is still there."""
    if elements is None:
        return program
    rows = [[-1] * len(row) for row in program.results]
    for p, e in elements:
        rows[p][e] = program.results[p][e]
    return replace(program, results=tuple(map(tuple, rows)))
