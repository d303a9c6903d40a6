"""The question: does another library see the same robot, and if not, what is the first thing it sees otherwise?"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.scalar import same
from dalembert.algebra.transform import Transform
from dalembert.comparison.contact_forces import STEP, compared
from dalembert.comparison.difference import HARMLESS, TOPICS, Comparison, Difference, Measured
from dalembert.comparison.peer import Peer, View
from dalembert.errors import ArgumentError, DalembertError, FormatError, MissingExtraError, UnsupportedError
from dalembert.formats.registry import is_of
from dalembert.model import Mechanism
from dalembert.model.checks import expect_choice, expect_real, expect_whole
from dalembert.model.consumers import heed
from dalembert.model.parameters import substitute
from dalembert.model.record import Record, content


def compare(
    mechanism: Mechanism,
    other: Any,
    *,
    library: str | None = None,
    joints: Mapping[str, str] | None = None,
    include: Collection[str] = (),
    states: int = 5,
    seed: int = 0,
    tolerance: float = 1e-8,
    q: Any = None,
    v: Any = None,
) -> Comparison:
    """Whether another library sees the same robot; if not, the first thing it sees otherwise, in words.

    Both sides are compared in the order of cause: joints, axes, placements, masses, centres of mass, inertia tensors,
    gravity, drives, and bodies and frames (sites) that both know by name; of two mechanisms also constraints, force
    elements and limits; then centres of mass, gravity forces, inertia matrix, bias and inverse dynamics at random
    states. Where the mechanism has contacts, their forces are compared as well, in a step without drives from a state
    that touches, and what makes them different is named in newtons: pyramid, margin, softness. Differing orders of
    joints and quaternions are mapped by :mod:`dalembert.conventions`; remarks report it.

    Args:
        mechanism: the mechanism; its symbols must have values.
        other: a ``pinocchio.Model``, a ``mujoco.MjModel``, a finalised ``MultibodyPlant`` of Drake, another mechanism,
            or the path of a file.
        library: who reads the file: ``"pinocchio"``, ``"mujoco"``, ``"drake"`` or ``"dalembert"``, the default.
        joints: our joint name -> the other's, where they differ.
        include: which of ``armature``, ``damping`` and ``friction`` enter our forces, as in ``da.Dynamics``.
        states: number of random states.
        seed: of the random states.
        tolerance: allowed relative difference; MuJoCo keeps principal axes of inertia to about 1e-9.
        q: positions near which contacts are compared; by default the neutral ones within the ranges of the joints.
        v: velocities there, at rest by default.
    """
    from dalembert.comparison.peer import MechanismPeer
    from dalembert.comparison.structure import Structure, frame_remarks

    if not isinstance(mechanism, Mechanism):
        raise ArgumentError(f"compare takes a Mechanism first, got {type(mechanism).__name__}; use dalembert.load(...)")
    if isinstance(include, str):
        raise ArgumentError(
            "{setting}: a list of names is needed", argument="include", value=include, remedy=f"write [{include!r}]"
        )
    states, seed = expect_whole(states, "compare, states", 1), expect_whole(seed, "compare, seed")
    tolerance = expect_real(tolerance, "compare, tolerance", 0)
    free = any(joint.kind == "free" for joint in mechanism.joints)
    if isinstance(other, (str, Path)):
        other = read(other, library or "dalembert", free, mechanism)
    elif library is not None:
        raise ArgumentError("library says who reads a file; leave it out, for other is a model already")
    for one in (mechanism, other):
        if isinstance(one, Mechanism):
            heed("compare", one)
    mechanism = substitute(mechanism, {})  # exact constants become floats
    if isinstance(other, Mechanism):
        other = substitute(other, {})
    for name in joints or {}:
        mechanism.joint(name)  # raises for a name that is not there
    kind, build = _library(other)
    if isinstance(other, Mechanism):
        build = partial(MechanismPeer, include=include)
    try:
        there = build(mechanism, other, joints)
    except ArgumentError as error:
        return Comparison(mechanism.name, kind, (_difference("joints", "", error),), ())
    except UnsupportedError as error:
        named = [joint.name for joint in mechanism.joints if f"joint {joint.name!r}" in str(error)]
        return Comparison(mechanism.name, kind, (_difference("joint type", "".join(named[:1]), error),), ())
    sprung = not isinstance(other, Mechanism) and there.springs() is not None
    here = MechanismPeer(mechanism, mechanism, include=include, springs=sprung)
    found = Structure(mechanism, here, there, include, tolerance).differences()
    if isinstance(other, Mechanism):
        found = sorted([*found, *descriptions(mechanism, other, tolerance)], key=lambda item: TOPICS.index(item.topic))
    measured = measure(mechanism, here, there, states, seed, tolerance)
    wrong = [row for row in measured if not row.ok]
    if wrong and all(item.topic in HARMLESS for item in found):
        text = (
            f"{wrong[0].quantity} differ by {wrong[0].error:.1e} at {wrong[0].where}, although joints, masses, gravity "
            "and drives agree"
        )
        advice = "Look for springs, actuators or other terms that the library adds on its own"
        found = [*found, Difference("unexplained", wrong[0].where, text, advice)]
    remarks = [*_conventions(there), *frame_remarks(here, there), *there.remarks()]
    remarks += here.remarks() if there.name != here.name else []
    touched = None
    if mechanism.contacts and hasattr(there, "contact_answer"):
        touched = compared(mechanism, there, there.name, getattr(there, "step", STEP), q, v, include)
        remarks += touched.remarks
    elif mechanism.contacts and there.name != here.name:
        remarks.append(f"contacts take no part: {there.name} is not asked for their forces here")
    elif q is not None or v is not None:
        raise ArgumentError("compare, q and v: they are for contacts, and there are none", argument="q")
    return Comparison(mechanism.name, kind, tuple(found), measured, tuple(dict.fromkeys(remarks)), states, touched)


def _difference(topic: str, where: str, error: DalembertError) -> Difference:
    """What keeps two models from being compared at all."""
    return Difference(topic, where, error.message, error.advice, error.argument, error.value)


EXTRAS = {"pinocchio": "peers", "mujoco": "mjcf", "drake": "drake"}
"""Other libraries, and which extra brings each; how it reads a file stands with it."""

UNREAD = ("TOML",)
"""Formats of ours that no other library reads."""


def read(path: str | Path, library: str, free: bool = False, touching: Mechanism | None = None) -> Any:
    """A file as a library reads it.

    Args:
        path: a URDF or MJCF file.
        library: ``"dalembert"``, ``"pinocchio"``, ``"mujoco"`` or ``"drake"``.
        free: let the root float, where the file does not say.
        touching: a mechanism with contacts that the library gets, too, where the file has no ground.
    """
    expect_choice(library, ("dalembert", *EXTRAS), "compare, library:")
    path = Path(path)
    if library == "dalembert":
        from dalembert.formats import load

        return load(str(path), **({"base": "free"} if free and is_of(path, "URDF") and not _floats(path) else {}))
    if not path.is_file():
        raise FormatError(f"there is no file {path}")
    try:
        floats = _floats(path)
        # Drake lets every root float that is not bolted to the ground; the others are to be given a joint for that.
        free = free or floats if library == "drake" else free and not floats
        return import_module(f"dalembert.comparison.{library}").read(path, free, touching)
    except DalembertError:
        raise
    except ImportError as error:
        raise MissingExtraError(library, EXTRAS[library], f"comparing with {library}") from error
    except (RuntimeError, ValueError) as error:  # what the libraries raise
        raise FormatError(f"{library} cannot read {path}: {error}") from None


def _floats(path: Path) -> bool:
    """Whether a URDF file has a floating joint of its own, so that its root needs no other."""
    floating = rb"""<joint\b[^>]*\btype\s*=\s*["']floating["']"""
    return is_of(path, "URDF") and re.search(floating, path.read_bytes()) is not None


def _library(other: Any) -> tuple[str, Callable[[Mechanism, Any, Mapping[str, str] | None], Peer]]:
    """The name of the library and what makes a peer; recognised without importing what is not there."""
    root = type(other).__module__.partition(".")[0]
    if isinstance(other, Mechanism):
        from dalembert.comparison.peer import MechanismPeer

        return f"the other mechanism, {other.name}", MechanismPeer
    if root == "pinocchio" and hasattr(other, "jointPlacements"):
        from dalembert.comparison.pinocchio import PinocchioPeer

        return "Pinocchio", PinocchioPeer
    if root == "mujoco" and hasattr(other, "jnt_type"):
        from dalembert.comparison.mujoco import MuJoCoPeer

        return "MuJoCo", MuJoCoPeer
    if root == "pydrake" and hasattr(other, "GetJointIndices"):
        from dalembert.comparison.drake import DrakePeer

        if not other.is_finalized():
            raise ArgumentError("the plant is not finalised; call plant.Finalize() first")
        return "Drake", DrakePeer
    raise ArgumentError(
        f"cannot compare with a {type(other).__name__}; give a pinocchio.Model, a mujoco.MjModel, a MultibodyPlant of "
        "Drake, a Mechanism or the path of a file"
    )


FREE = {
    "Pinocchio": "v = [linear; angular], both in the axes of the body, where the linear one here is in world axes",
    "MuJoCo": "q = [position, quaternion w x y z], where the scalar is last here; v is the same",
    "Drake": "q = [quaternion w x y z, position] and v = [angular; linear], both in world axes; here q = [position, "
    "quaternion x y z w] and v = [linear in world axes; angular in body axes]",
}
"""How the libraries write a free body."""


def _conventions(there: Peer) -> list[str]:
    """Conventions that differ and were mapped."""
    mechanism, blocks = there.mechanism, there.convention.blocks
    found = []
    theirs = [block.joint for block in sorted(blocks, key=lambda block: block.their_v.start)]
    ours = [block.joint for block in sorted(blocks, key=lambda block: block.own_v.start)]
    maps = f"da.conventions.{there.name}" if there.name in FREE else "the comparison"
    if not any(block.follower for block in blocks) and theirs != ours:
        k = next(k for k, (a, b) in enumerate(zip(ours, theirs)) if a != b)
        found.append(
            f"joints are ordered otherwise: number {k + 1} is {theirs[k]!r}, here {ours[k]!r}; {maps} maps vectors"
        )
    if any(mechanism.joint(block.joint).kind == "free" for block in blocks) and there.name in FREE:
        found.append(f"a free joint in {there.name} has {FREE[there.name]}; {maps} maps vectors")
    circles = [block.joint for block in blocks if block.their_q.stop - block.their_q.start > _nq(there, block.joint)]
    if circles:
        found.append(f"angles kept as (cosine, sine) there: {', '.join(circles)}; {maps} maps them")
    followers = [block.joint for block in blocks if block.follower]
    if followers:
        found.append(
            f"mimic joints move on their own there: {', '.join(followers)}; their forces count at the leader here"
        )
    return found


def _nq(there: Peer, joint: str) -> int:
    own = there.mechanism.q_slice(joint)
    return own.stop - own.start


# -------------------------------------------------------------------------------------------------------- random states


def measure(
    mechanism: Mechanism, here: Peer, there: Peer, states: int, seed: int, tolerance: float
) -> tuple[Measured, ...]:
    """Worst relative difference of every quantity."""
    rng = np.random.default_rng(seed)
    worst: dict[str, tuple[float, str]] = {}
    joints = [joint for joint in mechanism.joints if joint.nv]
    names = [joint.name for joint in joints for _ in range(joint.nv)]

    def note(quantity: str, where: Callable[[int], str], ours: Array, theirs: Array, floor: float = 0.0) -> None:
        size = max(float(np.abs(ours).max(initial=0)), float(np.abs(theirs).max(initial=0)), floor)
        off = np.abs(ours - theirs)
        error = float(off.max(initial=0)) / size if size else 0.0
        known = worst.get(quantity, (0.0, ""))
        if quantity not in worst or not error <= known[0]:
            worst[quantity] = (error, where(int(np.argmax(off.reshape(len(off), -1).max(axis=1)))) if off.size else "")

    def joint(k: int) -> str:
        return f"joint {names[k]!r}"

    for _ in range(states):
        q, v, a = mechanism.random_state(rng)
        ours, theirs = here.views(q), there.views(q)
        common = [name for name in ours if name in theirs and ours[name].mass and theirs[name].mass]
        bodies = [mechanism.joint(name).child for name in common]
        if common:
            mine, other = (np.stack([side[name].center for name in common]) for side in (ours, theirs))
            note("centres of mass", lambda k: f"body {bodies[k]!r}", mine, other)  # noqa: B023 - called at once
        still = np.zeros_like(v)
        # Forces that cancel cannot be more exact than what they consist of: weights times lengths, and inertial forces.
        floor = 1e-3 * max(_moment(ours, here.gravity), float(np.abs(here.inverse_dynamics(q, v, a)).max(initial=0)))
        for quantity, w, b in (("gravity forces", still, still), ("bias", v, still), ("inverse dynamics", v, a)):
            note(quantity, joint, here.inverse_dynamics(q, w, b), there.inverse_dynamics(q, w, b), floor)
        note("inertia matrix", joint, here.mass_matrix(q), there.mass_matrix(q))
    order = ("centres of mass", "gravity forces", "inertia matrix", "bias", "inverse dynamics")
    return tuple(Measured(name, *worst[name], tolerance) for name in order if name in worst)


def _moment(views: Mapping[str, View], gravity: Array) -> float:
    """The largest generalised force that the weights could have, were nothing balanced; lengths from the origin."""
    found = 0.0
    weight = float(np.linalg.norm(gravity))
    for view in views.values():
        angular, linear = (np.linalg.norm(half, axis=0) for half in np.split(view.jacobian, 2))
        arms = angular * np.linalg.norm(view.center) + linear
        found += weight * view.mass * float(arms.max(initial=0))
    return found


# --------------------------------------------------------------------------------------------------------- descriptions


OTHER = "the other mechanism"


def descriptions(here: Mechanism, there: Mechanism, tolerance: float) -> Iterator[Difference]:
    """Every part that differs, or is on one side only."""
    yield from _parts("constraints", "constraint", here.constraints, there.constraints, tolerance)
    yield from _parts("force elements", "force element", here.forces, there.forces, tolerance)
    yield from _capacities(here, there, tolerance)
    yield from _still(here, there, tolerance)


def _parts(topic: str, what: str, ours: Sequence[Any], theirs: Sequence[Any], tolerance: float) -> Iterator[Difference]:
    a, b = ({item.name: item for item in items} for items in (ours, theirs))
    for name in dict.fromkeys([*a, *b]):
        if name not in b or name not in a:
            side = "here" if name in a else f"in {OTHER}"
            yield Difference(topic, name, f"the {what} {name!r} ({(a | b)[name].kind}) is {side} only")
        elif changed := _changed(a[name], b[name], tolerance):
            yield Difference(topic, name, f"the {what} {name!r} differs in {', '.join(changed)}")


def _changed(a: Record, b: Record, tolerance: float) -> list[str]:
    """Fields that differ; values are given where they are plain numbers or names."""
    found = []
    for field in fields(a):  # type: ignore[arg-type]
        x, y = getattr(a, field.name), getattr(b, field.name)
        if not _same(x, y, tolerance):
            plain = isinstance(x, (int, float, str)) and isinstance(y, (int, float, str))
            found.append(f"{field.name} ({x} here, {y} in {OTHER})" if plain else field.name)
    return found


def _same(x: Any, y: Any, tolerance: float) -> bool:
    if same(content(x), content(y)):
        return True
    if isinstance(x, Transform):
        return all(_same(getattr(x, k), getattr(y, k), tolerance) for k in ("rotation", "translation"))
    try:
        a, b = (np.asarray(value, dtype=float) for value in (x, y))
    except (TypeError, ValueError):  # names and functions
        return False
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=tolerance, atol=tolerance))


def _capacities(here: Mechanism, there: Mechanism, tolerance: float) -> Iterator[Difference]:
    """Largest speeds and efforts of joints of the same name; ranges are compared with the structure."""
    theirs = {joint.name: joint.limits for joint in there.joints}
    for joint in here.joints:
        for name in ("velocity", "effort"):
            a, b = getattr(joint.limits, name), getattr(theirs.get(joint.name, joint.limits), name)
            if not _same(a, b, tolerance):
                text = f"the largest {name} of joint {joint.name!r} is {a:g} here and {b:g} in {OTHER}"
                yield Difference("limits", joint.name, f"{text}; no force depends on it")


def _still(here: Mechanism, there: Mechanism, tolerance: float) -> Iterator[Difference]:
    """Masses of bodies that never move."""
    for body in here.bodies:
        other = next((item for item in there.bodies if item.name == body.name), None)
        still = other is not None and all(m.tree.carriers[body.name][0] == -1 for m in (here, there))
        if still and other is not None and not _same(body.inertia.mass, other.inertia.mass, tolerance):
            text = (
                f"body {body.name!r}, which never moves, has {body.inertia.mass:g} kg here and {other.inertia.mass:g}"
            )
            yield Difference("mass", body.name, f"{text} kg in {OTHER}; no force depends on it")
