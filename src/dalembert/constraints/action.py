"""Forces and moments on bodies: what acts where, in whose axes."""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.model import WORLD

End = tuple[str, Transform]
"""A body or frame, and a frame placed on it."""

GROUND: End = (WORLD, Transform.identity())


@dataclass(frozen=True, eq=False)
class Action:
    """A force and a moment on a body.

    Args:
        on: the frame acted upon; the force acts at its origin, the moment is about it.
        axes: the frame in whose axes both are given.
        force: N.
        moment: N m.
        mutual: the opposite acts on the body that carries ``axes``, at the same point.
    """

    on: End
    axes: End
    force: Array
    moment: Array
    mutual: bool
