"""Joints are their elementary joints in series; the tree of links is the mechanism, welded and split."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.quaternions import quaternion_exp, quaternion_star
from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError, SingularityError
from dalembert.kinematics import jacobian, link_poses, poses
from dalembert.model import WORLD, Body, Frame, Inertia, Joint, Limits, Mechanism, Mimic
from dalembert.model.joint import SIZES, plane_axes, rotation_about
from dalembert.model.operations import joint_motion
from random_mechanisms import ALL_KINDS, mechanisms, random_axis, random_mechanism

seeds = st.integers(0, 2**32 - 1)
BALL = Inertia.sphere(1, 0.1)


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_sizes_are_those_of_the_elementary_joints(kind):
    parts = Joint("j", kind, WORLD, "b").elementary()
    assert SIZES[kind] == (
        sum(4 if p.kind == "spherical" else 1 for p in parts),
        sum(3 if p.kind == "spherical" else 1 for p in parts),
    )


@given(seeds)
def test_a_screw_advances_by_its_pitch_and_a_cylindrical_joint_does_both(seed):
    rng = np.random.default_rng(seed)
    axis, (angle, distance, pitch) = random_axis(rng), rng.normal(size=3)
    turn, slide = rotation_about(axis, angle), axis * distance
    cylindrical = joint_motion(Joint("j", "cylindrical", WORLD, "b", axis=axis), [angle, distance])
    np.testing.assert_allclose(cylindrical.rotation, turn, atol=1e-14)
    np.testing.assert_allclose(cylindrical.translation, slide, atol=1e-14)
    helical = joint_motion(Joint("j", "helical", WORLD, "b", axis=axis, pitch=pitch), [angle])
    np.testing.assert_allclose(helical.rotation, turn, atol=1e-14)
    np.testing.assert_allclose(helical.translation, axis * pitch * angle, atol=1e-14)


@given(seeds)
def test_a_planar_joint_stays_in_its_plane(seed):
    rng = np.random.default_rng(seed)
    axis = random_axis(rng)
    x, y = plane_axes(axis)
    np.testing.assert_allclose(np.array([x, y, axis]) @ np.array([x, y, axis]).T, np.eye(3), atol=1e-14)
    q = rng.normal(size=3)
    moved = joint_motion(Joint("j", "planar", WORLD, "b", axis=axis), q)
    assert abs(moved.translation @ axis) < 1e-13
    np.testing.assert_allclose(moved.rotation, rotation_about(axis, q[2]), atol=1e-14)


@pytest.mark.parametrize("k", range(3))
def test_a_plane_with_a_coordinate_normal_uses_the_other_axes_in_order(k):
    e = np.eye(3)
    x, y = plane_axes(e[k])
    assert (x == e[(k + 1) % 3]).all() and (y == e[(k + 2) % 3]).all()


@given(st.integers(-3, 3), st.integers(-3, 3), st.booleans())
def test_plane_axes_of_exact_constants_are_those_of_their_values(a, b, down):
    """Rational unit vectors by stereographic projection, either half of the sphere."""
    length = 1 + a * a + b * b
    z = sympy.Rational(a * a + b * b - 1, length)
    normal = np.array([sympy.Rational(2 * a, length), sympy.Rational(2 * b, length), -z if down else z], dtype=object)
    for exact, rounded in zip(plane_axes(normal), plane_axes(normal.astype(float))):
        np.testing.assert_allclose(exact.astype(float), rounded, atol=1e-15)


@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-7, 1e-5, 1e-3])
def test_plane_axes_are_accurate_at_and_near_minus_z(tilt):
    normal = np.array([math.sin(tilt), 0, -math.cos(tilt)])
    frame = np.array([*plane_axes(normal), normal])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(frame) > 0


@given(seeds)
def test_a_universal_joint_turns_about_the_moved_second_axis(seed):
    rng = np.random.default_rng(seed)
    (joint,) = random_mechanism(rng, 1, kinds=["universal"]).joints
    a, b = rng.normal(size=2)
    moved = joint_motion(joint, [a, b]).rotation
    np.testing.assert_allclose(
        moved,
        rotation_about(rotation_about(joint.axis, a) @ joint.axis2, b) @ rotation_about(joint.axis, a),
        atol=1e-13,
    )


@given(mechanisms(1, 6, mimic=0.3), seeds)
def test_velocities_are_the_derivatives_of_poses(mechanism, seed):
    """Along q(t) with qdot = Gamma(q) v every frame moves with the velocity J v (central difference, error h^2)."""
    rng = np.random.default_rng(seed)
    q, v, _ = mechanism.random_state(rng)
    h = 1e-5

    def at(t: float) -> np.ndarray:
        moved = q.copy()
        for joint in mechanism.joints:
            if not joint.nq:
                continue
            own_q, own_v = mechanism.q_slice(joint.name), mechanism.v_slice(joint.name)
            if joint.kind in ("spherical", "free"):
                n = joint.nq - 4
                moved[own_q.start : own_q.start + n] += t * v[own_v.start : own_v.start + n]
                eta = q[own_q.start + n : own_q.stop]
                moved[own_q.start + n : own_q.stop] = quaternion_star(
                    eta, quaternion_exp(t * v[own_v.stop - 3 : own_v.stop])
                )
            else:
                moved[own_q] += t * v[own_v]
        return moved

    ahead, behind, here = poses(mechanism, at(h)), poses(mechanism, at(-h)), poses(mechanism, q)
    for name in ("tool", mechanism.bodies[-1].name):
        angular, linear = (J @ v for J in jacobian(mechanism, q, name))
        rate = (ahead[name].translation - behind[name].translation) / (2 * h)
        np.testing.assert_allclose(linear, rate, rtol=1e-6, atol=1e-7)
        spin = (ahead[name].rotation - behind[name].rotation) / (2 * h) @ here[name].rotation.T
        np.testing.assert_allclose([spin[2, 1], spin[0, 2], spin[1, 0]], angular, rtol=1e-6, atol=1e-7)


# --------------------------------------------------------------------------------------------------------------- tree


@given(mechanisms(1, 8, mimic=0.4), seeds)
def test_the_tree_has_the_mass_centre_and_poses_of_the_mechanism(mechanism, seed):
    q, _, _ = mechanism.random_state(np.random.default_rng(seed))
    tree, places = mechanism.tree, poses(mechanism, q)
    links = link_poses(tree, q)
    grounded = {body for body, (carrier, _) in tree.carriers.items() if carrier < 0}
    moving = [b for b in mechanism.bodies if b.name not in grounded]
    mass = sum(link.moments.mass for link in tree.links)
    assert mass == pytest.approx(sum(b.inertia.mass for b in moving), rel=1e-14)
    by_links = sum(
        (p.rotation @ link.moments.first + link.moments.mass * p.translation for link, p in zip(tree.links, links)),
        np.zeros(3),
    )
    by_bodies = sum((b.inertia.mass * places[b.name].apply(b.inertia.center) for b in moving), np.zeros(3))
    np.testing.assert_allclose(by_links, by_bodies, rtol=1e-11, atol=1e-11)
    for i, link in enumerate(tree.links):
        assert link.parent < i
        assert tree.ancestors[i][0] == i
        if link.parent >= 0:
            assert i in tree.children[link.parent]


@given(mechanisms(1, 8, mimic=0.5))
def test_the_layout_covers_q_and_v_once(mechanism):
    own = [j for j in mechanism.joints if j.nq]
    assert [k for j in own for k in range(mechanism.nq)[mechanism.q_slice(j.name)]] == list(range(mechanism.nq))
    assert [k for j in own for k in range(mechanism.nv)[mechanism.v_slice(j.name)]] == list(range(mechanism.nv))
    for joint in mechanism.joints:
        if joint.mimic:
            assert mechanism.q_slice(joint.name) == mechanism.q_slice(joint.mimic.joint)


@given(mechanisms(2, 8), seeds)
def test_bodies_are_depth_first_whatever_the_order_given(mechanism, seed):
    rng = np.random.default_rng(seed)
    bodies = [mechanism.bodies[k] for k in rng.permutation(len(mechanism.bodies))]
    assert mechanism.replace(bodies=bodies) == mechanism
    stack: list[str] = []
    for joint, body in zip(mechanism.joints, mechanism.bodies):
        assert joint.child == body.name
        while stack and stack[-1] != joint.parent:
            stack.pop()
        assert stack or joint.parent == WORLD
        stack.append(joint.child)


@given(mechanisms(2, 7, kinds=["revolute", "prismatic"], mimic=1.0), seeds)
def test_a_mimic_joint_is_where_the_gear_says(mechanism, seed):
    """A mechanism with gears is the one without, at the positions the gears dictate."""
    q, _, _ = mechanism.random_state(np.random.default_rng(seed))
    loose = mechanism.replace(joints=[j.replace(mimic=None) for j in mechanism.joints])
    spread = np.zeros(loose.nq)
    for joint in mechanism.joints:
        (position,) = q[mechanism.q_slice(joint.name)]
        gear = joint.mimic or Mimic("", 1, 0)
        spread[loose.q_slice(joint.name)] = gear.multiplier * position + gear.offset
    for name, pose in poses(loose, spread).items():
        np.testing.assert_allclose(poses(mechanism, q)[name].homogeneous(), pose.homogeneous(), atol=1e-13)


def test_several_roots_and_bodies_on_the_ground():
    bodies = (Body("a", BALL), Body("b", BALL), Body("stand", BALL))
    joints = (
        Joint("ja", "revolute", WORLD, "a"),
        Joint("js", "fixed", WORLD, "stand"),
        Joint("jb", "revolute", "stand", "b"),
    )
    mechanism = Mechanism("two", bodies, joints)
    assert [link.parent for link in mechanism.tree.links] == [-1, -1]
    assert mechanism.tree.carriers["stand"][0] == -1
    assert mechanism.mass == 3


def test_random_states_are_unit_and_inside_limits():
    mechanism = random_mechanism(5, 8, kinds=["spherical", "free", "revolute"], drives=True)
    q, v, a = mechanism.random_state(np.random.default_rng(0), (4, 3))
    assert q.shape == (4, 3, mechanism.nq) and v.shape == a.shape == (4, 3, mechanism.nv)
    for joint in mechanism.joints:
        own = q[..., mechanism.q_slice(joint.name)]
        if joint.kind in ("spherical", "free"):
            np.testing.assert_allclose(np.linalg.norm(own[..., -4:], axis=-1), 1, rtol=1e-14)
        elif joint.kind == "revolute":
            assert (joint.limits.lower <= own).all() and (own <= joint.limits.upper).all()
    assert all(abs(x) in (0, 1) for x in mechanism.neutral)


@pytest.mark.parametrize("look_up", ["body", "joint", "frame", "q_slice", "v_slice"])
def test_unknown_names_are_answered_with_suggestions(look_up):
    mechanism = Mechanism(
        "m", (Body("forearm", BALL),), (Joint("forearm", "revolute", WORLD, "forearm", limits=Limits(-1, 1)),)
    )
    with pytest.raises(ArgumentError, match="did you mean 'forearm'"):
        getattr(mechanism, look_up)("forarm")


def test_every_body_and_the_world_is_a_frame():
    mechanism = random_mechanism(0, 3)
    assert mechanism.frame(WORLD) == Frame(WORLD, WORLD)
    assert mechanism.frame("b2") == Frame("b2", "b2")
    assert mechanism.frame("tool").body == "b3"


def test_symbolic_poses_are_exact():
    l, q = sympy.symbols("l q")
    arm = Mechanism(
        "arm",
        (Body("a", BALL), Body("b", BALL)),
        (
            Joint("ja", "revolute", WORLD, "a"),
            Joint("jb", "fixed", "a", "b", placement=Transform.from_translation([l, 0, 0])),
        ),
    )
    tip = poses(arm, [q])["b"].translation.tolist()
    assert tip == [l * sympy.cos(q), l * sympy.sin(q), 0]


@given(mechanisms(1, 4, kinds=("spherical", "free", "revolute")), st.integers(0, 2**32 - 1), st.floats(1e-300, 1e300))
def test_normalise_gives_unit_quaternions_and_changes_nothing_else(mechanism, seed, size):
    q, _, _ = mechanism.random_state(np.random.default_rng(seed), (2, 3))
    scaled = q.copy()
    for joint in mechanism.joints:
        if joint.kind in ("spherical", "free"):
            scaled[..., mechanism.q_slice(joint.name).stop - 4 : mechanism.q_slice(joint.name).stop] *= size
    np.testing.assert_allclose(mechanism.normalise(scaled), q, rtol=1e-14, atol=1e-14)
    assert mechanism.normalise(q.tolist()).shape == q.shape


@pytest.mark.parametrize("wrong", [0.0, math.nan, math.inf])
def test_a_quaternion_that_is_no_rotation_is_named_with_its_state(wrong):
    ball = Mechanism("m", (Body("b", Inertia.box(1, (1, 2, 3))),), (Joint("ball", "spherical", WORLD, "b"),))
    q = np.tile(ball.neutral, (3, 1))
    q[2] = wrong
    with pytest.raises(SingularityError, match=r"joint 'ball': the quaternion of state \[2\] is zero or not finite"):
        ball.normalise(q)
    with pytest.raises(ArgumentError, match=r"q has shape \(3,\), expected \(\.\.\., 4\)"):
        ball.normalise([0, 0, 1])


def test_moments_of_welded_bodies_are_sums_of_what_each_has_about_the_origin_of_the_link():
    m1, m2, length = sympy.symbols("m1 m2 l", positive=True)
    ends = [Body("a", Inertia.point(m1, [length, 0, 0])), Body("b", Inertia.point(m2, [0, length, 0]))]
    joints = [Joint("j", "revolute", WORLD, "a"), Joint("w", "fixed", "a", "b")]
    (link,) = Mechanism("two", ends, joints).tree.links
    assert link.moments.mass == m1 + m2 and link.moments.first.tolist() == [length * m1, length * m2, 0]
    assert np.diag(link.moments.second).tolist() == [length**2 * m1, length**2 * m2, 0]  # no quotient of masses
