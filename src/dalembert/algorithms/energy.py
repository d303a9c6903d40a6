"""Kinetic energy with its gradient, potential energy, momentum, over any scalar."""

from __future__ import annotations

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross, dot
from dalembert.kinematics import link_poses
from dalembert.kinematics.step import steps
from dalembert.model.tree import Tree, gather


def link_velocities(tree: Tree, q: Array, v: Array) -> list[tuple[Array, Array]]:
    """(angular velocity, velocity of the origin) of every link, in its own axes (4.2.15)."""
    step = steps(tree, q)
    at_rest = arrays.zeros(3)
    found: list[tuple[Array, Array]] = []
    for i, link in enumerate(tree.links):
        w_p, sd_p = found[link.parent] if link.parent >= 0 else (at_rest, at_rest)
        rate = tree.speed(link, v)
        w = step[i].to_joint(w_p) + product(link.axes_w, rate)
        sd = step[i].to_joint(sd_p + cross(w_p, step[i].s)) + product(link.axes_v, rate)
        found.append((step[i].to_link(w), step[i].to_link(sd)))
    return found


def kinetic_energy(tree: Tree, q: Array, v: Array) -> Scalar:
    """Sum over the links of m sd.sd/2 + sd.(w x h) + w.I w/2 (PARSA (13))."""
    total: Scalar = 0
    for link, (w, sd) in zip(tree.links, link_velocities(tree, q, v)):
        m, h, I = link.moments.mass, link.moments.first, link.moments.tensor
        total = total + (m * dot(sd, sd) + dot(w, product(I, w))) / 2 + dot(sd, cross(w, h))
    return total


def kinetic_energy_gradient(tree: Tree, q: Array, v: Array) -> Array:
    """dT/dq along tangent vectors, nv, velocities held fixed (PARSA (23)-(25)), in O(n).

    A small dq of a joint displaces all that is beyond it as one rigid body, with its motion relative to the inner link.
    With linear momentum L and angular momentum H about the joint's origin of all that is beyond, angular velocity w_p
    of the inner link and its velocity v_p at that origin,

        dT/dq = (w_p x zw).H + (w_p x zv + v_p x zw).L .
    """
    step, velocities = steps(tree, q), link_velocities(tree, q, v)
    L: list[Array] = []
    H: list[Array] = []
    for link, (w, sd) in zip(tree.links, velocities):
        m, h, I = link.moments.mass, link.moments.first, link.moments.tensor
        L.append(m * sd + cross(w, h))
        H.append(product(I, w) + cross(h, sd))
    slopes: list[Array] = [arrays.zeros(3)] * len(L)
    for i in reversed(range(len(L))):
        link = tree.links[i]
        linear, angular = step[i].from_link(L[i]), step[i].from_link(H[i])
        p = link.parent
        if p < 0:  # the world stands still
            slopes[i] = arrays.zeros(link.nv)
            continue
        w, sd = velocities[p]
        v_p, w_p = step[i].to_joint(sd + cross(w, step[i].s)), step[i].to_joint(w)
        axes = zip(link.axes_w.T, link.axes_v.T)
        slopes[i] = arrays.asarray(
            [dot(cross(w_p, zw), angular) + dot(cross(w_p, zv) + cross(v_p, zw), linear) for zw, zv in axes]
        )
        inward = step[i].from_joint(linear)
        L[p], H[p] = L[p] + inward, H[p] + step[i].from_joint(angular) + cross(step[i].s, inward)
    return gather(tree, slopes)


def potential_energy(tree: Tree, q: Array) -> Scalar:
    """Minus the sum over the links of g.(m p): zero when all mass is at the world's origin (PARSA (26))."""
    total: Scalar = 0
    for link, place in zip(tree.links, link_poses(tree, q)):
        moment = place.rotate(link.moments.first) + link.moments.mass * place.translation
        total = total - dot(tree.gravity, moment)
    return total


def momentum(tree: Tree, q: Array, v: Array) -> tuple[Array, Array]:
    """Linear momentum, and angular momentum about the world's origin, both in world axes."""
    linear = angular = arrays.zeros(3)
    for link, (w, sd), place in zip(tree.links, link_velocities(tree, q, v), link_poses(tree, q)):
        m, h, I = link.moments.mass, link.moments.first, link.moments.tensor
        p = place.rotate(m * sd + cross(w, h))
        linear = linear + p
        angular = angular + place.rotate(product(I, w) + cross(h, sd)) + cross(place.translation, p)
    return linear, angular
