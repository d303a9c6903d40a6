"""Linearization of constrained systems, reduced to independent coordinates, at equilibria and along motions.

Small deviations satisfy the linearized constraints. Positions only those on positions, velocities all:

    G_h dq = 0                      dq = Bq y          y: independent positions
    G dv + (d(G v - rate)/dq) dq = 0    dv = Vq dq + B u      u: independent speeds

so that y' = [dq'] and u' = [da] on the independent entries give the state matrix of x = (y, u). With rolling there are
more positions than speeds. Displacements dq are tangent vectors: of a quaternion, the small rotation in child axes.

Along a motion the matrices change with it, and their eigenvalues say nothing - unless the motion is steady in the
chosen coordinates: a rolling disc must be carried by yaw, lean and spin, not by a ball whose axes spin with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.algebra.arrays import product
from dalembert.algorithms.inverse_dynamics.augmented_links import augmented_links
from dalembert.constraints import numeric
from dalembert.constraints.arguments import velocities_named
from dalembert.constraints.consistency import violation
from dalembert.constraints.pivots import column_scale, find_pivots
from dalembert.constraints.quantities import Setting, mass_matrix
from dalembert.constraints.states import States
from dalembert.constraints.vicinity import rank
from dalembert.errors import ArgumentError, SingularityError
from dalembert.kinematics.manifold import position_rate, tangent_rate
from dalembert.model.checks import expect_names
from dalembert.model.names import velocity_names
from dalembert.text.layout import matrix_lines
from dalembert.tracing.derivatives import forward

if TYPE_CHECKING:
    from dalembert.constraints.dynamics import ConstrainedDynamics
    from dalembert.model import Mechanism


@dataclass(frozen=True, eq=False)
class Linearization:
    """x' = A x + B dtau, with x = (independent positions, independent speeds), at one state or along a motion.

    Args:
        A: state matrix, (..., k, k).
        B: input matrix, (..., k, nv), per generalised force of every velocity.
        positions: names of the independent positions.
        speeds: names of the independent speeds.
        inputs: names of the generalised forces, those of the velocities.
        position_map: Bq, all displacements from the independent ones.
        speed_map: B of dv = B u, all velocities from the independent ones.
    """

    A: np.ndarray
    B: np.ndarray
    positions: tuple[str, ...]
    speeds: tuple[str, ...]
    inputs: tuple[str, ...]
    position_map: np.ndarray
    speed_map: np.ndarray

    def __str__(self) -> str:
        lines = [f"linearised in {', '.join(self.states) or 'nothing: the constraints leave no motion'}"]
        if self.A.ndim > 2:
            return f"{lines[0]}, at {self.A.shape[:-2]} states"
        if self.states:
            lines += ["", *matrix_lines("A", self.A, self.states, self.states)]
            lines += ["", *matrix_lines("B", self.B, self.states, self.inputs)]
            lines += ["", f"eigenvalues, 1/s: {', '.join(f'{s:.5g}' for s in self.eigenvalues())}"]
        return "\n".join(lines)

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the entries of x."""
        return (*self.positions, *(f"{name} rate" for name in self.speeds))

    def eigenvalues(self) -> np.ndarray:
        """Of A, sorted by real part, largest first.

        They are rates of growth where A stays what it is: at rest, and along steady motions whose coordinates do not
        turn with the body. A disc on a free joint spins with the axes in which its tilt is told, and A with it;
        describe it by yaw, lean and spin instead.
        """
        values = np.linalg.eigvals(self.A)
        return np.take_along_axis(values, np.lexsort((-values.imag, -values.real)), axis=-1)


def derivatives(s: Setting, q: Any, v: Any, a: Any, multipliers: Any, t: Any) -> tuple[Any, ...]:
    """Derivatives of the equations with accelerations and multipliers held, on traced scalars.

    The equations are e = M a - f - G^T lam = 0 and g = G a - gamma = 0; r is G v - rate. Returned are e_q, e_v, g_q,
    g_v, r_q, G and M. Nothing is eliminated, so they exist at every position.

    Args:
        s: the constrained mechanism.
        q: traced positions.
        v: traced velocities.
        a: traced accelerations.
        multipliers: traced multipliers.
        t: traced time.
    """
    tree, state = s.mechanism.tree, s.state(q, v, t)
    rows = s.constraints.at(state)
    assert rows.gamma is not None
    forces = s.forces.generalised(state) + product(rows.G.T, multipliers)
    e = augmented_links(s.tree, q, v, a) + s.joints.of(v, a) - forces
    g, r = product(rows.G, a) - rows.gamma, product(rows.G, v) - rows.rate
    directions = np.array([position_rate(tree, q, unit) for unit in np.eye(tree.nv, dtype=int)], dtype=object).T

    def by_position(values: Any) -> Any:
        return forward(values, q, directions) if len(values) else np.zeros((0, tree.nv))

    def by_velocity(values: Any) -> Any:
        return forward(values, v) if len(values) else np.zeros((0, tree.nv))

    return by_position(e), by_velocity(e), by_position(g), by_velocity(g), by_position(r), rows.G, mass_matrix(s, q)


def linearize(
    system: ConstrainedDynamics, state: States, positions: Sequence[str] | None, speeds: Sequence[str] | None
) -> Linearization:
    """The reduced linearization; of several states, all in the coordinates that are chosen at the first.

    For the arguments see :meth:`dalembert.constraints.dynamics.ConstrainedDynamics.linearize`.
    """
    found: list[Linearization] = []
    for one in state:
        found.append(_linearized(system, one, positions, speeds))
        positions, speeds = found[0].positions, found[0].speeds
    if not found:
        raise ArgumentError(f"linearize: a batch of shape {state.batch} has no state")
    arrays: dict[str, Any] = {
        part: state.gathered([getattr(x, part) for x in found], getattr(found[0], part).shape)
        for part in ("A", "B", "position_map", "speed_map")
    }
    return dataclasses.replace(found[0], **arrays)


def _linearized(
    system: ConstrainedDynamics, one: tuple[Any, ...], positions: Sequence[str] | None, speeds: Sequence[str] | None
) -> Linearization:
    q, v, tau, t = one
    mechanism, names = system.mechanism, system.velocity_names()
    here = system.solve(q, v, tau, t)
    singular = SingularityError(
        f"{mechanism.name!r} has no linearization at q = {q}: the position is singular, constraints lose rank and what "
        "they allow is not linear there; analyse(q) says more"
    )
    if min(int(here.rank), rank(system, q, t)) < system.constraints.count and system.analyse(q, t).is_singular:
        raise singular
    wrong = violation(system, q, v, t, ("q", "v"))
    if wrong:
        raise ArgumentError(f"linearize: {wrong}")
    e_q, e_v, g_q, g_v, r_q, G, M = system.evaluate("linearization", q, v, here.a, here.multipliers, t)
    on_positions = numeric.of_known_rank(G[system.constraints.holonomic], system.known(q, t, positional=True))
    G = numeric.of_known_rank(G, system.known(q, t))
    # M da - G^T dlam = dtau - e_q dq - e_v dv ,  G da = - g_q dq - g_v dv: one right side per column
    right = np.concatenate([-e_q, -e_v, np.eye(mechanism.nv)], axis=1).T
    demanded = np.concatenate([-g_q, -g_v, np.zeros((len(G), mechanism.nv))], axis=1).T
    a_q, a_v, a_tau = np.split(numeric.solve(M, G, right, demanded).a.T, 3, axis=1)
    y = _independent(mechanism, on_positions, positions, "positions")
    u = _independent(mechanism, G, speeds, "speeds")
    if len(u) != mechanism.nv - here.rank:  # too close to one to tell
        raise singular
    Bq, B = _null_map(on_positions, y), _null_map(G, u)
    dependent = np.setdiff1d(np.arange(mechanism.nv), u)
    Vq = np.zeros((mechanism.nv, mechanism.nv))
    if len(G):
        Vq[dependent] = -_solved(G[:, dependent], r_q)
    turning = tangent_rate(mechanism.tree, v)
    A = np.block(
        [
            [((turning + Vq) @ Bq)[y], B[y]],
            [((a_q + a_v @ Vq) @ Bq)[u], (a_v @ B)[u]],
        ]
    )
    by_force = np.concatenate([np.zeros((len(y), mechanism.nv)), a_tau[u]])
    return Linearization(A, by_force, tuple(names[k] for k in y), tuple(names[k] for k in u), tuple(names), Bq, B)


def _independent(mechanism: Mechanism, G: np.ndarray, wanted: Sequence[str] | None, what: str) -> list[int]:
    wanted = None if wanted is None else expect_names(wanted, what)
    keep = list(dict.fromkeys(velocities_named(mechanism, wanted or (), f"linearize, {what}")))
    found = find_pivots(G[None], np.abs(G) > 0, keep)
    if wanted is not None and not (found.complete and sorted(keep) == list(found.independent)):
        names, free = velocity_names(mechanism), find_pivots(G[None], np.abs(G) > 0).independent
        raise ArgumentError(
            f"{', '.join(map(repr, wanted)) or 'nothing'} cannot be the independent {what}: "
            f"{len(free)} are needed, for example {', '.join(names[k] for k in free)}"
        )
    return keep if wanted is not None else list(found.independent)


def _null_map(G: np.ndarray, independent: list[int]) -> np.ndarray:
    """The matrix with unit rows at the independent entries whose columns G takes to zero."""
    n = G.shape[1]
    dependent = np.setdiff1d(np.arange(n), independent)
    full = np.zeros((n, len(independent)))
    full[independent, range(len(independent))] = 1
    if len(dependent):
        full[dependent] = -_solved(G[:, dependent], G[:, independent])
    return full


def _solved(G: np.ndarray, right: np.ndarray) -> np.ndarray:
    """x with G x = right, where only redundant rows are surplus."""
    scale = column_scale(G)
    return np.asarray(scale[:, None] * np.linalg.lstsq(G * scale, right, rcond=1e-9)[0])
