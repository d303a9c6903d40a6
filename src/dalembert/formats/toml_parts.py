"""The parts of a TOML description: what a ``[[body]]``, a ``[[joint]]`` and the others hold."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.transform import Transform
from dalembert.formats.angles import RADIANS, look_like_degrees
from dalembert.formats.toml_formulas import formulas
from dalembert.formats.toml_tables import Table
from dalembert.model.body import WORLD, Body, Frame, Shape
from dalembert.model.constants import floats
from dalembert.model.constraint import OF_USERS, ON_JOINTS, Constraint
from dalembert.model.force import Force
from dalembert.model.inertia import Inertia
from dalembert.model.joint import Joint, Limits, Mimic
from dalembert.text.suggest import hint

SHAPE_SIZES = {"box": 3, "sphere": 1, "ellipsoid": 3, "cylinder": 2, "capsule": 2, "mesh": 3}
POSE = ("xyz", "rpy", "rotation")
ON_NOTHING = (*OF_USERS, "user", "gravity-field", "attraction")
"""Kinds of constraints and forces that need no end."""


def body(table: Table) -> Body:
    """A ``[[body]]``."""
    table.only(("name", "mass", "center", "inertia", "shapes"))
    inertia = Inertia(table.scalar("mass"), arrays.asarray(table.vector("center")), table.tensor("inertia"))
    return Body(table.text("name"), inertia, tuple(_shape(t) for t in table.tables("shapes")))


def _shape(table: Table) -> Shape:
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


def limits(table: Table) -> Limits:
    """The inline table ``limits`` of a joint or of a row of a DH table."""
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


def joint(table: Table) -> Joint:
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


def frame(table: Table) -> Frame:
    """A ``[[frame]]``."""
    table.only(("name", "body", *POSE))
    return Frame(table.text("name"), table.text("body"), table.placement())


def _between(table: Table) -> dict[str, Any]:
    """Name, kind, ends and formula, which constraints and forces share."""
    found: dict[str, Any] = {key: table.text(key) for key in ("name", "kind")}
    found["a"] = table.text("a", WORLD if found["kind"] in ON_NOTHING else None)
    on_joints = found["kind"] in ON_JOINTS or found["kind"].startswith("joint-")
    found["b"] = table.data["b"] if table.data.get("b") == "" else table.text("b", "" if on_joints else WORLD)
    for key in ("placement_a", "placement_b"):
        if inner := table.table(key):
            inner.only(POSE)
            found[key] = inner.placement()
        else:
            found[key] = Transform.identity()
    found["function"] = table.document.problems.attempt(partial(formulas, table, "function"), None)
    return found


def constraint(table: Table) -> Constraint:
    """A ``[[constraint]]``."""
    table.only(("name", "kind", "a", "b", "placement_a", "placement_b", "value", "coefficients", "function"))
    return Constraint(**_between(table), value=table.scalar("value"), coefficients=table.scalars("coefficients"))


def force(table: Table) -> Force:
    """A ``[[force]]``."""
    numbers = ("stiffness", "damping", "rest", "value", "smoothing", "lower", "upper")
    table.only(("name", "kind", "a", "b", "placement_a", "placement_b", "components", "function", *numbers))
    given = {key: table.scalar(key) for key in numbers if key in table.data}
    return Force(**_between(table), components=table.scalars("components"), **given)
