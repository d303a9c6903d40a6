"""Kane's independent speeds are chosen where loops are closed the right way round, and kernels are held against them.

The sines that say that two frames are parallel vanish after half a turn as well. There a weld loses two of its three
rows, and equations derived there have too many degrees of freedom.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sympy

from dalembert.algebra.transform import Transform
from dalembert.dynamics import Dynamics
from dalembert.errors import ModelWarning
from dalembert.formulations import derive, sampling, verify
from dalembert.formulations.mechanism_system import system_of
from dalembert.formulations.sampling import LoopCloser, typical_inputs
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism
from dalembert.tracing.evaluate import evaluate

MATTER = Inertia(1.3, center=[0.1, 0.02, 0.03], tensor=np.diag([0.1, 0.15, 0.2]))
WRIST = Mechanism(
    "wrist",
    (Body("a", MATTER), Body("b", MATTER)),
    (Joint("ball", "spherical", WORLD, "a"), Joint("hinge", "revolute", "a", "b", axis=[0, 1, 0])),
)
TURNED = Transform.from_rpy_xyz(np.array([0.3, -0.2, 0.5]), np.zeros(3))


@pytest.fixture(params=["weld", "prismatic"])
def held(request):
    """Body b cannot turn: three rows of four velocities."""
    return WRIST.replace(constraints=(Constraint("hold", request.param, "b", WORLD, TURNED),))


def test_kane_leaves_the_freedoms_that_the_loop_leaves(held):
    system = Dynamics(held, reference=[0, 0, 0, 1, 0.3])
    freedoms = system.analyse(system.assemble()).degrees_of_freedom
    assert freedoms == 1
    assert len(derive(held, "kane").mass_matrix) == freedoms


def test_no_loop_is_closed_half_a_turn_off(held):
    system, rng = system_of(held), np.random.default_rng(7)
    check = Dynamics(held)
    for _ in range(10):
        inputs = typical_inputs(system, rng)
        assert LoopCloser(system)(inputs, rng)
        _, G = check.evaluate("positions", inputs["q"], 0.0)
        assert np.linalg.matrix_rank(G, tol=1e-6) == 3


def test_kernels_take_part_in_the_verification(held):
    result = verify(held, states=2)
    assert result.ok, str(result)
    routes = {row.against for row in result.rows if row.quantity == "constrained motion"}
    assert {"compiled terms, udwadia-kalaba", "compiled kernel, multipliers", "compiled kernel, projection"} <= routes


def test_rows_out_of_the_plane_of_a_loop_are_left_out_also_where_the_plane_is_tilted():
    def at(x):
        return Transform.from_translation([x, 0, 0])

    pin = Transform.from_rpy_xyz([np.pi / 2, 0, 0], [0.5, 0, 0])
    linkage = Mechanism(
        "tilted",
        tuple(Body(name, MATTER) for name in ("crank", "coupler", "rocker")),
        (
            Joint("a", "revolute", WORLD, "crank", TURNED, axis=[0, 1, 0]),
            Joint("b", "revolute", "crank", "coupler", at(0.2), axis=[0, 1, 0]),
            Joint("d", "revolute", WORLD, "rocker", TURNED @ at(0.45), axis=[0, 1, 0]),
        ),
        constraints=(Constraint("c", "revolute", "coupler", "rocker", pin, pin),),
    )
    assert derive(linkage, "kane")["mass_matrix"].shape == (1, 1)
    result = verify(linkage, states=2)
    assert result.ok, str(result)


@pytest.mark.parametrize(
    ("joint", "closure"), [("revolute", "revolute"), ("prismatic", "prismatic"), ("planar", "point-on-plane")]
)
def test_closures_that_hold_whatever_moves_leave_every_route_in_agreement(joint, closure):
    aside = Transform.from_translation([0, 0, 2])
    twice = Mechanism(
        "twice",
        (Body("part", MATTER),),
        (Joint("first", joint, WORLD, "part", TURNED),),
        constraints=(Constraint("second", closure, "part", WORLD, aside, TURNED @ aside),),
    )
    freedoms = twice.nv
    assert derive(twice, "kane")["mass_matrix"].shape == (freedoms, freedoms)
    result = verify(twice, states=2)
    assert result.ok, str(result)


def test_loops_on_ball_joints_close_from_the_first_start_in_a_few_steps(monkeypatch):
    """Newton's method on the quaternions themselves: from anywhere the 60 steps of one start are more than enough."""

    def at(*place):
        return Transform.from_translation(place)

    links = ("crank", "rod", "plate")
    suspended = Mechanism(
        "suspended",
        [Body(link, MATTER) for link in links],
        [
            Joint("drive", "revolute", WORLD, "crank", axis=[0, 1, 0]),
            Joint("ball", "spherical", "crank", "rod", placement=at(0.1, 0, 0)),
            Joint("loose", "free", WORLD, "plate"),
        ],
        constraints=[Constraint("hook", "spherical", "rod", "plate", at(0, 0, 0.3), at(0.1, 0.05, 0))],
    )
    system, rng, steps = system_of(suspended), np.random.default_rng(3), []
    monkeypatch.setattr(sampling, "evaluate", lambda *given: steps.append(1) or evaluate(*given))
    for _ in range(10):
        inputs = typical_inputs(system, rng)
        steps.clear()
        assert LoopCloser(system)(inputs, rng)
        assert len(steps) < 30


def test_two_wheels_on_one_axle_roll_in_every_direction():
    """Of four rows three are independent; which, depends on the heading: along y both rows along x say the same."""
    r, half, spin = 0.1, 0.3, np.diag([0.003, 0.005, 0.003])
    nothing = Inertia(0, [0, 0, 0], np.zeros((3, 3)))
    robot = Mechanism(
        "robot",
        (
            Body("along", nothing),
            Body("across", nothing),
            Body("base", MATTER),
            Body("left", Inertia(0.5, [0, 0, 0], spin)),
            Body("right", Inertia(0.5, [0, 0, 0], spin)),
        ),
        (
            Joint("x", "prismatic", WORLD, "along", axis=[1, 0, 0]),
            Joint("y", "prismatic", "along", "across", axis=[0, 1, 0]),
            Joint("psi", "revolute", "across", "base", axis=[0, 0, 1]),
            Joint("l", "revolute", "base", "left", Transform.from_translation([0, half, r]), axis=[0, 1, 0]),
            Joint("r", "revolute", "base", "right", Transform.from_translation([0, -half, r]), axis=[0, 1, 0]),
        ),
        constraints=tuple(Constraint(f"{k} wheel", "rolling-wheel", k, WORLD, value=r) for k in ("left", "right")),
    )
    equations, system = derive(robot, "kane"), Dynamics(robot)
    assert equations["constraint_matrix"].shape == (4, 5)
    v_of = ["velocities", "speed_map", "acceleration_drift", "constraint_matrix"]
    accelerations, tau, u = equations.compile("accelerations"), np.array([0, 0, 0, 0.3, -0.2]), np.array([1.3, -0.4])
    for psi in (0, 0.7, np.pi / 2, -np.pi / 2, np.pi, np.pi / 2 + 1e-8):
        q = np.array([0.2, 0.3, psi, 0.4, 0.5])
        udot = accelerations(q, u, tau)
        found = equations.numbers(v_of, {"q": q, "u": u})
        expected = system.solve(q, found["velocities"], tau)
        assert np.abs(found["speed_map"] @ udot + found["acceleration_drift"] - expected.a).max() < 1e-12
        multipliers = equations.numbers(["multipliers"], {"q": q, "u": u, "udot": udot, "tau": tau})["multipliers"]
        A = found["constraint_matrix"]
        assert np.abs(A.T @ multipliers - A.T @ expected.multipliers).max() < 1e-11
        assert np.linalg.norm(multipliers) <= np.linalg.norm(np.linalg.pinv(A.T) @ A.T @ multipliers) * (1 + 1e-9)


def test_loops_that_close_in_ways_of_another_mobility_say_so():
    """Two cranks on one slider, rods as long as cranks: folded, both turn alone, which most random starts lead to."""
    l = sympy.Symbol("l", positive=True)

    def cranks(rod):
        joints, pins = [Joint("d", "prismatic", WORLD, "slider", axis=[0, 0, 1])], []
        for k, sign in (("1", 1), ("2", -1)):
            end = Transform.from_translation([sign * l, 0, 0])
            joints.append(Joint(f"a{k}", "revolute", WORLD, f"crank {k}", axis=[0, sign, 0]))
            joints.append(Joint(f"b{k}", "revolute", f"crank {k}", f"rod {k}", end, axis=[0, sign, 0]))
            pin = Transform.from_rpy_xyz([sympy.pi / 2, 0, 0], [-sign * rod, 0, 0])
            pins.append(Constraint(f"pin {k}", "point-on-line", f"rod {k}", "slider", pin))
        bodies = tuple(Body(joint.child, MATTER) for joint in joints)
        return Mechanism("cranks", bodies, tuple(joints), constraints=tuple(pins))

    for rod, expected in ((l, True), (l * sympy.Rational(6, 5), False)):
        (step,) = (step for step in derive(cranks(rod), "kane").steps() if step.title == "Speeds")
        assert ("also close in ways that leave 2 freedoms" in step.text) == expected


def test_redundant_rows_cost_no_digits_in_small_units():
    """Bennett's linkage, rows on lengths beside rows on angles: small, in a field as much weaker, it moves alike.

    Unweighted least squares lose the square of the ratio, 1e-16 * 1e10 at a hundredth of a millimetre.
    """
    twist, other = 0.7, 1.1
    lengths = {twist: 1.0, other: np.sin(other) / np.sin(twist)}

    def linkage(k):
        def link(angle):
            return Transform.from_rpy_xyz(np.array([angle, 0, 0]), np.array([k * lengths[angle], 0, 0]))

        matter = Inertia(1.3, k * MATTER.center, k**2 * MATTER.tensor)
        placements = (Transform.identity(), link(twist), link(other))
        links = (WORLD, "1", "2", "3")
        joints = [Joint(n, "revolute", *pair, place) for n, *pair, place in zip("abc", links, links[1:], placements)]
        close = Constraint("close", "revolute", "3", WORLD, link(twist), link(other).inverse())
        bodies = tuple(Body(name, matter) for name in links[1:])
        return Mechanism("Bennett", bodies, tuple(joints), constraints=(close,), gravity=[k, -9 * k, 2 * k])

    q, u, found = Dynamics(linkage(1)).assemble([0.8, 0.3, 0.2]), [0.7], []
    for k in (1, 1e-2, 1e-5):
        equations = derive(linkage(k), "kane", independent=["a"])
        assert len(equations["constraint_matrix"].values) > 2
        found.append(equations.compile("accelerations")(q, u, np.zeros(3)))
    assert np.abs(np.array(found[1:]) / found[0] - 1).max() < 1e-11


@pytest.mark.parametrize("unit", [1, 1000])
def test_loops_with_sliding_coordinates_close_in_millimetres(unit):
    """A platform on three parallel cranks, free in its plane: where loops are closed, one of six rows repeats."""
    feet = [unit * np.array(x) for x in ([0, 0, 0], [0.5, 0.1, 0], [1.1, 0, 0])]
    tip = Transform.from_translation([0.4 * unit, 0, 0])
    joints, pins = [Joint("plane", "planar", WORLD, "platform", axis=[0, 0, 1])], []
    for k, foot in zip("123", map(Transform.from_translation, feet)):
        joints.append(Joint(f"foot {k}", "revolute", WORLD, f"crank {k}", foot, axis=[0, 0, 1]))
        pins.append(Constraint(f"pin {k}", "point-on-line", f"crank {k}", "platform", tip, foot))
    matter = Inertia(1.3, [0, 0, 0], unit**2 * np.diag([0.1, 0.15, 0.2]))
    bodies = tuple(Body(joint.child, matter) for joint in joints)
    assert len(derive(Mechanism("platform", bodies, tuple(joints), constraints=tuple(pins)), "kane").velocities) == 1


@pytest.mark.parametrize("reference", [None, [1.384, -1.384, 1.384, 1.384, -1.085, -0.9]])
def test_given_motions_are_compared_while_they_are_in_reach(reference):
    """Coupling rods under a crosshead at 200 m/s: one row follows from others, which only holds while loops close."""

    def at(x):
        return Transform.from_translation([x, 0, 0])

    joints = (
        Joint("a", "revolute", WORLD, "front"),
        Joint("b", "revolute", "front", "side rod", at(0.3)),
        Joint("c", "revolute", WORLD, "middle", at(1.5)),
        Joint("d", "revolute", WORLD, "rear", at(3.0)),
        Joint("e", "revolute", "front", "main rod", at(0.3)),
        Joint("x", "prismatic", WORLD, "crosshead", axis=[1, 0, 0]),
    )
    closures = (
        Constraint("p", "point-on-line", "side rod", "middle", at(1.5), at(0.3)),
        Constraint("r", "point-on-line", "side rod", "rear", at(3.0), at(0.3)),
        Constraint("h", "point-on-line", "main rod", "crosshead", at(-1.0)),
        Constraint("drive", "motion", "x", coefficients=[-0.9, 200.0]),
    )
    matter = Inertia(1.0, [0.1, 0, 0], np.diag([0.01, 0.02, 0.02]))
    rods = Mechanism("rods", tuple(Body(x.child, matter) for x in joints), joints, constraints=closures)
    assert derive(rods, "kane", reference=reference).velocities == ()


@pytest.mark.parametrize("length", [1e-3, 1.0, 100.0, 5e3, 1e5])
@pytest.mark.parametrize("kind", ["free", "planar", "slider"])
def test_distances_close_at_every_length(kind, length):
    """Tethered satellites, sledges on a rope, a slider-crank: random starts are metres, whatever the length."""
    heavy = Inertia(5.0, [0, 0, 0], np.eye(3))
    kinds, arm = (kind, kind), Transform.identity()
    if kind == "slider":
        kinds, arm = ("revolute", "prismatic"), Transform.from_translation([length / 4, 0, 0])
    axes = ([0, 0, 1], [1, 0, 0] if kind == "slider" else [0, 0, 1])
    joints = [Joint(name, x, WORLD, on, axis=e) for name, x, on, e in zip("ab", kinds, ("one", "two"), axes)]
    rope = Constraint("rope", "distance", "one", "two", arm, value=length)
    mechanism = Mechanism("tether", (Body("one", heavy), Body("two", heavy)), joints, constraints=(rope,))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        equations = derive(mechanism, "kane")
    assert len(equations.mass_matrix) == mechanism.nv - 1
