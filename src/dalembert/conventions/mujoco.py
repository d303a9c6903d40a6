"""MuJoCo: quaternions with the scalar first; several joints on one body where we have one joint of several degrees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.conventions.blocks import Block, Free, ScalarFirst
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

FREE, BALL, SLIDE, HINGE = range(4)
"""``mjtJoint``."""

NAMES = ("free", "ball", "slide", "hinge")

SERIES = {
    "free": [FREE],
    "spherical": [BALL],
    "prismatic": [SLIDE],
    "revolute": [HINGE],
    "continuous": [HINGE],
    "cylindrical": [HINGE, SLIDE],
    "universal": [HINGE, HINGE],
    "planar": [SLIDE, SLIDE, HINGE],
}
"""The joints MuJoCo needs, from parent to child, for each kind of ours; it has no screw."""


class MuJoCo(Convention):
    """Maps between a mechanism and a ``mujoco.MjModel`` of it.

    A free joint has qpos = [x, y, z, quaternion w, x, y, z] and qvel = [linear in world axes; angular in body axes]; a
    ball joint a quaternion w, x, y, z and the angular velocity in body axes. Positions of hinges and slides are taken
    as they are: a model with reference positions must have been read from the same file.

    Args:
        mechanism: the mechanism here.
        model: the ``mujoco.MjModel``.
        joints: our joint name -> MuJoCo's (the first one, for several on a body), where they differ. A MuJoCo joint
            without a name is called ``joint0``, ``joint1``, ... by its number, as :func:`dalembert.load` does.
        check: make sure that every joint has the same axis and place on both sides.
    """

    def __init__(
        self, mechanism: Mechanism, model: Any, joints: Mapping[str, str] | None = None, *, check: bool = True
    ):
        require_both(mechanism, model, "mujoco.MjModel", ("jnt_qposadr", "jnt_dofadr", "nbody"))
        rename = dict(joints or {})
        on_body = {model.body(b).name: b for b in range(model.nbody) if model.body(b).name}
        runs: dict[str, list[int]] = {}
        taken: set[int] = set()
        labels = [model.joint(k).name or f"joint{k}" for k in range(model.njnt)]
        for joint in mechanism.joints:
            count = len(SERIES.get(joint.kind, ()))
            wanted = rename.get(joint.name, joint.name)
            first = labels.index(wanted) if wanted in labels else None
            if first is None and joint.child in on_body and joint.name not in rename:
                body = on_body[joint.child]
                first = int(model.body_jntadr[body]) if model.body_jntnum[body] == count else None
            if count and first is not None and first not in taken:
                run = list(range(first, min(first + count, model.njnt)))
                same_body = all(model.jnt_bodyid[k] == model.jnt_bodyid[first] for k in run)
                runs[wanted] = run if same_body else run[:1]
                taken.update(runs[wanted])
        rest = {labels[k]: [k] for k in range(model.njnt) if k not in taken}
        pairs = pair(mechanism, "MuJoCo", runs | rest, rename)
        blocks = [_block(mechanism, joint, model, run) for joint, run in pairs]
        super().__init__(mechanism, "MuJoCo", model.nq, model.nv, blocks)
        if check:
            require_same_motion(self, lambda q: _twists(model, q))


def _twists(model: Any, q: Array) -> Array:
    import mujoco

    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    columns = np.zeros((6, model.nv))
    for k in range(model.njnt):
        kind, at, dof, body = model.jnt_type[k], data.xanchor[k], model.jnt_dofadr[k], model.jnt_bodyid[k]
        if kind in (FREE, BALL):
            if kind == FREE:
                columns[:3, dof : dof + 3], dof = np.eye(3), dof + 3
            axes = data.xmat[body].reshape(3, 3)
            columns[:, dof : dof + 3] = np.vstack([np.cross(at, axes, axis=0), axes])
        else:
            axis = data.xaxis[k]
            columns[:, dof] = [*axis, 0, 0, 0] if kind == SLIDE else [*np.cross(at, axis), *axis]
    return columns


def _block(mechanism: Mechanism, joint: Joint, model: Any, run: list[int]) -> Block:
    kinds = [int(model.jnt_type[k]) for k in run]
    base = base_of(mechanism, joint)
    if kinds != SERIES.get(joint.kind) or (joint.kind == "free" and base is None):
        raise mismatch(joint, "MuJoCo", " + ".join(NAMES[kind] for kind in kinds))
    sizes = {FREE: (7, 6), BALL: (4, 3)}
    nq, nv = (sum(sizes.get(kind, (1, 1))[i] for kind in kinds) for i in range(2))
    at = place(mechanism, joint, int(model.jnt_qposadr[run[0]]), nq, int(model.jnt_dofadr[run[0]]), nv)
    if base is not None:
        return Free(**at, base=base, scalar_first=True)
    return ScalarFirst(**at) if joint.kind == "spherical" else Block(**at)
