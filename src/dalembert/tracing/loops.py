"""Repeated steps of traced scalars: traced once, kept as a loop where that is worth it, written out where it must be.

A step is traced by itself, over inputs that stand for what it carries and what it holds. Numbers among what is held
become constants of the step. Values of the trace around it that the step uses are held too, though nobody says so.
Whatever depends on held values alone is the same at every step, so it is moved out and
computed once; what the step leaves as it was is held, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from dalembert.tracing.cost import operation_count
from dalembert.tracing.evaluate import interpret
from dalembert.tracing.graph import Expr, Graph
from dalembert.tracing.program import PREDICATES, Program, Repetition
from dalembert.tracing.rules import RULES
from dalembert.tracing.trace import assemble, program_of, retrace

UNROLLED_OPERATIONS = 250
"""Operations of all steps together up to which they are written out: they then fit one function of machine code, and
what one step leaves undone for the next folds away. Longer ones gain less than the size of the code costs."""

_innermost: ContextVar[Graph | None] = ContextVar("innermost", default=None)
"""The graph of the step that is being traced."""


def repeated(
    graph: Graph,
    step: Callable[[tuple, tuple, tuple], tuple[tuple, tuple]],
    count: int,
    carried: tuple,
    held: tuple,
    given: tuple,
) -> tuple[tuple, tuple]:
    """The carried arrays after ``count`` steps, and those made; see :meth:`dalembert.tracing.graph.Expr.repeated`.

    Args:
        graph: of one of the traced scalars among the arrays.
    """
    around = _innermost.get()
    if around is not None and around.is_inside(graph):
        graph = around
    start = [graph.lift(x) for array in carried for x in _elements(array)]
    still = [graph.lift(x) for array in held for x in _elements(array)]
    rows = [[graph.lift(x) for array in given for x in _elements(array[s])] for s in range(count)]
    distinct = dict.fromkeys(x for x in still if not x.is_constant)
    inner = Graph(graph, port=1)
    moving = inner.input("carried", (len(start),))
    fixed: dict[Any, Any] = dict(zip(distinct, inner.input("held", (len(distinct),))))
    own = inner.input("given", (len(rows[0]),))
    token = _innermost.set(inner)
    try:
        ends, made = step(
            _shaped_like(carried, moving),
            _shaped_like(held, [inner.constant(x.value) if x.is_constant else fixed[x] for x in still]),
            _shaped_like([array[0] for array in given], own),
        )
    finally:
        _innermost.reset(token)
    once = program_of(inner, {"carried": _lifted(inner, ends), "made": _lifted(inner, made)}, "step")
    last, kept = repeat_program(graph, once, start, [*distinct, *inner.captured], rows)
    table = [_shaped_like(made, row) for row in kept]
    stacked = []
    for k, like in enumerate(made):
        stacked.append(np.empty((count, *np.shape(like)), dtype=object))
        for s in range(count):
            stacked[k][s] = table[s][k]
    return _shaped_like(carried, last), tuple(stacked)


def repeat_program(
    graph: Graph, step: Program, carried: list[Any], held: list[Any], given: list[list[Any]]
) -> tuple[list[Any], list[list[Any]]]:
    """What a step ends with, and makes each time, when it is taken several times: by a loop, or written out if that is
    short.

    Args:
        step: as in :class:`dalembert.tracing.program.Repetition`.
        carried: expressions at the start.
        held: expressions that every step reads.
        given: expressions for each step.
    """
    count, made = len(given), step.outputs[1].size
    if step.has_calls:  # what they cost is not known yet; expanding them decides
        found = graph.loop(Repetition(step, count), [*carried, *held, *(x for own in given for x in own)])
        rows = found[len(carried) :]
        return found[: len(carried)], [rows[s * made : (s + 1) * made] for s in range(count)]
    if count * operation_count(step) <= UNROLLED_OPERATIONS or count == 1:
        kept = []
        for own in given:
            values = interpret(step, [carried, held, own], RULES, graph.constant, graph.loop)
            carried = [values[k] for k in step.results[0]]
            kept.append([values[k] for k in step.results[1]])
        return carried, kept
    step, places, held = _without_invariants(step, graph, carried, held)
    ends = list(carried)
    operands = [*(carried[j] for j in places), *held, *(x for own in given for x in own)]
    found = graph.loop(Repetition(step, count), operands) if places or made else []
    for j, x in zip(places, found):
        ends[j] = x
    return ends, [found[len(places) + s * made : len(places) + (s + 1) * made] for s in range(count)]


def _without_invariants(
    step: Program, graph: Graph, carried: list[Any], held: list[Any]
) -> tuple[Program, list[int], list[Any]]:
    """The step without what is the same every time it is taken; which of the carried values it still changes; and the
    expressions, outside, that it then holds."""
    nodes, (results, made) = step.nodes, step.results
    same = {j for j, k in enumerate(results) if nodes[k] == ("input", (0, j), 0.0)}
    outside: dict[int, Any] = {}  # invariant nodes, by their values outside
    for k, (op, args, value) in enumerate(nodes):
        if op == "const":
            outside[k] = graph.constant(value)
        elif op == "input":
            if args[0] == 1:
                outside[k] = held[args[1]]
            elif args[0] == 0 and args[1] in same:
                outside[k] = carried[args[1]]
        elif op not in PREDICATES and all(a in outside for a in args):
            if op == "loop":
                outside[k] = graph.loop(step.loops[int(value)], [outside[a] for a in args])
            elif op == "element":
                outside[k] = outside[args[0]][int(value)]
            else:
                outside[k] = RULES[op](*[outside[a] for a in args])
    inverse = {  # of what is divided by at every step, one product instead
        node.args[1]: 1 / outside[node.args[1]]
        for k, node in enumerate(nodes)
        if node.op == "div" and k not in outside and node.args[1] in outside
    }
    needed = [*(k for j, k in enumerate(results) if j not in same), *made]
    for k, (op, args, _) in enumerate(nodes):
        if k not in outside and op != "input":
            needed += args[:1] if op == "div" and args[1] in inverse else args
    border = dict.fromkeys([*inverse.values(), *(outside[k] for k in needed if k in outside)])
    border = {x: None for x in border if not x.is_constant}
    inner = Graph()
    kept = [j for j in range(len(results)) if j not in same]
    moving = dict(zip(kept, inner.input("carried", (len(kept),))))
    inside = dict(zip(border, inner.input("held", (len(border),))))
    own = inner.input("given", step.inputs[2].shape)
    values: list[Any] = []
    for k, (op, args, value) in enumerate(nodes):
        if k in outside:
            found = outside[k]
            values.append(None if isinstance(found, list) else inside.get(found))
            if values[k] is None and isinstance(found, Expr) and found.is_constant:
                values[k] = inner.constant(found.value)
        elif op == "input":
            values.append(own[args[1]] if args[0] == 2 else moving[args[1]])
        elif op == "loop":
            values.append(inner.loop(step.loops[int(value)], [values[a] for a in args]))
        elif op == "element":
            values.append(values[args[0]][int(value)])
        elif op == "div" and args[1] in inverse:
            by = inverse[args[1]]
            values.append(values[args[0]] * (inner.constant(by.value) if by.is_constant else inside[by]))
        else:
            values.append(RULES[op](*[values[a] for a in args]))
    outputs = {"carried": _lifted(inner, [[values[results[j]] for j in kept]])}
    outputs["made"] = _lifted(inner, [[values[k] for k in made]])
    return program_of(inner, outputs, step.name), kept, list(border)


def unrolled(program: Program) -> Program:
    """The program with its loops written out, for languages that have none."""
    if not program.loops:
        return program
    graph, values = retrace(program, lambda graph: None)
    return assemble(graph, program, values)


def _elements(array: Any) -> list[Any]:
    return list(np.array(array, dtype=object).flat)


def _lifted(graph: Graph, arrays: Sequence[Any]) -> np.ndarray:
    """The elements of arrays, one after the other, as expressions."""
    return np.array([graph.lift(x) for array in arrays for x in _elements(array)], dtype=object)


def _shaped_like(arrays: Sequence[Any], elements: Sequence[Any]) -> tuple:
    """Elements in the shapes of arrays, one after the other; alone, where one was a scalar."""
    found, at = [], 0
    for like in arrays:
        if isinstance(like, (np.ndarray, list, tuple)):
            made = np.empty(np.shape(like), dtype=object)
            for k in range(made.size):
                made.flat[k] = elements[at + k]
            found.append(made)
            at += made.size
        else:
            found.append(elements[at])
            at += 1
    return tuple(found)
