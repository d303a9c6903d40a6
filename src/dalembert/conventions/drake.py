"""Drake: a floating body has its quaternion first, scalar first, and its angular velocity first, in world axes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.conventions.blocks import Block, Free, PlanarTurned
from dalembert.conventions.convention import (
    Convention,
    base_of,
    mismatch,
    numbers,
    pair,
    place,
    require_both,
    require_same_motion,
)
from dalembert.errors import ArgumentError
from dalembert.model import Joint, Mechanism
from dalembert.model.body import WORLD
from dalembert.model.joint import plane_axes

SAME = {
    "revolute": ("revolute",),
    "continuous": ("revolute",),
    "prismatic": ("prismatic",),
    "helical": ("screw",),
    "universal": ("universal",),
}
"""Joint types of Drake that have the coordinates of our kinds."""


class Drake(Convention):
    """Maps between a mechanism and a finalised ``pydrake.multibody.plant.MultibodyPlant`` of it.

    A floating body has q = [quaternion w, x, y, z, position] and v = [angular; linear], both in world axes. The x
    and y of a planar joint are along directions of its plane that both sides choose in their own way. Drake's ball
    joint has roll, pitch and yaw as coordinates, which our spherical joint has not.

    Args:
        mechanism: the mechanism here.
        plant: the finalised plant.
        joints: our joint name -> Drake's, where they differ. One free joint needs no such help.
        check: make sure that every joint has the same axis and place on both sides.
    """

    def __init__(
        self, mechanism: Mechanism, plant: Any, joints: Mapping[str, str] | None = None, *, check: bool = True
    ):
        require_both(mechanism, plant, "pydrake.multibody.plant.MultibodyPlant", ("GetJointIndices", "is_finalized"))
        if not plant.is_finalized():
            raise ArgumentError("the MultibodyPlant is not finalised; call its Finalize() first")
        found = {}
        for index in plant.GetJointIndices():
            joint = plant.get_joint(index)
            if joint.num_velocities():
                found[joint.name()] = joint
        pairs = pair(mechanism, "Drake", found, joints)
        blocks = [_block(mechanism, joint, other) for joint, other in pairs]
        super().__init__(mechanism, "Drake", plant.num_positions(), plant.num_velocities(), blocks)
        if check:
            require_same_motion(self, lambda q: _twists(plant, q), _hint)


def _hint(joint: Joint) -> str:
    """Why a joint read from one and the same file may still move another way."""
    if joint.kind == "free" and joint.parent != WORLD:
        return f"Drake's reader of URDF lets such a body float in the world; ours floats relative to {joint.parent!r}. "
    return ""


def _twists(plant: Any, q: Array) -> Array:
    from pydrake.multibody.tree import JacobianWrtVariable

    context, world = plant.CreateDefaultContext(), plant.world_frame()
    plant.SetPositions(context, q)
    columns = np.zeros((6, plant.num_velocities()))
    for index in plant.GetJointIndices():
        joint = plant.get_joint(index)
        child = joint.child_body()
        origin = plant.EvalBodyPoseInWorld(context, child).inverse().translation()
        J = plant.CalcJacobianSpatialVelocity(
            context, JacobianWrtVariable.kV, child.body_frame(), origin, world, world
        )  # [angular; linear]
        own = slice(joint.velocity_start(), joint.velocity_start() + joint.num_velocities())
        columns[:, own] = np.vstack([J[3:, own], J[:3, own]])
    return columns


def _block(mechanism: Mechanism, joint: Joint, other: Any) -> Block:
    nq, nv, kind = other.num_positions(), other.num_velocities(), other.type_name()
    at = place(mechanism, joint, other.position_start(), nq, other.velocity_start(), nv)
    if kind in SAME.get(joint.kind, ()):
        return Block(**at)
    if joint.kind == kind == "planar":
        return PlanarTurned(**at, angle=_turned(joint, other))
    if joint.kind == "free" and kind == "quaternion_floating":
        return Free(
            **at,
            base=_base(mechanism, joint, other),
            quaternion_first=True,
            scalar_first=True,
            angular_first=True,
            angular_in_body=False,
        )
    raise mismatch(joint, "Drake", f"{kind} with nq = {nq}, nv = {nv}")


def _turned(joint: Joint, other: Any) -> float:
    """Angle from Drake's x axis of a plane to ours: both choose some directions normal to the axis."""
    here = numbers(joint.placement.rotation, f"the placement of planar joint {joint.name!r}") @ np.column_stack(
        plane_axes(numbers(joint.axis, f"the axis of planar joint {joint.name!r}"))
    )
    x, y = other.frame_on_parent().GetFixedPoseInBodyFrame().rotation().matrix().T[:2] @ here
    return float(np.arctan2(y[0] - x[1], x[0] + y[1]))


def _base(mechanism: Mechanism, joint: Joint, other: Any) -> Transform:
    """Our joint frame at zero in the frame Drake refers the position to; between moving bodies they are the same."""
    own = base_of(mechanism, joint)
    if own is None or int(other.parent_body().index()) != 0:  # the world is number 0
        return Transform.identity()
    there = other.frame_on_parent().GetFixedPoseInBodyFrame()
    return Transform(there.rotation().matrix(), there.translation()).inverse() @ own
