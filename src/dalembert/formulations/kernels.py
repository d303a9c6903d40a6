"""Machine code of quantities."""

from __future__ import annotations

from dalembert.compiler.kernel import Kernel
from dalembert.compiler.passes import optimise
from dalembert.compiler.program import Program
from dalembert.compiler.trace import program_of
from dalembert.formulations.quantity import Quantity
from dalembert.formulations.scope import without_unused_inputs


def kernel_of(quantity: Quantity, level: int = 1) -> Kernel:
    """A kernel that computes a quantity for any batch of states.

    Its inputs are the positions ``q`` and, of velocities, parameters and other inputs, those that matter.

    Args:
        quantity: what to compute.
        level: of optimisation, see :func:`dalembert.compiler.passes.optimise`.
    """
    program = optimise(kernel_program(quantity), level)
    return Kernel(program.name, program.inputs, program.outputs, program)


def kernel_program(quantity: Quantity) -> Program:
    """The program of a quantity, with at least the input ``q``.

    Args:
        quantity: what to compute.
    """
    whole = program_of(quantity.scope.graph, {quantity.name: quantity.values}, quantity.name)
    return without_unused_inputs(whole, keep=("q",))
