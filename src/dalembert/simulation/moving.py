"""What users give to be simulated, as dynamics with a stabiliser: dynamics made before are kept if they fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.names import as_names
from dalembert.simulation.drift import frequencies, tell_unused
from dalembert.simulation.stabiliser import Stabiliser
from dalembert.simulation.state import as_position

Moving = Mechanism | Dynamics
"""What can be simulated."""


def stabilised(
    moving: Moving | Stabiliser,
    include: Sequence[str] = (),
    wrenches: Sequence[str] = (),
    constraints: Sequence[str] | str = "all",
    elements: Sequence[str] | str = "all",
    parameters: Any = None,
    reference: Any = None,
    drift: str | None = None,
    stabilisation: float = 0.0,
) -> Stabiliser:
    """The dynamics of a mechanism, or dynamics made before, if they fit what is asked for, with the drift they allow.

    Args:
        moving: a mechanism, or its dynamics.
        include: joint terms to include.
        wrenches: frames on which wrenches act.
        constraints: which constraints hold, or ``"all"``.
        elements: which force elements act, or ``"all"``.
        parameters: as a user gives them; those by address become inputs of the kernels.
        reference: positions, as a user gives them, near which constraints are examined.
        drift: one of :data:`~dalembert.simulation.drift.DRIFTS`, or None: projection, or with a frequency Baumgarte.
        stabilisation: the frequency, rad/s, that the others than projection need.
    """
    if isinstance(moving, Stabiliser):
        return moving
    include = as_names("include", include)
    baumgarte, relaxation = frequencies(drift, stabilisation)
    if isinstance(moving, Dynamics):
        _check_fit(moving, include, wrenches, constraints, elements)
        if (drift is not None or baumgarte) and moving.rows and baumgarte != moving.stabilisation:
            raise ArgumentError(
                f"the given Dynamics was made with stabilisation = {moving.stabilisation}; make it with the "
                "frequency of Baumgarte's method and leave out drift and stabilisation here, or without for the "
                "other methods"
            )
        dynamics = moving
    elif isinstance(moving, Mechanism):
        addresses = [x for x in map(str, parameters) if "." in x] if isinstance(parameters, Mapping) else []
        near = None
        if moving.constraints or moving.forces:
            starts = as_position(moving, reference, batch=True).reshape(-1, moving.nq)
            near = starts[0] if len(starts) else None
        dynamics = Dynamics(
            moving, constraints=constraints, elements=elements, include=include, wrenches=wrenches, reference=near,
            stabilisation=baumgarte, parameters=addresses,
        )  # fmt: skip
    else:
        raise ArgumentError(f"got {type(moving).__name__}; give a Mechanism (dalembert.load(...)) or its Dynamics")
    system = dynamics.made.setdefault(("stabiliser", relaxation), Stabiliser(dynamics, relaxation))
    if (baumgarte or relaxation) and not system.has_loops:
        tell_unused(system.mechanism.name)
    if system.mechanism.nv == 0:
        raise ArgumentError(f"{system.mechanism.name!r} has no degree of freedom: every joint is fixed or locked")
    return system


def _check_fit(
    made: Dynamics,
    include: Sequence[str],
    wrenches: Sequence[str],
    constraints: Sequence[str] | str,
    elements: Sequence[str] | str,
) -> None:
    """Refuse what contradicts the way in which dynamics were made."""
    own = {
        "include": (tuple(include) or "all", made.include),
        "constraints": (constraints, tuple(made.constraints.info)),
        "elements": (elements, made.elements.names),
    }
    for name, (asked, there) in own.items():
        if not (isinstance(asked, str) and asked == "all") and set(as_names(name, asked)) != set(there):
            raise ArgumentError(
                f"{name} = {asked}, but the given dynamics was made with {name} = {there}; say it there only"
            )
    if made.device != "cpu":
        raise ArgumentError(
            f"simulation runs on the processor; the given Dynamics is for {made.device!r}: give one made with "
            "device='cpu', or the mechanism; rollout(..., device='cuda') runs there"
        )
    missing = [name for name in wrenches if name not in made.wrenches]
    if missing:
        raise ArgumentError(
            f"a wrench acts on {missing[0]!r}, but the given Dynamics was made with wrenches = {made.wrenches};"
            " name the frame there too"
        )
