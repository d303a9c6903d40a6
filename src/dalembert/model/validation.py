"""Does a mechanism make sense? All problems are collected and reported at once.

*Errors* make a mechanism meaningless (names, tree structure, NaN, negative mass). *Doubts* are inertias no real body
can have; a strict mechanism refuses them too, a file read without ``strict`` keeps them as notes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.rotations import is_rotation
from dalembert.algebra.scalar import Array
from dalembert.errors import ValidationError
from dalembert.model.body import WORLD, Body
from dalembert.model.constants import floats, is_finite, is_negative
from dalembert.model.joint import SIZES, Joint
from dalembert.model.singularity import singular_motions

if TYPE_CHECKING:
    from dalembert.model.mechanism import Mechanism

ROUNDING = 1e-6
"""Relative slack for inertias: files carry six or seven digits."""


def check_structure(mechanism: Mechanism) -> None:
    """Raise ValidationError with everything that makes the mechanism meaningless."""
    parts: tuple[Any, ...] = (*mechanism.bodies, *mechanism.frames, *mechanism.joints)
    named = all(isinstance(part.name, str) for part in parts)  # else there is nothing to look up
    tree = [*_structure(mechanism), *_references(mechanism)] if named else []
    numbers = [*_numbers(mechanism), *_symbols(mechanism), *_axes(mechanism)]
    errors = list(dict.fromkeys([*_names(mechanism), *tree, *numbers]))  # a name used twice says everything twice
    if errors:
        refused = _inertias(mechanism) if mechanism.strict else []
        raise ValidationError(f"mechanism {mechanism.name!r}", [*errors, *refused])


def check_physics(mechanism: Mechanism) -> None:
    """Raise ValidationError with every inertia that no real mechanism can have."""
    found = doubts(mechanism)
    if found:
        raise ValidationError(f"mechanism {mechanism.name!r} (strict; pass strict=False to keep it as it is)", found)


def doubts(mechanism: Mechanism) -> list[str]:
    """Sentences about impossible inertias and, unless the mechanism has no mass at all, motions that move no mass."""
    kinematic = all(body.inertia.is_zero for body in mechanism.bodies)
    return [*_inertias(mechanism), *([] if kinematic else singular_motions(mechanism))]


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


def _names(mechanism: Mechanism) -> list[str]:
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
    if any(isinstance(item.name, str) and item.name == WORLD for item in frames):
        problems.append(f"{WORLD!r} is the name of the ground; call the body something else")
    return problems


def _structure(mechanism: Mechanism) -> list[str]:
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


def _references(mechanism: Mechanism) -> list[str]:
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
                problems.append(f"{what} {item.name!r}: joint {end!r} must have one degree of freedom")
            if not on_joints and end not in places:
                problems.append(f"{what} {item.name!r}: body or frame {end!r} does not exist")
    for joint in mechanism.joints:
        if joint.mimic is None:
            continue
        leader = joints.get(joint.mimic.joint)
        if leader is None:
            problems.append(f"joint {joint.name!r} mimics {joint.mimic.joint!r}, which does not exist")
        elif leader.mimic is not None:
            problems.append(
                f"joint {joint.name!r} mimics {leader.name!r}, which is a mimic joint itself; name its leader"
            )
        elif leader.nv != 1 or joint.replace(mimic=None).nv != 1:
            problems.append(f"joint {joint.name!r} cannot mimic {leader.name!r}: both must have one degree of freedom")
    return problems


def _numbers(mechanism: Mechanism) -> list[str]:
    problems = []

    def check(what: str, value: Any) -> None:
        for x in np.asarray(value, dtype=object).flat:
            if not is_finite(x):
                problems.append(f"{what} contains {x}")
                return

    check("gravity", mechanism.gravity)
    for body in mechanism.bodies:
        check(f"body {body.name!r}: mass", body.inertia.mass)
        check(f"body {body.name!r}: centre of mass", body.inertia.center)
        check(f"body {body.name!r}: inertia tensor", body.inertia.tensor)
        if is_negative(body.inertia.mass):
            problems.append(f"body {body.name!r}: mass {body.inertia.mass} kg is negative")
    for joint in mechanism.joints:
        check(f"joint {joint.name!r}: placement", joint.placement.rotation)
        check(f"joint {joint.name!r}: placement", joint.placement.translation)
        check(f"joint {joint.name!r}: axis", joint.axis)
        if joint.kind == "universal":
            check(f"joint {joint.name!r}: axis2", joint.axis2)
        for name in ("pitch", "damping", "friction", "armature"):
            check(f"joint {joint.name!r}: {name}", getattr(joint, name))
        for name in ("damping", "friction", "armature"):
            value = getattr(joint, name)
            if is_negative(value):
                problems.append(f"joint {joint.name!r}: {name} {value} is negative")
        low, high = joint.limits.lower, joint.limits.upper
        if math.isnan(low) or math.isnan(high) or low > high:
            problems.append(f"joint {joint.name!r}: limits {low} .. {high} are not an interval")
        for name in ("velocity", "effort"):
            largest = getattr(joint.limits, name)
            if not largest >= 0:
                problems.append(f"joint {joint.name!r}: the largest {name} is {largest}; it must not be negative")
        if joint.mimic:
            check(f"joint {joint.name!r}: mimic", [joint.mimic.multiplier, joint.mimic.offset])
    for frame in mechanism.frames:
        check(f"frame {frame.name!r}: placement", frame.placement.homogeneous())
    for constraint in mechanism.constraints:
        where = f"constraint {constraint.name!r}"
        check(f"{where}: placement", [constraint.placement_a.homogeneous(), constraint.placement_b.homogeneous()])
        check(f"{where}: value or coefficients", [constraint.value, *constraint.coefficients])
    for force in mechanism.forces:
        where = f"force {force.name!r}"
        check(f"{where}: placement", [force.placement_a.homogeneous(), force.placement_b.homogeneous()])
        bounds = ("lower", "upper")  # of a stop; infinite where there is none
        check(f"{where}: stiffness, damping or rest", [getattr(force, x) for x in force.numbers if x not in bounds])
        check(f"{where}: components", force.components)
    return problems


def _symbols(mechanism: Mechanism) -> list[str]:
    """Symbols that print alike are taken for one by every reader, and by everything that goes by name."""
    counts = Counter(symbol.name for symbol in mechanism.symbols)
    return [
        f"{count} different symbols are called {name!r} (SymPy tells symbols apart by their assumptions too, such as "
        "real=True); use one and the same"
        for name, count in counts.items()
        if count > 1
    ]


def _axes(mechanism: Mechanism) -> list[str]:
    problems = []
    for joint in mechanism.joints:
        if joint.kind in ("fixed", "spherical", "free"):
            continue
        for name in ("axis", "axis2") if joint.kind == "universal" else ("axis",):
            axis = floats(getattr(joint, name))
            if axis is None:
                continue
            length = float(np.linalg.norm(axis))
            if abs(length - 1) > 1e-9:
                problems.append(
                    f"joint {joint.name!r}: {name} {axis.tolist()} has length {length:.6g}, not 1; "
                    + ("it gives no direction" if length < 1e-9 else "divide it by its length")
                )
        first, second = floats(joint.axis), floats(joint.axis2)
        if joint.kind == "universal" and first is not None and second is not None:
            lengths = np.linalg.norm(first) * np.linalg.norm(second)
            if np.linalg.norm(np.cross(first, second)) < 1e-6 * lengths:
                problems.append(f"joint {joint.name!r}: the two axes of the universal joint are parallel")
    placed: list[tuple[str, Any]] = [(f"joint {joint.name!r}", joint.placement) for joint in mechanism.joints]
    placed += [(f"frame {frame.name!r}", frame.placement) for frame in mechanism.frames]
    placed += [(f"constraint {c.name!r}", end) for c in mechanism.constraints for end in (c.placement_a, c.placement_b)]
    placed += [(f"force {f.name!r}", end) for f in mechanism.forces for end in (f.placement_a, f.placement_b)]
    for where, placement in placed:
        R = floats(placement.rotation)
        if R is not None and not is_rotation(R):
            problems.append(f"{where}: the rotation of its placement is not a rotation matrix")
    return problems


def _may_be_symmetric(tensor: Array) -> bool:
    """False if opposite entries are two different symbols or numbers; longer expressions may be equal in disguise."""
    pairs = [(tensor[r, c], tensor[c, r]) for r, c in ((0, 1), (0, 2), (1, 2))]
    return all(a == b or not all(getattr(x, "is_Atom", True) for x in (a, b)) for a, b in pairs)


def _inertias(mechanism: Mechanism) -> list[str]:
    problems = []
    for body in mechanism.bodies:
        where = f"body {body.name!r}"
        tensor, mass = floats(body.inertia.tensor), body.inertia.mass
        if tensor is None and not _may_be_symmetric(body.inertia.tensor):
            problems.append(f"{where}: the inertia tensor is not symmetric")
        if tensor is None:
            problems += [
                f"{where}: the inertia tensor is not positive: {axis}{axis} is {x} kg m^2"
                for axis, x in zip("xyz", np.diag(body.inertia.tensor))
                if is_negative(x)
            ]
            continue
        if np.abs(tensor - tensor.T).max() > ROUNDING * max(np.abs(tensor).max(), 1e-300):
            problems.append(f"{where}: the inertia tensor is not symmetric")
            continue
        moments = np.linalg.eigvalsh((tensor + tensor.T) / 2)
        shown = ", ".join(f"{x:.6g}" for x in moments)
        slack = ROUNDING * max(abs(moments[2]), 1e-300)
        if moments[0] < -slack:
            problems.append(f"{where}: the inertia tensor is not positive: principal moments {shown} kg m^2")
        elif moments[0] + moments[1] < moments[2] - slack:
            problems.append(
                f"{where}: principal moments {shown} kg m^2 break the triangle inequality "
                f"({moments[0]:.6g} + {moments[1]:.6g} < {moments[2]:.6g}): no body has them"
            )
        if scalar.is_zero(mass) and np.abs(moments).max() > 0:
            problems.append(f"{where}: has rotational inertia but no mass")
    return problems
