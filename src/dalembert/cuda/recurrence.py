"""A program repeated on its own results on a CUDA device: one thread per trajectory, its state in registers.

    extern "C" __global__ void step_kernel(
        const double *q, const double *v,               the states at the start, (n, ...) each
        const double *h, ...,                           held inputs, (n, ...) or (1, ...)
        const double *u, ...,                           driven inputs, (n, rows, ...) or (1, rows, ...)
        double *final_q, double *final_v,               the states at the end, (n, ...); may be those of the start
        double *record_q, double *record_v,             records, (records, size of a state, n), or null
        unsigned shared_inputs, long long n, long long begin, long long count,
        long long every, long long hold, long long rows);

Steps ``begin`` to ``begin + count`` are done. Record 0 is the state before step 0, record r that after step r every.
Driven row k holds for the steps k hold to (k + 1) hold. An input with one value for all trajectories has its bit in
``shared_inputs`` set. Records lie with trajectories side by side, so that the threads of a warp write whole lines.

Steps of humanoids with contacts have four times as many values as a thread has registers. They are printed as functions
that pass values on through memory. Those passed on soonest wait in shared memory, which has nothing else to do; the
others lie so that one instruction moves several. Blocks have as many threads as give all multiprocessors work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.cuda import arrays
from dalembert.cuda.dialect import called, device_flavour
from dalembert.cuda.launch import REALS, block_shape, compiled, resident_blocks, shared_memory
from dalembert.cuda.tuning import (
    FUNCTION_NODES,
    LAUNCH_NODES,
    LIGHT_VALUES,
    NEAR_BYTES,
    NUMBER_BYTES,
    PLAIN_SHARED_BYTES,
    REGISTER_VALUES,
    SHARED_BYTES,
    STEP_NODES,
    TRAJECTORY_THREADS,
    WAITING_VALUES,
)
from dalembert.errors import ArgumentError
from dalembert.native.deferred import Deferred
from dalembert.printing.c_family import Near, Real, check_real, comment, functions, interface
from dalembert.printing.names import C_RESERVED, Names
from dalembert.tracing.cost import max_live, mean_excess
from dalembert.tracing.passes import optimise, schedule
from dalembert.tracing.program import Port, Program


class CudaRecurrence:
    """x[k+1] = program(x[k], held, driven[k]), for a batch of trajectories on a device.

    Args:
        state: the first inputs of the program; its outputs have the same shapes, in the same order.
        held: the inputs after them, constant during a run.
        driven: the last inputs, read from an array of rows during a run.
        program: what a step computes, or a function that gives it, called only when it is needed.
    """

    def __init__(
        self,
        name: str,
        state: Sequence[Port],
        held: Sequence[Port],
        driven: Sequence[Port],
        program: Program | Callable[[], Program],
    ):
        self.name = name
        self.state, self.held, self.driven = tuple(state), tuple(held), tuple(driven)
        self._program = Deferred(f"recurrence {name}", program)
        self._compiled: dict[tuple[int, np.dtype], tuple[Any, StepperSource, int]] = {}
        self._lock = threading.RLock()

    @property
    def program(self) -> Program:
        """What a step computes."""
        return self._program.get()

    def source(self, dtype: Any = np.float64, room: int = SHARED_BYTES) -> StepperSource:
        """The CUDA source for one precision.

        Args:
            room: bytes of shared memory that a block can have on the device.
        """
        real, program = REALS[np.dtype(dtype)], self.program
        if mean_excess(program.nodes, REGISTER_VALUES[real]) > WAITING_VALUES:
            program = optimise(program)
        elif max_live(program.nodes, program.loops) > REGISTER_VALUES[real]:
            program = schedule(program)  # for what a compiler orders itself, fewer operations are not worth more values
        return stepper_source(program, self.state, self.held, self.driven, real, room=room)

    def _get(self, device: int, dtype: np.dtype) -> tuple[Any, StepperSource, int]:
        """Function, source and number of blocks that fill the device."""
        with self._lock:
            if (device, dtype) not in self._compiled:
                source = self.source(dtype, shared_memory(device))
                function = compiled(self.name, source.source, source.kernel)
                if source.shared > PLAIN_SHARED_BYTES:
                    function.max_dynamic_shared_size_bytes = source.shared
                blocks = resident_blocks(function, source.threads, source.shared, device)
                self._compiled[device, dtype] = (function, source, blocks)
            return self._compiled[device, dtype]

    def run(
        self,
        state: Sequence[Any],
        held: Sequence[Any],
        driven: Sequence[Any],
        final: Sequence[Any],
        records: Sequence[Any],
        steps: int,
        every: int = 1,
        hold: int = 1,
    ) -> None:
        """Run a batch on the current stream. Arrays are used as they lie in memory and must fit; nothing is cast.

        Args:
            state: the states at the start, (N, ...) each; CuPy arrays of one precision, C-contiguous, as all here.
            held: (N, ...) each, or (1, ...) for one that serves all.
            driven: (N, rows, ...) each, or (1, rows, ...); rows * hold >= steps.
            final: where to write the states at the end, (N, ...) each; may be the arrays of ``state``.
            records: where to write the states before the first and after each ``every`` steps,
                (1 + steps // every, size of a state, N) each; or None.
            every: steps from record to record.
            hold: steps for which a row of the driven inputs is used.
        """
        if steps < 0 or every < 1 or hold < 1:
            raise ArgumentError(f"{self.name}: steps = {steps}, every = {every}, hold = {hold} are out of range")
        n, dtype = len(state[0]), np.dtype(state[0].dtype)
        rows = driven[0].shape[1] if driven else 1
        flags = self._check(n, dtype, state, held, driven, final, records, steps, every, hold)
        if n == 0:
            return
        device = state[0].device
        with device:
            cp = arrays.cupy()
            function, source, blocks = self._get(device.id, dtype)
            grid, threads = block_shape(n, source.threads, blocks)
            null = np.uintp(0)
            kept = [null if r is None else r for r in records]
            most = max(1, int(LAUNCH_NODES / (n * max(1, len(self.program.nodes)))))
            given = [*state, *held, *driven]
            for begin in range(0, max(steps, 1), most):
                count = min(most, steps - begin)
                numbers = [np.int64(x) for x in (n, begin, count, every, hold, rows)]
                arguments = (*given, *final, *kept, np.uint32(flags), *numbers)
                function((grid,), (threads,), arguments, shared_mem=source.shared)
                given[: len(state)] = final
                if begin + count < steps:
                    cp.cuda.get_current_stream().synchronize()

    def _check(
        self,
        n: int,
        dtype: np.dtype,
        state: Sequence[Any],
        held: Sequence[Any],
        driven: Sequence[Any],
        final: Sequence[Any],
        records: Sequence[Any],
        steps: int,
        every: int,
        hold: int,
    ) -> int:
        """Which inputs serve all trajectories, as bits; an error if an array does not fit."""
        flags, device = 0, state[0].device.id
        needed = -(-steps // hold)
        wanted = [(port, x, (n, *port.shape), False) for port, x in zip(self.state, state, strict=True)]
        wanted += [(port, x, (n, *port.shape), True) for port, x in zip(self.held, held, strict=True)]
        for port, x in zip(self.driven, driven, strict=True):
            if x.ndim < 2 or x.shape[1] < needed:
                raise ArgumentError(f"{self.name}: {port.name} has shape {x.shape}; {needed} rows are needed")
            wanted.append((port, x, (n, x.shape[1], *port.shape), True))
        wanted += [(port, x, (n, *port.shape), False) for port, x in zip(self.state, final, strict=True)]
        for port, x in zip(self.state, records, strict=True):
            if x is not None:
                wanted.append((port, x, (1 + steps // every, port.size, n), False))
        for k, (port, x, shape, once) in enumerate(wanted):
            alone = once and x.shape == (1, *shape[1:])
            if (
                (x.shape != shape and not alone)
                or x.dtype != dtype
                or not x.flags.c_contiguous
                or x.device.id != device
            ):
                raise ArgumentError(
                    f"{self.name}: {port.name} is a {x.dtype} array of shape {x.shape} on device {x.device.id}; needed "
                    f"is {shape}, C-contiguous, of {dtype}, on device {device}"
                )
            if alone:
                flags |= 1 << k
        return flags

    def __repr__(self) -> str:
        return f"<CudaRecurrence {self.name}>"


# --------------------------------------------------------------------------------------------------------------- source


LOCALS = (
    "shared_inputs", "n", "begin", "count", "every", "hold", "rows", "i", "s", "k", "held", "row", "wait", "record",
)  # fmt: skip


@dataclass(frozen=True)
class StepperSource:
    """Generated CUDA.

    Args:
        threads: the most of a block; it may have fewer.
        shared: bytes of shared memory of a block, of however many threads.
    """

    kernel: str
    source: str
    threads: int
    shared: int = 0


def stepper_source(
    program: Program,
    state: Sequence[Port],
    held: Sequence[Port],
    driven: Sequence[Port],
    real: Real = "double",
    threads: int = 0,
    blocks: int = 0,
    longest: int = 0,
    near: int = -1,
    room: int = SHARED_BYTES,
) -> StepperSource:
    """A program repeated on its own results as CUDA source.

    Args:
        program: what a step computes; its inputs are state, held and driven in this order, its outputs the state.
        state: what a step changes.
        held: constant during a run.
        driven: read anew every so many steps.
        threads: threads of a block; 0 for what was measured to be best.
        blocks: how many blocks of that size a multiprocessor must be able to hold; bounds the registers of a thread.
            0 for what was measured to be best.
        longest: most nodes in one function; 0 for what was measured to be best.
        near: how many of the numbers that functions pass on wait in shared memory, per thread; -1 for what was measured
            to be best.
        room: bytes of shared memory that a block can have on the device.
    """
    check_real(real)
    threads = threads or TRAJECTORY_THREADS
    live, width = max_live(program.nodes, program.loops), NUMBER_BYTES[real]
    blocks = blocks or (2 if real == "float" and live <= LIGHT_VALUES else 1)
    long = mean_excess(program.nodes, REGISTER_VALUES[real]) > WAITING_VALUES
    longest = longest or (STEP_NODES[real] if long else FUNCTION_NODES)
    if near < 0:
        near = min(NEAR_BYTES, room) // (width * threads) if long else 0
    names = Names(C_RESERVED)
    for name in LOCALS:
        names.new(name)
    face = interface(program, names)
    kernel = names.new(f"{face.function}_kernel")
    flavour, definitions = device_flavour(program, real, names, face.function)
    if near:
        memory, column = names.new("memory"), names.new("near")
        head = (f"    extern __shared__ {real} {memory}[];", f"    {real} *const {column} = {memory} + threadIdx.x;")
        aligned = "__align__(16)", f"    w = ({real} *)__builtin_assume_aligned(w, 16);"
        flavour = replace(flavour, near=Near(near, head, lambda slot: f"{column}[{slot * threads}]", aligned))
    body = functions(program, face, names, flavour, face.function, longest)
    inputs = list(zip(face.inputs, (*state, *held, *driven)))
    moving = inputs[: len(state)]
    fixed, driving = inputs[len(state) : len(inputs) - len(driven)], inputs[len(inputs) - len(driven) :]
    local = {name: names.new(f"{name}_now") for name, _ in inputs}
    after = {name: names.new(f"{name}_next") for name, _ in moving}
    final = {name: names.new(f"final_{name}") for name, _ in moving}
    records = {name: names.new(f"record_{name}") for name, _ in moving}

    def each(port: Port, statement: str, indent: int) -> list[str]:
        if not port.size:
            return []
        return [" " * indent + "#pragma unroll", " " * indent + f"for (int k = 0; k < {port.size}; ++k) {statement}"]

    def kept(indent: int) -> list[str]:
        lines = []
        for name, port in moving:
            if port.size:
                to = f"{records[name]}[(record * {port.size} + k) * n + i]"
                lines += [
                    " " * indent + f"if ({records[name]}) {{",
                    *each(port, f"{to} = {local[name]}[k];", indent + 4),
                ]
                lines.append(" " * indent + "}")
        return lines

    parameters = [f"const {real} *{name}" for name, _ in inputs]
    parameters += [f"{real} *{name}" for name in (*final.values(), *records.values())]
    parameters += [
        "unsigned shared_inputs",
        *(f"long long {x}" for x in ("n", "begin", "count", "every", "hold", "rows")),
    ]
    load, drive = [], []
    for name, port in (*moving, *fixed):
        load += each(port, f"{local[name]}[k] = {name}[{_at(inputs, name)} * {port.size} + k];", 8)
    for name, port in driving:
        drive += each(port, f"{local[name]}[k] = {name}[({_at(inputs, name)} * rows + row) * {port.size} + k];", 16)
    advance = [line for name, port in moving for line in each(port, f"{local[name]}[k] = {after[name]}[k];", 12)]
    end = [
        line
        for name, port in moving
        for line in each(port, f"{final[name]}[i * {port.size} + k] = {local[name]}[k];", 8)
    ]
    arguments = ", ".join([*(local[name] for name, _ in inputs), *(after[name] for name, _ in moving)])
    text = [
        comment(program, face),
        "",
        *called(definitions, body),
        body,
        f'extern "C" __global__ void __launch_bounds__({threads}, {blocks}) {kernel}(',
        ",\n".join(f"    {parameter}" for parameter in parameters) + ")",
        "{",
        "    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n;"
        " i += (long long)gridDim.x * blockDim.x) {",
        *(f"        {real} {local[name]}[{max(port.size, 1)}];" for name, port in inputs),
        *(f"        {real} {after[name]}[{max(port.size, 1)}];" for name, port in moving),
        "        long long row = begin / hold, held = begin % hold;",
        "        long long record = begin / every, wait = every - begin % every;",
        *load,
        "        if (begin == 0) {",
        *kept(12),
        "        }",
        "        for (long long s = 0; s < count; ++s) {",
        *(["            if (s == 0 || held == 0) {", *drive, "            }"] if drive else []),
        f"            {face.function}({arguments});",
        *advance,
        "            if (++held == hold) { held = 0; ++row; }",
        "            if (--wait == 0) {",
        "                wait = every;",
        "                ++record;",
        *kept(16),
        "            }",
        "        }",
        *end,
        "    }",
        "}",
        "",
    ]
    return StepperSource(kernel, "\n".join(text), threads, near * threads * width)


def _at(inputs: list[tuple[str, Port]], name: str) -> str:
    """The trajectory whose value of an input is read."""
    bit = 1 << [own for own, _ in inputs].index(name)
    return f"((shared_inputs & {bit}u) ? 0 : i)"
