"""Equations of motion as text and as LaTeX."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra.scalar import is_one, is_zero
from dalembert.formulations.equations import METHODS, Equations
from dalembert.formulations.quantity import FORMS, DerivedQuantity, named_values
from dalembert.model.checks import expect_choice
from dalembert.typesetting.forms import Forms
from dalembert.typesetting.layout import MOST_LINES
from dalembert.typesetting.notation import Notation

LONG_FORM_FREEDOMS = 4
"""Degrees of freedom up to which a quantity may take many lines; so may those of one body by itself."""

LARGEST_SHOWN = 8
"""Degrees of freedom up to which text shows the entries."""


def equations_text(equations: Equations) -> str:
    """A readable account: what, how, the parts, where it comes from."""
    n = len(equations.mass_matrix)
    parts = equations.quantities()
    lines = [
        f"{equations.name}: equations of motion by {METHODS.get(equations.method, equations.method)}",
        f"  {_law(equations)}",
        f"  q = ({', '.join(equations.coordinates)})",
        f"  {equations.velocity_port} = ({', '.join(equations.velocities)})",
    ]
    if equations.method == "sympy":
        lines += [
            f"  {port} = ({', '.join(map(str, equations.scope.names[port]))})"
            for port in ("tau", "specified")
            if port in equations.scope.names
        ]
    if equations.parameters:
        lines.append(f"  parameters {', '.join(map(str, equations.parameters))}")
    shown = ["mass_matrix", "coriolis", "gravity", "passive", "external", "constraint_matrix", "constraint_bias"]
    if not velocities_are_rates(equations):
        shown.append("kinematics")
    forms = forms_of(equations, Notation())
    for name in shown:
        if name in parts:
            part = parts[name]
            lines += part.text(forms.signed).splitlines() if n <= LARGEST_SHOWN else [_summary(part)]
    if forms.assumed:
        positive = ", ".join(f"{x} > 0" for x in forms.assumed)
        lines += ["", f"written for {positive}; sympy() has the formulas that hold everywhere"]
    if equations.omitted:
        lines += ["", f"left out: {'; '.join(equations.omitted)}"]
    lines += ["", equations.cite()]
    return "\n".join(lines)


def _law(equations: Equations) -> str:
    velocity = equations.velocity_port
    right = [
        *(["D tau"] if equations.input_map.shape[1] else []),
        *(["passive"] if equations.passive is not None else []),
        *(["external"] if equations.external is not None else []),
        *(["A^T lambda"] if equations.constraint_matrix is not None else []),
    ]
    M, g = (depends_on(part, "q") for part in (equations.mass_matrix, equations.gravity))
    law = f"M({M}) d{velocity}/dt + c({depends_on(equations.coriolis, 'q', velocity)}) + G({g})"
    law = f"{law} = {' + '.join(right) or '0'}"
    return law if equations.constraint_matrix is None else f"{law}, A d{velocity}/dt + gamma = 0"


def depends_on(part: DerivedQuantity, *arguments: str) -> str:
    """The arguments of a part in the law, with velocities and time where it depends on these.

    Args:
        arguments: what such parts depend on in general.
    """
    scope = part.scope
    used = {port.name for port in part.program.inputs}.difference(scope.parameters)
    moving = [port for port in ("v", "u") if port in used and port not in arguments]  # a relativistic mass
    return ", ".join([*arguments, *moving, *(map(str, scope.names["t"]) if "t" in used else ())])


def velocities_are_rates(equations: Equations) -> bool:
    """Whether the velocities are the rates of the coordinates, and are called so."""
    scope = equations.scope
    if equations.velocity_port == "u" or len(equations.coordinates) != len(equations.velocities):
        return False
    called_after = scope.rates
    named = (
        v.is_Derivative if not v.is_Symbol else called_after.get(v.name) == (q.name if q.is_Symbol else q.func.__name__)
        for q, v in zip(scope.symbols["q"], scope.symbols["v"])
    )
    return all(named) and all(is_zero(x - v) for x, v in zip(equations.kinematics.values, scope.arrays["v"]))


def drives_each_velocity(equations: Equations) -> bool:
    """Whether the map of the drives is the identity, so that it needs no letter."""
    D = equations.input_map.values
    square = D.shape[0] == D.shape[1]
    return square and all(is_one(x) if i == j else is_zero(x) for (i, j), x in np.ndenumerate(D))


def _summary(part: DerivedQuantity) -> str:
    return f"{part.name} {list(part.shape)}: {part.cost.operations} operations"


def equations_latex(equations: Equations, form: str) -> str:
    """All parts as one ``aligned`` block: the law with every matrix written out if that is possible."""
    import sympy

    expect_choice(form, FORMS, "form")
    write = equations.scope.latex
    parts = [equations.mass_matrix, equations.coriolis, equations.gravity]
    rest = [x for x in (equations.passive, equations.external) if x is not None]
    rules = [x for x in (equations.constraint_matrix, equations.constraint_bias) if x is not None]
    speeds = [] if velocities_are_rates(equations) else [equations.kinematics]  # what velocities mean
    if form == "closed" or (form == "auto" and all(part.is_short for part in (*parts, *rest, *rules, *speeds))):
        rates = sympy.Matrix(equations.scope.accelerations)
        M, c, g = (part.sympy() for part in parts)
        left = [rf"{write(M)} {write(rates)}", *(write(x) for x in (c, g) if any(x))]
        inputs = sympy.Matrix(equations.inputs)
        forces = equations.input_map.sympy()
        driven = inputs if forces == sympy.eye(forces.rows) else forces * inputs
        right = [*([write(driven)] if inputs else []), *(write(x.sympy()) for x in rest)]
        also = []
        if rules:
            A, *gamma = (part.sympy() for part in rules)
            right.append(rf"{write(A.T)} \lambda")
            kept = [
                rf"{write(A)} {write(rates)}",
                *(write(x) for x in gamma if any(x)),
            ]
            also.append(f"{' + '.join(kept)} = 0")
        also += [part.equation_latex("closed") for part in speeds]
        law = f"{' + '.join(left)} = {' + '.join(right) or '0'}"
        if not also:
            return law
        lines = [f"& {line}" for line in (law, *also)]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"
    listed = (*parts, *rest, *rules, *speeds)
    long = {part.name: part.values for part in listed if form == "intermediates" or not part.is_short}
    definitions, results = named_values(equations.scope, equations.scope.program(long, "parts"))  # x0 has one meaning
    rows = [(write(symbol), value) for symbol, value in definitions]
    rows += [(part.symbol, results[part.name] if part.name in long else part.sympy()) for part in listed]
    lines = [f"{left} &= {write(value)}" for left, value in rows]
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def law_latex(equations: Equations) -> str:
    """The equations of motion in general, LaTeX."""
    velocity, passive = equations.velocity_port, equations.passive
    right = [
        *([r"\tau" if drives_each_velocity(equations) else r"D\, \tau"] if equations.input_map.shape[1] else []),
        *([f"p({depends_on(passive, 'q', velocity)})"] if passive is not None else []),
        *([equations.external.symbol] if equations.external is not None else []),
        *([r"A^T \lambda"] if equations.constraint_matrix is not None else []),
    ]
    M, g = (f"({depends_on(part, 'q')})" for part in (equations.mass_matrix, equations.gravity))
    c = f"({depends_on(equations.coriolis, 'q', velocity)})"
    return rf"M{M}\, \dot{{{velocity}}} + c{c} + G{g} = {' + '.join(right) or '0'}"


def forms_of(equations: Equations, notation: Notation) -> Forms:
    """How the quantities of a derivation are written on a page; those of many degrees of freedom get fewer lines."""
    few = len(equations.mass_matrix) <= LONG_FORM_FREEDOMS or equations.method == "rigid-body"
    return Forms(notation, MOST_LINES if few else MOST_LINES // 2, _typical(equations))


def _typical(equations: Equations) -> dict[Any, float]:
    """The state that formulas are written for: the reference or the neutral position, parameters positive."""
    scope, symbols = equations.scope, equations.scope.symbols
    place = equations.reference
    if place is None:
        place = np.zeros(len(symbols["q"]))
        place[[first + 3 for first in scope.quaternions if first + 3 < len(place)]] = 1
    known = dict(zip(symbols["q"], map(float, place)))
    return known | {symbols[port][0]: 1.0 for port in scope.parameters}
