"""Programs as CUDA: a device function over one state, and a kernel with one thread per state.

    extern "C" __global__ void name_kernel(const double *q, const double *v, double *tau,
                                           unsigned shared_inputs, long long n);

Arrays are row-major, states one after the other, as users have them. An input with one value for all states is passed
once, with its bit in ``shared_inputs`` set.

How a warp works through the states is described in :mod:`dalembert.cuda.tiles`, how several warps share the work on
large systems in :mod:`dalembert.cuda.warps`. All limits stand in :mod:`dalembert.cuda.tuning`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.cuda.dialect import called, device_flavour
from dalembert.cuda.split import output_groups
from dalembert.cuda.tiles import TileLayout, kernel_text, rows_of
from dalembert.cuda.tuning import (
    FUNCTION_NODES,
    HEAVY_THREADS,
    LIGHT_THREADS,
    LIGHT_VALUES,
    NUMBER_BYTES,
    ONE_GROUP_VALUES,
    PIECE_NODES,
    SHARED_BYTES,
    SPILLING_NODES,
    SPILLING_VALUES,
    WARP,
    WHOLE_NODES,
    BlockShape,
)
from dalembert.cuda.warp_kernel import WarpKernel
from dalembert.cuda.warp_plan import plan_warps
from dalembert.cuda.warps import Parts
from dalembert.printing.c_family import Real, check_real, comment, functions, interface
from dalembert.printing.names import C_RESERVED, Names
from dalembert.tracing.cost import max_live
from dalembert.tracing.program import Program

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
        states: states that a block works on at a time.
        warps: whether every warp works by itself, so that a block may have fewer threads.
    """

    function: str
    kernel: str
    source: str
    threads: int
    shared: int
    states: int
    warps: bool = False


def to_cuda(
    program: Program,
    real: Real = "double",
    threads: int = 0,
    staged: str = "auto",
    blocks: int = 0,
    longest: int = 0,
    parts: Parts | None = None,
    shape: BlockShape | None = None,
    room: int = SHARED_BYTES,
) -> CudaSource:
    """A program as CUDA source.

    Args:
        real: the type of all numbers.
        threads: threads of a block, a multiple of 32; 0 for what was measured to be best. Fewer are taken if shared
            memory demands it.
        staged: which arrays pass through shared memory: ``"all"``, ``"outputs"``, ``"none"`` or ``"auto"``.
        blocks: how many blocks of that size a multiprocessor must be able to hold; bounds the registers of a thread.
            0 for what was measured to be best.
        longest: most nodes in one function; 0 for what was measured to be best.
        parts: the parts of the system, if it has some; cooperating warps then work on each tile of states, where
            that is faster. Without parts, or where these do not help, they share wide results.
        shape: warps of each worker, tiles of inputs a block holds, blocks a multiprocessor must be able to hold; None
            for the first of ``tuning.BLOCK_SHAPES`` that fits.
        room: bytes of shared memory that a block can have on the device.
    """
    check_real(real)
    vast = len(program.nodes) > WHOLE_NODES
    width, found = NUMBER_BYTES[real], None if vast else plan_warps(program, real, parts, shape, room)
    light = real == "float" and max_live(program.nodes, program.loops) <= LIGHT_VALUES
    threads = threads or (LIGHT_THREADS if light else HEAVY_THREADS)
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
        block, blocks = found
        text.append(WarpKernel(block, face, names, flavour, kernel, blocks).source())
        return CudaSource(face.function, kernel, whole(), block.threads, block.bytes, block.tile)
    plan = [(tuple(range(len(program.outputs))), [program])] if vast else output_groups(program, ONE_GROUP_VALUES[real])
    groups, work = [ports for ports, _ in plan], [parts for _, parts in plan]
    spilling = (
        not vast and max(max_live(part.nodes, part.loops) for own in work for part in own) > SPILLING_VALUES[real]
    )
    longest = longest or (PIECE_NODES if vast or (spilling and len(program.nodes) > SPILLING_NODES) else FUNCTION_NODES)
    stages: list[list[str]] = []
    for own in work:
        single = len(work) == 1 and len(own) == 1
        stages.append([face.function if single else names.new(f"{face.function}_go") for _ in own])
        text += [functions(part, face, names, flavour, stage, longest) for part, stage in zip(own, stages[-1])]
    if staged == "auto" and (vast or spilling):
        staged = "none" if vast else "outputs"
    rows, threads = rows_of(program, face, groups, width, threads, staged, room)
    layout = TileLayout(rows, groups, len(program.inputs))
    text.append(kernel_text(layout, face, stages, kernel, real, threads, blocks))
    shared = layout.words * (threads // WARP) * width
    return CudaSource(face.function, kernel, whole(), threads, shared, threads, warps=True)
