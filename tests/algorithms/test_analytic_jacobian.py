"""Analytic Jacobians and their rates: derivatives of coordinates, for every Euler sequence and quaternions.

Tolerance: complex steps lose nothing, but near gimbal lock angles change quickly: states are drawn away from it, and
differences are judged against the largest entry, 1e-10.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from algorithm_cases import STEP, by_position, difference, drawn, position_rate, seeds
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.euler import EULER_SEQUENCES
from dalembert.algebra.quaternions import rotation_from_quaternion
from dalembert.algorithms.analytic_jacobian import (
    COORDINATES,
    analytic_jacobian,
    analytic_jacobian_rates,
    coordinate_count,
    frame_coordinates,
    frame_quaternion,
)
from dalembert.errors import ArgumentError, SingularityError
from dalembert.kinematics import jacobian, jacobian_rate, pose
from random_mechanisms import random_mechanism

POINT = np.array([0.3, -0.2, 0.5])
mixes = st.sampled_from(["revolute", "revolute-prismatic", "helical", "spherical", "floating", "mimic", "all"])


def locked(coordinates: str, x: np.ndarray) -> bool:
    """Within 0.2 rad of gimbal lock."""
    if coordinates not in EULER_SEQUENCES:
        return False
    lock = np.sin(x[4]) if coordinates[0] == coordinates[2] else np.cos(x[4])
    return abs(lock) < 0.2


@pytest.mark.parametrize("coordinates", [c for c in COORDINATES if c != "twist"])
@given(mix=mixes, seed=seeds)
def test_derivatives_of_coordinates(coordinates, mix, seed):
    """J = dx/dq; Jdot is the rate of J; Jddot the rate of Jdot along q(t), v(t)."""
    mechanism, q, v, a = drawn(mix, seed, bodies=4)
    options = {"frame": "tool", "coordinates": coordinates, "point": POINT}
    x = frame_coordinates(mechanism, q, **options)
    if not mechanism.nv or locked(coordinates, x):
        return
    found = analytic_jacobian_rates(mechanism, q, v, a, **options)
    expected = by_position(mechanism, lambda q: frame_coordinates(mechanism, q, **options), q)
    assert found.J.shape == (coordinate_count(coordinates), mechanism.nv)
    assert difference(found.J, expected, 1.0) < 1e-10
    later = q + 1j * STEP * position_rate(mechanism, q, v), v + 1j * STEP * a
    moved = analytic_jacobian_rates(mechanism, *later, a, **options)
    assert difference(found.Jd, moved.J.imag / STEP, 1.0) < 1e-10
    assert difference(found.Jdd, moved.Jd.imag / STEP, 1.0) < 1e-10
    assert difference(found.J, analytic_jacobian(mechanism, q, **options), 1.0) < 1e-12


@given(mix=mixes, seed=seeds)
def test_twists_have_the_geometric_jacobian(mix, seed):
    mechanism, q, v, a = drawn(mix, seed)
    found = analytic_jacobian_rates(mechanism, q, v, a, "tool", coordinates="twist", point=POINT)
    JR, JT = jacobian(mechanism, q, "tool", point=POINT)
    JRd, JTd = jacobian_rate(mechanism, q, v, "tool", point=POINT)
    assert difference(found.J, np.concatenate([JT, JR]), 1.0) < 1e-12
    assert difference(found.Jd, np.concatenate([JTd, JRd]), 1.0) < 1e-11
    later = q + 1j * STEP * position_rate(mechanism, q, v), v + 1j * STEP * a
    rates = [J.imag / STEP for J in jacobian_rate(mechanism, *later, "tool", point=POINT)]
    assert difference(found.Jdd, np.concatenate([rates[1], rates[0]]), 1.0) < 1e-10


@given(mix=mixes, seed=seeds)
def test_quaternions_along_the_chain(mix, seed):
    mechanism, q, _, _ = drawn(mix, seed)
    eta = frame_quaternion(mechanism, q, "tool")
    assert abs(eta @ eta - 1) < 1e-12
    np.testing.assert_allclose(rotation_from_quaternion(eta), pose(mechanism, q, "tool").rotation, atol=1e-12)


def test_the_same_sequence_in_digits_and_letters():
    mechanism = random_mechanism(4, 6, kinds=["revolute"], branching=0)
    q, _, _ = mechanism.random_state(np.random.default_rng(0))
    letters, digits = (analytic_jacobian(mechanism, q, "tool", coordinates=c) for c in ("ZYX", "321"))
    np.testing.assert_array_equal(letters, digits)


def test_what_cannot_be_is_refused():
    mechanism = random_mechanism(4, 6, kinds=["revolute"], branching=0)
    q = np.zeros(mechanism.nq)
    with pytest.raises(ArgumentError, match=r"choose one of position, twist, quaternion, XYZ"):
        analytic_jacobian(mechanism, q, "tool", coordinates="rpy")
    with pytest.raises(ArgumentError, match="a twist has no coordinates"):
        frame_coordinates(mechanism, q, "tool", coordinates="twist")
    with pytest.raises(SingularityError, match="gimbal lock"):
        analytic_jacobian(mechanism, q, "world", coordinates="ZXZ")


def test_exact_constants_at_the_lock_fare_as_floats():
    mechanism = random_mechanism(4, 6, kinds=["revolute"], branching=0)
    q = [sympy.Integer(0)] * mechanism.nq
    assert frame_coordinates(mechanism, q, "world", coordinates="ZXZ").tolist() == [0] * 6
    with pytest.raises(SingularityError, match="gimbal lock"):
        analytic_jacobian(mechanism, q, "world", coordinates="ZXZ")
