"""Frames, constraints and force elements of a mechanism: what they mean, with their numbers and formulas."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from dalembert.algebra import scalar
from dalembert.formulations.equations import Equations
from dalembert.model import WORLD, Mechanism
from dalembert.model.constraint import CONSTRAINT_KINDS, Constraint
from dalembert.model.force import FORCE_KINDS, Force
from dalembert.model.formula import Formula, coordinate_names
from dalembert.report.document import Block, Code, Inline, Line, Math, table
from dalembert.report.layout import quantity, vector
from dalembert.typesetting.notation import Notation

Meanings = Mapping[str, Mapping[str, Any]]


def element_blocks(mechanism: Mechanism, equations: Equations, notation: Notation) -> Iterator[Block]:
    """Tables of further frames, constraints and force elements.

    Args:
        mechanism: the mechanism.
        equations: derived from it; they know the names of coordinates.
        notation: how symbols are written.
    """
    meanings = _meanings(mechanism, equations)
    if mechanism.frames and len(mechanism.frames) <= 40:
        rows = [(frame.name, frame.body, vector(frame.placement.translation, notation)) for frame in mechanism.frames]
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
        caption = "Force elements; they enter the equations only if asked for by name."
        yield table(("force", "kind", "between", "meaning"), rows_of, caption)


def _meanings(mechanism: Mechanism, equations: Equations) -> dict[str, dict[str, Any]]:
    """What the names in users' formulas stand for, in symbols of the document: by kind of the element, or for all."""
    import sympy

    symbols = equations.scope.symbols
    state = dict(zip(chain(*coordinate_names(mechanism.joints)), chain(symbols["q"], symbols["v"])))
    return {"": state, "gravity-field": {x: sympy.Symbol(f"p_{x}") for x in "xyz"}, "joint-force": {}}


def _words(text: str) -> Line:
    """What a kind means; arguments of the element are marked there."""
    return tuple(Code(part) if k % 2 else part for k, part in enumerate(text.split("`")) if part)


def _data(item: Constraint | Force, notation: Notation, meanings: Meanings) -> Iterator[Inline]:
    """The numbers and formulas of an element, and where on its bodies it acts, as far as they matter."""
    lists = ("coefficients",) if isinstance(item, Constraint) else ("components",)
    told: list[tuple[str, Math]] = [
        (name, quantity(x, notation))
        for name in item.numbers
        if not scalar.is_zero(x := getattr(item, name)) and not (scalar.is_number(x) and math.isinf(x))
    ]
    told += [(name, vector(x, notation)) for name in lists if len(x := getattr(item, name))]
    if isinstance(item.function, Formula):
        formula = item.function.substituted(meanings.get(item.kind, meanings[""]))
        told.append(("function", vector(formula.expressions, notation, brackets=False)))
    for name in item.placements:
        if not all(map(scalar.is_zero, x := getattr(item, name).translation)):
            told.append((f"origin of {name[-1]} at", vector(x, notation)))
    for words, value in told:
        yield f"; {words} "
        yield value


def _ends(item: Constraint | Force) -> str:
    if not item.has_ends:
        return ""
    if item.on_joints:  # the ground is none
        return " – ".join(name for name in (item.a, item.b) if name not in ("", WORLD))
    return f"{item.a} – {item.b or WORLD}"
