"""Evaluation frames with the cheapest joint transforms: any numeric tree in Denavit-Hartenberg-like frames.

Coordinates, velocities and generalised forces keep their meaning; only the frames in which the recursions work change.

- z of a rotating link lies on its joint axis and x on the common normal to the next rotating joint's axis (one of
  them; other branches get a general placement), so that crossing a joint costs two plane turns;
- a prismatic link at zero has the frame of its parent: crossing it costs no rotation, and one number of translation
  if the slide lies along a coordinate axis. For that, x of a link with no twisted axis beyond lies across its slides.
  At a tip its origin is its centre of mass, which leaves it no first moment. On the ground, whose axes are free to
  choose, z lies along the slide and x across the next axis;
- a link whose next axis is at a general twist is evaluated in its *distal* frame, turned about x so that z lies on the
  next axis: the vector to the next origin then has a zero. The first and the last rotating link stay proximal, since
  there the joint's own axis must be a coordinate axis for most terms to vanish;
- an angle offset of the new frames goes into the joint angle.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dalembert.algebra import scalar
from dalembert.algebra.arrays import Array
from dalembert.algebra.rotations import rotation_x
from dalembert.algebra.transform import Transform
from dalembert.model.tree import Link, Moments, Tree

TINY = 1e-14
"""Entries of unit vectors below this are rounding errors of exact zeros."""


def unit_or_any(x: Array, z: Array) -> Array:
    """The unit vector across z along x, which lies across but for rounding; any if there is nothing of x."""
    length = np.linalg.norm(x)
    e = x / length if length > TINY else np.eye(3)[int(np.argmin(np.abs(z)))]
    across = e - (e @ z) * z  # rounding errors of a short x have become large
    return across / np.linalg.norm(across)


def _cross(a: Array, b: Array) -> Array:
    """Vector product of two vectors of numbers: that of NumPy, which takes any arrays, in a tenth of its time."""
    (a1, a2, a3), (b1, b2, b3) = a.tolist(), b.tolist()
    return np.array([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1])


def triad(x: Array, z: Array) -> Array:
    """The rotation matrix with columns x, z x x and z, of unit vectors at right angles."""
    return clean(np.stack([x, _cross(z, x), z], axis=1))


def clean(R: Array) -> Array:
    """Rounding errors of zeros removed, and of ones: of a column's only element.

    Beside a sine of 1e-6 the cosine stays 1 - 5e-13, or the matrix would turn no more but stretch.
    """
    R = np.where(np.abs(R) < TINY, 0.0, R)
    alone = (R != 0) & (np.count_nonzero(R, axis=0) == 1)
    return np.where(alone, np.sign(R), R)


def is_right(angle: float) -> bool:
    """True for multiples of 90 degrees."""
    return abs(angle / (math.pi / 2) - round(angle / (math.pi / 2))) < TINY


def rotation_z(angle: float) -> Array:
    """Matrix of a turn about z."""
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def zxz(R: Array) -> tuple[float, float, float]:
    """Angles with R = Rz(gamma) Rx(alpha) Rz(psi); as many as possible zero, multiples of 90 degrees exact."""
    sine = math.hypot(R[2, 0], R[2, 1])
    if sine < TINY:  # z stays or turns over: one angle about z is enough
        alpha = 0.0 if R[2, 2] > 0 else math.pi
        psi = math.atan2(R[1, 0], R[0, 0]) if R[2, 2] > 0 else math.atan2(-R[1, 0], R[0, 0])
        return 0.0, alpha, exact(psi)
    gamma, alpha = math.atan2(R[0, 2], -R[1, 2]), math.atan2(sine, R[2, 2])
    if abs(abs(gamma) - math.pi) < TINY:  # Rz(pi) Rx(a) Rz(psi) = Rx(-a) Rz(psi + pi)
        gamma, alpha = 0.0, -alpha
    gamma, alpha = exact(gamma), exact(alpha)
    # psi from what is left: near alpha = 0 and pi only the sum or difference of gamma and psi is well determined.
    left = rotation_x(alpha).T @ rotation_z(gamma).T @ R
    return gamma, alpha, exact(math.atan2(left[1, 0], left[0, 0]))


def exact(angle: float) -> float:
    """The angle, a multiple of 90 degrees without its rounding."""
    quarter = math.pi / 2
    return round(angle / quarter) * quarter if is_right(angle) else angle


class NextAxis(NamedTuple):
    """A rotation axis beyond a link, in the frame of that link, slides at zero.

    Args:
        link: which turns about it.
        placement: the joint frame of that link.
        direction: of unit length.
    """

    link: int
    placement: Transform
    direction: Array


def next_axes(tree: Tree, i: int) -> list[NextAxis]:
    """The next rotating links beyond link i, slides between them left out; those that carry most first."""
    found = []
    waiting = [(c, Transform.identity()) for c in tree.children[i]]
    while waiting:
        c, at = waiting.pop()
        child = tree.links[c]
        placed = at @ child.placement
        if child.kind == "prismatic":
            waiting += [(grandchild, placed) for grandchild in tree.children[c]]
        elif child.kind != "spherical":
            found.append(NextAxis(c, placed, placed.rotation @ child.axis))
    return sorted(found, key=lambda axis: -sum(axis.link in chain for chain in tree.ancestors))


def slides_across(tree: Tree, i: int, last: int | None = None) -> list[Array]:
    """Directions of the slides that link i carries, one upon another, without their parts along its own axis; only
    those on the way to the last link if there is one."""
    z = tree.links[i].axis
    found = []
    waiting = [(c, np.eye(3)) for c in reversed(tree.children[i])]
    while waiting:
        c, turned = waiting.pop()
        child = tree.links[c]
        if child.kind == "prismatic" and (last is None or c in tree.ancestors[last]):
            turned = turned @ child.placement.rotation
            direction = turned @ child.axis
            found.append(direction - (direction @ z) * z)
            waiting += [(grandchild, turned) for grandchild in reversed(tree.children[c])]
    return found


MOMENT_ROUNDING = 16 * float(np.finfo(float).eps)
"""What the file's digits, a shift and two turns leave of a moment that is zero, relative to the largest term."""


def moved_moments(moments: Moments, frame: Transform) -> Moments:
    """Moments about the origin and in the axes of another frame, given in the old one."""
    if moments.is_zero:
        return moments
    m, h, J = moments.mass, moments.first, moments.second
    p, R = frame.translation, frame.rotation
    first = [h, -m * p]
    second = [J, -np.outer(h, p), -np.outer(p, h), m * np.outer(p, p)]
    return Moments(m, _settled(R.T @ sum(first), first), _symmetric(R.T @ sum(second) @ R, second))


def _settled(value: Array, terms: list[Array]) -> Array:
    """Entries that are zero but for the rounding of the terms they come from, made zero; symbols stay."""
    return value if value.dtype == object else np.where(np.abs(value) < _rounding(terms), 0.0, value)


def _symmetric(J: Array, terms: list[Array]) -> Array:
    """The tensor with what rounding spoiled restored: zeros, symmetry, and equal moments about different axes."""
    if J.dtype == object:
        return J
    J = _settled((J + J.T) / 2, terms)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        if abs(J[j, j] - J[i, i]) < _rounding(terms):
            J[j, j] = J[i, i]
    return J


def _rounding(terms: list[Array]) -> float:
    return MOMENT_ROUNDING * max(float(np.abs(term).max()) for term in terms)


FARTHEST_ORIGIN = 20.0
"""Origins are not moved further than this many times the largest distance of a joint or a centre of mass from the joint
before: the common normal of two nearly parallel axes may be kilometres away, and moments about a point so far away have
no digits left."""


def is_numeric(tree: Tree) -> bool:
    """True if all geometry consists of plain numbers."""
    return tree.gravity.dtype != object and all(
        link.placement.rotation.dtype != object
        and link.placement.translation.dtype != object
        and link.axis.dtype != object
        for link in tree.links
    )


def reframe(tree: Tree, main: Mapping[int, NextAxis] | None = None) -> Tree:
    """The same tree in economical frames. Geometry must be numeric; masses may be anything.

    Args:
        main: link -> the axis beyond it that its frame suits; by default the one that carries most.
    """
    frames: list[Transform] = []  # new frame of each link in its old frame
    twists: list[float] = []  # by how much it was turned about x into the distal position
    sizes = _sizes(tree)
    targets = [(main or {}).get(i) or next(iter(next_axes(tree, i)), None) for i in range(len(tree.links))]
    feet = _feet_outwards(tree, targets, FARTHEST_ORIGIN * max(sizes, default=0.0))
    for i, link in enumerate(tree.links):
        parent = frames[link.parent] if link.parent >= 0 else Transform.identity()
        frame, twist = _frame(tree, i, parent, targets[i], feet[i])
        frames.append(frame)
        twists.append(twist)
    links = []
    for i, link in enumerate(tree.links):
        parent = frames[link.parent] if link.parent >= 0 else Transform.identity()
        links.append(_rewritten(link, parent, frames[i], twists[i], sizes[i]))
    carriers = {
        name: (carrier, frames[carrier].inverse() @ at if carrier >= 0 else at)
        for name, (carrier, at) in tree.carriers.items()
    }
    return replace(tree, links=tuple(links), carriers=carriers)


def _sizes(tree: Tree) -> list[float]:
    """The largest distance of a joint or a centre of mass from the origin before it, of all that a joint carries."""
    sizes: list[float] = []
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        own = [float(np.linalg.norm(p)) for p in (link.placement.translation, _center(link, np.zeros(3)))]
        sizes.insert(0, max(*own, *(sizes[c - i - 1] for c in tree.children[i])))
    return sizes


def _is_first_rotation(tree: Tree, i: int) -> bool:
    """True if nothing inside link i rotates."""
    return all(not tree.links[j].rotates for j in tree.ancestors[i][1:])


def _frame(
    tree: Tree, i: int, parent: Transform, target: NextAxis | None, foot: Array | None
) -> tuple[Transform, float]:
    link = tree.links[i]
    if link.kind == "prismatic" and link.parent < 0:
        return Transform(_along_slide(tree, i, target), link.placement.inverse().translation), 0.0
    if link.kind == "prismatic":
        return _upon_parent(link, parent, is_tip=not tree.children[i]), 0.0
    if link.kind == "spherical":
        return Transform.identity(), 0.0
    z = link.axis
    origin = foot if foot is not None else _level(link, parent)
    first = _direction(link.moments.first)
    inner = link.placement.rotation.T @ parent.rotation
    own = [first - (first @ z) * z, _cross(inner[:, 2], z), inner[:, 0]]
    if target is None:  # a tip: x along a slide it carries or its first moment, or where the angle needs no offset
        return Transform(triad(unit_or_any(_first([*slides_across(tree, i), *own]), z), z), origin), 0.0
    point, direction = target.placement.translation, target.direction
    normal = _cross(z, direction)
    if np.linalg.norm(normal) < TINY:  # parallel axes: x along slides between them or from one to the other; one axis
        between = [*slides_across(tree, i, target.link), point - (point @ z) * z]  # for both leaves it free as at a tip
        return Transform(triad(unit_or_any(_first([*between, *own]), z), z), origin), 0.0
    x = unit_or_any(normal, z)
    rotation = triad(x, z)
    twist = math.atan2(np.linalg.norm(normal), z @ direction)
    if is_right(twist) or _is_first_rotation(tree, i):
        return Transform(rotation, origin), 0.0
    return Transform(clean(rotation @ rotation_x(twist)), origin), twist


def _upon_parent(link: Link, parent: Transform, is_tip: bool) -> Transform:
    """The frame of a slide in its old frame: the parent's new one when the slide is at zero; at a tip with the origin
    in the centre of mass: the first moment then vanishes."""
    frame = link.placement.inverse() @ parent
    return replace(frame, translation=_center(link, frame.translation)) if is_tip else frame


def _along_slide(tree: Tree, i: int, target: NextAxis | None) -> Array:
    """Axes of a slide on the ground, in its old frame: z along it, x in the plane of the next slide, across the next
    rotation axis, in the plane of gravity or of an axis of the world."""
    z, R = tree.links[i].axis, tree.links[i].placement.rotation
    turns = [] if target is None else [_cross(z, target.direction)]
    outer = [_direction(tree.gravity) @ R, R[0], R[1]]
    across = [*slides_across(tree, i), *turns, *(u - (u @ z) * z for u in outer)]
    return triad(unit_or_any(_first(across), z), z)


def _feet_outwards(tree: Tree, targets: Sequence[NextAxis | None], reach: float) -> list[Array | None]:
    """The point of each link's axis nearest to the next axis that is not parallel to it, in its old frame.

    Links with parallel axes are level with the last one of them, so that only the vector to the first has a part along
    the axes. None if all axes up to the tip are parallel: any point is as near as any other.
    """
    feet: list[Array | None] = [None] * len(tree.links)
    for i in reversed(range(len(tree.links))):
        target, z = targets[i], tree.links[i].axis
        if target is None or tree.links[i].kind in ("prismatic", "spherical"):
            continue
        c, placed, direction = target
        beyond, point = feet[c], placed.translation
        if np.linalg.norm(_cross(z, direction)) >= TINY:
            foot = _foot(z, point, direction)
            across = z if _is_first_rotation(tree, i) else direction
            feet[i] = foot if np.linalg.norm(foot) <= reach else (point @ across) / (z @ across) * z
        elif beyond is not None:
            feet[i] = _at(placed.apply(beyond) @ z, z, point, beyond)
    return feet


def _level(link: Link, parent: Transform) -> Array:
    """The point of a link's axis, in the link's old frame, from which the vector to the parent's new origin has no
    component along that axis of the parent's new frame to which the link's is nearest: where the parent's frame suits
    this link, the foot of their common normal. On the ground, and on a screw, whose translation has a part along the
    axis anyhow, the point level with the centre of mass."""
    z = link.axis
    if link.parent < 0 or link.kind == "helical":
        return (_center(link, np.zeros(3)) @ z) * z
    inner = link.placement.inverse() @ parent
    nearest = inner.rotation[:, int(np.argmax(np.abs(z @ inner.rotation)))]
    return (nearest @ inner.translation) / (nearest @ z) * z


def _foot(z: Array, point: Array, direction: Array) -> Array:
    """The point of the line through the origin along ``z`` that is nearest to another line."""
    normal = _cross(z, direction)
    along = (point @ z - (z @ direction) * (point @ direction)) / (normal @ normal)
    return _at(along, z, point)


def _at(along: float, z: Array, *terms: Array) -> Array:
    """The point so far along z, or the origin, if that is zero but for the rounding of the vectors it comes from."""
    return along * z if abs(along) > TINY * max(np.linalg.norm(term) for term in terms) else np.zeros(3)


def _center(link: Link, otherwise: Array) -> Array:
    """Of its mass; another point if there is none or it is a symbol."""
    m, h = link.moments.mass, link.moments.first
    return h / m if scalar.is_number(m) and h.dtype != object and m else otherwise


def _direction(u: Array) -> Array:
    """Of unit length, however light the link is; nothing for zero and for symbols."""
    length = 0.0 if u.dtype == object else float(np.linalg.norm(u))
    return u / length if length > 0 else np.zeros(3)


def _first(directions: list[Array]) -> Array:
    """The first direction that is not zero but for rounding; zero if all are."""
    return next((d for d in directions if np.linalg.norm(d) > TINY), np.zeros(3))


def _rewritten(link: Link, parent: Transform, frame: Transform, twist: float, size: float) -> Link:
    """The link with its joint described between the new frames.

    Args:
        parent: its parent's new frame in the old one.
        twist: by how much that was turned about x into the distal position.
        size: of what the joint carries.
    """
    placed = parent.inverse() @ link.placement  # old joint frame in the parent's new frame
    translation = _snap(placed.apply(frame.translation), size, parent, frame)
    moments = moved_moments(link.moments, frame)
    if link.kind == "prismatic":
        placement = Transform(clean(placed.rotation @ frame.rotation), translation)
        return replace(link, placement=placement, axis=clean(frame.rotation.T @ link.axis), moments=moments)
    if link.kind == "spherical":
        return replace(link, placement=Transform(clean(placed.rotation), translation), moments=moments)
    # Old: placed . turn(axis, q). New link frame in the moved joint frame: `frame`, whose z (before the distal twist)
    # is the axis. So placed . turn(axis, q) . frame = [placed . triad] . turn(z, q) . twist.
    untwisted = frame.rotation @ rotation_x(-twist) if twist else frame.rotation
    pre = placed.rotation @ untwisted
    # Split pre = Rz(gamma) Rx(alpha) Rz(psi); psi joins the joint angle.
    gamma, alpha, psi = zxz(pre)
    pre = clean(rotation_z(gamma) @ rotation_x(alpha))
    if link.kind == "helical":  # the offset of the angle must not advance the screw
        translation = translation - pre[:, 2] * (link.pitch * psi)
    return replace(
        link,
        axis=np.array([0.0, 0.0, 1.0]),
        placement=Transform(pre, translation),
        offset=link.offset + psi if psi else link.offset,
        post=clean(np.asarray(rotation_x(twist), dtype=float)) if twist else None,
        moments=moments,
    )


def _snap(p: Array, size: float, *terms: Transform) -> Array:
    """Coordinates that are zero but for rounding, beside the translations they come from and the size of what is
    carried, made zero."""
    scale = max(size, *(float(np.abs(term.translation).max()) for term in terms))
    return np.where(np.abs(p) < TINY * scale, 0.0, p)
