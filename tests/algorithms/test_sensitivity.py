"""D, V and P are the derivatives of inverse dynamics: against complex steps, on trees as given and in economical form.

Tolerance: complex steps lose nothing, so the differences are rounding errors of two different sums: 1e-10 of the
largest entry on trees of at most six bodies (1e-13 is typical).
"""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import MIXES, by_position, by_velocity, difference, drawn, position_rate, seeds
from hypothesis import given

from dalembert import algorithms
from dalembert.algorithms.economy import economical
from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.algorithms.loads import loads_on_links
from dalembert.algorithms.sensitivity import coriolis_matrix, sensitivity


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_derivatives_of_inverse_dynamics(mix, seed):
    mechanism, q, v, a = drawn(mix, seed)
    rng = np.random.default_rng(seed)
    wrenches = {"tool": rng.normal(size=6) * 10, mechanism.bodies[0].name: rng.normal(size=6) * 10}

    def tau(q, v, a):
        return inverse_dynamics(mechanism, q, v, a, wrenches=wrenches, algorithm="newton-euler")

    if not mechanism.nv:
        return
    expected = {
        "tau": tau(q, v, a),
        "D": by_velocity(lambda a: tau(q, v, a), a),
        "V": by_velocity(lambda v: tau(q, v, a), v),
        "P": by_position(mechanism, lambda q: tau(q, v, a), q),
    }
    lean = economical(mechanism.tree)
    for found in (
        algorithms.sensitivities(mechanism, q, v, a, wrenches=wrenches),
        sensitivity(lean, q, v, a, loads_on_links(mechanism, wrenches, lean)),
    ):
        for name, value in expected.items():
            assert difference(getattr(found, name), value, 1.0) < 1e-10, name


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_coriolis_matrix(mix, seed):
    """C v = h, and Mdot - 2 C is skew: also where velocities are no rates of coordinates."""
    mechanism, q, v, _ = drawn(mix, seed)
    still = np.zeros(mechanism.nv)
    h = inverse_dynamics(mechanism, q, v, still) - inverse_dynamics(mechanism, q, still, still)
    scale = np.abs(inverse_dynamics(mechanism, q, v, still)).max(initial=1)
    step = 1e-30
    rate = np.imag(mass_matrix(mechanism, q + 1j * step * position_rate(mechanism, q, v))) / step
    for tree in (mechanism.tree, economical(mechanism.tree)):
        C = coriolis_matrix(tree, q, v) if tree is not mechanism.tree else algorithms.coriolis_matrix(mechanism, q, v)
        assert difference(C @ v, h, scale) < 1e-11
        skew = rate - 2 * C
        assert difference(skew, -skew.T, np.abs(rate).max(initial=1)) < 1e-11
        assert difference(coriolis_matrix(tree, q, -2 * v), -2 * C, scale) < 1e-11


@pytest.mark.parametrize("mix", ["revolute", "prismatic", "revolute-prismatic", "helical", "mimic"])
@given(seed=seeds)
def test_half_of_V_is_the_christoffel_matrix(mix, seed):
    """With coordinates whose rates are the velocities: c_ij = sum of (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) v_k / 2."""
    mechanism, q, v, a = drawn(mix, seed, bodies=4)
    dM = by_position(mechanism, lambda q: mass_matrix(mechanism, q), q)
    symbols = (dM + dM.swapaxes(1, 2) - dM.transpose(2, 0, 1)) / 2
    found = sensitivity(mechanism.tree, q, v, a).V / 2
    assert difference(found, symbols @ v, np.abs(dM).max(initial=1)) < 1e-11
