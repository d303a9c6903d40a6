"""Constrained motion as the compiled kernels have it, held against a derivation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.constraints import ConstrainedDynamics
from dalembert.constraints.descent import moved, units
from dalembert.constraints.numeric import METHODS
from dalembert.errors import SingularityError, UnsupportedError

NEAR = 0.1
"""Standard deviation of states around home, rad or lengths of the mechanism."""


@dataclass(frozen=True)
class Motion:
    """A state on the constraints and its acceleration without drives.

    Args:
        q: positions.
        v: velocities.
        t: time, s.
        a: accelerations, as derived.
        scale: what errors are measured by.
    """

    q: np.ndarray
    v: np.ndarray
    t: float
    a: np.ndarray
    scale: float

    def error(self, a: Any) -> float:
        """Relative difference of other accelerations.

        Args:
            a: accelerations.
        """
        return float(np.abs(a - self.a).max(initial=0.0) / self.scale)


def closed_near(
    system: ConstrainedDynamics,
    q: np.ndarray,
    home: np.ndarray | None,
    t: float,
    rng: np.random.Generator,
    said: list[str],
) -> np.ndarray:
    """Positions that satisfy the constraints: near home, or else near random ones or, failing that, the neutral one.

    Args:
        system: the mechanism with its constraints.
        q: random positions.
        home: where to close loops instead; None if nobody said.
        t: time, s.
        rng: source of deviations from home.
        said: receives a remark where random positions lead to no assembly.
    """
    if home is None:
        try:
            return system.assemble(q, t)
        except SingularityError:
            remark = (
                "constraints at random positions: they lead to no assembly; compared around the neutral one instead"
            )
            if remark not in said:
                said.append(remark)
    deviation = NEAR * rng.normal(size=system.mechanism.nv) * units(system)
    return system.assemble(moved(system.mechanism, system.reference, deviation), t)


def compiled_errors(system: ConstrainedDynamics, motions: list[Motion], skipped: list[str]) -> dict[str, float]:
    """Largest errors, by route: every method on the compiled terms, and both kinds of kernel around the first motion.

    Args:
        system: the mechanism with its constraints.
        motions: at least one.
        skipped: receives what is left out.
    """
    mechanism = system.mechanism
    rest, first = np.zeros(mechanism.nv), motions[0]
    errors: dict[str, float] = {}
    for method in METHODS:
        try:
            errors[f"compiled terms, {method}"] = max(
                motion.error(system.solve(motion.q, motion.v, rest, motion.t, method=method).a) for motion in motions
            )
        except (UnsupportedError, SingularityError) as error:
            skipped.append(f"constraints, compiled terms by {method}: {error}")
    for method in ("multipliers", "projection"):
        try:
            kernel = ConstrainedDynamics(
                mechanism, forces=system.forces.names, include=system.include, method=method, reference=first.q,
                parameters=system.parameters.tolist(),
            )  # fmt: skip
            found = kernel.forward_dynamics(first.q, first.v, rest, first.t)
        except (UnsupportedError, SingularityError) as error:
            skipped.append(f"constraints, compiled kernel of {method}: {error}")
            continue
        if np.isfinite(found).all():
            errors[f"compiled kernel, {method}"] = first.error(found)
        else:  # its way to say so
            skipped.append(f"constraints, compiled kernel of {method}: rows lose rank at the state compared")
    return errors
