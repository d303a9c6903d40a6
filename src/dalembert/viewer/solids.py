"""What is drawn of a mechanism as triangles on its links: for pictures, films and the live view.

The page draws the same from the same data, in ``assets/figure.js``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError
from dalembert.kinematics.frames import link_poses
from dalembert.model import Mechanism
from dalembert.viewer.meshes import Meshes, coarsened
from dalembert.viewer.scene import scene

Colour = tuple[float, float, float, float]

STEEL, JOINT, PAD, MASS = (
    (0.36, 0.45, 0.55, 1.0),
    (0.85, 0.33, 0.12, 1.0),
    (0.55, 0.6, 0.66, 1.0),
    (0.16, 0.44, 0.73, 1.0),
)
TOUCHING, GROUND = (0.16, 0.62, 0.42, 1.0), (0.62, 0.66, 0.70, 1.0)
"""Colours of the skeleton, of collision shapes and of grounds."""

AROUND, ALONG = 28, 6
"""Facets around a round solid, and rings along it: a rasteriser likes triangles that are not long and thin."""


@dataclass(frozen=True, eq=False)
class Solid:
    """Triangles of one colour, fixed to a link.

    Args:
        link: index of the link that carries it; -1: the ground.
        vertices: (n, 3), m, in the frame of the link.
        triangles: (m, 3) indices of vertices, counter-clockwise seen from outside.
        colour: red, green, blue, opacity in 0..1.
    """

    link: int
    vertices: np.ndarray
    triangles: np.ndarray
    colour: Colour


@dataclass(frozen=True, eq=False)
class Way:
    """A rod between points of two links, whose length changes: the way of a slider, a massless rod.

    Args:
        a: link and point in its frame, m.
        b: the same of the other end.
        radius: m.
    """

    a: tuple[int, np.ndarray]
    b: tuple[int, np.ndarray]
    radius: float

    def placed(self, poses: Sequence[Transform]) -> tuple[np.ndarray, np.ndarray]:
        """Vertices and triangles in world axes; no triangles where the ends coincide."""
        return rod(_at(poses, *self.a), _at(poses, *self.b), self.radius)


@dataclass(frozen=True, eq=False)
class MovingFigure:
    """Everything that is drawn of a mechanism.

    Args:
        solids: on links.
        ways: between links.
        up: unit vector against gravity.
        size: of what is drawn in the position it was made for, m.
        floor: height along ``up`` of the ground that something touches, m; None if there is none.
    """

    mechanism: Mechanism
    solids: tuple[Solid, ...]
    ways: tuple[Way, ...]
    up: np.ndarray
    size: float
    floor: float | None

    def poses(self, q: np.ndarray) -> list[Transform]:
        """Pose of every link in the world."""
        return link_poses(self.mechanism.tree, q)

    def triangles(self, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, Colour]]:
        """Vertices in world axes, triangles and colour of everything in one position."""
        poses = self.poses(q)
        found = [(_moved(poses, solid.link, solid.vertices), solid.triangles, solid.colour) for solid in self.solids]
        found += [(*way.placed(poses), STEEL) for way in self.ways]
        return [item for item in found if len(item[1])]


def figure(mechanism: Mechanism, q: np.ndarray, meshes: Meshes) -> MovingFigure:
    """What is drawn of a mechanism: its geometry; without any, its collision shapes; without these, its skeleton.

    Args:
        q: a position in which it is measured.
        meshes: reads mesh files.
    """
    data = scene(mechanism, q, meshes)
    gravity = np.asarray(data["gravity"])
    up = -gravity / np.linalg.norm(gravity) if np.linalg.norm(gravity) > 1e-9 else np.array([0.0, 0.0, 1.0])
    solids = _geometry(data, meshes)
    ways: list[Way] = []
    if not solids:
        solids = [_touching(shape, data) for shape in data["collisions"]]
    if not solids:
        solids, ways = _skeleton(mechanism, data, q, up)
    solids += [_patch(item) for item in data["grounds"]]
    made = MovingFigure(mechanism, tuple(s for s in solids if len(s.triangles)), tuple(ways), up, 1.0, data["floor"])
    points = [vertices for vertices, _, _ in made.triangles(q)] or [np.zeros((1, 3))]
    size = float(np.ptp(np.concatenate(points), axis=0).max()) or float(data["size"])
    return MovingFigure(mechanism, made.solids, made.ways, up, size, made.floor)


# ------------------------------------------------------------------------------------------------------------- geometry


def _geometry(data: dict[str, Any], meshes: Meshes) -> list[Solid]:
    found = []
    total = sum(len(part.triangles) for parts in meshes.parts for part in parts or ())
    share = min(1.0, MOST_TRIANGLES / max(total, 1))
    for body in data["bodies"]:
        for shape in body["shapes"]:
            colour = tuple(shape["colour"])
            if shape["kind"] != "mesh":
                vertices, triangles = solid(shape["kind"], shape["size"])
                found.append(Solid(body["link"], _placed(vertices, shape["at"]), triangles, colour))
                continue
            for part in meshes.parts[shape["mesh"]] or ():
                vertices, triangles = coarsened(part.vertices, part.triangles, 4 + int(share * len(part.triangles)))
                scale = np.asarray(shape["size"] or [1.0, 1.0, 1.0])
                triangles = triangles[:, ::-1] if np.prod(scale) < 0 else triangles
                placed = _placed(vertices * scale, shape["at"])
                found.append(Solid(body["link"], placed, triangles, part.colour or colour))
    return found


MOST_TRIANGLES = 60_000
"""Of all meshes of a figure together; finer ones are made coarser."""


def _touching(shape: dict[str, Any], data: dict[str, Any]) -> Solid:
    if "vertices" not in shape:
        vertices, triangles = solid(shape["kind"], shape["size"])
    elif shape["triangles"]:
        vertices, triangles = np.reshape(shape["vertices"], (-1, 3)), np.reshape(shape["triangles"], (-1, 3))
    else:
        dots = [solid("sphere", [0.02 * data["size"]]) for _ in range(0, len(shape["vertices"]), 3)]
        centres = np.reshape(shape["vertices"], (-1, 3))
        vertices, triangles = joined([(v + at, f) for (v, f), at in zip(dots, centres)])
    return Solid(shape["link"], _placed(vertices, shape["at"]), triangles, TOUCHING)


def _patch(item: dict[str, Any]) -> Solid:
    return Solid(item["link"], np.reshape(item["vertices"], (-1, 3)), np.reshape(item["triangles"], (-1, 3)), GROUND)


# ------------------------------------------------------------------------------------------------------------- skeleton


def _skeleton(
    mechanism: Mechanism, data: dict[str, Any], q: np.ndarray, up: np.ndarray
) -> tuple[list[Solid], list[Way]]:
    bones = data["bones"]
    long = bones["length"] if bones["length"] is not None else math.inf
    r = min(0.016, max(0.002, 0.11 * long / data["size"])) * data["size"]  # as in the page: masses leave rods visible
    solids: list[Solid] = []
    ways: list[Way] = []
    for item in bones["rods"]:
        a, b = item["a"], item["b"]
        radius = r if item["kind"] == "link" else 0.45 * r
        if a["link"] == b["link"]:
            solids.append(Solid(a["link"], *rod(np.asarray(a["at"]), np.asarray(b["at"]), radius), STEEL))
        else:
            ways.append(Way((a["link"], np.asarray(a["at"])), (b["link"], np.asarray(b["at"])), radius))
    poses = link_poses(mechanism.tree, q)
    for item in bones["joints"]:
        solids += _joint(item, r)
        if item["ground"]:
            solids.append(_pad(item, r, up, poses, data))
    heaviest = max([float(body.get("mass", 0.0)) for body in data["bodies"]] + [1e-12])
    for k, body in enumerate(data["bodies"]):
        if not body.get("mass") or body["link"] < 0:
            continue
        if k in bones["lumps"] and body["ellipsoid"]:
            most = {1: math.inf}.get(len(data["bodies"]), 0.12 if len(data["bodies"]) < 6 else 0.05)
            axes = np.asarray(body["ellipsoid"]["axes"])
            shrink = min(1.0, most * data["size"] / axes.max())
            vertices, triangles = solid("ellipsoid", (shrink * axes).tolist())
            solids.append(Solid(body["link"], _placed(vertices, body["ellipsoid"]["at"]), triangles, STEEL))
        else:
            vertices, triangles = solid("sphere", [3.2 * r * max(0.45, math.cbrt(body["mass"] / heaviest))])
            solids.append(Solid(body["link"], vertices + body["center"], triangles, MASS))
    for wheel in bones["wheels"]:
        vertices, triangles = solid(wheel["kind"], wheel["size"])
        solids.append(Solid(wheel["link"], _placed(vertices, wheel["at"]), triangles, STEEL))
        if wheel["kind"] == "cylinder":
            radius, width = wheel["size"]
            vertices, triangles = solid("box", [2 * radius, 0.05 * radius, 1.3 * width])
            solids.append(Solid(wheel["link"], _placed(vertices, wheel["at"]), triangles, JOINT))
    return solids, ways


def _joint(item: dict[str, Any], r: float) -> list[Solid]:
    """The symbol of a joint, in the axes of its parent."""
    if item["kind"] in ("fixed", "free"):
        return []
    slides = item["kind"] in ("prismatic", "planar")
    if item["kind"] in ("revolute", "continuous", "helical", "cylindrical"):
        vertices, triangles = solid("cylinder", [1.7 * r, 4.6 * r])
    elif slides:
        vertices, triangles = solid("box", [3.4 * r, 3.4 * r, 5.5 * r])
    else:
        vertices, triangles = solid("sphere", [(1.6 if item["kind"] == "pin" else 2.0) * r])
    turned = vertices @ _frame_along(np.asarray(item["axis"])).T
    stays = slides or item["kind"] in ("revolute", "continuous", "universal", "spherical")
    end = item["base"] if stays or item["base"]["link"] == item["at"]["link"] else item["at"]
    return [Solid(end["link"], turned + end["at"], triangles, JOINT)]


def _pad(item: dict[str, Any], r: float, up: np.ndarray, poses: Sequence[Transform], data: dict[str, Any]) -> Solid:
    """The plate that holds a joint to the ground: below it, or above what hangs."""
    at = np.asarray(item["base"]["at"])
    below = 0.0
    for body in data["bodies"]:
        if body["link"] == item["at"]["link"] and body.get("center"):
            below = float(up @ (at - _at(poses, body["link"], np.asarray(body["center"]))))
            break
    vertices, triangles = solid("box", [7 * r, 7 * r, 1.2 * r])
    middle = at + (2.4 * r if below > 1e-6 else -2.4 * r) * up
    return Solid(-1, vertices @ _frame_along(up).T + middle, triangles, PAD)


# --------------------------------------------------------------------------------------------------------------- shapes


def solid(kind: str, size: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a shape about its own origin; cylinders and capsules lie along z.

    Args:
        kind: of :class:`dalembert.Shape`, but a mesh.
        size: of :class:`dalembert.Shape`.
    """
    if kind == "box":
        return _box(np.asarray(size, dtype=float))
    if kind in ("sphere", "ellipsoid"):
        axes = np.asarray(size if kind == "ellipsoid" else [size[0]] * 3, dtype=float)
        angles = np.linspace(0.0, np.pi, AROUND // 2 + 1)
        return _turned(np.sin(angles), -np.cos(angles), axes)
    radius, half = float(size[0]), float(size[1]) / 2
    if kind == "capsule":
        angles = np.linspace(0.0, np.pi / 2, AROUND // 4 + 1)
        lower = (radius * np.sin(angles), -half - radius * np.cos(angles))
        middle = np.linspace(-half, half, ALONG + 1)[1:-1]
        profile = np.concatenate([lower[0], np.full(len(middle), radius), lower[0][::-1]])
        return _turned(profile, np.concatenate([lower[1], middle, -lower[1][::-1]]), np.ones(3))
    if kind != "cylinder":
        raise ArgumentError(f"there is no solid of kind {kind!r}")
    middle = np.linspace(-half, half, ALONG + 1)
    profile = np.concatenate([[0.0], np.full(ALONG + 1, radius), [0.0]])
    return _turned(profile, np.concatenate([[-half], middle, [half]]), np.ones(3))


def rod(a: np.ndarray, b: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """A cylinder between two points; without triangles if they coincide.

    Args:
        b: the other end.
        radius: m.
    """
    along = b - a
    length = float(np.linalg.norm(along))
    if length < 1e-12:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=int)
    vertices, triangles = solid("cylinder", [radius, length])
    return vertices @ _frame_along(along).T + (a + b) / 2, triangles


def _turned(radii: np.ndarray, heights: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A surface of revolution about z from its profile, from below upwards."""
    angles = np.arange(AROUND) * (2 * np.pi / AROUND)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rows = len(radii)
    vertices = np.empty((rows, AROUND, 3))
    vertices[..., :2] = radii[:, None, None] * ring
    vertices[..., 2] = heights[:, None]
    here = np.arange(rows * AROUND).reshape(rows, AROUND)
    a, b, c, d = here[:-1], np.roll(here[:-1], -1, axis=1), np.roll(here[1:], -1, axis=1), here[1:]
    lower = np.stack([a, b, c], axis=-1)[radii[:-1] > 1e-12 * max(radii.max(), 1e-300)]
    upper = np.stack([a, c, d], axis=-1)[radii[1:] > 1e-12 * max(radii.max(), 1e-300)]
    return vertices.reshape(-1, 3) * scale, np.concatenate([lower.reshape(-1, 3), upper.reshape(-1, 3)])


def _box(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A box whose faces are divided into cells that are not long and thin."""
    cell = max(float(size.max()) / ALONG, 1e-300)
    faces = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        steps = [np.linspace(-0.5, 0.5, 1 + max(1, round(float(size[n]) / cell))) for n in (i, j)]
        u, w = np.meshgrid(*steps, indexing="ij")
        here = np.arange(u.size).reshape(u.shape)
        a, b, c, d = (part.ravel() for part in (here[:-1, :-1], here[1:, :-1], here[1:, 1:], here[:-1, 1:]))
        triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
        for side in (0.5, -0.5):
            vertices = np.empty((u.size, 3))
            vertices[:, i], vertices[:, j], vertices[:, k] = u.ravel() * size[i], w.ravel() * size[j], side * size[k]
            faces.append((vertices, triangles if side > 0 else triangles[:, ::-1]))
    return joined(faces)


def joined(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Several pieces as one.

    Args:
        parts: vertices and triangles of each.
    """
    if not parts:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=int)
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in parts)])
    triangles = [faces + start for (_, faces), start in zip(parts, starts)]
    return np.concatenate([vertices for vertices, _ in parts]), np.concatenate(triangles)


def _frame_along(axis: np.ndarray) -> np.ndarray:
    """A rotation whose z is a direction."""
    z = axis / (np.linalg.norm(axis) or 1.0)
    x = np.cross(np.eye(3)[np.abs(z).argmin()], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def _placed(vertices: np.ndarray, at: Sequence[float]) -> np.ndarray:
    """Points moved by a pose of twelve numbers."""
    return vertices @ np.reshape(at[:9], (3, 3)).T + np.asarray(at[9:])


def _at(poses: Sequence[Transform], link: int, point: np.ndarray) -> np.ndarray:
    return point if link < 0 else np.asarray(poses[link].apply(point), dtype=float)


def _moved(poses: Sequence[Transform], link: int, vertices: np.ndarray) -> np.ndarray:
    if link < 0:
        return vertices
    rotation, shift = np.asarray(poses[link].rotation, dtype=float), np.asarray(poses[link].translation, dtype=float)
    return vertices @ rotation.T + shift
