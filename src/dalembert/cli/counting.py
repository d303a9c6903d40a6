"""Operation counts: of the compiled quantities, of every algorithm as it is written, and as published."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.errors import UnsupportedError

if TYPE_CHECKING:
    from dalembert.compiler.cost import Cost
    from dalembert.model import Mechanism

FAMILIES = {"inverse_dynamics": ("q", "v", "a"), "mass_matrix": ("q",), "forward_dynamics": ("q", "v", "tau")}
"""Quantities for which there are several algorithms, with their inputs."""

TOO_LONG = 20_000
"""Sum over bodies of the third power of their depth, from which on (5.2.2), O(n^4), is not traced unless asked for."""


class Count(NamedTuple):
    """The operations of one algorithm, or why there are none."""

    algorithm: str
    cost: Cost | None
    reason: str = ""


def algorithms_of(quantity: str) -> dict[str, Callable[..., Any]]:
    """Every algorithm of a quantity by name, each a function of the tree and the state."""
    from dalembert.algorithms.forward_dynamics import FORWARD_DYNAMICS
    from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
    from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS

    tables: dict[str, dict[str, Callable[..., Any]]] = {
        "inverse_dynamics": INVERSE_DYNAMICS,
        "mass_matrix": INERTIA_MATRIX,
        "forward_dynamics": FORWARD_DYNAMICS,
    }
    return tables[quantity]


def count_algorithms(mechanism: Mechanism, quantity: str, everything: bool = False) -> Iterator[Count]:
    """Operations of every algorithm on the mechanism as it is described.

    Arithmetic with constants is done beforehand and nothing is computed twice, for all algorithms alike.

    Args:
        mechanism: the mechanism; its symbols must have values.
        quantity: one of :data:`FAMILIES`.
        everything: count also what takes minutes.
    """
    from dalembert.compiler.cost import cost
    from dalembert.compiler.trace import trace

    shapes = {name: (mechanism.nq if name == "q" else mechanism.nv,) for name in FAMILIES[quantity]}
    tree = mechanism.tree
    work = sum(len(chain) ** 3 for chain in tree.ancestors)
    for name, algorithm in algorithms_of(quantity).items():
        if name == "uicker-kahn" and work > TOO_LONG and not everything:
            yield Count(name, None, "O(n^4), left out; --all counts it")
            continue
        try:
            program = trace(lambda *state: algorithm(tree, *state), shapes, quantity)  # noqa: B023 - called at once
        except UnsupportedError as error:
            yield Count(name, None, str(error))
        else:
            yield Count(name, cost(program))


PUBLISHED: dict[str, tuple[tuple[str, Callable[[int], float], Callable[[int], float]], ...]] = {
    "inverse_dynamics": (
        ("Hollerbach, 4x4", lambda n: 830 * n - 592, lambda n: 675 * n - 464),
        ("Hollerbach, 3x3", lambda n: 412 * n - 277, lambda n: 320 * n - 201),
        ("Luh, Walker, Paul", lambda n: 150 * n - 48, lambda n: 131 * n - 48),
        ("Craig", lambda n: 126 * n - 99, lambda n: 106 * n - 92),
        ("Khosla, Neuman", lambda n: 123 * n - 60, lambda n: 96 * n - 55),
        ("Li", lambda n: 120 * n - 104, lambda n: 98 * n - 94),
        ("Ma", lambda n: 109 * n - 109, lambda n: 95 * n - 108),
        ("Khalil et al.", lambda n: 105 * n - 92, lambda n: 94 * n - 86),
        ("Balafoutis (5.5)", lambda n: 93 * n - 108, lambda n: 81 * n - 100),
    ),
    "mass_matrix": (
        ("Walker, Orin", lambda n: 12 * n**2 + 56 * n - 27, lambda n: 7 * n**2 + 67 * n - 53),
        ("Angeles, Ma", lambda n: n**3 + 17 * n**2 - 15 * n + 8, lambda n: n**3 + 14 * n**2 - 16 * n + 5),
        ("Featherstone", lambda n: 10 * n**2 + 31 * n - 41, lambda n: 6 * n**2 + 40 * n - 46),
        ("Balafoutis (6.2)", lambda n: 11 * n**2 + 11 * n - 42, lambda n: (11 * n**2 + 65 * n - 108) // 2),
    ),
}
"""Multiplications and additions for n >= 2 revolute joints in a row with general twists: Tables 5.3 and 6.2 of
Balafoutis, "Dynamic Analysis of Rigid-Link Open-Chain Robot Manipulators Using Cartesian Tensor Methods", 1989, with
slips of arithmetic corrected."""
