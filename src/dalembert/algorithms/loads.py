"""External loads: what the world does to the bodies, besides gravity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.algebra import arrays
from dalembert.algebra.arguments import unrolled
from dalembert.algebra.arrays import Array
from dalembert.algebra.vectors import cross
from dalembert.errors import ArgumentError
from dalembert.kinematics import frame_on_link
from dalembert.model import Mechanism, Tree
from dalembert.model.checks import expect

Loads = Sequence[tuple[Array, Array] | None] | None
"""For every link the (force, moment) acting on it, link axes, moment about its origin; None where there is none."""


def loads_on_links(mechanism: Mechanism, wrenches: Mapping[str, Any] | None, tree: Tree | None = None) -> Loads:
    """Wrenches on frames as loads on links.

    Args:
        wrenches: frame or body name -> ``[fx, fy, fz, mx, my, mz]`` acting on that body, in the frame's axes, moment
            about the frame's origin. A wrench on a body fixed to the ground moves nothing.
        tree: a tree of the same mechanism in other link frames; the mechanism's own by default.
    """
    if wrenches is None:
        return None
    expect(wrenches, Mapping, "wrenches, name of a frame -> [force; moment]")
    if not wrenches:
        return None
    loads: list[tuple[Array, Array] | None] = [None] * len(mechanism.tree.links)
    for name, wrench in wrenches.items():
        wrench = arrays.asarray(unrolled(wrench))
        if wrench.shape != (6,):
            raise ArgumentError(f"wrench on {name!r}: expected six numbers [force; moment], got shape {wrench.shape}")
        carrier, at = frame_on_link(mechanism, name, tree)
        if carrier < 0:
            continue
        force = at.rotate(wrench[:3])
        moment = at.rotate(wrench[3:]) + cross(at.translation, force)
        before = loads[carrier]
        loads[carrier] = (force, moment) if before is None else (before[0] + force, before[1] + moment)
    return loads
