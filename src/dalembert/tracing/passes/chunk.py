"""Cut a long program into pieces of bounded size that pass values on through a workspace.

A compiler's time and memory grow faster than linearly with the size of a function; with pieces they grow
linearly. A value that a later piece needs gets a slot of the workspace from where it is computed until its last
use, so the workspace is small. Inputs and constants are read again by each piece. Results are written by the
piece that computes them.

Where some slots are in faster memory than others, they go to the values that use them best: those that are written and
read often for the number of pieces over which they wait. A loop is then a piece of its own, so that registers hold what
it repeats and nothing else.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from dalembert.errors import ArgumentError
from dalembert.tracing.cost import last_uses
from dalembert.tracing.program import ARRAYS, NOT_HELD, PREDICATES, Program


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


def chunk(program: Program, size: int = 2000, near: int = 0) -> Chunks:
    """Cut a program into pieces.

    Within the last quarter of each piece the cut is made where the fewest values are live. Truth values are
    never passed on, nor loops as a whole: a cut is only made where none is live.

    Args:
        size: most nodes in a piece.
        near: how many slots are in fast memory: the first ones. Pieces write them after everything has been read.
    """
    if size < 1:
        raise ArgumentError(f"size is {size}; a piece needs at least one node")
    nodes = program.nodes
    last = last_uses(nodes)
    crossing, truths = [0] * (len(nodes) + 1), [0] * (len(nodes) + 1)  # values live across the cut before a node
    for k, node in program.operations():
        if last[k] > k and node.op not in ARRAYS:
            change = truths if node.op in PREDICATES or node.op == "loop" else crossing
            change[k + 1] += 1
            change[last[k] + 1] -= 1
    for k in range(len(nodes)):
        crossing[k + 1] += crossing[k]
        truths[k + 1] += truths[k]
    cuts = [0]
    for bound in (*(_around_loops(program, truths) if near else ()), len(nodes)):
        while bound - cuts[-1] > size:
            end = cuts[-1] + size
            window = [k for k in range(max(cuts[-1] + 1, end - size // 4), end + 1) if not truths[k]]
            if not window:
                window = [next((k for k in range(end, bound) if not truths[k]), bound)]
            cuts.append(min(window, key=lambda k: (crossing[k], -k)))
        cuts.append(bound)
    return _allocate(program, sorted({*cuts, len(nodes)}), last, near)


def _around_loops(program: Program, truths: list[int]) -> list[int]:
    """Where the program can be cut before and after its loops.

    Args:
        truths: for every place how many values are live there that cannot be passed on.
    """
    found = []
    for k, node in enumerate(program.nodes):
        if node.op == "loop":
            after = next((j for j in range(k + 1, len(program.nodes)) if not truths[j]), len(program.nodes))
            found += [k, after]
    return [k for k in found if k == len(program.nodes) or not truths[k]]


def _allocate(program: Program, cuts: list[int], last: list[int], near: int) -> Chunks:
    nodes = program.nodes
    readers = _readers(program, cuts)
    close = _close(readers, cuts, near)
    unused = list(range(near))[::-1]
    free: list[int] = []
    slot: dict[int, int] = {}
    slots = near
    pieces = []
    for start, stop in pairwise(cuts):
        needed = {a: None for k in range(start, stop) if nodes[k].op != "input" for a in nodes[k].args if a in slot}
        loads = {a: slot[a] for a in sorted(needed)}
        done = [a for a in slot if last[a] < stop]
        unused += [slot[a] for a in done if a in close]
        stores = {}
        passed_on = [k for k in range(start, stop) if nodes[k].op not in NOT_HELD and last[k] >= stop]
        if near:  # what is read by the same pieces lies together, so that one instruction can move several
            passed_on.sort(key=lambda k: (readers[k], k))
            free.sort(reverse=True)
        for k in passed_on:
            if k in close:
                stores[k] = unused.pop()
                continue
            if not free:
                free.append(slots)
                slots += 1
            stores[k] = free.pop()
        pieces.append(Piece(start, stop, loads, stores))
        for a in done:
            place = slot.pop(a)
            if a not in close:
                free.append(place)
        slot.update(stores)
    return Chunks(tuple(pieces), slots)


def _readers(program: Program, cuts: list[int]) -> dict[int, list[int]]:
    """Of every value that crosses a cut, which pieces read it, in order."""
    nodes = program.nodes
    found: dict[int, list[int]] = {}
    for number, (start, stop) in enumerate(pairwise(cuts)):
        for k in range(start, stop):
            if nodes[k].op != "input":
                for a in nodes[k].args:
                    if a < start and nodes[a].op not in NOT_HELD:
                        own = found.setdefault(a, [])
                        if not own or own[-1] != number:
                            own.append(number)
    return found


def _close(readers: dict[int, list[int]], cuts: list[int], near: int) -> set[int]:
    """The values that wait in fast memory, never more at a time than fit."""
    if not near:
        return set()
    spans = {
        a: range(bisect_right(cuts, a) - 1, own[-1]) for a, own in readers.items()
    }  # the pieces after which it waits
    waiting = [0] * len(cuts)
    found = set()
    for a in sorted(spans, key=lambda a: (-(1 + len(readers[a])) / len(spans[a]), a)):
        if all(waiting[number] < near for number in spans[a]):
            found.add(a)
            for number in spans[a]:
                waiting[number] += 1
    return found
