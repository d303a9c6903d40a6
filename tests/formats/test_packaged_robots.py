"""The packaged robots: published equations, published numbers, and the check values."""

import numpy as np
import pytest
import sympy as sp

from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.algorithms.inverse_dynamics.newton_euler import newton_euler
from dalembert.formats import default_parameters, load, read_toml, write_toml
from dalembert.formats.catalogue import packaged
from dalembert.kinematics import jacobian, pose

NAMES = sorted(packaged())


def symbols(names):
    return sp.symbols(names, real=True)


def zero(expressions):
    return all(sp.simplify(sp.nsimplify(x, rational=True)) == 0 for x in np.asarray(expressions, dtype=object).flat)


@pytest.mark.parametrize("name", NAMES)
def test_every_packaged_robot_loads_and_survives_toml(name):
    mechanism = load(name)
    assert mechanism.name == name
    assert read_toml(write_toml(mechanism)) == mechanism


@pytest.mark.parametrize("name", [name for name in NAMES if packaged()[name].suffix == ".toml"])
def test_default_values_make_a_numeric_mechanism_that_agrees_with_the_symbolic_one(name):
    symbolic, numeric = load(name), load(name, parameters="default")
    assert numeric.symbols == ()
    values = {symbol: default_parameters(packaged()[name])[symbol.name] for symbol in symbolic.symbols}
    q, v, a = numeric.random_state(np.random.default_rng(3))
    tau = newton_euler(symbolic.tree, q, v, a)
    there = [float(sp.sympify(x).subs(values)) for x in tau]
    assert np.allclose(there, newton_euler(numeric.tree, q, v, a), rtol=0, atol=1e-12 * max(1, np.abs(there).max()))


def test_stacker_jacobians_of_nguyen_102_and_104():
    stacker, q = load("stacker"), symbols("q1 q2 q3")
    a3, (s2, s3), (c2, c3) = symbols("a3"), map(sp.sin, q[1:]), map(sp.cos, q[1:])
    JR, JT = jacobian(stacker, q, "boom_dh")
    assert zero(JT - np.array([[0, -a3 * s2 * c3, -a3 * c2 * s3], [0, 0, -a3 * c3], [1, a3 * c2 * c3, -a3 * s2 * s3]]))
    assert zero(JR - np.array([[0, 0, s2], [0, -1, 0], [0, 0, -c2]]))


def test_stacker_mass_matrix_of_nguyen_106():
    q = symbols("q1 q2 q3")
    m1, m2, m3, l3, I2y, I3x, I3y, I3z = symbols("m1 m2 m3 l3 I2y I3x I3y I3z")
    (s2, s3), (c2, c3) = map(sp.sin, q[1:]), map(sp.cos, q[1:])
    M12, M13, M22 = m3 * l3 * c2 * c3, -m3 * l3 * s2 * s3, I2y + (m3 * l3**2 + I3y) * c3**2 + I3x * s3**2
    published = [[m1 + m2 + m3, M12, M13], [M12, M22, 0], [M13, 0, m3 * l3**2 + I3z]]
    assert zero(mass_matrix(load("stacker"), q) - np.array(published))


def test_rp_arm_equations_of_khatib():
    arm = load("rp_arm")
    q, v, a = symbols("th1 d2"), symbols("w u"), symbols("b1 b2")
    m1, m2, l1, g, Izz1, Izz2 = symbols("m1 m2 l1 g Izz1 Izz2")
    (th1, d2), (w, u) = q, v
    M = np.array([[m1 * l1**2 + Izz1 + m2 * d2**2 + Izz2, 0], [0, m2]])
    V = np.array([2 * m2 * d2 * w * u, -m2 * d2 * w**2])
    G = np.array([(m1 * l1 + m2 * d2) * g * sp.cos(th1), m2 * g * sp.sin(th1)])
    tau = newton_euler(arm.tree, np.array(q), np.array(v), np.array(a))
    assert zero(tau - (M @ np.array(a) + V + G))


Q, V, A = np.array([0.3, -0.7, 1.1]), np.array([0.5, -0.4, 0.9]), np.array([1.2, 0.8, -0.6])
CHECKS = {
    "rrr": {
        "tau": [1.9518953266, 4.4709148576, 0.0017372524],
        "gravity": [0, 3.373282846, -0.0980095075],
        "coriolis": [0.0438775071, 0.0602203032, 0.0037157289],
        "D": [[1.2296791692, 0.5874730086, 0.062625984], [0, 0.4424424821, 0.0358498127], [0, 0, 0.013]],
        "origin": [0.7438161358, 0.2920345906, 0.2220662324],
    },
    "rpr": {
        "tau": [1.5415052602, 28.094645173, -0.3252118922],
        "gravity": [0, 25.8272547964, -0.3684061471],
        "coriolis": [0.3010488207, 0.264745602, 0.0149616957],
        "D": [[1.2947470041, -0.350079481, 0.0552939678], [0, 3, -0.0379002529], [0, 0, 0.013]],
        "origin": [0.3008432719, 0.7152091362, -0.1122844324],
    },
}


@pytest.mark.parametrize("name", ["rrr", "rpr"])
def test_check_values_of_section_9_to_all_printed_digits(name):
    arm, check, none = load(name), CHECKS[name], np.zeros(3)
    gravity = newton_euler(arm.tree, Q, none, none)
    found = {
        "tau": newton_euler(arm.tree, Q, V, A),
        "gravity": gravity,
        "coriolis": newton_euler(arm.tree, Q, V, none) - gravity,
        "D": np.triu(mass_matrix(arm, Q)),
        "origin": pose(arm, Q, "link3").translation,
    }
    for what, value in check.items():
        assert np.abs(found[what] - np.array(value)).max() < 0.51e-10, what


def test_puma_gravity_constants_of_armstrong_1986():
    """Gravity torque of joint 2: g1 c2 + g2 s23 + g3 s2 + g4 c23 + g5 (s23 c5 + c23 c4 s5), three printed digits."""
    puma = load("puma560")
    g1, g2, g3, g4, g5 = -37.2, -8.44, 1.02, 0.249, -0.0282
    rng = np.random.default_rng(0)
    for q in rng.uniform(-3, 3, size=(20, 6)):
        c, s = np.cos(q), np.sin(q)
        s23, c23 = np.sin(q[1] + q[2]), np.cos(q[1] + q[2])
        published = g1 * c[1] + g2 * s23 + g3 * s[1] + g4 * c23 + g5 * (s23 * c[4] + c23 * c[3] * s[4])
        # half a unit of the last printed digit of each constant; g2 was printed from unrounded parameters
        assert newton_euler(puma.tree, q, np.zeros(6), np.zeros(6))[1] == pytest.approx(
            published, abs=0.05 + 0.02 + 0.01
        )


def test_puma_inertia_constants_of_armstrong_1986():
    """I2 = 1.75 (link 2 with everything beyond at joint 3), I6 = 0.333 and I15 = 0.00125, motors apart."""
    puma = load("puma560")
    M33 = mass_matrix(puma, np.zeros(6))[2, 2]
    assert pytest.approx(0.333 + 2 * 0.00125, abs=0.0005 + 0.00001 + 0.0005) == M33
    beyond = puma.bodies[2:]
    link2 = puma.body("link2").inertia.tensor_about_origin[2, 2]
    assert link2 + 0.4318**2 * sum(body.inertia.mass for body in beyond) == pytest.approx(1.75, abs=0.005)
    assert [joint.armature for joint in puma.joints] == [1.14, 4.71, 0.83, 0.2, 0.179, 0.193]


def test_four_bar_closes_where_it_should():
    bar = load("four_bar", parameters={"l0": 1.0, "l1": 0.5, "l2": 1.0, "l3": 0.5})  # a parallelogram
    (pin,) = bar.constraints
    angle = 0.8
    q = np.array([angle, -angle, angle])
    a = pose(bar, q, "coupler") @ pin.placement_a
    b = pose(bar, q, "rocker") @ pin.placement_b
    assert np.allclose(a.translation, b.translation, rtol=0, atol=1e-15)


def test_demo_arm_is_realistic():
    arm = load("demo_arm")
    assert (arm.nv, arm.notes, arm.problems()) == (6, (), ())
    assert np.linalg.eigvalsh(mass_matrix(arm, arm.neutral)).min() > 0
    assert all(body.shapes for body in arm.bodies)
