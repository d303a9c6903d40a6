"""Motions that move no mass are found, whatever hides them, and nothing else is."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from dalembert.algebra.transform import Transform
from dalembert.algorithms.inertia_matrix import mass_matrix
from dalembert.errors import ValidationError
from dalembert.model import WORLD, Body, Inertia, Joint, Mechanism, Mimic
from random_mechanisms import random_axis, random_mechanism

BOX = Inertia.box(1, (0.1, 0.2, 0.3))
ROD = Inertia(1, (0, 0, 0), np.diag([1, 1, 0]))
m, l = sp.symbols("m l", positive=True)


def chain(*links):
    """A chain of (kind, inertia, options of the joint)."""
    bodies = [Body(f"b{k}", inertia) for k, (_, inertia, _) in enumerate(links)]
    joints = [
        Joint(f"j{k}", kind, f"b{k - 1}" if k else WORLD, f"b{k}", **options)
        for k, (kind, _, options) in enumerate(links)
    ]
    return Mechanism("m", bodies, joints, strict=False)


def along(*xyz):
    return {"placement": Transform.from_translation(np.array(xyz, dtype=float))}


NONE = Inertia()
SINGULAR = {
    "two coaxial joints": (
        [("revolute", NONE, {}), ("revolute", BOX, along(0, 0, 1))],
        ["the velocity 'j0' at 1, 'j1' at -1 moves no mass"],
    ),
    "a screw in a screw": (
        [("helical", NONE, {"pitch": 0.1}), ("helical", BOX, {"pitch": 0.1})],
        ["'j0' at 1, 'j1' at -1"],
    ),
    "a point on the axis": ([("revolute", Inertia.point(2, (0, 0, 1)), {})], ["joint 'j0' alone moves no mass"]),
    "a rod along the axis": ([("revolute", ROD, {})], ["joint 'j0' alone"]),
    "a point on a ball joint": ([("spherical", Inertia.point(2, (1, 2, -1)), {})], ["'j0' at (0.5, 1, -0.5)"]),
    "a rod on a ball joint": (
        [("spherical", Inertia(1, (0, 0, 1), np.diag([1, 1, 0])), {})],
        ["the velocity 'j0' at (0, 0, 1) moves no mass"],
    ),
    "a free rod": (
        [("free", Inertia(1, (0, 1, 0), np.diag([1, 0, 1])), {})],
        ["the velocity 'j0' at (0, 0, 0, 0, 1, 0) moves no mass"],
    ),
    "a hinge that another one undoes": (
        [
            ("revolute", NONE, {"axis": (0.48, 0.6, 0.64)}),
            ("revolute", BOX, {"axis": (0.48, 0.6, 0.64), "mimic": Mimic("j0", -1)}),
        ],
        ["joint 'j0' alone moves no mass"],
    ),
    "a free point": (
        [("free", Inertia.point(2), {})],
        [f"'j0' at {direction}" for direction in ("(0, 0, 0, 1,", "(0, 0, 0, 0, 1,", "(0, 0, 0, 0, 0, 1)")],
    ),
    "a hinge on a free body without mass": (
        [("free", NONE, {}), ("revolute", BOX, {})],
        ["'j0' at (0, 0, 0, 0, 0, 1), 'j1' at -1"],
    ),
    "three slides in a plane": (
        [
            ("prismatic", NONE, {"axis": (1, 0, 0)}),
            ("prismatic", NONE, {"axis": (0, 1, 0)}),
            ("prismatic", BOX, {"axis": (0.6, 0.8, 0)}),
        ],
        ["'j0' at 0.6, 'j1' at 0.8, 'j2' at -1"],
    ),
    "a gear that turns back": (
        [("revolute", NONE, {}), ("revolute", BOX, {"mimic": Mimic("j0", -1)})],
        ["joint 'j0' alone"],
    ),
    "seven joints before the first mass": (
        [("revolute", NONE, {"axis": np.eye(3)[k % 3], **along(0.1, 0.2, 0.3)}) for k in range(6)]
        + [("revolute", BOX, {"axis": (0, 1, 0), **along(0.3, 0.1, 0.2)})],
        ["in a direction that changes with the position"],
    ),
    "a symbolic pendulum that spins": (
        [("revolute", Inertia.point(m, (0, 0, -l)), {})],
        ["joint 'j0' alone moves no mass"],
    ),
    "an end without mass": (
        [("revolute", BOX, {}), ("revolute", NONE, {})],
        ["joint 'j1' moves nothing that has mass"],
    ),
}
REGULAR = {
    "parallel axes apart": [("revolute", NONE, {}), ("revolute", BOX, along(1, 0, 0))],
    "coaxial with a rotor": [("revolute", NONE, {"armature": 0.1}), ("revolute", BOX, {})],
    "screws of different pitch": [("helical", NONE, {"pitch": 0.1}), ("helical", BOX, {"pitch": 0.2})],
    "a light link between": [("revolute", Inertia.sphere(1e-9, 1e-3), {}), ("revolute", BOX, {})],
    "a symbolic pendulum": [("revolute", Inertia.point(m, (0, 0, -l)), {"axis": (0, 1, 0)})],
    "a massless follower": [("revolute", BOX, {}), ("revolute", NONE, {"mimic": Mimic("j0")})],
    "a heavy follower": [("revolute", NONE, {}), ("revolute", BOX, {"mimic": Mimic("j0", 2)})],
    "nothing has mass": [("revolute", NONE, {}), ("revolute", NONE, {})],
}


@pytest.mark.parametrize("case", SINGULAR)
def test_every_idle_motion_is_named(case):
    links, sentences = SINGULAR[case]
    found = chain(*links).problems()
    assert len(found) == len(sentences)
    for sentence, problem in zip(sentences, found):
        assert sentence in problem and "the inertia matrix is singular" in problem
    with pytest.raises(ValidationError, match="the inertia matrix is singular"):
        chain(*links).replace(strict=True)


@pytest.mark.parametrize("case", REGULAR)
def test_nothing_is_said_of_a_regular_inertia_matrix(case):
    assert chain(*REGULAR[case]).problems() == ()


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_the_verdict_is_that_of_the_rank_of_the_inertia_matrix(seed, n):
    """Bodies of a random tree lose their matter, become points or rods, joints become coaxial with the next."""
    rng = np.random.default_rng(seed)
    sound = random_mechanism(rng, n, massless=0, mimic=0.2)
    bodies, joints = [], []
    for body in sound.bodies:
        axis, draw = random_axis(rng), rng.random()
        rod = Inertia(1.0, rng.normal(size=3) * (rng.random() < 0.5), np.eye(3) - np.outer(axis, axis))
        bodies.append(body if draw < 0.5 else body.replace(inertia=NONE if draw < 0.8 else rod))
    for joint in sound.joints:
        aligned = joint.replace(axis=np.array([0.0, 0, 1]), placement=Transform.identity())
        joints.append(aligned if rng.random() < 0.4 and joint.kind != "universal" else joint)
    mechanism = sound.replace(bodies=bodies, joints=joints, strict=False)
    if not mechanism.nv or all(body.inertia.is_zero for body in mechanism.bodies):
        return
    q, _, _ = mechanism.random_state(rng)
    M = mass_matrix(mechanism, q)
    size = np.sqrt(np.where(np.diag(M) > 1e-12, np.diag(M), 1))
    smallest = np.linalg.eigvalsh(M / np.outer(size, size))[0]
    if smallest > 1e-9 or smallest < 1e-13:  # between them rounding decides
        assert bool(mechanism.problems()) == (smallest < 1e-13)
