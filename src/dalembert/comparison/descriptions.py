"""What two descriptions say beyond what moves: constraints, force elements, capacities, bodies that never move.

None of this enters the quantities that are measured, which are those of the tree without force elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from dalembert.algebra.scalar import same
from dalembert.algebra.transform import Transform
from dalembert.comparison.difference import Difference
from dalembert.model import Mechanism
from dalembert.model.record import Record, content

OTHER = "the other mechanism"


def descriptions(here: Mechanism, there: Mechanism, tolerance: float) -> Iterator[Difference]:
    """Every part that differs, or is on one side only.

    Args:
        here: a mechanism with numbers only.
        there: the other.
        tolerance: allowed relative difference.
    """
    yield from _parts("constraints", "constraint", here.constraints, there.constraints, tolerance)
    yield from _parts("force elements", "force element", here.forces, there.forces, tolerance)
    yield from _capacities(here, there, tolerance)
    yield from _still(here, there, tolerance)


def _parts(topic: str, what: str, ours: Sequence[Any], theirs: Sequence[Any], tolerance: float) -> Iterator[Difference]:
    a, b = ({item.name: item for item in items} for items in (ours, theirs))
    for name in dict.fromkeys([*a, *b]):
        if name not in b or name not in a:
            side = "here" if name in a else f"in {OTHER}"
            yield Difference(topic, name, f"the {what} {name!r} ({(a | b)[name].kind}) is {side} only")
        elif changed := _changed(a[name], b[name], tolerance):
            yield Difference(topic, name, f"the {what} {name!r} differs in {', '.join(changed)}")


def _changed(a: Record, b: Record, tolerance: float) -> list[str]:
    """Fields that differ; values are told where they are plain numbers or names."""
    found = []
    for field in fields(a):  # type: ignore[arg-type]
        x, y = getattr(a, field.name), getattr(b, field.name)
        if not _same(x, y, tolerance):
            told = isinstance(x, (int, float, str)) and isinstance(y, (int, float, str))
            found.append(f"{field.name} ({x} here, {y} in {OTHER})" if told else field.name)
    return found


def _same(x: Any, y: Any, tolerance: float) -> bool:
    if same(content(x), content(y)):
        return True
    if isinstance(x, Transform):
        return all(_same(getattr(x, k), getattr(y, k), tolerance) for k in ("rotation", "translation"))
    try:
        a, b = (np.asarray(value, dtype=float) for value in (x, y))
    except (TypeError, ValueError):  # names and functions
        return False
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=tolerance, atol=tolerance))


def _capacities(here: Mechanism, there: Mechanism, tolerance: float) -> Iterator[Difference]:
    """Largest speeds and efforts of joints of the same name; ranges are compared with the structure."""
    theirs = {joint.name: joint.limits for joint in there.joints}
    for joint in here.joints:
        for name in ("velocity", "effort"):
            a, b = getattr(joint.limits, name), getattr(theirs.get(joint.name, joint.limits), name)
            if not _same(a, b, tolerance):
                text = f"the largest {name} of joint {joint.name!r} is {a:g} here and {b:g} in {OTHER}"
                yield Difference("limits", joint.name, f"{text}; no force depends on it")


def _still(here: Mechanism, there: Mechanism, tolerance: float) -> Iterator[Difference]:
    """Masses of bodies that never move."""
    for body in here.bodies:
        other = next((item for item in there.bodies if item.name == body.name), None)
        still = other is not None and all(m.tree.carriers[body.name][0] == -1 for m in (here, there))
        if still and other is not None and not _same(body.inertia.mass, other.inertia.mass, tolerance):
            text = (
                f"body {body.name!r}, which never moves, has {body.inertia.mass:g} kg here and {other.inertia.mass:g}"
            )
            yield Difference("mass", body.name, f"{text} kg in {OTHER}; no force depends on it")
