"""From the arguments of a command to a mechanism."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dalembert.cli.options import by_name
from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    from dalembert.model.mechanism import Mechanism


def source_of(name: str) -> Path | None:
    """The file behind the MODEL argument, if there is one: a path as it is, a robot's name looked up."""
    from dalembert.formats import catalogue

    if name.lstrip().startswith("<"):
        return None
    return {**catalogue.example_robot_data(), **catalogue.packaged()}.get(name, Path(name))


def open_model(options: argparse.Namespace, numeric: bool = False) -> Mechanism:
    """The mechanism that the arguments of :func:`~dalembert.cli.options.add_model` describe.

    Args:
        options: the parsed arguments.
        numeric: give symbols the default values of the file; an error if one has none.
    """
    from dalembert.formats import load
    from dalembert.formats.registry import format_of
    from dalembert.model.operations import with_base
    from dalembert.model.parameters import substitute

    source = source_of(options.model)
    format = format_of(source) if source else None
    values = by_name(options.values, "--set")
    based = format is not None and "base" in format.options
    symbolic = format is not None and bool(format.defaults)
    declared = format.default_values(source) if symbolic and source and format else {}
    if symbolic and numeric:
        if not declared:
            _expect_values(load(options.model), values)
        mechanism = load(options.model, parameters=values)
        values = {}
    else:
        mechanism = load(options.model, **({"base": options.base} if options.base and based else {}))
        if others := _in_formulas(mechanism, values, declared):
            mechanism = load(options.model, defaults=others)
            values = {name: x for name, x in values.items() if name not in others}
    if options.base and not based:
        mechanism = with_base(mechanism, options.base)
    if values:
        mechanism = substitute(mechanism, values)
    if numeric:
        _expect_values(mechanism, {})
    return mechanism


def _in_formulas(mechanism: Mechanism, values: Mapping[str, float], declared: Mapping[str, float]) -> dict[str, float]:
    """Values of parameters that are no symbols of the mechanism: only formulas of constraints and forces have them."""
    known = {symbol.name for symbol in mechanism.symbols}
    return {name: x for name, x in values.items() if name in declared and name not in known}


def _expect_values(mechanism: Mechanism, values: Mapping[str, float]) -> None:
    names = [symbol.name for symbol in mechanism.symbols if symbol.name not in values]
    if names:
        raise ArgumentError(
            f"{mechanism.name!r} has symbols without a value: {', '.join(names)}; "
            f"give them one, for example --set {names[0]}=1"
        )
