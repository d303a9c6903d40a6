"""Vectors of positions and velocities that users give by name of a joint, or of a single velocity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    entries: Sequence[str] = (),
) -> np.ndarray:
    """A vector from values by joint name.

    Args:
        mechanism: the mechanism.
        given: by joint name a number, or as many as the joint has.
        name: of the argument, for errors.
        default: the entries of joints that are not named.
        place: where the entries of a joint lie, :meth:`~dalembert.model.Mechanism.q_slice` for instance.
        batch: allow leading dimensions of values.
        entries: names of all entries of the vector, if single ones may be given as well; a joint of that name goes
            before.
    """
    parts: list[tuple[slice, np.ndarray]] = []
    joints = {joint.name for joint in mechanism.joints}
    for joint, value in given.items():
        single = entries.index(joint) if joint not in joints and joint in entries else None
        owner = joint.rpartition(".")[0]
        if single is None and joint not in joints and owner in joints and entries:
            own = ", ".join(entries[place(owner)])
            raise ArgumentError(f"{name}[{joint!r}]: the velocities of {owner!r} are called {own}")
        part = place(joint) if single is None else slice(single, single + 1)
        follows = mechanism.joint(joint).mimic if single is None else None
        if follows is not None:
            raise ArgumentError(f"{name}[{joint!r}]: that joint follows {follows.joint!r}; give the value of this one")
        wanted = part.stop - part.start
        count = "one number" if wanted == 1 else f"{wanted} numbers"
        what = "joint" if single is None else "velocity"
        wrong = f"{name}[{joint!r}] = {value!r}: {what} {joint!r} takes {count}"
        if any(part.start < other.stop and other.start < part.stop for other, _ in parts):
            raise ArgumentError(
                f"{name}[{joint!r}]: that is given twice, by another name or with the others of its joint"
            )
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
