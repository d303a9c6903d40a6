"""Equations of motion from a Lagrangian that the user writes down.

L(q, qdot, t) ,   d/dt(dL/dqdot) - dL/dq = Q          M = d2L/dqdot2 ,  M qddot + c + g = Q
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.algebra.scalar import product
from dalembert.compiler.derivatives import forward, hessian, reverse
from dalembert.errors import ArgumentError
from dalembert.formulations.assembly import Lazy
from dalembert.formulations.equations import Equations, Step
from dalembert.formulations.names import rate_name
from dalembert.formulations.pfaffian import with_inputs
from dalembert.formulations.quantity import Quantity
from dalembert.formulations.scope import Scope


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
        qdot: their rates, in the same order; for functions of time their derivatives, for symbols those called
            ``qdot``, if left out.
        forces: generalised forces Q, one for each coordinate; they may depend on everything.
        t: the symbol of time, if something depends on it explicitly.
        dissipation: Rayleigh's function R(q, qdot); gives the forces -dR/dqdot.
        name: for display.
    """
    import sympy

    coordinates = [sympy.sympify(x) for x in q]
    if qdot is None:
        qdot = [x.diff(_time(x, t)) if x.is_Function else sympy.Symbol(rate_name(str(x))) for x in coordinates]
    if len(qdot) != len(coordinates):
        raise ArgumentError(f"{len(coordinates)} coordinates, but {len(qdot)} rates: {list(qdot)}")
    scope = Scope()
    x, v = scope.input("q", coordinates), scope.input("v", list(map(sympy.sympify, qdot)))
    clock = [scope.clock(t)] if t is not None else []
    L = _scalar(scope, lagrangian)
    momentum = reverse(L, v)
    bias = forward(momentum, [*x, *clock], [*v, *([1] if clock else [])]) - reverse(L, x)
    g = with_inputs(scope, bias, {"v": [0] * len(v)})
    M = hessian(L, v)
    Q = None if forces is None else np.array([_scalar(scope, f) for f in forces], dtype=object)
    if Q is not None and len(Q) != len(v):
        raise ArgumentError(f"{len(v)} coordinates, but {len(Q)} generalised forces")
    R = _scalar(scope, dissipation)

    def make(kind: str, symbol: str, values: Any) -> Quantity:
        return Quantity(scope, kind, symbol, values)

    energy = product(momentum[None], v)[0] - L
    parts: dict[str, Any] = {
        "mass_matrix": make("mass_matrix", "M", M),
        "coriolis": make("coriolis", "c", bias - g),
        "gravity": make("gravity", "g", g),
        "bias": make("bias", "h", bias),
    }
    steps = (
        Step("Lagrangian", "As given.", (make("lagrangian", "L", np.array(L, dtype=object)),)),
        Step(
            "Momenta", "Derivatives by the rates.", (make("momenta", "p", momentum),), r"p = \partial L/\partial\dot{q}"
        ),
        Step(
            "Equations of motion",
            "The accelerations taken out of dp/dt give the mass matrix; of the rest, what remains at rest is g.",
            (parts["mass_matrix"], parts["coriolis"], parts["gravity"]),
            r"\frac{d}{dt}\frac{\partial L}{\partial\dot{q}} - \frac{\partial L}{\partial q} = Q",
        ),
    )
    return Equations(
        name,
        "lagrangian",
        scope,
        **parts,
        kinematics=make("kinematics", r"\dot{q}", v),
        input_map=make("input_map", "D", np.eye(len(v), dtype=int)),
        external=None if Q is None else make("external", "Q", Q),
        passive=make("passive", "p", -reverse(R, v)) if hasattr(R, "graph") else None,
        extras=Lazy({"energy": lambda: make("energy", "E", np.array(energy, dtype=object))}),
        derivation=steps,
        sources=("KHATIB",),
    )


def _scalar(scope: Scope, expression: Any) -> Any:
    return scope.read(np.array(expression, dtype=object))[()]


def _time(function: Any, t: Any) -> Any:
    return t if t is not None else function.args[0]
