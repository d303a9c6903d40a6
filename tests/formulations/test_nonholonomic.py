"""Constraints on velocities by Kane's method: rolling, skates, closed loops, against published equations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy
from classical_systems import cart_pole, closed_four_bar, four_bar, four_bar_loop, rolling_disc, sleigh, snakeboard
from sympy import Matrix, cos, sin, symbols, tan

from dalembert.algebra import scalar
from dalembert.algebra.quaternions import quaternion_from_rotation
from dalembert.algebra.transform import Transform
from dalembert.constraints import coordinate_symbols
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.formulations import MovingBodies, MovingBodyFormula, NoSlip, derive, verify
from dalembert.formulations.mechanism_system import system_of
from dalembert.formulations.sampling import LoopCloser, typical_inputs
from dalembert.kinematics import motion, poses
from dalembert.model import WORLD, Body, Constraint, Frame, Inertia, Joint, Mechanism
from random_mechanisms import random_inertia, random_mechanism


def assert_equal(found, expected) -> None:
    difference = (Matrix(found) - Matrix(expected)).applyfunc(lambda x: sympy.simplify(x))
    assert difference == sympy.zeros(*difference.shape)


def accelerations(equations):
    parts = equations.sympy()
    return parts["mass_matrix"].LUsolve(-parts["coriolis"] - parts["gravity"])


class TestRollingDisc:
    def derived(self):
        q2, w1, w2, w3 = symbols("q2 qdot1 qdot2 qdot3")
        speeds = [("u1", w2), ("u2", w3 + w1 * sin(q2)), ("u3", w1 * cos(q2))]
        roll = NoSlip("q3_body", at="contact", axes="world")
        return derive(rolling_disc(), "kane", pfaffian=[roll], speeds=speeds)

    def test_equations_of_the_sympy_documentation(self):
        """'A rolling disc, with Kane's method' of SymPy's documentation of physics.mechanics."""
        g, r, q2, u1, u2, u3 = symbols("g r q2 u1 u2 u3")
        expected = [
            (4 * g * sin(q2) + 6 * r * u2 * u3 - r * u3**2 * tan(q2)) / (5 * r),
            -2 * u1 * u3 / 3,
            (-2 * u2 + u3 * tan(q2)) * u1,
        ]
        assert_equal(accelerations(self.derived()), expected)

    def test_contact_force_carries_the_weight_of_an_upright_disc(self):
        """Rolling straight ahead, upright: the only constraint force is m g upwards."""
        equations = self.derived()
        m, g = symbols("m g")
        at_rest = dict.fromkeys(("q2", "u1", "u3", "udot1", "udot2", "udot3"), 0)
        at_rest |= {f"tau{k}": 0 for k in range(1, 7)}
        force = equations.sympy("multipliers").subs({sympy.Symbol(k): v for k, v in at_rest.items()})
        assert_equal(force, [0, 0, m * g])

    def test_contact_point_is_at_rest(self):
        equations = self.derived()
        A, B = (equations.sympy(name) for name in ("constraint_matrix", "speed_map"))
        assert_equal(A * B, sympy.zeros(3, 3))


class TestChaplyginSleigh:
    knife = NoSlip("theta_body", directions=[(0, 1, 0)])
    theta, vx, vy, w = symbols("theta xdot ydot thetadot")

    def test_equations_of_bloch_nonholonomic_mechanics_and_control(self):
        """vdot = a w^2,  wdot = - m a v w / (I + m a^2)."""
        along = self.vx * cos(self.theta) + self.vy * sin(self.theta)
        equations = derive(sleigh(), "kane", pfaffian=[self.knife], speeds=[("v", along), ("omega", self.w)])
        m, a, I, v, omega = symbols("m a I v omega")
        assert_equal(accelerations(equations), [a * omega**2, -m * a * v * omega / (I + m * a**2)])

    def test_the_same_from_an_expression_with_automatic_speeds(self):
        """Speeds chosen automatically: the motion must be the same."""
        equations = derive(sleigh(), "kane", pfaffian=[self.vx * sin(self.theta) - self.vy * cos(self.theta)])
        assert any("solved for ydot" in str(step) for step in equations.steps())
        u1, u2, m, a, I = symbols("u1 u2 m a I")
        theta = self.theta
        # u1 = xdot = v cos: u1dot = vdot cos - v w sin
        v = u1 / cos(theta)
        expected = [a * u2**2 * cos(theta) - v * u2 * sin(theta), -m * a * v * u2 / (I + m * a**2)]
        assert_equal(accelerations(equations), expected)

    def test_user_may_choose_the_independent_velocities(self):
        equations = derive(sleigh(), "kane", pfaffian=[self.knife], independent=["ydot", "theta"])
        assert equations.sympy("kinematics")[1] == symbols("u1")
        with pytest.raises(ArgumentError, match="2 independent velocities"):
            derive(sleigh(), "kane", pfaffian=[self.knife], independent=["x"])
        with pytest.raises(ArgumentError, match="no velocity 'z'"):
            derive(sleigh(), "kane", pfaffian=[self.knife], independent=["x", "z"])

    def test_energy_is_conserved(self):
        equations = derive(sleigh(), "kane", pfaffian=[self.knife])
        M, c = equations.sympy("mass_matrix"), equations.sympy("coriolis")
        u = Matrix(symbols("u1 u2"))
        qdot = equations.sympy("kinematics")
        q = symbols("x y theta")
        rate = sum((M.diff(x) * w for x, w in zip(q, qdot)), sympy.zeros(2, 2))
        power = (u.T * c)[0] - (u.T * rate * u)[0] / 2
        assert sympy.simplify(power) == 0

    def test_moving_knife_edge(self):
        """A right-hand side b(t): the blade is dragged sideways with speed s; v is not B u alone."""
        s = symbols("s")
        sideways = -self.vx * sin(self.theta) + self.vy * cos(self.theta)
        along = self.vx * cos(self.theta) + self.vy * sin(self.theta)
        equations = derive(sleigh(), "kane", pfaffian=[sideways - s], speeds=[("v", along), ("omega", self.w)])
        m, a, v, omega, I = symbols("m a v omega I")
        # Newton in the turning axes: m (vdot - w s - a w^2) = 0;  (I + m a^2) wdot + m a w v = 0
        expected = [omega * s + a * omega**2, -m * a * v * omega / (I + m * a**2)]
        assert_equal(accelerations(equations), expected)


def test_snakeboard_momentum_equation_of_bloch_krishnaprasad_marsden_murray_1996():
    """pdot = 2 J0 cos^2(phi) phidot psidot - tan(phi) phidot p for phi_b = phi = -phi_f, J + J0 + 2 J1 = m l^2.

    p is the component of momentum along the one motion that both wheel pairs allow.
    """
    m, l, J0, theta, phi = symbols("m l J_0 theta phi")
    s, r, f, h = symbols("s r f h")
    skates = [NoSlip(name, directions=[(0, 1, 0)]) for name in ("phi_f", "phi_b")]
    speeds = [
        ("s", symbols("thetadot")),
        ("r", symbols("psidot")),
        ("f", symbols("phidot_f")),
        ("h", symbols("phidot_b")),
    ]
    equations = derive(snakeboard(), "kane", pfaffian=skates, speeds=speeds)
    symmetric = {symbols("phi_b"): phi, symbols("phi_f"): -phi, f: -h}
    parts = {name: value.subs(symmetric) for name, value in equations.sympy().items()}
    # The axles are driven so that phi_b = -phi_f remains; rows and columns of theta and psi decide the rest.
    free = parts["mass_matrix"][:2, :2]
    udot = free.LUsolve(-parts["coriolis"][:2, :]).applyfunc(sympy.simplify)
    velocity = equations.sympy("velocities").subs(symmetric)
    a, b, c = -2 * l * cos(phi) ** 2 * cos(theta), -2 * l * cos(phi) ** 2 * sin(theta), sin(2 * phi)
    p = sympy.simplify(m * a * velocity[0] + m * b * velocity[1] + m * l**2 * c * s + J0 * c * r)
    pdot = sum(sympy.diff(p, x) * y for x, y in {theta: s, phi: h, s: udot[0], r: udot[1]}.items())
    assert sympy.simplify(pdot - (2 * J0 * cos(phi) ** 2 * h * r - tan(phi) * h * p)) == 0


class TestFourBar:
    angles = symbols("theta2 theta3 theta4")
    a, b, c = symbols("a b c")

    def derived(self):
        return derive(four_bar(), "kane", pfaffian=four_bar_loop(), independent=["thetadot2"])

    def test_angular_velocities_of_norton_design_of_machinery(self):
        """w3 = (a/b) w2 sin(t4 - t2)/sin(t3 - t4),  w4 = (a/c) w2 sin(t2 - t3)/sin(t4 - t3)."""
        t2, t3, t4 = self.angles
        expected = [1, self.a / self.b * sin(t4 - t2) / sin(t3 - t4), self.a / self.c * sin(t2 - t3) / sin(t4 - t3)]
        assert_equal(self.derived().sympy("speed_map"), expected)

    def test_mass_matrix_and_forces_by_the_chain_rule(self):
        """J = sum m v^2 + I w^2 per unit of w2, J'/2 along the loop, and the weight's power: exactly, by hand.

        With h3 = w3/w2 and h4 = w4/w2 of Norton: the coupler's centre moves with a and b/2 h3 across each other.
        """
        a, b, c, (t2, t3, t4) = self.a, self.b, self.c, self.angles
        m2, m3, m4, I2, I3, I4, g, u = symbols("m2 m3 m4 I2 I3 I4 g u1")
        h3, h4 = a / b * sin(t4 - t2) / sin(t3 - t4), a / c * sin(t2 - t3) / sin(t4 - t3)
        J = m2 * a**2 / 4 + I2 + m3 * (a**2 + b**2 * h3**2 / 4 + a * b * h3 * cos(t2 - t3)) + I3 * h3**2
        J += (m4 * c**2 / 4 + I4) * h4**2
        slope = J.diff(t2) + h3 * J.diff(t3) + h4 * J.diff(t4)
        weight = m2 * a / 2 * cos(t2) + m3 * (a * cos(t2) + b / 2 * h3 * cos(t3)) + m4 * c / 2 * h4 * cos(t4)
        parts = self.derived().sympy()
        assert self.vanishes(parts["mass_matrix"][0] - J)
        assert self.vanishes(parts["coriolis"][0] - slope * u**2 / 2)
        assert self.vanishes(parts["gravity"][0] - g * weight)

    def vanishes(self, expression) -> bool:
        """Exactly zero at random rational points, with rational sines and cosines: such a fraction is zero everywhere,
        but for one chance in many thousands each."""
        rng = np.random.default_rng(8)
        waves = expression.atoms(sin, cos)
        plain = expression.xreplace({f: sympy.expand_trig(f.func(sympy.expand(f.args[0]))) for f in waves})
        for _ in range(3):
            values = {}
            for angle in self.angles:
                x = sympy.Rational(int(rng.integers(1, 10**6)), int(rng.integers(1, 10**6)))
                values |= {sin(angle): 2 * x / (1 + x**2), cos(angle): (1 - x**2) / (1 + x**2)}
            for symbol in sorted(plain.free_symbols - set(self.angles), key=str):
                values[symbol] = sympy.Rational(int(rng.integers(1, 10**6)), 1000)
            if plain.xreplace(values) != 0:
                return False
        return True

    def test_equation_of_eksergian(self):
        """One degree of freedom: J(t2) w2dot + 1/2 J'(t2) w2^2 + dU/dt2 = torque, along the closed loop."""
        equations = self.derived()
        lengths = {"a": 0.4, "b": 0.9, "c": 0.7, "d": 1.0, "g": 9.81}
        values = {**lengths, **{f"{x}{k}": 0.5 + 0.1 * k for x in "mI" for k in (2, 3, 4)}}

        def closed(t2: float, guess: np.ndarray) -> np.ndarray:
            t = guess.copy()
            for _ in range(50):
                c, s = np.cos, np.sin
                gap = [
                    0.4 * c(t2) + 0.9 * c(t[0]) - 0.7 * c(t[1]) - 1.0,
                    0.4 * s(t2) + 0.9 * s(t[0]) - 0.7 * s(t[1]),
                ]
                slope = [[-0.9 * s(t[0]), 0.7 * s(t[1])], [0.9 * c(t[0]), -0.7 * c(t[1])]]
                t = t - np.linalg.solve(slope, gap)
            return np.array([t2, *t])

        q = closed(0.8, np.array([0.6, 1.5]))
        inertia = [equations.mass_matrix.evaluate({"q": closed(0.8 + e, q[1:]), **values})[0, 0] for e in (-1e-5, 1e-5)]
        slope = (inertia[1] - inertia[0]) / 2e-5
        c = equations.coriolis.evaluate({"q": q, "u": np.array([1.3]), **values})[0]
        # Central differences: error of the order 1e-10 from the step, 1e-11 from rounding.
        np.testing.assert_allclose(c, slope * 1.3**2 / 2, rtol=1e-8)

        def energy(t: np.ndarray) -> float:
            m = [values[f"m{k}"] for k in (2, 3, 4)]
            y = [0.2 * np.sin(t[0]), 0.4 * np.sin(t[0]) + 0.45 * np.sin(t[1]), 0.35 * np.sin(t[2])]
            return 9.81 * float(np.dot(m, y))

        force = (energy(closed(0.8 + 1e-5, q[1:])) - energy(closed(0.8 - 1e-5, q[1:]))) / 2e-5
        np.testing.assert_allclose(equations.gravity.evaluate({"q": q, **values})[0], force, rtol=1e-8)


def test_closed_tree_eliminates_redundant_rows_and_recovers_its_multipliers():
    """A revolute closure has five rows, of which a planar linkage needs two; multipliers balance the full equations."""
    mechanism = closed_four_bar()
    kane = derive(mechanism, "kane")
    assert kane["constraint_matrix"].shape == (2, 3)
    assert any("3 of 5 constraints follow from the others" in step.text for step in kane.steps())
    system = system_of(mechanism)
    rng = np.random.default_rng(3)
    inputs = typical_inputs(system, rng)
    assert LoopCloser(system)(inputs, rng)
    q, u, tau = inputs["q"], rng.normal(size=1), rng.normal(size=3)
    named = {"q": q, "u": u}
    udot = np.linalg.solve(
        kane.mass_matrix.evaluate(named), kane.input_map.evaluate(named) @ tau - kane.bias.evaluate(named)
    )
    full = derive(mechanism.replace(constraints=()), "newton-euler")
    v = kane["velocities"].evaluate(named)
    vdot = kane["speed_map"].evaluate(named) @ udot + kane["acceleration_drift"].evaluate(named)
    state = {"q": q, "v": v}
    missing = full.mass_matrix.evaluate(state) @ vdot + full.bias.evaluate(state) - tau
    multipliers = kane["multipliers"].evaluate({**named, "udot": udot, "tau": tau})
    np.testing.assert_allclose(kane["constraint_matrix"].evaluate(named).T @ multipliers, missing, atol=1e-12)


def test_constraints_of_the_model_are_the_same_as_those_written_by_hand():
    """A rolling disc as an element of the mechanism, and as NoSlip at the contact frame."""
    by_hand = rolling_disc()
    q2, w1, w2, w3 = symbols("q2 qdot1 qdot2 qdot3")
    speeds = [("u1", w2), ("u2", w3 + w1 * sin(q2)), ("u3", w1 * cos(q2))]
    upright = Transform(
        np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]).T, np.zeros(3)
    )  # z of the disc frame is its axis y
    disc = Constraint("roll", "rolling-disc", "q3_body", WORLD, placement_a=upright, value=symbols("r"))
    element = by_hand.replace(constraints=(disc,))
    numbers = {"m": 1.3, "r": 0.4, "g": 9.81}
    q, u = np.array([0.3, -0.2, 0.4 * np.cos(0.5), 0.7, 0.5, -1.1]), np.array([0.4, 1.2, -0.6])
    roll = NoSlip("q3_body", at="contact", axes="world")
    one = derive(by_hand, "kane", pfaffian=[roll], speeds=speeds)
    two = derive(element, "kane", speeds=speeds)
    found, expected = (equations.evaluate(q, u, **numbers) for equations in (two, one))
    for part in ("mass_matrix", "bias", "kinematics"):
        np.testing.assert_allclose(found[part], expected[part], atol=1e-12)


def test_rows_of_constraints_and_their_multipliers_are_told_apart():
    """Two skates on one board, one of them demanded twice: each row that is kept is called by what demands it."""
    m, a, I, psi, xdot, ydot = symbols("m a I psi xdot ydot")
    board = Body("board", Inertia(m, tensor=np.diag([I, I, I])))
    ahead = Frame("ahead", "board", Transform(np.eye(3), np.array([a, 0, 0], dtype=object)))
    cart = Mechanism("cart", [board], [Joint("ice", "planar", WORLD, "board")], frames=[ahead])
    across = -xdot * sin(psi) + ydot * cos(psi)
    items = [NoSlip("board", "ahead", [(0, 1, 0)]), across, NoSlip("board", directions=[(0, 1, 0)])]
    rows = {str(items[0]): [-sin(psi), cos(psi), a], "as given": [-sin(psi), cos(psi), 0]}
    for order in ([0, 1, 2], [1, 0, 2]):
        equations = derive(cart, "kane", pfaffian=[items[k] for k in order])
        (text,) = (step.text for step in equations.steps() if step.title == "Constraints")
        told = [words.split(" ", 1) for words in text.partition("multipliers: ")[2].rstrip(".").split("; ")]
        assert [number for number, _ in told] == ["1", "2"]
        for found, (_, name) in zip(equations["constraint_matrix"].sympy().tolist(), told):
            assert [sympy.simplify(x - y) for x, y in zip(found, rows[name])] == [0, 0, 0]


def test_a_driven_joint_depends_on_time():
    """A cart that is moved as x = sin(3 t): Kane keeps the pole only, and agrees with multipliers."""
    drive = Constraint("drive", "motion", "x", function=lambda t: scalar.sin(3 * t))
    mechanism = cart_pole().replace(constraints=(drive,))
    equations = derive(mechanism, "kane", independent=["theta"])
    assert len(equations.mass_matrix) == 1
    m, l, t, theta = symbols("m l t theta")
    pushed = equations.sympy("coriolis")[0]  # the pole feels the acceleration of the cart, -9 sin(3t)
    assert sympy.simplify(pushed + 9 * m * l * sin(3 * t) * cos(theta)) == 0
    assert verify(mechanism, states=2).ok


def test_time_in_a_users_constraint_is_the_clock():
    """The same law written as a constraint of the mechanism and as a Pfaffian: the same forces, the same multiplier."""
    m, l, t, theta, xdot = symbols("m l t theta xdot")
    law = xdot - l * cos(3 * t)
    moved = (cart_pole(), {"pfaffian": [law]}), (cart_pole(), {"pfaffian": [sympy.Eq(xdot, l * cos(3 * t))]})
    own = Constraint("drive", "velocity", function=symbols("x_dot") - l * cos(3 * t))
    found = [derive(mechanism, "kane", **options) for mechanism, options in moved]
    found.append(derive(cart_pole().replace(constraints=(own,)), "kane"))
    for equations in found:
        assert_equal(equations.sympy("coriolis"), [-3 * m * l**2 * sin(3 * t) * cos(theta)])
        assert_equal(equations.sympy("multipliers"), found[-1].sympy("multipliers"))
        assert "t" not in map(str, equations.parameters)
        assert [port.name for port in equations.compile("coriolis").inputs][:2] == ["q", "t"]


def test_time_in_a_users_speed_is_the_clock():
    """u = xdot - w t: its rate misses the constant acceleration w, which the drift gives back."""
    t, w, xdot, thetadot, M, m = symbols("t w xdot thetadot m_c m")
    equations = derive(cart_pole(), "kane", speeds=[("s", xdot - w * t), ("r", thetadot)])
    assert sympy.simplify(equations.sympy("coriolis")[0].subs(symbols("r"), 0) - (M + m) * w) == 0


def test_elimination_agrees_with_multipliers_under_a_law_of_time_damping_rotors_and_a_wrench():
    """A(q, t) v = b(q, t): Kane in two choices of speeds, and the system of multipliers written out by hand."""
    rng = np.random.default_rng(3)
    arm = random_mechanism(rng, 3, kinds=("revolute",)).replace(constraints=(), forces=())
    arm = arm.replace(joints=tuple(x.replace(damping=0.3, armature=0.7) if x.nv else x for x in arm.joints))
    loads = {"include": ["damping", "armature"], "wrenches": [arm.bodies[-1].name]}
    free = derive(arm, "lagrange", **loads)
    q, v = ([free.symbol(name) for name in names] for names in (free.coordinates, free.velocities))
    t = symbols("t")
    law = v[0] * cos(q[1]) + q[2] * v[1] - v[2] * t - sin(2 * t)
    own = [("s", v[0] + q[0] * v[1] + t), ("w", v[2] - v[1])]
    at, moment, tau, W = rng.normal(size=3), 0.4, rng.normal(size=3), rng.normal(size=6)
    A = np.array([[np.cos(at[1]), at[2], -moment]])
    speed = rng.normal(size=3)
    speed += A[0] * (np.sin(2 * moment) - A[0] @ speed) / (A[0] @ A[0])
    rate = -np.sin(at[1]) * speed[1] * speed[0] + speed[2] * speed[1] - speed[2] - 2 * np.cos(2 * moment)
    (port,) = (name for name in free.scope.names if name.startswith("wrench"))
    parts = free.evaluate(at, speed, **{port: W})
    forces = tau - parts["bias"] + parts["passive"] + parts["external"]
    both = np.block([[parts["mass_matrix"], -A.T], [A, np.zeros((1, 1))]])
    expected = np.linalg.solve(both, np.concatenate([forces, [-rate]]))
    for speeds in (None, own):
        kane = derive(arm, "kane", pfaffian=[law], speeds=speeds, **loads)
        named = {"q": at, "t": moment}
        B, d = (kane[name].evaluate(named) for name in ("speed_map", "speed_drift"))
        named["u"] = np.linalg.lstsq(B, speed - d, rcond=None)[0]
        udot = kane.accelerations().evaluate({**named, port: W, "tau": tau})
        found = B @ udot + kane["acceleration_drift"].evaluate(named)
        force = kane["multipliers"].evaluate({**named, port: W, "udot": udot, "tau": tau})
        np.testing.assert_allclose([*found, *force], expected, rtol=1e-9, atol=1e-10)


def test_rotors_keep_the_coriolis_matrix_skew_under_constraints():
    """A rack that follows an angle by a law of position: u C u = u Mdot u / 2, and Mdot - 2 C is skew; rotors only."""
    m, a, b = symbols("m a b")
    slides = [Joint(name, "prismatic", WORLD, body, armature=x) for name, body, x in (("x", "p", a), ("y", "r", b))]
    pair = Mechanism("rack", (Body("p", Inertia(m)), Body("r", Inertia(m))), tuple(slides), gravity=np.zeros(3))
    x, xdot, ydot = symbols("x xdot ydot")
    found = derive(pair, "kane", pfaffian=[ydot - xdot * sin(x)], include=["armature"])
    u = symbols("u1")
    assert_equal(found.sympy("mass_matrix"), [m + a + (m + b) * sin(x) ** 2])
    assert_equal(found.sympy("coriolis"), [(m + b) * sin(x) * cos(x) * u**2])
    assert_equal(found.sympy("coriolis_matrix_parsa"), [(m + b) * sin(x) * cos(x) * u])


def test_where_all_motion_is_given_the_multipliers_are_inverse_dynamics():
    """Both velocities of a cart with a pole prescribed: no equation is left, and lambda = M a + bias."""
    t, xdot, thetadot = symbols("t xdot thetadot")
    free = derive(cart_pole(), "lagrange")
    given = derive(cart_pole(), "kane", pfaffian=[xdot - cos(3 * t), lambda system: thetadot - t**2])
    assert given.velocities == () and given.input_map.shape == (0, 2) and "u = ()" in str(given)
    motion = {xdot: cos(3 * t), thetadot: t**2}
    expected = free.sympy("mass_matrix") * Matrix([-3 * sin(3 * t), 2 * t]) + free.sympy("bias").xreplace(motion)
    assert_equal(given.sympy("multipliers") + Matrix(given.inputs), expected)


def test_what_sympy_assumes_about_a_symbol_does_not_change_the_equations():
    plain, real = symbols("x y theta xdot ydot"), symbols("x y theta xdot ydot", real=True)
    m = symbols("m")

    def found(own, others):
        x, y, theta, *_ = own
        bodies = [MovingBodyFormula("b", m, [x, others[1], cos(theta)])]
        knife = others[3] * sin(others[2]) - others[4] * cos(theta)
        return derive(MovingBodies("b", [x, y, theta], bodies), "kane", pfaffian=[knife])

    expected = found(plain, plain)
    for own, others in ((plain, real), (real, plain), (real, real)):
        equations = found(own, others)
        assert equations.parameters == (m,)
        same = dict(zip(real, plain))
        for part in ("mass_matrix", "coriolis", "kinematics"):
            assert_equal(equations.sympy(part).xreplace(same), expected.sympy(part))


def test_a_law_in_the_symbols_of_the_mechanism_means_the_same_as_one_in_the_letters_of_the_equations():
    """coordinate_symbols, for constraints and files, and derive, for reading, name the same coordinates."""
    pole = cart_pole()
    pole = pole.replace(joints=tuple(replace(joint, name=f"{joint.name} of it") for joint in pole.joints))
    (x, angle), (xdot, turning), t = coordinate_symbols(pole)
    q1, q2, qdot1, qdot2, clock = symbols("q1 q2 qdot1 qdot2 t")
    mine = derive(pole, "kane", pfaffian=[turning - x * xdot - sin(angle) * cos(t)])
    theirs = derive(pole, "kane", pfaffian=[qdot2 - q1 * qdot1 - sin(q2) * cos(clock)])
    assert mine.parameters == theirs.parameters
    assert mine.sympy() == theirs.sympy()


def test_names_of_speeds_pass_to_their_rates():
    xdot, ydot, thetadot, theta = symbols("xdot ydot thetadot theta")
    speeds = [("s", xdot * cos(theta) + ydot * sin(theta)), ("w1", thetadot)]
    multipliers = derive(sleigh(), "kane", pfaffian=[TestChaplyginSleigh.knife], speeds=speeds).sympy("multipliers")
    assert symbols("wdot1") in multipliers.free_symbols


def test_a_chain_of_free_bodies_is_a_pendulum():
    """Two free bodies, one pinned to the ground and to the other: the same motion as spherical joints in a tree."""
    rng = np.random.default_rng(6)
    matter = [random_inertia(rng) for _ in range(2)]
    end = Transform(np.eye(3), np.array([0.1, -0.3, 0.2]))
    bodies = tuple(Body(f"b{k}", x) for k, x in enumerate(matter))
    free = Mechanism(
        "free bodies",
        bodies,
        tuple(Joint(f"j{k}", "free", WORLD, f"b{k}") for k in range(2)),
        constraints=(
            Constraint("pin", "spherical", "b0", WORLD),
            Constraint("link", "spherical", "b0", "b1", placement_a=end),
        ),
    )
    tree = Mechanism(
        "tree", bodies, (Joint("j0", "spherical", WORLD, "b0"), Joint("j1", "spherical", "b0", "b1", placement=end))
    )
    q, v, _ = tree.random_state(rng)
    numbers = derive(tree, "newton-euler").evaluate(q, v)
    expected = np.linalg.solve(numbers["mass_matrix"], -numbers["bias"])
    # The same state for the free bodies, and the absolute angular accelerations of the tree.
    first, second = motion(tree, q, v, expected, "b0", axes="body"), motion(tree, q, v, expected, "b1", axes="body")
    places = poses(tree, q)
    spins = [motion(tree, q, v, expected, name, axes="body").angular_velocity for name in ("b0", "b1")]
    drift = motion(tree, q, v, expected, "b1").linear_velocity
    q_free = np.concatenate(
        [np.zeros(3), q[:4], places["b1"].translation, quaternion_from_rotation(places["b1"].rotation)]
    )
    kane = derive(free, "kane", speeds=list(symbols("omega_x_1 omega_y_1 omega_z_1 omega_x_2 omega_y_2 omega_z_2")))
    u = np.concatenate(spins)
    named = {"q": q_free, "u": u}
    np.testing.assert_allclose(kane["velocities"].evaluate(named)[6:9], drift, atol=1e-12)
    udot = np.linalg.solve(kane.mass_matrix.evaluate(named), -kane.bias.evaluate(named))
    np.testing.assert_allclose(udot[:3], first.angular_acceleration, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(udot[3:], second.angular_acceleration, rtol=1e-9, atol=1e-10)


def test_mistakes_are_explained():
    with pytest.raises(ArgumentError, match="needs 2 speeds; got 1"):
        derive(sleigh(), "kane", pfaffian=[TestChaplyginSleigh.knife], speeds=[symbols("thetadot")])
    with pytest.raises(SingularityError, match="singular"):
        derive(sleigh(), "kane", speeds=[symbols("xdot"), symbols("ydot"), symbols("xdot") + symbols("ydot")])
    with pytest.raises(UnsupportedError, match="method='kane'"):
        derive(sleigh(), "lagrange", pfaffian=[TestChaplyginSleigh.knife])
    x, a = symbols("xdot a")
    with pytest.raises(ArgumentError, match="contradicts the others"):
        derive(cart_pole(), "kane", pfaffian=[x - a, 2 * x - 3 * a])
    assert derive(cart_pole(), "kane", pfaffian=[x - a, 2 * x - 2 * a]).velocities == ("u1",)  # told twice
    with pytest.raises(ArgumentError, match="is text; give a SymPy expression"):
        derive(cart_pole(), "kane", pfaffian=["xdot - a"])
    with pytest.raises(ArgumentError, match="got the statement xdot > a"):
        derive(cart_pole(), "kane", pfaffian=[x > a])
    with pytest.raises(ArgumentError, match="either speeds or independent"):
        derive(cart_pole(), "kane", speeds=[x, symbols("thetadot")], independent=["x", "theta"])
    with pytest.raises(ArgumentError, match="two speeds are called s"):
        derive(cart_pole(), "kane", speeds=[("s", x), ("s", symbols("thetadot"))])
    with pytest.raises(ArgumentError, match="2 independent velocities"):
        derive(cart_pole(), "kane", independent=["x"])


def test_what_is_not_linear_in_the_velocities_is_refused_and_the_term_named():
    x, y, theta = symbols("xdot ydot thetadot")
    with pytest.raises(ArgumentError, match=r"the term xdot\*\*2 is not linear in the velocities xdot, ydot, thetadot"):
        derive(sleigh(), "kane", pfaffian=[x**2 + y])
    with pytest.raises(ArgumentError, match=r"speeds: the term thetadot\*xdot"):
        derive(sleigh(), "kane", speeds=[x + x * theta, y, theta])
    with pytest.raises(ArgumentError, match="no velocity occurs in a; the velocities are xdot"):
        derive(sleigh(), "kane", pfaffian=[sympy.Symbol("a")])
    with pytest.raises(ArgumentError, match="is text"):
        derive(sleigh(), "kane", speeds=["xdot", "ydot", "thetadot"])


@pytest.mark.parametrize("slip", ["dottheta", "thetadot_"])
def test_a_rate_by_another_name_is_no_parameter(slip):
    x, slipped = symbols("xdot"), symbols(slip)
    for option in ({"pfaffian": [x - slipped]}, {"speeds": [x + slipped, symbols("ydot"), symbols("thetadot")]}):
        with pytest.raises(ArgumentError, match=f"is {slip} the rate of theta[?] The velocities are called xdot, ydot"):
            derive(sleigh(), "kane", **option)


@pytest.mark.parametrize("axis", np.eye(3))
@pytest.mark.parametrize("quarters", [0, 1, 2])
@pytest.mark.parametrize(
    "shape", [{"kind": "rolling-sphere", "value": 0.4}, {"kind": "rolling-ellipsoid", "coefficients": (0.5, 0.4, 0.3)}]
)
def test_what_rolls_does_so_in_every_attitude(shape, quarters, axis):
    """The velocities of the centre can always be told from the turning rates; the turning rates from them cannot."""
    tensor = [[0.05, 0.01, 0], [0.01, 0.06, 0], [0, 0, 0.07]]
    body, joint = Body("ball", Inertia(2.0, tensor=tensor)), Joint("free", "free", WORLD, "ball")
    contact = Constraint("contact", a="ball", **shape)
    ball = Mechanism("ball", [body], [joint], constraints=[contact])
    equations = derive(ball, "kane")
    q = np.array([0, 0, 0.4, *np.sin(quarters * np.pi / 4) * axis, np.cos(quarters * np.pi / 4)])
    system = Dynamics(ball, reference=q)
    q, u, tau = system.assemble(q), np.array([0.3, -0.7, 0.5]), np.array([1.0, 0.5, 0, 0.2, 0, -0.1])
    v = equations["velocities"].evaluate({"q": q, "u": u})
    found = equations.compile("accelerations")(q, u, tau)
    np.testing.assert_allclose(found, system.solve(q, v, tau).a[3:], rtol=1e-9, atol=1e-9)


def test_options_belong_to_their_method():
    with pytest.raises(ArgumentError, match="no option 'foo'; 'kane' has speeds, pfaffian, independent"):
        derive(sleigh(), "kane", foo=1)
    with pytest.raises(UnsupportedError, match="algorithm is an option of method='newton-euler'; 'lagrange' has none"):
        derive(sleigh(), algorithm="waters")
    single, several = (derive(sleigh(), actuated=x).input_map.values.tolist() for x in ("theta", ["theta"]))
    assert single == several
