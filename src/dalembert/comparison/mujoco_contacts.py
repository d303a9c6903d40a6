"""Contact forces as MuJoCo finds them, and with its pyramid, margins, softness and creep taken away one by one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.quaternions import quaternion_from_rotation
from dalembert.algebra.transform import Transform
from dalembert.comparison.contact_forces import HARD, AnswerStage, ContactAnswer, Pair, TouchingState, hardened
from dalembert.model import WORLD, Contact, Ground, Mechanism, Shape

if TYPE_CHECKING:
    from dalembert.comparison.mujoco import MuJoCoPeer

GRAIN = 1e-9
"""Radius of the spheres that stand for points, m."""

SIZES: dict[str, tuple[str, Callable[[Any], tuple[float, ...]]]] = {
    "sphere": ("mjGEOM_SPHERE", lambda s: (s[0], 0, 0)),
    "capsule": ("mjGEOM_CAPSULE", lambda s: (s[0], s[1] / 2, 0)),
    "cylinder": ("mjGEOM_CYLINDER", lambda s: (s[0], s[1] / 2, 0)),
    "ellipsoid": ("mjGEOM_ELLIPSOID", lambda s: tuple(s)),
    "box": ("mjGEOM_BOX", lambda s: tuple(x / 2 for x in s)),
}
"""Our kinds of shapes as MuJoCo calls and measures them."""


def answer(peer: MuJoCoPeer, problem: TouchingState) -> ContactAnswer:
    """What MuJoCo says of the contacts of a problem.

    Args:
        peer: the same mechanism in MuJoCo.
        problem: the contacts here.
    """
    mujoco = peer.library
    model = copy.deepcopy(peer.given)
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= flags.mjDSBL_LIMIT | flags.mjDSBL_FRICTIONLOSS
    model.opt.disableflags &= ~(flags.mjDSBL_CONSTRAINT | flags.mjDSBL_CONTACT)
    model.opt.timestep = problem.h
    asked = _Asked(peer, problem, model)
    stages = [asked.stage("", "")]
    if model.opt.cone != mujoco.mjtCone.mjCONE_ELLIPTIC:
        model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        stages.append(asked.stage("pyramid", "its cone of friction is a pyramid of four sides"))
    model.opt.solver, model.opt.iterations = mujoco.mjtSolver.mjSOL_NEWTON, 1000
    model.opt.tolerance = model.opt.ls_tolerance = 1e-14
    model.opt.ls_iterations, model.opt.noslip_iterations = 100, 0
    stages.append(asked.stage("solver", "it stops before its problem is solved"))
    if model.geom_margin.any() or model.pair_margin.any():
        model.geom_margin[:] = model.geom_gap[:] = model.pair_margin[:] = model.pair_gap[:] = 0
        stages.append(asked.stage("margin", "contacts act at a distance, before anything touches"))
    same = "convex", stages[-1].forces
    creep = asked.creep()
    for solref, solimp in ((model.geom_solref, model.geom_solimp), (model.pair_solref, model.pair_solimp)):
        solref[:], solimp[:] = (2 * problem.h, 1.0), HARD  # velocities are stopped within one step
    stages.append(asked.stage("soft", "solref and solimp let bodies sink in before they are carried"))
    return ContactAnswer(tuple(stages), same, hardened(problem.mechanism, problem.h), creep, tuple(asked.remarks))


class _Asked:
    """A model, asked for its forces again and again."""

    def __init__(self, peer: MuJoCoPeer, problem: TouchingState, model: Any):
        self.peer, self.problem, self.model = peer, problem, model
        self.mujoco, self.remarks = peer.library, list[str]()
        blocks = peer.convention.blocks
        self.joints = {int(model.dof_bodyid[b.their_v.start]): b.joint for b in blocks}

    def _link(self, body: int) -> str:
        root = int(self.model.body_weldid[body])
        return self.joints.get(root, WORLD)

    def _run(self) -> Any:
        data = self.mujoco.MjData(self.model)
        data.qpos = self.peer.convention.q(self.problem.q)
        data.qvel = self.peer.convention.v(self.problem.q, self.problem.v)
        self.mujoco.mj_forward(self.model, data)
        return data

    def stage(self, cause: str, text: str) -> AnswerStage:
        """Its forces now."""
        data = self._run()
        known = {self.problem.pair(k) for k in range(len(self.problem.dynamics.contacts.points))}
        found: dict[Pair, np.ndarray] = {}
        pressing = 0
        for k in range(data.ncon):
            contact = data.contact[k]
            if contact.efc_address < 0:
                continue
            wrench = np.zeros(6)
            self.mujoco.mj_contactForce(self.model, data, k, wrench)
            force = contact.frame.reshape(3, 3).T @ wrench[:3]  # on the second geom
            second, first = (self._link(int(self.model.geom_bodyid[g])) for g in (contact.geom2, contact.geom1))
            pair, signed = (second, first), force
            if pair not in known:
                pair, signed = (first, second), -force
            found[pair] = found.get(pair, np.zeros(3)) + signed
            pressing += bool(wrench[0] > 0)
        return AnswerStage(cause, text, found, pressing)

    def creep(self) -> float | None:
        """The speed at which sticking contacts slip when nothing else accelerates them: b v = R f."""
        data, m = self._run(), self.model
        fastest = None
        for k in range(data.ncon):
            contact = data.contact[k]
            wrench, at = np.zeros(6), int(contact.efc_address)
            if at < 0 or contact.dim < 3:
                continue
            self.mujoco.mj_contactForce(m, data, k, wrench)
            bound = float(contact.friction[0]) * wrench[0]
            size = float(np.linalg.norm(wrench[1:3]))
            if not 0 < size < 0.999 * bound:
                continue
            _, damping, _, _ = data.efc_KBIP[at + 1]
            speed = float(np.linalg.norm(data.efc_R[at + 1 : at + 3] * wrench[1:3])) / damping if damping else 0.0
            fastest = max(fastest or 0.0, float(speed))
        return fastest


# ---------------------------------------------------------------------------------------------------- the same contacts


def has_ground(spec: Any, mujoco: Any) -> bool:
    """Whether a description has a ground of its own.

    Args:
        spec: the ``mujoco.MjSpec``.
    """
    grounds = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
    return any(geom.type in grounds for geom in spec.geoms)


def put(spec: Any, mechanism: Mechanism) -> None:
    """Put the contacts of a mechanism into a description for MuJoCo, as explicit pairs, in place of its own.

    Args:
        spec: the ``mujoco.MjSpec``, with the bodies of the mechanism by name.
    """
    import mujoco

    for geom in spec.geoms:
        geom.contype = geom.conaffinity = 0
    for pair in list(spec.pairs):
        spec.delete(pair)
    for item in mechanism.contacts:
        first = _geoms(spec, mujoco, mechanism, item, item.a, item.shape_a)
        second = _geoms(spec, mujoco, mechanism, item, item.b, item.shape_b)
        friction = float(item.friction)
        spin, roll = float(item.torsional), float(item.rolling)
        condim = 6 if roll else 4 if spin else 3 if friction else 1
        for one in first:
            for two in second:
                spec.add_pair(
                    geomname1=one, geomname2=two, condim=condim,
                    friction=[friction or 1.0, friction or 1.0, spin or 1e-5, roll or 1e-5, roll or 1e-5],
                    solref=list(map(float, item.solref)), solimp=list(map(float, item.solimp)), margin=0, gap=0,
                )  # fmt: skip


def _geoms(spec: Any, mujoco: Any, mechanism: Mechanism, item: Contact, end: str, shape: Shape | Ground) -> list[str]:
    frame = mechanism.frame(end)
    body = spec.worldbody if frame.body == WORLD else spec.body(frame.body)
    if body is None:
        return []
    at = frame.placement @ shape.placement
    stem = f"dalembert {item.name} {end}"
    kinds = mujoco.mjtGeom
    parts: list[tuple[Any, tuple[float, ...], Transform]] = []
    if isinstance(shape, Ground):
        if shape.kind == "half-spaces":
            for point, normal in zip(shape.points, shape.normals):
                parts.append((kinds.mjGEOM_PLANE, (0, 0, 1), at @ _facing(point, normal)))
    elif shape.kind in SIZES:
        name, sizes = SIZES[shape.kind]
        parts.append((getattr(kinds, name), sizes([float(x) for x in shape.size]), at))
    else:
        for vertex in shape.vertices:
            parts.append((kinds.mjGEOM_SPHERE, (GRAIN, 0, 0), at @ Transform.from_translation(vertex)))
    names = []
    for k, (kind, size, place) in enumerate(parts):
        x, y, z, w = (float(c) for c in quaternion_from_rotation(np.asarray(place.rotation, dtype=float)))
        body.add_geom(
            name=f"{stem} {k}", type=kind, size=list(size), pos=[float(c) for c in place.translation],
            quat=[w, x, y, z], contype=0, conaffinity=0, mass=0,
        )  # fmt: skip
        names.append(f"{stem} {k}")
    return names


def _facing(point: Any, normal: Any) -> Transform:
    """A frame at a point with z along a normal."""
    z = np.asarray(normal, dtype=float)
    aside = np.cross(np.eye(3)[np.abs(z).argmin()], z)
    x = aside / np.linalg.norm(aside)
    return Transform(np.stack([x, np.cross(z, x), z], axis=1), np.asarray(point, dtype=float))
