"""Formulas of the user's own in a TOML description: laws on coordinates and time, forces, fields."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from dalembert.errors import FormatError
from dalembert.formats.expression import constants, evaluate_exact, is_name, names
from dalembert.formats.problems import together
from dalembert.formats.toml_tables import Document, Table, plain_number
from dalembert.model.defaults import listed
from dalembert.model.formula import Formula
from dalembert.model.mechanism import Mechanism
from dalembert.text.suggest import hint

TIME_AND_PLACE = ("t", "x", "y", "z")
"""What the formulas of a field may contain beside parameters."""

OF_TIME = ("motion", "joint-force")
"""Kinds of constraints and forces whose formulas may contain time only."""


def formulas(table: Table, key: str) -> Formula | None:
    """One formula, or an array of them, with the values of parameters that have one; None if there is none.

    Args:
        table: of a constraint or a force.
        key: where it stands.
    """
    value = table.data.get(key)
    if value is None:
        return None
    if value == []:
        raise table.error(f"{key!r} is empty; give an expression in quotes, or an array of them")
    try:
        parts = value if isinstance(value, list) else [value]
        field = table.data.get("kind") == "gravity-field"
        coordinates = {*TIME_AND_PLACE} if field else table.document.coordinates
        found = together(partial(_formula, table.document, coordinates, x) for x in parts)
    except FormatError as error:
        raise table.error(f"{key}: {error.message}") from None
    formula = Formula(found)
    if (kind := table.data.get("kind")) in OF_TIME:
        for name in sorted({symbol.name for symbol in formula.symbols} & (table.document.coordinates - {"t"})):
            raise table.error(f"{key}: {name!r} is a coordinate, and a {kind} is given by time t alone")
    return _with_values(formula, table.document.values or {})


def _formula(document: Document, coordinates: set[str], value: Any) -> Any:
    """A number, or a SymPy expression of coordinates, time among them, and parameters."""
    if not isinstance(value, str):
        return plain_number(value)
    for name in sorted(constants(value) & coordinates):
        raise FormatError(f"{name!r} is the number 3.14159... and a joint as well; rename the joint")
    used = names(value) - coordinates
    document.used |= used
    declared = document.declared
    for name in sorted(used - set(declared)) if declared is not None else ():
        near = hint(name, sorted(filter(is_name, coordinates | set(declared or ()))))
        place = "a coordinate" if coordinates is document.coordinates else "t, x, y, z"
        raise FormatError(f"{name!r} is neither {place} nor among the [parameters]{near}")
    for name in sorted(names(value) & coordinates & set(declared or document.values or ())):
        raise FormatError(f"{name!r} is a coordinate and a parameter as well; rename the parameter")
    return evaluate_exact(value, document.positive)


def settled(mechanism: Mechanism, document: Document) -> Mechanism:
    """With values in the place of parameters that occur in formulas only, since no kernel has an input for them.

    Args:
        mechanism: as the file describes it.
        document: the file.
    """
    own = {symbol.name for symbol in mechanism.symbols}
    items: tuple[Any, ...] = (*mechanism.constraints, *mechanism.forces)
    named = {symbol.name for item in items if isinstance(item.function, Formula) for symbol in item.function.symbols}
    values = {name: x for name, x in (document.declared or {}).items() if name in named - own}
    if not values:
        return mechanism

    def settle(item: Any) -> Any:
        formula = item.function
        return item.replace(function=_with_values(formula, values)) if isinstance(formula, Formula) else item

    return mechanism.replace(
        constraints=tuple(map(settle, mechanism.constraints)),
        forces=tuple(map(settle, mechanism.forces)),
        notes=(*mechanism.notes, f"in formulas only, and therefore numbers: {listed(values)}"),
    )


def _with_values(formula: Formula, values: Mapping[str, float]) -> Formula:
    """With numbers in the place of symbols: as the fractions that their decimals are, so that they can be written."""
    known = {symbol.name for symbol in formula.symbols} & set(values)
    if not known:
        return formula
    import sympy

    return formula.substituted({name: sympy.Rational(repr(float(values[name]))) for name in known})
