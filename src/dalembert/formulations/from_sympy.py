"""Finished models of SymPy's mechanics as equations of dalembert: the same, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.compiler.derivatives import forward
from dalembert.errors import ArgumentError
from dalembert.formulations.equations import Equations, Step
from dalembert.formulations.pfaffian import with_inputs
from dalembert.formulations.quantity import Quantity
from dalembert.formulations.scope import Scope


def from_sympy(model: Any, name: str = "system") -> Equations:
    """Equations of a SymPy ``KanesMethod``, ``LagrangesMethod`` or ``System`` whose equations have been formed.

    Dynamic symbols that are neither coordinates nor speeds (applied forces, say) become inputs of the input map.

    Args:
        model: call its ``kanes_equations``, ``form_lagranges_equations`` or ``form_eoms`` first.
        name: for display.
    """
    from sympy.physics.mechanics import KanesMethod, LagrangesMethod

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
    from sympy.physics.mechanics import find_dynamicsymbols

    own = {*q, *u, *(x.diff(_time(x)) for x in q)}
    found = find_dynamicsymbols(forcing) - own
    inputs = sorted(found, key=str)
    scope = Scope()
    scope.input("q", q)
    v = scope.input("v", u)
    r = scope.input("inputs", inputs) if inputs else np.zeros(0, dtype=object)
    f = scope.read(forcing).reshape(-1)
    B = forward(f, r) if inputs else np.zeros((len(u), 0), dtype=object)
    free = with_inputs(scope, f, {"inputs": [0] * len(r)}) if inputs else f
    g = -with_inputs(scope, free, {"v": [0] * len(v)})

    def make(kind: str, symbol: str, values: Any) -> Quantity:
        return Quantity(scope, kind, symbol, values)

    parts: dict[str, Any] = {
        "mass_matrix": make("mass_matrix", "M", scope.read(M)),
        "coriolis": make("coriolis", "c", -free - g),
        "gravity": make("gravity", "g", g),
        "bias": make("bias", "h", -free),
        "kinematics": make("kinematics", r"\dot{q}", scope.read(qdot)),
        "input_map": make("input_map", "D", B),
    }
    if A is not None:
        parts["constraint_matrix"] = make("constraint_matrix", "A", scope.read(A))
        parts["constraint_bias"] = make("constraint_bias", r"\gamma", scope.read(gamma).reshape(-1))
    shown = (parts["mass_matrix"], parts["coriolis"], parts["gravity"])
    step = Step("SymPy", "The finished model of SymPy, read into the expression graph.", shown)
    return Equations(name, "sympy", scope, **parts, derivation=(step,), sources=("SYMPY",))
