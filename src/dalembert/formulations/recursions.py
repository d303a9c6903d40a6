"""The inverse dynamics of the THESIS on paper: what each algorithm computes for every link, in the order of computing.

These are the printed equations, extended to joints of all kinds and to trees. The algorithms that run are those of
:mod:`dalembert.algorithms.inverse_dynamics`; that both give the same forces is a test.
"""

from __future__ import annotations

from collections.abc import Callable

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, asarray, product
from dalembert.algebra.scalar import is_zero
from dalembert.algebra.vectors import cross, double_dot, dual, dyad, trace, undual
from dalembert.formulations.joint_letters import joints_of
from dalembert.formulations.paper import Paper
from dalembert.model.tree import gather

CARRIED = "Sums are over the links j that link i carries."
BEFORE = "The index i - 1 stands for the link that carries link i; the base, link 0, is at rest"
BY_CENTRES = (
    "m is the mass, r the position of the centre of mass and I the inertia about it, in the axes of the link.",
    (("m", "m"), ("r", "r"), ("I", "I")),
)
BY_ORIGINS = (
    "m is the mass, n = m r the first moment and J the second moment of the mass, the integral of r r^T dm, about the "
    "origin.",
    (("m", "m"), ("n", "n"), ("J", "J")),
)
"""What a link is made of, in words and letters."""

GROUND = r"\ddot{s}_0 = -\mathbf{g}"


# ---------------------------------------------------------------------------------- Newton and Euler: 5.3, 5.4 and 5.5


def _outward(p: Paper, spin: Callable[[int, Array, Array, Array], None], tensors: bool) -> dict[str, list[Array]]:
    """Motion of every link in its own axes, and what a link needs by itself.

    Args:
        spin: defines, for a link with its w, wd (or Om) and sdd, what the link needs.
        tensors: with the tensors Om of angular acceleration instead of products of vectors.
    """
    found: dict[str, list[Array]] = {name: [] for name in ("w", "wd", "Om", "sdd", "zeta")}
    rest = arrays.zeros(3)
    for i, link in enumerate(p.links):
        j, number = link.parent, str(i + 1)
        w0, wd0, sdd0 = (found[x][j] if j >= 0 else rest for x in ("w", "wd", "sdd"))
        if j < 0:
            sdd0 = rest if p.system.field is not None else -p.tree.gravity
        turn, slide = p.turn(i, p.rate(i)), p.slide(i, p.rate(i))
        w = p.define(r"\omega", "omega", number, p.outward(i, w0) + turn)
        wd = p.outward(i, wd0) + p.turn(i, p.acceleration(i)) + cross(w, turn)
        wd = p.define(r"\dot{\omega}", "omega_dot", number, wd)
        zeta = p.slide(i, p.acceleration(i)) + 2 * cross(w, slide)
        if link.translates:
            zeta = p.define(r"\zeta", "zeta", number, zeta)
        if j >= 0:
            s = p.s[i]
            swing = product(found["Om"][j], s) if tensors else cross(wd0, s) + cross(w0, cross(w0, s))
            sdd0 = sdd0 + swing
        sdd = p.define(r"\ddot{s}", "s_ddot", number, p.outward(i, sdd0) + zeta)
        Om = dual(wd) + product(dual(w), dual(w))
        if tensors:
            Om = p.define(r"\Omega", "Omega", number, Om)
        for name, values in (("w", w), ("wd", wd), ("Om", Om), ("sdd", sdd), ("zeta", zeta)):
            found[name].append(values)
        spin(i, w, Om if tensors else wd, sdd)
        p.link_step("Outward", i)
    return found


def _motion_formula(p: Paper, tensors: bool) -> str:
    """The recursion of the motion, LaTeX."""
    joint = joints_of(p.tree)
    swing = (
        r"\Omega_{i-1} s_i"
        if tensors
        else r"\dot{\omega}_{i-1} \times s_i + \omega_{i-1} \times (\omega_{i-1} \times s_i)"
    )
    tensor = r"\Omega_i = \tilde{\dot{\omega}}_i + \tilde{\omega}_i \tilde{\omega}_i, \quad " * tensors
    ground = r"\ddot{s}_0 = 0" if p.system.field is not None else GROUND
    sliding = any(link.translates for link in p.links)
    zeta = rf"\zeta_i = {joint.slide_rate} + 2 \omega_i \times {joint.slide}, \quad " * sliding
    return (
        rf"\omega_i = A_i^T \omega_{{i-1}} + {joint.turn}, \quad "
        rf"\dot{{\omega}}_i = A_i^T \dot{{\omega}}_{{i-1}} + {joint.turn_rate} + \omega_i \times {joint.turn}, \quad "
        + tensor + zeta
        + rf"\ddot{{s}}_i = A_i^T (\ddot{{s}}_{{i-1}} + {swing})" + r" + \zeta_i" * sliding + rf", \quad {ground}"
    )  # fmt: skip


def _outward_words(p: Paper, number: str) -> str:
    field = p.system.field is not None
    return (
        "From the base to the tips, everything in the axes of the link: angular velocity and acceleration, and the "
        f"acceleration of the origin ({number}). {BEFORE}"
        + ("; gravity acts as forces on the links." if field else " and falls upwards, which takes care of gravity.")
    )


def _field_loads(p: Paper) -> list[tuple[Array, Array] | None]:
    """Force of a field of gravity on every link, and moment about its centre of mass; none where it is uniform."""
    loads: list[tuple[Array, Array] | None] = [None] * len(p.links)
    field = p.system.field
    if field is None:
        return loads
    massive = [i for i, matter in enumerate(p.matter) if not matter.is_zero]
    for i, body in zip(massive, p.system.bodies):
        force, moment = field.load_in_body(body.mass, body.inertia, body.rotation, body.center)
        number = str(i + 1)
        loads[i] = p.define("f_g", "f_g", number, force), p.define("n_g", "n_g", number, moment)
    p.step(
        "Gravity",
        f"Force of the field on each link, and its moment about the centre of mass, link axes. {field.words()}",
        rf"{field.load_formula()}, \quad {field.letters('i')}",
    )
    return loads


def _gather(p: Paper, tau: list[Array]) -> Array:
    """The generalised forces of all joints; shown where they are not simply those of the links one by one."""
    total = gather(p.tree, tau)
    if p.tree.coupled or any(link.nv > 1 for link in p.links):
        p.show(r"\tau", "tau", "", total)
        p.step("Generalised forces", "In the order of the velocities.", "")
    return total


def newton_euler(p: Paper, tensors: bool = False) -> Array:
    """Algorithms 5.3, with vectors, and 5.4, with tensors."""
    p.show_links(*BY_CENTRES)
    number = "THESIS (5.3.7)" if tensors else "THESIS (5.2.10)"
    J: list[Array] = []
    own = r"\hat{I}_i = \tfrac12 \mathrm{tr}(I_i) \mathbf{1} - I_i" if tensors else ""
    if tensors:
        for i in range(len(p.links)):
            J.append(p.define(r"\hat{I}", "I_hat", str(i + 1), _pseudo(p.moment("I", i))))
        p.step("Pseudo-inertia", "Computed once, off-line (THESIS (4.3.6)).", own)
    loads = _field_loads(p)
    arm = r"\Omega_i r_i" if tensors else r"\dot{\omega}_i \times r_i + \omega_i \times (\omega_i \times r_i)"
    torque = (
        r"\tilde{N}_i = \Omega_i \hat{I}_i - (\Omega_i \hat{I}_i)^T"
        if tensors
        else r"N_i = I_i \dot{\omega}_i + \omega_i \times I_i \omega_i"
    )
    p.step(
        "Outward", _outward_words(p, number) + " F and N are the force, and the moment about the centre of mass, that "
        "the link by itself needs.",
        _motion_formula(p, tensors)
        + rf", \quad \ddot{{r}}_i = \ddot{{s}}_i + {arm}, \quad F_i = m_i \ddot{{r}}_i, \quad {torque}",
    )  # fmt: skip
    F: list[Array] = []
    N: list[Array] = []

    def needs(i: int, w: Array, spin: Array, sdd: Array) -> None:
        m, r, I = (p.moment(x, i) for x in ("m", "r", "I"))
        if p.matter[i].is_zero:
            F.append(arrays.zeros(3))
            N.append(arrays.zeros(3))
            return
        index = str(i + 1)
        swing = product(spin, r) if tensors else cross(spin, r) + cross(w, cross(w, r))
        rdd = p.define(r"\ddot{r}", "r_ddot", index, sdd + swing)
        F.append(p.define("F", "F", index, m * rdd))
        moment = _torque(spin, J[i]) if tensors else product(I, spin) + cross(w, product(I, w))
        N.append(p.define("N", "N", index, moment))

    _outward(p, needs, tensors)
    field = p.system.field is not None
    own = "(F_i - f_{gi}) - n_{gi}" if field else "F_i"
    p.step(
        "Inward",
        "From the tips to the base: force f and moment eta, about the origin, that the joint has to pass on to the "
        "link "
        f"({'THESIS (5.3.8)' if tensors else 'THESIS (5.2.11)'}). {CARRIED}",
        rf"f_i = F_i{' - f_{gi}' * field} + \sum_j A_j f_j, \quad "
        rf"\eta_i = N_i + r_i \times {own} + "
        r"\sum_j (A_j \eta_j + s_j \times A_j f_j), \quad " + joints_of(p.tree).tau(r"\eta_i", "f_i"),
    )
    f: list[Array] = [arrays.zeros(3)] * len(p.links)
    eta: list[Array] = [arrays.zeros(3)] * len(p.links)
    tau: list[Array] = [arrays.zeros(3)] * len(p.links)
    for i in reversed(range(len(p.links))):
        force, moment = F[i], N[i] + cross(p.moment("r", i), F[i])
        if (load := loads[i]) is not None:
            force, moment = force - load[0], moment - load[1] - cross(p.moment("r", i), load[0])
        for c in p.children(i):
            pulled = p.inward(c, f[c])
            force, moment = force + pulled, moment + p.inward(c, eta[c]) + cross(p.s[c], pulled)
        f[i] = p.define("f", "f", str(i + 1), force)
        eta[i] = p.define(r"\eta", "eta", str(i + 1), moment)
        tau[i] = _joint_force(p, i, eta[i], f[i])
        p.link_step("Inward", i)
    return _gather(p, tau)


def tensor_form(p: Paper) -> Array:
    """Algorithm 5.4."""
    return newton_euler(p, tensors=True)


def _joint_force(p: Paper, i: int, moment: Array, force: Array) -> Array:
    link = p.links[i]
    tau = product(link.Zw.T, moment) + product(link.Zv.T, force)
    p.show(r"\tau", "tau", str(i + 1), tau if link.nv > 1 else tau[0])
    return tau


def _pseudo(I: Array) -> Array:
    """1/2 tr(I) 1 - I."""
    return asarray((arrays.identity(3) * (trace(I) / 2) - I).tolist())


def _torque(Om: Array, J: Array) -> Array:
    """The vector of the skew tensor Om J - (Om J)^T."""
    x = product(Om, J)
    return undual(x - x.T)


def augmented(p: Paper) -> tuple[list[Array], list[Array], list[Array]]:
    """Mass, first moment and inertia of every augmented link (5.3.44), a step of its own the first time."""
    if p.augmented is not None:
        return p.augmented
    n = len(p.links)
    mass: list[Array] = [p.moment("m", i) for i in range(n)]
    u: list[Array] = [arrays.zeros(3)] * n
    K: list[Array] = [arrays.zeros(3, 3)] * n
    for i in reversed(range(n)):
        m, r, number = p.moment("m", i), p.moment("r", i), str(i + 1)
        first, second = m * asarray(r), p.moment("I", i) - m * product(dual(r), dual(r))
        total = m
        for c in p.children(i):
            s = p.s[c]
            total = total + mass[c]
            first, second = first + mass[c] * s, second - mass[c] * product(dual(s), dual(s))
        mass[i] = p.define(r"\bar{m}", "m_bar", number, total)
        u[i] = p.define("u", "u", number, first)
        K[i] = p.define("K", "K", number, second)
    p.step(
        "Augmented links",
        "The mass of everything that lies beyond a joint is added to the link inside, as a point at that joint. Mass, "
        "first moment and inertia about the origin of the augmented link change only where a joint beyond it slides, "
        f"and are computed off-line otherwise (THESIS Definition 5.1, (5.3.44)). {CARRIED}",
        r"\bar{m}_i = m_i + \sum_j \bar{m}_j, \quad u_i = m_i r_i + \sum_j \bar{m}_j s_j, \quad "
        r"K_i = I_i - m_i \tilde{r}_i \tilde{r}_i - \sum_j \bar{m}_j \tilde{s}_j \tilde{s}_j",
    )
    p.augmented = mass, u, K
    return p.augmented


def augmented_links(p: Paper) -> Array:
    """Algorithm 5.5."""
    p.show_links(*BY_CENTRES)
    mass, u, K = augmented(p)
    Kh = [p.define(r"\hat{K}", "K_hat", str(i + 1), _pseudo(K[i])) for i in range(len(p.links))]
    half = r"\hat{K}_i = \tfrac12 \mathrm{tr}(K_i) \mathbf{1} - K_i"
    p.step("Pseudo-inertia of augmented links", "THESIS (5.3.44).", half)
    loads = _field_loads(p)
    p.step(
        "Outward", _outward_words(p, "THESIS (5.3.45)") + " mu is the moment that the augmented link needs to turn.",
        _motion_formula(p, True) + r", \quad \tilde{\mu}_i = \Omega_i \hat{K}_i - (\Omega_i \hat{K}_i)^T",
    )  # fmt: skip
    mu: list[Array] = []

    def needs(i: int, w: Array, Om: Array, sdd: Array) -> None:
        mu.append(p.define(r"\mu", "mu", str(i + 1), _torque(Om, Kh[i])))

    motion = _outward(p, needs, True)
    field = p.system.field is not None
    sliding = any(p.links[c].translates for c in range(len(p.links)) if p.links[c].parent >= 0)
    B = r"B_j = A_j (\ddot{U}_j" + r" + \bar{m}_j \zeta_j" * sliding + "), "
    force = r"\bar{m}_i \ddot{s}_i + \ddot{U}_i" + " - p_i" * field
    pull, lost = ("(B_j - A_j p_j)", r" - r_i \times f_{gi} - n_{gi}") if field else ("B_j", "")
    p.step(
        "Inward",
        "From the tips to the base: U is the first moment, about the origin of link i, of that link and all beyond it, "
        f"with its second derivative; eta is the moment at the joint (THESIS (5.3.46)). {CARRIED}"
        + " p is the pull of the field on a link and all beyond it." * field,
        B + r"\quad \ddot{U}_i = \Omega_i u_i + \sum_j B_j, \quad " + r"p_i = f_{gi} + \sum_j A_j p_j, \quad " * field
        + rf"\eta_i = \mu_i + u_i \times \ddot{{s}}_i{lost} + \sum_j (s_j \times "
        rf"{pull} + A_j \eta_j), "
        rf"\quad "
        + joints_of(p.tree).tau(r"\eta_i", rf"({force})"),
    )  # fmt: skip
    n = len(p.links)
    Udd, eta, pulled, tau = ([arrays.zeros(3)] * n for _ in range(4))
    for i in reversed(range(n)):
        number, sdd = str(i + 1), motion["sdd"][i]
        first = product(motion["Om"][i], u[i])
        moment = mu[i] + cross(u[i], sdd)
        weight = arrays.zeros(3)
        if (load := loads[i]) is not None:
            weight, moment = load[0], moment - load[1] - cross(p.moment("r", i), load[0])
        for c in p.children(i):
            moved = Udd[c] + mass[c] * motion["zeta"][c] if p.links[c].translates else Udd[c]
            B_c = p.define("B", "B", str(c + 1), p.inward(c, moved))
            first = first + B_c
            if field:
                outer = p.inward(c, pulled[c])
                weight, B_c = weight + outer, B_c - outer
            moment = moment + cross(p.s[c], B_c) + p.inward(c, eta[c])
        Udd[i] = p.define(r"\ddot{U}", "U_ddot", number, first)
        if field:
            pulled[i] = p.define("p", "p", number, weight)
        eta[i] = p.define(r"\eta", "eta", number, moment)
        needed = arrays.zeros(3) if all(map(is_zero, p.links[i].Zv.flat)) else mass[i] * sdd + Udd[i] - pulled[i]
        tau[i] = _joint_force(p, i, eta[i], needed)
        p.link_step("Inward", i)
    return _gather(p, tau)


# -------------------------------------------------------------------------------------- Lagrange's recursion: 5.1, 5.2


def _transformations(p: Paper, big: bool) -> tuple[list[Array], list[Array], list[Array], list[Array]]:
    """W, Wd and Wdd of every link, and its A, all 4 x 4 or all 3 x 3; a step for each link.

    Args:
        big: homogeneous transformations instead of rotations.
    """
    W: list[Array] = []
    Wd: list[Array] = []
    Wdd: list[Array] = []
    As: list[Array] = []
    for i, link in enumerate(p.links):
        j, number = link.parent, str(i + 1)
        A = homogeneous(p.A[i], p.s[i], 1) if big else p.A[i]
        X, Xa = twist(p, i, p.rate(i), big), twist(p, i, p.acceleration(i), big)
        Xd = product(X, X) + Xa
        moving = product(Wd[j], A) if j >= 0 else None
        As.append(A)
        W.append(p.define("W", "W", number, product(W[j], A) if j >= 0 else A))
        turning = product(W[i], X)
        Wd.append(p.define(r"\dot{W}", "W_dot", number, turning if moving is None else moving + turning))
        second = product(W[i], Xd)
        if moving is not None:
            second = product(Wdd[j], A) + 2 * product(moving, X) + second
        Wdd.append(p.define(r"\ddot{W}", "W_ddot", number, second))
        if big:
            p.link_step("Outward", i)
    return W, Wd, Wdd, As


def homogeneous(R: Array, s: Array, corner: int) -> Array:
    """[[R, s], [0, corner]]."""
    return asarray([[*R[k], s[k]] for k in range(3)] + [[0, 0, 0, corner]])


def twist(p: Paper, i: int, velocity: Array, big: bool) -> Array:
    """X: the motion of the joint as a matrix, 4 x 4 or 3 x 3."""
    X = dual(p.turn(i, velocity))
    return homogeneous(X, p.slide(i, velocity), 0) if big else X


ROTATING = (
    r"W_i = W_{i-1} A_i, \quad \dot{W}_i = \dot{W}_{i-1} A_i + W_i X_i, \quad "
    r"\ddot{W}_i = \ddot{W}_{i-1} A_i + 2 \dot{W}_{i-1} A_i X_i + W_i (X_i X_i + X'_i)"
)
"""What (5.2.4) is with dA/dq = A X."""


def _big_words(p: Paper) -> str:
    joint = joints_of(p.tree)
    return (
        rf"T_i = \begin{{bmatrix}} A_i & s_i \\ 0 & 1 \end{{bmatrix}}, \quad "
        rf"X_i = \begin{{bmatrix}} \widetilde{{{joint.turn}}} & {joint.slide} \\ 0 & 0 \end{{bmatrix}}, \quad "
        rf"X'_i = \begin{{bmatrix}} \widetilde{{{joint.turn_rate}}} & {joint.slide_rate} \\ 0 & 0 \end{{bmatrix}}, "
        rf"\quad "
    )


def hollerbach_4x4(p: Paper) -> Array:
    """Algorithm 5.1."""
    p.show_links(*BY_ORIGINS)
    p.step(
        "Outward",
        "From the base to the tips: transformations to the base and their derivatives (THESIS (5.2.4)). X is the "
        "motion "
        "of the joint, dA/dq = A X. The index i - 1 stands for the link that carries link i.",
        _big_words(p) + ROTATING.replace("A_i", "T_i"),
    )
    W, _, Wdd, T = _transformations(p, True)
    p.step(
        "Inward",
        f"From the tips to the base (THESIS (5.2.5)); D and c are in the axes of the link. {CARRIED} E_k is X for a "
        f"unit "
        "of the k-th velocity of the joint.",
        r"D_i = \begin{bmatrix} J_i & n_i \\ n_i^T & m_i \end{bmatrix} \ddot{W}_i^T + \sum_j T_j D_j, \quad "
        r"c_i = \begin{bmatrix} n_i \\ m_i \end{bmatrix} + \sum_j T_j c_j, \quad "
        r"\tau_{ik} = \mathrm{tr}(W_i E_k D_i) - \begin{bmatrix} \mathbf{g}^T & 0 \end{bmatrix} W_i E_k c_i",
    )
    n = len(p.links)
    D, c, tau = ([arrays.zeros(4)] * n for _ in range(3))
    g = asarray([*p.tree.gravity, 0])
    for i in reversed(range(n)):
        m, first, J = p.moment("m", i), p.moment("n", i), p.moment("J", i)
        inertia = asarray([[*J[k], first[k]] for k in range(3)] + [[*first, m]])
        moving, center = product(inertia, Wdd[i].T), asarray([*first, m])
        for j in p.children(i):
            moving, center = moving + product(T[j], D[j]), center + product(T[j], c[j])
        D[i] = p.define("D", "D", str(i + 1), moving)
        c[i] = p.define("c", "c", str(i + 1), center)
        forces = []
        for unit in arrays.identity(p.links[i].nv):
            dW = product(W[i], twist(p, i, unit, True))
            forces.append(trace(product(dW, D[i])) - product(g[None], product(dW, c[i]))[0])
        tau[i] = asarray(forces)
        p.show(r"\tau", "tau", str(i + 1), tau[i] if len(forces) > 1 else forces[0])
        p.link_step("Inward", i)
    return _gather(p, tau)


def hollerbach_3x3(p: Paper) -> Array:
    """Algorithm 5.2, extended to joints that slide."""
    p.show_links(*BY_ORIGINS)
    joint = joints_of(p.tree)
    p.step(
        "Outward",
        "From the base to the tips: rotations to the base and their derivatives, acceleration of the origin in axes of "
        "the base (THESIS (5.2.7), extended to joints that slide). X is the motion of the joint, dA/dq = A X. The "
        "index "
        "i - 1 stands for the link that carries link i.",
        rf"X_i = \widetilde{{{joint.turn}}}, \quad X'_i = \widetilde{{{joint.turn_rate}}}, \quad " + ROTATING
        + r", \quad \ddot{s}_{0,i} = \ddot{s}_{0,i-1} + \ddot{W}_{i-1} s_i + "
        rf"2 \dot{{W}}_{{i-1}} A_i {joint.slide} + W_i {joint.slide_rate}",
    )  # fmt: skip
    W, Wd, Wdd, A = _transformations(p, False)
    sdd: list[Array] = []
    for i, link in enumerate(p.links):
        j = link.parent
        total = product(W[i], p.slide(i, p.acceleration(i)))
        if j >= 0:
            coriolis = 2 * product(product(Wd[j], A[i]), p.slide(i, p.rate(i)))
            total = sdd[j] + product(Wdd[j], p.s[i]) + coriolis + total
        sdd.append(p.define(r"\ddot{s}", "s_ddot", f"0,{i + 1}", total))
    p.step("Outward: all links", "What was defined of every link.")
    p.step(
        "Inward",
        f"From the tips to the base (THESIS (5.2.8)). {CARRIED} Z_k is X for a unit of the k-th velocity of the joint, "
        "z_k the velocity of the origin.",
        r"\bar{m}_i = m_i + \sum_j \bar{m}_j, \quad e_i = m_i \ddot{s}_{0,i} + \ddot{W}_i n_i + \sum_j e_j, \quad "
        r"D_i = n_i \ddot{s}_{0,i}^T + J_i \ddot{W}_i^T + \sum_j (A_j D_j + s_j e_j^T), \quad "
        r"c_i = n_i + \sum_j (\bar{m}_j s_j + A_j c_j), \quad "
        r"\tau_{ik} = \mathrm{tr}(W_i Z_k D_i) - \mathbf{g}^T W_i Z_k c_i + (e_i - \bar{m}_i \mathbf{g})^T W_i z_k",
    )
    n = len(p.links)
    mass, e, D, c, tau = ([arrays.zeros(3)] * n for _ in range(5))
    for i in reversed(range(n)):
        m, first, J, number = p.moment("m", i), p.moment("n", i), p.moment("J", i), str(i + 1)
        total, force = m, m * sdd[i] + product(Wdd[i], first)
        moving, center = dyad(first, sdd[i]) + product(J, Wdd[i].T), asarray(first)
        for j in p.children(i):
            s = p.s[j]
            total, force = total + mass[j], force + e[j]
            moving = moving + product(A[j], D[j]) + dyad(s, e[j])
            center = center + mass[j] * s + product(A[j], c[j])
        mass[i] = p.define(r"\bar{m}", "m_bar", number, total)
        e[i] = p.define("e", "e", number, force)
        D[i] = p.define("D", "D", number, moving)
        c[i] = p.define("c", "c", number, center)
        forces = []
        for unit in arrays.identity(p.links[i].nv):
            dW, slide = product(W[i], dual(p.turn(i, unit))), product(W[i], p.slide(i, unit))
            torque = double_dot(dW, D[i]) - product(p.tree.gravity[None], product(dW, c[i]))[0]
            forces.append(torque + product((e[i] - mass[i] * p.tree.gravity)[None], slide)[0])
        tau[i] = asarray(forces)
        p.show(r"\tau", "tau", number, tau[i] if len(forces) > 1 else forces[0])
        p.link_step("Inward", i)
    return _gather(p, tau)


# -------------------------------------------------------------------------------------------------------- closed forms


def waters(p: Paper) -> Array:
    """(5.2.3)."""
    p.show_links(*BY_ORIGINS)
    p.step(
        "Transformations",
        "To the base, and their derivatives. X is the motion of the joint, dA/dq = A X. The index i - 1 stands for the "
        "link that carries link i.",
        _big_words(p) + ROTATING.replace("A_i", "T_i"),
    )
    W, _, Wdd, T = _transformations(p, True)
    p.step(
        "Closed form",
        "Lagrange's equations by traces (Waters; THESIS (5.2.3)). The sum is over link i and all links j beyond it; "
        "W_j,i is "
        "the derivative of W_j by the velocity of joint i, and E_k is X for a unit of its k-th velocity.",
        r"W_{i,i} = W_i E_k, \quad W_{j,i} = W_{j-1,i} T_j, \quad "
        r"\tau_{ik} = \sum_{j \ge i} \left( \mathrm{tr}\left( W_{j,i} \begin{bmatrix} J_j & n_j \\ n_j^T & m_j "
        r"\end{bmatrix} \ddot{W}_j^T \right) - \begin{bmatrix} \mathbf{g}^T & 0 \end{bmatrix} W_{j,i} "
        r"\begin{bmatrix} n_j \\ m_j \end{bmatrix} \right)",
    )
    n = len(p.links)
    g = asarray([*p.tree.gravity, 0])
    tau: list[Array] = [arrays.zeros(0)] * n
    for i in range(n):
        forces = []
        for k, unit in enumerate(arrays.identity(p.links[i].nv)):
            slopes = {i: product(W[i], twist(p, i, unit, True))}
            total = 0
            for j in range(i, n):
                if i not in p.tree.ancestors[j]:
                    continue
                if j != i:
                    slopes[j] = product(slopes[p.links[j].parent], T[j])
                index = f"{j + 1},{i + 1}" + f",{k + 1}" * (p.links[i].nv > 1)
                slopes[j] = p.define("W", "W", index, slopes[j])
                m, first, J = p.moment("m", j), p.moment("n", j), p.moment("J", j)
                inertia = asarray([[*J[r], first[r]] for r in range(3)] + [[*first, m]])
                center = asarray([*first, m])
                share = trace(product(slopes[j], product(inertia, Wdd[j].T)))
                total = total + share - product(g[None], product(slopes[j], center))[0]
            forces.append(total)
        tau[i] = asarray(forces)
        p.show(r"\tau", "tau", str(i + 1), tau[i] if len(forces) > 1 else forces[0])
        p.link_step("Generalised force", i)
    return _gather(p, tau)


def kane_silver(p: Paper) -> Array:
    """(5.2.13), (5.2.14)."""
    p.show_links(*BY_CENTRES)
    joint = joints_of(p.tree)
    p.step(
        "Motion of the links",
        "Everything in the axes of the base: rotation W, position o of the origin, angular velocity and acceleration, "
        f"acceleration of the origin. {BEFORE} and falls upwards, which takes care of gravity.",
        r"W_i = W_{i-1} A_i, \quad o_i = o_{i-1} + W_{i-1} s_i, \quad "
        rf"\omega_i = \omega_{{i-1}} + W_i {joint.turn}, \quad "
        rf"\dot{{\omega}}_i = \dot{{\omega}}_{{i-1}} + W_i {joint.turn_rate} + \omega_i \times W_i {joint.turn}, \quad "
        r"\ddot{s}_i = \ddot{s}_{i-1} + \dot{\omega}_{i-1} \times W_{i-1} s_i + \omega_{i-1} \times (\omega_{i-1} "
        r"\times "
        rf"W_{{i-1}} s_i) + W_i {joint.slide_rate} + 2 \omega_i \times W_i {joint.slide}, \quad " + GROUND
        + r", \quad \rho_i = W_i r_i, \quad F_i = m_i (\ddot{s}_i + \dot{\omega}_i \times \rho_i + \omega_i \times "
        r"(\omega_i \times \rho_i)), \quad N_i = W_i I_i W_i^T \dot{\omega}_i + \omega_i \times W_i I_i W_i^T "
        r"\omega_i + "
        r"\rho_i \times F_i",
    )  # fmt: skip
    W, o, w, wd, sdd, F, N = ([] for _ in range(7))  # type: ignore[var-annotated]
    rest = arrays.zeros(3)
    for i, link in enumerate(p.links):
        j, x = link.parent, str(i + 1)
        W.append(p.define("W", "W", x, product(W[j], p.A[i]) if j >= 0 else p.A[i]))
        arm = product(W[j], p.s[i]) if j >= 0 else asarray(p.s[i])
        o.append(p.define("o", "o", x, o[j] + arm if j >= 0 else arm))
        w0, wd0, sdd0 = (w[j], wd[j], sdd[j]) if j >= 0 else (rest, rest, -p.tree.gravity)
        turn = product(W[i], p.turn(i, p.rate(i)))
        w.append(p.define(r"\omega", "omega", x, w0 + turn))
        spin = wd0 + product(W[i], p.turn(i, p.acceleration(i))) + cross(w[i], turn)
        wd.append(p.define(r"\dot{\omega}", "omega_dot", x, spin))
        slide = product(W[i], p.slide(i, p.rate(i)))
        pushed = product(W[i], p.slide(i, p.acceleration(i))) + 2 * cross(w[i], slide)
        sdd.append(p.define(r"\ddot{s}", "s_ddot", x, sdd0 + cross(wd0, arm) + cross(w0, cross(w0, arm)) + pushed))
        if p.matter[i].is_zero:
            F.append(rest)
            N.append(rest)
        else:
            rho = p.define(r"\rho", "rho", x, product(W[i], p.moment("r", i)))
            acceleration = sdd[i] + cross(wd[i], rho) + cross(w[i], cross(w[i], rho))
            F.append(p.define("F", "F", x, p.moment("m", i) * acceleration))
            I = product(product(W[i], p.moment("I", i)), W[i].T)
            own = product(I, wd[i]) + cross(w[i], product(I, w[i])) + cross(rho, F[i])
            N.append(p.define("N", "N", x, own))
        p.link_step("Motion", i)
    p.step(
        "Closed form",
        "Kane's equations, as Silver wrote them (THESIS (5.2.13), (5.2.14)). The sum is over link i and all links j "
        "beyond it.",
        r"n_i = \sum_{j \ge i} (N_j + (o_j - o_i) \times F_j), \quad f_i = \sum_{j \ge i} F_j, \quad "
        + joint.tau("W_i^T n_i", "W_i^T f_i"),
    )  # fmt: skip
    n = len(p.links)
    tau: list[Array] = [rest] * n
    for i in range(n):
        beyond = [j for j in range(i, n) if i in p.tree.ancestors[j]]
        moment = sum((N[j] + cross(o[j] - o[i], F[j]) for j in beyond), start=arrays.zeros(3))
        force = sum((F[j] for j in beyond), start=arrays.zeros(3))
        moment, force = p.define("n", "n", str(i + 1), moment), p.define("f", "f", str(i + 1), force)
        tau[i] = _joint_force(p, i, product(W[i].T, moment), product(W[i].T, force))
        p.link_step("Generalised force", i)
    return _gather(p, tau)


RECURSIONS: dict[str, Callable[[Paper], Array]] = {
    "hollerbach-4x4": hollerbach_4x4,
    "hollerbach-3x3": hollerbach_3x3,
    "newton-euler": newton_euler,
    "newton-euler-loops": newton_euler,
    "tensor": tensor_form,
    "augmented-links": augmented_links,
    "waters": waters,
    "kane-silver": kane_silver,
}
"""Name of an algorithm -> its steps on paper. That of Uicker and Kahn has terms for all triples of joints, and is shown
by its formula alone."""

IN_FIELDS = ("newton-euler", "tensor", "augmented-links")
"""Those that are written for gravity that depends on position, too."""
