"""Weight from first moments is inverse dynamics at rest, with what no joint feels left out.

Tolerance: sums of a few dozen terms, 1e-12 of the largest force.
"""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import MIXES, difference, drawn, seeds
from hypothesis import given

import dalembert as da
from dalembert.algorithms.inverse_dynamics.newton_euler import newton_euler
from dalembert.algorithms.weight import weight


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_it_is_inverse_dynamics_at_rest(mix, seed):
    mechanism, q, v, _ = drawn(mix, seed)
    expected = newton_euler(mechanism.tree, q, 0 * v, 0 * v)
    scale = mechanism.mass * np.linalg.norm(mechanism.gravity)
    assert difference(weight(mechanism.tree, q), expected, scale) < 1e-12


@pytest.mark.parametrize("name", ["rrr", "demo_arm", "puma560"])
def test_a_vertical_first_joint_carries_nothing(name):
    """Not even rounding, and no operation is spent on it."""
    mechanism = da.load(name)
    q, *_ = mechanism.random_state(np.random.default_rng(0), batch=(20,))
    np.testing.assert_array_equal(da.Dynamics(mechanism).gravity(q)[:, 0], 0)
