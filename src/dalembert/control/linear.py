"""Linear models of mechanisms around a state, for the tools of control engineering.

The state is x = (dq, dv), with dq along tangent vectors: for a quaternion the small rotation in child axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics, KernelTable
from dalembert.dynamics.linearization import LinearModel
from dalembert.errors import ArgumentError, SingularityError
from dalembert.labels import names_of
from dalembert.model import Mechanism
from dalembert.model.checks import real_array, shown
from dalembert.model.consumers import heed
from dalembert.model.names import as_names, position_names, velocity_names
from dalembert.simulation.stabiliser import Moving, movable
from dalembert.simulation.state import as_parameters, as_position, as_velocity


def linearize(
    mechanism: Moving,
    q: Any = None,
    v: Any = None,
    tau: Any = None,
    *,
    actuated: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    include: Sequence[str] = (),
    parameters: Any = None,
) -> LinearModel:
    """The linear model of a mechanism around a state.

    The model of equations of motion has their inputs; with speeds of their own its states are coordinates and speeds,
    and where loops were eliminated the coordinates in it are not independent.

    Args:
        mechanism: the mechanism, or equations of motion, or the dynamics of either; constraints of a mechanism leave a
            model of independent coordinates.
        q: positions, nq numbers or by joint name; neutral by default.
        v: velocities, nv numbers or by joint name; zero by default.
        tau: generalised forces there, nv numbers; by default those that hold a tree still, else 0.
        actuated: names of velocities that have a motor, or of joints for all of theirs; all by default.
        outputs: names of the states that are measured; all by default.
        include: which of ``armature``, ``damping``, ``friction`` of the joints enter.
        parameters: values of the mechanism's symbols, by name.
    """
    dynamics = dynamics_of(mechanism, include, parameters)
    model = dynamics.mechanism
    position, velocity = as_position(model, q, name="q"), as_velocity(model, v, name="v")
    heed("control.linearize", dynamics)
    values = as_parameters(dynamics, parameters)
    if opened := dynamics.open_loops(position, 0.0, values):
        raise ArgumentError(f"linearize: {opened}")
    if dynamics.is_tree:
        last = () if values is None else (values,)
        time = (np.float64(0),) if dynamics.takes_time else ()
        last = (*time, *last)
        force = _holding(dynamics, position, velocity, last) if tau is None else tau
        force = forces_of(force, len(dynamics.input_names))
        with np.errstate(divide="ignore", invalid="ignore"):  # reported below
            A, B = dynamics.evaluate("linearize", position, velocity, force, *time, parameters=values)
        states = state_names(dynamics)
        why = "its mass matrix is singular (a body without mass or inertia can move by itself), or numbers overflow"
    else:
        if values is not None:
            dynamics = dynamics.with_parameters(values)
        force = np.zeros(model.nv) if tau is None else forces_of(tau, model.nv)
        found = dynamics.linear_model(position, velocity, force)
        A, B, states = found.A, found.B, found.states
        why = (
            "its mass matrix is singular, or a force has no value or no derivative there, as an attraction has none at "
            "the attracting point"
        )
    if not (np.isfinite(A).all() and np.isfinite(B).all()):
        raise SingularityError(f"{model.name!r} has no linear model at q = {position}: {why}")
    inputs = dynamics.input_names
    chosen = inputs_of(dynamics, actuated)
    seen = indices_of(states, outputs, "output")
    return LinearModel(
        A, B[:, chosen], np.eye(len(A))[seen], np.zeros((len(seen), len(chosen))),
        tuple(states), tuple(inputs[k] for k in chosen), tuple(states[k] for k in seen),
    )  # fmt: skip


def _holding(dynamics: Any, q: np.ndarray, v: np.ndarray, last: tuple[Any, ...]) -> np.ndarray:
    """Generalised forces that hold a tree still; the inputs of equations as far as these drive all that they reach."""
    if dynamics.equations is None:
        return dynamics.bias(q, v, *last)
    zero = np.zeros(len(v))
    needed = dynamics.inverse_dynamics(q, v, zero, *last)
    columns = [dynamics.input_forces(q, v, unit, *last) for unit in np.eye(len(dynamics.input_names))]
    D = np.array(columns).reshape(-1, len(v)).T
    return np.linalg.lstsq(D, needed, rcond=None)[0]


def state_names(dynamics: Any) -> tuple[str, ...]:
    """What the states of a linear model are called: positions along velocities, then rates; with speeds of their own
    coordinates, then speeds.

    Args:
        dynamics: of a tree, or of equations.
    """
    names = velocity_names(dynamics.mechanism)
    if getattr(dynamics.mechanism, "speeds", ()):
        return (*position_names(dynamics.mechanism), *names)
    return (*names, *(f"{name} rate" for name in names))


def inputs_of(dynamics: Any, given: Sequence[str] | None) -> list[int]:
    """Which entries of tau have a motor.

    Args:
        given: names of velocities, or of joints for all of theirs, or of the inputs of equations; all if None.
    """
    if dynamics.input_names != dynamics.velocity_names():
        return indices_of(dynamics.input_names, given, "input")
    return motors_of(dynamics.mechanism, given)


def dynamics_of(mechanism: Moving, include: Sequence[str] = (), parameters: Any = None) -> Any:
    """The dynamics of a mechanism, or those given, if they fit.

    Args:
        mechanism: the mechanism, or equations of motion, or the dynamics of either.
        include: joint terms to include.
        parameters: as a user gives them; those by address become inputs of the kernels.
    """
    include = as_names("include", include)
    mechanism = movable(mechanism)
    if isinstance(mechanism, Mechanism):
        return Dynamics(mechanism, include=include, parameters=[name for name in names_of(parameters) if "." in name])
    if not isinstance(mechanism, KernelTable):
        raise ArgumentError(f"got {type(mechanism).__name__}; give a Mechanism, Equations or the Dynamics of either")
    if include not in ((), tuple(mechanism.include)):
        raise ArgumentError(f"include = {include}, but the given dynamics was made with {mechanism.include}")
    return mechanism


def forces_of(given: Any, count: int) -> np.ndarray:
    """Generalised forces as a user gives them.

    Args:
        count: how many there must be.
    """
    force = real_array(given, "tau")
    if force.shape != (count,) or not np.isfinite(force).all():
        raise ArgumentError(f"tau has shape {force.shape} and must be {count} finite numbers: {shown(given)}")
    return force


def indices_of(names: Sequence[str], given: Sequence[str] | None, what: str) -> list[int]:
    """Where names stand, or an error that lists all there are.

    Args:
        given: the wanted ones; all if None.
        what: one of them is, for the error.
    """
    if given is None:
        return list(range(len(names)))
    found = []
    for name in as_names(f"{what}s", given):
        if name not in names:
            raise ArgumentError(f"there is no {what} {name!r}; choose among {', '.join(names)}")
        place = list(names).index(name)
        if place in found:
            raise ArgumentError(f"the {what} {name!r} is named twice")
        found.append(place)
    return found


def motors_of(model: Mechanism, given: Sequence[str] | None) -> list[int]:
    """Which entries of v have a motor.

    Args:
        given: names of velocities, or of joints for all of theirs; all if None.
    """
    names = velocity_names(model)
    if given is None:
        return list(range(len(names)))
    parts = {joint.name: names[model.v_slice(joint.name)] for joint in model.joints if joint.nv > 1}
    spelled = [part for name in as_names("actuated", given) for part in parts.get(name, (name,))]
    return indices_of(names, spelled, "actuated velocity")
