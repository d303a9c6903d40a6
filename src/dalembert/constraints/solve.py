"""Constrained accelerations in numbers, for one state or a batch, whatever the rank of the constraints; and velocities
and accelerations that satisfy the constraints nearest to given ones, by kinetic energy and Gauss's least constraint.

Three routes to the same accelerations, which tests hold against each other:

- multipliers: the symmetric system [[M, G^T], [G, 0]], by least squares where rows are redundant;
- projection: a = B u' + a_p with B spanning the null space of G (PARSA (46)), found by singular values;
- Udwadia-Kalaba: a = a_free + M^-1/2 (G M^-1/2)^+ (gamma - G a_free) (Udwadia and Kalaba, Analytical Dynamics, 1996).

All of them see the constraints as W a = h with orthonormal rows W that span those of G, one decision on rank whatever
the route (:mod:`dalembert.constraints.rank`). Redundant rows leave accelerations unique and multipliers not; the
multipliers of least norm are given, and :attr:`Solution.unique` shows which of them are unique.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.constraints.arguments import velocities_named
from dalembert.constraints.closure import check_gradients, start_of
from dalembert.constraints.design import designed
from dalembert.constraints.rank import NEAR_SINGULAR, RANK_TOLERANCE, UNDECIDED_DIRECTION, Decomposition, Known
from dalembert.constraints.scaling import column_scale
from dalembert.constraints.state import States
from dalembert.constraints.violation import DRIFT_LIMIT, refuse_far, relative_violation, violation
from dalembert.errors import ArgumentError, SingularityError
from dalembert.model.checks import expect_choice, expect_names, expect_real
from dalembert.model.consumers import heed
from dalembert.model.names import named_positions
from dalembert.text.layout import counted

if TYPE_CHECKING:
    from dalembert.constraints.constrained import Constrained

METHODS = ("multipliers", "projection", "udwadia-kalaba")
"""Names of the routes."""

COMPARABLE = 100.0
"""Velocities whose energies are of units that differ by no more are mixed at will: that costs the square of it."""

INDEPENDENT_SHARE = 1e-5
"""Otherwise heavy ones are independent, if their share is at least this fraction of the largest: that costs as many
digits, and a heavy one that depends on light ones the square of it times the ratio of inertia.
"""


@dataclass(frozen=True, eq=False)
class Solution:
    """Constrained accelerations.

    Args:
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


def solve(
    M: Any,
    G: Any,
    f: Any,
    gamma: Any,
    method: str = "projection",
    tolerance: float = RANK_TOLERANCE,
    known: Known | None = None,
    damping: float = 0.0,
) -> Solution:
    """Accelerations and multipliers of M a = f + G^T lam, G a = gamma.

    Args:
        M: inertia matrices, (..., nv, nv).
        f: applied minus bias forces, (..., nv).
        gamma: right sides, (..., m).
        method: one of :data:`METHODS`.
        tolerance: below this part of the largest, singular values count as zero.
        known: what is known of the rank of G.
        damping: of singular values below this part of the largest less is demanded the smaller they are. Close to a
            singular configuration G a = gamma divides what rounding leaves of gamma by nearly zero. The directions of
            G stay what they are, and nothing is demanded along those that are about to be lost: a motion goes straight
            on over the configuration, and the projection after the next step makes up for what was not demanded.
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
    alone = ~G.any(axis=-2) & (weight > 0)  # a velocity without constraints is measured in units of its own energy
    scale = np.where(alone, 1 / np.sqrt(np.where(alone, weight, 1.0)), scale)
    G, f, M = G * scale[..., None, :], f * scale, M * scale[..., None, :] * scale[..., None]
    rows = Decomposition.of(G, known, tolerance, np.ones_like(scale))
    h = rows.coordinates(gamma)
    if damping:
        # So steep that nothing is felt at three times the damping: motions beside a singular configuration turn there.
        h = h / (1 + (damping / np.where(rows.live, rows.relative, np.inf)) ** 16)
    route = {"multipliers": _multipliers, "projection": _projection, "udwadia-kalaba": _udwadia_kalaba}[method]
    a = route(M, f, rows.row_basis, h, rows.Vt, rows.live)
    # Multipliers of least norm: G^T lam = M a - f, by the same singular values.
    lam = rows.solve_transposed(np.einsum("...ij,...j->...i", M, a) - f)
    violation = np.linalg.norm(np.einsum("...ij,...j->...i", G, a) - gamma, axis=-1)
    a = a * scale
    if lost.any():
        a, lam = (np.where(lost[..., None], np.nan, x) for x in (a, lam))
        violation = np.where(lost, np.nan, violation)
    # Unique are multipliers of rows without a part in any combination of rows that does nothing.
    share = np.sqrt(np.sum(rows.left_null**2, axis=-1))
    return Solution(a, lam, rows.rank, share < 1e-6 + rows.blur[..., None], violation)


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
    """The same null space and a particular solution, expressed by independent velocities: the heaviest that are safe.

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
        merit = np.where(size >= INDEPENDENT_SHARE * largest[:, None, None], size, 0.0) * weight[:, :, None]
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


# --------------------------------------------------------------------------------- nearest velocities and accelerations

REPEATED_ROW_SLACK = 100.0
"""Rows that repeat each other differ, where constraints are violated, by no more than this times the violation."""


def restored_velocity(system: Constrained, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A velocity close to the constraints brought back to them: by the least change, which is no more than what a step
    is wrong by; near a singular configuration by an impulse of the constraints, M dv = G^T impulse.

    There accelerations leave out a direction that is about to be lost, and with it a force of the constraints. The
    impulse acts as that force would have, so that the error is of second order: 2e-12 of the energy of a four-bar that
    passes flat positions, where the least change would leave 4e-8.

    Args:
        q: positions, on the constraints.
    """
    unit, rank = system.scaling.velocities, system.pivots.rank
    _, G, rate, _ = system.evaluate("constraints", q, v, t)
    missing, G = (rate - G @ v) / system.scaling.rows, system.scaling.dimensionless(G)
    if not np.isfinite(G).all():  # of a motion that is about to end
        return np.full(len(v), np.nan)
    known, lost = Known(rank), UNDECIDED_DIRECTION * system.usual_size
    rows = Decomposition.of(G, known, lost, np.ones(len(v)))
    if rows.relative[:rank].min(initial=1.0) > NEAR_SINGULAR * system.usual_size:
        return np.asarray(v + unit * rows.solve(missing))
    inertia = _regular(system.evaluate("mass_matrix", q)) * unit * unit[:, None]
    return np.asarray(v + unit * solve(inertia, G, np.zeros(len(v)), missing, tolerance=lost, known=known).a)


def _regular(M: np.ndarray) -> np.ndarray:
    """An inertia matrix with a trace of its diagonal: it lets coordinates that move no mass take part, each in its own
    unit.
    """
    inertia = np.diag(M)
    least = inertia[inertia > 0].min(initial=np.inf)
    trace = np.where(inertia > 0, inertia, least if np.isfinite(least) else 1.0)
    return np.asarray(M + np.diag(1e-9 * trace))


PROXIMAL_STEPS = 12
"""Steps to the change of least energy, most of which are needed only where some motions have almost no mass."""


def _least_energy(M: np.ndarray, G: np.ndarray, missing: np.ndarray) -> Solution:
    """x with G x = missing and least x^T M x; of many, where some motions move no mass, a short one.

    The inertia matrix alone may be singular. With a trace of its diagonal, E, it is not, and the minimum of
    x^T M x + (x - y)^T E (x - y), y being the last result, tends to that of x^T M x (the proximal point method).
    """
    regular = _regular(M)
    trace = regular - M
    found = solve(regular, G, np.zeros(len(M)), missing)
    for _ in range(PROXIMAL_STEPS):
        last = found.a
        found = solve(regular, G, trace @ last, missing)
        if not np.isfinite(found.a).all() or np.abs(found.a - last).max(initial=0.0) <= 1e-15 * np.abs(last).max(
            initial=0.0
        ):
            break
    return found


def solve_states(
    system: Constrained,
    q: Any,
    v: Any,
    tau: Any,
    t: Any = 0.0,
    *,
    method: str = "projection",
    tolerance: float | None = None,
    wrenches: Any = None,
    damping: float = 0.0,
    parameters: Any = None,
) -> Solution:
    """Accelerations and multipliers at any position, also where rows are redundant or lose rank; any batch shape.

    At a singular position the rows that are left do not determine the motion: accelerations are those of least
    constraint among the ones they allow, and need not be the limit along any motion through that position.

    Args:
        q: positions.
        v: velocities that satisfy the constraints.
        tau: generalised forces of the drives.
        t: time, s.
        method: one of :data:`METHODS`. Where masses differ by many powers of ten, ``"udwadia-kalaba"`` loses most
            digits.
        tolerance: below this fraction of the largest, singular values count as zero, whatever their number; by
            default below 1e-9, and those beyond the rank around the reference, at states that violate the
            constraints by e, below 100 sqrt(e), at most 1e-2, so that redundant rows stay so there.
        wrenches: on the frames that have any, (..., frames, 6); zero by default.
        damping: of singular values below this part of the largest less is demanded the smaller they are.
        parameters: values of the parameters, (..., p) or by name; those of the system by default.
    """
    heed("Dynamics.solve", system)
    own = system.for_design(parameters)
    M, f, G, gamma = own.evaluate("terms", q, v, tau, t, wrenches=wrenches)
    if tolerance is not None:
        return solve(M, G, f, gamma, method, tolerance, damping=damping)
    return solve(M, G, f, gamma, method, known=own.known(q, t), damping=damping)


def project_velocity(
    system: Constrained,
    q: Any,
    v: Any,
    t: Any = 0.0,
    keep: Sequence[str] = (),
    tolerance: float = 1e-9,
    parameters: Any = None,
) -> np.ndarray:
    """Velocities that satisfy the constraints: v + dv with dv of least kinetic energy.

    Args:
        q: positions that satisfy the constraints, any batch shape; more than 1e-3 m or rad off them is refused.
        v: velocities to start from.
        keep: joints, or single velocities, whose velocities must not change.
        tolerance: largest violation, relative to the size of the velocities.
        parameters: values of the parameters, (..., p) or by name; those of the system by default.
    """
    states = _states(system, q, {"v": v}, t, parameters)

    def nearest(*state: Any) -> np.ndarray:
        own, (q, v, t) = designed(system, state, 3)
        _, G, rate, _ = own.evaluate("constraints", start_of(system, q), v, t)
        check_gradients(system, G, t)
        if wrong := violation(own, q, None, t, ("q", "v"), DRIFT_LIMIT):
            raise ArgumentError(f"project_velocity: {wrong}")
        return _nearest(own, q, v, t, (G, rate), keep, tolerance, "velocities")

    return states.gathered(states.each(nearest), (system.mechanism.nv,))


def project_acceleration(
    system: Constrained,
    q: Any,
    v: Any,
    a: Any,
    t: Any = 0.0,
    keep: Sequence[str] = (),
    tolerance: float = 1e-9,
    parameters: Any = None,
) -> np.ndarray:
    """Accelerations that satisfy the constraints: a + da with da of least Gaussian constraint, da^T M da.

    Args:
        q: positions that satisfy the constraints, any batch shape.
        v: velocities that satisfy the constraints; more than 1e-3 off them is refused, as of q.
        a: accelerations to start from.
        keep: joints, or single velocities, whose accelerations must not change.
        tolerance: largest violation, relative to the size of the accelerations.
        parameters: values of the parameters, (..., p) or by name; those of the system by default.
    """
    states = _states(system, q, {"v": v, "a": a}, t, parameters)

    def nearest(*state: Any) -> np.ndarray:
        own, (q, v, a, t) = designed(system, state, 4)
        _, G, _, gamma = own.evaluate("constraints", start_of(system, q), v, t)
        check_gradients(system, G, t)
        refuse_far(own, q, v, t, "project_acceleration")
        floor = float(np.square(v).max(initial=0.0))
        return _nearest(own, q, a, t, (G, gamma), keep, tolerance, "accelerations", floor)

    return states.gathered(states.each(nearest), (system.mechanism.nv,))


def _states(system: Constrained, q: Any, vectors: dict[str, Any], t: Any, parameters: Any) -> States:
    """States; positions that are given by joint name are for the other joints those of the reference."""
    mechanism = system.mechanism
    q = named_positions(mechanism, q, "q", system.reference)
    return States(mechanism, q, vectors, t, system.design(parameters))


def _nearest(
    system: Constrained,
    q: np.ndarray,
    x: np.ndarray,
    t: float,
    rows: tuple[np.ndarray, np.ndarray],
    keep: Sequence[str],
    tolerance: float,
    what: str,
    floor: float = 0.0,
) -> np.ndarray:
    """The nearest x with G x = right, some entries held; what is smaller than the floor is rounding."""
    mechanism, (gradients, right) = system.mechanism, rows
    call = "project_velocity" if what == "velocities" else "project_acceleration"
    keep = expect_names(keep, f"{call}, keep")
    x = np.array(x)
    G = Decomposition.of(gradients, system.known(q, t)).truncated
    M = system.evaluate("mass_matrix", q)
    free = np.ones(mechanism.nv, dtype=bool)
    free[velocities_named(mechanism, keep, f"{call}, keep")] = False
    missing = right - G @ x
    solution = _least_energy(M[np.ix_(free, free)], G[:, free], missing)
    scale = np.abs(right).max(initial=0.0) + np.abs(G).max(initial=0.0) * max(np.abs(x).max(initial=0.0), floor)
    # Off the constraints rows that repeat each other differ, and no x satisfies them all.
    away = float(relative_violation(system, q, t))
    excused = REPEATED_ROW_SLACK * away * scale if away < DRIFT_LIMIT else 0.0
    if solution.violation > tolerance * max(scale, 1e-300) + excused:
        left = np.abs(G[:, free] @ solution.a - missing)
        lines = [f"  {row}: {y:.3g}" for row, y in zip(system.rows, left) if y > 0.1 * left.max()]
        held = f" with {', '.join(map(repr, keep))} held" if keep else ""
        closed = "" if away < tolerance else f"\nq itself violates constraints by {away:.3g}: assemble(q) comes first"
        raise SingularityError(
            f"{mechanism.name!r} has no {what} that satisfy its constraints{held} at t = {t:g} s; left are\n"
            + "\n".join(lines)
            + closed
        )
    x[free] += solution.a
    return x
