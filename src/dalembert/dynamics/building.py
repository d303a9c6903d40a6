"""From a quantity to its program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.algorithms.selection import contest, plans
from dalembert.model.tree import Tree
from dalembert.quantities import Quantity, Setting
from dalembert.tracing.program import Port, Program

Form = Callable[[Tree], Tree] | None


def build_program(
    name: str,
    spec: Quantity,
    options: dict[str, Any],
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    setting: Callable[[dict[str, Any], dict[str, Any], Form], Setting],
    optimise: int,
    nv: int,
) -> tuple[Program, str]:
    """The program of a quantity, and, where several algorithms were written down to see, which one it is and why.

    Args:
        name: of the program.
        spec: the quantity.
        options: its options.
        inputs: the input arrays.
        outputs: the output arrays.
        setting: what is to be computed of, from options, traced inputs by name, and the form of the tree.
        optimise: how hard to look for operations to save.
        nv: number of velocities of the mechanism.
    """
    from dalembert.tracing import passes
    from dalembert.tracing.cost import operation_count
    from dalembert.tracing.trace import trace

    def write(options: dict[str, Any], form: Form = None) -> Program:
        def compute(*arrays: Any) -> dict[str, Any]:
            given = dict(zip((p.name for p in inputs), arrays))
            result = spec.compute(setting(options, given, form), *(given[k] for k in spec.inputs))
            results = zip(outputs, result if isinstance(result, tuple) else (result,))
            return {port.name: np.asarray(value, dtype=object).reshape(port.shape) for port, value in results}

        with np.errstate(all="ignore"):  # a mechanism without an answer has kernels that say infinity or NaN
            return trace(compute, {p.name: p.shape for p in inputs}, name)

    def improve(program: Program) -> Program:
        return passes.optimise(program, optimise)

    candidates = [] if "algorithm" in options else plans(spec.rivals, nv)
    if not candidates:
        return improve(write(options)), ""
    outcome = contest(
        candidates,
        lambda plan, form: write({"algorithm": plan.algorithm}, form),
        improve,
        operation_count,
    )
    return outcome.program, f"{outcome.plan.algorithm}: {outcome.reason}"
