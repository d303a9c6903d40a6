"""A ``mujoco.MjModel``. Its forces contain armature, damping, springs and gravity compensation.

Contacts, limits, equalities and friction loss act through MuJoCo's solver; it is switched off here.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.comparison.peer import Drive, Peer, Spring, View, at_origin, gathered, mean
from dalembert.conventions import MuJoCo
from dalembert.formats.registry import is_of
from dalembert.model import Mechanism

if TYPE_CHECKING:
    from dalembert.comparison.contact_forces import ContactAnswer, TouchingState


class MuJoCoPeer(Peer):
    """A mechanism as MuJoCo computes it, in our coordinates.

    Args:
        model: the ``mujoco.MjModel`` of it; it is not changed.
        joints: our joint name -> MuJoCo's, where they differ.
    """

    name = "MuJoCo"
    includes = ("armature", "damping")
    mass_hint = (
        "MuJoCo takes the mass of a body without inertial data from its shapes (inertiafromgeom); here it has no mass"
    )

    def __init__(self, mechanism: Mechanism, model: Any, joints: Mapping[str, str] | None = None):
        import mujoco

        super().__init__(mechanism, MuJoCo(mechanism, model, joints, check=False))
        self.library, self.given = mujoco, model
        self.model = copy.deepcopy(model)
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.data = mujoco.MjData(self.model)

    @property
    def gravity(self) -> Array:
        off = self.model.opt.disableflags & self.library.mjtDisableBit.mjDSBL_GRAVITY
        return np.zeros(3) if off else np.array(self.model.opt.gravity)

    def drives(self) -> Mapping[str, Drive]:
        m = self.model
        return {
            b.joint: Drive(
                mean(m.dof_armature[b.their_v]), mean(m.dof_damping[b.their_v]), mean(m.dof_frictionloss[b.their_v])
            )
            for b in self.convention.blocks
        }

    def views(self, q: Array) -> Mapping[str, View]:
        m, d, mujoco = self.model, self.data, self.library
        theirs = self.convention.q(q)
        d.qpos, d.qvel = theirs, 0
        mujoco.mj_forward(m, d)
        found = {}
        for block in self.convention.blocks:
            body = int(m.dof_bodyid[block.their_v.start])
            later = slice(block.their_v.stop, int(m.body_dofadr[body] + m.body_dofnum[body]))
            # several joints on one body: behind all but the last of them there is nothing but the next joint
            welded = [k for k in range(m.nbody) if m.body_weldid[k] == body and later.start >= later.stop]
            axes = [d.ximat[k].reshape(3, 3) for k in welded]
            parts = [
                (float(m.body_mass[k]), d.xipos[k].copy(), R @ np.diag(m.body_inertia[k]) @ R.T)
                for k, R in zip(welded, axes)
            ]
            linear, angular = np.zeros((3, m.nv)), np.zeros((3, m.nv))
            mujoco.mj_jac(m, d, linear, angular, np.zeros(3), body)
            linear[:, later] = angular[:, later] = 0
            J = self.convention.from_jacobian(theirs, at_origin(angular, linear, np.zeros(3)))
            found[block.joint] = View(*gathered(parts), J)
        return found

    def frames(self, q: Array) -> Mapping[str, Transform]:
        m, d = self.model, self.data
        d.qpos = self.convention.q(q)
        self.library.mj_kinematics(m, d)
        found = {m.site(k).name: (d.site_xmat[k], d.site_xpos[k]) for k in range(m.nsite)}
        found |= {m.body(k).name: (d.xmat[k], d.xpos[k]) for k in range(m.nbody)}
        return {name: Transform(R.reshape(3, 3), p) for name, (R, p) in found.items() if name}

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        c, d = self.convention, self.data
        theirs = c.q(q)
        d.qpos, d.qvel, d.qacc = theirs, c.v(q, v), c.a(q, v, a)
        self.library.mj_inverse(self.model, d)
        return c.from_tau(theirs, d.qfrc_inverse)

    def mass_matrix(self, q: Array) -> Array:
        d, n = self.data, self.model.nv
        theirs = self.convention.q(q)
        d.qpos, d.qvel = theirs, 0
        self.library.mj_forward(self.model, d)
        M = np.zeros((n, n))
        for row, unit in zip(M, np.eye(n)):
            self.library.mj_mulM(self.model, d, row, unit)
        return self.convention.from_mass_matrix(theirs, M)

    def contact_answer(self, problem: TouchingState) -> ContactAnswer:
        """Its forces at the contacts of a problem; see :mod:`dalembert.comparison.mujoco_contacts`."""
        from dalembert.comparison.mujoco_contacts import answer

        return answer(self, problem)

    @property
    def step(self) -> float:
        """Of its simulation, s."""
        return float(self.given.opt.timestep)

    def springs(self) -> Mapping[str, Spring]:
        m = self.model
        found = {}
        for block in self.convention.blocks:
            k = int(m.dof_jntid[block.their_v.start])
            stiffness = float(np.ravel(m.jnt_stiffness[k])[0])
            if stiffness and m.jnt_type[k] >= self.library.mjtJoint.mjJNT_SLIDE.value:
                found[block.joint] = Spring(stiffness, float(m.qpos_spring[m.jnt_qposadr[k]]))
        return found

    def remarks(self) -> list[str]:
        m = self.given
        solver = {
            "joint limits": np.any(m.jnt_limited),
            "equality constraints": m.neq,
            "contacts": m.ngeom > 1,
            "friction loss": np.any(m.dof_frictionloss),
        }
        there = [name for name, present in solver.items() if present]
        return [f"{', '.join(there)} act through MuJoCo's solver and take no part at random states"] if there else []

    def extras(self) -> list[tuple[str, str]]:
        m = self.model
        found = []
        for k in range(m.njnt):
            if np.any(m.jnt_stiffness[k]) and m.jnt_type[k] < self.library.mjtJoint.mjJNT_SLIDE.value:
                name = m.joint(k).name or f"joint{k}"
                found.append((f"joint {name!r}", f"a spring of stiffness {np.ravel(m.jnt_stiffness[k])[0]:g}"))
        for k in range(m.ntendon):
            terms = {"stiffness": m.tendon_stiffness, "damping": m.tendon_damping}
            terms["armature"] = getattr(m, "tendon_armature", np.zeros(m.ntendon))  # since MuJoCo 3.3
            acting = [f"{term} {np.ravel(values[k])[0]:g}" for term, values in terms.items() if np.any(values[k])]
            if acting:
                found.append((f"tendon {m.tendon(k).name or k!r}", f"a tendon of {' and '.join(acting)}"))
        for k in range(m.nbody):
            if m.body_gravcomp[k]:
                found.append((f"body {m.body(k).name!r}", f"gravity compensation of {m.body_gravcomp[k]:g}"))
        if m.opt.density or m.opt.viscosity:
            what = f"a fluid of density {m.opt.density:g} and viscosity {m.opt.viscosity:g}"
            found.append(("the whole model", what))
        return found


def read(path: Path, free: bool, touching: Mechanism | None = None) -> Any:
    """A file as MuJoCo reads it, with a floating root if asked for, and with the contacts of a mechanism if the file
    has no ground of its own."""
    import mujoco

    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)  # else they go to a file in the current folder
    try:
        return _compiled(mujoco.MjSpec.from_file(str(path)), free and is_of(path, "URDF"), touching)
    finally:
        mujoco.set_mju_user_warning(before)


def _compiled(spec: Any, free: bool, touching: Mechanism | None) -> Any:
    pictures = [geom for geom in spec.geoms if geom.meshname and not _has_mass(spec, geom)]
    for geom in pictures:  # not needed, and their files often not there
        spec.delete(geom)
    needed = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        if mesh.name not in needed:
            spec.delete(mesh)
    if free:
        spec.compiler.fusestatic = False
        first = spec.worldbody.first_body()
        if first is not None and not list(first.joints):
            first.add_freejoint()
    if touching is not None and touching.contacts:
        import mujoco

        from dalembert.comparison.mujoco_contacts import has_ground, put

        if not has_ground(spec, mujoco):
            spec.compiler.fusestatic = False  # shapes lie on bodies by name
            put(spec, touching)
    return spec.compile()


def _has_mass(spec: Any, geom: Any) -> bool:
    """Whether MuJoCo takes mass of a moving body from a shape."""
    import mujoco

    rule, body = spec.compiler.inertiafromgeom, geom.parent
    if body == spec.worldbody or rule == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE:
        return False
    first, last = spec.compiler.inertiagrouprange
    given = body.explicitinertial and rule == mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_AUTO
    weight = geom.density if np.isnan(geom.mass) else geom.mass
    return bool(not given and first <= geom.group <= last and weight)
