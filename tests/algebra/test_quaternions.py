"""Quaternion laws (B-9)-(B-19) of PARSA, and that every map finds its way back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from algebra_cases import EPS, angles, arrays, axes, close, derivative, rodrigues, rotations, size, vectors
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.quaternions import (
    IDENTITY_QUATERNION,
    angular_velocity_from_quaternion_rate,
    cross_matrix,
    quaternion_conjugate,
    quaternion_cross,
    quaternion_d_matrix,
    quaternion_exp,
    quaternion_from_rotation,
    quaternion_log,
    quaternion_normalise,
    quaternion_rate,
    quaternion_star,
    rotation_from_quaternion,
    slerp,
    star_matrix,
)
from dalembert.algebra.vectors import dual
from dalembert.errors import ArgumentError, SingularityError

quadruples = arrays(4)
units = st.builds(lambda u, a: np.array([*(math.sin(a / 2) * u), math.cos(a / 2)]), axes, angles)


@given(quadruples, quadruples)
def test_products_and_their_matrices(a, b):
    scale = size(a, b)
    v, w = a[:3], a[3]
    left = np.block([[w * np.eye(3) + dual(v), v[:, None]], [-v, w]])
    right = np.block([[w * np.eye(3) - dual(v), v[:, None]], [-v, w]])
    assert np.array_equal(star_matrix(a), left)
    assert np.array_equal(cross_matrix(a), right)
    assert close(quaternion_star(a, b), star_matrix(a) @ b, scale)
    assert close(quaternion_cross(a, b), cross_matrix(a) @ b, scale)
    assert close(quaternion_star(a, b), quaternion_cross(b, a), scale)
    assert close(np.linalg.norm(quaternion_star(a, b)), np.linalg.norm(a) * np.linalg.norm(b), scale)


@given(quadruples, quadruples, quadruples)
def test_the_star_product_is_associative_and_commutes_with_the_cross_product(a, b, c):
    scale = size(a, b, c)
    assert close(quaternion_star(quaternion_star(a, b), c), quaternion_star(a, quaternion_star(b, c)), scale)
    assert close(star_matrix(a) @ cross_matrix(b), cross_matrix(b) @ star_matrix(a), size(a, b))


@given(quadruples, quadruples)
def test_conjugate(a, b):
    d = quaternion_d_matrix()
    assert np.array_equal(quaternion_conjugate(a), -d @ a)
    product = quaternion_star(a, b)
    reversed_product = quaternion_star(quaternion_conjugate(b), quaternion_conjugate(a))
    assert close(quaternion_conjugate(product), reversed_product, size(a, b))
    assert close(quaternion_star(a, quaternion_conjugate(a)), [0, 0, 0, a @ a], size(a, a))


@given(quadruples)
def test_b_16_the_d_matrix_links_the_two_products(eta):
    d, conj = quaternion_d_matrix(), quaternion_conjugate(eta)
    assert np.array_equal(d @ star_matrix(eta), cross_matrix(conj) @ d)
    assert np.array_equal(d @ cross_matrix(eta), star_matrix(conj) @ d)


@given(units, vectors)
def test_b_17_variation_of_the_conjugate(eta, w):
    d_eta = quaternion_rate(eta, w)  # preserves the norm
    conj = quaternion_conjugate(eta)
    expected = -quaternion_cross(conj, quaternion_star(conj, d_eta))
    assert close(quaternion_conjugate(d_eta), expected, size(w))


@given(units, vectors)
def test_b_18_and_b_19_rates_and_angular_velocity(eta, w):
    pure, conj = np.append(w, 0.0), quaternion_conjugate(eta)
    rate = quaternion_rate(eta, w)
    assert close(rate, quaternion_star(eta, pure) / 2, size(w))
    assert close(rate, quaternion_cross(pure, eta) / 2, size(w))
    assert close(2 * quaternion_star(conj, rate), pure, size(w))
    assert close(2 * quaternion_cross(rate, conj), pure, size(w))
    assert close(angular_velocity_from_quaternion_rate(eta, rate), w, size(w))
    assert close(eta @ rate, 0, size(w))


@given(units, vectors)
def test_the_rate_turns_the_rotation_matrix_by_the_body_angular_velocity(eta, w):
    rate = quaternion_rate(eta, w)
    assert close(
        derivative(lambda t: rotation_from_quaternion(eta + t * rate)), rotation_from_quaternion(eta) @ dual(w), size(w)
    )


@given(units)
def test_rotation_of_a_unit_quaternion_is_parsas_q(eta):
    v, w = eta[:3], eta[3]
    q = (w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * dual(v)
    assert close(rotation_from_quaternion(eta), q)
    assert close(rotation_from_quaternion(-eta), q)
    assert close(rotation_from_quaternion(quaternion_conjugate(eta)), q.T)


@given(axes, angles)
def test_rotation_of_a_quaternion_is_that_of_its_axis_and_angle(u, angle):
    eta = np.array([*(math.sin(angle / 2) * u), math.cos(angle / 2)])
    assert close(rotation_from_quaternion(eta), rodrigues(u, angle))


@given(units, units)
def test_quaternions_compose_as_rotations_do(a, b):
    both = rotation_from_quaternion(quaternion_star(a, b))
    assert close(both, rotation_from_quaternion(a) @ rotation_from_quaternion(b))


@given(rotations)
def test_every_rotation_has_its_quaternion(r):
    eta = quaternion_from_rotation(r)
    assert eta[3] >= 0
    assert close(np.linalg.norm(eta), 1)
    assert close(rotation_from_quaternion(eta), r)


@given(units)
def test_every_quaternion_is_found_again_up_to_sign(eta):
    found = quaternion_from_rotation(rotation_from_quaternion(eta))
    assert close(found, eta) or close(found, -eta)


@pytest.mark.parametrize("axis", [*np.eye(3), *(-np.eye(3)), np.array([0.6, -0.8, 0]), np.ones(3) / math.sqrt(3)])
def test_half_turns_use_every_branch(axis):
    eta = quaternion_from_rotation(2 * np.outer(axis, axis) - np.eye(3))
    assert close(np.abs(eta), [*np.abs(axis), 0])


def test_tiny_turns_keep_relative_precision():
    turn = 1e-12 * np.array([3.0, -2.0, 1.0])
    eta = quaternion_from_rotation(np.eye(3) + dual(turn))
    assert np.max(np.abs(eta[:3] / (turn / 2) - 1)) < 8 * EPS


def test_wrong_input_is_refused():
    with pytest.raises(ArgumentError, match="3x3"):
        quaternion_from_rotation(np.eye(4))
    with pytest.raises(ArgumentError, match="no rotation matrix"):
        quaternion_from_rotation(np.eye(3) * 1j)
    with pytest.raises(ArgumentError, match="4 scalars"):
        quaternion_star([0, 0, 1], IDENTITY_QUATERNION)
    with pytest.raises(SingularityError, match="no direction"):
        quaternion_normalise([0, 0, 0, 0])


@given(quadruples.map(lambda eta: eta if np.any(eta) else np.array([0, -2.0, 0, 0])))
def test_normalise(eta):
    unit = quaternion_normalise(eta)
    assert close(np.linalg.norm(unit), 1)
    assert close(unit * np.linalg.norm(eta), eta, size(eta))


@given(axes, angles)
def test_exponential(u, angle):
    eta = quaternion_exp(angle * u)
    assert close(eta, [*(math.sin(angle / 2) * u), math.cos(angle / 2)])


@given(axes, st.floats(0, math.pi))
def test_logarithm_inverts_the_exponential(u, angle):
    phi = angle * u
    for eta in (quaternion_exp(phi), -quaternion_exp(phi)):
        found = quaternion_log(eta)
        assert close(found, phi, 4) or (angle > math.pi - 1e-9 and close(found, -phi, 4))
        assert np.linalg.norm(found) <= math.pi + 4 * EPS


@pytest.mark.parametrize("squared", [1e-4 * (1 - 1e-9), 1e-4 * (1 + 1e-9)])
def test_series_and_closed_form_meet(squared):
    """On both sides of the change-over the exact values, computed otherwise, are met to rounding."""
    angle = math.sqrt(squared)
    assert close(quaternion_exp([angle, 0, 0]), [math.sin(angle / 2), 0, 0, math.cos(angle / 2)], 1, 2)
    half = math.sqrt(squared)
    assert close(quaternion_log([half, 0, 0, math.sqrt(1 - squared)]), [2 * math.asin(half), 0, 0], 1, 2)


@given(vectors.map(lambda v: v / 4), vectors)
def test_exponential_is_differentiable_everywhere_zero_included(phi, direction):
    complex_step = derivative(lambda t: quaternion_exp(phi + t * direction))
    h = 1e-5
    central = (quaternion_exp(phi + h * direction) - quaternion_exp(phi - h * direction)) / (2 * h)
    # Truncation of the central difference: h^2/6 times the third derivative, at most |direction|^3.
    assert np.max(np.abs(complex_step - central)) <= 1e-10 + h**2 * size(direction) ** 3


@given(units, units, st.floats(0, 1))
def test_slerp_turns_uniformly_along_the_shortest_way(a, b, fraction):
    whole = quaternion_log(quaternion_star(quaternion_conjugate(a), b))
    part = slerp(a, b, fraction)
    assert close(np.linalg.norm(part), 1)
    found = quaternion_log(quaternion_star(quaternion_conjugate(a), part))
    assert close(found, fraction * whole, 4) or np.linalg.norm(whole) > math.pi - 1e-9
    assert close(slerp(a, b, 0), a)
    end = slerp(a, b, 1)
    assert close(end, b) or close(end, -b)
