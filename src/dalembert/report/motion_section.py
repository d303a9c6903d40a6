"""What comes before the derivation: coordinates, parameters, frames and signs, and the motion of every body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.formulations.bodies import MovingBodies
from dalembert.formulations.display import law_latex
from dalembert.formulations.equations import BODILESS, Equations
from dalembert.formulations.mechanism_system import system_of
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.system import MultibodySystem
from dalembert.model import Mechanism
from dalembert.model.joint import KINDS
from dalembert.report.document import Block, Bullets, Display, Heading, Inline, Line, Math, Paragraph, listed, table
from dalembert.typesetting.forms import Forms
from dalembert.typesetting.layout import side_by_side, width
from dalembert.typesetting.notation import Notation


def convention_blocks(
    equations: Equations, mechanism: Mechanism | None, notation: Notation, positive: Sequence[Any] = ()
) -> Iterator[Block]:
    """Coordinates, parameters, frames and signs.

    Args:
        mechanism: what was derived, if it is a mechanism.
        positive: expressions that the formulas take to be positive.
    """
    yield Heading("Coordinates, frames and conventions")
    symbols = equations.scope.symbols
    items: list[Line] = [("Coordinates ", *_tuple("q", symbols["q"], notation), ".")]
    items.append(("Velocities ", *_tuple("v", symbols["v"], notation), "."))
    if equations.velocity_port == "u":
        items.append(("Speeds, or quasi-velocities, ", *_tuple("u", symbols["u"], notation), "."))
    if equations.parameters:
        items.append(("Parameters ", *listed([Math(notation.latex(x)) for x in equations.parameters]), "."))
        if assumed := [Math(notation.latex(x)) for x in equations.parameters if x.is_positive]:
            items.append(("Positive are ", *listed(assumed), "."))
    if positive:
        written = [Math(f"{notation.latex(x)} > 0") for x in positive]
        items.append(("The formulas are written for ", *listed(written), "; what is computed holds everywhere."))
    if twofold := listed([Math(x) for x in _twofold(equations, notation)]):
        text = "Some letters have two meanings: general formulas say theirs, results mean the one listed above: "
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
                ("The acceleration of free fall is ", Math(r"\mathbf{g}"), ", forces of gravity are ", Math("G"), ".")
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
    same = {getattr(equations.gravity_field, "mu", None)}  # called mu in formulas as well
    if equations.method == "rigid-body":  # as is its mass m
        same.add(equations.mass_matrix.sympy()[0, 0])
    formulas = [
        law_latex(equations),
        "h",
        *(step.formula for step in steps),
        *(q.symbol for x in steps for q in x.quantities if len(q.shape) < 3),  # others are seen with indices only
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


# ----------------------------------------------------------------------------------------------- frames and velocities


SHOWN = 6
"""Bodies and velocities up to which positions, rotations and velocities are written out."""

WIDEST_CELL, WIDEST_ROW = 60, 140
"""Letters of a partial velocity, and of all of one body, that still fit into a table."""


def motion_blocks(subject: Mechanism | MovingBodies, equations: Equations, forms: Forms) -> Iterator[Block]:
    """Rotation, position of the centre of mass, angular velocity and velocity of every body."""
    yield Heading("Frames and velocities")
    parts: Line = (
        "For body ", Math("i"), ": rotation ", Math("R_i"), ", position ", Math("p_{Ci}"), " of the centre of mass and "
        "its velocity ", Math(r"\dot{p}_{Ci}"), " in inertial axes, angular velocity ", Math(r"\omega_i"),
        " in body axes.",
    )  # fmt: skip
    yield Paragraph(parts)
    if isinstance(subject, Mechanism) and any(joint.kind == "fixed" for joint in subject.joints):
        text = (
            "What fixed joints hold together is one body; its axes are those of the one that is named first. What they "
            "hold to the ground has a share neither in the equations nor in the energies."
        )
        yield Paragraph((text,), "note")
    system = _system(subject, equations)
    if len(system.bodies) > SHOWN or system.n > SHOWN:
        yield Paragraph(("The system is large; its motion is computed link by link and not written out here.",), "note")
        return
    left_out = False
    for i, body in enumerate(system.bodies, 1):
        yield Heading(f"Body {i}: {body.name}", 2)
        found = [
            ("R", f"R_{{{i}}}", body.rotation),
            ("p", f"p_{{C{i}}}", body.center),
            ("w", rf"\omega_{{{i}}}", product(body.Jw, system.v)),
            ("pdot", rf"\dot{{p}}_{{C{i}}}", product(body.Jv, system.v)),
        ]
        made = (DerivedQuantity(system.scope, f"{x}{i}", symbol, np.array(y, dtype=object)) for x, symbol, y in found)
        written = [forms.rows(quantity) for quantity in made]
        left_out = left_out or None in written
        if rows := side_by_side([rows for rows in written if rows]):
            yield Display(tuple(rows))
    if left_out:
        yield Paragraph(("What would be too long to read is left out.",), "note")


def _system(subject: Mechanism | MovingBodies, equations: Equations) -> MultibodySystem:
    if isinstance(subject, MovingBodies):
        return subject.system()
    return system_of(subject.replace(constraints=()), equations.coordinates)


def partial_velocity_blocks(equations: Equations, forms: Forms) -> Iterator[Block]:
    """Kane's table: for every body and speed the partial angular velocity and the partial velocity.

    Args:
        equations: derived by Kane's method.
        forms: how quantities are written.
    """
    found: dict[str, DerivedQuantity] = {}
    for step in equations.steps():
        for quantity in step.quantities:
            if re.fullmatch(r"[JT][vw]_\d+", quantity.name):
                found[quantity.name[1:]] = quantity  # partial velocities T come after Jacobians J
    bodies = sorted({int(name.split("_")[1]) for name in found})
    speeds = equations.scope.symbols[equations.velocity_port]
    rows: list[list[Inline | Line]] = []
    for i in bodies:
        for kind, symbol in (("w", r"\omega"), ("v", "v")):
            quantity = found[f"{kind}_{i}"]
            entries = forms.closed(quantity)
            if entries is None or quantity.shape[1] != len(speeds):
                return
            texts = [forms.notation.latex(x) for x in entries]
            columns = [texts[k :: len(speeds)] for k in range(len(speeds))]
            cells = ["0" if set(c) == {"0"} else "(" + r",\, ".join(c) + ")" for c in columns]
            widths = [width(cell) for cell in cells]
            if max(widths, default=0) > WIDEST_CELL or sum(widths) > WIDEST_ROW:
                return
            rows.append([Math(rf"{symbol}_{{{i},r}}"), *map(Math, cells)])
    if rows:
        yield Heading("Partial velocities", 2)
        text = (
            "What a unit of each speed does to each body: partial angular velocities in body axes, partial velocities "
            "of the centres of mass in inertial axes. They are the columns of the matrices above."
        )
        yield Paragraph((text,))
        yield table((" ", *(Math(forms.notation.latex(x)) for x in speeds)), rows)
