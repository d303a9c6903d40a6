"""Derivatives of frames, and one variation of the dynamics at a time, against the complex step of what is varied."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from algorithms.algorithm_cases import MIXES, along, by_position, by_velocity, difference, drawn, position_rate
from dalembert import algorithms, kinematics
from dalembert.algorithms.loads import loads_on_links
from dalembert.algorithms.variation import varied
from random_mechanisms import random_mechanism

EXACT = 1e-11
"""Complex steps are exact; sums of some hundred terms with cancelling are good to this, relative to the largest."""


def frame_motion(mechanism, q, v, a, axes):
    found = kinematics.motion(mechanism, q, v, a, "tool", point=(0.1, -0.2, 0.3), axes=axes)
    velocity = np.array([*found.linear_velocity, *found.angular_velocity])
    return velocity, np.array([*found.linear_acceleration, *found.angular_acceleration])


@pytest.mark.parametrize("axes", ["world", "body"])
@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("seed", [1, 4, 5])
def test_derivatives_of_frames_are_complex_steps_of_their_motion(mix, axes, seed):
    mechanism, q, v, a = drawn(mix, seed)
    at = {"point": (0.1, -0.2, 0.3), "axes": axes}
    first = kinematics.velocity_derivatives(mechanism, q, v, "tool", **at)
    second = kinematics.acceleration_derivatives(mechanism, q, v, a, "tool", **at)
    scale = np.abs(second.by_q).max(initial=1)
    for part, by_q, by_v in ((0, first.by_q, first.by_v), (1, second.by_q, second.by_v)):

        def motion(q, v, part=part):
            return frame_motion(mechanism, q, v, a, axes)[part]

        assert difference(by_q, by_position(mechanism, lambda x: motion(x, v), q), scale) < EXACT
        assert difference(by_v, by_velocity(lambda x: motion(q, x), v), scale) < EXACT
    exact = by_velocity(lambda x: frame_motion(mechanism, q, v, x, axes)[1], a)
    assert difference(second.by_a, exact, scale) < EXACT


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("seed", [1, 4, 5])
def test_one_variation_of_inverse_dynamics_is_a_complex_step_along_it(mix, seed):
    mechanism, q, v, a = drawn(mix, seed)
    rng = np.random.default_rng(seed)
    dq, dv, da_ = rng.normal(size=(3, mechanism.nv))
    wrenches = {"tool": rng.normal(size=6)}
    rate = position_rate(mechanism, q, dq)

    def moved(h):
        state = q + h[0] * rate, v + h[0] * dv, a + h[0] * da_
        return algorithms.inverse_dynamics(mechanism, *state, wrenches=wrenches)

    exact = along(moved, np.zeros(1), np.ones(1))
    x, d = algorithms.inverse_dynamics_variation(mechanism, q, v, a, dq, dv, da_, wrenches=wrenches)
    assert difference(x.tau, moved([0])) < EXACT
    assert difference(d.tau, exact) < EXACT


def test_variations_of_all_link_quantities_are_complex_steps():
    """Lemmas C-5 to C-12 along any direction: w, wd, Om, sdd, mu, Udd, f and eta of every link."""
    for mix in ("revolute-prismatic", "all"):
        mechanism, q, v, a = drawn(mix, 5)
        dq, dv, da_ = np.random.default_rng(1).normal(size=(3, mechanism.nv))
        rate, none = position_rate(mechanism, q, dq), np.zeros(mechanism.nv)
        loads = loads_on_links(mechanism, {"tool": np.arange(6.0)})
        _, d = varied(mechanism.tree, q, v, a, dq, dv, da_, loads)
        h = 1e-30j
        x, _ = varied(mechanism.tree, q + h * rate, v + h * dv, a + h * da_, none, none, none, loads)
        for name in ("w", "wd", "Om", "sdd", "mu", "Udd", "f", "eta"):
            for link, change in zip(getattr(x, name), getattr(d, name)):
                assert difference(change, np.imag(np.asarray(link, complex)) / 1e-30, 1.0) < EXACT, name


@pytest.mark.parametrize("mix", [name for name in MIXES if name != "mimic"])
def test_forward_variation_undoes_the_inverse_one(mix):
    """d a from the d tau that belongs to it."""
    mechanism, q, v, a = drawn(mix, 7)
    dq, dv, da_ = np.random.default_rng(2).normal(size=(3, mechanism.nv))
    _, d = algorithms.inverse_dynamics_variation(mechanism, q, v, a, dq, dv, da_)
    found = algorithms.forward_dynamics_variation(mechanism, q, v, a, dq, dv, d.tau)
    assert difference(found, da_) < 1e-9  # times the condition of the inertia matrix


def test_kernels_of_variations_are_products_with_the_derivatives():
    arm = random_mechanism(
        np.random.default_rng(1), 3, kinds=["revolute", "spherical", "prismatic"], drives=True, massless=0
    )
    dyn = da.Dynamics(arm, include=["damping", "armature"])
    q, v, tau = arm.random_state(np.random.default_rng(2), (3,))
    dq, dv, dx = np.random.default_rng(3).normal(size=(3, 3, arm.nv))
    value, change = dyn.inverse_dynamics_variation(q, v, tau, dq, dv, dx)
    _, D, V, P = dyn.sensitivities(q, v, tau)
    expected = sum(np.einsum("bij,bj->bi", M, d) for M, d in ((D, dx), (V, dv), (P, dq)))
    np.testing.assert_allclose(value, dyn.inverse_dynamics(q, v, tau), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(change, expected, rtol=1e-9, atol=1e-9)
    a, da_ = dyn.forward_dynamics_variation(q, v, tau, dq, dv, dx)
    slopes = dyn.forward_dynamics_derivatives(q, v, tau)
    expected = sum(np.einsum("bij,bj->bi", M, d) for M, d in zip(slopes, (dq, dv, dx)))
    np.testing.assert_allclose(a, dyn.forward_dynamics(q, v, tau), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(da_, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


def test_a_variation_costs_a_few_evaluations_and_grows_like_the_arm():
    """O(n): every further joint costs the same, where all derivatives cost more the longer the arm is."""

    def count(n, quantity):
        return (
            da.Dynamics(random_mechanism(0, n, kinds=["revolute"], branching=0, massless=0)).cost(quantity).operations
        )

    for quantity in ("inverse_dynamics", "forward_dynamics"):
        three, six, nine = (count(n, f"{quantity}_variation") for n in (3, 6, 9))
        assert nine - six < 1.2 * (six - three)  # random twists and axes differ a little in cost
        assert nine < 4 * count(9, quantity)


def test_variations_under_constraints_and_force_elements():
    """Products with the derivatives of constrained forward dynamics, and of a spring's pull."""
    dyn = da.Dynamics(da.load("four_bar", parameters="default"), reference=[1.0, -0.7, 1.6])
    q = dyn.assemble([1.0, -0.7, 1.6])
    v, tau, dq, dv, dtau = np.random.default_rng(1).normal(size=(5, 3))
    a, change = dyn.forward_dynamics_variation(q, v, tau, dq, dv, dtau)
    by_q, by_v, by_tau = dyn.forward_dynamics_derivatives(q, v, tau)
    np.testing.assert_allclose(a, dyn.forward_dynamics(q, v, tau), rtol=1e-9)
    np.testing.assert_allclose(change, by_q @ dq + by_v @ dv + by_tau @ dtau, rtol=1e-8)
    cart = da.load("cart_pole", parameters="default")
    cart = cart.replace(forces=(da.Force("coil", "joint-spring", cart.joints[0].name, stiffness=3.0),))
    dyn = da.Dynamics(cart)
    q, v, a, dq, dv, da_ = np.random.default_rng(2).normal(size=(6, 2))
    tau, change = dyn.inverse_dynamics_variation(q, v, a, dq, dv, da_)
    by_q, by_v = dyn.inverse_dynamics_derivatives(q, v, a)
    np.testing.assert_allclose(tau, dyn.inverse_dynamics(q, v, a), rtol=1e-12)
    np.testing.assert_allclose(change, by_q @ dq + by_v @ dv + dyn.mass_matrix(q) @ da_, rtol=1e-10)
