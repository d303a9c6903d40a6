"""Projected velocities and accelerations are nearest in kinetic energy, to rounding, also of motions without mass."""

import numpy as np
import pytest
import scipy.linalg

import dalembert as da

BAR = {"g": 9.81, "l0": 0.4, "l1": 0.1, "l2": 0.35, "l3": 0.3, "m1": 1.0, "m2": 1.5, "m3": 0.8}


def exact(M, G, missing):
    """By the null space of G, in extended precision where NumPy has it."""
    particular = np.linalg.pinv(G) @ missing
    N = scipy.linalg.null_space(G)
    return particular - N @ np.linalg.solve(N.T @ M @ N, N.T @ M @ particular)


@pytest.mark.parametrize("light", [1.0, 1e-5])
def test_projection_is_of_least_energy(light):
    """Before, a billionth of the diagonal of M was part of the energy, which was seen in the eighth digit."""
    bar = da.substitute(da.load("four_bar"), {**BAR, "m2": 1.5 * light})
    dyn = da.Dynamics(bar)
    q = dyn.assemble([0.7, 0.2, 0.3])
    v = np.array([1.0, -0.4, 2.0])
    found = dyn.project_velocity(q, v)
    _, G, rate, _ = dyn.evaluate("constraints", q, v, 0.0)
    best = v + exact(dyn.mass_matrix(q), G, rate - G @ v)
    np.testing.assert_allclose(found, best, rtol=1e-12, atol=1e-13)
    a = dyn.project_acceleration(q, found, v)
    _, G, _, gamma = dyn.evaluate("constraints", q, found, 0.0)
    np.testing.assert_allclose(a, v + exact(dyn.mass_matrix(q), G, gamma - G @ v), rtol=1e-12, atol=1e-12)


def test_a_rod_without_mass_is_projected_too():
    values = {**BAR, "m2": 0.0, "m3": 0.0}
    bar = da.substitute(da.load("four_bar").replace(strict=False), values)
    dyn = da.Dynamics(bar)
    q = dyn.assemble([0.7, 0.2, 0.3])
    found = dyn.project_velocity(q, [1.0, -0.4, 2.0])
    _, G, rate, _ = dyn.evaluate("constraints", q, found, 0.0)
    np.testing.assert_allclose(G @ found, rate, atol=1e-12)
    assert found[0] == pytest.approx(1.0, abs=1e-9)  # the crank alone has mass: nothing is gained by changing it
