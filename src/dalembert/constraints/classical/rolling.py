"""Bodies that roll or slide on an edge, with published parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.constraints.classical.parts import X, Y, Z, at, lamina
from dalembert.model import WORLD, Body, Constraint, Inertia, Joint, Mechanism


def whipple_bicycle() -> Mechanism:
    """The bicycle benchmark: rider fixed to the rear frame, knife-edge wheels, no-slip contacts.

    Parameters of Meijaard, Papadopoulos, Ruina and Schwab, Linearized dynamics equations for the balance and steer of
    a bicycle: a benchmark and review, Proc. R. Soc. A 463 (2007), Table 1. Here x is forward, y left and z up, so
    their coordinates (z down) are turned by half a turn about x; lean is to the right, steer to the right, as there.

    Joints: ``x``, ``y``, ``z`` of the rear wheel's centre, ``yaw`` (to the left), ``lean``, ``pitch``, ``rear``,
    ``steer``, ``front``. A wheel that rolls forward turns at a positive rate.
    """
    w, trail, tilt, r_rear, r_front = 1.02, 0.08, np.pi / 10, 0.3, 0.35
    centre_rear = np.array([0, 0, r_rear])
    axis = np.array([np.sin(tilt), 0, -np.cos(tilt)])  # of the steering, down and forward
    on_axis = np.array([w + trail, 0, 0])  # where it meets the ground
    foot = on_axis - axis * (axis @ (on_axis - [w, 0, r_front]))  # nearest to the front wheel's centre

    def body(mass: float, centre: Any, xx: float, yy: float, zz: float, xz: float, origin: Any) -> Inertia:
        x, z = centre
        tensor = [[xx, 0, -xz], [0, yy, 0], [-xz, 0, zz]]  # products change their sign with z
        return Inertia(mass, np.array([x, 0, -z]) - origin, np.array(tensor))

    bodies = [
        *(Body(name) for name in ("to_x", "to_y", "to_z", "to_yaw", "to_lean")),
        Body("rear_frame", body(85, (0.3, -0.9), 9.2, 11.0, 2.8, 2.4, centre_rear)),
        Body("rear_wheel", Inertia(2, np.zeros(3), np.diag([0.0603, 0.12, 0.0603]))),
        Body("front_frame", body(4, (0.9, -0.7), 0.05892, 0.06, 0.00708, -0.00756, foot)),
        Body("front_wheel", Inertia(3, np.zeros(3), np.diag([0.1405, 0.28, 0.1405]))),
    ]
    joints = [
        Joint("x", "prismatic", WORLD, "to_x", axis=X),
        Joint("y", "prismatic", "to_x", "to_y", axis=Y),
        Joint("z", "prismatic", "to_y", "to_z", axis=Z),
        Joint("yaw", "revolute", "to_z", "to_yaw"),
        Joint("lean", "revolute", "to_yaw", "to_lean", axis=X),
        Joint("pitch", "revolute", "to_lean", "rear_frame", axis=Y),
        Joint("rear", "continuous", "rear_frame", "rear_wheel", axis=Y),
        Joint("steer", "revolute", "rear_frame", "front_frame", at(foot - centre_rear), axis=axis),
        Joint("front", "continuous", "front_frame", "front_wheel", at([w, 0, r_front] - foot), axis=Y),
    ]
    upright = Transform.from_rpy_xyz([np.pi / 2, 0, 0], [0, 0, 0])  # z of the disc along the axle
    contacts = [
        Constraint("rear_contact", "rolling-disc", "rear_wheel", WORLD, upright, value=r_rear),
        Constraint("front_contact", "rolling-disc", "front_wheel", WORLD, upright, value=r_front),
    ]
    return Mechanism("Whipple bicycle", tuple(bodies), tuple(joints), constraints=tuple(contacts))


BICYCLE_UPRIGHT = (0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Positions of the bicycle upright and straight."""


def rolling_disc(mass: float = 1.0, radius: float = 0.5, angles: bool = False) -> Mechanism:
    """A thin uniform disc that rolls on the ground, z of its frame along its axle.

    Args:
        mass: kg.
        radius: m.
        angles: carry it by joints ``x``, ``y``, ``z``, ``yaw``, ``lean`` and ``spin`` (axle along y at zero) instead
            of one free joint: coordinates in which rolling straight or in a circle has constant coefficients.
    """
    moment = mass * radius**2 / 4
    disc = Body("disc", Inertia(mass, np.zeros(3), np.diag([moment, moment, 2 * moment])))
    contact = Constraint("contact", "rolling-disc", "disc", WORLD, value=radius)
    if not angles:
        joint = Joint("free", "free", WORLD, "disc")
        return Mechanism("rolling disc", (disc,), (joint,), constraints=(contact,))
    names = ("x", "y", "z", "yaw", "lean")
    joints = [
        Joint(name, "prismatic" if k < 3 else "revolute", f"to_{names[k - 1]}" if k else WORLD, f"to_{name}", axis=axis)
        for k, (name, axis) in enumerate(zip(names, (X, Y, Z, Z, X)))
    ]
    axle = Transform.from_rpy_xyz([-np.pi / 2, 0, 0], [0, 0, 0])
    joints.append(Joint("spin", "continuous", "to_lean", "disc", axle))
    bodies = (*(Body(f"to_{name}") for name in names), disc)
    return Mechanism("rolling disc", bodies, tuple(joints), constraints=(contact,))


def chaplygin_sleigh(mass: float = 2.0, moment: float = 0.5, offset: float = 0.4) -> Mechanism:
    """A sleigh in the plane with a knife edge along x at its origin and the centre of mass ahead of it.

    Chaplygin 1911; Neimark and Fufaev, Dynamics of Nonholonomic Systems (1972).

    Args:
        mass: kg.
        moment: of inertia about the centre of mass, kg m^2.
        offset: of the centre of mass from the edge, m.
    """
    body = Body("sleigh", lamina(mass, [offset, 0], moment))
    joint = Joint("plane", "planar", WORLD, "sleigh")
    return Mechanism("Chaplygin sleigh", (body,), (joint,), constraints=(Constraint("edge", "skate", "sleigh"),))


def rattleback() -> Mechanism:
    """Half an ellipsoid whose principal axes of inertia are turned against those of its surface.

    After Kane and Levinson, Realistic mathematical modeling of the rattleback (1982):
    semi-axes 0.2, 0.03 and 0.02 m, centre of mass 0.01 m below their centre, 1 kg. The body's frame is at the centre of
    the ellipsoid, carried by a free joint.
    """
    tensor = np.array([[2e-4, -2e-5, 0], [-2e-5, 1.6e-3, 0], [0, 0, 1.7e-3]])
    body = Body("stone", Inertia(1.0, np.array([0, 0, -0.01]), tensor))
    contact = Constraint("contact", "rolling-ellipsoid", "stone", WORLD, coefficients=(0.2, 0.03, 0.02))
    return Mechanism("rattleback", (body,), (Joint("free", "free", WORLD, "stone"),), constraints=(contact,))
