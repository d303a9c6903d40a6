"""Many motions at once: the loop over steps is compiled, states stay in registers and the nearest cache."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.cuda.arrays import to_host
from dalembert.dynamics import Dynamics
from dalembert.dynamics.naming import WRENCH
from dalembert.errors import ArgumentError, SimulationWarning, UnsupportedError
from dalembert.labels import arranged
from dalembert.model import Mechanism
from dalembert.model.checks import shown
from dalembert.model.names import as_names
from dalembert.simulation.batch import Space, space_of
from dalembert.simulation.contact_history import ContactHistory
from dalembert.simulation.contacting import METHOD, checked_start, contact_law, event_driven, warn_doubtful
from dalembert.simulation.failure import interrupted
from dalembert.simulation.inputs import RolloutInputs, input_axis
from dalembert.simulation.singularity import singular_times
from dalembert.simulation.stabiliser import Moving, Stabiliser, stabilised
from dalembert.simulation.state import LOOKED_AT, as_flag, as_positive, tell_of_ranges
from dalembert.simulation.stepping import recurrence
from dalembert.simulation.trajectory import Trajectory


@dataclass(eq=False)
class Rollout:
    """Many motions of fixed step.

    Args:
        system: what moves.
        t: times of the records, s, (K,).
        q: positions, (..., K, nq); the first record is the start.
        v: velocities, (..., K, nv).
        final_q: positions after the last step, (..., nq).
        final_v: velocities after the last step, (..., nv).
        summaries: what was asked for, by name, (...).
        done: which motions were computed to the end; all, unless it was interrupted. The others are NaN.
        parameters: values of the mechanism's parameters, if it has any.
        drive: what acted on the motions.
        contacts: what the contacts did, if there are any.
    """

    system: Stabiliser
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    final_q: np.ndarray
    final_v: np.ndarray
    summaries: dict[str, np.ndarray] = field(default_factory=dict)
    done: np.ndarray = field(default_factory=lambda: np.array(True))
    parameters: np.ndarray | None = None
    drive: RolloutInputs | None = field(default=None, repr=False)
    contacts: ContactHistory | None = field(default=None, repr=False)

    @property
    def finite(self) -> np.ndarray:
        """Which motions ended in a finite state."""
        ends: tuple[Any, Any] = self.final_q, self.final_v  # of any library, in whose words this is
        found: np.ndarray = (abs(ends[0]) < np.inf).all(-1) & (abs(ends[1]) < np.inf).all(-1)
        return found

    def trajectory(self, *index: int) -> Trajectory:
        """One of the motions, with its control and wrenches, and in its ``info`` the ``singular`` positions it passes.

        Args:
            index: which, one number for each dimension of the batch.
        """
        from dalembert.simulation.interpolation import Hermite, Slopes

        batch = tuple(self.final_q.shape[:-1])
        if len(index) != len(batch):
            raise ArgumentError(
                f"the batch has shape {batch}; give {len(batch)} numbers to choose a motion, not {index}"
            )
        whole = (isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in index)
        if not all(whole) or not all(-n <= k < n for k, n in zip(index, batch)):
            raise ArgumentError(f"there is no motion {shown(index)}: the batch has shape {batch}")
        if not len(self.t):
            raise UnsupportedError("this rollout was made with record=False and knows final states only")
        inputs, frames = len(self.system.dynamics.input_names), len(self.system.dynamics.wrenches)
        values = None if self.parameters is None else to_host(self.parameters)
        if values is not None:
            values = np.broadcast_to(values, (*tuple(self.final_q.shape[:-1]), values.shape[-1]))[index]
        q, v = (np.asarray(to_host(x[index]), dtype=float) for x in (self.q, self.v))
        tau, wrenches = np.zeros((len(self.t), inputs)), np.zeros((len(self.t), frames, 6))
        if self.drive is not None:
            tau[:] = self.drive.forces(index, batch, self.t, q, v)
            wrenches[:] = self.drive.wrenches(index, batch, frames)
        system = self.system.with_parameters(values)
        info: dict[str, Any] = {"singular": singular_times(system, self.t, np.concatenate([q, v], axis=1))}
        if self.drive is not None and self.drive.hold is not None:
            info["hold"] = self.drive.hold * self.drive.step
        ended = "finished" if np.isfinite(q[-1]).all() and np.isfinite(v[-1]).all() else "failed"
        contacts = None if self.contacts is None else self.contacts.of(index)
        made = Trajectory(
            system, self.t, q, v, tau, wrenches, parameters=values, status=ended, info=info, contacts=contacts
        )
        made.interpolant = Hermite(made) if contacts is None else Slopes(made)
        return made

    def __repr__(self) -> str:
        batch = self.final_q.shape[:-1]
        return f"<Rollout of {self.system.mechanism.name!r}: batch {batch}, {len(self.t)} records>"


def rollout(
    mechanism: Moving | Stabiliser,
    q0: Any,
    v0: Any,
    steps: int,
    step: float = 1e-3,
    *,
    control: Any = None,
    actuated: Sequence[str] | None = None,
    gains: Any = None,
    hold: int | None = None,
    wrenches: Mapping[str, Any] | None = None,
    method: str | None = None,
    law: str | None = None,
    sweeps: int | None = None,
    solver: str | None = None,
    limits: Sequence[str] | str | None = None,
    lift: bool = False,
    every: int = 1,
    record: bool = True,
    summaries: Mapping[str, tuple[str, Callable[..., Any]]] | None = None,
    include: Sequence[str] = (),
    constraints: Sequence[str] | str = "all",
    elements: Sequence[str] | str = "all",
    drift: str | None = None,
    stabilisation: float = 0.0,
    parameters: Any = None,
    threads: int | None = None,
    progress: bool | None = None,
    device: str | None = None,
) -> Rollout:
    """The motions of a mechanism from many initial states, in one call of compiled code.

    Everything with leading dimensions is broadcast together: initial states, controls, gains, wrenches, parameters.
    Singular positions of closed loops that motions pass are not looked for; ``Rollout.trajectory`` does, in one motion.

    On the processor arrays of any library are taken, and results are NumPy's.

    On a CUDA device every thread carries one motion through all its steps. Arrays may be those of CuPy, PyTorch, JAX or
    NumPy and results come in the same kind, times excepted; arrays that are all float32 are computed in float32.
    Records lie in memory with the motions side by side: their shape is the usual one, but they are not contiguous.

    Args:
        mechanism: the mechanism, or equations of motion (of ``derive``, ``from_lagrangian``, ``from_sympy``), or the
            Dynamics of either, which saves the time to make it.
        q0: initial positions, (..., nq); or by joint name; None is the neutral position.
        v0: initial velocities, (..., nv); or by name of a joint or a single velocity; None is zero.
        steps: how many.
        step: length of a step, s.
        control: None; or constant generalised forces (n,); or (..., rows, n), each row acts for ``hold`` steps (one
            row: for all of them); or a function ``control(t, q, v)`` over traced scalars (use the functions of
            :mod:`dalembert.algebra.scalar`), compiled with the rest; with ``gains`` it is ``control(t, q, v, gains)``.
        actuated: names of the joints, of one degree each, on which the numbers of an array of controls act; by
            default n = nv numbers act on all velocities.
        gains: numbers for the function ``control``, (..., k).
        hold: steps for which a row of controls acts (zero-order hold), 1 by default. For a function: None asks it at
            every stage of the method, 1 once per step.
        wrenches: by frame name the constant wrench ``[force; moment]`` on it, frame axes, at its origin, (..., 6).
        method: ``rk4`` (the default where nothing can touch), ``semi-implicit-euler`` (with contacts the only one),
            ``lie-rk4`` or ``variational``.
        law: of contact. ``"rigid"`` is the default where a mechanism has contacts; ``"convex"`` is MuJoCo's;
            ``"compliant"`` makes force elements of contacts, for every method.
        sweeps: of Gauss-Seidel in a step, 10 by default; ``contacts.residual`` says what is left.
        solver: of rigid contacts: ``"gauss-seidel"`` by default, or ``"newton"``, which adds steps of Newton's method
            to every sweep, for ill-conditioned problems.
        limits: names of joints whose ranges end in stops, or ``"all"``; none by default. With ``friction`` included
            and a law of contact, dry friction of joints is exact: it sticks.
        lift: move bases upwards until nothing overlaps at the start, instead of an error.
        every: steps from record to record.
        record: keep records of the motions; the final states are always kept.
        summaries: by name ``(kind, function(t, q, v))``, the function over traced scalars: ``max``, ``min`` and
            ``last`` of its values after each step, or its ``integral`` over time, to the order of the method: by
            trapezia, or for the two of fourth order by Simpson's rule.
        include: which of ``armature``, ``damping``, ``friction`` of the joints enter.
        constraints: names of the constraints of the mechanism that hold, or ``"all"``.
        elements: names of the force elements of the mechanism that act, or ``"all"``.
        drift: how states are kept on constraints: ``"projection"`` (default), ``"baumgarte"`` or ``"ggl"``; see
            :func:`~dalembert.simulation.simulate`.
        stabilisation: frequency, rad/s, of the latter two; alone it means Baumgarte's method.
        parameters: values of parameters, by symbol or address (each may be an array), or (..., k). Masses so negative
            that a motion would have negative kinetic energy are refused, except in arrays on a device.
        threads: how many to use at most; by default all cores for large batches.
        progress: show progress on standard error; by default on a terminal, if it takes long. Not on a device.
        device: ``"cpu"`` or ``"cuda"``; by default that of the given Dynamics, or the processor.
    """
    for name, table in (("wrenches", wrenches), ("summaries", summaries)):
        if not isinstance(table, Mapping | None):
            raise ArgumentError(f"{name} are {table!r}; give a dict")
    record = as_flag("record", record)
    progress = None if progress is None else as_flag("progress", progress)
    space = space_of(device, mechanism, (q0, v0, control, gains, wrenches, parameters))
    with space.working():
        moving = space.moving(mechanism)
        near = space.host(q0) if isinstance(moving, Mechanism) and (moving.constraints or moving.forces) else None
        system = stabilised(
            moving,
            include,
            tuple(wrenches or ()),
            constraints,
            elements,
            parameters,
            near,
            drift,
            stabilisation,
            limits,
            law,
        )
        dynamics, model = system.dynamics, system.mechanism
        if event_driven(method):
            raise UnsupportedError(
                f"rollouts take steps of fixed length, and {{argument}} = {method!r} takes none",
                argument="method",
                remedy="leave it out, or use simulate",
            )
        contact = contact_law(dynamics, law, method, sweeps, record, solver)
        method = METHOD if contact is not None else "rk4" if method is None else method
        steps, every = _positive("steps", steps), _positive("every", every)
        step = as_positive("step", step, "s")
        if threads is not None:
            threads = _positive("threads", threads)
        policy = control if callable(control) else None
        places, rows, kept = _control(dynamics, control, actuated, hold, steps, space)
        period = kept if rows is not None or hold is not None else None  # others act at every stage, or not at all
        wanted = dict(summaries or {})
        held: dict[str, Any] = {"h": np.array(float(step))}
        if gains is not None:
            numbers = space.array(gains, "gains")
            held["gains"] = numbers if numbers.ndim else numbers[None]
            if policy is None:
                raise ArgumentError("gains are for a control that is a function; this one is not")
        if dynamics.wrenches:
            held["wrenches"] = space.stack(
                [
                    space.array(
                        arranged((wrenches or {}).get(name, np.zeros(6)), [WRENCH], f"wrench on {name!r}"),
                        f"wrench on {name!r}",
                    )
                    for name in dynamics.wrenches
                ]
            )
            if held["wrenches"].shape[-1] != 6:
                raise ArgumentError("wrenches: a wrench [force; moment] has six numbers, (..., 6)")
        values = space.parameters(dynamics, parameters)
        if values is not None:
            held["parameters"] = values
        q, v = space.position(model, q0), space.velocity(model, v0)
        some = q.reshape(-1, model.nq)[:LOOKED_AT]  # copies of all from a device would take longer than motions
        tell_of_ranges(model, space.host(some), heeded=dynamics.heeded)
        if not dynamics.is_tree:
            system = system.with_parameters(space.host(values))
            system.check_start(0.0, space.host(q), space.host(v), space.host(values))
        elif opened := dynamics.open_loops(space.host(q), 0.0, space.host(values), "q0"):
            raise ArgumentError(opened)
        if contact is not None:
            q = checked_start(dynamics, q, values, as_flag("lift", lift), space.kernel(system, "contact_points"))
        gain_count = held["gains"].shape[-1] if "gains" in held else 0
        made = recurrence(system, method, places, policy, gain_count, hold == 1, wanted, contact)
        try:
            batch = space.batch(system, made, [q, v], held, rows, steps, every, kept, record, list(wanted.values()))
        except MemoryError as error:
            raise ArgumentError(
                f"the records of {steps} steps do not fit into memory ({error}); give every= or record=False"
            ) from error
        batch.run(threads, progress)
        records, final = batch.results()
        t = np.arange(0, steps + 1, every) * float(step) if record else np.empty(0)
        touched = None
        if contact is not None:
            (impulses, measures), last = records[2:4], (final[2], final[3])
            touched = ContactHistory(dynamics, t, records[0], impulses, measures, float(step), last, values)
        motions = Rollout(
            system,
            t,
            records[0],
            records[1],
            final[0],
            final[1],
            summaries=dict(zip(wanted, batch.summary())),
            done=batch.done.reshape(batch.shape),
            parameters=values,
            drive=RolloutInputs(
                float(step),
                policy,
                held.get("gains"),
                places,
                rows,
                period,
                held.get("wrenches"),
                len(dynamics.input_names),
            ),
            contacts=touched,
        )
    if not batch.done.all():
        raise interrupted(f"rollout interrupted: {batch.done.sum()} of {batch.count} motions are complete", motions)
    if not isinstance(mechanism, Stabiliser):  # a sweep, whose results show it
        _warn_lost(motions)
        if touched is not None and isinstance(motions.final_q, np.ndarray):
            warn_doubtful(touched)
    return motions


def _warn_lost(found: Rollout) -> None:
    """Warn of motions that left the finite numbers; on a device nobody waits for that; ``finite`` shows it."""
    if not isinstance(found.final_q, np.ndarray):
        return
    lost = np.argwhere(~found.finite & found.done)
    if len(lost):
        where = f", the first is {tuple(lost[0].tolist())}" if lost.shape[1] else ""
        loops = ""
        if found.system.has_loops:
            loops = ", or the constraints lose rank at a singular position, or a given motion is beyond their reach"
        warnings.warn(
            f"{len(lost)} of {found.finite.size} motions did not stay finite{where}: the step is too large, or the "
            f"mass matrix is singular on the way{loops}. Rollout.finite marks the others",
            SimulationWarning,
            stacklevel=3,
        )


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value < 2**53:
        raise ArgumentError(f"{name} = {shown(value)}; it must be a positive integer")
    return int(value)


def _control(
    dynamics: Dynamics, control: Any, actuated: Sequence[str] | None, hold: int | None, steps: int, space: Space
) -> tuple[list[int] | None, Any, int]:
    """Which velocities a control array acts on, its rows (..., rows, n), and the steps each is held for."""
    if control is None or callable(control):
        if actuated is not None:
            raise ArgumentError("actuated names what an array of controls acts on; there is none")
        if control is None and hold is not None:
            raise ArgumentError(f"hold = {hold} is the zero-order hold of a control; there is none")
        if callable(control) and hold is not None and _positive("hold", hold) != 1:
            raise ArgumentError(f"hold = {hold}: a function is asked at every stage (None) or once per step (1)")
        return None, None, 1
    model, inputs = dynamics.mechanism, dynamics.input_names
    places = list(range(len(inputs)))
    if actuated is not None and inputs != dynamics.velocity_names():
        wanted = as_names("actuated", actuated)
        if unknown := [name for name in wanted if name not in inputs]:
            raise ArgumentError(f"there is no input {unknown[0]!r}; the equations have {', '.join(inputs) or 'none'}")
        places = [inputs.index(name) for name in wanted]
    elif actuated is not None:
        places = []
        for name in as_names("actuated", actuated):
            part, follows = model.v_slice(name), model.joint(name).mimic
            if follows is not None:
                raise ArgumentError(f"actuated joint {name!r}: that joint follows {follows.joint!r}; name this one")
            if part.stop - part.start != 1:
                raise ArgumentError(f"actuated joint {name!r}: the joint has {part.stop - part.start} degrees, not one")
            if part.start in places:
                raise ArgumentError(f"actuated joint {name!r} is named twice; add up what acts on it")
            places.append(part.start)
    kept = _positive("hold", 1 if hold is None else hold)
    driven = input_axis([inputs[k] for k in places])
    rows = space.array(arranged(control, [driven], "control"), "control")
    rows = rows[None] if rows.ndim == 1 else rows
    needed = -(-steps // kept)
    if rows.ndim < 2 or rows.shape[-1] != len(places) or rows.shape[-2] not in (1, needed):
        raise ArgumentError(
            f"control has shape {tuple(rows.shape)}, expected ({len(places)},) or (..., {needed}, {len(places)}): "
            f"{steps} steps, each row for {kept}"
        )
    if not space.finite(rows):
        raise ArgumentError("control contains numbers that are not finite")
    return places, rows, kept if rows.shape[-2] == needed else steps
