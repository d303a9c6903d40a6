"""The steps of the Newton-Euler recursion, for reading: motion and balance of every body of a small mechanism."""

from __future__ import annotations

import numpy as np

from dalembert.algebra import arrays
from dalembert.algebra.arrays import product
from dalembert.algebra.vectors import cross
from dalembert.algorithms.kinematics import motion
from dalembert.formulations.assembly import SHOWN, quantity
from dalembert.formulations.gravitation import InverseSquare
from dalembert.formulations.quantity import Quantity
from dalembert.formulations.system import MovingBody, System, field_load
from dalembert.formulations.tracing import TracedMechanism


def body_quantities(trace: TracedMechanism, system: System) -> tuple[list[Quantity], list[Quantity]]:
    """Of every massive body, in body axes and without joint accelerations: motion, and the force and moment it needs.

    Angular velocity and acceleration and the acceleration of the centre of mass; then m (a - g) and I wd + w x I w.

    Args:
        trace: the mechanism as traced scalars.
        system: the same as a system.
    """
    moving: list[Quantity] = []
    needed: list[Quantity] = []
    bodies = [
        body for body in trace.model.bodies if not body.inertia.is_zero and trace.tree.carriers[body.name][0] >= 0
    ]
    if len(bodies) > SHOWN or system.n > SHOWN:
        return moving, needed
    still = arrays.zeros(system.n)
    field = system.gravity if isinstance(system.gravity, InverseSquare) else None
    for i, body in enumerate(bodies, 1):
        at = motion(trace.model, trace.q, trace.v, still, body.name, point=body.inertia.center, axes="body")
        w, wd, a = at.angular_velocity, at.angular_acceleration, at.linear_acceleration
        m, I, R = body.inertia.mass, body.inertia.tensor, at.pose.rotation
        moment = product(I, arrays.asarray(wd)) + cross(w, product(I, arrays.asarray(w)))
        if field is None:
            force = m * (arrays.asarray(a) - product(R.T, trace.tree.gravity))
        else:
            here = MovingBody(body.name, m, I, R, at.pose.apply(body.inertia.center), still, still)
            pull, twist = field_load(system, here, field)
            force, moment = m * arrays.asarray(a) - pull, moment - twist
        for name, symbol, values in (("w", r"\omega", w), ("wd", r"\dot{\omega}", wd), ("a", "a", a)):
            moving.append(quantity(system, f"{name}_{i}", f"{symbol}_{{{i}}}", np.array(values, dtype=object)))
        for name, symbol, values in (("F", "F", force), ("N", "N", moment)):
            needed.append(quantity(system, f"{name}_{i}", f"{symbol}_{{{i}}}", np.array(values, dtype=object)))
    return moving, needed
