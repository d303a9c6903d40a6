"""Inverse kinematics: what it finds is where it should be, within ranges; what it cannot find it says."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from algorithms.algorithm_cases import MIXES
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.kinematics import pose
from random_mechanisms import random_mechanism


def planar_arm(lower=-np.inf, upper=np.inf):
    """Two rods of one metre."""
    rods = [da.Body(f"rod{k}", da.Inertia.point(1.0, (0.5, 0, 0))) for k in (1, 2)]
    out = da.Transform(np.eye(3), [1.0, 0, 0])
    joints = [
        da.Joint("shoulder", "revolute", "world", "rod1", axis=[0, 0, 1]),
        da.Joint("elbow", "revolute", "rod1", "rod2", placement=out, axis=[0, 0, 1], limits=da.Limits(lower, upper)),
    ]
    return da.Mechanism("planar", tuple(rods), tuple(joints), (da.Frame("hand", "rod2", out),), strict=False)


@pytest.mark.parametrize("mix", [name for name in MIXES if name != "mimic"])
def test_poses_of_random_trees_are_reached_again(mix):
    """Goals taken from positions that exist are met, for every kind of joint, on branches and floating bases."""
    arm = random_mechanism(np.random.default_rng(3), 5, **MIXES[mix])
    q, _, _ = arm.random_state(np.random.default_rng(4), 8)
    goals = [pose(arm, x, "tool") for x in q]
    goal = da.Goal("tool", [T.translation for T in goals], [T.rotation for T in goals])
    q0 = arm.random_state(np.random.default_rng(5))[0]
    found = da.inverse_kinematics(arm, goal, q0, limits=False, starts=40, tolerance=1e-8)
    assert found.reached.all() and set(found.status) == {"reached"}
    for x, T in zip(found.q, goals):
        at = pose(arm, x, "tool")
        assert np.abs(at.translation - T.translation).max() < 1.1e-8  # the tolerance asked for
        assert np.abs(at.rotation - T.rotation).max() < 2e-8
        assert np.abs(arm.normalise(x) - x).max() < 1e-15


def test_puma_has_eight_postures():
    """Lee and Ziegler (1984): shoulder left or right, elbow up or down, wrist flipped or not."""
    arm = da.load("puma560")
    q = np.array([0.3, -0.6, 0.4, 0.7, 0.9, -0.2])
    T = pose(arm, q, "link6")
    starts = np.random.default_rng(0).uniform(-np.pi, np.pi, (200, 6))
    found = da.inverse_kinematics(arm, da.Goal("link6", T.translation, T.rotation), starts, starts=1)
    turns = np.exp(1j * found.q[found.reached])
    different: list[np.ndarray] = []
    for posture in turns:
        if all(np.abs(posture - other).max() > 1e-5 for other in different):
            different.append(posture)
    assert len(different) == 8
    assert any(np.abs(np.exp(1j * q) - posture).max() < 1e-6 for posture in different)


def test_beyond_reach_the_arm_points_at_the_goal():
    """The nearest point of a disc of radius 2 to a point outside of it lies on the line to its centre."""
    target = np.array([2.0, 1.5, 0.0])
    found = da.inverse_kinematics(planar_arm(), da.Goal("hand", target), [0.1, 0.5])
    assert not found.reached and found.status == "nearest"
    assert found.position_error[0] == pytest.approx(0.5, abs=1e-12)
    assert np.sin(found.q[0]) == pytest.approx(0.6, abs=1e-6) and np.sin(found.q[1]) == pytest.approx(0, abs=1e-6)


def test_ranges_are_kept_and_decide_what_is_nearest():
    """With the elbow between 60 and 120 degrees the hand is between 1 and sqrt(3) m away from the shoulder."""
    arm = planar_arm(np.pi / 3, 2 * np.pi / 3)
    targets = np.array([[1.9, 0, 0], [1.5, 0, 0], [0, 0.4, 0]])
    found = da.inverse_kinematics(arm, da.Goal("hand", targets), [0.2, -0.5])
    assert found.reached.tolist() == [False, True, False] and found.status[0] == found.status[2] == "nearest"
    assert found.position_error[:, 0] == pytest.approx([1.9 - np.sqrt(3), 0, 0.6], abs=1e-9)
    assert (found.q[:, 1] >= np.pi / 3).all() and (found.q[:, 1] <= 2 * np.pi / 3).all()
    free = da.inverse_kinematics(arm, da.Goal("hand", targets), [0.2, -0.5], limits=False)
    assert free.reached.all()


def test_joints_that_follow_others_restrict_them():
    limits = da.Limits(-0.2, 0.2)
    arm = planar_arm(-0.4, 1.0)
    follower = da.Joint(
        "shoulder", "revolute", "world", "rod1", axis=[0, 0, 1], limits=limits, mimic=da.Mimic("elbow", -0.5, 0.1)
    )
    arm = arm.replace(joints=(follower, arm.joints[1]))
    q = np.array([0.5])
    T = pose(arm, q, "hand")
    found = da.inverse_kinematics(arm, da.Goal("hand", T.translation), [0.0])
    assert found.reached and found.q == pytest.approx(q, abs=1e-8)
    far = da.inverse_kinematics(arm, da.Goal("hand", pose(arm, [0.9], "hand").translation), [0.0])
    assert not far.reached and far.q == pytest.approx([0.6], abs=1e-6)  # where the follower is at the end of its range


def test_several_goals_and_joints_that_are_held():
    """Both hands of a floating tree at once, whose base stays where it is."""
    arm = random_mechanism(np.random.default_rng(8), 9, kinds=["revolute"], floating=True, branching=0.5, massless=0)
    q, _, _ = arm.random_state(np.random.default_rng(9))
    tips = [body.name for body in arm.bodies if body.name not in {joint.parent for joint in arm.joints}][:2]
    points = [pose(arm, q, name).apply(np.array([0.1, 0, 0])) for name in tips]
    goals = [da.Goal(name, x, point=(0.1, 0, 0)) for name, x in zip(tips, points)]
    start = q + 0.3 * (np.arange(arm.nq) >= 7)
    found = da.inverse_kinematics(arm, goals, start, keep=[arm.joints[0].name], limits=False, starts=40)
    assert found.reached and found.position_error.shape == (2,)
    assert np.abs(found.q[:7] - start[:7]).max() < 1e-15  # quaternions are brought back to unit length
    for name, x in zip(tips, points):
        assert np.abs(pose(arm, found.q, name).apply(np.array([0.1, 0, 0])) - x).max() < 1.1e-9


def test_batches_broadcast_and_seeds_repeat():
    arm = da.load("puma560")
    goal = da.Goal("link6", np.array([[0.4, 0.2, 0.3], [0.3, -0.4, 0.5], [5.0, 0, 0]]))
    q0 = np.zeros((2, 1, 6))
    found = da.inverse_kinematics(arm, goal, q0, starts=5, seed=7)
    again = da.inverse_kinematics(arm, goal, q0, starts=5, seed=7)
    assert found.q.shape == (2, 3, 6) and found.status.shape == (2, 3) and found.position_error.shape == (2, 3, 1)
    assert found.reached.tolist() == [[True, True, False]] * 2
    assert (found.q == again.q).all()
    assert np.abs(found.q).max() <= np.pi  # angles without a range stay within half a turn of the start
    alone = da.inverse_kinematics(arm, da.Goal("link6", [0.3, -0.4, 0.5]), q0[0, 0])
    assert np.abs(alone.q - found.q[0, 1]).max() < 1e-12  # a state does not depend on its neighbours
    turned = da.inverse_kinematics(arm, da.Goal("link6", rotation=[0, 0, 0, 1.0]))
    assert turned.reached and turned.position_error == 0
    assert da.inverse_kinematics(arm, da.Goal("link6", np.zeros((0, 3)))).q.shape == (0, 6)
    assert np.abs(pose(arm, turned.q, "link6").rotation - np.eye(3)).max() < 1e-8


@pytest.mark.parametrize(
    ("goals", "options", "message"),
    [
        (lambda: da.Goal("hand"), {}, "neither a position nor a rotation"),
        (lambda: da.Goal("palm", [0, 0, 0]), {}, "palm"),
        (lambda: da.Goal("hand", [0, 0]), {}, r"position has shape \(2,\)"),
        (lambda: da.Goal("hand", rotation=2 * np.eye(3)), {}, "no rotation matrix"),
        (lambda: da.Goal("hand", rotation=[0, 0, 0, 2.0]), {}, "length is not 1"),
        (list, {}, "no goal"),
        (lambda: da.Goal("hand", [1, 0, 0], weights=(1, 0)), {}, "positive"),
        (lambda: da.Goal("hand", [1, 0, 0]), {"starts": 0}, "starts = 0"),
        (lambda: da.Goal("hand", [1, 0, 0]), {"tolerance": -1}, "tolerance"),
        (lambda: da.Goal("hand", [1, 0, 0]), {"keep": ["knee"]}, "knee"),
        (lambda: [da.Goal("hand", np.ones((3, 3))), da.Goal("hand", np.ones((4, 3)))], {}, "do not go together"),
    ],
)
def test_bad_arguments_are_explained(goals, options, message):
    with pytest.raises(ArgumentError, match=message):
        da.inverse_kinematics(planar_arm(), goals(), **options)


def test_loops_and_symbols_are_refused_with_the_way_out():
    with pytest.raises(UnsupportedError, match="assemble"):
        da.inverse_kinematics(da.load("four_bar"), da.Goal("world", [0, 0, 0]))
    with pytest.raises(ArgumentError, match="substitute"):
        da.inverse_kinematics(da.load("rp_arm"), da.Goal("world", [0, 0, 0]))
