"""Momentum about the centre of mass (Orin and Goswami 2008), its matrix, and generalised momentum.

    h_G = A_G(q) v = [linear; angular about the centre of mass c], world axes ,     d h_G/dt = A_G a + Adot_G v

Column k of A_G is the momentum that unit velocity k gives to everything beyond its joint: with mass, first moment U and
inertia E of the generalized link (6.3.29), linear = zw x U + m zv and angular = E zw + U x zv, referred to c. Adot v
follows from the inertial forces at a = 0, without Adot; :func:`centroidal_matrix_rate` gives Adot itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import inertia_from_pseudo, parallel_axes, torque_from_tensor
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross, dual, dyad
from dalembert.algorithms.energy import link_velocities
from dalembert.algorithms.inertia_matrix.generalized_links import cross_moments, generalized_moments
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.kinematics import center_of_mass, checked, link_poses
from dalembert.kinematics.step import steps
from dalembert.model import Mechanism, Tree


@dataclass(frozen=True, eq=False)
class Centroidal:
    """The mechanism as one body at its centre of mass; world axes throughout, linear part first.

    Args:
        center: centre of mass in the world, m.
        mass: total moving mass, kg.
        matrix: A_G, 6 x nv.
        bias: Adot_G v, 6: the rate of momentum at zero acceleration.
        inertia: rotational inertia of the locked mechanism about its centre of mass, 3 x 3.
    """

    center: Array
    mass: Any
    matrix: Array
    bias: Array
    inertia: Array


def centroidal(mechanism: Mechanism, q: Any, v: Any) -> Centroidal:
    """Centroidal momentum matrix, its rate times v, and the locked inertia.

    Args:
        mechanism: the mechanism; something that moves must have mass.
        q: positions, nq.
        v: velocities, nv; only the bias depends on them.
    """
    q, v = checked(mechanism, q=q, v=v)
    tree = mechanism.tree
    c = center_of_mass(mechanism, q)
    poses, step = link_poses(tree, q), steps(tree, q)
    mass, U, E = generalized_moments(tree, step)
    columns: list[Array] = [arrays.zeros(6)] * tree.nv
    for i, link in enumerate(tree.links):
        W = poses[i].rotation if link.post is None else product(poses[i].rotation, link.post.T)  # moved joint frame
        arm = poses[i].translation - c
        for k in range(link.nv):
            zw, zv = link.axes_w[:, k], link.axes_v[:, k]
            linear = product(W, cross(zw, U[i]) + mass[i] * zv)
            angular = product(W, product(E[i], zw) + cross(U[i], zv)) + cross(arm, linear)
            column = link.gain * arrays.asarray([*linear, *angular])
            columns[link.v + k] = columns[link.v + k] + column
    total = sum(mass[i] for i, link in enumerate(tree.links) if link.parent < 0)
    return Centroidal(
        center=c,
        mass=total,
        matrix=arrays.stack(columns).reshape(tree.nv, 6).T,
        bias=_bias(tree, poses, v, c),
        inertia=_locked_inertia(tree, poses, c),
    )


def centroidal_matrix_rate(mechanism: Mechanism, q: Any, v: Any) -> Array:
    """Adot_G, the time derivative of the centroidal momentum matrix, 6 x nv.

    Each column is differentiated as it stands, with moments about the point where the centre of mass is now,

        vP = zv + r x zw ,    linear = m vP + zw x H ,    angular = E zw + H x vP - (c - P) x linear .

    Args:
        mechanism: the mechanism; something that moves must have mass.
        q: positions, nq.
        v: velocities, nv.
    """
    q, v = checked(mechanism, q=q, v=v)
    tree = mechanism.tree
    c = center_of_mass(mechanism, q)
    poses = link_poses(tree, q)
    w, od, arms = [], [], [place.translation - c for place in poses]
    mass, H, Hd, S, Sd = [], [], [], [], []  # zeroth, first and second moments about P of each link, and their rates
    for link, place, r, (turning, moving) in zip(tree.links, poses, arms, link_velocities(tree, q, v)):
        w.append(place.rotate(turning))
        od.append(place.rotate(moving))
        m, h = link.moments.mass, place.rotate(link.moments.first)
        J = product(product(place.rotation, link.moments.second), place.rotation.T)
        hd = cross(w[-1], h)
        half = product(dual(w[-1]), J) + dyad(hd, r) + dyad(od[-1], m * r + h)
        mass.append(m)
        H.append(m * r + h)
        Hd.append(m * od[-1] + hd)
        S.append(J + dyad(h, r) + dyad(r, h) + m * dyad(r, r))
        Sd.append(half + half.T)
    for i in reversed(range(len(tree.links))):
        p = tree.links[i].parent
        if p >= 0:
            for moments in (mass, H, Hd, S, Sd):
                moments[p] = moments[p] + moments[i]
    roots = [i for i, link in enumerate(tree.links) if link.parent < 0]
    cd = sum((Hd[i] for i in roots), arrays.zeros(3)) / sum(mass[i] for i in roots)
    columns: list[Array] = [arrays.zeros(6)] * tree.nv
    for i, link in enumerate(tree.links):
        r, E, Ed = arms[i], inertia_from_pseudo(S[i]), inertia_from_pseudo(Sd[i])
        for k in range(link.nv):
            zw, zv = poses[i].rotate(link.Zw[:, k]), poses[i].rotate(link.Zv[:, k])
            zwd = cross(w[i], zw)
            vP, vPd = zv + cross(r, zw), cross(w[i], zv) + cross(od[i], zw) + cross(r, zwd)
            linear = mass[i] * vPd + cross(zwd, H[i]) + cross(zw, Hd[i])
            angular = product(Ed, zw) + product(E, zwd) + cross(Hd[i], vP) + cross(H[i], vPd)
            angular = angular - cross(cd, mass[i] * vP + cross(zw, H[i]))
            columns[link.v + k] = columns[link.v + k] + link.gain * arrays.asarray([*linear, *angular])
    return arrays.stack(columns).reshape(tree.nv, 6).T


def centroidal_momentum(mechanism: Mechanism, q: Any, v: Any) -> Array:
    """h_G = [linear momentum; angular momentum about the centre of mass], world axes."""
    return product(centroidal(mechanism, q, v).matrix, arrays.asarray(v))


def generalised_momentum(mechanism: Mechanism, q: Any, v: Any) -> Array:
    """p = M(q) v by inverse dynamics with acceleration v and nothing else: O(n), without forming M."""
    q, v = checked(mechanism, q=q, v=v)
    weightless = replace(mechanism.tree, gravity=arrays.zeros(3))
    return augmented_links(weightless, q, arrays.zeros(mechanism.nv), v)


def _bias(tree: Tree, poses: list[Transform], v: Array, c: Array) -> Array:
    """Sum of the inertial forces at a = 0, and of their moments about c, in world axes."""
    zero = arrays.zeros(3)
    motions: list[tuple[Array, Array, Array]] = []  # w, wd, acceleration of the origin, world axes
    force = moment = zero
    for i, link in enumerate(tree.links):
        w_p, wd_p, sdd_p = motions[link.parent] if link.parent >= 0 else (zero, zero, zero)
        W, o = poses[i].rotation, poses[i].translation
        arm = o - (poses[link.parent].translation if link.parent >= 0 else zero)
        rate = tree.speed(link, v)
        turn, slide = product(W, product(link.Zw, rate)), product(W, product(link.Zv, rate))
        sdd = sdd_p + cross(wd_p, arm) + cross(w_p, cross(w_p, arm) + 2 * slide)
        w, wd = w_p + turn, wd_p + cross(w_p, turn)
        motions.append((w, wd, sdd))
        if link.moments.is_zero:
            continue
        m, h = link.moments.mass, product(W, link.moments.first)
        J = product(product(W, link.moments.second), W.T)
        Om = angular_acceleration_tensor(w, wd)
        f = m * sdd + product(Om, h)
        about_origin = torque_from_tensor(Om, J, w) + cross(h, sdd)
        force, moment = force + f, moment + about_origin + cross(o - c, f)
    return arrays.asarray([*force, *moment])


def _locked_inertia(tree: Tree, poses: list[Transform], c: Array) -> Array:
    """Sum of the links' inertia tensors about c, world axes; no link needs a centre of mass of its own."""
    total = arrays.zeros(3, 3)
    for link, place in zip(tree.links, poses):
        if link.moments.is_zero:
            continue
        W, d = place.rotation, place.translation - c
        turned = product(product(W, link.moments.tensor), W.T)
        h = product(W, link.moments.first)
        total = total + parallel_axes(turned, link.moments.mass, d) - cross_moments(d, h)
    return total
