"""Programs as CUDA: a device function over one state, and a kernel with one thread per state.

    extern "C" __global__ void name_kernel(const double *q, const double *v, double *tau,
                                           unsigned shared_inputs, long long n);

Arrays are row-major, states one after the other, as users have them. An input with one value for all states is passed
once, with its bit in ``shared_inputs`` set.

How a warp works through the states is told in :mod:`dalembert.cuda.tiles`; how several warps share the work on
large systems, in :mod:`dalembert.cuda.crew`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.cuda.crew import Parts
from dalembert.cuda.crew_kernel import CrewKernel
from dalembert.cuda.dialect import called, device_flavour
from dalembert.cuda.hardware import SHARED, WARP, WIDTH
from dalembert.cuda.split import goes
from dalembert.cuda.team import Shape, team
from dalembert.cuda.tiles import Layout, kernel_text, rows_of
from dalembert.printing.c_family import Real, check_real, comment, functions, interface
from dalembert.printing.names import C_RESERVED, Names
from dalembert.tracing.cost import max_live
from dalembert.tracing.program import Program

HELD = {"double": 125, "float": 290}
"""Values of a program, in our order, that still fit: a compiler finds a better order for single precision.

Derivatives of inverse dynamics, measured in G states a second: with 192 values (Panda) none wait in memory in single
precision, 6.3 all at once, and double precision gives 1.0 all at once and 2.0 in two goes; with 339 (nine joints)
single precision gives 1.3 and 2.1."""

VAST, PIECE = 60_000, 2_000
"""Programs with more nodes are printed in pieces of this size, which hand values on through the memory of the thread.

CUDA compilers take longer than anybody waits for one function of that length, and registers help it little: derivatives
of forward dynamics of Talos, 100,000 operations, gave 3.6 (double) and 4.5 million states a second in such pieces."""

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
    shape: Shape | None = None,
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
            None for the first of ``team.SHAPES`` that fits.
        room: bytes of shared memory that a block can have on the device.
    """
    check_real(real)
    vast = len(program.nodes) > VAST
    width, found = WIDTH[real], None if vast else team(program, real, parts, shape, room)
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

    if found is not None:
        crowd, blocks = found
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
    shared = layout.words * (threads // WARP) * width
    return CudaSource(face.function, kernel, whole(), threads, shared, threads)
