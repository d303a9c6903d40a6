"""THESIS chapter 4: Theorems 4.1-4.5 on bodies made of particles, and what the tensor forms cost."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from algebra_cases import Cloud, arrays, axes, close, clouds, count, derivative, quarter_turns, size, vectors
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.arrays import product
from dalembert.algebra.inertia import (
    angular_momentum,
    euler_torque,
    inertia_from_pseudo,
    inertia_rate,
    momentum_tensor,
    parallel_axes,
    parallel_axes_pseudo,
    pseudo_inertia,
    symmetric_matrix,
    torque_from_tensor,
    torque_tensor,
)
from dalembert.algebra.rotations import rotation_from_axis_angle, rotation_x, rotation_y, rotation_z
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.vectors import cross, dual, trace, undual, vect


def spread(cloud: Cloud) -> float:
    """The size of a body's inertia, ``sum m r.r``, plus that of its centre: the scale of rounding errors."""
    return float(cloud.masses @ np.sum(cloud.points**2, axis=1))


@pytest.fixture(scope="module")
def motion():
    """R, Rdot and Rddot at time zero of a turning body whose three angles are quadratic in time, by SymPy."""
    t = sympy.Symbol("t")
    position, rate, acceleration = (sympy.symbols(f"{name}:3") for name in "pva")
    a, b, c = (p + v * t + w * t**2 / 2 for p, v, w in zip(position, rate, acceleration))
    r = sympy.Matrix(product(rotation_z(a), product(rotation_y(b), rotation_x(c))))
    matrices = [m.subs(t, 0) for m in (r, r.diff(t), r.diff(t, 2))]
    return sympy.lambdify([position, rate, acceleration], matrices, "numpy", cse=True)


@given(st.one_of(arrays(3), st.tuples(*[quarter_turns] * 3).map(np.array)), vectors, vectors)
def test_theorems_4_1_and_4_2_derivatives_of_a_rotation(motion, position, rate, acceleration):
    r, rd, rdd = motion(position, rate, acceleration)
    w = vect(rd @ r.T)
    wd = vect(rdd @ r.T)
    om = angular_acceleration_tensor(w, wd)
    scale = 1 + size(rate, rate) + size(acceleration)
    assert close(rd, dual(w) @ r, scale)  # (4.2.5)
    assert close(rdd, om @ r, scale)  # (4.2.9)


@given(vectors, vectors)
def test_angular_acceleration_tensor(w, wd):
    om = angular_acceleration_tensor(w, wd)
    scale = size(w, w) + size(wd)
    assert close(om, dual(wd) + dual(w) @ dual(w), scale)  # (4.2.11)
    assert close(vect(om), wd, scale)  # (4.2.13)
    assert close(trace(om), trace(dual(w) @ dual(w)), scale)  # (4.2.14)


@given(vectors, vectors, vectors)
def test_acceleration_of_a_body_fixed_vector(w, wd, r):
    om = angular_acceleration_tensor(w, wd)
    assert close(om @ r, cross(wd, r) + cross(w, cross(w, r)), (size(w, w) + size(wd)) * size(r))  # (4.2.22)


@given(clouds())
def test_pseudo_inertia_and_back(cloud):
    i, j = cloud.inertia, cloud.pseudo_inertia
    assert close(pseudo_inertia(i), j, spread(cloud))  # (4.3.6)
    assert close(inertia_from_pseudo(j), i, spread(cloud))  # (4.3.7)
    assert close(trace(i), 2 * trace(j), spread(cloud))  # (4.3.29)


@given(clouds())
def test_theorem_4_3_parallel_axes(cloud):
    centred = cloud.about_centre()
    assert close(parallel_axes(centred.inertia, cloud.mass, cloud.centre), cloud.inertia, spread(cloud))
    assert close(
        parallel_axes_pseudo(centred.pseudo_inertia, cloud.mass, cloud.centre), cloud.pseudo_inertia, spread(cloud)
    )
    assert close(parallel_axes(cloud.inertia, -cloud.mass, -cloud.centre), centred.inertia, spread(cloud))


@given(clouds(), axes)
def test_rates_of_the_inertia_tensors_of_a_turning_body(cloud, w):
    def turned(tensor):
        return lambda t: (lambda r: r @ tensor @ r.T)(rotation_from_axis_angle(w, t))

    for tensor in (cloud.inertia, cloud.pseudo_inertia):
        assert close(derivative(turned(tensor)), inertia_rate(w, tensor), spread(cloud))  # (4.3.17), (4.3.19)


@given(clouds(), vectors)
def test_theorem_4_4_angular_momentum(cloud, w):
    i, j = cloud.inertia, cloud.pseudo_inertia
    momentum = cloud.sum_of_moments(lambda r: np.cross(w, r))
    scale = spread(cloud) * size(w)
    assert close(angular_momentum(i, w), momentum, scale)  # (4.3.22)
    assert close(-j @ w + trace(j) * w, momentum, scale)  # (4.3.26)
    wi = dual(w) @ i
    assert close(dual(momentum), wi.T - wi + trace(i) * dual(w), scale)  # Theorem 4.4
    assert close(dual(momentum), momentum_tensor(j, w), scale)  # (4.3.30)
    centred = angular_momentum(cloud.about_centre().inertia, w)
    assert close(momentum, centred + cloud.mass * cross(cloud.centre, cross(w, cloud.centre)), scale)  # (4.3.25)


@given(clouds(), vectors, vectors)
def test_theorem_4_5_torque(cloud, w, wd):
    i, j = cloud.inertia, cloud.pseudo_inertia
    torque = cloud.sum_of_moments(lambda r: np.cross(wd, r) + np.cross(w, np.cross(w, r)))
    om = angular_acceleration_tensor(w, wd)
    scale = spread(cloud) * (size(wd) + size(w, w))
    assert close(euler_torque(i, w, wd), torque, scale)  # (4.3.35)
    assert close(-(j @ wd + dual(w) @ j @ w) + trace(j) * wd, torque, scale)  # (4.3.38)
    assert close(dual(torque), (om @ i).T - om @ i + trace(i) * dual(wd), scale)  # Theorem 4.5
    assert close(dual(torque), torque_tensor(om, j), scale)  # (4.3.42)
    assert close(torque_from_tensor(om, j), torque, scale)
    assert close(torque_from_tensor(om, j), undual(torque_tensor(om, j)), scale)
    centred = euler_torque(cloud.about_centre().inertia, w, wd)
    assert close(torque, centred + cloud.mass * cross(cloud.centre, om @ cloud.centre), scale)  # (4.3.36)


@given(clouds(), axes, vectors, vectors)
def test_torque_does_not_depend_on_the_axes(cloud, axis, w, wd):
    r = rotation_from_axis_angle(axis, 1.1)
    scale = spread(cloud) * (size(wd) + size(w, w))
    direct = torque_from_tensor(angular_acceleration_tensor(w, wd), cloud.pseudo_inertia)
    om = angular_acceleration_tensor(r @ w, r @ wd)
    assert close(torque_from_tensor(om, cloud.turned(r).pseudo_inertia), r @ direct, scale)


def test_torque_reads_the_upper_triangle_only():
    om = np.arange(9.0).reshape(3, 3)
    j = symmetric_matrix(1, 2, 3, 4, 5, 6)
    spoiled = np.triu(j) - 7 * np.tril(np.ones((3, 3)), -1)
    assert np.array_equal(torque_from_tensor(om, spoiled), torque_from_tensor(om, j))


def test_costs_are_those_of_the_thesis():
    """Section 2.4 of the THESIS: the tensor forms are cheaper than the vector forms they replace."""
    w, wd, r, t = np.ones(3), np.ones(3), np.ones(3), np.ones((3, 3))
    assert count(angular_acceleration_tensor, w, wd) == {"mul": 6, "add": 9}
    assert count(torque_from_tensor, t, t) == {"mul": 15, "add": 15}
    assert count(euler_torque, t, w, wd) == {"mul": 24, "add": 18}
    assert count(product, t, r) == {"mul": 9, "add": 6}
    assert count(lambda w, wd, r: cross(wd, r) + cross(w, cross(w, r)), w, wd, r) == {"mul": 18, "add": 12}
    assert count(parallel_axes, t, np.array([1.0])[0], r) == {"mul": 9, "add": 9}
