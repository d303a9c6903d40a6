"""What the tests of constrained systems share: every kind of constraint on a random tree, and some mechanisms."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from dalembert.algebra import scalar
from dalembert.algebra.transform import Transform
from dalembert.model import Body, Constraint, Inertia, Joint, Mechanism
from dalembert.model.constraint import CONSTRAINT_KINDS
from random_mechanisms import random_mechanism, random_transform

STEP = 1e-30
"""Of a complex step."""

at = Transform.from_translation


def with_constraint(kind: str, seed: int) -> Mechanism:
    """A random branched tree with one constraint of the given kind between two of its bodies."""
    rng = np.random.default_rng(seed)
    kinds = ["revolute", "prismatic", "spherical", "helical", "universal"]
    tree = random_mechanism(rng, 5, kinds=kinds, mimic=0.2, floating=bool(seed % 2))
    tree = tree.replace(
        bodies=(*tree.bodies, Body("extra", Inertia.box(1, [0.1, 0.2, 0.3]))),
        joints=(*tree.joints, Joint("extra_joint", "revolute", "b1", "extra", random_transform(rng))),
    )
    joints = [joint.name for joint in tree.joints if joint.kind in ("revolute", "prismatic", "helical")]
    options: dict[str, Any] = {}
    ends = [str(x) for x in rng.permutation(["b2", "b4", "extra", "world"])[:2]]
    if kind in ("coupling", "motion"):
        ends = [joints[0], joints[-1] if kind == "coupling" and len(joints) > 1 else ""]
        options["coefficients"] = tuple(rng.normal(size=4)) if ends[1] or kind == "motion" else (0.3,)
    elif kind == "position":
        ends, options["function"] = [], lambda q, t: [q[0] * q[1] + t * scalar.sin(q[2]), q[3] - t * t * q[0] ** 3]
    elif kind == "velocity":
        ends, options["function"] = [], lambda q, v, t: q[0] * v[1] + t * v[2] - t * t * scalar.cos(q[1])
    elif kind == "rolling-ellipsoid":
        options["coefficients"] = tuple(rng.uniform(0.2, 0.6, size=3))
    elif kind in ("distance", "rolling-disc", "rolling-sphere", "rolling-wheel"):
        options["value"] = rng.uniform(0.2, 1.0)
    if kind not in ("coupling", "motion", "position", "velocity"):
        options |= {"placement_a": random_transform(rng), "placement_b": random_transform(rng)}
    return tree.replace(constraints=(Constraint("c", kind, *ends, **options),))


ALL_KINDS = tuple(CONSTRAINT_KINDS)


def bar(mass: float, length: float) -> Inertia:
    """A slender bar along x from the origin."""
    return Inertia(mass, [length / 2, 0, 0], np.diag([1e-6, mass * length**2 / 12, mass * length**2 / 12]))


def four_bar(
    lengths: tuple[float, float, float] = (1.0, 2.5, 2.0),
    ground: float = 3.0,
    kind: str = "revolute",
    place: Transform | None = None,
    **more: Any,
) -> Mechanism:
    """Crank, coupler and rocker, closed by a constraint between coupler and rocker; slender bars of 1 kg/m."""
    place = place or Transform.identity()
    a, b, c = lengths
    joints = [
        Joint("crank", "revolute", "world", "crank_bar", place),
        Joint("coupler", "revolute", "crank_bar", "coupler_bar", at([a, 0, 0])),
        Joint("rocker", "revolute", "world", "rocker_bar", place @ at([ground, 0, 0])),
    ]
    bodies = [Body("crank_bar", bar(a, a)), Body("coupler_bar", bar(b, b)), Body("rocker_bar", bar(c, c))]
    pin = Constraint("pin", kind, "coupler_bar", "rocker_bar", at([b, 0, 0]), at([c, 0, 0]))
    more.setdefault("gravity", [0.0, -9.81, 0.0])
    return Mechanism("four-bar", bodies, joints, constraints=(pin,), **more)


def simulated(system: Any, q: Any, v: Any, duration: float, tolerance: float = 1e-10, **options: Any) -> tuple:
    """States over time of a system without drives, by a Runge-Kutta method of eighth order: path, positions, speeds."""
    mechanism, kernel = system.mechanism, system.kernel("forward_dynamics")
    none, nq = np.zeros(mechanism.nv), mechanism.nq
    turning = [(link.q, link.v) for link in mechanism.tree.links if link.kind == "spherical"]
    plain = [(link.q, link.v) for link in mechanism.tree.links if link.kind != "spherical"]
    in_q, in_v = [k for k, _ in plain], [k for _, k in plain]

    def rate(t: float, x: np.ndarray) -> np.ndarray:
        q, v = x[:nq].copy(), x[nq:].copy()
        result = np.empty_like(x)
        result[in_q] = v[in_v]
        for k, j in turning:  # etadot = eta (*) [w; 0] / 2
            e, s, w = q[k : k + 3], q[k + 3], v[j : j + 3]
            result[k : k + 3] = (s * w + np.cross(e, w)) / 2
            result[k + 3] = -(e @ w) / 2
        result[nq:] = kernel(q, v, none, t)
        return result

    start = np.concatenate([q, v])
    path = solve_ivp(rate, (0, duration), start, "DOP853", rtol=tolerance, atol=tolerance, **options)
    return path, path.y[:nq].T.copy(), path.y[nq:].T.copy()


def relative(x: Any, y: Any, scale: float = 0.0) -> float:
    """Largest difference relative to the largest entry of the second array, or to ``scale`` if that is larger."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    assert x.shape == y.shape, (x.shape, y.shape)
    if not x.size:
        return 0.0
    return float(np.abs(x - y).max() / max(float(np.abs(y).max()), scale, 1e-300))
