"""A batch of motions as arrays, cut into pieces for threads."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, SimulationWarning
from dalembert.native.recurrence import Recurrence
from dalembert.native.threads import default_threads, run_all
from dalembert.simulation.progress import Progress
from dalembert.simulation.summaries import SUMMARIES

PIECE = 3e7
"""Nanoseconds, by estimate, after which a thread looks up: for Ctrl-C, and to share the work."""


def check_count(made: Any, dtype: Any, steps: int) -> None:
    """Refuse more steps than a precision can count, where they tell the time.

    Args:
        made: the loop.
        dtype: of its numbers.
        steps: how many.
    """
    most = 2 ** (np.finfo(dtype).nmant + 1)
    if len(made.state) == 4 and steps > most:
        raise ArgumentError(
            f"steps = {steps}: {np.dtype(dtype)} counts to {most} only, then time stands still; use float64"
        )


def batch_shape(made: Recurrence, start: Sequence[Any], held: Mapping[str, Any], rows: Any) -> tuple[int, ...]:
    """The batch dimensions of all arrays, broadcast together.

    Args:
        made: the compiled loop.
        start: initial positions (..., nq) and velocities (..., nv).
        held: the held inputs by name, in order.
        rows: the driven input, (..., rows, n), or None.
    """
    cores = [len(port.shape) for port in made.held]
    others = [array.shape[: array.ndim - core] for array, core in zip(held.values(), cores)]
    try:
        return np.broadcast_shapes(
            *(array.shape[:-1] for array in start), *others, *([] if rows is None else [rows.shape[:-2]])
        )
    except ValueError as error:
        given = {"q0": start[0], "v0": start[1], **held, **({} if rows is None else {"control": rows})}
        told = ", ".join(f"{name} {tuple(array.shape)}" for name, array in given.items() if name != "h")
        raise ArgumentError(f"the batch dimensions do not fit together: {told}") from error


class Batch:
    """One batch of motions.

    Args:
        made: the compiled loop.
        start: initial positions (..., nq) and velocities (..., nv).
        held: the held inputs by name, in order, with any batch dimensions.
        rows: the driven input, (..., rows, n), or None.
        steps: how many.
        every: steps from record to record.
        hold: steps for which a row is held.
        record: keep records.
        summaries: kind and function of each summary.

    Attributes:
        shape: of the batch.
        done: which motions are complete, flat.
    """

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
        self.shape = batch_shape(made, start, held, rows)
        self.count = math.prod(self.shape)
        cores = [len(port.shape) for port in made.held]
        dtype = made.dtype
        check_count(made, dtype, steps)
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
        return np.broadcast_to(array, (*self.shape, *shape)).reshape(self.count, *shape)

    def _small(self, array: np.ndarray, core: int) -> np.ndarray:
        """One row per motion, or a single one if all share it."""
        shape = array.shape[array.ndim - core :]
        shared = math.prod(array.shape[: array.ndim - core]) == 1
        found = array.reshape(1, *shape) if shared else self._flat(array, core)
        return np.ascontiguousarray(found, self.made.dtype)

    def run(self, threads: int | None, progress: bool | None) -> None:
        """Compute all motions; after Ctrl-C warn, and make those that are not complete NaN.

        Args:
            threads: how many to use at most; all cores if None and the batch is large.
            progress: show it; None for on a terminal only.
        """
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
                    f"rollout interrupted: {self.done.sum()} of {self.count} motions are complete",
                    SimulationWarning,
                    stacklevel=3,
                )

    def _piece(self, a: int, b: int, rounds: int, line: Progress) -> Callable[[], object]:
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
        kept = [
            np.empty((self.count, 0, x.shape[-1])) if r is None else r for r, x in zip(self.records, self.state[:2])
        ]
        return [x.reshape(*self.shape, *x.shape[1:]) for x in (*kept[:2], *self.state[:2])]

    def summary(self) -> list[np.ndarray]:
        """The summaries, in the shape of the batch."""
        if len(self.state) < 4:
            return []
        return [column.reshape(self.shape).copy() for column in self.state[3].T]
