"""Redundant loops at states a little off the constraints, and near positions where two ways of closing meet.

The coupling rod of a locomotive - n equal cranks and one beam - has one degree of freedom, redundant rows, and change
points where it is flat. All cranks stand at the same angle th and the beam only translates, so

    (n m L^2 / 3 + m L^2) th'' = tau + (n / 2 + 1) m g L cos th

with rods and beam of mass m.
"""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from constraint_cases import at

import dalembert as da
from dalembert.constraints.classical import bricard, four_bar
from dalembert.errors import ArgumentError, ModelWarning, SimulationWarning, SingularityError
from dalembert.model import Mimic

GRAVITY = 9.81


def coupling_rod(n, pitch=0.5, length=0.4, cart=False):
    rods = [da.Body(f"rod{k}", da.Inertia(1.0, [length / 2, 0, 0], length**2 / 12 * np.eye(3))) for k in range(n)]
    beam = da.Body("beam", da.Inertia(1.0, [pitch, 0, 0], pitch**2 / 3 * np.eye(3)))
    base = "cart" if cart else "world"
    joints = [da.Joint(f"crank{k}", "revolute", base, f"rod{k}", at([pitch * k, 0, 0]), [0, 1, 0]) for k in range(n)]
    joints.append(da.Joint("hinge", "revolute", "rod0", "beam", at([length, 0, 0]), [0, 1, 0]))
    bodies = [*rods, beam]
    if cart:
        bodies.insert(0, da.Body("cart", da.Inertia(1.0, [0, 0, 0], np.eye(3))))
        joints.insert(0, da.Joint("slide", "prismatic", "world", "cart", axis=[1, 0, 0]))
    pins = [
        da.Constraint(f"pin{k}", "spherical", "beam", f"rod{k}", at([pitch * k, 0, 0]), at([length, 0, 0]))
        for k in range(1, n)
    ]
    return da.Mechanism("coupling rod", bodies, joints, constraints=pins, gravity=[0, 0, -GRAVITY])


def standing(mechanism, angle):
    """Positions with all cranks at an angle; turning by one is a velocity of the same kind."""
    q = np.zeros(mechanism.nq)
    for joint in mechanism.joints:
        if joint.kind == "revolute":
            q[mechanism.q_slice(joint.name)] = -angle if joint.name == "hinge" else angle
    return q


@pytest.mark.parametrize("cart", [False, True])
@pytest.mark.parametrize("pitch", [0.4, 0.5])
@pytest.mark.parametrize("n", [3, 4])
def test_ranks_near_change_points_are_those_beside_them(n, pitch, cart):
    mechanism = coupling_rod(n, pitch, cart=cart)
    for angle in (0.0, 0.01, 0.05, 0.11, np.pi - 0.03, np.pi):
        q = standing(mechanism, angle)
        system = da.Dynamics(mechanism, reference=q)
        assert system.known_rank == n, angle
        analysis = system.analyse(q)
        assert analysis.usual_rank == n and analysis.is_singular == (abs(np.sin(angle)) < 1e-9), angle


@pytest.mark.parametrize("length", [1.5, 1e3])
def test_rods_that_are_drawn_flat_on_a_cart_of_any_size(length):
    """The cart moves no loop: it says nothing of what is singular. Lengths L are like one of 1 m, the slide in L."""
    small, large = (coupling_rod(3, 1.25 * size, size, cart=True) for size in (0.4, length))
    systems = [da.Dynamics(mechanism) for mechanism in (small, large)]
    assert [system.known_rank for system in systems] == [3, 3]
    assert all(system.analyse(standing(small, 0.0)).is_singular for system in systems)
    assert not systems[1].analyse(standing(small, 1e-4)).is_singular
    q, rest = standing(large, 0.6), np.zeros(large.nv)
    found, right = systems[1].forward_dynamics(q, rest, rest), systems[1].solve(q, rest, rest).a
    np.testing.assert_allclose(found, right, rtol=1e-10, atol=1e-12)


def test_a_reference_that_is_not_clear_is_no_sample():
    """Assembled from here a loop of a millimetre ends beside its change point, where ranks cannot be told."""
    mechanism = coupling_rod(3, 1.25e-3, 1e-3)
    reference = np.zeros(4)
    for name, angle in (("crank0", 0.51), ("hinge", -2.08), ("crank1", 2.25), ("crank2", 2.97)):
        reference[mechanism.q_slice(name)] = angle
    system = da.Dynamics(mechanism, reference=reference, method="projection")
    assert system.known_rank == 3
    q, rest = standing(mechanism, 0.6), np.zeros(4)
    np.testing.assert_allclose(system.forward_dynamics(q, rest, rest), system.solve(q, rest, rest).a, rtol=1e-9)


def scissor_lift(length, stages=3, foot="prismatic"):
    """Pairs of crossed bars, the lowest on a hinge and a slide; positions with the bars at an angle. Drawn at zero all
    bars lie folded on one line, on a branch of its own where rows have less rank.
    """
    h, across = length / 2, [np.pi / 2, 0, 0]
    bodies, joints, constraints, q = [], [], [], {}
    for k in range(stages):
        tensor = length**2 / 12 * np.diag([0.01, 1, 1])
        bodies += [
            da.Body(f"a{k}", da.Inertia(1.0, [h, 0, 0], tensor)),
            da.Body(f"b{k}", da.Inertia(1.0, [0] * 3, tensor)),
        ]
        below = da.Joint(
            f"a{k}", "revolute", f"b{k - 1}" if k else "world", f"a{k}", at([h if k else 0, 0, 0]), [0, 1, 0]
        )
        joints += [below, da.Joint(f"b{k}", "revolute", f"a{k}", f"b{k}", at([h, 0, 0]), [0, 1, 0])]
        heel = da.Transform.from_rpy_xyz(across, [-h, 0, 0])
        onto, end = (f"a{k - 1}", length) if k else ("slide", 0)
        there = da.Transform.from_rpy_xyz(across, [end, 0, 0])
        constraints.append(da.Constraint(f"c{k}", "revolute", f"b{k}", onto, heel, there))
        q |= {f"a{k}": lambda x, k=k: -(np.pi + 2 * x) if k else -x, f"b{k}": lambda x: np.pi + 2 * x}
    bodies.append(da.Body("slide", da.Inertia(0.5, [0, 0, 0], 0.01 * length**2 * np.eye(3))))
    joints.append(da.Joint("slide", foot, "world", "slide", axis=[1, 0, 0]))
    mechanism = da.Mechanism("scissor lift", bodies, joints, constraints=constraints)

    def raised(angle):
        found = np.zeros(mechanism.nq)
        for name, value in q.items():
            found[mechanism.q_slice(name)] = value(angle)
        found[mechanism.q_slice("slide")] = [0, length * np.cos(angle)][-1 if foot == "prismatic" else 0 :]
        return found

    return mechanism, raised


@pytest.mark.parametrize("foot, rank", [("prismatic", 10), ("cylindrical", 11)])
@pytest.mark.parametrize("length", [1e-3, 20.0])
def test_lifts_that_are_drawn_flat_have_the_rank_of_raised_ones(length, foot, rank):
    """Hinges of millimetres count as much as the slide beside them, and as angles."""
    mechanism, raised = scissor_lift(length, 5, foot)
    flat = raised(0.0)
    system = da.Dynamics(mechanism, reference=flat)
    assert system.known_rank == rank and system.analyse(flat).is_singular
    q, rest = raised(0.6), np.zeros(mechanism.nv)
    right = system.solve(q, rest, rest).a
    np.testing.assert_allclose(
        system.forward_dynamics(q, rest, rest), right, rtol=1e-8, atol=1e-8 * np.abs(right).max()
    )


def test_a_redundant_loop_of_a_tenth_of_a_millimetre_beside_one_of_a_metre():
    """What is redundant in the small one is not what rounding leaves of the large one."""
    one, other = coupling_rod(3, 1.25e-4, 1e-4), coupling_rod(3, 1.25, 1.0)
    small = one.replace(
        bodies=[body.replace(name=f"small {body.name}") for body in one.bodies],
        joints=[
            joint.replace(
                name=f"small {joint.name}",
                parent=joint.parent if joint.parent == "world" else f"small {joint.parent}",
                child=f"small {joint.child}",
            )
            for joint in one.joints
        ],
        constraints=[
            item.replace(name=f"small {item.name}", a=f"small {item.a}", b=f"small {item.b}")
            for item in one.constraints
        ],
    )
    both = other.replace(
        bodies=[*other.bodies, *small.bodies],
        joints=[*other.joints, *small.joints],
        constraints=[*other.constraints, *small.constraints],
    )
    for angle in (0.0, 0.4):
        reference = np.concatenate([standing(other, 0.5), standing(one, angle)])
        system = da.Dynamics(both, reference=reference)
        assert system.known_rank == 6
        assert system.analyse(np.concatenate([standing(other, 0.5), standing(one, 0.9)])).usual_rank == 6


@pytest.mark.parametrize("length", [0.4, 0.01])
def test_ranks_above_that_of_the_reference_count_at_states_on_the_constraints(length):
    """Rows of a lift of centimetres are small beside that of its slide, but on the constraints that is no drift."""
    mechanism, raised = scissor_lift(length)
    q, rest = raised(0.6), np.zeros(mechanism.nv)
    folded, open_ = da.Dynamics(mechanism), da.Dynamics(mechanism, reference=q)
    right, found = open_.solve(q, rest, rest), folded.solve(q, rest, rest)
    assert folded.known_rank < found.rank == right.rank == 6
    np.testing.assert_allclose(found.a, right.a, rtol=1e-9, atol=1e-9 * np.abs(right.a).max())
    assert len(folded.linear_model(q, rest, rest).states) == 2
    tau = [system.drive_forces(q, rest, rest, actuated=["slide"]).tau for system in (folded, open_)]
    np.testing.assert_allclose(tau[0], tau[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["multipliers", "projection"])
@pytest.mark.parametrize("n", [3, 4, 5])
def test_kernels_of_rods_that_are_drawn_flat(n, method):
    """The default reference is the change point itself. Twenty operations a row: errors of 1e-12."""
    mechanism, length, angle = coupling_rod(n, 0.4), 0.4, 0.6
    system = da.Dynamics(mechanism, method=method)
    q, turning, rest = standing(mechanism, angle), standing(mechanism, 1.0), np.zeros(mechanism.nv)
    right = GRAVITY * (n / 2 + 1) * length * np.cos(angle) / ((n / 3 + 1) * length**2)
    assert abs(system.forward_dynamics(q, turning, rest)[0] - right) < 1e-11 * right
    off = q + 1e-7 * np.arange(mechanism.nv) ** 2  # up to 2.5e-6: errors some tens of times that
    assert abs(system.solve(off, turning, rest).a[0] - right) < 1e-4 * right
    holding = -GRAVITY * (n / 2 + 1) * length * np.cos(angle)
    assert abs(system.drive_forces(off, rest, rest, actuated=["crank0"]).tau[0] - holding) < 1e-4 * right


def test_linearization_does_not_depend_on_the_last_digits_of_a_redundant_loop():
    """Bricard's linkage off by e: A changes by some times e, wherever the redundant row seems independent."""
    system = da.Dynamics(bricard(), reference=None)
    q = system.assemble()
    rest = np.zeros(system.mechanism.nv)
    right = system.linear_model(q, rest, rest, positions=["hinge1"], speeds=["hinge1"]).A
    rng = np.random.default_rng(0)
    for e in (1e-9, 5e-9, 1e-8, 1e-7):
        for _ in range(5):
            off = q + e * rng.normal(size=len(q))
            found = system.linear_model(off, rest, rest, positions=["hinge1"], speeds=["hinge1"]).A
            assert np.abs(found - right).max() < 1e3 * e
            assert len(system.linear_model(off, rest, rest).states) == 2


@pytest.mark.parametrize("e", [0.0, 1e-8, 1e-6])
def test_projection_with_joints_held_leaves_other_freedoms(e):
    """On a cart that keeps its speed the cranks go on turning; errors are those of the state."""
    mechanism = coupling_rod(3, cart=True)
    system = da.Dynamics(mechanism, reference=standing(mechanism, 0.6))
    v = standing(mechanism, 2.0)
    v[mechanism.v_slice("slide")] = 0.5
    q = standing(mechanism, 0.6) + e * np.arange(mechanism.nv)
    found = system.project_velocity(q, v, keep=["slide"])
    assert np.abs(found - v).max() < 100 * e + 1e-12
    a = system.project_acceleration(q, found, v, keep=["slide"])
    assert np.isfinite(a).all() and abs(a[mechanism.v_slice("crank0")][0]) > 1


def test_projection_of_batches_is_that_of_each_state():
    system = da.Dynamics(four_bar())
    q = np.stack([system.assemble([x, -0.5, 1.7], keep=["crank"]) for x in (0.9, 1.0, 1.1)])
    v = system.project_velocity(q, [1.0, 0, 0], keep=["crank"])
    assert v.shape == (3, 3)
    a = system.project_acceleration(q, v, np.zeros(3))
    for k in range(3):
        np.testing.assert_array_equal(v[k], system.project_velocity(q[k], [1.0, 0, 0], keep=["crank"]))
        np.testing.assert_array_equal(a[k], system.project_acceleration(q[k], v[k], np.zeros(3)))
    with pytest.raises(ArgumentError, match=r"state \[1\] of the batch: project_acceleration: q violates"):
        system.project_acceleration(q + np.array([[0.0], [0.1], [0.0]]), v, np.zeros(3))


def test_projection_far_from_the_constraints_says_that_positions_are():
    mechanism = coupling_rod(3)
    system = da.Dynamics(mechanism, reference=standing(mechanism, 0.6))
    q = standing(mechanism, 0.6) + 0.02 * np.arange(mechanism.nv) ** 2
    with pytest.raises(ArgumentError, match=r"q violates the constraint 'pin.*assemble"):
        system.project_velocity(q, standing(mechanism, 1.0))


def test_inverse_dynamics_takes_what_matters_to_no_force():
    """At rest under gravity 1e-10 rad/s^2 is nothing; the torque changes by as much."""
    system = da.Dynamics(four_bar())
    q, rest = system.assemble([1.0, -0.5, 1.7]), np.zeros(3)
    right = system.drive_forces(q, rest, rest, actuated=["crank"]).tau
    found = system.drive_forces(q, rest, [0, 1e-10, 0], actuated=["crank"]).tau
    np.testing.assert_allclose(found, right, rtol=1e-8, atol=1e-12)
    with pytest.raises(ArgumentError, match="most of all"):
        system.drive_forces(q, rest, [0, 1e-3, 0], actuated=["crank"])


def test_inverse_dynamics_names_the_row_that_misses_most_of_its_own_measure():
    """A gear at constant speed sums up to nothing, so what it misses is all; the loop beside it accelerates."""
    bar = four_bar()
    geared = bar.replace(
        bodies=(*bar.bodies, da.Body("rotor", da.Inertia(0.1, [0, 0, 0], 0.01 * np.eye(3)))),
        joints=(*bar.joints, da.Joint("motor", "revolute", "world", "rotor")),
        constraints=(*bar.constraints, da.Constraint("gear", "coupling", "crank", "motor", coefficients=(0, 5.0))),
    )
    system = da.Dynamics(geared)
    q = system.assemble({"crank": 1.0, "coupler": -0.5, "rocker": 1.7}, keep=["crank"])
    v = system.project_velocity(q, {"crank": 1.0}, keep=["crank"])
    a = system.project_acceleration(q, v, np.zeros(4), keep=["crank"])
    assert np.abs(a).max() > 0.1
    names = {name: geared.v_slice(name).start for name in ("motor", "coupler")}
    a[names["coupler"]] *= 1 + 1e-3
    a[names["motor"]] += 1e-3
    with pytest.raises(ArgumentError, match="most of all gear"):
        system.drive_forces(q, v, a, actuated=["crank"])
    a[names["motor"]] -= 1e-3 - 1e-8
    assert np.isfinite(system.drive_forces(q, v, a, actuated=["crank"]).tau).all()


def test_one_state_of_a_batch_that_is_no_number_spoils_no_other():
    system = da.Dynamics(four_bar())
    q, rest = system.assemble([1.0, -0.5, 1.7]), np.zeros(3)
    batch = np.stack([q, np.full(3, np.nan), q])
    found = system.drive_forces(batch, rest, rest, actuated=["crank"])
    assert np.isnan(found.tau[1]).all()
    np.testing.assert_array_equal(found.tau[0], system.drive_forces(q, rest, rest, actuated=["crank"]).tau)


def test_a_tolerance_for_ranks_is_what_it_says():
    """x z = y z = 0: beside the branch z = 0 of the reference, on x = y = 0, there is one row more."""
    bodies = [da.Body("a", da.Inertia(0.0)), da.Body("b", da.Inertia(0.0)), da.Body("c", da.Inertia.point(1.0))]
    joints = [
        da.Joint("x", "prismatic", "world", "a", axis=[1, 0, 0]),
        da.Joint("y", "prismatic", "a", "b", axis=[0, 1, 0]),
        da.Joint("z", "prismatic", "b", "c", axis=[0, 0, 1]),
    ]
    law = da.Constraint("law", "position", function=lambda q, t: [q[0] * q[2], q[1] * q[2]])
    mechanism = da.Mechanism("branches", bodies, joints, constraints=[law], gravity=[0, 0, 0])
    system = da.Dynamics(mechanism, reference=[0.3, 0.2, 0])
    found = system.solve([0, 0, 0.005], [0, 0, 0.5], [1.0, 1, 1], tolerance=1e-9)
    assert found.rank == 2
    np.testing.assert_allclose(found.a, [0, 0, 1], atol=1e-12)


@pytest.mark.parametrize("e", [0.0, 1e-9, 1e-7])
def test_what_is_unique_stays_so_off_the_constraints(e):
    system = da.Dynamics(bricard())
    q = system.assemble()
    rest = np.zeros(system.mechanism.nv)
    right = [x.unique for x in system.reactions(q, rest, rest).values()]
    found = system.reactions(q + e * np.random.default_rng(1).normal(size=len(q)), rest, rest)
    np.testing.assert_array_equal([x.unique for x in found.values()], right)


def test_loops_of_millimetres_pass_no_singular_positions_that_metres_do_not():
    """Where a row of angles vanishes one of lengths takes over; a thousandth of it is no loss of rank."""
    a, b = 0.6e-3, 1e-3
    small = 0.5
    large = np.arcsin(b * np.sin(small) / a)
    turn = da.Transform.from_rpy_xyz
    bodies, joints, place = [], [], da.Transform.identity()
    for k, (side, twist) in enumerate(((a, small), (b, large), (a, small))):
        tensor = np.diag([0.01, 0.1, 0.1]) * b**2
        bodies.append(da.Body(f"rod{k}", da.Inertia(1.0 + k, [side / 2, 0, 0], tensor)))
        joints.append(da.Joint(f"hinge{k}", "revolute", f"rod{k - 1}" if k else "world", f"rod{k}", place))
        place = turn([twist, 0, 0], [side, 0, 0])
    last = da.Constraint("last", "revolute", "rod2", "world", place, turn([-large, 0, 0], [-b, 0, 0]))
    mechanism = da.Mechanism("Bennett", bodies, joints, constraints=[last])
    system = da.Dynamics(mechanism, reference=[0.8, 2.87, -0.8])
    q = system.assemble(keep=["hinge0"])
    v = system.project_velocity(q, {"hinge0": 1 / np.sqrt(b)}, keep=["hinge0"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", SimulationWarning)
        motion = da.simulate(mechanism, q, v, t=0.1)
    assert motion.info["singular"] == () and np.abs(np.sin(motion.q[:, 0])).min() < 0.1


def test_slides_that_turn_nothing_are_regular():
    """The tip of a spindle lies on its axis, so that no hinge moves a row by more than rounding."""
    tilt, axis = da.Transform.from_rpy_xyz([0.5, 0.3, 0], [0, 0, 0]), np.array([0, 0.6, 0.8])
    bodies = [da.Body(name, da.Inertia.sphere(1.0, 0.1)) for name in "abcde"]
    joints = [
        da.Joint("x", "prismatic", "world", "a", tilt, [1, 0, 0]),
        da.Joint("y", "prismatic", "a", "b", axis=[0, 1, 0]),
        da.Joint("spindle", "revolute", "b", "c", axis=axis),
        da.Joint("u", "prismatic", "world", "d", tilt, [1, 0, 0]),
        da.Joint("w", "prismatic", "d", "e", axis=[0, 1, 0]),
    ]
    tip = da.Constraint("tip", "spherical", "c", "e", at(0.3 * axis), at(0.3 * axis))
    mechanism = da.Mechanism("gantry", bodies, joints, constraints=[tip])
    system, rest = da.Dynamics(mechanism), np.zeros(5)
    analysis = system.analyse([0.2, 0.1, 0.7, 0.2, 0.1])
    assert (analysis.rank, analysis.usual_rank) == (2, 2)
    assert len(system.linear_model([0.2, 0.1, 0.7, 0.2, 0.1], rest, rest).states) == 6


@pytest.mark.parametrize("base, contact", [("free", "rolling-disc"), ("planar", "rolling-wheel")])
@pytest.mark.parametrize("size, radius", [(1.0, 0.3), (1.0, 5e-3), (0.02, 5e-3), (10.0, 1e-3)])
@pytest.mark.parametrize("skate", [False, True])
def test_small_wheels_under_a_long_vehicle_count_as_much(size, radius, base, contact, skate):
    """A steered wheel and two that are not, and one more steered wheel or a steered skate, drawn straight or nearly so:
    there rows of side slip have rank 2, and 3 where steers differ, whose axes meet in no point then. Every wheel has a
    spin of its own; and heights, of the two or three there are, are independent.
    """
    bodies = [da.Body("hull", da.Inertia(10.0, [0, 0, 0.1 * size], size**2 * np.diag([1.0, 1.1, 1.5])))]
    joints, contacts = [da.Joint("base", base, "world", "hull")], []
    across = da.Transform.from_rpy_xyz([np.pi / 2, 0, 0], [0, 0, 0])
    for k, (x, y) in enumerate(((1, 0.5), (1, -0.5), (-1, 0.5), (-1, -0.5))[: 4 if skate else 3]):
        carrier, place = "hull", at([x * size, y * size, 0])
        if x > 0:
            bodies.append(da.Body(f"fork{k}", da.Inertia(0.3, [0, 0, 0], 1e-3 * size**2 * np.eye(3))))
            joints.append(da.Joint(f"steer{k}", "revolute", "hull", f"fork{k}", place))
            carrier, place = f"fork{k}", at([0, 0, 0])
        if skate and k == 0:
            contacts.append(da.Constraint("edge", "skate", carrier, "world"))
            continue
        bodies.append(da.Body(f"wheel{k}", da.Inertia(1.0, [0, 0, 0], radius**2 * np.diag([0.25, 0.25, 0.5]))))
        joints.append(da.Joint(f"spin{k}", "revolute", carrier, f"wheel{k}", place @ across))
        contacts.append(da.Constraint(f"roll{k}", contact, f"wheel{k}", "world", value=radius))
    vehicle = da.Mechanism("vehicle", bodies, joints, constraints=contacts)
    rank = 9 if base == "free" else 6

    def steered(first, second):
        q = vehicle.neutral.copy()
        q[2] = radius if base == "free" else 0.0
        q[vehicle.q_slice("steer0")], q[vehicle.q_slice("steer1")] = first, second
        return q

    assert da.Dynamics(vehicle, reference=steered(0, 0)).analyse(steered(0, 0)).rank == rank - 1
    q, rest, tau = steered(0.3, 0.2), np.zeros(vehicle.nv), np.ones(vehicle.nv)
    for steer in (0.0, 1e-6, 1e-4):
        system = da.Dynamics(vehicle, reference=steered(steer, 0.9 * steer))
        assert system.known_rank == rank
        found = system.solve(q, rest, tau)
        energy = np.sqrt(np.diag(system.evaluate("mass_matrix", q)))
        error = np.abs(energy * (system.forward_dynamics(q, rest, tau) - found.a)).max()
        assert found.rank == rank and error < 1e-7 * np.abs(energy * found.a).max()


@pytest.mark.parametrize("factor, gear", [(2.0, 2.0), (0.1 * 3, 0.3), (0.0, 0.0)])
def test_a_coupling_that_repeats_a_mimic_joint_holds_always(factor, gear):
    """The finger of a gripper follows in the file, and the gear is given once more; last digits may differ."""
    inertia = da.Inertia(1.0, [0.1, 0, 0], 0.01 * np.eye(3))
    joints = [
        da.Joint("lead", "revolute", "world", "a", axis=[0, 1, 0]),
        da.Joint("follow", "revolute", "world", "b", axis=[0, 1, 0], mimic=Mimic("lead", factor)),
        da.Joint("third", "revolute", "world", "c", axis=[0, 1, 0]),
    ]
    couplings = [
        da.Constraint("gear", "coupling", "lead", "follow", coefficients=(0, gear)),
        da.Constraint("train", "coupling", "lead", "third", coefficients=(0, 3.0)),
    ]
    bodies = [da.Body(name, inertia) for name in "abc"]
    hand = da.Mechanism("hand", bodies, joints, constraints=couplings, gravity=[0, 0, -GRAVITY])
    system, rest = da.Dynamics(hand), np.zeros(2)
    assert system.known_rank == 1
    analysis = system.analyse(rest)
    assert analysis.rank == 1 and not analysis.is_singular
    # (1 + factor^2 + 9) 0.02 a = (1 + factor + 3) m g c
    right = (4 + factor) * GRAVITY * 0.1 / ((10 + factor**2) * 0.02)
    for found in (system.solve(rest, rest, rest).a, system.forward_dynamics(rest, rest, rest)):
        np.testing.assert_allclose(found, [right, 3 * right], rtol=1e-12)
    assert len(system.linear_model(rest, rest, rest).states) == 2


def test_an_equilibrium_beside_a_change_point_is_told():
    """A spring holds the rods 1e-5 rad beside it; forces in the loop are 1e5 times those of a spring there."""
    coil = da.Force("coil", "joint-spring", "crank0", stiffness=5.0, rest=1e-5)
    rods = coupling_rod(2).replace(gravity=[0, 0, 0], forces=[coil])
    system = da.Dynamics(rods, elements="all", reference=standing(rods, 0.5))
    with pytest.warns(ModelWarning, match="at or beside a singular position"):
        found = da.control.equilibrium(system, standing(rods, 0.2))
    assert np.abs(found.q - standing(rods, 1e-5)).max() < 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = system.mechanism.replace(forces=[coil.replace(rest=0.1)])
        da.control.equilibrium(da.Dynamics(other, elements="all"), standing(rods, 0.2))


@pytest.mark.parametrize("length", [1e-3, 1.0])
def test_equilibria_of_overconstrained_loops(length):
    """Three cranks and a beam stand on their tip, found from guesses that are closed or not: what redundant rows are
    open by bears no load. The same of Bricard's linkage: no acceleration is left.
    """
    rods = coupling_rod(3, 1.25 * length, length)
    for off in (0.0, 0.01):
        guess = standing(rods, 0.6) + off
        found = da.control.equilibrium(da.Dynamics(rods, reference=guess), guess)
        assert np.abs(np.abs(found.q) - np.pi / 2).max() < 1e-9
    linkage = bricard()
    system = da.Dynamics(linkage)
    rest, acting = np.zeros(linkage.nv), 0
    for turn in (-0.6, 0.0, 0.6):
        q = system.assemble(system.reference + turn * np.eye(linkage.nq)[0])
        with contextlib.suppress(SingularityError):  # the next one may be out of reach of that guess
            found = da.control.equilibrium(system, q)
            assert np.abs(system.solve(found.q, rest, rest).a).max() < 1e-6
            acting += 1
    assert acting
