"""Steps of traced scalars taken several times: traced once, kept as a loop where that is worth it, written out where it
must be.

A step is traced by itself, over inputs that stand for what it carries, what it holds and the rows that it is given.
Arrays that lie in memory - inputs, what another loop has emitted - are passed as they are; others are put there once.
Numbers among what is held become constants of the step. Values of the trace around it that the step uses are held too,
though nobody says so. Whatever depends on held values alone is the same at every
step, so it is moved out and computed once; what the step leaves as it was is held, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.errors import UnsupportedError
from dalembert.tracing.cost import operation_count
from dalembert.tracing.evaluate import elements_of, interpret, output_values
from dalembert.tracing.graph import Expr, Graph, Memory, Predicate
from dalembert.tracing.program import PREDICATES, STRUCTURE, Program, Scan
from dalembert.tracing.rules import RULES
from dalembert.tracing.trace import assemble, program_of, retrace

UNROLLED_OPERATIONS = 250
"""Operations of all steps together up to which they are written out: they then fit one function of machine code, and
what one step leaves undone for the next folds away. Longer ones gain less than the size of the code costs."""

_innermost: ContextVar[Graph | None] = ContextVar("innermost", default=None)
"""The graph of the step that is being traced."""


@dataclass(frozen=True)
class RowPlaces:
    """An array of which rows are read: where its first row begins, and how far apart rows are."""

    array: Memory
    first: int
    stride: int


def scanned(
    graph: Graph,
    body: Callable[[tuple, tuple, tuple], tuple[tuple, tuple, Any]],
    count: int,
    carried: tuple,
    over: tuple = (),
    held: tuple = (),
    every: int = 1,
    hold: int = 1,
    steps: Any = None,
) -> tuple[tuple, tuple]:
    """A step taken several times, see :func:`dalembert.algebra.loops.scan`.

    Args:
        graph: of one of the traced scalars among the arrays.
        body: called with the carried arrays, a row of each array to go over, and the held arrays; gives the carried
            arrays, those it emits, and whether to stop.
        count: how many steps at most, at least one.
        steps: how many steps, a traced scalar, or None for all.

    Returns:
        The carried arrays, and those emitted, with a row for each ``every`` steps.
    """
    around = _innermost.get()
    if around is not None and around.is_inside(graph):
        graph = around
    start = [[graph.lift(x) for x in _elements(array)] for array in carried]
    still = [[graph.lift(x) for x in _elements(array)] for array in held]
    rows = [_rows(graph, array, -(-count // hold)) for array in over]
    located = [graph.located(own) if len(own) > 1 else None for own in still]
    scattered = dict.fromkeys(x for own, found in zip(still, located) if not found for x in own if not x.is_constant)
    inner = Graph(graph, port=len(carried) + len(over))
    moving = [list(inner.input(f"carried_{k}", (len(own),))) for k, own in enumerate(start)]
    given = [list(inner.input(f"given_{k}", (np.size(array[0]),))) for k, array in enumerate(over)]
    fixed = dict(zip(scattered, inner.input("held", (len(scattered),), scattered=True)))
    homes: dict[Any, list[Any]] = {}  # arrays that are held, with the elements by which the step knows them
    for found in located:
        if found and found[0] not in homes:
            homes[found[0]] = list(inner.input(f"table_{len(homes)}", (found[0].size,)))

    def inside(own: list[Any], found: Any) -> list[Any]:
        if found:
            return [homes[found[0]][place] for place in found[1]]
        return [inner.constant(x.value) if x.is_constant else fixed[x] for x in own]

    token = _innermost.set(inner)
    try:
        ends, made, stop = body(
            _shaped_like(carried, [x for own in moving for x in own]),
            _shaped_like([array[0] for array in over], [x for own in given for x in own]),
            _shaped_like(held, [x for own, found in zip(still, located) for x in inside(own, found)]),
        )
    finally:
        _innermost.reset(token)
    outputs = {f"carried_{k}": _lifted(inner, [x]) for k, x in enumerate(ends)}
    outputs |= {f"made_{k}": _lifted(inner, [x]) for k, x in enumerate(made)}
    if isinstance(stop, Predicate) and not stop.is_constant:
        outputs["stop"] = _lifted(inner, [stop.select(1, 0)])
    raw = program_of(inner, outputs, "step")
    scan, operands = _arranged(graph, raw, start, rows, list(homes), [*scattered, *inner.captured], count, steps)
    scan = replace(scan, count=count, every=every, hold=hold)
    last, arrays = scan_program(graph, scan, operands)
    places = iter(last)
    stored = iter(arrays[len(made) :])
    flat = [x for k, own in enumerate(start) for x in (next(stored) if _is_stored(raw, k) else _take(places, own))]
    emitted = []
    for like, elements in zip(made, arrays):
        whole = np.empty((scan.emitted, *np.shape(like)), dtype=object)
        for k, x in enumerate(elements):
            whole.flat[k] = x
        emitted.append(whole)
    return _shaped_like(carried, flat), tuple(emitted)


def read_at(graph: Graph, array: Any, index: Expr) -> Expr:
    """The element of an array of scalars at an index, the nearest there is.

    Args:
        graph: of one of them.
    """
    graph = _common(graph, [index, *(x for x in _elements(array) if isinstance(x, Expr))])
    index = graph.lift(index)
    elements = [graph.lift(x) for x in _elements(array)]
    found = graph.located(elements)
    n = len(elements)
    if found and n > 1 and found[1] == list(range(found[1][0], found[1][0] + n)) and found[0].size != n:
        place = (index > 0).select(index.minimum(n - 1), 0)  # a part of an array in memory
        return RULES["read"](found[0], place + found[1][0])
    return RULES["read"](graph.memory(elements), index)


def written_at(graph: Graph, array: Any, index: Any, number: Any) -> np.ndarray:
    """An array of scalars with another element at an index.

    Args:
        graph: of one of them.
    """
    graph = _common(graph, [x for x in (index, number, *_elements(array)) if isinstance(x, Expr)])
    memory = graph.memory([graph.lift(x) for x in _elements(array)])
    made = np.empty(np.shape(array), dtype=object)
    for k, x in enumerate(elements_of(RULES["write"](memory, graph.lift(index), graph.lift(number)))):
        made.flat[k] = x
    return made


def _common(graph: Graph, scalars: Sequence[Any]) -> Graph:
    """The innermost of the graphs of some scalars."""
    for own in dict.fromkeys(x.graph for x in scalars):
        graph = own if own.is_inside(graph) else graph
    return graph


def _rows(graph: Graph, array: Any, count: int) -> RowPlaces:
    """The rows of an array of scalars, where they lie, or in a new array."""
    elements = [[graph.lift(x) for x in _elements(array[k])] for k in range(count)]
    flat, width = [x for row in elements for x in row], len(elements[0])
    found = graph.located(flat)
    if found:
        first = found[1][0]
        stride = found[1][width] - first if count > 1 else width
        if found[1] == [first + stride * k + j for k in range(count) for j in range(width)]:
            return RowPlaces(found[0], first, stride)
    return RowPlaces(graph.memory(flat), 0, width)


def _is_stored(raw: Program, k: int) -> bool:
    """Whether an array is carried in memory: it is read, or written, by a computed index."""
    return raw.is_array(k) or any(node.op == "table" and node.value == k for node in raw.nodes)


def _arranged(
    graph: Graph, raw: Program, start: list[list[Any]], rows: list[RowPlaces], homes: list[Any], scattered: list[Any],
    count: int, steps: Any,
) -> tuple[Scan, list[Any]]:  # fmt: skip
    """A step as loops take it, and its operands.

    Args:
        raw: the step as it was traced, with an input for each array.
    """
    stored = [_is_stored(raw, k) for k in range(len(start))]
    stops = raw.outputs[-1].name == "stop" if raw.outputs else False
    limited = stops or steps is not None
    inner = Graph()
    moving = iter(
        inner.input("carried", (sum(len(own) for k, own in enumerate(start) if not stored[k]) + limited,), True)
    )
    fixed = list(inner.input("held", (len(scattered),), True))
    given = [list(inner.input(f"given_{k}", raw.inputs[len(start) + k].shape)) for k in range(len(rows))]
    tables = [list(inner.input(f"table_{k}", (home.size,))) for k, home in enumerate(homes)]
    before = [list(inner.input(f"store_{k}", (len(own),))) if stored[k] else [] for k, own in enumerate(start)]
    before = [own if stored[k] else _take(moving, start[k]) for k, own in enumerate(before)]
    left: Any = next(moving) if limited else None

    def write(array: Any, index: Any, number: Any) -> Any:
        """What is written once the loop has stopped is what is there."""
        return RULES["write"](array, index, (left > 0).select(number, RULES["read"](array, index)))

    operations = RULES | {"write": write} if limited else RULES
    values = interpret(raw, [*before, *given, fixed, *tables], operations, inner.constant, inner)
    found = output_values(raw, values)
    ends, made = found[: len(start)], found[len(start) : len(found) - stops]
    operands = [x for k, own in enumerate(start) if not stored[k] for x in own]
    if left is not None:
        going = left > 0
        ends = [
            new if stored[k] and _is_written(raw, k) else [going.select(x, y) for x, y in zip(new, before[k])]
            for k, new in enumerate(ends)
        ]
        made = [[going.select(x, 0) for x in own] for own in made]
        rest = left - 1
        ends.append([(found[-1][0] > 0).select(0, rest) if stops else rest])
        stored = [*stored, False]
        operands.append(graph.lift(count if steps is None else steps))
    outputs: dict[str, Any] = {"carried": [x for k, own in enumerate(ends) if not stored[k] for x in own]}
    outputs |= {f"made_{k}": own for k, own in enumerate(made)}
    outputs |= {f"store_{k}": inner.memory(own) for k, own in enumerate(ends) if stored[k]}
    step = program_of(inner, {name: _outputs(inner, own) for name, own in outputs.items()}, "step")
    places = tuple((own.first, own.stride) for own in rows)
    operands += [*scattered, *(own.array for own in rows), *homes]
    operands += [graph.memory(own) for k, own in enumerate(start) if stored[k]]
    return Scan(step, count, places, sum(stored), stops=limited), operands


def _is_written(raw: Program, k: int) -> bool:
    """Whether an array that is carried becomes what it was with other elements here and there."""
    (node,) = raw.results[k][:1] if raw.is_array(k) else (-1,)
    while node >= 0 and raw.nodes[node].op == "write":
        node = raw.nodes[node].args[0]
    return node >= 0 and raw.nodes[node] == ("table", (), float(k))


def scan_program(graph: Graph, scan: Scan, operands: Sequence[Any]) -> tuple[list[Any], list[list[Any]]]:
    """The numbers that a loop ends with and the elements of its arrays: by a loop, or written out if that is short.

    Args:
        operands: expressions and arrays, as :class:`dalembert.tracing.program.Scan` says.
    """
    if scan.step.has_calls:  # what they cost is not known yet; expanding them decides
        return _looped(graph, scan, operands)
    if scan.count * max(1, operation_count(scan.step)) <= UNROLLED_OPERATIONS or scan.count == 1:
        return written_out(graph, scan, operands)
    scan, places, ends, operands = _without_invariants(scan, graph, operands)
    if not places and not scan.made and not scan.stores:
        return ends, []
    changed, arrays = _looped(graph, scan, operands)
    for k, x in zip(places, changed):
        ends[k] = x
    return ends, arrays


def _looped(graph: Graph, scan: Scan, operands: Sequence[Any]) -> tuple[list[Any], list[list[Any]]]:
    loop = graph.loop(scan, operands)
    numbers = [graph.element(loop, k) for k in range(scan.carried)]
    return numbers, [elements_of(graph.rows(loop, k)) for k in range(len(scan.sizes))]


def written_out(graph: Graph, scan: Scan, operands: Sequence[Any]) -> tuple[list[Any], list[list[Any]]]:
    """The same without a loop: step after step."""
    carried, held, given, tables, stores = scan.split(operands)
    known = [elements_of(array) for array in tables]
    kept = [elements_of(array) for array in stores]
    made: list[list[list[Any]]] = [[] for _ in scan.made]
    read = RULES["read"]
    for s in range(scan.count):
        row = s // scan.hold
        row = scan.read_rows - 1 - row if scan.reverse else row
        own = [
            [read(array, graph.constant(first + stride * row + k)) for k in range(width)]
            for array, (first, stride), width in zip(given, scan.given, scan.widths)
        ]
        values = interpret(scan.step, [carried, held, *own, *known, *kept], RULES, graph.constant, graph)
        carried, *rest = output_values(scan.step, values)
        kept = rest[len(made) :]
        if (s + 1) % scan.every == 0:
            for rows, new in zip(made, rest):
                rows.append(new)
    order = -1 if scan.reverse else 1
    return carried, [[x for new in rows[::order] for x in new] for rows in made] + kept


def _without_invariants(
    scan: Scan, graph: Graph, operands: Sequence[Any]
) -> tuple[Scan, list[int], list[Any], list[Any]]:
    """The loop without what is the same every time its step is taken; which of the carried numbers it still changes;
    what is carried in the end, as far as it is known; and the operands that the loop then has."""
    step, nodes = scan.step, scan.step.nodes
    carried, held, given, tables, stores = scan.split(operands)
    results = step.results[0]
    same = {j for j, k in enumerate(results) if nodes[k] == ("input", (0, j), 0.0)}
    last = 2 + len(given) + len(tables)  # the inputs before are known outside, but for what is carried and given
    known: list[Any] = [carried, held, *([] for _ in given), *tables]
    outside: dict[int, Any] = {}  # invariant nodes, by their values outside
    for k, (op, args, value) in enumerate(nodes):
        if op == "const":
            outside[k] = graph.constant(value)
        elif op == "input":
            port, e = args
            if port == 1 or (port == 0 and e in same):
                outside[k] = known[port][e]
            elif 2 + len(given) <= port < last:
                outside[k] = RULES["read"](known[port], graph.constant(e))
        elif op == "table":
            if 2 + len(given) <= value < last:
                outside[k] = known[int(value)]
        elif op not in PREDICATES and all(a in outside for a in args):
            if op == "pack":  # perhaps it lies in memory already
                outside[k] = graph.memory([outside[a] for a in args])
            elif op in STRUCTURE:
                outside[k] = graph.structure(step, nodes[k], [outside[a] for a in args], ())
            else:
                outside[k] = RULES[op](*[outside[a] for a in args])
    inverse = {  # of what is divided by at every step, one product instead
        node.args[1]: 1 / outside[node.args[1]]
        for k, node in enumerate(nodes)
        if node.op == "div" and k not in outside and node.args[1] in outside
    }
    needed = [k for j, k in enumerate(results) if j not in same]
    needed += [k for row in step.results[1:] for k in row]
    for k, (op, args, _) in enumerate(nodes):
        if k not in outside and op != "input":
            needed += args[:1] if op == "div" and args[1] in inverse else args
    used = dict.fromkeys([*inverse.values(), *(outside[k] for k in needed if k in outside)])
    border = [x for x in used if isinstance(x, Expr) and not x.is_constant]
    arrays = [x for x in used if isinstance(x, Memory) and x.op != "data"]
    taken = {n.args[0] - 2 if n.op == "input" else int(n.value) - 2 for n in nodes if n.op in ("input", "table")}
    rows = [j for j in range(len(given)) if j in taken]
    inner = Graph()
    kept = [j for j in range(len(results)) if j not in same]
    moving = dict(zip(kept, inner.input("carried", (len(kept),), True)))
    inside: dict[Any, Any] = dict(zip(border, inner.input("held", (len(border),), True)))
    inputs: dict[int, list[Any]] = {2 + j: list(inner.input(f"given_{j}", step.inputs[2 + j].shape)) for j in rows}
    for j, x in enumerate(arrays):
        inner.input(f"table_{j}", (x.size,))
        inside[x] = inner.table(len(inner.inputs) - 1)
    inputs |= {last + j: list(inner.input(f"store_{j}", step.inputs[last + j].shape)) for j in range(scan.stores)}
    values: list[Any] = []
    for k, (op, args, value) in enumerate(nodes):
        if k in outside:
            found = outside[k]
            if isinstance(found, Expr) and found.is_constant:
                values.append(inner.constant(found.value))
            elif isinstance(found, Memory) and found.op == "data":
                values.append(inner.data(np.frombuffer(graph.tables[int(found.value)], "<f8")))
            else:
                values.append(inside.get(found))
        elif op == "input":
            values.append(moving[args[1]] if args[0] == 0 else inputs[args[0]][args[1]])
        elif op == "table":
            values.append(inner.memory(inputs[int(value)]))
        elif op in STRUCTURE:
            values.append(inner.structure(step, nodes[k], [values[a] for a in args], ()))
        elif op == "div" and args[1] in inverse:
            by = inverse[args[1]]
            values.append(values[args[0]] * (inner.constant(by.value) if by.is_constant else inside[by]))
        else:
            values.append(RULES[op](*[values[a] for a in args]))
    outputs: dict[str, Any] = {"carried": _lifted(inner, [[values[results[j]] for j in kept]])}
    for j, (output, row) in enumerate(zip(step.outputs[1:], step.results[1:]), 1):
        outputs[output.name] = values[row[0]] if step.is_array(j) else _lifted(inner, [[values[k] for k in row]])
    made = replace(scan, step=program_of(inner, outputs, step.name), given=tuple(scan.given[j] for j in rows))
    start = [carried[j] for j in kept]
    return made, kept, carried, [*start, *border, *(given[j] for j in rows), *arrays, *stores]


def unrolled(program: Program) -> Program:
    """The program with its loops written out, for languages that have none."""
    if STRUCTURE.isdisjoint(program.vocabulary) and "read" not in program.vocabulary:
        return program
    graph, values = retrace(program, lambda graph: None)
    made = assemble(graph, program, values)
    if not {"read", "write", "draw"}.isdisjoint(made.vocabulary):
        what = "draws random numbers" if "draw" in made.vocabulary else "reads an array by a computed index"
        raise UnsupportedError(f"{program.name} {what}, which formulas cannot do")
    return made


def _elements(array: Any) -> list[Any]:
    return list(np.array(array, dtype=object).flat)


def _take(places: Any, like: Sequence[Any]) -> list[Any]:
    return [next(places) for _ in like]


def _outputs(graph: Graph, own: Any) -> Any:
    return own if isinstance(own, Memory) else _lifted(graph, [own])


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
