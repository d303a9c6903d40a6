"""Manipulability, limits, time scaling and least time against closed forms and against inverse dynamics."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError, SingularityError
from dalembert.planning import drive_limits, limit_use, manipulability, minimum_time, time_scaling
from random_mechanisms import random_mechanism


def cart(mass=2.0, axes=1, gravity=(0, 0, 0), **limits):
    """A body on rails along x, y, z."""
    bodies = [da.Body(f"b{k}", da.Inertia(mass if k == axes - 1 else 0)) for k in range(axes)]
    joints = [
        da.Joint(
            f"j{k}", "prismatic", f"b{k - 1}" if k else "world", f"b{k}", axis=np.eye(3)[k], limits=da.Limits(**limits)
        )
        for k in range(axes)
    ]
    return da.Mechanism("cart", tuple(bodies), tuple(joints), gravity=gravity)


def planar(lengths=(1.0, 0.7), gravity=(0, 0, 0)):
    rods = [da.Body(f"rod{k}", da.Inertia.cylinder(1.0 + k, 0.05, x, (0, 0, 0))) for k, x in enumerate(lengths)]
    joints = [
        da.Joint("j0", "revolute", "world", "rod0", axis=[0, 0, 1]),
        da.Joint(
            "j1", "revolute", "rod0", "rod1", placement=da.Transform(np.eye(3), [lengths[0], 0, 0]), axis=[0, 0, 1]
        ),
    ]
    frames = (da.Frame("hand", "rod1", da.Transform(np.eye(3), [lengths[1], 0, 0])),)
    return da.Mechanism("planar", tuple(rods), tuple(joints), frames, gravity=gravity)


# ------------------------------------------------------------------------------------------------------ manipulability


def test_manipulability_of_two_rods_is_their_product_and_the_sine_of_the_elbow():
    """Yoshikawa (1985): w = l1 l2 |sin q2| in the plane."""
    arm, q = planar(), np.random.default_rng(0).uniform(-3, 3, (20, 2))
    J = np.asarray(da.Dynamics(arm).jacobian(q, frame="hand"))[:, :2]
    found = manipulability(arm, q, "hand")
    assert (found.measure == 0).all()  # two joints cannot move it in space
    assert np.allclose(found.radii[:, 0] * found.radii[:, 1], 0.7 * np.abs(np.sin(q[:, 1])), rtol=1e-12)
    assert np.allclose(np.abs(np.linalg.det(J)), 0.7 * np.abs(np.sin(q[:, 1])))
    assert np.allclose(np.swapaxes(found.directions, -1, -2) @ found.directions, np.eye(3))


@pytest.mark.parametrize("dynamic", [False, True])
def test_measure_is_the_root_of_a_determinant(dynamic):
    arm = random_mechanism(3, 7, kinds=["revolute"], branching=0, massless=0)
    q = np.random.default_rng(0).uniform(-2, 2, (5, 7))
    found = manipulability(arm, q, "tool", task="pose", dynamic=dynamic)
    dyn = da.Dynamics(arm)
    for k in range(5):
        J = np.asarray(dyn.jacobian(q[k], frame="tool"))
        M = np.asarray(dyn.mass_matrix(q[k])) if dynamic else np.eye(7)
        G = J @ np.linalg.inv(M.T @ M) @ J.T
        assert found.measure[k] == pytest.approx(np.sqrt(np.linalg.det(G)), rel=1e-7)
        assert found.condition[k] == pytest.approx(np.sqrt(np.linalg.cond(G)), rel=1e-5)
    scaled = manipulability(arm, q, "tool", dynamic=True, efforts=np.full(7, 2.0))
    assert np.allclose(scaled.radii, 2 * manipulability(arm, q, "tool", dynamic=True).radii)


# -------------------------------------------------------------------------------------------------------------- limits


def test_limit_use_says_what_is_exceeded_and_where():
    arm = cart(lower=-1, upper=2, velocity=3, effort=4)
    q, v, a = np.array([[0.0], [2.5]]), np.array([[3.0], [-6.0]]), np.array([[1.0], [-3.0]])
    use = limit_use(arm, q, v, a)
    assert use.within.tolist() == [True, False]
    assert use.beyond[:, 0].tolist() == [0, 0.5] and use.speed[:, 0].tolist() == [1, 2]
    assert np.allclose(use.effort[:, 0], [0.5, 1.5])  # 2 kg
    assert [line.split(":")[0] for line in use.violations()] == ["position of j0", "speed of j0", "effort of j0"]
    assert limit_use(arm, [0.5]).within and not limit_use(arm, [0.5], tau=[5.0]).within
    with pytest.raises(ArgumentError, match="give one of them"):
        limit_use(arm, [0.0], a=[0.0], tau=[0.0])
    assert drive_limits(arm).effort == 4


# -------------------------------------------------------------------------------------------------------- time scaling


def test_scaled_motions_use_their_efforts_to_the_full():
    """Hollerbach (1984): at the fastest factor one effort is at its limit, as inverse dynamics says."""
    arm = random_mechanism(4, 4, kinds=["revolute"], branching=0, massless=0, drives=True)
    t = np.linspace(0, 2, 50)[:, None]
    w = np.array([1.0, 2.0, 1.5, 0.7])
    q, v, a = np.sin(w * t), w * np.cos(w * t), -(w**2) * np.sin(w * t)
    for include in ([], ["damping", "armature", "friction"]):
        dyn = da.Dynamics(arm, include=include)
        still = np.abs(np.asarray(dyn.inverse_dynamics(q, 1e-9 * v, 0 * a))).max(axis=0)
        efforts = 1.5 * still + 1
        found = time_scaling(dyn, q, v, a, efforts=efforts)
        for r, at_limit in ((found.fastest, True), (0.5 * found.fastest + 0.5 * found.intervals[-1, 0], False)):
            use = np.abs(np.asarray(dyn.inverse_dynamics(q, r * v, r * r * a)) / efforts).max()
            assert (use == pytest.approx(1, abs=1e-9)) if at_limit else use <= 1 + 1e-9
        beyond = np.abs(np.asarray(dyn.inverse_dynamics(q, 1.01 * found.fastest * v, 1.01**2 * found.fastest**2 * a)))
        assert (beyond / efforts).max() > 1 and 0.9 * found.fastest in found and 1.1 * found.fastest not in found


def test_what_cannot_even_be_held_has_no_speed():
    heavy = cart(gravity=(-9.81, 0, 0), effort=10.0)
    found = time_scaling(heavy, [[0.0]], [[1.0]], [[0.0]])
    assert len(found.intervals) == 0 and np.isnan(found.fastest)
    light = time_scaling(cart(velocity=3.0), [[0.0]], [[1.5]], [[7.0]])
    assert light.fastest == 2.0  # by its speed alone


# ---------------------------------------------------------------------------------------------------------- least time


def test_a_cart_is_driven_bang_bang():
    """The double integrator from rest to rest: full force half of the way, T = 2 sqrt(m d / F)."""
    found = minimum_time(cart(2.0), [[0.0], [1.5]], efforts=[3.0])
    assert found.duration == pytest.approx(2 * np.sqrt(2.0 * 1.5 / 3.0), rel=1e-12)
    assert np.allclose(np.abs(found.tau[:-1]), 3.0, rtol=1e-9)
    assert found.tau[0, 0] > 0 > found.tau[-1, 0]
    q, v, _ = found.at([0, found.duration / 2, found.duration, 99.0])
    assert np.allclose(q[:, 0], [0, 0.75, 1.5, 1.5]) and np.allclose(
        v[:, 0], [0, 1.5 * 2 / found.duration, 0, 0], atol=1e-7
    )


def test_a_cart_with_a_speed_limit_is_driven_by_a_trapezoid():
    """T = d/v + v/a where the limit is reached."""
    found = minimum_time(cart(2.0), [[0.0], [3.0]], efforts=[2.0], speeds=[0.5], points=501)
    assert found.duration == pytest.approx(3.0 / 0.5 + 0.5 / 1.0, rel=1e-3)  # corners fall between points of the grid
    assert np.abs(found.v).max() <= 0.5 * (1 + 1e-9)


def test_against_gravity_going_up_takes_longer_to_speed_up_than_to_stop():
    """Efforts -F..F with weight W: accelerations (F - W)/m and (F + W)/m, T = sqrt(2 d (1/a1 + 1/a2))."""
    m, F, d = 2.0, 30.0, 1.0
    up, down = F / m - 9.81, F / m + 9.81
    found = minimum_time(cart(m, gravity=(-9.81, 0, 0)), [[0.0], [d]], efforts=[F], points=1001)
    assert found.duration == pytest.approx(np.sqrt(2 * d * (1 / up + 1 / down)), rel=1e-3)
    with pytest.raises(SingularityError, match="the end cannot be reached"):
        minimum_time(cart(m, gravity=(-9.81, 0, 0)), [[0.0], [d]], efforts=[15.0])


def test_along_a_curve_efforts_stay_within_limits_and_one_is_always_used_up():
    arm = planar(gravity=(0, -9.81, 0))
    dyn, efforts = da.Dynamics(arm), np.array([40.0, 15.0])
    waypoints = [[-1.5, 0.3], [-1.0, 1.0], [0.2, 0.5], [0.8, -0.4]]
    found = minimum_time(arm, waypoints, efforts=efforts, points=401)
    use = np.abs(found.tau) / efforts
    assert use.max() <= 1 + 1e-9
    assert (use.max(axis=1) > 0.99).mean() > 0.95  # bang-bang in one of the two
    t = np.linspace(0, found.duration, 2000)[1:-1]
    q, v, a = found.at(t)
    between = np.abs(np.asarray(dyn.inverse_dynamics(q, v, a)) / efforts)
    assert between.max() <= 1 + 1e-9
    h = 1e-6
    rate = (found.at(t + h)[0] - found.at(t - h)[0]) / (2 * h)
    assert np.median(np.abs(rate - v).max(axis=1)) < 1e-5
    slower = minimum_time(arm, waypoints, efforts=0.8 * efforts, points=401)
    assert slower.duration > found.duration
    factor = time_scaling(arm, found.q, found.v, found.a, efforts=efforts).fastest
    assert factor < 1 + 1e-6  # no uniform scaling makes it quicker
    with_ends = minimum_time(arm, waypoints, efforts=efforts, points=401, start=0.2, end=0.2)
    assert with_ends.duration < found.duration and with_ends.speed[[0, -1]] == pytest.approx([0.2, 0.2])


@pytest.mark.parametrize("speed", [np.inf, 2.5])
def test_the_time_is_exact_to_the_square_of_the_step_and_the_motion_within_limits(speed):
    """On a curve, where no limit is the same at both ends of a step; the library's own check looks between points."""
    free = planar(gravity=(0, -9.81, 0))
    limits = [da.Limits(effort=effort, velocity=speed) for effort in (40.0, 15.0)]
    arm = free.replace(joints=[joint.replace(limits=x) for joint, x in zip(free.joints, limits)])
    waypoints = [[-1.5, 0.3], [-1.0, 1.0], [0.2, 0.5], [0.8, -0.4]]
    durations = []
    for points in (26, 51, 101, 201):
        found = minimum_time(arm, waypoints, points=points)
        durations.append(found.duration)
        assert limit_use(arm, found.q, found.v, found.a).within.all()
        t = np.linspace(0, found.duration, 997)
        q, v, a = found.at(t)
        assert limit_use(arm, q, v, a).within.all()
        assert np.abs(np.gradient(q, t, axis=0) - v)[1:-1].max() < 0.02 * np.abs(v).max()
        assert found.at(found.t)[0] == pytest.approx(found.q, abs=1e-9)
    errors = np.array(durations[:-1]) - (4 * durations[-1] - durations[-2]) / 3
    assert np.log2(errors[0] / errors[2]) / 2 > 1.7  # 0.9 for a method of first order
    assert errors[2] < 3e-3 * durations[-1]


def test_the_time_converges_where_drives_switch_between_points():
    """The double integrator, T = 2 sqrt(m d / F), on grids without a point in the middle."""
    exact = 2 * np.sqrt(2.0 * 1.5 / 16.0)
    errors = [
        minimum_time(cart(2.0), [[0.0], [1.5]], efforts=[16.0], points=n).duration - exact for n in (50, 100, 200)
    ]
    assert 0 < errors[2] < 1e-6 and errors[0] / errors[2] == pytest.approx(16, rel=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"waypoints": [[0.0]]}, "two or more positions"),
        ({"waypoints": [[0.0], [0.0]]}, "same position"),
        ({"efforts": [0.0]}, "positive numbers"),
        ({"points": 2}, "three or more"),
        ({"efforts": None}, "no limits"),
    ],
)
def test_paths_that_make_no_sense_are_refused(options, message):
    given = {"waypoints": [[0.0], [1.0]], "efforts": [1.0], **options}
    with pytest.raises(ArgumentError, match=message):
        minimum_time(cart(), given.pop("waypoints"), **given)


def test_positions_that_are_not_finite_are_refused():
    nowhere = np.full((2, 1), np.nan)
    with pytest.raises(ArgumentError, match="v has entries that are not finite"):
        time_scaling(cart(), np.zeros((2, 1)), nowhere, np.zeros((2, 1)), efforts=[1.0])
    with pytest.raises(ArgumentError, match="q has entries that are not finite"):
        manipulability(cart(), nowhere, "b0")
