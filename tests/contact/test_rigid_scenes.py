"""Contacts together with stops, dry friction and closed loops, against closed forms; and what must be refused."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import dalembert as da
from contact.scenes import G, ball, block, gripper, rimless_wheel, slider_crank, trestle
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, ModelWarning, SimulationWarning, UnsupportedError
from dalembert.model import WORLD, Body, Contact, Ground, Inertia, Joint, Limits, Mechanism, Shape

ALONG_X = np.array([1.0, 0.0, 0.0])


def slide(**fields) -> Mechanism:
    joint = Joint("slide", "prismatic", WORLD, "cart", axis=ALONG_X, **fields)
    return Mechanism("cart", (Body("cart", Inertia.box(2, (0.1, 0.1, 0.1))),), (joint,))


def test_a_rimless_wheel_reaches_its_fixed_point():
    """Impacts keep the moment of momentum about the new foot, w+ = w- (I + m l^2 cos 2a)/(I + m l^2); in the limit what
    a step loses is what it descends, m g 2 l sin(a) sin(slope)."""
    spokes, length, inertia, slope = 8, 1.0, 0.2, 0.12
    a = math.pi / spokes
    wheel = rimless_wheel(spokes, length, inertia).replace(gravity=(G * math.sin(slope), 0, -G * math.cos(slope)))
    start = [length * math.cos(a), 0, a]
    found = da.rollout(wheel, start, [math.sin(a), math.cos(a), 1.0], 60_000, 1e-4, sweeps=30, every=10)
    w = found.v[found.t > 4, 2]
    whole = inertia + length**2
    ratio = (inertia + length**2 * math.cos(2 * a)) / whole
    fast = math.sqrt(4 * G * length * math.sin(a) * math.sin(slope) / (whole * (1 - ratio**2)))
    assert abs(w.max() - fast) < 5e-3 * fast
    falls = np.flatnonzero(np.diff(w) < -0.12 * fast)  # an impact takes one or two steps, within two records at most
    ratios = w[falls + 2] / w[falls - 1]
    assert len(falls) > 3
    np.testing.assert_allclose(ratios, ratio, atol=5e-3)


def test_a_pinched_capsule_does_not_creep():
    """It is held with twice the force that friction needs: two pads, mu = 0.5."""
    hand = gripper()
    q = hand.neutral
    q[hand.q_slice("left")], q[hand.q_slice("right")] = -0.03, 0.03
    force = 2 * 0.1 * G / (2 * 0.5)
    motion = da.simulate(hand, q, None, 1.0, control=[force, -force, *np.zeros(6)])
    later = motion.t > 0.5
    assert np.abs(motion.v[later]).max() < 1e-12  # demanded are 1e-9
    assert np.ptp(motion.q[later], axis=0).max() < 1e-12
    np.testing.assert_allclose(motion.contacts.world_forces[-1, :, 2].sum(), 0.1 * G, rtol=1e-9)
    assert motion.contacts.residual[-1] < 1e-12


def test_a_slider_crank_strikes_a_stop():
    """One degree of freedom and no rebound: the motion ends, and the impact takes all of its energy."""
    dynamics = Dynamics(slider_crank(0.35), limits="all")
    q = dynamics.assemble({"crank": 1.2}, keep=["crank"])
    v = dynamics.project_velocity(q, {"crank": -2.0}, keep=["crank"])
    motion = da.simulate(dynamics, q, v, 0.6)
    assert abs(motion.q[-1, 2] - 0.35) < 1e-5
    assert motion.energy[-1] < 1e-6 * motion.energy[0]
    np.testing.assert_allclose(motion.contacts.impact_loss[-1], motion.energy[0], rtol=2e-3)
    np.testing.assert_allclose(dynamics.residual(motion.q[-1])["wrist"], 0, atol=1e-12)


def test_a_closed_loop_stands_on_the_ground():
    """A trestle of 6 kg on two smooth feet: each carries half, and the tie between them does not give."""
    dynamics = Dynamics(trestle())
    a = math.asin(0.2 / 0.5)
    q = dynamics.assemble({"lift": 0.02 + 0.5 * math.cos(a), "left": a, "right": -a}, keep=["lift"])
    motion = da.simulate(dynamics, q, None, 0.5)
    np.testing.assert_allclose(motion.contacts.forces[1:, :, 0], 3 * G, rtol=1e-10)
    np.testing.assert_allclose(motion.q[-1], q, atol=1e-12)
    many = da.rollout(dynamics, q, None, 500, 1e-3, every=500)
    np.testing.assert_allclose(many.final_q, q, atol=1e-12)


def test_stops_end_the_range_of_a_joint_on_both_sides_and_hold_it():
    cart = slide(limits=Limits(-0.1, 0.2))
    found = da.rollout(cart, np.zeros((2, 1)), [[3.0], [-3.0]], 200, 1e-3, control=[[[4.0]], [[-4.0]]], limits="all")
    np.testing.assert_allclose(found.final_q[:, 0], [0.2, -0.1], atol=1e-12)
    assert abs(found.q[..., 0].max() - 0.2) < 1e-12 and abs(found.q[..., 0].min() + 0.1) < 1e-12
    np.testing.assert_allclose(found.contacts.joint_forces[:, -1, 0], [-4, 4], rtol=1e-9)
    assert found.contacts.joint_names == ("slide (limit)",)
    motion = da.simulate(cart, None, [3.0], 0.1, limits=["slide"])
    np.testing.assert_allclose(motion.q[-1], 0.2, atol=1e-12)
    np.testing.assert_allclose(motion.contacts.impact_loss[-1], 9.0, rtol=1e-9)  # all of m v^2/2
    unchecked = da.rollout(cart, [0.0], [3.0], 200, 1e-3)  # limits are data unless they are asked for
    assert unchecked.contacts is None and unchecked.final_q[0] > 0.5


def test_dry_friction_of_joints_sticks_and_slides_exactly():
    """It slows down by f/m and then holds against any smaller force."""
    cart = slide(friction=4.0)
    dynamics = Dynamics(cart, include=("friction",))
    found = da.rollout(dynamics, [0.0], [1.0], 1000, 1e-3, law="rigid", control=np.array([[[0.0]], [[3.9]]]))
    np.testing.assert_allclose(found.v[0, 100, 0], 1 - 0.1 * 4 / 2, rtol=1e-12)
    assert (np.abs(found.v[0, 501:, 0]) < 1e-15).all()
    np.testing.assert_allclose(found.v[1, 500, 0], 1 - 0.5 * 0.1 / 2, rtol=1e-12)
    np.testing.assert_allclose(found.contacts.friction_loss[0, -1], 1.0, rtol=1e-12)
    held = da.rollout(dynamics, [0.0], [0.0], 100, 1e-3, law="rigid", control=[3.9])
    assert abs(held.final_q[0]) < 1e-15 and abs(held.contacts.joint_forces[-1, 0] + 3.9) < 1e-12


# ------------------------------------------------------------------------------------------------------ what is refused


def test_a_start_inside_the_ground_is_refused_or_lifted():
    q = [0, 0, 0.07, 0, 0, 0, 1]
    with pytest.raises(ArgumentError, match=r"'touch' begins 30 mm deep inside what it touches.*lift=True"):
        da.simulate(ball(), q, None, 0.1)
    with pytest.raises(ArgumentError, match=r"of motion \(1,\).*30 mm"):
        da.rollout(ball(), [[0, 0, 0.1, 0, 0, 0, 1], q], None, 1)
    motion = da.simulate(ball(), q, None, 0.01, lift=True)
    np.testing.assert_allclose(motion.q[:, 2], 0.1, atol=1e-12)


def test_what_knows_nothing_of_contacts_says_so():
    with pytest.raises(ArgumentError, match="the method 'rk4' knows nothing of them"):
        da.rollout(ball(), None, None, 10, method="rk4")
    with pytest.raises(UnsupportedError, match="rollouts take steps of fixed length, and method = 'event-driven'"):
        da.rollout(ball(), None, None, 10, method="event-driven")
    with pytest.raises(ArgumentError, match="method = 'event-driven' goes from contact to contact, and 'cart' has no"):
        da.simulate(slide(), t=0.1, method="event-driven")
    with pytest.raises(ArgumentError, match="there is no law of contact 'soft'"):
        da.simulate(ball(), [0, 0, 1, 0, 0, 0, 1], law="soft")
    with pytest.raises(ArgumentError, match="sweeps"):
        da.simulate(slide(), sweeps=4)
    with pytest.raises(ArgumentError, match="1 to 10000"):
        da.simulate(ball(), [0, 0, 1, 0, 0, 0, 1], sweeps=0)
    with pytest.raises(ArgumentError, match="no contact 'foot'"):
        Dynamics(ball(), contacts=["foot"])
    with pytest.raises(ArgumentError, match="has no range"):
        Dynamics(ball(), limits=["base"])
    with pytest.warns(ModelWarning, match=r"'ball' has contacts .*, which Dynamics.forward_dynamics leaves out"):
        Dynamics(ball()).forward_dynamics  # noqa: B018
    dynamics = Dynamics(ball(), contacts=())
    fall = da.simulate(dynamics, [0, 0, 0.1, 0, 0, 0, 1], None, 0.1)
    np.testing.assert_allclose(fall.q[-1, 2], 0.1 - G * 0.1**2 / 2, rtol=1e-9)


def test_a_foot_without_mass_is_refused():
    cart = slide().bodies[0]
    joints = (Joint("slide", "prismatic", WORLD, "cart", axis=ALONG_X), Joint("ankle", "revolute", "cart", "foot"))
    contact = ball().contacts[0].replace(a="foot")
    walker = Mechanism("walker", (cart, Body("foot")), joints, contacts=(contact,), strict=False)
    with pytest.raises(UnsupportedError, match="needs mass to act on"):
        da.simulate(walker, None, None, 0.1)


def test_too_few_sweeps_are_reported():
    start = [0, 0, 0.05, 0, 0, 0, 1]
    with pytest.warns(SimulationWarning, match=r"violate the law by up to .* m/s .*give more sweeps") as said:
        found = da.rollout(block(), start, [1, 0.3, 0, 0.5, 0, 3], 100, 1e-3, sweeps=1)
        da.simulate(block(), start, [1, 0.3, 0, 0.5, 0, 3], 0.1, sweeps=1)
    assert [warning.filename for warning in said] == [__file__] * 2
    assert not found.contacts.converged and found.contacts.worst > 1e-3


def test_a_step_in_which_a_body_could_tunnel_is_reported_with_the_step_that_would_see_it():
    sphere = Shape("sphere", (0.05,))
    bodies = [Body(name, Inertia.sphere(1, 0.05)) for name in "ab"]
    rails = [Joint(name, "prismatic", WORLD, name, axis=ALONG_X) for name in "ab"]
    meet = Contact("meet", "a", "b", sphere, sphere, friction=0)
    pair = Mechanism("pair", bodies, rails, contacts=(meet,), gravity=(0, 0, 0))
    for law in ("rigid", "convex"):
        with pytest.warns(SimulationWarning, match=r"step of 0\.01 s .* 100 m/s: .*step=0\.001 would see it"):
            fast = da.simulate(pair, [0, 1.0], [100.0, 0], 0.05, step=1e-2, law=law)
        np.testing.assert_allclose(fast.contacts.stride[-1], 10, rtol=1e-9)
    waves = Ground.formula("0.3*sin(20*x)")
    with pytest.warns(SimulationWarning, match=r"speed of .* m/s in motion \(1,\)"):
        da.rollout(ball(waves), [0, 0, 0.6, 0, 0, 0, 1], np.array([[1.0], [100.0]]) * np.eye(6)[0], 40, 1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        da.simulate(pair, [0, 1.0], [100.0, 0], 0.05, step=5e-4)
        da.simulate(ball(), [0, 0, 5, 0, 0, 0, 1], [0, 0, -1000.0, 0, 0, 0], 0.05, step=1e-2)  # nothing passes a plane


def test_friction_that_is_zero_now_may_vary():
    """A parameter has its row from the beginning: nobody finds its value ignored."""
    start = [0, 0, 0.1, 0, 0, 0, 1]
    smooth = Dynamics(ball(friction=0), parameters=["touch.friction"])
    many = da.rollout(smooth, start, [1, 0, 0, 0, 0, 0], 500, 1e-3, parameters=[[0.0], [0.5]], record=False)
    np.testing.assert_allclose(many.final_v[:, 0], [1, 5 / 7], atol=1e-9)
    spinning = Dynamics(ball(), parameters=["touch.torsional"])
    many = da.rollout(spinning, start, [0, 0, 0, 0, 0, 10], 100, 1e-3, parameters=[[0.0], [0.01]], record=False)
    np.testing.assert_allclose(many.final_v[:, 5], [10, 10 - 0.1 * 0.01 * 9.81 / (0.4 * 0.1**2)], rtol=1e-9)
    cart = Dynamics(slide(), include=("friction",), parameters=["slide.friction"])
    many = da.rollout(cart, [0.0], [1.0], 100, 1e-3, law="rigid", parameters=[[0.0], [4.0]], record=False)
    np.testing.assert_allclose(many.final_v[:, 0], [1, 1 - 0.1 * 4 / 2], rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("touch.friction", -0.1, "touch.friction = -0.1, but the friction of contact 'touch' is a number not below 0"),
        ("touch.restitution", 1.2, "restitution of contact 'touch' lies between 0 .no rebound. and 1 .no loss."),
        ("touch.friction", float("nan"), "finite"),
    ],
)
def test_parameters_of_contacts_are_checked_like_their_numbers(name, value, message):
    start = [0, 0, 0.1, 0, 0, 0, 1]
    dynamics = Dynamics(ball(), parameters=[name])
    with pytest.raises(ArgumentError, match=message):
        da.rollout(dynamics, start, None, 3, 1e-3, parameters={name: [0.5, value]})
    with pytest.raises(ArgumentError, match=message):
        da.simulate(dynamics, start, t=0.01, parameters={name: value})


def test_a_motion_from_a_file_knows_that_something_touched(tmp_path):
    motion = da.simulate(ball(), [0, 0, 0.1, 0, 0, 0, 1], None, 0.05)
    motion.to_npz(tmp_path / "rest.npz")
    again = da.simulation.load_trajectory(tmp_path / "rest.npz", ball())
    np.testing.assert_array_equal(again.a, motion.a)
    with pytest.raises(UnsupportedError, match="reactions of joints are those of open contacts"):
        again.reactions()
