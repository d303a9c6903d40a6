"""Operator factorisation of D and its inverse (Rodriguez and Kreutz; THESIS (6.2.18), (6.2.19)).

    D    = (1 + H Phi L) Dh (1 + H Phi L)^T
    D^-1 = (1 - H Psi L)^T Dh^-1 (1 - H Psi L)

with articulated inertias P_i, gains G_i and Dh_i = H_i P_i H_i^T. Spatial quantities (n ; f) at each origin in world
axes. The inverse comes without inverting anything larger than one joint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.vectors import dual
from dalembert.algorithms.choose import refuse_mimic_joints
from dalembert.algorithms.triangular import inverse
from dalembert.errors import SingularityError
from dalembert.kinematics import link_poses
from dalembert.model.tree import Tree, gather_matrix


@dataclass(frozen=True, eq=False)
class OperatorFactors:
    """The factors over links; blocks are keyed (inner link, outer link).

    Args:
        Dh: diagonal blocks H_i P_i H_i^T.
        upper: blocks of H Phi L.
        upper_inverse: blocks of H Psi L.
    """

    tree: Tree
    Dh: list[Array]
    Dh_inverse: list[Array]
    upper: dict[tuple[int, int], Array]
    upper_inverse: dict[tuple[int, int], Array]

    def matrix(self) -> Array:
        """D from its factors."""
        B = _unit_plus(self.tree, self.upper, 1)
        return product(product(B, self._diagonal(self.Dh)), B.T)

    def inverse(self) -> Array:
        """D^-1 from its factors."""
        for link, block in zip(self.tree.links, self.Dh):
            if link.nv and all(scalar.is_zero(x) for x in block.flat):
                raise SingularityError(
                    f"the inertia matrix has no inverse: the joint that carries {link.name!r} moves no mass"
                )
        B = _unit_plus(self.tree, self.upper_inverse, -1)
        return product(product(B.T, self._diagonal(self.Dh_inverse)), B)

    def _diagonal(self, blocks: list[Array]) -> Array:
        return gather_matrix(self.tree, {(i, i): block for i, block in enumerate(blocks)})


def _unit_plus(tree: Tree, blocks: dict[tuple[int, int], Array], sign: int) -> Array:
    return arrays.identity(tree.nv) + sign * gather_matrix(tree, blocks)


def operator_factors(tree: Tree, q: Array) -> OperatorFactors:
    """Factors of the joint-space inertia matrix at ``q``."""
    refuse_mimic_joints(
        tree, "operator-factors", "algorithm='two-sided', for the inverse the kernel mass_matrix_inverse"
    )
    poses = link_poses(tree, q)
    count = len(tree.links)
    H, P, phi = [], [], []
    for i, link in enumerate(tree.links):
        W = poses[i].rotation
        H.append(np.concatenate([product(W, link.Zw), product(W, link.Zv)]).T)
        I = product(product(W, link.moments.tensor), W.T)
        h = dual(product(W, link.moments.first))
        P.append(_spatial(I, h, -h, link.moments.mass * arrays.identity(3)))
        origin = poses[link.parent].translation if link.parent >= 0 else arrays.zeros(3)
        s = dual(poses[i].translation - origin)
        phi.append(_spatial(arrays.identity(3), s, arrays.zeros(3, 3), arrays.identity(3)))
    Dh: list[Array] = [arrays.zeros(1)] * count
    Dh_inverse: list[Array] = [arrays.zeros(1)] * count
    G: list[Array] = [arrays.zeros(1)] * count
    for i in reversed(range(count)):
        PH = product(P[i], H[i].T)
        Dh[i] = product(H[i], PH)
        if all(scalar.is_zero(x) for x in Dh[i].flat):  # moves no mass: P H^T vanishes as well, and any gain will do
            Dh_inverse[i], G[i] = arrays.zeros(*Dh[i].shape), arrays.zeros(*PH.shape)
        else:
            Dh_inverse[i] = inverse(Dh[i])
            G[i] = product(PH, Dh_inverse[i])
        rest = P[i] - product(G[i], PH.T)  # P_i^+ = (1 - G H) P
        p = tree.links[i].parent
        if p >= 0:
            P[p] = P[p] + product(product(phi[i], rest), phi[i].T)
    upper, upper_inverse = {}, {}
    for i in range(count):
        carried = carried_inverse = product(phi[i], G[i])  # block (parent, i) of L
        j = tree.links[i].parent
        while j >= 0:
            upper[j, i] = product(H[j], carried)
            upper_inverse[j, i] = product(H[j], carried_inverse)
            carried = product(phi[j], carried)
            reduced = carried_inverse - product(G[j], product(H[j], carried_inverse))
            carried_inverse = product(phi[j], reduced)
            j = tree.links[j].parent
    return OperatorFactors(tree, Dh, Dh_inverse, upper, upper_inverse)


def _spatial(a: Array, b: Array, c: Array, d: Array) -> Array:
    top = np.concatenate([a.astype(object), b.astype(object)], axis=1)
    bottom = np.concatenate([c.astype(object), d.astype(object)], axis=1)
    return arrays.asarray(np.concatenate([top, bottom]).tolist())
