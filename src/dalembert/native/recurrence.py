"""A program repeated on its own results, compiled with the loop around it: thousands of trajectories in one call."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.native.deferred import Deferred, compiling
from dalembert.native.llvm.engine import Loaded
from dalembert.native.llvm.module import Source, recurrence_source, recurrence_text
from dalembert.native.llvm.target import Target
from dalembert.native.load import identity, load_source
from dalembert.native.ufunc import LOOP
from dalembert.tracing.program import Port, Program

DOUBLE = np.dtype(np.float64)


class Recurrence:
    """x[k+1] = program(x[k], held, driven[k]), for a batch of trajectories.

    Args:
        state: the first inputs of the program; its outputs have the same shapes, in the same order.
        held: the inputs after them, constant during a run.
        driven: the last inputs, read from an array of rows during a run.
        program: what a step computes, or a function that gives it, called only when it is needed.
        key: a name that changes whenever the program would, as long as dalembert's source stays the same.
        dtype: float64 or float32, what to compute in.
        target: the processor; this one by default.
    """

    def __init__(
        self,
        name: str,
        state: Sequence[Port],
        held: Sequence[Port],
        driven: Sequence[Port],
        program: Program | Callable[[], Program],
        key: str | None = None,
        dtype: Any = DOUBLE,
        target: Target | None = None,
    ):
        self.name, self.key, self.dtype = name, key, np.dtype(dtype)
        self.state, self.held, self.driven = tuple(state), tuple(held), tuple(driven)
        self._target = target
        self._program = Deferred(f"recurrence {name}", program, self._check)
        self._code: Loaded | None = None

    @property
    def target(self) -> Target:
        """The processor the loop is compiled for."""
        return self._target or Target.host()

    @property
    def program(self) -> Program:
        """What a step computes."""
        return self._program.get()

    def _check(self, made: Program) -> None:
        given = [port.shape for port in made.inputs]
        wanted = [port.shape for port in (*self.state, *self.held, *self.driven)]
        if given != wanted or [p.shape for p in made.outputs] != [p.shape for p in self.state]:
            raise ArgumentError(f"recurrence {self.name}: the program {made!r} does not map its state to a state")

    @property
    def ir(self) -> str:
        """The loop in LLVM's language, to look at."""
        return recurrence_text(self.program, self.state, self.held, self.driven, self.dtype, self.target)

    def _source(self) -> Source:
        return recurrence_source(self.program, self.state, self.held, self.driven, self.dtype, self.target)

    @property
    def code(self) -> Loaded:
        """The machine code; made on first use."""
        with compiling():
            if self._code is None:
                shape = self.state, self.held, self.driven
                parts = "recurrence", *identity(self._program.get, self.key), shape
                self._code = load_source(
                    parts, self.target.lanes(self.dtype), self.target, self._source, self._program.owner
                )
            return self._code

    @property
    def cost(self) -> float:
        """Nanoseconds that one step of one trajectory takes, by a rough estimate."""
        return 1 + 0.4 * self.code.integer("operations") / self.width

    @property
    def width(self) -> int:
        """How many trajectories are advanced at the same time."""
        return self.target.lanes(self.dtype).width

    def run(
        self,
        state: Sequence[np.ndarray],
        held: Sequence[np.ndarray],
        driven: Sequence[np.ndarray],
        final: Sequence[np.ndarray],
        records: Sequence[np.ndarray | None],
        steps: int,
        every: int = 1,
        hold: int = 1,
    ) -> None:
        """Run a batch in the calling thread. Arrays are used as they lie in memory and must fit; nothing is cast.

        Args:
            state: the states at the start, (N, ...) each.
            held: (N, ...) each, or (1, ...) for one that serves all.
            driven: (N, rows, ...) each, or (1, rows, ...); rows * hold >= steps.
            final: where to write the states at the end, (N, ...) each; may be the arrays of ``state``.
            records: where to write the states after each ``every`` steps, (N, steps // every, ...) each; or None.
            every: steps from record to record.
            hold: steps for which a row of the driven inputs is used.
        """
        for name, arrays, ports in (
            ("state", state, self.state), ("held", held, self.held), ("driven", driven, self.driven),
            ("final", final, self.state), ("records", records, self.state),
        ):  # fmt: skip
            if len(arrays) != len(ports):
                names = ", ".join(port.name for port in ports)
                raise ArgumentError(f"{self.name}: {name} are {len(arrays)} arrays; needed are {len(ports)} ({names})")
        n = next((len(array) for array in state if np.ndim(array)), 0)
        if steps < 0 or every < 1 or hold < 1:
            raise ArgumentError(f"{self.name}: steps = {steps}, every = {every}, hold = {hold} are out of range")
        pointers: list[int] = []
        strides: list[int] = []
        rows_needed = -(-steps // hold)
        for port, array in zip((*self.state, *self.held), (*state, *held), strict=True):
            self._add(port, array, n, None, pointers, strides)
        for port, array in zip(self.driven, driven, strict=True):
            self._add(port, array, n, rows_needed, pointers, strides)
        for port, array in zip(self.state, final, strict=True):
            self._add(port, array, n, None, pointers, strides, True)
        for port, kept in zip(self.state, records, strict=True):
            if kept is None:
                pointers.append(0)
                strides += [0, 0]
            else:
                self._add(port, kept, n, steps // every, pointers, strides, True)
        loop = LOOP(self.code.address("loop"))  # a call through ctypes leaves the interpreter lock
        loop(
            (ctypes.c_void_p * len(pointers))(*pointers),
            (ctypes.c_ssize_t * 4)(n, steps, every, hold),
            (ctypes.c_ssize_t * len(strides))(*strides),
            None,
        )

    def _add(
        self,
        port: Port,
        array: np.ndarray,
        n: int,
        rows: int | None,
        pointers: list[int],
        strides: list[int],
        written: bool = False,
    ) -> None:
        lead = 1 if rows is None else 2
        if not isinstance(array, np.ndarray):
            raise ArgumentError(
                f"{self.name}: {port.name} is a {type(array).__name__}; its memory is used, so it must be a NumPy array"
            )
        core = tuple(self.dtype.itemsize * math.prod(port.shape[d + 1 :]) for d in range(len(port.shape)))
        fits = (
            array.dtype == self.dtype
            and array.flags.aligned
            and array.ndim >= lead
            and array.shape[lead:] == port.shape
            and (array.shape[0] == n or (array.shape[0] == 1 and not written))
            and (rows is None or array.shape[1] >= rows)
            and (array.size == 0 or all(s == c for s, c, m in zip(array.strides[lead:], core, port.shape) if m > 1))
            and (array.flags.writeable or not written)
        )
        if not fits:
            raise ArgumentError(
                f"{self.name}: {port.name} has shape {array.shape}, strides {array.strides}, dtype {array.dtype};"
                f" needed are {n} trajectories{'' if rows is None else f', {rows} rows'}, then {port.shape},"
                f" contiguous, of {self.dtype}"
            )
        pointers.append(array.ctypes.data)
        strides.append(array.strides[0] if array.shape[0] > 1 else 0)
        strides.append(0 if rows is None else array.strides[1])
