"""Positions as users give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.by_joint import by_joint
from dalembert.model.checks import real_array


def positions_of(mechanism: Mechanism, given: Any, what: str) -> np.ndarray:
    """Positions as an array, quaternions of unit length.

    Args:
        mechanism: the mechanism.
        given: nq numbers, or numbers by joint name, others at their neutral value.
        what: they are, for messages.
    """
    if isinstance(given, Mapping):
        given = by_joint(mechanism, given, what, mechanism.neutral, mechanism.q_slice)
    q = np.array(real_array(given, what))
    if q.shape != (mechanism.nq,):
        raise ArgumentError(f"{what}: got shape {q.shape}, but {mechanism.name!r} needs ({mechanism.nq},)")
    if not np.isfinite(q).all():
        raise ArgumentError(f"{what} = {q} is not finite")
    return mechanism.normalise(q)
