"""Algorithms that are limited by their nature refuse in a sentence: which joint, why, and what to use instead."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.algorithms import forward_dynamics, inverse_dynamics, mass_matrix, mass_matrix_inverse
from dalembert.algorithms.economy import regroup
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.dynamics import QUANTITIES
from dalembert.errors import UnsupportedError
from dalembert.model import Mimic
from random_mechanisms import ALL_KINDS, random_mechanism

LIMITS = {
    ("inverse_dynamics", "uicker-kahn"),
    ("mass_matrix", "operator-factors"),
    ("forward_dynamics", "articulated-body"),
}
"""Of all algorithms by name, those that do not take every mechanism."""


def free_body_state():
    body = random_mechanism(3, 2, floating=True, kinds=["revolute"])
    return body, *body.random_state(np.random.default_rng(0))


def mimics():
    arm = random_mechanism(4, 3, kinds=["revolute"], branching=0)
    first, second, third = arm.joints
    return arm.replace(joints=(first, second, third.replace(mimic=Mimic(second.name, 2.0))))


def test_quaternions():
    body, q, v, a = free_body_state()
    with pytest.raises(UnsupportedError, match=r"'j1' turns by a quaternion.* free joints.* use algorithm='waters'"):
        inverse_dynamics(body, q, v, a, algorithm="uicker-kahn")
    np.testing.assert_allclose(
        inverse_dynamics(body, q, v, a, algorithm="waters"), inverse_dynamics(body, q, v, a), rtol=1e-9, atol=1e-9
    )


def test_mimic_joints():
    arm = mimics()
    q, v, tau = arm.random_state(np.random.default_rng(0))
    both = "needs independent joints, but joint 'j3' and joint 'j2' share one coordinate"
    with pytest.raises(UnsupportedError, match=f"articulated-body {both}.* use algorithm='factor-and-solve'"):
        forward_dynamics(arm, q, v, tau, algorithm="articulated-body")
    with pytest.raises(UnsupportedError, match=f"operator-factors {both}.* use algorithm='two-sided'"):
        mass_matrix(arm, q, algorithm="operator-factors")
    with pytest.raises(UnsupportedError, match="for the inverse the kernel mass_matrix_inverse"):
        mass_matrix_inverse(arm, q)
    inverse = da.Dynamics(arm).mass_matrix_inverse(q)
    np.testing.assert_allclose(inverse @ mass_matrix(arm, q), np.eye(arm.nv), atol=1e-9)


def test_first_moments_without_mass():
    arm = random_mechanism(4, 2, kinds=["revolute"], massless=0)
    with pytest.raises(UnsupportedError, match=r"link 'b1' of joint 'j1' .* use algorithm='generalized-links'"):
        INERTIA_MATRIX["walker-orin"](regroup(arm.tree), np.zeros(2))


@pytest.mark.parametrize("kind", [k for k in ALL_KINDS if k != "fixed"])
def test_all_others_take_every_joint(kind):
    """Also on a free base and with mimic joints."""
    mechanism = random_mechanism(7, 2, kinds=[kind], floating=True)
    states = [(mechanism, *mechanism.random_state(np.random.default_rng(1)))]
    if kind == "prismatic":
        states.append((mimics(), *mimics().random_state(np.random.default_rng(1))))
    functions = {
        "inverse_dynamics": inverse_dynamics, "forward_dynamics": forward_dynamics, "mass_matrix": mass_matrix
    }  # fmt: skip
    for m, q, v, a in states:
        for quantity, function in functions.items():
            for name in QUANTITIES[quantity].algorithms:
                if (quantity, name) in LIMITS:
                    continue
                state = (q,) if quantity == "mass_matrix" else (q, v, a)
                found = function(m, *state, algorithm=name)
                assert np.isfinite(np.asarray(found, dtype=float)).all()
