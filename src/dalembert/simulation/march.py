"""One long motion of fixed step under constant forces, by the compiled loop instead of one step at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.simulation.inputs import Fault
from dalembert.simulation.integrators import NO_MASS, NOT_FINITE, Fixed
from dalembert.simulation.progress import Progress
from dalembert.simulation.recorder import Recorder
from dalembert.simulation.singularity import RankWatch
from dalembert.simulation.stepping import recurrence

LONG = 3000
"""Steps from which on compiling the loop pays."""

PIECE = 2e7
"""Nanoseconds, by estimate, of one call: after each Ctrl-C is heard."""

SAMPLES = 10_000
"""At most so many samples come from one call: they are lost if Ctrl-C comes while they are written down."""


def rhythm(times: np.ndarray, chosen: bool, step: float) -> tuple[int, int, float] | None:
    """Number of steps, steps from sample to sample, and their length, if samples are evenly spaced; else None.

    Args:
        times: the first and last time, or all that the user wants.
        chosen: whether the user chose them; else every step is a sample.
        step: longest step, s.
    """
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
    engine: Fixed,
    recorder: Recorder,
    ranks: RankWatch,
    method: str,
    x: np.ndarray,
    plan: tuple[int, int, float],
    line: Progress,
) -> None:
    """Go all the way, leaving samples with the recorder.

    Args:
        engine: knows the equations.
        recorder: knows the inputs, which are constant.
        ranks: sees the samples.
        method: name of the stepper.
        x: initial state.
        plan: from :func:`rhythm`.
        line: to show progress.
    """
    steps, every, h = plan
    system, m = recorder.system, recorder.system.mechanism
    t0 = float(recorder.times[0])
    q, v = recorder.split(x)
    made = recurrence(system, method, list(range(m.nv)), None, 0, False, {})
    dtype = made.dtype
    given: dict[str, Any] = {"h": h, "wrenches": recorder.inputs.wrenches(t0, q, v), "parameters": recorder.parameters}
    held = [np.ascontiguousarray(np.asarray(given[port.name])[None], dtype) for port in made.held]
    driven = [np.ascontiguousarray(recorder.inputs.control(t0, q, v)[None, None], dtype)]
    state = [np.array(q[None], dtype), np.array(v[None], dtype)]
    if len(made.state) > 2:
        state += [np.full(1, t0 / h, dtype), np.zeros((1, 0), dtype)]
    recorder.start(t0, x)
    ranks.start(t0, x)
    rounds = max(1, min(SAMPLES, int(PIECE / (made.cost * made.width * every)))) * every
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
