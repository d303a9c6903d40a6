"""Algorithm 5.4: Newton-Euler recursion with angular acceleration tensors (THESIS (5.3.7), (5.3.8)).

One tensor Om = wd~ + w~ w~ serves the acceleration of every point and, multiplied by the pseudo-inertia, the inertial
moment. Published cost for n revolute joints, general twist: 96 n - 77 multiplications, 84 n - 70 additions.
"""

from __future__ import annotations

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import torque_from_tensor
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.vectors import cross
from dalembert.algorithms.loads import Loads
from dalembert.kinematics.step import steps
from dalembert.model.tree import Tree, gather


def tensor_form(tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None) -> Array:
    """Generalised forces that produce the accelerations ``a``; everything of link i is in its own axes."""
    step, children = steps(tree, q), tree.children
    w: list[Array] = []
    wd: list[Array] = []
    Om: list[Array] = []
    sdd: list[Array] = []
    f: list[Array] = []
    eta: list[Array] = []
    at_rest = arrays.zeros(3)
    for i, link in enumerate(tree.links):
        p, out = link.parent, step[i].outward
        w_p, wd_p, sdd_p = (w[p], wd[p], sdd[p]) if p >= 0 else (at_rest, at_rest, -tree.gravity)
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        turn, slide = product(link.Zw, rate), product(link.Zv, rate)
        wi = out(w_p)
        w.append(wi + turn)  # (5.3.7a)
        wd.append(out(wd_p) + cross(wi, turn) + product(link.Zw, acceleration))  # (b)
        Om.append(angular_acceleration_tensor(w[i], wd[i]))  # (c)
        moved = sdd_p + product(Om[p], step[i].s) if p >= 0 else sdd_p
        sdd.append(out(moved) + 2 * cross(wi, slide) + product(link.Zv, acceleration))  # (d)
        m, h, J = link.moments.mass, link.moments.first, link.moments.second
        f.append(m * sdd[i] + product(Om[i], h))  # (e), (f)
        eta.append(torque_from_tensor(Om[i], J, w[i]) + cross(h, sdd[i]))  # (g), about the origin
    tau: list[Array] = [at_rest] * len(tree.links)
    for i in reversed(range(len(tree.links))):
        for c in children[i]:
            pulled = step[c].inward(f[c])
            f[i] = f[i] + pulled  # (5.3.8a)
            eta[i] = eta[i] + cross(step[c].s, pulled) + step[c].inward(eta[c])  # (b)
        if loads and loads[i] is not None:
            force, moment = loads[i]  # type: ignore[misc]
            f[i], eta[i] = f[i] - force, eta[i] - moment
        link = tree.links[i]
        tau[i] = product(link.Zw.T, eta[i]) + product(link.Zv.T, f[i])  # (c)
    return gather(tree, tau)
