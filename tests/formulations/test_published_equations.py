"""Classical systems by every route against published equations of motion, exactly."""

from __future__ import annotations

import pytest
import sympy
from classical_systems import cart_pole, heavy_top, pendulum_on_cart, planar_elbow, spherical_pendulum
from sympy import Matrix, cos, sin, symbols

from dalembert.formulations import derive, from_lagrangian

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
    """L = I1/2 (thetadot^2 + phidot^2 sin^2) + I3/2 (psidot + phidot cos)^2 - M g l cos."""
    M, l, I1, I3, g = symbols("M l I1 I3 g")
    phi, theta, psi, vphi, vtheta, vpsi = symbols("phi theta psi phidot thetadot psidot")
    L = (
        I1 * (vtheta**2 + vphi**2 * sin(theta) ** 2) / 2
        + I3 * (vpsi + vphi * cos(theta)) ** 2 / 2
        - M * g * l * cos(theta)
    )
    printed = from_lagrangian(L, [phi, theta, psi])
    equations = derive(heavy_top(), method)
    for part in ("mass_matrix", "coriolis", "gravity"):
        assert equations.sympy(part) == printed.sympy(part)
    assert equations.sympy("mass_matrix")[0, 0] == I1 * sin(theta) ** 2 + I3 * cos(theta) ** 2


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
