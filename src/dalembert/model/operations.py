"""Another gravity, another base, joints held still: each takes a mechanism and returns a new one."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arguments import unrolled
from dalembert.algebra.arrays import Array
from dalembert.algebra.quaternions import quaternion_normalise, rotation_from_quaternion
from dalembert.algebra.rotations import rotation_from_axis_angle
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError, ModelError, ModelWarning, UnsupportedError
from dalembert.model.assembly import dropped, refuse_functions_of_coordinates
from dalembert.model.body import WORLD
from dalembert.model.checks import expect, expect_choice, shown
from dalembert.model.constants import floats
from dalembert.model.constraint import Constraint
from dalembert.model.joint import SIZES, Joint
from dalembert.model.mechanism import Mechanism
from dalembert.model.record import check_scalar


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
        raise ArgumentError(f"with_base(body={body!r}): name one of the root bodies of {mechanism.name!r}: {names}")
    root = roots[0]
    if root.kind != base:
        refuse_functions_of_coordinates(mechanism, "with_base")
    if root.kind not in ("free", "fixed"):
        raise ArgumentError(
            f"body {root.child!r} is carried by the {root.kind} joint {root.name!r}; only a root body carried by a "
            "free or fixed joint is a base. Put a base body, fixed to the world, between the world and that joint"
        )
    changed = Joint(root.name, base, root.parent, root.child, placement=root.placement)
    return mechanism.replace(joints=tuple(changed if joint is root else joint for joint in mechanism.joints))


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
        if joint.mimic:
            raise ArgumentError(f"joint {name!r} mimics {joint.mimic.joint!r}; lock that one and both are held")
        held[name] = _position(joint, value)
    for joint in mechanism.joints:
        if joint.mimic and joint.mimic.joint in held:
            (leader,) = held[joint.mimic.joint]
            held[joint.name] = [joint.mimic.multiplier * leader + joint.mimic.offset]
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
    return mechanism.replace(
        joints=joints,
        constraints=[c for c in constraints if c],
        forces=[f for f in forces if f],
        notes=(*mechanism.notes, *notes),
    )


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
