"""Laws of the factors along a tree, on random trees, with exact fractions: no tolerance is needed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.algorithms import triangular
from dalembert.algorithms.triangular import TreeFactors, factor
from random_mechanisms import random_mechanism


@st.composite
def trees(draw) -> list[int]:
    """The parent row of every row."""
    n = draw(st.integers(1, 9))
    return [draw(st.integers(-1, k - 1)) for k in range(n)]


def ancestors(parents: list[int], k: int) -> set[int]:
    found = set()
    while k >= 0:
        found.add(k)
        k = parents[k]
    return found


def fractions(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    numbers = rng.integers(-9, 10, shape)
    return np.array([Fraction(int(x), 7) for x in numbers.ravel()], dtype=object).reshape(shape)


def system(parents: list[int], seed: int) -> tuple[np.ndarray, TreeFactors, np.random.Generator]:
    """L^T D L of a random L that has the zeros of the tree, and its factors."""
    rng = np.random.default_rng(seed)
    n = len(parents)
    L = fractions(rng, (n, n))
    for k in range(n):
        for i in range(n):
            if i == k:
                L[k, i] = Fraction(1)
            elif i not in ancestors(parents, k):
                L[k, i] = Fraction(0)
    M = L.T @ np.diag([Fraction(int(d)) for d in rng.integers(1, 9, n)]) @ L
    return M, factor(M, parents), rng


@settings(max_examples=60, deadline=None)
@given(trees(), st.integers(0, 10**6))
def test_inverse_times_matrix_is_identity(parents, seed):
    M, factors, _ = system(parents, seed)
    inverse = factors.inverse()
    assert (inverse @ M == np.eye(len(M), dtype=int)).all()
    assert (inverse == inverse.T).all()


@settings(max_examples=60, deadline=None)
@given(trees(), st.integers(0, 10**6), st.booleans())
def test_columns_of_branches_are_solved_like_any_others(parents, seed, branches):
    """Whether the columns are zero beyond their branch, so that other branches follow, or full."""
    M, factors, rng = system(parents, seed)
    n = len(M)
    matrices = [fractions(rng, (n, n)) for _ in range(2)]
    for B in matrices if branches else ():
        for r in range(n):
            for c in range(n):
                if r not in ancestors(parents, c) and c not in ancestors(parents, r):
                    B[r, c] = Fraction(0)
    for B, X in zip(matrices, factors.solve_columns(*matrices), strict=True):
        assert (M @ X == B).all()
        assert all((X[:, c] == factors.solve(B[:, c])).all() for c in range(n))


@settings(max_examples=30, deadline=None)
@given(trees(), st.integers(0, 10**6))
def test_one_code_for_all_columns_gives_what_code_for_each_gives(parents, seed):
    M, factors, rng = system(parents, seed)
    n = len(parents)
    P, V = fractions(rng, (n, n)), fractions(rng, (n, n))
    for limit in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(triangular, "COLUMN_ENTRIES", limit)
            by_P, by_V, inverse = factors.slopes(P, V)
        assert (M @ by_P == P).all() and (M @ by_V == V).all()
        assert (M @ inverse == np.eye(n, dtype=int)).all()


def test_derivatives_by_one_code_for_all_columns_are_the_same(monkeypatch, tmp_path):
    mechanism = random_mechanism(3, 6, branching=0.5, kinds=("revolute",))
    state = mechanism.random_state(np.random.default_rng(0), (9,))
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "each"))
    each = da.Dynamics(mechanism).forward_dynamics_derivatives(*state)
    monkeypatch.setattr(triangular, "COLUMN_ENTRIES", 0)
    monkeypatch.setenv("DALEMBERT_CACHE", str(tmp_path / "all"))
    dynamics = da.Dynamics(mechanism)
    assert dynamics.kernel("forward_dynamics_derivatives").program.loops
    for x, y in zip(dynamics.forward_dynamics_derivatives(*state), each):
        assert np.abs(x - y).max() < 1e-10 * np.abs(y).max()  # the condition of the inertia matrix times a rounding
    _, B = dynamics.linearize(*state)
    assert np.allclose(B[:, mechanism.nv :], each[2], rtol=1e-9, atol=1e-9 * np.abs(each[2]).max())
