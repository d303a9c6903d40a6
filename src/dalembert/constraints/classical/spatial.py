"""Closed loops in space, and a satellite."""

from __future__ import annotations

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.constraints.classical.parts import DOWN, X, Y, Z, at, planar_bar
from dalembert.model import WORLD, Body, Constraint, Force, Inertia, Joint, Mechanism


def spatial_slider_crank() -> Mechanism:
    """A crank about x, a rod on a ball, and a slider along x joined to it by a universal joint.

    Dimensions after Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989):
    crank 0.08 m about the point (0, 0.1, 0.12) m, rod 0.3 m. Joints ``crank`` (angle from y), ``ball``, ``slide``.
    """
    crank = Inertia(0.12, np.array([0, 0.04, 0]), 1e-4 * np.eye(3))
    rod = Inertia(0.5, np.array([0.15, 0, 0]), np.diag([4e-4, 4e-3, 4e-3]))
    bodies = (Body("crank_arm", crank), Body("rod", rod), Body("slider", Inertia(2.0, np.zeros(3), 1e-4 * np.eye(3))))
    joints = (
        Joint("crank", "revolute", WORLD, "crank_arm", at([0, 0.1, 0.12]), axis=X),
        Joint("ball", "spherical", "crank_arm", "rod", at([0, 0.08, 0])),
        Joint("slide", "prismatic", WORLD, "slider", axis=X),
    )
    # Axes of the cross: z of the slider, and y of the rod.
    cross = Transform.from_rpy_xyz([-np.pi / 2, 0, 0], [0.3, 0, 0])
    closure = Constraint("cross", "universal", "slider", "rod", placement_b=cross)
    return Mechanism("spatial slider-crank", bodies, joints, constraints=(closure,))


def bricard() -> Mechanism:
    """The trihedral linkage of Bricard: six hinges at right angles, rods of 1 m and 1 kg, one redundant constraint.

    Bricard 1897; Chen, You and Tarnai, Threefold-symmetric Bricard linkages for deployable structures (2005):
    opposite triples of hinge angles t and p are equal, and cos t + cos p + cos t cos p = 0.
    """
    joints, bodies = [], []
    place = Transform.identity()
    for k in range(5):
        parent = f"rod{k}" if k else WORLD
        joints.append(Joint(f"hinge{k + 1}", "revolute", parent, f"rod{k + 1}", place))
        bodies.append(Body(f"rod{k + 1}", planar_bar(1, 1)))
        twist = np.pi / 2 if k % 2 == 0 else -np.pi / 2
        place = Transform.from_rpy_xyz([twist, 0, 0], [1, 0, 0])
    # The sixth rod is the ground, from the sixth hinge to the first.
    back = Transform.from_rpy_xyz([-np.pi / 2, 0, 0], [1, 0, 0]).inverse()
    closure = Constraint("hinge6", "revolute", "rod5", WORLD, place, back)
    return Mechanism("Bricard", tuple(bodies), tuple(joints), constraints=(closure,), gravity=DOWN)


def flyball_governor(speed: float = 8.0, ball: float = 2.0, sleeve: float = 3.0, arm: float = 0.6) -> Mechanism:
    """Watt's governor: two balls on arms hinged at the top of a spindle, lower arms carry a sleeve.

    The spindle turns at a given speed. Arms are massless. Joints ``spindle``, ``left``, ``right`` (angles of the arms
    from the vertical), ``lower_left``, ``lower_right`` and ``sleeve`` (height below the hinge).

    Args:
        speed: of the spindle, rad/s.
        ball: mass of each ball, kg.
        sleeve: mass, kg.
        arm: length of all arms, m.
    """
    point = Inertia(ball, np.array([0, 0, -arm]), 1e-9 * ball * np.eye(3))
    joints = [Joint("spindle", "revolute", WORLD, "shaft")]
    bodies = [Body("shaft", Inertia(1.0, np.zeros(3), 0.01 * np.eye(3)))]
    constraints = [Constraint("speed", "motion", "spindle", coefficients=(0, speed))]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        joints += [
            Joint(side, "revolute", "shaft", f"{side}_arm", axis=-sign * Y),
            Joint(f"lower_{side}", "revolute", f"{side}_arm", f"lower_{side}_arm", at([0, 0, -arm]), axis=-sign * Y),
        ]
        bodies += [Body(f"{side}_arm", point), Body(f"lower_{side}_arm", Inertia(1e-6, np.zeros(3), 1e-9 * np.eye(3)))]
        ends = (f"lower_{side}_arm", "collar", Transform.from_rpy_xyz([np.pi / 2, 0, 0], [0, 0, -arm]))
        turned = Transform.from_rpy_xyz([np.pi / 2, 0, 0], [0, 0, 0])
        constraints.append(Constraint(f"{side}_pin", "point-on-line", *ends, turned))
    joints.append(Joint("sleeve", "prismatic", "shaft", "collar", axis=-Z))
    bodies.append(Body("collar", Inertia(sleeve, np.zeros(3), 0.01 * np.eye(3))))
    return Mechanism("flyball governor", tuple(bodies), tuple(joints), constraints=tuple(constraints))


EARTH = 3.986004418e14
"""G M of the Earth, m^3/s^2."""


def satellite(principal: tuple[float, float, float] = (80.0, 100.0, 40.0), mass: float = 50.0) -> Mechanism:
    """A rigid body in orbit about the Earth, in coordinates in which a circular orbit is steady.

    Joints ``orbit`` (about y), ``radius`` and ``attitude`` (a ball): x of the orbital frame is along the track, y
    normal to the orbit, z away from the Earth.

    Args:
        principal: moments about x, y and z of the body, kg m^2.
        mass: kg.
    """
    bodies = (Body("to_orbit"), Body("to_radius"), Body("body", Inertia(mass, np.zeros(3), np.diag(principal))))
    joints = (
        Joint("orbit", "revolute", WORLD, "to_orbit", axis=Y),
        Joint("radius", "prismatic", "to_orbit", "to_radius", axis=Z),
        Joint("attitude", "spherical", "to_radius", "body"),
    )
    earth = Force("earth", "attraction", WORLD, value=EARTH)
    return Mechanism("satellite", bodies, joints, forces=(earth,), gravity=np.zeros(3))
