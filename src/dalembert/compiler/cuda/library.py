"""A CUDA kernel as a pair of files with a C interface: a source that nvcc compiles, a header that any C compiler reads.

    int name_launch(const double *q, const double *v, double *tau,
                    unsigned shared_inputs, long long n, struct CUstream_st *stream);

The function launches the kernel on a stream and returns without waiting: 0, or the code of a CUDA error.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.compiler.cuda.launch import PLAIN
from dalembert.compiler.cuda.source import CudaSource
from dalembert.compiler.printers.c_family import Interface, Real, comment, interface
from dalembert.compiler.printers.names import C_RESERVED, Names
from dalembert.compiler.program import Program

LOCALS = (
    "shared_inputs", "n", "stream", "resident", "device", "error", "each", "processors", "needed", "blocks",
    "arguments",
)  # fmt: skip


@dataclass(frozen=True)
class CudaLibrary:
    """Generated files.

    Args:
        function: name of the function that launches.
        header: text of the header.
        before: what comes before the kernel in the source.
        after: what comes after it: the function that launches.
    """

    function: str
    header: str
    before: str
    after: str


def cuda_library(program: Program, cuda: CudaSource, real: Real, header: str, source: str) -> CudaLibrary:
    """The C interface of a kernel.

    Args:
        program: what it computes.
        cuda: its source.
        real: the type of all numbers.
        header: name of the header's file.
        source: name of the source's file.
    """
    names = Names(C_RESERVED)
    function = names.new(f"{Names(C_RESERVED).new(program.name)}_launch")
    for local in LOCALS:
        names.new(local)
    face = interface(program, names)
    stem = source.rpartition(".")[0] or source
    before = f"/* Makefile:  {stem}.o: {source} {header} ; nvcc -O3 -arch=native -c {source} -o {stem}.o */\n"
    return CudaLibrary(
        function, _header(program, face, real, function), before, _launch(face, cuda, real, function, header)
    )


def _declaration(face: Interface, real: str, function: str) -> str:
    parameters = [*face.parameters(real), "unsigned shared_inputs", "long long n", "struct CUstream_st *stream"]
    return f"int {function}(" + ", ".join(parameters) + ")"


def _header(program: Program, face: Interface, real: str, function: str) -> str:
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
 * the default one). Returns 0, or a cudaError_t. */
{_declaration(face, real, function)};

#ifdef __cplusplus
}}
#endif

#endif
"""


def _launch(face: Interface, cuda: CudaSource, real: str, function: str, header: str) -> str:
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
#ifndef __CUDACC_RTC__
#include "{header}"

extern "C" {_declaration(face, real, function)}
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
#endif
"""
