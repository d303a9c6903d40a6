"""Algorithm 5.2: Hollerbach's recursive Lagrangian with 3 x 3 rotations (THESIS (5.2.7), (5.2.8), Appendix A).

As printed it holds for revolute joints only; the terms with Zv extend it to joints that translate. Published cost:
412 n - 277 multiplications, 320 n - 201 additions.
"""

from __future__ import annotations

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import dot, double_dot, dual, dyad
from dalembert.algorithms.loads import Loads
from dalembert.model.tree import Tree, gather


def hollerbach_3x3(tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None) -> Array:
    """Generalised forces that produce the accelerations ``a``."""
    g = tree.gravity
    A = [link.rotation(q) for link in tree.links]
    s = [link.translation(q) for link in tree.links]
    W: list[Array] = []
    Wd: list[Array] = []
    Wdd: list[Array] = []
    sdd: list[Array] = []
    for i, link in enumerate(tree.links):
        p = link.parent
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        X = dual(product(link.Zw, rate))
        Xd = product(X, X) + dual(product(link.Zw, acceleration))
        slide = product(link.Zv, acceleration)
        if p < 0:
            W.append(A[i])
            Wd.append(product(A[i], X))
            Wdd.append(product(A[i], Xd))
            sdd.append(product(W[i], slide))
            continue
        W.append(product(W[p], A[i]))
        inherited = product(Wd[p], A[i])
        Wd.append(inherited + product(W[i], X))
        Wdd.append(product(Wdd[p], A[i]) + 2 * product(inherited, X) + product(W[i], Xd))
        coriolis = 2 * product(inherited, product(link.Zv, rate))
        sdd.append(sdd[p] + product(Wdd[p], s[i]) + coriolis + product(W[i], slide))  # (5.2.7d)
    mass, e, D, c = [], [], [], []
    for i, link in enumerate(tree.links):
        m, n, J = link.moments.mass, link.moments.first, link.moments.second
        mass.append(m)
        e.append(m * sdd[i] + product(Wdd[i], n))
        D.append(dyad(n, sdd[i]) + product(J, Wdd[i].T))
        c.append(n)
        if loads and loads[i] is not None:
            force, moment = loads[i]  # type: ignore[misc]
            e[i] = e[i] - product(W[i], force)
            D[i] = D[i] + product(dual(moment), W[i].T) / 2  # tr(dW m~ W^T)/2 = -m.x for dW = W x~
    tau: list[Array] = [arrays.zeros(1)] * len(tree.links)
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        forces: list[Scalar] = []
        for k in range(link.nv):
            dW = product(W[i], dual(link.Zw[:, k]))
            torque = double_dot(dW, D[i]) - dot(g, product(dW, c[i]))  # (5.2.8d)
            forces.append(torque + dot(e[i] - mass[i] * g, product(W[i], link.Zv[:, k])))
        tau[i] = arrays.asarray(forces)
        p = link.parent
        if p >= 0:
            e[p] = e[p] + e[i]  # (5.2.8a)
            D[p] = D[p] + product(A[i], D[i]) + dyad(s[i], e[i])  # (5.2.8b)
            c[p] = c[p] + mass[i] * s[i] + product(A[i], c[i])  # (5.2.8c)
            mass[p] = mass[p] + mass[i]
    return gather(tree, tau)
