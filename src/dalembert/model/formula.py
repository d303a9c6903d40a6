"""What a user writes down: a Python function over scalars, or SymPy expressions of the coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.algebra import scalar
from dalembert.errors import ModelError


class Formula:
    """SymPy expressions of positions, velocities and time, kept as one opaque value.

    The symbols in it are coordinates - what each is called says :func:`dalembert.constraints.coordinate_symbols` - and
    symbols of the mechanism, recognised by their names. Any that is no coordinate counts among the latter.

    Args:
        expressions: one expression, or a sequence of them.
    """

    __slots__ = ("expressions",)

    def __init__(self, expressions: Any):
        self.expressions = tuple(expressions) if isinstance(expressions, (list, tuple)) else (expressions,)
        for x in self.expressions:
            if not (scalar.is_sympy(x) or scalar.is_number(x)):
                raise ModelError(f"a formula: expected a number or a SymPy expression, got {x!r}")
            if scalar.is_sympy(x) and (x.is_Relational or x.is_Boolean):
                raise ModelError(
                    f"a formula must be an expression, not the statement {x}; a constraint is what vanishes"
                )

    @property
    def symbols(self) -> set[Any]:
        """Every symbol that occurs."""
        return {symbol for x in self.expressions if scalar.is_sympy(x) for symbol in x.free_symbols}

    def substituted(self, values: Mapping[str, Any]) -> Formula:
        """With expressions in the place of the symbols of those names."""
        mapping = {symbol: values[symbol.name] for symbol in self.symbols if symbol.name in values}
        if not mapping:
            return self
        return Formula([x.subs(mapping, simultaneous=True) if scalar.is_sympy(x) else x for x in self.expressions])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Formula) and self.expressions == other.expressions

    def __hash__(self) -> int:
        return hash(self.expressions)

    def __reduce__(self) -> tuple[Any, ...]:
        return Formula, (self.expressions,)

    def __repr__(self) -> str:
        return f"Formula({', '.join(map(str, self.expressions))})"


def as_function(value: Any, what: str) -> Any:
    """A callable, a Formula made of SymPy expressions, or None; anything else is a ModelError that names ``what``."""
    if value is None or callable(value) or isinstance(value, Formula):
        return value
    entries = value if isinstance(value, (list, tuple)) else [value]
    if hasattr(value, "tolist") and hasattr(value, "shape"):  # a SymPy Matrix or an array
        entries = list(value)
    if entries and all(scalar.is_sympy(x) or scalar.is_number(x) for x in entries):
        return Formula(entries)
    raise ModelError(f"{what}: expected a function of scalars or SymPy expressions, got {value!r}")
