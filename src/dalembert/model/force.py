"""Force elements, as data: springs, dampers, friction, stops, wrenches, fields of gravity, a user's own."""

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
from dalembert.model.record import Kind, Record, check_scalar

_SPRING = ("stiffness", "damping", "rest")

FIELDS = {
    "spring": Kind("spring and damper along the line between a point of body a and a point of body b", may=_SPRING),
    "torsional-spring": Kind("spring and damper on the angle of frame b about z of frame a", may=_SPRING),
    "joint-spring": Kind("spring and damper on the position of one-degree joint a", ("a",), "joints", may=_SPRING),
    "joint-friction": Kind(
        "Coulomb friction of `value` in one-degree joint a; smooth over speeds of about `smoothing`",
        ("a",), "joints", may=("value", "smoothing"),
    ),
    "joint-stop": Kind(
        "spring and damper that never pull on one-degree joint a outside `lower` .. `upper`; see `smoothing`",
        ("a",), "joints", may=("stiffness", "damping", "lower", "upper", "smoothing"),
    ),
    "joint-force": Kind(
        "`value`, or `function(t)`, on one-degree joint a", ("a",), "joints", may=("value", "function")
    ),
    "wrench": Kind(
        "constant `components` [force; moment] at the origin of frame a, in its axes, or in those of frame b if given",
        may=("components",),
    ),
    "user": Kind("the user's generalised forces `function(q, v, t)`, nv of them", (), needs=("function",)),
    "user-wrench": Kind(
        "the user's `function(q, v, t)` = [force; moment] at the origin of frame a, in its axes, or in those of b if "
        "given", needs=("function",),
    ),
    "attraction": Kind(
        "inverse-square gravity of a point at frame a of the ground, `value` = G M, on every body",
        ("a",), may=("value",),
    ),
    "oblate-planet": Kind(
        "gravity of a planet at frame a of the ground, on every body: `value` = G M, axis z, `oblateness` J2, `radius`",
        ("a",), may=("value", "oblateness", "radius"),
    ),
    "gravity-field": Kind(
        "the user's acceleration of free fall `function(p, t)` at point p, world axes, on every body",
        (), needs=("function",),
    ),
}  # fmt: skip
"""Every kind of force with its meaning and its fields."""

FORCE_KINDS = {name: kind.meaning for name, kind in FIELDS.items()}
"""Every kind of force with its meaning."""


@dataclass(frozen=True, eq=False)
class Force(Record):
    """A force element; those of a mechanism act unless others are named.

    Args:
        name: unique among the forces.
        kind: one of :data:`FORCE_KINDS`.
        a: name of the first body or frame (or joint).
        b: name of the second body or frame, the world by default; of a wrench the frame in whose axes it is, such as
            ``"world"``, by default its own.
        placement_a: attachment in body a.
        placement_b: attachment in body b.
        stiffness: N/m, or N m/rad.
        damping: N s/m, or N m s/rad. That of a stop acts on the speed u at which the joint goes into it, and the stop
            never pulls: it pushes back by ``e' max(0, stiffness e + damping e' u)``, with e of ``smoothing`` and
            ``e' = de/dd``. Where a joint leaves so fast that the push ends early, there is a kink, smoothed or not.
        rest: free length, or free position. Between frames a spring turns back to it by the shorter way, in a joint
            by the way it came. Where the ends of a ``spring`` coincide it has no direction, and its force is NaN,
            unless it has neither rest nor damping.
        value: magnitude of friction, force or torque (N or N m), or gravitational parameter (m^3/s^2). Fields act on a
            body to second order in its size: force and moment of the field and its gradient about the centre of mass.
        smoothing: width s of the transition; 0 is sharp. Of a speed u for friction, ``-value u / sqrt(u^2 + s^2)``; of
            a depth d beyond a stop, whose spring stores ``stiffness e^2 / 2`` with ``e = (d + sqrt(d^2 + s^2)) / 2``,
            or ``e = max(0, d)`` where s is 0.
        lower: position where a stop begins.
        upper: position where a stop begins.
        components: [fx, fy, fz, mx, my, mz] of a wrench.
        function: of time for ``joint-force``, of (p, t) for a field, of (q, v, t) for a user's own.
        oblateness: second zonal harmonic J2 of a planet.
        radius: equatorial radius of a planet, m.
    """

    name: str
    kind: str
    a: str = WORLD
    b: str = ""
    placement_a: Transform = field(default_factory=Transform.identity)
    placement_b: Transform = field(default_factory=Transform.identity)
    stiffness: Scalar = 0
    damping: Scalar = 0
    rest: Scalar = 0
    value: Scalar = 0
    smoothing: Scalar = 0
    lower: Scalar = -math.inf
    upper: Scalar = math.inf
    components: tuple[Scalar, ...] = ()
    function: Any = None
    oblateness: Scalar = 0
    radius: Scalar = 0

    def __post_init__(self) -> None:
        where = f"force {shown(self.name)}"
        expect_choice(self.kind, FORCE_KINDS, f"{where}: unknown kind", ModelError)
        for name in ("a", "b"):
            expect(getattr(self, name), str, f"{where}, {name}", ModelError)
        for name in ("placement_a", "placement_b"):
            expect(getattr(self, name), Transform, f"{where}, {name}", ModelError)
        if not (self.b or self.is_wrench):
            object.__setattr__(self, "b", WORLD)
        components = expect_items(self.components, object, f"{where}, components", ModelError)
        object.__setattr__(self, "components", components)
        object.__setattr__(self, "function", as_function(self.function, f"{where}, function"))
        for name in ("stiffness", "damping", "rest", "value", "smoothing", "lower", "upper", "oblateness", "radius"):
            check_scalar(getattr(self, name), f"{where}, {name}")
        for value in self.components:
            check_scalar(value, f"{where}, component")
        FIELDS[self.kind].check(self, where)
        self._check_values(where)

    def _check_values(self, where: str) -> None:
        lower, upper = self.lower, self.upper
        known = is_number(lower) and is_number(upper)
        wrong = ""
        if self.kind == "wrench" and len(self.components) != 6:
            wrong = f"a wrench has six components [force; moment], got {len(self.components)}"
        elif not self.b and not same(self.placement_b, Transform.identity()):
            wrong = "placement_b turns the axes of frame b, and there is none; name it"
        elif self.kind == "joint-force" and self.function is not None and not same(self.value, 0):
            wrong = "give either a value or a function of time, not both"
        elif self.kind == "joint-stop" and any(is_number(x) and math.isnan(x) for x in (lower, upper)):
            wrong = f"a stop begins somewhere, got lower = {lower}, upper = {upper}"
        elif self.kind == "joint-stop" and known and math.isinf(lower) and math.isinf(upper):
            wrong = "give the stop a lower or an upper position"
        elif self.kind == "joint-stop" and known and lower > upper:
            wrong = f"the lower position {lower} lies above the upper one, {upper}"
        elif self.kind == "joint-friction" and is_number(self.value) and self.value < 0:
            wrong = f"friction takes energy, its value must not be negative, got {self.value}"
        if wrong:
            raise ModelError(wrong, where=where)

    @property
    def on_joints(self) -> bool:
        """True if its ends are joints."""
        return FIELDS[self.kind].on == "joints"

    @property
    def has_ends(self) -> bool:
        """False for forces that act on everything or on any generalised coordinate."""
        return bool(self.ends)

    @property
    def ends(self) -> tuple[str, ...]:
        """Those of ``a`` and ``b`` that matter for this kind."""
        kind = FIELDS[self.kind].ends
        return kind if self.b else tuple(end for end in kind if end != "b")

    @property
    def placements(self) -> tuple[str, ...]:
        """Names of the placements that matter for this kind."""
        return tuple(name for name in FIELDS[self.kind].placements if name[-1] in self.ends)

    @property
    def is_wrench(self) -> bool:
        """True for force and moment at a frame, in its own axes unless there is a ``b``."""
        return self.kind in ("wrench", "user-wrench")

    @property
    def is_field(self) -> bool:
        """True for gravity that varies in space, which acts on every body."""
        return self.kind in ("attraction", "oblate-planet", "gravity-field")

    @property
    def of_coordinates(self) -> bool:
        """True if a user's function gets whole vectors, whose layout belongs to one mechanism."""
        return self.kind in ("user", "user-wrench")

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the single numbers that matter for this kind."""
        return tuple(name for name in FIELDS[self.kind].may if name not in ("components", "function"))
