"""Principal values and axes: of constants exactly, and with the right derivative off the real axis."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from algebra_cases import EQUAL_EIGENVALUES, arrays, close, rodrigues, rotations, size
from hypothesis import assume, given
from hypothesis import strategies as st

from dalembert.algebra import rotation_from_axis_angle, scalar_invariants, spectral_decomposition
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.tracing.trace import trace

HALF, ROOT = sp.Rational(1, 2), sp.sqrt(2)


def digits(matrix):
    """Every entry in 25 digits; products of exact entries would take SymPy minutes."""
    return sp.Matrix(matrix).applyfunc(lambda x: sp.N(x, 25))


def same(a, b):
    """Equal in 20 digits, which no floating-point number on the way would leave."""
    return max(abs(x) for x in a - b) < 1e-20


EXACT = {
    "zero": sp.zeros(3),
    "one": sp.eye(3),
    "diagonal": sp.diag(3, 1, 2),
    "first two equal": sp.diag(1, 1, 2),
    "last two equal": sp.diag(5, 2, 5),
    "rank one": sp.ones(3),
    "one product of inertia": sp.Matrix([[2, 1, 0], [1, 3, 0], [0, 0, 1]]),
    "casus irreducibilis": sp.Matrix([[1, 2, 3], [2, 5, 1], [3, 1, -1]]),
    "roots": sp.Matrix([[ROOT, 1, 0], [1, 2, HALF], [0, HALF, -ROOT]]),
    "transcendental": sp.diag(sp.pi, sp.E, 0),
    "equal in disguise": sp.diag(1, sp.sin(1) ** 2 + sp.cos(1) ** 2, sp.pi),
    "nearly equal": sp.diag(1, 1 + sp.Rational(1, 10**25), 2),
    "turned, two equal": sp.Matrix(rotation_from_axis_angle([sp.Rational(3, 5), 0, sp.Rational(4, 5)], sp.pi / 3)),
}
TURN = EXACT.pop("turned, two equal")
EXACT["turned, two equal"] = TURN * sp.diag(2, 2, 7) * TURN.T
EXACT["turned, others equal"] = TURN * sp.diag(7, 2, 7) * TURN.T


@pytest.mark.parametrize("name", EXACT)
def test_exact_constants(name):
    t = EXACT[name]
    spectrum = spectral_decomposition(t)
    assert not any(sp.sympify(x).has(sp.Float) for x in (*spectrum.eigenvalues, *spectrum.eigenvectors.flat))
    values, axes = digits(spectrum.eigenvalues), digits(spectrum.eigenvectors)
    assert same(axes.T * axes, sp.eye(3))
    assert same(axes * sp.diag(*values) * axes.T, digits(t))  # (3.3.17)
    assert axes.det() > 0
    assert all(b - a > -1e-20 for a, b in pairwise(values))
    numbers = np.array(t.evalf(), dtype=float)
    assert close(np.array(values, dtype=float).ravel(), spectral_decomposition(numbers).eigenvalues, 1 + size(numbers))


def test_values_that_are_plain_come_out_plain():
    assert spectral_decomposition(EXACT["rank one"]).eigenvalues.tolist() == [0, 0, 3]
    assert abs(spectral_decomposition(EXACT["diagonal"]).eigenvectors).tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    low, one, high = spectral_decomposition(EXACT["one product of inertia"]).eigenvalues
    assert {low, one, high} == {1, sp.Rational(5, 2) - sp.sqrt(5) / 2, sp.Rational(5, 2) + sp.sqrt(5) / 2}


def test_constants_with_floating_point_numbers_among_them_are_numbers():
    assert spectral_decomposition(sp.diag(0.5, sp.pi, 1)).eigenvalues.dtype == np.float64


@given(arrays(3, 3), arrays(3, 3), rotations)
def test_complex_steps_give_the_derivative_of_finite_differences(t, d, r):
    """Of values, and of axes up to their sign, for well separated values."""
    axes_at_zero = spectral_decomposition(t + t.T).eigenvectors
    t = axes_at_zero @ np.diag([-4.0, 1.0, 9.0]) @ axes_at_zero.T
    t, d = (t + t.T) / 2, (d + d.T) / 20
    found = spectral_decomposition(t + 1e-30j * d)
    assert close(found.eigenvalues.real, [-4, 1, 9], 20)
    h = 1e-3  # five-point formula: the fifth derivatives are below 10, so its error is below 1e-11
    along = [spectral_decomposition(t + k * h * d) for k in (-2, -1, 1, 2)]
    weights = np.array([1, -8, 8, -1]) / (12 * h)
    values = sum(w * s.eigenvalues for w, s in zip(weights, along))
    assert np.max(np.abs(found.eigenvalues.imag / 1e-30 - values)) < 1e-9
    axes = found.eigenvectors.real
    signed = [s.eigenvectors * np.sign(np.sum(s.eigenvectors * axes, axis=0)) for s in along]
    assert np.max(np.abs(found.eigenvectors.imag / 1e-30 - sum(w * s for w, s in zip(weights, signed)))) < 1e-9


@given(rotations, st.sampled_from(EQUAL_EIGENVALUES), arrays(3, 3))
def test_equal_values_have_no_derivative(r, values, d):
    t = r @ np.diag(values).astype(float) @ r.T
    t, d = (t + t.T) / 2, d + d.T
    assume(np.any(d))
    with pytest.raises(SingularityError, match="not distinct"):
        spectral_decomposition(t + 1e-30j * d)
    on_the_axis = spectral_decomposition(t.astype(complex))
    assert close(on_the_axis.eigenvalues, np.sort(values), 1 + size(t))


def test_what_has_no_decomposition_is_told_why():
    x = sp.Symbol("x", real=True)
    with pytest.raises(UnsupportedError, match="scalar_invariants"):
        spectral_decomposition(sp.diag(x, 1, 2))
    assert scalar_invariants(sp.diag(x, 1, 2))[2] == 2 * x
    with pytest.raises(UnsupportedError, match="numbers"):
        trace(lambda t: spectral_decomposition(t).eigenvalues, {"t": (3, 3)}, name="values")
    with pytest.raises(UnsupportedError, match="real"):
        spectral_decomposition(sp.diag(sp.I, 1, 2))
    with pytest.raises(ArgumentError, match="complex step"):
        spectral_decomposition(np.diag([1, 2, 3 + 1j]))
    with pytest.raises(ArgumentError, match="symmetric"):
        spectral_decomposition(np.diag([1, 2, 3]) + 1j * rodrigues([0, 0, 1.0], 1.0))
    with pytest.raises(ArgumentError, match="finite"):
        spectral_decomposition(np.full((3, 3), np.nan))
