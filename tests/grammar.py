"""Valid models by grammar: a random mechanism, written as URDF, MJCF, SDF and TOML in one of the many ways these allow.

Every writer returns a text and the mechanism that it describes, built without any reader. Where a format has frames
that are not those of joints, bodies get other frames by chance; angles are in degrees or radians, rotations in every
notation, inertia tensors in axes of their own or made of shapes, and elements come in any order. One model in eight has
something that a reader may refuse.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import dalembert as da
from dalembert.algebra.transform import Transform
from dalembert.errors import DalembertError, ModelWarning
from dalembert.model import Body, Inertia, Joint, Mechanism, Mimic
from oracle import Oracle
from random_mechanisms import random_axis, random_inertia, random_rotation, random_transform

Rng = np.random.Generator
Array = np.ndarray

KINDS = {
    "urdf": ("revolute", "continuous", "prismatic", "fixed", "free"),
    "mjcf": ("revolute", "prismatic", "spherical", "free", "fixed"),
    "sdf": ("revolute", "continuous", "prismatic", "helical", "universal", "spherical", "fixed"),
    "toml": ("revolute", "continuous", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical",
             "free", "fixed"),
}  # fmt: skip


def words(values: Any) -> str:
    return " ".join(repr(float(x)) for x in np.ravel(values))


def roll_pitch_yaw(R: Array) -> Array:
    """R = Rz(yaw) Ry(pitch) Rx(roll)."""
    pitch = math.atan2(-R[2, 0], math.hypot(R[2, 1], R[2, 2]))
    if math.hypot(R[2, 1], R[2, 2]) < 1e-9:
        return np.array([math.atan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([math.atan2(R[2, 1], R[2, 2]), pitch, math.atan2(R[1, 0], R[0, 0])])


def rotation_vector(R: Array) -> tuple[Array, float]:
    """Axis and angle."""
    w, V = np.linalg.eig(R)
    axis = np.real(V[:, np.argmin(np.abs(w - 1))])
    axis /= np.linalg.norm(axis)
    other = np.linalg.svd(axis[None])[2][1]
    return axis, math.atan2(axis @ np.cross(other, R @ other), other @ R @ other)


def quaternion(R: Array) -> Array:
    """w, x, y, z."""
    axis, angle = rotation_vector(R)
    return np.array([math.cos(angle / 2), *(math.sin(angle / 2) * axis)])


def tree(rng: Rng, form: str) -> Mechanism:
    """Bodies b1, b2, ... on joints j1, j2, ... of the kinds of a format."""
    bodies, joints, leaders = [], [], []
    count = int(rng.integers(1, 6))
    for k in range(1, count + 1):
        parent = "world" if k == 1 else str(rng.choice(["world", *(f"b{i}" for i in range(1, k))]))
        kind = str(rng.choice(KINDS[form]))
        if (kind == "free" and parent != "world") or (k == 1 and count == 1 and kind == "fixed"):
            kind = "revolute"
        more: dict[str, Any] = {}
        if kind in ("revolute", "continuous", "prismatic"):
            more = dict(zip(("damping", "friction"), map(float, rng.uniform(0.1, 1, 2))))
            if form in ("mjcf", "toml"):
                more["armature"] = float(rng.uniform(0.1, 1))
            if form in ("urdf", "toml") and leaders and rng.random() < 0.3:
                more["mimic"] = Mimic(str(rng.choice(leaders)), float(rng.normal()), float(rng.normal()))
                more["damping"] = more["friction"] = 0.0
                more.pop("armature", None)
            else:
                leaders.append(f"j{k}")
        axis = random_axis(rng)
        across = np.cross(axis, axis[[1, 2, 0]] + [0.1, 0.3, -0.2])
        place = random_transform(rng)
        bodies.append(Body(f"b{k}", random_inertia(rng)))
        if kind != "universal" and kind != "spherical" and kind != "free" and rng.random() < 0.2:
            axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        joints.append(
            Joint(f"j{k}", kind, parent, f"b{k}", place, axis, across / np.linalg.norm(across),
                  pitch=float(rng.uniform(-0.3, 0.3)) if kind == "helical" else 0, **more)
        )  # fmt: skip
    gravity = [0, 0, -9.81] if form == "urdf" else rng.normal(size=3) * 4
    return Mechanism("grown", tuple(bodies), tuple(joints), gravity=gravity)


def shuffled(rng: Rng, parts: list[str]) -> str:
    return "\n".join(parts[k] for k in rng.permutation(len(parts)))


def own_axes(rng: Rng, inertia: Inertia) -> tuple[Array, Array]:
    """Axes for a tensor, and the tensor in them; one in two times the axes of the body."""
    R = random_rotation(rng) if rng.random() < 0.5 else np.eye(3)
    return R, R.T @ inertia.tensor @ R


def entries(I: Array, name: str = '{}="{}"') -> str:
    pairs = (("ixx", 0, 0), ("iyy", 1, 1), ("izz", 2, 2), ("ixy", 0, 1), ("ixz", 0, 2), ("iyz", 1, 2))
    return " ".join(name.format(k, repr(float(I[r, c]))) for k, r, c in pairs)


def odd(rng: Rng) -> bool:
    """Whether to add what a reader may refuse."""
    return bool(rng.random() < 0.04)


# ---------------------------------------------------------------------------------------------------------------- URDF


def urdf(rng: Rng) -> tuple[str, Mechanism]:
    m = tree(rng, "urdf")
    parts = []
    for body in m.bodies:
        R, I = own_axes(rng, body.inertia)
        looks = ["", '<visual><geometry><sphere radius="0.1"/></geometry></visual>', "<!-- a comment -->"]
        parts.append(
            f'<link name="{body.name}">{rng.choice(looks)}<inertial>'
            + shuffled(
                rng,
                [
                    f'<origin xyz="{words(body.inertia.center)}" rpy="{words(roll_pitch_yaw(R))}"/>',
                    f'<mass value="{body.inertia.mass!r}"/>',
                    f"<inertia {entries(I)}/>",
                ],
            )
            + "</inertial></link>"
        )
    for joint in m.joints:
        kind, at = {"free": "floating"}.get(joint.kind, joint.kind), joint.placement
        inner = [
            f'<origin xyz="{words(at.translation)}" rpy="{words(roll_pitch_yaw(at.rotation))}"/>',
            f'<parent link="{joint.parent}"/>',
            f'<child link="{joint.child}"/>',
        ]
        if kind not in ("fixed", "floating"):
            inner.append(f'<axis xyz="{words(joint.axis * rng.choice([1, 2]))}"/>')
        if kind in ("revolute", "prismatic"):
            inner.append('<limit lower="-9" upper="9" effort="5" velocity="2"/>')
        if joint.damping or joint.friction:
            inner.append(f'<dynamics damping="{joint.damping!r}" friction="{joint.friction!r}"/>')
        if joint.mimic:
            x = joint.mimic
            inner.append(f'<mimic joint="{x.joint}" multiplier="{x.multiplier!r}" offset="{x.offset!r}"/>')
        if odd(rng):
            inner.append(str(rng.choice(['<limit lower="2" upper="1"/>', '<axis xyz="0 0 0"/>', "<mimic/>"])))
        parts.append(f'<joint name="{joint.name}" type="{kind}">{shuffled(rng, inner)}</joint>')
    text = f'<robot name="grown"><link name="world"/>{shuffled(rng, parts)}</robot>'
    return text, m


# ---------------------------------------------------------------------------------------------------------------- TOML


def toml(rng: Rng) -> tuple[str, Mechanism]:
    m = tree(rng, "toml")

    def array(x: Any) -> str:
        return f"[{', '.join(repr(float(y)) for y in x)}]"

    def pose(at: Transform) -> list[str]:
        if rng.random() < 0.5:
            turned = f"rotation = [{', '.join(map(array, at.rotation))}]"
        else:
            angles = roll_pitch_yaw(at.rotation)
            turned = f"rpy = {array(angles)}"
            if rng.random() < 0.5:
                turned = "rpy = [" + ", ".join(f'"{float(x / math.pi)!r}*pi"' for x in angles) + "]"
        return [f"xyz = {array(at.translation)}", turned]

    text = [f"gravity = {array(m.gravity)}", 'name = "grown"', "[parameters]", "two = 2"]
    blocks = []
    for body in m.bodies:
        I = body.inertia.tensor
        six = array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
        tensor = six if rng.random() < 0.5 else f"[{', '.join(map(array, I))}]"
        keys = [
            f'name = "{body.name}"', f'mass = "two*{body.inertia.mass / 2!r}"', f"inertia = {tensor}",
            f"center = {array(body.inertia.center)}",
        ]  # fmt: skip
        blocks.append("[[body]]\n" + shuffled(rng, keys))
    for joint in m.joints:
        keys = [f'name = "{joint.name}"', f'kind = "{joint.kind}"', f'parent = "{joint.parent}"',
                f'child = "{joint.child}"', *pose(joint.placement)]  # fmt: skip
        kept = {"fixed": (), "spherical": (), "free": (), "universal": ("axis", "axis2")}.get(joint.kind, ("axis",))
        keys += [f"{name} = {array(getattr(joint, name))}" for name in kept]
        keys += [
            f"{name} = {getattr(joint, name)!r}"
            for name in ("pitch", "damping", "friction", "armature")
            if getattr(joint, name)
        ]
        if joint.mimic:
            x = joint.mimic
            keys.append(f'mimic = {{ joint = "{x.joint}", multiplier = {x.multiplier!r}, offset = {x.offset!r} }}')
        if odd(rng):
            keys.append(str(rng.choice(["colour = 3", "limits = 2", 'damping = "x("'])))
        blocks.append("[[joint]]\n" + shuffled(rng, keys))
    return "\n".join([*text, shuffled(rng, blocks)]), m


# ---------------------------------------------------------------------------------------------------------------- MJCF


def mjcf(rng: Rng) -> tuple[str, Mechanism]:
    m = tree(rng, "mjcf")
    degrees = bool(rng.random() < 0.5)
    sequence = str(rng.choice(["xyz", "zyx", "XYZ", "ZYX"]))
    unit = 180 / math.pi if degrees else 1.0

    def turned(R: Array, name: str = "") -> str:
        axis, angle = rotation_vector(R)
        match rng.integers(5):
            case 0:
                return f'quat="{words(quaternion(R) * rng.choice([1, -1]))}"'
            case 1:
                return f'axisangle="{words([*axis, angle * unit])}"'
            case 2:
                return f'xyaxes="{words([*(R[:, 0] * 2), *(R[:, 1] + 0.3 * R[:, 0])])}"'
            case 3:
                # Intrinsic turns about z, y, x are extrinsic ones about x, y, z.
                forward = roll_pitch_yaw(R)  # R = Rz Ry Rx
                back = roll_pitch_yaw(R.T)  # R = Rx(-roll) Ry(-pitch) Rz(-yaw)
                angles = {"zyx": forward[::-1], "XYZ": forward, "xyz": -back, "ZYX": -back[::-1]}[sequence]
                return f'euler="{words(angles * unit)}"'
        return f'quat="{words(quaternion(R) * 2)}"'

    children: dict[str, list[str]] = {}
    inertias: dict[str, Inertia] = {}
    for joint in m.joints:
        children.setdefault(joint.parent, []).append(joint.name)
    own: dict[str, Transform] = {"world": Transform.identity()}  # of bodies in frames of joints
    for joint in m.joints:
        free = joint.kind in ("spherical", "free")
        at = random_transform(rng, 0.3)
        own[joint.child] = Transform(
            np.eye(3) if free else at.rotation, np.zeros(3) if joint.kind == "free" else at.translation
        )

    def matter(name: str) -> str:
        X, inertia = own[name], m.body(name).inertia
        if rng.random() < 0.4:  # of a shape
            size, mass = rng.uniform(0.1, 0.4, 3), float(rng.uniform(0.5, 3))
            at = random_transform(rng, 0.2)
            kind = str(rng.choice(["box", "sphere", "ellipsoid", "cylinder"]))
            a, b, c = map(float, size)
            moments = {
                "box": np.array([b * b + c * c, a * a + c * c, a * a + b * b]) / 3,
                "sphere": np.full(3, 2 * a * a / 5),
                "ellipsoid": np.array([b * b + c * c, a * a + c * c, a * a + b * b]) / 5,
                "cylinder": np.array([a * a / 4 + b * b / 3, a * a / 4 + b * b / 3, a * a / 2]),
            }[kind]
            volume = {"box": 8 * a * b * c, "sphere": 4 / 3 * math.pi * a**3, "ellipsoid": 4 / 3 * math.pi * a * b * c,
                      "cylinder": 2 * math.pi * a * a * b}[kind]  # fmt: skip
            said = f'mass="{mass!r}"' if rng.random() < 0.5 else f'density="{mass / volume!r}"'
            count = {"sphere": 1, "cylinder": 2}.get(kind, 3)
            R = X.rotation @ at.rotation
            inertias[name] = Inertia(
                mass, X.rotation @ at.translation + X.translation, R @ np.diag(mass * moments) @ R.T
            )
            where = f'pos="{words(at.translation)}" {turned(at.rotation)}'
            return f'<geom type="{kind}" size="{words(size[:count])}" {said} {where}/>'
        inertias[name] = inertia
        centre = X.rotation.T @ (inertia.center - X.translation)
        I = X.rotation.T @ inertia.tensor @ X.rotation
        if rng.random() < 0.5:
            full = words([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
            return f'<inertial pos="{words(centre)}" mass="{inertia.mass!r}" fullinertia="{full}"/>'
        values, axes = np.linalg.eigh(I)
        axes = axes * np.linalg.det(axes)
        return f'<inertial pos="{words(centre)}" mass="{inertia.mass!r}" diaginertia="{words(values)}" {turned(axes)}/>'

    def body(name: str) -> str:
        joint = m.joint(name)
        X, over = own[joint.child], own[joint.parent]
        at = over.inverse() @ joint.placement @ X
        inner = []
        match joint.kind:
            case "free":
                inner.append(
                    f'<freejoint name="{name}"/>' if rng.random() < 0.5 else f'<joint type="free" name="{name}"/>'
                )
            case "spherical":
                inner.append(f'<joint type="ball" name="{name}" pos="{words(-X.translation)}"/>')
            case "revolute" | "prismatic":
                kind = {"revolute": "hinge", "prismatic": "slide"}[joint.kind]
                said = f'type="{kind}"' if kind == "slide" or rng.random() < 0.5 else ""
                inner.append(
                    f'<joint {said} name="{name}" axis="{words(X.rotation.T @ joint.axis)}" '
                    f'pos="{words(-X.rotation.T @ X.translation)}" damping="{joint.damping!r}" '
                    f'frictionloss="{joint.friction!r}" armature="{joint.armature!r}"/>'
                )
        inner.append(matter(joint.child))
        if odd(rng):
            inner.append(str(rng.choice(['<joint type="spiral"/>', "<geom type='box'/>", '<plugin name="x"/>'])))
        inner += [body(child) for child in children.get(joint.child, [])]
        return (
            f'<body name="{joint.child}" pos="{words(at.translation)}" {turned(at.rotation)}>'
            + "\n".join(inner)
            + "</body>"
        )

    inside = "\n".join(body(name) for name in children["world"])
    text = (
        f'<mujoco model="grown"><compiler angle="{"degree" if degrees else "radian"}" eulerseq="{sequence}"/>'
        f'<option gravity="{words(m.gravity)}"/><worldbody>{inside}</worldbody></mujoco>'
    )
    bodies = tuple(x.replace(inertia=inertias[x.name]) for x in m.bodies)
    joints = tuple(
        joint if joint.kind != "free" else joint.replace(placement=Transform(np.eye(3), np.zeros(3)))
        for joint in m.joints
    )
    return text, m.replace(bodies=bodies, joints=joints)


# ----------------------------------------------------------------------------------------------------------------- SDF


def sdf(rng: Rng) -> tuple[str, Mechanism]:
    m = tree(rng, "sdf")
    at: dict[str, Transform] = {"world": Transform.identity()}  # links in the model, at zero
    own: dict[str, Transform] = {"world": Transform.identity()}
    parts = []

    def pose(X: Transform, to: str = "") -> str:
        said = f' relative_to="{to}"' if to else ""
        if rng.random() < 0.3:
            return (
                f'<pose{said} degrees="true">{words([*X.translation, *np.degrees(roll_pitch_yaw(X.rotation))])}</pose>'
            )
        return f"<pose{said}>{words([*X.translation, *roll_pitch_yaw(X.rotation)])}</pose>"

    for joint in m.joints:
        free = joint.kind == "spherical"
        X = random_transform(rng, 0.3)
        own[joint.child] = X = Transform(np.eye(3) if free else X.rotation, X.translation)
        at[joint.child] = at[joint.parent] @ own[joint.parent].inverse() @ joint.placement @ X
    for body in m.bodies:
        X, parent = own[body.name], m.joints[[j.child for j in m.joints].index(body.name)].parent
        R, I = own_axes(rng, body.inertia)
        inside = X.inverse() @ Transform(R, body.inertia.center)
        where = pose(at[body.name])
        if parent != "world" and rng.random() < 0.5:
            where = pose(at[parent].inverse() @ at[body.name], parent)
        tensor = entries(I, "<{0}>{1}</{0}>")
        inner = [
            where,
            f"<inertial>{pose(inside)}<mass>{body.inertia.mass!r}</mass><inertia>{tensor}</inertia></inertial>",
        ]
        if odd(rng):
            inner.append(str(rng.choice(["<inertial><mass>-1</mass></inertial>", "<pose>1 2</pose>"])))
        parts.append(f'<link name="{body.name}">{shuffled(rng, inner)}</link>')
    for joint in m.joints:
        kind = {"spherical": "ball", "helical": "screw"}.get(joint.kind, joint.kind)
        inner = [f"<parent>{joint.parent}</parent>", f"<child>{joint.child}</child>", pose(own[joint.child].inverse())]
        if rng.random() < 0.3 and joint.parent != "world":
            inner[-1] = pose(own[joint.parent].inverse() @ joint.placement, joint.parent)
        dynamics = ""
        if joint.damping or joint.friction:
            dynamics = (
                f"<dynamics><damping>{joint.damping!r}</damping><friction>{joint.friction!r}</friction></dynamics>"
            )
        if kind not in ("ball", "fixed"):
            axis, said = joint.axis, ""
            if rng.random() < 0.4 and kind != "universal":
                axis, said = own[joint.child].rotation.T @ axis, f' expressed_in="{joint.child}"'
            inner.append(f"<axis><xyz{said}>{words(axis)}</xyz>{dynamics}</axis>")
        if kind == "universal":
            inner.append(f"<axis2><xyz>{words(joint.axis2)}</xyz></axis2>")
        if kind == "screw":
            inner.append(f"<screw_thread_pitch>{joint.pitch * 2 * math.pi!r}</screw_thread_pitch>")
        parts.append(f'<joint name="{joint.name}" type="{kind}">{shuffled(rng, inner)}</joint>')
    text = (
        f'<sdf version="1.9"><world name="w"><gravity>{words(m.gravity)}</gravity>'
        f'<model name="grown">{shuffled(rng, parts)}</model></world></sdf>'
    )
    return text, m


WRITERS: dict[str, Callable[[Rng], tuple[str, Mechanism]]] = {"urdf": urdf, "mjcf": mjcf, "sdf": sdf, "toml": toml}

READERS = {"urdf": da.read_urdf, "mjcf": da.read_mjcf, "sdf": da.read_sdf, "toml": da.read_toml}
TERMS = ("armature", "damping", "friction")


def outcome(form: str, rng: Rng) -> tuple[str, str]:
    """``accepted``, ``refused`` or ``WRONG``, and the reason: what is read must be the mechanism that was written."""
    text, meant = WRITERS[form](rng)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            read = READERS[form](text, **({"parameters": "default"} if form == "toml" else {}))
    except DalembertError as error:
        return "refused", f"{error}\n{text}"
    wrong = difference(read, meant, rng)
    return ("WRONG", f"{wrong}\n{text}") if wrong else ("accepted", "")


def difference(read: Mechanism, meant: Mechanism, rng: Rng) -> str:
    """In which number of the dynamics two mechanisms with the same names differ, or nothing."""
    first, second = (
        {x.name: x.kind.replace("continuous", "revolute") for x in m.joints if x.kind != "fixed"} for m in (read, meant)
    )
    if first != second:
        return f"joints {first}, meant {second}"
    q, v, a = meant.random_state(rng)
    own = [np.zeros(n) for n in (read.nq, read.nv, read.nv)]
    order = np.zeros(read.nv, dtype=int)
    for joint in meant.joints:
        if joint.nv:
            own[0][read.q_slice(joint.name)] = q[meant.q_slice(joint.name)]
            for mine, x in zip(own[1:], (v, a)):
                mine[read.v_slice(joint.name)] = x[meant.v_slice(joint.name)]
            order[read.v_slice(joint.name)] = range(meant.nv)[meant.v_slice(joint.name)]
    found, wanted = Oracle(read, TERMS), Oracle(meant, TERMS)
    values = {
        "mass": (read.mass, meant.mass),
        "mass matrix": (found.mass_matrix(own[0]), wanted.mass_matrix(q)[np.ix_(order, order)]),
        "inverse dynamics": (found.inverse_dynamics(*own), wanted.inverse_dynamics(q, v, a)[order]),
        "potential energy": (found.potential_energy(own[0]), wanted.potential_energy(q)),
    }
    for words, (x, y) in values.items():
        if not np.abs(np.asarray(x) - y).max(initial=0) <= 1e-7 * max(1.0, np.abs(y).max(initial=0)):
            return f"{words}: {np.asarray(x).tolist()}, meant {np.asarray(y).tolist()}"
    return ""
