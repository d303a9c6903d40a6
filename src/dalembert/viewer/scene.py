"""A mechanism as the page sees it: plain data in the frames of the links that carry everything."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.errors import ModelError
from dalembert.model import WORLD, Body, Mechanism
from dalembert.model.checks import expect_choice
from dalembert.model.names import position_names, velocity_names
from dalembert.text.layout import printable
from dalembert.viewer.meshes import Meshes
from dalembert.viewer.touching import collision_shapes, floor, grounds

TURN, REACH = math.pi, 1.0
"""How far sliders of joints without limits go: rad, and m times the size of the mechanism."""


DRAWN = ("box", "sphere", "ellipsoid", "cylinder", "capsule", "mesh")
"""Kinds of shapes of bodies that have a picture."""


def scene(mechanism: Mechanism, q: np.ndarray, meshes: Meshes) -> dict[str, Any]:
    """Everything that is drawn, and what the sliders are."""
    carriers = mechanism.tree.carriers
    size = reach(mechanism)
    return {
        "name": printable(mechanism.name),
        "nq": mechanism.nq,
        "nv": mechanism.nv,
        "mass": float(mechanism.mass),
        "gravity": numbers(mechanism.gravity),
        "constraints": len(mechanism.constraints),
        "elements": len(mechanism.forces),
        "links": len(mechanism.tree.links),
        "size": size,
        "q": numbers(q),
        "neutral": numbers(mechanism.neutral),
        "coordinates": _coordinates(mechanism, size),
        "velocities": [printable(name) for name in velocity_names(mechanism)],
        "steps": [
            {"kind": link.kind, "q": link.q, "v": link.v} for link in mechanism.tree.links if _leads(mechanism, link)
        ],
        "bodies": [_body(body, *carriers[body.name], meshes) for body in mechanism.bodies],
        "frames": [
            {"name": printable(frame.name), "link": carriers[frame.body][0],
             "at": pose(carriers[frame.body][1] @ frame.placement)}
            for frame in mechanism.frames
        ],
        "bones": bones(mechanism),
        "collisions": collision_shapes(mechanism),
        "grounds": grounds(mechanism, size),
        "floor": floor(mechanism),
    }  # fmt: skip


def reach(mechanism: Mechanism) -> float:
    """A length that is typical of the mechanism, m: the longest of the chains of its joints, stretched."""
    far = {WORLD: 0.0}
    longest = 0.0
    for joint in mechanism.joints:
        step = 0.0 if joint.parent == WORLD else float(np.linalg.norm(_real(joint.placement.translation)))
        center = float(np.linalg.norm(_real(mechanism.body(joint.child).inertia.center)))
        far[joint.child] = far[joint.parent] + step
        longest = max(longest, far[joint.child] + center)
    for frame in mechanism.frames:
        if frame.body != WORLD:
            longest = max(longest, far[frame.body] + float(np.linalg.norm(_real(frame.placement.translation))))
    return longest or 1.0


def pose(transform: Transform) -> list[float]:
    """Twelve numbers: the rotation by rows, then the position."""
    return numbers([*np.asarray(transform.rotation).flat, *np.asarray(transform.translation).flat])


def numbers(values: Iterable[Any]) -> list[float]:
    """Plain floats, with nine digits: what a picture needs, and no more."""
    found = [float(f"{float(x):.9g}") for x in values]
    if not all(map(math.isfinite, found)):
        raise ModelError(f"{found}: what is shown must have finite numbers; see the shapes, frames and inertias")
    return found


def _real(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=float)


def _leads(mechanism: Mechanism, link: Any) -> bool:
    """False for the links of mimic joints, whose coordinate belongs to another."""
    return mechanism.joint(link.joint).mimic is None


def _coordinates(mechanism: Mechanism, size: float) -> list[dict[str, Any]]:
    """A slider for every entry of q, quaternions excepted: these get three angles in the page."""
    names = position_names(mechanism)
    found: list[dict[str, Any]] = []
    for joint in mechanism.joints:
        if not joint.nq:
            continue
        for link in (x for x in mechanism.tree.links if x.joint == joint.name):
            if link.kind == "spherical":
                found.append({"name": printable(joint.name), "q": link.q, "unit": "quaternion", "v": link.v})
                continue
            turning = link.kind != "prismatic"
            low, high = (-TURN, TURN) if turning else (-REACH * size, REACH * size)
            limits = joint.limits if joint.nq == 1 and joint.kind != "continuous" else None
            if limits is not None:
                low = limits.lower if math.isfinite(limits.lower) else min(low, limits.upper - TURN)
                high = limits.upper if math.isfinite(limits.upper) else max(high, limits.lower + TURN)
            found.append({"name": printable(names[link.q]), "q": link.q, "v": link.v, "unit": "rad" if turning else "m",
                          "low": float(low), "high": float(high)})  # fmt: skip
    return found


def _body(body: Body, link: int, at: Transform, meshes: Meshes) -> dict[str, Any]:
    inertia = body.inertia
    found: dict[str, Any] = {"name": printable(body.name), "link": link, "at": pose(at), "shapes": []}
    for shape in body.shapes:
        expect_choice(shape.kind, DRAWN, f"body {body.name!r}: there is no picture of a shape of kind", ModelError)
        drawn: dict[str, Any] = {
            "kind": shape.kind,
            "size": numbers(shape.size),
            "at": pose(at @ shape.placement),
            "colour": numbers(shape.colour),
        }
        if shape.kind == "mesh":
            drawn["mesh"] = meshes.add(shape.mesh, body.name)
        found["shapes"].append(drawn)
    mass = float(inertia.mass)
    if mass > 0:
        found["mass"] = mass
        found["center"] = numbers(at.apply(inertia.center))
        found["ellipsoid"] = _ellipsoid(mass, _real(inertia.tensor), at, _real(inertia.center))
    return found


def _ellipsoid(mass: float, tensor: np.ndarray, at: Transform, center: np.ndarray) -> dict[str, Any] | None:
    """The homogeneous ellipsoid of the same mass and inertia; None for a point mass.

    With principal moments A, B, C its semi-axes are a^2 = 5 (B + C - A) / (2 m), and so on.
    """
    moments, axes = np.linalg.eigh(tensor)
    squares = 5 * (moments.sum() - 2 * moments) / (2 * mass)
    if not np.isfinite(squares).all() or squares.max() <= 0:
        return None
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    thinnest = 0.01 * math.sqrt(squares.max())  # rods and discs keep a thickness that can be seen
    return {
        "axes": numbers(np.maximum(np.sqrt(np.maximum(squares, 0)), thinnest)),
        "at": pose(at @ Transform(axes, center)),
    }


# ---------------------------------------------------------------------------------------------------------------- bones


def bones(mechanism: Mechanism) -> dict[str, Any]:
    """Rods and joints, each point with the link that carries it (-1: the ground).

    A rod goes from the origin of a body to the joints it carries and to pins that close loops; where there are none, to
    its tool frames; where nothing of this is away from the origin, to its centre of mass. Where a joint slides there is
    a rod along the way.
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
