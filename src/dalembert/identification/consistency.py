"""Of all parameters that real bodies and drives can have, those that agree best with what was measured.

Minimised is half the square of the deviation from the measured combinations, in sigmas, plus for every body

    gamma (tr(P0^-1 P) - log det P),

the distance of its pseudo-inertia P from an initial one, P0, in the geometry of positive definite matrices (T. Lee, P.
Wensing, F. Park, Geometric robot dynamic identification, IEEE T-RO 2019). It keeps P positive definite, and decides
where nothing is measured. A parameter of a drive that cannot be negative is such a matrix of one row. The problem is
convex; Newton's method with steps that stay inside solves it from any start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.errors import ArgumentError
from dalembert.model.checks import expect_real, real_array

BOUNDARY_SHARE = 0.9
"""The largest part of the way to the boundary that one step may go."""


@dataclass(frozen=True, eq=False)
class DefiniteBlock:
    """Some entries of x that must make a positive definite matrix P = sum of x_k E_k.

    Args:
        units: E_k, (k, d, d).
        inverse: of the initial matrix.
    """

    part: slice
    units: np.ndarray
    inverse: np.ndarray

    def matrix(self, x: np.ndarray) -> np.ndarray:
        """P, or its change along x."""
        return np.tensordot(x[self.part], self.units, 1)


def most_plausible(
    G: np.ndarray,
    values: np.ndarray,
    covariance: np.ndarray,
    initial: np.ndarray,
    bodies: int,
    gamma: float,
    positive: Sequence[int] = (),
) -> np.ndarray:
    """All parameters x: ten for every body, then others.

    Args:
        G: measured are the combinations G x.
        values: what was measured.
        initial: x to start from; its bodies are consistent.
        bodies: how many.
        gamma: weight of the initial bodies.
        positive: which of the others cannot be negative; initially they are positive.
    """
    size = np.sqrt(np.diag(covariance))
    root = np.linalg.cholesky(covariance / np.outer(size, size) + 1e-13 * np.eye(len(size)))
    J = np.linalg.solve(root, G / size[:, None])
    right = np.linalg.solve(root, values / size)
    parts = [(slice(10 * k, 10 * k + 10), UNITS) for k in range(bodies)]
    parts += [(slice(k, k + 1), np.ones((1, 1, 1))) for k in positive]
    blocks = [DefiniteBlock(part, units, np.linalg.inv(np.tensordot(initial[part], units, 1))) for part, units in parts]

    # Far from the measurements steps would creep along the boundary; a path from large weights keeps inside.
    weight = max(gamma, float(((J @ initial - right) ** 2).sum()) / 10)
    x = initial
    while True:
        x = _minimum(J, right, x, blocks, weight)
        if weight == gamma:
            return x
        weight = max(gamma, weight / 5)


def _minimum(
    J: np.ndarray, right: np.ndarray, x: np.ndarray, blocks: Sequence[DefiniteBlock], weight: float
) -> np.ndarray:
    """Newton's method with steps that stay inside and are halved until they gain."""

    def cost(x: np.ndarray) -> float:
        total = float(((J @ x - right) ** 2).sum()) / 2
        for block in blocks:
            P = block.matrix(x)
            values = np.linalg.eigvalsh(P)
            if not values[0] > 1e-15 * values[-1]:
                return np.inf
            total += weight * float(np.trace(block.inverse @ P) - np.log(values).sum())
        return total

    now = cost(x)
    for _ in range(100):
        step = _newton(J, J @ x - right, x, blocks, weight)
        step *= min(1.0, BOUNDARY_SHARE / max(_approach(x, step, blocks), 1e-300))
        for halvings in range(50):
            trial = x + step / 2**halvings
            new = cost(trial)
            if new < now:
                break
        else:
            return x
        gained, x, now = now - new, trial, new
        if gained < 1e-9 * weight:
            return x
    return x


def _approach(x: np.ndarray, step: np.ndarray, blocks: Sequence[DefiniteBlock]) -> float:
    """How much of the way to the boundary of the positive definite matrices a step goes: 1 reaches it."""
    farthest = 0.0
    for block in blocks:
        inverse = np.linalg.inv(np.linalg.cholesky(block.matrix(x)))
        change = inverse @ block.matrix(step) @ inverse.T
        farthest = max(farthest, -float(np.linalg.eigvalsh(change)[0]))
    return farthest


def _newton(J: np.ndarray, r: np.ndarray, x: np.ndarray, blocks: Sequence[DefiniteBlock], gamma: float) -> np.ndarray:
    """Newton's step as a least-squares problem, which keeps its condition: with P^-1 = R R^T the distance has the
    gradient B^T vec(R^-1 P0^-1 R^-T - 1) and the second derivative B^T B, B of columns vec(R^T E R)."""
    rows, rights = [J], [-r]
    for block in blocks:
        L = np.linalg.cholesky(block.matrix(x))  # R = L^-T
        R = np.linalg.inv(L).T
        B = np.zeros((L.size, len(x)))
        B[:, block.part] = (R.T @ block.units @ R).reshape(-1, L.size).T
        rows.append(np.sqrt(gamma) * B)
        rights.append(-np.sqrt(gamma) * (L.T @ block.inverse @ L - np.eye(len(L))).ravel())
    matrix, right = np.vstack(rows), np.concatenate(rights)
    lengths = np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
    return np.linalg.lstsq(matrix / lengths, right, rcond=1e-15)[0] / lengths


# ---------------------------------------------------------------------------------------------------------- real bodies


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


UNITS = pseudo_inertia_matrix(np.eye(10))
"""Derivative of the pseudo-inertia with respect to each of the ten parameters."""
