"""Collision shapes, grounds and contacts of a TOML description; see :mod:`dalembert.formats.toml` for the format."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dalembert.errors import FormatError
from dalembert.formats.problems import together
from dalembert.model.body import SIZES_OF_SHAPES, WORLD, Shape, Surface
from dalembert.model.contact import NUMBERS, Contact
from dalembert.model.expression import evaluate_exact, names
from dalembert.model.ground import GROUND_KINDS, Ground
from dalembert.text.suggest import hint

if TYPE_CHECKING:
    from dalembert.formats.toml import TomlTable

POSE = ("xyz", "rpy", "rotation")

SURFACE = ("friction", "torsional", "rolling", "solref", "solimp")
"""What a shape may say about its surface in numbers; and in whole numbers:"""

BITS = ("contype", "conaffinity", "priority", "dimensions")

GROUND_KEYS = {
    "half-spaces": ("planes",),
    "height-field": ("heights", "corner", "spacing"),
    "formula": ("height", "coefficients"),
}


def collision(table: TomlTable) -> Shape:
    """A shape that touches, in the array ``collisions`` of a body or at an end of a contact."""
    table.only(("kind", "name", "size", "mesh", "vertices", "mixing", *SURFACE, *BITS, *POSE))
    kind = table.text("kind")
    if kind not in SIZES_OF_SHAPES:
        raise table.error(f"unknown kind {kind!r}{hint(kind, sorted(SIZES_OF_SHAPES))}")
    size = table.scalars("size") or ((1.0, 1.0, 1.0) if kind == "mesh" else ())
    mesh = table.text("mesh", "") if kind == "mesh" else ""
    name = table.text("name", "") if table.data.get("name") else ""
    return Shape(
        kind, size, table.placement(), mesh, name=name, vertices=table.rows("vertices"), surface=_surface(table)
    )


def _surface(table: TomlTable) -> Surface | None:
    found: dict[str, Any] = {key: table.scalar(key) for key in SURFACE[:3] if key in table.data}
    found |= {key: table.reals(key, ()) for key in SURFACE[3:] if key in table.data}
    found |= {key: int(table.real(key, 0)) for key in BITS if key in table.data}
    if "mixing" in table.data:
        found["mixing"] = table.real("mixing", 1.0)
    return Surface(**found) if found else None


def ground(table: TomlTable) -> Ground:
    """The table ``ground`` of a contact."""
    kind = table.text("kind", "half-spaces")
    if kind not in GROUND_KINDS:
        raise table.error(f"unknown kind {kind!r}{hint(kind, sorted(GROUND_KINDS))}")
    table.only(("kind", *GROUND_KEYS[kind], *POSE))
    if kind == "half-spaces":
        planes = []
        for plane in table.tables("planes"):
            plane.only(("point", "normal"))
            planes.append((plane.vector("point"), plane.vector("normal", (0, 0, 1))))
        found = Ground.half_spaces(planes) if "planes" in table.data else Ground.plane()
    elif kind == "height-field":
        corner = table.reals("corner", ()) or None
        found = Ground.height_field(table.rows("heights", None), table.reals("spacing", (1.0, 1.0)), corner)
    else:
        found = _formula(table)
    return found.replace(placement=table.placement())


def _formula(table: TomlTable) -> Ground:
    """A ground z = f(x, y); its parameters stand for themselves unless ``coefficients`` gives them values."""
    written = table.text("height")
    document = table.document
    try:
        found = Ground.formula(evaluate_exact(written, document.positive))
    except FormatError as error:
        raise table.error(f"height: {error.message}") from None
    inner = table.table("coefficients")
    if inner:
        inner.only(found.names)
    values = together(
        partial(inner.scalar, name) if inner and name in inner.data else partial(document.scalar, name)
        for name in sorted(names(written) - {"x", "y"})
    )
    return found.replace(coefficients=tuple(values))


def contact(table: TomlTable) -> Contact:
    """A ``[[contact]]``."""
    table.only(("name", "a", "b", "shape_a", "shape_b", "ground", "solref", "solimp", *NUMBERS))
    shape_a, shape_b, floor = (table.table(key) for key in ("shape_a", "shape_b", "ground"))
    if shape_a is None:
        raise table.error("'shape_a' is missing; it is the shape of a that touches, as in the collisions of a body")
    if shape_b and floor:
        raise table.error("'shape_b' and 'ground' say the same thing; keep one of them")
    other = collision(shape_b) if shape_b else ground(floor) if floor else None
    given: dict[str, Any] = {key: table.scalar(key) for key in NUMBERS if key in table.data}
    given |= {key: table.scalars(key) for key in ("solref", "solimp") if key in table.data}
    return Contact(table.text("name"), table.text("a"), table.text("b", WORLD), collision(shape_a), other, **given)
