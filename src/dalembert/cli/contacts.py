"""Contacts from the arguments of a command: a ground, what touches it, how rough it is, and by which law."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from dalembert.cli.options import open_model, real, source_of
from dalembert.errors import ArgumentError

if TYPE_CHECKING:
    from dalembert.contact import ContactSelection
    from dalembert.model import Mechanism

FRICTION = 0.8
"""If none is given: rubber on a dry floor."""

LAWS = ("rigid", "convex", "compliant")

ONLY_WITH_GROUND = ("friction", "restitution", "contact_stiffness", "contact_damping", "touch", "slope")


def add_contacts(parser: argparse.ArgumentParser) -> None:
    """--ground and what belongs to it."""
    group = parser.add_argument_group("contacts")
    group.add_argument("--ground", action="store_true", help="stand on the plane z = 0 by the model's collision shapes")
    group.add_argument(
        "--slope",
        type=real(-89, 89),
        metavar="DEG",
        help="of the ground: it falls along x by so many degrees (default 0)",
    )
    group.add_argument(
        "--touch", action="append", metavar="PATTERN",
        help="bodies or shapes that may touch, such as '*_foot', ends (feet and hands) or all; may be repeated; all by "
        "default, or the ends and the trunk if those are too many",
    )  # fmt: skip
    group.add_argument("--friction", type=real(0, 1e6), metavar="MU", help=f"with the ground (default {FRICTION})")
    group.add_argument("--restitution", type=real(0, 1), metavar="E", help="with the ground (default 0)")
    group.add_argument(
        "--contact-stiffness", type=real(1e-6, 1e15), metavar="K", help="of --law compliant, N/m, at every point"
    )
    group.add_argument("--contact-damping", type=real(0, 1e9), metavar="C", help="of --law compliant, s/m (default 0)")
    group.add_argument("--file-contacts", action="store_true", help="take the contacts of an MJCF file over")


def opened(options: argparse.Namespace, numeric: bool = False) -> tuple[Mechanism, ContactSelection | None]:
    """The mechanism of a command, with the contacts that its options ask for, and what was made of them.

    Args:
        options: the parsed arguments of :func:`add_contacts` and of the model.
        numeric: give symbols the default values of the file.
    """
    mechanism = open_model(options, numeric, **({"contacts": True} if options.file_contacts else {}))
    if not options.ground:
        for name in ONLY_WITH_GROUND:
            if getattr(options, name) is not None:
                raise ArgumentError(f"--{name.replace('_', '-')} is that of --ground; give that, too, or leave it out")
        return mechanism, None
    found = _selected(options, mechanism)
    return found.mechanism, found


def _selected(options: argparse.Namespace, mechanism: Mechanism) -> ContactSelection:
    from dalembert.contact import contacts
    from dalembert.contact.selection import MOST_POINTS, ends
    from dalembert.model import Ground

    source = source_of(options.model)
    angle = math.radians(options.slope or 0.0)
    given: dict[str, Any] = {
        "friction": FRICTION if options.friction is None else options.friction,
        "restitution": options.restitution,
        "stiffness": options.contact_stiffness,
        "damping": options.contact_damping,
        "ground": Ground.plane(normal=(math.sin(angle), 0, math.cos(angle))),
        "folder": source.parent if source is not None and source.is_file() else None,
    }
    wanted = options.touch
    if wanted and wanted != ["all"]:
        return contacts(mechanism, only="ends" if wanted == ["ends"] else wanted, **given)
    try:
        return contacts(mechanism, **given)
    except ArgumentError as error:
        if error.argument != "most" or wanted:
            raise
    trunk = trunks(mechanism)
    try:
        found = contacts(mechanism, only=[*ends(mechanism), *trunk], **given)
    except ArgumentError as error:
        if error.argument != "most" or not trunk:
            raise
        trunk, found = [], contacts(mechanism, only="ends", **given)
    what = "the ends of the tree and the trunk" if trunk else "the ends of the tree"
    note = f"only {what} may touch, because all shapes have more than {MOST_POINTS} points; see --touch"
    return type(found)(found.mechanism, found.taken, found.left_out, (note, *found.notes))


def trunks(mechanism: Mechanism) -> list[str]:
    """Bodies with collision shapes that float by a free joint, or are fixed to one that does."""
    from dalembert.model import WORLD

    carried = [joint.child for joint in mechanism.joints if joint.kind == "free" and joint.parent == WORLD]
    for name in carried:
        carried += [joint.child for joint in mechanism.joints if joint.kind == "fixed" and joint.parent == name]
    return [body.name for body in mechanism.bodies if body.name in carried and body.collisions]
