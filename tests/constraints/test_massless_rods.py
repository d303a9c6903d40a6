"""Bodies without mass that only their loops hold."""

import numpy as np
import pytest

from dalembert.algebra.transform import Transform
from dalembert.dynamics import Dynamics
from dalembert.errors import UnsupportedError
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism


def test_a_rod_without_mass_is_held_by_its_loop():
    """The inertia matrix of the open tree is singular, so multipliers are refused, and projection is the default."""
    matter, nothing = Inertia(1.0, [0.05, 0, 0], np.zeros((3, 3))), Inertia(0, [0, 0, 0], np.zeros((3, 3)))
    crank = Mechanism(
        "slider crank",
        (Body("crank", matter), Body("rod", nothing), Body("slider", Inertia(2.0, [0, 0, 0], np.zeros((3, 3))))),
        (
            Joint("shaft", "revolute", WORLD, "crank", axis=[0, 0, 1]),
            Joint("pin", "revolute", "crank", "rod", Transform.from_translation([0.1, 0, 0]), axis=[0, 0, 1]),
            Joint("guide", "prismatic", WORLD, "slider", axis=[1, 0, 0]),
        ),
        constraints=(Constraint("wrist", "point-on-line", "rod", "slider", Transform.from_translation([0.3, 0, 0])),),
        strict=False,
    )
    system = Dynamics(crank, reference=[0.5, -0.7, 0.4])
    assert system.method == "projection"
    q, tau = system.assemble([0.5, -0.7, 0.4], keep=["shaft"]), np.array([1.0, 0, 0])
    v = system.project_velocity(q, [1.0, 0, 0], keep=["shaft"])
    exact = system.solve(q, v, tau).a
    assert np.abs(system.forward_dynamics(q, v, tau) - exact).max() < 1e-10 * np.abs(exact).max()
    at_rest = system.forward_dynamics(q, np.zeros(3), tau)
    assert at_rest[0] == pytest.approx(1 / (0.05**2 + 2.0 * (v[2] / v[0]) ** 2), rel=1e-9)
    with pytest.raises(UnsupportedError, match=r"joint 'pin' moves nothing that has mass .* method='projection'"):
        Dynamics(crank, method="multipliers")
