"""MJCF models as MuJoCo itself sees them: poses, masses, inertia matrices, and what hangs on them."""

import sys

import numpy as np
import pytest

from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.constraints import constraint_rows
from dalembert.errors import FormatError, MissingExtraError, ModelWarning
from dalembert.formats import load, read_mjcf, read_toml, write_toml, write_urdf
from dalembert.kinematics import poses
from dalembert.model import Limits

mujoco = pytest.importorskip("mujoco")

TREE = """<mujoco model="tree">
  <option gravity="0 1 -9"/>
  <compiler angle="radian"/>
  <worldbody>
    <body name="cart" pos="0 0 1" euler="0.1 0.2 0.3">
      <joint name="rail" type="slide" axis="1 0 0" range="-2 2" damping="0.5" armature="0.1" ref="0.2"/>
      <geom type="box" size="0.2 0.1 0.05" mass="2"/>
      <body name="pole" pos="0.1 0 0.05">
        <joint name="hinge" axis="0 2 1" frictionloss="0.3" ref="0.4" stiffness="5" springref="0.1"/>
        <geom type="capsule" fromto="0 0 0 0.1 0.2 0.6" size="0.03"/>
        <site name="tip" pos="0 0 0.6" euler="0 0 1"/>
      </body>
      <body name="arm" pos="-0.1 0 0.05" quat="1 2 3 4">
        <joint name="elbow" axis="1 0 0"/>
        <geom type="cylinder" size="0.02 0.3" pos="0 0 0.3"/>
        <body pos="0 0 0.6"><geom type="sphere" size="0.05"/></body>
      </body>
    </body>
  </worldbody>
</mujoco>"""

FLOATING = """<mujoco model="floating">
  <worldbody>
    <body name="trunk" pos="1 2 3" quat="1 1 0 0">
      <freejoint name="root"/>
      <inertial pos="0.1 0.2 0.3" mass="5" fullinertia="0.5 0.6 0.7 0.01 0.02 0.03"/>
      <body name="leg" pos="0 0.2 -0.3" euler="10 20 30">
        <joint name="hip" type="ball" pos="0.05 0.02 0.1" damping="1"/>
        <geom type="box" size="0.1 0.05 0.3" pos="0 0 -0.3"/>
        <body name="foot" pos="0 0 -0.6">
          <joint name="ankle" type="ball"/>
          <geom type="ellipsoid" size="0.1 0.05 0.03" pos="0.05 0 0"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>"""

OFFSETS = """<mujoco model="offsets">
  <worldbody>
    <body name="a" pos="0.1 0.2 0.3" euler="30 0 0">
      <joint name="a1" axis="0 0 1" pos="0.2 0 0" range="-90 90"/>
      <joint name="a2" axis="0 1 0" pos="0 0.3 0.1"/>
      <joint name="a3" type="slide" axis="1 1 0"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.3 0 0"/>
      <body name="b" pos="0.5 0 0">
        <joint name="b1" type="slide" axis="0 0 1" pos="1 1 1"/>
        <joint name="b2" axis="1 0 0" pos="0 0 0.4" ref="20"/>
        <geom type="box" size="0.05 0.1 0.2"/>
        <body name="c" pos="0 0.4 0"><joint axis="0 1 1" pos="0 -0.1 0"/><geom size="0.1"/></body>
      </body>
    </body>
    <body name="fixed" pos="1 1 1"><geom size="0.2"/></body>
  </worldbody>
</mujoco>"""

MODELS = {"tree": TREE, "floating": FLOATING, "offsets": OFFSETS}


def states(text, seed):
    """Our mechanism, MuJoCo's model and data at the same random state, and the map of velocities between them."""
    mechanism = read_mjcf(text)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    q, _, _ = mechanism.random_state(np.random.default_rng(seed))
    to_ours = np.zeros((mechanism.nv, model.nv))
    for k in range(model.njnt):
        joint = mechanism.joint(mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, k) or f"joint{k}")
        ours, at = q[mechanism.q_slice(joint.name)], model.jnt_qposadr[k]
        theirs = ours if joint.nq == 1 else [*ours[:-4], ours[-1], *ours[-4:-1]]  # MuJoCo's quaternion is scalar first
        data.qpos[at : at + joint.nq] = theirs
        dof = model.jnt_dofadr[k]
        to_ours[mechanism.v_slice(joint.name), dof : dof + joint.nv] = np.eye(joint.nv)
    mujoco.mj_forward(model, data)
    return mechanism, model, data, q, to_ours


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", MODELS)
def test_body_and_site_poses_are_those_of_mujoco(name, seed):
    mechanism, model, data, q, _ = states(MODELS[name], seed)
    ours = poses(mechanism, q)
    for k in range(1, model.nbody):
        body = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, k) or f"body{k}"
        assert np.allclose(ours[body].translation, data.xpos[k], rtol=0, atol=1e-13)
        assert np.allclose(ours[body].rotation, data.xmat[k].reshape(3, 3), rtol=0, atol=1e-13)
    for k in range(model.nsite):
        site = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_SITE, k)
        assert np.allclose(ours[site].translation, data.site_xpos[k], rtol=0, atol=1e-13)
        assert np.allclose(ours[site].rotation, data.site_xmat[k].reshape(3, 3), rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", MODELS)
def test_where_mujoco_begins_is_told_as_positions(name):
    mechanism, model = read_mjcf(MODELS[name]), mujoco.MjModel.from_xml_string(MODELS[name])
    data, q = mujoco.MjData(model), np.array(mechanism.neutral, dtype=float)
    (note,) = [note for note in mechanism.notes if note.startswith("MuJoCo begins at ")]
    for place in note.removeprefix("MuJoCo begins at ").partition(". ")[0].split("; "):
        joint, _, numbers = place.partition("=")
        q[mechanism.q_slice(joint)] = [float(x) for x in numbers.split(",")]
    mujoco.mj_forward(model, data)
    ours = poses(mechanism, q)
    for k in range(1, model.nbody):
        body = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, k) or f"body{k}"
        assert np.allclose(ours[body].translation, data.xpos[k], rtol=0, atol=1e-10)  # the note has twelve digits
        assert np.allclose(ours[body].rotation, data.xmat[k].reshape(3, 3), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", MODELS)
def test_total_mass_and_gravity_are_those_of_mujoco(name):
    mechanism, model, _, _, _ = states(MODELS[name], 0)
    assert mechanism.mass == pytest.approx(np.sum(model.body_mass), rel=1e-14)
    assert np.array_equal(mechanism.gravity, model.opt.gravity)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", MODELS)
def test_the_inertia_matrix_is_that_of_mujoco_less_armature(name, seed):
    mechanism, model, data, q, to_ours = states(MODELS[name], seed)
    full = np.zeros((model.nv, model.nv))
    older = hasattr(data, "qM")
    mujoco.mj_fullM(*((model, full, data.qM) if older else (model, data, full)))
    theirs = to_ours @ (full - np.diag(model.dof_armature)) @ to_ours.T
    tolerance = 1e-8 if older else 1e-12  # before MuJoCo 4 it turned inertias of bodies to axes that are right to 1e-7
    assert np.allclose(mass_matrix(mechanism, q), theirs, rtol=0, atol=tolerance * np.abs(theirs).max())


def test_data_of_the_joints_is_taken_over():
    mechanism = read_mjcf(TREE)
    rail, hinge = mechanism.joint("rail"), mechanism.joint("hinge")
    assert (rail.kind, rail.damping, rail.armature, rail.limits.lower, rail.limits.upper) == (
        "prismatic",
        0.5,
        0.1,
        -2,
        2,
    )
    assert (hinge.kind, hinge.friction) == ("continuous", 0.3)
    (spring,) = mechanism.forces
    assert (spring.kind, spring.a, spring.stiffness, spring.rest) == ("joint-spring", "hinge", 5, 0.1)
    assert mechanism.body("cart").shapes[0].size == (0.4, 0.2, 0.1)
    assert {frame.name for frame in mechanism.frames} == {"tip"}
    assert read_toml(write_toml(mechanism)) == mechanism


EQUALITIES = """<mujoco>
  <worldbody>
    <body name="a" pos="0 0 1"><joint name="ja" ref="10"/><geom size="0.1"/><site name="s" pos="0 0 0.1"/></body>
    <body name="b" pos="1 0 1"><joint name="jb" ref="20"/><geom size="0.1"/><site name="t" pos="0 0.1 0"/></body>
    <body name="c" pos="2 0 1"><freejoint/><geom size="0.1"/></body>
    <body name="d" pos="2 3 1" euler="10 20 30"><freejoint/><geom size="0.1"/></body>
  </worldbody>
  <equality>
    <connect name="ball" body1="a" body2="b" anchor="0.5 0.1 0"/>
    <weld name="weld" body1="c" body2="d" anchor="0.3 0.2 0.1"/>
    <joint name="gear" joint1="ja" joint2="jb" polycoef="0.1 2 0.5 0 0"/>
    <joint name="stop" joint1="ja" polycoef="0.3 0 0 0 0"/>
    <connect name="sites" site1="s" site2="t"/>
    <connect name="off" body1="a" body2="b" anchor="0 0 0" active="false"/>
  </equality>
</mujoco>"""


def test_equality_constraints_are_kept_and_hold_where_mujoco_says_so():
    mechanism = read_mjcf(EQUALITIES)
    model = mujoco.MjModel.from_xml_string(EQUALITIES)
    found = {constraint.name: constraint for constraint in mechanism.constraints}
    assert [c.kind for c in found.values()] == ["spherical", "weld", "coupling", "coupling", "spherical"]
    assert any("'off' is not active" in note for note in mechanism.notes)

    # MuJoCo puts anchors so that connect and weld hold in the reference position
    q = mechanism.neutral
    for k in range(model.njnt):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, k) or f"joint{k}"
        start, n = model.jnt_qposadr[k], mechanism.joint(name).nq
        x = model.qpos0[start : start + n]
        q[mechanism.q_slice(name)] = x if n == 1 else [*x[:3], *x[4:], x[3]]
    at = poses(mechanism, q)
    for name in ("ball", "weld"):
        c = found[name]
        a, b = at[c.a] @ c.placement_a, at[c.b] @ c.placement_b
        assert np.allclose(a.translation, b.translation, rtol=0, atol=1e-14)
        assert name == "ball" or np.allclose(a.rotation, b.rotation, rtol=0, atol=1e-14)
    assert found["sites"].placement_a.translation.tolist() == [0, 0, 0.1]

    gear, x, deg = found["gear"], 0.7, np.pi / 180
    assert (gear.a, gear.b) == ("jb", "ja")
    y = 10 * deg + 0.1 + 2 * (x - 20 * deg) + 0.5 * (x - 20 * deg) ** 2
    assert sum(c * x**k for k, c in enumerate(gear.coefficients)) == pytest.approx(y, rel=1e-14)
    assert (found["stop"].a, found["stop"].b) == ("ja", "")
    assert found["stop"].coefficients[0] == pytest.approx(10 * deg + 0.3)


TENDONS = """<mujoco><option><flag contact="disable"/></option>
  <worldbody>
    <body name="a" pos="0 0 1"><joint name="ja" ref="10"/><geom size="0.1" pos=".3 0 0"/><site name="s"/>
      <body name="b" pos="1 0 0"><joint name="jb" ref="20" axis="0 1 0"/><geom size="0.1" pos="0 .2 0"/></body></body>
    <body name="c" pos="2 0 1"><joint name="jc" type="slide" axis="1 0 1" ref="0.3"/><geom size="0.1"/>
      <site name="t"/></body>
  </worldbody>
  <tendon>
    <fixed name="sum"><joint joint="ja" coef="0.5"/><joint joint="jb" coef="-1.5"/></fixed>
    <fixed name="one"><joint joint="jc" coef="2"/></fixed>
    <fixed name="two"><joint joint="ja" coef="3"/></fixed>
    <fixed name="again"><joint joint="jc" coef="4"/></fixed>
    <spatial name="wire"><site site="s"/><site site="t"/></spatial>
  </tendon>
  <equality>
    <tendon name="alone" tendon1="sum" polycoef="0.2 0 0 0 0"/>
    <tendon name="pair" tendon1="sum" tendon2="one" polycoef="0.1 0.7 0.3 -0.2 0.1"/>
    <tendon name="gear" tendon1="one" tendon2="two" polycoef="0.1 0.7 0.3 -0.2 0.1"/>
    <tendon name="stop" tendon1="one" polycoef="0.1 0 0 0 0"/>
    <tendon name="twice" tendon1="one" tendon2="again" polycoef="0.1 0 1 0 0"/>
    <tendon name="taut" tendon1="wire" polycoef="0.1 0 0 0 0"/>
  </equality>
</mujoco>"""


def test_equalities_of_fixed_tendons_are_those_of_mujoco():
    """Up to a factor, where a row is a coupling of two joints: it is solved for one of them."""
    mechanism, model = read_mjcf(TENDONS), mujoco.MjModel.from_xml_string(TENDONS)
    assert [c.kind for c in mechanism.constraints] == ["position", "position", "coupling", "coupling", "position"]
    assert any("'taut' of type tendon was left out" in note for note in mechanism.notes)
    assert read_toml(write_toml(mechanism)) == mechanism
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    for _ in range(3):
        q = data.qpos[:] = rng.normal(size=3)
        mujoco.mj_forward(model, data)
        rows = constraint_rows(mechanism, q)
        factor = np.array([1, 1, 2, 2, 1])
        np.testing.assert_allclose(factor * rows.phi, data.efc_pos[:5], rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(factor[:, None] * rows.G, data.efc_J.reshape(-1, 3)[:5], rtol=1e-13, atol=1e-14)


def test_ellipsoids_are_drawn_and_survive_toml_but_not_urdf():
    text = """<mujoco><worldbody><body name="b"><joint name="k"/>
      <geom type="ellipsoid" size="0.1 0.2 0.3" pos="0 0 1"/></body></worldbody></mujoco>"""
    mechanism = read_mjcf(text)
    (shape,) = mechanism.body("b").shapes
    assert (shape.kind, shape.size) == ("ellipsoid", (0.1, 0.2, 0.3))
    assert not any("drawn" in note for note in mechanism.notes)
    (again,) = read_toml(write_toml(mechanism)).body("b").shapes
    assert (again.kind, again.size) == (shape.kind, shape.size)
    with pytest.warns(ModelWarning, match="an ellipsoid of body 'b'"):
        assert "<visual>" not in write_urdf(mechanism)


def test_what_is_not_taken_over_is_listed():
    text = """<mujoco>
      <option viscosity="1"/>
      <asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
      <worldbody><geom type="plane" size="1 1 1"/>
        <body name="a"><joint name="j" type="ball" stiffness="2"/><geom size="0.1"/><site name="a"/></body>
        <body name="b"><joint name="k"/><geom type="mesh" mesh="m"/><site name="b"/></body></worldbody>
      <actuator><motor joint="k"/></actuator>
      <tendon><spatial name="t"><site site="a"/><site site="b"/></spatial></tendon>
      <equality><tendon tendon1="t"/></equality>
      <sensor><jointpos joint="k"/></sensor>
    </mujoco>"""
    mechanism = read_mjcf(text)
    notes = "\n".join(mechanism.notes)
    for words in ("actuators (1, line 7)", "tendons (1, line 8)", "sensors (1, line 10)", "geoms that can touch",
                  "fluid forces",
                  "of type tendon", "spring of joint 'j'", "not drawn of body 'b': 1 geom ",
                  "site 'a' has the name of a body"):  # fmt: skip
        assert words in notes
    assert mechanism.frames[0].name == "a_site"


def test_switched_off_gravity_is_no_gravity():
    text = TREE.replace("<worldbody>", '<option><flag gravity="disable"/></option><worldbody>', 1)
    assert read_mjcf(text).gravity.tolist() == [0, 0, 0]


def test_what_the_file_switches_off_is_told():
    flags = "equality", "frictionloss", "limit", "spring", "damper"
    for off in flags:
        text = TREE.replace("<worldbody>", f'<option><flag {off}="disable"/></option><worldbody>', 1)
        assert (
            f"the file switches {off} off; what it has of these is here all the same, as data" in read_mjcf(text).notes
        )
    assert not any("switches" in note for note in read_mjcf(TREE).notes)


def test_force_ranges_of_joints_are_limits_of_effort():
    text = """<mujoco><worldbody><body><joint name="a" actuatorfrcrange="-3 3"/><geom size="1"/>
      <body><joint name="b" type="slide" range="0 1" actuatorfrcrange="-1 2"/><geom size="1"/></body></body></worldbody>
    </mujoco>"""
    mechanism = read_mjcf(text)
    assert mechanism.joint("a").kind == "continuous" and mechanism.joint("a").limits == Limits(effort=3)
    assert mechanism.joint("b").limits == Limits(0, 1)
    assert any("force ranges of joints that are not symmetric (1, line 1)" in note for note in mechanism.notes)


def test_springs_that_yield_are_told():
    if not hasattr(mujoco.MjModel, "jnt_springyield"):
        pytest.skip("this version of MuJoCo has no springs that yield")
    text = (
        '<mujoco><worldbody><body><joint stiffness="3" springyield="0.1"/><geom size="1"/></body></worldbody></mujoco>'
    )
    mechanism = read_mjcf(text)
    assert mechanism.forces[0].stiffness == 3
    assert any("springs that yield but are elastic here (1, line 1)" in note for note in mechanism.notes)
    elastic = read_mjcf(text.replace('springyield="0.1"', ""))
    assert not any("yield" in note for note in elastic.notes)


def test_errors(tmp_path):
    with pytest.raises(FormatError, match="root element <mujoco>, this one has <robot>"):
        read_mjcf("<robot/>")
    with pytest.raises(FormatError, match="malformed XML"):
        read_mjcf("<mujoco>")
    with pytest.raises(FormatError, match="MuJoCo refuses the file"):
        read_mjcf("<mujoco><worldbody><body><nonsense/></body></worldbody></mujoco>")
    with pytest.raises(FormatError, match="DOCTYPE"):
        read_mjcf('<!DOCTYPE mujoco [<!ENTITY a "b">]><mujoco/>')
    path = tmp_path / "tree.xml"
    path.write_text(TREE)
    assert load(path) == read_mjcf(TREE) == load(TREE)


def test_without_mujoco_the_extra_is_named_for_what_needs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    assert read_mjcf(TREE).nv == 3
    text = TREE.replace("<site name", "<plugin plugin='mujoco.elasticity.cable'/>\n<site name", 1)
    with pytest.raises(MissingExtraError, match=r"<plugin> in <body> \(line 11\).*pip install 'dalembert\[mjcf\]'"):
        read_mjcf(text)
