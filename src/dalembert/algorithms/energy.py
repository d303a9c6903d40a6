"""Kinetic and potential energy, momentum, over any scalar."""

from __future__ import annotations

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross, dot
from dalembert.kinematics import link_poses
from dalembert.kinematics.step import steps
from dalembert.model.tree import Tree


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
    """Sum over the links of m sd.sd/2 + sd.(w x h) + w.I w/2 (PARSA (12))."""
    total: Scalar = 0
    for link, (w, sd) in zip(tree.links, link_velocities(tree, q, v)):
        m, h, I = link.moments.mass, link.moments.first, link.moments.tensor
        total = total + (m * dot(sd, sd) + dot(w, product(I, w))) / 2 + dot(sd, cross(w, h))
    return total


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
