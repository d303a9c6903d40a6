"""PARSA: derivatives of an angular velocity by coordinates, Theorems 1 and 2 and Corollary 1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dalembert import kinematics
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.vectors import dual
from dalembert.proof.field import along, slopes
from dalembert.proof.theorems.drawn import attitudes, by_columns, vector
from dalembert.proof.theorems.links import serial_chain
from dalembert.proof.theorems.theorem import Sides, Theorems

PARSA = Theorems()


def _angular_velocity(field: Any, axes: str) -> tuple[Array, Array, Array, Array]:
    """Of the last body of a chain: w, J_w, its rate, and dw/dq by dual numbers."""
    s = serial_chain(field)
    frame = s.mechanism.bodies[-1].name
    Jw = kinematics.jacobian(s.mechanism, s.q, frame, axes=axes)[0]
    rate = kinematics.jacobian_rate(s.mechanism, s.q, s.v, frame, axes=axes)[0]
    by_q = by_columns(lambda q: product(kinematics.jacobian(s.mechanism, q, frame, axes=axes)[0], s.v), s.q)
    return product(Jw, s.v), Jw, rate, by_q


@PARSA.states(
    "PARSA Theorem 1",
    "(17)",
    "The angular velocity of a body, in its own axes, differentiated by independent coordinates.",
    "dw/dq = Jdot_w + w~ J_w",
)
def _parsa_1(field: Any, sign: int) -> Iterator[Sides]:
    w, Jw, rate, by_q = _angular_velocity(field, "body")
    yield by_q, rate + sign * product(dual(w), Jw)


@PARSA.states(
    "PARSA Corollary 1", "(A-6)", "The same in inertial axes, with the opposite sign.", "dw/dq = Jdot_w - w~ J_w"
)
def _parsa_corollary(field: Any, sign: int) -> Iterator[Sides]:
    w, Jw, rate, by_q = _angular_velocity(field, "world")
    yield by_q, rate - sign * product(dual(w), Jw)


@PARSA.states(
    "PARSA Theorem 2",
    "(40)",
    "For coordinates that depend on each other, Theorem 1 holds along admissible displacements: here the four Euler "
    "parameters and the nine direction cosines of a body.",
    "(dw/dq) delta q = (Jdot_w + w~ J_w) delta q",
)
def _parsa_2(field: Any, sign: int) -> Iterator[Sides]:
    for attitude, q in attitudes(field)[:2]:
        w, admissible = vector(field), product(attitude.Gamma(q), vector(field))
        qd = product(attitude.Gamma(q), w)
        rate = slopes(attitude.S(along(q, qd)))
        left = slopes(product(attitude.S(along(q, admissible)), qd))
        yield left, product(rate + sign * product(dual(w), attitude.S(q)), admissible)
