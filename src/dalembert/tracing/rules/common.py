"""What the rules share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    from dalembert.tracing.graph import Graph
    from dalembert.tracing.traced import Expr, Traced


def different_graphs(x: Traced, graph: Graph) -> NoReturn:
    raise ArgumentError(
        f"{x!r} belongs to another graph ({x.graph!r}) than the expression it is combined with ({graph!r}); "
        "trace both in one function, or use inline() to call one program inside another"
    )


def finite(value: float) -> bool:
    return value - value == 0


def fold(graph: Graph, value: float, op: str, args: tuple[Expr, ...]) -> Expr:
    """The constant ``value``; if it is infinite or NaN though the operands are not, the operation as it
    stands."""
    if finite(value) or not op or not all(finite(a.value) for a in args):
        return graph.constant(value)
    return graph.node(op, args)
