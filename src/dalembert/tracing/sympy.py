"""Programs as SymPy expressions, and SymPy expressions as traced scalars."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.tracing.evaluate import interpret, output_values
from dalembert.tracing.graph import Expr
from dalembert.tracing.loops import unrolled
from dalembert.tracing.program import Program

_LARGEST_DENOMINATOR = 4096


def number(value: float) -> sympy.Expr:
    """A float as a SymPy number of the same value: an integer or short binary fraction where it is one."""
    if math.isinf(value):
        return sympy.oo if value > 0 else -sympy.oo
    if math.isnan(value):
        return sympy.nan
    exact = Fraction(value)
    if exact.denominator <= _LARGEST_DENOMINATOR:
        return sympy.Rational(exact.numerator, exact.denominator)
    return sympy.Float(value)


def _chosen(condition: Any, yes: Any, no: Any) -> Any:
    """A choice; that of 1, -1 or 0 by the sign of a value is read as such."""
    strict = isinstance(condition, (sympy.StrictLessThan, sympy.StrictGreaterThan))
    if strict and yes == 1 and condition.lts == 0 and no == sympy.Piecewise((-1, condition.gts < 0), (0, True)):
        return sympy.sign(condition.gts)
    return sympy.Piecewise((yes, condition), (no, True))


OPERATIONS = {
    "neg": lambda a: -a, "add": lambda a, b: a + b, "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "sqrt": sympy.sqrt, "sin": sympy.sin, "cos": sympy.cos, "tan": sympy.tan, "exp": sympy.exp, "log": sympy.log,
    "atan2": sympy.atan2, "abs": sympy.Abs, "min": sympy.Min, "max": sympy.Max,
    "lt": sympy.StrictLessThan, "le": sympy.LessThan, "eq": sympy.Eq,
    "and": sympy.And, "or": sympy.Or, "not": sympy.Not,
    "select": _chosen,
}  # fmt: skip
"""What each operation of a program is in SymPy."""


def input_symbols(program: Program) -> dict[str, np.ndarray]:
    """Real symbols for the inputs of a program: ``q_0``, ``A_1_2``, or the bare name of a scalar."""
    result = {}
    for port in program.inputs:
        array = np.empty(port.shape, dtype=object)
        for place in np.ndindex(port.shape):
            array[place] = sympy.Symbol("_".join([port.name, *map(str, place)]), real=True)
        result[port.name] = array
    return result


def to_sympy(
    program: Program, symbols: Mapping[str, Any] | None = None, constant: Callable[[float], Any] = number
) -> dict[str, Any]:
    """The outputs of a program as expressions of its inputs, everything in between substituted.

    Args:
        symbols: for each input an array-like of symbols (or any expressions); by default ``input_symbols``.
        constant: how constants are written.

    Returns:
        For each output a scalar, a (column) ``Matrix``, or an ``ImmutableDenseNDimArray`` if it has more
        dimensions.
    """
    values = interpret(program, _elements(program, symbols), OPERATIONS, constant)
    return _outputs(program, values)


def to_sympy_steps(
    program: Program, symbols: Mapping[str, Any] | None = None, constant: Callable[[float], Any] = number
) -> tuple[list[tuple[sympy.Symbol, sympy.Expr]], dict[str, Any]]:
    """A program as a list of definitions, and its outputs in terms of them.

    A value gets a symbol if it has a label, or if it is used more than once; these are called ``x0``,
    ``x1``, ..., less those that an input is called.

    Args:
        symbols: for each input an array-like of symbols; by default ``input_symbols``.
        constant: how constants are written.

    Returns:
        Pairs (symbol, expression in inputs and earlier symbols), and the outputs as in ``to_sympy``.
    """
    program = unrolled(program)
    elements = _elements(program, symbols)
    taken = {str(s) for row in elements for x in row for s in sympy.sympify(x, strict=True).free_symbols}
    alike = {name.replace("_", "") for name in taken}  # in print x_1 looks like x1
    uses = [0] * len(program.nodes)
    for _, node in program.operations():
        for a in node.args:
            uses[a] += 1
    definitions: list[tuple[sympy.Symbol, sympy.Expr]] = []
    values: list[Any] = []
    unnamed = (f"x{k}" for k in itertools.count() if f"x{k}" not in alike)
    for k, (op, args, value) in enumerate(program.nodes):
        if op == "const":
            values.append(constant(value))
        elif op == "input":
            values.append(elements[args[0]][args[1]])
        else:
            result = OPERATIONS[op](*[values[a] for a in args])
            name = program.labels.get(k)
            if name is None and uses[k] > 1 and isinstance(result, sympy.Expr) and op != "neg":
                name = next(unnamed)
            if name is not None:
                while name in taken:
                    name += "_"
                taken.add(name)
                symbol = sympy.Symbol(name, real=True)
                definitions.append((symbol, result))
                result = symbol
            values.append(result)
    return definitions, _outputs(program, values)


def from_sympy(expressions: Any, symbols: Mapping[Any, Expr]) -> Any:
    """SymPy expressions as traced scalars.

    Args:
        expressions: one expression, or an array-like or ``Matrix`` of them.
        symbols: the traced scalar for each symbol - or any other subexpression, such as ``q(t)``.

    Returns:
        One ``Expr``, or an object array of them.
    """
    if not symbols:
        raise ArgumentError("from_sympy() needs at least one symbol with its traced scalar, to know the graph")
    graph = next(iter(symbols.values())).graph
    memo: dict[Any, Any] = {sympy.sympify(symbol, strict=True): expr for symbol, expr in symbols.items()}
    if isinstance(expressions, (sympy.MatrixBase, sympy.NDimArray)):
        expressions = np.array(expressions.tolist(), dtype=object).reshape(expressions.shape)
    array = np.array(expressions, dtype=object)
    result = np.empty(array.shape, dtype=object)
    for place in np.ndindex(array.shape):
        result[place] = _convert(sympy.sympify(array[place], strict=True), memo, graph)
    return result[()] if result.shape == () else result


def _convert(expression: Any, memo: dict[Any, Any], graph: Any) -> Any:
    """Depth first without recursion, every distinct subexpression once."""
    stack = [expression]
    while stack:
        e = stack[-1]
        if e in memo:
            stack.pop()
        elif isinstance(e, (sympy.Number, sympy.NumberSymbol)):
            memo[e] = graph.constant(float(e))
        elif isinstance(e, (sympy.logic.boolalg.BooleanTrue, sympy.logic.boolalg.BooleanFalse)):
            memo[e] = graph.truth(bool(e))
        elif e is sympy.I:
            raise UnsupportedError("the imaginary unit I: kernels compute with real numbers; write real expressions")
        elif not e.args:
            raise ArgumentError(f"the symbol {e} has no traced scalar; known are {', '.join(map(str, memo))}")
        elif missing := [a for a in _operands(e) if a not in memo]:
            stack.extend(reversed(missing))
        else:
            memo[e] = _combine(e, memo, graph)
    return memo[expression]


def _operands(e: Any) -> Sequence[Any]:
    if isinstance(e, sympy.Piecewise):
        return [a for pair in e.args for a in pair.args]
    if isinstance(e, sympy.Mul):
        return [factor.base if _is_reciprocal(factor) else factor for factor in e.args]
    if isinstance(e, sympy.Pow) and e.exp.is_number:
        return [e.base]
    return () if isinstance(e, (sympy.Sum, sympy.Product, sympy.Integral)) else e.args  # their index is no input


def _is_reciprocal(e: Any) -> bool:
    return isinstance(e, sympy.Pow) and e.exp.is_number and e.exp.is_negative


def _combine(e: Any, memo: Mapping[Any, Any], graph: Any) -> Any:
    args = [memo[a] for a in _operands(e)]
    if isinstance(e, sympy.Add):
        return _reduce(args, lambda a, b: a + b)
    if isinstance(e, sympy.Mul):  # one division by the product of all denominators
        above, below = graph.constant(1), graph.constant(1)
        for factor, x in zip(e.args, args):
            if _is_reciprocal(factor):
                below = below * x ** -float(factor.exp)
            else:
                above = above * x
        return above / below
    if isinstance(e, sympy.Pow):
        return args[0] ** (float(e.exp) if e.exp.is_number else args[1])
    if isinstance(e, sympy.Piecewise):
        result = graph.constant(math.nan)  # where no condition holds
        for value, condition in reversed(list(zip(args[::2], args[1::2]))):
            result = condition.select(value, result)
        return result
    for kind, make in _FUNCTIONS.items():
        if isinstance(e, kind):
            return make(*args)
    for kind, operation in _CHAINS.items():
        if isinstance(e, kind):
            return _reduce(args, operation)
    known = ", ".join(sorted(kind.__name__ for kind in (*_FUNCTIONS, *_CHAINS) if issubclass(kind, sympy.Expr)))
    raise UnsupportedError(
        f"the SymPy function {type(e).__name__} in {e} has no counterpart among the operations of kernels; write it "
        f"with powers, Piecewise and {known}"
    )


def _sign(a: Any) -> Any:
    return (a > 0).select(1, (a < 0).select(-1, 0))


def _step(a: Any, at_zero: Any) -> Any:
    return (a > 0).select(1, (a < 0).select(0, at_zero))


def _reduce(items: Sequence[Any], operation: Any) -> Any:
    result = items[0]
    for item in items[1:]:
        result = operation(result, item)
    return result


_FUNCTIONS: dict[type, Callable[..., Any]] = {
    sympy.sin: lambda a: a.sin(), sympy.cos: lambda a: a.cos(), sympy.tan: lambda a: a.tan(),
    sympy.sec: lambda a: 1 / a.cos(), sympy.csc: lambda a: 1 / a.sin(), sympy.cot: lambda a: a.cos() / a.sin(),
    sympy.exp: lambda a: a.exp(), sympy.log: lambda a: a.log(), sympy.Abs: abs, sympy.sign: _sign,
    sympy.Heaviside: _step,
    sympy.atan2: lambda a, b: a.atan2(b), sympy.atan: lambda a: a.atan2(1),
    sympy.asin: lambda a: a.arcsin(), sympy.acos: lambda a: a.arccos(),
    sympy.sinh: lambda a: a.sinh(), sympy.cosh: lambda a: a.cosh(), sympy.tanh: lambda a: a.tanh(),
    sympy.csch: lambda a: 1 / a.sinh(), sympy.sech: lambda a: 1 / a.cosh(), sympy.coth: lambda a: 1 / a.tanh(),
    sympy.asinh: lambda a: a.arcsinh(), sympy.acosh: lambda a: a.arccosh(), sympy.atanh: lambda a: a.arctanh(),
    sympy.StrictLessThan: lambda a, b: a < b, sympy.LessThan: lambda a, b: a <= b,
    sympy.StrictGreaterThan: lambda a, b: a > b, sympy.GreaterThan: lambda a, b: a >= b,
    sympy.Eq: lambda a, b: a.equals(b), sympy.Ne: lambda a, b: ~a.equals(b), sympy.Not: lambda a: ~a,
}  # fmt: skip

_CHAINS: dict[type, Callable[[Any, Any], Any]] = {
    sympy.Min: lambda a, b: a.minimum(b), sympy.Max: lambda a, b: a.maximum(b),
    sympy.And: lambda a, b: a & b, sympy.Or: lambda a, b: a | b,
}  # fmt: skip


def _elements(program: Program, symbols: Mapping[str, Any] | None) -> list[list[Any]]:
    arrays = input_symbols(program) if symbols is None else symbols
    result = []
    for port in program.inputs:
        if port.name not in arrays:
            raise ArgumentError(f"{program.name}: no symbols for the input {port.name!r}")
        row = list(np.array(arrays[port.name], dtype=object).flat)
        if len(row) != port.size:
            raise ArgumentError(f"{program.name}: input {port.name!r} has {port.size} elements, got {len(row)} symbols")
        result.append(row)
    return result


def _outputs(program: Program, values: list[Any]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for port, row in zip(program.outputs, output_values(program, values)):
        if port.shape == ():
            result[port.name] = row[0]
        elif len(port.shape) <= 2:
            rows, columns = (*port.shape, 1)[:2]
            result[port.name] = sympy.Matrix(rows, columns, row)
        else:
            result[port.name] = sympy.ImmutableDenseNDimArray(row, port.shape)
    return result
