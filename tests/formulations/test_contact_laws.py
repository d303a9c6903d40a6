"""verify checks the laws of contact by routes that share nothing with the solvers; proofs name what they leave out."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.dynamics import Dynamics
from dalembert.formulations.contact_laws import _read_off, contact_rows
from dalembert.model import WORLD, Body, Contact, Ground, Inertia, Joint, Mechanism, Shape

HILLS = Ground.formula(lambda x, y: x * x / 3 + y / 5)
STEPS = Ground.height_field([[0, 1], [2, 3], [4, 5]], 0.5)


def ball(ground=None, **numbers) -> Mechanism:
    contact = Contact("touch", "ball", WORLD, Shape.sphere(0.1), ground, **{"friction": 0.3} | numbers)
    base = Joint("base", "free", WORLD, "ball")
    return Mechanism("ball", (Body("ball", Inertia.sphere(1, 0.1)),), (base,), contacts=(contact,))


def crate() -> Mechanism:
    shape = Shape("box", (0.2, 0.3, 0.1))
    contact = Contact("touch", "crate", WORLD, shape, friction=0.6)
    base = Joint("base", "free", WORLD, "crate")
    return Mechanism("crate", (Body("crate", Inertia.box(2, (0.2, 0.3, 0.1))),), (base,), contacts=(contact,))


def hand() -> Mechanism:
    """A finger on a slide beside a ball that may fly."""
    bodies = Body("finger", Inertia.box(0.2, (0.02, 0.02, 0.1))), Body("ball", Inertia.sphere(0.1, 0.03))
    joints = (
        Joint("slide", "prismatic", WORLD, "finger", axis=(0, 1, 0)),
        Joint("base", "free", WORLD, "ball"),
    )
    pad = Shape("box", (0.1, 0.02, 0.1))
    touch = Contact("touch", "ball", "finger", Shape.sphere(0.03), pad, friction=0.5, torsional=0.01, rolling=0.001)
    return Mechanism("hand", bodies, joints, contacts=(touch,))


CASES = {
    "ball": ball(),
    "bouncing": ball(restitution=0.5, torsional=0.01, rolling=0.001),
    "compliant": ball(stiffness=1e4, damping=0.3, torsional=0.01, rolling=0.001),
    "hills": ball(HILLS),
    "steps": ball(STEPS),
    "crate": crate(),
    "hand": hand(),
}


def checked(mechanism, states=3):
    skipped: list[str] = []
    q, v, _ = mechanism.random_state(np.random.default_rng(1), (states,))
    return contact_rows(mechanism, q, v, 1e-10, skipped), skipped


@pytest.mark.parametrize("name", CASES)
def test_the_laws_hold(name):
    rows, skipped = checked(CASES[name])
    assert all(row.ok for row in rows), [(row.quantity, row.against, row.error) for row in rows if not row.ok]
    laws = {row.quantity for row in rows}
    assert {"contact J v", "momentum", "contact law", "Signorini", "Coulomb"} <= laws
    assert ("dissipation" in laws) == (name != "bouncing")
    assert ("compliant force" in laws) == (name == "compliant")
    assert not any("nothing can be made to touch" in reason for reason in skipped)


def test_verify_has_them_and_proofs_name_what_they_leave_out():
    assert any(row.quantity == "Coulomb" for row in da.verify(CASES["ball"], states=1, methods=["lagrange"]).rows)
    (omitted,) = [item for item in da.verify(CASES["ball"], exact=True).omitted if "touch" in item.what]
    assert omitted.what == "contact 'touch'" and "verify without exact" in omitted.why


@pytest.mark.parametrize(
    ("change", "law"),
    [
        (lambda p, u: (p * [-1, 1, 1], u), "normal impulse"),
        (lambda p, u: (p, u + [0.1, 0, 0]), "closed or no force"),
        (lambda p, u: (p * [1, 3, 3], u), "cone"),
        (lambda p, u: (p, u + [0, 0, 2.0]), "friction"),
    ],
)
def test_wrong_impulses_are_found(change, law):
    """Each law by an answer that breaks it: pull, part under load, too much friction, friction across the slip."""
    dyn = Dynamics(CASES["ball"])
    q = np.array([0, 0, 0.1, 0, 0, 0, 1.0])
    v = np.array([1.0, 0.5, -0.2, 0, 0, 0])
    found = dyn.contact_step(q, v, np.zeros(6), np.zeros(3), 1e-3)
    p, after = found[2], found[1]
    J = dyn.contact_rows(q)
    names = ("normal impulse", "closed or no force", "cone", "friction")
    worst = dict.fromkeys(names, 0.0)
    _read_off(dyn, q, J @ after, p, 1.0, worst)
    assert max(worst.values()) < 1e-12
    pushes, speeds = change(p, J @ after)
    _read_off(dyn, q, speeds, pushes, 1.0, worst)
    assert worst[law] > 0.05
