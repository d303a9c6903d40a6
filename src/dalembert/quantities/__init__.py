"""What can be computed of a mechanism: every quantity with its inputs, outputs and the algorithm behind it.

Each function is traced once per mechanism; it receives a :class:`Setting` and arrays of traced scalars.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.algorithms.analytic_jacobian import coordinate_count
from dalembert.model import Mechanism
from dalembert.quantities.basic import BASIC, nonzeros
from dalembert.quantities.derived import DERIVED, TASK
from dalembert.quantities.quantity import Quantity, Setting

__all__ = ["ALL_QUANTITIES", "QUANTITIES", "TASK_QUANTITIES", "Quantity", "Setting", "nonzeros", "sizes"]

QUANTITIES: dict[str, Quantity] = {**BASIC, **DERIVED}
"""Every quantity that any mechanism has, by name."""

TASK_QUANTITIES: dict[str, Quantity] = TASK
"""Quantities in the coordinates of a frame, which exist only if the mechanism can move it along all of them."""

ALL_QUANTITIES: dict[str, Quantity] = {**QUANTITIES, **TASK_QUANTITIES}
"""Everything that :class:`~dalembert.dynamics.Dynamics` can compute."""


def sizes(mechanism: Mechanism, spec: Quantity, options: Mapping[str, Any]) -> dict[str, int]:
    """What the letters in the output shapes of a quantity stand for.

    Args:
        mechanism: the mechanism.
        spec: the quantity.
        options: its options, defaults filled in.
    """
    n = mechanism.nv
    letters = {"n": n, "2n": 2 * n, "nn": n * n, "packed": n * (n + 1) // 2, "p": 10 * len(mechanism.bodies)}
    used = {d for shape in spec.outputs.values() for d in shape}
    if "nonzeros" in used:
        letters["nonzeros"] = len(nonzeros(mechanism))
    if "all nonzeros" in used:
        letters["all nonzeros"] = len(nonzeros(mechanism, both_halves=True))
    if "m" in used:
        letters["m"] = coordinate_count(options["coordinates"])
    return letters
