"""The convex hull of a mesh by few of its vertices, or the sphere that it nearly is: what a mesh touches with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.errors import FormatError
from dalembert.formats.mesh_files import read_mesh
from dalembert.formats.mesh_search import locate, search_path
from dalembert.model.body import Shape

MOST_VERTICES = 32
"""Of a hull, unless more are asked for: each may touch, and is a row of contact with three unknown forces."""


@dataclass(frozen=True)
class Hull:
    """Vertices of a convex hull.

    Args:
        vertices: (n, 3), m.
        error: how far the hull of all points reaches beyond these vertices' own, m; 0 if none was left out.
    """

    vertices: np.ndarray
    error: float


def hull_of_mesh(
    address: str, scale: Sequence[float] = (1.0, 1.0, 1.0), folder: Path | None = None, most: int = MOST_VERTICES
) -> Hull:
    """The convex hull of a mesh file, in the frame of the mesh.

    Args:
        address: ``package://name/...``, ``file://...`` or a path, relative to the folder.
        scale: factors along x, y, z.
        folder: of the model, if it came from a file.
        most: vertices to keep.
    """
    file = locate(address, folder, search_path(folder))
    points = np.concatenate([part.vertices[np.unique(part.triangles)] for part in read_mesh(file)])
    return hull_of_points(points * np.asarray(scale, dtype=float), most)


def convex(shape: Shape, folder: Path | None = None, most: int = MOST_VERTICES) -> tuple[Shape, float]:
    """What a mesh touches with, by at most so many points, and how far its hull lies from that, m.

    That is its convex hull, by the vertices that matter most, or a sphere if that is no farther from the hull.

    Args:
        shape: a mesh, with an address or with vertices.
        folder: of the model, if it came from a file.
        most: points to keep, at least 4.
    """
    if shape.vertices:
        whole = hull_of_points(np.array(shape.vertices, dtype=float), len(shape.vertices))
    else:
        whole = hull_of_mesh(shape.mesh, shape.size or (1.0, 1.0, 1.0), folder, most=2**31)
    few = hull_of_points(whole.vertices, most)
    if few.error:
        centre, radius, error = nearest_sphere(whole.vertices)
        if error <= few.error:
            place = shape.placement @ Transform.from_translation(centre)
            return Shape("sphere", (radius,), place, name=shape.name, surface=shape.surface), error
    return shape.replace(vertices=tuple(map(tuple, few.vertices.tolist()))), few.error


def nearest_sphere(points: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Centre and radius of the sphere through points, in the sense of least squares, and the largest distance from it.

    Args:
        points: (n, 3), m.
    """
    left = np.concatenate([2 * points, np.ones((len(points), 1))], axis=1)
    solution = np.linalg.lstsq(left, (points**2).sum(axis=1), rcond=None)[0]
    distances = np.linalg.norm(points - solution[:3], axis=1)
    radius = float(distances.max() + distances.min()) / 2
    return solution[:3], radius, float(np.abs(distances - radius).max())


def hull_of_points(points: np.ndarray, most: int = MOST_VERTICES) -> Hull:
    """The convex hull of points; where it has too many vertices, those are kept that leave out least.

    Beginning with a simplex, the vertex that lies farthest outside what was chosen so far is added, again and again.

    Args:
        points: (n, 3), m.
        most: vertices to keep, at least 4.
    """
    from scipy.spatial import ConvexHull, QhullError

    try:
        whole = ConvexHull(points)
    except (QhullError, ValueError) as error:
        raise FormatError(
            "the points of the mesh lie in one plane or are too few for a hull; give a box or the corners as points"
        ) from error
    vertices = points[np.sort(whole.vertices)]
    if len(vertices) <= most:
        return Hull(vertices, 0.0)
    chosen = _simplex(vertices)
    while True:
        planes = ConvexHull(vertices[chosen]).equations
        outside = (vertices @ planes[:, :3].T + planes[:, 3]).max(axis=1)
        if len(chosen) >= max(most, 4):
            return Hull(vertices[np.sort(chosen)], max(0.0, float(outside.max())))
        chosen.append(int(outside.argmax()))


def _simplex(vertices: np.ndarray) -> list[int]:
    """Four vertices far apart: two, then the farthest from their line, then from the plane of all three."""
    first = int(vertices[:, 0].argmin())
    away = vertices - vertices[first]
    second = int(np.linalg.norm(away, axis=1).argmax())
    along = away[second] / np.linalg.norm(away[second])
    third = int(np.linalg.norm(away - np.outer(away @ along, along), axis=1).argmax())
    normal = np.cross(along, away[third])
    return [first, second, third, int(np.abs(away @ normal).argmax())]
