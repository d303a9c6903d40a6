"""Algorithm 5.3: Newton-Euler recursion in vector form, as Craig states it (THESIS (5.2.10), (5.2.11)).

Generalised from chains to trees and from revolute and prismatic to all elementary joints. Cost for n revolute joints
with general twist, as published (THESIS, Table 5.3): 126 n - 99 multiplications, 106 n - 92 additions; Luh, Walker and
Paul, who had the idea, count 150 n - 48 and 131 n - 48 for theirs.
"""

from __future__ import annotations

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.vectors import cross
from dalembert.algorithms.loads import Loads
from dalembert.kinematics.step import steps
from dalembert.model.tree import Tree, gather


def newton_euler(tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None) -> Array:
    """Generalised forces that produce the accelerations ``a``; everything of link i is in its own axes."""
    step, children = steps(tree, q), tree.children
    w: list[Array] = []
    wd: list[Array] = []
    sdd: list[Array] = []
    F: list[Array] = []
    M: list[Array] = []
    at_rest = arrays.zeros(3)
    for i, link in enumerate(tree.links):
        p, s, out = link.parent, step[i].s, step[i].outward
        w_p, wd_p, sdd_p = (w[p], wd[p], sdd[p]) if p >= 0 else (at_rest, at_rest, -tree.gravity)
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        turn, slide = product(link.Zw, rate), product(link.Zv, rate)
        wi = out(w_p)
        w.append(wi + turn)  # (5.2.10a)
        wd.append(out(wd_p) + cross(wi, turn) + product(link.Zw, acceleration))  # (b)
        moved = sdd_p + cross(wd_p, s) + cross(w_p, cross(w_p, s))
        sdd.append(out(moved) + 2 * cross(wi, slide) + product(link.Zv, acceleration))  # (c)
        # (d)-(f) with first moment h and inertia tensor about the origin: no division by a mass that may be zero
        m, h, I = link.moments.mass, link.moments.first, link.moments.tensor
        F.append(m * sdd[i] + cross(wd[i], h) + cross(w[i], cross(w[i], h)))
        M.append(product(I, wd[i]) + cross(w[i], product(I, w[i])) + cross(h, sdd[i]))
    f, eta = F, M
    tau: list[Array] = [at_rest] * len(tree.links)
    for i in reversed(range(len(tree.links))):
        for c in children[i]:
            pulled = step[c].inward(f[c])
            f[i] = f[i] + pulled  # (5.2.11a)
            eta[i] = eta[i] + cross(step[c].s, pulled) + step[c].inward(eta[c])  # (5.2.11b)
        if loads and loads[i] is not None:
            force, moment = loads[i]  # type: ignore[misc]
            f[i], eta[i] = f[i] - force, eta[i] - moment
        link = tree.links[i]
        tau[i] = product(link.Zw.T, eta[i]) + product(link.Zv.T, f[i])  # (5.2.11c)
    return gather(tree, tau)
