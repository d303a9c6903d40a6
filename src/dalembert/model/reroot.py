"""Re-rooting: the same bodies and joints, hung up at another body."""

from __future__ import annotations

from dalembert.algebra import scalar
from dalembert.algebra.transform import Transform
from dalembert.errors import UnsupportedError
from dalembert.model.body import WORLD, Body
from dalembert.model.checks import expect
from dalembert.model.joint import SIZES, Joint
from dalembert.model.mechanism import Mechanism
from dalembert.model.operations import joint_motion

REVERSIBLE = ("fixed", "revolute", "continuous", "prismatic", "helical", "cylindrical")
"""Joints whose inverse motion is the same motion along the opposite axis, in the same coordinates.

The inverse of a universal joint turns about its axes in the other order, those of spherical, planar and free joints
need the conjugate quaternion or the turned translation: other coordinates.
"""


def reroot(mechanism: Mechanism, body: str) -> Mechanism:
    """The mechanism with another body as root: the joints between the old root and that body are reversed.

    The joint that carried the old root, free or fixed, now carries ``body``, under the same name. The coordinates of a
    free one become the pose of ``body``; a fixed one holds ``body`` where it is at the neutral position. All other
    joints keep names and coordinates (their axes are turned around instead), but their order in ``q`` follows the new
    tree. Every body keeps its frame: where a reversed joint needs another frame than that of the body it now carries,
    a massless body ``"body@joint"`` stands between them.

    Args:
        mechanism: the mechanism.
        body: the new root.
    """
    expect(mechanism, Mechanism, "reroot").body(body)
    carried_by = {joint.child: joint for joint in mechanism.joints}
    path = [carried_by[body]]
    while path[-1].parent != WORLD:
        path.append(carried_by[path[-1].parent])
    *reversed_joints, root = path
    if root.kind not in ("free", "fixed"):
        raise UnsupportedError(
            f"cannot re-root at {body!r}: the ground itself is a link of the {root.kind} joint {root.name!r}. Put a "
            "base body, carried by a fixed or free joint, between the world and that joint"
        )
    stuck = [joint for joint in reversed_joints if joint.kind not in REVERSIBLE]
    if stuck:
        raise UnsupportedError(
            f"cannot re-root at {body!r}: no coordinates stay the same when "
            + ", ".join(f"the {joint.kind} joint {joint.name!r}" for joint in stuck)
            + f" is reversed; reversible kinds are {', '.join(REVERSIBLE)}"
        )
    placement = root.placement
    if root.kind == "fixed":
        for joint in reversed(reversed_joints):
            rest = joint.mimic.offset if joint.mimic else 0
            placement = placement @ joint.placement @ joint_motion(joint, [rest] * SIZES[joint.kind][0])
    joints = [root.replace(child=body, placement=placement)]
    bodies = list(mechanism.bodies)
    for joint in reversed_joints:
        new, between = _reversed(joint)
        joints += new
        bodies += between
    untouched = [joint for joint in mechanism.joints if joint.name not in {other.name for other in path}]
    return mechanism.replace(
        bodies=bodies,
        joints=[*joints, *untouched],
        notes=(*mechanism.notes, f"re-rooted at body {body!r}; order of coordinates: see the table"),
    )


def _reversed(joint: Joint) -> tuple[list[Joint], list[Body]]:
    """A joint that carries its old parent, with a massless body between if the frames demand it.

    From X_pc = P T(q) follows X_cp = T(q)^-1 P^-1, and T(q)^-1 is T(q) along the opposite axis.
    """
    back = joint.placement.inverse()
    if joint.kind == "fixed":
        return [joint.replace(parent=joint.child, child=joint.parent, placement=back)], []
    turned = joint.replace(parent=joint.child, placement=Transform.identity(), axis=-joint.axis)
    if joint.kind == "prismatic" or all(scalar.is_zero(x) for x in joint.placement.translation):
        # P T^-1 P^-1 is again a motion of the same kind, along the axis as the old parent sees it.
        axis = joint.placement.rotate(turned.axis)
        return [turned.replace(child=joint.parent, placement=back, axis=axis)], []
    between = Body(f"{joint.parent}@{joint.name}")
    weld = Joint(between.name, "fixed", between.name, joint.parent, placement=back)
    return [turned.replace(child=between.name), weld], [between]
