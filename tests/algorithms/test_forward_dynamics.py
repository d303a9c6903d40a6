"""Forward dynamics inverts inverse dynamics, by both algorithms, with wrenches and rotor inertia.

Tolerance: going from a to tau and back to a loses what the condition number of the inertia matrix takes; the way
round, the forces of the accelerations found, is judged against the size of the forces and of M a.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from algorithm_cases import MIXES, difference, drawn, seeds
from hypothesis import given

import dalembert as da
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS, forward_dynamics
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX, mass_matrix, mass_matrix_inverse
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.algorithms.selection import select_forward_dynamics
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from random_mechanisms import random_mechanism


def suited(mechanism):
    return [name for name in FORWARD_DYNAMICS if name != "articulated-body" or not mechanism.tree.coupled]


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_forward_dynamics_inverts_inverse_dynamics(mix, seed):
    mechanism, q, v, a = drawn(mix, seed)
    rng = np.random.default_rng(seed)
    wrenches = {"tool": rng.normal(size=6) * 10, mechanism.bodies[0].name: rng.normal(size=6) * 10}
    tau = inverse_dynamics(mechanism, q, v, a, wrenches=wrenches)
    M = mass_matrix(mechanism, q)
    condition = max(float(np.linalg.cond(M)), 1.0) if mechanism.nv else 1.0
    for name in suited(mechanism):
        found = forward_dynamics(mechanism, q, v, tau, wrenches=wrenches, algorithm=name)
        size = np.abs(tau).max(initial=1) / max(np.abs(M).max(initial=0), 1e-300)
        assert difference(found, a, size) < 1e-14 * condition + 1e-12, name
        back = inverse_dynamics(mechanism, q, v, found, wrenches=wrenches)
        scale = np.abs(tau).max(initial=1) + np.abs(M).max(initial=0) * np.abs(found).max(initial=0)
        assert difference(back, tau, scale) < 1e-11, name


@pytest.mark.parametrize("mix", ["revolute", "spherical", "floating", "all"])
@given(seed=seeds)
def test_rotor_inertia_adds_to_the_diagonal(mix, seed):
    mechanism, q, v, _ = drawn(mix, seed)
    rng = np.random.default_rng(seed)
    armature, tau = rng.uniform(0.5, 2, size=mechanism.nv), rng.normal(size=mechanism.nv)
    for name in suited(mechanism):
        a = FORWARD_DYNAMICS[name](mechanism.tree, q, v, tau, None, armature)
        back = inverse_dynamics(mechanism, q, v, a) + armature * a
        M = mass_matrix(mechanism, q)
        scale = np.abs(M).max(initial=1) * (np.abs(a).max(initial=0) + np.abs(v).max(initial=0) ** 2 + 10)
        assert difference(back, tau, scale) < 1e-12, name


def test_mimic_joints_are_refused_by_articulated_bodies_and_the_choice_says_why():
    mechanism = random_mechanism(5, 5, kinds=["revolute"], mimic=1.0)
    q, v, a = mechanism.random_state(np.random.default_rng(0))
    with pytest.raises(UnsupportedError, match="factor-and-solve"):
        forward_dynamics(mechanism, q, v, a, algorithm="articulated-body")
    name, reason = select_forward_dynamics(mechanism.tree)
    assert name == "factor-and-solve" and "mimic" in reason


def test_a_short_arm_is_factored_and_a_long_one_is_not():
    for n, expected in ((4, "factor-and-solve"), (40, "articulated-body")):
        chain = random_mechanism(0, n, kinds=["revolute"], branching=0.0)
        name, reason = select_forward_dynamics(chain.tree)
        assert name == expected and "operations against" in reason


def test_an_unknown_algorithm_is_named():
    mechanism = random_mechanism(0, 2, kinds=["revolute"])
    with pytest.raises(ArgumentError, match="factor-and-solve, articulated-body"):
        forward_dynamics(mechanism, [0, 0], [0, 0], [0, 0], algorithm="aba")


def rotor(**drive) -> da.Mechanism:
    """A pendulum that carries a joint beyond which there is no mass."""
    joints = [
        da.Joint("swing", "revolute", "world", "rod", axis=[0, 1, 0]),
        da.Joint("spin", "revolute", "rod", "tip", axis=[0, 1, 0], **drive),
    ]
    return da.Mechanism("rotor", [da.Body("rod", da.Inertia.sphere(1, 0.1)), da.Body("tip")], joints, strict=False)


@pytest.mark.parametrize("name", FORWARD_DYNAMICS)
def test_a_joint_that_moves_no_mass_has_no_acceleration(name):
    with pytest.raises(SingularityError, match="singular here"):
        forward_dynamics(rotor(), [0.1, 0.2], [1, 2], [1, 2], algorithm=name)
    zero = sympy.Integer(0)  # exact constants are told what floats are told
    with pytest.raises(SingularityError, match="singular here"):
        forward_dynamics(rotor(), [zero] * 2, [zero] * 2, [zero] * 2, algorithm=name)
    with pytest.raises(SingularityError, match="'tip' moves no mass"):
        mass_matrix_inverse(rotor(), [0.1, 0.2])


@pytest.mark.parametrize("name", INERTIA_MATRIX)
def test_a_rotor_beyond_which_there_is_no_mass_has_an_inertia_matrix(name):
    M = da.Dynamics(rotor(armature=0.1), include=["armature"]).kernel("mass_matrix", algorithm=name)([0.1, 0.2])
    assert np.allclose(M, [[0.004, 0], [0, 0.1]], rtol=1e-12)


@pytest.mark.parametrize("size", [0.1, 0.01, 0.001])
def test_a_small_body_far_from_its_frame_costs_digits_with_the_condition_only(size):
    """As in exports from CAD; an explicit inverse on the way would cost the square of the condition."""
    tensor = np.diag([1.0, 1.2, 1.5]) * size**2
    body = da.Body("body", da.Inertia(1.0, [0.4, 0.1, -0.2], tensor))
    m = da.Mechanism("far", [body], [da.Joint("free", "free", "world", "body")])
    q, v, a = m.random_state(np.random.default_rng(0))
    tau = inverse_dynamics(m, q, v, a)
    M = mass_matrix(m, q)
    for name in FORWARD_DYNAMICS:
        found = forward_dynamics(m, q, v, tau, algorithm=name)
        # Forces are known to their rounding, which the matrix magnifies by its condition at most.
        allowed = 10 * np.finfo(float).eps * np.linalg.cond(M) * np.linalg.norm(a)
        assert np.linalg.norm(found - a) <= allowed, name
