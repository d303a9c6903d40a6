"""Where the numbers of a mechanism lie, by names such as ``link7.com.x``; see :mod:`dalembert.model.parameters`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dalembert.algebra.transform import Transform
from dalembert.model.joint import SIZES
from dalembert.model.mechanism import Mechanism

COLLECTIONS = {"body": "bodies", "joint": "joints", "frame": "frames", "constraint": "constraints", "force": "forces"}
AXES = ("x", "y", "z")
ANGLES = ("roll", "pitch", "yaw")
MOMENTS = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}

Path = tuple[Any, ...]
"""Where a parameter lies in its owner: attribute names, then an index into an array."""


def addresses(mechanism: Mechanism) -> dict[str, tuple[str, str, Path]]:
    """For every address the kind and name of the owner and the path inside it.

    Args:
        mechanism: the mechanism.
    """
    found = [
        (f"{name}.{attribute}" if name else attribute, kind, name, path)
        for kind, name, attribute, path in _slots(mechanism)
    ]
    count = Counter(address for address, *_ in found)
    return {
        (address if count[address] == 1 else f"{kind}:{address}"): (kind, name, path)
        for address, kind, name, path in found
    }


def _slots(mechanism: Mechanism) -> Iterator[tuple[str, str, str, Path]]:
    for k, axis in enumerate(AXES):
        yield "gravity", "", f"gravity.{axis}", ("gravity", k)
    for body in mechanism.bodies:
        yield "body", body.name, "mass", ("inertia", "mass")
        for k, axis in enumerate(AXES):
            yield "body", body.name, f"com.{axis}", ("inertia", "center", k)
        for entry, index in MOMENTS.items():
            yield "body", body.name, f"inertia.{entry}", ("inertia", "tensor", index)
    for joint in mechanism.joints:
        yield from _placement_slots("joint", joint.name, joint.placement)
        if SIZES[joint.kind][1]:
            for attribute in ("damping", "friction", "armature"):
                yield "joint", joint.name, attribute, (attribute,)
        if joint.kind == "helical":
            yield "joint", joint.name, "pitch", ("pitch",)
        if joint.mimic:
            yield "joint", joint.name, "mimic.multiplier", ("mimic", "multiplier")
            yield "joint", joint.name, "mimic.offset", ("mimic", "offset")
    for frame in mechanism.frames:
        yield from _placement_slots("frame", frame.name, frame.placement)
    for constraint in mechanism.constraints:
        for attribute in constraint.numbers:
            yield "constraint", constraint.name, attribute, (attribute,)
        for k in range(len(constraint.coefficients)):
            yield "constraint", constraint.name, f"coefficient.{k}", ("coefficients", k)
        for end in constraint.placements:
            yield from _placement_slots("constraint", constraint.name, getattr(constraint, end), end)
    for force in mechanism.forces:
        for attribute in force.numbers:
            yield "force", force.name, attribute, (attribute,)
        for k in range(len(force.components)):
            yield "force", force.name, f"component.{k}", ("components", k)
        for end in force.placements:
            yield from _placement_slots("force", force.name, getattr(force, end), end)


def _placement_slots(
    kind: str, name: str, placement: Transform, attribute: str = "placement"
) -> Iterator[tuple[str, str, str, Path]]:
    for k, axis in enumerate(AXES):
        yield kind, name, f"{attribute}.{axis}", (attribute, "translation", k)
    if placement.rotation.dtype != object:
        for k, angle in enumerate(ANGLES):
            yield kind, name, f"{attribute}.{angle}", (attribute, "rpy", k)
