"""What acts from outside: wrenches, springs, dampers, rotors, actuators."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sympy
from classical_systems import cart_pole, planar_elbow, rp_arm

from dalembert.algebra.transform import Transform
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.algorithms.joint_forces import joint_forces
from dalembert.errors import ArgumentError
from dalembert.formats import load
from dalembert.formulations import derive
from dalembert.kinematics import poses
from dalembert.model import WORLD, Body, Force, Frame, Inertia, Joint, Mechanism
from dalembert.report.markdown import to_markdown
from dalembert.report.report import document
from random_mechanisms import random_mechanism

METHODS = ("lagrange", "kane", "newton-euler")


@pytest.mark.parametrize("method", METHODS)
def test_external_wrenches_are_those_of_inverse_dynamics(method):
    mechanism = random_mechanism(5, 5)
    rng = np.random.default_rng(1)
    q, v, a = mechanism.random_state(rng)
    equations = derive(mechanism, method, wrenches=["tool", "b2"])
    loads = {"tool": rng.normal(size=6), "b2": rng.normal(size=6)}
    numbers = equations.evaluate(q, v, **{f"wrench_{name}": load for name, load in loads.items()})
    tau = numbers["mass_matrix"] @ a + numbers["bias"] - numbers["external"]
    np.testing.assert_allclose(tau, np.asarray(inverse_dynamics(mechanism, q, v, a, wrenches=loads), float), atol=1e-11)


def test_a_force_on_the_arm_in_closed_form():
    f, n = sympy.symbols("f_x_d2_body n_z_d2_body")
    external = derive(rp_arm(), wrenches=["d2_body"]).sympy("external")
    sideways, d2 = sympy.symbols("f_y_d2_body d2")
    assert external == sympy.Matrix([d2 * sideways + n, f])


@pytest.mark.parametrize("method", METHODS)
def test_springs_are_gradients_of_their_energy(method):
    mechanism = random_mechanism(3, 4)
    at = Transform(np.eye(3), np.array([0.1, 0.2, -0.3]))
    spring = Force("spring", "spring", "b1", "b4", placement_a=at, stiffness=7.0, rest=0.3)
    mechanism = mechanism.replace(forces=(spring,))
    q, v, _ = mechanism.random_state(np.random.default_rng(2))
    equations = derive(mechanism, method, elements=["spring"])
    power = equations.passive.evaluate({"q": q, "v": v}) @ v
    qdot = equations.kinematics.evaluate({"q": q, "v": v})

    def energy(position) -> complex:
        place = poses(mechanism, position)
        gap = place["b4"].translation - place["b1"].apply(at.translation)
        return 7.0 / 2 * ((gap @ gap) ** 0.5 - 0.3) ** 2

    rate = energy(q + 1e-30j * qdot).imag / 1e-30
    assert power == pytest.approx(-rate, rel=1e-12)


class TestSpringsOfTextbooks:
    """Point masses on lines and in planes: what is printed is -k (l - l0) along the spring, nothing longer."""

    k, l0, c, h = sympy.symbols("k l0 c h")

    def passive(self, axes, forces, method="lagrange"):
        """Generalised forces on one mass per row of axes, each mass moved by prismatic joints along its axes."""
        bodies, joints = [], []
        for i, directions in enumerate(axes, 1):
            parent = WORLD
            for axis in directions:
                child = f"{axis}{i}_body" if axis != directions[-1] else f"m{i}"
                bodies.append(Body(child, Inertia(sympy.Symbol(f"m{i}") if child == f"m{i}" else 0)))
                joints.append(Joint(f"{axis}{i}", "prismatic", parent, child, axis=np.eye(3)["xyz".index(axis)]))
                parent = child
        mechanism = Mechanism("masses", tuple(bodies), tuple(joints), forces=tuple(forces))
        return derive(mechanism, method).sympy("passive")

    def same(self, found, expected) -> None:
        assert sympy.simplify(sympy.Matrix(found) - sympy.Matrix(expected)).is_zero_matrix
        assert all(sympy.count_ops(x) <= sympy.count_ops(sympy.sympify(y)) + 1 for x, y in zip(found, expected))

    @pytest.mark.parametrize("method", (*METHODS, "kronecker"))
    def test_a_mass_on_a_wall(self, method):
        x, rate = sympy.symbols("x1 xdot1")
        spring = Force("spring", "spring", WORLD, "m1", stiffness=self.k, rest=self.l0, damping=self.c)
        found = self.passive(["x"], [spring], method)
        self.same(found, [-self.k * (x - self.l0 * sympy.sign(x)) - self.c * rate])

    def test_two_masses_in_a_line(self):
        x1, x2 = sympy.symbols("x1 x2")
        spring = Force("spring", "spring", "m1", "m2", stiffness=self.k, rest=self.l0)
        pull = self.k * (x2 - x1 - self.l0 * sympy.sign(x2 - x1))
        self.same(self.passive(["x", "x"], [spring]), [pull, -pull])

    def test_a_chain_of_springs_has_no_common_denominator(self):
        x1, x2, k2, l2 = sympy.symbols("x1 x2 k2 l2")
        springs = [
            Force("one", "spring", WORLD, "m1", stiffness=self.k, rest=self.l0),
            Force("two", "spring", "m1", "m2", stiffness=k2, rest=l2),
        ]
        found = self.passive(["x", "x"], springs)
        pull = k2 * (x2 - x1 - l2 * sympy.sign(x2 - x1))
        self.same(found, [sympy.expand(-self.k * (x1 - self.l0 * sympy.sign(x1)) + pull), -pull])

    def test_a_mass_on_a_rail_with_the_anchor_beside_it(self):
        x = sympy.Symbol("x1")
        anchor = Transform(np.eye(3), np.array([0, self.h, 0], dtype=object))
        spring = Force("spring", "spring", WORLD, "m1", placement_a=anchor, stiffness=self.k, rest=self.l0)
        length = sympy.sqrt(x**2 + self.h**2)
        self.same(self.passive(["x"], [spring]), [-self.k * (length - self.l0) * x / length])

    def test_two_masses_in_a_plane(self):
        x1, y1, x2, y2 = sympy.symbols("x1 y1 x2 y2")
        spring = Force("spring", "spring", "m1", "m2", stiffness=self.k, rest=self.l0)
        found = self.passive(["xy", "xy"], [spring])
        length = sympy.sqrt((x2 - x1) ** 2 + (y2 - y1) ** 2)
        pull = [self.k * (length - self.l0) * d / length for d in (x2 - x1, y2 - y1)]
        self.same(found, [*pull, *(-x for x in pull)])


@pytest.mark.parametrize("method", METHODS)
def test_friction_stands_beside_the_force_of_a_spring(method):
    """What has nothing in common with the length of a spring is not put over it."""
    l, k, L, f, b = sympy.symbols("l k L f b", positive=True)
    arm = planar_elbow()
    pin = Transform.from_translation([l / 2, 0, 0])
    joints = tuple(joint.replace(friction=f, damping=b) for joint in arm.joints)
    spring = Force("spring", "spring", arm.bodies[0].name, arm.bodies[1].name, pin, pin, stiffness=k, rest=L)
    arm = arm.replace(joints=joints, forces=(spring,))
    alone, all_of_them = (
        derive(arm, method, elements=["spring"], include=x).sympy("passive") for x in ([], ["friction", "damping"])
    )
    rates = sympy.Matrix(sympy.symbols("qdot1 qdot2"))
    assert L in alone.free_symbols and all_of_them == alone - rates.applyfunc(lambda w: f * sympy.sign(w) + b * w)


def test_dampers_take_power_and_elements_act_unless_others_are_named():
    k, d = sympy.symbols("k d")
    mechanism = cart_pole().replace(forces=(Force("wall", "joint-spring", "x", stiffness=k, damping=d, rest=1),))
    x, rate = sympy.symbols("x xdot")
    assert derive(mechanism, elements=()).passive is None
    passive = derive(mechanism, "kane").sympy("passive")
    assert (passive - sympy.Matrix([-k * (x - 1) - d * rate, 0])).expand() == sympy.zeros(2, 1)
    assert derive(mechanism, elements=["wall"]).omitted == ()
    with pytest.raises(ArgumentError, match="no force element 'wal'; it has wall"):
        derive(mechanism, elements=["wal"])
    with pytest.raises(ArgumentError, match="choose among armature, damping, friction; force elements are named by el"):
        derive(mechanism, include=["wall"])


@pytest.mark.parametrize("method", (*METHODS, "kronecker"))
def test_what_is_left_out_is_told(method):
    """By the equations, in print and in reports; nothing is told of what enters or does not exist."""
    plain = cart_pole()
    joints = (plain.joints[0].replace(damping=sympy.Symbol("b"), friction=1), plain.joints[1].replace(armature=0.1))
    wall = Force("wall", "joint-spring", "x", stiffness=1)
    mechanism = plain.replace(
        joints=joints, forces=(wall, Force("wind", "wrench", "theta_body", components=(1, 0, 0, 0, 0, 0)))
    )
    equations = derive(mechanism, method, elements=["wall"], include=["friction"])
    expected = ("force element 'wind' (wrench)", "armature of theta", "damping of x")
    assert equations.omitted == expected
    assert all(reason in str(equations) for reason in expected)
    assert equations.substitute({"m": 1}).omitted == expected
    text = to_markdown(document(equations, mechanism=mechanism, agreement=False))
    assert all(reason in text for reason in expected)
    assert derive(mechanism, method, include=["friction", "damping", "armature"]).omitted == ()
    assert derive(plain, method).omitted == () and "left out" not in str(derive(plain, method))


@pytest.mark.parametrize("method", METHODS)
def test_joint_terms_are_those_of_the_algorithms(method):
    mechanism = random_mechanism(9, 5, kinds=("revolute", "prismatic"), drives=True, mimic=0.5)
    q, v, _ = mechanism.random_state(np.random.default_rng(3))
    plain = derive(mechanism, method).evaluate(q, v)
    full = derive(mechanism, method, include=["damping", "armature", "friction"]).evaluate(q, v)
    terms = joint_forces(mechanism, ["damping", "armature", "friction"])
    np.testing.assert_allclose(full["mass_matrix"] - plain["mass_matrix"], np.diag(terms.armature), atol=1e-12)
    np.testing.assert_allclose(-full["passive"], np.asarray(terms.resistance(v), float), atol=1e-12)


def test_armature_survives_a_change_of_speeds():
    """Rotor inertia is a quadratic form in the joint rates: B^T diag B in the speeds u."""
    joint = cart_pole().joints[1].replace(armature=sympy.Symbol("J"))
    mechanism = cart_pole().replace(joints=(cart_pole().joints[0], joint))
    w = sympy.symbols("thetadot xdot theta")
    speeds = [("u1", w[1]), ("u2", w[0] * sympy.cos(w[2]))]
    both = [derive(mechanism, "kane", speeds=speeds, include=x).sympy("mass_matrix") for x in ([], ["armature"])]
    added = (both[1] - both[0]).applyfunc(sympy.simplify)
    assert added == sympy.diag(0, sympy.Symbol("J") / sympy.cos(w[2]) ** 2)


def test_actuators_by_name():
    equations = derive(cart_pole(), actuated=["x"])
    assert equations.sympy("input_map") == sympy.Matrix([1, 0])
    with pytest.raises(ArgumentError, match="cannot actuate 'pole'"):
        derive(cart_pole(), actuated=["pole"])


@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
@pytest.mark.parametrize("actuated", [None, ["pivot"], ["knee", "drive"]])
def test_which_velocity_a_drive_acts_on_is_told(method, actuated):
    """The power of a drive is its force times that velocity, also where the velocity is eliminated."""
    four_bar = load("four_bar")
    equations = derive(four_bar, method, actuated=actuated)
    names = [joint.name for joint in four_bar.joints]
    assert [names[k] for k in equations.driven] == (actuated or names)
    speeds = np.array([0.7, -0.4, 1.2])[: len(equations.velocities)]
    state = {"q": [0.8, 0.4, 1.1], equations.velocity_port: speeds, **{str(x): 0.9 for x in equations.parameters}}
    v = equations["velocities"].evaluate(state) if equations.velocity_port == "u" else speeds
    power = equations.input_map.evaluate(state).T @ speeds
    np.testing.assert_allclose(power, v[list(equations.driven)], rtol=1e-12)
    text = to_markdown(document(equations, mechanism=four_bar, agreement=False))
    told = re.findall(r"\\tau_\{(\d)\}\$ drives \$\\dot\{q\}_\{(\d)\}", text)
    assert told == (
        [] if actuated is None else [(str(k), str(place + 1)) for k, place in enumerate(equations.driven, 1)]
    )
    assert ("in the order of $v$" in text) == (actuated is None and method == "kane")


def test_nothing_is_loaded_or_driven_twice():
    arm = planar_elbow()
    with pytest.raises(ArgumentError, match="wrenches: q2_body is named twice"):
        derive(arm, wrenches=["q2_body", "q1_body", "q2_body"])
    with pytest.raises(ArgumentError, match="actuated: q1 is driven twice"):
        derive(arm, actuated=["q1", "q2", "q1"])
    alike = arm.replace(frames=(Frame("the tip", "q2_body"), Frame("the_tip", "q2_body")))
    both = derive(alike, wrenches=["the tip", "the_tip"]).external.sympy()
    one = derive(alike, wrenches=["the tip"]).external.sympy()
    assert len(both.free_symbols) > len(one.free_symbols)


@pytest.mark.parametrize("speeds", [(), ("xdot + thetadot", "thetadot*cos(theta)")])
@pytest.mark.parametrize("method", ["lagrange", "kane", "kronecker", "newton-euler"])
def test_steps_tell_of_rotors_dampers_and_wrenches(method, speeds):
    """What they show of rotors is what the mass matrix gains by them, in any speeds; likewise the forces."""
    if speeds and method != "kane":
        return
    J, b = sympy.symbols("J b")
    plain = cart_pole()
    mechanism = plain.replace(joints=(plain.joints[0].replace(damping=b), plain.joints[1].replace(armature=J)))
    options = {"speeds": [sympy.sympify(speed) for speed in speeds]} if speeds else {}
    loads = {"wrenches": [plain.bodies[1].name], **options}
    bare, full = (derive(mechanism, method, include=x, **loads) for x in ((), ("armature", "damping")))
    steps = {step.title: step for step in full.steps()}
    (rotors,) = steps["Rotors"].quantities
    gained = full.sympy("mass_matrix") - bare.sympy("mass_matrix")
    assert J in gained.free_symbols and (rotors.sympy() - gained).applyfunc(sympy.simplify).is_zero_matrix
    assert steps["Passive forces"].quantities[0].sympy() == full.sympy("passive")
    assert steps["External wrenches"].quantities[0].sympy() == full.sympy("external")
    assert not {"Rotors", "Passive forces"} & {step.title for step in bare.steps()}


def test_reports_tell_of_joint_terms_and_prove_the_equations_they_show():
    plain = cart_pole()
    mechanism = plain.replace(joints=(plain.joints[0], plain.joints[1].replace(armature=sympy.Symbol("J"))))
    text = to_markdown(document(derive(mechanism, include=["armature"]), mechanism=mechanism))
    assert "| joint | armature |" in text and "Rotors" in text
    assert "| mass matrix, joint terms |" in text and r"$\dot{M} - 2C$ skew, joint terms |" in text
