"""Slopes of kinetic energy, momentum, regressors with a reference, closed forms, conjugate gradients."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from algorithms.algorithm_cases import COUPLED, MIXES, along, by_position, difference, drawn, position_rate
from dalembert import algorithms
from dalembert.algorithms.forward_dynamics.conjugate_gradients import conjugate_gradients
from dalembert.algorithms.inertia_matrix.closed_form import closed_form
from dalembert.algorithms.inverse_dynamics.closed_forms import waters_3x3
from dalembert.algorithms.loads import loads_on_links
from dalembert.errors import ArgumentError
from dalembert.kinematics import poses
from random_mechanisms import random_mechanism

EXACT = 1e-11
"""Complex steps are exact; sums of some hundred terms are good to this, relative to the largest."""


@pytest.mark.parametrize("mix", MIXES)
def test_gradient_of_kinetic_energy_is_a_complex_step(mix):
    for seed in range(8):
        mechanism, q, v, _ = drawn(mix, seed)
        exact = by_position(mechanism, lambda x, m=mechanism, v=v: algorithms.kinetic_energy(m, x, v), q)
        scale = abs(algorithms.kinetic_energy(mechanism, q, v))
        assert difference(algorithms.kinetic_energy_gradient(mechanism, q, v), exact, scale) < EXACT


def test_lagrange_with_the_gradient_is_inverse_dynamics():
    """d/dt (M v) - dT/dq + gravity = tau (PARSA (12), (22)-(25)), with joints whose velocities are rates."""
    mechanism, q, v, a = drawn("revolute-prismatic", 11)
    dyn = da.Dynamics(mechanism)
    h = 1e-6
    momentum_rate = (
        dyn.generalised_momentum(q + h * v, v + h * a) - dyn.generalised_momentum(q - h * v, v - h * a)
    ) / (2 * h)
    tau = momentum_rate - dyn.kinetic_energy_gradient(q, v) + dyn.gravity(q)
    np.testing.assert_allclose(tau, dyn.inverse_dynamics(q, v, a), rtol=1e-6, atol=1e-6)  # central differences


@pytest.mark.parametrize("mix", MIXES)
def test_momentum_is_that_of_the_bodies_about_any_point(mix):
    """By poses and velocities of the bodies, differentiated along the motion; about c.m. it is the centroidal one."""
    mechanism, q, v, _ = drawn(mix, 3)
    point = np.array([0.4, -1.0, 2.0])
    rate = position_rate(mechanism, q, v)
    total = np.zeros(6)
    for body in mechanism.bodies:
        place = poses(mechanism, q)[body.name]
        turning = along(lambda x, name=body.name: poses(mechanism, x)[name].rotation, q, rate)
        moving = along(lambda x, name=body.name: poses(mechanism, x)[name].translation, q, rate)
        W = turning @ place.rotation.T
        w = np.array([W[2, 1], W[0, 2], W[1, 0]])
        inertia = body.inertia
        c = place.apply(np.asarray(inertia.center, float))
        p = inertia.mass * (moving + np.cross(w, c - place.translation))
        R = place.rotation
        H = R @ np.asarray(inertia.tensor, float) @ R.T @ w
        total += np.array([*p, *(H + np.cross(c - point, p))])
    found = algorithms.momentum(mechanism, q, v, point=point)
    assert difference(found, total, 1.0) < EXACT
    center = algorithms.center_of_mass(mechanism, q)
    about_center = algorithms.momentum(mechanism, q, v, point=center)
    assert difference(about_center, algorithms.centroidal(mechanism, q, v).matrix @ v, 1.0) < EXACT
    if not any(link.kind == "helical" for link in mechanism.tree.links):
        np.testing.assert_allclose(da.Dynamics(mechanism).momentum(q, v, point=point), found, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mix", MIXES)
def test_regressor_with_a_reference_is_mass_coriolis_and_gravity(mix):
    """Y pi = M a_r + C v_r + g; with v_r = v it is the plain one; and Mdot - 2C is skew, whatever the joints."""
    for seed in range(4):
        mechanism, q, v, a = drawn(mix, seed)
        v_ref = np.random.default_rng(seed).normal(size=mechanism.nv)
        pi = algorithms.parameter_vector(mechanism)
        Y = algorithms.reference_regressor(mechanism, q, v, v_ref, a)
        M = algorithms.mass_matrix(mechanism, q)
        still = np.zeros(mechanism.nv)
        g = algorithms.inverse_dynamics(mechanism, q, still, still)
        C = np.stack([algorithms.reference_regressor(mechanism, q, v, e, still) @ pi - g for e in np.eye(len(v))], 1)
        assert difference(Y @ pi, M @ a + C @ v_ref + g, 1.0) < EXACT
        plain = algorithms.regressor(mechanism, q, v, a)
        assert difference(algorithms.reference_regressor(mechanism, q, v, v, a), plain, 1.0) < EXACT
        if all(link.kind != "spherical" for link in mechanism.tree.links):
            assert difference(C, algorithms.coriolis_matrix(mechanism, q, v), 1.0) < EXACT
        Mdot = along(lambda x, m=mechanism: algorithms.mass_matrix(m, x), q, position_rate(mechanism, q, v))
        skew = Mdot - 2 * C
        assert np.abs(skew + skew.T).max(initial=0) < EXACT * max(1.0, np.abs(C).max(initial=0))


@pytest.mark.parametrize("mix", MIXES)
def test_closed_forms_are_the_recursions(mix):
    """(5.2.6) is Algorithm 5.5, with loads; (6.3.46) is the inertia matrix."""
    for seed in range(4):
        mechanism, q, v, a = drawn(mix, seed)
        wrench = {"tool": np.random.default_rng(seed).normal(size=6)}
        tau = waters_3x3(mechanism.tree, q, v, a, loads_on_links(mechanism, wrench))
        assert difference(tau, algorithms.inverse_dynamics(mechanism, q, v, a, wrenches=wrench)) < EXACT
        assert difference(closed_form(mechanism.tree, q), algorithms.mass_matrix(mechanism, q)) < EXACT


@pytest.mark.parametrize("mix", [name for name in MIXES if name not in COUPLED])
def test_conjugate_gradients_find_the_accelerations(mix):
    mechanism, q, v, tau = drawn(mix, 9)
    found = conjugate_gradients(mechanism, q, v, tau)
    assert difference(found.a, algorithms.forward_dynamics(mechanism, q, v, tau)) < 1e-8  # times its condition
    assert found.residual <= 1e-13


def test_conjugate_gradients_take_about_as_many_steps_as_there_are_joints():
    arm = random_mechanism(0, 14, kinds=["revolute"], branching=0, massless=0)
    q, v, tau = arm.random_state(np.random.default_rng(1))
    found = conjugate_gradients(arm, q, v, tau, tolerance=1e-10)
    assert found.steps <= 2 * arm.nv
    few = conjugate_gradients(arm, q, v, tau, most=3)
    assert few.steps == 3 and few.residual > found.residual
    with pytest.raises(ArgumentError, match="independent joints"):
        coupled = random_mechanism(1, 6, kinds=["revolute"], mimic=0.9)
        q, v, tau = coupled.random_state(np.random.default_rng(1))
        conjugate_gradients(coupled, q, v, tau)
