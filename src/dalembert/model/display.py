"""A mechanism as text: what ``print(mechanism)`` shows."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.rotations import rpy_from_rotation
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.model.body import WORLD, Frame, Shape
from dalembert.model.constraint import CONSTRAINT_KINDS, Constraint
from dalembert.model.contact import Contact
from dalembert.model.force import FORCE_KINDS, Force
from dalembert.model.formula import Formula
from dalembert.model.ground import Ground
from dalembert.model.inertia import Inertia
from dalembert.model.joint import JOINTS, KINDS, Joint
from dalembert.model.mechanism import Mechanism
from dalembert.text import tables
from dalembert.text.layout import counted, printable, wrapped
from dalembert.text.tables import TextTable

Block = list["str | TextTable"]
"""Sentences and tables without an empty line between."""


def table(mechanism: Mechanism) -> str:
    """The tree of bodies and joints, their inertias, frames, constraints and forces, conventions and assumptions."""
    blocks = [[line for part in block for line in _lines(part)] for block in _blocks(mechanism)]
    blocks += [[f"{title}:", *_items(sentences)] for title, sentences in _remarks(mechanism)]
    return "\n\n".join("\n".join(block) for block in blocks)


def _lines(part: str | TextTable) -> list[str]:
    return part.lines() if isinstance(part, TextTable) else wrapped(part)


def _items(sentences: Iterable[str]) -> list[str]:
    return [line for sentence in sentences for line in wrapped(printable(sentence), "  - ", "    ")]


def _blocks(mechanism: Mechanism) -> list[Block]:
    blocks = [
        _headline(mechanism),
        _tree(mechanism),
        _drives(mechanism),
        _inertias(mechanism),
        _frames(mechanism.frames),
        _constraints(mechanism),
        _forces(mechanism),
        _collisions(mechanism),
        _contacts(mechanism),
    ]
    return [block for block in blocks if block]


def _remarks(mechanism: Mechanism) -> list[tuple[str, list[str]]]:
    """Titles and what they are followed by, sentence by sentence."""
    doubts = [p for p in mechanism.problems() if not any(p in note for note in mechanism.notes)]
    found = [("Conventions", _conventions(mechanism)), ("Assumed", list(mechanism.notes)), ("Doubtful", doubts)]
    return [(title, sentences) for title, sentences in found if sentences]


def tree_lines(mechanism: Mechanism) -> list[str]:
    """One line per body, from the ground outwards, indented by its distance from the ground."""
    return [WORLD, *(indent + joint.child for joint, indent in _indented(mechanism))]


def as_html(mechanism: Mechanism) -> str:
    """The same for a notebook: tables, of which all but the tree are folded, beside a picture."""
    (headline, tree), others = _blocks(mechanism)[:2], _blocks(mechanism)[2:]
    parts = [tables.as_html(headline), tables.as_html(tree)]
    if others:
        parts.append(tables.folded("bodies, frames and forces", "\n".join(map(tables.as_html, others))))
    for title, sentences in _remarks(mechanism):
        items = "".join(f"<li>{html.escape(printable(sentence))}</li>" for sentence in sentences)
        parts.append(tables.folded(title, f"<ul>{items}</ul>"))
    return "\n".join(parts)


# -------------------------------------------------------------------------------------------------------------- blocks


def _headline(mechanism: Mechanism) -> Block:
    counts = f"{counted(len(mechanism.bodies), 'body', 'bodies')}, nq = {mechanism.nq}, nv = {mechanism.nv}"
    lines: Block = [
        f"{printable(mechanism.name)}: {counts}, mass {text(mechanism.mass)} kg, "
        f"gravity ({texts(mechanism.gravity)}) m/s^2"
    ]
    if mechanism.symbols:
        lines.append("symbols: " + ", ".join(symbol.name for symbol in mechanism.symbols))
    return lines


def _tree(mechanism: Mechanism) -> Block:
    rows = [[WORLD, "", "", "", "", "", ""]]
    for joint, indent in _indented(mechanism):
        q, v = (
            ("mimic", "") if joint.mimic else map(_span, (mechanism.q_slice(joint.name), mechanism.v_slice(joint.name)))
        )
        rows.append([indent + joint.child, joint.name, joint.kind, _axis(joint), q, v, _range(joint)])
    if mechanism.nq == mechanism.nv:
        for row in rows:
            row[5] = ""  # the same as in q
    return [TextTable.of(["body", "joint", "kind", "axis", "q", "v", "range"], rows)]


def _drives(mechanism: Mechanism) -> Block:
    """Everything else a joint carries."""
    rows = []
    for joint in mechanism.joints:
        most = (joint.limits.velocity, joint.limits.effort)
        cells = [_mimic(joint) if joint.mimic else ""]
        cells += ["" if scalar.is_zero(x) else text(x) for x in (joint.damping, joint.friction, joint.armature)]
        cells += [text(x) if math.isfinite(x) else "" for x in most]
        if any(cells):
            rows.append([joint.name, *cells])
    titles = ["joint", "position", "damping", "friction", "armature", "max speed", "max effort"]
    return [TextTable.of(titles, rows)] if rows else []


def _inertias(mechanism: Mechanism) -> Block:
    heavy = [body for body in mechanism.bodies if not body.inertia.is_zero]
    rows = [[body.name, text(body.inertia.mass), texts(body.inertia.center), _moments(body.inertia)] for body in heavy]
    titles = ["body", "mass (kg)", "centre of mass (m)", "principal moments (kg m^2)"]
    parts: Block = [TextTable.of(titles, rows)] if rows else []
    light = [body.name for body in mechanism.bodies if body.inertia.is_zero]
    return parts + (["without mass: " + ", ".join(light)] if light else [])


def _frames(frames: Sequence[Frame]) -> Block:
    rows = [[frame.name, frame.body, *_placement(frame.placement)] for frame in frames]
    return [TextTable.of(["frame", "on body", "position (m)", "roll pitch yaw (rad)"], rows)] if rows else []


def _constraints(mechanism: Mechanism) -> Block:
    rows = []
    for item in mechanism.constraints:
        extra = [f"{'distance' if item.kind == 'distance' else 'radius'} {text(item.value)}" for _ in item.numbers]
        meaning = CONSTRAINT_KINDS[item.kind]
        if item.on_joints and item.coefficients:
            meaning = _relation(item)
        elif item.coefficients:
            extra.append(f"coefficients {texts(item.coefficients)}")
        elif isinstance(item.function, Formula):
            law = texts(item.function.expressions)
            meaning = f"a = {law} (position of the joint)" if item.kind == "motion" else f"{meaning}; function {law}"
        ends = [getattr(item, end) if end in item.ends else "" for end in "ab"]
        rows.append([item.name, item.kind, *ends, "; ".join([meaning, *extra, *_attachments(item)])])
    return [TextTable.of(["constraint", "kind", "a", "b", "meaning"], rows, True)] if rows else []


def _relation(item: Constraint) -> str:
    """The polynomial of a coupling or a motion, in its ends a and b."""
    variable = "t" if item.kind == "motion" else "a"
    terms = []
    for k, x in enumerate(item.coefficients):
        power = "" if k == 0 else variable if k == 1 else f"{variable}^{k}"
        factor = f"({x})" if power and getattr(x, "is_Add", False) else text(x)
        if not scalar.is_zero(x):
            terms.append(power if power and factor == "1" else f"{factor} {power}".rstrip())
    left = item.ends[-1]
    joints = "positions of the joints" if left == "b" else "position of the joint"
    return f"{left} = {' + '.join(terms) or '0'}".replace("+ -", "- ") + f" ({joints})"


def _forces(mechanism: Mechanism) -> Block:
    rows = []
    for item in mechanism.forces:
        numbers = [f"{name} {text(getattr(item, name))}" for name in item.numbers if _matters(getattr(item, name))]
        numbers += [f"components {texts(item.components)}"] if item.components else []
        numbers += [f"function {texts(item.function.expressions)}"] if isinstance(item.function, Formula) else []
        ends = [getattr(item, end) if end in item.ends else "" for end in "ab"]
        rows.append([item.name, item.kind, *ends, "; ".join([FORCE_KINDS[item.kind], *numbers, *_attachments(item)])])
    return [TextTable.of(["force", "kind", "a", "b", "meaning"], rows, True)] if rows else []


def _collisions(mechanism: Mechanism) -> Block:
    """How many shapes of each kind may touch, for bodies that have any."""
    rows = []
    for body in mechanism.bodies:
        kinds = Counter(shape.kind for shape in body.collisions)
        if kinds:
            rows.append([body.name, ", ".join(f"{count} {kind}" for kind, count in kinds.items())])
    return [TextTable.of(["body", "collision shapes"], rows)] if rows else []


def _contacts(mechanism: Mechanism) -> Block:
    rows = [[item.name, item.a, item.b, contact_words(item)] for item in mechanism.contacts]
    return [TextTable.of(["contact", "a", "b", "shapes and numbers"], rows, True)] if rows else []


def contact_words(item: Contact) -> str:
    """Shapes and numbers of a contact in words."""
    kinds = [shape_words(shape) for shape in (item.shape_a, item.shape_b)]
    numbers = [f"{name} {text(getattr(item, name))}" for name in item.numbers if _matters(getattr(item, name))]
    return "; ".join([f"{kinds[0]} on {kinds[1]}", *numbers])


def shape_words(shape: Shape | Ground) -> str:
    """Kind and sizes of a shape in words."""
    if isinstance(shape, Ground):
        return str(shape)
    if shape.kind in ("points", "mesh"):
        what = (
            "mesh"
            if shape.kind == "mesh" and not shape.vertices
            else counted(len(shape.vertices), "vertex", "vertices")
        )
        return f"hull of {what}" if shape.kind == "mesh" and shape.vertices else what
    return f"{shape.kind} {texts(shape.size)}"


def _attachments(item: Constraint | Force) -> list[str]:
    """Where on its bodies an element is attached, and how it is turned there, unless that is their own frame."""
    found = []
    for name in item.placements:
        placement = getattr(item, name)
        if scalar.same(placement, Transform.identity()):
            continue
        position, angles = _placement(placement)
        turned = not all(scalar.is_zero(x) for x in (placement.rotation - np.eye(3, dtype=int)).ravel())
        turn = "" if not turned else ", turned" if angles == "symbolic" else f", turned by roll pitch yaw ({angles})"
        found.append(f"at ({position}) of {name.removeprefix('placement_')}{turn}")
    return found


def _matters(x: Scalar) -> bool:
    return not scalar.is_zero(x) and not (scalar.is_number(x) and math.isinf(x))


def _conventions(mechanism: Mechanism) -> list[str]:
    kinds = {joint.kind for joint in mechanism.joints}
    lines = [
        "SI units, radians. A body's frame is its joint's frame after the motion; axes are in the joint frame. Centres "
        "of mass are in body axes, moments about the centre of mass.",
        "Limits, damping, friction and armature are data: no result contains them unless asked for by name.",
    ]
    if "free" in kinds:
        lines.append(
            "free: q = [x y z, quaternion x y z w], v = [velocity of the origin in the axes of the joint frame at zero "
            "(the world's, unless the joint is placed turned); angular velocity in body axes]."
        )
    if "spherical" in kinds:
        lines.append("spherical: q = quaternion x y z w, v = angular velocity in body axes.")
    lines += [f"{kind}: {KINDS[kind]}." for kind in ("helical", "cylindrical", "universal") if kind in kinds]
    if "planar" in kinds:
        lines.append(
            f"planar: {KINDS['planar']}. The first two are along x, y for axis z, along y, z for axis x and along z, x "
            "for axis y; else along x and y turned with z the shortest way onto the axis, x and -y with -z if it "
            "points down."
        )
    symbolic = [j.name for j in mechanism.joints if JOINTS[j.kind].directions and scalar.is_symbolic(j.axis)]
    if symbolic:
        lines.append(f"Axes with symbols are taken to have length one: {', '.join(map(repr, symbolic))}.")
    return lines


# --------------------------------------------------------------------------------------------------------------- cells


def text(x: Scalar) -> str:
    """A number with four digits, or a symbol as it is written."""
    return f"{x:.4g}" if scalar.is_number(x) else str(x)


def texts(entries: Iterable[Scalar]) -> str:
    """Several numbers or symbols, with commas between."""
    return ", ".join(text(0 if scalar.is_zero(x) else x) for x in entries)


def _indented(mechanism: Mechanism) -> list[tuple[Joint, str]]:
    """Joints with the indentation of their child; a number in front instead where the tree is too deep for that."""
    depth = {WORLD: 0}
    for joint in mechanism.joints:
        depth[joint.child] = depth[joint.parent] + 1
    deepest = max(depth.values())
    step = "  " if deepest <= 12 else " "
    return [
        (joint, step * depth[joint.child] if deepest <= 24 else f"{depth[joint.child]:>3} ")
        for joint in mechanism.joints
    ]


def _axis(joint: Joint) -> str:
    has = JOINTS[joint.kind].directions
    shown = _direction(joint.axis) if "axis" in has else ""
    if "axis2" in has:
        shown += f" then {_direction(joint.axis2)}"
    return f"{shown}, pitch {text(joint.pitch)}" if "pitch" in has else shown


def _direction(axis: Any) -> str:
    for k, name in enumerate("xyz"):
        others = [axis[i] for i in range(3) if i != k]
        if all(scalar.is_zero(x) for x in others) and scalar.is_number(axis[k]) and abs(axis[k]) == 1:
            return name if axis[k] > 0 else f"-{name}"
    return f"({texts(axis)})"


def _span(part: slice) -> str:
    count = part.stop - part.start
    return "" if not count else str(part.start) if count == 1 else f"{part.start}..{part.stop - 1}"


def _mimic(joint: Joint) -> str:
    follow = joint.mimic
    assert follow is not None
    gain = {1: "", -1: "-"}.get(follow.multiplier, f"{text(follow.multiplier)} ")
    offset = "" if scalar.is_zero(follow.offset) else f" + {text(follow.offset)}"
    return f"= {gain}{follow.joint}{offset}".replace("+ -", "- ")


def _range(joint: Joint) -> str:
    low, high = joint.limits.lower, joint.limits.upper
    return f"{text(low)} .. {text(high)}" if math.isfinite(low) or math.isfinite(high) else ""


def _moments(inertia: Inertia) -> str:
    tensor = inertia.tensor
    if tensor.dtype != object:
        return texts(np.linalg.eigvalsh((tensor + tensor.T) / 2))
    diagonal = texts(tensor.diagonal())
    products = [tensor[0, 1], tensor[0, 2], tensor[1, 2]]
    return (
        diagonal
        if all(scalar.is_zero(x) for x in products)
        else f"xx, yy, zz: {diagonal}; xy, xz, yz: {texts(products)}"
    )


def _placement(placement: Transform) -> tuple[str, str]:
    turned = placement.rotation
    return texts(placement.translation), "symbolic" if turned.dtype == object else texts(rpy_from_rotation(turned))
