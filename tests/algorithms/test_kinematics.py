"""Poses, Jacobians, velocities and accelerations: each the derivative of the one before.

Tolerance: complex steps lose nothing; 1e-11 of the largest entry or of one (metre, radian per second).
"""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import MIXES, along, by_position, difference, drawn, position_rate, seeds
from hypothesis import given
from hypothesis import strategies as st

from dalembert import Dynamics, algorithms, load
from dalembert.algebra.vectors import vect
from dalembert.errors import ArgumentError
from dalembert.kinematics import (
    center_of_mass,
    jacobian,
    jacobian_rate,
    link_poses,
    motion,
    pose,
    poses,
)
from dalembert.model import Body, Joint, Mechanism
from random_mechanisms import random_mechanism

POINT = np.array([0.3, -0.2, 0.5])
axes_names = st.sampled_from(["world", "body"])


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_jacobians_are_derivatives_of_poses(mix, seed):
    """J_T = dp/dq; the columns of J_R are the dual vectors of (dR/dq_k) R^T (4.2.5)."""
    mechanism, q, _, _ = drawn(mix, seed)
    if not mechanism.nv:
        return
    for frame in ("tool", mechanism.bodies[0].name, "world"):
        R = pose(mechanism, q, frame).rotation
        dR = by_position(mechanism, lambda q, f=frame: pose(mechanism, q, f).rotation, q)
        dp = by_position(mechanism, lambda q, f=frame: pose(mechanism, q, f).apply(POINT), q)
        turning = np.stack([vect(dR[..., k] @ R.T) for k in range(mechanism.nv)], axis=-1)
        JR, JT = jacobian(mechanism, q, frame, point=POINT)
        assert difference(JR, turning, 1.0) < 1e-12
        assert difference(JT, dp, 1.0) < 1e-12
        JRb, JTb = jacobian(mechanism, q, frame, point=POINT, axes="body")
        assert difference(JRb, R.T @ JR, 1.0) < 1e-12
        assert difference(JTb, R.T @ JT, 1.0) < 1e-12


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds, axes=axes_names)
def test_jacobian_rates_are_derivatives_of_jacobians(mix, seed, axes):
    mechanism, q, v, _ = drawn(mix, seed)
    rate = position_rate(mechanism, q, v)
    for frame in ("tool", mechanism.bodies[0].name, "world"):
        found = jacobian_rate(mechanism, q, v, frame, point=POINT, axes=axes)
        for part in (0, 1):

            def J(q, f=frame, k=part):
                return jacobian(mechanism, q, f, point=POINT, axes=axes)[k]

            expected = along(J, q, rate)
            assert difference(found[part], expected, 1.0) < 1e-11


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds, axes=axes_names)
def test_velocity_and_acceleration_from_jacobians(mix, seed, axes):
    """w = J_R v, p' = J_T v; accelerations J a + Jdot v in world axes, turned into body axes if asked."""
    mechanism, q, v, a = drawn(mix, seed)
    found = motion(mechanism, q, v, a, "tool", point=POINT, axes=axes)
    JR, JT = jacobian(mechanism, q, "tool", point=POINT)
    JRd, JTd = jacobian_rate(mechanism, q, v, "tool", point=POINT)
    turn = np.eye(3) if axes == "world" else pose(mechanism, q, "tool").rotation.T
    assert difference(found.angular_velocity, turn @ JR @ v, 1.0) < 1e-11
    assert difference(found.linear_velocity, turn @ JT @ v, 1.0) < 1e-11
    assert difference(found.angular_acceleration, turn @ (JR @ a + JRd @ v), 1.0) < 1e-11
    assert difference(found.linear_acceleration, turn @ (JT @ a + JTd @ v), 1.0) < 1e-11
    assert difference(found.pose.homogeneous(), pose(mechanism, q, "tool").homogeneous(), 1.0) < 1e-13


@given(seed=seeds)
def test_every_pose_is_the_pose_of_its_frame(seed):
    mechanism, q, _, _ = drawn("all", seed)
    found = poses(mechanism, q)
    assert set(found) == {"world", "tool", *(b.name for b in mechanism.bodies)}
    for name, place in found.items():
        np.testing.assert_allclose(place.homogeneous(), pose(mechanism, q, name).homogeneous(), atol=1e-13)
    links = link_poses(mechanism.tree, q)
    for name, (carrier, at) in mechanism.tree.carriers.items():
        if carrier >= 0:
            np.testing.assert_allclose((links[carrier] @ at).homogeneous(), found[name].homogeneous(), atol=1e-13)


def test_wrong_arguments_are_named():
    mechanism = random_mechanism(0, 2, kinds=["revolute"])
    q = np.zeros(2)
    with pytest.raises(ArgumentError, match=r"q has shape \(3,\)"):
        pose(mechanism, np.zeros(3), "tool")
    with pytest.raises(ArgumentError, match="'hand'"):
        jacobian(mechanism, q, "hand")
    for call in (lambda: jacobian(mechanism, q, "tool", axes="local"), lambda: motion(
        mechanism, q, q, q, "tool", axes="local"
    ), lambda: jacobian_rate(mechanism, q, q, "tool", axes="local")):  # fmt: skip
        with pytest.raises(ArgumentError, match=r"'world' or 'body': .* LOCAL_WORLD_ALIGNED"):
            call()
    light = Mechanism("light", [Body("a")], [Joint("j", "revolute", "world", "a")], strict=False)
    with pytest.raises(ArgumentError, match="no moving mass"):
        center_of_mass(light, [0.0])


def test_algorithms_stack_jacobians_as_dynamics_do():
    mechanism = load("demo_arm")
    q, v, _ = mechanism.random_state(np.random.default_rng(0))
    dynamics, options = Dynamics(mechanism), {"frame": "flange", "point": (0.1, 0.2, 0.3), "axes": "body"}
    np.testing.assert_allclose(
        algorithms.jacobian(mechanism, q, **options), dynamics.jacobian(q, **options), atol=1e-14
    )
    rate = dynamics.jacobian_rate(q, v, **options)
    np.testing.assert_allclose(algorithms.jacobian_rate(mechanism, q, v, **options), rate, atol=1e-13)
