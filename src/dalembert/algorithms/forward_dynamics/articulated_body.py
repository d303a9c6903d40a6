"""Articulated-body forward dynamics, O(n) (Featherstone 1983; described in words in THESIS 6.2).

The wrench at joint i is an affine function of the spatial acceleration of link i,

    (eta ; f) = [[I, H], [H^T, M]] (wd ; sdd) + (pn ; pf),

whatever hangs beyond it. Blocks rather than 6 x 6 matrices, in the axes of the moved joint frame, so that the plane
turns of :mod:`dalembert.kinematics.step` apply.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.vectors import cross, dual
from dalembert.algorithms.choose import refuse_mimic_joints
from dalembert.algorithms.loads import Loads
from dalembert.algorithms.triangular import TreeFactors, factor
from dalembert.kinematics.step import Step, steps
from dalembert.model.tree import Link, Tree, gather


@dataclass(eq=False)
class _Articulated:
    """Inertia blocks and bias wrench of a link with all that hangs beyond it."""

    I: Array
    H: Array
    M: Array
    pn: Array
    pf: Array

    def add(self, other: _Articulated) -> None:
        self.I, self.H, self.M = self.I + other.I, self.H + other.H, self.M + other.M
        self.pn, self.pf = self.pn + other.pn, self.pf + other.pf


def articulated_body(
    tree: Tree, q: Array, v: Array, tau: Array, loads: Loads = None, armature: Array | None = None
) -> Array:
    """Accelerations that the generalised forces ``tau`` produce.

    Args:
        tree: the links; without mimic joints.
    """
    refuse_mimic_joints(tree, "articulated-body", "algorithm='factor-and-solve'")
    step = steps(tree, q)
    drift, bodies = _outward(tree, step, v, loads)
    count = len(tree.links)
    reduced: dict[int, tuple[Array, TreeFactors, Array]] = {}  # U, factors of Dh, u of every joint
    for i in reversed(range(count)):
        link = tree.links[i]
        body = _in_joint_frame(step[i], bodies[i])
        Zw, Zv = link.axes_w, link.axes_v
        Un, Uf = product(body.I, Zw) + product(body.H, Zv), product(body.H.T, Zw) + product(body.M, Zv)
        Dh = product(Zw.T, Un) + product(Zv.T, Uf)
        own = slice(link.v, link.v + link.nv)
        if armature is not None:
            Dh = Dh + arrays.asarray(
                [[armature[link.v + r] if r == c else 0 for c in range(link.nv)] for r in range(link.nv)]
            )
        factors = factor(Dh, range(-1, link.nv - 1))
        u = arrays.asarray(tau[own]) - product(Zw.T, body.pn) - product(Zv.T, body.pf)
        reduced[i] = (np.concatenate([Un, Uf]), factors, u)
        if link.parent < 0:
            continue
        # Eliminated row by row: an explicit inverse of Dh would lose digits with the square of its condition.
        Wn, Wf, w = factors.inwards(Un.T), factors.inwards(Uf.T), factors.inwards(u)
        Gn, Gf = (arrays.asarray([row * r for row, r in zip(W, factors.reciprocals)]).T for W in (Wn, Wf))
        free = _without_joint(link, body, Wn, Wf, Gn, Gf, armature is None)
        c_w, c_v = drift[i]
        free.pn = body.pn + product(free.I, c_w) + product(free.H, c_v) + product(Gn, w)
        free.pf = body.pf + product(free.H.T, c_w) + product(free.M, c_v) + product(Gf, w)
        bodies[link.parent].add(_at_parent(step[i], free))
    return _accelerations(tree, step, drift, reduced)


def _outward(
    tree: Tree, step: list[Step], v: Array, loads: Loads
) -> tuple[list[tuple[Array, Array]], list[_Articulated]]:
    """Velocity-dependent accelerations (joint frames) and each body's own inertia and bias."""
    w: list[Array] = []
    drift, bodies = [], []
    at_rest = arrays.zeros(3)
    for i, link in enumerate(tree.links):
        p, s = link.parent, step[i].s
        w_p = w[p] if p >= 0 else at_rest
        rate = tree.speed(link, v)
        turn, slide = product(link.axes_w, rate), product(link.axes_v, rate)
        wi = step[i].to_joint(w_p)
        w.append(step[i].to_link(wi + turn))
        swing = step[i].to_joint(cross(w_p, cross(w_p, s)))
        drift.append((cross(wi, turn), swing + 2 * cross(wi, slide)))
        m, h, I = link.moments.mass, link.moments.first, link.moments.tensor
        pn, pf = cross(w[i], product(I, w[i])), cross(w[i], cross(w[i], h))
        if loads and loads[i] is not None:
            force, moment = loads[i]  # type: ignore[misc]
            pn, pf = pn - moment, pf - force
        bodies.append(_Articulated(I, dual(h), m * arrays.identity(3), pn, pf))
    return drift, bodies


def _in_joint_frame(step: Step, b: _Articulated) -> _Articulated:
    return _Articulated(
        step.from_link_symmetric(b.I), step.from_link_tensor(b.H), step.from_link_symmetric(b.M),
        step.from_link(b.pn), step.from_link(b.pf),
    )  # fmt: skip


def _without_joint(
    link: Link, b: _Articulated, Wn: Array, Wf: Array, Gn: Array, Gf: Array, exact: bool
) -> _Articulated:
    """The inertia that is left when the joint is free to move: IA - U Dh^-1 U^T = IA - G W."""
    I, H, M = b.I - product(Gn, Wn), b.H - product(Gn, Wf), b.M - product(Gf, Wf)
    if link.kind == "spherical":
        axes = [0, 1, 2]
    else:
        axes = [k for k in range(3) if link.kind == "revolute" and link.axis[k] in (1, -1)]
    if axes and exact:  # a free axis transmits no moment about itself: those entries cancel exactly
        I = arrays.asarray([[0 if r in axes or c in axes else I[r, c] for c in range(3)] for r in range(3)])
        H = arrays.asarray([[0 if r in axes else H[r, c] for c in range(3)] for r in range(3)])
    return _Articulated(I, H, M, arrays.zeros(3), arrays.zeros(3))


def _at_parent(step: Step, b: _Articulated) -> _Articulated:
    """Turned into the parent's axes and referred to its origin."""
    I, H, M = step.from_joint_symmetric(b.I), step.from_joint_tensor(b.H), step.from_joint_symmetric(b.M)
    pn, pf = step.from_joint(b.pn), step.from_joint(b.pf)
    s = dual(step.s)
    Hs = product(H, s)
    shifted = H + product(s, M)
    return _Articulated(I - Hs + product(s, shifted.T), shifted, M, pn + cross(step.s, pf), pf)


def _accelerations(tree: Tree, step: list[Step], drift: list, reduced: dict) -> Array:
    """Outward again: joint accelerations from the base to the tips."""
    wd: list[Array] = []
    sdd: list[Array] = []
    own: list[Array] = []
    at_rest = arrays.zeros(3)
    for i, link in enumerate(tree.links):
        p = link.parent
        wd_p, sdd_p = (wd[p], sdd[p]) if p >= 0 else (at_rest, -tree.gravity)
        c_w, c_v = drift[i]
        wd_i = step[i].to_joint(wd_p) + c_w
        sdd_i = step[i].to_joint(sdd_p + cross(wd_p, step[i].s)) + c_v
        U, factors, u = reduced[i]
        a = factors.solve(u - product(U.T, np.concatenate([wd_i, sdd_i])))
        own.append(a)
        wd.append(step[i].to_link(wd_i + product(link.axes_w, a)))
        sdd.append(step[i].to_link(sdd_i + product(link.axes_v, a)))
    return gather(tree, own)
