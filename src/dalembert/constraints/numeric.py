"""Constrained accelerations in numbers, for one state or a batch, whatever the rank of the constraints.

Three routes to the same accelerations, which tests hold against each other:

- multipliers: the symmetric system [[M, G^T], [G, 0]], by least squares where rows are redundant;
- projection: a = B u' + a_p with B spanning the null space of G (PARSA (46)), found by singular values;
- Udwadia-Kalaba: a = a_free + M^-1/2 (G M^-1/2)^+ (gamma - G a_free) (Udwadia and Kalaba, Analytical Dynamics, 1996).

All of them see the constraints as W a = h with orthonormal rows W that span those of G, found by singular values: one
decision on rank, whatever the route. Redundant rows leave accelerations unique and multipliers not; the multipliers of
least norm are given, and it is said which of them are unique.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.constraints.pivots import column_scale
from dalembert.errors import SingularityError
from dalembert.model.checks import expect_choice, expect_real
from dalembert.text.layout import counted

METHODS = ("multipliers", "projection", "udwadia-kalaba")
"""Names of the routes."""

TOLERANCE = 1e-9
"""Singular values of G, its columns made of comparable size, below this fraction of the largest count as zero."""

CLEAR = 1e-2
"""Beyond the rank that is known, those above this fraction always count: redundant rows of states that are off the
constraints by a thousandth seem to be independent by about as much.
"""

OFF = 100.0
"""Below that, those above this times the square root of the violation count: where ways of closing meet, states that
violate by e are off by that much.
"""

COMPARABLE = 100.0
"""Velocities whose energies are of units that differ by no more are mixed at will: that costs the square of it."""

SAFE = 1e-5
"""Otherwise heavy ones are independent, if their share is at least this fraction of the largest: that costs as many
digits, and a heavy one that depends on light ones the square of it times the ratio of inertia.
"""


@dataclass(frozen=True)
class Known:
    """What is known of the rank of G.

    Args:
        rank: that G has on the constraints, where it is regular; None if nobody knows.
        violation: by how much the states violate the constraints, relative, (...).
    """

    rank: int | None
    violation: Any = np.inf


@dataclass(frozen=True, eq=False)
class Solution:
    """Constrained accelerations.

    Args:
        a: accelerations, (..., nv).
        multipliers: generalised constraint forces are G^T multipliers, (..., m); least norm where not unique.
        rank: of G, (...).
        unique: (..., m), true where a multiplier is the same in every solution.
        violation: (...), norm of G a - gamma: not zero if the constraints contradict each other.
    """

    a: np.ndarray
    multipliers: np.ndarray
    rank: np.ndarray
    unique: np.ndarray
    violation: np.ndarray

    def __str__(self) -> str:
        rows = self.multipliers.shape[-1]
        if self.a.ndim > 1:
            return (
                f"accelerations {self.a.shape} and multipliers {self.multipliers.shape} of {self.a.shape[:-1]} states"
            )
        a, lam = (np.array2string(x, precision=6) for x in (self.a, self.multipliers))
        lines = [f"accelerations {a}", f"multipliers {lam}, rank {self.rank} of {counted(rows, 'row')}"]
        if not self.unique.all():
            lines.append(f"not unique are the multipliers {', '.join(map(str, np.flatnonzero(~self.unique)))}")
        return "\n".join(lines)


def counting(size: np.ndarray, known: Known | None = None, tolerance: float = TOLERANCE) -> np.ndarray:
    """Which singular values count, (..., k).

    Args:
        size: singular values, the largest first, (..., k).
        known: what is known of their number.
        tolerance: see :data:`TOLERANCE`.
    """
    largest = size.max(axis=-1, keepdims=True, initial=0.0)
    limit = np.full(size.shape, tolerance)
    if known is not None and known.rank is not None:
        beyond = np.clip(OFF * np.sqrt(known.violation), tolerance, max(CLEAR, tolerance))
        limit[..., known.rank :] = np.asarray(beyond)[..., None]
    return np.asarray(size > limit * largest)


def of_known_rank(G: np.ndarray, known: Known | None) -> np.ndarray:
    """The rows without the independence they seem to have off the constraints: the nearest matrix of the rank that
    counts, or G itself.

    Args:
        G: constraint rows, (m, nv).
        known: see :func:`counting`.
    """
    scale = column_scale(G)
    U, size, Vt = np.linalg.svd(G * scale, full_matrices=False)
    live = counting(size, known=known)
    return G if live.all() else (U * np.where(live, size, 0.0)) @ Vt / scale


def solve(
    M: Any,
    G: Any,
    f: Any,
    gamma: Any,
    method: str = "projection",
    tolerance: float = TOLERANCE,
    known: Known | None = None,
) -> Solution:
    """Accelerations and multipliers of M a = f + G^T lam, G a = gamma.

    Args:
        M: inertia matrices, (..., nv, nv).
        G: constraint rows, (..., m, nv).
        f: applied minus bias forces, (..., nv).
        gamma: right sides, (..., m).
        method: one of :data:`METHODS`.
        tolerance: see :data:`TOLERANCE`.
        known: see :func:`counting`.
    """
    M, G, f, gamma = (np.asarray(x, dtype=float) for x in (M, G, f, gamma))
    expect_choice(method, METHODS, "method")
    tolerance = expect_real(tolerance, "tolerance", 0)
    m, n = G.shape[-2:]
    batch = np.broadcast_shapes(M.shape[:-2], G.shape[:-2], f.shape[:-1], gamma.shape[:-1])
    M, G = np.broadcast_to(M, (*batch, n, n)), np.broadcast_to(G, (*batch, m, n))
    f, gamma = np.broadcast_to(f, (*batch, n)), np.broadcast_to(gamma, (*batch, m))
    finite = [np.isfinite(x).all(axis=axes) for x, axes in ((M, (-2, -1)), (G, (-2, -1)), (f, -1), (gamma, -1))]
    lost = ~np.logical_and.reduce(finite)  # NaN in, NaN out, for that state only
    if lost.any():
        M = np.where(lost[..., None, None], np.eye(n), M)
        G = np.where(lost[..., None, None], 0.0, G)
        f, gamma = (np.where(lost[..., None], 0.0, x) for x in (f, gamma))
    scale = column_scale(G)
    weight = np.einsum("...ii->...i", M)
    alone = ~G.any(axis=-2) & (weight > 0)  # a velocity without constraints is told in units of its own energy
    scale = np.where(alone, 1 / np.sqrt(np.where(alone, weight, 1.0)), scale)
    G, f, M = G * scale[..., None, :], f * scale, M * scale[..., None, :] * scale[..., None]
    U, size, Vt = np.linalg.svd(G, full_matrices=True)
    live = counting(size, known, tolerance)
    rank = live.sum(axis=-1)
    k = size.shape[-1]
    reciprocal = np.where(live, 1 / np.where(live, size, 1.0), 0.0)
    W = np.where(live[..., None], Vt[..., :k, :], 0.0)
    h = reciprocal * np.einsum("...ji,...j->...i", U[..., :, :k], gamma)
    route = {"multipliers": _multipliers, "projection": _projection, "udwadia-kalaba": _udwadia_kalaba}[method]
    a = route(M, f, W, h, Vt, live)
    # Multipliers of least norm: G^T lam = M a - f, by the same singular values.
    pull = np.einsum("...ij,...j->...i", M, a) - f
    coordinates = reciprocal * np.einsum("...ij,...j->...i", Vt[..., :k, :], pull)
    lam = np.einsum("...ij,...j->...i", U[..., :, :k], coordinates)
    violation = np.linalg.norm(np.einsum("...ij,...j->...i", G, a) - gamma, axis=-1)
    a = a * scale
    if lost.any():
        a, lam = (np.where(lost[..., None], np.nan, x) for x in (a, lam))
        violation = np.where(lost, np.nan, violation)
    return Solution(a, lam, rank, _unique(U, size, live), violation)


def _unique(U: np.ndarray, size: np.ndarray, live: np.ndarray) -> np.ndarray:
    """Rows without a part in any left null vector of G."""
    m, k = U.shape[-1], live.shape[-1]
    alive = np.zeros((*live.shape[:-1], m), dtype=bool)
    alive[..., :k] = live
    share = np.sqrt(np.sum(np.where(alive[..., None, :], 0.0, U) ** 2, axis=-1))
    return np.asarray(share < 1e-6 + blur(size, live)[..., None])


def blur(size: np.ndarray, live: np.ndarray) -> np.ndarray:
    """By how much null vectors may be off: ten times what should be zero over what should not.

    Args:
        size: singular values, (..., k).
        live: which of them count, (..., k).
    """
    least = np.where(live, size, np.inf).min(axis=-1, initial=np.inf)
    return np.asarray(10 * np.where(live, 0.0, size).max(axis=-1, initial=0.0) / least)


def _projection(M, f, W, h, Vt, live):  # type: ignore[no-untyped-def]
    """B^T M B u' = B^T (f - M a_p); where the null space is smaller than others of a batch, unit rows fill it up."""
    n = Vt.shape[-1]
    rank = live.sum(axis=-1)
    freedoms = n - int(rank.min(initial=n))
    free = np.arange(n - freedoms, n) >= rank[..., None]  # singular values are sorted: the last vectors are null
    B = np.where(free[..., None, :], np.swapaxes(Vt[..., n - freedoms :, :], -1, -2), 0.0)
    a = np.einsum("...ji,...j->...i", W, h)
    inertia = np.einsum("...ii->...i", M)
    least = np.where(inertia > 0, inertia, np.inf).min(axis=-1, keepdims=True, initial=1e300)
    weight = np.sqrt(np.maximum(inertia, least))
    B, a = _light_by_heavy(B, a, weight)
    reduced = np.swapaxes(B, -1, -2) @ M @ B + np.where(free, 0.0, 1.0)[..., None, :] * np.eye(freedoms)
    right = np.einsum("...ji,...j->...i", B, f - np.einsum("...ij,...j->...i", M, a))
    energy = np.einsum("...ii->...i", reduced)
    unit = 1 / np.sqrt(np.where(energy > 0, energy, 1.0))
    u = unit * _solved(reduced * unit[..., None, :] * unit[..., None], unit * right)
    return a + np.einsum("...ij,...j->...i", B, u)


def _light_by_heavy(B: np.ndarray, a: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same null space and a particular solution, told by independent velocities: the heaviest that are safe.

    Velocities may differ in inertia as an orbit's angle, m R^2, and a slide, m. In a column of B that has both, nothing
    would be left of the latter; so light velocities depend on heavy ones, by Gauss-Jordan elimination of columns.
    """
    shape, (n, freedoms) = a.shape, B.shape[-2:]
    count = math.prod(shape[:-1])
    B, a, weight = B.reshape(count, n, freedoms).copy(), a.reshape(count, n).copy(), weight.reshape(count, n)
    uneven = weight.max(axis=-1, initial=0.0) > COMPARABLE * weight.min(axis=-1, initial=np.inf)
    waiting = B.any(axis=-2) & uneven[:, None]
    for _ in range(int(waiting.sum(axis=-1).max(initial=0))):
        size = np.abs(B) * waiting[:, None, :]
        largest = size.max(axis=(-2, -1), initial=0.0)
        merit = np.where(size >= SAFE * largest[:, None, None], size, 0.0) * weight[:, :, None]
        some = np.flatnonzero(largest)
        row, column = np.divmod(merit[some].reshape(len(some), -1).argmax(axis=-1), freedoms)
        unit = B[some, :, column] / B[some, row, column][:, None]
        others = B[some, row, :]
        others[np.arange(len(some)), column] = 0.0
        B[some] -= unit[:, :, None] * others[:, None, :]
        B[some, :, column] = unit
        B[some, row, :] = 0.0
        B[some, row, column] = 1.0
        a[some] -= unit * a[some, row][:, None]
        a[some, row] = 0.0
        waiting[some, column] = False
    return B.reshape(*shape, freedoms), a.reshape(shape)


def _multipliers(M, f, W, h, Vt, live):  # type: ignore[no-untyped-def]
    """The whole symmetric system, its rows of the size of M; unit rows in the place of those that W has not."""
    k, n = W.shape[-2:]
    mean = np.trace(M, axis1=-2, axis2=-1) / max(n, 1)
    size = np.where(mean > 0, mean, 1.0)[..., None, None]
    rest = np.where(live, 0.0, 1.0)[..., None, :] * np.eye(k)
    system = np.concatenate(
        [
            np.concatenate([M, -size * np.swapaxes(W, -1, -2)], axis=-1),
            np.concatenate([size * W, size * rest], axis=-1),
        ],
        axis=-2,
    )
    return _solved(system, np.concatenate([f, size[..., 0] * h], axis=-1))[..., :n]


def _udwadia_kalaba(M, f, W, h, Vt, live):  # type: ignore[no-untyped-def]
    weight = np.einsum("...ii->...i", M)
    unit = 1 / np.sqrt(np.where(weight > 0, weight, 1.0))  # kg and kg m^2 alike: the metric of Gauss stays
    M, f, W = M * unit[..., None, :] * unit[..., None], f * unit, W * unit[..., None, :]
    values, vectors = np.linalg.eigh(M)
    if (values <= 4 * values.shape[-1] * np.finfo(float).eps * values.max(axis=-1, keepdims=True, initial=0.0)).any():
        raise SingularityError(
            "Udwadia-Kalaba needs a regular inertia matrix; bodies without mass are constrained: use 'projection'"
        )
    root = (vectors / np.sqrt(values)[..., None, :]) @ np.swapaxes(vectors, -1, -2)  # M^-1/2
    free = np.einsum("...ij,...j->...i", root @ root, f)
    missing = h - np.einsum("...ij,...j->...i", W, free)
    # Singular values of W M^-1/2, W orthonormal, are zero or not below those of M^-1/2 in its old units.
    least: Any = 0.0
    if values.shape[-1]:
        ratio = np.sqrt(values[..., 0] / values[..., -1]) * unit.min(axis=-1) / unit.max(axis=-1) / 2
        least = np.maximum(ratio, 4 * np.finfo(float).eps)
    inverse = np.linalg.pinv(W @ root, rcond=least)
    return unit * (free + np.einsum("...ij,...jk,...k->...i", root, inverse, missing))


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(matrix, right[..., None])[..., 0]
    except np.linalg.LinAlgError:
        raise SingularityError(
            "the constrained inertia matrix is singular: some motion that the constraints allow moves no mass"
        ) from None
