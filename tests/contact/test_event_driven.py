"""Motions from event to event: closed forms to the tolerance of the integrator, and the oracle of the stepping law.

Tolerances: 1e-10 of the integrator per step unless a test says otherwise; steps are of first order.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import dalembert as da
from contact.scenes import (
    TILT,
    G,
    ball,
    block,
    cradle,
    four_bar,
    gripper,
    rimless_wheel,
    rod,
    simplest_walker,
    slider_crank,
)
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, SimulationWarning, UnsupportedError
from dalembert.model import Ground

DROP = [0, 0, 1.1, 0, 0, 0, 1]


def run(mechanism, q, v=None, t=1.0, **options):
    return da.simulate(mechanism, q, v, t, method="event-driven", **options)


def times(motion, word):
    return [event.t for event in motion.events if word in event.name]


def balance(motion):
    """Energy and what was lost: the same at all times."""
    whole = motion.energy + motion.contacts.friction_loss + motion.contacts.impact_loss
    return np.ptp(whole)


# -------------------------------------------------------------------------------------------------------------- impacts


@pytest.mark.parametrize("e", [0.0, 0.5, 0.8])
def test_a_series_of_bounces_goes_to_rest_at_its_end(e):
    """At sqrt(2 h/g) (1 + e)/(1 - e), to the 1e-7 s of which the rest of the series is taken at once."""
    motion = run(ball(restitution=e), DROP, [1, 0, 0, 0, 0, 0], 6.0)
    (rest,) = times(motion, "rests")
    assert abs(rest - math.sqrt(2 / G) * (1 + e) / (1 - e)) < 1.1e-7
    np.testing.assert_allclose(motion.v[-1, [0, 2]], [5 / 7, 0], atol=1e-9)  # it slid, and rolls
    assert balance(motion) < 1e-10
    # Impacts one by one: the k-th one at sqrt(2 h/g) (1 + 2 (e + ... + e^(k-1))).
    first = [impact["t"] for impact in motion.info["impacts"]][:5]
    expected = math.sqrt(2 / G) * np.array([1 + 2 * sum(e**j for j in range(1, k + 1)) for k in range(len(first))])
    np.testing.assert_allclose(first, expected, rtol=1e-9)


def test_balls_of_a_cradle_hand_on_what_they_are_given():
    """k balls strike with one velocity, and k leave with it on the other side; all others rest."""
    row = cradle()
    for k in (1, 2):
        q, v = np.zeros(5), np.zeros(5)
        q[:k] = -0.1
        v[:k] = 0.5
        motion = run(row, q, v, 0.5)
        expected = np.zeros(5)
        expected[-k:] = 0.5
        np.testing.assert_allclose(motion.v[-1], expected, atol=1e-12)
        assert abs(motion.energy[-1] - motion.energy[0]) < 1e-12
        assert abs(motion.info["impacts"][0]["t"] - 0.2) < 1e-9


def test_a_rocking_block_passes_the_end_of_its_impacts_and_stands():
    """A block on two edges that comes down flat rocks ever faster; impacts do not end the motion but the rocking."""
    scene = block(length=0.2, height=0.1, friction=5.0)
    turn = 0.02
    height = 0.05 * math.cos(turn) + 0.1 * math.sin(turn)
    motion = run(scene, [0, 0, height, 0, math.sin(turn / 2), 0, math.cos(turn / 2)], t=1.0)
    assert motion.contacts.mode[-1].tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(motion.v[-1], 0, atol=1e-9)
    assert abs(motion.q[-1, 2] - 0.05) < 1e-9
    assert balance(motion) < 1e-9


def test_a_rimless_wheel_has_the_ratio_and_the_fixed_point_of_its_closed_form():
    """w+ = w- (I + m l^2 cos 2a)/(I + m l^2), and w-^2 = 4 m g l sin(a) sin(slope)/((I + m l^2)(1 - ratio^2))."""
    spokes, length, inertia, slope = 8, 1.0, 0.2, 0.12
    a = math.pi / spokes
    wheel = rimless_wheel(spokes, length, inertia).replace(gravity=(G * math.sin(slope), 0, -G * math.cos(slope)))
    whole = inertia + length**2
    ratio = (inertia + length**2 * math.cos(2 * a)) / whole
    fast = math.sqrt(4 * G * length * math.sin(a) * math.sin(slope) / (whole * (1 - ratio**2)))
    w = 0.9 * fast * ratio
    start = [length * math.cos(a), 0, a]
    motion = run(wheel, start, [length * math.sin(a) * w, length * math.cos(a) * w, w], 5.0)
    before = np.array([event.v[2] for event in motion.events if event.name.startswith("impact")])
    after = np.array([state.v[2] for state in motion.discontinuities])
    assert len(before) >= 8
    np.testing.assert_allclose(after / before, ratio, rtol=1e-9)
    # The error of w^2 shrinks by ratio^2 at every step.
    errors = before**2 - fast**2
    np.testing.assert_allclose(errors[1:], errors[:-1] * ratio**2, rtol=1e-6, atol=1e-8)


def test_the_simplest_walker_has_the_gait_of_its_inventors():
    """M. Garcia, A. Chatterjee, A. Ruina and M. Coleman, The simplest walking model, J. Biomech. Eng. 120, 1998: on a
    slope of 0.009 the long period gait begins each step with theta = 0.2003, theta' = -0.1998."""
    slope, theta, rate = 0.009, 0.200310900544287, -0.199832473004977  # the fixed point of their map, to all digits
    walker = simplest_walker().replace(gravity=(math.sin(slope), 0, -math.cos(slope)))

    def theirs(t, y):
        th, ph, dth, dph = y
        ddth = math.sin(th - slope)
        return [dth, dph, ddth, ddth + dth**2 * math.sin(ph) - math.cos(th - slope) * math.sin(ph)]

    start = [theta, 2 * theta, rate, rate * (1 - math.cos(2 * theta))]
    strike = lambda t, y: y[1] - 2 * y[0] if t > 1 else -1.0  # noqa: E731
    path = solve_ivp(theirs, (0, 6), start, events=strike, rtol=1e-12, atol=1e-12)
    period = next(t for t in path.t_events[0] if t > 3)  # the legs pass each other before
    # Ours: leg a stands. Its angle forward is -theta of the hip about the foot.
    hip = [-math.sin(theta), math.cos(theta)]
    q = [hip[0], hip[1], theta, theta - 2 * theta]
    v = [-math.cos(theta) * rate, -math.sin(theta) * rate, rate, rate - start[3]]
    stance = Dynamics(walker, contacts=["foot a"])  # the other foot swings through, as in the paper
    motion = run(stance, q, v, 4.5)
    gap = Dynamics(walker, contacts=["foot b"]).kernel("contact_points")
    found = brentq(lambda t: float(gap(motion(t).q)[0][0]), 3.0, 4.4, xtol=1e-13)
    assert abs(found - period) < 1e-5
    state = motion(found)
    both = run(walker, state.q, state.v, 1e-9)  # the strike
    assert len(both.info["impacts"]) == 1
    q, v = both.q[-1], both.v[-1]
    np.testing.assert_allclose([q[3], v[3]], [theta, rate], atol=2e-5)  # leg b now stands as leg a did
    np.testing.assert_allclose(q[2] - q[3], -2 * theta, atol=2e-5)
    np.testing.assert_allclose(v[3] - v[2], rate * (1 - math.cos(2 * theta)), atol=2e-5)


# ------------------------------------------------------------------------------------------------------------- friction


def test_a_spinning_ball_slides_and_then_rolls():
    v0, w0, mu, r = 1.0, -3.0, 0.3, 0.1
    motion = run(ball(friction=mu), [0, 0, r, 0, 0, 0, 1], [v0, 0, 0, 0, w0, 0], 0.5)
    np.testing.assert_allclose(times(motion, "sticks"), 2 * (v0 - r * w0) / (7 * mu * G), rtol=1e-9)
    rolls = (5 * v0 + 2 * r * w0) / 7
    np.testing.assert_allclose(motion.v[-1, [0, 4]], [rolls, rolls / r], rtol=1e-9)
    assert balance(motion) < 1e-10


@pytest.mark.parametrize("direction", [0.0, 0.4, 2.5])
def test_a_pushed_block_stops_after_its_way(direction):
    """v^2 / (2 mu g), in a straight line at any angle to the axes."""
    along = np.array([np.cos(direction), np.sin(direction)])
    motion = run(block(friction=0.5), [0, 0, 0.05, 0, 0, 0, 1], [*along, 0, 0, 0, 0], 0.5)
    np.testing.assert_allclose(motion.q[-1, :2], along / (2 * 0.5 * G), atol=1e-9)
    np.testing.assert_allclose(times(motion, "sticks")[0], 1 / (0.5 * G), rtol=1e-9)


def test_a_rod_falls_as_its_energy_says():
    """Without friction the centre falls straight, w^2 (cos^2 a/4 + 1/12) l/2 = g (sin a0 - sin a)/2 at angle a to the
    ground; with enough of it about its tip, with 1/3 in the place of the bracket."""
    for friction in (0.0, 100.0):
        model = rod(friction)
        angle = math.radians(80)
        q = [0.5 * math.sin(angle), 0.0, -angle]
        motion = run(model, q, t=0.6)
        lean = -motion.q[:, 2]
        fallen = G * (math.sin(angle) - np.sin(lean)) / 2
        moment = np.cos(lean) ** 2 / 4 + 1 / 12 if friction == 0 else 1 / 3  # about the centre, or about the tip
        np.testing.assert_allclose(motion.v[:, 2] ** 2 * moment / 2, fallen, atol=1e-9)
        tip = motion.q[:, 1] - 0.5 * np.cos(lean)
        assert np.abs(motion.q[:, 1]).max() < 1e-10 if friction == 0 else np.ptp(tip) < 1e-9
        assert motion.status == "finished" and (motion.contacts.forces[:, 0, 0] > 0).all()


def test_painleves_rod_is_reported():
    """A rod of length l that slides at angle a: friction presses it down where 1 + 3 cos^2 a < 3 mu sin a cos a, which
    needs mu > 4/3 (G. Genot and B. Brogliato, New results on Painleve paradoxes, Eur. J. Mech. A/Solids 18, 1999)."""

    def slides(mu, angle):
        model = rod(mu)
        q = [0.5 * math.sin(angle), 0.0, angle - math.pi]  # the tip goes ahead, or for angles beyond 90 degrees behind
        return run(model, q, [0.0, 3.0, 0.0], 0.003)

    angle = math.radians(60)
    critical = (1 + 3 * math.cos(angle) ** 2) / (3 * math.sin(angle) * math.cos(angle))
    assert critical > 4 / 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slides(0.95 * critical, angle), slides(0.95 * critical, math.pi - angle), slides(2 * critical, math.pi - angle)
    with pytest.warns(SimulationWarning, match=r"Painleve's paradox at 'tip', first at t = 0 s"):
        found = slides(1.02 * critical, angle)
    assert found.info["paradoxes"][0][1] == "tip"
    assert abs(found.contacts.slip[-1, 0]).max() < 1.0  # an impulse without a collision took its slip away
    assert found.contacts.impact_loss[-1] + found.contacts.friction_loss[-1] > 0


# --------------------------------------------------------------------------------- the oracle of steps of fixed length


def order_one(scene, q, v, t, most, steps=(1e-3, 1e-4)):
    """Steps come to the motion from event to event, with errors below ``most``, m/s, times the step."""
    exact = run(scene, q, v, t)
    for h in steps:
        found = da.simulate(scene, q, v, t, step=h, sweeps=60)
        assert np.abs(found.q[-1] - exact.q[-1]).max() < most * h
    return exact


def test_a_four_bar_that_stands_on_the_ground_moves_in_steps_as_from_event_to_event():
    """Dropped on two feet of its lower bar with the pin closed, it lands, slides, and folds until friction holds."""
    model = Dynamics(four_bar())
    q = model.assemble({"plane": [0.03, 0, 0], "left": -1.3, "right": -1.3, "top": 1.3}, keep=["plane", "left"])
    v = model.project_velocity(q, {"plane": [0, 0.5, 0], "left": 0.0}, keep=["plane", "left"])
    exact = order_one(model, q, v, 0.2, most=5)
    assert {"impact of feet[0], feet[1]"} <= {event.name for event in exact.events}
    assert np.abs(model.residual(exact.q[-1])["pin"]).max() < 1e-10
    assert balance(exact) < 1e-8


def test_stops_of_joints_are_events_too():
    dynamics = Dynamics(slider_crank(0.35), limits="all")
    q = dynamics.assemble({"crank": 1.2}, keep=["crank"])
    v = dynamics.project_velocity(q, {"crank": -2.0}, keep=["crank"])
    motion = run(dynamics, q, v, 0.6)
    assert abs(motion.q[-1, 2] - 0.35) < 1e-9
    assert motion.energy[-1] < 1e-12 * motion.energy[0]
    assert len(times(motion, "impact of slide")) == 1


def test_dry_friction_of_joints_sticks_at_its_moment():
    from contact.test_rigid_scenes import slide

    dynamics = Dynamics(slide(friction=4.0), include=("friction",))
    motion = da.simulate(dynamics, [0.0], [1.0], 1.0, law="rigid", method="event-driven")
    assert abs(times(motion, "sticks")[0] - 0.5) < 1e-9
    np.testing.assert_allclose(motion.q[-1, 0], 0.25, rtol=1e-9)
    np.testing.assert_allclose(motion.contacts.friction_loss[-1], 1.0, rtol=1e-9)


def test_a_pinched_capsule_is_held_for_ever():
    hand = gripper()
    q = hand.neutral
    q[hand.q_slice("left")], q[hand.q_slice("right")] = -0.03, 0.03
    force = 2 * 0.1 * G / (2 * 0.5)
    motion = run(hand, q, t=1.0, control=[force, -force, *np.zeros(6)])
    assert np.abs(motion.v).max() < 1e-9 and np.ptp(motion.q, axis=0).max() < 1e-9


def test_a_thrown_ball_with_spin_bounces_alike_in_steps():
    exact = order_one(ball(restitution=0.5), [0, 0, 0.3, 0, 0, 0, 1], [1, 0.5, 0, 3, -8, 2], 0.55, most=5)
    assert len(exact.info["impacts"]) == 3
    incline = Ground.plane(normal=(-math.sin(0.3), 0, math.cos(0.3)))
    order_one(
        ball(incline, friction=0.05), [0, 0, 0.1 / math.cos(0.3), 0, 0, 0, 1], [0.2, 0.3, 0, 0, 0, 0], 0.5, most=5
    )


# ----------------------------------------------------------------------------------------------------------- what it is


def test_trajectories_have_both_sides_of_an_impact_and_any_time_between():
    motion = run(ball(restitution=0.5), DROP, t=1.0)
    impact = math.sqrt(2 / G)
    assert np.count_nonzero(np.isclose(motion.t, impact, rtol=1e-9)) == 2
    np.testing.assert_allclose(motion(0.3).q[2], 1.1 - G * 0.09 / 2, rtol=1e-10)
    np.testing.assert_allclose(motion(0.6).v[2], 0.5 * G * impact - G * (0.6 - impact), rtol=1e-9)
    chosen = run(ball(restitution=0.5), DROP, t=[0, 0.3, 0.6, 1.0])
    np.testing.assert_allclose(chosen.v[2], motion(0.6).v, atol=1e-12)
    assert chosen.contacts.forces.shape == (4, 1, 3)
    values = {"gravity.x": 0.0, "gravity.y": 0.0, "gravity.z": -1.62, "touch.friction": 0.3, "touch.restitution": 0.0}
    moon = run(Dynamics(ball(), parameters=TILT), DROP, t=2.0, parameters=values)
    assert abs(times(moon, "rests")[0] - math.sqrt(2 / 1.62)) < 1e-9


def test_what_it_cannot_do_is_said():
    with pytest.raises(ArgumentError, match="solves it to rounding; leave out sweeps = 4"):
        run(ball(), DROP, sweeps=4)
    with pytest.raises(ArgumentError, match="leave out law = 'convex'"):
        run(ball(), DROP, law="convex")
    with pytest.raises(UnsupportedError, match="step: motions from event to event"):
        run(ball(), DROP, step=1e-3)
    with pytest.raises(ArgumentError, match="30 mm deep"):
        run(ball(), [0, 0, 0.07, 0, 0, 0, 1])
