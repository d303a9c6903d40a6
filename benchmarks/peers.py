"""Robots for the benchmarks, each as a mechanism and as the same model in Pinocchio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import dalembert as da
from chains import chain_mechanism
from dalembert.conventions import Pinocchio
from dalembert.formats.catalogue import example_robot_data


@dataclass(eq=False)
class Robot:
    """One robot on both sides.

    Args:
        name: for the table.
        mechanism: here.
        model: Pinocchio's model.
    """

    name: str
    mechanism: da.Mechanism
    model: Any

    def __post_init__(self) -> None:
        self.data = self.model.createData()
        self.convention = Pinocchio(self.mechanism, self.model)

    @property
    def floating(self) -> bool:
        return any(joint.kind == "free" for joint in self.mechanism.joints)


def _pinocchio_model(path: Any, free: bool, locked: tuple[str, ...] = ()) -> Any:
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if free else pin.buildModelFromUrdf(str(path))
    if locked:
        model = pin.buildReducedModel(model, [model.getJointId(name) for name in locked], pin.neutral(model))
    return model


def robot(name: str) -> Robot:
    """``ur5``, ``panda``, ``anymal``, ``talos``, ``centauro``, ``g1``, ``tiago_dual`` or ``chain-N``."""
    import warnings

    warnings.simplefilter("ignore", da.errors.ModelWarning)
    if name.startswith("chain-"):
        return chain(int(name.split("-")[1]))
    known = example_robot_data()
    if name == "panda":
        arm = da.lock(da.load("panda"), {"panda_finger_joint1": 0.0})
        fingers = ("panda_finger_joint1", "panda_finger_joint2")
        return Robot("Panda arm", arm, _pinocchio_model(known["panda"], False, fingers))
    label, key, free = {
        "ur5": ("UR5", "ur5_robot", False),
        "anymal": ("ANYmal", "anymal_b_simple/anymal", True),
        "talos": ("Talos", "talos_reduced", True),
        "centauro": ("Centauro", "centauro", True),
        "g1": ("G1 with hands", "g1_29dof_with_hand_rev_1_0", True),
        "tiago_dual": ("Tiago dual", "tiago_dual", True),
    }[name]
    path = known[key]
    return Robot(label, da.load(path, base="free" if free else "fixed"), _pinocchio_model(path, free))


def chain(n: int) -> Robot:
    """A random chain of n revolute joints with general twists, on both sides the same."""
    import pinocchio as pin

    mechanism = chain_mechanism(n)
    model = pin.Model()
    parent = 0
    for joint, body in zip(mechanism.joints, mechanism.bodies):
        place, inertia = joint.placement, body.inertia
        at = pin.SE3(np.array(place.rotation), np.array(place.translation))
        parent = model.addJoint(parent, pin.JointModelRZ(), at, joint.name)
        model.appendBodyToJoint(parent, pin.Inertia(inertia.mass, inertia.center, inertia.tensor), pin.SE3.Identity())
    return Robot(mechanism.name, mechanism, model)
