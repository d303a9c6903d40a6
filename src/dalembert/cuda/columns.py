"""The same program for every column of matrices: one thread per column.

Matrices lie row after row, so neighbouring threads read and write neighbouring numbers, and what all columns of a state
need, such as the factors of a matrix to solve with, is read once into shared memory. A thread has read its column
before it writes it: results may take the place of what they are computed of.
"""

from __future__ import annotations

from dalembert.cuda.dialect import called, device_flavour
from dalembert.cuda.hardware import SHARED, WIDTH
from dalembert.cuda.source import TAKEN, CudaSource
from dalembert.printing.c_family import Real, comment, interface, statement_line
from dalembert.printing.names import C_RESERVED, Names
from dalembert.printing.statements import Body
from dalembert.tracing.program import Program

UNIT = "unit"
"""Name of an input that is a column of the unit matrix and is not passed."""

THREADS = 128
"""Threads of a block, roughly; columns of one state stay together."""


def columns_to_cuda(program: Program, columns: int, real: Real, room: int = SHARED) -> CudaSource:
    """A kernel that evaluates a program for every column.

    Args:
        program: its first input is common to all columns of a state; all others, and the outputs, are columns.
        columns: how many columns the matrices have.
        real: the type of all numbers.
        room: bytes of shared memory that a block can have on the device.
    """
    names = Names(C_RESERVED | TAKEN | {"column", "common", "p"})
    face = interface(program, names)
    kernel = names.new(f"{face.function}_kernel")
    flavour, definitions = device_flavour(program, real, names, face.function)
    passed = [k for k, port in enumerate(program.inputs) if port.name != UNIT]
    size = program.inputs[0].size
    states = max(1, min(THREADS // columns, room // (size * WIDTH[real])))
    threads = -(-states * columns // 32) * 32
    scope = names.scope()
    loaded: dict[tuple[int, int], str] = {}
    loads = []
    for k, port in enumerate(program.inputs[1:], 1):
        for e in range(port.size):
            loaded[k, e] = scope.new(f"{face.inputs[k]}_{e}")
            place = f"{face.inputs[k]}[p * {port.size * columns} + {e * columns} + column]"
            given = f"({real})(column == {e})" if port.name == UNIT else place
            loads.append(f"        const {real} {loaded[k, e]} = {given};")

    def read(port: int, element: int) -> str:
        # Volatile: a compiler that reads everything at the start has no registers left for the columns.
        return loaded[port, element] if port else f"common[{element}]"

    body = Body(program, flavour.dialect, scope, read)
    stores = [
        f"        {name}[p * {port.size * columns} + {e * columns} + column] = {body.text(k).source};"
        for name, port, row in zip(face.outputs, program.outputs, program.results)
        for e, k in enumerate(row)
    ]
    parameters = [f"const {real} *{face.inputs[k]}" for k in passed] + [f"{real} *{name}" for name in face.outputs]
    shared = states * size * WIDTH[real]
    text = "\n".join(
        [
            f'extern "C" __global__ void __launch_bounds__({threads})',
            f"{kernel}({', '.join(parameters)}, unsigned shared_inputs, long long n)",
            "{",
            f"    extern __shared__ __align__(16) {real} memory[];",
            "    (void)shared_inputs;",
            f"    const int state = threadIdx.x / {columns}, column = threadIdx.x % {columns};",
            f"    const volatile {real} *const common = memory + state * {size};",
            f"    for (long long first = (long long)blockIdx.x * {states}; first < n;",
            f"         first += (long long)gridDim.x * {states}) {{",
            f"        const int rows = n - first < {states} ? (int)(n - first) : {states};",
            f"        for (int k = threadIdx.x; k < rows * {size}; k += {threads})",
            f"            memory[k] = {face.inputs[0]}[first * {size} + k];",
            "        __syncthreads();",
            "        if (state < rows) {",
            "        const long long p = first + state;",
            *loads,
            *(f"    {statement_line(program, flavour, *statement)}" for statement in body.statements),
            *stores,
            "        }",
            "        __syncthreads();",
            "    }",
            "}",
            "",
        ]
    )
    source = "\n".join([comment(program, face), "", *called(definitions, text), text])
    return CudaSource(face.function, kernel, source, threads, shared, states)
