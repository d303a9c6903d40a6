"""Inverse dynamics: the generalised forces that produce given accelerations. One algorithm per file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.algebra.arrays import Array
from dalembert.algorithms.choose import choose
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.algorithms.inverse_dynamics.closed_forms import kane_silver, uicker_kahn, waters
from dalembert.algorithms.inverse_dynamics.hollerbach_3x3 import hollerbach_3x3
from dalembert.algorithms.inverse_dynamics.hollerbach_4x4 import hollerbach_4x4
from dalembert.algorithms.inverse_dynamics.newton_euler import newton_euler
from dalembert.algorithms.inverse_dynamics.newton_euler_loops import newton_euler_loops
from dalembert.algorithms.inverse_dynamics.tensor_form import tensor_form
from dalembert.algorithms.loads import loads_on_links
from dalembert.kinematics import checked
from dalembert.model import Mechanism

INVERSE_DYNAMICS = {
    "hollerbach-4x4": hollerbach_4x4,
    "hollerbach-3x3": hollerbach_3x3,
    "newton-euler": newton_euler,
    "newton-euler-loops": newton_euler_loops,
    "tensor": tensor_form,
    "augmented-links": augmented_links,
    "uicker-kahn": uicker_kahn,
    "waters": waters,
    "kane-silver": kane_silver,
}
"""Name -> algorithm, each a function of (tree, q, v, a, loads)."""


def inverse_dynamics(
    mechanism: Mechanism,
    q: Any,
    v: Any,
    a: Any,
    *,
    wrenches: Mapping[str, Any] | None = None,
    algorithm: str = "augmented-links",
) -> Array:
    """Generalised forces ``tau = M(q) a + h(q, v) + g(q) - (external wrenches)`` for one state, over any scalar.

    Armature, damping and friction are not part of it; see :func:`dalembert.algorithms.joint_forces`.

    Args:
        mechanism: the mechanism.
        q: positions, nq.
        v: velocities, nv.
        a: accelerations, nv.
        wrenches: frame name -> ``[force; moment]`` acting on it, frame axes, about the frame's origin.
        algorithm: one of :data:`INVERSE_DYNAMICS`.
    """
    q, v, a = checked(mechanism, q=q, v=v, a=a)
    chosen = choose(algorithm, INVERSE_DYNAMICS)
    return chosen(mechanism.tree, q, v, a, loads_on_links(mechanism, wrenches))
