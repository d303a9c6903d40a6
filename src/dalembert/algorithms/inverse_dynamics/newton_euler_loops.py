"""Newton-Euler recursion (THESIS (5.2.10), (5.2.11)) in loops: one step for all revolute joints, constants in tables.

A limb is a run of links with revolute joints, none but the last carrying several links. Its links get axes of which z
is that of their joint, so that all take the same step and differ in numbers only. The program of a humanoid is then a
third as long as that written out, for processors with little memory; an operation with a zero of a table is taken all
the same, so that there are two to five times as many. What is no limb, such as a floating base or a sliding joint, is
written out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.loops import along
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross
from dalembert.algorithms.loads import Loads
from dalembert.kinematics.step import Step
from dalembert.model.tree import Link, Tree, gather

Motion = tuple[Array, Array, Array]
"""Angular velocity and acceleration of a link, and the acceleration of its origin less gravity, in its axes."""
Pull = tuple[Array, Array]
"""Force and moment about the origin of a link, in its axes."""


def newton_euler_loops(tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None) -> Array:
    """Generalised forces that produce the accelerations ``a``."""
    at_rest = arrays.zeros(3)
    motion: dict[int, Motion] = {-1: (at_rest, at_rest, -tree.gravity)}
    pull: dict[int, Pull] = {}
    for i in range(len(tree.links)):
        pull[i] = _acting(loads, i)
    parts = [Limb(tree, run, q) if len(run) > 1 else Single(tree, run[0], q) for run in limbs(tree)]
    for part in parts:
        motion[part.last] = part.outward(motion[part.parent], v, a)
    tau: list[Array] = [at_rest] * len(tree.links)
    for part in reversed(parts):
        forces, (f, eta) = part.inward(pull)
        tau[part.first : part.last + 1] = forces
        if part.parent >= 0:
            pull[part.parent] = pull[part.parent][0] + f, pull[part.parent][1] + eta
    return gather(tree, tau)


def limbs(tree: Tree) -> list[list[int]]:
    """The links in runs, each after the one that carries it: limbs, and links by themselves."""
    runs: list[list[int]] = []
    for i, link in enumerate(tree.links):
        inner = link.parent
        goes_on = inner >= 0 and runs[-1][-1] == inner and tree.children[inner] == (i,)
        if goes_on and link.kind == "revolute" == tree.links[inner].kind:
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


class Single:
    """A link by itself, written out as in Algorithm 5.3."""

    def __init__(self, tree: Tree, index: int, q: Array):
        self.tree, self.link = tree, tree.links[index]
        self.first, self.last, self.parent = index, index, self.link.parent
        self.step = Step(self.link, q)

    def outward(self, motion: Motion, v: Array, a: Array) -> Motion:
        """The motion of the link from that of its parent."""
        tree, link, s, out = self.tree, self.link, self.step.s, self.step.outward
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        turn, slide = product(link.Zw, rate), product(link.Zv, rate)
        w_p, wd_p, sdd_p = motion
        wi = out(w_p)
        wd = out(wd_p) + cross(wi, turn) + product(link.Zw, acceleration)
        moved = sdd_p + cross(wd_p, s) + cross(w_p, cross(w_p, s))
        sdd = out(moved) + 2 * cross(wi, slide) + product(link.Zv, acceleration)
        m, h, I = link.moments.mass, link.moments.first, link.moments.tensor
        self.taken = _taken(wi + turn, wd, sdd, m, h, I)
        return wi + turn, wd, sdd

    def inward(self, pull: dict[int, Pull]) -> tuple[list[Array], Pull]:
        """The generalised forces of the link, and what it pulls its parent with."""
        f, eta = (x + y for x, y in zip(self.taken, pull[self.last]))
        pulled = self.step.inward(f)
        tau = product(self.link.Zw.T, eta) + product(self.link.Zv.T, f)
        return [tau], (pulled, cross(self.step.s, pulled) + self.step.inward(eta))


class Limb:
    """A run of links with revolute joints, which all take the same step, each in axes of which z is that of its joint.

    Args:
        run: indices of the links, which follow each other.
    """

    def __init__(self, tree: Tree, run: list[int], q: Array):
        self.tree, self.links = tree, [tree.links[i] for i in run]
        self.first, self.last, self.parent = run[0], run[-1], self.links[0].parent
        self.own = [_own_axes(link) for link in self.links]
        angles = [link.position(q)[0] for link in self.links]
        self.cosine, self.sine = (arrays.asarray([f(x) for x in angles]) for f in (scalar.cos, scalar.sin))
        before = [arrays.identity(3), *self.own]
        self.A = _table(
            product(product(B, link.placement.rotation), _onto(link.axis)) for B, link in zip(before, self.links)
        )
        self.s = _table(product(B, link.placement.translation) for B, link in zip(before, self.links))

    def outward(self, motion: Motion, v: Array, a: Array) -> Motion:
        """The motion of the last link from that of the parent of the first."""
        moments = [link.moments for link in self.links]
        rates = ([self.tree.speed(link, u)[0] for link in self.links] for u in (v, a))
        motion, (self.F, self.M) = along(_outward, motion, (
            self.cosine, self.sine, *map(arrays.asarray, rates), self.A, self.s, _table(x.mass for x in moments),
            _table(product(B, x.first) for B, x in zip(self.own, moments)),
            _table(_upper(product(product(B, x.tensor), B.T)) for B, x in zip(self.own, moments)),
        ))  # fmt: skip
        w, wd, sdd = (product(self.own[-1].T, x) for x in motion)
        return w, wd, sdd

    def inward(self, pull: dict[int, Pull]) -> tuple[list[Array], Pull]:
        """The generalised forces of the links, and what the first pulls its parent with."""
        *inner, tip = ([product(B, x) for x in pull[self.first + k]] for k, B in enumerate(self.own))
        F, M = (
            arrays.stack([x + acting[part] for x, acting in zip(taken, [*inner, (arrays.zeros(3),) * 2])])
            for part, taken in enumerate((self.F, self.M))
        )
        given = F, M, self.cosine, self.sine, self.A, self.s
        (f, eta), (tau,) = along(_inward, tip, tuple(x[::-1] for x in given))
        return [arrays.asarray([x]) for x in tau[::-1]], (f, eta)


def _outward(w_p: Array, wd_p: Array, sdd_p: Array, c: Scalar, s: Scalar, rate: Scalar, acceleration: Scalar,
             A: Array, origin: Array, m: Scalar, h: Array, upper: Array) -> tuple[Motion, Pull]:  # fmt: skip
    """(5.2.10): the motion of a link, and the force and moment that it takes."""
    xx, xy, xz, yy, yz, zz = upper
    I = arrays.asarray([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    x, y, z = _turned(c, s, product(A.T, w_p))
    w = arrays.asarray([x, y, z + rate])
    xd, yd, zd = _turned(c, s, product(A.T, wd_p))
    wd = arrays.asarray([xd + y * rate, yd - x * rate, zd + acceleration])
    moved = sdd_p + cross(wd_p, origin) + cross(w_p, cross(w_p, origin))
    sdd = _turned(c, s, product(A.T, moved))
    return (w, wd, sdd), _taken(w, wd, sdd, m, h, I)


def _inward(
    f: Array, eta: Array, F: Array, M: Array, c: Scalar, s: Scalar, A: Array, origin: Array
) -> tuple[Pull, Any]:
    """(5.2.11): the force of a joint, and what its link pulls the one before with."""
    f, eta = f + F, eta + M
    pulled = product(A, _turned(c, -s, f))
    return (pulled, cross(origin, pulled) + product(A, _turned(c, -s, eta))), (eta[2],)


def _taken(w: Array, wd: Array, sdd: Array, m: Scalar, h: Array, I: Array) -> Pull:
    """Force and moment about the origin that a link with mass m, first moment h and tensor I takes for its motion."""
    F = m * sdd + cross(wd, h) + cross(w, cross(w, h))
    return F, product(I, wd) + cross(w, product(I, w)) + cross(h, sdd)


def _turned(c: Scalar, s: Scalar, u: Array) -> Array:
    """Components in axes turned about z by the angle with this cosine and sine."""
    return arrays.asarray([c * u[0] + s * u[1], c * u[1] - s * u[0], u[2]])


def _own_axes(link: Link) -> Array:
    """From the axes of a link to those of which z is that of its joint."""
    return _onto(link.axis).T if link.post is None else product(_onto(link.axis).T, link.post)


def _onto(axis: Array) -> Array:
    """A rotation whose third column is the axis: by the shortest turn from z, or, where that is long, from -z."""
    x, y, z = axis
    known = scalar.constant(z)
    if known is not None and known < 0:
        return product(_onto(-axis), arrays.asarray([[1, 0, 0], [0, -1, 0], [0, 0, -1]]))
    if scalar.is_zero(x) and scalar.is_zero(y):
        return arrays.identity(3)
    k = 1 / (1 + z)
    return arrays.asarray([[1 - k * x * x, -k * x * y, x], [-k * x * y, 1 - k * y * y, y], [-x, -y, z]])


def _upper(I: Array) -> Array:
    """The upper triangle of a symmetric tensor."""
    return arrays.asarray([I[i, j] for i in range(3) for j in range(i, 3)])


def _acting(loads: Loads, i: int) -> Pull:
    """What acts on a link from outside, as a pull of its own on the one that carries it."""
    found = loads[i] if loads else None
    return (arrays.zeros(3), arrays.zeros(3)) if found is None else (-found[0], -found[1])


def _table(rows: Any) -> Array:
    """One row of constants for each link."""
    return arrays.asarray([np.asarray(row).tolist() for row in rows])
