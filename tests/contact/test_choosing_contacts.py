"""da.contacts: what it takes, what it leaves out and why, and whose numbers count."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.contact.selection import ends
from dalembert.errors import ArgumentError, ModelError, UnsupportedError
from dalembert.model import Body, Ground, Inertia, Joint, Mechanism, Shape, Surface

BALL = Shape.sphere(0.1)
MATTER = Inertia.sphere(1, 0.1)


def walker(**shapes) -> Mechanism:
    """A free trunk with two legs of a thigh and a shin, a foot welded to each, and a tail."""
    bodies, joints = [], [Joint("base", "free", "world", "trunk")]
    for name, parent, kind in (
        ("trunk", "", ""), ("l_thigh", "trunk", "revolute"), ("l_shin", "l_thigh", "revolute"),
        ("l_foot", "l_shin", "fixed"), ("r_thigh", "trunk", "revolute"), ("r_shin", "r_thigh", "revolute"),
        ("r_foot", "r_shin", "fixed"), ("head", "trunk", "fixed"),
    ):  # fmt: skip
        bodies.append(Body(name, MATTER, collisions=shapes.get(name, (BALL,))))
        if parent:
            at = da.Transform.from_translation([0, 0, -0.3])
            joints.append(Joint(f"to_{name}", kind, parent, name, at))
    return Mechanism("walker", tuple(bodies), tuple(joints))


def reasons(selection) -> dict[str, str]:
    return {item.what: item.why for item in selection.left_out}


def test_every_shape_touches_the_ground():
    found = da.contacts(walker(), 0.5)
    assert [c.name for c in found.taken] == [body.name for body in found.mechanism.bodies]
    assert found.points == 8 and not found.left_out
    assert all(c.b == "world" and c.shape_b == Ground.plane() and c.friction == 0.5 for c in found.taken)
    assert found.mechanism.contacts == found.taken and walker().contacts == ()


def test_ends_are_feet():
    assert ends(walker()) == ["l_foot", "r_foot"]
    assert ends(walker(l_foot=())) == ["l_shin", "r_foot"]  # the shin is then the outermost shape of its part
    found = da.contacts(walker(), 0.5, only="ends")
    assert [c.name for c in found.taken] == ["l_foot", "r_foot"]
    assert reasons(found)["trunk"] == "not among those that only= names"
    text = str(found)
    assert "walker: 2 contacts with 2 points in all" in text and "head: not among" in text.replace("\n", " ")


def test_pairs_leave_neighbours_out_and_say_so():
    found = da.contacts(walker(), 0.5, ground=None, pairs="all")
    why = reasons(found)
    assert why["trunk and head"] == why["l_shin and l_foot"] == "fixed joints make one body of them"
    assert why["trunk and l_thigh"] == "neighbours by joint 'to_l_thigh'"
    assert why["l_thigh and l_foot"] == "neighbours by joint 'to_l_shin'"  # the foot is part of the shin
    assert why["l_thigh and head"] == "neighbours by joint 'to_l_thigh'"
    assert len(found.taken) + len(why) == 8 * 7 / 2
    assert "l_foot-r_foot" in [c.name for c in found.taken]


def test_named_pairs_may_be_neighbours_but_not_one_body():
    found = da.contacts(walker(), 0.5, ground=None, pairs=[("l_thigh", "trunk"), ("l_foot", "r_foot")])
    assert [(c.a, c.b) for c in found.taken] == [("l_thigh", "trunk"), ("l_foot", "r_foot")]
    with pytest.raises(ModelError, match="joined by fixed joints and cannot move apart"):
        da.contacts(walker(), 0.5, pairs=[("l_shin", "l_foot")])


def test_what_hangs_on_the_ground_does_not_touch_it_unless_named():
    joints = (Joint("pin", "revolute", "world", "arm"), Joint("rail", "prismatic", "world", "cart"))
    plate = Joint("bolt", "fixed", "world", "plate")
    bodies = tuple(Body(name, MATTER, collisions=(BALL,)) for name in ("arm", "cart", "plate"))
    scene = Mechanism("scene", bodies, (*joints, plate))
    found = da.contacts(scene, 0)
    assert [c.name for c in found.taken] == ["cart"]
    assert reasons(found) == {
        "arm on the ground": "joint 'pin' (revolute) holds it to the ground; pairs=[('arm', 'world')] takes it",
        "plate on the ground": "it is joined to the ground by fixed joints and cannot move",
    }
    named = da.contacts(scene, 0, pairs=[("arm", "world"), ("cart", "plate")])
    assert [c.name for c in named.taken] == ["cart", "arm", "cart-plate"] and "arm on the ground" not in reasons(named)


def test_numbers_for_all_by_pattern_and_as_symbols():
    mu = sp.Symbol("mu", positive=True)
    found = da.contacts(walker(), {"l_*": mu, "*": 0.5}, restitution=0.3, stiffness={"*_foot": 1e4}, solref=(0.01, 1.0))
    by_name = {c.name: c for c in found.taken}
    assert by_name["l_foot"].friction == mu and by_name["r_foot"].friction == 0.5
    assert by_name["l_foot"].stiffness == 1e4 and by_name["trunk"].stiffness is None
    assert by_name["head"].restitution == 0.3 and by_name["head"].solref == (0.01, 1.0)
    assert [s.name for s in found.mechanism.symbols] == ["mu"]


def test_the_files_surfaces_count_where_nothing_is_given():
    rough, slick = (BALL.replace(surface=Surface(friction=x, torsional=0.1)) for x in (0.9, 0.2))
    first = slick.replace(surface=slick.surface.replace(priority=1, dimensions=4))
    scene = walker(l_foot=(rough,), r_foot=(slick,), head=(first,))
    given = {"ground": None, "only": ("*_foot", "head")}
    found = da.contacts(scene, pairs=[("l_foot", "r_foot"), ("l_foot", "head")], **given)
    assert [(c.friction, c.torsional) for c in found.taken] == [(0.9, 0), (0.2, 0.1)]
    apart = BALL.replace(surface=Surface(friction=1, contype=2, conaffinity=2))
    found = da.contacts(walker(l_foot=(rough,), r_foot=(apart,)), pairs="all", **given)
    assert reasons(found)["l_foot and r_foot"] == "their contype and conaffinity do not agree"


def test_shapes_may_be_given_in_place_of_those_of_the_file():
    found = da.contacts(
        walker(), 1, only="*_foot", shapes={"*_foot": [Shape.sphere(0.02, (0.1, 0, 0)), Shape.box(1, 2, 3)]}
    )
    assert [c.name for c in found.taken] == ["l_foot/0", "l_foot/1", "r_foot/0", "r_foot/1"]
    assert found.mechanism.body("l_foot").collisions[0].placement.translation.tolist() == [0.1, 0, 0]
    assert found.points == 18


def test_meshes_touch_as_hulls_or_spheres(tmp_path):
    rng = np.random.default_rng(1)
    ball = rng.normal(size=(300, 3))
    ball *= 0.02 / np.linalg.norm(ball, axis=1, keepdims=True)
    mesh = Shape("mesh", (1.0, 1.0, 1.0), da.Transform.from_translation([0, 0, 1]), "a.stl", name="sole")
    stone = mesh.replace(vertices=tuple(map(tuple, (ball + [0, 0, 0.5]).tolist())))
    found = da.contacts(walker(l_foot=(stone,), r_foot=(mesh,)), 1, only="*_foot")
    (contact,) = found.taken
    assert contact.shape_a.kind == "sphere" and abs(contact.shape_a.size[0] - 0.02) < 1e-12
    np.testing.assert_allclose(contact.shape_a.placement.translation, [0, 0, 1.5], atol=1e-12)
    assert "its mesh 'a.stl' cannot be used: there is no such file" in reasons(found)["r_foot"]
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n")
    found = da.contacts(walker(l_foot=(mesh.replace(mesh="a.obj"),)), 1, only="l_foot", folder=tmp_path)
    assert found.points == 4 and "hull of 4 vertices on plane" in str(found)
    assert found.mechanism.body("l_foot").collisions[0].vertices


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "nothing says how rough 'trunk' is; give a number (0 is frictionless)"),
        ({"friction": -1}, "friction is a number not below 0, got -1"),
        ({"friction": float("nan")}, "friction is a number not below 0"),
        ({"friction": 1, "restitution": 2}, "restitution lies between 0"),
        ({"friction": {"foot*": 1}}, "nothing says how rough 'trunk' is"),
        ({"friction": {"*": 1, "foot*": 1}}, "no contact, body or shape is called 'foot*'"),
        ({"friction": 1, "ground": "lava"}, "expected a Ground, 'plane' or None, got 'lava'"),
        ({"friction": 1, "only": "l_fot"}, "did you mean 'l_foot'"),
        ({"friction": 1, "pairs": [("l_foot", "l_fot")]}, "has no body 'l_fot'; did you mean 'l_foot'"),
        ({"friction": 1, "pairs": "some"}, "expected pairs of bodies or 'all'"),
        ({"friction": 1, "pairs": ["ab"]}, "has no body 'a'"),
        ({"friction": 1, "pairs": [("l_foot", "l_foot")]}, "cannot touch itself"),
        ({"friction": 1, "pairs": [("l_foot", "world")], "ground": None}, "needs a ground"),
        ({"friction": 1, "shapes": {"nobody": BALL}}, "no body is called 'nobody'"),
        ({"friction": 1, "most": 7}, "8 points of contact, and 7 are allowed"),
        ({"friction": 1, "vertices": 3}, "a hull has at least 4"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_said(given, message):
    with pytest.raises((ArgumentError, ModelError)) as caught:
        da.contacts(walker(), **given)
    assert message in str(caught.value)


def test_a_mechanism_without_shapes_is_asked_for_them():
    bare = Mechanism("bare", (Body("b", MATTER),), (Joint("j", "free", "world", "b"),))
    with pytest.raises(ArgumentError, match=r"no body of 'bare' has collision shapes\. Give them: shapes="):
        da.contacts(bare, 1)
    assert da.contacts(bare, 1, shapes={"b": BALL}).points == 1


def test_pairs_without_a_law_name_what_would_serve():
    scene = walker(l_foot=(Shape.cylinder(0.1, 0.2),), r_foot=(Shape.ellipsoid(1, 2, 3),))
    serves = "'l_foot-r_foot'.*give a capsule of the same radius for the cylinder and a sphere or a capsule inside it"
    with pytest.raises(UnsupportedError, match=serves):
        da.contacts(scene, 1, ground=None, pairs=[("l_foot", "r_foot")])
    found = da.contacts(scene, 1, pairs="all")
    assert "give a capsule" in reasons(found)["l_foot and r_foot"]


def test_contacts_are_added_to_those_that_are_there():
    once = da.contacts(walker(), 1, only="l_foot").mechanism
    twice = da.contacts(once, 1, only="*_foot").mechanism
    assert [c.name for c in twice.contacts] == ["l_foot", "l_foot_", "r_foot"]
