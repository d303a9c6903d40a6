"""The inertia matrix by composite links on paper: Algorithms 6.2 and 6.1 of the THESIS, and the natural complement.

These are the printed equations, extended to joints of all kinds and to trees; (6.3.29e) is corrected for joints that
slide. The algorithms that run are those of :mod:`dalembert.algorithms.inertia_matrix`.
"""

from __future__ import annotations

from collections.abc import Callable

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, asarray, product
from dalembert.algebra.scalar import Scalar, is_zero
from dalembert.algebra.vectors import cross, dot, dual
from dalembert.formulations.joint_letters import ALONG_AXES, joints_of
from dalembert.formulations.paper import Paper
from dalembert.formulations.recursions import CARRIED, augmented
from dalembert.model.tree import gather_matrix

INWARD = r"f_{i-1,k} = A_i f_{i,k}, \quad \eta_{i-1,k} = A_i \eta_{i,k} + s_i \times f_{i-1,k}, \quad "
"""How force and moment of a column are carried to the base, LaTeX."""


def _columns(p: Paper, own: Callable[[int, Array, Array], tuple[Array, Array]]) -> Array:
    """D from the force and moment that a unit acceleration of each joint needs, carried to the base.

    Args:
        own: of a link, its Zw and Zv columns: force and moment at its own joint.
    """
    blocks: dict[tuple[int, int], Array] = {}
    for i, link in enumerate(p.links):
        for j in p.tree.ancestors[i]:
            blocks[j, i] = arrays.zeros(p.links[j].nv, link.nv)
        for k in range(link.nv):
            mark = f",{i + 1}" + (f"{'abc'[k]}" if link.nv > 1 else "")
            f, eta = own(i, link.Zw[:, k], link.Zv[:, k])
            j, inner = i, -1
            while j >= 0:
                if inner >= 0:
                    f = p.inward(inner, f)
                    eta = p.inward(inner, eta) + cross(p.s[inner], f)
                f = p.define("f", "f", f"{j + 1}{mark}", f)
                eta = p.define(r"\eta", "eta", f"{j + 1}{mark}", eta)
                row = p.links[j]
                for r in range(row.nv):
                    entry = dot(row.Zw[:, r], eta) + dot(row.Zv[:, r], f)
                    blocks[j, i] = _with(blocks[j, i], r, k, entry)
                inner, j = j, row.parent
        p.link_step("Column", i)
    for (j, i), block in list(blocks.items()):
        blocks[i, j] = block.T if i != j else _symmetric(block)
    entries = gather_matrix(p.tree, blocks)
    if p.system.rotors:
        p.show("M_b", "mass_matrix_of_bodies", "", entries)
    else:
        p.show("M", "mass_matrix", "", entries)
    without = ", without the rotors" * bool(p.system.rotors)
    p.step("Entries of the inertia matrix", f"In terms of these columns{without}.")
    return entries


def _with(block: Array, r: int, k: int, entry: Scalar) -> Array:
    rows = block.tolist()
    rows[r][k] = entry
    return asarray(rows)


def _symmetric(block: Array) -> Array:
    n = len(block)
    return asarray([[block[min(r, c)][max(r, c)] for c in range(n)] for r in range(n)]).reshape(n, n)


def _entries(p: Paper) -> str:
    """An entry of D from a moment and a force, LaTeX."""
    if joints_of(p.tree) is ALONG_AXES:
        return r"M_{ik} = M_{ki} = \sigma_i z_i^T \eta_{i,k} + (1 - \sigma_i) z_i^T f_{i,k}"
    return r"M_{ik} = M_{ki}^T = Z_{\omega i}^T \eta_{i,k} + Z_{v i}^T f_{i,k}"


def _unit(p: Paper) -> tuple[str, str]:
    """What a unit of acceleration turns and moves, LaTeX."""
    return (r"\sigma_k z_k", r"(1 - \sigma_k) z_k") if joints_of(p.tree) is ALONG_AXES else (r"Z_{\omega k}", "Z_{v k}")


def generalized_links(p: Paper) -> Array:
    """Algorithm 6.2."""
    mass, u, K = augmented(p)
    n = len(p.links)
    U: list[Array] = [arrays.zeros(3)] * n
    E: list[Array] = [arrays.zeros(3, 3)] * n
    for i in reversed(range(n)):
        first, second = u[i], K[i]
        for j in p.children(i):
            moved = p.define(r"\bar{U}", "U_bar", str(j + 1), p.inward(j, U[j]))
            turned = p.define(r"\bar{E}", "E_bar", str(j + 1), product(p.inward(j, E[j]), p.A[j].T))
            s, skew = dual(p.s[j]), dual(moved)
            first = first + moved
            second = second + turned - product(s, skew) - product(skew, s)
        U[i] = p.define("U", "U", str(i + 1), first)
        E[i] = p.define("E", "E", str(i + 1), second)
    p.step(
        "Generalized links",
        "A link and all that lies beyond it as one rigid body: first moment U and inertia E about the origin of the "
        f"link, in its axes (THESIS Definition 5.2, (6.3.29)). {CARRIED}",
        r"\bar{U}_j = A_j U_j, \quad \bar{E}_j = A_j E_j A_j^T, \quad U_i = u_i + \sum_j \bar{U}_j, \quad E_i = K_i + "
        r"\sum_j (\bar{E}_j - "
        r"\tilde{s}_j \tilde{\bar{U}}_j - "
        r"\tilde{\bar{U}}_j \tilde{s}_j)",
    )
    turn, slide = _unit(p)
    p.step(
        "Columns of the inertia matrix",
        "Force and moment, at its own joint, that a unit of acceleration of joint k needs, everything else at rest; "
        "then "
        "the same at the joints i inside it, on the way to the base (THESIS (6.3.30)). The index i - 1 stands for the "
        "link that carries link i.",
        rf"f_{{k,k}} = {turn} \times U_k + \bar{{m}}_k {slide}, \quad \eta_{{k,k}} = E_k {turn} + U_k \times {slide}, "
        rf"\quad "
        + INWARD + _entries(p),
    )  # fmt: skip

    def own(i: int, zw: Array, zv: Array) -> tuple[Array, Array]:
        return cross(zw, U[i]) + mass[i] * zv, product(E[i], zw) + cross(U[i], zv)

    return _columns(p, own)


def walker_orin(p: Paper) -> Array:
    """Algorithm 6.1."""
    n = len(p.links)
    mass: list[Scalar] = [0] * n
    R, E = [arrays.zeros(3)] * n, [arrays.zeros(3, 3)] * n
    for i in reversed(range(n)):
        number, children = str(i + 1), p.children(i)
        parts = [(p.moment("m", i), asarray(p.moment("r", i)), p.moment("I", i))]
        for j in children:
            parts.append((mass[j], p.s[j] + p.inward(j, R[j]), product(p.inward(j, E[j]), p.A[j].T)))
        parts = [part for part in parts if not is_zero(part[0])]
        if not parts:
            continue
        mass[i] = p.define(r"\bar{m}", "m_bar", number, sum((m for m, _, _ in parts[1:]), start=parts[0][0]))
        center = sum((m * r for m, r, _ in parts[1:]), start=parts[0][0] * parts[0][1])
        R[i] = p.define("R", "R", number, parts[0][1] if len(parts) == 1 else center / mass[i])
        second = arrays.zeros(3, 3)
        for m, r, I in parts:
            arm = dual(r - R[i])
            second = second + I - (m * product(arm, arm) if len(parts) > 1 else 0)
        E[i] = p.define("E", "E", number, second)
    p.step(
        "Composite bodies",
        "A link and all that lies beyond it as one rigid body: its mass, its centre of mass R from the origin of the "
        "link, and "
        f"inertia E about it, in the axes of the link (THESIS (6.2.5), (6.2.6)). {CARRIED}",
        r"\bar{m}_i = m_i + \sum_j \bar{m}_j, \quad R_i = \frac{1}{\bar{m}_i} \left( m_i r_i + \sum_j \bar{m}_j R'_j "
        r"\right), \quad R'_j = s_j + "
        r"A_j R_j, \quad E_i = I_i - m_i \widetilde{(r_i - R_i)}^2 + \sum_j \left( A_j E_j A_j^T - \bar{m}_j "
        r"\widetilde{(R'_j - R_i)}^2 \right)",
    )
    turn, slide = _unit(p)
    p.step(
        "Columns of the inertia matrix",
        "Force and moment, at its own joint, that a unit of acceleration of joint k needs, everything else at rest; "
        "then "
        "the same at the joints i inside it, on the way to the base (THESIS (6.2.7)-(6.2.9)). The index i - 1 stands "
        "for "
        "the link that carries link i.",
        rf"f_{{k,k}} = \bar{{m}}_k ({turn} \times R_k + {slide}), \quad \eta_{{k,k}} = E_k {turn} + R_k \times "
        rf"f_{{k,k}}, \quad "
        + INWARD + _entries(p),
    )  # fmt: skip

    def own(i: int, zw: Array, zv: Array) -> tuple[Array, Array]:
        force = mass[i] * (cross(zw, R[i]) + zv)
        return force, product(E[i], zw) + cross(R[i], force)

    return _columns(p, own)


COMPOSITE: dict[str, Callable[[Paper], Array]] = {
    "generalized-links": generalized_links,
    "walker-orin": walker_orin,
}
"""Name of an algorithm -> its steps on paper."""

FORMULAS = {
    "column-method": (
        "Column k is the inverse dynamics above for a unit of acceleration k, at rest and without gravity (THESIS "
        "(6.2.4)).",
        r"M e_k = \tau(q, \dot{q} = 0, \ddot{q} = e_k, \mathbf{g} = 0)",
    ),
    "two-sided": (
        "Force and moment of a column are carried to the base from both of its ends; entries are those of generalized "
        "links.",
        r"M_{ik} = \tau_i(q, \dot{q} = 0, \ddot{q} = e_k, \mathbf{g} = 0)",
    ),
    "orthogonal-complement": (
        "T_i gives the twist of link i, angular velocity and velocity of its origin in axes of the base, per velocity; "
        "the inertia of a link is about its origin (THESIS (6.2.10)-(6.2.17)).",
        r"M = \sum_i T_i^T \begin{bmatrix} I_i & m_i \tilde{r}_i \\ -m_i \tilde{r}_i & m_i \mathbf{1} "
        r"\end{bmatrix} T_i",
    ),
    "operator-factors": (
        "Articulated inertias P, with gains G: the factors of M, which are also those of its inverse (Rodriguez and "
        "Kreutz; THESIS (6.2.18)).",
        r"M = (1 + H \Phi L)\, \hat{D}\, (1 + H \Phi L)^T, \quad \hat{D}_i = H_i P_i H_i^T, \quad "
        r"G_i = P_i H_i^T \hat{D}_i^{-1}",
    ),
}
"""Name of an algorithm -> what it does, and its formula; these are not written out link by link."""
