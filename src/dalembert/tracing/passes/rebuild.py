"""Make a program again by the rules of construction: dead code goes, equal operations become one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.tracing.graph import Expr, Graph
from dalembert.tracing.program import Program
from dalembert.tracing.rules import RULES
from dalembert.tracing.trace import program_of, retrace


def rebuild(program: Program) -> Program:
    """The same program without dead or repeated operations.

    What the rules of construction guarantee holds again, which a pass may have broken. Values change by no more
    than these rules allow; a program that comes straight from tracing does not change at all.
    """
    graph, values = retrace(program)
    return assemble(graph, program, values)


def rewrite(program: Program, special: Callable[[Graph, int, list[Any]], Any]) -> Program:
    """Make a program again with exceptions.

    Args:
        program: what to rewrite.
        special: called with the new graph, the index of an operation, and the new values of all nodes before
            it; gives its new value, or None for the usual one.
    """
    graph = Graph()
    inputs = [list(np.asarray(graph.input(port.name, port.shape)).flat) for port in program.inputs]
    values: list[Any] = []
    for k, (op, args, number) in enumerate(program.nodes):
        if op == "const":
            values.append(graph.constant(number))
        elif op == "input":
            values.append(inputs[args[0]][args[1]])
        else:
            x = special(graph, k, values)
            values.append(RULES[op](*[values[a] for a in args]) if x is None else x)
        if k in program.labels and isinstance(values[k], Expr):
            values[k].label(program.labels[k])
    return assemble(graph, program, values)


def assemble(graph: Graph, program: Program, values: Mapping[int, Any] | Sequence[Any]) -> Program:
    """A program with the outputs of another, given the new expressions of its nodes.

    Args:
        graph: the graph of the expressions.
        program: gives names, shapes and results.
        values: by node, an expression where it is a result.
    """
    outputs = {}
    for port, row in zip(program.outputs, program.results):
        outputs[port.name] = np.empty(port.shape, dtype=object)
        for place, k in enumerate(row):
            outputs[port.name].flat[place] = values[k]
    return program_of(graph, outputs, program.name)
