"""Through the maps, Drake and dalembert see the same poses, velocities and forces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from peer_models import check_laws, to_drake

from dalembert import conventions
from dalembert.algorithms import inverse_dynamics
from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.formats import read_urdf
from dalembert.kinematics import jacobian, poses
from dalembert.model import Mechanism
from random_mechanisms import mechanisms, random_mechanism

pytest.importorskip("pydrake.multibody.plant")
seeds = st.integers(0, 2**32 - 1)
KINDS = ("fixed", "revolute", "continuous", "prismatic", "helical", "universal", "planar", "free")


def suited(mechanism: Mechanism) -> Mechanism:
    """Planar joints about z and universal joints about x and then y, as Drake has them."""
    axes = {"planar": [0, 0, 1], "universal": [1, 0, 0]}
    joints = [j.replace(axis=axes.get(j.kind, j.axis), axis2=[0, 1, 0]) for j in mechanism.joints]
    return mechanism.replace(joints=joints)


def compare(convention, mechanism, plant, rng):
    from pydrake.multibody.tree import JacobianWrtVariable, MultibodyForces

    q, v, a = mechanism.random_state(rng)
    q2, v2, a2 = convention.q(q), convention.v(q, v), convention.a(q, v, a)
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, q2)
    plant.SetVelocities(context, v2)
    tight = {"rtol": 1e-11, "atol": 1e-11}
    places, world = poses(mechanism, q), plant.world_frame()
    for body in mechanism.bodies:
        theirs = plant.GetBodyByName(body.name)
        pose = plant.EvalBodyPoseInWorld(context, theirs)
        np.testing.assert_allclose(places[body.name].homogeneous(), pose.GetAsMatrix4(), **tight)
        JR, JT = jacobian(mechanism, q, body.name)
        velocity = plant.EvalBodySpatialVelocityInWorld(context, theirs)
        np.testing.assert_allclose(JR @ v, velocity.rotational(), **tight)
        np.testing.assert_allclose(JT @ v, velocity.translational(), **tight)
        J2 = plant.CalcJacobianSpatialVelocity(
            context, JacobianWrtVariable.kV, theirs.body_frame(), np.zeros(3), world, world
        )
        np.testing.assert_allclose(convention.from_jacobian(q2, J2), np.vstack([JR, JT]), **tight)
    gravity = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, gravity)
    tau2 = plant.CalcInverseDynamics(context, a2, gravity)
    tau = inverse_dynamics(mechanism, q, v, a)
    scale = 1 + np.abs(tau).max(initial=0)
    np.testing.assert_allclose(convention.from_tau(q2, tau2), tau, atol=1e-11 * scale)
    np.testing.assert_allclose(convention.tau(q, tau), tau2, atol=1e-11 * scale)
    M = mass_matrix(mechanism, q)
    np.testing.assert_allclose(
        convention.from_mass_matrix(q2, plant.CalcMassMatrix(context)), M, atol=1e-11 * (1 + np.abs(M).max(initial=0))
    )


@settings(max_examples=40)
@given(mechanisms(1, 6, kinds=KINDS, massless=0), seeds)
def test_everything_agrees_on_random_mechanisms(mechanism, seed):
    mechanism, rng = suited(mechanism), np.random.default_rng(seed)
    plant = to_drake(mechanism)
    convention = conventions.Drake(mechanism, plant)
    compare(convention, mechanism, plant, rng)
    check_laws(convention, rng)


@given(mechanisms(1, 5, kinds=["revolute", "prismatic"], floating=True, massless=0), seeds)
def test_a_body_that_drake_lets_float_by_itself(mechanism, seed):
    """Drake names the joint after the body and refers the pose to the world; ours may be placed anywhere."""
    plant = to_drake(mechanism, explicit_base=False)
    convention = conventions.Drake(mechanism, plant)
    compare(convention, mechanism, plant, np.random.default_rng(seed))


def test_a_ball_joint_has_no_map():
    from pydrake.multibody.plant import MultibodyPlant
    from pydrake.multibody.tree import BallRpyJoint, SpatialInertia

    plant = MultibodyPlant(0.0)
    body = plant.AddRigidBody("b1", SpatialInertia.SolidSphereWithMass(1.0, 1.0))
    plant.AddJoint(BallRpyJoint("j1", plant.world_frame(), body.body_frame()))
    plant.Finalize()
    with pytest.raises(UnsupportedError, match="'j1' is spherical here, but ball_rpy with nq = 3, nv = 3 in Drake"):
        conventions.Drake(random_mechanism(0, 1, kinds=["spherical"], massless=0), plant)


def from_urdf(text: str):
    """The mechanism here and the plant, both from one text."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.Finalize()
    return read_urdf(text), plant


def urdf_of(joints: str) -> str:
    matter = """<inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>
        <inertia ixx="1" iyy="1.2" izz="1.4" ixy="0.1" ixz="0.2" iyz="0.05"/></inertial>"""
    links = "".join(f'<link name="{name}">{matter}</link>' for name in ("base", "table", "tool"))
    return f'<robot name="r">{links}{joints}</robot>'


AXES = ["", "1 0 0", "0 1 0", "0 0 1", "-1 0 0", "0 -1 0", "0 0 -1", "0.48 -0.6 0.64", "0.6 0 -0.8"]


@pytest.mark.parametrize("axis", AXES)
def test_a_planar_joint_of_a_file_about_any_axis(axis):
    """Drake's reader and ours choose directions of their own in the plane; x is the axis of a file that names none."""
    named = axis and f'<axis xyz="{axis}"/>'
    mechanism, plant = from_urdf(
        urdf_of(f"""<joint name="slide" type="planar"><parent link="base"/><child link="table"/>
        <origin xyz="0.3 -0.2 0.1" rpy="0.4 -0.7 1.1"/>{named}</joint><joint name="turn" type="continuous">
        <parent link="table"/><child link="tool"/><origin xyz="0 1 0" rpy="1 2 3"/><axis xyz="0 1 0"/></joint>""")
    )
    convention, rng = conventions.Drake(mechanism, plant), np.random.default_rng(0)
    compare(convention, mechanism, plant, rng)
    check_laws(convention, rng)


def test_a_floating_joint_of_a_file_on_a_moving_link_is_another_one_there():
    mechanism, plant = from_urdf(
        urdf_of("""<joint name="turn" type="continuous"><parent link="base"/><child link="table"/></joint>
        <joint name="loose" type="floating"><parent link="table"/><child link="tool"/>
        <origin xyz="0 1 0" rpy="1 2 3"/></joint>""")
    )
    with pytest.raises(ArgumentError, match=r"'loose' moves another way.*ours floats relative to 'table'"):
        conventions.Drake(mechanism, plant)
