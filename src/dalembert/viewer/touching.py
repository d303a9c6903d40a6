"""What touches, as the page draws it: collision shapes, grounds, and the forces of contacts along a motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.contact.surfaces import Surfaces
from dalembert.model import WORLD, Ground, Mechanism, Shape
from dalembert.simulation import Trajectory

PATCH, CELLS = 4.0, 40
"""Half the edge of what is drawn of an endless ground, in sizes of the mechanism, and its cells along an edge."""

MOST_CURVES = 24
"""Points of contact whose forces are drawn: those that push most; each takes six curves."""


def collision_shapes(mechanism: Mechanism) -> list[dict[str, Any]]:
    """Shapes that may touch, each once, in the frames of the links that carry them."""
    found: list[dict[str, Any]] = []
    for name, shape in _shapes(mechanism):
        frame = mechanism.frame(name)
        link, at = mechanism.tree.carriers[frame.body]
        place = at @ frame.placement @ shape.placement
        drawn: dict[str, Any] = {"kind": shape.kind, "link": link, "size": _floats(shape.size), "at": _pose(place)}
        if shape.kind in ("points", "mesh"):
            if not shape.vertices:
                continue  # a mesh that nobody has read yet
            drawn["vertices"] = _floats(np.ravel(shape.vertices))
            drawn["triangles"] = _hull(np.array(shape.vertices, dtype=float)) if shape.kind == "mesh" else []
        found.append(drawn)
    return found


def _shapes(mechanism: Mechanism) -> list[tuple[str, Shape]]:
    found: list[tuple[str, Shape]] = [(body.name, shape) for body in mechanism.bodies for shape in body.collisions]
    known = {(name, shape) for name, shape in found}
    for contact in mechanism.contacts:
        for name, shape in ((contact.a, contact.shape_a), (contact.b, contact.shape_b)):
            if isinstance(shape, Shape) and (name, shape) not in known:
                known.add((name, shape))
                found.append((name, shape))
    return found


def _hull(vertices: np.ndarray) -> list[int]:
    """Triangles of a convex hull, counter-clockwise seen from outside; none if the points lie in a plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(vertices)
    except QhullError:
        return []
    triangles = []
    for corners, plane in zip(hull.simplices, hull.equations):
        a, b, c = vertices[corners]
        turned = np.cross(b - a, c - a) @ plane[:3] < 0
        triangles += (corners[::-1] if turned else corners).tolist()
    return triangles


def grounds(mechanism: Mechanism, size: float) -> list[dict[str, Any]]:
    """The surfaces of all grounds but level planes of the world, which the page's own floor shows.

    Args:
        size: of the mechanism, m.
    """
    found: list[dict[str, Any]] = []
    known: list[tuple[str, Ground]] = []
    for contact in mechanism.contacts:
        ground = contact.shape_b
        if not isinstance(ground, Ground) or any(contact.b == name and ground == other for name, other in known):
            continue
        known.append((contact.b, ground))
        frame = mechanism.frame(contact.b)
        link, at = mechanism.tree.carriers[frame.body]
        place = at @ frame.placement @ ground.placement
        for k in range(ground.surfaces):
            if link < 0 and _level(mechanism, ground, place, k) is not None:
                continue
            vertices = _patch(ground, place, k, PATCH * size)
            corners = np.arange(vertices.size // 3).reshape(vertices.shape[:2])
            a, b, c, d = corners[:-1, :-1], corners[1:, :-1], corners[1:, 1:], corners[:-1, 1:]
            triangles = np.stack([a, b, c, a, c, d], axis=-1).ravel()
            found.append({"link": link, "vertices": _floats(vertices.ravel()), "triangles": triangles.tolist()})
    return found


def _patch(ground: Ground, place: Transform, k: int, half: float) -> np.ndarray:
    """Points (n, n, 3) of a surface, in the frame of its carrier."""
    if ground.kind == "half-spaces":
        normal, middle = np.asarray(ground.normals[k], dtype=float), np.asarray(ground.points[k], dtype=float)
        aside = np.cross(normal, np.eye(3)[np.abs(normal).argmin()])
        aside /= np.linalg.norm(aside)
        along = np.cross(normal, aside)
        corners = middle + half * np.array([[-along - aside, -along + aside], [along - aside, along + aside]])
        return np.array([[place.apply(point) for point in row] for row in corners], dtype=float)
    if ground.kind == "height-field":
        nx, ny = ground.heights.shape
        x, y = (start + step * np.arange(n) for start, step, n in zip(ground.corner, ground.spacing, (nx, ny)))
        points = np.stack([*np.meshgrid(x, y, indexing="ij"), np.asarray(ground.heights, dtype=float)], axis=-1)
        return points @ np.asarray(place.rotation, dtype=float).T + np.asarray(place.translation, dtype=float)
    surfaces = Surfaces(ground, Transform.identity())
    steps = np.linspace(-half, half, CELLS + 1)
    heights = np.array([[float(surfaces.height(x, y)) for y in steps] for x in steps])
    points = np.stack([*np.meshgrid(steps, steps, indexing="ij"), heights], axis=-1)
    return points @ np.asarray(place.rotation, dtype=float).T + np.asarray(place.translation, dtype=float)


def floor(mechanism: Mechanism) -> float | None:
    """Height of the highest level plane of the world that something may touch; None if there is none.

    Args:
        mechanism: a numeric mechanism, whose gravity says what is level.
    """
    heights = []
    for contact in mechanism.contacts:
        if isinstance(contact.shape_b, Ground) and contact.b == WORLD:
            for k in range(contact.shape_b.surfaces):
                height = _level(mechanism, contact.shape_b, contact.shape_b.placement, k)
                if height is not None:
                    heights.append(height)
    return max(heights, default=None)


def _level(mechanism: Mechanism, ground: Ground, place: Transform, k: int) -> float | None:
    """How high a plane of the world lies against gravity; None if it is not level, or no plane."""
    gravity = np.asarray(mechanism.gravity, dtype=float)
    size = float(np.linalg.norm(gravity))
    up = -gravity / size if size > 1e-9 else np.array([0.0, 0.0, 1.0])
    if ground.kind != "half-spaces":
        return None
    normal = np.asarray(place.rotate(ground.normals[k]), dtype=float)
    return float(up @ np.asarray(place.apply(ground.points[k]), dtype=float)) if normal @ up > 1 - 1e-9 else None


def contact_curves(trajectory: Trajectory, t: np.ndarray) -> dict[str, np.ndarray]:
    """Where the points of contact are and which forces act there on the first body, (T, points, 3) each, world axes.

    Args:
        trajectory: with contacts.
        t: times, of the samples that the page plays.
    """
    contacts = trajectory.contacts
    if contacts is None or not contacts.names or len(trajectory.t) < 2:
        return {}
    forces = np.asarray(contacts.world_forces)
    most = np.sort(np.argsort(-np.linalg.norm(forces, axis=-1).max(axis=0), kind="stable")[:MOST_CURVES])
    after = np.clip(np.searchsorted(trajectory.t, t), 0, len(trajectory.t) - 1)  # a force is that of the step up to it
    places = np.asarray(contacts.positions)[:, most].reshape(len(trajectory.t), -1)
    moved = np.stack([np.interp(t, trajectory.t, places[:, k]) for k in range(places.shape[1])], axis=1)
    return {"touch": moved, "push": forces[after][:, most].reshape(len(t), -1)}


def _floats(values: Any) -> list[float]:
    return [float(f"{float(x):.9g}") for x in values]


def _pose(place: Transform) -> list[float]:
    return _floats([*np.asarray(place.rotation).flat, *np.asarray(place.translation).flat])
