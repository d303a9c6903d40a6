"""Systems of known rank: where rows agree the shortest solution, and no jump to it from beside."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.constraints.known_rank import solve_of_rank


def found(S, b, rank):
    return np.array(solve_of_rank(S.tolist(), list(b), rank), dtype=float)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 4))
def test_it_is_the_weighted_pseudoinverse(seed, rank, surplus):
    """Condition of random factors below 1e4 but rarely; a floor of 1e-9 in the weights."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(rank + surplus, rank)) @ np.linalg.qr(rng.normal(size=(8, rank)))[0].T
    S, b = J @ J.T, J @ rng.normal(size=8)
    root = 1 / np.sqrt(np.diag(S))
    expected = root * (np.linalg.pinv(root[:, None] * S * root, rcond=1e-10) @ (root * b))
    x = found(S, b, rank)
    doubt = np.linalg.cond(J @ J.T if not surplus else np.linalg.svd(J)[1][:rank] * np.eye(rank)) ** 2
    assert np.abs(S @ x - b).max() < 1e-11 * doubt * np.abs(b).max()
    if surplus:
        spread = S.trace() / np.diag(S).min()
        assert np.abs((x - expected) / root).max() < (1e-8 * spread + 1e-11 * doubt) * np.abs(expected / root).max()


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6])
def test_beside_the_rank_the_solution_differs_by_the_distance(distance):
    """A row that is new by as little as the rows contradict each other by: solved for, x would jump."""
    rng = np.random.default_rng(3)
    J = rng.normal(size=(5, 4)) @ rng.normal(size=(4, 9))
    a, off, wrong = rng.normal(size=9), rng.normal(size=(5, 9)), rng.normal(size=5)
    near, there = J + distance * off, found(J @ J.T, J @ a, 4)
    x = found(near @ near.T, J @ a + distance * wrong, 4)
    assert np.abs(near.T @ x - J.T @ there).max() < 10 * distance
    plain = near.T @ found(near @ near.T, J @ a + distance * wrong, 5)
    assert np.abs(plain - J.T @ there).max() > 0.05
