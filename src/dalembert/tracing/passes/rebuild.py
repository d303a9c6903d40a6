"""Make a program again by the rules of construction: dead code goes, equal operations become one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.tracing.graph import Expr, Graph
from dalembert.tracing.program import STRUCTURE, Node, Program, Scan, node_of
from dalembert.tracing.rules import RULES
from dalembert.tracing.trace import assemble, retrace


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
        elif op in STRUCTURE:
            values.append(graph.structure(program, program.nodes[k], [values[a] for a in args], inputs))
        else:
            x = special(graph, k, values)
            values.append(RULES[op](*[values[a] for a in args]) if x is None else x)
        if k in program.labels and isinstance(values[k], Expr):
            values[k].label(program.labels[k])
    return assemble(graph, program, values)


# ---------------------------------------------------------------------------------------------------- without the rules


def reorder(program: Program, order: Iterable[int]) -> Program:
    """The program with its nodes in another order.

    Args:
        order: indices of nodes, operands before their users; nodes left out must not be needed.
    """
    old = program.nodes
    place = [-1] * len(old)
    nodes: list[Node] = []
    loops: list[Scan] = []
    tables: list[bytes] = []
    for k in order:
        op, args, value = old[k]
        place[k] = len(nodes)
        if len(args) == 2 and op not in ("input", "loop"):
            a, b = args
            nodes.append(node_of((op, (place[a], place[b]), value)))
            continue
        if op == "loop":
            loops.append(program.loops[int(value)])
            value = len(loops) - 1.0
        elif op == "data":
            tables.append(program.tables[int(value)])
            value = len(tables) - 1.0
        nodes.append(node_of((op, args if op == "input" else tuple([place[a] for a in args]), value)))
    return replace(
        program,
        nodes=tuple(nodes),
        results=tuple([tuple([place[k] for k in row]) for row in program.results]),
        labels={place[k]: text for k, text in program.labels.items() if place[k] >= 0},
        loops=tuple(loops),
        tables=tuple(tables),
    )


def prune(program: Program) -> Program:
    """The program without nodes that no result needs; the others stay as they are, in their order."""
    return pruned(program, range(len(program.nodes)))


def pruned(program: Program, order: Sequence[int]) -> Program:
    """The program in another order, without nodes that no result needs.

    Args:
        order: indices of all nodes, operands before their users.
    """
    nodes = program.nodes
    needed = bytearray(len(nodes))
    for row in program.results:
        for k in row:
            needed[k] = 1
    for k in reversed(order):
        if needed[k]:
            op, args, _ = nodes[k]
            if op != "input":
                for a in args:
                    needed[a] = 1
    return reorder(program, [k for k in order if needed[k]])
