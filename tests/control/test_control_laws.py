"""Compiled control laws: what they promise in closed loop, and how long a call takes."""

import time
import warnings

import numpy as np
import pytest

from dalembert.control import computed_torque, gravity_compensation, operational_space, pd_with_gravity
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.formats import load
from dalembert.kinematics import manifold
from dalembert.model.operations import with_base
from dalembert.simulation import simulate
from random_mechanisms import random_mechanism


@pytest.fixture(scope="module")
def arm():
    return Dynamics(load("demo_arm"))


def test_gravity_compensation_lets_the_arm_rest(arm):
    q, _, _ = arm.mechanism.random_state(np.random.default_rng(0))
    law = gravity_compensation(arm)
    motion = simulate(arm, q, None, 1.0, control=lambda t, q, v: law(q))
    assert np.abs(motion.q - q).max() < 1e-9


def test_pd_with_gravity_comes_to_rest_at_its_goal():
    """Also for quaternions: the goal is reached along the group."""
    mechanism = random_mechanism(2, 3, kinds=("revolute", "spherical"))
    dynamics, n = Dynamics(mechanism), mechanism.nv
    law = pd_with_gravity(dynamics)
    q, _, _ = mechanism.random_state(np.random.default_rng(1))
    goal = manifold.displaced(mechanism.tree, q, np.full(n, 0.7))
    kp, kd = np.full(n, 60.0), np.full(n, 25.0)
    motion = simulate(dynamics, q, None, 15.0, control=lambda t, q, v: law(q, v, goal, kp, kd))
    assert np.abs(manifold.difference(mechanism.tree, motion.q[-1], goal)).max() < 1e-3
    energy = motion.energy  # with the springs of the controller it can only fall
    errors = np.array([manifold.difference(mechanism.tree, x, goal) for x in motion.q])
    stored = motion.kinetic_energy + (kp * errors**2).sum(axis=1) / 2
    assert np.isfinite(energy).all()
    assert (np.diff(stored) < 1e-6).all()


def test_computed_torque_makes_errors_obey_a_linear_equation(arm):
    """e'' + kd e' + kp e = 0, whatever the reference: critically damped here, so e = (1 + w t) e0 exp(-w t)."""
    n, w = arm.mechanism.nv, 4.0
    law = computed_torque(arm)
    kp, kd = np.full(n, w * w), np.full(n, 2 * w)
    phase = np.arange(n)

    def reference(t):
        return np.sin(t + phase), np.cos(t + phase), -np.sin(t + phase)

    def control(t, q, v):
        return law(q, v, *reference(t), kp, kd)

    q, v, _ = reference(0.0)
    nudge = 0.2 * np.cos(phase)
    motion = simulate(arm, q + nudge, v, np.linspace(0, 2, 21), control=control)
    exact = nudge * ((1 + w * motion.t) * np.exp(-w * motion.t))[:, None]
    found = motion.q - np.array([reference(t)[0] for t in motion.t])
    assert np.abs(found - exact).max() < 1e-7


@pytest.mark.parametrize("task", ["position", "pose"])
def test_operational_space_makes_the_frame_obey_and_keeps_the_posture_out(arm, task):
    n, m = arm.mechanism.nv, 3 if task == "position" else 6
    frame = arm.mechanism.bodies[-1].name
    law = operational_space(arm, frame, task=task, point=(0.05, 0, 0.02))
    q0 = np.full(n, 0.6) * (-1.0) ** np.arange(n)
    R0, p0 = arm.pose(q0, frame=frame)
    start = p0 + R0 @ [0.05, 0, 0.02]
    w = 6.0
    kp, kd = np.full(m, w * w), np.full(m, 2 * w)
    shift = np.array([0.04, -0.03, 0.05])

    def control(t, q, v):
        goal = (start + shift, R0) if m == 6 else (start + shift,)
        zero = np.zeros(m)
        return law(q, v, *goal, zero, zero, kp, kd, q0, np.full(n, 9.0), np.full(n, 6.0))

    motion = simulate(arm, q0, None, np.linspace(0, 2, 21), control=control)
    rotation, position = motion.quantity("pose", frame=frame)
    point = position + rotation @ [0.05, 0, 0.02]
    away = shift * ((1 + w * motion.t) * np.exp(-w * motion.t))[:, None]
    assert np.abs(point - (start + shift - away)).max() < 1e-6
    if m == 6:
        assert np.abs(rotation - R0).max() < 1e-6


def test_laws_take_batches_parameters_and_refuse_what_they_cannot(arm):
    symbolic = Dynamics(load("double_pendulum"))
    law = computed_torque(symbolic)
    assert [port.name for port in law.inputs][-1] == "parameters"
    numeric = computed_torque(load("double_pendulum", parameters="default"))
    rng = np.random.default_rng(0)
    given = [rng.normal(size=(5, 2)) for _ in range(5)] + [np.full(2, 3.0), np.full(2, 2.0)]
    values = {"g": 9.81, "l1": 1.0, "l2": 0.8, "m1": 1.0, "m2": 0.6}
    order = np.array([values[name] for name in symbolic.parameter_names])
    assert np.abs(law(*given, order) - numeric(*given)).max() < 1e-12
    with pytest.raises(ArgumentError, match="task"):
        operational_space(arm, "flange", task="velocity")
    with pytest.raises(ArgumentError, match="no frame 'hand'"):
        operational_space(arm, "hand")
    with pytest.raises(ArgumentError, match="three numbers"):
        operational_space(arm, "flange", point=(1, 2))
    with pytest.raises(ArgumentError, match="not below 0"):
        operational_space(arm, "flange", damping=-1)
    with pytest.raises(UnsupportedError, match="has wrenches"):
        computed_torque(Dynamics(arm.mechanism, wrenches=(arm.mechanism.bodies[-1].name,)))


def test_a_bound_law_fits_into_a_kilohertz_loop_many_times(arm, capsys):
    """Latency of a call on arrays that are kept; a generous bound, since the machine may be busy."""
    n = arm.mechanism.nv
    lines = []
    for name, law in (
        ("computed torque", computed_torque(arm)),
        ("operational space", operational_space(arm, "flange")),
    ):
        arrays = [np.full(port.shape, 0.3) for port in law.inputs]
        bound = law.bind(*arrays)
        bound()
        times = []
        for _ in range(2000):
            begin = time.perf_counter()
            bound()
            times.append(time.perf_counter() - begin)
        assert np.median(times) < 1e-4
        assert bound.outputs[0].shape == (n,)
        lines.append(f"{name}: median {np.median(times) * 1e6:.2f} us, 99.9 % {np.quantile(times, 0.999) * 1e6:.2f} us")
    with capsys.disabled():
        print("\n" + "\n".join(lines))


@pytest.mark.parametrize(
    "law",
    [gravity_compensation, pd_with_gravity, computed_torque, lambda m, **o: operational_space(m, "flange", **o)],
    ids=["gravity", "pd", "computed torque", "operational space"],
)
def test_a_base_without_motors_is_refused_by_name(law):
    """The law would ask six forces of a joint that has no motor; a vehicle with thrusters may say that it has them."""
    floating = with_base(load("demo_arm"), "free")
    name = next(joint.name for joint in floating.joints if joint.kind == "free")
    with pytest.raises(ArgumentError, match=f"floats on the joint '{name}', which has no motor"):
        law(floating)
    with pytest.raises(ArgumentError, match="driven_base = 1"):
        law(floating, driven_base=1)
    assert law(floating, driven_base=True).outputs[0].shape == (12,)


def test_a_task_that_asks_for_more_than_there_is_needs_damping():
    planar = load("double_pendulum", parameters="default")
    with pytest.raises(ArgumentError, match=r"asks for 3 motions, but 'double_pendulum' has 2 degrees.*give damping="):
        operational_space(planar, "tip", task="position")
    law, n = operational_space(planar, "tip", task="position", damping=1e-6), np.zeros(2)
    tip = Dynamics(planar).pose(np.array([0.3, 0.4]), frame="tip")[1]
    gains = np.zeros(3), np.zeros(3), np.full(3, 100.0), np.full(3, 20.0)
    at_rest = law(np.array([0.3, 0.4]), n, tip, *gains, np.array([0.3, 0.4]), n, n)
    assert np.abs(at_rest - Dynamics(planar).gravity(np.array([0.3, 0.4]))).max() < 1e-6


def test_damping_keeps_forces_finite_at_a_singular_position(arm):
    """Stretched out, the arm cannot move its flange in every direction; the forces it is asked for stay bounded."""
    n, still = arm.mechanism.nv, np.zeros(6)
    R, position = arm.pose(still, frame="flange")
    assert np.linalg.svd(arm.jacobian(still, frame="flange"))[1][-1] < 1e-12
    law = operational_space(arm, "flange", damping=1e-2)
    gains = still, still, np.full(6, 100.0), np.full(6, 20.0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        push = 0.1 * rng.normal(size=3)
        tau = law(still, still, position + push, R, *gains, still, np.zeros(n), np.zeros(n))
        # errors of 0.3 m at 100 1/s^2 and some kilograms: a kilonewton over a metre, by far
        assert np.abs(tau).max() < 1e3


@pytest.mark.parametrize("law", [gravity_compensation, pd_with_gravity, computed_torque])
def test_laws_refuse_loops_at_once_and_say_who_knows_them(law):
    linkage = load("four_bar", parameters="default")
    for given in (linkage, Dynamics(linkage)):
        with warnings.catch_warnings(), pytest.raises(UnsupportedError, match="drive_forces finds"):
            warnings.simplefilter("error")  # no advice that the refusal would contradict
            law(given)
