"""Finished models of SymPy's mechanics as equations of dalembert: the same, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.formulations.equations import DerivationStep, Equations
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.scope import Scope, with_inputs
from dalembert.model.checks import expect
from dalembert.tracing.derivatives import forward


def from_sympy(model: Any, name: str = "system") -> Equations:
    """Equations of a SymPy ``KanesMethod``, ``LagrangesMethod`` or ``System`` whose equations have been formed.

    Dynamic symbols that are neither coordinates nor speeds become inputs: those that only push, linearly (applied
    forces, say), are the inputs ``tau`` of the input map; all others (a given motion of the base, a changing mass) are
    ``specified``, an input of the parts in which they occur. Kane's models with constraints keep SymPy's mass matrix,
    whose last rows are the constraints; it is not symmetric.

    Args:
        model: call its ``kanes_equations``, ``form_lagranges_equations`` or ``form_eoms`` first.
        name: for display.
    """
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod

    expect(name, str, "from_sympy, name")
    method = getattr(model, "eom_method", model)
    if method is None and model is not None:
        raise ArgumentError("the equations of this System have not been formed; call form_eoms() first")
    if isinstance(method, KanesMethod):
        return _kane(method, name)
    if isinstance(method, LagrangesMethod):
        return _lagrange(method, name)
    raise ArgumentError(f"expected a KanesMethod, LagrangesMethod or System of SymPy, got {type(model).__name__}")


def _kane(method: Any, name: str) -> Equations:
    if getattr(method, "_k_d", None) is None or not method._k_d:
        raise ArgumentError("the equations of this KanesMethod have not been formed; call kanes_equations() first")
    kinematics = method.kindiffdict()
    qdot = [kinematics[x.diff(_time(x))] for x in method.q]
    return _converted(name, list(method.q), list(method.u), qdot, method.mass_matrix, method.forcing)


def _lagrange(method: Any, name: str) -> Equations:
    if method.eom is None:
        raise ArgumentError(
            "the equations of this LagrangesMethod have not been formed; call form_lagranges_equations() first"
        )
    q, rates = list(method.q), [x.diff(_time(x)) for x in method.q]
    n = len(q)
    constrained = method.lam_vec is not None and len(method.lam_vec) > 0
    A = method._m_cd if constrained else None
    gamma = -method._f_cd if constrained else None
    return _converted(name, q, rates, rates, method.mass_matrix[:, :n], method.forcing, A, gamma)


def _time(x: Any) -> Any:
    return x.args[0]


def _converted(
    name: str, q: list[Any], u: list[Any], qdot: list[Any], M: Any, forcing: Any, A: Any = None, gamma: Any = None
) -> Equations:
    M, forcing, A, gamma = (None if x is None else _real(x) for x in (M, forcing, A, gamma))
    qdot = [_real(x) for x in qdot]
    own = {*q, *u, *(x.diff(_time(x)) for x in q)}
    read = [*M, *forcing, *qdot, *(A or ()), *(gamma or ())]
    inputs, specified = _signals(own, list(forcing), read)
    scope = Scope()
    scope.input("q", q)
    v = scope.input("v", u)
    r = scope.input("tau", inputs) if inputs else np.zeros(0, dtype=object)
    if specified:
        scope.input("specified", specified)
    if (clock := _time(q[0])) in _without(read, {*own, *inputs, *specified}):
        scope.clock(clock)
    f = scope.read(forcing).reshape(-1)
    B = forward(f, r) if inputs else np.zeros((len(u), 0), dtype=object)
    free = with_inputs(scope, f, {"tau": [0] * len(r)}) if inputs else f
    g = -with_inputs(scope, free, {"v": [0] * len(v)})

    def make(kind: str, symbol: str, values: Any) -> DerivedQuantity:
        return DerivedQuantity(scope, kind, symbol, values)

    parts: dict[str, Any] = {
        "mass_matrix": make("mass_matrix", "M", scope.read(M)),
        "coriolis": make("coriolis", "c", -free - g),
        "gravity": make("gravity", "G", g),
        "bias": make("bias", "h", -free),
        "kinematics": make("kinematics", r"\dot{q}", scope.read(qdot)),
        "input_map": make("input_map", "D", B),
    }
    if A is not None:
        parts["constraint_matrix"] = make("constraint_matrix", "A", scope.read(A))
        parts["constraint_bias"] = make("constraint_bias", r"\gamma", scope.read(gamma).reshape(-1))
    shown = (parts["mass_matrix"], parts["coriolis"], parts["gravity"])
    text = "The finished model of SymPy, read into the expression graph."
    if specified:
        text += f" Given functions of time remain inputs of all parts: {', '.join(map(str, specified))}."
    step = DerivationStep("SymPy", text, shown)
    return Equations(name, "sympy", scope, **parts, derivation=(step,), sources=("SYMPY",))


def _real(expression: Any) -> Any:
    """Without what SymPy leaves undone as functions of time might be complex, such as dx/dx and re(x) in d|x|/dx."""
    from sympy import Derivative, S, conjugate, im, re

    parts = {x: S.Zero if isinstance(x, im) else x.args[0] for x in expression.atoms(re, im, conjugate)}
    plain = expression.xreplace(parts) if parts else expression
    along = [x for x in plain.atoms(Derivative) if not any(y.is_Symbol for y in x.variables)]  # coordinates, not time
    return plain.xreplace({x: x.doit() for x in along}) if along else plain


def _signals(own: set[Any], forcing: list[Any], read: list[Any]) -> tuple[list[Any], list[Any]]:
    """Functions of time that are neither coordinates nor speeds: those that only push, linearly, and all others."""
    from sympy import Dummy, Matrix
    from sympy.physics.mechanics import find_dynamicsymbols

    found = sorted(find_dynamicsymbols(Matrix(read)) - own, key=lambda x: (-x.count_ops(), str(x)))
    plain = {x: Dummy() for x in [*own, *found]}  # replaced from the outside: z(t) within its derivative is not z(t)
    names = {plain[x]: x for x in found}
    everything = [x.xreplace(plain) for x in read]
    used = set().union(*(x.free_symbols for x in everything)) & names.keys()
    pushes = [x.xreplace(plain) for x in forcing]
    slopes = {x: [y.diff(x) for y in pushes] for x in used}
    elsewhere = set().union(*(x.free_symbols for x in everything if x not in pushes))
    linear = {x for x in used - elsewhere if not any(y.free_symbols & used for y in slopes[x])}
    return tuple(sorted((names[x] for x in group), key=str) for group in (linear, used - linear))  # type: ignore[return-value]


def _without(expressions: list[Any], functions: set[Any]) -> set[Any]:
    """Symbols of expressions, those within the given functions not counted."""
    from sympy import Dummy

    plain = {x: Dummy() for x in functions}
    return set().union(*(x.xreplace(plain).free_symbols for x in expressions))
