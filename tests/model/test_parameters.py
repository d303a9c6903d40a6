"""Numbers into symbols and back: nothing is lost, and a substituted mechanism is the one built from numbers."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.algebra import arrays, scalar
from dalembert.algebra.rotations import rotation_z
from dalembert.algebra.transform import Transform
from dalembert.algorithms import inverse_dynamics
from dalembert.errors import ArgumentError
from dalembert.kinematics import poses
from dalembert.model import WORLD, Body, Constraint, Force, Frame, Inertia, Joint, Mechanism, Mimic
from dalembert.model.parameters import parameters, substitute, symbolise
from dalembert.model.record import content
from random_mechanisms import mechanisms

ROTATIONAL = ("roll", "pitch", "yaw")


def scalars(nested):
    if isinstance(nested, tuple):
        for x in nested:
            yield from scalars(x)
    else:
        yield nested


def arm(m1, m2, l, alpha, g, pitch=0.01, gear=2):
    """Two links; every argument may be a number or a symbol."""
    return Mechanism(
        "arm",
        (
            Body("upper", Inertia(m1, [l / 2, 0, 0], np.diag([m1, m1, m1]) * arrays.exact(np.eye(3)))),
            Body("lower", Inertia.cylinder(m2, l / 10, l)),
        ),
        (
            Joint("shoulder", "helical", WORLD, "upper", pitch=pitch),
            Joint(
                "elbow",
                "revolute",
                "upper",
                "lower",
                placement=Transform(rotation_z(alpha), arrays.asarray([l, 0, 0])),
                mimic=Mimic("shoulder", gear, 0),
            ),
        ),
        frames=(Frame("tool", "lower", Transform.from_translation([l, 0, 0])),),
        constraints=(Constraint("rod", "distance", "lower", value=l),),
        forces=(Force("spring", "joint-spring", "shoulder", stiffness=m1),),
        gravity=arrays.asarray([0, 0, -g]),
    )


@pytest.mark.parametrize("alpha", [0.3, math.pi / 2, -math.pi, 0.0])
def test_substituting_all_symbols_gives_the_numeric_mechanism(alpha):
    names = ("m1", "m2", "l", "alpha", "g", "pitch", "gear")
    values = (1.5, 0.7, 0.25, alpha, 9.81, 0.125, -2.0)
    symbols = sympy.symbols(names)
    symbolic = arm(*symbols)
    assert symbolic.symbols == tuple(sorted(symbols, key=lambda s: s.name))
    back, numeric = substitute(symbolic, dict(zip(names, values))), arm(*values)
    assert back.symbols == ()
    assert not any(scalar.is_sympy(x) for x in scalars(content(back)))
    for joint in back.joints:
        assert joint.placement.rotation.dtype == float
    for ours, theirs in zip(scalars(content(back)), scalars(content(numeric))):
        # SymPy may round a product of symbols in another order: one unit in the last place
        assert ours == (pytest.approx(theirs, rel=1e-15, abs=0) if isinstance(theirs, (int, float)) else theirs)
    np.testing.assert_allclose(
        inverse_dynamics(back, [0.3], [0.2], [0.1]), inverse_dynamics(numeric, [0.3], [0.2], [0.1]), rtol=1e-13
    )


def test_right_angles_stay_exact_after_substitution():
    back = substitute(arm(1, 1, 1, sympy.Symbol("alpha"), 9.81), {"alpha": math.pi / 2})
    assert set(back.joint("elbow").placement.rotation.ravel()) == {0.0, 1.0, -1.0}


def test_partial_substitution_keeps_the_rest_symbolic_and_exact():
    m, l = sympy.symbols("m l")
    model = arm(m, sympy.Rational(1, 3), l, sympy.pi / 6, 9.81)
    half = substitute(model, {m: 2})
    assert half.symbols == (l,)
    assert half.body("upper").inertia.mass == 2.0 and half.body("lower").inertia.mass == sympy.Rational(1, 3)
    whole = substitute(half, {"l": 0.5})
    assert whole.body("lower").inertia.mass == 1 / 3
    assert isinstance(whole.body("lower").inertia.mass, float)
    renamed = substitute(model, {m: l, l: m})  # all at once: an exchange
    assert renamed.body("upper").inertia.mass == l and renamed.frame("tool").placement.translation[0] == m


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (sympy.Rational(1, 3), sympy.Rational(1, 3)),
        (sympy.sqrt(2), sympy.sqrt(2)),
        (2, 2),
        (0.3, 0.3),
        (math.pi, math.pi),
    ],
)
def test_a_value_beside_symbols_stays_as_exact_as_it_was_given(given, kept):
    mass = substitute(arm(sympy.Symbol("m"), 1, sympy.Symbol("l"), 0, 9.81), {"m": given}).body("upper").inertia.mass
    assert mass == kept and isinstance(mass, sympy.Expr) == isinstance(given, sympy.Expr)


@settings(max_examples=25)
@given(mechanisms(1, 4, mimic=0.3, drives=True), st.data())
def test_symbolise_then_substitute_is_the_identity(mechanism, data):
    every = parameters(mechanism)
    chosen = data.draw(st.lists(st.sampled_from(list(every)), min_size=1, max_size=6, unique=True))
    names = {address: f"s{k}" for k, address in enumerate(chosen)}
    symbolic = symbolise(mechanism, names)
    assert {s.name for s in symbolic.symbols} == set(names.values())
    back = substitute(symbolic, {names[address]: every[address] for address in chosen})
    if any(address.endswith(ROTATIONAL) for address in chosen):
        q, _, _ = mechanism.random_state(np.random.default_rng(0))
        for name, pose in poses(mechanism, q).items():
            np.testing.assert_allclose(poses(back, q)[name].homogeneous(), pose.homogeneous(), atol=1e-13)
    else:
        assert back == mechanism


@given(mechanisms(1, 5, mimic=0.3))
def test_parameters_are_all_numbers_and_can_be_written_back(mechanism):
    every = parameters(mechanism)
    assert all(isinstance(value, (int, float)) for value in every.values())
    plain = {address: value for address, value in every.items() if not address.endswith(ROTATIONAL)}
    assert symbolise(mechanism, plain) == mechanism


def test_the_names_of_parameters():
    every = parameters(arm(1.5, 0.7, 0.25, 0.5, 9.81))
    assert every["upper.mass"] == 1.5
    assert every["upper.com.x"] == 0.125
    assert every["upper.inertia.zz"] == 1.5
    assert every["shoulder.pitch"] == 0.01
    assert every["elbow.mimic.multiplier"] == 2
    assert every["elbow.placement.yaw"] == pytest.approx(0.5, rel=1e-15)
    assert every["tool.placement.x"] == every["rod.value"] == 0.25
    assert every["spring.stiffness"] == 1.5
    assert every["gravity.z"] == -9.81


def test_symbolise_takes_symbols_names_expressions_and_numbers():
    model = arm(1.5, 0.7, 0.25, 0.5, 9.81)
    m = sympy.Symbol("m", positive=True)
    changed = symbolise(model, {"upper.mass": m, "upper.inertia.xy": m / 100, "lower.mass": "m2", "gravity.z": -1.62})
    assert changed.body("upper").inertia.tensor[0, 1] == changed.body("upper").inertia.tensor[1, 0] == m / 100
    assert changed.gravity[2] == -1.62
    # a name means the symbol of the mechanism that is called so
    again = symbolise(changed, {"lower.com.x": "m"})
    assert again.body("lower").inertia.center[0] is m
    turned = symbolise(model, {"elbow.placement.yaw": "b", "elbow.placement.roll": "a"})
    assert {s.name for s in turned.symbols} == {"a", "b"}
    assert "elbow.placement.yaw" not in parameters(turned)


def test_an_address_shared_by_two_owners_says_which():
    body = Body("tool", Inertia.sphere(1, 1))
    other = Body("b", Inertia.sphere(1, 1))
    model = Mechanism(
        "m",
        (body, other),
        (Joint("tip", "revolute", WORLD, "tool"), Joint("tool", "revolute", "tool", "b")),
        frames=(Frame("tip", "b"),),
    )
    every = parameters(model)
    assert "tip.placement.x" not in every
    changed = symbolise(model, {"frame:tip.placement.x": 1, "joint:tip.placement.x": 2})
    assert changed.frame("tip").placement.translation[0] == 1
    assert changed.joint("tip").placement.translation[0] == 2


@pytest.mark.parametrize(
    ("symbols", "message"),
    [
        ({"upper.mas": "m"}, "no parameter 'upper.mas'; did you mean 'upper.mass'"),
        ({"upper.mass": "2*m"}, "'2*m' is not a name for a symbol"),
        ({"": "m"}, "no parameter ''; it has gravity.x"),
    ],
)
def test_symbolise_refuses(symbols, message):
    with pytest.raises(ArgumentError) as error:
        symbolise(arm(1.5, 0.7, 0.25, 0.5, 9.81), symbols)
    assert message in str(error.value)


def test_a_symbol_is_given_once():
    mass = sympy.Symbol("mass", real=True)
    model = arm(mass, 1, 1, 0, 9.81)
    with pytest.raises(ArgumentError, match="'mass' is given twice"):
        substitute(model, {"mass": 1, mass: 2})


def test_substitute_refuses_unknown_symbols():
    model = arm(sympy.Symbol("mass"), 1, 1, 0, 9.81)
    with pytest.raises(ArgumentError, match="no symbol 'mas'; did you mean 'mass'"):
        substitute(model, {"mas": 1})
    with pytest.raises(ArgumentError, match=r"own assumes nothing, the one given assumes positive=True.*by name"):
        substitute(model, {sympy.Symbol("mass", positive=True): 1})


def test_a_symbolic_mechanism_gives_symbolic_dynamics():
    names = sympy.symbols("m1 m2 l alpha g")
    values = dict(zip(names, (1.5, 0.7, 0.25, 0.3, 9.81)))
    q, v, a = sympy.symbols("q v a")
    tau = inverse_dynamics(arm(*names), [q], [v], [a])[0]
    numeric = inverse_dynamics(arm(*values.values()), [0.3], [0.2], [0.1])[0]
    assert float(tau.subs(values).subs({q: 0.3, v: 0.2, a: 0.1})) == pytest.approx(numeric, rel=1e-12)


@pytest.mark.parametrize("expression, value", [("1/r", 0), ("sqrt(r)", -1), ("log(r)", 0)])
def test_a_value_at_which_an_expression_is_no_real_number_is_refused(expression, value):
    r = sympy.Symbol("r", real=True)
    mass = sympy.sympify(expression, locals={"r": r})
    mechanism = Mechanism("m", [Body("b", Inertia(mass, [0, 0, 0], np.eye(3)))], [Joint("j", "revolute", WORLD, "b")])
    with pytest.raises(ArgumentError) as caught:
        substitute(mechanism, {"r": value})
    assert str(caught.value) == f"b.mass of 'm': {mass} is not a real number at r = {value}"


def test_default_values_are_noted_only_of_symbols_that_are_left():
    a, b = sympy.symbols("a b", positive=True)
    listed = "arm: default values of the symbols: a = 1, b = 2"
    bodies, joints = [Body("b", Inertia.sphere(a, b))], [Joint("j", "revolute", WORLD, "b")]
    mechanism = Mechanism("m", bodies, joints, notes=["another", listed])
    half = substitute(mechanism, {"a": 3})
    assert half.notes == ("another", "arm: default values of the symbols: b = 2")
    assert substitute(half, {"b": 3}).notes == ("another",)
    assert symbolise(mechanism, {"j.damping": "c"}).notes == mechanism.notes


@pytest.mark.parametrize(
    ("angle", "told"), [(0.0, False), (0.4, False), (2.5, True), (math.pi, True), (math.pi / 2, True)]
)
def test_planar_coordinates_that_change_their_meaning_are_told(angle, told):
    """Where nothing is told, the body is where the symbolic mechanism has it."""
    t = sympy.Symbol("t", real=True)
    normal = [sympy.sin(t), 0, sympy.cos(t)]
    joint = Joint("slide", "planar", WORLD, "b", axis=normal)
    symbolic = Mechanism("m", (Body("b", Inertia.sphere(1, 0.1)),), (joint,))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        numeric = substitute(symbolic, {t: angle})
    assert [str(w.message) for w in caught] == [f"substitute: {note}" for note in numeric.notes]
    assert bool(numeric.notes) == told
    q = [0.3, -0.2, 0.5]
    there = poses(symbolic, q)["b"].translation
    if not told:
        expected = [float(sympy.sympify(x).subs(t, angle)) for x in there]
        np.testing.assert_allclose(poses(numeric, q)["b"].translation, expected, atol=1e-12)
