"""Outputs that leave out what is zero or given twice have the same numbers as the matrices they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from random_mechanisms import random_mechanism, walker


@pytest.mark.parametrize("seed", range(4))
def test_packed_and_structural_nonzeros_make_up_the_matrices(seed):
    rng = np.random.default_rng(seed)
    mechanism = walker(2, 2) if seed == 0 else random_mechanism(rng, 6)
    dyn = da.Dynamics(mechanism)
    q, v, a = mechanism.random_state(rng, (5,))
    n = mechanism.nv

    M = dyn.mass_matrix(q)
    rows, columns = np.tril_indices(n)
    np.testing.assert_array_equal(dyn.mass_matrix_packed(q), M[:, rows, columns])
    rebuilt = np.zeros_like(M)
    rows, columns = dyn.mass_matrix_pattern
    rebuilt[:, rows, columns] = rebuilt[:, columns, rows] = dyn.mass_matrix_nonzeros(q)
    np.testing.assert_array_equal(rebuilt, M)

    rows, columns = dyn.derivatives_pattern
    whole = dyn.inverse_dynamics_derivatives(q, v, a)
    for X, entries in zip(whole, dyn.inverse_dynamics_derivatives_nonzeros(q, v, a), strict=True):
        rebuilt = np.zeros_like(X)
        rebuilt[:, rows, columns] = entries
        # orders of summation may differ, for another program was optimised: some rounding errors of the largest entry
        np.testing.assert_allclose(rebuilt, X, rtol=0, atol=1e-12 * np.abs(X).max(initial=1.0))
