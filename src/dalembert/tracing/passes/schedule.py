"""Order operations so that few values are live at once, for these must be held in registers.

Finding the best order is NP-hard; some are made and the best is taken. They start from

- the order as it is;
- depth first from the results, the operand that needs more registers first (Sethi and Ullman, J. ACM 17, 1970):
  from the first result to the last, from the last to the first, and from the simplest to the deepest. Of a tree
  of bodies this finishes one branch before the next.

In each of these every operation that frees as many values as it makes is moved forward as far as it goes. In the
best, before that, and in the first, after that, every operation that needs no more values than it makes is moved back
as far as it goes.

Derivatives of large robots have more live values than the nearest cache holds. Then it counts, too, how often a value
must return from a farther one: their time goes with that.

A product that a sum can absorb in a fused multiply-add stays next to it.
"""

from __future__ import annotations

from heapq import heappop, heappush

from dalembert.tracing.cost import fused_products
from dalembert.tracing.passes.rebuild import reorder
from dalembert.tracing.program import NOT_HELD, Program

CACHED_VALUES = 400
"""Values that stay in the nearest cache: 32 KB hold 512 registers of 64 bytes, some of which hold other things."""

MANY_OPERATIONS = 30_000
"""Operations beyond which only the order as it is, and what is made of it, is tried."""

_OF_LOOPS = ("element", "rows")

Units = dict[int, tuple[int, ...]]
"""What each operation needs; a sum and the product it absorbs are one, as are a loop and its elements."""


def schedule(program: Program) -> Program:
    """The same operations in an order with few live values; bit for bit the same results."""
    fused = fused_products(program)
    units = _units(program, fused)
    held, users = _held(program, units), _users(units, len(program.nodes))
    starts = [list(units)]
    if len(units) <= MANY_OPERATIONS:
        unit_of = {k: node.args[0] for k, node in enumerate(program.nodes) if node.op in _OF_LOOPS}
        results = list(dict.fromkeys(unit_of.get(k, k) for row in program.results for k in row))
        depth: dict[int, int] = {}
        for k, needs in units.items():
            depth[k] = 1 + max((depth[a] for a in needs), default=0)
        registers = _registers(units, held)
        for roots in (results, results[::-1], sorted(results, key=lambda k: depth[k])):
            starts.append(_depth_first(units, len(held), registers, roots))
    eager = [_forward(units, held, users, order) for order in starts]
    tried = [*starts, *eager, _backward(units, held, users, eager[0])]
    pressures = [_pressure(units, held, order) for order in tried]
    if len(units) <= MANY_OPERATIONS:
        promising = min(range(len(starts)), key=lambda i: pressures[len(starts) + i])
        tried.append(_forward(units, held, users, _backward(units, held, users, starts[promising])))
        pressures.append(_pressure(units, held, tried[-1]))
    best = tried[min(range(len(tried)), key=lambda i: _traffic(units, held, tried[i], pressures[i]))]
    return reorder(program, _with_elements(program, _with_products(best, fused)))


def _traffic(units: Units, held: bytearray, order: list[int], pressure: tuple[int, int]) -> tuple[int, int]:
    """How often memory beyond the nearest cache is needed: once for each value that is live, and for each return."""
    most, total = pressure
    return most + (_returns(units, held, order) if most > CACHED_VALUES else 0), total


def _returns(units: Units, held: bytearray, order: list[int]) -> int:
    """How often a value is needed again that has left the nearest cache, if that keeps what was used last."""
    left = [0] * len(held)
    for k in order:
        for a in units[k]:
            left[a] += 1
    near: dict[int, None] = {}  # live values, the one used longest ago first
    returns = 0
    for k in order:
        for a in units[k]:
            if held[a]:
                if a in near:
                    del near[a]
                else:
                    returns += 1
                left[a] -= 1
                if left[a]:
                    near[a] = None
        if held[k] and left[k]:
            near[k] = None
        while len(near) > CACHED_VALUES:
            del near[next(iter(near))]
    return returns


def _pressure(units: Units, held: bytearray, order: list[int]) -> tuple[int, int]:
    """Most values live at once, and the sum of the lengths of their lives."""
    last = [0] * len(held)  # nothing is used by the first operation
    for time, k in enumerate(order):
        for a in units[k]:
            last[a] = time
    live = most = total = 0
    ends = [0] * len(order)
    for time, k in enumerate(order):
        live -= ends[time]
        end = last[k]
        if end and held[k]:
            live += 1
            ends[end] += 1
            total += end - time
            if live > most:
                most = live
    return most, total


def _units(program: Program, fused: dict[int, int]) -> Units:
    absorbed = set(fused.values()) | {k for k, node in enumerate(program.nodes) if node.op in _OF_LOOPS}
    loop_of = {k: node.args[0] for k, node in enumerate(program.nodes) if node.op in _OF_LOOPS}
    units: Units = {}
    for k, (op, args, _) in enumerate(program.nodes):
        if k not in absorbed:
            needs = [] if op == "input" else [a for a in args if a != fused.get(k)]
            needs += program.nodes[fused[k]].args if k in fused else ()
            units[k] = tuple(dict.fromkeys(loop_of.get(a, a) for a in needs))
    return units


def _held(program: Program, units: Units) -> bytearray:
    """For each node whether it is an operation whose value is held."""
    held = bytearray(len(program.nodes))
    for k in units:
        held[k] = program.nodes[k].op not in NOT_HELD
    return held


def _users(units: Units, size: int) -> list[list[int]]:
    users: list[list[int]] = [[] for _ in range(size)]
    for k, needs in units.items():
        for a in needs:
            users[a].append(k)
    return users


def _with_products(order: list[int], fused: dict[int, int]) -> list[int]:
    return [k for unit in order for k in ((fused[unit], unit) if unit in fused else (unit,))]


def _with_elements(program: Program, order: list[int]) -> list[int]:
    """The order with what a loop ends with right after it."""
    if not program.loops:
        return order
    elements: dict[int, list[int]] = {}
    for k, node in enumerate(program.nodes):
        if node.op in _OF_LOOPS:
            elements.setdefault(node.args[0], []).append(k)
    return [k for unit in order for k in (unit, *elements.get(unit, ()))]


def _registers(units: Units, held: bytearray) -> dict[int, int]:
    """How many values must be held at once to compute each, if it were a tree."""
    registers: dict[int, int] = {}
    for k, needs in units.items():
        below = sorted((registers[a] for a in needs), reverse=True)
        registers[k] = max([held[k], *(r + i for i, r in enumerate(below))])
    return registers


def _depth_first(units: Units, size: int, registers: dict[int, int], roots: list[int]) -> list[int]:
    order: list[int] = []
    done = bytearray(size)
    stack = roots[::-1]
    while stack:
        k = stack[-1]
        if done[k]:
            stack.pop()
            continue
        missing = [a for a in units[k] if not done[a]]
        if missing:
            stack.extend(sorted(missing, key=lambda a: (registers[a], -a)) if len(missing) > 1 else missing)
        else:
            stack.pop()
            done[k] = 1
            order.append(k)
    return order


def _forward(units: Units, held: bytearray, users: list[list[int]], order: list[int]) -> list[int]:
    """The same order, but whatever frees as many values as it makes comes as soon as it can."""
    position, missing, left = [0] * len(held), [0] * len(held), list(map(len, users))
    for i, k in enumerate(order):
        position[k] = i
        missing[k] = len(units[k])
    result: list[int] = []
    done = bytearray(len(held))
    heap: list[tuple[bool, int, int]] = []

    def offer(k: int) -> None:
        frees = 0
        for a in units[k]:
            if left[a] == 1 and held[a]:
                frees += 1
        heappush(heap, (frees < (held[k] and left[k] > 0), position[k], k))

    for k in order:
        if not missing[k]:
            offer(k)
    while heap:
        _, _, k = heappop(heap)
        if done[k]:
            continue
        done[k] = 1
        result.append(k)
        for a in units[k]:
            left[a] -= 1
            if left[a] == 1:
                for user in users[a]:  # the one that is left may now free it
                    if not done[user] and not missing[user]:
                        offer(user)
        for user in users[k]:
            missing[user] -= 1
            if not missing[user]:
                offer(user)
    return result


def _backward(units: Units, held: bytearray, users: list[list[int]], order: list[int]) -> list[int]:
    """The same order, but whatever makes as many values as it needs comes as late as it can."""
    position, growth, waiting = [0] * len(held), [0] * len(held), list(map(len, users))
    for i, k in enumerate(order):
        position[k] = -i
        growth[k] = sum([held[a] for a in units[k]])  # operands that nothing later needs
    live = bytearray(len(held))
    result: list[int] = []
    done = bytearray(len(held))
    heap: list[tuple[bool, int, int]] = []

    def offer(k: int) -> None:
        heappush(heap, (growth[k] > live[k], position[k], k))

    for k in order:
        if not waiting[k]:
            offer(k)
    while heap:
        _, _, k = heappop(heap)
        if done[k]:
            continue
        done[k] = 1
        result.append(k)
        live[k] = 0
        for a in units[k]:
            if held[a] and not live[a]:
                live[a] = 1
                for user in users[a]:
                    growth[user] -= 1
                    if not done[user] and not waiting[user]:
                        offer(user)
            waiting[a] -= 1
            if not waiting[a]:
                offer(a)
    return result[::-1]
