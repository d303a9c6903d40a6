"""Digits of inverse and forward dynamics, against 50: ordinary chains, and badly scaled ones, beside Pinocchio.

    python benchmarks/digits.py [--count 12] [--json FILE]

The reference is a Newton-Euler recursion in world axes, written down here and computed with 50 digits; forward dynamics
solves with the inertia matrix that it gives, column by column. An error is relative to the largest entry of the answer.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

import dalembert as da

mp.mp.dps = 50
LINKS = 6
EPS = np.finfo(float).eps


def rotation(rng: np.random.Generator) -> np.ndarray:
    w, x, y, z = (lambda p: p / np.linalg.norm(p))(rng.normal(size=4))
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def chain(masses: np.ndarray, lengths: np.ndarray, rng: np.random.Generator, hub: bool = False) -> da.Mechanism:
    """Revolute and prismatic joints about any axes; with a hub, two bodies are points where their axes cross."""
    bodies, joints = [], []
    for k, (mass, length) in enumerate(zip(masses, lengths)):
        at_hub = hub and k < 2
        shape = rng.normal(size=(3, 3)) * 0.3 * length
        second = mass * (np.trace(shape @ shape.T) * np.eye(3) - shape @ shape.T)
        inertia = da.Inertia(mass, np.zeros(3) if at_hub else rng.normal(size=3) * 0.3 * length, second * (not at_hub))
        bodies.append(da.Body(f"b{k}", inertia))
        axis = rng.normal(size=3)
        place = da.Transform(rotation(rng), np.zeros(3) if at_hub else rng.normal(size=3) * length)
        kind = "prismatic" if k % 4 == 3 and not hub else "revolute"
        parent, axis = f"b{k - 1}" if k else "world", axis / np.linalg.norm(axis)
        joints.append(da.Joint(f"j{k}", kind, parent, f"b{k}", place, axis=axis))
    return da.Mechanism("chain", bodies, joints, strict=False)


CLASSES: dict[str, Callable[[np.random.Generator], da.Mechanism]] = {
    "ordinary": lambda r: chain(r.uniform(0.5, 5, LINKS), r.uniform(0.2, 1, LINKS), r),
    "masses 1e-12 .. 1e12": lambda r: chain(10.0 ** r.uniform(-12, 12, LINKS), np.ones(LINKS), r),
    "each 100 times heavier than the one before": lambda r: chain(100.0 ** np.arange(LINKS), np.ones(LINKS), r),
    "each 100 times lighter than the one before": lambda r: chain(100.0 ** -np.arange(LINKS), np.ones(LINKS), r),
    "lengths 1e-6 .. 1e6": lambda r: chain(np.ones(LINKS), 10.0 ** r.uniform(-6, 6, LINKS), r),
    "hub 1e3": lambda r: chain(np.array([1e3, 1e3, 1, 1, 1]), np.ones(5), r, hub=True),
    "hub 1e6": lambda r: chain(np.array([1e6, 1e6, 1, 1, 1]), np.ones(5), r, hub=True),
    "hub 1e9": lambda r: chain(np.array([1e9, 1e9, 1, 1, 1]), np.ones(5), r, hub=True),
}


# ----------------------------------------------------------------------------------------------------------- reference


def matrix(array: Any) -> mp.matrix:
    return mp.matrix(np.asarray(array, dtype=float).tolist())


def cross(a: mp.matrix, b: mp.matrix) -> mp.matrix:
    return mp.matrix([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def turn(axis: mp.matrix, angle: mp.mpf) -> mp.matrix:
    """Rodrigues' formula."""
    x, y, z = axis
    k = mp.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return mp.eye(3) + mp.sin(angle) * k + (1 - mp.cos(angle)) * k * k


def forces(mechanism: da.Mechanism, q: Any, v: Any, a: Any, gravity: bool = True) -> list[mp.mpf]:
    """Newton and Euler for every body, in world axes and about its centre of mass; wrenches summed from the tip."""
    R, p = mp.eye(3), mp.zeros(3, 1)
    w = dw = dv = dp = mp.zeros(3, 1)
    if gravity:
        dv = -matrix(mechanism.gravity)
    records = []
    for k, (joint, body) in enumerate(zip(mechanism.joints, mechanism.bodies)):
        r = R * matrix(joint.placement.translation)
        dv = dv + cross(dw, r) + cross(w, cross(w, r))
        dp = dp + cross(w, r)
        p, R = p + r, R * matrix(joint.placement.rotation)
        unit = matrix(joint.axis)
        length = mp.sqrt(sum(x * x for x in unit))
        unit = unit / length
        axis = R * unit
        if joint.kind == "revolute":
            R = R * turn(unit, q[k])
            dw = dw + axis * a[k] + cross(w, axis) * v[k]
            w = w + axis * v[k]
        else:
            slide = axis * q[k]
            dv = dv + cross(dw, slide) + cross(w, cross(w, slide)) + 2 * v[k] * cross(w, axis) + axis * a[k]
            p = p + slide
        c = R * matrix(body.inertia.center)
        tensor = R * matrix(body.inertia.tensor) * R.T
        force = mp.mpf(float(body.inertia.mass)) * (dv + cross(dw, c) + cross(w, cross(w, c)))
        moment = tensor * dw + cross(w, tensor * w)
        records.append((joint.kind, axis, p, p + c, force, moment))
    tau = []
    total, torque, place = mp.zeros(3, 1), mp.zeros(3, 1), p
    for kind, axis, origin, center, force, moment in reversed(records):
        torque = torque + cross(place - origin, total) + moment + cross(center - origin, force)
        total, place = total + force, origin
        along = torque if kind == "revolute" else total
        tau.append(sum(axis[i] * along[i] for i in range(3)))
    return tau[::-1]


def accelerations(mechanism: da.Mechanism, q: Any, v: Any, tau: Any) -> list[mp.mpf]:
    n, zero = len(q), [mp.mpf(0)] * len(q)
    columns = [forces(mechanism, q, zero, [mp.mpf(i == k) for i in range(n)], gravity=False) for k in range(n)]
    bias = forces(mechanism, q, v, zero)
    return list(mp.lu_solve(mp.matrix(columns).T, mp.matrix(tau) - mp.matrix(bias)))


def error(found: Any, wanted: list[mp.mpf]) -> float:
    largest = max(abs(x) for x in wanted)
    return float(max(abs(mp.mpf(float(x)) - y) for x, y in zip(np.ravel(found), wanted)) / largest)


# ------------------------------------------------------------------------------------------------------------- answers


def answers(mechanism: da.Mechanism) -> dict[str, tuple[Callable[..., Any], Callable[..., Any]]]:
    """Inverse and forward dynamics, by name of who computes."""
    dyn = da.Dynamics(mechanism)
    found: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
        "default": (dyn.inverse_dynamics, dyn.forward_dynamics),
        **{
            name: (
                dyn.kernel("inverse_dynamics", algorithm="newton-euler"),
                dyn.kernel("forward_dynamics", algorithm=name),
            )
            for name in ("articulated-body", "factor-and-solve")
        },
    }
    try:
        import pinocchio as pin
    except ImportError:
        return found
    model, parent = pin.Model(), 0
    for joint, body in zip(mechanism.joints, mechanism.bodies):
        make = pin.JointModelRevoluteUnaligned if joint.kind == "revolute" else pin.JointModelPrismaticUnaligned
        place = pin.SE3(np.array(joint.placement.rotation, float), np.array(joint.placement.translation, float))
        parent = model.addJoint(parent, make(np.array(joint.axis, float)), place, joint.name)
        inertia = body.inertia
        about_center = pin.Inertia(
            float(inertia.mass), np.array(inertia.center, float), np.array(inertia.tensor, float)
        )
        model.appendBodyToJoint(parent, about_center, pin.SE3.Identity())
    model.gravity.linear = np.array(mechanism.gravity, float)
    data = model.createData()
    found["Pinocchio"] = (
        lambda q, v, a: pin.rnea(model, data, q, v, a), lambda q, v, tau: pin.aba(model, data, q, v, tau)
    )  # fmt: skip
    return found


def measure(kind: str, count: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    inverse: dict[str, list[float]] = {}
    forward: dict[str, list[float]] = {}
    condition = []
    for _ in range(count):
        mechanism = CLASSES[kind](rng)
        q, v, a = rng.uniform(-3, 3, (3, mechanism.nv))
        exact = [[mp.mpf(float(x)) for x in row] for row in (q, v, a)]
        torques = forces(mechanism, *exact)
        tau = np.array([float(x) for x in torques])
        rates = accelerations(mechanism, exact[0], exact[1], [mp.mpf(float(x)) for x in tau])
        condition.append(float(np.linalg.cond(da.Dynamics(mechanism).mass_matrix(q))))
        for name, (id_, fd) in answers(mechanism).items():
            inverse.setdefault(name, []).append(error(id_(q, v, a), torques))
            forward.setdefault(name, []).append(error(fd(q, v, tau), rates))
    return {"inverse": inverse, "forward": forward, "condition": condition}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=12, help="mechanisms of each class")
    parser.add_argument("--classes", nargs="*", default=list(CLASSES))
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    for kind in options.classes:
        found[kind] = measure(kind, options.count)
        print(f"\n{kind}: condition of the inertia matrix up to {max(found[kind]['condition']):.0e}")
        for quantity in ("inverse", "forward"):
            words = [
                f"{name} {max(errors):.1e} (median {np.median(errors):.1e})"
                for name, errors in found[kind][quantity].items()
            ]
            print(f"  {quantity} dynamics: {'; '.join(words)}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
