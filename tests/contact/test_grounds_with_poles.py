"""Where the formula of a ground has no value, the error names the contact and the ground, not a mass matrix."""

from __future__ import annotations

import pytest

import dalembert as da
from dalembert.errors import ArgumentError
from dalembert.simulation import SimulationError


def ball(height):
    shape = da.Shape.sphere(0.1)
    body = da.Body("ball", da.Inertia.sphere(1.0, 0.1), collisions=(shape,))
    contact = da.Contact("touch", "ball", "world", friction=0.5, shape_a=shape, shape_b=da.Ground.formula(height))
    return da.Mechanism("ball", (body,), (da.Joint("base", "free", "world", "ball"),), contacts=(contact,))


@pytest.mark.parametrize("height", ["1/(x - 1)", "log(x - 1)", "0.1*sqrt(x - 2)"])
def test_a_start_above_a_pole_is_refused(height):
    start = [1.0, 0, 1.0, 0, 0, 0, 1]
    for call in (lambda: da.simulate(ball(height), start, t=0.01), lambda: da.rollout(ball(height), start, None, 3)):
        with pytest.raises(ArgumentError, match=r"q0: the contact 'touch' has no finite distance .* the ground, z = "):
            call()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_motion_that_comes_to_the_end_of_its_ground_says_so():
    edge = ball("0.2*sqrt(x + 1)")
    with pytest.raises(
        SimulationError, match=r"not finite: the contact 'touch' has no finite distance .* no value under"
    ):
        da.simulate(edge, [0, 0, 1.0, 0, 0, 0, 1], [-5.0, 0, 0, 0, 0, 0], t=0.6)
