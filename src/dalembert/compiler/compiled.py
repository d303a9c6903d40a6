"""What a kernel has once it is compiled: machine code, ufuncs, and how much work a state is."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .calls import quick_call
from .llvm.engine import Loaded
from .llvm.target import Target
from .native import load_program
from .program import Port, Program
from .ufunc import LOOP, STREAMED, THROUGH, Loop, make_ufunc, replace_loop

LARGE = 200_000.0
"""Nanoseconds of work, by estimate, from which on a batch is divided among threads."""

LONG = 20_000.0
"""Nanoseconds of work, by estimate, from which on a bound call releases the interpreter lock."""


class Compiled:
    """A program in machine code.

    Code for the last of the precisions is made at once, for another one when it is first used.

    Args:
        name: of the ufunc.
        doc: of the ufunc.
        inputs: the input arrays.
        outputs: the output arrays.
        program: gives the program; not called if the cache has the code.
        key: the program's name in the cache, if not its digest.
        dtypes: precisions to compute in, in the order in which NumPy tries them.
        target: the processor.

    Attributes:
        ufunc: writes its outputs through the caches.
        streaming_ufunc: writes its outputs past the caches.
        quick: the quickest call on a single state, or None.
        few: the largest number of states that is not worth being divided among threads.
        short: the largest number of states during which the interpreter lock may be held.
    """

    def __init__(
        self,
        name: str,
        doc: str,
        inputs: Sequence[Port],
        outputs: Sequence[Port],
        program: Callable[[], Program],
        key: str | None,
        dtypes: Sequence[np.dtype],
        target: Target,
    ):
        self.dtypes, self.target = tuple(dtypes), target
        self._program, self._key = program, key
        self._codes: dict[np.dtype, Loaded] = {}
        self._ufuncs: list[np.ufunc] = []
        self._lock = threading.RLock()

        main = self.dtypes[-1]
        address = self.code(main).address("loop")
        self._stubs = [LOOP(self._later(dtype)) for dtype in self.dtypes[:-1]]
        loops = [
            Loop(dtype, ctypes.cast(stub, ctypes.c_void_p).value or 0) for dtype, stub in zip(self.dtypes, self._stubs)
        ]
        loops.append(Loop(main, address))
        for data in (THROUGH, STREAMED):
            self._ufuncs.append(make_ufunc(name, doc, inputs, outputs, loops, (self._codes, self._stubs), data))
        self.ufunc, self.streaming_ufunc = self._ufuncs
        self.quick = quick_call(address, main, inputs, outputs, self._codes)

        moved = sum(port.size for port in (*inputs, *outputs))
        cost = (0.3 * self.code(main).integer("operations") + 2.0 * moved) / target.lanes(main).width  # ns per state
        self.few, self.short = int(LARGE / (cost + 1e-3)), int(LONG / (cost + 1e-3))

    def code(self, dtype: np.dtype) -> Loaded:
        """The machine code for one precision; makes it if need be.

        Args:
            dtype: one of the precisions.
        """
        with self._lock:
            if dtype not in self._codes:
                code = self._codes[dtype] = load_program(self._program, dtype, self.target, self._key)
                for ufunc in self._ufuncs:
                    replace_loop(ufunc, self.dtypes.index(dtype), code.address("loop"))
            return self._codes[dtype]

    def _later(self, dtype: np.dtype) -> Callable[..., None]:
        """A loop that stands for one that is not compiled yet: compiles it, lets it take its place, and calls it."""

        def loop(args: Any, dimensions: Any, steps: Any, data: int) -> None:
            LOOP(self.code(dtype).address("loop"))(args, dimensions, steps, data)

        return loop
