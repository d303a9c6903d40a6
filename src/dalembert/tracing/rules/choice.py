"""Comparisons, what combines them, and the choice between two values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.tracing.rules.arithmetic import neg
from dalembert.tracing.rules.common import different_graphs

if TYPE_CHECKING:
    from dalembert.tracing.traced import Expr, Predicate


def lt(a: Expr, b: Expr) -> Predicate:
    """a < b"""
    return _compare("lt", a, b, a.value < b.value, same=False)


def le(a: Expr, b: Expr) -> Predicate:
    """a <= b"""
    return _compare("le", a, b, a.value <= b.value, same=True)


def eq(a: Expr, b: Expr) -> Predicate:
    """a == b"""
    if b.index < a.index:
        a, b = b, a
    return _compare("eq", a, b, a.value == b.value, same=True)


def both(a: Predicate, b: Predicate) -> Predicate:
    """Predicates: a and b."""
    return _connect("and", a, b, neutral=True)


def either(a: Predicate, b: Predicate) -> Predicate:
    """Predicates: a or b."""
    return _connect("or", a, b, neutral=False)


def opposite(a: Predicate) -> Predicate:
    """Predicate: not a. (``not (a < b)`` is not ``b <= a``: both fail for NaN.)"""
    if a.op == "const":
        return a.graph.truth(not a.value)
    return a.args[0] if a.op == "not" else a.graph.predicate("not", (a,))


def select(condition: Predicate, yes: Expr, no: Expr) -> Expr:
    """``yes`` where the predicate holds, else ``no``."""
    graph = condition.graph
    for branch in (yes, no):
        if branch.graph is not graph:
            different_graphs(branch, graph)
    if condition.op == "const":
        return yes if condition.value else no
    if yes is no:
        return yes
    if condition.op == "not":
        condition, yes, no = condition.args[0], no, yes
    if yes.op == "neg" and no.op == "neg":
        return neg(select(condition, yes.args[0], no.args[0]))
    return graph.node("select", (condition, yes, no))


def _compare(op: str, a: Expr, b: Expr, known: bool, same: bool) -> Predicate:
    graph = a.graph
    if b.graph is not graph:
        different_graphs(b, graph)
    if a.op == "const" and b.op == "const":
        return graph.truth(known)
    return graph.truth(same) if a is b else graph.predicate(op, (a, b))


def _connect(op: str, a: Predicate, b: Predicate, neutral: bool) -> Predicate:
    graph = a.graph
    if b.graph is not graph:
        different_graphs(b, graph)
    if a.op == "const":
        a, b = b, a
    if b.op == "const":
        return a if bool(b.value) is neutral else b
    if a is b:
        return a
    return graph.predicate(op, (a, b) if a.index < b.index else (b, a))
