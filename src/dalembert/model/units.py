"""Units of the numbers of a mechanism, as products of SI symbols: ``"kg.m2"``, ``"N.m.s/rad"``."""

from __future__ import annotations

from collections import Counter

from dalembert.model.joint import JOINTS
from dalembert.model.mechanism import Mechanism
from dalembert.model.parameters import addresses, parameters

_FORCES = {
    "spring": {"stiffness": "N/m", "damping": "N.s/m", "rest": "m"},
    "torsional-spring": {"stiffness": "N.m/rad", "damping": "N.m.s/rad", "rest": "rad"},
    "attraction": {"value": "m3/s2"},
    "oblate-planet": {"value": "m3/s2", "radius": "m"},
}
_ON_JOINTS = {
    "rad": {"stiffness": "N.m/rad", "damping": "N.m.s/rad", "rest": "rad", "lower": "rad", "upper": "rad"},
    "m": {"stiffness": "N/m", "damping": "N.s/m", "rest": "m", "lower": "m", "upper": "m"},
}
_LENGTHS = {"distance", "rolling-disc", "rolling-sphere", "rolling-wheel"}
"""Constraints whose ``value`` is a length."""


def velocity_unit(part: str) -> str:
    """The unit of a velocity of a joint, of whose position ``part`` is the unit: ``rad`` or ``m``."""
    return f"{part}/s"


def force_unit(part: str) -> str:
    """The unit of the generalised force along a velocity, of whose position ``part`` is the unit."""
    return "N.m" if part == "rad" else "N"


def parameter_units(mechanism: Mechanism) -> dict[str, str]:
    """The unit of every address, see :func:`~dalembert.model.parameters.parameters`, and of every symbol that stands
    for such a number by itself; empty where there is none, where it is that of a user's formula, or where several
    motions of one joint have different ones.
    """
    found = {address: _unit(mechanism, *place) for address, place in addresses(mechanism).items()}
    values = parameters(mechanism)
    for symbol in mechanism.symbols:
        units = Counter(found[address] for address, value in values.items() if value in (symbol, -symbol))
        if symbol.name not in found:
            found[symbol.name] = next(iter(units)) if len(units) == 1 else ""
    return found


def _unit(mechanism: Mechanism, kind: str, name: str, path: tuple[object, ...]) -> str:
    if "rpy" in path:
        return "rad"
    if "translation" in path:
        return "m"
    last = path[0]
    if kind == "gravity":
        return "m/s2"
    if kind == "body":
        return {"mass": "kg", "center": "m", "tensor": "kg.m2"}[str(path[1])]
    if kind == "joint":
        return _of_joint(mechanism, name, str(path[-1]))
    if kind == "force":
        force = next(item for item in mechanism.forces if item.name == name)
        if last == "components":
            return "N" if path[1] in (0, 1, 2) else "N.m"
        if not force.on_joints:
            return _FORCES.get(force.kind, {}).get(str(last), "")
        motion = _motion(mechanism, force.a)
        if last == "value":
            return force_unit(motion) if motion else ""
        return _ON_JOINTS.get(motion, {}).get(str(last), "")
    if kind == "constraint" and last == "value":
        constraint = next(item for item in mechanism.constraints if item.name == name)
        return "m" if constraint.kind in _LENGTHS else ""
    return ""


def _of_joint(mechanism: Mechanism, name: str, what: str) -> str:
    motion = _motion(mechanism, name)
    if what == "pitch":
        return "m/rad"
    if what == "offset":
        return motion
    of = {
        "rad": {"damping": "N.m.s/rad", "friction": "N.m", "armature": "kg.m2"},
        "m": {"damping": "N.s/m", "friction": "N", "armature": "kg"},
    }
    return of.get(motion, {}).get(what, "")


def _motion(mechanism: Mechanism, joint: str) -> str:
    """``rad`` or ``m`` if all motions of a joint are of that kind."""
    units = {unit for _, unit in JOINTS[mechanism.joint(joint).kind].velocities}
    return units.pop() if len(units) == 1 else ""
