"""Equations that no adaptive integrator can follow: they end with a sentence, not in shorter and shorter steps."""

import numpy as np
import pytest

from dalembert.model import Body, Force, Inertia, Joint, Mechanism
from dalembert.simulation import SimulationError, simulate


def bead(friction=0.0):
    """1 kg on a rail, with dry friction in N."""
    rail = Joint("rail", "prismatic", "world", "bead", friction=friction)
    return Mechanism("bead", [Body("bead", Inertia(1.0))], [rail], gravity=(0, 0, 0))


@pytest.mark.parametrize("method", ["DOP853", "Radau", "BDF"])
def test_an_integrator_that_gives_up_recommends_another(method):
    """v' = v^2 has no solution beyond t = 1/v0."""
    with pytest.raises(SimulationError, match=f"{method} cannot go on: .*[^.]\\. Loosen rtol and atol") as caught:
        simulate(bead(), None, [1.0], 2.0, control=lambda t, q, v: v**2, method=method)
    assert ("try the method 'Radau'" in str(caught.value)) == (method == "DOP853")


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "BDF", "LSODA"])
@pytest.mark.filterwarnings("ignore:lsoda")
def test_dry_friction_at_rest_ends_with_an_error_that_names_it(method):
    """A bead of 1 kg slows down by 2 m/s^2 and rests after 0.5 s; then the sign of its speed flickers."""
    with pytest.raises(SimulationError, match="friction of joints") as caught:
        simulate(bead(2.0), None, [1.0], 10.0, include=["friction"], method=method, hold=None)
    assert abs(caught.value.time - 0.5) < 1e-3
    assert abs(caught.value.partial.q[-1, 0] - 0.25) < 1e-3


def test_a_force_element_that_jumps_is_named():
    """Not the control, which there is none of."""
    rub = Force("rub", "joint-friction", "rail", value=2.0)
    with pytest.raises(SimulationError, match=r"friction 'rub' is discontinuous where .* give it a smoothing"):
        simulate(bead().replace(forces=[rub]), None, [1.0], 10.0, elements="all", hold=None)


def test_a_control_that_switches_is_told_too():
    with pytest.raises(SimulationError, match=r"is stuck: its last \d+ steps covered .* a control that switches"):
        simulate(bead(), None, [1.0], 10.0, control=lambda t, q, v: -2 * np.sign(v))


def test_many_short_steps_are_no_reason_to_stop():
    """Fast oscillations for long: 3000 steps and more, all of them needed."""
    motion = simulate(bead(), [1.0], None, 60.0, control=lambda t, q, v: -900 * q)
    assert len(motion) > 3000
    assert abs(motion.q[-1, 0] - np.cos(30 * 60.0)) < 1e-4
