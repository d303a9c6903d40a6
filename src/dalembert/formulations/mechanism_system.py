"""A mechanism as a system of moving bodies, with all its symbols turned into inputs of an expression graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.algorithms.joint_forces import TERMS, JointForces, joint_forces
from dalembert.cached import cached_property
from dalembert.constraints.forces import ForceSet
from dalembert.constraints.rows import ConstraintSet
from dalembert.constraints.state import State
from dalembert.errors import ArgumentError
from dalembert.formulations.scope import Scope
from dalembert.formulations.system import Constraints, MovingBody, MultibodySystem, Place
from dalembert.kinematics import frame_on_link
from dalembert.kinematics.links import LinkMotion
from dalembert.kinematics.manifold import quaternion_places, quaternions, tangent_map
from dalembert.model import Inertia, Mechanism
from dalembert.model.checks import expect_items, expect_names
from dalembert.model.names import coordinate_names, formula_names, position_parts, rate_name, velocity_parts
from dalembert.model.parameters import map_scalars
from dalembert.model.tree import Link, Moments, Tree
from dalembert.typesetting.names import unlike


@dataclass(frozen=True, eq=False)
class TracedMechanism:
    """A mechanism as traced scalars.

    Args:
        scope: symbols: inputs ``q``, ``v`` and one for every symbol of the mechanism.
        tree: its links with traced scalars for symbols.
        matter: for every link the mass distribution of all bodies it carries, in link axes.
        names: for every link the name of the body that has its axes, and of the massive ones welded to it.
        constraints: rows of the original's constraints.
    """

    mechanism: Mechanism
    scope: Scope
    tree: Tree
    matter: list[Inertia]
    names: list[str]
    constraints: ConstraintSet

    @cached_property
    def model(self) -> Mechanism:
        """The whole mechanism with traced scalars for symbols: what constraints and force elements are read from."""

        def read(x: Any) -> Any:
            return self.scope.read(x)[()] if scalar.is_sympy(x) else x

        return map_scalars(self.mechanism.replace(strict=False), read)

    @property
    def q(self) -> np.ndarray:
        """Traced positions."""
        return self.scope.arrays["q"]

    @property
    def v(self) -> np.ndarray:
        """Traced velocities."""
        return self.scope.arrays["v"]

    def transform(self, pose: Transform) -> Transform:
        """A pose of the mechanism as traced scalars."""
        return Transform(_plain(self.scope.read(pose.rotation)), _plain(self.scope.read(pose.translation)))

    def state(self, time: Any = 0) -> State:
        """The traced mechanism at the traced state.

        Args:
            time: a traced scalar, if something depends on it.
        """
        symbols = [self.scope.parameter(symbol) for symbol in self.mechanism.symbols]
        return State(self.model, self.q, self.v, time, tree=self.tree, parameters=symbols)


def traced(mechanism: Mechanism, coordinates: Sequence[str] | None = None) -> TracedMechanism:
    """Turn every symbol of a mechanism into an input of a new graph.

    Args:
        mechanism: the mechanism; numbers stay numbers.
        coordinates: names of the position coordinates, one for each; by default names of joints or q1, q2, ...
    """
    q_names, v_names = coordinate_names(mechanism)
    if coordinates is not None:
        given = expect_items(coordinates, object, "coordinates")
        coordinates = expect_names([str(x) if scalar.is_sympy(x) else x for x in given], "coordinates")
        if len(coordinates) != mechanism.nq:
            raise ArgumentError(
                f"{mechanism.name!r} has {mechanism.nq} coordinates, got {len(coordinates)} names: {list(coordinates)}"
            )
        if blank := [name for name in coordinates if not name.strip() or not name.isprintable()]:
            raise ArgumentError(f"coordinates: {blank[0]!r} is not a name; a name is a printable, non-empty string")
        if twice := sorted({name for name in coordinates if coordinates.count(name) > 1}):
            raise ArgumentError(
                f"coordinates: the name {', '.join(twice)} is given twice; every coordinate needs its own"
            )
        q_names = list(coordinates)
        for joint in mechanism.joints:
            if joint.nq == joint.nv:  # angular velocities are no rates of coordinates
                rates_of = q_names[mechanism.q_slice(joint.name)]
                v_names[mechanism.v_slice(joint.name)] = [rate_name(name) for name in rates_of]
    scope = Scope()
    constraints = ConstraintSet(mechanism)
    timed = _depends_on_time(mechanism, constraints)
    taken = {str(symbol) for symbol in mechanism.symbols} | ({"t"} if timed else set())
    own = unlike(q_names, taken)
    following = {rate_name(old): rate_name(new) for old, new in zip(q_names, own) if old in taken}
    scope.input("q", own)
    scope.input("v", [following.get(name, name) for name in v_names], taken)
    for symbol in mechanism.symbols:
        scope.parameter(symbol)
    for port, identifiers in zip(("q", "v"), formula_names(mechanism.joints)):
        scope.aliases |= dict(zip(identifiers, map(str, scope.names[port])))

    def read(value: Any) -> Any:
        array = scope.read(value)
        return array[()] if array.shape == () else _plain(array)

    def link(old: Link) -> Link:
        m = old.moments
        return dataclasses.replace(
            old,
            axis=read(old.axis),
            pitch=read(old.pitch),
            placement=Transform(read(old.placement.rotation), read(old.placement.translation)),
            gain=read(old.gain),
            offset=read(old.offset),
            moments=Moments(read(m.mass), read(m.first), read(m.second)),
            unit=True,
        )

    old = mechanism.tree
    carriers = {name: (k, Transform(read(at.rotation), read(at.translation))) for name, (k, at) in old.carriers.items()}
    tree = Tree(tuple(link(x) for x in old.links), read(old.gravity), old.nq, old.nv, carriers)
    matter, names = _matter(mechanism)
    traced_matter = [_TracedInertia(read(x.mass), read(x.center), read(x.tensor)) for x in matter]
    return TracedMechanism(mechanism, scope, tree, traced_matter, names, constraints)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class _TracedInertia:
    """Mass, centre of mass and central inertia tensor as traced scalars."""

    mass: Any
    center: np.ndarray
    tensor: np.ndarray

    @property
    def is_zero(self) -> bool:
        """True if there is certainly nothing."""
        return all(scalar.is_zero(x) for x in (self.mass, *self.tensor.flat))


def _matter(mechanism: Mechanism) -> tuple[list[Inertia], list[str]]:
    """For every link all that it carries; a single body keeps its own numbers and symbols."""
    total: list[Inertia] = [Inertia() for _ in mechanism.tree.links]
    names: list[list[str]] = [[] for _ in mechanism.tree.links]
    identity = Transform.identity()
    for body in mechanism.bodies:
        carrier, at = mechanism.tree.carriers[body.name]
        if carrier < 0 or body.inertia.is_zero:
            continue
        moved = body.inertia if at == identity else body.inertia.moved(at.rotation, at.translation)
        total[carrier] = total[carrier] + moved
        names[carrier].append(body.name)
    # The body in whose axes everything is expressed comes first, even one without mass.
    return total, [" + ".join(dict.fromkeys((link.name, *x))) for link, x in zip(mechanism.tree.links, names)]


def _depends_on_time(mechanism: Mechanism, constraints: ConstraintSet) -> bool:
    """True if constraints or forces of the mechanism may depend on time explicitly."""
    return constraints.rheonomic or any(item.function is not None for item in mechanism.forces)


def _plain(array: np.ndarray) -> np.ndarray:
    """A float array if all entries are numbers."""
    if array.dtype == object and all(scalar.is_number(x) for x in array.flat):
        return array.astype(float)
    return array


# -------------------------------------------------------------------------------------------------------- moving bodies


def system_of(
    mechanism: Mechanism,
    coordinates: Sequence[str] | None = None,
    include: Sequence[str] = (),
    elements: Sequence[str] | str = "all",
) -> MultibodySystem:
    """A mechanism as a system of moving bodies.

    Args:
        include: see :func:`dalembert.formulations.derive.derive`.
    """
    return system_around(traced(mechanism, coordinates), include, elements)


def system_around(
    trace: TracedMechanism, include: Sequence[str] = (), elements: Sequence[str] | str = "all", bodies: bool = True
) -> MultibodySystem:
    """A traced mechanism as a system of moving bodies.

    Args:
        trace: the mechanism as traced scalars.
        include: see :func:`dalembert.formulations.derive.derive`.
        bodies: false to leave the bodies out, for routes that need only frames, loads and constraints.
    """
    mechanism = trace.mechanism

    @cache
    def motion() -> LinkMotion:
        return LinkMotion(trace.tree, trace.q)

    trace.scope.quaternions = quaternion_places(trace.tree)
    qdot = product(tangent_map(trace.tree, trace.q), trace.v)
    units = [unit for joint in mechanism.joints if joint.nq for _, unit in position_parts(joint)]
    names = [(name, joint.name) for joint in mechanism.joints if joint.nv for name, _ in velocity_parts(joint)]
    system = MultibodySystem(
        mechanism.name, trace.scope, trace.q, trace.v, qdot, _bodies(trace, motion()) if bodies else [],
        trace.tree.gravity, lambda frame: _place(trace, motion(), frame), names, quaternions=quaternions(trace.tree),
        lengths=[k for k, unit in enumerate(units) if unit == "m"],
    )  # fmt: skip
    if _depends_on_time(mechanism, trace.constraints):
        system.time = trace.scope.clock()
    system.constraints = _constraints(trace, system.time)
    system.passive = passive_forces(trace, system, include, elements)
    system.rotors = rotors(trace, system, include)
    return system


def _constraints(trace: TracedMechanism, time: Any) -> Constraints | None:
    if not trace.constraints.count:
        return None
    state = trace.state(0 if time is None else time)
    rows = trace.constraints.at(state)
    phi, A, rate, gamma = (np.array(x, dtype=object) for x in (rows.phi, rows.G, rows.rate, rows.gamma))
    closing = np.array(trace.constraints.closing(state)[0], dtype=object)
    return Constraints(phi, A, rate, gamma, tuple(map(str, trace.constraints.rows)), closing)


def _bodies(trace: TracedMechanism, motion: LinkMotion) -> list[MovingBody]:
    bodies = []
    for i, (matter, name) in enumerate(zip(trace.matter, trace.names)):
        if not matter.is_zero:
            at = motion.point(i, matter.center)
            Jw, Jv = motion.angular[i], motion.linear(i, matter.center)
            tensor = None if all(scalar.is_zero(x) for x in matter.tensor.flat) else matter.tensor
            bodies.append(MovingBody(name, matter.mass, tensor, motion.rotation[i], at, Jw, Jv))
    return bodies


def _place(trace: TracedMechanism, motion: LinkMotion, frame: str) -> Place:
    """Pose and Jacobians of a frame of the mechanism, in inertial axes."""
    carrier, at = frame_on_link(trace.mechanism, frame)
    at = trace.transform(at)
    if carrier < 0:
        nothing = np.zeros((3, trace.tree.nv), dtype=object)
        return Place(at.rotation, at.translation, nothing, nothing)
    W = motion.rotation[carrier]
    return Place(
        product(W, at.rotation),
        motion.point(carrier, at.translation),
        product(W, motion.angular[carrier]),
        motion.linear(carrier, at.translation),
    )


# ------------------------------------------------------------------------------------- force elements, damping, rotors


MOST_NAMED_JOINTS = 6
"""Joints that are named one by one."""


def passive_forces(
    trace: TracedMechanism, system: MultibodySystem, include: Sequence[str], elements: Sequence[str] | str
) -> list[tuple[str, Array]]:
    """For every force that acts its name and what it does to the velocities."""
    mechanism = trace.mechanism
    if unknown := [name for name in include if name not in TERMS]:
        named = any(item.name in unknown for item in mechanism.forces)
        remedy = f"choose among {', '.join(TERMS)}" + "; force elements are named by elements" * named
        raise ArgumentError(f"{{setting}}: {remedy}", argument="include", value=unknown)
    forces: list[tuple[str, Array]] = []
    acting = ForceSet(mechanism, elements)
    if acting.names:
        effects = acting.each(trace.state(0 if system.time is None else system.time))
        forces = [(name, arrays.asarray(effect[0])) for name, effect in effects.items()]
    losses = [name for name in ("damping", "friction") if name in include]
    terms = joint_forces(mechanism, losses)
    own = JointForces(None, *(None if x is None else system.scope.read(x) for x in (terms.damping, terms.friction)))
    if own.damping is not None or own.friction is not None:
        forces.append((f"{' and '.join(losses)} of the joints", -own.resistance(system.v)))
    return forces


def left_out(mechanism: Mechanism, include: Sequence[str], elements: Sequence[str] | str = "all") -> tuple[str, ...]:
    """What the mechanism has besides inertia, gravity and constraints, and does not act; in words."""
    acting = [item.name for item in mechanism.forces] if elements == "all" else elements
    found = [f"force element {item.name!r} ({item.kind})" for item in mechanism.forces if item.name not in acting]
    for term in TERMS:
        joints = [joint.name for joint in mechanism.joints if not scalar.is_zero(getattr(joint, term))]
        if joints and term not in include:
            found.append(
                f"{term} of {', '.join(joints) if len(joints) <= MOST_NAMED_JOINTS else f'{len(joints)} joints'}"
            )
    if mechanism.contacts:
        few = ", ".join(repr(item.name) for item in mechanism.contacts[:MOST_NAMED_JOINTS])
        count = len(mechanism.contacts)
        found.append(f"contact {few}" if count == 1 else f"contacts {few}" if count <= MOST_NAMED_JOINTS else
                     f"{count} contacts")  # fmt: skip
    return tuple(found)


def rotors(trace: TracedMechanism, system: MultibodySystem, include: Sequence[str]) -> list[tuple[Scalar, Array]]:
    """For every rotor that is asked for its inertia and the row of its speed per velocity."""
    armature = joint_forces(trace.mechanism, ["armature"]).armature if "armature" in include else None
    if armature is None:
        return []
    rows = arrays.identity(system.n)
    return [(x, rows[k]) for k, x in enumerate(system.scope.read(armature)) if not scalar.is_zero(x)]
