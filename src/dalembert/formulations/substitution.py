"""Finished equations over another graph: numbers or expressions in the place of symbols, and pickling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.algebra.rotations import sine_cosine
from dalembert.errors import ArgumentError, SingularityError, UnsupportedError
from dalembert.formulations.equations import DerivationStep, Equations, Lazy
from dalembert.formulations.linear import is_constant
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.scope import Scope
from dalembert.model.checks import expect
from dalembert.model.record import check_scalar, is_finite
from dalembert.tracing.evaluate import inline, interpret, output_values
from dalembert.tracing.graph import Expr
from dalembert.tracing.rules import RULES

PARTS = (
    "mass_matrix", "coriolis", "gravity", "bias", "kinematics", "input_map", "passive", "external",
    "constraint_matrix", "constraint_bias",
)  # fmt: skip


def substituted(equations: Equations, values: Mapping[Any, Any]) -> Equations:
    """The same equations over a new scope, from which the substituted parameters are gone.

    Args:
        values: by symbol, or name of a symbol, a number or SymPy expression.
    """
    old = equations.scope
    wanted = {str(key): value for key, value in expect(values, Mapping, "substitute, values").items()}
    known = {str(symbol) for port, symbols in old.names.items() if port not in old.defined for symbol in symbols}
    if unknown := set(wanted) - known:
        raise ArgumentError(
            f"{equations.name!r} has no symbol {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}"
        )
    for key, value in wanted.items():
        if not is_finite(check_scalar(value, f"substitute, {key}")):
            raise ArgumentError(f"substitute, {key}: expected a finite number or an expression, got {value}")
    scope = Scope()
    for port, symbols in old.names.items():
        if port == "t" and port not in old.parameters:
            scope.clock(symbols[0])
        elif port not in old.parameters:
            scope.input(port, symbols)
        elif str(symbols[0]) not in wanted:
            scope.parameter(symbols[0])
    scope.defined = list(old.defined)
    scope.quaternions = [k for k in old.quaternions if not wanted.keys() & set(map(str, old.names["q"][k : k + 4]))]
    ports = [port for port in ("q", "v", "u", "t") if port not in old.parameters]
    states = [str(symbol) for port in ports for symbol in old.names.get(port, ())]
    scope.fixed = [*old.fixed, *(name for name in states if name in wanted)]

    def entry(port: str, k: int, symbol: Any) -> Any:
        if str(symbol) in wanted:
            return scope.read(wanted[str(symbol)])[()]
        # By symbol: with m gone, the port of m' is called otherwise than it was beside m.
        return scope.parameter(symbol) if port in old.parameters else scope.arrays[port][k]

    arguments = {}
    for port, symbols in old.names.items():
        entries = [entry(port, k, symbol) for k, symbol in enumerate(symbols)]
        arguments[port] = entries[0] if port in (*old.parameters, "t") else np.array(entries, dtype=object)

    def moved(quantity: DerivedQuantity) -> DerivedQuantity:
        for port in quantity.program.inputs:
            if port.name not in arguments:  # declared by an extra that was made only now
                arguments[port.name] = scope.once(port.name, old.names[port.name])
        needed = {port.name: arguments[port.name] for port in quantity.program.inputs}
        lifted = {name: _lifted(scope, value) for name, value in needed.items()}
        result = _called(scope, quantity, lifted) if needed else quantity.values
        return DerivedQuantity(scope, quantity.name, quantity.symbol, plain_numbers(result))

    if old.bounds:
        pairs = np.array([pair for *pair, _ in old.bounds], dtype=object)
        for (x, unit), (*_, limit) in zip(moved(DerivedQuantity(old, "bounds", "", pairs)).values, old.bounds):
            if not is_constant(x):
                scope.bounds.append((x, unit, limit))
            elif is_constant(unit) and not abs(x) * unit <= limit:
                raise SingularityError(f"{equations.name!r}: speeds do not determine velocities at these values")

    def later(name: str) -> Callable[[], DerivedQuantity]:
        return lambda: moved(equations.extras[name])

    parts: dict[str, Any] = {name: getattr(equations, name) for name in PARTS}
    parts = {name: None if part is None else moved(part) for name, part in parts.items()}
    return replace(
        equations,
        scope=scope,
        **parts,
        gravity_field=_in_field(equations, wanted),
        mechanism=_in_mechanism(equations, wanted),
        extras=Lazy({name: later(name) for name in equations.extras}),
        derivation=tuple(
            replace(step, quantities=tuple(moved(q) for q in step.quantities)) for step in equations.derivation
        ),
    )


def _in_field(equations: Equations, wanted: Mapping[str, Any]) -> Any:
    """The field of gravity with values in the place of its symbols."""
    import sympy

    field = equations.gravity_field
    if field is None:
        return None

    def put(x: Any) -> Any:
        x = sympy.sympify(x, strict=True)
        return x.subs({symbol: wanted[symbol.name] for symbol in x.free_symbols if symbol.name in wanted})

    return field.mapped(put)


def _in_mechanism(equations: Equations, wanted: Mapping[str, Any]) -> Any:
    """The mechanism with the same values in the place of its symbols."""
    from dalembert.model.parameters import substitute

    origin = equations.mechanism
    values = {} if origin is None else {s: wanted[s.name] for s in origin.symbols if s.name in wanted}
    return substitute(origin.replace(strict=False), values) if origin is not None and values else origin


def _lifted(scope: Scope, value: Any) -> np.ndarray:
    array = np.array(value, dtype=object)
    result = np.empty(array.shape, dtype=object)
    for place, x in np.ndenumerate(array):
        result[place] = scope.graph.lift(x)
    return result


def _called(scope: Scope, quantity: DerivedQuantity, arguments: Mapping[str, np.ndarray]) -> np.ndarray:
    """The program of a quantity on other scalars; sines and cosines are exact at quarter turns."""
    program = quantity.program
    elements = [list(arguments[port.name].flat) for port in program.inputs]
    values = interpret(program, elements, RULES | {"sin": _turned(0), "cos": _turned(1)}, scope.graph.constant)
    return np.array(output_values(program, values)[0], dtype=object).reshape(quantity.shape)


def _turned(which: int) -> Callable[[Expr], Expr]:
    rule = RULES[("sin", "cos")[which]]
    return lambda x: x.graph.constant(sine_cosine(x.value)[which]) if x.is_constant else rule(x)


def plain_numbers(array: np.ndarray) -> np.ndarray:
    """Constants of the graph as plain numbers.

    Args:
        array: of traced scalars and numbers.
    """
    result = np.empty(array.shape, dtype=object)
    for place, x in np.ndenumerate(array):
        result[place] = x.value if getattr(x, "is_constant", False) else x
    return result


# ------------------------------------------------------------------------------------------------------------ pickling


FIELDS = ("name", "method", "sources", "omitted", "include", "gravity_field", "reference", "driven", "mechanism")


def stored(equations: Equations) -> dict[str, Any]:
    """Plain data from which :func:`restored` makes the same equations; extras that are still missing are made now."""
    extras: dict[str, Any] = {}
    for name in equations.extras:
        try:
            extras[name] = equations.extras[name]
        except UnsupportedError as error:
            extras[name] = str(error)
    plan = {
        "parts": {name: part for name in PARTS if (part := getattr(equations, name)) is not None},
        "extras": extras,
        "steps": [(step.title, step.text, step.quantities, step.formula) for step in equations.derivation],
    }
    scope, found = equations.scope, list(_quantities(plan))
    return {
        "fields": {name: getattr(equations, name) for name in FIELDS},
        "names": scope.names,
        "parameters": scope.parameters,
        "quaternions": scope.quaternions,
        "defined": scope.defined,
        "fixed": scope.fixed,
        "bounds": [limit for *_, limit in scope.bounds],
        "program": scope.program(
            {str(k): quantity.values for k, quantity in enumerate(found)}
            | {"bounds": [x for x, *_ in scope.bounds], "units": [unit for _, unit, _ in scope.bounds]},
            "equations",
        ),
        "plan": _replaced(plan, iter([(q.name, q.symbol, k) for k, q in enumerate(found)])),
    }


def restored(data: dict[str, Any]) -> Equations:
    """The equations that :func:`stored` describes."""
    scope = Scope()
    for port, symbols in data["names"].items():
        if port in data["parameters"]:
            scope.parameter(symbols[0])
        elif port == "t":
            scope.clock(symbols[0])
        else:
            scope.input(port, symbols)
    scope.quaternions, scope.fixed = list(data["quaternions"]), list(data["fixed"])
    scope.defined = list(data["defined"])
    program = data["program"]
    values = inline(
        program, {p.name: scope.arrays[p.name] if p.shape else scope.arrays[p.name][0] for p in program.inputs}
    )
    scope.bounds = list(zip(values["bounds"], values["units"], data["bounds"]))
    made = (DerivedQuantity(scope, name, symbol, plain_numbers(np.array(values[str(k)], dtype=object)))
            for name, symbol, k in _quantities(data["plan"]))  # fmt: skip
    plan = _replaced(data["plan"], made)

    def maker(extra: DerivedQuantity | str) -> Callable[[], DerivedQuantity]:
        def make() -> DerivedQuantity:
            if isinstance(extra, str):
                raise UnsupportedError(extra)
            return extra

        return make

    return Equations(
        **data["fields"], **plan["parts"], scope=scope,
        extras=Lazy({name: maker(extra) for name, extra in plan["extras"].items()}),
        derivation=tuple(DerivationStep(*step) for step in plan["steps"]),
    )  # fmt: skip


def _quantities(plan: dict[str, Any]) -> Iterator[Any]:
    """Everything in a plan that is, or stands for, a quantity, in order."""
    yield from plan["parts"].values()
    yield from (extra for extra in plan["extras"].values() if not isinstance(extra, str))
    for _, _, quantities, _ in plan["steps"]:
        yield from quantities


def _replaced(plan: dict[str, Any], others: Iterator[Any]) -> dict[str, Any]:
    """The plan with others, in that order, in the place of its quantities."""
    return {
        "parts": {name: next(others) for name in plan["parts"]},
        "extras": {name: x if isinstance(x, str) else next(others) for name, x in plan["extras"].items()},
        "steps": [
            (title, text, tuple(next(others) for _ in quantities), formula)
            for title, text, quantities, formula in plan["steps"]
        ],
    }
