"""Parsa's Coriolis matrix: C v = h, Mdot - 2 C skew, and different from the Christoffel matrix."""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import MIXES, along, difference, drawn, position_rate, seeds
from hypothesis import given

from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.algorithms.parsa_coriolis import parsa_coriolis
from dalembert.algorithms.sensitivity import coriolis_matrix
from random_mechanisms import random_mechanism


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_forces_and_skew_symmetry(mix, seed):
    mechanism, q, v, _ = drawn(mix, seed)
    still = np.zeros(mechanism.nv)
    bias = inverse_dynamics(mechanism, q, v, still)
    C = parsa_coriolis(mechanism, q, v)
    scale = np.abs(bias).max(initial=1)
    assert difference(C @ v, bias - inverse_dynamics(mechanism, q, still, still), scale) < 1e-11
    rate = along(lambda q: mass_matrix(mechanism, q), q, position_rate(mechanism, q, v))
    skew = rate - 2 * C
    assert difference(skew, -skew.T, np.abs(rate).max(initial=1)) < 1e-11


def test_it_is_not_the_christoffel_matrix():
    mechanism = random_mechanism(2, 4, kinds=["revolute"], branching=0)
    q, v, _ = mechanism.random_state(np.random.default_rng(0))
    C, christoffel = parsa_coriolis(mechanism, q, v), coriolis_matrix(mechanism.tree, q, v)
    assert difference(C, christoffel) > 1e-3
    extra = C - christoffel
    assert difference(extra, -extra.T) < 1e-12 and np.abs(extra @ v).max() < 1e-12 * np.abs(C @ v).max()
