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

import heapq

from dalembert.tracing.cost import fused_products
from dalembert.tracing.passes.rebuild import reorder
from dalembert.tracing.program import Program

CACHED_VALUES = 400
"""Values that stay in the nearest cache: 32 KB hold 512 registers of 64 bytes, some of which hold other things."""

MANY_OPERATIONS = 30_000
"""Operations beyond which only the order as it is, and what is made of it, is tried."""

Units = dict[int, tuple[int, ...]]
"""What each operation needs; a sum and the product it absorbs are one, as are a loop and its elements."""


def schedule(program: Program) -> Program:
    """The same operations in an order with few live values; bit for bit the same results."""
    fused = fused_products(program)
    units = _units(program, fused)
    held, users = _held(program, units), _users(units)
    starts = [list(units)]
    if len(units) <= MANY_OPERATIONS:
        unit_of = {k: node.args[0] for k, node in enumerate(program.nodes) if node.op == "element"}
        results = list(dict.fromkeys(unit_of.get(k, k) for row in program.results for k in row))
        depth: dict[int, int] = {}
        for k, needs in units.items():
            depth[k] = 1 + max((depth[a] for a in needs), default=0)
        registers = _registers(units, held)
        for roots in (results, results[::-1], sorted(results, key=lambda k: depth[k])):
            starts.append(_depth_first(units, registers, roots))
    eager = [_forward(units, held, users, order) for order in starts]
    promising = min(range(len(starts)), key=lambda i: _pressure(units, held, eager[i]))
    tried = [*starts, *eager, _backward(units, held, users, eager[0])]
    if len(units) <= MANY_OPERATIONS:
        tried.append(_forward(units, held, users, _backward(units, held, users, starts[promising])))
    best = min(tried, key=lambda order: _traffic(units, held, order))
    return reorder(program, _with_elements(program, _with_products(best, fused)))


def _traffic(units: Units, held: set[int], order: list[int]) -> tuple[int, int]:
    """How often memory beyond the nearest cache is needed: once for each value that is live, and for each return."""
    most, total = _pressure(units, held, order)
    return most + (_returns(units, held, order) if most > CACHED_VALUES else 0), total


def _returns(units: Units, held: set[int], order: list[int]) -> int:
    """How often a value is needed again that has left the nearest cache, if that keeps what was used last."""
    left = dict.fromkeys(units, 0)
    for k in order:
        for a in units[k]:
            left[a] += 1
    near: dict[int, None] = {}  # live values, the one used longest ago first
    returns = 0
    for k in order:
        for a in units[k]:
            if a in held:
                if a in near:
                    del near[a]
                else:
                    returns += 1
                left[a] -= 1
                if left[a]:
                    near[a] = None
        if k in held and left[k]:
            near[k] = None
        while len(near) > CACHED_VALUES:
            del near[next(iter(near))]
    return returns


def _pressure(units: Units, held: set[int], order: list[int]) -> tuple[int, int]:
    """Most values live at once, and the sum of the lengths of their lives."""
    last: dict[int, int] = {}
    for time, k in enumerate(order):
        for a in units[k]:
            last[a] = time
    live = most = total = 0
    ends = [0] * len(order)
    for time, k in enumerate(order):
        live -= ends[time]
        if k in held and k in last:
            live += 1
            ends[last[k]] += 1
            total += last[k] - time
            most = max(most, live)
    return most, total


def _units(program: Program, fused: dict[int, int]) -> Units:
    absorbed = set(fused.values()) | {k for k, node in enumerate(program.nodes) if node.op == "element"}
    loop_of = {k: node.args[0] for k, node in enumerate(program.nodes) if node.op == "element"}
    units: Units = {}
    for k, (op, args, _) in enumerate(program.nodes):
        if k not in absorbed:
            needs = [] if op == "input" else [a for a in args if a != fused.get(k)]
            needs += program.nodes[fused[k]].args if k in fused else ()
            units[k] = tuple(dict.fromkeys(loop_of.get(a, a) for a in needs))
    return units


def _held(program: Program, units: Units) -> set[int]:
    return {k for k in units if program.nodes[k].op not in ("input", "const")}


def _users(units: Units) -> dict[int, list[int]]:
    users: dict[int, list[int]] = {k: [] for k in units}
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
        if node.op == "element":
            elements.setdefault(node.args[0], []).append(k)
    return [k for unit in order for k in (unit, *elements.get(unit, ()))]


def _registers(units: Units, held: set[int]) -> dict[int, int]:
    """How many values must be held at once to compute each, if it were a tree."""
    registers: dict[int, int] = {}
    for k, needs in units.items():
        below = sorted((registers[a] for a in needs), reverse=True)
        registers[k] = max([k in held, *(r + i for i, r in enumerate(below))])
    return registers


def _depth_first(units: Units, registers: dict[int, int], roots: list[int]) -> list[int]:
    order: list[int] = []
    done: set[int] = set()
    stack = roots[::-1]
    while stack:
        k = stack[-1]
        missing = [a for a in units[k] if a not in done]
        if k in done:
            stack.pop()
        elif missing:
            stack.extend(sorted(missing, key=lambda a: (registers[a], -a)))
        else:
            stack.pop()
            done.add(k)
            order.append(k)
    return order


def _forward(units: Units, held: set[int], users: dict[int, list[int]], order: list[int]) -> list[int]:
    """The same order, but whatever frees as many values as it makes comes as soon as it can."""
    position = {k: i for i, k in enumerate(order)}
    missing = {k: len(units[k]) for k in order}
    left = {k: len(users[k]) for k in order}
    result: list[int] = []
    done: set[int] = set()
    heap: list[tuple[bool, int, int]] = []

    def offer(k: int) -> None:
        frees = sum(a in held and left[a] == 1 for a in units[k])
        heapq.heappush(heap, (frees < (k in held and left[k] > 0), position[k], k))

    for k in order:
        if not missing[k]:
            offer(k)
    while heap:
        _, _, k = heapq.heappop(heap)
        if k in done:
            continue
        done.add(k)
        result.append(k)
        for a in units[k]:
            left[a] -= 1
            if left[a] == 1:
                for user in users[a]:  # the one that is left may now free it
                    if user not in done and not missing[user]:
                        offer(user)
        for user in users[k]:
            missing[user] -= 1
            if not missing[user]:
                offer(user)
    return result


def _backward(units: Units, held: set[int], users: dict[int, list[int]], order: list[int]) -> list[int]:
    """The same order, but whatever makes as many values as it needs comes as late as it can."""
    position = {k: i for i, k in enumerate(order)}
    waiting = {k: len(users[k]) for k in order}
    growth = {k: sum(a in held for a in units[k]) for k in order}  # operands that nothing later needs
    live: set[int] = set()
    result: list[int] = []
    done: set[int] = set()
    heap: list[tuple[bool, int, int]] = []

    def offer(k: int) -> None:
        heapq.heappush(heap, (growth[k] > (k in live), -position[k], k))

    for k in order:
        if not waiting[k]:
            offer(k)
    while heap:
        _, _, k = heapq.heappop(heap)
        if k in done:
            continue
        done.add(k)
        result.append(k)
        live.discard(k)
        for a in units[k]:
            if a in held and a not in live:
                live.add(a)
                for user in users[a]:
                    growth[user] -= 1
                    if user not in done and not waiting[user]:
                        offer(user)
            waiting[a] -= 1
            if not waiting[a]:
                offer(a)
    return result[::-1]
