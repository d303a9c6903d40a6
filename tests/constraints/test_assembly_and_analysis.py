"""Putting mechanisms together, and saying what their constraints leave free, repeat or contradict."""

from __future__ import annotations

import numpy as np
import pytest
from constraint_cases import at, relative
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.algebra import scalar
from dalembert.algebra.transform import Transform
from dalembert.constraints.classical import ANDREWS_START, andrews, bricard, four_bar, rolling_disc, slider_crank
from dalembert.constraints.closure import mirrored
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, SingularityError
from dalembert.kinematics.manifold import moved
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism
from random_mechanisms import random_mechanism

FOUR_BAR = Dynamics(four_bar(), reference=[1.0, -0.5, 1.7])
ANDREWS = Dynamics(andrews(), elements="all", reference=ANDREWS_START)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_assembled_positions_and_velocities_satisfy_everything_and_held_joints_stay(seed):
    rng = np.random.default_rng(seed)
    start = np.array(ANDREWS_START) + 0.15 * rng.normal(size=7)
    q = ANDREWS.assemble(start, keep=["beta"])
    assert q[0] == start[0]
    assert max(np.abs(x).max() for x in ANDREWS.residual(q).values()) < 1e-11
    v = ANDREWS.project_velocity(q, rng.normal(size=7), keep=["beta"])
    _, G, rate, _ = ANDREWS.evaluate("constraints", q, v, 0.0)
    assert np.abs(G @ v - rate).max() < 1e-12
    again = ANDREWS.project_velocity(q, v)
    assert relative(again, v) < 1e-9  # a projection


def test_starts_may_be_given_by_joint_name_the_others_as_in_the_reference():
    system = Dynamics(four_bar(), reference=[1.0, -0.5, 1.7])
    first, second = (joint.name for joint in system.mechanism.joints[:2])
    q = system.assemble({second: -0.4, first: 1.1}, keep=[first])
    assert np.array_equal(q, system.assemble([1.1, -0.4, 1.7], keep=[first]))
    assert len(system.assembly_modes({first: 1.1}, keep=[first])) == 2
    v = system.project_velocity(q, {first: 2.0}, keep=[first])
    assert np.array_equal(v, system.project_velocity(q, [2.0, 0, 0], keep=[first]))
    with pytest.raises(ArgumentError, match="did you mean"):
        system.assemble({first[:-1]: 1.1})
    named = Dynamics(four_bar(), reference={second: -0.5})
    assert named.reference.tolist() == [0, -0.5, 0]


def test_single_velocities_of_a_joint_can_be_kept():
    """A disc that spins as it is told, leaning and turning somehow: only its point of contact is left to follow."""
    system = Dynamics(rolling_disc())
    q = system.assemble(moved(system.mechanism.tree, system.reference, 0.2 * np.arange(1.0, 1 + system.mechanism.nv)))
    wanted, names = np.random.default_rng(3).normal(size=system.mechanism.nv), system.velocity_names()
    spin = names.index(next(name for name in names if name not in {joint.name for joint in system.mechanism.joints}))
    v = system.project_velocity(q, wanted, keep=[names[spin]])
    _, G, rate, _ = system.evaluate("constraints", q, v, 0.0)
    assert np.abs(G @ v - rate).max() < 1e-12 and v[spin] == wanted[spin]
    assert abs(system.project_velocity(q, wanted)[spin] - wanted[spin]) > 1e-3
    with pytest.raises(ArgumentError, match="no joint 'spin' and no velocity of that name"):
        system.project_velocity(q, wanted, keep=["spin"])


def test_projection_changes_velocities_by_the_least_kinetic_energy():
    q = FOUR_BAR.assemble()
    wanted = np.array([1.0, 2.0, -3.0])
    v = FOUR_BAR.project_velocity(q, wanted)
    M = FOUR_BAR.evaluate("mass_matrix", q)
    G = FOUR_BAR.evaluate("positions", q, 0.0)[1]
    free = np.linalg.svd(G)[2][-1]
    assert abs(free @ M @ (v - wanted)) < 1e-7 * np.abs(M).max()  # the change is orthogonal to every allowed motion


def test_quaternions_stay_unit_and_displacements_are_tangent():
    system = Dynamics(rolling_disc(), reference=[0, 0, 0.5, -0.7, 0, 0, 0.7])
    q = system.assemble([0.3, 0.1, 0.7, -0.5, 0.3, 0.2, 0.9])
    assert abs(np.linalg.norm(q[3:]) - 1) < 1e-14
    step = np.array([0.1, 0.2, 0.3, 0.4, -0.5, 0.6])
    there = moved(system.mechanism.tree, q, step)
    assert relative(moved(system.mechanism.tree, there, np.r_[-step[:3], -step[3:]]), q) < 1e-12


def test_a_mechanism_that_cannot_be_closed_tells_the_residual_of_every_constraint():
    apart = Dynamics(four_bar((1.0, 0.5, 1.0), 3.0))
    # stretched out, bars of 1 + 0.5 + 1 m leave a gap of 0.5 m between pivots that are 3 m apart
    with pytest.raises(SingularityError, match=r"cannot be assembled.*\n  pin: 0\.5 \(offset x\)") as caught:
        apart.assemble([0.1, 0.1, 3.0])
    assert "another start" in str(caught.value)
    with pytest.raises(SingularityError, match="'crank' held"):
        Dynamics(four_bar((1.0, 1.2, 1.2), 3.0), reference=[0, 0, 0]).assemble([np.pi, 0, 3.0], keep=["crank"])
    with pytest.raises(ArgumentError, match=r"q has shape \(2,\)"):
        FOUR_BAR.assemble([0.0, 0.0])


def test_a_rod_that_is_too_short_is_told_in_metres():
    """Two pegs 3 m apart, and a rod of 1 m between them."""
    ground = Mechanism("peg", [Body("wheel", Inertia.sphere(1.0, 0.1))], [Joint("hub", "revolute", WORLD, "wheel")])
    rod = Constraint("rod", "distance", WORLD, "wheel", at([3.0, 0, 0]), value=1.0)
    system = Dynamics(ground.replace(constraints=(rod,)))
    with pytest.raises(SingularityError, match=r"rod: 2 \(distance\)"):
        system.assemble()
    assert system.residual([0.0])["rod"] == [4.0]


def test_velocities_that_contradict_are_refused_with_what_is_left():
    twice = four_bar().replace(
        constraints=(
            *four_bar().constraints,
            Constraint("fast", "motion", "crank", coefficients=(1.0, 2.0)),
            Constraint("slow", "motion", "crank", coefficients=(1.0, 1.0)),
        )
    )
    system = Dynamics(twice, reference=[1.0, -0.5, 1.7])
    q = system.assemble()
    with pytest.raises(SingularityError, match=r"no velocities.*\n.*fast.*0\.5\n.*slow.*0\.5"):
        system.project_velocity(q, np.zeros(3))
    report = system.analyse(q)
    assert not report.is_consistent
    assert "contradicts it by 1" in str(report)


def test_frames_are_never_closed_the_wrong_way_round():
    """Sines vanish at half a turn as well: a weld must not accept that."""
    body = Body("b", Inertia.box(1, [1, 1, 1]))
    hinge = Joint("j", "revolute", WORLD, "b")
    welded = Mechanism("m", [body], [hinge], constraints=[Constraint("weld", "weld", WORLD, "b")])
    system = Dynamics(welded)
    assert abs(system.assemble([0.5])[0]) < 1e-11
    for start in (3.0, np.pi, -3.1, 100.0):
        assert abs(np.sin(system.assemble([start])[0] / 2)) < 1e-11
    assert mirrored(system, np.array([np.pi])) == ["weld"]


def test_degrees_of_freedom_and_free_motions_in_words():
    q = FOUR_BAR.assemble()
    report = FOUR_BAR.analyse(q)
    assert (report.velocities, report.rows, report.rank, report.degrees_of_freedom) == (3, 2, 2, 1)
    text = str(report)
    assert "3 velocities, 2 constraint rows of rank 2: 1 degree of freedom" in text
    (motion,) = report.freedoms
    shares = dict(motion)
    v = FOUR_BAR.project_velocity(q, [1.0, 0, 0], keep=["crank"])
    assert relative([shares[k] / shares["crank"] for k in ("crank", "coupler", "rocker")], v) < 1e-10


def test_redundant_rows_are_explained():
    report = Dynamics(four_bar(kind="revolute"), reference=[1.0, -0.5, 1.7]).analyse(FOUR_BAR.assemble())
    assert [str(d.row) for d in report.dependences] == ["pin (offset z)", "pin (tilt about y)", "pin (tilt about x)"]
    assert "pin (offset z) holds whatever moves" in str(report)
    (pin,) = four_bar().constraints
    twice = four_bar().replace(constraints=(pin, pin.replace(name="again")))
    report = Dynamics(twice, reference=[1.0, -0.5, 1.7]).analyse(FOUR_BAR.assemble())
    assert len(report.dependences) == 2 and report.is_consistent
    assert "again (offset x) follows from pin (offset x)" in str(report)


def test_a_slider_crank_with_equal_lengths_is_singular_where_both_bars_coincide():
    """There the slider may stay while the bars turn together, or move on: two motions instead of one."""
    mechanism = slider_crank(1.0, 1.0)
    system = Dynamics(mechanism, reference=[0.5, -1.0, 1.7])
    report = system.analyse([np.pi / 2, np.pi, 0.0])
    assert report.is_singular and report.degrees_of_freedom == 2 and report.usual_rank == 2
    assert "singular position: nearby the rank is 2" in str(report)
    usual = system.analyse(system.assemble([0.5, -1.0, 1.7]))
    assert not usual.is_singular


def test_open_constraints_are_reported():
    report = FOUR_BAR.analyse([1.0, -0.5, 1.0])
    assert "not closed: pin by" in str(report)


def test_a_gear_couples_two_joints():
    body = Inertia.box(1, [0.1, 0.1, 0.1])
    wheels = Mechanism(
        "gear",
        [Body("a", body), Body("b", body)],
        [Joint("one", "revolute", WORLD, "a"), Joint("two", "revolute", WORLD, "b", at([1, 0, 0]))],
        constraints=[Constraint("mesh", "coupling", "one", "two", coefficients=(0.1, -2.5))],
    )
    system = Dynamics(wheels)
    q = system.assemble([0.4, 0.0], keep=["one"])
    assert relative(q, [0.4, 0.1 - 1.0]) < 1e-12
    a = system.forward_dynamics(q, [0.0, 0.0], [1.0, 0.0])
    assert relative(a, np.array([1.0, -2.5]) / (body.tensor[2, 2] * (1 + 2.5**2))) < 1e-12


def test_linearization_follows_the_nonlinear_motion():
    """Along a motion: a small deviation on the constraints, integrated and linear, agrees to second order in it."""
    system = FOUR_BAR
    q = system.assemble()
    v = system.project_velocity(q, [1.0, 0, 0], keep=["crank"])
    tau = np.array([2.0, 0, 0])
    linear = system.linear_model(q, v, tau, positions=["crank"], speeds=["crank"])
    assert linear.states == ("crank", "crank rate")

    def rate(x, u, torque=2.0):
        there = system.assemble(np.array([x, q[1], q[2]]), keep=["crank"])
        speeds = system.project_velocity(there, [u, 0, 0], keep=["crank"])
        return np.array([u, system.forward_dynamics(there, speeds, [torque, 0, 0])[0]])

    h = 1e-4
    for k, column in enumerate(np.eye(2)):
        up, down = (rate(*(np.array([q[0], v[0]]) + s * h * column)) for s in (1, -1))
        assert relative((up - down) / (2 * h), linear.A[:, k]) < 1e-6
    slope = (rate(q[0], v[0], 2.0 + h) - rate(q[0], v[0], 2.0 - h)) / (2 * h)
    assert relative(slope, linear.B[:, 0]) < 1e-8
    with pytest.raises(ArgumentError, match="no joint 'elbow' and no velocity of that name"):
        system.linear_model(q, v, tau, speeds=["elbow"])
    with pytest.raises(ArgumentError, match="1 are needed"):
        system.linear_model(q, v, tau, speeds=["crank", "rocker"])


def test_linearization_of_a_hanging_four_bar_gives_its_small_oscillations():
    """A parallelogram that hangs: x'' = -(sum m c) g / (sum of inertias) x, bars of 1 kg/m: crank and rocker of length
    l, coupler b moves in parallel.
    """
    l, b = 0.7, 1.5
    system = Dynamics(four_bar((l, b, l), b), reference=[-np.pi / 2, np.pi / 2, -np.pi / 2])
    q = system.assemble()
    values = system.linear_model(q, np.zeros(3), np.zeros(3)).poles
    stiffness = 9.81 * (2 * l * l / 2 + b * l)
    inertia = 2 * l**3 / 3 + b * l * l
    assert relative(sorted(values.imag), np.sqrt(stiffness / inertia) * np.array([-1.0, 1.0])) < 1e-9


def test_placement_of_a_planar_loop_in_space_changes_nothing():
    place = Transform.from_rpy_xyz([0.3, 0.5, 0.7], [1, 2, 3])
    flat = four_bar(gravity=np.zeros(3))
    tilted = flat.replace(
        joints=tuple(j.replace(placement=place @ j.placement) if j.parent == WORLD else j for j in flat.joints)
    )
    one, two = (Dynamics(m, reference=[1.0, -0.5, 1.7]) for m in (flat, tilted))
    q = one.assemble()
    v = one.project_velocity(q, [2.0, 0, 0])
    assert relative(two.forward_dynamics(q, v, [1.0, 0, 0]), one.forward_dynamics(q, v, [1.0, 0, 0])) < 1e-11


@pytest.mark.parametrize("kind", ["revolute", "cylindrical", "spherical", "point-on-line", "point-on-plane"])
@pytest.mark.parametrize("length", [1e-5, 1.0, 30.0])
def test_a_second_hinge_on_the_axis_of_the_first_changes_nothing_wherever_the_door_stands(kind, length):
    place = Transform.from_rpy_xyz([0.3, 0.5, 0.7], [length, -length, 2 * length])
    high = at([0, 0, 2 * length])
    leaf = Inertia(20.0, [0.4 * length, 0, length], 20 * length**2 * np.diag([0.1, 0.11, 0.05]))
    door = Mechanism("door", (Body("leaf", leaf),), (Joint("low", "revolute", WORLD, "leaf", place),))
    held = door.replace(constraints=(Constraint("high", kind, WORLD, "leaf", place @ high, high),))
    open_one, system = Dynamics(door), Dynamics(held)
    q, v, tau = [0.4], [0.2], [length]
    a = open_one.forward_dynamics(q, v, tau)
    assert system.analyse(q).degrees_of_freedom == 1
    for found in (system.forward_dynamics(q, v, tau), system.solve(q, v, tau).a):
        assert relative(found, a) < 1e-12
    assert relative(system.project_velocity(q, v), v) < 1e-12
    assert relative(system.drive_forces(q, v, a, actuated=["low"]).tau, tau) < 1e-9
    assert relative(system.linear_model(q, v, tau).A, open_one.linear_model(q, v, tau).A) < 1e-12
    assert np.abs(system.reactions(q, v, tau)["high"].force).max() == 0  # not unique, the least are given


def test_heights_that_no_joint_can_change_leave_all_positions_free():
    upright = Transform.from_rpy_xyz([-np.pi / 2, 0, 0], [0, 0, 0])
    place = Transform.from_rpy_xyz([0.3, 0.5, 0.7], [1, 2, 3])
    wheel = Inertia(0.6, tensor=np.diag([0.004, 0.007, 0.004]))
    cart = Mechanism(
        "cart",
        (Body("axle", Inertia(5.0, tensor=np.eye(3))), Body("left", wheel), Body("right", wheel)),
        (
            Joint("base", "planar", WORLD, "axle", place @ at([0, 0, 0.15])),
            Joint("l", "revolute", "axle", "left", at([0, 0.2, 0]), axis=[0, 1, 0]),
            Joint("r", "revolute", "axle", "right", at([0, -0.2, 0]), axis=[0, 1, 0]),
        ),
        constraints=tuple(
            Constraint(f"roll {side}", "rolling-disc", side, WORLD, upright, place, value=0.15)
            for side in ("left", "right")
        ),
    )
    found = Dynamics(cart).analyse([0.3, 0.2, 0.7, 0.1, 0.2])
    assert (found.degrees_of_freedom, found.position_freedoms) == (2, 5)


def test_contradicting_motions_name_the_joint():
    pendulum = random_mechanism(0, 2, kinds=["revolute"])
    motions = [Constraint(f"m{k}", "motion", "j1", coefficients=(0, k)) for k in (1, 2)]
    system = Dynamics(pendulum.replace(constraints=tuple(motions)))
    report = system.analyse(pendulum.neutral)
    assert not report.is_consistent
    assert "m2 (position of j1) follows from m1 (position of j1), but contradicts it by 1 in velocities" in str(report)


def test_motions_that_agree_now_but_are_accelerated_differently_contradict():
    pendulum = random_mechanism(0, 2, kinds=["revolute"])

    def report(*curves, **options):
        motions = [Constraint(f"m{k}", "motion", "j1", coefficients=c) for k, c in enumerate(curves)]
        return Dynamics(pendulum.replace(constraints=tuple(motions))).analyse(pendulum.neutral, **options)

    found = report((0, 1, 0.5), (0, 1, 2.0))
    assert not found.is_consistent
    assert "m1 (position of j1) follows from m0 (position of j1), but contradicts it by 3 in accelerations" in str(
        found
    )
    assert report((0, 1, 0.5), (0, 1, 0.5, 3.0)).is_consistent  # to second order at t = 0 they are the same
    with pytest.raises(ArgumentError, match=r"v has shape \(3,\)"):
        report((0, 1), v=[0, 0, 0])


def test_redundant_loops_in_motion_do_not_contradict_themselves():
    """n^T G = 0 along a motion with G v = rate implies n^T gamma = 0, also where the factors n change."""
    bars = four_bar(kind="revolute")
    twice = bars.constraints[0].replace(name="again", kind="spherical")
    loops = bricard()
    for mechanism, start in (
        (bars.replace(constraints=(*bars.constraints, twice)), [1.0, -0.5, 1.7]),
        (loops, [np.pi / 2] * 5),
    ):
        first = mechanism.joints[0].name
        free = Dynamics(mechanism, reference=start)
        x = float(free.assemble()[0])
        drive = Constraint("drive", "motion", first, "", function=lambda t, x=x: x + 2 * t + scalar.sin(3 * t))
        system = Dynamics(mechanism.replace(constraints=(*mechanism.constraints, drive)), reference=start)
        q = system.assemble(free.assemble())
        v = system.project_velocity(q, np.zeros(mechanism.nv))
        gamma = system.evaluate("constraints", q, v, 0.0)[3]
        assert np.abs(gamma).max() > 1
        report = system.analyse(q, v=v)
        assert report.dependences
        assert report.is_consistent, str(report)


@pytest.mark.parametrize("law", [lambda q, t: float("nan"), lambda q, t: q[0] + float("nan")])
def test_laws_without_a_value_are_not_analysed(law):
    system = Dynamics(four_bar().replace(constraints=(Constraint("law", "position", function=law),)))
    with pytest.raises(SingularityError, match="constraint 'law' is not a finite number"):
        system.analyse(np.zeros(3))
