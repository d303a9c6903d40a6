"""Parameters from motions: exact without noise, within their intervals with noise, always those of real bodies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.algorithms.base_parameters import base_parameters
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, IdentificationWarning, SingularityError, UnsupportedError
from dalembert.formats import load
from dalembert.identification import (
    LinearTorques,
    differentiate,
    excitation,
    exciting_motion,
    fourier_motion,
    identify,
    is_consistent,
    low_pass,
    nearest_consistent,
    pseudo_inertia_matrix,
)
from dalembert.identification.consistency import UNITS, most_plausible, parameters_of
from dalembert.model import Body, Inertia, Joint, Limits, Mechanism, Mimic
from dalembert.model.force import Force
from dalembert.model.operations import add_payload
from dalembert.simulation import simulate
from random_mechanisms import random_inertia, random_mechanism

seeds = st.integers(0, 10**6)


# ------------------------------------------------------------------------------------------------------- pseudo-inertia


@given(seeds)
def test_real_bodies_are_consistent_and_their_moments_invertible(seed):
    parameters = np.asarray(random_inertia(np.random.default_rng(seed)).parameters, dtype=float)
    assert is_consistent(parameters)
    P = pseudo_inertia_matrix(parameters)
    assert np.abs(parameters_of(P) - parameters).max() < 1e-12 * np.abs(parameters).max()
    points = np.random.default_rng(seed).normal(size=(30, 3))
    masses = np.random.default_rng(seed).uniform(0.1, 1, 30)
    dust = sum(
        (Inertia.point(float(m), p) for m, p in zip(masses[1:], points[1:])), Inertia.point(masses[0], points[0])
    )
    homogeneous = np.hstack([points, np.ones((30, 1))])
    moments = (homogeneous * masses[:, None]).T @ homogeneous  # the sum of m [r; 1][r; 1]^T
    assert np.abs(pseudo_inertia_matrix(np.asarray(dust.parameters, dtype=float)) - moments).max() < 1e-10


@settings(max_examples=20)
@given(seeds)
def test_most_plausible_bodies_are_a_minimum(seed):
    """Exact measurements of everything are reproduced; of half, the rest stays at a stationary point."""
    rng = np.random.default_rng(seed)
    truth, start = (np.asarray(random_inertia(rng).parameters, dtype=float) for _ in range(2))
    exact = most_plausible(np.eye(10), truth, 1e-12 * np.eye(10), start, 1, 1e-6)
    assert np.abs(exact - truth).max() < 1e-5 * np.abs(truth).max()
    G = rng.normal(size=(5, 10))
    gamma = 0.1
    found = most_plausible(G, G @ truth, 0.01 * np.eye(5), start, 1, gamma)
    inverse, P0 = (np.linalg.inv(pseudo_inertia_matrix(x)) for x in (found, start))
    slope = np.einsum("ij,kij->k", P0 - inverse, UNITS)
    gradient = G.T @ (G @ (found - truth)) / 0.01 + gamma * slope
    assert np.abs(gradient).max() < 1e-3 * (1 + np.abs(gamma * slope).max())


def test_impossible_parameters_are_refused_and_mended():
    needle = np.array([1.0, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.5])  # violates the triangle inequality
    assert not is_consistent(needle)
    with pytest.raises(ArgumentError, match="nowhere near"):
        nearest_consistent(np.array([-1.0] + [0.0] * 9))
    mended = nearest_consistent(needle)
    assert is_consistent(mended)
    assert np.abs(parameters_of(pseudo_inertia_matrix(needle)) - needle).max() < 1e-15


# ----------------------------------------------------------------------------------------------------------- regression


@settings(max_examples=8)
@given(seeds)
def test_torques_are_linear_in_unknown_parameters(seed):
    mechanism = random_mechanism(seed, 3, kinds=("revolute", "prismatic", "spherical"), drives=True)
    torques = LinearTorques(mechanism, ["b2"], ["damping", "armature"])
    q, v, a = mechanism.random_state(np.random.default_rng(seed), (4,))
    W, known = torques.matrix(q, v, a)
    joints = Dynamics(mechanism, include=("damping", "armature"))
    own = [getattr(mechanism.joint(joint), drive) for drive, joint in torques.drive_parameters]
    x = np.array([*mechanism.body("b2").inertia.parameters, *own], dtype=float)
    tau = joints.inverse_dynamics(q, v, a)
    assert np.abs(W @ x + known - tau).max() < 1e-10 * max(1.0, np.abs(tau).max())


def test_visible_combinations_are_the_base_parameters():
    arm = load("demo_arm")
    visible = LinearTorques(arm).visible
    base = base_parameters(arm)
    fixed = 10 * sum(arm.tree.carriers[body.name][0] < 0 for body in arm.bodies)  # the base comes first
    assert visible.kept == tuple(k - fixed for k in base.kept)
    assert np.abs(visible.matrix - base.matrix[:, fixed:]).max() < 1e-6


# ------------------------------------------------------------------------------------------------------ identification


def recorded(mechanism, truth, t, seed=0, noise=0.0, drives=()):
    q, v, a = exciting_motion(mechanism, t, 0.2, trials=5, seed=seed, amplitude=1.0, speed=4.0)
    tau = Dynamics(truth, include=drives).inverse_dynamics(q, v, a)
    return q, v, a, tau + noise * np.random.default_rng(seed).normal(size=tau.shape)


def test_without_noise_torques_are_reproduced_everywhere():
    """The whole arm unknown, from a wrong guess: base parameters exact, so torques of any other motion are too."""
    truth = load("demo_arm")
    wrong = truth.replace(bodies=tuple(b.replace(inertia=Inertia.box(1.0, (0.1, 0.1, 0.2))) for b in truth.bodies))
    found = identify(wrong, *recorded(wrong, truth, np.linspace(0, 10, 400)), noise=1e-6)
    q, v, a = truth.random_state(np.random.default_rng(5), (50,))
    wanted, mine = Dynamics(truth).inverse_dynamics(q, v, a), Dynamics(found.mechanism).inverse_dynamics(q, v, a)
    assert np.abs(mine - wanted).max() < 1e-4 * np.abs(wanted).max()
    for body in found.mechanism.bodies:
        if truth.tree.carriers[body.name][0] >= 0:
            assert is_consistent(np.asarray(body.inertia.parameters, dtype=float), 1e-9)


def test_intervals_contain_the_truth_as_often_as_they_say():
    """Thirty noisy records of a payload: of 300 intervals at 90 %, between 84 % and 96 % must hold the truth."""
    arm = load("demo_arm")
    payload = Inertia(0.9, [0.03, -0.02, 0.06], np.diag([0.004, 0.005, 0.003]))
    truth = add_payload(arm, "flange", payload)
    guess = add_payload(arm, "flange", Inertia.sphere(0.2, 0.03))
    q, v, a, tau = recorded(guess, truth, np.linspace(0, 10, 300))
    guess = Dynamics(guess)
    rng = np.random.default_rng(0)
    inside, levels = [], np.array([0.05, 0.05, 0.05, 0.02, 0.02, 0.02])[: arm.nv]
    levels = np.resize(levels, arm.nv)
    for _ in range(30):
        found = identify(guess, q, v, a, tau + levels * rng.normal(size=tau.shape), unknown=["payload"])
        exact = found.visible.matrix @ np.asarray(payload.parameters, dtype=float)
        bounds = found.interval(0.9)
        inside += ((exact > bounds[:, 0]) & (exact < bounds[:, 1])).tolist()
    assert 0.84 < np.mean(inside) < 0.96
    assert np.abs(found.residual / levels - 1).max() < 0.3  # the noise of each joint is found, too


def test_weighting_pays_when_joints_differ():
    arm = load("demo_arm")
    truth = add_payload(arm, "flange", Inertia(0.9, [0.03, -0.02, 0.06], np.diag([0.004, 0.005, 0.003])))
    guess = add_payload(arm, "flange", Inertia.sphere(0.2, 0.03))
    q, v, a, tau = recorded(guess, truth, np.linspace(0, 10, 300))
    guess = Dynamics(guess)
    levels = np.geomspace(1.0, 1e-3, arm.nv)
    errors = {"known": [], "equal": [], "found": []}
    exact = np.asarray(truth.body("payload").inertia.parameters, dtype=float)
    rng = np.random.default_rng(1)
    for _ in range(10):
        noisy = tau + levels * rng.normal(size=tau.shape)
        for name, noise in (("known", levels), ("equal", 1.0), ("found", None)):
            found = identify(guess, q, v, a, noisy, unknown=["payload"], noise=noise)
            if name == "known":
                sigma = found.deviations
            errors[name].append(np.abs(found.values - found.visible.matrix @ exact) / sigma)
    assert 0.6 < np.mean(errors["known"]) < 1.0  # sqrt(2/pi) for deviations that are what they say
    assert np.mean(errors["equal"]) > 2 * np.mean(errors["known"])
    assert np.mean(errors["found"]) < 1.1 * np.mean(errors["known"])


def test_noise_never_makes_an_impossible_body():
    """With so much noise that plain least squares gives negative inertias."""
    arm = load("demo_arm")
    payload = Inertia(0.1, [0.01, 0, 0.02], np.diag([1e-4, 1e-4, 1e-4]))
    truth, guess = add_payload(arm, "flange", payload), add_payload(arm, "flange", Inertia.sphere(0.2, 0.03))
    q, v, a, tau = recorded(guess, truth, np.linspace(0, 10, 200))
    rng = np.random.default_rng(3)
    impossible = 0
    for _ in range(5):
        found = identify(guess, q, v, a, tau + 0.3 * rng.normal(size=tau.shape), unknown=["payload"])
        if len(found.values) == 10:
            impossible += not is_consistent(found.values)
        inertia = found.mechanism.body("payload").inertia
        assert is_consistent(np.asarray(inertia.parameters, dtype=float), 1e-9)
        assert abs(inertia.mass - 0.1) < 0.1
    assert impossible


def test_drives_are_found_beside_inertias():
    arm = load("demo_arm")
    joints = tuple(
        j.replace(damping=0.3 + 0.1 * k, friction=0.2 + 0.05 * k) if j.nv == 1 else j for k, j in enumerate(arm.joints)
    )
    truth = arm.replace(joints=joints)
    q, v, a, tau = recorded(arm, truth, np.linspace(0, 10, 400), noise=1e-3, drives=("damping", "friction"))
    found = identify(arm, q, v, a, tau, drives=("damping", "friction", "offset"))
    for joint in truth.joints:
        if joint.nv == 1:
            assert abs(found.parameters[f"{joint.name}.damping"] - joint.damping) < 0.01
            assert abs(found.parameters[f"{joint.name}.friction"] - joint.friction) < 0.01
            assert abs(found.mechanism.joint(joint.name).damping - joint.damping) < 0.01
            assert abs(found.parameters[f"{joint.name}.offset"]) < 0.01
    assert "condition number" in str(found)


def test_the_mechanism_found_has_the_drives_found_whatever_its_joints():
    """A joint of several velocities has one damping for them all, and a follower passes its own on to its leader."""
    thumb = [
        Joint("ball", "spherical", "world", "palm", damping=0.3, friction=0.1, armature=0.02),
        Joint("grip", "prismatic", "palm", "left", axis=(1, 0, 0), damping=2.0, armature=0.1),
        Joint("other", "prismatic", "palm", "right", axis=(0, 1, 0), damping=1.0, mimic=Mimic("grip", 1.5, 0.0)),
        Joint("fly", "free", "world", "drone", damping=0.2, armature=0.05),
    ]
    bodies = [
        Body(name, Inertia.box(0.5 + k, (0.1, 0.2, 0.3))) for k, name in enumerate(("palm", "left", "right", "drone"))
    ]
    truth = Mechanism("hand", bodies, thumb)
    terms = ("damping", "friction", "armature")
    guess = truth.replace(joints=tuple(j.replace(**dict.fromkeys(terms, 0)) for j in thumb))
    rng = np.random.default_rng(0)
    q, v, a = truth.random_state(rng, (300,))
    tau = Dynamics(truth, include=terms).inverse_dynamics(q, v, a)
    found = identify(guess, q, v, a, tau + 1e-6 * rng.normal(size=tau.shape), drives=terms)
    q, v, a = truth.random_state(rng, (50,))
    wanted, mine = (Dynamics(m, include=terms).inverse_dynamics(q, v, a) for m in (truth, found.mechanism))
    assert np.abs(mine - wanted).max() < 1e-4


def test_drives_that_hardly_resist_do_not_push():
    """Noise makes some least-squares coefficients negative; those of the mechanism found never are."""
    arm = load("demo_arm")
    q, v, a, tau = recorded(arm, arm, np.linspace(0, 10, 300), noise=0.5)
    drives = ("damping", "friction", "armature")
    found = identify(arm, q, v, a, tau, drives=drives)
    plain = dict(zip((found.visible.names[k] for k in found.visible.kept), found.values))
    assert min(x for name, x in plain.items() if name.endswith(drives)) < 0
    assert min(getattr(joint, name) for joint in found.mechanism.joints for name in drives) >= 0


def test_known_joint_terms_are_taken_off():
    arm = load("demo_arm")
    truth = arm.replace(joints=tuple(j.replace(damping=0.5, armature=0.1) if j.nv else j for j in arm.joints))
    q, v, a, tau = recorded(truth, truth, np.linspace(0, 10, 300), noise=1e-4, drives=("damping", "armature"))
    errors = []
    for told in (Dynamics(truth, include=("damping", "armature")), truth):
        found = identify(told, q, v, a, tau, unknown=["flange"], noise=1e-4)
        exact = found.visible.matrix @ np.asarray(arm.body("flange").inertia.parameters, dtype=float)
        errors.append(np.abs(found.values - exact).max())
    assert errors[0] < 1e-3 < 0.01 < errors[1]


def test_few_samples_make_intervals_wider():
    """Eighteen torques, ten parameters: the normal distribution would give 84 % instead of 90 %."""
    arm = load("demo_arm")
    rng = np.random.default_rng(0)
    inside = []
    dynamics = Dynamics(arm)
    for _ in range(100):
        q, v, a = arm.random_state(rng, (3,))
        tau = dynamics.inverse_dynamics(q, v, a) + 0.01 * rng.normal(size=(3, arm.nv))
        found = identify(dynamics, q, v, a, tau, unknown=["flange"])
        exact = found.visible.matrix @ np.asarray(arm.body("flange").inertia.parameters, dtype=float)
        bounds = found.interval(0.9)
        inside.append(np.mean((exact > bounds[:, 0]) & (exact < bounds[:, 1])))
    assert found.freedom == 3 * arm.nv - len(found.values)
    assert 0.86 < np.mean(inside) < 0.94
    with pytest.raises(ArgumentError, match="confidence"):
        found.interval(1.5)


def test_payload_from_encoders_and_noisy_torques_of_a_simulated_arm():
    """A tracked motion, positions read by encoders, torques with noise; filtered, differentiated, identified.

    The harmonics of the motion end at 1.25 Hz, but dynamics squares and multiplies them. Any cut-off from 6 to 60 Hz
    gives the mass to 4 g and the centre to 1.2 mm; at 4 Hz the centre is 6 mm off.
    """
    from dalembert.control import computed_torque

    arm = load("demo_arm")
    payload = Inertia(1.2, [0.02, -0.03, 0.08], np.diag([0.006, 0.007, 0.004]))
    plant, guess = Dynamics(add_payload(arm, "flange", payload)), add_payload(arm, "flange", Inertia.sphere(0.3, 0.04))
    t = np.arange(0, 8, 2e-3)
    n = arm.nv
    rng = np.random.default_rng(0)
    q, v, a = exciting_motion(guess, t, 0.25, trials=5, unknown=["payload"], amplitude=1.0, speed=3.0)
    law = computed_torque(guess)  # the controller does not know the payload
    rows = (q, v, a)

    def control(s, x, y):
        k = min(round(s / 2e-3), len(t) - 1)
        return law(x, y, *(row[k] for row in rows), np.full(n, 400.0), np.full(n, 40.0))

    motion = simulate(plant, q[0], v[0], t, method="rk4", step=2e-3, control=control, hold=2e-3)
    encoder = np.round(motion.q / 1e-5) * 1e-5
    sensor = motion.tau + 0.1 * rng.normal(size=motion.tau.shape)
    smooth, speed, acceleration = differentiate(t, encoder, 8.0)
    middle = slice(200, -200, 5)
    found = identify(
        guess,
        smooth[middle],
        speed[middle],
        acceleration[middle],
        low_pass(t, sensor, 8.0)[middle],
        unknown=["payload"],
    )
    inertia = found.mechanism.body("payload").inertia
    assert abs(inertia.mass - 1.2) < 0.01
    assert np.abs(inertia.center - payload.center).max() < 0.002


# ---------------------------------------------------------------------------------------------------------- excitation


@pytest.fixture(scope="module")
def measured():
    """An arm, a motion, and its torques with little noise."""
    arm, rng = load("demo_arm"), np.random.default_rng(4)
    q, v, a = exciting_motion(arm, np.linspace(0, 10, 301), 0.2, trials=5, amplitude=0.8)
    return arm, (q, v, a), Dynamics(arm).inverse_dynamics(q, v, a) + 0.05 * rng.normal(size=v.shape)


@pytest.mark.parametrize(
    "wrong, told",
    [
        (lambda tau: -tau, "no real bodies give these torques"),
        (lambda tau: tau * [1, 1, -1, 1, 1, 1], "no real bodies give these torques"),
        (lambda tau: tau[:, ::-1], "no real bodies give these torques"),
        (lambda tau: 1000 * tau, "times those of the initial ones"),
    ],
    ids=["sign", "sign of one", "order", "unit"],
)
def test_torques_of_wrong_sign_order_or_unit_are_doubted(measured, wrong, told):
    arm, motion, tau = measured
    with pytest.warns(IdentificationWarning, match=told):
        found = identify(arm, *motion, wrong(tau))
    assert any(told in text for text in found.doubts) and told in str(found)


def test_a_motion_in_degrees_is_doubted(measured):
    arm, motion, tau = measured
    with pytest.warns(IdentificationWarning, match="no parameters explain the torques: [6-9].% of them are left over"):
        identify(arm, *np.degrees(motion), tau)


@pytest.mark.parametrize("noise, samples", [(0.0, 301), (0.1, 301), (3.0, 20)])
def test_right_measurements_are_not_doubted(measured, noise, samples):
    """However noisy or few; nor are those of bodies at the edge of what is possible."""
    arm, rng = measured[0], np.random.default_rng(samples)
    q, v, a = (x[:: 301 // samples] for x in measured[1])
    rods = arm.replace(bodies=tuple(b.replace(inertia=Inertia.point(2.0, [0.1, 0, 0.2])) for b in arm.bodies))
    for truth in (arm, rods):
        tau = Dynamics(truth).inverse_dynamics(q, v, a)
        known = noise if truth is arm and noise else None
        assert identify(arm, q, v, a, tau + noise * rng.normal(size=tau.shape), noise=known).doubts == ()


def test_excitation_tells_rich_from_poor_motions():
    arm = load("demo_arm")
    t = np.linspace(0, 5, 200)
    rich = exciting_motion(arm, t, 0.2, trials=20, amplitude=1.0, speed=4.0)
    one = np.zeros((2, 2, arm.nq))
    one[0, 0] = 0.05
    poor = fourier_motion(arm, t, one, 0.1)
    good, bad = excitation(arm, *rich), excitation(arm, *poor)
    assert good.condition < 1e3 < bad.condition
    assert good.information > bad.information
    assert bad.weakest
    q, v, a = rich
    h = t[1] - t[0]
    assert np.abs(np.gradient(q, h, axis=0)[2:-2] - v[2:-2]).max() < 0.02 * np.abs(v).max()
    assert np.abs(np.gradient(v, h, axis=0)[2:-2] - a[2:-2]).max() < 0.02 * np.abs(a).max()


def test_exciting_motions_keep_to_limits_of_position_and_speed():
    """Also to those on one side only, at which the neutral position lies."""
    arm = load("demo_arm")
    limits = Limits(lower=0.0, velocity=0.7)
    arm = arm.replace(joints=tuple(j.replace(limits=limits) if j.name == "lift" else j for j in arm.joints))
    q, v, _ = exciting_motion(arm, np.linspace(0, 5, 300), 0.2, trials=3, amplitude=0.6, speed=2.0)
    k = arm.q_slice("lift").start
    assert q[:, k].min() > -1e-12
    assert 0.1 < np.ptp(q[:, k]) < 1.2 + 1e-12
    assert np.abs(v[:, k]).max() < 0.7 + 1e-12
    free = load("double_pendulum", parameters="default")  # no limits at all
    q, v, _ = exciting_motion(free, np.linspace(0, 5, 300), 0.2, trials=3, amplitude=0.6, speed=2.0)
    assert 0.1 < np.abs(q).max() < 0.6 + 1e-12
    assert np.abs(v).max() < 2.0 + 1e-12
    with pytest.raises(ArgumentError, match="trials"):
        exciting_motion(arm, np.linspace(0, 5, 300), 0.2, trials=0)


def test_exciting_motions_keep_to_limits_of_joints_that_follow():
    pair = random_mechanism(3, 2, kinds=("revolute",))
    lead, follow = pair.joints
    follow = follow.replace(mimic=Mimic(lead.name, -2.0, 0.1), limits=Limits(-0.3, 0.4, velocity=1.5))
    pair = pair.replace(joints=(lead.replace(limits=Limits(-0.4, 0.4)), follow))
    q, v, _ = exciting_motion(pair, np.linspace(0, 5, 301), 0.2, trials=3, amplitude=2.0, speed=10.0)
    position, speed = -2 * q + 0.1, 2 * np.abs(v)
    assert position.min() > -0.3 - 1e-12 and position.max() < 0.4 + 1e-12 and speed.max() < 1.5 + 1e-12
    assert np.isclose(speed.max(), 1.5) or np.isclose(position.max(), 0.4) or np.isclose(position.min(), -0.3)


def test_bad_records_are_refused_by_name():
    arm = load("demo_arm")
    q, v, a = arm.random_state(np.random.default_rng(0), (100,))
    tau = Dynamics(arm).inverse_dynamics(q, v, a)
    with pytest.raises(ArgumentError, match="v has shape"):
        identify(arm, q, v[:50], a, tau)
    with pytest.raises(ArgumentError, match="not finite"):
        identify(arm, q, v, a, tau * np.nan)
    with pytest.raises(ArgumentError, match="too few"):
        identify(arm, q[:2], v[:2], a[:2], tau[:2])
    with pytest.raises(ArgumentError, match="no body 'hand'"):
        identify(arm, q, v, a, tau, unknown=["hand"])
    with pytest.raises(ArgumentError, match="'base' does not move"):
        identify(arm, q, v, a, tau, unknown=["base"])
    with pytest.raises(ArgumentError, match=r"unknown = 'flange': a list of names is needed, \['flange'\]"):
        identify(arm, q, v, a, tau, unknown="flange")
    with pytest.raises(ArgumentError, match="nothing is unknown"):
        identify(arm, q, v, a, tau, unknown=[])
    with pytest.raises(ArgumentError, match=r"noise = .* or 6, one for each"):
        identify(arm, q, v, a, tau, noise=[1.0, 2.0])
    with pytest.raises(ArgumentError, match="got str; give a Mechanism"):
        identify("arm", q, v, a, tau)
    with pytest.raises(ArgumentError, match="frequency = -1 Hz"):
        exciting_motion(arm, np.linspace(0, 1, 50), -1)
    with pytest.raises(ArgumentError, match="at least two times"):
        exciting_motion(arm, 5.0, 0.2)
    with pytest.raises(ArgumentError, match=r"center .* finite"):
        fourier_motion(arm, np.linspace(0, 1, 50), np.ones((1, 2, 6)), 1.0, np.full(6, np.nan))
    with pytest.raises(ArgumentError, match="amplitudes contain numbers"):
        fourier_motion(arm, np.linspace(0, 1, 50), np.full((1, 2, 6), np.inf), 1.0)
    with pytest.raises(ArgumentError, match="named twice"):
        identify(arm, q, v, a, tau, unknown=["flange", "flange"])
    with pytest.raises(UnsupportedError, match="has wrenches"):
        identify(Dynamics(arm, wrenches=["flange"]), q, v, a, tau)
    spring = Force("spring", "joint-spring", "lift", stiffness=5.0)
    with pytest.raises(UnsupportedError, match="identification does not know their forces"):
        identify(arm.replace(forces=(spring,)), q, v, a, tau)
    with pytest.raises(ArgumentError, match="no drive parameter"):
        identify(arm, q, v, a, tau, drives=["backlash"])
    with pytest.raises(ArgumentError, match="noise"):
        identify(arm, q, v, a, tau, noise=0.0)
    still = np.zeros_like(v)
    with pytest.raises(SingularityError, match=r"cannot distinguish|does not show"):
        identify(arm, np.tile(q[:1], (100, 1)), still, still, np.tile(tau[:1], (100, 1)))


def test_differentiation_follows_a_known_motion_through_noise():
    t = np.arange(0, 5, 1e-3)
    rng = np.random.default_rng(0)
    q = np.stack([np.sin(3 * t), np.cos(2 * t)], axis=1)
    smooth, v, a = differentiate(t, q + 1e-5 * rng.normal(size=q.shape), 10.0)
    inner = slice(300, -300)
    assert np.abs(smooth - q)[inner].max() < 2e-5
    assert np.abs(v - np.stack([3 * np.cos(3 * t), -2 * np.sin(2 * t)], axis=1))[inner].max() < 3e-3
    assert np.abs(a + np.stack([9 * np.sin(3 * t), 4 * np.cos(2 * t)], axis=1))[inner].max() < 0.1  # noise x cut-off^2
    with pytest.raises(ArgumentError, match="cutoff"):
        differentiate(t, q, 600.0)
    with pytest.raises(ArgumentError, match="evenly"):
        differentiate(np.sort(rng.uniform(0, 5, len(t))), q, 10.0)
    with pytest.raises(ArgumentError, match="times must increase, but t"):
        differentiate(t[::-1], q, 10.0)


def test_torques_of_nothing_are_refused():
    dynamics = Dynamics(load("demo_arm"))
    q, v, a = dynamics.mechanism.random_state(np.random.default_rng(0), (100,))
    with pytest.raises(ArgumentError, match="nothing was measured"):
        identify(dynamics, q, v, a, np.zeros((100, 6)))
