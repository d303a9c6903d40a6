"""Pinocchio: free-flyer and planar velocities in body axes, unbounded angles as (cosine, sine)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.conventions.blocks import Block, CosineSine, Free, PlanarInBodyAxes
from dalembert.conventions.convention import (
    Convention,
    base_of,
    mismatch,
    pair,
    place,
    require_both,
    require_same_motion,
)
from dalembert.model import Joint, Mechanism


class Pinocchio(Convention):
    """Maps between a mechanism and a ``pinocchio.Model`` of it.

    A free flyer has q = [x, y, z, quaternion x, y, z, w] and v = [linear; angular], both in body axes; a planar joint
    q = [x, y, cosine, sine] and v in body axes; an unbounded revolute joint q = [cosine, sine].

    Pinocchio's planar joint lies in the xy plane of its frame; for one of ours about another axis that frame, and with
    it the body's, must have been turned so that its x, y and z are the two directions and the normal of our plane. Its
    reader of URDF does not do that: it ignores the axis of a planar joint.

    Args:
        mechanism: the mechanism here.
        model: the ``pinocchio.Model``.
        joints: our joint name -> Pinocchio's, where they differ. One free joint needs no such help.
        check: make sure that every joint has the same axis and place on both sides.
    """

    def __init__(
        self, mechanism: Mechanism, model: Any, joints: Mapping[str, str] | None = None, *, check: bool = True
    ):
        require_both(mechanism, model, "pinocchio.Model", ("jointPlacements", "idx_qs", "nvs"))
        numbers = {name: k for k, name in enumerate(model.names) if k > 0}
        for name in [name for name, k in numbers.items() if model.joints[k].shortname().startswith("JointModelMimic")]:
            del numbers[name]  # it has no coordinates there either
        pairs = pair(mechanism, "Pinocchio", numbers, joints)
        blocks = [_block(mechanism, joint, model, k) for joint, k in pairs]
        super().__init__(mechanism, "Pinocchio", model.nq, model.nv, blocks)
        if check:
            require_same_motion(self, lambda q: _twists(model, q), _hint)


def _hint(joint: Joint) -> str:
    """Why a joint read from one and the same file may still move another way."""
    if joint.kind == "planar" and not np.array_equal(joint.axis, [0, 0, 1]):
        return (
            f"Pinocchio ignores the axis of a planar joint in a file and moves in the xy plane; ours is normal to "
            f"{joint.axis.tolist()}. "
        )
    return ""


def _twists(model: Any, q: Array) -> Array:
    import pinocchio

    own = pinocchio.computeJointJacobians(model, model.createData(), q).reshape(6, -1)
    if own.shape[1] == model.nv:
        return own
    columns = np.zeros((6, model.nv))  # a mimic joint has columns of its own, its ratio in them: they are its leader's
    for joint in list(model.joints)[1:]:
        columns[:, joint.idx_v : joint.idx_v + joint.nvExtended] += own[
            :, joint.idx_vExtended : joint.idx_vExtended + joint.nvExtended
        ]
    return columns


def _block(mechanism: Mechanism, joint: Joint, model: Any, k: int) -> Block:
    nq, nv, kind = model.nqs[k], model.nvs[k], model.joints[k].shortname()
    at = place(mechanism, joint, model.idx_qs[k], nq, model.idx_vs[k], nv)
    match joint.kind, nq, nv:
        case "revolute" | "continuous" | "prismatic" | "helical", 1, 1:
            return Block(**at)
        case "revolute" | "continuous", 2, 1:
            return CosineSine(**at)
        case "cylindrical" | "universal", 2, 2:
            return Block(**at)
        case "spherical", 4, 3:
            return Block(**at)
        case "planar", 4, 3:
            return PlanarInBodyAxes(**at)
        case "free", 7, 6:
            own = base_of(mechanism, joint)
            if own is None:
                return Free(**at, linear_in_body=True)
            there = Transform(model.jointPlacements[k].rotation, model.jointPlacements[k].translation)
            return Free(**at, linear_in_body=True, base=there.inverse() @ own)
    raise mismatch(joint, "Pinocchio", f"{kind} with nq = {nq}, nv = {nv}")
