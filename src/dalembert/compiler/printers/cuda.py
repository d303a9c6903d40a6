"""Programs as CUDA: a device function over one state, and a kernel with one thread per state.

    extern "C" __global__ void name_kernel(const double *q, const double *v, double *tau, long long n);

Arrays are row-major, states one after the other; any number of blocks and threads will do (grid-stride loop).
Sine and cosine of one argument are computed together. The source includes nothing, so NVRTC takes it as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..program import Program
from .c_family import Flavour, Real, c_number, c_templates, check_real, comment, functions, interface
from .names import C_RESERVED, Names
from .statements import Infix


@dataclass(frozen=True)
class CudaSource:
    """Generated CUDA.

    Args:
        function: name of the device function.
        kernel: name of the kernel.
        source: the text.
    """

    function: str
    kernel: str
    source: str


def to_cuda(program: Program, real: Real = "double", threads: int = 128, longest: int = 20_000) -> CudaSource:
    """A program as CUDA source.

    Args:
        program: what to print.
        real: the type of all numbers.
        threads: most threads of a block the kernel will be launched with.
        longest: most nodes in one function.
    """
    check_real(real)
    names = Names(C_RESERVED)
    face = interface(program, names)
    kernel = names.new(f"{face.function}_kernel")
    templates, helpers = c_templates(real, names, program)
    dialect = Infix(_number(real), templates, pairs=True)
    device = "static __device__ __forceinline__ void"
    flavour = Flavour(real, "bool", "__restrict__", device, "static __device__ __noinline__ void", dialect)
    body = functions(program, face, names, flavour, face.function, longest)
    ports = zip((*face.inputs, *face.outputs), (*program.inputs, *program.outputs))
    arguments = ", ".join(f"{name} + {port.size} * i" for name, port in ports)
    parameters = ", ".join([*face.parameters(real, "__restrict__"), "long long n"])
    launch = f"""extern "C" __global__ void __launch_bounds__({int(threads)}) {kernel}({parameters})
{{
    const long long stride = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {{
        {face.function}({arguments});
    }}
}}
"""
    helpers = [f"static __device__ __forceinline__ {helper}" for helper in helpers]
    return CudaSource(face.function, kernel, "\n".join([comment(program, face), "", *helpers, body, launch]))


def _number(real: str):
    """As in C; infinity and NaN without a header."""
    plain = c_number(real)
    suffix = "f" if real == "float" else ""
    special = {
        "INFINITY": f"(1.0{suffix} / 0.0{suffix})",
        "-INFINITY": f"(-1.0{suffix} / 0.0{suffix})",
        "NAN": f"(0.0{suffix} / 0.0{suffix})",
    }
    return lambda value: special.get(plain(value), plain(value))
