"""Which crew computes a program where one thread per state is not enough: how it is parted, divided and laid out.

A crew may compute everything at once, the outputs one after the other, or a single wide output in slices; each of these
is divided by the parts of the system or by results. The first arrangement is taken that has room and shares the work.
Most are refused for lack of room, so that is looked at before anything is ordered for few live values, which takes
nearly all of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dalembert.cuda.crew import Crew, Parts, crew, exchanged
from dalembert.cuda.crew_layout import WIDE, Go, Layout
from dalembert.cuda.crew_outputs import crew_by_outputs, slices
from dalembert.cuda.hardware import LIVE, RESERVED, SHARED, WIDTH
from dalembert.cuda.split import Element, elements_of, part_of
from dalembert.cuda.tiles import fits
from dalembert.printing.c_family import Real
from dalembert.tracing.cost import max_live
from dalembert.tracing.program import Program

ALONE = 110
"""Live values up to which one thread per state is better than a crew."""

Shape = tuple[int, int, int]
"""Warps of each worker, tiles of inputs that are held, blocks a multiprocessor must be able to hold."""

SHAPES: dict[tuple[str, bool], tuple[Shape, ...]] = {
    ("double", False): ((3, 1, 1), (2, 1, 1), (1, 1, 1)),
    ("double", True): ((2, 1, 1), (1, 2, 1), (1, 1, 1)),
    ("float", False): ((2, 1, 2), (3, 1, 1), (2, 1, 1), (1, 1, 1)),
    ("float", True): ((2, 1, 1), (1, 2, 1), (1, 1, 1)),
}
"""Shapes of a crew for narrow and for wide results, the one that was measured to be best first."""

CROWDED = 150
"""Live values of a worker above which three warps each leave a thread too few registers."""

SHARED_WORK = 0.6
"""Largest part of all operations that the busiest worker of a crew may have."""

WRITING = 20
"""Operations for each result below which writing counts more than the work, and need not be shared.

The Jacobian of a humanoid has 7 and became eight times as fast in double precision; matrices of dynamics have more."""

SLICES = 4
"""Most goes in which a single output is computed; each repeats what it has in common with others."""

Parting = list[tuple[tuple[int, ...], list[Element] | None]]
"""What is computed one after the other: output ports, and their elements if these are not all there are."""


@dataclass(frozen=True)
class _Way:
    """A way to divide a program among workers.

    Args:
        crew: divides it.
        exchanged: how many values workers then hand on to each other; None if none are, however it is divided.
    """

    crew: Callable[[Program], Crew]
    exchanged: Callable[[Program], int] | None


def team(
    program: Program, real: Real, parts: Parts | None, shape: Shape | None, room: int
) -> tuple[Layout, int] | None:
    """A crew for the program and its blocks per multiprocessor, if one thread per state is not enough and it fits.

    Args:
        program: what to compute.
        real: the type of all numbers.
        parts: the parts of the system, if it has some.
        shape: the shape to take; None for the first of ``SHAPES`` that fits.
        room: bytes of shared memory that a block can have on the device.
    """
    live, wide = max_live(program.nodes), any(port.size > WIDE for port in program.outputs)
    ways = []
    if parts is not None and live >= ALONE:
        ways.append(_Way(lambda part: crew(part, parts), lambda part: exchanged(part, parts)))
    if wide and (live > LIVE[real] or not fits(program, WIDTH[real], room)):
        ways.append(_Way(crew_by_outputs, None))
    shapes = (shape,) if shape else SHAPES[real, wide]
    partings = list(_partings(program)) if ways else []
    for way in ways:
        for parted in partings:
            plan = _Plan(program, parted, shapes, real, room)
            if plan.promising(way):
                found = plan.arranged(way, forced=shape is not None)
                if found is not None:
                    return found
    return None


def _partings(program: Program) -> Iterator[Parting]:
    """What a crew may compute one after the other: all; each output; a single wide output in slices."""
    ports = tuple(range(len(program.outputs)))
    yield [(ports, None)]
    if len(ports) > 1:
        yield [((p,), elements_of(program, (p,))) for p in ports]
    elif program.outputs[0].size > WIDE:
        for count in range(2, SLICES + 1):
            yield [(ports, run) for run in slices(program, count)]


@dataclass(frozen=True)
class _Plan:
    """What is computed one after the other by a crew of one of some shapes.

    Args:
        program: the whole.
        parted: its parts.
        shapes: of crews, the best first.
        real: the type of all numbers.
        room: bytes of shared memory that a block can have on the device.
    """

    program: Program
    parted: Parting
    shapes: tuple[Shape, ...]
    real: Real
    room: int

    def promising(self, way: _Way) -> bool:
        """Whether there is room for inputs, results and what workers hand on to each other."""
        nobody = Crew((), 0)
        goes = [Go(ports, _only(self.program, elements), nobody) for ports, elements in self.parted]
        if not any(self._layouts(goes)):
            return False
        if way.exchanged is None:
            return True
        parts = [(ports, self._part(elements, ordered=False)) for ports, elements in self.parted]
        return any(self._layouts([Go(ports, part, Crew((), way.exchanged(part))) for ports, part in parts]))

    def arranged(self, way: _Way, forced: bool) -> tuple[Layout, int] | None:
        """The crew and its blocks per multiprocessor, if it can share the work.

        Args:
            way: how to divide it.
            forced: whether the shape is taken however many values are live.
        """
        # Of the whole: what a crew is compared with is one thread per state, which computes all outputs.
        scattered = not fits(self.program, WIDTH[self.real], self.room)
        goes = []
        for ports, elements in self.parted:
            part = self._part(elements)
            divided, work = way.crew(part), sum(1 for _ in part.operations())
            # Slices are weighed like their whole output. Weighed by their own elements, for blocks of 64 and 99 kB in
            # double precision, Talos' Coriolis matrix gave 21 and 63 million states a second instead of 45 and 48, the
            # Jacobian of a chain of 64 joints 74 and 74 instead of 75 and 107.
            written = sum(self.program.outputs[p].size for p in ports)
            light = scattered and work < WRITING * written
            if divided.longest > SHARED_WORK * work and not light:
                return None
            goes.append(Go(ports, part, divided))
        size = max(go.crew.size for go in goes)
        goes = [replace(go, crew=go.crew.joined(size)) for go in goes]
        crowded = max(go.crew.live for go in goes) > CROWDED
        for layout, blocks in self._layouts(goes):
            if forced or not crowded or layout.ranks <= 2:
                return layout, blocks
        return None

    def _part(self, elements: list[Element] | None, ordered: bool = True) -> Program:
        return self.program if elements is None else part_of(self.program, elements, ordered)

    def _layouts(self, goes: list[Go]) -> Iterator[tuple[Layout, int]]:
        """Those that have room, with their blocks per multiprocessor."""
        for ranks, buffers, blocks in self.shapes:
            layout = Layout(self.program, tuple(goes), ranks, buffers, WIDTH[self.real])
            if layout.bytes <= self.room and (layout.bytes + RESERVED) * blocks <= SHARED:
                yield layout, blocks


def _only(program: Program, elements: list[Element] | None) -> Program:
    """The program with node index -1 for all other elements of its outputs; what only these need is still there."""
    if elements is None:
        return program
    rows = [[-1] * len(row) for row in program.results]
    for p, e in elements:
        rows[p][e] = program.results[p][e]
    return replace(program, results=tuple(map(tuple, rows)))
