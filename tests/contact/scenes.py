"""Small mechanisms that touch things, for tests of the laws of contact."""

from __future__ import annotations

from typing import Any

from dalembert.model import WORLD, Body, Contact, Ground, Inertia, Joint, Mechanism, Shape

G = 9.81

TILT = ("gravity.x", "gravity.y", "gravity.z", "touch.friction", "touch.restitution")
"""Parameters of motions on a plane: gravity is tilted instead of it, so that one program serves all inclines."""


def ball(ground: Ground | None = None, radius: float = 0.1, **numbers: Any) -> Mechanism:
    """A solid ball of 1 kg on a ground."""
    body = Body("ball", Inertia.sphere(1, radius))
    contact = Contact("touch", "ball", WORLD, Shape("sphere", (radius,)), ground, **{"friction": 0.3} | numbers)
    return Mechanism("ball", (body,), (Joint("base", "free", WORLD, "ball"),), contacts=(contact,))


def block(length: float = 0.2, height: float = 0.1, **numbers: Any) -> Mechanism:
    """A block of 2 kg that stands on its four lower corners, origin in the middle."""
    x, z = length / 2, -height / 2
    corners = Shape("points", vertices=((-x, -x, z), (x, -x, z), (-x, x, z), (x, x, z)))
    body = Body("block", Inertia.box(2, (length, length, height)))
    contact = Contact("touch", "block", WORLD, corners, **{"friction": 0.5} | numbers)
    return Mechanism("block", (body,), (Joint("base", "free", WORLD, "block"),), contacts=(contact,))
