"""One decomposition decides rank: what it says of rows of any unit, and the laws of what follows from it."""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.constraints.classical import andrews, bricard, four_bar, spatial_slider_crank
from dalembert.constraints.rank import GAP, Decomposition, Known
from dalembert.dynamics import Dynamics


def rows_of_rank(rank: int, m: int = 6, n: int = 8, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))


@pytest.mark.parametrize("rank", range(7))
def test_the_laws_of_a_pseudo_inverse(rank):
    G = rows_of_rank(rank)
    found = Decomposition.of(G)
    assert found.rank == rank and found.is_clear
    X = found.pseudo_inverse()
    assert np.allclose(G @ X @ G, G) and np.allclose(X @ G @ X, X)
    assert found.null_space.shape == (8, 8 - rank) and np.allclose(G @ found.null_space, 0)
    assert np.allclose(found.left_null.T @ G, 0) and np.linalg.matrix_rank(found.left_null) == 6 - rank
    b = np.random.default_rng(1).normal(size=6)
    assert np.allclose(found.solve(b), X @ b)
    assert np.allclose(G.T @ found.solve_transposed(G.T @ b), G.T @ b)
    assert np.allclose(found.truncated, G)


def test_a_batch_is_decomposed_matrix_by_matrix():
    G = np.array([rows_of_rank(rank) for rank in (2, 4, 6)])
    found, b = Decomposition.of(G), np.ones((3, 6))
    assert found.rank.tolist() == [2, 4, 6]
    for k in range(3):
        assert np.allclose(found.solve(b)[k], Decomposition.of(G[k]).solve(b[k]))


def test_beyond_a_known_rank_only_what_no_violation_explains_counts():
    """Redundant rows of states that violate the constraints by e seem to be independent by the root of e at most."""
    G = rows_of_rank(4) + 1e-5 * rows_of_rank(6, seed=3)
    assert Decomposition.of(G).rank == 6
    assert Decomposition.of(G, Known(4, violation=1e-10)).rank == 4
    assert Decomposition.of(G, Known(4, violation=1e-16)).rank == 6
    assert Decomposition.of(G, Known(4)).rank == 4
    assert np.linalg.matrix_rank(Decomposition.of(G, Known(4)).truncated, tol=1e-9) == 4


@pytest.mark.parametrize("size, clear", [(0.1 * GAP[0], True), (1e-8, False), (10 * GAP[1], True)])
def test_a_rank_is_clear_where_there_is_a_gap(size, clear):
    assert Decomposition.of(np.diag([1.0, size])).is_clear == clear


@pytest.mark.parametrize("make", [four_bar, spatial_slider_crank, bricard, andrews])
def test_gradients_without_units_are_of_the_order_of_one(make):
    mechanism = make()
    system = Dynamics(mechanism, elements=())
    G = system.scaling.dimensionless(system.evaluate("positions", *system.samples[0])[1])
    assert 0.1 < np.abs(G).max() < 10


def test_every_row_declares_its_unit():
    assert [row.unit for row in Dynamics(bricard()).rows] == ["length"] * 3 + ["angle"] * 2
