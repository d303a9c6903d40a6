"""What users give to be simulated, as a system: dynamics made before are kept if they fit what is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

from dalembert.constraints.dynamics import ConstrainedDynamics
from dalembert.constraints.forces import ForceSet
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.model.names import as_names
from dalembert.simulation.drift import frequencies, tell_unused
from dalembert.simulation.state import as_position
from dalembert.simulation.system import System

Moving = Mechanism | Dynamics | ConstrainedDynamics
"""What can be simulated."""

_known: WeakKeyDictionary[Any, System] = WeakKeyDictionary()


def as_system(
    moving: Moving | System,
    include: Sequence[str] = (),
    wrenches: Sequence[str] = (),
    elements: Sequence[str] | str | None = None,
    reference: Any = None,
    drift: str | None = None,
    stabilisation: float = 0.0,
) -> System:
    """The system of a mechanism, or of dynamics made before, if they fit what is asked for.

    Args:
        moving: a mechanism, or its dynamics.
        include: joint terms to include.
        wrenches: frames on which wrenches act.
        elements: which force elements act, or ``"all"``.
        reference: positions, as a user gives them, near which constraints are examined.
        drift: one of :data:`~dalembert.simulation.drift.DRIFTS`, or None: projection, or with a frequency Baumgarte.
        stabilisation: the frequency, rad/s, that the others than projection need.
    """
    if isinstance(moving, System):
        return moving
    include = as_names("include", include)
    baumgarte, relaxation = frequencies(drift, stabilisation)
    if isinstance(moving, Dynamics):
        _fits("include", tuple(include), moving.include)
        if moving.device != "cpu":
            raise ArgumentError(
                f"simulation runs on the processor; the given Dynamics is for {moving.device!r}: give one made with "
                "device='cpu', or the mechanism; rollout(..., device='cuda') runs there"
            )
        missing = [name for name in wrenches if name not in moving.wrenches]
        if missing:
            raise ArgumentError(
                f"a force acts on {missing[0]!r}, but the given Dynamics was made with wrenches = {moving.wrenches};"
                " name the frame there too"
            )
        if moving.mechanism.constraints or moving.mechanism.forces:
            raise ArgumentError(
                f"{moving.mechanism.name!r} has constraints or force elements, which its Dynamics does not know; give "
                "the mechanism itself, or its ConstrainedDynamics"
            )
        system = _known.setdefault(moving, System(moving))
    elif isinstance(moving, ConstrainedDynamics):
        _fits("include", tuple(include), moving.include)
        if elements is not None and moving.mechanism.forces:
            raise ArgumentError("say which force elements act where the ConstrainedDynamics is made")
        if (drift is not None or baumgarte) and baumgarte != moving.stabilisation:
            raise ArgumentError(
                f"the given ConstrainedDynamics was made with stabilisation = {moving.stabilisation}; make it with the "
                "frequency of Baumgarte's method and leave out drift and stabilisation here, or without for the "
                "other methods"
            )
        dynamics = Dynamics(moving.mechanism, include=moving.include, wrenches=wrenches, open_loops=True)
        system = System(dynamics, moving, relaxation)
        if not (wrenches or relaxation):
            system = _known.setdefault(moving, system)
    elif isinstance(moving, Mechanism):
        dynamics = Dynamics(moving, include=include, wrenches=wrenches, open_loops=True)
        constrained = None
        if moving.constraints or moving.forces:
            near = as_position(moving, reference, batch=True).reshape(-1, moving.nq)
            constrained = ConstrainedDynamics(
                moving, forces=_elements(moving, elements), include=include, reference=near[0] if len(near) else None,
                stabilisation=baumgarte,
            )  # fmt: skip
        system = System(dynamics, constrained, relaxation)
    else:
        raise ArgumentError(
            f"got {type(moving).__name__}; give a Mechanism (dalembert.load(...)), Dynamics or ConstrainedDynamics"
        )
    if (baumgarte or relaxation) and not system.has_loops:
        tell_unused(system.mechanism.name)
    if not system.mechanism.forces:
        ForceSet(system.mechanism, elements)  # refuses names where there is nothing to name
    if system.mechanism.nv == 0:
        raise ArgumentError(f"{system.mechanism.name!r} has no degree of freedom: every joint is fixed or locked")
    return system


def _fits(name: str, asked: tuple[str, ...], made: tuple[str, ...]) -> None:
    if asked and asked != made:
        raise ArgumentError(
            f"{name} = {asked}, but the given dynamics was made with {name} = {made}; say it there only"
        )


def _elements(mechanism: Mechanism, given: Sequence[str] | str | None) -> Sequence[str] | str | None:
    if given is None and mechanism.forces:
        names = ", ".join(repr(force.name) for force in mechanism.forces)
        raise ArgumentError(
            f"{mechanism.name!r} has the force elements {names}: say elements='all', name those that shall act, or say "
            "elements=() for none"
        )
    return given
