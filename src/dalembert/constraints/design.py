"""A constrained mechanism with other numbers: one design among many that share their kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.constraints.rank import Known
from dalembert.constraints.violation import relative_violation


class Design:
    """A constrained mechanism with other values of its parameters, for numerics of one state.

    Which rows are independent, and what is one of every row and coordinate, are those of the mechanism it came from:
    designs are changes of it, not other mechanisms.

    Args:
        system: the constrained mechanism, see :class:`~dalembert.constraints.constrained.Constrained`.
        values: of the parameters, (p,).
    """

    def __init__(self, system: Any, values: np.ndarray):
        self.system, self.values = system, values

    def __getattr__(self, name: str) -> Any:
        return getattr(self.system, name)

    def evaluate(self, quantity: str, *state: Any, **options: Any) -> Any:
        """The results of a kernel with these values."""
        return self.system.evaluate(quantity, *state, **{"parameters": self.values, **options})

    def known(self, q: Any, t: Any, positional: bool = False) -> Known:
        """What is known of the rank of G at positions."""
        known = self.system.known(q, t, positional)
        if known.violation is None:
            return Known(known.rank)
        return Known(known.rank, relative_violation(self, np.asarray(q, dtype=float), t))  # type: ignore[arg-type]


def designed(system: Any, one: tuple[Any, ...], parts: int) -> tuple[Any, tuple[Any, ...]]:
    """The system, and the state: what :class:`~dalembert.constraints.state.States` iterate over begins with values of
    the parameters where these were given.

    Args:
        parts: how many things it consists of, without parameters.
    """
    return (system, one) if len(one) == parts else (Design(system, one[0]), one[1:])
