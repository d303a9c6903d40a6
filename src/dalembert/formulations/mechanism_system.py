"""The bodies of a mechanism in motion: poses and Jacobians of every link, by the geometry of its joints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.vectors import cross
from dalembert.algorithms.kinematics import frame_on_link
from dalembert.algorithms.step import Step, steps
from dalembert.constraints.rows import ConstraintSet
from dalembert.formulations.passive import passive_forces, rotors
from dalembert.formulations.system import Constraints, MovingBody, Place, System
from dalembert.formulations.tracing import TracedMechanism, depends_on_time, rates, traced
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
        return LinkMotion(trace)

    qdot, quaternions = rates(mechanism, trace.q, trace.v)
    trace.scope.quaternions = [first for first, _ in quaternions]
    units = [unit for joint in mechanism.joints if joint.nq for _, unit in position_parts(joint)]
    names = [(name, joint.name) for joint in mechanism.joints if joint.nv for name, _ in velocity_parts(joint)]
    system = System(
        mechanism.name, trace.scope, trace.q, trace.v, qdot, _bodies(trace, motion()) if bodies else [],
        trace.tree.gravity, lambda frame: motion().place(frame), names, quaternions=quaternions,
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


class LinkMotion:
    """Poses and Jacobians of all links.

    Args:
        trace: the mechanism as traced scalars.

    Attributes:
        rotation: W_i, link to inertial axes.
        origin: position of each link's origin, inertial axes.
        angular: Jw_i, 3 x nv, link axes.
    """

    def __init__(self, trace: TracedMechanism):
        self.trace, self.tree, q = trace, trace.tree, trace.q
        self._steps = steps(self.tree, list(q))
        self.rotation: list[Array] = []
        self.origin: list[Array] = []
        self.angular: list[Array] = []
        self._arm: list[Array] = []  # from the parent's origin to the link's, inertial axes
        for link, step in zip(self.tree.links, self._steps):
            p = link.parent
            arm = step.s if p < 0 else product(self.rotation[p], step.s)
            self._arm.append(arm)
            self.origin.append(arm if p < 0 else self.origin[p] + arm)
            self.rotation.append(_turned(self.rotation[p] if p >= 0 else arrays.identity(3), step))
            self.angular.append(self._angular(link, step))

    def _angular(self, link: Any, step: Step) -> Array:
        """Jw_i = A_i^T Jw_parent + Zw, column by column."""
        J = np.zeros((3, self.tree.nv), dtype=object)
        if link.parent >= 0:
            for j in self._velocities(link.parent):
                J[:, j] = step.outward(arrays.asarray(self.angular[link.parent][:, j].tolist()))
        if link.rotates:
            for k in range(link.nv):
                J[:, link.v + k] = J[:, link.v + k] + link.gain * link.Zw[:, k]
        return J

    def _velocities(self, i: int) -> list[int]:
        """Velocities that turn link i."""
        found = {
            self.tree.links[j].v + k
            for j in self.tree.ancestors[i]
            if self.tree.links[j].rotates
            for k in range(self.tree.links[j].nv)
        }
        return sorted(found)

    def point(self, i: int, r: Array) -> Array:
        """Position of a point fixed in link i; r in link axes."""
        return self.origin[i] + product(self.rotation[i], arrays.asarray(r))

    def linear(self, i: int, r: Array) -> Array:
        """Jv: velocity, in inertial axes, of a point fixed in link i per velocity; r in link axes."""
        J = np.zeros((3, self.tree.nv), dtype=object)
        arm = product(self.rotation[i], arrays.asarray(r))  # from the origin of link j to the point
        for j in self.tree.ancestors[i]:
            link, W = self.tree.links[j], self.rotation[j]
            for k in range(link.nv):
                column = arrays.zeros(3)
                if link.rotates:
                    column = column + cross(product(W, link.Zw[:, k]), arm)
                if link.translates:
                    column = column + product(W, link.Zv[:, k])
                J[:, link.v + k] = J[:, link.v + k] + link.gain * column
            arm = self._arm[j] + arm
        return J

    def place(self, frame: str) -> Place:
        """Pose and Jacobians of a frame of the mechanism, in inertial axes."""
        n = self.tree.nv
        carrier, at = frame_on_link(self.trace.mechanism, frame)
        at = self.trace.transform(at)
        if carrier < 0:
            nothing = np.zeros((3, n), dtype=object)
            return Place(at.rotation, at.translation, nothing, nothing)
        W = self.rotation[carrier]
        return Place(
            product(W, at.rotation),
            self.point(carrier, at.translation),
            product(W, self.angular[carrier]),
            self.linear(carrier, at.translation),
        )


def _turned(W: Array, step: Step) -> Array:
    """W A, row by row: as cheap as carrying three vectors across the joint."""
    return arrays.asarray([step.outward(row).tolist() for row in W])
