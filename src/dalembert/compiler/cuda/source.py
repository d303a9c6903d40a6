"""Programs as CUDA: a device function over one state, and a kernel with one thread per state.

    extern "C" __global__ void name_kernel(const double *q, const double *v, double *tau,
                                           unsigned shared_inputs, long long n);

Arrays are row-major, states one after the other, as users have them. An input with one value for all states is passed
once, with its bit in ``shared_inputs`` set.

How a warp works through the states is told in :mod:`dalembert.compiler.cuda.tiles`; how several warps share the work on
large systems, in :mod:`dalembert.compiler.cuda.crew`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dalembert.compiler.cost import max_live
from dalembert.compiler.cuda.crew import Crew, Parts, crew
from dalembert.compiler.cuda.crew_kernel import CrewKernel
from dalembert.compiler.cuda.crew_layout import RESERVED, SHARED, WARP, WIDE, Go
from dalembert.compiler.cuda.crew_layout import Layout as CrewLayout
from dalembert.compiler.cuda.crew_outputs import crew_by_outputs, slices
from dalembert.compiler.cuda.dialect import called, device_flavour
from dalembert.compiler.cuda.split import goes, restricted
from dalembert.compiler.cuda.tiles import TILE, Layout, fits, kernel_text, rows_of
from dalembert.compiler.printers.c_family import Real, check_real, comment, functions, interface
from dalembert.compiler.printers.names import C_RESERVED, Names
from dalembert.compiler.program import Program

WIDTH = {"double": 8, "float": 4}
"""Bytes of a number."""

LIVE = {"double": 125, "float": 235}
"""Values that fit the 255 registers of a thread besides addresses."""

HELD = {"double": 125, "float": 290}
"""Values of a program, in our order, that still fit: a compiler finds a better order for single precision."""

ALONE = 110
"""Live values up to which one thread per state is better than a crew."""

SHAPES = {
    ("double", False): ((3, 1, 1), (2, 1, 1), (1, 1, 1)),
    ("double", True): ((2, 1, 1), (1, 2, 1), (1, 1, 1)),
    ("float", False): ((2, 1, 2), (3, 1, 1), (2, 1, 1), (1, 1, 1)),
    ("float", True): ((2, 1, 1), (1, 2, 1), (1, 1, 1)),
}
"""Shapes of a crew for narrow and for wide results, the one that was measured to be best first; see ``to_cuda``."""

CROWDED = 150
"""Live values of a worker above which three warps each leave a thread too few registers."""

VAST, PIECE = 60_000, 2_000
"""Programs with more nodes are printed in pieces of this size, which hand values on through the memory of the thread.

CUDA compilers take longer than anybody waits for one function of that length, and registers help it little."""

SPILLING = {"double": 200, "float": 470}
"""Live values above which inputs are read straight from global memory.

Shared memory is then better left to the cache that holds what does not fit the registers; more threads work, too."""

LONG = 3_000
"""Nodes above which such a program is printed in pieces as well.

In one long function a compiler moves more values between registers and memory than pieces hand on."""

TAKEN = frozenset({
    "n", "shared_inputs", "memory", "lane", "tile", "next", "step", "first", "rows", "buffer", "k", "whole", "from",
    "to", "state", "values", "exchange", "s", "e", "FETCH", "FETCH16", "COMMIT", "WAIT", "int4", "dim3", "threadIdx",
    "blockIdx", "blockDim", "gridDim", "cudaError_t",
})  # fmt: skip
"""Names that the text around a program uses, or CUDA."""

SHARED_WORK = 0.6
"""Largest part of all operations that the busiest worker of a crew may have."""

WRITING = 20
"""Operations for each result below which writing counts more than the work, and need not be shared."""


SLICES = 4
"""Most goes in which a single output is computed; each repeats what it has in common with others."""


@dataclass(frozen=True)
class CudaSource:
    """Generated CUDA.

    Args:
        function: name of the device function.
        kernel: name of the kernel.
        source: the text.
        threads: threads of a block.
        shared: bytes of shared memory of a block.
        states: states that a block works on at a time.
    """

    function: str
    kernel: str
    source: str
    threads: int
    shared: int
    states: int


def to_cuda(
    program: Program,
    real: Real = "double",
    threads: int = 0,
    staged: str = "auto",
    blocks: int = 0,
    longest: int = 0,
    parts: Parts | None = None,
    shape: tuple[int, int, int] | None = None,
    room: int = SHARED,
) -> CudaSource:
    """A program as CUDA source.

    Args:
        program: what to print.
        real: the type of all numbers.
        threads: threads of a block, a multiple of 32; 0 for what was measured to be best. Fewer are taken if shared
            memory demands it.
        staged: which arrays go through shared memory: ``"all"``, ``"outputs"``, ``"none"`` or ``"auto"``.
        blocks: how many blocks of that size a multiprocessor must be able to hold; bounds the registers of a thread.
            0 for what was measured to be best.
        longest: most nodes in one function; 0 for what was measured to be best.
        parts: the parts of the system, if it has some; a crew of warps then works on each tile of states, where that
            is worth while. Without parts, or where these do not help, a crew shares wide results.
        shape: warps of each worker of a crew, tiles of inputs it holds, blocks a multiprocessor must be able to hold;
            None for the first of ``SHAPES`` that fits.
        room: bytes of shared memory that a block can have on the device.
    """
    check_real(real)
    vast = len(program.nodes) > VAST
    width, team = WIDTH[real], None if vast else _team(program, real, parts, shape, room)
    light = real == "float" and max_live(program.nodes) <= 100
    threads = threads or (256 if light else 128)
    blocks = blocks or (2 if light or vast else 1)
    names = Names(C_RESERVED | TAKEN)
    face = interface(program, names)
    kernel = names.new(f"{face.function}_kernel")
    flavour, definitions = device_flavour(program, real, names, face.function)
    text: list[str] = []

    def whole() -> str:
        body = "\n".join(text)
        return "\n".join([comment(program, face), "", *called(definitions, body), body])

    if team is not None:
        crowd, blocks = team
        text.append(CrewKernel(crowd, face, names, flavour, kernel, blocks).source())
        return CudaSource(face.function, kernel, whole(), crowd.threads, crowd.bytes, crowd.tile)
    plan = [(tuple(range(len(program.outputs))), [program])] if vast else goes(program, HELD[real])
    groups, work = [ports for ports, _ in plan], [parts for _, parts in plan]
    spilling = not vast and max(max_live(part.nodes) for own in work for part in own) > SPILLING[real]
    longest = longest or (PIECE if vast or (spilling and len(program.nodes) > LONG) else 10 * PIECE)
    stages: list[list[str]] = []
    for own in work:
        single = len(work) == 1 and len(own) == 1
        stages.append([face.function if single else names.new(f"{face.function}_go") for _ in own])
        text += [functions(go, face, names, flavour, stage, longest) for go, stage in zip(own, stages[-1])]
    if staged == "auto" and (vast or spilling):
        staged = "none" if vast else "outputs"
    rows, threads = rows_of(program, face, groups, width, threads, staged, room)
    layout = Layout(rows, groups, len(program.inputs))
    text.append(kernel_text(layout, face, stages, kernel, real, threads, blocks))
    shared = layout.words * (threads // TILE) * width
    return CudaSource(face.function, kernel, whole(), threads, shared, threads)


def _team(
    program: Program, real: Real, parts: Parts | None, shape: tuple[int, int, int] | None, room: int
) -> tuple[CrewLayout, int] | None:
    """A crew for the program and its blocks per multiprocessor, if one thread per state is not enough and it fits."""
    live, wide = max_live(program.nodes), any(port.size > WIDE for port in program.outputs)
    divisions: list[Callable[[Program], Crew | None]] = []
    if parts is not None and live >= ALONE:
        divisions.append(lambda part: crew(part, parts, slots=SHARED // WIDTH[real] // WARP))
    if wide and (live > LIVE[real] or not fits(program, WIDTH[real], room)):
        divisions.append(lambda part: crew_by_outputs(part, values=room // WIDTH[real] // WARP))
    for divide in divisions:
        for parted in _partings(program, room // WIDTH[real] // WARP):
            found = _arranged(program, parted, divide, real, shape, room)
            if found is not None:
                return found
    return None


def _arranged(
    program: Program,
    parted: list[tuple[tuple[int, ...], Program]],
    divide: Callable[[Program], Crew | None],
    real: Real,
    shape: tuple[int, int, int] | None,
    room: int,
) -> tuple[CrewLayout, int] | None:
    """A crew that computes some parts one after the other, if it can share their work and has room for it."""
    turns = []
    for ports, part in parted:
        team, work = divide(part), sum(1 for _ in part.operations())
        light = work < WRITING * sum(program.outputs[p].size for p in ports) and not fits(part, WIDTH[real], room)
        if team is None or (team.longest > SHARED_WORK * work and not light):
            return None
        turns.append(Go(ports, part, team))
    size = max(go.crew.size for go in turns)
    turns = [replace(go, crew=go.crew.joined(size)) for go in turns]
    crowded = max(go.crew.live for go in turns) > CROWDED
    wide = any(port.size > WIDE for port in program.outputs)
    for ranks, buffers, blocks in (shape,) if shape else SHAPES[real, wide]:
        if crowded and ranks > 2 and not shape:
            continue
        layout = CrewLayout(program, tuple(turns), ranks, buffers, WIDTH[real])
        if layout.bytes <= room and (layout.bytes + RESERVED) * blocks <= SHARED:
            return layout, blocks
    return None


def _partings(program: Program, values: int) -> Iterator[list[tuple[tuple[int, ...], Program]]]:
    """What a crew may compute one after the other: all; each output; a single wide output in slices of few values."""
    ports = tuple(range(len(program.outputs)))
    yield [(ports, program)]
    if len(ports) > 1:
        yield [((p,), restricted(program, (p,))) for p in ports]
    elif program.outputs[0].size > WIDE:
        for count in range(2, SLICES + 1):
            parts = slices(program, count, values)
            if parts:
                yield [(ports, part) for part in parts]
