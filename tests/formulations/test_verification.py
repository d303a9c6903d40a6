"""verify(): a table of agreements that is right, readable, and can fail."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest
from classical_systems import closed_four_bar, rp_arm, stacker
from hypothesis import given, settings
from sympy import Rational, Symbol, log, pi, sqrt, symbols

from dalembert.algebra.rotations import rotation_z
from dalembert.algebra.scalar import sin
from dalembert.algebra.transform import Transform
from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.constraints import forces
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, ModelWarning
from dalembert.formulations import derive, laws, verify
from dalembert.formulations.agreement import Agreement, AgreementRow
from dalembert.model import WORLD, Body, Constraint, Force, Inertia, Joint, Mechanism
from dalembert.model.force import FORCE_KINDS
from random_mechanisms import mechanisms, random_mechanism, random_transform

verification = importlib.import_module("dalembert.formulations.verify")  # the package has a function of this name


@settings(max_examples=8)
@given(mechanisms(1, 4, mimic=0.2))
def test_random_mechanisms_agree(mechanism):
    if mechanism.nv == 0:
        return
    outcome = verify(mechanism, states=2)
    assert outcome.ok, str(outcome)


def test_bodies_without_mass_agree_on_nothing_and_fail_nothing():
    chain = Mechanism(
        "skeleton",
        [Body("upper"), Body("lower")],
        [
            Joint("a", "revolute", WORLD, "upper", axis=[0, 1, 0]),
            Joint("b", "prismatic", "upper", "lower", axis=[1, 0, 0]),
        ],
    )
    outcome = verify(chain, states=2)
    assert outcome.ok, str(outcome)
    assert any("singular" in line for line in outcome.skipped)


@pytest.mark.parametrize("make", [stacker, rp_arm, closed_four_bar])
def test_symbols_and_constraints(make):
    outcome = verify(make(), states=3)
    assert outcome.ok, str(outcome)
    whom = {row.who for row in outcome.rows}
    assert {"derived: lagrange", "derived: kane", "derived: kronecker", "derived: newton-euler"} <= whom
    laws = {row.quantity for row in outcome.rows}
    assert {"power balance", "Mdot - 2C skew", "sensitivity P", "M symmetric", "forward dynamics"} <= laws
    assert ("constrained motion" in laws) == bool(make().constraints)


def loaded() -> Mechanism:
    """One force element of every kind on a random tree with a floating base."""
    tree = random_mechanism(6, 5, kinds=("revolute", "prismatic", "spherical"), floating=True, massless=0.0)
    rng = np.random.default_rng(0)
    hinge = next(joint.name for joint in tree.joints if joint.nv == 1)
    here, there = random_transform(rng), random_transform(rng)
    return tree.replace(
        forces=(
            Force("coil", "spring", "b1", "b5", here, there, stiffness=40.0, damping=2.0, rest=0.1),
            Force("free coil", "spring", WORLD, "b4", here, there, stiffness=30.0, rest=0.4),
            Force("twist", "torsional-spring", "b2", "b3", here, there, stiffness=3.0),
            Force("joint coil", "joint-spring", hinge, stiffness=5.0, damping=0.3, rest=0.2),
            Force("rub", "joint-friction", hinge, value=0.4, smoothing=0.01),
            Force("stop", "joint-stop", hinge, stiffness=90.0, damping=1.0, upper=0.1, smoothing=0.05),
            Force("motor", "joint-force", hinge, function=lambda t: sin(3 * t)),
            Force("push", "wrench", "tool", "b3", components=(1.0, 2.0, 3.0, -1.0, 0.5, 0.2)),
            Force("drag", "user", function=lambda q, v, t: [-2 * x for x in v]),
            Force("jet", "user-wrench", "b2", "b2", function=lambda q, v, t: [t, 1, 0, 0, 0, v[0]]),
            Force("moon", "attraction", placement_a=Transform.from_translation([30.0, 5, 2]), value=500.0),
            Force(
                "planet",
                "oblate-planet",
                placement_a=Transform.from_translation([-25.0, 4, 3]),
                value=300.0,
                oblateness=0.2,
                radius=2.0,
            ),
            Force("tide", "gravity-field", function=lambda p, t: [p[1] * p[2], -p[0], p[0] * p[0]]),
        )
    )


def test_force_elements_of_every_kind_enter():
    mechanism = loaded()
    assert {item.kind for item in mechanism.forces} == set(FORCE_KINDS)
    outcome = verify(mechanism, states=2)
    assert outcome.ok, str(outcome)
    rows = {(row.quantity, row.who) for row in outcome.rows}
    assert {("force elements", f"derived: {m}") for m in ("lagrange", "kane", "kronecker", "newton-euler")} <= rows
    assert {(f"force {item.name}", "kernel") for item in mechanism.forces} <= rows
    powered = {item.name for item in mechanism.forces if ("force " + item.name, "virtual power") in rows}
    assert powered == {"coil", "free coil", "twist", "push", "jet", "moon", "planet", "tide"}
    stored = {item.name for item in mechanism.forces if ("force " + item.name, "slope of its energy") in rows}
    assert stored == {"free coil", "twist", "moon", "planet"}


def test_forces_that_do_not_know_time_enter_too():
    mechanism = random_mechanism(1, 2, kinds=("revolute",))
    spring = Force("coil", "joint-spring", "j1", stiffness=Symbol("k"))
    outcome = verify(mechanism.replace(forces=(spring,)), states=1)
    assert outcome.ok and any(row.quantity == "force coil" for row in outcome.rows), str(outcome)


def with_joint_terms(mechanism: Mechanism) -> Mechanism:
    """Every joint gets a rotor, damping and friction of its own."""
    joints = [
        joint.replace(armature=0.3 + k, damping=0.2 * k + 0.1, friction=0.05 * k)
        for k, joint in enumerate(mechanism.joints)
    ]
    return mechanism.replace(joints=tuple(joints))


@settings(max_examples=4)
@given(mechanisms(2, 3, mimic=0.4))
def test_joint_terms_enter_every_derivation(mechanism):
    if mechanism.nv == 0:
        return
    outcome = verify(with_joint_terms(mechanism), states=2)
    assert outcome.ok, str(outcome)
    rows = {(row.quantity, row.who) for row in outcome.rows}
    for quantity in ("mass matrix, joint terms", "inverse dynamics, joint terms"):
        assert {(quantity, f"derived: {m}") for m in ("lagrange", "kane", "kronecker", "newton-euler")} <= rows


def test_joint_terms_enter_constrained_motion_and_constraint_forces():
    driven = Constraint("drive", "motion", "j1", function=lambda t: sin(2 * t))
    tree = with_joint_terms(random_mechanism(1, 3, kinds=("revolute",), branching=0.0))
    for mechanism in (with_joint_terms(closed_four_bar()), tree.replace(constraints=(driven,))):
        outcome = verify(mechanism, states=2)
        assert outcome.ok, str(outcome)
        assert {"constrained motion, joint terms", "constraint forces, joint terms"} <= {
            row.quantity for row in outcome.rows
        }


def driven_tree_with_forces() -> Mechanism:
    """One joint moves as time says; two of the forces depend on time as well."""
    tree = random_mechanism(1, 3, kinds=("revolute",), branching=0.0, massless=0.0)
    coil = Force("coil", "spring", WORLD, "b3", Transform.from_translation([1.0, 2, 0]), stiffness=40.0, damping=2.0)
    motor = Force("motor", "joint-force", "j2", function=lambda t: 3 * sin(3 * t))
    drive = Constraint("drive", "motion", "j1", function=lambda t: sin(2 * t))
    return tree.replace(constraints=(drive,), forces=(coil, motor))


def test_force_elements_enter_constrained_motion():
    outcome = verify(driven_tree_with_forces(), states=2)
    assert outcome.ok and sum(row.quantity == "constrained motion" for row in outcome.rows) >= 6, str(outcome)


def test_a_force_that_constrained_motion_forgets_is_found(monkeypatch):
    """Compiled without one of the forces, the terms move otherwise; nothing else notices."""

    def forgetful(mechanism, elements=(), **options):
        return Dynamics(mechanism, elements=["coil"], **options)

    monkeypatch.setattr(laws, "Dynamics", forgetful)
    outcome = verify(driven_tree_with_forces(), states=1)
    wrong = {(row.quantity, row.against.partition(",")[0]) for row in outcome.rows if not row.ok}
    assert wrong == {("constrained motion", "compiled terms"), ("constrained motion", "compiled kernel")}


def test_without_joint_terms_there_are_no_rows_of_them():
    bare = random_mechanism(1, 2, kinds=("revolute",))
    assert not any("joint terms" in row.quantity for row in verify(bare, states=1).rows)


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
def test_a_lost_rotor_is_found(monkeypatch, method):
    """A derivation that forgets the rotors agrees in all that has no joint terms, and in nothing that has."""
    honest = verification.derive

    def forgetful(subject, name, elements, include=()):
        return honest(
            subject, name, elements=elements, include=[term for term in include if term != "armature" or name != method]
        )

    monkeypatch.setattr(verification, "derive", forgetful)
    outcome = verify(with_joint_terms(random_mechanism(1, 3, kinds=("revolute",))), states=1)
    wrong = {(row.quantity, row.who) for row in outcome.rows if not row.ok}
    assert wrong == {(f"{what}, joint terms", f"derived: {method}") for what in ("mass matrix", "inverse dynamics")}


def test_a_wrong_force_is_found(monkeypatch):
    """The attraction loses a millionth of its moment: virtual power and energy both notice."""
    honest = forces.gravitation

    def crooked(item, state, program):
        total, actions = honest(item, state, program)
        return total * (1 + 1e-6 * (item.name == "moon")), actions

    monkeypatch.setattr(forces, "gravitation", crooked)
    monkeypatch.setenv("DALEMBERT_CACHE", "off")  # or others would find the crooked kernel there
    outcome = verify(loaded(), states=1, methods=["kane"])
    wrong = {(row.quantity, row.who) for row in outcome.rows if not row.ok}
    assert {("force moon", "virtual power"), ("force moon", "slope of its energy")} <= wrong
    assert {quantity for quantity, _ in wrong} == {"force moon"}


def test_a_big_robot_leaves_out_what_would_take_too_long():
    mechanism = random_mechanism(4, 26, kinds=("revolute",), branching=0.3, floating=True)
    assert mechanism.nv > 30
    outcome = verify(mechanism, states=1)
    assert outcome.ok, str(outcome)
    assert any(reason.startswith("kronecker") for reason in outcome.skipped)


def test_a_singular_mass_matrix_is_said_and_survived():
    """A joint that moves nothing: what needs the inverse of M is left out, everything else agrees."""
    mechanism = random_mechanism(2, 3, kinds=("revolute",), branching=0.0, massless=0.0)
    bodies = [*mechanism.bodies[:2], mechanism.bodies[2].replace(inertia=Inertia())]
    outcome = verify(mechanism.replace(bodies=tuple(bodies), strict=False), states=2)
    assert outcome.ok, str(outcome)
    assert any("singular" in reason for reason in outcome.skipped)
    assert not any(row.quantity == "forward dynamics" for row in outcome.rows)


def test_a_wrong_algorithm_is_found(monkeypatch):
    """One joint torque off by a millionth: the table names the culprit."""
    honest = INVERSE_DYNAMICS["tensor"]

    def crooked(tree, q, v, a, loads=None):
        tau = np.array(honest(tree, q, v, a, loads))
        tau[0] *= 1 + 1e-6
        return tau

    monkeypatch.setitem(INVERSE_DYNAMICS, "tensor", crooked)
    outcome = verify(random_mechanism(1, 3, kinds=("revolute",)), states=2)
    assert not outcome and not outcome.ok
    bad = [row for row in outcome.rows if not row.ok]
    assert all("tensor" in (row.who, row.against) for row in bad) and bad
    assert "disagree" in str(outcome) and outcome.worst.quantity == "inverse dynamics"


@pytest.mark.parametrize("length", [1.0, 1e3])
@pytest.mark.parametrize("name", FORWARD_DYNAMICS)
def test_a_wrong_acceleration_is_found_in_every_unit(monkeypatch, name, length):
    """In millimetres a mass matrix has entries of kg beside kg mm^2; its condition is no excuse for errors."""
    honest = FORWARD_DYNAMICS[name]
    monkeypatch.setitem(FORWARD_DYNAMICS, name, lambda *args: np.array(honest(*args)) * (1 + 1e-9))
    body = Body("body", Inertia(2.0, length * np.array([0.1, 0.2, 0.3]), length**2 * np.diag([0.3, 0.4, 0.5])))
    outcome = verify(
        Mechanism("flyer", [body], [Joint("free", "free", WORLD, "body")], gravity=[0, 0, -9.81 * length]), states=2
    )
    assert {row.quantity for row in outcome.rows if not row.ok} == {"forward dynamics"}


def test_the_table_is_plain_text():
    text = str(verify(rp_arm(), states=1))
    lines = text.splitlines()
    assert lines[0].startswith("RP arm: ") and "all agree" in lines[0]
    assert lines[2].split()[:2] == ["quantity", "by"]
    assert max(map(len, lines)) < 140


def test_nan_is_never_ok():
    row = AgreementRow("mass matrix", "a", "b", math.nan, 1e-10)
    assert not row.ok
    assert not Agreement("x", 1, (row,)).ok and Agreement("x", 1, (row,)).worst is row


def test_arguments_are_checked():
    with pytest.raises(ArgumentError, match="a whole number from 1"):
        verify(rp_arm(), states=0)
    fixed = random_mechanism(0, 1, kinds=("fixed",))
    with pytest.raises(ArgumentError, match="no degree of freedom"):
        verify(fixed)
    few = verify(rp_arm(), states=1, methods=["kane"])
    assert not any("lagrange" in row.who for row in few.rows)


def test_what_is_no_mechanism_is_refused():
    with pytest.raises(ArgumentError, match="got str"):
        verify("panda.urdf")


def test_a_motion_without_acceleration_is_no_disagreement():
    """A ball that rolls on level ground: both accelerations are rounding errors of zero."""
    ball = Body("ball", Inertia(1.0, [0, 0, 0], np.eye(3) * 0.036))
    rolling = Constraint("ground", "rolling-sphere", "ball", WORLD, value=0.3)
    mechanism = Mechanism("ball", (ball,), (Joint("free", "free", WORLD, "ball"),), constraints=(rolling,))
    outcome = verify(mechanism, states=2)
    assert outcome.ok and any(row.quantity == "constrained motion" for row in outcome.rows), str(outcome)


def test_no_tolerance_is_a_tolerance():
    """Rounding then disagrees, and the worst row is the one with the largest error."""
    outcome = verify(stacker(), states=1, tolerance=0.0)
    assert not outcome.ok
    assert outcome.worst.error == max(row.error for row in outcome.rows)


def test_algorithms_run_on_floats_where_constants_are_exact(monkeypatch):
    """Angles of SymPy in a table of a book are numbers: as expressions they double at every joint, and never end."""
    seen: list[Mechanism] = []
    monkeypatch.setattr(verification, "sensitivity_rows", lambda mechanism, *_: seen.append(mechanism) or [])
    placement = Transform(rotation_z(pi / 6), [0, 0, Rational(1, 3)])
    joint = Joint("hinge", "revolute", WORLD, "bob", placement, axis=[1, 0, 0])
    bob = Mechanism("bob", [Body("bob", Inertia.point(1.0, [0, 0, sqrt(2)]))], [joint], strict=False)
    assert verify(bob, states=1).ok
    places = [*seen[0].joints[0].placement.rotation.flat, *seen[0].bodies[0].inertia.center]
    assert len(seen) == 1 and all(isinstance(x, float) for x in places)


def scaled(mechanism: Mechanism, ratio: float) -> Mechanism:
    """The same shape and material in another size: lengths grow as the ratio, masses as its cube."""

    def moved(placement: Transform) -> Transform:
        return Transform(placement.rotation, ratio * placement.translation)

    return mechanism.replace(
        bodies=tuple(
            body.replace(
                inertia=Inertia(
                    ratio**3 * body.inertia.mass, ratio * body.inertia.center, ratio**5 * body.inertia.tensor
                )
            )
            for body in mechanism.bodies
        ),
        joints=tuple(joint.replace(placement=moved(joint.placement)) for joint in mechanism.joints),
        constraints=tuple(
            item.replace(placement_a=moved(item.placement_a), placement_b=moved(item.placement_b))
            for item in mechanism.constraints
        ),
    )


@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 1e3])
def test_size_is_no_disagreement(ratio):
    """Small mechanisms fall fast and have tiny inertias beside arms of the constraints, large ones the reverse."""
    tree = random_mechanism(3, 4, kinds=("revolute", "prismatic"), massless=0.0)
    for mechanism in (closed_four_bar(), tree):
        outcome = verify(scaled(mechanism, ratio), states=2)
        assert outcome.ok, str(outcome)
        assert {row.quantity for row in outcome.rows} == {row.quantity for row in verify(mechanism, states=2).rows}


@pytest.mark.parametrize("names", ["r l m d k", "q v u tau udot", "v t q u a", "slide drive q v x"])
def test_constraints_may_have_symbols_of_their_own(names):
    """A crank, a piston, a rod whose length occurs nowhere in the tree; parameters may be called like the state."""
    r, l, m, d, k = symbols(names)
    bodies = (Body("crank", Inertia.point(m, [r, 0, 0])), Body("piston", Inertia.point(2 * m)))
    joints = (
        Joint("drive", "revolute", WORLD, "crank", axis=[0, 1, 0], damping=d),
        Joint("slide", "prismatic", WORLD, "piston", axis=[1, 0, 0]),
    )
    rod = Constraint("rod", "distance", "crank", "piston", Transform.from_translation([r, 0, 0]), value=2 + l)
    spring = Force("spring", "joint-spring", "slide", stiffness=k)
    outcome = verify(Mechanism("press", bodies, joints, constraints=(rod,), forces=(spring,)), states=2)
    assert outcome.ok and any(row.quantity == "constrained motion" for row in outcome.rows), str(outcome)


def bead(rule) -> Mechanism:
    """A point that moves along x and z under a rule."""
    joints = (
        Joint("x", "prismatic", WORLD, "cart", axis=[1, 0, 0]),
        Joint("z", "prismatic", "cart", "bead", axis=[0, 0, 1]),
    )
    wire = Constraint("wire", "position", function=rule(Symbol("x"), Symbol("z")))
    return Mechanism("bead", (Body("cart", Inertia(1.0)), Body("bead", Inertia(2.0))), joints, constraints=(wire,))


def constrained(outcome: Agreement) -> bool:
    return outcome.ok and any(row.quantity == "constrained motion" for row in outcome.rows)


def test_constrained_motion_is_compared_where_constraints_can_be_satisfied():
    """sqrt(x + 1/10) exists for no x below -1/10, where random positions often are; log(x - 30) only far from neutral,
    though its gradient exists."""
    near = verify(bead(lambda x, z: z - sqrt(x + Rational(1, 10))), states=6)
    assert constrained(near) and any("around the neutral one instead" in reason for reason in near.skipped)
    far = bead(lambda x, z: z - log(x - 30))
    with pytest.warns(ModelWarning, match="reference=, positions near an assembly"):
        lost = verify(far, states=2)
    assert not lost.ok and not constrained(lost) and any("an assembly as q" in reason for reason in lost.skipped)
    for q in ({"x": 32.0}, [32.0, 0.7]):
        assert constrained(verify(far, states=2, q=q))
    with pytest.raises(ArgumentError, match="needs"):
        verify(far, q=[1.0])
    with pytest.raises(ArgumentError, match="no constraints"):
        verify(far.replace(constraints=()), q=[1.0, 2.0])
    nowhere = verify(bead(lambda x, z: z - sqrt(x - 30)), states=2)
    assert not constrained(nowhere) and any("does not exist where" in reason for reason in nowhere.skipped)


def test_constraints_that_cannot_be_assembled_do_not_agree():
    """A pendulum whose rod would have to reach farther than it is long."""

    def pendulum(reach) -> Mechanism:
        rod = Body("rod", Inertia(1.0, [0.1, 0.0, 0.0], np.diag([0.1, 0.1, 0.1])))
        hinge = Joint("hinge", "revolute", WORLD, "rod", axis=[0, 1, 0])
        slide = Joint("slide", "prismatic", "rod", "bob", axis=[0, 1, 0])
        far = Constraint("far", "spherical", "bob", placement_b=Transform.from_translation([reach, 0, 0]))
        return Mechanism("short", [rod, Body("bob", Inertia(1.0))], [hinge, slide], constraints=[far])

    with pytest.warns(ModelWarning, match="no positions were found that satisfy its constraints"):
        found = verify(pendulum(1.5), states=2)
    assert not found.ok and found.worst.quantity == "constraints" and "1 of" in str(found).splitlines()[0]
    assert any("cannot be assembled" in reason and "far: " in reason for reason in found.skipped)
    with pytest.warns(ModelWarning, match="no positions were found"):
        derive(pendulum(1.5), "kane")
    # Of a symbol, other values than those drawn may allow it.
    assert verify(pendulum(Symbol("reach")), states=2).ok


def test_constrained_motion_is_compared_while_given_motions_are_in_reach():
    """A slide at 30 m/s leaves the reach of its crank at once."""
    matter = Inertia(1.0, [0.1, 0.0, 0.0], np.diag([0.1, 0.1, 0.1]))
    joints = [
        Joint("a", "revolute", WORLD, "crank", axis=[0, 0, 1]),
        Joint("b", "revolute", "crank", "rod", Transform.from_translation([0.2, 0, 0]), axis=[0, 0, 1]),
        Joint("x", "prismatic", WORLD, "slide", axis=[1, 0, 0]),
    ]
    closures = [
        Constraint("pin", "point-on-line", "rod", "slide", Transform.from_translation([0.8, 0, 0])),
        Constraint("drive", "motion", "x", coefficients=[0.8, 30.0]),
    ]
    bodies = [Body(joint.child, matter) for joint in joints]
    assert constrained(verify(Mechanism("driven", bodies, joints, constraints=closures), states=2))


@pytest.mark.parametrize(("moments", "told"), [((1.0, 1.0, 9.0), True), ((1.0, 1.0, -1.0), False)])
def test_definiteness_is_compared_wherever_no_energy_is_negative(moments, told):
    """Moments that break the triangle inequality, as values of symbols do, leave M positive."""
    wheel = Body("wheel", Inertia(1.0, tensor=np.diag(moments)))
    spun = Mechanism("spun", [wheel], [Joint("pin", "revolute", WORLD, "wheel")], strict=False)
    found = verify(spun, states=1)
    assert found.ok and any(row.quantity == "M positive" for row in found.rows) == told
    assert any("kinetic energy of wheel may be negative" in reason for reason in found.skipped) != told


@pytest.mark.parametrize("states", [2, 4])
def test_rounding_of_forces_and_accelerations_that_vanish_is_no_error(states):
    """A ball that rolls without gravity, gears in balance on vertical shafts: no forces, nothing accelerates."""
    ball = Mechanism(
        "ball",
        [Body("ball", Inertia(1.0, tensor=np.eye(3) / 10))],
        [Joint("ball", "free", WORLD, "ball")],
        gravity=[0, 0, 0],
        constraints=[Constraint("ground", "rolling-sphere", "ball", WORLD, value=0.5)],
    )
    wheels = [Body(f"wheel{k}", Inertia(1.0, [0.02, 0, 0], np.diag([0.1, 0.1, 0.02 * k]))) for k in (1, 2, 3)]
    shafts = [Joint(f"shaft{k}", "revolute", WORLD, f"wheel{k}") for k in (1, 2, 3)]
    teeth = [
        Constraint(f"teeth{k}", "coupling", f"shaft{k}", f"shaft{k + 1}", coefficients=(0, ratio))
        for k, ratio in ((1, -0.3), (2, -0.7))
    ]
    for mechanism in (ball, Mechanism("gears", wheels, shafts, constraints=teeth)):
        outcome = verify(mechanism, states=states)
        assert outcome.ok and "constraint forces" in {row.quantity for row in outcome.rows}, str(outcome)


def test_what_is_not_a_number_is_no_agreement(monkeypatch):
    """Of several states one is enough, whichever it is."""
    solve, calls = Dynamics.solve, []

    def spoilt(self, *state, **options):
        found = solve(self, *state, **options)
        calls.append(0)
        found.a[0] = np.nan if len(calls) == 2 else found.a[0]
        return found

    monkeypatch.setattr(Dynamics, "solve", spoilt)
    outcome = verify(closed_four_bar(), states=3)
    assert sum(math.isnan(row.error) for row in outcome.rows) == 1 and not outcome.ok
