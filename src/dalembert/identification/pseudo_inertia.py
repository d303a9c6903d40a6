"""Which inertial parameters a real body can have.

The pseudo-inertia of a body is the 4 x 4 matrix P = [[J, h], [h^T, m]] of its moments of mass: mass m, first moment h,
second moment J = tr(I)/2 1 - I. Some distribution of positive mass has these moments if and only if P is positive
definite (P. Wensing, S. Kim, J.-J. Slotine, IEEE RA-L 2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.model.checks import expect_real, real_array


def pseudo_inertia_matrix(parameters: Any) -> np.ndarray:
    """P from the ten parameters of a body; see :attr:`dalembert.model.Inertia.parameters`.

    Args:
        parameters: [m, m cx, m cy, m cz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz] about the body's origin, (..., 10).
    """
    given = real_array(parameters, "parameters")
    if given.shape[-1:] != (10,) or not np.isfinite(given).all():
        raise ArgumentError(f"parameters have shape {given.shape}; give ten finite numbers, (..., 10)")
    m, x, y, z, xx, xy, xz, yy, yz, zz = np.moveaxis(given, -1, 0)
    half = (xx + yy + zz) / 2
    rows = [[half - xx, -xy, -xz, x], [-xy, half - yy, -yz, y], [-xz, -yz, half - zz, z], [x, y, z, m]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def parameters_of(P: np.ndarray) -> np.ndarray:
    """The ten parameters that belong to a pseudo-inertia.

    Args:
        P: (..., 4, 4), symmetric.
    """
    J, trace = P[..., :3, :3], np.trace(P[..., :3, :3], axis1=-2, axis2=-1)
    inertia = trace[..., None, None] * np.eye(3) - J
    entries = [inertia[..., i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))]
    return np.stack([P[..., 3, 3], *(P[..., k, 3] for k in range(3)), *entries], axis=-1)


def is_consistent(parameters: Any, tolerance: float = 0.0) -> np.ndarray:
    """Whether a real body can have these parameters.

    Args:
        parameters: (..., 10).
        tolerance: how negative the least eigenvalue of the pseudo-inertia may be, relative to the largest.
    """
    tolerance = expect_real(tolerance, "is_consistent, tolerance", 0)
    values = np.linalg.eigvalsh(pseudo_inertia_matrix(parameters))
    return values[..., 0] > -tolerance * values[..., -1]


def nearest_consistent(parameters: Any, margin: float = 1e-6) -> np.ndarray:
    """Consistent parameters near the given ones: eigenvalues of P that are too small are raised.

    Args:
        parameters: (10,).
        margin: least eigenvalue of the result, relative to the largest.
    """
    margin = expect_real(margin, "nearest_consistent, margin", 0)
    values, vectors = np.linalg.eigh(pseudo_inertia_matrix(parameters))
    if values.shape != (4,) or margin > 1:
        raise ArgumentError(
            f"parameters have shape {np.shape(parameters)}, margin = {margin}; expected (10,), at most 1"
        )
    if not values[-1] > 0:
        raise ArgumentError(f"the parameters {np.asarray(parameters).tolist()} are nowhere near those of a body")
    return parameters_of((vectors * np.maximum(values, margin * values[-1])) @ vectors.T)
