"""A user's own constraints and functions of time: traced once, differentiated exactly, usable on any scalar."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np

from dalembert.algebra.scalar import is_number, is_sympy, is_zero
from dalembert.errors import ArgumentError, ModelError, TracingError, UnsupportedError
from dalembert.kinematics import position_rate
from dalembert.model import Mechanism
from dalembert.model.checks import expect, shown
from dalembert.model.formula import Formula
from dalembert.model.names import formula_names
from dalembert.tracing.derivatives import forward
from dalembert.tracing.evaluate import evaluate, inline
from dalembert.tracing.graph import Expr, Graph
from dalembert.tracing.program import Program
from dalembert.tracing.trace import program_of, repeatable

SPREADS = (1.0,) * 4 + (10.0,) * 4 + (100.0,) * 4
"""Of the random states at which linearity is judged; the wide ones where a law is not defined at the others."""


def coordinate_symbols(mechanism: Mechanism) -> tuple[list[Any], list[Any], Any]:
    """SymPy symbols of positions, velocities and time, for constraints and forces written with SymPy.

    A joint of one degree lends its name to its position, and ``name_dot`` to its velocity; entry k of a joint of
    several degrees is called ``name_k`` and ``name_dot_k``. Time is ``t``; the point of a gravity field is x, y, z.
    """
    import sympy

    expect(mechanism, Mechanism, "coordinate_symbols, mechanism")
    q, v = ([sympy.Symbol(name, real=True) for name in names] for names in formula_names(mechanism.joints))
    return q, v, sympy.Symbol("t", real=True)


def position_program(mechanism: Mechanism, name: str, function: Any) -> Program:
    """phi, G, rate and gamma of phi(q, t) = 0 as a program of q, v, t.

    Args:
        mechanism: gives the layout of q and v.
        name: of the constraint, for messages.
        function: of (q, t), or a Formula.
    """
    graph, known = _inputs(mechanism, function, ("q", "v", "t"))
    q, v, t = known["q"], known["v"], known["t"]
    phi = _called(mechanism, name, function, ("q", "t"), known)
    residual = forward(phi, [*q, t], [*position_rate(mechanism.tree, q, v), 1])
    return _rows(mechanism, graph, known, phi, residual)


def velocity_program(mechanism: Mechanism, name: str, function: Any) -> Program:
    """The same for a function of (q, v, t) that is linear in v and must be zero; ModelError if it is not linear.

    Args:
        mechanism: gives the layout of q and v.
        name: of the constraint, for messages.
        function: of (q, v, t), or a Formula.
    """
    graph, known = _inputs(mechanism, function, ("q", "v", "t"))
    residual = _called(mechanism, name, function, ("q", "v", "t"), known)
    _refuse_nonlinear(mechanism, name, function, graph, known, residual)
    return _rows(mechanism, graph, known, np.zeros(len(residual), dtype=object), residual)


def time_program(mechanism: Mechanism, name: str, function: Any) -> Program:
    """f, f' and f'' of a function of time.

    Args:
        mechanism: gives the symbols that a Formula may contain.
        name: of the constraint or force, for messages.
        function: of t, or a Formula in t.
    """
    graph, known = _inputs(mechanism, function, ("t",))
    t = known["t"]
    value = _called(mechanism, name, function, ("t",), known)
    if value.shape != (1,):
        raise ModelError(f"{name!r}: the function of time must return one scalar, got shape {value.shape}")
    first = forward(value, [t], [1])
    second = forward(first, [t], [1])
    return program_of(graph, {"f": value[0], "rate": first[0], "acceleration": second[0]}, "motion")


def vector_program(
    mechanism: Mechanism, name: str, function: Any, count: int, inputs: tuple[str, ...] = ("q", "v", "t")
) -> Program:
    """A user's force with a fixed number of components as a program of q, v, t (or p, t).

    Args:
        mechanism: gives the layout of q and v.
        name: of the force, for messages.
        function: of the inputs, or a Formula.
        count: how many components it must return.
        inputs: names among q, v, p (a point, three components) and t.
    """
    graph, arrays = _inputs(mechanism, function, inputs)
    value = _called(mechanism, name, function, inputs, arrays)
    if len(value) != count:
        raise ModelError(f"{name!r}: the function must return {count} components, got {len(value)}")
    outputs = {"value": value}
    if "p" in inputs:
        outputs["gradient"] = forward(value, arrays["p"])
        outputs["second"] = forward(outputs["gradient"], arrays["p"])
    return program_of(graph, outputs, "force")


# ----------------------------------------------------------------------------------------------------------- internals


def _inputs(mechanism: Mechanism, function: Any, ports: tuple[str, ...]) -> tuple[Graph, dict[str, Any]]:
    """A graph and its inputs by name; ``parameters`` comes last, if the user's formula has symbols of the mechanism."""
    graph = Graph()
    shapes: dict[str, tuple[int, ...]] = {
        "q": (mechanism.nq,), "v": (mechanism.nv,), "p": (3,), "t": (), "parameters": (len(mechanism.symbols),),
    }  # fmt: skip
    own = {symbol.name for symbol in mechanism.symbols}
    if isinstance(function, Formula) and own & {symbol.name for symbol in function.symbols}:
        ports = (*ports, "parameters")
    return graph, {port: graph.input(port, shapes[port]) for port in ports}


def _called(
    mechanism: Mechanism,
    name: str,
    function: Callable[..., Any] | Formula,
    arguments: tuple[str, ...],
    known: dict[str, Any],
) -> np.ndarray:
    """What the user's function says of traced scalars."""
    if not isinstance(function, Formula):
        _refuse_other_arguments(name, function, arguments)
        graph = known[arguments[-1]].graph
        answers: list[np.ndarray] = []

        def traced() -> Program:
            answers.append(_answered(name, function, [known[port] for port in arguments]))
            return program_of(graph, {"answer": answers[-1]})

        repeatable(
            traced,
            f"the function of {name!r}",
            ", ".join(arguments),
            "a force that is random or remembers what was is a control: simulate(..., control=) takes any function",
        )
        return answers[0]
    q, v, t = coordinate_symbols(mechanism)
    names = {"q": [s.name for s in q], "v": [s.name for s in v], "t": [t.name], "p": list("xyz")}
    table: dict[str, Any] = {}
    for port in arguments:
        table |= dict(zip(names[port], np.atleast_1d(np.array(known[port], dtype=object))))
    own = [symbol.name for symbol in mechanism.symbols]
    meanings = Counter(chain(own, *(names[port] for port in arguments)))
    twice = sorted({s.name for s in function.symbols if meanings[s.name] > 1})
    if twice:
        raise ModelError(
            f"{name!r}: {', '.join(twice)} has two meanings in {mechanism.name!r}: a position lends the name of its "
            "joint, a velocity that with _dot, time is t, and symbols have theirs; rename the joint or the symbol, or "
            f"give a Python function of ({', '.join(arguments)})"
        )
    return _from_formula(function, name, table | dict(zip(own, known.get("parameters", ()))))


def _answered(name: str, function: Callable[..., Any], arguments: list[Any]) -> np.ndarray:
    """What a user's function returns: a scalar or a sequence of scalars, or else an error that names its owner."""
    try:
        answer = function(*arguments)
    except (TracingError, UnsupportedError, ArgumentError) as error:
        raise type(error)(f"{name!r}: {error}") from error
    except Exception as error:
        raise ModelError(
            f"{name!r}: its function raised {type(error).__name__}: {error}. It is called once with traced scalars, "
            "not numbers; it must do with arithmetic and the functions of dalembert.algebra.scalar (np.sin and such "
            "call them), and parameters that are SymPy symbols belong into a SymPy expression instead"
        ) from error
    try:
        value = np.atleast_1d(np.array(answer, dtype=object))
    except ValueError:
        value = np.array([[answer]], dtype=object)
    if value.ndim != 1 or not value.size or not all(isinstance(x, Expr) or is_number(x) for x in value):
        raise ModelError(f"{name!r}: the function must return a scalar or a sequence of scalars, got {shown(answer)}")
    return value


def _refuse_other_arguments(name: str, function: Callable[..., Any], wanted: tuple[str, ...]) -> None:
    try:
        inspect.signature(function).bind(*wanted)
    except TypeError:
        raise ModelError(f"{name!r}: the function must take the arguments ({', '.join(wanted)})") from None
    except ValueError:
        return  # built in: its signature is unknown


def _from_formula(formula: Formula, name: str, table: dict[str, Any]) -> np.ndarray:
    """SymPy expressions on traced scalars; symbols are recognised by their names, whatever their assumptions."""
    from dalembert.tracing.sympy import from_sympy

    symbols = formula.symbols
    unknown = sorted(s.name for s in symbols if s.name not in table)
    if unknown:
        raise ArgumentError(
            f"{name!r}: {', '.join(unknown)} cannot occur here; known are {', '.join(table)} (see coordinate_symbols)"
        )
    known = {s: table[s.name] for s in symbols}
    values = [from_sympy(x, known) if is_sympy(x) and x.free_symbols else float(x) for x in formula.expressions]
    return np.array(values, dtype=object)


def _rows(mechanism: Mechanism, graph: Graph, known: dict[str, Any], phi: np.ndarray, residual: np.ndarray) -> Program:
    """From the residual r = G v - rate: G = dr/dv, rate = -r(v = 0) and, with accelerations zero, gamma = -dr/dt."""
    q, v, t = known["q"], known["v"], known["t"]
    G = forward(residual, v)
    at_rest = program_of(graph, {"r": residual}, "residual")
    still = inline(at_rest, known | {"v": [graph.constant(0)] * len(v)})["r"]
    gamma = forward(residual, [*q, t], [*position_rate(mechanism.tree, q, v), 1])
    return program_of(graph, {"phi": phi, "G": G, "rate": -still, "gamma": -gamma}, "constraint")


def _refuse_nonlinear(
    mechanism: Mechanism, name: str, function: Any, graph: Graph, known: dict[str, Any], residual: np.ndarray
) -> None:
    """Derivatives by v must not depend on v; evaluated at random states, since zeros may be hidden.

    Second derivatives see powers and products. Reversed velocities see what is linear piece by piece: |v|, max(v, 0).
    """
    v = known["v"]
    first = forward(residual, v)
    for k, row in enumerate(first):
        if all(is_zero(x) for x in row):
            raise ModelError(
                f"constraint {name!r}, row {k}: no velocity occurs in it; a law on positions is a 'position'"
            )
    second = forward(first, v)
    program = program_of(graph, {"first": first, "second": second}, "second")
    rng = np.random.default_rng(0)
    worst, bends, rounding = np.zeros(second.shape), np.zeros(second.shape), 1e-12
    defined = np.zeros(second.shape, dtype=bool)
    for spread in SPREADS:
        if defined.all() and spread > 1:
            break
        inputs = {port.name: spread * rng.normal(size=port.shape) for port in program.inputs}
        found = evaluate(program, inputs)
        defined |= np.isfinite(found["second"])
        back = evaluate(program, inputs | ({"v": -inputs["v"]} if "v" in inputs else {}))
        worst = np.maximum(worst, np.abs(np.nan_to_num(found["second"])))
        rounding = max(rounding, 1e-12 * float(np.abs(np.nan_to_num(found["first"])).max()))
        change = np.abs(np.nan_to_num(found["first"] - back["first"]))
        bends = np.maximum(bends, change[:, :, None] * np.eye(len(v)))
    worst[~defined] = np.inf  # defined nowhere that was tried, and not zero by its form
    if worst.max(initial=0) < rounding:
        worst = bends
    if worst.max(initial=0) < rounding:
        return
    row, i, j = (int(k) for k in np.unravel_index(worst.argmax(), worst.shape))
    names = [symbol.name for symbol in coordinate_symbols(mechanism)[1]]
    if isinstance(function, Formula):
        expression = function.expressions[row]
    else:
        q_symbols, v_symbols, t = coordinate_symbols(mechanism)
        whole = program_of(graph, {"r": residual}, "residual")
        expression = inline(whole, {"q": q_symbols, "v": v_symbols, "t": t})["r"][row]
    term = nonlinear_term(expression, (names[i], names[j]))
    raise ModelError(
        f"constraint {name!r}, row {row}: the term {term} is not linear in the velocities. Constraints on velocities "
        "must be A(q, t) v = b(q, t); a law that is not linear needs a control force instead"
    )


def nonlinear_term(expression: Any, names: tuple[str, str]) -> Any:
    """The additive term of a SymPy expression in which two velocities multiply, or one occurs in any other way.

    Args:
        names: of the two velocities, or twice the same.
    """
    import sympy

    symbols = {s.name: s for s in expression.free_symbols}
    pair = [symbols[name] for name in names if name in symbols]
    for term in sympy.Add.make_args(sympy.expand(expression)):
        if pair and sympy.diff(term, *(pair * 2)[:2]) != 0:
            return term
    return expression
