"""Turning tensors across a joint: what it is, and that it costs what it says.

Tolerance: a handful of products of numbers of order one, 1e-14.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra import arrays
from dalembert.algorithms.tally import OperationCounter, vector
from dalembert.kinematics.step import Matrix, PlaneTurn


def turn(k: int, angle: float) -> tuple[PlaneTurn, np.ndarray]:
    """Rotation about axis k, and its matrix."""
    c, s = np.cos(angle), np.sin(angle)
    plane = PlaneTurn(k, c, s)
    return plane, np.stack([plane.apply(e) for e in np.eye(3)], axis=1)


@pytest.mark.parametrize("k", range(3))
@given(angle=st.floats(-4, 4), seed=st.integers(0, 2**32 - 1))
def test_tensors_turn_like_products(k, angle, seed):
    T = np.random.default_rng(seed).normal(size=(3, 3))
    E = T + T.T
    plane, R = turn(k, angle)
    assert np.abs(R @ R.T - np.eye(3)).max() < 1e-14
    assert np.abs(plane.apply_transposed(T[0]) - R.T @ T[0]).max() < 1e-14
    for factor in (plane, Matrix(R)):
        assert np.abs(factor.similar(np.triu(E)) - R @ E @ R.T).max() < 2e-14  # reads the upper half only
        assert np.abs(factor.similar_tensor(T) - R @ T @ R.T).max() < 2e-14


@pytest.mark.parametrize(("name", "operations"), [("similar", 8 + 7 + 1), ("similar_tensor", 12 + 11)])
def test_what_it_costs(name, operations):
    count = OperationCounter()
    c, s, *rest = vector(11, count)
    getattr(PlaneTurn(2, c, s), name)(arrays.asarray(rest).reshape(3, 3))
    assert count.operations == operations
