"""MJCF as it is written: included files put in place, default classes applied, words turned into numbers.

What MuJoCo knows and this library does not read by itself is :class:`Beyond`; it says which element of which line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dalembert.errors import FormatError
from dalembert.formats.xml import Element, read_xml
from dalembert.text.suggest import hint

IGNORED = frozenset(
    ("visual", "statistic", "size", "custom", "sensor", "keyframe", "light", "camera", "material", "texture", "skin",
     "lengthrange")
)  # fmt: skip
"""Elements in which nothing is read; those that matter are listed in the notes."""


class Beyond(Exception):
    """An element that only the ``mujoco`` package can read."""

    def __init__(self, element: Element, what: str):
        self.element, self.what = element, what
        super().__init__(f"{what}, line {element.line}")


def with_includes(root: Element, folder: Path | None) -> Element:
    """The document with the children of included files in the places of ``<include>``.

    Args:
        folder: of the main file; None for a text.
    """
    seen: set[Path] = set()
    whole = replace(root)
    waiting = [whole]
    while waiting:
        element = waiting.pop()
        pending, children = element.children[::-1], []
        while pending:
            child = pending.pop()
            if child.tag == "include":
                file = _included(child, folder)
                if file in seen:
                    raise child.error(f"<include>: the file {str(file)!r} is included twice")
                seen.add(file)
                pending += read_xml(file).children[::-1]
            else:
                children.append(replace(child))
        element.children = children
        waiting += children
    return whole


def _included(element: Element, folder: Path | None) -> Path:
    name = element.attribute("file")
    if folder is None:
        raise element.error(f"<include> of {name!r}: a text has no folder to look in; read the file by its path")
    for place in (folder, Path(element.file).parent):
        if (place / name).is_file():
            return place / name
    raise element.error(f"<include>: there is no file {name!r} in {folder}")


class Described:
    """An element with what its default classes say: the last one that has an attribute decides.

    Args:
        levels: the same kind of element in each class, outermost first, and the element itself.
    """

    def __init__(self, levels: list[Element]):
        self.levels, self.element = levels, levels[-1]

    def __contains__(self, name: str) -> bool:
        return any(name in level.attributes for level in self.levels)

    def where(self, name: str) -> Element:
        """The element that says this attribute, else the element itself."""
        return next((level for level in reversed(self.levels) if name in level.attributes), self.element)

    def error(self, message: str) -> FormatError:
        """An error that points at the element."""
        called = f" {self.name!r}" if self.name else ""
        return self.element.error(f"<{self.element.tag}>{called}: {message}")

    @property
    def name(self) -> str:
        """As the file calls it, or empty."""
        return self.element.attributes.get("name", "")

    def text(self, name: str, default: str = "") -> str:
        """A word."""
        return self.where(name).attributes.get(name, default).strip()

    def choice(self, name: str, known: tuple[str, ...], default: str) -> str:
        """One of several words."""
        word = self.text(name, default)
        if word not in known:
            raise self.where(name).error(f"{name}={word!r} is not known{hint(word, known)}")
        return word

    def flag(self, name: str, default: bool = False) -> bool:
        """``true`` or ``false``."""
        return self.choice(name, ("true", "false"), "true" if default else "false") == "true"

    def numbers(self, name: str, default: tuple[float, ...], least: int = 1) -> tuple[float, ...]:
        """Numbers; fewer than there may be leave the others as they were.

        Args:
            default: all of them.
            least: how many must be given.
        """
        found = list(default)
        for level in self.levels:
            if name in level.attributes:
                given = floats(level, name)
                if not least <= len(given) <= len(default):
                    wanted = f"{least} to {len(default)}" if least < len(default) else str(least)
                    raise level.error(f"<{level.tag}>: {name} needs {wanted} numbers, not {len(given)}")
                found[: len(given)] = given
        return tuple(found)

    def vector(self, name: str, default: tuple[float, ...] = (0.0, 0.0, 0.0)) -> tuple[float, ...]:
        """Numbers that are given all or not at all."""
        return self.numbers(name, default, len(default))

    def number(self, name: str, default: float = 0.0, least: float = -math.inf) -> float:
        """One number."""
        value = self.numbers(name, (default,))[0]
        if value < least:
            raise self.where(name).error(f"<{self.element.tag}>: {name}={value:g} must be at least {least:g}")
        return value

    def whole(self, name: str, default: int, least: int = 0) -> int:
        """One whole number."""
        value = self.number(name, default, least)
        if value != int(value) or value >= 2**31:
            raise self.where(name).error(f"<{self.element.tag}>: {name}={value:g} must be a whole number below 2^31")
        return int(value)


def floats(element: Element, name: str) -> list[float]:
    """The numbers of an attribute."""
    found = []
    for word in element.attributes[name].split():
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise element.error(f"<{element.tag}>: {name}: {word[:40]!r} is no finite number")
        found.append(value)
    return found


class Defaults:
    """The default classes of a file.

    Args:
        root: with its includes in place.
    """

    def __init__(self, root: Element):
        self.classes: dict[str, dict[str, list[Element]]] = {"main": {}}
        for top in root.all("default"):
            if top.attributes.get("class", "main") != "main":
                raise top.error("the outermost <default> is the class 'main'; put the others inside")
            waiting = [(top, "main", "main")]
            while waiting:
                element, above, name = waiting.pop()
                said = self.classes.setdefault(name, {tag: list(levels) for tag, levels in self.classes[above].items()})
                for child in element.children:
                    if child.tag != "default":
                        said.setdefault(_kind(child.tag), []).append(child)
                # classes inside come after, for they take over all that is said around them
                waiting += [(child, name, child.attribute("class")) for child in element.all("default")]

    def part(self, element: Element, childclass: str, kind: str = "") -> Described:
        """An element with its defaults.

        Args:
            childclass: class of those that name none.
            kind: of element; its own unless given.
        """
        name = element.attributes.get("class", childclass) or "main"
        if name not in self.classes:
            raise element.error(f"there is no default class {name!r}{hint(name, self.classes)}")
        return Described([*self.classes[name].get(kind or _kind(element.tag), ()), element])


ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion", "plugin",
    "pid", "orientation", "dcmotor",
)  # fmt: skip


def _kind(tag: str) -> str:
    return "general" if tag in ACTUATORS else tag


def inside(root: Element, section: str) -> Iterator[Element]:
    """The elements of all sections of that name."""
    for part in root.all(section):
        yield from part.children


SECTIONS = {"actuators": "actuator", "tendons": "tendon", "sensors": "sensor", "keyframes": "keyframe"}
"""What a note may list -> the section of the file."""

TAGS = {"cameras": "camera", "skins": "skin", "flexible bodies": "flexcomp", "plugins": "plugin"}
ATTRIBUTES = {
    "mocap bodies that are fixed here": "mocap", "bodies with gravity compensation": "gravcomp",
    "springs that yield but are elastic here": "springyield",
    "force ranges of joints that are not symmetric": "actuatorfrcrange",
}  # fmt: skip


def first_places(root: Element) -> dict[str, str]:
    """Where the first of the things stands that a note may list.

    Args:
        root: with its includes in place.
    """
    found: dict[str, str] = {}

    def add(what: str, element: Element) -> None:
        inside_another = "" if element.file == root.file else f" of {Path(element.file).name}"
        found.setdefault(what, f"line {element.line}{inside_another}")

    for what, section in SECTIONS.items():
        for element in inside(root, section):
            add(what, element)
    for element in root.walk():
        for what, tag in TAGS.items():
            if element.tag == tag:
                add(what, element)
        for what, attribute in ATTRIBUTES.items():
            if attribute in element.attributes:
                add(what, element)
    for element in inside(root, "equality"):
        add(element.attributes.get("name", ""), element)
    return found
