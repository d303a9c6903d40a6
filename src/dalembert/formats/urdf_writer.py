"""Writer for URDF, for numeric mechanisms of the kinds of joint that URDF knows."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.algebra.rotations import rpy_from_rotation
from dalembert.algebra.transform import Transform
from dalembert.errors import ModelWarning, UnsupportedError
from dalembert.formats.urdf import KINDS, ONE_DEGREE, UNLIMITED, Findings, snap
from dalembert.model.body import WORLD, Body, Shape
from dalembert.model.checks import expect, write_text
from dalembert.model.expression import LARGEST
from dalembert.model.joint import Joint
from dalembert.model.mechanism import Mechanism

TYPES = {kind: written for written, kind in KINDS.items()}
"""Kinds of the model and the URDF types for them."""


def write_urdf(mechanism: Mechanism, path: str | Path | None = None) -> str:
    """Write a mechanism as URDF and return the text.

    The ground becomes a link ``world``, frames become massless links, so that :func:`~dalembert.formats.read_urdf`
    gives back the same bodies and joints. Gravity and armature have no place in URDF; a warning says so if they matter.

    Args:
        mechanism: a mechanism of numbers, without constraints, forces and contacts, whose joints URDF knows. Collision
            shapes are written.
        path: the file to write; nothing is written if it is None.
    """
    _check(expect(mechanism, Mechanism, "write_urdf"))
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<robot name={_quoted(mechanism.name)}>"]
    lines.append(f'  <link name="{WORLD}"/>')
    for body in mechanism.bodies:
        lines += _link(body)
    for joint in mechanism.joints:
        lines += _joint(joint)
    for frame in mechanism.frames:
        joint = Joint(_free_name(f"{frame.name}_joint", mechanism), "fixed", frame.body, frame.name, frame.placement)
        lines += [*_link(Body(frame.name)), *_joint(joint)]
    text = "\n".join([*lines, "</robot>", ""])
    if path is not None:
        write_text(path, text, "write_urdf, path")
    return text


def _check(mechanism: Mechanism) -> None:
    if mechanism.symbols:
        names = ", ".join(symbol.name for symbol in mechanism.symbols)
        raise UnsupportedError(f"URDF holds numbers only, {mechanism.name!r} has the symbols {names}; give them values")
    for what in ("constraints", "forces", "contacts"):
        items = getattr(mechanism, what)
        if items:
            names = ", ".join(repr(item.name) for item in items)
            raise UnsupportedError(
                f"URDF has no place for {what} ({names})",
                remedy=f"write TOML, or leave them out with replace({what}=())",
            )
    for joint in mechanism.joints:
        if joint.kind not in TYPES:
            raise UnsupportedError(
                f"joint {joint.name!r} is {joint.kind}; URDF knows only {', '.join(TYPES)} joints",
                remedy="write TOML instead",
            )
    lost = [f"armature of joint {joint.name!r}" for joint in mechanism.joints if joint.armature != 0]
    if not np.array_equal(mechanism.gravity, [0, 0, -9.81]):
        lost.append(f"gravity {mechanism.gravity.tolist()}")
    lost += [f"an ellipsoid of body {b.name!r}" for b in mechanism.bodies for s in b.shapes if s.kind == "ellipsoid"]
    lost += [f"{_left_out(s)} of body {b.name!r}" for b in mechanism.bodies for s in b.collisions if _left_out(s)]
    if lost:
        warnings.warn(f"URDF has no place for this, it is left out: {', '.join(lost)}", ModelWarning, stacklevel=3)


def _quoted(text: str) -> str:
    """An attribute value; written here because the standard library's function brings a network library along."""
    if unknown := re.search("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", text):
        raise UnsupportedError(f"{text!r} cannot be written: XML has no place for the character {unknown[0]!r}")
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return '"' + re.sub("[\t\n\r]", lambda found: f"&#{ord(found[0])};", text) + '"'  # as they are they read as blanks


def _free_name(wish: str, mechanism: Mechanism) -> str:
    taken = {joint.name for joint in mechanism.joints}
    while wish in taken:
        wish += "_"
    return wish


def _numbers(values: Iterable[Any]) -> str:
    numbers = [float(x) + 0.0 for x in values]  # adding zero turns -0 into 0
    if (largest := max(map(abs, numbers))) > LARGEST:
        raise UnsupportedError(f"{largest:g} cannot be written: numbers in files go up to {LARGEST:g}")
    return '"' + " ".join(map(repr, numbers)) + '"'


def _limit(value: float) -> float:
    return math.copysign(UNLIMITED, value) if math.isinf(value) else value


def _origin(placement: Transform) -> str:
    rotation = placement.rotation.astype(float)
    angles = [snap(float(angle), Findings()) for angle in rpy_from_rotation(rotation)]
    return f"<origin xyz={_numbers(placement.translation)} rpy={_numbers(angles)}/>"


def _link(body: Body) -> list[str]:
    mass, center, tensor = body.inertia.mass, body.inertia.center, body.inertia.tensor.astype(float)
    six = [tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    entries = zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), six)
    return [
        f"  <link name={_quoted(body.name)}>",
        "    <inertial>",
        f'      <origin xyz={_numbers(center)} rpy="0 0 0"/>',
        f"      <mass value={_numbers([mass])}/>",
        "      <inertia " + " ".join(f"{name}={_numbers([value])}" for name, value in entries) + "/>",
        "    </inertial>",
        *(line for shape in body.shapes if shape.kind != "ellipsoid" for line in _visual(shape)),
        *(line for shape in body.collisions if _has_words(shape) for line in _collision(shape)),
        "  </link>",
    ]


def _has_words(shape: Shape) -> bool:
    return shape.kind not in ("ellipsoid", "points") and bool(shape.kind != "mesh" or shape.mesh)


def _left_out(shape: Shape) -> str:
    """What of a collision shape URDF has no words for."""
    if not _has_words(shape):
        return f"a collision shape ({shape.kind})"
    return "friction and other numbers of a collision shape" if shape.surface else ""


def _collision(shape: Shape) -> list[str]:
    name = f" name={_quoted(shape.name)}" if shape.name else ""
    return [
        f"    <collision{name}>",
        f"      {_origin(shape.placement)}",
        f"      <geometry>{_geometry(shape)}</geometry>",
        "    </collision>",
    ]


def _visual(shape: Shape) -> list[str]:
    return [
        "    <visual>",
        f"      {_origin(shape.placement)}",
        f"      <geometry>{_geometry(shape)}</geometry>",
        f'      <material name=""><color rgba={_numbers(shape.colour)}/></material>',
        "    </visual>",
    ]


def _geometry(shape: Shape) -> str:
    match shape.kind:
        case "box":
            return f"<box size={_numbers(shape.size)}/>"
        case "sphere":
            return f"<sphere radius={_numbers(shape.size)}/>"
        case "mesh":
            scale = f" scale={_numbers(shape.size)}" if shape.size else ""
            return f"<mesh filename={_quoted(shape.mesh)}{scale}/>"
        case _:
            radius, length = shape.size
            return f"<{shape.kind} radius={_numbers([radius])} length={_numbers([length])}/>"


def _joint(joint: Joint) -> list[str]:
    lines = [
        f'  <joint name={_quoted(joint.name)} type="{TYPES[joint.kind]}">',
        f"    <parent link={_quoted(joint.parent)}/>",
        f"    <child link={_quoted(joint.child)}/>",
        f"    {_origin(joint.placement)}",
    ]
    if joint.kind in (*ONE_DEGREE, "planar"):
        lines.append(f"    <axis xyz={_numbers(joint.axis)}/>")
    if joint.kind in ONE_DEGREE:
        limits = joint.limits
        span = f" lower={_numbers([_limit(limits.lower)])} upper={_numbers([_limit(limits.upper)])}"
        rates = f" effort={_numbers([_limit(limits.effort)])} velocity={_numbers([_limit(limits.velocity)])}"
        lines.append(f"    <limit{span if joint.kind != 'continuous' else ''}{rates}/>")
    if joint.damping != 0 or joint.friction != 0:
        lines.append(f"    <dynamics damping={_numbers([joint.damping])} friction={_numbers([joint.friction])}/>")
    if joint.mimic:
        ratio = f"multiplier={_numbers([joint.mimic.multiplier])} offset={_numbers([joint.mimic.offset])}"
        lines.append(f"    <mimic joint={_quoted(joint.mimic.joint)} {ratio}/>")
    return [*lines, "  </joint>"]
