"""SDF: the same robot by URDF and by SDF, and Drake's parser where it is installed."""

from __future__ import annotations

import contextlib
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import DalembertError, FormatError, ModelWarning
from dalembert.formats import load, read_sdf, read_urdf

BALL = (
    "<inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz><ixy>0.001</ixy><ixz>0.002</ixz><iyz>-0.003</iyz></inertia>"
)


def link(name: str, at: str = "", mass: float = 1.5, more: str = "") -> str:
    return (
        f'<link name="{name}">{at}<inertial><mass>{mass}</mass><pose>0.1 0.02 0 0.1 0 0.3</pose>{BALL}</inertial>'
        f"{more}</link>"
    )


def joint(name: str, kind: str, parent: str, child: str, more: str = "<axis><xyz>0 0 1</xyz></axis>") -> str:
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{more}</joint>'


def model(*parts: str, version: str = "1.9", head: str = "") -> str:
    inside = "\n".join(parts)
    return f'<?xml version="1.0"?>\n<sdf version="{version}"><model name="robot">{head}\n{inside}\n</model></sdf>'


GRIPPER = f"""
<link name="palm"><pose>0 0 0.05 0 0 0.2</pose>
  <inertial><mass>0.4</mass><pose>0 0.01 0.02 0.1 0 0</pose>{BALL}</inertial></link>
<link name="finger"><pose relative_to="slide">0.01 0 0 0 0.1 0</pose><inertial><mass>0.1</mass>{BALL}</inertial></link>
<joint name="slide" type="prismatic"><pose relative_to="palm">0 0.03 0.05 0 0 0</pose>
  <parent>palm</parent><child>finger</child>
  <axis><xyz expressed_in="__model__">0 1 0</xyz><limit><lower>0</lower><upper>0.04</upper></limit></axis></joint>
"""

ARM = model(
    '<frame name="mount" attached_to="base"><pose>0 0 0.1 0.3 0 0</pose></frame>',
    link("base", mass=2),
    link("upper", '<pose relative_to="mount">0 0 0.2 0 0.5 0</pose>'),
    link("lower", '<pose relative_to="upper" degrees="true">0.5 0.1 0 0 0 40</pose>'),
    joint("ground", "fixed", "world", "base", ""),
    joint("shoulder", "revolute", "base", "upper", '<axis><xyz expressed_in="mount">0 1 0.2</xyz></axis>'),
    joint("elbow", "revolute", "upper", "lower", "<pose>-0.1 0 0 0.2 0 0</pose><axis><xyz>0 0 1</xyz></axis>"),
    f'<model name="hand"><pose relative_to="lower">0.4 0 0 0 1.2 0</pose>{GRIPPER}</model>',
    joint(
        "wrist", "universal", "lower", "hand::palm",
        '<pose relative_to="lower">0.4 0 0 0 0 0</pose><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>',
    ),
    head="<pose>0.1 0.2 0.3 0 0 0.4</pose>",
)  # fmt: skip
"""Frames, joints away from their links, axes in other frames, a nested model."""


@pytest.mark.parametrize("text", ["ARM", "FLOATING", "OLD"])
def test_drake_reads_the_same(text):
    multibody = pytest.importorskip("pydrake.multibody.plant")
    from pydrake.multibody.parsing import Parser

    source = {"ARM": ARM, "FLOATING": FLOATING, "OLD": OLD}[text]
    mechanism = read_sdf(source)
    plant = multibody.MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(source, "sdf")
    plant.Finalize()
    context, dynamics = plant.CreateDefaultContext(), da.Dynamics(mechanism)
    theirs = {j.name(): j for j in map(plant.get_joint, plant.GetJointIndices()) if j.num_velocities()}
    q = mechanism.random_state(np.random.default_rng(0))[0]
    places: list[int] = []
    for ours in mechanism.joints:
        if ours.kind == "free":
            q[mechanism.q_slice(ours.name)] = [0, 0, 0, 0, 0, 0, 1]
        elif ours.nv:
            other = theirs[ours.name.rpartition("::")[2]]
            positions = plant.GetPositions(context)
            positions[other.position_start() : other.position_start() + ours.nq] = q[mechanism.q_slice(ours.name)]
            plant.SetPositions(context, positions)
            places += range(other.velocity_start(), other.velocity_start() + ours.nv)
    own = [k for joint in mechanism.joints if joint.nv and joint.kind != "free"
           for k in range(*mechanism.v_slice(joint.name).indices(mechanism.nv))]  # fmt: skip
    M = plant.CalcMassMatrix(context)[np.ix_(places, places)]
    np.testing.assert_allclose(dynamics.mass_matrix(q)[np.ix_(own, own)], M, rtol=1e-10, atol=1e-12)
    gravity = -plant.CalcGravityGeneralizedForces(context)[places]
    np.testing.assert_allclose(dynamics.gravity(q)[own], gravity, rtol=1e-10, atol=1e-10)
    for body in mechanism.bodies:
        name = body.name.rpartition("::")[2]
        if plant.HasBodyNamed(name):
            pose = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName(name))
            R, p = dynamics.pose(q, frame=body.name)
            np.testing.assert_allclose(p, pose.translation(), atol=1e-12)
            np.testing.assert_allclose(R, pose.rotation().matrix(), atol=1e-12)


FLOATING = model(
    link("trunk", "<pose>0 0 1 0 0 0.3</pose>", 5),
    link("leg", '<pose relative_to="trunk">0.2 0 -0.3 0 0 0</pose>'),
    link("foot", '<pose relative_to="leg">0 0 -0.4 0 0.2 0</pose>'),
    joint("hip", "revolute", "trunk", "leg", '<axis><xyz expressed_in="__model__">0 1 0</xyz></axis>'),
    joint("toe", "continuous", "leg", "foot", "<axis><xyz>0 2 0</xyz></axis>"),
)

OLD = model(
    link("base"),
    link("tip", "<pose>0.3 0.1 0.2 0 0 0.5</pose>"),
    joint("fix", "fixed", "world", "base", ""),
    joint(
        "turn", "revolute", "base", "tip",
        "<axis><xyz>0 1 0</xyz><use_parent_model_frame>1</use_parent_model_frame></axis>",
    ),
    version="1.6",
)  # fmt: skip


def test_a_robot_by_sdf_is_that_by_urdf():
    """The same chain with joint frames in their links, where URDF has them too."""
    inertial = (
        '<inertial><origin xyz="0.1 0.02 0" rpy="0.1 0 0.3"/><mass value="1.5"/><inertia ixx="0.02" iyy="0.03" '
        'izz="0.04" ixy="0.001" ixz="0.002" iyz="-0.003"/></inertial>'
    )
    links = "".join(f'<link name="{name}">{inertial}</link>' for name in ("base", "a", "b", "c"))
    urdf = f"""<robot name="robot">{links}
    <joint name="j1" type="revolute"><parent link="base"/><child link="a"/><origin xyz="0 0 0.1" rpy="0 0.4 0"/>
      <axis xyz="0 0 1"/><limit lower="-1" upper="2" effort="5" velocity="3"/><dynamics damping="0.1"/></joint>
    <joint name="j2" type="prismatic"><parent link="a"/><child link="b"/>
      <origin xyz="0.2 0 0" rpy="1.5707963267949 0 0"/>
      <axis xyz="1 0 0"/><limit lower="0" upper="1" effort="5" velocity="3"/></joint>
    <joint name="j3" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0 0.3 0" rpy="0 0 1"/>
      <axis xyz="0 1 0"/></joint></robot>"""
    limit = "<limit><lower>{}</lower><upper>{}</upper><effort>5</effort><velocity>3</velocity></limit>"
    first = f"<axis><xyz>0 0 1</xyz>{limit.format(-1, 2)}<dynamics><damping>0.1</damping></dynamics></axis>"
    sdf = model(
        link("base"),
        link("a", '<pose relative_to="base">0 0 0.1 0 0.4 0</pose>'),
        link("b", '<pose relative_to="a">0.2 0 0 1.5707963267949 0 0</pose>'),
        link("c", '<pose relative_to="b">0 0.3 0 0 0 1</pose>'),
        joint("root_joint", "fixed", "world", "base", ""),
        joint("j1", "revolute", "base", "a", first),
        joint("j2", "prismatic", "a", "b", f"<axis><xyz>1 0 0</xyz>{limit.format(0, 1)}</axis>"),
        joint("j3", "continuous", "b", "c", "<axis><xyz>0 1 0</xyz></axis>"),
    )
    one, other = read_urdf(urdf), read_sdf(sdf)
    assert [b.name for b in one.bodies] == [b.name for b in other.bodies]
    assert [(j.name, j.kind) for j in one.joints] == [(j.name, j.kind) for j in other.joints]
    assert [j.limits for j in one.joints] == [j.limits for j in other.joints]
    assert one.mass == other.mass
    state = one.random_state(np.random.default_rng(1))
    np.testing.assert_allclose(
        da.Dynamics(one).inverse_dynamics(*state), da.Dynamics(other).inverse_dynamics(*state), rtol=1e-12, atol=1e-12
    )


def test_a_loop_becomes_a_constraint():
    """A four-bar in the plane: its motion is that of the same one with the loop by hand."""
    bars = (
        link("crank", "<pose>0 0 0 0 0 0</pose>"),
        link("coupler", "<pose>0.4 0 0 0 0 0.5</pose>"),
        link("rocker", "<pose>1.0 0 0 0 0 1.9</pose>"),
    )
    pins = (
        joint("drive", "revolute", "world", "crank"),
        joint("knee", "revolute", "crank", "coupler"),
        joint("pivot", "revolute", "world", "rocker"),
        joint("pin", "revolute", "coupler", "rocker", "<pose>0.3 0 0 0 0 0</pose><axis><xyz>0 0 1</xyz></axis>"),
    )
    bar = read_sdf(model(*bars, *pins))
    assert bar.nv == 3
    (pin,) = bar.constraints
    assert (pin.kind, pin.a, pin.b) == ("revolute", "coupler", "rocker")
    assert any(re.match(r"line \d+: joint 'pin' closes a loop", note) for note in bar.notes)
    dynamics = da.Dynamics(bar)
    assert abs(np.concatenate(list(dynamics.residual(np.zeros(3)).values()))).max() < 1e-12
    assert dynamics.analyse(dynamics.assemble()).degrees_of_freedom == 1


def test_joints_against_the_tree_keep_their_coordinates():
    """The parent hangs on the child, which holds the ground: positive is as in the file."""
    way = (link("low", "<pose>0 0 0.1 0 0 0</pose>"), link("high", "<pose>0 0 0.6 0.3 0 0</pose>"))
    turned = joint("hinge", "revolute", "high", "low", "<axis><xyz>0 1 0.3</xyz></axis>")
    along = joint("hinge", "revolute", "low", "high", '<pose relative_to="low"/><axis><xyz>0 1 0.3</xyz></axis>')
    ground = joint("ground", "fixed", "world", "low", "")
    one, other = (read_sdf(model(*way, ground, hinge)) for hinge in (turned, along))
    q = np.array([0.7])
    R1, p1 = da.Dynamics(one).pose(q, frame="high")
    R2, p2 = da.Dynamics(other).pose(-q, frame="high")
    np.testing.assert_allclose(R1, R2, atol=1e-12)
    np.testing.assert_allclose(p1, p2, atol=1e-12)


def test_what_floats_and_what_is_static():
    bodies = (link("one", "<pose>1 2 3 0 0 0</pose>"), link("two"))
    loose = read_sdf(model(*bodies))
    assert [j.kind for j in loose.joints] == ["free", "free"]
    _, p = da.Dynamics(loose).pose(loose.neutral, frame="one")
    np.testing.assert_allclose(p, [1, 2, 3])
    assert read_sdf(model(*bodies), base="fixed").nv == 0
    assert read_sdf(model(*bodies, head="<static>true</static>")).nv == 0


def test_springs_mimics_and_screws():
    spring = "<axis><xyz>0 0 1</xyz><dynamics><spring_stiffness>7</spring_stiffness>"
    spring += "<spring_reference>0.2</spring_reference><friction>0.4</friction></dynamics></axis>"
    mimic = '<axis><xyz>0 0 1</xyz><mimic joint="j1"><multiplier>2</multiplier><offset>1</offset>'
    mimic += "<reference>0.5</reference></mimic></axis>"
    screw = "<axis><xyz>0 0 1</xyz></axis><screw_thread_pitch>0.02</screw_thread_pitch>"
    made = read_sdf(
        model(
            *(link(name) for name in "abc"),
            joint("j1", "revolute", "world", "a", spring),
            joint("j2", "revolute", "a", "b", mimic),
            joint("j3", "screw", "b", "c", screw),
        )
    )
    (force,) = made.forces
    assert (force.kind, force.a, force.stiffness, force.rest) == ("joint-spring", "j1", 7, 0.2)
    assert made.joint("j1").friction == 0.4
    assert (made.joint("j2").mimic.multiplier, made.joint("j2").mimic.offset) == (2, 0)
    assert made.joint("j3").pitch == pytest.approx(0.02 / (2 * np.pi))


def test_models_of_a_world_and_included_ones(tmp_path):
    (tmp_path / "gripper").mkdir()
    text = f'<sdf version="1.9"><model name="gripper">{GRIPPER}</model></sdf>'
    (tmp_path / "gripper" / "model.sdf").write_text(text)
    world = f"""<sdf version="1.9"><world name="place"><gravity>0 0 -1.62</gravity>
      <include><uri>model://gripper</uri><name>left</name><pose>0 1 0 0 0 0</pose></include>
      <model name="right"><pose>0 -1 0 0 0 0</pose>{GRIPPER}</model>
      <joint name="tie" type="fixed"><parent>left::palm</parent><child>right</child></joint>
      <light name="sun" type="point"/></world></sdf>"""
    path = tmp_path / "place.sdf"
    path.write_text(world)
    made = load(path)
    assert made.name == "place"
    assert [b.name for b in made.bodies if "::" in b.name][:1] == ["left::palm"]
    assert {"left::finger", "right::palm"} <= {b.name for b in made.bodies}
    assert made.gravity.tolist() == [0, 0, -1.62]
    dynamics = da.Dynamics(made)
    one, other = (dynamics.pose(made.neutral, frame=f"{side}::finger")[1] for side in ("left", "right"))
    np.testing.assert_allclose(one - other, [0, 2, 0], atol=1e-12)
    with pytest.raises(FormatError, match="has no folder"):
        read_sdf(world)


def test_what_is_left_out_is_noted_with_its_line():
    shape = '<visual name="v"><geometry><box><size>1 2 3</size></box></geometry></visual>'
    touch = '<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry>'
    touch += "<surface><friction><ode><mu>0.7</mu></ode></friction></surface></collision>"
    odd = '<collision name="p"><geometry><plane><normal>0 0 1</normal></plane></geometry></collision>'
    made = read_sdf(model(link("a", more=f"{shape}{touch}\n{odd}\n<battery/>")))
    (body,) = made.bodies
    assert (body.shapes[0].kind, body.shapes[0].size) == ("box", (1, 2, 3))
    assert (body.collisions[0].name, body.collisions[0].surface.friction) == ("c", 0.7)
    assert "line 4: <collision> of <plane> was not read" in made.notes
    assert "line 5: <battery> of link 'a' was not read" in made.notes


def test_defaults_are_those_of_the_format():
    with pytest.warns(ModelWarning, match=r"1 kg and 1 kg m\^2.*'a' \(line 3\)"):
        made = read_sdf(model('<link name="a"/>'))
    assert made.mass == 1
    np.testing.assert_array_equal(made.bodies[0].inertia.tensor, np.eye(3))
    world = '<sdf version="1.9"><world name="w"><model name="m">' + link("a") + "</model></world></sdf>"
    assert read_sdf(world).gravity.tolist() == [0, 0, -9.8]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (model(link("a"), link("a")), "'a' of a <link> is used already"),
        (model(link("world")), "no name that SDF allows"),
        (model(link("a"), joint("j", "revolute", "world", "b")), "no link 'b'"),
        (model(link("a"), joint("j", "gearbox", "world", "a")), "'gearbox' is not read"),
        (model(link("a"), joint("j", "revolute", "a", "a")), "to itself"),
        (model(link("a", '<pose relative_to="b"/>')), "no link, joint, frame or model 'b'"),
        (model(link("a", '<pose relative_to="f"/>'), '<frame name="f" attached_to="a"/>'), "depend on each other"),
        (model(link("a", "<pose>1 2 3</pose>")), "holds 3 values, not 6"),
        (model(link("a", "<pose>1 2 3 0 0 x</pose>")), "'x' is not a finite number"),
        (model(link("a"), joint("j", "revolute", "world", "a", "<axis><xyz>0 0 0</xyz></axis>")), "length zero"),
        (model(link("a"), version="1.2"), "version '1.2'"),
        ("<sdf version='1.9'/>", "one <world>, or models"),
        (model(""), "no <link>"),
        (model(link("a"), joint("j", "screw", "world", "a")), "screw_thread_pitch"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text, said):
    with pytest.raises(FormatError, match=re.escape(said)) as caught:
        read_sdf(text)
    assert caught.value.line


def test_files_that_include_themselves_end(tmp_path):
    path = tmp_path / "a.sdf"
    path.write_text('<sdf version="1.9"><model name="m"><include><uri>a.sdf</uri></include></model></sdf>')
    with pytest.raises(FormatError, match="include itself"):
        load(path)


def test_damaged_files_give_errors_of_our_own():
    rng = np.random.default_rng(0)
    words = re.findall(r"<[^>]*>|[^<\s]+", ARM)
    for _ in range(150):
        broken = list(words)
        for _ in range(int(rng.integers(1, 4))):
            k = int(rng.integers(len(broken)))
            broken[k] = str(rng.choice(["", "nan", "1e400", "<pose/>", broken[int(rng.integers(len(broken)))]]))
        with contextlib.suppress(DalembertError), warnings.catch_warnings(action="ignore"):
            read_sdf(" ".join(broken))


# ------------------------------------------------------------------------------------------------------ xacro and SRDF


def test_xacro_is_expanded(tmp_path):
    pytest.importorskip("xacro")
    path = tmp_path / "arm.urdf.xacro"
    path.write_text(
        """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
        <xacro:arg name="length" default="0.5"/>
        <xacro:macro name="bar" params="name">
          <link name="${name}"><inertial><mass value="${2 * $(arg length)}"/>
          <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        </xacro:macro>
        <xacro:bar name="one"/><xacro:bar name="two"/>
        <joint name="j" type="continuous"><parent link="one"/><child link="two"/></joint></robot>"""
    )
    assert load(path).mass == 2
    assert load(path, arguments={"length": 3}, base="free").mass == 12
    path.write_text(path.read_text().replace("2 * $(arg length)", "nothing"))
    with pytest.raises(FormatError, match="xacro cannot expand"):
        load(path)


def test_disabled_pairs_of_srdf():
    text = """<robot name="robot"><group name="arm"/>
    <disable_collisions link1="a" link2="b" reason="Adjacent"/>
    <disable_collisions link1="b" link2="a"/>
    <disable_collisions link1="a" link2="c" reason="Never"/></robot>"""
    assert da.formats.read_srdf(text) == (("a", "b"), ("a", "c"))
    ball = da.Shape.sphere(0.1)
    bodies = [da.Body(name, da.Inertia(1.0, [0, 0, 0], np.eye(3)), collisions=[ball]) for name in "abc"]
    joints = [da.Joint(f"j{name}", "free", "world", name) for name in "abc"]
    robot = da.Mechanism("robot", bodies, joints)
    apart = da.formats.read_srdf(text, robot)
    chosen = da.contacts(robot, 0.5, ground=None, pairs="all", without=apart)
    assert [(contact.a, contact.b) for contact in chosen.mechanism.contacts] == [("b", "c")]
    with pytest.raises(FormatError, match="no link 'd'"):
        da.formats.read_srdf(text.replace('"c"', '"d"'), robot)


def test_paths_are_read_by_their_suffix(tmp_path):
    path = Path(tmp_path / "arm.sdf")
    path.write_text(ARM)
    assert load(path).bodies == load(ARM).bodies == read_sdf(ARM).bodies
