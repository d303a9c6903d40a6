"""Random mechanisms for the laws under test: every kind of joint, branches, offsets, massless bodies, mimic joints.

`random_mechanism` builds one from a NumPy generator; `mechanisms` is the same as a hypothesis strategy, which shrinks
towards fewer bodies and seed zero. Every mechanism it makes has a regular inertia matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dalembert.algebra.quaternions import quaternion_normalise, rotation_from_quaternion
from dalembert.algebra.transform import Transform
from dalembert.model import WORLD, Body, Frame, Inertia, Joint, Limits, Mechanism, Mimic
from dalembert.model.joint import KINDS

ALL_KINDS = tuple(KINDS)
ONE_DEGREE = ("revolute", "continuous", "prismatic", "helical")


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """A rotation matrix; one in four times one of the coordinate frames, whose zeros exercise other code paths."""
    if rng.random() < 0.25:
        matrix = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], size=3)[:, None]
        return matrix * np.linalg.det(matrix)
    return rotation_from_quaternion(quaternion_normalise(rng.normal(size=4)))


def random_transform(rng: np.random.Generator, size: float = 0.5) -> Transform:
    """A placement with an offset of about `size` metres."""
    return Transform(random_rotation(rng), rng.normal(size=3) * size)


def random_axis(rng: np.random.Generator) -> np.ndarray:
    """A unit vector; half of the time plus or minus a coordinate axis."""
    if rng.random() < 0.5:
        return rng.choice([-1.0, 1.0]) * np.eye(3)[rng.integers(3)]
    axis = rng.normal(size=3)
    return axis / np.linalg.norm(axis)


def random_inertia(rng: np.random.Generator, products_of_inertia: bool = True) -> Inertia:
    """A possible mass distribution: mass of some kilograms, well away from degenerate.

    The tensor comes from a positive second moment S of the mass distribution, I = tr(S) 1 - S, which is what the
    triangle inequality demands.
    """
    mass = rng.uniform(0.5, 5.0)
    spread = rng.normal(size=(3, 3)) * 0.2 if products_of_inertia else np.diag(rng.normal(size=3) * 0.3)
    second = mass * (spread @ spread.T + 0.01 * np.eye(3))
    return Inertia(mass, rng.normal(size=3) * 0.2, np.trace(second) * np.eye(3) - second)


def random_mechanism(
    rng: np.random.Generator | int,
    n: int,
    *,
    kinds: Sequence[str] = ALL_KINDS,
    floating: bool = False,
    products_of_inertia: bool = True,
    branching: float = 0.3,
    massless: float = 0.2,
    mimic: float = 0.0,
    drives: bool = False,
    gravity: Any = (0.0, 0.0, -9.81),
) -> Mechanism:
    """A random tree of n bodies named b1, b2, ..., carried by joints j1, j2, ..., with one extra frame "tool".

    Args:
        rng: source of randomness, or a seed.
        n: number of bodies, at least 1.
        kinds: the kinds of joints to draw from.
        floating: make the first joint free; everything else then hangs on it.
        products_of_inertia: false for diagonal inertia tensors.
        branching: probability that a body hangs on a random earlier one (or the world) instead of the last one.
        massless: probability that a body that may be massless without making the inertia matrix singular is.
        mimic: probability that a one-degree joint follows another one.
        drives: give joints damping, friction, armature and limits.
        gravity: acceleration of free fall.
    """
    rng = np.random.default_rng(rng)
    parents = [0]
    for i in range(2, n + 1):
        parents.append(int(rng.integers(1 if floating else 0, i)) if rng.random() < branching else i - 1)
    drawn = ["free" if floating and i == 0 else str(rng.choice(list(kinds))) for i in range(n)]
    # A massless body between two one-degree joints with axes in general position cannot hide a motion from the
    # inertia matrix; nor can a massless body welded to its carrier.
    light = [False] * n
    for i in range(n):
        children = [k for k in range(n) if parents[k] == i + 1]
        inner = drawn[i] in ONE_DEGREE and any(drawn[k] in ONE_DEGREE and not light[k] for k in children)
        carrier_is_light = parents[i] > 0 and light[parents[i] - 1]
        if (drawn[i] == "fixed" or inner) and not carrier_is_light and rng.random() < massless:
            light[i] = True
    bodies, joints = [], []
    leaders: list[str] = []
    for i, (parent, kind) in enumerate(zip(parents, drawn)):
        inertia = Inertia() if light[i] else random_inertia(rng, products_of_inertia)
        near_light = light[i] or (parent > 0 and light[parent - 1])
        axis = random_axis(rng)
        if near_light:
            axis = axis + 0.3 * rng.normal(size=3)
            axis /= np.linalg.norm(axis)
        axis2 = np.cross(axis, axis[[1, 2, 0]] + [0.1, 0.3, -0.2])
        extra: dict[str, Any] = {}
        if kind in ONE_DEGREE:
            if leaders and rng.random() < mimic:
                follow = Mimic(str(rng.choice(leaders)), rng.uniform(0.5, 2.0) * rng.choice([-1, 1]), rng.normal())
                extra["mimic"] = follow
            else:
                leaders.append(f"j{i + 1}")
        if drives and kind in ONE_DEGREE:
            damping, friction, armature = rng.uniform(0.1, 1.0, size=3)
            lower, upper = sorted(rng.uniform(-2.0, 2.0, size=2))
            limits = Limits(-np.inf, np.inf) if kind == "continuous" else Limits(lower, upper, 3.0, 50.0)
            extra |= {"damping": damping, "friction": friction, "armature": armature, "limits": limits}
        bodies.append(Body(f"b{i + 1}", inertia))
        joints.append(
            Joint(
                f"j{i + 1}",
                kind,
                parent=f"b{parent}" if parent else WORLD,
                child=f"b{i + 1}",
                placement=random_transform(rng),
                axis=axis,
                axis2=axis2 / np.linalg.norm(axis2),
                pitch=rng.uniform(-0.5, 0.5) if kind == "helical" else 0,
                **extra,
            )
        )
    tool = Frame("tool", f"b{n}", random_transform(rng, 0.2))
    return Mechanism(f"random{n}", tuple(bodies), tuple(joints), (tool,), gravity=np.asarray(gravity, dtype=float))


def walker(legs: int = 4, joints: int = 6) -> Mechanism:
    """A free base on legs with products of inertia."""
    inertia = Inertia.box(1.5, (0.2, 0.3, 0.4), (0.01, 0.02, 0.03))
    bodies, made = [Body("base", inertia)], [Joint("base", "free", "world", "base")]
    for leg in range(legs):
        above = "base"
        for k in range(joints):
            name = f"leg{leg}_{k}"
            place = Transform.from_translation((0.1 + leg / 10, 0.2, 0.3 - k / 10))
            bodies.append(Body(name, inertia))
            made.append(Joint(f"{name}_joint", "revolute", above, name, place, axis=np.eye(3)[k % 3]))
            above = name
    return Mechanism("walker", bodies, made)


def mechanisms(min_bodies: int = 1, max_bodies: int = 7, **options: Any) -> st.SearchStrategy[Mechanism]:
    """Hypothesis strategy of random mechanisms.

    Args:
        min_bodies: smallest number of bodies.
        max_bodies: largest number of bodies.
        options: passed to `random_mechanism`.
    """
    return st.builds(
        lambda seed, n: random_mechanism(seed, n, **options),
        st.integers(0, 2**32 - 1),
        st.integers(min_bodies, max_bodies),
    )
