"""What can be computed of a mechanism: every quantity with its inputs, outputs and the function behind it.

Each function is traced once per mechanism; it receives a :class:`~dalembert.dynamics.quantity.Setting` and arrays of
traced scalars.
"""

from __future__ import annotations

from dalembert.dynamics.constrained import CONSTRAINED, ELEMENTS_ENTER, ROWS_ENTER
from dalembert.dynamics.contacting import CONTACT
from dalembert.dynamics.derived import DERIVED, TASK
from dalembert.dynamics.quantity import Quantity
from dalembert.dynamics.tree import BASIC

QUANTITIES: dict[str, Quantity] = {**BASIC, **DERIVED}
"""Every quantity that any tree has, by name."""

TASK_QUANTITIES: dict[str, Quantity] = TASK
"""Quantities in the coordinates of a frame, which exist only if the mechanism can move it along all of them."""

CONSTRAINT_QUANTITIES: dict[str, Quantity] = CONSTRAINED
"""Quantities of constraint rows and force elements; a mechanism without any has them too, with no rows."""

ALL_QUANTITIES: dict[str, Quantity] = {**QUANTITIES, **TASK_QUANTITIES}
"""Quantities of trees, whatever acts on them."""


CONTACT_QUANTITIES: dict[str, Quantity] = CONTACT
"""Quantities of contacts."""


def quantity_of(name: str, rows: bool, elements: bool) -> Quantity | None:
    """How a quantity is computed; None if there is none of this name.

    Args:
        rows: whether constraints hold.
        elements: whether force elements act.
    """
    if (rows or elements) and name in ROWS_ENTER:
        return ROWS_ENTER[name]
    if elements and name in ELEMENTS_ENTER:
        return ELEMENTS_ENTER[name]
    return ALL_QUANTITIES.get(name) or CONSTRAINT_QUANTITIES.get(name) or CONTACT_QUANTITIES.get(name)
