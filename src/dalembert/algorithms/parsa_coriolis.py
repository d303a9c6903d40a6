"""Parsa's Coriolis matrix (PARSA (36), (37)): it makes Mdot - 2C skew like the Christoffel matrix, but is another one.

For body i let w_i = Jw_i v be its angular velocity in body axes and Jv_i v the velocity of its centre of mass in world
axes, J_i = [Jw_i; Jv_i], M_i = diag(I_i, m_i 1) and W_i = diag(w_i~, 0). Then

    C = sum of J_i^T (M_i Jdot_i + W_i M_i J_i + M_i W_i J_i),      C v = h,      Mdot - 2C skew.

The sum runs over the bodies of the mechanism: welding two of them into one changes C by a skew part that annihilates v.
O(n^3); :func:`dalembert.algorithms.sensitivity.coriolis_matrix` needs O(n^2) operations.
"""

from __future__ import annotations

from typing import Any

from dalembert.algebra import arrays
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.vectors import dual
from dalembert.kinematics import checked, jacobian, jacobian_rate
from dalembert.model import Mechanism


def parsa_coriolis(mechanism: Mechanism, q: Any, v: Any) -> Array:
    """C(q, v) with C v = bias - gravity and Mdot - 2C skew, nv x nv."""
    q, v = checked(mechanism, q=q, v=v)
    C = arrays.zeros(mechanism.nv, mechanism.nv)
    for body in mechanism.bodies:
        matter = body.inertia
        if mechanism.tree.carriers[body.name][0] < 0 or matter.is_zero:
            continue
        Jw, _ = jacobian(mechanism, q, body.name, axes="body")
        Jwd, _ = jacobian_rate(mechanism, q, v, body.name, axes="body")
        _, Jv = jacobian(mechanism, q, body.name, point=matter.center)
        _, Jvd = jacobian_rate(mechanism, q, v, body.name, point=matter.center)
        turning = dual(product(Jw, v))
        I = matter.tensor
        gyroscopic = product(turning, I) + product(I, turning)
        C = C + product(Jw.T, product(I, Jwd) + product(gyroscopic, Jw)) + matter.mass * product(Jv.T, Jvd)
    return C
