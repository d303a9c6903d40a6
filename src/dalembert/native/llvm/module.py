"""A program as one LLVM module: the loop and the arithmetic; what all kernels share is in `runtime`."""

from __future__ import annotations

import numpy as np

from dalembert.native.llvm import arithmetic, runtime
from dalembert.native.llvm.loop import loop_functions
from dalembert.native.llvm.plan import CHUNK, Chunk, make_plan
from dalembert.native.llvm.target import Target
from dalembert.native.llvm.text import comment
from dalembert.tracing.program import Program


def module_text(
    program: Program, dtype: np.dtype | type | str = np.float64, target: Target | None = None, chunk: int = CHUNK
) -> str:
    """LLVM IR of a program; its one public function is ``loop`` (see the module of that name).

    Args:
        program: what to compute.
        dtype: float64 or float32.
        target: the processor; this one by default.
        chunk: the largest number of operations compiled as one function.
    """
    target = target or Target.host()
    lanes = target.lanes(dtype)
    plan = make_plan(program, chunk)
    parts = [comment(f"{program!r}, {lanes.vector}"), arithmetic.intrinsics(lanes), runtime.declarations(lanes, target)]
    for k, step in enumerate(plan.steps):
        if isinstance(step, Chunk):
            parts.append(arithmetic.chunk_function(f"chunk{k}", plan, step, lanes))
    parts.append(loop_functions(program, plan, lanes, target))
    return runtime.link("\n".join(parts), lanes, target)
