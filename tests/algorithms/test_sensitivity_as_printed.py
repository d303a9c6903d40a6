"""Algorithms 7.1 and 7.2 as printed give the sensitivities of the propagation form, R and P joints, trees, loads."""

from __future__ import annotations

import numpy as np
import pytest

from algorithms.algorithm_cases import difference, drawn
from dalembert.algorithms.loads import loads_on_links
from dalembert.algorithms.sensitivity import sensitivity
from dalembert.algorithms.sensitivity_as_printed import sensitivity_as_printed
from dalembert.errors import UnsupportedError
from random_mechanisms import random_mechanism


@pytest.mark.parametrize("mix", ["revolute", "prismatic", "revolute-prismatic"])
@pytest.mark.parametrize("seed", range(6))
def test_as_printed_is_the_propagation_form(mix, seed):
    mechanism, q, v, a = drawn(mix, seed)
    loads = loads_on_links(mechanism, {"tool": np.random.default_rng(seed).normal(size=6)})
    printed = sensitivity_as_printed(mechanism.tree, q, v, a, loads)
    ours = sensitivity(mechanism.tree, q, v, a, loads)
    for name in ("tau", "D", "V", "P"):
        assert difference(getattr(printed, name), getattr(ours, name), 1.0) < 1e-11, name


def test_other_joints_are_refused_with_the_way_out():
    mechanism = random_mechanism(1, 2, kinds=["spherical"])
    q, v, a = mechanism.random_state(np.random.default_rng(1))
    with pytest.raises(UnsupportedError, match="sensitivities"):
        sensitivity_as_printed(mechanism.tree, q, v, a)
