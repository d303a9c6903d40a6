"""Reader for URDF, the Unified Robot Description Format.

All joint types of the format are read: revolute, continuous, prismatic, fixed, floating (kind ``free``) and planar
(axis = normal of the plane); mimic joints; inertials in turned frames. Meshes need not exist. Whatever was assumed is
in the mechanism's ``notes``; what is doubtful is also a :class:`~dalembert.errors.ModelWarning`; what is wrong is a
:class:`~dalembert.errors.FormatError` with file and line.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.errors import FormatError, ModelWarning
from dalembert.formats.problems import RADIANS, TURN, Problems, look_like_degrees, together
from dalembert.formats.registry import OTHERS, by_root
from dalembert.formats.xml import TEXT, Element, read_xml
from dalembert.model.body import WORLD, Body, Shape
from dalembert.model.checks import expect_choice
from dalembert.model.expression import LARGEST
from dalembert.model.inertia import Inertia
from dalembert.model.joint import Joint, Limits, Mimic
from dalembert.model.mechanism import Mechanism
from dalembert.model.validation import impossible_inertias
from dalembert.text.suggest import hint, near

# ------------------------------------------------------------------------------------------------------------ the robot


KINDS = {
    "revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed",
    "floating": "free", "planar": "planar",
}  # fmt: skip
"""URDF joint types and the kinds of the model."""

ONE_DEGREE = ("revolute", "continuous", "prismatic")


def read_urdf(source: str | bytes | Path, base: str = "fixed", strict: bool = False) -> Mechanism:
    """Read a robot from a URDF file.

    The root link hangs on the ground by a joint ``root_joint``. With a fixed base a root link called ``world`` is the
    ground itself.

    Args:
        source: a path, or the URDF itself: bytes, or a string whose first character is ``<``.
        base: ``"fixed"`` to the ground or ``"free"`` to move; how the root link is attached.
        strict: refuse inertias that no real body can have, and mimic joints whose leader does not exist; otherwise
            they are kept (the joint then moves on its own), with a warning.
    """
    expect_choice(base, ("fixed", "free"), "read_urdf: base =")
    robot = read_xml(source)
    if robot.tag != "robot":
        meant = by_root(robot.tag)
        hint = f"; this file is {meant.name}" if meant else OTHERS.get(f".{robot.tag}", "")
        raise robot.error(f"a URDF file has the root element <robot>, this one has <{robot.tag}>{hint}")
    findings = Findings()
    findings.skip_others(robot, {"link", "joint", "material"})
    _refuse_templates(robot)
    findings.loose += doubtful_words(robot)
    findings.assumed += other_attributes(robot)

    problems = findings.problems
    links = _named(robot.all("link"), "link", problems)
    joints = _named(robot.all("joint"), "joint", problems)
    if not (links or problems):
        raise robot.error("the robot has no <link>")
    root = problems.attempt(lambda: _root(links, joints, problems), "")
    rename = _ground(links, root, base, findings)
    bodies = tuple(_bodies(robot, links, rename, findings))
    moving = tuple(_joints(root, joints, rename, base, strict, findings))
    if problems and strict:
        lines = {rename[name]: link.line for name, link in links.items()}
        for body in bodies:
            problems.found += (
                FormatError(sentence, robot.file, lines[body.name]) for sentence in impossible_inertias([body])
            )
    problems.raise_all()
    mechanism = Mechanism(
        name=_name(robot, findings), bodies=bodies, joints=moving, notes=tuple(findings.sentences()), strict=strict
    )
    if findings.massless:
        _warn(f"{robot.file}: no <inertial>, so no mass and no inertia: {', '.join(findings.massless)}")
    for sentence in findings.loose:
        _warn(f"{robot.file}: {sentence}")
    doubts = mechanism.problems()
    if doubts:
        _warn("\n  - ".join([f"{robot.file}: kept although doubtful, for the file is not read strictly:", *doubts]))
        mechanism = mechanism.replace(notes=(*mechanism.notes, *(f"kept although doubtful: {d}" for d in doubts)))
    return mechanism


def _refuse_templates(robot: Element) -> None:
    for element in robot.walk():
        names = [element.attributes.get(key, "") for key in ("name", "link", "joint")]
        if element.tag.startswith("xacro:") or any("${" in name or "$(" in name for name in names):
            raise element.error("this is a xacro template; name the file .xacro, or run it through xacro first")


def _warn(message: str) -> None:
    warnings.warn(message, ModelWarning, stacklevel=3)


def _name(robot: Element, findings: Findings) -> str:
    name = robot.attributes.get("name", "").strip()
    if name:
        return name
    findings.assumed.append("the robot has no name")
    return "robot" if robot.file == TEXT else Path(robot.file).stem


def _named(elements: Iterable[Element], what: str, problems: Problems) -> dict[str, Element]:
    found: dict[str, Element] = {}

    def add(element: Element) -> None:
        name = element.attribute("name")
        if not name.isprintable():
            raise element.error(f"the {what} name {name!r} contains characters that cannot be printed")
        if name in found:
            raise element.error(
                f"the {what} name {name!r} is used already on line {found[name].line}; names are unique"
            )
        found[name] = element

    for element in elements:
        problems.attempt(partial(add, element), None)
    return found


# ------------------------------------------------------------------------------------------------------- structure


def _ends(joint: Element, links: dict[str, Element]) -> tuple[str, str]:
    """Names of the parent and the child link of a joint."""
    ends = []
    for role in ("parent", "child"):
        element = joint.need(role)
        name = element.attribute("link")
        if name not in links:
            problem = f"joint {joint.attributes['name']!r}: the {role} link {name!r} does not exist"
            raise element.error(problem + hint(name, links))
        ends.append(name)
    if ends[0] == ends[1]:
        raise joint.error(f"joint {joint.attributes['name']!r} connects link {ends[0]!r} to itself")
    return ends[0], ends[1]


def _root(links: dict[str, Element], joints: dict[str, Element], problems: Problems) -> str:
    """The one link that is nobody's child; everything must hang on it."""
    carrier: dict[str, str] = {}
    children: dict[str, list[str]] = {name: [] for name in links}

    def hang(name: str, joint: Element) -> None:
        parent, child = _ends(joint, links)
        if child in carrier:
            first = carrier[child]
            raise joint.error(
                f"link {child!r} is the child of two joints, {first!r} (line {joints[first].line}) and {name!r}; "
                "URDF describes trees only"
            )
        carrier[child] = name
        children[parent].append(child)

    for name, joint in joints.items():
        problems.attempt(partial(hang, name, joint), None)
    if problems:
        return ""  # with a name or an end missing, nothing can be said of the rest
    roots = [name for name in links if name not in carrier]
    if len(roots) > 1:
        listed = ", ".join(f"{name!r} (line {links[name].line})" for name in roots)
        raise links[roots[1]].error(f"the links {listed} have no parent; a robot has one root, join the others to it")
    reached = list(roots)
    for name in reached:  # grows while it is walked through
        reached += children[name]
    hanging = set(reached)
    if len(hanging) < len(links):
        loop = [name for name in links if name not in hanging]
        raise joints[carrier[loop[0]]].error(f"the links {', '.join(map(repr, loop))} form a loop without a root")
    return roots[0]


def _ground(links: dict[str, Element], root: str, base: str, findings: Findings) -> dict[str, str]:
    """Body name of every link; the ground for a fixed root called world."""
    rename = {name: name for name in links}
    if WORLD not in links:
        return rename
    world = links[WORLD]
    if root == WORLD and base == "fixed":
        dropped = [tag for tag in ("inertial", "visual", "collision") if any(world.all(tag))]
        if dropped:
            findings.problems.attempt(lambda: inertia(world, findings), None)  # only to check its numbers
            findings.assumed.append(f"link {WORLD!r} is the ground, without its {' and '.join(dropped)}")
        return rename
    rename[WORLD] = _free_name(f"{WORLD}_link", links)
    findings.assumed.append(f"link {WORLD!r} is not the ground here and was renamed to {rename[WORLD]!r}")
    return rename


def _free_name(wish: str, taken: Iterable[str]) -> str:
    taken = set(taken)
    while wish in taken:
        wish += "_"
    return wish


# ---------------------------------------------------------------------------------------------------- bodies, joints


def _bodies(robot: Element, links: dict[str, Element], rename: dict[str, str], findings: Findings) -> Iterable[Body]:
    named = findings.problems.attempt(lambda: colours(robot, findings), {})
    for name, link in links.items():
        findings.skip_others(link, {"inertial", "visual", "collision"})
        if rename[name] != WORLD:
            empty = name == WORLD and not any(link.all("inertial"))  # a name for the ground, not a forgotten mass
            attempt = findings.problems.attempt
            matter = Inertia() if empty else attempt(partial(inertia, link, findings), Inertia())
            look = attempt(partial(shapes, link, named, findings), ())
            yield Body(rename[name], matter, look, attempt(partial(collisions, link, findings), ()))


def _joints(
    root: str, joints: dict[str, Element], rename: dict[str, str], base: str, strict: bool, findings: Findings
) -> Iterable[Joint]:
    attempt = findings.problems.attempt
    if rename.get(root, WORLD) != WORLD:
        yield Joint(_free_name("root_joint", joints), base, WORLD, rename[root])
    for name, joint in joints.items():
        findings.skip_others(joint, {"parent", "child", "origin", "axis", "limit", "dynamics", "mimic"})
        kind = attempt(partial(_kind, joint), "fixed")
        ends = attempt(partial(_body_names, joint, rename), (WORLD, WORLD))
        more: dict[str, Any] = attempt(partial(_dynamics, joint), {})
        if kind in (*ONE_DEGREE, "planar"):
            more["axis"] = attempt(partial(axis, joint, findings), (0, 0, 1))
        if kind in ONE_DEGREE:
            more["limits"] = attempt(partial(limits, joint, findings), Limits())
        elif any(joint.all("limit")):
            findings.limitless.append(f"{name!r} ({joint.attributes.get('type')})")
        more["mimic"] = attempt(partial(_mimic, joint, joints, strict, findings), None)
        placement = attempt(partial(origin, joint, findings), Transform.identity())
        yield Joint(name, kind, *ends, placement, **more)


def _body_names(joint: Element, rename: dict[str, str]) -> tuple[str, str]:
    parent, child = (rename.get(joint.need(role).attribute("link"), WORLD) for role in ("parent", "child"))
    return parent, child


def _dynamics(joint: Element) -> dict[str, Any]:
    element = joint.one("dynamics")
    if element is None:
        return {}
    damping, friction = together(partial(number, element, key, 0.0, least=0) for key in ("damping", "friction"))
    return {"damping": damping, "friction": friction}


def _kind(joint: Element) -> str:
    written = joint.attribute("type")
    if written not in KINDS:
        raise joint.error(f"joint {joint.attributes['name']!r}: unknown type {written!r}; URDF has {', '.join(KINDS)}")
    return KINDS[written]


def _mimic(joint: Element, joints: dict[str, Element], strict: bool, findings: Findings) -> Mimic | None:
    """The leader at the end of the chain of mimics: q = m1 (m2 (... q_leader + o2)) + o1."""
    multiplier, offset = 1.0, 0.0
    chain = [joint.attributes["name"]]
    element = joint.one("mimic")
    if element is None:
        return None
    if _kind(joint) == "fixed":
        findings.assumed.append(f"joint {chain[0]!r} is fixed; its <mimic> (line {element.line}) means nothing")
        return None
    while element is not None:
        name = element.attribute("joint")
        if name not in joints:
            problem = f"joint {chain[-1]!r} mimics {name!r}, which does not exist{hint(name, joints)}"
            if strict:
                raise element.error(problem)
            findings.loose.append(f"line {element.line}: {problem}; joint {chain[0]!r} moves on its own")
            return None
        if name in chain:
            raise element.error(f"the mimic joints {' -> '.join(map(repr, [*chain, name]))} lead in a circle")
        defaults = {"multiplier": 1.0, "offset": 0.0}
        ratio, shift = together(partial(number, element, key, value) for key, value in defaults.items())
        offset, multiplier = offset + multiplier * shift, multiplier * ratio
        chain.append(name)
        element = joints[name].one("mimic")
    for name in (chain[0], chain[-1]):
        if _kind(joints[name]) not in ONE_DEGREE:
            raise joint.error(
                f"joint {chain[0]!r} mimics {chain[-1]!r}, but {name!r} is {_kind(joints[name])}: "
                "both must have one degree of freedom. Leave the <mimic> out and state the relation as a Constraint of "
                "kind 'position', or build the joint from joints of one degree in series"
            )
    if len(chain) > 2:
        findings.assumed.append(f"joint {chain[0]!r} follows {chain[-1]!r} through {', '.join(map(repr, chain[1:-1]))}")
    return Mimic(chain[-1], multiplier, offset)


# ------------------------------------------------------------------------------------------------------------- elements


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
        remedy = "; decimals come after a point, blanks separate numbers" if "," in text else ""
        raise element.error(f"{where}={text!r} is not a finite number{remedy}")
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
    """Mass distribution in link axes from the ``<inertial>`` of a link; zero if it has none."""
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


# --------------------------------------------------------------------------------------------------------------- shapes


Colour = tuple[float, float, float, float]


def colours(robot: Element, findings: Findings) -> dict[str, Colour]:
    """Colours of the named materials of a robot."""
    found: dict[str, Colour] = {}
    for material in robot.all("material"):
        colour = _colour(material, findings)
        if colour and material.attributes.get("name"):
            found[material.attributes["name"]] = colour
    return found


def _colour(material: Element, findings: Findings) -> Colour | None:
    element = material.one("color")
    if element is None:
        return None
    rgba = numbers(element, "rgba", 4)
    clipped: Any = tuple(min(max(x, 0.0), 1.0) for x in rgba)
    if clipped != rgba:
        findings.assumed.append(f"colour {rgba} (line {element.line}) is not within 0..1 and was clipped")
    return clipped


def shapes(link: Element, named: dict[str, Colour], findings: Findings) -> tuple[Shape, ...]:
    """The visual geometry of a link."""
    found = []
    for visual in link.all("visual"):
        placement = origin(visual, findings)
        material = visual.one("material")
        colour = None
        if material is not None:
            colour = _colour(material, findings) or named.get(material.attributes.get("name", ""))
        for element in visual.need("geometry").children:
            shape = _shape(element)
            if shape is None:
                findings.skipped[f"visual {element.tag}"] += 1
                continue
            found.append(shape.replace(placement=placement, **({"colour": colour} if colour else {})))
    return tuple(found)


def collisions(link: Element, findings: Findings) -> tuple[Shape, ...]:
    """The collision geometry of a link; what has no extent cannot touch and is left out, with a warning."""
    found = []
    for collision in link.all("collision"):
        placement = origin(collision, findings)
        geometry = collision.one("geometry")
        for element in geometry.children if geometry else ():
            shape = _shape(element)
            if shape is None:
                findings.skipped[f"collision {element.tag}"] += 1
            elif shape.kind != "mesh" and not all(shape.size):
                findings.loose.append(
                    f"line {element.line}: the collision <{element.tag}> of link {link.attributes['name']!r} has a "
                    "size of 0 and was left out; it cannot touch"
                )
            else:
                found.append(shape.replace(placement=placement, name=collision.attributes.get("name", "")))
        if geometry is None:
            findings.skipped["collision"] += 1
    return tuple(found)


def _shape(element: Element) -> Shape | None:
    match element.tag:
        case "box":
            size = numbers(element, "size", 3)
            if min(size) < 0:
                raise element.error(f"<box>: size {size} must not be negative")
            return Shape("box", size)
        case "sphere":
            return Shape("sphere", (number(element, "radius", least=0),))
        case "cylinder" | "capsule":
            return Shape(element.tag, (number(element, "radius", least=0), number(element, "length", least=0)))
        case "mesh":
            return Shape("mesh", numbers(element, "scale", 3, (1.0, 1.0, 1.0)), mesh=element.attribute("filename"))
    return None


# ---------------------------------------------------------------------------------------------------- what nobody reads


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
    """Sentences about elements and attributes that are not read but look as if they were meant to be."""
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
    """One sentence that counts the attributes of other programs, or none."""
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
