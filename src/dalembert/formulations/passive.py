"""Generalised forces of springs and dampers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.scalar import Array, Scalar, product
from dalembert.algebra.vectors import cross, norm
from dalembert.algorithms.joint_forces import TERMS, JointForces, joint_forces
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.formulations.closures import joint_position
from dalembert.formulations.system import System
from dalembert.model import Force, Mechanism


def passive_forces(mechanism: Mechanism, system: System, include: Sequence[str]) -> list[tuple[str, Array]]:
    """For every passive force that is asked for its name and what it does to the velocities.

    Args:
        mechanism: the mechanism.
        system: the same as a system of moving bodies.
        include: see :func:`dalembert.formulations.derive.derive`.
    """
    names = [item.name for item in mechanism.forces]
    unknown = [name for name in include if name not in (*TERMS, "forces", *names)]
    if unknown:
        raise ArgumentError(f"include = {unknown}: choose among {', '.join((*TERMS, 'forces', *names))}")
    wanted = [item for item in mechanism.forces if "forces" in include or item.name in include]
    forces = [(item.name, _force(mechanism, system, item)) for item in wanted]
    terms = joint_forces(mechanism, [name for name in include if name in ("damping", "friction")])
    own = JointForces(None, *(None if x is None else system.scope.read(x) for x in (terms.damping, terms.friction)))
    if own.damping is not None or own.friction is not None:
        forces.append(("joints", -own.resistance(system.v)))
    return forces


def rotors(mechanism: Mechanism, system: System, include: Sequence[str]) -> list[tuple[Scalar, Array]]:
    """For every rotor that is asked for its inertia and the row of its speed per velocity.

    Args:
        mechanism: the mechanism.
        system: the same as a system of moving bodies.
        include: see :func:`dalembert.formulations.derive.derive`.
    """
    armature = joint_forces(mechanism, ["armature"]).armature if "armature" in include else None
    if armature is None:
        return []
    rows = scalar.identity(system.n)
    return [(x, rows[k]) for k, x in enumerate(system.scope.read(armature)) if not scalar.is_zero(x)]


def _force(mechanism: Mechanism, system: System, item: Force) -> Array:
    stiffness, damping, rest = (_scalar(system, x) for x in (item.stiffness, item.damping, item.rest))
    if item.kind == "joint-spring":
        joint = mechanism.joint(item.a)
        gain = _scalar(system, joint.mimic.multiplier) if joint.mimic else 1
        place = mechanism.v_slice(item.a).start
        result = np.zeros(system.n, dtype=object)
        stretch = joint_position(mechanism, system, item.a) - rest
        result[place] = -gain * (stiffness * stretch + damping * gain * system.v[place])
        return result
    if item.kind != "spring":
        raise UnsupportedError(f"force {item.name!r}: formulations know springs only, not the kind {item.kind!r}")
    ends = []
    for name, placement in ((item.a, item.placement_a), (item.b, item.placement_b)):
        place = system.place(name)
        arm = product(place.rotation, system.scope.read(placement.translation))
        J = scalar.stack([cross(place.Jw[:, k], arm) for k in range(system.n)]).T
        ends.append((place.position + arm, place.Jv + J))
    (a, Ja), (b, Jb) = ends
    length = norm(b - a)
    slope = product((Jb - Ja).T, (b - a) / length)  # of the length per velocity
    rate = product(slope[None], system.v)[0]
    return -(stiffness * (length - rest) + damping * rate) * slope


def _scalar(system: System, value: Any) -> Any:
    return system.scope.read(np.array(value, dtype=object))[()]
