"""The small elements of URDF - numbers, origins, inertials, limits - as parts of the model.

Every function takes an XML element and raises a FormatError with its file and line if a number is missing, cannot be
read, is not finite, or is negative where that makes no sense.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.formats.angles import RADIANS, TURN, look_like_degrees
from dalembert.formats.arithmetic import LARGEST
from dalembert.formats.problems import Problems, together
from dalembert.formats.xml import Element
from dalembert.model.inertia import Inertia
from dalembert.model.joint import Limits

UNLIMITED = 1e30
"""Limits from here on mean that there is none; URDF has no other way to say so for a revolute joint."""

SNAP = 1e-11
"""Angles this close to a multiple of a right angle are that multiple: 1.57079632679 has eleven decimals."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INFINITY = re.compile(r"([+-]?)inf(?:inity)?", re.IGNORECASE)


@dataclass
class Findings:
    """What a reader noticed on the way; becomes the notes of the mechanism.

    Args:
        snapped: number of angles read as the multiple of a right angle they were close to.
        rescaled: axes that were not unit vectors, as sentences.
        massless: links without an inertial element, with their lines.
        limitless: joints with a limit that their type has no use for, with that type.
        boundless: joints whose limit names no effort or no velocity, with what is missing.
        rangeless: joints whose limit names no lower or no upper end, with what is missing.
        loose: mimic joints whose leader does not exist, words that were probably meant to be read, and angles that
            look like degrees, as sentences.
        skipped: elements that are not read, by tag.
        assumed: anything else worth a note.
        problems: what is wrong, to be raised when the whole file has been read.
    """

    snapped: int = 0
    rescaled: list[str] = field(default_factory=list)
    massless: list[str] = field(default_factory=list)
    limitless: list[str] = field(default_factory=list)
    boundless: list[str] = field(default_factory=list)
    rangeless: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    assumed: list[str] = field(default_factory=list)
    problems: Problems = field(default_factory=Problems)

    def skip_others(self, element: Element, known: set[str]) -> None:
        """Count the children of an element that are not read."""
        self.skipped.update(child.tag for child in element.children if child.tag not in known)

    def sentences(self) -> list[str]:
        """One note per kind of finding."""
        notes = [*self.assumed, *self.loose]
        if self.massless:
            notes.append(f"no <inertial>, so no mass and no inertia: {', '.join(self.massless)}")
        if self.limitless:
            notes.append(f"not read, because the joint has no such limit: <limit> of {', '.join(self.limitless)}")
        if self.boundless:
            notes.append(f"not limited, because <limit> does not name it: {', '.join(self.boundless)}")
        if self.rangeless:
            notes.append(f"0, as URDF has it, because <limit> does not name it: {', '.join(self.rangeless)}")
        if self.rescaled:
            notes.append(f"axes divided by their length: {', '.join(self.rescaled)}")
        if self.snapped:
            notes.append(f"{self.snapped} angles within {SNAP:g} rad of a multiple of pi/2 are read as that multiple")
        if self.skipped:
            tags = ", ".join(f"{tag} ({count})" for tag, count in sorted(self.skipped.items()))
            notes.append(f"elements that were not read: {tags}")
        return notes


def number(
    element: Element, name: str, default: float | None = None, *, least: float = -math.inf, infinite: bool = False
) -> float:
    """A numeric attribute.

    Args:
        element: the element that carries it.
        name: of the attribute.
        default: what a missing attribute means; None if it must be there.
        least: smallest allowed value.
        infinite: accept infinity, and read anything from ``UNLIMITED`` on as infinity.
    """
    if default is not None and name not in element.attributes:
        return default
    return _number(element, name, element.attribute(name).strip(), least, infinite)


def _number(element: Element, name: str, text: str, least: float = -math.inf, infinite: bool = False) -> float:
    where = f"<{element.tag}>: {name}"
    if _NUMBER.fullmatch(text):
        value = float(text)
    elif infinite and (match := _INFINITY.fullmatch(text)):
        value = -math.inf if match[1] == "-" else math.inf
    elif "${" in text:
        raise element.error(f"{where}={text!r} is a xacro expression; run the file through xacro first")
    else:
        mend = "; decimals come after a point, blanks separate numbers" if "," in text else ""
        raise element.error(f"{where}={text!r} is not a finite number{mend}")
    if infinite and abs(value) >= UNLIMITED:
        value = math.copysign(math.inf, value)
    elif abs(value) > LARGEST:
        raise element.error(f"{where}={text!r} is absurdly large")
    if value < least:
        wanted = "it must not be negative" if least == 0 else f"it must be at least {least:g}"
        raise element.error(f"{where}={text!r}: {wanted}")
    return value


def numbers(element: Element, name: str, count: int, default: tuple[float, ...] | None = None) -> tuple[float, ...]:
    """An attribute that holds several numbers, separated by blanks.

    Args:
        element: the element that carries it.
        name: of the attribute.
        count: how many numbers it must hold.
        default: what a missing attribute means; None if it must be there.
    """
    if default is not None and name not in element.attributes:
        return default
    words = element.attribute(name).split()
    if len(words) != count:
        raise element.error(f"<{element.tag}>: {name}={' '.join(words)!r} holds {len(words)} values, not {count}")
    return tuple(together(partial(_number, element, name, word) for word in words))


def origin(parent: Element, findings: Findings) -> Transform:
    """The pose in the ``<origin>`` of an element; identity if it has none.

    Args:
        parent: the element that may hold an origin.
        findings: counts the angles that were snapped to right angles.
    """
    element = parent.one("origin")
    if element is None:
        return Transform.identity()
    if "quat_xyzw" in element.attributes:
        raise element.error("<origin>: quat_xyzw is not supported; give the rotation as rpy")
    xyz, rpy = together(partial(numbers, element, name, 3, (0.0, 0.0, 0.0)) for name in ("xyz", "rpy"))
    angles = [snap(angle, findings) for angle in rpy]
    if max(map(abs, angles)) > TURN:
        findings.loose.append(f"line {element.line}: rpy={element.attributes['rpy']!r} is more than a turn; {RADIANS}")
    return Transform.from_rpy_xyz(np.array(angles), np.array(xyz))


def snap(angle: float, findings: Findings) -> float:
    """The multiple of pi/2 that is meant by an angle written with eleven decimals; other angles as they are."""
    quarters = round(angle / (math.pi / 2)) if abs(angle) < 100 else 0
    nearest = quarters * (math.pi / 2)
    if angle != nearest and abs(angle - nearest) <= SNAP:
        findings.snapped += 1
        return nearest
    return angle


def axis(joint: Element, findings: Findings) -> Array:
    """The unit vector of a joint's ``<axis>``; x if it has none.

    Args:
        joint: the joint element.
        findings: remembers axes that were not unit vectors.
    """
    element = joint.one("axis")
    if element is None:
        return np.array([1.0, 0.0, 0.0])
    name = joint.attributes["name"]
    vector = np.array(numbers(element, "xyz", 3, (1.0, 0.0, 0.0)))
    largest = float(np.max(np.abs(vector)))
    if largest < 1e-9:
        raise element.error(f"joint {name!r}: the axis {vector.tolist()} has length zero and gives no direction")
    length = largest * float(np.linalg.norm(vector / largest))
    if length == 1:
        return vector
    if abs(length - 1) > 1e-9:
        findings.rescaled.append(f"{name!r} (length {length:.7g})")
    return vector / length


def inertia(link: Element, findings: Findings) -> Inertia:
    """Mass distribution in link axes from the ``<inertial>`` of a link; zero if it has none.

    Args:
        link: the link element.
        findings: remembers links without an inertial.
    """
    element = link.one("inertial")
    if element is None:
        findings.massless.append(f"{link.attributes['name']!r} (line {link.line})")
        return Inertia()

    def tensor() -> Array:
        six = element.need("inertia")
        entries = together(partial(number, six, name) for name in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
        return np.array(entries)[[[0, 3, 4], [3, 1, 5], [4, 5, 2]]]

    def mass() -> float:
        return number(element.need("mass"), "value", least=0)

    parts: list[Any] = together((mass, tensor, partial(origin, element, findings)))
    about_center, pose = Inertia(parts[0], np.zeros(3), parts[1]), parts[2]
    if np.array_equal(pose.rotation, np.eye(3)):
        return about_center.replace(center=pose.translation)
    return about_center.moved(pose.rotation, pose.translation)


def limits(joint: Element, findings: Findings) -> Limits:
    """Range of a one-degree joint.

    Args:
        joint: the joint element; ``lower`` and ``upper`` of a revolute or prismatic one default to zero, as URDF says.
        findings: remembers joints whose limits are missing.
    """
    element, kind, name = joint.one("limit"), joint.attributes["type"], joint.attributes["name"]
    if element is None:
        if kind != "continuous":
            findings.assumed.append(f"joint {name!r} (line {joint.line}) has no <limit>: its range is not limited")
        return Limits()
    effort, velocity, lower, upper = together(
        [
            *(partial(number, element, key, math.inf, least=0, infinite=True) for key in ("effort", "velocity")),
            *(partial(number, element, key, 0.0, infinite=True) for key in ("lower", "upper")),
        ]
    )
    if missing := [key for key in ("effort", "velocity") if key not in element.attributes]:
        findings.boundless.append(f"{' and '.join(missing)} of {name!r}")
    if kind == "continuous":
        if {"lower", "upper"} & element.attributes.keys():
            findings.limitless.append(f"{name!r} (continuous, its range)")
        return Limits(velocity=velocity, effort=effort)
    if missing := [key for key in ("lower", "upper") if key not in element.attributes]:
        findings.rangeless.append(f"{' and '.join(missing)} of {name!r}")
    if lower > upper:
        raise element.error(f"joint {name!r}: the lower limit {lower:g} is above the upper limit {upper:g}")
    if kind == "revolute" and look_like_degrees(lower, upper):
        findings.loose.append(
            f"line {element.line}: joint {name!r} has the limits {lower:g} .. {upper:g} rad, which look like degrees; "
            + RADIANS
        )
    return Limits(lower, upper, velocity, effort)
