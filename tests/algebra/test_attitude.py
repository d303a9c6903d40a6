"""The laws of :class:`Attitude`, for every parameterisation: FORBES' identities, constraints, round trips."""

from __future__ import annotations

import math

import numpy as np
import pytest
from algebra_cases import axes, close, derivative, rodrigues, rotations, size, vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.algebra.attitude import DirectionCosines, EulerAngles, ModifiedRodrigues, Quaternion
from dalembert.algebra.euler import EULER_SEQUENCES
from dalembert.algebra.kronecker import khang_derivative_complex_step
from dalembert.algebra.rotations import rotation_from_axis_angle
from dalembert.algebra.vectors import dual
from dalembert.errors import ArgumentError, SingularityError

ATTITUDES = [DirectionCosines(), Quaternion(), ModifiedRodrigues(), *map(EulerAngles, EULER_SEQUENCES)]
every_attitude = pytest.mark.parametrize("attitude", ATTITUDES, ids=lambda a: getattr(a, "sequence", type(a).__name__))
few = settings(max_examples=20)


def regular(attitude, rotation):
    """Parameters away from gimbal lock, and how much Gamma magnifies rounding there.

    A rotation at a lock is turned on until it is off it; so every rotation drawn is used.
    """
    for _ in range(10):
        q = attitude.from_rotation(rotation)
        try:
            magnification = max(1.0, float(np.linalg.norm(attitude.Gamma(q))))
        except SingularityError:
            magnification = math.inf
        if magnification < 100:
            return q, magnification
        rotation = rotation @ rodrigues([0.6, 0.0, 0.8], 0.7)
    raise AssertionError(f"{attitude} is singular everywhere")


@every_attitude
@given(rotations)
@few
def test_parameters_reproduce_every_rotation(attitude, r):
    q = attitude.from_rotation(r)
    assert q.shape == (attitude.nq,)
    assert close(attitude.rotation(q), r)
    assert close(attitude.dcm(q), r.T)
    assert close(attitude.constraints(q), np.zeros(len(attitude.constraints(q))))


@every_attitude
@given(rotations)
@few
def test_s_and_xi_undo_and_annihilate_gamma(attitude, r):
    q, magnification = regular(attitude, r)
    s, gamma, xi = attitude.S(q), attitude.Gamma(q), attitude.Xi(q)
    assert s.shape == (3, attitude.nq)
    assert gamma.shape == (attitude.nq, 3)
    assert close(s @ gamma, np.eye(3), magnification)
    if xi is None:
        assert attitude.nq == 3
    else:
        assert close(xi @ gamma, np.zeros((xi.shape[0], 3)))


@every_attitude
@given(rotations)
@few
def test_xi_is_the_jacobian_of_the_constraints_and_complements_s(attitude, r):
    q = attitude.from_rotation(r)
    xi = attitude.Xi(q)
    if xi is None:
        assert attitude.constraints(q).size == 0
    else:
        assert close(khang_derivative_complex_step(attitude.constraints, q), xi)
        assert np.linalg.matrix_rank(xi) == attitude.nq - 3
        assert np.linalg.matrix_rank(np.vstack([attitude.S(q), xi])) == attitude.nq


@every_attitude
@given(rotations, vectors)
@few
def test_gamma_moves_the_dcm_with_the_angular_velocity_in_body_axes(attitude, r, w):
    q, magnification = regular(attitude, r)
    rate = attitude.Gamma(q) @ w
    cdot = derivative(lambda t: attitude.dcm(q + t * rate))
    assert close(cdot, -dual(w) @ attitude.dcm(q), magnification * size(w))


@every_attitude
@given(rotations, vectors)
@few
def test_forbes_identity_1(attitude, r, w):
    """``(Sdot - dw/dq) Gamma = -w~`` with the rates held fixed in dw/dq."""
    q, magnification = regular(attitude, r)
    gamma = attitude.Gamma(q)
    rate = gamma @ w
    s_dot = derivative(lambda t: attitude.S(q + t * rate))
    dw_dq = khang_derivative_complex_step(lambda p: attitude.S(p) @ rate, q)
    # Two products with Gamma, each magnifying rounding errors.
    assert close((s_dot - dw_dq) @ gamma, -dual(w), magnification**2 * size(w))


@every_attitude
@given(rotations, vectors)
@few
def test_forbes_identities_2_and_3(attitude, r, s):
    q, magnification = regular(attitude, r)
    c, gamma = attitude.dcm(q), attitude.Gamma(q)
    to_inertial = khang_derivative_complex_step(lambda p: attitude.dcm(p).T @ s, q)
    to_body = khang_derivative_complex_step(lambda p: attitude.dcm(p) @ s, q)
    assert close(to_inertial @ gamma, -c.T @ dual(s), magnification * size(s))
    assert close(to_body @ gamma, dual(c @ s), magnification * size(s))


@given(rotations)
def test_direction_cosines_are_the_rows_of_c(r):
    q = DirectionCosines().from_rotation(r)
    assert np.array_equal(q.reshape(3, 3), r.T)


@given(rotations, vectors)
def test_direction_cosines_give_angular_velocity_in_two_ways(r, w):
    """``w1 = c2dot.c3 = -c3dot.c2`` and cyclic (FORBES, corrected)."""
    attitude = DirectionCosines()
    q = attitude.from_rotation(r)
    c1, c2, c3 = q.reshape(3, 3)
    d1, d2, d3 = (attitude.Gamma(q) @ w).reshape(3, 3)
    assert close([d2 @ c3, d3 @ c1, d1 @ c2], w, size(w))
    assert close([-d3 @ c2, -d1 @ c3, -d2 @ c1], w, size(w))


@given(axes, st.floats(0, 3.1))
def test_modified_rodrigues_parameters_are_the_tangent_of_a_quarter_of_the_angle(u, angle):
    p = ModifiedRodrigues().from_rotation(rotation_from_axis_angle(u, angle))
    assert close(p, math.tan(angle / 4) * u)


@given(rotations)
def test_the_shadow_set_is_the_same_attitude(r):
    attitude = ModifiedRodrigues()
    p = attitude.from_rotation(r)
    assert p @ p <= 1 + 1e-15
    if p @ p < 1e-8:  # the shadow is far out and loses the digits its size takes
        return
    shadow = attitude.shadow(p)
    assert shadow @ shadow >= 1 - 1e-15
    assert close(attitude.dcm(shadow), r.T, 1 / (p @ p))
    assert close(attitude.shadow(shadow), p)


def test_a_full_turn_has_no_parameters():
    far = 1e160 * np.array([0.6, 0, 0.8])
    for method in (ModifiedRodrigues().dcm, ModifiedRodrigues().S):
        with pytest.raises(SingularityError, match="full turn"):
            method(far)


def test_the_identity_has_no_shadow():
    with pytest.raises(SingularityError, match="full turn"):
        ModifiedRodrigues.shadow([0, 0, 0])


def test_an_unknown_sequence_is_refused_at_once():
    with pytest.raises(ArgumentError, match="unknown Euler sequence 'xyz'"):
        EulerAngles("xyz")
    assert repr(EulerAngles("321")) == "EulerAngles('321')"
