"""Take common factors out of sums: a b + a c = a (b + c), over sums of any length, numeric coefficients too."""

from __future__ import annotations

from typing import NamedTuple

from dalembert.tracing.passes.nary import ONE, Call, Nary, Product, Scaled, Sum, to_nary, to_program
from dalembert.tracing.program import Program


class _Term(NamedTuple):
    coefficient: float
    factors: tuple[int, ...]


class _Factor(NamedTuple):
    """What terms may have in common: a reference, or a number with the reference ONE."""

    reference: int
    number: float


def factor(program: Program, keep_labels: bool = False) -> Program:
    """A program with fewer multiplications. Sums are reassociated.

    Args:
        program: what to rewrite.
        keep_labels: leave values that have a label as they are.
    """
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
            moved[ref] = (1.0, new.make(Call(item.op, args)))
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
