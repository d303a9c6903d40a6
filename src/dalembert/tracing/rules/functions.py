"""Powers, elementary functions, the smaller and the larger of two."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from dalembert.tracing.rules.arithmetic import div, mul, neg
from dalembert.tracing.rules.common import different_graphs, finite, fold

if TYPE_CHECKING:
    from dalembert.tracing.traced import Expr


def power(a: Expr, b: Expr) -> Expr:
    """a ** b: products for an integer b, a square root for a half, otherwise exp(b log a)."""
    graph = a.graph
    if b.graph is not graph:
        different_graphs(b, graph)
    if b.op != "const":
        return exp(mul(b, log(a)))
    exponent = b.value
    if a.op == "const":
        try:
            return fold(graph, math.pow(a.value, exponent), "", ())
        except (ValueError, OverflowError):
            pass
    if exponent < 0:
        return div(graph.constant(1), power(a, graph.constant(-exponent)))
    if not finite(exponent) or 2 * exponent % 1:
        return exp(mul(b, log(a)))
    whole = int(exponent)
    result = graph.constant(1)
    square = a
    half = whole != exponent
    while whole:
        if whole & 1:
            result = mul(result, square)
        whole >>= 1
        if whole:
            square = mul(square, square)
    return mul(result, sqrt(a)) if half else result


def sqrt(a: Expr) -> Expr:
    """Square root."""
    return _unary("sqrt", math.sqrt, a)


def exp(a: Expr) -> Expr:
    """Exponential function."""
    return _unary("exp", math.exp, a)


def log(a: Expr) -> Expr:
    """Natural logarithm."""
    return _unary("log", math.log, a)


def sin(a: Expr) -> Expr:
    """Sine, odd."""
    return neg(sin(a.args[0])) if a.op == "neg" else _unary("sin", math.sin, a)


def cos(a: Expr) -> Expr:
    """Cosine, even."""
    return cos(a.args[0]) if a.op == "neg" else _unary("cos", math.cos, a)


def tan(a: Expr) -> Expr:
    """Tangent, odd."""
    return neg(tan(a.args[0])) if a.op == "neg" else _unary("tan", math.tan, a)


def absolute(a: Expr) -> Expr:
    """Absolute value."""
    if a.op == "neg":
        return absolute(a.args[0])
    return a if a.op in ("abs", "sqrt", "exp") else _unary("abs", abs, a)


def atan2(y: Expr, x: Expr) -> Expr:
    """Angle of the point (x, y); odd in y."""
    if x.graph is not y.graph:
        different_graphs(x, y.graph)
    if y.op == "const" and x.op == "const":
        return fold(y.graph, math.atan2(y.value, x.value), "atan2", (y, x))
    if y.op == "neg":
        return neg(atan2(y.args[0], x))
    return y.graph.node("atan2", (y, x))


def minimum(a: Expr, b: Expr) -> Expr:
    """The smaller of two."""
    return _extremum("min", min, a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    """The larger of two."""
    return _extremum("max", max, a, b)


def _unary(op: str, function: Callable[[float], float], a: Expr) -> Expr:
    if a.op == "const":
        try:
            return fold(a.graph, function(a.value), op, (a,))
        except (
            ValueError,
            OverflowError,
        ):  # outside the domain: happens, as IEEE has it, when the program runs
            pass
    return a.graph.node(op, (a,))


def _extremum(op: str, function: Callable[[float, float], float], a: Expr, b: Expr) -> Expr:
    graph = a.graph
    if b.graph is not graph:
        different_graphs(b, graph)
    if a is b:
        return a
    if a.op == "const" and b.op == "const" and a.value == a.value and b.value == b.value:
        return graph.constant(function(a.value, b.value))
    return graph.node(op, (a, b) if a.index < b.index else (b, a))
