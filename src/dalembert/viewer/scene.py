"""A mechanism as the page sees it: plain data in the frames of the links that carry everything."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.errors import ModelError
from dalembert.model import WORLD, Body, Mechanism
from dalembert.model.names import position_names, velocity_names
from dalembert.text.layout import printable
from dalembert.viewer.bones import bones
from dalembert.viewer.meshes import Meshes

TURN, REACH = math.pi, 1.0
"""How far sliders of joints without limits go: rad, and m times the size of the mechanism."""


def scene(mechanism: Mechanism, q: np.ndarray, meshes: Meshes) -> dict[str, Any]:
    """Everything that is drawn, and what the sliders are.

    Args:
        mechanism: with numbers only.
        q: the position to begin with.
        meshes: reads mesh files and keeps what it read.
    """
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
