"""Errors of the source documents: what is printed is false, what the errata page says instead is true.

Both are tried over the integers modulo 2^61 - 1, with the operators of the library; see docs/sources/errata.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalembert.algebra import arrays
from dalembert.algebra.arrays import product
from dalembert.algebra.attitude import DirectionCosines
from dalembert.algebra.inertia import inertia_from_pseudo
from dalembert.algebra.kronecker import block_skew, kron
from dalembert.algebra.quaternions import (
    quaternion_conjugate,
    quaternion_cross,
    quaternion_rate,
    quaternion_star,
    rotation_from_quaternion,
)
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.vectors import cross, dot, dual, dyad, trace
from dalembert.algorithms.inertia_matrix import INERTIA_MATRIX
from dalembert.algorithms.inverse_dynamics import INVERSE_DYNAMICS
from dalembert.proof.field import Field, along, slopes
from dalembert.proof.theorems.drawn import matrix, products, vector
from dalembert.proof.theorems.links import CHAIN, GenericChain, serial_chain

Both = tuple[Any, Any, Any]
"""The true side, what is printed, what is right."""


def thesis_3_4_15(field: Any) -> Both:
    u, v = vector(field), vector(field)
    left = dual(cross(u, v))
    return left, product(dual(u), dual(v)) - dual(v), product(dual(u), dual(v)) - product(dual(v), dual(u))


def thesis_3_4_25(field: Any) -> Both:
    u, v = vector(field), vector(field)
    a, b = dual(u), dual(v)
    rest = b * trace(product(a, a))
    printed, right = (-(products(b, a, a) + second) + rest for second in (product(a, b), products(a, a, b)))
    return dual(products(a, a, v)), printed, right


def thesis_3_4_35(field: Any) -> Both:
    """dual(I v), not dual of the tensor I v~, whose vector invariant is another one."""
    M, v = matrix(field), vector(field)
    I = M + M.T
    right = dual(v) * trace(I) - product(I, dual(v)) - product(dual(v), I)
    return dual(product(I, v)), product(I, dual(v)), right


def thesis_4_3_4(field: Any) -> Both:
    """The pseudo-inertia of a particle is m r r^T; I = tr(J) 1 - J only then."""
    m, r = field.element(), vector(field)
    inertia = -product(dual(r), dual(r)) * m
    return inertia, inertia_from_pseudo(np.diag(r * m)), inertia_from_pseudo(dyad(r, r) * m)


def thesis_c_11(field: Any) -> Both:
    w, wd, axis = vector(field), vector(field), vector(field)
    Om, z = angular_acceleration_tensor(w, wd), dual(axis)
    printed, right = (-product(first, z) - product(z, Om) + z * trace(Om) for first in (Om, Om.T))
    return dual(product(Om, axis)), printed, right


def thesis_6_3_29e(field: Any) -> Both:
    """The column of a prismatic joint behind a revolute one: without U x z its moment is zero."""
    s = serial_chain(field)
    c = GenericChain(s.mechanism, s.q, s.v, s.a)
    p = CHAIN.index("prismatic")
    D = INERTIA_MATRIX["column-method"](s.mechanism.tree, s.q)
    mass = sum(c.m[p + 1 :], start=c.m[p])
    force = c.z[p] * mass

    def entries(moment: Any) -> np.ndarray:
        return np.array([dot(c.z[j], moment + cross(c.s(j, p), force)) for j in range(p)], dtype=object)

    return D[:p, p], entries(arrays.zeros(3)), entries(cross(c.U(p), c.z[p]))


def thesis_algorithm_5_2(field: Any) -> Both:
    """(5.2.7d) lacks the acceleration that a prismatic joint gives its own link."""
    s = serial_chain(field)
    c = GenericChain(s.mechanism, s.q, s.v, s.a)
    p = CHAIN.index("prismatic")
    printed = c.sdd[p - 1] + product(c.Om[p - 1], c.s(p - 1, p))
    slide = cross(c.w[p - 1], c.z[p]) * (2 * s.v[p]) + c.z[p] * s.a[p]
    return c.sdd[p], printed, printed + slide


def parsa_b_19(field: Any) -> Both:
    """[w; 0] = 2 eta* (*) etadot."""
    eta, w = field.unit(4), vector(field)
    rate, back = quaternion_rate(eta, w), quaternion_conjugate(eta)
    return arrays.asarray([*w, 0]), quaternion_cross(back, rate) * 2, quaternion_star(back, rate) * 2


def parsa_a_8(field: Any) -> Both:
    """d(eta*) = -eta* (x) (eta* (*) d eta) along admissible displacements."""
    eta = field.unit(4)
    change, back = quaternion_rate(eta, vector(field)), quaternion_conjugate(eta)
    printed, right = (-quaternion_cross(back, of(back, change)) for of in (quaternion_cross, quaternion_star))
    return quaternion_conjugate(change), printed, right


def forbes_noting_that(field: Any) -> Both:
    """w_b2 = c3dot.c1, not c1dot.c3."""
    q = rotation_from_quaternion(field.unit(4)).T.ravel()
    w = vector(field)
    rate = product(DirectionCosines().Gamma(q), w)
    return w[1], dot(rate[0:3], q[6:9]), dot(rate[6:9], q[0:3])


def forbes_products(field: Any) -> Both:
    """c1dot.c2 = -c2dot.c1, not -c1dot.c1, which is zero."""
    q = rotation_from_quaternion(field.unit(4)).T.ravel()
    rate = product(DirectionCosines().Gamma(q), vector(field))
    return dot(rate[0:3], q[3:6]), -dot(rate[0:3], q[0:3]), -dot(rate[3:6], q[0:3])


def forbes_constraint_rate(field: Any) -> Both:
    """The rate of c2.c2 - 1 away from the constraints is 2 c2.c2dot."""
    c1, c2, rate1, rate2 = (vector(field) for _ in range(4))
    moving = along(c2, rate2)
    return slopes(dot(moving, moving)), 2 * dot(c2, rate1), 2 * dot(c2, rate2) + 0 * dot(c1, rate1)


def nguyen_17(field: Any) -> Both:
    """(A a)~, not A a."""
    A, a = matrix(field, 3, 4), vector(field, 4)
    image = product(A, a)
    columns = np.array([image] * 3, dtype=object).T
    return product(block_skew(A), kron(np.eye(3, dtype=int).astype(object), a[:, None])), columns, dual(image)


def nguyen_43(field: Any) -> Both:
    """v_G = (J_T - p~ J_R) qd, here with the angular velocity w: v + w x p."""
    v, w, p = vector(field), vector(field), vector(field)
    return v + cross(w, p), v + product(dual(p), w), v - product(dual(p), w)


ERRATA: list[Callable[[Any], Both]] = [
    thesis_3_4_15,
    thesis_3_4_25,
    thesis_3_4_35,
    thesis_4_3_4,
    thesis_c_11,
    thesis_6_3_29e,
    thesis_algorithm_5_2,
    parsa_b_19,
    parsa_a_8,
    forbes_noting_that,
    forbes_products,
    forbes_constraint_rate,
    nguyen_17,
    nguyen_43,
]


@pytest.mark.parametrize("erratum", ERRATA, ids=lambda erratum: erratum.__name__)
def test_what_is_printed_is_false_and_what_is_said_instead_is_true(erratum):
    truth, printed, right = (np.atleast_1d(np.asarray(x, dtype=object)) for x in erratum(Field((1 << 61) - 1, seed=4)))
    assert any(x != 0 for x in (truth - printed).flat)
    assert all(x == 0 for x in (truth - right).flat)


def test_the_coriolis_matrix_of_nguyen_97_gives_the_forces_but_is_not_skew():
    """C = dM/dq (E (x) qd) - 1/2 [dM/dq (qd (x) E)]^T, that is Mdot - X^T/2 with X = d(M qd)/dq."""
    s = serial_chain(Field((1 << 61) - 1, seed=6))
    tree, n = s.mechanism.tree, s.mechanism.nv
    inertia = INERTIA_MATRIX["walker-orin"]
    Mdot = slopes(inertia(tree, along(s.q, s.v)))
    units = np.eye(n, dtype=int).tolist()
    X = np.array([product(slopes(inertia(tree, along(s.q, e))), s.v) for e in units], dtype=object).T
    C = Mdot - X.T / 2
    gravity, still = (
        INVERSE_DYNAMICS["newton-euler"](tree, s.q, v, arrays.zeros(n), None) for v in (arrays.zeros(n), s.v)
    )
    assert all(x == 0 for x in product(C, s.v) - (still - gravity))
    skew = Mdot - 2 * C
    assert any(x != 0 for x in (skew + skew.T).flat)
    christoffel = (Mdot + X - X.T) / 2
    skew = Mdot - 2 * christoffel
    assert all(x == 0 for x in (skew + skew.T).flat)
