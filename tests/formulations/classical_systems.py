"""The worked examples of textbooks as mechanisms with symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy

from dalembert.algebra.transform import Transform
from dalembert.formats.dh import from_dh
from dalembert.formulations import MovingBodies, MovingBodyFormula
from dalembert.model import WORLD, Body, Constraint, Frame, Inertia, Joint, Mechanism

X, Y, Z = np.eye(3)


def diagonal(xx: Any, yy: Any, zz: Any) -> np.ndarray:
    """A principal inertia tensor."""
    return np.array([[xx, 0, 0], [0, yy, 0], [0, 0, zz]], dtype=object)


def moved(x: Any = 0, y: Any = 0, z: Any = 0) -> Transform:
    """A pure translation, symbols allowed."""
    return Transform(np.eye(3), np.array([x, y, z], dtype=object))


def chain(name: str, links: Sequence[tuple], gravity: Sequence[Any], frames: Sequence[Frame] = ()) -> Mechanism:
    """A serial chain: each link is (joint name, kind, axis, inertia or None, placement or None)."""
    bodies, joints, parent = [], [], WORLD
    for joint, kind, axis, inertia, placement in links:
        body = f"{joint}_body"
        bodies.append(Body(body, inertia or Inertia()))
        joints.append(Joint(joint, kind, parent, body, axis=axis, placement=placement or Transform.identity()))
        parent = body
    return Mechanism(
        name, tuple(bodies), tuple(joints), tuple(frames), gravity=np.array(gravity, dtype=object), strict=False
    )


def rp_arm() -> Mechanism:
    """The arm of the lecture KHATIB: a revolute joint, then a prismatic one along the arm."""
    m1, m2, l1, g, I1, I2 = sympy.symbols("m1 m2 l1 g I_zz1 I_zz2")
    return chain(
        "RP arm",
        [
            ("theta1", "revolute", Z, Inertia(m1, [l1, 0, 0], diagonal(0, 0, I1)), None),
            ("d2", "prismatic", X, Inertia(m2, [0, 0, 0], diagonal(0, 0, I2)), None),
        ],
        [0, -g, 0],
    )


def stacker() -> Mechanism:
    """The stacker crane of NGUYEN, standard DH: (d, theta, a, alpha) = (q1,0,0,pi/2), (d2,q2,0,pi/2), (0,q3,a3,0)."""
    m1, m2, m3, a3, d2, l3, y_G2 = sympy.symbols("m1 m2 m3 a3 d2 l3 y_G2")
    inertias = [sympy.symbols(f"I_{k}x I_{k}y I_{k}z") for k in (1, 2, 3)]
    rows: list[dict[str, Any]] = [
        {"alpha": sympy.pi / 2, "joint": "P", "mass": m1, "inertia": inertias[0]},
        {"alpha": sympy.pi / 2, "d": d2, "mass": m2, "center": [0, y_G2, 0], "inertia": inertias[1]},
        {"a": a3, "mass": m3, "center": [l3 - a3, 0, 0], "inertia": inertias[2]},
    ]
    for k, row in enumerate(rows, 1):
        row["joint_name"] = f"q{k}"
    return from_dh(rows, "standard", name="stacker", gravity=(0, 0, 0))


def planar_elbow() -> Mechanism:
    """The planar elbow manipulator, or double physical pendulum, with relative angles from the horizontal."""
    m1, m2, l1, lc1, lc2, I1, I2, g = sympy.symbols("m1 m2 l1 l_c1 l_c2 I1 I2 g")
    return chain(
        "planar elbow",
        [
            ("q1", "revolute", Z, Inertia(m1, [lc1, 0, 0], diagonal(0, 0, I1)), None),
            ("q2", "revolute", Z, Inertia(m2, [lc2, 0, 0], diagonal(0, 0, I2)), moved(l1)),
        ],
        [0, -g, 0],
    )


def pendulum_on_cart(n: int) -> MovingBodies:
    """A cart with n point masses on massless rods, angles from the upward vertical."""
    q = sympy.symbols(f"q0:{n + 1}")
    m, l, g = sympy.symbols(f"m0:{n + 1}"), sympy.symbols(f"l0:{n}"), sympy.Symbol("g")
    x, y = q[0], sympy.Integer(0)
    bodies = [MovingBodyFormula("cart", m[0], [x, 0, 0])]
    for k in range(n):
        x, y = x - l[k] * sympy.sin(q[k + 1]), y + l[k] * sympy.cos(q[k + 1])
        bodies.append(MovingBodyFormula(f"bob{k + 1}", m[k + 1], [x, y, 0]))
    return MovingBodies(f"cart with {n} links", q, bodies, gravity=[0, -g, 0])


def hanging_pendulum(n: int) -> MovingBodies:
    """n point masses on massless rods under a fixed point, angles from the downward vertical."""
    phi = sympy.symbols(f"phi1:{n + 1}")
    m, l, g = sympy.symbols(f"m1:{n + 1}"), sympy.symbols(f"l1:{n + 1}"), sympy.Symbol("g")
    x = y = sympy.Integer(0)
    bodies = []
    for k in range(n):
        x, y = x + l[k] * sympy.sin(phi[k]), y - l[k] * sympy.cos(phi[k])
        bodies.append(MovingBodyFormula(f"bob{k + 1}", m[k], [x, y, 0]))
    return MovingBodies(f"{n} hanging links", phi, bodies, gravity=[0, -g, 0])


def cart_pole() -> Mechanism:
    """A cart and a uniform pole of half length l, angle from the upward vertical."""
    mc, m, l, g = sympy.symbols("m_c m l g")
    rod = Inertia(m, [0, 0, l], diagonal(m * l**2 / 3, m * l**2 / 3, 0))
    return chain(
        "cart-pole",
        [("x", "prismatic", X, Inertia(mc), None), ("theta", "revolute", Y, rod, None)],
        [0, 0, -g],
    )


def spherical_pendulum() -> Mechanism:
    """A point mass on a rod: azimuth phi, angle theta from the downward vertical."""
    m, l, g = sympy.symbols("m l g")
    return chain(
        "spherical pendulum",
        [("phi", "revolute", Z, None, None), ("theta", "revolute", -Y, Inertia(m, [0, 0, -l]), None)],
        [0, 0, -g],
    )


def heavy_top() -> Mechanism:
    """The symmetric top with a fixed point: Euler angles phi, theta, psi (z, x, z), centre of mass at height l."""
    M, l, I1, I3, g = sympy.symbols("M l I1 I3 g")
    top = Inertia(M, [0, 0, l], diagonal(I1 - M * l**2, I1 - M * l**2, I3))
    return chain(
        "heavy top",
        [
            ("phi", "revolute", Z, None, None),
            ("theta", "revolute", X, None, None),
            ("psi", "revolute", Z, top, None),
        ],
        [0, 0, -g],
    )


def rolling_disc() -> Mechanism:
    """A thin uniform disc: position, yaw q1, lean q2, spin q3; the frame `contact` follows its lowest point."""
    m, r, g = sympy.symbols("m r g")
    disc = Inertia(m, [0, 0, 0], diagonal(m * r**2 / 4, m * r**2 / 2, m * r**2 / 4))
    links = [(name, "prismatic", axis, None, None) for name, axis in zip("xyz", (X, Y, Z))]
    turns = [("q1", Z, None), ("q2", X, None), ("q3", Y, disc)]
    links += [(name, "revolute", axis, inertia, None) for name, axis, inertia in turns]
    return chain("rolling disc", links, [0, 0, -g], [Frame("contact", "q2_body", moved(0, 0, -r))])


def sleigh() -> Mechanism:
    """Chaplygin's sleigh: knife edge at the origin of the body, centre of mass at distance a ahead of it."""
    m, a, I = sympy.symbols("m a I")
    links = [("x", "prismatic", X, None, None), ("y", "prismatic", Y, None, None)]
    links.append(("theta", "revolute", Z, Inertia(m, [a, 0, 0], diagonal(0, 0, I)), None))
    return chain("Chaplygin sleigh", links, [0, 0, 0])


def snakeboard() -> Mechanism:
    """Board with rotor psi and wheel axles front and back; the total inertia about the centre is m l^2."""
    m, l, J0, J1 = sympy.symbols("m l J_0 J_1")
    # Masses of rotor and axles are counted with the board; J + J0 + 2 J1 = m l^2.
    board = Inertia(m, [0, 0, 0], diagonal(0, 0, m * l**2 - J0 - 2 * J1))
    spinning = {"rotor": Inertia(0, [0, 0, 0], diagonal(0, 0, J0))}
    spinning["axle"] = Inertia(0, [0, 0, 0], diagonal(0, 0, J1))
    base = chain(
        "snakeboard",
        [
            ("x", "prismatic", X, None, None),
            ("y", "prismatic", Y, None, None),
            ("theta", "revolute", Z, board, None),
        ],
        [0, 0, 0],
    )
    bodies = [*base.bodies, Body("rotor", spinning["rotor"])]
    joints = [*base.joints, Joint("psi", "revolute", "theta_body", "rotor", axis=Z)]
    for name, side in (("phi_f", 1), ("phi_b", -1)):
        bodies.append(Body(name, spinning["axle"]))
        joints.append(Joint(name, "revolute", "theta_body", name, axis=Z, placement=moved(side * l)))
    return base.replace(bodies=tuple(bodies), joints=tuple(joints))


def four_bar() -> MovingBodies:
    """Crank a, coupler b, rocker c, ground d; absolute angles, centres of mass in the middle of the bars."""
    a, b, c, d, g = sympy.symbols("a b c d g")
    angles = sympy.symbols("theta2 theta3 theta4")
    masses, inertias = sympy.symbols("m2 m3 m4"), sympy.symbols("I2 I3 I4")
    starts = [(0, 0), (a * sympy.cos(angles[0]), a * sympy.sin(angles[0])), (d, 0)]
    bodies = []
    for k, (length, angle, start) in enumerate(zip((a, b, c), angles, starts)):
        cosine, sine = sympy.cos(angle), sympy.sin(angle)
        center = [start[0] + length * cosine / 2, start[1] + length * sine / 2, 0]
        turn = sympy.Matrix([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
        bodies.append(MovingBodyFormula(f"bar{k + 2}", masses[k], center, turn, diagonal(0, 0, inertias[k])))
    return MovingBodies("four-bar", angles, bodies, gravity=[0, -g, 0])


def four_bar_loop() -> list[sympy.Expr]:
    """The loop a + b - c - d = 0 of the four-bar, differentiated."""
    a, b, c = sympy.symbols("a b c")
    lengths = (a, b, -c)
    angles, rates = sympy.symbols("theta2 theta3 theta4"), sympy.symbols("thetadot2 thetadot3 thetadot4")
    horizontal = -sum(l * sympy.sin(t) * w for l, t, w in zip(lengths, angles, rates))
    vertical = sum(l * sympy.cos(t) * w for l, t, w in zip(lengths, angles, rates))
    return [horizontal, vertical]


def closed_four_bar() -> Mechanism:
    """The four-bar as a tree with a closing joint, numeric."""
    bar = [Inertia(1.0, [l / 2, 0, 0], np.diag([0.001, l**2 / 12, l**2 / 12])) for l in (0.4, 0.9, 0.7)]
    return Mechanism(
        "four-bar",
        tuple(Body(name, inertia) for name, inertia in zip(("crank", "coupler", "rocker"), bar)),
        (
            Joint("q1", "revolute", WORLD, "crank"),
            Joint("q2", "revolute", "crank", "coupler", placement=Transform(np.eye(3), np.array([0.4, 0, 0]))),
            Joint("q3", "revolute", WORLD, "rocker", placement=Transform(np.eye(3), np.array([1.0, 0, 0]))),
        ),
        constraints=(
            Constraint(
                "loop", "revolute", "coupler", "rocker",
                placement_a=Transform(np.eye(3), np.array([0.9, 0, 0])),
                placement_b=Transform(np.eye(3), np.array([0.7, 0, 0])),
            ),
        ),
        gravity=np.array([0.0, -9.81, 0.0]),
    )  # fmt: skip
