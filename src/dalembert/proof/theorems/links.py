"""THESIS chapters V and VI: Lemmas 5.1, 5.2 and 6.1 on augmented and generalized links of a serial chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from dalembert import algorithms
from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import (
    inertia_from_pseudo,
    torque_from_tensor,
)
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.vectors import cross, dual, dyad
from dalembert.algorithms.inertia_matrix.generalized_links import cross_moments, generalized_moments
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_moments
from dalembert.kinematics.frames import link_poses
from dalembert.kinematics.step import steps
from dalembert.model import Body, Inertia, Joint, Mechanism
from dalembert.proof.generic import Subject, generic_mechanism
from dalembert.proof.theorems.drawn import products
from dalembert.proof.theorems.theorem import Sides, Theorems

LINKS = Theorems()

CHAIN = ("revolute", "revolute", "prismatic", "revolute")
"""The joints of the chain that the lemmas are proved for: every pair of neighbours but two prismatic joints."""


@cache
def _template(kinds: tuple[str, ...]) -> Mechanism:
    links = ["world", *(f"b{k}" for k in range(1, len(kinds) + 1))]
    body = Inertia.box(1.0, (1.0, 1.0, 1.0))
    joints = [Joint(f"j{k}", kind, links[k - 1], links[k]) for k, kind in enumerate(kinds, 1)]
    return Mechanism("chain", tuple(Body(name, body) for name in links[1:]), tuple(joints))


def serial_chain(field: Any, kinds: tuple[str, ...] = CHAIN) -> Subject:
    return Subject(generic_mechanism(_template(kinds), field), field)


class GenericChain:
    """What Algorithms 5.5, 7.1 and 7.2 compute for every link, from definitions and in base axes.

    Everything beyond link i with it is the i-th generalized link: U, Ud, Udd are its first moment about o_i with
    absolute rates, E its inertia tensor, L the sum of m p~ pdot~ over its mass, eta the moment that it needs.
    """

    def __init__(self, mechanism: Mechanism, q: Array, v: Array, a: Array):
        tree = mechanism.tree
        self.n = len(tree.links)
        places = link_poses(tree, q)
        moved = [algorithms.motion(mechanism, q, v, a, body.name) for body in mechanism.bodies]
        self.W = [place.rotation for place in places]
        self.o = [place.translation for place in places]
        self.od = [m.linear_velocity for m in moved]
        self.sdd = [m.linear_acceleration - tree.gravity for m in moved]
        self.w = [m.angular_velocity for m in moved]
        self.wd = [m.angular_acceleration for m in moved]
        self.Om = [angular_acceleration_tensor(w, wd) for w, wd in zip(self.w, self.wd)]
        self.z = [product(W, link.own_axis) for W, link in zip(self.W, tree.links)]
        self.zd = [cross(w, z) for w, z in zip(self.w, self.z)]
        self.zdd = [product(Om, z) for Om, z in zip(self.Om, self.z)]
        self.m = [link.moments.mass for link in tree.links]
        self.first = [product(W, link.moments.first) for W, link in zip(self.W, tree.links)]
        self.second = [products(W, link.moments.second, W.T) for W, link in zip(self.W, tree.links)]
        augmented = augmented_moments(tree, steps(tree, q))[2]
        self.Kh = [products(W, K, W.T) for W, K in zip(self.W, augmented)]
        self.mu = [torque_from_tensor(Om, Kh) for Om, Kh in zip(self.Om, self.Kh)]

    def _over(self, i: int, of: Callable[[int], Array]) -> Array:
        return sum((of(k) for k in range(i, self.n)), start=arrays.zeros(1)[0])

    def s(self, i: int, j: int) -> Array:
        """From o_i to o_j."""
        return self.o[j] - self.o[i]

    def sd(self, i: int, j: int) -> Array:
        return self.od[j] - self.od[i]

    def U(self, i: int) -> Array:
        return self._over(i, lambda k: self.first[k] + self.s(i, k) * self.m[k])

    def Ud(self, i: int) -> Array:
        return self._over(i, lambda k: cross(self.w[k], self.first[k]) + self.sd(i, k) * self.m[k])

    def Udd(self, i: int) -> Array:
        return self._over(i, lambda k: product(self.Om[k], self.first[k]) + (self.sdd[k] - self.sdd[i]) * self.m[k])

    def E(self, i: int) -> Array:
        def about(k: int) -> Array:
            s, half = self.s(i, k), dyad(self.first[k], self.s(i, k))
            return inertia_from_pseudo(self.second[k] + half + half.T + dyad(s, s) * self.m[k])

        return self._over(i, about)

    def L(self, i: int) -> Array:
        def of(k: int) -> Array:
            s, sd, f, w = dual(self.s(i, k)), dual(self.sd(i, k)), self.first[k], self.w[k]
            own = product(dual(w), self.second[k])
            return product(s, sd) * self.m[k] + product(s, dual(cross(w, f))) + product(dual(f), sd) + own

        return self._over(i, of)

    def eta(self, i: int) -> Array:
        def of(k: int) -> Array:
            force = self.sdd[k] * self.m[k] + product(self.Om[k], self.first[k])
            moment = torque_from_tensor(self.Om[k], self.second[k]) + cross(self.first[k], self.sdd[k])
            return moment + cross(self.s(i, k), force)

        return self._over(i, of)

    def own(self, i: int, x: Array) -> Array:
        """A vector or tensor in the axes of link i."""
        turned = product(self.W[i].T, x)
        return turned if x.ndim == 1 else product(turned, self.W[i])


@LINKS.states(
    "THESIS Lemma 5.1",
    "(5.3.12), (5.3.13)",
    "The first moment of a generalized link is that of the augmented link and of the next generalized link.",
    "U_i = sum_{j>=i} m_j r_ij = u_i + A_{i+1} U_{i+1}",
)
def _first_moment(field: Any, sign: int) -> Iterator[Sides]:
    s = serial_chain(field)
    step = steps(s.mechanism.tree, s.q)
    u, U = augmented_moments(s.mechanism.tree, step)[1], generalized_moments(s.mechanism.tree, step)[1]
    chain = GenericChain(s.mechanism, s.q, s.v, s.a)
    for i in range(chain.n - 1):
        yield chain.own(i, chain.U(i)), u[i] + sign * step[i + 1].inward(U[i + 1])


@LINKS.states(
    "THESIS Lemma 5.2",
    "(5.3.40)",
    "The absolute second derivative of the first moment of a generalized link follows the same recursion; zeta is what "
    "the motion of a prismatic joint adds.",
    "Uddot_i = Om_i u_i + A_{i+1} (Uddot_{i+1} + (1 - sigma_{i+1}) mbar_{i+1} zeta_{i+1})",
)
def _first_moment_rate(field: Any, sign: int) -> Iterator[Sides]:
    s = serial_chain(field)
    tree = s.mechanism.tree
    step = steps(tree, s.q)
    mass, u, _ = augmented_moments(tree, step)
    chain = GenericChain(s.mechanism, s.q, s.v, s.a)
    for i in range(chain.n - 1):
        z, outer = tree.links[i + 1].Zv[:, 0], chain.own(i + 1, chain.Udd(i + 1))
        zeta = 2 * cross(chain.own(i + 1, chain.w[i]), z * s.v[i + 1]) + z * s.a[i + 1]
        right = product(chain.own(i, chain.Om[i]), u[i]) + sign * step[i + 1].inward(outer + zeta * mass[i + 1])
        yield chain.own(i, chain.Udd(i)), right


@LINKS.states(
    "THESIS Lemma 6.1",
    "(6.3.6)",
    "The inertia tensor of a generalized link from that of the augmented link and of the next generalized link.",
    "E_i = K_i - (s~ U_{i+1}~ + U_{i+1}~ s~) + A_{i+1} E_{i+1} A_{i+1}^T, s = s_{i,i+1}",
)
def _inertia_of_generalized_link(field: Any, sign: int) -> Iterator[Sides]:
    s = serial_chain(field)
    step = steps(s.mechanism.tree, s.q)
    Kh = augmented_moments(s.mechanism.tree, step)[2]
    _, U, E = generalized_moments(s.mechanism.tree, step)
    chain = GenericChain(s.mechanism, s.q, s.v, s.a)
    for i in range(chain.n - 1):
        mixed = cross_moments(step[i + 1].s, step[i + 1].inward(U[i + 1]))
        right = inertia_from_pseudo(Kh[i]) - sign * mixed + step[i + 1].inward_symmetric(E[i + 1])
        yield chain.own(i, chain.E(i)), right
