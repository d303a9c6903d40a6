"""Kernels that follow each other as a pair of files with a C interface, like that of one kernel.

What they hand on to each other lies in memory that the function takes from the pool of the stream and gives back to it,
both in the order of the stream: it waits for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dalembert.cuda.hardware import SMALL, WIDTH
from dalembert.cuda.library import (
    LOCALS,
    CudaLibrary,
    declaration,
    header_text,
    in_words,
    launch_name,
    launchers,
)
from dalembert.cuda.source import CudaSource
from dalembert.cuda.stages import Stage
from dalembert.cuda.tiles import MACROS
from dalembert.printing.c_family import Interface, Real, interface
from dalembert.printing.names import C_RESERVED, Names
from dalembert.tracing.program import Program


def staged_library(program: Program, stages: Sequence[Stage], real: Real, header: str, source: str) -> CudaLibrary:
    """The C interface of kernels of which each works on what those before it gave.

    Args:
        program: what they compute together; only its name and its arrays matter.
        stages: the kernels, in order.
        real: the type of all numbers.
        header: name of the header's file.
        source: name of the source's file.
    """
    names = Names(C_RESERVED)
    own = Names(C_RESERVED).new(program.name)
    function = launch_name(names, own)
    for local in (*LOCALS, "memory", "failed", "next"):
        names.new(local)
    face = interface(program, names)
    given = [port.name for port in program.inputs]
    known = dict(zip((*given, *(port.name for port in program.outputs)), (*face.inputs, *face.outputs)))
    between: dict[str, int] = {}
    bodies, launches, calls, told = [], [], [], []
    for number, stage in enumerate(stages):
        cuda = _kernels(stage, real, f"stage{number}_of_{own}")
        for name, port in zip(stage.gives, stage.program.outputs):
            if name not in known:
                known[name], between[name] = names.new(name), port.size
        bodies += [one.source for one in cuda]
        launch = launch_name(names, cuda[0].function)
        scope = names.scope()
        arrays = Interface(
            "", tuple(scope.new(x) for x in stage.takes), tuple(scope.new(f"{x}_out") for x in stage.gives)
        )
        launches.append(launchers(arrays, cuda, real, launch, "static", names))
        flags = " | ".join(
            f"(shared_inputs >> {given.index(x)} & 1u) << {k}" for k, x in enumerate(stage.takes) if x in given
        )
        passed = ", ".join(known[x] for x in (*stage.takes, *stage.gives))
        calls.append(f"    if (!failed) failed = {launch}({passed}, {flags or 0}, n, stream);\n")
        told.append(in_words(cuda))
    stem = source.rpartition(".")[0] or source
    before = f"/* Makefile:  {stem}.o: {source} {header} ; nvcc -O3 -arch=native -c {source} -o {stem}.o */\n"
    apart = "\n" + "".join(f"#undef {macro}\n" for macro in MACROS)
    whole = _whole(declaration(face, real, function), real, {known[x]: size for x, size in between.items()}, calls)
    text = (
        f'{before}{apart.join(bodies)}\n#ifndef __CUDACC_RTC__\n#include "{header}"\n{"".join(launches)}{whole}#endif\n'
    )
    room = sum(between.values()) * WIDTH[real]
    more = f" Takes {room} bytes for every state\n * from the memory pool of the stream meanwhile." if between else ""
    return CudaLibrary(
        function, header_text(program, face, real, function, more), text, f"Launch, in this order, {'; '.join(told)}."
    )


def _kernels(stage: Stage, real: Real, name: str) -> list[CudaSource]:
    """The kernel of a stage, and another one for cards with less shared memory if it needs much."""
    found = [replace(stage, program=replace(stage.program, name=name)).source(real)]
    if found[0].shared > SMALL:
        found.append(replace(stage, program=replace(stage.program, name=f"small_{name}")).source(real, SMALL))
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
