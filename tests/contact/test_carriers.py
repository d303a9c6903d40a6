"""Rows by the twists that carry them: the same rows, the same Delassus matrix, the same sweeps."""

from __future__ import annotations

import numpy as np
import pytest

from contact.scenes import ball, block, rimless_wheel
from dalembert.algorithms.triangular import factor
from dalembert.constraints.state import State
from dalembert.contact.cones import ConeProblem
from dalembert.contact.following import Twisting
from dalembert.contact.rigid import Delassus
from dalembert.contact.rows import ContactSet
from dalembert.kinematics.manifold import displaced
from dalembert.model import WORLD, Body, Contact, Ground, Inertia, Joint, Mechanism, Shape


def table(points: int = 12) -> Mechanism:
    """A top on a leg with many points, which also spins and rolls with friction; a box that leans on the top."""
    x = np.linspace(-0.1, 0.1, points // 4)
    feet = Shape("points", vertices=tuple((float(a), b, -0.05) for a in x for b in (-0.1, -0.03, 0.03, 0.1)))
    box = Shape("box", (0.1, 0.2, 0.1))
    bodies = (Body("leg", Inertia.box(2, (0.2, 0.2, 0.1))), Body("top", Inertia.box(5, (0.4, 0.4, 0.1))),
              Body("box", Inertia.box(1, (0.1, 0.2, 0.1))))  # fmt: skip
    joints = (
        Joint("base", "free", WORLD, "leg"),
        Joint("mast", "revolute", "leg", "top", axis=np.array([0.0, 1.0, 0.0])),
        Joint("other", "free", WORLD, "box"),
    )
    contacts = (
        Contact("feet", "leg", WORLD, feet, friction=0.6, torsional=0.01, rolling=0.02),
        Contact("lean", "box", "top", box, Shape("box", (0.4, 0.4, 0.1)), friction=0.4),
        Contact("knock", "box", WORLD, Shape("sphere", (0.05,)), friction=0.4),
    )
    return Mechanism("table", bodies, joints, contacts=contacts)


BUMPS = Ground.formula("0.1*sin(3*x)*cos(2*y)")


@pytest.mark.parametrize("make", [table, block, ball, lambda: block(ground=BUMPS), rimless_wheel])
@pytest.mark.parametrize("halfway", [False, True])
def test_rows_are_combinations_of_carriers(make, halfway):
    mechanism, rng = make(), np.random.default_rng(3)
    layout = ContactSet(mechanism)
    for d in rng.normal(size=(5, mechanism.nv)):
        q = displaced(mechanism.tree, mechanism.neutral, d)
        now = layout.at(State(mechanism, q), halfway=halfway)
        G = np.zeros((layout.count, len(now.carriers.C)))
        for row, share in enumerate(now.carriers.shares):
            for c, x in share.items():
                G[row, c] = x
        J = np.array(now.J, dtype=float)
        np.testing.assert_allclose(G @ np.array(now.carriers.C, dtype=float), J, atol=1e-13)
        p = rng.normal(size=layout.count)
        np.testing.assert_allclose(np.array(now.carriers.gathered(p), dtype=float), G.T @ p, atol=1e-13)


@pytest.mark.parametrize("points", [4, 8, 24])
def test_sweeps_by_twists_are_those_by_rows(points):
    """And by the whole matrix what is followed is J M^-1 J^T."""
    mechanism, rng = table(points), np.random.default_rng(points)
    layout = ContactSet(mechanism)
    q = displaced(mechanism.tree, mechanism.neutral, rng.normal(size=mechanism.nv))
    now, n = layout.at(State(mechanism, q)), mechanism.nv
    half = rng.normal(size=(n, n))
    M = half @ half.T + n * np.eye(n)
    delassus = Delassus(factor(M, range(-1, n - 1)), now.carriers)
    A, J = np.array(delassus.A, dtype=float), np.array(now.J, dtype=float)
    np.testing.assert_allclose(A, J @ np.linalg.solve(M, J.T), atol=1e-12)
    v, p = rng.normal(size=n), rng.normal(size=layout.count)
    np.testing.assert_allclose(delassus.gained(p), A @ p, atol=1e-12)
    np.testing.assert_allclose(delassus.push(p), np.linalg.solve(M, J.T @ p), atol=1e-12)
    given = {
        "bounds": {point.normal: 0.1 * k for k, point in enumerate(layout.points)},
        "disks": [(point.normal, disk, 0.5) for point in layout.points for disk, _ in point.disks],
    }
    w, start = delassus.along_rows(v), np.abs(p)
    twisting = Twisting.of(now.carriers, delassus.inner, delassus.of_carriers(v), delassus.answers)
    assert (twisting is not None) == (points > 4)
    forced = Twisting.of(now.carriers, delassus.inner, delassus.of_carriers(v), delassus.answers, gain=0)
    by_rows = ConeProblem(delassus.A, w, **given).solved(start, 5)
    by_twists = ConeProblem(delassus.A, w, **given, twisting=forced).solved(start, 5)
    np.testing.assert_allclose(by_twists, by_rows, atol=1e-11)
    assert np.abs(by_rows).max() > 0.1
