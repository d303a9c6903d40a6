"""Events that come at once, between legs of the integration, or exactly at the end are not lost."""

import numpy as np
import pytest
from motion_cases import GRAVITY, by, pendulum
from scipy.special import ellipk

from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError
from dalembert.formats import load
from dalembert.model import Body, Force, Inertia, Joint, Mechanism
from dalembert.simulation import Event, SimulationError, integrators, joint_stop, simulate
from dalembert.simulation.stabiliser import Stabiliser
from random_mechanisms import random_mechanism

METHODS = ("DOP853", "LSODA", "rk4", "variational")


def at(moment, slope=1.0, **options):
    return Event(lambda t, q, v: slope * (t - moment), **({"name": f"{moment} {slope}"} | options))


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
@pytest.mark.parametrize("given", [{}, {"control": lambda t, q, v: [0.0], "hold": 0.03}], ids=["", "hold"])
def test_what_only_notes_changes_nothing(method, given):
    """Steps are the same, number for number; many events of one step come in order, before one that stops."""
    times, ticks = np.linspace(0, 0.5, 6), np.linspace(0.013, 0.487, 23)
    options = by(method, 1e-2) | given
    plain = simulate(pendulum(), [1.0], None, times, **options)
    noted = simulate(pendulum(), [1.0], None, times, events=[at(k) for k in ticks[::-1]], **options)
    assert np.array_equal(noted.q, plain.q) and np.array_equal(noted.v, plain.v)
    assert noted.info["evaluations"] >= plain.info["evaluations"]
    assert np.abs([happened.t for happened in noted.events] - ticks).max() < 1e-12
    last = at(0.4, stop=True)
    stopped = simulate(pendulum(), [1.0], None, times, events=[last, *(at(k) for k in ticks)], **options)
    assert len(stopped.events) == np.count_nonzero(ticks < 0.4) + 1 and stopped.t[-1] == pytest.approx(0.4, abs=1e-12)


def test_samples_and_interpolation_have_the_instants_of_events():
    motion = simulate(pendulum(), [1.0], None, 0.5, events=[at(0.1), at(0.11), at(0.12)])
    for happened in motion.events:
        assert np.count_nonzero(motion.t == happened.t) == 1
        assert np.array_equal(motion(happened.t).q, happened.q)
    assert (np.diff(motion.t) > 0).all()


def test_many_events_may_come_within_a_microsecond():
    ticks = 0.25 + 1e-7 * np.arange(12)
    motion = simulate(pendulum(), [1.0], None, 0.5, events=[at(k) for k in ticks])
    assert np.abs([happened.t for happened in motion.events] - ticks).max() < 1e-12


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


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("beyond", [1, 2, 5, 100])
def test_an_event_within_rounding_of_the_end_happens_once(method, beyond):
    end = 0.5 + beyond * np.spacing(0.5)
    motion = simulate(pendulum(), [1.0], None, end, events=at(0.5), **by(method, 1e-2))
    assert (names(motion), motion.status, motion.t[-1]) == (["0.5 1.0"], "finished", end)


@pytest.mark.parametrize("options", [{}, {"max_step": 4e-3}, {"hold": 0.01}, {"method": "rk4", "step": 1e-2}])
def test_events_do_not_accumulate_because_they_fall_on_ends_of_steps(options):
    period = 0.05
    ticks = Event(lambda t, q, v: np.sin(np.pi * t / period))
    motion = simulate(pendulum(), [1.0], None, 10.5 * period, control=[0.0], events=ticks, **options)
    assert [happened.t for happened in motion.events] == pytest.approx(period * np.arange(1, 11), abs=1e-12)


@pytest.mark.parametrize("method", [*METHODS, "RK45", "Radau"])
def test_what_is_not_wanted_is_not_told_because_something_else_happens_before(method):
    """At all distances, in all parts of steps: a crossing in the other direction just after an event."""
    for apart in (1e-3, 8e-3):
        ticks = np.arange(0.0025, 0.5 - apart, 0.022)
        events = [at(k) for k in ticks] + [at(k + apart, direction=-1, name="unwanted") for k in ticks]
        motion = simulate(pendulum(), [1.0], None, 0.5, events=events, **by(method, 0.1))
        assert names(motion) == [f"{k} 1.0" for k in ticks]


@pytest.mark.parametrize("method", ["RK23", "LSODA", "rk4"])
def test_looking_for_events_costs_few_projections(method, monkeypatch):
    """Only ends of steps, and what is near an event, are brought to the constraints; its time is that of the state
    which is there.
    """
    linkage = Dynamics(load("four_bar", parameters="default"))
    q = linkage.assemble([1.0, -0.7, 1.6], keep=["drive"])
    v = linkage.project_velocity(q, [2.0, 0, 0], keep=["drive"])
    counted, closed = [], Stabiliser.closed

    def counting(self, t, x):
        counted.append(t)
        return closed(self, t, x)

    monkeypatch.setattr(Stabiliser, "closed", counting)
    events = [Event(lambda t, q, v, k=k: q[2] - 1.6 - 0.05 * k, name=str(k)) for k in range(4)]
    options = by(method, 1e-2, rtol=1e-6, atol=1e-6)
    counts = {}
    for given in ([], events):
        counted.clear()
        motion = simulate(linkage, q, v, 1.0, events=given, **options)
        counts[len(given)] = len(counted)
    assert len(motion.events) > 1
    assert counts[4] <= 2 * counts[0] + 60 * len(motion.events)
    for happened in motion.events:
        assert happened.q[2] == pytest.approx(1.6 + 0.05 * int(happened.name), abs=1e-13)
        assert np.abs(linkage.residual(happened.q)["pin"]).max() < 1e-13


@pytest.mark.parametrize("frequency", [1.0, 1e6, 1e7])
def test_events_of_fast_oscillators_do_not_accumulate(frequency):
    """x = cos(w t) of a microscopic resonator, and one that always hits its stop at -1/2: periods 2/3 as long."""
    spring = Force("k", "joint-spring", "x", stiffness=(2 * np.pi * frequency) ** 2)
    body, joint = Body("b", Inertia.point(1.0)), Joint("x", "prismatic", "world", "b", axis=[1, 0, 0])
    resonator = Mechanism("resonator", [body], [joint], gravity=[0, 0, 0], forces=(spring,))
    stop = joint_stop(resonator, "x", lower=-0.5, restitution=1.0)
    for events, first, period in ((lambda t, q, v: q[0], 1 / 4, 1 / 2), (stop, 1 / 3, 2 / 3)):
        motion = simulate(resonator, [1.0], None, 10 / frequency, events=events, elements="all")
        times = frequency * np.array([happened.t for happened in motion.events])
        assert times == pytest.approx(np.arange(first, 10, period), abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_a_motion_may_end_when_an_event_has_happened_so_often(method):
    """As with SciPy's ``terminal``; each event counts for itself, also of the same name, and also if it resets."""

    def ticks(t, q, v):
        return np.sin(np.pi * t / 0.05)

    reset = Event(ticks, stop=3, reset=lambda t, q, v: (q, v), name="ticks")
    counted = lambda t, q, v: ticks(t, q, v)  # noqa: E731
    counted.terminal = 3
    other = Event(lambda t, q, v: t - 0.01, stop=2, name="ticks")
    for event in (Event(ticks, stop=3, name="ticks"), reset, counted):
        motion = simulate(pendulum(), [1.0], None, 0.5, events=[other, event], **by(method, 1e-2))
        assert motion.status.startswith("stopped by event")
        assert len(motion.events) == 4
        assert motion.t[-1] == pytest.approx(0.15, abs=1e-12)
    assert simulate(pendulum(), [1.0], None, 0.5, events=Event(ticks, stop=99)).status == "finished"


@pytest.mark.parametrize("stop", [-1, 1.5, "no", None])
def test_how_often_is_a_whole_number(stop):
    with pytest.raises(ArgumentError, match="stop = "):
        Event(lambda t, q, v: 1.0, stop=stop)


def test_nearly_simultaneous_events_come_in_order():
    motion = simulate(pendulum(), [1.0], None, 0.5, events=[at(0.25 + 1e-7), at(0.25)])
    assert np.diff([happened.t for happened in motion.events]) == pytest.approx(1e-7, abs=1e-12)


def test_a_condition_is_no_event():
    with pytest.raises(SimulationError, match="returned True; give a number that passes zero"):
        simulate(pendulum(), [1.0], None, 0.5, events=lambda t, q, v: q[0] > 0.5)


def test_a_step_that_time_cannot_feel_is_refused():
    with pytest.raises(ArgumentError, match="time would not advance"):
        simulate(pendulum(), [1.0], None, 1.0, method="rk4", step=1e-20)


# ----------------------------------------------------------------------------------------------- zeros that are touched


def touching(moment, above=0.0, sign=1.0, **options):
    given = {"touch": 1e-6, "name": f"touches at {moment}"} | options
    return Event(lambda t, q, v: sign * ((t - moment) ** 2 + above), **given)


@pytest.mark.parametrize("method", METHODS)
def test_a_swing_touches_its_amplitude_once_per_period(method):
    """Released at 1 rad, the pendulum is there again after each period, and never beyond.

    On which side the start lies a rounding error decides: what is found there does not count.
    """
    period = 4 * np.sqrt(0.7 / GRAVITY) * ellipk(np.sin(0.5) ** 2)
    peak = Event(lambda t, q, v: q[0] - 1.0, touch=1e-4, name="peak")
    options = by(method, 5e-3, rtol=1e-10, atol=1e-10)
    motion = simulate(pendulum(), [1.0], None, 3.4 * period, events=peak, **options)
    found = [happened.t for happened in motion.events if happened.t > 1e-6]
    assert len(found) == 3
    allowed = 1e-3 if method == "variational" else 1e-5  # of second order; at an extreme the root of errors counts
    assert np.abs(found - period * np.arange(1, 4)).max() < allowed
    unseen = simulate(pendulum(), [1.0], None, 3.4 * period, events=lambda t, q, v: q[0] - 1.001, **options)
    assert not unseen.events


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("given", [{}, {"control": lambda t, q, v: [0.0], "hold": 0.25}], ids=["", "hold"])
def test_touches_are_seen_wherever_steps_end(method, given):
    """Also between legs, exactly at chosen times, from below, and several at once."""
    events = [touching(0.25), touching(0.25, 1e-7, name="near"), touching(0.4, sign=-1.0)]
    events += [touching(0.3, 1e-3, name="far"), touching(0.3, touch=0.0, name="unasked")]
    events += [touching(0.3, direction=1, name="from above"), touching(0.45, sign=-2.0, direction=1, name="from below")]
    for t in (0.5, np.linspace(0, 0.5, 11)):
        motion = simulate(pendulum(), [1.0], None, t, events=events, **by(method, 1e-2), **given)
        assert names(motion) == ["touches at 0.25", "near", "touches at 0.4", "from below"]
        assert np.abs([happened.t for happened in motion.events] - np.array([0.25, 0.25, 0.4, 0.45])).max() < 1e-6


def test_a_touch_may_stop_or_change_the_motion():
    stopped = simulate(pendulum(), [1.0], None, 1.0, events=touching(0.3, stop=True))
    assert stopped.status == "stopped by event 'touches at 0.3'"
    assert stopped.t[-1] == pytest.approx(0.3, abs=1e-6)
    kicked = simulate(pendulum(), [1.0], None, 1.0, events=touching(0.3, reset=lambda t, q, v: (q, v + 5.0)))
    assert len(kicked.events) == 1
    assert kicked(kicked.events[0].t).v - kicked.events[0].v == pytest.approx(5.0, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("touch", [0.0, 1e-9])
def test_passing_for_a_moment_is_two_crossings(method, touch):
    """So short that no point at which events are looked for lies between them; each has its own direction."""
    there, back = 0.2999, 0.3001
    for direction, times in ((0, [there, back]), (-1, [there]), (1, [back])):
        brief = touching(0.3, -1e-8, touch=touch, direction=direction)
        motion = simulate(pendulum(), [1.0], None, 1.0, events=brief, **by(method, 1e-2))
        assert [happened.t for happened in motion.events] == pytest.approx(times, abs=1e-9)


@pytest.mark.parametrize("method", ["DOP853", "Radau", "LSODA", "rk4"])
@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_a_stop_holds_however_long_the_steps_are(method, gap):
    """Thrown up against a ceiling just below where it would turn back: integrators make a single step of that."""
    ball = Mechanism("ball", [Body("ball", Inertia.point(1.0))], [Joint("z", "prismatic", "world", "ball")])
    ceiling = 5.0**2 / (2 * 9.81) - gap
    stop = joint_stop(ball, "z", upper=ceiling, restitution=1.0)
    motion = simulate(ball, [0.0], [5.0], 1.0, events=stop, method=method)
    assert len(motion.events) == 1
    assert motion.events[0].q == pytest.approx(ceiling, abs=1e-9)
    assert motion.q.max() <= ceiling + 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_errors_that_carry_a_touch_beyond_zero_do_not_make_two(method):
    for beyond in (1e-7, 1e-13):
        for moment in (0.25, 0.331):
            motion = simulate(pendulum(), [1.0], None, 0.5, events=touching(moment, -beyond), **by(method, 1e-2))
            assert len(motion.events) == 1
            assert motion.events[0].t == pytest.approx(moment, abs=1e-3)


def test_staying_near_zero_is_one_touch():
    """A function that comes to rest within the tolerance does not happen again and again."""
    rest = Event(lambda t, q, v: 1e-3 * np.exp(-50 * t) + 1e-9 * np.cos(300 * t) + 2e-9, touch=1e-6)
    assert len(simulate(pendulum(), [1.0], None, 2.0, events=rest, max_step=5e-3).events) == 1


@pytest.mark.parametrize("touch", [-1.0, np.nan, "near", None])
def test_a_tolerance_is_a_number(touch):
    with pytest.raises(ArgumentError, match="Event, touch"):
        Event(lambda t, q, v: 1.0, touch=touch)


# -------------------------------------------------------------------------------------------------- states after resets


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, v: (q + 0.3, v), "q violates the constraint 'pin' by .*assemble"),
        (lambda q, v: (q, v + 1.0), "v violates the constraint 'pin' .*project_velocity"),
    ],
)
def test_a_reset_that_opens_a_loop_is_told(change, message):
    linkage = load("four_bar", parameters="default")
    system = Dynamics(linkage)
    q = system.assemble([1.0, -0.7, 1.6], keep=["drive"])
    v = system.project_velocity(q, [2.0, 0, 0], keep=["drive"])
    with pytest.raises(
        SimulationError, match=f"reset of event 'kick' gave a state that cannot be: {message}"
    ) as caught:
        simulate(system, q, v, 1.0, events=at(0.5, reset=lambda t, q, v: change(q, v), name="kick"))
    assert caught.value.time == pytest.approx(0.5)
    assert caught.value.partial.t[-1] == pytest.approx(0.5)
    back = simulate(system, q, v, 1.0, events=at(0.5, reset=lambda t, q, v: (q, -v)))
    assert np.abs(back.q[-1] - q).max() < 1e-7  # and returns to where it came from


@pytest.mark.parametrize("factor", [0.0, 2.0])
def test_a_reset_to_what_is_no_rotation_is_told(factor):
    body = load("free_body", parameters="default")
    with pytest.raises(SimulationError, match=f"a quaternion has the length {factor:g} and must have 1"):
        simulate(body, t=1.0, events=at(0.5, reset=lambda t, q, v: (factor * q, v)))


# ------------------------------------------------------------------------------------------------------ starts at stops


def ball():
    return Mechanism("ball", [Body("m", Inertia.point(1.0))], [Joint("z", "prismatic", "world", "m", axis=[0, 0, 1])])


@pytest.mark.parametrize("method", ["DOP853", "Radau", "rk4"])
@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_thrown_from_a_stop_or_against_it(method, speed):
    """Thrown downwards from the stop a ball meets it at once; then flights last 2 v/g, each shorter by restitution."""
    ground = joint_stop(ball(), "z", lower=0.0, restitution=0.9)
    found = simulate(ball(), [0.0], [speed], 0.5, events=ground, method=method)
    times, t, v = ([], 0.0, speed) if speed > 0 else ([0.0], 0.0, -0.9 * speed)
    while (t := t + 2 * v / 9.81) < 0.5:
        times.append(t)
        v *= 0.9
    assert len(found.events) == len(times)
    assert np.abs([event.t - t for event, t in zip(found.events, times)]).max() < 1e-12
    assert found.q.min() > -1e-12


def test_stops_are_not_passed_from_rest_nor_from_beyond():
    stop = joint_stop(ball(), "z", lower=0.3)
    with pytest.raises(SimulationError, match="Coming to rest at a stop"):
        simulate(ball(), [0.3], t=1.0, events=stop)
    with pytest.raises(SimulationError, match=r"begin beyond 'z lower stop', by 0\.1"):
        simulate(ball(), [0.2], t=1.0, events=stop)
    for start in (0.3, 0.1 + 0.2):  # there, or beyond by rounding
        above = joint_stop(ball(), "z", lower=0.1 + 0.2)
        lifted = simulate(ball(), [start], t=0.5, control=[20.0], events=above)
        assert lifted.status == "finished"
        assert not lifted.events


@pytest.mark.parametrize(("method", "step"), [("rk4", 0.01), ("rk4", 0.05), ("semi-implicit-euler", 0.02)])
def test_steps_in_which_nothing_can_happen_are_not_looked_through(monkeypatch, method, step):
    """Random sums of positions and velocities: the same happens at the same times as if every step were looked through,
    and what is far costs about as much as a step, not as many steps as there are points to look at."""
    mechanism = random_mechanism(3, 3, kinds=("revolute", "spherical"))
    dynamics, (q, v, _) = Dynamics(mechanism), mechanism.random_state(np.random.default_rng(3))
    rng = np.random.default_rng(5)

    def event(k):
        weights, value = rng.normal(size=mechanism.nq + mechanism.nv), rng.normal()
        return Event(
            lambda t, q, v: weights @ np.concatenate([q, v / 3]) - value,
            direction=k % 3 - 1,
            touch=k % 2 / 20,
            name=f"{k}",
        )

    events = [event(k) for k in range(8)]
    options = {"t": 2.0, "method": method, "step": step}
    found = simulate(dynamics, q, v, events=events, **options)
    far = simulate(dynamics, q, v, events=lambda t, q, v: 1e3 + q[0], **options)
    plain = simulate(dynamics, q, v, **options)
    stages = {"rk4": 4, "semi-implicit-euler": 1}[method]
    assert far.info["evaluations"] <= (2 * stages + 3) * (len(plain) - 1)
    whole = integrators.Fixed.step
    monkeypatch.setattr(integrators.Fixed, "step", lambda engine: whole(engine)._replace(guess=None))
    every = simulate(dynamics, q, v, events=events, **options)
    assert len(found.events) > 4
    assert [(x.name, x.t) for x in found.events] == [(x.name, x.t) for x in every.events]
