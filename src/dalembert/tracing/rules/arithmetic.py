"""Sums, differences, products and quotients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.tracing.rules.common import different_graphs, fold

if TYPE_CHECKING:
    from dalembert.tracing.traced import Expr

_SMALL, _LARGE = 1e-290, 1e290
"""Products and quotients of constants are combined inside this range, where neither overflow nor underflow is
near."""


def add(a: Expr, b: Expr) -> Expr:
    """a + b"""
    graph = a.graph
    if b.graph is not graph:
        different_graphs(b, graph)
    if a.op == "const":
        if b.op == "const":
            return fold(graph, a.value + b.value, "add", (a, b))
        a, b = b, a
    if b.op == "const":
        if b.value == 0:
            return a
        if b.value < 0:
            return sub(a, graph.constant(-b.value))
        if a.op == "neg":  # c - x
            return sub(b, a.args[0])
        return graph.node("add", (a, b))
    if a.op == "neg":
        if b.op == "neg":
            return neg(add(a.args[0], b.args[0]))
        return sub(b, a.args[0])
    if b.op == "neg":
        return sub(a, b.args[0])
    if a is b:
        return mul(graph.constant(2), a)
    return graph.node("add", (a, b) if a.index < b.index else (b, a))


def sub(a: Expr, b: Expr) -> Expr:
    """a - b"""
    graph = a.graph
    if b.graph is not graph:
        different_graphs(b, graph)
    if a is b:
        return graph.constant(0)
    if b.op == "const":
        if a.op == "const":
            return fold(graph, a.value - b.value, "sub", (a, b))
        if b.value == 0:
            return a
        if b.value < 0:
            return add(a, graph.constant(-b.value))
    elif a.op == "const":
        if a.value == 0:
            return neg(b)
        if a.value < 0:
            return neg(add(b, graph.constant(-a.value)))
    if a.op == "neg":
        if b.op == "neg":
            return sub(b.args[0], a.args[0])
        return neg(add(a.args[0], b))
    if b.op == "neg":
        return add(a, b.args[0])
    opposite = graph.find("sub", (b, a))
    return graph.node("sub", (a, b)) if opposite is None else neg(opposite)


def neg(a: Expr) -> Expr:
    """-a"""
    if a.op == "neg":
        return a.args[0]
    if a.op == "const":
        return a.graph.constant(-a.value)
    return a.graph.node("neg", (a,))


def mul(a: Expr, b: Expr) -> Expr:
    """a * b"""
    graph = a.graph
    if b.graph is not graph:
        different_graphs(b, graph)
    if b.op == "const":
        if a.op == "const":
            return fold(graph, a.value * b.value, "mul", (a, b))
        a, b = b, a
    if a.op == "const":
        value = a.value
        if value == 0:
            return a
        if value == 1:
            return b
        if value < 0:
            return neg(mul(graph.constant(-value), b))
        if b.op == "neg":
            return neg(mul(a, b.args[0]))
        if (b.op == "mul" or b.op == "div") and b.args[0].op == "const":
            product = value * b.args[0].value
            if _SMALL < product < _LARGE:
                return (mul if b.op == "mul" else div)(graph.constant(product), b.args[1])
        return graph.node("mul", (a, b))
    if a.op == "neg":
        if b.op == "neg":
            return mul(a.args[0], b.args[0])
        return neg(mul(a.args[0], b))
    if b.op == "neg":
        return neg(mul(a, b.args[0]))
    return graph.node("mul", (a, b) if a.index <= b.index else (b, a))


def div(a: Expr, b: Expr) -> Expr:
    """a / b"""
    graph = a.graph
    if b.graph is not graph:
        different_graphs(b, graph)
    if b.op == "const":
        if b.value == 0:
            return graph.node("div", (a, b))
        if a.op == "const":
            return fold(graph, a.value / b.value, "div", (a, b))
        reciprocal = 1 / b.value
        return mul(graph.constant(reciprocal), a) if _SMALL < abs(reciprocal) < _LARGE else graph.node("div", (a, b))
    if a is b:
        return graph.constant(1)
    if a.op == "neg":
        return div(a.args[0], b.args[0]) if b.op == "neg" else neg(div(a.args[0], b))
    if b.op == "neg":
        return neg(div(a, b.args[0]))
    if a.op == "const":
        if a.value == 0:
            return a
        if a.value < 0:
            return neg(div(graph.constant(-a.value), b))
        if b.op == "mul" and b.args[0].op == "const":
            quotient = a.value / b.args[0].value
            if _SMALL < quotient < _LARGE:
                return div(graph.constant(quotient), b.args[1])
    return graph.node("div", (a, b))
