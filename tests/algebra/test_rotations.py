"""Rotation matrices: every map is undone by its inverse, at half turns, tiny turns and gimbal lock too."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from algebra_cases import EPS, angles, arrays, axes, close, rodrigues, rotations, vectors
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.rotations import (
    axis_angle_from_rotation,
    cayley_from_rotation,
    is_rotation,
    rotation_angle,
    rotation_from_axis_angle,
    rotation_from_cayley,
    rotation_from_rpy,
    rotation_x,
    rotation_y,
    rotation_z,
    rpy_from_rotation,
    sine_cosine,
)
from dalembert.algebra.vectors import dual
from dalembert.errors import ArgumentError, SingularityError

ELEMENTARY = [rotation_x, rotation_y, rotation_z]


@given(angles)
def test_elementary_rotations(angle):
    for k, rotation in enumerate(ELEMENTARY):
        assert close(rotation(angle), rodrigues(np.eye(3)[k], angle))
        assert close(rotation(angle), rotation_from_axis_angle(np.eye(3)[k], angle))


@pytest.mark.parametrize("quarters", range(-12, 13))
def test_quarter_turns_are_exact(quarters):
    s, c = sine_cosine(quarters * math.pi / 2)
    assert (s, c) == ((0, 1, 0, -1)[quarters % 4], (1, 0, -1, 0)[quarters % 4])
    assert sine_cosine(math.radians(90 * quarters)) == (s, c)
    for rotation in ELEMENTARY:
        assert set(np.ravel(rotation(quarters * math.pi / 2))) <= {-1.0, 0.0, 1.0}


@given(angles)
def test_sine_and_cosine_differ_from_the_library_by_rounding_of_the_angle_only(angle):
    s, c = sine_cosine(angle)
    assert abs(s - math.sin(angle)) <= 2 * EPS * abs(angle)
    assert abs(c - math.cos(angle)) <= 2 * EPS * abs(angle)


@given(st.floats(0, 1e300))
def test_of_every_angle_however_large_the_sine_and_cosine_are_right(angle):
    """Quarter turns are rounded to within 2e-12, and only below 10000 rad."""
    assert np.abs(np.subtract(sine_cosine(angle), (math.sin(angle), math.cos(angle)))).max() <= 2.3e-12


@pytest.mark.parametrize("angle", [math.nan, math.inf])
def test_no_angle_no_number(angle):
    assert np.isnan(rotation_x(angle)[1, 1])


@given(axes, angles)
def test_axis_angle_gives_rotations_in_all_their_forms(u, angle):
    r = rotation_from_axis_angle(u, angle)
    assert is_rotation(r, 64 * EPS)
    assert close(r, rodrigues(u, angle))  # (3.3.41)
    assert close(r.T, rotation_from_axis_angle(u, -angle))  # (3.3.42)
    assert close(r @ u, u)


@given(axes, angles, angles)
def test_turns_about_one_axis_add(u, a, b):
    assert close(rotation_from_axis_angle(u, a) @ rotation_from_axis_angle(u, b), rotation_from_axis_angle(u, a + b))


@given(rotations)
def test_axis_and_angle_reproduce_any_rotation(r):
    axis, angle = axis_angle_from_rotation(r)
    assert 0 <= angle <= math.pi
    assert close(np.linalg.norm(axis), 1)
    assert close(rotation_from_axis_angle(axis, angle), r)


@given(axes, st.floats(1e-12, math.pi))
def test_axis_and_angle_are_recovered_to_full_precision(u, angle):
    axis, found = axis_angle_from_rotation(rodrigues(u, angle))
    assert abs(found - angle) <= 64 * EPS
    if angle < math.pi - 1e-9:
        # Entries of size sin(angle) carry the axis; rounding of the entries of size one does not touch them.
        assert np.max(np.abs(axis - u)) <= 64 * EPS / min(angle, math.pi - angle, 1)


@given(axes, st.floats(5e-324, 1e-300))
def test_the_axis_of_a_turn_by_a_denormal_angle_is_a_unit_vector(u, angle):
    axis, _ = axis_angle_from_rotation(rodrigues(u, angle))
    assert close(np.linalg.norm(axis), 1)


def test_the_identity_turns_by_nothing_about_x():
    axis, angle = axis_angle_from_rotation(np.eye(3))
    assert angle == 0
    assert axis.tolist() == [1, 0, 0]


@pytest.mark.parametrize("axis", [[0, 0, 0], [0, 0, 2], [1, 1, 0], [math.nan, 0, 0]])
def test_an_axis_that_is_no_unit_vector_is_refused(axis):
    with pytest.raises(ArgumentError, match="length"):
        rotation_from_axis_angle(axis, 1.0)


@pytest.mark.parametrize("length", [1, -1, 2.5])
def test_the_angle_of_a_symbolic_turn_about_a_coordinate_axis_stays_exact(length):
    x = sympy.Symbol("x", real=True)
    sign = 1 if length > 0 else -1
    for k, rotation in enumerate(ELEMENTARY):
        assert rotation_angle(rotation(x), length * np.eye(3)[k]) == sympy.atan2(sign * sympy.sin(x), sympy.cos(x))


@given(axes, angles, st.floats(0.1, 10))
def test_rotation_angle_about_a_known_axis_of_any_length(u, angle, length):
    found = rotation_angle(rodrigues(u, angle), length * u)
    assert -math.pi <= found <= math.pi
    assert close(math.sin(found - angle), 0)
    assert close(math.cos(found - angle), 1)


@given(arrays(3))
def test_cayley_form(n):
    r = rotation_from_cayley(n)
    one, skew = np.eye(3), dual(n)
    assert is_rotation(r, 64 * EPS)
    assert close(r @ (one - skew), one + skew, 1 + np.linalg.norm(n))  # section 8.2
    # tan(angle/2) magnifies relative errors by up to 1 + n.n.
    assert close(cayley_from_rotation(r), n, (1 + n @ n) ** 1.5)


@given(rotations)
def test_cayley_form_exists_but_for_half_turns(r):
    if 1 + np.trace(r) > 1e-3:
        assert close(rotation_from_cayley(cayley_from_rotation(r)), r, 1 / (1 + np.trace(r)))


@given(axes)
def test_cayley_form_names_its_singularity(u):
    with pytest.raises(SingularityError, match="180 degrees"):
        cayley_from_rotation(rodrigues(u, math.pi))
    with pytest.raises(SingularityError, match="180 degrees"):
        rotation_from_cayley(1e160 * u)
    assert close(rotation_from_cayley(1e150 * u), rodrigues(u, math.pi))


@given(angles, angles, angles)
def test_roll_pitch_yaw_is_a_product_of_turns_about_fixed_axes(roll, pitch, yaw):
    r = rotation_from_rpy(roll, pitch, yaw)
    assert close(r, rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll))
    roll2, pitch2, yaw2 = rpy_from_rotation(r)
    assert abs(pitch2) <= math.pi / 2
    assert close(rotation_from_rpy(roll2, pitch2, yaw2), r)


@given(st.floats(-3, 3), st.floats(-1.5, 1.5), st.floats(-3, 3))
def test_roll_pitch_yaw_is_recovered_away_from_the_lock(roll, pitch, yaw):
    found = rpy_from_rotation(rotation_from_rpy(roll, pitch, yaw))
    assert close(found, [roll, pitch, yaw], 4 / math.cos(pitch))


@given(angles, angles, st.sampled_from([1, -1]))
def test_at_the_lock_yaw_is_zero_and_the_rotation_still_returns(roll, yaw, sign):
    r = rotation_from_rpy(roll, sign * math.pi / 2, yaw)
    found = rpy_from_rotation(r)
    assert found[2] == 0
    assert close(rotation_from_rpy(*found), r)


@given(rotations, vectors)
def test_is_rotation(r, v):
    assert is_rotation(r)
    assert not is_rotation(-r)  # a reflection
    assert not is_rotation(r * 1.001)
    assert not is_rotation(r + np.outer(v, v)) or np.linalg.norm(v) < 1e-4
    assert not is_rotation(np.full((3, 3), math.nan))
    assert not is_rotation(np.eye(2))


def test_symbols_stay_exact():
    q = sympy.Symbol("q")
    for axis, rotation in zip(np.eye(3), ELEMENTARY):
        assert rotation_from_axis_angle(axis, q).tolist() == rotation(q).tolist()
    assert rotation_from_rpy(math.pi / 2, 0.0, q).tolist() == [
        [sympy.cos(q), 0, sympy.sin(q)],
        [sympy.sin(q), 0, -sympy.cos(q)],
        [0, 1, 0],
    ]


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-5, 2e-6])
def test_cayley_keeps_its_digits_near_a_half_turn(distance):
    """tan(angle/2) loses a factor 1/distance of the matrix's digits, and no more."""
    u = np.array([1.0, 2.0, 3.0]) / math.sqrt(14)
    n = cayley_from_rotation(rodrigues(u, math.pi - distance))
    exact = u / math.tan(distance / 2)
    assert np.linalg.norm(n - exact) <= 20 * 2.3e-16 / distance * np.linalg.norm(exact)
