"""Laws of gravity that vary in space: three functions that are derivatives of each other, in both of their doors."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from dalembert import Dynamics, simulate
from dalembert.algebra.quaternions import quaternion_normalise, rotation_from_quaternion
from dalembert.algebra.transform import Transform
from dalembert.constraints import InverseSquare, OblatePlanet, generalised_forces
from dalembert.constraints.gravity_fields import GravityField
from dalembert.errors import ArgumentError
from dalembert.formats import read_toml, write_toml
from dalembert.formulations import derive, rigid_body
from dalembert.model import WORLD, Body, Force, Inertia, Joint, Mechanism

MU, J2, RADIUS = 3.986004418e14, 1.08262668e-3, 6378137.0
"""Of the Earth."""

AXIS = np.array([0.36, 0.48, 0.8])
FIELDS = {
    "point": InverseSquare(3.7, (0.1, 0.2, -0.3)),
    "oblate": OblatePlanet(3.7, 0.1, 1.3, (0.1, 0.2, -0.3), tuple(AXIS)),
}
STEP = 1e-30


@pytest.mark.parametrize("field", FIELDS.values(), ids=FIELDS)
def test_force_and_gradient_are_derivatives_of_the_energy(field):
    p = np.array([1.5, -2.0, 2.5])
    for k, e in enumerate(np.eye(3)):
        there = p + 1j * STEP * e
        assert -np.imag(field.energy(there)) / STEP == pytest.approx(field.force(p)[k], rel=1e-13)
        np.testing.assert_allclose(np.imag(field.force(there)) / STEP, field.gradient(p)[:, k], rtol=1e-12)
        np.testing.assert_allclose(np.imag(field.gradient(there)) / STEP, field.second(p)[:, :, k], rtol=1e-11)
    np.testing.assert_allclose(np.trace(field.gradient(p)), 0, atol=1e-14)  # Laplace


def test_the_closed_form_of_a_point_is_the_expansion_of_all_fields():
    field, p = FIELDS["point"], np.array([1.5, -2.0, 2.5])
    R = rotation_from_quaternion(quaternion_normalise([0.1, -0.4, 0.3, 0.8]))
    body = (2.0, np.array([[0.3, 0.02, 0.01], [0.02, 0.4, -0.03], [0.01, -0.03, 0.2]]), R, p)
    for mine, general in zip(field.load(*body), GravityField.load(field, *body)):
        np.testing.assert_allclose(mine, general, rtol=1e-12)
    for mine, general in zip(field.load_in_body(*body), GravityField.load_in_body(field, *body)):
        np.testing.assert_allclose(mine.astype(float), general, rtol=1e-12)
    assert field.energy_of(*body) == pytest.approx(GravityField.energy_of(field, *body), rel=1e-13)


def test_the_acceleration_is_the_published_one():
    """Vallado, Fundamentals of Astrodynamics, section 8.7: components of the central term and of J2."""
    x, y, z = p = np.array([5.1e6, -3.3e6, 4.2e6])
    r = np.linalg.norm(p)
    common = -1.5 * J2 * MU * RADIUS**2 / r**5
    perturbation = common * np.array([x * (1 - 5 * z**2 / r**2), y * (1 - 5 * z**2 / r**2), z * (3 - 5 * z**2 / r**2)])
    found = OblatePlanet(MU, J2, RADIUS).force(p)
    np.testing.assert_allclose(found, -MU * p / r**3 + perturbation, rtol=1e-15)
    round_one = OblatePlanet(MU, 0, RADIUS)
    np.testing.assert_allclose(found - round_one.force(p), perturbation, rtol=1e-11)


def satellite(force: Force | None = None) -> Mechanism:
    body = Body(
        "satellite", Inertia(2.0, [0.05, 0.02, -0.04], [[0.3, 0.02, 0.01], [0.02, 0.4, -0.03], [0.01, -0.03, 0.2]])
    )
    joint = Joint("free", "free", WORLD, "satellite")
    return Mechanism("satellite", [body], [joint], forces=[force] if force else [], gravity=np.zeros(3))


def planet() -> Force:
    turned = Transform(rotation_from_quaternion(quaternion_normalise([0.3, -0.2, 0.1, 0.9])), [0.1, 0.2, -0.3])
    return Force("earth", "oblate-planet", WORLD, placement_a=turned, value=3.7, oblateness=0.1, radius=1.3)


def field() -> OblatePlanet:
    at = planet().placement_a
    return OblatePlanet(sympy.Symbol("mu"), 0.1, 1.3, tuple(at.translation), tuple(at.rotation[:, 2]))


def test_force_elements_and_all_derivations_share_it():
    mechanism = satellite(planet())
    q = np.array([1.5, -2.0, 2.5, *quaternion_normalise([0.1, -0.4, 0.3, 0.8])])
    v = np.array([0.3, -0.2, 0.5, 0.1, 0.7, -0.4])
    element = generalised_forces(mechanism, q, v)["earth"].astype(float)
    free = mechanism.replace(forces=())
    for method in ("lagrange", "kane", "kronecker", "newton-euler"):
        found = derive(free, method, field=field()).gravity.evaluate({"q": q, "mu": 3.7})
        np.testing.assert_allclose(found, -element, rtol=1e-12)
    alone = rigid_body(mechanism.bodies[0].inertia, gravity=field())
    np.testing.assert_allclose(alone.gravity.evaluate({"q": q, "mu": 3.7}), -element, rtol=1e-12)
    settled = alone.substitute({"mu": 3.7})
    assert settled.gravity_field == field().mapped(lambda x: 3.7 if x == sympy.Symbol("mu") else x)
    np.testing.assert_allclose(settled.gravity.evaluate({"q": q}), -element, rtol=1e-12)
    step = next(step for step in alone.steps() if step.title == "Gravity")
    assert "J_2" in step.formula and "equatorial radius" in step.text


def test_energy_and_spin_about_the_axis_are_kept_on_an_orbit():
    """The orbit leaves its plane, as it does not about a point; momentum along the axis stays."""
    mechanism = satellite(Force("earth", "oblate-planet", WORLD, value=3.7, oblateness=0.1, radius=1.3))
    dynamics = Dynamics(mechanism)
    q, v = [3.0, 0, 0.5, 0, 0, 0, 1], [0, 0.9, 0.5, 0.1, 0.2, -0.1]
    motion = simulate(dynamics, q, v, np.linspace(0, 20, 41), rtol=1e-11, atol=1e-12)
    energy = dynamics.kernel("energy")(motion.q, motion.v, 0.0)
    assert np.ptp(energy) < 1e-8 * abs(energy[0])
    from dalembert.algorithms.energy import momentum

    spin = np.array([momentum(mechanism.tree, x, y)[1] for x, y in zip(motion.q, motion.v)], dtype=float)
    assert np.ptp(spin[:, 2]) < 1e-8 * np.abs(spin).max() and np.ptp(spin[:, 0]) > 0.01 * np.abs(spin).max()


def test_files_hold_it():
    mechanism = satellite(planet())
    again = read_toml(write_toml(mechanism))
    assert again.forces == mechanism.forces or np.allclose(
        generalised_forces(again, [1, 2, 3, 0, 0, 0, 1], np.zeros(6))["earth"].astype(float),
        generalised_forces(mechanism, [1, 2, 3, 0, 0, 0, 1], np.zeros(6))["earth"].astype(float),
        rtol=1e-14,
    )


def test_mistakes_are_named():
    with pytest.raises(ArgumentError, match="OblatePlanet: axis is a vector, three numbers"):
        OblatePlanet(1.0, 0.1, 1.0, axis=(0, 1))
    with pytest.raises(ArgumentError, match="OblatePlanet: expected finite"):
        OblatePlanet(1.0, np.nan, 1.0)
