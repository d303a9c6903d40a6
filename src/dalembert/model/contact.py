"""Contacts, as data: which shape of a body may touch which other shape or ground, and how rough and stiff both are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dalembert.algebra.scalar import Scalar, is_number
from dalembert.errors import ModelError
from dalembert.model.body import WORLD, Frame, Shape
from dalembert.model.checks import expect, expect_items, shown
from dalembert.model.ground import Ground
from dalembert.model.joint import Joint
from dalembert.model.record import Record, check_scalar, is_negative

SOLREF = (0.02, 1.0)
"""Time constant (s) and damping ratio of MuJoCo's soft contact, its default."""

SOLIMP = (0.9, 0.95, 0.001, 0.5, 2.0)
"""Impedances d0 and d_width, width (m), midpoint and power of MuJoCo's soft contact, its default."""

NUMBERS = ("friction", "restitution", "torsional", "rolling", "stiffness", "damping", "slip_speed")


@dataclass(frozen=True, eq=False)
class Contact(Record):
    """A pair of shapes that may touch, with the numbers of every law of contact; each law uses those it needs.

    Args:
        name: unique among the contacts.
        a: body or frame that carries ``shape_a``.
        b: body or frame that carries ``shape_b``; the world for a ground that stands still.
        shape_a: collision shape, placed in the frame ``a``.
        shape_b: collision shape or :class:`~dalembert.model.ground.Ground`, placed in the frame ``b``; the plane z = 0
            by default.
        friction: Coulomb's coefficient; must be given, 0 is frictionless.
        restitution: Newton's coefficient of restitution, 0 .. 1.
        stiffness: of the compliant law, N/m; None if there is none.
        damping: of the compliant law, s/m: the normal force is ``stiffness d (1 + damping d')`` at depth d.
        torsional: coefficient of friction against turning about the normal, m: moment over normal force.
        rolling: coefficient of friction against rolling, m.
        solref: time constant (s) and damping ratio of the convex law, as MuJoCo means them.
        solimp: impedances, width, midpoint and power of the convex law, as MuJoCo means them.
        slip_speed: of the compliant law, m/s, at which friction is at 71 per cent of its bound; 1 mm/s if None.
    """

    name: str
    a: str
    b: str = WORLD
    shape_a: Any = None
    shape_b: Any = None
    friction: Any = None
    restitution: Scalar = 0
    stiffness: Any = None
    damping: Any = None
    torsional: Scalar = 0
    rolling: Scalar = 0
    solref: tuple[Scalar, ...] = SOLREF
    solimp: tuple[Scalar, ...] = SOLIMP
    slip_speed: Any = None

    def __post_init__(self) -> None:
        where = f"contact {shown(self.name)}"
        for name in ("a", "b"):
            expect(getattr(self, name), str, f"{where}, {name}", ModelError)
        if self.shape_b is None:
            object.__setattr__(self, "shape_b", Ground.plane())
        expect(self.shape_a, Shape, f"{where}, shape_a", ModelError)
        if not isinstance(self.shape_b, (Shape, Ground)):
            raise ModelError(f"shape_b: expected a Shape or a Ground, got {shown(self.shape_b)}", where=where)
        for name in ("shape_a", "shape_b"):
            shape = getattr(self, name)
            if isinstance(shape, Shape):
                shape.check_size(f"{where}, {name}")
        if self.a == self.b:
            raise ModelError(f"a body cannot touch itself, both ends are {self.a!r}", where=where)
        if self.friction is None:
            raise ModelError("give its coefficient of friction; 0 is frictionless", where=where, argument="friction")
        for name in NUMBERS:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_scalar(getattr(self, name), f"{where}, {name}"))
        for name, count in (("solref", 2), ("solimp", 5)):
            values = expect_items(getattr(self, name), object, f"{where}, {name}", ModelError)
            if len(values) != count:
                raise ModelError(f"{name} has {count} numbers, got {len(values)}", where=where)
            object.__setattr__(self, name, tuple(check_scalar(x, f"{where}, {name}") for x in values))
        self._check_values(where)

    def _check_values(self, where: str) -> None:
        for name in self.numbers:
            value = getattr(self, name)
            if is_negative(value) or (is_number(value) and not math.isfinite(value)):
                raise ModelError(f"{name} is a number not below 0, got {value}", where=where, argument=name)
        if is_number(self.restitution) and self.restitution > 1:
            raise ModelError(
                f"restitution lies between 0 (no rebound) and 1 (no loss), got {self.restitution}",
                where=where,
                argument="restitution",
            )
        if is_number(self.stiffness) and self.stiffness == 0:
            raise ModelError("a stiffness of 0 carries nothing; leave it out where there is none", where=where)
        if is_number(self.slip_speed) and self.slip_speed == 0:
            raise ModelError("a slip_speed of 0 makes friction jump; give a small speed, m/s", where=where)

    # ------------------------------------------------- what operations on mechanisms ask of constraints and forces too

    @property
    def on_joints(self) -> bool:
        """False: its ends are bodies or frames."""
        return False

    @property
    def has_ends(self) -> bool:
        """True: it acts between two frames."""
        return True

    @property
    def of_coordinates(self) -> bool:
        """False: it depends on the poses of its ends only."""
        return False

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the single numbers that are given."""
        return tuple(name for name in NUMBERS if getattr(self, name) is not None)


def rigidly_joined(joints: Iterable[Joint], frames: Iterable[Frame], contact: Contact) -> bool:
    """True if only fixed joints lie between the ends of a contact, which then cannot move apart."""
    welded = {joint.child: joint.parent for joint in joints if joint.kind == "fixed"}
    on = {frame.name: frame.body for frame in frames}

    def root(name: str) -> str:
        name = on.get(name, name)
        for _ in range(len(welded) + 1):  # a tree that has not been validated may have loops
            if name not in welded:
                break
            name = welded[name]
        return name

    return root(contact.a) == root(contact.b)
