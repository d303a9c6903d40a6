"""Every URDF of example-robot-data that Pinocchio loads is read here as the same robot."""

import warnings

import numpy as np
import pytest

from dalembert.algorithms.inverse_dynamics.newton_euler import newton_euler
from dalembert.errors import DalembertError, FormatError, ModelWarning
from dalembert.formats import read_urdf
from dalembert.formats.catalogue import example_robot_data
from dalembert.kinematics import poses

pin = pytest.importorskip("pinocchio")
ROBOTS = {name: path for name, path in example_robot_data().items() if "/" in name}
REFUSED = {
    "falcon/falcon": "child link 'Z_propeller' does not exist",
    "ur/ur3": "the robot has no <link>",
}
"""The files that neither Pinocchio nor we accept."""


def test_the_robots_are_there():
    assert len(ROBOTS) > 50


def pinocchio_vectors(model, mechanism, q, v, a):
    """q, v, a of all joints in Pinocchio's layout; mimic joints move on their own there."""
    pq, pv, pa = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    for joint in mechanism.joints:
        own = joint.replace(mimic=None)
        if own.nv == 0 or joint.name == "root_joint":
            continue
        k = model.getJointId(joint.name)
        iq, iv, nq = model.idx_qs[k], model.idx_vs[k], model.nqs[k]
        gain, offset = (joint.mimic.multiplier, joint.mimic.offset) if joint.mimic else (1, 0)
        x = gain * q[mechanism.q_slice(joint.name)] + offset
        pq[iq : iq + nq] = x if nq == own.nq else [*x[:-1], np.cos(x[-1]), np.sin(x[-1])]
        pv[iv : iv + own.nv] = gain * v[mechanism.v_slice(joint.name)]
        pa[iv : iv + own.nv] = gain * a[mechanism.v_slice(joint.name)]
    return pq, pv, pa


def own_forces(model, mechanism, forces):
    """Forces on our coordinates; those on a mimic joint work on its leader."""
    total = np.zeros(mechanism.nv)
    for joint in mechanism.joints:
        own = joint.replace(mimic=None)
        if own.nv and joint.name != "root_joint":
            iv = model.idx_vs[model.getJointId(joint.name)]
            total[mechanism.v_slice(joint.name)] += (joint.mimic.multiplier if joint.mimic else 1) * forces[
                iv : iv + own.nv
            ]
    return total


def compare(mechanism, model, seed=0):
    mimics = sum(joint.mimic is not None for joint in mechanism.joints)
    circles = sum(joint.kind in ("continuous", "planar") for joint in mechanism.joints)
    assert model.nv == mechanism.nv + mimics
    assert model.nq == mechanism.nq + mimics + circles  # Pinocchio has cosine and sine for an unlimited angle

    moving = sum(body.inertia.mass for body in mechanism.bodies if mechanism.tree.carriers[body.name][0] >= 0)
    assert moving == pytest.approx(pin.computeTotalMass(model), rel=1e-12)

    q, v, a = mechanism.random_state(np.random.default_rng(seed))
    pq, pv, pa = pinocchio_vectors(model, mechanism, q, v, a)
    data = model.createData()
    pin.framesForwardKinematics(model, data, pq)
    ours = poses(mechanism, q)
    for frame, pose in zip(model.frames, data.oMf):
        name = frame.name
        if frame.type == pin.FrameType.BODY and name in ours:
            # angles that we snap to right angles differ by up to 1e-11 rad each
            assert np.allclose(ours[name].homogeneous(), pose.homogeneous, rtol=0, atol=2e-10), name
    assert {body.name for body in mechanism.bodies} <= {frame.name for frame in model.frames}

    if mechanism.nv:
        theirs = own_forces(model, mechanism, pin.rnea(model, data, pq, pv, pa))
        assert np.allclose(newton_euler(mechanism.tree, q, v, a), theirs, rtol=0, atol=1e-10 * np.abs(theirs).max())


@pytest.mark.parametrize("name", sorted(ROBOTS))
@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
def test_the_same_robot_as_pinocchio(name, capfd):
    path = str(ROBOTS[name])
    if name in REFUSED:
        with pytest.raises(ValueError, match="valid URDF"):
            pin.buildModelFromUrdf(path)
        with pytest.raises(FormatError, match=REFUSED[name]):
            read_urdf(path)
        return
    compare(read_urdf(path), pin.buildModelFromUrdf(path))


@pytest.mark.parametrize("name", ["panda/panda", "tiago/tiago", "romeo/romeo_small"])
@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
def test_mimic_joints_leave_the_same_number_of_degrees_of_freedom(name):
    assert read_urdf(ROBOTS[name]).nv == pin.buildModelFromUrdf(str(ROBOTS[name]), mimic=True).nv


@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
def test_floating_and_planar_joints_are_those_of_pinocchio():
    inertial = (
        '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>'
        '<inertia ixx="1" iyy="1.1" izz="1.2" ixy="0.1" ixz="0" iyz="0.2"/></inertial>'
    )
    joints = {"j0": "floating", "j1": "planar", "j2": "continuous", "j3": "floating"}
    text = '<robot name="r"><link name="base"/>'
    for k, (joint, kind) in enumerate(joints.items()):
        parent = f"l{k - 1}" if k else "base"
        text += (
            f'<link name="l{k}">{inertial}</link><joint name="{joint}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="l{k}"/><origin xyz="0.3 0.1 -0.2" rpy="0.4 0.5 {k}"/><axis xyz="0 0 1"/></joint>'
        )
    mechanism, model = read_urdf(text + "</robot>"), pin.buildModelFromXML(text + "</robot>")
    q, _, _ = mechanism.random_state(np.random.default_rng(1))
    zero = np.zeros(mechanism.nv)
    pq, _, _ = pinocchio_vectors(model, mechanism, q, zero, zero)
    data = model.createData()
    pin.framesForwardKinematics(model, data, pq)
    for name in ("l0", "l1", "l2", "l3"):
        theirs = data.oMf[model.getFrameId(name)].homogeneous
        assert np.allclose(poses(mechanism, q)[name].homogeneous(), theirs, rtol=0, atol=1e-14)


def test_what_is_doubtful_about_the_robots_is_said():
    """Of the files that load, those that pass without a word are really clean."""
    silent = 0
    for path in ROBOTS.values():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                mechanism = read_urdf(path)
            except DalembertError:
                continue
        assert all(issubclass(w.category, ModelWarning) for w in caught)
        if not caught:
            silent += 1
            assert mechanism.problems() == ()
    assert silent > 0
