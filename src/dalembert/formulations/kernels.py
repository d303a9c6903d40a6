"""Machine code of quantities."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.compiler.kernel import Kernel
from dalembert.compiler.passes import optimise
from dalembert.compiler.program import Node, Program
from dalembert.compiler.trace import program_of
from dalembert.formulations.quantity import Quantity
from dalembert.formulations.scope import without_unused_inputs

THOROUGH = 20_000
"""Operations beyond which a program is not regrouped, because that would take longer than compiling it."""


def kernel_of(quantity: Quantity, level: int | None = None) -> Kernel:
    """A kernel that computes a quantity for any batch of states.

    Its inputs are the positions ``q`` and, of velocities, parameters and other inputs, those that matter.

    Args:
        quantity: what to compute.
        level: of optimisation, see :func:`dalembert.compiler.passes.optimise`; by default 1, for very large programs 0.
    """
    plain = kernel_program(quantity)
    if level is None:
        level = 1 if len(plain.nodes) <= THOROUGH else 0
    program = optimise(plain, level)
    return Kernel(program.name, program.inputs, program.outputs, program)


def kernel_program(quantity: Quantity) -> Program:
    """The program of a quantity, with at least the input ``q``.

    Args:
        quantity: what to compute.
    """
    whole = program_of(quantity.scope.graph, {quantity.name: quantity.values}, quantity.name)
    return with_parameters_last(without_unused_inputs(whole, keep=("q",)), quantity.scope.parameters)


def with_parameters_last(program: Program, parameters: Sequence[str]) -> Program:
    """The same program with vectors before parameters among its inputs.

    Args:
        program: any program.
        parameters: names of the inputs that go last.
    """
    order = sorted(range(len(program.inputs)), key=lambda k: program.inputs[k].name in parameters)
    place = {old: new for new, old in enumerate(order)}
    nodes = tuple(
        Node("input", (place[node.args[0]], node.args[1])) if node.op == "input" else node for node in program.nodes
    )
    inputs = tuple(program.inputs[k] for k in order)
    return Program(program.name, inputs, program.outputs, nodes, program.results, program.labels)
