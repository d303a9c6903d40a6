"""Linear equations over any scalar: they are satisfied, by numbers, exact numbers, symbols and kernels."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.algebra import linalg
from dalembert.errors import ArgumentError
from dalembert.proof.field import Field
from dalembert.tracing.cost import operation_count
from dalembert.tracing.evaluate import evaluate
from dalembert.tracing.trace import trace

CASES = ("cholesky", "general", "dominant", "positive", "columns", "lower", "upper", "least squares")


def compute(case, A, S, b, B, R):
    """A matrix, a positive one, a vector, columns, and a tall matrix."""
    n = len(S)
    return {
        "cholesky": lambda: linalg.cholesky(S),
        "general": lambda: linalg.solve(A, b[:n]),
        "dominant": lambda: linalg.solve(S, b[:n], "dominant"),
        "positive": lambda: linalg.solve(S, b[:n], "positive"),
        "columns": lambda: linalg.solve(A, B[:n]),
        "lower": lambda: linalg.solve_triangular(S, b[:n]),
        "upper": lambda: linalg.solve_triangular(S, B[:n], lower=False),
        "least squares": lambda: linalg.least_squares(R, B),
    }[case]()


def by_numpy(case, A, S, b, B, R):
    n = len(S)
    return {
        "cholesky": lambda: np.linalg.cholesky(S),
        "general": lambda: np.linalg.solve(A, b[:n]),
        "dominant": lambda: np.linalg.solve(S, b[:n]),
        "positive": lambda: np.linalg.solve(S, b[:n]),
        "columns": lambda: np.linalg.solve(A, B[:n]),
        "lower": lambda: np.linalg.solve(np.tril(S), b[:n]),
        "upper": lambda: np.linalg.solve(np.triu(S), B[:n]),
        "least squares": lambda: np.linalg.lstsq(R, B, rcond=None)[0],
    }[case]()


def problem(n, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    return A, A @ A.T + n * np.eye(n), rng.normal(size=n + 2), rng.normal(size=(n + 2, 3)), rng.normal(size=(n + 2, n))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", [1, 2, 5, 18])
def test_numbers_and_programs_agree_with_numpy(case, n):
    """Written out, and in loops above ``STRAIGHT_ROWS``."""
    given = problem(n)
    expected = by_numpy(case, *given)
    np.testing.assert_allclose(compute(case, *given), expected, rtol=1e-9, atol=1e-10)
    names = dict(zip("ASbBR", (x.shape for x in given)))
    program = trace(lambda *arrays: compute(case, *arrays), names, outputs="x")
    np.testing.assert_allclose(evaluate(program, given)["x"], expected, rtol=1e-9, atol=1e-10)
    if n > linalg.STRAIGHT_ROWS and case not in ("lower", "upper"):
        assert len(program.nodes) + sum(len(loop.step.nodes) for loop in program.loops) < operation_count(program) / 3


def test_kernels_in_loops_and_their_derivatives():
    """Of x(s) = A^-1 b s, forwards, for arrays are carried in memory."""
    n = linalg.STRAIGHT_ROWS + 1
    A, _, b, _, _ = problem(n)
    kernel = da.kernel(lambda A, b, s: linalg.solve(A, b * s), {"A": (n, n), "b": (n,), "s": ()}, wrt="s")
    x, slope = kernel(A, b[:n], 2.0)
    np.testing.assert_allclose(A @ x, 2 * b[:n], atol=1e-9)
    np.testing.assert_allclose(A @ slope, b[:n], atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_batches_are_solved_one_by_one(case):
    """Numbers and programs; shapes are broadcast as NumPy has it."""
    several = [np.stack(rows) for rows in zip(*(problem(3, seed) for seed in range(4)))]
    S, B = several[1].reshape(2, 2, 3, 3), several[3][0, :3]
    expected = np.stack([by_numpy(case, *(x[k] for x in several)) for k in range(4)])
    alone = {"cholesky": lambda A, S, b, B, R: linalg.cholesky(S), "general": lambda A, S, b, B, R: linalg.solve(A, b)}
    if case in alone:
        given = [several[0], several[1], several[2][:, :3], several[3], several[4]]
        np.testing.assert_allclose(alone[case](*given), expected, rtol=1e-9)
        program = trace(alone[case], dict(zip("ASbBR", (x.shape for x in given))), outputs="x")
        np.testing.assert_allclose(evaluate(program, given)["x"], expected, rtol=1e-9)
    np.testing.assert_allclose(linalg.solve(S, B), np.linalg.solve(S, B), rtol=1e-9)


def test_pivots_are_chosen_when_the_program_runs():
    A, b = np.array([[0.0, 1, 2], [1e-20, 0, 3], [4, 5, 6]]), np.array([1.0, 2, 3])
    program = trace(linalg.solve, {"A": (3, 3), "b": (3,)}, outputs="x")
    for matrix in (A, A[::-1], A[[1, 2, 0]]):
        np.testing.assert_allclose(matrix @ linalg.solve(matrix, b), b, rtol=1e-12)
        np.testing.assert_allclose(matrix @ evaluate(program, [matrix, b])["x"], b, rtol=1e-12)


def test_structural_zeros_cost_nothing_and_symmetric_matrices_half():
    def arrow(d, e):
        M = np.zeros((8, 8), dtype=object)
        M[range(8), range(8)] = d
        M[7, :7] = M[:7, 7] = e
        return linalg.solve(M, np.ones(8), "positive")

    sparse = operation_count(trace(arrow, {"d": (8,), "e": (7,)}))
    shapes = {"A": (8, 8), "b": (8,)}
    counts = [operation_count(trace(lambda A, b, a=a: linalg.solve(A, b, a), shapes)) for a in linalg.ASSUMPTIONS]
    assert sparse < 80
    assert counts[1] < 0.6 * counts[0] and counts[2] < 0.75 * counts[1]


def test_exact_numbers_and_symbols_stay_exact():
    """Whole numbers among them are divided exactly; a zero is no pivot."""
    field = Field(None)
    A = np.array([[0, 2, field.element()], [3, field.element(), 1], [field.element(), 1, 4]], dtype=object)
    b = np.array([1, field.element(), 2], dtype=object)
    for x in (linalg.solve(A, b), linalg.least_squares(A, b)):
        assert all(y == z for y, z in zip(A @ x, b))
    a, c = sympy.symbols("a c")
    M = np.array([[sympy.sin(a) ** 2 + sympy.cos(a) ** 2 - 1, 3], [a, c]], dtype=object)
    x = linalg.solve(M, [1, 2])
    assert sympy.simplify(x[1] - sympy.Rational(1, 3)) == 0 and sympy.simplify(a * x[0] + c * x[1] - 2) == 0
    S = np.array([[4, 2 * a], [2 * a, a * a + 9]], dtype=object)
    assert linalg.cholesky(S).tolist() == [[2, 0], [a, 3]]


def test_the_complex_step_passes_through():
    A, S, b, _, _ = problem(4)
    E, h = np.random.default_rng(5).normal(size=(4, 4)), 1e-30
    for name in linalg.ASSUMPTIONS:
        M = S if name != "general" else A
        D = E + E.T
        x = linalg.solve(M, b[:4], name)
        np.testing.assert_allclose(
            linalg.solve(M + 1j * h * D, b[:4], name).imag / h, -np.linalg.solve(M, D @ x), rtol=1e-9
        )


def test_singular_matrices_give_no_numbers_in_either_way():
    A, b = np.ones((3, 3)), np.array([1.0, 2, 3])
    program = trace(linalg.solve, {"A": (3, 3), "b": (3,)}, outputs="x")
    assert not np.isfinite(linalg.solve(A, b)).all() and not np.isfinite(evaluate(program, [A, b])["x"]).all()
    assert np.isnan(linalg.cholesky(-np.eye(2))[0, 0])
    assert linalg.solve(np.zeros((0, 0)), np.zeros(0)).shape == (0,)
    assert linalg.least_squares(np.zeros((2, 0)), np.zeros((2, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: linalg.solve(np.ones((2, 3)), np.ones(2)), "needed are square matrices"),
        (lambda: linalg.solve(np.eye(3), np.ones(2)), r"b has shape \(2,\) beside A \(3, 3\)"),
        (lambda: linalg.solve(np.eye(3), np.ones(3), "easy"), "choose one of general, dominant, positive"),
        (lambda: linalg.least_squares(np.ones((2, 3)), np.ones(2)), "at least as many rows"),
        (lambda: linalg.solve(np.ones((4, 2, 2)), np.ones((3, 2))), "do not fit together"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
