"""What a kernel has once it is compiled: machine code, ufuncs, and how much work a state is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dalembert.native.calls import quick_call
from dalembert.native.llvm.engine import Loaded
from dalembert.native.llvm.target import Target
from dalembert.native.load import load_program
from dalembert.native.lock import compiling
from dalembert.native.ufunc import STREAMED, THROUGH, Loop, make_ufunc
from dalembert.tracing.program import Port, Program

LARGE = 200_000.0
"""Nanoseconds of work, by estimate, from which on a batch is divided among threads."""

LONG = 20_000.0
"""Nanoseconds of work, by estimate, from which on a bound call releases the interpreter lock."""


class Compiled:
    """A program in machine code.

    Code for the last of the precisions is made at once, for another one when it is asked for.

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
        self.name, self.doc, self.inputs, self.outputs = name, doc, inputs, outputs
        self.dtypes, self.target = tuple(dtypes), target
        self._program, self._key = program, key
        self._codes: dict[np.dtype, Loaded] = {}
        self._ufuncs: dict[tuple[np.dtype | None, bool], np.ufunc] = {}
        main = self.dtypes[-1]
        self.quick = quick_call(self.code(main).address("loop"), main, inputs, outputs, self._codes)

        moved = sum(port.size for port in (*inputs, *outputs))
        cost = (0.3 * self.code(main).integer("operations") + 2.0 * moved) / target.lanes(main).width  # ns per state
        self.few, self.short = int(LARGE / (cost + 1e-3)), int(LONG / (cost + 1e-3))

    def code(self, dtype: np.dtype) -> Loaded:
        """The machine code for one precision; makes it if need be.

        Args:
            dtype: one of the precisions.
        """
        with compiling():
            if dtype not in self._codes:
                self._codes[dtype] = load_program(self._program, dtype, self.target, self._key)
            return self._codes[dtype]

    def ufunc(self, dtype: np.dtype | None, streamed: bool = False) -> np.ufunc:
        """The loop for one precision as a ufunc, or the loops for all of them; compiles what is missing.

        Args:
            dtype: one of the precisions, or None for all.
            streamed: whether it writes its outputs past the caches.
        """
        found = self._ufuncs.get((dtype, streamed))
        if found is None:
            with compiling():
                loops = [Loop(d, self.code(d).address("loop")) for d in (self.dtypes if dtype is None else (dtype,))]
                keep = [self.code(loop.dtype) for loop in loops]
                data = STREAMED if streamed else THROUGH
                found = make_ufunc(self.name, self.doc, self.inputs, self.outputs, loops, keep, data)
                self._ufuncs[dtype, streamed] = found
        return found
