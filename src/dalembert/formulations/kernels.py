"""Machine code of quantities."""

from __future__ import annotations

from collections.abc import Sequence

from dalembert.formulations.bounds import believed
from dalembert.formulations.quantity import Quantity
from dalembert.formulations.scope import without_unused_inputs
from dalembert.native.kernel import Kernel
from dalembert.tracing.passes import optimise
from dalembert.tracing.program import Node, Port, Program
from dalembert.tracing.trace import program_of

MOST_NAMED = 16
"""Parameters of a kernel that are inputs of their own; NumPy allows 64 operands in all."""

THOROUGH = 20_000
"""Operations beyond which a program is not regrouped, because that would take longer than compiling it."""


def kernel_of(quantity: Quantity, level: int | None = None) -> Kernel:
    """A kernel that computes a quantity for any batch of states.

    Its inputs are the positions ``q`` and, of velocities, parameters and other inputs, those that matter.

    Args:
        quantity: what to compute.
        level: of optimisation, see :func:`dalembert.tracing.passes.optimise`; by default 1, for very large programs 0.
    """
    plain = kernel_program(quantity)
    if level is None:
        level = 1 if len(plain.nodes) <= THOROUGH else 0
    program = optimise(plain, level)
    return Kernel(program.name, program.inputs, program.outputs, program)


def kernel_program(quantity: Quantity) -> Program:
    """The program of a quantity, with at least the input ``q``; vectors come first, then parameters.

    Up to :data:`MOST_NAMED` parameters are inputs of their own; more of them are one input ``parameters``, all symbols
    in the order of :attr:`~dalembert.formulations.equations.Equations.parameters`.

    Args:
        quantity: what to compute.
    """
    scope = quantity.scope
    values = believed(scope, quantity.values)
    whole = program_of(scope.graph, {quantity.name: values}, quantity.name)
    needed = without_unused_inputs(whole, keep=("q",))
    named = [port.name for port in needed.inputs if port.name in scope.parameters]
    return packed(needed, scope.parameters if len(named) > MOST_NAMED else (), named)


def packed(program: Program, together: Sequence[str], last: Sequence[str]) -> Program:
    """The same program with some scalar inputs joined to one vector ``parameters``, and others moved to the end.

    Args:
        program: any program.
        together: names of the scalar inputs that become entries of ``parameters``, whether they occur or not.
        last: names of the inputs that go last if they stay on their own.
    """
    order = sorted(
        (k for k, port in enumerate(program.inputs) if port.name not in together),
        key=lambda k: program.inputs[k].name in last,
    )
    place = {old: new for new, old in enumerate(order)}
    inputs = [program.inputs[k] for k in order]
    if together:
        inputs.append(Port("parameters", (len(together),)))
    where = {name: k for k, name in enumerate(together)}

    def moved(node: Node) -> Node:
        if node.op != "input":
            return node
        name = program.inputs[node.args[0]].name
        if name in where:
            return Node("input", (len(inputs) - 1, where[name]))
        return Node("input", (place[node.args[0]], node.args[1]))

    nodes = tuple(map(moved, program.nodes))
    return Program(program.name, tuple(inputs), program.outputs, nodes, program.results, program.labels)
