"""A program repeated on its own results on a CUDA device: whole trajectories in one launch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.cuda import arrays
from dalembert.cuda.launch import compiled, resident_blocks
from dalembert.cuda.stepper import StepperSource, stepper_source
from dalembert.errors import ArgumentError
from dalembert.native.deferred import Deferred
from dalembert.tracing.program import Port, Program

NAMES = {np.dtype(np.float64): "double", np.dtype(np.float32): "float"}

PIECE = 2e12
"""Nodes evaluated in one launch, a fraction of a second: after each Ctrl-C is heard, and a screen can be drawn."""


class CudaRecurrence:
    """x[k+1] = program(x[k], held, driven[k]), for a batch of trajectories on a device.

    Args:
        name: an identifier.
        state: the first inputs of the program; its outputs have the same shapes, in the same order.
        held: the inputs after them, constant during a run.
        driven: the last inputs, read from an array of rows during a run.
        program: what a step computes, or a function that gives it, called only when it is needed.
    """

    def __init__(
        self,
        name: str,
        state: Sequence[Port],
        held: Sequence[Port],
        driven: Sequence[Port],
        program: Program | Callable[[], Program],
    ):
        self.name = name
        self.state, self.held, self.driven = tuple(state), tuple(held), tuple(driven)
        self._program = Deferred(f"recurrence {name}", program)
        self._compiled: dict[tuple[int, np.dtype], tuple[Any, StepperSource, int]] = {}
        self._lock = threading.RLock()

    @property
    def program(self) -> Program:
        """What a step computes."""
        return self._program.get()

    def source(self, dtype: Any = np.float64) -> StepperSource:
        """The CUDA source for one precision.

        Args:
            dtype: float64 or float32.
        """
        return stepper_source(self.program, self.state, self.held, self.driven, NAMES[np.dtype(dtype)])  # type: ignore[arg-type]

    def _get(self, device: int, dtype: np.dtype) -> tuple[Any, StepperSource, int]:
        """Function, source and number of blocks that fill the device."""
        with self._lock:
            if (device, dtype) not in self._compiled:
                source = self.source(dtype)
                function = compiled(self.name, source.source, source.kernel)
                blocks = resident_blocks(function, source.threads, 0, device)
                self._compiled[device, dtype] = (function, source, blocks)
            return self._compiled[device, dtype]

    def run(
        self,
        state: Sequence[Any],
        held: Sequence[Any],
        driven: Sequence[Any],
        final: Sequence[Any],
        records: Sequence[Any],
        steps: int,
        every: int = 1,
        hold: int = 1,
    ) -> None:
        """Run a batch on the current stream. Arrays are used as they lie in memory and must fit; nothing is cast.

        Args:
            state: the states at the start, (N, ...) each; CuPy arrays of one precision, C-contiguous, as all here.
            held: (N, ...) each, or (1, ...) for one that serves all.
            driven: (N, rows, ...) each, or (1, rows, ...); rows * hold >= steps.
            final: where to write the states at the end, (N, ...) each; may be the arrays of ``state``.
            records: where to write the states before the first and after each ``every`` steps,
                (1 + steps // every, size of a state, N) each; or None.
            steps: number of steps.
            every: steps from record to record.
            hold: steps for which a row of the driven inputs is used.
        """
        if steps < 0 or every < 1 or hold < 1:
            raise ArgumentError(f"{self.name}: steps = {steps}, every = {every}, hold = {hold} are out of range")
        n, dtype = len(state[0]), np.dtype(state[0].dtype)
        rows = driven[0].shape[1] if driven else 1
        flags = self._check(n, dtype, state, held, driven, final, records, steps, every, hold)
        if n == 0:
            return
        device = state[0].device
        with device:
            cp = arrays.cupy()
            function, source, blocks = self._get(device.id, dtype)
            grid = min(-(-n // source.threads), blocks)
            null = np.uintp(0)
            kept = [null if r is None else r for r in records]
            most = max(1, int(PIECE / (n * max(1, len(self.program.nodes)))))
            given = [*state, *held, *driven]
            for begin in range(0, max(steps, 1), most):
                count = min(most, steps - begin)
                numbers = [np.int64(x) for x in (n, begin, count, every, hold, rows)]
                function((grid,), (source.threads,), (*given, *final, *kept, np.uint32(flags), *numbers))
                given[: len(state)] = final
                if begin + count < steps:
                    cp.cuda.get_current_stream().synchronize()

    def _check(
        self,
        n: int,
        dtype: np.dtype,
        state: Sequence[Any],
        held: Sequence[Any],
        driven: Sequence[Any],
        final: Sequence[Any],
        records: Sequence[Any],
        steps: int,
        every: int,
        hold: int,
    ) -> int:
        """Which inputs serve all trajectories, as bits; an error if an array does not fit."""
        flags, device = 0, state[0].device.id
        needed = -(-steps // hold)
        wanted = [(port, x, (n, *port.shape), False) for port, x in zip(self.state, state, strict=True)]
        wanted += [(port, x, (n, *port.shape), True) for port, x in zip(self.held, held, strict=True)]
        for port, x in zip(self.driven, driven, strict=True):
            if x.ndim < 2 or x.shape[1] < needed:
                raise ArgumentError(f"{self.name}: {port.name} has shape {x.shape}; {needed} rows are needed")
            wanted.append((port, x, (n, x.shape[1], *port.shape), True))
        wanted += [(port, x, (n, *port.shape), False) for port, x in zip(self.state, final, strict=True)]
        for port, x in zip(self.state, records, strict=True):
            if x is not None:
                wanted.append((port, x, (1 + steps // every, port.size, n), False))
        for k, (port, x, shape, once) in enumerate(wanted):
            alone = once and x.shape == (1, *shape[1:])
            if (
                (x.shape != shape and not alone)
                or x.dtype != dtype
                or not x.flags.c_contiguous
                or x.device.id != device
            ):
                raise ArgumentError(
                    f"{self.name}: {port.name} is a {x.dtype} array of shape {x.shape} on device {x.device.id}; needed "
                    f"is {shape}, C-contiguous, of {dtype}, on device {device}"
                )
            if alone:
                flags |= 1 << k
        return flags

    def __repr__(self) -> str:
        return f"<CudaRecurrence {self.name}>"
