"""The loop that repeats a program on its own results, as CUDA: one thread per trajectory, its state in registers.

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.cuda.dialect import called, device_flavour
from dalembert.printing.c_family import Real, check_real, comment, functions, interface
from dalembert.printing.names import C_RESERVED, Names
from dalembert.tracing.cost import max_live
from dalembert.tracing.program import Port, Program

LOCALS = (
    "shared_inputs", "n", "begin", "count", "every", "hold", "rows", "i", "s", "k", "held", "row", "wait", "record",
)  # fmt: skip


@dataclass(frozen=True)
class StepperSource:
    """Generated CUDA.

    Args:
        kernel: name of the kernel.
        source: the text.
        threads: threads of a block.
    """

    kernel: str
    source: str
    threads: int


def stepper_source(
    program: Program,
    state: Sequence[Port],
    held: Sequence[Port],
    driven: Sequence[Port],
    real: Real = "double",
    threads: int = 0,
    blocks: int = 0,
    longest: int = 20_000,
) -> StepperSource:
    """A program repeated on its own results as CUDA source.

    Args:
        program: what a step computes; its inputs are state, held and driven in this order, its outputs the state.
        state: what a step changes.
        held: constant during a run.
        driven: read anew every so many steps.
        real: the type of all numbers.
        threads: threads of a block; 0 for what was measured to be best.
        blocks: how many blocks of that size a multiprocessor must be able to hold; bounds the registers of a thread.
            0 for what was measured to be best.
        longest: most nodes in one function.
    """
    check_real(real)
    # Few, large blocks stay together, so that all warps of a multiprocessor read the same long code at the same time.
    threads = threads or 256
    blocks = blocks or (2 if real == "float" and max_live(program.nodes) <= 100 else 1)
    names = Names(C_RESERVED)
    for name in LOCALS:
        names.new(name)
    face = interface(program, names)
    kernel = names.new(f"{face.function}_kernel")
    flavour, definitions = device_flavour(program, real, names, face.function)
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
        f"    for (long long i = (long long)blockIdx.x * {threads} + threadIdx.x; i < n;"
        f" i += (long long)gridDim.x * {threads}) {{",
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
    return StepperSource(kernel, "\n".join(text), threads)


def _at(inputs: list[tuple[str, Port]], name: str) -> str:
    """The trajectory whose value of an input is read."""
    bit = 1 << [own for own, _ in inputs].index(name)
    return f"((shared_inputs & {bit}u) ? 0 : i)"
