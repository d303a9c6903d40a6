"""Which nodes derivatives go through, and what they cost one way and the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.tracing.cost import WEIGHTS
from dalembert.tracing.program import PREDICATES


def ancestors(results: Sequence[Any], variables: Sequence[Any]) -> list[Any]:
    """Nodes that results need and that depend on a variable, operands first; variables are not looked into.

    Args:
        results: nodes of a graph.
        variables: nodes of the same graph, held independent of each other.
    """
    independent, seen = set(variables), set()
    stack = list(results)
    while stack:
        x = stack.pop()
        if x not in seen:
            seen.add(x)
            if x not in independent and x.op not in ("input", "const") and x.op not in PREDICATES:
                stack.extend(x.args[1:] if x.op == "select" else x.args)
    depends = set(independent)
    order = []
    for x in sorted(seen, key=lambda node: node.index):
        if x in independent:
            order.append(x)
        elif x.op not in ("input", "const") and any(a in depends for a in x.args):
            depends.add(x)
            order.append(x)
    return order


def estimates(results: Sequence[Any], variables: Sequence[Any]) -> tuple[int, int]:
    """Rough number of operations of the forward and of the reverse mode, from which node meets which column or row.

    Args:
        results: nodes of a graph, to differentiate.
        variables: nodes of the same graph, to differentiate by.
    """
    order = ancestors(results, variables)
    reach = {x: 1 << k for k, x in enumerate(variables)}
    for x in order:
        if x not in reach:
            reach[x] = 0
            for a in x.args:
                reach[x] |= reach.get(a, 0)
    feeds: dict[Any, int] = {}
    for k, x in enumerate(results):
        feeds[x] = feeds.get(x, 0) | 1 << k
    independent = set(variables)
    ahead = back = 0
    for x in reversed(order):
        if x in independent:
            continue
        active = [a for a in x.args if a in reach]
        products = len(active) if x.op not in ("add", "sub", "neg") else 0
        ahead += (products + len(active) - 1) * reach[x].bit_count()
        back += (products + len(active) - 1) * feeds.get(x, 0).bit_count()
        for a in active:
            feeds[a] = feeds.get(a, 0) | feeds.get(x, 0)
    return ahead, back


def price(results: Sequence[Any]) -> int:
    """Operations of all that results need, weighted.

    Args:
        results: nodes of a graph.
    """
    seen, stack, total = set(), list(results), 0
    while stack:
        x = stack.pop()
        if x not in seen and x.op not in ("input", "const"):
            seen.add(x)
            total += WEIGHTS[x.op]
            stack.extend(x.args)
    return total
