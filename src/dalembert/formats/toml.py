"""Reader for mechanisms written in TOML, symbols allowed.

    name = "pendulum"                       # optional, as are all keys below unless said otherwise
    gravity = [0, 0, "-g"]                  # m/s^2; default [0, 0, -9.81]
    notes = ["printed with the mechanism"]
    strict = true                           # refuse inertias that no real body can have
    positive = ["l", "m"]                   # symbols of which SymPy may assume it; all others are real

    [parameters]                            # default values of the symbols; if the table is there, it names them all,
                                            # and a warning names one that no expression uses
    g = 9.81
    l = 0.5
    m = 2.0

    [[body]]                                # body = [] at the top says that there is none
    name = "bob"                            # required
    mass = "m"
    center = [0, 0, "-l"]                   # centre of mass in body axes
    inertia = [0.01, 0.01, 0]               # about it: xx, yy, zz; or xx, yy, zz, xy, xz, yz; or a 3 x 3 matrix
    shapes = [{ kind = "sphere", size = [0.1], xyz = [0, 0, -0.5], colour = [1, 0, 0, 1] }]
    collisions = [{ kind = "sphere", size = [0.1], xyz = [0, 0, -0.5], friction = 0.8 }]
                                            # what touches, apart from shapes, which are for pictures; also name, mesh,
                                            # vertices, torsional, rolling, solref, solimp, contype, conaffinity,
                                            # priority, mixing, dimensions: see dalembert.Surface

    [[joint]]
    name = "hinge"                          # required
    kind = "revolute"                       # required; see dalembert.model.joint.KINDS
    parent = "world"                        # required
    child = "bob"                           # required
    xyz = [0, 0, 1]                         # joint frame in the parent
    rpy = ["pi/2", 0, 0]                    # or rotation = [[...], [...], [...]]
    axis = "y"                              # "x", "-x", ..., or three numbers; default "z"
    limits = { lower = "-pi/2", upper = "pi/2", velocity = 10, effort = 5 }
    damping = 0.1                           # also friction, armature, pitch, axis2
    mimic = { joint = "other", multiplier = 2, offset = 0 }

    [[frame]]                               # name, body: required; xyz, rpy
    [[constraint]]                          # name, kind, a: required; b, placement_a = { xyz, rpy }, placement_b,
                                            # value, coefficients, function = "x_joint - l*sin(2*t)"
    [[force]]                               # name, kind, a: required; b (of a wrench the frame of its axes, if not
                                            # its own: b = "world"), placement_a, placement_b, stiffness,
                                            # damping, rest, value, smoothing, lower, upper, components, function,
                                            # oblateness, radius
    [[contact]]                             # name, a, friction, shape_a = { kind, size, ... } as in collisions:
                                            # required; b, shape_b or ground, restitution, stiffness, damping,
                                            # torsional, rolling, solref, solimp. The ground is the plane z = 0 unless
                                            # ground = { planes = [{ point = [0, 0, 0], normal = [0, 0, 1] }] }, or
                                            # { kind = "height-field", heights = [[...], ...], corner, spacing }, or
                                            # { kind = "formula", height = "A*sin(x)", coefficients = { A = 0.1 } }

A serial chain may be given by a Denavit-Hartenberg table instead, with the keys of :func:`~dalembert.formats.from_dh`:

    [dh]
    convention = "modified"                 # or "standard"
    base = { xyz = [0, 0, 1] }
    tool = { xyz = [0, 0, 0.1] }
    [[dh.link]]
    alpha = "pi/2"
    a = 0.3
    joint = "R"

Wherever a number may stand, an expression in quotes may: see :mod:`dalembert.model.expression`. Limits, and sizes and
colours of shapes for pictures, must be numbers in the end. Keys that are not known are errors.

A ``function`` is an expression, or an array of them, of parameters, of time ``t`` (at the point x, y, z for a gravity
field) and of the coordinates, called as :func:`dalembert.coordinate_symbols` has it: a joint's name for its position,
``name_dot`` for its velocity, ``name_0``, ``name_dot_0``, ... where it has several. Kinds without ends need no ``a``.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.rotations import is_rotation
from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError, DalembertError, FormatError, ModelError, ModelWarning
from dalembert.formats.dh import KEYS as DH_KEYS
from dalembert.formats.dh import from_dh, symmetric_tensor, tidy
from dalembert.formats.problems import RADIANS, TURN, Problems, kept, look_like_degrees, together
from dalembert.formats.toml_contact import POSE, collision, contact
from dalembert.formats.xml import TEXT, read_bytes
from dalembert.model.body import SIZES_OF_SHAPES, WORLD, Body, Frame, Shape
from dalembert.model.constraint import FIELDS as CONSTRAINTS
from dalembert.model.constraint import Constraint
from dalembert.model.expression import LARGEST, RESERVED, constants, evaluate, evaluate_exact, is_name, names
from dalembert.model.force import FIELDS as FORCES
from dalembert.model.force import Force
from dalembert.model.formula import Formula
from dalembert.model.inertia import Inertia
from dalembert.model.joint import Joint, Limits, Mimic, letter_axis
from dalembert.model.mechanism import Mechanism
from dalembert.model.names import formula_names
from dalembert.model.parameters import DEFAULT_VALUES, listed
from dalembert.model.record import Kind, floats
from dalembert.model.validation import impossible_inertias
from dalembert.text.suggest import check_keys, hint

# ------------------------------------------------------------------------------------------------------------- the file


Part = TypeVar("Part")


def read_toml(
    source: str | Path,
    parameters: Mapping[str, float] | str | None = None,
    strict: bool | None = None,
    defaults: Mapping[str, float] | None = None,
) -> Mechanism:
    """Read a mechanism from TOML; see the module's text for the format.

    Args:
        source: a path, or the TOML itself: a string of several lines.
        parameters: None leaves symbols as symbols; ``"default"`` gives them the values of the ``[parameters]`` table;
            a mapping does so too, with its own values first.
        strict: refuse inertias that no real body can have; None lets the file say, whose default is true.
        defaults: values in the place of those in the ``[parameters]`` table, while symbols stay symbols: for those
            parameters that occur in formulas of constraints and forces only, which are always numbers.
    """
    data, text, file = parse(source)
    declared = _declared(data, file)
    if defaults:
        declared = dict(_values(declared or {}, defaults) or {})
    values = _values(declared, parameters)
    try:
        document = TomlDocument(file, text, declared, values, exact=False)
        mechanism = _mechanism(data, document, strict)
    except SymbolFound:
        document = TomlDocument(file, text, declared, values, exact=True)
        mechanism = _mechanism(data, document, strict)
    for name in defaults or ():
        if name not in document.used:
            raise ArgumentError(f"no expression of the description uses the parameter {name!r}")
    for name in (values or {}) if declared is None else ():  # without a table, the expressions say what there is
        if name not in document.used:
            raise ArgumentError(f"the description has no parameter {name!r}{hint(name, sorted(document.used))}")
    return mechanism


def default_parameters(source: str | Path) -> dict[str, float]:
    """The ``[parameters]`` table of a TOML description: default values of its symbols, by name.

    Args:
        source: a path, or the TOML itself: a string of several lines.
    """
    data, _, file = parse(source)
    return _declared(data, file) or {}


def _declared(data: dict[str, Any], file: str | Path) -> dict[str, float] | None:
    if "parameters" not in data:
        return None
    document = TomlDocument(file, "", {}, None, exact=False)
    table = TomlTable(data["parameters"], "parameters", document)
    for name in table.data:
        if not name.isidentifier():
            raise table.error(f"{name!r} cannot be the name of a symbol")
        if name in RESERVED:
            raise table.error(f"{name!r} has a meaning of its own in expressions; call the parameter something else")
        if isinstance(written := table.data[name], str) and (others := sorted(names(written))):
            raise table.error(
                f"{name} = {written!r} depends on {', '.join(others)}; the value of a parameter is a number. Write "
                f"that expression where {name} is used"
            )
    declared = {name: table.real(name, 0.0) for name in table.data}
    document.problems.raise_all()
    return declared


def _values(
    declared: dict[str, float] | None, parameters: Mapping[str, float] | str | None
) -> Mapping[str, float] | None:
    if parameters is None:
        return None
    if isinstance(parameters, str):
        if parameters != "default":
            raise ArgumentError(f"parameters must be 'default', a mapping or None, got {parameters!r}")
        return declared or {}
    try:
        given = {str(name): float(value) for name, value in parameters.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ArgumentError(f"parameters must map names to numbers, got {parameters!r}") from error
    for name in given:
        if declared is not None and name not in declared:
            raise ArgumentError(f"the description has no parameter {name!r}{hint(name, sorted(declared))}")
    return {**(declared or {}), **given}


# ------------------------------------------------------------------------------------------------------- mechanism


def _mechanism(data: dict[str, Any], document: TomlDocument, strict: bool | None) -> Mechanism:
    top = TomlTable(data, "the description", document)
    top.only(
        ("name", "gravity", "notes", "strict", "positive", "parameters", "body", "joint", "frame", "constraint")
        + ("force", "contact", "dh")
    )
    stem = "mechanism" if document.file == TEXT else Path(document.file).stem
    name = "" if data.get("name") == "" else top.text("name", stem)  # no name is a title, too
    notes = top.data.get("notes", [])
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        document.problems.found.append(top.error("'notes' must be an array of texts"))
    document.positive = document.problems.attempt(lambda: _positive(top), ())
    gravity = arrays.asarray(top.vector("gravity", (0, 0, -9.81)))
    strict = top.truth("strict", True) if strict is None else strict

    chain = _chain(top)
    found: dict[str, Any] = {
        "bodies": (*chain.bodies, *_made(top, "body", body)),
        "joints": (*chain.joints, *_made(top, "joint", joint)),
        "frames": (*chain.frames, *_made(top, "frame", frame)),
    }
    positions, velocities = formula_names(found["joints"])
    document.coordinates = {*positions, *velocities, "t"}
    found["constraints"] = _made(top, "constraint", constraint)
    found["forces"] = _made(top, "force", force)
    found["contacts"] = _made(top, "contact", contact)
    problems = document.problems
    if problems and strict:
        problems.found += (FormatError(sentence, document.file) for sentence in impossible_inertias(found["bodies"]))
    problems.raise_all()
    if not found["bodies"] and "body" not in data:
        raise top.error(
            "the [dh] table has no [[dh.link]]" if "dh" in data else "there is no [[body]] and no [dh] table"
        )
    if idle := [name for name in document.positive if name not in document.used]:
        raise top.error(f"positive: no expression has a symbol {idle[0]!r}{hint(idle[0], sorted(document.used))}")
    if idle := [name for name in document.declared or () if name not in document.used]:
        document.doubts.append(f"parameters that no expression uses: {', '.join(idle)}")
    doubts = [doubt for doubt in document.doubts if doubt not in notes]  # a file that was written has them as notes
    for doubt in doubts:
        warnings.warn(f"{document.file}: {doubt}", ModelWarning, stacklevel=4)
    document.notes += doubts
    if document.declared:
        used = document.values or document.declared
        named = listed({name: used[name] for name in document.declared})
        document.notes.append(("values: " if document.values else DEFAULT_VALUES) + named)
    mechanism = Mechanism(name, gravity=gravity, notes=(*notes, *document.notes), strict=strict, **found)
    return settled(mechanism, document)


def _positive(top: TomlTable) -> list[str]:
    """Names of symbols that are known to be positive; the default value of none may deny it."""
    found = top.data.get("positive", [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise top.error("'positive' must be an array of names of symbols")
    for name in found:
        if (value := (top.document.declared or {}).get(name, 1)) <= 0:
            raise top.error(f"positive: {name!r} has the default value {value:g} among the [parameters]")
    return found


def _made(top: TomlTable, key: str, make: Callable[[TomlTable], Part]) -> tuple[Part, ...]:
    """The parts that the tables ``[[key]]`` describe; those that make no sense are left to the problems."""
    problems, found = top.document.problems, []
    for table in top.tables(key, key):
        before = len(problems.found)
        try:
            part = make(table)
        except DalembertError as error:
            if len(problems.found) == before:  # else it may be about the stand-in for something wrong
                message = str(error).removeprefix(f"{table.where}: ")
                problems.found.append(error if isinstance(error, FormatError) else table.error(message))
        if len(problems.found) == before:
            found.append(part)
    return tuple(found)


def _chain(top: TomlTable) -> Mechanism:
    if "dh" not in top.data:
        return Mechanism("", (), ())
    problems = top.document.problems
    table = problems.attempt(lambda: TomlTable(top.data["dh"], "dh", top.document, ("dh", 0)), None)
    if table is None:
        return Mechanism("", (), ())
    table.only(("convention", "base", "tool", "link"))
    poses: dict[str, Any] = {}
    for key in ("base", "tool"):
        if inner := table.table(key):
            inner.only(POSE)
            poses[key] = inner.placement()
    rows = [_row(row) for row in table.tables("link", "dh.link")]
    convention = table.text("convention", "modified")
    if problems:
        return Mechanism("", (), ())
    try:
        return from_dh(rows, convention, strict=False, **poses)
    except DalembertError as error:
        raise table.error(error.message if isinstance(error, FormatError) else str(error)) from error


def _row(table: TomlTable) -> dict[str, Any]:
    table.only(DH_KEYS)
    row: dict[str, Any] = {}
    for key in table.data:
        match key:
            case "name" | "joint_name" | "joint":
                row[key] = table.text(key)
            case "center":
                row[key] = table.vector(key)
            case "inertia":
                row[key] = table.tensor(key)
            case "limits":
                row[key] = limits(table)
            case _:
                row[key] = table.scalar(key)
    return row


# ---------------------------------------------------------------------------------------------------------------- parts


SHAPE_SIZES = {kind: len(sizes) for kind, sizes in SIZES_OF_SHAPES.items() if sizes} | {"mesh": 3}
"""Numbers that describe a shape; those of a mesh are its scale."""


def body(table: TomlTable) -> Body:
    """A ``[[body]]``."""
    table.only(("name", "mass", "center", "inertia", "shapes", "collisions"))
    inertia = Inertia(table.scalar("mass"), arrays.asarray(table.vector("center")), table.tensor("inertia"))
    look, touch = (tuple(map(make, table.tables(key))) for key, make in (("shapes", _shape), ("collisions", collision)))
    return Body(table.text("name"), inertia, look, touch)


def _shape(table: TomlTable) -> Shape:
    table.only(("kind", "size", "mesh", "colour", *POSE))
    kind = table.text("kind")
    if kind not in SHAPE_SIZES:
        raise table.error(f"unknown kind {kind!r}{hint(kind, sorted(SHAPE_SIZES))}")
    size, colour = (
        table.reals("size", (1.0, 1.0, 1.0) if kind == "mesh" else ()),
        table.reals("colour", Shape("box").colour),
    )
    if len(size) != SHAPE_SIZES[kind] or (kind != "mesh" and min(size) < 0):
        raise table.error(f"the size of a {kind} is {SHAPE_SIZES[kind]} lengths, got {list(size)}")
    if len(colour) != 4 or not all(0 <= x <= 1 for x in colour):
        raise table.error("colour is red, green, blue, opacity, each within 0..1")
    return Shape(
        kind,
        size,
        table.placement(),
        table.text("mesh") if kind == "mesh" else "",
        (colour[0], colour[1], colour[2], colour[3]),
    )


def limits(table: TomlTable) -> Limits:
    """The inline table ``limits`` of a joint or of a row of a DH table."""
    inner = table.table("limits")
    if inner is None:
        return Limits()
    inner.only(("lower", "upper", "velocity", "effort"))
    default = Limits()
    return Limits(
        *(inner.real(key, getattr(default, key), infinite=True) for key in ("lower", "upper", "velocity", "effort"))
    )


def _axis(table: TomlTable, key: str) -> Any:
    written = table.data[key]
    if isinstance(written, str):
        try:
            return letter_axis(written, key)
        except ModelError as error:
            raise table.error(str(error)) from error
    axis = np.array(table.vector(key), dtype=object)
    numbers = floats(axis)
    if numbers is None:
        values = table.at_defaults(key)
        length = 1.0 if values is None else float(np.linalg.norm(values))
        if abs(length - 1) > 1e-9:
            raise table.error(
                f"{key} has length {length:.7g} at the default values of its symbols, and symbols are not divided by "
                "it: write entries whose squares add up to one, whatever the values"
            )
        return axis
    largest = np.abs(numbers).max()
    length = float(largest and largest * np.linalg.norm(numbers / largest))
    if length > 1e-9 and abs(length - 1) > 1e-12:
        table.document.notes.append(f"{key} of joint {table.data.get('name')!r} divided by its length {length:.7g}")
        return numbers / length
    return axis


def joint(table: TomlTable) -> Joint:
    """A ``[[joint]]``."""
    numbers = ("pitch", "damping", "friction", "armature")
    table.only(("name", "kind", "parent", "child", "axis", "axis2", "limits", "mimic", *numbers, *POSE))
    more: dict[str, Any] = {key: table.scalar(key) for key in numbers if key in table.data}
    for key in ("axis", "axis2"):
        if key in table.data:
            more[key] = table.document.problems.attempt(partial(_axis, table, key), (0, 0, 1))
    if mimic := table.table("mimic"):
        mimic.only(("joint", "multiplier", "offset"))
        more["mimic"] = Mimic(mimic.text("joint"), mimic.scalar("multiplier", 1), mimic.scalar("offset", 0))
    ends, kind, bounds = (table.text("parent"), table.text("child")), table.text("kind"), limits(table)
    if kind == "revolute" and look_like_degrees(bounds.lower, bounds.upper):
        table.document.doubts.append(
            f"{table.where} has the limits {bounds.lower:g} .. {bounds.upper:g} rad, which look like degrees; {RADIANS}"
        )
    return Joint(table.text("name"), kind, *ends, table.placement(), limits=bounds, **more)


def frame(table: TomlTable) -> Frame:
    """A ``[[frame]]``."""
    table.only(("name", "body", *POSE))
    return Frame(table.text("name"), table.text("body"), table.placement())


def _between(table: TomlTable, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Name, kind, ends and formula, which constraints and forces share."""
    found: dict[str, Any] = {key: table.text(key) for key in ("name", "kind")}
    kind = kinds.get(found["kind"], Kind(""))
    anywhere = not kind.ends or found["kind"] in (
        "attraction",
        "oblate-planet",
    )  # whose point may be the origin of the world
    found["a"] = table.text("a", WORLD if anywhere else None)
    on_joints = kind.on == "joints"
    own = "" if on_joints or found["kind"] in ("wrench", "user-wrench") else WORLD
    found["b"] = table.data["b"] if table.data.get("b") == "" else table.text("b", own)
    for key in ("placement_a", "placement_b"):
        if inner := table.table(key):
            inner.only(POSE)
            found[key] = inner.placement()
        else:
            found[key] = Transform.identity()
    found["function"] = table.document.problems.attempt(partial(formulas, table, "function"), None)
    return found


def constraint(table: TomlTable) -> Constraint:
    """A ``[[constraint]]``."""
    table.only(("name", "kind", "a", "b", "placement_a", "placement_b", "value", "coefficients", "function"))
    return Constraint(
        **_between(table, CONSTRAINTS), value=table.scalar("value"), coefficients=table.scalars("coefficients")
    )


def force(table: TomlTable) -> Force:
    """A ``[[force]]``."""
    numbers = ("stiffness", "damping", "rest", "value", "smoothing", "lower", "upper", "oblateness", "radius")
    table.only(("name", "kind", "a", "b", "placement_a", "placement_b", "components", "function", *numbers))
    given = {key: table.scalar(key) for key in numbers if key in table.data}
    return Force(**_between(table, FORCES), components=table.scalars("components"), **given)


# ------------------------------------------------------------------------------------------------------------- formulas


TIME_AND_PLACE = ("t", "x", "y", "z")
"""What the formulas of a field may contain beside parameters."""

OF_TIME = ("motion", "joint-force")
"""Kinds of constraints and forces whose formulas may contain time only."""


def formulas(table: TomlTable, key: str) -> Formula | None:
    """One formula, or an array of them, with the values of parameters that have one; None if there is none."""
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


def _formula(document: TomlDocument, coordinates: set[str], value: Any) -> Any:
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


def settled(mechanism: Mechanism, document: TomlDocument) -> Mechanism:
    """With the values of the file in the place of parameters that occur in formulas only; without one they remain."""
    named = {symbol.name for symbol in mechanism.symbols_of_formulas}
    values = {name: x for name, x in (document.declared or {}).items() if name in named}
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


# --------------------------------------------------------------------------------------------------------------- tables


def parse(source: str | Path) -> tuple[dict[str, Any], str, str | Path]:
    """What TOML says, its text and the name of its file.

    Args:
        source: a path, or the TOML itself: a string of several lines.
    """
    import tomllib

    file: str | Path
    if isinstance(source, str) and "\n" in source:
        text, file = source, TEXT
    else:
        file = source
        try:
            text = read_bytes(source).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FormatError(f"not UTF-8 text: {error}; save the file as UTF-8", file) from error
    try:
        return tomllib.loads(text), text, file
    except RecursionError:
        raise FormatError("arrays or tables are nested too deeply", file) from None
    except ValueError as error:  # includes tomllib.TOMLDecodeError
        place = re.search(r"\(at line (\d+), column \d+\)", str(error))
        raise FormatError(f"malformed TOML: {error}", file, int(place[1]) if place else None) from error


class SymbolFound(Exception):
    """An expression contains a symbol although the file was being read as one of numbers only."""


@dataclass
class TomlDocument:
    """How the numbers of one file are to be read.

    Args:
        text: the file's text, for line numbers.
        declared: names in the ``[parameters]`` table; None if there is no such table.
        values: the numbers that symbols stand for; None if they stay symbols.
        exact: read expressions exactly, with SymPy.
        positive: symbols that are known to be positive.
        notes: what was assumed.
        used: names found in expressions so far.
        doubts: what looks like a slip; reported as warnings when the whole file has been read, and among the notes.
        coordinates: what formulas of the user's own may contain beside parameters, those of fields excepted: positions,
            velocities, t.
        problems: what is wrong, to be raised when the whole file has been read.
    """

    file: str | Path
    text: str
    declared: Mapping[str, float] | None
    values: Mapping[str, float] | None
    exact: bool
    positive: Collection[str] = ()
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    coordinates: set[str] = field(default_factory=set)
    problems: Problems = field(default_factory=Problems)

    def line(self, header: str, index: int) -> int | None:
        """Line of the ``index``-th (from 0) header ``[[header]]`` or ``[header]``; None if it is written otherwise."""
        pattern = re.compile(r"^[ \t]*\[{1,2}[ \t]*" + re.escape(header) + r"[ \t]*\]{1,2}", re.MULTILINE)
        for k, match in enumerate(pattern.finditer(self.text)):
            if k == index:
                return self.text.count("\n", 0, match.start()) + 1
        return None

    def scalar(self, value: Any) -> Any:
        """A number, or what an expression stands for."""
        if isinstance(value, str):
            used = names(value)
            self.used |= used
            if self.declared is not None:
                for name in sorted(used - set(self.declared)):
                    raise FormatError(f"{name!r} is not among the [parameters]{hint(name, sorted(self.declared))}")
            if self.values is not None:
                return evaluate(value, self.values)
            if used and not self.exact:
                raise SymbolFound
            return evaluate_exact(value, self.positive) if self.exact else evaluate(value)
        return plain_number(value)


def shown(value: Any) -> str:
    """A value for a message, not too long."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of thousands of digits
        return "a huge number"
    return text if len(text) <= 60 else text[:57] + "..."


def plain_number(value: Any, infinite: bool = False) -> int | float:
    """A finite TOML number of reasonable size."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError(f"expected a number or an expression in quotes, got {shown(value)}")
    if infinite and isinstance(value, float) and math.isinf(value):
        return value
    if not abs(value) <= LARGEST:
        raise FormatError(f"{shown(value)} is not a finite number of reasonable size")
    return value


class TomlTable:
    """One table of the file; every access is checked and every problem says where it is.

    Reading goes on after a problem, with a stand-in: what was read counts only after ``document.problems.raise_all()``.

    Args:
        data: what TOML gave.
        where: how to call this table in messages.
        document: how to read its numbers.
        place: header and index by which its line is found, if it has a header of its own.
    """

    def __init__(self, data: Any, where: str, document: TomlDocument, place: tuple[str, int] | None = None):
        self.where, self.document, self.place = where, document, place
        if not isinstance(data, dict):
            raise self.error(f"expected a table, got {shown(data)}")
        self.data = data

    @property
    def line(self) -> int | None:
        """Line of its header, if known."""
        return self.document.line(*self.place) if self.place else None

    def error(self, message: str) -> FormatError:
        """A FormatError that points at this table."""
        return FormatError(f"{self.where}: {message}", self.document.file, self.line)

    @kept(None)
    def only(self, known: Iterable[str]) -> None:
        """Refuse unknown keys."""
        try:
            check_keys(self.data, known, self.where)
        except FormatError as error:
            raise FormatError(error.message, self.document.file, self.line) from None

    def tables(self, key: str, header: str = "") -> Iterator[TomlTable]:
        """The tables of an array ``[[header]]``, or of an array inside this table."""
        array = self.data.get(key, [])
        problems = self.document.problems
        if not isinstance(array, list):
            problems.found.append(
                self.error(f"{key!r} is an array of tables{f'; write [[{header}]]' if header else ''}")
            )
            return
        for k, data in enumerate(array):
            name = data.get("name") if isinstance(data, dict) else None
            what = header or f"{self.where}, {key}"
            where = f"{what} {shown(name)}" if isinstance(name, str) else f"{what} number {k + 1}"
            place = (header, k) if header else self.place
            table = problems.attempt(partial(TomlTable, data, where, self.document, place), None)
            if table is not None:
                yield table

    @kept(None)
    def table(self, key: str) -> TomlTable | None:
        """A sub-table, or None."""
        if key not in self.data:
            return None
        return TomlTable(self.data[key], f"{self.where}, {key}", self.document, self.place)

    @kept("?")
    def text(self, key: str, default: str | None = None) -> str:
        """A string; it must be there if there is no default."""
        if key not in self.data and default is not None:
            return default
        value = self.data.get(key)
        if value is None:
            raise self.error(f"{key!r} is missing")
        if not isinstance(value, str) or not value:
            raise self.error(f"{key!r} must be a text, got {shown(value)}")
        return value

    @kept(False)
    def truth(self, key: str, default: bool) -> bool:
        """true or false."""
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise self.error(f"{key!r} must be true or false, got {shown(value)}")
        return value

    def _read(self, key: str, value: Any) -> Any:
        try:
            return self.document.scalar(value)
        except FormatError as error:
            raise self.error(f"{key}: {error.message}") from None

    @kept(0)
    def scalar(self, key: str, default: Any = 0) -> Any:
        """A number or expression."""
        return self._read(key, self.data[key]) if key in self.data else default

    @kept(0.0)
    def real(self, key: str, default: float, infinite: bool = False) -> float:
        """A plain number; expressions must not contain symbols."""
        return float(self._reals(key, [self.data.get(key, default)], infinite)[0])

    @kept(())
    def reals(self, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
        """Several plain numbers."""
        value = self.data.get(key, list(default))
        if not isinstance(value, list):
            raise self.error(f"{key!r} must be an array of numbers, got {shown(value)}")
        return self._reals(key, value)

    def _reals(self, key: str, values: list[Any], infinite: bool = False) -> tuple[float, ...]:
        known = self.document.values or self.document.declared or {}
        try:
            self.document.used.update(*(names(x) for x in values if isinstance(x, str)))
            return tuple(evaluate(x, known) if isinstance(x, str) else float(plain_number(x, infinite)) for x in values)
        except FormatError as error:
            raise self.error(f"{key}: {error.message}") from None

    def at_defaults(self, key: str) -> Array | None:
        """The numbers of a vector or matrix with symbols at their default values; None if the file gives none."""
        if self.document.declared is None:
            return None
        written = np.array(self.data[key], dtype=object)
        return np.array(self._reals(key, list(written.flat))).reshape(written.shape)

    @kept((0, 0, 0))
    def vector(self, key: str, default: Any = (0, 0, 0)) -> list[Any]:
        """Three numbers or expressions."""
        return self._entries(key, self.data.get(key, list(default)), 3)

    def _entries(self, key: str, value: Any, count: int | None = None) -> list[Any]:
        if not isinstance(value, list) or (count is not None and len(value) != count):
            raise self.error(f"{key!r} must be an array of {count or 'some'} numbers, got {shown(value)}")
        return together(partial(self._read, key, x) for x in value)

    @kept(())
    def scalars(self, key: str) -> tuple[Any, ...]:
        """Any number of numbers or expressions."""
        return tuple(self._entries(key, self.data.get(key, [])))

    @kept(())
    def rows(self, key: str, count: int | None = 3) -> tuple[tuple[Any, ...], ...]:
        """Any number of rows of ``count`` numbers or expressions, of any length if that is None."""
        value = self.data.get(key, [])
        if not isinstance(value, list):
            raise self.error(f"{key!r} must be an array of rows, got {shown(value)}")
        return tuple(tuple(row) for row in together(partial(self._entries, key, row, count) for row in value))

    def _matrix(self, key: str, value: Any) -> list[list[Any]]:
        if not isinstance(value, list) or len(value) != 3:
            raise self.error(f"{key!r} must be a 3 x 3 matrix, got {shown(value)}")
        return [self._entries(key, row, 3) for row in value]

    @kept(np.zeros((3, 3)))
    def tensor(self, key: str) -> Any:
        """A symmetric tensor: 3 x 3, or xx, yy, zz, or xx, yy, zz, xy, xz, yz."""
        value = self.data.get(key)
        if value is None:
            return np.zeros((3, 3))
        if isinstance(value, list) and value and all(isinstance(row, list) for row in value):
            return self._matrix(key, value)
        entries = self._entries(key, value)
        try:
            return symmetric_tensor(entries)
        except FormatError as error:
            raise self.error(f"{key}: {error.message}") from None

    @kept(Transform.identity())
    def placement(self) -> Transform:
        """A pose from ``xyz`` and either ``rpy`` or ``rotation``."""
        xyz = np.array(self.vector("xyz"), dtype=object)
        if "rotation" not in self.data:
            angles = self.vector("rpy")
            if any(scalar.is_number(angle) and abs(angle) > TURN for angle in angles):
                self.document.doubts.append(
                    f"{self.where}: rpy = {shown(self.data['rpy'])} is more than a turn; {RADIANS}"
                )
            return tidy(Transform.from_rpy_xyz(np.array(angles, dtype=object), xyz))
        if "rpy" in self.data:
            raise self.error("'rpy' and 'rotation' say the same thing; keep one of them")
        pose = tidy(Transform(np.array(self._matrix("rotation", self.data["rotation"]), dtype=object), xyz))
        numbers = self.at_defaults("rotation") if pose.rotation.dtype == object else pose.rotation
        if numbers is not None and not is_rotation(numbers):
            raise self.error("'rotation' is not a rotation matrix (orthogonal, determinant +1)")
        return pose
