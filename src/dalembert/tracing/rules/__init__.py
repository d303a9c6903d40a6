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

All functions take expressions (predicates where they say so) of one graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.tracing.rules.arithmetic import add, div, mul, neg, sub
from dalembert.tracing.rules.choice import both, either, eq, le, lt, opposite, select
from dalembert.tracing.rules.common import different_graphs
from dalembert.tracing.rules.composed import acos, acosh, asin, asinh, atanh, cosh, sinh, tanh
from dalembert.tracing.rules.functions import absolute, atan2, cos, exp, log, maximum, minimum, power, sin, sqrt, tan

__all__ = [
    "RULES", "absolute", "acos", "acosh", "add", "asin", "asinh", "atan2", "atanh", "both", "cos", "cosh",
    "different_graphs", "div", "either", "eq", "exp", "le", "log", "lt", "maximum", "minimum", "mul", "neg", "opposite",
    "power", "select", "sin", "sinh", "sqrt", "sub", "tan", "tanh",
]  # fmt: skip

RULES: dict[str, Callable[..., Any]] = {
    "neg": neg, "add": add, "sub": sub, "mul": mul, "div": div,
    "sqrt": sqrt, "sin": sin, "cos": cos, "tan": tan, "exp": exp, "log": log, "atan2": atan2, "abs": absolute,
    "min": minimum, "max": maximum,
    "lt": lt, "le": le, "eq": eq, "and": both, "or": either, "not": opposite, "select": select,
}  # fmt: skip
"""The rule that makes each operation of a program."""
