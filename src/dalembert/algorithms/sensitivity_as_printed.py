"""Algorithms 7.1 and 7.2 with (7.3.2)-(7.3.4) of the THESIS as printed: D, V, P pair by pair.

Algorithm 7.1 carries, for every joint j and every link i beyond it, the axis z_j with its first and second rate, the
acceleration of its origin, and the vector s_ji with its rate into the axes of link i. Algorithm 7.2 sums U_i, Udot_i,
E_i and L_i of all that is beyond a joint. For j <= i, in the axes of link i,

    H = E_i - U_i~ s_ji~ ,      G = L_i + U_i~ sdot_ji~
    d_ij = z_i.H z_j ,          v_ij = 2 (z_i.H zdot_j - z_i.G z_j)
    p_ij = z_i.H zddot_j - 2 z_i.G zdot_j + z_i.U_i~ sddot_0j~ z_j

and for j > i, in the axes of link j, H = E_j - s_ij~ U_j~, G = L_j + s_ij~ Udot_j~, and p_ij has the last term
z_i.(U_j~ sddot_0j~ - s_ij~ Uddot_j~ - eta_j~) z_j. For trees, and for prismatic joints, too, of which the source
says no more than that they need minor modifications: the force that a column causes is carried beside its moment.

:mod:`~dalembert.algorithms.sensitivity` gives the same numbers with fewer operations.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import inertia_from_pseudo
from dalembert.algebra.scalar import Scalar
from dalembert.algebra.vectors import cross, dot
from dalembert.algorithms.inertia_matrix.generalized_links import cross_moments
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_moments
from dalembert.algorithms.loads import Loads
from dalembert.algorithms.sensitivity import Sensitivity
from dalembert.algorithms.variation import LinkQuantities, varied
from dalembert.errors import UnsupportedError
from dalembert.kinematics.step import Step, steps
from dalembert.model.tree import Tree, gather_matrix

Line = Callable[[str], AbstractContextManager[Any]]
"""Called with the number of an equation around what belongs to it; whoever counts operations listens."""


def _nobody(line: str) -> AbstractContextManager[Any]:
    return nullcontext()


def sensitivity_as_printed(
    tree: Tree, q: Array, v: Array, a: Array, loads: Loads = None, line: Line = _nobody
) -> Sensitivity:
    """tau, D, V and P at one state.

    Args:
        tree: the links, with revolute and prismatic joints only.
        loads: external loads, constant in the axes of the links they act on.
        line: called around every equation with its number.
    """
    for link in tree.links:
        if link.kind not in ("revolute", "prismatic"):
            raise UnsupportedError(
                f"Algorithms 7.1 and 7.2 are for revolute and prismatic joints; {link.joint!r} needs a "
                f"{link.kind} one: sensitivities() takes all joints"
            )
    step, none = steps(tree, q), arrays.zeros(tree.nv)
    with line("Algorithm 5.5"):
        x, _ = varied(tree, q, v, a, none, none, none, loads)
    if loads:  # what is beyond a joint is also pulled by the world
        pulled = [f - m * sdd for f, m, sdd in zip(x.f, augmented_moments(tree, step)[0], x.sdd)]
        x = replace(x, Udd=pulled)
    carried = _algorithm_7_1(tree, step, v, x, line)
    mass, U, Ud, E, L = _algorithm_7_2(tree, step, v, x, line)
    D: dict[tuple[int, int], Array] = {}
    V: dict[tuple[int, int], Array] = {}
    P: dict[tuple[int, int], Array] = {}
    for i, row in enumerate(tree.links):
        for j in tree.ancestors[i]:
            entries = _inner_column(i, j, row.rotates, tree.links[j].rotates, carried, mass, U, Ud, E, L, line)
            for matrix, entry in zip((D, V, P), entries):
                matrix[i, j] = arrays.asarray([[entry]])
            if i != j:
                D[j, i] = D[i, j]
                outer = _outer_column(j, i, tree.links[j].rotates, row.rotates, carried, x, mass, U, Ud, E, L, line)
                V[j, i], P[j, i] = (arrays.asarray([[entry]]) for entry in outer)
    return Sensitivity(x.tau, *(gather_matrix(tree, blocks) for blocks in (D, V, P)))


Pairs = dict[tuple[int, int], Array]


def _algorithm_7_1(tree: Tree, step: list[Step], v: Array, x: LinkQuantities, line: Line) -> dict[str, Pairs]:
    """z, zd, zdd, sdd of joint j and s, sd from o_j to o_i, by (j, i), in the axes of link i."""
    found: dict[str, Pairs] = {name: {} for name in ("z", "zd", "zdd", "sdd", "s", "sd")}
    for i, link in enumerate(tree.links):
        own = link.Zw[:, 0] if link.rotates else link.Zv[:, 0]
        found["z"][i, i] = own
        with line("(7.3.11)"):
            found["zd"][i, i], found["zdd"][i, i] = cross(x.w[i], own), product(x.Om[i], own)
        found["sdd"][i, i] = x.sdd[i]
        found["s"][i, i] = found["sd"][i, i] = arrays.zeros(3)
        p, out = link.parent, step[i].outward
        if p < 0:
            continue
        with line("(5.3.45)"):  # at hand from inverse dynamics
            slide = step[i].from_joint(product(link.axes_v, tree.speed(link, v)))
        with line("(7.3.12f)"):
            moved = cross(x.w[p], step[i].s) + slide
        for j in tree.ancestors[p]:
            for name, number in (("z", "a"), ("zd", "b"), ("zdd", "c"), ("sdd", "d")):
                with line(f"(7.3.12{number})"):
                    found[name][j, i] = out(found[name][j, p])
            with line("(7.3.12e)"):
                found["s"][j, i] = out(found["s"][j, p] + step[i].s)
            with line("(7.3.12f)"):
                found["sd"][j, i] = out(found["sd"][j, p] + moved)
    return found


def _algorithm_7_2(
    tree: Tree, step: list[Step], v: Array, x: LinkQuantities, line: Line
) -> tuple[list[Scalar], list[Array], list[Array], list[Array], list[Array]]:
    """Mass, U, Udot, E and L of every link with all beyond it, in its own axes (7.3.14)."""
    with line("off-line"):
        mass, u, Kh = augmented_moments(tree, step)
        E = [inertia_from_pseudo(k) for k in Kh]
    U, Ud, L = list(u), [], []
    for i in range(len(step)):
        with line("(7.3.14b)"):
            Ud.append(cross(x.w[i], u[i]))
        with line("(7.3.14d)"):
            L.append(arrays.stack([cross(x.w[i], Kh[i][:, k]) for k in range(3)]).T)
    for i in reversed(range(len(step))):
        link = tree.links[i]
        p, s, inward, out = link.parent, step[i].s, step[i].inward, step[i].outward
        if p < 0:
            continue
        slide = step[i].from_joint(product(link.axes_v, tree.speed(link, v)))
        with line("(7.3.14a)"):
            U[p] = U[p] + inward(U[i])
        with line("(7.3.14b)"):
            Ud[p] = Ud[p] + inward(Ud[i]) + mass[i] * slide
        with line("(7.3.12e)"):
            outer_s = out(s)  # s', of which s_ji is made as well
        with line("(7.3.14c)"):
            E[p] = E[p] + step[i].inward_symmetric(E[i] - cross_moments(outer_s, U[i]))
        with line("(7.3.14d)"):
            sd = cross(x.w[p], s) + slide
            inside = L[i] + _duals(outer_s, Ud[i]) + _duals(U[i], out(sd))
            L[p] = L[p] + step[i].from_joint_tensor(step[i].from_link_tensor(inside)) + mass[i] * _duals(s, slide)
    return mass, U, Ud, E, L


def _duals(u: Array, v: Array) -> Array:
    """u~ v~ = v u^T - (u.v) 1: 9 multiplications, 3 additions."""
    x, y, z = (u[k] * v[k] for k in range(3))
    return arrays.asarray(
        [
            [-(y + z), v[0] * u[1], v[0] * u[2]],
            [v[1] * u[0], -(x + z), v[1] * u[2]],
            [v[2] * u[0], v[2] * u[1], -(x + y)],
        ]
    )


def _inner_column(
    i: int, j: int, row_turns: bool, column_turns: bool, at: dict[str, Pairs], mass: list[Scalar], U: list[Array],
    Ud: list[Array], E: list[Array], L: list[Array], line: Line,
) -> tuple[Scalar, Scalar, Scalar]:  # fmt: skip
    """(d, v, p)_ij of a joint j inside link i or at it, in the axes of link i."""
    z_i, z, zd, zdd = at["z"][i, i], at["z"][j, i], at["zd"][j, i], at["zdd"][j, i]
    s, sd, sdd = at["s"][j, i], at["sd"][j, i], at["sdd"][j, i]
    if row_turns and column_turns:
        with line("D, (7.3.2)"):
            zU = cross(z_i, U[i])
            h = product(E[i], z_i) - cross(zU, s)  # H^T z_i
            d = dot(h, z)
        with line("V, (7.3.3)"):
            g = product(L[i].T, z_i) + cross(zU, sd)  # G^T z_i
            half = dot(h, zd) - dot(g, z)
            v = half + half
        with line("P, (7.3.4)"):
            gz = dot(g, zd)
            p = dot(h, zdd) - (gz + gz) + dot(zU, cross(sdd, z))
        return d, v, p
    if column_turns:  # a prismatic row reads the force
        b, bd = mass[i] * s + U[i], mass[i] * sd + Ud[i]
        d = dot(z_i, cross(z, b))
        v = 2 * dot(z_i, cross(zd, b) + cross(z, bd))
        p = dot(z_i, cross(zdd, b) + 2 * cross(zd, bd) - mass[i] * cross(z, sdd))
        return d, v, p
    lever = cross(z_i, U[i]) if row_turns else mass[i] * z_i
    return dot(lever, z), 2 * dot(lever, zd), dot(lever, zdd)


def _outer_column(
    i: int, j: int, row_turns: bool, column_turns: bool, at: dict[str, Pairs], x: LinkQuantities, mass: list[Scalar],
    U: list[Array], Ud: list[Array], E: list[Array], L: list[Array], line: Line,
) -> tuple[Scalar, Scalar]:  # fmt: skip
    """(v, p)_ij of a joint j beyond link i, in the axes of link j."""
    z_i, s = at["z"][i, j], at["s"][i, j]
    z, zd, zdd = at["z"][j, j], at["zd"][j, j], at["zdd"][j, j]
    if row_turns and column_turns:
        with line("V, (7.3.3)"):
            Hzd = product(E[j], zd) - cross(s, cross(U[j], zd))
            half = Hzd - product(L[j], z) - cross(s, cross(Ud[j], z))
            v = dot(z_i, half + half)
        with line("P, (7.3.4)"):
            Gzd = product(L[j], zd) + cross(s, cross(Ud[j], zd))
            Hzdd = product(E[j], zdd) - cross(s, cross(U[j], zdd) + cross(x.Udd[j], z))
            p = dot(z_i, Hzdd - (Gzd + Gzd) + cross(U[j], cross(x.sdd[j], z)) - cross(x.eta[j], z))
        return v, p
    if column_turns:
        fV = 2 * (cross(zd, U[j]) + cross(z, Ud[j]))
        fP = cross(zdd, U[j]) + 2 * cross(zd, Ud[j]) - mass[j] * cross(z, x.sdd[j]) + cross(z, x.f[j])
        return dot(z_i, fV), dot(z_i, fP)
    eV, fV, eP, fP = 2 * cross(U[j], zd), 2 * mass[j] * zd, cross(U[j], zdd), mass[j] * zdd
    if not row_turns:
        return dot(z_i, fV), dot(z_i, fP)
    return dot(z_i, eV + cross(s, fV)), dot(z_i, eP + cross(s, fP) + cross(z, x.f[j]))
