"""Six inertia matrix algorithms are one function: the Hessian of kinetic energy; its factors and inverses fit.

Tolerance as for inverse dynamics, 1e-11 of the largest entry; what passes through an inverse is judged by the
condition number of the matrix.
"""

from __future__ import annotations

import numpy as np
import pytest
from algorithm_cases import COUPLED, MIXES, difference, drawn, seeds
from hypothesis import given

from dalembert.algorithms.energy import kinetic_energy
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX, mass_matrix, mass_matrix_inverse
from dalembert.algorithms.inertia_matrix.operator_factors import operator_factors
from dalembert.algorithms.inertia_matrix.orthogonal_complement import two_stage_solve
from dalembert.algorithms.triangular import factor
from dalembert.errors import SingularityError, UnsupportedError
from dalembert.model import Body, Inertia, Joint, Mechanism

UNCOUPLED = [mix for mix in MIXES if mix not in COUPLED]


def tolerance(M: np.ndarray) -> float:
    """For results that pass through an inverse: 64 rounding errors, amplified by the condition number."""
    return 64 * np.finfo(float).eps * max(float(np.linalg.cond(M)), 1.0) if M.size else 1.0


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_all_algorithms_agree(mix, seed):
    mechanism, q, _, _ = drawn(mix, seed)
    reference = mass_matrix(mechanism, q, algorithm="column-method")
    for name in INERTIA_MATRIX:
        if name == "operator-factors" and mechanism.tree.coupled:
            with pytest.raises(UnsupportedError, match="mimic"):
                mass_matrix(mechanism, q, algorithm=name)
            continue
        found = mass_matrix(mechanism, q, algorithm=name)
        assert difference(found, reference) < 1e-11, name


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_symmetric_positive_sparse_and_the_kinetic_energy(mix, seed):
    mechanism, q, v, _ = drawn(mix, seed)
    M = mass_matrix(mechanism, q)
    np.testing.assert_array_equal(M, M.T)
    assert not np.any(M[~mechanism.tree.support])
    if mechanism.nv:
        assert np.linalg.eigvalsh(M).min() > 0
    T = kinetic_energy(mechanism.tree, q, v)
    assert abs(v @ M @ v / 2 - T) <= 1e-12 * max(T, 1)


@pytest.mark.parametrize("mix", UNCOUPLED)
@given(seed=seeds)
def test_operator_factorisation_and_its_inverse(mix, seed):
    """(6.2.18), (6.2.19): unit upper triangular factors between the same positive blocks."""
    mechanism, q, _, _ = drawn(mix, seed)
    factors = operator_factors(mechanism.tree, q)
    M = mass_matrix(mechanism, q)
    assert difference(factors.matrix(), M) < 1e-11
    inverse = mass_matrix_inverse(mechanism, q)
    assert difference(inverse @ M, np.eye(mechanism.nv)) < tolerance(M)
    assert all(np.linalg.eigvalsh(block).min() > 0 for block in factors.Dh)
    assert all(inner < outer for inner, outer in factors.upper)


@pytest.mark.parametrize("mix", MIXES)
@given(seed=seeds)
def test_solving_three_ways(mix, seed):
    """L^T D L along the tree, the two-stage solve (6.2.17) that never forms D, and NumPy."""
    mechanism, q, v, _ = drawn(mix, seed)
    M = mass_matrix(mechanism, q)
    factors = factor(M, mechanism.tree.velocity_parents)
    expected = np.linalg.solve(M, v) if mechanism.nv else v
    assert difference(factors.solve(v), expected) < tolerance(M)
    assert difference(factors.inverse() @ M, np.eye(mechanism.nv)) < tolerance(M)
    assert difference(two_stage_solve(mechanism.tree, q, v), expected) < tolerance(M)


def test_the_factors_keep_the_zeros_of_the_branches():
    """A star of three two-joint fingers on one turntable: rows of L reach only the turntable and the own finger."""
    matter = Inertia(1.0, [0.1, 0.2, 0.3], np.diag([0.1, 0.1, 0.1]))
    names = ["base", "a1", "a2", "b1", "b2", "c1", "c2"]
    parents = ["world", "base", "a1", "base", "b1", "base", "c1"]
    joints = [Joint(f"to_{n}", "revolute", p, n, axis=np.eye(3)[k % 3]) for k, (n, p) in enumerate(zip(names, parents))]
    hand = Mechanism("hand", [Body(n, matter) for n in names], joints)
    M = mass_matrix(hand, np.linspace(0.1, 0.7, 7))
    found = factor(M, hand.tree.velocity_parents)
    assert [sorted(row) for row in found.L] == [[], [0], [0, 1], [0], [0, 3], [0], [0, 5]]


def test_a_joint_that_moves_nothing_is_singular():
    bodies = [Body("a", Inertia(1.0, [0.1, 0, 0], np.eye(3) * 0.1)), Body("b")]
    joints = [Joint("j1", "revolute", "world", "a"), Joint("j2", "revolute", "a", "b")]
    idle = Mechanism("idle", bodies, joints, strict=False)
    with pytest.raises(SingularityError, match="moves nothing that has mass"):
        two_stage_solve(idle.tree, np.zeros(2), np.ones(2))
