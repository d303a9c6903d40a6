"""Fewer divisions: one costs about ten multiplications.

(a / b) / c           a / (b c)                       where a / b is used nowhere else
a / (b / c)           (a c) / b                       where b / c is used nowhere else
x / d, y / d          x r, y r with r = 1 / d         two or more divisions by the same d
x (1 / d)             x / d                           where 1 / d is used nowhere else
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from dalembert.tracing.cost import count_uses
from dalembert.tracing.graph import Graph
from dalembert.tracing.passes.rebuild import rewrite
from dalembert.tracing.program import Program


def reduce_strength(program: Program) -> Program:
    """A program with fewer divisions; results change by a few roundings."""
    if not any(node.op == "div" for node in program.nodes):
        return program
    return _share_reciprocals(_merge_quotients(program))


def _merge_quotients(program: Program) -> Program:
    nodes, uses = program.nodes, count_uses(program)

    def is_quotient(k: int) -> bool:
        return nodes[k].op == "div" and uses[k] == 1

    def special(graph: Graph, k: int, values: list[Any]) -> Any:
        op, args, _ = nodes[k]
        if op == "div" and is_quotient(args[0]):
            a, b = nodes[args[0]].args
            return values[a] / (values[b] * values[args[1]])
        if op == "div" and is_quotient(args[1]):
            b, c = nodes[args[1]].args
            return (values[args[0]] * values[c]) / values[b]
        return None

    return rewrite(program, special)


def _share_reciprocals(program: Program) -> Program:
    nodes, uses = program.nodes, count_uses(program)
    times = Counter(args[1] for op, args, _ in nodes if op == "div" and nodes[args[1]].op != "const")

    def is_lone_reciprocal(k: int) -> bool:
        op, args, _ = nodes[k]
        return op == "div" and uses[k] == 1 and times[args[1]] == 1 and nodes[args[0]] == ("const", (), 1.0)

    def special(graph: Graph, k: int, values: list[Any]) -> Any:
        op, args, _ = nodes[k]
        if op == "div" and times[args[1]] > 1:
            return values[args[0]] * (1 / values[args[1]])
        if op == "mul" and is_lone_reciprocal(args[1]):
            return values[args[0]] / values[nodes[args[1]].args[1]]
        if op == "mul" and is_lone_reciprocal(args[0]):
            return values[args[1]] / values[nodes[args[0]].args[1]]
        return None

    return rewrite(program, special)
