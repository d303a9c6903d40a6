"""Sensitivities of a mechanism at one state, over any scalar; ``sensitivity.py`` has the recursion over the links."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.algebra.arrays import Array
from dalembert.algorithms import sensitivity
from dalembert.algorithms.kinematics import checked
from dalembert.algorithms.loads import loads_on_links
from dalembert.model import Mechanism


def sensitivities(
    mechanism: Mechanism, q: Any, v: Any, a: Any, *, wrenches: Mapping[str, Any] | None = None
) -> sensitivity.Sensitivity:
    """tau, D, V and P of d tau = D da + V dv + P dq (7.3.1); dq along tangent vectors, of which a quaternion has three.

    Armature, damping and friction are not part of it.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        a: accelerations, nv.
        wrenches: frame name -> ``[force; moment]`` acting on it, constant in frame axes, about the frame's origin.
    """
    q, v, a = checked(mechanism, q=q, v=v, a=a)
    return sensitivity.sensitivity(mechanism.tree, q, v, a, loads_on_links(mechanism, wrenches))


def coriolis_matrix(mechanism: Mechanism, q: Any, v: Any) -> Array:
    """C(q, v) with C v = bias - gravity and Mdot - 2C skew, nv x nv: half of V, the Christoffel matrix (5.2.10).

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
    """
    q, v = checked(mechanism, q=q, v=v)
    return sensitivity.coriolis_matrix(mechanism.tree, q, v)
