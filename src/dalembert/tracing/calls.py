"""Programs called inside others: they stay closed, known by a key, until somebody needs their code.

So the digest of a program that calls kernels is known without making what they compute: a warm start of a composed
kernel finds its code in the cache by that digest, and traces nothing but the outermost function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.tracing.evaluate import interpret_call
from dalembert.tracing.graph import Expr, Graph, Predicate
from dalembert.tracing.loops import scan_program
from dalembert.tracing.program import STRUCTURE, CalledProgram, Node, Program
from dalembert.tracing.rules import RULES
from dalembert.tracing.trace import assemble, retrace


def holds_traced(x: Any) -> bool:
    """Whether something is a traced scalar, or an array, list or mapping that holds one."""
    if isinstance(x, np.ndarray):
        return x.dtype.hasobject and any(map(holds_traced, x.flat))
    if isinstance(x, (list, tuple)):
        for e in x:  # noqa: SIM110 - a generator would cost as much as all the rest
            if type(e) is not float and holds_traced(e):
                return True
        return False
    if isinstance(x, Mapping):
        return any(map(holds_traced, x.values()))
    return isinstance(x, (Expr, Predicate))


def as_numbers(given: Any) -> np.ndarray:
    """An object array of what was given, in which a truth value is 1 or 0."""
    found = np.array(given, dtype=object)
    for place, x in enumerate(found.flat):
        if isinstance(x, Predicate):
            found.flat[place] = x.select(1, 0)
    return found


def call(called: CalledProgram, arrays: Sequence[np.ndarray]) -> tuple[Any, ...]:
    """What a program gives for traced scalars: an array, or for shape () a scalar, for each output.

    Args:
        called: the program.
        arrays: object arrays, one for each input, whose batch dimensions before those of the port fit together. Several
            states become a loop over them.
    """
    cores = [array.ndim - len(port.shape) for port, array in zip(called.inputs, arrays)]
    batch = np.broadcast_shapes(*(array.shape[:core] for array, core in zip(arrays, cores)))
    if not batch:
        return _call_once(called, arrays)
    own = [k for k, core in enumerate(cores) if core]
    shapes = [port.shape for port in called.inputs]
    rows = [np.broadcast_to(arrays[k], batch + shapes[k]).reshape(-1, *shapes[k]) for k in own]

    def each(_: tuple, given: tuple, still: tuple) -> tuple[tuple, tuple, bool]:
        changing, fixed = iter(given), iter(still)
        found = _call_once(called, [np.array(next(changing if core else fixed), dtype=object) for core in cores])
        return (), found, False

    if not len(rows[0]):
        return tuple(np.empty((*batch, *port.shape), dtype=object) for port in called.outputs)
    held = tuple(array for array, core in zip(arrays, cores) if not core)
    one = next(x for array in arrays for x in array.flat if isinstance(x, Expr))
    made = one.scanned(each, len(rows[0]), (), tuple(rows), held)[1]
    return tuple(array.reshape((*batch, *port.shape)) for array, port in zip(made, called.outputs))


def _call_once(called: CalledProgram, arrays: Sequence[np.ndarray]) -> tuple[Any, ...]:
    scalars = [x for array in arrays for x in array.flat]
    traced = [x for x in scalars if isinstance(x, Expr)]
    graph = traced[0].graph
    for x in traced:
        graph = x.graph if x.graph.is_inside(graph) else graph
    found, at = graph.call(called, [graph.lift(x) for x in scalars]), 0
    results: list[Any] = []
    for port in called.outputs:
        results.append(np.empty(port.shape, dtype=object))
        for place in range(port.size):
            results[-1].flat[place] = found[at + place]
        at += port.size
    return tuple(array[()] if array.ndim == 0 else array for array in results)


def expanded(program: Program) -> Program:
    """The program with those that it calls written out, by the rules of construction; itself if it calls none."""
    if not program.has_calls:
        return program
    graph, values = retrace(program, _WithoutCalls)
    return assemble(graph, program, values)


def expressions_without_calls(exprs: Iterable[Any], kept: Iterable[Any]) -> list[Any]:
    """Expressions with what they call written out in their own graph, in which calls have no derivatives.

    Args:
        exprs: expressions of one graph.
        kept: expressions that stay as they are, even if calls gave them.
    """
    results, values = list(exprs), {x: x for x in kept}
    pending = [x for x in results if isinstance(x, Expr) and x.graph.calls]
    needed: set[Any] = set()
    while pending:
        x = pending.pop()
        if x not in needed and x not in values:
            needed.add(x)
            pending += x.args if x.op != "input" else ()
    for x in sorted(needed, key=lambda node: node.index):
        if x.op in ("const", "input", "table", "data"):
            values[x] = x
            continue
        args, graph = [values[a] for a in x.args], x.graph
        if x.op == "call":
            values[x] = interpret_call(graph.calls[int(x.value)], args, RULES, graph.constant, graph), []
        elif all(a is b for a, b in zip(args, x.args)) and not (x.op == "loop" and _scan_of(x).step.has_calls):
            values[x] = x
        elif x.op in STRUCTURE:
            values[x] = _WithoutCalls(graph).structure(graph, Node(x.op, (), x.value), args, ())
        else:
            values[x] = RULES[x.op](*args)
    return [values.get(x, x) for x in results]


def _scan_of(x: Any) -> Any:
    return x.graph.loops[int(x.value)]


class _WithoutCalls:
    """Makes the loops of a program again in a graph, without calls in their steps."""

    def __init__(self, graph: Graph):
        self.graph = graph

    def structure(self, program: Any, node: Node, operands: list[Any], inputs: Sequence[Sequence[Any]]) -> Any:
        op, _, value = node
        if op == "loop" and program.loops[int(value)].step.has_calls:
            scan = program.loops[int(value)]
            return scan_program(self.graph, replace(scan, step=expanded(scan.step)), operands)
        if op in ("element", "rows") and isinstance(operands[0], tuple):
            numbers, arrays = operands[0]
            return self.graph.memory(arrays[int(value)]) if op == "rows" else numbers[int(value)]
        return self.graph.structure(program, node, operands, inputs)
