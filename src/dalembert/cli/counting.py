"""Operation counts: of every algorithm by name, and as published."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from dalembert.errors import UnsupportedError

if TYPE_CHECKING:
    from dalembert.dynamics import Dynamics
    from dalembert.model import Mechanism
    from dalembert.tracing.cost import Cost

FAMILIES = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
"""Quantities for which there are several algorithms."""

TOO_LONG = 20_000
"""Sum over bodies of the third power of their depth, from which on (5.2.2), O(n^4), is not traced unless asked for."""


class Count(NamedTuple):
    """The operations of one algorithm, or why there are none."""

    algorithm: str
    cost: Cost | None
    reason: str = ""


def count_algorithms(dynamics: Dynamics, quantity: str, everything: bool = False) -> Iterator[Count]:
    """Operations of every algorithm on the mechanism as it is described, after the same passes as all kernels.

    Args:
        dynamics: of a mechanism whose symbols have values.
        quantity: one of :data:`FAMILIES`.
        everything: count also what takes minutes.
    """
    from dalembert.dynamics import QUANTITIES

    work = sum(len(chain) ** 3 for chain in dynamics.mechanism.tree.ancestors)
    for name in QUANTITIES[quantity].algorithms:
        if name == "uicker-kahn" and work > TOO_LONG and not everything:
            yield Count(name, None, "O(n^4), left out; --all counts it")
            continue
        try:
            yield Count(name, dynamics.cost(quantity, algorithm=name))
        except UnsupportedError as error:
            yield Count(name, None, str(error))


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
