"""A quantity with more results than a thread has registers, computed by several kernels one after the other.

What one kernel passes to the next lies in arrays that are made for the call; the last ones may work on the results of
earlier ones in place.

A stage may work on the columns of matrices, with one thread per column. Matrices lie row after row, so neighbouring
threads read and write neighbouring numbers, and what all columns of a state need, such as the factors of a matrix to
solve with, is read once into shared memory. A thread has read its column before it writes it: results may take the
place of what they are computed from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.cuda.dialect import called, device_flavour
from dalembert.cuda.launch import Launch, shared_memory
from dalembert.cuda.source import TAKEN, CudaSource, to_cuda
from dalembert.cuda.tuning import COLUMN_THREADS, NUMBER_BYTES, SHARED_BYTES
from dalembert.cuda.warps import Parts
from dalembert.printing.c_family import Real, comment, interface, statement_line
from dalembert.printing.names import C_RESERVED, Names
from dalembert.printing.statements import FunctionBody
from dalembert.tracing.program import Port, Program


@dataclass(frozen=True)
class Stage:
    """One of several programs that are evaluated one after the other.

    Args:
        program: what it computes; its inputs are found by name among those of the whole and what earlier stages gave.
        gives: under which names its outputs are known.
        columns: how many columns the matrices have on whose columns it works; 0 if it works on states.
    """

    program: Program
    gives: tuple[str, ...]
    parts: Parts | None = None
    columns: int = 0

    @property
    def takes(self) -> tuple[str, ...]:
        """Names of the arrays that are passed to it."""
        return tuple(port.name for port in self.program.inputs if not (self.columns and port.name == UNIT))

    def source(self, real: Real, room: int = SHARED_BYTES) -> CudaSource:
        """As CUDA."""
        if self.columns:
            return columns_to_cuda(self.program, self.columns, real, room)
        return to_cuda(self.program, real, parts=self.parts, room=room)


class StagedLaunch:
    """The kernels of all stages, compiled for the current device.

    Args:
        stages: in the order in which they are evaluated.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Port],
        outputs: Sequence[Port],
        stages: Sequence[Stage],
        real: Real,
        device: int,
    ):
        self._stages = tuple(stages)
        room = shared_memory(device)
        self._launches = [Launch(name, stage.source(real, room), device) for stage in stages]
        self._inputs = [port.name for port in inputs]
        self._names = [*self._inputs, *(port.name for port in outputs)]
        self._between = {
            known: port.shape
            for stage in stages
            for known, port in zip(stage.gives, stage.program.outputs)
            if known not in self._names
        }

    @property
    def between(self) -> tuple[tuple[int, ...], ...]:
        """Shapes, for one state, of the arrays for what the kernels pass to each other."""
        return tuple(self._between.values())

    def __call__(self, arrays: Sequence[Any], shared: int, count: int, scratch: Sequence[Any]) -> None:
        """Launch all of them on CuPy's current stream.

        Args:
            arrays: inputs, then outputs: arrays or addresses.
            shared: bit k says that input k has one value for all states.
            scratch: arrays of the shapes :attr:`between` for all states, or their addresses.
        """
        known = dict(zip((*self._names, *self._between), (*arrays, *scratch)))
        for stage, launch in zip(self._stages, self._launches):
            own = 0
            for k, name in enumerate(stage.takes):
                if name in self._inputs and shared >> self._inputs.index(name) & 1:
                    own |= 1 << k
            launch([known[name] for name in (*stage.takes, *stage.gives)], own, count)


# --------------------------------------------------------------------------------------------------- kernels on columns


UNIT = "unit"
"""Name of an input that is a column of the unit matrix and is not passed."""


def columns_to_cuda(program: Program, columns: int, real: Real, room: int = SHARED_BYTES) -> CudaSource:
    """A kernel that evaluates a program for every column.

    Args:
        program: its first input is common to all columns of a state; all others, and the outputs, are columns.
        columns: how many columns the matrices have.
    """
    names = Names(C_RESERVED | TAKEN | {"column", "common", "p"})
    face = interface(program, names)
    kernel = names.new(f"{face.function}_kernel")
    flavour, definitions = device_flavour(program, real, names, face.function)
    passed = [k for k, port in enumerate(program.inputs) if port.name != UNIT]
    size = program.inputs[0].size
    states = max(1, min(COLUMN_THREADS // columns, room // (size * NUMBER_BYTES[real])))
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

    body = FunctionBody(program, flavour.dialect, scope, read)
    stores = [
        f"        {name}[p * {port.size * columns} + {e * columns} + column] = {body.text(k).source};"
        for name, port, row in zip(face.outputs, program.outputs, program.results)
        for e, k in enumerate(row)
    ]
    parameters = [f"const {real} *{face.inputs[k]}" for k in passed] + [f"{real} *{name}" for name in face.outputs]
    shared = states * size * NUMBER_BYTES[real]
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
            *(f"    {statement_line(program, flavour, statement)}" for statement in body.statements),
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
