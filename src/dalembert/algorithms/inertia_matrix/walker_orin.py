"""Algorithm 6.1: composite bodies (Walker and Orin; THESIS (6.2.5)-(6.2.9)).

Published cost: 12 n^2 + 56 n - 27 multiplications, 7 n^2 + 67 n - 53 additions. It works with centres of mass, so every
link must be a real body: regrouped moments, a first moment without mass, have none and are refused.
"""

from __future__ import annotations

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import parallel_axes
from dalembert.algebra.vectors import cross
from dalembert.errors import UnsupportedError
from dalembert.kinematics.step import steps
from dalembert.model.tree import Tree, gather_matrix


def walker_orin(tree: Tree, q: Array) -> Array:
    """Joint-space inertia matrix D(q), nv x nv."""
    step = steps(tree, q)
    blocks: dict[tuple[int, int], Array] = {}
    mass, R, E_C = [], [], []  # of each composite: mass, centre of mass, inertia about it
    for link in tree.links:
        m = link.moments.mass
        if scalar.is_zero(m) and not all(scalar.is_zero(x) for x in link.moments.first):
            raise UnsupportedError(
                f"walker-orin (Algorithm 6.1) needs centres of mass, but link {link.name!r} of joint {link.joint!r} "
                "has a first moment and no mass: use algorithm='generalized-links', or a tree that is not regrouped"
            )
        center = link.moments.first / m if not scalar.is_zero(m) else arrays.zeros(3)
        mass.append(m)
        R.append(center)
        E_C.append(parallel_axes(link.moments.tensor, -m, center))
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        columns_f, columns_n = [], []
        for k in range(link.nv):
            zw, zv = link.Zw[:, k], link.Zv[:, k]
            F = cross(zw, mass[i] * R[i]) + mass[i] * zv  # (6.2.8d)
            columns_f.append(F)
            columns_n.append(product(E_C[i], zw) + cross(R[i], F))  # (6.2.8g)
        j = i
        while True:
            row = tree.links[j]
            blocks[j, i] = arrays.stack(
                [
                    product(row.Zw.T, n) + product(row.Zv.T, f)  # (6.2.9c)
                    for f, n in zip(columns_f, columns_n)
                ]
            ).T
            blocks[i, j] = blocks[j, i].T
            if row.parent < 0:
                break
            columns_f = [step[j].inward(f) for f in columns_f]
            columns_n = [step[j].inward(n) + cross(step[j].s, f) for f, n in zip(columns_f, columns_n)]
            j = row.parent
        p = link.parent
        if p >= 0 and not scalar.is_zero(mass[i]):
            outer = step[i].s + step[i].inward(R[i])
            total = mass[p] + mass[i]
            center = (mass[p] * R[p] + mass[i] * outer) / total  # (6.2.6)
            inner = parallel_axes(E_C[p], mass[p], R[p] - center)
            E_C[p] = parallel_axes(inner, mass[i], outer - center) + step[i].inward_symmetric(E_C[i])  # (6.2.7)
            mass[p], R[p] = total, center
        elif p >= 0:
            E_C[p] = E_C[p] + step[i].inward_symmetric(E_C[i])
    return gather_matrix(tree, blocks)
