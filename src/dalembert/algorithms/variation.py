"""One variation of inverse and forward dynamics in O(n), without matrices (THESIS 7.2.2, Lemmas C-5 to C-12).

Given a state and small changes dq, dv, da of it, Algorithm 5.5 is differentiated line by line:

    d tau = D da + V dv + P dq                    d a = D^-1 (d tau - V dv - P dq)

at about three times the cost of one evaluation, where D, V and P together cost O(n^2). With unit changes the variations
of the link quantities are what Lemmas C-5 to C-12 give for one joint, here for trees and all elementary joints.

Everything of link i is in its own axes, and so are the variations: the derivatives of components. If a joint turns its
outer link by dtheta against its inner one, components that are carried outwards change by

    d (A^T u) = A^T du + (A^T u) x dtheta ,        those carried inwards by        d (A u) = A (du + dtheta x u) .
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import torque_from_tensor
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.vectors import cross, dual, dyad
from dalembert.algorithms.forward_dynamics.articulated_body import articulated_body
from dalembert.algorithms.forward_dynamics.factor_and_solve import factor_and_solve
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_moments
from dalembert.algorithms.loads import Loads, loads_on_links
from dalembert.kinematics import checked
from dalembert.kinematics.step import Step, steps
from dalembert.model import Mechanism, Tree
from dalembert.model.tree import gather


@dataclass(frozen=True, eq=False)
class LinkQuantities:
    """What Algorithm 5.5 computes of every link, in the link's own axes; or the variations of all of that.

    Args:
        w: angular velocities w_i.
        wd: their derivatives.
        Om: angular acceleration tensors Om_i = wd~ + w~ w~.
        sdd: accelerations of the origins, gravity taken off.
        mu: moments mu_i of the augmented links (5.3.45f).
        Udd: second rates of the first moments of the generalized links, Uddot_i (5.3.46a).
        f: forces f_i = mbar_i sdd_i + Uddot_i that the joints transmit (5.3.38), external loads taken off.
        eta: moments eta_i about the origins that they transmit (5.3.46b).
        tau: generalised forces, nv.
    """

    w: list[Array]
    wd: list[Array]
    Om: list[Array]
    sdd: list[Array]
    mu: list[Array]
    Udd: list[Array]
    f: list[Array]
    eta: list[Array]
    tau: Array


def inverse_dynamics_variation(
    mechanism: Mechanism,
    q: Any,
    v: Any,
    a: Any,
    dq: Any,
    dv: Any,
    da: Any,
    *,
    wrenches: Mapping[str, Any] | None = None,
) -> tuple[LinkQuantities, LinkQuantities]:
    """Quantities of all links and the generalised forces, and their variations along one change of the state.

    Armature, damping and friction are not part of it.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        a: accelerations, nv.
        dq: change of the positions, a tangent vector: what a velocity would do in unit time, nv.
        dv: change of the velocities, nv.
        da: change of the accelerations, nv.
        wrenches: frame name -> ``[force; moment]`` acting on it, constant in frame axes, about the frame's origin.
    """
    q, v, a = checked(mechanism, q=q, v=v, a=a)
    dq, dv, da = checked(mechanism, dq=dq, dv=dv, da=da)
    return varied(mechanism.tree, q, v, a, dq, dv, da, loads_on_links(mechanism, wrenches))


def forward_dynamics_variation(
    mechanism: Mechanism,
    q: Any,
    v: Any,
    a: Any,
    dq: Any,
    dv: Any,
    dtau: Any,
    *,
    wrenches: Mapping[str, Any] | None = None,
) -> Array:
    """The change of the accelerations along one change of positions, velocities and generalised forces.

    Armature, damping and friction are not part of it.

    Args:
        mechanism: the mechanism; every joint must move something that has mass.
        q: positions, nq.
        v: velocities, nv.
        a: the accelerations that forward dynamics gives there, nv.
        dq: change of the positions, a tangent vector, nv.
        dv: change of the velocities, nv.
        dtau: change of the generalised forces, nv.
        wrenches: frame name -> ``[force; moment]`` acting on it, constant in frame axes, about the frame's origin.
    """
    q, v, a = checked(mechanism, q=q, v=v, a=a)
    dq, dv, dtau = checked(mechanism, dq=dq, dv=dv, dtau=dtau)
    still = arrays.zeros(mechanism.nv)
    _, change = varied(mechanism.tree, q, v, a, dq, dv, still, loads_on_links(mechanism, wrenches))
    return accelerations_of(mechanism.tree, q, dtau - change.tau)


def accelerations_of(tree: Tree, q: Array, tau: Array, armature: Array | None = None) -> Array:
    """D^-1 tau: articulated bodies at rest, without weight, in O(n).

    With mimic joints, which share velocities, articulated bodies do not exist and D is factored.
    """
    return solver_of(tree)(replace(tree, gravity=arrays.zeros(3)), q, arrays.zeros(tree.nv), tau, None, armature)


def solver_of(tree: Tree) -> Callable[..., Array]:
    """Articulated bodies, or for mimic joints the factored inertia matrix."""
    independent = len({link.v for link in tree.links}) == len(tree.links)
    return articulated_body if independent else factor_and_solve


def varied(
    tree: Tree, q: Array, v: Array, a: Array, dq: Array, dv: Array, da: Array, loads: Loads = None
) -> tuple[LinkQuantities, LinkQuantities]:
    """Algorithm 5.5 with its variation, line by line.

    Args:
        dq: change of the positions, a tangent vector.
        dv: change of the velocities.
        da: change of the accelerations.
        loads: external loads, constant in the axes of the links they act on.
    """
    step, count, none = steps(tree, q), len(tree.links), arrays.zeros(3)
    mass, u, K = augmented_moments(tree, step)
    turned = [product(link.axes_w, tree.speed(link, dq)) for link in tree.links]  # dtheta, moved joint frame
    ds = [step[i].from_joint(product(link.axes_v, tree.speed(link, dq))) for i, link in enumerate(tree.links)]
    du, dK = _varied_moments(tree, step, mass, ds)
    x, d = (LinkQuantities([], [], [], [], [], [none] * count, [none] * count, [none] * count, none) for _ in range(2))
    zeta, dzeta = [], []
    for i, link in enumerate(tree.links):
        p, out, settle, dtheta = link.parent, step[i].to_joint, step[i].to_link, turned[i]
        at_rest = (none, none, arrays.zeros(3, 3), -tree.gravity)
        w_p, wd_p, Om_p, sdd_p = (x.w[p], x.wd[p], x.Om[p], x.sdd[p]) if p >= 0 else at_rest
        dw_p, dwd_p, dOm_p, dsdd_p = (d.w[p], d.wd[p], d.Om[p], d.sdd[p]) if p >= 0 else (none, none, at_rest[2], none)
        rate, acceleration, drate, dacceleration = (tree.speed(link, y) for y in (v, a, dv, da))
        turn, slide, dturn, dslide = (product(axes, y) for y in (rate, drate) for axes in (link.axes_w, link.axes_v))
        wi, wdi = out(w_p), out(wd_p)
        dwi, dwdi = out(dw_p) + cross(wi, dtheta), out(dwd_p) + cross(wdi, dtheta)
        x.w.append(settle(wi + turn))  # (5.3.45a)
        d.w.append(settle(dwi + dturn))
        x.wd.append(settle(wdi + cross(wi, turn) + product(link.axes_w, acceleration)))  # (b)
        d.wd.append(settle(dwdi + cross(dwi, turn) + cross(wi, dturn) + product(link.axes_w, dacceleration)))
        x.Om.append(angular_acceleration_tensor(x.w[i], x.wd[i]))  # (c)
        d.Om.append(_varied_tensor(x.w[i], d.w[i], d.wd[i]))
        zeta.append(2 * cross(wi, slide) + product(link.axes_v, acceleration))  # (d)
        dzeta.append(2 * (cross(dwi, slide) + cross(wi, dslide)) + product(link.axes_v, dacceleration))
        moved = out(sdd_p + product(Om_p, step[i].s))
        dmoved = out(dsdd_p + product(dOm_p, step[i].s) + product(Om_p, ds[i])) + cross(moved, dtheta)
        x.sdd.append(settle(moved + zeta[i]))  # (e)
        d.sdd.append(settle(dmoved + dzeta[i]))
        x.mu.append(torque_from_tensor(x.Om[i], K[i], x.w[i]))  # (f)
        d.mu.append(_varied_torque(x.Om[i], d.Om[i], K[i], dK[i]))
    force, dforce = [none] * count, [none] * count  # external, of the link and all beyond it
    tau, dtau = [none] * count, [none] * count
    for i in range(count):
        x.Udd[i], d.Udd[i] = product(x.Om[i], u[i]), product(d.Om[i], u[i]) + product(x.Om[i], du[i])
        x.eta[i] = x.mu[i] + cross(u[i], x.sdd[i])
        d.eta[i] = d.mu[i] + cross(du[i], x.sdd[i]) + cross(u[i], d.sdd[i])
        if loads and loads[i] is not None:
            force[i], moment = loads[i]  # type: ignore[misc]
            x.eta[i] = x.eta[i] - moment
    for i in reversed(range(count)):
        link, s, dtheta, back = tree.links[i], step[i].s, turned[i], step[i].from_link
        x.f[i] = mass[i] * x.sdd[i] + x.Udd[i] - force[i]
        d.f[i] = mass[i] * d.sdd[i] + d.Udd[i] - dforce[i]
        eta, deta = back(x.eta[i]), back(d.eta[i])
        tau[i] = product(link.axes_w.T, eta) + product(link.axes_v.T, back(x.f[i]))  # (5.3.46c)
        dtau[i] = product(link.axes_w.T, deta) + product(link.axes_v.T, back(d.f[i]))
        p = link.parent
        if p < 0:
            continue
        outer = back(x.Udd[i] - force[i]) + mass[i] * zeta[i]
        douter = back(d.Udd[i] - dforce[i]) + mass[i] * dzeta[i] + cross(dtheta, outer)
        B, dB = step[i].from_joint(outer), step[i].from_joint(douter)
        pull, dpull = back(force[i]), back(dforce[i])
        pulled, dpulled = step[i].from_joint(pull), step[i].from_joint(dpull + cross(dtheta, pull))
        x.Udd[p], d.Udd[p] = x.Udd[p] + B + pulled, d.Udd[p] + dB + dpulled  # (a)
        force[p], dforce[p] = force[p] + pulled, dforce[p] + dpulled
        x.eta[p] = x.eta[p] + cross(s, B) + step[i].from_joint(eta)  # (b)
        d.eta[p] = d.eta[p] + cross(ds[i], B) + cross(s, dB) + step[i].from_joint(deta + cross(dtheta, eta))
    return replace(x, tau=gather(tree, tau)), replace(d, tau=gather(tree, dtau))


def _varied_moments(tree: Tree, step: list[Step], mass: list[Any], ds: list[Array]) -> tuple[list[Array], list[Array]]:
    """Changes of u_i and of the pseudo-inertias of the augmented links, whose outer masses slide along with joints."""
    du, dK = [arrays.zeros(3)] * len(step), [arrays.zeros(3, 3)] * len(step)
    for i, link in enumerate(tree.links):
        p = link.parent
        if p >= 0 and link.translates:
            half = dyad(mass[i] * ds[i], step[i].s)
            du[p], dK[p] = du[p] + mass[i] * ds[i], dK[p] + half + half.T
    return du, dK


def _varied_tensor(w: Array, dw: Array, dwd: Array) -> Array:
    """d Om = dwd~ + dw~ w~ + w~ dw~, with u~ v~ = v u^T - (u.v) 1."""
    half = dyad(w, dw)
    twice = 2 * (w[0] * dw[0] + w[1] * dw[1] + w[2] * dw[2])
    return dual(dwd) + half + half.T - arrays.identity(3) * twice


def _varied_torque(Om: Array, dOm: Array, K: Array, dK: Array) -> Array:
    """d mu, mu = dual(Om K - (Om K)^T), for a pseudo-inertia K."""
    T = product(dOm, K) + product(Om, dK)
    return arrays.asarray([T[2, 1] - T[1, 2], T[0, 2] - T[2, 0], T[1, 0] - T[0, 1]])
