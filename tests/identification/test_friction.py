"""Friction models: the simplest that predicts as well as any is the one the record was made with."""

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError
from dalembert.identification import FRICTION_MODELS, choose_friction, exciting_motion, identify

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
    assert "prediction" in found.plot_prediction(*MOTION, other, T).axes[0].get_title()
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
