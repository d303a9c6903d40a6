"""Share parts of sums and products: a + b + c and a + b + d both use a + b; likewise a b c and a b d.

Greedy: the pair of terms, or of factors, that occurs most often becomes a value of its own, until none occurs
    twice.
"""

from __future__ import annotations

import heapq
from collections import Counter
from typing import Any

from dalembert.tracing.passes.nary import Nary, Product, Sum, to_nary, to_program
from dalembert.tracing.program import Program

_LONGEST = 48
"""Sums and products with more members than this are left alone: their pairs would be too many."""

Members = dict[int, float]
"""Of a sum: reference and coefficient. Of a product: reference and how often it occurs."""


def share(program: Program, keep_labels: bool = False) -> Program:
    """A program with fewer additions and multiplications. Sums and products are reassociated.

    Args:
        program: what to rewrite.
        keep_labels: leave values that have a label as they are.
    """
    nary = to_nary(program, keep_labels)
    for kind in (_Products(nary), _Sums(nary)):
        _extract(kind)
    return to_program(nary)


class _Products:
    """How factors pair up."""

    def __init__(self, nary: Nary):
        self.nary = nary
        self.members: dict[int, Members] = {
            ref: dict(Counter(item.factors))
            for ref, item in enumerate(nary.items)
            if isinstance(item, Product) and len(item.factors) <= _LONGEST
        }

    def pairs(self, ref: int) -> dict[Any, int]:
        """Every pair with the number of times it could be taken out of this product."""
        have = list(self.members[ref].items())
        result = {(a, b): int(min(m, n)) for i, (a, m) in enumerate(have) for b, n in have[i + 1 :]}
        return result | {(a, a): int(m) // 2 for a, m in have if m > 1}

    def make(self, pair: Any) -> int:
        return self.nary.make(Product(pair))

    def replace(self, ref: int, pair: Any, new: int) -> None:
        members = Counter({f: int(m) for f, m in self.members[ref].items()})
        times = self.pairs(ref)[pair]
        for f in pair:
            members[f] -= times
        members[new] += times
        self.members[ref] = {f: m for f, m in sorted(members.items()) if m}
        self.nary.items[ref] = Product(tuple(sorted((+members).elements())))


class _Sums:
    """How terms pair up; a pair is the same with both signs changed."""

    def __init__(self, nary: Nary):
        self.nary = nary
        self.members: dict[int, Members] = {
            ref: dict(item.terms)
            for ref, item in enumerate(nary.items)
            if isinstance(item, Sum) and len(item.terms) <= _LONGEST
        }

    def pairs(self, ref: int) -> dict[Any, int]:
        """Every pair, its first coefficient made positive."""
        have = list(self.members[ref].items())
        return {
            ((a, c), (b, d)) if c > 0 else ((a, -c), (b, -d)): 1
            for i, (a, c) in enumerate(have)
            for b, d in have[i + 1 :]
        }

    def make(self, pair: Any) -> int:
        return self.nary.make(Sum(pair))

    def replace(self, ref: int, pair: Any, new: int) -> None:
        members = self.members[ref]
        sign = 1.0 if members.pop(pair[0][0]) > 0 else -1.0
        del members[pair[1][0]]
        members[new] = members.get(new, 0.0) + sign
        self.members[ref] = {r: c for r, c in sorted(members.items()) if c}
        self.nary.items[ref] = Sum(tuple(self.members[ref].items()))


def _extract(kind: _Products | _Sums) -> None:
    uses = kind.nary.uses()
    total: dict[Any, int] = {}
    places: dict[Any, dict[int, None]] = {}
    heap: list[tuple[int, Any]] = []

    def change(ref: int, sign: int) -> None:
        for pair, times in kind.pairs(ref).items():
            total[pair] = total.get(pair, 0) + sign * times
            if sign > 0:
                places.setdefault(pair, {})[ref] = None
                if total[pair] > 1:
                    heapq.heappush(heap, (-total[pair], pair))
            else:
                places[pair].pop(ref, None)

    for ref in kind.members:
        if uses[ref]:
            change(ref, 1)
    while heap:
        count, pair = heapq.heappop(heap)
        if total[pair] != -count:  # out of date
            if total[pair] > 1:
                heapq.heappush(heap, (-total[pair], pair))
            continue
        new = kind.make(pair)
        for ref in list(places[pair]):
            change(ref, -1)
            if ref != new:
                kind.replace(ref, pair, new)
                change(ref, 1)
