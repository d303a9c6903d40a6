"""Coordinates and velocities by name, the joint's own, with a suffix where it has several; vectors given by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.model.checks import real_array, shown
from dalembert.model.joint import JOINTS, Joint
from dalembert.model.mechanism import Mechanism


def as_names(what: str, given: Sequence[str]) -> tuple[str, ...]:
    """Names as a tuple; a lone string, whose letters would be taken for names, is refused."""
    if isinstance(given, (str, Mapping)) or not _all_texts(given):
        wanted = [given] if isinstance(given, str) else "['name', ...]"
        raise ArgumentError(f"{{argument}} = {shown(given)}: a list of names is needed, {wanted}", argument=what)
    return tuple(given)


def _all_texts(given: Any) -> bool:
    try:
        return isinstance(given, Iterable) and all(isinstance(name, str) for name in given)
    except TypeError:  # an array without dimensions
        return False


def position_names(mechanism: Mechanism) -> tuple[str, ...]:
    """A name for every entry of q: ``elbow``, ``base.x``, ``base.qw``."""
    return tuple(name for joint in mechanism.joints if joint.nq for name, _ in position_parts(joint))


def velocity_names(mechanism: Mechanism) -> tuple[str, ...]:
    """A name for every entry of v and tau: ``elbow``, ``base.vx``, ``base.wz``."""
    return tuple(name for joint in mechanism.joints if joint.nv for name, _ in velocity_parts(joint))


def position_parts(joint: Joint) -> list[tuple[str, str]]:
    """A name for every position of a joint, also of one that follows another, and ``rad``, ``m`` or ``quaternion``."""
    return _named(joint, JOINTS[joint.kind].positions)


def velocity_parts(joint: Joint) -> list[tuple[str, str]]:
    """A name for every velocity of a joint, also of one that follows another, and ``rad`` or ``m``, of which it is a
    rate.
    """
    return _named(joint, JOINTS[joint.kind].velocities)


def _named(joint: Joint, parts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(f"{joint.name}.{part}" if part else joint.name, unit) for part, unit in parts]


# ------------------------------------------------------------------------------------------------------ vectors by name


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
            raise ArgumentError(f"{{argument}}[{joint!r}]: the velocities of {owner!r} are called {own}", argument=name)
        part = place(joint) if single is None else slice(single, single + 1)
        follows = mechanism.joint(joint).mimic if single is None else None
        if follows is not None:
            raise ArgumentError(
                f"{{argument}}[{joint!r}]: that joint follows {follows.joint!r}; give the value of this one",
                argument=name,
            )
        wanted = part.stop - part.start
        count = "one number" if wanted == 1 else f"{wanted} numbers"
        what = "joint" if single is None else "velocity"
        wrong = f"{{argument}}[{joint!r}] = {value!r}: {what} {joint!r} takes {count}"
        if any(part.start < other.stop and other.start < part.stop for other, _ in parts):
            raise ArgumentError(
                f"{{argument}}[{joint!r}]: that is given twice, by another name or with the others of its joint",
                argument=name,
            )
        try:
            array = real_array(value, name)
        except ArgumentError as error:
            raise ArgumentError(wrong, argument=name) from error
        if wanted == 1 and (array.shape[-1:] != (1,) or array.ndim != 1):
            array = array[..., None]
        if array.shape[-1:] != (wanted,) or (array.ndim != 1 and not batch):
            raise ArgumentError(wrong, argument=name)
        parts.append((part, array))
    try:
        shape = np.broadcast_shapes(*(array.shape[:-1] for _, array in parts))
    except ValueError as error:
        shapes = ", ".join(f"{joint!r} {np.shape(value)}" for joint, value in given.items())
        raise ArgumentError(
            f"{{argument}}: the batch dimensions do not fit together: {shapes}", argument=name
        ) from error
    vector = np.broadcast_to(default, (*shape, len(default))).copy()
    for part, array in parts:
        vector[..., part] = array
    return vector
