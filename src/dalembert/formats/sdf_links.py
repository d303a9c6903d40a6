"""Elements of SDF whose text is a value - numbers, poses, words - and what links are made of."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.quaternions import rotation_from_quaternion
from dalembert.algebra.transform import Transform
from dalembert.formats.xml import Element
from dalembert.model.body import Shape, Surface
from dalembert.model.expression import LARGEST
from dalembert.model.inertia import Inertia

SKIPPED = {
    "silent": frozenset({
        "pose", "static", "self_collide", "allow_auto_disable", "enable_wind", "gravity", "physics", "scene", "light",
        "gui", "audio", "plugin", "spherical_coordinates", "magnetic_field", "wind", "atmosphere", "state", "road",
        "placement_frame",
    }),
    "link": frozenset({
        "pose", "inertial", "visual", "collision", "gravity", "self_collide", "kinematic", "must_be_base_link",
        "enable_wind", "velocity_decay", "sensor", "light", "projector", "plugin",
    }),
    "joint": frozenset({
        "parent", "child", "pose", "axis", "axis2", "thread_pitch", "screw_thread_pitch", "physics", "sensor", "plugin",
    }),
}  # fmt: skip
"""What is read, or has nothing to do with the mechanics of a model; everything else gets a note."""

SNAP = 1e-11
"""Angles this close to a multiple of a right angle are that multiple."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def word(element: Element) -> str:
    """The text of an element, which must not be empty."""
    text = element.text.strip()
    if not text:
        raise element.error(f"<{element.tag}> is empty")
    return text


def boolean(element: Element) -> bool:
    """The truth value in an element."""
    text = element.text.strip().lower()
    if text not in ("true", "false", "1", "0"):
        raise element.error(f"<{element.tag}> is {text!r}; it must be true or false")
    return text in ("true", "1")


def number(element: Element, *, least: float = -math.inf, infinite: bool = False) -> float:
    """The number in an element.

    Args:
        least: smallest allowed value.
        infinite: accept infinity.
    """
    (value,) = numbers(element, 1, infinite)
    if value < least:
        raise element.error(f"<{element.tag}> is {value:g}; it must be at least {least:g}")
    return value


def numbers(element: Element, count: int, infinite: bool = False) -> tuple[float, ...]:
    """The numbers in an element.

    Args:
        count: how many there must be.
        infinite: accept infinity.
    """
    words = element.text.split()
    if len(words) != count:
        raise element.error(f"<{element.tag}> holds {len(words)} values, not {count}")
    found = []
    for text in words:
        if infinite and text.lower().lstrip("+-") in ("inf", "infinity"):
            found.append(-math.inf if text.startswith("-") else math.inf)
        elif _NUMBER.fullmatch(text) and (abs(float(text)) <= LARGEST or infinite):
            found.append(float(text))
        else:
            raise element.error(f"<{element.tag}>: {text!r} is not a finite number of reasonable size")
    return tuple(found)


def pose(element: Element | None) -> Transform:
    """The transform in a ``<pose>``; identity if there is none or nothing in it."""
    if element is None or not element.text.strip():
        return Transform.identity()
    form = element.attributes.get("rotation_format", "euler_rpy")
    if form == "quat_xyzw":
        *xyz, x, y, z, w = numbers(element, 7)
        length = math.sqrt(x * x + y * y + z * z + w * w)
        if not length > 1e-9:
            raise element.error("<pose>: the quaternion has length zero")
        rotation = rotation_from_quaternion(np.array([x, y, z, w]) / length)
        return Transform(rotation, np.array(xyz))
    if form != "euler_rpy":
        raise element.error(f"<pose>: rotation_format {form!r} is not known; there are euler_rpy and quat_xyzw")
    *xyz, roll, pitch, yaw = numbers(element, 6)
    degrees = element.attributes.get("degrees", "false").strip().lower() in ("true", "1")
    angles = [_snapped(math.radians(x) if degrees else x) for x in (roll, pitch, yaw)]
    return Transform.from_rpy_xyz(np.array(angles), np.array(xyz))


def _snapped(angle: float) -> float:
    nearest = round(angle / (math.pi / 2)) * (math.pi / 2) if abs(angle) < 100 else angle
    return nearest if abs(angle - nearest) <= SNAP else angle


def inertia(link: Element | None) -> Inertia | None:
    """Mass distribution of a link in its axes; None if it has no ``<inertial>``, and for None what SDF says then."""
    if link is None:
        return Inertia(1.0, np.zeros(3), np.eye(3))
    element = link.one("inertial")
    if element is None:
        return None
    mass = element.one("mass")
    six = element.one("inertia")
    tensor: Array = np.eye(3)
    if six is not None:
        values = {}
        for name, default in (("ixx", 1.0), ("iyy", 1.0), ("izz", 1.0), ("ixy", 0.0), ("ixz", 0.0), ("iyz", 0.0)):
            inside = six.one(name)
            values[name] = default if inside is None else number(inside)
        tensor = np.array(
            [[values[name] for name in row.split()] for row in ("ixx ixy ixz", "ixy iyy iyz", "ixz iyz izz")]
        )
    about_center = Inertia(1.0 if mass is None else number(mass, least=0), np.zeros(3), tensor)
    at = pose(element.one("pose"))
    if np.array_equal(at.rotation, np.eye(3)):
        return about_center.replace(center=at.translation)
    return about_center.moved(at.rotation, at.translation)


# --------------------------------------------------------------------------------------------------------------- shapes


def shapes(link: Element, notes: list[str]) -> tuple[Shape, ...]:
    """The visual geometry of a link."""
    found = []
    for visual in link.all("visual"):
        for shape in _geometry(visual, notes):
            colour = _colour(visual)
            found.append(shape.replace(**({"colour": colour} if colour else {})))
    return tuple(found)


def collisions(link: Element, notes: list[str]) -> tuple[Shape, ...]:
    """The collision geometry of a link, with its coefficient of friction."""
    found = []
    for collision in link.all("collision"):
        for shape in _geometry(collision, notes):
            if shape.kind != "mesh" and not all(shape.size):
                notes.append(f"line {collision.line}: a <collision> of size 0 was left out; it cannot touch")
                continue
            surface = _surface(collision)
            found.append(shape.replace(name=collision.attributes.get("name", ""), surface=surface))
    return tuple(found)


def _geometry(parent: Element, notes: list[str]) -> list[Shape]:
    if parent.one("geometry") is None:
        notes.append(f"line {parent.line}: <{parent.tag}> without <geometry> was not read")
        return []
    placement = pose(parent.one("pose"))
    if parent.one("pose") is not None and parent.need("pose").attributes.get("relative_to", "").strip():
        notes.append(f"line {parent.line}: <{parent.tag}> relative to another frame than its link was not read")
        return []
    found = []
    for element in parent.need("geometry").children:
        shape = _shape(element)
        if shape is None:
            if element.tag != "empty":
                notes.append(f"line {element.line}: <{parent.tag}> of <{element.tag}> was not read")
            continue
        found.append(shape.replace(placement=placement))
    return found


def _shape(element: Element) -> Shape | None:
    def size(tag: str) -> float:
        return number(element.need(tag), least=0)

    match element.tag:
        case "box":
            edges = numbers(element.need("size"), 3)
            if min(edges) < 0:
                raise element.error(f"<box>: size {edges} must not be negative")
            return Shape("box", edges)
        case "sphere":
            return Shape("sphere", (size("radius"),))
        case "cylinder" | "capsule":
            return Shape(element.tag, (size("radius"), size("length")))
        case "ellipsoid":
            return Shape("ellipsoid", numbers(element.need("radii"), 3))
        case "mesh":
            scale = element.one("scale")
            return Shape(
                "mesh", (1.0, 1.0, 1.0) if scale is None else numbers(scale, 3), mesh=word(element.need("uri"))
            )
    return None


def _colour(visual: Element) -> tuple[float, float, float, float] | None:
    material = visual.one("material")
    diffuse = None if material is None else material.one("diffuse")
    if diffuse is None:
        return None
    words = numbers(diffuse, len(diffuse.text.split()) if len(diffuse.text.split()) in (3, 4) else 4)
    rgba: Any = tuple(min(max(x, 0.0), 1.0) for x in (*words, 1.0)[:4])
    return rgba


def _surface(collision: Element) -> Surface | None:
    """The coefficient of friction, if one is given."""
    element: Element | None = collision
    for tag in ("surface", "friction", "ode", "mu"):
        element = None if element is None else element.one(tag)
    return None if element is None else Surface(friction=number(element, least=0))
