"""The inertia matrix entry by entry (THESIS (6.3.42)-(6.3.46)), in world axes.

    d_ji = z_j . [ sum over k >= i of (I_Ck - m_k r_jk~ r_ik~) ] z_i = z_j . [ E_i - s_ji~ U_i~ ] z_i ,    j <= i,

for revolute joints. With prismatic ones, too, the force f = z x U + m zv and the moment eta = E z + U x zv of
joint i are read by all joints inside it. No recursion from joint to joint: every entry stands for itself.
"""

from __future__ import annotations

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import inertia_from_pseudo
from dalembert.algebra.vectors import cross, dot, dyad
from dalembert.kinematics import link_poses
from dalembert.model.tree import Tree, gather_matrix


def closed_form(tree: Tree, q: Array) -> Array:
    """Joint-space inertia matrix D(q), nv x nv."""
    places = link_poses(tree, q)
    blocks: dict[tuple[int, int], Array] = {}
    for i, link in enumerate(tree.links):
        mass, U, J = 0, arrays.zeros(3), arrays.zeros(3, 3)  # of all mass beyond joint i, about its origin
        for k, body in enumerate(tree.links):
            if i not in tree.ancestors[k]:
                continue
            m, R, s = body.moments.mass, places[k].rotation, places[k].translation - places[i].translation
            h = product(R, body.moments.first)
            half = dyad(h, s)
            mass, U = mass + m, U + h + m * s
            J = J + product(product(R, body.moments.second), R.T) + half + half.T + m * dyad(s, s)
        E = inertia_from_pseudo(J)
        for j in tree.ancestors[i]:
            inner, s = tree.links[j], places[i].translation - places[j].translation
            entries = []
            for r in range(inner.nv):
                zw_j, zv_j = places[j].rotate(inner.Zw[:, r]), places[j].rotate(inner.Zv[:, r])
                row = []
                for c in range(link.nv):
                    zw, zv = places[i].rotate(link.Zw[:, c]), places[i].rotate(link.Zv[:, c])
                    f = cross(zw, U) + mass * zv
                    eta = product(E, zw) + cross(U, zv) + cross(s, f)  # (6.3.46)
                    row.append(dot(zw_j, eta) + dot(zv_j, f))
                entries.append(row)
            blocks[j, i] = arrays.asarray(entries)
            blocks[i, j] = blocks[j, i].T
    return gather_matrix(tree, blocks)
