"""Quantities with many results as shorter programs that follow each other, for devices whose threads hold little."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import Scalar
from dalembert.algorithms.triangular import TreeFactors, factor
from dalembert.dynamics.quantity import Quantity, Setting, nonzeros
from dalembert.dynamics.tree import BASIC, mass_matrix


@dataclass(frozen=True)
class StageSpec:
    """One program of several.

    Args:
        quantity: what it computes, of inputs of the whole and of what earlier steps gave.
        gives: under which names its outputs are known from then on.
        columns: whether it works on columns of matrices, all in the same way.
    """

    name: str
    quantity: Quantity
    gives: tuple[str, ...]
    columns: bool = False


def inertia_factors(s: Setting, q: Array) -> Array:
    """D = L^T diag(d) L: L in the order of the non-zeros of D, 1/d on the diagonal."""
    found = factor(mass_matrix(s, q), s.tree.velocity_parents)
    return arrays.asarray([found.reciprocals[r] if r == c else found.L[r][c] for r, c in nonzeros(s.mechanism)])


def _unpacked(s: Setting, factors: Array) -> TreeFactors:
    n = s.nv
    L: list[dict[int, Scalar]] = [{} for _ in range(n)]
    reciprocals: list[Scalar] = [0] * n
    for (r, c), value in zip(nonzeros(s.mechanism), factors):
        if r == c:
            reciprocals[r] = value
        else:
            L[r][c] = value
    return TreeFactors(L, reciprocals, s.mechanism.tree.velocity_parents)


def _slopes(s: Setting, factors: Array, P: Array, V: Array) -> tuple[Array, Array]:
    """-D^-1 P and -D^-1 V (7.2.2), a column of each side by side: they share the factors."""
    found = _unpacked(s, factors).solve(arrays.asarray([[p, v] for p, v in zip(P, V)]))
    return -found[:, 0], -found[:, 1]


def _inverse(s: Setting, factors: Array, unit: Array) -> Array:
    """A column of D^-1."""
    return _unpacked(s, factors).solve(unit)


_FACTORS = Quantity(("q",), {"factors": ("nonzeros",)}, inertia_factors, "Factors of the inertia matrix.")
_SLOPES = Quantity(
    ("factors", "da_dq", "da_dv"), {"da_dq": ("n",), "da_dv": ("n",)}, _slopes, "Columns of the derivatives."
)
_INVERSE = Quantity(("factors", "unit"), {"da_dtau": ("n",)}, _inverse, "Columns of the inverse inertia matrix.")

STAGES: dict[str, tuple[StageSpec, ...]] = {
    "forward_dynamics_derivatives": (
        StageSpec("forward_dynamics", BASIC["forward_dynamics"], ("a",)),
        StageSpec("inertia_factors", _FACTORS, ("factors",)),
        StageSpec("inverse_dynamics_derivatives", BASIC["inverse_dynamics_derivatives"], ("da_dq", "da_dv")),
        StageSpec("slopes", _SLOPES, ("da_dq", "da_dv"), columns=True),
        StageSpec("inverse_inertia", _INVERSE, ("da_dtau",), columns=True),
    )
}
"""Programs that compute a quantity one after the other."""
