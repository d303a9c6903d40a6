"""Bodies, the shapes drawn for them, the shapes that touch, and extra frames fixed to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dalembert.algebra.scalar import Scalar, is_number
from dalembert.algebra.transform import Transform
from dalembert.errors import ModelError
from dalembert.model.checks import expect, expect_choice, expect_items, shown
from dalembert.model.inertia import Inertia
from dalembert.model.record import UNLESS_DEFAULT, Record, check_scalar

WORLD = "world"
"""Name of the ground. It is not listed among the bodies."""


SIZES_OF_SHAPES = {
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "box": ("edge along x", "edge along y", "edge along z"),
    "cylinder": ("radius", "length"),
    "ellipsoid": ("semi-axis along x", "semi-axis along y", "semi-axis along z"),
    "points": (),
    "mesh": (),
}
"""Kinds of shapes that can touch, and what their sizes are."""


@dataclass(frozen=True, eq=False)
class Surface(Record):
    """What a file says about contacts of one shape; :func:`dalembert.contacts` makes pairs of it. None: nothing said.

    Args:
        friction: Coulomb's coefficient.
        torsional: coefficient of friction against turning about the normal, m.
        rolling: coefficient of friction against rolling, m.
        solref: time constant and damping ratio of MuJoCo's soft contact.
        solimp: impedance of MuJoCo's soft contact, five numbers.
        contype: bits; two shapes may touch if a bit of one's contype is in the other's conaffinity.
        conaffinity: bits.
        priority: the surface of higher priority gives the numbers of the pair, else they are mixed.
        mixing: weight with which solref and solimp of two surfaces of equal priority are mixed.
        dimensions: 1 without friction, 3 with sliding friction, 4 with torsional, 6 with rolling friction too.
    """

    friction: Scalar | None = None
    torsional: Scalar | None = None
    rolling: Scalar | None = None
    solref: tuple[float, ...] | None = None
    solimp: tuple[float, ...] | None = None
    contype: int = 1
    conaffinity: int = 1
    priority: int = 0
    mixing: float = 1.0
    dimensions: int = 3


@dataclass(frozen=True, eq=False)
class Shape(Record):
    """Geometry of a body: for pictures, without influence on the dynamics, or for contacts.

    Args:
        kind: ``"box"``, ``"sphere"``, ``"ellipsoid"``, ``"cylinder"``, ``"capsule"`` or ``"mesh"``; for contacts also
            ``"points"``.
        size: edge lengths of a box, radius of a sphere, semi-axes of an ellipsoid, (radius, length) of a cylinder or
            capsule (of which the length is that of the straight part), mesh scale. Numbers or symbols for contacts.
        placement: shape frame in the body frame; cylinders lie along z.
        mesh: path or URI of the mesh file, as written in the source.
        colour: red, green, blue, opacity in 0..1.
        name: of a shape that touches, if it has one.
        vertices: of ``"points"``, or of the convex hull of a ``"mesh"`` that touches, m, in the shape frame.
        surface: of a shape that touches, what its file says about it.
    """

    kind: str
    size: tuple[float, ...] = ()
    placement: Transform = field(default_factory=Transform.identity)
    mesh: str = ""
    colour: tuple[float, float, float, float] = (0.7, 0.7, 0.7, 1.0)
    name: str = field(default="", metadata=UNLESS_DEFAULT)
    vertices: tuple[tuple[Scalar, ...], ...] = field(default=(), metadata=UNLESS_DEFAULT)
    surface: Surface | None = field(default=None, metadata=UNLESS_DEFAULT)

    def __post_init__(self) -> None:
        expect(self.placement, Transform, "shape, placement", ModelError)
        vertices = tuple(tuple(p) if isinstance(p, Sequence) else tuple(p.tolist()) for p in _listed(self.vertices))
        if any(len(p) != 3 for p in vertices):
            raise ModelError("a vertex is three numbers, x, y, z", where="shape, vertices")
        object.__setattr__(self, "vertices", vertices)
        if self.surface is not None:
            expect(self.surface, Surface, "shape, surface", ModelError)

    # ------------------------------------------------------------------------------------------- makers, for contacts

    @classmethod
    def sphere(cls, radius: Scalar, at: Any = (0, 0, 0), **more: Any) -> Shape:
        """A sphere.

        Args:
            radius: m.
            at: its centre in the body frame, m, or a Transform; so for all others.
            more: other fields, ``name``, ``surface`` or ``colour``; so for all others.
        """
        return cls("sphere", (radius,), _placed(at), **more)

    @classmethod
    def capsule(cls, radius: Scalar, length: Scalar, at: Any = (0, 0, 0), **more: Any) -> Shape:
        """A capsule along z, or along z of the Transform ``at``.

        Args:
            radius: m.
            length: of the straight part, m.
            at: see :meth:`sphere`.
            more: see :meth:`sphere`.
        """
        return cls("capsule", (radius, length), _placed(at), **more)

    @classmethod
    def cylinder(cls, radius: Scalar, length: Scalar, at: Any = (0, 0, 0), **more: Any) -> Shape:
        """A cylinder along z, or along z of the Transform ``at``.

        Args:
            radius: m.
            length: m.
            at: see :meth:`sphere`.
            more: see :meth:`sphere`.
        """
        return cls("cylinder", (radius, length), _placed(at), **more)

    @classmethod
    def box(cls, x: Scalar, y: Scalar, z: Scalar, at: Any = (0, 0, 0), **more: Any) -> Shape:
        """A box.

        Args:
            x: edge along x, m, whole length.
            y: edge along y, m.
            z: edge along z, m.
            at: see :meth:`sphere`.
            more: see :meth:`sphere`.
        """
        return cls("box", (x, y, z), _placed(at), **more)

    @classmethod
    def ellipsoid(cls, x: Scalar, y: Scalar, z: Scalar, at: Any = (0, 0, 0), **more: Any) -> Shape:
        """An ellipsoid.

        Args:
            x: semi-axis along x, m.
            y: semi-axis along y, m.
            z: semi-axis along z, m.
            at: see :meth:`sphere`.
            more: see :meth:`sphere`.
        """
        return cls("ellipsoid", (x, y, z), _placed(at), **more)

    @classmethod
    def points(cls, vertices: Any, **more: Any) -> Shape:
        """Points that touch: the corners of a foot, for example.

        Args:
            vertices: in the body frame, m, (n, 3).
            more: see :meth:`sphere`.
        """
        return cls("points", vertices=vertices, **more)

    def check_size(self, where: str) -> None:
        """Raise a ModelError unless the shape has what contacts need: a kind that can touch, and its sizes.

        Args:
            where: whose shape it is, for the message.
        """
        expect_choice(self.kind, SIZES_OF_SHAPES, f"{where}: no kind of collision shape is called", ModelError)
        wanted = SIZES_OF_SHAPES[self.kind]
        if self.kind in ("points", "mesh"):
            if not self.vertices:
                which = f" of {self.mesh!r}" if self.mesh else ""
                raise ModelError(
                    f"a {self.kind} shape touches by its vertices, and those{which} are not given; a capsule, a box "
                    "or the vertices of the convex hull would serve",
                    where=where,
                )
            for x in (x for vertex in self.vertices for x in vertex):
                check_scalar(x, f"{where}, vertex")
            return
        if len(self.size) != len(wanted):
            raise ModelError(
                f"a {self.kind} has {len(wanted)} sizes ({', '.join(wanted)}), got {list(self.size)}", where=where
            )
        for what, x in zip(wanted, self.size):
            check_scalar(x, f"{where}, {what}")
            if is_number(x) and not 0 < x < math.inf:
                raise ModelError(f"the {what} of a {self.kind} is a positive length (m), got {x}", where=where)


def _placed(at: Any) -> Transform:
    return at if isinstance(at, Transform) else Transform.from_translation(at)


def _listed(vertices: Any) -> list[Any]:
    try:
        return list(vertices)
    except TypeError:
        raise ModelError(f"expected points (x, y, z), got {shown(vertices)}", where="shape, vertices") from None


@dataclass(frozen=True, eq=False)
class Body(Record):
    """A rigid body; its frame is the frame of the joint that carries it, after the motion.

    Args:
        name: unique among the bodies; ``"world"`` is reserved for the ground.
        inertia: mass distribution in the body frame.
        shapes: geometry for pictures.
        collisions: geometry for contacts, apart from that for pictures; :func:`dalembert.contacts` makes pairs of it.
    """

    name: str
    inertia: Inertia = field(default_factory=Inertia)
    shapes: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = field(default=(), metadata=UNLESS_DEFAULT)

    def __post_init__(self) -> None:
        expect(self.inertia, Inertia, f"body {shown(self.name)}, inertia", ModelError)
        for name in ("shapes", "collisions"):
            where = f"body {shown(self.name)}, {name}"
            object.__setattr__(self, name, expect_items(getattr(self, name), Shape, where, ModelError))
        for k, shape in enumerate(self.collisions):
            if shape.kind != "mesh" or shape.vertices:  # that of a file is known by its path only, until it is read
                shape.check_size(f"body {shown(self.name)}, collision shape {shape.name or k}")


@dataclass(frozen=True, eq=False)
class Frame(Record):
    """A named frame fixed to a body: a tool, a sensor, an attachment point.

    Args:
        name: unique among frames and bodies.
        body: the body that carries it, or ``"world"``.
        placement: this frame in the body's frame.
    """

    name: str
    body: str
    placement: Transform = field(default_factory=Transform.identity)

    def __post_init__(self) -> None:
        expect(self.body, str, f"frame {shown(self.name)}, body", ModelError)
        expect(self.placement, Transform, f"frame {shown(self.name)}, placement", ModelError)
