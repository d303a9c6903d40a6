"""Sensitivities of inverse dynamics: D, V, P (THESIS (7.3.1)-(7.3.4), Algorithms 7.1 and 7.2), in propagation form.

    d tau = D da + V dv + P dq

for trees and all elementary joints. ``dq`` is a tangent vector: the displacement that velocity dv would make in unit
time, so a quaternion joint contributes three columns, not four.

Instead of forming the vectors of Algorithm 7.1 for every pair of joints, the wrench that a unit variation of joint i
causes is carried inwards joint by joint (upper halves), and with it the covector that reads the effect of inner joints
on joint i (lower halves). A joint of several degrees needs one care: along dq its axes are fixed in the *parent*
(otherwise v would change), along dv they are fixed in the *child*; for a single axis that is the same.

L_i = sum of m p~ pd~ over all mass beyond i splits into a symmetric and a skew part,

    L = N + 1/2 c~ ,    N = -1/2 dE/dt (relative to o_i, link axes),    c = sum of m p x pd ,

so that carrying it across a joint costs a symmetric tensor and a vector (12 M 9 A a plane turn) instead of a full
tensor (24 M 12 A).
"""

from __future__ import annotations

from dataclasses import dataclass

from dalembert.algebra import scalar
from dalembert.algebra.inertia import inertia_from_pseudo, torque_from_tensor
from dalembert.algebra.scalar import Array, Scalar, product
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.vectors import cross, dot
from dalembert.algorithms.inertia_matrix.generalized_links import cross_moments
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_moments
from dalembert.algorithms.loads import Loads
from dalembert.algorithms.step import Step, steps
from dalembert.model.tree import Tree, gather, gather_matrix


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Inverse dynamics with its derivatives.

    Args:
        tau: generalised forces.
        D: derivative with respect to accelerations, the inertia matrix.
        V: derivative with respect to velocities; twice the Christoffel Coriolis matrix for one-degree joints.
        P: derivative with respect to positions, along tangent vectors.
    """

    tau: Array
    D: Array
    V: Array
    P: Array


@dataclass(eq=False)
class _Motion:
    """Outward quantities of every link, in its own axes."""

    w: list[Array]
    Om: list[Array]
    w_parent: list[Array]  # angular velocity of the parent, in the link's axes
    Om_parent: list[Array | None]  # its angular acceleration tensor, in the parent's axes
    sdd: list[Array]
    zeta: list[Array]
    sd: list[Array]  # rate of the vector from the parent's origin, parent's axes


def sensitivity(tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None) -> Sensitivity:
    """tau, D, V and P at one state; loads are constant in the axes of the links they act on."""
    step = steps(tree, q)
    mass, u, K = augmented_moments(tree, step)
    motion = _outward(tree, step, v, a)
    f, eta = _wrenches(tree, step, motion, mass, u, K, loads)
    U, E, Ud, N, c = _generalized(tree, step, motion, mass, u, K)
    D: dict[tuple[int, int], Array] = {}
    V: dict[tuple[int, int], Array] = {}
    P: dict[tuple[int, int], Array] = {}
    axis_rates = [_axis_rates(tree, i, step, motion) for i in range(len(tree.links))]
    for i, link in enumerate(tree.links):
        columns = []
        for k in range(link.nv):
            zw, zv = link.Zw[:, k], link.Zv[:, k]
            zdw, zdw_both, zddw, zdv, zddv = axis_rates[i][k]
            eta_D = product(E[i], zw) + cross(U[i], zv)
            f_D = cross(zw, U[i]) + mass[i] * zv
            half = cross(c[i], zw) / 2
            N_z = product(N[i], zw)
            lam = N_z - half - cross(Ud[i], zv)  # L^T z
            eta_V = product(E[i], zdw_both) - 2 * (N_z + half) + 2 * cross(U[i], zdv)
            f_V = cross(zdw_both, U[i]) + 2 * (cross(zw, Ud[i]) + mass[i] * zdv)
            lift = cross(motion.sdd[i], zw)
            eta_P = product(E[i], zddw) - 2 * _L(N[i], c[i], zdw) + cross(U[i], lift + zddv)
            f_P = cross(zddw, U[i]) + 2 * cross(zdw, Ud[i]) + mass[i] * (lift + zddv)
            columns.append([eta_D, f_D, lam, eta_V, f_V, eta_P, f_P])
        D[i, i], V[i, i], P[i, i] = (_rows(link, columns, at) for at in (0, 3, 5))
        _carry_inwards(tree, i, columns, step, motion, axis_rates, f[i], eta[i], (D, V, P))
    tau = [product(link.Zw.T, eta[i]) + product(link.Zv.T, f[i]) for i, link in enumerate(tree.links)]
    return Sensitivity(gather(tree, tau), *(gather_matrix(tree, blocks) for blocks in (D, V, P)))


def _L(N: Array, c: Array, x: Array) -> Array:
    return product(N, x) + cross(c, x) / 2


def _rows(row, columns: list[list[Array]], at: int) -> Array:
    """Project wrenches (moment at index ``at``, force next to it) on the joint axes of ``row``."""
    return scalar.asarray(
        [[dot(row.Zw[:, r], c[at]) + dot(row.Zv[:, r], c[at + 1]) for c in columns] for r in range(row.nv)]
    )


def _outward(tree: Tree, step: list[Step], v: Array, a: Array) -> _Motion:
    """Forward recursion (5.3.45a-e), with the rates of the joint vectors."""
    m = _Motion([], [], [], [], [], [], [])
    wd: list[Array] = []
    at_rest = scalar.zeros(3)
    for i, link in enumerate(tree.links):
        p, out = link.parent, step[i].outward
        w_p, wd_p, sdd_p = (m.w[p], wd[p], m.sdd[p]) if p >= 0 else (at_rest, at_rest, -tree.gravity)
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        turn, slide = product(link.Zw, rate), product(link.Zv, rate)
        wi = out(w_p)
        m.w_parent.append(wi)
        m.Om_parent.append(m.Om[p] if p >= 0 else None)
        m.w.append(wi + turn)
        wd.append(out(wd_p) + cross(wi, turn) + product(link.Zw, acceleration))
        m.Om.append(angular_acceleration_tensor(m.w[i], wd[i]))
        m.zeta.append(2 * cross(wi, slide) + product(link.Zv, acceleration))
        m.sdd.append(out(sdd_p + product(m.Om[p], step[i].s) if p >= 0 else sdd_p) + m.zeta[i])
        moved = cross(w_p, step[i].s)
        m.sd.append(moved + step[i].inward(slide) if link.translates else moved)
    return m


def _wrenches(
    tree: Tree, step: list[Step], m: _Motion, mass: list[Scalar], u: list[Array], K: list[Array], loads: Loads
) -> tuple[list[Array], list[Array]]:
    """Backward recursion (5.3.46): force and moment at each joint."""
    count = len(tree.links)
    Udd = [product(m.Om[i], u[i]) for i in range(count)]
    eta = [torque_from_tensor(m.Om[i], K[i]) + cross(u[i], m.sdd[i]) for i in range(count)]
    external: list[Array] = [scalar.zeros(3)] * count
    for i in reversed(range(count)):
        if loads and loads[i] is not None:
            force, moment = loads[i]  # type: ignore[misc]
            external[i], eta[i] = external[i] + force, eta[i] - moment
        p = tree.links[i].parent
        if p < 0:
            continue
        B = step[i].inward(Udd[i] + mass[i] * m.zeta[i] if tree.links[i].translates else Udd[i])
        Udd[p] = Udd[p] + B
        if loads:
            pulled = step[i].inward(external[i])
            external[p], B = external[p] + pulled, B - pulled
        eta[p] = eta[p] + cross(step[i].s, B) + step[i].inward(eta[i])
    f = [mass[i] * m.sdd[i] + Udd[i] - external[i] for i in range(count)]
    return f, eta


def _generalized(
    tree: Tree, step: list[Step], m: _Motion, mass: list[Scalar], u: list[Array], K: list[Array]
) -> tuple[list[Array], list[Array], list[Array], list[Array], list[Array]]:
    """Algorithm 7.2: U, E, their rates' ingredients Ud, N and c of each link with all beyond it (7.3.14)."""
    count = len(tree.links)
    U = list(u)
    E = [inertia_from_pseudo(k) for k in K]
    Ud, N, c = [], [], []
    for i in range(count):
        w = m.w[i]
        Ud.append(cross(w, u[i]))
        spin = scalar.stack([cross(w, K[i][:, k]) for k in range(3)]).T  # w~ Kh
        N.append((spin + spin.T) / 2)
        c.append(scalar.asarray([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]]))
    for i in reversed(range(count)):
        link = tree.links[i]
        p = link.parent
        if p < 0:
            continue
        s, sd, into = step[i].s, m.sd[i], step[i].inward
        U_i, Ud_i = into(U[i]), into(Ud[i])
        U[p] = U[p] + U_i
        E[p] = E[p] + step[i].inward_symmetric(E[i]) - cross_moments(s, U_i)
        Ud[p] = Ud[p] + Ud_i
        # s~ Ud~ + U~ sd~ split: 1/2 (s~ Ud~ + Ud~ s~ + U~ sd~ + sd~ U~) and 1/2 (s x Ud + U x sd)~
        N[p] = N[p] + step[i].inward_symmetric(N[i]) + (cross_moments(s, Ud_i) + cross_moments(sd, U_i)) / 2
        c[p] = c[p] + into(c[i]) + cross(s, Ud_i) + cross(U_i, sd)
        if link.translates and not scalar.is_zero(mass[i]):  # the augmented point mass slides along with the joint
            slide = sd - cross(m.w[p], s)
            Ud[p] = Ud[p] + mass[i] * slide
            N[p] = N[p] + mass[i] * cross_moments(s, slide) / 2
            c[p] = c[p] + mass[i] * cross(s, slide)
    return U, E, Ud, N, c


def _axis_rates(tree: Tree, i: int, step: list[Step], m: _Motion) -> list[tuple[Array, ...]]:
    """For each column: zd, zd(parent) + zd(child), zdd of the rotation axis, zd and zdd of the translation axis."""
    link = tree.links[i]
    rates = []
    for k in range(link.nv):
        zw, zv = link.Zw[:, k], link.Zv[:, k]
        Om = m.Om_parent[i]

        def second(z: Array, Om: Array | None = Om) -> Array:
            return scalar.zeros(3) if Om is None else step[i].outward(product(Om, step[i].inward(z)))

        if link.kind == "spherical":
            zdw = cross(m.w_parent[i], zw)
            zdw_both, zddw = zdw + cross(m.w[i], zw), second(zw)
        elif link.rotates:  # one axis, fixed in parent and child alike: use the child's own Om
            zdw = cross(m.w[i], zw)
            zdw_both, zddw = 2 * zdw, product(m.Om[i], zw)
        else:
            zdw = zdw_both = zddw = scalar.zeros(3)
        zdv = cross(m.w_parent[i], zv) if link.translates else scalar.zeros(3)
        zddv = product(m.Om[i], zv) if link.translates else scalar.zeros(3)
        rates.append((zdw, zdw_both, zddw, zdv, zddv))
    return rates


def _carry_inwards(tree, i, columns, step, m, axis_rates, f_i, eta_i, blocks) -> None:
    """Entries between joint i and every joint inside it, both halves of V and P."""
    D, V, P = blocks
    link = tree.links[i]
    j = i
    while tree.links[j].parent >= 0:
        for k, column in enumerate(columns):
            eta_D, f_D, lam, eta_V, f_V, eta_P, f_P = column
            if j == i:  # the frame of link i itself moves with dq
                zw = link.Zw[:, k]
                eta_P, f_P = eta_P + cross(zw, eta_i), f_P + cross(zw, f_i)
                if link.translates:
                    eta_P = eta_P + cross(link.Zv[:, k], f_i)
            eta_D, f_D, lam, eta_V, f_V, eta_P, f_P = (
                step[j].inward(x) for x in (eta_D, f_D, lam, eta_V, f_V, eta_P, f_P)
            )
            s = step[j].s
            columns[k] = [
                eta_D + cross(s, f_D),
                f_D,
                lam - cross(m.sd[j], f_D),
                eta_V + cross(s, f_V),
                f_V,
                eta_P + cross(s, f_P),
                f_P,
            ]
        j = tree.links[j].parent
        inner = tree.links[j]
        D[j, i], V[j, i], P[j, i] = (_rows(inner, columns, at) for at in (0, 3, 5))
        D[i, j] = D[j, i].T
        lower_V: list[list[Scalar]] = []
        lower_P: list[list[Scalar]] = []
        for eta_D, f_D, lam, *_ in columns:
            row_V, row_P = [], []
            for k in range(inner.nv):
                zw = inner.Zw[:, k]
                zdw, zdw_both, zddw, zdv, zddv = axis_rates[j][k]
                row_V.append(dot(eta_D, zdw_both) - 2 * dot(lam, zw) + 2 * dot(f_D, zdv))
                row_P.append(dot(eta_D, zddw) - 2 * dot(lam, zdw) + dot(f_D, cross(m.sdd[j], zw) + zddv))
            lower_V.append(row_V)
            lower_P.append(row_P)
        V[i, j], P[i, j] = scalar.asarray(lower_V), scalar.asarray(lower_P)
