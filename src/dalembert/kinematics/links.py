"""Poses and Jacobians of all links together, for formulations that sum over the bodies."""

from __future__ import annotations

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, Coordinates, product
from dalembert.algebra.vectors import cross
from dalembert.kinematics.step import Step, steps
from dalembert.model.tree import Link, Tree


class LinkMotion:
    """Poses and Jacobians of all links.

    Attributes:
        rotation: W_i, link to inertial axes.
        origin: position of each link's origin, inertial axes.
        angular: Jw_i, 3 x nv, link axes.
    """

    def __init__(self, tree: Tree, q: Coordinates):
        self.tree = tree
        self.rotation: list[Array] = []
        self.origin: list[Array] = []
        self.angular: list[Array] = []
        self._arm: list[Array] = []  # from the parent's origin to the link's, inertial axes
        for link, step in zip(tree.links, steps(tree, list(q))):
            p = link.parent
            arm = step.s if p < 0 else product(self.rotation[p], step.s)
            self._arm.append(arm)
            self.origin.append(arm if p < 0 else self.origin[p] + arm)
            self.rotation.append(_turned(self.rotation[p] if p >= 0 else arrays.identity(3), step))
            self.angular.append(self._angular(link, step))

    def _angular(self, link: Link, step: Step) -> Array:
        """Jw_i = A_i^T Jw_parent + Zw, column by column."""
        J = np.zeros((3, self.tree.nv), dtype=object)
        if link.parent >= 0:
            for j in self._velocities(link.parent):
                J[:, j] = step.outward(arrays.asarray(self.angular[link.parent][:, j].tolist()))
        if link.rotates:
            for k in range(link.nv):
                J[:, link.v + k] = J[:, link.v + k] + link.gain * link.Zw[:, k]
        return J

    def _velocities(self, i: int) -> list[int]:
        """Velocities that turn link i."""
        found = {
            self.tree.links[j].v + k
            for j in self.tree.ancestors[i]
            if self.tree.links[j].rotates
            for k in range(self.tree.links[j].nv)
        }
        return sorted(found)

    def point(self, i: int, r: Array) -> Array:
        """Position of a point fixed in link i; r in link axes."""
        return self.origin[i] + product(self.rotation[i], arrays.asarray(r))

    def linear(self, i: int, r: Array) -> Array:
        """Jv: velocity, in inertial axes, of a point fixed in link i per velocity; r in link axes."""
        J = np.zeros((3, self.tree.nv), dtype=object)
        arm = product(self.rotation[i], arrays.asarray(r))  # from the origin of link j to the point
        for j in self.tree.ancestors[i]:
            link, W = self.tree.links[j], self.rotation[j]
            for k in range(link.nv):
                column = arrays.zeros(3)
                if link.rotates:
                    column = column + cross(product(W, link.Zw[:, k]), arm)
                if link.translates:
                    column = column + product(W, link.Zv[:, k])
                J[:, link.v + k] = J[:, link.v + k] + link.gain * column
            arm = self._arm[j] + arm
        return J


def _turned(W: Array, step: Step) -> Array:
    """W A, row by row: as cheap as carrying three vectors across the joint."""
    return arrays.asarray([step.outward(row).tolist() for row in W])
