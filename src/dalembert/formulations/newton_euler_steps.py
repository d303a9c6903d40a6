"""The steps of the Newton-Euler recursion, for reading: motion and balance of every body of a small mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import product
from dalembert.algebra.vectors import cross
from dalembert.formulations.assembly import SHOWN, quantity
from dalembert.formulations.gravitation import InverseSquare
from dalembert.formulations.quantity import Quantity
from dalembert.formulations.system import MovingBody, System, field_load
from dalembert.formulations.tracing import TracedMechanism
from dalembert.kinematics import motion
from dalembert.model.tree import Tree

OF_THE_LINK = (
    r"a_i = \ddot{s}_i + \Omega_i r_i, \quad \Omega_i = \tilde{\dot{\omega}}_i + \tilde{\omega}_i \tilde{\omega}_i"
)
"""Acceleration of the centre of mass, LaTeX."""

BALANCE = (
    r"f_i = F_i + \sum_j A_j f_j, \quad n_i = N_i + r_i \times F_i + \sum_j (A_j n_j + s_j \times A_j f_j), \quad "
)
"""Balance of a link, LaTeX."""


def attraction_formula(field: InverseSquare) -> str:
    """Force and moment about the centre of mass on a body in a field, body axes, LaTeX.

    Args:
        field: the field.
    """
    way = r", \quad \rho_i = R_i^T (p_{Ci} - p_A)"
    if not field.gradient:
        return r"f_{gi} = -\frac{\mu m_i}{|\rho_i|^3} \rho_i, \quad n_{gi} = 0" + way
    return (
        r"f_{gi} = -\frac{\mu m_i}{|\rho_i|^3} \rho_i - \frac{3 \mu}{2 |\rho_i|^5} \left[ \left( \mathrm{tr}\, I_i"
        r" - 5 \frac{\rho_i^T I_i \rho_i}{|\rho_i|^2} \right) \rho_i + 2 I_i \rho_i \right], \quad "
        r"n_{gi} = \frac{3 \mu}{|\rho_i|^5} \rho_i \times I_i \rho_i" + way
    )


@dataclass(frozen=True)
class Recursion:
    """The recursion in general letters, in a form that is true of the joints at hand.

    Args:
        joints: what the letters of a joint mean.
        outward: motion of the links, LaTeX.
        inward: balance of the links, LaTeX.
    """

    joints: str
    outward: str
    inward: str


ALONG_AXES = Recursion(
    "z the axis of the joint, on which it turns (sigma = 1) or along which it slides (sigma = 0).",
    r"\omega_i = A_i^T \omega_{i-1} + \sigma_i z_i \dot{q}_i, \quad "
    r"\dot{\omega}_i = A_i^T \dot{\omega}_{i-1} + \sigma_i (z_i \ddot{q}_i + \omega_i \times z_i \dot{q}_i), \quad "
    r"\ddot{s}_i = A_i^T (\ddot{s}_{i-1} + \Omega_{i-1} s_i) "
    r"+ (1 - \sigma_i) (z_i \ddot{q}_i + 2 \omega_i \times z_i \dot{q}_i), \quad " + OF_THE_LINK,
    BALANCE + r"\tau_i = \sigma_i z_i^T n_i + (1 - \sigma_i) z_i^T f_i",
)
"""As the THESIS has it: every joint turns on an axis or slides along one."""

ALONG_COLUMNS = Recursion(
    "v the velocities of the joint, which turn the link by Z_w v and move its origin by Z_v v relative to the link "
    "before it: Z_w is the axis of a joint that turns (Z_v = 0), Z_v that of one that slides (Z_w = 0), of a screw "
    "Z_v is the pitch times Z_w; a spherical joint has the unit matrix for Z_w, and its v is no rate of coordinates.",
    r"\omega_i = A_i^T \omega_{i-1} + Z_{\omega i} v_i, \quad "
    r"\dot{\omega}_i = A_i^T \dot{\omega}_{i-1} + Z_{\omega i} \dot{v}_i + \omega_i \times Z_{\omega i} v_i, \quad "
    r"\ddot{s}_i = A_i^T (\ddot{s}_{i-1} + \Omega_{i-1} s_i) "
    r"+ Z_{vi} \dot{v}_i + 2 \omega_i \times Z_{vi} v_i, \quad " + OF_THE_LINK,
    BALANCE + r"\tau_i = Z_{\omega i}^T n_i + Z_{vi}^T f_i",
)
"""For joints of all kinds; the axis of a screw is that of its turning, so that omega_i stands for omega_{i-1} there."""


def recursion(tree: Tree) -> Recursion:
    """The recursion as it is to be written for the joints of a tree.

    Args:
        tree: the links with their elementary joints.
    """
    plain = all(link.kind in ("revolute", "prismatic") for link in tree.links)
    written = ALONG_AXES if plain else ALONG_COLUMNS
    joints = written.joints
    if len({link.joint for link in tree.links}) < len(tree.links):
        joints += " Joints of several freedoms are taken as a chain of such joints with massless links between them."
    if tree.coupled:
        joints += " A joint that follows another one adds its generalised force, times its gain, to that of the other."
    return Recursion(joints, written.outward, written.inward)


def body_quantities(trace: TracedMechanism, system: System) -> tuple[list[Quantity], list[Quantity]]:
    """Of every massive link, in its axes and without joint accelerations: motion, and the force and moment it needs.

    Angular velocity and acceleration and the acceleration of the centre of mass; then m (a - g) and I wd + w x I w.
    What fixed joints weld to a link is part of it, as in all routes.

    Args:
        trace: the mechanism as traced scalars.
        system: the same as a system.
    """
    moving: list[Quantity] = []
    needed: list[Quantity] = []
    massive = [(link.name, matter) for link, matter in zip(trace.tree.links, trace.matter) if not matter.is_zero]
    if len(massive) > SHOWN or system.n > SHOWN:
        return moving, needed
    still = arrays.zeros(system.n)
    field = system.gravity if isinstance(system.gravity, InverseSquare) else None
    for i, (name, matter) in enumerate(massive, 1):
        at = motion(trace.model, trace.q, trace.v, still, name, point=matter.center, axes="body")
        w, wd, a = at.angular_velocity, at.angular_acceleration, at.linear_acceleration
        m, I, R = matter.mass, matter.tensor, at.pose.rotation
        moment = product(I, arrays.asarray(wd)) + cross(w, product(I, arrays.asarray(w)))
        if field is None:
            force = m * (arrays.asarray(a) - product(R.T, trace.tree.gravity))
        else:
            here = MovingBody(name, m, I, R, at.pose.apply(matter.center), still, still)
            pull, twist = field_load(system, here, field)
            force, moment = m * arrays.asarray(a) - pull, moment - twist
        for letter, symbol, values in (("w", r"\omega", w), ("wd", r"\dot{\omega}", wd), ("a", "a", a)):
            moving.append(quantity(system, f"{letter}_{i}", f"{symbol}_{{{i}}}", np.array(values, dtype=object)))
        for letter, symbol, values in (("F", "F", force), ("N", "N", moment)):
            needed.append(quantity(system, f"{letter}_{i}", f"{symbol}_{{{i}}}", np.array(values, dtype=object)))
    return moving, needed
