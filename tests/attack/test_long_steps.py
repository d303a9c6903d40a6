"""What lies between the few looks of a long step: events, pulses, walls; all of it found, or a warning."""

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError, SimulationWarning
from dalembert.simulation import Event

BODY = da.Body("b", da.Inertia(1.0, (0, 0, 0), np.eye(3)))


@pytest.fixture(scope="module")
def rotor():
    joint = da.Joint("j", "revolute", "world", "b")
    return da.Dynamics(da.Mechanism("rotor", [BODY], [joint], gravity=(0, 0, 0)))


@pytest.fixture(scope="module")
def slider():
    joint = da.Joint("j", "prismatic", "world", "b")
    return da.Dynamics(da.Mechanism("slider", [BODY], [joint], gravity=(0, 0, 0)))


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "LSODA"])
def test_every_zero_in_long_steps_is_found(method, rotor):
    """A10: sin(20 q), q = 0.01 + t, up to 20 s: zeros where 20 q = k pi, k up to 127; the steps are seconds long."""
    tick = Event(lambda t, q, v: np.sin(20 * q[0]), name="tick")
    motion = da.simulate(rotor, [0.01], [1.0], 20.0, events=tick, method=method)
    found = np.array([event.t for event in motion.events])
    want = np.arange(1, int(20 * 20.01 / np.pi) + 1) * np.pi / 20 - 0.01
    assert len(found) == len(want) == 127
    assert np.abs(found - want).max() < 1e-9


def test_two_zeros_close_together_are_found(slider):
    window = Event(lambda t, q, v: (q[0] - 5.0) * (q[0] - 5.001), name="window")
    motion = da.simulate(slider, [0.0], [1.0], 10.0, events=window)
    assert [event.t for event in motion.events] == pytest.approx([5.0, 5.001], abs=1e-9)


def test_more_zeros_than_can_be_looked_at_are_a_warning(rotor, monkeypatch):
    from dalembert.simulation import events

    monkeypatch.setattr(events, "LOOKS", 50)
    with pytest.warns(SimulationWarning, match="'tick' changes so often .* bound the steps by max_step"):
        da.simulate(rotor, [0.0], [1.0], 1e5, events=Event(lambda t, q, v: np.sin(q[0]), name="tick"))


def test_kinks_and_jumps_of_events_are_no_reason_to_warn(slider, recwarn):
    kinked = Event(lambda t, q, v: abs(q[0] - 3) - 1, name="kinked")
    jumps = Event(lambda t, q, v: -1.0 if q[0] < 7.25 else 1.0, name="jumps")
    motion = da.simulate(slider, [0.0], [1.0], 10.0, events=[kinked, jumps])
    assert [(event.name, round(event.t, 9)) for event in motion.events] == [
        ("kinked", 2),
        ("kinked", 4),
        ("jumps", 7.25),
    ]
    assert not recwarn.list


METHODS = ["DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA"]


@pytest.mark.parametrize("method", METHODS)
def test_a_pulse_between_two_steps_is_seen(method, slider):
    """A11: 1000 N for 10 ms on 1 kg, in ten seconds of nothing; and a force that begins shortly before the end."""
    pulse = da.simulate(slider, [0.0], [0.0], 10.0, control=lambda t, q, v: [1000.0 * (5 < t < 5.01)], method=method)
    assert pulse.v[-1, 0] == pytest.approx(10, abs=1e-6)
    late = da.simulate(slider, [0.0], [0.0], 10.0, control=lambda t, q, v: [1.0 * (t > 9.9)], method=method)
    assert late.v[-1, 0] == pytest.approx(0.1, abs=1e-7)


@pytest.mark.parametrize("method", [*METHODS, "rk4"])
def test_a_pulse_too_short_to_be_found_is_given_by_breakpoints(method, slider):
    pulse = {"control": lambda t, q, v: [1000.0 if 5 < t < 5.0001 else 0.0], "breakpoints": [5, 5.0001]}
    fixed = {"step": 0.1} if method == "rk4" else {}
    motion = da.simulate(slider, [0.0], [0.0], 10.0, method=method, **pulse, **fixed)
    assert motion.v[-1, 0] == pytest.approx(0.1, abs=1e-9)
    assert len(motion) < 110
    at = np.flatnonzero(motion.t == 5)
    assert motion.tau[at[-1], 0] == 1000  # where it changes, the new one


def test_wrenches_and_forces_of_states_are_looked_at_too(slider):
    """A wall in the way, stiff and thin: energy is kept, and the velocity reversed."""
    slider = da.Dynamics(slider.mechanism, wrenches=["b"])

    def wall(t, q, v):
        return [0, 0, -1000 * max(q[0] - 5, 0.0), 0, 0, 0]

    motion = da.simulate(slider, [0.0], [1.0], 10.0, wrenches={"b": wall})
    assert motion.v[-1, 0] == pytest.approx(-1, abs=1e-6)


def test_smooth_controls_cost_no_steps(slider, monkeypatch):
    """Where there is nothing to find, the steps are those that tolerances choose."""
    from dalembert.simulation import breaks

    def control(t, q, v):
        return [np.sin(3 * t) - 2 * q[0] - 0.1 * v[0]]

    with_looks = da.simulate(slider, [0.3], [0.0], 20.0, control=control)
    monkeypatch.setattr(breaks.Breaks, "within", lambda *_: False)
    without = da.simulate(slider, [0.3], [0.0], 20.0, control=control)
    assert np.array_equal(with_looks.t, without.t) and np.array_equal(with_looks.q, without.q)


def test_bad_breakpoints_are_refused_by_name(slider):
    for wrong in ("soon", [1j], [np.nan]):
        with pytest.raises(ArgumentError, match="breakpoints"):
            da.simulate(slider, [0.0], [0.0], 1.0, breakpoints=wrong)
