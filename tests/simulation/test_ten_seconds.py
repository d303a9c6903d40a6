"""Closed loops of the literature, simulated for ten seconds: they stay closed to rounding, and move as they should."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dalembert.constraints.classical import (
    ANDREWS_START,
    andrews,
    bricard,
    flyball_governor,
    four_bar,
    parallel_four_bars,
    slider_crank,
    spatial_slider_crank,
)
from dalembert.dynamics import Dynamics
from dalembert.errors import SimulationWarning
from dalembert.simulation import simulate

TIMES = np.linspace(0, 10, 101)


def violation(system, motion):
    """The largest violation of a constraint on positions, m or rad."""
    found = [system.evaluate("positions", q, t)[0] for t, q in zip(motion.t, motion.q)]
    return np.abs(np.array(found)[:, system.constraints.holonomic]).max()


CASES = {  # mechanism, near which position, which joint is moved, at what speed
    "slider-crank": (slider_crank(0.3, 1.0, 2.0), [0.5, -0.6, 1.2], "crank", 5.0),
    "four-bar": (four_bar(), [1.0, -0.5, 1.7], "crank", 3.0),
    "spatial slider-crank": (spatial_slider_crank(), [0, 0, 0, 0, 1, 0.2], "crank", 6.0),
    "Bricard": (bricard(), [np.pi / 2] * 5, None, 0.0),
    "governor": (flyball_governor(8.0, 2.0, 3.0, 0.6), [0, 0.8, -1.6, 0.8, -1.6, 0.8], "left", 0.0),
    "Andrews": (andrews(), ANDREWS_START, "beta", 20.0),
}


@pytest.mark.parametrize("name", CASES)
def test_loops_stay_closed_for_ten_seconds(name):
    mechanism, near, moved, speed = CASES[name]
    system = Dynamics(mechanism, elements=(), reference=near)
    keep = [moved] if moved else []
    q = system.assemble(near, keep=keep)
    v = np.zeros(mechanism.nv)
    if moved:
        v[mechanism.v_slice(moved)] = speed
    motion = simulate(system, q, system.project_velocity(q, v, keep=keep), TIMES)
    assert motion.t[-1] == 10.0
    assert np.ptp(motion.q, axis=0).max() > 0.5  # it does move
    assert violation(system, motion) < 1e-12  # a billionth is wanted; projection leaves rounding
    if name != "governor":  # whose spindle is driven
        assert np.ptp(motion.energy) < 1e-6 * motion.kinetic_energy.max()


def test_singular_positions_are_passed_with_a_fixed_step():
    """Two four-bars side by side are a pendulum of one coordinate, 3 x'' = -3.5 g cos x. Where all rods lie on one
    line other motions become possible; steps of fixed length that do not hit such a position pass by, ten times in
    ten seconds.
    """
    h = np.pi / 2
    upright, speeds = np.array([h, -h, h, -h, h]), np.array([-1.0, 1, -1, 1, -1])
    system = Dynamics(parallel_four_bars(2), reference=upright + [-0.4, 0.4, -0.4, 0.4, -0.4])
    exact = solve_ivp(
        lambda t, x: [x[1], -3.5 * 9.81 * np.cos(x[0]) / 3], (0, 10), [h, -1.0], "DOP853", TIMES, rtol=1e-12, atol=1e-12
    ).y[0]
    with pytest.warns(SimulationWarning, match="passes a singular position"):
        motion = simulate(system, upright, speeds, TIMES, method="rk4", step=5e-3)
    assert violation(system, motion) < 1e-12
    assert motion.q[-1, 0] < h - 8 * np.pi  # four turns and more
    assert np.abs(motion.q[:, 0] - exact).max() < 1e-5  # fourth order, amplified where rods lie on one line
