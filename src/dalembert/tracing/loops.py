"""Repeated steps of traced scalars: traced once, kept as a loop where that is worth it, written out where it must be.

A step is traced by itself, over inputs that stand for what it carries and what it holds. Numbers among what is held
become constants of the step. Whatever depends on held values alone is the same at every step, so it is moved out and
computed once; what the step leaves as it was is held, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.tracing.cost import operation_count
from dalembert.tracing.evaluate import interpret
from dalembert.tracing.graph import Expr, Graph
from dalembert.tracing.program import PREDICATES, Program, Repetition
from dalembert.tracing.rules import RULES
from dalembert.tracing.trace import program_of

UNROLLED_OPERATIONS = 250
"""Operations of all steps together up to which they are written out: they then fit one function of machine code, and
what one step leaves undone for the next folds away. Longer ones gain less than the size of the code costs."""


def repeated(graph: Graph, step: Callable[[tuple, tuple], tuple], carried: tuple, count: int, held: tuple) -> tuple:
    """The carried arrays after ``count`` steps; see :meth:`dalembert.tracing.graph.Expr.repeated`.

    Args:
        graph: of the traced scalars among the arrays.
    """
    start = [[graph.lift(x) for x in _elements(array)] for array in carried]
    operands = [[graph.lift(x) for x in _elements(array)] for array in held]
    if count < 1 or not any(start):
        return carried
    distinct = dict.fromkeys(x for row in operands for x in row if not x.is_constant)
    inner = Graph()
    moving = list(inner.input("carried", (sum(map(len, start)),)))
    fixed: dict[Any, Any] = dict(zip(distinct, inner.input("held", (len(distinct),))))
    places = iter(moving)
    now = tuple(_shaped(array, [next(places) for _ in row]) for array, row in zip(carried, start))
    still = tuple(
        _shaped(array, [inner.constant(x.value) if x.is_constant else fixed[x] for x in row])
        for array, row in zip(held, operands)
    )
    made = [x for array in step(now, still) for x in _elements(array)]
    once = program_of(inner, {"carried": np.array([inner.lift(x) for x in made], dtype=object)}, "step")
    ends = repeat_program(graph, once, [x for row in start for x in row], list(distinct), count)
    left = iter(ends)
    return tuple(_shaped(array, [next(left) for _ in row]) for array, row in zip(carried, start))


def repeat_program(graph: Graph, step: Program, carried: list[Any], held: list[Any], count: int) -> list[Any]:
    """What a step ends with when it is taken several times: by a loop, or written out if that is short.

    Args:
        graph: of the expressions.
        step: as in :class:`dalembert.tracing.program.Repetition`.
        carried: expressions at the start.
        held: expressions that every step reads.
        count: number of steps, at least one.
    """
    if count * operation_count(step) <= UNROLLED_OPERATIONS or count == 1:
        for _ in range(count):
            values = interpret(step, [carried, held], RULES, graph.constant, graph.loop)
            carried = [values[k] for k in step.results[0]]
        return carried
    step, places, held = _without_invariants(step, graph, carried, held)
    ends = list(carried)
    if places:
        for j, x in zip(places, graph.loop(Repetition(step, count), [*(carried[j] for j in places), *held])):
            ends[j] = x
    return ends


def _without_invariants(
    step: Program, graph: Graph, carried: list[Any], held: list[Any]
) -> tuple[Program, list[int], list[Any]]:
    """The step without what is the same every time it is taken; which of the carried values it still changes; and the
    expressions, outside, that it then holds."""
    nodes, results = step.nodes, step.results[0]
    same = {j for j, k in enumerate(results) if nodes[k] == ("input", (0, j), 0.0)}
    outside: dict[int, Any] = {}  # invariant nodes, by their values outside
    for k, (op, args, value) in enumerate(nodes):
        if op == "const":
            outside[k] = graph.constant(value)
        elif op == "input":
            if args[0] == 1:
                outside[k] = held[args[1]]
            elif args[1] in same:
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
    needed = [k for j, k in enumerate(results) if j not in same]
    for k, (op, args, _) in enumerate(nodes):
        if k not in outside and op != "input":
            needed += args[:1] if op == "div" and args[1] in inverse else args
    border = dict.fromkeys([*inverse.values(), *(outside[k] for k in needed if k in outside)])
    border = {x: None for x in border if not x.is_constant}
    inner = Graph()
    kept = [j for j in range(len(results)) if j not in same]
    moving = dict(zip(kept, inner.input("carried", (len(kept),))))
    inside = dict(zip(border, inner.input("held", (len(border),))))
    values: list[Any] = []
    for k, (op, args, value) in enumerate(nodes):
        if k in outside:
            found = outside[k]
            values.append(None if isinstance(found, list) else inside.get(found))
            if values[k] is None and isinstance(found, Expr) and found.is_constant:
                values[k] = inner.constant(found.value)
        elif op == "input":
            values.append(moving[args[1]])
        elif op == "loop":
            values.append(inner.loop(step.loops[int(value)], [values[a] for a in args]))
        elif op == "element":
            values.append(values[args[0]][int(value)])
        elif op == "div" and args[1] in inverse:
            by = inverse[args[1]]
            values.append(values[args[0]] * (inner.constant(by.value) if by.is_constant else inside[by]))
        else:
            values.append(RULES[op](*[values[a] for a in args]))
    ends = np.array([values[results[j]] for j in kept], dtype=object)
    return program_of(inner, {"carried": ends}, step.name), kept, list(border)


def unrolled(program: Program) -> Program:
    """The program with its loops written out, for languages that have none."""
    if not program.loops:
        return program
    graph = Graph()
    inputs = [list(np.asarray(graph.input(port.name, port.shape)).flat) for port in program.inputs]
    values = interpret(program, inputs, RULES, graph.constant)
    for k, text in program.labels.items():
        if isinstance(values[k], Expr):
            values[k].label(text)
    outputs = {}
    for port, row in zip(program.outputs, program.results):
        outputs[port.name] = np.empty(port.shape, dtype=object)
        for place, k in enumerate(row):
            outputs[port.name].flat[place] = values[k]
    return program_of(graph, outputs, program.name)


def _elements(array: Any) -> list[Any]:
    return list(np.array(array, dtype=object).flat)


def _shaped(like: Any, elements: list[Any]) -> Any:
    """Elements in the shape of an array; alone, if that was a scalar."""
    if not isinstance(like, (np.ndarray, list, tuple)):
        return elements[0]
    made = np.empty(np.shape(like), dtype=object)
    for k, x in enumerate(elements):
        made.flat[k] = x
    return made
