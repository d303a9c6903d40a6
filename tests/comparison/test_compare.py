"""A model that was changed in one place is told apart by that place, whatever library holds it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.comparison.difference import TOPICS
from dalembert.errors import ArgumentError, FormatError, UnsupportedError
from dalembert.model import Body, Frame, Inertia, Joint, Mechanism, Mimic
from dalembert.model.joint import rotation_about
from random_mechanisms import random_mechanism

sys.path.insert(0, str(Path(__file__).parent.parent / "conventions"))
from peer_models import to_drake, to_mujoco, to_pinocchio

LIBRARIES = {"dalembert": ("dalembert", lambda m: m), "pinocchio": ("pinocchio", to_pinocchio)}
LIBRARIES |= {"mujoco": ("mujoco", to_mujoco), "drake": ("pydrake", to_drake)}


def tensor(a: float, b: float, c: float, d: float = 0.01, e: float = -0.005, f: float = 0.003) -> list[list[float]]:
    return [[a, d, e], [d, b, f], [e, f, c]]


def turned(angle: float, axis: str = "z") -> da.Transform:
    return da.Transform.from_rpy_xyz({"x": [angle, 0, 0], "z": [0, 0, angle]}[axis], [0, 0, 0])


def arm() -> Mechanism:
    """Three joints of two kinds, a welded tool, products of inertia."""
    move = da.Transform(np.eye(3), np.array([0.1, 0.2, 0.3]))
    bodies = (
        Body("upper", Inertia(3.0, [0.1, 0.05, 0.2], tensor(0.2, 0.25, 0.15))),
        Body("lower", Inertia(2.0, [0.2, -0.1, 0.1], tensor(0.1, 0.15, 0.12))),
        Body("slider", Inertia(1.0, [0.1, 0.1, 0.0], tensor(0.05, 0.06, 0.07))),
        Body("tool", Inertia(0.5, [0.0, 0.0, 0.1], tensor(0.01, 0.012, 0.011, 0, 0, 0))),
    )
    joints = (
        Joint("shoulder", "revolute", "world", "upper", axis=[0, 0, 1]),
        Joint("elbow", "revolute", "upper", "lower", move, axis=[0, 1, 0]),
        Joint("slide", "prismatic", "lower", "slider", move, axis=[1, 0, 0]),
        Joint("flange", "fixed", "slider", "tool", move),
    )
    return Mechanism("arm", bodies, joints, frames=(Frame("tip", "tool"),))


def with_joint(mechanism: Mechanism, name: str, **changes: Any) -> Mechanism:
    joints = tuple(j.replace(**changes) if j.name == name else j for j in mechanism.joints)
    return mechanism.replace(joints=joints)


def with_body(mechanism: Mechanism, name: str, change: Callable[[Inertia], Inertia]) -> Mechanism:
    bodies = tuple(b.replace(inertia=change(b.inertia)) if b.name == name else b for b in mechanism.bodies)
    return mechanism.replace(bodies=bodies)


def opposite_products(i: Inertia) -> Inertia:
    return i.replace(tensor=2 * np.diag(np.diag(i.tensor)) - i.tensor)


CHANGES: dict[str, tuple[str, str, Callable[[Mechanism], Mechanism], str]] = {
    "axis": ("joint axis", "elbow", lambda m: with_joint(m, "elbow", axis=[0, -1, 0]), "the opposite way"),
    "tilt": ("joint axis", "elbow", lambda m: with_joint(m, "elbow", axis=[0, 0.6, 0.8]), "53.1 degrees"),
    "type": ("joint type", "elbow", lambda m: with_joint(m, "elbow", kind="prismatic"), "slide"),
    "place": (
        "placement", "elbow",
        lambda m: with_joint(m, "elbow", placement=da.Transform(np.eye(3), np.array([0.1, 0.2, 0.31]))), "0.01 m",
    ),
    "zero": (
        "zero position", "shoulder", lambda m: with_joint(m, "shoulder", placement=turned(0.3)),
        " is position 0.3 rad here",
    ),
    "pushed": (
        "zero position", "slide",
        lambda m: with_joint(m, "slide", placement=da.Transform(np.eye(3), np.array([0.15, 0.2, 0.3]))),
        " is position 0.05 m here",
    ),
    "mass": ("mass", "lower", lambda m: with_body(m, "lower", lambda i: i.replace(mass=2.5)), "2.5 kg"),
    "tool": ("mass", "slider", lambda m: with_body(m, "tool", lambda i: i.replace(mass=0.6)), "welded"),
    "centre": (
        "centre of mass", "lower", lambda m: with_body(m, "lower", lambda i: i.replace(center=[0.2, -0.1, 0.12])),
        "(0, 0, 0.02) m",
    ),
    "tensor": (
        "inertia tensor", "upper", lambda m: with_body(m, "upper", lambda i: i.replace(tensor=tensor(0.2, 0.25, 0.18))),
        "Izz",
    ),
    "products": ("inertia tensor", "lower", lambda m: with_body(m, "lower", opposite_products), "opposite signs"),
    "origin": (
        "inertia tensor", "upper", lambda m: with_body(m, "upper", lambda i: i.replace(tensor=i.tensor_about_origin)),
        "about the origin",
    ),
    "gravity": ("gravity", "", lambda m: da.with_gravity(m, [0, 0, -9.80665]), "-9.80665"),
    "upright": ("gravity", "", lambda m: da.with_gravity(m, [0, -9.81, 0]), "da.with_gravity"),
}  # fmt: skip
"""What is changed: the topic, the place, the change, a piece of the words."""


@pytest.fixture(params=LIBRARIES)
def build(request) -> Callable[[Mechanism], Any]:
    package, maker = LIBRARIES[request.param]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    return maker


def test_the_same_model_agrees(build):
    found = da.compare(arm(), build(arm()))
    print(found)
    assert found.agrees and bool(found) and found.first is None
    assert "they agree" in str(found) and len(found.measured) == 5


def test_a_mass_that_moves_along_the_last_slide_is_no_other_zero(build):
    """Both move the centre of mass alike; the frame of the body tells them apart."""
    last = arm().replace(bodies=arm().bodies[:3], joints=arm().joints[:3], frames=())
    moved = with_body(last, "slider", lambda i: i.replace(center=[0.12, 0.1, 0.0]))
    pushed = with_joint(last, "slide", placement=da.Transform(np.eye(3), np.array([0.12, 0.2, 0.3])))
    found = [da.compare(last, build(other)).first for other in (moved, pushed)]
    assert [item.topic for item in found] == ["centre of mass", "zero position"]


@pytest.mark.parametrize("change", CHANGES)
def test_one_change_is_named(build, change):
    topic, where, alter, words = CHANGES[change]
    found = da.compare(arm(), build(alter(arm())))
    print(found)
    assert not found.agrees
    assert found.first is not None and (found.first.topic, found.first.where) == (topic, where)
    assert words in str(found.first) or (found.library == "Drake" and "prismatic" in found.first.text)
    assert f"First difference, {topic}" in str(found)


def test_data_without_an_effect_is_told_as_such():
    """A body that only turns about z: of its tensor Izz alone matters."""
    found = da.compare(arm(), with_body(arm(), "upper", opposite_products))
    assert found.agrees and found.first.topic == "inertia tensor" and "results agree, although" in str(found)


def test_causes_come_before_effects():
    worse = CHANGES["gravity"][2](CHANGES["mass"][2](CHANGES["place"][2](arm())))
    topics = [item.topic for item in da.compare(arm(), worse).differences]
    assert topics == sorted(topics, key=TOPICS.index) and topics == ["placement", "mass", "gravity"]


def test_missing_and_renamed_joints(build):
    other = arm().replace(joints=tuple(j.replace(name=f"other_{j.name}") for j in arm().joints))
    found = da.compare(arm(), build(other))
    if found.first is None:  # MuJoCo's joints are also found by the names of bodies
        assert found.agrees
    else:
        assert found.first.topic == "joints" and "only here: shoulder" in found.first.text and not found.agrees
    named = da.compare(arm(), build(other), joints={j: f"other_{j}" for j in ("shoulder", "elbow", "slide")})
    assert named.agrees
    nobody = da.compare(arm(), build(arm()), joints={"elbow": "nobody"}).first
    assert nobody.topic == "joints" and "No joint there is called 'nobody'" in nobody.text
    shorter = da.subtree(arm(), "lower")
    assert da.compare(arm(), build(shorter)).first.topic == "joints"


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_a_single_joint_is_enough(build, kind):
    body = Body("bob", Inertia(2.0, [0.1, 0.2, -0.5], tensor(0.2, 0.25, 0.15)))
    one = Mechanism("one", (body,), (Joint("pivot", kind, "world", "bob", turned(0.4, "x"), axis=[0, 1, 0]),))
    assert da.compare(one, build(one)).agrees
    heavier = with_body(one, "bob", lambda i: i.replace(mass=2.5))
    assert da.compare(one, build(heavier)).first.topic == "mass"


def test_another_tree_is_told():
    """Two joints side by side instead of one on the other; at zero both look the same but for what they carry."""
    aside = with_joint(arm(), "slide", parent="upper")
    found = da.compare(arm(), aside)
    assert found.first.topic == "topology" and "'elbow'" in found.first.text


def test_order_is_a_remark(build):
    joints = arm().joints
    branched = arm().replace(joints=(joints[0], joints[1], joints[2].replace(parent="upper"), joints[3]))
    swapped = branched.replace(joints=(joints[0], branched.joints[2], joints[3], joints[1]))
    found = da.compare(branched, build(swapped))
    assert found.agrees
    ordered = any("ordered otherwise" in remark for remark in found.remarks)
    assert ordered or found.library == "Drake"  # it orders the tree itself


def test_a_free_base_is_mapped_and_told(build):
    floating = Mechanism(
        "craft",
        arm().bodies,
        (
            Joint("root", "free", "world", "upper", turned(0.4, "x")),
            *arm().joints[1:],
        ),
    )
    found = da.compare(floating, build(floating))
    print(found)
    assert found.agrees and found.first is None
    if found.library in ("Pinocchio", "MuJoCo", "Drake"):
        assert any(f"a free joint in {found.library}" in remark for remark in found.remarks)


def test_a_base_that_floats_on_one_side_only_is_told_with_what_to_do(build):
    carriage = Mechanism(
        "craft",
        (Body("hull", Inertia.sphere(3.0, 0.2)), *arm().bodies),
        (Joint("root", "fixed", "world", "hull"), arm().joints[0].replace(parent="hull"), *arm().joints[1:]),
    )
    floating = da.with_base(carriage, "free")
    for here, there, mend in ((carriage, floating, "free"), (floating, carriage, "fixed")):
        found = da.compare(here, build(there)).first
        assert found.topic == "joints" and f"da.with_base(mechanism, '{mend}')" in found.remedy
        assert da.compare(da.with_base(here, mend), build(there)).agrees


@pytest.mark.parametrize("seed", range(8))
def test_random_mechanisms_agree_with_pinocchio(seed):
    pytest.importorskip("pinocchio")
    rng = np.random.default_rng(seed)
    mechanism = random_mechanism(rng, 5, kinds=("revolute", "prismatic", "fixed", "spherical"))
    found = da.compare(mechanism, to_pinocchio(mechanism))
    assert found.agrees and not found.differences, str(found)


# -------------------------------------------------------------------------------------------------- what libraries add


@pytest.mark.parametrize(("library", "term"), [
    ("pinocchio", "damping"), ("pinocchio", "friction"), ("mujoco", "friction"),
])  # fmt: skip
def test_data_that_a_library_keeps_and_does_not_use_are_told(library, term):
    package, build = LIBRARIES[library]
    pytest.importorskip(package)
    model = build(arm())
    field = {"mujoco": "dof_frictionloss"}.get(library, term)
    getattr(model, field)[1] = 0.3
    found = da.compare(arm(), model)
    assert found.agrees and (found.first.topic, found.first.where) == (term, "elbow")
    assert "is 0 here and 0.3 N m" in found.first.text and "it enters no force that is compared" in found.first.text
    assert da.compare(with_joint(arm(), "elbow", **{term: 0.3}), model).first is None


def test_armature_and_damping_of_pinocchio():
    """Its forces contain armature, but neither damping nor friction; rotorInertia is mere data."""
    pytest.importorskip("pinocchio")
    ours = with_joint(arm(), "elbow", armature=0.1, damping=0.7)
    model = to_pinocchio(ours)
    model.armature[1], model.damping[1], model.rotorInertia[0] = 0.1, 0.7, 5.0
    found = da.compare(ours, model)
    assert (found.first.topic, found.first.where) == (
        "armature",
        "elbow",
    ) and "include=['armature']" in found.first.remedy
    assert [row.quantity for row in found.measured if not row.ok] == ["inertia matrix", "inverse dynamics"]
    assert any("rotorInertia" in remark for remark in found.remarks)
    assert da.compare(ours, model, include=["armature"]).agrees
    damped = da.compare(ours, model, include=["armature", "damping"])
    assert damped.first.topic == "damping" and "never in Pinocchio" in damped.first.text and not damped.agrees
    model.armature[1] = 0.2
    assert "is 0.1 here and 0.2" in da.compare(ours, model, include=["armature"]).first.text


def test_armature_damping_and_springs_of_mujoco():
    pytest.importorskip("mujoco")
    ours = with_joint(arm(), "elbow", armature=0.1, damping=0.7)
    model = to_mujoco(ours)
    model.dof_armature[1], model.dof_damping[1] = 0.1, 0.7
    found = da.compare(ours, model)
    assert [item.topic for item in found.differences] == ["armature", "damping"] and not found.agrees
    assert da.compare(ours, model, include=["armature", "damping"]).agrees
    model.jnt_stiffness[2] = 3.0
    sprung = da.compare(ours, model, include=["armature", "damping"])
    assert sprung.first.topic == "other forces" and "stiffness 3" in sprung.first.text and not sprung.agrees
    both = ours.replace(forces=(da.Force("s", "joint-spring", ours.joints[2].name, stiffness=3.0),))
    assert da.compare(both, model, include=["armature", "damping"]).agrees
    softer = ours.replace(forces=(da.Force("s", "joint-spring", ours.joints[2].name, stiffness=2.0, rest=0.1),))
    found = da.compare(softer, model, include=["armature", "damping"])
    assert "stiffness 2, rest 0.1" in found.first.text and not found.agrees


def test_springs_of_a_file_of_mujoco_count_on_both_sides():
    mujoco = pytest.importorskip("mujoco")
    xml = """<mujoco><compiler angle="radian"/><worldbody><body>
      <joint name="hinge" axis="0 1 0" stiffness="3" springref="0.2" ref="0.1"/>
      <geom type="box" size=".1 .1 .3" pos="0 0 .3"/></body></worldbody></mujoco>"""
    assert da.compare(da.load(xml), mujoco.MjModel.from_xml_string(xml)).agrees


def test_meshes_of_a_file_of_mujoco_that_carry_mass_are_kept(tmp_path):
    """Of the three meshes one gives its body its mass, one is a picture whose file is missing, one has no mass."""
    pytest.importorskip("mujoco")
    path = tmp_path / "wedge.xml"
    path.write_text("""<mujoco><compiler angle="radian"/><asset>
      <mesh name="wedge" vertex="0 0 0  .25 0 0  0 .5 0  0 0 .75"/><mesh name="picture" file="missing.stl"/>
      <mesh name="sheet" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset><worldbody>
      <body name="swing"><joint name="hinge" axis="0 1 0"/><geom type="mesh" mesh="wedge" density="700"/>
        <body name="rider" pos="0 0 1"><joint name="turn" axis="1 0 0"/>
          <geom type="mesh" mesh="picture" contype="0" conaffinity="0"/>
          <inertial mass="2" pos="0 0 .1" diaginertia=".1 .2 .15"/>
          <geom type="mesh" mesh="sheet" mass="0"/></body></body></worldbody></mujoco>""")
    from dalembert.comparison.mujoco import read

    model = read(path, False)
    assert model.nmesh == 1 and model.body("swing").mass[0] == pytest.approx(700 * 0.25 * 0.5 * 0.75 / 6)
    found = da.compare(da.load(path), path, library="mujoco")
    assert found.agrees, str(found)


def test_a_file_of_mujoco_with_several_joints_on_a_body():
    """Anchors off the origin, a reference position, a ball joint, a welded toe, a slide behind a hinge."""
    mujoco = pytest.importorskip("mujoco")
    xml = """<mujoco><compiler angle="radian"/><worldbody>
      <body name="trunk" pos="0.1 0 1" euler="0.1 0.2 0.3"><freejoint name="root"/>
        <inertial pos="0 0.01 0" mass="3" fullinertia="0.02 0.03 0.04 0.001 0.002 0.003"/>
        <body name="leg" pos="0.1 0 0">
          <joint name="hip" type="hinge" axis="0 1 0" pos="0.02 0.01 0.03" ref="0.2" armature="0.01"/>
          <joint name="knee" type="slide" axis="1 0 0" pos="0 0 0.1" damping="0.3"/>
          <inertial pos="0 0 -0.2" mass="1" diaginertia="0.01 0.01 0.005"/>
          <body name="foot" pos="0 0 -0.4"><joint name="ankle" type="ball" pos="0.01 0 0"/>
            <inertial pos="0 0 -0.1" mass="0.4" diaginertia="0.001 0.001 0.001"/>
            <body name="toe" pos="0.1 0 0"><inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/></body>
          </body>
        </body>
      </body></worldbody></mujoco>"""
    hopper, model = da.load(xml), mujoco.MjModel.from_xml_string(xml)
    found = da.compare(hopper, model)
    assert [(item.topic, item.where) for item in found.differences] == [("armature", "hip"), ("damping", "knee")]
    assert da.compare(hopper, model, include=["armature", "damping"]).agrees


@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
def test_damping_and_rotors_of_drake():
    pytest.importorskip("pydrake")
    ours = with_joint(arm(), "elbow", armature=0.5, damping=0.7)
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    text = da.write_urdf(ours)
    rotor = '<drake:rotor_inertia value="0.005"/><drake:gear_ratio value="10"/>'
    drive = f'<transmission><type>SimpleTransmission</type><joint name="elbow"/><actuator name="m">{rotor}</actuator>'
    text = text.replace("</robot>", f"{drive}</transmission></robot>").replace(
        "<robot ", '<robot xmlns:drake="http://drake.mit.edu" ', 1
    )
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "urdf")
    plant.Finalize()
    found = da.compare(ours, plant)
    print(found)
    assert [item.topic for item in found.differences] == ["armature", "damping"]
    assert da.compare(ours, plant, include=["armature", "damping"]).agrees


def test_what_cannot_be_explained_is_admitted(monkeypatch):
    pytest.importorskip("pinocchio")
    from dalembert.comparison.pinocchio import PinocchioPeer

    plain = PinocchioPeer.inverse_dynamics
    monkeypatch.setattr(PinocchioPeer, "inverse_dynamics", lambda self, q, v, a: plain(self, q, v, a) + 1e-3)
    found = da.compare(arm(), to_pinocchio(arm()))
    assert found.first.topic == "unexplained" and not found.agrees


# ---------------------------------------------------------------------------------------------------- files, arguments


@pytest.mark.parametrize("library", ["dalembert", "pinocchio", "mujoco", "drake"])
def test_a_file_read_by_another_library(library, tmp_path):
    package = {"drake": "pydrake"}.get(library, library)
    pytest.importorskip(package)
    path = tmp_path / "arm.urdf"
    da.write_urdf(CHANGES["mass"][2](arm()), path)
    found = da.compare(da.load(path), path, library=library)
    assert found.agrees, str(found)
    assert da.compare(arm(), path, library=library).first.topic == "mass"


@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
def test_wrong_arguments_are_told(tmp_path):
    with pytest.raises(ArgumentError, match="takes a Mechanism"):
        da.compare("arm.urdf", arm())
    with pytest.raises(ArgumentError, match="cannot compare with a int"):
        da.compare(arm(), 3)
    with pytest.raises(ArgumentError, match="library: 'bullet'; choose one of"):
        da.compare(arm(), tmp_path / "arm.urdf", library="bullet")
    with pytest.raises(FormatError, match="no file"):
        da.compare(arm(), tmp_path / "arm.urdf", library="mujoco")
    with pytest.raises(ArgumentError, match="leave it out"):
        da.compare(arm(), arm(), library="mujoco")
    with pytest.raises(UnsupportedError, match=r"has parameters .* it needs numbers"):
        da.compare(da.load("double_pendulum", parameters=None), arm())
    with pytest.raises(ArgumentError, match=r"a list of names"):
        da.compare(arm(), arm(), include="armature")
    for wrong in ({"states": 0}, {"states": 2.5}, {"seed": -1}, {"tolerance": -1e-9}, {"tolerance": np.nan}):
        with pytest.raises(ArgumentError, match=f"compare, {next(iter(wrong))}: expected"):
            da.compare(arm(), arm(), **wrong)


def test_the_result_in_a_notebook_and_as_data():
    found = da.compare(arm(), CHANGES["mass"][2](arm()))
    assert "arm here and in the other mechanism" in found._repr_html_()
    data = found.to_dict()
    assert data["agrees"] is False and data["differences"][0]["topic"] == "mass"


@pytest.mark.parametrize("library", ["pinocchio", "mujoco", "drake"])
@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
def test_a_real_robot_that_floats(library):
    """The same file read by both sides; MuJoCo and Drake add damping and armature, which are asked for here."""
    from dalembert.formats.catalogue import example_robot_data

    pytest.importorskip({"drake": "pydrake"}.get(library, library))
    path = example_robot_data().get("solo12")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    terms = [] if library == "pinocchio" else ["armature", "damping"]
    found = da.compare(da.load(path, base="free"), path, library=library, include=terms, states=2)
    assert found.agrees and not found.differences, str(found)


def test_point_masses_do_not_differ_by_rounding():
    bodies = tuple(body.replace(inertia=Inertia.point(body.inertia.mass, body.inertia.center)) for body in arm().bodies)
    points = arm().replace(bodies=bodies)
    turned_twice = points.replace(
        joints=tuple(j.replace(placement=j.placement @ turned(0.1) @ turned(-0.1)) for j in points.joints)
    )
    assert not da.compare(points, turned_twice).differences


def test_a_tensor_that_no_body_has_is_pointed_at():
    lenient = arm().replace(strict=False)
    impossible = with_body(lenient, "lower", lambda i: i.replace(tensor=np.diag([0.01, 0.01, 0.1])))
    found = da.compare(impossible, arm())
    assert found.first.topic == "inertia tensor" and "No real body" in found.first.remedy


FLOATING = """<robot name="drone"><link name="world"/><link name="body"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="f" type="floating"><parent link="world"/><child link="body"/></joint></robot>"""


def test_a_file_with_a_floating_joint_of_its_own_agrees_with_itself(tmp_path):
    path = tmp_path / "drone.urdf"
    path.write_text(FLOATING)
    assert da.compare(da.load(str(path)), str(path)).agrees


def test_a_changed_diagonal_is_not_explained_by_products_of_inertia(tmp_path):
    old, new = tmp_path / "old.urdf", tmp_path / "new.urdf"
    old.write_text(FLOATING)
    new.write_text(FLOATING.replace('iyy="0.01"', 'iyy="0.012"'))
    text = str(da.compare(da.load(str(old)), str(new)))
    assert "inertia tensor" in text
    assert "opposite signs" not in text


ARM = """<robot name="arm"><link name="world"/><link name="link"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="revolute"><parent link="world"/><child link="link"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="9" velocity="9"/><dynamics damping="0.3"/></joint></robot>"""


@pytest.mark.parametrize("include", [(), ("damping",)])
def test_two_descriptions_differ_in_data_that_enter_no_forces(tmp_path, include):
    """What somebody changed is told, whether or not forces depend on it."""
    old, new = tmp_path / "old.urdf", tmp_path / "new.urdf"
    old.write_text(ARM)
    new.write_text(ARM.replace('damping="0.3"', 'damping="0.4"').replace('upper="1"', 'upper="2"'))
    found = da.compare(da.load(str(old)), str(new), include=include)
    assert [d.topic for d in found.differences] == ["damping", "limits"]
    assert "is 0.3 here and 0.4 N m s/rad" in found.differences[0].text
    assert da.compare(da.load(str(old)), str(old), include=include).agrees


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("amount", [0.3, -1.1])
def test_another_zero_of_any_joint_is_told_as_such(seed, amount):
    mechanism = random_mechanism(seed, 5, kinds=("revolute", "prismatic"))
    for joint in mechanism.joints:
        if joint.nv != 1:
            continue
        axis = np.asarray(joint.axis, dtype=float)
        turn, push = (amount, 0.0) if joint.kind == "revolute" else (0.0, amount)
        shifted = joint.placement @ da.Transform(rotation_about(axis, turn), push * axis)
        found = da.compare(mechanism, with_joint(mechanism, joint.name, placement=shifted), states=1).first
        assert (found.topic, found.where) == ("zero position", joint.name), found
        assert f"is position {amount:g}" in found.text


@pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="needs MuJoCo")
def test_shapes_are_suspected_only_where_a_body_has_no_mass_here():
    heavier = with_body(arm(), "lower", lambda i: i.replace(mass=2.5))
    assert not da.compare(arm(), to_mujoco(heavier)).first.remedy
    massless = with_body(arm(), "tool", lambda i: Inertia(0.0))
    assert "inertiafromgeom" in da.compare(massless, to_mujoco(arm())).first.remedy


def balanced(height: float) -> Mechanism:
    """Two wheels with centres of mass on their axes and an arm about the vertical: no weight needs a force."""
    tilt = da.Transform.from_rpy_xyz([0.7, 0.3, -0.2], [0.4, -0.3, height])
    wheel = Inertia(9.0, [0, 0, 0.2], [[0.02, 0, 0], [0, 0.02, 0], [0, 0, 0.04]])
    bodies = tuple(Body(name, wheel) for name in ("first", "second", "arm"))
    joints = (
        Joint("first", "revolute", "world", "first", tilt, axis=[0, 0, 1]),
        Joint("second", "revolute", "world", "second", tilt.inverse(), axis=[0, 0, 1]),
        Joint("upright", "revolute", "world", "arm", tilt, axis=tilt.rotation[2]),
    )
    return Mechanism("balanced", bodies, joints)


@pytest.mark.parametrize("height", [0.0, 1.0, 100.0])
def test_forces_that_cancel_do_not_differ_by_rounding(build, height):
    found = da.compare(balanced(height), build(balanced(height)))
    assert found.agrees, str(found)
    moved = with_body(balanced(height), "second", lambda i: i.replace(center=[1e-5, 0, 0.2]))
    differs = da.compare(balanced(height), build(moved))
    assert not differs.agrees and differs.first.where == "second"


@pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="needs MuJoCo")
@pytest.mark.parametrize("term", ["stiffness", "damping", "armature"])
def test_tendons_that_act_are_named(term):
    import mujoco

    text = """<mujoco><worldbody><body name="a"><joint name="a" axis="1 0 0"/><geom size="0.1" pos="0 0 1" mass="1"/>
    </body></worldbody><tendon><fixed name="wire" {}><joint joint="a" coef="2"/></fixed></tendon></mujoco>"""
    slack = da.load(text.format(""))
    assert da.compare(slack, mujoco.MjModel.from_xml_string(text.format(""))).agrees
    found = da.compare(slack, mujoco.MjModel.from_xml_string(text.format(f'{term}="3"')))
    assert found.first.topic == "other forces" and f"tendon of {term} 3 (tendon 'wire')" in found.first.text


# ------------------------------------------------------------------------------------ what two descriptions say besides


def test_a_loop_that_is_gone_is_a_difference_from_either_side():
    closed = da.load("four_bar", parameters="default")
    opened = closed.replace(constraints=())
    assert da.compare(closed, da.load("four_bar", parameters="default")).agrees
    for here, there, side in ((closed, opened, "here"), (opened, closed, "in the other mechanism")):
        found = da.compare(here, there)
        assert not found.agrees and found.first.topic == "constraints" and f"is {side} only" in found.first.text


def test_changed_constraints_and_force_elements_are_told_by_field():
    sprung = da.load("four_bar", parameters="default").replace(
        forces=(da.Force("spring", "spring", "world", "coupler", stiffness=100.0, rest=0.3),)
    )
    softer = sprung.replace(forces=(sprung.forces[0].replace(stiffness=90.0),))
    pin = sprung.constraints[0]
    moved = pin.replace(placement_a=da.Transform(np.eye(3), [0.8, 0, 0]))
    found = da.compare(sprung, softer)
    assert not found and "stiffness (100.0 here, 90.0 in the other mechanism)" in found.first.text
    found = da.compare(sprung, softer.replace(constraints=(moved, *sprung.constraints[1:])))
    assert [item.topic for item in found.differences] == ["constraints", "force elements"]
    # That they take no part is said of the random states only.
    told = [remark for remark in found.remarks if "take no part" in remark]
    assert len(told) == 2 and all(remark.startswith("at random states") for remark in told)
    assert "placement_a" in found.first.text


def test_a_joint_that_differs_in_several_limits_is_named_once_more():
    limits = da.Limits(lower=-1.0, upper=1.0, velocity=2.0, effort=3.0)
    bounded = arm().replace(joints=(arm().joints[0].replace(limits=limits), *arm().joints[1:]))
    assert str(da.compare(arm(), bounded)).count(arm().joints[0].name) == 2  # in the sentence, and once behind it


def test_weaker_drives_are_told():
    arm = da.load("demo_arm")
    weak = [j.replace(limits=j.limits.replace(effort=1.0)) if j.name == "lift" else j for j in arm.joints]
    found = da.compare(arm, arm.replace(joints=tuple(weak)))
    assert found.agrees and [(item.topic, item.where) for item in found.differences] == [("limits", "lift")]


def test_moved_tools_and_heavier_bases_are_told_though_no_force_depends_on_them():
    arm = da.load("demo_arm")
    tool = da.Frame("tool", "flange", da.Transform(np.eye(3), [0, 0, 0.1]))
    heavy = [b.replace(inertia=da.Inertia.sphere(99.0, 0.1)) if b.name == "base" else b for b in arm.bodies]
    here = arm.replace(frames=(tool,))
    there = arm.replace(frames=(tool.replace(placement=da.Transform(np.eye(3), [0, 0, 0.15])),), bodies=tuple(heavy))
    found = da.compare(here, there)
    assert found.agrees and [item.topic for item in found.differences] == ["mass", "frames"]
    assert "stands 0.05 m away" in found.differences[1].text and "99 kg" in found.differences[0].text


@pytest.mark.parametrize("library", ["dalembert", "pinocchio"])
@pytest.mark.parametrize("multiplier", [-1.0, 0.7])
def test_another_coupling_of_a_joint_that_follows_is_told_in_its_numbers(library, multiplier, tmp_path):
    """Also where the other library couples the joints itself; what hangs on the follower is compared as well."""
    pytest.importorskip(library)
    here = follower(multiplier, 0.1)

    def compared(there: Mechanism) -> da.Comparison:
        if library == "dalembert":
            return da.compare(here, there)
        import pinocchio

        da.write_urdf(there, tmp_path / "there.urdf")
        return da.compare(here, pinocchio.buildModelFromUrdf(str(tmp_path / "there.urdf"), mimic=True))

    assert compared(here).agrees and not compared(here).differences
    faster = compared(follower(-2.5, 0.1)).first
    assert faster.topic == "mimic" and faster.where == "slide"
    assert f"{multiplier:g} times" in faster.text and "-2.5 times" in faster.text
    ahead = compared(follower(multiplier, 0.3)).first
    assert ahead.topic == "mimic" and "0.1 m here and at 0.3 m" in ahead.text
    heavier = with_body(here, "slider", lambda inertia: Inertia(1.5, inertia.center, inertia.tensor))
    assert compared(heavier).first.topic == "mass" and compared(heavier).first.where == "slider"


def follower(multiplier: float, offset: float) -> Mechanism:
    """The arm whose slide is coupled to its elbow."""
    return with_joint(arm(), "slide", mimic=Mimic("elbow", multiplier, offset))


def test_exact_constants_are_numbers():
    """Of SymPy, as pi/6 in a table of a book: the same mechanism in floats is no other, from either side."""
    sympy = pytest.importorskip("sympy")
    rows = [{"alpha": sympy.pi / 6, "d": sympy.Rational(1, 3), "mass": 2}, {"a": sympy.sqrt(2), "mass": 1}]
    exact = da.from_dh(rows, "standard", strict=False)
    floats = da.substitute(exact, {})
    for pair in ((exact, floats), (floats, exact)):
        assert da.compare(*pair).agrees and not da.compare(*pair).differences


# -------------------------------------------------------------------------------------------------------------- frames


AHEAD = da.Transform.from_translation([0.1, 0, 0])


def probed(body: str = "lower", at: da.Transform = AHEAD) -> Mechanism:
    return arm().replace(frames=(Frame("probe", body, at),))


@pytest.mark.parametrize(
    ("body", "at", "words"),
    [
        ("lower", AHEAD, None),
        ("lower", da.Transform.from_translation([0.1, 0.03, 0.04]), "stands 0.05 m away in"),
        ("lower", AHEAD @ turned(0.5), "is turned by 28.6 degrees in"),
        ("upper", da.Transform.from_translation([0.2, 0.2, 0.3]), "moves with another body"),
    ],
)
def test_frames_that_both_name_are_compared(build, body, at, words):
    found = da.compare(probed(), build(probed(body, at)), states=2)
    assert found.agrees
    assert [(item.topic, item.where) for item in found.differences] == ([("frames", "probe")] if words else [])
    if words:
        assert words in found.first.text and "joint 'elbow'" in found.first.text


def test_another_frame_of_a_body_changes_no_force(build):
    """The same matter and the same axes, written in a frame of the body that is turned and moved."""
    shift = da.Transform.from_translation([0.1, -0.2, 0.05]) @ turned(0.4)
    back, R = shift.inverse(), np.asarray(shift.rotation)
    moved = with_body(
        arm(), "slider", lambda i: Inertia(i.mass, R.T @ (i.center - shift.translation), R.T @ i.tensor @ R)
    )
    slide = arm().joint("slide")
    moved = with_joint(moved, "slide", placement=slide.placement @ shift, axis=R.T @ slide.axis)
    moved = with_joint(moved, "flange", placement=back @ arm().joint("flange").placement)
    found = da.compare(arm(), build(moved))
    assert found.agrees and [item.where for item in found.differences] == ["slider"]
    assert "the frame of body 'slider'" in found.first.text


def test_frames_behind_a_displaced_joint_are_compared_in_the_body_that_carries_them(build):
    """The cause is told once; what stands as before on its body is no difference."""
    place = da.Transform(np.eye(3), np.array([0.1, 0.2, 0.31]))
    there = with_joint(arm(), "elbow", placement=place)
    assert [item.topic for item in da.compare(arm(), build(there)).differences] == ["placement"]
    flange = arm().joint("flange")
    there = with_joint(there, "flange", placement=flange.placement @ turned(0.2))
    topics = [(item.topic, item.where) for item in da.compare(arm(), build(there)).differences]
    assert ("placement", "elbow") in topics and ("frames", "tool") in topics and ("frames", "lower") not in topics


def test_a_moved_frame_explains_no_force(monkeypatch):
    pytest.importorskip("pinocchio")
    from dalembert.comparison.pinocchio import PinocchioPeer

    plain = PinocchioPeer.inverse_dynamics
    monkeypatch.setattr(PinocchioPeer, "inverse_dynamics", lambda self, q, v, a: plain(self, q, v, a) + 1e-3)
    found = da.compare(probed(), to_pinocchio(probed(at=turned(0.5))))
    assert [item.topic for item in found.differences] == ["frames", "unexplained"]


def test_frames_that_one_side_does_not_name_are_listed(build):
    found = da.compare(probed(), build(arm()))
    assert found.agrees and not found.differences
    assert [remark for remark in found.remarks if "'probe'" in remark] and "not compared" in str(found)
