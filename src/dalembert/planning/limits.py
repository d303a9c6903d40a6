"""Whether a motion stays within what its joints and drives can do: range, speed and effort of every joint.

The numbers are those of ``Limits`` of the joints, which the algorithms themselves never enforce.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.dynamics import Dynamics, KernelTable
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.checks import expect, expect_real
from dalembert.model.consumers import heed
from dalembert.model.names import named_positions, named_velocities, position_names, velocity_names
from dalembert.model.states import RANGED, position_ranges


class DriveLimits(NamedTuple):
    """Ranges of the positions, nq, largest speeds and largest efforts, nv; infinite where there is none.

    Args:
        lower: least positions.
        upper: largest positions.
        speed: largest speeds.
        effort: largest generalised forces.
    """

    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    effort: np.ndarray


@dataclass(frozen=True, eq=False)
class LimitUse:
    """How much of their limits a motion uses.

    Args:
        within: whether nothing is exceeded, (...).
        beyond: how far positions are outside their range, zero inside, (..., nq).
        speed: part of the largest speed that is used, (..., nv); zero if there is none.
        effort: part of the largest effort that is used, (..., nv); zero if there is none, or no forces were given.
        names: of the positions and of the velocities.
    """

    within: np.ndarray
    beyond: np.ndarray
    speed: np.ndarray
    effort: np.ndarray
    names: tuple[tuple[str, ...], tuple[str, ...]]

    def violations(self) -> list[str]:
        """What is exceeded, worst first for each: joint, by how much, at which sample."""
        found = []
        for what, x, least, names in (
            ("position", self.beyond, 0.0, self.names[0]),
            ("speed", self.speed, 1.0, self.names[1]),
            ("effort", self.effort, 1.0, self.names[1]),
        ):
            flat = x.reshape(-1, x.shape[-1])
            for k in np.flatnonzero((flat > least).any(axis=0)) if flat.size else ():
                worst = int(np.argmax(flat[:, k]))
                much = (
                    f"{flat[worst, k]:.4g} outside its range" if not least else f"{flat[worst, k]:.4g} times its limit"
                )
                found.append(f"{what} of {names[k]}: {much}, at sample {worst}")
        return found


def drive_limits(mechanism: Mechanism, ranges: bool = True) -> DriveLimits:
    """Limits of every coordinate; a joint that follows another one restricts the one it follows.

    Args:
        mechanism: the mechanism.
        ranges: false for infinite ranges.
    """
    expect(mechanism, Mechanism, "mechanism")
    lower, upper = np.full(mechanism.nq, -np.inf), np.full(mechanism.nq, np.inf)
    if ranges:
        lower, upper = position_ranges(mechanism)
    speed, effort = np.full(mechanism.nv, np.inf), np.full(mechanism.nv, np.inf)
    for joint in mechanism.joints:
        if joint.kind not in (*RANGED, "continuous"):
            continue
        gain, along = 1.0, mechanism.v_slice(joint.name)
        if joint.mimic is not None:
            gain, along = float(joint.mimic.multiplier), mechanism.v_slice(joint.mimic.joint)
        if not gain:
            continue
        speed[along] = np.minimum(speed[along], joint.limits.velocity / abs(gain))
        if joint.mimic is None:
            effort[along] = np.minimum(effort[along], joint.limits.effort)
    return DriveLimits(lower, upper, speed, effort)


def limit_use(
    mechanism: Mechanism | Dynamics, q: Any, v: Any = None, a: Any = None, *, tau: Any = None, tolerance: float = 1e-9
) -> LimitUse:
    """How much of range, speed and effort a motion uses, sample by sample; any batch shape.

    Args:
        mechanism: the mechanism, or its dynamics, whose joint terms then count among the efforts.
        q: positions, (..., nq).
        v: velocities, (..., nv); zero by default.
        a: accelerations, (..., nv): efforts are those of inverse dynamics.
        tau: efforts, (..., nv), where they are known.
        tolerance: how much of a limit may be exceeded without counting, for rounding.
    """
    dynamics = mechanism if isinstance(mechanism, KernelTable) else None
    model = mechanism.mechanism if isinstance(mechanism, KernelTable) else expect(mechanism, Mechanism, "mechanism")
    tolerance = expect_real(tolerance, "limit_use, tolerance", 0)
    q = named_positions(model, q, "q")
    v = np.zeros((*q.shape[:-1], model.nv)) if v is None else named_velocities(model, v, "v")
    if q.shape[-1:] != (model.nq,) or v.shape[-1:] != (model.nv,):
        raise ArgumentError(
            f"q and v have shapes {q.shape}, {v.shape}; {model.name!r} needs (..., {model.nq}), (..., {model.nv})"
        )
    if a is not None and tau is not None:
        raise ArgumentError("limit_use: a and tau both say what the efforts are; give one of them")
    if a is not None:
        dynamics = dynamics or Dynamics(model)
        heed("planning.limit_use", dynamics)
        tau = dynamics.evaluate("inverse_dynamics", q, v, a)
    known = drive_limits(model)
    beyond = np.maximum(np.maximum(known.lower - q, q - known.upper), 0)
    speed = np.abs(v) / known.speed
    effort = np.zeros_like(speed) if tau is None else np.abs(named_velocities(model, tau, "tau")) / known.effort
    good = (beyond <= tolerance).all(-1) & (speed <= 1 + tolerance).all(-1) & (effort <= 1 + tolerance).all(-1)
    names = tuple(position_names(model)), tuple(velocity_names(model))
    return LimitUse(good, beyond, speed, effort, names)
