"""Contact forces as Drake finds them: springs with dampers in discrete steps, and the same made hard.

Drake's own description of the mechanism goes through a URDF file, so that shapes and ground can be put beside it; the
plant that was given for comparison is left alone.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.comparison.contact_forces import AnswerStage, ContactAnswer, Pair, TouchingState, hardened
from dalembert.conventions import Drake
from dalembert.formats import write_urdf
from dalembert.model import WORLD, Ground, Mechanism, Shape

if TYPE_CHECKING:
    from dalembert.comparison.drake import DrakePeer

HARD = 1e3
"""How much stiffer than what stops a body within one step contacts are made."""


NEAR_RIGID = 1e-5
"""Drake's threshold of what it regularises, as low as its solver bears."""


def answer(peer: DrakePeer, problem: TouchingState) -> ContactAnswer:
    """What Drake says of the contacts of a problem.

    Args:
        peer: the same mechanism in Drake.
        problem: the contacts here.
    """
    remarks: list[str] = []
    mechanism = problem.mechanism
    if any(float(x) for item in mechanism.contacts for x in (item.torsional, item.rolling)):
        remarks.append("torsional and rolling friction are not in Drake's points of contact")
    if mechanism.constraints:
        remarks.append("loop closures take no part in Drake's contact forces here")
    hard = HARD * (float(mechanism.mass) or 1.0) / problem.h**2
    stages = [
        AnswerStage("", "", *_forces(problem, None, False, remarks)),
        AnswerStage(
            "soft", "contacts are springs, which carry when bodies have sunk in", *_forces(problem, hard, False, [])
        ),
        AnswerStage(
            "lag",
            "the bound of friction is that of the step before, and forces are regularised",
            *_forces(problem, hard, True, []),
        ),
    ]
    # SAP at its hardest is the convex law as well: the least change of velocities within the dual cone
    return ContactAnswer(tuple(stages), hardened=hardened(mechanism, problem.h), remarks=tuple(remarks))


def _forces(
    problem: TouchingState, stiffness: float | None, at_once: bool, remarks: list[str]
) -> tuple[dict[Pair, np.ndarray], int]:
    """Forces, and how many points press.

    Args:
        problem: the contacts here.
        stiffness: of every point, N/m; Drake's own if None.
        at_once: find friction together with the normal forces, and regularise as little as Drake allows.
        remarks: receives what took no part.
    """
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, DiscreteContactApproximation
    from pydrake.systems.framework import DiagramBuilder

    from dalembert.comparison.drake import quiet

    mechanism = problem.mechanism
    builder = DiagramBuilder()
    plant, scene = AddMultibodyPlantSceneGraph(builder, problem.h)
    plant.set_contact_model(ContactModel.kPoint)
    plant.SetUseSampledOutputPorts(False)  # forces of this state, not of a step that was taken before
    if at_once:
        plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        plant.set_sap_near_rigid_threshold(NEAR_RIGID)
    _parsed(plant, mechanism)
    with quiet():
        shapes = _shapes(plant, scene, mechanism, stiffness, remarks)
        plant.Finalize()
        diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    _only_pairs(scene, scene.GetMyContextFromRoot(context), shapes)
    mine = plant.GetMyContextFromRoot(context)
    convention = Drake(mechanism, plant, None, check=False)
    plant.SetPositions(mine, convention.q(problem.q))
    plant.SetVelocities(mine, convention.v(problem.q, problem.v))
    actuation = plant.get_actuation_input_port()
    if actuation.size():
        actuation.FixValue(mine, np.zeros(actuation.size()))
    results = plant.get_contact_results_output_port().Eval(mine)
    known = {problem.pair(k) for k in range(len(problem.dynamics.contacts.points))}
    found: dict[Pair, np.ndarray] = {}
    pressing = 0
    for k in range(results.num_point_pair_contacts()):
        info = results.point_pair_contact_info(k)
        force = np.array(info.contact_force())  # on body B
        names = (plant.get_body(index).name() for index in (info.bodyB_index(), info.bodyA_index()))
        on, by = (WORLD if name == WORLD else problem.link(name) for name in names)
        pair, signed = ((on, by), force) if (on, by) in known else ((by, on), -force)
        found[pair] = found.get(pair, np.zeros(3)) + signed
        pressing += bool(np.linalg.norm(force) > 0)
    return found, pressing


def _parsed(plant: Any, mechanism: Mechanism) -> None:
    """The mechanism as a URDF file, without shapes, in a plant that is not finalised."""
    from pydrake.multibody.parsing import Parser

    from dalembert.comparison.drake import quiet

    bare = mechanism.replace(
        bodies=tuple(body.replace(shapes=(), collisions=()) for body in mechanism.bodies),
        contacts=(), constraints=(), forces=(),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, quiet():
        file = Path(folder) / "mechanism.urdf"
        write_urdf(bare, file)
        Parser(plant).AddModels(file)


def _shapes(
    plant: Any, scene: Any, mechanism: Mechanism, stiffness: float | None, remarks: list[str]
) -> list[tuple[Any, Any]]:
    """Geometries of every contact, for both ends."""
    from pydrake.geometry import AddContactMaterial, ProximityProperties
    from pydrake.multibody.plant import CoulombFriction

    found = []
    for item in mechanism.contacts:
        ends = []
        for end, shape in ((item.a, item.shape_a), (item.b, item.shape_b)):
            frame = mechanism.frame(end)
            body = plant.world_body() if frame.body == WORLD else plant.GetBodyByName(frame.body)
            material = ProximityProperties()
            mu = float(item.friction)
            AddContactMaterial(
                dissipation=1e3 if stiffness else None, point_stiffness=stiffness, friction=CoulombFriction(mu, mu),
                properties=material,
            )  # fmt: skip
            ids = []
            for k, (geometry, at) in enumerate(_geometries(shape)):
                place = _rigid(frame.placement @ shape.placement) @ at
                ids.append(plant.RegisterCollisionGeometry(body, place, geometry, f"{item.name} {end} {k}", material))
            if not ids:
                remarks.append(f"contact {item.name!r}: {getattr(shape, 'kind', '')} is not put into Drake")
            ends.append(ids)
        found.append((ends[0], ends[1]))
    return found


def _geometries(shape: Shape | Ground) -> list[tuple[Any, Any]]:
    from pydrake.geometry import Box, Capsule, Cylinder, Ellipsoid, HalfSpace, Sphere
    from pydrake.math import RigidTransform

    unit = RigidTransform()
    if isinstance(shape, Ground):
        if shape.kind != "half-spaces":
            return []
        return [
            (HalfSpace(), RigidTransform(HalfSpace.MakePose(_floats(n), _floats(p))))
            for p, n in zip(shape.points, shape.normals)
        ]
    size = [float(x) for x in shape.size]
    if shape.kind in ("points", "mesh"):
        return [(Sphere(1e-9), RigidTransform(_floats(x))) for x in shape.vertices]
    made = {
        "sphere": lambda: Sphere(*size), "capsule": lambda: Capsule(*size), "cylinder": lambda: Cylinder(*size),
        "ellipsoid": lambda: Ellipsoid(*size), "box": lambda: Box(*size),
    }  # fmt: skip
    return [(made[shape.kind](), unit)]


def _floats(x: Any) -> Any:
    return np.asarray(x, dtype=float)


def _rigid(at: Any) -> Any:
    from pydrake.math import RigidTransform, RotationMatrix

    R = RotationMatrix.ProjectToRotationMatrix(_floats(at.rotation))
    return RigidTransform(R, _floats(at.translation))


def _only_pairs(scene: Any, context: Any, shapes: list[tuple[Any, Any]]) -> None:
    """Nothing touches but what the contacts name."""
    from pydrake.geometry import CollisionFilterDeclaration, GeometrySet

    manager = scene.collision_filter_manager(context)
    everything = GeometrySet([x for ends in shapes for ids in ends for x in ids])
    manager.Apply(CollisionFilterDeclaration().ExcludeWithin(everything))
    for one, two in shapes:
        if one and two:
            manager.Apply(CollisionFilterDeclaration().AllowBetween(GeometrySet(one), GeometrySet(two)))
