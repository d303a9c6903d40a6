"""Momentum about the centre of mass (Orin and Goswami 2008), its matrix, and generalised momentum.

    h_G = A_G(q) v = [linear; angular about the centre of mass c], world axes ,     d h_G/dt = A_G a + Adot_G v

Column k of A_G is the momentum that unit velocity k gives to everything beyond its joint: with mass, first moment U and
inertia E of the generalized link (6.3.29), linear = zw x U + m zv and angular = E zw + U x zv, referred to c. The rate
follows from the inertial forces at a = 0, so Adot is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dalembert.algebra import scalar
from dalembert.algebra.inertia import parallel_axes, torque_from_tensor
from dalembert.algebra.scalar import Array, product
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.transform import Transform
from dalembert.algebra.vectors import cross
from dalembert.algorithms.inertia_matrix.generalized_links import cross_moments, generalized_moments
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.algorithms.kinematics import center_of_mass, checked, link_poses
from dalembert.algorithms.step import steps
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
    columns: list[Array] = [scalar.zeros(6)] * tree.nv
    for i, link in enumerate(tree.links):
        W = poses[i].rotation if link.post is None else product(poses[i].rotation, link.post.T)  # moved joint frame
        arm = poses[i].translation - c
        for k in range(link.nv):
            zw, zv = link.axes_w[:, k], link.axes_v[:, k]
            linear = product(W, cross(zw, U[i]) + mass[i] * zv)
            angular = product(W, product(E[i], zw) + cross(U[i], zv)) + cross(arm, linear)
            column = link.gain * scalar.asarray([*linear, *angular])
            columns[link.v + k] = columns[link.v + k] + column
    total = sum(mass[i] for i, link in enumerate(tree.links) if link.parent < 0)
    return Centroidal(
        center=c,
        mass=total,
        matrix=scalar.stack(columns).reshape(tree.nv, 6).T,
        bias=_bias(tree, poses, v, c),
        inertia=_locked_inertia(tree, poses, c),
    )


def centroidal_momentum(mechanism: Mechanism, q: Any, v: Any) -> Array:
    """h_G = [linear momentum; angular momentum about the centre of mass], world axes.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
    """
    return product(centroidal(mechanism, q, v).matrix, scalar.asarray(v))


def generalised_momentum(mechanism: Mechanism, q: Any, v: Any) -> Array:
    """p = M(q) v by inverse dynamics with acceleration v and nothing else: O(n), without forming M.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
    """
    q, v = checked(mechanism, q=q, v=v)
    weightless = replace(mechanism.tree, gravity=scalar.zeros(3))
    return augmented_links(weightless, q, scalar.zeros(mechanism.nv), v)


def _bias(tree: Tree, poses: list[Transform], v: Array, c: Array) -> Array:
    """Sum of the inertial forces at a = 0, and of their moments about c, in world axes."""
    zero = scalar.zeros(3)
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
    return scalar.asarray([*force, *moment])


def _locked_inertia(tree: Tree, poses: list[Transform], c: Array) -> Array:
    """Sum of the links' inertia tensors about c, world axes; no link needs a centre of mass of its own."""
    total = scalar.zeros(3, 3)
    for link, place in zip(tree.links, poses):
        if link.moments.is_zero:
            continue
        W, d = place.rotation, place.translation - c
        turned = product(product(W, link.moments.tensor), W.T)
        h = product(W, link.moments.first)
        total = total + parallel_axes(turned, link.moments.mass, d) - cross_moments(d, h)
    return total
