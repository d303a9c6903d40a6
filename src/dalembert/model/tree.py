"""The mechanism as algorithms see it: a tree of links with elementary joints.

Fixed joints are gone (their bodies are welded to the link that carries them), joints of several degrees are split into
elementary ones with massless links between them. Every link then moves relative to its parent by one of four joints -
revolute, prismatic, helical, spherical - whose motion is a *constant* subspace in the child's axes: rotation columns
``Zw`` and translation columns ``Zv``, so that

    relative angular velocity = Zw v,      relative velocity of the origin = Zv v.

For a revolute joint Zw is the axis and Zv zero (sigma = 1 of the THESIS), for a prismatic one the reverse (sigma = 0).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, Coordinates, product
from dalembert.algebra.inertia import inertia_from_pseudo, pseudo_inertia
from dalembert.algebra.quaternions import rotation_from_quaternion
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.transform import Transform
from dalembert.cached import cached_property
from dalembert.model.body import WORLD, Body
from dalembert.model.inertia import Inertia
from dalembert.model.joint import Joint, rotation_about


def depth_first(bodies: Sequence[Body], joints: Sequence[Joint]) -> tuple[tuple[Body, ...], tuple[Joint, ...]]:
    """Bodies and joints reordered depth first from the ground, children in their order of appearance.

    Args:
        joints: in any order, one with each body as child.
    """
    by_parent: dict[str, list[Joint]] = {}
    for joint in joints:
        by_parent.setdefault(joint.parent, []).append(joint)
    by_name = {body.name: body for body in bodies}
    ordered: list[Joint] = []
    waiting = list(reversed(by_parent.get(WORLD, [])))
    while waiting:
        joint = waiting.pop()
        ordered.append(joint)
        waiting.extend(reversed(by_parent.get(joint.child, [])))
    return tuple(by_name[joint.child] for joint in ordered), tuple(ordered)


@dataclass(frozen=True, eq=False)
class Moments:
    """Mass distribution of a link about its own origin, in its own axes: all that dynamics depends on.

    Kept apart from :class:`Inertia` because regrouped parameters need not belong to a real body: a link may have a
    first moment and no mass.

    Args:
        mass: zeroth moment, kg.
        first: first moment, the integral of r dm, kg m.
        second: second moment or pseudo-inertia, the symmetric 3 x 3 integral of r r^T dm (4.3.4), kg m^2.
    """

    mass: Scalar
    first: Array
    second: Array

    @classmethod
    def of(cls, inertia: Inertia) -> Moments:
        """The moments of a real body."""
        return cls(inertia.mass, inertia.first_moment, pseudo_inertia(inertia.tensor_about_origin))

    def __add__(self, other: Moments) -> Moments:
        """Both welded together; moments about one point add up."""
        return Moments(self.mass + other.mass, self.first + other.first, self.second + other.second)

    @property
    def is_zero(self) -> bool:
        """True if there is certainly nothing."""
        return all(scalar.is_zero(x) for x in (self.mass, *self.first, *self.second.flat))

    @property
    def tensor(self) -> Array:
        """Inertia tensor about the origin, tr(J) 1 - J (4.3.7)."""
        return inertia_from_pseudo(self.second)


@dataclass(frozen=True, eq=False)
class Link:
    """A link and the elementary joint that carries it.

    Args:
        name: body name, with ``/1``, ``/2``, ... for massless links inside a joint of several degrees.
        parent: index of the parent link, -1 for the ground.
        kind: ``revolute``, ``prismatic``, ``helical`` or ``spherical``.
        axis: unit axis in the joint frame.
        pitch: advance per radian of a helical joint.
        placement: joint frame in the parent link's frame at zero position.
        q: index of its first position coordinate.
        v: index of its first velocity.
        gain: multiplier of a mimic joint, else 1.
        offset: offset of a mimic joint, else 0.
        moments: mass distribution in the link frame, welded bodies included.
        joint: name of the joint of the mechanism.
        post: constant rotation from the link's axes to those of the moved joint frame; None if they coincide.
        unit: whether the quaternion of a spherical joint is known to have unit length, as in formulas on paper.
    """

    name: str
    parent: int
    kind: str
    axis: Array
    pitch: Scalar
    placement: Transform
    q: int
    v: int
    gain: Scalar
    offset: Scalar
    moments: Moments
    joint: str
    post: Array | None = None
    unit: bool = False

    @property
    def nq(self) -> int:
        return 4 if self.kind == "spherical" else 1

    @property
    def nv(self) -> int:
        return 3 if self.kind == "spherical" else 1

    @cached_property
    def axes_w(self) -> Array:
        """Rotation columns of the joint in the axes of the moved joint frame, 3 x nv."""
        if self.kind == "spherical":
            return arrays.identity(3)
        return self.axis[:, None] if self.kind in ("revolute", "helical") else arrays.zeros(3, 1)

    @cached_property
    def axes_v(self) -> Array:
        """Translation columns of the joint in the axes of the moved joint frame, 3 x nv."""
        if self.kind == "prismatic":
            return self.axis[:, None]
        return (self.pitch * self.axis)[:, None] if self.kind == "helical" else arrays.zeros(3, self.nv)

    @cached_property
    def Zw(self) -> Array:
        """Rotation columns of the joint in the link's own axes, 3 x nv."""
        return self.axes_w if self.post is None else product(self.post.T, self.axes_w)

    @cached_property
    def Zv(self) -> Array:
        """Translation columns of the joint in the link's own axes, 3 x nv."""
        return self.axes_v if self.post is None else product(self.post.T, self.axes_v)

    @property
    def own_axis(self) -> Array:
        """The joint axis in the link's own axes."""
        return self.axis if self.post is None else product(self.post.T, self.axis)

    @property
    def rotates(self) -> bool:
        """False for a prismatic joint."""
        return self.kind != "prismatic"

    @property
    def translates(self) -> bool:
        """True for prismatic and helical joints: the vector from the parent's origin varies."""
        return self.kind in ("prismatic", "helical")

    def position(self, q: Coordinates) -> Array:
        """This joint's own position, 1 or 4 numbers, out of the whole ``q``."""
        if self.kind == "spherical":
            return arrays.asarray([q[self.q + k] for k in range(4)])
        return arrays.asarray([self.gain * q[self.q] + self.offset])

    def attitude(self, q: Coordinates) -> Array:
        """Rotation of a spherical joint. The length of its quaternion does not matter; symbols stand for unit ones."""
        eta = self.position(q)
        return rotation_from_quaternion(eta, unit=self.unit or scalar.is_symbolic(eta))

    def rotation(self, q: Coordinates) -> Array:
        """A_i: maps components in the link's axes to the parent link's axes."""
        R = self.placement.rotation
        if self.kind == "spherical":
            R = product(R, self.attitude(q))
        elif self.kind != "prismatic":
            R = product(R, rotation_about(self.axis, self.position(q)[0]))
        return R if self.post is None else product(R, self.post)

    def translation(self, q: Coordinates) -> Array:
        """s_{i-1,i}: from the parent's origin to the link's origin, in the parent link's axes."""
        s = self.placement.translation
        if not self.translates:
            return s
        way = self.position(q)[0] if self.kind == "prismatic" else self.pitch * self.position(q)[0]
        along = product(self.placement.rotation, self.axis)
        return s + (along if scalar.is_number(way) else arrays.exact(along)) * way


@dataclass(frozen=True, eq=False)
class Tree:
    """Links in an order in which parents precede children.

    Args:
        links: the moving links.
        gravity: acceleration of free fall in world axes.
        nq: number of position coordinates.
        nv: number of velocities.
        carriers: for every body of the mechanism the link that carries it (-1: ground) and the body's frame in it.
    """

    links: tuple[Link, ...]
    gravity: Array
    nq: int
    nv: int
    carriers: dict[str, tuple[int, Transform]]

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Child links of every link."""
        lists: list[list[int]] = [[] for _ in self.links]
        for i, link in enumerate(self.links):
            if link.parent >= 0:
                lists[link.parent].append(i)
        return tuple(tuple(c) for c in lists)

    @cached_property
    def ancestors(self) -> tuple[tuple[int, ...], ...]:
        """For every link the links it hangs on, itself first, down to the base."""
        chains: list[tuple[int, ...]] = []
        for i, link in enumerate(self.links):
            chains.append((i, *(chains[link.parent] if link.parent >= 0 else ())))
        return tuple(chains)

    @cached_property
    def coupled(self) -> bool:
        """True if some joint mimics another one, so that two links share a velocity."""
        return len({link.v for link in self.links}) < len(self.links)

    @cached_property
    def velocity_parents(self) -> tuple[int, ...]:
        """For every velocity the one next inside it in the tree, -1 at the base: the sparsity of the inertia matrix.

        With mimic joints the velocities form no tree; each then counts the one before it as its parent (dense).
        """
        if self.coupled:
            return tuple(range(-1, self.nv - 1))
        parents = [-1] * self.nv
        for link in self.links:
            inner = self.links[link.parent] if link.parent >= 0 else None
            for k in range(link.nv):
                parents[link.v + k] = link.v + k - 1 if k else inner.v + inner.nv - 1 if inner else -1
        return tuple(parents)

    @cached_property
    def support(self) -> Array:
        """Boolean nv x nv: true where the inertia matrix can be different from zero."""
        pattern = np.zeros((self.nv, self.nv), dtype=bool)
        for i, link in enumerate(self.links):
            for j in self.ancestors[i]:
                above = self.links[j]
                pattern[link.v : link.v + link.nv, above.v : above.v + above.nv] = True
                pattern[above.v : above.v + above.nv, link.v : link.v + link.nv] = True
        return pattern

    def speed(self, link: Link, v: Coordinates) -> Array:
        """The link's own joint velocity (or acceleration, given accelerations) out of the whole vector."""
        own = arrays.asarray([v[link.v + k] for k in range(link.nv)])
        return own if scalar.is_one(link.gain) else link.gain * own


def gather(tree: Tree, parts: Sequence[Array]) -> Array:
    """Generalised forces of the whole mechanism from each link's own; mimic joints add to their leader."""
    total: list[Scalar] = [0] * tree.nv
    for link, part in zip(tree.links, parts):
        for k in range(link.nv):
            entry = part[k] if scalar.is_one(link.gain) else link.gain * part[k]
            before = total[link.v + k]
            total[link.v + k] = entry if scalar.is_zero(before) else before + entry
    return arrays.asarray(total)


def gather_matrix(tree: Tree, blocks: Mapping[tuple[int, int], Array]) -> Array:
    """A matrix over all velocities from blocks ``(row link, column link)``; mimic joints add to their leader."""
    total: list[list[Scalar]] = [[0] * tree.nv for _ in range(tree.nv)]
    for (i, j), block in blocks.items():
        row, column = tree.links[i], tree.links[j]
        gain = row.gain * column.gain
        for r in range(row.nv):
            for c in range(column.nv):
                entry = block[r, c] if scalar.is_one(gain) else gain * block[r, c]
                before = total[row.v + r][column.v + c]
                total[row.v + r][column.v + c] = entry if scalar.is_zero(before) else before + entry
    return arrays.asarray(total).reshape(tree.nv, tree.nv)


# --------------------------------------------------------------------------------------------------- trunk and branches


def branches(tree: Tree, workers: int = 4) -> tuple[int, ...]:
    """The branch of each link, numbered from 1; 0 for links of the trunk.

    The trunk begins at the ground and grows into the largest branch as long as that shortens the work: that on the
    trunk, which nobody can share, and that of the worker with most branches.

    Args:
        workers: how many branches can be worked on at a time.
    """
    below = _sizes(tree)
    roots = [k for k, link in enumerate(tree.links) if link.parent < 0]
    trunk: set[int] = set()
    best, chosen = _span(0, [below[k] for k in roots], workers), list(roots)
    while roots:
        largest = max(roots, key=lambda k: (below[k], -k))
        roots.remove(largest)
        children: Sequence[int] = (largest,)
        while len(children) == 1:
            trunk.add(children[0])
            children = tree.children[children[0]]
        roots.extend(children)
        span = _span(len(trunk), [below[k] for k in roots], workers)
        if span < best:
            best, chosen = span, list(roots)
    found = [0] * len(tree.links)
    for number, root in enumerate(sorted(chosen), 1):
        found[root] = number
    for k, link in enumerate(tree.links):
        if not found[k] and link.parent >= 0:
            found[k] = found[link.parent]
    return tuple(found)


def coordinate_branches(tree: Tree) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The branch of each position and of each velocity; 0 if links of several branches follow it."""
    q: list[set[int]] = [set() for _ in range(tree.nq)]
    v: list[set[int]] = [set() for _ in range(tree.nv)]
    for link, branch in zip(tree.links, branches(tree)):
        for users in (*q[link.q : link.q + link.nq], *v[link.v : link.v + link.nv]):
            users.add(branch)
    return tuple(_only(users) for users in q), tuple(_only(users) for users in v)


def element_branches(velocities: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The branch of each element of an array whose axes of length nv run over velocities: the first that is not 0."""
    axes = [velocities if size == len(velocities) else (0,) * size for size in shape]
    return tuple(next(filter(None, place), 0) for place in itertools.product(*axes))


def _only(users: set[int]) -> int:
    return next(iter(users)) if len(users) == 1 else 0


def _sizes(tree: Tree) -> list[int]:
    """Links of the subtree of each link."""
    sizes = [1] * len(tree.links)
    for k in range(len(sizes) - 1, -1, -1):
        if tree.links[k].parent >= 0:
            sizes[tree.links[k].parent] += sizes[k]
    return sizes


def _span(trunk: int, sizes: list[int], workers: int) -> int:
    """Work of the trunk and of the busiest worker, if the largest branches are given out first."""
    filled = [0] * workers
    for size in sorted(sizes, reverse=True):
        filled[filled.index(min(filled))] += size
    return trunk + max(filled)
