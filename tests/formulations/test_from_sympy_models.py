"""Finished models of SymPy, read and compiled: the numbers are SymPy's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import (
    Force,
    KanesMethod,
    LagrangesMethod,
    Particle,
    PinJoint,
    Point,
    PrismaticJoint,
    ReferenceFrame,
    RigidBody,
    System,
    dynamicsymbols,
    inertia,
)
from sympy.physics.mechanics.models import n_link_pendulum_on_cart

from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.formulations import from_lagrangian, from_sympy
from dalembert.formulations.equation_laws import checked_by_laws

T = dynamicsymbols._t
RNG = np.random.default_rng(8)


def numbers_of(matrix, values) -> np.ndarray:
    return np.array(sympy.Matrix(matrix).xreplace(values).evalf().tolist(), dtype=float)


def test_kanes_method_with_forces_and_torques():
    model = n_link_pendulum_on_cart(3, cart_force=True, joint_torques=True)
    equations = from_sympy(model)
    q, v, r = RNG.normal(size=4), RNG.normal(size=4), RNG.normal(size=4)
    inputs = equations.inputs
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
    assert repr(equations) == "<Equations of 'pendulum' by sympy: 2 velocities, 1 constraint>"
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


def particle(u, force=0, mass=1):
    """A particle on a line under a force, by Kane, its equations formed."""
    q = dynamicsymbols("q")
    frame, point = ReferenceFrame("N"), Point("P")
    point.set_vel(frame, u * frame.x)
    method = KanesMethod(frame, [q], [dynamicsymbols("u")], kd_eqs=[q.diff(T) - dynamicsymbols("u")])
    method.kanes_equations([Particle("p", point, mass)], [(point, force * frame.x)])
    return method


def test_functions_of_time_that_only_push_are_inputs_and_others_are_specified():
    """m (udot + z'') = F - k u F + G^2: F and the acceleration of the base z push linearly, G does not."""
    m, k, u = sympy.Symbol("m"), sympy.Symbol("k"), dynamicsymbols("u")
    F, G, z = dynamicsymbols("F G z")
    equations = from_sympy(particle(u + z.diff(T), F - k * u * F + G**2, m))
    assert equations.inputs == (z.diff(T, 2), F) and equations.scope.names["specified"] == (G,)
    assert equations.sympy("input_map") == sympy.Matrix([[-m, 1 - k * u]])
    assert equations.sympy("bias") == sympy.Matrix([-(G**2)])
    found = equations.evaluate([0.0], [2.0], m=1.5, k=0.1, specified=[3.0])
    assert found["bias"].tolist() == [-9.0] and found["input_map"].tolist() == [[-1.5, 0.8]]


def test_a_mass_that_changes_is_specified():
    """d/dt is taken of the velocity alone: m(t) udot = F."""
    mass, F, u = dynamicsymbols("m F u")
    equations = from_sympy(particle(u, F / mass, mass))
    assert mass in equations.scope.names["specified"]
    numbers = equations.evaluate([0.0], [1.0], specified=[2.0, 7.0, 0.0][: len(equations.scope.names["specified"])])
    assert np.isfinite(numbers["bias"]).all()


def test_explicit_time_is_the_clock_and_no_parameter():
    equations = from_sympy(particle(dynamicsymbols("u"), sympy.sin(3 * T)))
    assert equations.parameters == () and "t" in equations.scope.names
    assert equations.evaluate([0.0], [0.0], t=0.5)["bias"][0] == pytest.approx(-np.sin(1.5))


def test_kanes_method_with_dependent_speeds():
    """A pendulum in x and y: SymPy's mass matrix with the row of the constraint, solved without assuming symmetry."""
    x, y, u, w = dynamicsymbols("x y u w")
    m, l, g = sympy.symbols("m l g")
    frame, origin = ReferenceFrame("N"), Point("O")
    point = origin.locatenew("P", x * frame.x + y * frame.y)
    point.set_vel(frame, u * frame.x + w * frame.y)
    model = KanesMethod(
        frame, [x], [u], q_dependent=[y], u_dependent=[w], kd_eqs=[x.diff(T) - u, y.diff(T) - w],
        configuration_constraints=[x**2 + y**2 - l**2], velocity_constraints=[x * u + y * w],
    )  # fmt: skip
    model.kanes_equations([Particle("bob", point, m)], [(point, -m * g * frame.y)])
    equations = from_sympy(model)
    q, v = np.array([0.6, -0.8]), np.array([0.4, 0.3])
    values = dict(zip([*model.q, *model.u], [*q, *v])) | {m: 2.0, g: 9.81}
    expected = np.linalg.solve(numbers_of(model.mass_matrix, values), numbers_of(model.forcing, values)[:, 0])
    found = equations.accelerations().evaluate({"q": q, "v": v, "m": 2.0, "g": 9.81})
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # By hand: tension along the rod, gravity along the circle; |v|^2 = 1/4 inwards.
    along = np.array([-q[1], q[0]])
    np.testing.assert_allclose(found, along * (along @ [0, -9.81]) - 0.25 * q, rtol=1e-12)
    assert checked_by_laws(equations).skipped


def test_system_with_a_holonomic_constraint():
    """Two sliders with q1 = 2 q2, pushed by F: (a (2)^2 + b 3^2) q2'' = 2 F."""
    q1, q2, u1, u2, F = dynamicsymbols("q1 q2 u1 u2 F")
    wall, one, two = (RigidBody(name) for name in ("wall", "one", "two"))
    system = System.from_newtonian(wall)
    system.add_joints(
        PrismaticJoint("j1", wall, one, q1, u1, joint_axis=wall.x),
        PrismaticJoint("j2", one, two, q2, u2, joint_axis=one.x),
    )
    system.add_loads(Force(one, F * wall.x))
    system.add_holonomic_constraints(q1 - 2 * q2)
    system.q_ind, system.q_dep, system.u_ind, system.u_dep = [q1], [q2], [u1], [u2]
    system.form_eoms()
    equations = from_sympy(system)
    assert equations.inputs == (F,) and "tau = (F(t))" in str(equations) and "F{\\left(t \\right)}" in equations.latex()
    state = {"q": [0.2, 0.1], "v": [0.0, 0.0], "tau": [5.0], "one_mass": 2.0, "two_mass": 3.0}
    found = equations.accelerations().evaluate(state)
    np.testing.assert_allclose(found, np.array([2, 1]) * 2 * 5.0 / (2.0 * 4 + 3.0 * 9), rtol=1e-12)


def test_system_by_lagrange():
    q = dynamicsymbols("q")
    wall, slider = RigidBody("wall"), RigidBody("slider", mass=sympy.Symbol("m"))
    system = System.from_newtonian(wall)
    system.add_joints(PrismaticJoint("j", wall, slider, q, q.diff(T), joint_axis=wall.x))
    system.form_eoms(eom_method=LagrangesMethod)
    assert from_sympy(system).sympy("mass_matrix") == sympy.Matrix([sympy.Symbol("m")])


@pytest.mark.parametrize("wrong", [None, KanesMethod, "pendulum", sympy.eye(2), sympy.Symbol("x"), [1, 2]])
def test_what_is_no_model_is_refused(wrong):
    with pytest.raises(ArgumentError, match="expected a KanesMethod, LagrangesMethod or System"):
        from_sympy(wrong)


def test_the_name_is_text():
    with pytest.raises(ArgumentError, match="name"):
        from_sympy(particle(dynamicsymbols("u")), 3)


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
    with pytest.raises(ArgumentError, match="pass t=t"):
        from_lagrangian(law, ["x"])


@pytest.mark.parametrize("spelling", ["xdot1 xdot2", "x1dot x2dot", "a b"])
@pytest.mark.parametrize("real", [None, True])
def test_rates_are_known_however_they_are_spelled(spelling, real):
    """Two masses and a spring: M is diagonal, and dampers act on the same rates."""
    x, y, m, k, d = sympy.symbols("x1 x2 m k d", real=real)
    xdot, ydot = sympy.symbols(spelling)
    law = m * (xdot**2 + 3 * ydot**2) / 2 - k * (x - y) ** 2 / 2
    rates = [xdot, ydot] if spelling == "a b" else None
    found = from_lagrangian(law, sympy.symbols("x1 x2"), rates, dissipation=d * (xdot - ydot) ** 2 / 2)
    assert found.sympy("mass_matrix") == sympy.diag(m, 3 * m)
    assert sympy.expand(found.sympy("passive")[0] + d * (xdot - ydot)) == 0
    assert {str(p) for p in found.parameters} == {"m", "k", "d"}


def test_a_lagrangian_without_rates_is_refused():
    x, m = sympy.symbols("x m")
    with pytest.raises(ArgumentError, match="none of the rates xdot occurs"):
        from_lagrangian(m * sympy.Symbol("x_dot") ** 2, [x])
    with pytest.raises(ArgumentError, match="there must be a coordinate"):
        from_lagrangian(sympy.Symbol("xdot") ** 2, [])
    with pytest.raises(ArgumentError, match="expected a real SymPy expression"):
        from_lagrangian(sympy.Matrix([sympy.Symbol("xdot") ** 2]), [x])
    with pytest.raises(ArgumentError, match="both look like the rate of x1"):
        from_lagrangian(sympy.Symbol("x1dot") ** 2 + sympy.Symbol("xdot1") ** 2, ["x1"])


@pytest.mark.parametrize("where", ["lagrangian", "forces", "dissipation"])
@pytest.mark.parametrize("spelling", ["theta1dot", "thetadot_1", "theta_1dot", "thetadot1", "theta_dot_1"])
def test_a_rate_in_another_spelling_than_the_others_is_no_parameter(where, spelling):
    x, theta, m, k, xdot = sympy.symbols("x theta_1 m k xdot")
    slip = sympy.Symbol(spelling)
    law = m * xdot**2 / 2 - k * x * theta
    given = {"lagrangian": law, "forces": [0, 0], "dissipation": 0}
    given[where] = {"lagrangian": law + m * slip**2, "forces": [0, -k * slip], "dissipation": k * slip**2}[where]
    with pytest.raises(ArgumentError, match=f"is {spelling} the rate of theta_1.*qdot="):
        from_lagrangian(q=[x, theta], qdot=[xdot, sympy.Symbol("omega")], **given)
    assert len(from_lagrangian(q=[x, theta], qdot=[xdot, slip], **given).mass_matrix) == 2


def test_a_symbol_beside_functions_of_time_that_looks_like_a_rate_is_no_parameter():
    x, theta = dynamicsymbols("x theta")
    with pytest.raises(ArgumentError, match="is theta_dot the rate of theta"):
        from_lagrangian(x.diff() ** 2 + sympy.Symbol("theta_dot") ** 2, [x, theta])


def test_a_coordinate_is_given_once():
    x, rate = sympy.symbols("x xdot")
    with pytest.raises(ArgumentError, match="x, xdot occurs twice"):
        from_lagrangian(rate**2, [x, x])


def test_forces_that_are_functions_of_time_become_parameters():
    q, F = dynamicsymbols("q F")
    equations = from_lagrangian(q.diff() ** 2 / 2, [q], forces=[F - 3 * q.diff()])
    assert equations.sympy("external")[0] == sympy.Symbol("F") - 3 * q.diff()
    assert equations.evaluate([0.0], [1.0], F=5.0)["external"].tolist() == [2.0]


def test_rates_may_be_functions_of_time():
    q, u = dynamicsymbols("q u")
    k = sympy.Symbol("k")
    equations = from_lagrangian(u**2 / 2 - k * q**2 / 2, [q], [u], forces=[-3 * u])
    assert equations.sympy("gravity")[0] == k * q and equations.sympy("external")[0] == -3 * u


def test_functions_without_a_formula_are_told_by_name():
    q, a = dynamicsymbols("q a")
    V = sympy.Function("V")
    energy = q.diff() ** 2 / 2
    for law in (energy - (q - a) ** 2, energy - V(q), (q.diff() + a.diff()) ** 2 / 2, energy + q * q.diff().diff()):
        with pytest.raises(ArgumentError, match=r"lagrangian: .*\(t\).* is neither a coordinate nor a rate"):
            from_lagrangian(law, [q])
    for force in (V(q), a.diff(), q.diff().diff()):
        with pytest.raises(ArgumentError, match=r"forces: .*\(t\).* is neither a coordinate nor a rate"):
            from_lagrangian(energy, [q], forces=[force])


@pytest.mark.parametrize("function", [sympy.sinh, sympy.cosh, sympy.tanh, sympy.asinh, sympy.atanh])
def test_hyperbolic_functions_in_a_lagrangian_have_the_derivatives_that_sympy_gives_them(function):
    m, k, x, rate = sympy.symbols("m k x xdot")
    mass = m * (2 + function(x / 3))
    law = mass * rate**2 / 2 - k * function(x)
    found = from_lagrangian(law, [x])
    for place in (-0.9, 0.0, 0.4):
        numbers = {x: place, rate: 0.7, m: 1.5, k: 2.5}
        bias = sympy.diff(mass, x) * rate**2 / 2 + k * sympy.diff(function(x), x)
        mine = found.bias.evaluate({"q": [place], "v": [0.7], "m": 1.5, "k": 2.5})[0]
        assert mine == pytest.approx(float(bias.subs(numbers)), rel=1e-14)
        weight = found.mass_matrix.evaluate({"q": [place], "m": 1.5})[0, 0]
        assert weight == pytest.approx(float(mass.subs(numbers)), rel=1e-14)


def gyroscopic_slider(dependent: bool, auxiliary: bool, moving: bool) -> KanesMethod:
    """A body that slides on a turning, tilting rod; its speed held, its support probed, its support moved by z(t)."""
    q, u, (m, l, g, k) = dynamicsymbols("q1:4"), dynamicsymbols("u1:4"), sympy.symbols("m l g k")
    F, R, z, probe = dynamicsymbols("F R z ua")
    frame, origin = ReferenceFrame("N"), Point("O")
    origin.set_vel(frame, 0)
    turned = frame.orientnew("A", "Axis", [q[0], frame.z])
    tilted = turned.orientnew("B", "Axis", [q[1], turned.x])
    turned.set_ang_vel(frame, u[0] * frame.z)
    tilted.set_ang_vel(turned, u[1] * turned.x)
    hub = origin.locatenew("H", l * turned.x)
    hub.v2pt_theory(origin, frame, turned)
    away, speed = (q[2] + z, u[2] + z.diff(T)) if moving else (q[2], u[2])
    center = hub.locatenew("C", away * tilted.z)
    carried = hub.vel(frame) + tilted.ang_vel_in(frame).cross(away * tilted.z)
    center.set_vel(frame, carried + speed * tilted.z + (probe * frame.x if auxiliary else 0 * frame.x))
    body = RigidBody("body", center, tilted, m, (inertia(tilted, k, 2 * k, 2 * k + l), center))
    push = -m * g * frame.z + F * tilted.z + (R * frame.x if auxiliary else 0 * frame.x)
    loads = [(center, push), (tilted, -k * tilted.ang_vel_in(frame) + sympy.sin(T) * frame.y)]
    rates = [q[0].diff(T) - u[0], q[1].diff(T) - 2 * u[1] - sympy.cos(q[0]) * u[0], q[2].diff(T) - u[2]]
    own, options = (list(q), list(u)), {"u_auxiliary": [probe]} if auxiliary else {}
    if dependent:
        own = (list(q[:2]), list(u[:2]))
        options |= {
            "q_dependent": [q[2]], "configuration_constraints": [q[2] - sympy.sin(q[0]) - l],
            "u_dependent": [u[2]], "velocity_constraints": [u[2] - sympy.cos(q[0]) * u[0]],
        }  # fmt: skip
    model = KanesMethod(frame, *own, kd_eqs=rates, **options)
    model.kanes_equations([body, Particle("hub", hub, 2 * m)], loads)
    return model


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("auxiliary", [False, True])
@pytest.mark.parametrize("dependent", [False, True])
def test_all_that_kanes_method_takes_moves_as_sympy_says(dependent, auxiliary, moving):
    """Accelerations and rates, from SymPy's full matrices, with dependent and auxiliary speeds and given motions."""
    model = gyroscopic_slider(dependent, auxiliary, moving)
    equations = from_sympy(model)
    rng = np.random.default_rng(4)
    q, v, time = rng.normal(size=3), rng.normal(size=3), 0.4
    signals = {x: rng.normal() for x in (*equations.inputs, *equations.scope.names.get("specified", ()))}
    numbers = {symbol: rng.uniform(0.5, 1.5) for symbol in equations.parameters}
    values = signals | dict(zip([*model.q, *model.u], [*q, *v])) | numbers
    slowest_last = sorted(values, key=lambda x: -getattr(x, "derivative_count", 0))

    def of_sympy(matrix):
        for x in slowest_last:  # z'' before z' before z
            matrix = matrix.xreplace({x: sympy.Float(values[x])})
        return numbers_of(matrix, {T: time})

    expected = np.linalg.solve(of_sympy(model.mass_matrix_full), of_sympy(model.forcing_full))[:, 0]
    inputs = {"q": q, "v": v, "t": time, **{str(symbol): x for symbol, x in numbers.items()}}
    inputs |= {"tau": [signals[x] for x in equations.inputs]}
    if "specified" in equations.scope.names:
        inputs |= {"specified": [signals[x] for x in equations.scope.names["specified"]]}
    np.testing.assert_allclose(equations.kinematics.evaluate(inputs), expected[:3], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(equations.accelerations().evaluate(inputs), expected[3:6], rtol=1e-9, atol=1e-11)


def test_what_speeds_mean_is_printed_with_the_equations():
    q, u = dynamicsymbols("q u")
    m, l = sympy.symbols("m l")
    N, A, pivot = ReferenceFrame("N"), ReferenceFrame("A"), Point("O")
    A.orient_axis(N, q, N.z)
    A.set_ang_vel(N, u / 2 * N.z)
    pivot.set_vel(N, 0)
    tip = pivot.locatenew("P", l * A.x)
    tip.v2pt_theory(pivot, N, A)
    model = KanesMethod(N, q_ind=[q], u_ind=[u], kd_eqs=[u - 2 * q.diff(T)])
    model.kanes_equations([Particle("p", tip, m)], [])
    equations = from_sympy(model)
    assert r"\dot{q} = " in equations.latex() and "u(t)/2" in str(equations)


@pytest.mark.parametrize("real", [None, True])
def test_springs_with_corners_push_as_their_energy_says(real):
    """SymPy leaves dx/dx, re(x) and Heaviside in derivatives of Abs and Max; none of them is an input."""
    x, y = dynamicsymbols("x y", real=real)
    k, length = sympy.symbols("k l", positive=True)
    depth = x - length * sympy.cos(y)
    V = k * sympy.Abs(depth) ** 3 / 3 + k * sympy.Max(depth, 0) ** 2 / 2
    method = LagrangesMethod((x.diff() ** 2 + y.diff() ** 2) / 2 - V, [x, y], frame=ReferenceFrame("N"))
    method.form_lagranges_equations()
    equations = from_sympy(method, "bumper")
    assert equations["input_map"].shape == (2, 0)
    for q in ([0.7, 0.3], [0.2, 0.3], [-1.5, -0.4]):
        d = q[0] - 0.5 * math.cos(q[1])
        force = 2.0 * (d * abs(d) + max(d, 0.0))
        expected = [force, force * 0.5 * math.sin(q[1])]
        np.testing.assert_allclose(equations.evaluate(q, [0.1, 0.2], k=2.0, l=0.5)["gravity"], expected, rtol=1e-13)


def test_what_kernels_cannot_compute_is_told_by_name():
    x, v, n = sympy.symbols("x xdot n")
    for wrong, told in ((sympy.Sum(x**n, (n, 1, 3)), "Sum"), (sympy.Integral(sympy.cos(n**2), (n, 0, x)), "Integral")):
        with pytest.raises(UnsupportedError, match=f"SymPy function {told}"):
            from_lagrangian(v**2 / 2 - wrong, [x], [v])
