"""Two boxes: the sign of the gap, the points of a face, the point of two edges; and what a resting box needs.

Tolerances: sizes are of order one, rounding stays below 1e-13.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dalembert.algebra.rotations import rotation_from_rpy
from dalembert.algebra.transform import Transform
from dalembert.contact.boxes import box_box
from dalembert.model import Shape

BIG, SMALL = Shape.box(2, 2, 1), Shape.box(1, 1, 1)


def at(x=0.0, y=0.0, z=0.0, roll=0.0, pitch=0.0, yaw=0.0) -> Transform:
    return Transform(rotation_from_rpy(roll, pitch, yaw), np.array([x, y, z]))


def closed(found):
    return [p for p in found if p[0] < 1]


def test_the_gap_has_the_sign_of_mujocos_distance_and_is_never_more():
    mujoco = pytest.importorskip("mujoco")
    bodies = "".join(f'<body><freejoint/><geom type="box" size="{s}"/></body>' for s in ("0.2 0.3 0.4", "0.5 0.1 0.3"))
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    data, rng, counts = mujoco.MjData(model), np.random.default_rng(7), [0, 0]
    shapes = Shape.box(0.4, 0.6, 0.8), Shape.box(1.0, 0.2, 0.6)
    for _ in range(400):
        poses = [at(*rng.uniform(-0.5, 0.5, 3), *rng.uniform(-3, 3, 3)) for _ in range(2)]
        for k, pose in enumerate(poses):
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, pose.rotation.ravel())
            data.qpos[7 * k : 7 * k + 7] = [*pose.translation, *quaternion]
        mujoco.mj_kinematics(model, data)
        distance = mujoco.mj_geomDistance(model, data, 0, 1, 10, np.zeros(6))
        found = box_box(shapes[0], poses[0], shapes[1], poses[1])
        gap = min(p[0] for p in found)
        if abs(distance) > 1e-6:
            assert (gap > 0) == (distance > 0)
            assert gap <= distance + 1e-6 or distance < 0
            counts[0 if distance > 0 else 1] += 1
    assert min(counts) > 80


def deepest_axis(shapes, poses) -> float:
    """The largest separation along 15 axes, by corners: another route than the products of the code."""
    corners = [
        np.array(list(itertools.product((-0.5, 0.5), repeat=3))) * s.size @ p.rotation.T + p.translation
        for s, p in zip(shapes, poses)
    ]
    axes = [*poses[0].rotation.T, *poses[1].rotation.T]
    axes += [np.cross(x, y) for x in poses[0].rotation.T for y in poses[1].rotation.T]
    best = -np.inf
    for axis in axes:
        if (size := np.linalg.norm(axis)) > 1e-3:
            one, two = (c @ axis / size for c in corners)
            best = max(best, one.min() - two.max(), two.min() - one.max())
    return best


def test_the_separation_is_that_of_the_best_axis():
    rng = np.random.default_rng(3)
    shapes = Shape.box(0.4, 0.6, 0.8), Shape.box(1.0, 0.2, 0.6)
    edges = faces = 0
    for _ in range(300):
        poses = [at(*rng.uniform(-0.5, 0.5, 3), *rng.uniform(-3, 3, 3)) for _ in range(2)]
        found = box_box(shapes[0], poses[0], shapes[1], poses[1])
        best = deepest_axis(shapes, poses)
        assert abs(min(p[0] for p in found) - best) < 1e-6  # by so much a face is preferred
        edges += len(closed(found)) == 1
        faces += len(closed(found)) > 1
        for gap, normal, on_a, on_b in found:
            assert abs(np.linalg.norm(normal) - 1) < 1e-12
            assert abs(normal @ (on_a - on_b) - gap) < 1e-12
    assert edges > 50 and faces > 50


@pytest.mark.parametrize("depth", [-0.1, 0.0, 0.01])
def test_aligned_boxes_touch_at_the_corners_of_their_overlap(depth):
    """A small box over the corner of a large one; the overlap is a square of 0.5 by 0.5."""
    found = box_box(SMALL, at(1, 1, 1 - depth), BIG, at())
    assert [round(p[0] + depth, 12) for p in found] == [0, 0, 0, 0]
    for _, normal, on_a, on_b in found:
        np.testing.assert_allclose(normal, [0, 0, 1], atol=1e-15)
        np.testing.assert_allclose(on_b[2], 0.5, atol=1e-12)
        np.testing.assert_allclose(on_a[2], 0.5 - depth, atol=1e-12)
    places = sorted((round(p[2][0], 9), round(p[2][1], 9)) for p in found)
    assert places == [(0.5, 0.5), (0.5, 1.0), (1.0, 0.5), (1.0, 1.0)]


def test_crossed_bars_touch_at_the_corners_of_the_crossing():
    bar = Shape.box(4, 0.2, 0.2)
    found = box_box(bar, at(z=0.2), bar, at(yaw=np.pi / 2))
    places = sorted((round(p[2][0], 9), round(p[2][1], 9)) for p in found)
    assert places == [(-0.1, -0.1), (-0.1, 0.1), (0.1, -0.1), (0.1, 0.1)]
    assert all(abs(p[0]) < 1e-12 for p in found)


@pytest.mark.parametrize("yaw", np.linspace(0, np.pi, 13))
def test_a_box_that_rests_at_any_angle_stands_on_points_around_its_centre(yaw):
    found = closed(box_box(SMALL, at(0.3, -0.2, 0.999, yaw=yaw), BIG, at()))
    assert len(found) == 4
    places = np.array([p[2][:2] for p in found]) - [0.3, -0.2]
    angles = np.sort(np.arctan2(places[:, 1], places[:, 0]))
    gaps = np.diff([*angles, angles[0] + 2 * np.pi])
    assert gaps.max() < np.pi - 0.1  # the centre lies well inside
    for gap, normal, on_a, _ in found:
        np.testing.assert_allclose(gap, -0.001, atol=1e-12)
        np.testing.assert_allclose(normal, [0, 0, 1], atol=1e-12)
        assert np.abs(at(yaw=-yaw).rotation @ (on_a - [0.3, -0.2, 0.999])).max() < 0.5 + 1e-12


def test_a_tilted_box_touches_first_with_its_lowest_edge():
    for tilt in (1e-9, 1e-4, 0.1):
        found = box_box(SMALL, at(0, 0, 1.0, pitch=tilt), BIG, at())
        gaps = sorted(p[0] for p in found)
        low = -0.5 * np.sin(tilt) - 0.5 * np.cos(tilt) + 0.5
        np.testing.assert_allclose(gaps[:2], [low, low], atol=1e-12)
        np.testing.assert_allclose(gaps[2:], [low + np.sin(tilt)] * 2, atol=1e-12)


def test_two_edges_touch_in_one_point():
    """Both bars stand on edge and cross at a right angle: gap 2 - 2 h, on z."""
    bar = Shape.box(4, 1, 1)
    h = np.sqrt(0.5)
    found = box_box(bar, at(z=1.3, roll=np.pi / 4), bar, at(yaw=np.pi / 2) @ at(roll=np.pi / 4))
    ((gap, normal, on_a, on_b),) = closed(found)
    np.testing.assert_allclose(gap, 1.3 - 2 * h, atol=1e-12)
    np.testing.assert_allclose(normal, [0, 0, 1], atol=1e-12)
    np.testing.assert_allclose(on_a, [0, 0, 1.3 - h], atol=1e-12)
    np.testing.assert_allclose(on_b, [0, 0, h], atol=1e-12)
    assert sum(p[0] == 7.0 - 1.0 for p in found) == 3  # halves of all edges: what is not needed lies that far open
