"""Motions with contacts are driven as all others: events within steps, resets, breakpoints, digital controllers."""

import numpy as np
import pytest

import dalembert as da


@pytest.fixture(scope="module")
def ball():
    body = da.Body("ball", da.Inertia.sphere(1.0, 0.1), collisions=(da.Shape.sphere(0.1),))
    plain = da.Mechanism("ball", (body,), (da.Joint("base", "free", "world", "ball"),))
    return da.Dynamics(da.contacts(plain, friction=0.5, restitution=0.5).mechanism)


def dropped(height):
    return np.array([0, 0, height, 0, 0, 0, 1.0])


def test_steps_of_simulate_are_those_of_rollout_to_the_bit(ball):
    one, many = da.simulate(ball, dropped(0.4), t=1.0, step=1e-3, sweeps=10), da.rollout(ball, dropped(0.4), None, 1000)
    assert np.array_equal(one.q, many.q) and np.array_equal(one.v, many.v)


def test_an_event_is_found_within_its_step_and_may_stop_the_motion(ball):
    """A ball that falls 0.2 m passes that height after sqrt(2 s / g); semi-implicit steps are h/2 early."""
    passes = da.Event(lambda t, q, v: q[2] - 0.2, name="passes", stop=True)
    for step in (1e-3, 1e-4):
        found = da.simulate(ball, dropped(0.4), t=1.0, step=step, events=passes)
        assert found.status == "stopped by event 'passes'"
        assert abs(found.t[-1] - (np.sqrt(2 * 0.2 / 9.81) - step / 2)) < 0.02 * step
        assert abs(found.q[-1, 2] - 0.2) < 1e-12
    top = da.Event(lambda t, q, v: v[2], name="top", direction=-1)
    found = da.simulate(ball, dropped(0.4), t=0.5, step=1e-4, events=top)
    fall = np.sqrt(2 * 0.3 / 9.81)
    assert len(found.events) == 1 and abs(found.events[0].t - 2 * fall * 0.75) < 3e-4  # half the speed after the impact


def test_a_reset_begins_anew_and_contacts_go_on(ball):
    up = np.array([0, 0, 1.0, 0, 0, 0])
    kick = da.Event(lambda t, q, v: q[2] - 0.2, name="kick", direction=-1, reset=lambda t, q, v: (q, up))
    found = da.simulate(ball, dropped(0.4), t=1.0, events=kick)
    assert len(found.events) == 4 and len(found.discontinuities) == 4
    assert np.allclose(np.diff([x.t for x in found.events]), 2 / 9.81, atol=2e-3)


def test_controls_change_at_breakpoints_and_at_the_periods_of_a_hold(ball):
    def push(t, q, v):
        return [2.0 if t >= 0.0503 else 0.0, 0, 0, 0, 0, 0]

    def sampled(t, q, v):
        return [float(t), 0, 0, 0, 0, 0]

    free = dropped(5.0)
    found = da.simulate(ball, free, t=0.1, step=1e-3, control=push, breakpoints=[0.0503])
    assert abs(found.v[-1, 0] - 2.0 * (0.1 - 0.0503)) < 1e-12 and 0.0503 in found.t
    held = da.simulate(ball, free, t=0.1, step=1e-3, control=sampled, hold=0.02)
    assert abs(held.v[-1, 0] - 0.02 * sum(k * 0.02 for k in range(5))) < 1e-12


def test_losses_and_work_balance_the_energy_but_for_what_is_of_first_order_in_the_step(ball):
    """In free fall a semi-implicit step is off by m (g h)^2 / 2; so the balance is off by at most m g^2 h T / 2."""
    for step in (1e-3, 5e-4):
        found = da.simulate(
            ball, dropped(0.4), [0.5, 0, 0, 0, 0, 0], t=1.0, step=step, events=lambda t, q, v: q[2] - 0.15
        )
        lost = found.contacts.friction_loss + found.contacts.impact_loss - found.contacts.push_work
        assert np.ptp(found.energy + lost - found.work) < 9.81**2 * step / 2


def test_from_event_to_event_controllers_hold_and_events_are_found(ball):
    """A force below the bound of friction, held over quarters of a second, rolls the ball: v = sum(F dt) / (m 7/5)."""
    resting, fall = dropped(0.1), np.sqrt(2 * 0.3 / 9.81)
    pushed = da.simulate(
        ball, resting, t=1.0, method="event-driven", control=lambda t, q, v: [6 * t, 0, 0, 0, 0, 0], hold=0.25
    )
    assert abs(pushed.v[-1, 0] - 0.25 * 6 * (0.25 + 0.5 + 0.75) / 1.4) < 1e-9
    events = (
        da.Event(lambda t, q, v: v[2], name="top", direction=-1),
        da.Event(lambda t, q, v: v[2], name="up", direction=1),
        da.Event(lambda t, q, v: q[2] - 0.2, name="passes", stop=4),
    )
    found = da.simulate(ball, dropped(0.4), t=1.0, method="event-driven", events=events)
    times = {name: [x.t for x in found.events if x.name == name] for name in ("top", "up", "passes", "impact of ball")}
    assert found.status == "finished" and len(times["passes"]) == 1  # it rebounds to 0.175 m
    np.testing.assert_allclose(times["passes"], np.sqrt(2 * 0.2 / 9.81), rtol=1e-9)
    np.testing.assert_allclose([times["up"][0], times["top"][0]], [fall, 1.5 * fall], rtol=1e-9)
    np.testing.assert_allclose(times["up"][:2], times["impact of ball"][:2], rtol=1e-12)


def test_a_motion_that_fails_at_once_says_so_on_every_route(ball):
    for method in (None, "event-driven"):
        with pytest.raises(da.SimulationError, match="returned shape"):
            da.simulate(ball, dropped(0.4), t=0.1, method=method, control=lambda t, q, v: [0.0])
