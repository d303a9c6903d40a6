"""The way down to positions that satisfy the constraints: damped Gauss-Newton steps on the tangent space.

Every step is the least-squares solution of G dq = -phi; where that leads up, dq is damped (Levenberg 1944, Marquardt
1963) until it leads down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.errors import SingularityError
from dalembert.kinematics.manifold import moved
from dalembert.model import Mechanism

if TYPE_CHECKING:
    from dalembert.constraints.kernels import ConstrainedKernels

STEP = 1.0
"""Longest step of any coordinate, rad or lengths of the mechanism: farther away the linearization means nothing."""

DAMPINGS = (0.0, *(10.0**k for k in range(-4, 13, 2)))
"""Tried one after the other, relative to the largest squared gradient; the last makes steps of the last digit."""


def longest(mechanism: Mechanism) -> float:
    """The longest distance within the bodies and closures of a mechanism, m; one, if it is shorter.

    Args:
        mechanism: with numbers only.
    """
    closures = [item for item in mechanism.constraints if item.has_ends and not item.on_joints]
    places = [joint.placement for joint in mechanism.joints]
    places += [place for item in closures for place in (item.placement_a, item.placement_b)]
    lengths = [float(x) for place in places for x in place.translation]
    lengths += [float(x) for item in closures for x in (item.value, *item.coefficients)]
    return max(1.0, *map(abs, lengths)) if lengths else 1.0


def units(system: ConstrainedKernels) -> np.ndarray:
    """What is one of every velocity in assembly, nv: a radian, or the longest distance of the mechanism.

    Args:
        system: the constrained mechanism.
    """
    found, length = np.ones(system.mechanism.nv), longest(system.numbers)
    for link in reversed(system.mechanism.tree.links):  # a leader comes before its mimic joints
        found[link.v] = 1.0 if link.rotates else length
    return found


def position_units(system: ConstrainedKernels) -> np.ndarray:
    """The same for every position, nq.

    Args:
        system: the constrained mechanism.
    """
    found, length = np.ones(system.mechanism.nq), longest(system.numbers)
    for link in system.mechanism.tree.links:
        if not link.rotates:
            found[link.q] = length
    return found


def row_units(system: ConstrainedKernels) -> np.ndarray:
    """The same for every row on positions; those on joints and users' own count as they are.

    Args:
        system: the constrained mechanism.
    """
    length = longest(system.numbers)
    return np.array([length if row.is_length else 1.0 for row in system.rows if row.holonomic])


def descend(
    system: ConstrainedKernels, q: np.ndarray, t: float, free: np.ndarray, tolerance: float, iterations: int
) -> tuple[np.ndarray, np.ndarray]:
    """Positions where there is no way down any more, and what is left there, in :func:`row_units`.

    Args:
        system: the constrained mechanism.
        q: where to start.
        t: time, s.
        free: which velocities may be moved along.
        tolerance: below this largest residual, in the same units, one more step is made, for the last digits.
        iterations: largest number of steps.
    """
    on_positions = system.constraints.holonomic
    unit, size = units(system), row_units(system)

    def at(position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        phi, G = system.evaluate("closing", position, t)
        return phi[on_positions] / size, (G[on_positions] * unit)[:, free] / size[:, None]

    phi, G = at(q)
    closing = 0
    for _ in range(iterations):
        if not (np.isfinite(phi).all() and np.isfinite(G).all()):
            break
        if np.abs(phi).max(initial=0.0) <= tolerance:
            closing += 1
            if closing > 1:
                break
        for damping in DAMPINGS:
            step = np.zeros(len(free))
            step[free] = _step(G, phi, damping)
            step *= min(1.0, STEP / max(np.abs(step).max(initial=0.0), 1e-300))
            trial = moved(system.mechanism.tree, q, step * unit)
            new_phi, new_G = at(trial)
            if np.linalg.norm(new_phi) < (1 - 1e-4) * np.linalg.norm(phi) and np.isfinite(new_G).all():
                q, phi, G = trial, new_phi, new_G
                break
        else:
            break  # no way down: a minimum that is not zero, or the last digit
    return q, phi


def _step(G: np.ndarray, phi: np.ndarray, damping: float) -> np.ndarray:
    """Least |G dq + phi|^2 + damping |dq|^2, with the damping relative to G."""
    if not damping:
        return np.linalg.lstsq(G, -phi, rcond=1e-9)[0]
    n = G.shape[1]
    weight = np.sqrt(damping) * np.abs(G).max(initial=1e-300)
    return np.linalg.lstsq(np.vstack([G, weight * np.eye(n)]), np.concatenate([-phi, np.zeros(n)]), rcond=None)[0]


def check_gradients(system: ConstrainedKernels, G: np.ndarray, t: float, chosen: np.ndarray | None = None) -> None:
    """An error where a constraint has no direction, as a rolling disc that lies flat: nothing says how to move.

    Args:
        system: the constrained mechanism.
        G: gradients, a row each.
        t: time, s.
        chosen: which rows of the constraints they are; all by default.
    """
    rows = [row for k, row in enumerate(system.rows) if chosen is None or chosen[k]]
    lost = [row.constraint for row, gradient in zip(rows, G) if not np.isfinite(gradient).all()]
    if lost:
        raise SingularityError(
            f"{system.mechanism.name!r}: at these positions and t = {t:g} s the gradient of constraint "
            f"{', '.join(map(repr, dict.fromkeys(lost)))} is not defined; start from positions where it is (a disc "
            "that lies flat has no lowest point, a user's function may be out of its domain)"
        )
