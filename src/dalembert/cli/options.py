"""Arguments that several commands share, their checks, and what the library's arguments are called here."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dalembert.errors import ArgumentError, FormatError, MissingExtraError, Wording
from dalembert.formats.registry import described
from dalembert.text.suggest import hint

if TYPE_CHECKING:
    from dalembert.model import Mechanism


Value = TypeVar("Value")

PICTURES = (".png", ".svg", ".pdf")
"""Files that pictures can be written to."""


NAMES = {
    "include": "--include", "q0": "--q", "v0": "--v", "q": "--at", "reference": "--q", "method": "--method",
    "to": "--to", "base": "--base", "coordinates": "--coordinates", "rtol": "--rtol", "step": "--step",
    "speeds": "--speed", "actuated": "--actuated", "independent": "--independent",
    "only": "--touch", "friction": "--friction", "restitution": "--restitution", "law": "--law",
    "stiffness": "--contact-stiffness K", "joints": "--joint HERE=THERE", "parameters": "--set NAME=VALUE",
    "time_unit": "--time-unit",
}  # fmt: skip
"""Argument of the library -> the option for it; one with a blank in it is a whole setting."""

REMEDIES = {
    "source": "`dalembert robots` lists all names",
    "gravity": "In Python, {setting} gives it theirs",
    "folder": "put the description into a file beside its meshes",
    "consent": "give --all-meshes if everybody who gets the page may have it",
    "body": "--base is for a mechanism with one root body; in Python, da.with_base names one",
    "parameters": "give numbers to its symbols, for example by --set NAME=VALUE",
    "step": "this method chooses its steps by --rtol",
    "rtol": "this method takes steps of the length --step",
    "partial": "",
    "most": "name what may touch by --touch '*_foot' or --touch ends",
    "shapes": "collision shapes are part of a model: give them in its file, or in Python by da.contacts(shapes=...)",
    "stiffness": "give --contact-stiffness",
}
"""Argument -> what to do about it on the command line, where that is something else than in Python."""


class Options(Wording):
    """Arguments of the library as options of the command line."""

    def argument(self, name: str) -> str:
        return NAMES.get(name, name)

    def setting(self, name: str, value: Any) -> str:
        option = NAMES.get(name)
        if option is None:
            return super().setting(name, value)
        values = value if isinstance(value, (list, tuple)) else [value]
        return option if " " in option or value is None else f"{option} {' '.join(map(str, values))}"

    def remedy(self, name: str, text: str) -> str:
        return REMEDIES.get(name, text) if text else ""


OPTIONS = Options()


def add_model(parser: argparse.ArgumentParser, optional: bool = False) -> None:
    """MODEL and the options that change it while it is loaded.

    Args:
        optional: whether the command can do without a model.
    """
    parser.add_argument(
        "model",
        metavar="MODEL",
        nargs="?" if optional else None,
        help=f"a file of {described()}, or the name of a robot (see `dalembert robots`)",
    )
    group = parser.add_argument_group("the model")
    group.add_argument("--base", choices=("fixed", "free"), help="bolt the root body to the ground, or let it float")
    group.add_argument(
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=assignment,
        dest="values",
        help="give a symbol of the model a value; may be repeated",
    )


def add_quantities(parser: argparse.ArgumentParser, default: str, every: str = "all that need no coordinates") -> None:
    """--quantity and --frame.

    Args:
        default: what is taken if nothing is asked for, for the help.
        every: what ``all`` means, for the help.
    """
    parser.add_argument(
        "--quantity",
        metavar="NAME",
        action="append",
        default=[],
        dest="quantities",
        help=f"a quantity, such as mass_matrix, or {every}; may be repeated; {default}",
    )
    add_frame(parser)


def add_frame(parser: argparse.ArgumentParser) -> None:
    """--frame and --coordinates."""
    parser.add_argument("--frame", metavar="NAME", help="body or frame for pose, jacobian, velocity, ...; the last one")
    parser.add_argument(
        "--coordinates",
        metavar="KIND",
        help="of the frame, for analytic_jacobian, cartesian_dynamics, ...: position, ZYX, ... (default ZYX)",
    )


def chosen_quantities(
    options: argparse.Namespace, usual: Sequence[str], mechanism: Mechanism, *, coordinates: bool = False
) -> dict[str, dict[str, str]]:
    """The quantities asked for, each with the options it needs.

    Args:
        options: the parsed arguments of :func:`add_quantities`.
        usual: what is taken if nothing is asked for.
        mechanism: whose last body is the frame if none is named.
        coordinates: whether ``all`` includes those along coordinates of a frame, which few mechanisms can follow.
    """
    from dalembert.dynamics import ALL_QUANTITIES, QUANTITIES

    every = ALL_QUANTITIES if coordinates else QUANTITIES

    names: dict[str, None] = {}
    for name in options.quantities or usual:
        for one in every if name == "all" else [name]:
            if one not in ALL_QUANTITIES:
                raise ArgumentError(f"there is no quantity {one!r}{hint(one, ALL_QUANTITIES, 'choose one of')}")
            names[one] = None
    frame = options.frame or (mechanism.bodies[-1].name if mechanism.bodies else "world")
    mechanism.frame(frame)
    given = {"frame": frame} | ({"coordinates": options.coordinates} if options.coordinates else {})
    for key in ("frame", "coordinates"):
        if getattr(options, key) and not any(key in ALL_QUANTITIES[name].options for name in names):
            raise ArgumentError(f"--{key} does not matter for {', '.join(names)}; leave it out")
    return {name: {key: value for key, value in given.items() if key in ALL_QUANTITIES[name].options} for name in names}


def output(*suffixes: str, makes_folders: bool = False) -> Callable[[str], str]:
    """A type of argument: the name of a file to write, checked before anything is computed.

    Args:
        suffixes: of which it must end in one.
        makes_folders: whether the command makes folders that are not there.
    """

    def parse(text: str) -> str:
        file = Path(text)
        if file.suffix.lower() not in suffixes:
            raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(suffixes)}")
        folder = file.absolute().parent
        try:
            if not folder.is_dir() and not makes_folders:
                raise argparse.ArgumentTypeError(f"there is no folder {str(file.parent)!r}")
            if file.is_dir():
                raise argparse.ArgumentTypeError(f"{text!r} is a folder")
            while not folder.exists():
                folder = folder.parent
            locked = file if file.exists() and not os.access(file, os.W_OK) else None
            locked = folder if not os.access(folder, os.W_OK) and not file.exists() else locked
        except (OSError, ValueError) as error:
            raise argparse.ArgumentTypeError(f"{text!r} cannot be the name of a file: {error}") from None
        if not folder.is_dir():
            raise argparse.ArgumentTypeError(f"{str(folder)!r} is no folder")
        if locked:
            raise argparse.ArgumentTypeError(f"you may not write to {str(locked)!r}")
        return text

    return parse


def with_extra(
    parse: Callable[[str], str], package: str, extra: str, purpose: str, suffixes: Sequence[str]
) -> Callable[[str], str]:
    """A type of argument like another, which also needs an optional package; asked for before anything is computed."""

    def checked(text: str) -> str:
        file = parse(text)
        if Path(file).suffix.lower() in suffixes and find_spec(package) is None:
            raise argparse.ArgumentTypeError(str(MissingExtraError(package, extra, purpose)))
        return file

    return checked


picture = output(*PICTURES)
"""The name of a picture to write."""

plot = with_extra(picture, "matplotlib", "plot", "a picture", PICTURES)
"""The name of a picture to write that matplotlib draws."""

page = output(".html", ".htm", makes_folders=True)
"""The name of a page to write."""

shown_as = output(".html", ".htm", ".png", ".gif", ".mp4", ".webm", makes_folders=True)
"""The name of a page, a picture or a film to write."""


def add_common(parser: argparse.ArgumentParser, json: bool = True) -> None:
    """Options of every command."""
    group = parser.add_argument_group("output")
    if json:
        group.add_argument("--json", action="store_true", help="print JSON, for machines")
    group.add_argument("--traceback", action="store_true", help="show where in the source an error was raised")


def number(text: str) -> float:
    """``1.5``, ``pi/2``, ``90deg`` (in radians); a ValueError if it is nothing of the kind, or not finite."""
    from dalembert.model.expression import evaluate

    plain = text.strip().removesuffix("deg").removesuffix("°")
    try:
        value = evaluate(plain)
    except FormatError as error:
        raise ValueError(str(error)) from None
    return value if plain == text.strip() else math.radians(value)


def assignment(text: str) -> tuple[str, float]:
    """``NAME=VALUE`` with a finite number."""
    name, equals, value = text.rpartition("=")  # a joint may be called a=b, a number may not
    try:
        found = number(value)
    except ValueError:
        found = math.nan
    if not equals or not name.strip() or not math.isfinite(found):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not NAME=VALUE with a finite number, such as m1=2.5, a=pi/2 or a=90deg"
        )
    return name.strip(), found


def by_name(given: Iterable[tuple[str, Value]], option: str) -> dict[str, Value]:
    """What an option says of each name; an error if it says two things."""
    found: dict[str, Value] = {}
    for name, value in given:
        if name in found:
            raise ArgumentError(f"{option} is given twice for {name!r}")
        found[name] = value
    return found


def integer(low: int, high: int) -> Callable[[str], int]:
    """A type of argument: a whole number within bounds; ``1e4`` is one too."""

    def parse(text: str) -> int:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (low <= number <= high) or number != int(number):
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low} to {high}")
        return int(number)

    return parse


def real(low: float, high: float) -> Callable[[str], float]:
    """A type of argument: a number within bounds."""

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number from {low:g} to {high:g}")
        return number

    return parse


def pair(text: str) -> tuple[float, float]:
    """A type of argument: two numbers with a comma between."""
    try:
        first, second = (float(x) for x in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not two numbers with a comma between, such as 640,480") from None
    return first, second


# ------------------------------------------------------------------------------------------------------------ the model


def source_of(name: str) -> Path | None:
    """The file behind the MODEL argument, if there is one: a path as it is, a robot's name looked up."""
    from dalembert.formats import catalogue

    if name.lstrip().startswith("<"):
        return None
    return {**catalogue.example_robot_data(), **catalogue.packaged()}.get(name, Path(name))


def open_model(options: argparse.Namespace, numeric: bool = False, **more: Any) -> Mechanism:
    """The mechanism that the arguments of :func:`~dalembert.cli.options.add_model` describe.

    Args:
        options: the parsed arguments.
        numeric: give symbols the default values of the file; an error if one has none.
        more: for the reader of the file.
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
        mechanism = load(options.model, parameters=values, **more)
        values = {}
    else:
        mechanism = load(options.model, **({"base": options.base} if options.base and based else {}), **more)
        if others := _in_formulas(mechanism, values, declared):
            mechanism = load(options.model, defaults=others, **more)
            values = {name: x for name, x in values.items() if name not in others}
    if options.base and not based:
        mechanism = with_base(mechanism, options.base)
    if values:
        mechanism = substitute(mechanism, values)
    if numeric:
        _expect_values(mechanism, {})
    return mechanism


def _in_formulas(mechanism: Mechanism, values: Mapping[str, float], declared: Mapping[str, float]) -> dict[str, float]:
    """Values of parameters that the reader made numbers: only formulas of constraints and forces have them."""
    known = {symbol.name for symbol in mechanism.symbols}
    return {name: x for name, x in values.items() if name in declared and name not in known}


def _expect_values(mechanism: Mechanism, values: Mapping[str, float]) -> None:
    names = [symbol.name for symbol in mechanism.symbols if symbol.name not in values]
    if names:
        raise ArgumentError(
            f"{mechanism.name!r} has symbols without a value: {', '.join(names)}; "
            f"give them one, for example --set {names[0]}=1"
        )
