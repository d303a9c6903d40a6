"""Loop closures and couplings of a mechanism: functions of the coordinates that vanish when they hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.scalar import Array, Scalar, product
from dalembert.algebra.vectors import dot, vect
from dalembert.errors import UnsupportedError
from dalembert.formulations.system import Place, System
from dalembert.model import WORLD, Constraint, Mechanism


def residuals(mechanism: Mechanism, system: System) -> list[tuple[str, Array]]:
    """For every constraint of a mechanism its name and position residuals.

    Args:
        mechanism: the mechanism.
        system: the same as a system of moving bodies.
    """
    return [(item.name, _residual(mechanism, system, item)) for item in mechanism.constraints]


def _residual(mechanism: Mechanism, system: System, item: Constraint) -> Array:
    if item.kind == "coupling":
        return scalar.asarray([_coupling(mechanism, system, item)])
    a, b = (
        _at(system, system.place(name), at) for name, at in ((item.a, item.placement_a), (item.b, item.placement_b))
    )
    offset = product(a[0].T, b[1] - a[1])  # from a to b, axes of frame a
    turned = product(a[0].T, b[0])  # axes of frame b in frame a
    origin, line = list(offset), list(offset[:2])
    attitude, axis = list(vect(turned)), list(turned[:2, 2])
    match item.kind:
        case "weld":
            entries = origin + attitude
        case "spherical":
            entries = origin
        case "revolute":
            entries = origin + axis
        case "prismatic":
            entries = line + attitude
        case "cylindrical":
            entries = line + axis
        case "universal":
            entries = [*origin, turned[2, 2]]
        case "distance":
            length = _scalar(system, item.value)
            entries = [dot(offset, offset) - length * length]
        case "point-on-line":
            entries = line
        case "point-on-plane":
            entries = [offset[2]]
        case _:
            raise UnsupportedError(
                f"constraint {item.name!r}: formulations close loops and couple joints, but know no {item.kind!r}; "
                "write it as a constraint on velocities, pfaffian=[...], for method='kane'"
            )
    return scalar.asarray(entries)


def _at(system: System, place: Place, placement: Any) -> tuple[Array, Array]:
    rotation, translation = system.scope.read(placement.rotation), system.scope.read(placement.translation)
    return product(place.rotation, rotation), place.position + product(place.rotation, translation)


def _coupling(mechanism: Mechanism, system: System, item: Constraint) -> Scalar:
    """q_b - polynomial(q_a); without a joint b, q_a minus a constant."""
    coefficients = [_scalar(system, c) for c in item.coefficients]
    x = joint_position(mechanism, system, item.a)
    if item.b in ("", WORLD):
        return x - (coefficients[0] if coefficients else 0)
    total: Scalar = 0
    for c in reversed(coefficients):
        total = total * x + c
    return joint_position(mechanism, system, item.b) - total


def joint_position(mechanism: Mechanism, system: System, name: str) -> Scalar:
    """Position of a one-degree joint; of a mimic joint, from its leader.

    Args:
        mechanism: the mechanism.
        system: the same as a system of moving bodies.
        name: of the joint.
    """
    joint = mechanism.joint(name)
    leader = system.q[mechanism.q_slice(name)][0]
    if joint.mimic is None:
        return leader
    return _scalar(system, joint.mimic.multiplier) * leader + _scalar(system, joint.mimic.offset)


def _scalar(system: System, value: Any) -> Scalar:
    return system.scope.read(np.array(value, dtype=object))[()]
