"""Equations of motion from a Lagrangian that the user writes down.

L(q, qdot, t) ,   d/dt(dL/dqdot) - dL/dq = Q          M = d2L/dqdot2 ,  M qddot + c + g = Q
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.errors import ArgumentError
from dalembert.formulations.equations import DerivationStep, Equations, Lazy
from dalembert.formulations.pfaffian import rate_by_another_name
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.scope import Scope, with_inputs
from dalembert.model.checks import expect, expect_items, shown
from dalembert.model.names import rate_name
from dalembert.tracing.derivatives import forward, hessian, reverse


def from_lagrangian(
    lagrangian: Any,
    q: Sequence[Any],
    qdot: Sequence[Any] | None = None,
    forces: Sequence[Any] | None = None,
    t: Any = None,
    *,
    dissipation: Any = 0,
    name: str = "system",
) -> Equations:
    """Equations of motion of a Lagrangian.

    Args:
        lagrangian: SymPy expression in coordinates, rates, time and parameters.
        q: coordinates: symbols, or functions of time such as SymPy's dynamic symbols.
        qdot: their rates, in the same order; if left out, for functions of time their derivatives, for symbols those
            called like them with ``dot``: ``thetadot`` for ``theta``, ``x1dot`` or ``xdot1`` for ``x1``.
        forces: generalised forces Q, one for each coordinate; they may depend on everything. Functions of time that
            are no coordinates, F(t), become parameters of the same name.
        t: the symbol of time, if something depends on it explicitly; known where coordinates are functions of it.
        dissipation: Rayleigh's function R(q, qdot); gives the forces -dR/dqdot.
        name: for display.
    """
    expect(name, str, "from_lagrangian, name")
    given = _checked(lagrangian, q, qdot, forces, t, dissipation)
    scope = Scope()
    x, v = scope.input("q", given.q), scope.input("v", given.qdot)
    clock = [scope.clock(given.time)] if given.time is not None else []
    L = _scalar(scope, given.lagrangian)
    P = reverse(L, v)  # momenta
    bias = forward(P, [*x, *clock], [*v, *([1] if clock else [])]) - reverse(L, x)
    g = with_inputs(scope, bias, {"v": [0] * len(v)})
    M = hessian(L, v)

    def make(kind: str, symbol: str, values: Any) -> DerivedQuantity:
        return DerivedQuantity(scope, kind, symbol, np.array(values, dtype=object))

    parts: dict[str, Any] = {
        "mass_matrix": make("mass_matrix", "M", M),
        "coriolis": make("coriolis", "c", bias - g),
        "gravity": make("gravity", "G", g),
        "bias": make("bias", "h", bias),
        "kinematics": make("kinematics", r"\dot{q}", v),
        "input_map": make("input_map", "D", np.eye(len(v), dtype=int)),
    }
    if given.forces is not None:
        parts["external"] = make("external", "Q", [_scalar(scope, f) for f in given.forces])
    R = _scalar(scope, given.dissipation)
    if hasattr(R, "graph"):
        parts["passive"] = make("passive", "p", -reverse(R, v))
    written = {"L": make("lagrangian", "L", L), "P": make("momenta", "P", P), "R": make("dissipation", "R", R)}
    return Equations(
        name, "lagrangian", scope, **parts, derivation=_steps(written, parts), sources=("KHATIB",),
        extras=Lazy({"energy": lambda: make("energy", "E", product(P[None], v)[0] - L)}),
    )  # fmt: skip


def _steps(written: Mapping[str, DerivedQuantity], parts: Mapping[str, DerivedQuantity]) -> tuple[DerivationStep, ...]:
    steps = [
        DerivationStep("Lagrangian", "As given.", (written["L"],)),
        DerivationStep("Momenta", "Derivatives by the rates.", (written["P"],), r"P = \partial L/\partial\dot{q}"),
    ]
    if "passive" in parts:
        text = "Rayleigh's function, as given, and the passive forces that follow from it."
        shown = (written["R"], parts["passive"])
        steps.append(DerivationStep("Dissipation", text, shown, r"p = -\partial R/\partial\dot{q}"))
    if "external" in parts:
        text = "Generalised forces on the coordinates, as given."
        steps.append(DerivationStep("Given forces", text, (parts["external"],)))
    right = r"\tau" + " + p" * ("passive" in parts) + " + Q" * ("external" in parts)
    text = (
        "The accelerations taken out of dP/dt give the mass matrix; of the rest, what remains at rest is g. Forces "
        "of drives on the coordinates are tau."
    )
    law = r"\frac{d}{dt}\frac{\partial L}{\partial\dot{q}} - \frac{\partial L}{\partial q} = "
    arrived = (parts["mass_matrix"], parts["coriolis"], parts["gravity"])
    return (*steps, DerivationStep("Equations of motion", text, arrived, law + right))


# ------------------------------------------------------------------------------------------------- what the user gave


class _Given(NamedTuple):
    """Checked arguments, as SymPy expressions."""

    lagrangian: Any
    q: list[Any]
    qdot: list[Any]
    forces: list[Any] | None
    dissipation: Any
    time: Any


def _checked(lagrangian: Any, q: Any, qdot: Any, forces: Any, t: Any, dissipation: Any) -> _Given:
    import sympy

    coordinates = [_variable(x, "q") for x in expect_items(q, object, "from_lagrangian, q")]
    if not coordinates:
        raise ArgumentError("from_lagrangian, q: there must be a coordinate")
    time = _time(coordinates, t)
    L = _expression(lagrangian, "lagrangian")
    acting = None if forces is None else [_expression(f, "forces") for f in expect_items(forces, object, "forces")]
    if acting is not None and len(acting) != len(coordinates):
        raise ArgumentError(f"{len(coordinates)} coordinates, but {len(acting)} generalised forces")
    lost = _expression(dissipation, "dissipation")
    known = [L, *(acting or ()), lost]
    if qdot is None:
        rates = [x.diff(time) if x.is_Function else _rate(x, known) for x in coordinates]
    else:
        rates = [_variable(x, "qdot") for x in expect_items(qdot, object, "from_lagrangian, qdot")]
    if len(rates) != len(coordinates):
        raise ArgumentError(f"{len(coordinates)} coordinates, but {len(rates)} rates: {rates}")
    _refuse_repetition([*coordinates, *rates])
    variables = L.atoms(sympy.Symbol, sympy.Derivative, sympy.core.function.AppliedUndef)
    if not {str(x) for x in variables}.intersection(map(str, rates)):
        raise ArgumentError(
            f"from_lagrangian: none of the rates {', '.join(map(str, rates))} occurs in the Lagrangian; name "
            "them with qdot=[...]"
        )
    _refuse_rates_by_other_names(known, coordinates, rates)
    if time is None and any(symbol.name == "t" for x in known for symbol in x.free_symbols):
        raise ArgumentError("from_lagrangian: is the symbol t time? Then pass t=t; if not, give it another name")
    acting = None if acting is None else [_as_symbols(f, [*coordinates, *rates]) for f in acting]
    for what, x in [("lagrangian", L), *(("forces", f) for f in acting or ()), ("dissipation", lost)]:
        _refuse_unknown_functions(x, what, [*coordinates, *rates])
    return _Given(L, coordinates, rates, acting, lost, time)


def _scalar(scope: Scope, expression: Any) -> Any:
    return scope.read(np.array(expression, dtype=object))[()]


def _expression(value: Any, what: str) -> Any:
    """What the caller gave as a SymPy expression of real value."""
    import sympy

    try:
        found = sympy.sympify(value, strict=True)
    except (sympy.SympifyError, TypeError, ValueError, AttributeError):
        found = None
    if (
        not isinstance(found, sympy.Expr)
        or found.is_Matrix
        or found.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo, sympy.I)
    ):
        raise ArgumentError(f"from_lagrangian, {what}: expected a real SymPy expression, got {shown(value)}")
    return found


def _variable(value: Any, what: str) -> Any:
    """A symbol, a function of time, or its derivative; names will do."""
    import sympy

    found = sympy.Symbol(value) if isinstance(value, str) and value.isidentifier() else value
    if isinstance(found, sympy.Symbol) or (
        isinstance(found, (sympy.core.function.AppliedUndef, sympy.Derivative)) and len(found.free_symbols) == 1
    ):
        return found
    raise ArgumentError(f"from_lagrangian, {what}: expected a symbol or a function of time, got {shown(value)}")


def _rate(coordinate: Any, expressions: Sequence[Any]) -> Any:
    """The symbol of a rate, by its name: that which the expressions use."""
    import sympy

    used = {symbol.name: symbol for x in expressions for symbol in x.free_symbols}
    names = dict.fromkeys((rate_name(coordinate.name), f"{coordinate.name}dot"))
    found = [used[name] for name in names if name in used]
    if len(found) > 1:
        raise ArgumentError(
            f"from_lagrangian: {' and '.join(map(str, found))} both look like the rate of {coordinate}; name "
            "it with qdot=[...]"
        )
    return found[0] if found else sympy.Symbol(next(iter(names)))


def _time(coordinates: Sequence[Any], t: Any) -> Any:
    """The symbol of time: as given, or what the coordinates are functions of; None if nothing depends on it."""
    import sympy

    if t is not None:
        if not isinstance(t, sympy.Symbol) or t in coordinates:
            raise ArgumentError(f"from_lagrangian, t: expected the symbol of time, got {shown(t)}")
        return t
    return next((x.args[0] for x in coordinates if x.is_Function), None)


def _refuse_repetition(variables: Sequence[Any]) -> None:
    twice = sorted({str(x) for x in variables if variables.count(x) > 1})
    if twice:
        raise ArgumentError(f"from_lagrangian: {', '.join(twice)} occurs twice among coordinates and rates")


def _refuse_rates_by_other_names(expressions: Sequence[Any], coordinates: Sequence[Any], rates: Sequence[Any]) -> None:
    names = [x.name if x.is_Symbol else x.func.__name__ for x in coordinates]
    slip = rate_by_another_name(expressions, names, map(str, [*coordinates, *rates]))
    if slip:
        raise ArgumentError(
            f"from_lagrangian: is {slip[0]} the rate of {slip[1]}? The rates are {', '.join(map(str, rates))}; name "
            "them with qdot=[...] if these are not their names"
        )


def _as_symbols(force: Any, variables: Sequence[Any]) -> Any:
    """A force with symbols in the place of functions of time that are neither coordinates nor rates."""
    import sympy

    rates = {x: sympy.Dummy() for x in force.atoms(sympy.Derivative)}
    functions = force.xreplace(rates).atoms(sympy.core.function.AppliedUndef).difference(variables)
    alone = [f for f in functions if all(x.is_Symbol and x not in variables for x in f.args)]
    names = {f: sympy.Symbol(f.func.__name__) for f in alone}
    if clash := sorted(s.name for s in names.values() if s in force.free_symbols):
        raise ArgumentError(f"from_lagrangian, forces: {clash[0]} is a symbol and a function of time; rename one")
    return force.xreplace(rates).xreplace(names).xreplace({dummy: x for x, dummy in rates.items()})


def _refuse_unknown_functions(expression: Any, what: str, variables: Sequence[Any]) -> None:
    """A function without a formula has no known derivative, and accelerations cannot be given."""
    import sympy

    known = {x: sympy.Dummy() for x in variables}
    left = expression.xreplace(known)
    unknown = left.atoms(sympy.Derivative) or left.atoms(sympy.core.function.AppliedUndef)
    if unknown:
        shown_as = {dummy: x for x, dummy in known.items()}
        names = ", ".join(sorted(str(x.xreplace(shown_as)) for x in unknown))
        raise ArgumentError(
            f"from_lagrangian, {what}: {names} is neither a coordinate nor a rate; write it out as an expression in "
            "coordinates, rates, time and parameters"
        )
