"""Reactions against a computation that cuts every joint: six equations of Newton and Euler for each free body.

The accelerations of the bodies are taken from their poses alone, by complex steps in time and fourth-order differences
(step 1e-3, error about 1e-11 of the largest derivative): 1e-7 relative to the largest force.
"""

from __future__ import annotations

import numpy as np
import pytest
from constraint_cases import STEP, at, four_bar, relative
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dalembert.algebra.transform import Transform
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.constraints import ForceSet, constraint_rows
from dalembert.constraints.classical import whipple_bicycle
from dalembert.constraints.solve import METHODS, solve
from dalembert.dynamics import Dynamics
from dalembert.dynamics.constrained import Setting, terms
from dalembert.dynamics.reactions import reactions
from dalembert.errors import ArgumentError, SingularityError
from dalembert.kinematics import pose
from dalembert.model import WORLD, Body, Constraint, Force, Frame, Inertia, Joint, Mechanism
from dalembert.simulation import simulate
from random_mechanisms import random_mechanism, random_transform

seeds = st.integers(0, 10_000)


def accelerated(mechanism, q, v, a, body):
    """Pose, angular velocity and acceleration, and acceleration of the centre of mass, from poses along q(t)."""
    center = mechanism.body(body).inertia.center

    def at_time(t):
        return pose(mechanism, q + v * t + a * t * t / 2, body)

    def rates(t):
        soon = at_time(t + 1j * STEP)
        skew = np.imag(soon.rotation) / STEP @ np.real(soon.rotation).T
        return np.array([skew[2, 1], skew[0, 2], skew[1, 0]]), np.imag(soon.apply(center)) / STEP

    h = 1e-3
    second = [
        (8 * (np.array(up) - np.array(down)) - (np.array(far) - np.array(back))) / (12 * h)
        for up, down, far, back in zip(rates(h), rates(-h), rates(2 * h), rates(-2 * h))
    ]
    return at_time(0.0), rates(0.0)[0], second[0], second[1]


def cut_everywhere(mechanism, q, v, a, tau, loads, closure, directions):
    """All wrenches by least squares: unknown are six numbers per joint and one per constrained direction.

    Args:
        loads: (body, force, moment about the world's origin), world axes.
        closure: names of the bodies (acted upon, acting) and the point, in the world.
        directions: world-axes wrench rows [force, moment about the point] that the closure can transmit.
    """
    names = [body.name for body in mechanism.bodies]
    joints = mechanism.joints
    unknowns = 6 * len(joints) + len(directions)
    rows, right = np.zeros((6 * len(names), unknowns)), np.zeros(6 * len(names))
    poses = {}
    for k, body in enumerate(mechanism.bodies):
        here, w, wd, acc = accelerated(mechanism, q, v, a, body.name)
        poses[body.name] = here
        I = here.rotation @ body.inertia.tensor @ here.rotation.T
        c = here.apply(body.inertia.center)
        force = body.inertia.mass * (acc - mechanism.gravity)
        right[6 * k : 6 * k + 3] = force
        right[6 * k + 3 : 6 * k + 6] = I @ wd + np.cross(w, I @ w) + np.cross(c, force)
    for body, force, moment in loads:
        k = names.index(body)
        right[6 * k : 6 * k + 6] -= np.concatenate([force, moment])

    def put(body, column, wrench):
        if body != WORLD:
            k = names.index(body)
            rows[6 * k : 6 * k + 6, column] += wrench

    conditions, values = [], []
    for j, joint in enumerate(joints):
        here = poses[joint.child]
        origin = here.translation
        for i, e in enumerate(np.eye(3)):
            force = np.concatenate([e, np.cross(origin, e)])
            moment = np.concatenate([np.zeros(3), e])
            for column, wrench in ((6 * j + i, force), (6 * j + 3 + i, moment)):
                put(joint.child, column, wrench)
                put(joint.parent, column, -wrench)
        condition = np.zeros(unknowns)
        first = 6 * j + (3 if joint.kind == "revolute" else 0)
        condition[first : first + 3] = here.rotation @ joint.axis
        conditions.append(condition)
        values.append(tau[mechanism.v_slice(joint.name)][0])
    acted, acting, point = closure
    for k, row in enumerate(directions):
        wrench = np.concatenate([row[:3], row[3:] + np.cross(point, row[:3])])
        put(acted, 6 * len(joints) + k, wrench)
        put(acting, 6 * len(joints) + k, -wrench)
    matrix, target = np.concatenate([rows, conditions]), np.concatenate([right, values])
    solution, _, rank, _ = np.linalg.lstsq(matrix, target, rcond=1e-10)
    assert np.abs(matrix @ solution - target).max() < 1e-6 * np.abs(target).max()
    assert rank == unknowns
    return solution[: 6 * len(joints)].reshape(-1, 6), solution[6 * len(joints) :] @ np.array(directions), poses


@settings(max_examples=15)
@example(seed=3595)  # b6 slides along the plane it is held in
@given(seed=seeds)
def test_reactions_of_a_spatial_loop(seed):
    rng = np.random.default_rng(seed)
    tree = random_mechanism(rng, 6, kinds=["revolute", "prismatic"], massless=0.0, branching=0.3)
    q, v, _ = tree.random_state(rng)
    kind = ["spherical", "point-on-plane", "revolute"][seed % 3]
    here = random_transform(rng, 0.3)
    other = WORLD if seed % 2 else "b2"
    there = pose(tree, q, other).inverse() @ pose(tree, q, "b6") @ here
    spring = Force("s", "spring", "b3", "b5", here, random_transform(rng), stiffness=40.0, damping=3.0, rest=0.2)
    push = Force("p", "wrench", "tool", WORLD, components=tuple(rng.normal(size=6) * 5))
    loop = Constraint("loop", kind, other, "b6", there, here)
    mechanism = tree.replace(constraints=(loop,), forces=(spring, push))

    G = constraint_rows(mechanism, q).G
    size = np.linalg.svd(G)[1]
    # Rows are per metre or radian, of order one. One that hardly moves with any velocity - a point held in a plane by a
    # body that only slides along it - has a multiplier that nothing determines; its ratio to itself would not tell.
    assume(size[-1] > 0.05 * max(size[0], 1.0))
    v -= np.linalg.pinv(G) @ (G @ v)
    tau = rng.normal(size=mechanism.nv) * 5
    setting = Setting(mechanism, elements=ForceSet(mechanism))
    M, f, G, gamma = terms(setting, q, v, tau, 0)
    found = solve(M, G, f, gamma)
    joints, loops = reactions(setting, q, v, found.a, found.multipliers, 0)

    # The same forces, from poses and finite geometry.
    loads = []
    soon = {body: pose(mechanism, q + 1j * STEP * v, body) for body in ("b3", "b5")}
    ends = {body: (soon[body] @ p).translation for body, p in (("b3", here), ("b5", spring.placement_b))}
    line = ends["b5"] - ends["b3"]
    length = np.sqrt(line @ line)
    pull = (40.0 * (length.real - 0.2) + 3.0 * length.imag / STEP) * line.real / length.real
    for body, sign in (("b3", 1), ("b5", -1)):
        loads.append((body, sign * pull, np.cross(ends[body].real, sign * pull)))
    tool = pose(mechanism, q, "tool").translation
    force, moment = np.array(push.components[:3]), np.array(push.components[3:])
    loads.append(("b6", force, moment + np.cross(tool, force)))

    frame = pose(mechanism, q, other) @ there
    point = (pose(mechanism, q, "b6") @ here).translation
    R = frame.rotation
    allowed = {
        "spherical": [[*R[:, k], 0, 0, 0] for k in range(3)],
        "point-on-plane": [[*R[:, 2], 0, 0, 0]],
        "revolute": [[*R[:, k], 0, 0, 0] for k in range(3)] + [[0, 0, 0, *R[:, k]] for k in range(2)],
    }[kind]
    wrenches, transmitted, poses = cut_everywhere(
        mechanism, q, v, found.a, tau, loads, ("b6", other, point), [np.array(row, dtype=float) for row in allowed]
    )
    scale = max(np.abs(wrenches).max(), 1.0)
    for joint, ours, theirs in zip(mechanism.joints, joints, wrenches):
        turn = poses[joint.child].rotation
        assert relative(turn @ ours[:3], theirs[:3], scale) < 1e-7, joint.name
        assert relative(turn @ ours[3:], theirs[3:], scale) < 1e-7, joint.name
    assert relative(R @ loops[0][:3], transmitted[:3], scale) < 1e-7
    assert relative(R @ loops[0][3:], transmitted[3:], scale) < 1e-7


def test_fixed_joints_have_reactions_too():
    """A four-bar whose rocker is welded together from two halves: the weld transmits what cutting there shows."""
    mechanism = four_bar()
    rocker = mechanism.body("rocker_bar")
    half = Inertia(1.0, [0.5, 0, 0], np.diag([1e-6, 1 / 12, 1 / 12]))
    split = mechanism.replace(
        bodies=[*(b for b in mechanism.bodies if b is not rocker), Body("rocker_bar", half), Body("tip", half)],
        joints=[*mechanism.joints, Joint("weld", "fixed", "rocker_bar", "tip", at([1.0, 0, 0]))],
        constraints=[mechanism.constraints[0].replace(b="tip", placement_b=at([1.0, 0, 0]))],
    )
    systems = [Dynamics(m, reference=[1.0, -0.5, 1.7]) for m in (mechanism, split)]
    q = systems[0].assemble()
    v = systems[0].project_velocity(q, [2.0, 0, 0])
    tau = np.array([3.0, 0, 0])
    whole, halves = (s.reactions(q, v, tau, axes="world") for s in systems)
    for name in ("crank", "coupler", "rocker", "pin"):
        assert relative(halves[name].force, whole[name].force) < 1e-9
    a = systems[0].forward_dynamics(q, v, tau)
    radius = np.array([np.cos(q[2]), np.sin(q[2]), 0])
    across = np.array([-radius[1], radius[0], 0])
    acceleration = 1.5 * (across * a[2] - radius * v[2] ** 2)
    expected = acceleration - mechanism.gravity - halves["pin"].force
    assert relative(halves["weld"].force, expected) < 1e-9


def test_components_that_redundancy_leaves_open_are_named():
    planar, spatial = four_bar(kind="point-on-line"), four_bar(kind="revolute")
    q = Dynamics(planar, reference=[1.0, -0.5, 1.7]).assemble()
    sure, doubtful = (
        Dynamics(m, reference=q).reactions(q, np.zeros(3), [3.0, 0, 0])["coupler"] for m in (planar, spatial)
    )
    assert sure.unique.all()
    assert doubtful.unique.tolist() == [True, True, False, False, False, True]
    assert "not unique" in str(doubtful) and "fz, mx, my" in str(doubtful)
    assert relative(doubtful.force[:2], sure.force[:2]) < 1e-9


def test_a_joint_and_a_constraint_of_one_name_both_have_reactions():
    linkage = four_bar()
    (pin,), joints = linkage.constraints, linkage.joints
    twin = linkage.replace(constraints=(pin.replace(name=joints[1].name),))
    one, two = (Dynamics(m, reference=[1.0, -0.5, 1.7]) for m in (linkage, twin))
    q = one.assemble()
    v, tau = one.project_velocity(q, [2.0, 0, 0]), np.zeros(3)
    names = {pin.name: f"constraint:{joints[1].name}", joints[1].name: f"joint:{joints[1].name}"}
    told, again = one.reactions(q, v, tau), two.reactions(q, v, tau)
    assert list(again) == [names.get(name, name) for name in told]
    for name, reaction in told.items():
        assert relative(again[names.get(name, name)].force, reaction.force) < 1e-12
    along = [simulate(system, q, v, t=[0.0, 0.1]).reactions() for system in (one, two)]
    assert list(along[1]) == [names.get(name, name) for name in along[0]]


def test_frames_and_points_of_reactions():
    mechanism = four_bar().replace(frames=(Frame("corner", WORLD, random_transform(np.random.default_rng(1))),))
    system = Dynamics(mechanism, reference=[1.0, -0.5, 1.7])
    q = system.assemble()
    v = system.project_velocity(q, [2.0, 0, 0])
    tau = np.array([3.0, 0, 0])
    own, turned = system.reactions(q, v, tau)["rocker"], system.reactions(q, v, tau, axes="corner")["rocker"]
    moved = system.reactions(q, v, tau, axes="corner", point=[1.0, 2.0, 3.0])["rocker"]
    with pytest.raises(ArgumentError, match="no frame 'wrld'; did you mean 'world'"):
        system.reactions(q, v, tau, axes="wrld")
    R, corner = pose(mechanism, q, "rocker_bar"), pose(mechanism, q, "corner")
    assert relative(corner.rotation @ turned.force, R.rotation @ own.force) < 1e-12
    assert relative(moved.force, turned.force) < 1e-15
    arm = corner.rotation.T @ (R.translation - corner.apply([1.0, 2.0, 3.0]))
    assert relative(moved.moment, turned.moment + np.cross(arm, turned.force)) < 1e-12
    assert "point (1, 2, 3) of corner" in str(moved) and "axes of corner" in str(moved)
    with pytest.raises(ArgumentError, match="say which"):
        system.reactions(q, v, tau, point=[0, 0, 0])


@pytest.mark.parametrize("kind", ["point-on-line", "revolute"])
@pytest.mark.parametrize("view", [{}, {"axes": "world"}, {"axes": "coupler_bar", "point": [0.1, 0.2, 0.3]}])
def test_a_batch_of_reactions_is_the_reactions_one_by_one(kind, view):
    """Also through the position where the crank lies along the ground, and with redundant rows."""
    system = Dynamics(four_bar(kind=kind), reference=[1.0, -0.5, 1.7])
    angles = np.linspace(0.3, 2.8, 6).reshape(2, 3)
    q = np.array([[system.assemble([angle, -0.5, 1.7], keep=["crank"]) for angle in row] for row in angles])
    v = np.array([[system.project_velocity(x, [2.0, 0, 0]) for x in row] for row in q])
    tau = np.array([3.0, 0, 0])
    together = system.reactions(q, v, tau, **view)
    for place in np.ndindex(2, 3):
        alone = system.reactions(q[place], v[place], tau, **view)
        for name, one in alone.items():
            assert relative(together[name].force[place], one.force) < 1e-12
            assert relative(together[name].moment[place], one.moment, np.abs(one.force).max()) < 1e-12
            assert (together[name].unique[place] == one.unique).all()
    assert "(2, 3) states" in str(together["coupler"])
    assert ("not unique" in str(together["coupler"])) == (kind == "revolute")


def test_contact_forces_of_the_bicycle_carry_its_weight():
    """At rest upright: the wheels carry the weight with the leverage of the centre of mass, nothing else acts."""
    mechanism = whipple_bicycle()
    q = np.array([0, 0, 0.3, 0, 0, 0, 0, 0, 0], dtype=float)
    system = Dynamics(mechanism, reference=q)
    found = system.reactions(q, np.zeros(9), np.zeros(9), axes="world")
    weight = np.array([2.0, 85.0, 4.0, 3.0]) * 9.81
    front = weight @ [0.0, 0.3, 0.9, 1.02] / 1.02
    assert relative(found["front_contact"].force, [0, 0, front]) < 1e-12
    assert relative(found["rear_contact"].force, [0, 0, weight.sum() - front]) < 1e-12


# ---------------------------------------------------------------------------------------------- inverse dynamics


def test_inverse_dynamics_gives_the_torque_that_produced_the_motion():
    system = Dynamics(four_bar(), reference=[1.0, -0.5, 1.7])
    q = system.assemble()
    v = system.project_velocity(q, [2.0, 0, 0])
    a = system.forward_dynamics(q, v, [3.0, 0, 0])
    found = system.drive_forces(q, v, a, actuated=["crank"])
    assert relative(found.tau, [3.0, 0, 0]) < 1e-10
    assert found.surplus == 0 and found.criterion == "unique"
    total = inverse_dynamics(system.mechanism, q, v, a)
    rows = constraint_rows(system.mechanism, q)
    assert relative(found.tau + rows.G.T @ found.multipliers, total) < 1e-10


def test_surplus_drives_share_the_load_by_the_stated_criterion():
    system = Dynamics(four_bar(), reference=[1.0, -0.5, 1.7])
    q = system.assemble()
    v = system.project_velocity(q, [2.0, 0, 0])
    a = system.forward_dynamics(q, v, [3.0, 0, 0])
    both = system.drive_forces(q, v, a, actuated=["crank", "rocker"])
    weak = system.drive_forces(q, v, a, actuated=["crank", "rocker"], weights=[1.0, 1e-6])
    assert both.surplus == 1 and "least sum" in both.criterion
    assert np.linalg.norm(both.tau) < 3.0
    assert relative(weak.tau, [3.0, 0, 0]) < 1e-5
    assert relative(system.forward_dynamics(q, v, both.tau), a) < 1e-10
    # Least: any other solution differs by torques that do no work, and is orthogonal to the one found.
    motion = v / v[0]
    assert abs(both.tau[0] * motion[2] - both.tau[2] * motion[0]) < 1e-10


@pytest.mark.parametrize("tilt", [0.0, 0.3, 1.1])
def test_a_drive_of_a_joint_that_moves_as_told_has_nothing_to_do(tilt):
    """A ball on a tilted plate: the given motion moves the plate, and rounding of its row is no lever for the drive."""
    slope, radius = Transform.from_rpy_xyz([0, tilt, 0], [0, 0, 0]), 0.2
    plate = Body("plate", Inertia.box(5.0, (1, 1, 0.1)))
    ball = Body("ball", Inertia(1.3, np.zeros(3), 0.4 * 1.3 * radius**2 * np.eye(3)))
    joints = (Joint("lift", "prismatic", WORLD, "plate", slope, axis=[1, 0, 0]), Joint("free", "free", WORLD, "ball"))
    roll = Constraint("roll", "rolling-sphere", "ball", "plate", value=radius)
    told = Constraint("told", "motion", "lift", coefficients=(0, 0, 0.1))
    system = Dynamics(Mechanism("slope", (plate, ball), joints, constraints=(roll, told)))
    q, v = np.array([0, *(radius * slope.rotation[:, 2]), 0, 0, 0, 1]), np.zeros(7)
    solution = system.solve(q, v, np.zeros(7))
    found = system.drive_forces(q, v, solution.a, actuated=["lift"])
    assert (found.tau == 0).all() and found.surplus == 1 and "least sum" in found.criterion
    assert relative(found.multipliers, solution.multipliers) < 1e-10


def test_batches_are_the_states_one_by_one():
    """Inverse dynamics and linearization along a motion; coordinates are chosen once."""
    system = Dynamics(four_bar(), reference=[1.0, -0.5, 1.7])
    q = np.array([[system.assemble([angle, -0.5, 1.7], keep=["crank"])] for angle in (0.7, 1.0, 1.3)])
    v = np.array([[system.project_velocity(x[0], [2.0, 0, 0])] for x in q])
    tau = np.array([3.0, 0, 0])
    a = system.forward_dynamics(q, v, tau)
    drives = system.drive_forces(q, v, a, actuated=["crank"])
    assert drives.tau.shape == (3, 1, 3) and relative(drives.tau, np.broadcast_to(tau, (3, 1, 3))) < 1e-9
    linear = system.linear_model(q, v, tau, positions=["crank"], speeds=["crank"])
    assert linear.A.shape == (3, 1, 2, 2) and linear.poles.shape == (3, 1, 2)
    for k in range(3):
        alone = system.linear_model(q[k, 0], v[k, 0], tau, positions=["crank"], speeds=["crank"])
        assert (linear.A[k, 0] == alone.A).all() and (linear.B[k, 0] == alone.B).all()
        assert np.abs(linear.poles[k, 0] - alone.poles).max() < 1e-12
    with pytest.raises(ArgumentError, match=r"v has shape \(3, 1, 2\)"):
        system.linear_model(q, v[..., :2], tau)
    with pytest.raises(ArgumentError, match="do not fit each other"):
        system.drive_forces(q, np.concatenate([v, v])[:5], a, actuated=["crank"])
    with pytest.raises(ArgumentError, match="one position"):
        system.analyse(q)


@pytest.mark.parametrize("method", METHODS)
def test_nan_stays_with_its_state_and_nothing_gives_nothing(method):
    system = Dynamics(four_bar(), reference=[1.0, -0.5, 1.7])
    q = np.tile(system.assemble(), (3, 1))
    v, tau = np.zeros((3, 3)), np.tile([3.0, 0, 0], (3, 1))
    q[1, 2] = np.nan
    found, alone = system.solve(q, v, tau, method=method), system.solve(q[0], v[0], tau[0], method=method)
    assert np.isnan(found.a[1]).all() and np.isnan(found.multipliers[1]).all()
    assert relative(found.a[[0, 2]], np.array([alone.a, alone.a])) < 1e-9
    pins = system.reactions(q, v, tau)["pin"].force
    assert np.isnan(pins[1]).any() and np.isfinite(pins[[0, 2]]).all()
    none = np.zeros((0, 3))
    assert system.drive_forces(none, none, none, actuated="crank").tau.shape == (0, 3)
    assert system.reactions(none, none, none)["pin"].force.shape == (0, 3)
    for ask in (system.assemble, system.analyse):
        with pytest.raises(ArgumentError, match="not finite"):
            ask(q[1])


def test_motions_that_are_impossible_or_not_driven_are_refused():
    system = Dynamics(whipple_bicycle(), reference=[0, 0, 0.3, 0, 0, 0, 0, 0, 0])
    q, v = np.array([0, 0, 0.3, 0, 0, 0, 0, 0, 0], dtype=float), np.zeros(9)
    with pytest.raises(ArgumentError, match="violate the constraints"):
        system.drive_forces(q, v, np.ones(9), actuated=["rear"])
    tau = np.zeros(9)
    tau[4] = 30.0
    a = system.forward_dynamics(q, v, tau)
    with pytest.raises(SingularityError, match=r"3 degrees of freedom, they reach 2.*lean"):
        system.drive_forces(q, v, a, actuated=["rear", "steer"])
    with pytest.raises(ArgumentError, match="2 positive numbers"):
        system.drive_forces(q, v, a, actuated=["rear", "steer"], weights=[1.0])
