"""The generic mechanism of a topology: every mass, moment, length, axis and rotation is an independent random scalar.

What is proved of it holds for every mechanism with the same tree and the same kinds of joints, the given one among
them: theirs are the values that its scalars happen to have.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra.quaternions import rotation_from_quaternion
from dalembert.algebra.scalar import is_number
from dalembert.algebra.transform import Transform
from dalembert.cached import cached_property
from dalembert.model import Body, Constraint, Inertia, Joint, Mechanism, Mimic
from dalembert.model.body import WORLD
from dalembert.model.constraint import FIELDS

ROOTS = ("rolling-disc", "rolling-ellipsoid")
"""Constraints whose rows have a square root, which a field need not have."""

FUNCTIONS = ("position", "velocity", "motion")
"""Constraints that are users' functions: they may be anything."""

ON_JOINTS = tuple(name for name, kind in FIELDS.items() if kind.on == "joints")
WITH_VALUE = tuple(name for name, kind in FIELDS.items() if "value" in kind.may)


def generic_mechanism(mechanism: Mechanism, field: Any) -> Mechanism:
    """A mechanism of the same topology over the scalars of a field; constraints and force elements are left out.

    Args:
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
        contacts=(),
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


def moving_joints(mechanism: Mechanism) -> dict[str, int]:
    """For every body and the world the number of the joint that moves it, from 1 on; 0 is the ground."""
    found, count = {WORLD: 0}, 0
    for joint in mechanism.joints:  # each after the one inside it
        if joint.kind == "fixed":
            found[joint.child] = found[joint.parent]
        else:
            count += 1
            found[joint.child] = count
    return found


def topology(mechanism: Mechanism) -> dict[str, list[Any]]:
    """What is left of a mechanism when its numbers and names are taken away: the tree, its joints and closures.

    Joints are ``[number of the joint that carries it, kind, what it follows]``, constraints ``[kind, numbers of what
    they connect, count of coefficients]``; joints that move count from 1, bodies have the number of the joint that
    moves them, the ground is 0. What fixed joints hold together is one body. Factors of joints that follow others are
    kept, since they decide how angles add up; so are only those constraints that are proved.
    """
    carried = moving_joints(mechanism)
    numbers = {joint.name: carried[joint.child] for joint in mechanism.joints if joint.kind != "fixed"}
    joints = [
        [
            carried[joint.parent],
            "revolute" if joint.kind == "continuous" else joint.kind,
            [numbers[joint.mimic.joint], _plain(joint.mimic.multiplier), _plain(joint.mimic.offset)]
            if joint.mimic
            else None,
        ]
        for joint in mechanism.joints
        if joint.kind != "fixed"
    ]
    closures = [
        [
            item.kind,
            [numbers[x] if item.on_joints else carried[mechanism.frame(x).body] for x in _ends(item)],
            len(item.coefficients),
        ]
        for item in mechanism.constraints
        if item.kind not in (*FUNCTIONS, *ROOTS)
    ]
    return {"joints": joints, "constraints": closures}


def _ends(item: Constraint) -> list[str]:
    return [getattr(item, end) for end in item.ends]


def _plain(x: Any) -> float | str:
    return float(x) if is_number(x) else str(x)


def topology_digest(mechanism: Mechanism) -> str:
    """A name of the topology: mechanisms of the same have the same."""
    return digest_of(topology(mechanism))


def digest_of(found: Mapping[str, Any]) -> str:
    """The name of a topology.

    Args:
        found: what :func:`topology` gives.
    """
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def representative(found: Mapping[str, Any], name: str) -> Mechanism:
    """A mechanism of a topology, with numbers that do not matter.

    Args:
        found: what :func:`topology` gives.
        name: what it shall be called.
    """
    bodies, joints, constraints = [], [], []
    for k, (carrier, kind, follows) in enumerate(found["joints"], 1):
        bodies.append(Body(f"link {k}", Inertia.box(1, (1, 1, 1))))
        parent = f"link {carrier}" if carrier else WORLD
        mimic = Mimic(f"joint {follows[0]}", *follows[1:]) if follows else None
        pitch = 0.1 if kind == "helical" else 0.0
        joints.append(Joint(f"joint {k}", kind, parent, f"link {k}", mimic=mimic, pitch=pitch))
    for k, (kind, ends, count) in enumerate(found["constraints"], 1):
        what = "joint" if kind in ON_JOINTS else "link"
        a, b = ([f"{what} {x}" if x else WORLD for x in ends] + [WORLD])[:2]
        value = 1 if kind in WITH_VALUE else 0
        constraints.append(Constraint(f"constraint {k}", kind, a, b, value=value, coefficients=(1,) * count))
    return Mechanism(name, tuple(bodies), tuple(joints), constraints=tuple(constraints))
