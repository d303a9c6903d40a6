"""Reader for URDF, the Unified Robot Description Format.

All joint types of the format are read: revolute, continuous, prismatic, fixed, floating (kind ``free``) and planar
(axis = normal of the plane); mimic joints; inertials in turned frames. Meshes need not exist. Whatever was assumed is
in the mechanism's ``notes``; what is doubtful is also a :class:`~dalembert.errors.ModelWarning`; what is wrong is a
:class:`~dalembert.errors.FormatError` with file and line.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from dalembert.algebra.transform import Transform
from dalembert.errors import FormatError, ModelWarning
from dalembert.formats import urdf_elements as parts
from dalembert.formats.problems import Problems, together
from dalembert.formats.urdf_elements import Findings
from dalembert.formats.urdf_unread import doubtful_words, other_attributes
from dalembert.formats.urdf_visuals import colours, shapes
from dalembert.formats.xml import TEXT, Element, read_xml
from dalembert.model.body import WORLD, Body
from dalembert.model.checks import expect_choice
from dalembert.model.inertia import Inertia
from dalembert.model.joint import Joint, Limits, Mimic
from dalembert.model.mechanism import Mechanism
from dalembert.model.validation import impossible_inertias
from dalembert.text.suggest import hint

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
        hint = {"mujoco": "; this is an MJCF file", "sdf": "; SDF is another format"}.get(robot.tag, "")
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
        _warn("\n  - ".join([f"{robot.file}: kept although doubtful (strict=True refuses it):", *doubts]))
        mechanism = mechanism.replace(notes=(*mechanism.notes, *(f"kept although doubtful: {d}" for d in doubts)))
    return mechanism


def _refuse_templates(robot: Element) -> None:
    for element in robot.walk():
        names = [element.attributes.get(key, "") for key in ("name", "link", "joint")]
        if element.tag.startswith("xacro:") or any("${" in name or "$(" in name for name in names):
            raise element.error("this is a xacro template; run it through xacro first: xacro robot.xacro > robot.urdf")


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
        dropped = [tag for tag in ("inertial", "visual") if any(world.all(tag))]
        if dropped:
            findings.problems.attempt(lambda: parts.inertia(world, findings), None)  # only to check its numbers
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
        findings.skip_others(link, {"inertial", "visual"})
        if rename[name] != WORLD:
            empty = name == WORLD and not any(link.all("inertial"))  # a name for the ground, not a forgotten mass
            attempt = findings.problems.attempt
            matter = Inertia() if empty else attempt(partial(parts.inertia, link, findings), Inertia())
            yield Body(rename[name], matter, attempt(partial(shapes, link, named, findings), ()))


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
            more["axis"] = attempt(partial(parts.axis, joint, findings), (0, 0, 1))
        if kind in ONE_DEGREE:
            more["limits"] = attempt(partial(parts.limits, joint, findings), Limits())
        elif any(joint.all("limit")):
            findings.limitless.append(f"{name!r} ({joint.attributes.get('type')})")
        more["mimic"] = attempt(partial(_mimic, joint, joints, strict, findings), None)
        placement = attempt(partial(parts.origin, joint, findings), Transform.identity())
        yield Joint(name, kind, *ends, placement, **more)


def _body_names(joint: Element, rename: dict[str, str]) -> tuple[str, str]:
    parent, child = (rename.get(joint.need(role).attribute("link"), WORLD) for role in ("parent", "child"))
    return parent, child


def _dynamics(joint: Element) -> dict[str, Any]:
    element = joint.one("dynamics")
    if element is None:
        return {}
    damping, friction = together(partial(parts.number, element, key, 0.0, least=0) for key in ("damping", "friction"))
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
        ratio, shift = together(partial(parts.number, element, key, value) for key, value in defaults.items())
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
