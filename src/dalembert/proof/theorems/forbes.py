"""FORBES: three identities of every parameterisation of attitude."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dalembert.algebra.arrays import product
from dalembert.algebra.vectors import dual
from dalembert.proof.field import along, slopes
from dalembert.proof.theorems.drawn import attitudes, by_columns, vector
from dalembert.proof.theorems.theorem import Sides, Theorems

FORBES = Theorems()

PARAMETERS = "for Euler parameters, direction cosines, 3-2-1 and 3-1-3 angles"


@FORBES.states(
    "FORBES identity 1",
    "slide 'identities'",
    f"The map S of w = S qdot, its rate, and the derivative of w by q at constant qdot, {PARAMETERS}.",
    "(Sdot - dw/dq) Gamma = -w~",
)
def _forbes_1(field: Any, sign: int) -> Iterator[Sides]:
    for attitude, q in attitudes(field):
        w, Gamma = vector(field), attitude.Gamma(q)
        qd = product(Gamma, w)
        rate = slopes(attitude.S(along(q, qd)))
        by_q = by_columns(lambda x, a=attitude, qd=qd: product(a.S(x), qd), q)  # type: ignore[misc]
        yield product(rate - by_q, Gamma), -sign * dual(w)


@FORBES.states(
    "FORBES identity 2",
    "slide 'identities'",
    f"A constant vector s turned from body to inertial axes, {PARAMETERS}.",
    "d(C^T s)/dq Gamma = -C^T s~",
)
def _forbes_2(field: Any, sign: int) -> Iterator[Sides]:
    for attitude, q in attitudes(field):
        s = vector(field)
        by_q = by_columns(lambda x, a=attitude, s=s: product(a.dcm(x).T, s), q)  # type: ignore[misc]
        yield product(by_q, attitude.Gamma(q)), -sign * product(attitude.dcm(q).T, dual(s))


@FORBES.states(
    "FORBES identity 3",
    "slide 'identities'",
    f"A constant vector s turned from inertial to body axes, {PARAMETERS}.",
    "d(C s)/dq Gamma = (C s)~",
)
def _forbes_3(field: Any, sign: int) -> Iterator[Sides]:
    for attitude, q in attitudes(field):
        s = vector(field)
        by_q = by_columns(lambda x, a=attitude, s=s: product(a.dcm(x), s), q)  # type: ignore[misc]
        yield product(by_q, attitude.Gamma(q)), sign * dual(product(attitude.dcm(q), s))
