"""A CUDA kernel as a pair of files with a C interface: a source that nvcc compiles, a header that any C compiler reads.

    int name_launch(const double *q, const double *v, double *tau,
                    unsigned shared_inputs, long long n, struct CUstream_st *stream);

The function launches the kernel on a stream and returns without waiting: 0, or the code of a CUDA error. A kernel for
blocks with much shared memory has a second one beside it, for cards that have less.

Kernels that follow each other have one such function together. What they pass to each other lies in memory that the
function takes from the pool of the stream and returns to it, both in the order of the stream: it waits for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dalembert.cuda.source import CudaSource, to_cuda
from dalembert.cuda.stages import Stage
from dalembert.cuda.tiles import MACROS
from dalembert.cuda.tuning import NUMBER_BYTES, PLAIN_SHARED_BYTES, SMALL_SHARED_BYTES
from dalembert.cuda.warps import Parts
from dalembert.printing.c_family import Interface, Real, comment, interface
from dalembert.printing.names import C_RESERVED, Names
from dalembert.tracing.program import Program

LOCALS = (
    "shared_inputs", "n", "stream", "resident", "device", "error", "each", "processors", "needed", "blocks",
    "arguments", "room",
)  # fmt: skip


@dataclass(frozen=True)
class CudaLibrary:
    """Generated files.

    Args:
        function: name of the function that launches.
        source: text of the source: kernels, and the function that launches the one that fits the card.
        launch: a sentence on how they are launched.
    """

    function: str
    header: str
    source: str
    launch: str


def kernels(program: Program, real: Real, parts: Parts | None) -> list[CudaSource]:
    """A kernel, and another one for cards with less shared memory if it needs much; they share a source."""
    found = [to_cuda(program, real, parts=parts)]
    if found[0].shared > SMALL_SHARED_BYTES:
        found.append(
            to_cuda(replace(program, name=f"small_{program.name}"), real, parts=parts, room=SMALL_SHARED_BYTES)
        )
    return found


def cuda_library(program: Program, cuda: Sequence[CudaSource], real: Real, header: str, source: str) -> CudaLibrary:
    """The C interface of kernels that compute the same.

    Args:
        cuda: their sources; the one that needs most shared memory first.
    """
    names = Names(C_RESERVED)
    function = _launch_name(names, Names(C_RESERVED).new(program.name))
    for local in LOCALS:
        names.new(local)
    face = interface(program, names)
    stem = source.rpartition(".")[0] or source
    before = f"/* Makefile:  {stem}.o: {source} {header} ; nvcc -O3 -arch=native -c {source} -o {stem}.o */\n"
    between = "\n" + "".join(f"#undef {macro}\n" for macro in MACROS)
    bodies = between.join(one.source for one in cuda)
    launch = _launchers(face, cuda, real, function, 'extern "C"', names)
    text = f'{before}{bodies}\n#ifndef __CUDACC_RTC__\n#include "{header}"\n{launch}#endif\n'
    return CudaLibrary(function, _header_text(program, face, real, function), text, f"Launch {_in_words(cuda)}.")


def _launchers(face: Interface, cuda: Sequence[CudaSource], real: str, function: str, head: str, names: Names) -> str:
    """The function that launches the first of kernels for which the card has enough shared memory, and what it calls.

    Args:
        cuda: the kernels, the one that needs most shared memory first.
        head: stands before it.
    """
    if len(cuda) == 1:
        return _launch(face, cuda[0], real, function, head)
    inner = [_launch_name(names, one.kernel) for one in cuda]
    each = "".join(_launch(face, one, real, name, "static") for one, name in zip(cuda, inner))
    return each + _choice(face, cuda, real, function, head, inner)


def _launch_name(names: Names, what: str) -> str:
    """A name for the function that launches something, which no kernel and none of its functions have.

    Args:
        what: name of what is launched; of long ones the beginning, for names are cut at their ends.
    """
    return names.new(f"{what[:48]}_launch")


def _in_words(cuda: Sequence[CudaSource]) -> str:
    """How kernels that compute the same are launched.

    Args:
        cuda: the kernels, the one that needs most shared memory first.
    """
    return " or, on cards with less, ".join(
        f"{one.kernel} with blocks of {one.threads} threads and {one.shared} bytes of shared memory" for one in cuda
    )


def _declaration(face: Interface, real: str, function: str) -> str:
    """The head of a function that launches."""
    parameters = [*face.parameters(real), "unsigned shared_inputs", "long long n", "struct CUstream_st *stream"]
    return f"int {function}(" + ", ".join(parameters) + ")"


def _header_text(program: Program, face: Interface, real: str, function: str, more: str = "") -> str:
    """What a program that calls the function includes.

    Args:
        more: what else is to be known of it: lines of a comment.
    """
    guard = f"{function.upper()}_H"
    return f"""{comment(program, face)}
#ifndef {guard}
#define {guard}

#ifdef __cplusplus
extern "C" {{
#endif

struct CUstream_st; /* a cudaStream_t points to one */

/* Computes n states, one after the other in every array; all arrays are on the current device, and outputs overlap no
 * inputs. Bit k of shared_inputs says that input k has one value for all states. Does not wait for the stream (null:
 * the default one). Returns 0, or a cudaError_t.{more} */
{_declaration(face, real, function)};

#ifdef __cplusplus
}}
#endif

#endif
"""


def _choice(
    face: Interface, cuda: Sequence[CudaSource], real: str, function: str, head: str, launches: list[str]
) -> str:
    """The function that launches the first of several kernels for which the device has enough shared memory."""
    arguments = ", ".join([*face.inputs, *face.outputs, "shared_inputs", "n", "stream"])
    choices = "".join(
        f"    if (room >= {one.shared}) return {launch}({arguments});\n" for one, launch in zip(cuda[:-1], launches)
    )
    return f"""
{head} {_declaration(face, real, function)}
{{
    int device = 0, room = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error != cudaSuccess) return (int)error;
    error = cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    if (error != cudaSuccess) return (int)error;
{choices}    return {launches[-1]}({arguments});
}}
"""


def _launch(face: Interface, cuda: CudaSource, real: str, function: str, head: str) -> str:
    """The function that launches one kernel."""
    arguments = ", ".join(f"(void *)&{x}" for x in (*face.inputs, *face.outputs, "shared_inputs", "n"))
    allow = (
        f"""        error = cudaFuncSetAttribute(
            (const void *){cuda.kernel}, cudaFuncAttributeMaxDynamicSharedMemorySize, {cuda.shared});
        if (error != cudaSuccess) return (int)error;
"""
        if cuda.shared > PLAIN_SHARED_BYTES
        else ""
    )
    return f"""
{head} {_declaration(face, real, function)}
{{
    static int resident[64]; /* blocks at work at the same time, by device; found once, the same by whoever finds it */
    int device = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error != cudaSuccess) return (int)error;
    if (n < 0 || device >= 64) return (int)cudaErrorInvalidValue;
    if (n == 0) return 0;
    if (resident[device] == 0) {{
        int each = 0, processors = 0;
{allow}        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &each, {cuda.kernel}, {cuda.threads}, {cuda.shared});
        if (error != cudaSuccess) return (int)error;
        error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        if (error != cudaSuccess) return (int)error;
        resident[device] = each > 0 ? each * processors : processors;
    }}
    const long long needed = (n + {cuda.states - 1}) / {cuda.states};
    const unsigned blocks = (unsigned)(needed < resident[device] ? needed : resident[device]);
    void *arguments[] = {{{arguments}}};
    return (int)cudaLaunchKernel(
        (const void *){cuda.kernel}, dim3(blocks), dim3({cuda.threads}), arguments, {cuda.shared}, stream);
}}
"""


# --------------------------------------------------------------------------------------- kernels that follow each other


def staged_library(program: Program, stages: Sequence[Stage], real: Real, header: str, source: str) -> CudaLibrary:
    """The C interface of kernels of which each works on what those before it gave.

    Args:
        program: what they compute together; only its name and its arrays matter.
        stages: the kernels, in order.
    """
    names = Names(C_RESERVED)
    own = Names(C_RESERVED).new(program.name)
    function = _launch_name(names, own)
    for local in (*LOCALS, "memory", "failed", "next"):
        names.new(local)
    face = interface(program, names)
    given = [port.name for port in program.inputs]
    known = dict(zip((*given, *(port.name for port in program.outputs)), (*face.inputs, *face.outputs)))
    between: dict[str, int] = {}
    bodies, launches, calls, remarks = [], [], [], []
    for number, stage in enumerate(stages):
        cuda = _kernels(stage, real, f"stage{number}_of_{own}")
        for name, port in zip(stage.gives, stage.program.outputs):
            if name not in known:
                known[name], between[name] = names.new(name), port.size
        bodies += [one.source for one in cuda]
        launch = _launch_name(names, cuda[0].function)
        scope = names.scope()
        arrays = Interface(
            "", tuple(scope.new(x) for x in stage.takes), tuple(scope.new(f"{x}_out") for x in stage.gives)
        )
        launches.append(_launchers(arrays, cuda, real, launch, "static", names))
        flags = " | ".join(
            f"(shared_inputs >> {given.index(x)} & 1u) << {k}" for k, x in enumerate(stage.takes) if x in given
        )
        passed = ", ".join(known[x] for x in (*stage.takes, *stage.gives))
        calls.append(f"    if (!failed) failed = {launch}({passed}, {flags or 0}, n, stream);\n")
        remarks.append(_in_words(cuda))
    stem = source.rpartition(".")[0] or source
    before = f"/* Makefile:  {stem}.o: {source} {header} ; nvcc -O3 -arch=native -c {source} -o {stem}.o */\n"
    apart = "\n" + "".join(f"#undef {macro}\n" for macro in MACROS)
    whole = _whole(_declaration(face, real, function), real, {known[x]: size for x, size in between.items()}, calls)
    text = (
        f'{before}{apart.join(bodies)}\n#ifndef __CUDACC_RTC__\n#include "{header}"\n{"".join(launches)}{whole}#endif\n'
    )
    room = sum(between.values()) * NUMBER_BYTES[real]
    more = f" Takes {room} bytes for every state\n * from the memory pool of the stream meanwhile." if between else ""
    return CudaLibrary(
        function,
        _header_text(program, face, real, function, more),
        text,
        f"Launch, in this order, {'; '.join(remarks)}.",
    )


def _kernels(stage: Stage, real: Real, name: str) -> list[CudaSource]:
    """The kernel of a stage, and another one for cards with less shared memory if it needs much."""
    found = [replace(stage, program=replace(stage.program, name=name)).source(real)]
    if found[0].shared > SMALL_SHARED_BYTES:
        found.append(
            replace(stage, program=replace(stage.program, name=f"small_{name}")).source(real, SMALL_SHARED_BYTES)
        )
    return found


def _whole(head: str, real: str, between: dict[str, int], calls: list[str]) -> str:
    """The function that launches all of them."""
    need, places = [], []
    for name, size in between.items():
        room = f"(n * {size} + 3) / 4 * 4"  # what follows is aligned to sixteen bytes
        places.append(f"    {real} *const {name} = next;\n    next += {room};\n")
        need.append(room)
    return f"""
extern "C" {head}
{{
    {real} *memory = 0, *next;
    int failed = 0;
    if (n < 0) return (int)cudaErrorInvalidValue;
    if (n == 0) return 0;
    cudaError_t error = cudaMallocAsync((void **)&memory, sizeof({real}) * (size_t)({" + ".join(need)}), stream);
    if (error != cudaSuccess) return (int)error;
    next = memory;
{"".join(places)}{"".join(calls)}    error = cudaFreeAsync(memory, stream);
    return failed ? failed : (int)error;
}}
"""
