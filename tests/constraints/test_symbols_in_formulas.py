"""A user's formula may contain the symbols of the mechanism, wherever formulas are taken."""

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.constraints import ConstraintSet, coordinate_symbols
from dalembert.constraints.classical import four_bar
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, ModelError
from dalembert.model import Body, Constraint, Force, Inertia, Joint, Mechanism
from dalembert.model.parameters import substitute, symbolise

CRANK, COUPLER, ROCKER, GROUND = 1.0, 2.5, 2.0, 3.0
REFERENCE = [1.0, -0.5, 1.7]
L = sympy.Symbol("l", positive=True)


def closed_by_formula(length) -> Mechanism:
    """The four-bar with the crank's length as given, closed by a formula in which it occurs."""
    bars = symbolise(
        four_bar((CRANK, COUPLER, ROCKER), GROUND).replace(constraints=()), {"coupler.placement.x": length}
    )
    (crank, coupler, rocker), _, _ = coordinate_symbols(bars)
    own = sympy.Symbol("l") if length is L else length  # told by its name, whatever is assumed of it
    loop = [
        own * sympy.cos(crank) + COUPLER * sympy.cos(crank + coupler) - GROUND - ROCKER * sympy.cos(rocker),
        own * sympy.sin(crank) + COUPLER * sympy.sin(crank + coupler) - ROCKER * sympy.sin(rocker),
    ]
    return bars.replace(constraints=(Constraint("pin", "position", function=loop),))


def test_constraints_of_symbols_are_those_of_their_values():
    symbolic, plain = closed_by_formula(L), four_bar((CRANK, COUPLER, ROCKER), GROUND)
    assert symbolic.symbols == (L,)
    exact = Dynamics(plain, reference=REFERENCE)
    q = exact.assemble()
    v, tau = exact.project_velocity(q, [1.0, 0, 0]), np.array([1.0, 0, 0])
    expected = exact.forward_dynamics(q, v, tau)
    for system in (
        Dynamics(symbolic, parameters={"l": CRANK}, reference=REFERENCE),
        Dynamics(substitute(symbolic, {"l": CRANK}), reference=REFERENCE),
    ):
        # the same loop written in other axes: the constraint surface is the same, the rows are not
        assert np.abs(system.residual(q)["pin"]).max() < 1e-11
        np.testing.assert_allclose(system.forward_dynamics(q, v, tau), expected, rtol=1e-9)
        np.testing.assert_allclose(
            system.linear_model(q, v, tau, positions=["crank"], speeds=["crank"]).A,
            exact.linear_model(q, v, tau, positions=["crank"], speeds=["crank"]).A,
            rtol=1e-8, atol=1e-9,
        )  # fmt: skip


def test_the_symbol_of_a_constraint_is_an_input_of_the_kernel():
    system = Dynamics(closed_by_formula(L), parameters={"l": CRANK}, reference=REFERENCE)
    longer = Dynamics(closed_by_formula(1.25), reference=REFERENCE)
    q = longer.assemble()
    v, tau = longer.project_velocity(q, [1.0, 0, 0]), np.zeros(3)
    found = system.kernel("forward_dynamics")(q, v, tau, 0.0, [1.25])
    np.testing.assert_allclose(found, longer.forward_dynamics(q, v, tau), rtol=1e-10)


def test_formulations_agree_on_constraints_with_symbols():
    report = da.verify(closed_by_formula(L))
    assert report.ok
    assert any("constrained" in row.quantity for row in report.rows)


def test_substitution_reaches_formulas_and_partial_substitution_too():
    k = sympy.Symbol("k", positive=True)
    halved = substitute(closed_by_formula(L), {L: k / 2})
    assert halved.symbols == (k,)
    one = Dynamics(halved, parameters={"k": 2.0}, reference=REFERENCE)
    two = Dynamics(closed_by_formula(1.0), reference=REFERENCE)
    q = two.assemble()
    np.testing.assert_allclose(one.evaluate("positions", q, 0.0)[1], two.evaluate("positions", q, 0.0)[1], atol=1e-13)


def test_motions_and_forces_may_contain_symbols_too():
    t = sympy.Symbol("t", real=True)

    def driven(length) -> Mechanism:
        mechanism = symbolise(four_bar(), {"crank_bar.mass": length})
        q, _, _ = coordinate_symbols(mechanism)
        motion = Constraint("drive", "motion", "crank", "", function=1 + length * sympy.sin(t))
        push = Force("push", "user", function=[0, length * q[1], length**2])
        return mechanism.replace(constraints=(*mechanism.constraints, motion), forces=(push,))

    one = Dynamics(driven(L), elements="all", parameters={"l": 0.7}, reference=REFERENCE)
    two = Dynamics(driven(0.7), elements="all", reference=REFERENCE)
    q = two.assemble(t=0.3)
    v = two.project_velocity(q, np.zeros(3), 0.3)
    for name in ("terms", "multipliers"):
        for mine, theirs in zip(one.evaluate(name, q, v, v, 0.3), two.evaluate(name, q, v, v, 0.3)):
            np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(one.evaluate("element_forces", q, v, 0.3)[0], [0, 0.7 * q[1], 0.49], rtol=1e-14)


@pytest.mark.parametrize("assumptions", [{}, {"positive": True}])
def test_a_symbol_that_only_a_formula_has_is_a_parameter(assumptions):
    """A point on a circle of radius r, and pulled by k: r and k are inputs of kernels, equations and files."""
    x, y, r, k = (sympy.Symbol(name, **assumptions) for name in ("x", "y", "r", "k"))
    bodies = (Body("cart", Inertia(0.0)), Body("bead", Inertia.point(2.0)))
    joints = (
        Joint("x", "prismatic", "world", "cart", axis=[1, 0, 0]),
        Joint("y", "prismatic", "cart", "bead", axis=[0, 1, 0]),
    )
    rod = Constraint("rod", "position", function=x**2 + y**2 - r**2)
    pull = Force("pull", "user", function=[0, -k * y])
    mechanism = Mechanism("circle", bodies, joints, constraints=(rod,), forces=(pull,))
    assert mechanism.symbols == (k, r)
    values = {"r": 2.0, "k": 3.0}
    one, two = Dynamics(mechanism, parameters=values), Dynamics(substitute(mechanism, values))
    assert not two.mechanism.symbols
    state = [1.2, 1.6], [0.8, -0.6], [0.0, 0.0]
    speed, (normal, along) = 1.0, np.array([[0.6, 0.8], [0.8, -0.6]])
    expected = -(speed**2) / 2 * normal + (along @ [0, -3.0 * 1.6]) / 2 * along
    np.testing.assert_allclose(one.forward_dynamics(*state), expected, rtol=1e-13)
    np.testing.assert_allclose(two.forward_dynamics(*state), expected, rtol=1e-13)
    assert da.verify(mechanism).ok
    assert set(da.derive(mechanism).parameters) >= {k, r}
    paths = [da.simulate(m, *state[:2], 0.5, parameters=p) for m, p in ((mechanism, values), (two.mechanism, None))]
    np.testing.assert_allclose(paths[0].q[-1], paths[1].q[-1], rtol=1e-8)
    assert [symbol.name for symbol in da.read_toml(da.write_toml(mechanism)).symbols] == ["k", "r"]


def test_a_symbol_with_the_name_of_a_coordinate_is_refused():
    crank = sympy.Symbol("crank", real=True)
    mechanism = symbolise(four_bar().replace(constraints=()), {"crank_bar.mass": crank})
    wrong = mechanism.replace(constraints=(Constraint("c", "position", function=crank - 1),))
    with pytest.raises(ModelError, match=r"crank has two meanings.*rename"):
        ConstraintSet(wrong)
    # values for the symbol do not reach the coordinate of the same name
    assert substitute(wrong, {crank: 2.0}).constraints[0].function.symbols == {crank}


@pytest.mark.parametrize(
    ("name", "kind", "formula"),
    [
        ("t", "position", "2*t - x"),
        ("x_dot", "velocity", "x_dot"),
        ("x_dot", "position", None),
        ("t", "velocity", None),
    ],
)
def test_names_that_mean_two_coordinates_are_refused_where_they_are_used(name, kind, formula):
    """A joint called t has the symbol of time; one called x_dot has that of the velocity of x, if velocities occur."""
    bodies = (Body("a", Inertia.point(1.0)), Body("b", Inertia.point(2.0)))
    joints = (Joint("x", "prismatic", "world", "a"), Joint(name, "prismatic", "a", "b", axis=[1, 0, 0]))
    mechanism = Mechanism("two", bodies, joints)
    q, v, _ = coordinate_symbols(mechanism)
    function = (
        sympy.sympify(formula, locals={s.name: s for s in q}) if formula else q[1] if kind == "position" else v[1]
    )
    mechanism = mechanism.replace(constraints=(Constraint("law", kind, function=function),))
    if formula is None:  # only one of the two meanings is possible here
        ConstraintSet(mechanism)
        return
    with pytest.raises(ModelError, match=f"'law': {name} has two meanings in 'two'.*rename the joint"):
        ConstraintSet(mechanism)


@pytest.mark.parametrize("statement", [sympy.Eq(sympy.Symbol("x"), 1), sympy.Symbol("x") > 1, sympy.true])
def test_statements_are_no_formulas(statement):
    with pytest.raises(ModelError, match="a formula must be an expression, not the statement"):
        Constraint("c", "position", function=statement)


def test_a_call_may_give_other_parameters_in_batches():
    """Accelerations of four-bars of several lengths in one call are those of each system made for its length."""
    symbolic = closed_by_formula(L)
    system = Dynamics(symbolic, parameters={"l": CRANK}, reference=REFERENCE)
    lengths, q, v, expected = [1.0, 1.1, 0.9], [], [], []
    tau = np.array([1.0, 0, 0])
    for length in lengths:
        one = Dynamics(symbolic, parameters={"l": length}, reference=REFERENCE)
        q.append(one.assemble())
        v.append(one.project_velocity(q[-1], [1.0, 0, 0]))
        expected.append(one.forward_dynamics(q[-1], v[-1], tau))
    every = np.reshape(lengths, (3, 1))
    found = system.forward_dynamics(np.array(q), np.array(v), tau, parameters=every)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()  # the same formulas, rounded alike
    states = [np.asarray(x, np.float32) for x in (q, v, tau)]
    assert system.forward_dynamics(*states, parameters=np.asarray(every, np.float32)).dtype == np.float32
    assert system.forward_dynamics(*states).dtype == np.float32
    with pytest.raises(ArgumentError, match=r"symbols l; give their values by Dynamics"):
        Dynamics(symbolic, reference=REFERENCE).forward_dynamics(q[0], v[0], tau, parameters=[CRANK])


def test_where_closures_and_springs_are_attached_can_be_a_parameter():
    """Places and a turn of a closure, a spring's end and a component of a push, all symbols, against numbers."""
    bars = four_bar((CRANK, COUPLER, ROCKER), GROUND, kind="revolute")
    spring = Force("spring", "spring", "crank_bar", "rocker_bar", stiffness=20.0, rest=0.5)
    push = Force("push", "wrench", "coupler_bar", components=(0, 1, 0, 0, 0, 0))
    bars = bars.replace(forces=(spring, push))
    values = {
        "pin.placement_a.x": 2.3, "pin.placement_b.x": 2.1, "pin.placement_a.yaw": 0.4, "spring.placement_b.y": -0.3,
        "push.component.0": 7.0, "push.placement_a.x": 0.8,
    }  # fmt: skip
    assert set(values) <= set(da.parameters(bars))
    names = {address: f"p{k}" for k, address in enumerate(values)}
    plain, symbolic = symbolise(bars, values), symbolise(bars, names)
    given = dict(zip(names.values(), values.values()))
    exact = Dynamics(plain, elements="all", reference=REFERENCE)
    system = Dynamics(symbolic, elements="all", reference=REFERENCE, parameters=given)
    q = exact.assemble(keep=["crank"])
    v, tau = exact.project_velocity(q, [1.0, 0, 0]), np.array([1.0, 0, 0])
    np.testing.assert_allclose(system.assemble(keep=["crank"]), q, rtol=1e-12)
    np.testing.assert_allclose(system.forward_dynamics(q, v, tau), exact.forward_dynamics(q, v, tau), rtol=1e-10)
    found, expected = (each.reactions(q, v, tau)["pin"] for each in (system, exact))
    np.testing.assert_allclose(found.force, expected.force, rtol=1e-9, atol=1e-9)
    assert set(da.parameters(four_bar())) >= {"pin.placement_b.roll", "pin.placement_a.z"}
