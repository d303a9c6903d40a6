"""Mechanisms with constraints and force elements: drift, energy, batches, inconsistent starts."""

import importlib.util
import warnings

import numpy as np
import pytest
from motion_cases import by, pendulum

from dalembert.algebra.transform import Transform
from dalembert.constraints.classical import rolling_disc
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, SimulationWarning, UnsupportedError
from dalembert.formats import load
from dalembert.model import WORLD, Body, Constraint, Frame, Inertia, Joint, Mechanism
from dalembert.model.force import Force
from dalembert.model.operations import lock
from dalembert.pictures import draw_energies
from dalembert.simulation import (
    Event,
    RolloutTask,
    SimulationError,
    joint_stop,
    load_trajectory,
    rollout,
    samples,
    simulate,
    sweep,
)
from random_mechanisms import random_mechanism


@pytest.mark.parametrize(("method", "most"), [("Radau", 8000), ("BDF", 2500)])
def test_stiff_springs_near_rest_cost_no_more_than_elsewhere(method, most):
    """A linkage held by a spring and damper of 1e6: it settles within milliseconds, where static equilibrium is.

    There the spring has the torque that holds the weight. Differences of one side took 43000 evaluations by Radau.
    """
    linkage = load("four_bar", parameters="default")
    spring = Force("spring", "joint-spring", "pivot", stiffness=1e6, damping=1e4, rest=1.6)
    system = Dynamics(linkage.replace(forces=(spring,)), elements="all", reference=[1.0, -0.7, 1.6])
    found = simulate(system, system.assemble(), None, [0, 0.4], method=method, rtol=1e-8, atol=1e-10)
    assert found.info["evaluations"] < most
    free = Dynamics(linkage, reference=found.q[-1])
    needed = free.drive_forces(found.q[-1], np.zeros(3), np.zeros(3), actuated=["pivot"])
    assert abs(1e6 * (1.6 - found["pivot"].q[-1]) - needed.tau[2]) < 1e-2 * abs(needed.tau[2])


def four_bar(scale=1.0):
    """Crank, coupler and rocker of a planar linkage, closed by a pin; lengths and masses scaled."""

    def rod(name, length):
        moments = np.array([1e-3, length**3 / 12, length**3 / 12])
        return Body(name, Inertia(length * scale, [length / 2 * scale, 0, 0], np.diag(moments * scale**3)))

    at = lambda x: Transform.from_translation(np.array([x * scale, 0.0, 0.0]))  # noqa: E731
    bodies = (rod("crank", 0.3), rod("coupler", 0.9), rod("rocker", 0.7))
    joints = (
        Joint("a", "continuous", "world", "crank", axis=[0, 1, 0]),
        Joint("b", "continuous", "crank", "coupler", placement=at(0.3), axis=[0, 1, 0]),
        Joint("d", "continuous", "world", "rocker", placement=at(0.8), axis=[0, 1, 0]),
    )
    turned = Transform.from_rotation(np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]))  # z of the frame along y
    pin = Constraint("pin", "revolute", "coupler", "rocker", at(0.9) @ turned, at(0.7) @ turned)
    return Mechanism("four bar", bodies, joints, constraints=(pin,))


@pytest.fixture(scope="module")
def linkage():
    system = Dynamics(four_bar(), reference=[0.5, -1.2, -1.5])
    q = system.assemble([0.5, -1.2, -1.5], keep=["a"])
    return system, q, system.project_velocity(q, [6.0, 0, 0], keep=["a"])


@pytest.mark.parametrize("method", ["DOP853", "rk4", "LSODA", "Radau"])
def test_loop_stays_closed_and_keeps_its_energy_for_ten_seconds(linkage, method):
    system, q, v = linkage
    end = 1.0 if method == "Radau" else 10.0  # it is slow without a Jacobian
    motion = simulate(system, q, v, np.linspace(0, end, 101), **by(method, 2e-3))
    residual = np.abs(system.residual(motion.q)["pin"])
    assert residual.max() < 1e-9
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-5 * np.ptp(motion.kinetic_energy)


def test_rotors_of_a_loop_belong_to_its_kinetic_energy(linkage):
    _, q, v = linkage
    mechanism = four_bar()
    mechanism = mechanism.replace(joints=tuple(joint.replace(armature=0.05) for joint in mechanism.joints))
    motion = simulate(Dynamics(mechanism, reference=q, include=("armature",)), q, v, np.linspace(0, 1, 21))
    bare = Dynamics(mechanism, constraints=(), elements=())
    rotors = 0.05 * (motion.v**2).sum(axis=1) / 2
    np.testing.assert_allclose(motion.kinetic_energy, bare.kinetic_energy(motion.q, motion.v) + rotors, rtol=1e-12)
    np.testing.assert_allclose(motion.potential_energy, bare.potential_energy(motion.q), atol=1e-12)
    assert np.ptp(motion.energy) < 1e-7 * np.ptp(motion.kinetic_energy)


@pytest.mark.parametrize("drift", ["baumgarte", "ggl"])
def test_every_way_to_hold_the_loop_gives_the_same_motion(linkage, drift):
    """Projection holds it to rounding; the others let it drift as far as the integrator's errors do."""
    system, q, v = linkage
    times, tight = np.linspace(0, 2, 21), {"rtol": 1e-10, "atol": 1e-10}
    projected = simulate(system, q, v, times, **tight)
    damped = simulate(four_bar(), q, v, times, drift=drift, stabilisation=10.0, **tight)
    assert np.abs(projected.q - damped.q).max() < 1e-6
    assert 0 < np.abs(system.residual(damped.q)["pin"]).max() < 1e-7


def test_stabilised_loops_stay_closed_for_ten_seconds(linkage):
    system, q, v = linkage
    motion = simulate(
        four_bar(), q, v, np.linspace(0, 10, 101), drift="ggl", stabilisation=20.0, rtol=1e-12, atol=1e-12
    )
    assert np.abs(system.residual(motion.q)["pin"]).max() < 1e-9
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-5 * np.ptp(motion.kinetic_energy)


def test_positions_and_velocities_go_back_each_for_themselves(linkage):
    """By the multipliers of Gear, Gupta and Leimkuhler dphi/dt = -w phi whatever the velocities; by those of the
    accelerations d(G v)/dt = -w G v whatever the positions. Checked on the flow itself, off the constraints."""
    from dalembert.simulation.equations import KernelEquations
    from dalembert.simulation.stabiliser import stabilised

    system, q, v = linkage
    w = 7.0
    moving = stabilised(system, drift="ggl", stabilisation=w)
    equations = KernelEquations(moving, lambda t, q, v: np.zeros(3))
    rng = np.random.default_rng(0)
    for _ in range(5):
        q1, v1, e = q + 1e-2 * rng.normal(size=3), v + rng.normal(size=3), 1e-6
        flow = equations.flow(0.0, np.concatenate([q1, v1]))

        def violations(s):
            phi, G, _, _ = system.evaluate("constraints", q1 + s * flow[:3], v1 + s * flow[3:], 0.0)  # noqa: B023
            return phi[kept], G[kept] @ (v1 + s * flow[3:])  # noqa: B023

        kept = list(system.pivots.rows)
        (phi, rate), ahead, behind = violations(0.0), violations(e), violations(-e)
        assert np.abs((ahead[0] - behind[0]) / (2 * e) + w * phi).max() < 1e-6
        # along the flow G changes with qdot, not with v; off the constraints these differ
        turned = (
            system.evaluate("constraints", q1 + e * v1, v1, 0.0)[1]
            - system.evaluate("constraints", q1 - e * v1, v1, 0.0)[1]
        )
        change = system.evaluate("positions", q1, 0.0)[1][kept] @ flow[3:] + (turned[kept] / (2 * e)) @ v1
        assert np.abs(change + w * rate).max() < 1e-6 * (1 + np.abs(w * rate).max())


@pytest.mark.parametrize("method", ["rk4", "lie-rk4", "semi-implicit-euler"])
def test_batches_are_stabilised_as_single_motions_are(linkage, method):
    _, q, v = linkage
    held = {"drift": "ggl", "stabilisation": 30.0, "method": method}
    many = rollout(four_bar(), q, v * np.array([[1.0], [0.5]]), 200, 1e-3, every=20, **held)
    one = simulate(four_bar(), q, v / 2, many.t, step=1e-3, **held)
    assert np.abs(many.q[1] - one.q).max() < 1e-10


def test_ways_to_hold_loops_are_chosen_by_name(linkage):
    system, q, v = linkage
    for options, message in (
        ({"drift": "glue"}, "choose one of projection, baumgarte, ggl"),
        ({"drift": "ggl"}, "needs a positive frequency"),
        ({"drift": "baumgarte", "stabilisation": np.inf}, "needs a positive frequency"),
        ({"drift": "projection", "stabilisation": 5.0}, "projection needs no"),
        ({"stabilisation": 5.0}, "made with stabilisation = 0"),  # it would have to be said at its making
    ):
        with pytest.raises(ArgumentError, match=message):
            simulate(system, q, v, 0.1, **options)


@pytest.mark.parametrize(("method", "step"), [("rk4", 0.02), ("semi-implicit-euler", 0.01)])
def test_coarse_steps_close_loops_to_rounding_in_batches_as_well(linkage, method, step):
    system, q, v = linkage
    many = rollout(system, q, v * np.array([[1.0], [-0.5]]), 500, step, method=method)
    assert np.abs(system.residual(many.q)["pin"]).max() < 1e-13  # a tenth of a radian at a step, lengths of a metre
    rows = system.evaluate("constraints", many.q, many.v, 0.0)
    assert np.abs((rows[1] @ many.v[..., None])[..., 0] - rows[2]).max() < 1e-12


def test_batches_of_loops_stay_closed(linkage):
    system, q, _ = linkage
    speeds = np.array([-8.0, -2.0, 3.0, 6.0, 9.0])
    v = np.array([system.project_velocity(q, [w, 0, 0], keep=["a"]) for w in speeds])
    many = rollout(system, q, v, 5000, 2e-3, every=50)
    assert np.abs(system.residual(many.q)["pin"]).max() < 1e-12
    one = simulate(system, q, v[3], many.t[:11], method="rk4", step=2e-3)
    assert np.abs(many.q[3, :11] - one.q).max() < 1e-9


def test_inconsistent_start_is_refused_by_name(linkage):
    system, q, v = linkage
    with pytest.raises(ArgumentError, match="q0 violates the constraint 'pin' by"):
        simulate(system, q + 0.1, v, 1.0)
    with pytest.raises(ArgumentError, match="v0 violates"):
        simulate(system, q, v + 0.1, 1.0)
    with pytest.raises(ArgumentError, match="violates"):
        rollout(system, np.stack([q, q + 0.1]), v, 10)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3])
def test_small_mechanisms_are_refused_where_large_ones_are(linkage, scale):
    _, q, v = linkage
    system = Dynamics(four_bar(scale), reference=q)
    fast = v / np.sqrt(scale)  # weight moves it in times that grow with the root of its size
    assert simulate(system, q, fast, t=0.01 * np.sqrt(scale)).status == "finished"
    with pytest.raises(ArgumentError, match="q0 violates the constraint 'pin'"):
        simulate(system, q + [0, 1e-3, 0], t=0.01)
    with pytest.raises(ArgumentError, match="v0 violates the constraint 'pin'"):
        simulate(system, q, fast * [1, 1.001, 1], t=0.01)
    with pytest.raises(ArgumentError, match="q violates the constraint 'pin'"):
        system.linear_model(q + [0, 1e-3, 0], np.zeros(3), np.zeros(3))


def test_a_loop_that_its_constraints_lock_stands_still_and_says_so(linkage):
    """The same linkage moves if its crank is given a motion: then it is not locked."""
    _, q, _ = linkage
    locked = lock(four_bar(), {"a": float(q[0])})
    for move in (
        lambda: simulate(locked, q[1:], t=0.5).q[-1],
        lambda: rollout(locked, q[1:], None, steps=5).q[-1],
    ):
        with pytest.warns(SimulationWarning, match="leave no degree of freedom: it stands still"):
            assert np.abs(move() - q[1:]).max() < 1e-12
    motor = Constraint("motor", "motion", "a", coefficients=(float(q[0]), 1.0))
    driven = four_bar().replace(constraints=(*four_bar().constraints, motor))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SimulationWarning)
        v = Dynamics(driven, reference=q).project_velocity(q, np.zeros(3))
        assert abs(simulate(driven, q, v, 0.5).q[-1, 0] - q[0] - 0.5) < 1e-9


def test_variational_refuses_loops(linkage):
    system, q, v = linkage
    with pytest.raises(UnsupportedError, match="does not know constraints"):
        simulate(system, q, v, 1.0, method="variational")
    with pytest.raises(UnsupportedError, match="does not know constraints"):
        rollout(system, q, v, 10, method="variational")


def test_wrench_and_control_act_on_loops(linkage):
    """Work of a torque on the crank and of a force on the coupler is the energy gained."""
    _, q, v = linkage
    motion = simulate(
        four_bar(), q, v, np.linspace(0, 1, 401), control=[1.5, 0, 0], wrenches={"coupler": [0, 0, 3.0, 0, 0, 0]}
    )
    J = np.array([motion.dynamics.jacobian(x, frame="coupler", axes="body") for x in motion.q])
    rate = np.einsum("tij,tj->ti", J, motion.v)[:, 2] * 3.0
    from dalembert.simulation.balance import integral

    gained = motion.energy - motion.energy[0]
    assert np.abs(gained - motion.work - integral(motion.t, rate)).max() < 1e-5 * np.ptp(gained)  # splines of samples


@pytest.mark.parametrize("method", ["DOP853", "rk4", "variational", "lie-rk4"])
def test_spring_pendulum_oscillates_as_it_should(method):
    """Small oscillations about the hanging position with a spring in the joint: w^2 = g/l + k/(m l^2)."""
    spring = Force("spring", "joint-spring", "hinge", stiffness=5.0)
    mechanism = pendulum(0.7, 1.3).replace(forces=(spring,))
    tight = {"rtol": 1e-12, "atol": 1e-14}  # of a motion this small
    w = np.sqrt(9.81 / 0.7 + 5.0 / (1.3 * 0.49))
    motion = simulate(mechanism, [1e-4], None, np.linspace(0, 3, 31), elements="all", **by(method, 2e-3, **tight))
    assert np.abs(motion.q[:, 0] - 1e-4 * np.cos(w * motion.t)).max() < (2e-8 if method == "variational" else 1e-8)
    assert np.ptp(motion.energy) < 1e-5 * np.ptp(motion.kinetic_energy) + 1e-15
    free = simulate(mechanism, [1e-4], None, 1.0, elements=())
    assert abs(free(0.5).q[0] - 1e-4 * np.cos(np.sqrt(9.81 / 0.7) * 0.5)) < 1e-8


def test_impact_at_a_stop_keeps_the_loop_closed_and_loses_energy(linkage):
    system, q, v = linkage
    stops = joint_stop(system, "a", upper=2.0, restitution=0.6)
    motion = simulate(system, q, v, 1.0, events=stops)
    assert motion.events
    k = int(np.flatnonzero(np.diff(motion.t) == 0)[0])
    _, G, rate, _ = system.evaluate("constraints", motion.q[k + 1], motion.v[k + 1], 0.0)
    assert np.abs(G @ motion.v[k + 1] - rate).max() < 1e-9
    assert abs(motion.v[k + 1, 0] + 0.6 * motion.v[k, 0]) < 1e-9
    assert motion.energy[k + 1] < motion.energy[k]


def test_reactions_balance_the_weight_and_the_momentum(linkage):
    """Forces of ground on crank and rocker, turned to world axes, are weight plus rate of linear momentum."""
    system, q, v = linkage
    motion = simulate(system, q, v, np.linspace(0, 0.5, 51))
    found = motion.reactions()
    assert set(found) == {"a", "b", "d", "pin"}
    total = np.zeros((len(motion), 3))
    for joint, body in (("a", "crank"), ("d", "rocker")):
        rotation = motion.quantity("pose", frame=body)[0]
        total += np.einsum("tij,tj->ti", rotation, found[joint][:, :3])
    wanted = np.zeros((len(motion), 3)) - motion.mechanism.mass * motion.mechanism.gravity
    for body in motion.mechanism.bodies:
        center = tuple(body.inertia.center)
        wanted += body.inertia.mass * motion.quantity("acceleration", frame=body.name, point=center)[:, :3]
    assert np.abs(total - wanted).max() < 1e-9 * np.abs(wanted).max()
    pendulum_motion = simulate(pendulum(0.7, 1.3), [0.0], [2.0], 0.1)
    pull = pendulum_motion.reactions()["hinge"][0]
    assert abs(pull[2] - 1.3 * (9.81 + 0.7 * 4.0)) < 1e-9  # weight and centripetal force at the lowest point


@pytest.mark.parametrize("kind", ["loop", "tree"])
def test_reactions_know_external_wrenches(linkage, kind):
    """A wrench from outside, in the axes of its frame, loads joints and loops like an element of the same force."""
    if kind == "loop":
        system, q, v = linkage
        mechanism, frames = system.mechanism, ("coupler", "rocker")
    else:
        mechanism = random_mechanism(3, 5, kinds=("revolute", "prismatic", "spherical"), floating=True)
        q, v, _ = mechanism.random_state(np.random.default_rng(0))
        mechanism = mechanism.replace(
            frames=[Frame("tool", mechanism.bodies[-1].name, Transform.from_translation(np.array([0.1, 0.2, 0.3])))]
        )
        frames = "tool", mechanism.bodies[1].name
    pushes = dict(zip(frames, ([1.0, 2, 3, 0.3, 0.2, 0.1], [-3.0, 1, 0, 0.1, 0, 0.5])))
    elements = [Force(f"on {name}", "wrench", name, name, components=x) for name, x in pushes.items()]
    t = np.linspace(0, 0.1, 5)
    outside = simulate(mechanism, q, v, t, wrenches=pushes)
    inside = simulate(mechanism.replace(forces=elements), q, v, t, elements="all")
    assert np.abs(outside.q - inside.q).max() < 1e-7
    theirs = inside.reactions()
    for name, wrench in outside.reactions().items():
        assert np.abs(wrench - theirs[name]).max() < 1e-5 * max(1.0, np.abs(theirs[name]).max())


def test_the_force_of_a_given_motion_is_in_the_reaction_of_its_joint():
    """A block moved as 0.3 t^2 is pushed by m a and carried against its weight; the motion itself has no place."""
    block = Mechanism(
        "block",
        [Body("block", Inertia.box(2.0, (0.1, 0.1, 0.1)))],
        [Joint("slide", "prismatic", "world", "block", axis=[1, 0, 0])],
        constraints=[Constraint("drive", "motion", "slide", coefficients=(0.0, 0.0, 0.3))],
    )
    found = simulate(block, None, None, np.linspace(0, 1, 5)).reactions()
    assert set(found) == {"slide"}
    assert np.abs(found["slide"] - [2.0 * 0.6, 0, 2.0 * 9.81, 0, 0, 0]).max() < 1e-12


def test_given_motion_depends_on_time():
    """The first joint of a double pendulum is moved as 0.3 t^2, the second follows."""
    from motion_cases import double_pendulum

    driven = double_pendulum().replace(
        constraints=(Constraint("drive", "motion", "first", coefficients=(0.0, 0.0, 0.3)),)
    )
    motion = simulate(driven, None, None, np.linspace(0, 2, 21))
    assert np.abs(motion.q[:, 0] - 0.3 * motion.t**2).max() < 1e-10
    many = rollout(driven, None, None, 1000, 2e-3, every=100)
    assert np.abs(many.q[:, 0] - 0.3 * many.t**2).max() < 1e-10
    assert np.abs(many.q - motion(many.t).q).max() < 1e-7


def test_parameters_of_loops_differ_by_motion(tmp_path):
    """Masses by motion give the motions of mechanisms with these masses; lengths that break the loop are refused."""
    symbolic = load("four_bar")
    values = {"g": 9.81, "l0": 1.0, "l1": 0.4, "l2": 0.9, "l3": 0.7, "m1": 0.4, "m2": 0.9, "m3": 0.7}
    system = Dynamics(load("four_bar", parameters="default"))
    q = system.assemble([1.0, -0.7, 1.6], keep=["drive"])
    v = system.project_velocity(q, [2.0, 0, 0], keep=["drive"])
    masses = np.array([0.4, 2.0])
    many = rollout(symbolic, q, v, 50, 2e-3, parameters={**values, "m1": masses})
    for k, mass in enumerate(masses):
        one = rollout(symbolic, q, v, 50, 2e-3, parameters={**values, "m1": mass})
        assert np.abs(many.q[k] - one.q).max() < 1e-12
    assert np.abs(many.q[0] - rollout(system, q, v, 50, 2e-3).q).max() < 1e-12
    with pytest.raises(ArgumentError, match="q0 violates the constraint 'pin' by"):
        rollout(symbolic, q, v, 50, 2e-3, parameters={**values, "l1": np.array([0.4, 0.5])})
    made = Dynamics(symbolic, parameters=values)  # it knows them already
    assert np.abs(rollout(made, q, v, 50, 2e-3).q - many.q[0]).max() < 1e-12
    assert rollout(made, np.zeros((0, 3)), v, 5).q.shape == (0, 6, 3)
    task = RolloutTask(symbolic, 50, 2e-3, parameters=values)
    found = sweep(task, samples(q0=np.stack([q, q]), v0=np.stack([v, v]), m1=masses), tmp_path, piece=1)
    assert np.abs(found["q"] - many.final_q).max() < 1e-12


def test_one_motion_of_a_batch_knows_its_own_parameters():
    """Energy is kept, states between records close the loop, and reactions are those of simulate."""
    linkage = load("four_bar")
    given = {"g": 9.81, "l0": 1.0, "l1": 0.4, "l2": 0.9, "l3": 0.7, "m1": 0.4, "m2": 0.9, "m3": 0.7}
    both = given, {**given, "l2": 1.0, "m2": 2.7}
    systems = [Dynamics(linkage, parameters=values) for values in both]
    q = [system.assemble([1.0, -0.7, 1.6], keep=["drive"]) for system in systems]
    v = [system.project_velocity(at, [2.0, 0, 0], keep=["drive"]) for system, at in zip(systems, q)]
    found = rollout(linkage, q, v, 500, 1e-3, parameters={name: [values[name] for values in both] for name in given})
    for k, system in enumerate(systems):
        motion = found.trajectory(k)
        assert np.ptp(motion.energy) < 1e-6
        assert np.abs(system.residual(motion(0.12345).q)["pin"]).max() < 1e-12
        single = simulate(system, q[k], v[k], motion.t).reactions()
        assert all(np.abs(motion.reactions()[name] - force).max() < 1e-5 for name, force in single.items())


def offset_slider(rod):
    """A crank of 0.1 m driven at 6 rad/s, a rod of a length that may be a letter, a slide 0.05 m beside the pivot."""
    bodies = [Body("crank", Inertia(1.0, [0.05, 0, 0], np.diag([1e-6, 1e-3, 1e-3]))), Body("piston", Inertia(2.0))]
    joints = [
        Joint("drive", "revolute", "world", "crank", axis=[0, 1, 0]),
        Joint("slide", "prismatic", "world", "piston", Transform.from_translation([0, 0, 0.05]), axis=[1, 0, 0]),
    ]
    rules = [
        Constraint(
            "rod", "distance", "crank", "piston", placement_a=Transform.from_translation([0.1, 0, 0]), value=rod
        ),
        Constraint("motor", "motion", "drive", coefficients=(0, 6)),
    ]
    return Mechanism("press", bodies, joints, constraints=rules)


def test_motions_beyond_the_reach_of_loops_end_where_the_loop_would_open():
    """A rod shorter than crank and offset together jams: sin(6 t) = (l - 0.05) / 0.1 at the dead point."""
    sympy = pytest.importorskip("sympy")
    lengths = np.array([0.13, 0.145, 0.16, 0.4])
    jams = np.arcsin((lengths - 0.05) / 0.1, where=lengths < 0.15, out=np.full(4, np.inf)) / 6
    systems = [Dynamics(offset_slider(x), reference=[0, 0.1 + x]) for x in lengths]
    q = [system.assemble() for system in systems]
    v = [system.project_velocity(at, [6.0, 0]) for system, at in zip(systems, q)]
    many = offset_slider(sympy.Symbol("l"))
    with pytest.warns(SimulationWarning, match="2 of 4 motions did not stay finite.*beyond their reach"):
        found = rollout(many, q, v, 1000, 1e-3, parameters={"l": lengths})
    assert found.finite.tolist() == [False, False, True, True]
    for k, (system, jam) in enumerate(zip(systems, jams)):
        good = np.isfinite(found.q[k]).all(axis=1)
        assert abs(good.sum() * 1e-3 - min(jam, 1.001)) < 5e-3  # steps of 1 ms; within some of the dead point it fails
        times = np.arange(1001)[good] * 1e-3
        residuals = [np.abs(system.residual(at, t)["rod"]).max() for at, t in zip(found.q[k][good], times)]
        assert max(residuals) < 1e-3  # what counts as closed
    for options in ({}, {"method": "Radau"}, {"method": "rk4"}, {"method": "rk4", "step": 1e-4}):  # the last marches
        with pytest.raises(SimulationError, match="a given motion asks for more than the loops can reach") as told:
            simulate(systems[0], q[0], v[0], 1.0, **options)
        assert abs(told.value.time - jams[0]) < 3e-3


@pytest.mark.parametrize("hold", [None, 1])
def test_what_follows_the_end_of_a_motion_is_not_a_number(hold, tmp_path):
    """The press jams; until then everything is what the part alone tells, and nothing is told of later."""
    press = offset_slider(0.13)
    q = Dynamics(press, reference=[0, 0.23]).assemble()
    v = Dynamics(press, reference=q).project_velocity(q, [6.0, 0])
    with pytest.warns(SimulationWarning, match="beyond their reach"):
        motion = rollout(press, q, v, 300, 1e-3, control=lambda t, q, v: -v, hold=hold).trajectory()
    end = int(np.argmin(np.isfinite(motion.v).all(axis=1)))
    assert 140 < end < 160 and np.isnan(motion.q[end:]).all() and motion.status == "failed"
    part = motion[:end]
    for name in ("work", "energy", "power", "a", "qdot"):
        whole, known = getattr(motion, name), getattr(part, name)
        assert np.isfinite(known).all() and np.array_equal(whole[:end], known), name
        assert np.isnan(whole[end:].reshape(len(motion) - end, -1)).any(axis=1).all(), name
    for name, force in motion.reactions().items():
        assert np.array_equal(force[:end], part.reactions()[name]) and np.isnan(force[end:]).any(axis=1).all(), name
    assert np.isnan(motion(0.2).v).all() and np.isnan(motion["slide", 0.25].q)
    motion.to_npz(tmp_path / "ended.npz")
    assert np.array_equal(load_trajectory(tmp_path / "ended.npz", press).q, motion.q, equal_nan=True)
    if importlib.util.find_spec("matplotlib"):
        motion.plot()
        draw_energies(motion)


@pytest.mark.parametrize("kind", ["weld", "prismatic"])
def test_frames_half_a_turn_apart_are_no_start(kind):
    """The sines that rows are made of vanish there, too."""
    bodies = [
        Body("arm", Inertia(1.0, [0.2, 0, 0], np.eye(3) / 50)),
        Body("b", Inertia(1.0, [0.1, 0, 0], np.eye(3) / 50)),
    ]
    joints = [Joint("hinge", "revolute", "world", "arm", axis=[0, 1, 0]), Joint("f", "free", "world", "b")]
    grip = Constraint("grip", kind, "arm", "b", placement_a=Transform.from_translation([0.4, 0, 0]))
    held = Mechanism("held", bodies, joints, constraints=[grip])
    with pytest.raises(ArgumentError, match="q0: the frames of 'grip' are half a turn apart"):
        simulate(held, [0, 0.4, 0, 0, 0, 0, 1, 0], None, 0.1)
    assert simulate(held, [0, 0.4, 0, 0, 0, 0, 0, 1], None, 0.01).status == "finished"


@pytest.mark.parametrize("options", [{}, {"method": "rk4"}, {"method": "semi-implicit-euler"}])
def test_a_reference_without_gradients_is_no_obstacle(options):
    """Neutral, a disc lies flat and has no lowest point; the motion starts elsewhere."""
    flat, start = Dynamics(rolling_disc()), np.array([0, 0, 0.4, *np.sin([0.6, 0, 0]), np.cos(0.6)])
    q = flat.assemble(start)
    v = flat.project_velocity(q, np.array([0, 0, 0, 0.1, 0, 3.0]))
    there = Dynamics(rolling_disc(), reference=q)
    found, wanted = (simulate(system, q, v, 0.1, **options) for system in (flat, there))
    assert np.abs(found.q[-1] - wanted.q[-1]).max() < 1e-8
    assert rollout(flat, q, v, 10, 1e-3).finite.all()


def test_motions_of_a_batch_that_ended_can_be_looked_at():
    """States are NaN from there on, in between as well."""
    system = Dynamics(offset_slider(0.13), reference=[0, 0.23])
    q = system.assemble()
    with pytest.warns(SimulationWarning, match="did not stay finite"):
        found = rollout(system, q, system.project_velocity(q, [6.0, 0]), 400, 1e-3).trajectory()
    assert np.isfinite(found(0.1).q).all() and np.isnan(found(0.3).q).all()


@pytest.mark.parametrize("method, step", [("rk4", 0.02), ("rk4", 0.2), ("lie-rk4", 0.1), ("semi-implicit-euler", 0.01)])
def test_dead_points_are_touched_once_a_turn_however_much_steps_are_corrected(method, step):
    """A crank turned evenly: the slider touches crank + rod at whole turns, and passes just before that twice."""
    crank, rod, speed, angle, near = 0.1, 0.4, 7.0, 0.3, 1e-5
    at = Transform.from_translation(np.array([crank, 0, 0]))
    bodies = [Body("crank", Inertia(1.0, [0, 0, 0], np.eye(3) / 100)), Body("slider", Inertia(2.0))]
    joints = [Joint("turn", "revolute", WORLD, "crank"), Joint("slide", "prismatic", WORLD, "slider", axis=[1, 0, 0])]
    rules = [
        Constraint("rod", "distance", "crank", "slider", at, value=rod),
        Constraint("motor", "motion", "turn", coefficients=(angle, speed)),
    ]
    press = Mechanism("press", bodies, joints, constraints=rules)
    start = crank * np.cos(angle) + np.sqrt(rod**2 - (crank * np.sin(angle)) ** 2)
    system = Dynamics(press, reference=[angle, start])
    events = [
        Event(lambda t, q, v: q[1] - crank - rod, name="dead point", touch=1e-6),
        Event(lambda t, q, v: q[1] - crank - rod + near, name="near it"),
    ]
    v = system.project_velocity([angle, start], [speed, 0])
    motion = simulate(system, [angle, start], v, 5.0, method=method, step=step, events=events)
    turns = (2 * np.pi * np.arange(1, 6) - angle) / speed
    # near = crank (1 + crank / rod) a^2 / 2 at a small angle a
    aside = np.sqrt(2 * near / (crank * (1 + crank / rod))) / speed
    for name, times in (("dead point", turns), ("near it", np.sort([turns - aside, turns + aside], axis=None))):
        found = [happened.t for happened in motion.events if happened.name == name]
        assert found == pytest.approx(times, abs=1e-6)
