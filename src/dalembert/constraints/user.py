"""A user's own constraints and functions of time: traced once, differentiated exactly, usable on any scalar."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra.scalar import is_zero
from dalembert.errors import ModelError
from dalembert.kinematics import position_rate
from dalembert.model import Mechanism
from dalembert.model.formula import Formula
from dalembert.model.user_function import called, coordinate_symbols, function_inputs
from dalembert.tracing.derivatives import forward
from dalembert.tracing.evaluate import evaluate, inline
from dalembert.tracing.graph import Graph
from dalembert.tracing.program import Program
from dalembert.tracing.trace import program_of

SPREADS = (1.0,) * 4 + (10.0,) * 4 + (100.0,) * 4
"""Of the random states at which linearity is judged; the wide ones where a law is not defined at the others."""


def position_program(mechanism: Mechanism, name: str, function: Any) -> Program:
    """phi, G, rate and gamma of phi(q, t) = 0 as a program of q, v, t.

    Args:
        mechanism: gives the layout of q and v.
        name: of the constraint, for messages.
        function: of (q, t), or a Formula.
    """
    graph, known = function_inputs(mechanism, function, ("q", "v", "t"))
    q, v, t = known["q"], known["v"], known["t"]
    phi = called(mechanism, name, function, ("q", "t"), known)
    residual = forward(phi, [*q, t], [*position_rate(mechanism.tree, q, v), 1])
    return _rows(mechanism, graph, known, phi, residual)


def velocity_program(mechanism: Mechanism, name: str, function: Any) -> Program:
    """The same for a function of (q, v, t) that is linear in v and must be zero; ModelError if it is not linear.

    Args:
        mechanism: gives the layout of q and v.
        name: of the constraint, for messages.
        function: of (q, v, t), or a Formula.
    """
    graph, known = function_inputs(mechanism, function, ("q", "v", "t"))
    residual = called(mechanism, name, function, ("q", "v", "t"), known)
    _refuse_nonlinear(mechanism, name, function, graph, known, residual)
    return _rows(mechanism, graph, known, np.zeros(len(residual), dtype=object), residual)


def time_program(mechanism: Mechanism, name: str, function: Any) -> Program:
    """f, f' and f'' of a function of time.

    Args:
        mechanism: gives the symbols that a Formula may contain.
        name: of the constraint or force, for messages.
        function: of t, or a Formula in t.
    """
    graph, known = function_inputs(mechanism, function, ("t",))
    t = known["t"]
    value = called(mechanism, name, function, ("t",), known)
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
    graph, arrays = function_inputs(mechanism, function, inputs)
    value = called(mechanism, name, function, inputs, arrays)
    if len(value) != count:
        raise ModelError(f"{name!r}: the function must return {count} components, got {len(value)}")
    outputs = {"value": value}
    if "p" in inputs:
        outputs["gradient"] = forward(value, arrays["p"])
        outputs["second"] = forward(outputs["gradient"], arrays["p"])
    return program_of(graph, outputs, "force")


# ----------------------------------------------------------------------------------------------------------- internals


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
