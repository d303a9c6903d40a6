"""Lagrange's equations in redundant coordinates, from which the multipliers are projected away (FORBES).

K(q, qdot) = 1/2 nu^T M(q) nu ,   nu = S(q) qdot ,   qdot = Gamma(q) nu ,   Xi(q) qdot = 0
d/dt(dK/dqdot) - dK/dq = f + Xi^T lambda          multiply by Gamma^T: Gamma^T Xi^T = 0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.formulations.pfaffian import with_inputs
from dalembert.formulations.scope import Scope
from dalembert.tracing.derivatives import forward, reverse


def redundant_bias(scope: Scope, q: np.ndarray, nu: np.ndarray, S: np.ndarray, Gamma: np.ndarray, M: np.ndarray) -> Any:
    """d/dt(dK/dqdot) - dK/dq for constant nu, as a function of q and nu; one entry for each coordinate.

    Args:
        scope: the symbols; a hidden input ``rates`` is added for qdot.
        q: coordinates, inputs.
        nu: velocities, inputs.
        S: nu per rate of the coordinates.
        Gamma: rates of the coordinates per nu.
        M: mass matrix for nu.
    """
    graph = scope.graph
    hidden = f"rates{sum(port.name.startswith('rates') for port in graph.inputs)}"
    rates = graph.input(hidden, (len(q),))
    speeds = product(S, rates)
    momentum = product(S.T, product(M, speeds))  # dK/dqdot
    energy = product(speeds[None], product(M, speeds))[0] / 2
    qdot = product(Gamma, nu)
    acceleration = forward(qdot, q, qdot)  # of the coordinates, nu constant
    force = forward(momentum, q, rates) + product(S.T, product(M, product(S, acceleration))) - reverse(energy, q)
    return with_inputs(scope, force, {hidden: qdot})
