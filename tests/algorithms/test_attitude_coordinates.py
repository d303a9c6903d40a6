"""Free and spherical joints in other attitude parameters: the same motion, with multipliers and without."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.algebra.attitude import DirectionCosines, EulerAngles, ModifiedRodrigues, Quaternion
from dalembert.dynamics import AttitudeCoordinates
from dalembert.errors import ArgumentError
from dalembert.kinematics import motion, poses
from random_mechanisms import random_mechanism

PARAMETERS = [DirectionCosines(), EulerAngles("ZXZ"), EulerAngles("321"), ModifiedRodrigues(), Quaternion()]


@pytest.fixture(scope="module")
def arm():
    mechanism = random_mechanism(5, 3, kinds=["spherical", "revolute"], floating=True, massless=0)
    names = [link.joint for link in mechanism.tree.links if link.kind == "spherical"]
    assert len(names) >= 2
    return mechanism, names, da.Dynamics(mechanism)


@pytest.mark.parametrize("attitude", PARAMETERS, ids=repr)
def test_rates_and_positions_belong_together(arm, attitude):
    """S Gamma = 1, Xi Gamma = 0, and poses move as velocities say (complex step through positions)."""
    mechanism, names, _ = arm
    coordinates = AttitudeCoordinates(mechanism, {names[0]: attitude, names[1]: ModifiedRodrigues()})
    q, v, _ = mechanism.random_state(np.random.default_rng(1))
    x = np.asarray(coordinates.coordinates(q), float)
    for name, place in poses(mechanism, coordinates.positions(x)).items():
        assert np.abs(place.homogeneous() - poses(mechanism, q)[name].homogeneous()).max() < 1e-13
    S, Gamma = np.asarray(coordinates.S(x), float), np.asarray(coordinates.Gamma(x), float)
    assert np.abs(S @ Gamma - np.eye(mechanism.nv)).max() < 1e-12
    assert np.abs(np.asarray(coordinates.constraints(x), float)).max(initial=0) < 1e-12
    assert np.abs(np.asarray(coordinates.Xi(x), float) @ Gamma).max(initial=0) < 1e-12
    xdot = np.asarray(coordinates.rate(x, v), float)
    assert np.abs(np.asarray(coordinates.velocity(x, xdot), float) - v).max() < 1e-12
    moved = coordinates.positions(x + 1e-30j * xdot)
    tip = mechanism.bodies[-1].name
    place = poses(mechanism, moved)[tip]
    found = motion(mechanism, q, v, 0 * v, tip)
    assert np.abs(np.imag(place.translation) / 1e-30 - found.linear_velocity).max() < 1e-11


@pytest.mark.parametrize("tied", [False, True], ids=["tree", "loop"])
@pytest.mark.parametrize("attitude", PARAMETERS, ids=repr)
def test_multipliers_and_quasi_velocities_give_the_same_accelerations(arm, attitude, tied):
    """Solving with multipliers in x gives v' = S x'' + S' x' of forward dynamics (FORBES)."""
    mechanism, names, dyn = arm
    coordinates = AttitudeCoordinates(mechanism, {names[0]: attitude})
    q, v, tau = mechanism.random_state(np.random.default_rng(2))
    if tied:
        rope = da.Constraint("rope", "distance", mechanism.bodies[-1].name, "world", value=0.7)
        swing = da.Constraint("swing", "velocity", function=lambda q, v, t: v[0] - v[1] + np.sin(2 * t))
        dyn = da.Dynamics(mechanism.replace(constraints=[rope, swing]), reference=q)
        q = dyn.assemble(q)
        v = dyn.project_velocity(q, v)
    x = np.asarray(coordinates.coordinates(q), float)
    xdot = np.asarray(coordinates.rate(x, v), float)
    M, f, Xi, gamma = coordinates.redundant_equations(dyn, x, xdot, tau)
    rows = len(Xi)
    assert rows == len(coordinates.Xi(x)) + len(dyn.rows)
    whole = np.block([[M, -Xi.T], [Xi, np.zeros((rows, rows))]])
    xdd = np.linalg.solve(whole, np.concatenate([f, gamma]))[: len(x)]
    Sdot = np.asarray(coordinates.S(x + 1e-30j * xdot), complex).imag / 1e-30
    vdot = np.asarray(coordinates.S(x), float) @ xdd + Sdot @ xdot
    np.testing.assert_allclose(vdot, dyn.forward_dynamics(q, v, tau), rtol=1e-8, atol=1e-8)


def test_joints_without_attitude_are_refused(arm):
    mechanism, _, _ = arm
    with pytest.raises(ArgumentError, match="no free or spherical joint"):
        AttitudeCoordinates(mechanism, {"elbow": Quaternion()})
    with pytest.raises(ArgumentError, match="numbers"):
        AttitudeCoordinates(mechanism, {}).positions([0.0])
