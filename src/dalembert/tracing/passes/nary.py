"""Programs seen as sums of products: the form in which terms and factors can be regrouped.

Chains of additions and subtractions become one *sum* with numeric coefficients, chains of multiplications one
*product*; everything else is a *call*. A value that is used more than once is never merged into its users, so
going to this form and back costs nothing. A scaled value is a pair (coefficient, reference); reference 0 is the
number one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from dalembert.tracing.graph import Graph
from dalembert.tracing.passes.rebuild import assemble
from dalembert.tracing.program import Program
from dalembert.tracing.rules import RULES, add, mul, neg, sub

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
    """Any other operation (also inputs, the number one, and numbers that are not finite)."""

    op: str
    args: tuple[Any, ...]


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
        kept = sorted((ref, c) for ref, c in terms.items() if c != 0)
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
        kept = sorted(f for f in factors if f != ONE)
        return ONE if not kept else kept[0] if len(kept) == 1 else self.make(Product(tuple(kept)))

    def scaled(self, value: Scaled) -> int:
        """The reference of a scaled value, for where a coefficient cannot stay outside."""
        c, ref = value
        return ref if c == 1 else self.make(Sum(((ref, c),)))

    def references(self, ref: int) -> tuple[int, ...]:
        """What an item refers to, with repetitions."""
        item = self.items[ref]
        if isinstance(item, Sum):
            return tuple(r for r, _ in item.terms)
        if isinstance(item, Product):
            return item.factors
        return () if item.op in ("const", "input") else tuple(r for _, r in item.args)

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
        program: what to convert.
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
            result = (1.0, nary.make(Call(op, tuple(value(a) for a in args))))
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
    for port in nary.program.inputs:
        graph.input(port.name, port.shape)
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
