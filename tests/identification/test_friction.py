"""Friction models: the simplest that predicts as well as any is the one the record was made with."""

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError
from dalembert.identification import (
    FRICTION_MODELS,
    Log,
    choose_friction,
    differentiate,
    exciting_motion,
    identify,
    low_pass,
)

ARM = da.load("double_pendulum", parameters="default")
T = np.linspace(0, 8, 1600)
MOTION = exciting_motion(ARM, T, 0.25, trials=3, amplitude=0.8)


def measured(damping, friction, offset=0.0, noise=0.02):
    real = ARM.replace(joints=tuple(joint.replace(damping=damping, friction=friction) for joint in ARM.joints))
    tau = da.Dynamics(real, include=["damping", "friction"]).inverse_dynamics(*MOTION)
    return tau + offset + noise * np.random.default_rng(4).normal(size=tau.shape)


@pytest.mark.parametrize(
    ("truth", "name"),
    [((0.0, 0.0, 0.0), "none"), ((0.2, 0.0, 0.0), "viscous"), ((0.0, 0.3, 0.0), "Coulomb"),
     ((0.2, 0.3, 0.0), "viscous and Coulomb"), ((0.2, 0.3, 0.4), "viscous, Coulomb and offset")],
)  # fmt: skip
@pytest.mark.parametrize("bodies", [None, ()])
def test_the_model_of_the_record_is_chosen(truth, name, bodies):
    choice = choose_friction(ARM, *MOTION, measured(*truth), unknown=bodies)
    assert choice.chosen == name
    best = choice.errors[choice.models.index(name)]
    assert np.abs(best.mean() - 1) < 0.1  # what is left is the noise, and little more
    assert choice.errors.shape == (5, 5) and "chosen" in str(choice)
    if bodies is None or name != "none":
        assert choice.identification is not None
        assert set(choice.identification.torques.drives) == set(FRICTION_MODELS[name])


def test_errors_are_those_of_predictions_made_by_hand():
    """Leave out a stretch, identify from the rest, predict: what is left is what the table says."""
    tau = measured(0.2, 0.3)
    drives = FRICTION_MODELS["viscous and Coulomb"]
    choice = choose_friction(ARM, *MOTION, tau, models={"both": drives}, folds=4)
    whole = identify(ARM, *MOTION, tau, drives=drives, noise=1.0)  # the same weight for all, as in the first round
    sigma = np.sqrt((whole.record.left**2).mean(axis=0))
    stretch = np.arange(len(tau)) * 4 // len(tau)
    for k in range(4):
        rest = [x[stretch != k] for x in (*MOTION, tau)]
        found = identify(ARM, *rest, drives=drives, noise=sigma)
        off = (tau - found.predict(*MOTION))[stretch == k] / sigma
        assert np.sqrt((off**2).mean()) == pytest.approx(choice.errors[0, k], rel=1e-9)


@pytest.fixture(scope="module")
def dragging():
    """Twenty seconds at 500 Hz of an arm with friction in all six joints: the arm, its motion, exact torques."""
    arm, t = da.load("demo_arm"), np.arange(0, 20, 2e-3)
    motion = exciting_motion(arm, t, 0.2, trials=3, amplitude=0.8, seed=1)
    joints = [joint.replace(damping=0.3, friction=0.5) if joint.nv else joint for joint in arm.joints]
    real = da.Dynamics(arm.replace(joints=joints), include=["damping", "friction"])
    return arm, t, motion, real.inverse_dynamics(*motion)


def drag(found):
    """Values, truth and deviations of damping and friction of six joints."""
    assert [found.visible.names[k].split(".")[1] for k in found.visible.kept[-12:]] == ["damping"] * 6 + [
        "friction"
    ] * 6
    return found.values[-12:], np.repeat([0.3, 0.5], 6), found.deviations[-12:]


@pytest.mark.parametrize("noise", [0.02, 0.1])
@pytest.mark.parametrize("cutoff", [10, 20, 50])
def test_filtered_logs_give_back_friction_within_their_intervals(dragging, cutoff, noise):
    arm, t, motion, exact = dragging
    tau = exact + noise * np.random.default_rng(1).normal(size=exact.shape)
    samples = Log(arm, t, motion[0], None, None, tau, {}, ()).samples(cutoff)
    choice = choose_friction(arm, *samples)
    assert choice.chosen == "viscous and Coulomb"
    values, truth, deviations = drag(choice.identification)
    assert (np.abs(values - truth) < 3 * deviations).all()
    assert (np.abs(values - truth) < 0.01 * truth).all()
    off = samples.tau - choice.identification.predict(samples.q, samples.v, samples.a, samples.signs)
    np.testing.assert_allclose(off, choice.identification.record.left, atol=1e-11)
    assert choice.errors[3].mean() == pytest.approx(1, abs=0.1)  # reversals are predicted as well as all else


def test_without_noise_the_filter_leaves_friction_alone(dragging):
    arm, t, motion, exact = dragging
    for cutoff in (10, 50):
        samples = Log(arm, t, motion[0], None, None, exact, {}, ()).samples(cutoff)
        values, truth, _ = drag(identify(arm, *samples, drives=["damping", "friction"]))
        np.testing.assert_allclose(values, truth, rtol=1e-3)


def test_known_friction_passes_the_filter_too():
    """Friction that the Dynamics includes counts as known; where it is all there is, noise alone is left."""
    tau = measured(0.2, 0.3)
    real = ARM.replace(joints=tuple(joint.replace(damping=0.2, friction=0.3) for joint in ARM.joints))
    known = da.Dynamics(real, include=["damping", "friction"])
    middle = slice(100, -100, 5)
    q, v, a = differentiate(T, MOTION[0], 20)
    record = [x[middle] for x in (q, v, a, low_pass(T, tau, 20), low_pass(T, np.sign(v), 20))]
    choice = choose_friction(known, *record, unknown=(), models={"none": (), "offset": ("offset",)})
    assert choice.chosen == "none" and choice.identification is None and choice.parameters == (0, 2)
    offset = identify(known, *record, unknown=(), drives=["offset"])
    assert (offset.residual < 0.02).all() and (np.abs(offset.values) < 3 * offset.deviations).all()


def test_signs_have_the_shape_of_velocities():
    tau = measured(0.2, 0.3)
    with pytest.raises(ArgumentError, match=r"signs has shape \(1600,\), expected \(1600, 2\); times are given by t="):
        identify(ARM, *MOTION, tau, T, drives=["friction"])
    with pytest.raises(ArgumentError, match="signs contains numbers that are not finite"):
        identify(ARM, *MOTION, tau, np.full_like(tau, np.nan), drives=["friction"])


def test_what_cannot_be_divided_is_refused():
    tau = measured(0.0, 0.0)
    with pytest.raises(ArgumentError, match="too few"):
        choose_friction(ARM, *(x[:20] for x in MOTION), tau[:20])
    with pytest.raises(ArgumentError, match="rows"):
        choose_friction(ARM, *MOTION, tau[:-1])


def test_pictures_show_what_they_say():
    pytest.importorskip("matplotlib")
    tau = measured(0.2, 0.3)
    found = identify(ARM, *MOTION, tau, drives=["damping", "friction"])
    figure = found.plot(T)
    lines = figure.axes[0].lines
    np.testing.assert_array_equal(lines[0].get_ydata(), tau[:, 0])
    np.testing.assert_allclose(lines[1].get_ydata() + lines[2].get_ydata(), tau[:, 0], atol=1e-12)
    assert "of the torques are left" in figure.axes[0].get_title()
    other = measured(0.2, 0.3, noise=0.05)
    assert "prediction" in found.plot_prediction(*MOTION, other, t=T).axes[0].get_title()
    assert len(found.plot_residuals().axes) == 6
    with pytest.raises(ArgumentError, match="t has shape"):
        found.plot(T[1:])


def test_tables_fit_a_narrow_terminal(monkeypatch):
    arm = da.load("demo_arm")
    t = np.linspace(0, 4, 200)
    motion = exciting_motion(arm, t, 0.25, trials=1)
    tau = da.Dynamics(arm).inverse_dynamics(*motion)
    found = identify(arm, *motion, tau + 0.01 * np.random.default_rng(0).normal(size=tau.shape))
    for width in (60, 80, 100):
        monkeypatch.setenv("COLUMNS", str(width))
        assert max(map(len, str(found).splitlines())) <= width
