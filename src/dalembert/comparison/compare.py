"""The question: does another library see the same robot, and if not, what is the first thing it sees otherwise?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dalembert.comparison.difference import HARMLESS, TOPICS, Comparison, Difference
from dalembert.comparison.peer import Peer
from dalembert.comparison.readers import read
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.model import Mechanism
from dalembert.model.checks import expect_real, expect_whole
from dalembert.model.parameters import substitute


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
) -> Comparison:
    """Whether another library sees the same robot; if not, the first thing it sees otherwise, in words.

    Both sides are compared in the order of cause: joints, axes, placements, masses, centres of mass, inertia tensors,
    gravity, drives, and bodies and frames (sites) that both know by name; of two mechanisms also constraints, force
    elements and limits; then centres of mass, gravity forces, inertia matrix, bias and inverse dynamics at random
    states. Differing orders of joints and quaternions are mapped by :mod:`dalembert.conventions` and told as remarks.

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
    """
    from dalembert.comparison.descriptions import descriptions
    from dalembert.comparison.frames import frame_remarks
    from dalembert.comparison.mechanism import MechanismPeer
    from dalembert.comparison.states import measure
    from dalembert.comparison.structure import Structure

    if not isinstance(mechanism, Mechanism):
        raise ArgumentError(f"compare takes a Mechanism first, got {type(mechanism).__name__}; use dalembert.load(...)")
    if isinstance(include, str):
        raise ArgumentError(f"include = {include!r}: a list of names is needed, [{include!r}]")
    states, seed = expect_whole(states, "compare, states", 1), expect_whole(seed, "compare, seed")
    tolerance = expect_real(tolerance, "compare, tolerance", 0)
    free = any(joint.kind == "free" for joint in mechanism.joints)
    if isinstance(other, (str, Path)):
        other = read(other, library or "dalembert", free)
    elif library is not None:
        raise ArgumentError("library says who reads a file; leave it out, for other is a model already")
    for one in (mechanism, other):
        if isinstance(one, Mechanism) and one.symbols:
            names = ", ".join(symbol.name for symbol in one.symbols)
            raise ArgumentError(f"{one.name!r} has symbols without a value: {names}; give them one by da.substitute")
    mechanism = substitute(mechanism, {})  # exact constants become floats
    if isinstance(other, Mechanism):
        other = substitute(other, {})
    for name in joints or {}:
        mechanism.joint(name)  # raises for a name that is not there
    kind, build = _library(other)
    if isinstance(other, Mechanism):
        build = partial(MechanismPeer, include=include)
    here = MechanismPeer(mechanism, mechanism, include=include)
    try:
        there = build(mechanism, other, joints)
    except ArgumentError as error:
        return Comparison(mechanism.name, kind, (Difference("joints", "", str(error)),), ())
    except UnsupportedError as error:
        named = [joint.name for joint in mechanism.joints if f"joint {joint.name!r}" in str(error)]
        return Comparison(mechanism.name, kind, (Difference("joint type", "".join(named[:1]), str(error)),), ())
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
        mend = "Look for springs, actuators or other terms that the library adds on its own"
        found = [*found, Difference("unexplained", wrong[0].where, text, mend)]
    remarks = [*_conventions(there), *frame_remarks(here, there), *there.remarks()]
    remarks += here.remarks() if there.name != here.name else []
    return Comparison(mechanism.name, kind, tuple(found), measured, tuple(dict.fromkeys(remarks)), states)


def _library(other: Any) -> tuple[str, Callable[[Mechanism, Any, Mapping[str, str] | None], Peer]]:
    """The name of the library and what makes a peer; recognised without importing what is not there."""
    root = type(other).__module__.partition(".")[0]
    if isinstance(other, Mechanism):
        from dalembert.comparison.mechanism import MechanismPeer

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
