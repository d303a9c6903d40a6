"""Take some nodes of a program, in a given order, and renumber them."""

from __future__ import annotations

from collections.abc import Iterable

from dalembert.tracing.program import Node, Program


def reorder(program: Program, order: Iterable[int]) -> Program:
    """The program with its nodes in another order.

    Args:
        program: what to reorder.
        order: indices of nodes, operands before their users; nodes left out must not be needed.
    """
    place: dict[int, int] = {}
    nodes: list[Node] = []
    for k in order:
        op, args, value = program.nodes[k]
        place[k] = len(nodes)
        nodes.append(Node(op, args if op == "input" else tuple([place[a] for a in args]), value))
    return Program(
        name=program.name,
        inputs=program.inputs,
        outputs=program.outputs,
        nodes=tuple(nodes),
        results=tuple(tuple([place[k] for k in row]) for row in program.results),
        labels={place[k]: text for k, text in program.labels.items() if k in place},
    )


def prune(program: Program) -> Program:
    """The program without nodes that no result needs; the others stay as they are, in their order."""
    needed = bytearray(len(program.nodes))
    for row in program.results:
        for k in row:
            needed[k] = 1
    for k in range(len(program.nodes) - 1, -1, -1):
        if needed[k] and program.nodes[k].op != "input":
            for a in program.nodes[k].args:
                needed[a] = 1
    return reorder(program, [k for k in range(len(program.nodes)) if needed[k]])
