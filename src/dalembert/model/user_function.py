"""A user's own functions in a mechanism - constraints, forces, given motions - called once with traced scalars."""

from __future__ import annotations

import inspect
import uuid
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.scalar import is_number, is_sympy
from dalembert.errors import ArgumentError, DalembertError, ModelError, TracingError, UnsupportedError
from dalembert.model.checks import expect, shown
from dalembert.model.formula import Formula

if TYPE_CHECKING:
    from dalembert.model.mechanism import Mechanism
    from dalembert.tracing.graph import Graph
    from dalembert.tracing.program import Program

ARGUMENTS = {
    "motion": ("t",), "joint-force": ("t",), "position": ("q", "t"), "gravity-field": ("p", "t"),
}  # fmt: skip
"""What the function of a constraint or force element is called with, by kind; others take (q, v, t)."""


def function_digest(mechanism: Mechanism, item: Any) -> str:
    """A name for what the function of a constraint or force element computes: that of the program it is traced to.

    A function that cannot be traced gets a name that nothing else has, so that nothing made of it is found again.

    Args:
        mechanism: gives the layout of q and v.
        item: the constraint or force element.
    """
    from dalembert.tracing.trace import program_of

    arguments = ARGUMENTS.get(item.kind, ("q", "v", "t"))
    try:
        graph, known = function_inputs(mechanism, item.function, arguments)
        value = called(mechanism, item.name, item.function, arguments, known)
        return program_of(graph, {"value": value}, "function").digest
    except DalembertError:
        return uuid.uuid4().hex


def coordinate_symbols(mechanism: Mechanism) -> tuple[list[Any], list[Any], Any]:
    """SymPy symbols of positions, velocities and time, for constraints and forces written with SymPy.

    A joint of one degree lends its name to its position, and ``name_dot`` to its velocity; entry k of a joint of
    several degrees is called ``name_k`` and ``name_dot_k``. Time is ``t``; the point of a gravity field is x, y, z.
    """
    import sympy

    from dalembert.model.mechanism import Mechanism
    from dalembert.model.names import formula_names

    expect(mechanism, Mechanism, "coordinate_symbols, mechanism")
    q, v = ([sympy.Symbol(name, real=True) for name in names] for names in formula_names(mechanism.joints))
    return q, v, sympy.Symbol("t", real=True)


def function_inputs(mechanism: Mechanism, function: Any, ports: tuple[str, ...]) -> tuple[Graph, dict[str, Any]]:
    """A graph and its inputs by name; ``parameters`` comes last, if the user's formula has symbols of the mechanism."""
    from dalembert.tracing.graph import Graph

    graph = Graph()
    shapes: dict[str, tuple[int, ...]] = {
        "q": (mechanism.nq,), "v": (mechanism.nv,), "p": (3,), "t": (), "parameters": (len(mechanism.symbols),),
    }  # fmt: skip
    own = {symbol.name for symbol in mechanism.symbols}
    if isinstance(function, Formula) and own & {symbol.name for symbol in function.symbols}:
        ports = (*ports, "parameters")
    return graph, {port: graph.input(port, shapes[port]) for port in ports}


def called(
    mechanism: Mechanism,
    name: str,
    function: Callable[..., Any] | Formula,
    arguments: tuple[str, ...],
    known: dict[str, Any],
) -> np.ndarray:
    """What the user's function says of traced scalars."""
    if not isinstance(function, Formula):
        _refuse_other_arguments(name, function, arguments)
        from dalembert.tracing.trace import program_of, repeatable

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
    from dalembert.tracing.graph import Expr

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
