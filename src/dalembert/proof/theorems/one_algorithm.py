"""THESIS 5.4: Lagrange's and Kane's equations lead to Algorithm 5.5, as Newton's and Euler's do; revolute joints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dalembert import algorithms
from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import torque_from_tensor
from dalembert.algebra.vectors import cross, dot, dyad
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links, augmented_moments
from dalembert.kinematics.frames import link_poses
from dalembert.kinematics.manifold import position_rate
from dalembert.kinematics.step import steps
from dalembert.proof.field import along, slopes
from dalembert.proof.generic import Subject
from dalembert.proof.theorems.links import GenericChain, serial_chain
from dalembert.proof.theorems.theorem import Sides, Theorems

ONE_ALGORITHM = Theorems()

JOINTS = ("revolute",) * 3
"""Every kind of term occurs: links before, at and beyond a joint."""


class _Bodies(GenericChain):
    """What the sums of section 5.4 are made of, in base axes."""

    def __init__(self, s: Subject):
        super().__init__(s.mechanism, s.q, s.v, s.a)
        step = steps(s.mechanism.tree, s.q)
        self.u = [product(W, u) for W, u in zip(self.W, augmented_moments(s.mechanism.tree, step)[1])]
        self.r = [first * (1 / m) for first, m in zip(self.first, self.m)]
        self.rdd = [sdd + product(Om, r) for sdd, Om, r in zip(self.sdd, self.Om, self.r)]
        self.about_origin = [torque_from_tensor(Om, J) for Om, J in zip(self.Om, self.second)]
        own = [J - dyad(first, r) for J, first, r in zip(self.second, self.first, self.r)]
        self.about_center = [torque_from_tensor(Om, J) for Om, J in zip(self.Om, own)]

    def carried(self, j: int, i: int) -> Array:
        """What body j adds to the moment about o_i (5.4.12)."""
        forces = self.m[j] * cross(self.s(i, j), self.rdd[j]) + cross(self.first[j], self.sdd[j])
        return forces + self.about_origin[j]

    def weighed(self, j: int, i: int) -> Array:
        """The same from the centre of mass (5.4.19)."""
        return self.about_center[j] + self.m[j] * cross(self.s(i, j) + self.r[j], self.rdd[j])

    def next(self, i: int, sign: int) -> Array:
        """What (5.4.13), (5.4.17) and (5.4.20) add for link i."""
        own = self.mu[i] + sign * cross(self.u[i], self.sdd[i])
        return own if i + 1 == self.n else own + cross(self.s(i, i + 1), self.Udd(i + 1))


def _unit(n: int, i: int) -> Array:
    return arrays.asarray([int(k == i) for k in range(n)])


def _trace(x: Array, y: Array) -> Any:
    """tr(x y^T)."""
    return sum((a * b for a, b in zip(x.flat, y.flat)), start=0)


def _lagrange(s: Subject) -> Array:
    """d/dt dT/dv - dT/dq + dV/dq."""
    m, n = s.mechanism, s.mechanism.nv
    moving = along(s.q, position_rate(m.tree, s.q, s.v))
    rate = slopes(algorithms.generalised_momentum(m, moving, along(s.v, s.a)))
    fall = [slopes(algorithms.potential_energy(m, along(s.q, _unit(n, i)))) for i in range(n)]
    return rate - algorithms.kinetic_energy_gradient(m, s.q, s.v) + arrays.asarray(fall)


@ONE_ALGORITHM.states(
    "THESIS Section 5.4.1 (traces)",
    "(5.4.1)-(5.4.6)",
    "Lagrange's equations as traces over the bodies beyond a joint; gravity is an acceleration of the base, "
    "sdd_00 = -g.",
    "tau_i = d/dt dT/dqd_i - dT/dq_i + dV/dq_i; "
    "tau_i = sum_{j>=i} tr( m_j ds_0j/dq_i rdd_0j^T + dW_j/dq_i (m_j r_jj sdd_0j^T + J_Oj Wdd_j^T) )",
)
def _traces(field: Any, sign: int) -> Iterator[Sides]:
    s = serial_chain(field, JOINTS)
    chain, found = _Bodies(s), []
    for i in range(chain.n):
        moved = link_poses(s.mechanism.tree, along(s.q, _unit(chain.n, i)))
        total = 0
        for j in range(i, chain.n):
            ds, dW = slopes(moved[j].translation), product(slopes(moved[j].rotation), chain.W[j].T)  # dW_j W_j^T
            bodies = chain.m[j] * dot(ds, chain.rdd[j]) + sign * dot(product(dW, chain.first[j]), chain.sdd[j])
            total = total + bodies + _trace(product(dW, chain.second[j]), chain.Om[j])
        found.append(total)
    yield _lagrange(s), arrays.asarray(found)


@ONE_ALGORITHM.states(
    "THESIS Section 5.4.1 (moments)",
    "(5.4.7)-(5.4.11)",
    "A turn about z_i moves what is beyond it by z_i~: the traces are components of moments along z_i.",
    "ds_0j/dq_i = z_i~ s_ij; dW_j/dq_i = z_i~ W_j; tr(dW_j/dq_i J_Oj Wdd_j^T) = z_i . M_Oj; "
    "tau_i = z_i . sum_{j>=i} { m_j s_ij~ rdd_0j + m_j r_jj~ sdd_0j + M_Oj }",
)
def _moments(field: Any, sign: int) -> Iterator[Sides]:
    s = serial_chain(field, JOINTS)
    chain, found = _Bodies(s), []
    for i in range(chain.n):
        moved = link_poses(s.mechanism.tree, along(s.q, _unit(chain.n, i)))
        for j in range(i, chain.n):
            if j > i:
                yield slopes(moved[j].translation), sign * cross(chain.z[i], chain.s(i, j))
            turned = product(slopes(moved[j].rotation), chain.W[j].T)
            columns = [sign * cross(chain.z[i], chain.W[j][:, k]) for k in range(3)]
            yield slopes(moved[j].rotation), arrays.stack(columns).T
            lone = _trace(product(turned, chain.second[j]), chain.Om[j])
            yield arrays.asarray([lone]), arrays.asarray([sign * dot(chain.z[i], chain.about_origin[j])])
        found.append(dot(chain.z[i], sum((chain.carried(j, i) for j in range(i, chain.n)), start=arrays.zeros(3))))
    yield _lagrange(s), sign * arrays.asarray(found)


@ONE_ALGORITHM.states(
    "THESIS Section 5.4.1 (recursion)",
    "(5.4.12)-(5.4.17), (5.4.2)",
    "The sum over bodies obeys the recursion of Algorithm 5.5: Lagrange's equations lead to it.",
    "v_i = mu_i + u_i~ sdd_0i + s_{i,i+1}~ Uddot_{i+1} + v_{i+1}; tau_i = z_i . v_i",
)
def _recursion(field: Any, sign: int) -> Iterator[Sides]:
    yield from _runs_inward(serial_chain(field, JOINTS), "carried", sign)


@ONE_ALGORITHM.states(
    "THESIS Section 5.4.2",
    "(5.4.18)-(5.4.20)",
    "Kane's sum, with moments about centres of mass, obeys the same recursion: his equations lead to Algorithm 5.5.",
    "h_i = sum_{j>=i} { M_Cj + m_j r_ij~ rdd_0j } = mu_i + u_i~ sdd_0i + s_{i,i+1}~ Uddot_{i+1} + h_{i+1}; "
    "tau_i = z_i . h_i",
)
def _kane(field: Any, sign: int) -> Iterator[Sides]:
    yield from _runs_inward(serial_chain(field, JOINTS), "weighed", sign)


def _runs_inward(s: Subject, term: str, sign: int) -> Iterator[Sides]:
    chain = _Bodies(s)
    of = getattr(chain, term)
    tau = augmented_links(s.mechanism.tree, s.q, s.v, s.a)
    sums = [sum((of(j, i) for j in range(i, chain.n)), start=arrays.zeros(3)) for i in range(chain.n)]
    for i, total in enumerate(sums):
        beyond = sums[i + 1] if i + 1 < chain.n else arrays.zeros(3)
        yield total, chain.next(i, sign) + beyond
    yield arrays.asarray([dot(z, total) for z, total in zip(chain.z, sums)]), sign * tau
