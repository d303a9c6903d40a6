"""Small mechanisms that touch things, for tests of the laws of contact."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.model import (
    WORLD,
    Body,
    Constraint,
    Contact,
    Frame,
    Ground,
    Inertia,
    Joint,
    Limits,
    Mechanism,
    Shape,
)

G = 9.81

TILT = ("gravity.x", "gravity.y", "gravity.z", "touch.friction", "touch.restitution")
"""Parameters of motions on a plane: gravity is tilted instead of it, so that one program serves all inclines."""


def ball(ground: Ground | None = None, radius: float = 0.1, **numbers: Any) -> Mechanism:
    """A solid ball of 1 kg on a ground."""
    body = Body("ball", Inertia.sphere(1, radius))
    contact = Contact("touch", "ball", WORLD, Shape("sphere", (radius,)), ground, **{"friction": 0.3} | numbers)
    return Mechanism("ball", (body,), (Joint("base", "free", WORLD, "ball"),), contacts=(contact,))


def block(length: float = 0.2, height: float = 0.1, ground: Ground | None = None, **numbers: Any) -> Mechanism:
    """A block of 2 kg that stands on its four lower corners, origin in the middle."""
    x, z = length / 2, -height / 2
    corners = Shape("points", vertices=((-x, -x, z), (x, -x, z), (-x, x, z), (x, x, z)))
    body = Body("block", Inertia.box(2, (length, length, height)))
    contact = Contact("touch", "block", WORLD, corners, ground, **{"friction": 0.5} | numbers)
    return Mechanism("block", (body,), (Joint("base", "free", WORLD, "block"),), contacts=(contact,))


def rimless_wheel(spokes: int = 8, length: float = 1.0, inertia: float = 0.2) -> Mechanism:
    """A wheel of 1 kg without a rim in the plane x, z: a hub, points at the ends of its spokes; v = [z, x, angle]."""
    ends = [(length * math.sin(2 * math.pi * k / spokes), 0, -length * math.cos(2 * math.pi * k / spokes))
            for k in range(spokes)]  # fmt: skip
    hub = Body("hub", Inertia(1, (0, 0, 0), np.diag([0.1, inertia, 0.1])))
    contact = Contact("touch", "hub", WORLD, Shape("points", vertices=tuple(ends)), friction=2)
    joint = Joint("plane", "planar", WORLD, "hub", axis=np.array([0.0, 1.0, 0.0]))
    return Mechanism("rimless wheel", (hub,), (joint,), contacts=(contact,))


def gripper(force: float = 10.0) -> Mechanism:
    """Two fingers on slides along y, and a capsule of 0.1 kg between them."""
    finger = Inertia.box(0.2, (0.02, 0.02, 0.1))
    along = np.array([0.0, 1.0, 0.0])
    joints = (
        Joint("left", "prismatic", WORLD, "left finger", axis=along),
        Joint("right", "prismatic", WORLD, "right finger", axis=along),
        Joint("base", "free", WORLD, "capsule"),
    )
    bodies = (
        Body("left finger", finger),
        Body("right finger", finger),
        Body("capsule", Inertia.box(0.1, (0.04, 0.04, 0.1))),
    )
    pad, held = Shape("box", (0.1, 0.02, 0.1)), Shape("capsule", (0.02, 0.06))
    contacts = tuple(Contact(name, "capsule", f"{name} finger", held, pad, friction=0.5) for name in ("left", "right"))
    return Mechanism("gripper", bodies, joints, contacts=contacts)


def slider_crank(stop: float = 0.35) -> Mechanism:
    """A crank of 0.1 m and a rod of 0.3 m drive a slide along x, which has a stop; without weight."""
    joints = (
        Joint("crank", "revolute", WORLD, "crank"),
        Joint("pin", "revolute", "crank", "rod", Transform.from_translation((0.1, 0, 0))),
        Joint("slide", "prismatic", WORLD, "slider", axis=np.array([1.0, 0, 0]), limits=Limits(0.0, stop)),
    )
    bodies = (
        Body("crank", Inertia.box(0.5, (0.1, 0.02, 0.02), (0.05, 0, 0))),
        Body("rod", Inertia.box(0.3, (0.3, 0.02, 0.02), (0.15, 0, 0))),
        Body("slider", Inertia.box(0.4, (0.05, 0.05, 0.05))),
    )
    loop = Constraint("wrist", "point-on-line", "slider", "rod", placement_b=Transform.from_translation((0.3, 0, 0)),
                      placement_a=Transform(Transform.identity().rotation, np.zeros(3)))  # fmt: skip
    return Mechanism("slider-crank", bodies, joints, constraints=(loop,), gravity=(0, 0, 0))


def trestle() -> Mechanism:
    """A beam of 4 kg on a slide along z, on two legs that a rod between their smooth feet keeps from spreading."""
    along = np.array([0.0, 0.0, 1.0])
    y = np.array([0.0, 1.0, 0.0])
    leg = Inertia.box(1, (0.02, 0.02, 0.5), (0, 0, -0.25))
    joints = (
        Joint("lift", "prismatic", WORLD, "beam", axis=along),
        Joint("left", "revolute", "beam", "left leg", Transform.from_translation((-0.2, 0, 0)), axis=y),
        Joint("right", "revolute", "beam", "right leg", Transform.from_translation((0.2, 0, 0)), axis=y),
    )
    feet = tuple(Frame(f"{side} foot", f"{side} leg", Transform.from_translation((0, 0, -0.5)))
                 for side in ("left", "right"))  # fmt: skip
    tie = Constraint("tie", "distance", "left foot", "right foot", value=0.8)
    contacts = tuple(Contact(f.name, f.name, WORLD, Shape("sphere", (0.02,)), friction=0) for f in feet)
    bodies = (Body("beam", Inertia.box(4, (0.4, 0.05, 0.05))), Body("left leg", leg), Body("right leg", leg))
    return Mechanism("trestle", bodies, joints, feet, constraints=(tie,), contacts=contacts)


def cradle(count: int = 5, radius: float = 0.05) -> Mechanism:
    """Balls of 1 kg in a row on slides along x, without weight, that touch and lose nothing."""
    names = [f"ball {k}" for k in range(count)]
    along = np.array([1.0, 0.0, 0.0])
    joints = tuple(
        Joint(f"slide {k}", "prismatic", WORLD, name, Transform.from_translation((2 * radius * k, 0, 0)), axis=along)
        for k, name in enumerate(names)
    )
    sphere = Shape("sphere", (radius,))
    contacts = tuple(Contact(f"{a}-{b}", a, b, sphere, sphere, friction=0, restitution=1) for a, b in pairwise(names))
    bodies = tuple(Body(name, Inertia.sphere(1, radius)) for name in names)
    return Mechanism("cradle", bodies, joints, contacts=contacts, gravity=(0, 0, 0))


def rod(friction: float, length: float = 1.0, **numbers: Any) -> Mechanism:
    """A thin rod of 1 kg along its x axis in the plane x, z, its end at -length/2 on the ground; v = [z, x, angle].

    The angle turns x towards -z.
    """
    tensor = np.diag([0.0, length**2 / 12, length**2 / 12])
    tip = Shape("points", vertices=((-length / 2, 0, 0),))
    contact = Contact("tip", "rod", WORLD, tip, friction=friction, **numbers)
    joint = Joint("plane", "planar", WORLD, "rod", axis=np.array([0.0, 1.0, 0.0]))
    return Mechanism("rod", (Body("rod", Inertia(1, (0, 0, 0), tensor)),), (joint,), contacts=(contact,))


def four_bar() -> Mechanism:
    """Four bars of 0.4 m in the plane x, z that a pin closes; they stand on a short foot at each lower corner."""
    bar = Inertia.box(1, (0.4, 0.02, 0.02), (0.2, 0, 0))
    y = np.array([0.0, 1.0, 0.0])
    at_end = Transform.from_translation((0.4, 0, 0))
    joints = (
        Joint("plane", "planar", WORLD, "lower", axis=y),
        Joint("left", "revolute", "lower", "left bar", axis=y),
        Joint("right", "revolute", "lower", "right bar", at_end, axis=y),
        Joint("top", "revolute", "left bar", "upper", at_end, axis=y),
    )
    pin = Constraint("pin", "spherical", "upper", "right bar", placement_a=at_end, placement_b=at_end)
    feet = Shape("points", vertices=((0, 0, -0.02), (0.4, 0, -0.02)))
    contact = Contact("feet", "lower", WORLD, feet, friction=0.3)
    bodies = tuple(Body(name, bar) for name in ("lower", "left bar", "right bar", "upper"))
    return Mechanism("four-bar", bodies, joints, constraints=(pin,), contacts=(contact,))


def simplest_walker(foot: float = 1e-7) -> Mechanism:
    """A hip of 1 kg on two massless legs of 1 m with point feet, after Garcia and others (1998), g = 1 m/s^2.

    Coordinates: x and z of the hip, the angle of either leg, which turns its foot, straight below at zero, forward.
    """
    x, y, z = np.eye(3)
    leg = Inertia(foot, (0, 0, -1), np.zeros((3, 3)))
    joints = (
        Joint("x", "prismatic", WORLD, "slide", axis=x),
        Joint("z", "prismatic", "slide", "hip", axis=z),
        Joint("a", "revolute", "hip", "leg a", axis=-y),
        Joint("b", "revolute", "hip", "leg b", axis=-y),
    )
    tip = Shape("points", vertices=((0, 0, -1),))
    contacts = tuple(Contact(f"foot {k}", f"leg {k}", WORLD, tip, friction=10) for k in "ab")
    bodies = (Body("slide"), Body("hip", Inertia(1, (0, 0, 0), np.zeros((3, 3)))), Body("leg a", leg),
              Body("leg b", leg))  # fmt: skip
    return Mechanism("simplest walker", bodies, joints, contacts=contacts)
