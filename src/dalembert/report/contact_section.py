"""Contacts: which may close, their rows on velocities, and the law that decides when they push, stick and slide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.contact.geometry import point_names
from dalembert.contact.rows import ContactSet
from dalembert.errors import DalembertError
from dalembert.formulations.equations import Equations
from dalembert.formulations.mechanism_system import traced
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.model import Contact, Ground, Mechanism
from dalembert.model.display import shape_words
from dalembert.report.document import Block, Bullets, Display, Heading, Inline, Line, Math, Paragraph, table
from dalembert.text.layout import counted
from dalembert.typesetting.forms import Forms
from dalembert.typesetting.layout import side_by_side
from dalembert.typesetting.notation import Notation

MOST_POINTS, MOST_VELOCITIES = 6, 7
"""Points and velocities up to which rows are written out."""

NUMBERS = (
    ("friction", r"\mu", ""),
    ("restitution", "e", ""),
    ("torsional", r"\mu_s", "m"),
    ("rolling", r"\mu_r", "m"),
    ("stiffness", "k", "N/m"),
    ("damping", "c", "s/m"),
)


def contact_blocks(mechanism: Mechanism, equations: Equations, forms: Forms) -> Iterator[Block]:
    """Table, rows and laws; nothing for a mechanism that touches nothing.

    Args:
        equations: derived from it; they know the names of coordinates.
        forms: how quantities are written.
    """
    if not mechanism.contacts:
        return
    yield Heading("Contacts")
    points = sum(len(point_names(item)) for item in mechanism.contacts)
    yield Paragraph(
        (
            f"{counted(len(mechanism.contacts), 'contact')} with {counted(points, 'point')} in all may close. The "
            "equations above are those of open contacts; closed ones add forces along the rows of this section, and "
            "impulses where velocities jump.",
        )
    )
    yield _listed(mechanism, forms.notation)
    yield Heading("Rows", 2)
    yield from _rows(mechanism, equations, forms)
    yield Heading("The law", 2)
    yield from _law(mechanism)


def _listed(mechanism: Mechanism, notation: Notation) -> Block:
    used = [
        entry for entry in NUMBERS if any(not _none(getattr(item, entry[0])) for item in mechanism.contacts)
    ]  # fmt: skip
    rows: list[list[Inline | Line]] = []
    for item in mechanism.contacts:
        cells: list[Inline | Line] = [
            item.name, f"{item.a} – {item.b}", shape_words(item.shape_a), _touched(item, notation),
            str(len(point_names(item))),
        ]  # fmt: skip
        cells += ["" if _none(x := getattr(item, name)) else Math(notation.scalar(x)) for name, _, _ in used]
        rows.append(cells)
    head: list[Inline | Line] = ["contact", "between", "shape", "touches", "points"]
    titles = [*head, *(f"{name} ({unit})" if unit else name for name, _, unit in used)]
    return table(titles, rows, "Contacts; lengths in m. A friction of 0 is frictionless.", numbers=(4,))  # type: ignore[arg-type]


def _touched(item: Contact, notation: Notation) -> Inline:
    ground = item.shape_b
    if not isinstance(ground, Ground) or ground.kind != "formula":
        return shape_words(ground)
    values = dict(zip(ground.names, ground.coefficients))
    return Math(f"z = {notation.latex(ground.function.substituted(values).expressions[0])}")


def _none(x: Any) -> bool:
    return x is None or scalar.is_zero(x)


def _rows(mechanism: Mechanism, equations: Equations, forms: Forms) -> Iterator[Block]:
    yield Paragraph(
        (
            "Of every point the gap ", Math("g"), " is the distance along the unit normal ", Math("n"), ", which leads "
            "from the second body to the first; a negative gap is a depth. The velocity of the first relative to the "
            "second at the point is, along the normal and two tangents,",
        )
    )  # fmt: skip
    yield Display((("u", r"= J v"), (r"\dot{g}", r"= u_n = J_n v")))
    trace = traced(mechanism.replace(constraints=(), forces=()), equations.coordinates)
    layout = ContactSet(trace.model)
    if len(layout.points) > MOST_POINTS or mechanism.nv > MOST_VELOCITIES:
        why = f"{counted(len(layout.points), 'point')} and {counted(mechanism.nv, 'velocity', 'velocities')}"
        yield Paragraph((f"With {why} the rows are computed and not written out here.",), "note")
        return
    try:
        now = layout.at(trace.state(), placed=False)
    except DalembertError as error:
        yield Paragraph((f"The rows cannot be written in symbols: {error}",), "note")
        return
    plain = {item.name for item in mechanism.contacts if _is_plain(item)}
    left_out = []
    for k, (point, there) in enumerate(zip(layout.points, now.points), 1):
        if point.contact not in plain:
            left_out.append(point.name)
            continue
        index = rf"_{{{k}}}" if len(layout.points) > 1 else ""
        chosen = [point.normal, *(row for disk, _ in point.disks for row in disk)]
        J = np.array([now.J[row] for row in chosen], dtype=object)
        made = (
            DerivedQuantity(trace.scope, f"g{k}", f"g{index}", np.array(there.gap, dtype=object)),
            DerivedQuantity(trace.scope, f"J{k}", f"J{index}", J),
        )
        written = [forms.rows(quantity) for quantity in made]
        if rows := side_by_side([rows for rows in written if rows]):
            yield Paragraph((f"{point.name}, rows {', '.join(layout.rows[row].meaning for row in chosen)}:",))
            yield Display(tuple(rows))
        if None in written:
            left_out.append(point.name)
    if left_out:
        text = "Nearest points are found by choices or iteration, and their rows are not written out: "
        yield Paragraph((f"{text}{', '.join(left_out)}.",), "note")


def _is_plain(item: Contact) -> bool:
    """Whether its points are found without choices and iterations, so that rows have a closed form."""
    return (
        isinstance(item.shape_b, Ground)
        and item.shape_b.kind == "half-spaces"
        and item.shape_a.kind in ("sphere", "capsule", "box", "points", "mesh")
    )


def _law(mechanism: Mechanism) -> Iterator[Block]:
    items = mechanism.contacts
    yield Paragraph(
        (
            "Steps of the length ", Math("h"), " by the law ", Math(r"\texttt{rigid}"), " find velocities ",
            Math("v^+"), " and impulses ", Math("p"), " together; ", Math("v^*"), " would be the velocities without "
            "contacts.",
        )
    )  # fmt: skip
    rows: list[tuple[str, str]] = [
        (r"M\,(v^+ - v^*)", r"= J^T p" + (r" + A^T \lambda" if mechanism.constraints else "")),
        (r"0 \le u_n^+ - b", r"\;\perp\; p_n \ge 0"),
    ]
    if _any(items, "friction"):
        rows += [
            (r"\lvert p_t \rvert", r"\le \mu\, p_n"),
            (r"p_t", r"= -\mu\, p_n\, u_t^+ / \lvert u_t^+ \rvert \quad \text{where } u_t^+ \ne 0"),
        ]
    if _any(items, "torsional"):
        rows.append((r"\lvert p_s \rvert", r"\le \mu_s\, p_n, \quad p_s = -\mu_s\, p_n\, \omega_n / |\omega_n|"))
    if _any(items, "rolling"):
        rows.append(
            (r"\lvert p_r \rvert", r"\le \mu_r\, p_n, \quad p_r = -\mu_r\, p_n\, \omega_t / \lvert \omega_t \rvert")
        )
    yield Display(tuple(rows))
    bounds: list[Line] = [
        ("Signorini: a contact only pushes, and only where it is closed. Apart, ", Math("b = -g/h"), ": what would go "
         "through the surface lands on it."),
    ]  # fmt: skip
    if _any(items, "friction"):
        bounds.append(("Coulomb, with the exact cone: it sticks, or slides against the slip with the largest force.",))
    if _any(items, "restitution"):
        bounds.append(("Newton: in an impact ", Math("b = -e\\, u_n"), ", with ", Math("u_n"), " before it."))
    yield Bullets(tuple(bounds))
    if any(item.stiffness is not None for item in items):
        yield Paragraph(
            (
                "By the law ", Math(r"\texttt{compliant}"), " they are springs with dampers at the depth ",
                Math(r"d = \max(0, -g)"), " (Hunt and Crossley), with smooth friction; ", Math("s"), " is a small "
                "speed:",
            )
        )  # fmt: skip
        yield Display(
            (
                ("f_n", r"= k\, d\, \max(0,\, 1 + c\, \dot{d})"),
                ("f_t", r"= -\mu\, f_n\, u_t / \sqrt{\lvert u_t \rvert^2 + s^2}"),
            )
        )


def _any(items: tuple[Contact, ...], name: str) -> bool:
    return any(not _none(getattr(item, name)) for item in items)
