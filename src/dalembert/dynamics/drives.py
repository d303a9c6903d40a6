"""Constrained inverse dynamics: forces of the drives for a motion.

    M a = f + S tau + G^T lam

Projected on the motions B that the constraints allow, B^T S tau = B^T (M a - f). With as many drives as degrees of
freedom tau is unique; with more of them, tau is the one of least ``sum (tau_i / weight_i)^2``; with fewer, most motions
are impossible and an error says which part of the motion is not driven.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.arguments import velocities_named
from dalembert.constraints.closure import check_gradients
from dalembert.constraints.design import designed
from dalembert.constraints.rank import RANK_TOLERANCE, ZERO_SINGULAR_VALUE, Decomposition
from dalembert.constraints.solve import project_acceleration
from dalembert.constraints.state import States
from dalembert.constraints.violation import refuse_far
from dalembert.errors import ArgumentError, SingularityError
from dalembert.model.checks import expect_names, real_array
from dalembert.model.consumers import heed
from dalembert.text.layout import counted

if TYPE_CHECKING:
    from dalembert.dynamics.facade import Dynamics


DIFFERENCES = 1e-2
"""What accelerations may miss of a row, relative to what it is the sum of: so much differences of samples lose."""

NEGLIGIBLE_SHARE = 1e-6
"""The same relative to what forces and speeds alone would do to a row: at rest or constant speed that is all there is.
"""

UNIQUE = "unique"
"""What is said of the choice where there is none."""


@dataclass(frozen=True, eq=False)
class Drives:
    """Forces of the drives.

    Args:
        tau: generalised forces, (..., nv); zero where there is no drive.
        multipliers: of the constraint rows, (..., m), of least norm.
        surplus: number of drives beyond the degrees of freedom that they reach; of several states, the largest.
        criterion: how tau was chosen, in words.
    """

    tau: np.ndarray
    multipliers: np.ndarray
    surplus: int
    criterion: str

    def __str__(self) -> str:
        if self.tau.ndim > 1:
            return f"forces of drives at {self.tau.shape[:-1]} states, {self.criterion}"
        return f"forces of drives {np.array2string(self.tau, precision=6)}, {self.criterion}"


def drive_forces(
    system: Dynamics,
    q: Any,
    v: Any,
    a: Any,
    t: Any = 0.0,
    *,
    actuated: Sequence[str],
    weights: Sequence[float] | None = None,
    parameters: Any = None,
) -> Drives:
    """Forces of the drives for a motion, any batch shape; with surplus drives, of least sum of (tau / weight)^2.

    What a constraint ``motion`` moves needs no drive; :meth:`reactions` has the torque of its motor.

    Args:
        q: positions that satisfy the constraints; more than 1e-3 m or rad off them is refused.
        v: velocities that satisfy the constraints; likewise.
        a: accelerations that satisfy the constraints; what differences of samples lose, up to a hundredth of what a
            row is the sum of, is made up for as by :meth:`project_acceleration`, which leaves the drives as they
            are.
        t: time, s.
        actuated: names of the driven joints, or of single velocities (see :meth:`velocity_names`).
        weights: one per driven velocity, larger for stronger drives; all equal by default.
        parameters: values of the parameters, (..., p) or by name; those of this Dynamics by default.
    """
    heed("Dynamics.drive_forces", system)
    state = States(system.mechanism, q, {"v": v, "a": a}, t, system.design(parameters))
    actuated = expect_names(actuated, "drive_forces, actuated")
    if twice := sorted({name for name in actuated if actuated.count(name) > 1}):
        raise ArgumentError(f"drive_forces, actuated: {', '.join(map(repr, twice))} is named twice")
    joints = {joint.name: joint for joint in system.mechanism.joints}
    for name in actuated:
        if name in joints and (follows := joints[name].mimic) is not None:
            raise ArgumentError(
                f"drive_forces, actuated: {name!r} follows {follows.joint!r}, and forces are those of the latter; "
                "name that one"
            )
    sizes = cache(partial(_sizes, system, state))  # asked for only where accelerations miss a row

    def drives(*one: Any) -> Drives:
        own, (q, v, a, t) = designed(system, one, 4)
        return _drives(own, q, v, a, t, sizes=sizes, actuated=actuated, weights=weights)

    found = state.each(drives)
    return Drives(
        state.gathered([x.tau for x in found], (system.mechanism.nv,)),
        state.gathered([x.multipliers for x in found], (system.constraints.count,)),
        max((x.surplus for x in found), default=0),
        max((x.criterion for x in found), key=len, default=UNIQUE),
    )


def _drives(
    system: Dynamics,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    t: float,
    *,
    sizes: Callable[[], np.ndarray],
    actuated: Sequence[str],
    weights: Sequence[float] | None,
    tolerance: float = 1e-8,
) -> Drives:
    """The same at one state; the tolerance is relative, for what counts as satisfied; sizes are those of the rows."""
    mechanism = system.mechanism
    if not all(np.isfinite(x).all() for x in (q, v, a, t)):
        lost = np.full(mechanism.nv, np.nan), np.full(system.constraints.count, np.nan)
        return Drives(*lost, 0, UNIQUE)  # NaN in, NaN out, for that state only
    M, f, G, gamma = system.evaluate("terms", q, v, np.zeros(mechanism.nv), t)
    check_gradients(system, G, t)
    refuse_far(system, q, v, t, "drive_forces")
    a = _possible(system, (q, v, a, t), (M, f, G, gamma), sizes, tolerance)
    driven = velocities_named(mechanism, actuated, "drive_forces, actuated")
    if twice := [name for k, name in enumerate(system.velocity_names()) if driven.count(k) > 1]:
        raise ArgumentError(f"drive_forces, actuated: {', '.join(twice)} would be driven twice")
    strength = np.ones(len(driven)) if weights is None else real_array(weights, "drive_forces, weights")
    if strength.shape != (len(driven),) or not (strength > 0).all():
        raise ArgumentError(f"weights must be {len(driven)} positive numbers, one per driven velocity")
    rows = Decomposition.of(G, system.known(q, t))
    scale, allowed = rows.columns, rows.Vt[rows.rank :].T
    fixed = np.linalg.norm(allowed, axis=1, keepdims=True) <= RANK_TOLERANCE  # by the constraints: the rest is rounding
    B = scale[:, None] * np.where(fixed, 0, allowed)
    need = B.T @ (M @ a - f)
    rounding = 1e-12 * float(np.linalg.norm(scale * (M @ a)) + np.linalg.norm(scale * f))
    S = B.T[:, driven] * strength
    tau = np.zeros(mechanism.nv)
    reached = Decomposition.of(S, columns=np.ones(len(driven)))
    tau[driven] = strength * reached.solve(need)
    left = need - B.T @ tau
    if np.linalg.norm(left) > tolerance * float(np.linalg.norm(need)) + rounding:
        lacking = B @ left / np.linalg.norm(left)
        share = np.abs(lacking)
        names = [system.velocity_names()[k] for k in np.argsort(-share)[:3] if share[k] > RANK_TOLERANCE * share.max()]
        drives = f"the drives {', '.join(map(repr, actuated))}" if actuated else "no drives"
        freedom = counted(B.shape[1], "degree of freedom", "degrees of freedom")
        raise SingularityError(
            f"{drives} cannot produce this motion of {mechanism.name!r}: it has {freedom}, they reach "
            f"{reached.rank}. Not driven is mainly the motion of {', '.join(names)}"
        )
    surplus = len(driven) - int(reached.rank)
    rule = "least sum of (tau / weight)^2" if surplus else UNIQUE
    return Drives(tau, Decomposition.of(G).solve_transposed(M @ a - f - tau), surplus, rule)


def _sizes(system: Dynamics, state: States) -> np.ndarray:
    """By what accelerations at samples are measured: the most, along the motion, that rows are the sum of. Offsets of a
    constraint have one measure, and so have its angles: some of them may be small all the time.
    """
    most = np.zeros(system.constraints.count)
    for one in state:
        own, (q, v, a, t) = designed(system, one, 4)
        _, G, _, gamma = own.evaluate("constraints", q, v, t)
        with np.errstate(invalid="ignore", over="ignore"):
            found = np.abs(G) @ np.abs(a) + np.abs(gamma)
        most = np.maximum(most, np.where(np.isfinite(found), found, 0.0))
    return system.constraints.together(most)


def _possible(
    system: Dynamics,
    state: tuple[np.ndarray, np.ndarray, np.ndarray, float],
    terms: tuple[np.ndarray, ...],
    sizes: Callable[[], np.ndarray],
    tolerance: float,
) -> np.ndarray:
    """The accelerations themselves or, if they miss the constraints by a little, the nearest that do not.

    These are nearest in the sense of Gauss: they differ by what constraint forces would do, so drives stay as they are.
    """
    (q, v, a, t), (M, f, G, gamma) = state, terms
    miss = np.abs(G @ a - gamma)
    scale = np.abs(G).max(initial=0.0) * np.abs(a).max(initial=0.0) + np.abs(gamma).max(initial=0.0)
    # That much of a length is rounding, whatever the rows; so is that much of what forces would do without them.
    inertia = np.diag(M)
    freely = np.abs(G) @ np.abs(np.divide(f, inertia, out=np.zeros(len(f)), where=inertia > 0))
    rounding = 1e-12 * (1 + freely.max(initial=0.0)) + ZERO_SINGULAR_VALUE * np.abs(a).max(initial=0.0)
    if not miss.max(initial=0.0) > tolerance * scale + rounding:  # nor where something is not a number
        return a
    turning = float(np.abs(v / system.scaling.velocities).max(initial=0.0))
    limit = DIFFERENCES * sizes() + NEGLIGIBLE_SHARE * (freely + np.abs(G) @ np.abs(v) * turning) + rounding
    if (miss <= limit).all():
        return project_acceleration(system, q, v, a, t, tolerance=DIFFERENCES)  # drift may contradict itself by as much
    k = int((miss / limit).argmax())
    raise ArgumentError(
        f"the accelerations violate the constraints of {system.mechanism.name!r}, most of all {system.rows[k]} by "
        f"{miss[k]:.3g}; project_acceleration gives the nearest that do not"
    )
