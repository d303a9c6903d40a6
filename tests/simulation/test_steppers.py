"""Steppers: orders of convergence, energy, momentum, and the group of rotations."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_cases import double_pendulum

from dalembert.algebra.vectors import dual
from dalembert.algorithms.energy import momentum
from dalembert.dynamics import Dynamics
from dalembert.errors import SimulationWarning
from dalembert.kinematics import manifold, position_rate
from dalembert.model import Body, Force, Inertia, Joint, Mechanism
from dalembert.model.operations import with_gravity
from dalembert.simulation import STEPPERS, Event, SimulationError, rollout, simulate
from dalembert.simulation.equations import KernelEquations
from dalembert.simulation.stabiliser import Stabiliser
from dalembert.simulation.steppers.variational import exp_derivative, exp_derivative_inverse
from random_mechanisms import random_mechanism

KINDS = ("revolute", "prismatic", "helical", "spherical", "universal")


def floating(seed=3):
    return random_mechanism(seed, 3, kinds=KINDS, floating=True, massless=0)


@pytest.mark.parametrize("method", STEPPERS)
def test_error_falls_with_the_order_of_the_method(method):
    mechanism = floating()
    q, v, _ = mechanism.random_state(np.random.default_rng(1))
    exact = simulate(mechanism, q, v, 0.5, rtol=1e-12, atol=1e-12)
    errors = []
    for n in (25, 50, 100):
        found = simulate(mechanism, q, v, np.array([0, 0.5]), method=method, step=0.5 / n)
        errors.append(np.abs(found.q[-1] - exact.q[-1]).max() + np.abs(found.v[-1] - exact.v[-1]).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert abs(orders[-1] - STEPPERS[method].order) < 0.25, (errors, orders)


@pytest.mark.parametrize(("method", "share"), [("semi-implicit-euler", 0.06), ("variational", 1e-2)])
def test_an_oscillator_keeps_its_energy_under_symplectic_steps(method, share):
    """w h = 0.1: semi-implicit Euler keeps E - h x v k / 2, so that E swings by w h / 2; explicit Euler would gain a
    factor of (1 + 0.01)^1000 = 2e4."""
    body = Body("b", Inertia(2.0))
    spring = Force("s", "joint-spring", "j", stiffness=8.0)
    mechanism = Mechanism("m", [body], [Joint("j", "prismatic", "world", "b", axis="x")], forces=[spring])
    found = rollout(mechanism, [1.0], [0.0], 1000, 0.05, method=method)
    energy = found.v[:, 0] ** 2 + 4 * found.q[:, 0] ** 2
    assert np.abs(energy / 4 - 1).max() < share


@pytest.mark.parametrize("method", ["lie-rk4", "variational", "semi-implicit-euler", "rk4"])
def test_quaternions_stay_on_the_unit_sphere(method):
    mechanism = floating()
    q, v, _ = mechanism.random_state(np.random.default_rng(2))
    found = simulate(mechanism, q, v, 1.0, method=method, step=0.01)
    for k in manifold.quaternion_places(mechanism.tree):
        assert np.abs(np.linalg.norm(found.q[:, k : k + 4], axis=1) - 1).max() < 4e-16
    nut = Body("nut", Inertia(0.3, tensor=np.diag([1e-4, 2e-4, 2.8e-4])))
    free = Mechanism("nut", [nut], [Joint("free", "free", "world", "nut")], gravity=(0, 0, 0))
    start = [0, 0, 0, 0.02, 0.01, 6]  # about the axis of greatest inertia: stable
    long = rollout(Dynamics(free, dtype=np.float32), None, start, 100_000, 1e-3, method=method, record=False)
    (k,) = manifold.quaternion_places(free.tree)
    assert abs(np.linalg.norm(long.final_q[k : k + 4].astype(float)) - 1) < 2e-7  # rounding of one step, not of all


def test_variational_keeps_momentum_and_bounds_energy():
    """Without gravity the floating tree keeps linear and angular momentum exactly, whatever the step."""
    mechanism = with_gravity(floating(), (0, 0, 0))
    q, v, _ = mechanism.random_state(np.random.default_rng(4))
    found = simulate(mechanism, q, v, 5.0, method="variational", step=0.01)
    linear, angular = zip(*(momentum(mechanism.tree, *x[1:]) for x in found))
    assert np.abs(np.array(linear) - linear[0]).max() < 1e-11 * np.abs(linear).max() * 100
    assert np.abs(np.array(angular) - angular[0]).max() < 1e-11 * np.abs(angular).max() * 100
    rk4 = simulate(mechanism, q, v, 5.0, method="rk4", step=0.01)
    moved = [momentum(mechanism.tree, *x[1:])[1] for x in rk4]
    assert np.abs(np.array(moved) - moved[0]).max() > np.abs(np.array(angular) - angular[0]).max()
    error = np.abs(found.energy - found.energy[0])
    assert error[len(error) // 2 :].max() < 2 * error[: len(error) // 2].max()  # no growth


def test_variational_step_is_symplectic():
    """The map of one step keeps the form dp ^ dq: its Jacobian J in (q, p) obeys J^T W J = W."""
    mechanism = double_pendulum()
    equations = KernelEquations(Stabiliser(Dynamics(mechanism)), lambda t, q, v: np.zeros(2))

    def step(z):
        q, p = z[:2], z[2:]
        q, v = STEPPERS["variational"].step(equations, 0.0, q, equations.velocity(q, p), 0.05)
        return np.concatenate([q, equations.momentum(q, v)])

    z, h = np.array([0.5, -1.0, 0.7, 0.4]), 1e-4
    J = np.empty((4, 4))
    for k, e in enumerate(np.eye(4)):  # fourth-order differences: truncation and rounding both near 1e-12
        J[:, k] = (8 * (step(z + h * e) - step(z - h * e)) - (step(z + 2 * h * e) - step(z - 2 * h * e))) / (12 * h)
    W = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    assert np.abs(J.T @ W @ J - W).max() < 1e-9
    assert abs(np.linalg.det(J) - 1) < 1e-9


@pytest.mark.parametrize("method", STEPPERS)
def test_long_motions_take_the_same_steps_by_the_compiled_loop(method):
    """Under constant forces the loop over steps is compiled; an event that never happens prevents it."""
    mechanism = double_pendulum()
    given = {"q0": [0.4, 0.3], "v0": None, "control": [0.1, -0.2], "method": method, "step": 1e-3}
    never = Event(lambda t, q, v: 1.0)
    for t in (3.1, np.linspace(0, 3.1, 156)):
        long, slow = (simulate(mechanism, t=t, events=events, **given) for events in (None, never))
        assert np.abs(long.t - slow.t).max() < 1e-12
        assert np.abs(long.q - slow.q).max() < 1e-10
        assert long.t[-1] == 3.1
    assert len(long) == 156
    wild = {**given, "step": 10.0, "method": "rk4", "control": [1e150, 0.0]}
    with pytest.raises(SimulationError, match="the step is too long") as caught:
        simulate(mechanism, t=1e5, **wild)
    assert np.isfinite(caught.value.partial.q).all()


@pytest.mark.parametrize("damping", [0.0, 5.0, 20.0, 50.0])
def test_steps_too_long_for_the_variational_method_are_told_by_the_compiled_loop(damping):
    """Substitution converges by h d/(2 J) a time: motions are near the exact one, or NaN, or a SimulationError."""
    bob = Body("bob", Inertia.point(1.0, [0, 0, -1.0]))
    hinge = Joint("hinge", "revolute", "world", "bob", axis=[0, 1, 0], damping=damping)
    dynamics = Dynamics(Mechanism("pendulum", [bob], [hinge]), include=["damping"])
    exact = simulate(dynamics, [1.0], [2.0], [0, 2.0], rtol=1e-10, atol=1e-10).q[-1]
    for step in (0.5, 0.2, 0.1, 0.05, 0.02):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SimulationWarning)
            found = rollout(dynamics, [1.0], [2.0], round(2 / step), step, method="variational")
            assert np.isfinite(found.final_q).all() == np.isfinite(found.final_v).all()
        assert found.finite or step > 0.1 or step * damping > 0.9
        if np.isfinite(found.final_q).all():
            assert np.abs(found.final_q - exact) < 4 * step**2
        else:
            with pytest.raises(SimulationError, match=r"too long|smaller step"):
                simulate(dynamics, [1.0], [2.0], 400.0, method="variational", step=step)
    rest = rollout(dynamics, [0.0], None, 1000, 0.02, method="variational")
    assert (np.abs(rest.final_v) < 1e-15).all()  # a rounding error swings with sqrt(g/l) of itself


vectors = st.lists(st.floats(-3, 3), min_size=3, max_size=3).map(np.array)


@given(vectors, vectors)
def test_derivative_of_exponential_map(x, u):
    """Against the power series, sum of ad^k/(k+1)!, and its inverse against it."""
    series, term = np.zeros((3, 3)), np.eye(3)
    for k in range(1, 60):
        series, term = series + term, term @ dual(x) / (k + 1)
    assert np.abs(exp_derivative(x, u) - series @ u).max() < 1e-12
    if np.linalg.norm(x) < 6:
        assert np.abs(exp_derivative_inverse(x, exp_derivative(x, u)) - u).max() < 1e-10


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.floats(1e-9, 1.5))
def test_displacement_and_difference_are_inverse(seed, size):
    rng = np.random.default_rng(seed)
    tree = floating(seed % 7).tree
    q, d, _ = floating(seed % 7).random_state(rng)
    d *= size / max(1.0, np.abs(d).max())
    moved = manifold.displaced(tree, q, d)
    assert np.abs(manifold.difference(tree, q, moved) - d).max() < 1e-13 * max(1, np.abs(q).max())
    # and the rate is the derivative of the displacement
    e = 1e-6
    slope = (manifold.displaced(tree, q, e * d) - manifold.displaced(tree, q, -e * d)) / (2 * e)
    assert np.abs(slope - position_rate(tree, q, d)).max() < 1e-8


def test_adaptive_steps_do_not_chase_the_rounding_of_single_precision():
    """Accelerations in float32 are right to some 1e-6; steps to 1e-9 would go after that noise."""
    arm = double_pendulum()
    exact = simulate(arm, [0.3, 0.2], None, 1.0)
    single = simulate(Dynamics(arm, dtype=np.float32), [0.3, 0.2], None, 1.0)
    assert len(single.t) < len(exact.t)
    assert np.abs(single.q[-1] - exact.q[-1]).max() < 1e-3
