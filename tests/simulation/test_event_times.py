"""Events that come at once, between legs of the integration, or exactly at the end are not lost."""

import numpy as np
import pytest
from motion_cases import pendulum

from dalembert.errors import ArgumentError
from dalembert.simulation import Event, SimulationError, simulate

METHODS = ("DOP853", "LSODA", "rk4", "variational")


def at(moment, slope=1.0, **options):
    return Event(lambda t, q, v: slope * (t - moment), name=f"{moment} {slope}", **options)


def names(motion):
    return [happened.name for happened in motion.events]


@pytest.mark.parametrize("method", METHODS)
def test_all_events_of_one_instant_happen(method):
    def kick(size):
        return lambda t, q, v: (q, v + size)

    plain = simulate(pendulum(), [1.0], None, 0.5, method=method, events=[at(0.25), at(0.25, 3.0)])
    assert names(plain) == ["0.25 1.0", "0.25 3.0"]
    both = [at(0.25, reset=kick(1.0)), at(0.25, -7.0, reset=kick(10.0))]
    kicked = simulate(pendulum(), [1.0], None, 0.5, method=method, events=both)
    after = kicked(0.25).v - kicked.events[0].v
    assert after == pytest.approx(11.0, abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_stop_is_heard_beside_another_event(method):
    motion = simulate(pendulum(), [1.0], None, 1.0, method=method, events=[at(0.25), at(0.25, 2.0, stop=True)])
    assert motion.status == "stopped by event '0.25 2.0'"
    assert motion.t[-1] == pytest.approx(0.25, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_events_between_legs_and_at_the_end_are_seen(method):
    chosen = simulate(pendulum(), [1.0], None, [0, 0.25, 0.5], method=method, events=[at(0.25), at(0.5, -1.0)])
    assert names(chosen) == ["0.25 1.0", "0.5 -1.0"]
    held = simulate(
        pendulum(), [1.0], None, 0.5, method=method, events=at(0.25), control=lambda t, q, v: [0.0], hold=0.25
    )
    assert names(held) == ["0.25 1.0"]
    ended = simulate(pendulum(), [1.0], None, 0.5, method=method, events=at(0.5, stop=True))
    assert ended.status == "stopped by event '0.5 1.0'"
    assert names(simulate(pendulum(), [1.0], None, 0.5, events=at(0.5, direction=-1))) == []


def test_nearly_simultaneous_events_come_in_order():
    motion = simulate(pendulum(), [1.0], None, 0.5, events=[at(0.25 + 1e-7), at(0.25)])
    assert np.diff([happened.t for happened in motion.events]) == pytest.approx(1e-7, abs=1e-12)


def test_a_condition_is_no_event():
    with pytest.raises(SimulationError, match="returned True; give a number that passes zero"):
        simulate(pendulum(), [1.0], None, 0.5, events=lambda t, q, v: q[0] > 0.5)


def test_a_step_that_time_cannot_feel_is_refused():
    with pytest.raises(ArgumentError, match="time would not advance"):
        simulate(pendulum(), [1.0], None, 1.0, method="rk4", step=1e-20)
