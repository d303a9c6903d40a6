"""The derivative of each operation by each of its operands."""

from __future__ import annotations

from typing import Any

from .graph import Expr


def slopes_of(x: Expr, active: Any) -> list[tuple[Expr, Any]]:
    """Operands in ``active`` with the partial derivative of ``x`` by each; an operand may occur twice.

    Args:
        x: the result of an operation that has slopes: not of min, max or select.
        active: the nodes that matter.
    """
    op, args = x.op, x.args
    if op == "add":
        slopes: tuple[Any, ...] = (1, 1)
    elif op == "sub":
        slopes = (1, -1)
    elif op == "mul":
        slopes = (args[1], args[0])
    elif op == "div":
        r = 1 / args[1]
        slopes = (r, -x * r if args[1] in active else 0)
    elif op == "atan2":
        y, along = args
        r = 1 / (along * along + y * y)
        slopes = (along * r, -y * r)
    else:
        a = args[0]
        slopes = (_UNARY[op](x, a),) if a in active else (0,)
    return [(a, slope) for a, slope in zip(args, slopes) if a in active]


_UNARY: dict[str, Any] = {
    "neg": lambda x, a: -1,
    "sqrt": lambda x, a: 1 / (2 * x),
    "sin": lambda x, a: a.cos(),
    "cos": lambda x, a: -a.sin(),
    "tan": lambda x, a: 1 + x * x,
    "exp": lambda x, a: x,
    "log": lambda x, a: 1 / a,
    "abs": lambda x, a: (a < 0).select(-1, 1),
}
