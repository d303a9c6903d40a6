"""What is asked of a library, so that its model can be compared with a mechanism: everything in our coordinates.

Frames of bodies are a matter of taste, and no force depends on them; nothing but the comparison of frames refers to
them: places and axes are in world axes, inertia tensors are about centres of mass, and a joint is seen through the
velocities it gives to the body behind it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.algorithms.inertia_matrix.walker_orin import walker_orin
from dalembert.algorithms.inverse_dynamics.newton_euler import newton_euler
from dalembert.algorithms.joint_forces import joint_forces
from dalembert.constraints.forces import ForceSet
from dalembert.constraints.state import State
from dalembert.conventions.blocks import Block, Free
from dalembert.conventions.convention import Convention, base_of, mismatch, pair, place
from dalembert.kinematics import jacobian, link_poses, poses
from dalembert.model import Inertia, Joint, Mechanism


@dataclass(frozen=True, eq=False)
class View:
    """The body behind a joint, with all that is welded to it, at one position.

    Args:
        mass: kg.
        center: centre of mass in the world, m; the origin if there is no mass.
        tensor: inertia tensor about the centre of mass, world axes, kg m^2.
        jacobian: 6 x nv; from our velocities to [angular velocity; velocity of the point of the body that is at the
            origin of the world], world axes.
    """

    mass: float
    center: Array
    tensor: Array
    jacobian: Array


@dataclass(frozen=True, eq=False)
class Drive:
    """What acts in a joint besides its force; the mean over its degrees of freedom where they differ.

    Args:
        armature: inertia of the rotor at the joint, kg m^2 or kg.
        damping: viscous coefficient.
    """

    armature: float = 0
    damping: float = 0
    friction: float = 0


class Spring(NamedTuple):
    """A spring on a joint: stiffness, position at rest, and damping of its own."""

    stiffness: float
    rest: float
    damping: float = 0.0


class Peer(ABC):
    """A model in some library, seen in the coordinates of a mechanism.

    Args:
        convention: the maps between both.
    """

    name: str
    """What the library is called."""
    includes: tuple[str, ...] = ()
    """Terms of the joints that always enter its forces: of ``armature``, ``damping``, ``friction``."""

    mass_hint: str = ""
    """What the library is known to do with masses that a file does not give."""

    def __init__(self, mechanism: Mechanism, convention: Convention):
        self.mechanism, self.convention = mechanism, convention

    keeps: tuple[str, ...] = ("armature", "damping", "friction")
    """Terms of the joints that its models have a place for, whether or not they enter its forces."""

    is_mechanism: bool = False
    """Whether it is a description like ours, so that data which enter no forces can be compared too."""

    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """Lowest and highest position of joints that have limits, by our name; empty where they are not compared."""
        return {}

    @property
    def is_coupled(self) -> bool:
        """Whether mimic joints move on their own there, so that accelerations cannot be compared."""
        return self.convention.nv > self.mechanism.nv

    @property
    @abstractmethod
    def gravity(self) -> Array:
        """Acceleration of free fall, world axes, m/s^2."""

    @abstractmethod
    def drives(self) -> Mapping[str, Drive]:
        """Rotors and friction by our name of the joint."""

    @abstractmethod
    def views(self, q: Array) -> Mapping[str, View]:
        """The bodies behind the joints at our positions q, by our name of the joint."""

    @abstractmethod
    def frames(self, q: Array) -> Mapping[str, Transform]:
        """Poses in the world of what the library calls bodies and frames at our positions q, by its names."""

    @abstractmethod
    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        """Generalised forces, with everything that the library adds to them, at our q, v and a."""

    @abstractmethod
    def mass_matrix(self, q: Array) -> Array:
        """Inertia matrix at our q."""

    def springs(self) -> Mapping[str, Spring] | None:
        """Springs on joints of one freedom that enter its forces, by our name of the joint; None where the library
        has no such springs, or does not name them."""
        return None

    def remarks(self) -> list[str]:
        """What else is in the model and takes no part in the comparison."""
        return []

    def extras(self) -> list[tuple[str, str]]:
        """Forces in the model that have no counterpart here, as (where, what)."""
        return []


def gathered(parts: list[tuple[float, Array, Array]]) -> tuple[float, Array, Array]:
    """Mass, centre of mass and tensor about it of bodies that are welded together.

    Args:
        parts: of each body the same three, in common axes.
    """
    mass = sum(part[0] for part in parts)
    center = sum((m * c for m, c, _ in parts), np.zeros(3)) / mass if mass else np.zeros(3)
    tensor = np.zeros((3, 3))
    for m, c, about in parts:
        r = c - center
        tensor += about + m * (r @ r * np.eye(3) - np.outer(r, r))  # parallel axes (4.3.9)
    return mass, center, tensor


def at_origin(angular: Array, linear: Array, point: Array) -> Array:
    """A Jacobian of a point as that of the point of the same body that is at the origin of the world.

    Args:
        angular: 3 x nv, world axes.
        linear: 3 x nv, of the point, world axes.
        point: in the world, m.
    """
    return np.vstack([angular, linear + np.cross(point, angular, axisb=0).T])


def mean(values: Any) -> float:
    """Mean of some numbers, zero of none."""
    numbers = np.asarray(values, dtype=float)
    return float(numbers.mean()) if numbers.size else 0.0


# -------------------------------------------------------------------------------------------------- a mechanism of ours


class Same(Convention):
    """Between two mechanisms of ours: other order of joints, other place of a free joint.

    Args:
        joints: our joint name -> the other's, where they differ.
    """

    def __init__(self, mechanism: Mechanism, other: Mechanism, joints: Mapping[str, str] | None = None):
        theirs = {joint.name: joint for joint in other.joints if joint.nv}
        pairs = pair(mechanism, "other", theirs, joints)
        blocks = [_block(mechanism, joint, other, counterpart) for joint, counterpart in pairs]
        super().__init__(mechanism, "other", other.nq, other.nv, blocks)


def _block(mechanism: Mechanism, joint: Joint, other: Mechanism, counterpart: Joint) -> Block:
    q, v = other.q_slice(counterpart.name), other.v_slice(counterpart.name)
    if (q.stop - q.start, v.stop - v.start) != _size(mechanism, joint):
        raise mismatch(joint, "the other mechanism", counterpart.kind)
    at = place(mechanism, joint, q.start, q.stop - q.start, v.start, v.stop - v.start)
    if joint.kind == "free":
        ours, theirs = base_of(mechanism, joint), base_of(other, counterpart)
        base = theirs.inverse() @ ours if ours is not None and theirs is not None else Transform.identity()
        return Free(**at, base=base)
    return Block(**at)


def _size(mechanism: Mechanism, joint: Joint) -> tuple[int, int]:
    q, v = mechanism.q_slice(joint.name), mechanism.v_slice(joint.name)
    return q.stop - q.start, v.stop - v.start


class MechanismPeer(Peer):
    """A mechanism in the coordinates of another one, or of itself.

    Args:
        mechanism: whose coordinates are used.
        other: the one that is looked at.
        joints: name there of every joint, where it differs.
        include: terms of the joints that enter the forces.
        springs: whether springs on joints enter them, too.
    """

    name = "the other mechanism"
    is_mechanism = True

    def __init__(
        self,
        mechanism: Mechanism,
        other: Mechanism,
        joints: Mapping[str, str] | None = None,
        include: Collection[str] = (),
        springs: bool = False,
    ):
        super().__init__(mechanism, Same(mechanism, other, joints))
        self.other, self.includes = other, tuple(include)
        self.acting = ForceSet(other, [item.name for item in other.forces if springs and item.kind == "joint-spring"])
        self.forces = joint_forces(other, include)
        names, theirs = dict(joints or {}), {joint.name for joint in other.joints if joint.kind != "fixed"}
        free = [joint.name for joint in other.joints if joint.kind == "free"]
        self.names: dict[str, str] = {}
        for joint in mechanism.joints:
            if joint.kind != "fixed":
                name = names.get(joint.name, joint.name)
                self.names[joint.name] = name if name in theirs else free[0] if joint.kind == "free" and free else ""

    @property
    def gravity(self) -> Array:
        return np.asarray(self.other.gravity, dtype=float)

    def _counterparts(self) -> list[tuple[str, str]]:
        """Moving joints here with their name there; a mimic joint may be missing there."""
        return [(own, name) for own, name in self.names.items() if name]

    def drives(self) -> Mapping[str, Drive]:
        found = {}
        for name, counterpart in self._counterparts():
            joint = self.other.joint(counterpart)
            found[name] = Drive(float(joint.armature), float(joint.damping), float(joint.friction))
        return found

    def ranges(self) -> Mapping[str, tuple[float, float]]:
        found = {}
        for name, counterpart in self._counterparts():
            limits = self.other.joint(counterpart).limits
            found[name] = (float(limits.lower), float(limits.upper))
        return found

    def views(self, q: Array) -> Mapping[str, View]:
        theirs = self.convention.q(q)
        places, links = link_poses(self.other.tree, theirs), self.other.tree.links
        found = {}
        for own, name in self._counterparts():
            k = max(k for k, link in enumerate(links) if link.joint == name)  # the one that carries the body
            moments, at = links[k].moments, places[k]
            matter = Inertia.about_origin(moments.mass, moments.first, moments.tensor)
            R = at.rotation
            child = self.other.joint(name).child
            angular, linear = jacobian(self.other, theirs, child)
            point = _origin(self.other, theirs, child)
            J = self.convention.from_jacobian(theirs, at_origin(angular, linear, point))
            center = at.translation + R @ matter.center if matter.mass else np.zeros(3)
            found[own] = View(float(matter.mass), center, R @ matter.tensor @ R.T, J)
        return found

    def frames(self, q: Array) -> Mapping[str, Transform]:
        return poses(self.other, self.convention.q(q))

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        c = self.convention
        their_q, their_v, their_a = c.q(q), c.v(q, v), c.a(q, v, a)
        tau = newton_euler(self.other.tree, their_q, their_v, their_a) + self.forces.of(their_v, their_a)
        tau = tau - self.acting.generalised(State(self.other, their_q, their_v))
        return c.from_tau(their_q, np.asarray(tau, dtype=float))

    def mass_matrix(self, q: Array) -> Array:
        theirs = self.convention.q(q)
        M = np.asarray(walker_orin(self.other.tree, theirs), dtype=float)
        armature: Any = self.forces.armature
        if armature is not None:
            M = M + np.diag(np.asarray(armature, dtype=float))
        return self.convention.from_mass_matrix(theirs, M)

    def springs(self) -> Mapping[str, Spring]:
        items = {item.name: item for item in self.other.forces}
        found = [items[name] for name in self.acting.names]
        return {item.a: Spring(float(item.stiffness), float(item.rest), float(item.damping)) for item in found}

    def remarks(self) -> list[str]:
        found = []
        if self.other.constraints:
            found.append(
                "at random states the tree alone is compared: loop closures and other constraints take no part"
            )
        if len(self.other.forces) > len(self.acting.names):
            others = "other force elements than springs on joints" if self.acting.names else "force elements"
            found.append(f"at random states {others} take no part")
        return found


def _origin(mechanism: Mechanism, q: Array, body: str) -> Array:
    from dalembert.kinematics import pose

    return np.asarray(pose(mechanism, q, body).translation, dtype=float)
