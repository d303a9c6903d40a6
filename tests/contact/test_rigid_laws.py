"""The law of rigid contact against closed forms. Time steps are of first order: what a test allows is that error."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dalembert as da
from contact.scenes import TILT, G, ball, block, trestle
from dalembert.dynamics import Dynamics
from dalembert.model import Shape
from dalembert.simulation import Rollout

STEP = 1e-3


@cache
def moving(mechanism, **numbers) -> Dynamics:
    return Dynamics(mechanism(**numbers), parameters=TILT)


def tilted(angle=0.0, friction=0.3, restitution=0.0):
    angle = np.asarray(angle, dtype=float)
    known = {"gravity.x": G * np.sin(angle), "gravity.y": 0.0, "gravity.z": -G * np.cos(angle)}
    return {**known, "touch.friction": friction, "touch.restitution": restitution}


def run(mechanism, seconds, q=None, v=None, sweeps=10, every=10, **known) -> Rollout:
    start = [0, 0, 0.1 if mechanism is ball else 0.05, 0, 0, 0, 1] if q is None else q
    return da.rollout(
        moving(mechanism), start, v, round(seconds / STEP), STEP, sweeps=sweeps, every=every,
        parameters=tilted(**known),
    )  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- friction


def test_a_block_rests_on_an_incline_up_to_the_angle_of_friction_and_slides_beyond():
    """It slides with g (sin a - mu cos a); friction 0.5 holds up to 26.565 degrees."""
    angles = np.radians([0, 10, 26.5, 26.7, 35, 60])
    found = run(block, 0.5, angle=angles, friction=0.5)
    slides = 0.5 * G * np.maximum(np.sin(angles) - 0.5 * np.cos(angles), 0)
    np.testing.assert_allclose(found.final_v[:, 0], slides, atol=2e-4)  # near the angle sweeps converge slowly
    assert np.abs(found.final_v[:3]).max() < 1e-12  # it sticks: no creep at all
    assert np.abs(found.q[:3, 20] - found.q[:3, -1]).max() < 1e-12
    assert (found.contacts.mode[:3, -1] == 1).all() and (found.contacts.mode[3:, -1] == 2).all()


def test_the_weight_on_four_corners_is_exact_though_single_forces_are_not_unique():
    found = run(block, 0.1, angle=[0.0, 0.2], friction=0.5)
    weight = 2 * G * np.cos([[0.0], [0.2]])
    np.testing.assert_allclose(found.contacts.forces[:, 2:, :, 0].sum(-1), weight + np.zeros((2, 9)), rtol=1e-9)
    assert found.contacts.unique[:, 0].all()  # no force has acted yet
    assert not found.contacts.unique[:, 1:, :, 0].any()


def test_forces_that_the_motion_determines_are_marked_as_such():
    """Three smooth legs share a weight in one way, three rough ones press against each other sideways, and two feet of
    a trestle whose loop is closed by a rod carry half each."""
    legs = Shape("points", vertices=((0.1, 0, -0.05), (-0.1, 0.1, -0.05), (-0.1, -0.1, -0.05)))
    start = [0, 0, 0.05, 0, 0, 0, 1]
    for friction, sideways in ((0, True), (0.5, False)):
        table = block(friction=friction)
        table = table.replace(contacts=(table.contacts[0].replace(shape_a=legs),))
        contacts = da.simulate(table, start, t=0.02, sweeps=60).contacts
        np.testing.assert_allclose(contacts.forces[-1, :, 0], np.array([1, 0.5, 0.5]) * G, rtol=1e-6)
        assert contacts.unique[..., 0].all() and contacts.unique[1:, :, 1:].all() == sideways
    slides = da.simulate(ball(), [0, 0, 0.1, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0], 0.01).contacts
    assert slides.mode[-1, 0] == 2 and slides.unique.all()
    stands = Dynamics(trestle())
    a = np.arcsin(0.2 / 0.5)
    q = stands.assemble({"lift": 0.02 + 0.5 * np.cos(a), "left": a, "right": -a}, keep=["lift"])
    assert da.simulate(stands, q, t=0.01).contacts.unique.all()


@pytest.mark.parametrize("direction", [0.0, 0.4, 1.0, 2.5])
def test_a_pushed_block_stops_after_the_way_of_coulomb_in_a_straight_line(direction):
    speed, mu = 1.0, 0.5
    along = np.array([np.cos(direction), np.sin(direction)])
    found = run(block, 0.3, v=[*(speed * along), 0, 0, 0, 0], friction=mu, sweeps=30)
    way = found.final_q[:2]
    assert abs(way @ along - speed**2 / (2 * mu * G)) < STEP * speed
    assert abs(way @ [-along[1], along[0]]) < 2e-6  # what 30 sweeps leave of the law
    assert np.abs(found.final_v).max() < 1e-9


def test_energy_is_lost_to_friction_and_nowhere_else():
    motion = run(block, 0.3, v=[1, 0.5, 0, 0, 0, 2], friction=0.4, every=1).trajectory()
    contacts = motion.contacts
    balance = motion.energy + contacts.friction_loss + contacts.impact_loss - contacts.push_work
    np.testing.assert_allclose(balance, balance[0], atol=1e-4)  # J of 1.3, most of it lost
    assert contacts.friction_loss[-1] > 1.2
    assert (np.diff(contacts.friction_loss) > -1e-12).all()


@pytest.mark.parametrize("make", [ball, block])
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_dissipation_is_never_negative(make, restitution):
    """Of bodies that are thrown, tumble, slide and roll; but for what gravity does within the step of an impact."""
    rng, count = np.random.default_rng(0), 64
    q, v = np.tile([0, 0, 0.3, 0, 0, 0, 1.0], (count, 1)), rng.normal(size=(count, 6)) * [1, 1, 1, 5, 5, 5]
    q[:, 3:] = rng.normal(size=(count, 4))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    model = make(friction=0.4, restitution=restitution)
    found = da.rollout(model, q, v, 1000, STEP, sweeps=100)
    friction, impact = (np.diff(x, axis=1) for x in (found.contacts.friction_loss, found.contacts.impact_loss))
    mass = model.mass
    assert (friction >= 0).all()
    assert (friction + impact > -5 * mass * (G * STEP) ** 2).all()
    assert (found.contacts.friction_loss[:, -1] + found.contacts.impact_loss[:, -1] > 0.1).all()


def test_a_ball_that_spins_rolls_with_the_velocity_of_the_closed_form():
    """v = (5 v0 + 2 r w0)/7 after 2 (v0 - r w0)/(7 mu g)."""
    v0, w0, mu, r = 1.0, -3.0, 0.3, 0.1
    motion = run(ball, 0.5, v=[v0, 0, 0, 0, w0, 0], friction=mu, every=1)
    rolls = (5 * v0 + 2 * r * w0) / 7
    np.testing.assert_allclose(motion.final_v[[0, 4]], [rolls, rolls / r], rtol=1e-12)
    sticks = motion.t[np.argmax(motion.contacts.mode[:, 0] == 1)]
    assert abs(sticks - 2 * (v0 - r * w0) / (7 * mu * G)) <= 1.001 * STEP


def test_a_ball_rolls_down_an_incline_if_friction_suffices():
    """a = 5/7 g sin a for mu >= 2/7 tan a, else g (sin a - mu cos a)."""
    angle, mu = 0.6, np.array([0.19, 0.2, 0.5])  # 2/7 tan 0.6 = 0.19547
    found = run(ball, 0.5, angle=np.full(3, angle), friction=mu)
    rolling = 5 / 7 * G * np.sin(angle)
    sliding = G * (np.sin(angle) - mu[0] * np.cos(angle))
    np.testing.assert_allclose(found.final_v[:, 0], 0.5 * np.array([sliding, rolling, rolling]), rtol=1e-11)


def test_a_tall_block_tips_where_a_low_one_slides():
    """On an incline beyond both angles a block slides if mu < b/h, half its base over half its height, or else tips."""
    angle = np.arctan(0.7)
    found = {
        mu: da.rollout(
            moving(block, length=0.1, height=0.2), [0, 0, 0.1, 0, 0, 0, 1], None, 100, STEP, every=10,
            parameters=tilted(angle, mu),
        )
        for mu in (0.45, 0.55)
    }  # fmt: skip
    turned = {mu: abs(motion.final_q[4]) for mu, motion in found.items()}
    assert turned[0.45] < 1e-3 < 1e-2 < turned[0.55]


# -------------------------------------------------------------------------------------------------------------- impact


def test_a_bouncing_ball_comes_to_rest_when_its_series_ends():
    """At sqrt(2 h/g) (1 + e)/(1 - e), an accumulation of impacts that steps pass to rest."""
    e = np.array([0.0, 0.5, 0.8])
    found = run(ball, 5.0, q=[0, 0, 1.1, 0, 0, 0, 1], restitution=e, every=1)
    still = (np.abs(found.v[..., 2]) < 0.1 * G * STEP) & (np.abs(found.contacts.gaps[..., 0]) < 1e-5)
    rest = found.t[still.argmax(axis=1)]
    bounces = np.array([1, 9, 27])  # until one is over in a step; each begins and ends up to a step late
    assert (abs(rest - np.sqrt(2 / G) * (1 + e) / (1 - e)) < 2 * bounces * STEP).all()
    np.testing.assert_allclose(found.final_q[:, 2], 0.1, atol=1e-9)
    lost = found.contacts.impact_loss[:, -1]
    np.testing.assert_allclose(lost, G, rtol=1e-3)  # m g h, to the difference of E and what the scheme conserves


def test_without_loss_the_energy_is_kept_over_ten_thousand_bounces():
    """Semi-implicit Euler conserves E of the velocity half a step ago, exactly; bounces with e = 1 do so, too."""
    found = run(ball, 2000, q=[0, 0, 0.15, 0, 0, 0, 1], restitution=1.0, every=1000)
    energy = G * (found.q[:, 2] - 0.1) + (found.v[:, 2] - G * STEP / 2) ** 2 / 2
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    assert 2000 / (2 * np.sqrt(2 * 0.05 / G)) > 9_900  # so many bounces


def test_rebound_and_friction_act_together():
    """A ball without spin that slides in an impact loses mu (1 + e) of its normal velocity along the tangent."""
    found = run(ball, 0.2, q=[0, 0, 0.11, 0, 0, 0, 1], v=[5, 0, -2, 0, 0, 0], friction=0.1, restitution=0.5, every=1)
    down = found.v[:, 2].min()
    assert abs(found.final_v[0] - (5 - 0.1 * 1.5 * -down)) < 2e-3  # gravity of the step of the impact
    assert abs(found.v[:, 2].max() - 0.5 * -down) < 0.02


# ------------------------------------------------------------------------------------------------- what must not change


def test_free_flight_is_that_of_semi_implicit_euler_to_the_last_digit():
    q, v = [0, 0, 30.0, 0.1, 0, 0, np.sqrt(0.99)], [1, 0, 0, 1, -3, 0]
    fall = da.rollout(moving(ball), q, v, 500, STEP, parameters=tilted(0.3))
    bare = Dynamics(ball().replace(contacts=()), parameters=TILT[:3])
    known = {name: x for name, x in tilted(0.3).items() if name in TILT[:3]}
    free = da.rollout(bare, q, v, 500, STEP, parameters=known, method="semi-implicit-euler")
    assert (fall.q == free.q).all() and (fall.v == free.v).all()


def test_bits_depend_neither_on_the_batch_nor_on_threads_and_nan_stays_in_its_world():
    rng = np.random.default_rng(1)
    q, v = np.tile([0, 0, 0.1, 0, 0, 0, 1.0], (37, 1)), rng.normal(size=(37, 6))
    q[:, 2] += rng.uniform(0, 0.2, 37)
    known = tilted(0.1, 0.4, 0.3)
    whole = da.rollout(moving(ball), q, v, 400, STEP, parameters=known, threads=1)
    halves = [da.rollout(moving(ball), q[part], v[part], 400, STEP, parameters=known, threads=2)
              for part in (slice(0, 5), slice(5, 37))]  # fmt: skip
    for name in ("final_q", "final_v"):
        np.testing.assert_array_equal(getattr(whole, name), np.concatenate([getattr(x, name) for x in halves]))
    np.testing.assert_array_equal(whole.contacts.final[0], np.concatenate([x.contacts.final[0] for x in halves]))
    known["touch.friction"] = np.where(np.arange(37) == 6, np.nan, 0.4)
    with pytest.raises(da.errors.ArgumentError):
        da.rollout(moving(ball), q, v, 400, STEP, parameters=known)
    fast = v.copy()
    fast[6] = 1e200
    with pytest.warns(da.errors.SimulationWarning, match="did not stay finite"):
        lost = da.rollout(moving(ball), q, fast, 400, STEP, parameters=tilted(0.1, 0.4, 0.3))
    others = np.arange(37) != 6
    assert not lost.finite[6]
    np.testing.assert_array_equal(lost.final_q[others], whole.final_q[others])


def test_simulate_takes_the_steps_of_a_rollout():
    many = run(ball, 0.5, v=[1, 0.2, 0, 0, -3, 0], every=1)
    one = da.simulate(moving(ball), [0, 0, 0.1, 0, 0, 0, 1], [1, 0.2, 0, 0, -3, 0], 0.5, parameters=tilted())
    np.testing.assert_allclose(one.q, many.q, atol=1e-12)
    np.testing.assert_allclose(one.contacts["touch"].force, many.contacts["touch"].force, atol=1e-9)
    assert repr(one.contacts) == "<ContactHistory of 1 points, 501 records>"
    part = one[one.t > 0.25]
    assert len(part.contacts.residual) == len(part) == 250
    np.testing.assert_array_equal(many.trajectory().contacts.slip, many.contacts.slip)
