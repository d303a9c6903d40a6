"""Finished models of SymPy, read and compiled: the numbers are SymPy's own."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Particle,
    PinJoint,
    Point,
    ReferenceFrame,
    RigidBody,
    System,
    dynamicsymbols,
)
from sympy.physics.mechanics.models import n_link_pendulum_on_cart

from dalembert.errors import ArgumentError
from dalembert.formulations import from_lagrangian, from_sympy

T = dynamicsymbols._t
RNG = np.random.default_rng(8)


def numbers_of(matrix, values) -> np.ndarray:
    return np.array(sympy.Matrix(matrix).xreplace(values).evalf().tolist(), dtype=float)


def test_kanes_method_with_forces_and_torques():
    model = n_link_pendulum_on_cart(3, cart_force=True, joint_torques=True)
    equations = from_sympy(model)
    q, v, r = RNG.normal(size=4), RNG.normal(size=4), RNG.normal(size=4)
    inputs = sorted(equations.scope.names["inputs"], key=str)
    parameters = {str(s): RNG.uniform(0.5, 1.5) for s in equations.parameters}
    values = dict(zip([*model.q, *model.u, *inputs], [*q, *v, *r]))
    values |= {sympy.Symbol(name): y for name, y in parameters.items()}
    named = {"q": q, "v": v, **parameters}
    M = equations.mass_matrix.evaluate(named)
    np.testing.assert_allclose(M, numbers_of(model.mass_matrix, values), rtol=1e-12)
    forcing = equations.input_map.evaluate(named) @ r - equations.bias.evaluate(named)
    np.testing.assert_allclose(forcing, numbers_of(model.forcing, values)[:, 0], rtol=1e-11, atol=1e-12)
    kernel = equations.compile("mass_matrix")
    given = {**named}
    np.testing.assert_allclose(kernel(*(given[port.name] for port in kernel.inputs)), M, rtol=1e-13)
    np.testing.assert_allclose(equations.kinematics.evaluate(named), v)


def pendulum_lagrangian():
    x, y = dynamicsymbols("x y")
    m, g, l = sympy.symbols("m g l")
    L = m * (x.diff(T) ** 2 + y.diff(T) ** 2) / 2 - m * g * y
    return LagrangesMethod(L, [x, y], hol_coneqs=[x**2 + y**2 - l**2])


def test_lagranges_method_with_constraints():
    model = pendulum_lagrangian()
    model.form_lagranges_equations()
    equations = from_sympy(model, "pendulum")
    q = np.array([0.6, -0.8])
    v = np.array([0.4, 0.3])
    numbers = equations.evaluate(q, v, m=2.0, g=9.81)
    values = dict(zip([*model.q, *(x.diff(T) for x in model.q)], [*q, *v]))
    values |= {sympy.Symbol("m"): 2.0, sympy.Symbol("g"): 9.81}
    full, forcing = numbers_of(model.mass_matrix_full, values), numbers_of(model.forcing_full, values)[:, 0]
    expected = np.linalg.solve(full, forcing)[2:4]
    A, gamma = numbers["constraint_matrix"], numbers["constraint_bias"]
    saddle = np.block([[numbers["mass_matrix"], -A.T], [A, np.zeros((1, 1))]])
    found = np.linalg.solve(saddle, -np.concatenate([numbers["bias"], gamma]))[:2]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_system_of_bodies_and_joints():
    g, m = sympy.symbols("g m")
    q, u = dynamicsymbols("q u")
    wall, rod = RigidBody("wall"), RigidBody("rod", mass=m)
    system = System.from_newtonian(wall)
    system.add_joints(
        PinJoint(
            "pin", wall, rod, q, u, child_point=rod.masscenter.locatenew("P", rod.frame.x), joint_axis=wall.frame.z
        )
    )
    system.apply_uniform_gravity(-g * wall.frame.y)
    with pytest.raises(ArgumentError, match="form_eoms"):
        from_sympy(system)
    system.form_eoms()
    equations = from_sympy(system)
    theirs = system.eom_method
    assert sympy.simplify(equations.sympy("mass_matrix")[0] - theirs.mass_matrix[0]) == 0
    assert sympy.simplify(equations.sympy("bias")[0] + theirs.forcing[0]) == 0


def test_unfinished_models_and_other_things_are_refused():
    with pytest.raises(ArgumentError, match="form_lagranges_equations"):
        from_sympy(pendulum_lagrangian())
    q, u = dynamicsymbols("q u")
    frame, point = ReferenceFrame("N"), Point("O")
    point.set_vel(frame, u * frame.x)
    method = KanesMethod(frame, [q], [u], kd_eqs=[q.diff(T) - u], bodies=[Particle("p", point, 1)])
    with pytest.raises(ArgumentError, match="kanes_equations"):
        from_sympy(method)
    with pytest.raises(ArgumentError, match="got int"):
        from_sympy(3)


def test_time_is_known_where_coordinates_are_functions_of_it():
    """L = m exp(t) qdot^2 / 2: the momentum grows by itself, so exp(t) m (qddot + qdot) = 0."""
    time = T
    q, m = dynamicsymbols("q"), sympy.Symbol("m")
    found = from_lagrangian(m * sympy.exp(time) * q.diff() ** 2 / 2, [q]).sympy("bias")[0]
    assert sympy.simplify(found - m * sympy.exp(time) * q.diff()) == 0
    rate, t = sympy.symbols("xdot t")
    law = m * sympy.exp(t) * rate**2 / 2
    assert from_lagrangian(law, ["x"], t=t).sympy("bias")[0] == m * rate * sympy.exp(t)
    with pytest.raises(ArgumentError, match="say t=t"):
        from_lagrangian(law, ["x"])


def test_a_coordinate_is_given_once():
    x, rate = sympy.symbols("x xdot")
    with pytest.raises(ArgumentError, match="x, xdot occurs twice"):
        from_lagrangian(rate**2, [x, x])


def test_forces_that_are_functions_of_time_become_parameters():
    q, F = dynamicsymbols("q F")
    equations = from_lagrangian(q.diff() ** 2 / 2, [q], forces=[F - 3 * q.diff()])
    assert equations.sympy("external")[0] == sympy.Symbol("F") - 3 * q.diff()
    assert equations.evaluate([0.0], [1.0], F=5.0)["external"].tolist() == [2.0]
