"""Simulate one motion: ``simulate(mechanism, q0, v0, t)``."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dalembert.constraints.violation import contradiction
from dalembert.errors import ArgumentError, SimulationWarning, UnsupportedError
from dalembert.kinematics.manifold import quaternion_places
from dalembert.model.checks import real_array
from dalembert.simulation.breaks import Breaks
from dalembert.simulation.contact_steps import ContactSteps
from dalembert.simulation.contacting import checked_start, contact_law, event_driven
from dalembert.simulation.driver import drive, march, rhythm
from dalembert.simulation.equations import KernelEquations
from dalembert.simulation.event_driven import ATOL as EVENT_ATOL
from dalembert.simulation.event_driven import RTOL as EVENT_RTOL
from dalembert.simulation.event_driven import EventSteps
from dalembert.simulation.events import Watch, as_events
from dalembert.simulation.failure import SimulationError, interrupted
from dalembert.simulation.inputs import Fault, Inputs
from dalembert.simulation.integrators import DEFAULT_STEP, integrator
from dalembert.simulation.recorder import Recorder
from dalembert.simulation.singularity import RankWatch
from dalembert.simulation.stabiliser import Moving, Stabiliser, stabilised
from dalembert.simulation.state import (
    as_flag,
    as_parameters,
    as_position,
    as_positive,
    as_times,
    as_velocity,
    tell_of_ranges,
)
from dalembert.simulation.trajectory import Trajectory
from dalembert.text.progress import Progress


def simulate(
    mechanism: Moving,
    q0: Any = None,
    v0: Any = None,
    t: Any = 1.0,
    *,
    control: Any = None,
    wrenches: Mapping[str, Any] | None = None,
    events: Any = None,
    method: str | None = None,
    law: str | None = None,
    sweeps: int | None = None,
    solver: str | None = None,
    limits: Sequence[str] | str | None = None,
    lift: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    max_step: float | None = None,
    step: float | None = None,
    hold: float | None = None,
    breakpoints: Any = (),
    include: Sequence[str] = (),
    constraints: Sequence[str] | str = "all",
    elements: Sequence[str] | str = "all",
    drift: str | None = None,
    stabilisation: float = 0.0,
    parameters: Any = None,
    dense: bool = True,
    progress: bool | None = None,
) -> Trajectory:
    """The motion of a mechanism from an initial state.

    Quaternions are integrated by qdot = Gamma(q) v and brought back to unit length after every step, or, by the methods
    ``lie-rk4``, ``variational`` and ``semi-implicit-euler``, moved along the group of rotations. An error keeps what
    was computed in its attribute ``partial``, and so does the KeyboardInterrupt of Ctrl-C.

    Args:
        mechanism: the mechanism, or equations of motion (of ``derive``, ``from_lagrangian``, ``from_sympy``), or the
            Dynamics of either, which saves the time to make it.
        q0: initial positions: nq numbers; or by joint name; the neutral position by default.
        v0: initial velocities: nv numbers; or by name of a joint or a single velocity (``base.vx``); zero by default.
        t: the duration in seconds, or increasing times at which the motion is wanted, the first being the start.
        control: generalised forces (N, N m): nv numbers, of equations one for each of their inputs, or a function
            ``control(t, q, v)`` that returns them.
        wrenches: by frame name the wrench ``[force; moment]`` that acts on it, frame axes, at its origin: six numbers
            or a function of (t, q, v).
        events: functions of (t, q, v) whose zeros are wanted, or :class:`~dalembert.simulation.Event` objects, which
            may also stop the motion or change the state.
        method: adaptive: ``DOP853`` (the default where nothing can touch), ``RK45``, ``RK23``, ``Radau``, ``BDF``,
            ``LSODA`` (of SciPy); of fixed step: ``rk4``, ``semi-implicit-euler`` (the default with contacts),
            ``lie-rk4``, ``variational``. ``event-driven``, for few rigid contacts: impacts and changes of mode at their
            very moment, smooth motion of high order in between (``rtol``, ``atol``, ``max_step``).
        law: of contact. ``"rigid"`` is the default where a mechanism has contacts; ``Trajectory.contacts`` has forces,
            gaps, slip, modes and residuals. ``"convex"`` is MuJoCo's; ``"compliant"`` makes force elements of contacts,
            for every method.
        sweeps: of Gauss-Seidel in every step, as ``rollout`` takes them. By default, if no solver is given either, a
            step goes on by tens until ``contacts.residual`` is below 1 mm/s, and from 10,000 sweeps on by Newton's
            method, if there are at most 64 rows; ``info["most_sweeps"]`` says how many sweeps a step needed, and
            ``info["polished"]`` how many steps went on so.
        solver: of rigid contacts: ``"gauss-seidel"`` by default, or ``"newton"``, which adds steps of Newton's method
            to every sweep, for ill-conditioned problems.
        limits: names of joints whose ranges end in stops, or ``"all"``; none by default. With ``friction`` included
            and a law of contact, dry friction of joints is exact: it sticks.
        lift: move bases upwards until nothing overlaps at the start, instead of an error.
        rtol: relative tolerance per step of adaptive methods, 1e-9 by default, 1e-5 for dynamics in float32.
        atol: absolute tolerance per step of adaptive methods, in the units of the state, by default as that of rtol.
        max_step: longest step of adaptive methods, s; unbounded by default. Long steps are looked into for events and
            for abrupt changes of inputs.
        step: step of the methods of fixed step, s, 1e-3 by default. What belongs to the other kind of method is not
            used, and a warning says so.
        hold: period of a digital controller, s: ``control`` is asked once per period and its answer acts under a
            zero-order hold. By default it is asked whenever the integrator needs it, also in steps that are later
            rejected. Where it changes, ``Trajectory.tau`` has the new one.
        breakpoints: times at which control or wrenches change abruptly; there steps end, and others begin. Adaptive
            methods find such changes themselves if what begins there lasts 1/2000 of the motion, or longer.
        include: which of ``armature``, ``damping``, ``friction`` of the joints enter.
        constraints: names of the constraints of the mechanism that hold, or ``"all"``.
        elements: names of the force elements of the mechanism that act, or ``"all"``.
        drift: how states are kept on constraints: ``"projection"`` (default) brings them back after every step;
            ``"baumgarte"`` and ``"ggl"`` (Gear, Gupta and Leimkuhler) let violations decay with a frequency. Where
            there are no constraints a warning says that the latter two do nothing.
        stabilisation: that frequency, rad/s; alone it means Baumgarte's method.
        parameters: values of the mechanism's symbols by name, and of its numbers by address (``"link7.mass"``).
        dense: keep what interpolation between samples needs; the result can then be asked for any time.
        progress: show progress on standard error; by default on a terminal, if it takes long.
    """
    times, chosen = as_times(t)
    dense = as_flag("dense", dense)
    progress = None if progress is None else as_flag("progress", progress)
    if not isinstance(wrenches, Mapping | None):
        raise ArgumentError(
            f"wrenches are {wrenches!r}; give a dict from frame names to wrenches; "
            "force elements of the model act by elements=..."
        )
    system = stabilised(
        mechanism,
        include,
        tuple(wrenches or ()),
        constraints,
        elements,
        parameters,
        q0,
        drift,
        stabilisation,
        limits,
        law,
    )
    dynamics, model = system.dynamics, system.mechanism
    x = np.concatenate([as_position(model, q0), as_velocity(model, v0)])
    tell_of_ranges(model, x[: model.nq], heeded=dynamics.heeded)
    values = as_parameters(dynamics, parameters)
    system = system.with_parameters(values)
    system.check_start(float(times[0]), x[: model.nq], x[model.nq :], values)
    x = system.projected(float(times[0]), x)
    contact = contact_law(dynamics, law, method, sweeps, solver=solver)
    method = "DOP853" if method is None else method
    hold = None if hold is None else as_positive("hold", hold, "s")
    if hold is not None and control is None:
        raise ArgumentError(f"hold = {hold:g} s is the period of a controller; there is no control")
    inputs = Inputs(dynamics, control, wrenches)
    given = real_array(breakpoints, "breakpoints").ravel()
    if not np.isfinite(given).all():
        raise ArgumentError(f"breakpoints are {given}; give finite times")
    if contact is not None:
        if event_driven(method) and step is not None:
            raise UnsupportedError("step: motions from event to event have no fixed step; leave it out, or the method")
        unused = [name for name, value in (("rtol", rtol), ("atol", atol), ("max_step", max_step)) if value is not None]
        if unused and not event_driven(method):
            warnings.warn(
                f"{' and '.join(unused)}: steps with contacts are of fixed length; give step=",
                SimulationWarning,
                stacklevel=2,
            )
        x[: model.nq] = checked_start(dynamics, x[: model.nq], values, as_flag("lift", lift))
    equations = KernelEquations(system, inputs.control, inputs.wrenches if dynamics.wrenches else None, values)
    engine: Any
    if contact is not None and event_driven(method):
        tolerances = (
            EVENT_RTOL if rtol is None else as_positive("rtol", rtol, ""),
            EVENT_ATOL if atol is None else as_positive("atol", atol, ""),
        )
        longest = math.inf if max_step is None else as_positive("max_step", max_step, "s")
        engine = EventSteps(system, inputs, values, tolerances, longest)
    elif contact is not None:
        length = as_positive("step", DEFAULT_STEP if step is None else step, "s")
        engine = ContactSteps(equations, contact, inputs, values, length, sweeps is None and solver is None)
    else:
        jacobian = _jacobian(system, inputs, values) if inputs.constant else None
        engine = integrator(equations, method, rtol, atol, max_step, step, jacobian, dynamics.dtype == np.float32)
    length = engine.step_length
    if length is not None and times[-1] - length == times[-1]:
        raise ArgumentError(f"step = {length!r} s is so short that time would not advance at t = {times[-1]:.6g} s")
    recorder = Recorder(system, inputs, values, times, chosen, dense, None if contact is None else engine.kept)
    began = time.perf_counter()
    status, failed = "finished", None
    watch, ranks = Watch(as_events(events)), RankWatch(system)
    plan = None
    if contact is None and length is not None and inputs.constant and hold is None and not watch.events:
        plan = rhythm(times, chosen, length) if recorder.account.closed or not chosen else None
    try:
        with Progress(f"simulating {model.name}", progress) as line:
            if plan is not None:
                march(engine, recorder, ranks, method, x, plan, line)
            else:
                adaptive = engine.step_length is None and hold is None
                breaks = Breaks(inputs, float(times[0]), float(times[-1]), given.tolist(), adaptive)
                status = drive(engine, recorder, watch, ranks, breaks, x, times, hold, line)
    except Fault as fault:
        failed = fault
        status = "failed"
    except KeyboardInterrupt:
        status = "interrupted"
    if contact is not None and not recorder.count:  # it failed before it began
        with suppress(Fault):
            recorder.start(float(times[0]), x)
    ranks.finish()
    infeasible = ""
    if failed is not None:
        moment = max(float(times[-1] - times[0]) * 1e-3, length or 0.0)
        infeasible = system.infeasible(failed.time, failed.q, moment)
    if not infeasible:
        ranks.warn(float(times[0]), length is None and system.projects)
    seconds = time.perf_counter() - began
    made = recorder.trajectory(status, method, engine.equations.evaluations, seconds, tuple(ranks.times))
    if contact is not None and len(made):
        engine.complete(made, recorder)
    if hold is not None:
        made.info = {**made.info, "hold": hold, "held_from": float(times[0])}
    against = contradiction(system.dynamics, made.q, made.v, made.t) if system.has_loops else ""
    if failed is not None:
        why = infeasible or (against and f". {against[0].upper()}{against[1:]}")
        why = why or ranks.reason(failed.time, failed.q, length is not None)
        why = why or _without_value(system, failed)
        message = failed.message + ("" if why else failed.guess) + ("" if infeasible else failed.advice) + why
        raise SimulationError(message, failed.time, failed.q, failed.v, made) from (failed.__cause__ or failed)
    for name in sorted(watch.unresolved):
        message = f"event {name!r} changes so often within a step that it was not looked at closely enough everywhere, "
        message += "and may have been missed"
        warnings.warn(
            SimulationWarning(message, argument="max_step", remedy="bound the steps by {argument}"), stacklevel=2
        )
    if contact is not None:
        engine.warn(made)
    if against:
        warnings.warn(against, SimulationWarning, stacklevel=2)
    if status == "interrupted":
        raise interrupted(f"simulation interrupted at t = {recorder.reached:.6g} s", made)
    return made


def _without_value(system: Stabiliser, failed: Fault) -> str:
    """What to say of force elements that have no value where a motion ended."""
    own = system.dynamics
    if not own.elements.names or not (np.isfinite(failed.q).all() and np.isfinite(failed.v).all()):
        return ""
    with np.errstate(all="ignore"):
        forces = np.asarray(own.evaluate("element_forces", failed.q, failed.v, failed.time))
    lost = [name for name, force in zip(own.elements.names, forces) if not np.isfinite(force).all()]
    if not lost:
        return ""
    items = {item.name: item for item in own.mechanism.forces}
    why = "a spring or damper whose ends coincide has no direction: begin elsewhere, or fasten it elsewhere"
    if items[lost[0]].kind not in ("spring", "torsional-spring"):
        why = "its formula has no value there"
    return f": the force of {', '.join(map(repr, lost))} is not finite; {why}"


def _jacobian(system: Stabiliser, inputs: Inputs, parameters: np.ndarray | None) -> Any:
    """Of the flow, under constant forces, for trees without quaternions; None for others."""
    dynamics, model = system.dynamics, system.mechanism
    if quaternion_places(model.tree) or not dynamics.is_tree:
        return None
    last = () if parameters is None else (parameters,)

    def jacobian(t: float, x: np.ndarray) -> np.ndarray:
        q, v = x[: model.nq], x[model.nq :]
        loads = (inputs.wrenches(t, q, v),) if dynamics.wrenches else ()
        time = (np.float64(t),) if dynamics.takes_time else ()
        return dynamics.linearize(q, v, inputs.control(t, q, v), *loads, *time, *last)[0]

    return jacobian
