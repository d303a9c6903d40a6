"""A CUDA kernel as a pair of files with a C interface: a source that nvcc compiles, a header that any C compiler reads.

    int name_launch(const double *q, const double *v, double *tau,
                    unsigned shared_inputs, long long n, struct CUstream_st *stream);

The function launches the kernel on a stream and returns without waiting: 0, or the code of a CUDA error. A kernel for
blocks with much shared memory has a second one beside it, for cards that have less.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dalembert.cuda.crew import Parts
from dalembert.cuda.hardware import PLAIN, SMALL
from dalembert.cuda.source import CudaSource, to_cuda
from dalembert.cuda.tiles import MACROS
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
        header: text of the header.
        source: text of the source: kernels, and the function that launches the one that fits the card.
        launch: in words, how they are launched.
    """

    function: str
    header: str
    source: str
    launch: str


def kernels(program: Program, real: Real, parts: Parts | None) -> list[CudaSource]:
    """A kernel, and another one for cards with less shared memory if it needs much; they share a source.

    Args:
        program: what to compute.
        real: the type of all numbers.
        parts: the parts of the system, if it has some.
    """
    found = [to_cuda(program, real, parts=parts)]
    if found[0].shared > SMALL:
        found.append(to_cuda(replace(program, name=f"small_{program.name}"), real, parts=parts, room=SMALL))
    return found


def cuda_library(program: Program, cuda: Sequence[CudaSource], real: Real, header: str, source: str) -> CudaLibrary:
    """The C interface of kernels that compute the same.

    Args:
        program: what they compute.
        cuda: their sources; the one that needs most shared memory first.
        real: the type of all numbers.
        header: name of the header's file.
        source: name of the source's file.
    """
    names = Names(C_RESERVED)
    function = launch_name(names, Names(C_RESERVED).new(program.name))
    for local in LOCALS:
        names.new(local)
    face = interface(program, names)
    stem = source.rpartition(".")[0] or source
    before = f"/* Makefile:  {stem}.o: {source} {header} ; nvcc -O3 -arch=native -c {source} -o {stem}.o */\n"
    between = "\n" + "".join(f"#undef {macro}\n" for macro in MACROS)
    bodies = between.join(one.source for one in cuda)
    launch = launchers(face, cuda, real, function, 'extern "C"', names)
    text = f'{before}{bodies}\n#ifndef __CUDACC_RTC__\n#include "{header}"\n{launch}#endif\n'
    return CudaLibrary(function, header_text(program, face, real, function), text, f"Launch {in_words(cuda)}.")


def launchers(face: Interface, cuda: Sequence[CudaSource], real: str, function: str, head: str, names: Names) -> str:
    """The function that launches the first of kernels for which the card has enough shared memory, and what it calls.

    Args:
        face: names of the arrays.
        cuda: the kernels, the one that needs most shared memory first.
        real: the type of all numbers.
        function: its name.
        head: goes before it.
        names: names given out so far.
    """
    if len(cuda) == 1:
        return _launch(face, cuda[0], real, function, head)
    inner = [launch_name(names, one.kernel) for one in cuda]
    each = "".join(_launch(face, one, real, name, "static") for one, name in zip(cuda, inner))
    return each + _choice(face, cuda, real, function, head, inner)


def launch_name(names: Names, what: str) -> str:
    """A name for the function that launches something, which no kernel and none of its functions have.

    Args:
        names: names given out so far.
        what: name of what is launched; of long ones the beginning, for names are cut at their ends.
    """
    return names.new(f"{what[:48]}_launch")


def in_words(cuda: Sequence[CudaSource]) -> str:
    """How kernels that compute the same are launched.

    Args:
        cuda: the kernels, the one that needs most shared memory first.
    """
    return " or, on cards with less, ".join(
        f"{one.kernel} with blocks of {one.threads} threads and {one.shared} bytes of shared memory" for one in cuda
    )


def declaration(face: Interface, real: str, function: str) -> str:
    """The head of a function that launches.

    Args:
        face: names of the arrays.
        real: the type of all numbers.
        function: its name.
    """
    parameters = [*face.parameters(real), "unsigned shared_inputs", "long long n", "struct CUstream_st *stream"]
    return f"int {function}(" + ", ".join(parameters) + ")"


def header_text(program: Program, face: Interface, real: str, function: str, more: str = "") -> str:
    """What a program that calls the function includes.

    Args:
        program: what it computes.
        face: names of the arrays.
        real: the type of all numbers.
        function: its name.
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
{declaration(face, real, function)};

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
{head} {declaration(face, real, function)}
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
        if cuda.shared > PLAIN
        else ""
    )
    return f"""
{head} {declaration(face, real, function)}
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
