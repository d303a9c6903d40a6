"""The convex law is MuJoCo's: the same accelerations of the same scene, and its closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scenes import ball, block

import dalembert as da
from dalembert.contact.convex import impedance, stiffness_and_damping
from dalembert.conventions import MuJoCo
from dalembert.dynamics import contacting
from dalembert.errors import UnsupportedError
from quick import some

SCENE = """
<mujoco><option cone="elliptic" solver="Newton" iterations="200" tolerance="1e-15" timestep="0.002"/>
<worldbody><geom name="floor" type="plane" size="5 5 .1" friction="0.6 0.005 0.0001"/>
<body name="a" pos="0 0 0.1"><freejoint name="base"/>
<geom name="box" type="box" size=".2 .15 .1" mass="3" friction="0.7 0.01 0.0002" condim="4"
 solimp="0.8 0.97 0.002 0.4 3"/>
<body name="b" pos="0.2 0 0"><joint name="j" type="hinge" axis="0 1 0" armature="0.1" range="-20 30" limited="true"
 frictionloss="0.3"/>
<geom name="arm" type="capsule" fromto="0 0 0 .5 0 -.05" size=".05" mass="1" solref="0.03 0.7" condim="6"
 friction="0.9 0.02 0.003"/>
</body></body></worldbody></mujoco>"""


def mujoco_answer(mujoco, model, height, angle, speed):
    data = mujoco.MjData(model)
    rng = np.random.default_rng(3)
    data.qpos[2] = height
    data.qpos[3:7] = np.array([1, 0.002, -0.003, 0.1]) / np.linalg.norm([1, 0.002, -0.003, 0.1])
    data.qpos[7] = angle
    data.qvel[:] = speed * rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    return data


STATES = {
    "beyond the stop": (0.0995, np.deg2rad(31), 0.3),
    "sliding": (0.0995, 0.01, 0.3),
    "creeping": (0.0999, 0.0, 0.01),
    "in the air": (0.3, 0.0, 1.0),
}


@pytest.mark.parametrize("case", some(tuple(STATES), 1))
def test_accelerations_are_those_of_mujoco(tmp_path, case):
    """Boxes and capsules with all kinds of friction, a stop and dry friction, under MuJoCo's tightest tolerance."""
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "scene.xml"
    path.write_text(SCENE)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco_answer(mujoco, model, *STATES[case])
    mechanism = da.load(path, contacts=True)
    dyn = da.Dynamics(mechanism, include=("armature", "friction"), limits="all", law="convex")
    convention = MuJoCo(mechanism, model, check=False)
    q, v = convention.from_q(data.qpos.copy()), convention.from_v(data.qpos.copy(), data.qvel.copy())
    setting = replace(dyn.setting(), options={"sweeps": 400})
    h = model.opt.timestep
    found = contacting.contact_step(setting, q, v, np.zeros(dyn.mechanism.nv), np.zeros(dyn.contacts.count), h, 0.0)
    theirs = convention.from_a(data.qpos.copy(), data.qvel.copy(), data.qacc.copy())
    assert found[3] < 1e-9
    assert np.abs((found[1] - v) / h - theirs).max() < 1e-6 * max(1, np.abs(theirs).max())


def test_a_motion_is_that_of_mujoco():
    """A ball thrown onto a plane, 400 steps: sinks in, slides, rolls; every step is MuJoCo's."""
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><option cone="elliptic" iterations="200" tolerance="1e-15" timestep="0.001"/><worldbody>
    <geom type="plane" size="9 9 .1"/><body pos="0 0 .12"><freejoint/><geom type="sphere" size=".1" mass="1"
    friction="0.3 0 0" priority="1"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[0], data.qvel[4] = 1.0, -3.0
    mechanism = ball()
    run = da.rollout(mechanism, [0, 0, 0.12, 0, 0, 0, 1], data.qvel.copy(), 400, 1e-3, law="convex", sweeps=60)
    for k in range(1, 401):
        mujoco.mj_step(model, data)
        assert np.abs(run.q[k, :3] - data.qpos[:3]).max() < 1e-9
    assert np.abs(run.final_v - data.qvel).max() < 1e-8
    assert run.contacts.worst < 1e-9


def test_weight_is_carried_at_the_depth_of_the_formula():
    """At rest p_n = m g h on all points: a_ref = R f / 1 gives k d^2 depth = (1 - d) w f + ..., by J qacc = 0."""
    step = 1e-3
    run = da.rollout(block(), [0, 0, 0.05, 0, 0, 0, 1], None, 3000, step, law="convex", sweeps=40)
    forces = run.contacts.forces[-1]
    assert abs(forces[:, 0].sum() - 2 * 9.81) < 1e-6
    gap = run.contacts.gaps[-1]
    item = block().contacts[0]
    k, _ = stiffness_and_damping(item.solref, item.solimp[1], step)
    d = impedance(item.solimp, gap[0])
    # every corner: A f + R f = a_ref - (free acceleration); at rest A f cancels gravity, so that R f = k d depth
    w = 1 / 2  # inverse mass against translation
    assert np.allclose((1 - d) / d * w * forces[:, 0], -k * d * gap, rtol=1e-6)


def test_what_slides_loses_energy_and_what_sticks_creeps_slowly():
    """On an incline below the angle of friction MuJoCo's blocks creep: R p_t / h, which is what is found here."""
    tilted = da.with_gravity(block(), 9.81 * np.array([np.sin(0.2), 0, -np.cos(0.2)]))
    run = da.rollout(tilted, [0, 0, 0.05, 0, 0, 0, 1], None, 2000, 1e-3, law="convex", sweeps=40)
    creep = run.final_v[0]
    assert 1e-6 < creep < 0.05
    assert (run.contacts.mode[-1] == 1).all()
    losses = run.contacts.friction_loss
    assert losses[-1] > 0


def test_impedance_is_a_smooth_step():
    for solimp in (
        (0.9, 0.95, 0.001, 0.5, 2),
        (0.2, 0.8, 0.01, 0.3, 3),
        (0.5, 0.5, 0.1, 0.5, 1),
        (0.1, 0.9, 1, 0.6, 2.5),
    ):
        low, high, width, middle, _ = solimp
        assert impedance(solimp, 0.0) == pytest.approx(low)
        assert impedance(solimp, -2 * width) == pytest.approx(high)
        assert impedance(solimp, middle * width) == pytest.approx(low + middle * (high - low))
    assert impedance((0.9, 0.95, 0.0, 0.5, 2), -1.0) == pytest.approx(0.925)
    with pytest.raises(UnsupportedError, match="power"):
        impedance((0.9, 0.95, 0.001, 0.5, 0.5), -1.0)


def test_derivatives_of_a_step_are_exact_inside_a_mode():
    """Complex step through the program, against central differences of the kernel."""
    dyn = da.Dynamics(ball(), law="convex")
    q, v = np.array([0, 0, 0.0995, 0, 0, 0, 1.0]), np.array([0.3, 0.1, -0.1, 0.2, 0.5, 0.0])
    setting = replace(dyn.setting(), options={"sweeps": 20})

    def after(x):
        return contacting.contact_step(setting, q, x, np.zeros(6), np.zeros(3), 1e-3, 0.0)[1]

    for k in range(6):
        e = np.eye(6)[k]
        exact = np.imag(np.asarray(after(v + 1e-30j * e), dtype=complex)) / 1e-30
        rough = (np.asarray(after(v + 1e-6 * e)) - np.asarray(after(v - 1e-6 * e))) / 2e-6
        assert np.abs(exact - rough).max() < 1e-8
