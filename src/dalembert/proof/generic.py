"""The generic mechanism of a topology: every mass, moment, length, axis and rotation is an independent random scalar.

What is proved of it holds for every mechanism with the same tree and the same kinds of joints, the given one among
them: theirs are the values that its scalars happen to have.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.algebra.quaternions import rotation_from_quaternion
from dalembert.algebra.transform import Transform
from dalembert.model import Inertia, Mechanism


def generic_mechanism(mechanism: Mechanism, field: Any) -> Mechanism:
    """A mechanism of the same topology over the scalars of a field; constraints and force elements are left out.

    Args:
        mechanism: the mechanism.
        field: a :class:`~dalembert.proof.field.Field` or :class:`~dalembert.proof.degree.Degrees`.
    """
    bodies = [body.replace(inertia=_inertia(field)) for body in mechanism.bodies]
    joints = []
    for joint in mechanism.joints:
        rotation = random_rotation(field)
        changes: dict[str, Any] = {"placement": Transform(random_rotation(field), random_vector(field, 3))}
        if joint.kind not in ("fixed", "free", "spherical"):
            changes |= {"axis": rotation[:, 2], "axis2": rotation[:, 0]}
        if joint.kind == "helical":
            changes["pitch"] = field.element()
        joints.append(joint.replace(**changes))
    return mechanism.replace(
        bodies=tuple(bodies),
        joints=tuple(joints),
        gravity=random_vector(field, 3),
        constraints=(),
        forces=(),
        strict=False,
    )


def random_vector(field: Any, size: int) -> np.ndarray:
    return np.array([field.element() for _ in range(size)], dtype=object)


def random_rotation(field: Any) -> np.ndarray:
    return rotation_from_quaternion(field.unit(4))


def _inertia(field: Any) -> Inertia:
    upper = {(i, j): field.element() for i in range(3) for j in range(i, 3)}
    tensor = np.array([[upper[min(i, j), max(i, j)] for j in range(3)] for i in range(3)], dtype=object)
    return Inertia(field.element(), random_vector(field, 3), tensor)


@dataclass(frozen=True, eq=False)
class Subject:
    """A generic mechanism at a generic state: what laws are about.

    Args:
        mechanism: over the scalars of a field.
        field: where further random scalars come from.
    """

    mechanism: Mechanism
    field: Any

    @cached_property
    def q(self) -> np.ndarray:
        """Positions: an angle or length for every joint, unit quaternions for spherical ones."""
        q: list[Any] = [None] * self.mechanism.nq
        for link in self.mechanism.tree.links:
            if link.kind == "spherical":
                q[link.q : link.q + 4] = self.field.unit(4).tolist()
            elif q[link.q] is None:
                q[link.q] = self.field.angle()
        return np.array(q, dtype=object)

    @cached_property
    def v(self) -> np.ndarray:
        return random_vector(self.field, self.mechanism.nv)

    @cached_property
    def a(self) -> np.ndarray:
        return random_vector(self.field, self.mechanism.nv)

    @cached_property
    def tau(self) -> np.ndarray:
        return random_vector(self.field, self.mechanism.nv)

    @cached_property
    def remembered(self) -> dict[str, Any]:
        """Results that several laws need."""
        return {}

    def once(self, name: str, make: Any) -> Any:
        if name not in self.remembered:
            self.remembered[name] = make()
        return self.remembered[name]


def topology(mechanism: Mechanism) -> tuple[tuple[Any, ...], ...]:
    """What is left of a mechanism when its numbers and names are taken away: the tree and the kinds of its joints."""
    bodies = {body.name: k for k, body in enumerate(mechanism.bodies)}
    leaders = {joint.name: k for k, joint in enumerate(mechanism.joints)}
    return tuple(
        (
            bodies.get(joint.parent, -1),
            bodies[joint.child],
            "revolute" if joint.kind == "continuous" else joint.kind,
            leaders[joint.mimic.joint] if joint.mimic else None,
        )
        for joint in mechanism.joints
    )


def topology_digest(mechanism: Mechanism) -> str:
    """A name of the topology: mechanisms of the same have the same."""
    return hashlib.sha256(repr(topology(mechanism)).encode()).hexdigest()
