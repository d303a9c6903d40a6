"""How easily a frame moves in every direction, and how easily it is accelerated (Yoshikawa 1985).

Joint speeds of unit length move a frame by J v, an ellipsoid whose radii are the singular values of J. Efforts of unit
length accelerate it, from rest and with gravity taken off, by J M^-1 tau. The measure of either is the product of the
radii, sqrt(det(J J^T)) and sqrt(det(J (M^T M)^-1 J^T)); it is zero where a direction is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics, KernelTable
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_choice
from dalembert.model.consumers import heed
from dalembert.model.names import named_positions, named_velocities

TASKS = {"position": slice(0, 3), "rotation": slice(3, 6), "pose": slice(0, 6)}
"""Which rows of the Jacobian count. Rows of a pose have different units: its measure depends on that of length."""


@dataclass(frozen=True, eq=False)
class Manipulability:
    """An ellipsoid of velocities, or of accelerations, of a frame.

    Args:
        measure: product of the radii, (...); zero at singular positions, and with fewer joints than the task has rows.
        radii: from the largest to the smallest, (..., rows).
        directions: unit vectors along them in the columns, world axes, (..., rows, rows).
    """

    measure: np.ndarray
    radii: np.ndarray
    directions: np.ndarray

    @property
    def condition(self) -> np.ndarray:
        """Largest radius over the smallest, (...); infinite at singular positions."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.radii[..., 0] / self.radii[..., -1])


def manipulability(
    mechanism: Mechanism | Dynamics,
    q: Any,
    frame: str,
    *,
    point: Sequence[float] = (0.0, 0.0, 0.0),
    task: str = "position",
    dynamic: bool = False,
    efforts: Any = None,
) -> Manipulability:
    """Manipulability of a frame, or dynamic manipulability, at any number of positions.

    Args:
        mechanism: a tree, or its dynamics.
        q: positions, (..., nq).
        frame: name of a frame or body.
        point: whose motion counts, components in the frame.
        task: ``"position"``, ``"rotation"`` or ``"pose"``.
        dynamic: of accelerations by efforts instead of velocities by speeds.
        efforts: largest effort of every velocity, nv, as what is one; with ``dynamic`` only.
    """
    dynamics = mechanism if isinstance(mechanism, KernelTable) else Dynamics(expect(mechanism, Mechanism, "mechanism"))
    heed("planning.manipulability", dynamics)
    rows = TASKS[expect_choice(task, TASKS, "manipulability, task")]
    expect(dynamic, bool, "manipulability, dynamic")
    if efforts is not None and not dynamic:
        raise ArgumentError("manipulability: efforts scale accelerations; say dynamic=True")
    q = named_positions(dynamics.mechanism, q, "q")
    if not np.isfinite(q).all():
        raise ArgumentError("manipulability: q has entries that are not finite")
    J = np.asarray(dynamics.jacobian(q, frame=frame, point=tuple(point)))[..., rows, :]
    if dynamic:
        M = np.asarray(dynamics.mass_matrix(q))
        J = np.swapaxes(np.linalg.solve(M, np.swapaxes(J, -1, -2)), -1, -2)
        if efforts is not None:
            scale = named_velocities(dynamics.mechanism, efforts, "manipulability, efforts")
            if scale.shape != (J.shape[-1],) or not (scale > 0).all():
                raise ArgumentError(f"efforts: give {J.shape[-1]} positive numbers, one for every velocity")
            J = J * scale
    directions, radii, _ = np.linalg.svd(J, full_matrices=True)
    missing = J.shape[-2] - radii.shape[-1]
    if missing > 0:
        radii = np.concatenate([radii, np.zeros((*radii.shape[:-1], missing))], axis=-1)
    return Manipulability(np.prod(radii, axis=-1), radii, directions)
