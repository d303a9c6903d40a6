"""Sensitivities of inverse dynamics: D, V, P (THESIS (7.2.1), (7.3.2)-(7.3.4)), in propagation form.

    d tau = D da + V dv + P dq

for trees and all elementary joints. ``dq`` is a tangent vector: the displacement that velocity dv would make in unit
time, so a quaternion joint contributes three columns, not four.

Instead of forming the vectors of Algorithm 7.1 for every pair of joints, as
:mod:`~dalembert.algorithms.sensitivity_as_printed` does, the wrench that a unit variation of joint i
causes is carried inwards joint by joint (upper halves), and with it the covector that reads the effect of inner joints
on joint i (lower halves). Near the base the few axes are carried outwards with their rates instead, and meet the
wrenches half-way, as in :mod:`dalembert.algorithms.inertia_matrix.two_sided`.

L_i = sum of m p~ pd~ over all mass beyond i splits into a symmetric and a skew part,

    2 L = N + c~ ,    N = -dE/dt (E relative to o_i),    c = sum of m p x pd ,

so that carrying it across a joint costs a symmetric tensor and a vector (12 M 9 A a plane turn) instead of a full
tensor (24 M 12 A).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import inertia_from_pseudo, torque_from_tensor
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.vectors import cross, dot
from dalembert.algorithms.inertia_matrix.generalized_links import cross_moments
from dalembert.algorithms.inertia_matrix.two_sided import twists_reach
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_moments
from dalembert.algorithms.loads import Loads
from dalembert.algorithms.tally import OperationCounter, in_numbers, positions, vector
from dalembert.kinematics.joint_axes import Axis, moved_outward, own_axes
from dalembert.kinematics.step import Step, steps
from dalembert.model.tree import Tree, gather, gather_matrix


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Inverse dynamics with its derivatives.

    Args:
        D: derivative with respect to accelerations, the inertia matrix.
        V: derivative with respect to velocities; twice the Christoffel Coriolis matrix for one-degree joints.
        P: derivative with respect to positions, along tangent vectors.
    """

    tau: Array
    D: Array
    V: Array
    P: Array


@dataclass(eq=False)
class _LinkMotions:
    """Outward quantities of every link; *joint* means in the axes of its moved joint frame."""

    w: list[Array]
    Om: list[Array]
    w_parent: list[Array]  # angular velocity of the parent, joint
    wd_parent: list[Array]  # its derivative, joint
    w_joint: list[Array]  # own angular velocity, joint
    wd_joint: list[Array]
    sdd: list[Array]
    sdd_joint: list[Array]
    zeta: list[Array]  # joint
    sd: list[Array]  # rate of the vector from the parent's origin, parent's axes
    twice_sd: list[Array]


class _Parts(NamedTuple):
    """What the columns are made of, of every link; see the functions that make it."""

    step: list[Step]
    m: _LinkMotions
    axes: list[list[Axis]]
    f: list[Array]
    eta: list[Array]
    mass: list[Scalar]
    U: list[Array]
    E: list[Array]
    Ud: list[Array]
    N: list[Array]
    c: list[Array]


Blocks = dict[tuple[int, int], Array]
"""Entries of a matrix by pairs of links."""


def sensitivity(
    tree: Tree,
    q: Array,
    v: Array,
    a: Array,
    loads: Loads = None,
    child_axes: bool = False,
    reached: tuple[bool, ...] | None = None,
) -> Sensitivity:
    """tau, D, V and P at one state.

    Args:
        loads: external loads, constant in the axes of the links they act on.
        child_axes: take the axes of spherical joints as fixed in the child throughout. V/2 is then the Coriolis
            matrix whose Mdot - 2C is skew; for one-degree joints nothing changes.
        reached: for every link whether axes meet wrenches there; by default what costs least, see :func:`axes_reach`.
    """
    x = _parts(tree, q, v, a, loads, child_axes)
    D: Blocks = {}
    V: Blocks = {}
    P: Blocks = {}
    if reached is None:  # counting pays where a program is made, not for one evaluation in numbers
        reached = axes_reach(tree) if q.dtype == object else twists_reach(tree)
    outward: list[dict[int, list[Axis]]] = []
    for i in range(len(tree.links)):
        outward.append(_axes_inside(tree, x, i, outward) if reached[i] else {})
    for i in reversed(range(len(tree.links))):  # the column of a joint is complete once all beyond it are
        columns = _columns(x, i)
        D[i, i], V[i, i], P[i, i] = (_powers(x.axes[i], columns, at) for at in (0, 3, 5))
        _turn_along(x, i, columns)
        j = i
        while tree.links[j].parent >= 0 and not outward[j]:
            j = _step_inwards(tree, x, j, columns)
            _meet(i, j, columns, x.axes[j], (D, V, P))
        for inner, own in outward[j].items():
            _meet(i, inner, columns, own, (D, V, P))
    tau = [product(link.axes_w.T, x.eta[i]) + product(link.axes_v.T, x.f[i]) for i, link in enumerate(tree.links)]
    return Sensitivity(gather(tree, tau), *(gather_matrix(tree, blocks) for blocks in (D, V, P)))


def _parts(tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None, child_axes: bool = False) -> _Parts:
    """What the columns are made of: all that takes a number of operations in proportion to that of the links."""
    step = steps(tree, q)
    mass, u, K = augmented_moments(tree, step)
    m = _outward(tree, step, v, a)
    f, eta = _wrenches(tree, step, m, mass, u, K, loads)
    U, E, Ud, N, c = _generalized(tree, step, m, mass, u, K)
    axes = [
        own_axes(link, m.w_joint[i], m.wd_joint[i], m.w_parent[i], m.wd_parent[i], m.sdd_joint[i], child_axes)
        for i, link in enumerate(tree.links)
    ]
    return _Parts(step, m, axes, f, eta, mass, U, E, Ud, N, c)


def _columns(x: _Parts, i: int) -> list[list[Array]]:
    """The wrenches and covectors of unit variations of joint i, at its origin and in its joint frame."""
    mass, U, E, Ud, N, c = x.mass[i], x.U[i], x.E[i], x.Ud[i], x.N[i], x.c[i]
    columns = []
    for z in x.axes[i]:
        eta_D = product(E, z.zw) + cross(U, z.zv)
        f_D = cross(z.zw, U) + mass * z.zv
        spin, N_z = cross(c, z.zw), product(N, z.zw)
        swept = cross(z.zw, Ud)
        lam = N_z - spin - 2 * cross(Ud, z.zv)  # 2 L^T z
        eta_V = product(E, z.zdw_both) - (N_z + spin) + cross(U, z.drift)
        f_V = cross(z.zdw_both, U) + (swept + swept + mass * z.drift)
        eta_P = product(E, z.zddw) - product(N, z.zdw) - cross(c, z.zdw) + cross(U, z.lift)
        f_P = cross(z.zddw, U) + 2 * cross(z.zdw, Ud) + mass * z.lift
        columns.append([eta_D, f_D, lam, eta_V, f_V, eta_P, f_P])
    return columns


def _outward(tree: Tree, step: list[Step], v: Array, a: Array) -> _LinkMotions:
    """Forward recursion (5.3.45a-e), with the rates of the joint vectors."""
    m = _LinkMotions([], [], [], [], [], [], [], [], [], [], [])
    wd: list[Array] = []
    at_rest = arrays.zeros(3)
    for i, link in enumerate(tree.links):
        p, out, settle = link.parent, step[i].to_joint, step[i].to_link
        w_p, wd_p, sdd_p = (m.w[p], wd[p], m.sdd[p]) if p >= 0 else (at_rest, at_rest, -tree.gravity)
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        turn, slide = product(link.axes_w, rate), product(link.axes_v, rate)
        wi = out(w_p)
        m.w_parent.append(wi)
        m.wd_parent.append(out(wd_p))
        m.w_joint.append(wi + turn)
        m.wd_joint.append(m.wd_parent[i] + cross(wi, turn) + product(link.axes_w, acceleration))
        m.w.append(settle(m.w_joint[i]))
        wd.append(settle(m.wd_joint[i]))
        m.Om.append(angular_acceleration_tensor(m.w[i], wd[i]))
        m.zeta.append(2 * cross(wi, slide) + product(link.axes_v, acceleration))
        m.sdd_joint.append(out(sdd_p + product(m.Om[p], step[i].s) if p >= 0 else sdd_p) + m.zeta[i])
        m.sdd.append(settle(m.sdd_joint[i]))
        moved = cross(w_p, step[i].s)
        m.sd.append(moved + step[i].from_joint(slide) if link.translates else moved)
        m.twice_sd.append(m.sd[i] + m.sd[i])
    return m


def _wrenches(
    tree: Tree, step: list[Step], m: _LinkMotions, mass: list[Scalar], u: list[Array], K: list[Array], loads: Loads
) -> tuple[list[Array], list[Array]]:
    """Backward recursion (5.3.46): force and moment at each joint, in the axes of its moved joint frame."""
    count = len(tree.links)
    Udd = [product(m.Om[i], u[i]) for i in range(count)]
    eta = [torque_from_tensor(m.Om[i], K[i], m.w[i]) + cross(u[i], m.sdd[i]) for i in range(count)]
    external: list[Array] = [arrays.zeros(3)] * count
    for i in reversed(range(count)):
        if loads and loads[i] is not None:
            force, moment = loads[i]  # type: ignore[misc]
            external[i], eta[i] = external[i] + force, eta[i] - moment
        p = tree.links[i].parent
        if p < 0:
            continue
        outer = step[i].from_link(Udd[i])
        B = step[i].from_joint(outer + mass[i] * m.zeta[i] if tree.links[i].translates else outer)
        Udd[p] = Udd[p] + B
        if loads:
            pulled = step[i].inward(external[i])
            external[p], B = external[p] + pulled, B - pulled
        eta[p] = eta[p] + cross(step[i].s, B) + step[i].inward(eta[i])
    f = [step[i].from_link(mass[i] * m.sdd[i] + Udd[i] - external[i]) for i in range(count)]
    return f, [step[i].from_link(eta[i]) for i in range(count)]


def _generalized(
    tree: Tree, step: list[Step], m: _LinkMotions, mass: list[Scalar], u: list[Array], K: list[Array]
) -> tuple[list[Array], list[Array], list[Array], list[Array], list[Array]]:
    """Algorithm 7.2: U, E, Ud and the parts N, c of 2 L of each link with all beyond it (7.3.14), in joint frames."""
    count = len(tree.links)
    U = list(u)
    E = [inertia_from_pseudo(k) for k in K]
    Ud, N, c = [], [], []
    for i in range(count):
        w = m.w[i]
        Ud.append(cross(w, u[i]))
        spin = arrays.stack([cross(w, K[i][:, k]) for k in range(3)]).T  # w~ Kh
        N.append(spin + spin.T)
        c.append(arrays.asarray([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]]))
    for i in reversed(range(count)):
        link = tree.links[i]
        p = link.parent
        for vectors in (U, Ud, c):
            vectors[i] = step[i].from_link(vectors[i])
        for tensors in (E, N):
            tensors[i] = step[i].from_link_symmetric(tensors[i])
        if p < 0:
            continue
        s, sd, into, into_symmetric = step[i].s, m.sd[i], step[i].from_joint, step[i].from_joint_symmetric
        U_i, Ud_i = into(U[i]), into(Ud[i])
        U[p] = U[p] + U_i
        E[p] = E[p] + into_symmetric(E[i]) - cross_moments(s, U_i)
        Ud[p] = Ud[p] + Ud_i
        # s~ Ud~ + U~ sd~ split: 1/2 (s~ Ud~ + Ud~ s~ + U~ sd~ + sd~ U~) and 1/2 (s x Ud + U x sd)~
        N[p] = N[p] + into_symmetric(N[i]) + (cross_moments(s, Ud_i) + cross_moments(sd, U_i, m.twice_sd[i]))
        c[p] = c[p] + into(c[i]) + cross(s, Ud_i) + cross(U_i, sd)
        if link.translates and not scalar.is_zero(mass[i]):  # the augmented point mass slides along with the joint
            slide = sd - cross(m.w[p], s)
            Ud[p] = Ud[p] + mass[i] * slide
            N[p] = N[p] + mass[i] * cross_moments(s, slide)
            c[p] = c[p] + mass[i] * cross(s, slide)
    return U, E, Ud, N, c


@lru_cache(maxsize=16)
def axes_reach(tree: Tree) -> tuple[bool, ...]:
    """Which links the axes of all inner joints are carried to: the choice for the inertia matrix, or less of it.

    Judged by running the algorithm on numbers that count (:mod:`dalembert.algorithms.tally`).
    """
    farthest = twists_reach(tree)
    if not any(farthest):
        return farthest
    depths = [len(chain) for chain in tree.ancestors]
    most = max(depth for depth, reached in zip(depths, farthest) if reached)
    choices = [tuple(r and d <= limit for d, r in zip(depths, farthest)) for limit in range(1, most + 1)]
    counts = _operations(tree, farthest, most)
    return choices[counts.index(min(counts))]


def _operations(tree: Tree, farthest: tuple[bool, ...], most: int) -> list[int]:
    """Operations of the algorithm that depend on how deep axes are carried outwards, for every depth from one to most.

    Every wrench is carried all the way inwards once, and tried on the axes wherever it could meet them.

    Args:
        farthest: which links axes are carried to at most.
    """
    depths = [len(chain) for chain in tree.ancestors]
    count = OperationCounter()
    v, a = vector(tree.nv, count, 100), vector(tree.nv, count, 200)
    x = _parts(in_numbers(tree), positions(tree, count), v, a)
    found = [0] * (most + 1)
    outward: list[dict[int, list[Axis]]] = []
    for i, reached in enumerate(farthest):
        before = count.operations
        outward.append(_axes_inside(tree, x, i, outward) if reached else {})
        for limit in range(depths[i], most + 1):
            found[limit] += count.operations - before
    blocks: tuple[Blocks, Blocks, Blocks] = ({}, {}, {})
    for i in range(len(tree.links)):
        columns = _columns(x, i)
        _turn_along(x, i, columns)
        begin = count.operations
        tried = 0  # operations of meetings that do not take place if the wrench goes on
        deepest = most  # the largest depth for which nothing is known yet
        j = i
        while tree.links[j].parent >= 0:
            if outward[j]:
                before = count.operations
                for inner, own in outward[j].items():
                    _meet(i, inner, columns, own, blocks)
                for limit in range(depths[j], deepest + 1):
                    found[limit] += count.operations - begin - tried
                tried += count.operations - before
                deepest = depths[j] - 1
            j = _step_inwards(tree, x, j, columns)
            _meet(i, j, columns, x.axes[j], blocks)
        for limit in range(deepest + 1):
            found[limit] += count.operations - begin - tried
    return found[1:]


def _axes_inside(tree: Tree, x: _Parts, i: int, outward: list[dict[int, list[Axis]]]) -> dict[int, list[Axis]]:
    """The axes of all joints inside link i, at its origin: wrenches need not go further.

    Args:
        outward: the same of the links before.
    """
    p = tree.links[i].parent
    if p < 0:
        return {}
    seen = partial(moved_outward, inner=x.step[p], outer=x.step[i], twice_sd=x.m.twice_sd[i])
    return {j: [seen(axis) for axis in own] for j, own in {**outward[p], p: x.axes[p]}.items()}


def _turn_along(x: _Parts, i: int, columns: list[list[Array]]) -> None:
    """Seen from inside, the frame of link i itself moves with dq."""
    for axis, column in zip(x.axes[i], columns):
        column[5] = column[5] + cross(axis.zw, x.eta[i]) + cross(axis.zv, x.f[i])
        column[6] = column[6] + cross(axis.zw, x.f[i])


def _step_inwards(tree: Tree, x: _Parts, j: int, columns: list[list[Array]]) -> int:
    """Carry columns from the joint frame and origin of link j to those of its parent, which is given back."""
    p = tree.links[j].parent
    s, settle = x.step[j].s, x.step[p].from_link
    for k, column in enumerate(columns):
        eta_D, f_D, lam, eta_V, f_V, eta_P, f_P = (x.step[j].from_joint(y) for y in column)
        lam = lam - cross(x.m.twice_sd[j], f_D)
        at_parent = eta_D + cross(s, f_D), f_D, lam, eta_V + cross(s, f_V), f_V, eta_P + cross(s, f_P), f_P
        columns[k] = [settle(y) for y in at_parent]
    return p


def _meet(i: int, j: int, columns: list[list[Array]], axes: list[Axis], blocks: tuple[Blocks, ...]) -> None:
    """Entries of joints i and j, from the wrenches of i and the axes of j at one point and in the same frame."""
    D, V, P = blocks
    D[j, i], V[j, i], P[j, i] = (_powers(axes, columns, at) for at in (0, 3, 5))
    D[i, j] = D[j, i].T
    V[i, j] = arrays.asarray(
        [[dot(c[0], z.zdw_both) - dot(c[2], z.zw) + dot(c[1], z.drift) for z in axes] for c in columns]
    )
    P[i, j] = arrays.asarray(
        [[dot(c[0], z.zddw) - dot(c[2], z.zdw) + dot(c[1], z.lift) for z in axes] for c in columns]
    )


def _powers(axes: list[Axis], columns: list[list[Array]], at: int) -> Array:
    """Powers of wrenches (moment at index ``at``, force next to it) on the axes."""
    return arrays.asarray([[dot(z.zw, c[at]) + dot(z.zv, c[at + 1]) for c in columns] for z in axes])


def coriolis_matrix(tree: Tree, q: Array, v: Array) -> Array:
    """C(q, v) with C v = bias - gravity and Mdot - 2C skew, without differentiating M: V/2.

    For one-degree joints the Christoffel matrix (5.2.10), of which (7.3.3) is twice; for spherical joints, whose
    velocities are not rates of coordinates, the matrix of the same construction.
    """
    weightless = replace(tree, gravity=arrays.zeros(3))
    reached = axes_reach(tree) if q.dtype == object else twists_reach(tree)  # of this tree, which is kept
    return sensitivity(weightless, q, v, arrays.zeros(tree.nv), child_axes=True, reached=reached).V / 2
