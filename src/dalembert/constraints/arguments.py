"""What users give to constrained mechanisms, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.names import velocity_names


def single(state: tuple[Any, ...]) -> bool:
    """True if all arrays among the inputs, the first being one of them, have single precision.

    Args:
        state: the inputs of a kernel.
    """
    if not (state and isinstance(state[0], np.ndarray) and state[0].dtype == np.float32):
        return False
    return all(x.dtype == np.float32 for x in state if isinstance(x, np.ndarray))


def velocities_named(mechanism: Mechanism, names: Sequence[str], where: str) -> list[int]:
    """Where the velocities of these names lie in v; the name of a joint stands for all of its velocities.

    Args:
        names: of velocities or joints.
        where: they were given, for the message.
    """
    known = velocity_names(mechanism)
    found: list[int] = []
    joints = {joint.name for joint in mechanism.joints}
    for name in names:
        if name in joints:
            part = mechanism.v_slice(name)
            found += range(part.start, part.stop)
        elif name in known:
            found.append(known.index(name))
        else:
            raise ArgumentError(
                f"{where}: {mechanism.name!r} has no joint {name!r} and no velocity of that name; its velocities are "
                f"{', '.join(known)}"
            )
    return found
