"""MJCF compiled here against MuJoCo's own compiler: every field that is read, name for name and number for number."""

import numpy as np
import pytest

from dalembert.errors import FormatError
from dalembert.formats import read_mjcf
from dalembert.formats.mjcf_compile import compile_mjcf
from dalembert.formats.mjcf_numbers import mjtObj
from dalembert.formats.mjcf_source import Beyond, with_includes
from dalembert.formats.xml import read_xml

mujoco = pytest.importorskip("mujoco")

TURNS = """<mujoco><compiler angle="{angle}" eulerseq="{sequence}"/><worldbody>
  <body pos="1 2 3" euler="10 20 -30"><joint name="a" range="-10 20" ref="3" springref="4" stiffness="2"/>
    <geom type="box" size=".1 .2 .3" axisangle="1 2 3 40"/>
    <body axisangle="0 1 1 15"><joint type="ball" range="0 30" limited="true" damping="2 .1"/>
      <geom type="cylinder" size=".1 .2" xyaxes="1 1 0 0 1 1"/><site name="s" zaxis="0 0 -1"/>
      <body zaxis="1 2 -3"><joint type="slide" axis="1 1 1" range="-1 2" margin=".1"/>
        <geom type="capsule" size=".05" fromto="0 0 .3 .1 .2 -.3"/>
        <geom type="box" size=".05" fromto="0 0 0 0 0 -.3"/>
        <site name="t" fromto="0 0 0 1 2 3" type="capsule" size=".1"/>
      </body></body></body></worldbody></mujoco>"""

CLASSES = """<mujoco><compiler autolimits="true" inertiagrouprange="0 1"/>
  <default><joint damping="1" armature=".2"/><geom friction=".8 .02" density="500"/>
    <default class="arm"><joint range="-60 60" axis="0 1 0"/><geom type="capsule" size=".1 .2"/>
      <default class="hand"><geom type="sphere" friction=".3" size=".05"/><joint axis="1 0 0" damping="3"/></default>
    </default>
    <default class="seen"><geom group="2" contype="0" conaffinity="0"/></default></default>
  <worldbody><geom type="plane" size="1 1 .1"/>
    <body name="u" childclass="arm"><joint name="j1"/><geom/><geom class="seen" size=".3"/>
      <body name="l" pos="0 0 .4"><joint name="j2" class="hand"/><geom fromto="0 0 0 .1 0 .4"/>
        <frame pos="0 0 .5" euler="0 90 0" childclass="hand">
          <geom mass=".3"/>
          <body name="h" pos=".1 0 0"><joint name="j3" limited="false"/><geom/><geom class="main" size=".1"/>
          </body></frame>
      </body></body>
    <body name="m" mocap="true" pos="3 0 0"><geom size=".1"/><body name="n"><geom size=".1"/></body></body>
  </worldbody>
  <contact><exclude body1="h" body2="u"/></contact>
  <actuator><motor joint="j1"/><position joint="j2" kp="3"/><general joint="j3" biastype="affine"/></actuator>
  <sensor><jointpos joint="j1"/></sensor><keyframe><key qpos="1 0 0"/></keyframe></mujoco>"""

MASSES = """<mujoco><compiler {words}/><worldbody>
  <body><freejoint/><geom type="ellipsoid" size=".1 .2 .3"/><geom type="box" size=".1 .1 .1" pos="1 0 0" mass="3"/>
    <body><joint/><inertial pos=".1 .2 .3" mass="2" fullinertia=".3 .4 .5 .01 .02 .03"/><geom size=".2"/>
      <body pos="0 0 1"><inertial pos="0 0 0" euler="10 20 30" mass="1e-4" diaginertia="{moments}"/></body></body>
  </body></worldbody></mujoco>"""

CORNERS = [(x, y, z) for z in (0, 1) for x, y in ((0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2))]
CAPS = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
SIDES = [(k, (k + 1) % 6, (k + 1) % 6 + 6) for k in range(6)] + [(k, (k + 1) % 6 + 6, k + 6) for k in range(6)]
FACES = [(a, c, b) for a, b, c in CAPS] + [(a + 6, b + 6, c + 6) for a, b, c in CAPS] + SIDES
MESH = """<mujoco><asset><mesh name="l" vertex="{vertex}" {face} inertia="{mode}" scale="1 2 -.5" refpos=".1 .2 .3"
  refquat="1 .2 .3 .4"/></asset><worldbody><body><joint/>
  <geom type="mesh" mesh="l" pos="1 2 3" euler="10 20 30" {mass}/></body></worldbody></mujoco>"""

FIELD = """<mujoco><asset><hfield name="h" nrow="2" ncol="3" size="1 2 .5 .1" elevation="1 2 3 4 5 9"/></asset>
  <worldbody><geom type="hfield" hfield="h"/><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""

CASES = {
    f"turns {s} {a}": TURNS.format(angle=a, sequence=s) for a in ("degree", "radian") for s in ("xyz", "ZYX", "zxz")
}
CASES |= {"classes": CLASSES, "hfield": FIELD}
CASES |= {
    f"masses {words}": MASSES.format(words=words, moments="1e-6 2e-6 9e-6" if "balance" in words else "1e-6 2e-6 2e-6")
    for words in ("", 'inertiafromgeom="true"', 'boundmass=".5" boundinertia=".01"', 'settotalmass="7"',
                  'balanceinertia="true"')
}  # fmt: skip
CASES |= {
    f"mesh {mode} {mass} {bool(face)}": MESH.format(
        vertex=" ".join(str(c) for corner in CORNERS for c in corner), mode=mode, mass=mass, face=face
    )
    for mode in ("legacy", "exact", "convex")
    for mass in ('density="100"', 'mass="2"')
    for face in ("", f'face="{" ".join(str(k) for f in FACES for k in f)}"')
}
KINDS = {"body": mjtObj.mjOBJ_BODY, "joint": mjtObj.mjOBJ_JOINT, "geom": mjtObj.mjOBJ_GEOM, "site": mjtObj.mjOBJ_SITE}


def tensors(quaternions, moments):
    found = []
    for quaternion, diagonal in zip(quaternions, moments):
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, np.asarray(quaternion, dtype=float))
        found.append(rotation.reshape(3, 3) * diagonal @ rotation.reshape(3, 3).T)
    return np.array(found)


def same_model(ours, theirs):
    meshes = 7 in theirs.geom_type
    accuracy = {"rtol": 1e-5, "atol": 1e-6} if meshes else {"rtol": 1e-12, "atol": 1e-13}  # meshes are float32 there
    skipped = {"geom_rgba", "geom_dataid", "mesh_vertadr", "mesh_vertnum", "body_iquat", "body_inertia", "wrap_objid"}
    for name, value in ours.fields.items():
        if name in skipped or "mesh" in name or not hasattr(theirs, name):
            continue
        twin = np.asarray(getattr(theirs, name), dtype=float)
        value = np.asarray(value, dtype=float)
        if name == "jnt_axis":  # not scaled here, and not read where a joint has none
            keep = theirs.jnt_type >= 2
            value, twin = (value / np.linalg.norm(value, axis=1, keepdims=True))[keep], twin[keep]
        elif name == "jnt_range":
            keep = np.asarray(theirs.jnt_limited, dtype=bool)
            value, twin = value[keep], twin[keep]
        elif name in ("geom_pos", "geom_quat", "geom_size"):  # MuJoCo moves meshes to their centres
            keep = ~np.isin(theirs.geom_type, (0, 1, 7))
            value, twin = value[keep], twin[keep]
        elif name == "eq_data":
            twin = twin[:, : value.shape[1]]
        elif name == "actuator_biastype":
            value, twin = value != 0, twin != 0
        elif name == "nflex":
            continue
        if name.endswith("quat"):
            value = value * np.sign(np.sum(value * twin, axis=-1, keepdims=True))
        np.testing.assert_allclose(value, twin, **accuracy, err_msg=name)
    np.testing.assert_allclose(
        tensors(ours.body_iquat, ours.body_inertia), tensors(theirs.body_iquat, theirs.body_inertia), **accuracy
    )
    for what, kind in KINDS.items():
        count = len(ours.names[kind])
        names = [mujoco.mj_id2name(theirs, getattr(mujoco.mjtObj, kind.name), k) or "" for k in range(count)]
        assert ours.names[kind] == names, what
    np.testing.assert_array_equal(ours.opt.gravity, theirs.opt.gravity)


@pytest.mark.parametrize("name", CASES)
def test_the_model_is_that_of_mujoco(name):
    same_model(compile_mjcf(read_xml(CASES[name]), None), mujoco.MjModel.from_xml_string(CASES[name]))


@pytest.mark.parametrize("name", ["classes", "turns xyz degree"])
def test_files_that_mujoco_saves_are_read(name, tmp_path):
    """Its own words for the same model, with six digits or so."""
    path = tmp_path / "saved.xml"
    mujoco.mj_saveLastXML(str(path), mujoco.MjModel.from_xml_string(CASES[name]))
    same_model(compile_mjcf(read_xml(path), tmp_path), mujoco.MjModel.from_xml_path(str(path)))


def test_included_files_are_put_in_place(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "hand.xml").write_text(
        '<mujocoinclude><body name="hand" pos="0 0 1"><joint/><geom size=".1"/></body></mujocoinclude>'
    )
    (tmp_path / "classes.xml").write_text('<mujoco><default><geom density="7"/></default></mujoco>')
    path = tmp_path / "robot.xml"
    path.write_text(
        '<mujoco><include file="classes.xml"/><worldbody><body name="arm"><joint/><geom size=".2"/>'
        '<include file="parts/hand.xml"/></body></worldbody></mujoco>'
    )
    whole = with_includes(read_xml(path), tmp_path)
    same_model(compile_mjcf(whole, tmp_path), mujoco.MjModel.from_xml_path(str(path)))
    assert [body.name for body in read_mjcf(path).bodies] == ["arm", "hand"]
    path.write_text('<mujoco><include file="robot.xml"/></mujoco>')
    with pytest.raises(FormatError, match="included twice"):
        read_mjcf(path)
    with pytest.raises(FormatError, match=r"no file 'none.xml'"):
        path.write_text('<mujoco><include file="none.xml"/></mujoco>')
        read_mjcf(path)


def test_what_only_mujoco_knows_is_read_by_it_and_noted():
    text = """<mujoco><worldbody>
      <replicate count="3" offset="1 0 0"><body><joint/><geom size=".1"/></body></replicate></worldbody></mujoco>"""
    with pytest.raises(Beyond, match="<replicate> in <worldbody>, line 2"):
        compile_mjcf(read_xml(text), None)
    mechanism = read_mjcf(text)
    assert mechanism.nv == 3
    assert f"read by MuJoCo {mujoco.__version__}, for <replicate> in <worldbody>, line 2" in mechanism.notes


BODY = '<body name="b"><joint name="j"/><geom name="g" size=".1"/></body>'
WRONG = {
    "two": (BODY + BODY, "two things called 'b'"),
    "nan": (BODY.replace(".1", "nan"), "size: 'nan' is no finite number"),
    "few": (BODY.replace("<joint", '<joint axis="1 2"'), "axis needs 3 numbers, not 2"),
    "axis": (BODY.replace("<joint", '<joint axis="0 0 0"'), "axis has no direction"),
    "range": (BODY.replace("<joint", '<joint limited="true" range="2 1"'), "range: .* is not less than"),
    "massless": ('<body name="b"><joint/></body>', "the body 'b' moves and has no mass"),
    "size": (BODY.replace(".1", "0"), "a sphere needs 1 positive size"),
    "class": (BODY.replace("<joint", '<joint class="amr"'), "there is no default class 'amr'"),
    "kind": (BODY.replace("<geom", '<geom type="bxo"'), "type='bxo' is not known; did you mean 'box'"),
    "joint": (BODY + "</worldbody><equality><joint joint1='k'/></equality><worldbody>", "there is no joint 'k'"),
    "body": (BODY + "</worldbody><equality><weld body1='a'/></equality><worldbody>", "there is no body 'a'"),
    "twice": (BODY.replace('size=".1"', 'size=".1" euler="1 2 3" quat="1 0 0 0"'), "is said twice"),
    "free": (BODY.replace("</body>", "<body><freejoint/><geom size='1'/></body></body>"), "only in a body of"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_mistakes_are_named_with_their_line(case):
    body, message = WRONG[case]
    with pytest.raises(FormatError, match=message) as caught:
        read_mjcf(f"<mujoco>\n<worldbody>{body}</worldbody></mujoco>")
    assert caught.value.line == 2
