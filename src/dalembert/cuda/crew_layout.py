"""What a block of warps keeps in its shared memory, and where.

The inputs of a tile of states, those of the next one if there is room, the values that workers hand on to each other,
and the results. Of wide results, such as matrices of sparse structure, it holds each different value once.
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.cuda.crew import Crew
from dalembert.cuda.hardware import WARP
from dalembert.tracing.program import Port, Program

WIDE = 96
"""Outputs with more elements are written through a buffer, piece by piece."""


@dataclass(frozen=True)
class Go:
    """Outputs that are computed together, and by whom.

    Args:
        ports: the outputs.
        program: the part of the whole that computes them; elements that another go computes have node index -1.
        crew: who computes what.
    """

    ports: tuple[int, ...]
    program: Program
    crew: Crew

    def slots(self, port: int, start: int) -> dict[int, int]:
        """Slots of the different values of an output, by node."""
        values = dict.fromkeys(k for k in self.program.results[port] if k >= 0)
        return {k: start + i for i, k in enumerate(values)}

    def elements(self, port: int) -> list[int]:
        """The elements of an output that are computed."""
        return [e for e, k in enumerate(self.program.results[port]) if k >= 0]


@dataclass(frozen=True)
class Layout:
    """Where things lie in the shared memory of a block.

    Args:
        program: the whole.
        goes: what is computed one after the other.
        ranks: how many warps each worker has.
        buffers: how many tiles of inputs are held, one or two.
        width: bytes of a number.
    """

    program: Program
    goes: tuple[Go, ...]
    ranks: int
    buffers: int
    width: int

    @property
    def workers(self) -> int:
        """Size of the crew."""
        return max(go.crew.size for go in self.goes)

    @property
    def tile(self) -> int:
        """States of a tile."""
        return WARP * self.ranks

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.tile * self.workers

    def step(self, port: Port) -> int:
        """Numbers from one state to the next: as in global memory unless many threads would then meet on one bank."""
        return port.size if port.size % 4 else port.size + 1

    def place(self, port: Port) -> str:
        """Where number k of a tile lies."""
        step = self.step(port)
        return "k" if step == port.size else f"k / {port.size} * {step} + k % {port.size}"

    def room(self, port: Port) -> int:
        """Numbers for a tile of an array; what follows is aligned to sixteen bytes."""
        return (self.step(port) * self.tile + 3) // 4 * 4

    def wide(self, port: Port) -> bool:
        """Whether the different values of an output are held instead of its elements."""
        return port.size > WIDE

    def slots(self, go: Go) -> dict[int, dict[int, int]]:
        """For each wide output of a go, the slots of its values by node."""
        found: dict[int, dict[int, int]] = {}
        for p in go.ports:
            if self.wide(self.program.outputs[p]):
                found[p] = go.slots(p, sum(map(len, found.values())))
        return found

    @property
    def offsets(self) -> tuple[list[int], list[int], int, int, int]:
        """Of inputs, of narrow outputs (-1 for wide ones), of exchanged values, of the values of wide ones, the end."""
        at = 0
        inputs, outputs = [], []
        for port in self.program.inputs:
            inputs.append(at)
            at += self.room(port) * self.buffers
        for port in self.program.outputs:
            outputs.append(-1 if self.wide(port) else at)
            at += 0 if self.wide(port) else self.room(port)
        exchange = at
        at += max(go.crew.slots for go in self.goes) * self.tile
        values = at
        at += max(sum(map(len, self.slots(go).values())) for go in self.goes) * (self.tile + 1)
        return inputs, outputs, exchange, values, at

    @property
    def bytes(self) -> int:
        """Shared memory of a block."""
        return (self.offsets[-1] * self.width + 15) // 16 * 16
