"""What a URDF file says and nobody reads: misspelt or misplaced words, and attributes of other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dalembert.formats.xml import Element
from dalembert.text.suggest import near

CHILDREN = {
    "robot": ("link", "joint", "material"),
    "link": ("inertial", "visual", "collision"),
    "joint": ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
    "inertial": ("origin", "mass", "inertia"),
}
ATTRIBUTES = {
    "link": ("name",),
    "joint": ("name", "type"),
    "parent": ("link",),
    "child": ("link",),
    "origin": ("xyz", "rpy"),
    "axis": ("xyz",),
    "mass": ("value",),
    "inertia": ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"),
    "limit": ("lower", "upper", "effort", "velocity"),
    "dynamics": ("damping", "friction"),
    "mimic": ("joint", "multiplier", "offset"),
}
WORDS = {word for words in CHILDREN.values() for word in words} - {"visual", "collision", "material"}
"""Elements that matter for the dynamics wherever they were meant to stand."""


def doubtful_words(robot: Element) -> list[str]:
    """Sentences about elements and attributes that are not read but look as if they were meant to be.

    Args:
        robot: the root of the file.
    """
    found = []
    for element in _read(robot):
        known = CHILDREN.get(element.tag, ())
        for child in element.children:
            if known and child.tag not in known:
                meant = near(child.tag, known, 0.75)
                if meant or child.tag in WORDS:
                    hint = f"did you mean <{meant[0]}>?" if meant else "it belongs elsewhere"
                    found.append(f"line {child.line}: <{child.tag}> in <{element.tag}> is not read; {hint}")
        for name, meant in _unknown(element):
            if meant:
                found.append(
                    f"line {element.line}: <{element.tag}> has the attribute {name!r}, which is not read; "
                    f"did you mean {meant[0]!r}?"
                )
    return found


def other_attributes(robot: Element) -> list[str]:
    """One sentence that counts the attributes of other programs, or none.

    Args:
        robot: the root of the file.
    """
    counts = Counter(f"{e.tag} {name}" for e in _read(robot) for name, meant in _unknown(e) if not meant)
    listed = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
    return [f"attributes that are not read: {listed}"] if counts else []


def _read(robot: Element) -> Iterator[Element]:
    """The elements whose children or attributes give the dynamics."""
    yield robot
    for tag in ("link", "joint"):
        for element in robot.all(tag):
            yield element
            for child in element.children:
                if child.tag in CHILDREN[tag]:
                    yield child
                    yield from (part for part in child.children if child.tag == "inertial" and part.tag in ATTRIBUTES)


def _unknown(element: Element) -> Iterator[tuple[str, list[str]]]:
    """Attributes without a meaning, each with the known one it resembles unless that one is there as well."""
    known = ATTRIBUTES.get(element.tag, ())
    absent = [name for name in known if name not in element.attributes]
    for name in element.attributes:
        if known and name not in known and ":" not in name:  # a prefix belongs to another program
            yield name, near(name, absent)
