"""Inverse dynamics by whichever of Algorithms 5.4 and 5.5 needs fewer operations for a tree.

Augmented links (5.5) put the masses beyond a joint into one constant tensor; that pays where joints turn. Beyond a
sliding joint that tensor depends on the position and has to be made anew, and Algorithm 5.4 is cheaper. Judged by
running both on numbers that count, so that every zero of the geometry is taken into account.
"""

from __future__ import annotations

from functools import lru_cache

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.algorithms.inverse_dynamics.tensor_form import tensor_form
from dalembert.algorithms.loads import Loads
from dalembert.algorithms.tally import OperationCounter, in_numbers, positions, vector
from dalembert.model.tree import Tree

CANDIDATES = {"augmented-links": augmented_links, "tensor": tensor_form}
"""Name -> algorithm; of equals the first is taken."""


def cheapest(tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None) -> Array:
    """Generalised forces that produce the accelerations ``a``."""
    moves, speeds_up = (not all(scalar.is_zero(x) for x in rates) for rates in (v, a))
    return CANDIDATES[cheapest_name(tree, moves, speeds_up)](tree, q, v, a, loads)


def cheapest_name(tree: Tree, moves: bool = True, speeds_up: bool = True) -> str:
    """The name of the algorithm with fewer operations.

    Args:
        moves: whether velocities differ from zero.
        speeds_up: whether accelerations do.
    """
    counts = operations(tree, moves, speeds_up)
    return min(counts, key=lambda name: counts[name])


def operations(tree: Tree, moves: bool = True, speeds_up: bool = True) -> dict[str, int]:
    """About how many operations each candidate takes; equal terms are counted as often as they occur.

    Args:
        tree: the links; symbols count as general numbers.
        moves: whether velocities differ from zero.
        speeds_up: whether accelerations do.
    """
    return {name: burden(tree, name, moves, speeds_up) for name in CANDIDATES}


@lru_cache(maxsize=64)
def burden(tree: Tree, name: str, moves: bool = True, speeds_up: bool = True) -> int:
    """The operations of one candidate.

    Args:
        moves: whether velocities differ from zero.
        speeds_up: whether accelerations do.
    """
    count = OperationCounter()
    v = vector(tree.nv, count, 100) if moves else arrays.zeros(tree.nv)
    a = vector(tree.nv, count, 200) if speeds_up else arrays.zeros(tree.nv)
    CANDIDATES[name](in_numbers(tree), positions(tree, count), v, a)
    return count.operations
