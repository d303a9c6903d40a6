"""Weight from first moments: what holds a mechanism still needs neither forces nor moments carried from link to link.

The moment of weight about a joint is U x g, with U the first moment of everything beyond it. Only U is carried inwards
and g outwards; a component that no joint feels, such as all of it about a vertical first axis, is never formed.
"""

from __future__ import annotations

from dalembert.algebra.arrays import Array, product
from dalembert.algebra.vectors import cross
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_moments
from dalembert.kinematics.step import steps
from dalembert.model.tree import Tree, gather


def weight(tree: Tree, q: Array) -> Array:
    """Generalised forces that hold the mechanism still against gravity."""
    step = steps(tree, q)
    mass, U, _ = augmented_moments(tree, step)
    g: list[Array] = []  # in the axes of each link
    for i, link in enumerate(tree.links):
        g.append(step[i].outward(g[link.parent] if link.parent >= 0 else tree.gravity))
    tau: list[Array] = []
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        moment, force = step[i].from_link(cross(g[i], U[i])), step[i].from_link(-mass[i] * g[i])
        tau.append(product(link.axes_w.T, moment) + product(link.axes_v.T, force))
        if link.parent >= 0:
            U[link.parent] = U[link.parent] + step[i].inward(U[i])
    return gather(tree, tau[::-1])
