"""Inertias: parallel axes, welding, shapes against numerical integration of the defining integrals."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from dalembert.errors import ModelError
from dalembert.model import Inertia
from random_mechanisms import random_inertia, random_rotation

seeds = st.integers(0, 2**32 - 1)
TIGHT = {"rtol": 1e-11, "atol": 1e-12}


def close(a: Inertia, b: Inertia) -> None:
    np.testing.assert_allclose(a.parameters, b.parameters, **TIGHT)


def cloud(masses, points) -> Inertia:
    """Point masses welded together, from the defining sums."""
    mass = masses.sum()
    center = masses @ points / mass
    r = points - center
    tensor = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, r))
    return Inertia(mass, center, tensor)


@given(seeds, st.integers(1, 6))
def test_welding_point_masses_is_summation(seed, n):
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 2, n), rng.normal(size=(n, 3))
    parts = [Inertia.point(m, p) for m, p in zip(masses, points)]
    close(sum(parts[1:], parts[0]), cloud(masses, points))


@given(seeds)
def test_welding_is_commutative_and_associative_with_zero(seed):
    rng = np.random.default_rng(seed)
    a, b, c = (random_inertia(rng) for _ in range(3))
    close(a + b, b + a)
    close((a + b) + c, a + (b + c))
    assert a + Inertia() == a == Inertia() + a


@given(seeds, st.sampled_from([1.0, 1e3, 1e6]))
def test_welding_far_from_the_frame_costs_no_digits_of_the_tensor(seed, far):
    """Places are rounded to eps far, and so is their distance, which is of order one: so well is the tensor known."""
    rng = np.random.default_rng(seed)
    a, b, away = random_inertia(rng), random_inertia(rng), far * rng.normal(size=3)
    near, moved = a + b, a.moved(np.eye(3), away) + b.moved(np.eye(3), away)
    size = np.abs(near.tensor).max() + near.mass * (1 + np.abs(a.center - b.center).max()) ** 2
    np.testing.assert_allclose(moved.tensor, near.tensor, rtol=0, atol=40 * 2.2e-16 * (1 + np.abs(away).max()) * size)
    points = Inertia.point(1.0, away) + Inertia.point(2.0, away + [0, 0, 0.5])
    assert np.linalg.eigvalsh(points.tensor)[0] > -1e-15  # a rod, of which rounding makes no impossible body


def test_what_has_no_mass_has_no_first_moment():
    with pytest.raises(ModelError, match=r"first moment \[1"):
        Inertia.about_origin(0, [1, 0, 0], np.eye(3))
    m = sympy.Symbol("m")
    with pytest.raises(ModelError, match="first moment"):
        Inertia.point(m, [1, 0, 0]) + Inertia.point(-m)
    hollow = Inertia.sphere(1, 0.3, [1, 2, 3]) + Inertia.sphere(-1, 0.2, [1, 2, 3])
    np.testing.assert_allclose(hollow.tensor, 2 / 5 * (0.09 - 0.04) * np.eye(3), rtol=0, atol=1e-14)


@given(seeds)
def test_moving_is_a_group_action_that_respects_welding(seed):
    rng = np.random.default_rng(seed)
    a, b = random_inertia(rng), random_inertia(rng)
    (R1, p1), (R2, p2) = ((random_rotation(rng), rng.normal(size=3)) for _ in range(2))
    close(a.moved(R2, p2).moved(R1, p1), a.moved(R1 @ R2, p1 + R1 @ p2))
    close(a.moved(R1, p1).moved(R1.T, -R1.T @ p1), a)
    close((a + b).moved(R1, p1), a.moved(R1, p1) + b.moved(R1, p1))


@given(seeds)
def test_the_frame_does_not_change_mass_energy_or_principal_moments(seed):
    rng = np.random.default_rng(seed)
    a, R, p = random_inertia(rng), random_rotation(rng), rng.normal(size=3)
    moved = a.moved(R, p)
    assert moved.mass == a.mass
    np.testing.assert_allclose(np.linalg.eigvalsh(moved.tensor), np.linalg.eigvalsh(a.tensor), **TIGHT)
    np.testing.assert_array_equal(moved.tensor, moved.tensor.T)
    w, v = rng.normal(size=(2, 3))  # angular velocity, velocity of the origin of the old frame

    def energy(inertia, w, v):
        c = v + np.cross(w, inertia.center)
        return inertia.mass * c @ c / 2 + w @ inertia.tensor @ w / 2

    assert energy(moved, R @ w, R @ v - np.cross(R @ w, p)) == pytest.approx(energy(a, w, v), rel=1e-12)


@given(seeds)
def test_parallel_axes(seed):
    rng = np.random.default_rng(seed)
    a = random_inertia(rng)
    c = a.center
    steiner = a.tensor + a.mass * (c @ c * np.eye(3) - np.outer(c, c))
    np.testing.assert_allclose(a.tensor_about_origin, steiner, **TIGHT)
    close(Inertia.about_origin(a.mass, a.first_moment, a.tensor_about_origin), a)
    close(Inertia.from_parameters(a.parameters), a)


@given(seeds)
def test_dynamics_parameters_add(seed):
    rng = np.random.default_rng(seed)
    a, b = random_inertia(rng), random_inertia(rng)
    np.testing.assert_allclose((a + b).parameters, a.parameters + b.parameters, **TIGHT)


def midpoints(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) / n - 0.5


# The midpoint rule on smooth integrands errs by 1/n^2 relative, cut cells at a curved surface by about 1/n.
SHAPES = {
    "box": (Inertia.box(2, (0.4, 0.6, 1.0)), (0.4, 0.6, 1.0), lambda x, y, z: np.full(x.shape, True), 1e-3),
    "sphere": (Inertia.sphere(2, 0.5), (1, 1, 1), lambda x, y, z: x**2 + y**2 + z**2 <= 0.25, 1e-2),
    "cylinder": (Inertia.cylinder(2, 0.5, 0.7), (1, 1, 0.7), lambda x, y, z: x**2 + y**2 <= 0.25, 1e-2),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_against_numerical_integration(shape):
    inertia, size, inside, tolerance = SHAPES[shape]
    grid = np.meshgrid(*(s * midpoints(60) for s in size), indexing="ij")
    points = np.stack([g[inside(*grid)] for g in grid], axis=-1)
    second = inertia.mass * (points.T @ points) / len(points)
    expected = np.trace(second) * np.eye(3) - second
    np.testing.assert_allclose(inertia.tensor, expected, atol=tolerance * np.trace(inertia.tensor))
    assert not inertia.center.any()


def test_shapes_take_symbols_exactly():
    m, r, h = sympy.symbols("m r h", positive=True)
    assert Inertia.sphere(m, r).tensor[0, 0] == sympy.Rational(2, 5) * m * r**2
    assert sympy.expand(Inertia.cylinder(m, r, h).tensor[0, 0] - m * (3 * r**2 + h**2) / 12) == 0
    moved = Inertia.point(m).moved(np.eye(3), np.array([r, 0, 0], dtype=object))
    assert moved.tensor_about_origin[1, 1] == m * r**2 and moved.tensor_about_origin[0, 0] == 0


def test_symbolic_welding_has_the_right_parameters():
    m1, m2, a, b = sympy.symbols("m1 m2 a b", positive=True)
    both = Inertia.point(m1, (a, 0, 0)) + Inertia.point(m2, (-b, 0, 0))
    assert sympy.simplify(both.tensor[2, 2] - m1 * m2 / (m1 + m2) * (a + b) ** 2) == 0


def test_what_counts_as_nothing():
    assert Inertia().is_zero and Inertia(0).is_zero
    assert not Inertia.point(1).is_zero
    assert not Inertia(sympy.Symbol("m")).is_zero


@pytest.mark.parametrize("length", [-1, -0.5, sympy.Symbol("a", negative=True)])
def test_bodies_of_negative_length_are_refused(length):
    with pytest.raises(ModelError, match=r"size: .* is negative"):
        Inertia.box(1, [1, length, 1])
    with pytest.raises(ModelError, match=r"radius: .* is negative"):
        Inertia.sphere(1, length)
    with pytest.raises(ModelError, match=r"length: .* is negative"):
        Inertia.cylinder(1, 1, length)


def test_the_short_form_shows_all_six_moments_by_name():
    shown = repr(Inertia(2, (0, 0, 1), [[3, 0.1, 0.2], [0.1, 4, sympy.Symbol("p")], [0.2, sympy.Symbol("p"), 5]]))
    assert all(entry in shown for entry in ("xx=3", "yy=4", "zz=5", "xy=0.1", "xz=0.2", "yz=p"))


@pytest.mark.parametrize("other", [1, 0.5, None, (1, 2, 3)])
def test_nothing_but_an_inertia_is_welded_to_one(other):
    with pytest.raises(TypeError, match="unsupported operand"):
        Inertia(2) + other
