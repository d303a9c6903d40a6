"""The same mechanism built by the interfaces of Pinocchio, MuJoCo and Drake, and the laws every convention obeys."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from dalembert.algebra.quaternions import quaternion_from_rotation
from dalembert.algebra.transform import Transform
from dalembert.conventions import Convention
from dalembert.model import WORLD, Joint, Mechanism
from dalembert.model.joint import plane_axes


def to_pinocchio(mechanism: Mechanism, names: dict[str, str] | None = None) -> Any:
    """A `pinocchio.Model` with a frame for every body and frame; mimic joints move on their own."""
    import pinocchio as pin

    names = names or {}

    def se3(x: Transform) -> Any:
        return pin.SE3(np.array(x.rotation), np.array(x.translation))

    def joint_model(joint: Joint) -> Any:
        match joint.kind:
            case "revolute" | "continuous":
                aligned = {(1, 0, 0): "X", (0, 1, 0): "Y", (0, 0, 1): "Z"}.get(tuple(joint.axis))
                if joint.kind == "continuous" and aligned:
                    return getattr(pin, f"JointModelRUB{aligned}")()  # its Python interface knows only these
                return pin.JointModelRevoluteUnaligned(joint.axis)
            case "prismatic":
                return pin.JointModelPrismaticUnaligned(joint.axis)
            case "helical":
                return pin.JointModelHelicalUnaligned(joint.axis, joint.pitch)
            case "universal":
                return pin.JointModelUniversal(joint.axis, joint.axis2)
            case "cylindrical":
                both = pin.JointModelComposite(2)
                both.addJoint(pin.JointModelRevoluteUnaligned(joint.axis))
                both.addJoint(pin.JointModelPrismaticUnaligned(joint.axis))
                return both
            case "planar":
                return pin.JointModelPlanar()
            case "spherical":
                return pin.JointModelSpherical()
            case "free":
                return pin.JointModelFreeFlyer()
        raise AssertionError(joint.kind)

    model = pin.Model()
    model.gravity.linear[:] = mechanism.gravity
    carriers = {WORLD: (0, Transform.identity())}
    for joint in mechanism.joints:
        parent, at = carriers[joint.parent]
        at = at @ joint.placement
        if joint.kind != "fixed":
            turn = Transform.identity()
            if joint.kind == "planar":  # Pinocchio's is in the xy plane of its frame
                turn = Transform.from_rotation(np.column_stack([*plane_axes(joint.axis), joint.axis]))
            parent = model.addJoint(parent, joint_model(joint), se3(at @ turn), names.get(joint.name, joint.name))
            at = turn.inverse()
        carriers[joint.child] = (parent, at)
        inertia = mechanism.body(joint.child).inertia
        if parent and not inertia.is_zero:
            matter = pin.Inertia(float(inertia.mass), np.array(inertia.center), np.array(inertia.tensor))
            model.appendBodyToJoint(parent, matter, se3(at))
        model.addFrame(pin.Frame(joint.child, parent, se3(at), pin.FrameType.BODY))
    for frame in mechanism.frames:
        parent, at = carriers[frame.body]
        model.addFrame(pin.Frame(frame.name, parent, se3(at @ frame.placement), pin.FrameType.OP_FRAME))
    return model


def to_mujoco(mechanism: Mechanism, named: bool = True) -> Any:
    """A `mujoco.MjModel`; joints of several degrees become several joints of one body, frames become sites."""
    import mujoco

    def place(x: Transform) -> str:
        w = np.roll(quaternion_from_rotation(x.rotation), 1)
        return f'pos="{_words(x.translation)}" quat="{_words(w)}"'

    def joints(joint: Joint) -> str:
        parts: list[tuple[str, Any]] = {
            "fixed": [],
            "revolute": [("hinge", joint.axis)],
            "continuous": [("hinge", joint.axis)],
            "prismatic": [("slide", joint.axis)],
            "cylindrical": [("hinge", joint.axis), ("slide", joint.axis)],
            "universal": [("hinge", joint.axis), ("hinge", joint.axis2)],
            "planar": [*(("slide", e) for e in plane_axes(joint.axis)), ("hinge", joint.axis)],
            "spherical": [("ball", [0, 0, 1])],
            "free": [("free", [0, 0, 1])],
        }[joint.kind]
        lines = []
        for k, (kind, axis) in enumerate(parts):
            name = f"name={quoteattr(joint.name + (f'/{k + 1}' if k else ''))}" if named else ""
            lines.append(f'<joint {name} type="{kind}" axis="{_words(axis)}"/>')
        return "".join(lines)

    def body(joint: Joint) -> str:
        inertia = mechanism.body(joint.child).inertia
        t = inertia.tensor
        entries = [t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[0, 2], t[1, 2]]
        matter = (
            f'<inertial mass="{float(inertia.mass)!r}" pos="{_words(inertia.center)}" fullinertia="{_words(entries)}"/>'
        )
        inner = "".join(body(child) for child in mechanism.joints if child.parent == joint.child)
        for frame in mechanism.frames:
            if frame.body == joint.child:
                inner += f"<site name={quoteattr(frame.name)} {place(frame.placement)}/>"
        return f"<body name={quoteattr(joint.child)} {place(joint.placement)}>{joints(joint)}{matter}{inner}</body>"

    roots = "".join(body(joint) for joint in mechanism.joints if joint.parent == WORLD)
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler angle="radian" boundmass="0"/><option gravity="{_words(mechanism.gravity)}"/>'
        f"<worldbody>{roots}</worldbody></mujoco>"
    )


def to_drake(mechanism: Mechanism, explicit_base: bool = True) -> Any:
    """A finalised `MultibodyPlant`; a free root is left to float by itself unless `explicit_base`."""
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody import tree
    from pydrake.multibody.plant import MultibodyPlant

    def pose(x: Transform) -> Any:
        return RigidTransform(RotationMatrix(np.array(x.rotation)), np.array(x.translation))

    plant = MultibodyPlant(0.0)
    plant.mutable_gravity_field().set_gravity_vector(mechanism.gravity)
    bodies = {WORLD: plant.world_body()}
    for body in mechanism.bodies:
        matter = body.inertia
        t, m = matter.tensor / matter.mass, matter.mass
        about_center = tree.UnitInertia(t[0, 0], t[1, 1], t[2, 2], t[0, 1], t[0, 2], t[1, 2])
        unit = about_center.ShiftFromCenterOfMass(np.array(-matter.center))
        spatial = tree.SpatialInertia(m, np.array(matter.center), unit)
        bodies[body.name] = plant.AddRigidBody(body.name, spatial)
    for joint in mechanism.joints:
        if joint.kind == "free" and not explicit_base:
            continue
        base = tree.FixedOffsetFrame(f"{joint.name}_frame", bodies[joint.parent].body_frame(), pose(joint.placement))
        base = plant.AddFrame(base)
        plant.AddJoint(_drake_joint(joint, joint.name, base, bodies[joint.child].body_frame()))
    for frame in mechanism.frames:
        plant.AddFrame(tree.FixedOffsetFrame(frame.name, bodies[frame.body].body_frame(), pose(frame.placement)))
    plant.Finalize()
    return plant


def _drake_joint(joint: Joint, *ends: Any) -> Any:
    from pydrake.math import RigidTransform
    from pydrake.multibody import tree

    match joint.kind:
        case "fixed":
            return tree.WeldJoint(*ends, RigidTransform())
        case "revolute" | "continuous":
            return tree.RevoluteJoint(*ends, joint.axis)
        case "prismatic":
            return tree.PrismaticJoint(*ends, joint.axis)
        case "helical":
            return tree.ScrewJoint(*ends, joint.axis, 2 * np.pi * joint.pitch, 0)  # metres per revolution
        case "planar":
            return tree.PlanarJoint(*ends, np.zeros(3))
        case "universal":
            return tree.UniversalJoint(*ends, 0.0)
        case "free":
            return tree.QuaternionFloatingJoint(*ends)
    raise AssertionError(joint.kind)


def _words(numbers: Any) -> str:
    return " ".join(repr(float(x)) for x in numbers)


def check_laws(convention: Convention, rng: np.random.Generator, followers: bool = False) -> None:
    """Round trips are identities, power is invariant, batches are many single states, energies agree."""
    m = convention.mechanism
    q, v, a = m.random_state(rng, (3, 2))
    q = np.where(np.abs(q) > 3, q / 3, q)  # an angle kept as cosine and sine comes back in (-pi, pi]
    tau = rng.normal(size=v.shape)
    q2, v2, a2, tau2 = convention.q(q), convention.v(q, v), convention.a(q, v, a), convention.tau(q, tau)
    assert q2.shape == (3, 2, convention.nq) and v2.shape == (3, 2, convention.nv)
    tight = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(convention.from_q(q2), q, **tight)
    np.testing.assert_allclose(convention.from_v(q2, v2), v, **tight)
    np.testing.assert_allclose(convention.from_a(q2, v2, a2), a, **tight)
    np.testing.assert_allclose(convention.from_tau(q2, tau2), tau, **tight)
    np.testing.assert_allclose(np.sum(tau2 * v2, axis=-1), np.sum(tau * v, axis=-1), **tight)
    theirs = rng.normal(size=v2.shape)
    np.testing.assert_allclose(
        np.sum(theirs * v2, axis=-1), np.sum(convention.from_tau(q2, theirs) * v, axis=-1), **tight
    )
    np.testing.assert_allclose(convention.q(q[1, 1]), q2[1, 1], **tight)
    np.testing.assert_allclose(convention.a(q[1, 1], v[1, 1], a[1, 1]), a2[1, 1], **tight)
    np.testing.assert_allclose(convention.v(q[1, 1], v)[1, 1], v2[1, 1], **tight)  # one position, many velocities

    J2, M2 = rng.normal(size=(3, 2, 4, convention.nv)), rng.normal(size=(3, 2, convention.nv, convention.nv))
    J, M = convention.from_jacobian(q2, J2), convention.from_mass_matrix(q2, M2)
    np.testing.assert_allclose(times(J, v), times(J2, v2), **tight)
    np.testing.assert_allclose(
        np.sum(v * times(M, v), axis=-1), np.sum(v2 * times(M2, v2), axis=-1), rtol=1e-11, atol=1e-11
    )
    if not followers:
        np.testing.assert_allclose(convention.jacobian(q, J), J2, **tight)
        np.testing.assert_allclose(convention.mass_matrix(q, M), M2, **tight)


def times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]
