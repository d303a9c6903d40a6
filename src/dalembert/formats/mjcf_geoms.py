"""Orientations, sizes and inertias of what an MJCF file describes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalembert.algebra.quaternions import quaternion_from_rotation, rotation_from_quaternion
from dalembert.algebra.transform import Transform
from dalembert.formats.mjcf_source import Described

ROUND = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3, "plane": 3, "hfield": 0, "mesh": 0}
"""How many sizes each kind of geom has; the last one of a plane is for its picture."""

FARTHEST = 1e10
"""Half of the largest size of a geom, m."""


def placed(position: np.ndarray, quaternion: np.ndarray | None = None) -> Transform:
    """A frame.

    Args:
        quaternion: scalar first, not zero; none turns nothing.
    """
    if quaternion is None:
        return Transform.from_translation(position)
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return Transform(rotation_from_quaternion(np.array([x, y, z, w])), position)


def scalar_first(rotation: np.ndarray) -> np.ndarray:
    """The quaternion of a rotation matrix, as MuJoCo has it."""
    x, y, z, w = quaternion_from_rotation(rotation)
    return np.array([w, x, y, z])


def orientation(part: Described, degrees: bool, sequence: str, along: np.ndarray | None = None) -> np.ndarray:
    """The orientation of an element, as a quaternion with the scalar first.

    Args:
        part: says it by quat, axisangle, euler, xyaxes or zaxis, or not at all.
        degrees: angles are in degrees.
        sequence: of Euler angles; small letters turn about the axes that turned already, capitals about those outside.
        along: direction of the z axis, whatever the element says.
    """
    said = [name for name in ("axisangle", "euler", "xyaxes", "zaxis") if name in part.element.attributes]
    if len(said) + ("quat" in part.element.attributes) > 1:
        raise part.error(f"an orientation is said twice, by {' and '.join(said)}; keep one")
    if along is not None:
        return _z_along(along)
    if not said and "quat" not in part.element.attributes:
        said = [name for name in ("axisangle", "euler", "xyaxes", "zaxis") if name in part]
    unit = math.pi / 180 if degrees else 1.0
    match said[0] if said else "":
        case "axisangle":
            x, y, z, angle = part.vector("axisangle", (0.0,) * 4)
            return _about(_direction(part, (x, y, z)), angle * unit)
        case "euler":
            found = np.array([1.0, 0.0, 0.0, 0.0])
            for letter, angle in zip(sequence, part.vector("euler")):
                turn = _about(np.eye(3)["xyz".index(letter.lower())], angle * unit)
                found = _product(found, turn) if letter.islower() else _product(turn, found)
            return found
        case "xyaxes":
            numbers = part.vector("xyaxes", (0.0,) * 6)
            first = _direction(part, numbers[:3])
            second = _direction(part, np.array(numbers[3:]) - first * (first @ np.array(numbers[3:])))
            return scalar_first(np.column_stack([first, second, np.cross(first, second)]))
        case "zaxis":
            return _z_along(_direction(part, part.vector("zaxis")))
        case _:
            quaternion = np.array(part.vector("quat", (1.0, 0.0, 0.0, 0.0)))
            if np.linalg.norm(quaternion) < 1e-15:
                raise part.error("quat is zero")
            return quaternion


def _direction(part: Described, vector: Any) -> np.ndarray:
    size = float(np.linalg.norm(vector))
    if size < 1e-15:
        raise part.error("an axis of the orientation has no direction")
    return np.asarray(vector, dtype=float) / size


def _about(axis: np.ndarray, angle: float) -> np.ndarray:
    return np.array([math.cos(angle / 2), *(math.sin(angle / 2) * axis)])


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def _z_along(direction: np.ndarray) -> np.ndarray:
    """The smallest rotation that takes the z axis there; half a turn about x if that is backwards."""
    x, y, z = direction / np.linalg.norm(direction)
    across = math.hypot(x, y)
    axis = np.array([-y / across, x / across, 0.0]) if across > 1e-10 else np.array([1.0, 0.0, 0.0])
    return _about(axis, math.atan2(across, z))


# --------------------------------------------------------------------------------------------------- sizes and inertias


def sizes(part: Described, kind: str) -> tuple[float, ...]:
    """The three sizes of a geom as MuJoCo keeps them: radius and half length, or half edges."""
    size = list(part.numbers("size", (0.0, 0.0, 0.0)))
    if "fromto" in part:
        if kind not in ("capsule", "cylinder", "ellipsoid", "box"):
            raise part.error(f"fromto is for capsules, cylinders, ellipsoids and boxes, not for a {kind}")
        ends = np.array(part.vector("fromto", (0.0,) * 6)).reshape(2, 3)
        half = float(np.linalg.norm(ends[1] - ends[0])) / 2
        size = [size[0], half, 0.0] if kind in ("capsule", "cylinder") else [size[0], size[0], half]
    if max(map(abs, size)) > FARTHEST:
        raise part.error(f"size: nothing is larger than {FARTHEST:g} m")
    needed = ROUND[kind] if kind != "plane" else 0
    if any(s <= 0 for s in size[:needed]):
        raise part.error(f"a {kind} needs {needed} positive {'size' if needed == 1 else 'sizes'}: size=")
    return tuple(size)


def geom_inertia(kind: str, size: tuple[float, ...], mass: float | None, density: float) -> tuple[float, np.ndarray]:
    """Mass and tensor about the centre of a solid, in its own axes.

    Args:
        kind: of geom.
        size: as :func:`sizes` has it.
        mass: if the file says it, else
        density: kg/m^3.
    """
    a, b, c = size
    if kind == "sphere":
        b = c = a
    if kind in ("sphere", "ellipsoid"):
        volume, squares = 4 / 3 * math.pi * a * b * c, np.array([a * a, b * b, c * c]) / 5
    elif kind == "box":
        volume, squares = 8 * a * b * c, np.array([a * a, b * b, c * c]) / 3
    elif kind == "cylinder":
        volume, squares = 2 * math.pi * a * a * b, np.array([a * a / 4, a * a / 4, b * b / 3])
    else:  # a capsule: a cylinder and two halves of a ball, whose centres of mass are 3/8 of the radius beyond its ends
        rod, ball = 2 * math.pi * a * a * b, 4 / 3 * math.pi * a**3
        volume = rod + ball
        across = (rod * a * a / 4 + ball * a * a / 5) / volume
        lengthwise = (rod * b * b / 3 + ball * (a * a / 5 + b * b + 3 / 4 * a * b)) / volume
        squares = np.array([across, across, lengthwise])
    total = mass if mass is not None else density * volume
    return total, total * np.diag(squares.sum() - squares)


def mesh_inertia(points: np.ndarray, triangles: np.ndarray, mode: str) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre of mass and tensor about it, in the axes of the mesh and per density.

    Sums over the tetrahedra that a point spans with the triangles: the centre of all triangles for the centre of
    mass, then this for volume and tensor. For a closed surface any point would do.

    Args:
        points: (n, 3), m.
        triangles: (m, 3) indices of points.
        mode: ``exact`` counts tetrahedra on the far side negative, as is right for a closed surface; ``legacy`` counts
            all positive, so that holes do less harm; ``convex`` has been made so by its triangles.
    """
    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2
    areas = np.linalg.norm(normals, axis=1)
    middle = (areas[:, None] * corners.mean(axis=1)).sum(axis=0) / areas.sum()

    def pieces(apex: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moved = corners - apex
        volumes = np.einsum("ij,ij->i", moved[:, 0], normals) / 3
        return np.abs(volumes) if mode == "legacy" else volumes, moved

    volumes, moved = pieces(middle)
    centre = middle + (volumes[:, None] * moved.sum(axis=1)).sum(axis=0) / 4 / volumes.sum()
    volumes, moved = pieces(centre)
    volume = float(volumes.sum())
    sums = moved.sum(axis=1)
    second = np.einsum("i,ikj,ikl->jl", volumes, moved, moved) + np.einsum("i,ij,il->jl", volumes, sums, sums)
    second /= 20 if volume > 0 else -20  # mirrored by a negative scale
    return abs(volume), centre, np.trace(second) * np.eye(3) - second


def moved_together(parts: list[tuple[float, np.ndarray, np.ndarray]]) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, centre of mass and tensor about it of several solids.

    Args:
        parts: mass, centre of mass, tensor about it, all in the same axes.
    """
    mass = sum(m for m, _, _ in parts)
    centre = sum((m * c for m, c, _ in parts), np.zeros(3)) / mass
    tensor = np.zeros((3, 3))
    for m, c, own in parts:
        r = c - centre
        tensor += own + m * (r @ r * np.eye(3) - np.outer(r, r))
    return mass, centre, tensor
