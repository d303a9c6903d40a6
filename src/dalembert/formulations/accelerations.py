"""Equations of motion solved for the accelerations.

    M a = D tau + p + e - h            or, with multipliers,            [M  -A^T] [  a   ]   [D tau + p + e - h]
                                                                        [A    0 ] [lambda] = [     -gamma      ]

Mass matrices of mechanisms are definite and need no pivots. Nobody vouches for those of a user's Lagrangian or model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.algorithms.triangular import factor
from dalembert.errors import SingularityError, UnsupportedError
from dalembert.formulations.linear import SMALL, inverse
from dalembert.formulations.quantity import Quantity
from dalembert.formulations.sample_ranks import is_singular

if TYPE_CHECKING:
    from dalembert.formulations.equations import Equations


def solved_accelerations(equations: Equations) -> Quantity:
    """Accelerations as a function of state and inputs ``tau``.

    Args:
        equations: equations of motion; with multipliers only those of a finished SymPy model.
    """
    scope, n = equations.scope, len(equations.mass_matrix)
    A, gamma = equations.constraint_matrix, equations.constraint_bias
    if A is not None and equations.method != "sympy":
        raise UnsupportedError(
            f"{equations.name!r} has constraints that multipliers enforce",
            argument="method",
            value="kane",
            remedy="derive it by {setting} to eliminate them",
        )
    tau = scope.once("tau", map(str, equations.inputs))
    force = product(equations.input_map.values, tau) - equations.bias.values if len(tau) else -equations.bias.values
    for load in (equations.passive, equations.external):
        if load is not None:
            force = force + load.values
    matrix, what = equations.mass_matrix, "the mass matrix"
    if A is not None and gamma is not None:
        corner = np.zeros((len(A), len(A)), dtype=int)
        matrix = Quantity(scope, "matrix", "K", np.block([[matrix.values, -A.values.T], [A.values, corner]]))
        what, force = "the matrix of masses and constraints", np.concatenate([force, -gamma.values])
    samples = _sampled(matrix)
    if is_singular(samples):
        raise SingularityError(
            f"{what} of {equations.name!r} is singular at typical states: its rows are dependent and accelerations "
            "are not determined; leave out coordinates without inertia, and constraints that say the same"
        )
    if equations.method not in ("sympy", "lagrangian") or _is_definite(samples):
        solved = factor(matrix.values, range(-1, n - 1)).solve(force)
    else:
        solved = product(inverse(matrix.values, samples, what), force)[:n]
    return Quantity(scope, "accelerations", r"\dot{v}", solved)


def _sampled(quantity: Quantity) -> np.ndarray:
    """Numbers at five random states, to choose pivots."""
    rng = np.random.default_rng(1)
    inputs = {port.name: rng.uniform(0.5, 1.5, (5, *port.shape)) for port in quantity.program.inputs}
    return np.broadcast_to(quantity.evaluate(inputs), (5, *quantity.shape))


def _is_definite(samples: np.ndarray) -> bool:
    """Whether all matrices are symmetric and positive definite, as far as they are finite."""
    finite = [x for x in samples if x.size and np.isfinite(x).all()]
    symmetric = all(np.allclose(x, x.T, rtol=1e-12, atol=0) for x in finite)
    return symmetric and all(values[0] > SMALL * values[-1] for values in map(np.linalg.eigvalsh, finite))
