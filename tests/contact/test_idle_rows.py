"""Contacts along whose rows nothing moves: every kind of joint, along every axis, with every law.

A slider along x cannot move along the normal of a floor, two on one line cannot move along their tangents; sometimes
the tree says so, sometimes only the numbers do.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert import Dynamics
from dalembert.algebra.transform import Transform
from dalembert.model import WORLD, Body, Constraint, Contact, Inertia, Joint, Limits, Mechanism, Shape
from quick import some

X, Y, Z = np.eye(3)
AXES = {"x": X, "y": Y, "z": Z, "oblique": np.array([0.6, 0.0, 0.8])}
KINDS = ("prismatic", "revolute", "helical", "planar", "spherical", "universal", "free")
R = 0.1
SHAPES = {
    "sphere": Shape("sphere", (R,)),
    "points": Shape("points", vertices=((0, 0, -R), (0.05, 0, -R), (0, 0.05, -R))),
    "capsule": Shape("capsule", (R, 0.1)),
    "box": Shape("box", (0.2, 0.2, 2 * R)),
}
LAWS = ("rigid", "newton", "convex", "compliant")
SANK = 1e-4
NUMBERS: dict[str, Any] = {"friction": 0.3, "torsional": 0.01, "rolling": 0.002, "stiffness": 1e4}


def grounded(kind: str, axis: str, shape: str) -> Mechanism:
    """One body, just inside a floor."""
    pitch = {"pitch": 0.1} if kind == "helical" else {}
    high = Transform.from_rpy_xyz([0, np.pi / 2 * (shape == "capsule"), 0], [0, 0, R - SANK])  # a capsule lies
    joint = Joint("joint", kind, WORLD, "body", high, axis=AXES[axis], **pitch)
    body = Body("body", Inertia.sphere(1, R))
    return Mechanism("idle", (body,), (joint,), contacts=(Contact("touch", "body", shape_a=SHAPES[shape], **NUMBERS),))


def paired(one: str, other: str, shape: str) -> Mechanism:
    """Two sliders that touch."""
    ball, near = SHAPES["sphere"], Transform.from_translation([2 * R - SANK, 0, 0])
    joints = tuple(
        Joint(name, "prismatic", WORLD, name, at, axis=AXES[axis])
        for name, axis, at in (("a", one, Transform.identity()), ("b", other, near))
    )
    bodies = tuple(Body(name, Inertia.sphere(1, R)) for name in "ab")
    touch = Contact("touch", "a", "b", SHAPES[shape], ball, **NUMBERS)
    return Mechanism("idle pair", bodies, joints, contacts=(touch,), gravity=(0, 0, 0))


ON_GROUND = [
    (k, a, s)
    for k in KINDS
    for a in AXES
    for s in SHAPES
    if (k, s) != ("free", "points") and (k, a) != ("universal", "x")
]
IN_PAIRS = [(a, b, s) for a in AXES for b in AXES for s in ("sphere", "box", "capsule")]
HARDEST = [
    ("prismatic", "x", "sphere"), ("prismatic", "y", "box"), ("revolute", "y", "sphere"), ("spherical", "z", "points"),
    ("x", "x", "sphere"), ("y", "y", "sphere"), ("oblique", "y", "box"),
]  # fmt: skip
MOVED = [
    (case, law)
    for case in HARDEST + some([case for case in ON_GROUND + IN_PAIRS if case not in HARDEST], 10)
    for law in LAWS
    if law != "newton" or case[2] == "sphere"  # others compile for long
]


def made(case: tuple[str, str, str]) -> Mechanism:
    return grounded(*case) if case[0] in KINDS else paired(*case)


def moving(model: Mechanism, law: str) -> tuple[Dynamics, dict[str, Any]]:
    """The dynamics, and how simulate and rollout solve its contacts."""
    dynamics = Dynamics(model, law="rigid" if law == "newton" else law)
    options = {"rigid": {"sweeps": 20}, "newton": {"sweeps": 5, "solver": "newton"}, "convex": {"sweeps": 20}}
    return dynamics, options.get(law, {})


@pytest.mark.parametrize(("case", "law"), MOVED, ids=lambda x: x if isinstance(x, str) else "-".join(x))
@pytest.mark.filterwarnings("ignore::dalembert.errors.SimulationWarning")
def test_nothing_but_finite_motions(case, law):
    """Of a step, of simulate and of rollout alike; impulses lie in their cones, and where the normal cannot push there
    are none."""
    dynamics, options = moving(made(case), law)
    v = np.random.default_rng(len(str(case))).normal(size=dynamics.mechanism.nv)
    one = da.simulate(dynamics, v0=v, t=0.005, **options)
    assert np.isfinite(one.q).all() and np.isfinite(one.v).all()
    if law == "compliant":
        da.rollout(dynamics, None, v, 5)
        return
    many = da.rollout(dynamics, None, v, 5, every=1, **options)
    # What cannot be satisfied at several points goes on growing, and with it the rounding by which code differs.
    close = 1e-12 if case[2] == "sphere" else 1e-2 if law == "convex" else 1e-3
    np.testing.assert_allclose(many.v, one.v, rtol=1e-9, atol=close)
    contacts = many.contacts
    assert np.isfinite(contacts.measures).all()
    pressing = contacts.forces[..., 0]
    assert (pressing >= 0).all()
    assert (np.linalg.norm(contacts.forces[..., 1:], axis=-1) <= 0.3 * pressing * (1 + 1e-9)).all()
    if case[2] == "sphere" and law == "newton":  # several points may want what one joint cannot do
        assert contacts.residual[1:].max() < 1e-6
    if law != "convex":
        J = np.array([dynamics.kernel("contact_rows")(q) for q in many.q[:-1]])
        normals = [point.normal for point in dynamics.contacts.points]
        assert not pressing[1:][np.abs(J[:, normals]).max(axis=-1) < 1e-9].any()


@pytest.mark.parametrize("case", [case for case in HARDEST if case[2] == "sphere"], ids="-".join)
def test_derivatives_and_events_too(case):
    dynamics = Dynamics(made(case), parameters=("touch.friction",))
    n, rows = dynamics.mechanism.nv, dynamics.contacts.count
    v = np.full(n, 0.3)
    state = dynamics.mechanism.neutral, v, np.zeros(n), np.zeros(rows), 1e-3, 0.0, np.array([0.3])
    for name in ("contact_step", "contact_step_derivatives", "contact_step_sensitivity"):
        for solver in ("gauss-seidel", "newton"):
            found = dynamics.kernel(name, solver=solver)(*state)
            assert all(np.isfinite(x).all() for x in (found if isinstance(found, tuple) else (found,)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        apart = Dynamics(made(case).replace(contacts=(made(case).contacts[0].replace(rolling=0, torsional=0),)))
        q = dynamics.mechanism.neutral
        motion = da.simulate(apart, q, v, 0.01, method="event-driven", lift=False) if _open(apart, q) else None
    assert motion is None or np.isfinite(motion.v).all()


def _open(dynamics: Dynamics, q: np.ndarray) -> bool:
    return bool((dynamics.kernel("contact_points")(q)[0] > -1e-3).all())


@pytest.mark.parametrize("law", ["rigid", "newton"])
def test_a_slider_that_cannot_be_pushed_has_no_friction(law):
    """Along x it goes on for ever; along z it stops; collinear sliders share their momentum."""
    for axis, wanted in (("x", 0.4), ("y", 0.4), ("z", 9.81e-3)):
        dynamics, options = moving(grounded("prismatic", axis, "sphere"), law)
        v = [0.4 if axis != "z" else -0.4]
        assert abs(da.simulate(dynamics, v0=v, t=0.005, **options).v[-1, 0] - wanted) < 1e-9
    dynamics, options = moving(paired("x", "x", "sphere"), law)
    np.testing.assert_allclose(da.simulate(dynamics, v0=[0.4, 0], t=0.1, **options).v[-1], [0.2, 0.2], atol=1e-3)


@pytest.mark.parametrize("law", ["rigid", "newton", "convex"])
def test_what_given_motions_and_stops_hold_is_idle_too(law):
    """A sled that a given motion moves up and down; the box on it slides along x."""
    joints = (
        Joint("lift", "prismatic", WORLD, "sled", Transform.from_translation([0, 0, R - SANK]), axis=Z,
              limits=Limits(-1, 0.5)),
        Joint("slide", "prismatic", "sled", "box", axis=X),
    )  # fmt: skip
    bodies = (Body("sled", Inertia.sphere(1, R)), Body("box", Inertia.sphere(1, R)))
    driven = Constraint("drive", "coupling", "lift", coefficients=(0.0,))
    touch = (Contact("touch", "box", shape_a=SHAPES["sphere"], friction=0.5),)
    model = Mechanism("lift", bodies, joints, constraints=(driven,), contacts=touch)
    dynamics, options = moving(model, law)
    motion = da.simulate(dynamics.replace(limits="all"), v0=[0, 0.4], t=0.02, **options)
    assert np.isfinite(motion.v).all() and abs(motion.v[-1, 0]) < 1e-9
    if law != "convex":
        np.testing.assert_allclose(motion.v[-1, 1], 0.4, atol=1e-9)
