"""Forward dynamics: the accelerations that given generalised forces produce. One algorithm per file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.algebra.arrays import Array
from dalembert.algorithms.choose import choose
from dalembert.algorithms.forward_dynamics.articulated_body import articulated_body
from dalembert.algorithms.forward_dynamics.factor_and_solve import factor_and_solve
from dalembert.algorithms.loads import loads_on_links
from dalembert.errors import SingularityError
from dalembert.kinematics import checked
from dalembert.model import Mechanism
from dalembert.model.record import is_finite

FORWARD_DYNAMICS = {"factor-and-solve": factor_and_solve, "articulated-body": articulated_body}
"""Name -> algorithm, each a function of (tree, q, v, tau, loads, armature)."""


def forward_dynamics(
    mechanism: Mechanism,
    q: Any,
    v: Any,
    tau: Any,
    *,
    wrenches: Mapping[str, Any] | None = None,
    algorithm: str = "factor-and-solve",
) -> Array:
    """Accelerations for one state, over any scalar. Armature, damping and friction are not part of it.

    Args:
        mechanism: the mechanism; every joint must move something that has mass.
        q: positions, nq.
        v: velocities, nv.
        tau: generalised forces, nv.
        wrenches: frame name -> ``[force; moment]`` acting on it, frame axes, about the frame's origin.
        algorithm: one of :data:`FORWARD_DYNAMICS`.
    """
    q, v, tau = checked(mechanism, q=q, v=v, tau=tau)
    loads = loads_on_links(mechanism, wrenches)
    with np.errstate(divide="ignore", invalid="ignore"):
        a = choose(algorithm, FORWARD_DYNAMICS)(mechanism.tree, q, v, tau, loads)
    if not all(map(is_finite, a)) and all(is_finite(x) for given in (q, v, tau) for x in given):
        raise SingularityError(
            f"the inertia matrix of {mechanism.name!r} is singular here, so these forces have no accelerations: "
            "every joint must move something that has mass"
        )
    return a
