"""Given motions that jump give an impulse to what they carry; who simulates that is told, and nobody else."""

import warnings

import numpy as np
import pytest
import sympy

from dalembert.errors import SimulationWarning
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism
from dalembert.simulation import simulate

t = sympy.Symbol("t")
WHEN = 0.5
TURN = sympy.Piecewise((t, t < WHEN), (1 - t, True))
STEP = sympy.Piecewise((0, t < WHEN), (sympy.Rational(1, 10), True))


def ramp(width):
    """From rest to 1 m/s within a time, beginning at 0.5 s."""
    late = t - sympy.Rational(1, 2)
    return sympy.Piecewise((0, late < 0), (late**2 / (2 * width), late < width), (late - width / 2, True))


METHODS = [
    {}, {"method": "RK45"}, {"method": "Radau"}, {"method": "rk4", "step": 1e-2}, {"method": "rk4", "step": 0.0123},
    {"method": "semi-implicit-euler", "step": 1e-3},
]  # fmt: skip


def cart(motion, lever=0.5, kind="motion"):
    """A pendulum on a cart that moves as it is told."""
    if kind == "motion":
        told = Constraint("told", "motion", "x", function=motion)
    else:
        told = Constraint("told", "velocity", function=sympy.Symbol("x_dot") - motion.diff(t))
    bodies = [Body("cart", Inertia(1.0)), Body("pole", Inertia(1.0, [0, 0, -lever], np.eye(3) / 10))]
    joints = [
        Joint("x", "prismatic", WORLD, "cart", axis=[1, 0, 0]),
        Joint("turn", "revolute", "cart", "pole", axis=[0, 1, 0]),
    ]
    return Mechanism("cart", bodies, joints, constraints=[told])


@pytest.mark.parametrize("options", METHODS)
@pytest.mark.parametrize("kind", ["motion", "velocity"])
@pytest.mark.parametrize("motion, speed", [(TURN, 1.0), (ramp(1e-4), 0.0)], ids=["turn", "short ramp"])
def test_jumps_of_velocity_are_told_with_the_step_in_which_they_are(motion, speed, kind, options):
    with pytest.warns(SimulationWarning, match="'told' demands jumps") as told:
        simulate(cart(motion, kind=kind), [0, 0.3], [speed, 0], 1.0, **options)
    begin, end = (float(word) for word in str(told[0].message).split() if word[0].isdigit())
    assert begin <= 0.5 <= end <= begin + 0.3 and len(told) == 1


@pytest.mark.parametrize("options", METHODS[:-1])
def test_jumps_of_position_are_told(options):
    with pytest.warns(SimulationWarning, match="'told' demands jumps"):
        simulate(cart(STEP), [0, 0.3], [0, 0], 1.0, **options)


@pytest.mark.parametrize("options", METHODS)
def test_belts_that_begin_somewhere_are_told(options):
    """The speed jumps with the position, which is passed at 0.5 s; one that grows along the way is not told."""
    x, x_dot = sympy.symbols("x x_dot")
    belt = cart(TURN).replace(
        constraints=[Constraint("belt", "velocity", function=x_dot - sympy.Piecewise((1, x < WHEN), (3, True)))]
    )
    with pytest.warns(SimulationWarning, match="'belt' demands jumps") as told:
        simulate(belt, [0, 0.3], [1, 0], 1.0, **options)
    begin, end = (float(word) for word in str(told[0].message).split() if word[0].isdigit())
    assert begin <= 0.5 + 1e-9 and end >= 0.5 - 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error", SimulationWarning)
        even = [Constraint("belt", "velocity", function=x_dot - 1 - x)]
        simulate(belt.replace(constraints=even), [0, 0.3], [1, 0], 1.0, **options)


@pytest.mark.parametrize("options", METHODS)
def test_what_steps_see_is_not_told_nor_what_nothing_feels(options):
    """Motions that are smooth, or have jumps of acceleration only; a pendulum hung at its centre; a driven mechanism
    without freedom. Where nothing is told, the impulse has been given: (I + m l^2) v = m l V.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", SimulationWarning)
        for motion, speed in [(ramp(0.2), 0), (sympy.sin(8 * t) / 4, 2), (t**5, 0), (sympy.exp(3 * t) - 1, 3)]:
            simulate(cart(motion), [0, 0.3], [speed, 0], 1.0, **options)
        simulate(cart(TURN, lever=0.0), [0, 0.3], [1, 0], 1.0, **options)
        both = (*cart(TURN).constraints, Constraint("held", "motion", "turn", coefficients=(0.3,)))
        simulate(cart(TURN).replace(constraints=both), [0, 0.3], [1, 0], 1.0, **options)
        hung = cart(ramp(0.05)).replace(gravity=np.zeros(3))
        long = {"max_step": 0.02} if "step" not in options else {"step": 1e-3}
        motion = simulate(hung, [0, 0.0], [0, 0], 0.55, **{**options, **long})
    assert abs(motion.v[-1, 1] - 0.5 / 0.35) < 0.05
