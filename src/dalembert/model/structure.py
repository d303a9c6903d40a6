"""Names, the tree and references of a mechanism: what must be right before anything can be looked up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dalembert.algebra.scalar import is_zero
from dalembert.model.body import WORLD, Body
from dalembert.model.joint import SIZES, Joint

if TYPE_CHECKING:
    from dalembert.model.mechanism import Mechanism


def depth_first(bodies: Sequence[Body], joints: Sequence[Joint]) -> tuple[tuple[Body, ...], tuple[Joint, ...]]:
    """Bodies and joints reordered depth first from the ground, children in their order of appearance.

    Args:
        bodies: in any order.
        joints: in any order, one with each body as child.
    """
    by_parent: dict[str, list[Joint]] = {}
    for joint in joints:
        by_parent.setdefault(joint.parent, []).append(joint)
    by_name = {body.name: body for body in bodies}
    ordered: list[Joint] = []
    waiting = list(reversed(by_parent.get(WORLD, [])))
    while waiting:
        joint = waiting.pop()
        ordered.append(joint)
        waiting.extend(reversed(by_parent.get(joint.child, [])))
    return tuple(by_name[joint.child] for joint in ordered), tuple(ordered)


def name_problems(mechanism: Mechanism) -> list[str]:
    """Names that cannot be printed, are used twice, or mean the ground.

    Args:
        mechanism: not yet validated.
    """
    problems = []
    frames: list[Any] = [*mechanism.bodies, *mechanism.frames]
    kinds: dict[str, Any] = {
        "body or frame": frames,
        "joint": mechanism.joints,
        "constraint": mechanism.constraints,
        "force": mechanism.forces,
    }
    for what, items in kinds.items():
        for item in items:
            if not isinstance(item.name, str) or not item.name or not item.name.isprintable():
                problems.append(f"{what} {item.name!r}: a name must be a printable, non-empty string")
        counts = Counter(item.name for item in items if isinstance(item.name, str))
        problems += [
            f"{what} name {name!r} is used {k} times; names must be unique" for name, k in counts.items() if k > 1
        ]
    for term in ("armature", "damping", "friction"):
        joints = [joint.name for joint in mechanism.joints if not is_zero(getattr(joint, term))]
        if joints and any(item.name == term for item in mechanism.forces):
            problems.append(
                f"force name {term!r} is also that of the {term} of joints ({', '.join(map(repr, joints))}), and "
                f"include={[term]} could mean both; call the force something else"
            )
    if any(isinstance(item.name, str) and item.name == WORLD for item in frames):
        problems.append(f"{WORLD!r} is the name of the ground; call the body something else")
    return problems


def tree_problems(mechanism: Mechanism) -> list[str]:
    """Bodies without a joint, with several, or in a loop; joints that lead nowhere.

    Args:
        mechanism: not yet validated; all names are texts.
    """
    problems = []
    known = {body.name for body in mechanism.bodies}
    carriers = Counter(joint.child for joint in mechanism.joints)
    for joint in mechanism.joints:
        if joint.parent != WORLD and joint.parent not in known:
            problems.append(f"joint {joint.name!r}: parent body {joint.parent!r} does not exist")
        if joint.child not in known:
            problems.append(f"joint {joint.name!r}: child body {joint.child!r} does not exist")
        if joint.child == joint.parent:
            problems.append(f"joint {joint.name!r} connects body {joint.child!r} to itself")
    for body in mechanism.bodies:
        if carriers[body.name] == 0 and body.name != WORLD:
            problems.append(
                f"body {body.name!r} is not attached: give it a joint, e.g. "
                f"Joint('{body.name}_base', 'free' or 'fixed', parent='{WORLD}', child='{body.name}')"
            )
        if carriers[body.name] > 1:
            names = ", ".join(repr(j.name) for j in mechanism.joints if j.child == body.name)
            problems.append(
                f"body {body.name!r} is the child of {carriers[body.name]} joints ({names}); keep one of them "
                "and close the loop with a Constraint"
            )
    cut_off = _never_reached(mechanism)
    if cut_off:
        problems.append(f"bodies {', '.join(map(repr, cut_off))} form a loop that never reaches the ground")
    return problems


def _never_reached(mechanism: Mechanism) -> list[str]:
    """Bodies whose carriers lead neither to the ground nor to another mistake: those on a loop, or carried by one."""
    known = {body.name for body in mechanism.bodies}
    carried = {joint.child for joint in mechanism.joints if joint.child != joint.parent}
    reached = {WORLD, *(known - carried), *(joint.parent for joint in mechanism.joints if joint.parent not in known)}
    by_parent: dict[str, list[str]] = {}
    for joint in mechanism.joints:
        by_parent.setdefault(joint.parent, []).append(joint.child)
    waiting = list(reached)
    while waiting:
        new = set(by_parent.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    return [body.name for body in mechanism.bodies if body.name not in reached]


def reference_problems(mechanism: Mechanism) -> list[str]:
    """Frames, constraints, forces and mimic joints that refer to what does not exist or does not fit.

    Args:
        mechanism: not yet validated; all names are texts.
    """
    problems = []
    places = {WORLD, *(body.name for body in mechanism.bodies), *(frame.name for frame in mechanism.frames)}
    joints = {joint.name: joint for joint in mechanism.joints}
    for frame in mechanism.frames:
        if frame.body != WORLD and frame.body not in {body.name for body in mechanism.bodies}:
            problems.append(f"frame {frame.name!r}: body {frame.body!r} does not exist")
    links: tuple[Any, ...] = (*mechanism.constraints, *mechanism.forces)
    for item in links:
        on_joints = item.on_joints
        what = type(item).__name__.lower()
        for end in (item.a, item.b) if item.has_ends else ():
            if on_joints and end not in joints and (end == item.a or end not in ("", WORLD)):
                problems.append(f"{what} {item.name!r}: joint {end!r} does not exist")
            if on_joints and end in joints and SIZES[joints[end].kind][1] != 1:
                other = "; a Constraint of kind 'position' may take any" if what == "constraint" else ""
                problems.append(f"{what} {item.name!r}: joint {end!r} must have one degree of freedom{other}")
            if not on_joints and end not in places:
                problems.append(f"{what} {item.name!r}: body or frame {end!r} does not exist")
    for joint in mechanism.joints:
        if joint.mimic is None:
            continue
        leader = joints.get(joint.mimic.joint)
        if leader is None:
            problems.append(f"joint {joint.name!r} mimics {joint.mimic.joint!r}, which does not exist")
        elif leader is joint:
            problems.append(f"joint {joint.name!r} mimics itself; name the joint that leads")
        elif leader.mimic is not None:
            problems.append(
                f"joint {joint.name!r} mimics {leader.name!r}, which is a mimic joint itself; name its leader"
            )
        elif leader.nv != 1 or joint.replace(mimic=None).nv != 1:
            problems.append(
                f"joint {joint.name!r} ({joint.kind}) cannot mimic {leader.name!r} ({leader.kind}): both must have one "
                "degree of freedom. State the relation as a Constraint of kind 'position', a function of q, or build "
                "the joint from joints of one degree in series and couple those"
            )
    return problems
