"""The mechanism: a figure, tables of joints, bodies, further frames, constraints and force elements."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import chain
from string import Formatter
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algorithms.joint_forces import TERMS
from dalembert.formulations.bodies import MovingBodies
from dalembert.formulations.equations import Equations
from dalembert.model import WORLD, Joint, Mechanism
from dalembert.model.constraint import CONSTRAINT_KINDS, Constraint
from dalembert.model.display import tree_lines
from dalembert.model.force import FORCE_KINDS, Force
from dalembert.model.formula import Formula
from dalembert.model.names import formula_names
from dalembert.report.document import (
    Block,
    Code,
    Figure,
    Heading,
    Inline,
    Line,
    Math,
    Paragraph,
    listed,
    table,
)
from dalembert.report.skeleton import skeleton
from dalembert.text.layout import counted
from dalembert.typesetting.layout import width
from dalembert.typesetting.notation import Notation

MOST_DRAWN = 80
"""Joints up to which a figure shows anything."""


def mechanism_blocks(mechanism: Mechanism, equations: Equations, notation: Notation) -> Iterator[Block]:
    """Figure and tables.

    Args:
        equations: derived from it; they know the names of coordinates.
    """
    yield Heading("The mechanism")
    counts = ", ".join(
        [
            counted(len(mechanism.bodies), "body", "bodies"),
            counted(len(mechanism.joints), "joint"),
            counted(mechanism.nv, "degree of freedom", "degrees of freedom"),
        ]
    )
    loops = ""
    if mechanism.constraints:
        loops = f" of the tree, {counted(len(mechanism.constraints), 'constraint')}"
    gravity = _gravity(mechanism.gravity, equations, notation)
    yield Paragraph((f"{counts}{loops}; total mass ", _quantity(mechanism.mass, notation), " kg, gravity ", *gravity,
                     " in the axes of the world."))  # fmt: skip
    if len(mechanism.joints) <= MOST_DRAWN:
        drawing = skeleton(mechanism, equations.coordinates, equations.reference)
        yield Figure(drawing, _caption(mechanism, equations), tuple(tree_lines(mechanism)))
    yield _joints(mechanism, equations, notation)
    yield from _drives(mechanism, notation)
    yield from _bodies(mechanism, notation)
    yield from _element_blocks(mechanism, equations, notation)
    if mechanism.notes:
        yield Paragraph((f"Assumed: {'; '.join(mechanism.notes)}.",), "note")


def _caption(mechanism: Mechanism, equations: Equations) -> Line:
    made_up = " Lengths that are symbols are made up." if mechanism.symbols else ""
    position = "a typical position" if equations.reference is None else "the position of reference"
    return (
        f"The mechanism in {position}: circles and slim boxes are revolute joints, "
        f"seen along and across their axis, thick boxes slide, ringed dots are centres of mass.{made_up}",
    )


def _joints(mechanism: Mechanism, equations: Equations, notation: Notation) -> Block:
    symbols = equations.scope.symbols["q"]
    rows: list[list[Inline | Line]] = []
    for joint in mechanism.joints:
        part = mechanism.q_slice(joint.name)
        own = [] if joint.mimic else [Math(notation.latex(x)) for x in symbols[part.start : part.stop]]
        turned = joint.placement.rotation
        rows.append(
            [
                joint.name,
                joint.kind,
                f"{joint.parent} – {joint.child}",
                _axis(joint, notation),
                _follows(joint, notation) if joint.mimic else listed(own),
                _vector(joint.placement.translation, notation),
                "" if _is_identity(turned) else _rotation(turned, notation),
                _range(joint),
            ]
        )
    head = ("joint", "kind", "between", "axis", "coordinate", "placed at (m)", "turned by", "range")
    return table(head, rows, "Joints; axis in the joint frame, placement in the frame of the parent.")


def _drives(mechanism: Mechanism, notation: Notation) -> Iterator[Block]:
    def cell(value: Any) -> Inline:
        return "" if scalar.is_zero(value) else _quantity(value, notation)

    rows = [(joint.name, *(cell(getattr(joint, term)) for term in TERMS)) for joint in mechanism.joints]
    if any(any(row[1:]) for row in rows):
        caption = "Terms of the joints, in SI units; they enter the equations only if asked for by name."
        yield table(("joint", *TERMS), [row for row in rows if any(row[1:])], caption)


def _follows(joint: Joint, notation: Notation) -> Line:
    assert joint.mimic is not None
    offset = "" if scalar.is_zero(joint.mimic.offset) else f" + {notation.latex(joint.mimic.offset)}"
    return "follows ", joint.mimic.joint, ": ", Math(rf"{notation.latex(joint.mimic.multiplier)} q{offset}")


def _range(joint: Joint) -> str:
    low, high = joint.limits.lower, joint.limits.upper
    return f"{low:.4g} … {high:.4g}" if math.isfinite(low) or math.isfinite(high) else ""


def _axis(joint: Joint, notation: Notation) -> Inline | Line:
    if joint.kind in ("fixed", "spherical", "free"):
        return ""
    first = _direction(joint.axis, notation)
    if joint.kind == "helical":
        return Math(first), ", pitch ", _quantity(joint.pitch, notation), " m/rad"
    return Math(rf"{first},\, {_direction(joint.axis2, notation)}" if joint.kind == "universal" else first)


def _direction(axis: Any, notation: Notation) -> str:
    for k, name in enumerate("xyz"):
        others = [axis[i] for i in range(3) if i != k]
        if all(scalar.is_zero(x) for x in others) and scalar.is_number(axis[k]) and abs(axis[k]) == 1:
            return name if axis[k] > 0 else f"-{name}"
    return _vector(axis, notation).latex


def _is_identity(R: Any) -> bool:
    return all(scalar.is_zero(R[i, j] - (1 if i == j else 0)) for i in range(3) for j in range(3))


def _rotation(R: Any, notation: Notation) -> Inline:
    """Angle and axis of a constant turn about a coordinate axis; roll, pitch and yaw of any other."""
    if any(getattr(x, "free_symbols", ()) for x in R.flat):
        return "a symbolic rotation"
    from dalembert.algebra.rotations import rpy_from_rotation

    angles = [float(x) for x in rpy_from_rotation(R.astype(float))]
    turning = [k for k, x in enumerate(angles) if abs(x) > 1e-12]
    if len(turning) == 1:
        return Math(rf"{_angle(angles[turning[0]], notation)} \text{{ about }} {'xyz'[turning[0]]}")
    return Math(r"\text{rpy } " + ",\\, ".join(_angle(x, notation) for x in angles))


def _angle(x: float, notation: Notation) -> str:
    for n in (1, 2, 3, 4, 6):
        for k in range(1, n + 1):
            if abs(abs(x) - k * math.pi / n) < 1e-9:
                above = r"\pi" if k == 1 else rf"{k}\pi"
                return ("-" if x < 0 else "") + (above if n == 1 else rf"\tfrac{{{above}}}{{{n}}}")
    return notation.number(x)


def _bodies(mechanism: Mechanism, notation: Notation) -> Iterator[Block]:
    heavy = [body for body in mechanism.bodies if not body.inertia.is_zero]
    light = [body.name for body in mechanism.bodies if body.inertia.is_zero]
    if heavy:
        rows = [
            (
                body.name,
                _quantity(body.inertia.mass, notation),
                _vector(body.inertia.center, notation),
                _tensor(body.inertia.tensor, notation),
            )
            for body in heavy
        ]
        head = ("body", "mass (kg)", "centre of mass (m)", "inertia (kg m²)")
        caption = (
            "Bodies; centre of mass in body axes, inertia about the centre of mass: xx, yy, zz, and xy, xz, yz if they "
            "are not zero."
        )
        yield table(head, rows, caption)
    if light:
        yield Paragraph((f"Without mass: {', '.join(light)}.",), "note")


def _tensor(I: np.ndarray, notation: Notation) -> Line:
    products = [I[0, 1], I[0, 2], I[1, 2]]
    if all(scalar.is_zero(x) for x in (*I.diagonal(), *products)):
        return ("0",)
    diagonal = _vector(I.diagonal(), notation, brackets=False)
    if all(scalar.is_zero(x) for x in products):
        return (diagonal,)
    return diagonal, "; ", _vector(products, notation, brackets=False)


def _gravity(uniform: Any, equations: Equations, notation: Notation) -> Line:
    field = equations.gravity_field
    if field is None:
        return (_vector(uniform, notation), " m/s²")
    line: list[Inline] = []
    for words, name, _, _ in Formatter().parse(field.phrase):
        value = getattr(field, name) if name else None
        line += [words] if value is None else [words, _shown(value, notation)]
    return tuple(line)


def _shown(value: Any, notation: Notation) -> Math:
    return _vector(value, notation) if np.ndim(np.array(value, dtype=object)) else _quantity(value, notation)


def bodies_blocks(system: MovingBodies, equations: Equations, notation: Notation) -> Iterator[Block]:
    """The bodies of a system that is given by formulas."""
    yield Heading("The system")
    rows = [
        (
            body.name,
            _quantity(body.mass, notation),
            _vector(body.position, notation),
            _tensor(np.array(np.zeros((3, 3)) if body.inertia is None else body.inertia, dtype=object), notation),
        )
        for body in system.bodies
    ]
    head = ("body", "mass (kg)", "position of the centre of mass (m)", "inertia (kg m²)")
    caption = (
        "Bodies; positions in inertial axes, inertia about the centre of mass in body axes: xx, yy, zz, and xy, xz, yz "
        "if they are not zero."
    )
    yield table(head, rows, caption)
    yield Paragraph(("Gravity ", *_gravity(system.gravity, equations, notation), "."))
    if not scalar.is_zero(system.potential):
        yield Paragraph(("Further potential energy ", Math(notation.latex(system.potential)), " J."))


# ---------------------------------------------------------------------- further frames, constraints and force elements


Meanings = Mapping[str, Mapping[str, Any]]
"""Kind of element -> name in its formula -> symbol of the document; the kind "" stands for all others."""


def _element_blocks(mechanism: Mechanism, equations: Equations, notation: Notation) -> Iterator[Block]:
    """Tables of further frames, constraints and force elements."""
    meanings = _meanings(mechanism, equations)
    if mechanism.frames and len(mechanism.frames) <= 40:
        rows = [(frame.name, frame.body, _vector(frame.placement.translation, notation)) for frame in mechanism.frames]
        yield table(("frame", "on body", "position (m)"), rows, "Further frames.")
    if mechanism.constraints:
        meant = [
            (c.name, c.kind, _ends(c), (*_words(CONSTRAINT_KINDS[c.kind]), *_data(c, notation, meanings)))
            for c in mechanism.constraints
        ]
        yield table(("constraint", "kind", "between", "meaning"), meant, "Constraints.")
    if mechanism.forces:
        rows_of = [
            (f.name, f.kind, _ends(f), (*_words(FORCE_KINDS[f.kind]), *_data(f, notation, meanings)))
            for f in mechanism.forces
        ]
        caption = "Force elements."
        yield table(("force", "kind", "between", "meaning"), rows_of, caption)


def _meanings(mechanism: Mechanism, equations: Equations) -> dict[str, dict[str, Any]]:
    """What the names in users' formulas stand for, in symbols of the document: by kind of the element, or for all."""
    import sympy

    symbols = equations.scope.symbols
    state = dict(zip(chain(*formula_names(mechanism.joints)), chain(symbols["q"], symbols["v"])))
    return {"": state, "gravity-field": {x: sympy.Symbol(f"p_{x}") for x in "xyz"}, "joint-force": {}}


def _words(text: str) -> Line:
    """What a kind means; arguments of the element are marked there."""
    return tuple(Code(part) if k % 2 else part for k, part in enumerate(text.split("`")) if part)


def _data(item: Constraint | Force, notation: Notation, meanings: Meanings) -> Iterator[Inline]:
    """The numbers and formulas of an element, and where on its bodies it acts, as far as they matter."""
    lists = ("coefficients",) if isinstance(item, Constraint) else ("components",)
    shown: list[tuple[str, Math]] = [
        (name, _quantity(x, notation))
        for name in item.numbers
        if not scalar.is_zero(x := getattr(item, name)) and not (scalar.is_number(x) and math.isinf(x))
    ]
    shown += [(name, _vector(x, notation)) for name in lists if len(x := getattr(item, name))]
    if isinstance(item.function, Formula):
        formula = item.function.substituted(meanings.get(item.kind, meanings[""]))
        shown.append(("function", _vector(formula.expressions, notation, brackets=False)))
    for name in item.placements:
        if not all(map(scalar.is_zero, x := getattr(item, name).translation)):
            shown.append((f"origin of {name[-1]} at", _vector(x, notation)))
    for words, value in shown:
        yield f"; {words} "
        yield value


def _ends(item: Constraint | Force) -> str:
    if not item.has_ends:
        return ""
    if item.on_joints:  # the ground is none
        return " – ".join(name for name in (item.a, item.b) if name not in ("", WORLD))
    return f"{item.a} – {item.b}" if item.b else item.a


# ---------------------------------------------------------------------------------------------------------- mathematics


def _quantity(x: Any, notation: Notation) -> Math:
    """A number or symbol."""
    return Math(notation.scalar(x))


def _vector(entries: Any, notation: Notation, brackets: bool = True) -> Math:
    """Several numbers or symbols with commas between."""
    inner = r",\; ".join(map(notation.scalar, entries))
    tall = r"\frac" in inner or width(inner) > 200
    left, right = (r"\left(", r"\right)") if tall else ("(", ")")
    return Math(f"{left}{inner}{right}" if brackets else inner)
