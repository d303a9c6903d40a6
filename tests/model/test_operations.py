"""An operation changes the description of a mechanism, not its mechanics: poses and generalised forces must agree."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from operation_helpers import by_name, chain, same_pose

from dalembert.algebra.transform import Transform
from dalembert.algorithms import inverse_dynamics
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, ModelWarning, UnsupportedError, ValidationError
from dalembert.kinematics import poses
from dalembert.model import WORLD, Body, Constraint, Force, Frame, Inertia, Joint, Limits, Mechanism, Mimic, Shape
from dalembert.model.operations import (
    add_payload,
    attach,
    joint_motion,
    lock,
    merge_fixed,
    subtree,
    with_base,
    with_gravity,
)
from dalembert.model.parameters import substitute, symbolise
from random_mechanisms import mechanisms, random_inertia, random_mechanism, random_transform

seeds = st.integers(0, 2**32 - 1)


# --------------------------------------------------------------------------------------------------------------- lock


@given(mechanisms(2, 8, mimic=0.4), seeds)
def test_lock_keeps_poses_and_forces(mechanism, seed):
    rng = np.random.default_rng(seed)
    q, v, a = mechanism.random_state(rng)
    free = [j for j in mechanism.joints if j.nq]
    chosen = [j for j in free if rng.random() < 0.5]
    for joint in chosen:
        v[mechanism.v_slice(joint.name)] = a[mechanism.v_slice(joint.name)] = 0
    locked = lock(mechanism, {j.name: q[mechanism.q_slice(j.name)] for j in chosen})
    assert locked.nq == mechanism.nq - sum(j.nq for j in chosen)
    q2, v2, a2 = by_name(mechanism, locked, q, v, a)
    before, after = poses(mechanism, q), poses(locked, q2)
    assert before.keys() == after.keys()
    for name in before:
        same_pose(before[name], after[name])
    (_, expected) = by_name(mechanism, locked, q, inverse_dynamics(mechanism, q, v, a))
    np.testing.assert_allclose(inverse_dynamics(locked, q2, v2, a2), expected, rtol=1e-10, atol=1e-9)


def test_lock_holds_the_followers_of_a_locked_joint():
    mechanism = chain(Mimic("j1", -2.0, 0.3))
    locked = lock(mechanism, {"j1": 0.5})
    assert [j.kind for j in locked.joints] == ["fixed", "fixed"]
    same_pose(poses(locked, [])["b2"], poses(mechanism, [0.5])["b2"])
    assert any("'j1' is locked at 0.5" in note for note in locked.notes)
    assert any("'j2' is locked at -0.7" in note for note in locked.notes)


def test_lock_of_all_joints_passes_over_those_that_follow_another():
    """The joint that leads decides; a number that contradicts it is a warning."""
    mechanism = chain(Mimic("j1", -2.0, 0.3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        locked = lock(mechanism, {"j2": -0.7, "j1": 0.5})
    same_pose(poses(locked, [])["b2"], poses(mechanism, [0.5])["b2"])
    with pytest.warns(ModelWarning, match="'j2' mimics 'j1' and is held at -0.7, not at 0$"):
        again = lock(mechanism, {"j1": 0.5, "j2": 0})
    assert again.joints == locked.joints


def test_lock_beyond_the_limits_warns_by_name_and_within_them_says_nothing():
    """j1 has the limits -1 .. 1; a follower has limits of its own."""
    follower = chain(Mimic("j1", -3))
    joints = [j.replace(limits=Limits(-2, 2)) if j.name == "j2" else j for j in follower.joints]
    follower = follower.replace(joints=joints)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lock(follower, {"j1": 0.5})
        lock(chain(), {"j1": 1, "j2": 100})
        lock(chain(), {"j1": sympy.Symbol("x")})
    with pytest.warns(ModelWarning, match=r"limits: 'j1' at 1.5, outside -1 .. 1; 'j2' at -4.5, outside -2 .. 2$"):
        assert lock(follower, {"j1": 1.5}).nv == 0
    with pytest.warns(ModelWarning, match="'j1' at 1.5708"):
        lock(chain(), {"j1": sympy.pi / 2})


def test_another_base_refuses_functions_of_all_coordinates():
    rule = Constraint("rule", "position", function=lambda q, t: q[0])
    stand = Mechanism("stand", (Body("b", Inertia.sphere(1, 1)),), (Joint("base", "free", WORLD, "b"),))
    with pytest.raises(UnsupportedError, match="with_base: 'rule'"):
        with_base(stand.replace(constraints=(rule,)), "fixed")
    assert with_base(stand.replace(constraints=(rule,)), "free").constraints == (rule,)


@pytest.mark.filterwarnings("ignore:lock. joints are held beyond")
def test_lock_at_a_right_angle_leaves_exact_zeros():
    rotation = lock(chain(), {"j1": np.pi / 2}).joint("j1").placement.rotation
    assert set(rotation.ravel()) <= {0.0, 1.0, -1.0}


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ({"j3": 0}, "no joint 'j3'; it has j1, j2, base"),
        ({"j2": 0}, "mimics 'j1'; lock that one"),
        ({"j1": [1, 2]}, "its position is one number, got shape (2,)"),
        ({"base": 0}, "is fixed; there is nothing to lock"),
        ({"j1": [[0]]}, "got shape (1, 1)"),
    ],
)
def test_lock_refuses(positions, message):
    mechanism = chain(Mimic("j1"))
    weld = Joint("base", "fixed", "b2", "b3")
    mechanism = mechanism.replace(bodies=(*mechanism.bodies, Body("b3")), joints=(*mechanism.joints, weld))
    with pytest.raises(ArgumentError) as error:
        lock(mechanism, positions)
    assert message in str(error.value)


def test_lock_refuses_a_quaternion_that_is_not_one():
    mechanism = random_mechanism(0, 1, kinds=["spherical"])
    with pytest.raises(ArgumentError, match="length 2, not 1"):
        lock(mechanism, {"j1": [0, 0, 0, 2]})


@pytest.mark.filterwarnings("ignore:lock. joints are held beyond")
def test_lock_and_couplings():
    def coupled(*coefficients, a="j1", b="j2"):
        return chain().replace(constraints=(Constraint("gear", "coupling", a, b, coefficients=coefficients),))

    (fixed,) = lock(coupled(1, 2, 3), {"j1": 2}).constraints
    assert (fixed.a, fixed.b, fixed.coefficients) == ("j2", "", (17,))
    (fixed,) = lock(coupled(1, 2), {"j2": 5}).constraints
    assert (fixed.a, fixed.b, fixed.coefficients) == ("j1", "", (2,))
    (fixed,) = lock(coupled(1, 2, 0, 0.0, 0), {"j2": 5}).constraints  # written with more powers than it has
    assert (fixed.a, fixed.b, fixed.coefficients) == ("j1", "", (2,))
    both = lock(coupled(1, 2), {"j1": 1, "j2": 3})
    for locked in (both, lock(coupled(1, 0), {"j2": 1}), lock(coupled(1), {"j2": 1}), lock(coupled(0), {"j2": 1})):
        assert not locked.constraints and any("'gear' is left out" in note for note in locked.notes)
    with pytest.raises(UnsupportedError, match="lock 'j1' instead"):
        lock(coupled(1, 2, 3), {"j2": 5})
    sprung = chain().replace(forces=(Force("s", "joint-spring", "j1", stiffness=1),))
    assert not lock(sprung, {"j1": 0}).forces
    assert len(lock(sprung, {"j2": 0}).forces) == 1


# ----------------------------------------------------------------------------------------------------- weld and mount


@given(mechanisms(2, 8, kinds=["fixed", "fixed", "revolute", "prismatic", "spherical"], mimic=0.3), seeds)
def test_merge_fixed_keeps_every_name_pose_and_force(mechanism, seed):
    q, v, a = mechanism.random_state(np.random.default_rng(seed))
    merged = merge_fixed(mechanism)
    assert all(joint.kind != "fixed" for joint in merged.joints)
    before, after = poses(mechanism, q), poses(merged, q)
    assert before.keys() == after.keys()
    for name in before:
        same_pose(before[name], after[name])
    expected = inverse_dynamics(mechanism, q, v, a)
    np.testing.assert_allclose(inverse_dynamics(merged, q, v, a), expected, rtol=1e-10, atol=1e-10)
    assert merge_fixed(merged) == merged


def test_merge_fixed_tells_when_a_field_of_gravity_sees_fewer_bodies():
    """The expansion about one centre of mass differs from that about two; without a second mass nothing changes."""
    bob, arm = Inertia.sphere(2.0, 0.1), Joint("swing", "revolute", WORLD, "a", axis=[0, 1, 0])
    weld = Joint("weld", "fixed", "a", "b", Transform.from_translation([1, 0, 0]))
    pull = Force("sun", "attraction", WORLD, WORLD, Transform.from_translation([0, 0, 5]), value=30.0)

    def fall(mechanism: Mechanism) -> float:
        return float(Dynamics(mechanism, elements="all").forward_dynamics([0.3], [0.0], [0.0])[0])

    for second, exact in ((bob, False), (Inertia(), True)):
        two = Mechanism("two", [Body("a", bob), Body("b", second)], [arm, weld], forces=[pull], gravity=[0, 0, 0])
        one = merge_fixed(two)
        assert (abs(fall(one) - fall(two)) < 1e-12) == exact
        assert any("'sun': expanded about one centre of mass" in note for note in one.notes) != exact
    assert merge_fixed(two.replace(forces=())).notes == ()


def test_merge_fixed_moves_shapes_constraints_and_forces():
    shift = Transform.from_translation([1, 2, 3])
    link = Body("arm", Inertia.sphere(1, 0.1))
    tip = Body("tip", Inertia.sphere(1, 0.1), (Shape("sphere", (0.1,)),))
    stand = Body("stand", Inertia.sphere(5, 0.1))
    mechanism = Mechanism(
        "m",
        (stand, link, tip),
        (
            Joint("base", "fixed", WORLD, "stand", placement=shift),
            Joint("j", "revolute", "stand", "arm"),
            Joint("weld", "fixed", "arm", "tip", placement=shift),
        ),
        constraints=(Constraint("c", "spherical", "tip", "stand"),),
        forces=(Force("f", "spring", "tip", placement_a=shift),),
    )
    merged = merge_fixed(mechanism)
    assert [body.name for body in merged.bodies] == ["arm"]
    assert merged.body("arm").shapes[0].placement == shift
    (c,), (f,) = merged.constraints, merged.forces
    assert (c.a, c.placement_a, c.b, c.placement_b) == ("arm", shift, WORLD, shift)
    assert (f.a, f.placement_a) == ("arm", shift @ shift)
    assert merged.mass == 2
    assert any("'stand' is fixed to the ground; its mass, 5" in note for note in merged.notes)


@given(mechanisms(1, 4), mechanisms(1, 4, massless=0), seeds, st.booleans())
def test_attach_puts_the_ground_of_the_other_on_a_frame(carrier, other, seed, with_joint):
    rng = np.random.default_rng(seed)
    joint = Joint("mount", "revolute", "tool", "flange", placement=random_transform(rng)) if with_joint else None
    carrier = carrier.replace(strict=False)  # a floating base on a joint has one motion too many
    whole = attach(carrier, other, to="tool", joint=joint, prefix="o/")
    assert whole.nv == carrier.nv + other.nv + with_joint
    q, _, _ = whole.random_state(rng)
    q1 = np.concatenate([q[whole.q_slice(j.name)] for j in carrier.joints] or [[]])
    q2 = np.concatenate([q[whole.q_slice("o/" + j.name)] for j in other.joints] or [[]])
    all_poses = poses(whole, q)
    for name, pose in poses(carrier, q1).items():
        same_pose(all_poses[name], pose)
    ground = all_poses["flange" if with_joint else "tool"]
    for name, pose in poses(other, q2).items():
        if name != WORLD:
            same_pose(all_poses["o/" + name], ground @ pose)


def test_attach_renames_everything_and_keeps_constraints():
    finger = chain(Mimic("j1")).replace(
        frames=(Frame("mark", WORLD),),
        constraints=(
            Constraint("loop", "spherical", "b2", WORLD),
            Constraint("gear", "coupling", "j1", "j2", coefficients=(0, 1)),
        ),
        forces=(Force("s", "joint-spring", "j1"),),
        notes=("seen",),
        gravity=[0, 0, 0],
    )
    arm = chain().replace(frames=(Frame("tool", "b2", Transform.from_translation([0, 0, 1])),))
    whole = attach(attach(arm, finger, to="tool", prefix="left_"), finger, to="tool", prefix="right_")
    assert whole.joint("right_j2").mimic.joint == "right_j1"
    assert whole.frame("left_mark").body == "b2"
    loop = next(c for c in whole.constraints if c.name == "right_loop")
    assert (loop.a, loop.b, loop.placement_b.translation[2]) == ("right_b2", "b2", 1)
    gear = next(c for c in whole.constraints if c.name == "left_gear")
    assert (gear.a, gear.b) == ("left_j1", "left_j2")
    assert {f.a for f in whole.forces} == {"left_j1", "right_j1"}
    assert "chain: seen" in whole.notes
    assert any("under the gravity of" in note for note in whole.notes)


def test_attach_refuses_clashes_and_wrong_joints():
    with pytest.raises(ArgumentError, match="already has 'b1', 'b2', 'j1', 'j2'; pass another prefix than ''"):
        attach(chain(), chain(), to="b2")
    with pytest.raises(ArgumentError, match="starts at 'world', but is to be attached to 'b2'"):
        attach(chain(), chain(), to="b2", prefix="x", joint=Joint("m", "fixed", WORLD, "f"))
    with pytest.raises(ArgumentError, match="no frame 'b3'; it has b1, b2"):
        attach(chain(), chain(), to="b3", prefix="x")


@given(mechanisms(1, 6), seeds)
def test_a_payload_is_matter_added_to_the_body(mechanism, seed):
    rng = np.random.default_rng(seed)
    q, v, a = mechanism.random_state(rng)
    payload = random_inertia(rng)
    loaded = add_payload(mechanism, "tool", payload, "load")
    at = mechanism.frame("tool")
    grown = tuple(
        body.replace(inertia=body.inertia + payload.moved(at.placement.rotation, at.placement.translation))
        if body.name == at.body
        else body
        for body in mechanism.bodies
    )
    expected = inverse_dynamics(mechanism.replace(bodies=grown), q, v, a)
    np.testing.assert_allclose(inverse_dynamics(loaded, q, v, a), expected, rtol=1e-10, atol=1e-9)
    same_pose(poses(loaded, q)["load"], poses(mechanism, q)["tool"])
    with pytest.raises(ArgumentError, match="already has 'load', 'load_joint'; give the payload another name"):
        add_payload(loaded, "tool", payload, "load")


@given(mechanisms(2, 8), seeds)
def test_subtree_sees_the_same_relative_poses(mechanism, seed):
    rng = np.random.default_rng(seed)
    q, _, _ = mechanism.random_state(rng)
    body = str(rng.choice([b.name for b in mechanism.bodies]))
    part = subtree(mechanism, body)
    (q2,) = by_name(mechanism, part, q)
    before, after = poses(mechanism, q), poses(part, q2)
    ground = before[next(j.parent for j in mechanism.joints if j.child == body)]
    assert body in after
    for name in after:
        if name != WORLD:
            same_pose(after[name], ground.inverse() @ before[name])


@given(mechanisms(2, 8), seeds)
def test_cutting_off_a_root_keeps_its_dynamics(mechanism, seed):
    """Trees side by side on the ground do not feel each other."""
    q, v, a = mechanism.random_state(np.random.default_rng(seed))
    tau = inverse_dynamics(mechanism, q, v, a)
    for root in (j.child for j in mechanism.joints if j.parent == WORLD):
        part = subtree(mechanism, root)
        q2, v2, a2, expected = by_name(mechanism, part, q, v, a, tau)
        np.testing.assert_allclose(inverse_dynamics(part, q2, v2, a2), expected, rtol=1e-10, atol=1e-10)


def test_subtree_and_what_reaches_outside():
    mechanism = chain().replace(
        constraints=(
            Constraint("out", "spherical", "b2", WORLD),
            Constraint("cut", "spherical", "b2", "b1"),
            Constraint("gear", "coupling", "j1", "j2", coefficients=(0, 1)),
        ),
        forces=(Force("s", "joint-spring", "j2"),),
    )
    part = subtree(mechanism, "b2")
    assert [(c.name, c.b) for c in part.constraints] == [("cut", WORLD)]
    assert len(part.forces) == 1
    assert sum("reaches outside" in note for note in part.notes) == 2
    assert any("axes of 'b1', the new ground" in note for note in part.notes)
    with pytest.raises(ArgumentError, match="lock 'j1' first"):
        subtree(chain(Mimic("j1")), "b2")
    with pytest.raises(ArgumentError, match="no body 'b'"):
        subtree(mechanism, "b")


def test_an_outside_body_with_the_name_of_an_inside_joint_is_still_outside():
    mechanism = chain().replace(constraints=(Constraint("out", "spherical", "b2", "b1"),))
    renamed = mechanism.replace(
        joints=(mechanism.joints[0], mechanism.joints[1].replace(name="b1")),
        forces=(Force("s", "joint-spring", "b1"),),
    )
    part = subtree(renamed, "b2")
    assert part.constraints[0].b == WORLD
    assert part.forces[0].a == "b1"


# -------------------------------------------------------------------------------------------------- gravity, base, rest


@given(mechanisms(1, 5), seeds)
def test_gravity_is_an_acceleration_of_the_base(mechanism, seed):
    q, v, a = mechanism.random_state(np.random.default_rng(seed))
    pulls = [inverse_dynamics(with_gravity(mechanism, g), q, v, a) for g in ([0, 0, 0], [1, 2, 3], [2, 4, 6])]
    np.testing.assert_allclose(pulls[2] - pulls[1], pulls[1] - pulls[0], rtol=1e-9, atol=1e-9)
    assert mechanism.gravity[2] == -9.81


def test_with_base_changes_only_the_root_joint():
    arm = random_mechanism(3, 4, kinds=["revolute"], branching=0, massless=0)
    robot = attach(
        Mechanism("b", (Body("base", Inertia.sphere(1, 1)),), (Joint("root", "fixed", WORLD, "base"),)), arm, to="base"
    )
    free = with_base(robot, "free")
    assert (free.nq, free.nv) == (robot.nq + 7, robot.nv + 6)
    assert with_base(free, "fixed") == robot == with_base(robot, "fixed")
    with pytest.raises(ArgumentError, match="choose 'free' or 'fixed'"):
        with_base(robot, "floating")
    with pytest.raises(ArgumentError, match="Put a base body"):
        with_base(arm, "free")
    two = attach(robot, robot, to=WORLD, prefix="second_")
    with pytest.raises(ArgumentError, match="'base', 'second_base'"):
        with_base(two, "free")
    assert with_base(two, "free", "second_base").joint("second_root").kind == "free"


def test_operations_are_checked_like_any_mechanism():
    with pytest.raises(ArgumentError, match="must be finite"):
        lock(chain(), {"j1": float("nan")})
    with pytest.raises(ValidationError, match="triangle"):
        add_payload(chain(), "b2", Inertia(1, np.zeros(3), np.diag([1, 1, 3])))


@given(mechanisms(1, 1, mimic=0), seeds)
def test_joint_motion_is_the_motion_of_the_child_body(mechanism, seed):
    (joint,) = mechanism.joints
    q, _, _ = mechanism.random_state(np.random.default_rng(seed))
    same_pose(joint.placement @ joint_motion(joint, q), poses(mechanism, q)[joint.child])


def test_operations_work_on_symbols():
    """Locked at a symbol and welded, then numbers put in: the same as with numbers from the start."""
    angle, mass = sympy.symbols("angle mass")
    symbolic = symbolise(chain(), {"b2.mass": mass})
    done = merge_fixed(lock(symbolic, {"j2": angle}))
    assert set(done.symbols) == {angle, mass}
    numeric = merge_fixed(lock(chain(), {"j2": 0.3}))
    back = substitute(done, {angle: 0.3, mass: 1})
    state = ([0.1], [0.2], [0.3])
    np.testing.assert_allclose(inverse_dynamics(back, *state), inverse_dynamics(numeric, *state), rtol=1e-12)
    assert attach(symbolic, symbolic, to="b2", prefix="x").symbols == (mass,)
