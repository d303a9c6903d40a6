"""The loop over steps: one motion, from leg to leg and event to event, by any integrator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from dalembert.kinematics.manifold import quaternion_places
from dalembert.simulation.breaks import Breaks
from dalembert.simulation.events import Event, Watch
from dalembert.simulation.inputs import Fault
from dalembert.simulation.integrators import NO_MASS, NOT_FINITE, IntegrationStep, Integrator
from dalembert.simulation.recorder import AT_ONCE, Recorder
from dalembert.simulation.singularity import RankWatch
from dalembert.simulation.state import UNIT_LENGTH_SLACK
from dalembert.simulation.stepping import recurrence
from dalembert.text.progress import Progress

CROWD, CROWD_TIME = 4, 1e-6
"""So many events one after the other, each within so many seconds of the last, of short motions this part, and time has
come to a stand.
"""

LONG = 3000
"""Steps from which on compiling the loop pays."""

CALL_TIME = 2e7
"""Nanoseconds, by estimate, of one call of the compiled loop: after each Ctrl-C is heard."""

SAMPLES = 10_000
"""At most so many samples come from one call: they are lost if Ctrl-C comes while they are written down."""

EVENT_MOMENT = 1e-9
"""A moment later, s, of large times this part: there it is seen to which side an event that is zero moves."""


def drive(
    engine: Integrator,
    recorder: Recorder,
    watch: Watch,
    ranks: RankWatch,
    breaks: Breaks,
    x: np.ndarray,
    times: np.ndarray,
    hold: float | None,
    line: Progress,
) -> str:
    """The loop over steps, legs and events. A leg ends where the integrator must stop exactly."""
    t, end = float(times[0]), float(times[-1])
    inputs, system, fixed = recorder.inputs, recorder.system, engine.step_length is not None
    periods, crowd, latest, soon = 0, 0, -math.inf, CROWD_TIME * min(1.0, end - t)
    fired: tuple[Event, ...] = ()
    ranks.start(t, x)
    while True:
        if hold is not None and t >= times[0] + periods * hold - AT_ONCE * max(1.0, abs(t)):
            inputs.hold(t, *recorder.split(x))
            recorder.renew(t)
            periods += 1
        if not recorder.count:
            x = engine.settled(t, x)
            recorder.start(t, x)
        bound = end if hold is None else times[0] + periods * hold
        if bound >= end - AT_ONCE * max(1.0, abs(end)):
            bound = end
        if fixed:
            bound = min(bound, recorder.next_time)
        bound = breaks.begin(t, bound)
        if t in breaks.times:
            recorder.renew(t)
            engine.forget()
        engine.start(t, x, bound)
        watch.start(t, *recorder.split(x), lambda: _later(recorder, engine, t, x, bound), fired)  # noqa: B023
        fired, changed = (), False
        while not engine.finished:
            made = engine.step()
            if made.t1 == made.t0:  # velocities jump, or modes of contact change
                x = made.x
                recorder.jump(t, x)
                fired = watch.jumped(t, *recorder.split(x))
                if stopped := _noted(recorder, fired, t, x):
                    return stopped
                if any(event.reset is not None for event in fired):
                    x = _reset(recorder, ranks, fired, t, x)
                    break
                fired = ()
                continue

            @cache
            def rough(s: float, step: IntegrationStep = made) -> tuple[np.ndarray, np.ndarray]:
                return recorder.split(step.state(s))

            @cache
            def state(s: float, rough: Any = rough) -> tuple[np.ndarray, np.ndarray]:
                return recorder.split(engine.projected(s, np.concatenate(rough(s))))

            if not fixed and breaks.within(made.t0, made.t1, rough):
                break  # and begin again at t, to end there
            calm = made.guess is not None and watch.calm(made.t0, made.t1, state, made.guess)
            seen = state if fixed else rough  # projection may correct by more than an event is missed
            while not calm and (happened := watch.first(made.t0, made.t1, state, seen, not fixed)) is not None:
                fired, t = happened
                x = np.concatenate(state(t))
                recorder.add(made, t, x)
                ranks.add(t, x)
                stopped = _noted(recorder, fired, t, x)
                if stopped:
                    return stopped
                if any(event.reset is not None for event in fired):
                    x, changed = _reset(recorder, ranks, fired, t, x), True
                crowd, latest = crowd + 1 if t - latest < soon else 0, t
                if crowd > CROWD * len(watch.events):
                    q, v = recorder.split(x)
                    message = f"event {fired[0].name!r} happens again and again: its times accumulate. Coming to rest "
                    message += "at a stop or in a contact is not modelled; let the event stop the motion instead"
                    raise Fault(message, t, q, v)
                if changed or (t >= made.t1 and engine.finished):
                    break
                # What changes nothing needs no new leg: the step knows the motion beyond.
                moment = min(EVENT_MOMENT * max(1.0, abs(t)), ((made.t1 if t < made.t1 else bound) - t) / 2)
                watch.start(t, *recorder.split(x), lambda: (t + moment, *state(t + moment)), fired)  # noqa: B023
                fired, made = (), made._replace(t0=t)
                if t >= made.t1:
                    break
            if changed:
                break
            if t < made.t1:
                last, t, x = x, made.t1, engine.projected(made.t1, made.x)
                if fixed and (wrong := system.open_loop(t, recorder.split(x)[0])):
                    weak = "" if system.projects else ", or stabilisation is too weak for it"
                    message = f"after the next step {wrong}: the step is too long, or the motion infeasible{weak}"
                    raise Fault(message, made.t0, *recorder.split(last))
                recorder.add(made, t, x)
                ranks.add(t, x)
            engine.correct(x)
            line.update((t - times[0]) / (end - times[0]), f"t = {t:.3g} s")
        if t >= end:
            late = [event for event in watch.last(t, *recorder.split(x)) if event not in fired]
            return _noted(recorder, late, t, x) or "finished"


def rhythm(times: np.ndarray, chosen: bool, step: float) -> tuple[int, int, float] | None:
    """Number of steps, steps from sample to sample, and their length, if samples are evenly spaced; else None."""
    span = float(times[-1] - times[0])
    if not chosen:
        steps = max(1, int(np.ceil(span / step - 1e-9)))
        return (steps, 1, span / steps) if steps >= LONG else None
    gaps = np.diff(times)
    if np.ptp(gaps) > 1e-12 * max(abs(float(times[0])), abs(float(times[-1]))):
        return None
    each = max(1, int(np.ceil(gaps[0] / step - 1e-9)))
    steps = each * len(gaps)
    return (steps, each, span / steps) if steps >= LONG else None


def march(
    engine: Integrator,
    recorder: Recorder,
    ranks: RankWatch,
    method: str,
    x: np.ndarray,
    plan: tuple[int, int, float],
    line: Progress,
) -> None:
    """A long motion of fixed step under constant forces, by the compiled loop instead of one step at a time; the plan
    is that of :func:`_rhythm`."""
    steps, every, h = plan
    system, m = recorder.system, recorder.system.mechanism
    t0 = float(recorder.times[0])
    q, v = recorder.split(x)
    made = recurrence(system, method, list(range(len(system.dynamics.input_names))), None, 0, False, {})
    dtype = made.dtype
    given: dict[str, Any] = {"h": h, "wrenches": recorder.inputs.wrenches(t0, q, v), "parameters": recorder.parameters}
    held = [np.ascontiguousarray(np.asarray(given[port.name])[None], dtype) for port in made.held]
    driven = [np.ascontiguousarray(recorder.inputs.control(t0, q, v)[None, None], dtype)]
    state = [np.array(q[None], dtype), np.array(v[None], dtype)]
    if len(made.state) > 2:
        state += [np.full(1, t0 / h, dtype), np.zeros((1, 0), dtype)]
    recorder.start(t0, x)
    ranks.start(t0, x)
    rounds = max(1, min(SAMPLES, int(CALL_TIME / (made.cost * made.width * every)))) * every
    for begin in range(0, steps, rounds):
        count = min(rounds, steps - begin)
        kept = [np.empty((1, count // every, n), dtype) for n in (m.nq, m.nv)]
        records: list[np.ndarray | None] = [*kept, *[None] * (len(state) - 2)]
        made.run(state, held, driven, state, records, count, every, count)
        found = np.concatenate([kept[0][0], kept[1][0]], axis=1).astype(float)
        good = np.isfinite(found).all(axis=1)
        last = len(found) if good.all() else int(np.argmin(good))
        first = begin // every + 1
        times = t0 + h * every * np.arange(first, first + last)
        if recorder.chosen:
            times = recorder.times[first : first + last]
        elif first + last > steps:
            times[-1] = recorder.times[-1]
        recorder.extend(times, found[:last])
        ranks.extend(times, found[:last])
        engine.equations.evaluations += count
        if last < len(found):
            q, v = recorder.split(recorder.x[-1])
            raise Fault(NOT_FINITE, recorder.reached, q, v, guess=f"{NO_MASS}, or the step is too long")
        line.update((begin + count) / steps, f"t = {recorder.reached:.3g} s")


def _reset(recorder: Recorder, ranks: RankWatch, fired: Sequence[Event], t: float, x: np.ndarray) -> np.ndarray:
    """The state after the resets of events that happened."""
    for event in fired:
        if event.reset is not None:
            x = _after(recorder, event, t, x)
            recorder.reset(t, x)
            ranks.start(t, x)
    return x


def _after(recorder: Recorder, event: Event, t: float, x: np.ndarray) -> np.ndarray:
    """The state after a reset, which must be one that the mechanism can have."""
    system, (q, v) = recorder.system, event.after(t, *recorder.split(x))
    wrong = system.violation(t, q, v, recorder.parameters, ("q", "v"))
    lengths = [float(np.linalg.norm(q[k : k + 4])) for k in quaternion_places(system.tree)]
    if any(abs(length - 1) > UNIT_LENGTH_SLACK for length in lengths):
        wrong = f"a quaternion has the length {max(lengths, key=lambda x: abs(x - 1)):.6g} and must have 1"
    if wrong:
        raise Fault(f"reset of event {event.name!r} gave a state that cannot be: {wrong}", t, q, v)
    return system.projected(t, np.concatenate([q, v]))


def _noted(recorder: Recorder, events: Sequence[Event], t: float, x: np.ndarray) -> str:
    """Keep what happened; how the motion ends if one of the events stops it."""
    ends = [event.name for event in events if recorder.note(event, t, x)]
    return f"stopped by event {ends[0]!r}" if ends else ""


def _later(recorder: Recorder, engine: Integrator, t: float, x: np.ndarray, bound: float) -> tuple[float, Any, Any]:
    """A moment later, to first order."""
    moment = min(EVENT_MOMENT * max(1.0, abs(t)), (bound - t) / 2)
    slope = engine.equations.flow(t, x)
    q, v = recorder.split(recorder.system.projected(t + moment, x + moment * slope))
    return t + moment, q, v
