"""Reader for SRDF, what MoveIt says of a robot beyond its URDF: here the pairs of links that never touch."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from dalembert.formats.problems import Problems
from dalembert.formats.xml import Element, read_xml
from dalembert.model.mechanism import Mechanism
from dalembert.text.suggest import hint


def read_srdf(source: str | bytes | Path, mechanism: Mechanism | None = None) -> tuple[tuple[str, str], ...]:
    """Pairs of links whose collisions are disabled, each once, in the order of the file.

    Groups, states, end effectors and virtual joints of the file are not read.

    Args:
        source: a path, or the SRDF itself: bytes, or a string whose first character is ``<``.
        mechanism: whose bodies the links must be; not checked if None.
    """
    root = read_xml(source)
    if root.tag != "robot":
        raise root.error(f"an SRDF file has the root element <robot>, this one has <{root.tag}>")
    known = None if mechanism is None else [body.name for body in mechanism.bodies]
    found: dict[tuple[str, str], None] = {}
    problems = Problems()

    def add(element: Element) -> None:
        pair = element.attribute("link1"), element.attribute("link2")
        for name in pair:
            if known is not None and name not in known:
                raise element.error(f"<disable_collisions>: there is no link {name!r}{hint(name, known)}")
        if pair[0] == pair[1]:
            raise element.error(f"<disable_collisions>: link {pair[0]!r} with itself")
        if pair[::-1] not in found:
            found[pair] = None

    for element in root.all("disable_collisions"):
        problems.attempt(partial(add, element), None)
    problems.raise_all()
    return tuple(found)
