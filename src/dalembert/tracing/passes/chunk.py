"""Cut a long program into pieces of bounded size that pass values on through a workspace.

A compiler's time and memory grow faster than linearly with the size of a function; with pieces they grow
linearly. A value that a later piece needs gets a slot of the workspace from where it is computed until its last
use, so the workspace is small. Inputs and constants are read again by each piece. Results are written by the
piece that computes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from dalembert.errors import ArgumentError
from dalembert.tracing.cost import last_uses
from dalembert.tracing.program import PREDICATES, Program


@dataclass(frozen=True)
class Piece:
    """One piece: the operations with ``start <= index < stop``.

    Args:
        start: index of its first node.
        stop: index after its last node.
        loads: {node: slot} of values computed by earlier pieces that this one needs.
        stores: {node: slot} of values computed here that later pieces need.
    """

    start: int
    stop: int
    loads: dict[int, int]
    stores: dict[int, int]


@dataclass(frozen=True)
class Chunks:
    """All pieces of a program, in order, and the number of slots of the workspace."""

    pieces: tuple[Piece, ...]
    slots: int


def chunk(program: Program, size: int = 2000) -> Chunks:
    """Cut a program into pieces.

    Within the last quarter of each piece the cut is made where the fewest values are live. Truth values are
    never passed on, nor loops as a whole: a cut is only made where none is live.

    Args:
        size: most nodes in a piece.
    """
    if size < 1:
        raise ArgumentError(f"size is {size}; a piece needs at least one node")
    nodes = program.nodes
    last = last_uses(nodes)
    crossing, truths = [0] * (len(nodes) + 1), [0] * (len(nodes) + 1)  # values live across the cut before a node
    for k, node in program.operations():
        if last[k] > k:
            change = truths if node.op in PREDICATES or node.op == "loop" else crossing
            change[k + 1] += 1
            change[last[k] + 1] -= 1
    for k in range(len(nodes)):
        crossing[k + 1] += crossing[k]
        truths[k + 1] += truths[k]
    cuts = [0]
    while len(nodes) - cuts[-1] > size:
        end = cuts[-1] + size
        window = [k for k in range(max(cuts[-1] + 1, end - size // 4), end + 1) if not truths[k]]
        if not window:
            window = [next((k for k in range(end, len(nodes)) if not truths[k]), len(nodes))]
        cuts.append(min(window, key=lambda k: (crossing[k], -k)))
    cuts = sorted({*cuts, len(nodes)})
    return _allocate(program, cuts, last)


def _allocate(program: Program, cuts: list[int], last: list[int]) -> Chunks:
    nodes = program.nodes
    free: list[int] = []
    slot: dict[int, int] = {}
    slots = 0
    pieces = []
    for start, stop in pairwise(cuts):
        needed = {a: None for k in range(start, stop) if nodes[k].op != "input" for a in nodes[k].args if a in slot}
        loads = {a: slot[a] for a in sorted(needed)}
        stores = {}
        for k in range(start, stop):
            if nodes[k].op not in ("input", "const") and last[k] >= stop:
                if not free:
                    free.append(slots)
                    slots += 1
                stores[k] = free.pop()
        pieces.append(Piece(start, stop, loads, stores))
        for a in [a for a in slot if last[a] < stop]:
            free.append(slot.pop(a))
        slot.update(stores)
    return Chunks(tuple(pieces), slots)
