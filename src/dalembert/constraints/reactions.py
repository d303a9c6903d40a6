"""Reactions: what every joint of the tree and every constraint transmits.

Bodies are cut free: from the tips inwards, what a joint transmits is the rate of momentum of all bodies beyond it
minus everything else that acts on them - weight, force elements, constraints (THESIS (5.2.11), for bodies instead of
links, so that fixed joints have reactions too).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.scalar import Array, product
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross
from dalembert.algorithms.kinematics import motion, pose
from dalembert.constraints.action import Action
from dalembert.constraints.quantities import Setting
from dalembert.constraints.rolling import ROLLING_ROWS
from dalembert.errors import ArgumentError
from dalembert.model import WORLD, Mechanism
from dalembert.model.constraint import Constraint

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics


def reactions(s: Setting, q: Array, v: Array, a: Array, multipliers: Array, t: Any) -> tuple[Array, Array]:
    """Wrenches [force; moment] of all joints and all constraints at one state, over any scalar.

    Joints: of the parent on the child, drive included, in the child's axes about the child's origin, one row each.
    Constraints between frames: on frame b (rolling: on frame a) in the axes of the other frame, about the origin of
    the frame acted upon; zeros for constraints on joints and users' own.

    Args:
        s: the setting.
        q: positions.
        v: velocities.
        a: accelerations.
        multipliers: of all constraint rows.
        t: time.
    """
    mechanism, state = s.mechanism, s.state(q, v, t)
    actions = [action for _, found in s.forces.each(state).values() for action in found]
    loops = []
    first = 0
    for item, rows in zip(mechanism.constraints, s.constraints.each(state)):
        own = multipliers[first : first + len(rows.phi)]
        first += len(rows.phi)
        wrench = scalar.zeros(6) if rows.P is None else product(rows.P.T, own)
        loops.append(wrench)
        if rows.P is not None:
            on, axes = acted_and_acting(item)
            actions.append(Action(on, axes, wrench[:3], wrench[3:], mutual=True))
    joints = transmitted(mechanism, q, v, a, actions)
    return scalar.stack(joints), scalar.stack(loops) if loops else np.zeros((0, 6))


def acted_and_acting(item: Constraint) -> tuple[Any, Any]:
    """The frame a constraint's wrench acts on, and the frame in whose axes it is given."""
    a, b = (item.a, item.placement_a), (item.b, item.placement_b)
    return (a, b) if item.kind in ROLLING_ROWS else (b, a)


def transmitted(mechanism: Mechanism, q: Array, v: Array, a: Array, actions: Sequence[Action]) -> list[Array]:
    """Wrench of the parent on the child of every joint, child's axes, about the child's origin.

    Args:
        mechanism: the mechanism.
        q: positions.
        v: velocities.
        a: accelerations.
        actions: everything that acts on bodies besides uniform gravity.
    """
    poses: dict[str, Transform] = {WORLD: Transform.identity()}
    net: dict[str, tuple[Array, Array]] = {WORLD: (scalar.zeros(3), scalar.zeros(3))}
    for body in mechanism.bodies:  # rate of momentum minus weight: world axes, about the body's origin
        moving = motion(mechanism, q, v, a, body.name, axes="body")
        poses[body.name] = moving.pose
        R = moving.pose.rotation
        m, c, I = body.inertia.mass, body.inertia.center, body.inertia.tensor_about_origin
        w, wd = moving.angular_velocity, moving.angular_acceleration
        felt = moving.linear_acceleration - product(R.T, mechanism.gravity)
        force = m * (felt + cross(wd, c) + cross(w, cross(w, c)))
        moment = product(I, wd) + cross(w, product(I, w)) + m * cross(c, felt)
        net[body.name] = (product(R, force), product(R, moment))
    for action in actions:
        _subtract(mechanism, poses, net, action)
    found: dict[str, Array] = {}
    for joint in reversed(mechanism.joints):
        force, moment = net[joint.child]
        R = poses[joint.child].rotation
        found[joint.name] = np.concatenate([product(R.T, force), product(R.T, moment)])
        inner_force, inner_moment = net[joint.parent]
        arm = poses[joint.child].translation - poses[joint.parent].translation
        net[joint.parent] = (inner_force + force, inner_moment + moment + cross(arm, force))
    return [found[joint.name] for joint in mechanism.joints]


def _subtract(mechanism: Mechanism, poses: dict[str, Transform], net: dict[str, Any], action: Action) -> None:
    def placed(end: Any) -> tuple[str, Transform]:
        frame = mechanism.frame(end[0])
        return frame.body, poses[frame.body] @ frame.placement @ end[1]

    body, at = placed(action.on)
    other, axes = placed(action.axes)
    force, moment = axes.rotate(action.force), axes.rotate(action.moment)
    for name, sign in ((body, 1), (other, -1)) if action.mutual else ((body, 1),):
        before = net[name]
        arm = at.translation - poses[name].translation
        net[name] = (before[0] - sign * force, before[1] - sign * (moment + cross(arm, force)))


# ------------------------------------------------------------------------------------------------------------- numbers


@dataclass(frozen=True, eq=False)
class Reaction:
    """What a joint or a constraint transmits, in numbers.

    Args:
        name: of the joint or constraint.
        on: body or frame acted upon.
        by: body or frame that acts.
        axes: in whose axes the components are.
        point: about which point the moment is, in words.
        force: N.
        moment: N m.
        unique: one truth value per component [force; moment]; false where redundant constraints leave it undetermined,
            and the one of least multipliers is given.
    """

    name: str
    on: str
    by: str
    axes: str
    point: str
    force: np.ndarray
    moment: np.ndarray
    unique: np.ndarray

    def __str__(self) -> str:
        force, moment = (np.array2string(x, precision=6, suppress_small=True) for x in (self.force, self.moment))
        open_ones = [name for name, sure in zip(("fx", "fy", "fz", "mx", "my", "mz"), self.unique) if not sure]
        doubt = f"; not unique, because constraints are redundant: {', '.join(open_ones)}" if open_ones else ""
        return (
            f"{self.name}: on {self.on} by {self.by}, force {force} N, moment {moment} N m about {self.point}, "
            f"axes of {self.axes}{doubt}"
        )


def find_reactions(
    system: ConstrainedDynamics,
    q: Any,
    v: Any,
    tau: Any,
    t: float = 0.0,
    *,
    axes: str | None = None,
    point: Sequence[float] | None = None,
) -> dict[str, Reaction]:
    """The reactions of all joints and of all constraints between frames, at one state.

    Args:
        system: the constrained mechanism.
        q: positions that satisfy the constraints.
        v: velocities that satisfy the constraints.
        tau: generalised forces of the drives.
        t: time, s.
        axes: a frame in whose axes all components are given, ``"world"`` for instance; by default each joint's child,
            and each constraint's frame a (b for rolling).
        point: about which moments are given, components in ``axes`` from its origin; by default the origin of the
            frame acted upon.
    """
    mechanism = system.mechanism
    if point is not None and axes is None:
        raise ArgumentError("reactions: a point is given by its components in some axes; say which, e.g. axes='world'")
    q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
    solution = system.solve(q, v, tau, t)
    joints, loops = system.evaluate("reactions", q, v, solution.a, solution.multipliers, t)
    joint_changes, loop_changes = _changes(system, q, t, int(solution.rank))
    view = None if axes is None else (axes, pose(mechanism, q, axes), point)
    found: dict[str, Reaction] = {}
    for k, joint in enumerate(mechanism.joints):
        at = pose(mechanism, q, joint.child)
        words = (joint.name, joint.child, joint.parent, joint.child)
        found[joint.name] = _shown(words, at, at, joints[k], joint_changes[:, k], view)
    for k, item in enumerate(mechanism.constraints):
        if item.on_joints or not item.has_ends:
            continue
        on, by = acted_and_acting(item)
        at, frame = (pose(mechanism, q, end[0]) @ end[1] for end in (on, by))
        words = (item.name, on[0], by[0], f"{item.name}'s frame on {by[0]}")
        found[item.name] = _shown(words, frame, at, loops[k], loop_changes[:, k], view)
    return found


def _changes(system: ConstrainedDynamics, q: np.ndarray, t: float, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """How reactions change along multipliers that do nothing: the left null space of G."""
    still = np.zeros(system.mechanism.nv)
    G = system.evaluate("positions", q, t)[1]
    idle = np.linalg.svd(G)[0][:, rank:].T if len(G) else np.zeros((0, 0))
    zero = system.evaluate("reactions", q, still, still, np.zeros(len(G)), t)
    some = system.evaluate("reactions", q, still, still, idle, t)
    return some[0] - zero[0], some[1] - zero[1]


def _shown(
    words: tuple[str, str, str, str],
    frame: Transform,
    at: Transform,
    wrench: np.ndarray,
    changes: np.ndarray,
    view: tuple[str, Transform, Sequence[float] | None] | None,
) -> Reaction:
    """A wrench given in the axes of ``frame`` about the origin of ``at``, in the axes and about the point wanted."""
    name, on, by, own = words
    place = f"the origin of {on}" if own == on else f"the origin of the frame on {on}"
    every = np.concatenate([wrench[None], changes])
    force, moment = every[:, :3] @ frame.rotation.T, every[:, 3:] @ frame.rotation.T  # world axes
    out = frame.rotation
    if view is not None:
        own, target, point = view
        out = target.rotation
        if point is not None:
            p = target.apply(np.asarray(point, dtype=float))
            moment = moment + np.cross(at.translation - p, force)
            place = f"the point ({', '.join(f'{x:g}' for x in point)}) of {own}"
    force, moment = force @ out, moment @ out
    unique = np.abs(np.concatenate([force, moment], axis=1)[1:]).max(axis=0, initial=0.0) < 1e-7
    return Reaction(name, on, by, own, place, force[0], moment[0], unique)
