"""Options of quantities: defaults, and a clear word for everything that makes no sense."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algorithms.choose import choose
from dalembert.errors import ArgumentError
from dalembert.kinematics import check_axes
from dalembert.model.checks import expect, shown
from dalembert.quantities.quantity import Quantity


def chosen_options(quantity: str, spec: Quantity, given: dict[str, Any]) -> dict[str, Any]:
    """The options of a quantity, defaults filled in; what makes no sense is refused.

    Args:
        quantity: its name, for messages.
        spec: the quantity.
        given: what the caller gave.
    """
    given = dict(given)
    algorithm = given.pop("algorithm", None) if spec.algorithms else None
    unknown = [name for name in given if name not in spec.options]
    if unknown:
        takes = ", ".join((*spec.options, *(["algorithm"] if spec.algorithms else []))) or "none"
        raise ArgumentError(f"{quantity} has no option {unknown[0]!r}; it takes {takes}")
    chosen = {**spec.options, **given}
    missing = [name for name, value in chosen.items() if value is ...]
    if missing:
        raise ArgumentError(f"{quantity} needs the option {missing[0]!r}, e.g. {quantity}(..., {missing[0]}='tool')")
    if "point" in chosen:
        point = _finite(chosen["point"])
        if point is None or point.shape != (3,):
            raise ArgumentError(f"{quantity}: point is {shown(chosen['point'])}; it must be three finite numbers")
        chosen["point"] = tuple(point.tolist())
    if "axes" in chosen:
        check_axes(chosen["axes"], f"{quantity}: axes =")
    damping = _finite(chosen.get("damping", 0))
    if damping is None or damping.shape != () or damping < 0:
        given_damping = shown(chosen["damping"])
        raise ArgumentError(f"{quantity}: damping = {given_damping}; it must be a finite number that is not negative")
    if "coordinates" in chosen:
        expect(chosen["coordinates"], str, f"{quantity}, coordinates")
    if algorithm is not None:
        choose(algorithm, spec.algorithms)
        chosen["algorithm"] = algorithm
    return chosen


def _finite(x: Any) -> np.ndarray | None:
    """Finite real numbers as an array, None if there is anything else."""
    try:
        array = np.asarray(x)
        array = array.astype(float if array.dtype.kind in "iufO" else object)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if array.dtype != object and np.isfinite(array).all() else None
