"""THESIS chapter 3: Propositions 3.1-3.14, invariants, decompositions, angle between tensors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from algebra_cases import axes, close, numbers, rotations, size, symmetric, tensors, vector_pairs, vectors
from hypothesis import given
from hypothesis import strategies as st

from dalembert import algebra
from dalembert.algebra.inertia import pseudo_inertia
from dalembert.algebra.spectral import spectral_decomposition
from dalembert.algebra.tensors import (
    axial_projection,
    cartesian_decomposition,
    planar_projection,
    scalar_invariants,
    tensor_angle,
    tensor_cosine,
)
from dalembert.algebra.vectors import cross, dot, double_dot, dual, dyad, norm_frobenius, trace, undual, vect
from dalembert.errors import ArgumentError, SingularityError

ONE = np.eye(3)


@given(vector_pairs, numbers)
def test_proposition_3_1_dual_is_linear(pair, k):
    u, v = pair
    assert close(dual(k * u), k * dual(u), abs(k) * size(u))
    assert close(dual(u + v), dual(u) + dual(v), size(u) + size(v))


@given(vector_pairs)
def test_propositions_3_2_to_3_4_dual_times_vector(pair):
    u, v = pair
    scale = size(u, v)
    assert close(dual(u) @ v, cross(u, v), scale)
    assert close(dual(u) @ v, -dual(v) @ u, scale)  # P3.2
    assert close(v @ dual(u), -(dual(u) @ v), scale)  # P3.3
    assert close(v @ dual(u), dual(v) @ u, scale)  # (3.4.6)
    assert close(dual(u) @ u, 0, size(u, u))  # P3.4


@given(vector_pairs, vector_pairs)
def test_proposition_3_5_scalar_product_of_two_cross_products(left, right):
    (a, u), (b, v) = left, right
    assert close(dot(cross(a, u), cross(b, v)), -a @ dual(u) @ dual(v) @ b, size(a, u, b, v))


@given(vector_pairs)
def test_propositions_3_6_to_3_8_products_of_two_duals(pair):
    u, v = pair
    scale = size(u, v)
    product = dual(u) @ dual(v)
    assert close(product, dyad(v, u) - dot(u, v) * ONE, scale)  # P3.6
    bracket = product - dual(v) @ dual(u)
    assert close(dual(dual(u) @ v), dyad(v, u) - dyad(u, v), scale)  # P3.7
    assert close(dual(dual(u) @ v), bracket, scale)
    assert close(undual(bracket), cross(u, v), scale)
    assert close(double_dot(dual(u), dual(v)), -2 * dot(u, v), scale)  # P3.8
    assert close(norm_frobenius(dual(u)), math.sqrt(2) * np.linalg.norm(u), size(u))


@given(vectors, vectors, vectors)
def test_jacobi_identity(u, v, w):
    total = cross(u, cross(v, w)) + cross(v, cross(w, u)) + cross(w, cross(u, v))
    assert close(total, 0, size(u, v, w))


@given(vector_pairs)
def test_propositions_3_9_and_3_10_products_of_three_duals(pair):
    u, v = pair
    ut, vt = dual(u), dual(v)
    scale = size(u, u, v)
    assert close(ut @ vt @ ut, vt @ ut @ ut + ut @ ut @ vt - trace(ut @ ut) / 2 * vt, scale)  # P3.9
    assert close(ut @ vt @ ut, -dot(u, v) * ut, scale)  # (3.4.24)
    assert close(dual(ut @ ut @ v), -(vt @ ut @ ut + ut @ ut @ vt) + trace(ut @ ut) * vt, scale)  # P3.10


@given(symmetric, vector_pairs)
def test_propositions_3_11_to_3_14_with_a_symmetric_tensor(i, pair):
    u, v = pair
    ut, vt = dual(u), dual(v)
    assert close(dual(i @ v), -(i @ vt + vt @ i) + trace(i) * vt, size(i, v))  # P3.11
    assert close(ut @ i @ ut, (ut @ i @ ut).T, size(u, i, u))  # P3.12
    assert close(double_dot(i, vt), 0, size(i, v))  # P3.13
    assert close(u @ i @ v, -trace(ut @ pseudo_inertia(i) @ vt), size(u, i, v))  # P3.14


@given(tensors, vectors)
def test_proposition_3_11_fails_without_symmetry(t, v):
    """The skew part s~ adds exactly ``dual(s x v)``, so symmetry is a true hypothesis of the proposition."""
    vt = dual(v)
    gap = dual(t @ v) - (-(t.T @ vt + vt @ t) + trace(t) * vt)
    assert close(gap, 0, size(t, v))  # the general form: one factor transposed
    misuse = dual(t @ v) - (-(t @ vt + vt @ t) + trace(t) * vt)
    assert close(misuse, (t - t.T) @ vt, size(t, v))


@given(tensors)
def test_scalar_invariants_in_terms_of_traces_of_powers(t):
    i1, i2, i3 = scalar_invariants(t)
    f1, f2, f3 = trace(t), trace(t @ t), trace(t @ t @ t)
    n = float(np.linalg.norm(t))
    assert close(i1, f1, n)
    assert close(i2, (f1**2 - f2) / 2, n**2)
    assert close(i3, (2 * f3 + f1**3 - 3 * f1 * f2) / 6, n**3)


@given(tensors, rotations)
def test_scalar_invariants_and_vect_are_invariant(t, r):
    n = float(np.linalg.norm(t))
    for k, (before, after) in enumerate(zip(scalar_invariants(t), scalar_invariants(r @ t @ r.T)), start=1):
        assert close(before, after, n**k)
    assert close(vect(r @ t @ r.T), r @ vect(t), n)


@given(symmetric)
def test_scalar_invariants_in_terms_of_eigenvalues(t):
    a, b, c = spectral_decomposition(t).eigenvalues
    n = float(np.linalg.norm(t))
    i1, i2, i3 = scalar_invariants(t)
    assert close(i1, a + b + c, n)
    assert close(i2, a * b + b * c + c * a, n**2)
    assert close(i3, a * b * c, n**3)


@given(tensors)
def test_cartesian_decomposition_is_a_sum_of_orthogonal_parts(t):
    sym, skew = cartesian_decomposition(t)
    assert np.array_equal(sym, sym.T)
    assert np.array_equal(skew, -skew.T)
    assert close(sym + skew, t, size(t))
    assert close(double_dot(sym, skew), 0, size(t, t))


@given(symmetric)
def test_spectral_decomposition(t):
    spectrum = spectral_decomposition(t)
    projections = spectrum.projections
    assert close(sum(lam * p for lam, p in zip(spectrum.eigenvalues, projections)), t, size(t))  # (3.3.17)
    assert close(sum(projections), ONE)  # (3.3.16)
    for k, p in enumerate(projections):
        assert close(p @ p, p)  # (3.3.15)
        assert close(double_dot(p, projections[k - 1]), 0)  # (3.3.14)
    assert np.linalg.det(spectrum.eigenvectors) > 0
    by_duals = sum(lam * dual(x) @ dual(x) for lam, x in zip(spectrum.eigenvalues, spectrum.eigenvectors.T))
    assert close(by_duals + trace(t) * ONE, t, size(t))  # (3.4.28)


def test_spectral_decomposition_refuses_what_has_none():
    with pytest.raises(ArgumentError, match="symmetric_part"):
        spectral_decomposition(np.arange(9.0).reshape(3, 3))
    with pytest.raises(ArgumentError, match="3x3"):
        spectral_decomposition(np.eye(2))


@given(axes, vectors)
def test_projections_split_a_vector_along_and_across_an_axis(e, v):
    along, across = axial_projection(e) @ v, planar_projection(e) @ v
    assert close(along + across, v, size(v))
    assert close(cross(along, e), 0, size(v))
    assert close(dot(across, e), 0, size(v))


@given(axes, axes, st.floats(0.1, 10), st.floats(0.1, 10))
def test_angle_between_planes_is_the_angle_between_their_normals(a, b, k, m):
    planes = dual(k * a), dual(m * b)
    assert close(tensor_cosine(*planes), dot(a, b))  # (3.3.47) = (3.3.48)
    # The angle itself is well conditioned everywhere, unlike the arccosine of the cosine.
    assert close(tensor_angle(*planes), math.atan2(np.linalg.norm(np.cross(a, b)), dot(a, b)))


def test_angle_of_parallel_opposite_orthogonal_and_zero_tensors():
    t, s = np.diag([1.0, 2.0, 3.0]), dual([1, 2, 3])
    assert close(tensor_angle(t, 5 * t), 0)
    assert close(tensor_angle(t, -t), math.pi)
    assert close(tensor_angle(t, s), math.pi / 2)
    for scale in (1e-300, 1e300):
        assert close(tensor_angle(scale * t, t), 0) and close(tensor_cosine(scale * t, -t / scale), -1)
    with pytest.raises(SingularityError, match="zero tensor"):
        tensor_angle(t, np.zeros((3, 3)))


def test_permutation_tensor_and_tensors_of_any_rank():
    """(3.2.23), (3.3.2)-(3.3.6): cross product, epsilon-delta, contraction of a product, change of axes."""
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, 3))
    e = algebra.levi_civita()
    assert np.allclose(np.einsum("ijk,j,k", e, u, v), np.cross(u, v))
    product = algebra.contraction(algebra.tensor_product(e, e), 0, 3)
    delta = np.eye(3, dtype=int)
    expected = np.einsum("jl,km->jklm", delta, delta) - np.einsum("jm,kl->jklm", delta, delta)
    assert (product == expected).all()
    A, T = algebra.rotation_from_euler("ZYX", [0.3, -0.4, 1.1]), rng.normal(size=(3, 3))
    assert np.allclose(algebra.change_of_basis(T, A), A @ T @ A.T)
    assert np.allclose(algebra.change_of_basis(e, A), e)  # isotropic
    assert np.isclose(algebra.contraction(T, 0, 1), np.trace(T))
    with pytest.raises(ArgumentError, match="no two indices"):
        algebra.contraction(T, 0, 0)
    with pytest.raises(ArgumentError, match="3 along every axis"):
        algebra.tensor_product(np.zeros(4), u)
