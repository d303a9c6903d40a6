"""Natural orthogonal complement (Angeles and Ma; THESIS (6.2.10)-(6.2.17)).

t = T v collects the twists (w_i ; velocity of the reference point) of all links in world axes; M = diag(M_i) their
inertias; then D = T^T M T. With M = N^T N and P = N T, accelerations follow without ever forming D.
"""

from __future__ import annotations

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.vectors import cross, dual
from dalembert.errors import SingularityError
from dalembert.kinematics import link_poses
from dalembert.model.tree import Tree


def twist_matrix_and_inertias(tree: Tree, q: Array) -> tuple[list[Array], list[Array]]:
    """T_i (6 x nv) and M_i (6 x 6) of every link, reference point its own origin, world axes."""
    poses = link_poses(tree, q)
    T, M = [], []
    for i, body in enumerate(tree.links):
        columns = np.zeros((6, tree.nv), dtype=np.int64).astype(object)
        for j in tree.ancestors[i]:
            link, W = tree.links[j], poses[j].rotation
            arm = poses[i].translation - poses[j].translation
            for k in range(link.nv):
                zw, zv = product(W, link.Zw[:, k]), product(W, link.Zv[:, k])
                column = np.concatenate([zw, cross(zw, arm) + zv])  # (6.2.12)
                columns[:, link.v + k] = columns[:, link.v + k] + link.gain * column
        W = poses[i].rotation
        I = product(product(W, body.moments.tensor), W.T)
        h = dual(product(W, body.moments.first))
        m = body.moments.mass * arrays.identity(3)
        T.append(arrays.asarray(columns.tolist()).reshape(6, tree.nv))
        M.append(arrays.asarray(np.block([[I.astype(object), h], [-h, m]]).tolist()))
    return T, M


def orthogonal_complement(tree: Tree, q: Array) -> Array:
    """Joint-space inertia matrix D(q) = sum of T_i^T M_i T_i, nv x nv."""
    T, M = twist_matrix_and_inertias(tree, q)
    total = arrays.zeros(tree.nv, tree.nv)
    for t, m in zip(T, M):
        total = total + product(t.T, product(m, t))
    return arrays.asarray(total)


def two_stage_solve(tree: Tree, q: Array, force: Array) -> Array:
    """D^-1 force without forming D (6.2.17): minimum-norm x of P^T x = force, then least squares P a = x. Numbers only.

    Args:
        force: tau minus bias, nv.
    """
    T, M = twist_matrix_and_inertias(tree, q)
    rows = []
    for t, m in zip(T, M):
        values, vectors = np.linalg.eigh(np.asarray(m, dtype=float))
        rows.append(np.sqrt(np.clip(values, 0, None))[:, None] * vectors.T @ t)
    P = np.vstack(rows) if rows else np.zeros((0, tree.nv))
    Q, upper = np.linalg.qr(P.astype(float))
    if tree.nv and np.abs(np.diag(upper)).min() < 1e-12 * np.abs(upper).max():
        raise SingularityError("the inertia matrix is singular: some joint moves nothing that has mass")
    from scipy.linalg import solve_triangular

    x = Q @ solve_triangular(upper, force, trans="T")
    return solve_triangular(upper, Q.T @ x)
