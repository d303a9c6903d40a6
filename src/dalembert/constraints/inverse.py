"""Constrained inverse dynamics: forces of the drives for a motion.

    M a = f + S tau + G^T lam

Projected on the motions B that the constraints allow, B^T S tau = B^T (M a - f). With as many drives as degrees of
freedom tau is unique; with more of them, tau is the one of least ``sum (tau_i / weight_i)^2``; with fewer, most motions
are impossible and an error says which part of the motion is not driven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.numeric import TOLERANCE
from dalembert.errors import ArgumentError, SingularityError

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics


@dataclass(frozen=True, eq=False)
class Drives:
    """Forces of the drives.

    Args:
        tau: generalised forces, nv; zero where there is no drive.
        multipliers: of the constraint rows, of least norm.
        surplus: number of drives beyond the degrees of freedom.
        criterion: how tau was chosen, in words.
    """

    tau: np.ndarray
    multipliers: np.ndarray
    surplus: int
    criterion: str


def inverse_dynamics(
    system: ConstrainedDynamics,
    q: Any,
    v: Any,
    a: Any,
    t: float = 0.0,
    *,
    actuated: Sequence[str],
    weights: Sequence[float] | None = None,
    tolerance: float = 1e-8,
) -> Drives:
    """Forces of the drives that produce a motion of a constrained mechanism, at one state.

    Args:
        system: the constrained mechanism.
        q: positions.
        v: velocities.
        a: accelerations; must satisfy the constraints.
        t: time, s.
        actuated: names of the driven joints.
        weights: one per driven velocity, larger for stronger drives; all equal by default.
        tolerance: relative, for what counts as satisfied.
    """
    mechanism = system.mechanism
    q, v, a = (np.asarray(x, dtype=float) for x in (q, v, a))
    M, f, G, gamma = system.evaluate("terms", q, v, np.zeros(mechanism.nv), t)
    _refuse_impossible(system, G, a, gamma, tolerance)
    driven: list[int] = []
    for name in actuated:
        part = mechanism.v_slice(name)
        driven += range(part.start, part.stop)
    strength = np.ones(len(driven)) if weights is None else np.asarray(weights, dtype=float)
    if strength.shape != (len(driven),) or not (strength > 0).all():
        raise ArgumentError(f"weights must be {len(driven)} positive numbers, one per driven velocity")
    size, Vt = np.linalg.svd(G)[1:] if len(G) else (np.zeros(0), np.eye(mechanism.nv))
    rank = int((size > TOLERANCE * size.max(initial=0.0)).sum())
    B = Vt[rank:].T
    need = B.T @ (M @ a - f)
    S = B.T[:, driven] * strength
    tau = np.zeros(mechanism.nv)
    result = np.linalg.lstsq(S, need, rcond=TOLERANCE)
    tau[driven] = strength * np.asarray(result[0])
    left = need - B.T @ tau
    if np.linalg.norm(left) > tolerance * float(np.linalg.norm(need)) + 1e-12:
        lacking = B @ left / np.linalg.norm(left)
        names = [system.velocity_names()[k] for k in np.argsort(-np.abs(lacking))[:3]]
        raise SingularityError(
            f"the drives {', '.join(map(repr, actuated))} cannot produce this motion of {mechanism.name!r}: it has "
            f"{B.shape[1]} degrees of freedom, they reach {int(result[2])}. Not driven is mainly the motion of "
            + ", ".join(names)
        )
    surplus = len(driven) - B.shape[1]
    rule = "least sum of (tau / weight)^2" if surplus > 0 else "unique"
    lam = np.linalg.lstsq(G.T, M @ a - f - tau, rcond=TOLERANCE)[0]
    return Drives(tau, lam, max(surplus, 0), rule)


def _refuse_impossible(
    system: ConstrainedDynamics, G: np.ndarray, a: np.ndarray, gamma: np.ndarray, tolerance: float
) -> None:
    miss = np.abs(G @ a - gamma)
    scale = np.abs(G).max(initial=0.0) * np.abs(a).max(initial=0.0) + np.abs(gamma).max(initial=0.0) + 1e-300
    if miss.max(initial=0.0) > tolerance * scale:
        k = int(miss.argmax())
        raise ArgumentError(
            f"the accelerations violate the constraints of {system.mechanism.name!r}, most of all {system.rows[k]} by "
            f"{miss[k]:.3g}; make them consistent first: G a = gamma"
        )
