"""Quantities of contacts: a step of the rigid law, and where, how near and how fast the points of contact are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.algebra import arrays, scalar
from dalembert.algebra.arrays import Array, product
from dalembert.algebra.scalar import Scalar
from dalembert.algorithms.triangular import factor
from dalembert.constraints.pivots import Pivots
from dalembert.contact.cones import SOLVERS
from dalembert.contact.convex import Weights, convex_step, inverse_weights
from dalembert.contact.rigid import Equalities, RigidStep, rigid_step
from dalembert.contact.sensitivity import impulse_derivatives
from dalembert.dynamics import constrained, tree
from dalembert.dynamics.quantity import Quantity, Setting
from dalembert.errors import ArgumentError, UnsupportedError
from dalembert.kinematics import manifold
from dalembert.model.checks import expect_choice

SWEEPS = 10
"""Of Gauss-Seidel in a step, unless others are asked for."""

HUGE = 1e30
"""Distance of an end that is not there, m or rad."""

SOLVER = "gauss-seidel"
"""Of contacts, unless another one is asked for."""

LAWS = {
    "rigid": "Signorini, the exact Coulomb cone and Newton's restitution at the level of velocities, in fixed steps",
    "convex": "MuJoCo's soft contacts with solref and solimp, the minimum of a convex function, in fixed steps",
    "compliant": "springs, dampers and smooth friction: force elements, for every method",
}
"""Laws of contact, by name."""


def sweeps_of(given: Any) -> int:
    """The number of sweeps, checked."""
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or not 1 <= given <= 10_000:
        raise ArgumentError(
            f"sweeps = {given!r}; it is the number of sweeps of Gauss-Seidel in a step, 1 to 10000", argument="sweeps"
        )
    return int(given)


def solver_of(given: Any) -> str:
    """The name of a solver of contacts, checked."""
    return expect_choice(given, tuple(SOLVERS), "solver")


def equalities(s: Setting, G: Array) -> Equalities | None:
    """The constraints of a mechanism as rows that hold exactly in a step.

    Args:
        G: all its rows, (m, nv).
    """
    if not len(G):
        return None
    if s.solver.method == "projection":
        raise UnsupportedError(
            f"{s.mechanism.name!r}: contacts need multipliers, Dynamics(..., method='multipliers'), and so an inertia "
            "matrix of the open tree that is regular; give every body of the loops some mass"
        )
    assert s.solver.pivots is not None
    pivots: Pivots = s.solver.pivots()
    sizes = pivots.of_together(pivots.mobilities)
    return Equalities(G[list(pivots.together)], pivots.rank, sizes, tuple(pivots.kept_together))


def stepped(
    s: Setting, q: Array, v: Array, a: Array, M: Array, G: Array, impulses: Array, h: Scalar, t: Scalar, sweeps: int,
    solver: str = "gauss-seidel",
) -> RigidStep:  # fmt: skip
    """Velocities after a step with contacts.

    Args:
        q: positions before the step, quaternions of unit length.
        v: velocities before it.
        a: accelerations without contacts.
        M: inertia matrix.
        G: rows of the constraints, (0, nv) without any.
        impulses: of the last step.
        sweeps: of Gauss-Seidel.
        solver: of the rigid law, one of :data:`~dalembert.contact.cones.SOLVERS`.
    """
    layout = s.contacts
    rows = layout.at(s.state(q, None, t), halfway=s.law == "convex")
    factors = factor(M, s.tree.velocity_parents)
    if s.law == "convex":
        if solver != "gauss-seidel":
            raise UnsupportedError(f"solver = {solver!r} solves the rigid law; the convex one has Gauss-Seidel only")
        return convex_step(layout, rows, factors, v, v + h * a, impulses, h, sweeps, weights(s), equalities(s, G))
    return rigid_step(layout, rows, factors, v, v + h * a, impulses, h, sweeps, equalities(s, G), solver)


def weights(s: Setting) -> Weights:
    """Inverse inertias at the neutral position, by which the convex law scales softness."""
    neutral = arrays.asarray(s.mechanism.neutral)
    factors = factor(constrained.mass_matrix(s, neutral), s.tree.velocity_parents)
    return inverse_weights(s.contacts, s.state(neutral), factors)


def _smooth(s: Setting) -> Setting:
    """Without the dry friction of joints, which is a row."""
    return replace(s, include=tuple(name for name in s.include if name != "friction"))


def _varies(x: Scalar) -> bool:
    """Whether it is an expression, and no constant of one."""
    return not scalar.is_number(x) and not getattr(x, "is_constant", False)


def _free(s: Setting, q: Array, v: Array, tau: Array, t: Scalar) -> Array:
    """Accelerations without contacts; of trees by the factors of the inertia matrix that contacts need anyway."""
    if s.constraints.count or s.forces.names:
        return constrained.forward_dynamics(_smooth(s), q, v, tau, t)
    factors = factor(constrained.mass_matrix(s, q), s.tree.velocity_parents)
    return factors.solve(tau - tree.bias(_smooth(s), q, v))


def _one_step(s: Setting, q: Array, v: Array, tau: Array, impulses: Array, h: Scalar, t: Scalar) -> RigidStep:
    a = _free(s, q, v, tau, t)
    G = s.constraints.at(s.state(q, None, t)).G if s.constraints.count else np.zeros((0, s.nv))
    M = constrained.mass_matrix(s, q)
    return stepped(
        s, q, v, a, M, G, impulses, h, t, sweeps_of(s.options["sweeps"]), solver_of(s.options.get("solver", SOLVER))
    )


def contact_step(s: Setting, q: Array, v: Array, tau: Array, impulses: Array, h: Scalar, t: Scalar) -> tuple[Any, ...]:
    """One step of semi-implicit Euler with contacts."""
    found = _one_step(s, q, v, tau, impulses, h, t)
    layout = s.mechanism.tree
    after = manifold.normalised(layout, manifold.displaced(layout, q, h * found.v))
    losses = arrays.asarray([found.friction_loss, found.impact_loss, -found.push_work])
    return (
        after, found.v, found.impulses, found.residual, found.impulse_residual, found.normal_velocity, found.slip,
        found.mode, losses, arrays.asarray(found.stride),
    )  # fmt: skip


class _Changes:
    """Derivatives of a step at its solution; see :mod:`dalembert.contact.sensitivity`.

    Impulses p that are held act as the generalised forces J^T p/h do, so that their part of the derivatives is that of
    forward dynamics.

    Args:
        state: q, v, tau, the impulses of the last step, h, t.
        quantity: its name, for messages.
    """

    def __init__(self, s: Setting, state: Sequence[Any], quantity: str):
        if s.derivative is None:
            raise UnsupportedError("derivatives of a step are made of traced scalars; use Dynamics")
        if s.law != "rigid":
            raise UnsupportedError(
                f"{quantity} is of the rigid law, and law = {s.law!r}",
                remedy="differentiate contact_step itself, dalembert.kernel(dynamics.program('contact_step'), wrt=...)",
            )
        self.s, self.derivative = s, s.derivative
        self.q, self.v, self.tau, _, self.h, self.t = state
        self.found = _one_step(s, *state)
        assert self.found.problem is not None
        self.problem, self.p, self.after = self.found.problem, self.found.impulses, self.found.v
        self.rows = s.contacts.at(s.state(self.q, None, self.t))
        self.count = s.contacts.count
        self.J = arrays.asarray(self.rows.J).reshape(self.count, s.nv)
        points = zip(s.contacts.points, self.rows.points)
        self.distances: dict[int, tuple[Scalar, ...]] = {point.normal: (now.gap,) for point, now in points}
        self.distances |= dict(zip(s.contacts.limit_rows, self.rows.limits))
        self.moved = self._moved()

    def _moved(self) -> Array:
        layout = self.s.mechanism.tree
        return manifold.normalised(layout, manifold.displaced(layout, self.q, self.h * self.after))

    def accelerations(self, forces: Array) -> Array:
        """Without contacts, under generalised forces."""
        return _free(self.s, self.q, self.v, forces, self.t)

    def along(self, values: Array, variables: Array, directions: Array, *held: Array) -> Array:
        """Directional derivatives; what is held does not change with the variables."""
        still = list(dict.fromkeys(x for part in held for x in part if _varies(x)))
        rest = np.zeros((len(still), directions.shape[1]), dtype=int)
        return self.derivative(values, arrays.asarray([*variables, *still]), np.concatenate([directions, rest]))

    def slope(self, value: Scalar, variables: list[Scalar]) -> list[Scalar]:
        """Partial derivatives of a scalar by others that are held independent of each other."""
        known = [x for x in variables if _varies(x)]
        if not known or not _varies(value):
            return [0] * len(variables)
        parts = iter(self.derivative(arrays.asarray([value]), arrays.asarray(known), None)[0])
        return [next(parts) if _varies(x) else 0 for x in variables]

    def gaps(self, variables: Array, directions: Array, width: int) -> dict[int, tuple[Array, ...]]:
        """Changes of the distances that bounds depend on, of which the first come from the variables."""
        rest = np.zeros(width - directions.shape[1], dtype=int)

        def change(gap: Scalar) -> Array:
            own = np.zeros(directions.shape[1], dtype=int)
            if _varies(gap):
                own = self.along(arrays.asarray([gap]), variables, directions)[0]
            return np.concatenate([own, rest])

        return {k: tuple(map(change, ends)) for k, ends in self.distances.items()}

    def velocities(
        self, dv: Array, du: Array, gaps: dict[int, tuple[Array, ...]], before: Array, without: Array,
        numbers: Sequence[Scalar] = (),
    ) -> Array:  # fmt: skip
        """Changes of the velocities after the step, impulses included, (nv, k).

        Args:
            dv: those at held impulses.
            du, gaps, before, without, numbers: see :func:`~dalembert.contact.sensitivity.impulse_derivatives`.
        """
        delassus, u = self.found.delassus, product(self.J, self.after)
        assert delassus is not None
        changes = impulse_derivatives(
            self.problem, delassus.carriers, self.p, u, du, gaps, before, without, self.slope, self.distances, numbers
        )  # fmt: skip
        return dv + arrays.stack([delassus.push_carriers(list(change)) for change in changes.T]).T

    def together(self, dv: Array, by_q: Array | None = None) -> Array:
        """Changes of positions, along tangent vectors, over those of velocities, (2 nv, k).

        Args:
            by_q: changes of the positions after the step, velocities held, along the first directions.
        """
        n = self.s.nv
        by_v = self.derivative(self.moved, self.after, arrays.identity(n))  # q is held where it does not change
        rates = product(by_v, dv)
        if by_q is not None:
            rates = np.concatenate([rates[:, :n] + by_q, rates[:, n:]], axis=1)
        return np.concatenate([manifold.tangent_rates(self.s.mechanism.tree, self.moved, rates), dv])


def contact_step_derivatives(
    s: Setting, q: Array, v: Array, tau: Array, impulses: Array, h: Scalar, t: Scalar
) -> tuple[Array, Array]:
    """A and B of dx' = A dx + B dtau at the solution."""
    step = _Changes(s, (q, v, tau, impulses, h, t), "contact_step_derivatives")
    n, J, after = s.nv, step.J, step.after
    unit, Gamma, zeros = arrays.identity(n), manifold.tangent_map(s.mechanism.tree, q), np.zeros((n, n), dtype=int)

    def along_q(values: Array, *held: Array) -> Array:
        return step.along(values, q, Gamma, *held)

    def velocity_change(forces: Array, extra: Array) -> Array:
        """Of v + h a under generalised forces that change with q by themselves, (n, 3 n)."""
        if s.constraints.count or s.forces.names:
            a = step.accelerations(forces)
            by_q, by_v, inverse = along_q(a, forces), step.along(a, v, unit, forces), step.along(a, forces, unit)
            by_q = by_q + product(inverse, extra)
        else:
            by_q, by_v, inverse = tree.forward_dynamics_derivatives(_smooth(s), q, v, forces, extra)
        return np.concatenate([h * by_q, unit + h * by_v, h * inverse], axis=1)

    push = product(arrays.asarray(J.T), step.p) / h
    dv = velocity_change(tau + push, along_q(push, step.p))
    free = velocity_change(tau, zeros)
    still = np.zeros((step.count, 2 * n), dtype=int)

    def row_change(speed: Array, change: Array) -> Array:
        """Of J speed, when that changes, (rows, 3 n)."""
        turned = along_q(product(J, speed), speed).reshape(step.count, n)
        return np.concatenate([turned, still], axis=1) + product(J, change)

    before = row_change(v, np.concatenate([zeros, unit, zeros], axis=1))
    without = row_change(v + h * step.accelerations(tau), free)
    gaps = step.gaps(q, Gamma, 3 * n)
    dv = step.velocities(dv, row_change(after, dv), gaps, before, without)
    whole = step.together(dv, along_q(step.moved, after))
    return whole[:, : 2 * n], whole[:, 2 * n :]


def contact_step_sensitivity(
    s: Setting, q: Array, v: Array, tau: Array, impulses: Array, h: Scalar, t: Scalar
) -> Array:
    """P of dx' = P dparameters at the solution."""
    numbers = list(s.varied)
    if not numbers:
        return np.zeros((2 * s.nv, 0))
    step = _Changes(s, (q, v, tau, impulses, h, t), "contact_step_sensitivity")
    variables, unit = arrays.asarray(numbers), arrays.identity(len(numbers))

    def along(values: Array, *held: Array) -> Array:
        """By the parameters; also of none."""
        if not any(map(_varies, values)):
            return np.zeros((len(values), len(numbers)), dtype=int)
        return step.along(values, variables, unit, *held)

    forces = tau + product(arrays.asarray(step.J.T), step.p) / h
    dv = h * along(step.accelerations(forces), step.p)
    du = along(product(step.J, step.after), step.after) + product(step.J, dv)
    before = along(product(step.J, v))
    without = along(product(step.J, v + h * step.accelerations(tau)))
    gaps = step.gaps(variables, unit, len(numbers))
    return step.together(step.velocities(dv, du, gaps, before, without, numbers))


def contact_points(s: Setting, q: Array) -> tuple[Array, Array, Array]:
    """Gap, place and axes of every point."""
    points = s.contacts.at(s.state(q), placed=True).points
    count = len(points)
    return (
        arrays.asarray([p.gap for p in points]).reshape(count),
        arrays.asarray([list(p.position) for p in points if p.position is not None]).reshape(count, 3),
        arrays.asarray([[list(x) for x in p.axes] for p in points if p.axes is not None]).reshape(count, 3, 3),
    )


def contact_rows(s: Setting, q: Array) -> Array:
    """J, one line per row."""
    rows = s.contacts.at(s.state(q))
    return arrays.asarray(rows.J).reshape(s.contacts.count, s.nv)


def contact_velocities(s: Setting, q: Array, v: Array) -> Array:
    """J v."""
    return product(contact_rows(s, q), v)


def contact_terms(s: Setting, q: Array, v: Array, tau: Array, t: Scalar) -> tuple[Any, ...]:
    """What the forces of contacts at one instant depend on."""
    if s.derivative is None:
        raise UnsupportedError("the rates of contact rows are made of traced scalars; use Dynamics")
    layout, tree_ = s.contacts, s.mechanism.tree
    count = layout.count
    rows = layout.at(s.state(q, None, t))
    J = arrays.asarray(rows.J).reshape(count, s.nv)
    rate = product(manifold.tangent_map(tree_, q), v)
    along_q = np.zeros((count, s.nv), dtype=int)
    if count:
        along_q = s.derivative(product(J, v), arrays.asarray([*q, *v]), _with_zeros(rate, s.nv))
    G = s.constraints.at(s.state(q, None, t)).G if s.constraints.count else np.zeros((0, s.nv))
    distances: list[list[Scalar]] = [[0, 0] for _ in layout.rows]
    numbers: list[Scalar] = [0] * count
    for point, now in zip(layout.points, rows.points):
        distances[point.normal] = [now.gap, 0]
        numbers[point.normal] = now.contact.restitution
        for disk, coefficient in point.disks:
            for k in disk:
                numbers[k] = getattr(now.contact, coefficient)
    for k, ends in zip(layout.limit_rows, rows.limits):
        distances[k] = [HUGE if scalar.is_number(x) and abs(x) == float("inf") else x for x in ends]
    for k, most in zip(layout.dry_rows, rows.dry):
        numbers[k] = most
    return (
        _free(s, q, v, tau, t), constrained.mass_matrix(s, q), G, J, along_q.reshape(count, -1)[:, 0] if count else
        np.zeros(0), rate, arrays.asarray(distances).reshape(count, 2), arrays.asarray(numbers),
    )  # fmt: skip


def _with_zeros(rate: Array, n: int) -> Array:
    """One direction along which q changes and v does not, (nq + nv, 1)."""
    return arrays.asarray([[x] for x in (*rate, *[0] * n)])


CONTACT: dict[str, Quantity] = {
    "contact_step": Quantity(
        ("q", "v", "tau", "impulses", "h", "t"),
        {
            "q_next": ("nq",), "v_next": ("n",), "impulses_next": ("contact rows",), "residual": (),
            "impulse_residual": (), "normal_velocity": ("points",), "slip": ("points", 2), "mode": ("points",),
            "losses": (3,), "stride": (2,),
        },
        contact_step,
        "A step h of semi-implicit Euler with contacts, rigid or convex: q, v and impulses after it; residuals, "
        "m/s and N s; the normal velocity of every point, its slip, m/s, its mode (0 open, 1 sticks, 2 slides); energy "
        "lost by friction, by impacts, and (negative: brought in) by taking away depths, J; the longest way in this "
        "step over the thickness of what could be missed, and its speed, m/s.",
        loads=True, options={"sweeps": SWEEPS, "solver": SOLVER}, solves=True),
    "contact_step_derivatives": Quantity(
        ("q", "v", "tau", "impulses", "h", "t"), {"A": ("2n", "2n"), "B": ("2n", "n")}, contact_step_derivatives,
        "State-space matrices of a step with rigid contacts, x = (dq, v), dq along tangent vectors: "
        "dx' = A dx + B dtau. They are those of the modes the step ends in; at a change of mode they jump.",
        loads=True, options={"sweeps": SWEEPS, "solver": SOLVER}, solves=True),
    "contact_step_sensitivity": Quantity(
        ("q", "v", "tau", "impulses", "h", "t"), {"P": ("2n", "parameters")}, contact_step_sensitivity,
        "Derivatives of a step with rigid contacts by the parameters, in the order of their names: dx' = P dp, "
        "x = (dq, v), dq along tangent vectors. They are those of the modes the step ends in.",
        loads=True, options={"sweeps": SWEEPS, "solver": SOLVER}, solves=True),
    "contact_terms": Quantity(
        ("q", "v", "tau", "t"),
        {
            "a": ("n",), "M": ("n", "n"), "G": ("rows", "n"), "J": ("contact rows", "n"), "bias": ("contact rows",),
            "rate": ("nq",), "distances": ("contact rows", 2), "numbers": ("contact rows",),
        },
        contact_terms,
        "Accelerations without contacts, inertia matrix, rows of constraints and of contacts, rates of these times v, "
        "rates of positions; of normals the gap, of limits the distance to either end; of normals the restitution, of "
        "disks the coefficient, of dry friction the largest force.",
        loads=True, solves=True),
    "contact_points": Quantity(
        ("q",), {"gap": ("points",), "position": ("points", 3), "axes": ("points", 3, 3)}, contact_points,
        "Gap of every point of contact, m, its place in the world, m, and normal, tangent 1 and tangent 2 as rows."),
    "contact_rows": Quantity(
        ("q",), {"J": ("contact rows", "n")}, contact_rows,
        "Rows on velocities of contacts, joint limits and dry friction."),
    "contact_velocities": Quantity(
        ("q", "v"), {"u": ("contact rows",)}, contact_velocities,
        "Velocities along the rows of contacts, joint limits and dry friction, m/s or rad/s."),
}  # fmt: skip
"""Quantities of contacts, by name; a mechanism without any has them too, with no points."""
