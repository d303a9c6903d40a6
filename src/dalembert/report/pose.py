"""A typical position of a mechanism, with numbers for its symbols: what a figure shows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.dynamics import Dynamics
from dalembert.errors import DalembertError
from dalembert.kinematics import poses
from dalembert.model import Constraint, Joint, Mechanism
from dalembert.model.parameters import substitute

LENGTHS = (1.0, 0.8, 1.2, 0.9, 1.1)
"""Values for symbols, in turn: all of the order of one, and different from each other."""

ANGLES = (0.5, 0.7, -0.6, 0.4, 0.8, -0.5)
"""Positions of revolute joints, in turn, radians."""


@dataclass(frozen=True, eq=False)
class Posture:
    """Where everything is.

    Args:
        mechanism: with numbers in the place of symbols.
        frames: pose in the world of every body and frame, by name.
    """

    mechanism: Mechanism
    q: np.ndarray
    frames: dict[str, Transform]

    def joint_frame(self, joint: Joint) -> Transform:
        """Pose of the joint frame before the motion of the joint."""
        return self.frames[joint.parent] @ joint.placement

    def center(self, body: str) -> np.ndarray | None:
        """Centre of mass in the world; None for a body without mass."""
        inertia = self.mechanism.body(body).inertia
        return None if inertia.is_zero else self.frames[body].apply(np.asarray(inertia.center, dtype=float))

    def closures(self) -> list[list[tuple[str, np.ndarray]]]:
        """For every loop closure its two ends: the body that carries it, and the point in the world."""
        return [self._ends(item) for item in self.mechanism.constraints if item.has_ends and not item.on_joints]

    def rods(self) -> list[list[np.ndarray]]:
        """Both ends, in the world, of every distance that is kept: a rod without mass."""
        kept = [item for item in self.mechanism.constraints if item.kind == "distance"]
        return [[point for _, point in self._ends(item)] for item in kept]

    def _ends(self, item: Constraint) -> list[tuple[str, np.ndarray]]:
        ends = ((item.a, item.placement_a), (item.b, item.placement_b))
        carriers = [self.mechanism.frame(name).body for name, _ in ends]
        return list(zip(carriers, [(self.frames[name] @ at).translation for name, at in ends]))


def typical_posture(mechanism: Mechanism, reference: np.ndarray | None = None) -> Posture:
    """A position in which joints are away from zero and loops are closed, as far as they can be.

    Args:
        mechanism: any; symbols get values of the order of one.
        reference: positions near which loops are closed instead, if given.
    """
    values = {str(symbol): LENGTHS[k % len(LENGTHS)] for k, symbol in enumerate(mechanism.symbols)}
    numeric = substitute(mechanism.replace(strict=False), values)  # exact constants become floats, too
    q = _closed(numeric, _spread(numeric) if reference is None else np.array(reference, dtype=float))
    return Posture(numeric, q, poses(numeric, q))


def _spread(mechanism: Mechanism) -> np.ndarray:
    """Positions away from zero, within limits."""
    q, size, turned = mechanism.neutral, _size(mechanism), 0
    for joint in mechanism.joints:
        part = mechanism.q_slice(joint.name)
        if not joint.nq:
            continue
        if joint.kind in ("revolute", "continuous", "helical", "universal"):
            for k in range(part.start, part.stop):
                q[k] = ANGLES[turned % len(ANGLES)]
                turned += 1
        elif joint.kind == "prismatic":
            q[part.start] = 0.6 * size
        elif joint.kind in ("planar", "free"):
            q[part.start : part.start + 2] = 0.5 * size
        elif joint.kind == "cylindrical":
            q[part] = ANGLES[0], 0.6 * size
        if joint.nq == 1 and math.isfinite(joint.limits.lower) and math.isfinite(joint.limits.upper):
            q[part.start] = np.clip(q[part.start], joint.limits.lower, joint.limits.upper)
    return q


def _size(mechanism: Mechanism) -> float:
    """A length that is typical of the mechanism."""
    points: list[Any] = [joint.placement.translation for joint in mechanism.joints]
    points += [body.inertia.center for body in mechanism.bodies]
    lengths = [float(np.linalg.norm(np.asarray(p, dtype=float))) for p in points]
    return max(lengths, default=0.0) or 1.0


def _closed(mechanism: Mechanism, q: np.ndarray) -> np.ndarray:
    """The position moved onto the loop closures; unchanged if there are none, or none that can be closed here."""
    if not mechanism.constraints:
        return q
    try:
        return Dynamics(mechanism, reference=q, elements=()).assemble(q)  # forces close nothing
    except DalembertError:
        return q
