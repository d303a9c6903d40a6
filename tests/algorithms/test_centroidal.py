"""Momentum about the centre of mass: its matrix, its rate, the locked inertia.

Tolerance: complex steps lose nothing; 1e-11 of the largest entry or of one.
"""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import MIXES, along, difference, drawn, position_rate, seeds
from hypothesis import given

import dalembert as da
from dalembert.algorithms.centroidal import (
    centroidal,
    centroidal_matrix_rate,
    centroidal_momentum,
    generalised_momentum,
)
from dalembert.algorithms.energy import kinetic_energy, momentum
from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.errors import ArgumentError
from dalembert.kinematics import center_of_mass

MOVING = [mix for mix in MIXES if mix != "all"]
"""With all kinds a tree may consist of fixed joints and have no moving mass."""


@pytest.mark.parametrize("mix", MOVING)
@given(seed=seeds)
def test_momentum_and_its_rate(mix, seed):
    mechanism, q, v, a = drawn(mix, seed)
    if not mechanism.nv:
        return
    found = centroidal(mechanism, q, v)
    linear, angular = momentum(mechanism.tree, q, v)
    h = np.concatenate([linear, angular - np.cross(found.center, linear)])
    assert difference(found.matrix @ v, h, 1.0) < 1e-11
    assert difference(centroidal_momentum(mechanism, q, v), h, 1.0) < 1e-11
    np.testing.assert_allclose(found.center, center_of_mass(mechanism, q), atol=1e-12)
    qd = position_rate(mechanism, q, v)
    rate = along(lambda t: centroidal_momentum(mechanism, q + t * qd, v + t * a), np.array(0.0), np.array(1.0))
    assert difference(found.matrix @ a + found.bias, rate, np.abs(h).max(initial=1)) < 1e-11
    velocity = along(lambda q: center_of_mass(mechanism, q), q, qd)
    assert difference(found.mass * velocity, linear, 1.0) < 1e-11


@pytest.mark.parametrize("mix", MOVING)
@given(seed=seeds)
def test_the_rate_of_the_matrix(mix, seed):
    """By complex step along the motion; and Adot v is the bias."""
    mechanism, q, v, _ = drawn(mix, seed)
    if not mechanism.nv:
        return
    found = centroidal_matrix_rate(mechanism, q, v)
    scale = centroidal(mechanism, q, v).mass
    rate = along(lambda x: centroidal(mechanism, x, v).matrix, q, position_rate(mechanism, q, v))
    assert difference(found, rate, scale) < 1e-11
    assert difference(found @ v, centroidal(mechanism, q, v).bias, scale) < 1e-11


@pytest.mark.parametrize("mix", ["revolute", "spherical", "floating", "mimic"])
@given(seed=seeds)
def test_generalised_momentum(mix, seed):
    mechanism, q, v, _ = drawn(mix, seed)
    p = generalised_momentum(mechanism, q, v)
    assert difference(p, mass_matrix(mechanism, q) @ v, 1.0) < 1e-11
    assert abs(p @ v / 2 - kinetic_energy(mechanism.tree, q, v)) <= 1e-11 * max(p @ v, 1)


@given(seed=seeds)
def test_a_floating_mechanism_at_rest_inside_is_one_rigid_body(seed):
    """With only the base moving A_G is that of a rigid body with the locked inertia."""
    mechanism, q, v, _ = drawn("floating", seed)
    v[6:] = 0
    found = centroidal(mechanism, q, v)
    R = da.algorithms.pose(mechanism, q, mechanism.bodies[0].name).rotation
    w = R @ v[3:6]
    linear, angular = np.split(found.matrix @ v, 2)
    assert difference(angular, found.inertia @ w, 1.0) < 1e-11
    energy = linear @ linear / found.mass / 2 + w @ found.inertia @ w / 2
    T = kinetic_energy(mechanism.tree, q, v)
    assert abs(energy - T) <= 1e-11 * max(T, 1)
    M = mass_matrix(mechanism, q)[:6, :6]
    assert abs(np.trace(M[:3, :3]) / 3 - found.mass) <= 1e-11 * found.mass


def test_no_mass_no_centre():
    light = da.Mechanism("light", [da.Body("a")], [da.Joint("j", "revolute", "world", "a")], strict=False)
    with pytest.raises(ArgumentError, match="no moving mass"):
        centroidal(light, [0.0], [0.0])
