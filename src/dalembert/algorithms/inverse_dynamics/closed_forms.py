"""Closed forms of inverse dynamics (THESIS): Uicker-Kahn (5.2.2), Waters (5.2.3), the same with 3 x 3 tensors (5.2.6),
Kane-Silver (5.2.13).

The first costs O(n^4), the others O(n^2) operations; they serve as independent witnesses for the recursive algorithms.
"""

from __future__ import annotations

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross, dot, dual, dyad
from dalembert.algorithms.choose import refuse_quaternions
from dalembert.algorithms.inverse_dynamics.hollerbach_4x4 import (
    load_matrix,
    pseudo_inertia_4x4,
    trace_of_product,
    transformation,
    twist_matrix,
)
from dalembert.algorithms.loads import Loads
from dalembert.model.tree import Tree, gather


def _world_twists(tree: Tree, q: Array) -> tuple[list[Array], list[list[Array]]]:
    """W_i, and each joint's twist matrices Y carried to the world: dW_j/dq_k = Y_k W_j for j beyond k."""
    W: list[Array] = []
    Y: list[list[Array]] = []
    for link in tree.links:
        A = transformation(link, q)
        W.append(product(W[link.parent], A) if link.parent >= 0 else A)
        R, p = W[-1][:3, :3], W[-1][:3, 3]
        inverse = arrays.asarray([[*R.T[k], -dot(R.T[k], p)] for k in range(3)] + [[0, 0, 0, 1]])
        Y.append([product(product(W[-1], twist_matrix(link, unit)), inverse) for unit in arrays.identity(link.nv)])
    return W, Y


def uicker_kahn(tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None) -> Array:
    """(5.2.2): sums of traces over all pairs and triples of joints, O(n^4). Joints of one degree only."""
    refuse_quaternions(tree, "uicker-kahn (5.2.2)", "algorithm='waters' or 'augmented-links'")
    W, Y = _world_twists(tree, q)
    g = arrays.asarray([*tree.gravity, 0])
    tau: list[Scalar] = [0] * len(tree.links)
    for j, body in enumerate(tree.links):
        chain = tree.ancestors[j]
        J = pseudo_inertia_4x4(body)
        center = arrays.asarray([*body.moments.first, body.moments.mass])
        load = load_matrix(loads, j, W[j])
        for i in chain:
            dW = product(Y[i][0], W[j])
            JdW = product(dW, J)
            tau[i] = tau[i] - dot4(g, product(dW, center)) - trace_of_product(dW, load)
            for k in chain:
                first = product(Y[k][0], W[j])
                tau[i] = tau[i] + trace_of_product(JdW, first.T) * tree.speed(tree.links[k], a)[0]
                for l in chain:
                    inner, outer = (k, l) if chain.index(k) >= chain.index(l) else (l, k)  # inner: nearer the base
                    second = product(Y[inner][0], product(Y[outer][0], W[j]))
                    rates = tree.speed(tree.links[k], v)[0] * tree.speed(tree.links[l], v)[0]
                    tau[i] = tau[i] + trace_of_product(JdW, second.T) * rates
    return gather(tree, [arrays.asarray([t]) for t in tau])


def waters(tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None) -> Array:
    """(5.2.3): tau_i = sum over bodies j beyond i of tr(dW_j/dq_i J_j Wdd_j^T) - m_j g^T dW_j/dq_i r_jj."""
    W, Y = _world_twists(tree, q)
    Wd: list[Array] = []
    Wdd: list[Array] = []
    for i, link in enumerate(tree.links):
        X = twist_matrix(link, tree.speed(link, v))
        Xd = product(X, X) + twist_matrix(link, tree.speed(link, a))
        if link.parent < 0:
            Wd.append(product(W[i], X))
            Wdd.append(product(W[i], Xd))
        else:
            A = transformation(link, q)
            inherited = product(Wd[link.parent], A)
            Wd.append(inherited + product(W[i], X))
            Wdd.append(product(Wdd[link.parent], A) + 2 * product(inherited, X) + product(W[i], Xd))
    g = arrays.asarray([*tree.gravity, 0])
    tau: list[list[Scalar]] = [[0] * link.nv for link in tree.links]
    for j, body in enumerate(tree.links):
        JWdd = product(pseudo_inertia_4x4(body), Wdd[j].T) - load_matrix(loads, j, W[j])
        center = arrays.asarray([*body.moments.first, body.moments.mass])
        for i in tree.ancestors[j]:
            for k in range(tree.links[i].nv):
                dW = product(Y[i][k], W[j])
                tau[i][k] = tau[i][k] + trace_of_product(dW, JWdd) - dot4(g, product(dW, center))
    return gather(tree, [arrays.asarray(t) for t in tau])


def waters_3x3(tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None) -> Array:
    """(5.2.6), Hollerbach's sum with 3 x 3 tensors: over bodies j beyond i, with n_j = m_j r_jj, in world axes,

        tr[ m_j ds_j sdd_j^T + ds_j n_j^T Wdd_j^T + dW_j n_j sdd_j^T + dW_j J_j Wdd_j^T ] - g . (m_j ds_j + dW_j n_j) ,

    ds_j and dW_j the derivatives by q_i. Its last term is printed for revolute joints, where s_j - s_i turns with W_i.
    """
    W: list[Array] = []
    Wd: list[Array] = []
    Wdd: list[Array] = []
    o: list[Array] = []
    sdd: list[Array] = []
    for i, link in enumerate(tree.links):
        A, s = link.rotation(q), link.translation(q)
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        X = dual(product(link.Zw, rate))
        Xd = product(X, X) + dual(product(link.Zw, acceleration))
        slide, push = product(A, product(link.Zv, rate)), product(A, product(link.Zv, acceleration))
        p = link.parent
        if p < 0:
            W.append(A)
            Wd.append(product(A, X))
            Wdd.append(product(A, Xd))
            o.append(s)
            sdd.append(push)
            continue
        inherited = product(Wd[p], A)
        W.append(product(W[p], A))
        Wd.append(inherited + product(W[i], X))
        Wdd.append(product(Wdd[p], A) + 2 * product(inherited, X) + product(W[i], Xd))
        o.append(o[p] + product(W[p], s))
        sdd.append(sdd[p] + product(Wdd[p], s) + 2 * product(Wd[p], slide) + product(W[p], push))
    tau: list[list[Scalar]] = [[0] * link.nv for link in tree.links]
    for j, body in enumerate(tree.links):
        m, n, J = body.moments.mass, body.moments.first, body.moments.second
        pull = m * sdd[j] + product(Wdd[j], n) - m * tree.gravity  # what ds_j is multiplied with
        turning = product(J, Wdd[j].T) + dyad(n, sdd[j] - tree.gravity)  # what dW_j is
        for i in tree.ancestors[j]:
            for k in range(tree.links[i].nv):
                zw, zv = product(W[i], tree.links[i].Zw[:, k]), product(W[i], tree.links[i].Zv[:, k])
                ds, dW = cross(zw, o[j] - o[i]) + zv, product(dual(zw), W[j])
                tau[i][k] = tau[i][k] + dot(ds, pull) + trace_of_product(dW, turning)
                if loads and loads[j] is not None:
                    force, moment = loads[j]  # type: ignore[misc]
                    tau[i][k] = tau[i][k] - dot(ds, product(W[j], force)) - dot(zw, product(W[j], moment))
    return gather(tree, [arrays.asarray(t) for t in tau])


def kane_silver(tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None) -> Array:
    """(5.2.13), (5.2.14): tau_i = z_i . sum over bodies j beyond i of [M_Oj + s_ij x F_j], all in world axes."""
    W: list[Array] = []
    o: list[Array] = []
    w: list[Array] = []
    wd: list[Array] = []
    sdd: list[Array] = []
    at_rest = arrays.zeros(3)
    for i, link in enumerate(tree.links):
        p = link.parent
        A, s = link.rotation(q), link.translation(q)
        W_p, o_p, w_p, wd_p, sdd_p = (
            (W[p], o[p], w[p], wd[p], sdd[p])
            if p >= 0
            else (arrays.identity(3), at_rest, at_rest, at_rest, -tree.gravity)
        )
        W.append(product(W_p, A))
        arm = product(W_p, s)
        o.append(o_p + arm)
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        turn, slide = product(W[i], product(link.Zw, rate)), product(W[i], product(link.Zv, rate))
        w.append(w_p + turn)
        wd.append(wd_p + cross(w_p, turn) + product(W[i], product(link.Zw, acceleration)))
        sdd.append(
            sdd_p + cross(wd_p, arm) + cross(w_p, cross(w_p, arm))
            + 2 * cross(w_p, slide) + product(W[i], product(link.Zv, acceleration))
        )  # fmt: skip
    tau: list[list[Scalar]] = [[0] * link.nv for link in tree.links]
    for j, body in enumerate(tree.links):
        h = product(W[j], body.moments.first)
        I = product(product(W[j], body.moments.tensor), W[j].T)
        F = body.moments.mass * sdd[j] + cross(wd[j], h) + cross(w[j], cross(w[j], h))
        M = product(I, wd[j]) + cross(w[j], product(I, w[j])) + cross(h, sdd[j])
        if loads and loads[j] is not None:
            force, moment = loads[j]  # type: ignore[misc]
            F, M = F - product(W[j], force), M - product(W[j], moment)
        for i in tree.ancestors[j]:
            moment = M + cross(o[j] - o[i], F)
            for k in range(tree.links[i].nv):
                zw, zv = product(W[i], tree.links[i].Zw[:, k]), product(W[i], tree.links[i].Zv[:, k])
                tau[i][k] = tau[i][k] + dot(zw, moment) + dot(zv, F)
    return gather(tree, [arrays.asarray(t) for t in tau])


def dot4(a: Array, b: Array) -> Scalar:
    """Scalar product of two 4-vectors."""
    return product(a[None], b)[0]
