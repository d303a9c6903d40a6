"""Constraints and forces between parts of a mechanism, as data."""

from __future__ import annotations

from dataclasses import dataclass, field

from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.errors import ModelError
from dalembert.model.body import WORLD
from dalembert.model.record import Record, check_scalar

CONSTRAINT_KINDS = {
    "weld": "both frames coincide",
    "spherical": "both origins coincide",
    "revolute": "origins and z axes coincide",
    "prismatic": "frame b slides along z of frame a",
    "cylindrical": "frame b slides along and turns about z of frame a",
    "universal": "origins coincide, z of a stays normal to z of b",
    "distance": "the origins keep the distance `value`",
    "point-on-line": "origin of b stays on the z axis of a",
    "point-on-plane": "origin of b stays in the xy plane of a",
    "coupling": "position of joint b is a polynomial (`coefficients`) of the position of joint a",
}
"""Every kind of constraint with its meaning."""


@dataclass(frozen=True, eq=False)
class Constraint(Record):
    """A closure of a loop, or a coupling of joints, beyond the kinematic tree.

    Args:
        name: unique among the constraints.
        kind: one of :data:`CONSTRAINT_KINDS`.
        a: name of the first body (or joint, for a coupling).
        b: name of the second body (or joint; empty for a coupling that fixes joint a).
        placement_a: constraint frame in body a.
        placement_b: constraint frame in body b.
        value: the distance, for ``distance``.
        coefficients: polynomial coefficients, constant first, for ``coupling``.
    """

    name: str
    kind: str
    a: str
    b: str = WORLD
    placement_a: Transform = field(default_factory=Transform.identity)
    placement_b: Transform = field(default_factory=Transform.identity)
    value: Scalar = 0
    coefficients: tuple[Scalar, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in CONSTRAINT_KINDS:
            raise ModelError(
                f"constraint {self.name!r}: unknown kind {self.kind!r}; choose one of {', '.join(CONSTRAINT_KINDS)}"
            )
        for value in (self.value, *self.coefficients):
            check_scalar(value, f"constraint {self.name!r}, value or coefficient")


FORCE_KINDS = {
    "spring": "spring and damper along the line between a point of body a and a point of body b",
    "joint-spring": "spring and damper on the position of one-degree joint a",
}
"""Every kind of force with its meaning."""


@dataclass(frozen=True, eq=False)
class Force(Record):
    """A passive force element, as data.

    Args:
        name: unique among the forces.
        kind: one of :data:`FORCE_KINDS`.
        a: name of the first body (or joint).
        b: name of the second body.
        placement_a: attachment in body a.
        placement_b: attachment in body b.
        stiffness: N/m, or N m/rad.
        damping: N s/m, or N m s/rad.
        rest: free length, or free position.
    """

    name: str
    kind: str
    a: str
    b: str = WORLD
    placement_a: Transform = field(default_factory=Transform.identity)
    placement_b: Transform = field(default_factory=Transform.identity)
    stiffness: Scalar = 0
    damping: Scalar = 0
    rest: Scalar = 0

    def __post_init__(self) -> None:
        if self.kind not in FORCE_KINDS:
            raise ModelError(f"force {self.name!r}: unknown kind {self.kind!r}; choose one of {', '.join(FORCE_KINDS)}")
        for name in ("stiffness", "damping", "rest"):
            check_scalar(getattr(self, name), f"force {self.name!r}, {name}")
