"""The generic arm that operations are counted on, and what a count is."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError
from dalembert.model import WORLD, Body, Inertia, Joint, Mechanism

TWISTS = {
    "general": "no special angle",
    "right": "every twist 90 degrees",
    "alternating": "twists 0 and 90 degrees in turn",
}
"""The generic arms: name of the twist -> what it means."""


class Count(NamedTuple):
    """Operations of a straight-line program; divisions count as multiplications."""

    multiplications: int
    additions: int

    def __str__(self) -> str:
        return f"{self.multiplications} / {self.additions}"

    def beyond(self, other: Count) -> Count:
        """What is left when the operations of another count are taken away."""
        return Count(self.multiplications - other.multiplications, self.additions - other.additions)


def generic_arm(n: int, twist: str = "general") -> Mechanism:
    """A chain of n revolute joints in which only the twists may be special.

    Args:
        n: number of joints.
        twist: one of :data:`TWISTS`.
    """
    if twist not in TWISTS:
        raise ArgumentError(f"twist = {twist!r}; choose one of {', '.join(TWISTS)}")
    rng = np.random.default_rng(0)
    bodies, joints = [], []
    for k in range(n):
        alpha = {"general": rng.uniform(0.3, 1.2), "right": math.pi / 2, "alternating": k % 2 * math.pi / 2}[twist]
        spread = rng.normal(size=(3, 3)) * 0.1
        second = spread @ spread.T + 0.05 * np.eye(3)  # positive, so that a real body has this inertia
        matter = Inertia(rng.uniform(1, 3), rng.normal(size=3) * 0.1, np.trace(second) * np.eye(3) - second)
        place = Transform.modified_dh(alpha, rng.uniform(0.1, 0.5), 0, rng.uniform(0.1, 0.5))
        bodies.append(Body(f"link{k + 1}", matter))
        joints.append(Joint(f"joint{k + 1}", "revolute", f"link{k}" if k else WORLD, f"link{k + 1}", place))
    return Mechanism(f"generic arm, {n} joints, {twist} twist", tuple(bodies), tuple(joints))
