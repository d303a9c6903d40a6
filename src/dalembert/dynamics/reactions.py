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

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross
from dalembert.constraints.action import GROUND, Action
from dalembert.constraints.rank import Decomposition
from dalembert.constraints.rolling import ROLLING_ROWS
from dalembert.constraints.violation import refuse_far
from dalembert.dynamics.quantity import Setting
from dalembert.errors import ArgumentError
from dalembert.kinematics import motion, pose
from dalembert.model import WORLD, Joint, Mechanism
from dalembert.model.checks import expect, real_array
from dalembert.model.constraint import Constraint
from dalembert.model.consumers import heed

if TYPE_CHECKING:
    from dalembert.dynamics.facade import Dynamics


def reactions(s: Setting, q: Array, v: Array, a: Array, multipliers: Array, t: Any) -> tuple[Array, Array]:
    """Wrenches [force; moment] of all joints and all constraints at one state, over any scalar.

    Joints: of the parent on the child, drive included, in the child's axes about the child's origin, one row each.
    Constraints between frames: on frame b (rolling: on frame a) in the axes of the other frame, about the origin of
    the frame acted upon; zeros for constraints on joints and users' own.

    Args:
        multipliers: of all constraint rows.
    """
    mechanism, state = s.mechanism, s.state(q, v, t)
    actions = [action for _, found in s.forces.each(state).values() for action in found]
    for frame, wrench in s.wrenches.items():
        on = frame, Transform.identity()
        actions.append(Action(on, on, wrench[:3], wrench[3:], mutual=False))
    loops = []
    first = 0
    for item, rows in zip(mechanism.constraints, s.constraints.each(state)):
        own = multipliers[first : first + len(rows.phi)]
        first += len(rows.phi)
        wrench = arrays.zeros(6) if rows.P is None else product(rows.P.T, own)
        loops.append(wrench)
        if rows.P is not None:
            on, axes = acted_and_acting(item)
            actions.append(Action(on, axes, wrench[:3], wrench[3:], mutual=True))
    joints = transmitted(mechanism, q, v, a, actions)
    return arrays.stack(joints), arrays.stack(loops) if loops else np.zeros((0, 6))


def acted_and_acting(item: Constraint) -> tuple[Any, Any]:
    """The frame a constraint's wrench acts on, and the frame in whose axes it is given."""
    a, b = (item.a, item.placement_a), (item.b, item.placement_b)
    return (a, b) if item.kind in ROLLING_ROWS else (b, a)


def transmitted(mechanism: Mechanism, q: Array, v: Array, a: Array, actions: Sequence[Action]) -> list[Array]:
    """Wrench of the parent on the child of every joint, child's axes, about the child's origin.

    Args:
        actions: everything that acts on bodies besides uniform gravity.
    """
    poses: dict[str, Transform] = {WORLD: Transform.identity()}
    net: dict[str, tuple[Array, Array]] = {WORLD: (arrays.zeros(3), arrays.zeros(3))}
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
    on, by = mechanism.frame(action.on[0]), mechanism.frame(action.axes[0])
    own = poses[on.body].rotate((on.placement @ action.on[1]).translation)  # no difference of places, large in orbit
    axes = poses[by.body] @ by.placement @ action.axes[1]
    force, moment = axes.rotate(action.force), axes.rotate(action.moment)
    acted = [(on.body, 1, own)]
    if action.mutual:
        acted.append((by.body, -1, own + poses[on.body].translation - poses[by.body].translation))
    for name, sign, arm in acted:
        before = net[name]
        net[name] = (before[0] - sign * force, before[1] - sign * (moment + cross(arm, force)))


def places(s: Setting, q: Array) -> tuple[Array, Array, Array, Array]:
    """Where reactions act, in the world: axes and points of all joints, then of all constraints, over any scalar.

    Joints: axes and origin of the child. Constraints between frames: axes of the acting frame, origin of the frame
    acted upon; the world itself for constraints on joints and users' own.
    """
    mechanism = s.mechanism
    children = [pose(mechanism, q, joint.child) for joint in mechanism.joints]
    axes, points = [], []
    for item in mechanism.constraints:
        ends = acted_and_acting(item) if between_frames(item) else (GROUND, GROUND)
        at, frame = (pose(mechanism, q, body) @ placement for body, placement in ends)
        axes.append(frame.rotation)
        points.append(at.translation)
    return (
        _stacked([x.rotation for x in children], (3, 3)), _stacked([x.translation for x in children], (3,)),
        _stacked(axes, (3, 3)), _stacked(points, (3,)),
    )  # fmt: skip


def _stacked(items: Sequence[Array], shape: tuple[int, ...]) -> Array:
    return arrays.stack([x.ravel() for x in items]).reshape(len(items), *shape) if items else np.zeros((0, *shape))


def between_frames(item: Constraint) -> bool:
    """Whether a constraint transmits a wrench from one frame to another."""
    return item.has_ends and not item.on_joints


def reaction_name(mechanism: Mechanism, item: Joint | Constraint) -> str:
    """By what name a reaction goes: ``joint:pin`` or ``constraint:pin`` where two share theirs, as for parameters.

    Args:
        item: one of its joints, or of its constraints between frames.
    """
    shared = {x.name for x in mechanism.joints} & {x.name for x in mechanism.constraints if between_frames(x)}
    return f"{type(item).__name__.lower()}:{item.name}" if item.name in shared else item.name


# ------------------------------------------------------------------------------------------------------------- numbers


@dataclass(frozen=True, eq=False)
class Reaction:
    """What a joint or a constraint transmits, in numbers, at one state or a batch of them.

    Args:
        name: of the joint or constraint.
        on: body or frame acted upon.
        by: body or frame that acts.
        axes: in whose axes the components are.
        point: about which point the moment is, in words.
        force: N, (..., 3).
        moment: N m, (..., 3).
        unique: one truth value per component [force; moment], (..., 6); false where redundant constraints leave it
            undetermined, and the one of least multipliers is given.
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
        if self.force.ndim > 1:
            load = f"force and moment at {self.force.shape[:-1]} states"
        else:
            force, moment = (np.array2string(x, precision=6, suppress_small=True) for x in (self.force, self.moment))
            load = f"force {force} N, moment {moment} N m"
        sure = np.asarray(self.unique.reshape(-1, 6).all(axis=0))
        open_ones = [name for name, one in zip(("fx", "fy", "fz", "mx", "my", "mz"), sure) if not one]
        doubt = f"; not unique, because constraints are redundant: {', '.join(open_ones)}" if open_ones else ""
        return f"{self.name}: on {self.on} by {self.by}, {load} about {self.point}, axes of {self.axes}{doubt}"


@dataclass(frozen=True, eq=False)
class ReactionAxes:
    """Axes and point in which reactions are wanted.

    Args:
        rotation: its axes in the world, (..., 3, 3).
        origin: its origin in the world, (..., 3).
        point: about which moments are meant, components in its axes; None for the point acted upon.
    """

    name: str
    rotation: np.ndarray
    origin: np.ndarray
    point: np.ndarray | None


def find_reactions(
    system: Dynamics,
    q: Any,
    v: Any,
    tau: Any,
    t: Any = 0.0,
    *,
    axes: str | None = None,
    point: Sequence[float] | None = None,
) -> dict[str, Reaction]:
    """Force and moment of every joint and every constraint between frames, by name; any batch shape.

    Where a joint and a constraint share a name, their keys are ``joint:pin``, ``constraint:pin``. What has no place
    between bodies - couplings, mimic joints, given motions, users' laws and generalised forces - acts as if drives in
    the joints did it, and is part of what these transmit; so forces between the teeth of gears are not in here.

    Args:
        q: positions that satisfy the constraints; more than 1e-3 m or rad off them is refused, less is taken for
            drift, and forces are off by as much, or, near singular positions, by that over the distance from them.
        v: velocities that satisfy the constraints; likewise.
        tau: generalised forces of the drives.
        t: time, s.
        axes: a frame in whose axes all components are given, ``"world"`` for instance; by default each joint's
            child, and each constraint's frame a (b for rolling).
        point: about which moments are given, components in ``axes`` from its origin; by default the origin of the
            frame acted upon.
    """
    heed("Dynamics.reactions", system)
    mechanism = system.mechanism
    if axes is not None:
        expect(axes, str, "reactions, axes")
    if point is not None and axes is None:
        raise ArgumentError("reactions: a point is given by its components in some axes; say which, e.g. axes='world'")
    solution = system.solve(q, v, tau, t)
    batch = solution.a.shape[:-1]
    q = np.broadcast_to(np.asarray(q, dtype=float), (*batch, mechanism.nq))
    refuse_far(system, q, np.asarray(v, dtype=float), np.asarray(t, dtype=float), "reactions")
    joint_loads, loop_loads = system.evaluate("reactions", q, v, solution.a, solution.multipliers, t)
    joint_changes, loop_changes = _changes(system, q, t)
    child_axes, child_points, loop_axes, loop_points = system.evaluate("places", q)
    view = None if axes is None else _view(mechanism, q, axes, point)
    found: dict[str, Reaction] = {}
    for k, joint in enumerate(mechanism.joints):
        words = (reaction_name(mechanism, joint), joint.child, joint.parent, joint.child)
        place = child_axes[..., k, :, :], child_points[..., k, :]
        found[words[0]] = _shown(words, *place, joint_loads[..., k, :], joint_changes[..., k, :], view)
    for k, item in enumerate(mechanism.constraints):
        if between_frames(item):
            on, by = acted_and_acting(item)
            words = (reaction_name(mechanism, item), on[0], by[0], f"{item.name}'s frame on {by[0]}")
            place = loop_axes[..., k, :, :], loop_points[..., k, :]
            found[words[0]] = _shown(words, *place, loop_loads[..., k, :], loop_changes[..., k, :], view)
    return found


def _view(mechanism: Mechanism, q: np.ndarray, axes: str, point: Sequence[float] | None) -> ReactionAxes:
    here = None if point is None else real_array(point, "reactions, point")
    if here is not None and here.shape != (3,):
        raise ArgumentError(f"reactions: the point has shape {here.shape}; give its three components in {axes!r}")
    if axes == WORLD:
        return ReactionAxes(axes, np.eye(3), np.zeros(3), here)
    poses = [pose(mechanism, one, axes) for one in q.reshape(-1, mechanism.nq)]
    batch = q.shape[:-1]
    rotation = np.array([x.rotation for x in poses], dtype=float).reshape(*batch, 3, 3)
    return ReactionAxes(axes, rotation, np.array([x.translation for x in poses], dtype=float).reshape(*batch, 3), here)


def _changes(system: Dynamics, q: np.ndarray, t: Any) -> tuple[np.ndarray, np.ndarray]:
    """How reactions change along multipliers that do nothing: the left null space of G; (..., directions, items, 6)."""
    G = system.evaluate("positions", q, t)[1]
    m = G.shape[-2]
    rows = Decomposition.of(np.nan_to_num(G), system.known(q, t))
    idle = np.swapaxes(rows.left_null[..., int(np.min(rows.rank, initial=m)) :], -1, -2)
    still, when = np.zeros(system.mechanism.nv), np.asarray(t, dtype=float)[..., None]
    zero = system.evaluate("reactions", q[..., None, :], still, still, np.zeros(m), when)
    some = system.evaluate("reactions", q[..., None, :], still, still, idle, when)
    joints, loops = (x - y for x, y in zip(some, zero))
    largest = max(np.abs(joints).max(initial=0.0), np.abs(loops).max(initial=0.0))
    least = largest * rows.blur[..., None, None, None]
    return np.where(np.abs(joints) > least, joints, 0.0), np.where(np.abs(loops) > least, loops, 0.0)


def _shown(
    words: tuple[str, str, str, str],
    axes: np.ndarray,
    acted_at: np.ndarray,
    wrench: np.ndarray,
    changes: np.ndarray,
    view: ReactionAxes | None,
) -> Reaction:
    """A wrench given in some axes about the point it acts at, in the axes and about the point wanted."""
    name, on, by, own = words
    place = f"the origin of {on}" if own == on else f"the origin of the frame on {on}"
    every = np.concatenate([wrench[..., None, :], changes], axis=-2)
    to_world = np.swapaxes(axes, -1, -2)
    force, moment = every[..., :3] @ to_world, every[..., 3:] @ to_world
    out = axes
    if view is not None:
        own, out = view.name, view.rotation
        if view.point is not None:
            p = view.origin + np.einsum("...ij,j->...i", view.rotation, view.point)
            moment = moment + np.cross((acted_at - p)[..., None, :], force)
            place = f"the point ({', '.join(f'{x:g}' for x in view.point)}) of {own}"
    force, moment = force @ out, moment @ out
    size = np.abs(np.concatenate([force, moment], axis=-1)[..., 1:, :]).max(axis=-2, initial=0.0)
    return Reaction(name, on, by, own, place, force[..., 0, :], moment[..., 0, :], size < 1e-7)
