"""Algorithm 5.5: augmented links and tensors (THESIS (5.3.44)-(5.3.46)), the most economical of the thesis.

The mass of everything beyond a joint is added, as a point at that joint, to the link inside it. Those augmented
moments are constant across a joint that does not translate, so tracing a numeric mechanism folds them away: they are
the "off-line" step 1. Published cost for n revolute joints with general twist: 93 n - 108 multiplications and
81 n - 100 additions.
"""

from __future__ import annotations

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import parallel_axes_pseudo, torque_from_tensor
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.vectors import cross
from dalembert.algorithms.loads import Loads
from dalembert.kinematics.step import Step, steps
from dalembert.model.tree import Tree, gather


def augmented_moments(tree: Tree, step: list[Step]) -> tuple[list[Scalar], list[Array], list[Array]]:
    """Step 1, (5.3.44): mass beyond each joint, first moment and pseudo-inertia of each augmented link."""
    mass = [link.moments.mass for link in tree.links]
    u = [link.moments.first for link in tree.links]
    K = [link.moments.second for link in tree.links]
    for i in reversed(range(len(tree.links))):
        p = tree.links[i].parent
        if p >= 0 and not scalar.is_zero(mass[i]):
            mass[p] = mass[p] + mass[i]
            u[p] = u[p] + mass[i] * step[i].s
            K[p] = parallel_axes_pseudo(K[p], mass[i], step[i].s)
    return mass, u, K


def augmented_links(tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None) -> Array:
    """Generalised forces that produce the accelerations ``a``; everything of link i is in its own axes."""
    step, children = steps(tree, q), tree.children
    mass, u, K = augmented_moments(tree, step)
    w: list[Array] = []
    wd: list[Array] = []
    Om: list[Array] = []
    sdd: list[Array] = []
    zeta: list[Array] = []
    at_rest = arrays.zeros(3)
    for i, link in enumerate(tree.links):
        p, out, settle = link.parent, step[i].to_joint, step[i].to_link
        w_p, wd_p, sdd_p = (w[p], wd[p], sdd[p]) if p >= 0 else (at_rest, at_rest, -tree.gravity)
        rate, acceleration = tree.speed(link, v), tree.speed(link, a)
        turn, slide = product(link.axes_w, rate), product(link.axes_v, rate)  # in the moved joint frame
        wi = out(w_p)
        w.append(settle(wi + turn))  # (5.3.45a)
        wd.append(settle(out(wd_p) + cross(wi, turn) + product(link.axes_w, acceleration)))  # (b)
        Om.append(angular_acceleration_tensor(w[i], wd[i]))  # (c)
        zeta.append(2 * cross(wi, slide) + product(link.axes_v, acceleration))  # (d), in the moved joint frame
        moved = sdd_p + product(Om[p], step[i].s) if p >= 0 else sdd_p
        sdd.append(settle(out(moved) + zeta[i]))  # (e)
    Udd: list[Array] = [at_rest] * len(tree.links)
    eta: list[Array] = [at_rest] * len(tree.links)
    force: list[Array] = [at_rest] * len(tree.links)  # external, of the link and all beyond it
    tau: list[Array] = [at_rest] * len(tree.links)
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        Udd[i] = product(Om[i], u[i])
        eta[i] = torque_from_tensor(Om[i], K[i], w[i]) + cross(u[i], sdd[i])  # (f)
        if loads and loads[i] is not None:
            force[i] = loads[i][0]  # type: ignore[index]
            eta[i] = eta[i] - loads[i][1]  # type: ignore[index]
        for c in children[i]:
            outer = step[c].from_link(Udd[c])
            B = step[c].from_joint(outer + mass[c] * zeta[c] if tree.links[c].translates else outer)
            Udd[i] = Udd[i] + B  # (5.3.46a)
            if loads:
                pulled = step[c].inward(force[c])
                force[i], B = force[i] + pulled, B - pulled
            eta[i] = eta[i] + cross(step[c].s, B) + step[c].inward(eta[c])  # (b)
        tau[i] = product(link.axes_w.T, step[i].from_link(eta[i]))
        if link.translates:
            pull = mass[i] * sdd[i] + Udd[i] - force[i]
            tau[i] = tau[i] + product(link.axes_v.T, step[i].from_link(pull))  # (c)
    return gather(tree, tau)
