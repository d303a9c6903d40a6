"""A program as one LLVM module: its arithmetic and the loop around it; what all kernels share is in `runtime`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dalembert.native.llvm import arithmetic, runtime
from dalembert.native.llvm.loop import loop_functions, stepper_functions
from dalembert.native.llvm.plan import CHUNK_OPERATIONS, BlockPlan, Chunk, Repeat, make_plan
from dalembert.native.llvm.target import Lanes, Target
from dalembert.native.llvm.text import comment
from dalembert.tracing.program import Port, Program


def module_text(
    program: Program,
    dtype: np.dtype | type | str = np.float64,
    target: Target | None = None,
    chunk: int = CHUNK_OPERATIONS,
) -> str:
    """LLVM IR of a program; its one public function is ``loop``, over states (see the module of that name).

    Args:
        dtype: float64 or float32.
        target: the processor; this one by default.
        chunk: the largest number of operations compiled as one function.
    """
    target = target or Target.host()
    lanes = target.lanes(dtype)
    title = f"{program!r}, {lanes.vector}"
    return _module(title, program, lanes, target, chunk, lambda plan: loop_functions(program, plan, lanes, target))


def recurrence_text(
    program: Program,
    state: Sequence[Port],
    held: Sequence[Port],
    driven: Sequence[Port],
    dtype: np.dtype | type | str,
    target: Target,
) -> str:
    """LLVM IR of a program that is repeated on its own results; its one public function is ``loop``, over steps.

    Args:
        state: the first inputs of the program, and its outputs.
        held: the inputs after them, constant during a run.
        driven: the last inputs, read from an array of rows during a run.
    """
    lanes = target.lanes(dtype)

    def loop(plan: BlockPlan) -> str:
        return stepper_functions(state, held, driven, plan, lanes, target)

    return _module(f"{program!r}, repeated", program, lanes, target, CHUNK_OPERATIONS, loop)


def _module(
    title: str, program: Program, lanes: Lanes, target: Target, chunk: int, loop: Callable[[BlockPlan], str]
) -> str:
    plan = make_plan(program, chunk)
    parts = [comment(title), arithmetic.intrinsics(lanes), runtime.declarations(lanes, target)]
    parts += _chunk_functions(plan, lanes)
    parts.append(loop(plan))
    return runtime.link("\n".join(parts), lanes, target)


def _chunk_functions(plan: BlockPlan, lanes: Lanes, prefix: str = "") -> list[str]:
    """The arithmetic of a plan and of the steps it repeats."""
    parts = []
    for k, step in enumerate(plan.steps):
        if isinstance(step, Chunk):
            parts.append(arithmetic.chunk_function(f"{prefix}chunk{k}", plan, step, lanes))
        elif isinstance(step, Repeat):
            parts += _chunk_functions(step.plan, lanes, f"{prefix}repeat{k}_")
    return parts
