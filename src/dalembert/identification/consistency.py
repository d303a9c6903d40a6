"""Of all parameters that real bodies can have, those that agree best with what was measured.

Minimised is half the square of the deviation from the measured combinations, in sigmas, plus for every body

    gamma (tr(P0^-1 P) - log det P),

the distance of its pseudo-inertia P from an initial one, P0, in the geometry of positive definite matrices (T. Lee, P.
Wensing, F. Park, Geometric robot dynamic identification, IEEE T-RO 2019). It keeps P positive definite, and decides
where nothing is measured. The problem is convex; Newton's method with halved steps solves it from any start.
"""

from __future__ import annotations

import numpy as np

from dalembert.identification.pseudo_inertia import pseudo_inertia_matrix

UNITS = pseudo_inertia_matrix(np.eye(10))
"""Derivative of the pseudo-inertia with respect to each of the ten parameters."""


def most_plausible(
    G: np.ndarray, values: np.ndarray, covariance: np.ndarray, initial: np.ndarray, bodies: int, gamma: float
) -> np.ndarray:
    """All parameters x: ten for every body, then others, which are free.

    Args:
        G: measured are the combinations G x.
        values: what was measured.
        covariance: of the values.
        initial: x to start from; its bodies are consistent.
        bodies: how many.
        gamma: weight of the initial bodies.
    """
    size = np.sqrt(np.diag(covariance))
    root = np.linalg.cholesky(covariance / np.outer(size, size) + 1e-13 * np.eye(len(size)))
    J = np.linalg.solve(root, G / size[:, None])
    right = np.linalg.solve(root, values / size)
    start = [np.linalg.inv(pseudo_inertia_matrix(initial[10 * k : 10 * k + 10])) for k in range(bodies)]

    def cost(x: np.ndarray) -> float:
        total = float(((J @ x - right) ** 2).sum()) / 2
        for k in range(bodies):
            P = pseudo_inertia_matrix(x[10 * k : 10 * k + 10])
            values = np.linalg.eigvalsh(P)
            if not values[0] > 1e-15 * values[-1]:
                return np.inf
            total += gamma * float(np.trace(start[k] @ P) - np.log(values).sum())
        return total

    x, now = initial, cost(initial)
    for _ in range(500):
        step = _newton(J, J @ x - right, x, start, gamma)
        for halvings in range(60):
            trial = x + step / 2**halvings
            new = cost(trial)
            if new < now:
                break
        else:
            return x
        gained, x, now = now - new, trial, new
        if gained < 1e-12 * (1 + abs(now)):
            return x
    return x


def _newton(J: np.ndarray, r: np.ndarray, x: np.ndarray, start: list[np.ndarray], gamma: float) -> np.ndarray:
    """Newton's step as a least-squares problem, which keeps its condition: with P^-1 = R R^T the distance has the
    gradient B^T vec(R^-1 P0^-1 R^-T - 1) and the second derivative B^T B, B of columns vec(R^T E R)."""
    rows, rights = [J], [-r]
    for k, inverse in enumerate(start):
        part = slice(10 * k, 10 * k + 10)
        L = np.linalg.cholesky(pseudo_inertia_matrix(x[part]))  # R = L^-T
        R = np.linalg.inv(L).T
        B = np.zeros((16, len(x)))
        B[:, part] = (R.T @ UNITS @ R).reshape(10, 16).T
        rows.append(np.sqrt(gamma) * B)
        rights.append(-np.sqrt(gamma) * (L.T @ inverse @ L - np.eye(4)).ravel())
    matrix, right = np.vstack(rows), np.concatenate(rights)
    lengths = np.maximum(np.linalg.norm(matrix, axis=0), 1e-300)
    return np.linalg.lstsq(matrix / lengths, right, rcond=1e-15)[0] / lengths
