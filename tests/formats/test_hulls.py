"""Convex hulls of meshes: the vertices that matter, as few as asked for, with the distance that this leaves out."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.errors import FormatError
from dalembert.formats.hulls import hull_of_mesh, hull_of_points


def cube() -> np.ndarray:
    return np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 2.0) for z in (0.0, 3.0)])


def test_points_inside_do_not_matter():
    rng = np.random.default_rng(1)
    inside = rng.uniform(0.01, 0.99, size=(200, 3)) * [1, 2, 3]
    hull = hull_of_points(np.concatenate([inside, cube()]))
    assert hull.error == 0
    assert sorted(map(tuple, hull.vertices)) == sorted(map(tuple, cube()))


def test_a_ball_by_few_vertices_leaves_out_what_is_said():
    """All vertices lie within the error of the chosen ones' hull, and more vertices leave out less."""
    from scipy.spatial import ConvexHull

    rng = np.random.default_rng(2)
    points = rng.normal(size=(400, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    errors = []
    for most in (4, 8, 32, 128):
        hull = hull_of_points(points, most)
        assert len(hull.vertices) == most
        planes = ConvexHull(hull.vertices).equations
        reach = (points @ planes[:, :3].T + planes[:, 3]).max()
        assert abs(reach - hull.error) < 1e-12
        errors.append(hull.error)
    assert errors == sorted(errors, reverse=True) and errors[-1] < 0.1


def test_a_mesh_file_is_scaled(tmp_path):
    faces = "f 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
    (tmp_path / "t.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv 9 9 9\n" + faces)
    hull = hull_of_mesh("t.obj", (1, 2, 3), tmp_path)  # the vertex that no face uses is no part of it
    assert sorted(map(tuple, hull.vertices)) == [(0, 0, 0), (0, 0, 3), (0, 2, 0), (1, 0, 0)]
    with pytest.raises(FormatError, match="no such file"):
        hull_of_mesh("u.obj", folder=tmp_path)


def test_flat_meshes_have_no_hull():
    with pytest.raises(FormatError, match="lie in one plane"):
        hull_of_points(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.0]]))
