"""Christoffel symbols and the Coriolis matrices made of them (KHATIB; PARSA (36); THESIS (5.2.10)).

b_ijk = 1/2 ( dm_ij/dq_k + dm_ik/dq_j - dm_jk/dq_i )
V = C(q) [v_i^2] + B(q) [v_i v_j]            KHATIB: C_ij = b_ijj, columns of B are 2 b_ijk, j < k
C_ij = sum_k b_ijk v_k                       Mdot - 2 C is skew
C = sum J^T ( M_i Jdot + W M_i J + M_i W J ) PARSA (36), another C; Mdot - 2 C is skew, also for quasi-velocities
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.algebra.vectors import dual
from dalembert.errors import UnsupportedError
from dalembert.formulations.equations import DerivationStep
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.steps import FEW_FREEDOMS
from dalembert.formulations.system import MultibodySystem, quantity
from dalembert.tracing.derivatives import forward


def coriolis_makers(system: MultibodySystem, M: np.ndarray) -> dict[str, Callable[[], DerivedQuantity]]:
    """What can be made of the derivatives of the mass matrix, each on demand."""
    memo: dict[str, Any] = {}

    def b() -> np.ndarray:
        if "b" not in memo:
            memo["b"] = christoffel_symbols(system, M)
        return memo["b"]

    def make(name: str, symbol: str, values: Callable[[], Any]) -> tuple[str, Callable[[], DerivedQuantity]]:
        return name, lambda: quantity(system, name, symbol, values())

    return dict(
        [
            make("christoffel", "b", b),
            make("centrifugal_matrix", "C(q)", lambda: centrifugal_matrix(b())),
            make("coriolis_columns", "B(q)", lambda: coriolis_columns(b())),
            make("coriolis_matrix", "C", lambda: product_over_last(b(), system.v)),
            make("coriolis_matrix_parsa", r"C_{\mathrm{P}}", lambda: parsa_matrix(system)),
            make("mass_matrix_rate", r"\dot{M}", lambda: system.rate(M)),
        ]
    )


def christoffel_symbols(system: MultibodySystem, M: np.ndarray) -> np.ndarray:
    """b_ijk, n x n x n, symmetric in the last two indices.

    Args:
        system: the system; its velocities must be the rates of its coordinates.
    """
    if system.quaternions:
        raise UnsupportedError(
            f"{system.name!r} has joints with quaternions; Christoffel symbols need velocities that are rates of "
            "coordinates. Use coriolis_matrix_parsa, which holds for all velocities"
        )
    n, dM = system.n, mass_matrix_slopes(system, M)
    b = np.zeros((n, n, n), dtype=object)
    for i in range(n):
        for j in range(n):
            for k in range(j, n):
                b[i, j, k] = b[i, k, j] = (dM[i, j, k] + dM[i, k, j] - dM[j, k, i]) * Fraction(1, 2)
    return b


def mass_matrix_slopes(system: MultibodySystem, M: np.ndarray) -> np.ndarray:
    """m_ijk = dm_ij/dq_k of KHATIB, n x n x n."""
    n = system.n
    upper = [(i, j) for i in range(n) for j in range(i, n)]
    dM = np.zeros((n, n, n), dtype=object)
    for (i, j), row in zip(upper, forward([M[i, j] for i, j in upper], system.q)):
        dM[i, j] = dM[j, i] = row
    return dM


def christoffel_steps(system: MultibodySystem, M: np.ndarray) -> list[DerivationStep]:
    """KHATIB's way to the velocity forces: m_ijk, b_ijk and the matrices B and C, of small systems."""
    if system.quaternions or not 0 < system.n <= FEW_FREEDOMS:
        return []
    b = christoffel_symbols(system, M)
    return [
        DerivationStep(
            "Christoffel symbols",
            "The derivatives of the mass matrix make the Christoffel symbols, which are symmetric in their last two "
            "indices (KHATIB; THESIS (5.2.10)).",
            (
                quantity(system, "mass_matrix_slopes", "m", mass_matrix_slopes(system, M)),
                quantity(system, "christoffel", "b", b),
            ),
            r"m_{ijk} = \frac{\partial m_{ij}}{\partial q_k}, \quad b_{ijk} = \tfrac12 (m_{ijk} + m_{ikj} - m_{jki})",
        ),
        DerivationStep(
            "Matrices of squares and of products of velocities",
            "C(q) multiplies the squares of the velocities, B(q) their products (KHATIB); this C is not a Coriolis "
            "matrix.",
            (
                quantity(system, "centrifugal_matrix", "C(q)", centrifugal_matrix(b)),
                *([quantity(system, "coriolis_columns", "B(q)", coriolis_columns(b))] if system.n > 1 else []),
            ),
            r"c = C(q) [\dot{q}^2] + B(q) [\dot{q} \dot{q}], \quad C_{ij} = b_{ijj}, \quad B_{i(jk)} = 2 b_{ijk}, "
            r"\quad j < k",
        ),
    ]


def centrifugal_matrix(b: np.ndarray) -> np.ndarray:
    """C(q) of KHATIB, n x n: what multiplies the squares of the velocities."""
    n = len(b)
    return np.array([[b[i, j, j] for j in range(n)] for i in range(n)], dtype=object)


def coriolis_columns(b: np.ndarray) -> np.ndarray:
    """B(q) of KHATIB, n x n(n-1)/2: what multiplies the products v1 v2, v1 v3, ..., in this order."""
    n = len(b)
    pairs = list(combinations(range(n), 2))
    return np.array([[2 * b[i, j, k] for j, k in pairs] for i in range(n)], dtype=object).reshape(n, len(pairs))


def product_over_last(b: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Coriolis matrix C_ij = sum over k of b_ijk v_k."""
    n = len(b)
    return np.array([[product(b[i, j][None], v)[0] for j in range(n)] for i in range(n)], dtype=object)


def parsa_matrix(system: MultibodySystem) -> np.ndarray:
    """C = sum of J^T ( M Jdot + W M J + M W J ), W = diag(w~, 0) (PARSA (36))."""
    n = system.n
    total = np.zeros((n, n), dtype=object)
    for body in system.bodies:
        total = total + product(body.Jv.T, body.mass * system.rate(body.Jv))
        if body.inertia is not None:
            I, Jw = body.inertia, body.Jw
            w = dual(product(Jw, system.v))
            spin = product(w, product(I, Jw)) + product(I, product(w, Jw))
            total = total + product(Jw.T, product(I, system.rate(Jw)) + spin)
    for inertia, row in system.rotors:
        total = total + product(row[:, None], inertia * system.rate(row[None]))
    return total
