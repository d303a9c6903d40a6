"""Energy, momentum and power: what the forces do is where the energy comes from.

Tolerance: 1e-11 of the sizes of the terms that are compared.
"""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import MIXES, along, by_position, difference, drawn, position_rate, seeds
from hypothesis import given

from dalembert import algorithms
from dalembert.algorithms.energy import kinetic_energy, momentum, potential_energy
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.algorithms.joint_forces import joint_forces
from dalembert.errors import ArgumentError
from dalembert.kinematics import center_of_mass, motion
from dalembert.model import Body, Inertia, Joint, Mechanism, Mimic
from random_mechanisms import random_mechanism


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_power_balance(mix, seed):
    """d(T + U)/dt along a motion equals the power of the generalised forces."""
    mechanism, q, v, a = drawn(mix, seed)
    tree, qd = mechanism.tree, position_rate(mechanism, q, v)

    def energy(step):  # a complex step along the motion q(t), v(t)
        at, moving = q + step * qd, v + step * a
        return kinetic_energy(tree, at, moving) + potential_energy(tree, at)

    rate = along(energy, np.array(0.0), np.array(1.0))
    tau = inverse_dynamics(mechanism, q, v, a)
    assert abs(rate - tau @ v) <= 1e-11 * (np.abs(tau) @ np.abs(v) + 1)


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_energies_of_a_mechanism_are_public(mix, seed):
    """T = v.M v / 2 and U = -m g.c, by the functions of one state that everybody can call, on complex numbers too."""
    mechanism, q, v, _ = drawn(mix, seed)
    M = algorithms.mass_matrix(mechanism, q)
    half = v @ M @ v / 2
    assert abs(algorithms.kinetic_energy(mechanism, q, v) - half) <= 1e-11 * (abs(half) + 1)
    assert abs(algorithms.kinetic_energy(mechanism, q + 0j, v) - half) <= 1e-11 * (abs(half) + 1)
    moving = [link.moments.mass for link in mechanism.tree.links]
    if sum(moving):
        weight = sum(moving) * mechanism.gravity
        height = weight @ algorithms.center_of_mass(mechanism, q)
        assert abs(algorithms.potential_energy(mechanism, q) + height) <= 1e-11 * (abs(height) + 1)


@pytest.mark.parametrize("wrong", [[0.0, "x"], ["a", "b"], [None, 0.0], np.array(["a", "b"])])
def test_states_are_numbers(wrong):
    mechanism = random_mechanism(0, 2, kinds=["revolute"])
    with pytest.raises(ArgumentError, match="q must hold numbers or symbols"):
        algorithms.potential_energy(mechanism, wrong)
    with pytest.raises(ArgumentError, match="mechanism: expected a Mechanism"):
        algorithms.potential_energy("arm", [0.0, 0.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_weight_is_the_gradient_of_potential_energy(mix, seed):
    mechanism, q, _, _ = drawn(mix, seed)
    if not mechanism.nv:
        return
    still = np.zeros(mechanism.nv)
    slope = by_position(mechanism, lambda q: np.asarray(potential_energy(mechanism.tree, q)), q)
    assert difference(inverse_dynamics(mechanism, q, still, still), slope, 1.0) < 1e-11


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_momentum_is_that_of_all_bodies(mix, seed):
    mechanism, q, v, _ = drawn(mix, seed)
    linear = angular = np.zeros(3)
    moving = [b for b in mechanism.bodies if mechanism.tree.carriers[b.name][0] >= 0]
    for body in moving:
        matter = body.inertia
        if matter.is_zero:
            continue
        found = motion(mechanism, q, v, np.zeros(mechanism.nv), body.name, point=matter.center)
        R, p = found.pose.rotation, found.pose.apply(matter.center)
        linear = linear + matter.mass * found.linear_velocity
        spin = R @ matter.tensor @ R.T @ found.angular_velocity
        angular = angular + spin + np.cross(p, matter.mass * found.linear_velocity)
    ours = momentum(mechanism.tree, q, v)
    assert difference(ours[0], linear, 1.0) < 1e-11
    assert difference(ours[1], angular, 1.0) < 1e-11
    mass = sum(float(b.inertia.mass) for b in moving)
    if mass:
        rate = along(lambda q: center_of_mass(mechanism, q), q, position_rate(mechanism, q, v))
        assert difference(mass * rate, linear, 1.0) < 1e-11


def test_only_weight_changes_the_momentum_of_a_floating_body():
    mechanism = random_mechanism(7, 5, kinds=["revolute", "prismatic"], floating=True)
    rng = np.random.default_rng(1)
    q, v, a = mechanism.random_state(rng)
    tau = inverse_dynamics(mechanism, q, v, a)
    qd = position_rate(mechanism, q, v)
    rate = along(lambda t: momentum(mechanism.tree, q + t * qd, v + t * a)[0], np.array(0.0), np.array(1.0))
    base = mechanism.joints[0].placement.rotation
    mass = sum(link.moments.mass for link in mechanism.tree.links)
    assert difference(rate - mass * mechanism.gravity, base @ tau[:3]) < 1e-12


def test_joint_forces_are_named_and_signed():
    matter = Inertia(1.0, [0.1, 0, 0], np.eye(3) * 0.1)
    lead = Joint("lead", "revolute", "world", "a", damping=0.5, friction=0.25, armature=2.0)
    follower = Joint("f", "revolute", "a", "b", damping=1.0, friction=1.0, armature=1.0, mimic=Mimic("lead", -3, 0))
    slide = Joint("slide", "prismatic", "b", "c", damping=4.0)
    mechanism = Mechanism("m", [Body(n, matter) for n in "abc"], [lead, follower, slide])
    v, a = np.array([2.0, -1.0]), np.array([1.0, 1.0])
    everything = joint_forces(mechanism, ("armature", "damping", "friction"))
    np.testing.assert_allclose(joint_forces(mechanism, ("damping",)).of(v, a), [9.5 * 2, -4])
    np.testing.assert_allclose(joint_forces(mechanism, ("armature",)).of(v, a), [11, 0])
    np.testing.assert_allclose(joint_forces(mechanism, ()).of(v, a), [0, 0])
    for sign in (1, -1):  # friction resists: its power is lost whatever the direction
        friction = joint_forces(mechanism, ("friction",)).of(sign * v, a)
        np.testing.assert_allclose(friction, [sign * (0.25 + 3 * 1.0), 0])
    np.testing.assert_allclose(everything.of(v, a), [19 + 3.25 + 11, -4])
    with pytest.raises(ArgumentError, match=r"stiction.*armature, damping, friction"):
        joint_forces(mechanism, ("stiction",))
