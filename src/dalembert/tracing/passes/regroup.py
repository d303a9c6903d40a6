"""Sums and products regrouped: common factors are taken out, common parts are computed once.

A program is seen as sums of products. Chains of additions and subtractions become one *sum* with numeric coefficients,
chains of multiplications one *product*; everything else is a *call*. A value that is used more than once is never
merged into its users, so going to this form and back costs nothing. A scaled value is a pair (coefficient, reference);
reference 0 is the number one. In this form

- ``factor`` takes common factors out of sums, a b + a c = a (b + c), of any length, numeric coefficients too; -
``share`` finds what sums or products have in common: a + b + c and a + b + d both use a + b; likewise a b c and a b d.
  It is greedy: the pair of terms, or of factors, that occurs most often becomes a value of its own, until none occurs
  twice.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from dalembert.tracing.graph import Graph
from dalembert.tracing.program import STRUCTURE, Node, Program
from dalembert.tracing.rules import RULES, add, mul, neg, sub
from dalembert.tracing.trace import assemble

ONE = 0
_SMALL, _LARGE = 1e-290, 1e290

Scaled = tuple[float, int]
"""(coefficient, reference)"""


class Sum(NamedTuple):
    """Coefficient times reference, added up; the references ascend and differ."""

    terms: tuple[tuple[int, float], ...]


class Product(NamedTuple):
    """References multiplied; they ascend and may repeat."""

    factors: tuple[int, ...]


class Call(NamedTuple):
    """Any other operation (also inputs, the number one, and numbers that are not finite); its number as in a node."""

    op: str
    args: tuple[Any, ...]
    number: float = 0.0


Item = Sum | Product | Call


class Nary:
    """A program in n-ary form.

    Attributes:
        items: everything that was made; references are places in this list.
        results: for each output its elements.
        labels: names of items.
    """

    def __init__(self, program: Program):
        self.program = program
        self.items: list[Item] = [Call("const", (1.0,))]
        self.results: list[list[Scaled]] = []
        self.labels: dict[int, str] = {}
        self._table: dict[Item, int] = {self.items[0]: ONE}

    def make(self, item: Item) -> int:
        """The reference of an item; the same item is made once."""
        found = self._table.get(item)
        if found is None:
            found = self._table[item] = len(self.items)
            self.items.append(item)
        return found

    def sum(self, terms: dict[int, float]) -> Scaled:
        """A sum, with a common sign or coefficient of all terms taken out, so that equal sums are found
        equal."""
        kept = sorted([(ref, c) for ref, c in terms.items() if c != 0])
        if not kept:
            return 0.0, ONE
        if len(kept) == 1:
            return kept[0][1], kept[0][0]
        scale = kept[-1][1]
        if any(abs(c) != abs(scale) for _, c in kept):
            scale = 1.0 if scale > 0 else -1.0
        return scale, self.make(Sum(tuple((ref, c / scale) for ref, c in kept)))

    def product(self, factors: Iterable[int]) -> int:
        """A product; of one factor, the factor itself."""
        kept = sorted([f for f in factors if f != ONE])
        return ONE if not kept else kept[0] if len(kept) == 1 else self.make(Product(tuple(kept)))

    def scaled(self, value: Scaled) -> int:
        """The reference of a scaled value, for where a coefficient cannot stay outside."""
        c, ref = value
        return ref if c == 1 else self.make(Sum(((ref, c),)))

    def references(self, ref: int) -> tuple[int, ...]:
        """What an item refers to, with repetitions."""
        item = self.items[ref]
        if isinstance(item, Sum):
            return tuple([r for r, _ in item.terms])
        if isinstance(item, Product):
            return item.factors
        return () if item.op in ("const", "input") else tuple([r for _, r in item.args])

    def uses(self) -> list[int]:
        """How often each item is referred to by needed items and results; 0 for those not needed."""
        count = [0] * len(self.items)
        stack = [ref for row in self.results for _, ref in row]
        while stack:
            ref = stack.pop()
            count[ref] += 1
            if count[ref] == 1:
                stack.extend(self.references(ref))
        return count


def to_nary(program: Program, keep_labels: bool = False) -> Nary:
    """A program in n-ary form.

    Args:
        keep_labels: do not merge a value that has a label into its user.
    """
    nary = Nary(program)
    shared = _shared(program, keep_labels)
    known: list[Any] = []  # a Scaled, or the terms (a dict) of a sum that its only user may absorb

    def value(k: int) -> Scaled:
        if isinstance(known[k], dict):
            known[k] = nary.sum(known[k])
        return known[k]

    def terms(k: int) -> dict[int, float]:
        if isinstance(known[k], dict):
            return known[k]
        c, ref = known[k]
        return {ref: c}

    def factors(k: int) -> tuple[float, tuple[int, ...]]:
        c, ref = value(k)
        if shared[k] and abs(c) != 1:  # computed anyway: better one factor than a coefficient for every user
            return (1.0 if c > 0 else -1.0), (nary.scaled((abs(c), ref)),)
        item = nary.items[ref]
        return c, item.factors if isinstance(item, Product) and not shared[k] else (ref,)

    for k, (op, args, number) in enumerate(program.nodes):
        if op == "const":
            finite = number - number == 0
            result: Any = (number, ONE) if finite else (1.0, nary.make(Call("const", (repr(number),))))
        elif op == "input":
            result = (1.0, nary.make(Call("input", args)))
        elif op == "neg":
            result = {r: -c for r, c in terms(args[0]).items()}
        elif op in ("add", "sub"):
            sign = 1.0 if op == "add" else -1.0
            result = dict(terms(args[0]))
            for r, c in terms(args[1]).items():
                result[r] = result.get(r, 0.0) + sign * c
        elif op == "mul":
            (c, f), (d, g) = factors(args[0]), factors(args[1])
            if c != 0 and d != 0 and not _SMALL < abs(c * d) < _LARGE:
                result = (1.0, nary.product((nary.scaled(value(args[0])), nary.scaled(value(args[1])))))
            else:
                result = (c * d, nary.product(f + g))
        else:
            result = (1.0, nary.make(Call(op, tuple(value(a) for a in args), number)))
        if isinstance(result, dict) and shared[k]:
            result = nary.sum(result)
        known.append(result)
        if k in program.labels and shared[k] and value(k)[0] == 1:
            nary.labels.setdefault(value(k)[1], program.labels[k])
    nary.results = [[value(k) for k in row] for row in program.results]
    return nary


def to_program(nary: Nary) -> Program:
    """Back to binary operations."""
    graph = Graph()
    inputs = [list(np.asarray(graph.input(port.name, port.shape)).flat) for port in nary.program.inputs]
    uses = nary.uses()
    done: dict[int, Any] = {}

    def scaled(c: float, ref: int) -> Any:
        x = done[ref]
        return x if c == 1 else neg(x) if c == -1 else mul(graph.constant(c), x)

    def lower(item: Item) -> Any:
        if isinstance(item, Product):
            x = done[item.factors[0]]
            for f in item.factors[1:]:
                x = mul(x, done[f])
            return x
        if isinstance(item, Sum):
            if not item.terms:
                return graph.constant(0)
            (ref, c), *rest = _chain(item, nary.items, uses)
            x = scaled(c, ref)
            for ref, c in rest:
                x = add(x, scaled(c, ref)) if c > 0 else sub(x, scaled(-c, ref))
            return x
        if item.op == "const":
            return graph.constant(float(item.args[0]))
        if item.op == "input":
            return graph.node("input", item.args)
        if item.op in STRUCTURE:
            node = Node(item.op, (), item.number)
            return graph.structure(nary.program, node, [scaled(c, r) for c, r in item.args], inputs)
        return RULES[item.op](*[scaled(c, r) for c, r in item.args])

    for root, count in enumerate(uses):  # in the order in which items were made: that of the old program
        stack = [root] if count else []
        while stack:
            ref = stack[-1]
            missing = [r for r in nary.references(ref) if r not in done]
            if ref in done:
                stack.pop()
            elif missing:
                stack.extend(reversed(missing))
            else:
                done[ref] = lower(nary.items[ref])
                if ref in nary.labels:
                    done[ref].label(nary.labels[ref])
                stack.pop()
    values = {k: scaled(*x) for old, row in zip(nary.program.results, nary.results) for k, x in zip(old, row)}
    return assemble(graph, nary.program, values)


def _chain(item: Sum, items: list[Item], uses: list[int]) -> list[tuple[int, float]]:
    """The terms in an order in which every product can join a fused multiply-add: one that is no product at the
    start.

    A positive term comes first, so that no sign has to be changed; otherwise older terms come first.
    """
    plain = [t for t in item.terms if abs(t[1]) == 1 and not (uses[t[0]] == 1 and isinstance(items[t[0]], Product))]
    start = [t for t in plain if t[1] > 0][:1]
    if not start:
        start = [t for t in item.terms if t[1] > 0][:1] + plain[:1]
    return start + [t for t in item.terms if t not in start]


def _shared(program: Program, keep_labels: bool) -> list[bool]:
    """Whether a value is used more than once, also through changes of sign and scalings of it."""
    nodes = program.nodes
    uses, user = [0] * len(nodes), [-1] * len(nodes)
    for k, node in program.operations():
        for a in node.args:
            uses[a] += 1
            user[a] = k
    for row in program.results:
        for k in row:
            uses[k] += 1
    shared = [False] * len(nodes)
    for k in range(len(nodes) - 1, -1, -1):
        through = user[k] >= 0 and uses[k] == 1 and nodes[user[k]].op == "neg" and shared[user[k]]
        shared[k] = uses[k] > 1 or through or (keep_labels and k in program.labels)
    return shared


# ------------------------------------------------------------------------------------------------------- common factors


class _Term(NamedTuple):
    coefficient: float
    factors: tuple[int, ...]


class _Factor(NamedTuple):
    """What terms may have in common: a reference, or a number with the reference ONE."""

    reference: int
    number: float


def factor(program: Program, keep_labels: bool = False) -> Program:
    """A program with fewer multiplications. Sums are reassociated."""
    old = to_nary(program, keep_labels)
    uses, new = old.uses(), Nary(program)
    if keep_labels:
        for ref in old.labels:
            uses[ref] += bool(uses[ref])  # as if the reader were a user; nobody reads what is not computed
    moved: dict[int, Scaled] = {ONE: (1.0, ONE)}
    for ref, item in enumerate(old.items):
        if not uses[ref] or ref == ONE:
            continue
        if isinstance(item, Product):
            moved[ref] = _multiply(new, 1.0, [moved[f] for f in item.factors])
        elif isinstance(item, Sum):
            if len(item.terms) == 1:
                ((r, c),) = item.terms
                moved[ref] = (1.0, new.scaled((c * moved[r][0], moved[r][1])))
            else:
                moved[ref] = _factored(new, [_opened(old, new, moved, uses, r, c) for r, c in item.terms])
        elif item.op in ("const", "input"):
            moved[ref] = (1.0, new.make(item))
        else:
            args = tuple((c * moved[r][0], moved[r][1]) for c, r in item.args)
            moved[ref] = (1.0, new.make(Call(item.op, args, item.number)))
        if ref in old.labels and moved[ref][0] == 1:
            new.labels.setdefault(moved[ref][1], old.labels[ref])
    new.results = [[(c * moved[r][0], moved[r][1]) for c, r in row] for row in old.results]
    return to_program(new)


def _multiply(new: Nary, c: float, values: list[Scaled]) -> Scaled:
    for d, _ in values:
        c *= d
    return c, new.product([r for _, r in values])


def _opened(old: Nary, new: Nary, moved: dict[int, Scaled], uses: list[int], ref: int, c: float) -> _Term:
    """A term of a sum; a product that nothing else needs is opened into its factors."""
    item = old.items[ref]
    inside = item.factors if isinstance(item, Product) and uses[ref] == 1 else (ref,)
    for f in inside:
        c *= moved[f][0]
    return _Term(c, tuple(sorted(moved[f][1] for f in inside if moved[f][1] != ONE)))


def _factored(new: Nary, terms: list[_Term]) -> Scaled:
    """A sum with the factor that saves most taken out, again and again."""
    while True:
        terms = [t for t in terms if t.coefficient != 0]  # values may turn out to vanish once factors are taken out
        best, saved = _best(terms)
        if saved < 1:
            break
        group = [t for t in terms if _proper(t) and _has(t, best)]
        c, inner = _factored(new, [_without(t, best) for t in group])
        item = new.items[inner]
        inside = item.factors if isinstance(item, Product) else (inner,)
        if best.reference == ONE:
            c *= best.number
        else:
            inside = (*inside, best.reference)
        rest = [t for t in terms if t not in group]
        terms = [*rest, _Term(c, tuple(sorted(f for f in inside if f != ONE)))]
    total: dict[int, float] = {}
    for c, factors in terms:
        ref = new.product(factors)
        total[ref] = total.get(ref, 0.0) + c
    return new.sum(total)


def _proper(term: _Term) -> bool:
    """Whether the term costs a multiplication, which taking out a factor saves."""
    return len(term.factors) + (abs(term.coefficient) != 1) > 1


def _has(term: _Term, what: _Factor) -> bool:
    return abs(term.coefficient) == what.number if what.reference == ONE else what.reference in term.factors


def _without(term: _Term, what: _Factor) -> _Term:
    if what.reference == ONE:
        return _Term(term.coefficient / what.number, term.factors)
    factors = list(term.factors)
    factors.remove(what.reference)
    return _Term(term.coefficient, tuple(factors))


def _best(terms: list[_Term]) -> tuple[_Factor, int]:
    """The factor that saves most multiplications, and how many."""
    count: dict[_Factor, int] = {_Factor(ONE, 1.0): 0}
    for term in terms:
        if _proper(term):
            for ref in dict.fromkeys(term.factors):
                count[_Factor(ref, 1.0)] = count.get(_Factor(ref, 1.0), 0) + 1
            if abs(term.coefficient) != 1:
                number = _Factor(ONE, abs(term.coefficient))
                count[number] = count.get(number, 0) + 1
    best = max(count, key=lambda f: (count[f], -f.reference, -f.number))
    return best, count[best] - 1


# --------------------------------------------------------------------------------------------------------- common parts


_MOST_MEMBERS = 48
"""Sums and products with more members than this are left alone: their pairs would be too many."""

Members = dict[int, float]
"""Of a sum: reference and coefficient. Of a product: reference and how often it occurs."""


def share(program: Program, keep_labels: bool = False) -> Program:
    """A program with fewer additions and multiplications. Sums and products are reassociated."""
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
            if isinstance(item, Product) and len(item.factors) <= _MOST_MEMBERS
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
            if isinstance(item, Sum) and len(item.terms) <= _MOST_MEMBERS
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
