"""What is drawn of a mechanism without geometry: rods between joints, symbols of joints, pins that close loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.model import WORLD, Mechanism


def bones(mechanism: Mechanism) -> dict[str, Any]:
    """Rods and joints, each point with the link that carries it (-1: the ground).

    A rod goes from the origin of a body to the joints it carries and to pins that close loops; where there are none, to
    its tool frames; where nothing of this is away from the origin, to its centre of mass. Where a joint slides there is
    a rod along the way.

    Args:
        mechanism: with numbers only.
    """
    carriers = mechanism.tree.carriers
    rods: list[dict[str, Any]] = []
    joints: list[dict[str, Any]] = []

    def point(body: str, at: Any = (0, 0, 0)) -> dict[str, Any]:
        link, frame = carriers[body]
        return {"link": link, "at": [float(x) for x in frame.apply(np.asarray(at, dtype=float))]}

    def rod(kind: str, a: dict[str, Any], b: dict[str, Any]) -> None:
        rods.append({"kind": kind, "a": a, "b": b})

    pins = _pins(mechanism)
    for joint in mechanism.joints:
        body = mechanism.body(joint.child)
        ends = [j.placement.translation for j in mechanism.joints if j.parent == joint.child]
        ends += [at for carrier, at in pins if carrier == body.name]
        if not any(_length(at) > 0 for at in ends):
            tools = [] if ends else [f.placement.translation for f in mechanism.frames if f.body == body.name]
            ends = [at for at in tools if _length(at) > 0] or [body.inertia.center]
        for at in ends:
            rod("link", point(body.name), point(body.name, at))
        if joint.kind not in ("free", "fixed"):
            rod("way", point(joint.parent, joint.placement.translation), point(joint.child))
        frame = carriers[joint.parent][1] @ joint.placement
        axis = np.asarray(frame.rotation, dtype=float) @ np.asarray(joint.axis, dtype=float)
        joints.append(
            {
                "kind": joint.kind,
                "base": {"link": carriers[joint.parent][0], "at": [float(x) for x in frame.translation]},
                "at": point(joint.child),
                "axis": [float(x) for x in axis],
                "ground": joint.parent == WORLD and joint.kind != "free",
            }
        )
    for item in mechanism.constraints:
        if item.has_ends and not item.on_joints:
            a, b = (
                point(mechanism.frame(name).body, _in_body(mechanism, name, at).translation)
                for name, at in ((item.a, item.placement_a), (item.b, item.placement_b))
            )
            if item.kind == "distance":
                rod("link", a, b)
            if not item.kind.startswith(("rolling", "skate")):
                joints += [
                    {"kind": "pin", "base": end, "at": end, "axis": [0.0, 0.0, 1.0], "ground": False} for end in (a, b)
                ]
    return {
        "rods": rods,
        "joints": joints,
        "wheels": _wheels(mechanism),
        "lumps": _lumps(mechanism, rods),
        "length": _length_of_long_ones(rods),
    }


def _length_of_long_ones(rods: list[dict[str, Any]]) -> float | None:
    """The length that a quarter of the links reach: joints and masses must be smaller, or they hide the rods."""
    lengths = [_length(np.subtract(rod["a"]["at"], rod["b"]["at"])) for rod in rods if rod["kind"] == "link"]
    lengths = [length for length in lengths if length > 0]
    return float(np.quantile(lengths, 0.75)) if lengths else None


def _lumps(mechanism: Mechanism, rods: list[dict[str, Any]]) -> list[int]:
    """Numbers of the bodies that no rod shows: these are drawn as their inertia ellipsoids."""
    shown = {
        rod["a"]["link"]
        for rod in rods
        if rod["kind"] == "link" and _length(np.subtract(rod["a"]["at"], rod["b"]["at"]))
    }
    bodies = enumerate(mechanism.bodies)
    return [k for k, body in bodies if mechanism.tree.carriers[body.name][0] not in shown | {-1}]


def _wheels(mechanism: Mechanism) -> list[dict[str, Any]]:
    """What rolls, in the frames of the links that carry it."""
    found = []
    for item in mechanism.constraints:
        size = float(item.value)
        shape: tuple[str, list[float]] | None = {
            "rolling-disc": ("cylinder", [size, 0.04 * size]),
            "rolling-sphere": ("sphere", [size]),
            "rolling-ellipsoid": ("ellipsoid", [float(x) for x in item.coefficients]),
        }.get(item.kind)
        if shape is not None:
            link, frame = mechanism.tree.carriers[mechanism.frame(item.a).body]
            at = frame @ _in_body(mechanism, item.a, item.placement_a)
            numbers = [float(x) for x in (*np.asarray(at.rotation).flat, *at.translation)]
            found.append({"kind": shape[0], "size": shape[1], "link": link, "at": numbers})
    return found


def _pins(mechanism: Mechanism) -> list[tuple[str, np.ndarray]]:
    """The body and, in its frame, the point of every end of a closure."""
    found = []
    for item in mechanism.constraints:
        if item.has_ends and not item.on_joints and not item.kind.startswith(("rolling", "skate")):
            for name, at in ((item.a, item.placement_a), (item.b, item.placement_b)):
                placed = _in_body(mechanism, name, at)
                found.append((mechanism.frame(name).body, np.asarray(placed.translation, dtype=float)))
    return found


def _in_body(mechanism: Mechanism, name: str, at: Transform) -> Transform:
    """A place in a frame, as seen from the body that carries the frame."""
    return mechanism.frame(name).placement @ at


def _length(vector: Any) -> float:
    return float(np.linalg.norm(np.asarray(vector, dtype=float)))
