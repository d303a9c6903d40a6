"""NGUYEN (8)-(18): the Kronecker product and Khang's derivative, numerically and symbolically."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from algebra_cases import arrays, close, derivative, size
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.algebra.arrays import identity
from dalembert.algebra.kronecker import (
    block_skew,
    khang_derivative,
    khang_derivative_complex_step,
    kron,
    unvec,
    vec,
)
from dalembert.algebra.vectors import dual
from dalembert.errors import ArgumentError

sizes = st.integers(1, 4)
seeds = st.integers(0, 2**32 - 1)


def smooth_matrix(seed, rows, columns, n):
    """An analytic matrix function of n variables; it runs on floats, complex numbers and symbols."""
    rng = np.random.default_rng(seed)
    a, b, c = (rng.integers(-3, 4, (rows, columns, n)) for _ in range(3))

    def function(x):
        x = np.asarray(x)
        return (a * x * x).sum(-1) + (b * x * np.roll(x, 1) * x).sum(-1) + (c * x).sum(-1)

    return function


def points(seed, *lengths):
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(-2, 3, n) / 2 for n in lengths]
    return drawn if len(drawn) > 1 else drawn[0]


# All numbers drawn for derivatives are small multiples of 1/2, so polynomials of degree three stay below about a
# thousand and errors below 1e-12.
TOLERANCE = 1e-11


def same(a, b):
    return np.shape(a) == np.shape(b) and np.max(np.abs(a - b), initial=0) < TOLERANCE


@given(arrays(2, 3), arrays(3, 2), arrays(3), arrays(2))
def test_kron_is_numpys_with_vectors_as_columns(a, b, u, v):
    assert np.array_equal(kron(a, b), np.kron(a, b))
    assert np.array_equal(kron(u, v), np.kron(u, v))
    assert np.array_equal(kron(a, v), np.kron(a, v[:, None]))
    assert np.array_equal(kron(u, b), np.kron(u[:, None], b))


@given(arrays(3, 2))
def test_vec_stacks_columns_and_unvec_undoes_it(a):
    assert vec(a).tolist() == a[:, 0].tolist() + a[:, 1].tolist()
    assert np.array_equal(unvec(vec(a), 3), a)
    with pytest.raises(ArgumentError, match="4 rows"):
        unvec(vec(a), 4)


@given(seeds, sizes, sizes, sizes)
def test_8_time_derivative(seed, r, s, n):
    a = smooth_matrix(seed, r, s, n)
    x, xdot = points(seed, n, n)
    rate = derivative(lambda t: a(x + t * xdot))
    assert same(rate, khang_derivative_complex_step(a, x) @ kron(identity(s), xdot))


@given(seeds, sizes, sizes, sizes, sizes)
def test_9_derivative_of_a_product(seed, r, s, m, n):
    a, b = smooth_matrix(seed, r, s, n), smooth_matrix(seed + 1, s, m, n)
    x = points(seed, n)
    whole = khang_derivative_complex_step(lambda y: a(y) @ b(y), x)
    da, db = khang_derivative_complex_step(a, x), khang_derivative_complex_step(b, x)
    assert np.max(np.abs(whole - (da @ kron(b(x), identity(n)) + a(x) @ db))) < 1e-9  # entries reach 1e5


@given(arrays(2, 3), arrays(3, 4), arrays(4, 2))
def test_10_vec_of_a_triple_product(a, x, b):
    assert close(vec(a @ x @ b), kron(b.T, a) @ vec(x), size(a, x, b))


@given(seeds, sizes, sizes)
def test_11_derivative_of_a_jacobian_times_rates(seed, r, n):
    j = smooth_matrix(seed, r, n, n)
    q, qd, qdd = points(seed, n, n, n)
    rate = derivative(lambda t: j(q + t * qd) @ (qd + t * qdd))
    assert same(rate, j(q) @ qdd + khang_derivative_complex_step(j, q) @ kron(qd, qd))


@given(arrays(3, 2), arrays(2), arrays(4))
def test_12_and_13_moving_a_vector_through(a, d, x):
    p, n = 3, 4
    assert close(kron(identity(p), x) @ a @ d, kron(a, identity(n)) @ kron(d, x), size(a, d, x))
    assert close(kron(d, x), kron(d, identity(n)) @ x, size(d, x))


@given(arrays(3, 4), arrays(2), arrays(2), arrays(3))
def test_14_moving_two_vectors_through(a, d, y, x):
    p, r, m, n = 3, 2, 2, 3
    left = kron(identity(p), x) @ a @ kron(identity(r), y) @ d
    right = kron(a, identity(n)) @ kron(d, identity(n * m)) @ kron(y, x)
    assert close(left, right, size(a, d, y, x))


@given(arrays(3, 4), arrays(4), arrays(3))
def test_15_to_18_block_skew(a, v, u):
    rows = [np.zeros(4), -a[2], a[1]], [a[2], np.zeros(4), -a[0]], [-a[1], a[0], np.zeros(4)]
    assert np.array_equal(block_skew(a), np.array([np.concatenate(row) for row in rows]))  # (16)
    assert np.array_equal(block_skew(u), dual(u))  # (15)
    assert close(dual(a @ v), block_skew(a) @ kron(identity(3), v), size(a, v))  # (17)
    assert close(dual(u) @ a, -block_skew(a) @ kron(u, identity(4)), size(u, a))  # (18)


def law_8(a, x, xdot):
    return derivative(lambda t: a(x + t * xdot)), khang_derivative_complex_step(a, x) @ kron(identity(2), xdot)


def law_9(a, x, xdot):
    n = len(x)
    da = khang_derivative_complex_step(a, x)
    whole = khang_derivative_complex_step(lambda y: a(y).T @ a(y), x)
    transposed = khang_derivative_complex_step(lambda y: a(y).T, x)
    return whole, transposed @ kron(a(x), identity(n)) + a(x).T @ da


def law_11(a, x, xdot):
    def j(q):  # as many columns as coordinates
        return a(q) @ np.ones((2, len(x)))

    rate = derivative(lambda t: j(x + t * xdot) @ xdot)
    return rate, khang_derivative_complex_step(j, x) @ kron(xdot, xdot)


@pytest.mark.parametrize("law", [law_8, law_9, law_11])
@pytest.mark.parametrize("n", [1, 3])
def test_8_to_11_at_degenerate_points(law, n):
    """Constant and zero matrices, the origin, no motion, one coordinate."""
    matrices = {
        "zero": lambda x: np.zeros((3, 2)) * x[0],
        "constant": lambda x: np.ones((3, 2)),
        "rank one": lambda x: np.outer([1, 2, 3], [x[0], 0]),
        "smooth": smooth_matrix(1, 3, 2, n),
    }
    for a in matrices.values():
        for x in (np.zeros(n), np.ones(n)):
            for xdot in (np.zeros(n), np.eye(n)[0], np.ones(n)):
                left, right = law(a, x, xdot)
                assert same(left, right)


@pytest.mark.parametrize("a", [np.zeros((3, 4)), np.eye(3, 4), np.ones((3, 4))], ids=["zero", "one", "rank one"])
@pytest.mark.parametrize("v", [np.zeros(4), np.eye(4)[1]], ids=["zero", "unit"])
@pytest.mark.parametrize("u", [np.zeros(3), np.eye(3)[2]], ids=["zero", "unit"])
def test_10_and_12_to_18_on_zero_unit_and_rank_one_matrices(a, v, u):
    """All numbers are small integers, so equality is exact."""
    equal, one = np.array_equal, identity
    assert equal(vec(a.T @ np.outer(u, v) @ a.T), kron(a, a.T) @ vec(np.outer(u, v)))  # (10)
    assert equal(kron(one(3), u) @ a @ v, kron(a, one(3)) @ kron(v, u))  # (12)
    assert equal(kron(v, u), kron(v, one(3)) @ u)  # (13)
    y = v[:2]
    assert equal(kron(one(3), u) @ a @ kron(one(2), y) @ y, kron(a, one(3)) @ kron(y, one(6)) @ kron(y, u))  # (14)
    assert equal(block_skew(u), dual(u))  # (15)
    assert equal(block_skew(a)[:, :4], np.array([0 * a[0], a[2], -a[1]]))  # (16)
    assert equal(dual(a @ v), block_skew(a) @ kron(one(3), v))  # (17)
    assert equal(dual(u) @ a, -block_skew(a) @ kron(u, one(4)))  # (18)


@given(seeds, sizes, sizes, st.integers(1, 3))
@settings(max_examples=15)
def test_symbolic_and_complex_step_derivatives_agree(seed, r, s, n):
    function = smooth_matrix(seed, r, s, n)
    symbols = sympy.symbols(f"x:{n}")
    x = points(seed, n) if n > 1 else np.atleast_1d(points(seed, n))
    symbolic = khang_derivative(function(np.array(symbols, dtype=object)), symbols)
    values = [[float(sympy.sympify(e).subs(dict(zip(symbols, x.tolist())))) for e in row] for row in symbolic]
    assert same(np.array(values), khang_derivative_complex_step(function, x))


def test_column_order_of_khangs_derivative():
    """Column (j-1) n + k is the derivative of column j by x_k."""
    x, y = sympy.symbols("x y")
    a = sympy.Matrix([[x, x * y], [1, y**2]])
    assert khang_derivative(a, [x, y]).tolist() == [[1, 0, y, x], [0, 0, 0, 2 * y]]
    assert khang_derivative([x * y, y], [x, y]).tolist() == [[y, x], [0, 1]]


def test_derivative_by_functions_of_time():
    t = sympy.Symbol("t")
    q = sympy.Function("q")(t)
    assert khang_derivative([sympy.sin(q)], [q]).tolist() == [[sympy.cos(q)]]


def test_wrong_shapes_are_refused():
    with pytest.raises(ArgumentError, match="three rows"):
        block_skew(np.zeros((2, 2)))
    with pytest.raises(ArgumentError, match=r"\(1, 1, 1\)"):
        kron(np.zeros((1, 1, 1)), np.zeros(3))


def test_derivatives_by_numbers_are_refused():
    with pytest.raises(ArgumentError, match="complex_step"):
        khang_derivative(np.eye(2), [1.0, 2.0])
