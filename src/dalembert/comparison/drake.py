"""A finalised ``MultibodyPlant`` of Drake. Its forces contain joint damping and the reflected inertia of actuators."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.transform import Transform
from dalembert.comparison.contact_forces import STEP
from dalembert.comparison.peer import Drive, Peer, View, at_origin, mean
from dalembert.conventions import Drake
from dalembert.model import Mechanism

if TYPE_CHECKING:
    from dalembert.comparison.contact_forces import ContactAnswer, TouchingState


class DrakePeer(Peer):
    """A mechanism as Drake computes it, in our coordinates.

    Args:
        joints: our joint name -> Drake's, where they differ.
    """

    name = "Drake"
    includes = keeps = ("armature", "damping")

    def __init__(self, mechanism: Mechanism, plant: Any, joints: Mapping[str, str] | None = None):
        super().__init__(mechanism, Drake(mechanism, plant, joints, check=False))
        self.plant, self.context = plant, plant.CreateDefaultContext()
        moving = [plant.get_joint(index) for index in plant.GetJointIndices()]
        self.joints = {joint.velocity_start(): joint for joint in moving if joint.num_velocities()}

    @property
    def gravity(self) -> Array:
        return np.array(self.plant.gravity_field().gravity_vector())

    def drives(self) -> Mapping[str, Drive]:
        plant, rotors = self.plant, dict[str, float]()
        for index in plant.GetJointActuatorIndices():
            actuator = plant.get_joint_actuator(index)
            name = actuator.joint().name()
            rotors[name] = rotors.get(name, 0) + actuator.calc_reflected_inertia(self.context)
        found = {}
        for block in self.convention.blocks:
            joint = self.joints[block.their_v.start]
            found[block.joint] = Drive(rotors.get(joint.name(), 0.0), mean(joint.default_damping_vector()))
        return found

    def views(self, q: Array) -> Mapping[str, View]:
        from pydrake.multibody.tree import JacobianWrtVariable

        plant, world, theirs = self.plant, self.plant.world_frame(), self.convention.q(q)
        plant.SetPositions(self.context, theirs)
        found = {}
        for block in self.convention.blocks:
            body = self.joints[block.their_v.start].child_body()
            welded = [item.index() for item in plant.GetBodiesWeldedTo(body)]
            matter = plant.CalcSpatialInertia(self.context, world, welded)  # about the origin of the world
            mass = matter.get_mass()
            center = np.array(matter.get_com()) if mass else np.zeros(3)
            about_origin = mass * matter.get_unit_inertia().CopyToFullMatrix3() if mass else np.zeros((3, 3))
            tensor = about_origin - mass * (center @ center * np.eye(3) - np.outer(center, center))
            J = plant.CalcJacobianSpatialVelocity(
                self.context, JacobianWrtVariable.kV, body.body_frame(), np.zeros(3), world, world
            )
            point = plant.EvalBodyPoseInWorld(self.context, body).translation()
            J = self.convention.from_jacobian(theirs, at_origin(J[:3], J[3:], point))
            found[block.joint] = View(mass, center, tensor, J)
        return found

    def frames(self, q: Array) -> Mapping[str, Transform]:
        from pydrake.multibody.tree import FrameIndex

        plant = self.plant
        plant.SetPositions(self.context, self.convention.q(q))
        frames = [plant.get_frame(FrameIndex(k)) for k in range(plant.num_frames())]
        names = Counter(frame.name() for frame in frames)
        found = {}
        for frame in frames:
            if names[frame.name()] == 1:  # names are unique within a model instance only
                at = frame.CalcPoseInWorld(self.context)
                found[frame.name()] = Transform(at.rotation().matrix(), at.translation())
        return found

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        from pydrake.multibody.tree import MultibodyForces

        c, theirs = self.convention, self.convention.q(q)
        self.plant.SetPositions(self.context, theirs)
        self.plant.SetVelocities(self.context, c.v(q, v))
        forces = MultibodyForces(self.plant)
        self.plant.CalcForceElementsContribution(self.context, forces)  # gravity, damping, springs
        return c.from_tau(theirs, self.plant.CalcInverseDynamics(self.context, c.a(q, v, a), forces))

    def mass_matrix(self, q: Array) -> Array:
        theirs = self.convention.q(q)
        self.plant.SetPositions(self.context, theirs)
        return self.convention.from_mass_matrix(theirs, self.plant.CalcMassMatrix(self.context))

    def contact_answer(self, problem: TouchingState) -> ContactAnswer:
        """Its forces at the contacts of a problem; see :mod:`dalembert.comparison.drake_contacts`."""
        from dalembert.comparison.drake_contacts import answer

        return answer(self, problem)

    @property
    def step(self) -> float:
        """Of its simulation, s, where it has steps."""
        return float(self.plant.time_step()) or STEP

    def remarks(self) -> list[str]:
        return ["constraints of the plant take no part"] if self.plant.num_constraints() else []

    def extras(self) -> list[tuple[str, str]]:
        elements = self.plant.num_force_elements() - 1  # gravity is the first
        return [("the whole plant", f"{elements} force elements besides gravity")] if elements else []


def read(path: Path, free: bool, touching: Mechanism | None = None) -> Any:
    """A file as Drake reads it; roots float if asked for, or are bolted to the ground."""
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import MultibodyPlant

    def plant(bolted: list[str]) -> Any:
        made = MultibodyPlant(0.0)
        Parser(made).AddModels(path)
        for name in bolted:
            made.WeldFrames(made.world_frame(), made.GetBodyByName(name).body_frame())
        made.Finalize()
        return made

    with quiet():
        floating = plant([])
        return floating if free else plant([floating.get_body(k).name() for k in floating.GetFloatingBaseBodies()])


@contextmanager
def quiet() -> Iterator[None]:
    """Without Drake's reports of every tag that it does not know; what matters is compared."""
    log = logging.getLogger("drake")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)
