"""All twelve sequences of Euler angles: against SciPy, against their own inverse, at gimbal lock."""

from __future__ import annotations

import math

import numpy as np
import pytest
from algebra_cases import angles, close, derivative, rotations, size, vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from dalembert.algebra.euler import (
    EULER_SEQUENCES,
    PROPER_SEQUENCES,
    TAIT_BRYAN_SEQUENCES,
    euler_from_rotation,
    euler_rate_inverse,
    euler_rate_matrix,
    rotation_from_euler,
)
from dalembert.algebra.vectors import dual
from dalembert.errors import ArgumentError, SingularityError

every_sequence = pytest.mark.parametrize("sequence", EULER_SEQUENCES)
triples = st.tuples(angles, angles, angles)


def distance_from_lock(sequence, middle):
    return abs(math.sin(middle)) if sequence in PROPER_SEQUENCES else abs(math.cos(middle))


def lock_angles(sequence):
    return (0.0, math.pi) if sequence in PROPER_SEQUENCES else (-math.pi / 2, math.pi / 2)


def test_there_are_twelve():
    assert len(set(EULER_SEQUENCES)) == 12
    assert set(EULER_SEQUENCES) == set(TAIT_BRYAN_SEQUENCES) | set(PROPER_SEQUENCES)


@every_sequence
@given(triples)
@settings(max_examples=25)
def test_rotation_is_scipys(sequence, q):
    assert close(rotation_from_euler(sequence, q), Rotation.from_euler(sequence, q).as_matrix())


@every_sequence
@given(rotations)
@settings(max_examples=25)
def test_angles_reproduce_every_rotation_locked_or_not(sequence, r):
    q = euler_from_rotation(sequence, r)
    low, high = (0, math.pi) if sequence in PROPER_SEQUENCES else (-math.pi / 2, math.pi / 2)
    assert low <= q[1] <= high
    assert close(rotation_from_euler(sequence, q), r)


@every_sequence
@given(st.floats(-3, 3), st.floats(0.05, 1.5), st.floats(-3, 3))
@settings(max_examples=25)
def test_angles_are_recovered_away_from_the_lock(sequence, first, middle, last):
    found = euler_from_rotation(sequence, rotation_from_euler(sequence, (first, middle, last)))
    assert close(found, (first, middle, last), 4 / distance_from_lock(sequence, middle))


@every_sequence
@given(angles, angles, st.integers(0, 1))
@settings(max_examples=25)
def test_at_the_lock_the_rotation_still_returns(sequence, first, last, which):
    r = rotation_from_euler(sequence, (first, lock_angles(sequence)[which], last))
    q = euler_from_rotation(sequence, r)
    assert close(rotation_from_euler(sequence, q), r)
    if which or sequence not in PROPER_SEQUENCES:
        assert close(math.sin(q[1] - lock_angles(sequence)[which]), 0)


@every_sequence
def test_the_identity_has_zero_angles(sequence):
    assert not np.any(euler_from_rotation(sequence, np.eye(3)))


@every_sequence
@given(triples, vectors)
@settings(max_examples=25)
def test_rates_of_the_angles_give_the_angular_velocity_in_body_axes(sequence, q, qdot):
    w = euler_rate_matrix(sequence, q) @ qdot
    rdot = derivative(lambda t: rotation_from_euler(sequence, np.array(q) + t * qdot))
    assert close(rdot, rotation_from_euler(sequence, q) @ dual(w), size(qdot))


@every_sequence
@given(triples)
@settings(max_examples=25)
def test_gamma_is_the_inverse_or_names_the_lock(sequence, q):
    distance = distance_from_lock(sequence, q[1])
    if distance < 1e-11:
        with pytest.raises(SingularityError, match=f"{sequence} do not exist at the middle angle {q[1]:.9g} rad"):
            euler_rate_inverse(sequence, q)
    elif distance > 1e-9:
        s, gamma = euler_rate_matrix(sequence, q), euler_rate_inverse(sequence, q)
        assert close(s @ gamma, np.eye(3), 1 / distance)
        assert close(gamma @ s, np.eye(3), 1 / distance)


@given(st.floats(-3, 3), st.floats(-1.5, 1.5), st.floats(-3, 3))
def test_forbes_3_2_1_angles(phi, theta, psi):
    """FORBES lists the angles in the reverse order, last turn first."""
    s_ph, c_ph, s_th, c_th = math.sin(phi), math.cos(phi), math.sin(theta), math.cos(theta)
    forbes = np.array([[1, 0, -s_th], [0, c_ph, s_ph * c_th], [0, -s_ph, c_ph * c_th]])
    assert close(euler_rate_matrix("321", (psi, theta, phi))[:, ::-1], forbes)


def test_digits_and_letters_name_the_same_sequences_and_others_are_refused():
    q = (0.1, 0.2, 0.3)
    assert np.array_equal(rotation_from_euler("313", q), rotation_from_euler("ZXZ", q))
    for wrong in ("zyx", "XXY", "XY", "XYZX", "ABC", ""):
        with pytest.raises(ArgumentError, match="unknown Euler sequence"):
            rotation_from_euler(wrong, q)
