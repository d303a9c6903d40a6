"""What a user gives to begin with - positions, velocities, times, parameters - checked and brought into one form."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError, ModelWarning
from dalembert.kinematics.manifold import normalise_in_place, quaternion_places
from dalembert.labels import NamedAxis, arranged
from dalembert.model import Mechanism
from dalembert.model.checks import real_array, shown
from dalembert.model.names import (
    named_positions,
    named_velocities,
    position_names,
    position_parts,
    velocity_names,
)
from dalembert.model.state_space import StateSpace
from dalembert.model.states import position_ranges
from dalembert.text.layout import printable
from dalembert.text.suggest import hint

UNIT_LENGTH_SLACK = 1e-6
"""How far from 1 the length of a given quaternion may be."""

RANGE_SLACK = 1e-6
"""How far outside its range a joint may begin, rad or m."""

MOST_TOLD = 4
"""Joints that one warning names."""

PARAMETER_SETS_AT_ONCE = 4096
"""Sets of parameters whose mass matrices are examined at once."""


def as_position(mechanism: Mechanism, given: Any, batch: bool = False, name: str = "q0") -> np.ndarray:
    """Positions, quaternions of unit length; by default the neutral one.

    Args:
        given: an array of nq numbers; or by joint name, others at their neutral value; or None.
        batch: allow leading dimensions.
        name: of the argument, for errors.
    """
    names = position_names(mechanism)
    if isinstance(given, Mapping):
        _refuse_single_positions(mechanism, given, name)
    q = mechanism.neutral.copy() if given is None else named_positions(mechanism, given, name, batch=batch)
    _check(mechanism, q, name, names, batch)
    for k in quaternion_places(mechanism.tree):
        length = np.linalg.norm(q[..., k : k + 4], axis=-1)
        worst = float(np.abs(length - 1).max(initial=0))
        if worst > UNIT_LENGTH_SLACK:
            raise ArgumentError(
                f"{{argument}}[{k}:{k + 4}] must be a unit quaternion [x, y, z, w], scalar last; its length is off by "
                f"{worst:.3g}",
                argument=name,
            )
    return normalise_in_place(mechanism.tree, q)


LOOKED_AT = 1024
"""So many of the starts of a rollout are looked at for joints outside their ranges."""

RANGES = "ranges"
"""Among what a Dynamics need not warn of: its motions go on where others have ended."""


def tell_of_ranges(mechanism: Mechanism, q: np.ndarray, name: str = "q0", heeded: set[Any] | None = None) -> None:
    """Warn of joints that begin outside their ranges: no robot can stand there.

    Args:
        mechanism: the mechanism; equations without joints have no ranges.
        q: positions, (..., nq); of several the worst is named.
        name: of the argument.
        heeded: what a Dynamics need not warn of; with :data:`RANGES` nothing is said.
    """
    if not isinstance(mechanism, Mechanism) or not q.size or (heeded is not None and RANGES in heeded):
        return
    lower, upper = position_ranges(mechanism)
    beyond = np.maximum(lower - q, q - upper).reshape(-1, mechanism.nq)
    outside = np.flatnonzero(beyond.max(axis=0) > RANGE_SLACK)
    if not len(outside):
        return
    units = {part: unit for joint in mechanism.joints if joint.nq for part, unit in position_parts(joint)}
    told = []
    for k in outside[:MOST_TOLD]:
        part = position_names(mechanism)[k]
        scale, unit = (180 / np.pi, "degrees") if units[part] == "rad" else (1.0, units[part])
        value = q.reshape(beyond.shape)[int(beyond[:, k].argmax()), k]
        told.append(
            f"{printable(part)} at {value * scale:.4g} {unit}, range {lower[k] * scale:.4g} to {upper[k] * scale:.4g}"
        )
    more = f"; and {len(outside) - len(told)} more" if len(outside) > len(told) else ""
    many = "s of their joints" if len(outside) > 1 else " of a joint"
    warnings.warn(
        ModelWarning(
            f"{printable(mechanism.name)}: {{argument}} is outside the range{many}: {'; '.join(told)}{more}",
            argument=name,
            remedy="begin within the ranges by {argument}, or correct the Limits of the joints",
        ),
        stacklevel=3,
    )


def as_velocity(mechanism: Mechanism, given: Any, batch: bool = False, name: str = "v0") -> np.ndarray:
    """Velocities; zero by default.

    Args:
        given: an array of nv numbers; or by name of a joint or of a single velocity, others zero; or None.
        batch: allow leading dimensions.
        name: of the argument, for errors.
    """
    rates = mechanism.rates if isinstance(mechanism, StateSpace) else None
    v = np.zeros(mechanism.nv)
    if given is not None:
        v = named_velocities(mechanism, given, name, batch=batch, entries=rates or ())
    _check(mechanism, v, name, velocity_names(mechanism), batch)
    return v


def _refuse_single_positions(mechanism: Mechanism, given: Mapping[str, Any], name: str) -> None:
    for joint in mechanism.joints:
        parts = [part for part, _ in position_parts(joint)]
        if len(parts) > 1 and (found := [key for key in given if key in parts]) and not _is_joint(mechanism, found[0]):
            raise ArgumentError(
                f"{{argument}}[{found[0]!r}]: positions of a joint are given together, those of {joint.name!r} as "
                f"{len(parts)} numbers: {', '.join(parts)}",
                argument=name,
            )


def _is_joint(mechanism: Mechanism, name: str) -> bool:
    return any(joint.name == name for joint in mechanism.joints)


def _check(mechanism: Mechanism, vector: np.ndarray, name: str, entries: Sequence[str], batch: bool) -> None:
    """Raise unless there is a finite number for every entry."""
    count = len(entries)
    if vector.shape[-1:] != (count,) or (vector.ndim != 1 and not batch):
        wanted = f"(..., {count})" if batch else f"({count},)"
        raise ArgumentError(
            f"{{argument}} has shape {vector.shape}, but {mechanism.name!r} needs {wanted}: "
            f"{', '.join(entries[:8])}{', ...' if count > 8 else ''}",
            argument=name,
        )
    bad = np.argwhere(~np.isfinite(vector))
    if len(bad):
        k = tuple(int(i) for i in bad[0])
        raise ArgumentError(
            f"{{argument}}{list(k)} ({entries[k[-1]]}) is {vector[k]}; all numbers must be finite", argument=name
        )


def as_positive(name: str, value: Any, unit: str = "", infinite: bool = False) -> float:
    """A positive number.

    Args:
        name: of the argument, for the error.
        value: what the user gave.
        infinite: allow infinity.
    """
    try:
        number = float("nan") if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not (number > 0 and (infinite or number < float("inf"))):
        raise ArgumentError(f"{name} = {value!r}{unit and ' ' + unit}; it must be a positive number")
    return number


def as_flag(name: str, value: Any) -> bool:
    """True or false.

    Args:
        name: of the argument, for the error.
        value: what the user gave.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{name} = {shown(value)}; it is True or False")
    return bool(value)


def as_times(t: Any) -> tuple[np.ndarray, bool]:
    """Times of samples, and whether the user chose them: a number is the end of a run that starts at 0.

    Args:
        t: a positive number, or increasing times of which the first is the start.
    """
    try:
        times = real_array(t, "t")
    except ArgumentError as error:
        raise ArgumentError(f"t is {t!r}; give the duration in seconds, or an array of increasing times") from error
    if not np.isfinite(times).all():
        raise ArgumentError(f"t is {t!r}; times must be finite numbers")
    if times.ndim == 0:
        if not times > 0:
            raise ArgumentError(f"t = {float(times)} s; the duration must be positive")
        return np.array([0.0, float(times)]), False
    if times.ndim != 1 or len(times) < 2:
        raise ArgumentError(f"t has shape {times.shape}; give one number, or at least two times in one dimension")
    steps = np.diff(times)
    if not (steps > 0).all():
        k = int(np.argmax(steps <= 0))
        raise ArgumentError(f"times must increase, but t[{k}] = {times[k]} is followed by t[{k + 1}] = {times[k + 1]}")
    return times, True


def as_parameters(dynamics: Dynamics, given: Any, batch: bool = False) -> np.ndarray | None:
    """Values of the parameters in their order, or None if it has none; masses, inertias, friction not below 0.

    Args:
        dynamics: knows their names; parameters named by address have a default, symbols do not.
        given: by name, or an array in the order of ``dynamics.parameter_names``, or None.
        batch: allow leading dimensions of an array.
    """
    values = parameter_array(dynamics, given, batch)
    if values is not None:
        _check_masses(dynamics, values)
        _check_contacts(dynamics, values)
    return values


def _check_contacts(dynamics: Dynamics, values: np.ndarray) -> None:
    """Refuse numbers of contacts below zero, and restitution beyond one."""
    if dynamics.equations is not None:
        return
    places = {name: k for k, name in enumerate(dynamics.parameter_names)}
    for contact in dynamics.mechanism.contacts:
        for number in contact.numbers:
            address = f"{contact.name}.{number}"
            name = address if address in places else str(getattr(contact, number))  # or a symbol
            if name not in places:
                continue
            column = values[..., places[name]]
            most = 1.0 if number == "restitution" else np.inf
            wrong = column[(column < 0) | (column > most)]
            if wrong.size:
                limits = "lies between 0 (no rebound) and 1 (no loss)" if most == 1 else "is a number not below 0"
                raise ArgumentError(
                    f"parameters: {name} = {wrong.flat[0]:.6g}, but the {number} of contact {contact.name!r} {limits}",
                    argument="parameters",
                )


def _check_masses(dynamics: Dynamics, values: np.ndarray) -> None:
    """Refuse values with which the kinetic energy of some motion from the neutral position would be negative.

    That is what matters: the parameters of an identified body may be negative as long as others outweigh them.
    """
    if dynamics.equations is not None:  # whose mass matrix need not be one of bodies
        return
    model, rows = dynamics.mechanism, values.reshape(-1, values.shape[-1])
    for begin in range(0, len(rows) if model.nv else 0, PARAMETER_SETS_AT_ONCE):
        M = np.asarray(dynamics.kernel("mass_matrix")(model.neutral, rows[begin : begin + PARAMETER_SETS_AT_ONCE]))
        M[~np.isfinite(M).all(axis=(1, 2))] = 0  # other checks report them
        size = np.sqrt(np.maximum(np.abs(np.diagonal(M, axis1=1, axis2=2)), np.finfo(float).tiny))
        M = M / (size[:, :, None] * size[:, None, :]) + 1e3 * np.finfo(M.dtype).eps * np.eye(model.nv)
        try:
            np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            k = int(np.argmin(np.linalg.eigvalsh(M)[:, 0]))
            pairs = list(zip(dynamics.parameter_names, rows[begin + k].tolist()))
            named = [f"{name} = {x:.6g}" for name, x in [pair for pair in pairs if pair[1] < 0] or pairs]
            named[8:] = ["..."] * (len(named) > 8)
            raise ArgumentError(
                f"{model.name!r} cannot have the parameters {', '.join(named)}: the kinetic energy of some motions "
                "would be negative. Masses and moments of inertia must be positive"
            ) from None


def parameter_array(dynamics: Dynamics, given: Any, batch: bool = False) -> np.ndarray | None:
    """Values of the parameters in their order, or None if the mechanism has none.

    Args:
        dynamics: knows their names; parameters named by address have a default, symbols do not.
        given: by name, or an array in the order of ``dynamics.parameter_names``, or None.
        batch: allow leading dimensions of an array.
    """
    names = dynamics.parameter_names
    if not names:
        nothing = given is None or (isinstance(given, (Mapping, Sequence)) and not given)
        if not (nothing or (isinstance(given, np.ndarray) and not given.size)):
            raise ArgumentError(
                f"{dynamics.mechanism.name!r} has no parameters, but parameters = {given!r}. da.symbolise makes "
                "symbols of its numbers, which can then be given"
            )
        return None
    values = dynamics.parameter_values
    if isinstance(given, str):
        raise ArgumentError(
            f"parameters: expected the values of {', '.join(names)}, got {given!r}. Defaults that a file has for its "
            "symbols are taken where it is read: da.load(..., parameters='default')"
        )
    given = arranged(given, [NamedAxis(tuple(names), ("parameter",))], "parameters")
    if isinstance(given, Mapping):
        by_name = {str(name): value for name, value in given.items()}
        unknown = [name for name in by_name if name not in names]
        if unknown:
            raise ArgumentError(f"there is no parameter {unknown[0]!r}{hint(unknown[0], names, 'parameters are')}")
        columns = [real_array(by_name.get(name, value), f"parameters, {name}") for name, value in zip(names, values)]
        try:
            values = np.stack(np.broadcast_arrays(*columns), axis=-1)
        except ValueError as error:
            shapes = ", ".join(f"{name} {column.shape}" for name, column in zip(names, columns) if column.ndim)
            raise ArgumentError(f"parameters: the batch dimensions do not fit together: {shapes}") from error
    elif given is not None:
        values = real_array(given, "parameters")
    if values.shape[-1:] != (len(names),) or (values.ndim > 1 and not batch):
        raise ArgumentError(f"parameters have shape {values.shape}, expected {len(names)}: {', '.join(names)}")
    unset = [name for k, name in enumerate(names) if not np.isfinite(values[..., k]).all()]
    if unset:
        raise ArgumentError(f"parameters without a finite value: {', '.join(unset)}; give them by parameters=")
    return np.ascontiguousarray(values)
