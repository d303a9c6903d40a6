"""A program as a function of CasADi: scalar expressions (SX), named arguments, callable on MX as well.

CasADi knows matrices only. A vector is a column, a scalar a matrix of one element; an array of more than two dimensions
has its first one as rows and all others, in C order, as columns. Where an entry of a matrix is zero for every state,
CasADi knows it as a structural zero.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dalembert.errors import ArgumentError, ModelWarning
from dalembert.printing.names import Names
from dalembert.tracing.casadi import require_casadi
from dalembert.tracing.evaluate import interpret, output_values
from dalembert.tracing.program import Port, Program, require_program

CASADI_RESERVED = frozenset({"null", "jac", "hess"})
"""Names that CasADi refuses."""


def to_casadi(program: Program, derivatives: bool = False) -> Any:
    """A program as a ``casadi.Function`` over SX.

    A name that CasADi refuses, or that an input has already, is changed; a :class:`~dalembert.errors.ModelWarning`
    lists all of these.

    Args:
        program: what the function computes.
        derivatives: where the function is called on MX, CasADi takes the Jacobian from a program of this library
            instead of deriving its own. (Called on SX, a function dissolves into its operations, and only CasADi can
            differentiate these.)
    """
    casadi = require_casadi("a function of CasADi")
    require_program(program, "to_casadi")
    named = [port.name for port in program.outputs]
    if twice := sorted({name for name in named if named.count(name) > 1}):
        raise ArgumentError(f"{program.name} has two outputs called {twice[0]!r}; CasADi finds results by name")
    name, inputs, outputs = _legal_names(program)
    arguments = [casadi.SX.sym(legal, *_matrix(port)) for legal, port in zip(inputs, program.inputs)]
    results = _results(casadi, program, arguments)
    options: dict[str, Any] = {}
    if derivatives:
        options = {"custom_jacobian": _jacobian(casadi, program, name, inputs, outputs), "jac_penalty": 0}
    return casadi.Function(name, arguments, results, inputs, outputs, options)


def _legal_names(program: Program) -> tuple[str, list[str], list[str]]:
    """Names of the function, its inputs and its outputs; CasADi has one space of names for the last two."""
    names, changed = Names(CASADI_RESERVED), []

    def legal(wish: str, taken: Names, instead: str = "") -> str:
        plain = wish
        while "__" in plain:
            plain = plain.replace("__", "_")
        found = taken.new(plain, instead)
        if found != wish:
            changed.append(f"{wish!r} -> {found!r}")
        return found

    function = legal(program.name, Names(CASADI_RESERVED))
    inputs = [legal(port.name, names, "_in") for port in program.inputs]
    outputs = [legal(port.name, names, "_out") for port in program.outputs]
    if changed:
        warnings.warn(ModelWarning(f"{program.name}: names changed for CasADi: {', '.join(changed)}"), stacklevel=4)
    return function, inputs, outputs


def _matrix(port: Port) -> tuple[int, int]:
    """Rows and columns by which CasADi knows an array."""
    return (port.shape[0], math.prod(port.shape[1:])) if port.shape else (1, 1)


def _results(casadi: Any, program: Program, arguments: Sequence[Any]) -> list[Any]:
    """The outputs, as SX, of a program called on SX."""
    elements = [
        [argument[row, column] for row in range(argument.size1()) for column in range(argument.size2())]
        for argument in arguments
    ]
    with _as_written(casadi):
        values = interpret(program, elements, operations(casadi), casadi.SX)
    made = []
    for port, indices, found in zip(program.outputs, program.results, output_values(program, values)):
        rows, columns = _matrix(port)
        kept = [
            (row, column)
            for column in range(columns)  # the order in which CasADi keeps them
            for row in range(rows)
            if columns == 1
            or len(indices) < len(found)
            or program.nodes[indices[row * columns + column]][::2] != ("const", 0.0)
        ]
        entries = [found[row * columns + column] for row, column in kept]
        places = casadi.Sparsity.triplet(rows, columns, [row for row, _ in kept], [column for _, column in kept])
        made.append(casadi.SX(places, casadi.vertcat(*entries)) if entries else casadi.SX(rows, columns))
    return made


def operations(casadi: Any) -> dict[str, Any]:
    """What each operation of a program is in CasADi.

    Args:
        casadi: the module.
    """
    return {
        "neg": lambda a: -a, "add": lambda a, b: a + b, "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
        "sqrt": casadi.sqrt, "sin": casadi.sin, "cos": casadi.cos, "tan": casadi.tan, "exp": casadi.exp,
        "log": casadi.log, "atan2": casadi.atan2, "abs": casadi.fabs, "min": casadi.fmin, "max": casadi.fmax,
        "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "eq": lambda a, b: a == b,
        "and": casadi.logic_and, "or": casadi.logic_or, "not": casadi.logic_not,
        "select": casadi.if_else,
    }  # fmt: skip


@contextmanager
def _as_written(casadi: Any) -> Iterator[None]:
    """CasADi keeps operations as they are: its own rules make a division of every product with a shared reciprocal."""
    before = casadi.GlobalOptions.getSimplificationOnTheFly()
    casadi.GlobalOptions.setSimplificationOnTheFly(False)
    try:
        yield
    finally:
        casadi.GlobalOptions.setSimplificationOnTheFly(before)


def _jacobian(casadi: Any, program: Program, name: str, inputs: list[str], outputs: list[str]) -> Any:
    """The function that CasADi would make by ``Function.jacobian``, from our derivatives."""
    from dalembert.tracing.derivatives import jacobians
    from dalembert.tracing.passes import optimise

    every = [port.name for port in program.inputs]
    wanted = optimise(jacobians(program, every, values=False))
    arguments = [casadi.SX.sym(legal, *_matrix(port)) for legal, port in zip(inputs, program.inputs)]
    nominal = [casadi.SX(*_matrix(port)) for port in program.outputs]  # known results, of which none is used
    blocks = iter(_results(casadi, _flat_columns(wanted, program), arguments))
    return casadi.Function(
        f"jac_{name}",
        [*arguments, *nominal],
        [next(blocks) for _ in outputs for _ in inputs],
        [*inputs, *(f"out_{output}" for output in outputs)],
        [f"jac_{output}_{name}" for output in outputs for name in inputs],
    )


def _flat_columns(jacobians: Program, program: Program) -> Program:
    """Derivatives as matrices: both sides in the column order in which CasADi makes vectors of matrices."""
    ports, results = [], []
    blocks = iter(zip(jacobians.outputs, jacobians.results))
    for output in program.outputs:
        for given in program.inputs:
            port, indices = next(blocks)
            ports.append(Port(port.name, (output.size, given.size)))
            results.append(
                tuple(indices[row * given.size + column] for row in _by_column(output) for column in _by_column(given))
            )
    return replace(jacobians, outputs=tuple(ports), results=tuple(results))


def _by_column(port: Port) -> list[int]:
    """The elements of an array, by their C order, in CasADi's order."""
    rows, columns = _matrix(port)
    return [row * columns + column for column in range(columns) for row in range(rows)]
