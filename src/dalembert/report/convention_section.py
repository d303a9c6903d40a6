"""What the reader must know before the first equation: coordinates, parameters, frames and signs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from dalembert.formulations.equations import BODILESS, Equations
from dalembert.model import Mechanism
from dalembert.model.joint import KINDS
from dalembert.report.derivation_section import law
from dalembert.report.document import Block, Bullets, Heading, Line, Math, listed
from dalembert.typesetting.notation import Notation


def convention_blocks(equations: Equations, mechanism: Mechanism | None, notation: Notation) -> Iterator[Block]:
    """Coordinates, parameters, frames and signs.

    Args:
        equations: the derivation.
        mechanism: what was derived, if it is a mechanism.
        notation: how symbols are written.
    """
    yield Heading("Coordinates, frames and conventions")
    symbols = equations.scope.symbols
    items: list[Line] = [("Coordinates ", *_tuple("q", symbols["q"], notation), ".")]
    items.append(("Velocities ", *_tuple("v", symbols["v"], notation), "."))
    if equations.velocity_port == "u":
        items.append(("Speeds, or quasi-velocities, ", *_tuple("u", symbols["u"], notation), "."))
    if equations.parameters:
        items.append(("Parameters ", *listed([Math(notation.latex(x)) for x in equations.parameters]), "."))
    if twofold := listed([Math(x) for x in _twofold(equations, notation)]):
        text = "Letters of two meanings, in general formulas as said there, in what they arrive at as listed above: "
        items.append((text, *twofold, "."))
    numbers: Line = ("SI units, radians. Numbers are shown with six digits; computations use all of them.",)
    if notation.decimal:
        numbers += (" Terms below ", Math("10^{-13}"), " of the largest, which rounding leaves, are not shown.")
    items.append((*numbers, " Of arrays listed entry by entry, what is not listed is zero."))
    if equations.method not in (*BODILESS, "rigid-body"):
        items.append(
            ("The inertial frame is the world's. ", Math("R_i"), " maps components in the axes of body ", Math("i"),
             " to components in inertial axes.")
        )  # fmt: skip
        if equations.gravity_field is None:
            items.append(
                ("The acceleration of free fall is ", Math(r"\mathbf{g}"), ", forces of gravity are ", Math("g"), ".")
            )
    if mechanism is not None:
        items.append(("The frame of a body is the frame of the joint that carries it, after the motion of the joint.",))
        plain = ("fixed", "revolute", "continuous", "prismatic")
        for kind in dict.fromkeys(j.kind for j in mechanism.joints if j.kind not in plain):
            items.append((f"A {kind} joint: {KINDS[kind]}.",))
    yield Bullets(tuple(items))


def _twofold(equations: Equations, notation: Notation) -> list[str]:
    """Symbols of the derivation that are also letters of general formulas, such as a length d beside v = B u + d."""
    steps, own = equations.steps(), equations.scope.symbols
    same = {equations.gravity_field and equations.gravity_field.mu}  # called mu in formulas as well
    if equations.method == "rigid-body":  # as is its mass m
        same.add(equations.mass_matrix.sympy()[0, 0])
    formulas = [
        law(equations),
        "h",
        *(step.formula for step in steps),
        *(q.symbol for x in steps for q in x.quantities),
    ]
    words = r"C\^\*|\\frac\{d\}\{dt\}|\\(mathbf|text|mathrm)\{[^}]*\}|[_^]\{[^}]*\}"
    general = "  ".join(re.sub(words, " ", formula) for formula in formulas)
    letters = set(re.findall(r"(?<![A-Za-z\\_^])(?:\\[A-Za-z]+|[A-Za-z])(?![A-Za-z_])", general))
    ports = [port for port in ("q", "v", "u", *equations.scope.parameters) if port in own]
    shown = [notation.latex(x) for port in ports for x in own[port] if x not in same]
    return [x for x in shown if x in letters]


def _tuple(name: str, symbols: Sequence[Any], notation: Notation) -> Line:
    entries = r",\, ".join(notation.latex(x) for x in symbols)
    return (Math(f"{name} = ({entries})"),)
