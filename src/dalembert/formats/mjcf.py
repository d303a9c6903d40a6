"""Reader for MJCF, the format of MuJoCo, through the ``mujoco`` package (extra ``mjcf``).

MuJoCo compiles the file, so defaults, includes, inertias from geometry and frames are what MuJoCo makes of them. Body
frames stay MuJoCo's: a joint whose anchor is not the body's origin, or several joints of one body, lead over massless
bodies in between. ``q`` of hinges and slides is MuJoCo's ``qpos``, reference positions included. What has no place in a
:class:`~dalembert.model.Mechanism` - contacts, actuators, tendons - is listed in its notes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.errors import FormatError, MissingExtraError
from dalembert.formats.mjcf_extras import (
    KINDS,
    begins,
    constraints,
    largest_effort,
    leftovers,
    pose,
    shapes,
    springs,
)  # fmt: skip
from dalembert.formats.xml import TEXT, read_xml, source_bytes
from dalembert.model.body import WORLD, Body, Frame
from dalembert.model.inertia import Inertia
from dalembert.model.joint import Joint, Limits, rotation_about
from dalembert.model.mechanism import Mechanism


def read_mjcf(source: str | bytes | Path, strict: bool = False) -> Mechanism:
    """Read a mechanism from an MJCF file.

    Args:
        source: a path, or the MJCF itself: bytes, or a string whose first character is ``<``.
        strict: refuse inertias that no real body can have; otherwise they are listed by ``problems()``.
    """
    try:
        import mujoco
    except ImportError as error:
        raise MissingExtraError("mujoco", "mjcf", "reading MJCF") from error

    root = read_xml(source)
    if root.tag not in ("mujoco", "mujocoinclude"):
        raise root.error(f"an MJCF file has the root element <mujoco>, this one has <{root.tag}>")
    data, file = source_bytes(source)
    try:
        if file == TEXT:
            model = mujoco.MjModel.from_xml_string(data.decode("utf-8-sig"))
        else:
            model = mujoco.MjModel.from_xml_path(str(file))
    except (ValueError, UnicodeDecodeError) as error:
        raise FormatError(f"MuJoCo refuses the file: {error}", file) from error
    return _Reader(mujoco, model).mechanism(root.attributes.get("model", ""), strict)


class _Reader:
    """Turns a compiled MuJoCo model into parts of a mechanism."""

    def __init__(self, mujoco: Any, model: Any):
        self.mujoco, self.model = mujoco, model
        self.notes: list[str] = []
        self.body_names = self._names("mjOBJ_BODY", model.nbody, "body")
        self.body_names[0] = WORLD
        self.joint_names = self._names("mjOBJ_JOINT", model.njnt, "joint")
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []

    def mechanism(self, name: str, strict: bool) -> Mechanism:
        model, mujoco = self.model, self.mujoco
        for body in range(1, model.nbody):
            self._add(body)
        off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        kept, not_kept = constraints(mujoco, model, self.body_names, self.joint_names)
        coils, not_coils = springs(model, self.joint_names)
        self.notes += [*not_kept, *not_coils, *begins(model, self.joint_names), *leftovers(mujoco, model)]
        return Mechanism(
            name or "mujoco",
            tuple(self.bodies),
            tuple(self.joints),
            tuple(self._sites()),
            kept,
            coils,
            gravity=np.zeros(3) if off else np.array(model.opt.gravity),
            notes=tuple(self.notes),
            strict=strict,
        )

    def _names(self, kind: str, count: int, what: str) -> list[str]:
        """Names of all objects of one kind; those without one get ``body3``, ``joint0``, ..."""
        kind = getattr(self.mujoco.mjtObj, kind)
        given = [self.mujoco.mj_id2name(self.model, kind, k) or "" for k in range(count)]
        names = []
        for k, name in enumerate(given):
            wish = name or f"{what}{k}"
            while not name and (wish in given or wish in names):
                wish += "_"
            names.append(wish)
        return names

    def _fresh(self, wish: str, names: list[str], parts: list[Any]) -> str:
        while wish in names or any(part.name == wish for part in parts):
            wish += "_"
        return wish

    def _add(self, body: int) -> None:
        """The body and its joints, from the parent outwards: X = X0 J1 J2 ..., J = Trans(p) motion Trans(-p)."""
        model, name = self.model, self.body_names[body]
        joints = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
        parent, at = self.body_names[model.body_parentid[body]], pose(model.body_pos[body], model.body_quat[body])
        here = np.zeros(3)  # origin of the frame reached so far, in the body's frame
        for joint in joints:
            kind, anchor = KINDS[model.jnt_type[joint]], np.array(model.jnt_pos[joint])
            if kind == "free":
                at = Transform.identity()  # the coordinates of a free joint are the pose itself
            if kind in ("free", "prismatic"):
                anchor = here  # a translation has no anchor
            last = joint == joints[-1] and not np.any(anchor)
            child = name if last else self._fresh(f"{name}/{self.joint_names[joint]}", self.body_names, self.bodies)
            placement = at @ Transform.from_translation(anchor - here)
            self.joints.append(self._joint(joint, kind, parent, child, placement))
            if not last:
                self.bodies.append(Body(child))
            parent, at, here = child, Transform.identity(), anchor
        if len(joints) == 0 or np.any(here):
            fixed = self._fresh(f"{name}_fixed", self.joint_names, self.joints)
            self.joints.append(Joint(fixed, "fixed", parent, name, at @ Transform.from_translation(-here)))
        inertia = Inertia(float(model.body_mass[body]), np.zeros(3), np.diag(model.body_inertia[body]))
        frame = pose(model.body_ipos[body], model.body_iquat[body])
        look, not_drawn = shapes(self.mujoco, model, body)
        self.notes += not_drawn
        self.bodies.append(Body(name, inertia.moved(frame.rotation, frame.translation), look))

    def _joint(self, joint: int, kind: str, parent: str, child: str, placement: Transform) -> Joint:
        model = self.model
        axis, dof = np.array(model.jnt_axis[joint]), model.jnt_dofadr[joint]
        axis = np.array([0.0, 0.0, 1.0]) if kind in ("free", "spherical") else axis / np.linalg.norm(axis)
        limits = Limits()
        if kind in ("prismatic", "revolute"):
            # MuJoCo's joint is where the body was placed when qpos = qpos0
            reference = float(model.qpos0[model.jnt_qposadr[joint]])
            if reference and kind == "revolute":
                placement = placement @ Transform.from_rotation(rotation_about(axis, -reference))
            elif reference:
                placement = placement @ Transform.from_translation(-reference * axis)
            limits = Limits(effort=largest_effort(model, joint))
            if model.jnt_limited[joint]:
                lower, upper = (float(x) for x in model.jnt_range[joint])
                limits = limits.replace(lower=lower, upper=upper)
            elif kind == "revolute":
                kind = "continuous"
        data: dict[str, Any] = {
            "damping": float(model.dof_damping[dof]),
            "friction": float(model.dof_frictionloss[dof]),
            "armature": float(model.dof_armature[dof]),
        }
        return Joint(self.joint_names[joint], kind, parent, child, placement, axis, limits=limits, **data)

    def _sites(self) -> list[Frame]:
        model, frames = self.model, []
        taken = {body.name for body in self.bodies} | {WORLD}
        for k, name in enumerate(self._names("mjOBJ_SITE", model.nsite, "site")):
            wish = name
            while wish in taken:
                wish += "_site"
            if wish != name:
                self.notes.append(f"site {name!r} has the name of a body and became the frame {wish!r}")
            taken.add(wish)
            frames.append(
                Frame(wish, self.body_names[model.site_bodyid[k]], pose(model.site_pos[k], model.site_quat[k]))
            )
        return frames
