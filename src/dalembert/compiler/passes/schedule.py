"""Order operations so that few values are live at once, for these must be held in registers.

Finding the best order is NP-hard; some are made and the best is taken:

- the order as it is;
- depth first from the results, the operand that needs more registers first (Sethi and Ullman, J. ACM 17, 1970);
- from the last operation backwards, each time the one that adds least to the live values;
- each of these with every operation that frees as many values as it makes moved forward as far as it goes.

A product that a sum can absorb in a fused multiply-add stays next to it.
"""

from __future__ import annotations

import heapq

from ..cost import fused_products
from ..program import Program
from .order import reorder


def schedule(program: Program) -> Program:
    """The same operations in an order with few live values; bit for bit the same results."""
    fused = fused_products(program)
    units = _units(program, fused)
    orders = [list(units), _depth_first(program, units), _backward(program, units)]
    orders += [_eager(program, units, order) for order in orders]
    held = _held(program, units)
    best = min(orders, key=lambda order: _pressure(units, held, order))
    return reorder(program, _with_products(best, fused))


def _pressure(units: dict[int, tuple[int, ...]], held: set[int], order: list[int]) -> tuple[int, int]:
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


def _units(program: Program, fused: dict[int, int]) -> dict[int, tuple[int, ...]]:
    """What each operation needs; a sum and the product it absorbs are one."""
    absorbed = set(fused.values())
    units = {}
    for k, (op, args, _) in enumerate(program.nodes):
        if k not in absorbed:
            needs = [] if op == "input" else [a for a in args if a != fused.get(k)]
            needs += program.nodes[fused[k]].args if k in fused else ()
            units[k] = tuple(dict.fromkeys(needs))
    return units


def _held(program: Program, units: dict[int, tuple[int, ...]]) -> set[int]:
    return {k for k in units if program.nodes[k].op not in ("input", "const")}


def _users(units: dict[int, tuple[int, ...]]) -> dict[int, list[int]]:
    users: dict[int, list[int]] = {k: [] for k in units}
    for k, needs in units.items():
        for a in needs:
            users[a].append(k)
    return users


def _with_products(order: list[int], fused: dict[int, int]) -> list[int]:
    return [k for unit in order for k in ((fused[unit], unit) if unit in fused else (unit,))]


def _depth_first(program: Program, units: dict[int, tuple[int, ...]]) -> list[int]:
    registers: dict[int, int] = {}
    for k, needs in units.items():
        below = sorted((registers[a] for a in needs), reverse=True)
        computed = program.nodes[k].op not in ("input", "const")
        registers[k] = max([computed, *(r + i for i, r in enumerate(below))])
    order: list[int] = []
    done: set[int] = set()
    stack = [k for row in reversed(program.results) for k in reversed(row)]
    stack = list(dict.fromkeys(stack))
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


def _backward(program: Program, units: dict[int, tuple[int, ...]]) -> list[int]:
    held, users = _held(program, units), _users(units)
    waiting = {k: len(us) for k, us in users.items()}
    live: set[int] = set()
    growth = {k: sum(a in held for a in needs) for k, needs in units.items()}
    clock = 0
    heap: list[tuple[int, int, int]] = []

    def offer(k: int) -> None:  # among equals the latest to become ready, which keeps to one branch of the graph
        heapq.heappush(heap, (growth[k] - (k in live), -clock, -k))

    for k in units:
        if not waiting[k]:
            offer(k)
    order: list[int] = []
    done: set[int] = set()
    while heap:
        price, _, k = heapq.heappop(heap)
        k = -k
        if k in done or price != growth[k] - (k in live):
            continue
        done.add(k)
        order.append(k)
        live.discard(k)
        clock += 1
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
    return order[::-1]


def _eager(program: Program, units: dict[int, tuple[int, ...]], order: list[int]) -> list[int]:
    held, users = _held(program, units), _users(units)
    position = {k: i for i, k in enumerate(order)}
    missing = {k: len(needs) for k, needs in units.items()}
    left = {k: len(us) for k, us in users.items()}
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
