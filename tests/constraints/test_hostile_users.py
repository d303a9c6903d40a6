"""Constraints and forces that make no sense are answered by errors that name them and say why."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy

from dalembert.algebra import scalar
from dalembert.algebra.transform import Transform
from dalembert.constraints import ConstraintSet, ForceSet, State
from dalembert.constraints.classical import four_bar
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, ModelError, SingularityError, TracingError
from dalembert.model import WORLD, Body, Constraint, Force, Inertia, Joint, Mechanism, Mimic

BARS = four_bar().replace(constraints=())
REFERENCE = [1.0, -0.5, 1.7]


def held(kind, function):
    return ConstraintSet(BARS.replace(constraints=(Constraint("mine", kind, function=function),)))


@pytest.mark.parametrize(
    "function, term",
    [
        (lambda q, v, t: scalar.sin(v[0]), r"sin\(crank_dot\)"),
        (lambda q, v, t: scalar.sqrt(v[0] ** 2 + v[1] ** 2) - 1, r"sqrt\(coupler_dot\*\*2 \+ crank_dot\*\*2\)"),
        (lambda q, v, t: v[0] / v[1] - 1, r"crank_dot/coupler_dot"),
        (lambda q, v, t: v[0] + 1e-10 * v[1] ** 2, r"coupler_dot\*\*2"),
        (lambda q, v, t: v[2] + q[0] * v[0] * v[1] * t, r"coupler_dot\*crank\*crank_dot\*t"),
        (sympy.exp(sympy.Symbol("crank_dot")) - 1, r"exp\(crank_dot\)"),
        (lambda q, v, t: v[0] * v[0] * scalar.sqrt(q[0] - 10) + v[1], r"crank_dot\*\*2\*sqrt\(crank - 10\)"),
    ],
)
def test_the_term_that_is_not_linear_is_written_out(function, term):
    with pytest.raises(ModelError, match=f"'mine', row 0: the term .*{term} is not linear"):
        held("velocity", function)


def test_hidden_zeros_are_linear():
    held("velocity", lambda q, v, t: v[0] + (0.1 * v[1] + v[2]) ** 2 - 0.01 * v[1] ** 2 - 0.2 * v[1] * v[2] - v[2] ** 2)


@pytest.mark.parametrize(
    "answer", [None, "x", [], {}, lambda q: [[q[0], q[1]]], lambda q: [[q[0]], [q[1], q[2]]], lambda q: {"a": q[0]}]
)
def test_answers_that_are_no_scalars_are_shown(answer):
    with pytest.raises(ModelError, match="'mine': the function must return a scalar or a sequence of scalars, got"):
        held("position", lambda q, t: answer(q) if callable(answer) else answer)


@pytest.mark.parametrize(
    "function, words",
    [
        (lambda q, t: 1 / 0, "raised ZeroDivisionError"),
        (lambda q, t: q[7], "raised IndexError"),
        (lambda q, t: q[0] + 1j, "raised TypeError.*traced scalars"),
        (lambda q, t: q[0] - sympy.Symbol("l"), "SymPy symbols belong into a SymPy expression"),
    ],
)
def test_functions_that_raise_are_named(function, words):
    with pytest.raises(ModelError, match=f"'mine': its function {words}" if "raised" in words else words):
        held("position", function)
    forced = BARS.replace(forces=(Force("mine", "user", function=lambda q, v, t: [function(q, t), 0, 0]),))
    with pytest.raises(ModelError, match="'mine'"):
        ForceSet(forced, "all")


def test_branches_on_traced_scalars_are_explained_and_named():
    with pytest.raises(TracingError, match=r"'mine': the truth.*select"):
        held("position", lambda q, t: q[0] if q[0] > 0 else q[1])
    with pytest.raises(TracingError, match=r"'mine': the value.*math"):
        held("position", lambda q, t: math.sin(q[0]))


def test_a_function_out_of_its_domain_is_told_by_its_name():
    beyond = BARS.replace(constraints=(Constraint("mine", "position", function=lambda q, t: scalar.log(-q[0] * q[0])),))
    with pytest.raises(SingularityError, match=r"mine: inf|constraint 'mine' is not defined"):
        Dynamics(beyond, reference=REFERENCE).assemble()


def test_a_law_of_velocities_without_gradient_at_the_neutral_position_is_no_obstacle_elsewhere():
    """No speed away from the centre, where nothing says which way that is: a particle goes in circles around it."""
    bodies = [Body("slide", Inertia(0.0)), Body("bead", Inertia.point(2.0))]
    joints = [Joint("x", "prismatic", WORLD, "slide", axis=[1, 0, 0])]
    joints.append(Joint("y", "prismatic", "slide", "bead", axis=[0, 1, 0]))
    x, y, x_dot, y_dot = sympy.symbols("x y x_dot y_dot", real=True)
    law = Constraint("law", "velocity", function=(x * x_dot + y * y_dot) / sympy.sqrt(x**2 + y**2))
    system = Dynamics(Mechanism("plane", bodies, joints, constraints=[law]))
    q, v = np.array([0.6, 0.8]), np.array([-1.6, 1.2])
    assert np.abs(system.forward_dynamics(q, v, np.zeros(2)) + 4.0 * q).max() < 1e-12  # v^2 / r = 4 m/s^2, inwards
    assert "1 degree of freedom" in str(system.analyse(q))
    with pytest.raises(SingularityError, match="gradient of constraint 'law' is not defined"):
        system.drive_forces(np.zeros(2), np.zeros(2), np.zeros(2), actuated=["x", "y"])


@pytest.mark.parametrize("kind", ["weld", "spherical", "point-on-plane"])
@pytest.mark.parametrize("body", ["crank_bar", WORLD])
def test_a_body_is_not_joined_with_itself(kind, body):
    with pytest.raises(ModelError, match=r"'c' joins .* on the same body"):
        ConstraintSet(BARS.replace(constraints=(Constraint("c", kind, body, body),)))


@pytest.mark.parametrize("length", [0, -1.0, math.nan, math.inf])
def test_rods_have_a_length(length):
    with pytest.raises(ModelError, match="needs a positive value"):
        Constraint("rod", "distance", "crank_bar", "rocker_bar", value=length)


@pytest.mark.parametrize("bounds", [{"lower": math.nan}, {"lower": -1.0, "upper": math.nan}])
def test_stops_begin_somewhere(bounds):
    with pytest.raises(ModelError, match=r"'wall': a stop begins somewhere, got lower = .*nan"):
        Force("wall", "joint-stop", "j", stiffness=1.0, **bounds)


@pytest.mark.parametrize("late", [(1.0, 0.0, 2.0), (1.0, 0.0, 1.0, 5.0)])
def test_kernels_refuse_motions_that_part_later(late):
    """At t = 0 they agree in positions and velocities, the second pair in accelerations too."""
    bars = four_bar()
    motions = [
        Constraint(f"m{k}", "motion", "crank", "", coefficients=c) for k, c in enumerate([(1.0, 0.0, 1.0), late])
    ]
    system = Dynamics(bars.replace(constraints=(*bars.constraints, *motions)), reference=REFERENCE)
    q = system.assemble()
    with pytest.raises(SingularityError, match=r"contradict each other at t = 0.37 s: m1 .*position of crank"):
        system.forward_dynamics(q, np.zeros(3), np.zeros(3))
    same = Dynamics(
        bars.replace(constraints=(*bars.constraints, motions[0], motions[0].replace(name="again"))), reference=REFERENCE
    )
    assert same.forward_dynamics(q, np.zeros(3), np.zeros(3))[0] == pytest.approx(2.0)


def test_friction_at_rest_is_zero_and_a_spring_of_no_length_pulls_to_the_point():
    slides = Mechanism(
        "bead",
        (Body("x", Inertia.point(1.0)), Body("y", Inertia.point(1.0))),
        (Joint("jx", "prismatic", WORLD, "x", axis=[1, 0, 0]), Joint("jy", "prismatic", "x", "y", axis=[0, 1, 0])),
    )
    spring = Force("spring", "spring", WORLD, "y", stiffness=10.0)
    rubbed = Force("friction", "joint-friction", "jx", value=3.0)
    system = Dynamics(slides.replace(forces=(spring, rubbed)), elements="all")
    assert np.array_equal(system.evaluate("element_forces", np.zeros(2), np.zeros(2), 0.0), np.zeros((2, 2)))
    pulled = system.evaluate("element_forces", np.array([0.3, -0.4]), np.array([0.0, 1.0]), 0.0)
    np.testing.assert_allclose(pulled, [[-3.0, 4.0], [0.0, 0.0]], atol=1e-14)
    alone = ForceSet(slides.replace(forces=(spring,)), "all")
    assert alone.energy(State(alone.mechanism, [0.3, -0.4], [0, 0])) == pytest.approx(10 * 0.25 / 2)
    springs = Dynamics(slides.replace(forces=(spring,)), elements="all")
    values = springs.linear_model(np.zeros(2), np.zeros(2), np.zeros(2)).poles
    np.testing.assert_allclose(sorted(values.imag), [-np.sqrt(10), -np.sqrt(5), np.sqrt(5), np.sqrt(10)], rtol=1e-9)


def test_frames_that_do_not_exist_are_named():
    with pytest.raises(ModelError, match="'nobody' does not exist"):
        BARS.replace(forces=(Force("w", "wrench", "nobody", components=(0,) * 6),))
    with pytest.raises(ModelError, match="'nobody' does not exist"):
        BARS.replace(constraints=(Constraint("c", "weld", "nobody", "crank_bar", Transform.identity()),))


def test_constrained_kernels_have_precisions_and_devices():
    card = Dynamics(four_bar(), device="cuda", reference=REFERENCE)
    assert "__global__" in card.kernel("forward_dynamics").source(np.float32).source
    short = Dynamics(four_bar(), dtype="float32", reference=REFERENCE)
    assert short.forward_dynamics(short.assemble(), np.zeros(3), np.zeros(3)).dtype == np.float32
    with pytest.raises(ArgumentError, match="cpu"):
        Dynamics(four_bar(), device="gpu")
    system = Dynamics(four_bar(), device="cpu", dtype=None, reference=REFERENCE)
    q = system.assemble()
    assert system.forward_dynamics(q, np.zeros(3), np.zeros(3), dtype="float32").dtype == np.float32


def test_a_joint_that_follows_another_has_no_drive_of_its_own():
    finger = four_bar()
    last = finger.joints[-1].replace(mimic=Mimic(finger.joints[0].name, -1))
    hand = finger.replace(joints=(*finger.joints[:-1], last), constraints=())
    still = np.zeros(2)
    for drives in ([last.name], [finger.joints[0].name, last.name]):
        with pytest.raises(ArgumentError, match=r"follows 'crank'.*name that one"):
            Dynamics(hand).drive_forces(still, still, still, actuated=drives)
