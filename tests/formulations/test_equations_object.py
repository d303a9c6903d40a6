"""What can be done with equations once they are there: substitute, evaluate, compile, print, cite."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sympy
from classical_systems import (
    cart_pole,
    closed_four_bar,
    heavy_top,
    pendulum_on_cart,
    planar_elbow,
    rolling_disc,
    rp_arm,
    stacker,
)

from dalembert.algebra.scalar import cos, sin
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.formats import load
from dalembert.formulations import NoSlip, derive, from_lagrangian
from dalembert.formulations.quantity import packed
from dalembert.model import Body, Constraint, Force, Inertia, Joint, Mechanism
from dalembert.model.names import coordinate_names, rate_name
from dalembert.tracing.cost import cost
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.passes import optimise
from dalembert.tracing.trace import trace
from random_mechanisms import random_mechanism

VALUES = {"m1": 1.5, "m2": 0.7, "l1": 0.4, "g": 9.81, "I_zz1": 0.2, "I_zz2": 0.1}


def test_substitution_gives_numbers_and_keeps_the_rest():
    equations = derive(rp_arm())
    half = equations.substitute({"m1": 2, sympy.Symbol("l1"): sympy.Symbol("L") / 2})
    assert sympy.Symbol("L") in half.parameters and sympy.Symbol("m1") not in half.parameters
    d2, m2, L, g, theta = sympy.symbols("d2 m2 L g theta1")
    assert sympy.simplify(half.sympy("gravity")[0] - g * (d2 * m2 + L) * sympy.cos(theta)) == 0
    whole = equations.substitute(VALUES)
    assert whole.parameters == ()
    state = np.array([0.3, 0.8]), np.array([-0.5, 1.1])
    numbers, reference = whole.evaluate(*state), equations.evaluate(*state, **VALUES)
    for name, value in reference.items():
        np.testing.assert_allclose(numbers[name], value, atol=1e-14)
    steps = {q.name: q for step in half.steps() for q in step.quantities}
    assert sympy.Symbol("L") in steps["gravity"].sympy().free_symbols
    christoffel = equations["christoffel"].evaluate({"q": state[0], **VALUES})
    np.testing.assert_allclose(whole["christoffel"].evaluate({"q": state[0]}), christoffel)
    np.testing.assert_array_equal(equations["christoffel"].evaluate(q=state[0], **VALUES), christoffel)
    with pytest.raises(ArgumentError, match=r"evaluate\(q="):
        whole["christoffel"].evaluate(state[0])


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
def test_what_is_printed_is_what_is_counted_and_compiled(method):
    """The RP arm's c is (2 m d dd thd, -m d thd^2): five operations, and no sine, whatever the route computed."""
    equations = derive(rp_arm(), method)
    assert equations["coriolis"].cost.operations == 5 and equations["coriolis"].cost.sines == 0
    rng = np.random.default_rng(3)
    for make in (rp_arm, stacker, planar_elbow):
        found = derive(make(), method)
        for name, part in found.quantities().items():
            kernel = found.compile(name)
            assert part.cost.operations <= cost(optimise(part.program)).operations
            inputs = {port.name: rng.uniform(0.5, 1.5, port.shape) for port in kernel.inputs}
            np.testing.assert_allclose(kernel(**inputs), part.evaluate(inputs), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("names", [["m", "m'", "m''"], ["g", "g_", "g__"], ["I_1", "I_{1}", "I^1"]])
@pytest.mark.parametrize("gone", range(3))
def test_symbols_that_programs_spell_alike_keep_their_places_when_one_goes(names, gone):
    masses, rates = [sympy.Symbol(name) for name in names], sympy.symbols("xdot ydot zdot")
    energy = sum(m * rate**2 / 2 for m, rate in zip(masses, rates))
    found = from_lagrangian(energy, ["x", "y", "z"]).substitute({names[gone]: 7})
    masses[gone] = sympy.Integer(7)
    assert found.sympy("mass_matrix") == sympy.diag(*masses)
    order = dict(zip(found.parameters, (2.0, 3.0)))
    numbers = np.diag(found["mass_matrix"].evaluate(order))
    assert numbers.tolist() == [order.get(m, 7.0) for m in masses]


def test_substitution_reaches_equations_of_time_and_their_multipliers():
    """A cart that is moved by a given law: numbers put in before or after give the same."""
    l, t, xdot = sympy.symbols("l t xdot")
    values = {"m_c": 1.0, "m": 0.2, "l": 0.5}
    state = {"q": np.array([0.1, 0.4]), "u": np.array([0.8]), "t": 0.3, "g": 9.81}
    pushed = {**state, "udot": np.array([1.7]), "tau": np.array([0.6, -0.2])}
    equations = derive(cart_pole(), "kane", pfaffian=[xdot - l * sympy.cos(3 * t)])
    half = equations.substitute(values)
    for name, inputs in (("bias", state), ("kinematics", state), ("multipliers", pushed)):
        found = half[name].evaluate({k: v for k, v in inputs.items() if k in half.scope.names or k == "g"})
        np.testing.assert_allclose(found, equations[name].evaluate({**inputs, **values}), rtol=1e-13)
    assert half.compile("bias").signature == "(2),(),(1),()->(1)"  # q, t, u, g
    assert sympy.Symbol("t") not in equations.substitute({"t": 0}).sympy("bias").free_symbols


@pytest.mark.parametrize("name", ["tau", "u", "udot", "q", "v", "tau1", "u1"])
def test_a_symbol_may_be_called_like_an_input(name):
    """A mass called tau is a mass: the motion is that of the same pendulum with a mass called m."""
    found = []
    for called in (name, "m"):
        bob = Body("bob", Inertia(sympy.Symbol(called), center=[0, 0, -1]))
        pendulum = Mechanism("pendulum", [bob], [Joint("swing", "revolute", "world", "bob", axis=[0, 1, 0])])
        for options in ({}, {"speeds": [2 * sympy.Symbol("qdot1")]}):
            quantity = derive(pendulum, "kane", **options).accelerations()
            assert sympy.Symbol(called) in quantity.sympy().free_symbols
            inputs = {port.name: np.full(port.shape, 0.7 if port.shape else 2.0) for port in quantity.program.inputs}
            assert len({port for port in inputs if port != "tau"}) == 3  # positions, velocities and the mass
            found.append(quantity.evaluate(inputs))
    np.testing.assert_allclose(found[:2], found[2:], rtol=1e-13)


@pytest.mark.parametrize("name", ["out", "self", "threads", "q"])
def test_kernels_take_parameters_called_like_their_arguments(name):
    x, xdot, m = sympy.symbols(f"x xdot {name}")
    equations = from_lagrangian(m * xdot**2 / 2, [x])
    kernel = equations.compile("mass_matrix")
    assert kernel(q=[0.0], **{f"{name}_": 3.0}) == equations["mass_matrix"].evaluate({m: 3.0}) == 3


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
@pytest.mark.parametrize("name", ["t_", "_t", r"\t", "T", "t1"])
def test_a_symbol_may_look_like_time_but_for_its_name(name, method):
    """A mass called t_ beside a force that depends on time: both are inputs, and neither stands for the other."""
    time, mass = sympy.Symbol("t"), sympy.Symbol(name)
    push = Force("push", "joint-force", "slide", function=sympy.sin(time))
    block = Mechanism("block", [Body("block", Inertia(mass))], [Joint("slide", "prismatic", "world", "block")],
                      forces=[push])  # fmt: skip
    equations = derive(block, method)
    assert equations.sympy("mass_matrix")[0] == mass and equations.sympy("passive")[0] == sympy.sin(time)
    assert equations.substitute({name: 2}).sympy("mass_matrix")[0] == 2
    assert equations.substitute({"t": 0}).sympy("passive")[0] == 0
    with pytest.raises(ArgumentError, match="called 't', which here means time"):
        derive(block.replace(bodies=[Body("block", Inertia(time))]), method)


@pytest.mark.parametrize("quarters", range(-3, 5))
@pytest.mark.parametrize("pi", [sympy.pi, np.pi])
def test_quarter_turns_are_exact_where_a_coordinate_stops(quarters, pi):
    """Equations at an upright or level position have the zeros and fractions of the exact angle."""
    theta = sympy.Symbol("theta")
    equations = derive(cart_pole())
    there = equations.substitute({"theta": quarters * pi / 2})
    for name in ("mass_matrix", "coriolis", "gravity"):
        exact = equations.sympy(name).subs(theta, quarters * sympy.pi / 2)
        assert there.sympy(name).expand() == exact.expand()


def test_a_coordinate_can_be_substituted_too():
    at_rest = derive(cart_pole()).substitute({"theta": 0, "thetadot": 0})
    mc, m, l = sympy.symbols("m_c m l")
    assert at_rest.sympy("mass_matrix") == sympy.Matrix([[m + mc, l * m], [l * m, 4 * l**2 * m / 3]])
    assert at_rest.sympy("coriolis") == sympy.zeros(2, 1)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), sympy.nan, sympy.zoo, sympy.oo * sympy.Symbol("k")])
@pytest.mark.parametrize("name", ["m1", "theta1"])
def test_what_is_not_finite_is_not_substituted(name, value):
    with pytest.raises(ArgumentError, match=f"substitute, {name}: expected a finite number or an expression"):
        derive(rp_arm()).substitute({name: value})


def test_unknown_names_are_refused_with_the_known_ones():
    equations = derive(rp_arm())
    with pytest.raises(ArgumentError, match="no symbol m3; it has"):
        equations.substitute({"m3": 1})
    with pytest.raises(ArgumentError, match="no input 'm3'"):
        equations.evaluate([0, 0], [0, 0], m3=1)
    with pytest.raises(ArgumentError, match="has no 'mass'; it has mass_matrix"):
        equations["mass"]
    with pytest.raises(ArgumentError, match="need I_zz1"):
        equations.evaluate([0, 0], [0, 0])
    with pytest.raises(ArgumentError, match="choose one of lagrange, kane, kronecker, newton-euler"):
        derive(rp_arm(), "hamilton")
    with pytest.raises(ArgumentError, match="2 coordinates, got 1 names"):
        derive(rp_arm(), coordinates=["x"])
    for blank in ("", " ", "a\nb"):
        with pytest.raises(ArgumentError, match="is not a name; a name is a printable, non-empty string"):
            derive(rp_arm(), coordinates=["x", blank])
    with pytest.raises(ArgumentError, match="'auto' or 'closed' or 'intermediates'"):
        equations.mass_matrix.latex("short")


def test_evaluation_broadcasts_over_batches():
    equations = derive(planar_elbow(), "kane")
    rng = np.random.default_rng(0)
    values = {str(symbol): rng.uniform(0.5, 1.5) for symbol in equations.parameters}
    q, v = rng.normal(size=(5, 3, 2)), rng.normal(size=(3, 2))
    numbers = equations.evaluate(q, v, **values)
    assert numbers["mass_matrix"].shape == (5, 3, 2, 2) and numbers["bias"].shape == (5, 3, 2)
    one = equations.evaluate(q[2, 1], v[1], **values)
    np.testing.assert_allclose(numbers["bias"][2, 1], one["bias"])
    without = equations.evaluate(q, **values)
    assert "gravity" in without and "coriolis" not in without


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
def test_compiled_kernels_compute_what_the_expressions_say(method):
    equations = derive(rp_arm(), method)
    kernels = equations.compile()
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(9, 2)), rng.normal(size=(9, 2))
    numbers = equations.evaluate(q, v, **VALUES)
    for name in ("mass_matrix", "coriolis", "gravity", "bias", "kinematics"):
        kernel = kernels[name]
        inputs = {"q": q, "v": v, **VALUES}
        found = kernel(*(inputs[port.name] for port in kernel.inputs))
        np.testing.assert_allclose(found, np.broadcast_to(numbers[name], found.shape), rtol=1e-13, atol=1e-13)


def test_many_parameters_become_one_input():
    equations = derive(pendulum_on_cart(20), "kane")
    kernel = equations.compile("bias")
    assert [port.name for port in kernel.inputs] == ["q", "v", "parameters"]
    rng = np.random.default_rng(0)
    values = rng.uniform(0.5, 1.5, len(equations.parameters))
    q, v = rng.normal(size=(2, 21)), rng.normal(size=(2, 21))
    named = dict(zip(map(str, equations.parameters), values))
    np.testing.assert_allclose(kernel(q, v, values), equations.evaluate(q, v, **named)["bias"], rtol=1e-10, atol=1e-10)


def test_a_general_arm_is_short_enough_to_be_compiled():
    """Six joints in general position, by the recursive route; benchmarks/derivation.py tells the times."""
    mechanism = random_mechanism(2, 6, kinds=("revolute",), branching=0.0, massless=0.0)
    equations = derive(mechanism, "newton-euler")
    mass_matrix, bias = equations.compile("mass_matrix"), equations.compile("bias")
    q, v, _ = mechanism.random_state(np.random.default_rng(0))
    assert cost(mass_matrix.program).operations + cost(bias.program).operations < 1400
    np.testing.assert_allclose(mass_matrix(q), equations.evaluate(q, v)["mass_matrix"], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(bias(q, v), equations.evaluate(q, v)["bias"], rtol=1e-11)


def pendulum_by_hand(links: int):
    """M and h of the pendulum on a cart as a careful person would program them; see docs/benchmarks/derivation.md."""

    def both(q, v, m, l, g):
        n = range(links)
        M = [[0] * (links + 1) for _ in range(links + 1)]
        mu = [m[links]]  # masses from each link to the tip
        for k in reversed(range(1, links)):
            mu.insert(0, m[k] + mu[0])
        M[0][0] = m[0] + mu[0]
        cosine, sine = [cos(q[k + 1]) for k in n], [sin(q[k + 1]) for k in n]
        lc, ls = [l[k] * cosine[k] for k in n], [l[k] * sine[k] for k in n]
        a = [mu[k] * l[k] for k in n]
        ac, a_s = [a[k] * cosine[k] for k in n], [a[k] * sine[k] if k else 0 for k in n]
        for j in n:
            M[0][j + 1] = M[j + 1][0] = -ac[j]
            M[j + 1][j + 1] = a[j] * l[j]
            for i in range(j):
                M[i + 1][j + 1] = M[j + 1][i + 1] = lc[i] * ac[j] + ls[i] * a_s[j]
        squares = [v[k + 1] * v[k + 1] for k in n]
        x, y = [ls[0] * squares[0]], [g - lc[0] * squares[0]]  # accelerations, outwards
        for k in range(1, links):
            x.append(x[-1] + ls[k] * squares[k])
            y.append(y[-1] - lc[k] * squares[k])
        X, Y = [m[k + 1] * x[k] for k in n], [m[k + 1] * y[k] for k in n]
        for k in reversed(range(links - 1)):  # forces, inwards
            X[k], Y[k] = X[k] + X[k + 1], Y[k] + Y[k + 1]
        return {"M": M, "h": [X[0], *(-(lc[k] * X[k] + ls[k] * Y[k]) for k in n)]}

    return trace(both, {"q": (links + 1,), "v": (links + 1,), "m": (links + 1,), "l": (links,), "g": ()}, "by hand")


@pytest.mark.parametrize("links", [2, 5, 8, 20])
def test_a_pendulum_on_a_cart_costs_little_more_than_by_hand(links):
    """M and bias together: three operations a pair of links and 21 a link by hand, 23 as derived; the same numbers."""
    by_hand, pairs = pendulum_by_hand(links), links * (links - 1) // 2
    assert cost(by_hand).operations == 3 * pairs + 21 * links - 4
    equations = derive(pendulum_on_cart(links), "kane")
    outputs = {"M": equations.mass_matrix.values, "h": equations.bias.values}
    program = packed(equations.scope.program(outputs, "both"), equations.scope.parameters, ())
    assert cost(optimise(program, 1)).operations <= 3 * pairs + 23 * links - 3
    rng = np.random.default_rng(2)
    q, v = rng.normal(size=links + 1), rng.normal(size=links + 1)
    m, l = rng.uniform(0.5, 1.5, links + 1), rng.uniform(0.5, 1.5, links)
    named = {f"m{k}": x for k, x in enumerate(m)} | {f"l{k}": x for k, x in enumerate(l)} | {"g": 9.81}
    derived = equations.evaluate(q, v, **named)
    known = evaluate(by_hand, {"q": q, "v": v, "m": m, "l": l, "g": 9.81})
    np.testing.assert_allclose(derived["mass_matrix"], known["M"], rtol=1e-12, atol=1e-12 * links)
    np.testing.assert_allclose(derived["bias"], known["h"], rtol=1e-10, atol=1e-11 * links)


def test_accelerations_solve_the_equations():
    equations = derive(cart_pole(), "kane", actuated=["x"])
    values = {"m_c": 1.0, "m": 0.2, "l": 0.5, "g": 9.81}
    q, v, tau = np.array([0.1, 0.4]), np.array([-0.3, 0.8]), np.array([2.0])
    quantity = equations.accelerations()
    a = quantity.evaluate({"q": q, "v": v, "tau": tau, **values})
    numbers = equations.evaluate(q, v, **values)
    np.testing.assert_allclose(numbers["mass_matrix"] @ a + numbers["bias"], numbers["input_map"] @ tau, atol=1e-13)
    with pytest.raises(UnsupportedError, match="method='kane'"):
        derive(closed_four_bar(), "lagrange").accelerations()


def test_numbers_are_printed_without_idle_zeros():
    bar = Body("bar", Inertia(0.1234567, center=[0.1, 0, 0]))
    text = str(derive(Mechanism("bar", [bar], [Joint("slide", "prismatic", "world", "bar", axis=[1, 0, 0])])))
    assert "[1, 1]  0.1234567\n" in text


def test_latex_and_text():
    equations = derive(rp_arm())
    latex = equations.latex()
    assert r"\ddot{\theta}_{1}" in latex and r"\tau_{2}" in latex and latex.count("=") == 1
    assert equations._repr_latex_().startswith("$")
    assert equations.mass_matrix._repr_latex_().startswith(r"$\displaystyle M = ")
    text = str(equations)
    assert "g*(d2*m2 + l1*m1)*cos(theta1)" in text and "KHATIB" in text
    assert repr(equations) == "<Equations of 'RP arm' by lagrange: 2 degrees of freedom>"
    assert "aligned" in equations.latex(form="intermediates")
    assert equations.latex("gravity") == equations["gravity"].latex()
    large = derive(random_mechanism(3, 9, kinds=("revolute",)), "newton-euler")
    assert "operations" in str(large)


def shaken_pendulum() -> Mechanism:
    bodies = (Body("pivot", Inertia(1)), Body("bob", Inertia(2, [0, 0, sympy.Symbol("l")])))
    joints = (
        Joint("lift", "prismatic", "world", "pivot", axis=[0, 0, 1]),
        Joint("swing", "revolute", "pivot", "bob", axis=[0, 1, 0]),
    )
    drive = Constraint("drive", "motion", "lift", function=lambda t: sin(60 * t) / 20)
    return Mechanism("shaken pendulum", bodies, joints, constraints=(drive,))


@pytest.mark.parametrize("form", ["auto", "closed", "intermediates"])
@pytest.mark.parametrize("make", [closed_four_bar, shaken_pendulum])
def test_latex_with_multipliers_tells_the_constraints(make, form):
    """A and gamma are there in full; without them multipliers, and drives that move joints, could not be known."""
    equations = derive(make(), "lagrange")
    text = equations.latex(form=form)
    parts = (equations.constraint_matrix, equations.constraint_bias)
    written_out = r"\lambda" in text  # otherwise every part has a definition of its own
    rules = [part.latex("closed") if written_out else f"{part.symbol} &= " for part in parts if any(part.sympy())]
    assert rules and all(rule in text for rule in rules) and ("= 0" in text or not written_out)
    assert "A dv/dt + gamma = 0" in str(equations)


@pytest.mark.parametrize("form", ["auto", "closed", "intermediates"])
def test_latex_in_speeds_tells_what_they_mean(form):
    equations = derive(shaken_pendulum(), "kane")
    written_out = r"\dot{u}" in equations.latex(form=form)
    rates = equations.kinematics.equation_latex("closed") if written_out else r"\dot{q} &= "
    assert rates in equations.latex(form=form)


def test_latex_of_parts_that_are_lists_names_every_part_once():
    equations = derive(load("demo_arm"), "lagrange")
    assert equations.gravity.is_simplified and not equations.coriolis.is_simplified
    text = equations.latex()
    assert text.startswith(r"\begin{aligned}") and text.endswith(r"\end{aligned}")
    assert text.count(r"\begin{aligned}") == text.count(r"\end{aligned}") == 1
    assert text.count("\nM &= ") == text.count("\nc &= ") == text.count("\nG &= ") == 1
    assert equations.coriolis._repr_latex_().startswith(r"$\displaystyle \begin{aligned}")


@pytest.mark.parametrize(
    ("name", "form"), [("rrr", "auto"), ("demo_arm", "intermediates"), ("four_bar", "intermediates")]
)
def test_every_symbol_of_a_list_is_defined_once_and_before_it_is_used(name, form):
    equations = derive(load(name), "kane")
    lines = equations.latex(form=form).split("\n")[1:-1]
    known: set[str] = set()
    for line in lines:
        left, right = line.split(" &= ")
        used = set(re.findall(r"(?<![A-Za-z\\])(?:x_\{\d+\}|M_\{\d+ \d+\})", right))
        assert left not in known and used <= known, line
        known.add(left)


def test_intermediates_define_everything_in_order():
    mechanism = random_mechanism(3, 7, kinds=("revolute",), branching=0.0)
    equations = derive(mechanism, "newton-euler")
    with pytest.raises(UnsupportedError, match="intermediates"):
        equations.bias.sympy()
    definitions, result = equations.bias.intermediates()
    q, v, _ = mechanism.random_state(np.random.default_rng(0))
    names = [*equations.coordinates, *equations.velocities]
    values = dict(zip(map(sympy.Symbol, names), [*q, *v]))
    for symbol, expression in definitions:
        values[symbol] = expression.xreplace(
            {k: sympy.Float(x) for k, x in values.items() if k in expression.free_symbols}
        )
    found = [float(x.xreplace({k: sympy.Float(y) for k, y in values.items() if k in x.free_symbols})) for x in result]
    np.testing.assert_allclose(found, equations.evaluate(q, v)["bias"], rtol=1e-11)


def test_steps_are_a_readable_derivation():
    for method in ("lagrange", "kane", "kronecker", "newton-euler"):
        steps = derive(stacker(), method).steps()
        assert len(steps) >= 3
        for step in steps:
            assert step.title and step.text
            for quantity in step.quantities:
                assert quantity.latex() and quantity.symbol
        assert "mass_matrix" in {q.name for step in steps for q in step.quantities}


def test_citations_name_what_was_used():
    assert (
        "Khatib" in derive(rp_arm(), "lagrange").cite()
        and "Kane" not in derive(rp_arm(), "lagrange").cite().split("\n")[0]
    )
    assert "Kronecker" in derive(rp_arm(), "kronecker").cite()
    assert "Balafoutis" in derive(rp_arm(), "newton-euler").cite()


def test_symbols_and_coordinates_have_readable_names():
    equations = derive(heavy_top())
    assert equations.coordinates == ("phi", "theta", "psi") and equations.velocities == ("phidot", "thetadot", "psidot")
    assert equations.symbol("theta") == sympy.Symbol("theta")
    with pytest.raises(ArgumentError, match="no symbol 'x'"):
        equations.symbol("x")
    assert [rate_name(x) for x in ("q1", "theta", "d_2", "x")] == ["qdot1", "thetadot", "ddot_2", "xdot"]
    ugly = random_mechanism(1, 3, kinds=("revolute",))
    ugly = ugly.replace(joints=tuple(j.replace(name=f"left_arm_{j.name}") for j in ugly.joints))
    assert coordinate_names(ugly) == (["q1", "q2", "q3"], ["qdot1", "qdot2", "qdot3"])
    clash = cart_pole().replace(bodies=tuple(b for b in cart_pole().bodies))
    renamed = derive(clash, coordinates=["m", "l"])
    assert renamed.coordinates == ("mbar", "lbar")


def test_quasi_velocities_are_the_velocities_of_reduced_equations():
    q2, w1, w2, w3 = sympy.symbols("q2 qdot1 qdot2 qdot3")
    speeds = [("u1", w2), ("u2", w3 + w1 * sympy.sin(q2)), ("u3", w1 * sympy.cos(q2))]
    roll = NoSlip("q3_body", at="contact", axes="world")
    equations = derive(rolling_disc(), "kane", pfaffian=[roll], speeds=speeds)
    assert equations.velocity_port == "u" and equations.velocities == ("u1", "u2", "u3")
    numbers = equations.evaluate(np.zeros(6), np.ones(3), m=2.0, r=0.5, g=9.81)
    assert numbers["mass_matrix"].shape == (3, 3)
    kernel = equations.compile("coriolis")
    assert [port.name for port in kernel.inputs] == ["q", "u", "m", "r"]
    for name in ("u", "v"):
        by_name = equations.evaluate(q=np.zeros(6), **{name: np.ones(3)}, m=2.0, r=0.5, g=9.81)
        assert by_name.keys() == numbers.keys() and all(np.array_equal(by_name[k], numbers[k]) for k in numbers)
    with pytest.raises(ArgumentError, match="u is given twice"):
        equations.evaluate(np.zeros(6), np.ones(3), u=np.ones(3), m=2.0, r=0.5, g=9.81)


class TestFromLagrangian:
    x, theta, m, l, g, M, b, F = sympy.symbols("x theta m l g M b F")
    v, w = sympy.symbols("xdot thetadot")

    def lagrangian(self):
        kinetic = self.M * self.v**2 / 2 + self.m * ((self.v + self.l * self.w * sympy.cos(self.theta)) ** 2) / 2
        kinetic += self.m * (self.l * self.w * sympy.sin(self.theta)) ** 2 / 2
        return kinetic + self.m * self.g * self.l * sympy.cos(self.theta)

    def test_forces_and_dissipation(self):
        equations = from_lagrangian(
            self.lagrangian(), [self.x, self.theta], forces=[self.F, 0], dissipation=self.b * self.v**2 / 2
        )
        c = self.m * self.l * sympy.cos(self.theta)
        assert equations.sympy("mass_matrix") == sympy.Matrix([[self.M + self.m, c], [c, self.m * self.l**2]])
        assert equations.sympy("passive") == sympy.Matrix([-self.b * self.v, 0])
        assert equations.sympy("external") == sympy.Matrix([self.F, 0])
        assert "Lagrangian" in str(equations)
        titles = [step.title for step in equations.steps()]
        assert titles == ["Lagrangian", "Momenta", "Dissipation", "Given forces", "Equations of motion"]
        assert equations.steps()[-1].formula.endswith(r"= \tau + p + Q")

    def test_functions_of_time_as_coordinates(self):
        from sympy.physics.mechanics import dynamicsymbols

        X, T = dynamicsymbols("x theta")
        t = dynamicsymbols._t
        L = self.lagrangian().xreplace({self.v: X.diff(t), self.w: T.diff(t), self.x: X, self.theta: T})
        equations = from_lagrangian(L, [X, T])
        assert equations.sympy("gravity") == sympy.Matrix([0, self.m * self.g * self.l * sympy.sin(T)])
        assert r"\frac{d^{2}}{d t^{2}}" in equations.latex()

    def test_explicit_time(self):
        """A pendulum whose pivot shakes vertically by y(t) = a sin(W t) feels the gravity g + y''."""
        a, W, t = sympy.symbols("a W t")
        y = a * sympy.sin(W * t)
        height = y - self.l * sympy.cos(self.theta)
        speed = (self.l * self.w * sympy.cos(self.theta)) ** 2 + (
            y.diff(t) + self.l * self.w * sympy.sin(self.theta)
        ) ** 2
        L = self.m * speed / 2 - self.m * self.g * height
        equations = from_lagrangian(L, [self.theta], t=t)
        gravity = self.m * self.l * (self.g + y.diff(t, 2)) * sympy.sin(self.theta)
        assert sympy.simplify(equations.sympy("gravity")[0] - gravity) == 0
        assert sympy.simplify(equations.sympy("coriolis")[0]) == 0
        assert equations.gravity.evaluate(
            {"q": [0.3], "t": 0.2, "m": 1, "l": 1, "g": 9.81, "a": 0.1, "W": 3}
        ).shape == (1,)

    def test_mistakes(self):
        with pytest.raises(ArgumentError, match="2 coordinates, but 1 rates"):
            from_lagrangian(self.lagrangian(), [self.x, self.theta], [self.v])
        with pytest.raises(ArgumentError, match="2 coordinates, but 1 generalised forces"):
            from_lagrangian(self.lagrangian(), [self.x, self.theta], forces=[0])


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
@pytest.mark.parametrize("make", [rp_arm, closed_four_bar])
def test_one_letter_means_one_thing(make, method):
    equations = derive(make(), method)
    parts = [*equations.quantities().values(), *(equations[name] for name in equations.extras)]
    parts += [part for step in equations.steps() for part in step.quantities]
    meaning: dict[str, str] = {}
    for part in parts:
        assert meaning.setdefault(part.symbol, part.name) == part.name, part.symbol


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
def test_named_entries_are_counted_from_one_as_on_paper(method):
    definitions, M = derive(load("double_pendulum"), method).mass_matrix.intermediates()
    named = [symbol for symbol, _ in definitions if str(symbol).startswith("M_")]
    assert named and all(M[int(i) - 1, int(j) - 1] == x for x in named for _, i, j in [str(x).split("_")])


def test_parts_are_listed_and_looked_up_by_name():
    equations = derive(rp_arm())
    assert "mass_matrix" in equations and "nonsense" not in equations and 0 not in equations
    assert list(equations)[:2] == ["mass_matrix", "coriolis"] and set(equations.extras) <= set(equations)


def test_parameters_called_like_the_state_are_told_from_it():
    q, v, x, xdot = sympy.symbols("q v x xdot")
    equations = from_lagrangian(q * xdot**2 / 2 - v * x**2 / 2, [x])
    for name, given in (("q", {"q": 2, "v_": 3}), ("v", {"q_": 2, "v": 3})):
        with pytest.raises(ArgumentError, match=f"{name} is given twice.*{name}_="):
            equations.evaluate([1.0], [2.0], **given)
    in_place = equations.evaluate([1.0], [2.0], q_=2, v_=3)
    by_name = equations.evaluate(q=[1.0], v=[2.0], q_=2, v_=3)
    assert in_place["mass_matrix"] == by_name["mass_matrix"] == 2
    assert in_place["gravity"] == by_name["gravity"] == 3
    by_symbol = equations["bias"].evaluate({"q": [1.0], "v": [2.0], q: 2, v: 3})
    assert by_symbol == in_place["bias"]
    with pytest.raises(ArgumentError, match="positions q"):
        equations.evaluate(q_=2, v_=3)
