"""Rules applied when a node is made: fold constants, drop 0 and 1, push signs outward, order operands.

They keep a graph small while it grows. The law they obey: the value of an expression changes by no more than
a few roundings *relative to that value*, where it is finite. What they give up on purpose:

- ``x * 0``, ``x - x`` and ``0 / x`` are 0 and ``x / x`` is 1 even where x is infinite or NaN: a zero in the
  structure of a problem stays a zero.
- The sign of a zero is not kept.
- ``x / c`` with a constant c is ``x * (1 / c)``: one rounding more, much faster.
- ``c * (d * x)`` is ``(c d) * x``.

Folding never makes an infinity or NaN: such an operation stays, and happens when the program runs.

Normal form. A sign stands outside products, quotients and odd functions, where a sum can swallow it: there
are no operands ``-x`` of add, sub, mul, div, sin, cos, tan and abs, and their constants are not negative. Of
``a - b`` and ``b - a`` the one asked for first is made, the other is its negative. Commutative operands are
ordered by age, with a constant first in a product and last in a sum. ``x + x`` is ``2 * x``.

All functions take expressions (predicates where they say so) of one graph, or of a graph and those around it: the step
of a loop may use what is outside, which then becomes an input of the step.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from dalembert.errors import ArgumentError
from dalembert.threefry import draw as drawn

if TYPE_CHECKING:
    from dalembert.tracing.graph import Expr, Graph, Predicate, Traced


def different_graphs(x: Traced, graph: Graph) -> NoReturn:
    raise ArgumentError(
        f"{x!r} belongs to another graph ({x.graph!r}) than the expression it is combined with ({graph!r}); "
        "trace both in one function, or pass the value to the traced function as an input"
    )


def together(*operands: Traced) -> tuple[Any, ...]:
    """Operands of several graphs in the innermost of them; those of graphs around it become inputs of it."""
    inner = operands[0].graph
    for x in operands[1:]:
        if x.graph.is_inside(inner):
            inner = x.graph
    return tuple(inner.capture(x) if x.graph is not inner else x for x in operands)


def finite(value: float) -> bool:
    return value - value == 0


def fold(graph: Graph, value: float, op: str, args: tuple[Expr, ...]) -> Expr:
    """The constant ``value``; if it is infinite or NaN though the operands are not, the operation as it
    stands."""
    if finite(value) or not op or not all(finite(a.value) for a in args):
        return graph.constant(value)
    return graph.node(op, args)


# ---------------------------------------------------------------------------- sums, differences, products and quotients


_SMALL, _LARGE = 1e-290, 1e290
"""Products and quotients of constants are combined inside this range, where neither overflow nor underflow is
near."""


def add(a: Expr, b: Expr) -> Expr:
    """a + b"""
    graph = a.graph
    if b.graph is not graph:
        return add(*together(a, b))
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
        return sub(*together(a, b))
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
        return mul(*together(a, b))
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
        return div(*together(a, b))
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


# ------------------------------------------------------------------------------------------------- powers and functions


def power(a: Expr, b: Expr) -> Expr:
    """a ** b: products for an integer b, a square root for a half, otherwise exp(b log a), as C has it: 0 ** 0 is 1."""
    graph = a.graph
    if b.graph is not graph:
        return power(*together(a, b))
    if b.op != "const":
        return _open_power(a, b)
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


WHOLE = 1e-5
"""How near to a whole number an exponent counts as one, where a program computes it and the base is negative."""


def _open_power(a: Expr, b: Expr) -> Expr:
    """a ** b with an exponent that is known only when the program runs."""
    graph = a.graph
    zero, one = graph.constant(0), graph.constant(1)
    size = exp(mul(b, log(absolute(a))))
    if a.op == "const" and a.value > 0:
        return size
    turn = mul(graph.constant(math.pi), b)
    odd, whole = lt(cos(turn), zero), lt(absolute(sin(turn)), graph.constant(math.pi * WHOLE))
    below = select(whole, select(odd, neg(size), size), sqrt(a))  # the root is NaN, as is the power
    return select(eq(b, zero), one, select(lt(a, zero), below, size))


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
        return atan2(*together(y, x))
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
        return _extremum(op, function, *together(a, b))
    if a is b:
        return a
    if a.op == "const" and b.op == "const" and a.value == a.value and b.value == b.value:
        return graph.constant(function(a.value, b.value))
    return graph.node(op, (a, b) if a.index < b.index else (b, a))


# ---------------------------------------------------------------------------------------------- comparisons and choices


def lt(a: Expr, b: Expr) -> Predicate:
    """a < b"""
    return _compare("lt", a, b, a.value < b.value, same=False)


def le(a: Expr, b: Expr) -> Predicate:
    """a <= b"""
    return _compare("le", a, b, a.value <= b.value, same=True)


def eq(a: Expr, b: Expr) -> Predicate:
    """a == b"""
    if b.index < a.index:
        a, b = b, a
    return _compare("eq", a, b, a.value == b.value, same=True)


def both(a: Predicate, b: Predicate) -> Predicate:
    """Predicates: a and b."""
    return _connect("and", a, b, neutral=True)


def either(a: Predicate, b: Predicate) -> Predicate:
    """Predicates: a or b."""
    return _connect("or", a, b, neutral=False)


def opposite(a: Predicate) -> Predicate:
    """Predicate: not a. (``not (a < b)`` is not ``b <= a``: both fail for NaN.)"""
    if a.op == "const":
        return a.graph.truth(not a.value)
    return a.args[0] if a.op == "not" else a.graph.predicate("not", (a,))


def select(condition: Predicate, yes: Expr, no: Expr) -> Expr:
    """``yes`` where the predicate holds, else ``no``."""
    graph = condition.graph
    if yes.graph is not graph or no.graph is not graph:
        return select(*together(condition, yes, no))
    if condition.op == "const":
        return yes if condition.value else no
    if yes is no:
        return yes
    if condition.op == "not":
        condition, yes, no = condition.args[0], no, yes
    if yes.op == "neg" and no.op == "neg":
        return neg(select(condition, yes.args[0], no.args[0]))
    return graph.node("select", (condition, yes, no))


def _compare(op: str, a: Expr, b: Expr, known: bool, same: bool) -> Predicate:
    graph = a.graph
    if b.graph is not graph:
        a, b = together(a, b)
        return _compare(op, a, b, known, same)
    if a.op == "const" and b.op == "const":
        return graph.truth(known)
    return graph.truth(same) if a is b else graph.predicate(op, (a, b))


def _connect(op: str, a: Predicate, b: Predicate, neutral: bool) -> Predicate:
    graph = a.graph
    if b.graph is not graph:
        a, b = together(a, b)
        return _connect(op, a, b, neutral)
    if a.op == "const":
        a, b = b, a
    if b.op == "const":
        return a if bool(b.value) is neutral else b
    if a is b:
        return a
    return graph.predicate(op, (a, b) if a.index < b.index else (b, a))


# ----------------------------------------------------------------------------------------- functions composed of others


SATURATED = 80
"""Beyond, ``1 / (exp(x) + 1)`` is nothing beside one, while exp(x) is still a number in single precision too."""


def sinh(a: Expr) -> Expr:
    """Hyperbolic sine."""
    return (a.exp() - (-a).exp()) / 2


def cosh(a: Expr) -> Expr:
    """Hyperbolic cosine."""
    return (a.exp() + (-a).exp()) / 2


def tanh(a: Expr) -> Expr:
    """Hyperbolic tangent: one where exponentials overflow, with the slope zero."""
    return 1 - 2 / ((2 * a).minimum(SATURATED).exp() + 1)


def asin(a: Expr) -> Expr:
    """Angle between -pi/2 and pi/2 with this sine; ``1 - a * a`` would lose digits near the ends."""
    return a.atan2(((1 - a) * (1 + a)).sqrt())


def acos(a: Expr) -> Expr:
    """Angle between 0 and pi with this cosine."""
    return ((1 - a) * (1 + a)).sqrt().atan2(a)


def asinh(a: Expr) -> Expr:
    """Inverse of sinh, odd: on either side the logarithm of a sum that does not cancel."""
    root = (a * a + 1).sqrt()
    return (a < 0).select(-(root - a).log(), (root + a).log())


def acosh(a: Expr) -> Expr:
    """Inverse of cosh for numbers from one on; NaN below, also where ``(a - 1) * (a + 1)`` would be positive."""
    return (a + (a - 1).sqrt() * (a + 1).sqrt()).log()


def atanh(a: Expr) -> Expr:
    """Inverse of tanh between -1 and 1; NaN outside."""
    return ((1 + a) / (1 - a)).log() / 2


# --------------------------------------------------------------------------------------------------------------- arrays


def read(array: Any, index: Any) -> Any:
    """The element of an array at an index; known if the index is, and the array was not emitted by a loop."""
    graph = index.graph
    if isinstance(array, list):
        array = graph.memory([graph.lift(x) for x in array])
    if index.op != "const":
        return graph.node("read", (array, index))
    place = nearest(index.value, array.size)
    if array.op == "table":
        return graph.node("input", (int(array.value), place))
    if array.op == "pack":
        return array.args[place]
    if array.op == "data":
        return graph.constant(struct.unpack_from("<d", graph.tables[int(array.value)], 8 * place)[0])
    if array.op == "write" and array.args[1].op == "const":
        before, changed, number = array.args
        return number if nearest(changed.value, array.size) == place else read(before, index)
    return graph.item(array, place)


def write(array: Any, index: Any, number: Any) -> Any:
    """An array with another number at an index."""
    graph = index.graph
    if isinstance(array, list):
        array = graph.memory([graph.lift(x) for x in array])
    return graph.written(array, index, graph.lift(number))


def draw(*operands: Any) -> Any:
    """The array of :func:`dalembert.threefry.draw`."""
    operands = together(*operands)
    graph = operands[0].graph
    if all(x.op == "const" for x in operands):
        *words, limit = (x.value for x in operands)
        return graph.data(drawn(words, limit))
    return graph.drawn(operands)


def nearest(index: float, size: int) -> int:
    """The place in an array for an index that may be beyond its ends, or NaN."""
    return int(min(index, size - 1)) if index > 0 else 0


# ------------------------------------------------------------------------------------------------------------ all rules


RULES: dict[str, Callable[..., Any]] = {
    "neg": neg, "add": add, "sub": sub, "mul": mul, "div": div,
    "sqrt": sqrt, "sin": sin, "cos": cos, "tan": tan, "exp": exp, "log": log, "atan2": atan2, "abs": absolute,
    "min": minimum, "max": maximum,
    "lt": lt, "le": le, "eq": eq, "and": both, "or": either, "not": opposite, "select": select,
    "read": read, "write": write, "draw": draw,
}  # fmt: skip
"""The rule that makes each operation of a program."""
