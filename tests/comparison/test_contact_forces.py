"""Forces of contact beside those of MuJoCo, Pinocchio and Drake: equal, or different for reasons that are measured."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ArgumentError
from dalembert.model import WORLD, Body, Ground, Inertia, Joint, Mechanism, Shape
from quick import some

SCENE = """
<mujoco><option timestep="0.002"/>
<worldbody><geom name="floor" type="plane" size="5 5 .1" friction="0.6 0.005 0.0001" margin="0.001"/>
<body name="a" pos="0 0 0.1"><freejoint name="base"/>
<geom name="box" type="box" size=".2 .15 .1" mass="3" friction="0.7 0.01 0.0002" solimp="0.8 0.97 0.002 0.4 3"/>
<body name="b" pos="0.2 0 0"><joint name="j" type="hinge" axis="0 1 0" armature="0.1" range="-20 30" limited="true"/>
<geom name="arm" type="capsule" fromto="0 0 0 .5 0 -.05" size=".05" mass="1" solref="0.03 0.7" condim="6"
 friction="0.9 0.02 0.003"/></body></body></worldbody></mujoco>"""

PUSH = [0.3, 0.1, -0.2, 0.0, 0.0, 0.0, 0.0]


def cart(friction=0.6, **given) -> Mechanism:
    """A crate with a swinging arm, on three balls: forces that are unique."""
    places = ((0.2, 0.1, -0.1), (0.2, -0.1, -0.1), (-0.2, 0, -0.1))
    balls = tuple(Shape.sphere(0.03, place).replace(name=f"ball{k}") for k, place in enumerate(places))
    bodies = (
        Body("crate", Inertia.box(3, (0.4, 0.3, 0.1)), collisions=balls),
        Body("arm", Inertia.sphere(1, 0.1, (0.2, 0, 0))),
    )
    joints = Joint("base", "free", WORLD, "crate"), Joint("swing", "revolute", "crate", "arm", axis=(0, 1, 0))
    return da.contacts(Mechanism("cart", bodies, joints), friction, **given).mechanism


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "cart.urdf"
    da.formats.write_urdf(cart().replace(contacts=()), path)
    return path


@pytest.mark.parametrize("v", some((None, PUSH), 2), ids=["at rest", "sliding"])
def test_pinocchio_solves_the_same_problem(file, v):
    pytest.importorskip("pinocchio")
    found = da.compare(cart(), file, library="pinocchio", states=1, v=v)
    assert found.agrees and found.contacts.explained
    assert found.contacts.difference < 1e-7 * found.contacts.largest and found.contacts.points == (3, 3)
    total = sum(force[2] for force, _ in found.contacts.forces.values())
    assert total > 30 if v is None else total > 300  # 4 kg, one of which swings freely; with v an impact


@pytest.mark.parametrize("v", some((None, PUSH), 2), ids=["at rest", "sliding"])
def test_what_mujoco_does_otherwise_has_names(file, v):
    pytest.importorskip("mujoco")
    contacts = da.compare(cart(), file, library="mujoco", states=1, v=v).contacts
    assert contacts.same_law[0] == "convex" and contacts.same_law[1] < 1e-7
    names = [name for name, _, _ in contacts.causes]
    assert {"soft", "convex"} <= set(names) and contacts.left < 1e-6 * contacts.largest and contacts.explained
    assert (contacts.creep is not None) == (v is None)
    assert contacts.difference > 0.005 * contacts.largest


def test_a_scene_of_mujoco_keeps_its_own_ground_and_margins(tmp_path):
    pytest.importorskip("mujoco")
    path = tmp_path / "scene.xml"
    path.write_text(SCENE)
    found = da.compare(da.load(path, contacts=True), path, library="mujoco", include=["armature"], states=1, v=PUSH)
    assert {"pyramid", "margin", "soft", "convex"} <= {name for name, _, _ in found.contacts.causes}
    assert found.contacts.same_law[1] < 1e-7 and set(found.contacts.forces) == {("base", "world"), ("j", "world")}
    text = str(found)
    assert "Left without a name" in text and "what slides is pushed apart" in text
    assert found.to_dict()["contacts"]["explained"] is True


def test_drake_is_soft_and_lags(file):
    pytest.importorskip("pydrake")
    contacts = da.compare(cart(), file, library="drake", states=1).contacts
    assert [name for name, _, _ in contacts.causes][:2] == ["soft", "lag"]
    assert contacts.left < 0.01 * contacts.largest and contacts.explained


def test_what_cannot_be_asked_is_said(file):
    pytest.importorskip("pinocchio")
    far = cart(ground=Ground.plane((0, 0, 0)), torsional=0.01)
    found = da.compare(far, file, library="pinocchio", states=1)
    assert any("torsional and rolling friction" in remark for remark in found.remarks)
    with pytest.raises(ArgumentError, match="they are for contacts, and there are none"):
        da.compare(cart().replace(contacts=()), file, library="pinocchio", states=1, q=np.zeros(8))
