"""Frames and velocities of every body, and Kane's table of partial velocities."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.formulations.bodies import MovingBodies
from dalembert.formulations.equations import Equations
from dalembert.formulations.mechanism_system import system_of
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.formulations.system import MultibodySystem
from dalembert.model import Mechanism
from dalembert.report.document import Block, Display, Heading, Inline, Line, Math, Paragraph, table
from dalembert.typesetting.forms import Forms
from dalembert.typesetting.layout import width

SHOWN = 6
"""Bodies and velocities up to which positions, rotations and velocities are written out."""

WIDEST_CELL, WIDEST_ROW = 60, 140
"""Letters of a partial velocity, and of all of one body, that still fit into a table."""


def motion_blocks(subject: Mechanism | MovingBodies, equations: Equations, forms: Forms) -> Iterator[Block]:
    """Rotation, position of the centre of mass, angular velocity and velocity of every body.

    Args:
        subject: what was derived.
        equations: the derivation.
        forms: how quantities are written.
    """
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
        rows = []
        for name, symbol, values in found:
            more = forms.rows(DerivedQuantity(system.scope, f"{name}{i}", symbol, np.array(values, dtype=object)))
            left_out = left_out or more is None
            rows += more or []
        if rows:
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
