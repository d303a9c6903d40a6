"""Reader for mechanisms written in TOML, symbols allowed.

    name = "pendulum"                       # optional, as are all keys below unless said otherwise
    gravity = [0, 0, "-g"]                  # m/s^2; default [0, 0, -9.81]
    notes = ["printed with the mechanism"]
    strict = true                           # refuse inertias that no real body can have
    positive = ["l", "m"]                   # symbols of which SymPy may assume it; all others are real

    [parameters]                            # default values of the symbols; if the table is there, it names them all,
                                            # and one that no expression uses is told
    g = 9.81
    l = 0.5
    m = 2.0

    [[body]]                                # body = [] at the top says that there is none
    name = "bob"                            # required
    mass = "m"
    center = [0, 0, "-l"]                   # centre of mass in body axes
    inertia = [0.01, 0.01, 0]               # about it: xx, yy, zz; or xx, yy, zz, xy, xz, yz; or a 3 x 3 matrix
    shapes = [{ kind = "sphere", size = [0.1], xyz = [0, 0, -0.5], colour = [1, 0, 0, 1] }]

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
    [[force]]                               # name, kind, a: required; b, placement_a, placement_b, stiffness,
                                            # damping, rest, value, smoothing, lower, upper, components, function

A serial chain may be given by a Denavit-Hartenberg table instead, with the keys of :func:`~dalembert.formats.from_dh`:

    [dh]
    convention = "modified"                 # or "standard"
    base = { xyz = [0, 0, 1] }
    tool = { xyz = [0, 0, 0.1] }
    [[dh.link]]
    alpha = "pi/2"
    a = 0.3
    joint = "R"

Wherever a number may stand, an expression in quotes may: see :mod:`dalembert.formats.expression`. Limits, and sizes and
colours of shapes, must be numbers in the end. Keys that are not known are errors.

A ``function`` is an expression, or an array of them, of parameters, of time ``t`` (at the point x, y, z for a gravity
field) and of the coordinates, called as :func:`dalembert.coordinate_symbols` has it: a joint's name for its position,
``name_dot`` for its velocity, ``name_0``, ``name_dot_0``, ... where it has several. Kinds without ends need no ``a``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from dalembert.algebra import arrays
from dalembert.errors import ArgumentError, DalembertError, FormatError, ModelWarning
from dalembert.formats import toml_parts as parts
from dalembert.formats.dh import KEYS as DH_KEYS
from dalembert.formats.dh import from_dh
from dalembert.formats.expression import RESERVED, names
from dalembert.formats.toml_formulas import settled
from dalembert.formats.toml_tables import Document, SymbolFound, Table, parse
from dalembert.formats.xml import TEXT
from dalembert.model.defaults import DEFAULT_VALUES, listed
from dalembert.model.formula import coordinate_names
from dalembert.model.mechanism import Mechanism
from dalembert.model.validation import impossible_inertias
from dalembert.text.suggest import hint

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
        document = Document(file, text, declared, values, exact=False)
        mechanism = _mechanism(data, document, strict)
    except SymbolFound:
        document = Document(file, text, declared, values, exact=True)
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
    document = Document(file, "", {}, None, exact=False)
    table = Table(data["parameters"], "parameters", document)
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


def _mechanism(data: dict[str, Any], document: Document, strict: bool | None) -> Mechanism:
    top = Table(data, "the description", document)
    top.only(
        ("name", "gravity", "notes", "strict", "positive", "parameters", "body", "joint", "frame", "constraint")
        + ("force", "dh")
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
        "bodies": (*chain.bodies, *_made(top, "body", parts.body)),
        "joints": (*chain.joints, *_made(top, "joint", parts.joint)),
        "frames": (*chain.frames, *_made(top, "frame", parts.frame)),
    }
    positions, velocities = coordinate_names(found["joints"])
    document.coordinates = {*positions, *velocities, "t"}
    found["constraints"] = _made(top, "constraint", parts.constraint)
    found["forces"] = _made(top, "force", parts.force)
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


def _positive(top: Table) -> list[str]:
    """Names of symbols that are known to be positive; the default value of none may deny it."""
    found = top.data.get("positive", [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise top.error("'positive' must be an array of names of symbols")
    for name in found:
        if (value := (top.document.declared or {}).get(name, 1)) <= 0:
            raise top.error(f"positive: {name!r} has the default value {value:g} among the [parameters]")
    return found


def _made(top: Table, key: str, make: Callable[[Table], Part]) -> tuple[Part, ...]:
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


def _chain(top: Table) -> Mechanism:
    if "dh" not in top.data:
        return Mechanism("", (), ())
    problems = top.document.problems
    table = problems.attempt(lambda: Table(top.data["dh"], "dh", top.document, ("dh", 0)), None)
    if table is None:
        return Mechanism("", (), ())
    table.only(("convention", "base", "tool", "link"))
    poses: dict[str, Any] = {}
    for key in ("base", "tool"):
        if inner := table.table(key):
            inner.only(parts.POSE)
            poses[key] = inner.placement()
    rows = [_row(row) for row in table.tables("link", "dh.link")]
    convention = table.text("convention", "modified")
    if problems:
        return Mechanism("", (), ())
    try:
        return from_dh(rows, convention, strict=False, **poses)
    except DalembertError as error:
        raise table.error(error.message if isinstance(error, FormatError) else str(error)) from error


def _row(table: Table) -> dict[str, Any]:
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
                row[key] = parts.limits(table)
            case _:
                row[key] = table.scalar(key)
    return row
