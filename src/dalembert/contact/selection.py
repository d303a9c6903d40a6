"""Which shapes of a mechanism may touch: contacts made from its collision shapes, and what was left out and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from dalembert.cached import cached_property
from dalembert.contact.geometry import is_supported, no_pair, point_names
from dalembert.errors import ArgumentError, FormatError
from dalembert.model import WORLD, Contact, Ground, Mechanism, Shape, Surface
from dalembert.model.checks import expect, expect_items, shown
from dalembert.model.contact import rigidly_joined
from dalembert.model.display import contact_words
from dalembert.model.surface import combined, numbers_of
from dalembert.services import ask
from dalembert.text.layout import columns_with_text, counted
from dalembert.text.suggest import hint

MOST_POINTS = 64
"""Points of contact, unless more are asked for: each is a row of the program with up to three unknown forces."""

MESH_VERTICES = 8
"""Of the hull of a mesh, unless more are asked for."""

TURNING = ("revolute", "continuous", "spherical", "universal", "fixed")
"""Kinds of joints that hold a point of a body to the ground."""

NUMBERS = ("friction", "restitution", "stiffness", "damping", "torsional", "rolling", "solref", "solimp")


@dataclass(frozen=True)
class LeftOut:
    """What may not touch.

    Args:
        what: a shape, or two.
        why: one clause.
    """

    what: str
    why: str


@dataclass(frozen=True)
class ContactSelection:
    """Contacts that were made for a mechanism; :attr:`mechanism` has them.

    Args:
        mechanism: the mechanism with these contacts, besides those that it had.
        taken: the contacts that were made.
        left_out: what may not touch, and why.
        notes: what was assumed of the shapes.
    """

    mechanism: Mechanism
    taken: tuple[Contact, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def points(self) -> int:
        """Number of points at which the contacts may close."""
        return sum(len(point_names(contact)) for contact in self.taken)

    def __str__(self) -> str:
        title = (
            f"{self.mechanism.name}: {counted(len(self.taken), 'contact')} with {counted(self.points, 'point')} in all"
        )
        rows = [[c.name, c.a, c.b, str(len(point_names(c))), contact_words(c)] for c in self.taken]
        lines = [title]
        if rows:
            lines += ["", *columns_with_text(["contact", "a", "b", "points", "shapes and numbers"], rows)]
        if self.left_out:
            together: dict[str, list[str]] = {}
            for item in self.left_out:
                together.setdefault(item.why, []).append(item.what)
            lines += ["", "Left out:", *(f"  - {_few(whats)}: {why}" for why, whats in together.items())]
        if self.notes:
            lines += ["", "Assumed:", *(f"  - {note}" for note in self.notes)]
        return "\n".join(lines)


def contacts(
    mechanism: Mechanism,
    friction: Any = None,
    *,
    ground: Ground | str | None = "plane",
    pairs: str | Sequence[tuple[str, str]] = (),
    without: Sequence[tuple[str, str]] = (),
    only: str | Sequence[str] | None = None,
    shapes: Mapping[str, Shape | Sequence[Shape]] | None = None,
    restitution: Any = None,
    stiffness: Any = None,
    damping: Any = None,
    torsional: Any = None,
    rolling: Any = None,
    solref: Any = None,
    solimp: Any = None,
    vertices: int = MESH_VERTICES,
    folder: str | Path | None = None,
    most: int = MOST_POINTS,
) -> ContactSelection:
    """Make contacts of a mechanism's collision shapes: with the ground, and with each other.

    Every shape may touch the ground, unless its body hangs on the ground by a joint that holds a point of it. Between
    bodies only those touch that ``pairs`` names. What was taken, what was left out and why, is in the result, which
    prints as a table.

    Every number is a number or a symbol for all contacts, or a mapping from patterns such as ``"*_foot"``, matched with
    the names of contacts, bodies and shapes, to numbers; the first that fits counts. Where none is given, what the
    file says of the surfaces counts: that of higher priority, else the larger friction.

    Args:
        mechanism: whose bodies have collision shapes, from a file or given in Python.
        friction: Coulomb's coefficient; must be given unless the file says it. 0 is frictionless.
        ground: what all stand on; ``"plane"`` is the plane z = 0 of the world, None is nothing.
        pairs: pairs of bodies that may touch each other, ``[("left_finger", "ball")]``, a joint between them or not;
            with ``"world"`` the ground. ``"all"`` takes every two bodies that no joint connects and whose bits
            (contype, conaffinity of MJCF) agree.
        without: pairs of bodies that do not touch each other all the same, such as those that
            :func:`~dalembert.formats.read_srdf` finds disabled.
        only: patterns of the bodies or shapes that may touch at all; ``"ends"`` stands for the bodies at the ends of
            the tree, feet and hands.
        shapes: what bodies touch with, in place of their collision shapes: pattern of their names -> shape, or shapes.
        restitution: Newton's coefficient of restitution, 0 .. 1; 0 if not given.
        stiffness: of the compliant law, N/m.
        damping: of the compliant law, s/m.
        torsional: coefficient of friction against turning about the normal, m.
        rolling: coefficient of friction against rolling, m.
        solref: time constant (s) and damping ratio of the convex law.
        solimp: impedances, width, midpoint and power of the convex law.
        vertices: of the convex hull by which a mesh touches; more are more exact and cost more. A mesh that is nearer
            to a sphere than to the hull of so many touches as a sphere.
        folder: of the model, for the relative addresses of its meshes.
        most: points of contact that are allowed.
    """
    expect(mechanism, Mechanism, "contacts, mechanism")
    if isinstance(ground, str) and ground == "plane":
        ground = Ground.plane()
    elif ground is not None and not isinstance(ground, Ground):
        raise ArgumentError(
            f"contacts, ground: expected a Ground, 'plane' or None, got {shown(ground)}; da.Ground.plane, half_spaces, "
            "height_field and formula make one",
            argument="ground",
        )
    given = {
        "friction": friction, "restitution": restitution, "stiffness": stiffness, "damping": damping,
        "torsional": torsional, "rolling": rolling, "solref": solref, "solimp": solimp,
    }  # fmt: skip
    bodies = _Touching(mechanism, shapes, only, vertices, None if folder is None else Path(folder))
    made = _Making(bodies, given)
    if ground is not None:
        made.on_ground(ground)
    made.between(pairs, ground, without)
    made.check(most)
    left = (*bodies.left_out, *made.left_out)
    notes = tuple(f"{_few(names)}: {note}" for note, names in bodies.notes.items())
    complete = bodies.mechanism.replace(contacts=(*mechanism.contacts, *made.taken))
    return ContactSelection(complete, tuple(made.taken), left, notes)


@dataclass
class _Touching:
    """The shapes of the bodies that may touch.

    Args:
        mechanism: replaced by one with the shapes that count.
        shapes: in place of those of the mechanism, by pattern.
        only: patterns of what may touch.
    """

    mechanism: Mechanism
    shapes: Mapping[str, Shape | Sequence[Shape]] | None
    only: str | Sequence[str] | None
    vertices: int
    folder: Path | None
    of: dict[str, list[Shape]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.vertices, int) or isinstance(self.vertices, bool) or self.vertices < 4:
            raise ArgumentError(f"contacts, vertices: a hull has at least 4, got {shown(self.vertices)}")
        self._replace()
        self.patterns = self._patterns()
        whole = {body.name: body.collisions for body in self.mechanism.bodies}
        if not any(whole.values()):
            raise ArgumentError(
                f"contacts: no body of {self.mechanism.name!r} has collision shapes. Give them: "
                "shapes={'*_foot': da.Shape.sphere(0.02)}, or da.Body(..., collisions=[...])",
                argument="shapes",
            )
        read: dict[str, tuple[Shape, ...]] = {}
        for name, items in whole.items():
            found: list[Shape] = []
            shaped: list[Shape] = []
            for k, shape in enumerate(items):
                if not self._allowed(name, shape):
                    self.left_out.append(LeftOut(label(name, items, k), "not among those that only= names"))
                elif (solid := self._solid(label(name, items, k), shape)) is not None:
                    found.append(solid)
                    shape = solid
                shaped.append(shape)
            self.of[name] = found
            read[name] = tuple(shaped)
        if self.patterns is not None and not any(self.of.values()) and not self.left_out_by_reading:
            raise ArgumentError(
                f"contacts, only: no collision shape and no body with one is called {' or '.join(self.patterns)}"
                f"{hint(self.patterns[0], [name for name, items in whole.items() if items], 'bodies with shapes are')}",
                argument="only",
            )
        self.mechanism = self.mechanism.replace(
            bodies=tuple(body.replace(collisions=read[body.name]) for body in self.mechanism.bodies)
        )

    @property
    def left_out_by_reading(self) -> bool:
        return any("only=" not in item.why for item in self.left_out)

    def _replace(self) -> None:
        names = [body.name for body in self.mechanism.bodies]
        new: dict[str, tuple[Shape, ...]] = {}
        for pattern, given in expect(self.shapes or {}, Mapping, "contacts, shapes").items():
            items = expect_items([given] if isinstance(given, Shape) else given, Shape, "contacts, shapes")
            fitting = [name for name in names if fnmatchcase(name, pattern)]
            if not fitting:
                raise ArgumentError(
                    f"contacts, shapes: no body is called {pattern!r}{hint(pattern, names)}", argument="shapes"
                )
            new |= dict.fromkeys(fitting, items)
        self.mechanism = self.mechanism.replace(
            bodies=tuple(
                body.replace(collisions=new[body.name]) if body.name in new else body for body in self.mechanism.bodies
            )
        )

    def _patterns(self) -> tuple[str, ...] | None:
        if self.only is None:
            return None
        if isinstance(self.only, str) and self.only == "ends":
            return tuple(ends(self.mechanism))
        return expect_items([self.only] if isinstance(self.only, str) else self.only, str, "contacts, only")

    def _allowed(self, body: str, shape: Shape) -> bool:
        if self.patterns is None:
            return True
        return any(fnmatchcase(name, pattern) for pattern in self.patterns for name in (body, shape.name) if name)

    def _solid(self, name: str, shape: Shape) -> Shape | None:
        """A shape with the vertices by which it touches; None for a mesh that cannot be read."""
        if shape.kind != "mesh" or (shape.vertices and len(shape.vertices) <= self.vertices):
            return shape
        try:
            found, error = ask("convex shape of a mesh", shape, self.folder, self.vertices)
        except FormatError as problem:
            why = f"its mesh {shape.mesh!r} cannot be used: {problem.message}; a capsule, a box or points would serve"
            self.left_out.append(LeftOut(name, why))
            return None
        if error:
            what = "a sphere" if found.kind == "sphere" else f"{len(found.vertices)} vertices"
            notes = self.notes.setdefault(
                f"{what} in place of a mesh, whose hull is up to {1000 * error:.2g} mm away", []
            )
            notes.append(name)
        return found


class _Making:
    """Makes contacts of shapes.

    Args:
        bodies: what may touch.
        given: numbers of the contacts, each one for all, a mapping, or None.
    """

    def __init__(self, bodies: _Touching, given: Mapping[str, Any]):
        self.bodies, self.mechanism = bodies, bodies.mechanism
        self.given = given
        self.taken: list[Contact] = []
        self.left_out: list[LeftOut] = []
        self.names = {contact.name for contact in self.mechanism.contacts}
        self.done: set[tuple[str, str]] = set()
        self.unused = {key: set(value) for key, value in given.items() if isinstance(value, Mapping)}

    def on_ground(self, ground: Ground) -> None:
        """Every shape on the ground, unless its body hangs there."""
        for name, shapes in self.bodies.of.items():
            reason = self._held(name)
            for k, shape in enumerate(shapes):
                if reason:
                    self.left_out.append(LeftOut(f"{label(name, shapes, k)} on the ground", reason))
                else:
                    self._add(label(name, shapes, k), name, shape, WORLD, ground)
            self.done.add((name, WORLD))

    def _held(self, name: str) -> str:
        """Why a body does not touch the ground on which it hangs; empty if it may."""
        joint = next(joint for joint in self.mechanism.joints if joint.child == name)
        while joint.kind == "fixed" and joint.parent != WORLD:
            joint = next(other for other in self.mechanism.joints if other.child == joint.parent)
        if joint.parent != WORLD or joint.kind not in TURNING:
            return ""
        if joint.kind == "fixed":
            return "it is joined to the ground by fixed joints and cannot move"
        return f"joint {joint.name!r} ({joint.kind}) holds it to the ground; pairs=[({name!r}, 'world')] takes it"

    def between(self, pairs: Any, ground: Ground | None, without: Any = ()) -> None:
        """Pairs of bodies: those that are named, or all, but for those named in ``without``."""
        everyone = isinstance(pairs, str)
        if everyone and pairs != "all":
            raise ArgumentError(f"contacts, pairs: expected pairs of bodies or 'all', got {pairs!r}", argument="pairs")
        apart = {frozenset(pair) for pair in expect_items(without, tuple, "contacts, without")}
        for one, two in self._every_two() if everyone else self._named(pairs):
            if frozenset((one, two)) in apart:
                self.left_out.append(LeftOut(f"{one} and {two}", "named in without="))
                continue
            if WORLD in (one, two):
                body = two if one == WORLD else one
                if ground is None:
                    raise ArgumentError(f"contacts, pairs: ({one!r}, {two!r}) needs a ground", argument="ground")
                if not any(c.a == body and c.b == WORLD for c in self.taken):
                    self._left_in(body)
                    for k, shape in enumerate(self.bodies.of[body]):
                        self._add(label(body, self.bodies.of[body], k), body, shape, WORLD, ground)
                continue
            shapes, others = self.bodies.of[one], self.bodies.of[two]
            if not everyone and not any(is_supported(x, y) for x in shapes for y in others):
                raise no_pair(f"{one}-{two}", shapes[0].kind, others[0].kind)
            for i, shape in enumerate(shapes):
                for j, other in enumerate(others):
                    names = label(one, self.bodies.of[one], i), label(two, self.bodies.of[two], j)
                    if everyone and not _bits_agree(shape, other):
                        why = "their contype and conaffinity do not agree"
                        self.left_out.append(LeftOut(" and ".join(names), why))
                    elif not is_supported(shape, other):
                        why = str(no_pair("-".join(names), shape.kind, other.kind)).partition(": ")[2]
                        self.left_out.append(LeftOut(" and ".join(names), why))
                    else:
                        self._add("-".join(names), one, shape, two, other)

    def _left_in(self, body: str) -> None:
        names = {f"{label(body, self.bodies.of[body], k)} on the ground" for k in range(len(self.bodies.of[body]))}
        self.left_out = [item for item in self.left_out if item.what not in names]

    def _every_two(self) -> Iterator[tuple[str, str]]:
        """Every two bodies with shapes, but for those that are one, or that a joint connects."""
        bodies = [name for name, shapes in self.bodies.of.items() if shapes]
        joints, frames = self.mechanism.joints, self.mechanism.frames
        welded = {joint.child: joint.parent for joint in joints if joint.kind == "fixed"}

        def root(name: str) -> str:
            while name in welded:
                name = welded[name]
            return name

        linked = {
            frozenset((root(joint.parent), root(joint.child))): joint for joint in joints if joint.kind != "fixed"
        }
        for k, one in enumerate(bodies):
            for two in bodies[k + 1 :]:
                what = f"{one} and {two}"
                shape = self.bodies.of[one][0]
                if rigidly_joined(joints, frames, Contact("", one, two, shape, shape, friction=0)):
                    self.left_out.append(LeftOut(what, "fixed joints make one body of them"))
                elif joint := linked.get(frozenset((root(one), root(two)))):
                    self.left_out.append(LeftOut(what, f"neighbours by joint {joint.name!r}"))
                else:
                    yield one, two

    def _named(self, pairs: Any) -> Iterator[tuple[str, str]]:
        known = [*self.bodies.of, WORLD]
        for pair in expect_items(pairs, object, "contacts, pairs"):
            try:
                one, two = pair
            except (TypeError, ValueError):
                raise ArgumentError(
                    f"contacts, pairs: expected pairs of bodies (a, b), got {shown(pair)}", argument="pairs"
                ) from None
            for name in (one, two):
                if name not in known:
                    raise ArgumentError(
                        f"contacts, pairs: {self.mechanism.name!r} has no body {shown(name)}{hint(str(name), known)}",
                        argument="pairs",
                    )
                if name != WORLD and not self.bodies.of[name]:
                    raise ArgumentError(
                        f"contacts, pairs: body {name!r} has no collision shape that may touch; give it one by shapes=",
                        argument="pairs",
                    )
            if one == two:
                raise ArgumentError(f"contacts, pairs: {one!r} cannot touch itself", argument="pairs")
            yield one, two

    def _add(self, name: str, a: str, shape: Shape, b: str, other: Shape | Ground) -> None:
        surface = shape.surface or Surface()
        if isinstance(other, Shape):
            surface = combined(surface, other.surface or Surface())
        numbers = numbers_of(surface)
        labels = {name, a, b, shape.name, getattr(other, "name", "")} - {"", WORLD}
        for key in NUMBERS:
            value = self._number(key, labels)
            if value is not None:
                numbers[key] = value
        if numbers.get("friction") is None:
            raise ArgumentError(
                f"contacts, friction: nothing says how rough {name!r} is; give a number (0 is frictionless), a symbol, "
                "or a mapping from patterns of names to them",
                argument="friction",
            )
        wish = name
        while wish in self.names:
            wish += "_"
        self.names.add(wish)
        self.taken.append(Contact(wish, a, b, shape, other, **numbers))

    def _number(self, key: str, labels: set[str]) -> Any:
        value = self.given[key]
        if not isinstance(value, Mapping):
            return value
        for pattern, x in value.items():
            if any(fnmatchcase(label, pattern) for label in labels):
                self.unused[key].discard(pattern)
                return x
        return None

    def check(self, most: int) -> None:
        """Raise if there are too many points, or patterns that fit nothing."""
        for key, patterns in self.unused.items():
            for pattern in sorted(patterns):
                raise ArgumentError(f"contacts, {key}: no contact, body or shape is called {pattern!r}", argument=key)
        counts = {contact.name: len(point_names(contact)) for contact in self.taken}
        total = sum(counts.values())
        if total > most:
            largest = sorted(counts, key=lambda name: -counts[name])[:3]
            listed = ", ".join(f"{name} has {counts[name]}" for name in largest)
            raise ArgumentError(
                f"contacts: {total} points of contact, and {most} are allowed ({listed})",
                argument="most",
                value=total,
                remedy="name what may touch by only=('*_foot',) or only='ends', give simpler shapes by shapes=, fewer "
                "vertices= of meshes, or raise {setting}",
            )


def ends(mechanism: Mechanism) -> list[str]:
    """Bodies at the ends of the tree that have collision shapes: feet and hands.

    No joint that moves leaves them or what they are fixed to, they do not belong to the root, and what is fixed to them
    further out has no shapes.
    """
    fixed = {joint.child: joint.parent for joint in mechanism.joints if joint.kind == "fixed"}

    def root(name: str) -> str:
        while name in fixed:
            name = fixed[name]
        return name

    onward = {root(joint.parent) for joint in mechanism.joints if joint.kind != "fixed"}
    first = {joint.child for joint in mechanism.joints if joint.parent == WORLD} | {WORLD}
    several = any(root(body.name) not in first for body in mechanism.bodies)
    found: list[str] = []
    for body in reversed(mechanism.bodies):  # from the outside inwards
        part = root(body.name)
        outer = part not in onward and not (several and part in first)
        if outer and body.collisions and not any(_carries(body.name, name, fixed) for name in found):
            found.append(body.name)
    return found[::-1]


def _carries(inner: str, outer: str, fixed: Mapping[str, str]) -> bool:
    while outer in fixed:
        outer = fixed[outer]
        if outer == inner:
            return True
    return False


def label(body: str, shapes: Sequence[Shape], k: int) -> str:
    """What a shape is called: as its body, and by its own name or number where the body has several.

    Args:
        body: name of its body.
        shapes: of the body.
    """
    return body if len(shapes) == 1 else f"{body}/{shapes[k].name or k}"


def _bits_agree(one: Shape, two: Shape) -> bool:
    a, b = one.surface or Surface(), two.surface or Surface()
    return bool(a.contype & b.conaffinity or b.contype & a.conaffinity)


def _few(whats: Sequence[str]) -> str:
    return ", ".join(whats[:6]) + (f" and {len(whats) - 6} more" if len(whats) > 6 else "")
