"""Bodies, the shapes drawn for them, and extra frames fixed to them."""

from __future__ import annotations

from dataclasses import dataclass, field

from dalembert.algebra.transform import Transform
from dalembert.errors import ModelError
from dalembert.model.checks import expect, expect_items, shown
from dalembert.model.inertia import Inertia
from dalembert.model.record import Record

WORLD = "world"
"""Name of the ground. It is not listed among the bodies."""


@dataclass(frozen=True, eq=False)
class Shape(Record):
    """Geometry for pictures; it has no influence on the dynamics.

    Args:
        kind: ``"box"``, ``"sphere"``, ``"ellipsoid"``, ``"cylinder"``, ``"capsule"`` or ``"mesh"``.
        size: edge lengths of a box, radius of a sphere, semi-axes of an ellipsoid, (radius, length) of a cylinder or
            capsule, mesh scale.
        placement: shape frame in the body frame; cylinders lie along z.
        mesh: path or URI of the mesh file, as written in the source.
        colour: red, green, blue, opacity in 0..1.
    """

    kind: str
    size: tuple[float, ...] = ()
    placement: Transform = field(default_factory=Transform.identity)
    mesh: str = ""
    colour: tuple[float, float, float, float] = (0.7, 0.7, 0.7, 1.0)

    def __post_init__(self) -> None:
        expect(self.placement, Transform, "shape, placement", ModelError)


@dataclass(frozen=True, eq=False)
class Body(Record):
    """A rigid body; its frame is the frame of the joint that carries it, after the motion.

    Args:
        name: unique among the bodies; ``"world"`` is reserved for the ground.
        inertia: mass distribution in the body frame.
        shapes: geometry for pictures.
    """

    name: str
    inertia: Inertia = field(default_factory=Inertia)
    shapes: tuple[Shape, ...] = ()

    def __post_init__(self) -> None:
        expect(self.inertia, Inertia, f"body {shown(self.name)}, inertia", ModelError)
        shapes = expect_items(self.shapes, Shape, f"body {shown(self.name)}, shapes", ModelError)
        object.__setattr__(self, "shapes", shapes)


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
