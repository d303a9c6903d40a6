"""Positions as points of a manifold: the laws of displacement, and the same of single positions over any scalar."""

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError
from dalembert.kinematics import manifold
from random_mechanisms import random_mechanism

RNG = np.random.default_rng(4)


@pytest.fixture(scope="module")
def mechanism():
    kinds = ("revolute", "spherical", "prismatic", "planar")
    return random_mechanism(5, 8, kinds=kinds, floating=True, mimic=0.3)


def test_batches_move_as_single_positions_do(mechanism):
    q, v, _ = mechanism.random_state(RNG, (3, 4))
    found = mechanism.integrate(q, v, 0.3)
    back = mechanism.difference(q, found)
    for k in np.ndindex(3, 4):
        one = manifold.moved(mechanism.tree, q[k], 0.3 * v[k])
        np.testing.assert_allclose(found[k], one, atol=1e-14)
        np.testing.assert_allclose(back[k], manifold.difference(mechanism.tree, q[k], found[k]), atol=1e-13)


def test_difference_undoes_integration_and_interpolation_goes_along_it(mechanism):
    q0, q1 = mechanism.random(RNG, 50), mechanism.random(RNG, 50)
    d = mechanism.difference(q0, q1)
    again = mechanism.integrate(q0, d)
    np.testing.assert_allclose(mechanism.difference(again, q1), 0, atol=1e-14)
    s = np.array([0.0, 0.25, 1.0])[:, None]
    path = mechanism.interpolate(q0, q1, s)
    assert path.shape == (3, 50, mechanism.nq)
    np.testing.assert_allclose(path[0], q0, atol=1e-15)
    np.testing.assert_allclose(mechanism.difference(q0, path[1]), d / 4, atol=1e-13)
    far = mechanism.integrate(mechanism.neutral, mechanism.difference(mechanism.neutral, q1))  # from one to many
    np.testing.assert_allclose(far[:, :3], q1[:, :3], atol=1e-14)


def test_a_motion_of_constant_velocity_is_the_simulated_one():
    """A sphere without gravity turns at a constant rate, whose integral the exponential map is."""
    ball = da.Mechanism("ball", [da.Body("b", da.Inertia(1.0, tensor=np.eye(3)))],
                        [da.Joint("base", "free", "world", "b")], gravity=np.zeros(3))  # fmt: skip
    v = np.array([0.1, -0.2, 0.3, 1.0, 2.0, -0.5])
    motion = da.simulate(ball, v0=v, t=1.5)
    np.testing.assert_allclose(ball.integrate(ball.neutral, v, 1.5), motion.q[-1], atol=1e-8)


def test_tiny_and_half_turns():
    ball = da.Mechanism("ball", [da.Body("b", da.Inertia(1.0, tensor=np.eye(3)))],
                        [da.Joint("joint", "spherical", "world", "b")])  # fmt: skip
    for w in ([0, 0, 0], [1e-200, 0, 0], [1e-9, 2e-9, 0], [np.pi, 0, 0], [0, 3.1415, 0]):
        q = ball.integrate(ball.neutral, w)
        assert np.linalg.norm(q) == pytest.approx(1, abs=1e-15)
        np.testing.assert_allclose(np.abs(ball.difference(ball.neutral, q)), np.abs(w), rtol=1e-14, atol=1e-300)
    np.testing.assert_array_equal(ball.difference(ball.neutral, -ball.neutral), np.zeros(3))


def test_states_are_given_by_joint_and_mistakes_are_named(mechanism):
    joint = next(j for j in mechanism.joints if j.kind == "revolute" and j.mimic is None)
    q = mechanism.integrate({joint.name: 0.2}, {joint.name: np.array([1.0, 2.0])}, 0.5)
    np.testing.assert_allclose(q[:, mechanism.q_slice(joint.name)][:, 0], [0.7, 1.2])
    for call, words in (
        (lambda: mechanism.integrate(mechanism.neutral[1:], 0), "integrate, q has shape"),
        (lambda: mechanism.integrate({"no": 1.0}, np.zeros(mechanism.nv)), "'no'"),
        (lambda: mechanism.difference(2 * mechanism.neutral, mechanism.neutral), "unit quaternion"),
        (lambda: mechanism.difference(np.tile(mechanism.neutral, (2, 1)), np.tile(mechanism.neutral, (3, 1))), "fit"),
    ):
        with pytest.raises(ArgumentError, match=words):
            call()
