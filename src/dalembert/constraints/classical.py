"""Classical constrained mechanisms with published parameters, for tests, examples and benchmarks. SI units."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra.transform import Transform
from dalembert.model import WORLD, Body, Constraint, Force, Inertia, Joint, Mechanism

at = Transform.from_translation
X, Y, Z = np.eye(3)
DOWN = np.array([0.0, -9.81, 0.0])
"""Weight in the plane of the planar mechanisms."""


def planar_bar(mass: float, length: float) -> Inertia:
    """A slender bar along x from its origin.

    Args:
        mass: kg.
        length: m.
    """
    moment = mass * length**2 / 12
    return Inertia(mass, np.array([length / 2, 0, 0]), np.diag([1e-6 * moment, moment, moment]))


def _planar(mass: float, center: Any, moment: float) -> Inertia:
    """A lamina: moment about z through the centre of mass, the others small but possible."""
    return Inertia(mass, np.array([*center, 0]), np.diag([moment / 2, moment / 2, moment]))


def four_bar(
    lengths: tuple[float, float, float] = (1.0, 2.5, 2.0),
    ground: float = 3.0,
    kind: str = "point-on-line",
    gravity: Any = DOWN,
) -> Mechanism:
    """Crank, coupler and rocker in the xy plane, of 1 kg/m, closed at the end of the rocker.

    Args:
        lengths: of crank, coupler and rocker, m.
        ground: distance of the two fixed pivots, along x.
        kind: of the closure; ``"revolute"`` has three redundant rows here.
        gravity: acceleration of free fall.
    """
    a, b, c = lengths
    joints = [
        Joint("crank", "revolute", WORLD, "crank_bar"),
        Joint("coupler", "revolute", "crank_bar", "coupler_bar", at([a, 0, 0])),
        Joint("rocker", "revolute", WORLD, "rocker_bar", at([ground, 0, 0])),
    ]
    bodies = [Body(f"{name}_bar", planar_bar(x, x)) for name, x in zip(("crank", "coupler", "rocker"), lengths)]
    pin = Constraint("pin", kind, "coupler_bar", "rocker_bar", at([b, 0, 0]), at([c, 0, 0]))
    return Mechanism("four-bar", tuple(bodies), tuple(joints), constraints=(pin,), gravity=gravity)


def slider_crank(crank: float = 0.3, rod: float = 1.0, slider: float = 2.0, gravity: Any = DOWN) -> Mechanism:
    """Crank and rod of 1 kg/m and a slider along x, in the xy plane.

    Args:
        crank: length, m.
        rod: length, m.
        slider: mass, kg.
        gravity: acceleration of free fall.
    """
    joints = [
        Joint("crank", "revolute", WORLD, "crank_bar"),
        Joint("rod", "revolute", "crank_bar", "rod_bar", at([crank, 0, 0])),
        Joint("slide", "prismatic", WORLD, "slider", axis=X),
    ]
    block = Inertia(slider, np.zeros(3), 0.01 * slider * np.eye(3))
    bodies = [Body("crank_bar", planar_bar(crank, crank)), Body("rod_bar", planar_bar(rod, rod)), Body("slider", block)]
    pin = Constraint("pin", "point-on-line", "slider", "rod_bar", placement_b=at([rod, 0, 0]))
    return Mechanism("slider-crank", tuple(bodies), tuple(joints), constraints=(pin,), gravity=gravity)


ANDREWS_START = (
    -0.0617138900142764496358948458001, 0.0, 0.455279819163070380255912382449, 0.487364979543842550225598953530,
    0.222668390165885884674473185609, 1.23054744454982119249735015568, -0.222668390165885884674473185609,
)  # fmt: skip
"""Consistent initial positions of Andrews' mechanism in the order of its joints: beta, theta, gamma, delta, phi,
epsilon, omega (the test set's order is beta, theta, gamma, phi, delta, omega, epsilon)."""


def andrews() -> Mechanism:
    """Andrews' squeezing mechanism: seven bodies, three loops, a spring and a motor, in the plane, without gravity.

    Parameters of Hairer and Wanner, Solving Ordinary Differential Equations II (1996), section VII.7, and of the Test
    Set for Initial Value Problem Solvers (Mazzia and Magherini).
    """
    d, e, rr, ss, u, zf, zt = 0.028, 0.02, 0.007, 0.035, 0.04, 0.02, 0.04
    ea = fa = 0.01421
    A, B, C = at([-0.06934, -0.00227, 0]), at([-0.03635, 0.03273, 0]), at([0.014, 0.072, 0])
    joints = [
        Joint("beta", "revolute", WORLD, "K1"),
        Joint("theta", "revolute", "K1", "K2", at([rr, 0, 0])),
        Joint("gamma", "revolute", WORLD, "K3", B),
        Joint("delta", "revolute", WORLD, "K5", A),
        Joint("phi", "revolute", "K5", "K4", at([zt, 0, 0])),
        Joint("epsilon", "revolute", WORLD, "K7", A),
        Joint("omega", "revolute", "K7", "K6", at([0, -u, 0])),
    ]
    bodies = [
        Body("K1", _planar(0.04325, [0.00092, 0], 2.194e-6)),
        Body("K2", _planar(0.00365, [-0.0115, 0], 4.410e-7)),
        Body("K3", _planar(0.02373, [0.01043, -0.01874], 5.255e-6)),
        Body("K4", _planar(0.00706, [0, ea - e], 5.667e-7)),
        Body("K5", _planar(0.07050, [0.02308, 0.00916], 1.169e-5)),
        Body("K6", _planar(0.00706, [zf - fa, 0], 5.667e-7)),
        Body("K7", _planar(0.05498, [-0.00449, -0.01228], 1.912e-5)),
    ]
    tips = {"K3": [0, -ss, 0], "K4": [0, -e, 0], "K6": [zf, 0, 0]}
    pins = [
        Constraint(f"{body}-K2", "point-on-line", body, "K2", at(tip), at([-d, 0, 0])) for body, tip in tips.items()
    ]
    forces = [
        Force("spring", "spring", WORLD, "K3", C, at([0.02, -0.018, 0]), stiffness=4530, rest=0.07785),
        Force("motor", "joint-force", "beta", value=0.033),
    ]
    return Mechanism(
        "Andrews", tuple(bodies), tuple(joints), constraints=tuple(pins), forces=tuple(forces), gravity=np.zeros(3)
    )


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

    Chaplygin 1911; Neimark and Fufaev, Dynamics of Nonholonomic Systems (1972), section III.2.

    Args:
        mass: kg.
        moment: of inertia about the centre of mass, kg m^2.
        offset: of the centre of mass from the edge, m.
    """
    body = Body("sleigh", _planar(mass, [offset, 0], moment))
    joint = Joint("plane", "planar", WORLD, "sleigh")
    return Mechanism("Chaplygin sleigh", (body,), (joint,), constraints=(Constraint("edge", "skate", "sleigh"),))


def parallel_four_bars(count: int = 2) -> Mechanism:
    """A row of parallelograms: upright rods of 1 m and 1 kg on the ground, their tops joined by equal rods.

    Gonzalez, Dopico, Luaces and Cuadrado, A benchmarking system for MBS simulation software, Multibody System Dynamics
    16 (2006), the "N four-bar" problem: one degree of freedom, and all rods on one line are singular positions.
    Angles of the upright rods ``rod0``, ``rod1``, ... are from the x axis; those of the joining rods relative to them.

    Args:
        count: number of parallelograms.
    """
    joints, bodies, pins = [], [], []
    for k in range(count + 1):
        joints.append(Joint(f"rod{k}", "revolute", WORLD, f"upright{k}", at([float(k), 0, 0])))
        bodies.append(Body(f"upright{k}", planar_bar(1, 1)))
        if k < count:
            joints.append(Joint(f"top{k}", "revolute", f"upright{k}", f"link{k}", at([1, 0, 0])))
            bodies.append(Body(f"link{k}", planar_bar(1, 1)))
            ends = (at([1, 0, 0]), at([1, 0, 0]))
            pins.append(Constraint(f"pin{k}", "point-on-line", f"link{k}", f"upright{k + 1}", *ends))
    return Mechanism("parallel four-bars", tuple(bodies), tuple(joints), constraints=tuple(pins), gravity=DOWN)


def bricard() -> Mechanism:
    """The trihedral linkage of Bricard: six hinges at right angles, rods of 1 m and 1 kg, one redundant constraint.

    Bricard 1897; Chen, You and Tarnai, Threefold-symmetric Bricard linkages for deployable structures, Int. J. Solids
    Struct. 42 (2005): opposite triples of hinge angles t and p are equal, and cos t + cos p + cos t cos p = 0.
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


def spatial_slider_crank() -> Mechanism:
    """A crank about x, a rod on a ball, and a slider along x joined to it by a universal joint.

    Geometry and masses of Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989), section 12.5:
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


def rattleback() -> Mechanism:
    """Half an ellipsoid whose principal axes of inertia are turned against those of its surface.

    Kane and Levinson, Realistic mathematical modeling of the rattleback, Int. J. Non-Linear Mechanics 17 (1982):
    semi-axes 0.2, 0.03 and 0.02 m, centre of mass 0.01 m below their centre, 1 kg. The body's frame is at the centre of
    the ellipsoid, carried by a free joint.
    """
    tensor = np.array([[2e-4, -2e-5, 0], [-2e-5, 1.6e-3, 0], [0, 0, 1.7e-3]])
    body = Body("stone", Inertia(1.0, np.array([0, 0, -0.01]), tensor))
    contact = Constraint("contact", "rolling-ellipsoid", "stone", WORLD, coefficients=(0.2, 0.03, 0.02))
    return Mechanism("rattleback", (body,), (Joint("free", "free", WORLD, "stone"),), constraints=(contact,))


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
