"""Through the maps, MuJoCo and dalembert see the same poses, velocities and forces.

Tolerance: MuJoCo keeps principal axes of inertia as a quaternion from its own eigenvalue iteration, accurate to about
1e-9; poses and velocities agree to rounding.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from peer_models import check_laws, to_mujoco

from dalembert import conventions
from dalembert.algorithms import inverse_dynamics
from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.formats.mjcf import read_mjcf
from dalembert.kinematics import jacobian, poses
from random_mechanisms import mechanisms, random_mechanism

mujoco = pytest.importorskip("mujoco")
seeds = st.integers(0, 2**32 - 1)
KINDS = ("fixed", "revolute", "continuous", "prismatic", "cylindrical", "universal", "planar", "spherical")


def compare(convention, mechanism, model, rng):
    q, v, a = mechanism.random_state(rng)
    q2, v2, a2 = convention.q(q), convention.v(q, v), convention.a(q, v, a)
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.qacc = q2, v2, a2
    mujoco.mj_inverse(model, data)
    tight = {"rtol": 1e-11, "atol": 1e-11}
    places = poses(mechanism, q)
    for body in range(1, model.nbody):
        name = model.body(body).name
        np.testing.assert_allclose(places[name].translation, data.xpos[body], **tight)
        np.testing.assert_allclose(places[name].rotation, data.xmat[body].reshape(3, 3), **tight)
        linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacBody(model, data, linear, angular, body)
        JR, JT = jacobian(mechanism, q, name)
        np.testing.assert_allclose(convention.from_jacobian(q2, linear), JT, **tight)
        np.testing.assert_allclose(convention.from_jacobian(q2, angular), JR, **tight)
        np.testing.assert_allclose(linear @ v2, JT @ v, **tight)
    tau = inverse_dynamics(mechanism, q, v, a)
    scale = 1 + np.abs(tau).max(initial=0)
    np.testing.assert_allclose(convention.from_tau(q2, data.qfrc_inverse), tau, atol=1e-8 * scale)
    np.testing.assert_allclose(convention.tau(q, tau), data.qfrc_inverse, atol=1e-8 * scale)
    if model.nv:
        M2 = np.zeros((model.nv, model.nv))
        for k, unit in enumerate(np.eye(model.nv)):
            mujoco.mj_mulM(model, data, M2[k], unit)
        M = mass_matrix(mechanism, q)
        np.testing.assert_allclose(convention.from_mass_matrix(q2, M2), M, atol=1e-8 * np.abs(M).max())


def massive(**options):
    """MuJoCo wants mass on every moving body, so no massless ones."""
    return mechanisms(1, 7, massless=0, **options)


@settings(max_examples=40)
@given(massive(kinds=KINDS), seeds, st.booleans())
def test_everything_agrees_on_random_mechanisms(mechanism, seed, named):
    """Joints are found by name, and by their body where they have none."""
    rng = np.random.default_rng(seed)
    model = to_mujoco(mechanism, named)
    convention = conventions.MuJoCo(mechanism, model)
    compare(convention, mechanism, model, rng)
    check_laws(convention, rng)


@settings(max_examples=40)
@given(massive(kinds=KINDS, floating=True), seeds)
def test_everything_agrees_with_a_floating_base_that_is_placed_somewhere(mechanism, seed):
    rng = np.random.default_rng(seed)
    model = to_mujoco(mechanism)
    convention = conventions.MuJoCo(mechanism, model)
    compare(convention, mechanism, model, rng)
    check_laws(convention, rng)


@given(mechanisms(2, 6, kinds=["revolute", "prismatic"], massless=0, mimic=0.7), seeds)
def test_mimic_joints_move_on_their_own_in_mujoco(mechanism, seed):
    convention = conventions.MuJoCo(mechanism, model := to_mujoco(mechanism))
    q, v, a = mechanism.random_state(np.random.default_rng(seed))
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.qacc = convention.q(q), convention.v(q, v), convention.a(q, v, a)
    mujoco.mj_inverse(model, data)
    tau = inverse_dynamics(mechanism, q, v, a)
    scale = 1 + np.abs(tau).max()
    np.testing.assert_allclose(convention.from_tau(data.qpos, data.qfrc_inverse), tau, atol=1e-8 * scale)
    check_laws(convention, np.random.default_rng(seed), followers=model.nv != mechanism.nv)


MJCF = """
<mujoco model="odd"><compiler angle="radian"/>
<worldbody><body name="base" pos="1 2 3"><freejoint/><geom size="0.1" mass="1"/>
  <body name="arm" pos="0 0 1"><joint type="hinge" axis="0 1 0" pos="0 0 0.2" ref="0.4"/>
    <joint name="slider" type="slide" axis="1 0 0" ref="0.1"/><geom size="0.2" mass="2" pos="0.1 0 0"/>
    <body name="hand" pos="0.3 0 0"><joint type="ball" pos="0.1 0 0"/><geom type="box" size="0.1 0.2 0.3" mass="1"/>
</body></body></body></worldbody></mujoco>"""


def test_a_file_read_by_both_sides_with_anchors_references_and_joints_without_names():
    mechanism, model = read_mjcf(MJCF), mujoco.MjModel.from_xml_string(MJCF)
    convention = conventions.MuJoCo(mechanism, model)
    compare(convention, mechanism, model, np.random.default_rng(0))
    check_laws(convention, np.random.default_rng(1))


def test_joints_called_differently():
    mechanism = random_mechanism(0, 2, kinds=["revolute"], massless=0, branching=0)
    model = to_mujoco(mechanism.replace(joints=[j.replace(name=f"m{j.name}") for j in mechanism.joints]))
    renamed = conventions.MuJoCo(mechanism, model, {"j1": "mj1", "j2": "mj2"})
    compare(renamed, mechanism, model, np.random.default_rng(0))
    by_body = conventions.MuJoCo(mechanism, model)
    np.testing.assert_array_equal(by_body.q([1, 2]), renamed.q([1, 2]))
    exchanged = conventions.MuJoCo(mechanism, model, {"j1": "mj2", "j2": "mj1"}, check=False)
    np.testing.assert_array_equal(exchanged.q([1, 2]), [2, 1])
    with pytest.raises(ArgumentError, match="joint 'j1' moves another way in the MuJoCo model"):
        conventions.MuJoCo(mechanism, model, {"j1": "mj2", "j2": "mj1"})
    with pytest.raises(ArgumentError, match="only here: j1; only there: mj1"):
        conventions.MuJoCo(mechanism, model, {"j1": "nobody"})


def test_joints_without_a_map_are_refused():
    screw = random_mechanism(0, 1, kinds=["helical"], massless=0)
    model = to_mujoco(random_mechanism(0, 1, kinds=["revolute"], massless=0))
    with pytest.raises(UnsupportedError, match="'j1' is helical here, but hinge in MuJoCo"):
        conventions.MuJoCo(screw, model)
    with pytest.raises(UnsupportedError, match="'j1' is prismatic here, but hinge in MuJoCo"):
        conventions.MuJoCo(random_mechanism(0, 1, kinds=["prismatic"], massless=0), model)
