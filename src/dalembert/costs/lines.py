"""Algorithms of the THESIS counted equation by equation, as its Tables 5.1, 6.1, 7.1 and 7.2 list them.

What depends on the state is a :class:`~dalembert.algorithms.tally.Tally`, whose every multiplication and addition is
noted under the equation that is being evaluated. Numbers that do not depend on it are plain and cost nothing, nor do
sines and cosines. Equal terms are counted as often as they are computed, as printed rows count them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.inertia import inertia_from_pseudo, torque_from_tensor
from dalembert.algebra.tensors import angular_acceleration_tensor
from dalembert.algebra.vectors import cross
from dalembert.algorithms.inertia_matrix.generalized_links import cross_moments
from dalembert.algorithms.inertia_matrix.two_sided import two_sided
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links, augmented_moments
from dalembert.algorithms.sensitivity_as_printed import sensitivity_as_printed
from dalembert.algorithms.tally import OperationCounter, Tally, vector
from dalembert.costs.arm import Count, generic_arm
from dalembert.kinematics.step import steps
from dalembert.model import Tree


class Ledger(OperationCounter):
    """Multiplications and additions of every equation."""

    def __init__(self) -> None:
        self.rows: dict[str, list[int]] = {}
        self._line = ["elsewhere"]

    @contextmanager
    def line(self, number: str) -> Iterator[None]:
        """Everything inside belongs to this equation."""
        self._line.append(number)
        yield
        self._line.pop()

    def note(self, product: bool) -> None:
        """One more operation of the present equation."""
        self.rows.setdefault(self._line[-1], [0, 0])[not product] += 1

    def count(self, number: str) -> Count:
        """What one equation took."""
        return Count(*self.rows.get(number, (0, 0)))


def _state(tree: Tree, ledger: Ledger) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations in general position."""
    q, v, a = (vector(tree.nv, ledger, start) for start in (0, 100, 200))
    return q, v, a


@cache
def inverse_dynamics_lines(n: int, twist: str) -> dict[str, Count]:
    """Algorithm 5.5, steps 2 and 3, line by line (Table 5.1).

    Args:
        n: number of revolute joints.
        twist: of the generic arm.
    """
    tree, ledger = generic_arm(n, twist).tree, Ledger()
    q, v, a = _state(tree, ledger)
    line, step = ledger.line, steps(tree, q)
    _, u, K = augmented_moments(tree, step)
    none = arrays.zeros(3)
    w: list[Array] = []
    wd: list[Array] = []
    Om: list[Array] = []
    sdd: list[Array] = []
    mu: list[Array] = []
    for i, link in enumerate(tree.links):
        w_p, wd_p, sdd_p = (w[-1], wd[-1], sdd[-1]) if i else (none, none, -tree.gravity)
        out, turn = step[i].outward, product(link.Zw, v[i : i + 1])
        with line("(5.3.45a)"):
            carried = out(w_p)
            w.append(carried + turn)
        with line("(5.3.45b)"):
            wd.append(out(wd_p) + cross(carried, turn) + product(link.Zw, a[i : i + 1]))
        with line("(5.3.45c)"):
            Om.append(angular_acceleration_tensor(w[i], wd[i]))
        with line("(5.3.45e)"):
            sdd.append(out(sdd_p + product(Om[i - 1], step[i].s) if i else sdd_p))
        with line("(5.3.45f)"):
            mu.append(torque_from_tensor(Om[i], K[i]))
    Udd, eta, tau = none, none, []
    for i in reversed(range(n)):
        B = none
        with line("(5.3.46a)"):
            if i + 1 < n:
                B = step[i + 1].inward(Udd)
            Udd = product(Om[i], u[i]) + B
        with line("(5.3.46b)"):
            moment = mu[i] + cross(u[i], sdd[i])
            if i + 1 < n:
                moment = moment + cross(step[i + 1].s, B) + step[i + 1].inward(eta)
            eta = moment
        tau.append(product(tree.links[i].Zw.T, eta)[0].value)
    _check(tree, q, v, a, tau[::-1])
    return {number: ledger.count(number) for number in (*(f"(5.3.45{x})" for x in "abcef"), "(5.3.46a)", "(5.3.46b)")}


@cache
def inertia_matrix_lines(n: int, twist: str) -> dict[str, Count]:
    """Algorithm 6.2, on-line part, line by line (Table 6.1).

    Args:
        n: number of revolute joints.
        twist: of the generic arm.
    """
    tree, ledger = generic_arm(n, twist).tree, Ledger()
    q, _, _ = _state(tree, ledger)
    line, step = ledger.line, steps(tree, q)
    _, U, K = augmented_moments(tree, step)
    E = [inertia_from_pseudo(k) for k in K]
    outer_s: list[Array] = [arrays.zeros(3)] * n
    for i in reversed(range(n)):
        if i:
            with line("(6.3.29b)"):
                outer_s[i] = step[i].outward(step[i].s)
            with line("(6.3.29a)"):
                U[i - 1] = U[i - 1] + step[i].inward(U[i])
            with line("(6.3.29c)"):
                E[i - 1] = E[i - 1] + step[i].inward_symmetric(E[i] - cross_moments(outer_s[i], U[i]))
    entries = np.zeros((n, n))
    for i in range(n):
        z = tree.links[i].Zw[:, 0]
        f, eta = cross(z, U[i]), product(E[i], z)
        entries[i, i] = eta[2].value if isinstance(eta[2], Tally) else eta[2]
        for j in reversed(range(i)):
            with line("(6.3.30b)"):
                eta = eta + cross(outer_s[j + 1], f)
                if j:
                    eta = step[j + 1].inward(eta)
                    entries[i, j] = entries[j, i] = eta[2].value
                else:  # only its last component is read
                    third, angle = tree.links[1].placement.rotation[2], q[1]
                    across = angle.sin() * eta[0] + angle.cos() * eta[1]
                    last = float(third[1]) * across + float(third[2]) * eta[2]
                    entries[i, j] = entries[j, i] = last.value
            if j:
                with line("(6.3.30a)"):
                    f = step[j + 1].inward(f)
    _compare(two_sided(tree, np.array([x.value for x in q])), entries)
    return {f"(6.3.{x})": ledger.count(f"(6.3.{x})") for x in ("29a", "29b", "29c", "30a", "30b")}


@cache
def sensitivity_lines(n: int, twist: str) -> dict[str, Count]:
    """Algorithms 7.1 and 7.2 and the matrices made of them, line by line (Tables 7.1 and 7.2).

    Args:
        n: number of revolute joints.
        twist: of the generic arm.
    """
    tree, ledger = generic_arm(n, twist).tree, Ledger()
    sensitivity_as_printed(tree, *_state(tree, ledger), line=ledger.line)
    lines = [*(f"(7.3.12{x})" for x in "abcdef"), *(f"(7.3.14{x})" for x in "abcd")]
    return {number: ledger.count(number) for number in (*lines, "D, (7.3.2)", "V, (7.3.3)", "P, (7.3.4)")}


def _check(tree: Tree, q: Array, v: Array, a: Array, tau: list[float]) -> None:
    plain = [np.array([x.value for x in part]) for part in (q, v, a)]
    _compare(augmented_links(tree, plain[0], plain[1], plain[2]), tau)


def _compare(expected: Any, found: Any) -> None:
    """What is counted must be the algorithm: its results are those of the algorithm."""
    if not np.allclose(expected, found, rtol=1e-9):
        raise AssertionError("the lines that are counted are not the algorithm")
