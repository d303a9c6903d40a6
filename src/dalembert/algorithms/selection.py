"""Choosing an algorithm: by name, or by the shape of the mechanism, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.errors import ArgumentError
from dalembert.model.tree import Tree


def choose(name: str, table: Mapping[str, Any]) -> Any:
    """The algorithm of that name, or an error that lists the names."""
    if name not in table:
        raise ArgumentError(f"there is no algorithm {name!r}; choose one of {', '.join(table)}")
    return table[name]


def select_forward_dynamics(tree: Tree) -> tuple[str, str]:
    """The forward dynamics algorithm with fewer operations for this tree, and why.

    Factoring costs about one multiplication for every velocity and every pair of its ancestors and some twenty for
    every pair, articulated bodies about 250 for every joint; both figures were counted on generic arms, where they
    meet at twelve joints in a row.
    """
    if tree.coupled:
        return "factor-and-solve", "mimic joints couple the velocities, which articulated bodies cannot express"
    ancestors = _depths(tree)
    factoring = sum(d * d / 2 + 22 * d + 62 for d in ancestors)
    articulated = sum(250 * (3 if link.kind == "spherical" else 1) for link in tree.links if link.rotates)
    if factoring <= articulated:
        return (
            "factor-and-solve",
            f"about {factoring:.0f} multiplications against {articulated:.0f} for articulated bodies",
        )
    return "articulated-body", f"about {articulated:.0f} multiplications against {factoring:.0f} for factoring"


def _depths(tree: Tree) -> list[int]:
    """For every velocity the number of velocities inside it."""
    depths: list[int] = []
    for parent in tree.velocity_parents:
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    return depths
