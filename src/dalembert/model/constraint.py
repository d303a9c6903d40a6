"""Constraints beyond the kinematic tree, as data: closed loops, couplings, rolling, given motions, a user's own."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from dalembert.algebra.scalar import Scalar, is_number, same
from dalembert.algebra.transform import Transform
from dalembert.errors import ModelError
from dalembert.model.body import WORLD
from dalembert.model.checks import expect, expect_choice, expect_items, shown
from dalembert.model.formula import as_function
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
    "motion": "position of joint a is `function(t)`, or a polynomial (`coefficients`) of time",
    "rolling-disc": "thin disc of radius `value` in the xy plane of frame a rolls on the xy plane of frame b",
    "rolling-sphere": "sphere of radius `value` about the origin of a rolls on the xy plane of frame b",
    "rolling-ellipsoid": "ellipsoid with semi-axes `coefficients` along x, y, z of a rolls on the xy plane of frame b",
    "rolling-wheel": "wheel of radius `value`, kept upright by its joints, does not slip on the xy plane of frame b",
    "skate": "origin of a has no velocity along y of frame a, seen from frame b",
    "position": "the user's `function(q, t)` is zero",
    "velocity": "the user's `function(q, v, t)`, linear in v, is zero",
}
"""Every kind of constraint with its meaning. Where something rolls, it is on the side of positive z."""

ON_JOINTS = ("coupling", "motion")
"""Kinds whose ends are joints, not bodies or frames."""

OF_USERS = ("position", "velocity")
"""Kinds without ends."""

WITH_LENGTH = ("distance", "rolling-disc", "rolling-sphere", "rolling-wheel")
"""Kinds that need a positive ``value``."""

WITH_COEFFICIENTS = ("coupling", "motion", "rolling-ellipsoid")
"""Kinds that have ``coefficients``."""


@dataclass(frozen=True, eq=False)
class Constraint(Record):
    """What must hold beyond the kinematic tree.

    A user's function gets sequences of scalars of any kind - numbers, symbols, traced scalars - and returns one scalar
    or a sequence of them; use the functions of :mod:`dalembert.algebra.scalar`. SymPy expressions may take its place.

    Args:
        name: unique among the constraints.
        kind: one of :data:`CONSTRAINT_KINDS`.
        a: name of the first body or frame (or joint, for ``coupling`` and ``motion``).
        b: name of the second body or frame (or joint; left out or empty for a coupling that fixes joint a).
        placement_a: constraint frame in body a.
        placement_b: constraint frame in body b.
        value: the distance or radius, m.
        coefficients: of the polynomial, constant first, for ``coupling`` and ``motion``; semi-axes of an ellipsoid.
        function: of time for ``motion``; ``function(q, t)`` or ``function(q, v, t)`` for a user's own; SymPy
            expressions will do.
    """

    name: str
    kind: str
    a: str = WORLD
    b: str = WORLD
    placement_a: Transform = field(default_factory=Transform.identity)
    placement_b: Transform = field(default_factory=Transform.identity)
    value: Scalar = 0
    coefficients: tuple[Scalar, ...] = ()
    function: Any = None

    def __post_init__(self) -> None:
        where = f"constraint {shown(self.name)}"
        expect_choice(self.kind, CONSTRAINT_KINDS, f"{where}: unknown kind", ModelError)
        for name in ("a", "b"):
            expect(getattr(self, name), str, f"{where}, {name}", ModelError)
        for name in ("placement_a", "placement_b"):
            expect(getattr(self, name), Transform, f"{where}, {name}", ModelError)
        coefficients = expect_items(self.coefficients, object, f"{where}, coefficients", ModelError)
        object.__setattr__(self, "coefficients", coefficients)
        object.__setattr__(self, "function", as_function(self.function, f"{where}, function"))
        for value in (self.value, *self.coefficients):
            check_scalar(value, f"{where}, value or coefficient")
        self._check_needs(where)

    def _check_needs(self, where: str) -> None:
        if self.kind in WITH_LENGTH and is_number(self.value) and not 0 < self.value < math.inf:
            raise ModelError(f"{where}: a {self.kind} constraint needs a positive value (metres), got {self.value}")
        if self.kind == "rolling-ellipsoid" and len(self.coefficients) != 3:
            raise ModelError(f"{where}: give the three semi-axes as coefficients, got {len(self.coefficients)} numbers")
        if self.kind in OF_USERS and self.function is None:
            raise ModelError(f"{where}: a {self.kind} constraint needs a function")
        if self.kind == "motion" and (self.function is None) == (not self.coefficients):
            raise ModelError(f"{where}: give either coefficients or a function of time")
        if self.function is not None and self.kind not in (*OF_USERS, "motion"):
            raise ModelError(f"{where}: a {self.kind} constraint has no function; use 'position' or 'velocity'")
        if self.kind == "coupling" and not self.coefficients:
            raise ModelError(f"{where}: give the coefficients of its polynomial, constant first; (0, 1) is b = a")
        if self.kind == "coupling" and self.a == self.b:
            raise ModelError(f"{where}: couples joint {self.a!r} with itself; without b it fixes a joint where it is")
        if self.kind == "rolling-ellipsoid" and any(is_number(x) and not 0 < x < math.inf for x in self.coefficients):
            raise ModelError(f"{where}: semi-axes are positive lengths (metres), got {list(self.coefficients)}")
        self._check_uses(where)

    def _check_uses(self, where: str) -> None:
        """What a kind has no use for must stay at its default, so that nobody believes it to act."""
        idle: dict[str, tuple[Any, ...]] = {}
        if self.kind not in WITH_LENGTH:
            idle["value"] = (0,)
        if self.kind not in WITH_COEFFICIENTS:
            idle["coefficients"] = ((),)
        if not self.placements:
            idle |= {"placement_a": (Transform.identity(),), "placement_b": (Transform.identity(),)}
        if not self.has_ends:
            idle["a"] = (WORLD, "")
        if not self.has_ends or self.kind == "motion":
            idle["b"] = (WORLD, "")
        for name, defaults in idle.items():
            given = getattr(self, name)
            if not any(same(given, default) for default in defaults):
                raise ModelError(f"{where}: a {self.kind} constraint does not use {name}, got {given!r}")

    @property
    def on_joints(self) -> bool:
        """True if its ends are joints."""
        return self.kind in ON_JOINTS

    @property
    def has_ends(self) -> bool:
        """False for a user's own constraint, which may depend on anything."""
        return self.kind not in OF_USERS

    @property
    def ends(self) -> tuple[str, ...]:
        """Those of ``a`` and ``b`` that matter; the last of them is the joint that a coupling or a motion holds."""
        if not self.has_ends:
            return ()
        return ("a",) if self.kind == "motion" or (self.on_joints and self.b in ("", WORLD)) else ("a", "b")

    @property
    def of_coordinates(self) -> bool:
        """True if a user's function gets whole vectors, whose layout belongs to one mechanism."""
        return self.kind in OF_USERS

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the single numbers that matter for this kind."""
        return ("value",) if self.kind in WITH_LENGTH else ()

    @property
    def placements(self) -> tuple[str, ...]:
        """Names of the placements that matter for this kind."""
        return () if self.on_joints or not self.has_ends else ("placement_a", "placement_b")
