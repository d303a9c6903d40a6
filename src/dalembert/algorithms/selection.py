"""Choosing algorithms by the shape of the mechanism, with the reason."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from dalembert.algorithms.economy import economical
from dalembert.algorithms.economy.cheapest import cheapest_name
from dalembert.algorithms.economy.frames import is_numeric
from dalembert.algorithms.forward_dynamics.articulated_body import articulated_body
from dalembert.algorithms.forward_dynamics.factor_and_solve import factor_and_solve
from dalembert.algorithms.tally import Count, in_numbers, positions, vector
from dalembert.model import Mechanism
from dalembert.model.checks import expect
from dalembert.model.tree import Tree


class Choice(NamedTuple):
    """Which algorithm computes a quantity, and why.

    Args:
        quantity: name of the quantity.
        algorithm: name of the algorithm.
        reason: one sentence.
    """

    quantity: str
    algorithm: str
    reason: str

    def __str__(self) -> str:
        return f"{self.quantity}: {self.algorithm} - {self.reason}"


def select_algorithm(mechanism: Mechanism) -> dict[str, Choice]:
    """The algorithm behind each quantity of a mechanism, by the number of operations, with the reason.

    Told from the mechanism alone, before anything is compiled. Up to 48 velocities
    :class:`~dalembert.dynamics.Dynamics` writes candidates down and takes the shortest program, which may be another
    one; its method ``algorithms`` says what it took.

    Args:
        mechanism: the mechanism.
    """
    tree = expect(mechanism, Mechanism, "select_algorithm").tree
    lean = economical(tree)
    n, depth = tree.nv, max(map(len, tree.ancestors), default=0)
    numeric = "economical frames and regrouped masses" if is_numeric(tree) else "regrouped masses (symbolic geometry)"
    choices = [
        Choice(
            "inverse_dynamics", cheapest_name(lean),
            f"linear in the {n} velocities; the candidate with the fewest operations, counted before passes, "
            f"with {numeric}",
        ),
        Choice(
            "mass_matrix", "two-sided",
            f"{_pairs(tree)} pairs of joints on paths of at most {depth}; carrying twists outwards near the base "
            "and wrenches inwards near the tips needs fewer steps than either alone",
        ),
        Choice("forward_dynamics", *select_forward_dynamics(lean)),
        Choice(
            "mass_matrix_inverse", "factor-and-solve",
            "dense where the tree is a chain; the factors keep the zeros of branches",
        ),
        Choice(
            "inverse_dynamics_derivatives", "propagation",
            "Algorithms 7.1 and 7.2 with wrenches carried inwards instead of vectors for every pair",
        ),
        Choice(
            "coriolis_matrix", "half of V",
            "the velocity sensitivity of inverse dynamics, without differentiating M"
            + (", axes of spherical joints kept in the child" if _spherical(tree) else ""),
        ),
    ]  # fmt: skip
    return {choice.quantity: choice for choice in choices}


def select_forward_dynamics(tree: Tree) -> tuple[str, str]:
    """The forward dynamics algorithm with fewer operations for this tree, and why.

    Both are run on numbers that count (:mod:`dalembert.algorithms.tally`).
    """
    if tree.coupled:
        return "factor-and-solve", "mimic joints couple the velocities, which articulated bodies cannot express"
    factoring, articulated = _counted(tree)
    if factoring <= articulated:
        return "factor-and-solve", f"about {factoring:.0f} operations against {articulated:.0f} for articulated bodies"
    return "articulated-body", f"about {articulated:.0f} operations against {factoring:.0f} for factoring"


@lru_cache(maxsize=32)
def _counted(tree: Tree) -> tuple[float, float]:
    counts = [Count(), Count()]
    for count, algorithm in zip(counts, (factor_and_solve, articulated_body)):
        algorithm(in_numbers(tree), positions(tree, count), vector(tree.nv, count, 100), vector(tree.nv, count, 200))
    return counts[0].operations, counts[1].operations


def _spherical(tree: Tree) -> bool:
    return any(link.kind == "spherical" for link in tree.links)


def _pairs(tree: Tree) -> int:
    return sum(len(chain) - 1 for chain in tree.ancestors)
