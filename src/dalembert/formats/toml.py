"""Reader for mechanisms written in TOML, symbols allowed.

    name = "pendulum"                       # optional, as are all keys below unless said otherwise
    gravity = [0, 0, "-g"]                  # m/s^2; default [0, 0, -9.81]
    notes = ["printed with the mechanism"]
    strict = true                           # refuse inertias that no real body can have

    [parameters]                            # default values of the symbols; if the table is there, it names them all
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
                                            # value, coefficients
    [[force]]                               # name, kind, a: required; b, placement_a, placement_b, stiffness,
                                            # damping, rest, value, smoothing, lower, upper, components

A serial chain may be given by a Denavit-Hartenberg table instead, with the keys of :func:`~dalembert.formats.from_dh`:

    [dh]
    convention = "modified"                 # or "standard"
    base = { xyz = [0, 0, 1] }
    tool = { xyz = [0, 0, 0.1] }
    [[dh.link]]
    alpha = "pi/2"
    a = 0.3
    joint = "R"

Wherever a number may stand, an expression in quotes may: see :mod:`dalembert.formats.expression`. Limits and shapes
must be numbers in the end. Keys that are not known are errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError, DalembertError, FormatError
from dalembert.formats.dh import KEYS as DH_KEYS
from dalembert.formats.dh import from_dh
from dalembert.formats.expression import RESERVED
from dalembert.formats.suggest import hint
from dalembert.formats.toml_tables import Document, SymbolFound, Table, parse
from dalembert.formats.xml import TEXT
from dalembert.model.body import WORLD, Body, Frame, Shape
from dalembert.model.constraint import ON_JOINTS, Constraint
from dalembert.model.force import Force
from dalembert.model.inertia import Inertia
from dalembert.model.joint import Joint, Limits, Mimic
from dalembert.model.mechanism import Mechanism
from dalembert.model.parameters import DEFAULT_VALUES

SHAPE_SIZES = {"box": 3, "sphere": 1, "cylinder": 2, "capsule": 2, "mesh": 3}
POSE = ("xyz", "rpy", "rotation")
Part = TypeVar("Part")


def read_toml(
    source: str | Path,
    parameters: Mapping[str, float] | str | None = None,
    strict: bool | None = None,
) -> Mechanism:
    """Read a mechanism from TOML; see the module's text for the format.

    Args:
        source: a path, or the TOML itself: a string of several lines.
        parameters: None leaves symbols as symbols; ``"default"`` gives them the values of the ``[parameters]`` table;
            a mapping does so too, with its own values first.
        strict: refuse inertias that no real body can have; None lets the file say, whose default is true.
    """
    data, text, file = parse(source)
    declared = _declared(data, file)
    values = _values(declared, parameters)
    try:
        document = Document(file, text, declared, values, exact=False)
        mechanism = _mechanism(data, document, strict)
    except SymbolFound:
        return _mechanism(data, Document(file, text, declared, values, exact=True), strict)
    for name in (values or {}) if declared is None else ():  # without a table, the expressions say what there is
        if name not in document.used:
            raise ArgumentError(f"the description has no parameter {name!r}{hint(name, document.used)}")
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
    return {name: table.real(name, 0.0) for name in table.data}


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
            raise ArgumentError(f"the description has no parameter {name!r}{hint(name, declared)}")
    return {**(declared or {}), **given}


# ------------------------------------------------------------------------------------------------------- mechanism


def _mechanism(data: dict[str, Any], document: Document, strict: bool | None) -> Mechanism:
    top = Table(data, "the description", document)
    top.only(
        ("name", "gravity", "notes", "strict", "parameters", "body", "joint", "frame", "constraint", "force", "dh")
    )
    name = top.text("name", "mechanism" if document.file == TEXT else Path(document.file).stem)
    notes = top.data.get("notes", [])
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise top.error("'notes' must be an array of texts")
    gravity = scalar.asarray(top.vector("gravity", (0, 0, -9.81)))
    strict = top.truth("strict", True) if strict is None else strict

    chain = _chain(top)
    parts: dict[str, Any] = {
        "bodies": (*chain.bodies, *(_made(t, _body) for t in top.tables("body", "body"))),
        "joints": (*chain.joints, *(_made(t, _joint) for t in top.tables("joint", "joint"))),
        "frames": (*chain.frames, *(_made(t, _frame) for t in top.tables("frame", "frame"))),
        "constraints": tuple(_made(t, _constraint) for t in top.tables("constraint", "constraint")),
        "forces": tuple(_made(t, _force) for t in top.tables("force", "force")),
    }
    if not parts["bodies"] and "body" not in data:
        raise top.error("there is no [[body]] and no [dh] table")
    if document.declared:
        used = document.values or document.declared
        listed = ", ".join(f"{key} = {used[key]:g}" for key in document.declared)
        document.notes.append(("values: " if document.values else DEFAULT_VALUES) + listed)
    return Mechanism(name, gravity=gravity, notes=(*notes, *document.notes), strict=strict, **parts)


def _made(table: Table, make: Callable[[Table], Part]) -> Part:
    try:
        return make(table)
    except FormatError:
        raise
    except DalembertError as error:
        raise table.error(str(error).removeprefix(f"{table.where}: ")) from error


def _chain(top: Table) -> Mechanism:
    if "dh" not in top.data:
        return Mechanism("", (), ())
    table = Table(top.data["dh"], "dh", top.document, ("dh", 0))
    table.only(("convention", "base", "tool", "link"))
    poses: dict[str, Any] = {}
    for key in ("base", "tool"):
        if inner := table.table(key):
            inner.only(POSE)
            poses[key] = inner.placement()
    rows = [_row(row) for row in table.tables("link", "dh.link")]
    try:
        return from_dh(rows, table.text("convention", "modified"), strict=False, **poses)
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
                row[key] = _limits(table)
            case _:
                row[key] = table.scalar(key)
    return row


def _body(table: Table) -> Body:
    table.only(("name", "mass", "center", "inertia", "shapes"))
    inertia = Inertia(table.scalar("mass"), scalar.asarray(table.vector("center")), table.tensor("inertia"))
    return Body(table.text("name"), inertia, tuple(_shape(t) for t in table.tables("shapes")))


def _shape(table: Table) -> Shape:
    table.only(("kind", "size", "mesh", "colour", *POSE))
    kind = table.text("kind")
    if kind not in SHAPE_SIZES:
        raise table.error(f"unknown kind {kind!r}{hint(kind, SHAPE_SIZES)}")
    size, colour = (
        table.reals("size", (1.0, 1.0, 1.0) if kind == "mesh" else ()),
        table.reals("colour", Shape("box").colour),
    )
    if len(size) != SHAPE_SIZES[kind] or (kind != "mesh" and min(size) < 0):
        raise table.error(f"the size of a {kind} is {SHAPE_SIZES[kind]} lengths, got {list(size)}")
    if len(colour) != 4 or not all(0 <= x <= 1 for x in colour):
        raise table.error("colour is red, green, blue, opacity, each within 0..1")
    pose = table.placement()
    if pose.rotation.dtype == object or pose.translation.dtype == object:
        raise table.error("the pose of a shape must be of numbers")
    return Shape(
        kind, size, pose, table.text("mesh") if kind == "mesh" else "", (colour[0], colour[1], colour[2], colour[3])
    )


def _limits(table: Table) -> Limits:
    inner = table.table("limits")
    if inner is None:
        return Limits()
    inner.only(("lower", "upper", "velocity", "effort"))
    default = Limits()
    return Limits(
        *(inner.real(key, getattr(default, key), infinite=True) for key in ("lower", "upper", "velocity", "effort"))
    )


def _axis(table: Table, key: str) -> Any:
    written = table.data[key]
    if isinstance(written, str):
        sign, letter = (-1.0, written[1:]) if written.startswith("-") else (1.0, written)
        if letter not in ("x", "y", "z"):
            raise table.error(f"{key} is 'x', 'y', 'z', '-x', '-y', '-z' or three numbers, got {written!r}")
        return sign * np.eye(3)["xyz".index(letter)]
    axis = np.array(table.vector(key), dtype=object)
    if all(isinstance(x, (int, float)) for x in axis):
        largest = max(abs(x) for x in axis)
        length = float(largest and largest * np.linalg.norm((axis / largest).astype(float)))
        if length > 1e-9 and abs(length - 1) > 1e-12:
            table.document.notes.append(f"{key} of joint {table.data.get('name')!r} divided by its length {length:.7g}")
            return axis.astype(float) / length
    return axis


def _joint(table: Table) -> Joint:
    numbers = ("pitch", "damping", "friction", "armature")
    table.only(("name", "kind", "parent", "child", "axis", "axis2", "limits", "mimic", *numbers, *POSE))
    more: dict[str, Any] = {key: table.scalar(key) for key in numbers if key in table.data}
    more.update({key: _axis(table, key) for key in ("axis", "axis2") if key in table.data})
    if mimic := table.table("mimic"):
        mimic.only(("joint", "multiplier", "offset"))
        more["mimic"] = Mimic(mimic.text("joint"), mimic.scalar("multiplier", 1), mimic.scalar("offset", 0))
    ends = (table.text("parent"), table.text("child"))
    return Joint(table.text("name"), table.text("kind"), *ends, table.placement(), limits=_limits(table), **more)


def _frame(table: Table) -> Frame:
    table.only(("name", "body", *POSE))
    return Frame(table.text("name"), table.text("body"), table.placement())


def _between(table: Table) -> dict[str, Any]:
    """Name, kind and ends, which constraints and forces share."""
    found: dict[str, Any] = {key: table.text(key) for key in ("name", "kind", "a")}
    on_joints = found["kind"] in ON_JOINTS or found["kind"].startswith("joint-")
    found["b"] = table.data["b"] if table.data.get("b") == "" else table.text("b", "" if on_joints else WORLD)
    for key in ("placement_a", "placement_b"):
        if inner := table.table(key):
            inner.only(POSE)
            found[key] = inner.placement()
        else:
            found[key] = Transform.identity()
    return found


def _constraint(table: Table) -> Constraint:
    table.only(("name", "kind", "a", "b", "placement_a", "placement_b", "value", "coefficients"))
    return Constraint(**_between(table), value=table.scalar("value"), coefficients=table.scalars("coefficients"))


def _force(table: Table) -> Force:
    numbers = ("stiffness", "damping", "rest", "value", "smoothing", "lower", "upper")
    table.only(("name", "kind", "a", "b", "placement_a", "placement_b", "components", *numbers))
    given = {key: table.scalar(key) for key in numbers if key in table.data}
    return Force(**_between(table), components=table.scalars("components"), **given)
