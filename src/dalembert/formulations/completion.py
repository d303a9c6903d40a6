"""From mass matrix and bias to equations of motion: drives, external wrenches, passive forces, constraints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.errors import ArgumentError
from dalembert.formulations.equations import DerivationStep, Equations, Lazy
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.steps import closing_steps
from dalembert.formulations.system import MultibodySystem, quantity
from dalembert.typesetting.names import distinct, identifier


def external_forces(system: MultibodySystem, frames: Sequence[str]) -> np.ndarray | None:
    """Generalised forces of wrenches on frames (PARSA (28)); each wrench becomes an input of six numbers.

    Args:
        frames: the frames on which wrenches ``[force; moment]`` act, frame axes, about the frame's origin.
    """
    if not frames:
        return None
    if twice := sorted({frame for frame in frames if list(frames).count(frame) > 1}):
        raise ArgumentError(f"wrenches: {', '.join(twice)} is named twice; one wrench on a frame is enough")
    total = np.zeros(system.n, dtype=object)
    for frame, short in zip(frames, distinct(map(identifier, frames), ())):
        place = system.place(frame)
        wrench = system.scope.input(
            f"wrench_{short}", [f"{kind}_{axis}_{short}" for kind in ("f", "n") for axis in ("x", "y", "z")]
        )
        force, moment = product(place.rotation, wrench[:3]), product(place.rotation, wrench[3:])
        total = total + product(place.Jv.T, force) + product(place.Jw.T, moment)
    return total


def velocities_called(system: MultibodySystem, name: str) -> list[int]:
    """Where the velocities of a joint, or else a single one, lie in v; nowhere, if none is called so.

    Args:
        name: of a joint or of a velocity.
    """
    of_joint = [k for k, (_, joint) in enumerate(system.velocity_names) if joint == name]
    return of_joint or [k for k, (velocity, _) in enumerate(system.velocity_names) if velocity == name]


def driven_velocities(system: MultibodySystem, actuated: Sequence[str] | None) -> list[int]:
    """For every input the place in v of the velocity that it drives; all of them by default.

    Args:
        actuated: names of joints, in the order of the inputs; a joint of several degrees takes several inputs.
    """
    if actuated is None:
        return list(range(system.n))
    places: list[int] = []
    for name in actuated:
        found = velocities_called(system, name)
        if not found:
            known = ", ".join(dict.fromkeys(x for velocity, joint in system.velocity_names for x in (joint, velocity)))
            raise ArgumentError(f"cannot actuate {name!r}: {system.name!r} has the joints and velocities {known}")
        if again := [system.velocity_names[k][0] for k in found if k in places]:
            raise ArgumentError(f"actuated: {again[0]} is driven twice")
        places += found
    return places


def input_map(system: MultibodySystem, driven: Sequence[int]) -> np.ndarray:
    """D, n x inputs: ones where an input drives a velocity.

    Args:
        driven: what :func:`driven_velocities` gives.
    """
    return np.eye(system.n, dtype=int).astype(object)[:, list(driven)]


def total_passive(system: MultibodySystem) -> np.ndarray | None:
    """All passive forces together."""
    if not system.passive:
        return None
    total = np.zeros(system.n, dtype=object)
    for _, force in system.passive:
        total = total + force
    return total


def completed(
    system: MultibodySystem,
    method: str,
    M: np.ndarray,
    c: np.ndarray,
    g: np.ndarray,
    steps: Sequence[DerivationStep],
    sources: Sequence[str],
    *,
    bias: np.ndarray | None = None,
    wrenches: Sequence[str] = (),
    actuated: Sequence[str] | None = None,
    extras: Mapping[str, Callable[[], DerivedQuantity]] | None = None,
) -> Equations:
    """Equations of motion in the velocities of the system, constraints by multipliers.

    Args:
        c: centrifugal and Coriolis forces.
        g: gravity forces.
        steps: the derivation so far.
        sources: keys of the documents used.
        bias: c + g, if there is a cheaper way to both.
        wrenches: frames on which external wrenches act.
        actuated: names of the driven joints.
        extras: what else the method offers, made on demand.
    """

    def make(name: str, symbol: str, values: Any) -> DerivedQuantity | None:
        return None if values is None else quantity(system, name, symbol, values)

    rows, driven = system.constraints, driven_velocities(system, actuated)
    A, gamma = (rows.A, -rows.gamma) if rows else (None, None)
    parts: dict[str, Any] = {
        "mass_matrix": make("mass_matrix", "M", M),
        "coriolis": make("coriolis", "c", c),
        "gravity": make("gravity", "G", g),
        "bias": make("bias", "h", c + g if bias is None else bias),
        "kinematics": make("kinematics", r"\dot{q}", system.qdot),
        "input_map": make("input_map", "D", input_map(system, driven)),
        "passive": make("passive", "p", total_passive(system)),
        "external": make("external", "e", external_forces(system, wrenches)),
        "constraint_matrix": make("constraint_matrix", "A", A),
        "constraint_bias": make("constraint_bias", r"\gamma", gamma),
    }
    return Equations(
        system.name, method, system.scope, **parts, extras=Lazy(extras or {}),
        derivation=(*steps, *closing_steps(system, parts)), sources=tuple(dict.fromkeys(sources)), driven=tuple(driven),
    )  # fmt: skip
