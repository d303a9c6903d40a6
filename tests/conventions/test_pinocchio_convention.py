"""Through the maps, Pinocchio and dalembert see the same poses, velocities, accelerations, forces and matrices.

Tolerances: both sides run in double precision on trees of at most eight bodies; inverse dynamics of order 100 agrees
to 1e-11 relative.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from peer_models import check_laws, to_pinocchio

from dalembert import conventions
from dalembert.algorithms import inverse_dynamics
from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.formats.urdf import read_urdf
from dalembert.kinematics import jacobian, motion
from dalembert.model import Mechanism, Mimic
from dalembert.model.operations import with_base
from dalembert.model.parameters import symbolise
from random_mechanisms import ALL_KINDS, mechanisms, random_mechanism

pin = pytest.importorskip("pinocchio")
seeds = st.integers(0, 2**32 - 1)


def suited(mechanism: Mechanism) -> Mechanism:
    """Continuous joints about axes for which Pinocchio has unbounded joints."""
    axes = {"continuous": np.eye(3)[len(mechanism.bodies) % 3]}
    return mechanism.replace(joints=[j.replace(axis=axes.get(j.kind, j.axis)) for j in mechanism.joints])


@settings(max_examples=60)
@given(mechanisms(1, 8, kinds=ALL_KINDS), seeds)
def test_everything_agrees_on_random_mechanisms(mechanism, seed):
    mechanism, rng = suited(mechanism), np.random.default_rng(seed)
    model = to_pinocchio(mechanism)
    convention = conventions.Pinocchio(mechanism, model)
    assert (convention.nq, convention.nv) == (model.nq, model.nv)
    compare(convention, mechanism, model, rng)
    check_laws(convention, rng)


def compare(convention, mechanism, model, rng, frames=None):
    q, v, a = mechanism.random_state(rng)
    q2, v2, a2 = convention.q(q), convention.v(q, v), convention.a(q, v, a)
    data = model.createData()
    pin.forwardKinematics(model, data, q2, v2, a2)
    pin.updateFramePlacements(model, data)
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    tight = {"rtol": 1e-11, "atol": 1e-10}
    for name in frames or [b.name for b in mechanism.bodies]:
        ours, frame = motion(mechanism, q, v, a, name), model.getFrameId(name)
        np.testing.assert_allclose(ours.pose.homogeneous(), data.oMf[frame].homogeneous, **tight)
        velocity = pin.getFrameVelocity(model, data, frame, axes)
        np.testing.assert_allclose(ours.linear_velocity, velocity.linear, **tight)
        np.testing.assert_allclose(ours.angular_velocity, velocity.angular, **tight)
        acceleration = pin.getFrameClassicalAcceleration(model, data, frame, axes)
        np.testing.assert_allclose(ours.linear_acceleration, acceleration.linear, **tight)
        np.testing.assert_allclose(ours.angular_acceleration, acceleration.angular, **tight)
        J = np.vstack(jacobian(mechanism, q, name)[::-1])
        theirs = np.reshape(pin.computeFrameJacobian(model, data, q2, frame, axes), (6, model.nv))
        np.testing.assert_allclose(convention.from_jacobian(q2, theirs), J, **tight)
    tau = inverse_dynamics(mechanism, q, v, a)
    scale = 1 + np.abs(tau).max(initial=0)
    np.testing.assert_allclose(convention.from_tau(q2, pin.rnea(model, data, q2, v2, a2)), tau, atol=1e-11 * scale)
    M2 = np.reshape(pin.crba(model, data, q2), (model.nv, model.nv))
    M2 = np.triu(M2) + np.triu(M2, 1).T
    M = mass_matrix(mechanism, q)
    np.testing.assert_allclose(convention.from_mass_matrix(q2, M2), M, atol=1e-11 * (1 + np.abs(M).max(initial=0)))
    return M2


@given(mechanisms(2, 6, floating=True, kinds=["revolute", "continuous", "spherical"]), seeds)
def test_forward_dynamics_agrees(mechanism, seed):
    """a' from Pinocchio's own algorithm is our a: tau goes there, the acceleration comes back."""
    mechanism = suited(mechanism)
    q, v, a = mechanism.random_state(np.random.default_rng(seed))
    model = to_pinocchio(mechanism)
    convention = conventions.Pinocchio(mechanism, model)
    q2, v2 = convention.q(q), convention.v(q, v)
    tau = convention.tau(q, inverse_dynamics(mechanism, q, v, a))
    a2 = pin.aba(model, model.createData(), q2, v2, tau)
    np.testing.assert_allclose(convention.from_a(q2, v2, a2), a, rtol=1e-6, atol=1e-7)  # the inertia's condition


@given(mechanisms(2, 7, kinds=["revolute", "continuous", "prismatic"], mimic=0.6), seeds)
def test_mimic_joints_that_move_on_their_own_in_pinocchio(mechanism, seed):
    mechanism, rng = suited(mechanism), np.random.default_rng(seed)
    model = to_pinocchio(mechanism)
    convention = conventions.Pinocchio(mechanism, model)
    compare(convention, mechanism, model, rng)
    followers = [j.name for j in mechanism.joints if j.mimic]
    check_laws(convention, rng, followers=bool(followers))
    if followers:
        q, v, _ = mechanism.random_state(rng)
        off = convention.q(q)
        off[model.idx_qs[model.getJointId(followers[0])]] += 0.1
        with pytest.raises(ArgumentError, match=f"joint {followers[0]!r} mimics .* position in Pinocchio is 0.1 away"):
            convention.from_q(off)
        off = convention.v(q, v)
        off[model.idx_vs[model.getJointId(followers[0])]] += 0.1
        with pytest.raises(ArgumentError, match="rate in Pinocchio"):
            convention.from_v(convention.q(q), off)
        with pytest.raises(UnsupportedError, match=r"an inertia matrix of .* the opposite direction works"):
            convention.mass_matrix(q, np.eye(mechanism.nv))


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "continuous"])
@pytest.mark.parametrize("gain", [1.0, -2.5, 0.3])
def test_a_geared_joint_remembers_the_turns_that_cosine_and_sine_forget(kind, gain):
    """The leader is kept as (cosine, sine); the follower as a number or, where it is unbounded too, likewise."""
    chain = random_mechanism(1, 3, kinds=["revolute"], massless=0, branching=0)
    lead, second, third = chain.joints
    lead = lead.replace(kind="continuous", axis=[0, 0, 1])
    second = second.replace(kind=kind, axis=[0, 1, 0], mimic=Mimic(lead.name, gain, 0.4))
    mechanism = chain.replace(joints=[lead, second, third])
    convention = conventions.Pinocchio(mechanism, to_pinocchio(mechanism))
    q = np.array([[x, 0.2] for x in (0, 3, 4, -3.5, 10, -18)])
    back = convention.from_q(convention.q(q))
    np.testing.assert_allclose(convention.q(back), convention.q(q), atol=1e-12)
    if kind != "continuous":  # else both forget, and turns that make no difference stay unknown
        np.testing.assert_allclose(back, q, atol=1e-12)
    np.testing.assert_array_equal(convention.from_q(convention.q(q[2])), back[2])


MIMIC_URDF = """
<robot name="r"><link name="a"/>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="c"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j1" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="j2" type="revolute"><parent link="b"/><child link="c"/><origin xyz="0.3 0 0"/>
  <limit lower="-1" upper="1" effort="1" velocity="1"/><mimic joint="j1" multiplier="2" offset="0.1"/></joint>
</robot>"""


@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
@pytest.mark.parametrize("coupled", [True, False])
def test_mimic_joints_of_urdf_in_both_readings_of_pinocchio(coupled):
    mechanism = read_urdf(MIMIC_URDF)
    model = pin.buildModelFromXML(MIMIC_URDF, mimic=True) if coupled else pin.buildModelFromXML(MIMIC_URDF)
    convention = conventions.Pinocchio(mechanism, model)
    assert (convention.nq, mechanism.nq) == (1 if coupled else 2, 1)
    q, v, a = mechanism.random_state(np.random.default_rng(0))
    tau = pin.rnea(model, model.createData(), convention.q(q), convention.v(q, v), convention.a(q, v, a))
    np.testing.assert_allclose(convention.from_tau(convention.q(q), tau), inverse_dynamics(mechanism, q, v, a))
    check_laws(convention, np.random.default_rng(0), followers=not coupled)


@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
@pytest.mark.parametrize(
    "change",
    [('axis xyz="0 1 0"', 'axis xyz="0 0 1"'), ('origin xyz="0.3 0 0"', 'origin xyz="0 0.3 0"'), ("r='2'", "r='3'")],
)
def test_another_axis_place_or_ratio_is_refused_where_pinocchio_couples_joints(change):
    text = MIMIC_URDF.replace('multiplier="2"', "multiplier='2'")
    mechanism = read_urdf(text)
    conventions.Pinocchio(mechanism, pin.buildModelFromXML(text, mimic=True))
    other = text.replace(*change)
    assert other != text
    with pytest.raises(ArgumentError, match="joint 'j1' moves another way"):
        conventions.Pinocchio(mechanism, pin.buildModelFromXML(other, mimic=True))


@pytest.mark.parametrize("base_there", ["same", "elsewhere"])
def test_a_base_placed_differently_on_both_sides(base_there):
    mechanism = random_mechanism(4, 3, floating=True, kinds=["revolute"])
    model = to_pinocchio(mechanism)
    if base_there == "elsewhere":
        model.jointPlacements[1] = pin.SE3.Random()
    compare(conventions.Pinocchio(mechanism, model), mechanism, model, np.random.default_rng(0))


def test_names_may_differ():
    mechanism = random_mechanism(4, 3, floating=True, kinds=["revolute"], branching=0)
    conventions.Pinocchio(mechanism, to_pinocchio(mechanism, {"j1": "root_joint"}))  # a lone free joint is clear
    model = to_pinocchio(mechanism, {"j2": "knee", "j3": "foot"})
    with pytest.raises(ArgumentError, match="only here: j2, j3; only there: knee, foot"):
        conventions.Pinocchio(mechanism, model)
    convention = conventions.Pinocchio(mechanism, model, {"j2": "knee", "j3": "foot"})
    compare(convention, mechanism, model, np.random.default_rng(0))
    with pytest.raises(ArgumentError, match="no joint 'j9'"):
        conventions.Pinocchio(mechanism, model, {"j9": "knee"})


def test_symbols_are_welcome_where_the_maps_do_not_depend_on_them():
    numeric = random_mechanism(4, 3, floating=True, kinds=["revolute"], mimic=0, branching=0)
    model = to_pinocchio(numeric)
    q, v, _ = numeric.random_state(np.random.default_rng(1))
    heavy = symbolise(numeric, {"b2.mass": "m"})
    expected = conventions.Pinocchio(numeric, model).v(q, v)
    np.testing.assert_array_equal(conventions.Pinocchio(heavy, model).v(q, v), expected)
    with pytest.raises(ArgumentError, match="placement of free joint 'j1' contains symbols"):
        conventions.Pinocchio(symbolise(numeric, {"j1.placement.x": "x"}), model)
    ratio = Mimic("j2", sympy.Symbol("n", real=True))
    geared = numeric.replace(joints=[j.replace(mimic=ratio) if j.name == "j3" else j for j in numeric.joints])
    with pytest.raises(ArgumentError, match="ratio of mimic joint 'j3' contains symbols"):
        conventions.Pinocchio(geared, model)


def test_joints_without_a_map_are_refused():
    spherical = random_mechanism(0, 1, kinds=["spherical"])
    model = pin.Model()
    model.addJoint(0, pin.JointModelSphericalZYX(), pin.SE3.Identity(), "j1")
    with pytest.raises(UnsupportedError, match="'j1' is spherical here, but JointModelSphericalZYX with nq = 3"):
        conventions.Pinocchio(spherical, model)


def test_a_planar_joint_of_a_file_whose_axis_pinocchio_ignores_is_named():
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    text = f"""<robot name="r"><link name="a">{inertial}</link><link name="b">{inertial}</link>
    <joint name="slide" type="planar"><parent link="a"/><child link="b"/><axis xyz="AXIS"/></joint></robot>"""
    for axis in ("1 0 0", "0 0.6 0.8"):
        with pytest.raises(ArgumentError, match=r"'slide' moves another way.*ignores the axis of a planar joint"):
            conventions.Pinocchio(
                read_urdf(text.replace("AXIS", axis)), pin.buildModelFromXML(text.replace("AXIS", axis))
            )
    text = text.replace("AXIS", "0 0 1")
    conventions.Pinocchio(read_urdf(text), pin.buildModelFromXML(text))


def test_wrong_sizes_are_refused():
    mechanism = suited(random_mechanism(4, 2, floating=True, kinds=["continuous"]))
    convention = conventions.Pinocchio(mechanism, to_pinocchio(mechanism))
    with pytest.raises(ArgumentError, match=r"q has shape \(9,\); its last dimension must be 8"):
        convention.q(np.zeros(9))
    with pytest.raises(ArgumentError, match=r"q of Pinocchio has shape \(8,\); its last dimension must be 9"):
        convention.from_q(np.zeros(8))
    with pytest.raises(ArgumentError, match="tau has shape"):
        convention.tau(mechanism.neutral, 1.0)
    assert "nq 8 -> 9, nv 7 -> 7" in repr(convention)


ROBOTS = {
    "panda_description/urdf/panda.urdf": "fixed",
    "talos_data/robots/talos_reduced.urdf": "free",
    "anymal_b_simple_description/robots/anymal.urdf": "free",
    "double_pendulum_description/urdf/double_pendulum_continuous.urdf": "fixed",
}


@pytest.mark.filterwarnings("ignore::dalembert.errors.ModelWarning")
@pytest.mark.parametrize("robot", ROBOTS)
def test_real_robots_agree(robot, robots_folder):
    path, base = robots_folder / robot, ROBOTS[robot]
    mechanism = read_urdf(path, base=base)
    root = [pin.JointModelFreeFlyer()] if base == "free" else []
    model = pin.buildModelFromUrdf(str(path), *root)
    convention = conventions.Pinocchio(mechanism, model)
    rng = np.random.default_rng(1)
    some = [str(name) for name in rng.choice([b.name for b in mechanism.bodies], 3)]
    compare(convention, mechanism, model, rng, some)
    assert with_base(mechanism, "fixed").nv + (6 if base == "free" else 0) == mechanism.nv
