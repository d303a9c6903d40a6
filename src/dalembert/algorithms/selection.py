"""Choosing an algorithm: by name, or by the shape of the mechanism, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dalembert.algorithms.economy.frames import is_numeric
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.tree import Tree


def choose(name: str, table: Mapping[str, Any]) -> Any:
    """The algorithm of that name, or an error that lists the names."""
    if name not in table:
        raise ArgumentError(f"there is no algorithm {name!r}; choose one of {', '.join(table)}")
    return table[name]


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

    Args:
        mechanism: the mechanism.
    """
    tree = mechanism.tree
    n, depth = tree.nv, max(_depths(tree), default=-1) + 1
    numeric = "economical frames and regrouped masses" if is_numeric(tree) else "regrouped masses (symbolic geometry)"
    choices = [
        Choice(
            "inverse_dynamics", "augmented-links",
            f"linear in the {n} velocities and the fewest operations of all that were counted, with {numeric}",
        ),
        Choice(
            "mass_matrix", "two-sided",
            f"{_pairs(tree)} pairs of joints on paths of at most {depth}; carrying twists outwards near the base "
            "and wrenches inwards near the tips needs fewer steps than either alone",
        ),
        Choice("forward_dynamics", *select_forward_dynamics(tree)),
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

    Factoring costs about d^2/2 + 18 d + 95 multiplications for a velocity with d others inside it, articulated bodies
    about 223 for every joint, less some 360 for one on the ground. Both figures were counted on generic arms, where
    they meet at eleven joints in a row.
    """
    if tree.coupled:
        return "factor-and-solve", "mimic joints couple the velocities, which articulated bodies cannot express"
    factoring = sum(d * d / 2 + 18 * d + 95 if d > 1 else 5 + 55 * d for d in _depths(tree))
    rotating = [link for link in tree.links if link.rotates]
    articulated = sum(223 * (3 if link.kind == "spherical" else 1) - 360 * (link.parent < 0) for link in rotating)
    articulated = max(articulated, 70 * len(rotating))
    if factoring <= articulated or not rotating:
        return (
            "factor-and-solve",
            f"about {factoring:.0f} multiplications against {articulated:.0f} for articulated bodies",
        )
    return "articulated-body", f"about {articulated:.0f} multiplications against {factoring:.0f} for factoring"


def _spherical(tree: Tree) -> bool:
    return any(link.kind == "spherical" for link in tree.links)


def _pairs(tree: Tree) -> int:
    return sum(len(chain) - 1 for chain in tree.ancestors)


def _depths(tree: Tree) -> list[int]:
    """For every velocity the number of velocities inside it."""
    depths: list[int] = []
    for parent in tree.velocity_parents:
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    return depths
