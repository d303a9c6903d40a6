"""Cartesian dynamics: the same motion in other coordinates; singular and redundant arms.

Tolerance: products such as J^-T D J^-1 lose the square of the condition number of J, kept below 300, times that of D:
1e-14 times their product, and not less than 1e-10.
"""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import STEP, difference, position_rate
from hypothesis import assume, given
from hypothesis import strategies as st

from dalembert.algorithms.analytic_jacobian import analytic_jacobian, analytic_jacobian_rates, frame_coordinates
from dalembert.algorithms.cartesian import (
    cartesian_dynamics,
    cartesian_inverse_dynamics,
    cartesian_linearization,
)
from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, SingularityError
from dalembert.model import Body, Inertia, Joint, Mechanism
from random_mechanisms import random_mechanism

POINT = np.array([0.1, -0.2, 0.3])
CASES = {"ZYX": 6, "ZXZ": 6, "twist": 6, "position": 3}
"""Coordinates -> joints of an arm with a square Jacobian."""
seeds = st.integers(0, 2**32 - 1)


def arm(n: int, seed: int, coordinates: str) -> tuple[Mechanism, tuple[np.ndarray, ...], float]:
    """A chain, a state away from singularities, and the tolerance there."""
    mechanism = random_mechanism(seed, n, kinds=["revolute", "revolute", "prismatic"], branching=0, massless=0)
    state = mechanism.random_state(np.random.default_rng(seed))
    try:
        J = analytic_jacobian(mechanism, state[0], "tool", coordinates=coordinates, point=POINT)
    except SingularityError:
        assume(False)
    condition = np.linalg.cond(J)
    assume(condition < 300)
    return mechanism, state, max(1e-14 * condition**2 * np.linalg.cond(mass_matrix(mechanism, state[0])), 1e-10)


@pytest.mark.parametrize("coordinates", CASES)
@given(seed=seeds)
def test_equations_in_the_coordinates_of_a_frame(coordinates, seed):
    """(7.4.4), (7.4.5): with J^-1 formed by NumPy."""
    mechanism, (q, v, a), close = arm(CASES[coordinates], seed, coordinates)
    options = {"frame": "tool", "coordinates": coordinates, "point": POINT}
    rates = analytic_jacobian_rates(mechanism, q, v, a, **options)
    J, xdd = np.linalg.inv(rates.J), rates.J @ a + rates.Jd @ v
    D, tau, still = mass_matrix(mechanism, q), inverse_dynamics(mechanism, q, v, a), np.zeros(mechanism.nv)
    G = inverse_dynamics(mechanism, q, still, still)
    C = inverse_dynamics(mechanism, q, v, still) - G
    found = cartesian_dynamics(mechanism, q, v, **options)
    assert difference(found.inertia, J.T @ D @ J) < close
    assert difference(found.inverse, J) < close
    assert difference(found.gravity, J.T @ G, 1.0) < close
    scale = np.abs(J.T @ D @ J).max() * np.abs(rates.Jd @ v).max()
    assert difference(found.coriolis, J.T @ (C - D @ J @ rates.Jd @ v), scale) < close
    f = found.inertia @ xdd + found.coriolis + found.gravity
    assert difference(f, found.force(tau), scale) < close
    back = cartesian_inverse_dynamics(mechanism, q, v, xdd, **options)
    assert difference(back, tau, np.abs(D).max() * np.abs(a).max() * np.linalg.cond(rates.J)) < close


@pytest.mark.parametrize("coordinates", ["ZYX", "ZXZ", "position"])
@given(seed=seeds)
def test_linearisation_along_a_varied_motion(coordinates, seed):
    """(7.4.18): vary q, v, a; the variations of x, xd, xdd and of tau by complex step fit the three matrices."""
    mechanism, (q, v, a), close = arm(CASES[coordinates], seed, coordinates)
    options = {"frame": "tool", "coordinates": coordinates, "point": POINT}
    rng = np.random.default_rng(seed)
    dq, dv, da = rng.normal(size=(3, mechanism.nv))
    q2, v2, a2 = (x + 1j * STEP * d for x, d in ((q, position_rate(mechanism, q, dq)), (v, dv), (a, da)))
    rates = analytic_jacobian_rates(mechanism, q2, v2, a2, **options)
    dx = frame_coordinates(mechanism, q2, **options).imag / STEP
    dxd = (rates.J @ v2).imag / STEP
    dxdd = (rates.J @ a2 + rates.Jd @ v2).imag / STEP
    dtau = inverse_dynamics(mechanism, q2, v2, a2).imag / STEP
    D, V, P = cartesian_linearization(mechanism, q, v, a, **options)
    scale = sum(np.abs(X).max() * np.abs(x).max() for X, x in ((D, dxdd), (V, dxd), (P, dx)))
    assert difference(D @ dxdd + V @ dxd + P @ dx, dtau, scale) < close


@given(seed=seeds)
def test_redundant_arms(seed):
    """Seven joints: J J# = 1; a force f on the frame accelerates it by Dx^-1 f; J# is least in the metric of D."""
    mechanism, (q, v, _), close = arm(7, seed, "ZYX")
    found = cartesian_dynamics(mechanism, q, v, "tool", coordinates="ZYX", point=POINT)
    J, D = found.jacobian, mass_matrix(mechanism, q)
    assert difference(J @ found.inverse, np.eye(6)) < close
    assert difference(found.inertia @ (J @ np.linalg.solve(D, J.T)), np.eye(6)) < close
    null = np.eye(7) - found.inverse @ J
    assert difference(null.T @ D @ found.inverse, np.zeros((7, 6)), np.abs(D @ found.inverse).max()) < close


def test_singular_arms_are_refused_or_damped():
    """A planar arm stretched out cannot move along itself."""
    planar = random_mechanism(0, 3, kinds=["revolute"], branching=0, massless=0)
    place = planar.joints[0].placement
    straight = [j.replace(axis=[0, 0, 1], placement=place.identity()) for j in planar.joints]
    straight = [j.replace(placement=type(place)(np.eye(3), np.array([1.0, 0, 0]))) for j in straight]
    stretched = planar.replace(joints=straight, frames=())
    tip, q, v = stretched.bodies[-1].name, np.zeros(3), np.ones(3)
    with pytest.raises(SingularityError, match=r"condition number is [^;]*; pass damping > 0"):
        cartesian_dynamics(stretched, q, v, tip, coordinates="position")
    with pytest.raises(SingularityError, match=r"3 velocities, too few for 6 .*'position'"):
        cartesian_dynamics(stretched, q, v, tip, coordinates="ZYX")
    with pytest.raises(ArgumentError, match=r"damping = -0.1; it must be a finite number that is not negative"):
        cartesian_dynamics(stretched, q, v, tip, coordinates="position", damping=-0.1)
    assert np.isnan(cartesian_dynamics(stretched, q * np.nan, v, tip, coordinates="position").inertia).all()
    for damping in (1e-1, 1e-2):
        found = cartesian_dynamics(stretched, q, v, tip, coordinates="position", damping=damping)
        J, D = found.jacobian, mass_matrix(stretched, q)
        exact = np.linalg.inv(J @ np.linalg.solve(D, J.T) + damping**2 * np.eye(3))
        assert difference(found.inertia, exact) < 1e-9
        assert difference(found.inverse, np.linalg.solve(D, J.T) @ exact) < 1e-9
        assert np.linalg.eigvalsh(found.inertia).max() <= 1 / damping**2 * (1 + 1e-9)


def test_damping_fades_away():
    """The damped inertia tends to the exact one with the square of mu."""
    mechanism = random_mechanism(12, 6, kinds=["revolute"], branching=0, massless=0)
    q, v, _ = mechanism.random_state(np.random.default_rng(0))
    exact = cartesian_dynamics(mechanism, q, v, "tool").inertia
    errors = [difference(cartesian_dynamics(mechanism, q, v, "tool", damping=mu).inertia, exact) for mu in (1e-4, 1e-5)]
    assert 80 < errors[0] / errors[1] < 120


def test_a_wrong_acceleration_is_named():
    mechanism = random_mechanism(4, 6, kinds=["revolute"], branching=0)
    q, v, _ = mechanism.random_state(np.random.default_rng(0))
    with pytest.raises(ArgumentError, match=r"xdd has shape \(3,\).*need \(6,\)"):
        cartesian_inverse_dynamics(mechanism, q, v, np.zeros(3), "tool")


@pytest.mark.parametrize(
    "wrong", [{"dampng": 1}, {"wrenches": {}}, {"axes": "body"}, {"damping": "a"}, {"damping": None}]
)
def test_nothing_that_is_asked_for_is_ignored(wrong):
    mechanism = random_mechanism(1, 6, kinds=["revolute"], branching=0, massless=0)
    q, v, a = mechanism.random_state(np.random.default_rng(0))
    for function, state in (
        (cartesian_dynamics, (q, v)),
        (cartesian_inverse_dynamics, (q, v, a)),
        (cartesian_linearization, (q, v, a)),
    ):
        with pytest.raises(ArgumentError, match=next(iter(wrong))):
            function(mechanism, *state, "tool", **wrong)
    with pytest.raises(ArgumentError, match="viscous"):
        cartesian_linearization(mechanism, q, v, a, "tool", viscous=[1, 2])
    with pytest.raises(ArgumentError, match="wrenches"):
        inverse_dynamics(mechanism, q, v, a, wrenches=[np.zeros(6)])


def test_kernels_give_nothing_for_the_states_in_which_euler_angles_lock():
    """A wrist of three turns about z, y, x on three slides: its angles are the Euler angles ZYX of the tool."""
    axes = {"slide x": "x", "slide y": "y", "slide z": "z", "yaw": "z", "pitch": "y", "roll": "x"}
    names = ["world", *axes]
    joints = [
        Joint(name, "prismatic" if "slide" in name else "revolute", names[i], name, axis=axis)
        for i, (name, axis) in enumerate(axes.items())
    ]
    body = Inertia(1.0, [0.1, 0.2, 0.3], np.diag([0.2, 0.3, 0.4]))
    dynamics = Dynamics(Mechanism("gantry", [Body(name, body) for name in axes], joints))
    q = np.random.default_rng(5).uniform(-1, 1, (7, 6))
    q[3, 4], q[5, 4] = np.pi / 2, -np.pi / 2
    v = np.ones((7, 6))
    for found in (
        [dynamics.analytic_jacobian(q, frame="roll")],
        dynamics.cartesian_dynamics(q, v, frame="roll"),
        [dynamics.cartesian_inverse_dynamics(q, v, v, frame="roll")],
        dynamics.cartesian_linearization(q, v, v, frame="roll"),
    ):
        for result in found:
            finite = np.isfinite(result).reshape(7, -1)
            assert finite.all(axis=1).tolist() == [True, True, True, False, True, False, True]
            assert not finite[[3, 5]].any()
    quaternions = dynamics.analytic_jacobian(q, frame="roll", coordinates="quaternion")
    assert np.isfinite(quaternions).all()
    with pytest.raises(SingularityError, match="gimbal lock"):
        cartesian_dynamics(dynamics.mechanism, q[3], v[3], "roll")
