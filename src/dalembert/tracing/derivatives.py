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

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.tracing.calls import expressions_without_calls
from dalembert.tracing.cost import WEIGHTS, weight
from dalembert.tracing.evaluate import interpret
from dalembert.tracing.graph import Expr, Graph, Predicate
from dalembert.tracing.loops import repeat_program
from dalembert.tracing.program import PREDICATES, Program, Repetition, derivative_ports, require_program
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
        mode: ``forward``, ``reverse``, or ``auto`` for the one that needs fewer operations.

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
    for array, indices in zip(results, program.results):
        for element, k in enumerate(indices):
            array.flat[element] = values[k]
    return graph, variables, results


def _carry_tangents(results: Sequence[Any], variables: Sequence[Any], known: dict[Any, dict[int, Expr]]) -> None:
    """Put the derivatives of all that results need into ``known``, which has those of the variables."""
    independent = set(variables)
    ends: dict[Any, list[dict[int, Expr]]] = {}
    for x in _ancestors(results, variables):
        if x in known:
            continue
        if x.op == "loop":
            ends[x] = _loop_tangents(x, known)
        elif x.op == "element":
            known[x] = ends[x.args[0]][int(x.value)]
        else:
            known[x] = _tangent(x, known, independent)


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


def _gradient(graph: Graph, results: Sequence[Any], variables: Sequence[Any], weights: Any) -> list[Expr]:
    adjoint: dict[Any, _Adjoint] = {}

    def accumulate(x: Any, amount: Expr, where: Predicate | None = None) -> None:
        if not amount.is_zero:
            adjoint[x] = adjoint[x].plus(_Adjoint(amount, where)) if x in adjoint else _Adjoint(amount, where)

    for x, given in zip(results, weights):
        accumulate(x, graph.lift(given))
    independent = set(variables)
    order = _ancestors(list(adjoint), variables)
    active = independent | set(order)
    ends: dict[Any, dict[int, Expr]] = {}
    for x in reversed(order):
        if x.op == "loop" and x in ends:
            for operand, amount in _loop_gradient(x, ends[x], active):
                accumulate(operand, amount)
        if x in independent or x not in adjoint:
            continue
        if x.op == "element":
            ends.setdefault(x.args[0], {})[int(x.value)] = adjoint[x].value
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
    return [adjoint[x].value if x in adjoint else graph.constant(0) for x in variables]


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


def _repetition(x: Any) -> Repetition:
    return x.graph.loops[int(x.value)]


def _operands(x: Any) -> tuple[list[Any], list[Any], list[list[Any]]]:
    """What a loop carries at the start, what it holds, and what is given to each step."""
    loop = _repetition(x)
    held, given = loop.carried, loop.carried + loop.held  # where they begin
    rows = [list(x.args[given + s * loop.given : given + (s + 1) * loop.given]) for s in range(loop.count)]
    return list(x.args[:held]), list(x.args[held:given]), rows


def _loop_tangents(x: Any, known: dict[Any, dict[int, Expr]]) -> list[dict[int, Expr]]:
    """Derivatives of each element of a loop, by a loop whose step also does what it does to tangents."""
    loop, graph = _repetition(x), x.graph
    carried, held, given = _operands(x)
    nothing: dict[int, Expr] = {}
    reach = [[set(known.get(a, nothing)) for a in carried], [set(known.get(a, nothing)) for a in held]]
    reach.append([set().union(*(known.get(row[k], nothing) for row in given)) for k in range(loop.given)])
    while True:  # what is carried is reached by whatever reaches what it is made of
        found = _reached(loop.step, reach)
        if all(new <= old for old, new in zip(reach[0], found[0])):
            break
        reach[0] = [old | new for old, new in zip(reach[0], found[0])]
    found[0] = reach[0]
    directions = [[sorted(own) for own in part] for part in reach]
    inner = Graph()
    inputs, seeds = [], {}
    for port, own in zip(loop.step.inputs, directions):
        both = list(inner.input(port.name, (port.size + sum(map(len, own)),)))
        tangents = iter(both[port.size :])
        inputs.append(both[: port.size])
        for a, along in zip(both, own):
            seeds[a] = {k: next(tangents) for k in along}
    values = interpret(loop.step, inputs, RULES, inner.constant, inner.loop)
    variables = [a for a, own in seeds.items() if own]
    results = [[values[k] for k in row] for row in loop.step.results]
    _carry_tangents([*results[0], *results[1]], variables, seeds)
    zero = inner.constant(0)
    outputs = {}
    for port, row, reached in zip(loop.step.outputs, results, found):
        slopes = [seeds.get(y, nothing).get(k, zero) for y, along in zip(row, reached) for k in sorted(along)]
        outputs[port.name] = np.array([*row, *slopes], dtype=object)

    def with_tangents(operands: list[Any], along: list[list[int]]) -> list[Any]:
        slopes = [known.get(a, nothing).get(k, graph.constant(0)) for a, own in zip(operands, along) for k in own]
        return [*operands, *slopes]

    ends, made = repeat_program(
        graph, program_of(inner, outputs, loop.step.name), with_tangents(carried, directions[0]),
        with_tangents(held, directions[1]), [with_tangents(row, directions[2]) for row in given],
    )  # fmt: skip
    elements: list[dict[int, Expr]] = []
    for row, reached in ((ends, found[0]), *((row, found[1]) for row in made)):
        rest = iter(row[len(reached) :])
        elements += [{k: slope for k, slope in zip(sorted(along), rest) if not slope.is_zero} for along in reached]
    return elements


def _reached(step: Program, reach: list[list[set[int]]]) -> list[list[set[int]]]:
    """Which directions reach each result of a step, from those that reach its inputs."""
    sets: list[set[int]] = []
    for op, args, _ in step.nodes:
        if op == "input":
            sets.append(reach[args[0]][args[1]])
        else:
            sets.append(set().union(*(sets[a] for a in args)) if op not in PREDICATES else set())
    return [[sets[k] for k in row] for row in step.results]


def _loop_gradient(x: Any, weights: dict[int, Expr], active: Any) -> list[tuple[Any, Expr]]:
    """Operands of a loop with the derivative of a weighted sum of its elements by each.

    Args:
        weights: of its elements, by place.
        active: the nodes that matter.
    """
    loop, graph = _repetition(x), x.graph
    carried, held, given = _operands(x)
    n, zero = loop.carried, graph.constant(0)
    before = _trajectory(x) if n else [[] for _ in given]
    taken = [weights.get(k, zero) for k in range(n)]
    kept = [[weights.get(n + s * loop.made + k, zero) for k in range(loop.made)] for s in range(loop.count)]
    fixed = [k for k, a in enumerate(held) if a in active]
    own = [k for k in range(loop.given) if any(row[k] in active for row in given)]

    inner = Graph()  # of a step backwards, which carries the adjoints of what is carried and sums for what is held
    adjoint = list(inner.input("carried", (n + len(fixed),)))
    still = list(inner.input("held", (loop.held,)))
    rows = list(inner.input("given", (n + loop.given + loop.made,)))
    at, row = rows[:n], rows[n : n + loop.given]
    values = interpret(loop.step, [at, still, row], RULES, inner.constant, inner.loop)
    results = [values[k] for part in loop.step.results for k in part]
    variables = [*at, *(still[k] for k in fixed), *(row[k] for k in own)]
    slopes = _gradient(inner, results, variables, [*adjoint[:n], *rows[n + loop.given :]])
    sums = [old + new for old, new in zip(adjoint[n:], slopes[n:])]
    outputs = {"carried": [*slopes[:n], *sums], "made": slopes[n + len(fixed) :]}
    backwards = program_of(inner, {name: np.array(y, dtype=object) for name, y in outputs.items()}, loop.step.name)
    ends, made = repeat_program(
        graph, backwards, [*taken, *(zero for _ in fixed)], held,
        [[*before[s], *given[s], *kept[s]] for s in reversed(range(loop.count))],
    )  # fmt: skip
    found = [*zip(carried, ends[:n]), *((held[k], amount) for k, amount in zip(fixed, ends[n:]))]
    for s, amounts in zip(reversed(range(loop.count)), made):
        found += [(given[s][k], amount) for k, amount in zip(own, amounts)]
    return [(operand, amount) for operand, amount in found if operand in active]


def _trajectory(x: Any) -> list[list[Any]]:
    """What a loop carries before each step, by a loop that keeps it."""
    loop = _repetition(x)
    inner = Graph()
    inputs = [list(inner.input(port.name, port.shape)) for port in loop.step.inputs]
    values = interpret(loop.step, inputs, RULES, inner.constant, inner.loop)
    ends = np.array([values[k] for k in loop.step.results[0]], dtype=object)
    step = program_of(inner, {"carried": ends, "made": np.array(inputs[0], dtype=object)}, loop.step.name)
    return repeat_program(x.graph, step, *_operands(x))[1]


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
                stack.extend(x.args[1:] if x.op == "select" else x.args)
    depends = set(independent)
    order = []
    for x in sorted(seen, key=lambda node: node.index):
        if x in independent:
            order.append(x)
        elif x.op not in ("input", "const") and any(a in depends for a in x.args):
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
    reach = {x: 1 << k for k, x in enumerate(variables)}
    for x in order:
        if x not in reach:
            reach[x] = 0
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
            work = 2 * _repetition(x).count * _repetition(x).step.executed
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
                total += _repetition(x).count * weight(_repetition(x).step, fused=False)
            stack.extend(x.args)
    return total
