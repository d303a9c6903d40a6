"""A quantity with more results than a thread has registers, computed by several kernels one after the other.

What one kernel hands on to the next lies in arrays that are made for the call; the last ones may work on the results of
earlier ones in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.cuda.columns import UNIT, columns_to_cuda
from dalembert.cuda.crew import Parts
from dalembert.cuda.hardware import SHARED
from dalembert.cuda.launch import Launch, shared_memory
from dalembert.cuda.source import CudaSource, to_cuda
from dalembert.printing.c_family import Real
from dalembert.tracing.program import Port, Program


@dataclass(frozen=True)
class Stage:
    """One of several programs that are evaluated one after the other.

    Args:
        program: what it computes; its inputs are found by name among those of the whole and what earlier stages gave.
        gives: under which names its outputs are known.
        parts: the parts of the system, if it has some.
        columns: how many columns the matrices have on whose columns it works; 0 if it works on states.
    """

    program: Program
    gives: tuple[str, ...]
    parts: Parts | None = None
    columns: int = 0

    @property
    def takes(self) -> tuple[str, ...]:
        """Names of the arrays that are passed to it."""
        return tuple(port.name for port in self.program.inputs if not (self.columns and port.name == UNIT))

    def source(self, real: Real, room: int = SHARED) -> CudaSource:
        """As CUDA.

        Args:
            real: the type of all numbers.
            room: bytes of shared memory that a block can have on the device.
        """
        if self.columns:
            return columns_to_cuda(self.program, self.columns, real, room)
        return to_cuda(self.program, real, parts=self.parts, room=room)


class StagedLaunch:
    """The kernels of all stages, compiled for the current device.

    Args:
        name: of what is computed, for messages.
        inputs: of the whole.
        outputs: of the whole.
        stages: in the order in which they are evaluated.
        real: the type of all numbers.
        device: index of the device.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Port],
        outputs: Sequence[Port],
        stages: Sequence[Stage],
        real: Real,
        device: int,
    ):
        self._stages = tuple(stages)
        room = shared_memory(device)
        self._launches = [Launch(name, stage.source(real, room), device) for stage in stages]
        self._inputs = [port.name for port in inputs]
        self._names = [*self._inputs, *(port.name for port in outputs)]
        self._between = {
            known: port.shape
            for stage in stages
            for known, port in zip(stage.gives, stage.program.outputs)
            if known not in self._names
        }

    @property
    def between(self) -> tuple[tuple[int, ...], ...]:
        """Shapes, for one state, of the arrays for what the kernels hand on to each other."""
        return tuple(self._between.values())

    def __call__(self, arrays: Sequence[Any], shared: int, count: int, scratch: Sequence[Any]) -> None:
        """Launch all of them on CuPy's current stream.

        Args:
            arrays: inputs, then outputs: arrays or addresses.
            shared: bit k says that input k has one value for all states.
            count: number of states.
            scratch: arrays of the shapes :attr:`between` for all states, or their addresses.
        """
        known = dict(zip((*self._names, *self._between), (*arrays, *scratch)))
        for stage, launch in zip(self._stages, self._launches):
            own = 0
            for k, name in enumerate(stage.takes):
                if name in self._inputs and shared >> self._inputs.index(name) & 1:
                    own |= 1 << k
            launch([known[name] for name in (*stage.takes, *stage.gives)], own, count)
