"""Control, forces, events, resets, and what goes wrong."""

import _thread
import io
import sys
import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from motion_cases import GRAVITY, by, double_pendulum, pendulum, top

from dalembert.algebra.transform import Transform
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, SimulationWarning, UnsupportedError
from dalembert.formats import load
from dalembert.model import WORLD, Body, Contact, Force, Inertia, Joint, Mechanism, Shape
from dalembert.model.operations import lock
from dalembert.model.parameters import symbolise
from dalembert.simulation import (
    ADAPTIVE,
    STEPPERS,
    Event,
    SimulationError,
    joint_stop,
    load_trajectory,
    rollout,
    simulate,
)
from dalembert.simulation.recorder import Recorder
from random_mechanisms import random_mechanism


def slider(mass=2.0):
    """A mass on a vertical rail."""
    return Mechanism("slider", (Body("m", Inertia.point(mass)),), (Joint("rail", "prismatic", "world", "m"),))


EVERY = [*ADAPTIVE, *STEPPERS]


@pytest.mark.parametrize("method", ["DOP853", "Radau", "rk4", "variational"])
def test_power_balance(method):
    """Energy gained is the work of the control less what damping takes, on a tree with every kind of joint."""
    mechanism = random_mechanism(5, 4, floating=True, drives=True)
    nv = mechanism.nv
    q, v, _ = mechanism.random_state(np.random.default_rng(0))
    gain = np.linspace(0.5, 2, nv)
    motion = simulate(
        mechanism, q, v, np.linspace(0, 1, 201), control=lambda t, q, v: gain * np.sin(5 * t) - 0.1 * v,
        **by(method, 1e-3), include=("damping", "armature"),
    )  # fmt: skip
    gained = motion.energy - motion.energy[0]
    put_in = motion.work - motion.lost
    # splines of fourth order on steps of 5 ms: 1e-8 relative; the variational stepper is of second order
    assert np.abs(gained - put_in).max() < (1e-3 if method == "variational" else 1e-6) * np.ptp(motion.energy)


def test_dissipation_and_reactions_know_the_values_of_parameters():
    """By address or by symbol, they are those of the mechanism with these numbers."""
    arm, values = load("demo_arm"), {"upper_arm.mass": 3.0, "bend.damping": 4.0}
    symbols = dict(zip(values, ("m", "d")))
    numbers, t = symbolise(arm, values), np.linspace(0, 0.3, 31)
    expected = simulate(numbers, None, np.ones(arm.nv), t, include=("damping",))
    by_address = Dynamics(arm, parameters=list(values), include=("damping",))
    by_symbol = Dynamics(symbolise(arm, symbols), include=("damping",))
    for dynamics, names in ((by_address, {name: name for name in values}), (by_symbol, symbols)):
        given = {names[name]: value for name, value in values.items()}
        motion = simulate(dynamics, None, np.ones(arm.nv), t, parameters=given)
        assert np.abs(motion.dissipation - expected.dissipation).max() < 1e-8
        theirs = expected.reactions()
        assert all(np.abs(force - theirs[name]).max() < 1e-6 for name, force in motion.reactions().items())


def test_wrench_on_a_frame_accelerates_as_newton_says():
    """A free body under a force along its own x axis, at its centre, with weight balanced by the control."""
    body = Mechanism(
        "body", (Body("b", Inertia.sphere(2.0, 0.1)),), (Joint("free", "free", "world", "b"),), gravity=np.zeros(3)
    )
    spin = np.array([0, 0, 0, 0, 0, 0.5])
    motion = simulate(body, None, spin, 2.0, wrenches={"b": [3.0, 0, 0, 0, 0, 0]})
    t = motion.t
    exact = 3.0 / 2.0 * np.stack([(1 - np.cos(0.5 * t)) / 0.25, (0.5 * t - np.sin(0.5 * t)) / 0.25], axis=1)
    assert np.abs(motion.q[:, :2] - exact).max() < 1e-8
    pushed = simulate(body, None, spin, 2.0, wrenches={"b": lambda t, q, v: [3.0, 0, 0, 0, 0, 0]})
    assert np.abs(pushed(1.3).q - motion(1.3).q).max() < 1e-12


def test_states_by_joint_name():
    motion = simulate(double_pendulum(), {"second": 0.3}, {"first": -1.0}, 0.1)
    np.testing.assert_allclose(motion.q[0], [0, 0.3], atol=1e-15)
    np.testing.assert_allclose(motion.v[0], [-1, 0], atol=1e-15)


def test_symbols_get_values_by_name():
    cart = load("cart_pole")
    motion = simulate(cart, [0, 0.1], None, 0.5, parameters={"g": 9.81, "M": 1, "m": 0.2, "l": 0.5, "I": 0.02})
    numeric = simulate(load("cart_pole", parameters="default"), [0, 0.1], None, 0.5)
    assert np.abs(motion.q[-1] - numeric.q[-1]).max() < 1e-9
    with pytest.raises(ArgumentError, match="without a finite value: I, l"):
        simulate(cart, [0, 0.1], None, 0.5, parameters={"g": 9.81, "M": 1, "m": 0.2})
    with pytest.raises(ArgumentError, match=r"values of .*, got 'default'\. Defaults .* where it is read: da\.load"):
        simulate(cart, [0, 0.1], None, 0.5, parameters="default")


def test_digital_controller_is_asked_once_per_period():
    asked = []

    def control(t, q, v):
        asked.append(t)
        return [-3 * np.sign(q[0])]

    motion = simulate(pendulum(), [0.5], None, 1.0, control=control, hold=0.05)
    assert np.allclose(asked, np.arange(20) * 0.05)
    fixed = simulate(pendulum(), [0.5], None, 1.0, control=control, hold=0.05, method="rk4", step=1e-3)
    assert np.abs(motion.q[-1] - fixed.q[-1]).max() < 1e-8


@settings(max_examples=30)
@given(
    method=st.sampled_from(["DOP853", "LSODA", "BDF", "rk4", "semi-implicit-euler"]),
    hold=st.integers(20, 300).map(lambda n: n / 1000),  # so that times agree to rounding, or not at all
    begin=st.sampled_from([0.0, 0.3, -2.0, 1e3]),
    samples=st.sampled_from(["ends", "periods", 3, 11, 31]),
    events=st.integers(0, 2),
)
def test_a_digital_controller_is_asked_at_its_times_only_and_told_from_then_on(method, hold, begin, samples, events):
    """Whatever the steps, the samples and the events between: one answer for each period that begins before the end."""
    asked = []

    def control(t, q, v):
        asked.append(t)
        return [np.sin(5 * t) - v[0], -0.3 * v[1]]

    passing = Event(lambda t, q, v: q[0], name="passing")
    jump = Event(lambda t, q, v: q[1] - 0.2, reset=lambda t, q, v: (q, 0.9 * v), name="jump")
    count = int(np.ceil(1 / hold - 1e-9))
    starts = begin + hold * np.arange(count)
    times = {"ends": [begin, begin + 1], "periods": np.append(starts, begin + 1)}
    times |= {number: np.linspace(begin, begin + 1, number) for number in (3, 11, 31)}
    motion = simulate(
        double_pendulum(), [1.0, 0.5], None, times[samples],
        control=control, hold=hold, events=[passing, jump][:events], **by(method, 0.03),
    )  # fmt: skip
    assert np.allclose(asked, starts, rtol=0, atol=1e-9)
    period = np.minimum(np.floor((motion.t - begin) / hold + 1e-9).astype(int), count - 1)
    for k in np.unique(period):
        assert np.ptp(motion.tau[period == k], axis=0).max() == 0
    if not events and samples == "periods" and method in ADAPTIVE:
        assert (
            abs(motion.work[-1] - motion.energy[-1] + motion.energy[0]) < 2e-5
        )  # errors of BDF; splines through jumps: 1e-2


# -------------------------------------------------------------------------------------------------------------- events


@pytest.mark.parametrize("method", EVERY)
def test_event_is_found_where_it_happens(method):
    fall = 0.8
    when = np.sqrt(2 * fall / GRAVITY)
    ground = Event(lambda t, q, v: q[0], direction=-1, stop=True, name="ground")
    motion = simulate(slider(), [fall], None, 2.0, events=ground, **by(method, 1e-3))
    assert motion.status == "stopped by event 'ground'"
    tolerance = 1e-3 if method == "semi-implicit-euler" else 1e-7
    assert abs(motion.events[0].t - when) < tolerance
    assert abs(motion.t[-1] - when) < tolerance
    assert abs(motion.q[-1, 0]) < 1e-9


@pytest.mark.parametrize("method", ["DOP853", "LSODA", "rk4"])
def test_bouncing_mass_keeps_the_times_of_its_impacts(method):
    """Flights shorten by the coefficient of restitution: t_k = t_1 (1 + 2 e + 2 e^2 + ...)."""
    e, height = 0.8, 0.5
    first = np.sqrt(2 * height / GRAVITY)
    expected = first + 2 * first * np.cumsum([0, *(e**k for k in range(1, 6))])
    stops = joint_stop(slider(), "rail", lower=0.0, restitution=e)
    motion = simulate(slider(), [height], None, float(expected[-1]) + 0.05, events=stops, method=method)
    assert np.abs([event.t for event in motion.events] - expected).max() < 1e-5
    assert motion.q.min() > -1e-7
    # the state jumps where two samples share a time, and interpolation takes the later one
    k = int(np.flatnonzero(np.diff(motion.t) == 0)[0])
    assert motion.v[k + 1, 0] == pytest.approx(-e * motion.v[k, 0], rel=1e-9)
    assert motion(motion.t[k]).v[0] == pytest.approx(motion.v[k + 1, 0], rel=1e-6)


def test_impact_moves_other_joints_and_loses_energy():
    mechanism = double_pendulum()
    stops = joint_stop(mechanism, "second", lower=-0.5, upper=0.5, restitution=0.5)
    motion = simulate(mechanism, [1.0, 0.4], None, 2.0, events=stops)
    assert motion.events
    assert np.abs(motion.q[:, 1]).max() < 0.5 + 1e-7
    jumps = np.flatnonzero(np.diff(motion.t) == 0)
    assert len(jumps) == len(motion.events)
    lost = motion.energy[jumps + 1] - motion.energy[jumps]
    assert (lost < 0).all()
    between = np.delete(np.diff(motion.energy), jumps)
    assert np.abs(between).max() < 1e-6


def test_impacts_that_accumulate_end_with_an_error_that_keeps_the_motion():
    stops = joint_stop(slider(), "rail", lower=0.0, restitution=0.3)
    with pytest.raises(SimulationError, match="again and again") as caught:
        simulate(slider(), [0.1], None, 5.0, events=stops)
    assert caught.value.partial.t[-1] < 1


def test_quick_double_crossing_within_a_step_is_seen():
    """At rest in the middle of a swing the integrator takes steps far longer than the crossing."""
    bump = Event(lambda t, q, v: (t - 1.0) ** 2 - 0.02**2, name="bump")
    motion = simulate(slider(), [0.0], None, 2.0, control=[2.0 * GRAVITY], events=bump, max_step=0.15)
    assert [event.name for event in motion.events] == ["bump", "bump"]


# -------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("method", EVERY)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda t, q, v: [np.nan], "returned .* not finite"),
        (lambda t, q, v: [0.0, 0.0], r"returned shape \(2,\), expected \(1,\)"),
        (lambda t, q, v: "torque", "no array of numbers"),
        (lambda t, q, v: 1 / 0, "raised ZeroDivisionError"),
    ],
)
def test_fault_of_a_controller_names_time_and_state_and_keeps_the_motion(method, wrong, message):
    def control(t, q, v):
        return [0.0] if t < 0.3 else wrong(t, q, v)

    with pytest.raises(SimulationError, match=message) as caught:
        simulate(pendulum(), [1.0], None, 1.0, control=control, **by(method, 0.01))
    error = caught.value
    assert 0.3 <= error.time < 0.45
    assert error.partial.status == "failed"
    assert 0 < error.partial.t[-1] <= 0.3 + 1e-9
    assert f"t = {error.time:.9g}" in str(error)
    assert error.q.shape == error.v.shape == (1,)


def test_a_controller_that_fails_at_once_is_told_with_the_start():
    with pytest.raises(SimulationError, match=r"returned shape \(2,\).*\n  at t = 0 s\n  q = \[1.\]") as caught:
        simulate(pendulum(), [1.0], None, 1.0, control=lambda t, q, v: [0.0, 0.0])
    assert len(caught.value.partial) == 0


@pytest.mark.parametrize("method", EVERY)
@pytest.mark.parametrize("speed", [1e140, 1e200])
def test_speeds_beyond_physics_end_with_an_error(method, speed):
    """Squares overflow; SciPy would look for a step without end. The double pendulum has such squares."""
    mechanism = load("double_pendulum", parameters="default")
    with pytest.raises(SimulationError) as caught:
        simulate(mechanism, [1.0, 0.5], [speed, 0.0], 0.1, method=method)
    assert caught.value.partial.t[0] == 0


def test_a_controller_cannot_change_the_state():
    def control(t, q, v):
        q[:] = 7
        return [0.0]

    quiet = simulate(pendulum(), [1.0], None, 0.5)
    assert np.array_equal(simulate(pendulum(), [1.0], None, 0.5, control=control).q, quiet.q)


@pytest.mark.exact_start
def test_singular_mass_matrix_is_told():
    with pytest.raises(SimulationError, match="mass matrix is singular"):
        simulate(top("zxz"), None, None, 1.0)  # gimbal lock


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": -1.0}, "must be positive"),
        ({"t": np.nan}, "finite"),
        ({"t": [0, 1, 0.5]}, "must increase"),
        ({"t": [[0, 1]]}, "one dimension"),
        ({"t": "soon"}, "duration"),
        ({"t": "5"}, "duration"),
        ({"q0": ["1"]}, "q0: expected real numbers"),
        ({"q0": {"hinge": "1"}}, r"q0\['hinge'\] = '1'"),
        ({"control": ["1"]}, "control is"),
        ({"hold": "0.1"}, "hold = '0.1' s"),
        ({"q0": [1.0, 2.0]}, r"q0 has shape \(2,\)"),
        ({"q0": [np.inf]}, "q0.* is inf"),
        ({"v0": [np.nan]}, "v0.* is nan"),
        ({"q0": {"elbow": 1.0}}, "no joint 'elbow'"),
        ({"v0": {"hinge": [1.0, 2.0]}}, "joint 'hinge' takes one number"),
        ({"control": [1.0, 2.0]}, r"control has shape \(2,\)"),
        ({"method": "euler"}, "no method 'euler'"),
        ({"rtol": -1}, "rtol"),
        ({"method": "rk4", "step": 0}, "step"),
        ({"method": "rk4", "step": "short"}, "step = 'short' s; it must be a positive number"),
        ({"rtol": "none"}, "rtol = 'none'"),
        ({"step": -1}, "step = -1"),
        ({"max_step": "x"}, "max_step"),
        ({"hold": 0.0}, "hold"),
        ({"hold": "long"}, "hold"),
        ({"wrenches": 3}, "wrenches are 3"),
        ({"events": 3}, "events"),
        ({"wrenches": {"hand": np.zeros(6)}}, "no frame 'hand'"),
        ({"wrenches": {"bob": np.zeros(3)}}, r"shape \(3,\)"),
        ({"include": ("inertia",)}, "include"),
        ({"parameters": {"m": 1}}, "has no parameters"),
        ({"elements": ["spring"]}, "no force element 'spring'; it has none"),
        ({"elements": 3}, "elements"),
    ],
)
def test_bad_input_is_refused_by_name(change, message):
    given = {"mechanism": pendulum(), "q0": [1.0], "v0": [0.0], "t": 1.0, **change}
    with pytest.raises(ArgumentError, match=message):
        simulate(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"step": 1e-3}, "^step belongs to the methods .*rk4.*; DOP853 chooses its steps by rtol and atol"),
        ({"method": "rk4", "rtol": 1e-6}, "^rtol belongs to the methods DOP853.*; rk4 takes steps of the length step"),
        ({"method": "variational", "atol": 1e-6, "max_step": 0.1}, "^atol and max_step belong to"),
        ({"drift": "ggl", "stabilisation": 10.0}, "'pendulum' has no constraints, so that drift"),
        ({"stabilisation": 10.0}, "'pendulum' has no constraints"),
    ],
)
def test_what_a_method_does_not_use_is_told(given, message):
    with pytest.warns(SimulationWarning, match=message) as told:
        motion = simulate(pendulum(), [1.0], None, 0.1, **given)
    assert told[0].filename == __file__
    assert motion.status == "finished"


def test_nothing_is_told_of_what_is_used():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(pendulum(), [1.0], None, 0.1, rtol=1e-6, atol=1e-6, max_step=0.1, drift="projection")
        simulate(pendulum(), [1.0], None, 0.1, method="rk4", step=1e-2)
        rollout(pendulum(), [1.0], None, 10, drift="projection")
    with pytest.warns(SimulationWarning, match="no constraints") as told:
        rollout(pendulum(), [1.0], None, 10, drift="baumgarte", stabilisation=5.0)
    assert told[0].filename == __file__


def test_stops_must_be_an_interval():
    for wrong in ({}, {"lower": 1.0, "upper": 0.0}):
        with pytest.raises(ArgumentError, match="no interval"):
            joint_stop(pendulum(), "hinge", **wrong)


def test_locked_mechanism_is_refused():
    with pytest.raises(ArgumentError, match="no degree of freedom"):
        simulate(lock(pendulum(), {"hinge": 0.3}), None, None, 1.0)


def test_quaternion_that_is_no_rotation_is_refused():
    ball = Mechanism("ball", (Body("b", Inertia.sphere(1, 1)),), (Joint("s", "spherical", "world", "b"),))
    with pytest.raises(ArgumentError, match="unit quaternion"):
        simulate(ball, [0, 0, 0, 1.1], None, 1.0)


def test_interrupt_keeps_what_was_computed_and_ends_scripts(heard):
    def control(t, q, v):
        if t > 1:
            _thread.interrupt_main()
        return [0.0]

    with pytest.raises(KeyboardInterrupt, match=r"interrupted at t = .*partial") as stopped:
        simulate(pendulum(), [1.0], None, 1e4, control=control)
    motion = stopped.value.partial
    assert motion.status == "interrupted"
    assert 0 < motion.t[-1] < 1e4
    assert np.isfinite(motion.q).all()


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_an_interrupt_between_two_lines_of_the_record_keeps_whole_samples(monkeypatch, kept):
    """Ctrl-C may come anywhere: here while the samples of the compiled loop are written down, part by part."""
    whole = Recorder.extend

    def interrupted(self, times, states):
        lists = self.t, self.x, self.tau, self.wrenches
        before = [len(part) for part in lists]
        whole(self, times, states)
        for part, length in list(zip(lists, before))[kept:]:
            del part[length:]
        raise KeyboardInterrupt

    monkeypatch.setattr(Recorder, "extend", interrupted)
    with pytest.raises(KeyboardInterrupt, match="interrupted") as stopped:
        simulate(pendulum(), [1.0], None, 5.0, method="rk4", step=1e-3)
    motion = stopped.value.partial
    assert motion.status == "interrupted"
    assert len(motion.t) == len(motion.q) == len(motion.v) == len(motion.tau) == len(motion.wrenches) == 1
    assert np.isfinite(motion.energy).all()


def test_an_interrupt_of_a_long_motion_loses_only_the_last_samples(monkeypatch):
    """However fast the compiled loop is, samples come in small pieces, and the message tells how far they reach."""
    whole, pieces = Recorder.extend, []

    def interrupted(self, times, states):
        pieces.append(len(times))
        whole(self, times, states)
        if sum(pieces) > 150_000:
            del self.wrenches[-1:]
            raise KeyboardInterrupt

    monkeypatch.setattr(Recorder, "extend", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        simulate(pendulum(), [1.0], None, 1e4, method="rk4", step=1e-3)
    motion = stopped.value.partial
    assert max(pieces) <= 10_000
    assert len(motion) == sum(pieces)  # and the first one, but for the last one
    assert f"t = {motion.t[-1]:.6g} s" in str(stopped.value)


@pytest.mark.parametrize("options", [{}, {"sweeps": 10}, {"method": "event-driven"}, {"law": "convex"}])
def test_an_interrupt_keeps_contacts(options):
    """Of a ball that falls and touches."""
    ball = Body("ball", Inertia.sphere(1, 0.1))
    touch = Contact("touch", "ball", shape_a=Shape("sphere", (0.1,)), friction=0.3)
    model = Mechanism("ball", (ball,), (Joint("base", "free", "world", "ball"),), contacts=(touch,))

    def control(t, q, v):
        if t > 0.2:
            raise KeyboardInterrupt
        return np.zeros(6)

    with pytest.raises(KeyboardInterrupt, match=r"interrupted at t = 0\.") as stopped:
        simulate(model, [0, 0, 0.2, 0, 0, 0, 1], None, 1.0, control=control, **options)
    motion = stopped.value.partial
    assert motion.status == "interrupted" and 0 < motion.t[-1] <= 0.2
    assert len(motion.contacts.forces) == len(motion)


def test_progress_is_shown_only_when_asked_for_or_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr("dalembert.text.progress.PATIENCE", 0.0)
    simulate(pendulum(), [1.0], None, 5.0)
    assert capsys.readouterr().err == ""
    simulate(pendulum(), [1.0], None, 5.0, progress=True, method="rk4", step=1e-3)
    shown = capsys.readouterr().err
    assert "simulating pendulum" in shown
    assert "%" in shown


def test_progress_on_a_terminal_waits_until_work_is_long(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def told(duration, stream, patience=0.1):
        monkeypatch.setattr("dalembert.text.progress.PATIENCE", patience)
        monkeypatch.setattr(sys, "stderr", stream)
        simulate(pendulum(), [1.0], None, 0.5, control=lambda t, q, v: (time.sleep(duration), [0.0])[1])
        return stream.getvalue()

    assert told(0.0, Terminal(), 60) == ""
    assert told(0.01, io.StringIO()) == ""
    long = told(0.01, Terminal())
    assert "simulating pendulum [" in long
    assert long.endswith(" \r")  # and is wiped away


def test_dynamics_can_be_given_and_must_fit():
    dynamics = Dynamics(pendulum(), include=("damping",))
    assert len(simulate(dynamics, [1.0], None, 0.5)) > 1
    with pytest.raises(ArgumentError, match="include"):
        simulate(dynamics, [1.0], None, 0.5, include=("friction",))
    with pytest.raises(ArgumentError, match="wrench acts on 'bob'"):
        simulate(dynamics, [1.0], None, 0.5, wrenches={"bob": np.zeros(6)})


def test_sparse_trajectory_knows_its_samples_only():
    motion = simulate(pendulum(), [1.0], None, 0.5, dense=False)
    with pytest.raises(UnsupportedError, match="dense=False"):
        motion(0.2)


def test_a_period_without_a_controller_is_refused():
    arm = load("demo_arm")
    with pytest.raises(ArgumentError, match=r"hold = 0\.01 s is the period of a controller; there is no control"):
        simulate(arm, None, None, 1.0, hold=0.01)
    with pytest.raises(ArgumentError, match="hold = 2 is the zero-order hold of a control; there is none"):
        rollout(arm, None, None, 4, hold=2)


def test_dissipation_is_that_of_joints_alone():
    """The same damper as a term of the joint and as a force element: the element is not counted."""
    body, joint = Body("b", Inertia(1.0)), Joint("j", "prismatic", WORLD, "b", axis=[1, 0, 0])
    own = Mechanism("own", [body], [joint.replace(damping=2.0)])
    element = Mechanism("element", [body], [joint], forces=[Force("damper", "joint-spring", "j", damping=2.0)])
    mine = simulate(Dynamics(own, include=["damping"]), [0], [1], 0.5)
    theirs = simulate(Dynamics(element, elements="all"), [0], [1], 0.5)
    assert np.abs(mine.v[-1] - theirs.v[-1]).max() < 1e-7  # both by integration to 1e-8 or so
    np.testing.assert_allclose(mine.dissipation, 2 * mine.v[:, 0] ** 2, rtol=1e-12)
    assert not theirs.dissipation.any()


WAYS = {
    "DOP853": ({}, 1e-7), "LSODA": ({}, 1e-5), "hold": ({"hold": 0.05}, 1e-7), "rk4": ({"step": 5e-3}, 1e-6),
    "fixed hold": ({"method": "lie-rk4", "step": 5e-3, "hold": 0.05}, 1e-6),
    "constant": ({"method": "rk4", "step": 3e-3, "control": [0.3, -0.1]}, 1e-6),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_work_does_not_depend_on_samples(way):
    """It is the change of energy, also where forces change many times between samples."""
    options, close = WAYS[way]
    given = {"control": lambda t, q, v: [2 * np.sin(3 * t), 0]} | (
        {"method": way} if way in {*ADAPTIVE, *STEPPERS} else {}
    )
    dynamics, found = Dynamics(double_pendulum()), []
    for count in (11, 21, 51, 2001):
        motion = simulate(dynamics, [1.0, 0], None, np.linspace(0, 10, count), **(given | options))
        found.append(motion.work[-1])
        gain = motion.energy - motion.energy[0]
        assert abs(motion.work[-1] - gain[-1]) < close and abs(gain[-1]) > 0.1
        assert np.abs(motion.work - gain).max() < (1e-4 if way == "LSODA" else 2e-5)
        part = motion[2:]
        np.testing.assert_allclose(part.work, motion.work[2:] - motion.work[2], atol=1e-12)
    np.testing.assert_allclose(found, found[0], atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_losses_of_joints_do_not_depend_on_samples(way, tmp_path):
    """They are what the work exceeds the gain of energy by."""
    options, close = WAYS[way]
    given = {"control": lambda t, q, v: [2 * np.sin(3 * t), 0]} | (
        {"method": way} if way in {*ADAPTIVE, *STEPPERS} else {}
    )
    pendulum, found = double_pendulum(), []
    damped = pendulum.replace(joints=[joint.replace(damping=0.05) for joint in pendulum.joints])
    for count in (3, 11, 401):
        motion = simulate(damped, [1.0, 0], None, np.linspace(0, 4, count), include=("damping",), **(given | options))
        found.append(motion.lost[-1])
        assert abs(motion.work[-1] - motion.energy[-1] + motion.energy[0] - motion.lost[-1]) < close
        motion.to_npz(tmp_path / "motion.npz")
        again = load_trajectory(tmp_path / "motion.npz", damped)
        assert np.array_equal(again.work, motion.work) and np.array_equal(again.lost, motion.lost)
    assert found[0] > 0.1
    np.testing.assert_allclose(found, found[0], atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"method": "event-driven"}])
def test_work_on_what_touches_does_not_depend_on_samples(options):
    ball = Body("ball", Inertia.sphere(1, 0.1))
    touch = Contact("touch", "ball", shape_a=Shape("sphere", (0.1,)), friction=0.1)
    model = Mechanism("ball", (ball,), (Joint("base", "free", "world", "ball"),), contacts=(touch,))
    dynamics, found = Dynamics(model), []
    for count in (3, 11, 401):
        motion = simulate(
            dynamics, [0, 0, 0.11, 0, 0, 0, 1], None, np.linspace(0, 0.4, count),
            control=lambda t, q, v: [2 * np.sin(30 * t), 0, 0, 0, 0, 0.01], **options,
        )  # fmt: skip
        lost = motion.contacts.friction_loss + motion.contacts.impact_loss - motion.contacts.push_work
        found.append(motion.work[-1])
        assert abs(motion.work[-1] - motion.energy[-1] + motion.energy[0] - lost[-1]) < (1e-8 if options else 1e-3)
    np.testing.assert_allclose(found, found[0], rtol=1e-9 if options else 5e-2)


@pytest.mark.parametrize("options", [{"step": 1e-3}, {"method": "event-driven"}])
def test_losses_of_joints_that_touch_are_counted_once(options):
    """Dry friction of a joint is solved with the contacts and is among their losses."""
    rod = Body("rod", Inertia.box(1, (0.1, 0.1, 1), (0, 0, -0.5)))
    above = Transform.from_translation((0, 0, 0.9))
    joint = Joint("j", "revolute", "world", "rod", above, axis=(0, 1, 0), damping=0.3, friction=0.2)
    touch = Contact(
        "tip", "rod", shape_a=Shape("sphere", (0.05,), Transform.from_translation((0, 0, -1))), friction=0.3
    )
    model = Mechanism("arm", [rod], [joint], contacts=[touch])
    motion = simulate(model, [1.2], None, [0, 1], include=("damping", "friction"), **options)
    there = motion.contacts
    lost = motion.lost + there.friction_loss + there.impact_loss - there.push_work
    assert motion.lost[-1] > 0.1
    assert abs(motion.energy[-1] - motion.energy[0] + lost[-1]) < 1e-5
