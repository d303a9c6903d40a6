"""The convex hull of a mesh, by few of its vertices: what a mesh touches with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dalembert.errors import FormatError
from dalembert.formats.mesh_files import read_mesh
from dalembert.formats.mesh_search import locate, search_path

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
