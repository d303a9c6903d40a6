"""How states are held on constraints while they are integrated."""

from __future__ import annotations

import warnings

from dalembert.errors import ArgumentError, SimulationWarning
from dalembert.model.checks import real_array, shown

DRIFTS = {
    "projection": "after every step the state is brought back, to rounding",
    "baumgarte": "violations of positions act on accelerations like a damped spring",
    "ggl": "positions and velocities go back separately, the former by multipliers of their own",
}
"""Ways to hold states on the constraints, by name."""


def frequencies(drift: str | None, stabilisation: float) -> tuple[float, float]:
    """Of Baumgarte's method and of relaxation (Gear, Gupta and Leimkuhler), rad/s; zero for the ways not chosen.

    Args:
        drift: one of :data:`DRIFTS`, or None: projection, or with a frequency Baumgarte's method.
        stabilisation: the frequency, rad/s, that the others than projection need.
    """
    frequency = real_array(stabilisation, "stabilisation")
    if frequency.ndim:
        raise ArgumentError(f"stabilisation = {shown(stabilisation)}; it is one frequency, rad/s")
    stabilisation = float(frequency)
    if drift is None:
        drift = "baumgarte" if stabilisation else "projection"
    if not isinstance(drift, str) or drift not in DRIFTS:
        raise ArgumentError(f"drift = {shown(drift)}; choose one of {', '.join(DRIFTS)}")
    if drift == "projection":
        if stabilisation:
            raise ArgumentError("projection needs no stabilisation frequency; leave out stabilisation or drift")
        return 0.0, 0.0
    if not 0 < stabilisation < float("inf"):
        raise ArgumentError(f"drift = {drift!r} needs a positive frequency, rad/s; stabilisation = {stabilisation}")
    return (float(stabilisation), 0.0) if drift == "baumgarte" else (0.0, float(stabilisation))


def tell_unused(name: str) -> None:
    """Warn whoever called ``simulate`` or ``rollout`` that there is nothing to hold.

    Args:
        name: of the mechanism.
    """
    warnings.warn(
        f"{name!r} has no constraints, so that drift and stabilisation do nothing; they belong to mechanisms with "
        "closed loops, rolling or given motions",
        SimulationWarning,
        stacklevel=4,
    )


def tell_locked(name: str) -> None:
    """Warn whoever called ``simulate`` or ``rollout`` that the constraints leave nothing that could move.

    Args:
        name: of the mechanism.
    """
    warnings.warn(
        f"the constraints of {name!r} leave no degree of freedom: it stands still. Dynamics(mechanism)."
        "analyse(q) says which rows do that, and its reactions are the forces of the structure",
        SimulationWarning,
        stacklevel=4,
    )
