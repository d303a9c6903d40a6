"""Reactions of every kind of joint and closure obey Newton and Euler for each body, and power is balanced.

Nothing of the library but poses enters the laws: momenta come from poses along the motion by differences of fourth
order in time (step 5e-4: rounding 1e-9, truncation far less unless accelerations are huge), virtual displacements
likewise.
"""

from __future__ import annotations

import numpy as np
import pytest
from constraint_cases import at, four_bar, relative
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.algebra import scalar
from dalembert.algebra.transform import Transform
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError
from dalembert.formats import load
from dalembert.kinematics import pose
from dalembert.kinematics.manifold import moved
from dalembert.model import WORLD, Body, Constraint, Force, Inertia, Joint, Mechanism
from random_mechanisms import random_mechanism, random_transform

H = 5e-4
JOINTS = (
    "fixed", "revolute", "continuous", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical",
)  # fmt: skip
IDLE = {
    "weld": [], "spherical": [3, 4, 5], "revolute": [5], "prismatic": [2], "cylindrical": [2, 5], "universal": [5],
    "distance": [3, 4, 5], "point-on-line": [2, 3, 4, 5], "point-on-plane": [0, 1, 3, 4, 5],
}  # fmt: skip
"""Components [force; moment] in the axes of frame a, about the origin of b, that a closure cannot transmit."""


class Interpreted(Dynamics):
    """The same without a compiler: for many mechanisms that are each looked at once."""

    def evaluate(self, quantity, *state, **options):
        spec = self.quantity(quantity)
        (ports, outputs), compute = self.ports(spec, {}), spec.compute
        arrays = [np.asarray(x, dtype=float) for x in state]
        sizes = [len(port.shape) for port in ports]
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - k] for x, k in zip(arrays, sizes)))
        arrays = [np.broadcast_to(x, (*batch, *x.shape[x.ndim - k :])) for x, k in zip(arrays, sizes)]
        setting = self.setting()
        rows = [compute(setting, *(x[place] for x in arrays)) for place in np.ndindex(batch)]
        rows = [row if len(outputs) > 1 else (row,) for row in rows]
        found = [
            np.array([row[i] for row in rows], dtype=float).reshape((*batch, *port.shape))
            for i, port in enumerate(outputs)
        ]
        return tuple(found) if len(outputs) > 1 else found[0]


def second_difference(f, h=H):
    return (16 * (f(h) + f(-h)) - (f(2 * h) + f(-2 * h)) - 30 * f(0.0)) / (12 * h * h)


def first_difference(f, h=H):
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def axial(skew):
    return np.array([skew[2, 1] - skew[1, 2], skew[0, 2] - skew[2, 0], skew[1, 0] - skew[0, 1]]) / 2


def demanded(mechanism, q, v, a):
    """For every body what must act on it besides weight: [force; moment about the world's origin], world axes."""

    times = (0.0, H, -H, 2 * H, -2 * H)
    paths = {t: moved(mechanism.tree, q, v * t + a * t * t / 2) for t in times}
    poses = {(t, body.name): pose(mechanism, paths[t], body.name) for t in times for body in mechanism.bodies}

    def there(t, body):
        return poses[t, body]

    found = {}
    for body in mechanism.bodies:
        m, I, c = body.inertia.mass, body.inertia.tensor, body.inertia.center
        name = body.name
        R = np.asarray(there(0.0, name).rotation, dtype=float)
        turning = axial(first_difference(lambda t, n=name: np.asarray(there(t, n).rotation, dtype=float)) @ R.T)
        second = second_difference(lambda t, n=name: np.asarray(there(t, n).rotation, dtype=float)) @ R.T
        accelerated = axial(second)  # R'' R^T = [w'] + [w][w], whose skew part is [w']
        tensor = R @ I @ R.T
        force = m * (second_difference(lambda t, n=name, c=c: there(t, n).apply(c)) - mechanism.gravity)
        moment = tensor @ accelerated + np.cross(turning, tensor @ turning)
        found[name] = np.concatenate([force, moment + np.cross(there(0.0, name).apply(c), force)])
    return found


def displaced(mechanism, q, direction, body):
    """Velocity of the point of a body that is at the world's origin, and its angular velocity, along a direction."""
    here = pose(mechanism, q, body)
    point = here.inverse().translation
    R = np.asarray(here.rotation, dtype=float)
    poses = {s: pose(mechanism, moved(mechanism.tree, q, direction * s), body) for s in (-2 * H, -H, H, 2 * H)}
    shift = first_difference(lambda s: np.asarray(poses[s].apply(point), dtype=float))
    return shift, axial(first_difference(lambda s: np.asarray(poses[s].rotation, dtype=float)) @ R.T)


def check(system, q, v, tau, t=0.0, loads=(), tolerance=1e-6):
    """Newton and Euler for every body, d'Alembert for every joint."""
    mechanism = system.mechanism
    solution = system.solve(q, v, tau, t)
    found = system.reactions(q, v, tau, t, axes="world", point=[0, 0, 0])
    want = demanded(mechanism, q, v, solution.a)
    acting = {name: np.zeros(6) for name in (WORLD, *want)}
    for body, wrench in loads:
        acting[body] += wrench
    for joint in mechanism.joints:
        wrench = np.concatenate([found[joint.name].force, found[joint.name].moment])
        acting[joint.child] += wrench
        acting[joint.parent] -= wrench
    for item in mechanism.constraints:
        if item.name in found:
            wrench = np.concatenate([found[item.name].force, found[item.name].moment])
            acting[mechanism.frame(found[item.name].on).body] += wrench
            acting[mechanism.frame(found[item.name].by).body] -= wrench
    scale = max(1.0, *(np.abs(x).max() for x in acting.values()), *(np.abs(x).max() for x in want.values()))
    for name, wrench in want.items():
        assert np.abs(acting[name] - wrench).max() < tolerance * scale, name
    # Along its own freedoms a joint transmits its drive, and what rows on joints and users' rows add to it.
    G = system.evaluate("positions", q, t)[1]
    own = np.zeros(mechanism.nv)
    for item in mechanism.constraints:
        if item.name not in found:
            rows = system.constraints.slice(item.name)
            own += G[rows].T @ solution.multipliers[rows]
    for joint in mechanism.joints:
        part = mechanism.v_slice(joint.name)
        for k in range(part.start, part.stop):
            shift, turn = displaced(mechanism, q, np.eye(mechanism.nv)[k], joint.child)
            power = found[joint.name].force @ shift + found[joint.name].moment @ turn  # both about the world's origin
            assert abs(power - tau[k] - own[k]) < tolerance * scale, (joint.name, k)
    return found, solution


def consistent(system, q, rng, t=0.0):
    """Velocities that satisfy the constraints, and some drives."""
    v = rng.normal(size=system.mechanism.nv)
    _, G, rate, _ = system.evaluate("constraints", q, v, t)
    return v - np.linalg.pinv(G, rcond=1e-8) @ (G @ v - rate), rng.normal(size=len(v)) * 4


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_bodies_are_in_balance_whatever_joins_them(seed):
    """Random trees with every kind of joint, on the ground or afloat, with and without weight; two closures of any
    kinds that share a body."""
    rng = np.random.default_rng(seed)
    gravity = [0.0, 0.0, -9.81] if seed % 3 else [0.0, 0.0, 0.0]
    tree = random_mechanism(rng, 5, kinds=JOINTS, floating=bool(seed % 2), massless=0.0, gravity=gravity)
    tree = tree.replace(
        bodies=(*tree.bodies, Body("extra", Inertia.box(1, [0.1, 0.2, 0.3]))),
        joints=(*tree.joints, Joint("extra_joint", "spherical", "b1", "extra", random_transform(rng))),
    )
    q, _, _ = tree.random_state(rng)
    kinds = [str(kind) for kind in rng.choice(list(IDLE), size=2)]
    closures = []
    for name, kind, (one, two) in zip(("first", "second"), kinds, (("b5", "extra"), ("extra", WORLD))):
        here = random_transform(rng, 0.3)
        there = pose(tree, q, one).inverse() @ pose(tree, q, two) @ here
        extra = {}
        if kind == "distance":
            there, extra = there @ at([0.3, 0.4, 0.0]), {"value": 0.5}
        if kind == "universal":  # the axes of its cross are perpendicular
            there = there @ Transform.from_rpy_xyz([np.pi / 2, 0, 0], [0, 0, 0])
        closures.append(Constraint(name, kind, one, two, there, here, **extra))
    push = Force("push", "wrench", "b3", WORLD, components=tuple(rng.normal(size=6) * 5))
    system = Interpreted(tree.replace(constraints=tuple(closures), forces=(push,)), elements="all", reference=q)
    v, tau = consistent(system, q, rng)
    force, moment = np.array(push.components[:3]), np.array(push.components[3:])
    arm = np.asarray(pose(tree, q, "b3").translation, dtype=float)
    check(system, q, v, tau, loads=[("b3", np.concatenate([force, moment + np.cross(arm, force)]))])
    own = system.reactions(q, v, tau)
    for closure in closures:
        wrench = np.concatenate([own[closure.name].force, own[closure.name].moment])
        assert np.abs(wrench[IDLE[closure.kind]]).max(initial=0.0) <= 1e-9 * max(1.0, np.abs(wrench).max())


def test_given_motions_and_couplings_load_their_joints_as_drives_do():
    """At 1 s of the motion, with a rule of the user's own: what they demand appears along the freedom of the joint."""
    tree = random_mechanism(4, 5, kinds=("revolute", "prismatic"), massless=0.0)
    rules = (
        Constraint("given", "motion", "j1", "", function=lambda t: 0.3 * scalar.sin(2 * t)),
        Constraint("gear", "coupling", "j2", "j4", coefficients=(0.1, -2.0, 0.5)),
        Constraint("own", "position", function=lambda q, t: q[2] * q[4] + t * q[2] - 1),
    )
    system = Dynamics(tree.replace(constraints=rules))
    q = system.assemble(np.full(5, 0.4), t=1.0)
    v, tau = consistent(system, q, np.random.default_rng(0), 1.0)
    _, solution = check(system, q, v, tau, t=1.0)
    assert np.abs(solution.multipliers).min() > 1e-3


def test_the_motor_of_a_given_motion_gives_the_torque_of_inverse_dynamics():
    bars = four_bar()
    drive = Constraint("drive", "motion", "crank", "", function=lambda t: 1 + 3 * t + scalar.sin(t))
    driven = Dynamics(bars.replace(constraints=(*bars.constraints, drive)), reference=[1.0, -0.5, 1.7])
    q = driven.assemble(t=0.2)
    v = driven.project_velocity(q, np.zeros(3), 0.2)
    found, solution = check(driven, q, v, np.zeros(3), t=0.2)
    free = Dynamics(bars, reference=[1.0, -0.5, 1.7])
    needed = free.drive_forces(q, v, solution.a, 0.2, actuated=["crank"])
    own = driven.reactions(q, v, np.zeros(3), 0.2)["crank"]
    assert relative(own.moment[2], needed.tau[0]) < 1e-9
    assert found["crank"].unique[5]


def test_two_loops_on_one_body_share_it_and_both_are_unique():
    """A plate on three legs in a plane, six hinged bars: every joint is determined."""
    bodies, joints, pins = [], [], []
    for k, (x, y) in enumerate([(-1.0, 0.0), (0.0, -0.4), (1.0, 0.0)]):
        bar = Inertia(1.0, [0.3, 0, 0], np.diag([1e-3, 0.03, 0.03]))
        bodies += [Body(f"lower{k}", bar), Body(f"upper{k}", bar)]
        joints += [
            Joint(f"hip{k}", "revolute", WORLD, f"lower{k}", at([x, y, 0])),
            Joint(f"knee{k}", "revolute", f"lower{k}", f"upper{k}", at([0.7, 0, 0])),
        ]
    bodies.append(Body("plate", Inertia(3.0, [0.0, 0.05, 0], np.diag([0.1, 0.1, 0.2]))))
    joints.append(Joint("ankle0", "revolute", "upper0", "plate", at([0.7, 0, 0])))
    for k, x in ((1, 0.4), (2, 0.8)):
        pins.append(Constraint(f"ankle{k}", "point-on-line", f"upper{k}", "plate", at([0.7, 0, 0]), at([x, 0, 0])))
    robot = Mechanism("three legs", tuple(bodies), tuple(joints), constraints=tuple(pins), gravity=[0, -9.81, 0])
    system = Dynamics(robot, reference=[1.9, -0.9, 1.9, -0.9, 1.9, -0.7, -1.2])
    q = system.assemble()
    assert system.analyse(q).degrees_of_freedom == 3
    rng = np.random.default_rng(2)
    v, tau = consistent(system, q, rng)
    found, _ = check(system, q, v, tau)
    assert all(reaction.unique.all() for reaction in found.values())


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000))
def test_power_is_balanced(seed):
    """Energy grows by the power of drives, of force elements that store none, and of constraints that move:
    E' = tau . v + Q . v + multipliers . rate."""
    rng = np.random.default_rng(seed)
    tree = random_mechanism(rng, 4, kinds=JOINTS[1:], floating=bool(seed % 2), massless=0.0)
    q, _, _ = tree.random_state(rng)
    single = [joint.name for joint in tree.joints if joint.nv == 1]
    x = float(q[tree.q_slice(single[0]).start]) if single else 0.0
    here = random_transform(rng, 0.3)
    there = pose(tree, q, "b2").inverse() @ pose(tree, q, "b4") @ here
    rules = [Constraint("loop", "spherical", "b2", "b4", there, here)]
    rules.append(Constraint("own", "velocity", function=lambda q, v, t: v[0] + q[0] * v[1] - scalar.cos(t) * 2))
    if single:
        given_motion = Constraint("given", "motion", single[0], "", function=lambda t: x + 1.5 * t - t * t)
        rules.append(given_motion)
    spring = Force(
        "spring", "spring", WORLD, "b3", random_transform(rng), random_transform(rng), stiffness=30.0, rest=0.1
    )
    push = Force("push", "wrench", "b4", WORLD, components=tuple(rng.normal(size=6) * 5))
    mechanism = tree.replace(constraints=tuple(rules), forces=(spring, push))
    system = Interpreted(mechanism, elements="all", reference=q)
    stored = Interpreted(mechanism, elements=["spring"], reference=q)
    v, tau = consistent(system, q, rng)
    _, G, rate, _ = system.evaluate("constraints", q, v, 0.0)
    if np.abs(G @ v - rate).max() > 1e-9:
        return  # the rules contradict each other here
    found = system.solve(q, v, tau)
    if found.violation > 1e-9 * max(1.0, np.abs(found.a).max()):
        return
    pushed = system.evaluate("element_forces", q, v, 0.0)[1]
    growth = first_difference(
        lambda s: float(
            stored.evaluate("energy", moved(mechanism.tree, q, v * s + found.a * s * s / 2), v + found.a * s, 0.0)
        ),
        H / max(1.0, np.abs(v).max(), np.sqrt(np.abs(found.a).max())),  # its error goes with (v h)^4 and (a h^2)^2
    )
    expected = tau @ v + pushed @ v + found.multipliers @ rate
    scale = max(1.0, np.abs(tau * v).max(), np.abs(found.multipliers * rate).max(), np.abs(pushed * v).max())
    scale = max(scale, float(stored.evaluate("energy", q, v, 0.0)), np.abs(v).max() ** 2 * np.abs(found.a).max())
    assert abs(growth - expected) < 1e-6 * scale


@pytest.mark.parametrize("gravity", [(0, 0, 0), (0, 0, -9.81)])
def test_afloat_the_reaction_of_the_free_joint_is_its_drive(gravity):
    mechanism = random_mechanism(3, 4, kinds=("revolute", "spherical"), floating=True, massless=0.0, gravity=gravity)
    system = Dynamics(mechanism)
    rng = np.random.default_rng(1)
    q, v, _ = mechanism.random_state(rng)
    check(system, q, v, rng.normal(size=mechanism.nv))
    still = system.reactions(q, v, np.zeros(mechanism.nv))[mechanism.joints[0].name]
    assert np.abs(still.force).max() < 1e-9 and np.abs(still.moment).max() < 1e-9


def test_forces_are_for_states_on_the_constraints_but_for_drift():
    """A motion that drifts has forces that are off by as much; what nobody has assembled has none.

    Forces of some N change by 10 N/m here. What is no number is left so, in a batch beside others.
    """
    system = Dynamics(load("four_bar", parameters="default"), reference=[1.0, -0.7, 1.6])
    q = system.assemble(keep=["drive"])
    v = system.project_velocity(q, [1, 0, 0], keep=["drive"])
    off = np.array([0, 1e-4, 0])
    at_rest = np.zeros(3)
    force = {name: x.force for name, x in system.reactions(q, v, at_rest).items()}
    for name, x in system.reactions([q + off, [np.nan, 0, 0]], v, at_rest).items():
        assert np.abs(x.force[0] - force[name]).max() < 1e-2 and np.isnan(x.force[1]).all()
    a = system.solve(q, v, at_rest).a
    for state, words in (
        ((q + 100 * off, v), "q violates .*'pin'.*assemble"),
        ((q, v + 100 * off), "v violates.*proj"),
    ):
        with pytest.raises(ArgumentError, match=f"reactions: {words}"):
            system.reactions(*state, at_rest)
        with pytest.raises(ArgumentError, match=f"drive_forces: {words}"):
            system.drive_forces(*state, a, actuated=["drive"])
