"""Re-rooting is a change of coordinates: the same poses, forces that do the same power."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operation_helpers import by_name, chain, same_pose

from dalembert.algebra.quaternions import quaternion_from_rotation
from dalembert.algorithms import inverse_dynamics
from dalembert.algorithms.kinematics import jacobian, motion, poses
from dalembert.errors import UnsupportedError
from dalembert.model import WORLD, Body, Joint, Mechanism
from dalembert.model.assembly import attach
from dalembert.model.reroot import REVERSIBLE, reroot
from random_mechanisms import mechanisms, random_mechanism

seeds = st.integers(0, 2**32 - 1)


def reversible_targets(mechanism: Mechanism) -> list[str]:
    """Bodies that can become the root: all joints between them and the root body can be reversed."""
    carried = {j.child: j for j in mechanism.joints}
    found = []
    for body in mechanism.bodies:
        joint = carried[body.name]
        while joint.parent != WORLD and joint.kind in REVERSIBLE:
            joint = carried[joint.parent]
        if joint.parent == WORLD:
            found.append(body.name)
    return found


@settings(max_examples=80)
@given(mechanisms(2, 8, floating=True, massless=0, mimic=0.3), seeds)
def test_reroot_of_a_floating_mechanism_is_a_change_of_coordinates(mechanism, seed):
    """With v' = J v, forces transform by tau = J^T tau'; every frame keeps its pose."""
    rng = np.random.default_rng(seed)
    body = str(rng.choice(reversible_targets(mechanism)))
    q, v, a = mechanism.random_state(rng)
    new = reroot(mechanism, body)
    q2, v2, a2 = by_name(mechanism, new, q, v, a)
    root = new.joint("j1")
    assert (root.kind, root.parent, root.child) == ("free", WORLD, body)

    pose = root.placement.inverse() @ poses(mechanism, q)[body]
    q2[new.q_slice("j1")] = [*pose.translation, *quaternion_from_rotation(pose.rotation)]
    J = np.zeros((new.nv, mechanism.nv))
    for joint in new.joints:
        if joint.nv and joint.name != "j1":
            J[new.v_slice(joint.name), mechanism.v_slice(joint.name)] = np.eye(joint.nv)
    J[new.v_slice("j1")][:3] = root.placement.rotation.T @ jacobian(mechanism, q, body)[1]
    J[new.v_slice("j1")][3:] = jacobian(mechanism, q, body, axes="body")[0]
    moving = motion(mechanism, q, v, a, body)
    v2 = J @ v
    a2[new.v_slice("j1")] = [
        *(root.placement.rotation.T @ moving.linear_acceleration),
        *(moving.pose.rotation.T @ moving.angular_acceleration),
    ]
    before, after = poses(mechanism, q), poses(new, q2)
    for name in before:
        same_pose(before[name], after[name])
    expected = inverse_dynamics(mechanism, q, v, a)
    np.testing.assert_allclose(J.T @ inverse_dynamics(new, q2, v2, a2), expected, rtol=1e-9, atol=1e-8)


@given(mechanisms(1, 6, kinds=REVERSIBLE, massless=0, mimic=0.3), seeds)
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


@pytest.mark.parametrize("kind", ["universal", "planar", "spherical", "free"])
def test_reroot_refuses_joints_that_have_other_coordinates_when_reversed(kind):
    mechanism = random_mechanism(1, 2, kinds=[kind], floating=True)
    with pytest.raises(UnsupportedError, match=f"the {kind} joint 'j2'"):
        reroot(mechanism, "b2")


def test_reroot_needs_a_base_body():
    with pytest.raises(UnsupportedError, match="base body"):
        reroot(chain(), "b2")
