"""Whether states satisfy the constraints they are computed under."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from dalembert.constraints.kernels import ConstrainedKernels

INCONSISTENT = 1e-6
"""States that violate constraints by more, m or rad, and m/s or rad/s per largest speed, are refused."""


def violation(
    system: ConstrainedKernels, q: np.ndarray, v: np.ndarray, t: float, names: tuple[str, str], **options: Any
) -> str:
    """Which constraint states violate, by how much and what to do; empty if there is none.

    Args:
        system: the constrained mechanism.
        q: positions, (..., nq).
        v: velocities, (..., nv).
        t: time, s.
        names: what positions and velocities are called.
        options: ``parameters``, values of the symbols, (..., k), in the place of those of the system.
    """
    if not system.constraints.count:
        return ""
    phi, G, rate, _ = system.evaluate("constraints", q, v, t, **options)
    rows, when = system.rows, f" at t = {t:g} s" if system.constraints.rheonomic else ""
    phi = np.where(system.constraints.holonomic, phi, 0)
    off = np.abs(phi).reshape(-1, len(rows)).max(axis=0, initial=0)
    if not off.max() <= INCONSISTENT:
        name = rows[int(np.argmax(off))].constraint
        return (
            f"{names[0]} violates the constraint {name!r} by {off.max():.3g} m or rad{when}; find a consistent "
            f"position with ConstrainedDynamics(mechanism).assemble({names[0]})"
        )
    missing = np.abs(np.einsum("...ij,...j->...i", G, v) - rate).reshape(-1, len(rows)).max(axis=0, initial=0)
    if not missing.max() <= INCONSISTENT * max(1.0, float(np.abs(v).max(initial=0))):
        row = rows[int(np.argmax(missing))]
        return (
            f"{names[1]} violates the constraint {row.constraint!r} ({row.meaning}) by {missing.max():.3g}{when}; find "
            f"consistent velocities with ConstrainedDynamics(mechanism).project_velocity({names[0]}, {names[1]})"
        )
    return ""
