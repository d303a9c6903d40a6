"""Eight inverse dynamics algorithms are one function; external wrenches are what virtual work says they are.

Tolerance: all of them sum a few hundred products of numbers of order one to a hundred; on trees of at most six bodies
1e-11 of the largest force leaves two digits to spare (1e-13 is typical).
"""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import MIXES, difference, drawn, seeds
from hypothesis import given

from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS, inverse_dynamics
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.kinematics import jacobian
from random_mechanisms import random_mechanism


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_all_algorithms_agree(mix, seed):
    mechanism, q, v, a = drawn(mix, seed, bodies=5)
    reference = inverse_dynamics(mechanism, q, v, a, algorithm="kane-silver")
    spherical = any(link.kind == "spherical" for link in mechanism.tree.links)
    for name in INVERSE_DYNAMICS:
        if name == "uicker-kahn" and spherical:
            with pytest.raises(UnsupportedError, match="spherical"):
                inverse_dynamics(mechanism, q, v, a, algorithm=name)
            continue
        assert difference(inverse_dynamics(mechanism, q, v, a, algorithm=name), reference, 1.0) < 1e-11, name


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_wrenches_do_the_work_of_their_jacobians(mix, seed):
    """tau(with wrenches) = tau - sum of J^T [f; m], on a frame, on bodies, twice on one body, on the world."""
    mechanism, q, v, a = drawn(mix, seed, bodies=4)
    rng = np.random.default_rng(seed)
    names = ["tool", mechanism.bodies[0].name, mechanism.bodies[-1].name, "world"]
    wrenches = {name: rng.normal(size=6) * 10 for name in names}
    expected = inverse_dynamics(mechanism, q, v, a)
    for name, wrench in wrenches.items():
        angular, linear = jacobian(mechanism, q, name, axes="body")
        expected = expected - linear.T @ wrench[:3] - angular.T @ wrench[3:]
    spherical = any(link.kind == "spherical" for link in mechanism.tree.links)
    for algorithm in INVERSE_DYNAMICS:
        if not (algorithm == "uicker-kahn" and spherical):
            found = inverse_dynamics(mechanism, q, v, a, wrenches=wrenches, algorithm=algorithm)
            assert difference(found, expected, 1.0) < 1e-11, algorithm


@given(seed=seeds)
def test_forces_are_affine_in_acceleration_and_quadratic_in_velocity(seed):
    mechanism, q, v, a = drawn("all", seed)
    still = np.zeros(mechanism.nv)

    def tau(v, a):
        return inverse_dynamics(mechanism, q, v, a)

    weight, bias = tau(still, still), tau(v, still)
    scale = np.abs(tau(2 * v, 2 * a)).max(initial=1)
    assert difference(tau(v, 2 * a) - bias, 2 * (tau(v, a) - bias), scale) < 1e-12
    assert difference(tau(-2 * v, still) - weight, 4 * (bias - weight), scale) < 1e-12


def test_a_free_fall_needs_no_forces():
    mechanism = random_mechanism(3, 5, kinds=["revolute", "spherical", "prismatic"], floating=True)
    rng = np.random.default_rng(0)
    q, _, _ = mechanism.random_state(rng)
    a = np.zeros(mechanism.nv)
    a[:3] = mechanism.joints[0].placement.rotation.T @ mechanism.gravity
    tau = inverse_dynamics(mechanism, q, np.zeros(mechanism.nv), a)
    assert np.abs(tau).max() < 1e-11 * 9.81 * mechanism.mass


def test_wrong_arguments_are_named():
    mechanism = random_mechanism(0, 3, kinds=["revolute"])
    q = v = a = np.zeros(3)
    with pytest.raises(ArgumentError, match=r"v has shape \(2,\).*nv = 3"):
        inverse_dynamics(mechanism, q, v[:2], a)
    with pytest.raises(ArgumentError, match="augmented-links"):
        inverse_dynamics(mechanism, q, v, a, algorithm="rnea")
    with pytest.raises(ArgumentError, match="expected six numbers"):
        inverse_dynamics(mechanism, q, v, a, wrenches={"tool": [1, 2, 3]})
    with pytest.raises(ArgumentError, match=r"no frame 'tol'.*'tool'"):
        inverse_dynamics(mechanism, q, v, a, wrenches={"tol": np.zeros(6)})
