"""Rows of every kind of constraint: G v is the rate of phi, and gamma that of G v, by complex step; what phi means.

Tolerances: complex steps are exact, so only rounding is left; entries are sums of some tens of products of numbers of
order one to ten: 1e-10 relative to the largest.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from constraint_cases import ALL_KINDS, STEP, four_bar, relative, with_constraint
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.algebra.transform import Transform
from dalembert.constraints import ConstraintSet, State, constraint_rows, coordinate_symbols
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, ModelError
from dalembert.kinematics import jacobian, pose, position_rate
from dalembert.model import Body, Constraint, Inertia, Joint, Mechanism
from dalembert.model.constraint import FIELDS
from dalembert.model.operations import joint_motion
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import trace

seeds = st.integers(0, 10_000)


@pytest.mark.parametrize("kind", ALL_KINDS)
@settings(max_examples=12)
@given(seed=seeds)
def test_rates_of_positions_and_velocities(kind, seed):
    mechanism = with_constraint(kind, seed)
    rows = ConstraintSet(mechanism)
    rng = np.random.default_rng(seed)
    q, v, _ = mechanism.random_state(rng)
    t = float(rng.normal())
    here = rows.at(State(mechanism, q, v, t))
    soon = rows.at(State(mechanism, q + 1j * STEP * position_rate(mechanism.tree, q, v), v, t + 1j * STEP))
    residual = here.G @ v - here.rate
    on_positions = rows.holonomic
    scale = np.abs(here.G).max(initial=1) * np.abs(v).max(initial=1)
    assert relative(np.imag(soon.phi)[on_positions] / STEP, residual[on_positions], scale) < 1e-10
    change = np.imag(soon.G @ v - soon.rate) / STEP
    assert relative(change, -here.gamma, scale * np.abs(v).max(initial=1)) < 1e-10
    assert (here.phi[~on_positions] == 0).all()


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_traced_scalars_give_the_same_rows_and_zeros_fold(kind):
    mechanism = with_constraint(kind, 3)
    rows = ConstraintSet(mechanism)

    def traced(q, v, t):
        found = rows.at(State(mechanism, q, v, t))
        return {"phi": found.phi, "G": found.G, "rate": found.rate, "gamma": found.gamma}

    program = trace(traced, {"q": (mechanism.nq,), "v": (mechanism.nv,), "t": ()}, "rows")
    q, v, _ = mechanism.random_state(np.random.default_rng(0))
    expected = rows.at(State(mechanism, q, v, 0.3))
    for name, value in evaluate(program, [q, v, 0.3]).items():
        assert relative(value, getattr(expected, name), 1.0) < 1e-12


def test_planar_closures_have_rows_that_vanish_identically():
    mechanism = four_bar()
    program = trace(lambda q: {"G": constraint_rows(mechanism, q).G}, {"q": (3,)}, "rows")
    constant = [program.nodes[k].op == "const" and program.nodes[k].value == 0 for k in program.results[0]]
    assert np.array(constant).reshape(5, 3)[2:].all()


@pytest.mark.parametrize("kind", ["rolling-sphere", "rolling-disc", "rolling-ellipsoid", "rolling-wheel", "skate"])
@settings(max_examples=10)
@given(seed=seeds)
def test_rolling_rows_are_the_velocity_of_the_point_of_contact(kind, seed):
    """Independent of the relative kinematics: the lowest of many points of the surface, and its Jacobian."""
    mechanism = with_constraint(kind, seed)
    (item,) = mechanism.constraints
    q, v, _ = mechanism.random_state(np.random.default_rng(seed))
    body = pose(mechanism, q, item.a) @ item.placement_a
    plane = pose(mechanism, q, item.b) @ item.placement_b
    normal = body.rotation.T @ plane.rotation[:, 2]
    if kind == "skate":
        point = np.zeros(3)
    elif kind in ("rolling-sphere", "rolling-wheel"):
        # An upright wheel has its contact below the centre, as a sphere has.
        point = -item.value * normal
    else:
        size = np.array(item.coefficients if item.coefficients else (item.value, item.value, 0.0))
        point = -(size**2) * normal / np.sqrt(normal @ (size**2 * normal))
        others = size * np.random.default_rng(1).normal(size=(2000, 3))
        others /= np.sqrt(np.sum((others[:, size > 0] / size[size > 0]) ** 2, axis=1))[:, None]
        assert (others @ normal).min() >= point @ normal - 1e-12
    in_world = body.apply(point)
    velocity = np.zeros(3)
    for sign, end in ((1, item.a), (-1, item.b)):
        here = pose(mechanism, q, end).inverse().apply(in_world)
        velocity += sign * (jacobian(mechanism, q, end, point=here)[1] @ v)
    rows = constraint_rows(mechanism, q, v)
    found = rows.G @ v
    if kind == "skate":
        expected = np.array([body.rotation[:, 1] @ velocity])
    else:
        expected = (plane.rotation.T @ velocity)[: len(found)]
    assert relative(found, expected, np.abs(v).max()) < 1e-11


def test_every_loop_closure_holds_for_the_motion_its_joint_allows():
    """Frames that differ by exactly that motion give zero residuals, any other displacement does not."""
    allowed = {
        "weld": Transform.identity(),
        "revolute": joint_motion(Joint("j", "revolute", "world", "b"), [0.7]),
        "prismatic": joint_motion(Joint("j", "prismatic", "world", "b"), [0.7]),
        "cylindrical": joint_motion(Joint("j", "cylindrical", "world", "b"), [0.7, 0.4]),
        "spherical": Transform.from_rpy_xyz([0.3, -0.8, 2.0], [0, 0, 0]),
        "universal": Transform.from_rpy_xyz([0.4, 0, 0], [0, 0, 0])
        @ Transform.from_rpy_xyz([0, np.pi / 2, 0], [0] * 3),
        "distance": Transform.from_rpy_xyz([0.3, -0.8, 2.0], [0.0, 0.6, 0.8]),
        "point-on-line": Transform.from_rpy_xyz([0.3, -0.8, 2.0], [0, 0, 0.9]),
        "point-on-plane": Transform.from_rpy_xyz([0.3, -0.8, 2.0], [0.3, 0.9, 0]),
    }
    body = Body("b", Inertia.box(1, [1, 1, 1]))
    for kind, motion in allowed.items():
        constraint = Constraint("c", kind, "world", "b", value=1 if "value" in FIELDS[kind].may else 0)
        mechanism = Mechanism("m", [body], [Joint("j", "free", "world", "b", motion)], constraints=[constraint])
        assert np.abs(constraint_rows(mechanism, mechanism.neutral).phi).max() < 1e-15, kind
        pushed = mechanism.neutral + [0.1, 0.1, 0.1, 0, 0, 0, 0]
        assert np.abs(constraint_rows(mechanism, pushed).phi).max() > 1e-3, kind


# ---------------------------------------------------------------------------------------------- users' constraints


def test_sympy_and_python_say_the_same():
    mechanism = four_bar().replace(constraints=())
    (q1, q2, _), (v1, _, v3), t = coordinate_symbols(mechanism)
    both = {
        "position": (lambda q, t: np.sin(q[0]) * q[1] - t**2, sympy.sin(q1) * q2 - t**2),
        "velocity": (lambda q, v, t: q[1] * v[0] - t * v[2] + np.cos(q[0]), q2 * v1 - t * v3 + sympy.cos(q1)),
    }
    for kind, functions in both.items():
        one, two = (
            constraint_rows(
                mechanism.replace(constraints=(Constraint("c", kind, function=f),)), [1, 2, 3], [4, 5, 6], 7
            )
            for f in functions
        )
        for name in ("phi", "G", "rate", "gamma"):
            assert relative(getattr(one, name), getattr(two, name), 1.0) < 1e-14


def test_a_constraint_that_is_not_linear_in_the_velocities_is_refused_and_the_term_named():
    mechanism = four_bar().replace(constraints=())
    (q1, _, _), (v1, v2, _), _ = coordinate_symbols(mechanism)
    cases = [
        (lambda q, v, t: v[2] + q[0] * v[0] * v[1], "the term coupler_dot\\*crank\\*crank_dot"),
        (lambda q, v, t: [v[0], v[2] ** 2 - 1], "row 1: the term rocker_dot\\*\\*2"),
        (v2 + q1 * v1**2, "the term crank\\*crank_dot\\*\\*2"),
    ]
    for function, term in cases:
        constrained = mechanism.replace(constraints=(Constraint("drive", "velocity", function=function),))
        with pytest.raises(ModelError, match=f"'drive'.*{term}.*linear"):
            ConstraintSet(constrained)


def test_unknown_symbols_are_named():
    """A velocity cannot occur in a law on positions; a symbol that is no coordinate lacks a value."""
    mechanism = four_bar().replace(constraints=())
    wrong = mechanism.replace(constraints=(Constraint("c", "position", function=sympy.Symbol("crank_dot") - 1),))
    with pytest.raises(ArgumentError, match=r"crank_dot cannot occur here; known are crank, coupler, rocker, t"):
        ConstraintSet(wrong)
    for name, words in (("crnk", "did you mean 'crank'"), ("elbow", "known are crank, coupler, rocker")):
        wrong = mechanism.replace(constraints=(Constraint("c", "position", function=sympy.Symbol(name) - 1),))
        with pytest.raises(ArgumentError, match=f"has the symbols {name}; .*; {name} is no coordinate; {words}"):
            Dynamics(wrong).forward_dynamics([0, 0, 0], [0, 0, 0], [0, 0, 0])


def test_symbols_of_a_formula_are_no_parameters_of_the_mechanism():
    mechanism = four_bar().replace(constraints=(Constraint("c", "position", function=sympy.Symbol("crank") - 1),))
    assert mechanism.symbols == ()


@pytest.mark.parametrize(
    "bad, words",
    [
        (lambda: Constraint("c", "distance", "a", "b"), "positive value"),
        (lambda: Constraint("c", "rolling-disc", "a", "b", value=-1), "positive value"),
        (lambda: Constraint("c", "motion", "j"), "either coefficients or a function"),
        (lambda: Constraint("c", "position"), "needs a function"),
        (lambda: Constraint("c", "weld", "a", function=lambda q, t: 0), "does not use function"),
        (lambda: Constraint("c", "rolling-ellipsoid", "a", coefficients=(1, 2)), "three semi-axes"),
        (lambda: Constraint("c", "rolling-ellipsoid", "a", coefficients=(1, 2, -3)), "semi-axes are positive"),
        (lambda: Constraint("c", "velocity", function="v[0]"), "expected a function"),
        (lambda: Constraint("c", "coupling", "j", "k"), "coefficients of its polynomial"),
        (lambda: Constraint("c", "coupling", "j", "j", coefficients=(0, 2)), "couples joint 'j' with itself"),
    ],
)
def test_constraints_that_make_no_sense_are_refused(bad, words):
    with pytest.raises(ModelError, match=words):
        bad()


PLACED = Transform.from_translation([1, 0, 0])


@pytest.mark.parametrize(
    "kind, needed, idle",
    [
        ("weld", {"a": "a"}, {"value": 3, "coefficients": (1, 2)}),
        ("skate", {"a": "a"}, {"value": 3.0}),
        ("distance", {"a": "a", "value": 1.0}, {"coefficients": (3,)}),
        ("rolling-ellipsoid", {"a": "a", "coefficients": (1, 2, 3)}, {"value": 2.0}),
        ("coupling", {"a": "j", "b": "k", "coefficients": (0, 1)}, {"placement_a": PLACED, "value": 1}),
        ("motion", {"a": "j", "b": "", "coefficients": (1,)}, {"b": "k", "placement_b": PLACED}),
        ("position", {"function": sympy.Symbol("j")}, {"a": "j", "b": "k", "value": 2, "placement_a": PLACED}),
    ],
)
def test_what_a_kind_does_not_use_is_refused_not_ignored(kind, needed, idle):
    Constraint("c", kind, **needed)
    for name, value in idle.items():
        with pytest.raises(ModelError, match=f"'c': a {kind} constraint does not use {name}"):
            Constraint("c", kind, **{**needed, name: value})
