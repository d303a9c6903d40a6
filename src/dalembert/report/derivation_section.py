"""The derivation step by step, and the equations it arrives at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dalembert.formulations.display import drives_each_velocity, law_latex, velocities_are_rates
from dalembert.formulations.equations import BODILESS, METHODS, Equations
from dalembert.formulations.quantity import DerivedQuantity
from dalembert.report.document import Block, Bullets, Code, Display, Heading, Line, Math, Paragraph, Sequence, cited
from dalembert.report.motion_section import partial_velocity_blocks
from dalembert.typesetting.forms import Forms, definitions
from dalembert.typesetting.layout import WIDEST, WIDTH, Rows, side_by_side, split_formula, sum_rows, width
from dalembert.typesetting.notation import Notation

PARTS = ("mass_matrix", "coriolis", "gravity", "passive", "external", "constraint_matrix", "constraint_bias")
"""What the equations of motion consist of, in the order of reading."""


def derivation_blocks(equations: Equations, forms: Forms) -> Iterator[Block]:
    """Every step with its general formula and what it arrives at."""
    yield Heading(f"Derivation: {METHODS.get(equations.method, equations.method)}")
    partial = [step for step in equations.steps() if any(x.name in ("Jw_1", "Tw_1") for x in step.quantities)]
    for number, step in enumerate(equations.steps(), 1):
        yield Heading(f"Step {number}. {step.title}", 2)
        yield Paragraph(_explained(step.text, equations, forms.notation))
        if step.formula:
            yield Display(tuple(split_formula(step.formula)))
        written = [forms.rows(quantity) for quantity in step.quantities]
        if rows := side_by_side([rows for rows in written if rows]):
            yield Display(tuple(rows))
        long = [quantity for quantity, rows in zip(step.quantities, written) if rows is None]
        if long:
            yield Paragraph(_too_long(long), "note")
        if equations.method == "kane" and step in partial[-1:]:
            yield from partial_velocity_blocks(equations, forms)


def _explained(text: str, equations: Equations, notation: Notation) -> Line:
    """The text of a step; in it sources are references, and velocities such as qdot1 mathematics."""
    rates = {str(x): x for x in equations.scope.symbols["v"] if "dot" in str(x)}
    if not rates:
        return cited(text)
    pieces = re.split(rf"(?<!\w)({'|'.join(map(re.escape, rates))})(?!\w)", text)
    found = ((Math(notation.latex(rates[x])),) if x in rates else cited(x) for x in pieces)
    return tuple(part for line in found for part in line)


def _too_long(quantities: list[DerivedQuantity]) -> Line:
    parts: list[Any] = ["Too long to be written out: "]
    for k, quantity in enumerate(quantities):
        size = " × ".join(map(str, quantity.shape)) or "scalar"
        if len(quantity.shape) == 1:
            size = "1 entry" if size == "1" else f"{size} entries"
        parts += [", " * bool(k), Math(quantity.symbol), f" ({size}, {quantity.cost.operations} operations)"]
    return (*parts, ".")


def equations_blocks(equations: Equations, forms: Forms) -> Iterator[Block]:
    """The law, then one scalar equation for each velocity, or a sequence of named values for large systems."""
    yield Heading("Equations of motion")
    yield Display((("", law_latex(equations)),))
    yield Paragraph(_legend(equations), "note")
    if drives := _drives(equations, forms.notation):
        yield Paragraph(drives, "note")
    if equations.omitted:
        text = "The mechanism has more than these equations contain; left out:"
        yield Paragraph((text,), "note")
        yield Bullets(tuple((reason,) for reason in equations.omitted))
    scalar = _scalar_equations(equations, forms)
    if scalar is None and equations.scope.defined:
        where: Line = (
            "Written out the equations do not fit a page. They are the recursion above: ", Math("M"),
            " has the entries of its last step; ", Math("c"), " and ", Math("G"), " are the forces ", Math(r"\tau"),
            " of its inward part for zero accelerations.",
        )  # fmt: skip
        yield Paragraph(where)
    elif scalar is None:
        yield from _sequence(equations, forms)
    else:
        for rows in scalar:
            yield Display(tuple(rows))
    if not velocities_are_rates(equations):
        yield Paragraph(("The rates of the coordinates are",))
        rates = forms.rows(equations.kinematics)
        yield Display(tuple(rates)) if rates else Paragraph(_too_long([equations.kinematics]), "note")
    if "multipliers" in equations.extras and len(equations["multipliers"]):
        text = "The constraints have been eliminated; with the accelerations known, their forces on the velocities are"
        multipliers = equations["multipliers"]
        written = forms.rows(multipliers)
        yield Paragraph((text, " ", Math(r"A^T \lambda"), ", with the multipliers" if written else "."))
        yield Display(tuple(written)) if written else Paragraph(_too_long([multipliers]), "note")
    if equations.constraint_matrix is not None and scalar is not None:
        yield Paragraph(("The multipliers follow from the constraints",))
        parts = [part for part in (equations.constraint_matrix, equations.constraint_bias) if part is not None]
        shown = {part.name: forms.rows(part) for part in parts}
        yield Display((("", r"A \dot{v} + \gamma = 0"), *(row for rows in shown.values() for row in rows or [])))
        if long := [part for part in parts if shown[part.name] is None]:
            yield Paragraph(_too_long(long), "note")


def _legend(equations: Equations) -> Line:
    """What the letters of the law stand for."""
    bodiless, acting = equations.method in BODILESS, equations.external
    drives = equations.input_map.shape[1]
    words = [
        ("M", "mass matrix"),
        ("c", "forces due to velocities" if bodiless else "centrifugal and Coriolis forces"),
        ("G", "forces at rest" if bodiless else "gravity"),
        *([("D", "map of the drives")] if drives and not drives_each_velocity(equations) else []),
        *([(r"\tau", "forces of the drives")] if drives else []),
        *([("p", "passive forces")] if equations.passive is not None else []),
        *([(acting.symbol, "given forces" if bodiless else "external wrenches")] if acting is not None else []),
        *([("A", "constraint matrix"), (r"\lambda", "multipliers")] if equations.constraint_matrix is not None else []),
    ]
    parts: list[Any] = []
    for k, (letter, meaning) in enumerate(words):
        parts += [", " * bool(k), Math(letter), f" {meaning}"]
    return (*parts, ".")


def _drives(equations: Equations, notation: Notation) -> Line:
    """Which velocity each drive acts on, where equations are not those of the driven velocities one by one."""
    velocities, driven = equations.scope.symbols["v"], equations.driven
    if driven == tuple(range(len(velocities))):
        if equations.velocity_port == "v":
            return ()
        return ("Each velocity has a drive, in the order of ", Math("v"), ".")
    parts: list[Any] = []
    for drive, place in zip(equations.inputs, driven):
        parts += [", " * bool(parts), Math(notation.latex(drive)), " drives ", Math(notation.latex(velocities[place]))]
    return (*parts, ".") if parts else ()


def _scalar_equations(equations: Equations, forms: Forms) -> list[Rows] | None:
    """M_i1 a_1 + M_i2 a_2 + ... + c_i + g_i = forces, for every i; None if a part is too long or a line too wide."""

    parts = equations.quantities()
    closed = {name: forms.closed(parts[name]) for name in PARTS if name in parts and name != "constraint_bias"}
    inputs = forms.closed(equations.input_map)
    if inputs is None or any(entries is None for entries in closed.values()):
        return None
    notation, n = forms.notation, len(equations.mass_matrix)
    rates = equations.scope.accelerations
    count = equations.input_map.shape[1]
    result = []
    for i in range(n):
        left = [
            _product(entry, rate, notation)
            for entry, rate in zip(closed["mass_matrix"][i * n : (i + 1) * n], rates)  # type: ignore[index]
            if entry != 0
        ]
        for name in ("coriolis", "gravity"):
            entry = closed[name][i]  # type: ignore[index]
            left += notation.terms(entry) if entry != 0 else []
        right = [
            _product(inputs[i * count + k], drive, notation)
            for k, drive in enumerate(equations.inputs)
            if inputs[i * count + k] != 0
        ]
        for name in ("passive", "external"):
            entries = closed.get(name)
            right += notation.terms(entries[i]) if entries and entries[i] != 0 else []
        if "constraint_matrix" in closed:
            right.append(rf"\left(A^T \lambda\right)_{{{i + 1}}}")
        result.append(_with_right_side(sum_rows("", left, ""), right))
    fits = all(width(right) <= WIDEST for rows in result for _, right in rows)
    return result if fits else None


def _product(entry: Any, factor: Any, notation: Notation) -> str:
    """An entry times an acceleration or input; sums stay together."""
    if entry.is_Add:
        return rf"\left({notation.latex(entry)}\right) {notation.latex(factor)}"
    return notation.latex(entry * factor)


def _with_right_side(left: Rows, terms: list[str]) -> Rows:
    """The right-hand side on the last line, if there is room for it, or on one of its own."""
    right = sum_rows("", terms)
    name, last = left[-1]
    if len(right) == 1 and width(last) + width(right[0][1]) <= WIDTH:
        return [*left[:-1], (name, f"{last} {right[0][1]}")]
    return [*left, *((name, rf"\quad {{}}{line}") for name, line in right)]


def _sequence(equations: Equations, forms: Forms) -> Iterator[Block]:
    """The parts as named values, in the order in which they are computed."""
    plain = drives_each_velocity(equations)
    listed = (*PARTS, *(() if plain else ("input_map",)))
    parts = {name: part for name, part in equations.quantities().items() if name in listed}
    program = equations.scope.program({name: part.values for name, part in parts.items()}, "equations")
    found = definitions(program, parts, forms.notation)
    if found is None:
        count = sum(part.cost.operations for part in parts.values())
        text = f"Written out the equations do not fit a page; as a sequence they are {count} operations, by "
        code = Code("equations.mass_matrix.intermediates()")
        yield Paragraph((text, code, " or, as C, CUDA or Python, by ", Code("dalembert export"), "."))
        return
    steps, results = found
    count = sum(bool(name) for name, _ in steps)  # others continue the line above
    text = (
        f"Written out the equations do not fit a page. As a sequence of {count} values, each defined by those "
        "before it, they are short; nothing is computed twice."
    )
    yield Paragraph((text,))
    yield Sequence(tuple(steps))
    if results:
        yield Paragraph(("In terms of these, with all entries not listed being zero,",))
        yield Display(tuple(results))
