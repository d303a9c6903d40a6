"""A batch of motions on a CUDA device."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.cuda import arrays
from dalembert.cuda.recurrence import CudaRecurrence
from dalembert.errors import ArgumentError
from dalembert.native.recurrence import Recurrence
from dalembert.simulation.batch import batch_shape, check_count
from dalembert.simulation.stabiliser import Stabiliser
from dalembert.simulation.summaries import SUMMARIES


class DeviceBatch:
    """One batch of motions, computed on the current device and stream.

    Args:
        system: what moves; remembers the compiled loop.
        made: the same loop for the processor; gives the program.
        kind: library in whose arrays results come.
        dtype: float64 or float32.
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
        system: Stabiliser,
        made: Recurrence,
        kind: str,
        dtype: np.dtype,
        start: Sequence[Any],
        held: Mapping[str, Any],
        rows: Any,
        steps: int,
        every: int,
        hold: int,
        record: bool,
        summaries: Sequence[tuple[str, Any]],
    ):
        check_count(made, dtype, steps)
        self.kind, self.steps, self.every, self.hold = kind, steps, every, hold
        key = ("cuda", made)
        if key not in system.made:
            system.made[key] = CudaRecurrence(made.name, made.state, made.held, made.driven, lambda: made.program)
        self.made: CudaRecurrence = system.made[key]
        self.shape = batch_shape(made, start, held, rows)
        self.count = math.prod(self.shape)
        cp = self._cupy = arrays.cupy()
        with arrays.device_errors(made.name):
            self.state = [self._flat(x, 1, dtype) for x in start]
            if len(made.state) == 4:
                begin = cp.asarray([SUMMARIES[name][0] for name, _ in summaries], dtype)
                self.state += [cp.zeros(self.count, dtype), cp.tile(begin, (self.count, 1))]
            cores = [len(port.shape) for port in made.held]
            self.held = [self._small(array, core, dtype) for array, core in zip(held.values(), cores)]
            self.driven = [] if rows is None else [self._small(rows, 2, dtype)]
            self.records: list[Any] = [None] * len(made.state)
            if record:
                for k in (0, 1):
                    self.records[k] = cp.empty((1 + steps // every, made.state[k].size, self.count), dtype)
        self.done = np.zeros(self.count, dtype=bool)

    def _flat(self, array: Any, core: int, dtype: np.dtype) -> Any:
        """One row per motion, in memory that is ours to change."""
        cp = self._cupy
        shape = array.shape[array.ndim - core :]
        wide = cp.broadcast_to(cp.asarray(array), (*self.shape, *shape)).reshape(self.count, *shape)
        return cp.array(wide, dtype, order="C")  # else it keeps the order of what is given, or is broadcast

    def _small(self, array: Any, core: int, dtype: np.dtype) -> Any:
        """One row per motion, or a single one if all share it."""
        cp = self._cupy
        array = cp.asarray(array)
        own, shape = array.shape[: array.ndim - core], array.shape[array.ndim - core :]
        if math.prod(own) == 1:
            return cp.ascontiguousarray(array.reshape(1, *shape), dtype)
        if own == self.shape:
            return cp.ascontiguousarray(array.reshape(self.count, *shape), dtype)
        return self._flat(array, core, dtype)

    def run(self, threads: int | None, progress: bool | None) -> None:
        """Compute all motions.

        Args:
            threads: must be None: the device decides.
            progress: not shown; a device is asked for all at once.
        """
        if threads is not None:
            raise ArgumentError(f"threads = {threads} is for the processor; a CUDA device uses all it has")
        with arrays.device_errors(self.made.name):
            self.made.run(
                self.state, self.held, self.driven, self.state, self.records, self.steps, self.every, self.hold
            )
        self.done[:] = True

    def _given_back(self, array: Any) -> Any:
        with arrays.device_errors(self.made.name):
            return arrays.give(array, self.kind)

    def results(self) -> list[Any]:
        """Records of q and v, then final q and v, in the shape of the batch and the kind of the caller's arrays.

        Records lie in memory with the motions side by side, as they were written; the array is a view of that.
        """
        found = []
        for kept, x in zip(self.records[:2], self.state[:2]):
            if kept is None:
                found.append(self._cupy.empty((*self.shape, 0, x.shape[-1]), x.dtype))
            else:
                found.append(self._cupy.moveaxis(kept, -1, 0).reshape(*self.shape, *kept.shape[:2]))
        found += [x.reshape(*self.shape, x.shape[-1]) for x in self.state[:2]]
        return [self._given_back(x) for x in found]

    def summary(self) -> list[Any]:
        """The summaries, in the shape of the batch."""
        if len(self.state) < 4:
            return []
        return [self._given_back(self.state[3][:, k].reshape(self.shape).copy()) for k in range(self.state[3].shape[1])]
