"""Closed loops in the plane, with published parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.constraints.classical.parts import DOWN, X, at, lamina, planar_bar
from dalembert.model import WORLD, Body, Constraint, Force, Inertia, Joint, Mechanism


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

    Parameters of Hairer and Wanner, Solving Ordinary Differential Equations II (1996), and of the Test
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
        Body("K1", lamina(0.04325, [0.00092, 0], 2.194e-6)),
        Body("K2", lamina(0.00365, [-0.0115, 0], 4.410e-7)),
        Body("K3", lamina(0.02373, [0.01043, -0.01874], 5.255e-6)),
        Body("K4", lamina(0.00706, [0, ea - e], 5.667e-7)),
        Body("K5", lamina(0.07050, [0.02308, 0.00916], 1.169e-5)),
        Body("K6", lamina(0.00706, [zf - fa, 0], 5.667e-7)),
        Body("K7", lamina(0.05498, [-0.00449, -0.01228], 1.912e-5)),
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


def parallel_four_bars(count: int = 2) -> Mechanism:
    """A row of parallelograms: upright rods of 1 m and 1 kg on the ground, their tops joined by equal rods.

    Gonzalez, Dopico, Lugris and Cuadrado, A benchmarking system for MBS simulation software, Multibody System Dynamics
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
