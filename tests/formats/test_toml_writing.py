"""Writing TOML and reading it back gives the same mechanism, to the last bit and the last symbol."""

import tomllib

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.formats import default_parameters, load, read_toml, write_toml
from dalembert.formats.catalogue import packaged
from dalembert.model import Body, Constraint, Force, Frame, Inertia, Joint, Limits, Mechanism, Shape
from dalembert.model.operations import add_payload, lock, merge_fixed
from dalembert.model.parameters import substitute, symbolise
from random_mechanisms import random_mechanism, random_transform

x, y, m = sp.symbols("x y m", real=True)


def one(**changes):
    parts = {"bodies": (Body("b", Inertia(m)),), "joints": (Joint("j", "revolute", "world", "b"),), "strict": False}
    return Mechanism("one", **{**parts, **changes})


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.booleans())
def test_a_random_mechanism_comes_back_equal(seed, n, floating):
    rng = np.random.default_rng(seed)
    wrote = random_mechanism(rng, n, floating=floating, mimic=0.3, drives=True, gravity=rng.normal(size=3))
    at = (random_transform(rng), random_transform(rng))
    shape = Shape("capsule", (0.1, 0.3), random_transform(rng), colour=(0.25, 0.5, 0.75, 1.0))
    wrote = wrote.replace(
        bodies=tuple(body.replace(shapes=(shape,)) for body in wrote.bodies),
        constraints=(Constraint("c", "distance", "b1", "world", *at, value=abs(rng.normal())),),
        forces=(Force("f", "spring", "b1", "tool", *at, rng.normal(), rng.normal(), rng.normal()),),
        notes=("first", 'a "quoted"\n note with ünicode \\ and \x7f'),
    )
    read = read_toml(write_toml(wrote))
    assert read == wrote
    assert read.notes == wrote.notes


def test_expressions_come_back_equal():
    expressions = [x * y / 3, sp.sin(x) ** 2, sp.sqrt(x + 1), sp.pi / 7, -x, sp.exp(-x), x**-2, sp.tan(2 * x), 0.1 * x]
    expressions += [sp.Abs(x - y), sp.log(x), sp.atan2(y, x), sp.atan2(x, 2), sp.asin(x) + sp.acos(y)]
    expressions += [
        sp.sinh(x) + sp.cosh(y),
        sp.tanh(x) / sp.asinh(y),
        sp.acosh(x) - sp.atanh(y),
        sp.E * x,
        x * sp.exp(2),
    ]
    expressions += [
        x**2 / (y + m) / 2,
        -7 * (x + 1) * (y + 2) / 10 - 3 * (x - y) * (m + 2),
        sp.Mul(2, x + y, evaluate=False),
    ]
    for expression in expressions:
        (joint,) = read_toml(write_toml(one(joints=(Joint("j", "revolute", "world", "b", damping=expression),)))).joints
        assert sp.expand(sp.nsimplify(joint.damping - expression, rational=True)) == 0


def test_symbolic_poses_inertias_and_constraints_come_back_equal():
    pose = Transform([[sp.cos(x), -sp.sin(x), 0], [sp.sin(x), sp.cos(x), 0], [0, 0, 1]], [y, 0, -y])
    wrote = one(
        bodies=(Body("b", Inertia(m, [x, 0, 0], [[m, x, 0], [x, m, 0], [0, 0, m]])),),
        joints=(Joint("j", "helical", "world", "b", pose, pitch=y, limits=Limits(-1, 1)),),
        frames=(Frame("f", "b", pose),),
        constraints=(Constraint("c", "coupling", "j", "", coefficients=(x, y)),),
        gravity=[0, 0, -m],
    )
    assert read_toml(write_toml(wrote)) == wrote


def test_what_welding_makes_of_symbols_comes_back():
    arm = load("demo_arm")
    carrying = add_payload(lock(arm, {"roll": x, "pitch": y}), "flange", Inertia(m, [0, 0, x]))
    wrote = merge_fixed(carrying)  # quotients of masses, products of sums, and shapes that stand askew
    values = {"x": 0.3, "y": -0.2, "m": 2.0}
    read = read_toml(write_toml(wrote, parameters=values), parameters="default")
    expected = substitute(wrote, values)
    for ours, theirs in zip(read.bodies, expected.bodies, strict=True):
        np.testing.assert_allclose(ours.inertia.parameters, theirs.inertia.parameters, rtol=1e-13, atol=1e-15)
        for shape, other in zip(ours.shapes, theirs.shapes, strict=True):
            np.testing.assert_allclose(shape.placement.homogeneous(), other.placement.homogeneous(), atol=1e-14)


def test_positive_symbols_stay_positive():
    a, b = sp.symbols("a b", positive=True)
    wrote = one(bodies=(Body("b", Inertia(sp.sqrt(a * b) + m, [a / b, 0, x])),))
    read = read_toml(write_toml(wrote))
    assert read == wrote and read.symbols == (a, b, m, x)
    assert read_toml(write_toml(wrote), parameters={"a": 4, "b": 9, "m": 1, "x": 0}).mass == 7
    assert "positive" not in write_toml(one())


def test_parameters_are_written_as_a_table():
    text = write_toml(one(), parameters={"m": 2.5})
    assert default_parameters(text) == {"m": 2.5}
    assert read_toml(text, parameters="default").mass == 2.5
    with pytest.raises(ArgumentError, match="'m' of 'one' has no value"):
        write_toml(one(), parameters={})
    with pytest.raises(ArgumentError, match="no symbol 'mm'; did you mean 'm'"):
        write_toml(one(), parameters={"m": 1, "mm": 1})


@pytest.mark.parametrize("name", ["θ", "Ω_1", "länge", "m2"])
def test_parameters_of_any_alphabet_come_back(name):
    mechanism = one(bodies=(Body("b", Inertia(sp.Symbol(name, real=True))),))
    text = write_toml(mechanism, parameters={name: 2.5})
    assert read_toml(text).symbols == mechanism.symbols
    assert default_parameters(text) == {name: 2.5}
    assert write_toml(read_toml(text)) == text


@pytest.mark.parametrize(
    "expression",
    [sp.gamma(x), sp.Symbol("a b"), sp.Symbol("sin"), x**y, (x + y) ** 99]
    + [sp.Symbol("pi"), 2 * sp.Symbol("pi") + x, sp.Symbol("x + y"), sp.Symbol("2"), sp.GoldenRatio * x, sp.Catalan],
)
def test_expressions_that_cannot_be_read_back_are_refused(expression):
    with pytest.raises(UnsupportedError, match="body 'b'"):
        write_toml(one(bodies=(Body("b", Inertia(expression)),)))


@pytest.mark.parametrize("number", [1e61, 10**61, -1e300])
def test_numbers_that_the_reader_refuses_are_not_written(number):
    with pytest.raises(UnsupportedError, match=r"body 'b': .* go up to 1e\+60"):
        write_toml(one(bodies=(Body("b", Inertia(1, (0, 0, number))),)))


@pytest.mark.parametrize("title", ["", "a\nb\x00", '"'])
def test_any_title_comes_back(title):
    wrote = one().replace(name=title)
    assert read_toml(write_toml(wrote)).name == title


def test_the_file_is_plain_toml(tmp_path):
    path = tmp_path / "one.toml"
    text = write_toml(one(), path)
    assert path.read_text(encoding="utf-8") == text
    assert tomllib.loads(text)["body"] == [{"name": "b", "mass": "m"}]


def test_a_mechanism_without_bodies_comes_back_equal():
    empty = Mechanism("nothing", (), (), gravity=(0, 0, -1.62))
    assert read_toml(write_toml(empty)) == empty


@pytest.mark.parametrize("name", [name for name, path in packaged().items() if path.suffix == ".toml"])
def test_packaged_descriptions_come_back_with_digest_notes_and_default_values(name):
    mechanism = load(name)
    text = write_toml(mechanism)
    back = read_toml(text)
    assert back == mechanism and back.digest == mechanism.digest and back.notes == mechanism.notes
    assert default_parameters(text) == default_parameters(packaged()[name])
    assert write_toml(back) == text


def test_the_zeros_and_ones_of_symbolic_rotations_count_as_numbers():
    """SymPy's 0 and Python's are equal; so must be the digest of what a file gives back."""
    arm = load("demo_arm")
    turned = symbolise(
        arm, {f"{arm.joints[k].name}.placement.{angle}": angle for k, angle in enumerate(("roll", "yaw"))}
    )
    back = read_toml(write_toml(turned))
    assert back == turned and hash(back) == hash(turned) and back.digest == turned.digest


def test_what_welding_makes_of_a_whole_hand_of_symbols_is_written():
    """A dozen symbols welded into one body make expressions of thousands of characters."""
    arm = load("demo_arm")
    joint, body = arm.joints[-1].name, arm.bodies[-1].name
    numbers = {
        f"{body}.{what}": f"s{k}" for k, what in enumerate(("mass", "com.x", "com.z", "inertia.xx", "inertia.zz"))
    }
    grips = symbolise(arm, {**numbers, f"{joint}.placement.x": "x", f"{joint}.placement.roll": "phi"})
    held = merge_fixed(lock(grips, {arm.joints[k].name: sp.Symbol(f"q{k}", real=True) for k in (3, 4, 5)}))
    text = write_toml(held)
    back = read_toml(text)
    assert max(map(len, text.split('"'))) > 1000 and write_toml(back) == text
    values = {symbol.name: 0.5 + k / 10 for k, symbol in enumerate(held.symbols)}
    one, other = (substitute(m, values) for m in (held.replace(strict=False), back.replace(strict=False)))
    for a, b in zip(one.bodies, other.bodies):
        np.testing.assert_allclose(a.inertia.parameters, b.inertia.parameters, rtol=1e-9, atol=1e-9)


def test_default_values_keep_all_digits_and_follow_the_symbols():
    third = 1 / 3
    text = f"""name = "t"
[parameters]
m = {third!r}
l = 0.1
[[body]]
name = "b"
mass = "m"
center = [0, 0, "l"]
inertia = [1, 1, 1]
[[joint]]
name = "j"
kind = "revolute"
parent = "world"
child = "b"
"""
    mechanism = read_toml(text)
    assert default_parameters(write_toml(mechanism)) == {"m": third, "l": 0.1}
    assert default_parameters(write_toml(substitute(mechanism, {"l": 2}))) == {"m": third}
    assert default_parameters(write_toml(mechanism, parameters={"m": 2, "l": 3})) == {"m": 2, "l": 3}
    more = symbolise(mechanism, {"gravity.z": "g"})  # g has no value: no table, but nothing is forgotten
    back = read_toml(write_toml(more))
    assert back == more and back.notes == more.notes
