"""All routes give the same equations: exactly for small systems, to rounding for random and large ones."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from classical_systems import chain, diagonal, moved, planar_elbow, spherical_pendulum, stacker
from hypothesis import given, settings

from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.algorithms.inverse_dynamics import inverse_dynamics
from dalembert.formulations import derive
from dalembert.model import Inertia
from random_mechanisms import mechanisms, random_mechanism

ROUTES = ("lagrange", "kane", "kronecker", "newton-euler")
X, Y, Z = np.eye(3)


def spatial_arm():
    """Three joints in space with full symbols: no route can hide behind a plane."""
    a, b = sympy.symbols("a b")
    masses, g = sympy.symbols("m1 m2 m3"), sympy.Symbol("g")
    inertias = [sympy.symbols(f"I_x{k} I_y{k} I_z{k}") for k in (1, 2, 3)]
    return chain(
        "spatial arm",
        [
            ("q1", "revolute", Z, Inertia(masses[0], [0, 0, 0], diagonal(*inertias[0])), None),
            ("q2", "revolute", Y, Inertia(masses[1], [a, 0, 0], diagonal(*inertias[1])), None),
            ("q3", "prismatic", X, Inertia(masses[2], [0, 0, b], diagonal(*inertias[2])), moved(a)),
        ],
        [0, 0, -g],
    )


@pytest.mark.parametrize("make", [planar_elbow, spherical_pendulum, stacker, spatial_arm])
def test_small_systems_agree_exactly(make):
    reference = derive(make(), "lagrange").sympy()
    for route in ROUTES[1:]:
        found = derive(make(), route).sympy()
        for part in ("mass_matrix", "coriolis", "gravity", "bias"):
            difference = (found[part] - reference[part]).applyfunc(lambda x: sympy.simplify(sympy.expand(x, trig=True)))
            assert difference == sympy.zeros(*difference.shape), (route, part)


@settings(max_examples=15)
@given(mechanisms(1, 5, mimic=0.2))
def test_random_trees_with_all_joints_agree_to_rounding(mechanism):
    if mechanism.nv == 0:
        return
    q, v, a = mechanism.random_state(np.random.default_rng(4))
    tau = np.asarray(inverse_dynamics(mechanism, q, v, a), dtype=float)
    M = np.asarray(mass_matrix(mechanism, q), dtype=float)
    size = max(np.abs(tau).max(), np.abs(M).max())
    for route in ROUTES:
        numbers = derive(mechanism, route).evaluate(q, v)
        # Products of rotations over five joints: some hundred roundings.
        np.testing.assert_allclose(numbers["mass_matrix"], M, atol=1e-12 * size)
        np.testing.assert_allclose(numbers["mass_matrix"] @ a + numbers["bias"], tau, atol=1e-11 * size)
        np.testing.assert_allclose(numbers["coriolis"] + numbers["gravity"], numbers["bias"], atol=1e-11 * size)


@pytest.mark.parametrize("route", ROUTES)
def test_thirty_joints_agree_to_1e_10(route):
    mechanism = random_mechanism(7, 30, kinds=("revolute", "prismatic"), branching=0.1, massless=0)
    q, v, a = mechanism.random_state(np.random.default_rng(5))
    tau = np.asarray(inverse_dynamics(mechanism, q, v, a), dtype=float)
    numbers = derive(mechanism, route).evaluate(q, v)
    found = numbers["mass_matrix"] @ a + numbers["bias"]
    np.testing.assert_allclose(found, tau, atol=1e-10 * np.abs(tau).max())


def wrist():
    """Three crossing axes and a body with three different moments of inertia."""
    body = Inertia(sympy.Symbol("m"), [0, 0, 0], diagonal(*sympy.symbols("I1 I2 I3")))
    links = [("q1", "revolute", Z, None, None), ("q2", "revolute", Y, None, None), ("q3", "revolute", X, body, None)]
    return chain("wrist", links, [0, 0, 0])


def test_parsa_and_christoffel_matrices_differ_but_give_the_same_forces():
    """Both have the skew property; on a wrist they are different matrices (PARSA after (38))."""
    equations = derive(wrist(), "lagrange")
    christoffel, parsa = (equations.sympy(name) for name in ("coriolis_matrix", "coriolis_matrix_parsa"))
    v = sympy.Matrix(sympy.symbols("qdot1:4"))
    difference = (christoffel - parsa).applyfunc(sympy.simplify)
    assert difference != sympy.zeros(3, 3)
    assert (difference * v).applyfunc(sympy.simplify) == sympy.zeros(3, 1)
    rate = equations.sympy("mass_matrix_rate")
    for C in (christoffel, parsa):
        N = rate - 2 * C
        assert (N + N.T).applyfunc(sympy.simplify) == sympy.zeros(3, 3)


def test_gravity_is_the_gradient_of_the_potential_energy():
    equations = derive(spatial_arm(), "lagrange")
    energy = equations.sympy("potential_energy")
    gradient = sympy.Matrix([energy.diff(x) for x in sympy.symbols("q1:4")])
    assert (equations.sympy("gravity") - gradient).applyfunc(sympy.simplify) == sympy.zeros(3, 1)


def test_quaternion_joints_in_closed_form():
    """One body on a spherical joint: Euler's equations, by Kane and by Lagrange projected with Gamma."""
    I1, I2, I3 = sympy.symbols("I1 I2 I3")
    body = chain("gyroscope", [("ball", "spherical", Z, Inertia(1, [0, 0, 0], diagonal(I1, I2, I3)), None)], [0, 0, 0])
    w = sympy.symbols("omega_x omega_y omega_z")
    kane = derive(body, "kane")
    expected = [(I3 - I2) * w[1] * w[2], (I1 - I3) * w[0] * w[2], (I2 - I1) * w[0] * w[1]]
    assert (kane.sympy("coriolis") - sympy.Matrix(expected)).applyfunc(sympy.expand) == sympy.zeros(3, 1)
    assert kane.sympy("mass_matrix") == sympy.diag(I1, I2, I3)
    projected = derive(body, "lagrange")
    unit = {sympy.Symbol("eta"): sympy.sqrt(1 - sum(e**2 for e in sympy.symbols("epsilon1:4")))}
    left = projected.sympy("coriolis").subs(unit)
    assert (left - sympy.Matrix(expected)).applyfunc(lambda x: sympy.simplify(sympy.expand(x))) == sympy.zeros(3, 1)
    assert "FORBES" in projected.cite()
