"""Constraints beyond the kinematic tree, as data: closed loops, couplings, rolling, given motions, a user's own."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from dalembert.algebra.scalar import Scalar, is_number
from dalembert.algebra.transform import Transform
from dalembert.errors import ModelError
from dalembert.model.body import WORLD
from dalembert.model.checks import expect, expect_choice, expect_items, shown
from dalembert.model.formula import as_function
from dalembert.model.record import Kind, Record, check_scalar

FIELDS = {
    "weld": Kind("both frames coincide"),
    "spherical": Kind("both origins coincide"),
    "revolute": Kind("origins and z axes coincide"),
    "prismatic": Kind("frame b slides along z of frame a"),
    "cylindrical": Kind("frame b slides along and turns about z of frame a"),
    "universal": Kind("origins coincide, z of a stays normal to z of b"),
    "distance": Kind("the origins keep the distance `value`", may=("value",)),
    "point-on-line": Kind("origin of b stays on the z axis of a"),
    "point-on-plane": Kind("origin of b stays in the xy plane of a"),
    "coupling": Kind(
        "position of joint b is a polynomial (`coefficients`) of the position of joint a",
        on="joints", may=("coefficients",),
    ),
    "motion": Kind(
        "position of joint a is `function(t)`, or a polynomial (`coefficients`) of time",
        ("a",), "joints", may=("coefficients", "function"),
    ),
    "rolling-disc": Kind(
        "thin disc of radius `value` in the xy plane of frame a rolls on the xy plane of frame b", may=("value",)
    ),
    "rolling-sphere": Kind(
        "sphere of radius `value` about the origin of a rolls on the xy plane of frame b", may=("value",)
    ),
    "rolling-ellipsoid": Kind(
        "ellipsoid with semi-axes `coefficients` along x, y, z of a rolls on the xy plane of frame b",
        may=("coefficients",),
    ),
    "rolling-wheel": Kind(
        "wheel of radius `value`, kept upright by its joints, does not slip on the xy plane of frame b", may=("value",)
    ),
    "skate": Kind("origin of a has no velocity along y of frame a, seen from frame b"),
    "position": Kind("the user's `function(q, t)` is zero", (), needs=("function",)),
    "velocity": Kind("the user's `function(q, v, t)`, linear in v, is zero", (), needs=("function",)),
}  # fmt: skip
"""Every kind of constraint with its meaning and its fields. Where something rolls, it is on the side of positive z."""

CONSTRAINT_KINDS = {name: kind.meaning for name, kind in FIELDS.items()}
"""Every kind of constraint with its meaning."""


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
        FIELDS[self.kind].check(self, where)
        self._check_values(where)

    def _check_values(self, where: str) -> None:
        count, wrong = len(self.coefficients), ""
        if "value" in self.numbers and is_number(self.value) and not 0 < self.value < math.inf:
            wrong = f"a {self.kind} constraint needs a positive value (metres), got {self.value}"
        elif self.kind == "rolling-ellipsoid" and count != 3:
            wrong = f"give the three semi-axes as coefficients, got {count} numbers"
        elif self.kind == "rolling-ellipsoid" and any(is_number(x) and not 0 < x < math.inf for x in self.coefficients):
            wrong = f"semi-axes are positive lengths (metres), got {list(self.coefficients)}"
        elif self.kind == "motion" and (self.function is None) == (not self.coefficients):
            wrong = "give either coefficients or a function of time"
        elif self.kind == "coupling" and not self.coefficients:
            wrong = "give the coefficients of its polynomial, constant first; (0, 1) is b = a"
        elif self.kind == "coupling" and self.a == self.b:
            wrong = f"couples joint {self.a!r} with itself; without b it fixes a joint where it is"
        if wrong:
            raise ModelError(wrong, where=where)

    @property
    def on_joints(self) -> bool:
        """True if its ends are joints."""
        return FIELDS[self.kind].on == "joints"

    @property
    def has_ends(self) -> bool:
        """False for a user's own constraint, which may depend on anything."""
        return bool(FIELDS[self.kind].ends)

    @property
    def ends(self) -> tuple[str, ...]:
        """Those of ``a`` and ``b`` that matter; the last is the joint that a coupling or motion prescribes."""
        fixes = self.kind == "coupling" and self.b in ("", WORLD)
        return ("a",) if fixes else FIELDS[self.kind].ends

    @property
    def of_coordinates(self) -> bool:
        """True if a user's function gets whole vectors, whose layout belongs to one mechanism."""
        return not self.has_ends

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the single numbers that matter for this kind."""
        return tuple(name for name in FIELDS[self.kind].may if name == "value")

    @property
    def placements(self) -> tuple[str, ...]:
        """Names of the placements that matter for this kind."""
        return FIELDS[self.kind].placements
