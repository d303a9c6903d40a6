"""Classical systems by every route against published equations of motion, exactly."""

from __future__ import annotations

import pytest
import sympy
from classical_systems import cart_pole, hanging_pendulum, heavy_top, pendulum_on_cart, planar_elbow, spherical_pendulum
from sympy import Matrix, cos, sin, symbols

from dalembert.formulations import derive

TREE = ("lagrange", "kane", "kronecker", "newton-euler")
FORMULAS = ("lagrange", "kane", "kronecker")


def assert_equal(found, expected) -> None:
    difference = (Matrix(found) - Matrix(expected)).applyfunc(lambda x: sympy.simplify(sympy.expand(x, trig=True)))
    assert difference == sympy.zeros(*difference.shape)


def accelerations(equations, forces):
    """Solved for the accelerations."""
    parts = equations.sympy()
    return parts["mass_matrix"].LUsolve(Matrix(forces) - parts["coriolis"] - parts["gravity"])


@pytest.mark.parametrize("method", TREE)
def test_planar_elbow_of_spong_hutchinson_vidyasagar_2006_section_7(method):
    m1, m2, l1, lc1, lc2, I1, I2, g = symbols("m1 m2 l1 l_c1 l_c2 I1 I2 g")
    q1, q2, v1, v2 = symbols("q1 q2 qdot1 qdot2")
    equations = derive(planar_elbow(), method)
    d11 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * cos(q2)) + I1 + I2
    d12 = m2 * (lc2**2 + l1 * lc2 * cos(q2)) + I2
    assert_equal(equations.sympy("mass_matrix"), [[d11, d12], [d12, m2 * lc2**2 + I2]])
    h = -m2 * l1 * lc2 * sin(q2)
    assert_equal(equations.sympy("coriolis"), [h * v2 * v1 + h * (v1 + v2) * v2, -h * v1 * v1])
    phi1 = (m1 * lc1 + m2 * l1) * g * cos(q1) + m2 * lc2 * g * cos(q1 + q2)
    assert_equal(equations.sympy("gravity"), [phi1, m2 * lc2 * g * cos(q1 + q2)])


def test_planar_elbow_christoffel_matrix_of_spong_hutchinson_vidyasagar_2006():
    l1, lc2, m2, q2, v1, v2 = symbols("l1 l_c2 m2 q2 qdot1 qdot2")
    h = -m2 * l1 * lc2 * sin(q2)
    expected = [[h * v2, h * (v1 + v2)], [-h * v1, 0]]
    assert_equal(derive(planar_elbow(), "lagrange").sympy("coriolis_matrix"), expected)
    assert_equal(derive(planar_elbow(), "newton-euler").sympy("coriolis_matrix"), expected)


@pytest.mark.parametrize("method", FORMULAS)
@pytest.mark.parametrize("links", [2, 3])
def test_pendulums_on_a_cart_in_their_general_form(method, links):
    """M_ij = mu_max(i,j) l_i l_j cos(q_i - q_j) and so on, mu_k the mass from link k to the tip."""
    equations = derive(pendulum_on_cart(links), method)
    m, l, g = symbols(f"m0:{links + 1}"), symbols(f"l0:{links}"), sympy.Symbol("g")
    q, v = symbols(f"q1:{links + 1}"), symbols(f"qdot1:{links + 1}")
    mu = [sum(m[k + 1 :]) for k in range(links)]
    n = range(links)
    M = sympy.zeros(links + 1)
    M[0, 0] = sum(m)
    for i in n:
        M[0, i + 1] = M[i + 1, 0] = -mu[i] * l[i] * cos(q[i])
        for j in n:
            M[i + 1, j + 1] = mu[max(i, j)] * l[i] * l[j] * cos(q[i] - q[j])
    c = [sum(mu[j] * l[j] * sin(q[j]) * v[j] ** 2 for j in n)]
    c += [sum(mu[max(i, j)] * l[i] * l[j] * sin(q[i] - q[j]) * v[j] ** 2 for j in n) for i in n]
    assert_equal(equations.sympy("mass_matrix"), M)
    assert_equal(equations.sympy("coriolis"), c)
    assert_equal(equations.sympy("gravity"), [0, *(-mu[i] * g * l[i] * sin(q[i]) for i in n)])


def test_triple_pendulum_on_a_cart_equals_sympy():
    """Against the model that SymPy publishes, sympy.physics.mechanics.models.n_link_pendulum_on_cart."""
    from sympy.physics.mechanics import dynamicsymbols
    from sympy.physics.mechanics.models import n_link_pendulum_on_cart

    theirs = n_link_pendulum_on_cart(3, cart_force=False)
    plain = {dynamicsymbols(f"q{k}"): sympy.Symbol(f"q{k}") for k in range(4)}
    plain |= {dynamicsymbols(f"u{k}"): sympy.Symbol(f"qdot{k}") for k in range(4)}
    plain |= {theirs.q[0].args[0]: sympy.Symbol("t")}
    mine = derive(pendulum_on_cart(3), "kane")
    assert_equal(mine.sympy("mass_matrix"), theirs.mass_matrix.xreplace(plain))
    assert_equal(-(mine.sympy("coriolis") + mine.sympy("gravity")), theirs.forcing.xreplace(plain))


@pytest.mark.parametrize("method", TREE)
def test_cart_pole_of_barto_sutton_anderson_1983(method):
    mc, m, l, g, F = symbols("m_c m l g F")
    theta, rate = symbols("theta thetadot")
    acceleration = accelerations(derive(cart_pole(), method), [F, 0])
    total = mc + m
    swing = (g * sin(theta) + cos(theta) * (-F - m * l * rate**2 * sin(theta)) / total) / (
        l * (sympy.Rational(4, 3) - m * cos(theta) ** 2 / total)
    )
    push = (F + m * l * (rate**2 * sin(theta) - swing * cos(theta))) / total
    assert_equal(acceleration, [push, swing])


@pytest.mark.parametrize("method", TREE)
def test_spherical_pendulum_of_landau_lifshitz_section_14(method):
    l, g, theta, phi_rate, theta_rate = symbols("l g theta phidot thetadot")
    acceleration = accelerations(derive(spherical_pendulum(), method), [0, 0])
    expected = [
        -2 * theta_rate * phi_rate * cos(theta) / sin(theta),
        sin(theta) * cos(theta) * phi_rate**2 - g / l * sin(theta),
    ]
    assert_equal(acceleration, expected)


@pytest.mark.parametrize("method", TREE)
def test_heavy_top_of_goldstein_chapter_5(method):
    """L = I1/2 (thetadot^2 + phidot^2 sin^2) + I3/2 (psidot + phidot cos)^2 - M g l cos; momenta p_phi, p_psi as there.

    p_psi = I3 (psidot + phidot cos), p_phi = I1 phidot sin^2 + p_psi cos are conserved, and
    I1 thetadotdot = I1 phidot^2 sin cos - p_psi phidot sin + M g l sin.
    """
    M, l, I1, I3, g = symbols("M l I1 I3 g")
    theta, vphi, vtheta, vpsi = symbols("theta phidot thetadot psidot")
    aphi, atheta, apsi = symbols("aphi atheta apsi")

    def rate(x):
        moving = {theta: vtheta, vphi: aphi, vtheta: atheta, vpsi: apsi}
        return sum(sympy.diff(x, y) * w for y, w in moving.items())

    spin = I3 * (vpsi + vphi * cos(theta))
    turn = I1 * vphi * sin(theta) ** 2 + spin * cos(theta)
    nutation = I1 * atheta - I1 * vphi**2 * sin(theta) * cos(theta) + spin * vphi * sin(theta)
    parts = derive(heavy_top(), method).sympy()
    found = parts["mass_matrix"] * Matrix([aphi, atheta, apsi]) + parts["coriolis"] + parts["gravity"]
    assert_equal(found, [rate(turn), nutation - M * g * l * sin(theta), rate(spin)])
    assert parts["mass_matrix"][0, 0] == I1 * sin(theta) ** 2 + I3 * cos(theta) ** 2


@pytest.mark.parametrize("method", FORMULAS)
def test_double_pendulum_of_landau_lifshitz_section_5(method):
    """Problem 1 there: T = (m1 + m2)/2 l1^2 phi1'^2 + m2/2 l2^2 phi2'^2 + m2 l1 l2 phi1' phi2' cos(phi1 - phi2)."""
    m1, m2, l1, l2, g = symbols("m1 m2 l1 l2 g")
    phi1, phi2, v1, v2 = symbols("phi1 phi2 phidot1 phidot2")
    parts = derive(hanging_pendulum(2), method).sympy()
    coupling = m2 * l1 * l2 * cos(phi1 - phi2)
    assert_equal(parts["mass_matrix"], [[(m1 + m2) * l1**2, coupling], [coupling, m2 * l2**2]])
    push = m2 * l1 * l2 * sin(phi1 - phi2)
    assert_equal(parts["coriolis"], [push * v2**2, -push * v1**2])
    assert_equal(parts["gravity"], [(m1 + m2) * g * l1 * sin(phi1), m2 * g * l2 * sin(phi2)])


@pytest.mark.parametrize("method", FORMULAS)
def test_triple_pendulum_written_out(method):
    """Lagrange's equations of three point masses on rods, every term by hand, as in any collection of problems."""
    m1, m2, m3, l1, l2, l3, g = symbols("m1 m2 m3 l1 l2 l3 g")
    p1, p2, p3, v1, v2, v3 = symbols("phi1 phi2 phi3 phidot1 phidot2 phidot3")
    parts = derive(hanging_pendulum(3), method).sympy()
    M12 = (m2 + m3) * l1 * l2 * cos(p1 - p2)
    M13, M23 = m3 * l1 * l3 * cos(p1 - p3), m3 * l2 * l3 * cos(p2 - p3)
    M = [[(m1 + m2 + m3) * l1**2, M12, M13], [M12, (m2 + m3) * l2**2, M23], [M13, M23, m3 * l3**2]]
    assert_equal(parts["mass_matrix"], M)
    s12 = (m2 + m3) * l1 * l2 * sin(p1 - p2)
    s13, s23 = m3 * l1 * l3 * sin(p1 - p3), m3 * l2 * l3 * sin(p2 - p3)
    c = [s12 * v2**2 + s13 * v3**2, -s12 * v1**2 + s23 * v3**2, -s13 * v1**2 - s23 * v2**2]
    assert_equal(parts["coriolis"], c)
    weights = [(m1 + m2 + m3) * l1 * sin(p1), (m2 + m3) * l2 * sin(p2), m3 * l3 * sin(p3)]
    assert_equal(parts["gravity"], [g * w for w in weights])


def test_gyroscope_in_quasi_velocities_gives_eulers_equations():
    """Heavy top with the angular velocity in body axes as speeds; THESIS (4.3.35), any book."""
    psi, theta = symbols("psi theta")
    vphi, vtheta, vpsi = symbols("phidot thetadot psidot")
    speeds = [
        ("p", vphi * sin(theta) * sin(psi) + vtheta * cos(psi)),
        ("q", vphi * sin(theta) * cos(psi) - vtheta * sin(psi)),
        ("r", vphi * cos(theta) + vpsi),
    ]
    equations = derive(heavy_top(), "kane", speeds=speeds)
    M, l, I1, I3, g, p, q, r = symbols("M l I1 I3 g p q r")
    assert_equal(equations.sympy("mass_matrix"), sympy.diag(I1, I1, I3))
    assert_equal(equations.sympy("coriolis"), [(I3 - I1) * q * r, (I1 - I3) * p * r, 0])
    weight = M * g * l * sin(theta)
    assert_equal(equations.sympy("gravity"), [-weight * cos(psi), weight * sin(psi), 0])
