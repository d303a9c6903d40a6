"""What TOML understands Python understands: axes by letter, inertias by three or six entries; and points of poses."""

import numpy as np
import pytest

import dalembert as da
from dalembert import SimulationError
from dalembert.errors import ModelError
from dalembert.kinematics import pose


def test_axes_by_letter_and_inertias_by_entries():
    for letter, along in (("x", [1, 0, 0]), ("-y", [0, -1, 0]), ("z", [0, 0, 1])):
        joint = da.Joint("j", "universal", "world", "b", axis=letter, axis2="x" if letter != "x" else "-z")
        np.testing.assert_array_equal(joint.axis, along)
    full = da.Inertia(1.0, tensor=[[1, 4, 5], [4, 2, 6], [5, 6, 3]])
    np.testing.assert_array_equal(da.Inertia(1.0, tensor=[1, 2, 3, 4, 5, 6]).tensor, full.tensor)
    np.testing.assert_array_equal(da.Inertia(1.0, tensor=(1, 2, 3)).tensor, np.diag([1.0, 2, 3]))
    for wrong in ("w", "--x", ""):
        with pytest.raises(ModelError, match="'x', 'y', 'z'"):
            da.Joint("j", "revolute", "world", "b", axis=wrong)
    for wrong in ([1, 2], [[1, 2, 3]], "abc", [1, 2, 3, 4]):
        with pytest.raises(ModelError, match="inertia tensor"):
            da.Inertia(1.0, tensor=wrong)


def test_a_pose_takes_a_point():
    arm = da.load("demo_arm")
    dyn, frame = da.Dynamics(arm), arm.bodies[-1].name
    q, p = arm.random_state(np.random.default_rng(0), 3)[0], np.array([0.1, -0.2, 0.3])
    plain, moved = dyn.pose(q, frame=frame), dyn.pose(q, frame=frame, point=p)
    np.testing.assert_allclose(moved.position, plain.position + plain.rotation @ p, atol=1e-14)
    np.testing.assert_array_equal(moved.rotation, plain.rotation)
    np.testing.assert_allclose(pose(arm, q[0], frame, point=p).translation, moved.position[0], atol=1e-14)


def test_a_damper_whose_ends_coincide_is_named():
    """At the neutral position of a slider the damper has no direction."""
    body = da.Body("block", da.Inertia(1.0, tensor=[1, 1, 1]))
    damper = da.Force("shock absorber", "spring", "block", "world", stiffness=5.0, damping=1.0, rest=0.1)
    slider = da.Mechanism("slider", [body], [da.Joint("x", "prismatic", "world", "block", axis="x")], forces=[damper])
    with pytest.raises(SimulationError, match=r"'shock absorber'.*coincide"):
        da.simulate(slider, t=0.1)
