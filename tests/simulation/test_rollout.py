"""Compiled rollouts against single simulations with the same steps."""

import _thread
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_cases import GRAVITY, double_pendulum, pendulum, swing

from dalembert.algebra import scalar
from dalembert.control import linearize
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, SimulationWarning, UnsupportedError
from dalembert.formats import load
from dalembert.model import Body, Inertia, Joint, Mechanism
from dalembert.simulation import STEPPERS, rollout, simulate
from random_mechanisms import random_mechanism

CLOSE = 1e-11
"""Both sides take the same steps in the same order; a few hundred of them amplify rounding this far at most."""


@pytest.fixture(scope="module")
def cart():
    return Dynamics(load("cart_pole", parameters="default"))


def start(dynamics, count, seed=0):
    q, v, _ = dynamics.mechanism.random_state(np.random.default_rng(seed), (count,))
    return q, v


@pytest.mark.parametrize("method", STEPPERS)
def test_rollout_equals_simulations(method):
    dynamics = Dynamics(random_mechanism(2, 3, kinds=("revolute", "spherical", "prismatic"), floating=True))
    q, v = start(dynamics, 5)
    many = rollout(dynamics, q, v, 40, 5e-3, method=method, every=4)
    assert many.q.shape == (5, 11, dynamics.mechanism.nq)
    for k in range(5):
        one = simulate(dynamics, q[k], v[k], many.t, method=method, step=5e-3)
        assert np.abs(many.q[k] - one.q).max() < CLOSE
        assert np.abs(many.v[k] - one.v).max() < CLOSE
    assert np.array_equal(many.final_q, many.q[:, -1])


@settings(max_examples=15)
@given(count=st.integers(1, 40), steps=st.integers(1, 30), every=st.integers(1, 7), threads=st.integers(1, 3))
def test_no_size_matters(count, steps, every, threads):
    """A motion does not depend on how many others there are, how it is recorded and who computes it."""
    dynamics = Dynamics(double_pendulum())
    q, v = start(dynamics, count, 7)
    alone = rollout(dynamics, q[-1], v[-1], steps, 1e-2)
    many = rollout(dynamics, q, v, steps, 1e-2, every=every, threads=threads)
    assert np.array_equal(many.q[-1], alone.q[::every][: len(many.t)])
    assert np.array_equal(many.final_v[-1], alone.final_v)
    assert np.array_equal(many.t, alone.t[::every][: len(many.t)])


def test_controls_per_trajectory_step_and_actuator(cart):
    q, v = start(cart, 6)
    u = np.random.default_rng(3).normal(size=(6, 20, 1))
    many = rollout(cart, q, v, 100, 2e-3, control=u, actuated=["rail"], hold=5)
    for k in (0, 5):
        one = simulate(
            cart, q[k], v[k], many.t, method="rk4", step=2e-3, hold=0.01,
            control=lambda t, q, v, k=k: [u[k, min(19, round(t / 0.01)), 0], 0],
        )  # fmt: skip
        assert np.abs(many.q[k] - one.q).max() < CLOSE
    shared = rollout(cart, q, v, 100, 2e-3, control=u[0], actuated=["rail"], hold=5)
    assert np.array_equal(shared.q[0], many.q[0])
    constant = rollout(cart, q, v, 100, 2e-3, control=[0.7, 0.0])
    same = rollout(cart, q, v, 100, 2e-3, control=np.broadcast_to([0.7, 0.0], (100, 2)))
    assert np.array_equal(constant.q, same.q)


def test_compiled_policy_with_gains_equals_the_same_function_in_python(cart):
    def policy(t, q, v, k):
        return [k[0] * q[0] + k[1] * q[1] + k[2] * v[0] + k[3] * v[1] + scalar.sin(3 * t), 0]

    q, v = start(cart, 4)
    gains = np.random.default_rng(0).normal(size=(4, 4))
    many = rollout(cart, q, v, 100, 2e-3, control=policy, gains=gains)
    for k in range(4):
        one = simulate(
            cart, q[k], v[k], many.t, method="rk4", step=2e-3, control=lambda t, q, v, g=gains[k]: policy(t, q, v, g)
        )
        assert np.abs(many.q[k] - one.q).max() < CLOSE
    sampled = rollout(cart, q, v, 100, 2e-3, control=policy, gains=gains, hold=1)
    held = simulate(
        cart, q[1], v[1], many.t, method="rk4", step=2e-3, hold=2e-3, control=lambda t, q, v: policy(t, q, v, gains[1])
    )
    assert np.abs(sampled.q[1] - held.q).max() < CLOSE


def test_summaries_are_those_of_the_records(cart):
    q, v = start(cart, 9)
    kept = {
        "highest": ("max", lambda t, q, v: q[1]),
        "lowest": ("min", lambda t, q, v: q[1] * v[0]),
        "way": ("integral", lambda t, q, v: abs(v[0])),
        "clock": ("last", lambda t, q, v: t),
    }
    many = rollout(cart, q, v, 50, 1e-2, summaries=kept)
    after_q, after_v = many.q[:, 1:], many.v[:, 1:]
    assert np.array_equal(many.summaries["highest"], after_q[..., 1].max(axis=1))
    assert np.abs(many.summaries["lowest"] - (after_q[..., 1] * after_v[..., 0]).min(axis=1)).max() < 1e-15
    way = np.trapezoid(np.abs(many.v[..., 0]), many.t, axis=1)
    assert np.abs(many.summaries["way"] - way).max() < 1e-3  # the integral knows the middle of steps, too
    assert np.allclose(many.summaries["clock"], 0.5)
    final = rollout(cart, q, v, 50, 1e-2, summaries=kept, record=False)
    assert final.q.shape == (9, 0, 2)
    assert np.array_equal(final.summaries["way"], many.summaries["way"])


@pytest.mark.parametrize("method", STEPPERS)
def test_integrals_are_as_good_as_the_method(method):
    """Of cos(q) v along a swing, which is sin(q), and of the height of a ball that falls and spins."""

    def error(n):
        kept = {"sine": ("integral", lambda t, q, v: v[0] * scalar.cos(q[0]))}
        found = rollout(pendulum(), [1.0], None, n, 1.5 / n, method=method, summaries=kept).summaries["sine"]
        return abs(found - (np.sin(swing(1.5, 1.0)[0]) - np.sin(1.0)))

    errors = np.array([error(n) for n in (50, 100, 200)])
    orders = np.log2(errors[:-1] / errors[1:])
    assert orders[-1] > STEPPERS[method].order - 0.1, errors
    ball = Mechanism("ball", [Body("ball", Inertia.sphere(2.0, 0.1))], [Joint("free", "free", "world", "ball")])
    kept = {"height": ("integral", lambda t, q, v: q[2]), "turn": ("integral", lambda t, q, v: q[5])}
    spin, end = 3.0, 0.8
    n = 80
    many = rollout(ball, None, [0, 0, 5.0, 0, 0, spin], n, end / n, method=method, summaries=kept)
    height, turn = 5.0 * end**2 / 2 - GRAVITY * end**3 / 6, 2 / spin * (1 - np.cos(spin * end / 2))
    allowed = {1: 5e-2, 2: 1e-3, 4: 1e-8}[STEPPERS[method].order]
    assert abs(many.summaries["height"] - height) < allowed
    assert abs(many.summaries["turn"] - turn) < allowed


def test_integrals_know_forces_that_change_between_steps():
    """Of v^2 under constant forces, a polynomial of second degree in every step: exact to rounding."""
    mass = Mechanism("mass", [Body("m", Inertia.point(2.0))], [Joint("x", "prismatic", "world", "m", axis=[1, 0, 0])])
    force = np.array([[3.0], [-8.0], [5.0], [1.0]])
    found = rollout(mass, None, None, 4, 0.5, control=force, summaries={"s": ("integral", lambda t, q, v: v[0] ** 2)})
    v, exact = 0.0, 0.0
    for a in force[:, 0] / 2:
        exact += 0.5 * v * v + v * a * 0.25 + a * a * 0.125 / 3
        v += a * 0.5
    assert abs(found.summaries["s"] - exact) < 1e-13


def test_parameters_and_wrenches_differ_by_trajectory():
    symbolic = Dynamics(load("cart_pole"), wrenches=("pole",))
    names = symbolic.parameter_names
    values = {"g": 9.81, "M": 1.0, "m": 0.2, "l": 0.5, "I": 0.02}
    masses = np.array([0.1, 0.2, 0.4])
    push = np.zeros((3, 6))
    push[:, 0] = [0.0, 1.0, -1.0]
    many = rollout(symbolic, [0, 0.1], None, 60, 5e-3, parameters={**values, "m": masses}, wrenches={"pole": push})
    assert many.q.shape == (3, 61, 2)
    for k in range(3):
        one = simulate(
            symbolic, [0, 0.1], None, many.t, method="rk4", step=5e-3,
            parameters={**values, "m": masses[k]}, wrenches={"pole": push[k]},
        )  # fmt: skip
        assert np.abs(many.q[k] - one.q).max() < CLOSE
    stacked = np.array([[{**values, "m": m}[name] for name in names] for m in masses])
    again = rollout(symbolic, [0, 0.1], None, 60, 5e-3, parameters=stacked, wrenches={"pole": push})
    assert np.array_equal(again.q, many.q)
    assert many.trajectory(1).energy.shape == (61,)


def test_batch_dimensions_are_broadcast(cart):
    q, v = start(cart, 12)
    many = rollout(cart, q.reshape(3, 4, 2), v[:4], 10, 1e-2)
    assert many.q.shape == (3, 4, 11, 2)
    assert many.done.shape == (3, 4)
    one = rollout(cart, q[5], v[1], 10, 1e-2)
    assert np.array_equal(many.q[1, 1], one.q)
    assert one.q.shape == (11, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps"), ({"steps": 2.5}, "steps"), ({"step": -1.0}, "step ="), ({"every": 0}, "every"),
        ({"method": "DOP853"}, "fixed step"), ({"control": np.zeros(3)}, "control has shape"),
        ({"control": np.zeros((7, 2))}, "control has shape"), ({"control": np.full(2, np.nan)}, "not finite"),
        ({"actuated": ["rail"]}, "there is none"), ({"gains": [1.0]}, "gains are for"),
        ({"actuated": ["rail", "rail"], "control": np.ones(2)}, "'rail' is named twice"),
        ({"control": lambda t, q, v: [0], "hold": 3}, "asked at every stage"),
        ({"q0": np.zeros((3, 2)), "v0": np.zeros((4, 2))}, "do not fit together"),
        ({"q0": np.full((3, 2), np.nan)}, r"q0\[0, 0\] \(rail\) is nan"),
        ({"summaries": {"x": ("mean", abs)}}, "no kind 'mean'"), ({"parameters": {"m": 1}}, "has no parameters"),
        ({"elements": ["spring"]}, "made with elements"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_by_name(cart, change, message):
    given = {"mechanism": cart, "q0": [0, 0.1], "v0": None, "steps": 10, "step": 1e-2, **change}
    with pytest.raises(ArgumentError, match=message):
        rollout(**given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": "short"}, "step = 'short' s; it must be a positive number"),
        ({"threads": 0}, "threads = 0"),
        ({"control": "push"}, "control: expected real numbers, got 'push'"),
        ({"control": lambda t, q, v: 1 / 0}, "control cannot be compiled.*ZeroDivisionError"),
        ({"control": lambda t, q, v: [0.0]}, r"control returned shape \(1,\), expected 2 numbers"),
        ({"wrenches": {"pole": np.zeros(5)}}, "six numbers"),
        ({"wrenches": 3}, "wrenches are 3"),
        ({"summaries": {"a": lambda t, q, v: q[0]}}, "give .'max'"),
        ({"summaries": {"a": ("max", lambda t, q, v: q)}}, "expected one number"),
        ({"summaries": {"a": ("max", lambda t, q, v: 1 / 0)}}, "summary 'a' cannot be compiled"),
        ({"q0": {"hinge": np.zeros(3), "rail": np.zeros(4)}}, "'hinge' .3,., 'rail' .4,."),
        ({"q0": {"hinge": "up"}}, "joint 'hinge' takes one number"),
        ({"v0": np.zeros((3, 2)), "q0": np.zeros((4, 2))}, r"fit together: q0 \(4, 2\), v0 \(3, 2\)$"),
    ],
)
def test_faults_of_users_functions_and_tables_are_told_by_name(change, message):
    given = {"q0": [0.0, 0.1], "v0": None, "steps": 10, **change}
    with pytest.raises(ArgumentError, match=message):
        rollout(load("cart_pole", parameters="default"), **given)


def test_states_by_joint_name_may_be_batches(cart):
    angles, speeds = np.linspace(0, 1, 5), np.array([[1.0], [2.0]])
    many = rollout(cart, {"hinge": angles}, {"rail": speeds}, 20, 1e-2)
    q, v = np.zeros((5, 2)), np.zeros((2, 1, 2))
    q[:, 1], v[..., 0] = angles, speeds
    assert np.array_equal(many.q, rollout(cart, q, v, 20, 1e-2).q)


@pytest.mark.parametrize("method", ["DOP853", "LSODA", "rk4"])
def test_a_held_control_is_told_as_by_simulate(cart, method):
    """Where it changes, the new one; at the end, the last one: however times are rounded."""
    rows = np.random.default_rng(1).normal(size=(10, 1))
    many = rollout(cart, [0.0, 0.4], None, 30, 0.07, control=rows, actuated=["rail"], hold=3)
    options = {"step": 0.07} if method == "rk4" else {}
    for t in (many.t, np.linspace(0, 2.1, 31), 0.07 * np.arange(31)):
        one = simulate(
            cart, [0.0, 0.4], None, t, method=method, hold=0.21, **options,
            control=lambda t, q, v: [rows[round(t / 0.21), 0], 0],
        )  # fmt: skip
        assert np.array_equal(one.tau, many.trajectory().tau)


def test_work_of_a_policy_is_what_the_energy_gained(cart):
    """Asked once per step it is constant in between: work is exact, the energy as good as the method."""

    def policy(t, q, v):
        return [30 * q[1] + 5 * v[1] - 20 * q[0] - 8 * v[0], 0]

    for hold in (None, 1):
        one = rollout(cart, [0.1, 0.05], None, 100, 1e-2, control=policy, hold=hold).trajectory()
        assert np.abs(one.energy - one.energy[0] - one.work).max() < 1e-6 * np.ptp(one.energy)


def test_single_motions_know_what_drove_them(cart):
    """A row is told at the record where it begins to act; a policy may be made for traced scalars only."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(3, 1, 10, 1))
    many = rollout(cart, rng.normal(size=(4, 2)), None, 30, 1e-2, control=rows, actuated=["rail"], hold=3, every=2)
    tau = many.trajectory(1, 2).tau
    assert np.array_equal(tau[:-1, 0], rows[1, 0, np.arange(0, 30, 2) // 3, 0])
    assert not tau[:, 1].any()

    def policy(t, q, v, k):
        return [(q[1] < 0).select(k[0], -k[0]) + scalar.sin(t), 0]

    gains = np.array([[1.0], [5.0]])
    driven = rollout(cart, [0.0, 0.1], [0.0, -1.0], 50, 1e-2, control=policy, gains=gains)
    one = driven.trajectory(1)
    wanted = np.where(one.q[:, 1] < 0, 5.0, -5.0) + np.sin(one.t)
    assert np.abs(one.tau[:, 0] - wanted).max() < 1e-14
    mass = cart.mechanism
    pushed = rollout(mass, [0.0, 0.1], None, 20, 1e-2, wrenches={"pole": np.arange(12.0).reshape(2, 6)})
    assert np.array_equal(pushed.trajectory(1).wrenches[5, 0], np.arange(6.0, 12.0))
    with pytest.raises(ArgumentError, match="give 2 numbers"):
        many.trajectory(1)
    with pytest.raises(UnsupportedError, match="record=False"):
        rollout(cart, None, None, 5, record=False).trajectory()


def test_motions_that_blow_up_stay_alone(cart):
    q, v = start(cart, 10)
    v[3] = 1e200
    with pytest.warns(SimulationWarning, match=r"1 of 10 motions did not stay finite, the first is \(3,\)"):
        many = rollout(cart, q, v, 20, 1e-2)
    assert many.finite.tolist() == [k != 3 for k in range(10)]


def test_infinite_motions_are_told_in_our_words_only():
    """No RuntimeWarning of NumPy beside ours, which would be an error here."""
    rail = Mechanism("rail", [Body("m", Inertia.point(1e-3))], [Joint("x", "prismatic", "world", "m", axis=[1, 0, 0])])
    with pytest.warns(SimulationWarning, match="1 of 2 motions did not stay finite"):
        many = rollout(rail, [0.0], None, 1, 1.0, control=[[[1.0]], [[1e308]]], method="semi-implicit-euler")
    assert np.isinf(many.final_v[1]).all()
    assert many.finite.tolist() == [True, False]


def test_interrupt_keeps_complete_motions(cart, heard):
    q, v = start(cart, 4000)
    rollout(cart, q[:2], v[:2], 10, 1e-3, record=False)  # compile before the clock starts
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt, match="rollout interrupted") as stopped:
        rollout(cart, q, v, 300_000, 1e-3, record=False)
    timer.join()
    many = stopped.value.partial
    assert 0 < many.done.sum() < 4000
    assert np.isfinite(many.final_q[many.done]).all()
    assert np.isnan(many.final_q[~many.done]).all()


def test_energy_drift_of_every_stepper_over_a_million_steps(capsys):
    """Ten thousand swings of a double pendulum, not chaotic; the drift is the slope of the energy, per step."""
    dynamics = Dynamics(double_pendulum())
    lines, drift, swing = [], {}, {}
    for method in STEPPERS:
        steps = 1_000_000
        many = rollout(dynamics, [0.5, -0.3], None, steps, 5e-3, method=method, every=1000)
        energy = many.trajectory().energy
        error = (energy - energy[0]) / np.ptp(many.trajectory().kinetic_energy)
        fit = np.polyfit(many.t, error, 1)
        drift[method], swing[method] = abs(fit[0]) * 5e-3, np.ptp(error - np.polyval(fit, many.t))
        lines.append(f"{method:22} drift {drift[method]:.1e} per step, oscillation {swing[method]:.1e}")
    with capsys.disabled():
        print("\n" + "\n".join(lines))
    assert drift["variational"] < 1e-12  # none but rounding, though its energy oscillates
    assert 1e-9 < drift["semi-implicit-euler"] < 1e-5  # the mass matrix varies, so it is not symplectic
    assert 1e-13 < drift["rk4"] < 1e-9  # h^5: slow, but without end
    assert abs(drift["lie-rk4"] - drift["rk4"]) < 0.01 * drift["rk4"]  # no rotations: the same method
    assert swing["variational"] < 1e-4  # second order in the step


def test_parameters_without_positive_kinetic_energy_are_refused():
    """By name, wherever parameters are given; a negative one that others outweigh is a combination, and is taken."""
    cart, usual = load("cart_pole"), {"g": 9.81, "M": 1.0, "l": 0.5, "I": 0.02, "m": 0.1}
    for bad in ({"m": -0.1}, {"M": -0.2}, {"I": -0.03}):
        values, told = {**usual, **bad}, rf"cannot have the parameters {next(iter(bad))} = -"
        with pytest.raises(ArgumentError, match=told):
            simulate(cart, [0, 0.2], parameters=values)
        with pytest.raises(ArgumentError, match=told):
            linearize(cart, parameters=values)
        with pytest.raises(ArgumentError, match=told):
            rollout(
                cart, [0, 0.2], None, 10, parameters={**usual, **{k: np.array([usual[k], x]) for k, x in bad.items()}}
            )
    outweighed = rollout(cart, [0, 0.2], None, 10, parameters={**usual, "I": -0.01})  # I + m l^2 = 0.015
    assert outweighed.finite


def test_more_steps_than_a_precision_counts_are_refused():
    """2^24 + 1 is no number of float32: time would stand still from there on. Without a clock nothing is counted."""
    single = Dynamics(load("cart_pole", parameters="default"), dtype="float32")
    with pytest.raises(ArgumentError, match="float32 counts to 16777216 only"):
        rollout(single, None, None, 2**24 + 1, control=lambda t, q, v: [scalar.sin(t), 0], record=False)
    assert rollout(single, None, None, 4, control=lambda t, q, v: [scalar.sin(t), 0]).q.shape == (5, 2)
