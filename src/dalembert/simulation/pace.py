"""Whether an integrator still gets on, and what may hold it up."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalembert.simulation.stabiliser import Stabiliser

STEPS, ENDLESS = 2000, 1e8
"""If after so many steps so many more would be needed at this pace, the integrator is stuck."""


class Pace:
    """Looks every so many steps at how far they came."""

    def __init__(self) -> None:
        self._bound, self._count, self._mark = math.inf, 0, 0.0

    def begin(self, t: float, bound: float) -> None:
        """The integrator begins, or goes on towards the same bound after a correction.

        Args:
            t: time.
            bound: where it wants to get.
        """
        if bound != self._bound:
            self._bound, self._count, self._mark = bound, 0, t

    def stuck(self, t: float) -> str:
        """After a step: how far the last ones came, if the bound is out of sight; else nothing.

        Args:
            t: time.
        """
        self._count += 1
        if self._count % STEPS:
            return ""
        covered, self._mark = t - self._mark, t
        slow = (self._bound - t) * STEPS > ENDLESS * covered
        return f"its last {STEPS} steps covered {covered:.3g} s" if slow else ""


def friction_that_jumps(system: Stabiliser) -> str:
    """What to say of friction without a transition, if there is any; else nothing.

    Args:
        system: what moves.
    """
    acting = system.dynamics.elements.names
    items = [x for x in system.dynamics.numbers.forces if x.name in acting] if acting else []
    for item in items:
        if item.kind == "joint-friction" and item.value and not item.smoothing:
            return f"the friction {item.name!r} jumps where its joint comes to rest; give it a smoothing"
    if "friction" not in system.dynamics.include:
        return ""
    return (
        "the friction of joints, f sign(v), jumps where one comes to rest; leave it out, or put force elements "
        "'joint-friction' with smoothing in its place"
    )
