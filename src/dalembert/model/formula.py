"""What a user writes down: a Python function over scalars, or SymPy expressions of the coordinates."""

from __future__ import annotations

from typing import Any

from dalembert.algebra import scalar
from dalembert.errors import ModelError


class Formula:
    """SymPy expressions of positions, velocities and time, kept as one opaque value.

    The symbols in it are coordinates, not parameters of a mechanism: they do not count among its symbols. What each is
    called says :func:`dalembert.constraints.coordinate_symbols`.

    Args:
        expressions: one expression, or a sequence of them.
    """

    __slots__ = ("expressions",)

    def __init__(self, expressions: Any):
        self.expressions = tuple(expressions) if isinstance(expressions, (list, tuple)) else (expressions,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and self.expressions == other.expressions

    def __hash__(self) -> int:
        return hash(self.expressions)

    def __reduce__(self) -> tuple[Any, ...]:
        return Formula, (self.expressions,)

    def __repr__(self) -> str:
        return f"Formula({', '.join(map(str, self.expressions))})"


def as_function(value: Any, what: str) -> Any:
    """A callable, a Formula made of SymPy expressions, or None; anything else is a ModelError that names ``what``.

    Args:
        value: what the user gave.
        what: for the message.
    """
    if value is None or callable(value) or isinstance(value, Formula):
        return value
    entries = value if isinstance(value, (list, tuple)) else [value]
    if hasattr(value, "tolist") and hasattr(value, "shape"):  # a SymPy Matrix or an array
        entries = list(value)
    if entries and all(scalar.is_sympy(x) or scalar.is_number(x) for x in entries):
        return Formula(entries)
    raise ModelError(f"{what}: expected a function of scalars or SymPy expressions, got {value!r}")
