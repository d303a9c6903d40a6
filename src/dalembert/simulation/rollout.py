"""Many motions at once: the loop over steps is compiled, states stay in registers and the nearest cache."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.compiler.recurrence import Recurrence
from dalembert.compiler.threads import default_threads, run_all
from dalembert.dynamics import Dynamics
from dalembert.errors import ArgumentError
from dalembert.model import Mechanism
from dalembert.simulation.progress import Progress
from dalembert.simulation.state import as_dynamics, as_parameters, as_position, as_velocity
from dalembert.simulation.stepping import SUMMARIES, recurrence
from dalembert.simulation.trajectory import Trajectory

PIECE = 3e7
"""Nanoseconds, by estimate, after which a thread looks up: for Ctrl-C, and to share the work."""


@dataclass(eq=False)
class Rollout:
    """Many motions of fixed step.

    Args:
        dynamics: of the mechanism.
        t: times of the records, s, (K,).
        q: positions, (..., K, nq); the first record is the start.
        v: velocities, (..., K, nv).
        final_q: positions after the last step, (..., nq).
        final_v: velocities after the last step, (..., nv).
        summaries: what was asked for, by name, (...).
        done: which motions were computed to the end; all, unless it was interrupted. The others are NaN.
        parameters: values of the mechanism's parameters, if it has any.
    """

    dynamics: Dynamics
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    final_q: np.ndarray
    final_v: np.ndarray
    summaries: dict[str, np.ndarray] = field(default_factory=dict)
    done: np.ndarray = field(default_factory=lambda: np.array(True))
    parameters: np.ndarray | None = None

    @property
    def finite(self) -> np.ndarray:
        """Which motions ended in a finite state."""
        return np.isfinite(self.final_q).all(axis=-1) & np.isfinite(self.final_v).all(axis=-1)

    def trajectory(self, *index: int) -> Trajectory:
        """One of the motions; its control is not known to it and counts as zero.

        Args:
            index: which, one number for each dimension of the batch.
        """
        from dalembert.simulation.interpolation import Hermite

        nv, frames = self.dynamics.mechanism.nv, len(self.dynamics.wrenches)
        values = self.parameters
        if values is not None:
            values = np.broadcast_to(values, (*self.final_q.shape[:-1], values.shape[-1]))[index]
        zeros = np.zeros((len(self.t), nv)), np.zeros((len(self.t), frames, 6))
        made = Trajectory(self.dynamics, self.t, self.q[index], self.v[index], *zeros, parameters=values)
        made.interpolant = Hermite(made)
        return made

    def __repr__(self) -> str:
        batch = self.final_q.shape[:-1]
        return f"<Rollout of {self.dynamics.mechanism.name!r}: batch {batch}, {len(self.t)} records>"


def rollout(
    mechanism: Mechanism | Dynamics,
    q0: Any,
    v0: Any,
    steps: int,
    step: float = 1e-3,
    *,
    control: Any = None,
    actuators: Sequence[str] | None = None,
    gains: Any = None,
    hold: int | None = None,
    forces: Mapping[str, Any] | None = None,
    method: str = "rk4",
    every: int = 1,
    record: bool = True,
    summaries: Mapping[str, tuple[str, Callable[..., Any]]] | None = None,
    include: Sequence[str] = (),
    parameters: Any = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Rollout:
    """The motions of a mechanism from many initial states, in one call of compiled code.

    Everything with leading dimensions is broadcast together: initial states, controls, gains, forces, parameters.

    Args:
        mechanism: the mechanism, or its Dynamics, which saves the time to make it.
        q0: initial positions, (..., nq); or by joint name; None is the neutral position.
        v0: initial velocities, (..., nv); or by joint name; None is zero.
        steps: how many.
        step: length of a step, s.
        control: None; or constant generalised forces (n,); or (..., rows, n), each row held for ``hold`` steps (one
            row: for all of them); or a function ``control(t, q, v)`` over traced scalars (use the functions of
            :mod:`dalembert.algebra.scalar`), compiled with the rest; with ``gains`` it is ``control(t, q, v, gains)``.
        actuators: names of the joints, of one degree each, on which the numbers of an array of controls act; by
            default n = nv numbers act on all velocities.
        gains: numbers for the function ``control``, (..., k).
        hold: steps for which a row of controls is held, 1 by default. For a function: None asks it at every stage of
            the method, 1 once per step.
        forces: by frame name the constant wrench ``[force; moment]`` on it, frame axes, at its origin, (..., 6).
        method: ``rk4``, ``semi-implicit-euler``, ``lie-rk4`` or ``variational``.
        every: steps from record to record.
        record: keep records of the motions; the final states are always kept.
        summaries: by name ``(kind, function(t, q, v))``: the largest, smallest, last value or the integral of a function
            over traced scalars, after each step; kinds are ``max``, ``min``, ``last`` and ``integral``.
        include: which of ``armature``, ``damping``, ``friction`` of the joints enter.
        parameters: values of the mechanism's parameters, by name (each may be an array) or (..., k).
        threads: how many to use at most; by default all cores for large batches.
        progress: show progress on standard error; by default on a terminal, if it takes long.
    """
    dynamics = as_dynamics(mechanism, include, tuple(forces or ()))
    model = dynamics.mechanism
    if model.constraints:
        names = ", ".join(repr(constraint.name) for constraint in model.constraints)
        raise ArgumentError(f"{model.name!r} has constraints ({names}); rollout can only follow trees")
    steps, every = _positive("steps", steps), _positive("every", every)
    if not (step > 0 and math.isfinite(step)):
        raise ArgumentError(f"step = {step} s; it must be positive and finite")
    policy = control if callable(control) else None
    places, rows, kept = _control(model, control, actuators, hold, steps)
    wanted = dict(summaries or {})
    held = {"h": np.array(float(step))}
    if gains is not None:
        held["gains"] = np.atleast_1d(np.asarray(gains, dtype=float))
        if policy is None:
            raise ArgumentError("gains are for a control that is a function; this one is not")
    if dynamics.wrenches:
        given = [np.asarray((forces or {}).get(name, np.zeros(6)), dtype=float) for name in dynamics.wrenches]
        held["wrenches"] = np.stack(np.broadcast_arrays(*given), axis=-2)
    values = as_parameters(dynamics, parameters, batch=True)
    if values is not None:
        held["parameters"] = values
    made = recurrence(
        dynamics, method, places, policy, held["gains"].shape[-1] if "gains" in held else 0, hold == 1, wanted
    )
    q, v = as_position(model, q0, batch=True), as_velocity(model, v0, batch=True)
    job = _Job(made, [q, v], held, rows, steps, every, kept, record, list(wanted.values()))
    job.run(threads, progress)
    results = job.results()
    return Rollout(
        dynamics,
        np.arange(0, steps + 1, every)[: 1 + steps // every] * float(step) if record else np.empty(0),
        *results,
        summaries=dict(zip(wanted, job.summary())),
        done=job.done.reshape(job.batch),
        parameters=values,
    )


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ArgumentError(f"{name} = {value!r}; it must be a positive integer")
    return int(value)


def _control(
    model: Mechanism, control: Any, actuators: Sequence[str] | None, hold: int | None, steps: int
) -> tuple[list[int] | None, np.ndarray | None, int]:
    """Which velocities a control array acts on, its rows (..., rows, n), and the steps each is held for."""
    if control is None or callable(control):
        if actuators is not None:
            raise ArgumentError("actuators tell what an array of controls acts on; there is none")
        if callable(control) and hold not in (None, 1):
            raise ArgumentError(f"hold = {hold}: a function is asked at every stage (None) or once per step (1)")
        return None, None, 1
    places = list(range(model.nv))
    if actuators is not None:
        places = []
        for name in actuators:
            part = model.v_slice(name)
            if part.stop - part.start != 1:
                raise ArgumentError(f"actuator {name!r}: the joint has {part.stop - part.start} degrees, not one")
            places.append(part.start)
    kept = _positive("hold", 1 if hold is None else hold)
    rows = np.asarray(control, dtype=float)
    rows = rows[None] if rows.ndim == 1 else rows
    needed = -(-steps // kept)
    if rows.ndim < 2 or rows.shape[-1] != len(places) or rows.shape[-2] not in (1, needed):
        raise ArgumentError(
            f"control has shape {np.shape(control)}, expected ({len(places)},) or (..., {needed}, {len(places)}): "
            f"{steps} steps, each row held for {kept}"
        )
    if not np.isfinite(rows).all():
        raise ArgumentError("control contains numbers that are not finite")
    return places, rows, kept if rows.shape[-2] == needed else steps


class _Job:
    """One batch: arrays, cut into pieces for threads."""

    def __init__(
        self,
        made: Recurrence,
        start: Sequence[np.ndarray],
        held: Mapping[str, np.ndarray],
        rows: np.ndarray | None,
        steps: int,
        every: int,
        hold: int,
        record: bool,
        summaries: Sequence[tuple[str, Any]],
    ):
        self.made, self.steps, self.every, self.hold = made, steps, every, hold
        cores = [len(port.shape) for port in made.held]
        others = [array.shape[: array.ndim - core] for array, core in zip(held.values(), cores)]
        try:
            self.batch = np.broadcast_shapes(
                *(array.shape[:-1] for array in start), *others, *([] if rows is None else [rows.shape[:-2]])
            )
        except ValueError as error:
            told = ", ".join(f"{name} {array.shape}" for name, array in held.items() if name != "h")
            shapes = f"q0 {start[0].shape}, v0 {start[1].shape}, {told}{'' if rows is None else f', control {rows.shape}'}"
            raise ArgumentError(f"the batch dimensions do not fit together: {shapes}") from error
        self.count = math.prod(self.batch)
        dtype = made.dtype
        self.state = [np.ascontiguousarray(self._flat(x, 1), dtype) for x in start]
        if len(made.state) == 4:
            begin = np.array([SUMMARIES[kind][0] for kind, _ in summaries], dtype)
            self.state += [np.zeros(self.count, dtype), np.tile(begin, (self.count, 1))]
        self.state = [x if x.flags.writeable else x.copy() for x in self.state]
        self.held = [self._small(array, core) for array, core in zip(held.values(), cores)]
        self.driven = [] if rows is None else [self._small(rows, 2)]
        self.records: list[np.ndarray | None] = [None] * len(made.state)
        if record:
            for k in (0, 1):
                kept = np.empty((self.count, 1 + steps // every, *made.state[k].shape), dtype)
                kept[:, 0] = self.state[k]
                self.records[k] = kept
        self.done = np.zeros(self.count, dtype=bool)

    def _flat(self, array: np.ndarray, core: int) -> np.ndarray:
        shape = array.shape[array.ndim - core :]
        return np.broadcast_to(array, (*self.batch, *shape)).reshape(self.count, *shape)

    def _small(self, array: np.ndarray, core: int) -> np.ndarray:
        """One row per motion, or a single one if all share it."""
        shape = array.shape[array.ndim - core :]
        shared = math.prod(array.shape[: array.ndim - core]) == 1
        found = array.reshape(1, *shape) if shared else self._flat(array, core)
        return np.ascontiguousarray(found, self.made.dtype)

    def run(self, threads: int | None, progress: bool | None) -> None:
        cost, width = self.made.cost, self.made.width
        workers = (threads or default_threads()) if self.count * self.steps * cost > 1e6 else 1
        block = max(1, min(-(-self.count // workers), int(PIECE / (cost * self.steps)) + 1))
        block = -(-block // width) * width
        rounds = max(1, int(PIECE / (cost * max(block, width) * self.every))) * self.every
        if self.hold < self.steps:  # rows and records begin anew with every call
            rounds = rounds * self.hold // math.gcd(rounds, self.hold)
        with Progress(self.made.name, progress) as line:
            jobs = [self._piece(a, min(a + block, self.count), rounds, line) for a in range(0, self.count, block)]
            try:
                run_all(jobs, workers)
            except KeyboardInterrupt:
                for array in (*self.state, *self.records):
                    if array is not None:
                        array[~self.done] = np.nan
                warnings.warn(
                    f"rollout interrupted: {self.done.sum()} of {self.count} motions are complete", stacklevel=3
                )

    def _piece(self, a: int, b: int, rounds: int, line: Progress) -> Callable[[], None]:
        def work() -> None:
            state = [x[a:b] for x in self.state]
            held = [x[a:b] if len(x) > 1 else x for x in self.held]
            for begin in range(0, self.steps, rounds):
                count = min(rounds, self.steps - begin)
                driven = [(x[a:b] if len(x) > 1 else x)[:, begin // self.hold :] for x in self.driven]
                first = 1 + begin // self.every
                records = [None if x is None else x[a:b, first : first + count // self.every] for x in self.records]
                self.made.run(state, held, driven, state, records, count, self.every, self.hold)
            self.done[a:b] = True
            line.update(float(self.done.mean()))

        return work

    def results(self) -> list[np.ndarray]:
        """Records of q and v, then final q and v, in the shape of the batch."""
        kept = [np.empty((self.count, 0, x.shape[-1])) if r is None else r for r, x in zip(self.records, self.state[:2])]
        found = [x.reshape(*self.batch, *x.shape[1:]) for x in (*kept[:2], *self.state[:2])]
        return found

    def summary(self) -> list[np.ndarray]:
        """The summaries, in the shape of the batch."""
        if len(self.state) < 4:
            return []
        return [column.reshape(self.batch).copy() for column in self.state[3].T]
