"""Show a mechanism: its bodies and joints, masses, limits, frames, conventions, and everything that was assumed.

examples:
  dalembert show panda.urdf
  dalembert show talos.urdf --base free        let the robot float
  dalembert show demo_arm --frames             and where everything is at the neutral position
  dalembert show stacker --set m3=20           a model with symbols, one of them given a value
  dalembert show panda.urdf --tree             bodies and joints only, as a tree
  dalembert show panda.urdf --graph tree.svg   the tree as a drawing; .png and .pdf need matplotlib
  dalembert show go2 --base free --ground      and what may touch the ground, what not, and why
  dalembert show panda.urdf --json | jq .mass
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.cli.contacts import add_contacts, opened
from dalembert.cli.options import add_common, add_model, picture, with_extra
from dalembert.cli.terminal import Terminal
from dalembert.errors import ArgumentError, ModelWarning
from dalembert.files import write_whole

if TYPE_CHECKING:
    from dalembert.model import Constraint, Contact, Force, Ground, Joint, Mechanism, Shape

SUMMARY = "show a mechanism as tables"

GRAPH = with_extra(picture, "matplotlib", "plot", "a picture", (".png", ".pdf"))
"""The name of a drawing of the tree; SVG is written without help."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument(
        "--frames", action="store_true", help="also list where bodies and frames are in the world at q neutral"
    )
    parser.add_argument("--tree", action="store_true", help="only the tree of bodies and joints")
    parser.add_argument("--graph", metavar="FILE", type=GRAPH, help="draw the tree: .svg, .png or .pdf")
    add_contacts(parser)
    add_common(parser)


def run(options: argparse.Namespace, terminal: Terminal) -> int:
    if options.tree and options.frames:
        raise ArgumentError("--tree shows bodies and joints only; leave it out, or --frames")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # the table lists them all
        mechanism, selection = opened(options)
    if options.graph is not None:
        _draw(mechanism, Path(options.graph))
    if options.tree and not options.json:
        _say_tree(terminal, mechanism)
        return 0
    if options.json:
        frames = {"neutral_poses": dict(_poses(mechanism))} if options.frames else {}
        left_out = {"left_out": [{"what": x.what, "why": x.why} for x in selection.left_out]} if selection else {}
        terminal.json(described(mechanism) | frames | left_out)
        return 0
    headline, _, rest = str(mechanism).partition("\n")
    terminal.say(headline, "bold")
    terminal.say(rest)
    if selection is not None:
        terminal.title("Contacts that were made:")
        terminal.say(str(selection))
    if options.frames:
        from dalembert.model.display import texts

        terminal.title("Where everything is at the neutral position, in the world:")
        rows = [
            (name, texts(pose["position"]), texts(pose["rpy"]) if pose["rpy"] is not None else "symbolic")
            for name, pose in _poses(mechanism)
        ]
        terminal.table(("frame", "position (m)", "roll pitch yaw (rad)"), rows, left=3)
    return 0


def _draw(mechanism: Mechanism, path: Path) -> None:
    from dalembert.pictures import draw_tree, write_tree

    if path.suffix.lower() == ".svg":
        write_tree(mechanism, path)
    else:
        write_whole(path, draw_tree(mechanism).savefig)


def _say_tree(terminal: Terminal, mechanism: Mechanism) -> None:
    """Branches as lines, the joint behind every body."""
    from dalembert.model import WORLD

    children: dict[str, list[Joint]] = {}
    for joint in mechanism.joints:
        children.setdefault(joint.parent, []).append(joint)
    terminal.say(WORLD, "bold")
    stack = [(joint, "", joint is children[WORLD][-1]) for joint in reversed(children.get(WORLD, []))]
    while stack:
        joint, indent, last = stack.pop()
        branch = "└─ " if last else "├─ "
        terminal.say(
            f"{indent}{branch}{joint.child}  ({joint.name}, {joint.kind})", "dim" if joint.kind == "fixed" else ""
        )
        inner = children.get(joint.child, [])
        deeper = indent + ("   " if last else "│  ")
        stack += [(child, deeper, child is inner[-1]) for child in reversed(inner)]


def _poses(mechanism: Mechanism) -> Iterator[tuple[str, dict[str, Any]]]:
    from dalembert.algebra.rotations import rpy_from_rotation
    from dalembert.kinematics import pose

    for name in [*(body.name for body in mechanism.bodies), *(frame.name for frame in mechanism.frames)]:
        found = pose(mechanism, mechanism.neutral, name)
        numeric = found.rotation.dtype != object
        yield (
            name,
            {"position": found.translation, "rpy": rpy_from_rotation(found.rotation) if numeric else None},
        )


def described(mechanism: Mechanism) -> dict[str, Any]:
    """A mechanism in the types of JSON; SI units, symbols as text, limits that are infinite as null."""
    m = mechanism
    return {
        "name": m.name,
        "nq": m.nq,
        "nv": m.nv,
        "mass": m.mass,
        "gravity": m.gravity,
        "symbols": [symbol.name for symbol in m.symbols],
        "bodies": [
            {
                "name": body.name,
                "mass": body.inertia.mass,
                "center_of_mass": body.inertia.center,
                "inertia_about_center_of_mass": body.inertia.tensor,
                "collisions": [_shape(shape) for shape in body.collisions],
            }
            for body in m.bodies
        ],
        "joints": [
            {
                "name": joint.name,
                "kind": joint.kind,
                "parent": joint.parent,
                "child": joint.child,
                "axis": joint.axis,
                "position": joint.placement.translation,
                "rotation": joint.placement.rotation,
                "q": list(range(m.nq))[m.q_slice(joint.name)],
                "v": list(range(m.nv))[m.v_slice(joint.name)],
                "lower": joint.limits.lower,
                "upper": joint.limits.upper,
                "max_velocity": joint.limits.velocity,
                "max_effort": joint.limits.effort,
                "damping": joint.damping,
                "friction": joint.friction,
                "armature": joint.armature,
                "mimic": joint.mimic
                and {"joint": joint.mimic.joint, "multiplier": joint.mimic.multiplier, "offset": joint.mimic.offset},
            }
            for joint in m.joints
        ],
        "frames": [
            {
                "name": frame.name,
                "body": frame.body,
                "position": frame.placement.translation,
                "rotation": frame.placement.rotation,
            }
            for frame in m.frames
        ],
        "constraints": [_element(item) for item in m.constraints],
        "forces": [_element(item) for item in m.forces],
        "contacts": [_contact(item) for item in m.contacts],
        "assumed": m.notes,
        "doubtful": m.problems(),
    }


def _shape(shape: Shape | Ground) -> dict[str, Any]:
    from dalembert.model import Ground
    from dalembert.model.display import shape_words

    found: dict[str, Any] = {"kind": shape.kind, "in_words": shape_words(shape)}
    found |= {"position": shape.placement.translation, "rotation": shape.placement.rotation}
    if isinstance(shape, Ground):
        return found
    return found | {"name": shape.name, "size": shape.size, "mesh": shape.mesh, "vertices": shape.vertices}


def _contact(item: Contact) -> dict[str, Any]:
    ends = {"name": item.name, "a": item.a, "b": item.b}
    shapes = {"shape_a": _shape(item.shape_a), "shape_b": _shape(item.shape_b)}
    return ends | shapes | {name: getattr(item, name) for name in item.numbers}


def _element(item: Constraint | Force) -> dict[str, Any]:
    """A constraint or a force: its ends, null where a kind has none, and of its data what the kind uses."""
    from dalembert.model.formula import Formula

    found: dict[str, Any] = {"name": item.name, "kind": item.kind}
    found |= {end: getattr(item, end) if end in item.ends else None for end in "ab"}
    for name in item.placements:
        placement = getattr(item, name)
        found[name] = {"position": placement.translation, "rotation": placement.rotation}
    found |= {name: getattr(item, name) for name in item.numbers}
    found |= {name: x for name in ("coefficients", "components") if (x := getattr(item, name, ()))}
    if item.function is not None:
        law = item.function
        found["function"] = list(map(str, law.expressions)) if isinstance(law, Formula) else "a function"
    return found
