"""THESIS appendix C: Lemmas C-1 to C-12, partial derivatives of what Algorithm 5.5 computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import (
    inertia_from_pseudo,
)
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.vectors import cross, dual, trace
from dalembert.kinematics.frames import link_poses
from dalembert.proof.field import Dual, along, slopes
from dalembert.proof.theorems.drawn import history, products, values, vector
from dalembert.proof.theorems.links import CHAIN, GenericChain, serial_chain
from dalembert.proof.theorems.theorem import Sides, Theorems

DERIVATIVES = Theorems()

MIXED = "The chain may hold prismatic joints; j is revolute."


class _Variation:
    """A chain, and the same chain varied in one coordinate, rate or acceleration."""

    def __init__(self, field: Any):
        self.subject = s = serial_chain(field)
        self.chain = GenericChain(s.mechanism, s.q, s.v, s.a)
        self.revolute = [j for j, kind in enumerate(CHAIN) if kind == "revolute"]
        self._made: dict[tuple[str, int], GenericChain] = {}

    def _varied(self, by: str, j: int) -> GenericChain:
        if (by, j) not in self._made:
            s, unit = self.subject, arrays.identity(len(CHAIN))[j].tolist()
            state = [along(x, unit) if name == by else x for name, x in (("q", s.q), ("v", s.v), ("a", s.a))]
            self._made[by, j] = GenericChain(s.mechanism, *state)
        return self._made[by, j]

    def slopes(self, by: str, of: Callable[[GenericChain, int], Array], last: int = 0) -> Array:
        """The derivative of a quantity of every link, in its own axes, by every revolute joint's coordinate.

        Args:
            by: ``q``, ``v`` or ``a``.
            of: the quantity of a link, in base axes.
            last: how many links at the end have none.
        """

        def entry(i: int, j: int) -> Array:
            varied = self._varied(by, j)
            return slopes(varied.own(i, of(varied, i)))

        return self._grid(entry, last)

    def formula(self, inside: Callable[[int, int], Array], beyond: Any = None, last: int = 0) -> Array:
        """The right side: ``inside(i, j)`` for j <= i and ``beyond(i, j)`` or zero for j > i, in base axes."""

        def entry(i: int, j: int) -> Array:
            if j > i and beyond is None:
                return np.zeros_like(inside(i, 0))
            return self.chain.own(i, inside(i, j) if j <= i else beyond(i, j))

        return self._grid(entry, last)

    def _grid(self, entry: Callable[[int, int], Array], last: int) -> Array:
        return np.array([[entry(i, j) for j in self.revolute] for i in range(len(CHAIN) - last)], dtype=object)


class _Rotations:
    """W_i, Wdot_i and Wddot_i of a chain with their derivatives: dual numbers of time within dual numbers of j."""

    def __init__(self, field: Any):
        self.subject = s = serial_chain(field)
        self.chain = GenericChain(s.mechanism, s.q, s.v, s.a)
        self.revolute = [j for j, kind in enumerate(CHAIN) if kind == "revolute"]
        self._made: dict[tuple[str, int], list[tuple[Array, Array, Array]]] = {}

    def _varied(self, by: str, j: int) -> list[tuple[Array, Array, Array]]:
        if (by, j) not in self._made:
            s, n = self.subject, len(CHAIN)
            unit, none = arrays.identity(n)[j].tolist(), [0] * n
            state = [along(x, unit if name == by else none) for name, x in (("q", s.q), ("v", s.v), ("a", s.a))]
            places = link_poses(s.mechanism.tree, history(*state))
            found = []
            for place in places:
                W = _full(place.rotation)
                found.append((values(values(W)), values(slopes(W)), slopes(slopes(W))))
            self._made[by, j] = found
        return self._made[by, j]

    def slopes(self, order: int, by: str) -> Array:
        """The derivative of W (order 0), Wdot (1) or Wddot (2) of every link by every revolute joint's coordinate."""
        return np.array(
            [[slopes(self._varied(by, j)[i][order]) for j in self.revolute] for i in range(len(CHAIN))], dtype=object
        )

    def formula(self, of: Callable[[Array, Array, Array, Array, Array], Array], inside: bool = False) -> Array:
        """``W_i of(z, zd, zdd, w, Om)`` with everything as dual tensors in the axes of link i; zero for j > i.

        Args:
            inside: leave out the factor W_i.
        """
        c = self.chain

        def entry(i: int, j: int) -> Array:
            if j > i:
                return np.zeros((3, 3), dtype=object)
            z, zd, zdd, w = (dual(c.own(i, x)) for x in (c.z[j], c.zd[j], c.zdd[j], c.w[i]))
            value = of(z, zd, zdd, w, c.own(i, c.Om[i]))
            return value if inside else product(c.W[i], value)

        return np.array([[entry(i, j) for j in self.revolute] for i in range(len(CHAIN))], dtype=object)


def _full(W: Array) -> Array:
    """Every entry a dual number of a dual number of a dual number: a rotation that nothing varies has plain ones."""
    zero = Dual(Dual(Dual(0, 0), Dual(0, 0)), Dual(Dual(0, 0), Dual(0, 0)))
    return np.array([zero + x for x in W.flat], dtype=object).reshape(W.shape)


@DERIVATIVES.states(
    "THESIS (C.6), (C.7)",
    "(C.6), (C.7)",
    "The rates of the rotation of link i relative to link j <= i, jW_i = W_j^T W_i, in the axes of link i.",
    "jW_i^T jWdot_i = w_i~ - w_j~; jW_i^T jWddot_i = Om_i + Om_j^T - 2 w_j~ w_i~",
)
def _relative_rotation(field: Any, sign: int) -> Iterator[Sides]:
    s = serial_chain(field)
    c = GenericChain(s.mechanism, s.q, s.v, s.a)
    W = [place.rotation for place in link_poses(s.mechanism.tree, history(s.q, s.v, s.a))]
    for j in range(len(CHAIN)):
        for i in range(j + 1, len(CHAIN)):
            if all(kind == "prismatic" for kind in CHAIN[j + 1 : i + 1]):
                continue  # nothing turns between them, and both sides vanish
            relative = product(W[j].T, W[i])
            back = values(values(relative)).T
            wi, wj = dual(c.own(i, c.w[i])), dual(c.own(i, c.w[j]))
            yield product(back, values(slopes(relative))), wi - sign * wj
            right = c.own(i, c.Om[i]) + c.own(i, c.Om[j]).T - 2 * sign * product(wj, wi)
            yield product(back, slopes(slopes(relative))), right


@DERIVATIVES.states(
    "THESIS (C.11)",
    "(C.11)",
    "The dual tensor of the second rate of a joint axis, as corrected: the first Om is transposed.",
    "zddot_j~ = -Om_j^T z_j~ - z_j~ Om_j + tr(Om_j) z_j~",
)
def _axis_second_rate(field: Any, sign: int) -> Iterator[Sides]:
    w, wd, axis = vector(field), vector(field), vector(field)
    Om, z = angular_acceleration_tensor(w, wd), dual(axis)
    yield dual(product(Om, axis)), -product(Om.T, z) - sign * product(z, Om) + z * trace(Om)


@DERIVATIVES.states(
    "THESIS Lemma C-1",
    "appendix C",
    "Derivatives of the rotation across a revolute joint and of its rates by the joint's coordinate, rate and "
    "acceleration.",
    "dA/dq = dAdot/dqd = dAddot/dqdd = A z~; dAdot/dq = Adot z~; dAddot/dq = Addot z~; dAddot/dqd = 2 dAdot/dq",
)
def _rotation_across(field: Any, sign: int) -> Iterator[Sides]:
    s = serial_chain(field)
    link = s.mechanism.tree.links[0]
    z = dual(link.own_axis)
    state = (s.q, s.v, s.a)

    def across(by: int) -> list[Array]:
        varied = [along(x, [int(k == by)] * len(CHAIN)) for k, x in enumerate(state)]
        A = _full(link.rotation(history(*varied)))
        return [values(values(A)), values(slopes(A)), slopes(slopes(A))]

    by_q, by_v, by_a = across(0), across(1), across(2)
    A, Ad, Add = (values(x) for x in by_q)
    for x in (by_q[0], by_v[1], by_a[2]):
        yield slopes(x), sign * product(A, z)
    yield slopes(by_q[1]), sign * product(Ad, z)
    yield slopes(by_q[2]), sign * product(Add, z)
    yield slopes(by_v[2]), 2 * sign * slopes(by_q[1])


@DERIVATIVES.states(
    "THESIS Lemma C-2",
    "appendix C",
    f"Derivatives of the rotation of a link and of its rates are the same up to a factor. {MIXED}",
    "dW_i/dq_j = dWdot_i/dqd_j = dWddot_i/dqdd_j; dWddot_i/dqd_j = 2 dWdot_i/dq_j; "
    "dW_i/dqd_j = dW_i/dqdd_j = dWdot_i/dqdd_j = 0",
)
def _rates_of_rotations(field: Any, sign: int) -> Iterator[Sides]:
    r = _Rotations(field)
    by_q = r.slopes(0, "q")
    nothing = r.slopes(0, "v") + r.slopes(0, "a") + r.slopes(1, "a")
    yield by_q + nothing, sign * r.slopes(1, "v")
    yield by_q, sign * r.slopes(2, "a")
    yield r.slopes(2, "v"), 2 * sign * r.slopes(1, "q")


@DERIVATIVES.states(
    "THESIS Lemma C-3",
    "appendix C",
    f"Derivatives of the rotation of link i and of its rates by the coordinate of joint j <= i; zero beyond. {MIXED}",
    "dW_i/dq_j = W_i z_j~; dWdot_i/dq_j = W_i (zdot_j~ + z_j~ w_i~); "
    "dWddot_i/dq_j = W_i (zddot_j~ + 2 zdot_j~ w_i~ + z_j~ Om_i)",
)
def _derivatives_of_rotations(field: Any, sign: int) -> Iterator[Sides]:
    yield from _by_coordinates(field, sign, inside=False)


def _by_coordinates(field: Any, sign: int, inside: bool) -> Iterator[Sides]:
    r = _Rotations(field)

    def left(order: int) -> Array:
        found = r.slopes(order, "q")
        if not inside:
            return found
        rows = [[product(r.chain.W[i].T, x) for x in row] for i, row in enumerate(found)]
        return np.array(rows, dtype=object)

    yield left(0), r.formula(lambda z, zd, zdd, w, Om: sign * z, inside)
    yield left(1), r.formula(lambda z, zd, zdd, w, Om: zd + sign * product(z, w), inside)
    yield left(2), r.formula(lambda z, zd, zdd, w, Om: zdd + 2 * sign * product(zd, w) + product(z, Om), inside)


@DERIVATIVES.states(
    "THESIS Lemma C-4",
    "appendix C",
    f"The same, taken back to the axes of link i. {MIXED}",
    "W_i^T dW_i/dq_j = z_j~; W_i^T dWdot_i/dq_j = zdot_j~ + z_j~ w_i~; "
    "W_i^T dWddot_i/dq_j = zddot_j~ + 2 zdot_j~ w_i~ + z_j~ Om_i",
)
def _derivatives_taken_back(field: Any, sign: int) -> Iterator[Sides]:
    yield from _by_coordinates(field, sign, inside=True)


@DERIVATIVES.states(
    "THESIS Lemma C-5",
    "appendix C",
    f"Derivatives of the angular velocity tensor of link i by joint j <= i; zero beyond. {MIXED}",
    "dw_i~/dq_j = zdot_j~; dw_i~/dqd_j = z_j~; dw_i~/dqdd_j = 0",
)
def _derivatives_of_velocity(field: Any, sign: int) -> Iterator[Sides]:
    x = _Variation(field)
    c = x.chain

    def quantity(c: GenericChain, i: int) -> Array:
        return dual(c.w[i])

    yield x.slopes("q", quantity), x.formula(lambda i, j: sign * dual(c.zd[j]))
    yield x.slopes("v", quantity) + x.slopes("a", quantity), x.formula(lambda i, j: sign * dual(c.z[j]))


@DERIVATIVES.states(
    "THESIS Lemma C-6",
    "appendix C",
    f"Derivatives of the angular acceleration tensor of link i by joint j <= i; zero beyond. {MIXED}",
    "dOm_i/dq_j = zddot_j~ + 2 zdot_j~ w_i~; dOm_i/dqd_j = 2 (zdot_j~ + z_j~ w_i~); dOm_i/dqdd_j = z_j~",
)
def _derivatives_of_tensor(field: Any, sign: int) -> Iterator[Sides]:
    x = _Variation(field)
    c = x.chain

    def quantity(c: GenericChain, i: int) -> Array:
        return c.Om[i]

    def turned(z: list[Array], i: int, j: int) -> Array:
        return product(dual(z[j]), dual(c.w[i]))

    yield x.slopes("q", quantity), x.formula(lambda i, j: dual(c.zdd[j]) + 2 * sign * turned(c.zd, i, j))
    yield x.slopes("v", quantity), x.formula(lambda i, j: 2 * (dual(c.zd[j]) + sign * turned(c.z, i, j)))
    yield x.slopes("a", quantity), x.formula(lambda i, j: sign * dual(c.z[j]))


@DERIVATIVES.states(
    "THESIS Lemma C-7",
    "appendix C",
    f"Derivatives of the angular acceleration of link i by joint j <= i; zero beyond. {MIXED}",
    "dwdot_i/dq_j = zddot_j + zdot_j x w_i; dwdot_i/dqd_j = 2 zdot_j + z_j x w_i; dwdot_i/dqdd_j = z_j",
)
def _derivatives_of_acceleration(field: Any, sign: int) -> Iterator[Sides]:
    x = _Variation(field)
    c = x.chain

    def quantity(c: GenericChain, i: int) -> Array:
        return c.wd[i]

    yield x.slopes("q", quantity), x.formula(lambda i, j: c.zdd[j] + sign * cross(c.zd[j], c.w[i]))
    yield x.slopes("v", quantity), x.formula(lambda i, j: 2 * c.zd[j] + sign * cross(c.z[j], c.w[i]))
    yield x.slopes("a", quantity), x.formula(lambda i, j: sign * c.z[j])


@DERIVATIVES.states(
    "THESIS Lemma C-8",
    "appendix C",
    f"Derivatives of the moment mu_i of augmented link i by joint j <= i; zero beyond. {MIXED}",
    "dmu_i/dqdd_j = K_i z_j; dmu_i/dqd_j = 2 (K_i zdot_j - w_i~ Kh_i z_j); "
    "dmu_i/dq_j = K_i zddot_j - 2 w_i~ Kh_i zdot_j",
)
def _derivatives_of_moment(field: Any, sign: int) -> Iterator[Sides]:
    x = _Variation(field)
    c = x.chain
    K = [inertia_from_pseudo(Kh) for Kh in c.Kh]

    def quantity(c: GenericChain, i: int) -> Array:
        return c.mu[i]

    def swept(i: int, z: Array) -> Array:
        return products(dual(c.w[i]), c.Kh[i], z)

    yield x.slopes("a", quantity), x.formula(lambda i, j: sign * product(K[i], c.z[j]))
    yield x.slopes("v", quantity), x.formula(lambda i, j: 2 * (product(K[i], c.zd[j]) - sign * swept(i, c.z[j])))
    yield x.slopes("q", quantity), x.formula(lambda i, j: product(K[i], c.zdd[j]) - 2 * sign * swept(i, c.zd[j]))


@DERIVATIVES.states(
    "THESIS Lemma C-9",
    "appendix C",
    f"Derivatives of the second rate of the first moment of generalized link i, k = max(i, j). {MIXED}",
    "dUddot_i/dq_j = zddot_j x U_i + 2 zdot_j x Udot_i for j <= i; "
    "dUddot_i/dq_j = zddot_j x U_j + 2 zdot_j x Udot_j + z_j x Uddot_j for j > i; "
    "dUddot_i/dqd_j = 2 (zdot_j x U_k + z_j x Udot_k); dUddot_i/dqdd_j = z_j x U_k",
)
def _derivatives_of_first_moment(field: Any, sign: int) -> Iterator[Sides]:
    x = _Variation(field)
    c = x.chain
    U, Ud, Udd = ([of(i) for i in range(c.n)] for of in (c.U, c.Ud, c.Udd))

    def by_q(i: int, j: int) -> Array:
        return cross(c.zdd[j], U[i]) + 2 * sign * cross(c.zd[j], Ud[i])

    def by_v(i: int, j: int) -> Array:
        return 2 * (cross(c.zd[j], U[i]) + sign * cross(c.z[j], Ud[i]))

    def by_a(i: int, j: int) -> Array:
        return sign * cross(c.z[j], U[i])

    yield x.slopes("q", GenericChain.Udd), x.formula(by_q, lambda i, j: by_q(j, j) + sign * cross(c.z[j], Udd[j]))
    yield x.slopes("v", GenericChain.Udd), x.formula(by_v, lambda i, j: by_v(j, j))
    yield x.slopes("a", GenericChain.Udd), x.formula(by_a, lambda i, j: by_a(j, j))


@DERIVATIVES.states(
    "THESIS Lemma C-10",
    "appendix C",
    f"Derivatives of the second rate of the vector s = s_{{i,i+1}} along link i by joint j <= i. {MIXED}",
    "dsddot/dq_j = zddot_j x s + 2 zdot_j x sdot; dsddot/dqd_j = 2 (zdot_j x s + z_j x sdot); dsddot/dqdd_j = z_j x s",
)
def _derivatives_along_link(field: Any, sign: int) -> Iterator[Sides]:
    x = _Variation(field)
    c = x.chain

    def quantity(c: GenericChain, i: int) -> Array:
        return c.sdd[i + 1] - c.sdd[i]

    yield x.slopes("q", quantity, 1), x.formula(lambda i, j: _swept(c, i, i + 1, c.zdd[j], 2 * sign * c.zd[j]), last=1)
    yield x.slopes("v", quantity, 1), x.formula(lambda i, j: 2 * _swept(c, i, i + 1, c.zd[j], sign * c.z[j]), last=1)
    yield x.slopes("a", quantity, 1), x.formula(lambda i, j: sign * cross(c.z[j], c.s(i, i + 1)), last=1)


def _swept(c: GenericChain, i: int, j: int, first: Array, second: Array) -> Array:
    """first x s_ij + second x sdot_ij."""
    return cross(first, c.s(i, j)) + cross(second, c.sd(i, j))


@DERIVATIVES.states(
    "THESIS Lemma C-11",
    "appendix C",
    f"Derivatives of the acceleration of the origin of link i, gravity included, by joint j <= i; zero beyond. {MIXED}",
    "dsddot_0i/dq_j = zddot_j x s_ji + 2 zdot_j x sdot_ji - z_j x sddot_0j; "
    "dsddot_0i/dqd_j = 2 (zdot_j x s_ji + z_j x sdot_ji); dsddot_0i/dqdd_j = z_j x s_ji",
)
def _derivatives_of_origin(field: Any, sign: int) -> Iterator[Sides]:
    x = _Variation(field)
    c = x.chain

    def quantity(c: GenericChain, i: int) -> Array:
        return c.sdd[i]

    yield (
        x.slopes("q", quantity),
        x.formula(lambda i, j: _swept(c, j, i, c.zdd[j], 2 * c.zd[j]) - sign * cross(c.z[j], c.sdd[j])),
    )
    yield x.slopes("v", quantity), x.formula(lambda i, j: 2 * _swept(c, j, i, c.zd[j], sign * c.z[j]))
    yield x.slopes("a", quantity), x.formula(lambda i, j: sign * cross(c.z[j], c.s(j, i)))


@DERIVATIVES.states(
    "THESIS Lemma C-12",
    "appendix C and (7.3.2)-(7.3.4)",
    "Derivatives of the moment eta_i at joint i, from which the sensitivities D, V and P come. For j <= i H = E_i - "
    f"U_i~ s_ji~ and G = L_i + U_i~ sdot_ji~; for j > i H = E_j - s_ij~ U_j~ and G = L_j + s_ij~ Udot_j~. {MIXED}",
    "deta_i/dqdd_j = H z_j; deta_i/dqd_j = 2 (H zdot_j - G z_j); "
    "deta_i/dq_j = H zddot_j - 2 G zdot_j + U_i~ sddot_0j~ z_j for j <= i; "
    "deta_i/dq_j = H zddot_j - 2 G zdot_j + (U_j~ sddot_0j~ - s_ij~ Uddot_j~ - eta_j~) z_j for j > i",
)
def _derivatives_of_joint_moment(field: Any, sign: int) -> Iterator[Sides]:
    x = _Variation(field)
    c = x.chain
    U, Ud, Udd, E, L, eta = ([of(i) for i in range(c.n)] for of in (c.U, c.Ud, c.Udd, c.E, c.L, c.eta))

    def H(i: int, j: int) -> Array:
        if j <= i:
            return E[i] - product(dual(U[i]), dual(c.s(j, i)))
        return E[j] - product(dual(c.s(i, j)), dual(U[j]))

    def G(i: int, j: int) -> Array:
        if j <= i:
            return L[i] + product(dual(U[i]), dual(c.sd(j, i)))
        return L[j] + product(dual(c.s(i, j)), dual(Ud[j]))

    def by_a(i: int, j: int) -> Array:
        return sign * product(H(i, j), c.z[j])

    def by_v(i: int, j: int) -> Array:
        return 2 * (product(H(i, j), c.zd[j]) - sign * product(G(i, j), c.z[j]))

    def by_q(i: int, j: int) -> Array:
        lift = cross(c.sdd[j], c.z[j])
        rest = cross(U[max(i, j)], lift)
        if j > i:
            rest = rest - cross(c.s(i, j), cross(Udd[j], c.z[j])) - cross(eta[j], c.z[j])
        return product(H(i, j), c.zdd[j]) - 2 * sign * product(G(i, j), c.zd[j]) + rest

    for by, of in (("a", by_a), ("v", by_v), ("q", by_q)):
        yield x.slopes(by, GenericChain.eta), x.formula(of, of)
