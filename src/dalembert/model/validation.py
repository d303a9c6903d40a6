"""Does a mechanism make sense? All problems are collected and reported at once.

*Errors* make a mechanism meaningless (names, tree structure, NaN, negative mass). *Doubts* are inertias no real body
can have; a strict mechanism refuses them too, a file read without ``strict`` keeps them as notes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.rotations import is_rotation
from dalembert.algebra.scalar import is_zero
from dalembert.errors import ValidationError
from dalembert.model.body import WORLD, Body
from dalembert.model.contact import rigidly_joined
from dalembert.model.force import Force
from dalembert.model.joint import JOINTS, SIZES, Joint, Limits
from dalembert.model.record import floats, is_finite, is_negative
from dalembert.model.singularity import massless_ends, singular_motions

if TYPE_CHECKING:
    from dalembert.model.mechanism import Mechanism


INERTIA_SLACK = 1e-6
"""Relative slack for inertias: files carry six or seven digits."""


def check_structure(mechanism: Mechanism) -> None:
    """Raise ValidationError with everything that makes the mechanism meaningless."""
    parts: tuple[Any, ...] = (*mechanism.bodies, *mechanism.frames, *mechanism.joints)
    named = all(isinstance(part.name, str) for part in parts)  # else there is nothing to look up
    names, tree = name_problems(mechanism), tree_problems(mechanism) if named else []
    references = reference_problems(mechanism) if named else []
    numbers = [*_numbers(mechanism), *_symbols(mechanism), *_axes(mechanism)]
    errors = list(dict.fromkeys([*names, *tree, *references, *numbers]))  # a name used twice says everything twice
    if errors:
        refused = impossible_inertias(mechanism.bodies) if mechanism.strict else []
        if mechanism.strict and not (names or tree):
            refused += _idle_motions(mechanism)
        raise ValidationError(f"mechanism {mechanism.name!r}", [*errors, *refused])


def check_physics(mechanism: Mechanism) -> None:
    """Raise ValidationError with every inertia that no real mechanism can have."""
    found = doubts(mechanism)
    if found:
        remedy = "to keep it as it is, pass strict=False, or write strict = false into its TOML file"
        raise ValidationError(f"mechanism {mechanism.name!r} (strict; {remedy})", found)


def doubts(mechanism: Mechanism) -> list[str]:
    """Sentences about impossible inertias and, unless the mechanism has no mass at all, motions that move no mass."""
    motions = [] if _kinematic(mechanism) else singular_motions(mechanism)
    return [*impossible_inertias(mechanism.bodies), *motions]


def _kinematic(mechanism: Mechanism) -> bool:
    return all(body.inertia.is_zero for body in mechanism.bodies)


def _idle_motions(mechanism: Mechanism) -> list[str]:
    """Motions that move no mass, of a mechanism with wrong numbers but a sound tree, as far as they can be found."""
    if _kinematic(mechanism):
        return []
    try:
        corrected = mechanism.replace(joints=[_with_unit_axes(joint) for joint in mechanism.joints], strict=False)
    except ValidationError:  # more is wrong than the length of an axis
        return massless_ends(mechanism)
    return singular_motions(corrected)


def _with_unit_axes(joint: Joint) -> Joint:
    lengths = {
        name: float(np.linalg.norm(axis))
        for name in ("axis", "axis2")
        if (axis := floats(getattr(joint, name))) is not None
    }
    return joint.replace(**{name: getattr(joint, name) / length for name, length in lengths.items() if length > 1e-9})


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
        if "axis2" in JOINTS[joint.kind].directions:
            check(f"joint {joint.name!r}: axis2", joint.axis2)
        for name in ("pitch", "damping", "friction", "armature"):
            check(f"joint {joint.name!r}: {name}", getattr(joint, name))
        for name in ("damping", "friction", "armature"):
            value = getattr(joint, name)
            if is_negative(value):
                problems.append(f"joint {joint.name!r}: {name} {value} is negative")
        if "pitch" not in JOINTS[joint.kind].directions and not scalar.is_zero(joint.pitch):
            problems.append(
                f"joint {joint.name!r}: a {joint.kind} joint has no pitch, but {joint.pitch} is given; "
                "make it helical, or leave the pitch out"
            )
        low, high = joint.limits.lower, joint.limits.upper
        if math.isnan(low) or math.isnan(high) or low > high:
            problems.append(f"joint {joint.name!r}: limits {low} .. {high} are not an interval")
        if joint.limits != Limits() and SIZES[joint.kind][1] != 1:
            problems.append(
                f"joint {joint.name!r}: limits are for joints of one degree, and this one is {joint.kind}; leave them "
                "out" + ("" if joint.kind == "fixed" else ", or build it from joints of one degree in series")
            )
        elif joint.kind == "continuous" and (low, high) != (-math.inf, math.inf):
            problems.append(
                f"joint {joint.name!r}: a continuous joint has no range, but {low} .. {high} is given; make it revolute"
            )
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
        for name in force.numbers:
            if name not in ("lower", "upper"):  # of a stop; infinite where there is none
                check(f"{where}: {name}", [getattr(force, name)])
        check(f"{where}: components", force.components)
    for contact in mechanism.contacts:
        where = f"contact {contact.name!r}"
        check(f"{where}: placement", [x.placement.homogeneous() for x in (contact.shape_a, contact.shape_b)])
        check(f"{where}: solref or solimp", [*contact.solref, *contact.solimp])
    return problems


def _symbols(mechanism: Mechanism) -> list[str]:
    """Symbols that print alike are taken for one by every reader, and by everything that goes by name."""
    counts = Counter(symbol.name for symbol in mechanism.symbols)
    return [
        f"{count} different symbols are called {name!r} (SymPy distinguishes symbols by their assumptions too, such as "
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
    shapes = [(f"contact {c.name!r}", shape) for c in mechanism.contacts for shape in (c.shape_a, c.shape_b)]
    shapes += [(f"body {b.name!r}, collision shape", shape) for b in mechanism.bodies for shape in b.collisions]
    placed += [(where, shape.placement) for where, shape in shapes]
    for where, placement in placed:
        R = floats(placement.rotation)
        if R is not None and not is_rotation(R):
            problems.append(f"{where}: the rotation of its placement is not a rotation matrix")
    return problems


def _may_be_symmetric(tensor: Array) -> bool:
    """False if opposite entries are two different symbols or numbers.

    Longer expressions may be equal in disguise; NaN differs even from itself, and is a problem of its own.
    """
    pairs = [(tensor[r, c], tensor[c, r]) for r, c in ((0, 1), (0, 2), (1, 2))]
    plain = [pair for pair in pairs if all(is_finite(x) and getattr(x, "is_Atom", True) for x in pair)]
    return all(scalar.same(a, b) for a, b in plain)


def impossible_inertias(bodies: Iterable[Body]) -> list[str]:
    """Sentences about inertias that no real body can have."""
    problems = []
    for body in bodies:
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
        if np.abs(tensor - tensor.T).max() > INERTIA_SLACK * max(np.abs(tensor).max(), 1e-300):
            problems.append(f"{where}: the inertia tensor is not symmetric")
            continue
        moments = np.linalg.eigvalsh((tensor + tensor.T) / 2)
        shown = ", ".join(f"{x:.6g}" for x in moments)
        slack = INERTIA_SLACK * max(abs(moments[2]), 1e-300)
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


# ------------------------------------------------------------------------------------------- names, tree and references


def name_problems(mechanism: Mechanism) -> list[str]:
    """Names that cannot be printed, are used twice, or mean the ground."""
    problems = []
    frames: list[Any] = [*mechanism.bodies, *mechanism.frames]
    kinds: dict[str, Any] = {
        "body or frame": frames,
        "joint": mechanism.joints,
        "constraint": mechanism.constraints,
        "force": mechanism.forces,
        "contact": mechanism.contacts,
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
    links: tuple[Any, ...] = (*mechanism.constraints, *mechanism.forces, *mechanism.contacts)
    for item in links:
        on_joints = item.on_joints
        what = type(item).__name__.lower()
        own_axes = isinstance(item, Force) and not item.b
        for end in (item.a, item.b)[: 2 - own_axes] if item.has_ends else ():
            if on_joints and end not in joints and (end == item.a or end not in ("", WORLD)):
                problems.append(f"{what} {item.name!r}: joint {end!r} does not exist")
            if on_joints and end in joints and SIZES[joints[end].kind][1] != 1:
                other = "; a Constraint of kind 'position' may take any" if what == "constraint" else ""
                problems.append(f"{what} {item.name!r}: joint {end!r} must have one degree of freedom{other}")
            if not on_joints and end not in places:
                problems.append(f"{what} {item.name!r}: body or frame {end!r} does not exist")
    problems += [
        f"contact {item.name!r}: {item.a!r} and {item.b!r} are joined by fixed joints and cannot move apart"
        for item in mechanism.contacts
        if rigidly_joined(mechanism.joints, mechanism.frames, item)
    ]
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
