"""Reader for MJCF, the format of MuJoCo.

The file is compiled here, as MuJoCo does it; where it uses what only MuJoCo knows - meshes that give masses, plugins,
flexible bodies, replicas - the ``mujoco`` package compiles it (extra ``mjcf``), and a note says for which line. Body
frames stay MuJoCo's: a joint whose anchor is not the body's origin, or several joints of one body, lead over massless
bodies in between. ``q`` of hinges and slides is MuJoCo's ``qpos``, reference positions included. What has no place in a
:class:`~dalembert.model.Mechanism` - actuators, tendons - is listed in its notes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.quaternions import rotation_from_quaternion
from dalembert.algebra.transform import Transform
from dalembert.errors import FormatError, MissingExtraError, ModelWarning
from dalembert.formats import mjcf_contact, mjcf_numbers
from dalembert.formats.mjcf_compile import compile_mjcf
from dalembert.formats.mjcf_source import Beyond, first_places, with_includes
from dalembert.formats.xml import TEXT, Element, read_xml, source_bytes
from dalembert.model.body import WORLD, Body, Frame, Shape
from dalembert.model.constraint import Constraint
from dalembert.model.force import Force
from dalembert.model.inertia import Inertia
from dalembert.model.joint import Joint, Limits, rotation_about
from dalembert.model.mechanism import Mechanism
from dalembert.text.layout import counted


def read_mjcf(source: str | bytes | Path, strict: bool = False, contacts: bool = False) -> Mechanism:
    """Read a mechanism from an MJCF file.

    Geoms that can touch are collision shapes of their bodies, with the friction, bits and softness that the file gives
    them; :func:`dalembert.contacts` makes pairs of them.

    Args:
        source: a path, or the MJCF itself: bytes, or a string whose first character is ``<``.
        strict: refuse inertias that no real body can have; otherwise they are listed by ``problems()``.
        contacts: take the file's own contacts over as well: those that it names as pairs, and all that its bits and
            exclusions allow, with the planes, height fields and other geoms of its world.
    """
    root = read_xml(source)
    if root.tag not in ("mujoco", "mujocoinclude"):
        raise root.error(f"an MJCF file has the root element <mujoco>, this one has <{root.tag}>")
    _check_sizes(root)
    _, file = source_bytes(source)
    mujoco: Any = mjcf_numbers
    notes: list[str] = []
    folder = None if file == TEXT else Path(file).parent
    root = with_includes(root, folder)
    try:
        model = compile_mjcf(root, folder)
    except Beyond as beyond:
        mujoco, model = _by_mujoco(source, beyond)
        notes = [f"read by MuJoCo {mujoco.__version__}, for {beyond}"]
    changes = dropped_forces(mujoco, model)
    if changes:
        message = f"{', '.join(changes)}: not taken over, so that forces differ from those in MuJoCo"
        warnings.warn(ModelWarning(message, where=str(file)), stacklevel=2)
    return _Reader(mujoco, model, notes, first_places(root)).mechanism(
        root.attributes.get("model", ""), strict, contacts
    )


def _by_mujoco(source: str | bytes | Path, beyond: Beyond) -> tuple[Any, Any]:
    """The package and its model of a file."""
    try:
        import mujoco
    except ImportError as error:
        raise MissingExtraError("mujoco", "mjcf", f"reading {beyond.what} (line {beyond.element.line})") from error
    data, file = source_bytes(source)
    try:
        if file == TEXT:
            return mujoco, mujoco.MjModel.from_xml_string(data.decode("utf-8-sig"))
        return mujoco, mujoco.MjModel.from_xml_path(str(file))
    except (ValueError, UnicodeDecodeError, RuntimeError, MemoryError) as error:  # the third: out of memory inside
        raise FormatError(f"MuJoCo refuses the file: {error}", file) from error


MOST_ITEMS = 1_000_000
"""Things that one element of a file may ask MuJoCo for; it would make them for minutes, or until memory is full."""

COUNTS: dict[str, tuple[str, ...]] = {
    "hfield": ("nrow", "ncol"), "texture": ("width", "height"), "flexcomp": ("count",), "composite": ("count",),
    "numeric": ("size",), "user": ("dim",),
}  # fmt: skip
"""Element -> attributes whose product says how many."""


def _check_sizes(root: Element) -> None:
    """Raise for an element that asks for more than :data:`MOST_ITEMS`; replications inside each other multiply."""
    waiting = [(root, 1.0)]
    while waiting:
        element, copies = waiting.pop()
        numbers = {name: _whole(text) for name, text in element.attributes.items()}
        if element.tag == "replicate":
            copies *= max(numbers.get("count", 1.0), 1.0)
        asked = math.prod(max(numbers.get(name, 1.0), 1.0) for name in COUNTS.get(element.tag, ()))
        if element.tag == "texture":
            asked /= 100  # pixels are small
        if element.tag == "size":
            asked = max((n for name, n in numbers.items() if name.startswith("n")), default=1.0)
        if asked * copies > MOST_ITEMS:
            raise element.error(f"<{element.tag}> asks for {asked * copies:.3g} items; {MOST_ITEMS} are allowed")
        waiting += [(child, copies) for child in element.children]


def _whole(text: str) -> float:
    """The product of the numbers in an attribute; one for anything else."""
    try:
        return math.prod(float(word) for word in text.split())
    except ValueError:
        return 1.0


def dropped_forces(mujoco: Any, model: Any) -> list[str]:
    """What exerts forces in MuJoCo without being asked to and has no place in a mechanism."""
    tendons = sum(bool(np.any(getattr(model, name, 0))) for name in ("tendon_stiffness", "tendon_damping"))
    servos = np.count_nonzero(np.asarray(model.actuator_biastype) != int(mujoco.mjtBias.mjBIAS_NONE))
    found = {
        "gravity compensation of bodies": np.any(model.body_gravcomp),
        "springs and dampers of tendons": tendons,
        "nonlinear springs or dampers of joints": _nonlinear(model),
        "springs that yield": np.any(getattr(model, "jnt_springyield", 0)),
        "springs of ball and free joints": np.any(np.asarray(model.jnt_stiffness)[np.asarray(model.jnt_type) < 2]),
        "fluid forces": model.opt.density or model.opt.viscosity or np.any(model.opt.wind),
        "servos (actuators that act at zero control)": servos,
        "flexible bodies": model.nflex,
        "plugins": model.nplugin,
    }
    return [what for what, there in found.items() if there]


class _Reader:
    """Turns a compiled MuJoCo model into parts of a mechanism."""

    def __init__(self, mujoco: Any, model: Any, notes: list[str], places: dict[str, str]):
        self.mujoco, self.model = mujoco, model
        self.notes, self.places = notes, places
        self.body_names = self._names("mjOBJ_BODY", model.nbody, "body")
        self.body_names[0] = WORLD
        self.joint_names = self._names("mjOBJ_JOINT", model.njnt, "joint")
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.geoms = mjcf_contact.Geoms(mujoco, model, pose)

    def mechanism(self, name: str, strict: bool, contacts: bool) -> Mechanism:
        model, mujoco = self.model, self.mujoco
        for body in range(1, model.nbody):
            self._add(body)
        off = model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
        kept, not_kept = constraints(mujoco, model, self.body_names, self.joint_names, self.places)
        coils, not_coils = springs(model, self.joint_names)
        pairs, not_pairs = mjcf_contact.contacts(self.geoms, self.body_names) if contacts else ((), [])
        self.notes += [*not_kept, *not_coils, *not_pairs, *begins(model, self.joint_names)]
        self.notes += leftovers(mujoco, model, contacts, self.places)
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
            contacts=pairs,
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
        touch = mjcf_contact.collisions(self.geoms, body)
        self.bodies.append(Body(name, inertia.moved(frame.rotation, frame.translation), look, touch))

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


# ----------------------------------------------------------------------------------------------- constraints and forces


Notes = list[str]

KINDS = ("free", "spherical", "prismatic", "revolute")
"""Kinds of the model in the order of MuJoCo's joint types."""

SCALAR_LAST = np.array([0, 1, 2, 4, 5, 6, 3])
"""MuJoCo's coordinates of a free joint in the order used here."""

NAMED = 5
"""How many joints a note names."""

SWITCHES = ("constraint", "equality", "frictionloss", "limit", "spring", "damper")
"""What the flags of an MJCF file can switch off and a mechanism carries as data."""


def pose(position: Array, quaternion: Array) -> Transform:
    """A pose from MuJoCo's position and quaternion (scalar first).

    Args:
        quaternion: w, x, y, z; normalised here.
    """
    w, x, y, z = (float(c) for c in quaternion)
    size = math.hypot(w, x, y, z)
    rotation = rotation_from_quaternion(np.array([x, y, z, w]) / size) if size else np.eye(3)
    return Transform(rotation, np.array(position))


def constraints(
    mujoco: Any, model: Any, bodies: list[str], joints: list[str], places: dict[str, str]
) -> tuple[tuple[Constraint, ...], Notes]:
    """Equality constraints of connect, weld, joint and fixed tendon; and notes on those that were not taken over."""
    kinds = mujoco.mjtEq
    found, notes, used = [], [], set()
    for k in range(model.neq):
        given = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_EQUALITY, k) or ""
        name, where = given or f"equality{k}", f" ({places[given]})" if given and given in places else ""
        while name in used:
            name += "_"
        used.add(name)
        kind, one, two, data = kinds(model.eq_type[k]), model.eq_obj1id[k], model.eq_obj2id[k], model.eq_data[k]
        if not model.eq_active0[k]:
            notes.append(f"equality constraint {name!r} is not active and was left out{where}")
        elif kind == kinds.mjEQ_JOINT:
            lengths = [({joints[j]: 1.0}, float(model.qpos0[model.jnt_qposadr[j]])) for j in (one, two) if j >= 0]
            found.append(_coupling(name, lengths, data[:5]))
        elif kind == kinds.mjEQ_TENDON and all(_is_fixed(mujoco, model, j) for j in (one, two) if j >= 0):
            lengths = [_tendon(model, joints, j) for j in (one, two) if j >= 0]
            found.append(_coupling(name, lengths, data[:5]))
        elif kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
            found.append(_closure(name, mujoco, model, bodies, k))
        else:
            notes.append(f"equality constraint {name!r} of type {kind.name[5:].lower()} was left out{where}")
    return tuple(found), notes


def _closure(name: str, mujoco: Any, model: Any, bodies: list[str], k: int) -> Constraint:
    one, two, data = model.eq_obj1id[k], model.eq_obj2id[k], model.eq_data[k]
    point = mujoco.mjtEq(model.eq_type[k]) == mujoco.mjtEq.mjEQ_CONNECT
    kind = "spherical" if point or not data[10] else "weld"  # a weld of torquescale 0 lets the bodies turn
    if mujoco.mjtObj(model.eq_objtype[k]) == mujoco.mjtObj.mjOBJ_SITE:
        at = [pose(model.site_pos[site], model.site_quat[site]) for site in (one, two)]
        ends = [bodies[model.site_bodyid[site]] for site in (one, two)]
    else:
        ends = [bodies[one], bodies[two]]
        if point:
            at = [Transform.from_translation(np.array(data[:3])), Transform.from_translation(np.array(data[3:6]))]
        else:  # a point of each body, and the orientation of the second in the first
            at = [pose(data[3:6], data[6:10]), Transform.from_translation(np.array(data[:3]))]
    return Constraint(name, kind, ends[0], ends[1], at[0], at[1])


Length = tuple[dict[str, float], float]
"""A weighted sum of positions of joints, by name, and its value in the reference position."""


def _is_fixed(mujoco: Any, model: Any, tendon: int) -> bool:
    """Whether the length of a tendon is a sum of positions of joints, not of distances in space."""
    return bool(model.wrap_type[model.tendon_adr[tendon]] == mujoco.mjtWrap.mjWRAP_JOINT)


def _tendon(model: Any, joints: list[str], tendon: int) -> Length:
    start = model.tendon_adr[tendon]
    weights: dict[str, float] = {}
    for k in range(start, start + model.tendon_num[tendon]):
        joint = joints[model.wrap_objid[k]]
        weights[joint] = weights.get(joint, 0.0) + float(model.wrap_prm[k])
    return weights, float(model.tendon_length0[tendon])


def _coupling(name: str, lengths: list[Length], polynomial: Any) -> Constraint:
    """y - y0 = c0 + c1 (x - x0) + ...; y is the first length, x the second. Of one joint each it is a coupling of them,
    rewritten as a polynomial of the second; of more, a formula."""
    coefficients = [float(c) for c in polynomial]
    (weights, reference), *second = lengths
    others, shift = second[0] if second else ({}, 0.0)
    if len(weights) == 1 and len(others) < 2 and weights.keys() != others.keys() and all(weights.values()):
        ((joint, gain),) = weights.items()
        if not others:
            return Constraint(name, "coupling", joint, "", coefficients=((coefficients[0] + reference) / gain,))
        ((other, slope),) = others.items()
        in_x = (np.polynomial.Polynomial(coefficients)(np.polynomial.Polynomial([-shift, slope])) + reference) / gain
        return Constraint(name, "coupling", other, joint, coefficients=tuple(float(c) for c in in_x.trim().coef))
    import sympy

    def exact(number: float) -> Any:  # decimals as TOML reads them, so that the formula is the same when written there
        return sympy.Rational(repr(number))

    y, x = (sum(exact(w) * sympy.Symbol(joint, real=True) for joint, w in part.items()) for part in (weights, others))
    right = sympy.Integer(0)
    for c in reversed(coefficients if others else coefficients[:1]):
        right = right * (x - exact(shift)) + exact(c)
    return Constraint(name, "position", function=y - exact(reference) - right)


def springs(model: Any, joints: list[str]) -> tuple[tuple[Force, ...], Notes]:
    """Springs of hinges and slides as force elements; and notes on springs of other joints."""
    found, notes = [], []
    for k in range(model.njnt):
        stiffness = float(model.jnt_stiffness[k])
        if stiffness and model.jnt_type[k] >= 2:
            rest = float(model.qpos_spring[model.jnt_qposadr[k]])
            found.append(Force(f"{joints[k]}_spring", "joint-spring", joints[k], "", stiffness=stiffness, rest=rest))
        elif stiffness:
            notes.append(f"the spring of joint {joints[k]!r} was left out: it has more than one degree of freedom")
    return tuple(found), notes


def shapes(mujoco: Any, model: Any, body: int) -> tuple[tuple[Shape, ...], Notes]:
    """The geoms of a body for pictures; and a note if some cannot be drawn."""
    kinds = mujoco.mjtGeom
    found, missing = [], 0
    for k in range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body]):
        x, y, z = (float(s) for s in model.geom_size[k])
        size: tuple[float, ...]
        match kinds(model.geom_type[k]):
            case kinds.mjGEOM_BOX:
                kind, size = "box", (2 * x, 2 * y, 2 * z)
            case kinds.mjGEOM_SPHERE:
                kind, size = "sphere", (x,)
            case kinds.mjGEOM_CYLINDER:
                kind, size = "cylinder", (x, 2 * y)
            case kinds.mjGEOM_CAPSULE:
                kind, size = "capsule", (x, 2 * y)
            case kinds.mjGEOM_ELLIPSOID:
                kind, size = "ellipsoid", (x, y, z)
            case _:
                missing += 1
                continue
        r, g, b, opacity = (float(c) for c in model.geom_rgba[k])
        found.append(Shape(kind, size, pose(model.geom_pos[k], model.geom_quat[k]), colour=(r, g, b, opacity)))
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) or f"body{body}"
    return tuple(found), [
        f"not drawn of body {name!r}: {counted(missing, 'geom')} (meshes, planes, ...)"
    ] if missing else []


def leftovers(mujoco: Any, model: Any, contacts: bool, places: dict[str, str]) -> Notes:
    """A note that lists everything of the model that was not taken over, and one on what the file switches off.

    Args:
        places: where the first of each stands in the file.
    """
    collide = int(np.sum((np.asarray(model.geom_contype) != 0) | (np.asarray(model.geom_conaffinity) != 0)))
    fluid = bool(model.opt.density or model.opt.viscosity or np.any(model.opt.wind))
    counts = {
        "contacts of geoms that can touch, for which contacts=True asks": 0 if contacts else collide,
        "actuators": model.nu, "tendons": model.ntendon, "sensors": model.nsensor,
        "flexible bodies": model.nflex, "skins": model.nskin, "keyframes": model.nkey, "cameras": model.ncam,
        "plugins": model.nplugin, "mocap bodies that are fixed here": model.nmocap,
        "bodies with gravity compensation": int(np.count_nonzero(model.body_gravcomp)),
        "joints with nonlinear springs or dampers": _nonlinear(model),
        "springs that yield but are elastic here": int(np.count_nonzero(getattr(model, "jnt_springyield", 0))),
        "force ranges of joints that are not symmetric": _lopsided(model),
        "limits of ball joints": int(np.count_nonzero(np.asarray(model.jnt_limited)[np.asarray(model.jnt_type) == 1])),
    }  # fmt: skip
    where = {
        what: f", {'from ' if count > 1 else ''}{places[what]}" for what, count in counts.items() if what in places
    }
    listed = [f"{what} ({count}{where.get(what, '')})" for what, count in counts.items() if count]
    listed += ["fluid forces"] if fluid else []
    notes = [f"not taken over from MJCF: {', '.join(listed)}"] if listed else []
    bits, flags = mujoco.mjtDisableBit, model.opt.disableflags
    off = [name for name in SWITCHES if flags & getattr(bits, f"mjDSBL_{name.upper()}")]
    if off:
        notes.append(f"the file switches {', '.join(off)} off; what it has of these is here all the same, as data")
    return notes


def begins(model: Any, joints: Sequence[str]) -> Notes:
    """A note on positions at which MuJoCo begins and that are not the neutral ones."""
    places = []
    for k, name in enumerate(joints):
        first = model.jnt_qposadr[k]
        match KINDS[model.jnt_type[k]]:
            case "free":
                q, neutral = model.qpos0[first + SCALAR_LAST], np.eye(7)[6]
            case "spherical":
                continue  # turned by nothing in both
            case _:
                q, neutral = model.qpos0[first : first + 1], np.zeros(1)
        if np.any(q != neutral):
            places.append(f"{name}={','.join(f'{x:.12g}' for x in q)}")
    more = f" and {counted(len(places) - NAMED, 'joint')} more" if len(places) > NAMED else ""
    where = "; ".join(places[:NAMED]) + more
    return [f"MuJoCo begins at {where}. Here motions begin at neutral positions unless q is given"] if places else []


def largest_effort(model: Any, joint: int) -> float:
    """The largest force or torque that actuators may exert on a joint, if the range is symmetric."""
    low, high = (float(x) for x in model.jnt_actfrcrange[joint])
    return high if model.jnt_actfrclimited[joint] and low == -high else math.inf


def _lopsided(model: Any) -> int:
    limited = [k for k in range(model.njnt) if model.jnt_actfrclimited[k]]
    return sum(math.isinf(largest_effort(model, k)) for k in limited)


def _nonlinear(model: Any) -> int:
    """Joints with polynomial terms beyond the linear one; older versions of MuJoCo have none."""
    count = 0
    for name in ("jnt_stiffnesspoly", "dof_dampingpoly"):
        table = getattr(model, name, None)
        if table is not None:
            count += int(np.count_nonzero(np.any(np.atleast_2d(table) != 0, axis=-1)))
    return count
