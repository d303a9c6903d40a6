"""Operations on mechanisms: another gravity or base, locking, welding, mounting, cutting. Each returns a new one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arguments import unrolled
from dalembert.algebra.arrays import Array
from dalembert.algebra.quaternions import quaternion_normalise, rotation_from_quaternion
from dalembert.algebra.rotations import rotation_from_axis_angle
from dalembert.algebra.scalar import Scalar, same
from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError, ModelError, ModelWarning, UnsupportedError
from dalembert.model.body import WORLD, Body, Frame
from dalembert.model.checks import expect, expect_choice, shown
from dalembert.model.constraint import Constraint
from dalembert.model.contact import Contact, rigidly_joined
from dalembert.model.inertia import Inertia
from dalembert.model.joint import SIZES, Joint
from dalembert.model.mechanism import Mechanism
from dalembert.model.record import check_scalar, floats


def with_gravity(mechanism: Mechanism, gravity: Any) -> Mechanism:
    """The same mechanism under another gravity.

    Args:
        mechanism: the mechanism.
        gravity: acceleration of free fall in world axes, m/s^2; three numbers or symbols.
    """
    return expect(mechanism, Mechanism, "with_gravity").replace(gravity=gravity)


def with_base(mechanism: Mechanism, base: str, body: str | None = None) -> Mechanism:
    """Let a mechanism float, or bolt it to the ground; the joint that carries its root body changes its kind.

    The placement of that joint stays: a fixed base rests where a free one is at its neutral position.

    Args:
        mechanism: the mechanism.
        base: ``"free"`` or ``"fixed"``.
        body: the root body meant; may be omitted if there is only one.
    """
    expect(mechanism, Mechanism, "with_base")
    expect_choice(base, ("free", "fixed"), "with_base: base =")
    if body is not None:
        expect(body, str, "with_base, body")
    roots = [joint for joint in mechanism.joints if joint.parent == WORLD and body in (None, joint.child)]
    if len(roots) != 1:
        names = ", ".join(repr(joint.child) for joint in mechanism.joints if joint.parent == WORLD)
        raise ArgumentError(
            f"{mechanism.name!r} has the root bodies {names}, and one of them is the base; got body = {body!r}",
            argument="body",
            value=body,
            remedy="name it in with_base, {setting}",
        )
    root = roots[0]
    if root.kind != base:
        refuse_functions_of_coordinates(mechanism, "with_base")
    if root.kind not in ("free", "fixed"):
        raise ArgumentError(
            f"body {root.child!r} is carried by the {root.kind} joint {root.name!r}; only a root body carried by a "
            "free or fixed joint is a base. Put a base body, fixed to the world, between the world and that joint"
        )
    changed = Joint(root.name, base, root.parent, root.child, placement=root.placement)
    joints = tuple(changed if joint is root else joint for joint in mechanism.joints)
    contacts, notes = _loose(mechanism, joints)
    return mechanism.replace(joints=joints, contacts=contacts, notes=(*mechanism.notes, *notes))


def _loose(mechanism: Mechanism, joints: Iterable[Joint]) -> tuple[list[Contact], list[str]]:
    """The contacts of a mechanism that may still open and close with other joints, and notes about the others."""
    joints = tuple(joints)
    after = [None if rigidly_joined(joints, mechanism.frames, item) else item for item in mechanism.contacts]
    notes = dropped(mechanism.contacts, after, "its bodies are now joined by fixed joints")
    return [item for item in after if item], notes


# ------------------------------------------------------------------------------------------------------------- locking


def joint_motion(joint: Joint, position: Any) -> Transform:
    """The moved joint frame in the joint frame at zero, for a position of that joint alone.

    Args:
        joint: the joint; its mimic coupling is not looked at.
        position: as many scalars as the kind of the joint has coordinates; quaternions of unit length.
    """
    moved, k = Transform.identity(), 0
    for part in joint.elementary():
        if part.kind == "spherical":
            step = Transform.from_rotation(rotation_from_quaternion(position[k : k + 4]))
        elif part.kind == "prismatic":
            step = Transform.from_translation(position[k] * arrays.exact(part.axis))
        elif part.kind == "helical":
            advance = part.pitch * position[k] * arrays.exact(part.axis)
            step = Transform(rotation_from_axis_angle(part.axis, position[k]), advance)
        else:
            step = Transform.from_rotation(rotation_from_axis_angle(part.axis, position[k]))
        moved, k = moved @ step, k + (4 if part.kind == "spherical" else 1)
    return moved


def lock(mechanism: Mechanism, positions: Mapping[str, Any]) -> Mechanism:
    """Hold joints at given positions: they become fixed joints. Joints that mimic a locked joint are locked with it.

    So a joint that mimics another may be named beside that one, whose position decides. A position that contradicts
    it is a :class:`~dalembert.errors.ModelWarning`.
    Limits are data and forbid nothing; a position outside them is a :class:`~dalembert.errors.ModelWarning`.

    Args:
        mechanism: the mechanism.
        positions: by joint name, a number or symbol for a joint of one degree, else the coordinates of that kind of
            joint: a quaternion (x, y, z, w) for a spherical joint, (x, y, z, quaternion) for a free one.
    """
    expect(mechanism, Mechanism, "lock")
    expect(positions, Mapping, "lock, positions by joint name")
    refuse_functions_of_coordinates(mechanism, "lock")
    held: dict[str, list[Scalar]] = {}
    for name, value in positions.items():
        joint = mechanism.joint(name)
        if joint.mimic and joint.mimic.joint not in positions:
            raise ArgumentError(f"joint {name!r} mimics {joint.mimic.joint!r}; lock that one and both are held")
        held[name] = _position(joint, value)
    for joint in mechanism.joints:
        if joint.mimic and joint.mimic.joint in held:
            (leader,) = held[joint.mimic.joint]
            following = joint.mimic.multiplier * leader + joint.mimic.offset
            _warn_if_it_follows(joint, held.get(joint.name, [following])[0], following)
            held[joint.name] = [following]
    _warn_beyond_limits(mechanism, held)
    joints = []
    for joint in mechanism.joints:
        if joint.name in held:
            placement = joint.placement @ joint_motion(joint, held[joint.name])
            joint = Joint(joint.name, "fixed", joint.parent, joint.child, placement=placement)
        joints.append(joint)
    notes = [f"joint {name!r} is locked at {_text(value)}" for name, value in held.items()]
    constraints = [_lock_coupling(constraint, held) for constraint in mechanism.constraints]
    notes += dropped(mechanism.constraints, constraints, "a locked joint keeps it or breaks it for good")
    forces = [None if f.on_joints and f.a in held else f for f in mechanism.forces]
    notes += dropped(mechanism.forces, forces, "its joint is locked")
    contacts, left_out = _loose(mechanism, joints)
    notes += left_out
    return mechanism.replace(
        joints=joints,
        contacts=contacts,
        constraints=[c for c in constraints if c],
        forces=[f for f in forces if f],
        notes=(*mechanism.notes, *notes),
    )


def _warn_if_it_follows(joint: Joint, given: Scalar, following: Scalar) -> None:
    numbers = floats(arrays.asarray([given, following]))
    if numbers is not None and not math.isclose(*numbers, rel_tol=1e-9, abs_tol=1e-9):
        message = f"lock: joint {joint.name!r} mimics {joint.mimic.joint!r} and is held at {numbers[1]:.6g}"  # type: ignore[union-attr]
        warnings.warn(f"{message}, not at {numbers[0]:.6g}", ModelWarning, stacklevel=3)


def _warn_beyond_limits(mechanism: Mechanism, held: Mapping[str, list[Scalar]]) -> None:
    beyond = []
    for name, (position, *more) in held.items():
        limits, number = mechanism.joint(name).limits, floats(arrays.asarray([position]))
        if not more and number is not None and not limits.lower <= number[0] <= limits.upper:
            beyond.append(f"{name!r} at {number[0]:.6g}, outside {limits.lower:.6g} .. {limits.upper:.6g}")
    if beyond:
        warnings.warn(f"lock: joints are held beyond their limits: {'; '.join(beyond)}", ModelWarning, stacklevel=3)


def _position(joint: Joint, value: Any) -> list[Scalar]:
    size = SIZES[joint.kind][0]
    if size == 0:
        raise ArgumentError(f"joint {joint.name!r} is fixed; there is nothing to lock")
    where = f"the position of joint {joint.name!r}"
    try:
        given: Array = arrays.asarray(unrolled(value))
    except (TypeError, ValueError):
        raise ArgumentError(f"{where}: expected {size} real numbers or symbols, got {shown(value)}") from None
    if given.shape != (size,) and not (given.shape == () and size == 1):
        raise ArgumentError(
            f"joint {joint.name!r} is {joint.kind}: its position is "
            f"{'one number' if size == 1 else f'{size} numbers'}, got shape {given.shape}"
        )
    try:
        position = [check_scalar(x, where) for x in given.ravel().tolist()]
    except ModelError as error:
        raise ArgumentError(str(error)) from None
    if any(scalar.is_number(x) and not math.isfinite(x) for x in position):
        raise ArgumentError(f"{where} is {shown(value)}; it must be finite")
    if joint.kind in ("spherical", "free") and all(scalar.is_number(x) for x in position[-4:]):
        length = sum(x * x for x in position[-4:]) ** 0.5
        if not abs(length - 1) < 1e-6:
            raise ArgumentError(f"joint {joint.name!r}: the quaternion has length {length:.6g}, not 1")
        position[-4:] = quaternion_normalise(position[-4:]).tolist()
    return position


def _lock_coupling(constraint: Constraint, held: Mapping[str, list[Scalar]]) -> Constraint | None:
    """What is left of the coupling q_b = c0 + c1 q_a + ... when some of its joints are held."""
    if not constraint.on_joints or not (constraint.a in held or constraint.b in held):
        return constraint
    if constraint.kind == "motion":
        return None
    a_held, b_free = constraint.a in held, constraint.b not in held and constraint.b not in ("", WORLD)
    if a_held and not b_free:
        return None
    if a_held:
        (x,) = held[constraint.a]
        value: Scalar = 0
        for coefficient in reversed(constraint.coefficients):  # Horner
            value = value * x + coefficient
        return constraint.replace(a=constraint.b, b="", coefficients=(value,))
    coefficients = list(constraint.coefficients)
    while coefficients and scalar.is_zero(coefficients[-1]):
        coefficients.pop()
    if len(coefficients) < 2:  # it does not depend on the other joint
        return None
    if len(coefficients) > 2:
        raise UnsupportedError(
            f"constraint {constraint.name!r} makes joint {constraint.b!r} a polynomial of {constraint.a!r} that is "
            f"not of first degree; lock {constraint.a!r} instead of {constraint.b!r}"
        )
    (y,), (c0, c1) = held[constraint.b], coefficients
    return constraint.replace(b="", coefficients=((y - c0) / c1,))


def _text(position: list[Scalar]) -> str:
    shown = ", ".join(f"{x:.6g}" if scalar.is_number(x) else str(x) for x in position)
    return shown if len(position) == 1 else f"({shown})"


# --------------------------------------------------------------------------------------- taking apart, putting together


def merge_fixed(mechanism: Mechanism) -> Mechanism:
    """Weld every body behind a fixed joint into the body that carries it; what was a body becomes a frame.

    Bodies fixed to the ground become frames of the ground; their matter does not move and is left out. Forces of kind
    ``attraction`` and ``gravity-field`` are expanded about the centre of mass of each body; about that of a larger one
    they leave out more, which a note reports.
    """
    expect(mechanism, Mechanism, "merge_fixed")
    carriers: dict[str, tuple[str, Transform]] = {WORLD: (WORLD, Transform.identity())}
    matter: dict[str, Body] = {}
    joints, frames, notes, welded = [], [], [], set()
    for joint in mechanism.joints:  # parents precede children
        carrier, at = carriers[joint.parent]
        body = mechanism.body(joint.child)
        if joint.kind != "fixed":
            carriers[body.name] = (body.name, Transform.identity())
            matter[body.name] = body
            joints.append(joint.replace(parent=carrier, placement=at @ joint.placement))
            continue
        at = at @ joint.placement
        carriers[body.name] = (carrier, at)
        frames.append(Frame(body.name, carrier, at))
        if carrier == WORLD:
            if not body.inertia.is_zero:
                notes.append(f"body {body.name!r} is fixed to the ground; its mass, {body.inertia.mass}, is left out")
            continue
        whole = matter[carrier]
        if not (whole.inertia.is_zero or body.inertia.is_zero):
            welded.add(carrier)
        shapes, collisions = (
            (shape.replace(placement=at @ shape.placement) for shape in found)
            for found in (body.shapes, body.collisions)
        )
        moved = body.inertia if body.inertia.is_zero else body.inertia.moved(at.rotation, at.translation)
        matter[carrier] = whole.replace(
            inertia=whole.inertia + moved,
            shapes=(*whole.shapes, *shapes),
            collisions=(*whole.collisions, *collisions),
        )
    for frame in mechanism.frames:
        carrier, at = carriers[frame.body]
        frames.append(frame.replace(body=carrier, placement=at @ frame.placement))

    fields = [item.name for item in mechanism.forces if item.is_field]
    if fields and welded:
        notes.append(
            f"{', '.join(map(repr, fields))}: expanded about one centre of mass for all that was welded into "
            f"{', '.join(map(repr, sorted(welded)))}, which is less exact than about each of its bodies'"
        )

    def place(name: str) -> tuple[str, Transform]:
        return carriers.get(name, (name, Transform.identity()))

    return mechanism.replace(
        bodies=tuple(matter.values()),
        joints=joints,
        frames=frames,
        constraints=[_moved(item, place) for item in mechanism.constraints],
        forces=[_moved(item, place) for item in mechanism.forces],
        contacts=[_moved(item, place) for item in mechanism.contacts],
        notes=(*mechanism.notes, *notes),
    )


def add_payload(mechanism: Mechanism, frame: str, inertia: Inertia, name: str = "payload") -> Mechanism:
    """Weld a body to a frame, by a fixed joint called ``name_joint``.

    Args:
        mechanism: the mechanism.
        frame: the frame or body that carries the payload.
        inertia: mass distribution of the payload in the axes and from the origin of that frame.
        name: name of the new body.
    """
    expect(mechanism, Mechanism, "add_payload")
    expect(name, str, "add_payload, name")
    if not isinstance(inertia, Inertia):
        raise ArgumentError(f"the payload must be an Inertia, got {type(inertia).__name__}; try Inertia.point(mass)")
    place = mechanism.frame(frame)
    joint = Joint(f"{name}_joint", "fixed", place.body, name, placement=place.placement)
    _refuse_clashes(mechanism, [name], [joint.name], "give the payload another name")
    return mechanism.replace(bodies=(*mechanism.bodies, Body(name, inertia)), joints=(*mechanism.joints, joint))


def attach(
    mechanism: Mechanism, other: Mechanism, *, to: str, joint: Joint | None = None, prefix: str = ""
) -> Mechanism:
    """Mount another mechanism: its ground is put on a frame of this one, or on a joint that starts there.

    Positions and velocities of both keep their meaning; their order in ``q`` and ``v`` follows the depth-first rule.
    Gravity is that of the first mechanism, fields among its forces included; fields of ``other`` are left out, with a
    note.

    Args:
        mechanism: the mechanism that carries.
        other: the mechanism that is mounted.
        to: frame or body of the first mechanism.
        joint: a joint with ``to`` as parent, placed in that frame; its child is a new, massless body that plays the
            ground of ``other``. Without it the ground of ``other`` is the frame ``to`` itself.
        prefix: put before every name of ``other``.
    """
    expect(mechanism, Mechanism, "attach")
    expect(other, Mechanism, "attach, other")
    expect(prefix, str, "attach, prefix")
    if joint is not None:
        expect(joint, Joint, "attach, joint")
    refuse_functions_of_coordinates(mechanism, "attach")
    refuse_functions_of_coordinates(other, "attach")
    place = mechanism.frame(to)
    ground, at = place.body, place.placement
    bodies: list[Body] = []
    joints: list[Joint] = []
    if joint is not None:
        if joint.parent != to:
            raise ArgumentError(f"joint {joint.name!r} starts at {joint.parent!r}, but is to be attached to {to!r}")
        joints.append(joint.replace(parent=ground, placement=at @ joint.placement))
        bodies.append(Body(joint.child))
        ground, at = joint.child, Transform.identity()
    bodies += [body.replace(name=prefix + body.name) for body in other.bodies]
    for part in other.joints:
        root = part.parent == WORLD
        part = part.replace(
            name=prefix + part.name,
            parent=ground if root else prefix + part.parent,
            child=prefix + part.child,
            placement=at @ part.placement if root else part.placement,
        )
        joints.append(part.replace(mimic=part.mimic.replace(joint=prefix + part.mimic.joint)) if part.mimic else part)

    def mounted(name: str) -> tuple[str, Transform]:
        return (ground, at) if name == WORLD else (prefix + name, Transform.identity())

    frames = []
    for frame in other.frames:
        body, on = mounted(frame.body)
        frames.append(Frame(prefix + frame.name, body, on @ frame.placement))
    own_forces = [None if item.is_field else item for item in other.forces]  # it would pull the carrier as well
    constraints, forces, contacts = (
        [_moved(item, mounted, prefix.__add__).replace(name=prefix + item.name) for item in items if item]
        for items in (other.constraints, own_forces, other.contacts)
    )
    _refuse_clashes(
        mechanism,
        [*_names(bodies), *_names(frames)],
        _names(joints),
        f"pass another prefix than {prefix!r}",
        _names(constraints),
        _names(forces),
        _names(contacts),
    )
    notes = [f"{other.name}: {note}" for note in other.notes]
    notes += dropped(other.forces, own_forces, f"gravity is that of {mechanism.name!r}, in fields too")
    if not all(map(same, mechanism.gravity, other.gravity)):
        notes.append(f"{other.name!r} was attached under the gravity of {mechanism.name!r}, not its own")
    return mechanism.replace(
        bodies=(*mechanism.bodies, *bodies),
        joints=(*mechanism.joints, *joints),
        frames=(*mechanism.frames, *frames),
        constraints=(*mechanism.constraints, *constraints),
        forces=(*mechanism.forces, *forces),
        contacts=(*mechanism.contacts, *contacts),
        notes=(*mechanism.notes, *notes),
        strict=mechanism.strict and other.strict,
    )


def subtree(mechanism: Mechanism, body: str) -> Mechanism:
    """A body and everything it carries, with its own joint; the body that carried it becomes the ground.

    The components of gravity are kept as they are, now in the axes of that ground. Constraints and forces that reach
    outside are left out, with a note.

    Args:
        mechanism: the mechanism.
        body: the first body to keep.
    """
    expect(mechanism, Mechanism, "subtree").body(body)
    joints: list[Joint] = []
    inside: set[str] = {body}
    ground = ""
    for joint in mechanism.joints:
        if joint.child == body:
            ground = joint.parent
            joints.append(joint.replace(parent=WORLD))
        elif joint.parent in inside:
            inside.add(joint.child)
            joints.append(joint)
    kept = {joint.name for joint in joints}
    for joint in joints:
        if joint.mimic and joint.mimic.joint not in kept:
            raise ArgumentError(
                f"joint {joint.name!r} mimics {joint.mimic.joint!r}, which is not part of the subtree of {body!r}; "
                f"lock {joint.mimic.joint!r} first"
            )
    frames = [frame for frame in mechanism.frames if frame.body in inside]
    places = {ground, *inside, *_names(frames)}

    def kept_ends(item: Any) -> bool:
        if not item.has_ends or item.of_coordinates:
            return False
        if item.on_joints:
            return all(end in kept or end in ("", WORLD) for end in (item.a, item.b))
        return item.a in places and (item.b in places or item.ends == ("a",))

    def place(name: str) -> tuple[str, Transform]:
        return (WORLD if name == ground else name), Transform.identity()

    constraints = [_moved(c, place) if kept_ends(c) else None for c in mechanism.constraints]
    forces = [_moved(f, place) if kept_ends(f) else None for f in mechanism.forces]
    contacts = [_moved(c, place) if kept_ends(c) else None for c in mechanism.contacts]
    why = f"it reaches outside the subtree of {body!r}"
    notes = [
        *([] if ground == WORLD else [f"gravity keeps its components, now in the axes of {ground!r}, the new ground"]),
        *dropped(mechanism.constraints, constraints, why),
        *dropped(mechanism.forces, forces, why),
        *dropped(mechanism.contacts, contacts, why),
    ]
    return mechanism.replace(
        name=f"{mechanism.name}/{body}",
        bodies=[b for b in mechanism.bodies if b.name in inside],
        joints=joints,
        frames=frames,
        constraints=[c for c in constraints if c],
        forces=[f for f in forces if f],
        contacts=[c for c in contacts if c],
        notes=(*mechanism.notes, *notes),
    )


# -------------------------------------------------------------------------------------------------------- small helpers


def _names(items: Iterable[Any]) -> list[str]:
    return [item.name for item in items]


def _places(mechanism: Mechanism) -> list[str]:
    return [*_names(mechanism.bodies), *_names(mechanism.frames)]


def _moved(item: Any, place: Callable[[str], tuple[str, Transform]], joint: Callable[[str], str] = str) -> Any:
    """A constraint, force or contact whose ends have gone to other bodies, or whose joints have other names.

    Args:
        item: the constraint, force or contact.
        place: for the name of a body or frame its new name, and the old frame in the new one.
        joint: for the name of a joint its new name.
    """
    if item.on_joints:
        a, b = (end if end in ("", WORLD) else joint(end) for end in (item.a, item.b))
        return item.replace(a=a, b=b)
    changes: dict[str, Any] = {}
    if isinstance(item, Contact):
        for end in ("a", "b"):
            shape = getattr(item, f"shape_{end}")
            changes[end], at = place(getattr(item, end))
            changes[f"shape_{end}"] = shape.replace(placement=at @ shape.placement)
        return item.replace(**changes)
    for placement in item.placements:
        end = placement[-1]
        changes[end], at = place(getattr(item, end))
        changes[placement] = at @ getattr(item, placement)
    return item.replace(**changes)


def refuse_functions_of_coordinates(mechanism: Mechanism, operation: str) -> None:
    """UnsupportedError if a user's function of whole vectors would get others after an operation."""
    items: list[Any] = [*mechanism.constraints, *mechanism.forces]
    names = ", ".join(repr(item.name) for item in items if item.of_coordinates)
    if names:
        raise UnsupportedError(
            f"{operation}: {names} of {mechanism.name!r} are functions of all coordinates, and the layout of q and v "
            "changes; leave them out with replace(...) and write them anew for the result"
        )


def dropped(before: Iterable[Any], after: Iterable[Any], why: str) -> list[str]:
    """A note for everything an operation leaves out.

    Args:
        after: what became of each; None if it is left out.
    """
    return [
        f"{type(old).__name__.lower()} {old.name!r} is left out: {why}"
        for old, new in zip(before, after)
        if new is None
    ]


def _refuse_clashes(mechanism: Mechanism, places: list[str], joints: list[str], remedy: str, *rest: list[str]) -> None:
    own = [{WORLD, *_places(mechanism)}, {*_names(mechanism.joints)}]
    own += [{*_names(items)} for items in (mechanism.constraints, mechanism.forces, mechanism.contacts)]
    clashes = [name for new, taken in zip((places, joints, *rest), own) for name in new if name in taken]
    if clashes:
        raise ArgumentError(f"{mechanism.name!r} already has {', '.join(map(repr, clashes))}; {remedy}")
