"""Generalised forces of springs and dampers."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.scalar import Array, product
from dalembert.algebra.vectors import cross, norm
from dalembert.formulations.closures import joint_position
from dalembert.formulations.system import System
from dalembert.model import Force, Mechanism


def passive_forces(mechanism: Mechanism, system: System, damping: bool) -> list[tuple[str, Array]]:
    """For every passive force of a mechanism its name and what it does to the velocities.

    Args:
        mechanism: the mechanism.
        system: the same as a system of moving bodies.
        damping: joint damping counts as well.
    """
    forces = [(item.name, _force(mechanism, system, item)) for item in mechanism.forces]
    if damping and any(not scalar.is_zero(joint.damping) for joint in mechanism.joints):
        forces.append(("joint damping", _damping(mechanism, system)))
    return forces


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


def _damping(mechanism: Mechanism, system: System) -> Array:
    """- d v for each joint; a mimic joint brakes its leader."""
    result = np.zeros(system.n, dtype=object)
    for joint in mechanism.joints:
        coefficient = _scalar(system, joint.damping)
        if scalar.is_zero(coefficient):
            continue
        gain = _scalar(system, joint.mimic.multiplier) if joint.mimic else 1
        part = mechanism.v_slice(joint.name)
        for k in range(part.start, part.stop):
            result[k] = result[k] - coefficient * gain * gain * system.v[k]
    return result


def _scalar(system: System, value: Any) -> Any:
    return system.scope.read(np.array(value, dtype=object))[()]
