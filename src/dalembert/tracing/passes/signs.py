"""Absorb changes of sign into the operation before them. The last pass: it leaves the normal form of ``rules``.

    -(a - b)  =  b - a        -(x + c)  =  (-c) - x        -(c x)  =  (-c) x        -(c / x)  =  (-c) / x

each where the operation is used nowhere else and c is a number. No result changes by a single bit, except that
zeros may change their sign.
"""

from __future__ import annotations

from dalembert.tracing.cost import count_uses
from dalembert.tracing.passes.order import prune
from dalembert.tracing.program import Node, Program


def absorb_signs(program: Program) -> Program:
    """A program with fewer changes of sign."""
    uses = count_uses(program)
    nodes: list[Node] = []
    place: list[int] = []  # where the value of an old node is found
    constants: dict[float, int] = {}
    old = program.nodes

    def append(node: Node) -> int:
        nodes.append(node)
        return len(nodes) - 1

    def negative(k: int) -> int:
        value = -old[k].value
        if value not in constants:
            constants[value] = append(Node("const", (), value))
        return constants[value]

    for op, args, value in old:
        if op == "neg" and uses[args[0]] == 1:
            inner, below = old[args[0]].op, old[args[0]].args
            if inner == "sub":
                place.append(append(Node("sub", (place[below[1]], place[below[0]]))))
                continue
            if inner == "add" and old[below[1]].op == "const":
                place.append(append(Node("sub", (negative(below[1]), place[below[0]]))))
                continue
            if inner in ("mul", "div") and old[below[0]].op == "const":
                place.append(append(Node(inner, (negative(below[0]), place[below[1]]))))
                continue
        place.append(append(Node(op, args if op == "input" else tuple([place[a] for a in args]), value)))
        if op == "const":
            constants.setdefault(value, place[-1])
    return prune(
        Program(
            name=program.name,
            inputs=program.inputs,
            outputs=program.outputs,
            nodes=tuple(nodes),
            results=tuple(tuple([place[k] for k in row]) for row in program.results),
            labels={place[k]: text for k, text in program.labels.items()},
        )
    )
