"""Run a program node by node: on numbers as the reference for every back end, on other scalars to reuse
it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.threefry import draw
from dalembert.tracing.graph import Expr, Memory
from dalembert.tracing.program import STRUCTURE, CalledProgram, Node, Port, Program, Scan, require_program
from dalembert.tracing.rules import RULES

Arguments = Mapping[str, Any] | Sequence[Any]
"""One array per input port, by name or in order."""

ROUNDED = ("add", "sub", "mul", "div", "sqrt", "sin", "cos", "tan", "exp", "log", "atan2")
"""Operations whose results are rounded."""

SHAKE, SHAKES = 1e-6, 3
"""By how much, relative to itself, :func:`cancelled` changes a number, and how often it does so."""


class Rebuilder(Protocol):
    """What makes the loops and arrays of a program again."""

    def structure(self, program: Program, node: Node, operands: list[Any], inputs: Sequence[Sequence[Any]]) -> Any:
        """What becomes of a node of ``program.STRUCTURE``; see :meth:`dalembert.tracing.graph.Graph.structure`."""
        ...


def interpret(
    program: Program,
    inputs: Sequence[Sequence[Any]],
    operations: Mapping[str, Callable[..., Any]],
    constant: Callable[[float], Any],
    space: Rebuilder | None = None,
) -> list[Any]:
    """The value of every node, over whatever the operations work on; arrays are lists of elements.

    Args:
        inputs: for each input port its elements in C order.
        operations: a function for each operation that is neither a constant nor an input.
        constant: makes a constant of a float.
        space: where loops and arrays stay what they are, a graph for instance; None takes step after step.

    Programs that it calls are interpreted with the same operations.
    """
    values: list[Any] = []
    for node in program.nodes:
        op, args, value = node
        if op == "const":
            values.append(constant(value))
        elif op == "input":
            values.append(inputs[args[0]][args[1]])
        elif op in STRUCTURE:
            operands = [values[k] for k in args]
            if space is not None:
                values.append(space.structure(program, node, operands, inputs))
            elif op == "loop":
                values.append(_steps(program.loops[int(value)], operands, operations, constant))
            elif op == "element":
                values.append(operands[0][0][int(value)])
            elif op == "rows":
                values.append(operands[0][1][int(value)])
            elif op == "table":
                values.append(list(inputs[int(value)]))
            elif op == "data":
                values.append([constant(x) for x in np.frombuffer(program.tables[int(value)], "<f8").tolist()])
            else:
                values.append(operands)
        elif op == "call":
            operands = [values[k] for k in args]
            values.append((interpret_call(program.calls[int(value)], operands, operations, constant, space), []))
        elif op in operations:
            values.append(operations[op](*[values[k] for k in args]))
        else:
            raise UnsupportedError(f"{program.name}: {_UNKNOWN[op]} cannot be written over this kind of scalar")
    return values


def interpret_call(
    call: CalledProgram,
    operands: Sequence[Any],
    operations: Mapping[str, Callable[..., Any]],
    constant: Callable[[float], Any],
    space: Rebuilder | None = None,
) -> list[Any]:
    """The results of a called program, one after the other; see :func:`interpret`.

    Args:
        operands: the elements of all inputs, one after the other.
    """
    program, given, at = call.program(), [], 0
    for port in call.inputs:
        given.append(operands[at : at + port.size])
        at += port.size
    found = interpret(program, given, operations, constant, space)
    return [x for row in output_values(program, found) for x in row]


_UNKNOWN = {
    "read": "reading an array by a computed index",
    "write": "writing an array by a computed index",
    "draw": "drawing random numbers",
}


def _steps(
    scan: Scan, operands: list[Any], operations: Mapping[str, Callable[..., Any]], constant: Callable[[float], Any]
) -> tuple[list[Any], list[list[Any]]]:
    """The numbers and the arrays that a loop ends with."""
    carried, held, given, tables, stores = scan.split(operands)
    made: list[list[list[Any]]] = [[] for _ in scan.made]
    for s in range(scan.count):
        row = s // scan.hold
        if scan.reverse:
            row = scan.read_rows - 1 - row
        own = [
            array[first + stride * row :][:width]
            for array, (first, stride), width in zip(given, scan.given, scan.widths)
        ]
        found = interpret(scan.step, [carried, held, *own, *tables, *stores], operations, constant)
        carried, *rest = output_values(scan.step, found)
        stores = rest[len(made) :]
        if (s + 1) % scan.every == 0:
            for rows, new in zip(made, rest):
                rows.append(new)
    order = -1 if scan.reverse else 1
    return carried, [[x for new in rows[::order] for x in new] for rows in made] + stores


def output_values(program: Program, values: Sequence[Any]) -> list[list[Any]]:
    """The elements of each output of a program, from the values of its nodes."""
    return [
        elements_of(values[row[0]]) if program.is_array(k) else [values[j] for j in row]
        for k, row in enumerate(program.results)
    ]


def elements_of(array: Any) -> list[Any]:
    """The elements of an array, traced or a list."""
    return array.graph.items(array) if isinstance(array, Memory) else array


def evaluate(
    program: Program, arguments: Arguments, operations: Mapping[str, Callable[..., Any]] | None = None
) -> dict[str, np.ndarray]:
    """The outputs of a program for given numbers, by plain NumPy: slow, simple, and the oracle of all back
    ends.

    Complex numbers are continued analytically from the real axis (comparisons look at real parts), so that
    the complex step gives derivatives. A NaN passes through min and max. Out of domain the answer is NaN or
    infinity, without a warning.

    Args:
        arguments: an array per input, by name or in order, of shape ``(..., *port.shape)``; the leading batch
            dimensions of all inputs are broadcast against each other.
        operations: in the place of NumPy's.

    Returns:
        An array of shape ``(*batch, *port.shape)`` for each output, by name.
    """
    arrays = [np.asarray(array) for array in ordered(program, arguments)]
    batches, flat = [], []
    for port, array in zip(program.inputs, arrays):
        batch = _batch_shape(program, port, array)
        elements = array.reshape((*batch, port.size))
        kind = np.complex128 if array.dtype.kind == "c" else np.float64
        batches.append(batch)
        flat.append([elements[..., k].astype(kind) for k in range(port.size)])
    try:
        batch = np.broadcast_shapes(*batches)
    except ValueError:
        shapes = ", ".join(f"{port.name} {array.shape}" for port, array in zip(program.inputs, arrays))
        raise ArgumentError(f"{program.name}: the inputs do not fit each other: {shapes}") from None
    with np.errstate(all="ignore"):
        values = interpret(program, flat, operations or _NUMPY, np.float64)
    result = {}
    for port, found in zip(program.outputs, output_values(program, values)):
        columns = [np.broadcast_to(x, batch) if batch else x for x in found]
        if columns:
            stacked = np.stack(columns, axis=-1) if batch else np.array(columns)
        else:
            stacked = np.empty((*batch, 0))
        result[port.name] = stacked.reshape(batch + port.shape)
    return result


def cancelled(program: Program, arguments: Arguments, name: str) -> np.ndarray:
    """How large the terms are of which an output is the sum, whatever is left of it where they cancel.

    It is what the output changes if all inputs and results of operations change a little, each on its own, relative to
    those changes. The output is zero for all that numbers can tell if it is below some multiple of their precision
    times this.

    Args:
        arguments: as for :func:`evaluate`; real numbers.
        name: of the output.
    """
    rng = np.random.default_rng(0)

    def shaken(x: Any) -> Any:
        return x * (1 + SHAKE * rng.choice((-1.0, 1.0), np.shape(x)))

    def shake(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *operands: shaken(function(*operands))

    operations = _NUMPY | {op: shake(_NUMPY[op]) for op in ROUNDED}
    here = evaluate(program, arguments)[name]
    found = np.zeros(here.shape)
    for _ in range(SHAKES):
        moved = [shaken(np.asarray(x, dtype=float)) for x in ordered(program, arguments)]
        with np.errstate(all="ignore"):
            found = np.maximum(found, np.abs(evaluate(program, moved, operations)[name] - here) / SHAKE)
    return found


def inline(program: Program, arguments: Arguments) -> dict[str, np.ndarray]:
    """Call a program on scalars of any kind: numbers, SymPy expressions, traced scalars. So programs compose.

    Args:
        arguments: an array of scalars per input, by name or in order, of exactly the shape of its port.

    Returns:
        An array of scalars of that kind for each output, by name.
    """
    arrays = [np.asarray(a) if _numeric(a) else np.array(a, dtype=object) for a in ordered(program, arguments)]
    for port, array in zip(program.inputs, arrays):
        if array.shape != port.shape:
            raise ArgumentError(
                f"{program.name}: input {port.name!r} has shape {array.shape}, must have {port.shape}; "
                "use evaluate() for batches"
            )
    scalars = [x for array in arrays if array.dtype == object for x in array.flat]
    traced = next((x for x in scalars if isinstance(x, Expr)), None)
    sympy = sys.modules.get("sympy")
    if traced is not None:
        graph = traced.graph
        elements = [[graph.lift(x) for x in array.flat] for array in arrays]
        values = interpret(program, elements, RULES, graph.constant, graph)
    elif sympy is not None and any(isinstance(x, sympy.Basic) for x in scalars):
        from dalembert.tracing.sympy import OPERATIONS, number

        values = interpret(
            program, [[sympy.sympify(x, strict=True) for x in a.flat] for a in arrays], OPERATIONS, number
        )
    else:
        kind = complex if any(isinstance(x, (complex, np.complexfloating)) for x in scalars) else float
        return evaluate(program, [a.astype(kind) if a.dtype == object else a for a in arrays])
    result = {}
    for port, elements in zip(program.outputs, output_values(program, values)):
        result[port.name] = np.empty(port.shape, dtype=object)
        for place, x in enumerate(elements):
            result[port.name].flat[place] = x
    return result


def ordered(program: Program, arguments: Arguments) -> list[Any]:
    """The arguments in the order of the program's inputs, checked for missing and unknown names."""
    names = [port.name for port in require_program(program, "evaluate").inputs]
    if isinstance(arguments, Mapping):
        missing, unknown = set(names) - set(arguments), set(arguments) - set(names)
        if missing or unknown:
            raise ArgumentError(
                f"{program.name} takes the inputs {', '.join(names)}"
                + (f"; missing: {', '.join(sorted(missing))}" if missing else "")
                + (f"; unknown: {', '.join(sorted(map(str, unknown)))}" if unknown else "")
            )
        return [arguments[name] for name in names]
    try:
        given = list(arguments)
    except TypeError:
        raise ArgumentError(
            f"{program.name}: arguments are a {type(arguments).__name__}; needed is a list of arrays, "
            f"one for each of the inputs {', '.join(names)}"
        ) from None
    if len(given) != len(names):
        raise ArgumentError(f"{program.name} takes {len(names)} inputs ({', '.join(names)}), got {len(given)}")
    return given


def _numeric(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.number)) or (isinstance(x, np.ndarray) and x.dtype != object)


def _batch_shape(program: Program, port: Port, array: np.ndarray) -> tuple[int, ...]:
    core = len(port.shape)
    if array.ndim < core or array.shape[array.ndim - core :] != port.shape:
        raise ArgumentError(
            f"{program.name}: input {port.name!r} has shape {array.shape}, must be (..., "
            f"{', '.join(map(str, port.shape))}): any batch dimensions, then the shape of the port"
        )
    return array.shape[: array.ndim - core]


def _minimum(a: Any, b: Any) -> Any:
    return np.where((a.real < b.real) | (a.real != a.real), a, b)


def _maximum(a: Any, b: Any) -> Any:
    return np.where((a.real > b.real) | (a.real != a.real), a, b)


def _atan2(y: Any, x: Any) -> Any:
    angle = np.arctan2(y.real, x.real)
    if np.iscomplexobj(y) or np.iscomplexobj(x):
        return angle + 1j * (x.real * y.imag - y.real * x.imag) / (x.real**2 + y.real**2)
    return angle


def _place(index: Any, size: int) -> Any:
    return np.clip(np.where(index.real > 0, index.real, 0), 0, size - 1).astype(np.int64)


def _read(array: list[Any], index: Any) -> Any:
    place = _place(index, len(array))
    if np.ndim(place) == 0:
        return array[int(place)]
    columns = np.stack(np.broadcast_arrays(*array, place)[:-1])
    return np.take_along_axis(columns, np.broadcast_to(place, columns.shape[1:])[None], 0)[0]


def _write(array: list[Any], index: Any, number: Any) -> list[Any]:
    place = _place(index, len(array))
    if np.ndim(place) == 0:
        return [number if k == place else x for k, x in enumerate(array)]
    return [np.where(place == k, number, x) for k, x in enumerate(array)]


def _trigonometric(name: str) -> Callable[[Any], Any]:
    """A function of ``math``, element by element.

    NumPy's vectorised sine rounds a number differently alone and in a batch; the reference must not.
    """
    real, complex_ = getattr(math, name), getattr(np, name)

    def one(x: float) -> float:
        return real(x) if math.isfinite(x) else math.nan

    elementwise = np.vectorize(one, otypes=[float])

    def function(x: Any) -> Any:
        if np.iscomplexobj(x):
            return complex_(x)
        return elementwise(x) if np.ndim(x) else np.float64(one(x))

    return function


_NUMPY: dict[str, Callable[..., Any]] = {
    "neg": lambda a: -a,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "sqrt": np.sqrt,
    "sin": _trigonometric("sin"),
    "cos": _trigonometric("cos"),
    "tan": _trigonometric("tan"),
    "exp": np.exp,
    "log": np.log,
    "atan2": _atan2,
    "abs": lambda a: np.where(a.real < 0, -a, a),
    "min": _minimum,
    "max": _maximum,
    "lt": lambda a, b: a.real < b.real,
    "le": lambda a, b: a.real <= b.real,
    "eq": lambda a, b: a.real == b.real,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "not": lambda a: ~a,
    "select": np.where,
    "read": _read,
    "write": _write,
    "draw": lambda *operands: draw(operands[:8], operands[8]),
}
