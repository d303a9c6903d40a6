"""The derivative of each operation by each of its operands.

A power with an exponent p that is not whole is no operation of its own but made of several. Taken one by one they give
0 times infinity for a base of zero, so a power is recognised and has the slope p x^(p - 1).
"""

from __future__ import annotations

from typing import Any

from dalembert.tracing.graph import Expr


def slopes_of(x: Expr, active: Any, independent: Any) -> list[tuple[Expr, Any]]:
    """Operands in ``active`` with the partial derivative of ``x`` by each; an operand may occur twice.

    Args:
        x: the result of an operation that has slopes: not of min, max or select.
        active: the nodes that matter.
        independent: those of them that count as independent of all others.
    """
    op, args = x.op, x.args
    power = _power(x)
    if power is not None and not independent.intersection(power[2]):
        base, exponent, _ = power
        return [(base, exponent * base ** (exponent - 1))] if base in active else []
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


def _power(x: Expr) -> tuple[Expr, float, list[Expr]] | None:
    """Base and exponent of a power whose exponent is not whole, and the operations in between; None for all else."""
    if x.op == "exp":  # exp(p log a)
        (product,) = x.args
        if product.op == "mul" and product.args[0].op == "const" and product.args[1].op == "log":
            return product.args[1].args[0], product.args[0].value, [product, product.args[1]]
    elif x.op == "mul":  # sqrt(a) a^n
        for root, other in (x.args, x.args[::-1]):
            if root.op == "sqrt":
                whole, between = _whole_power(other, root.args[0])
                if whole:
                    return root.args[0], whole + 0.5, [root, *between]
    return None


def _whole_power(x: Expr, base: Expr) -> tuple[int, list[Expr]]:
    """How often the base is a factor of x, and the products in between; zero if there are other factors."""
    count, stack = 0, [x]
    between: list[Expr] = []
    while stack:
        factor = stack.pop()
        if factor is base:
            count += 1
        elif factor.op == "mul" and len(between) < _LONGEST:
            between.append(factor)
            stack.extend(factor.args)
        else:
            return 0, []
    return count, between


_LONGEST = 128
"""Products with more factors than this are not looked through."""

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
