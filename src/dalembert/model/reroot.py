"""Re-rooting: the same bodies and joints, hung up at another body."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.quaternions import quaternion_conjugate, quaternion_from_rotation, rotation_from_quaternion
from dalembert.algebra.transform import Transform
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.model.body import WORLD, Body
from dalembert.model.checks import expect
from dalembert.model.joint import SIZES, Joint
from dalembert.model.mechanism import Mechanism
from dalembert.model.names import named_positions, named_velocities
from dalembert.model.operations import joint_motion, refuse_functions_of_coordinates

SAME_COORDINATES = ("fixed", "revolute", "continuous", "prismatic", "helical", "cylindrical")
"""Joints whose inverse motion is the same motion along the opposite axis, in the same coordinates."""

TAKEN_APART = ("planar", "free")
"""Joints whose inverse motion turns first and slides then: no joint of the same kind has these coordinates."""


def reroot(mechanism: Mechanism, body: str) -> Mechanism:
    """The mechanism with another body as root: the joints between the old root and that body are reversed.

    The joint that carried the old root, free or fixed, now carries ``body``, under the same name. The coordinates of a
    free one become the pose of ``body``; a fixed one holds ``body`` where it is at the neutral position. All other
    joints keep their names, and their order in ``q`` follows the new tree. What becomes of the coordinates of a joint
    that is reversed depends on its kind:

    - revolute, continuous, prismatic, helical, cylindrical: the same, about or along the opposite axis;
    - universal: the two angles change places, [q2, q1];
    - spherical: the conjugate quaternion; the angular velocity is the opposite one, seen from the other body, -R(q) v;
    - planar, and free between two bodies: the joint is taken apart into the elementary joints of which it consists,
      ``name/1``, ``name/2``, ..., which keep its coordinates one by one, the quaternion of a free joint as above. One
      joint of the same kind could not carry over damping and rotor inertia, which belong to these coordinates.

    :func:`rerooted_state` does all this to a state. Damping, friction and rotor inertia are carried over; Coulomb
    friction of a spherical joint, which acts on each component by itself, acts along the axes of the other body.

    Every body keeps its frame: where a reversed joint needs another frame than that of the body it now carries, a
    massless body ``"body@joint"`` stands between them.

    Args:
        mechanism: the mechanism.
        body: the new root.
    """
    expect(mechanism, Mechanism, "reroot").body(body)
    refuse_functions_of_coordinates(mechanism, "reroot")
    *turned, root = _path(mechanism, body)
    whole = [joint for joint in turned if joint.kind in TAKEN_APART]
    if whole:
        mechanism = _taken_apart(mechanism, whole)
        *turned, root = _path(mechanism, body)
    placement = root.placement
    if root.kind == "fixed":
        for joint in reversed(turned):
            placement = placement @ joint.placement @ joint_motion(joint, _rest(joint))
    joints = [root.replace(child=body, placement=placement)]
    bodies = list(mechanism.bodies)
    for joint in turned:
        new, between = _reversed(joint)
        joints += new
        bodies += between
    path = {root.name, *(joint.name for joint in turned)}
    return mechanism.replace(
        bodies=bodies,
        joints=[*joints, *(joint for joint in mechanism.joints if joint.name not in path)],
        notes=(*mechanism.notes, f"re-rooted at body {body!r}; order of coordinates: see the table"),
    )


def rerooted_state(mechanism: Mechanism, rerooted: Mechanism, q: Any, v: Any) -> tuple[Array, Array]:
    """The state of a re-rooted mechanism in which every body has the pose and velocity that it has in the old one.

    If the base is fixed, poses and velocities are those relative to the new root, of the bodies it carries. The new
    velocities are linear in the old ones, v' = J v; generalised forces go the other way, tau = J^T tau'.

    Args:
        mechanism: the mechanism as it was, a numeric one.
        rerooted: what :func:`reroot` made of it.
        q: one position of ``mechanism``, (nq,).
        v: one velocity of ``mechanism``, (nv,).
    """
    new = expect(rerooted, Mechanism, "rerooted_state, rerooted")
    body = _new_root(expect(mechanism, Mechanism, "rerooted_state"), new)
    q = named_positions(mechanism, q, "rerooted_state, q", batch=False)
    v = named_velocities(mechanism, v, "rerooted_state, v", batch=False)
    for name, given, size in (("q", q, mechanism.nq), ("v", v, mechanism.nv)):
        if given.shape != (size,):
            raise ArgumentError(f"rerooted_state: {name} has shape {given.shape}, expected ({size},)")
    *turned, root = _path(mechanism, body) if body else [None]
    new_q, new_v = new.neutral, np.zeros(new.nv)

    def put(name: str, position: Any, velocity: Any) -> None:
        new_q[new.q_slice(name)], new_v[new.v_slice(name)] = position, velocity

    for joint in mechanism.joints:
        if not joint.nq or joint is root:
            continue
        x, u = q[mechanism.q_slice(joint.name)], v[mechanism.v_slice(joint.name)]
        if joint not in turned or joint.kind in SAME_COORDINATES:
            put(joint.name, x, u)
        elif joint.kind == "universal":
            put(joint.name, x[::-1], u[::-1])
        elif joint.kind == "spherical":
            put(joint.name, quaternion_conjugate(x), -rotation_from_quaternion(x) @ u)
        else:
            for k, part in enumerate(joint.elementary(), 1):
                if part.kind == "spherical":  # always the last
                    put(f"{joint.name}/{k}", quaternion_conjugate(x), -rotation_from_quaternion(x) @ u)
                else:
                    put(f"{joint.name}/{k}", x[0], u[0])
                    x, u = x[1:], u[1:]
    if root and root.kind == "free":
        put(root.name, *_free_state(mechanism, root, body, q, v))
    return new_q, new_v


def _new_root(mechanism: Mechanism, new: Mechanism) -> str:
    """The body at which a mechanism was re-rooted; nothing if it was a root before."""
    roots = {joint.name: joint.child for joint in mechanism.joints if joint.parent == WORLD}
    now = {joint.name: joint.child for joint in new.joints if joint.parent == WORLD}
    changed = [body for name, body in now.items() if body != roots.get(name)]
    if roots.keys() != now.keys() or len(changed) > 1 or mechanism.nv != new.nv:
        raise ArgumentError(f"rerooted_state: {new!r} is not {mechanism!r} re-rooted at another body")
    return changed[0] if changed else ""


def _path(mechanism: Mechanism, body: str) -> list[Joint]:
    """The joints from a body to the ground; the last one must be the joint of a base."""
    carried_by = {joint.child: joint for joint in mechanism.joints}
    path = [carried_by[body]]
    while path[-1].parent != WORLD:
        path.append(carried_by[path[-1].parent])
    root = path[-1]
    if root.kind not in ("free", "fixed"):
        raise UnsupportedError(
            f"cannot re-root at {body!r}: the ground itself is a link of the {root.kind} joint {root.name!r}. Put a "
            "base body, carried by a fixed or free joint, between the world and that joint"
        )
    return path


def _taken_apart(mechanism: Mechanism, whole: list[Joint]) -> Mechanism:
    """The same mechanism, in the same coordinates, with some joints as elementary joints in series."""
    bodies, joints = list(mechanism.bodies), [joint for joint in mechanism.joints if joint not in whole]
    for joint in whole:
        drives = {name: getattr(joint, name) for name in ("damping", "friction", "armature")}
        parent, placement, parts = joint.parent, joint.placement, joint.elementary()
        for k, part in enumerate(parts, 1):
            child = joint.child if k == len(parts) else f"{joint.child}/{k}"
            joints.append(Joint(f"{joint.name}/{k}", part.kind, parent, child, placement, part.axis, **drives))
            bodies += [Body(child)] if child != joint.child else []
            parent, placement = child, Transform.identity()
    return mechanism.replace(bodies=bodies, joints=joints)


def _rest(joint: Joint) -> list[Any]:
    """The neutral position of a joint that is to be reversed."""
    if joint.kind == "spherical":
        return [0, 0, 0, 1]
    return [joint.mimic.offset if joint.mimic else 0] * SIZES[joint.kind][0]


def _reversed(joint: Joint) -> tuple[list[Joint], list[Body]]:
    """A joint that carries its old parent, with a massless body between if the frames demand it.

    From X_pc = P T(q) follows X_cp = T(q)^-1 P^-1, and T(q)^-1 is T(q) along the opposite axis.
    """
    back = joint.placement.inverse()
    if joint.kind == "fixed":
        return [joint.replace(parent=joint.child, child=joint.parent, placement=back)], []
    turned = joint.replace(parent=joint.child, placement=Transform.identity(), axis=-joint.axis)
    if joint.kind == "universal":  # (A1 A2)^-1 = A2^-1 A1^-1
        turned = turned.replace(axis=-joint.axis2, axis2=-joint.axis)
    if joint.kind == "spherical" and joint.placement == Transform.identity():
        return [turned.replace(child=joint.parent)], []
    on_axis = all(scalar.is_zero(x) for x in joint.placement.translation) and joint.kind != "spherical"
    if joint.kind == "prismatic" or on_axis:
        # P T^-1 P^-1 is again a motion of the same kind, along the axis as the old parent sees it.
        axes = {name: joint.placement.rotate(getattr(turned, name)) for name in ("axis", "axis2")}
        return [turned.replace(child=joint.parent, placement=back, **axes)], []
    between = Body(f"{joint.parent}@{joint.name}")
    weld = Joint(between.name, "fixed", between.name, joint.parent, placement=back)
    return [turned.replace(child=between.name), weld], [between]


def _free_state(mechanism: Mechanism, root: Joint, body: str, q: Array, v: Array) -> tuple[list[Any], list[Any]]:
    """Position and velocity of a free joint like the root's that carries ``body`` instead."""
    tree = mechanism.tree
    carrier, at = tree.carriers[body]
    R, p, w, u = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3)  # pose and velocities, in world axes
    for link in (tree.links[k] for k in reversed(tree.ancestors[carrier])):
        step, speed = R @ link.translation(q), tree.speed(link, v)
        R, p, u = R @ link.rotation(q), p + step, u + np.cross(w, step)
        w, u = w + R @ (link.Zw @ speed), u + R @ (link.Zv @ speed)
    arm = R @ at.translation
    R, p, u = R @ at.rotation, p + arm, u + np.cross(w, arm)
    base = root.placement
    turn = quaternion_from_rotation(base.rotation.T @ R)
    return [*(base.rotation.T @ (p - base.translation)), *turn], [*(base.rotation.T @ u), *(R.T @ w)]
