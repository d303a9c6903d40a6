"""Mechanisms with motions that are known in closed form or to many digits."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ellipj, ellipk

from dalembert.algebra.transform import Transform
from dalembert.model import Body, Inertia, Joint, Mechanism
from dalembert.simulation import STEPPERS

GRAVITY = 9.81


def by(method: str, step: float, **tolerances: float) -> dict:
    """Options of ``simulate``: a step for methods of fixed step, tolerances for the others.

    Args:
        method: its name.
        step: s.
        tolerances: ``rtol`` and such.
    """
    return {"method": method, **({"step": step} if method in STEPPERS else tolerances)}


def pendulum(length: float = 0.7, mass: float = 1.3) -> Mechanism:
    """A point mass on a massless rod; the angle is zero when it hangs."""
    bob = Body("bob", Inertia.point(mass, [0, 0, -length]))
    return Mechanism("pendulum", (bob,), (Joint("hinge", "continuous", "world", "bob", axis=[0, 1, 0]),))


def swing(t: np.ndarray | float, amplitude: float, length: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """sin(theta/2) = k sn(w t + K, k), and its rate, for a pendulum released at rest.

    Args:
        t: time(s) since.
        amplitude: where.
        length: of the rod.
    """
    k = math.sin(amplitude / 2)
    w = math.sqrt(GRAVITY / length)
    sn, cn, _, _ = ellipj(w * t + ellipk(k * k), k * k)
    return 2 * np.arcsin(k * sn), 2 * k * w * cn


def double_pendulum() -> Mechanism:
    """Two unit point masses on rods of unit length, relative angles."""
    bodies = (Body("one", Inertia.point(1, [0, 0, -1])), Body("two", Inertia.point(1, [0, 0, -1])))
    below = Transform.from_translation(np.array([0.0, 0.0, -1.0]))
    joints = (
        Joint("first", "continuous", "world", "one", axis=[0, 1, 0]),
        Joint("second", "continuous", "one", "two", placement=below, axis=[0, 1, 0]),
    )
    return Mechanism("double pendulum", bodies, joints)


MOMENTS = np.array([0.02, 0.045, 0.06])


def top(form: str, gravity: float = GRAVITY, center: float = 0.3) -> Mechanism:
    """A heavy asymmetric top with a fixed point, its attitude given by a quaternion or by three turns in a row.

    Args:
        form: ``"quaternion"``, or three axes such as ``"zyx"``.
        gravity: 0 for the body without torque.
        center: how far the centre of mass is from the fixed point, along body z.
    """
    inertia = Inertia(0.8, [0, 0, center], np.diag(MOMENTS))
    down = np.array([0.0, 0.0, -gravity])
    if form == "quaternion":
        joint = Joint("ball", "spherical", "world", "top")
        return Mechanism("top", (Body("top", inertia),), (joint,), gravity=down)
    axes = {"x": [1, 0, 0], "y": [0, 1, 0], "z": [0, 0, 1]}
    names = ["world", "a", "b", "top"]
    bodies = (Body("a"), Body("b"), Body("top", inertia))
    joints = tuple(
        Joint(f"turn{k}", "continuous", names[k], names[k + 1], axis=axes[letter]) for k, letter in enumerate(form)
    )
    return Mechanism(f"top {form}", bodies, joints, gravity=down, strict=False)
