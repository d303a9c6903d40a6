"""The mechanism: a frozen tree of bodies and joints, with frames, forces, constraints, contacts and gravity."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.quaternions import unit_in_place
from dalembert.algebra.transform import Transform
from dalembert.cached import cached_property
from dalembert.errors import ArgumentError, ModelError, SingularityError
from dalembert.model.body import WORLD, Body, Frame
from dalembert.model.checks import expect, expect_items, shown
from dalembert.model.constraint import Constraint
from dalembert.model.contact import Contact
from dalembert.model.force import Force
from dalembert.model.formula import Formula
from dalembert.model.inertia import Inertia
from dalembert.model.joint import Joint
from dalembert.model.record import UNLESS_DEFAULT, Record, content, fingerprint, frozen_array
from dalembert.model.tree import Link, Moments, Tree, depth_first
from dalembert.model.validation import check_physics, check_structure, doubts
from dalembert.services import ask
from dalembert.text.layout import counted
from dalembert.text.suggest import hint

Named = TypeVar("Named", Body, Joint, Frame, Constraint, Force, Contact)

KINDS_OF_PARTS = {
    "bodies": Body, "joints": Joint, "frames": Frame, "constraints": Constraint, "forces": Force, "notes": str,
    "contacts": Contact,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Mechanism(Record):
    """A rigid multibody system.

    Bodies and joints are put in depth-first order, children in their order of appearance; that order fixes the
    layout of ``q`` and ``v``. A mechanism that makes no sense raises :class:`~dalembert.errors.ValidationError` with
    all its problems.

    Args:
        name: for display.
        bodies: the moving (or fixed) bodies; the ground ``"world"`` is not among them.
        joints: one for every body, with that body as child.
        frames: extra named frames.
        constraints: loop closures and couplings.
        forces: passive force elements.
        gravity: acceleration of free fall in world axes, m/s^2.
        notes: what a reader or an operation assumed; printed with the mechanism.
        strict: refuse inertias that no real body can have; if false they are only listed by ``problems()``.
        contacts: pairs of shapes that may touch; :func:`dalembert.contacts` makes them.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    frames: tuple[Frame, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    forces: tuple[Force, ...] = ()
    gravity: Array = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    notes: tuple[str, ...] = field(default=(), compare=False)
    strict: bool = field(default=True, compare=False)
    contacts: tuple[Contact, ...] = field(default=(), metadata=UNLESS_DEFAULT)

    def __post_init__(self) -> None:
        expect(self.name, str, "mechanism, name", ModelError)
        expect(self.strict, bool, "strict", ModelError)
        for name, kind in KINDS_OF_PARTS.items():
            where = f"mechanism {self.name!r}, {name}"
            object.__setattr__(self, name, expect_items(getattr(self, name), kind, where, ModelError))
        object.__setattr__(self, "gravity", frozen_array(self.gravity, (3,), "gravity"))
        check_structure(self)
        bodies, joints = depth_first(self.bodies, self.joints)
        object.__setattr__(self, "bodies", bodies)
        object.__setattr__(self, "joints", joints)
        if self.strict:
            check_physics(self)

    # -------------------------------------------------------------------------------------------------------- sizes

    @cached_property
    def nq(self) -> int:
        """Number of position coordinates."""
        return sum(joint.nq for joint in self.joints)

    @cached_property
    def nv(self) -> int:
        """Number of velocities: the degrees of freedom of the tree."""
        return sum(joint.nv for joint in self.joints)

    @property
    def mass(self) -> Any:
        """Total mass of all bodies."""
        return sum(body.inertia.mass for body in self.bodies)

    @cached_property
    def symbols(self) -> tuple[Any, ...]:
        """The free symbols among the numbers, and those of formulas that are neither coordinates nor time.

        They are sorted by name; a numeric mechanism has none.
        """
        own = self.symbols_of_formulas
        return tuple(sorted((*self._symbols_of_numbers, *own), key=lambda s: s.name))

    @cached_property
    def _symbols_of_numbers(self) -> set[Any]:
        return {symbol for x in _scalars(content(self)) if scalar.is_sympy(x) for symbol in x.free_symbols}

    @cached_property
    def symbols_of_formulas(self) -> tuple[Any, ...]:
        """Those symbols that occur only in formulas of constraints and forces; one of each name, as names count."""
        parts: tuple[Constraint | Force, ...] = (*self.constraints, *self.forces)
        formulas = [item for item in parts if isinstance(item.function, Formula)]
        if not formulas:
            return ()
        from dalembert.model.names import formula_names

        taken = {symbol.name for symbol in self._symbols_of_numbers} | {"t"}
        taken = taken.union(*formula_names(self.joints))
        own: dict[str, Any] = {}
        for item in formulas:
            place = {"x", "y", "z"} if item.kind == "gravity-field" else set()
            for symbol in sorted(item.function.symbols, key=str):
                if symbol.name not in taken | place:
                    own.setdefault(symbol.name, symbol)
        return tuple(own.values())

    @property
    def acting(self) -> dict[str, tuple[str, ...]]:
        """Names of what acts unless somebody leaves it out, by part of :data:`~dalembert.model.consumers.PARTS`."""
        named = {part: getattr(self, part) for part in ("contacts", "constraints", "forces")}
        found = {part: tuple(item.name for item in items) for part, items in named.items()}
        return {**found, "parameters": tuple(symbol.name for symbol in self.symbols)}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything the dynamics depends on; shapes, notes and limits included.

        Users' functions count by the programs that they are traced to.
        """
        from dalembert.model.user_function import function_digest

        items: tuple[Any, ...] = (*self.constraints, *self.forces)
        functions = [(item.name, function_digest(self, item)) for item in items if callable(item.function)]
        whole = fingerprint(content(self)) + (fingerprint(functions) if functions else "")
        return hashlib.sha256(whole.encode()).hexdigest()

    # ------------------------------------------------------------------------------------------------------ look-ups

    def body(self, name: str) -> Body:
        """The body of that name."""
        return _find(self.bodies, name, "body", self)

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        found = self._joints.get(name) if isinstance(name, str) else None
        return found or _find(self.joints, name, "joint", self)

    @cached_property
    def _joints(self) -> dict[str, Joint]:
        return {joint.name: joint for joint in self.joints}

    def frame(self, name: str) -> Frame:
        """The frame of that name; every body, and the world, is a frame too."""
        if isinstance(name, str) and (name == WORLD or any(body.name == name for body in self.bodies)):
            return Frame(name, name)
        own = (Frame(x, x) for x in (*(body.name for body in self.bodies), WORLD))
        return _find((*self.frames, *own), name, "frame", self)

    def contact(self, name: str) -> Contact:
        """The contact of that name."""
        return _find(self.contacts, name, "contact", self)

    def q_slice(self, joint: str) -> slice:
        """Where the positions of a joint lie in ``q``; of a mimic joint, those of its leader."""
        return self._layout[0][self._leader(joint)]

    def v_slice(self, joint: str) -> slice:
        """Where the velocities of a joint lie in ``v``; of a mimic joint, those of its leader."""
        return self._layout[1][self._leader(joint)]

    def _leader(self, joint: str) -> str:
        if not isinstance(joint, str) or joint not in self._leaders:
            self.joint(joint)  # raises
        return self._leaders[joint]

    @cached_property
    def _leaders(self) -> dict[str, str]:
        """For every joint the one whose coordinates it has."""
        return {joint.name: joint.mimic.joint if joint.mimic else joint.name for joint in self.joints}

    @cached_property
    def _layout(self) -> tuple[dict[str, slice], dict[str, slice]]:
        in_q, in_v, q, v = {}, {}, 0, 0
        for joint in self.joints:
            in_q[joint.name], in_v[joint.name] = slice(q, q + joint.nq), slice(v, v + joint.nv)
            q, v = q + joint.nq, v + joint.nv
        return in_q, in_v

    # -------------------------------------------------------------------------------------------------------- states

    @property
    def neutral(self) -> Array:
        """The position with all joints at zero and all quaternions at identity."""
        q = np.zeros(self.nq)
        for joint in self.joints:
            if joint.kind in ("spherical", "free") and joint.nq:
                q[self.q_slice(joint.name).stop - 1] = 1
        return q

    def random_state(self, rng: np.random.Generator, batch: int | tuple[int, ...] = ()) -> tuple[Array, Array, Array]:
        """Random ``q`` (unit quaternions; inside the limits), ``v`` and ``a`` for tests and benchmarks.

        Args:
            rng: source of randomness.
            batch: leading shape of the result.
        """
        expect(rng, np.random.Generator, "random_state, rng (numpy.random.default_rng(0) makes one)")
        sizes = (batch,) if isinstance(batch, (int, np.integer)) else expect_items(batch, object, "random_state, batch")
        if any(not isinstance(n, (int, np.integer)) or isinstance(n, bool) or not 0 <= n < 2**40 for n in sizes):
            raise ArgumentError(f"random_state, batch: expected sizes of an array, got {shown(batch)}")
        batch = tuple(map(int, sizes))
        q, v, a = (rng.normal(size=(*batch, n)) for n in (self.nq, self.nv, self.nv))
        for joint in self.joints:
            part = self.q_slice(joint.name)
            if not joint.nq:
                continue
            if joint.kind in ("spherical", "free"):
                eta = q[..., part.stop - 4 : part.stop]
                eta /= np.linalg.norm(eta, axis=-1, keepdims=True)
            elif joint.nq == 1:
                low, high = joint.limits.lower, joint.limits.upper
                if math.isfinite(low) and math.isfinite(high):
                    q[..., part.start] = rng.uniform(low, high + 0.0, size=batch)  # -0.0 is not below 0.0
                elif math.isfinite(low):
                    q[..., part.start] = low + np.abs(q[..., part.start])
                elif math.isfinite(high):
                    q[..., part.start] = high - np.abs(q[..., part.start])
        return q, v, a

    def random(self, rng: np.random.Generator, batch: int | tuple[int, ...] = ()) -> Array:
        """Random positions (unit quaternions; inside the limits).

        Args:
            rng: source of randomness.
            batch: leading shape of the result.
        """
        return self.random_state(rng, batch)[0]

    def integrate(self, q: Any, v: Any, duration: Any = 1.0) -> Array:
        """The positions reached from ``q`` by a constant velocity; any batch shape.

        Coordinates move by ``v duration``, quaternions by the exponential map, q (*) exp(w duration), with w in child
        axes. ``integrate(q0, difference(q0, q1))`` is ``q1``.

        Args:
            q: positions, (..., nq), or by joint name, others neutral.
            v: velocities, (..., nv), or by name of a joint or a single velocity, others zero.
            duration: s, (...).
        """
        from dalembert.model.states import integrate

        return integrate(self, q, v, duration)

    def difference(self, q0: Any, q1: Any) -> Array:
        """The constant velocity that leads from ``q0`` to ``q1`` in one second, on the shortest way; any batch shape.

        Args:
            q0: where it begins, (..., nq), or by joint name.
            q1: where it ends; quaternions are reached up to sign.
        """
        from dalembert.model.states import difference

        return difference(self, q0, q1)

    def interpolate(self, q0: Any, q1: Any, fraction: Any) -> Array:
        """Positions between two: ``q0`` at fraction 0, ``q1`` at 1, at constant velocity in between; any batch shape.

        Args:
            q0: positions, (..., nq), or by joint name.
            q1: positions.
            fraction: how far, (...); outside 0 to 1 the motion goes on.
        """
        from dalembert.model.states import interpolate

        return interpolate(self, q0, q1, fraction)

    def normalise(self, q: Any) -> Array:
        """A copy of ``q`` whose quaternions have length one; kernels take quaternions of any length.

        Args:
            q: positions, any batch shape (..., nq). A quaternion that is zero or not finite is an error.
        """
        try:
            fresh = np.array(q, dtype=float)
        except (TypeError, ValueError):
            raise ArgumentError(f"normalise: expected real numbers, got {shown(q)}") from None
        if fresh.shape[-1:] != (self.nq,):
            raise ArgumentError(f"normalise: q has shape {fresh.shape}, expected (..., {self.nq})")
        for joint in self.joints:
            if joint.kind in ("spherical", "free") and joint.nq:
                end = self.q_slice(joint.name).stop
                eta = fresh[..., end - 4 : end]
                largest = np.abs(eta).max(axis=-1, keepdims=True)  # so that squares neither overflow nor vanish
                if not np.all((largest > 0) & np.isfinite(largest)):
                    where = np.argwhere(~((largest > 0) & np.isfinite(largest)))[0][:-1].tolist()
                    state = f" of state {where}" if where else ""
                    raise SingularityError(
                        f"joint {joint.name!r}: the quaternion{state} is zero or not finite and stands for no rotation"
                    )
                eta /= largest
                unit_in_place(fresh, [end - 4])
        return fresh

    # ------------------------------------------------------------------------------------------- for the algorithms

    @cached_property
    def tree(self) -> Tree:
        """The mechanism as a tree of links with elementary joints; see :mod:`dalembert.model.tree`."""
        exactly: Callable[[Any], Array] = arrays.exact if self.symbols else arrays.asarray  # 1 * m is m, not 1.0 * m
        links: list[Link] = []
        welded: list[list[Moments]] = []
        carriers: dict[str, tuple[int, Transform]] = {WORLD: (-1, Transform.identity())}
        for joint in self.joints:
            carrier, frame = carriers[joint.parent]
            at = frame @ joint.placement
            at = Transform(exactly(at.rotation), exactly(at.translation))
            leader = joint.mimic.joint if joint.mimic else joint.name
            q, v = self._layout[0][leader].start, self._layout[1][leader].start
            parts = joint.elementary()
            for k, part in enumerate(parts):
                last = k == len(parts) - 1
                suffix = "" if len(parts) == 1 else f"/{k + 1}"
                link = Link(
                    name=joint.child if last else joint.child + suffix,
                    parent=carrier,
                    kind=part.kind,
                    axis=exactly(part.axis),
                    pitch=part.pitch,
                    placement=at,
                    q=q,
                    v=v,
                    gain=joint.mimic.multiplier if joint.mimic else 1,
                    offset=joint.mimic.offset if joint.mimic else 0,
                    moments=Moments.of(Inertia()),
                    joint=joint.name,
                )
                links.append(link)
                welded.append([])
                carrier, at = len(links) - 1, Transform.identity()
                q, v = q + link.nq, v + link.nv
            carriers[joint.child] = (carrier, at)
            if carrier >= 0:
                matter = self.body(joint.child).inertia
                if not matter.is_zero:
                    same = at == Transform.identity()
                    seen = matter if same else matter.moved(at.rotation, at.translation)
                    welded[carrier].append(Moments.of(seen))
        for k, matters in enumerate(welded):
            if matters:
                links[k] = replace(links[k], moments=sum(matters[1:], matters[0]))
        return Tree(tuple(links), self.gravity, self.nq, self.nv, carriers)

    # ------------------------------------------------------------------------------------------------------- display

    def problems(self) -> tuple[str, ...]:
        """Everything doubtful about the mechanism, also what a non-strict one tolerates."""
        return tuple(doubts(self))

    def __str__(self) -> str:
        from dalembert.model.display import table

        return table(self)

    def __repr__(self) -> str:
        counts = f"{counted(len(self.bodies), 'body', 'bodies')}, {counted(len(self.joints), 'joint')}"
        return f"<Mechanism {self.name!r}: {counts}, nq={self.nq}, nv={self.nv}>"

    def _repr_html_(self) -> str:
        from dalembert.model.display import as_html

        return f"{ask('picture of a mechanism', self)}\n{as_html(self)}"


def _find(items: Iterable[Named], name: str, what: str, mechanism: Mechanism) -> Named:
    names = []
    for item in items:
        if isinstance(name, str) and item.name == name:
            return item
        names.append(item.name)
    raise ArgumentError(f"{mechanism.name!r} has no {what} {shown(name)}{hint(name, names, 'it has')}")


def _scalars(nested: Any) -> Iterable[Any]:
    if isinstance(nested, tuple):
        for x in nested:
            yield from _scalars(x)
    elif not isinstance(nested, (str, int, float)):
        yield nested
