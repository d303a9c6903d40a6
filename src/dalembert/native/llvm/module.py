"""A program in LLVM's language: its arithmetic and the loop around it; what all kernels share is in `runtime`.

A long program is several modules, compiled one after the other and loaded together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.native.llvm import arithmetic, runtime
from dalembert.native.llvm.loop import loop_functions, memory_functions, stepper_functions
from dalembert.native.llvm.plan import BlockPlan, Chunk, Repeat, make_plan
from dalembert.native.llvm.target import Lanes, Target
from dalembert.native.llvm.text import comment
from dalembert.native.tuning import CHUNK_OPERATIONS, MODULE_OPERATIONS, optimization
from dalembert.tracing.program import Port, Program


@dataclass(frozen=True)
class Source:
    """What machine code is made of.

    Args:
        texts: modules in LLVM's language, made as they are asked for. Functions that one calls in others have been
            defined before.
        optimization: LLVM's level of optimisation.
    """

    texts: Iterator[str]
    optimization: int


def module_source(
    program: Program, dtype: np.dtype | type | str, target: Target, chunk: int = CHUNK_OPERATIONS
) -> Source:
    """LLVM IR of a program; its one public function is ``loop``, over states (see the module of that name).

    Args:
        chunk: the largest number of operations compiled as one function.
    """
    lanes = target.lanes(dtype)
    plan = make_plan(program, chunk)
    title = f"{program!r}, {lanes.vector}"
    return _source(title, plan, lanes, target, lambda: loop_functions(program, plan, lanes, target))


def module_text(
    program: Program,
    dtype: np.dtype | type | str = np.float64,
    target: Target | None = None,
    chunk: int = CHUNK_OPERATIONS,
) -> str:
    """All of :func:`module_source` as one module, to look at.

    Args:
        target: the processor; this one by default.
        chunk: the largest number of operations compiled as one function.
    """
    target = target or Target.host()
    lanes = target.lanes(dtype)
    plan = make_plan(program, chunk)
    title = f"{program!r}, {lanes.vector}"
    return _whole(title, plan, lanes, target, lambda: loop_functions(program, plan, lanes, target))


def recurrence_source(
    program: Program,
    state: Sequence[Port],
    held: Sequence[Port],
    driven: Sequence[Port],
    dtype: np.dtype | type | str,
    target: Target,
) -> Source:
    """LLVM IR of a program that is repeated on its own results; its one public function is ``loop``, over steps.

    Args:
        state: the first inputs of the program, and its outputs.
        held: the inputs after them, constant during a run.
        driven: the last inputs, read from an array of rows during a run.
    """
    lanes = target.lanes(dtype)
    plan = make_plan(program, moved=True)
    title = f"{program!r}, repeated"
    loop = lambda: stepper_functions(state, held, driven, plan, lanes, target)  # noqa: E731
    return _source(title, plan, lanes, target, loop)


def recurrence_text(
    program: Program,
    state: Sequence[Port],
    held: Sequence[Port],
    driven: Sequence[Port],
    dtype: np.dtype | type | str,
    target: Target,
) -> str:
    """All of :func:`recurrence_source` as one module, to look at."""
    lanes = target.lanes(dtype)
    plan = make_plan(program, moved=True)
    title = f"{program!r}, repeated"
    return _whole(title, plan, lanes, target, lambda: stepper_functions(state, held, driven, plan, lanes, target))


def _source(title: str, plan: BlockPlan, lanes: Lanes, target: Target, loop: Callable[[], str]) -> Source:
    if plan.length <= MODULE_OPERATIONS:
        return Source(iter([_whole(title, plan, lanes, target, loop)]), optimization(plan.length))
    return Source(_parts(title, plan, lanes, target, loop), optimization(plan.length))


def _whole(title: str, plan: BlockPlan, lanes: Lanes, target: Target, loop: Callable[[], str]) -> str:
    parts = [comment(title), arithmetic.intrinsics(lanes), runtime.declarations(lanes, target), memory_functions(lanes)]
    parts += [arithmetic.chunk_function(name, own, chunk, lanes) for name, own, chunk in _chunks(plan)]
    return runtime.link("\n".join([*parts, loop()]), lanes, target)


def _parts(title: str, plan: BlockPlan, lanes: Lanes, target: Target, loop: Callable[[], str]) -> Iterator[str]:
    """Modules with the arithmetic, then one with the loop around it."""
    declared: list[str] = []
    functions: list[str] = []
    length = 0
    for name, own, chunk in _chunks(plan):
        declared.append(f"declare {arithmetic.chunk_head(name, lanes)}\n")
        functions.append(arithmetic.chunk_function(name, own, chunk, lanes, ""))
        length += len(chunk.values)
        if length >= MODULE_OPERATIONS:
            yield "\n".join([arithmetic.intrinsics(lanes), *functions])
            functions, length = [], 0
    yield "\n".join([arithmetic.intrinsics(lanes), *functions])
    parts = [
        comment(title),
        arithmetic.intrinsics(lanes),
        runtime.declarations(lanes, target),
        memory_functions(lanes),
        *declared,
        loop(),
    ]
    yield runtime.link("\n".join(parts), lanes, target)


def _chunks(plan: BlockPlan, prefix: str = "") -> Iterator[tuple[str, BlockPlan, Chunk]]:
    """The arithmetic of a plan and of the steps it repeats: names of functions, and what they compute."""
    for k, step in enumerate(plan.steps):
        if isinstance(step, Chunk):
            yield f"{prefix}chunk{k}", plan, step
        elif isinstance(step, Repeat):
            yield from _chunks(step.plan, f"{prefix}repeat{k}_")
