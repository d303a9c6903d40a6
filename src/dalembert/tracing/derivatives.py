"""Derivatives of traced expressions: forward and reverse mode on the graph, sparse, exact.

Both modes work on the same slopes of single operations. ``forward`` carries, for every node, its derivatives along the
directions that reach it (zeros are never stored); ``reverse`` carries, for one result at a time, the derivative of that
result by every node. Where a function has a kink (abs, min, max, select) the derivative of the side that is chosen
counts.

A loop has loops as derivatives. Forwards its step carries tangents along; backwards a second loop takes the steps in
reverse order, with what the first carried at each, and carries the derivatives by what is carried and held.

A power with an exponent p that is not whole is no operation of its own but made of several. Taken one by one they give
0 times infinity for a base of zero, so a power is recognised and has the slope p x^(p - 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.tracing.calls import expressions_without_calls
from dalembert.tracing.cost import WEIGHTS, weight
from dalembert.tracing.evaluate import elements_of, interpret, output_values
from dalembert.tracing.graph import Expr, Graph, Memory, Predicate
from dalembert.tracing.loops import scan_program
from dalembert.tracing.program import PREDICATES, Program, Scan, derivative_ports, require_program
from dalembert.tracing.rules import RULES, add, mul
from dalembert.tracing.trace import program_of, retrace

Mode = Literal["auto", "forward", "reverse"]


def forward(exprs: Any, wrt: Any, seeds: Any = None) -> np.ndarray:
    """Directional derivatives, all at once: ``J @ seeds``.

    Args:
        exprs: array of expressions and numbers, m of them in all.
        wrt: array of the n expressions to differentiate by, held independent of each other.
        seeds: the directions, an array of n numbers or expressions, or of shape (n, k); None for the
            identity.

    Returns:
        An object array: the shape of ``exprs``, and k if the seeds have two dimensions or are None.
    """
    results, variables = _flat(exprs), _variables(wrt)
    matrix = np.eye(len(variables), dtype=int) if seeds is None else np.asarray(seeds, dtype=object)
    if matrix.ndim not in (1, 2) or len(matrix) != len(variables):
        raise ArgumentError(f"seeds have shape {matrix.shape}; must be ({len(variables)},) or ({len(variables)}, k)")
    graph = _graph(results, variables)
    columns = matrix if matrix.ndim == 2 else matrix[:, None]
    known: dict[Any, dict[int, Expr]] = {}
    for x, row in zip(variables, columns):
        known[x] = {k: s for k, s in enumerate(map(graph.lift, row)) if not s.is_zero}
    _carry_tangents(results, variables, known)
    table = np.empty((len(results), columns.shape[1]), dtype=object)
    table.fill(graph.constant(0))
    for row, x in zip(table, results):
        for k, slope in known.get(x, {}).items():
            row[k] = slope
    return table.reshape(_shape(exprs) + matrix.shape[1:])


def reverse(exprs: Any, wrt: Any, weights: Any = None) -> np.ndarray:
    """Gradients of weighted sums of results: ``weights @ J``.

    Args:
        exprs: array of expressions and numbers, m of them in all.
        wrt: array of the n expressions to differentiate by, held independent of each other.
        weights: an array of m numbers or expressions, or of shape (k, m); None for each result by itself.

    Returns:
        An object array: k (or, for None, the shape of ``exprs``; nothing for a vector of weights), and the
        shape of ``wrt``.
    """
    results, variables = _flat(exprs), _variables(wrt)
    matrix = np.eye(len(results), dtype=int) if weights is None else np.asarray(weights, dtype=object)
    if matrix.ndim not in (1, 2) or matrix.shape[-1] != len(results):
        raise ArgumentError(f"weights have shape {matrix.shape}; must be ({len(results)},) or (k, {len(results)})")
    graph = _graph(results, variables)
    rows = matrix if matrix.ndim == 2 else matrix[None]
    table = np.empty((len(rows), len(variables)), dtype=object)
    for k, row in enumerate(rows):
        table[k] = _gradient(graph, results, variables, row)
    return table.reshape((_shape(exprs) if weights is None else matrix.shape[:-1]) + _shape(wrt))


def jacobian(exprs: Any, wrt: Any, mode: Mode = "auto") -> np.ndarray:
    """All derivatives of all results.

    Args:
        exprs: array of expressions and numbers.
        wrt: array of the expressions to differentiate by, held independent of each other.
        mode: ``forward``, ``reverse``, or ``auto`` for the one that needs fewer operations; ``forward`` where loops are
            such that the other cannot pass.

    Returns:
        An object array with the shape of ``exprs``, then that of ``wrt``.
    """
    if mode not in ("auto", "forward", "reverse"):
        raise ArgumentError(f"mode is {mode!r}; must be 'auto', 'forward' or 'reverse'")
    shape = _shape(exprs) + _shape(wrt)
    if mode == "forward":
        return forward(exprs, wrt).reshape(shape)
    if mode == "reverse":
        return reverse(exprs, wrt)
    results, variables = _flat(exprs), _variables(wrt)
    _graph(results, variables)
    ahead, back = _estimates(results, variables)
    if ahead > 2 * back:
        return reverse(exprs, wrt)
    if back > 2 * ahead:
        return forward(exprs, wrt).reshape(shape)
    candidates = [forward(exprs, wrt).reshape(shape), reverse(exprs, wrt)]  # too close to call: count
    return min(candidates, key=lambda table: _price([*results, *table.flat]))


def hessian(exprs: Any, wrt: Any) -> np.ndarray:
    """Second derivatives, exactly symmetric: a reverse sweep, then the cheaper mode on its lower triangle.

    Args:
        exprs: one expression or an array of them.
        wrt: array of n expressions to differentiate by, held independent of each other.

    Returns:
        An object array with the shape of ``exprs``, then (n, n).
    """
    results, variables = _flat(exprs), _variables(wrt)
    n = len(variables)
    table = np.empty((len(results), n, n), dtype=object)
    for k, x in enumerate(results):
        second = jacobian(reverse(x, variables), variables)
        for i in range(n):
            for j in range(i + 1):
                table[k, i, j] = table[k, j, i] = second[i, j]
    return table.reshape((*_shape(exprs), n, n))


def differentiate(program: Program, output: str, input: str, mode: Mode = "auto", name: str | None = None) -> Program:
    """The program of a Jacobian.

    Args:
        output: name of the output to differentiate.
        input: name of the input to differentiate by.
        mode: see ``jacobian``.
        name: of the new program, and of its output; by default ``d<output>_d<input>``.

    Returns:
        A program with the same inputs and one output of the shape of ``output``, then that of ``input``.
    """
    require_program(program, "differentiate")
    outputs, inputs = [p.name for p in program.outputs], [p.name for p in program.inputs]
    if output not in outputs or input not in inputs:
        raise ArgumentError(
            f"{program.name} has the inputs {', '.join(inputs)} and the outputs {', '.join(outputs)}; "
            f"cannot differentiate {output!r} by {input!r}"
        )
    graph, variables, results = _traced(program)
    name = f"d{output}_d{input}" if name is None else name
    found = jacobian(results[outputs.index(output)], variables[inputs.index(input)], mode)
    return program_of(graph, {name: found}, name)


def jacobians(program: Program, wrt: Sequence[str], values: bool = True) -> Program:
    """The program of the derivatives of all outputs by several inputs, in one sweep.

    Args:
        wrt: names of the inputs to differentiate by.
        values: whether the outputs themselves come first.

    Returns:
        A program with the same inputs. Its outputs ``d<output>_d<input>`` have the shape of the output, then that of
        the input; all inputs of the first output come first.
    """
    inputs = [port.name for port in require_program(program, "jacobians").inputs]
    ports = derivative_ports(program, wrt)
    graph, variables, results = _traced(program)
    chosen = [variables[inputs.index(name)] for name in wrt]
    every = [x for array in chosen for x in array.flat]
    table = jacobian(np.array([x for array in results for x in array.flat], dtype=object), every)
    found: dict[str, Any] = {port.name: y for port, y in zip(program.outputs, results)} if values else {}
    row, names = 0, iter(ports)
    for y in results:
        column = 0
        for x in chosen:
            port = next(names)
            found[port.name] = table[row : row + y.size, column : column + x.size].reshape(port.shape)
            column += x.size
        row += y.size
    return program_of(graph, found, program.name)


def _traced(program: Program) -> tuple[Graph, list[np.ndarray], list[np.ndarray]]:
    """A program in a graph of its own: the graph, the arrays of its inputs and those of its outputs."""
    graph, values = retrace(program)
    variables = [np.empty(port.shape, dtype=object) for port in program.inputs]
    for number, array in enumerate(variables):
        for element in range(array.size):
            array.flat[element] = graph.node("input", (number, element))
    results = [np.empty(port.shape, dtype=object) for port in program.outputs]
    for array, row in zip(results, output_values(program, values)):
        for element, x in enumerate(row):
            array.flat[element] = x
    return graph, variables, results


def _carry_tangents(results: Sequence[Any], variables: Sequence[Any], known: dict[Any, dict[int, Any]]) -> None:
    """Put the derivatives of all that results need into ``known``, which has those of the variables.

    Those of an array are arrays.
    """
    independent = set(variables)
    own = _elements_by_array(variables)
    ends: dict[Any, tuple[list[dict[int, Any]], list[dict[int, Any]]]] = {}
    for x in _ancestors(results, variables):
        if x in known:
            continue
        if x.op == "loop":
            ends[x] = _loop_tangents(x, known)
        elif x.op == "element":
            known[x] = ends[x.args[0]][0][int(x.value)]
        elif isinstance(x, Memory):
            found = ends[x.args[0]][1][int(x.value)] if x.op == "rows" else _array_tangent(x, known)
            known[x] = _with_elements(x, found, {k: known[e] for k, e in own.get(_key(x), {}).items()})
        else:
            known[x] = _tangent(x, known, independent)


def _array_tangent(x: Memory, known: dict[Any, dict[int, Any]]) -> dict[int, Any]:
    """Derivatives of an array that no loop has emitted."""
    nothing: dict[int, Any] = {}
    if x.op not in ("pack", "write"):
        return nothing
    operands = x.args if x.op == "pack" else x.args[::2]
    graph = x.graph
    result = {}
    for k in sorted(set().union(*(known.get(a, nothing) for a in operands))):
        if x.op == "pack":
            result[k] = graph.pack([known.get(a, nothing).get(k, graph.constant(0)) for a in operands])
        else:
            before, number = (known.get(a, nothing).get(k) for a in operands)
            before = graph.data(np.zeros(x.size)) if before is None else before
            result[k] = RULES["write"](before, x.args[1], graph.constant(0) if number is None else number)
    return result


def _with_elements(x: Memory, along: dict[int, Any], own: dict[int, dict[int, Expr]]) -> dict[int, Any]:
    """Derivatives of an array some of whose elements are variables, from those of the others."""
    if not own:
        return along
    graph = x.graph
    result = {}
    for k in sorted(set(along).union(*own.values())):
        elements = elements_of(along[k]) if k in along else [graph.constant(0)] * x.size
        for place, slopes in own.items():
            elements[place] = slopes.get(k, graph.constant(0))
        result[k] = graph.memory(elements)
    return result


def _key(x: Any) -> Any:
    """By what the elements of an array know it."""
    return int(x.value) if x.op == "table" else x


def _elements_by_array(variables: Sequence[Any]) -> dict[Any, dict[int, Any]]:
    """Which variables are elements of arrays: inputs, by number, and others."""
    found: dict[Any, dict[int, Any]] = {}
    for x in variables:
        if x.op == "input":
            found.setdefault(x.args[0], {})[x.args[1]] = x
        elif x.op == "read" and x.args[1].op == "const":
            found.setdefault(x.args[0], {})[int(x.args[1].value)] = x
    return found


def _tangent(x: Expr, known: dict[Any, dict[int, Expr]], independent: set[Any]) -> dict[int, Expr]:
    """Derivatives of one node along every direction that reaches it."""
    nothing: dict[int, Expr] = {}
    if x.op == "select":
        condition, yes, no = x.args
        a, b = known.get(yes, nothing), known.get(no, nothing)
        return {k: condition.select(a.get(k, 0), b.get(k, 0)) for k in _union(a, b)}
    if x.op in ("min", "max"):
        left, right = x.args
        first = left <= right if x.op == "min" else left >= right
        a, b = known.get(left, nothing), known.get(right, nothing)
        return {k: first.select(a.get(k, 0), b.get(k, 0)) for k in _union(a, b)}
    if x.op == "div" and x.args[1] in known:  # (da - x db) / b, where the local slopes would cost a product more
        r = 1 / x.args[1]
        a, b = known.get(x.args[0], nothing), known[x.args[1]]
        return {k: (a.get(k, 0) - x * b[k]) * r if k in b else a[k] * r for k in _union(a, b)}
    if x.op == "read":
        return {k: RULES["read"](along, x.args[1]) for k, along in known.get(x.args[0], nothing).items()}
    result: dict[int, Expr] = {}
    for operand, slope in _slopes_of(x, known, independent):
        directions = known[operand]
        if not directions:
            continue
        factor = x.graph.lift(slope)
        for k, direction in directions.items():
            term = mul(factor, direction)
            result[k] = add(result[k], term) if k in result else term
    return {k: t for k, t in result.items() if t.op != "const" or t.value != 0}


def _gradient(graph: Graph, results: Sequence[Any], variables: Sequence[Any], weights: Any) -> list[Any]:
    """Derivatives of a weighted sum of results by variables; by an array, the :class:`_ArrayAdjoint` of it."""
    adjoint: dict[Any, _Adjoint] = {}
    arrays: dict[Any, _ArrayAdjoint] = {}

    def accumulate(x: Any, amount: Expr, where: Predicate | None = None) -> None:
        if not amount.is_zero:
            adjoint[x] = adjoint[x].plus(_Adjoint(amount, where)) if x in adjoint else _Adjoint(amount, where)

    def parts(x: Memory) -> _ArrayAdjoint:
        return arrays.setdefault(x, _ArrayAdjoint([], []))

    for x, given in zip(results, weights):
        if isinstance(x, Memory):
            parts(x).whole.append(given)
        else:
            accumulate(x, graph.lift(given))
    independent = set(variables)
    own = _elements_by_array([x for x in variables if not isinstance(x, Memory)])
    order = _ancestors([*adjoint, *arrays], variables)
    active = independent | set(order)
    ends: dict[Any, tuple[dict[int, Expr], dict[int, Memory]]] = {}
    for x in reversed(order):
        if x.op == "loop" and x in ends:
            _loop_gradient(x, *ends[x], active, accumulate, parts)
        if x in independent or (x not in adjoint and x not in arrays):
            continue
        if isinstance(x, Memory):
            amounts = arrays[x].added(x)
            for place, variable in own.get(_key(x), {}).items():
                accumulate(variable, RULES["read"](amounts, graph.constant(place)))
                if x.op != "table":
                    amounts = RULES["write"](amounts, graph.constant(place), graph.constant(0))
            if x.op == "rows":
                ends.setdefault(x.args[0], ({}, {}))[1][int(x.value)] = amounts
            elif x.op == "pack":
                for k, operand in enumerate(x.args):
                    if operand in active:
                        accumulate(operand, RULES["read"](amounts, graph.constant(k)))
            elif x.op == "write":
                before, index, number = x.args
                if number in active:
                    accumulate(number, RULES["read"](amounts, index))
                if before in active:
                    parts(before).whole.append(RULES["write"](amounts, index, graph.constant(0)))
            continue
        if x.op == "element":
            ends.setdefault(x.args[0], ({}, {}))[0][int(x.value)] = adjoint[x].value
            continue
        if x.op == "input":  # an element of an array that is a variable as a whole
            parts(graph.table(x.args[0])).single.append((graph.constant(x.args[1]), adjoint[x].value))
            continue
        if x.op == "read":
            parts(x.args[0]).single.append((x.args[1], adjoint[x].value))
            continue
        amount, where = adjoint[x]
        if x.op in ("select", "min", "max"):
            *condition, first, second = x.args
            test = condition[0] if condition else first <= second if x.op == "min" else first >= second
            for operand, chosen in ((first, test), (second, ~test)):
                if operand in active:
                    accumulate(operand, amount, chosen if where is None else where & chosen)
        else:
            for operand, slope in _slopes_of(x, active, independent):
                accumulate(operand, amount * slope, where)
    return [
        arrays.get(x, _ArrayAdjoint([], []))
        if isinstance(x, Memory)
        else adjoint[x].value
        if x in adjoint
        else graph.constant(0)
        for x in variables
    ]


class _ArrayAdjoint(NamedTuple):
    """What the derivative by an array is a sum of: whole arrays, and numbers that belong to one index each."""

    whole: list[Memory]
    single: list[tuple[Expr, Expr]]

    def added(self, like: Memory, start: Memory | None = None) -> Memory:
        """The sum, added to an array or to none."""
        graph, whole = like.graph, [*([] if start is None else [start]), *self.whole]
        single = self.single
        if not whole:  # what is known to be apart needs no addition
            apart: dict[int, Expr] = {}
            for index, amount in single:
                if index.op == "const":
                    place = int(index.value)
                    apart[place] = apart[place] + amount if place in apart else amount
            single = [(index, amount) for index, amount in single if index.op != "const"]
            whole = [graph.memory([apart.get(k, graph.constant(0)) for k in range(like.size)])]
        total = whole[0]
        for other in whole[1:]:
            total = _sum_of_arrays(graph, total, other)
        for index, amount in single:
            total = RULES["write"](total, index, RULES["read"](total, index) + amount)
        return total


def _sum_of_arrays(graph: Graph, a: Memory, b: Memory) -> Memory:
    inner = Graph()
    inner.input("carried", (0,), True)
    inner.input("held", (0,), True)
    (x,), (y,) = inner.input("a", (1,)), inner.input("b", (1,))
    nothing = np.empty(0, dtype=object)
    step = program_of(inner, {"carried": nothing, "made": np.array([x + y], dtype=object)}, "step")
    return graph.memory(scan_program(graph, Scan(step, a.size, ((0, 1), (0, 1))), [a, b])[1][0])


class _Adjoint(NamedTuple):
    """The derivative of a result by a node: ``amount`` where a predicate holds (None: everywhere), zero elsewhere.

    The predicate says where a branch is chosen. It is applied last: were the amount made zero where it does not hold,
    a slope that is infinite there, such as that of a square root guarded by ``select``, would make NaN of it.
    """

    amount: Expr
    where: Predicate | None

    @property
    def value(self) -> Expr:
        return self.amount if self.where is None else self.where.select(self.amount, 0)

    def plus(self, other: _Adjoint) -> _Adjoint:
        if self.where is other.where:
            return _Adjoint(self.amount + other.amount, self.where)
        if self.where is None or other.where is None:
            return _Adjoint(self.value + other.value, None)
        if other.where is ~self.where:
            return _Adjoint(self.where.select(self.amount, other.amount), None)
        return _Adjoint(self.value + other.value, self.where | other.where)


def _union(a: dict[int, Expr], b: dict[int, Expr]) -> list[int]:
    return sorted(a.keys() | b.keys())


def _shape(array: Any) -> tuple[int, ...]:
    return np.shape(array) if isinstance(array, np.ndarray) else np.array(array, dtype=object).shape


def _flat(exprs: Any) -> list[Any]:
    return list(np.array(exprs, dtype=object).flat)


def _variables(wrt: Any) -> list[Expr]:
    variables = _flat(wrt)
    for x in variables:
        if not isinstance(x, Expr) or x.is_constant:
            raise ArgumentError(f"cannot differentiate by {x!r}: it is a constant, not a traced scalar")
    if len(set(variables)) != len(variables):
        raise ArgumentError("cannot differentiate by the same expression twice")
    return variables


def _graph(results: list[Any], variables: list[Expr]) -> Graph:
    """The common graph; numbers among the results become its constants, in place."""
    graph = next((x.graph for x in (*variables, *results) if isinstance(x, Expr)), None) or Graph()
    for k, x in enumerate(results):
        if isinstance(x, Predicate):
            raise ArgumentError(f"cannot differentiate the truth value {x!r}")
        results[k] = graph.lift(x)
    if graph.calls:
        results[:] = expressions_without_calls(results, variables)
    return graph


# ------------------------------------------------------------------------------------------ slopes of single operations


def _slopes_of(x: Expr, active: Any, independent: Any) -> list[tuple[Expr, Any]]:
    """Operands in ``active`` with the partial derivative of ``x`` by each; an operand may occur twice.

    Args:
        x: the result of an operation that has slopes: not of min, max or select.
        active: the nodes that matter.
        independent: those of them that count as independent of all others.
    """
    op, args = x.op, x.args
    power = _power(x)
    if power is not None and not independent.intersection(power[2]):
        base, exponent, _ = power
        return [(base, exponent * base ** (exponent - 1))] if base in active else []
    if op == "add":
        slopes: tuple[Any, ...] = (1, 1)
    elif op == "sub":
        slopes = (1, -1)
    elif op == "mul":
        slopes = (args[1], args[0])
    elif op == "div":
        r = 1 / args[1]
        slopes = (r, -x * r if args[1] in active else 0)
    elif op == "atan2":
        y, along = args
        r = 1 / (along * along + y * y)
        slopes = (along * r, -y * r)
    else:
        a = args[0]
        slopes = (_UNARY[op](x, a),) if a in active else (0,)
    return [(a, slope) for a, slope in zip(args, slopes) if a in active]


def _power(x: Expr) -> tuple[Expr, float, list[Expr]] | None:
    """Base and exponent of a power whose exponent is not whole, and the operations in between; None for all else."""
    if x.op == "exp":  # exp(p log a)
        (product,) = x.args
        if product.op == "mul" and product.args[0].op == "const" and product.args[1].op == "log":
            return product.args[1].args[0], product.args[0].value, [product, product.args[1]]
    elif x.op == "mul":  # sqrt(a) a^n
        for root, other in (x.args, x.args[::-1]):
            if root.op == "sqrt":
                whole, between = _whole_power(other, root.args[0])
                if whole:
                    return root.args[0], whole + 0.5, [root, *between]
    return None


def _whole_power(x: Expr, base: Expr) -> tuple[int, list[Expr]]:
    """How often the base is a factor of x, and the products in between; zero if there are other factors."""
    count, stack = 0, [x]
    between: list[Expr] = []
    while stack:
        factor = stack.pop()
        if factor is base:
            count += 1
        elif factor.op == "mul" and len(between) < _LONGEST_PRODUCT:
            between.append(factor)
            stack.extend(factor.args)
        else:
            return 0, []
    return count, between


_LONGEST_PRODUCT = 128
"""Products with more factors than this are not looked through."""

_UNARY: dict[str, Any] = {
    "neg": lambda x, a: -1,
    "sqrt": lambda x, a: 1 / (2 * x),
    "sin": lambda x, a: a.cos(),
    "cos": lambda x, a: -a.sin(),
    "tan": lambda x, a: 1 + x * x,
    "exp": lambda x, a: x,
    "log": lambda x, a: 1 / a,
    "abs": lambda x, a: (a < 0).select(-1, 1),
}


# ---------------------------------------------------------------------------------------------------------------- loops


def _scan(x: Any) -> Scan:
    return x.graph.loops[int(x.value)]


def _loop_tangents(x: Any, known: dict[Any, dict[int, Any]]) -> tuple[list[dict[int, Any]], list[dict[int, Any]]]:
    """Derivatives of what a loop ends with, elements and rows, by a loop whose step also does what it does to
    tangents."""
    scan, graph = _scan(x), x.graph
    carried, held, given, tables, stores = scan.split(x.args)
    arrays = [*given, *tables, *stores]
    nothing: dict[int, Any] = {}
    reach = [[set(known.get(a, nothing)) for a in part] for part in (carried, held)]
    reach += [[set(known.get(a, nothing))] for a in arrays]
    first = len(reach) - len(stores)
    while True:  # what is carried is reached by whatever reaches what it is made of
        found = _reached(scan, reach)
        if scan.stops:
            found[0][-1] = set()  # how many steps are left
        moving = [found[0], *found[1 + len(scan.made) :]]
        old = [reach[0], *reach[first:]]
        if all(new <= before for a, b in zip(old, moving) for before, new in zip(a, b)):
            break
        for before, new in zip(old, moving):
            before[:] = [a | b for a, b in zip(before, new)]
    made = [sorted(set().union(*own)) for own in found[1 : 1 + len(scan.made)]]
    directions = [[sorted(own) for own in part] for part in reach]
    if scan.stops:
        directions[0][-1] = []
    last = len(carried) - scan.stops  # what stops the loop stays the last number
    inner = Graph()
    inputs: list[list[Any]] = []
    seeds: dict[Any, dict[int, Any]] = {}
    for k, (port, own) in enumerate(zip(scan.step.inputs[:2], directions)):
        both = list(inner.input(port.name, (port.size + sum(map(len, own)),), True))
        n = last if k == 0 else port.size
        mine = both[:n] + both[len(both) - (port.size - n) :]
        tangents = iter(both[n:])
        inputs.append(mine)
        seeds |= {a: {k: next(tangents) for k in along} for a, along in zip(mine, own) if along}
    for port, (along,) in zip(scan.step.inputs[2:], directions[2:]):
        number = len(inner.inputs)
        elements = list(inner.input(port.name, port.shape))
        slopes = {k: list(inner.input(f"{port.name}_{k}", port.shape)) for k in along}
        inputs.append(elements)
        if along:
            seeds |= {a: {k: slopes[k][e] for k in along} for e, a in enumerate(elements)}
            seeds[inner.table(number)] = {k: inner.table(number + 1 + j) for j, k in enumerate(along)}
    values = interpret(scan.step, inputs, RULES, inner.constant, inner)
    results = output_nodes(scan.step, values)
    _carry_tangents([y for row in results for y in row], list(seeds), seeds)
    zero = inner.constant(0)
    ends = results[0][:last]
    ends += [seeds.get(y, nothing).get(k, zero) for y, along in zip(ends, directions[0]) for k in along]
    outputs: dict[str, Any] = {"carried": np.array([*ends, *results[0][last:]], dtype=object)}
    for j, (row, along) in enumerate(zip(results[1:], made)):
        whole = isinstance(row[0], Memory)
        none = inner.data(np.zeros(row[0].size)) if whole else zero
        slopes_of_row = {k: [seeds.get(y, nothing).get(k, none) for y in row] for k in along}
        for name, own in ((f"made_{j}", row), *((f"made_{j}_{k}", own) for k, own in slopes_of_row.items())):
            outputs[name] = own[0] if whole else np.array(own, dtype=object)
    for j, ((row,), (along,)) in enumerate(zip(results[1 + len(made) :], directions[first:])):
        outputs[f"store_{j}"] = row
        none = inner.data(np.zeros(row.size))
        outputs |= {f"store_{j}_{k}": seeds.get(row, nothing).get(k, none) for k in along}

    def slopes_of(operands: Sequence[Any], along: Sequence[Sequence[int]]) -> list[Any]:
        return [known.get(a, nothing).get(k, graph.constant(0)) for a, own in zip(operands, along) for k in own]

    def with_tangents(operands: Sequence[Any], along: Sequence[Sequence[Sequence[int]]]) -> list[Any]:
        zeros = {a: graph.data(np.zeros(a.size)) for a in operands}
        return [
            y for a, (own,) in zip(operands, along) for y in (a, *(known.get(a, nothing).get(k, zeros[a]) for k in own))
        ]

    places = [place for place, (own,) in zip(scan.given, directions[2:]) for _ in (None, *own)]
    n = 2 + len(given)
    operands = [
        *carried[:last], *slopes_of(carried, directions[0]), *carried[last:], *held, *slopes_of(held, directions[1]),
        *with_tangents(given, directions[2:n]), *with_tangents(tables, directions[n:first]),
        *with_tangents(stores, directions[first:]),
    ]  # fmt: skip
    count = sum(1 + len(own) for (own,) in directions[first:])
    wide = replace(scan, step=program_of(inner, outputs, scan.step.name), given=tuple(places), stores=count)
    numbers, found_arrays = scan_program(graph, wide, operands)
    rest = iter(numbers[last:])
    elements = [{k: next(rest) for k in along} for along in directions[0]]
    rows = iter(found_arrays)
    emitted: list[dict[int, Any]] = []
    for along in (*made, *(own for (own,) in directions[first:])):
        next(rows)
        emitted.append({k: graph.memory(next(rows)) for k in along})
    return [{k: y for k, y in own.items() if not y.is_zero} for own in elements], emitted


def output_nodes(program: Program, values: Sequence[Any]) -> list[list[Any]]:
    """What has become of the nodes that the outputs of a program are."""
    return [[values[k] for k in row] for row in program.results]


def _reached(scan: Scan, reach: list[list[set[int]]]) -> list[list[set[int]]]:
    """Which directions reach each result of a step, from those that reach its inputs: numbers, and whole arrays."""
    sets: list[set[int]] = []
    for op, args, value in scan.step.nodes:
        if op == "input":
            own = reach[args[0]]
            sets.append(own[args[1]] if args[0] < 2 else own[0])
        elif op == "table":
            sets.append(reach[int(value)][0])
        elif op in PREDICATES:
            sets.append(set())
        else:
            sets.append(set().union(*(sets[a] for a in _smooth(op, args))))
    return [[sets[k] for k in row] for row in scan.step.results]


def _smooth(op: str, args: Sequence[Any]) -> Sequence[Any]:
    """The operands by which an operation has derivatives: neither conditions nor indices nor keys of random numbers."""
    if op == "draw":
        return ()
    return args[1:] if op == "select" else args[:1] if op == "read" else args[::2] if op == "write" else args


def _loop_gradient(
    x: Any, weights: dict[int, Expr], rows: dict[int, Memory], active: Any, accumulate: Any, parts: Any
) -> None:
    """Add to the derivatives by the operands of a loop those of a weighted sum of what it ends with.

    Args:
        weights: of its elements, by place.
        rows: weights of the arrays that it ends with, by place.
        active: the nodes that matter.
        accumulate: adds to the derivative by a number.
        parts: of the derivative by an array.
    """
    scan, graph, args = _scan(x), x.graph, list(x.args)
    if scan.every > 1:
        rows = {k: y if k >= len(scan.made) else _every_step(scan, k, y) for k, y in rows.items()}
    size = scan.count * (scan.carried + sum(scan.sizes[len(scan.made) :]))
    if size > CHECKPOINT_NUMBERS and scan.count >= LEAST_CHECKPOINTED:
        numbers, arrays, wanted = _in_segments(graph, replace(scan, every=1), args, rows)
        results = [numbers[k] for k in weights] + arrays
        operands = dict.fromkeys(a for a in args if a in active)
        found = _gradient(graph, results, list(operands), [*weights.values(), *wanted])
        for a, amount in zip(operands, found):
            if isinstance(a, Memory):
                parts(a).whole.extend(amount.whole)
                parts(a).single.extend(amount.single)
            else:
                accumulate(a, amount)
        return
    carried, held, given, tables, stores = scan.split(args)
    n, zero, last = scan.carried, graph.constant(0), len(scan.made)
    fixed = [k for k, a in enumerate(held) if a in active]
    own = [k for k, a in enumerate(given) if a in active]
    still = [k for k, a in enumerate(tables) if a in active]
    kept = [k for k in range(last) if k in rows]
    widths, hold = scan.widths, scan.hold

    inner = Graph()  # of a step backwards, which carries the adjoints of what is carried and sums for what is held
    adjoint = list(
        inner.input("carried", (n + len(fixed) + (1 + sum(widths[k] for k in own) if hold > 1 else 0),), True)
    )
    inputs = [[], list(inner.input("held", (scan.held,), True))]
    inputs[0] = list(inner.input("before", (n,))) if n else []
    inputs += [list(inner.input(f"given_{k}", (width,))) for k, width in enumerate(widths)]
    stored = [list(inner.input(f"store_{k}", (a.size,))) for k, a in enumerate(stores)]
    places = list(range(len(inner.inputs) - len(stores), len(inner.inputs)))
    amounts = {k: list(inner.input(f"weights_{k}", (scan.made[k],))) for k in kept}
    first = len(inner.inputs)
    inputs += [list(inner.input(f"table_{k}", (a.size,))) for k, a in enumerate(tables)]
    sums = []
    for name, a in (*((f"sum_{k}", tables[k]) for k in still), *((f"adjoint_{k}", a) for k, a in enumerate(stores))):
        inner.input(name, (a.size,))
        sums.append(inner.table(len(inner.inputs) - 1))
    values = interpret(scan.step, [*inputs, *stored], RULES, inner.constant, inner)
    found = output_nodes(scan.step, values)
    wishes: list[Any] = [*adjoint[:n], *sums[len(still) :]]
    for k in kept:
        wishes += [inner.memory(amounts[k])] if isinstance(found[1 + k][0], Memory) else amounts[k]
    results = [*found[0], *(y for row in found[1 + last :] for y in row), *(y for k in kept for y in found[1 + k])]
    numbers = [*inputs[0], *(inputs[1][k] for k in fixed), *(y for k in own for y in inputs[2 + k])]
    variables = [*numbers, *(inner.table(first + k) for k in still), *(inner.table(k) for k in places)]
    slopes = _gradient(inner, results, variables, wishes)
    by_rows = slopes[n + len(fixed) : len(numbers)]
    after = [*slopes[:n], *(old + new for old, new in zip(adjoint[n:], slopes[n : n + len(fixed)]))]
    if hold > 1:  # what a row has given to all the steps that it served, when the first of them is reached
        phase, *sofar = adjoint[n + len(fixed) :]
        fresh = phase > hold - 1.5
        by_rows = [fresh.select(0, old) + new for old, new in zip(sofar, by_rows)]
        after += [(phase > 0).select(phase - 1, hold - 1), *by_rows]
    outputs: dict[str, Any] = {"carried": np.array(after, dtype=object)}
    rest = iter(by_rows)
    outputs |= {f"made_{k}": np.array([next(rest) for _ in range(widths[k])], dtype=object) for k in own}
    totals = iter(slopes[len(numbers) :])
    outputs |= {f"sum_{k}": next(totals).added(total, total) for k, total in zip(still, sums)}
    outputs |= {f"adjoint_{k}": next(totals).added(a) for k, a in enumerate(sums[len(still) :])}
    before = _trajectories(graph, scan, args)
    if hold > 1:
        given = [_every_row(graph, scan, k, a) for k, a in enumerate(given)]
        where: tuple[tuple[int, int], ...] = tuple((0, width) for width in widths)
    else:
        where = scan.given
    backwards = Scan(
        program_of(inner, outputs, scan.step.name), scan.count,
        (*([(0, n)] if n else []), *where, *((0, a.size) for a in stores), *((0, scan.made[k]) for k in kept)),
        len(sums), reverse=not scan.reverse,
    )  # fmt: skip
    start = [*(weights.get(k, zero) for k in range(n)), *(zero for _ in fixed)]
    if hold > 1:
        start += [graph.constant((scan.count - 1) % hold), *(zero for _ in sofar)]
    empty = [graph.data(np.zeros(tables[k].size)) for k in still]
    empty += [rows[last + k] if last + k in rows else graph.data(np.zeros(a.size)) for k, a in enumerate(stores)]
    numbers_before, arrays_before = before[: n > 0], before[n > 0 :]
    operands_of = [*start, *held, *numbers_before, *given, *arrays_before, *(rows[k] for k in kept), *tables, *empty]
    ends, made = scan_program(graph, backwards, operands_of)
    for a, amount in (*zip(carried, ends), *((held[k], y) for k, y in zip(fixed, ends[n:]))):
        if a in active:
            accumulate(a, amount)
    given = scan.split(args)[2]
    for k, elements in zip(own, made):
        (begin, stride), width, a = scan.given[k], widths[k], given[k]
        if hold > 1:  # of the steps that a row has served, the first has all
            at = (scan.count - 1 - (scan.read_rows - 1) * hold) * width if scan.reverse else 0
            elements = _copied(graph, graph.memory(elements), at, hold * width, width, scan.read_rows)
        amounts_of = graph.memory(elements)
        if (begin, stride, amounts_of.size) != (0, width, a.size):
            amounts_of = _spread(graph, amounts_of, a, begin, stride, width)
        parts(a).whole.append(amounts_of)
    for a, elements in zip([*(tables[k] for k in still), *stores], made[len(own) :]):
        if a in active:
            parts(a).whole.append(graph.memory(elements))


CHECKPOINT_NUMBERS = 1 << 15
"""Numbers that a loop carries before all its steps together, up to which the reverse derivative keeps them. Beyond, it
keeps those before every so many steps, and goes through these steps again: about as many as their number's root."""

LEAST_CHECKPOINTED = 16
"""Steps from which checkpoints save something."""


def _trajectories(graph: Graph, scan: Scan, operands: Sequence[Any]) -> list[Memory]:
    """What a loop carries before each step, numbers and arrays, by a loop that keeps it."""
    inner = Graph()
    inputs = [list(inner.input(port.name, port.shape, k < 2)) for k, port in enumerate(scan.step.inputs)]
    first = len(inputs) - scan.stores
    values = interpret(scan.step, inputs, RULES, inner.constant, inner)
    found = output_nodes(scan.step, values)
    outputs: dict[str, Any] = {"carried": np.array(found[0], dtype=object)}
    if scan.carried:
        outputs["made"] = np.array(inputs[0], dtype=object)
    outputs |= {f"made_{k}": inner.table(first + k) for k in range(scan.stores)}
    outputs |= {f"store_{k}": row[0] for k, row in enumerate(found[1 + len(scan.made) :])}
    step = program_of(inner, outputs, scan.step.name)
    kept = (scan.carried > 0) + scan.stores
    found_arrays = scan_program(graph, replace(scan, step=step, every=1), operands)[1][:kept]
    return [graph.memory(elements) for elements in found_arrays]


def _loop_of(names: Sequence[tuple[str, int]]) -> tuple[Graph, list[list[Any]]]:
    """A graph for the step of a loop without held numbers, and the elements of its inputs."""
    inner = Graph()
    return inner, [list(inner.input(name, (size,), k < 2)) for k, (name, size) in enumerate(names)]


def _copied(graph: Graph, array: Memory, first: int, stride: int, width: int, count: int) -> list[Any]:
    """The elements of rows of an array, one row after the other."""
    inner, inputs = _loop_of([("carried", 0), ("held", 0), ("row", width)])
    step = program_of(inner, {"carried": np.empty(0, object), "made": np.array(inputs[2], dtype=object)}, "step")
    return scan_program(graph, Scan(step, count, ((first, stride),)), [array])[1][0]


def _spread(graph: Graph, rows: Memory, like: Memory, first: int, stride: int, width: int) -> Memory:
    """An array of zeros to which rows are added where they were read."""
    count = rows.size // width
    inner, inputs = _loop_of([("carried", 1), ("held", 0), ("row", width), ("store", like.size)])
    (at,), row = inputs[0], inputs[2]
    total = inner.table(3)
    for k, x in enumerate(row):
        total = RULES["write"](total, at + k, RULES["read"](total, at + k) + x)
    step = program_of(inner, {"carried": np.array([at + stride], dtype=object), "store": total}, "step")
    operands = [graph.constant(first), rows, graph.data(np.zeros(like.size))]
    return graph.memory(scan_program(graph, Scan(step, count, ((0, width),), 1), operands)[1][0])


def _every_row(graph: Graph, scan: Scan, k: int, array: Memory) -> Memory:
    """The rows that are given to each step, where one row serves several."""
    width = scan.widths[k]
    inner, inputs = _loop_of([("carried", 0), ("held", 0), ("row", width)])
    step = program_of(inner, {"carried": np.empty(0, object), "made": np.array(inputs[2], dtype=object)}, "step")
    copies = Scan(step, scan.count, (scan.given[k],), hold=scan.hold, reverse=scan.reverse)
    return graph.memory(scan_program(graph, copies, [array])[1][0])


def _every_step(scan: Scan, k: int, rows: Memory) -> Memory:
    """Weights of what every step makes, from those of what is emitted: zero where nothing is."""
    width, graph = scan.made[k], rows.graph
    inner, inputs = _loop_of([("carried", 2), ("held", 0), ("rows", rows.size)])
    phase, row = inputs[0]
    due = phase > scan.every - 1.5
    made = [due.select(RULES["read"](inner.table(2), row * width + e), 0) for e in range(width)]
    after = [due.select(0, phase + 1), due.select(row - 1 if scan.reverse else row + 1, row)]
    outputs = {"carried": np.array(after, dtype=object), "made": np.array(made, dtype=object)}
    spread = Scan(program_of(inner, outputs, "step"), scan.count, reverse=scan.reverse)
    operands = [graph.constant(0), graph.constant(scan.emitted - 1 if scan.reverse else 0), rows]
    return graph.memory(scan_program(graph, spread, operands)[1][0])


def _in_segments(
    graph: Graph, scan: Scan, operands: list[Any], rows: dict[int, Memory]
) -> tuple[list[Any], list[Memory], list[Memory]]:
    """The same loop as a loop over segments of it, and one for the steps that are left over: the numbers that it ends
    with, the arrays that it ends with in parts, and the weights of these."""
    if scan.hold > 1:
        carried, held, given, *rest = scan.split(operands)
        given = [_every_row(graph, scan, k, a) for k, a in enumerate(given)]
        scan = replace(scan, hold=1, given=tuple((0, width) for width in scan.widths))
        operands = [*carried, *held, *given, *(a for part in rest for a in part)]
    length = math.isqrt(scan.count)
    segments, tail = divmod(scan.count, length)
    carried, held, given, tables, stores = scan.split(operands)
    base, end = (tail, 0) if scan.reverse else (0, segments * length)  # rows before those of segments, and of the tail
    inner = Graph()
    now = list(inner.input("carried", (scan.carried,), True))
    still = list(inner.input("held", (scan.held,), True))
    blocks, within, taken = [], [], []
    for k, ((first, stride), width) in enumerate(zip(scan.given, scan.widths)):
        reach = stride * (length - 1)
        blocks.append((first + stride * base + min(reach, 0), stride * length))
        within.append((-min(reach, 0), stride))
        inner.input(f"given_{k}", (abs(reach) + width,))
        taken.append(inner.table(len(inner.inputs) - 1))
    for k, a in enumerate((*tables, *stores)):
        inner.input(f"table_{k}", (a.size,))
        taken.append(inner.table(len(inner.inputs) - 1))
    part = replace(scan, count=length, given=tuple(within))
    loop = inner.loop(part, [*now, *still, *taken])
    outputs: dict[str, Any] = {"carried": np.array([inner.element(loop, k) for k in range(scan.carried)], dtype=object)}
    outputs |= {f"made_{k}": inner.rows(loop, k) for k in range(len(scan.sizes))}
    whole = replace(scan, step=program_of(inner, outputs, "segment"), count=segments, given=tuple(blocks))
    main = graph.loop(whole, operands)
    numbers: list[Any] = [graph.element(main, k) for k in range(scan.carried)]
    arrays = [graph.rows(main, k) for k in range(len(scan.sizes))]
    pieces = [(k, arrays[k], base, segments * length) for k in range(len(scan.made))]
    if tail:
        given_left = tuple((first + stride * end, stride) for first, stride in scan.given)
        left = graph.loop(
            replace(scan, count=tail, given=given_left),
            [*numbers, *held, *given, *tables, *arrays[len(scan.made) :]],
        )
        numbers = [graph.element(left, k) for k in range(scan.carried)]
        ends = [graph.rows(left, k) for k in range(len(scan.sizes))]
        pieces += [(k, ends[k], end, tail) for k in range(len(scan.made))]
        arrays = ends
    wanted = [(y, k, at, count) for k, y, at, count in pieces if k in rows]
    weights = [
        graph.memory(_copied(graph, rows[k], at * scan.made[k], scan.made[k], scan.made[k], count))
        for _, k, at, count in wanted
    ]
    stored = [k for k in range(len(scan.made), len(scan.sizes)) if k in rows]
    return numbers, [*(y for y, *_ in wanted), *(arrays[k] for k in stored)], [*weights, *(rows[k] for k in stored)]


# ------------------------------------------------------------------------------------------- what derivatives depend on


def _ancestors(results: Sequence[Any], variables: Sequence[Any]) -> list[Any]:
    """Nodes that results need and that depend on a variable, operands first; variables are not looked into.

    Args:
        variables: nodes of the same graph, held independent of each other.
    """
    independent, seen = set(variables), set()
    stack = list(results)
    while stack:
        x = stack.pop()
        if x not in seen:
            seen.add(x)
            if x not in independent and x.op not in ("input", "const") and x.op not in PREDICATES:
                stack.extend(_smooth(x.op, x.args))
    depends = set(independent)
    homes = set(_elements_by_array([x for x in variables if not isinstance(x, Memory)]))
    tables = {int(x.value) for x in variables if x.op == "table"}
    order = []
    for x in sorted(seen, key=lambda node: node.index):
        found = x in independent or (x.op == "input" and x.args[0] in tables)
        if not found and x.op not in ("input", "const"):
            found = any(a in depends for a in _smooth(x.op, x.args)) or (isinstance(x, Memory) and _key(x) in homes)
        if found:
            depends.add(x)
            order.append(x)
    return order


def _estimates(results: Sequence[Any], variables: Sequence[Any]) -> tuple[int, int]:
    """Rough number of operations of the forward and of the reverse mode, from which node meets which column or row.

    Args:
        results: nodes of a graph, to differentiate.
        variables: nodes of the same graph, to differentiate by.
    """
    order = _ancestors(results, variables)
    own = _elements_by_array(variables)
    reach = {x: 1 << k for k, x in enumerate(variables)}
    for x in order:
        if x not in reach:
            reach[x] = 0
            if isinstance(x, Memory):
                for variable in own.get(_key(x), {}).values():
                    reach[x] |= reach[variable]
            for a in x.args:
                reach[x] |= reach.get(a, 0)
    feeds: dict[Any, int] = {}
    for k, x in enumerate(results):
        feeds[x] = feeds.get(x, 0) | 1 << k
    independent = set(variables)
    ahead = back = 0
    for x in reversed(order):
        if x in independent:
            continue
        active = [a for a in x.args if a in reach]
        if x.op == "loop":
            work = 2 * _scan(x).count * _scan(x).step.executed
            ahead += work * reach[x].bit_count()
            back += 2 * work * feeds.get(x, 0).bit_count()
        products = len(active) if x.op not in ("add", "sub", "neg") else 0
        ahead += (products + len(active) - 1) * reach[x].bit_count()
        back += (products + len(active) - 1) * feeds.get(x, 0).bit_count()
        for a in active:
            feeds[a] = feeds.get(a, 0) | feeds.get(x, 0)
    return ahead, back


def _price(results: Sequence[Any]) -> int:
    """Operations of all that results need, weighted."""
    seen, stack, total = set(), list(results), 0
    while stack:
        x = stack.pop()
        if x not in seen and x.op not in ("input", "const"):
            seen.add(x)
            total += WEIGHTS[x.op]
            if x.op == "loop":
                total += _scan(x).count * weight(_scan(x).step, fused=False)
            stack.extend(x.args)
    return total
