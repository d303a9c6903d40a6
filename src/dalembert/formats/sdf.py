"""Reader for SDF, the Simulation Description Format of Gazebo, versions 1.4 to 1.12.

Poses are relative to links, joints, frames and models (``relative_to``, ``attached_to``), axes ``expressed_in`` any
of them. Models may be nested or included from local files; what is inside is called ``model::link``. A link without a
joint to the ground floats, unless its model is static. Joints that close a loop become constraints. Joint springs
become force elements. What the file leaves out is what the format says: a link without ``<inertial>`` has 1 kg and
1 kg m^2, a world without ``<gravity>`` 9.8 m/s^2 downwards. Whatever was assumed or not taken over is in the
mechanism's ``notes``, with lines.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.errors import ModelWarning
from dalembert.formats.sdf_links import SKIPPED, boolean, collisions, inertia, number, numbers, pose, shapes, word
from dalembert.formats.xml import Element, read_xml
from dalembert.model.body import WORLD, Body
from dalembert.model.checks import expect_choice
from dalembert.model.constraint import Constraint
from dalembert.model.force import Force
from dalembert.model.joint import Joint, Limits, Mimic, plane_axes
from dalembert.model.mechanism import Mechanism
from dalembert.text.suggest import hint

WORLD_GRAVITY = (0.0, 0.0, -9.8)
"""Of a world that does not say, m/s^2."""

UNLIMITED = 1e16
"""Limits from here on mean that there is none."""

KINDS = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed",
    "ball": "spherical", "universal": "universal", "screw": "helical",
}  # fmt: skip
"""SDF joint types and the kinds of the model."""

LOOPS = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "fixed": "weld",
    "spherical": "spherical",
}  # fmt: skip
"""Kinds of joints and the constraints they become where they close a loop."""

ONE_DEGREE = ("revolute", "continuous", "prismatic", "helical")
DEEPEST = 50
"""Models inside models; more is a file that includes itself."""


def read_sdf(source: str | bytes | Path, base: str = "free", strict: bool = False) -> Mechanism:
    """Read the models of an SDF file as one mechanism.

    Args:
        source: a path, or the SDF itself: bytes, or a string whose first character is ``<``.
        base: what happens to a link that is not joined to the ground: ``"free"``: it floats, as SDF has it;
            ``"fixed"``: it is welded to the ground where it is.
        strict: refuse inertias that no real body can have; otherwise they are kept, with a warning.
    """
    expect_choice(base, ("fixed", "free"), "read_sdf: base =")
    root = read_xml(source)
    if root.tag != "sdf":
        raise root.error(f"an SDF file has the root element <sdf>, this one has <{root.tag}>")
    notes: list[str] = []
    version = _version(root)
    world = root.one("world")
    loose = list(root.all("model"))
    if (world is None) == (not loose):
        raise root.error("an SDF file that can be read has one <world>, or models; this one has " +
                         ("both" if loose else "neither"))  # fmt: skip
    folder = Path(source).parent if isinstance(source, Path) else None
    whole = SdfScope(world if world is not None else root, "", None, SdfContext(version, folder, notes))
    for child in root.children:
        if child.tag not in ("world", "model"):
            notes.append(f"line {child.line}: <{child.tag}> was not read")
    models = list(whole.models.values())
    alone = len(models) == 1 and not whole.elements["joint"]
    if alone:
        models[0].drop_prefix()
    built = SdfTree(whole, base, notes)
    built.build()
    gravity = np.array([0.0, 0.0, -9.81]) if world is None else _gravity(world, notes)
    mechanism = Mechanism(
        name=models[0].element.attributes["name"] if len(models) == 1 else _world_name(world),
        bodies=tuple(built.bodies),
        joints=tuple(built.joints),
        constraints=tuple(built.constraints),
        forces=tuple(built.forces),
        notes=tuple(notes),
        strict=strict,
        gravity=gravity,
    )
    if built.massless:
        _warn(f"{root.file}: no <inertial>, so 1 kg and 1 kg m^2, as SDF has it: {', '.join(built.massless)}")
    if doubts := mechanism.problems():
        _warn("\n  - ".join([f"{root.file}: kept although doubtful, for the file is not read strictly:", *doubts]))
        mechanism = mechanism.replace(notes=(*mechanism.notes, *(f"kept although doubtful: {d}" for d in doubts)))
    return mechanism


def _warn(message: str) -> None:
    warnings.warn(message, ModelWarning, stacklevel=3)


def _version(root: Element) -> tuple[int, int]:
    text = root.attributes.get("version", "1.12").strip()
    match = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)?", text)
    if match is None or int(match[1]) != 1 or int(match[2]) < 4:
        raise root.error(f"SDF version {text!r} is not known; versions from 1.4 on are read")
    return int(match[1]), int(match[2])


def _world_name(world: Element | None) -> str:
    return "models" if world is None else world.attributes.get("name", "world")


def _gravity(world: Element, notes: list[str]) -> np.ndarray:
    element = world.one("gravity")
    if element is None:
        notes.append("the world names no gravity: 9.8 m/s^2 downwards, as SDF has it")
        return np.array(WORLD_GRAVITY)
    return np.array(numbers(element, 3))


# --------------------------------------------------------------------------------------------------------------- scopes


@dataclass
class SdfContext:
    """What all scopes of a file share.

    Args:
        folder: from which included files are found; None for a text.
    """

    version: tuple[int, int]
    folder: Path | None
    notes: list[str] = field(default_factory=list)


class SdfScope:
    """A model, or the world: names with poses, relative to its own frame.

    Args:
        element: ``<model>``, ``<world>``, or ``<sdf>`` with models.
        prefix: of the names inside, for the mechanism.
        outer: the scope around it.
        depth: how many models are around it.
    """

    def __init__(self, element: Element, prefix: str, outer: SdfScope | None, context: SdfContext, depth: int = 0):
        self.element, self.prefix, self.outer, self.context = element, prefix, outer, context
        self.elements: dict[str, dict[str, Element]] = {"link": {}, "joint": {}, "frame": {}}
        self.models: dict[str, SdfScope] = {}
        self.static = False
        self.pose_element: Element = element  # an include may place a model, and name another frame of it
        self._known: dict[str, Transform] = {}
        self._under_way: list[str] = []
        if depth > DEEPEST:
            raise element.error(f"models are nested more than {DEEPEST} deep; does a file include itself?")
        for child in element.children:
            if child.tag in self.elements:
                self._add(self.elements[child.tag], child, child.attribute("name"), child)
            elif child.tag == "model":
                name = child.attribute("name")
                self._add(self.models, child, name, SdfScope(child, f"{prefix}{name}::", self, context, depth + 1))
            elif child.tag == "include":
                self._include(child, depth)
            elif child.tag not in SKIPPED["silent"] and element.tag != "sdf":
                context.notes.append(f"line {child.line}: <{child.tag}> of <{element.tag}> was not read")
        if element.tag == "model":
            static = element.one("static")
            self.static = (static is not None and boolean(static)) or (outer is not None and outer.static)

    def _add(self, table: dict[str, Any], element: Element, name: str, item: Any) -> None:
        if name in table or name.startswith("__") or name == WORLD or "::" in name or not name.isprintable():
            why = "is used already" if name in table else "is no name that SDF allows"
            raise element.error(f"the name {name!r} of a <{element.tag}> {why}")
        table[name] = item

    def _include(self, include: Element, depth: int) -> None:
        uri = word(include.need("uri"))
        context = self.context
        if context.folder is None:
            raise include.error(f"<include> of {uri!r}: a text has no folder to look in; read the file by its path")
        path = _included(context.folder, uri)
        if path is None:
            raise include.error(f"<include>: there is no {uri!r} below {context.folder}; models are read locally only")
        root = read_xml(path)
        inside = root.need("model") if root.tag == "sdf" else root
        if inside.tag != "model":
            raise include.error(f"<include>: {path} holds no <model>")
        given = include.one("name")
        name = inside.attribute("name") if given is None else word(given)
        own = SdfContext(_version(root), path.parent, context.notes)
        scope = SdfScope(inside, f"{self.prefix}{name}::", self, own, depth + 1)
        if any(True for tag in ("pose", "placement_frame") for _ in include.all(tag)):
            scope.pose_element = include
        if (static := include.one("static")) is not None:
            scope.static = boolean(static)
        for child in include.children:
            if child.tag not in ("uri", "name", "pose", "placement_frame", "static"):
                context.notes.append(f"line {child.line}: <{child.tag}> of <include> was not read")
        self._add(self.models, include, name, scope)

    def drop_prefix(self) -> None:
        """Names inside are names of the mechanism as they are: this is the only model."""
        cut = len(self.prefix)

        def shorten(scope: SdfScope) -> None:
            scope.prefix = scope.prefix[cut:]
            for inner in scope.models.values():
                shorten(inner)

        shorten(self)

    # ------------------------------------------------------------------------------------------------------- poses

    def local(self, name: str, asking: Element) -> Transform:
        """The frame of a link, joint, frame or model in the frame of this scope.

        Args:
            name: perhaps of something in a nested model, ``arm::hand``.
            asking: the element that names it.
        """
        if name in ("__model__", "__root__") or (name == WORLD and self.outer is None):
            return Transform.identity()
        first, _, rest = name.partition("::")
        if rest:
            if first not in self.models:
                raise asking.error(f"there is no model {first!r} here{hint(first, self.models)}")
            return self.local(first, asking) @ self.models[first].local(rest, asking)
        if name not in self._known:
            if name in self._under_way:
                raise asking.error(f"the poses of {' -> '.join(self._under_way)} -> {name} depend on each other")
            self._under_way.append(name)
            self._known[name] = self._found(name, asking)
            self._under_way.pop()
        return self._known[name]

    def _found(self, name: str, asking: Element) -> Transform:
        if name in self.models:
            model = self.models[name]
            at = self._posed(model.pose_element, "__model__")
            frame = model.pose_element.one("placement_frame")
            named = model.pose_element.attributes.get("placement_frame") if frame is None else word(frame)
            return at @ model.local(named, model.pose_element).inverse() if named else at
        for kind, table in self.elements.items():
            if name in table:
                element = table[name]
                if kind == "joint":
                    return self._posed(element, word(element.need("child")))
                attached = element.attributes.get("attached_to", "").strip() if kind == "frame" else ""
                return self._posed(element, attached or "__model__")
        every = [*self.models, *(known for table in self.elements.values() for known in table)]
        raise asking.error(f"there is no link, joint, frame or model {name!r} here{hint(name, every)}")

    def _posed(self, element: Element, default: str) -> Transform:
        inside = element.one("pose")
        relative = default
        if inside is not None:
            named = inside.attributes.get("relative_to", inside.attributes.get("frame", "")).strip()
            relative = named or default
        return self.local(relative, element) @ pose(inside)

    @property
    def origin(self) -> Transform:
        """The frame of this scope in the world."""
        if self.outer is None:
            return Transform.identity()
        name = next(name for name, scope in self.outer.models.items() if scope is self)
        return self.outer.origin @ self.outer.local(name, self.element)

    def in_world(self, name: str, asking: Element) -> Transform:
        """The frame of something in the world, where the file places it."""
        return Transform.identity() if name == WORLD else self.origin @ self.local(name, asking)

    def body(self, name: str, asking: Element, seen: int = 0) -> str:
        """The name, in the mechanism, of the link that something is fixed to."""
        if seen > DEEPEST:
            raise asking.error(f"{name!r} is attached to itself in a circle")
        if name == WORLD:
            return WORLD
        first, _, rest = name.partition("::")
        if first in self.models:
            return self.models[first].body(rest or self.models[first].canonical, asking, seen + 1)
        if first in self.elements["link"]:
            return self.prefix + first
        if first == "__model__":
            return self.body(self.canonical, asking, seen + 1)
        if first in self.elements["joint"]:
            return self.body(word(self.elements["joint"][first].need("child")), asking, seen + 1)
        if first in self.elements["frame"]:
            attached = self.elements["frame"][first].attributes.get("attached_to", "").strip()
            if not attached and self.outer is None:
                return WORLD
            return self.body(attached or self.canonical, asking, seen + 1)
        every = [*self.models, *(known for table in self.elements.values() for known in table)]
        raise asking.error(f"there is no link {name!r} here{hint(name, every)}")

    @property
    def canonical(self) -> str:
        """The link that the model's own frame is fixed to."""
        named = self.element.attributes.get("canonical_link", "").strip()
        if named:
            return named
        if self.elements["link"]:
            return next(iter(self.elements["link"]))
        if self.models:
            name, inner = next(iter(self.models.items()))
            return f"{name}::{inner.canonical}"
        raise self.element.error(f"the model {self.element.attributes.get('name')!r} has no link")

    def walk(self) -> Iterator[SdfScope]:
        """This scope and all inside it, in the order of the file."""
        yield self
        for inner in self.models.values():
            yield from inner.walk()


def _included(folder: Path, uri: str) -> Path | None:
    """The file behind ``model://name/...`` or a relative path, in the folder of the including file or above it."""
    relative = re.sub(r"^(model|package|file)://", "", uri)
    for above in (folder, folder.parent):
        for path in (above / relative, above / relative / "model.sdf"):
            if path.is_file():
                return path
    return None


# ---------------------------------------------------------------------------------------------------- bodies and joints


@dataclass
class SdfJoint:
    """A joint between two links.

    Args:
        parent: name of the parent link, in the mechanism.
        child: name of the child link.
        placement: the joint frame in the world.
    """

    name: str
    element: Element
    scope: SdfScope
    kind: str
    parent: str
    child: str
    placement: Transform


class SdfTree:
    """Puts a tree over the links, closes loops by constraints.

    Args:
        whole: the outermost scope.
        base: see :func:`read_sdf`.
    """

    def __init__(self, whole: SdfScope, base: str, notes: list[str]):
        self.whole, self.base, self.notes = whole, base, notes
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.constraints: list[Constraint] = []
        self.forces: list[Force] = []
        self.massless: list[str] = []
        self.places: dict[str, Transform] = {WORLD: Transform.identity()}
        self._taken: set[str] = set()

    def build(self) -> None:
        """Everything."""
        static: list[str] = []
        for scope in self.whole.walk():
            for name, link in scope.elements["link"].items():
                full = scope.prefix + name
                self.places[full] = scope.in_world(name, link)
                self.bodies.append(self._body(full, link))
                if scope.static:
                    static.append(full)
        if not self.bodies:
            raise self.whole.element.error("there is no <link>")
        links = [body.name for body in self.bodies]
        edges = [edge for scope in self.whole.walk() for edge in self._edges(scope)]
        self._taken = {edge.name for edge in edges}
        reached = {WORLD}
        for full in static:
            self._root(full, "fixed")
            reached.add(full)
        waiting = [edge for edge in edges if not {edge.parent, edge.child} <= reached]
        waiting = self._grow(reached, waiting)
        children = {edge.child for edge in edges}
        while rest := [name for name in links if name not in reached]:
            root = next((name for name in rest if name not in children), rest[0])
            self._root(root, self.base)
            reached.add(root)
            waiting = self._grow(reached, waiting)
        closing = {id(edge) for edge in waiting}
        for edge in waiting:
            self._close(edge)
        for edge in edges:
            if {edge.parent, edge.child} <= {WORLD, *static} and id(edge) not in closing:
                self.notes.append(f"line {edge.element.line}: joint {edge.name!r} joins what is static anyway")

    def _grow(self, reached: set[str], waiting: list[SdfJoint]) -> list[SdfJoint]:
        """Hang on the tree what joints reach, from parent to child wherever that is possible; returns joints that are
        left: those of other trees, and those that close loops.
        """
        while True:
            step = next((e for e in waiting if e.parent in reached and e.child not in reached), None)
            if step is None:
                step = next((e for e in waiting if e.child in reached and e.parent not in reached), None)
            if step is None:
                return waiting
            self._join(step, backwards=step.child in reached)
            reached |= {step.parent, step.child}
            waiting = [edge for edge in waiting if edge is not step]

    def _body(self, full: str, link: Element) -> Body:
        matter = inertia(link)
        if matter is None:
            self.massless.append(f"{full!r} (line {link.line})")
        for child in link.children:
            if child.tag not in SKIPPED["link"]:
                self.notes.append(f"line {child.line}: <{child.tag}> of link {full!r} was not read")
            elif child.tag == "gravity" and not boolean(child):
                text = f"line {child.line}: link {full!r} shall not feel gravity; here it does"
                self.notes.append(text)
                _warn(f"{link.file}: {text}")
        found = inertia(None) if matter is None else matter
        assert found is not None
        return Body(full, found, shapes(link, self.notes), collisions(link, self.notes))

    def _root(self, full: str, kind: str) -> None:
        self.joints.append(Joint(self._fresh(f"{full}_root"), kind, WORLD, full, self.places[full]))

    def _fresh(self, wish: str) -> str:
        while wish in self._taken:
            wish += "_"
        self._taken.add(wish)
        return wish

    def _edges(self, scope: SdfScope) -> Iterator[SdfJoint]:
        for name, element in scope.elements["joint"].items():
            written = element.attribute("type").strip()
            if written not in KINDS:
                mend = ", build it of joints of one degree" if written in ("revolute2", "gearbox") else ""
                raise element.error(
                    f"joint {name!r}: the type {written!r} is not read; known are {', '.join(KINDS)}{mend}"
                )
            ends = [scope.body(word(element.need(role)), element.need(role)) for role in ("parent", "child")]
            if ends[0] == ends[1]:
                raise element.error(f"joint {name!r} connects {ends[0]!r} to itself")
            for child in element.children:
                if child.tag not in SKIPPED["joint"]:
                    self.notes.append(f"line {child.line}: <{child.tag}> of joint {name!r} was not read")
            placement = scope.in_world(name, element)
            yield SdfJoint(scope.prefix + name, element, scope, KINDS[written], ends[0], ends[1], placement)

    def _join(self, edge: SdfJoint, backwards: bool) -> None:
        """A joint of the tree. The frame of a body is that of its joint; where the file has the link's elsewhere, a
        body without mass lies between.
        """
        inner, outer = (edge.child, edge.parent) if backwards else (edge.parent, edge.child)
        if backwards and edge.kind not in (*ONE_DEGREE, "fixed"):
            raise edge.element.error(
                f"joint {edge.name!r} of type {edge.element.attributes['type']} hangs its parent {edge.parent!r} on "
                f"its child {edge.child!r}, which holds the base; exchange <parent> and <child>"
            )
        axis, more = self._motion(edge)
        if backwards and edge.kind in ONE_DEGREE:
            axis = -axis  # so that the coordinate stays the same
        placement = self.places[inner].inverse() @ edge.placement
        offset = edge.placement.inverse() @ self.places[outer]
        if edge.kind == "fixed":
            self.joints.append(Joint(edge.name, "fixed", inner, outer, placement @ offset))
            return
        between = outer
        if not _is_identity(offset):
            between = self._fresh(f"{edge.name}_moved")
            self.bodies.append(Body(between))
            self.joints.append(Joint(self._fresh(f"{edge.name}_offset"), "fixed", between, outer, offset))
        self.joints.append(Joint(edge.name, edge.kind, inner, between, placement, axis=axis, **more))

    def _motion(self, edge: SdfJoint) -> tuple[Array, dict[str, Any]]:
        """Axis in the joint frame, and what else a joint has."""
        axis, more = np.array([0.0, 0.0, 1.0]), dict[str, Any]()
        if edge.kind in ("fixed", "spherical"):
            return axis, more
        first = edge.element.need("axis")
        axis = self._axis(edge, first)
        if edge.kind == "universal":
            more["axis2"] = self._axis(edge, edge.element.need("axis2"))
            self._leave_out(edge, first, ("limit", "dynamics"))
            self._leave_out(edge, edge.element.need("axis2"), ("limit", "dynamics"))
            return axis, more
        more["limits"] = _limits(first)
        dynamics = first.one("dynamics")
        if dynamics is not None:
            for name in ("damping", "friction"):
                more[name] = _inner(dynamics, name, 0.0)
            stiffness, rest = _inner(dynamics, "spring_stiffness", 0.0), _inner(dynamics, "spring_reference", 0.0)
            if stiffness:
                self.forces.append(
                    Force(f"{edge.name}_spring", "joint-spring", edge.name, stiffness=stiffness, rest=rest)
                )
        if edge.kind == "helical":
            more["pitch"] = _pitch(edge.element)
        if (mimic := first.one("mimic")) is not None:
            leader = mimic.attribute("joint")
            if leader not in edge.scope.elements["joint"]:
                known = edge.scope.elements["joint"]
                raise mimic.error(f"joint {edge.name!r} mimics {leader!r}, which does not exist{hint(leader, known)}")
            ratio, shift = _inner(mimic, "multiplier", 1.0), _inner(mimic, "offset", 0.0)
            reference = _inner(mimic, "reference", 0.0)
            more["mimic"] = Mimic(edge.scope.prefix + leader, ratio, shift - ratio * reference)
        return axis, more

    def _axis(self, edge: SdfJoint, element: Element) -> Array:
        xyz = element.one("xyz")
        given = np.array((0.0, 0.0, 1.0) if xyz is None else numbers(xyz, 3))
        length = float(np.linalg.norm(given))
        if not length > 1e-9:
            raise element.error(f"joint {edge.name!r}: the axis {given.tolist()} has length zero")
        given = given / length
        named = "" if xyz is None else xyz.attributes.get("expressed_in", "").strip()
        model_frame = element.one("use_parent_model_frame")
        if not named and (model_frame is not None and boolean(model_frame)):
            named = "__model__"
        elif not named and edge.scope.context.version < (1, 5):
            named = "__model__"  # in these versions always
        if not named:
            return given
        frame = Transform.identity() if named == WORLD else edge.scope.in_world(named, element)
        turned: Array = edge.placement.inverse().rotation @ frame.rotation @ given
        return np.where(np.abs(turned) < 1e-15, 0.0, turned)  # a zero of the file, rounded on the way

    def _leave_out(self, edge: SdfJoint, axis: Element, tags: tuple[str, ...]) -> None:
        for child in axis.children:
            if child.tag in tags:
                self.notes.append(f"line {child.line}: <{child.tag}> of joint {edge.name!r} was not taken over")

    def _close(self, edge: SdfJoint) -> None:
        """A joint between links that the tree connects already."""
        if edge.kind not in LOOPS and edge.kind != "universal":
            raise edge.element.error(
                f"joint {edge.name!r} of type {edge.element.attributes['type']} closes a loop; there may be "
                f"{', '.join(kind for kind, ours in KINDS.items() if ours in LOOPS or ours == 'universal')}. List the "
                "joints so that another one closes it: the tree takes them in their order"
            )
        at = [self.places[end].inverse() @ edge.placement for end in (edge.parent, edge.child)]
        if edge.kind == "universal":
            _, more = axes = self._motion(edge)
            turned = [_to_z(axes[0]), _to_z(more["axis2"])]
            kind = "universal"
        else:
            turned = [_to_z(self._motion(edge)[0])] * 2 if edge.kind in ONE_DEGREE else [Transform.identity()] * 2
            kind = LOOPS[edge.kind]
        self.forces = [force for force in self.forces if force.a != edge.name]
        ends = [place @ turn for place, turn in zip(at, turned)]
        self.constraints.append(Constraint(edge.name, kind, edge.parent, edge.child, ends[0], ends[1]))
        lost = [child.tag for axis in edge.element.all("axis") for child in axis.children if child.tag != "xyz"]
        without = f", without its {', '.join(lost)}" if lost else ""
        self.notes.append(f"line {edge.element.line}: joint {edge.name!r} closes a loop, a constraint{without}")


def _to_z(axis: Array) -> Transform:
    """A frame whose z lies along an axis."""
    return Transform.from_rotation(np.column_stack([*plane_axes(axis), axis]).astype(float))


def _is_identity(transform: Transform) -> bool:
    near: Callable[[Any, Any], bool] = lambda a, b: bool(np.abs(np.asarray(a, float) - b).max() < 1e-12)  # noqa: E731
    return near(transform.rotation, np.eye(3)) and near(transform.translation, np.zeros(3))


def _inner(parent: Element, tag: str, default: float) -> float:
    element = parent.one(tag)
    return default if element is None else number(element)


def _limits(axis: Element) -> Limits:
    element = axis.one("limit")
    if element is None:
        return Limits()

    def bound(tag: str, missing: float) -> float:
        inside = element.one(tag)
        value = missing if inside is None else number(inside, infinite=True)
        return math.copysign(math.inf, value) if abs(value) >= UNLIMITED else value

    lower, upper = bound("lower", -math.inf), bound("upper", math.inf)
    if lower > upper:
        raise element.error(f"the lower limit {lower:g} is above the upper limit {upper:g}")
    speed, effort = bound("velocity", math.inf), bound("effort", math.inf)
    return Limits(lower, upper, speed if speed >= 0 else math.inf, effort if effort >= 0 else math.inf)


def _pitch(joint: Element) -> float:
    """Advance per radian; ``screw_thread_pitch`` is that of a turn, the older ``thread_pitch`` minus its inverse."""
    if (element := joint.one("screw_thread_pitch")) is not None:
        return number(element) / (2 * math.pi)
    if (element := joint.one("thread_pitch")) is not None:
        pitch = number(element)
        if pitch == 0:
            raise element.error("a thread_pitch of zero is no screw")
        return -1 / pitch
    raise joint.error(f"joint {joint.attributes['name']!r} of type screw needs a <screw_thread_pitch>")
