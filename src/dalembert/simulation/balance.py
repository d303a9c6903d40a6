"""Where power and forces of a motion go: what resists, what constraints and joints transmit, and integrals of rates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dalembert.dynamics.reactions import between_frames, reaction_name
from dalembert.errors import ArgumentError
from dalembert.kinematics.manifold import quaternion_places
from dalembert.model import Mechanism
from dalembert.model.parameters import substitute, symbolise
from dalembert.simulation.contact_history import acts
from dalembert.simulation.interpolation import constant_parts, with_discontinuities

if TYPE_CHECKING:
    from dalembert.dynamics import Dynamics
    from dalembert.simulation.trajectory import Trajectory


def numeric(dynamics: Dynamics, parameters: np.ndarray | None) -> Mechanism:
    """The mechanism with values of its parameters."""
    model = dynamics.mechanism
    if parameters is None:
        return model
    values = dict(zip(dynamics.parameter_names, parameters.tolist()))
    symbols = {symbol.name: values.pop(symbol.name) for symbol in model.symbols}
    if dynamics.equations is not None:  # the other symbols are those of the equations alone
        return substitute(model.replace(strict=False), symbols)
    return substitute(symbolise(model, values), symbols)


def resistance(dynamics: Dynamics, parameters: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray] | None:
    """Power that joint damping and friction take away, W, as a function of v, (..., nv); None if they take none."""
    from dalembert.algorithms.joint_forces import joint_forces

    solved = ("friction",) if acts(dynamics) else ()  # with the contacts, among whose losses it is
    terms = [name for name in dynamics.include if name not in ("armature", *solved)]
    if not terms:
        return None
    own = joint_forces(numeric(dynamics, parameters), terms)
    if own.damping is None and own.friction is None:
        return None
    damping, friction = (0.0 if x is None else np.asarray(x, dtype=float) for x in (own.damping, own.friction))
    return lambda v: ((damping * v + friction * np.sign(v)) * v).sum(axis=-1)


def dissipated(motion: Trajectory) -> np.ndarray:
    """Power that joint damping and friction take away, W, (T,)."""
    power = resistance(motion.dynamics, motion.parameters)
    return np.zeros(len(motion)) if power is None else power(motion.v)


def lost(motion: Trajectory) -> np.ndarray:
    """Energy that joint damping and friction took since the start, J, (T,), by samples."""
    whole = with_discontinuities(motion)
    total = integral(whole.t, whole.dissipation)
    return total if len(whole) == len(motion) else total[np.searchsorted(whole.t, motion.t)]


def reactions(motion: Trajectory) -> dict[str, np.ndarray]:
    """What joints and constraints transmit; see :meth:`~dalembert.simulation.Trajectory.reactions`."""
    dynamics, model = motion.dynamics, motion.mechanism
    acting = {"wrenches": motion.wrenches if dynamics.wrenches else None, "parameters": motion.parameters}
    a, multipliers = motion.a, np.zeros((len(motion), 0))
    if dynamics.rows:
        a, multipliers = dynamics.evaluate("multipliers", motion.q, motion.v, motion.tau, motion.t, **acting)
    joints, loops = dynamics.evaluate("reactions", motion.q, motion.v, a, multipliers, motion.t, **acting)
    found = {reaction_name(model, joint): joints[:, k] for k, joint in enumerate(model.joints)}
    closed = {reaction_name(model, x): loops[:, k] for k, x in enumerate(model.constraints) if between_frames(x)}
    return found | closed


def work(motion: Trajectory) -> np.ndarray:
    """Work of the control since the start, J, (T,).

    Args:
        motion: the motion; under a zero-order hold of which every period has a sample, forces are constant between.
    """
    whole = with_discontinuities(motion)
    along = motion.dynamics.input_names == motion.dynamics.velocity_names() and not motion.system.has_speeds
    parts = constant_parts(whole) if along else None
    total = integral(whole.t, whole.power) if parts is None else _along_ways(parts)
    t = (whole if parts is None else parts).t
    return total if len(t) == len(motion) else total[np.searchsorted(t, motion.t)]


def _along_ways(parts: Trajectory) -> np.ndarray:
    """Work of forces that are constant from each sample to the next."""
    gaps = np.diff(parts.t)[:, None]
    way = gaps * (parts.v[1:] + parts.v[:-1]) / 2
    if quaternion_places(parts.mechanism.tree):  # accelerations at both ends under the same forces: fourth order
        ends = {name: getattr(parts, name)[1:] for name in ("t", "q", "v", "wrenches")}
        way += gaps**2 / 12 * (parts.a[:-1] - replace(parts, **ends, tau=parts.tau[:-1]).a)
    for link in parts.mechanism.tree.links:
        if link.kind != "spherical":
            way[:, link.v] = np.diff(parts.q[:, link.q])
    total = np.zeros(len(parts))
    total[1:] = np.cumsum(np.where(gaps[:, 0] == 0, 0, (parts.tau[:-1] * way).sum(axis=1)))
    return total


def integral(t: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The integral from the first sample on, by cubic splines between discontinuities; NaN after the end of the motion.

    Args:
        t: times; two equal ones mark a discontinuity.
        rate: what to integrate, (T, ...); NaN from where the motion has ended on.
    """
    from scipy.interpolate import CubicSpline

    if (np.diff(t) < 0).any():
        raise ArgumentError("the samples of this part are not in the order of time; work is done from one to the next")
    there = np.isfinite(rate).all(axis=tuple(range(1, rate.ndim)))
    last = len(t) if there.all() else int(np.argmin(there))
    total = np.full(rate.shape, np.nan)
    cuts = [0, *(np.flatnonzero(np.diff(t[:last]) == 0) + 1).tolist(), last]
    for begin, end in pairwise(cuts):
        start = total[begin - 1] if begin else 0.0
        total[begin:end] = start
        if end - begin > 1:
            whole = CubicSpline(t[begin:end], rate[begin:end]).antiderivative()
            total[begin:end] += whole(t[begin:end]) - whole(t[begin])
    return total
