"""Evaluation frames with the cheapest joint transforms: any numeric tree in Denavit-Hartenberg-like frames.

Coordinates, velocities and generalised forces keep their meaning; only the frames in which the recursions work change.

- z of a rotating link lies on its joint axis and x on the common normal to the next rotating joint's axis (the *main*
  child's; other branches get a general placement), so that crossing a joint costs two plane turns;
- a prismatic link is parallel to its parent: crossing it costs no rotation at all. On the ground, whose axes are free
  to choose, z lies along the slide and x across the next axis;
- a link whose next axis is at a general twist is evaluated in its *distal* frame, turned about x so that z lies on the
  next axis: the vector to the next origin then has a zero. The first and the last rotating link stay proximal, since
  there the joint's own axis must be a coordinate axis for most terms to vanish;
- an angle offset of the new frames goes into the joint angle.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algebra.rotations import rotation_x
from dalembert.algebra.transform import Transform
from dalembert.algorithms.economy.moments import moved_moments
from dalembert.model.tree import Link, Tree

TINY = 1e-12
"""Entries of unit vectors below this are rounding errors of exact zeros."""

FAR = 20.0
"""Origins are not moved further than this many times the largest distance between neighbouring joints: the common
normal of two nearly parallel axes may be kilometres away, and moments about a point so far away have no digits left."""


def is_numeric(tree: Tree) -> bool:
    """True if all geometry consists of plain numbers."""
    return tree.gravity.dtype != object and all(
        link.placement.rotation.dtype != object
        and link.placement.translation.dtype != object
        and link.axis.dtype != object
        for link in tree.links
    )


def reframe(tree: Tree, distal: Collection[int] | None = None) -> Tree:
    """The same tree in economical frames. Geometry must be numeric; masses may be anything.

    Args:
        tree: the links.
        distal: links to evaluate in their distal frames; by default all but the first and last rotating ones.
    """
    frames: list[Transform] = []  # new frame of each link in its old frame
    twists: list[float] = []  # by how much it was turned about x into the distal position
    reach = FAR * max((float(np.linalg.norm(link.placement.translation)) for link in tree.links), default=0.0)
    feet = _feet_outwards(tree, reach)
    for i, link in enumerate(tree.links):
        parent = frames[link.parent] if link.parent >= 0 else Transform.identity()
        to_distal = i in distal if distal is not None else not _is_first_rotation(tree, i)
        frame, twist = _frame(tree, i, parent, to_distal, feet[i], reach)
        frames.append(frame)
        twists.append(twist)
    links = []
    for i, link in enumerate(tree.links):
        parent = frames[link.parent] if link.parent >= 0 else Transform.identity()
        links.append(_rewritten(link, parent, frames[i], twists[i]))
    carriers = {
        name: (carrier, frames[carrier].inverse() @ at if carrier >= 0 else at)
        for name, (carrier, at) in tree.carriers.items()
    }
    return replace(tree, links=tuple(links), carriers=carriers)


def _is_first_rotation(tree: Tree, i: int) -> bool:
    """True if nothing inside link i rotates."""
    return all(not tree.links[j].rotates for j in tree.ancestors[i][1:])


def _frame(
    tree: Tree, i: int, parent: Transform, to_distal: bool, foot: Array | None, reach: float
) -> tuple[Transform, float]:
    link = tree.links[i]
    if link.kind == "prismatic" and link.parent < 0:
        return Transform(_along_slide(tree, i), np.zeros(3)), 0.0
    if link.kind == "prismatic":  # parallel to the parent's new frame, same relative origin
        return Transform(link.placement.rotation.T @ parent.rotation, np.zeros(3)), 0.0
    if link.kind == "spherical":
        return Transform.identity(), 0.0
    z = link.axis
    target = _next_axis(tree, i)
    origin = foot if foot is not None else _foot_towards_parent(tree, i, parent, reach)
    if target is None:  # a tip: x along a slide it carries or its first moment, or where the angle needs no offset
        first = _direction(link.moments.first)
        inner = link.placement.rotation.T @ parent.rotation
        directions = [
            *_slides_across(tree, i),
            first - (first @ z) * z,
            np.cross(inner[:, 2], z),
        ]
        across = next((d for d in directions if np.linalg.norm(d) > TINY), inner[:, 0])
        return Transform(_triad(_unit_or_any(across, z), z), origin), 0.0
    point, direction = target[1].translation, target[2]
    normal = np.cross(z, direction)
    if np.linalg.norm(normal) < TINY:  # parallel axes: x from one to the other
        x = _unit_or_any(point - (point @ z) * z, z)
        return Transform(_triad(x, z), origin), 0.0
    x = _unit_or_any(normal, z)
    rotation = _triad(x, z)
    twist = math.atan2(np.linalg.norm(normal), z @ direction)
    if not to_distal or _is_right(twist):
        return Transform(rotation, origin), 0.0
    return Transform(_clean(rotation @ rotation_x(twist)), origin), twist


def _along_slide(tree: Tree, i: int) -> Array:
    """Axes of a slide on the ground, in its old frame: z along it, x across the next rotation axis or in the plane of
    the next slide."""
    z, target = tree.links[i].axis, _next_axis(tree, i)
    across = [*_slides_across(tree, i), *([] if target is None else [np.cross(z, target[2])])]
    return _triad(_unit_or_any(next((d for d in across if np.linalg.norm(d) > TINY), np.zeros(3)), z), z)


def _next_axis(tree: Tree, i: int) -> tuple[int, Transform, Array] | None:
    """The next rotating link beyond link i; its joint frame and axis in the old frame of link i, slides at zero."""
    best: tuple[int, int, Transform, Array] | None = None
    waiting = [(c, Transform.identity()) for c in tree.children[i]]
    while waiting:
        c, at = waiting.pop()
        child = tree.links[c]
        placed = at @ child.placement
        if child.kind == "prismatic":
            waiting += [(grandchild, placed) for grandchild in tree.children[c]]
            continue
        if child.kind == "spherical":
            continue
        beyond = sum(c in chain for chain in tree.ancestors)
        if best is None or beyond > best[0]:
            best = (beyond, c, placed, placed.rotation @ child.axis)
    return None if best is None else best[1:]


def _slides_across(tree: Tree, i: int) -> list[Array]:
    """Directions of the slides that link i carries, without their parts along its own axis."""
    z = tree.links[i].axis
    found = []
    for c in tree.children[i]:
        child = tree.links[c]
        if child.kind == "prismatic":
            direction = child.placement.rotation @ child.axis
            found.append(direction - (direction @ z) * z)
    return found


def _feet_outwards(tree: Tree, reach: float) -> list[Array | None]:
    """The point of each link's axis nearest to the next axis that is not parallel to it, in its old frame.

    Links with parallel axes are level with the last one of them, so that only the vector to the first has a part along
    the axes. None if all axes up to the tip are parallel: any point is as near as any other.
    """
    feet: list[Array | None] = [None] * len(tree.links)
    for i in reversed(range(len(tree.links))):
        target, z = _next_axis(tree, i), tree.links[i].axis
        if target is None or tree.links[i].kind in ("prismatic", "spherical"):
            continue
        c, placed, direction = target
        beyond, point = feet[c], placed.translation
        if np.linalg.norm(np.cross(z, direction)) >= TINY:
            foot = _foot(z, point, direction)
            feet[i] = foot if np.linalg.norm(foot) <= reach else (point @ z) * z
        elif beyond is not None:
            feet[i] = (placed.apply(beyond) @ z) * z
    return feet


def _foot_towards_parent(tree: Tree, i: int, parent: Transform, reach: float) -> Array:
    """The point of a link's axis nearest to the axis of the rotating joint before it, in the link's old frame; level
    with the new origin of that one if they are parallel."""
    link = tree.links[i]
    if link.parent < 0 or link.kind != "revolute":
        return np.zeros(3)
    inner = tree.links[link.parent]
    if inner.kind not in ("revolute", "helical"):
        return np.zeros(3)
    R, p = link.placement.rotation, link.placement.translation
    direction, point = R.T @ inner.axis, R.T @ (parent.translation - p)
    if np.linalg.norm(np.cross(link.axis, direction)) < TINY:
        return (point @ link.axis) * link.axis
    foot = _foot(link.axis, point, direction)
    return foot if np.linalg.norm(foot) <= reach else (point @ link.axis) * link.axis


def _foot(z: Array, point: Array, direction: Array) -> Array:
    """The point of the line through the origin along ``z`` that is nearest to another line."""
    normal = np.cross(z, direction)
    along = (point @ z - (z @ direction) * (point @ direction)) / (normal @ normal)
    return along * z


def _direction(u: Array) -> Array:
    """Of unit length, however light the link is; nothing for zero and for symbols."""
    length = 0.0 if u.dtype == object else float(np.linalg.norm(u))
    return u / length if length > 0 else np.zeros(3)


def _unit_or_any(x: Array, z: Array) -> Array:
    """The unit vector across z along x, which lies across but for rounding; any if there is nothing of x."""
    length = np.linalg.norm(x)
    e = x / length if length > TINY else np.eye(3)[int(np.argmin(np.abs(z)))]
    across = e - (e @ z) * z  # rounding errors of a short x have become large
    return across / np.linalg.norm(across)


def _triad(x: Array, z: Array) -> Array:
    return _clean(np.stack([x, np.cross(z, x), z], axis=1))


def _clean(R: Array) -> Array:
    """Rounding errors of zeros and ones removed."""
    R = np.where(np.abs(R) < TINY, 0.0, R)
    return np.where(np.abs(np.abs(R) - 1) < TINY, np.sign(R), R)


def _is_right(angle: float) -> bool:
    """True for multiples of 90 degrees."""
    return abs(angle / (math.pi / 2) - round(angle / (math.pi / 2))) < TINY


def _rewritten(link: Link, parent: Transform, frame: Transform, twist: float) -> Link:
    """The link with its joint described between the new frames."""
    placed = parent.inverse() @ link.placement  # old joint frame in the parent's new frame
    moments = moved_moments(link.moments, frame)
    if link.kind == "prismatic":
        placement = Transform(_clean(placed.rotation @ frame.rotation), _snap(placed.translation))
        return replace(link, placement=placement, axis=_clean(frame.rotation.T @ link.axis), moments=moments)
    if link.kind == "spherical":
        return replace(link, placement=Transform(_clean(placed.rotation), _snap(placed.translation)), moments=moments)
    # Old: placed . turn(axis, q). New link frame in the moved joint frame: `frame`, whose z (before the distal twist)
    # is the axis. So placed . turn(axis, q) . frame = [placed . triad] . turn(z, q) . twist.
    untwisted = frame.rotation @ rotation_x(-twist) if twist else frame.rotation
    pre = placed.rotation @ untwisted
    translation = _snap(placed.apply(frame.translation))
    # Split pre = Rz(gamma) Rx(alpha) Rz(psi); psi joins the joint angle.
    gamma, alpha, psi = _zxz(pre)
    pre = _clean(_rotation_z(gamma) @ rotation_x(alpha))
    if link.kind == "helical":  # the offset of the angle must not advance the screw
        translation = translation - pre[:, 2] * (link.pitch * psi)
    return replace(
        link,
        axis=np.array([0.0, 0.0, 1.0]),
        placement=Transform(pre, translation),
        offset=link.offset + psi if psi else link.offset,
        post=_clean(np.asarray(rotation_x(twist), dtype=float)) if twist else None,
        moments=moments,
    )


def _snap(p: Array) -> Array:
    """Coordinates that are zero but for rounding."""
    scale = max(float(np.abs(p).max()), 1.0)
    return np.where(np.abs(p) < TINY * scale, 0.0, p)


def _rotation_z(angle: float) -> Array:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _zxz(R: Array) -> tuple[float, float, float]:
    """Angles with R = Rz(gamma) Rx(alpha) Rz(psi); as many as possible zero, multiples of 90 degrees exact."""
    sine = math.hypot(R[2, 0], R[2, 1])
    if sine < TINY:  # z stays or turns over: one angle about z is enough
        alpha = 0.0 if R[2, 2] > 0 else math.pi
        psi = math.atan2(R[1, 0], R[0, 0]) if R[2, 2] > 0 else math.atan2(-R[1, 0], R[0, 0])
        return 0.0, alpha, _exact(psi)
    gamma, alpha = math.atan2(R[0, 2], -R[1, 2]), math.atan2(sine, R[2, 2])
    if abs(abs(gamma) - math.pi) < TINY:  # Rz(pi) Rx(a) Rz(psi) = Rx(-a) Rz(psi + pi)
        gamma, alpha = 0.0, -alpha
    gamma, alpha = _exact(gamma), _exact(alpha)
    # psi from what is left: near alpha = 0 and pi only the sum or difference of gamma and psi is well determined.
    left = rotation_x(alpha).T @ _rotation_z(gamma).T @ R
    return gamma, alpha, _exact(math.atan2(left[1, 0], left[0, 0]))


def _exact(angle: float) -> float:
    quarter = math.pi / 2
    return round(angle / quarter) * quarter if _is_right(angle) else angle
