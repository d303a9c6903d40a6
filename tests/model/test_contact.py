"""Contacts and grounds as data: validation, addresses, digests, and what operations on mechanisms make of them."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from dalembert import attach, lock, merge_fixed, parameters, substitute, subtree, symbolise, with_base
from dalembert.algebra.transform import Transform
from dalembert.errors import ModelError, ValidationError
from dalembert.model import WORLD, Body, Contact, Frame, Ground, Inertia, Joint, Mechanism, Shape, Surface

BALL = Shape("sphere", (0.1,))


def ball(**numbers) -> Contact:
    return Contact("touch", "ball", shape_a=BALL, **{"friction": 0.5} | numbers)


def bouncer(*contacts: Contact, **fields) -> Mechanism:
    body = Body("ball", Inertia.sphere(1, 0.1), collisions=(BALL,))
    return Mechanism("bouncer", (body,), (Joint("base", "free", WORLD, "ball"),), contacts=contacts, **fields)


def test_digests_of_mechanisms_without_contacts_are_what_they_were():
    bare = Mechanism("b", (Body("ball", Inertia.sphere(1, 0.1), (BALL,)),), (Joint("j", "free", WORLD, "ball"),))
    assert bare.digest == "282f0df9f08cff5d7b2dc9997aa560fcaec6af61a45242985ac542fe54036fed"
    assert bouncer(ball()).digest != bouncer().digest
    assert bouncer(ball()).digest != bouncer(ball(friction=0.6)).digest


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"friction": -0.1}, "friction is a number not below 0, got -0.1"),
        ({"friction": math.nan}, "friction is a number not below 0, got nan"),
        ({"friction": None}, "give its coefficient of friction"),
        ({"restitution": 1.2}, "between 0 (no rebound) and 1 (no loss), got 1.2"),
        ({"restitution": -0.2}, "restitution is a number not below 0"),
        ({"stiffness": 0}, "carries nothing"),
        ({"shape_a": Shape("sphere", (0,))}, "the radius of a sphere is a positive length (m), got 0"),
        ({"shape_a": Shape("sphere")}, "a sphere has 1 sizes (radius)"),
        ({"shape_a": Shape("mesh", mesh="foot.stl")}, "those of 'foot.stl' are not given; a capsule"),
        ({"shape_a": Shape("torus", (1, 2))}, "no kind of collision shape is called 'torus'"),
        ({"b": "ball"}, "cannot touch itself"),
        ({"solref": (0.02,)}, "solref has 2 numbers, got 1"),
    ],
)
def test_what_makes_no_sense_is_said(numbers, message):
    with pytest.raises(ModelError) as caught:
        Contact("touch", "ball", **{"shape_a": BALL, "friction": 0.5} | numbers)
    assert message in str(caught.value) and "'touch'" in str(caught.value)


def test_collision_shapes_of_bodies_are_checked_too():
    with pytest.raises(ModelError, match="positive length"):
        Body("b", collisions=(Shape("capsule", (0.1, -1)),))
    with pytest.raises(ModelError, match="has 3 sizes"):
        Body("b", collisions=(Shape("box", (1, 2)),))
    assert Body("b", collisions=(Shape("mesh", mesh="a.stl"),)).collisions[0].mesh == "a.stl"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ground.plane(normal=(0, 0, 0)), "gives no direction"),
        (lambda: Ground.half_spaces([]), "at least one plane"),
        (lambda: Ground.height_field([[0, 1], [math.nan, 2]]), "has 1 hole, the first at grid point (1, 0)"),
        (lambda: Ground.height_field([[0, 1]]), "at least 2 x 2 points"),
        (lambda: Ground.height_field(np.zeros((100, 100))), "at most 4096"),
        (lambda: Ground.height_field(np.zeros((3, 3)), spacing=0), "spacing"),
        (lambda: Ground.formula(lambda x: x), "must take x and y"),
    ],
)
def test_grounds_that_make_no_sense(make, message):
    with pytest.raises(ModelError) as caught:
        make()
    assert message in str(caught.value)


def test_bodies_joined_by_fixed_joints_cannot_touch():
    bodies = (Body("a", Inertia.sphere(1, 0.1)), Body("b", Inertia.sphere(1, 0.1)))
    joints = (Joint("base", "free", WORLD, "a"), Joint("weld", "fixed", "a", "b"))
    pair = Contact("pair", "tip", "b", BALL, BALL, friction=0)
    with pytest.raises(ValidationError, match="joined by fixed joints and cannot move apart"):
        Mechanism("welded", bodies, joints, frames=(Frame("tip", "a"),), contacts=(pair,))
    with pytest.raises(ValidationError, match="body or frame 'nobody' does not exist"):
        Mechanism("welded", bodies, joints, contacts=(pair.replace(a="nobody"),))


def test_numbers_have_addresses_and_may_be_symbols():
    mechanism = bouncer(ball(restitution=0.5))
    found = parameters(mechanism)
    assert found["touch.friction"] == 0.5 and found["touch.shape_a.size.0"] == 0.1
    symbolic = symbolise(mechanism, {"touch.friction": "mu", "touch.shape_a.size.0": "r", "touch.restitution": "e"})
    assert [s.name for s in symbolic.symbols] == ["e", "mu", "r"]
    assert "friction mu" in str(symbolic)
    back = substitute(symbolic, {"mu": 0.5, "r": 0.1, "e": 0.5})
    assert back == mechanism and back.digest == mechanism.digest
    tilted = symbolise(mechanism, {"touch.shape_b.placement.pitch": "alpha"})
    assert [s.name for s in tilted.symbols] == ["alpha"]


def test_a_formula_keeps_its_parameters():
    import sympy

    x, y, A = sympy.symbols("x y A")
    mechanism = bouncer(ball(shape_b=Ground.formula(A * sympy.sin(x) + y / 10)))
    assert [s.name for s in mechanism.symbols] == ["A"]
    number = substitute(mechanism, {"A": 0.2})
    assert not number.symbols and number.contacts[0].shape_b.coefficients == (0.2,)
    assert parameters(number)["touch.shape_b.A"] == 0.2
    assert Ground.formula(lambda x, y: x * y).function == Ground.formula(x * y).function


def test_records_pickle_and_compare():
    for item in (ball(), Ground.plane((0, 0, 1), (0, 1, 1)), Ground.height_field(np.eye(3)), Surface(friction=0.7)):
        again = pickle.loads(pickle.dumps(item))
        assert again == item and hash(again) == hash(item)
    assert Ground.plane() != Ground.plane((0, 0, 1))


def test_operations_carry_contacts():
    mechanism = bouncer(ball())
    fixed = with_base(mechanism, "fixed")
    assert fixed.contacts == () and "contact 'touch' is left out" in fixed.notes[-1]
    assert lock(mechanism, {"base": [0, 0, 1, 0, 0, 0, 1]}).contacts == ()
    foot = Body("foot", Inertia.sphere(1, 0.1), collisions=(BALL,))
    at = Transform.from_translation([0, 0, -1])
    leg = mechanism.replace(
        bodies=(*mechanism.bodies, foot),
        joints=(*mechanism.joints, Joint("ankle", "fixed", "ball", "foot", placement=at)),
        contacts=(ball(), Contact("sole", "foot", shape_a=BALL, friction=1)),
    )
    merged = merge_fixed(leg)
    assert [c.a for c in merged.contacts] == ["ball", "ball"]
    assert merged.contacts[1].shape_a.placement == at
    assert [s.placement for s in merged.body("ball").collisions] == [Transform.identity(), at]
    both = attach(mechanism, mechanism, to=WORLD, prefix="second_")
    assert [(c.name, c.a, c.b) for c in both.contacts] == [
        ("touch", "ball", WORLD), ("second_touch", "second_ball", WORLD),
    ]  # fmt: skip
    mounted = attach(leg, mechanism, to="foot", prefix="x_")
    assert mounted.contact("x_touch").b == "foot"
    assert [c.name for c in subtree(both, "second_ball").contacts] == ["second_touch"]
    assert [c.name for c in subtree(leg, "ball").contacts] == ["touch", "sole"]


def test_the_table_names_shapes_and_contacts():
    text = str(bouncer(ball()))
    assert "1 sphere" in text and "sphere 0.1 on plane; friction 0.5" in text
