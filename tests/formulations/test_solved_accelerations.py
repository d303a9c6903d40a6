"""Accelerations solve the equations of motion, whatever the mass matrix, or are refused."""

import copy

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import LagrangesMethod, ReferenceFrame, dynamicsymbols

from dalembert import (
    Body,
    Inertia,
    Joint,
    Mechanism,
    MovingBodies,
    MovingBodyFormula,
    derive,
    from_lagrangian,
    from_sympy,
    load,
)
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError

x, y, xdot, ydot = sympy.symbols("x y xdot ydot")
m, c, k = sympy.symbols("m c k")


def lagranges_method(lagrangian, coordinates, **constraints):
    method = LagrangesMethod(lagrangian, coordinates, frame=ReferenceFrame("N"), **constraints)
    method.form_lagranges_equations()
    return method


def test_an_indefinite_mass_matrix():
    """Bateman's pair, a damped oscillator and its mirror image: M = [0 m; m 0] is regular without a pivot to begin."""
    equations = from_lagrangian(m * xdot * ydot + c * (x * ydot - xdot * y) / 2 - k * x * y, [x, y])
    q, v, tau = np.random.default_rng(0).normal(size=(3, 7, 2))
    found = equations.compile("accelerations")(q, v, tau, c=0.3, k=5.0, m=2.0)
    damped = (tau[:, 1] - 0.3 * v[:, 0] - 5 * q[:, 0]) / 2
    driven = (tau[:, 0] + 0.3 * v[:, 1] - 5 * q[:, 1]) / 2
    np.testing.assert_allclose(found, np.stack([damped, driven], axis=1), rtol=1e-14)


def test_singular_mass_matrices_are_refused():
    one = from_lagrangian(m * (xdot + ydot) ** 2 / 2 - k * x**2 / 2, [x, y])
    none = from_lagrangian(m * x * ydot - k * (x**2 + y**2), [x, y])
    bead = MovingBodies("bead", [x, y], [MovingBodyFormula("bead", m, [x + y, 0, (x + y) ** 2])])
    for equations in (one, none, derive(bead, "lagrange"), derive(bead, "kane")):
        with pytest.raises(SingularityError, match="the mass matrix"):
            equations.accelerations()


def test_dependence_hidden_by_rounding_is_seen():
    """Three forms of which the third is a combination of the others, with factors that depend on the position."""
    a, b, d = dynamicsymbols("a b d")
    one = [sympy.sin(a), sympy.cos(b), d + 2]
    two = [a, b + 1, sympy.cos(d)]
    first, second = (sum(f * z.diff() for f, z in zip(form, (a, b, d))) for form in (one, two))
    with pytest.raises(SingularityError, match="the mass matrix"):
        from_sympy(lagranges_method(m * first**2 / 2 + k * second**2 / 2, [a, b, d])).accelerations()
    arm = load("rrr")
    plain = derive(arm, "kane")
    names = dict(zip((a, b, d), map(plain.symbol, plain.coordinates)))
    rates = [plain.symbol(name) for name in plain.velocities]
    first, second = (sum(sympy.sympify(f).subs(names) * z for f, z in zip(form, rates)) for form in (one, two))
    third = sympy.expand(first / 3 + sympy.sin(names[b]) * second)
    with pytest.raises(SingularityError, match="speeds"):
        derive(arm, "kane", speeds=[first, second, third])


def test_multipliers_of_a_sympy_model_are_solved_for():
    """A bob on a rod in x and y: gravity along the circle, |v|^2 / l inwards."""
    X, Y = dynamicsymbols("x y")
    l, g = sympy.symbols("l g")
    lagrangian = m * (X.diff() ** 2 + Y.diff() ** 2) / 2 - m * g * Y
    pendulum = from_sympy(lagranges_method(lagrangian, [X, Y], hol_coneqs=[X**2 + Y**2 - l**2]))
    q, along = np.array([0.6, -0.8]), np.array([0.8, 0.6])
    found = pendulum.accelerations().evaluate({"q": q, "v": 2 * along, "g": 9.81, "m": 3.0})
    np.testing.assert_allclose(found, along * (along @ [0, -9.81]) - 4 * q, rtol=1e-13)
    twice = lagranges_method(lagrangian, [X, Y], hol_coneqs=[X**2 + Y**2 - l**2, 2 * X**2 + 2 * Y**2 - 2 * l**2])
    with pytest.raises(SingularityError, match="masses and constraints"):
        from_sympy(twice).accelerations()


def test_multipliers_of_a_moving_knife_edge():
    """A skate turns at a constant rate and keeps its speed: a = V w across."""
    X, Y, turn = dynamicsymbols("x y theta")
    lagrangian = m * (X.diff() ** 2 + Y.diff() ** 2) / 2 + k * turn.diff() ** 2 / 2
    edge = X.diff() * sympy.sin(turn) - Y.diff() * sympy.cos(turn)
    skate = from_sympy(lagranges_method(lagrangian, [X, Y, turn], nonhol_coneqs=[edge]))
    c, s, V, w = np.cos(0.3), np.sin(0.3), 2.0, 0.7
    found = skate.accelerations().evaluate({"q": [0.1, 0.2, 0.3], "v": [V * c, V * s, w], "m": 2.0, "k": 3.0})
    np.testing.assert_allclose(found, [-V * w * s, V * w * c, 0], rtol=1e-13, atol=1e-14)


def test_every_coordinate_has_a_name_of_its_own():
    with pytest.raises(ArgumentError, match="a is given twice"):
        derive(load("double_pendulum"), coordinates=["a", "a"])


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
def test_without_freedom_there_are_no_accelerations(method):
    shelf = Mechanism("shelf", [Body("board", Inertia(1.0))], [Joint("wall", "fixed", "world", "board")])
    equations = derive(shelf, method)
    assert equations.mass_matrix.shape == (0, 0) and equations.accelerations().shape == (0,)


def test_a_deep_copy_is_as_good_as_the_original():
    equations = derive(load("double_pendulum"))
    twin = copy.deepcopy(equations)
    assert twin.sympy("gravity") == equations.sympy("gravity")
    assert twin.accelerations().sympy() == equations.accelerations().sympy()


def test_accelerations_go_by_their_name_where_they_exist():
    equations = derive(load("double_pendulum"), "kane")
    by_name, solved = equations["accelerations"], equations.accelerations()
    assert "accelerations" in equations and equations.sympy("accelerations") == solved.sympy()
    assert equations.latex("accelerations") == by_name.latex()
    multipliers = derive(load("four_bar"), "lagrange")
    assert "accelerations" not in multipliers
    with pytest.raises(UnsupportedError, match="multipliers"):
        multipliers["accelerations"]
