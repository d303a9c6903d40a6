"""Augmented and generalized links against sums over bodies, and against derivatives along the motion."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from algorithms.algorithm_cases import MIXES, along, difference, drawn, position_rate
from dalembert import algorithms
from dalembert.kinematics import link_poses

EXACT = 1e-11
"""Sums of some hundred terms, and complex steps of them, relative to the largest."""


@pytest.mark.parametrize("mix", MIXES)
def test_generalized_links_are_sums_over_what_is_beyond(mix):
    mechanism, q, _, _ = drawn(mix, 5)
    tree, found = mechanism.tree, algorithms.link_moments(mechanism, q)
    places = link_poses(tree, q)
    for i in range(len(tree.links)):
        mass, U, E = 0.0, np.zeros(3), np.zeros((3, 3))
        for k, body in enumerate(tree.links):
            if i not in tree.ancestors[k]:
                continue
            R = places[i].rotation.T @ places[k].rotation
            s = places[i].rotation.T @ (places[k].translation - places[i].translation)
            h, m = R @ body.moments.first, body.moments.mass
            J = R @ body.moments.second @ R.T + np.outer(h, s) + np.outer(s, h) + m * np.outer(s, s)
            mass, U, E = mass + m, U + h + m * s, E + np.trace(J) * np.eye(3) - J
        assert difference([found.mass[i]], [mass], 1.0) < EXACT
        assert difference(found.U[i], U, 1.0) < EXACT and difference(found.E[i], E, 1.0) < EXACT


@pytest.mark.parametrize("mix", ["revolute-prismatic", "all"])
def test_rates_of_first_moments_are_derivatives_along_the_motion(mix):
    """In world axes: Udot = d/dt U by complex step; Uddot likewise, by the chain rule through q and v."""
    mechanism, q, v, a = drawn(mix, 8)
    found = algorithms.first_moment_rates(mechanism, q, v, a)
    rate, tree = position_rate(mechanism, q, v), mechanism.tree

    def in_world(name, i, q, v):
        moments = algorithms.first_moment_rates(mechanism, q, v, 0 * v)
        return link_poses(tree, q)[i].rotate(getattr(moments, name)[i])

    for i in range(len(tree.links)):
        first = along(lambda x, i=i: in_world("U", i, x, v), q, rate)
        second = along(lambda x, i=i: in_world("Ud", i, x, v), q, rate)
        second = second + along(lambda x, i=i: in_world("Ud", i, q, x), v, a)
        R = link_poses(tree, q)[i].rotation
        assert difference(R @ found.Ud[i], first, 1.0) < EXACT
        assert difference(R @ found.Udd[i], second, 1.0) < EXACT


def test_the_force_at_a_joint_is_mass_times_acceleration_and_uddot():
    """Lemma 5.2; and both come as a kernel."""
    mechanism, q, v, a = drawn("revolute-prismatic", 4)
    moments, x = algorithms.link_moments(mechanism, q), algorithms.link_quantities(mechanism, q, v, a)
    for m, sdd, Udd, f in zip(moments.mass, x.sdd, x.Udd, x.f):
        assert difference(m * sdd + Udd, f, 1.0) < EXACT
    U, Ud, Udd, mu, E = da.Dynamics(mechanism).generalized_links(q, v, a)
    np.testing.assert_allclose(U, moments.U, atol=1e-12)
    np.testing.assert_allclose(E, moments.E, atol=1e-12)
    rates = algorithms.first_moment_rates(mechanism, q, v, a)
    np.testing.assert_allclose(Ud, rates.Ud, atol=1e-11)
    np.testing.assert_allclose(Udd, rates.Udd, atol=1e-11)
    np.testing.assert_allclose(mu, x.mu, atol=1e-11)
