"""Force elements: power balance with their stored energy, what each does in closed form, friction and stops.

Tolerances: rates by complex step, so rounding only: 1e-10 of the largest term.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy
from constraint_cases import STEP, at, relative, simulated
from hypothesis import given, settings
from hypothesis import strategies as st

import meaning
from dalembert.algebra import scalar
from dalembert.algebra.transform import Transform
from dalembert.constraints import ForceSet, State, coordinate_symbols, generalised_forces
from dalembert.dynamics import CONSTRAINT_QUANTITIES as QUANTITIES
from dalembert.dynamics import Dynamics
from dalembert.errors import ModelError
from dalembert.formats import load, read_toml, write_toml
from dalembert.kinematics import jacobian, pose, position_rate
from dalembert.model import WORLD, Body, Force, Frame, Inertia, Joint, Limits, Mechanism, Mimic
from dalembert.model.force import FORCE_KINDS
from dalembert.model.operations import lock, merge_fixed
from oracle import Oracle
from random_mechanisms import random_mechanism, random_transform

seeds = st.integers(0, 10_000)


def tree(seed):
    rng = np.random.default_rng(seed)
    mechanism = random_mechanism(
        rng, 5, kinds=["revolute", "prismatic", "spherical", "universal"], floating=seed % 2 == 1
    )
    mechanism = mechanism.replace(
        bodies=(*mechanism.bodies, Body("e1", Inertia.box(1, [1, 1, 1])), Body("e2", Inertia.box(1, [1, 1, 1]))),
        joints=(
            *mechanism.joints,
            Joint("k1", "revolute", "b1", "e1", random_transform(rng)),
            Joint("k2", "prismatic", "b2", "e2", random_transform(rng), mimic=Mimic("k1", -1.7, 0.2)),
        ),
    )
    return rng, mechanism


@pytest.mark.parametrize("kind", ["spring", "torsional-spring", "joint-spring"])
@settings(max_examples=20)
@given(seed=seeds)
def test_springs_give_back_what_they_store_and_dampers_take(kind, seed):
    """Power of the element is minus the rate of its energy minus damping times the square of its rate."""
    rng, mechanism = tree(seed)
    ends = ("k2", "") if kind == "joint-spring" else ("b2", "b5")
    places = (
        {} if kind == "joint-spring" else {"placement_a": random_transform(rng), "placement_b": random_transform(rng)}
    )
    spring = Force("f", kind, *ends, stiffness=7.0, rest=0.3, **places)
    q, v, _ = mechanism.random_state(rng)
    soon = q + 1j * STEP * position_rate(mechanism.tree, q, v)
    sprung = mechanism.replace(forces=(spring,))
    energy = np.imag(ForceSet(sprung, "all").energy(State(sprung, soon))) / STEP
    (force,) = generalised_forces(sprung, q, v, elements="all").values()
    scale = np.abs(force).max() * np.abs(v).max()
    assert abs(force @ v + energy) <= 1e-10 * scale

    damped = mechanism.replace(forces=(spring.replace(stiffness=0, damping=2.0),))
    (resistance,) = generalised_forces(damped, q, v, elements="all").values()
    unit = mechanism.replace(forces=(spring.replace(stiffness=1.0, rest=0.0),))
    # Energy x^2 / 2 of a unit spring has the rate x x': x' follows, and the damper takes 2 x'^2.
    value = ForceSet(unit, "all").energy(State(unit, soon))
    stretch = np.sqrt(2 * value.real)
    rate = np.imag(value) / STEP / stretch
    assert abs(resistance @ v + 2.0 * rate**2) <= 1e-9 * max(2 * rate**2, np.abs(resistance).max() * np.abs(v).max())


@pytest.mark.parametrize("rest", [0.0, 0.2, -2.0, math.pi, 5.0])
def test_a_torsional_spring_about_a_hinge_is_a_joint_spring(rest):
    """Up to half a turn from its rest, wherever that is, and the same again a full turn later."""
    body = Body("b", Inertia.box(1, [1, 2, 3]))
    place = Transform.from_rpy_xyz([0.3, 0.4, 0.5], [1, 2, 3])
    hinge = Joint("j", "revolute", WORLD, "b", place)
    about = Force("t", "torsional-spring", WORLD, "b", place, stiffness=3.0, damping=0.5, rest=rest)
    joint = Force("s", "joint-spring", "j", "", stiffness=3.0, damping=0.5, rest=rest)
    mechanism = Mechanism("m", [body], [hinge], forces=[about, joint])
    for twist in (-3.1, -1.0, 0.4, 3.1):
        found = generalised_forces(mechanism, [rest + twist], [1.3], elements="all")
        later = generalised_forces(mechanism, [rest + twist + 2 * math.pi], [1.3], elements="t")
        assert relative(found["t"], found["s"]) < 1e-12
        assert relative(later["t"], found["s"]) < 1e-12
        energies = [ForceSet(mechanism, name).energy(State(mechanism, [rest + twist])) for name in "ts"]
        assert relative(*energies) < 1e-12


@settings(max_examples=20)
@given(seed=seeds)
def test_wrenches_act_through_jacobians(seed):
    rng, mechanism = tree(seed)
    components = rng.normal(size=6)
    placement = random_transform(rng)
    forces = [
        Force("world", "wrench", "b4", WORLD, placement, components=tuple(components)),
        Force("follower", "wrench", "b4", "b4", placement, placement, components=tuple(components)),
        Force("own", "wrench", "b4", placement_a=placement, components=tuple(components)),
        Force("own user", "user-wrench", "b4", placement_a=placement, function=lambda q, v, t: list(components)),
        Force(
            "user",
            "user-wrench",
            "b4",
            WORLD,
            placement,
            function=lambda q, v, t: [*components[:3] * t, *components[3:] * t],
        ),
    ]
    mechanism = mechanism.replace(forces=forces)
    q, v, _ = mechanism.random_state(rng)
    found = generalised_forces(mechanism, q, v, 2.0, elements="all")
    JR, JT = jacobian(mechanism, q, "b4", point=placement.translation)
    R = (pose(mechanism, q, "b4") @ placement).rotation
    scale = np.abs(JT).max() + np.abs(JR).max()
    assert relative(found["world"], JT.T @ components[:3] + JR.T @ components[3:], scale) < 1e-11
    assert relative(found["follower"], JT.T @ R @ components[:3] + JR.T @ R @ components[3:], scale) < 1e-11
    assert relative(found["user"], 2 * found["world"], scale) < 1e-12
    for name in ("own", "own user"):
        assert relative(found[name], found["follower"], scale) < 1e-14


@settings(max_examples=5)
@given(seed=seeds)
def test_a_wrench_is_the_same_as_an_element_as_an_input_and_in_a_file(seed):
    """[force; moment] at the origin of its frame, in the axes of its frame."""
    rng, mechanism = tree(seed)
    mechanism = mechanism.replace(frames=[*mechanism.frames, Frame("tip", "b4", random_transform(rng))])
    wrench, (q, v, a) = rng.normal(size=6), mechanism.random_state(rng)
    wanted = Dynamics(mechanism, wrenches=["tip"]).inverse_dynamics(q, v, a, wrench[None])
    pushed = mechanism.replace(forces=[Force("push", "wrench", "tip", components=tuple(wrench))])
    file = write_toml(pushed)
    assert read_toml(file) == pushed and "b = " not in file[file.index("[[force]]") :]
    for one in (pushed, read_toml(file), lock(pushed, {}), merge_fixed(pushed)):
        np.testing.assert_allclose(Dynamics(one).inverse_dynamics(q, v, a), wanted, rtol=1e-9, atol=1e-9)
    push = pushed.forces[0]
    assert push.ends == ("a",) and push.placements == ("placement_a",) and push.replace(a="b4").b == ""
    with pytest.raises(ModelError, match="placement_b turns the axes of frame b"):
        push.replace(placement_b=random_transform(rng))


@pytest.mark.parametrize("kind", FORCE_KINDS)
def test_an_element_of_any_kind_pushes_as_its_energy_or_its_law_says(kind):
    """Sign and size against the oracle: slopes of energies, virtual work, six particles for a body in a field; and what
    drives need is less by it."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        bare = random_mechanism(rng, 4, mimic=0.4, kinds=("revolute", "prismatic", "spherical"), massless=0.0)
        mechanism = bare.replace(forces=(meaning.force(rng, kind, bare, "f"),))
        q, v, a = bare.random_state(rng)
        oracle = Oracle(mechanism, t=0.7)
        wanted = oracle.elements(q, v)["f"]
        size = max(1.0, np.abs(wanted).max())
        (found,) = generalised_forces(mechanism, q, v, 0.7).values()
        np.testing.assert_allclose(found, wanted, atol=1e-10 * size)  # of a field, bodies feel 1e-6 more than points
        stored = ForceSet(mechanism, "all").energy(State(mechanism, q))
        np.testing.assert_allclose(float(stored), oracle.stored(q), rtol=1e-10, atol=1e-12)
    helped, alone, still = Dynamics(mechanism), Dynamics(bare), np.zeros_like(v)
    for quantity, state in (("inverse_dynamics", (q, v, a)), ("bias", (q, v))):
        less = alone.evaluate(quantity, *state) - helped.evaluate(quantity, *state, 0.7)
        np.testing.assert_allclose(less, wanted, atol=1e-9 * size)
    faster = helped.evaluate("forward_dynamics", q, v, still, 0.7) - alone.evaluate("forward_dynamics", q, v, still)
    np.testing.assert_allclose(alone.evaluate("mass_matrix", q) @ faster, wanted, atol=1e-9 * size)


def slide(*forces):
    body = Body("b", Inertia.box(2, [1, 1, 1]))
    joint = Joint("j", "prismatic", WORLD, "b", axis=[1, 0, 0])
    return Mechanism("slide", [body], [joint], forces=forces)


def push(force, x, speed, t=0.0):
    return float(generalised_forces(slide(force), [x], [speed], t, elements="all")["f"][0])


def test_friction_sharp_and_smooth():
    sharp, smooth = (Force("f", "joint-friction", "j", "", value=4.0, smoothing=s) for s in (0, 0.01))
    assert [push(sharp, 0, s) for s in (-2.0, 0.0, 3.0)] == [4.0, 0.0, -4.0]
    assert push(smooth, 0, 0.01) == pytest.approx(-4.0 / math.sqrt(2))
    assert push(smooth, 0, 5.0) == pytest.approx(-4.0, rel=1e-5)


def test_stops_push_and_never_pull():
    stop = Force("f", "joint-stop", "j", "", stiffness=100.0, damping=10.0, lower=-1.0, upper=2.0)
    assert push(stop, 0.5, 30.0) == 0.0
    assert push(stop, 2.1, 0.0) == pytest.approx(-10.0)
    assert push(stop, 2.1, 1.0) == pytest.approx(-20.0)
    assert push(stop, 2.1, -5.0) == 0.0  # leaving faster than the spring expands
    assert push(stop, -1.2, 0.0) == pytest.approx(20.0)
    soft = stop.replace(smoothing=0.01)
    assert push(soft, 2.5, 0.0) == pytest.approx(-50.0, rel=1e-3)
    assert abs(push(soft, 0.5, 0.0)) < 0.01
    one_sided = Force("f", "joint-stop", "j", "", stiffness=100.0, upper=2.0)
    assert push(one_sided, -1e6, 0.0) == 0.0


@given(x=st.floats(-2, 3), speed=st.floats(-20, 20), damping=st.sampled_from([0.0, 10.0]))
def test_smooth_stops_never_pull_either_and_become_sharp(x, speed, damping):
    """The smooth penetration is s/2 too deep at most; its slope is 1/2 at a bound, so the bounds are left out."""
    sharp = Force("f", "joint-stop", "j", "", stiffness=100.0, damping=damping, lower=-1.0, upper=2.0)
    for bound, inwards in ((-1.0, 1), (2.0, -1)):
        one = sharp.replace(**{"upper" if inwards > 0 else "lower": inwards * math.inf}, smoothing=0.1)
        assert inwards * push(one, x, speed) >= 0
        if abs(x - bound) < 1e-3:
            return
    assert push(sharp.replace(smoothing=1e-9), x, speed) == pytest.approx(push(sharp, x, speed), abs=1e-4)


@given(x=st.floats(1, 3), speed=st.floats(-20, 20))
def test_stops_push_as_documented(x, speed):
    """e' max(0, k e + c e' u), where u is the speed at which the joint goes deeper."""
    stop = Force("f", "joint-stop", "j", "", stiffness=100.0, damping=10.0, upper=2.0, smoothing=0.3)
    depth = x - 2.0
    inside, slope = (depth + math.hypot(depth, 0.3)) / 2, (1 + depth / math.hypot(depth, 0.3)) / 2
    wanted = slope * max(0.0, 100.0 * inside + 10.0 * slope * speed)
    assert push(stop, x, speed) == pytest.approx(-wanted, rel=1e-12, abs=1e-10)  # of terms of up to 200


@pytest.mark.parametrize("smoothing", [0, 0.3])
@given(x=st.floats(-2, 3))
def test_stops_give_back_what_they_store(smoothing, x):
    sprung = slide(Force("f", "joint-stop", "j", "", stiffness=100.0, lower=-1.0, upper=2.0, smoothing=smoothing))
    energy = ForceSet(sprung, "all").energy(State(sprung, np.array([x + 1j * STEP])))
    assert push(sprung.forces[0], x, 0.0) == pytest.approx(-np.imag(energy) / STEP, rel=1e-12, abs=1e-12)


def test_drives_and_users_forces_of_time_and_state():
    assert push(Force("f", "joint-force", "j", "", value=3.0), 0, 0) == 3.0
    assert push(Force("f", "joint-force", "j", "", function=lambda t: scalar.sin(t) * 2), 0, 0, 0.3) == pytest.approx(
        2 * math.sin(0.3)
    )
    drag = Force("f", "user", function=lambda q, v, t: [-0.5 * v[0] * scalar.absolute(v[0])])
    assert push(drag, 0, 3.0) == -4.5 and push(drag, 0, -3.0) == 4.5
    (x,), (u,), t = coordinate_symbols(slide())
    written = Force("f", "user", function=[-3 * x + t * u])
    assert push(written, 2.0, 5.0, 0.1) == pytest.approx(-5.5)
    assert push(Force("f", "joint-force", "j", "", function=sympy.cos(t)), 0, 0, 0.7) == pytest.approx(math.cos(0.7))


def test_forces_enter_kernels_by_name_only():
    spring = Force("spring", "joint-spring", "j", "", stiffness=8.0, rest=0.1)
    drive = Force("drive", "joint-force", "j", "", value=5.0)
    mechanism = slide(spring, drive)
    for names, expected in (((), 0.0), (("spring",), -8.0 * 0.4 / 2), (("drive",), 2.5), ("all", (5.0 - 3.2) / 2)):
        system = Dynamics(mechanism, elements=names)
        assert system.forward_dynamics([0.5], [0.0], [0.0])[0] == pytest.approx(expected)
    system = Dynamics(mechanism, elements="all")
    assert system.kernel("element_forces")([0.5], [0.0], 0.0).tolist() == [[pytest.approx(-3.2)], [5.0]]


def test_a_spring_pendulum_keeps_its_energy():
    """Two bodies, a spring between them and one to the ground, under weight: energy over a few seconds."""
    bodies = [Body("a", Inertia.box(1, [0.1, 0.2, 0.3])), Body("b", Inertia.box(2, [0.1, 0.1, 0.1]))]
    joints = [
        Joint("one", "spherical", WORLD, "a"),
        Joint("two", "revolute", "a", "b", at([0.5, 0, 0])),
    ]
    forces = [
        Force("long", "spring", WORLD, "b", at([0, 0, 2.0]), at([0.3, 0, 0]), stiffness=30.0, rest=0.5),
        Force("twist", "torsional-spring", "a", "b", stiffness=5.0),
    ]
    mechanism = Mechanism("pendulum", bodies, joints, forces=forces)
    system = Dynamics(mechanism, elements="all")
    q, v = mechanism.neutral, np.array([0.5, 1.0, -0.3, 2.0])
    _, positions, speeds = simulated(system, q, v, 3.0, 1e-11)
    energies = system.kernel("energy")(positions, speeds, 0.0)
    assert np.ptp(energies) < 1e-8 * np.abs(energies).max()
    damped = mechanism.replace(forces=(forces[0].replace(damping=1.0), forces[1]))
    other = Dynamics(damped, elements="all")
    _, positions, speeds = simulated(other, q, v, 3.0, 1e-11)
    energies = other.kernel("energy")(positions, speeds, 0.0)
    assert (np.diff(energies) < 1e-9).all() and energies[-1] < energies[0] - 0.1


@pytest.mark.parametrize(
    "bad, words",
    [
        (lambda: Force("f", "sprung", "a"), "unknown kind"),
        (lambda: Force("f", "spring", "a", value=3), "does not use value"),
        (lambda: Force("f", "joint-friction", "a", stiffness=3), "does not use stiffness"),
        (lambda: Force("f", "joint-force", "j", value=3, function=scalar.sin), "either a value or a function"),
        (lambda: Force("f", "joint-spring", "j", "k", stiffness=3), "a joint-spring force does not use b, got 'k'"),
        (lambda: Force("f", "joint-stop", "j", upper=1, placement_a=at([1, 0, 0])), "does not use placement_a"),
        (lambda: Force("f", "attraction", "a", "b", value=1), "does not use b"),
        (lambda: Force("f", "attraction", "a", placement_b=at([1, 0, 0]), value=1), "does not use placement_b"),
        (lambda: Force("f", "user", "a", function=lambda q, v, t: q), "does not use a"),
        (lambda: Force("f", "wrench", "a", components=(1, 2, 3)), "six components"),
        (lambda: Force("f", "user"), "needs a function"),
        (lambda: Force("f", "joint-stop", "a", stiffness=3), "lower or an upper"),
        (lambda: Force("f", "joint-stop", "a", stiffness=3, lower=1, upper=0), "lies above"),
        (lambda: Force("f", "joint-friction", "a", value=-1), "must not be negative"),
    ],
)
def test_forces_that_make_no_sense_are_refused(bad, words):
    with pytest.raises(ModelError, match=words):
        bad()


def test_springs_that_never_stretch_are_refused():
    """Neighbours whose placements were forgotten: both ends are at the joint, wherever it turns."""
    both = Mechanism(
        "two",
        (Body("a", Inertia.box(1, [0.1, 0.2, 0.3])), Body("b", Inertia.box(1, [0.1, 0.2, 0.3]))),
        (Joint("p", "revolute", "world", "a"), Joint("q", "revolute", "a", "b")),
    )
    for kind, ends, words in (
        ("spring", ("a", "b"), "'s': its ends on 'a' and 'b' coincide at every position.*placement_a"),
        ("spring", ("a", "a"), "on the same body"),
        ("torsional-spring", ("b", "b"), "on the same body"),
    ):
        with pytest.raises(ModelError, match=words):
            ForceSet(both.replace(forces=(Force("s", kind, *ends, stiffness=1.0),)), "all")
    beside = Force("s", "spring", "a", "b", Transform.from_translation([0.1, 0, 0]), stiffness=1.0)
    assert ForceSet(both.replace(forces=(beside,)), "all").names == ("s",)


def test_springs_along_slides_without_limits_are_springs():
    """URDF gives slides without bounds the limits 0 .. 0, which are data only."""
    spring = Force("s", "spring", "world", "b", stiffness=100.0, rest=0.2)
    slides = Mechanism(
        "slide",
        (Body("b", Inertia.box(1, [0.1, 0.2, 0.3])),),
        (Joint("x", "prismatic", "world", "b", axis=[1, 0, 0], limits=Limits(0, 0)),),
        forces=(spring,),
        gravity=[0, 0, 0],
    )
    found = Dynamics(slides, elements="all").solve([0.5], [0.0], [0.0]).a
    np.testing.assert_allclose(found, [-100 * (0.5 - 0.2)], rtol=1e-12)


def test_velocities_are_projected_where_nothing_constrains_them():
    mechanism = slide(Force("spring", "joint-spring", "j", "", stiffness=8.0, rest=0.1))
    system = Dynamics(mechanism, elements="all")
    np.testing.assert_array_equal(system.project_velocity([0.5], [2.0]), [2.0])
    np.testing.assert_array_equal(system.project_acceleration([0.5], [2.0], [[3.0], [4.0]]), [[3.0], [4.0]])


def test_wrong_numbers_of_components_are_named():
    with pytest.raises(ModelError, match="must return 1 components, got 2"):
        push(Force("f", "user", function=lambda q, v, t: [1, 2]), 0, 0)


def test_energy_is_that_of_the_elements_that_store_some():
    """Friction and drives among them store none, and do not keep anybody from asking."""
    spring = Force("spring", "joint-spring", "j", "", stiffness=8.0, rest=0.1)
    friction = Force("friction", "joint-friction", "j", "", value=1.0, smoothing=0.1)
    drive = Force("drive", "joint-force", "j", "", value=5.0)
    for mechanism in (slide(spring), slide(spring, friction, drive)):
        assert ForceSet(mechanism, "all").energy(State(mechanism, [0.5], [0.0])) == pytest.approx(8.0 * 0.4**2 / 2)


@pytest.mark.parametrize("name", ["four_bar", "rrr", "free_body", "double_pendulum"])
def test_every_quantity_has_its_shape_also_where_there_are_no_rows(name):
    """Mechanisms without force elements, without constraints, and without either."""
    mechanism = load(name)
    dynamics = Dynamics(mechanism, parameters={symbol.name: 1.0 for symbol in mechanism.symbols})
    for quantity in QUANTITIES:
        kernel = dynamics.kernel(quantity)
        found = kernel(*(np.ones((2, *port.shape)) for port in kernel.inputs))
        shapes = [part.shape for part in (found if isinstance(found, tuple) else (found,))]
        assert shapes == [(2, *port.shape) for port in kernel.outputs], quantity
