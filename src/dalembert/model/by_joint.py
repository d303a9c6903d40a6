"""Vectors of positions and velocities that users give by joint name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.model.checks import real_array
from dalembert.model.mechanism import Mechanism


def by_joint(
    mechanism: Mechanism,
    given: Mapping[str, Any],
    name: str,
    default: np.ndarray,
    place: Callable[[str], slice],
    batch: bool = False,
) -> np.ndarray:
    """A vector from values by joint name.

    Args:
        mechanism: the mechanism.
        given: by joint name a number, or as many as the joint has.
        name: of the argument, for errors.
        default: the entries of joints that are not named.
        place: where the entries of a joint lie, :meth:`~dalembert.model.Mechanism.q_slice` for instance.
        batch: allow leading dimensions of values.
    """
    parts = []
    for joint, value in given.items():
        part = place(joint)
        follows = mechanism.joint(joint).mimic
        if follows is not None:
            raise ArgumentError(f"{name}[{joint!r}]: that joint follows {follows.joint!r}; give the value of this one")
        wanted = part.stop - part.start
        count = "one number" if wanted == 1 else f"{wanted} numbers"
        wrong = f"{name}[{joint!r}] = {value!r}: joint {joint!r} takes {count}"
        try:
            array = real_array(value, name)
        except ArgumentError as error:
            raise ArgumentError(wrong) from error
        if wanted == 1 and (array.shape[-1:] != (1,) or array.ndim != 1):
            array = array[..., None]
        if array.shape[-1:] != (wanted,) or (array.ndim != 1 and not batch):
            raise ArgumentError(wrong)
        parts.append((part, array))
    try:
        shape = np.broadcast_shapes(*(array.shape[:-1] for _, array in parts))
    except ValueError as error:
        told = ", ".join(f"{joint!r} {np.shape(value)}" for joint, value in given.items())
        raise ArgumentError(f"{name}: the batch dimensions do not fit together: {told}") from error
    vector = np.broadcast_to(default, (*shape, len(default))).copy()
    for part, array in parts:
        vector[..., part] = array
    return vector
