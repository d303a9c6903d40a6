"""From a Python function to a program: run it once on traced scalars and keep what the results need."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, TracingError
from dalembert.tracing.evaluate import Rebuilder, evaluate, inline, interpret
from dalembert.tracing.graph import Expr, Graph, Memory, Predicate
from dalembert.tracing.program import CalledProgram, Node, Port, Program, Scan, node_of
from dalembert.tracing.rules import RULES

__all__ = ["evaluate", "inline", "label", "program_of", "repeatable", "retrace", "trace"]


TRACED_HAVE = "traced scalars have + - * / ** @ and the functions of dalembert.algebra.scalar"


def trace(
    function: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    name: str | None = None,
    outputs: str | Sequence[str] | None = None,
) -> Program:
    """The program of a function over scalars.

    The function is called once. Two traces of the same function give the same program, in any process.

    Args:
        function: takes one object array of traced scalars per input, in order (one scalar for shape ``()``);
            returns an array, a tuple of arrays, or a dict of arrays by name. Plain numbers among the elements
            are constants. Kernels that it calls become part of the program.
        inputs: shape of each input, by name.
        name: of the program; by default that of the function.
        outputs: names of what is returned, unless it is a dict; by default those of a named tuple, ``result``, or
            ``result_0`` ...
    """
    from dalembert.tracing.calls import expanded

    return expanded(trace_with_calls(function, inputs, name, outputs))


def trace_with_calls(
    function: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    name: str | None = None,
    outputs: str | Sequence[str] | None = None,
) -> Program:
    """The same with kernels that the function calls still closed, so that none of them is traced for it.

    Args:
        function: see :func:`trace`.
        inputs: see :func:`trace`.
        name: see :func:`trace`.
        outputs: see :func:`trace`.
    """
    if not isinstance(inputs, Mapping):
        raise ArgumentError(f"trace: inputs = {inputs!r}; it must be a dict of shapes by name, such as {{'q': (3,)}}")
    graph = Graph()
    arrays = [graph.input(port, shape) for port, shape in inputs.items()]
    _check_takes(function, inputs)
    try:
        returned = function(*arrays)
    except TypeError as error:
        if type(error).__module__.partition(".")[0] == "numpy":  # a function that takes no objects: np.linalg.solve
            raise TracingError(
                f"{getattr(function, '__name__', 'the function')} calls a function of NumPy that takes numbers only, "
                f"while it is traced: {error}. {TRACED_HAVE}; da.linalg solves linear "
                "equations of them"
            ) from error
        error.add_note(f"This happened while tracing: {TRACED_HAVE}; np.linalg, // and % need numbers")
        raise
    if name is None:
        name = getattr(function, "__name__", "")
        name = name if name.isidentifier() else "program"
    program = program_of(graph, _named(returned, outputs, name), name)
    graph.dissolve()
    return program


def repeatable(traced: Callable[[], Program], what: str, depends: str, remedy: str) -> Program:
    """The program of a user's function; ArgumentError if it draws random numbers or keeps a state.

    It is compiled once, and would stay as it was then. It is called twice to see that.

    Args:
        traced: calls the function and gives its program.
        what: name of the function in the message.
        depends: all that it may depend on.
        remedy: what to do instead.
    """
    first = traced()
    if traced().digest != first.digest:
        raise ArgumentError(
            f"{what} gives another answer when it is called again, but it is compiled once: it must depend on "
            f"{depends} only",
            remedy=remedy,
        )
    return first


_LISTED = frozenset({"input", "loop", "call"})
"""Operations whose arguments are no operands, or whose value is a place in a list of the program."""


def program_of(
    graph: Graph,
    outputs: Mapping[str, Any],
    name: str = "program",
    shapes: Mapping[str, tuple[int, ...]] | None = None,
) -> Program:
    """The program that computes given expressions from the inputs of their graph.

    Args:
        graph: all of its inputs become inputs of the program, needed or not.
        outputs: an array-like of expressions and numbers for each output, by name. A truth value counts as 1
            or 0. An array in memory is an output as a whole.
        shapes: of outputs that are arrays in memory, if not of one dimension.
    """
    ports: list[Port] = []
    exprs: list[list[Any]] = []
    for port, value in outputs.items():
        if isinstance(value, Memory):
            ports.append(Port(port, shapes[port] if shapes else (value.size,)))
            exprs.append([value])
            continue
        array = _object_array(value, f"{name}: output {port!r}")
        ports.append(Port(port, array.shape))
        row = [x if type(x) is Expr and x.graph is graph else _number(graph, x) for x in array.ravel().tolist()]
        emitted = graph.located(row) if row and row[0].op == "read" else None
        if emitted and emitted[1] == list(range(emitted[0].size)):
            row = [emitted[0]]  # type: ignore[list-item]  # the array as a whole
        exprs.append(row)
    needed = bytearray(len(graph.nodes))
    for row in exprs:
        for y in row:
            needed[y.index] = 1
    for x in reversed(graph.nodes):  # users before operands
        if needed[x.index] and x.op != "input":
            for a in x.args:
                needed[a.index] = 1
    place = [-1] * len(needed)
    nodes: list[Node] = []
    loops: list[Scan] = []
    tables: list[bytes] = []
    calls: list[CalledProgram] = []
    for x in graph.nodes:
        if not needed[x.index]:
            continue
        op, args, value = x.op, x.args, x.value
        place[x.index] = len(nodes)
        if len(args) == 2 and op not in _LISTED:
            a, b = args
            nodes.append(node_of((op, (place[a.index], place[b.index]), value)))
            continue
        if op == "loop":
            loops.append(graph.loops[int(value)])
            value = len(loops) - 1.0
        elif op == "call":
            calls.append(graph.calls[int(value)])
            value = len(calls) - 1.0
        elif op == "data":
            tables.append(graph.tables[int(value)])
            value = len(tables) - 1.0
        nodes.append(node_of((op, args if op == "input" else tuple([place[a.index] for a in args]), value)))
    return Program(
        name=name,
        inputs=tuple(graph.inputs),
        outputs=tuple(ports),
        nodes=tuple(nodes),
        results=tuple([tuple([place[x.index] for x in row]) for row in exprs]),
        labels={place[k]: text for k, text in sorted(graph.labels.items()) if needed[k]},
        loops=tuple(loops),
        calls=tuple(calls),
        tables=tuple(tables),
    )


def retrace(
    program: Program, space: Callable[[Graph], Rebuilder | None] = lambda graph: graph
) -> tuple[Graph, list[Any]]:
    """A fresh graph with the inputs of a program, and in it the expression (or predicate) of every node.

    All rules of construction have been applied again; labels are carried over.

    Args:
        space: gives what makes loops and arrays in a graph, see :func:`~dalembert.tracing.evaluate.interpret`.
    """
    graph = Graph()
    inputs = [list(np.asarray(graph.input(port.name, port.shape)).flat) for port in program.inputs]
    values = interpret(program, inputs, RULES, graph.constant, space(graph))
    for k, text in program.labels.items():
        if isinstance(values[k], Expr):
            values[k].label(text)
    return graph, values


def assemble(graph: Graph, program: Program, values: Mapping[int, Any] | Sequence[Any]) -> Program:
    """A program with the outputs of another, given the new expressions of its nodes. Their graph is used up.

    Args:
        program: gives names, shapes and results.
        values: by node, an expression where it is a result.
    """
    outputs: dict[str, Any] = {}
    for output, (port, row) in enumerate(zip(program.outputs, program.results)):
        found: Any = values[row[0]] if program.is_array(output) else [values[k] for k in row]
        outputs[port.name] = found
        if not isinstance(found, Memory):
            outputs[port.name] = np.empty(port.shape, dtype=object)
            for place, x in enumerate(found):
                outputs[port.name].flat[place] = x
    made = program_of(graph, outputs, program.name, {port.name: port.shape for port in program.outputs})
    graph.dissolve()
    return made


def label(array: Any, name: str, first: int = 0) -> Any:
    """Name an intermediate result, for printing; returns it unchanged.

    Args:
        array: an expression, or an array of expressions and numbers, whose elements become ``name_0``,
            ``name_1_2``...
        name: the name; an element that has one already, a constant or an input keeps what it has.
        first: the index of the first element; 1 for mathematics on paper.
    """
    if isinstance(array, Expr):
        array.label(name)
    elif isinstance(array, np.ndarray) and array.dtype == object:
        for place, x in np.ndenumerate(array):
            if isinstance(x, Expr):
                x.label("_".join([name, *(str(first + k) for k in place)]))
    return array


def _check_takes(function: Callable[..., Any], inputs: Mapping[str, Any]) -> None:
    """Refuse what cannot be called with one argument for each input, before Python does in words of its own."""
    if not callable(function):
        raise ArgumentError(f"trace takes a function over scalars, got {type(function).__name__}")
    try:
        inspect.signature(function).bind(*inputs)
    except ValueError:  # some functions in C do not say what they take
        pass
    except TypeError as error:
        called = getattr(function, "__name__", type(function).__name__)
        raise ArgumentError(
            f"trace calls {called} with one argument for each of the inputs {', '.join(inputs) or '(none)'}: {error}"
        ) from None


def _named(returned: Any, names: str | Sequence[str] | None, program: str) -> dict[str, Any]:
    if isinstance(returned, Mapping):
        if names is not None:
            raise ArgumentError(
                f"{program} returns a dict, which names its outputs itself; leave out outputs={names!r}"
            )
        return dict(returned)
    values = returned if isinstance(returned, tuple) else (returned,)
    if names is None and hasattr(values, "_fields"):
        names = values._fields
    elif names is None:
        names = ["result"] if len(values) == 1 else [f"result_{k}" for k in range(len(values))]
    elif isinstance(names, str):
        names = [names]
    if len(names) != len(values) or len(set(names)) != len(names):
        raise ArgumentError(
            f"{program} returns {len(values)} arrays; outputs={list(names)!r} must be as many different names"
        )
    return dict(zip(names, values))


def _object_array(value: Any, what: str) -> np.ndarray:
    if value is None:
        raise ArgumentError(f"{what} is None; the traced function must return arrays")
    try:
        return np.array(value, dtype=object)
    except ValueError as error:
        raise ArgumentError(f"{what} is no array: {error}") from None


def _number(graph: Graph, x: Any) -> Expr:
    return x.select(1, 0) if isinstance(x, Predicate) else graph.lift(x)
