"""Operation counts: of every algorithm as it is written, and as published."""

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


def is_plain_arm(mechanism: Mechanism) -> bool:
    """Whether the mechanism is what published counts are for: revolute joints in a row on a fixed base.

    Args:
        mechanism: the mechanism; bodies that are fixed to others do not matter.
    """
    links = mechanism.tree.links
    row = all(link.parent == k - 1 and link.kind == "revolute" for k, link in enumerate(links))
    return row and not mechanism.tree.coupled and not mechanism.constraints


def published(quantity: str, n: int) -> tuple[str, list[tuple[str, float, float]]]:
    """Where counts were published for n revolute joints in a row with general twists, and which; none for n < 2.

    Args:
        quantity: one of :data:`FAMILIES`.
        n: number of joints.
    """
    from dalembert.published_costs import TABLE_5_3, TABLE_6_2, TABLE_6_3

    table = {"inverse_dynamics": TABLE_5_3, "mass_matrix": TABLE_6_2, "forward_dynamics": TABLE_6_3}.get(quantity)
    if table is None or n < 2 or (table is TABLE_6_3 and n != 6):  # that one has numbers, the others polynomials in n
        return "", []
    rows = [(who, float(entry[0](n)), float(entry[1](n))) for who, entry in table.rows.items()]
    return f"Table {table.number} of Balafoutis, PhD thesis, 1989", rows
