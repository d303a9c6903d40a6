"""Functions of CasADi as programs, instruction by instruction.

CasADi knows truth values as the numbers 0 and 1, and a choice as a sum of two products with them. Both are recognised,
so that a program that went to CasADi comes back with as many operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError, MissingExtraError, UnsupportedError
from dalembert.tracing.graph import Expr, Graph, Predicate
from dalembert.tracing.program import Program
from dalembert.tracing.trace import program_of


def from_casadi(function: Any) -> Program:
    """The program of a ``casadi.Function``.

    A column becomes a vector, a matrix of one element a scalar. Structural zeros of inputs are inputs that nothing
    depends on. A NaN passes through ``fmin`` and ``fmax``, of which CasADi gives the other operand.

    Args:
        function: of SX, or of MX if it expands.
    """
    casadi = require_casadi("a program of a CasADi function")
    if not isinstance(function, casadi.Function):
        raise ArgumentError(f"from_casadi takes a casadi.Function, got {type(function).__name__}")
    name = function.name()
    if not function.is_a("SXFunction"):
        function = _expanded(casadi, function)
    if function.has_free():
        raise ArgumentError(f"{name} has free variables {', '.join(function.get_free())}; make them inputs")
    _check_names(name, [function.name_in(k) for k in range(function.n_in())], "inputs")
    _check_names(name, [function.name_out(k) for k in range(function.n_out())], "outputs")
    graph = Graph()
    inputs = [
        _nonzeros(function.sparsity_in(k), graph.input(function.name_in(k), _shape(function.sparsity_in(k))))
        for k in range(function.n_in())
    ]
    outputs = [np.zeros(_shape(function.sparsity_out(k)), dtype=object) for k in range(function.n_out())]
    places = [_positions(function.sparsity_out(k)) for k in range(function.n_out())]
    operations = {getattr(casadi, f"OP_{op}"): make for op, make in OPERATIONS.items()}
    registers: dict[int, Any] = {}
    for k in range(function.n_instructions()):
        op, given, target = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if op == casadi.OP_INPUT:
            registers[target[0]] = inputs[given[0]][given[1]]
        elif op == casadi.OP_OUTPUT:
            outputs[target[0]].flat[places[target[0]][target[1]]] = _number(registers[given[0]])
        elif op == casadi.OP_CONST:
            value = function.instruction_constant(k)
            if math.isnan(value):
                raise ArgumentError(f"{name} has the constant NaN at instruction {_line(function, k)}")
            registers[target[0]] = graph.constant(value)
        elif op in operations:
            registers[target[0]] = operations[op](*[registers[x] for x in given])
        else:
            raise UnsupportedError(
                f"{name}: instruction {_line(function, k)} has no counterpart among the operations of kernels; "
                f"{_remedy(casadi, op)}"
            )
    return program_of(graph, {function.name_out(k): array for k, array in enumerate(outputs)}, name)


def require_casadi(purpose: str) -> Any:
    """The package ``casadi``.

    Args:
        purpose: what it is needed for, for the message where it is missing.
    """
    try:
        import casadi
    except ImportError as error:
        raise MissingExtraError("casadi", "casadi", purpose) from error
    return casadi


def _expanded(casadi: Any, function: Any) -> Any:
    """A function of MX as one of SX."""
    try:
        return function.expand()
    except Exception as error:  # CasADi raises RuntimeError and NotImplementedError, by version
        culprits = []
        if function.is_a("MXFunction"):
            for k in range(function.n_instructions()):
                node = function.instruction_MX(k)
                if node.is_call():
                    called = node.which_function()
                    if not called.is_a("SXFunction") and not called.is_a("MXFunction"):
                        culprits.append(f"{called.name()} ({called.class_name()})")
                elif function.instruction_id(k) in (casadi.OP_SOLVE, casadi.OP_BSPLINE, casadi.OP_CONVEXIFY):
                    culprits.append(str(node))
        else:
            culprits.append(f"{function.name()} ({function.class_name()})")
        where = f"; nodes of MX only: {', '.join(dict.fromkeys(culprits))}" if culprits else ""
        raise UnsupportedError(
            f"{function.name()} is no function of SX and does not expand to one{where}. "
            f"CasADi says: {str(error).strip().splitlines()[-1]}"
        ) from error


def _check_names(function: str, names: list[str], which: str) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ArgumentError(f"{function} has two {which} called {twice[0]!r}; names of {which} must differ")


def _line(function: Any, k: int) -> str:
    """An instruction by its number and in CasADi's words: ``7, @1 = erf(@0)``."""
    lines = function.str(True).partition("Algorithm:\n")[2].splitlines()
    return f"{k}, {lines[k].rstrip(';')}," if k < len(lines) else str(k)


def _remedy(casadi: Any, op: int) -> str:
    if op == casadi.OP_CALL:
        return "call a function that dissolves: of SX, without never_inline, not external, no table or solver"
    return "write it with powers, if_else, fmin, fmax and trigonometric, hyperbolic or exponential functions"


def _shape(sparsity: Any) -> tuple[int, ...]:
    rows, columns = sparsity.shape
    return () if (rows, columns) == (1, 1) else (rows,) if columns == 1 else (rows, columns)


def _positions(sparsity: Any) -> list[int]:
    """The place in C order of each entry that CasADi keeps."""
    columns = sparsity.shape[1]
    return [row * columns + column for row, column in zip(sparsity.row(), sparsity.get_col())]


def _nonzeros(sparsity: Any, array: Any) -> list[Expr]:
    flat = np.asarray(array, dtype=object).reshape(-1)
    return [flat[k] for k in _positions(sparsity)]


# ---------------------------------------------------------------------------------------------------------- operations


def _number(x: Expr | Predicate) -> Expr:
    return x.select(1, 0) if isinstance(x, Predicate) else x


def _truth(x: Expr | Predicate) -> Predicate:
    return x if isinstance(x, Predicate) else ~x.equals(0)


def _numeric(make: Callable[..., Any]) -> Callable[..., Any]:
    """An operation on numbers, of operands that may be truth values."""
    return lambda *operands: make(*map(_number, operands))


def _add(a: Expr, b: Expr) -> Expr:
    """A sum; (c ? a : 0) + (c ? 0 : b) is how CasADi writes c ? a : b."""
    if a.op == b.op == "select" and a.args[0] is b.args[0]:
        (condition, yes, no), (_, other_yes, other_no) = a.args, b.args
        if no.is_zero and other_yes.is_zero:
            return condition.select(yes, other_no)
        if yes.is_zero and other_no.is_zero:
            return condition.select(other_yes, no)
    return a + b


def _sign(a: Expr) -> Expr:
    return (a > 0).select(1, (a < 0).select(-1, a))  # itself: a NaN stays one


NUMERIC: dict[str, Callable[..., Any]] = {
    "ASSIGN": lambda a: a, "ADD": _add, "SUB": lambda a, b: a - b, "MUL": lambda a, b: a * b,
    "DIV": lambda a, b: a / b, "NEG": lambda a: -a, "SQ": lambda a: a * a, "TWICE": lambda a: 2 * a,
    "INV": lambda a: 1 / a, "POW": lambda a, b: a**b, "CONSTPOW": lambda a, b: a**b,
    "EXP": lambda a: a.exp(), "LOG": lambda a: a.log(), "SQRT": lambda a: a.sqrt(),
    "EXPM1": lambda a: a.exp() - 1, "LOG1P": lambda a: (1 + a).log(), "HYPOT": lambda a, b: a.hypot(b),
    "SIN": lambda a: a.sin(), "COS": lambda a: a.cos(), "TAN": lambda a: a.tan(),
    "ASIN": lambda a: a.arcsin(), "ACOS": lambda a: a.arccos(), "ATAN": lambda a: a.arctan(),
    "ATAN2": lambda a, b: a.atan2(b),
    "SINH": lambda a: a.sinh(), "COSH": lambda a: a.cosh(), "TANH": lambda a: a.tanh(),
    "ASINH": lambda a: a.arcsinh(), "ACOSH": lambda a: a.arccosh(), "ATANH": lambda a: a.arctanh(),
    "FABS": abs, "SIGN": _sign, "COPYSIGN": lambda a, b: (b < 0).select(-abs(a), abs(a)),
    "FMIN": lambda a, b: a.minimum(b), "FMAX": lambda a, b: a.maximum(b),
    "LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "EQ": lambda a, b: a.equals(b),
    "NE": lambda a, b: ~a.equals(b), "LIFT": lambda a, guess: a,
}  # fmt: skip
"""What an operation of CasADi on numbers is among ours; near zero ``expm1`` and ``log1p`` are exact to a rounding of
one."""

LOGICAL: dict[str, Callable[..., Any]] = {
    "NOT": lambda a: ~_truth(a), "AND": lambda a, b: _truth(a) & _truth(b), "OR": lambda a, b: _truth(a) | _truth(b),
    "IF_ELSE_ZERO": lambda condition, a: _truth(condition).select(_number(a), 0),
}  # fmt: skip
"""The same for operations with truth values."""

OPERATIONS: dict[str, Callable[..., Any]] = {op: _numeric(make) for op, make in NUMERIC.items()} | LOGICAL
"""By the name of the operation in CasADi, without ``OP_``."""
