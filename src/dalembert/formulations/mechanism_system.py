"""The bodies of a mechanism in motion, for the formulations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.arrays import product
from dalembert.constraints.rows import ConstraintSet
from dalembert.formulations.passive import passive_forces, rotors
from dalembert.formulations.system import Constraints, MovingBody, Place, System
from dalembert.formulations.tracing import TracedMechanism, depends_on_time, traced
from dalembert.kinematics import frame_on_link
from dalembert.kinematics.links import LinkMotion
from dalembert.kinematics.manifold import quaternion_places, quaternions, tangent_map
from dalembert.model import Mechanism
from dalembert.model.names import position_parts, velocity_parts


def system_of(mechanism: Mechanism, coordinates: Sequence[str] | None = None, include: Sequence[str] = ()) -> System:
    """A mechanism as a system of moving bodies.

    Args:
        mechanism: the mechanism.
        coordinates: names of the coordinates.
        include: see :func:`dalembert.formulations.derive.derive`.
    """
    return system_around(traced(mechanism, coordinates), include)


def system_around(trace: TracedMechanism, include: Sequence[str] = (), bodies: bool = True) -> System:
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
    system = System(
        mechanism.name, trace.scope, trace.q, trace.v, qdot, _bodies(trace, motion()) if bodies else [],
        trace.tree.gravity, lambda frame: _place(trace, motion(), frame), names, quaternions=quaternions(trace.tree),
        lengths=[k for k, unit in enumerate(units) if unit == "m"],
    )  # fmt: skip
    held = ConstraintSet(mechanism)
    if depends_on_time(mechanism):
        system.time = trace.scope.clock()
    system.constraints = _constraints(trace, held, system.time)
    system.passive, system.rotors = passive_forces(trace, system, include), rotors(trace, system, include)
    return system


def _constraints(trace: TracedMechanism, held: ConstraintSet, time: Any) -> Constraints | None:
    if not held.count:
        return None
    state = trace.state(0 if time is None else time)
    rows = held.at(state)
    phi, A, rate, gamma = (np.array(x, dtype=object) for x in (rows.phi, rows.G, rows.rate, rows.gamma))
    closing = np.array(held.closing(state)[0], dtype=object)
    return Constraints(phi, A, rate, gamma, tuple(map(str, held.rows)), closing)


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
