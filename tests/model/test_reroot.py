"""Re-rooting is a change of coordinates: the same poses, forces that do the same power."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operation_helpers import TIGHT, by_name, chain, same_pose

from dalembert.algorithms import inverse_dynamics
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.kinematics import motion, poses, position_rate
from dalembert.model import WORLD, Body, Constraint, Joint, Mechanism
from dalembert.model.operations import attach
from dalembert.model.reroot import SAME_COORDINATES, reroot, rerooted_state
from random_mechanisms import mechanisms, random_mechanism

seeds = st.integers(0, 2**32 - 1)


def velocity_map(mechanism: Mechanism, new: Mechanism, q) -> np.ndarray:
    """J with v' = J v, column by column."""
    columns = [rerooted_state(mechanism, new, q, unit)[1] for unit in np.eye(mechanism.nv)]
    return np.array(columns).T.reshape(-1, mechanism.nv)


@settings(max_examples=40)
@given(mechanisms(2, 8, floating=True, massless=0, mimic=0.3), seeds)
def test_reroot_of_a_floating_mechanism_is_a_change_of_coordinates(mechanism, seed):
    """Every body has the same pose and velocity; with v' = J v, forces transform by tau = J^T tau'.

    With velocity, a' = J a + J' v; the derivative of J along the motion is a central difference, good to 1e-7.
    """
    rng = np.random.default_rng(seed)
    body = str(rng.choice([body.name for body in mechanism.bodies]))
    q, v, a = mechanism.random_state(rng)
    new = reroot(mechanism, body)
    root = new.joint("j1")
    assert (root.kind, root.parent, root.child) == ("free", WORLD, body)

    q2, v2 = rerooted_state(mechanism, new, q, v)
    for item in mechanism.bodies:
        before, after = motion(mechanism, q, v, a, item.name), motion(new, q2, v2, np.zeros(new.nv), item.name)
        same_pose(before.pose, after.pose)
        np.testing.assert_allclose(after.linear_velocity, before.linear_velocity, **TIGHT)
        np.testing.assert_allclose(after.angular_velocity, before.angular_velocity, **TIGHT)
    J = velocity_map(mechanism, new, q)
    np.testing.assert_allclose(J @ v, v2, **TIGHT)
    still = np.zeros(mechanism.nv)
    expected = inverse_dynamics(mechanism, q, still, a)
    np.testing.assert_allclose(J.T @ inverse_dynamics(new, q2, np.zeros(new.nv), J @ a), expected, rtol=1e-9, atol=1e-8)
    h = 1e-5
    rate = position_rate(mechanism.tree, q, v)
    ahead, behind = (velocity_map(mechanism, new, mechanism.normalise(q + x * rate)) for x in (h, -h))
    a2 = J @ a + (ahead - behind) @ v / (2 * h)
    expected = inverse_dynamics(mechanism, q, v, a)
    np.testing.assert_allclose(J.T @ inverse_dynamics(new, q2, v2, a2), expected, rtol=1e-5, atol=1e-5)


@given(mechanisms(1, 6, kinds=SAME_COORDINATES, massless=0, mimic=0.3), seeds)
def test_reroot_of_a_fixed_mechanism_keeps_relative_poses_and_moves_nothing_at_neutral(mechanism, seed):
    rng = np.random.default_rng(seed)
    stand = Mechanism("stand", (Body("stand"),), (Joint("base", "fixed", WORLD, "stand"),))
    mechanism = attach(stand, mechanism, to="stand")
    target = str(rng.choice([b.name for b in mechanism.bodies]))
    new = reroot(mechanism.replace(strict=False), target)
    for old_q in (mechanism.random_state(rng)[0], mechanism.neutral):
        (new_q,) = by_name(mechanism, new, old_q)
        before, after = poses(mechanism, old_q), poses(new, new_q)
        for name in before:
            if name != WORLD:
                same_pose(before[target].inverse() @ before[name], after[target].inverse() @ after[name])
    same_pose(before[target], after[target])
    back = reroot(new, "stand")
    (q,) = by_name(mechanism, back, old_q)
    for name, pose in poses(back, q).items():
        if name in before:
            same_pose(pose, before[name])


@given(mechanisms(1, 6, massless=0, mimic=0.3), seeds)
def test_reroot_of_a_fixed_mechanism_of_any_joints_keeps_relative_poses(mechanism, seed):
    rng = np.random.default_rng(seed)
    stand = Mechanism("stand", (Body("stand"),), (Joint("base", "fixed", WORLD, "stand"),))
    mechanism = attach(stand, mechanism, to="stand").replace(strict=False)
    target = str(rng.choice([b.name for b in mechanism.bodies]))
    new = reroot(mechanism, target)
    same_pose(poses(new, new.neutral)[target], poses(mechanism, mechanism.neutral)[target])
    q, v, _ = mechanism.random_state(rng)
    before, after = poses(mechanism, q), poses(new, rerooted_state(mechanism, new, q, v)[0])
    for name in before:
        if name != WORLD:
            same_pose(before[target].inverse() @ before[name], after[target].inverse() @ after[name])


@pytest.mark.parametrize(("kind", "count"), [("universal", 1), ("spherical", 1), ("planar", 3), ("free", 4)])
def test_reversed_joints_keep_their_kind_or_are_taken_apart_with_all_they_carry(kind, count):
    mechanism = random_mechanism(1, 2, kinds=[kind], floating=True)
    joints = [j.replace(damping=0.1, armature=0.2) if j.name == "j2" else j for j in mechanism.joints]
    mechanism = mechanism.replace(joints=joints)
    found = [joint for joint in reroot(mechanism, "b2").joints if joint.name.partition("/")[0] == "j2" and joint.nv]
    assert len(found) == count and sum(joint.nv for joint in found) == mechanism.joint("j2").nv
    assert all((joint.damping, joint.armature) == (0.1, 0.2) for joint in found)
    assert found[0].kind == kind or count > 1


def test_functions_of_all_coordinates_do_not_survive_another_order():
    mechanism = random_mechanism(1, 2, kinds=["revolute"], floating=True)
    rule = Constraint("rule", "position", function=lambda q, t: q[7])
    with pytest.raises(UnsupportedError, match="reroot: 'rule'"):
        reroot(mechanism.replace(constraints=(rule,)), "b2")


def test_reroot_at_a_root_leaves_every_joint_as_it_is():
    """Another root, on whatever joint, is no obstacle; only the order of the coordinates changes."""
    one, other = chain(), random_mechanism(3, 2, kinds=["revolute"], floating=True, massless=0)
    both = attach(one, other, to=WORLD, prefix="other_")
    q, v, a = both.random_state(np.random.default_rng(0))
    new = reroot(both, "other_b1")
    q2, v2 = rerooted_state(both, new, q, v)
    expected = by_name(both, new, q, v, a)
    np.testing.assert_array_equal(q2, expected[0])
    np.testing.assert_array_equal(v2, expected[1])
    for body in both.bodies:
        same_pose(poses(both, q)[body.name], poses(new, q2)[body.name])


def test_states_of_wrong_size_are_refused():
    mechanism = random_mechanism(1, 2, kinds=["revolute"], floating=True)
    with pytest.raises(ArgumentError, match=r"q has shape \(3,\), expected \(8,\)"):
        rerooted_state(mechanism, reroot(mechanism, "b2"), np.zeros(3), np.zeros(7))
    with pytest.raises(ArgumentError, match=r"is not .* re-rooted"):
        rerooted_state(mechanism, chain(), mechanism.neutral, np.zeros(7))


def test_reroot_needs_a_base_body():
    with pytest.raises(UnsupportedError, match="base body"):
        reroot(chain(), "b2")
