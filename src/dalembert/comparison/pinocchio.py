"""A ``pinocchio.Model``. Its forces contain ``armature``; ``rotorInertia``, ``damping`` and ``friction`` are data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.comparison.peer import Drive, Peer, View, mean
from dalembert.conventions import Pinocchio
from dalembert.errors import UnsupportedError
from dalembert.formats.registry import is_of
from dalembert.model import Mechanism

if TYPE_CHECKING:
    from dalembert.comparison.contact_forces import ContactAnswer, TouchingState


class PinocchioPeer(Peer):
    """A mechanism as Pinocchio computes it, in our coordinates.

    Args:
        model: the ``pinocchio.Model`` of it.
        joints: our joint name -> Pinocchio's, where they differ.
    """

    name = "Pinocchio"
    includes = ("armature",)

    def __init__(self, mechanism: Mechanism, model: Any, joints: Mapping[str, str] | None = None):
        import pinocchio

        super().__init__(mechanism, Pinocchio(mechanism, model, joints, check=False))
        self.library, self.model, self.data = pinocchio, model, model.createData()
        starts = {int(i): k for k, i in enumerate(model.idx_vs) if model.nvs[k]}
        self.numbers = {block.joint: starts[block.their_v.start] for block in self.convention.blocks}
        theirs = {name: k for k, name in enumerate(model.names) if k and not model.nvs[k]}  # mimic joints there, too
        for joint in mechanism.joints:
            name = (joints or {}).get(joint.name, joint.name)
            if joint.mimic is not None and name in theirs:
                self.numbers[joint.name] = theirs[name]

    @property
    def gravity(self) -> Array:
        return np.array(self.model.gravity.linear)

    def drives(self) -> Mapping[str, Drive]:
        m = self.model
        friction = m.friction if hasattr(m, "friction") else m.upperDryFrictionLimit
        return {
            b.joint: Drive(mean(m.armature[b.their_v]), mean(m.damping[b.their_v]), mean(friction[b.their_v]))
            for b in self.convention.blocks
        }

    def views(self, q: Array) -> Mapping[str, View]:
        pin, theirs = self.library, self.convention.q(q)
        pin.computeJointJacobians(self.model, self.data, theirs)
        found = {}
        for name, k in self.numbers.items():
            at, matter = self.data.oMi[k], self.model.inertias[k]
            J = pin.getJointJacobian(self.model, self.data, k, pin.ReferenceFrame.WORLD)  # [linear; angular]
            J = J.reshape(6, self.model.nv)  # one column arrives as a vector
            J = self.convention.from_jacobian(theirs, np.vstack([J[3:], J[:3]]))
            center = at.translation + at.rotation @ matter.lever if matter.mass else np.zeros(3)
            tensor = at.rotation @ matter.inertia @ at.rotation.T
            found[name] = View(float(matter.mass), center, tensor, J)
        return found

    def frames(self, q: Array) -> Mapping[str, Transform]:
        pin, kinds = self.library, self.library.FrameType
        pin.framesForwardKinematics(self.model, self.data, self.convention.q(q))
        found: dict[str, Transform] = {}
        for wanted in (kinds.OP_FRAME, kinds.BODY):  # names are unique within a type only; joints have frames, too
            for frame, at in zip(self.model.frames, self.data.oMf):
                if frame.type == wanted:
                    found[frame.name] = Transform(at.rotation, at.translation)
        return found

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        c, theirs = self.convention, self.convention.q(q)
        return c.from_tau(theirs, self.library.rnea(self.model, self.data, theirs, c.v(q, v), c.a(q, v, a)))

    def mass_matrix(self, q: Array) -> Array:
        theirs = self.convention.q(q)
        upper = np.triu(self.library.crba(self.model, self.data, theirs))  # older releases fill one triangle only
        return self.convention.from_mass_matrix(theirs, upper + np.triu(upper, 1).T)

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        """Accelerations at our q and v under our forces tau."""
        if self.is_coupled:
            raise UnsupportedError("Pinocchio moves mimic joints independently here, so that its accelerations differ")
        c, their_q, their_v = self.convention, self.convention.q(q), self.convention.v(q, v)
        theirs = self.library.aba(self.model, self.data, their_q, their_v, c.tau(q, tau))
        return c.from_a(their_q, their_v, theirs)

    def contact_answer(self, problem: TouchingState) -> ContactAnswer:
        """Its forces at the contacts of a problem; see :mod:`dalembert.comparison.pinocchio_contacts`."""
        from dalembert.comparison.pinocchio_contacts import answer

        return answer(self, problem)

    def remarks(self) -> list[str]:
        if np.any(self.model.rotorInertia):
            return ["rotorInertia is set in Pinocchio, but rnea, crba and aba use armature only"]
        return []


def read(path: Path, free: bool, touching: Mechanism | None = None) -> Any:
    """A file as Pinocchio reads it, with a floating root if asked for; points of contact are given to it later."""
    import pinocchio

    if is_of(path, "MJCF"):
        return pinocchio.buildModelFromMJCF(str(path))
    return pinocchio.buildModelFromUrdf(str(path), *([pinocchio.JointModelFreeFlyer()] if free else []))
